//! `cargo loadtest run`: one scenario after another or all at once, one record of all.

#[cfg(feature = "cluster")]
use super::cluster_run::DividedRun;
use super::{Project, mix, publish, recorded, warn_of_unjudged_gate, words};
use crate::baselines::{Against, Baseline, Baselines};
use crate::cli::{Cli, RunArgs};
#[cfg(feature = "cluster")]
use crate::cluster::Cluster;
use crate::config::Config;
use crate::console;
use crate::error::{Error, Kind};
use crate::export::Format;
use crate::files;
use crate::interrupt::Interrupts;
use crate::live::Live;
use crate::notify::{Planned, Run};
use crate::observe::Observer;
use crate::policy::{self, Action};
use crate::selection::Found;
use crate::session::{self, Program};
use crate::store::{self, Measured, RunFolder, Store};
use crate::telemetry::{Hub, RunFacts};
use crate::workspace::{self, Binary};
use jiff::Timestamp;
use loadtest::redact;
use loadtest_model::card::{Card, Headline, Verdict};
use loadtest_model::comparison::PlannedRun;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::display;
use loadtest_model::failure::FailureKind;
use loadtest_model::plan::{GradingDefaults, LoadOption, Overrides, Plan, PlanError};
use loadtest_model::protocol::{Request, RunRequest, SetupValues};
use loadtest_model::record::{EndReason, Environment, NotRun, RunRecord, ScenarioRecord};
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Begins the line by which `run --watched` tells the dashboard the name of its run.
pub(crate) const WATCHED_RUN: &str = "run ";

/// The seed of shards, which have to draw alike.
pub(super) const SHARD_SEED: u64 = 0;

/// Runs the selected scenarios and grades them.
///
/// # Errors
/// What prevents the run as a whole; what prevents one scenario is printed, and the next one runs.
pub(crate) fn run(args: &RunArgs, cli: &Cli) -> Result<u8, Error> {
    let given = recorded::read_requests(&args.curl)?;
    let project = Project::open_for(given.as_ref(), &args.project, cli)?;
    if args.watched {
        project.interrupts.obey_input()?;
    }
    let mut config = project.config()?;
    let args = &config.defaults(args.gate.ci).complete(args);
    let gate = args.gate.baseline.as_ref().map(|_| "--baseline");
    warn_of_unjudged_gate(args.gate.ci.then_some("--ci").or(gate))?;
    let mut exports = publish::Exports::check(&args.export, &args.reports)?;
    if args.gate.ci {
        exports = exports.for_ci(project.workspace.root());
    }
    let overrides = config.overrides(&args.load)?;
    config.grading.min_grade = args.gate.min_grade;
    let webhooks = project.webhooks(&config)?;
    let telemetry = project.telemetry(&config, &args.telemetry)?;
    exports = exports.beside(&telemetry);
    project.permits(Action::Run, &config)?;
    let store = Store::in_workspace(&project.workspace, &config);
    check_overrides(&overrides)?;
    let baselines = Baselines::from_config(&config);
    let baseline = find_baseline(&baselines, args)?;
    let chosen = match given {
        Some(given) => {
            let found = given.into_scenario(&project)?;
            recorded::warn_of_debug_build(cli.quiet);
            vec![found]
        }
        None => project.selected(&args.selection)?,
    };
    policy::permits_tests(&config, &chosen)?;
    check_start(args, chosen.len())?;
    let shard = args.part.shard.unwrap_or_default();
    let draw_seed = || shard.is_whole().then(random_seed).unwrap_or(SHARD_SEED);
    let seed = args.load.seed.unwrap_or_else(draw_seed);
    #[cfg(feature = "cluster")]
    let cluster = super::cluster_run::open_cluster(args, &config)?;
    let setup_values = find_setup_values(&args.part.setup_values, &chosen)?;
    let (mut overrides, binary) = shares(&chosen, args.mix, overrides)?;
    for one in &mut overrides {
        one.shard = shard;
    }
    let plans = plan(&chosen, &overrides, &config.grading, seed)?;
    warn_of_unused_starts(&chosen, &plans);
    let environment = workspace::environment(project.workspace.root(), &store.outputs());
    let against = baseline.map(|baseline| against(&baseline, &chosen, &plans, args, &environment));
    let against = against.transpose()?;

    let folder = store.create()?;
    let mut record = folder.new_record(environment);
    // Until it has begun, each is one that was interrupted: so a run that is killed is read.
    folder.open(&RunRecord {
        not_run: chosen.iter().map(before_its_load).collect(),
        ..record.clone()
    })?;
    if args.watched {
        console::print_result(format_args!("{WATCHED_RUN}{}", folder.identifier()))?;
    }
    let told = webhooks.started(Run::new(&record, describe_plans(&chosen, &plans)));
    let hub = telemetry.start(RunFacts::from(&record), &list_definitions(&chosen), None);
    let spare = tempfile::Builder::new().prefix("loadtest-").tempdir();
    let series = Series {
        folder: &folder,
        spare: spare.as_ref().ok().map(TempDir::path),
        args,
        overrides: &overrides,
        setup_values: &setup_values,
        hub: &hub,
        #[cfg(feature = "cluster")]
        cluster: cluster.as_ref(),
        config: &config,
        seed,
        interrupts: &project.interrupts,
        offline: project.offline,
        #[cfg(feature = "cluster")]
        bundle: project.bundle_hash(),
        quiet: cli.quiet,
    };
    let ran = if let Some(binary) = binary {
        series.run_at_once(&chosen, &binary, &mut record)
    } else {
        series.run_in_turn(&chosen, &mut record);
        Ok(())
    };
    record.telemetry = hub.finish(cli.quiet, &project.interrupts);
    let comparison = against.map(|against| against.compare(&record));
    let result = Measured {
        record: &record,
        comparison: comparison.as_ref(),
    };
    let concluded =
        ran.and_then(|()| publish::conclude(&store, &folder, result, chosen.len(), &exports));
    let page = folder.file(Format::Html.file_name());
    told.ended(
        result,
        &concluded,
        &page,
        project.workspace.root(),
        &project.interrupts,
    );
    concluded
}

fn list_definitions(chosen: &[Found]) -> Vec<&ScenarioDef> {
    chosen.iter().map(|found| &found.definition).collect()
}

/// Warns of scenarios that would start later in a mix.
fn warn_of_unused_starts(chosen: &[Found], plans: &[Plan]) {
    for (found, plan) in chosen.iter().zip(plans) {
        if let Some(remark) = words::describe_unused_start(&found.definition, plan) {
            console::print_warning(remark);
        }
    }
}

/// Describes the load of each scenario.
fn describe_plans(chosen: &[Found], plans: &[Plan]) -> Vec<Planned> {
    let planned = chosen.iter().zip(plans);
    planned
        .map(|(found, plan)| Planned::new(&found.definition, display::format_planned_load(plan)))
        .collect()
}

/// Returns the baseline to compare with; a shard is compared with none.
///
/// # Errors
/// A name that is invalid or unknown.
fn find_baseline(baselines: &Baselines, args: &RunArgs) -> Result<Option<Baseline>, Error> {
    let Some(name) = &args.gate.baseline else {
        return Ok(None);
    };
    if args.part.shard.is_some_and(|shard| !shard.is_whole()) {
        console::print_warning(
            "a shard is not compared with the baseline: give `--baseline` to `cargo loadtest merge`",
        );
        return Ok(None);
    }
    open_baseline(baselines, name, args.gate.ci).map(Some)
}

/// Refuses a start for several scenarios that run in turn.
///
/// # Errors
/// When there is one.
fn check_start(args: &RunArgs, scenarios: usize) -> Result<(), Error> {
    if args.part.start_at.is_some() && scenarios > 1 && !args.mix {
        return Err(Error::usage(
            "`--start-at` is about one scenario, or several at once with `--mix`",
        ));
    }
    Ok(())
}

/// The baseline of a name. One that is not there is a mistake of whoever types it; to a build server it is one
/// that no run has been saved in yet, unless it looks like a slip for one that there is.
///
/// # Errors
/// A name that is invalid or unknown.
fn open_baseline(baselines: &Baselines, name: &str, is_ci: bool) -> Result<Baseline, Error> {
    match baselines.open(name) {
        Err(error)
            if is_ci && *error.kind() == Kind::UnknownBaseline && !baselines.is_slip(name)? =>
        {
            let help = error.help().unwrap_or_default();
            console::print_warning(format_args!("{error}: nothing is compared; {help}"));
            baselines.new_or_not(name)
        }
        found => found,
    }
}

/// Refuses, before anything is built, overrides that no scenario has a place for: a ramp that takes all of the run, or a
/// length of a fixed number of iterations.
///
/// # Errors
/// When there is one.
pub(super) fn check_overrides(overrides: &Overrides) -> Result<(), Error> {
    let mistake = find_override_mistake(overrides);
    mistake.map_or(Ok(()), |mistake| Err(Error::usage(mistake.to_string())))
}

/// Returns the mistake in overrides that no scenario has a place for.
pub(crate) fn find_override_mistake(overrides: &Overrides) -> Option<PlanError> {
    let Overrides {
        ramp_up, duration, ..
    } = *overrides;
    let lengths = [
        (LoadOption::Duration, duration.is_some()),
        (LoadOption::RampUp, ramp_up.is_some()),
    ];
    match (ramp_up, duration) {
        _ if overrides.iterations.is_some() && overrides.rate_per_second.is_none() => {
            let given = lengths.into_iter().find(|(_, is_given)| *is_given);
            given.map(|(option, _)| PlanError::no_length(option))
        }
        (Some(ramp), Some(duration)) if ramp >= duration => {
            Some(PlanError::RampTooLong { ramp, duration })
        }
        _ => None,
    }
}

/// Prepares the comparison with a baseline.
///
/// # Errors
/// What is known before the load to prevent that.
fn against(
    baseline: &Baseline,
    chosen: &[Found],
    plans: &[Plan],
    args: &RunArgs,
    environment: &Environment,
) -> Result<Against, Error> {
    let against = Against::read(
        baseline,
        chosen.iter().map(|found| found.definition.identity()),
    )?;
    let given: Vec<_> = chosen
        .iter()
        .map(|found| {
            let flag = args.load.base_url.clone();
            flag.or_else(|| found.binary.base_url_of_environment())
        })
        .collect();
    let bases: Vec<_> = chosen
        .iter()
        .zip(&given)
        .map(|(found, given)| {
            let base = given.as_deref().or(found.definition.base.as_deref());
            base.map(redact::redact)
        })
        .collect();
    let planned: Vec<PlannedRun<'_>> = chosen
        .iter()
        .zip(plans)
        .zip(given.iter().zip(&bases))
        .map(|((found, plan), (given, base))| PlannedRun {
            definition: &found.definition,
            load: &plan.load,
            base_url: base.as_deref(),
            may_start_target: given.is_none() && found.definition.starts_target,
            environment,
        })
        .collect();
    against.check(&planned)?;
    Ok(against)
}

/// Returns the overrides of each scenario, and the program that runs a mix.
///
/// # Errors
/// When they cannot run at once.
pub(super) fn shares(
    chosen: &[Found],
    at_once: bool,
    overrides: Overrides,
) -> Result<(Vec<Overrides>, Option<Binary>), Error> {
    if at_once {
        let binary = mix::program(chosen)?;
        Ok((mix::split(chosen, &overrides)?, Some(binary)))
    } else {
        Ok((vec![overrides; chosen.len()], None))
    }
}

/// Prints a line on one of several scenarios when it ends: its figures, or why it does not pass. What a baseline says
/// comes with the cards.
fn print_end(card: &Card) {
    let (verb, text) = match card.reasons.first() {
        Some(reason) => (card.verdict.name(), reason.words.clone()),
        None => ("Finished", describe_figures(&card.headline)),
    };
    let is_good = card.verdict == Verdict::Passed;
    console::print_verdict(is_good, verb, format_args!("{}: {text}", card.identity));
}

/// `p95 143 µs, 500/s, errors 0 %`.
fn describe_figures(headline: &Headline) -> String {
    let parts = [
        headline
            .time
            .p95
            .map(|time| format!("p95 {}", display::format_duration(time))),
        headline.achieved_per_second.map(display::format_rate),
        headline
            .error_rate
            .map(|rate| format!("errors {}", display::format_percent(rate))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Puts what became of a scenario into the record; what prevented it is printed.
fn keep_result(found: &Found, result: Result<ScenarioRecord, Error>, record: &mut RunRecord) {
    match result {
        Ok(scenario) => record.scenarios.push(scenario),
        Err(error) => {
            console::print_error(&error);
            record.not_run.push(not_run(found, &error));
        }
    }
}

/// Returns the entry of a scenario that `error` prevented.
pub(super) fn not_run(found: &Found, error: &Error) -> NotRun {
    let expected = NotRun::from_definition(&found.definition);
    if let Kind::Refused(failure) = error.kind() {
        return store::not_run(expected, failure);
    }
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    NotRun {
        exit_code: error.exit_code(),
        message: redact::redact(&message),
        help: error.help().map(redact::redact),
        ..expected
    }
}

/// The same of one that the user did not wait for.
fn before_its_load(found: &Found) -> NotRun {
    NotRun {
        exit_code: Error::interrupted().exit_code(),
        message: "interrupted before its load began".into(),
        ..NotRun::from_definition(&found.definition)
    }
}

/// Returns the exit code and the reason if a result ends the whole run.
fn end_of_all(result: &Result<ScenarioRecord, Error>) -> Option<(u8, String)> {
    match result {
        Ok(record) => match &record.end.ending {
            EndReason::Halted { reason } => {
                Some((FailureKind::Withdrawn.exit_code(), reason.to_string()))
            }
            _ => None,
        },
        Err(error) => match error.kind() {
            Kind::Refused(failure)
                if matches!(
                    failure.kind,
                    FailureKind::Withdrawn | FailureKind::NotOffline
                ) =>
            {
                Some((failure.kind.exit_code(), failure.message.to_string()))
            }
            _ => None,
        },
    }
}

/// Returns the entry of a scenario after the end of the whole run.
fn after_the_end(found: &Found, exit_code: u8, reason: &str) -> NotRun {
    NotRun {
        exit_code,
        message: redact::redact(&format!(
            "not started, since the one before it ended the run: {reason}"
        )),
        ..NotRun::from_definition(&found.definition)
    }
}

/// Data shared by the scenarios of one invocation.
struct Series<'a> {
    folder: &'a RunFolder,
    args: &'a RunArgs,
    /// Overrides, one per scenario.
    overrides: &'a [Overrides],
    /// The files with the values of setups, by the identity of the scenario.
    setup_values: &'a BTreeMap<String, PathBuf>,
    /// Gets the figures of each scenario.
    hub: &'a Hub,
    /// The machines that make the load, in place of this one.
    #[cfg(feature = "cluster")]
    cluster: Option<&'a Cluster>,
    config: &'a Config,
    seed: u64,
    interrupts: &'a Interrupts,
    offline: bool,
    #[cfg(feature = "cluster")]
    bundle: Option<String>,
    quiet: bool,
    /// A folder for records that the folder of the run does not take.
    spare: Option<&'a Path>,
}

impl Series<'_> {
    /// Returns true if the course of the run is shown elsewhere, or nowhere.
    fn is_unseen(&self) -> bool {
        self.quiet || self.args.watched
    }

    /// Creates the view of so many scenarios at once, from the one with this number.
    fn live(&self, first: usize, scenarios: usize) -> Live {
        Live::new(self.is_unseen(), scenarios).with_feed(self.hub.feed(first))
    }

    /// Runs the scenarios one after another; prints the error of each that fails.
    fn run_in_turn(&self, chosen: &[Found], record: &mut RunRecord) {
        let mut ended: Option<(u8, String)> = None;
        for (i, found) in chosen.iter().enumerate() {
            if let Some((exit_code, reason)) = &ended {
                record
                    .not_run
                    .push(after_the_end(found, *exit_code, reason));
                continue;
            }
            if self.interrupts.count() > 0 {
                record.not_run.push(before_its_load(found));
                continue;
            }
            if !self.quiet && chosen.len() > 1 {
                let identity = found.definition.identity();
                console::print_status(
                    "Running",
                    format_args!("{identity} ({}/{})", i + 1, chosen.len()),
                );
            }
            let result = self.run(found, i);
            ended = end_of_all(&result);
            if !self.quiet
                && chosen.len() > 1
                && let Ok(scenario) = &result
            {
                print_end(&Card::grade(scenario, None));
            }
            keep_result(found, result, record);
        }
    }

    /// All at once, in one process of `binary`.
    fn run_at_once(
        &self,
        chosen: &[Found],
        binary: &Binary,
        record: &mut RunRecord,
    ) -> Result<(), Error> {
        if !self.quiet && chosen.len() > 1 {
            console::print_status("Running", format_args!("{} at once", chosen.len()));
        }
        let hash = workspace::hash(&binary.executable)?;
        let requests: Vec<_> = chosen
            .iter()
            .enumerate()
            .map(|(i, found)| self.request(found, i, hash.clone()))
            .collect();
        for (i, request) in requests.iter().enumerate() {
            // By these a run that was killed is read.
            let one = Request::Run(Box::new(request.clone()));
            files::write_json(&self.folder.request(i + 1), &one)?;
        }
        let observer = Observer::new(requests.len());
        let mut live = self.live(0, requests.len()).with_observer(observer.clone());
        #[cfg(feature = "cluster")]
        if let Some(cluster) = self.cluster {
            let results = self
                .cluster_run(chosen, &requests)
                .make(cluster, &mut live)?;
            Self::keep_results(chosen, results, &observer, record);
            return Ok(());
        }
        let results = session::mix(
            Program::from_binary(binary, self.offline),
            &requests,
            &self.folder.mix(),
            self.interrupts,
            &mut live,
        )?;
        Self::keep_results(chosen, results, &observer, record);
        Ok(())
    }

    /// Keeps what became of scenarios that ran at once, with what was observed of their targets.
    fn keep_results(
        chosen: &[Found],
        results: Vec<Result<ScenarioRecord, Error>>,
        observer: &Observer,
        record: &mut RunRecord,
    ) {
        let figures = observer.conclude();
        for ((found, result), figures) in chosen.iter().zip(results).zip(figures) {
            let result = result.map(|scenario| ScenarioRecord {
                observed: figures,
                ..scenario
            });
            keep_result(found, result, record);
        }
    }

    fn run(&self, found: &Found, at: usize) -> Result<ScenarioRecord, Error> {
        let hash = workspace::hash(&found.binary.executable)?;
        let observer = Observer::new(1);
        let mut live = self.live(at, 1).with_observer(observer.clone());
        let request = self.request(found, at, hash);
        #[cfg(feature = "cluster")]
        if let Some(cluster) = self.cluster {
            let chosen = std::slice::from_ref(found);
            let requests = std::slice::from_ref(&request);
            let results = self
                .cluster_run(chosen, requests)
                .make(cluster, &mut live)?;
            let result = results.into_iter().next();
            let mut scenario =
                result.unwrap_or_else(|| Err(Error::failure("the cluster made no run")))?;
            scenario.observed = observer.conclude().into_iter().flatten().collect();
            return Ok(scenario);
        }
        let mut scenario = session::run(
            Program::from_binary(&found.binary, self.offline),
            &request,
            &self.folder.request(at + 1),
            self.interrupts,
            &mut live,
        )?;
        scenario.observed = observer.conclude().into_iter().flatten().collect();
        Ok(scenario)
    }

    #[cfg(feature = "cluster")]
    fn cluster_run<'b>(
        &'b self,
        chosen: &'b [Found],
        requests: &'b [RunRequest],
    ) -> DividedRun<'b> {
        DividedRun {
            folder: self.folder,
            chosen,
            requests,
            bundle: self.bundle.clone(),
            interrupts: self.interrupts,
            offline: self.offline,
        }
    }

    fn request(&self, found: &Found, at: usize, executable_hash: String) -> RunRequest {
        RunRequest {
            scenario: found.definition.identity(),
            run_id: self.folder.identifier(),
            overrides: self.overrides[at].clone(),
            base_url: self.args.load.base_url.clone(),
            grading: self.config.grading.clone(),
            seed: self.seed,
            executable_hash,
            journal: self.folder.journal(at + 1),
            record: self.folder.scenario_record(at + 1),
            spare_record: self.spare.map(|folder| folder.join(format!("{at}.json"))),
            setup_values: self.setup_values.get(&found.definition.identity()).cloned(),
            start_at_us: self.args.part.start_at.map(to_micros),
            has_controller: false,
        }
    }
}

/// Returns a time in microseconds after 1970.
fn to_micros(time: Timestamp) -> u64 {
    u64::try_from(time.as_microsecond()).unwrap_or_default()
}

/// Finds the file with the values of each scenario's setups, by its identity.
///
/// # Errors
/// When a file cannot be read, or is about none of the scenarios.
fn find_setup_values(
    files: &[PathBuf],
    chosen: &[Found],
) -> Result<BTreeMap<String, PathBuf>, Error> {
    let mut found = BTreeMap::new();
    for file in files {
        let text = std::fs::read(file).map_err(Error::io("read", file))?;
        let values: SetupValues = serde_json::from_slice(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            Error::usage(format!(
                "`{}` holds no values of setups (line {line}, column {column})",
                file.display()
            ))
            .with_help("write it with `cargo loadtest setup`")
        })?;
        if !chosen
            .iter()
            .any(|one| one.definition.identity() == values.scenario)
        {
            return Err(Error::usage(format!(
                "`{}` holds the values of `{}`, which does not run",
                file.display(),
                values.scenario
            )));
        }
        found.insert(values.scenario, file.clone());
    }
    Ok(found)
}

/// The plan of each scenario; refuses, before anything is sent, overrides that one of them has no
/// place for.
pub(super) fn plan(
    chosen: &[Found],
    overrides: &[Overrides],
    grading: &GradingDefaults,
    seed: u64,
) -> Result<Vec<Plan>, Error> {
    let mut plans = Vec::new();
    let mut mistakes = Vec::new();
    for (found, overrides) in chosen.iter().zip(overrides) {
        let definition = &found.definition;
        match Plan::new(definition, overrides, grading, seed) {
            Ok(plan) => plans.push(plan),
            Err(errors) => {
                mistakes.push(mistaken_plan(definition, &errors));
            }
        }
    }
    if mistakes.is_empty() {
        Ok(plans)
    } else {
        Err(Error::usage(mistakes.join("\n")))
    }
}

/// Formats the mistakes of a plan, a line each.
pub(super) fn mistaken_plan(definition: &ScenarioDef, mistakes: &[PlanError]) -> String {
    let identity = definition.identity();
    let lines: Vec<_> = mistakes
        .iter()
        .map(|mistake| format!("`{identity}`: {mistake}"))
        .collect();
    lines.join("\n")
}

/// Short enough to be typed again.
pub(super) fn random_seed() -> u64 {
    RandomState::new().hash_one("seed") & u64::from(u32::MAX)
}

//! `cargo loadtest run`: one scenario after another or all at once, one record of all.

use super::series::{RunSeries, before_its_load};
use super::setup::find_setup_values;
use super::{Project, mix, publish, recorded, warn_of_unjudged_gate, words};
use crate::baselines::{Against, Baseline, Baselines};
use crate::cli::{Cli, RunArgs};
use crate::config::Config;
use crate::export::Format;
use crate::notify::{Planned, Run};
use crate::policy::{self, Action};
use crate::samples::{SamplesOutput, SamplesPlan};
use crate::selection::Found;
use crate::store::{MeasuredRun, Store};
use crate::telemetry::{RunFacts, Telemetry};
use crate::workspace::{self, Binary};
use jiff::Timestamp;
use loadtest::redact;
use loadtest_console::console;
use loadtest_console::error::{Error, Kind};
use loadtest_model::comparison::PlannedRun;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::plan::{GradingDefaults, LoadOption, Overrides, Plan, PlanError};
use loadtest_model::record::{Environment, RunRecord};
use std::hash::{BuildHasher as _, RandomState};
use tempfile::TempDir;

/// Begins the line by which `run --watched` tells the dashboard the name of its run.
pub(crate) const WATCHED_RUN: &str = "run ";

/// The seed of shards, which have to draw alike.
pub(super) const SHARD_SEED: u64 = 0;

/// Runs the selected scenarios and grades them.
///
/// # Errors
/// What prevents the run as a whole; what prevents one scenario is printed, and the next one runs.
pub(crate) fn run(args: &RunArgs, cli: &Cli) -> Result<ExitCode, Error> {
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
    let shard = args.part.shard.unwrap_or_default();
    let overrides = Overrides {
        shard,
        tracing: config.traces.tracing(args.trace.share),
        ..config.overrides(&args.load)?
    };
    config.grading.min_grade = args.gate.min_grade;
    let webhooks = project.webhooks(&config)?;
    let telemetry = project.telemetry(&config, &args.telemetry)?;
    let observation = project.observation(&config)?;
    let (samples, exports) = check_output(args, exports, &telemetry)?;
    project.permits(Action::Run, &config)?;
    let store = Store::in_workspace(&project.workspace, &config);
    check_overrides(&overrides)?;
    let baselines = Baselines::from_config(&config);
    let baseline = find_baseline(&baselines, args)?;
    let chosen = choose_scenarios(given, args, &project, &config, cli.quiet)?;
    let draw_seed = || shard.is_whole().then(random_seed).unwrap_or(SHARD_SEED);
    let seed = args.load.seed.unwrap_or_else(draw_seed);
    #[cfg(feature = "cluster")]
    let cluster = super::cluster_run::open_cluster(args, &config)?;
    let setup_values = find_setup_values(&args.part.setup_values, &chosen)?;
    let (overrides, binary) = shares(&chosen, args.mix, overrides)?;
    let plans = plan(&chosen, &overrides, &config.grading, seed)?;
    #[cfg(feature = "cluster")]
    super::cluster_run::check_division(&chosen, &overrides, &config, cluster.as_ref())?;
    warn_of_unused_starts(&chosen, &plans);
    let environment = workspace::environment(project.workspace.root(), &store.outputs());
    let against = baseline.map(|baseline| against(&baseline, &chosen, &plans, args, &environment));
    let against = against.transpose()?;
    observation.check(&[])?;

    let folder = store.create()?;
    let mut record = folder.new_record(environment);
    let samples = SamplesPlan::open(samples, &folder.identifier())?;
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
    let series = RunSeries {
        folder: &folder,
        spare: spare.as_ref().ok().map(TempDir::path),
        args,
        overrides: &overrides,
        setup_values: &setup_values,
        hub: &hub,
        observation: &observation,
        samples: samples.as_ref(),
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
    announce_start(args, cli.quiet);
    let ran = series.run_all(&chosen, binary.as_ref(), &mut record);
    record.telemetry = hub.finish(cli.quiet, &project.interrupts);
    SamplesOutput::finish(samples, &record, cli.quiet);
    let comparison = against.map(|against| against.compare(&record));
    let result = MeasuredRun {
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

/// Reads what samples are to be kept, and leaves the card out where figures or samples take standard output.
///
/// # Errors
/// A mistake in the options of samples, or when two take it.
fn check_output(
    args: &RunArgs,
    exports: publish::Exports,
    telemetry: &Telemetry,
) -> Result<(Option<SamplesPlan>, publish::Exports), Error> {
    let samples = SamplesPlan::read(&args.samples)?;
    let takes_samples = samples.as_ref().is_some_and(SamplesPlan::takes_output);
    if takes_samples && (telemetry.takes_output() || exports.take_output()) {
        return Err(Error::usage(
            "`--samples -` is not the only one to write to standard output; give one of them a file",
        ));
    }
    let exports = exports.without_card(takes_samples || telemetry.takes_output());
    Ok((samples, exports))
}

/// Returns the scenario of a copied request, or else those that are selected.
fn choose_scenarios(
    given: Option<recorded::ImportedRequests>,
    args: &RunArgs,
    project: &Project<'_>,
    config: &Config,
    quiet: bool,
) -> Result<Vec<Found>, Error> {
    let Some(given) = given else {
        let chosen = project.selected(&args.selection)?;
        policy::permits_tests(config, &chosen)?;
        check_start(args, chosen.len())?;
        return Ok(chosen);
    };
    let chosen = vec![given.into_scenario(project)?];
    policy::permits_tests(config, &chosen)?;
    recorded::warn_of_debug_build(quiet);
    Ok(chosen)
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

/// Prints the time that the load waits for, if it is to come.
fn announce_start(args: &RunArgs, quiet: bool) {
    let start = args.part.start_at.filter(|_| !quiet);
    if let Some(start) = start.filter(|start| *start > Timestamp::now()) {
        console::print_status("Waiting", format_args!("until {start} to start the load"));
    }
}

/// Refuses a start for several scenarios that run in turn.
///
/// # Errors
/// When there is one.
fn check_start(args: &RunArgs, scenarios: usize) -> Result<(), Error> {
    if args.part.start_at.is_some() && scenarios > 1 && !args.mix {
        return Err(Error::usage(
            "`--start-at` is for one scenario, or for several with `--mix`",
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
            tracing: plan.tracing.as_ref(),
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

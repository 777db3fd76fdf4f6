//! The scenarios of one `run`, one after another or at once, and what becomes of each.

#[cfg(feature = "cluster")]
use super::cluster_run::DividedRun;
use crate::cli::RunArgs;
#[cfg(feature = "cluster")]
use crate::cluster::Cluster;
use crate::config::Config;
use crate::live::Live;
use crate::observe::{BrokenLimit, Observation, Observer};
use crate::samples::SamplesOutput;
use crate::selection::Found;
use crate::session::{self, Program};
use crate::store::{self, RunFolder};
use crate::telemetry::Hub;
use crate::workspace::{self, Binary};
use jiff::Timestamp;
use loadtest::redact;
use loadtest_console::console;
use loadtest_console::error::{Error, Kind};
use loadtest_console::files;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::card::{Card, Headline, Verdict};
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::failure::FailureKind;
use loadtest_model::plan::Overrides;
use loadtest_model::protocol::{Request, RunRequest};
use loadtest_model::record::{EndReason, NotRun, RunRecord, ScenarioRecord};
use loadtest_model::redacted::Redacted;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
pub(super) fn before_its_load(found: &Found) -> NotRun {
    NotRun {
        exit_code: Error::interrupted().exit_code(),
        message: "interrupted before its load started".into(),
        ..NotRun::from_definition(&found.definition)
    }
}

/// Returns the exit code and the reason if a result ends the whole run.
fn end_of_all(result: &Result<ScenarioRecord, Error>) -> Option<(ExitCode, String)> {
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

/// Says of a load that was stopped that a limit of the target's side ended it.
fn explain_end(ending: &mut EndReason, broken: &BrokenLimit) {
    if *ending == EndReason::Interrupted {
        *ending = EndReason::ObservedBroken {
            after_us: u64::try_from(broken.after.as_micros()).unwrap_or(u64::MAX),
            reason: Redacted::assume(&*broken.reason),
        };
    }
}

/// Returns the entry of a scenario after the end of the whole run.
fn after_the_end(found: &Found, exit_code: ExitCode, reason: &str) -> NotRun {
    NotRun {
        exit_code,
        message: redact::redact(&format!(
            "not started, because the previous scenario ended the run: {reason}"
        )),
        ..NotRun::from_definition(&found.definition)
    }
}

/// Data shared by the scenarios of one invocation.
pub(super) struct RunSeries<'a> {
    pub(super) folder: &'a RunFolder,
    pub(super) args: &'a RunArgs,
    /// Overrides, one per scenario.
    pub(super) overrides: &'a [Overrides],
    /// The files with the values of setups, by the identity of the scenario.
    pub(super) setup_values: &'a BTreeMap<String, PathBuf>,
    /// Gets the figures of each scenario.
    pub(super) hub: &'a Hub,
    /// What is observed of the targets meanwhile.
    pub(super) observation: &'a Observation,
    /// Gets their raw samples, if they are kept.
    pub(super) samples: Option<&'a SamplesOutput>,
    /// The machines that make the load, in place of this one.
    #[cfg(feature = "cluster")]
    pub(super) cluster: Option<&'a Cluster>,
    pub(super) config: &'a Config,
    pub(super) seed: u64,
    pub(super) interrupts: &'a Interrupts,
    pub(super) offline: bool,
    #[cfg(feature = "cluster")]
    pub(super) bundle: Option<String>,
    pub(super) quiet: bool,
    /// A folder for records that the folder of the run does not take.
    pub(super) spare: Option<&'a Path>,
}

impl RunSeries<'_> {
    /// Returns true if the course of the run is shown elsewhere, or nowhere.
    fn is_unseen(&self) -> bool {
        self.quiet || self.args.watched
    }

    /// Creates the view of so many scenarios at once, from the one with this number.
    fn live(&self, first: usize, scenarios: usize) -> Live {
        let spans = (first..first + scenarios).map(|at| self.folder.spans(at + 1));
        let feed = self.hub.feed(first).map(|feed| feed.with_spans(spans));
        Live::new(self.is_unseen(), scenarios).with_feed(feed)
    }

    /// Runs the scenarios: at once in one process of `binary`, or else one after another.
    pub(super) fn run_all(
        &self,
        chosen: &[Found],
        binary: Option<&Binary>,
        record: &mut RunRecord,
    ) -> Result<(), Error> {
        let Some(binary) = binary else {
            self.run_in_turn(chosen, record);
            return Ok(());
        };
        self.run_at_once(chosen, binary, record)
    }

    /// Runs the scenarios one after another; prints the error of each that fails.
    fn run_in_turn(&self, chosen: &[Found], record: &mut RunRecord) {
        let mut ended: Option<(ExitCode, String)> = None;
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
        let results = self.observe(0, &requests, |live| {
            #[cfg(feature = "cluster")]
            if let Some(cluster) = self.cluster {
                return self.cluster_run(chosen, &requests).make(cluster, live);
            }
            session::mix(
                Program::from_binary(binary, self.offline),
                &requests,
                &self.folder.mix(),
                self.interrupts,
                live,
            )
        })?;
        for (found, result) in chosen.iter().zip(results) {
            keep_result(found, result, record);
        }
        Ok(())
    }

    fn run(&self, found: &Found, at: usize) -> Result<ScenarioRecord, Error> {
        let hash = workspace::hash(&found.binary.executable)?;
        let request = self.request(found, at, hash);
        let results = self.observe(at, std::slice::from_ref(&request), |live| {
            #[cfg(feature = "cluster")]
            if let Some(cluster) = self.cluster {
                let chosen = std::slice::from_ref(found);
                let requests = std::slice::from_ref(&request);
                return self.cluster_run(chosen, requests).make(cluster, live);
            }
            let result = session::run(
                Program::from_binary(&found.binary, self.offline),
                &request,
                &self.folder.request(at + 1),
                self.interrupts,
                live,
            );
            Ok(vec![result])
        })?;
        let result = results.into_iter().next();
        result.unwrap_or_else(|| Err(Error::failure("the cluster made no run")))
    }

    /// Makes the load of these requests, keeps its samples, and adds what was observed of its targets meanwhile; `first`
    /// is the place of the first of them in the run.
    fn observe(
        &self,
        first: usize,
        requests: &[RunRequest],
        load: impl FnOnce(&mut Live) -> Result<Vec<Result<ScenarioRecord, Error>>, Error>,
    ) -> Result<Vec<Result<ScenarioRecord, Error>>, Error> {
        let numbers = first + 1..=first + requests.len();
        let files = numbers.map(|number| self.folder.observed(number));
        let observer = Observer::new(files.collect(), self.observation);
        let live = self.live(first, requests.len());
        let mut live = live.with_observer(observer.clone());
        let samples = requests
            .iter()
            .filter_map(|request| Some(self.samples?.follow(request.samples.as_ref()?)));
        let followers: Vec<_> = samples.collect();
        let results = load(&mut live);
        for follower in followers {
            follower.end();
        }
        let all = observer.conclude();
        for line in observer.take_news() {
            console::print_warning(line);
        }
        let broken = observer.broken_limit();
        let broken = broken.filter(|_| self.interrupts.count() == 0);
        let results = results?.into_iter().zip(all).map(|(result, observed)| {
            let mut scenario = result?;
            scenario.observed = observed;
            if let Some(broken) = &broken {
                explain_end(&mut scenario.end.ending, broken);
            }
            Ok(scenario)
        });
        Ok(results.collect())
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
            base_url: (self.args.load.base_url.clone())
                .or_else(|| found.binary.base_url_of_environment()),
            grading: self.config.grading.clone(),
            seed: self.seed,
            executable_hash,
            journal: self.folder.journal(at + 1),
            record: self.folder.scenario_record(at + 1),
            spare_record: self.spare.map(|folder| folder.join(format!("{at}.json"))),
            spans: (self.overrides[at].tracing.as_ref())
                .filter(|tracing| tracing.has_spans())
                .map(|_| self.folder.spans(at + 1)),
            setup_values: self.setup_values.get(&found.definition.identity()).cloned(),
            start_at_us: self.args.part.start_at.map(to_micros),
            has_controller: false,
            samples: (self.samples).map(|samples| samples.request(self.folder.samples(at + 1))),
        }
    }
}

/// Returns a time in microseconds after 1970.
fn to_micros(time: Timestamp) -> u64 {
    u64::try_from(time.as_microsecond()).unwrap_or_default()
}

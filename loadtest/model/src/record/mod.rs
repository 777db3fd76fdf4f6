//! The run record: all that survives a run; versioned and complete.

mod check;
mod permit;
mod regrade;
mod trust;

pub use check::Impossible;
pub use permit::{Offline, Permit, PermittedBy};
pub use trust::Trust;

use crate::capacity::Search;
use crate::comparison::Beside;
use crate::definition::ScenarioDef;
use crate::metrics::{Cells, Frame, Panicked, Windows};
use crate::plan::{GradingDefaults, Plan};
use crate::schedule::Schedule;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of the record's schema that this program writes.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything an invocation measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`SCHEMA_VERSION`] of the program that wrote it.
    pub schema_version: u32,
    /// The identifier of the run; also sent with every request.
    pub run_id: String,
    /// The version of the tool.
    pub tool_version: String,
    /// The time the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// The machine and the source.
    pub environment: Environment,
    /// The scenarios, in the order they ran.
    pub scenarios: Vec<ScenarioRecord>,
    /// The selected scenarios that did not run.
    #[serde(default)]
    pub not_run: Vec<NotRun>,
    /// The search that the run was, where it was one; its scenario is then that of the trial that shows
    /// the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Search>,
}

/// A scenario that was selected and did not run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRun {
    /// Its identity: `package::module::function`.
    pub scenario: String,
    /// The fingerprint of its source, as far as it is known.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// `version = ".."`, where it has one.
    #[serde(default)]
    pub version: Option<String>,
    /// The exit code that says what kind of reason it was.
    pub exit_code: u8,
    /// The reason, in words; redacted.
    pub message: String,
    /// The remedy, if one is known.
    pub help: Option<String>,
}

impl NotRun {
    /// Creates one without a reason yet.
    pub fn of(definition: &ScenarioDef) -> Self {
        Self {
            scenario: definition.identity(),
            fingerprint: Some(definition.fingerprint.to_string()),
            version: definition.version.as_deref().map(str::to_owned),
            ..Self::default()
        }
    }
}

/// The machine and the source of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// The commit of the source, where it is kept in git.
    pub git_commit: Option<String>,
    /// True if the work tree differed from that commit.
    pub git_dirty: Option<bool>,
    /// The operating system: `linux`.
    pub os: String,
    /// The processor's architecture: `x86_64`.
    pub arch: String,
    /// Processors that the run could use.
    pub cpus: usize,
}

/// The record of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a run")]
pub struct ScenarioRecord {
    /// The scenario as it was.
    pub definition: ScenarioDef,
    /// The plan of the run.
    pub plan: Plan,
    /// The base URL the paths were joined to.
    pub base_url: Option<String>,
    /// True if the scenario started the target itself.
    pub own_target: bool,
    /// True if that target ran inside the process that measured it.
    #[serde(default)]
    pub target_in_process: bool,
    /// The permission of each target that was known before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permits: Vec<Permit>,
    /// By what it is known that nothing but loopback could be reached, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline: Option<Offline>,
    /// True if the judgement of validity was switched off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub validity_off: bool,
    /// SHA-256 of the executable that ran it.
    pub executable_hash: String,
    /// Worker threads.
    pub workers: u32,
    /// The time it began, RFC 3339 in UTC.
    pub started_at: String,
    /// The way it ended.
    pub ending: Ending,
    /// From the start of the load to the end of the last iteration, warm-up included.
    pub elapsed_us: u64,
    /// The length of the steady part, which rates are divided by.
    pub steady_us: u64,
    /// Iterations that were to start, those of the warm-up included: arrivals, or for closed loads as
    /// many as started.
    pub planned: u64,
    /// All counters and histograms.
    pub windows: Windows,
    /// The course over time.
    pub cells: Cells,
    /// The panics of steps: `file:line:column` and the message, with their number.
    pub panics: Vec<Panicked>,
    /// True if the load ended, for all or some users, since the feed of the plan had no more rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_rows: bool,
    /// The end of the target that the scenario started, if it did not survive the run.
    #[serde(default)]
    pub target_death: Option<String>,
    /// The comparison with a baseline, if the run was to be compared with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Beside>,
    /// The policy given to [`RunRecord::regrade`]; a record as it was written has none.
    #[serde(skip)]
    pub regraded: Option<GradingDefaults>,
}

/// The way a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ending {
    /// Completed as planned.
    Completed,
    /// Stopped early; what was in flight could end.
    Interrupted,
    /// Stopped at once.
    Aborted,
    /// Given up, since more than 5 % of the executed steps panicked.
    Panicked,
    /// Given up, since a threshold was broken that asks for it; what was in flight could end.
    ThresholdBroken {
        /// The number of the threshold in the plan.
        threshold: usize,
        /// The time it was seen to be broken, from the start of the load.
        after_us: u64,
        /// The measured value at that time: `errors of the journey: 7.1 %, and must be < 5 %`.
        reason: String,
    },
    /// Stopped, since the permission to test the target ended; what was in flight could end.
    Halted {
        /// The party that withdrew it, or the cap that was reached.
        reason: String,
    },
    /// A step blocked a worker thread beyond the hard end; what that worker did is unknown.
    Stuck {
        /// The step, as far as it is known.
        reason: String,
    },
    /// The process ended without saying so; this record comes from its journal.
    Died {
        /// The known circumstances.
        reason: String,
    },
}

/// The facts about a run that are known before anything is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The scenario as it is.
    pub definition: ScenarioDef,
    /// The plan of the run.
    pub plan: Plan,
    /// The base URL that paths are joined to.
    pub base_url: Option<String>,
    /// True if the scenario started the target itself.
    pub own_target: bool,
    /// True if that target runs inside the process that measures it.
    #[serde(default)]
    pub target_in_process: bool,
    /// The permission of each known target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permits: Vec<Permit>,
    /// By what it is known that nothing but loopback could be reached, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline: Option<Offline>,
    /// True if the judgement of validity is switched off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub validity_off: bool,
    /// SHA-256 of the executable.
    pub executable_hash: String,
    /// Worker threads.
    pub workers: u32,
    /// When, RFC 3339 in UTC.
    pub started_at: String,
}

/// The facts about a run that are known only at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The way it ended.
    pub ending: Ending,
    /// From the start of the load to the end of the last iteration.
    pub elapsed_us: u64,
    /// Iterations that were to start, those of the warm-up included.
    pub planned: u64,
    /// The length of the steady part.
    pub steady_us: u64,
    /// True if every worker reported; one that is stuck in a step does not.
    pub complete: bool,
    /// The panics of steps.
    pub panics: Vec<Panicked>,
    /// True if the load ended, for all or some users, since a feed had no more rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_rows: bool,
    /// The end of the scenario's own target, if it did not survive the run.
    #[serde(default)]
    pub target_death: Option<String>,
}

impl ScenarioRecord {
    /// A record without measurements; [`absorb`](Self::absorb) and [`end`](Self::end) fill it. Both
    /// the running program and a reader of its journal build a record so.
    pub fn new(start: Start) -> Self {
        Self {
            definition: start.definition,
            plan: start.plan,
            base_url: start.base_url,
            own_target: start.own_target,
            target_in_process: start.target_in_process,
            permits: start.permits,
            offline: start.offline,
            validity_off: start.validity_off,
            executable_hash: start.executable_hash,
            workers: start.workers,
            started_at: start.started_at,
            ending: Ending::Died {
                reason: "the journal has no end".to_owned(),
            },
            elapsed_us: 0,
            steady_us: 0,
            planned: 0,
            windows: Windows::default(),
            cells: Cells::default(),
            panics: Vec::new(),
            out_of_rows: false,
            target_death: None,
            comparison: None,
            regraded: None,
        }
    }

    /// Adds one second.
    pub fn absorb(&mut self, frame: &Frame) {
        self.windows.merge(&frame.windows);
        self.cells.absorb(frame);
        self.elapsed_us = self
            .elapsed_us
            .max((u64::from(frame.second) + 1) * 1_000_000);
    }

    /// Closes the record of a run that did not say how it ended: what began and never ended counts as
    /// cancelled, and only what is known to have been due counts as planned.
    pub fn died(&mut self, reason: String) {
        self.settle();
        let elapsed = Duration::from_micros(self.elapsed_us);
        let steady = Schedule::new(&self.plan.load).steady_part(elapsed);
        self.steady_us = u64::try_from(steady.as_micros()).unwrap_or(u64::MAX);
        self.ending = Ending::Died { reason };
    }

    /// Counts what began and never ended as cancelled, and plans only what is known to have been due.
    fn settle(&mut self) {
        let windows = &mut self.windows;
        self.planned = 0;
        for tally in [&mut windows.warm_up, &mut windows.ramp, &mut windows.steady] {
            let journey = &mut tally.journey;
            journey.cancelled = journey.started.saturating_sub(journey.ok + journey.failed);
            self.planned += journey.started + journey.dropped;
        }
    }

    /// Closes the record.
    pub fn end(&mut self, end: End) {
        self.ending = end.ending;
        self.elapsed_us = end.elapsed_us;
        self.steady_us = end.steady_us;
        self.planned = end.planned;
        self.panics = end.panics;
        self.out_of_rows = end.out_of_rows;
        self.target_death = end.target_death;
        if !end.complete {
            self.settle();
        }
    }
}

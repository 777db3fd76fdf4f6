//! The run record: all that survives a run; versioned and complete.

mod check;
mod merge;
mod observed;
mod permit;
mod regrade;
mod telemetry;
mod trust;

use crate::exit_code::ExitCode;
pub use crate::metrics::{ObservedFigure, ObservedLimit, ObservedPoint};
pub use check::{Impossible, from_json};
pub use merge::{AgentRun, MergeError, ShardDoubt, ShardRun, merge_shards};
pub use observed::ObservedSeries;
pub use permit::{Offline, Permit, PermittedBy};
pub use telemetry::TelemetryDelivery;
pub use trust::Trust;

use crate::capacity::Search;
use crate::definition::ScenarioDef;
use crate::metrics::{Cells, Frame, Panicked, Windows};
use crate::plan::{GradingDefaults, Plan};
use crate::redacted::Redacted;
use crate::samples::SamplesAccount;
use crate::schedule::{Schedule, Window};
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
    /// What arrived where the figures were sent while it went on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub telemetry: Vec<TelemetryDelivery>,
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
    pub exit_code: ExitCode,
    /// The reason, in words.
    pub message: Redacted,
    /// The remedy, if one is known.
    pub help: Option<Redacted>,
}

impl NotRun {
    /// Creates one without a reason yet.
    pub fn from_definition(definition: &ScenarioDef) -> Self {
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
    /// Who asked for the run: `LOADTEST_USER`, which a shared dashboard sets to the name of the visitor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_by: Option<String>,
}

/// The record of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioRecord {
    /// The facts known before the load.
    #[serde(flatten)]
    pub start: RunStart,
    /// The facts known after it.
    #[serde(flatten)]
    pub end: RunEnd,
    /// All counters and histograms.
    pub windows: Windows,
    /// The course over time.
    pub cells: Cells,
    /// The shards that the record was merged of, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardRun>,
    /// What was read of the target's own side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedSeries>,
    /// The policy given to [`RunRecord::regrade`]; a record as it was written has none.
    #[serde(skip)]
    pub regraded: Option<GradingDefaults>,
}

/// The way a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum EndReason {
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
        reason: Redacted,
    },
    /// Stopped, since a limit of the target's own side was broken that asks for it; what was in flight could end.
    ObservedBroken {
        /// The time it was seen to be broken, from the start of the load.
        after_us: u64,
        /// The value at that time: `max of db cpu: 3.9 cores, and must be < 3.5 cores`.
        reason: Redacted,
    },
    /// Stopped, since the permission to test the target ended; what was in flight could end.
    Halted {
        /// The party that withdrew it, or the cap that was reached.
        reason: Redacted,
    },
    /// A step blocked a worker thread beyond the hard end; what that worker did is unknown.
    Stuck {
        /// The step, as far as it is known.
        reason: Redacted,
    },
    /// An agent did not make its part of a load, or not all that it measured is known.
    AgentLost {
        /// The agent, and what is not known.
        reason: Redacted,
        /// True if what the others made is enough of the load for the user.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_enough: bool,
    },
    /// The process ended without saying so; this record comes from its journal.
    Died {
        /// The known circumstances.
        reason: Redacted,
    },
}

/// The facts about a run that are known before anything is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
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
pub struct RunEnd {
    /// The way it ended.
    pub ending: EndReason,
    /// From the start of the load to the end of the last iteration.
    pub elapsed_us: u64,
    /// Iterations that were to start, those of the warm-up included.
    pub planned: u64,
    /// The length of the steady part.
    pub steady_us: u64,
    /// True if every worker reported; one that is stuck in a step does not.
    #[serde(default = "all_reported")]
    pub complete: bool,
    /// The panics of steps.
    pub panics: Vec<Panicked>,
    /// True if the load ended, for all or some users, since a feed had no more rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_rows: bool,
    /// The end of the scenario's own target, if it did not survive the run.
    #[serde(default)]
    pub target_death: Option<Redacted>,
    /// What became of its raw samples, if they were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<SamplesAccount>,
}

/// Returns the value of [`RunEnd::complete`] for records that were written without it.
const fn all_reported() -> bool {
    true
}

impl ScenarioRecord {
    /// Creates the record of a run that begins; one without an end counts as died.
    pub fn new(start: RunStart) -> Self {
        Self {
            start,
            end: RunEnd {
                ending: EndReason::Died {
                    reason: "the journal has no end".into(),
                },
                elapsed_us: 0,
                planned: 0,
                steady_us: 0,
                complete: false,
                panics: Vec::new(),
                out_of_rows: false,
                target_death: None,
                samples: None,
            },
            windows: Windows::default(),
            cells: Cells::default(),
            shards: Vec::new(),
            observed: Vec::new(),
            regraded: None,
        }
    }

    /// Adds a second.
    pub fn absorb(&mut self, frame: &Frame) {
        self.windows.merge(&frame.windows);
        let schedule = Schedule::new(&self.start.plan.load);
        let second = Duration::from_secs(frame.second.into());
        self.cells
            .absorb(frame, schedule.window(second) == Window::Steady);
        self.end.elapsed_us = self
            .end
            .elapsed_us
            .max((u64::from(frame.second) + 1) * 1_000_000);
    }

    /// Ends the record of a process that ended without saying so: what was in flight counts as cancelled.
    pub fn mark_died(&mut self, reason: Redacted) {
        self.settle();
        let elapsed = Duration::from_micros(self.end.elapsed_us);
        let steady = Schedule::new(&self.start.plan.load).steady_part(elapsed);
        self.end.steady_us = u64::try_from(steady.as_micros()).unwrap_or(u64::MAX);
        self.end.ending = EndReason::Died { reason };
    }

    /// Counts what was in flight as cancelled, so that the accounts balance.
    fn settle(&mut self) {
        let windows = &mut self.windows;
        self.end.planned = 0;
        for tally in [&mut windows.warm_up, &mut windows.ramp, &mut windows.steady] {
            let journey = &mut tally.journey;
            journey.cancelled = journey.started.saturating_sub(journey.ok + journey.failed);
            self.end.planned += journey.started + journey.dropped;
        }
    }

    /// Adds the end.
    pub fn finish(&mut self, end: RunEnd) {
        self.end = end;
        if !self.end.complete {
            self.settle();
        }
    }
}

//! The messages between `cargo-loadtest` and a load-test binary.
//!
//! The tool starts the binary with [`REQUEST_VARIABLE`] set to the path of a [`Request`] in JSON. The
//! answer goes into files that the request names; standard output is not used. Standard input
//! is the control pipe: a line `stop` or `abort`, or `start MICROSECONDS` for a run with a controller; its end means
//! `stop`.

mod debug;
mod replay;
mod spans;

pub use debug::{
    CurlCommand, DebugAnswer, DebugCall, DebugEnd, DebugEvent, DebugExchange, DebugHop,
    DebugMessages, DebugOperation, DebugOutcome, DebugProblem, DebugStart, DebugStep, DebugStream,
    ShownBody, ShownEvent, ShownMessage, ShownSocketMessage, SocketFrame,
};

pub use replay::{Replay, ReplayedRequest};
pub use spans::{SpanLine, TracedJourney, TracedOutcome, TracedRequest, TracedRoot, TracedStep};

use crate::capacity::{Goal, Purpose, SearchEnding, Trial};
use crate::definition::ScenarioDef;
use crate::failure::RunFailure;
use crate::metrics::{Frame, Number};
use crate::plan::{GradingDefaults, Overrides};
use crate::record::{self, RunEnd, RunStart};
use crate::samples::SamplesRequest;
use crate::trace::Tracing;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The version of this protocol; also in the marker of every load-test binary.
pub const VERSION: u32 = 2;

/// The most bytes of a `loadtest.toml` that the tool and load tests read: thousands of targets. A larger one is no
/// configuration.
pub const MAX_CONFIGURATION_BYTES: u64 = 1 << 20;

/// The environment variable that names the file of the request.
pub const REQUEST_VARIABLE: &str = "LOADTEST_REQUEST";

/// The environment variable that gives a base URL, under `cargo test` too.
pub const BASE_URL_VARIABLE: &str = "LOADTEST_BASE_URL";

/// The environment variable that asks a load-test binary to keep itself from every network but loopback, under
/// `cargo test` too.
pub const OFFLINE_VARIABLE: &str = "LOADTEST_OFFLINE";

/// The environment variable that names the folder of a bundle with a folder for each package. Without it, files are
/// read from the folders where the packages were compiled.
pub const PACKAGES_VARIABLE: &str = "LOADTEST_PACKAGES";

/// Returns true if a value of [`OFFLINE_VARIABLE`] asks to be kept from the network.
///
/// # Errors
/// The value is neither yes nor no.
pub fn is_offline_wanted(value: Option<&str>) -> Result<bool, String> {
    match value {
        None | Some("" | "0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(other) => Err(format!(
            "`{OFFLINE_VARIABLE}` is `{}`, which is neither `1` nor `0`",
            other.escape_debug()
        )),
    }
}

/// The environment variable that switches the judgement of validity off, for functional tests.
pub const VALIDITY_VARIABLE: &str = "LOADTEST_VALIDITY";

/// Returns whether a value of [`VALIDITY_VARIABLE`] switches the judgement of validity off.
///
/// # Errors
/// The value is neither `on` nor `off`.
pub fn is_validity_off(value: Option<&str>) -> Result<bool, String> {
    match value {
        None | Some("" | "on") => Ok(false),
        Some("off") => Ok(true),
        Some(other) => Err(format!(
            "`{VALIDITY_VARIABLE}` is `{}`, which is neither `on` nor `off`",
            other.escape_debug()
        )),
    }
}

/// The bytes by which a load-test binary is known without running it; followed by the version as
/// two decimal digits.
pub const MARKER_PREFIX: &[u8] = b"\0loadtest-binary\0protocol=";

/// A request of the tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Write a [`Listing`] to `output`.
    List {
        /// The file for the listing.
        output: PathBuf,
    },
    /// Run one scenario; write [`JournalLine`]s as it goes, and the record at the end.
    Run(Box<RunRequest>),
    /// Run several scenarios at once, each with a journal and a record of its own. One that cannot
    /// begin keeps all from beginning.
    Mix {
        /// The scenarios, in the order of their setups.
        scenarios: Vec<RunRequest>,
    },
    /// Run one journey, and write what it does to a file as it goes.
    Debug(Box<DebugRequest>),
    /// Run the setups of one scenario, and write their values for the processes that share its load.
    Setup(Box<SetupRequest>),
    /// Run its teardowns, with these values.
    Teardown(Box<SetupRequest>),
    /// Search for the highest rate of one scenario that meets an SLO, in one run after another.
    Capacity(Box<CapacityRequest>),
}

/// A search to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityRequest {
    /// The identity of the scenario: `package::module::function`.
    pub scenario: String,
    /// The identifier of the run, which all trials share.
    pub run_id: String,
    /// `--base-url`.
    pub base_url: Option<String>,
    /// The grading policy of the workspace.
    pub grading: GradingDefaults,
    /// The traces of its requests, where they carry some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// The seed of the first trial; each further one has the next.
    pub seed: u64,
    /// SHA-256 of the executable, for the record.
    pub executable_hash: String,
    /// The goal of the search.
    pub goal: Goal,
    /// The file for the course of the search: a [`SearchLine`] in JSON per line.
    pub search: PathBuf,
    /// The files of the trials, as many as there can be.
    pub trials: Vec<TrialFiles>,
}

/// The files of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialFiles {
    /// Its journal: a [`JournalLine`] in JSON per line.
    pub journal: PathBuf,
    /// Its [`ScenarioRecord`](crate::record::ScenarioRecord), at its end.
    pub record: PathBuf,
    /// What the tool observed of the target's side, if the goal has conditions on it: a list of
    /// [`ObservedSeries`](crate::record::ObservedSeries), which the search waits for.
    #[serde(default)]
    pub observed: PathBuf,
    /// The spans of its sampled journeys: a [`SpanLine`] in JSON per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<PathBuf>,
}

/// A line of the course of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchLine {
    /// A trial begins.
    Begin {
        /// Iterations per second.
        per_second: f64,
        /// The purpose of this rate.
        purpose: Purpose,
    },
    /// It is over.
    Trial(Box<Trial>),
    /// The search is over.
    End(SearchEnding),
    /// There was no search.
    Failed(RunFailure),
}

/// A request for one iteration, shown step by step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DebugRequest {
    /// The identity of the scenario: `package::module::function`.
    pub scenario: String,
    /// The changes of the load from the command line of the run.
    pub overrides: Overrides,
    /// `--base-url`.
    pub base_url: Option<String>,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the iteration in the run; the first one where there is none.
    pub iteration: Option<Number>,
    /// The file for the events: a `journey::Event` in JSON per line.
    pub output: PathBuf,
}

/// A request to run one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    /// The identity of the scenario: `package::module::function`.
    pub scenario: String,
    /// The identifier of the run.
    pub run_id: String,
    /// The changes of the load from the command line.
    pub overrides: Overrides,
    /// `--base-url`.
    pub base_url: Option<String>,
    /// The grading policy of the workspace.
    pub grading: GradingDefaults,
    /// The seed.
    pub seed: u64,
    /// SHA-256 of the executable, for the record.
    pub executable_hash: String,
    /// The file for the journal: a [`JournalLine`] in JSON per line.
    pub journal: PathBuf,
    /// The file for the [`ScenarioRecord`](crate::record::ScenarioRecord), in JSON, written at the end.
    pub record: PathBuf,
    /// The file for it where that one cannot be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_record: Option<PathBuf>,
    /// The file for the spans of sampled journeys: a [`SpanLine`] in JSON per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<PathBuf>,
    /// The file of the [`SetupValues`] of a shard, which runs no setup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_values: Option<PathBuf>,
    /// The start of the load, in microseconds after 1970-01-01 in UTC; as soon as it can where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at_us: Option<u64>,
    /// Whether a controller of several processes decides about this one: it gives the start on the control pipe once
    /// the journal says [`JournalLine::Ready`], and ends the load where a threshold is broken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_controller: bool,
    /// The raw samples to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<SamplesRequest>,
}

/// A request to run the setups or the teardowns of one scenario, without a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetupRequest {
    /// The identity of the scenario: `package::module::function`.
    pub scenario: String,
    /// The changes of the load from the command line.
    pub overrides: Overrides,
    /// `--base-url`.
    pub base_url: Option<String>,
    /// The seed of the run.
    pub seed: u64,
    /// The file of the [`SetupValues`]: setups write it, teardowns read it.
    pub values: PathBuf,
    /// The file for the [`SetupLine`], in JSON.
    pub output: PathBuf,
}

/// The result of a [`SetupRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetupLine {
    /// All ran.
    Done {
        /// The names of the setups whose values were written.
        values: Vec<String>,
    },
    /// Something failed.
    Failed(RunFailure),
}

/// The values that the setups of a scenario returned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetupValues {
    /// The identity of the scenario.
    pub scenario: String,
    /// Its version, or else the fingerprint of its source.
    pub fingerprint: String,
    /// The values by the names of the setups.
    pub values: BTreeMap<String, Box<RawValue>>,
}

/// The scenarios of a binary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// The package that holds the binary; empty if the tool itself is the binary.
    #[serde(default)]
    pub package: String,
    /// The folder of that package where the binary was built.
    #[serde(default)]
    pub package_root: PathBuf,
    /// The scenarios, sorted by package, file and line.
    pub scenarios: Vec<ScenarioDef>,
    /// Mistakes that forbid a run, such as a name given twice.
    pub problems: Vec<String>,
}

/// A line of the journal: `{"frame":{..}}`.
// Not with an inner tag: serde reads such values through a buffer, which holds neither the 128-bit
// sums of histograms nor numbers as keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalLine {
    /// Everything is ready for the start, which a controller is to give.
    Ready,
    /// The run begins.
    Start(Box<RunStart>),
    /// A second passed.
    Frame(Box<Frame>),
    /// The run is over.
    End(RunEnd),
    /// There was no run.
    Failed(RunFailure),
}

impl JournalLine {
    /// Reads a line.
    ///
    /// # Errors
    /// When it is another JSON, or has a number so large that sums would overflow.
    // Compiled here, and so as optimised as this crate is.
    pub fn from_json(line: &[u8]) -> serde_json::Result<Self> {
        record::from_json(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_yes_nor_no_is_refused() {
        for no in [None, Some(""), Some("0"), Some("false")] {
            assert_eq!(is_offline_wanted(no), Ok(false));
        }
        for yes in ["1", "true"] {
            assert_eq!(is_offline_wanted(Some(yes)), Ok(true));
        }
        let told = is_offline_wanted(Some("yes\x1b")).unwrap_err();
        assert!(told.contains("`yes\\u{1b}`"), "{told}");
    }

    #[test]
    fn validity_is_switched_by_on_and_off_alone() {
        for judged in [None, Some(""), Some("on")] {
            assert_eq!(is_validity_off(judged), Ok(false));
        }
        assert_eq!(is_validity_off(Some("off")), Ok(true));
        assert_eq!(
            is_validity_off(Some("no\x1b")).unwrap_err(),
            "`LOADTEST_VALIDITY` is `no\\u{1b}`, which is neither `on` nor `off`"
        );
    }
}

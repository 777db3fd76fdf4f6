//! One iteration, shown: every request and response, and the outcome of each step, without secrets.

mod body;
mod curl;
mod observer;
mod secret_names;
mod shell;

pub(crate) use curl::CurlTls;
pub(crate) use observer::DebugObserver;

pub use loadtest_model::metrics::Number;

use loadtest_model::definition::ScenarioDef;
use loadtest_model::failure::RunFailure;
use loadtest_model::metrics::RootCause;
use loadtest_model::metrics::{ErrorKind, Phases};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Bytes as a word of a POSIX shell; without a NUL, which no argument can hold.
#[doc(hidden)]
pub fn quote_for_shell(bytes: &[u8]) -> String {
    shell::shell_word(&[shell::ShellPiece::Plain(bytes.to_vec())])
}

/// An event of an iteration, in order: `{"step":{..}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The iteration begins.
    Start(Box<Start>),
    /// A request was answered, or was not. Those of a step come before its end.
    Exchange(Box<Exchange>),
    /// A step is over.
    Step(Step),
    /// The user would think now in a run; here it does not.
    Think {
        /// The zero-based number of the step.
        step: usize,
        /// For how long.
        #[serde(rename = "time_us", with = "loadtest_model::definition::micros")]
        time: Duration,
    },
    /// The iteration is over.
    End(End),
    /// There was no iteration.
    Failed(RunFailure),
}

/// The facts that are known before the first step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The scenario.
    pub definition: ScenarioDef,
    /// The number of the iteration.
    pub number: Number,
    /// The seed of the run.
    pub seed: u64,
    /// The base URL, where there is one.
    pub base_url: Option<String>,
    /// True if the scenario started the target.
    pub own_target: bool,
}

/// A request of a step with all redirects that were followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The zero-based number of the step.
    pub step: usize,
    /// The requests on the wire, in order; at least one.
    pub hops: Vec<Hop>,
    /// From ready to the last byte of the body.
    #[serde(
        rename = "service_time_us",
        with = "loadtest_model::definition::micros"
    )]
    pub service_time: Duration,
    /// The parts of it that are known.
    pub phases: Phases,
    /// The reason why there is no response that the step could read.
    pub problem: Option<Problem>,
}

/// A request on the wire, and its response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hop {
    /// The method.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// `HTTP/1.1`, `HTTP/2`; `None` for a request that was not written.
    pub version: Option<String>,
    /// Names and values of the headers.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Body>,
    /// The same request for a shell.
    pub curl: Curl,
    /// The response.
    pub answer: Option<Answer>,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The status, with its words: `200 OK`.
    pub status: String,
    /// Names and values of the headers.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Body>,
}

/// A body as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The text, JSON indented; `None` for what is no text.
    pub text: Option<String>,
    /// The number of known bytes.
    pub bytes: usize,
    /// True if there are more bytes.
    pub is_cut: bool,
}

/// A request as a command of a POSIX shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Curl {
    /// The variables that have to be set, and what each of them is.
    pub variables: Vec<(String, String)>,
    /// The command.
    pub command: String,
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The kind.
    pub kind: ErrorKind,
    /// The words.
    pub message: String,
}

/// The outcome of a step, with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its zero-based number.
    pub step: usize,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran and is ok.
    Ok,
    /// It ran and failed.
    Failed(Problem),
    /// Its weight left it out.
    NotDrawn,
    /// Its function left it out on purpose, for this reason.
    LeftOut(String),
    /// It ran once, and its response is kept.
    Kept,
    /// Something that it needs is missing.
    Skipped {
        /// A description.
        reason: String,
        /// The cause at the root of it.
        root: RootCause,
        /// The zero-based number of the step where it has.
        root_step: usize,
    },
}

/// The end of an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// True if every step that was drawn is ok and none was skipped for a missing dependency.
    pub is_ok: bool,
    /// The reason why no step ran: a state or a feed panicked.
    pub problem: Option<String>,
    /// The way the target ended that the scenario had started.
    pub target_death: Option<String>,
}

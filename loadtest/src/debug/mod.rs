//! One journey, shown: every request and answer, and what became of each step. No secret is in it.

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

/// What happens in a journey, in its order: `{"step":{..}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The journey begins.
    Start(Box<Start>),
    /// A request was answered, or was not. Those of a step come before its end.
    Exchange(Box<Exchange>),
    /// A step is over.
    Step(Step),
    /// In a run, the user would think now; here it does not.
    Think {
        /// The zero-based number of the step.
        step: usize,
        /// For how long.
        #[serde(rename = "time_us", with = "loadtest_model::definition::micros")]
        time: Duration,
    },
    /// The journey is over.
    End(End),
    /// There was no journey.
    Failed(RunFailure),
}

/// What is known before the first step.
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
    /// Whether the scenario started the target.
    pub own_target: bool,
}

/// One request of a step as the step sees it: with all redirects that were followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The zero-based number of the step.
    pub step: usize,
    /// What went over the wire, in order; at least one.
    pub hops: Vec<Hop>,
    /// From ready to the last byte of the body.
    #[serde(
        rename = "service_time_us",
        with = "loadtest_model::definition::micros"
    )]
    pub service_time: Duration,
    /// The parts of it that are known.
    pub phases: Phases,
    /// Why there is no answer that the step could read.
    pub problem: Option<Problem>,
}

/// One request that was written, and its answer.
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
    /// What came back.
    pub answer: Option<Answer>,
}

/// What came back.
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
    /// How many bytes are known.
    pub bytes: usize,
    /// Whether there are more.
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

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The kind.
    pub kind: ErrorKind,
    /// The words.
    pub message: String,
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its zero-based number.
    pub step: usize,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a step.
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
        /// In words.
        reason: String,
        /// Where that has its root.
        root: RootCause,
        /// The zero-based number of the step where it has.
        root_step: usize,
    },
}

/// How a journey ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Whether it is ok: every step that was drawn is, and none was skipped for want of something.
    pub is_ok: bool,
    /// Why no step ran: a state or a feed panicked.
    pub problem: Option<String>,
    /// How the target died that the scenario had started.
    pub target_death: Option<String>,
}

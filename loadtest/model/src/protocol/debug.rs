//! The events of one iteration, shown step by step, without secrets.

use crate::definition::ScenarioDef;
use crate::failure::RunFailure;
use crate::metrics::{ErrorKind, MessageCounts, Number, Phases, RootCause};
use crate::redacted::Redacted;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// An event of an iteration, in order: `{"step":{..}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DebugEvent {
    /// The iteration begins.
    Start(Box<DebugStart>),
    /// A request was answered, or was not. Those of a step come before its end.
    Exchange(Box<DebugExchange>),
    /// An operation that a step measured itself is over. Those of a step come before its end.
    Operation(Box<DebugOperation>),
    /// A gRPC call is over, or was given up. Those of a step come before its end.
    Call(Box<DebugCall>),
    /// The messages of WebSockets until the end of a step that sends for itself, and before that.
    Messages(DebugMessages),
    /// A step is over.
    Step(DebugStep),
    /// The user would think now in a run; here it does not.
    Think {
        /// The zero-based number of the step.
        step: usize,
        /// For how long.
        #[serde(rename = "time_us", with = "crate::definition::micros")]
        time: Duration,
    },
    /// The iteration is over.
    End(DebugEnd),
    /// There was no iteration.
    Failed(RunFailure),
}

/// The facts that are known before the first step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DebugStart {
    /// The scenario.
    pub definition: ScenarioDef,
    /// The number of the iteration.
    pub number: Number,
    /// The seed of the run.
    pub seed: u64,
    /// The base URL, where there is one.
    pub base_url: Option<Redacted>,
    /// True if the scenario started the target.
    pub own_target: bool,
}

/// A request of a step with all redirects that were followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DebugExchange {
    /// The zero-based number of the step.
    pub step: usize,
    /// The name of its row in the report, where the step sends for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// The requests on the wire, in order; at least one.
    pub hops: Vec<DebugHop>,
    /// From ready to the last byte of the body.
    #[serde(rename = "service_time_us", with = "crate::definition::micros")]
    pub service_time: Duration,
    /// The parts of it that are known.
    pub phases: Phases,
    /// The events of its answer, where the step reads a stream of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<DebugStream>,
    /// The reason why there is no response that the step could read.
    pub problem: Option<DebugProblem>,
}

/// An operation that a step measured itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugOperation {
    /// The zero-based number of the step.
    pub step: usize,
    /// The name of its row in the report.
    pub row: String,
    /// From its begin to its end.
    #[serde(rename = "time_us", with = "crate::definition::micros")]
    pub time: Duration,
    /// The reason why it failed.
    pub problem: Option<DebugProblem>,
}

/// The messages of WebSockets that were sent and that came since the last ones that were shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugMessages {
    /// The zero-based number of the step.
    pub step: usize,
    /// The first messages, as many as there is room for, in the order of time.
    pub messages: Vec<ShownSocketMessage>,
    /// The number of further ones.
    pub left_out: usize,
}

/// What passes over a WebSocket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketFrame {
    /// A message.
    #[default]
    Message,
    /// A ping.
    Ping,
    /// The answer to one.
    Pong,
    /// The end.
    Close,
}

/// A message of a WebSocket, or another frame, as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownSocketMessage {
    /// From the begin of the iteration.
    #[serde(rename = "at_us", with = "crate::definition::micros")]
    pub at: Duration,
    /// True if it was sent; else it came.
    pub is_sent: bool,
    /// What it is.
    #[serde(default)]
    pub frame: SocketFrame,
    /// Its text; of a close frame its code and reason; `None` for what is no text.
    pub text: Option<Redacted>,
    /// The number of its bytes.
    pub bytes: usize,
}

/// A gRPC call as it may be shown: its messages by their lengths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DebugCall {
    /// The zero-based number of the step.
    pub step: usize,
    /// The name of its row in the report.
    pub row: String,
    /// The whole URL.
    pub url: Redacted,
    /// Names and values of the metadata that was sent.
    pub metadata: Vec<(String, String)>,
    /// The lengths of the messages that were sent, of the first ones.
    pub sent: Vec<u32>,
    /// The metadata of the answer; `None` without one.
    pub answer: Option<Vec<(String, String)>>,
    /// The messages that came, the first ones.
    pub received: Vec<ShownMessage>,
    /// The number of all messages.
    pub messages: MessageCounts,
    /// The trailers; empty where the answer has none.
    pub trailers: Vec<(String, String)>,
    /// The status that it ended with: `OK`, `NOT_FOUND: no such cart`; `None` of one that has none.
    pub status: Option<Redacted>,
    /// From its begin to its status.
    #[serde(rename = "time_us", with = "crate::definition::micros")]
    pub time: Duration,
    /// The parts of it that are known.
    pub phases: Phases,
    /// The reason why it failed.
    pub problem: Option<DebugProblem>,
}

/// A message of a gRPC call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownMessage {
    /// From the begin of the call until all of it was there.
    #[serde(rename = "at_us", with = "crate::definition::micros")]
    pub at: Duration,
    /// Its length, without the five bytes before it.
    pub bytes: u32,
}

/// A stream of events as it may be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugStream {
    /// The first events, as many as there is room for.
    pub events: Vec<ShownEvent>,
    /// The number of further ones.
    pub left_out: usize,
}

/// An event as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownEvent {
    /// From the request being ready to the read that completed it.
    #[serde(rename = "at_us", with = "crate::definition::micros")]
    pub at: Duration,
    /// True if the same read completed the event before it.
    pub is_together: bool,
    /// Its field `event`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Redacted>,
    /// Its data; `None` where the step keeps none.
    pub data: Option<Redacted>,
}

/// A request on the wire, and its response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DebugHop {
    /// The method.
    pub method: String,
    /// The whole URL.
    pub url: Redacted,
    /// `HTTP/1.1`, `HTTP/2`; `None` for a request that was not written.
    pub version: Option<String>,
    /// Names and values of the headers.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<ShownBody>,
    /// The same request for a shell.
    pub curl: CurlCommand,
    /// The response.
    pub answer: Option<DebugAnswer>,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DebugAnswer {
    /// The status, with its words: `200 OK`.
    pub status: String,
    /// Names and values of the headers.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<ShownBody>,
}

/// A body as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownBody {
    /// The text, JSON indented; `None` for what is no text.
    pub text: Option<Redacted>,
    /// The number of known bytes.
    pub bytes: usize,
    /// True if there are more bytes.
    pub is_cut: bool,
}

/// A request as a command of a POSIX shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurlCommand {
    /// The variables that have to be set, and what each of them is.
    pub variables: Vec<(String, String)>,
    /// The command.
    pub command: String,
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugProblem {
    /// The kind.
    pub kind: ErrorKind,
    /// The words.
    pub message: Redacted,
}

/// The outcome of a step, with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugStep {
    /// Its zero-based number.
    pub step: usize,
    /// The outcome.
    pub outcome: DebugOutcome,
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DebugOutcome {
    /// It ran and is ok.
    Ok,
    /// It ran and failed.
    Failed(DebugProblem),
    /// Its weight left it out.
    NotDrawn,
    /// Its function left it out on purpose, for this reason.
    LeftOut(Redacted),
    /// It ran once, and its response is kept.
    Kept,
    /// Something that it needs is missing.
    Skipped {
        /// A description.
        reason: Redacted,
        /// The cause at the root of it.
        root: RootCause,
        /// The zero-based number of the step where it has.
        root_step: usize,
    },
}

/// The end of an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugEnd {
    /// True if every step that was drawn is ok and none was skipped for a missing dependency.
    pub is_ok: bool,
    /// The reason why no step ran: a state or a feed panicked.
    pub problem: Option<Redacted>,
    /// The way the target ended that the scenario had started.
    pub target_death: Option<Redacted>,
}

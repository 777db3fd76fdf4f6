//! A row of the fault matrix: what is done, and what must happen.

use std::fmt;

/// A fault with its outcome.
pub(crate) struct Row {
    pub(crate) group: Group,
    /// What is done, in words.
    pub(crate) fault: &'static str,
    /// Injects the fault, runs the command, and returns what happened.
    pub(crate) inject: Box<dyn Fn() -> Outcome + Send + Sync>,
    pub(crate) expected: Outcome,
}

/// A part of the matrix, in the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    Server,
    Network,
    Tls,
    Http2,
}

/// What happens: compared whole, and shown on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) exit_code: i32,
    /// Steps that succeeded.
    pub(crate) ok: u64,
    /// Steps that failed, by the kind of the error.
    pub(crate) errors: Vec<(&'static str, u64)>,
    /// Counters that are not 0 besides: `retries`, `ambiguous`, `unsolicited`.
    pub(crate) remarks: Vec<(&'static str, u64)>,
    /// The message of the first error, or the sentence that the command says. An address in it is `127.0.0.1:PORT`.
    pub(crate) message: String,
    /// The files in the folder of the run, in order.
    pub(crate) survives: Vec<String>,
}

/// The files that every run leaves.
pub(crate) const EVERYTHING: [&str; 3] = ["journal-1.jsonl", "record.json", "report.html"];

/// The iterations of every run.
pub(crate) const ITERATIONS: u64 = 3;

/// Every iteration succeeds, and the command exits with 0.
pub(crate) fn passes() -> Outcome {
    Outcome {
        exit_code: 0,
        ok: ITERATIONS,
        errors: Vec::new(),
        remarks: Vec::new(),
        message: String::new(),
        survives: EVERYTHING.map(str::to_owned).into(),
    }
}

/// Every iteration fails with `kind` and `message`, and the command exits with 99.
pub(crate) fn fails(kind: &'static str, message: &str) -> Outcome {
    Outcome {
        exit_code: 99,
        ok: 0,
        errors: vec![(kind, ITERATIONS)],
        message: message.to_owned(),
        ..passes()
    }
}

/// Nothing is sent: the command exits with `exit_code` and says `message`.
pub(crate) fn refuses(exit_code: i32, message: &str) -> Outcome {
    Outcome {
        exit_code,
        ok: 0,
        message: message.to_owned(),
        ..passes()
    }
}

impl Outcome {
    /// Adds a counter.
    pub(crate) fn with(mut self, remark: &'static str, count: u64) -> Self {
        self.remarks.push((remark, count));
        self
    }
}

impl Row {
    /// The name of its trial: the words of the fault.
    pub(crate) fn name(&self) -> String {
        let is_word = |character: char| !character.is_alphanumeric();
        let words = self.fault.split(is_word).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        format!("{}::{}", self.group, words.join("_").to_lowercase())
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "server",
            Self::Network => "network",
            Self::Tls => "tls",
            Self::Http2 => "http2",
        })
    }
}

//! A row of the fault matrix: what is done, and what must happen.

use crate::guard;
use crate::lonely;
use crate::trial::is_installed;
use libtest_mimic::{Completion, Failed, Trial};
use std::fmt;

/// A fault with its outcome.
pub(crate) struct Row {
    pub(crate) group: Group,
    /// What is done, in words.
    pub(crate) fault: &'static str,
    pub(crate) place: Place,
    /// What other tools make of the same fault.
    pub(crate) peers: &'static str,
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
    Streams,
    Generator,
    Code,
    Files,
    Signals,
    Security,
}

/// The place that a fault needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Anywhere,
    /// A machine on which the row may call `unshare`.
    Namespaces,
    /// A network of its own, in which the row runs; its project is that of the guard.
    OwnNetwork,
}

/// A number of steps or journeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Exactly(u64),
    /// More than 0: the fault comes at some instant of the load.
    Some,
    /// Any number, 0 too: of what was in flight at that instant.
    Any,
}

/// What happens: compared whole, and shown on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) exit_code: i32,
    /// Steps that succeeded.
    pub(crate) ok: Count,
    /// Steps that failed, by the kind of the error.
    pub(crate) errors: Vec<(&'static str, Count)>,
    /// Counters that are not 0 besides: `ambiguous`, `cancelled`, `retries`, `unsolicited`.
    pub(crate) remarks: Vec<(&'static str, Count)>,
    /// The message of the first error, or the sentence that the command says. An address in it is `127.0.0.1:PORT`.
    pub(crate) message: String,
    /// The files in the folder of the run, in order.
    pub(crate) survives: Vec<String>,
}

/// The files that every run leaves.
pub(crate) const EVERYTHING: [&str; 3] = ["journal-1.jsonl.gz", "record.json", "report.html"];

/// The iterations of every run whose row does not say more.
pub(crate) const ITERATIONS: u64 = 3;

/// Every iteration succeeds, and the command exits with 0.
pub(crate) fn passes() -> Outcome {
    ends(0, "").ok(ITERATIONS)
}

/// Every iteration fails with `kind` and `message`, and the command exits with 99.
pub(crate) fn fails(kind: &'static str, message: &str) -> Outcome {
    ends(99, message).error(kind, ITERATIONS)
}

/// No step runs to its end: the command exits with `exit_code` and says `message`.
pub(crate) fn ends(exit_code: i32, message: &str) -> Outcome {
    Outcome {
        exit_code,
        ok: Count::Exactly(0),
        errors: Vec::new(),
        remarks: Vec::new(),
        message: message.to_owned(),
        survives: EVERYTHING.map(str::to_owned).into(),
    }
}

impl Outcome {
    pub(crate) fn ok(mut self, count: impl Into<Count>) -> Self {
        self.ok = count.into();
        self
    }

    pub(crate) fn error(mut self, kind: &'static str, count: impl Into<Count>) -> Self {
        self.errors.push((kind, count.into()));
        self
    }

    /// Adds a counter.
    pub(crate) fn with(mut self, remark: &'static str, count: impl Into<Count>) -> Self {
        self.remarks.push((remark, count.into()));
        self
    }

    pub(crate) fn says(mut self, message: &str) -> Self {
        message.clone_into(&mut self.message);
        self
    }

    /// Names the only files that are left.
    pub(crate) fn leaves(mut self, files: &[&str]) -> Self {
        self.survives = files.iter().map(|&file| file.to_owned()).collect();
        self
    }

    /// Keeps of what happened only as much as `expected` says: that a count is above 0, or a part of `said`.
    pub(crate) fn round_to(mut self, expected: &Self, said: &str) -> Self {
        let round = |counts: &mut Vec<(&str, Count)>, expected: &[(&str, Count)]| {
            for (name, count) in counts {
                let mut wanted = expected.iter().filter(|(wanted, _)| wanted == name);
                *count = count.round_to(wanted.next().map_or(*count, |(_, wanted)| *wanted));
            }
        };
        let any = expected
            .remarks
            .iter()
            .filter(|(_, count)| *count == Count::Any);
        for (name, count) in any {
            self.remarks.retain(|(seen, _)| seen != name);
            self.remarks.push((name, *count));
        }
        self.ok = self.ok.round_to(expected.ok);
        round(&mut self.errors, &expected.errors);
        round(&mut self.remarks, &expected.remarks);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        if words(said).contains(&words(&expected.message)) {
            self.message.clone_from(&expected.message);
        }
        self
    }
}

impl Count {
    fn round_to(self, expected: Self) -> Self {
        match (self, expected) {
            (Self::Exactly(1..), Self::Some) => Self::Some,
            _ => self,
        }
    }
}

impl From<u64> for Count {
    fn from(count: u64) -> Self {
        Self::Exactly(count)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(count) => write!(f, "{count}"),
            Self::Some => f.write_str("some"),
            Self::Any => f.write_str("any"),
        }
    }
}

impl Row {
    pub(crate) fn new(
        group: Group,
        fault: &'static str,
        expected: Outcome,
        inject: impl Fn() -> Outcome + Send + Sync + 'static,
    ) -> Self {
        Self {
            group,
            fault,
            place: Place::Anywhere,
            peers: "",
            inject: Box::new(inject),
            expected,
        }
    }

    pub(crate) fn needing(self, place: Place) -> Self {
        Self { place, ..self }
    }

    pub(crate) fn peers(self, peers: &'static str) -> Self {
        Self { peers, ..self }
    }

    /// The name of its trial: the words of the fault.
    pub(crate) fn name(&self) -> String {
        let is_no_word = |character: char| !character.is_alphanumeric();
        let words = self.fault.split(is_no_word).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        format!("{}::{}", self.group, words.join("_").to_lowercase())
    }

    /// Makes a test of it.
    pub(crate) fn trial(self) -> Trial {
        Trial::ignorable_test(self.name(), move || self.prove())
    }

    fn prove(&self) -> Result<Completion, Failed> {
        let compare = || assert_eq!((self.inject)(), self.expected, "{}", self.fault);
        match self.place {
            Place::Namespaces if !is_installed("unshare") => {
                let reason = "`unshare` is not installed, or not permitted";
                return Ok(Completion::ignored_with(reason));
            }
            Place::OwnNetwork => {
                return lonely::inside(&self.name(), || _ = guard::project(), compare);
            }
            _ => compare(),
        }
        Ok(Completion::Completed)
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "server",
            Self::Network => "network",
            Self::Tls => "tls",
            Self::Http2 => "http2",
            Self::Streams => "streams",
            Self::Generator => "generator",
            Self::Code => "code",
            Self::Files => "files",
            Self::Signals => "signals",
            Self::Security => "security",
        })
    }
}

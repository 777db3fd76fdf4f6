//! Dependency failures: the steps that could not run, and the reasons.

use crate::display;
use crate::metrics::RootCause;
use crate::metrics::{DependencyTally, Windows};
use crate::redacted::Redacted;
use serde::Serialize;

/// Dependency failures of one step with one variable and root cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DependencyFailure {
    /// The step that did not run.
    pub step: String,
    /// The expression or parameter that had no value; `None` where the step's function declined or left it out.
    pub variable: Option<String>,
    /// The step that should have given it, or the feed.
    pub upstream: String,
    /// The root of the chain of skips.
    pub cause: RootCause,
    /// The step at the root.
    pub root_step: String,
    /// The number in the measured part.
    pub count: u64,
    /// The number in ramp and warm-up.
    pub elsewhere: u64,
    /// The first one, in words.
    pub example: Redacted,
}

impl DependencyFailure {
    /// Describes the failure: `` `order` needed the response of `buy`, which was not drawn ``.
    pub fn describe(&self) -> String {
        let step = display::quote_name(&self.step);
        let Some(variable) = &self.variable else {
            let what = match self.cause {
                RootCause::Invalid => "had values that make an invalid request",
                RootCause::LeftOut => "left itself out",
                _ if self.root_step != self.step => "did not run",
                cause => &format!("{cause}"),
            };
            return if self.example.is_empty() {
                format!("{step} {what}")
            } else {
                format!("{step} {what}: {}", self.example)
            };
        };
        let (value, upstream) = (
            display::quote_name(variable),
            display::quote_name(&self.upstream),
        );
        if self.cause == RootCause::NotInFeed && self.root_step == self.step {
            return format!("{step} needed {value}, which {upstream} lacks");
        }
        if self.cause == RootCause::Expired && self.root_step == self.step {
            return format!("{step} {}", self.example);
        }
        let needed = if *variable == self.upstream {
            format!("the response of {upstream}")
        } else {
            format!("{value} of {upstream}")
        };
        let cause = match self.cause {
            RootCause::Failed => "failed",
            RootCause::Missing => "did not answer with it",
            RootCause::NotInFeed => "had no value from a feed, a state or a setup",
            RootCause::Expired => "had only an expired value of a setup",
            RootCause::Declined => "declined to run",
            RootCause::Invalid => "made no valid request",
            RootCause::NotDrawn => "was not drawn",
            RootCause::LeftOut => "left itself out",
        };
        if self.root_step == self.upstream {
            format!("{step} needed {needed}, which {cause}")
        } else {
            let root = display::quote_name(&self.root_step);
            format!("{step} needed {needed}: {root} {cause}")
        }
    }

    /// All of a run, the most frequent first; those that are no failure are marked.
    pub(super) fn all(windows: &Windows, names: &[&str]) -> (Vec<Self>, Vec<Self>) {
        let mut rows: Vec<(&DependencyTally, u64, u64)> = Vec::new();
        for (tally, measured) in [
            (&windows.steady, true),
            (&windows.ramp, false),
            (&windows.warm_up, false),
        ] {
            for failure in &tally.dependencies {
                let same = |(row, ..): &&mut (&DependencyTally, u64, u64)| {
                    (row.step, row.upstream, row.cause)
                        == (failure.step, failure.upstream, failure.cause)
                        && row.variable == failure.variable
                };
                let (count, elsewhere) = if measured {
                    (failure.count, 0)
                } else {
                    (0, failure.count)
                };
                match rows.iter_mut().find(same) {
                    Some(row) => {
                        row.1 += count;
                        row.2 += elsewhere;
                    }
                    None => rows.push((failure, count, elsewhere)),
                }
            }
        }
        rows.sort_by_key(|(_, count, elsewhere)| std::cmp::Reverse((*count, *elsewhere)));
        let name = |step: usize| names.get(step).copied().unwrap_or("?").to_owned();
        rows.into_iter()
            .map(|(row, count, elsewhere)| Self {
                step: name(row.step),
                variable: row.variable.clone(),
                upstream: row.feed().map_or_else(|| name(row.upstream), str::to_owned),
                cause: row.cause.root,
                root_step: name(row.cause.step),
                count,
                elsewhere,
                example: row.example.clone(),
            })
            .partition(|row| row.cause.counts())
    }
}

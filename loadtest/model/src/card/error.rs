//! Failures by step, kind and status, and those of measured operations by reason.

use crate::metrics::ErrorKind;
use crate::metrics::{ErrorTally, Windows};
use crate::redacted::Redacted;
use serde::Serialize;

/// Failures of one step, of one kind and status; those of measured operations of one reason each, up to 32.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorRow {
    /// The step.
    pub step: String,
    /// The kind.
    pub kind: ErrorKind,
    /// The status, where there was an answer; the code of a gRPC call or of a WebSocket that was closed.
    pub status: Option<u16>,
    /// The number in the measured part.
    pub count: u64,
    /// The number in ramp and warm-up.
    pub elsewhere: u64,
    /// The first one, in words.
    pub example: Redacted,
    /// The start of the first one's body.
    pub sample: Option<Redacted>,
}

impl ErrorRow {
    /// Requests that the guard did not let out, within steps that did not fail by it: a row for each step.
    pub(super) fn unheeded(windows: &Windows, names: &[&str]) -> Vec<Self> {
        let all = [&windows.steady, &windows.ramp, &windows.warm_up];
        let is_blocked = |error: &&ErrorTally| error.kind == ErrorKind::GuardBlocked;
        let row = |(step, name): (usize, &&str)| {
            let tallies = || all.iter().filter_map(|window| window.steps.get(step));
            let mut heeded = tallies().flat_map(|tally| &tally.errors);
            if heeded.any(|error| is_blocked(&error)) {
                return None;
            }
            let mut inner = tallies()
                .flat_map(|tally| &tally.inner)
                .flat_map(|row| &row.errors)
                .filter(is_blocked);
            let first = inner.next()?;
            Some(Self {
                step: (*name).to_owned(),
                kind: first.kind,
                status: None,
                count: first.count + inner.map(|error| error.count).sum::<u64>(),
                elsewhere: 0,
                example: first.example.clone(),
                sample: None,
            })
        };
        names.iter().enumerate().filter_map(row).collect()
    }

    /// All of a run, the most frequent first.
    pub(super) fn all(windows: &Windows, names: &[&str]) -> Vec<Self> {
        let mut rows: Vec<(usize, &ErrorTally, u64, u64)> = Vec::new();
        for (tally, measured) in [
            (&windows.steady, true),
            (&windows.ramp, false),
            (&windows.warm_up, false),
        ] {
            for (step, error) in tally
                .steps
                .iter()
                .enumerate()
                .flat_map(|(i, step)| step.errors.iter().map(move |error| (i, error)))
            {
                let (count, elsewhere) = if measured {
                    (error.count, 0)
                } else {
                    (0, error.count)
                };
                let same = rows
                    .iter_mut()
                    .find(|(row_step, row, ..)| *row_step == step && row.is_same(error));
                match same {
                    Some(row) => {
                        row.2 += count;
                        row.3 += elsewhere;
                    }
                    None => rows.push((step, error, count, elsewhere)),
                }
            }
        }
        rows.sort_by_key(|(.., count, elsewhere)| std::cmp::Reverse((*count, *elsewhere)));
        rows.into_iter()
            .map(|(step, error, count, elsewhere)| Self {
                step: names.get(step).copied().unwrap_or("?").to_owned(),
                kind: error.kind,
                status: error.status,
                count,
                elsewhere,
                example: error.example.clone(),
                sample: error.sample.clone(),
            })
            .collect()
    }
}

//! The step that takes the most time, and the one that makes the slowest journeys slow.

use super::step::{Phases, StepRow};
use crate::definition::HttpVersion;
use crate::display;
use crate::metrics::ErrorKind;
use crate::metrics::{StepTally, TailShare};
use serde::Serialize;
use std::time::Duration;

/// The share of the slowest journeys that the tail is.
const TAIL: f64 = 0.05;

/// The step with the largest share of the summed service time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bottleneck {
    /// The zero-based number of the step.
    pub step: usize,
    /// Its name.
    pub name: String,
    /// Its share of the summed service time, a share of one.
    pub share: f64,
    /// The reason for its time: one sentence, from the phases of its requests.
    pub why: String,
}

/// The step with the largest share of the time of the slowest 5 % of journeys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TailBottleneck {
    /// The zero-based number of the step.
    pub step: usize,
    /// Its name.
    pub name: String,
    /// Its share of the service time in the slowest journeys, a share of one.
    pub share: f64,
    /// The number of these iterations.
    pub journeys: u64,
    /// The journey time of the fastest of them, in microseconds, to a sixteenth.
    pub at_least_us: u64,
}

impl Bottleneck {
    /// The bottleneck of the steps; `None` when none took any time.
    pub(super) fn find(
        steps: &[StepRow],
        tallies: &[StepTally],
        http: HttpVersion,
    ) -> Option<Self> {
        let (step, row) = steps.iter().enumerate().max_by(|(_, a), (_, b)| {
            let share = |row: &StepRow| row.time_share.unwrap_or(0.0);
            share(a).total_cmp(&share(b))
        })?;
        let share = row.time_share.filter(|share| *share > 0.0)?;
        Some(Self {
            step,
            name: row.name.clone(),
            share,
            why: explain_step(row, &tallies[step], http),
        })
    }
}

impl TailBottleneck {
    /// The step that dominates the slowest journeys.
    pub(super) fn find(shares: &[TailShare], steps: &[StepRow]) -> Option<Self> {
        let all: u64 = shares.iter().map(|share| share.journeys).sum();
        let wanted = (all as f64 * TAIL).ceil() as u64;
        let mut times = vec![0_u64; steps.len()];
        let (mut journeys, mut at_least_us) = (0, 0);
        for share in shares.iter().rev() {
            if journeys >= wanted {
                break;
            }
            journeys += share.journeys;
            at_least_us = share.at_least_us;
            for (sum, time) in times.iter_mut().zip(&share.steps_us) {
                *sum += time;
            }
        }
        let total: u64 = times.iter().sum();
        let (step, time) = times
            .iter()
            .copied()
            .enumerate()
            .max_by_key(|(_, time)| *time)?;
        (total > 0).then(|| Self {
            step,
            name: steps[step].name.clone(),
            share: time as f64 / total as f64,
            journeys,
            at_least_us,
        })
    }
}

/// Explains the largest part of the service time in one sentence: a phase, or time outside all phases.
fn explain_step(row: &StepRow, tally: &StepTally, http: HttpVersion) -> String {
    let Phases {
        connect,
        tls,
        stream_wait,
        upload,
        first_byte,
        body,
        connections: _,
    } = row.phases;
    if let Some(waited) = explain_pauses(tally) {
        return waited;
    }
    let known = row.phases.total();
    // A request that ends at its deadline has no phase of the answer that it waited for.
    let total = known.max(tally.service.sum());
    let rest = total.saturating_sub(known);
    let is_event_late = |kind| kind == ErrorKind::TimeoutEvent;
    let share =
        |part: Duration| display::format_whole_percent(part.as_secs_f64() / total.as_secs_f64());
    let opened = || {
        format!(
            "{} opened for {}",
            display::format_counted(tally.connections, "connection"),
            display::format_counted(row.requests.max(row.executed), "request")
        )
    };
    let parts = [first_byte, body, connect, tls, stream_wait, upload, rest];
    let largest = parts.into_iter().max().unwrap_or_default();
    if rest == largest {
        return explain_time_outside_phases(row, tally, &share(rest), known);
    }
    if largest == first_byte {
        format!(
            "{} of its time is waiting for the first byte: the server works on the answer.",
            share(first_byte)
        )
    } else if largest == body && count_errors(tally, is_event_late) * 2 > row.executed {
        format!(
            "{} of its time is waiting for an event that did not come in time: {} of {} timed out.",
            share(body),
            display::format_count(count_errors(tally, is_event_late)),
            display::format_counted(row.executed, "execution")
        )
    } else if largest == body {
        let each = row.received_bytes / row.executed.max(1);
        format!(
            "{} of its time is reading the body, {} each: size and streaming of the answer.",
            share(body),
            display::format_bytes(each)
        )
    } else if largest == upload {
        let each = row.sent_bytes / row.requests.max(1);
        format!(
            "{} of its time is sending the request, {} each: size of the upload, and how fast the server reads it.",
            share(upload),
            display::format_bytes(each)
        )
    } else if largest == stream_wait {
        format!(
            "{} of its time waited for a stream: all shared connections had as many requests in flight as the \
             target allows, which is one until its SETTINGS arrive.",
            share(stream_wait)
        )
    } else if largest == tls {
        format!(
            "{} of its time is TLS handshakes: {}.",
            share(tls),
            opened()
        )
    } else {
        let what = match http {
            HttpVersion::Http3 => "QUIC handshakes",
            _ => "opening TCP connections",
        };
        format!("{} of its time is {what}: {}.", share(connect), opened())
    }
}

/// Explains the time of a step that mostly waits before it asks again.
fn explain_pauses(tally: &StepTally) -> Option<String> {
    let done = tally.done.as_ref()?;
    let spent = done.ok.sum() + done.failed.sum();
    let pauses = spent.saturating_sub(tally.response.sum() + tally.failed_response.sum());
    (pauses * 2 > spent).then(|| {
        let share = display::format_whole_percent(pauses.as_secs_f64() / spent.as_secs_f64());
        format!("{share} of its time is the pauses of `until`: the target was not done yet when it was asked.")
    })
}

/// Counts the failures of a step whose kind is wanted.
fn count_errors(tally: &StepTally, is_wanted: fn(ErrorKind) -> bool) -> u64 {
    let errors = tally.errors.iter();
    let wanted = errors.filter(|error| is_wanted(error.kind));
    wanted.map(|error| error.count).sum()
}

/// Explains the time outside all phases.
fn explain_time_outside_phases(
    row: &StepRow,
    tally: &StepTally,
    share: &str,
    known: Duration,
) -> String {
    let timeouts = count_errors(tally, ErrorKind::is_timeout);
    let connecting = count_errors(tally, |kind| kind == ErrorKind::TimeoutConnect);
    if timeouts == 0 {
        return if row.retries > 0 && row.inner.is_empty() {
            format!("{share} of its time is in requests that had no answer and were sent again.")
        } else if known.is_zero() {
            "Its phases were not measured.".to_owned()
        } else {
            format!(
                "{share} of its time is outside of requests: in the step's own code, or between its \
                 requests."
            )
        };
    }
    let awaited = if connecting * 2 > timeouts {
        "a connection"
    } else {
        "an answer"
    };
    format!(
        "{share} of its time is waiting for {awaited} that did not come in time: {} of {} timed out.",
        display::format_count(timeouts),
        display::format_counted(row.executed, "execution")
    )
}

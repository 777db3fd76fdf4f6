//! How what an async step sent and measured is tallied: each operation in the row of its name, and in the part of the
//! load in which it happened.

use super::request_log::RequestEntries;
use super::step_failure::FailedOperation;
use super::worker_state::WorkerState;
use http::StatusCode;
use loadtest_model::metrics::{MessageCounts, StepTally, StreamSample, Traffic, is_grpc_code};
use loadtest_model::redacted::Redacted;
use loadtest_model::schedule::Window;
use std::time::Duration;

/// The gRPC codes of calls that their client ends: as it has enough, and at a deadline.
const CANCELLED: u16 = 1;
const DEADLINE_EXCEEDED: u16 = 4;

/// What was sent and received in the operations that count in a window.
#[derive(Default, PartialEq)]
pub(super) struct WindowTraffic {
    pub(super) sum: Traffic,
    pub(super) retries: u32,
}

/// What was measured of an answer that was read as a stream, or of the part of it that came in one window.
pub(super) struct FinishedStream {
    pub(super) row: usize,
    pub(super) window: Window,
    pub(super) is_ok: bool,
    pub(super) sample: StreamSample,
    /// The units of the whole stream that came within the measured part.
    pub(super) measured_units: u64,
}

/// An operation that ended.
pub(super) struct FinishedOperation {
    pub(super) row: usize,
    pub(super) window: Window,
    pub(super) time: Duration,
    /// The status of an answer; none of what is no request, and of a call that the step has left.
    pub(super) result: Result<Option<u16>, FailedOperation>,
    /// The messages of a call.
    pub(super) messages: Option<MessageCounts>,
    /// True if it ended within the measured part.
    pub(super) is_measured: bool,
}

impl RequestEntries {
    /// Counts what was sent and received, and each operation in the row of its name.
    pub(super) fn tally(&mut self, state: &WorkerState, (step, window): (usize, Window)) {
        state.with_tally(window, |tally| {
            tally.steps[step].phases.record(&self.phases());
            tally.steps[step].unsent_ticks += self.unsent_ticks;
        });
        for (window, traffic) in Window::ALL
            .into_iter()
            .zip(std::mem::take(&mut self.traffic))
        {
            if traffic != WindowTraffic::default() {
                state.with_tally(window, |tally| {
                    tally.steps[step].count(traffic.sum);
                    // Those of the step itself are requests like others.
                    tally.steps[step].retries += u64::from(traffic.retries);
                    tally.steps[step].resent += u64::from(traffic.retries);
                });
            }
        }
        if self.measured_bytes > 0 {
            let bytes = std::mem::take(&mut self.measured_bytes);
            state.with_ended(|ended| ended.step(step).received_bytes += bytes);
        }
        self.tally_finished(state, (step, window));
    }

    /// Counts each operation that ended in the row of its name.
    pub(super) fn tally_finished(&mut self, state: &WorkerState, (step, window): (usize, Window)) {
        for stream in self.streams.drain(..) {
            let name = &self.rows[stream.row];
            state.with_tally(stream.window, |tally| {
                let tally = &mut tally.steps[step];
                let row = tally.inner(name).stream.get_or_insert_default();
                row.record(&stream.sample, stream.is_ok);
                // That of a step which reads nothing else is its own, in the part of the load in which it counts.
                if self.count > 1 || stream.window != window {
                    let all = tally.stream.get_or_insert_default();
                    all.record(&stream.sample, stream.is_ok);
                }
            });
            if stream.is_ok && stream.measured_units > 0 {
                state.with_ended(|ended| {
                    let step = ended.step(step);
                    step.units += stream.measured_units;
                    step.row(name).units += stream.measured_units;
                });
            }
        }
        self.counted += self.finished.len();
        for ended in self.finished.drain(..) {
            let name = &self.rows[ended.row];
            state.with_tally(ended.window, |tally| {
                ended.tally(name, &mut tally.steps[step]);
            });
            if ended.is_measured {
                state.with_ended(|counts| counts.step(step).row(name).requests += 1);
            }
        }
    }
}

impl FinishedOperation {
    /// Counts it in the row `name`.
    fn tally(&self, name: &str, tally: &mut StepTally) {
        let status = match &self.result {
            Ok(status) => *status,
            Err(failed) => failed.answered_status(),
        };
        // The client of a call that it ended itself has a code too, which no target sent.
        let own = self.messages.and_then(|_| match &self.result {
            Ok(None) => Some(CANCELLED),
            Err(failed) if failed.kind.is_timeout() => Some(DEADLINE_EXCEEDED),
            _ => None,
        });
        if let Some(status) = status.or(own) {
            *tally.statuses.entry(status).or_default() += 1;
        }
        let row = tally.inner(name);
        if let Some(messages) = self.messages {
            row.exchanged(messages);
        }
        if let Some(code) = own {
            *row.statuses.entry(code).or_default() += 1;
        }
        match &self.result {
            Ok(None) => row.completed(self.time),
            Ok(Some(status)) if is_grpc_code(*status) => {
                row.called(*status, self.time, Redacted::default);
            }
            Ok(Some(status)) => row.answered(*status, self.time, || {
                let status = StatusCode::from_u16(*status);
                Redacted::assume(status.map_or_else(|_| String::new(), |it| it.to_string()))
            }),
            Err(failed) => failed.tally(row, self.time),
        }
    }
}

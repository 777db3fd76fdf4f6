//! The sampled journeys that a report names, with the addresses of their traces.

use super::slowest::SlowRow;
use crate::metrics::{ErrorKind, ErrorTally, StepTally};
use crate::record::ScenarioRecord;
use crate::trace::{LinkValues, SpanId, TraceId, TracePoint, fill_link, read_unix_ms};
use serde::Serialize;

/// The addresses are wider than the journey by so much on both sides, since the record tells its start in seconds.
const SLACK_MS: u64 = 1_000;

/// A trace that the report names; times are in microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TraceRow {
    /// What it shows.
    #[serde(flatten)]
    pub what: TraceSubject,
    /// The start of the journey or of the step, from the start of the load.
    pub begin_us: u64,
    /// Journey time, or response time of the step.
    pub time_us: u64,
    /// The trace.
    pub trace_id: TraceId,
    /// The span of the journey or of the step.
    pub span_id: SpanId,
    /// The address of the trace, where `[traces]` has a link.
    pub link: Option<String>,
}

/// What a trace shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum TraceSubject {
    /// One of the slowest journeys.
    SlowJourney {
        /// Its number, as `debug --iteration` takes it.
        number: String,
    },
    /// The slowest sampled execution of a step.
    SlowStep {
        /// The name of the step.
        step: String,
    },
    /// The first sampled failure of a step, of one kind and status.
    FirstFailure {
        /// The name of the step.
        step: String,
        /// The kind.
        kind: ErrorKind,
        /// The status, where there was an answer; the code of a gRPC call or of a WebSocket that was closed.
        status: Option<u16>,
    },
}

impl TraceRow {
    /// All of a run: slow journeys, slow steps, failures.
    pub(super) fn all(record: &ScenarioRecord, slowest: &[SlowRow], names: &[&str]) -> Vec<Self> {
        let tracing = record.start.plan.tracing.as_ref();
        let start_ms = read_unix_ms(&record.start.started_at);
        let row = |what, point: TracePoint| {
            let link = tracing.and_then(|tracing| tracing.link.as_ref());
            let link = link.zip(start_ms).and_then(|(link, start_ms)| {
                let (begin_ms, length_ms) = (point.begin_us / 1_000, point.time_us / 1_000);
                let begin_ms = start_ms.saturating_add(begin_ms);
                let values = LinkValues {
                    trace: point.trace_id,
                    span: point.span_id,
                    start_ms: begin_ms.saturating_sub(SLACK_MS),
                    end_ms: begin_ms
                        .saturating_add(length_ms)
                        .saturating_add(2 * SLACK_MS),
                };
                fill_link(link, &values)
            });
            Self {
                what,
                begin_us: point.begin_us,
                time_us: point.time_us,
                trace_id: point.trace_id,
                span_id: point.span_id,
                link,
            }
        };
        let mut rows = Vec::new();
        for slow in slowest {
            rows.extend(slow.trace_id.map(|trace_id| {
                let point = TracePoint {
                    trace_id,
                    span_id: trace_id.journey(),
                    begin_us: slow.due_us,
                    time_us: slow.time_us,
                };
                let number = slow.number.clone();
                row(TraceSubject::SlowJourney { number }, point)
            }));
        }
        let steady = &record.windows.steady.steps;
        for (step, tally) in names.iter().zip(steady) {
            let step = (*step).to_owned();
            let point = tally.traced;
            rows.extend(point.map(|point| row(TraceSubject::SlowStep { step }, point)));
        }
        for (at, step) in names.iter().enumerate() {
            for error in merge_errors(record, at) {
                let what = TraceSubject::FirstFailure {
                    step: (*step).to_owned(),
                    kind: error.kind,
                    status: error.status,
                };
                rows.extend(error.traced.map(|point| row(what, point)));
            }
        }
        rows
    }
}

/// The failures of a step over all parts of a run.
fn merge_errors(record: &ScenarioRecord, step: usize) -> Vec<ErrorTally> {
    let mut all = StepTally::default();
    for window in record.windows.all() {
        let errors = window.steps.get(step).into_iter();
        for error in errors.flat_map(|tally| &tally.errors) {
            all.count_error(error.clone());
        }
    }
    all.errors
}

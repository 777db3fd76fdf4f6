//! One row of the card per step.

use super::grade::StepGrade;
use super::inner::{InnerRow, RowTally};
use super::loss::Loss;
use super::stream::StreamRow;
use super::threshold::sent;
use crate::definition::{Part, StepDef, micros};
use crate::metrics::{EndedStep, Histogram, PhaseTally, StepTally, Times};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The measurements of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRow {
    /// The name of the step.
    pub name: String,
    /// The line of its name, in the file of the scenario.
    pub line: u32,
    /// The name of the group that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Free labels, for limits on all steps with one of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The HTTP method, where the source shows it.
    pub method: Option<String>,
    /// The URL template, where the source shows it.
    pub url: Option<String>,
    /// Kind and name of its GraphQL operation, where the source shows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The grade; `None` when the step was never attempted or the grade is withheld.
    pub grade: Option<StepGrade>,
    /// The points that the step's score lost.
    pub losses: Vec<Loss>,
    /// Iterations that came by it: executed, cut off, and not run for whatever reason.
    pub planned: u64,
    /// Times the step ran to an end.
    pub executed: u64,
    /// The successful executions.
    pub ok: u64,
    /// The failed executions.
    pub failed: u64,
    /// Times it was cut off by the end of the run.
    pub cancelled: u64,
    /// Times it was skipped since an upstream value was missing.
    pub skipped: u64,
    /// Times it was skipped since an upstream step was not drawn or left itself out; no failure.
    pub skipped_not_drawn: u64,
    /// Times its own weight left it out.
    pub not_drawn: u64,
    /// Times its function left it out on purpose; no failure.
    #[serde(skip_serializing_if = "is_none")]
    pub left_out: u64,
    /// Times it did not run since it runs `once` and its response was kept.
    #[serde(skip_serializing_if = "is_none")]
    pub kept: u64,
    /// Executions per second that sent something and ended within the measured part; `None` where none was due in it,
    /// and of a step that runs once per user, which is measured over the whole run.
    pub per_second: Option<f64>,
    /// Failed of all executed, a share of one.
    pub error_rate: Option<f64>,
    /// The share of executions that were ok or timed out, with whose times alone the percentiles would be those of a target
    /// that does not fail.
    pub measured: Option<f64>,
    /// Response time: at each quantile the larger of that of the executions that were ok or timed out, and that of all.
    pub response: Quantiles,
    /// Service time, likewise.
    pub service: Quantiles,
    /// Response time of failed executions that did not time out.
    pub failed_response: Quantiles,
    /// Of a step with `until`: the response time with the pauses between its requests, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<Quantiles>,
    /// The share of the service time of all executions of all steps, pauses of `until` included; `None` of a step that runs once per user.
    pub time_share: Option<f64>,
    /// The parts of its service time.
    pub phases: Phases,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests written to a connection, repeated ones included.
    pub requests: u64,
    /// The repeated requests: by the client itself, by `retry` or by `until`.
    pub retries: u64,
    /// Of these, the requests that the client itself sent again: the connection that it kept ended as they were sent, or the
    /// target refused their stream.
    pub resent: u64,
    /// Bytes written, heads included.
    pub sent_bytes: u64,
    /// Bytes read, heads included.
    pub received_bytes: u64,
    /// Bytes read per second: the throughput; `None` where there is no rate.
    pub received_bytes_per_second: Option<f64>,
    /// Checks that passed.
    pub checks_passed: u64,
    /// Checks that failed.
    pub checks_failed: u64,
    /// Answers of GraphQL with errors beside their data, which `partial = true` accepts.
    #[serde(skip_serializing_if = "is_none")]
    pub partial_answers: u64,
    /// Executions for which all of `good(..)` holds, a share of one; `None` where nothing says what is good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub good: Option<f64>,
    /// Its streams of events, where it reads some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamRow>,
    /// Its requests by name, where it sends for itself.
    pub inner: Vec<InnerRow>,
}

/// The shape of a distribution of times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Quantiles {
    /// The number of times.
    pub samples: u64,
    #[serde(rename = "mean_us", with = "micros::option")]
    pub mean: Option<Duration>,
    #[serde(rename = "p50_us", with = "micros::option")]
    pub p50: Option<Duration>,
    #[serde(rename = "p90_us", with = "micros::option")]
    pub p90: Option<Duration>,
    #[serde(rename = "p95_us", with = "micros::option")]
    pub p95: Option<Duration>,
    #[serde(rename = "p99_us", with = "micros::option")]
    pub p99: Option<Duration>,
    #[serde(rename = "p99_9_us", with = "micros::option")]
    pub p99_9: Option<Duration>,
    #[serde(rename = "max_us", with = "micros::option")]
    pub max: Option<Duration>,
}

/// The parts of a step's service time, summed over all its requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Phases {
    /// Opening TCP connections.
    #[serde(rename = "connect_us", with = "micros")]
    pub connect: Duration,
    /// TLS handshakes.
    #[serde(rename = "tls_us", with = "micros")]
    pub tls: Duration,
    /// Waiting for a stream of a shared connection.
    #[serde(
        rename = "stream_wait_us",
        with = "micros",
        skip_serializing_if = "Duration::is_zero"
    )]
    pub stream_wait: Duration,
    /// Writing requests with large bodies.
    #[serde(
        rename = "upload_us",
        with = "micros",
        skip_serializing_if = "Duration::is_zero"
    )]
    pub upload: Duration,
    /// From a usable connection, or from the end of the upload, to the head of the answer.
    #[serde(rename = "first_byte_us", with = "micros")]
    pub first_byte: Duration,
    /// From the head to the last body byte.
    #[serde(rename = "body_us", with = "micros")]
    pub body: Duration,
    /// Connections opened in the whole run, its ramp and warm-up included: most are opened before the measured part.
    pub connections: u64,
}

impl StepRow {
    /// A row without grade, with the `rows` of its requests; rates are of what `ended` in so many `seconds`, `all_time` is
    /// the service time of all steps, and `connections` were opened for it in the whole run.
    pub(super) fn new(
        step: &StepDef,
        (tally, rows): (&StepTally, &[RowTally<'_>]),
        (ended, seconds): (&EndedStep, Option<f64>),
        (all_time, connections): (Duration, u64),
    ) -> Self {
        let is_repeated = !step.runs_once_per_user();
        let seconds = seconds.filter(|_| is_repeated);
        // Of what sent nothing there is no rate of requests.
        let rate = |count: u64| {
            let seconds = seconds.filter(|_| sent(tally) > 0)?;
            Some(count as f64 / seconds)
        };
        Self {
            name: step.name.to_string(),
            line: step.line,
            group: step.group.as_deref().map(str::to_owned),
            tags: step.tags.iter().map(ToString::to_string).collect(),
            method: step.method.as_deref().map(str::to_owned),
            url: step.url.as_deref().map(str::to_owned),
            operation: step.operation().map(str::to_owned),
            grade: None,
            losses: Vec::new(),
            planned: tally.executed
                + tally.cancelled
                + tally.skipped
                + tally.skipped_not_drawn
                + tally.not_drawn
                + tally.left_out
                + tally.kept,
            executed: tally.executed,
            ok: tally.ok,
            failed: tally.failed,
            cancelled: tally.cancelled,
            skipped: tally.skipped,
            skipped_not_drawn: tally.skipped_not_drawn,
            not_drawn: tally.not_drawn,
            left_out: tally.left_out,
            kept: tally.kept,
            per_second: rate(ended.sent),
            error_rate: share_of(tally.failed, tally.executed),
            measured: share_of(tally.response.count(), tally.executed),
            response: Quantiles::from_times(&tally.times()),
            service: Quantiles::from_times(&tally.service_times()),
            failed_response: Quantiles::from_histogram(&tally.failed_response),
            done: tally
                .done_times()
                .map(|times| Quantiles::from_times(&times)),
            time_share: (is_repeated && !all_time.is_zero())
                .then(|| tally.time_spent().as_secs_f64() / all_time.as_secs_f64()),
            phases: Phases {
                connections,
                ..Phases::from_tally(&tally.phases)
            },
            statuses: tally.statuses.clone(),
            requests: tally.requests,
            retries: tally.retries,
            resent: tally.resent,
            sent_bytes: tally.sent_bytes,
            received_bytes: tally.received_bytes,
            received_bytes_per_second: rate(ended.received_bytes),
            checks_passed: tally.checks_passed,
            checks_failed: tally.checks_failed,
            partial_answers: tally.partial_answers,
            good: (!step.good.is_empty())
                .then(|| share_of(tally.good, tally.executed))
                .flatten(),
            stream: (tally.stream.as_ref()).map(|stream| {
                let by_first_event = step.graded_part() == Part::FirstEvent;
                StreamRow::new(by_first_event, stream, (ended.units, seconds))
            }),
            inner: rows
                .iter()
                .map(|row| InnerRow::from_tally(row, seconds))
                .collect(),
        }
    }

    /// The part of an execution that the step is graded by.
    pub fn graded_part(&self) -> Part {
        match &self.stream {
            Some(stream) if stream.graded_by_first_event => Part::FirstEvent,
            _ => Part::Whole,
        }
    }

    /// Times it did not run without a fault: chance or a skip on purpose, its own or that of a step
    /// it needs.
    pub fn spared(&self) -> u64 {
        self.not_drawn + self.left_out + self.skipped_not_drawn
    }
}

impl Quantiles {
    /// The quantiles of a histogram.
    pub fn from_histogram(times: &Histogram) -> Self {
        Self::from_times(&Times::new(times, &[]))
    }

    /// The quantiles of times, which failures do not make look better.
    pub fn from_times(times: &Times<'_>) -> Self {
        Self {
            samples: times.count(),
            mean: times.mean(),
            p50: times.quantile(0.5),
            p90: times.quantile(0.9),
            p95: times.quantile(0.95),
            p99: times.quantile(0.99),
            p99_9: times.quantile(0.999),
            max: times.max(),
        }
    }
}

impl Phases {
    fn from_tally(phases: &PhaseTally) -> Self {
        Self {
            connect: phases.connect.sum(),
            tls: phases.tls.sum(),
            stream_wait: phases.stream_wait.sum(),
            upload: phases.upload.sum(),
            first_byte: phases.first_byte.sum(),
            body: phases.body.sum(),
            connections: 0,
        }
    }

    /// All parts together.
    pub fn total(&self) -> Duration {
        self.connect + self.tls + self.stream_wait + self.upload + self.first_byte + self.body
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A share of one; `None` of nothing.
pub(super) fn share_of(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

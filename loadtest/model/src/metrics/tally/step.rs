//! What became of a step: executions, requests, times, failures by their kind.

use super::StreamTally;
use crate::metrics::OTHERS;
use crate::metrics::{ErrorKind, Phases, Traffic};
use crate::metrics::{Histogram, is_zero};
use crate::redacted::Redacted;
use crate::trace::TracePoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Duration;

/// The most reasons of failed operations that are told apart.
const MOST_REASONS: usize = 32;

/// The measurements of one step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepTally {
    /// Times the step ran to an end: `ok + failed`.
    pub executed: u64,
    /// The successful executions.
    pub ok: u64,
    /// The failed executions.
    pub failed: u64,
    /// Times it was cut off by the end of the run.
    pub cancelled: u64,
    /// Times its own weight left it out.
    pub not_drawn: u64,
    /// Times its function left it out on purpose; no failure.
    pub left_out: u64,
    /// Times it did not run since it runs `once` and its response is kept.
    pub kept: u64,
    /// Times it was skipped since an upstream value was missing; a failure where it happens.
    pub skipped: u64,
    /// Times it was skipped since an upstream step was not drawn or left itself out; no failure.
    pub skipped_not_drawn: u64,
    /// Requests written to a connection.
    pub requests: u64,
    /// The repeated requests: by the client itself, by `retry` or by `until`.
    pub retries: u64,
    /// Of these, the requests that the client itself sent again: the connection that it kept ended as they were sent, or the
    /// target refused their stream.
    #[serde(skip_serializing_if = "is_zero")]
    pub resent: u64,
    /// Bytes written, heads included.
    pub sent_bytes: u64,
    /// Bytes read, heads included.
    pub received_bytes: u64,
    /// Answers with both a `content-length` and a `transfer-encoding`; the latter holds.
    #[serde(skip_serializing_if = "is_zero")]
    pub ambiguous: u64,
    /// Connections given up since more came over them than was asked for.
    #[serde(skip_serializing_if = "is_zero")]
    pub unsolicited: u64,
    /// Connections opened, their handshake included.
    #[serde(skip_serializing_if = "is_zero")]
    pub connections: u64,
    /// Ok with a response time of at most T.
    pub satisfied: u64,
    /// Ok with a response time of at most 4 T, but over T.
    pub tolerating: u64,
    /// Checks that passed.
    pub checks_passed: u64,
    /// Checks that failed.
    pub checks_failed: u64,
    /// Response time of ok executions, and of those that ended at their deadline.
    pub response: Histogram,
    /// Service time of the same.
    pub service: Histogram,
    /// Response time of the other failed ones.
    pub failed_response: Histogram,
    /// Service time of the same.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub failed_service: Histogram,
    /// The parts of the service time.
    pub phases: PhaseTally,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by kind and status.
    pub errors: Vec<ErrorTally>,
    /// Ticks of a beat that were overdue when the load ended, so that nothing was sent for them.
    #[serde(skip_serializing_if = "is_zero")]
    pub unsent_ticks: u64,
    /// Executions for which all of `good(..)` holds.
    #[serde(skip_serializing_if = "is_zero")]
    pub good: u64,
    /// Answers with errors beside their data, which `partial = true` accepts.
    #[serde(skip_serializing_if = "is_zero")]
    pub partial_answers: u64,
    /// The streams of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<Box<StreamTally>>,
    /// The times that ok executions are graded by, as far as they are others than those in `response`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graded: Option<Box<GradedTimes>>,
    /// How long it took until the answer came that `until` waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<Box<DoneTimes>>,
    /// The requests of a step that sends for itself, a row per name.
    pub inner: Vec<InnerTally>,
    /// The slowest execution of those in `response` whose journey is sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traced: Option<TracePoint>,
    /// Times that are yet to be added to both `response` and `service`, which are the same but for the first
    /// request of a journey that began late.
    #[serde(skip)]
    pub response_and_service: Histogram,
}

/// The difference between `response` and the times that ok executions are graded by, which another target is put to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GradedTimes {
    /// Times in `response` that nothing is graded by: of whole streams, and of what ended at its deadline.
    pub left_out: Histogram,
    /// The times to the first events of these streams.
    pub in_their_place: Histogram,
}

/// Response times with the pauses of `until`: from when the first request was due to the end of the last one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DoneTimes {
    /// Those of ok executions.
    pub ok: Histogram,
    /// Those of failed ones.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub failed: Histogram,
}

/// The requests of one name within a step that sends for itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InnerTally {
    /// The name: given by the step, else method and path.
    pub name: String,
    /// Requests that ended: answered or not.
    pub requests: u64,
    /// The requests without an answer, or with a status of 400 and more.
    pub failed: u64,
    /// Service time of those that were answered with a status below 400, and of those that ended at
    /// their deadline.
    pub service: Histogram,
    /// Those of these that ended at their deadline, which satisfy nobody.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub timed_out: Histogram,
    /// Service time of the other failed ones.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub failed_service: Histogram,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by kind and status.
    pub errors: Vec<ErrorTally>,
    /// The streams of events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<Box<StreamTally>>,
    /// The messages of gRPC calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessageCounts>,
}

/// The messages of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCounts {
    /// Those that were sent.
    pub sent: u64,
    /// Those that came.
    pub received: u64,
}

impl AddAssign for MessageCounts {
    fn add_assign(&mut self, more: Self) {
        self.sent += more.sent;
        self.received += more.received;
    }
}

/// The parts of service times, of all requests that had them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseTally {
    /// Opening TCP connections.
    pub connect: Histogram,
    /// TLS handshakes.
    pub tls: Histogram,
    /// Waiting for a stream of a shared connection.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub stream_wait: Histogram,
    /// Writing requests with large bodies.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub upload: Histogram,
    /// From a usable connection, or from the end of the upload, to the head of the answer.
    pub first_byte: Histogram,
    /// From the head to the last body byte.
    pub body: Histogram,
    /// Answers that came with their heads, yet to be added to `body`.
    #[serde(skip)]
    pub answered_at_once: u64,
}

/// Failures of one kind and status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorTally {
    /// The kind.
    pub kind: ErrorKind,
    /// The status, where there was an answer; the code of a gRPC call or of a WebSocket that was closed.
    pub status: Option<u16>,
    /// The number of errors.
    pub count: u64,
    /// The first one, in words.
    pub example: Redacted,
    /// The start of the first one's body.
    pub sample: Option<Redacted>,
    /// The first one whose journey is sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<TracePoint>,
}

impl PhaseTally {
    /// Adds the phases of one request.
    pub fn record(&mut self, phases: &Phases) {
        if phases.connect.is_some() || phases.stream_wait.is_some() || phases.upload.is_some() {
            self.record_rare(phases);
        }
        if let Some(time) = phases.first_byte {
            self.first_byte.record(time);
        }
        match phases.body {
            Some(Duration::ZERO) => self.answered_at_once += 1,
            Some(time) => self.body.record(time),
            None => {}
        }
    }

    /// Adds what most requests do not have. TLS comes after connecting.
    #[cold]
    fn record_rare(&mut self, phases: &Phases) {
        for (histogram, time) in [
            (&mut self.connect, phases.connect),
            (&mut self.tls, phases.tls),
            (&mut self.stream_wait, phases.stream_wait),
            (&mut self.upload, phases.upload),
        ] {
            if let Some(time) = time {
                histogram.record(time);
            }
        }
    }
}

impl StepTally {
    /// Counts what went over the wire.
    pub fn count(&mut self, traffic: Traffic) {
        self.requests += u64::from(traffic.requests);
        self.sent_bytes += traffic.sent_bytes;
        self.received_bytes += traffic.received_bytes;
        self.ambiguous += u64::from(traffic.ambiguous);
        self.unsolicited += u64::from(traffic.unsolicited);
        self.connections += u64::from(traffic.connections);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.executed += other.executed;
        self.ok += other.ok;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.not_drawn += other.not_drawn;
        self.left_out += other.left_out;
        self.kept += other.kept;
        self.skipped += other.skipped;
        self.skipped_not_drawn += other.skipped_not_drawn;
        self.requests += other.requests;
        self.retries += other.retries;
        self.resent += other.resent;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.ambiguous += other.ambiguous;
        self.unsolicited += other.unsolicited;
        self.connections += other.connections;
        self.satisfied += other.satisfied;
        self.tolerating += other.tolerating;
        self.checks_passed += other.checks_passed;
        self.checks_failed += other.checks_failed;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.failed_response.merge(&other.failed_response);
        self.failed_service.merge(&other.failed_service);
        self.phases.connect.merge(&other.phases.connect);
        self.phases.tls.merge(&other.phases.tls);
        (self.phases.stream_wait).merge(&other.phases.stream_wait);
        self.phases.upload.merge(&other.phases.upload);
        self.phases.first_byte.merge(&other.phases.first_byte);
        self.phases.body.merge(&other.phases.body);
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.unsent_ticks += other.unsent_ticks;
        self.good += other.good;
        self.partial_answers += other.partial_answers;
        if let Some(theirs) = &other.stream {
            self.stream.get_or_insert_default().merge(theirs);
        }
        if let Some(theirs) = &other.done {
            let ours = self.done.get_or_insert_default();
            ours.ok.merge(&theirs.ok);
            ours.failed.merge(&theirs.failed);
        }
        if let Some(theirs) = &other.graded {
            let ours = self.graded.get_or_insert_default();
            ours.left_out.merge(&theirs.left_out);
            ours.in_their_place.merge(&theirs.in_their_place);
        }
        TracePoint::keep_slower(&mut self.traced, other.traced);
        for theirs in &other.errors {
            self.count_error(theirs.clone());
        }
        for theirs in &other.inner {
            self.inner(&theirs.name).merge(theirs);
        }
    }

    /// Notes that an execution in `response` is graded by another time, or by none. Of a stream the time is noted also where
    /// it is the same: records of earlier versions have none, and are read otherwise.
    #[inline]
    pub fn note_graded(&mut self, response: Duration, graded: Option<Duration>) {
        if graded == Some(response) && self.stream.is_none() {
            return;
        }
        let times = self.graded.get_or_insert_default();
        times.left_out.record(response);
        if let Some(graded) = graded {
            times.in_their_place.record(graded);
        }
    }

    /// Adds one failure, or several of one kind and status.
    pub fn count_error(&mut self, error: ErrorTally) {
        ErrorTally::count_among(&mut self.errors, error);
    }
}

impl ErrorTally {
    /// Returns whether both are counted together: of one kind and status, and for failed operations of one reason.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.kind, self.status) == (other.kind, other.status)
            && (self.kind != ErrorKind::OpError || self.example == other.example)
    }

    /// Adds one failure, or several of one kind, to what `errors` count.
    pub(in crate::metrics) fn count_among(errors: &mut Vec<Self>, mut error: Self) {
        if error.kind == ErrorKind::OpError {
            let mut known = errors.iter().filter(|ours| ours.kind == error.kind);
            let is_known = known.any(|ours| ours.example == error.example);
            let reasons = errors.iter().filter(|ours| ours.kind == error.kind).count();
            if !is_known && reasons >= MOST_REASONS {
                error.example = Redacted::assume(OTHERS.to_owned());
            }
        }
        match errors.iter_mut().find(|ours| ours.is_same(&error)) {
            Some(ours) => {
                ours.count += error.count;
                TracePoint::keep_earlier(&mut ours.traced, error.traced);
            }
            None => errors.push(error),
        }
    }
}

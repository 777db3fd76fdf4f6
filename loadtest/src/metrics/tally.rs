//! Counters and histograms of a stretch of a run: a second of one worker, or all of it.

use super::{Health, Histogram, OwnTally, Slowest, is_zero, micros};
use crate::chain::{Cause, RootCause};
use crate::transport::{ErrorKind, Phases, Traffic};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// One second of a run, as the journal keeps it.
///
/// A run may hold several frames of the same second; they add up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The second, counted from the start of the run (warm-up included).
    pub second: u32,
    /// What happened in it, by the part of the load that the iterations were due in.
    pub windows: Windows,
    /// Virtual users within an iteration at the end of the second.
    pub active_users: u32,
    /// What the generator saw of itself.
    #[serde(default)]
    pub health: Health,
    /// The threshold for which the run ends now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
}

/// A threshold that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Broken {
    /// Its number in the plan.
    pub threshold: usize,
    /// What was measured, in the unit of its bound; times in microseconds.
    pub actual: f64,
    /// How long after the start of the load.
    #[serde(rename = "after_us", with = "crate::definition::micros")]
    pub after: Duration,
}

/// What happened, by the part of the load that the iterations were due in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Windows {
    /// Due within the warm-up: counted, else discarded.
    pub warm_up: Tally,
    /// Due within the ramp: in the accounts, not in the headline numbers.
    pub ramp: Tally,
    /// Due after the ramp (loads without a steady part: all of it): the headline numbers.
    pub steady: Tally,
}

/// What happened in a stretch of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// The journeys.
    pub journey: JourneyTally,
    /// The steps, in the order of the scenario; empty when nothing happened.
    pub steps: Vec<StepTally>,
    /// The dependency failures.
    pub dependencies: Vec<DependencyTally>,
    /// What the scenario's code counted and timed by itself.
    #[serde(skip_serializing_if = "OwnTally::is_empty")]
    pub own: OwnTally,
}

/// Iterations: `planned = started + dropped`, `started = ok + failed + cancelled`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JourneyTally {
    /// Iterations that began.
    pub started: u64,
    /// Iterations in which every drawn step was ok and no counted skip happened.
    pub ok: u64,
    /// Iterations that ended otherwise.
    pub failed: u64,
    /// Iterations that the end of the run cut off.
    pub cancelled: u64,
    /// Arrivals that never began: none was free before the end.
    pub dropped: u64,
    /// Journey time of ok journeys: intended start to end, less think time.
    pub time: Histogram,
    /// Journey time of failed journeys.
    pub failed_time: Histogram,
    /// Start lateness that is the generator's fault, of every iteration: from due, or from a user being
    /// free, to started.
    pub lateness: Histogram,
    /// Time that arrivals waited for a free user, where they did.
    pub waits: Histogram,
    /// Time per step by journey time, for the share of each step in the slowest journeys.
    pub shares: Vec<TailShare>,
    /// The slowest journeys, ok or not, step by step.
    #[serde(skip_serializing_if = "Slowest::is_empty")]
    pub slowest: Slowest,
    /// How many iterations are yet to be added to `lateness` that began when they were due.
    #[serde(skip)]
    pub(crate) prompt: u64,
}

/// The journeys of about one length, and how their time divides among the steps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TailShare {
    /// Their journey time is at least this long.
    pub at_least_us: u64,
    /// How many there were.
    pub journeys: u64,
    /// The service time of each step in them, summed.
    pub steps_us: Vec<u64>,
}

/// What happened to one step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepTally {
    /// Times the step ran to an end: `ok + failed`.
    pub executed: u64,
    /// Of these, with success.
    pub ok: u64,
    /// Of these, without.
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
    /// Of these, repeated: since a reused connection was closed, by `retry` or by `until`.
    pub retries: u64,
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
    /// The parts of the service time.
    pub phases: PhaseTally,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by kind and status.
    pub errors: Vec<ErrorTally>,
    /// The requests of a step that sends for itself, a row per name.
    pub inner: Vec<InnerTally>,
    /// Times that are yet to be added to both `response` and `service`, which are the same but for the first
    /// request of a journey that began late.
    #[serde(skip)]
    pub(crate) both: Histogram,
}

/// The requests of one name within a step that sends for itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InnerTally {
    /// The name: given by the step, else method and path.
    pub name: String,
    /// Requests that ended: answered or not.
    pub requests: u64,
    /// Of these, not answered, or with a status of 400 and more.
    pub failed: u64,
    /// Service time of those that were answered with a status below 400, and of those that ended at
    /// their deadline.
    pub service: Histogram,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by kind and status.
    pub errors: Vec<ErrorTally>,
}

/// The parts of service times, of all requests that had them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseTally {
    /// Opening TCP connections.
    pub connect: Histogram,
    /// TLS handshakes.
    pub tls: Histogram,
    /// From a usable connection to the head of the answer.
    pub first_byte: Histogram,
    /// From the head to the last body byte.
    pub body: Histogram,
}

/// Failures of one kind and status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorTally {
    /// The kind.
    pub kind: ErrorKind,
    /// The status, where there was an answer.
    pub status: Option<u16>,
    /// How many.
    pub count: u64,
    /// The first one, in words; redacted.
    pub example: String,
    /// The start of the first one's body; redacted.
    pub sample: Option<String>,
}

/// Dependency failures of one step with one variable, upstream step and root cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyTally {
    /// The zero-based number of the step that did not run.
    pub step: usize,
    /// The expression or parameter that had no value; `None` where the step's function declined or left it out.
    pub variable: Option<String>,
    /// The step that should have given it; the step itself where its function declined or left it out.
    pub upstream: usize,
    /// The cause at the root of the chain of skips.
    pub cause: Cause,
    /// How often.
    pub count: u64,
    /// The first one, in words.
    pub example: String,
}

/// Panics at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panicked {
    /// `file:line:column`.
    pub location: String,
    /// The first message; redacted.
    pub message: String,
    /// How many.
    pub count: u64,
}

impl Frame {
    /// Adds what another worker saw of the same second.
    pub fn merge(&mut self, other: &Self) {
        self.windows.merge(&other.windows);
        self.active_users += other.active_users;
        self.health.merge(&other.health, 1);
        self.broken = self.broken.or(other.broken);
    }
}

impl Windows {
    /// All windows, in the order of time.
    pub fn all(&self) -> [&Tally; 3] {
        [&self.warm_up, &self.ramp, &self.steady]
    }

    /// Adds what was put aside while it was counted.
    pub(crate) fn settle(&mut self) {
        for tally in [&mut self.warm_up, &mut self.ramp, &mut self.steady] {
            let prompt = std::mem::take(&mut tally.journey.prompt);
            tally.journey.lateness.record_n(Duration::ZERO, prompt);
            for step in &mut tally.steps {
                let both = std::mem::take(&mut step.both);
                step.response.merge(&both);
                step.service.merge(&both);
            }
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.warm_up.merge(&other.warm_up);
        self.ramp.merge(&other.ramp);
        self.steady.merge(&other.steady);
    }
}

impl Tally {
    /// An empty tally of a scenario with `steps` steps.
    pub fn new(steps: usize) -> Self {
        Self {
            steps: vec![StepTally::default(); steps],
            ..Self::default()
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.journey.merge(&other.journey);
        if self.steps.len() < other.steps.len() {
            self.steps
                .resize_with(other.steps.len(), StepTally::default);
        }
        for (ours, theirs) in self.steps.iter_mut().zip(&other.steps) {
            ours.merge(theirs);
        }
        for theirs in &other.dependencies {
            self.count_dependency(theirs.clone());
        }
        self.own.merge(&other.own);
    }

    /// Adds one dependency failure, or several of one kind.
    pub fn count_dependency(&mut self, failure: DependencyTally) {
        let same = |ours: &&mut DependencyTally| {
            (ours.step, ours.upstream, ours.cause)
                == (failure.step, failure.upstream, failure.cause)
                && ours.variable == failure.variable
        };
        match self.dependencies.iter_mut().find(same) {
            Some(ours) => ours.count += failure.count,
            None => self.dependencies.push(failure),
        }
    }
}

impl DependencyTally {
    /// Why the step did not run, in words.
    pub(crate) fn words(&self) -> String {
        match self.variable {
            Some(_) => self.example.clone(),
            None => format!("its function made no request: {}", self.example),
        }
    }

    /// The feed whose row lacks the value, where it is a feed's fault: what the variable begins with.
    pub fn feed(&self) -> Option<&str> {
        let is_feed = self.cause.root == RootCause::NotInFeed && self.cause.step == self.step;
        let variable = self.variable.as_deref().filter(|_| is_feed)?;
        variable.split(['.', '[']).next()
    }
}

impl JourneyTally {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.ok += other.ok;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.dropped += other.dropped;
        self.time.merge(&other.time);
        self.failed_time.merge(&other.failed_time);
        self.lateness.merge(&other.lateness);
        self.waits.merge(&other.waits);
        for share in &other.shares {
            self.add_share(share);
        }
        self.slowest.merge(&other.slowest);
    }

    /// Adds one ended journey of `time` through a scenario with so many `steps`, and the service time of
    /// those that were `executed`, by their number.
    pub fn record_shares(
        &mut self,
        time: Duration,
        steps: usize,
        executed: impl IntoIterator<Item = (usize, Duration)>,
    ) {
        let share = self.share(bucket(micros(time)), steps);
        share.journeys += 1;
        for (step, time) in executed {
            share.steps_us[step] += micros(time);
        }
    }

    fn add_share(&mut self, theirs: &TailShare) {
        let ours = self.share(theirs.at_least_us, theirs.steps_us.len());
        ours.journeys += theirs.journeys;
        for (ours, theirs) in ours.steps_us.iter_mut().zip(&theirs.steps_us) {
            *ours += theirs;
        }
    }

    /// The share of the journeys that take at least `at_least_us`.
    fn share(&mut self, at_least_us: u64, steps: usize) -> &mut TailShare {
        let found = self
            .shares
            .binary_search_by_key(&at_least_us, |share| share.at_least_us);
        let place = found.unwrap_or_else(|place| {
            let share = TailShare {
                at_least_us,
                journeys: 0,
                steps_us: vec![0; steps],
            };
            self.shares.insert(place, share);
            place
        });
        &mut self.shares[place]
    }
}

/// Rounds down to a sixteenth of a power of two, so that a bucket is at most 6.25 % wide.
fn bucket(us: u64) -> u64 {
    let shift = us.checked_ilog2().unwrap_or(0).saturating_sub(4);
    us >> shift << shift
}

impl PhaseTally {
    /// Adds the phases of one request.
    pub(crate) fn record(&mut self, phases: &Phases) {
        for (histogram, time) in [
            (&mut self.connect, phases.connect),
            (&mut self.tls, phases.tls),
            (&mut self.first_byte, phases.first_byte),
            (&mut self.body, phases.body),
        ] {
            if let Some(time) = time {
                histogram.record(time);
            }
        }
    }
}

impl StepTally {
    /// Counts what went over the wire.
    pub(crate) fn count(&mut self, traffic: Traffic) {
        self.requests += u64::from(traffic.requests);
        self.sent_bytes += traffic.sent_bytes;
        self.received_bytes += traffic.received_bytes;
        self.ambiguous += u64::from(traffic.ambiguous);
        self.unsolicited += u64::from(traffic.unsolicited);
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
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.ambiguous += other.ambiguous;
        self.unsolicited += other.unsolicited;
        self.satisfied += other.satisfied;
        self.tolerating += other.tolerating;
        self.checks_passed += other.checks_passed;
        self.checks_failed += other.checks_failed;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.failed_response.merge(&other.failed_response);
        self.phases.connect.merge(&other.phases.connect);
        self.phases.tls.merge(&other.phases.tls);
        self.phases.first_byte.merge(&other.phases.first_byte);
        self.phases.body.merge(&other.phases.body);
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for theirs in &other.errors {
            self.count_error(theirs.clone());
        }
        for theirs in &other.inner {
            self.inner(&theirs.name).merge(theirs);
        }
    }

    /// Adds one failure, or several of one kind and status.
    pub fn count_error(&mut self, error: ErrorTally) {
        let same = |ours: &&mut ErrorTally| (ours.kind, ours.status) == (error.kind, error.status);
        match self.errors.iter_mut().find(same) {
            Some(ours) => ours.count += error.count,
            None => self.errors.push(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Health;
    use proptest::prelude::*;

    /// Something that happened, and a time that it took.
    type Event = (u8, u8, u64);

    /// A second of one worker in which all of it happened.
    fn frame(events: &[Event]) -> Frame {
        let mut frame = Frame::default();
        for (window, what, us) in events {
            let windows = &mut frame.windows;
            let tally = [&mut windows.warm_up, &mut windows.ramp, &mut windows.steady]
                .into_iter()
                .nth(usize::from(*window))
                .unwrap();
            happen(tally, *what, *us);
            frame.health.merge(
                &Health {
                    worker_cpu_us: *us,
                    busiest_worker: *us as f64 / 1e7,
                    stalled_seconds: u32::from(*what == 0),
                    longest_stall_us: us / 2,
                    kept_by: us.is_multiple_of(3).then_some((us % 5) as u32),
                    throttled_us: us % 7,
                    stolen: 0.0,
                },
                1,
            );
        }
        frame
    }

    fn happen(tally: &mut Tally, what: u8, us: u64) {
        let time = Duration::from_micros(us);
        tally.merge(&Tally::new(2));
        let step = &mut tally.steps[usize::from(what) % 2];
        let error = |kind| ErrorTally {
            kind,
            status: None,
            count: 1,
            example: "as an example".to_owned(),
            sample: None,
        };
        match what {
            0 => {
                (tally.journey.started, tally.journey.ok) =
                    (tally.journey.started + 1, tally.journey.ok + 1);
                tally.journey.time.record(time);
                tally.journey.lateness.record(time);
                tally.journey.record_shares(time, 2, [(0, time), (1, time)]);
                tally.own.count("items", us);
                tally.own.time("parsing", time);
            }
            1 => {
                tally.journey.dropped += 1;
                tally.journey.waits.record(time);
                tally.journey.failed_time.record(time);
            }
            2 | 3 => {
                step.executed += 1;
                step.response.record(time);
                step.service.record(time);
                step.phases.first_byte.record(time);
                *step.statuses.entry(200 + us as u16 % 3).or_default() += 1;
                step.inner("GET /a").requests += 1;
            }
            4 | 5 => {
                step.failed += 1;
                step.failed_response.record(time);
                step.count_error(error(if us.is_multiple_of(2) {
                    ErrorKind::Status
                } else {
                    ErrorKind::TimeoutHead
                }));
                step.inner("GET /b").answered(500, time);
            }
            _ => tally.count_dependency(DependencyTally {
                step: 1,
                variable: us.is_multiple_of(2).then(|| "a.response".to_owned()),
                upstream: 0,
                cause: Cause {
                    root: RootCause::Failed,
                    step: 0,
                },
                count: 1,
                example: "as an example".to_owned(),
            }),
        }
    }

    /// Lists of things that have no order of their own, in one order.
    fn ordered(mut frame: Frame) -> Frame {
        let windows = &mut frame.windows;
        for tally in [&mut windows.warm_up, &mut windows.ramp, &mut windows.steady] {
            tally
                .dependencies
                .sort_by(|a, b| a.variable.cmp(&b.variable));
            for step in &mut tally.steps {
                step.errors.sort_by_key(|error| error.kind);
                step.inner.sort_by(|a, b| a.name.cmp(&b.name));
            }
        }
        frame
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        proptest::collection::vec((0_u8..3, 0_u8..7, 1_u64..5_000_000), 0..24)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn merging_frames_is_associative_and_commutative(a in events(), b in events(), c in events()) {
            let sum = |parts: &[&Frame]| {
                let mut sum = Frame::default();
                for part in parts {
                    sum.merge(part);
                }
                sum
            };
            let [x, y, z] = [&a, &b, &c].map(|events| frame(events));
            let all = ordered(sum(&[&x, &y, &z]));
            prop_assert_eq!(&ordered(sum(&[&z, &x, &y])), &all);
            prop_assert_eq!(&ordered(sum(&[&y, &x, &z])), &all);
            prop_assert_eq!(&ordered(sum(&[&x, &sum(&[&y, &z])])), &all);
            // And it loses nothing: one worker that saw it all says the same.
            prop_assert_eq!(&ordered(frame(&[a, b, c].concat())), &all);
        }
    }

    #[test]
    fn shares_of_journeys_of_about_one_length_add_up() {
        let mut journeys = JourneyTally::default();
        let ms = Duration::from_millis;
        journeys.record_shares(ms(100), 2, [(0, ms(60)), (1, ms(40))]);
        journeys.record_shares(ms(101), 2, [(0, ms(61)), (1, ms(40))]);
        journeys.record_shares(ms(900), 2, [(0, ms(10)), (1, ms(890))]);
        assert_eq!(journeys.shares.len(), 2);
        assert_eq!(journeys.shares[0].journeys, 2);
        assert_eq!(journeys.shares[0].steps_us, [121_000, 80_000]);
        assert!((94_000..=100_000).contains(&journeys.shares[0].at_least_us));
        let mut sum = JourneyTally::default();
        sum.merge(&journeys);
        sum.merge(&journeys);
        assert_eq!(sum.shares[1].steps_us, [20_000, 1_780_000]);
    }

    #[test]
    fn errors_and_dependency_failures_of_one_kind_are_one_line() {
        let error = |kind, count| ErrorTally {
            kind,
            status: None,
            count,
            example: count.to_string(),
            sample: None,
        };
        let mut step = StepTally::default();
        step.count_error(error(ErrorKind::TimeoutHead, 2));
        step.count_error(error(ErrorKind::ConnectRefused, 1));
        step.count_error(error(ErrorKind::TimeoutHead, 3));
        assert_eq!(step.errors.len(), 2);
        assert_eq!(
            (step.errors[0].count, &*step.errors[0].example),
            (5, "2"),
            "the first example stays"
        );
    }
}

//! The outcome of a step and its tally.

use super::worker_state::WorkerState;
use crate::chain::Unmet;
use crate::transport::Failure;
use loadtest_model::definition::{GoodCondition, Part, StepDef};
use loadtest_model::metrics::{Cause, ErrorKind, RootCause};
use loadtest_model::metrics::{DependencyTally, ErrorTally, StepTally, StreamSample, Tally};
use loadtest_model::redacted::Redacted;
use loadtest_model::trace::TracePoint;
use std::time::Duration;

/// The outcome of a step.
#[derive(Debug)]
pub(crate) enum StepOutcome {
    Ok,
    Failed(Failure),
    NotDrawn,
    /// Its function left it out on purpose.
    LeftOut(DependencyTally),
    /// It ran `once`, and its response is kept.
    AlreadyRun,
    Skipped(DependencyTally),
}

impl StepOutcome {
    /// Returns the kind of its failure, if it was executed and failed.
    pub(super) fn error_kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Failed(failure) => Some(failure.kind),
            _ => None,
        }
    }

    /// Returns whether the iteration fails with it.
    pub(crate) fn is_failure(&self) -> bool {
        match self {
            Self::Ok | Self::NotDrawn | Self::LeftOut(_) | Self::AlreadyRun => false,
            Self::Failed(_) => true,
            Self::Skipped(skip) => skip.cause.root.counts(),
        }
    }
}

/// Tallies a step for which no request was sent; `traced` is its place in a trace that is kept.
pub(super) fn tally_not_sent(
    tally: &mut Tally,
    step: usize,
    outcome: &StepOutcome,
    traced: Option<TracePoint>,
) {
    let step_tally = &mut tally.steps[step];
    match outcome {
        StepOutcome::Ok => {}
        StepOutcome::NotDrawn => step_tally.not_drawn += 1,
        StepOutcome::LeftOut(skip) => {
            step_tally.left_out += 1;
            tally.count_dependency(skip.clone());
        }
        StepOutcome::AlreadyRun => step_tally.kept += 1,
        StepOutcome::Failed(failure) => tally_failure(step_tally, failure, traced),
        StepOutcome::Skipped(skip) => {
            if skip.cause.root.counts() {
                step_tally.skipped += 1;
            } else {
                step_tally.skipped_not_drawn += 1;
            }
            tally.count_dependency(skip.clone());
        }
    }
}

pub(super) fn tally_failure(tally: &mut StepTally, failure: &Failure, traced: Option<TracePoint>) {
    tally.executed += 1;
    tally.failed += 1;
    let status = failure.status_number();
    match tally
        .errors
        .iter_mut()
        .find(|error| (error.kind, error.status) == (failure.kind, status))
    {
        // Those of measured operations are told apart by their reasons.
        Some(error) if failure.kind != ErrorKind::OpError => {
            error.count += 1;
            TracePoint::keep_earlier(&mut error.traced, traced);
        }
        _ => tally.count_error(ErrorTally {
            kind: failure.kind,
            status,
            count: 1,
            example: crate::redact::redact_message(&failure.message),
            sample: failure.sample.clone(),
            traced,
        }),
    }
}

/// Tallies a step that came to its end without a request: it was executed, and took no time that
/// would be a sample. One that is ok is within any target.
pub(super) fn tally_without_request(
    tally: &mut StepTally,
    result: &Result<(), Failure>,
    checks: (u64, u64),
    traced: Option<TracePoint>,
) {
    tally.checks_passed += checks.0;
    tally.checks_failed += checks.1;
    match result {
        Ok(()) => {
            tally.executed += 1;
            tally.ok += 1;
            tally.satisfied += 1;
        }
        Err(failure) => tally_failure(tally, failure, traced),
    }
}

/// The times and checks of a step that ran.
pub(super) struct StepSample {
    pub(super) service: Duration,
    /// Service time, plus the start delay in the first request of an iteration.
    pub(super) response: Duration,
    /// The time that it is graded by.
    pub(super) graded: Duration,
    /// The grading target T.
    pub(super) target: Duration,
    /// What was measured of its stream of events.
    pub(super) stream: Option<Box<StreamSample>>,
    /// Passed and failed.
    pub(super) checks: (u64, u64),
    /// Its place in a trace that is kept.
    pub(super) traced: Option<TracePoint>,
}

impl StepSample {
    /// The sample of an execution without checks, whose first request was due `start_delay` before its service time
    /// began. One that read a stream is graded by its first event, unless the step says otherwise.
    pub(super) fn new(
        def: &StepDef,
        target: Duration,
        (service, start_delay): (Duration, Duration),
        stream: Option<Box<StreamSample>>,
    ) -> Self {
        let response = service + start_delay;
        let stream = stream.map(|stream| Box::new(stream.delayed(start_delay)));
        let first_event = stream.as_ref().and_then(|stream| stream.first_event);
        let by_response = (def.stream.as_ref()).is_some_and(|stream| stream.graded_by_response);
        Self {
            service,
            response,
            graded: first_event.filter(|_| !by_response).unwrap_or(response),
            target,
            stream,
            checks: (0, 0),
            traced: None,
        }
    }

    /// Returns whether an execution that ended well is good: all conditions on its times hold, and there are some.
    #[inline]
    pub(super) fn is_good(&self, conditions: &[GoodCondition]) -> bool {
        let stream = self.stream.as_ref();
        let time = |part| match part {
            Part::Whole => Some(self.response),
            Part::Service => Some(self.service),
            Part::FirstEvent => stream?.first_event,
            // A stream of one event has no gap that would be too long.
            Part::Gap => Some(stream?.gaps.iter().copied().max().unwrap_or_default()),
            Part::PerUnit => Some(stream?.per_unit().unwrap_or_default()),
            _ => None,
        };
        let holds = |condition: &GoodCondition| {
            time(condition.part).is_some_and(|time| time <= condition.at_most)
        };
        !conditions.is_empty() && conditions.iter().all(holds)
    }

    #[inline]
    pub(super) fn tally(&self, tally: &mut StepTally, result: &Result<(), Failure>) {
        tally.checks_passed += self.checks.0;
        tally.checks_failed += self.checks.1;
        match result {
            Ok(()) => {
                tally.executed += 1;
                tally.ok += 1;
                if self.graded <= self.target {
                    tally.satisfied += 1;
                } else if self.graded <= self.target * 4 {
                    tally.tolerating += 1;
                }
            }
            Err(failure) => tally_failure(tally, failure, self.traced),
        }
        let failure = result.as_ref().err();
        if let Some(stream) = &self.stream {
            let timed_out = failure.is_some_and(|failure| failure.kind.is_timeout());
            let streams = tally.stream.get_or_insert_default();
            streams.record(stream, failure.is_none());
            if timed_out && stream.first_event.is_none() {
                streams.first_event.record(self.response);
            }
        }
        if failure.is_none_or(|failure| failure.kind.is_timeout()) {
            tally.note_graded(self.response, result.is_ok().then_some(self.graded));
            TracePoint::keep_slower(&mut tally.traced, self.traced);
            if self.response == self.service {
                tally.response_and_service.record(self.service);
            } else {
                tally.response.record(self.response);
                tally.service.record(self.service);
            }
        } else {
            tally.failed_response.record(self.response);
            tally.failed_service.record(self.service);
        }
    }
}

/// The ledger's line for a step that cannot run.
pub(super) fn dependency_tally(step: usize, unmet: Unmet, state: &WorkerState) -> DependencyTally {
    let name = |step: usize| &state.definition.steps[step].name;
    let (variable, upstream, cause, example) = match unmet {
        Unmet::Upstream {
            step: upstream,
            variable,
            cause,
        } => {
            let root = if cause.step == upstream {
                String::new()
            } else {
                format!(", after `{}`", name(cause.step))
            };
            let example = Redacted::assume(format!(
                "needs `{variable}`, but `{}` has no response: {}{root}",
                name(upstream),
                cause.root
            ));
            (Some(variable.to_owned()), upstream, cause, example)
        }
        Unmet::Stopped { cause } => {
            let example = Redacted::assume(format!(
                "`{}` failed, which ends the journey",
                name(cause.step)
            ));
            (None, cause.step, cause, example)
        }
        Unmet::Missing {
            step: upstream,
            variable,
        } => {
            let cause = Cause {
                root: RootCause::Missing,
                step: upstream,
            };
            let example = Redacted::assume(format!(
                "needs `{variable}`, which the response of `{}` lacks",
                name(upstream)
            ));
            (Some(variable.to_owned()), upstream, cause, example)
        }
        Unmet::NotInFeed { variable } => {
            let cause = Cause {
                root: RootCause::NotInFeed,
                step,
            };
            let example = Redacted::assume(format!("needs `{variable}`, which is missing"));
            (Some(variable.to_owned()), step, cause, example)
        }
        Unmet::Expired { variable, reason } => {
            let cause = Cause {
                root: RootCause::Expired,
                step,
            };
            let reason = format!("needs `{variable}`, which has expired: {reason}");
            let example = crate::redact::redact_message(&reason);
            (Some(variable.to_owned()), step, cause, example)
        }
        Unmet::Declined { reason } => own_cause(RootCause::Declined, step, &reason),
        Unmet::LeftOut { reason } => own_cause(RootCause::LeftOut, step, &reason),
        Unmet::Invalid { reason } => own_cause(RootCause::Invalid, step, &reason),
    };
    DependencyTally {
        step,
        variable,
        upstream,
        cause,
        count: 1,
        example,
    }
}

/// Variable, upstream step, cause and example of a step that is the cause itself.
fn own_cause(
    root: RootCause,
    step: usize,
    reason: &str,
) -> (Option<String>, usize, Cause, Redacted) {
    let example = crate::redact::redact_message(reason);
    (None, step, Cause { root, step }, example)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_reads_a_stream_keeps_the_times_that_another_target_is_put_to() {
        let ms = Duration::from_millis;
        // Of a step that sends for itself: its definition has no stream.
        let def = StepDef::new("chat");
        let mut tally = StepTally::default();
        for (first, all) in [(Some(80), 900), (None, 20), (Some(70), 70)] {
            let times = first.map(|first| (ms(first), false)).into_iter();
            let stream = first.map(|_| Box::new(StreamSample::of_events(times)));
            StepSample::new(&def, ms(75), (ms(all), ms(0)), stream).tally(&mut tally, &Ok(()));
        }
        assert_eq!((tally.ok, tally.satisfied, tally.tolerating), (3, 2, 1));
        let graded = tally.graded.unwrap();
        assert_eq!(
            (graded.left_out.count(), graded.in_their_place.count()),
            (3, 3),
            "also those whose time is the same"
        );
        assert_eq!(graded.left_out.count_at_most(ms(899)), 2);
        assert_eq!(graded.in_their_place.count_at_most(ms(80)), 3);
        assert_eq!(graded.in_their_place.count_at_most(ms(79)), 2);
    }
}

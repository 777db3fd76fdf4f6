//! Another grading policy for a run that is over.

use crate::definition::Part;
use crate::metrics::StepTally;
use crate::plan::GradingDefaults;
use crate::record::{RunRecord, ScenarioRecord};
use std::time::Duration;

impl RunRecord {
    /// Puts `policy`, as far as it says something, in the place of the one that every step of the run was
    /// graded by. Which answers are within another target is known to the width of a histogram's bucket,
    /// 0.1 % of the target; counts of the target that a step was run with stay exact.
    pub fn regrade(&mut self, policy: &GradingDefaults) {
        for scenario in &mut self.scenarios {
            scenario.regrade(policy);
        }
    }
}

impl ScenarioRecord {
    pub(crate) fn regrade(&mut self, policy: &GradingDefaults) {
        self.regraded = Some(policy.clone());
        self.start.plan.min_grade = policy.min_grade.or(self.start.plan.min_grade);
        for (i, grading) in self.start.plan.grading.iter_mut().enumerate() {
            grading.budget = policy.budget.unwrap_or(grading.budget);
            grading.weight = policy.grade_weight.unwrap_or(grading.weight);
            let Some(target) = policy.apdex.filter(|target| *target != grading.target) else {
                continue;
            };
            grading.target = target;
            let def = &self.start.definition.steps[i];
            let (timeout, part) = (def.timeout, def.graded_part());
            let windows = &mut self.windows;
            for tally in [&mut windows.warm_up, &mut windows.ramp, &mut windows.steady] {
                if let Some(step) = tally.steps.get_mut(i) {
                    change_target(step, target, timeout, part);
                }
            }
        }
    }
}

/// Counts anew what is within `target` and within four times that.
fn change_target(step: &mut StepTally, target: Duration, timeout: Duration, part: Part) {
    let within = |limit: Duration| count_within(step, limit, timeout, part);
    let (satisfied, bearable) = (within(target), within(target.saturating_mul(4)));
    step.satisfied = satisfied;
    step.tolerating = bearable.saturating_sub(satisfied);
}

/// Counts the ok executions that are graded by at most `limit`.
fn count_within(step: &StepTally, limit: Duration, timeout: Duration, part: Part) -> u64 {
    let (all, within) = (step.response.count(), step.response.count_at_most(limit));
    let (timed, within) = match (&step.graded, &step.stream) {
        (Some(graded), _) => {
            let (out, into) = (&graded.left_out, &graded.in_their_place);
            let change = |count: u64, out: u64, into: u64| (count + into).saturating_sub(out);
            (
                change(all, out.count(), into.count()),
                change(within, out.count_at_most(limit), into.count_at_most(limit)),
            )
        }
        // Records of earlier versions do not tell which first events are those of the ok streams: they count as late as
        // all are. Without a time of an ok stream, all first events are those of streams that failed.
        (None, Some(stream)) if part == Part::FirstEvent && all > 0 => {
            return stream.share_of_first_events(limit, step.ok);
        }
        // They do not say either how long what timed out took: no less than the deadline.
        (None, _) => {
            let errors = step.errors.iter();
            let timeouts = errors.filter(|error| error.kind.is_timeout());
            let timeouts: u64 = timeouts.map(|error| error.count).sum();
            let failed = if limit < timeout { 0 } else { timeouts };
            (all.saturating_sub(timeouts), within.saturating_sub(failed))
        }
    };
    // What took no time to speak of is within any target.
    let untimed = step.ok.saturating_sub(timed);
    untimed + within.min(timed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{Report, Verdict, sample};
    use crate::definition::Letter;
    use crate::metrics::ErrorKind;
    use crate::metrics::ErrorTally;
    use crate::record::{Environment, SCHEMA_VERSION};
    use crate::redacted::Redacted;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// An execution: the time that it is graded by, its whole time, and how it failed.
    type Execution = (u64, u64, Option<ErrorKind>);

    /// Tallies executions as a run does, and some that took no time.
    fn step(executions: &[Execution], untimed: u64, target: Duration) -> StepTally {
        let mut step = StepTally {
            ok: untimed,
            satisfied: untimed,
            executed: executions.len() as u64 + untimed,
            ..StepTally::default()
        };
        // A step reads streams, or it does not.
        if executions
            .iter()
            .any(|(graded, response, _)| graded < response)
        {
            step.stream = Some(Box::default());
        }
        for (graded, response, failure) in executions {
            let (graded, response) = (ms(*graded), ms(*response));
            match failure {
                None => {
                    step.ok += 1;
                    step.satisfied += u64::from(graded <= target);
                    step.tolerating += u64::from(graded > target && graded <= target * 4);
                    step.response.record(response);
                    step.note_graded(response, Some(graded));
                }
                Some(kind) if kind.is_timeout() => {
                    step.response.record(response);
                    step.note_graded(response, None);
                }
                Some(_) => step.failed_response.record(response),
            }
            if let Some(kind) = failure {
                step.failed += 1;
                step.count_error(ErrorTally {
                    kind: *kind,
                    status: None,
                    count: 1,
                    example: Redacted::default(),
                    sample: None,
                    traced: None,
                });
            }
            if graded < response {
                let stream = step.stream.get_or_insert_default();
                stream.first_event.record(graded);
            }
        }
        step
    }

    #[test]
    fn a_run_that_is_graded_anew_says_so_and_keeps_exact_counts_of_its_own_target() {
        let scenario = sample::record(&["login"]);
        let mut record = RunRecord {
            schema_version: SCHEMA_VERSION,
            run_id: String::new(),
            tool_version: String::new(),
            started_at: String::new(),
            environment: Environment::default(),
            scenarios: vec![scenario.clone()],
            not_run: Vec::new(),
            capacity: None,
            telemetry: Vec::new(),
        };
        let policy = |apdex, budget| GradingDefaults {
            apdex,
            budget,
            grade_weight: None,
            ..Default::default()
        };
        record.regrade(&policy(Some(ms(500)), Some(0.02)));
        let anew = &record.scenarios[0];
        assert_eq!(anew.windows, scenario.windows);
        let grading = anew.start.plan.grading[0];
        assert_eq!((grading.target, grading.budget), (ms(500), 0.02));
        // Every answer took 10 ms: tolerable for a target of 3 ms, and too long for one of 2 ms.
        for (target, score) in [(10, 1.0), (3, 0.5), (2, 0.0)] {
            record.regrade(&policy(Some(ms(target)), None));
            let card = &Report::grade(&record, None).cards[0];
            assert_eq!(card.grade.score, Some(score), "{target} ms");
            assert_eq!(
                card.notes[0],
                format!(
                    "Graded again, with T = {target} ms for every step. Where the run had another T, times within \
                     0.1 % of T or 4 T may be counted on the other side."
                )
            );
        }
        record.regrade(&policy(None, Some(0.005)));
        assert_eq!(
            Report::grade(&record, None).cards[0].notes[0],
            "Graded again, with an error budget of 0.50 % for every step."
        );
        record.regrade(&GradingDefaults {
            min_grade: Some(Letter::A),
            ..policy(None, Some(0.005))
        });
        let card = &Report::grade(&record, None).cards[0];
        assert_eq!(
            card.notes[0],
            "Graded again, with an error budget of 0.50 % for every step, and with at least A required."
        );
        assert_eq!(
            (card.verdict, card.min_grade),
            (Verdict::Failed, Some(Letter::A))
        );
        assert_eq!(card.regraded, record.scenarios[0].regraded);
        let written = serde_json::to_string(&record).unwrap();
        let read: RunRecord = serde_json::from_str(&written).unwrap();
        assert_eq!(read.scenarios[0].regraded, None);
    }

    #[test]
    fn a_step_that_reads_a_stream_is_graded_anew_by_its_first_event() {
        // As a step that sends for itself: its definition does not say that it reads a stream.
        let mut anew = step(&[(80, 900, None); 200], 0, ms(80));
        change_target(
            &mut anew,
            Duration::from_micros(80_500),
            ms(30_000),
            Part::Whole,
        );
        assert_eq!((anew.satisfied, anew.tolerating), (200, 0));
        change_target(&mut anew, ms(79), ms(30_000), Part::Whole);
        assert_eq!((anew.satisfied, anew.tolerating), (0, 200));
    }

    #[test]
    fn a_failed_stream_leaves_the_counts_of_the_others_as_they_were() {
        // The failed ones had early first events.
        let mut executions = vec![(10, 500, Some(ErrorKind::ResetInBody)); 40];
        executions.extend([(100, 500, None); 60]);
        let run = step(&executions, 0, ms(50));
        let mut anew = run.clone();
        change_target(
            &mut anew,
            Duration::from_micros(50_010),
            ms(30_000),
            Part::FirstEvent,
        );
        assert_eq!(anew, run);
    }

    #[test]
    fn first_events_of_failed_streams_are_not_those_of_executions_without_a_time() {
        let failed = [(79, 80, Some(ErrorKind::ResetInBody))];
        let mut anew = step(&failed, 1, ms(50));
        change_target(&mut anew, ms(1), ms(1_000), Part::FirstEvent);
        assert_eq!(anew, step(&failed, 1, ms(1)));
        assert_eq!((anew.satisfied, anew.tolerating), (1, 0));
    }

    #[test]
    fn what_a_record_of_before_does_not_say_is_estimated() {
        let mut old = step(&[(10, 500, None), (100, 500, None)], 0, ms(50));
        old.graded = None;
        change_target(&mut old, ms(20), ms(1_000), Part::FirstEvent);
        assert_eq!((old.satisfied, old.tolerating), (1, 0));
        let mut old = step(
            &[(10, 10, None), (1_000, 1_000, Some(ErrorKind::TimeoutHead))],
            1,
            ms(5),
        );
        old.graded = None;
        change_target(&mut old, ms(400), ms(1_000), Part::Whole);
        assert_eq!((old.satisfied, old.tolerating), (2, 0));
    }

    proptest! {
        #[test]
        fn another_target_counts_as_if_the_run_had_had_it(
            executions in prop::collection::vec((1..900_u64, 0..900_u64, 0..5_u8), 0..50),
            untimed in 0..5_u64,
            run_with in 1..2_000_u64,
            anew in 1..2_000_u64,
        ) {
            // Plain ones, streams, timeouts before and at the deadline, other failures.
            let executions: Vec<Execution> = executions
                .into_iter()
                .map(|(graded, rest, what)| match what {
                    0 => (graded, graded, None),
                    1 => (graded, graded + rest, None),
                    2 => (graded, graded, Some(ErrorKind::TimeoutEvent)),
                    3 => (1_000, 1_000, Some(ErrorKind::TimeoutHead)),
                    _ => (graded, graded + rest, Some(ErrorKind::ResetInBody)),
                })
                .collect();
            // Nothing within a bucket of either limit.
            let near = |time: u64, limit: u64| time.abs_diff(limit) * 500 < limit && time != limit;
            let is_near = |time: u64| near(time, anew) || near(time, 4 * anew);
            prop_assume!(!executions.iter().any(|(graded, response, _)| is_near(*graded) || is_near(*response)));
            let mut of_run = step(&executions, untimed, ms(run_with));
            change_target(&mut of_run, ms(anew), ms(1_000), Part::FirstEvent);
            prop_assert_eq!(of_run, step(&executions, untimed, ms(anew)));
        }
    }
}

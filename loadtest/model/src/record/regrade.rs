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
                    match step.stream.as_deref() {
                        Some(_) if part == Part::FirstEvent => change_stream_target(step, target),
                        _ => change_target(step, target, timeout),
                    }
                }
            }
        }
    }
}

/// Counts anew what is within `target` and within four times that.
fn change_target(step: &mut StepTally, target: Duration, timeout: Duration) {
    let timeouts: u64 = step
        .errors
        .iter()
        .filter(|error| error.kind.is_timeout())
        .map(|error| error.count)
        .sum();
    // Those that timed out are among the times, and no better than their deadline.
    let timed = step.response.count().saturating_sub(timeouts);
    // What took no time to speak of is within any target.
    let untimed = step.ok.saturating_sub(timed);
    let within = |limit: Duration| {
        let failed = if limit < timeout { 0 } else { timeouts };
        let counted = step.response.count_at_most(limit).saturating_sub(failed);
        untimed + counted.min(timed)
    };
    let (satisfied, bearable) = (within(target), within(target.saturating_mul(4)));
    step.satisfied = satisfied;
    step.tolerating = bearable - satisfied;
}

/// The same of a step that is graded by the first events of its streams. Where some failed, it is not known which first
/// events are theirs: those of the ok ones count as late as all are.
fn change_stream_target(step: &mut StepTally, target: Duration) {
    let Some(stream) = &step.stream else { return };
    let within = |limit: Duration| stream.share_of_first_events(limit, step.ok);
    let (satisfied, bearable) = (within(target), within(target.saturating_mul(4)));
    step.satisfied = satisfied;
    step.tolerating = bearable - satisfied;
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

    fn step(times: &[u64], untimed: u64, timeouts: u64, target: Duration) -> StepTally {
        let mut step = StepTally {
            ok: times.len() as u64 + untimed,
            failed: timeouts,
            executed: times.len() as u64 + untimed + timeouts,
            ..StepTally::default()
        };
        for time in times {
            step.response.record(ms(*time));
        }
        for _ in 0..timeouts {
            step.response.record(ms(1_000));
        }
        if timeouts > 0 {
            step.errors.push(ErrorTally {
                kind: ErrorKind::TimeoutHead,
                status: None,
                count: timeouts,
                example: Redacted::default(),
                sample: None,
                traced: None,
            });
        }
        let within = |limit| times.iter().filter(|time| ms(**time) <= limit).count() as u64;
        step.satisfied = untimed + within(target);
        step.tolerating = within(target * 4) - within(target);
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
                    "Graded anew, with T = {target} ms for every step. Where the run had another T, times within \
                     0.1 % of T or 4 T may be counted on the other side."
                )
            );
        }
        record.regrade(&policy(None, Some(0.005)));
        assert_eq!(
            Report::grade(&record, None).cards[0].notes[0],
            "Graded anew, with an error budget of 0.50 % for every step."
        );
        record.regrade(&GradingDefaults {
            min_grade: Some(Letter::A),
            ..policy(None, Some(0.005))
        });
        let card = &Report::grade(&record, None).cards[0];
        assert_eq!(
            card.notes[0],
            "Graded anew, with an error budget of 0.50 % for every step, and with at least A asked for."
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

    proptest! {
        #[test]
        fn another_target_counts_as_if_the_run_had_had_it(
            times in prop::collection::vec(1..900_u64, 0..50),
            untimed in 0..5_u64,
            timeouts in 0..5_u64,
            run_with in 1..2_000_u64,
            anew in 1..2_000_u64,
        ) {
            // Nothing within a bucket of either limit.
            let near = |time: &u64, limit: u64| time.abs_diff(limit) * 500 < limit && *time != limit;
            prop_assume!(!times.iter().any(|time| near(time, anew) || near(time, 4 * anew)));
            let mut step_of_run = step(&times, untimed, timeouts, ms(run_with));
            change_target(&mut step_of_run, ms(anew), ms(1_000));
            prop_assert_eq!(step_of_run, step(&times, untimed, timeouts, ms(anew)));
        }
    }
}

//! The requests of a step that sends for itself, a row per name.

use super::grade::StepGrade;
use super::step::{Quantiles, share_of};
use super::stream::StreamRow;
use crate::definition::{Part, Subject};
use crate::metrics::{InnerTally, MessageCounts};
use crate::plan::{Plan, StepGrading, tightest_tail_bound};
use serde::Serialize;
use std::collections::BTreeMap;

/// The measurements of the requests of one name within a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InnerRow {
    /// The name that the step gave, else method and path.
    pub name: String,
    /// The grade, which has no part in that of the step or of the scenario; `None` without requests, or when the
    /// grade is withheld.
    pub grade: Option<StepGrade>,
    /// Requests that were answered, or were not.
    pub requests: u64,
    /// The requests without an answer, or with a status of 400 and more.
    pub failed: u64,
    /// Failed of all, a share of one.
    pub error_rate: Option<f64>,
    /// Service time: at each quantile the larger of that of the requests that were answered with a status below 400 or
    /// timed out, and that of all.
    pub service: Quantiles,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// The streams of events, where the answers are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamRow>,
    /// The messages, where these are gRPC calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessageCounts>,
}

impl InnerRow {
    /// Returns whether anything of it happened in the measured part.
    pub(super) fn is_measured(&self) -> bool {
        let stream = self.stream.as_ref();
        self.requests > 0 || stream.is_some_and(|stream| stream.events > 0)
    }

    /// A row without grade; units per second are so many in so many seconds.
    pub(super) fn from_tally(tally: &InnerTally, units: (u64, Option<f64>)) -> Self {
        Self {
            name: tally.name.clone(),
            grade: None,
            requests: tally.requests,
            failed: tally.failed,
            error_rate: share_of(tally.failed, tally.requests),
            service: Quantiles::from_times(&tally.times()),
            statuses: tally.statuses.clone(),
            // Until the row is graded by it.
            stream: (tally.stream.as_ref()).map(|stream| StreamRow::new(false, stream, units)),
            messages: tally.messages,
        }
    }

    /// Grades the requests in `tally` of step number `step` by the smallest bound of a limit on their `p95`, `p99`,
    /// `p99_9` or `max`, unless the run `is_regraded` by another target, else by the target of the step. That of the step
    /// is compared with the first events of streams, unless it `is_by_response`.
    pub(super) fn grade(
        &mut self,
        tally: &InnerTally,
        plan: &Plan,
        step: usize,
        (is_regraded, is_by_response): (bool, bool),
    ) {
        let scoped = plan.thresholds.iter();
        let limits = scoped.filter(|scoped| scoped.step == Some(step));
        let subject = Subject::Row(self.name.clone().into());
        let bound = tightest_tail_bound(
            limits.map(|scoped| &scoped.threshold),
            &subject,
            Part::Whole,
        );
        let bound = bound.filter(|_| !is_regraded);
        if let Some(stream) = &mut self.stream {
            let has_begun = stream.first_event.samples > 0;
            stream.graded_by_first_event = has_begun && bound.is_none() && !is_by_response;
        }
        let by_first_event = (self.stream.as_ref()).is_some_and(|row| row.graded_by_first_event);
        self.grade = plan.grading.get(step).and_then(|policy| {
            let policy = StepGrading {
                target: bound.unwrap_or(policy.target),
                weight: 0.0,
                ..*policy
            };
            StepGrade::from_row(tally, by_first_event, &policy)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Card, ThresholdRow, sample};
    use crate::definition::{Bound, Comparator, Letter, Metric, StreamDef, Subject, Threshold};
    use crate::metrics::{ErrorKind, StreamSample};
    use crate::plan::{GradingDefaults, ScopedThreshold};
    use crate::record::ScenarioRecord;
    use std::time::Duration;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A step with a row of 60 fast requests, 30 of 300 ms and 10 that timed out after 40 ms.
    fn record() -> ScenarioRecord {
        let mut record = sample::record(&["login", "wait"]);
        record.start.definition.steps.to_mut()[1].tags = vec!["api".into()].into();
        record.start.plan.grading[1].budget = 0.5;
        let row = record.windows.steady.steps[1].inner("status");
        for number in 0..90 {
            let time = if number < 60 { ms(10) } else { ms(300) };
            row.answered(200, time, || "200 OK".into());
        }
        for _ in 0..10 {
            row.unanswered(ErrorKind::TimeoutHead, None, "late".into(), ms(40));
        }
        record
    }

    fn limit(record: &mut ScenarioRecord, step: Option<usize>, subject: Subject, bound: u64) {
        let threshold = Threshold {
            subject,
            ..Threshold::new(Metric::P95, Comparator::Less, Bound::Time(ms(bound)))
        };
        let scoped = ScopedThreshold::new(&record.start.definition, step, threshold);
        record.start.plan.thresholds.push(scoped);
    }

    #[test]
    fn a_row_is_graded_by_the_target_of_its_limit_else_of_the_step_and_has_no_part_in_other_grades()
    {
        let mut record = record();
        let card = Card::grade(&record, None);
        let grade = card.steps[1].inner[0].grade.unwrap();
        // With 500 ms all that were answered are in time, and what timed out is not.
        assert_eq!(
            (grade.target, grade.budget, grade.weight),
            (ms(500), 0.5, 0.0)
        );
        assert_eq!((grade.attempts, grade.failures), (100, 10));
        assert_eq!((grade.satisfied, grade.tolerating), (90, 0));
        assert_eq!((grade.score, grade.letter), (0.9, Letter::B));

        limit(&mut record, Some(1), Subject::Row("status".into()), 100);
        let limited = Card::grade(&record, None);
        let grade = limited.steps[1].inner[0].grade.unwrap();
        assert_eq!(
            (grade.target, grade.satisfied, grade.tolerating),
            (ms(100), 60, 30)
        );
        assert_eq!((grade.score, grade.letter), (0.75, Letter::C));
        assert_eq!(limited.grade.score, card.grade.score);
        assert_eq!(limited.steps[1].grade, card.steps[1].grade);

        record.regraded = Some(GradingDefaults {
            apdex: Some(ms(500)),
            ..GradingDefaults::default()
        });
        let regraded = Card::grade(&record, None);
        assert_eq!(regraded.steps[1].inner[0].grade.unwrap().target, ms(500));
    }

    #[test]
    fn a_row_of_streams_is_graded_by_their_first_events_as_its_step_is() {
        let mut record = sample::record(&["login", "follow"]);
        let row = record.windows.steady.steps[1].inner("GET /feed");
        for number in 0..100 {
            row.answered(200, ms(3_000), || "200 OK".into());
            let times = [ms(if number < 60 { 100 } else { 900 }), ms(3_000)];
            let stream = StreamSample::of_events(times.into_iter().map(|time| (time, false)));
            row.stream.get_or_insert_default().record(&stream, true);
        }
        let graded = |record: &ScenarioRecord| {
            let row = Card::grade(record, None).steps[1].inner.remove(0);
            let by_first_event = row.stream.unwrap().graded_by_first_event;
            row.grade
                .map(|grade| (grade.satisfied, grade.tolerating, by_first_event))
        };
        // T is 500 ms.
        assert_eq!(graded(&record), Some((60, 40, true)));
        record.start.definition.steps.to_mut()[1].stream = Some(StreamDef {
            graded_by_response: true,
            ..StreamDef::UNDECLARED
        });
        assert_eq!(graded(&record), Some((0, 0, false)));
        // A limit on the row is on its service time.
        record.start.definition.steps.to_mut()[1].stream = None;
        limit(
            &mut record,
            Some(1),
            Subject::Row("GET /feed".into()),
            4_000,
        );
        assert_eq!(graded(&record), Some((100, 0, false)));
    }

    #[test]
    fn limits_on_rows_and_tags_are_judged_and_say_what_they_are_of() {
        let mut record = record();
        limit(&mut record, Some(1), Subject::Row("status".into()), 100);
        limit(&mut record, Some(1), Subject::Row("statsu".into()), 100);
        limit(&mut record, None, Subject::Tag("api".into()), 5);
        let card = Card::grade(&record, None);
        let rows: Vec<_> = card.thresholds.iter().rev().take(3).rev().collect();
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.subject(), &*row.condition, row.passed))
            .collect();
        assert_eq!(
            shown,
            [
                ("wait", "row(status).p95 < 100 ms", false),
                ("wait", "row(statsu).p95 < 100 ms", false),
                ("tagged steps", "tag(api).p95 < 5 ms", false),
            ]
        );
        let reasons: Vec<_> = rows.iter().map(|row| ThresholdRow::reason(row)).collect();
        assert_eq!(
            reasons,
            [
                "p95 of `status` in `wait`: 300 ms, and must be < 100 ms",
                "p95 of `statsu` in `wait` has no samples, and must be < 100 ms",
                "p95 of the steps tagged `api`: 10.0 ms, and must be < 5 ms",
            ]
        );
        assert_eq!(
            card.remarks[0],
            "the threshold `row(statsu).p95 < 100 ms` is on a name that was never recorded: the step `wait` sends `status`"
        );
        // Failed requests of a step are no failures of it: the implied limit on errors stays.
        assert!(card.thresholds[0].implied);
    }
}

//! The requests of a step that sends for itself, a row per name.

use super::grade::StepGrade;
use super::step::{Quantiles, share_of};
use super::stream::StreamRow;
use crate::definition::{Part, Subject};
use crate::display;
use crate::metrics::{EndedStep, InnerTally, MessageCounts, StepTally, fold_ids};
use crate::plan::{Plan, StepGrading, tightest_tail_bound};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The names from which those that differ only in ids are one row: fewer may be kinds, such as pages or versions.
const MANY_NAMES: usize = 10;

/// A row of a step, or the sum of those whose names differ only in ids.
pub(super) struct RowTally<'a> {
    pub(super) tally: Cow<'a, InnerTally>,
    names: u64,
    has_more_names: bool,
    /// The units of work of streams that ended within the measured part.
    units: u64,
}

impl<'a> RowTally<'a> {
    /// Collects the rows of step number `step`. One with a limit stays on its own.
    pub(super) fn all(
        tally: &'a StepTally,
        ended: &EndedStep,
        plan: &Plan,
        step: usize,
    ) -> Vec<Self> {
        let is_limited = |row: &InnerTally| {
            let mut limits = plan
                .thresholds
                .iter()
                .filter(|limit| limit.step == Some(step));
            limits.any(
                |limit| matches!(&limit.threshold.subject, Subject::Row(name) if *name == row.name),
            )
        };
        let folded: Vec<Option<String>> = (tally.inner.iter())
            .map(|row| fold_ids(&row.name).filter(|_| !is_limited(row)))
            .collect();
        // A tally has such a row itself once it has too many names.
        let is_folded = |name: &String| tally.inner.iter().any(|row| row.name == *name);
        let is_shared = |name: &String| {
            let same = folded.iter().flatten().filter(|other| *other == name);
            is_folded(name) || same.count() >= MANY_NAMES
        };
        let mut rows: Vec<Self> = Vec::new();
        for (row, name) in tally.inner.iter().zip(&folded) {
            let units = ended.rows.iter().find(|ended| ended.name == row.name);
            let units = units.map_or(0, |row| row.units);
            let name = name.as_ref().filter(|name| is_shared(name));
            let same = rows.iter_mut().find(
                |known| matches!(&known.tally, Cow::Owned(tally) if Some(&tally.name) == name),
            );
            if let Some(sum) = same {
                sum.tally.to_mut().merge(row);
                sum.names += u64::from(row.name != sum.tally.name);
                sum.units += units;
                continue;
            }
            let renamed = |name: &String| {
                Cow::Owned(InnerTally {
                    name: name.clone(),
                    ..row.clone()
                })
            };
            rows.push(Self {
                tally: name.map_or(Cow::Borrowed(row), renamed),
                names: u64::from(name != Some(&row.name)),
                has_more_names: name.is_some_and(is_folded),
                units,
            });
        }
        rows
    }
}

/// The measurements of the requests of one name within a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InnerRow {
    /// The name that the step gave, else method and path; with `{..}` instead of ids if it has several names.
    pub name: String,
    /// The names that differ only in ids, where these are several; 1 otherwise.
    #[serde(skip_serializing_if = "is_one")]
    pub names: u64,
    /// True if there were more of them than are known one by one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_more_names: bool,
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

    /// Returns the number of names of a row that has several: `32 names and more`.
    pub fn describe_names(&self) -> Option<String> {
        let names = display::format_counted(self.names, "name");
        let more = if self.has_more_names { " and more" } else { "" };
        (self.names > 1 || self.has_more_names).then(|| format!("{names}{more}"))
    }

    /// A row without grade; rates are of so many seconds.
    pub(super) fn from_tally(row: &RowTally<'_>, seconds: Option<f64>) -> Self {
        let tally = &*row.tally;
        let units = (row.units, seconds);
        Self {
            name: tally.name.clone(),
            names: row.names,
            has_more_names: row.has_more_names,
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_one(count: &u64) -> bool {
    *count == 1
}

#[cfg(test)]
mod tests {
    use crate::card::{Card, InnerRow, ThresholdRow, sample};
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

    /// The rows of a step with so many names with ids, and one without.
    fn named_rows(users: u64, limited: Option<&str>) -> (Vec<InnerRow>, Vec<String>) {
        let mut record = sample::record(&["login", "wait"]);
        for user in 0..users {
            let row = record.windows.steady.steps[1].inner(&format!("/users/{user}"));
            let status = if user == 0 { 500 } else { 200 };
            row.answered(status, ms(user + 1), || "as an example".into());
        }
        let row = record.windows.steady.steps[1].inner("receipt");
        row.answered(200, ms(1), || "200 OK".into());
        if let Some(name) = limited {
            limit(
                &mut record,
                Some(1),
                Subject::Row(name.to_owned().into()),
                100,
            );
        }
        let card = Card::grade(&record, None);
        (card.steps[1].inner.clone(), card.remarks)
    }

    #[test]
    fn rows_whose_names_differ_only_in_ids_are_one_with_a_remark() {
        // Few may be kinds.
        let (rows, remarks) = named_rows(9, None);
        assert_eq!((rows.len(), remarks), (10, Vec::new()));
        let (rows, remarks) = named_rows(10, None);
        let row = &rows[0];
        assert_eq!((rows.len(), &*row.name, row.names), (2, "/users/{..}", 10));
        assert_eq!(
            (row.requests, row.failed, row.error_rate),
            (10, 1, Some(0.1))
        );
        assert_eq!(row.statuses, [(200, 9), (500, 1)].into());
        assert_eq!((row.service.samples, row.service.max), (10, Some(ms(10))));
        assert_eq!(row.describe_names().unwrap(), "10 names");
        assert_eq!(
            (&*rows[1].name, rows[1].describe_names()),
            ("receipt", None)
        );
        assert_eq!(
            remarks,
            [
                "the rows of `wait` have names with ids: `/users/{..}` here is the sum of 10 names. Name them without the id, \
              so that a limit can be on the row"
            ]
        );
    }

    #[test]
    fn more_names_than_a_step_has_rows_are_one_row_too() {
        let (rows, remarks) = named_rows(1_240, None);
        let shown: Vec<_> = rows.iter().map(|row| (&*row.name, row.requests)).collect();
        assert_eq!(shown, [("/users/{..}", 1_240), ("(others)", 1)]);
        assert_eq!(rows[0].describe_names().unwrap(), "32 names and more");
        assert!(
            remarks[0].contains("the sum of 32 names and more."),
            "{remarks:?}"
        );
        let json = serde_json::to_value(&rows).unwrap();
        assert_eq!(
            (&json[0]["names"], &json[0]["has_more_names"]),
            (&32.into(), &true.into())
        );
        assert!(json[1].get("names").is_none() && json[1].get("has_more_names").is_none());
    }

    #[test]
    fn a_row_with_a_limit_stays_on_its_own() {
        let (rows, _) = named_rows(12, Some("/users/3"));
        let shown: Vec<_> = rows.iter().map(|row| (&*row.name, row.names)).collect();
        assert_eq!(
            shown,
            [("/users/{..}", 11), ("/users/3", 1), ("receipt", 1)]
        );
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

//! Thresholds and what became of them.
//!
//! In a scenario of one step a threshold on the time of the journey is on the step's response time, so that
//! it is of the same figure as the percentiles beside it.

use super::generator::Generator;
use super::own_delay::OwnDelays;
use crate::definition::{Bound, Metric, Part, ScenarioDef, Subject, micros};
use crate::display;
use crate::metrics::{Aggregate, Broken, Tally};
pub(super) use crate::metrics::{journey_error_rate, sent};
use crate::plan::{Plan, ScopedThreshold};
use crate::record::ScenarioRecord;
use crate::schedule::Schedule;
use crate::shard::Shard;
use serde::Serialize;
use std::time::Duration;

/// A threshold and its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThresholdRow {
    /// The step or the group it is about; `None` for the journey. What is declared on the time of a journey of one
    /// step is about that step.
    pub step: Option<String>,
    /// The tag of the steps that it is about, if it is about such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The name of the requests of the step that it is about, if it is about such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// The condition: `p95 < 300 ms`, `tag(api).p95 < 300 ms`.
    pub condition: String,
    /// The metric: `p95`.
    pub metric: Metric,
    /// The bound in microseconds, as a share of one, per second, in bytes per second, or as a number.
    pub bound: f64,
    /// The measured value, in the unit of the bound; `None` without samples.
    pub actual: Option<f64>,
    /// The measured value in words.
    pub actual_words: String,
    /// The number of samples behind it: times, executions, requests or iterations.
    pub samples: u64,
    /// True if the condition holds; false without samples.
    pub passed: bool,
    /// What the generator itself added to the value at most, where the condition would hold without: then it says nothing
    /// about the target.
    #[serde(
        rename = "own_delay_us",
        with = "micros::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub own_delay: Option<Duration>,
    /// Implied, not declared.
    pub implied: bool,
}

impl ThresholdRow {
    /// Evaluates a threshold over the measured part; `seconds` is what rates divide by.
    pub(super) fn from_threshold(
        scoped: &ScopedThreshold,
        tally: &Tally,
        scenario: &ScenarioDef,
        seconds: Option<f64>,
        shard: Shard,
    ) -> Self {
        let measured = Aggregate::from_threshold(scoped, tally, seconds, shard);
        Self {
            samples: measured.samples,
            ..Self::measured(scoped, scenario, measured.value)
        }
    }

    /// Evaluates the thresholds of a run that has ended. Where a limit that was set is judged, where no journey ended
    /// and where journeys measured nothing, one that nobody set does not ask for samples.
    pub(super) fn all(record: &ScenarioRecord, tally: &Tally, seconds: Option<f64>) -> Vec<Self> {
        let (plan, scenario) = (&record.start.plan, &record.start.definition);
        let evaluate = |scoped| Self::from_threshold(scoped, tally, scenario, seconds, plan.shard);
        let mut rows: Vec<Self> = plan.thresholds.iter().map(evaluate).collect();
        if !record.start.validity_off {
            let generator = Generator::from_record(record);
            let delays = OwnDelays::from_record(record, &generator);
            for row in &mut rows {
                row.excuse(&delays);
            }
        }
        let is_judged = rows.iter().any(|row| !row.implied && row.actual.is_some());
        let windows = &record.windows;
        let ended = |window: &Tally| window.journey.ok + window.journey.failed > 0;
        let has_ended = ended(&windows.ramp) || ended(&windows.steady);
        if is_judged || !has_ended || !windows.have_measured_steps() {
            rows.retain(|row| !row.implied || row.actual.is_some());
        }
        rows
    }

    /// Evaluates the thresholds of a run that goes on, over the steady part so far.
    pub fn so_far(record: &ScenarioRecord) -> Vec<Self> {
        let (plan, scenario) = (&record.start.plan, &record.start.definition);
        let elapsed = Duration::from_micros(record.end.elapsed_us);
        let steady = Schedule::new(&plan.load).steady_part(elapsed);
        let seconds = (!steady.is_zero()).then_some(steady.as_secs_f64());
        let evaluate = |scoped| {
            Self::from_threshold(
                scoped,
                &record.windows.steady,
                scenario,
                seconds,
                plan.shard,
            )
        };
        plan.thresholds.iter().map(evaluate).collect()
    }

    /// A threshold of a scenario whose metric came to `actual`.
    fn measured(scoped: &ScopedThreshold, scenario: &ScenarioDef, actual: Option<f64>) -> Self {
        let threshold = &scoped.threshold;
        let of_requests = threshold.subject.is_whole()
            && matches!(
                threshold.metric,
                Metric::Time(Part::Whole | Part::Failed, _)
            );
        let (tag, row) = match &threshold.subject {
            Subject::Whole => (None, None),
            Subject::Tag(tag) => (Some(tag.to_string()), None),
            Subject::Row(row) => (None, Some(row.to_string())),
        };
        let bound = threshold.bound.number();
        let is_alone = scenario.steps.len() == 1 && scoped.group.is_none();
        let step = scoped
            .step
            .or_else(|| (of_requests && is_alone).then_some(0));
        let step = step.map(|step| scenario.steps.get(step).map(|step| &step.name));
        let group = scoped.group.map(|group| scenario.groups.get(group));
        let group = group.map(|group| group.map(|group| &group.name));
        Self {
            step: step
                .or(group)
                .map(|name| name.map_or_else(|| "?".to_owned(), ToString::to_string)),
            tag,
            row,
            condition: display::format_threshold(threshold),
            metric: threshold.metric.clone(),
            bound,
            actual,
            actual_words: actual.map_or_else(
                || "no samples".to_owned(),
                |actual| format_measured(threshold.bound, actual),
            ),
            samples: 0,
            own_delay: None,
            passed: actual.is_some_and(|actual| threshold.comparison.holds(actual, bound)),
            implied: scoped.implied,
        }
    }

    /// Notes that a condition on times is broken by the generator.
    fn excuse(&mut self, delays: &OwnDelays<'_>) {
        let Some(actual) = self.actual.filter(|_| !self.passed) else {
            return;
        };
        let delay = delays.of(&self.metric);
        self.own_delay = delay.filter(|delay| actual - delay.as_nanos() as f64 / 1e3 < self.bound);
    }

    /// Names the step, steps or journey that it is about, for a list of conditions.
    pub fn subject(&self) -> &str {
        match (&self.step, &self.tag) {
            (Some(step), _) => step,
            (None, Some(_)) => "tagged steps",
            (None, None) => "journey",
        }
    }

    /// Explains the failure: `p95 of login is 412 ms, and must be < 300 ms`.
    pub fn reason(&self) -> String {
        let of_step = self.step.as_deref().map(display::quote_name);
        let of = match (&of_step, &self.row, &self.tag) {
            _ if self.metric.is_own() => String::new(),
            (Some(step), Some(row), _) => format!(" of {} in {step}", display::quote_name(row)),
            (Some(step), None, _) => format!(" of {step}"),
            (None, _, Some(tag)) => format!(" of the steps tagged {}", display::quote_name(tag)),
            (None, ..) => " of the journey".to_owned(),
        };
        let name = &self.metric;
        let must = self.condition.rsplit_once(&format!("{name} "));
        let must = must.map_or(&*self.condition, |(_, must)| must);
        match self.actual {
            Some(_) => {
                let own = self.own_delay.map_or_else(String::new, |delay| {
                    let added = display::format_duration(delay);
                    format!(
                        "; the generator added up to {added}, so this is not a verdict on the target"
                    )
                });
                format!("{name}{of}: {}, and must be {must}{own}", self.actual_words)
            }
            None => format!("{name}{of} has no samples, and must be {must}"),
        }
    }
}

/// Formats a measured value in the unit of the bound.
fn format_measured(bound: Bound, actual: f64) -> String {
    match bound {
        Bound::Time(_) => {
            display::format_duration(Duration::from_nanos((actual * 1e3).round() as u64))
        }
        Bound::Ratio(_) => display::format_percent(actual),
        Bound::PerSecond(_) => display::format_rate(actual),
        Bound::BytesPerSecond(_) => display::format_throughput(actual),
        Bound::Count(_) => display::format_count(actual as u64),
        Bound::Number(_) => display::format_number(actual),
    }
}

/// Explains the broken threshold that ends a run: `errors of the journey: 7.1 %, and must be < 5 %`.
pub fn describe_broken(broken: &Broken, plan: &Plan, scenario: &ScenarioDef) -> String {
    let scoped = plan.thresholds.get(broken.threshold);
    scoped.map_or_else(
        || "a threshold".to_owned(),
        |scoped| ThresholdRow::measured(scoped, scenario, Some(broken.actual)).reason(),
    )
}

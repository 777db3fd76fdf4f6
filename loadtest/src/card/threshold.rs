//! Thresholds and what became of them.
//!
//! In a scenario of one step a threshold on the time of the journey is on the step's response time, so that
//! it is of the same figure as the percentiles beside it.

use super::view;
use crate::definition::{Bound, Metric};
use crate::metrics::{Histogram, StepTally, Tally};
use crate::plan::ScopedThreshold;
use serde::Serialize;

/// A threshold and its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThresholdRow {
    /// The step it is about; `None` for the journey. What is declared on the time of a journey of one
    /// step is about that step.
    pub step: Option<String>,
    /// The condition: `p95 < 300 ms`.
    pub condition: String,
    /// The metric: `p95`.
    pub metric: Metric,
    /// The bound in microseconds, as a share of one, or per second.
    pub bound: f64,
    /// What was measured, in the unit of the bound; `None` without samples.
    pub actual: Option<f64>,
    /// What was measured, in words.
    pub actual_words: String,
    /// Whether the condition holds; never without samples.
    pub passed: bool,
    /// Nobody declared it.
    pub implied: bool,
}

impl ThresholdRow {
    /// Evaluates a threshold over the measured part; `seconds` is what rates divide by.
    pub(super) fn of(
        scoped: &ScopedThreshold,
        tally: &Tally,
        names: &[&str],
        seconds: Option<f64>,
    ) -> Self {
        let threshold = &scoped.threshold;
        let actual = match scoped.step {
            None => journey(threshold.metric, tally, seconds),
            Some(step) => of_step(threshold.metric, tally, step, seconds),
        };
        let timed = matches!(threshold.bound, Bound::Time(_));
        let bound = match threshold.bound {
            Bound::Time(time) => time.as_nanos() as f64 / 1e3,
            Bound::Ratio(number) | Bound::PerSecond(number) => number,
        };
        Self {
            step: scoped
                .step
                .or_else(|| (timed && only(tally).is_some()).then_some(0))
                .map(|step| names.get(step).copied().unwrap_or("?").to_owned()),
            condition: view::threshold(threshold),
            metric: threshold.metric,
            bound,
            actual,
            actual_words: actual.map_or_else(
                || "no samples".to_owned(),
                |actual| match threshold.bound {
                    Bound::Time(_) => {
                        let ns = (actual * 1e3).round() as u64;
                        view::duration(std::time::Duration::from_nanos(ns))
                    }
                    Bound::Ratio(_) => view::percent(actual),
                    Bound::PerSecond(_) => view::rate(actual),
                },
            ),
            passed: actual.is_some_and(|actual| threshold.comparison.holds(actual, bound)),
            implied: scoped.implied,
        }
    }

    /// Why it failed: `p95 of login is 412 ms, and must be < 300 ms`.
    pub fn reason(&self) -> String {
        let of = self
            .step
            .as_deref()
            .map_or_else(|| "the journey".to_owned(), |step| format!("`{step}`"));
        let name = self.metric.name();
        let must = self.condition.strip_prefix(name).unwrap_or_default().trim();
        match self.actual {
            Some(_) => format!("{name} of {of}: {}, and must be {must}", self.actual_words),
            None => format!("{name} of {of} has no samples, and must be {must}"),
        }
    }
}

fn journey(metric: Metric, tally: &Tally, seconds: Option<f64>) -> Option<f64> {
    let journey = &tally.journey;
    let finished = journey.ok + journey.failed;
    match metric {
        Metric::Errors => journey_error_rate(tally),
        Metric::Checks => {
            let passed = tally.steps.iter().map(|step| step.checks_passed).sum();
            let failed = tally.steps.iter().map(|step| step.checks_failed).sum();
            share(passed, failed)
        }
        Metric::Rps => match only(tally) {
            Some(step) => request_rate(sent(step), seconds),
            None => seconds
                .filter(|_| finished + journey.dropped > 0)
                .map(|seconds| finished as f64 / seconds),
        },
        _ => time(metric, times(tally)),
    }
}

fn of_step(metric: Metric, tally: &Tally, step: usize, seconds: Option<f64>) -> Option<f64> {
    let step = tally.steps.get(step)?;
    match metric {
        Metric::Errors => share(step.failed, step.executed.saturating_sub(step.failed)),
        Metric::Checks => share(step.checks_passed, step.checks_failed),
        Metric::Rps => request_rate(sent(step), seconds),
        _ => time(metric, &step.response),
    }
}

/// The times in large type: those of ok journeys, or of the response of a single step.
pub(super) fn times(tally: &Tally) -> &Histogram {
    only(tally).map_or(&tally.journey.time, |step| &step.response)
}

/// The step of a scenario that has only one.
fn only(tally: &Tally) -> Option<&StepTally> {
    match &tally.steps[..] {
        [step] => Some(step),
        _ => None,
    }
}

/// Executions of a step that sent something: those with a time, as far as there were requests. One that
/// had an invalid value, or whose code panicked, has no time; one that got no connection, no request.
pub(super) fn sent(step: &StepTally) -> u64 {
    (step.response.count() + step.failed_response.count()).min(step.requests)
}

/// A number of executions that sent something as a rate; where none did, there is no rate of requests.
pub(super) fn request_rate(sent: u64, seconds: Option<f64>) -> Option<f64> {
    seconds
        .filter(|_| sent > 0)
        .map(|seconds| sent as f64 / seconds)
}

/// Failed and dropped of all finished and dropped: a dropped iteration is a failed journey.
pub(super) fn journey_error_rate(tally: &Tally) -> Option<f64> {
    let journey = &tally.journey;
    share(journey.failed + journey.dropped, journey.ok)
}

fn share(part: u64, rest: u64) -> Option<f64> {
    super::step::ratio(part, part + rest)
}

/// In microseconds.
fn time(metric: Metric, times: &Histogram) -> Option<f64> {
    let time = match metric {
        Metric::Max => times.max(),
        Metric::Mean => times.mean(),
        _ => times.quantile(metric.quantile()?),
    };
    time.map(|time| time.as_nanos() as f64 / 1e3)
}

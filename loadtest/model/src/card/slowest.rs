//! The slowest journeys, step by step: what a waterfall shows.

use crate::definition::{Load, Shape};
use crate::metrics::Number;
use crate::metrics::{SlowJourney, Slowest};
use crate::trace::TraceId;
use serde::Serialize;

/// A slow iteration; times are in microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlowRow {
    /// The number of the iteration over all users.
    pub iteration: u64,
    /// The same as `debug --iteration` takes it to run it again: `42`, or `3.12` in a load of users, each of
    /// whom counts its own.
    pub number: String,
    /// The time it was due, from the start of the load.
    pub due_us: u64,
    /// From then to its start.
    pub delay_us: u64,
    /// Journey time: from when it was to start to its end, less think time.
    pub time_us: u64,
    /// The part of the journey time in none of its requests: that of the scenario's own code, such as functions, checks
    /// and the reading of answers, and the wait for a thread of the generator.
    pub own_us: u64,
    /// True if every step was ok and none was skipped for want of a value.
    pub ok: bool,
    /// Its trace, if it is sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// The steps that were executed, in the order they ran.
    pub steps: Vec<SlowStepRow>,
}

/// An executed step of a slow iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlowStepRow {
    /// The zero-based number of the step.
    pub step: usize,
    /// Its name.
    pub name: String,
    /// The time it began, from when the iteration was due; think time included.
    pub begin_us: u64,
    /// Its service time.
    pub time_us: u64,
    /// True if it was ok.
    pub ok: bool,
}

impl SlowRow {
    /// All that are kept, the slowest first.
    pub(super) fn all(slowest: &Slowest, names: &[&str], load: &Load) -> Vec<Self> {
        let of_users = matches!(load.shape, Shape::Users { .. } | Shape::UserStages { .. });
        let row = |journey: &SlowJourney| Self {
            iteration: journey.iteration,
            number: if of_users {
                Number::of_user(journey.iteration)
            } else {
                Number {
                    user: None,
                    iteration: journey.iteration,
                }
            }
            .to_string(),
            due_us: journey.due_us,
            delay_us: journey.delay_us,
            time_us: journey.time_us,
            own_us: own_time(journey),
            ok: journey.ok,
            trace_id: journey.trace_id,
            steps: journey
                .steps
                .iter()
                .map(|step| SlowStepRow {
                    step: step.step,
                    name: names.get(step.step).copied().unwrap_or("?").to_owned(),
                    begin_us: step.begin_us,
                    time_us: step.time_us,
                    ok: step.ok,
                })
                .collect(),
        };
        slowest.journeys().iter().map(row).collect()
    }
}

/// Returns the time of a journey that is neither delay nor service time of a step, in microseconds.
fn own_time(journey: &SlowJourney) -> u64 {
    let service = journey.steps.iter().map(|step| step.time_us);
    let told = service.fold(journey.delay_us, u64::saturating_add);
    journey.time_us.saturating_sub(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::SlowStep;
    use std::time::Duration;

    #[test]
    fn the_time_of_own_code_is_in_no_request() {
        let step = |time_us| SlowStep {
            time_us,
            ..SlowStep::default()
        };
        let journey = SlowJourney {
            delay_us: 100,
            time_us: 1_000,
            steps: vec![step(200), step(300)],
            ..SlowJourney::default()
        };
        assert_eq!(own_time(&journey), 400);
    }

    #[test]
    fn its_number_is_that_which_debug_takes() {
        let mut slowest = Slowest::default();
        slowest.add(SlowJourney {
            iteration: 3 * (1 << 32) + 12,
            ..SlowJourney::default()
        });
        let (ramp_up, duration) = (Duration::ZERO, Duration::from_secs(1));
        let number = |shape| {
            SlowRow::all(&slowest, &[], &Load::new(shape))[0]
                .number
                .clone()
        };
        let users = 5;
        assert_eq!(
            number(Shape::Users {
                users,
                ramp_up,
                duration
            }),
            "3.12"
        );
        let count = u64::MAX;
        let fixed = Load::iterations(count, users).shape;
        assert_eq!(number(fixed), "12884901900");
    }
}

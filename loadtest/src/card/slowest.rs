//! The slowest journeys, step by step: what a waterfall shows.

use crate::metrics::{SlowJourney, Slowest};
use serde::Serialize;

/// One of the slowest journeys. Times are in microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlowRow {
    /// The number of the iteration: `debug --iteration` runs it again.
    pub iteration: u64,
    /// When it was to start, from the start of the load.
    pub due_us: u64,
    /// From then to its start.
    pub delay_us: u64,
    /// Journey time: from when it was to start to its end, less think time.
    pub time_us: u64,
    /// Whether every step was ok and none was skipped for want of a value.
    pub ok: bool,
    /// The steps that were executed, in the order they ran.
    pub steps: Vec<SlowStepRow>,
}

/// One executed step of such a journey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlowStepRow {
    /// The zero-based number of the step.
    pub step: usize,
    /// Its name.
    pub name: String,
    /// When it began, from when the journey was to start; think time is in it.
    pub begin_us: u64,
    /// Its service time.
    pub time_us: u64,
    /// Whether it was ok.
    pub ok: bool,
}

impl SlowRow {
    /// All that are kept, the slowest first.
    pub(super) fn all(slowest: &Slowest, names: &[&str]) -> Vec<Self> {
        let row = |journey: &SlowJourney| Self {
            iteration: journey.iteration,
            due_us: journey.due_us,
            delay_us: journey.delay_us,
            time_us: journey.time_us,
            ok: journey.ok,
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

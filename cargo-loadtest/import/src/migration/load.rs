//! Loads of load tests of other tools.

use loadtest_model::definition::{Load, Stage};
use std::time::Duration;

/// The times of a stage that are written, in seconds.
const TIMES: std::ops::Range<f64> = 0.001..1e8;

/// Makes a load of stages - from, to, and seconds - unless all of it is nothing. A stage without a time is a jump.
pub(crate) fn load_of_stages(course: &[(f64, f64, f64)], is_rate: bool) -> Option<Load> {
    let stages = course
        .iter()
        .filter(|(.., seconds)| TIMES.contains(seconds));
    let stages = stages.map(|(from, to, seconds)| {
        let duration = Duration::from_secs_f64(*seconds);
        Stage::new(round(*from), round(*to), duration)
    });
    let stages: Vec<Stage> = stages.collect();
    let is_empty = stages
        .iter()
        .all(|stage| stage.from == 0.0 && stage.to == 0.0);
    (!is_empty).then(|| match stages {
        stages if is_rate => Load::rate_stages(stages),
        stages => Load::user_stages(stages),
    })
}

/// Rounds a rate to what is worth writing.
pub(crate) fn round(rate: f64) -> f64 {
    (rate * 1e4).round() / 1e4
}

//! Weights: how often each step was to be drawn, and how often it was.

use super::step::share_of;
use crate::definition::StepDef;
use crate::metrics::StepTally;
use serde::Serialize;

/// The standard normal quantile of a two-sided interval of 95 %.
const Z: f64 = 1.96;

/// The weight of one step, configured and observed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightRow {
    /// The step.
    pub step: String,
    /// The probability declared.
    pub configured: f64,
    /// Drawn of all draws; `None` without any.
    pub observed: Option<f64>,
    /// The probabilities that explain the draws with a confidence of 95 % (Wilson's score interval).
    pub interval: Option<(f64, f64)>,
    /// The number of draws.
    pub draws: u64,
    /// True if the declared probability lies in the interval; by chance it does not in one of twenty cases.
    pub plausible: bool,
}

impl WeightRow {
    pub(super) fn from_step(step: &StepDef, tally: &StepTally) -> Self {
        // a step that leaves itself out was drawn before
        let ran = tally.executed
            + tally.cancelled
            + tally.left_out
            + tally.skipped
            + tally.skipped_not_drawn;
        let draws = ran + tally.not_drawn;
        let interval = wilson_interval(ran, draws);
        Self {
            step: step.name.to_string(),
            configured: step.weight,
            observed: share_of(ran, draws),
            interval,
            draws,
            plausible: interval
                .is_none_or(|(low, high)| (low - 1e-9..=high + 1e-9).contains(&step.weight)),
        }
    }
}

/// Wilson's score interval of a proportion at 95 %.
fn wilson_interval(hits: u64, draws: u64) -> Option<(f64, f64)> {
    let share = share_of(hits, draws)?;
    let n = draws as f64;
    let spread = Z * Z / n;
    let centre = (share + spread / 2.0) / (1.0 + spread);
    let half = Z * (share * (1.0 - share) / n + spread / (4.0 * n)).sqrt() / (1.0 + spread);
    Some(((centre - half).max(0.0), (centre + half).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_leaves_itself_out_was_drawn() {
        let step = StepDef {
            weight: 0.5,
            ..StepDef::new("buy")
        };
        let tally = StepTally {
            executed: 30,
            left_out: 20,
            not_drawn: 50,
            kept: 900,
            ..StepTally::default()
        };
        let row = WeightRow::from_step(&step, &tally);
        assert_eq!((row.observed, row.draws), (Some(0.5), 100));
        assert!(row.plausible);
    }

    #[test]
    fn the_interval_is_wilsons() {
        // Newcombe 1998, table I, 81 of 263 by method 3: 0.2553 to 0.3662.
        let (low, high) = wilson_interval(81, 263).unwrap();
        assert!((low - 0.2553).abs() < 5e-5, "{low}");
        assert!((high - 0.3662).abs() < 5e-5, "{high}");
        assert_eq!(wilson_interval(0, 0), None);
    }
}

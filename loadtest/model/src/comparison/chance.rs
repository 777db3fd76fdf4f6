//! How far chance alone takes a figure: normal quantiles, shares of few, runs that differ of themselves.

/// The standard deviation, as a share, by which times of the same system differ from run to run where
/// nothing more is known: machines, caches and neighbours are never twice the same.
const FROM_RUN_TO_RUN: f64 = 0.03;
/// The number of differences between runs that a prior is worth, against those that a baseline itself shows.
const WORTH: f64 = 4.0;

/// The standard normal quantile that is exceeded with the probability `beyond`, up to a half.
///
/// Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.2.23; wrong by less than 0.000 45.
pub(super) fn normal_quantile(beyond: f64) -> f64 {
    let t = (-2.0 * beyond.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

/// So many of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) of: u64,
    pub(super) count: u64,
}

impl Share {
    /// Returns the interval of the share, `z` standard deviations around (Wilson, "Probable inference, the law of
    /// succession, and statistical inference", 1927). None of many may still be some.
    fn interval(self, z: f64) -> (f64, f64) {
        let all = self.of as f64;
        let share = self.share();
        let centre = share + z * z / (2.0 * all);
        let around = z * (share * (1.0 - share) / all + z * z / (4.0 * all * all)).sqrt();
        let scale = 1.0 + z * z / all;
        ((centre - around) / scale, (centre + around) / scale)
    }

    fn share(self) -> f64 {
        self.count as f64 / self.of as f64
    }

    /// Returns how far below and above the observed one the difference from `self` to `new` may be, `z` standard
    /// deviations around (Newcombe, "Interval estimation for the difference between independent proportions", 1998,
    /// method 10).
    pub(super) fn around_difference(self, new: Self, z: f64) -> (f64, f64) {
        let ((low, high), (new_low, new_high)) = (self.interval(z), new.interval(z));
        let below = (new.share() - new_low).hypot(high - self.share());
        let above = (new_high - new.share()).hypot(self.share() - low);
        (below, above)
    }
}

/// The standard deviation from run to run, on a scale of logarithms: what the figures of the runs of a
/// baseline show beyond the chance within each (`within`, a variance), held to what is usual the more the
/// fewer they are.
pub(super) fn from_run_to_run(figures: &[f64], within: f64) -> f64 {
    let others = figures.len() as f64 - 1.0;
    let mean = figures.iter().sum::<f64>() / figures.len() as f64;
    let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
    let seen = (squares - others * within).max(0.0);
    ((WORTH * FROM_RUN_TO_RUN.powi(2) + seen) / (WORTH + others)).sqrt()
}

/// The variance of values.
pub(super) fn variance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (beyond, quantile) in [
            (0.05, 1.6449),
            (0.025, 1.96),
            (0.001, 3.0902),
            (1e-5, 4.2649),
        ] {
            let found = normal_quantile(beyond);
            assert!((found - quantile).abs() < 5e-4, "{beyond}: {found}");
        }
    }

    /// Newcombe's paper, table II: the rows (a) 56/70 - 48/80 and (h) 10/10 - 0/10.
    #[test]
    fn differences_of_shares_are_those_of_the_paper() {
        let interval = |(count, of), (from_count, from_of)| {
            let (from, to) = (
                Share {
                    of: from_of,
                    count: from_count,
                },
                Share { of, count },
            );
            let (below, above) = from.around_difference(to, 1.959_96);
            let difference = to.share() - from.share();
            (difference - below, difference + above)
        };
        let (low, high) = interval((56, 70), (48, 80));
        assert!(
            (low - 0.0524).abs() < 1e-4 && (high - 0.3339).abs() < 1e-4,
            "{low} {high}"
        );
        let (low, high) = interval((10, 10), (0, 10));
        assert!(
            (low - 0.6075).abs() < 1e-4 && (high - 1.0).abs() < 1e-9,
            "{low} {high}"
        );
    }

    #[test]
    fn runs_that_differ_much_of_themselves_are_believed() {
        assert!((from_run_to_run(&[7.0], 0.0) - 0.03).abs() < 1e-12);
        let quiet = from_run_to_run(&[7.0, 7.0, 7.0, 7.0, 7.0], 0.0);
        assert!((0.02..0.03).contains(&quiet), "{quiet}");
        let wild = from_run_to_run(&[7.0, 7.2, 6.9, 7.15, 6.85], 0.0);
        assert!((0.09..0.16).contains(&wild), "{wild}");
        let by_chance = from_run_to_run(&[7.0, 7.2, 6.9, 7.15, 6.85], 0.1);
        assert!(by_chance < 0.03, "{by_chance}");
    }
}

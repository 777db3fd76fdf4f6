//! One figure beside that of a baseline, and what became of it.
//!
//! Worse or better is what changed by more than the margin, and by more than chance would: within the runs,
//! from run to run, and among as many figures as are looked at.

use super::bootstrap::Drawn;
use super::chance::{Share, from_run_to_run, normal_quantile, variance};
use super::series::{Figures, Measured, QUANTILES};
use serde::{Deserialize, Serialize};

/// The standard normal quantile of a one-sided interval of 95 %.
const Z: f64 = 1.645;
/// The same of 90 %: how surely the smallest change that a run could have seen is seen.
const POWER: f64 = 1.282;
/// The ends of an interval of 90 %, as shares of the draws.
const INTERVAL: (f64, f64) = (0.05, 0.95);
/// With fewer runs of a baseline than this, the margin is the wider one.
const SEVERAL: usize = 3;
/// The probability that any figure of an unchanged system seems to have become worse. It is less than the promised
/// 2 %, since draws of few blocks have longer tails than the normal distribution.
const FAMILY: f64 = 0.01;
/// The factor by which chance is wider than the draws: they do not show what hangs together for longer than a block
/// (measured, with `benches/regression.rs`).
const WIDER: f64 = 1.25;
/// Figures that differ of themselves: times - of which percentiles go together -, and errors.
const KINDS: f64 = 2.0;
/// The number of samples that must be beyond a quantile, and the number needed at all.
const BEYOND: f64 = 10.0;
const LEAST: u64 = 100;

/// A figure that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The median of response time, or of journey time.
    P50,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// Failed of all, a share of one.
    Errors,
    /// Iterations or executions that ended, per second.
    Rps,
    /// The 95th percentile of the time to the first event of a stream.
    #[serde(rename = "first_event.p95")]
    FirstEventP95,
    /// The 95th percentile of the time for a unit of a stream.
    #[serde(rename = "per_unit.p95")]
    PerUnitP95,
    /// Executions for which all of `good(..)` holds, a share of one.
    Good,
}

/// The change of one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Worse by more than the margin, beyond chance.
    Regressed,
    /// Better by more than the margin, beyond chance.
    Improved,
    /// Neither, beyond chance: the same within the margin.
    Unchanged,
    /// The runs are too short or too noisy to tell.
    Inconclusive,
}

/// The smallest change that counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Margin {
    /// The margin of times and rates, a share of the baseline's.
    pub relative: f64,
    /// Times that differ by less are the same, in microseconds.
    pub time_us: u64,
    /// The margin of the share of errors, in shares of one.
    pub errors: f64,
}

/// A figure of one step, or of the whole iteration, beside that of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The figure.
    pub figure: Figure,
    /// The value of the baseline (the geometric mean of its runs), in microseconds, shares of one or per second.
    pub base: f64,
    /// The value of the new run, in the same unit.
    pub new: f64,
    /// The change: of times and rates a share of the baseline's, of errors the difference.
    pub change: f64,
    /// The interval of the change with a confidence of 90 %.
    pub interval: (f64, f64),
    /// The smallest worsening that these runs would have shown nine times of ten.
    pub detectable: f64,
    /// The verdict on it.
    pub verdict: Change,
    /// The number of samples each run needs for the figure, if one of them has fewer; inconclusive then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<u64>,
}

impl Margin {
    /// The margin for a baseline of so many runs: their mean is known the better the more there are.
    pub fn for_runs(runs: usize) -> Self {
        Self {
            relative: if runs < SEVERAL { 0.10 } else { 0.07 },
            time_us: 300,
            errors: 0.005,
        }
    }

    /// By how much a figure must differ to count, as [`Compared::change`] has it: a time of little more than
    /// nothing by a larger share of it.
    pub fn around(&self, compared: &Compared) -> f64 {
        match compared.figure {
            figure if figure.is_time() => self.relative.max(self.time_us as f64 / compared.base),
            Figure::Errors | Figure::Good => self.errors,
            _ => self.relative,
        }
    }
}

/// The settings that all figures of a comparison share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common {
    pub(super) margin: Margin,
    /// The number of steps that are compared. The whole iteration is their sum, and no case of its own.
    pub(super) steps: usize,
    /// The number of figures that steps have besides, by their streams and by what is good.
    pub(super) further: usize,
    /// True if users wait for answers, so that slower answers are fewer.
    pub(super) is_closed: bool,
}

impl Common {
    /// Returns the number of standard deviations that chance gets, among so many figures (Bonferroni).
    fn chance(&self) -> f64 {
        let steps = self.steps.max(1) as f64;
        normal_quantile(FAMILY / (KINDS * steps + self.further as f64))
    }
}

/// All figures of what was measured of the journey or a step that the runs have.
pub(super) fn compare_figures(
    measured: Measured,
    base: &[Drawn],
    new: &Drawn,
    common: &Common,
) -> Vec<Compared> {
    let all: &[Figure] = match measured {
        Measured::Whole => &[
            Figure::P50,
            Figure::P95,
            Figure::P99,
            Figure::Errors,
            Figure::Rps,
        ],
        Measured::FirstEvent => &[Figure::FirstEventP95],
        Measured::PerUnit => &[Figure::PerUnitP95],
        Measured::Good => &[Figure::Good],
    };
    all.iter()
        .copied()
        .filter_map(|figure| Compared::compare_figure(figure, base, new, common))
        .collect()
}

impl Compared {
    fn compare_figure(
        figure: Figure,
        base: &[Drawn],
        new: &Drawn,
        common: &Common,
    ) -> Option<Self> {
        let was: Vec<f64> = base.iter().map(|run| figure.of(&run.figures)).collect();
        let mean =
            |of: &dyn Fn(&Drawn) -> f64| base.iter().map(of).sum::<f64>() / base.len() as f64;
        let (from, to) = (
            mean(&|run| figure.of(&run.figures)),
            figure.of(&new.figures),
        );
        let difference = to - from;
        let mut draws: Vec<f64> = (0..new.draws.len())
            .map(|i| figure.of(&new.draws[i]) - mean(&|run| figure.of(&run.draws[i])))
            .filter(|difference| difference.is_finite())
            .collect();
        // Of what was never done, a rate tells nothing.
        let is_idle = figure == Figure::Rps && base.iter().any(|run| run.counts.ended == 0);
        if !difference.is_finite() || draws.is_empty() || is_idle {
            return None;
        }
        draws.sort_unstable_by(f64::total_cmp);
        let limit = figure.limit(from, &common.margin);
        let within = variance(&draws) * WIDER.powi(2);
        let between = figure.between(base, &was, common);
        let deviation = (within + between * (1.0 + 1.0 / base.len() as f64)).sqrt();
        let at = |share: f64| draws[((draws.len() - 1) as f64 * share).round() as usize];
        // As far as the draws go; and so far that chance among all figures stays within the margin.
        let chance = common.chance();
        let (mut below, mut above) = (
            (difference - at(INTERVAL.0)).max(chance * deviation - limit),
            (at(INTERVAL.1) - difference).max(chance * deviation - limit),
        );
        if matches!(figure, Figure::Errors | Figure::Good) {
            let (before, now) = (failed_share(base), failed_share(std::slice::from_ref(new)));
            for (z, within_margin) in [(Z, 0.0), (chance, limit)] {
                let around = before.around_difference(now, z);
                below = below.max(around.0 - within_margin);
                above = above.max(around.1 - within_margin);
            }
        }
        let interval = (difference - below, difference + above);
        let shown = (figure.change(interval.0), figure.change(interval.1));
        // Of rates less is worse.
        let (sign, worse) = if figure == Figure::Rps {
            (-1.0, (-interval.1, -interval.0))
        } else {
            (1.0, interval)
        };
        let needs = figure.needs();
        let has = |run: &Drawn| figure.has(run) >= needs;
        // Of a rate it is enough that there was one.
        let is_enough = base.iter().all(has) && (figure == Figure::Rps || has(new));
        let verdict = if !is_enough {
            Change::Inconclusive
        } else if worse.0 > limit {
            Change::Regressed
        } else if worse.1 < -limit {
            Change::Improved
        } else if worse.0 > -limit && worse.1 < limit {
            Change::Unchanged
        } else {
            Change::Inconclusive
        };
        let uncertain = if sign < 0.0 { above } else { below };
        Some(Self {
            figure,
            base: figure.shown(from),
            new: figure.shown(to),
            change: figure.change(difference),
            // Where the change is turned round, so are its ends.
            interval: (shown.0.min(shown.1), shown.0.max(shown.1)),
            detectable: figure.change(sign * (limit + uncertain + POWER * deviation)),
            verdict,
            needs: (!is_enough).then_some(needs),
        })
    }
}

/// Returns the share that failed in all of the runs.
fn failed_share(runs: &[Drawn]) -> Share {
    let sum = |of: fn(&Drawn) -> u64| runs.iter().map(of).sum();
    Share {
        of: sum(|run| run.counts.tried),
        count: sum(|run| run.counts.failed),
    }
}

impl Figure {
    /// Returns the name used in data: `p95`, `rps`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Errors => "errors",
            Self::Rps => "rps",
            Self::FirstEventP95 => "first_event.p95",
            Self::PerUnitP95 => "per_unit.p95",
            Self::Good => "good",
        }
    }

    /// Returns true for a figure of time.
    pub const fn is_time(self) -> bool {
        matches!(
            self,
            Self::P50 | Self::P95 | Self::P99 | Self::FirstEventP95 | Self::PerUnitP95
        )
    }

    /// The figure on the scale that differences are taken on: of good executions the share of the others.
    fn of(self, figures: &Figures) -> f64 {
        match self {
            Self::P50 => figures.quantiles[0],
            Self::P95 | Self::FirstEventP95 | Self::PerUnitP95 => figures.quantiles[1],
            Self::P99 => figures.quantiles[2],
            Self::Errors | Self::Good => figures.failed,
            Self::Rps => figures.rate,
        }
    }

    /// The margin on that scale, around what the baseline has.
    fn limit(self, from: f64, margin: &Margin) -> f64 {
        let relative = margin.relative.ln_1p();
        match self {
            figure if figure.is_time() => {
                relative.max((margin.time_us as f64 * 1e3 / from.exp()).ln_1p())
            }
            Self::Errors | Self::Good => margin.errors,
            _ => relative,
        }
    }

    /// From that scale to microseconds, shares of one and per second.
    fn shown(self, value: f64) -> f64 {
        match self {
            figure if figure.is_time() => value.exp() / 1e3,
            Self::Errors => value,
            Self::Good => 1.0 - value,
            _ => value.exp(),
        }
    }

    /// The variance of the figure from run to run.
    fn between(self, base: &[Drawn], was: &[f64], common: &Common) -> f64 {
        // An open load asks as often of every target, and each run shows its own errors.
        let differs = match self {
            Self::Errors | Self::Good => false,
            Self::Rps => common.is_closed,
            _ => true,
        };
        if !differs {
            return 0.0;
        }
        let within = |run: &Drawn| {
            let draws: Vec<f64> = run.draws.iter().map(|draw| self.of(draw)).collect();
            let variance = variance(&draws);
            if variance.is_finite() {
                variance * WIDER.powi(2)
            } else {
                0.0
            }
        };
        let within = base.iter().map(within).sum::<f64>() / base.len() as f64;
        from_run_to_run(was, within).powi(2)
    }

    /// Returns the number of samples that the figure needs from a run.
    fn needs(self) -> u64 {
        let beyond = |quantile: f64| ((BEYOND / (1.0 - quantile)).round() as u64).max(LEAST);
        match self {
            Self::P50 => beyond(QUANTILES[0]),
            Self::P95 | Self::FirstEventP95 | Self::PerUnitP95 => beyond(QUANTILES[1]),
            Self::P99 => beyond(QUANTILES[2]),
            Self::Errors | Self::Good => 0,
            Self::Rps => LEAST,
        }
    }

    /// Returns the number of samples that a run has for the figure.
    fn has(self, run: &Drawn) -> u64 {
        match self {
            Self::Errors | Self::Good => run.counts.tried,
            Self::Rps => run.counts.ended,
            _ => run.timed,
        }
    }

    fn change(self, difference: f64) -> f64 {
        match self {
            Self::Errors => difference,
            Self::Good => -difference,
            _ => difference.exp_m1(),
        }
    }
}

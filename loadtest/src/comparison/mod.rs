//! Two runs beside each other: what changed by more than chance, and by more than a margin.
//!
//! A change is told from chance by drawing both runs anew, many times, from blocks of their own seconds
//! ([`bootstrap`]); and it matters only beyond a margin, since two runs of the same system differ as well
//! (an equivalence test).

mod bootstrap;
mod comparable;
mod series;
#[cfg(test)]
mod tests;
mod words;

use crate::chain::vu::mix;
use crate::definition::StepDef;
use bootstrap::Drawn;
use comparable::refusals;
pub use comparable::{Refusal, SHORTEST, Side};
use serde::{Deserialize, Serialize};
use series::{Figures, Series};

/// The standard normal quantile of a one-sided interval of 95 %.
const Z: f64 = 1.645;
/// The same of 90 %: how surely the smallest change that a run could have seen is seen.
const POWER: f64 = 1.282;
/// What ends and begins an interval of 90 %: shares of the draws.
const INTERVAL: (f64, f64) = (0.05, 0.95);
/// With fewer runs of a baseline than this, the differences from run to run are in the margin alone.
const SEVERAL: usize = 3;

/// What is compared.
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
    /// What ended, per second.
    Rps,
}

/// What became of one figure.
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

/// How much counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Margin {
    /// Of times and rates, a share of the baseline's.
    pub relative: f64,
    /// Times that differ by less are the same, in microseconds.
    pub time_us: u64,
    /// Of the share of errors, in shares of one.
    pub errors: f64,
}

/// One figure of one step, or of the journey, beside that of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// What is compared.
    pub figure: Figure,
    /// That of the baseline - the geometric mean of its runs -, in microseconds, shares of one or per second.
    pub base: f64,
    /// That of the new run, likewise.
    pub new: f64,
    /// The change: of times and rates a share of the baseline's, of errors the difference.
    pub change: f64,
    /// Where the change lies with a confidence of 90 %.
    pub interval: (f64, f64),
    /// The smallest worsening that these runs would have shown nine times of ten.
    pub detectable: f64,
    /// What became of it.
    pub verdict: Change,
}

impl Margin {
    /// The margin for a baseline of so many runs: their mean is known the better the more there are.
    pub fn of(runs: usize) -> Self {
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
            Figure::P50 | Figure::P95 | Figure::P99 => {
                self.relative.max(self.time_us as f64 / compared.base)
            }
            Figure::Errors => self.errors,
            Figure::Rps => self.relative,
        }
    }
}

/// A run beside a named baseline: kept in its record, so that an old report says what was said then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The name of the baseline.
    pub baseline: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of comparing a run with a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// They were compared.
    Compared(Comparison),
    /// They are not comparable.
    Refused {
        /// Everything that speaks against it.
        refusals: Vec<Refusal>,
    },
    /// The baseline holds no run of the scenario.
    Absent,
}

/// A run beside a baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The identity of the scenario.
    pub scenario: String,
    /// The runs of the baseline.
    pub base: Vec<String>,
    /// The run that is compared with them.
    pub new: String,
    /// How much counts.
    pub margin: Margin,
    /// The journey, then the steps.
    pub subjects: Vec<Subject>,
}

/// The journey or a step, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The step; `None` for the journey.
    pub step: Option<String>,
    /// Why it is not compared, where it is not.
    pub skipped: Option<Skipped>,
    /// Its figures.
    pub figures: Vec<Compared>,
}

/// Why a step, or the journey, is not compared though the runs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    /// Its source is another one; of a journey, the source of one of its steps.
    Changed,
    /// The baseline does not have it.
    Added,
    /// Only the baseline has it.
    Removed,
}

impl Comparison {
    /// Compares a run with those of a baseline.
    ///
    /// # Errors
    /// Everything that speaks against it, of any of the runs.
    ///
    /// # Panics
    /// Without a run in the baseline.
    pub fn of(base: &[Side<'_>], new: &Side<'_>) -> Result<Self, Vec<Refusal>> {
        assert!(!base.is_empty(), "a baseline has a run");
        let mut against = Vec::new();
        for refusal in base.iter().flat_map(|base| refusals(base, new)) {
            if !against.contains(&refusal) {
                against.push(refusal);
            }
        }
        if !against.is_empty() {
            return Err(against);
        }
        let margin = Margin::of(base.len());
        let seed = base
            .iter()
            .chain([new])
            .fold(0, |seed, side| hash(seed, side.run_id));
        let steps: Vec<Subject> = steps(base, new)
            .into_iter()
            .map(|(name, at)| Subject::of(Some(name), at, base, new, &margin, seed))
            .collect();
        // A journey with another step takes another time, whoever answers.
        let is_same = steps.iter().all(|step| step.skipped.is_none());
        let at = if is_same {
            Ok(None)
        } else {
            Err(Skipped::Changed)
        };
        let journey = Subject::of(None, at, base, new, &margin, seed);
        Ok(Self {
            scenario: new.scenario.definition.identity(),
            base: base.iter().map(|side| side.run_id.to_owned()).collect(),
            new: new.run_id.to_owned(),
            margin,
            subjects: std::iter::once(journey).chain(steps).collect(),
        })
    }

    /// What became worse, beyond margin and chance.
    pub fn regressions(&self) -> impl Iterator<Item = (&Subject, &Compared)> {
        self.subjects.iter().flat_map(|subject| {
            let worse = |found: &&Compared| found.verdict == Change::Regressed;
            subject
                .figures
                .iter()
                .filter(worse)
                .map(move |found| (subject, found))
        })
    }
}

impl Subject {
    fn of(
        step: Option<String>,
        at: Result<Option<Places>, Skipped>,
        base: &[Side<'_>],
        new: &Side<'_>,
        margin: &Margin,
        seed: u64,
    ) -> Self {
        let figures = at.as_ref().map_or_else(
            |_| Vec::new(),
            |places| {
                let place = |run: usize| places.as_ref().map(|places| places[run]);
                let drawn = |(i, side): (usize, &Side<'_>)| {
                    let series = Series::of(side.scenario, place(i));
                    Drawn::of(&series, hash(seed, side.run_id))
                };
                let all: Vec<Drawn> = base.iter().chain([new]).enumerate().map(drawn).collect();
                let (new, base) = all.split_last().expect("there is the new run");
                of_drawn(base, new, margin)
            },
        );
        Self {
            step,
            skipped: at.err(),
            figures,
        }
    }
}

/// The number of a step in each run of the baseline, and in the new one.
type Places = Vec<usize>;

/// The steps of the new run, in their order, and where they are; then those that only a baseline has.
fn steps(base: &[Side<'_>], new: &Side<'_>) -> Vec<(String, Result<Option<Places>, Skipped>)> {
    let place = |side: &Side<'_>, wanted: &StepDef| {
        let mut steps = side.scenario.definition.steps.iter();
        steps.position(|step| step.name == wanted.name)
    };
    let mut all = Vec::new();
    for (at, step) in new.scenario.definition.steps.iter().enumerate() {
        let found: Option<Places> = base.iter().map(|side| place(side, step)).collect();
        let result = found.ok_or(Skipped::Added).and_then(|mut places| {
            let is_same = |(side, at): (&Side<'_>, &usize)| {
                side.scenario.definition.steps[*at].fingerprint == step.fingerprint
            };
            if base.iter().zip(&places).all(is_same) {
                places.push(at);
                Ok(Some(places))
            } else {
                Err(Skipped::Changed)
            }
        });
        all.push((step.name.to_string(), result));
    }
    for step in base
        .iter()
        .flat_map(|side| &*side.scenario.definition.steps)
    {
        if all.iter().all(|(name, _)| **name != *step.name) {
            all.push((step.name.to_string(), Err(Skipped::Removed)));
        }
    }
    all
}

/// Numbers that depend on the runs alone, so that the same runs are drawn in the same way.
fn hash(seed: u64, run_id: &str) -> u64 {
    run_id
        .bytes()
        .fold(seed, |sum, byte| mix(sum ^ u64::from(byte)))
}

fn of_drawn(base: &[Drawn], new: &Drawn, margin: &Margin) -> Vec<Compared> {
    let figures = [
        Figure::P50,
        Figure::P95,
        Figure::P99,
        Figure::Errors,
        Figure::Rps,
    ];
    figures
        .into_iter()
        .filter_map(|figure| Compared::of(figure, base, new, margin))
        .collect()
}

impl Compared {
    fn of(figure: Figure, base: &[Drawn], new: &Drawn, margin: &Margin) -> Option<Self> {
        let mean =
            |of: &dyn Fn(&Drawn) -> f64| base.iter().map(of).sum::<f64>() / base.len() as f64;
        let (from, to) = (
            mean(&|run| figure.of(&run.figures)),
            figure.of(&new.figures),
        );
        let difference = to - from;
        if !difference.is_finite() {
            return None;
        }
        let mut draws: Vec<f64> = (0..new.draws.len())
            .map(|i| figure.of(&new.draws[i]) - mean(&|run| figure.of(&run.draws[i])))
            .filter(|difference| difference.is_finite())
            .collect();
        draws.sort_unstable_by(f64::total_cmp);
        let spread = deviation(&draws);
        let at = |share: f64| draws[((draws.len() - 1) as f64 * share).round() as usize];
        let interval = (at(INTERVAL.0), at(INTERVAL.1));
        let limit = figure.limit(from, margin);
        // Of rates less is worse.
        let sign = if figure == Figure::Rps { -1.0 } else { 1.0 };
        let (low, high) = (
            (sign * interval.0).min(sign * interval.1),
            (sign * interval.0).max(sign * interval.1),
        );
        let verdict = if low > limit {
            Change::Regressed
        } else if high < -limit {
            Change::Improved
        } else if low > -limit && high < limit {
            Change::Unchanged
        } else {
            Change::Inconclusive
        };
        Some(Self {
            figure,
            base: figure.shown(from),
            new: figure.shown(to),
            change: figure.change(difference),
            interval: (figure.change(interval.0), figure.change(interval.1)),
            detectable: figure.change(sign * (limit + (Z + POWER) * spread)),
            verdict,
        })
    }
}

impl Figure {
    /// As data has it: `p95`, `rps`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Errors => "errors",
            Self::Rps => "rps",
        }
    }

    /// The figure on the scale that differences are taken on.
    fn of(self, figures: &Figures) -> f64 {
        match self {
            Self::P50 => figures.quantiles[0],
            Self::P95 => figures.quantiles[1],
            Self::P99 => figures.quantiles[2],
            Self::Errors => figures.failed,
            Self::Rps => figures.rate,
        }
    }

    /// The margin on that scale, around what the baseline has.
    fn limit(self, from: f64, margin: &Margin) -> f64 {
        let relative = margin.relative.ln_1p();
        match self {
            Self::P50 | Self::P95 | Self::P99 => {
                relative.max((margin.time_us as f64 * 1e3 / from.exp()).ln_1p())
            }
            Self::Errors => margin.errors,
            Self::Rps => relative,
        }
    }

    /// From that scale to microseconds, shares of one and per second.
    fn shown(self, value: f64) -> f64 {
        match self {
            Self::P50 | Self::P95 | Self::P99 => value.exp() / 1e3,
            Self::Errors => value,
            Self::Rps => value.exp(),
        }
    }

    fn change(self, difference: f64) -> f64 {
        match self {
            Self::Errors => difference,
            _ => difference.exp_m1(),
        }
    }
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / values.len() as f64).sqrt()
}

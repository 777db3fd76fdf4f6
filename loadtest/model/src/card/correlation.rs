//! Figures of the target's own side that move together with latency: Spearman's coefficient, and what chance reaches.
//!
//! Values of neighbouring seconds hang together, so the coefficient is held against those of the same figure whose blocks
//! of seconds are drawn anew. With a load that only rises everything moves together: then nothing is computed.

use super::ObservedRow;
use super::timeline::Timeline;
use crate::comparison::block_length;
use crate::display;
use crate::random::mix_bits;
use crate::record::ScenarioRecord;
use crate::schedule::{Schedule, Window};
use serde::Serialize;
use std::ops::Range;
use std::time::Duration;

/// The fewest points that tell something.
const FEWEST: usize = 30;
/// The smallest coefficient that is shown.
const STRONG: f64 = 0.7;
/// The most figures that are shown.
const MOST: usize = 3;
/// The most points by which one may be later than the other.
const LAGS: isize = 3;
/// A later or earlier course has to be better by this.
const CLEARLY: f64 = 0.01;
/// How often blocks are drawn anew, and which of the coefficients has to be exceeded twice over: that of 19 in 20 tries.
const TRIES: usize = 200;
const BOUND: usize = TRIES * 19 / 20;

/// The figures of the target's side that move together with p95.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Correlations {
    /// At most three figures, the strongest first.
    pub figures: Vec<Correlation>,
    /// The reason why nothing was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_computed: Option<String>,
}

/// A figure of the target's side that moves together with p95.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Correlation {
    /// The name of the figure: `db cpu`.
    pub name: String,
    /// Spearman's coefficient.
    pub spearman: f64,
    /// The number of points with both values.
    pub points: usize,
    /// By how many seconds the figure is later than p95; negative where it is earlier.
    pub later_s: i64,
}

impl Correlation {
    /// Describes it: ``p95 and `db cpu` move together (Spearman 0.91 over 240 points)``.
    pub fn describe(&self) -> String {
        let name = display::quote_name(&self.name);
        let lag = match self.later_s {
            0 => String::new(),
            later @ 1.. => format!(", {name} {later} s later"),
            earlier => format!(", {name} {} s earlier", -earlier),
        };
        format!(
            "p95 and {name} move together (Spearman {:.2} over {}{lag})",
            self.spearman,
            display::format_counted(self.points as u64, "point")
        )
    }
}

impl Correlations {
    /// Finds the figures that move together with p95 in the steady part; `None` where there is nothing to say.
    pub(super) fn find(
        record: &ScenarioRecord,
        rows: &[ObservedRow],
        course: &Timeline,
    ) -> Option<Self> {
        let steady = steady_range(record, course);
        let is_read = |row: &&ObservedRow| row.course[steady.clone()].iter().any(Option::is_some);
        let mut read = rows.iter().filter(is_read).peekable();
        read.peek()?;
        if steady.len() < FEWEST {
            return None;
        }
        if only_rises(record, course, &steady) {
            return Some(Self {
                not_computed: Some("the load only rose, and so did everything else".to_owned()),
                ..Self::default()
            });
        }
        let p95 = course.points[steady.clone()].iter();
        let p95: Vec<_> = p95
            .map(|point| point.p95.map(|time| time.as_secs_f64()))
            .collect();
        let block = block_length(steady.len(), f64::from(course.width));
        let mut figures: Vec<_> = read
            .filter_map(|row| {
                let found = correlate(&p95, &row.course[steady.clone()], block)?;
                Some(Correlation {
                    name: row.name.clone(),
                    spearman: found.spearman,
                    points: found.points,
                    later_s: found.lag as i64 * i64::from(course.width),
                })
            })
            .collect();
        figures.sort_by(|one, other| other.spearman.total_cmp(&one.spearman));
        figures.truncate(MOST);
        let not_computed = None;
        (!figures.is_empty()).then_some(Self {
            figures,
            not_computed,
        })
    }
}

/// Returns the points of the steady part.
fn steady_range(record: &ScenarioRecord, course: &Timeline) -> Range<usize> {
    let schedule = Schedule::new(&record.start.plan.load);
    let is_steady = |second: u32| schedule.window(due(record, second)) == Window::Steady;
    let mut points = course.points.iter();
    let start = points.position(|point| is_steady(point.second));
    let start = start.unwrap_or(course.points.len());
    let length = course.points[start..]
        .iter()
        .take_while(|point| is_steady(point.second));
    start..start + length.count()
}

fn due(record: &ScenarioRecord, second: u32) -> Duration {
    record.start.plan.load.warm_up + Duration::from_secs(second.into())
}

/// Returns true if the load ends higher than it began, and never fell.
fn only_rises(record: &ScenarioRecord, course: &Timeline, steady: &Range<usize>) -> bool {
    let schedule = Schedule::new(&record.start.plan.load);
    let points = course.points[steady.clone()].iter();
    let load: Vec<f64> = points
        .filter_map(|point| schedule.target(due(record, point.second)))
        .collect();
    load.is_sorted() && load.first() < load.last()
}

/// A coefficient that is strong and beyond chance.
#[derive(Debug, Clone, Copy, PartialEq)]
struct StrongCorrelation {
    spearman: f64,
    /// By how many points the second course is later.
    lag: isize,
    points: usize,
}

/// Returns how two courses move together, if they do beyond what blocks of the second that are drawn anew reach.
fn correlate(
    one: &[Option<f64>],
    other: &[Option<f64>],
    block: usize,
) -> Option<StrongCorrelation> {
    let (one, other) = (rank_values(one), rank_values(other));
    let found = find_best_lag(&one, &other)?;
    if found.spearman < STRONG || found.points < FEWEST {
        return None;
    }
    let mut dice = other.len() as u64;
    let mut start = || {
        dice = mix_bits(dice);
        ((u128::from(dice) * other.len() as u128) >> 64) as usize
    };
    let mut reached: Vec<f64> = (0..TRIES)
        .map(|_| {
            let mut drawn = Vec::with_capacity(other.len() + block);
            while drawn.len() < other.len() {
                let start = start();
                drawn.extend((start..start + block).map(|at| other[at % other.len()]));
            }
            drawn.truncate(other.len());
            find_best_lag(&one, &drawn).map_or(0.0, |drawn| drawn.spearman)
        })
        .collect();
    reached.sort_unstable_by(f64::total_cmp);
    (found.spearman > 2.0 * reached[BOUND]).then_some(found)
}

/// Returns the highest coefficient of all lags, that without a lag unless another is clearly higher.
fn find_best_lag(one: &[Option<f64>], other: &[Option<f64>]) -> Option<StrongCorrelation> {
    let mut lags: Vec<isize> = (-LAGS..=LAGS).collect();
    lags.sort_by_key(|lag| lag.abs());
    let all = lags
        .into_iter()
        .filter_map(|lag| correlate_ranks(one, other, lag));
    all.reduce(|best, found| {
        if found.spearman > best.spearman + CLEARLY {
            found
        } else {
            best
        }
    })
}

/// Returns the ranks of the values, equal ones with the mean of theirs.
fn rank_values(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let known = values.iter().enumerate();
    let mut known: Vec<(usize, f64)> = known
        .filter_map(|(at, value)| Some((at, (*value)?)))
        .collect();
    known.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut ranks = vec![None; values.len()];
    let mut first = 0;
    for equal in known.chunk_by(|one, other| one.1.total_cmp(&other.1).is_eq()) {
        let rank = first as f64 + (equal.len() - 1) as f64 / 2.0;
        for (at, _) in equal {
            ranks[*at] = Some(rank);
        }
        first += equal.len();
    }
    ranks
}

/// Returns Pearson's coefficient of ranks, of which the second are later by so many points.
fn correlate_ranks(
    one: &[Option<f64>],
    other: &[Option<f64>],
    lag: isize,
) -> Option<StrongCorrelation> {
    let pairs = one.iter().enumerate().filter_map(|(at, value)| {
        let later = at.checked_add_signed(lag)?;
        Some(((*value)?, (*other.get(later)?)?))
    });
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let count = pairs.len() as f64;
    let (sum, others): (f64, f64) = pairs
        .iter()
        .fold((0.0, 0.0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1));
    let (mut both, mut first, mut second) = (0.0, 0.0, 0.0);
    for (x, y) in &pairs {
        let (x, y) = (x - sum / count, y - others / count);
        both += x * y;
        first += x * x;
        second += y * y;
    }
    let spearman = both / (first * second).sqrt();
    // What never changes moves with nothing.
    spearman.is_finite().then_some(StrongCorrelation {
        spearman,
        lag,
        points: pairs.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::unit_interval;

    /// Even numbers from 0 to 1.
    fn noise(seed: u64, count: usize) -> Vec<f64> {
        let mut dice = mix_bits(seed);
        let numbers = std::iter::repeat_with(|| {
            dice = mix_bits(dice);
            unit_interval(dice)
        });
        numbers.take(count).collect()
    }

    fn known(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    /// A CPU with a new level every five seconds, and a latency that follows it with a little noise.
    fn following(seed: u64, count: usize) -> (Vec<f64>, Vec<f64>) {
        let levels = noise(seed, count / 5 + 1);
        let cpu: Vec<f64> = (0..count).map(|at| levels[at / 5]).collect();
        let noise = noise(seed + 1_000, count);
        let latency = cpu.iter().zip(noise);
        let latency = latency.map(|(cpu, noise)| 80.0 + 40.0 * cpu + 2.0 * noise);
        (latency.collect(), cpu)
    }

    #[test]
    fn a_latency_that_follows_a_figure_moves_with_it() {
        for seed in 0..20 {
            let (latency, cpu) = following(seed, 240);
            let found = correlate(&known(&latency), &known(&cpu), 24).unwrap();
            assert!(found.spearman > 0.9, "{found:?}");
            assert_eq!((found.lag, found.points), (0, 240));
            // One that was read later, and not always.
            let mut later = known(&cpu);
            later.rotate_right(2);
            later[100] = None;
            let found = correlate(&known(&latency), &later, 24).unwrap();
            assert_eq!((found.lag, found.points), (2, 237));
        }
    }

    #[test]
    fn noise_moves_with_nothing() {
        let shown = (0..20).filter(|seed| {
            let (latency, _) = following(*seed, 240);
            let (_, other) = following(seed + 50, 240);
            correlate(&known(&latency), &known(&other), 24).is_some()
                || correlate(&known(&latency), &known(&noise(*seed, 240)), 24).is_some()
        });
        assert_eq!(shown.count(), 0);
        let (latency, _) = following(1, 240);
        assert_eq!(correlate(&known(&latency), &[Some(1.0); 240], 24), None);
        assert_eq!(correlate(&known(&latency), &[None; 240], 24), None);
    }

    #[test]
    fn what_only_rises_moves_with_nothing() {
        for (seed, count) in (0..20).zip([60, 240].into_iter().cycle()) {
            let rise = |seed| -> Vec<_> {
                let numbers = noise(seed, count).into_iter().enumerate();
                numbers
                    .map(|(at, noise)| Some(at as f64 / count as f64 + 0.1 * noise))
                    .collect()
            };
            let block = block_length(count, 1.0);
            let found = correlate(&rise(seed), &rise(seed + 100), block);
            assert_eq!(found, None, "{count} points");
        }
    }

    #[test]
    fn a_sentence_says_by_how_much_and_never_why() {
        let mut found = Correlation {
            name: "db cpu".to_owned(),
            spearman: 0.914,
            points: 240,
            later_s: 0,
        };
        let says = "p95 and `db cpu` move together (Spearman 0.91 over 240 points";
        assert_eq!(found.describe(), format!("{says})"));
        found.later_s = -4;
        assert_eq!(found.describe(), format!("{says}, `db cpu` 4 s earlier)"));
    }
}

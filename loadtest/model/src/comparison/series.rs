//! The measurements of one step, or of the whole iteration, in equal stretches of the steady part of a run.

use crate::metrics::{Cell, CellStep, CellStream, CompactHistogram, Histogram};
use crate::record::ScenarioRecord;
use crate::schedule::{Schedule, Window};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// The quantiles that are compared: p50, p95, p99.
pub(super) const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// The count that replaces zero where a rate is taken: less than one, and not infinitely less.
const HALF: f64 = 0.5;

/// Stretches one after another, as sums up to each: what happened in any row of them is one difference.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// The length of each stretch, in seconds.
    width: f64,
    /// The logarithm of the time, in nanoseconds, that each bucket of times ends at, and before them of
    /// the one that the first begins at.
    ends: Vec<f64>,
    /// Times of what succeeded or timed out, by bucket: a row per stretch, after one of nothing.
    good: Vec<Vec<u64>>,
    /// Those of what failed otherwise, if something did.
    failed: Option<Vec<Vec<u64>>>,
    /// The sums of the counts up to each stretch.
    counts: Vec<Counts>,
}

/// The counts beside times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Everything that ended, or never began though it should have.
    pub(super) tried: u64,
    /// Everything tried that failed.
    pub(super) failed: u64,
    /// Everything that ended.
    pub(super) ended: u64,
}

/// What is measured in one stretch.
#[derive(Debug, Clone, Default)]
pub(super) struct Stretch {
    /// The times of what succeeded or timed out.
    pub(super) good: Histogram,
    /// Those of what failed otherwise.
    pub(super) failed: Histogram,
    pub(super) counts: Counts,
}

/// A sum over stretches.
#[derive(Debug, Clone)]
pub(super) struct Sum {
    stretches: usize,
    good: Vec<u64>,
    failed: Option<Vec<u64>>,
    pub(super) counts: Counts,
}

/// The figures of a sum that are compared: logarithms of the quantiles of time, in nanoseconds, and of the number
/// ended per second, and the share that failed. A missing figure is not a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figures {
    pub(super) quantiles: [f64; 3],
    pub(super) failed: f64,
    pub(super) rate: f64,
}

/// The measurements that a series is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measured {
    /// Journeys, or executions of a step.
    Whole,
    /// The times to the first events of streams.
    FirstEvent,
    /// Their times for a unit.
    PerUnit,
    /// Good executions: those that are not count as failed.
    Good,
}

impl Measured {
    /// Everything that a step may have.
    pub(super) const ALL: [Self; 4] = [Self::Whole, Self::FirstEvent, Self::PerUnit, Self::Good];
}

impl Sum {
    /// The number of times.
    pub(super) fn timed(&self) -> u64 {
        let failed = self.failed.as_deref().unwrap_or_default();
        self.good.iter().chain(failed).sum()
    }
}

impl Figures {
    /// The same, so many times as far from `centre`.
    pub(super) fn further_from(&self, centre: &Self, times: f64) -> Self {
        let further = |from: f64, to: f64| from + (to - from) * times;
        Self {
            quantiles: std::array::from_fn(|i| further(centre.quantiles[i], self.quantiles[i])),
            failed: further(centre.failed, self.failed),
            rate: further(centre.rate, self.rate),
        }
    }
}

impl Series {
    /// Collects `step`, or the whole iteration, in the steady part of a run; empty if the run has no whole stretch.
    pub(super) fn from_record(
        record: &ScenarioRecord,
        step: Option<usize>,
        measured: Measured,
    ) -> Self {
        let cells = &record.cells;
        let width = cells.width.max(1);
        let by_second: BTreeMap<u32, &Cell> =
            cells.cells.iter().map(|cell| (cell.second, cell)).collect();
        let empty = Cell::default();
        let stretches = steady_seconds(record, width)
            .step_by(width as usize)
            .map(|second| {
                let cell = by_second.get(&second).copied().unwrap_or(&empty);
                match step {
                    None => measure_journeys(cell),
                    Some(step) => measure_step(cell.steps.get(step), measured),
                }
            });
        Self::new(f64::from(width), &stretches.collect::<Vec<_>>())
    }

    /// Stretches of `width` seconds each.
    pub(super) fn new(width: f64, stretches: &[Stretch]) -> Self {
        let mut values: Vec<u64> = stretches
            .iter()
            .flat_map(|stretch| stretch.good.buckets().chain(stretch.failed.buckets()))
            .map(|(ns, _)| ns)
            .collect();
        values.sort_unstable();
        values.dedup();
        // The width of a bucket of two digits, of which the first has no neighbour to tell it.
        let first = values
            .first()
            .map_or(1.0, |ns| *ns as f64 * (1.0 - 1.0 / 128.0));
        let ends = std::iter::once(first)
            .chain(values.iter().map(|ns| *ns as f64))
            .map(|ns| ns.max(1.0).ln())
            .collect();
        let has_failed = stretches.iter().any(|stretch| !stretch.failed.is_empty());
        let sums = |of: fn(&Stretch) -> &Histogram| {
            let mut sums = vec![vec![0; values.len()]];
            for stretch in stretches {
                let mut row = sums.last().expect("there is a first").clone();
                for (ns, count) in of(stretch).buckets() {
                    let place = values.binary_search(&ns).expect("all values are there");
                    row[place] += count;
                }
                sums.push(row);
            }
            sums
        };
        let mut counts = vec![Counts::default()];
        for stretch in stretches {
            counts.push(
                counts
                    .last()
                    .expect("there is a first")
                    .plus(stretch.counts),
            );
        }
        Self {
            width,
            ends,
            good: sums(|stretch| &stretch.good),
            failed: has_failed.then(|| sums(|stretch| &stretch.failed)),
            counts,
        }
    }

    /// Returns the number of stretches.
    pub(super) fn len(&self) -> usize {
        self.counts.len() - 1
    }

    /// Returns the length of each stretch, in seconds.
    pub(super) fn width(&self) -> f64 {
        self.width
    }

    /// A sum of nothing.
    pub(super) fn nothing(&self) -> Sum {
        Sum {
            stretches: 0,
            good: vec![0; self.good[0].len()],
            failed: self.failed.as_ref().map(|failed| vec![0; failed[0].len()]),
            counts: Counts::default(),
        }
    }

    /// Adds `length` stretches from the one at `start`; after the last comes the first.
    pub(super) fn add_block(&self, sum: &mut Sum, start: usize, length: usize) {
        let end = start + length;
        if end <= self.len() {
            self.add(sum, start..end);
        } else {
            self.add(sum, start..self.len());
            self.add(sum, 0..end - self.len());
        }
    }

    fn add(&self, sum: &mut Sum, range: Range<usize>) {
        sum.stretches += range.len();
        add_between(&mut sum.good, &self.good, &range);
        if let (Some(sum), Some(failed)) = (&mut sum.failed, &self.failed) {
            add_between(sum, failed, &range);
        }
        let (before, after) = (self.counts[range.start], self.counts[range.end]);
        sum.counts = sum.counts.plus(after.minus(before));
    }

    /// The figures of a sum over stretches of this series.
    pub(super) fn figures(&self, sum: &Sum) -> Figures {
        let seconds = sum.stretches as f64 * self.width;
        let counts = sum.counts;
        Figures {
            quantiles: self.worst_quantiles(sum),
            failed: counts.failed as f64 / counts.tried as f64,
            // Of what stopped altogether the logarithm would be none.
            rate: ((counts.ended as f64).max(HALF) / seconds).ln(),
        }
    }

    /// The larger of each quantile of what succeeded, and of all.
    fn worst_quantiles(&self, sum: &Sum) -> [f64; 3] {
        let good = self.quantiles(&sum.good);
        let Some(failed) = &sum.failed else {
            return good;
        };
        let all: Vec<u64> = (sum.good.iter().zip(failed))
            .map(|(good, failed)| good + failed)
            .collect();
        let all = self.quantiles(&all);
        // Of what is no number, the other is the larger.
        std::array::from_fn(|i| good[i].max(all[i]))
    }

    /// The logarithms of the quantiles, interpolated within a bucket as though its times lay evenly.
    fn quantiles(&self, times: &[u64]) -> [f64; 3] {
        let all: u64 = times.iter().sum();
        let mut found = [f64::NAN; 3];
        if all == 0 {
            return found;
        }
        let ranks = QUANTILES.map(|quantile| quantile * all as f64);
        let (mut below, mut next) = (0.0, 0);
        for (i, count) in times.iter().enumerate() {
            let upto = below + *count as f64;
            while next < ranks.len() && ranks[next] <= upto {
                let within = (ranks[next] - below) / *count as f64;
                // Buckets between which nothing lies are no wide bucket.
                let from = self.ends[i].max(self.ends[i + 1] - 1.0 / 64.0);
                found[next] = from + (self.ends[i + 1] - from) * within;
                next += 1;
            }
            below = upto;
        }
        found
    }
}

/// Adds what `sums` grew by within a range.
fn add_between(to: &mut [u64], sums: &[Vec<u64>], range: &Range<usize>) {
    let (before, after) = (&sums[range.start], &sums[range.end]);
    for ((to, after), before) in to.iter_mut().zip(after).zip(before) {
        *to += after - before;
    }
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            tried: self.tried + other.tried,
            failed: self.failed + other.failed,
            ended: self.ended + other.ended,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            tried: self.tried - other.tried,
            failed: self.failed - other.failed,
            ended: self.ended - other.ended,
        }
    }
}

/// The seconds of the steady part, from the first cell that lies in it as a whole to the last.
fn steady_seconds(record: &ScenarioRecord, width: u32) -> Range<u32> {
    let schedule = Schedule::new(&record.start.plan.load);
    let elapsed = u32::try_from(record.end.elapsed_us / 1_000_000).unwrap_or(u32::MAX);
    let at = |second: u32| Duration::from_secs(u64::from(second));
    let lies_within = |second: &u32| {
        let last = at(second + width).saturating_sub(Duration::from_micros(1));
        schedule.window(at(*second)) == Window::Steady && schedule.window(last) == Window::Steady
    };
    let mut whole = (0..elapsed / width).map(|i| i * width).filter(lies_within);
    let Some(first) = whole.next() else {
        return 0..0;
    };
    let end = whole.next_back().unwrap_or(first) + width;
    first..end
}

/// Returns the times and counts of journeys in one cell.
fn measure_journeys(cell: &Cell) -> Stretch {
    let counts = Counts {
        tried: cell.ok + cell.failed + cell.dropped,
        failed: cell.failed + cell.dropped,
        ended: cell.ok + cell.failed,
    };
    Stretch {
        good: cell.time.decode(),
        failed: cell.failed_time.decode(),
        counts,
    }
}

/// Returns the times and counts of a step in one cell.
fn measure_step(step: Option<&CellStep>, measured: Measured) -> Stretch {
    let Some(step) = step else {
        return Stretch::default();
    };
    let counts = |failed| Counts {
        tried: step.executed,
        failed,
        ended: step.executed,
    };
    let times = |times: fn(&CellStream) -> &CompactHistogram| {
        let stream = step.stream.as_deref();
        stream.map_or_else(Histogram::default, |stream| times(stream).decode())
    };
    let of_good = |good, failed| Stretch {
        good,
        failed: Histogram::default(),
        counts: counts(failed),
    };
    match measured {
        Measured::Whole => Stretch {
            failed: step.failed_response.decode(),
            ..of_good(step.response.decode(), step.failed)
        },
        Measured::FirstEvent => of_good(times(|stream| &stream.first_event), step.failed),
        Measured::PerUnit => of_good(times(|stream| &stream.per_unit), step.failed),
        Measured::Good => of_good(
            Histogram::default(),
            step.executed.saturating_sub(step.good),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_within_the_first_bucket() {
        let mut times = Histogram::default();
        times.record_n(Duration::from_millis(100), 1000);
        let counts = Counts {
            tried: 1000,
            failed: 0,
            ended: 1000,
        };
        let series = Series::new(
            1.0,
            &[Stretch {
                good: times,
                failed: Histogram::default(),
                counts,
            }],
        );
        let mut sum = series.nothing();
        series.add_block(&mut sum, 0, 1);
        let quantiles = series.figures(&sum).quantiles;
        let end = *series.ends.last().unwrap();
        // A bucket is 1/128 of its value wide, and its times count as lying evenly in it.
        let start = end + (1.0 - 1.0 / 128.0_f64).ln();
        for (found, quantile) in quantiles.into_iter().zip(QUANTILES) {
            let expected = start + (end - start) * quantile;
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }
}

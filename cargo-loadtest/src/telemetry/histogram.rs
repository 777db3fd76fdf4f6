//! Histograms of times as they grow: classic buckets with given boundaries, and exponential ones.

use super::interval::{Exemplar, Exponential, OwnTimes, Times};
use loadtest_model::metrics::{self, Histogram};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The finest scale: a bucket is 2.2 % wide.
const FINEST_SCALE: i32 = 5;
/// The most exponential buckets.
const MOST_BUCKETS: i32 = 160;
/// Times up to this are counted as zero; a histogram tells no shorter ones apart.
const ZERO_NS: u64 = 1_000;
/// The quantiles of the interval.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];

/// [`ZERO_NS`] in seconds.
pub(super) const ZERO_SECONDS: f64 = 1e-6;

/// A histogram that grows by intervals.
#[derive(Debug, Clone)]
pub(super) struct GrowingTimes {
    boundaries: Arc<[Duration]>,
    /// The number of times within each boundary and beyond the one before.
    classic: Vec<u64>,
    /// The number of times by the index of their bucket at the finest scale.
    fine: BTreeMap<i32, u64>,
    zero: u64,
    count: u64,
    sum: Duration,
    exemplars: Vec<Option<Exemplar>>,
    /// Those of the interval under way.
    own: Histogram,
    /// Times of what failed meanwhile, which are in no bucket and make no quantile look better.
    own_failed: Histogram,
}

impl GrowingTimes {
    pub(super) fn new(boundaries: Arc<[Duration]>) -> Self {
        Self {
            classic: vec![0; boundaries.len()],
            boundaries,
            fine: BTreeMap::new(),
            zero: 0,
            count: 0,
            sum: Duration::ZERO,
            exemplars: Vec::new(),
            own: Histogram::default(),
            own_failed: Histogram::default(),
        }
    }

    /// Takes an example of a time that is added, in the place of an earlier one in its bucket, or of a faster one of the
    /// same second.
    pub(super) fn set_exemplar(&mut self, exemplar: Exemplar) {
        let limits = self.boundaries.iter().map(Duration::as_secs_f64);
        let bucket = limits.take_while(|limit| *limit < exemplar.value).count();
        self.exemplars.resize(self.boundaries.len() + 1, None);
        let is_slower =
            |kept: &Exemplar| kept.second == exemplar.second && kept.value >= exemplar.value;
        if !self.exemplars[bucket].as_ref().is_some_and(is_slower) {
            self.exemplars[bucket] = Some(exemplar);
        }
    }

    /// Adds times of the interval under way.
    pub(super) fn add(&mut self, times: &Histogram) {
        for bucket in times.filled_buckets() {
            let lowest = Duration::from_nanos(bucket.lowest_ns);
            let at = self.boundaries.partition_point(|limit| *limit < lowest);
            if let Some(count) = self.classic.get_mut(at) {
                *count += bucket.count;
            }
            if bucket.middle_ns <= ZERO_NS {
                self.zero += bucket.count;
            } else {
                let index = bucket_index(bucket.middle_ns as f64 / 1e9, FINEST_SCALE);
                *self.fine.entry(index).or_default() += bucket.count;
            }
        }
        self.count += times.count();
        self.sum += times.sum();
        self.own.merge(times);
    }

    /// Adds times of what failed in the interval under way.
    pub(super) fn add_failed(&mut self, times: &Histogram) {
        self.own_failed.merge(times);
    }

    /// Returns true without times of the interval under way.
    pub(super) fn is_unchanged(&self) -> bool {
        self.own.is_empty() && self.own_failed.is_empty()
    }

    /// Returns what there is, and begins the next interval.
    pub(super) fn take(&mut self) -> Times {
        let own = std::mem::take(&mut self.own);
        let own_failed = std::mem::take(&mut self.own_failed);
        let mut within = 0;
        let boundaries = self.boundaries.iter().zip(&self.classic);
        let classic = boundaries.map(|(limit, count)| {
            within += count;
            (limit.as_secs_f64(), within)
        });
        Times {
            count: self.count,
            sum: self.sum.as_secs_f64(),
            classic: classic.collect(),
            exponential: self.exponential(),
            exemplars: self.exemplars.clone(),
            own: describe_own(&own, &own_failed),
        }
    }

    fn exponential(&self) -> Exponential {
        let ends = self.fine.first_key_value().zip(self.fine.last_key_value());
        let Some(((first, _), (last, _))) = ends else {
            return Exponential {
                scale: FINEST_SCALE,
                zero: self.zero,
                ..Exponential::default()
            };
        };
        let mut shift = 0;
        while (last >> shift) - (first >> shift) >= MOST_BUCKETS {
            shift += 1;
        }
        let first = first >> shift;
        let mut counts = vec![0; ((last >> shift) - first + 1) as usize];
        for (index, count) in &self.fine {
            counts[((index >> shift) - first) as usize] += count;
        }
        Exponential {
            scale: FINEST_SCALE - shift,
            zero: self.zero,
            first,
            counts,
        }
    }
}

/// The index of the bucket that holds a number of seconds.
fn bucket_index(seconds: f64, scale: i32) -> i32 {
    let index = seconds.log2() * f64::from(1 << scale);
    index.ceil() as i32 - 1
}

fn describe_own(good: &Histogram, failed: &Histogram) -> OwnTimes {
    let times = metrics::Times::new(good, &[failed]);
    let quantiles = QUANTILES.iter().filter_map(|(name, quantile)| {
        let time = times.quantile(*quantile)?;
        Some((*name, time.as_secs_f64()))
    });
    let longest = times.max().map(|time| ("max", time.as_secs_f64()));
    OwnTimes {
        count: good.count(),
        sum: good.sum().as_secs_f64(),
        quantiles: quantiles.chain(longest).collect(),
    }
}

impl Exponential {
    /// The same with the buckets of a coarser scale.
    pub(super) fn coarsen(&self, scale: i32) -> Self {
        let shift = self.scale - scale;
        if shift <= 0 || self.counts.is_empty() {
            return Self {
                scale: self.scale.min(scale),
                ..self.clone()
            };
        }
        let first = self.first >> shift;
        let last = self
            .first
            .saturating_add_unsigned(self.counts.len() as u32 - 1)
            >> shift;
        let mut counts = vec![0; (last - first + 1) as usize];
        for (index, count) in (self.first..).zip(&self.counts) {
            counts[((index >> shift) - first) as usize] += count;
        }
        Self {
            scale,
            zero: self.zero,
            first,
            counts,
        }
    }

    /// Returns the difference to `before`, an earlier state of the same series.
    pub(super) fn since(&self, before: &Self) -> Self {
        let before = before.coarsen(self.scale);
        let mut own = self.clone();
        own.zero -= before.zero.min(own.zero);
        for (index, count) in (before.first..).zip(&before.counts) {
            if let Some(place) = usize::try_from(index - own.first)
                .ok()
                .and_then(|at| own.counts.get_mut(at))
            {
                *place -= (*count).min(*place);
            }
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grown(parts: &[Vec<u64>]) -> Times {
        let limits = [5, 25, 300, 5_000].map(Duration::from_millis);
        let mut times = GrowingTimes::new(limits.into());
        for part in parts {
            times.add(&histogram(part));
        }
        times.take()
    }

    fn histogram(us: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for us in us {
            histogram.record(Duration::from_micros(*us));
        }
        histogram
    }

    #[test]
    fn a_boundary_counts_what_is_within_it() {
        let times = grown(&[vec![1_000, 5_000, 5_100], vec![300_000, 9_000_000]]);
        let counts: Vec<u64> = times.classic.iter().map(|(_, count)| *count).collect();
        assert_eq!((counts, times.count), (vec![2, 3, 4, 4], 5));
        assert!((times.sum - 9.3111).abs() < 1e-9, "{}", times.sum);
        let p50 = times.own.quantiles[0];
        assert!(
            p50.0 == "p50" && (p50.1 - 0.0051).abs() < 1e-4,
            "{:?}",
            times.own
        );
    }

    #[test]
    fn a_narrow_range_has_fine_buckets_and_a_wide_one_few() {
        assert_eq!(grown(&[vec![20_000, 40_000]]).exponential.scale, 5);
        let wide = grown(&[vec![2, 3_000_000_000]]).exponential;
        assert!(wide.counts.len() <= 160, "{}", wide.counts.len());
        assert_eq!(wide.scale, 2);
        let nothing = grown(&[vec![0, 1]]).exponential;
        assert_eq!((nothing.zero, nothing.counts.len()), (2, 0));
    }

    proptest! {
        #[test]
        fn every_time_is_in_the_bucket_that_holds_it(us in 2..4_000_000_000_u64) {
            let times = grown(&[vec![us]]).exponential;
            prop_assert_eq!(times.counts.as_slice(), [1]);
            let bound = |index: i32| (f64::from(index) / f64::from(1 << times.scale)).exp2();
            let seconds = us as f64 / 1e6;
            // The middle of a bucket of the histogram is within 0.1 % of what it holds.
            prop_assert!(bound(times.first) <= seconds * 1.001);
            prop_assert!(seconds * 0.999 <= bound(times.first + 1));
        }

        #[test]
        fn what_came_since_is_the_difference_whatever_the_scales(
            first in proptest::collection::vec(0..4_000_000_000_u64, 0..30),
            second in proptest::collection::vec(0..4_000_000_000_u64, 0..30),
        ) {
            let before = grown(std::slice::from_ref(&first)).exponential;
            let after = grown(&[first, second.clone()]).exponential;
            let alone = grown(&[second]).exponential;
            let own = after.since(&before);
            let sum = |of: &Exponential| of.counts.iter().sum::<u64>() + of.zero;
            prop_assert_eq!(sum(&own), sum(&alone));
            let alone = alone.coarsen(own.scale);
            for (index, count) in (own.first..).zip(&own.counts) {
                let at = usize::try_from(index - alone.first).ok();
                let there = at.and_then(|at| alone.counts.get(at)).copied().unwrap_or(0);
                prop_assert_eq!(*count, there, "bucket {}", index);
            }
        }
    }
}

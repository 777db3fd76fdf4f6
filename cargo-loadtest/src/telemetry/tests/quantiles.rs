//! Quantiles of classic buckets, computed as Prometheus does, and the number of their series.

use super::{frame, intervals, settings};
use crate::session::sample;
use crate::telemetry::HistogramWeight;
use crate::telemetry::bounds::{Detail, MOST_BOUNDARIES, find_boundaries};
use crate::telemetry::histogram::GrowingTimes;
use crate::telemetry::interval::{Interval, SeriesValue, Times};
use crate::telemetry::tracker::TrackerSettings;
use loadtest_model::definition::{Bound, Comparator, Metric, Part, Statistic, Threshold};
use loadtest_model::metrics::Histogram;
use loadtest_model::plan::ScopedThreshold;
use loadtest_model::record::RunStart;
use std::collections::BTreeSet;
use std::time::Duration;

/// A time as a multiple of its scale, by the share of shorter ones.
type Shape = fn(f64) -> f64;

const SHAPES: [(&str, Shape); 5] = [
    ("even", |share| 0.2 + share),
    ("narrow", |share| 1.0 + 0.01 * share),
    ("exponential", |share| -(1.0 - share).ln()),
    ("long tail", |share| (share / (1.0 - share)).cbrt()),
    ("two modes", |share| {
        if share < 0.9 {
            1.0 + share
        } else {
            20.0 + share
        }
    }),
];
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// Returns `histogram_quantile(quantile, ..)` of Prometheus: linear within a bucket, whose first one begins with 0, and
/// the last boundary for all beyond it.
fn histogram_quantile(quantile: f64, times: &Times) -> f64 {
    let rank = quantile * times.count as f64;
    let mut lower = (0.0, 0.0);
    for (boundary, count) in &times.classic {
        let count = *count as f64;
        if count >= rank {
            let share = (rank - lower.1) / (count - lower.1);
            return lower.0 + (boundary - lower.0) * share;
        }
        lower = (*boundary, count);
    }
    lower.0
}

fn start_with_limit(ms: u64) -> RunStart {
    let mut start = sample::start();
    let metric = Metric::Time(Part::Whole, Statistic::P95);
    let bound = Bound::Time(Duration::from_millis(ms));
    let threshold = Threshold::new(metric, Comparator::Less, bound);
    let scoped = ScopedThreshold::new(&start.definition, None, threshold);
    start.plan.thresholds.push(scoped);
    for grading in &mut start.plan.grading {
        grading.target = Duration::from_millis(ms);
    }
    start
}

/// Returns true if each quantile of the buckets is at most 10 % from that of the times.
fn are_near(start: &RunStart, most: usize, shape: Shape, scale_ms: f64) -> bool {
    let samples = (0..10_000).map(|i| scale_ms * shape((f64::from(i) + 0.5) / 1e4));
    let samples: Vec<f64> = samples.map(|ms| ms / 1e3).collect();
    let mut histogram = Histogram::default();
    for seconds in &samples {
        histogram.record(Duration::from_secs_f64(*seconds));
    }
    let mut growing = GrowingTimes::new(find_boundaries(&start.plan, most));
    growing.add(&histogram);
    let times = growing.take();
    QUANTILES.iter().all(|quantile| {
        let exact = samples[(quantile * 1e4) as usize - 1];
        let found = histogram_quantile(*quantile, &times);
        // A bucket of the histogram itself is 0.1 % wide.
        (found / exact - 1.0).abs() <= 0.102
    })
}

#[test]
fn quantiles_of_classic_buckets_are_within_10_percent() {
    for limit_ms in [5, 100, 297, 3_000] {
        let start = start_with_limit(limit_ms);
        for (name, shape) in SHAPES {
            for scale_ms in [0.4, 3.0, 60.0, 297.0, 2_000.0] {
                assert!(
                    are_near(&start, MOST_BOUNDARIES, shape, scale_ms),
                    "{name}, {scale_ms} ms, with the limit {limit_ms} ms"
                );
            }
        }
    }
}

#[test]
fn with_little_room_quantiles_near_a_limit_are_within_10_percent() {
    let start = start_with_limit(300);
    for (name, shape) in &SHAPES[..2] {
        assert!(are_near(&start, 60, *shape, 297.0), "{name}");
    }
    // Between the usual boundaries alone, 297 ms are shown as some 390 ms.
    assert!(!are_near(&start_with_limit(100), 24, SHAPES[1].1, 297.0));
}

/// The settings of a run that has room for so many series.
fn settings_for(most: usize, start: &RunStart) -> TrackerSettings {
    let weight = HistogramWeight {
        is_classic: true,
        is_native: false,
    };
    let scenarios = [&start.definition];
    let detail = Detail::for_room(most, weight, &scenarios);
    TrackerSettings {
        detail,
        boundaries: detail.count_boundaries(most, weight, &scenarios),
        ..settings(true, most)
    }
}

fn count_series(interval: &Interval) -> usize {
    let all = interval.all_series();
    let series = all.map(|(_, series)| match &series.value {
        SeriesValue::Histogram(times) => times.classic.len() + 3,
        _ => 1,
    });
    series.sum()
}

#[test]
fn the_series_of_a_run_stay_within_their_number_and_their_buckets_the_same() {
    let start = start_with_limit(300);
    for most in [10_000, 2_000, 1_000] {
        let settings = settings_for(most, &start);
        let all = intervals(start.clone(), &settings, &[frame(2), frame(3), frame(4)]);
        let counts = all.iter().map(count_series);
        assert!(counts.max().unwrap() <= most, "{most}");
        assert_eq!(settings.budget.left_out(), 0, "{most}");
        let sets: BTreeSet<Vec<u64>> = all
            .iter()
            .flat_map(Interval::all_series)
            .filter_map(|(_, series)| match &series.value {
                SeriesValue::Histogram(times) => Some(&times.classic),
                _ => None,
            })
            .map(|buckets| buckets.iter().map(|(le, _)| le.to_bits()).collect())
            .collect();
        assert_eq!(sets.len(), 1, "{most}");
    }
}

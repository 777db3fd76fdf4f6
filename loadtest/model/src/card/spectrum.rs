//! The percentile spectrum: the whole distribution of times, its tail stretched, as `HdrHistogram` plots it.

use crate::definition::micros;
use crate::metrics::Times;
use serde::Serialize;
use std::time::Duration;

/// Points for each factor of ten that the rest above a quantile shrinks by.
const PER_DECADE: u32 = 10;

/// A point of the spectrum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SpectrumPoint {
    /// The quantile, a share of one; 1 for the longest.
    pub quantile: f64,
    /// The time that this share of all stays within.
    #[serde(rename = "time_us", with = "micros")]
    pub time: Duration,
}

impl SpectrumPoint {
    /// The spectrum of `times`, as far up as there are samples to tell: the last point is the maximum.
    pub(super) fn all(times: &Times<'_>) -> Vec<Self> {
        let samples = times.count();
        let quantiles = (0..).map(|i| 1.0 - 10_f64.powf(-f64::from(i) / f64::from(PER_DECADE)));
        quantiles
            .take_while(|quantile| (1.0 - quantile) * samples as f64 >= 1.0)
            .filter_map(|quantile| Some((quantile, times.quantile(quantile)?)))
            .chain(times.max().map(|longest| (1.0, longest)))
            .map(|(quantile, time)| Self { quantile, time })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Histogram;

    #[test]
    fn it_reaches_as_far_as_there_are_samples_and_ends_with_the_longest() {
        let mut times = Histogram::default();
        assert!(SpectrumPoint::all(&Times::new(&times, &[])).is_empty());
        for ms in 1..=1_000 {
            times.record(Duration::from_millis(ms));
        }
        let points = SpectrumPoint::all(&Times::new(&times, &[]));
        assert!(points.is_sorted_by(|a, b| a.quantile < b.quantile && a.time <= b.time));
        assert_eq!(points.len(), 32);
        assert!((points[10].quantile - 0.9).abs() < 1e-9);
        assert_eq!(points[10].time.as_millis(), 900);
        let last = points[31];
        assert_eq!((last.quantile, last.time.as_millis()), (1.0, 1_000));
    }
}

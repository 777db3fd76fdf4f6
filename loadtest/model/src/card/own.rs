//! The custom metrics of a scenario, a row per name.

use super::step::Quantiles;
use crate::definition::GaugeFigure;
use crate::metrics::{GaugeTally, Histogram, OTHERS, OwnTally};
use serde::Serialize;
use std::collections::BTreeMap;

/// A counter of the scenario's own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CounterRow {
    /// The name that the scenario gave.
    pub name: String,
    /// The sum of what was counted.
    pub count: u64,
    /// The same per second.
    pub per_second: Option<f64>,
}

/// A duration of the scenario's own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimingRow {
    /// The name that the scenario gave.
    pub name: String,
    /// The number of recorded times.
    pub count: u64,
    /// The durations.
    pub time: Quantiles,
}

/// A gauge of the scenario's own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GaugeRow {
    /// The name that the scenario gave.
    pub name: String,
    /// The number of times that it was set.
    pub count: u64,
    /// The last number by time.
    pub last: f64,
    /// The smallest number.
    pub min: f64,
    /// The largest number.
    pub max: f64,
    /// The mean of the numbers.
    pub mean: f64,
}

impl CounterRow {
    /// By name; what has no name of its own comes last.
    pub(super) fn all(own: &OwnTally, seconds: Option<f64>) -> Vec<Self> {
        let row = |(name, count): (&String, &u64)| Self {
            name: name.clone(),
            count: *count,
            per_second: seconds.map(|seconds| *count as f64 / seconds),
        };
        others_last(&own.counters).map(row).collect()
    }
}

impl TimingRow {
    /// By name; what has no name of its own comes last.
    pub(super) fn all(own: &OwnTally) -> Vec<Self> {
        let row = |(name, times): (&String, &Histogram)| Self {
            name: name.clone(),
            count: times.count(),
            time: Quantiles::from_histogram(times),
        };
        others_last(&own.timings).map(row).collect()
    }
}

impl GaugeRow {
    /// By name; what has no name of its own comes last.
    pub(super) fn all(own: &OwnTally) -> Vec<Self> {
        let row = |(name, gauge): (&String, &GaugeTally)| {
            let figure = |figure| gauge.figure(figure);
            Some(Self {
                name: name.clone(),
                count: gauge.count,
                last: figure(GaugeFigure::Last)?,
                min: figure(GaugeFigure::Min)?,
                max: figure(GaugeFigure::Max)?,
                mean: figure(GaugeFigure::Mean)?,
            })
        };
        others_last(&own.gauges).filter_map(row).collect()
    }
}

fn others_last<T>(rows: &BTreeMap<String, T>) -> impl Iterator<Item = (&String, &T)> {
    let named = rows.iter().filter(|(name, _)| *name != OTHERS);
    named.chain(rows.get_key_value(OTHERS))
}

#[cfg(test)]
mod tests {
    use super::OwnTally;
    use crate::card::{Card, sample};
    use std::time::Duration;

    #[test]
    fn rows_are_of_the_steady_part_by_name_with_the_others_last() {
        let mut record = sample::record(&["login"]);
        let windows = &mut record.windows;
        for own in [&mut windows.warm_up.own, &mut windows.ramp.own] {
            own.count("early", 1);
            own.time("queued", Duration::from_secs(9));
        }
        let own = &mut windows.steady.own;
        for number in 0..70 {
            own.count(&format!("sold_out {number:02}"), 2);
        }
        own.count("(others)", 30);
        let mut card = Card::grade(&record, None);
        let rows = &card.counters;
        assert_eq!((rows.len(), &*rows[0].name), (65, "sold_out 00"));
        assert_eq!((rows[0].count, rows[0].per_second), (2, Some(0.2)));
        assert_eq!((&*rows[64].name, rows[64].count), ("(others)", 12 + 30));
        assert!(card.timings.is_empty());

        let own = &mut record.windows.steady.own;
        *own = OwnTally::default();
        for ms in 1..=100 {
            own.time("queued", Duration::from_millis(ms));
            own.gauge("depth", ms as f64, Duration::from_millis(ms));
        }
        card = Card::grade(&record, None);
        assert!(card.counters.is_empty());
        let [queued] = card.timings.as_slice() else {
            panic!("one row: {:?}", card.timings);
        };
        assert_eq!((&*queued.name, queued.count), ("queued", 100));
        let ms = |time: Option<Duration>| time.map(|time| time.as_millis());
        assert_eq!(
            (ms(queued.time.p50), ms(queued.time.p95)),
            (Some(50), Some(95))
        );
        assert_eq!(queued.time.max, Some(Duration::from_millis(100)));
        let depth = &card.gauges[0];
        assert_eq!((&*depth.name, depth.count), ("depth", 100));
        let figures = (depth.last, depth.min, depth.max, depth.mean);
        assert_eq!(figures, (100.0, 1.0, 100.0, 50.5));
    }

    #[test]
    fn a_card_without_any_does_not_mention_them() {
        let card = Card::grade(&sample::record(&["login"]), None);
        let json = serde_json::to_value(&card).unwrap();
        for list in ["counters", "timings", "gauges"] {
            assert!(json.get(list).is_none(), "{list}");
        }
    }
}

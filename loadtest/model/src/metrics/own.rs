//! What the scenario's code counts and times by itself, a row per name.

use super::{Histogram, OTHERS, micros};
use crate::definition::GaugeFigure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The most names of one scenario; what has no name of its own is counted under [`OTHERS`].
const MOST: usize = 64;

/// The custom metrics of a scenario: `vu.count(..)`, `vu.time(..)` and `vu.gauge(..)`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnTally {
    /// The sums of what was counted, by name.
    pub counters: BTreeMap<String, u64>,
    /// The durations, by name.
    pub timings: BTreeMap<String, Histogram>,
    /// The numbers of gauges, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<String, GaugeTally>,
}

/// The numbers that a gauge was set to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GaugeTally {
    /// The number of times that it was set.
    pub count: u64,
    /// The sum of the numbers.
    pub sum: f64,
    /// The smallest number.
    pub min: f64,
    /// The largest number.
    pub max: f64,
    /// The last number by time.
    pub last: f64,
    /// Its time since the start of the run.
    pub last_us: u64,
}

impl GaugeTally {
    /// Adds a finite number that was set `at` a time since the start of the run.
    pub fn set(&mut self, number: f64, at: Duration) {
        let last_us = micros(at);
        let is_last = self.count == 0 || last_us >= self.last_us;
        self.merge(&Self {
            count: 1,
            sum: number,
            min: number,
            max: number,
            last: number,
            last_us,
        });
        if is_last {
            self.last = number;
        }
    }

    /// Adds all of `other`. Of two numbers of the same time the larger one is the last.
    pub fn merge(&mut self, other: &Self) {
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        if other.count == 0 {
            return;
        }
        self.count += other.count;
        // JSON has no infinity.
        self.sum = (self.sum + other.sum).clamp(f64::MIN, f64::MAX);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        if (other.last_us, other.last) > (self.last_us, self.last) {
            (self.last_us, self.last) = (other.last_us, other.last);
        }
    }

    /// A figure of the numbers; `None` without any.
    pub fn figure(&self, figure: GaugeFigure) -> Option<f64> {
        let value = match figure {
            GaugeFigure::Last => self.last,
            GaugeFigure::Min => self.min,
            GaugeFigure::Max => self.max,
            GaugeFigure::Mean => self.sum / self.count as f64,
        };
        (self.count > 0).then_some(value)
    }
}

impl OwnTally {
    /// Adds to a counter.
    pub fn count(&mut self, name: &str, number: u64) {
        let is_full = self.is_full();
        let sum = find_row(&mut self.counters, name, is_full);
        *sum = sum.saturating_add(number);
    }

    /// Adds a duration.
    pub fn time(&mut self, name: &str, time: Duration) {
        let is_full = self.is_full();
        find_row(&mut self.timings, name, is_full).record(time);
    }

    /// Adds a finite number of a gauge, which it had `at` a time since the start of the run.
    pub fn gauge(&mut self, name: &str, number: f64, at: Duration) {
        let is_full = self.is_full();
        find_row(&mut self.gauges, name, is_full).set(number, at);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (name, number) in &other.counters {
            self.count(name, *number);
        }
        for (name, times) in &other.timings {
            let is_full = self.is_full();
            find_row(&mut self.timings, name, is_full).merge(times);
        }
        for (name, numbers) in &other.gauges {
            let is_full = self.is_full();
            find_row(&mut self.gauges, name, is_full).merge(numbers);
        }
    }

    /// Returns true if nothing was counted, timed or set.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty() && self.timings.is_empty() && self.gauges.is_empty()
    }

    /// Returns true if no further name gets a row.
    fn is_full(&self) -> bool {
        count_names(&self.counters) + count_names(&self.timings) + count_names(&self.gauges) >= MOST
    }
}

/// The number of names with a row of their own.
fn count_names<T>(rows: &BTreeMap<String, T>) -> usize {
    rows.len() - usize::from(rows.contains_key(OTHERS))
}

/// The row `name`, or the one of what has no row of its own.
fn find_row<'a, T: Default>(
    rows: &'a mut BTreeMap<String, T>,
    name: &str,
    is_full: bool,
) -> &'a mut T {
    let is_new = !rows.contains_key(name);
    let name = if is_new && is_full { OTHERS } else { name };
    rows.entry(name.to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Tally;

    const MS: Duration = Duration::from_millis(1);

    fn counted(names: std::ops::Range<u64>) -> OwnTally {
        let mut own = OwnTally::default();
        for name in names {
            own.count(&format!("order {name:03}"), 1);
        }
        own
    }

    #[test]
    fn names_beyond_the_most_are_counted_with_the_others() {
        let mut own = counted(0..70);
        assert_eq!((own.counters.len(), own.counters[OTHERS]), (65, 6));
        // A name is one of either kind; durations find no room either.
        own.time("queued", MS);
        own.gauge("queue", 1.0, MS);
        own.time("packed", MS);
        assert_eq!(own.timings.len(), 1);
        assert_eq!(own.timings[OTHERS].count(), 2);
        // Merging keeps the bound and loses nothing.
        own.merge(&counted(60..100));
        assert_eq!((own.counters.len(), own.timings.len()), (65, 1));
        assert_eq!(own.counters.values().sum::<u64>(), 110);
        assert_eq!(own.counters["order 060"], 2, "its own row is found again");
    }

    #[test]
    fn what_several_workers_saw_adds_up_whatever_the_order() {
        let mut one = OwnTally::default();
        one.count("sold_out", 2);
        one.time("queued", MS);
        let mut other = OwnTally::default();
        other.count("sold_out", u64::MAX);
        other.count("never", 0);
        other.time("queued", 3 * MS);
        let (mut first, mut second) = (one.clone(), other.clone());
        first.merge(&other);
        second.merge(&one);
        assert_eq!(first, second);
        assert_eq!(first.counters["sold_out"], u64::MAX, "it never overflows");
        assert_eq!(first.counters["never"], 0, "what was counted is there");
        let queued = &first.timings["queued"];
        assert_eq!((queued.count(), queued.max()), (2, Some(3 * MS)));
    }

    #[test]
    fn a_gauge_keeps_what_all_workers_set_and_its_last_number_is_the_last_by_time() {
        let (mut one, mut other) = (OwnTally::default(), OwnTally::default());
        one.gauge("queue", 3.5, 5 * MS);
        one.gauge("queue", -2.0, 9 * MS);
        other.gauge("queue", 8.0, 7 * MS);
        let (mut first, mut second) = (one.clone(), other.clone());
        first.merge(&other);
        second.merge(&one);
        assert_eq!(first, second);
        let queue = &first.gauges["queue"];
        let figures = GaugeFigure::ALL.map(|figure| queue.figure(figure).unwrap());
        assert_eq!((queue.count, figures), (3, [-2.0, -2.0, 8.0, 9.5 / 3.0]));
        // What one worker sets at one time keeps its order.
        one.gauge("queue", 1.0, 9 * MS);
        let queue = &one.gauges["queue"];
        assert_eq!((queue.count, queue.last), (3, 1.0));
        assert_eq!(GaugeTally::default().figure(GaugeFigure::Max), None);
    }

    #[test]
    fn a_gauge_of_huge_numbers_can_be_written_and_read() {
        let mut own = OwnTally::default();
        own.gauge("huge", f64::MAX, MS);
        own.gauge("huge", f64::MAX, MS);
        let json = serde_json::to_string(&own).unwrap();
        assert_eq!(serde_json::from_str::<OwnTally>(&json).unwrap(), own);
    }

    #[test]
    fn a_tally_in_which_nothing_was_given_says_nothing_of_it() {
        let json = serde_json::to_value(Tally::default()).unwrap();
        assert!(json.get("own").is_none(), "{json}");
        let mut tally = Tally::default();
        tally.own.count("sold_out", 2);
        tally.own.time("queued", MS);
        let json = serde_json::to_string(&tally).unwrap();
        let read: Tally = serde_json::from_str(&json).unwrap();
        assert_eq!(read, tally);
    }
}

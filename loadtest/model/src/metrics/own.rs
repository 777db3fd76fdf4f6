//! What the scenario's code counts and times by itself, a row per name.

use super::{Histogram, OTHERS};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The most names of one scenario; what has no name of its own is counted under [`OTHERS`].
const MOST: usize = 64;

/// The custom metrics of a scenario: `vu.count(..)` and `vu.time(..)`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnTally {
    /// The sums of what was counted, by name.
    pub counters: BTreeMap<String, u64>,
    /// The durations, by name.
    pub timings: BTreeMap<String, Histogram>,
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

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (name, number) in &other.counters {
            self.count(name, *number);
        }
        for (name, times) in &other.timings {
            let is_full = self.is_full();
            find_row(&mut self.timings, name, is_full).merge(times);
        }
    }

    /// Returns true if nothing was counted or timed.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty() && self.timings.is_empty()
    }

    /// Returns true if no further name gets a row.
    fn is_full(&self) -> bool {
        let others = usize::from(self.counters.contains_key(OTHERS))
            + usize::from(self.timings.contains_key(OTHERS));
        self.counters.len() + self.timings.len() - others >= MOST
    }
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
    use super::super::Tally;
    use super::*;

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

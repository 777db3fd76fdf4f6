//! The figures of streams of events.

use crate::metrics::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The measurements of the streams of a step. Gaps and paces are those of streams that ended well: one that died young
/// would look fast.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamTally {
    /// From a request that was due to the first event that counts; of a stream that timed out before, to its deadline.
    pub first_event: Histogram,
    /// From each of these events to the next.
    pub gap: Histogram,
    /// The time for each unit after the first, a value for each stream of two units and more.
    pub per_unit: Histogram,
    /// The units of work, such as tokens.
    pub units: u64,
    /// The events.
    pub events: u64,
    /// The events that came by the same read as the one before.
    pub together: u64,
}

/// What is measured of one stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StreamSample {
    /// The time to the first event that counts.
    pub first_event: Option<Duration>,
    /// The times between the events from that one on.
    pub gaps: Vec<Duration>,
    /// The units of work.
    pub units: u64,
    /// All events.
    pub events: u64,
    /// The events that came by the same read as the one before.
    pub together: u64,
    /// True for the rest of a stream whose begin counts elsewhere.
    pub is_continued: bool,
}

impl StreamSample {
    /// The sample of a stream of which every event counts and is a unit of work, by the time of each and whether it came
    /// with the one before.
    pub fn of_events(mut events: impl Iterator<Item = (Duration, bool)>) -> Self {
        let mut sample = Self::default();
        let Some((first, _)) = events.next() else {
            return sample;
        };
        sample.first_event = Some(first);
        let mut last = first;
        for (at, is_together) in events {
            sample.gaps.push(at.saturating_sub(last));
            sample.together += u64::from(is_together);
            last = at;
        }
        sample.events = sample.gaps.len() as u64 + 1;
        sample.units = sample.events;
        sample
    }

    /// The same stream, whose request was due so much earlier.
    #[must_use]
    pub fn delayed(mut self, by: Duration) -> Self {
        self.first_event = self.first_event.map(|time| time + by);
        self
    }

    /// Splits off the events from a time on that counts from the begin of the request, where every event is a unit of
    /// work; `None` without such events.
    pub fn split_off(&mut self, at: Duration) -> Option<Self> {
        let mut time = self.first_event?;
        if time >= at {
            return Some(std::mem::take(self));
        }
        let before = self.gaps.iter().take_while(|gap| {
            time += **gap;
            time < at
        });
        let gaps = self.gaps.split_off(before.count());
        let events = gaps.len() as u64;
        let at_once = gaps.iter().filter(|gap| gap.is_zero()).count() as u64;
        let rest = Self {
            first_event: None,
            gaps,
            units: events,
            events,
            together: at_once.min(self.together),
            is_continued: true,
        };
        self.units -= events;
        self.events -= events;
        self.together -= rest.together;
        (events > 0).then_some(rest)
    }

    /// Returns the units of work from one time to another, which count from the begin of the request: of the units as many
    /// as of the events.
    pub fn units_between(&self, from: Duration, to: Duration) -> u64 {
        let (mut all, mut within) = (0, 0);
        let mut at = self.first_event.unwrap_or_default();
        let mut count = |at: Duration| {
            all += 1;
            within += u64::from(from <= at && at <= to);
        };
        if self.first_event.is_some() {
            count(at);
        }
        for gap in &self.gaps {
            at += *gap;
            count(at);
        }
        (self.units * within + all / 2)
            .checked_div(all)
            .unwrap_or_default()
    }

    /// The mean time for a unit after the first: (last event - first event) / (units - 1); `None` with fewer than two.
    pub fn per_unit(&self) -> Option<Duration> {
        let first = u64::from(!self.is_continued);
        let rest = u32::try_from(self.units.checked_sub(first)?).ok()?;
        let time: Duration = self.gaps.iter().sum();
        let is_begun = self.first_event.is_some() || self.is_continued;
        (is_begun && rest > 0).then(|| time / rest)
    }
}

impl StreamTally {
    /// Returns how many of `ok` streams had their first event within `limit`, if it comes to them as late as to all.
    pub(crate) fn share_of_first_events(&self, limit: Duration, ok: u64) -> u64 {
        let all = self.first_event.count().max(1) as f64;
        let share = self.first_event.count_at_most(limit) as f64 / all;
        (ok as f64 * share).round() as u64
    }

    /// Adds a stream, of which gaps and units count if it `ended_well`.
    pub fn record(&mut self, stream: &StreamSample, ended_well: bool) {
        if let Some(time) = stream.first_event {
            self.first_event.record(time);
        }
        self.events += stream.events;
        self.together += stream.together;
        if ended_well {
            self.units += stream.units;
            for gap in &stream.gaps {
                self.gap.record(*gap);
            }
            if let Some(time) = stream.per_unit() {
                self.per_unit.record(time);
            }
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.first_event.merge(&other.first_event);
        self.gap.merge(&other.gap);
        self.per_unit.merge(&other.per_unit);
        self.units += other.units;
        self.events += other.events;
        self.together += other.together;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_pace_is_that_after_the_first_unit() {
        let mut stream = StreamSample {
            first_event: Some(200 * MS),
            gaps: vec![10 * MS, Duration::ZERO, 20 * MS],
            units: 4,
            events: 5,
            together: 1,
            is_continued: false,
        };
        assert_eq!(stream.per_unit(), Some(10 * MS));
        stream.units = 16;
        assert_eq!(stream.per_unit(), Some(2 * MS), "units are no events");
        stream.units = 1;
        assert_eq!(stream.per_unit(), None);
        stream.first_event = None;
        assert_eq!(stream.per_unit(), None);
    }

    #[test]
    fn a_stream_is_split_where_another_part_of_the_load_begins() {
        let times = [100, 150, 150, 400, 600].map(|at| (at * MS, at == 150));
        let mut stream = StreamSample::of_events(times.into_iter());
        let whole = (stream.clone(), stream.per_unit());
        assert_eq!(whole.1, Some(125 * MS));
        let rest = stream.split_off(400 * MS).expect("two events");
        assert_eq!(stream.first_event, Some(100 * MS));
        assert_eq!(stream.gaps, [50 * MS, Duration::ZERO]);
        assert_eq!((stream.events, stream.units, stream.together), (3, 3, 2));
        assert_eq!(stream.per_unit(), Some(25 * MS));
        assert_eq!(
            (rest.first_event, &*rest.gaps),
            (None, &[250 * MS, 200 * MS][..])
        );
        assert_eq!((rest.events, rest.units, rest.together), (2, 2, 0));
        assert_eq!(rest.per_unit(), Some(225 * MS));
        // All of it, and nothing.
        assert_eq!(whole.0.clone().split_off(100 * MS), Some(whole.0.clone()));
        assert_eq!(whole.0.clone().split_off(601 * MS), None);
    }

    #[test]
    fn a_stream_that_failed_has_a_first_event_and_no_pace() {
        let stream = StreamSample {
            first_event: Some(200 * MS),
            gaps: vec![10 * MS],
            units: 2,
            events: 2,
            together: 0,
            is_continued: false,
        };
        let mut tally = StreamTally::default();
        tally.record(&stream, false);
        tally.record(&stream, true);
        let (first, gap, pace) = (&tally.first_event, &tally.gap, &tally.per_unit);
        assert_eq!((first.count(), gap.count(), pace.count()), (2, 1, 1));
        assert_eq!((tally.units, tally.events), (2, 4));
        let mut both = tally.clone();
        both.merge(&tally);
        assert_eq!((both.first_event.count(), both.units), (4, 4));
    }
}

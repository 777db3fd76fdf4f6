//! The course of a run over time: a cell per second, and never more than [`Cells::LIMIT`].

use super::histogram::add_compact;
use super::is_zero;
use super::{Frame, Health, Histogram, StreamTally, Tally, WebSocketTally};
use crate::metrics::ErrorKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A stretch of a run, small enough to keep hundreds. Everything due in ramp and steady part counts in the second
/// it *ended* in; warm-up does not count. Times in the steady part are those of what was due in it, as in the
/// headline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The first second of the cell, counted from the start of the run.
    pub second: u32,
    /// The number of seconds it covers.
    pub seconds: u32,
    /// Iterations begun.
    pub started: u64,
    /// Journeys that ended ok.
    pub ok: u64,
    /// Journeys that ended otherwise.
    pub failed: u64,
    /// Arrivals that never began.
    pub dropped: u64,
    /// The most virtual users within an iteration.
    pub active_users: u32,
    /// The generator's own health.
    #[serde(default)]
    pub health: Health,
    /// The WebSockets; those of the warm-up too.
    #[serde(default, skip_serializing_if = "WebSocketTally::is_empty")]
    pub websockets: WebSocketTally,
    /// The longest start lateness that is the generator's fault.
    pub latest_us: u64,
    /// Iterations begun that had waited for a free user.
    #[serde(default)]
    pub waited: u64,
    /// The longest of these waits.
    #[serde(default)]
    pub longest_wait_us: u64,
    /// Journey time of ok journeys.
    pub time: CompactHistogram,
    /// Journey time of failed journeys.
    #[serde(default, skip_serializing_if = "CompactHistogram::is_empty")]
    pub failed_time: CompactHistogram,
    /// The steps, in the order of the scenario.
    pub steps: Vec<CellStep>,
    /// Failures by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
}

/// The counts of one step in one cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CellStep {
    /// Times the step ran to an end.
    pub executed: u64,
    /// The executions that failed.
    pub failed: u64,
    /// Times it was skipped since an upstream value was missing.
    pub skipped: u64,
    /// Response time of ok executions, and of those that ended at their deadline.
    pub response: CompactHistogram,
    /// Response time of the other failed ones.
    #[serde(default, skip_serializing_if = "CompactHistogram::is_empty")]
    pub failed_response: CompactHistogram,
    /// The executions for which all of `good(..)` holds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub good: u64,
    /// The streams of events, where it reads some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Box<CellStream>>,
}

/// The streams of one step in one cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CellStream {
    /// From a request that was due to the first event that counts.
    pub first_event: CompactHistogram,
    /// The time for each unit after the first, of streams that ended well.
    pub per_unit: CompactHistogram,
}

/// The cells of a run, in the order of time and of equal width.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cells {
    /// The number of seconds per cell.
    pub width: u32,
    /// The cells; a second in which nothing happened may have none.
    pub cells: Vec<Cell>,
}

/// A [`Histogram`] to two significant digits, held encoded: some hundred bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CompactHistogram(pub(super) super::histogram::Encoding);

impl Cells {
    /// The most cells that are kept; when full, neighbours merge and the width doubles.
    pub const LIMIT: usize = 600;

    /// Adds what happened in one second; `is_steady` is true for a second of the steady part.
    pub fn absorb(&mut self, frame: &Frame, is_steady: bool) {
        while (frame.second / self.width) as usize >= Self::LIMIT {
            self.double();
        }
        let start = frame.second / self.width * self.width;
        let mut cell = Cell {
            second: start,
            seconds: self.width,
            ..Cell::default()
        };
        cell.active_users = frame.active_users;
        cell.health = frame.health.clone();
        cell.websockets = frame.websockets.clone();
        let mut tally = Tally::default();
        tally.merge(&frame.windows.ramp);
        tally.merge(&frame.windows.steady);
        cell.started = tally.journey.started;
        cell.ok = tally.journey.ok;
        cell.failed = tally.journey.failed;
        cell.dropped = tally.journey.dropped;
        cell.latest_us = longest_microseconds(&tally.journey.lateness);
        cell.waited = tally.journey.waits.count();
        cell.longest_wait_us = longest_microseconds(&tally.journey.waits);
        let steady = &frame.windows.steady;
        let timed = if is_steady { steady } else { &tally };
        cell.time = CompactHistogram::from_histogram(&timed.journey.time);
        cell.failed_time = CompactHistogram::from_histogram(&timed.journey.failed_time);
        cell.steps.reserve_exact(tally.steps.len());
        for (at, step) in tally.steps.iter().enumerate() {
            let timed = timed.steps.get(at);
            let stream = timed.and_then(|step| step.stream.as_deref());
            let compact = |times: fn(&super::StepTally) -> &Histogram| {
                timed.map_or_else(CompactHistogram::default, |step| {
                    CompactHistogram::from_histogram(times(step))
                })
            };
            cell.steps.push(CellStep {
                executed: step.executed,
                failed: step.failed,
                skipped: step.skipped,
                response: compact(|step| &step.response),
                failed_response: compact(|step| &step.failed_response),
                good: step.good,
                stream: stream.map(|stream| Box::new(CellStream::from_tally(stream))),
            });
            for error in &step.errors {
                *cell.errors.entry(error.kind).or_default() += error.count;
            }
        }
        match self.cells.binary_search_by_key(&start, |cell| cell.second) {
            Ok(found) => self.cells[found].merge(&cell),
            Err(place) => self.cells.insert(place, cell),
        }
    }

    /// Adds the course of another process in the same time: its users were active beside these.
    pub fn add_simultaneous(&mut self, other: &Self) {
        let (wide, narrow) = (self.width.max(other.width), self.width.min(other.width));
        let width = if wide.is_multiple_of(narrow) {
            wide
        } else {
            wide.saturating_mul(narrow)
        };
        let mut other = other.clone();
        for cells in [&mut *self, &mut other] {
            if cells.width != width {
                cells.widen(width);
            }
        }
        for cell in other.cells {
            match self
                .cells
                .binary_search_by_key(&cell.second, |known| known.second)
            {
                Ok(found) => {
                    let known = &mut self.cells[found];
                    let users = known.active_users + cell.active_users;
                    let sockets = known.websockets.most_open + cell.websockets.most_open;
                    known.merge(&cell);
                    known.active_users = users;
                    known.websockets.most_open = sockets;
                }
                Err(place) => self.cells.insert(place, cell),
            }
        }
    }

    fn double(&mut self) {
        self.widen(self.width * 2);
    }

    /// Merges neighbours, so that each cell holds `width` seconds: a multiple of what they hold.
    pub fn widen(&mut self, width: u32) {
        self.width = width;
        let mut merged: Vec<Cell> = Vec::with_capacity(Self::LIMIT);
        for mut cell in self.cells.drain(..) {
            cell.second = cell.second / width * width;
            cell.seconds = width;
            match merged.last_mut() {
                Some(last) if last.second == cell.second => last.merge(&cell),
                _ => merged.push(cell),
            }
        }
        self.cells = merged;
    }
}

impl Default for Cells {
    fn default() -> Self {
        Self {
            width: 1,
            cells: Vec::new(),
        }
    }
}

impl Cell {
    /// Adds a cell of the same time.
    fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.ok += other.ok;
        self.failed += other.failed;
        self.dropped += other.dropped;
        self.active_users = self.active_users.max(other.active_users);
        self.health.merge(&other.health, self.seconds);
        self.websockets.merge(&other.websockets);
        self.latest_us = self.latest_us.max(other.latest_us);
        self.waited += other.waited;
        self.longest_wait_us = self.longest_wait_us.max(other.longest_wait_us);
        self.time.merge(&other.time);
        self.failed_time.merge(&other.failed_time);
        if self.steps.len() < other.steps.len() {
            self.steps.resize_with(other.steps.len(), CellStep::default);
        }
        for (ours, theirs) in self.steps.iter_mut().zip(&other.steps) {
            ours.executed += theirs.executed;
            ours.failed += theirs.failed;
            ours.skipped += theirs.skipped;
            ours.response.merge(&theirs.response);
            ours.failed_response.merge(&theirs.failed_response);
            ours.good += theirs.good;
            if let Some(theirs) = &theirs.stream {
                ours.stream.get_or_insert_default().merge(theirs);
            }
        }
        for (kind, count) in &other.errors {
            *self.errors.entry(*kind).or_default() += count;
        }
    }
}

impl CellStream {
    fn from_tally(stream: &StreamTally) -> Self {
        Self {
            first_event: CompactHistogram::from_histogram(&stream.first_event),
            per_unit: CompactHistogram::from_histogram(&stream.per_unit),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.first_event.merge(&other.first_event);
        self.per_unit.merge(&other.per_unit);
    }
}

fn longest_microseconds(times: &Histogram) -> u64 {
    let longest = times.max().unwrap_or(Duration::ZERO);
    u64::try_from(longest.as_micros()).unwrap_or(u64::MAX)
}

impl CompactHistogram {
    /// One without times.
    pub(crate) const NONE: Self = Self(super::histogram::Encoding::new());

    /// Returns true if it has no times.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Encodes `histogram`, which loses its third digit.
    pub fn from_histogram(histogram: &Histogram) -> Self {
        Self(histogram.compact())
    }

    /// The histogram, to two digits.
    pub fn decode(&self) -> Histogram {
        Histogram::expand(&self.0)
    }

    /// Adds all durations of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
        } else if !other.0.is_empty() {
            self.0 = add_compact(&self.0, &other.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::StreamSample;

    fn frame(second: u32, ok: u64) -> Frame {
        let mut frame = Frame {
            second,
            active_users: second,
            ..Frame::default()
        };
        let mut tally = Tally::new(1);
        tally.journey.started = ok;
        tally.journey.ok = ok;
        tally.steps[0].executed = ok;
        (0..ok).for_each(|_| tally.steps[0].response.record(Duration::from_millis(ok)));
        frame.windows.steady = tally;
        frame
    }

    #[test]
    fn the_sum_of_two_is_that_of_all_their_durations() {
        let (mut one, mut other, mut all) = (
            Histogram::default(),
            Histogram::default(),
            Histogram::default(),
        );
        for micros in [1, 7, 1_234, 56_789, 9_000_000, 4_000_000_000] {
            let time = Duration::from_micros(micros);
            one.record_n(time, 3);
            other.record_n(2 * time, 2);
            all.record_n(time, 3);
            all.record_n(2 * time, 2);
        }
        let mut sum = CompactHistogram::from_histogram(&one);
        sum.merge(&CompactHistogram::from_histogram(&other));
        assert_eq!(sum, CompactHistogram::from_histogram(&all));
    }

    #[test]
    fn cells_never_grow_beyond_their_limit_and_lose_nothing() {
        let mut cells = Cells::default();
        (0..5_000).for_each(|second| cells.absorb(&frame(second, u64::from(second % 7)), true));
        assert!(cells.cells.len() <= Cells::LIMIT, "{}", cells.cells.len());
        assert_eq!(cells.width, 16);
        let expected: u64 = (0..5_000).map(|second| second % 7).sum();
        assert_eq!(
            cells.cells.iter().map(|cell| cell.ok).sum::<u64>(),
            expected
        );
        let recorded: u64 = cells
            .cells
            .iter()
            .map(|cell| cell.steps[0].response.decode().count())
            .sum();
        assert_eq!(recorded, expected);
        assert!(
            cells
                .cells
                .windows(2)
                .all(|pair| pair[0].second + 16 == pair[1].second)
        );
    }

    #[test]
    fn the_troubles_of_the_generator_outlive_the_merging_of_cells() {
        let troubled = |second, stall_ms: u64| {
            let mut frame = frame(second, 1);
            frame.health = Health {
                worker_cpu_us: 1_000,
                busiest_worker: f64::from(second) / 1_000.0,
                stalled_seconds: u32::from(stall_ms > 0),
                longest_stall_us: stall_ms * 1_000,
                kept_by: None,
                throttled_us: 500,
                stolen: 0.1,
                memory_bytes: 0,
            };
            let journey = &mut frame.windows.steady.journey;
            journey.waits.record(Duration::from_millis(second.into()));
            frame
        };
        let mut cells = Cells::default();
        for second in 0..1_000 {
            let stall = if second % 100 == 7 {
                100 + u64::from(second)
            } else {
                0
            };
            cells.absorb(&troubled(second, stall), true);
            // Another worker reports later; if it stalled too, that is no other second.
            if second < 600 {
                cells.absorb(&troubled(second, stall), true);
            }
        }
        assert_eq!(cells.width, 2);
        let health = |of: fn(&Health) -> u64| -> u64 {
            cells.cells.iter().map(|cell| of(&cell.health)).sum()
        };
        assert_eq!(health(|health| health.stalled_seconds.into()), 10);
        assert_eq!(health(|health| health.throttled_us), 1_600 * 500);
        assert_eq!(health(|health| health.worker_cpu_us), 1_600 * 1_000);
        let last = &cells.cells[499];
        assert!((last.health.busiest_worker - 0.999).abs() < 1e-9);
        assert_eq!((last.waited, last.longest_wait_us), (2, 999_000));
        assert_eq!(cells.cells[453].health.longest_stall_us, 1_007_000);
    }

    #[test]
    fn times_of_the_steady_part_are_those_of_what_was_due_in_it() {
        let mut cells = Cells::default();
        for (second, is_steady) in [(0, false), (1, true)] {
            let mut frame = frame(second, 2);
            frame.windows.ramp = frame.windows.steady.clone();
            let journeys = &mut frame.windows.ramp.journey;
            journeys.time.record(Duration::from_secs(2));
            cells.absorb(&frame, is_steady);
        }
        let counts = cells.cells.iter().map(|cell| {
            let journeys = cell.time.decode().count();
            (cell.ok, journeys, cell.steps[0].response.decode().count())
        });
        assert_eq!(counts.collect::<Vec<_>>(), [(4, 1, 4), (4, 0, 2)]);
    }

    #[test]
    fn streams_and_good_executions_add_up_over_cells() {
        let mut cells = Cells::default();
        for second in 0..2 {
            let mut frame = frame(second, 3);
            let step = &mut frame.windows.steady.steps[0];
            step.good = 2;
            let stream = StreamSample {
                first_event: Some(Duration::from_millis(200)),
                gaps: vec![Duration::from_millis(10); 2],
                units: 3,
                events: 3,
                together: 0,
                ..StreamSample::default()
            };
            step.stream.get_or_insert_default().record(&stream, true);
            cells.absorb(&frame, true);
        }
        cells.widen(2);
        let step = &cells.cells[0].steps[0];
        let stream = step.stream.as_ref().unwrap();
        let counts = [&stream.first_event, &stream.per_unit].map(|times| times.decode().count());
        assert_eq!((step.good, counts), (4, [2, 2]));
    }

    #[test]
    fn frames_of_the_same_second_add_up() {
        let mut cells = Cells::default();
        cells.absorb(&frame(3, 2), true);
        cells.absorb(&frame(3, 4), true);
        assert_eq!(cells.cells.len(), 1);
        assert_eq!(cells.cells[0].ok, 6);
        assert_eq!(cells.cells[0].steps[0].response.decode().count(), 6);
    }
}

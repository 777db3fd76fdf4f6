//! `Beat`: instants at equal distances within a step. No I/O here: the engine waits for them.

use super::current_sender::current_sender;
use std::time::Duration;
use tokio::time::Instant;

/// The shortest distance of two ticks.
const MIN_INTERVAL: Duration = Duration::from_micros(1);

/// Instants at equal distances, as [`Vu::beat`](crate::Vu::beat) begins them: what a step does at each of them is due
/// then, however long the target took before.
///
/// A loop that pauses sends less to a slow target, and nobody waits in its figures. With a beat, what a step begins at a
/// tick that is overdue, before any of it has ended, counts from the instant of the tick, so that the wait for a slow
/// answer before is part of its time.
#[derive(Debug)]
pub struct Beat {
    begin: Instant,
    interval: Duration,
    /// The number of the next tick.
    next: u64,
    /// True once the load is over.
    is_over: bool,
}

/// A tick of a beat.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tick {
    pub(crate) number: u64,
    pub(crate) due: Instant,
    /// The time to the next one.
    pub(crate) interval: Duration,
}

impl Tick {
    /// The ticks from this one on that are due before `end`.
    pub(crate) fn count_before(&self, end: Instant) -> u64 {
        let left = end.saturating_duration_since(self.due);
        let ticks = left.as_nanos().div_ceil(self.interval.as_nanos().max(1));
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

impl Beat {
    pub(crate) fn begin(interval: Duration) -> Self {
        Self {
            begin: Instant::now(),
            interval: interval.max(MIN_INTERVAL),
            next: 0,
            is_over: false,
        }
    }

    /// Waits for the next tick, and returns its number: 0 is due at once. One that is overdue comes immediately, and none
    /// is left out before the end. The wait is part of no latency.
    ///
    /// `None` once the time of the load is over, or the run is told to stop. Where a journey is only tried, as by `cargo test` and
    /// `debug`, it ticks three times.
    pub async fn next(&mut self) -> Option<u64> {
        if self.is_over {
            return None;
        }
        let number = self.next;
        let tick = Tick {
            number,
            due: self.begin + self.after(number),
            interval: self.interval,
        };
        let ticked = current_sender()?.tick(tick).await;
        self.next += 1;
        self.is_over = !ticked;
        ticked.then_some(number)
    }

    /// The time from the begin to a tick; years at most.
    fn after(&self, number: u64) -> Duration {
        let nanos = self.interval.as_nanos().saturating_mul(number.into());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_at_equal_distances_from_the_begin() {
        let beat = Beat::begin(Duration::from_millis(3));
        assert_eq!(beat.after(0), Duration::ZERO);
        assert_eq!(beat.after(1_000_001), Duration::from_millis(3_000_003));
        let fast = Beat::begin(Duration::ZERO);
        assert_eq!(fast.after(7), MIN_INTERVAL * 7);
        assert_eq!(beat.after(u64::MAX), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn a_tick_at_the_end_is_not_before_it() {
        let due = Instant::now();
        let tick = Tick {
            number: 7,
            due,
            interval: Duration::from_millis(10),
        };
        let counts =
            [0, 1, 10, 11, 25].map(|left| tick.count_before(due + Duration::from_millis(left)));
        assert_eq!(counts, [0, 1, 1, 2, 3]);
        assert_eq!(tick.count_before(due - Duration::from_millis(1)), 0);
    }
}

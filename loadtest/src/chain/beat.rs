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
}

impl Beat {
    pub(crate) fn begin(interval: Duration) -> Self {
        Self {
            begin: Instant::now(),
            interval: interval.max(MIN_INTERVAL),
            next: 0,
        }
    }

    /// Waits for the next tick, and returns its number: 0 is due at once. One that is overdue comes immediately, and none
    /// is left out before the end. The wait is part of no latency.
    ///
    /// `None` once the time of the load is over, or the run is told to stop. Where a journey is only tried, as by `cargo test` and
    /// `debug`, it ticks three times.
    pub async fn next(&mut self) -> Option<u64> {
        let number = self.next;
        let due = self.begin + self.after(number);
        let sender = current_sender()?;
        let ticked = sender.tick(due, number).await;
        self.next += 1;
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
}

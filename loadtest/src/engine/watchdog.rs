//! Notices that a worker's runtime stalls: the system stopped its thread, or code of the scenario
//! blocks it.

use super::worker_state::{ThreadOccupancy, ThreadSlice};
use loadtest_model::metrics::Health;
use std::time::Duration;
use tokio::time::Instant;

/// The interval at which the runtime must wake.
const TICK_INTERVAL: Duration = Duration::from_millis(20);

/// Watches the runtime of one worker.
#[derive(Debug)]
pub(super) struct Watchdog {
    start: Instant,
    due: Instant,
    /// From when the runtime was to come back to when it did, in the order of time.
    stalls: Vec<(Instant, Instant)>,
}

impl Watchdog {
    /// Watches from the start of the run on.
    pub(super) fn new(start: Instant) -> Self {
        Self {
            start,
            due: start + TICK_INTERVAL,
            stalls: Vec::new(),
        }
    }

    /// Returns the time of the next tick.
    pub(super) fn next_tick(&self) -> Instant {
        self.due
    }

    /// The runtime is there.
    pub(super) fn observe_tick(&mut self, now: Instant) {
        if now.saturating_duration_since(self.due) >= Health::STALL {
            self.stalls.push((self.due, now));
        }
        self.due = self.start.max(now) + TICK_INTERVAL;
    }

    /// Returns the longest stall of a second, in full length. A stall belongs to every second of which it
    /// takes [`Health::STALL`], else to the one in which it ended. Call it once for each second, in order.
    pub(super) fn longest_stall(&mut self, second: u32) -> Option<Duration> {
        let begin = self.start + Duration::from_secs(second.into());
        let end = begin + Duration::from_secs(1);
        let overlap = |(from, to): (Instant, Instant), begin: Instant| {
            let end = begin + Duration::from_secs(1);
            to.min(end).saturating_duration_since(from.max(begin))
        };
        let longest = self
            .stalls
            .iter()
            .copied()
            .filter(|&stall| {
                overlap(stall, begin) >= Health::STALL
                    || (begin < stall.1
                        && stall.1 <= end
                        && begin
                            .checked_sub(Duration::from_secs(1))
                            .is_none_or(|before| overlap(stall, before) < Health::STALL))
            })
            .map(|(from, to)| to - from)
            .max();
        self.stalls.retain(|(_, to)| *to > end);
        longest
    }
}

/// Detects from another thread which step blocks the thread of a worker.
#[derive(Debug, Default)]
pub(super) struct BlockingStepDetector {
    /// The turn of a step that each worker was seen in.
    slices: Vec<Option<SeenSlice>>,
    last: Option<Instant>,
    /// The first step that was seen to block a thread since the last call of
    /// [`take_blocking_step`](Self::take_blocking_step).
    blocking_step: Option<usize>,
}

/// A turn of a step that goes on.
#[derive(Debug, Clone, Copy)]
struct SeenSlice {
    turn: ThreadSlice,
    /// When it was seen first, later by all the time for which the whole process stood still.
    since: Instant,
    /// From when on it was looked at without such a standstill.
    watched_from: Instant,
}

impl BlockingStepDetector {
    /// Looks at all workers; to be called several times in [`Health::STALL`], or a little less often.
    pub(super) fn observe_workers<'a>(
        &mut self,
        now: Instant,
        workers: impl Iterator<Item = &'a ThreadOccupancy>,
    ) {
        let last = self.last.replace(now).unwrap_or(now);
        let gap = now.saturating_duration_since(last);
        if gap >= Health::STALL {
            // The whole process stood still, for an unknown reason: no step is to blame for that time. A turn that goes on
            // after it is the same, or on a machine with hiccups no thread would ever be given up.
            for seen in self.slices.iter_mut().flatten() {
                seen.since += gap;
                seen.watched_from = now;
            }
        }
        for (worker, busy) in workers.enumerate() {
            if self.slices.len() <= worker {
                self.slices.push(None);
            }
            let seen = &mut self.slices[worker];
            *seen = match (busy.current_slice(), *seen) {
                (Some(turn), Some(same)) if turn == same.turn => {
                    if now.saturating_duration_since(same.watched_from) >= Health::STALL {
                        self.blocking_step.get_or_insert(turn.step_index());
                    }
                    Some(same)
                }
                (turn, _) => turn.map(|turn| SeenSlice {
                    turn,
                    since: now,
                    watched_from: now,
                }),
            };
        }
    }

    /// Returns whether a turn of a step has kept its thread for longer than `limit` allows that step.
    pub(super) fn is_thread_lost(&self, now: Instant, limit: impl Fn(usize) -> Duration) -> bool {
        (self.slices.iter().flatten())
            .any(|seen| now.saturating_duration_since(seen.since) > limit(seen.turn.step_index()))
    }

    /// The zero-based number of the step that kept a thread for [`Health::STALL`] or longer.
    pub(super) fn take_blocking_step(&mut self) -> Option<u32> {
        self.blocking_step
            .take()
            .and_then(|step| u32::try_from(step).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_step_keeps_the_thread_when_one_turn_of_it_lasts() {
        let busy = [ThreadOccupancy::default(), ThreadOccupancy::default()];
        let start = Instant::now();
        let mut lookout = BlockingStepDetector::default();
        let mut look = |at| {
            lookout.observe_workers(start + ms(at), busy.iter());
            lookout.take_blocking_step()
        };
        busy[1].begin_step(3);
        assert_eq!((look(0), look(99), look(100)), (None, None, Some(3)));
        // Another turn of the same step.
        busy[1].end_step();
        busy[1].begin_step(3);
        assert_eq!((look(150), look(249), look(250)), (None, None, Some(3)));
        // The time since the last look.
        assert_eq!((look(400), look(450)), (None, None));
        busy[1].end_step();
        assert_eq!((look(500), look(590), look(680)), (None, None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_thread_is_lost_when_one_turn_of_a_step_lasts_longer_than_its_limit() {
        let busy = [ThreadOccupancy::default(), ThreadOccupancy::default()];
        let start = Instant::now();
        let mut lookout = BlockingStepDetector::default();
        let mut is_lost = |at| {
            lookout.observe_workers(start + ms(at), busy.iter());
            lookout.is_thread_lost(start + ms(at), |step| ms(100 * step as u64))
        };
        busy[0].begin_step(2);
        busy[1].begin_step(9);
        let looks = [0, 90, 180, 200, 201].map(&mut is_lost);
        assert_eq!(looks, [false, false, false, false, true]);
        busy[0].begin_step(2);
        assert!(!is_lost(240));
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_with_hiccups_gives_a_lost_thread_up_too() {
        let busy = [ThreadOccupancy::default()];
        let start = Instant::now();
        let mut lookout = BlockingStepDetector::default();
        busy[0].begin_step(1);
        let mut now = start;
        let mut looked = Duration::ZERO;
        let mut is_lost = false;
        // After each second, in which it looks ten times, all stands still for 150 ms.
        for look in 0..400 {
            let gap = if look % 10 == 9 { ms(150) } else { ms(90) };
            (now, looked) = (now + gap, looked + if gap == ms(90) { gap } else { ms(0) });
            lookout.observe_workers(now, busy.iter());
            is_lost = lookout.is_thread_lost(now, |_| ms(30_000));
            if is_lost {
                break;
            }
        }
        assert!(is_lost);
        // The first look sees it for no time yet.
        assert_eq!(looked, ms(30_000 / 90 * 90 + 90 + 90));
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// The stalls of the first seconds of a runtime that came back at these times only.
    fn stalls(seen: &[u64]) -> Vec<u64> {
        let start = Instant::now();
        let mut watchdog = Watchdog::new(start);
        for at in seen {
            watchdog.observe_tick(start + ms(*at));
        }
        (0..6)
            .map(|second| watchdog.longest_stall(second))
            .map(|stall| stall.map_or(0, |stall| stall.as_millis() as u64))
            .collect()
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_back_in_time_is_no_stall() {
        assert_eq!(stalls(&[20, 40, 159, 278, 397]), [0; 6]);
        assert_eq!(stalls(&[20, 40, 160]), [100, 0, 0, 0, 0, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_stall_is_one_of_every_second_it_takes() {
        assert_eq!(
            stalls(&[1_480, 1_500, 4_020]),
            [1_460, 2_500, 2_500, 2_500, 0, 0]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_stall_over_the_end_of_a_second_is_one_stalled_second() {
        let ticks: Vec<u64> = (1..=47).map(|i| i * 20).chain([1_080, 1_100]).collect();
        assert_eq!(stalls(&ticks), [0, 120, 0, 0, 0, 0]);
        let ticks: Vec<u64> = (1..=44).map(|i| i * 20).chain([1_010, 1_030]).collect();
        assert_eq!(stalls(&ticks), [110, 0, 0, 0, 0, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn before_the_start_nothing_stalls() {
        let start = Instant::now() + ms(500);
        let mut watchdog = Watchdog::new(start);
        watchdog.observe_tick(start - ms(400));
        watchdog.observe_tick(start + ms(20));
        assert_eq!(watchdog.longest_stall(0), None);
    }
}

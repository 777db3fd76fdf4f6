//! Waiting for an instant, finer than the runtime's timer, which ticks in milliseconds.

use std::time::Duration;
use tokio::time::Instant;

/// Wake-ups are at least this far apart: arrivals that are denser start in small batches, since a wake-up
/// costs more than a request does. Less than the gaps at 5,000 a second, so that those are met.
const MIN_WAKE_GAP: Duration = Duration::from_micros(150);

/// Waits for instants, one after another.
#[derive(Debug)]
pub(crate) struct Pacer {
    timer: Timer,
    last: Option<Instant>,
}

#[derive(Debug)]
enum Timer {
    #[cfg(target_os = "linux")]
    Kernel(kernel::Timer),
    Runtime,
}

impl Pacer {
    /// A pacer on the kernel's own timer where there is one.
    pub(crate) fn with_kernel_timer() -> Self {
        #[cfg(target_os = "linux")]
        {
            if let Ok(timer) = kernel::Timer::new() {
                return Self {
                    timer: Timer::Kernel(timer),
                    last: None,
                };
            }
        }
        Self::with_runtime_timer()
    }

    /// A pacer on the runtime's timer, whose clock a test can pause.
    pub(crate) fn with_runtime_timer() -> Self {
        Self {
            timer: Timer::Runtime,
            last: None,
        }
    }

    /// Waits until `instant`, or a little longer when the last wait ended just now.
    pub(crate) async fn wait_until(&mut self, instant: Instant) {
        match &mut self.timer {
            #[cfg(target_os = "linux")]
            Timer::Kernel(timer) => {
                let instant = self
                    .last
                    .map_or(instant, |last| instant.max(last + MIN_WAKE_GAP));
                if timer.wait_until(instant).await.is_err() {
                    tokio::time::sleep_until(instant).await;
                }
                self.last = Some(Instant::now());
            }
            Timer::Runtime => tokio::time::sleep_until(instant).await,
        }
    }
}

/// The time before an instant at which the alarm is set: the median lateness of alarms on this thread. Half
/// of the wake-ups then end just after the instant, and the others wait a little.
#[cfg(target_os = "linux")]
#[derive(Debug, Default)]
struct WakeLead(Duration);

#[cfg(target_os = "linux")]
impl WakeLead {
    const LONGEST: Duration = Duration::from_micros(80);
    /// Equal steps up and down meet at the median.
    const STEP: Duration = Duration::from_nanos(200);

    fn get(&self) -> Duration {
        self.0
    }

    fn adjust_to(&mut self, late: Duration) {
        self.0 = if late > self.0 {
            (self.0 + Self::STEP).min(Self::LONGEST)
        } else {
            self.0.saturating_sub(Self::STEP)
        };
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    use super::WakeLead;
    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use std::future::poll_fn;
    use std::io;
    use std::os::fd::{AsFd as _, AsRawFd, RawFd};
    use std::task::Poll;
    use tokio::io::{Interest, unix::AsyncFd};
    use tokio::time::Instant;

    /// A timer of the kernel that the runtime waits for.
    #[derive(Debug)]
    pub(super) struct Timer {
        descriptor: AsyncFd<Descriptor>,
        lead: WakeLead,
    }

    #[derive(Debug)]
    struct Descriptor(TimerFd);

    impl AsRawFd for Descriptor {
        fn as_raw_fd(&self) -> RawFd {
            self.0.as_fd().as_raw_fd()
        }
    }

    impl Timer {
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
            #[expect(
                deprecated,
                reason = "the constructor without `unsafe`; a `TimerFd` keeps its descriptor open"
            )]
            let descriptor = AsyncFd::with_interest(Descriptor(timer), Interest::READABLE)?;
            Ok(Self {
                descriptor,
                lead: WakeLead::default(),
            })
        }

        /// Waits until `instant`, and never less.
        pub(super) async fn wait_until(&mut self, instant: Instant) -> io::Result<()> {
            let mut alarm = None;
            poll_fn(|context| {
                let now = Instant::now();
                // The number of firings is not read, since arming takes that back; the runtime may yet
                // have to forget a wait before this one, which is why it has to be due as well.
                while let Poll::Ready(fired) = self.descriptor.poll_read_ready(context) {
                    fired?.clear_ready();
                    if let Some(at) = alarm.take_if(|at| *at <= now) {
                        self.lead.adjust_to(now - at);
                    }
                }
                // The clock decides: a busy runtime comes by here before it hears of the timer.
                if now >= instant {
                    return Poll::Ready(Ok(()));
                }
                let at = instant - self.lead.get();
                if now >= at {
                    // A few microseconds early: other tasks get a turn.
                    context.waker().wake_by_ref();
                } else if alarm.is_none() {
                    let once = Expiration::OneShot(TimeSpec::from_duration(at - now));
                    let timer = &self.descriptor.get_ref().0;
                    timer.set(once, TimerSetTimeFlags::empty())?;
                    alarm = Some(at);
                }
                Poll::Pending
            })
            .await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Waker};

    const US: Duration = Duration::from_micros(1);

    /// Has `pacer` wait for instants so far from now, one after another, and says when it came back.
    async fn wait(pacer: &mut Pacer, gaps: &[u32]) -> Vec<(Instant, Instant)> {
        let mut woken = Vec::new();
        let mut due = Instant::now();
        for gap in gaps {
            due += US * *gap;
            pacer.wait_until(due).await;
            woken.push((due, Instant::now()));
        }
        woken
    }

    #[tokio::test]
    async fn it_never_comes_back_early_whatever_the_gaps() {
        let gaps: Vec<u32> = (0..200).map(|i| i * 7919 % 1_300).collect();
        for mut pacer in [Pacer::with_kernel_timer(), Pacer::with_runtime_timer()] {
            for (due, woken) in wait(&mut pacer, &gaps).await {
                assert!(woken >= due, "{:?} early", due - woken);
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn it_does_not_come_back_at_once_for_what_is_dense() {
        let mut pacer = Pacer::with_kernel_timer();
        let mut before: Option<Instant> = None;
        for gap in 1..100 {
            pacer.wait_until(Instant::now() + US * (gap % 20)).await;
            // By its own clock: this thread may be put aside before another look at the time.
            let woken = pacer.last.unwrap();
            assert!(before.is_none_or(|before| woken - before >= MIN_WAKE_GAP));
            before = Some(woken);
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_busy_runtime_that_has_not_heard_of_the_timer_is_told_by_the_clock() {
        let mut pacer = Pacer::with_kernel_timer();
        let due = Instant::now() + US * 500;
        let mut context = Context::from_waker(Waker::noop());
        let mut wait = pin!(pacer.wait_until(due));
        let was_due = wait.as_mut().poll(&mut context).is_ready();
        while Instant::now() < due {}
        // Nothing has given the runtime a turn since the timer was armed.
        assert!(was_due || wait.as_mut().poll(&mut context).is_ready());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_wait_that_was_given_up_ends_no_later_one() {
        let mut pacer = Pacer::with_kernel_timer();
        for _ in 0..20 {
            let given_up = pacer.wait_until(Instant::now() + US * 300);
            let _elapsed = tokio::time::timeout(US * 100, given_up).await;
            let due = Instant::now() + US * 3_000;
            pacer.wait_until(due).await;
            assert!(Instant::now() >= due);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn it_learns_the_median_of_how_late_it_is_woken_within_bounds() {
        let after = |late: &[u32]| {
            let mut lead = WakeLead::default();
            late.iter()
                .cycle()
                .take(1_500)
                .for_each(|late| lead.adjust_to(US * *late));
            lead.get()
        };
        let learned = after(&[20, 30, 40, 50, 900]);
        assert!((US * 39..=US * 41).contains(&learned), "{learned:?}");
        assert_eq!(after(&[3_000]), WakeLead::LONGEST);
        assert!(after(&[0]) <= WakeLead::STEP);
    }
}

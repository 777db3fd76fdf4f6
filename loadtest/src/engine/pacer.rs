//! Waiting for an instant, finer than the runtime's timer, which ticks in milliseconds.

use std::time::Duration;
use tokio::time::Instant;

/// Wake-ups are at least this far apart: arrivals that are denser start in small batches, since a wake-up
/// costs more than a request does. Less than the gaps at 5,000 a second, so that those are met.
const BATCH: Duration = Duration::from_micros(150);

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
    pub(crate) fn precise() -> Self {
        #[cfg(target_os = "linux")]
        {
            if let Ok(timer) = kernel::Timer::new() {
                return Self {
                    timer: Timer::Kernel(timer),
                    last: None,
                };
            }
        }
        Self::on_runtime()
    }

    /// A pacer on the runtime's timer, whose clock a test can pause.
    pub(crate) fn on_runtime() -> Self {
        Self {
            timer: Timer::Runtime,
            last: None,
        }
    }

    /// Waits until `instant`, or a little longer when the last wait ended just now.
    pub(crate) async fn until(&mut self, instant: Instant) {
        match &self.timer {
            #[cfg(target_os = "linux")]
            Timer::Kernel(timer) => {
                let instant = self.last.map_or(instant, |last| instant.max(last + BATCH));
                if timer.until(instant).await.is_err() {
                    tokio::time::sleep_until(instant).await;
                }
                self.last = Some(Instant::now());
            }
            Timer::Runtime => tokio::time::sleep_until(instant).await,
        }
    }
}

#[cfg(target_os = "linux")]
mod kernel {
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
    pub(super) struct Timer(AsyncFd<Descriptor>);

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
            AsyncFd::with_interest(Descriptor(timer), Interest::READABLE).map(Self)
        }

        /// Waits until `instant`, and never less.
        pub(super) async fn until(&self, instant: Instant) -> io::Result<()> {
            let mut is_armed = false;
            poll_fn(|context| {
                // The clock decides: a busy runtime comes by here before it hears of the timer.
                let left = instant.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Poll::Ready(Ok(()));
                }
                // Nobody reads how often it fired, since arming takes that back; the runtime may yet
                // have to forget a wait before this one.
                while let Poll::Ready(fired) = self.0.poll_read_ready(context) {
                    fired?.clear_ready();
                    is_armed = false;
                }
                if !is_armed {
                    let once = Expiration::OneShot(TimeSpec::from_duration(left));
                    self.0.get_ref().0.set(once, TimerSetTimeFlags::empty())?;
                    is_armed = true;
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
            pacer.until(due).await;
            woken.push((due, Instant::now()));
        }
        woken
    }

    #[tokio::test]
    async fn it_never_comes_back_early_whatever_the_gaps() {
        let gaps: Vec<u32> = (0..200).map(|i| i * 7919 % 1_300).collect();
        for mut pacer in [Pacer::precise(), Pacer::on_runtime()] {
            for (due, woken) in wait(&mut pacer, &gaps).await {
                assert!(woken >= due, "{:?} early", due - woken);
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn it_does_not_come_back_at_once_for_what_is_dense() {
        let woken = wait(&mut Pacer::precise(), &[20; 100]).await;
        for pair in woken.windows(2) {
            assert!(pair[1].1 - pair[0].1 >= BATCH);
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_busy_runtime_that_has_not_heard_of_the_timer_is_told_by_the_clock() {
        let mut pacer = Pacer::precise();
        let due = Instant::now() + US * 500;
        let mut context = Context::from_waker(Waker::noop());
        let mut wait = pin!(pacer.until(due));
        let was_due = wait.as_mut().poll(&mut context).is_ready();
        while Instant::now() < due {}
        // Nothing has given the runtime a turn since the timer was armed.
        assert!(was_due || wait.as_mut().poll(&mut context).is_ready());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_wait_that_was_given_up_ends_no_later_one() {
        let mut pacer = Pacer::precise();
        for _ in 0..20 {
            let given_up = pacer.until(Instant::now() + US * 300);
            let _elapsed = tokio::time::timeout(US * 100, given_up).await;
            let due = Instant::now() + US * 3_000;
            pacer.until(due).await;
            assert!(Instant::now() >= due);
        }
    }
}

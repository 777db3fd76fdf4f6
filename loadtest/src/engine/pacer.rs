//! Waiting for an instant, finer than the runtime's timer, which ticks in milliseconds.

use std::time::Duration;
use tokio::time::Instant;

/// Wake-ups are at least this far apart: arrivals that are denser start in small batches.
const BATCH: Duration = Duration::from_micros(100);

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
                loop {
                    let left = instant.saturating_duration_since(Instant::now());
                    if left.is_zero() || timer.expire(left).await.is_err() {
                        break;
                    }
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
    use std::io;
    use std::os::fd::{AsFd as _, AsRawFd, RawFd};
    use std::time::Duration;
    use tokio::io::{Interest, unix::AsyncFd};

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

        /// Arms the timer for `left` and waits until it fires.
        pub(super) async fn expire(&self, left: Duration) -> io::Result<()> {
            self.0.get_ref().0.set(
                Expiration::OneShot(TimeSpec::from_duration(left)),
                TimerSetTimeFlags::empty(),
            )?;
            loop {
                let mut ready = self.0.readable().await?;
                match ready.try_io(|timer| Ok(timer.get_ref().0.wait()?)) {
                    Ok(fired) => return fired,
                    Err(_would_block) => {}
                }
            }
        }
    }
}

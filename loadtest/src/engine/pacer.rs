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
    Kernel(tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>),
    Runtime,
}

impl Pacer {
    /// A pacer on the kernel's own timer where there is one.
    pub(crate) fn precise() -> Self {
        #[cfg(target_os = "linux")]
        {
            use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
            use tokio::io::{Interest, unix::AsyncFd};
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            #[expect(
                deprecated,
                reason = "the constructor without `unsafe`; an `OwnedFd` keeps its descriptor open"
            )]
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)
                .map_err(std::io::Error::from)
                .and_then(|timer| AsyncFd::with_interest(timer, Interest::READABLE));
            if let Ok(timer) = timer {
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
                    if left.is_zero() || expire(timer, left).await.is_err() {
                        break;
                    }
                }
                self.last = Some(Instant::now());
            }
            Timer::Runtime => tokio::time::sleep_until(instant).await,
        }
    }
}

/// Arms `timer` for `left` and waits until it fires.
#[cfg(target_os = "linux")]
async fn expire(
    timer: &tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>,
    left: Duration,
) -> std::io::Result<()> {
    use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
    let zero = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let value = Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    };
    timerfd_settime(
        timer,
        TimerfdTimerFlags::empty(),
        &Itimerspec {
            it_interval: zero,
            it_value: value,
        },
    )?;
    loop {
        let mut ready = timer.readable().await?;
        let mut expirations = [0; 8];
        let read = ready.try_io(|timer| Ok(rustix::io::read(timer, &mut expirations)?));
        match read {
            Ok(read) => return read.map(drop),
            Err(_would_block) => {}
        }
    }
}

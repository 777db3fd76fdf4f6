//! Bare loops beside a test, which measure how late the machine runs a thread that is due.

use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::time::Instant;

/// The interval at which a loop wakes.
const TICK: Duration = Duration::from_millis(1);
/// The work of a loop each time: about the share of a processor that the loads of these tests need. A thread that only wakes
/// is put first by the scheduler.
const WORK: Duration = Duration::from_micros(50);

/// The most that a thread may be late for a test to be judged. The limits of the tests are several times as long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    /// The latest of all wakes of the bare loops.
    pub(crate) latest: Duration,
}

/// Loops that run until they are asked how late they were.
pub(crate) struct Watch {
    is_over: Arc<AtomicBool>,
    loops: Vec<JoinHandle<Duration>>,
}

/// A machine that did not give what a test needs.
#[derive(Debug)]
pub(crate) struct TooLate {
    latest: Duration,
    needs: Needs,
}

impl Watch {
    /// Starts a loop for each processor. They are running when this returns.
    pub(crate) fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let loops = (0..count).map(|_| {
            let is_over = Arc::clone(&is_over);
            let (sender, started) = std::sync::mpsc::channel();
            let thread = thread::spawn(move || {
                let _ = sender.send(());
                find_latest_wake(&is_over)
            });
            let _ = started.recv();
            thread
        });
        Self {
            loops: loops.collect(),
            is_over,
        }
    }

    /// Ends the loops, and compares how late they were with what the test needs.
    pub(crate) fn compare(self, needs: Needs) -> Result<(), TooLate> {
        self.is_over.store(true, Ordering::Relaxed);
        let latest = self.loops.into_iter().map(JoinHandle::join);
        let latest = latest.map(|late| late.expect("a loop does not panic"));
        let latest = latest.max().unwrap_or(Duration::MAX);
        if latest > needs.latest {
            return Err(TooLate { latest, needs });
        }
        Ok(())
    }
}

impl fmt::Display for TooLate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the machine ran a bare loop {:.1} ms late, and {} ms are needed",
            self.latest.as_secs_f64() * 1e3,
            self.needs.latest.as_millis()
        )
    }
}

/// Wakes at absolute instants and does its work, until it is over. Returns how late the latest of it was done.
fn find_latest_wake(is_over: &AtomicBool) -> Duration {
    let mut latest = Duration::ZERO;
    let mut due = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        due += TICK;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let woken = Instant::now();
        while woken.elapsed() < WORK {
            std::hint::spin_loop();
        }
        let done = Instant::now();
        latest = latest.max(done.saturating_duration_since(due + WORK));
        // What was missed is missed once.
        due = due.max(done.checked_sub(TICK).unwrap_or(due));
    }
    latest
}

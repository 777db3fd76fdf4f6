//! The control pipe: the tool writes `stop`, `abort` or `start` with a time to the standard input of a run.

use super::print_error;
use crate::engine::Control;
use crate::{secrets, targets};
use std::io::{self, BufRead as _};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use tokio::time::Instant;

/// The time that setups and teardowns may take after a stop. A load has deadlines of its own.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// The interval between two looks at them.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The number of loads that are being measured in this process.
static ACTIVE_LOADS: AtomicU32 = AtomicU32::new(0);

/// A load that is being measured, until this is dropped.
#[derive(Debug)]
pub(super) struct ActiveLoad(());

impl ActiveLoad {
    /// Begins to measure a load.
    pub(super) fn begin() -> Self {
        ACTIVE_LOADS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for ActiveLoad {
    fn drop(&mut self) {
        ACTIVE_LOADS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Listens to the control pipe until it closes, which means `stop`. Returns the starts that it gives, in microseconds
/// after 1970.
pub(super) fn listen_to_control_pipe(control: Control) -> Receiver<u64> {
    let (sender, starts) = channel();
    let listener = thread::Builder::new()
        .name("loadtest-control".to_owned())
        .spawn(move || {
            let mut is_stopped = false;
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                match line.trim() {
                    "stop" => stop_run(&control, &mut is_stopped),
                    "abort" => control.abort(),
                    line => {
                        let start = line.strip_prefix("start ").map(str::parse);
                        if let Some(Ok(start)) = start {
                            // Only a run with a controller waits for it.
                            let _ = sender.send(start);
                        }
                    }
                }
            }
            stop_run(&control, &mut is_stopped);
        });
    if let Err(error) = listener {
        print_error(&format!(
            "warning: the run cannot be stopped early: {error}"
        ));
    }
    starts
}

/// Ends the run, or the wait for a target that it is to begin with.
fn stop_run(control: &Control, is_stopped: &mut bool) {
    control.stop();
    targets::give_up();
    if !std::mem::replace(is_stopped, true) {
        let deadline = thread::Builder::new().name("loadtest-deadline".to_owned());
        if let Err(error) = deadline.spawn(end_process_after_grace) {
            print_error(&format!(
                "warning: nothing ends a setup or teardown that hangs: {error}"
            ));
        }
    }
}

/// Ends the process when no load is measured and code of the scenario does not come to its end.
#[expect(
    clippy::exit,
    reason = "code of the scenario has the thread that could return"
)]
fn end_process_after_grace() {
    let mut grace = Grace::begin(Instant::now());
    while !grace.is_over(Instant::now(), ACTIVE_LOADS.load(Ordering::SeqCst)) {
        thread::sleep(POLL_INTERVAL);
    }
    print_error(&format!(
        "error: a setup or teardown did not end within {STOP_GRACE:?} after the stop: given up"
    ));
    secrets::flush_output();
    std::process::exit(1);
}

/// The time since the last load was over, or since the stop.
#[derive(Debug)]
struct Grace {
    since: Instant,
}

impl Grace {
    fn begin(now: Instant) -> Self {
        Self { since: now }
    }

    fn is_over(&mut self, now: Instant, active_loads: u32) -> bool {
        if active_loads > 0 {
            self.since = now;
        }
        now.saturating_duration_since(self.since) >= STOP_GRACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grace_of_setups_and_teardowns_begins_with_the_stop_or_with_the_end_of_the_last_load() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        let mut grace = Grace::begin(start);
        assert!(!grace.is_over(start + ms(9_999), 0));
        assert!(grace.is_over(start + ms(10_000), 0));
        let mut grace = Grace::begin(start);
        assert!(!grace.is_over(start + ms(60_000), 2));
        assert!(!grace.is_over(start + ms(69_999), 0));
        assert!(grace.is_over(start + ms(70_000), 0));
    }
}

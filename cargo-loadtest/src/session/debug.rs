//! One journey in a child process, told line by line.

use super::journal::Tail;
use super::{ABORT_LIMIT, Program, in_words, lost, now, poll};
use crate::console;
use crate::error::Error;
use crate::interrupt::Interrupts;
use loadtest_model::protocol::{DebugEnd, DebugEvent};
use loadtest_model::protocol::{DebugRequest, Request};
use std::path::Path;
use std::time::{Duration, Instant};

/// The interval between two looks at the journey.
const POLL: Duration = Duration::from_millis(5);

/// Runs the journey of `program`; `show` gets what happens, as it happens. What the scenario prints goes
/// to standard error.
///
/// # Errors
/// When there was no journey, when it broke off, or when `show` fails.
pub(crate) fn debug(
    program: Program,
    request: &DebugRequest,
    request_path: &Path,
    interrupts: &Interrupts,
    mut show: impl FnMut(&DebugEvent) -> Result<(), Error>,
) -> Result<DebugEnd, Error> {
    let asked = Request::Debug(Box::new(request.clone()));
    let mut group = program.ask(&asked, request_path)?;
    let mut tail = Tail::<DebugEvent>::new(&request.output);
    let mut stopped: Option<Instant> = None;
    let mut result = None;
    loop {
        let status = poll(&mut group)?;
        let printed = match status {
            Some(_) => group.last_output(),
            None => group.output(),
        };
        for line in printed {
            console::print_progress(line);
        }
        for event in tail.read() {
            show(&event)?;
            match event {
                DebugEvent::End(end) => result = Some(Ok(end)),
                DebugEvent::Failed(failure) => {
                    result = Some(Err(Error::refused(&request.scenario, &failure)));
                }
                _ => {}
            }
        }
        if let Some(status) = status {
            return result.unwrap_or_else(|| {
                Err(if stopped.is_some() {
                    Error::interrupted()
                } else {
                    lost(&request.scenario, &in_words(status))
                })
            });
        }
        if interrupts.count() > 0 && stopped.is_none() {
            group.say("stop");
            stopped = Some(now());
        }
        if interrupts.count() > 1 || stopped.is_some_and(|since| since.elapsed() > ABORT_LIMIT) {
            group.kill();
        }
        std::thread::sleep(POLL);
    }
}

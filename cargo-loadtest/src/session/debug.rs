//! One journey in a child process, told line by line.

use super::group::Group;
use super::journal::Tail;
use super::{ABORT_LIMIT, in_words, now, poll};
use crate::error::Error;
use crate::files;
use crate::interrupt::Interrupts;
use crate::shell;
use loadtest::journey::{End, Event};
use loadtest::protocol::{DebugRequest, REQUEST_VARIABLE, Request};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How often the journey is looked at.
const POLL: Duration = Duration::from_millis(5);

/// Runs the journey with `command`; `show` gets what happens, as it happens. What the scenario prints goes
/// to standard error.
///
/// # Errors
/// When there was no journey, when it broke off, or when `show` fails.
pub(crate) fn debug(
    mut command: Command,
    request: &DebugRequest,
    request_path: &Path,
    interrupts: &Interrupts,
    mut show: impl FnMut(&Event) -> Result<(), Error>,
) -> Result<End, Error> {
    let asked = Request::Debug(Box::new(request.clone()));
    files::write_json(request_path, &asked)?;
    command.env(REQUEST_VARIABLE, request_path);
    let mut group = Group::spawn(command)?;
    let mut tail = Tail::<Event>::new(&request.output);
    let mut stopped: Option<Instant> = None;
    let mut result = None;
    loop {
        let status = poll(&mut group)?;
        let printed = match status {
            Some(_) => group.last_output(),
            None => group.output(),
        };
        for line in printed {
            shell::progress(line);
        }
        for event in tail.read() {
            show(&event)?;
            match event {
                Event::End(end) => result = Some(Ok(end)),
                Event::Failed(failure) => {
                    let scenario = request.scenario.clone();
                    result = Some(Err(Error::Refused { scenario, failure }));
                }
                _ => {}
            }
        }
        if let Some(status) = status {
            return result.unwrap_or_else(|| {
                Err(if stopped.is_some() {
                    Error::Interrupted
                } else {
                    Error::Lost {
                        scenario: request.scenario.clone(),
                        reason: in_words(status),
                    }
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

//! A side task of a child process, told line by line: one journey, or the setups of a scenario.

use super::{ABORT_LIMIT, Program, in_words, lost, now, poll};
use crate::journal::Tail;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::protocol::{
    DebugEnd, DebugEvent, DebugRequest, Request, SetupLine, SetupRequest,
};
use serde::de::DeserializeOwned;
use std::path::Path;
use std::time::{Duration, Instant};

/// The interval between two looks at the task.
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
    let task = SideTask {
        scenario: &request.scenario,
        output: &request.output,
        interrupts,
    };
    task.follow(program, &asked, request_path, |event| {
        show(&event)?;
        Ok(match event {
            DebugEvent::End(end) => Some(Ok(end)),
            DebugEvent::Failed(failure) => Some(Err(Error::refused(&request.scenario, &failure))),
            _ => None,
        })
    })
}

/// Runs the setups or the teardowns that `asked` names. Returns the names of the setups whose values were written.
///
/// # Errors
/// When one failed.
pub(crate) fn run_hooks(
    program: Program,
    asked: impl FnOnce(Box<SetupRequest>) -> Request,
    request: &SetupRequest,
    request_path: &Path,
    interrupts: &Interrupts,
) -> Result<Vec<String>, Error> {
    let task = SideTask {
        scenario: &request.scenario,
        output: &request.output,
        interrupts,
    };
    let asked = asked(Box::new(request.clone()));
    task.follow(program, &asked, request_path, |line| {
        Ok(Some(match line {
            SetupLine::Done { values } => Ok(values),
            SetupLine::Failed(failure) => Err(Error::refused(&request.scenario, &failure)),
        }))
    })
}

/// A side task under way.
struct SideTask<'a> {
    /// The identity of its scenario.
    scenario: &'a str,
    /// The file of its events.
    output: &'a Path,
    interrupts: &'a Interrupts,
}

impl SideTask<'_> {
    /// Follows it to its end; `take` returns the result with the event that has it.
    fn follow<E: DeserializeOwned, R>(
        &self,
        program: Program,
        asked: &Request,
        request_path: &Path,
        mut take: impl FnMut(E) -> Result<Option<Result<R, Error>>, Error>,
    ) -> Result<R, Error> {
        let mut group = program.ask(asked, request_path)?;
        let mut tail = Tail::<E>::new(self.output);
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
                result = take(event)?.or(result);
            }
            if let Some(status) = status {
                return result.unwrap_or_else(|| {
                    Err(if stopped.is_some() {
                        Error::interrupted()
                    } else {
                        lost(self.scenario, &in_words(status))
                    })
                });
            }
            if self.interrupts.count() > 0 && stopped.is_none() {
                group.say("stop");
                stopped = Some(now());
            }
            if self.interrupts.count() > 1
                || stopped.is_some_and(|since| since.elapsed() > ABORT_LIMIT)
            {
                group.kill();
            }
            std::thread::sleep(POLL);
        }
    }
}

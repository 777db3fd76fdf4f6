//! One child process: asked for its scenarios, or watched while it runs one of them.

mod capacity;
mod debug;
mod group;
mod program;
#[cfg(test)]
pub(crate) mod sample;

use crate::journal;
use crate::live::Live;
use crate::workspace::Binary;
pub(crate) use capacity::{SearchView, capacity};
pub(crate) use debug::{debug, run_hooks};
pub(crate) use group::Group;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::protocol::{JournalLine, Listing, Request, RunRequest};
use loadtest_model::record::{EndReason, ScenarioRecord};
use loadtest_model::redacted::Redacted;
pub(crate) use program::Program;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// The hidden first argument that makes this program a load test of recorded requests.
pub(crate) const REPLAY: &str = "__replay";

/// The interval between two looks at a run.
const POLL: Duration = Duration::from_millis(50);
/// The time a child may take to end after `abort`.
const ABORT_LIMIT: Duration = Duration::from_secs(5);
/// Printed when it is over.
const KILLED: &str = "the load test did not end, and is killed";
/// The time a child may take to list its scenarios.
const LIST_LIMIT: Duration = Duration::from_secs(60);

/// Asks `binary` for its scenarios.
///
/// # Errors
/// When it does not answer.
pub(crate) fn list(binary: &Binary, interrupts: &Interrupts) -> Result<Listing, Error> {
    let no_answer = |reason: String| {
        Error::failure(format!(
            "the {} did not answer: {reason}",
            binary.description()
        ))
    };
    let folder =
        tempfile::tempdir().map_err(Error::io("create a folder in", std::env::temp_dir()))?;
    let output = folder.path().join("listing.json");
    let request = folder.path().join("request.json");
    let list = Request::List {
        output: output.clone(),
    };
    let mut group = Program::from_binary(binary, false).ask(&list, &request)?;
    let begin = now();
    let mut printed = Vec::new();
    let status = loop {
        printed.extend(group.output());
        if let Some(status) = poll(&mut group)? {
            break status;
        }
        interrupts.check()?;
        if begin.elapsed() > LIST_LIMIT {
            return Err(no_answer(format!("nothing came in {LIST_LIMIT:?}")));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    printed.extend(group.last_output());
    match std::fs::read(&output) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| no_answer(format!("its list cannot be read: {error}"))),
        Err(_) if status.success() => Err(no_answer(
            "it ended as if nothing had been asked".to_owned(),
        )
        .with_help("is `harness = false` set for the target in `Cargo.toml`?")),
        Err(_) => {
            let mut reason = in_words(status);
            for line in printed {
                reason.push_str("\n  ");
                reason.push_str(&line);
            }
            Err(no_answer(reason))
        }
    }
}

/// Runs one scenario of `program` and shows its course.
///
/// # Errors
/// When the scenario did not run, or ended without a trace.
pub(crate) fn run(
    program: Program,
    request: &RunRequest,
    request_path: &Path,
    interrupts: &Interrupts,
    live: &mut Live,
) -> Result<ScenarioRecord, Error> {
    let requests = std::slice::from_ref(request);
    let asked = Request::Run(Box::new(request.clone()));
    let ended = follow_child(program, &asked, requests, request_path, interrupts, live)?;
    ended.result(request, interrupts)
}

/// The program of this tool, which is a load test itself.
pub(crate) fn own_program() -> Result<PathBuf, Error> {
    std::env::current_exe()
        .map_err(|error| Error::failure(format!("this program cannot find itself: {error}")))
}

/// Runs several scenarios of `program` at once and shows their courses; the result has the order of
/// the requests.
///
/// # Errors
/// When nothing could be run at all.
pub(crate) fn mix(
    program: Program,
    requests: &[RunRequest],
    request_path: &Path,
    interrupts: &Interrupts,
    live: &mut Live,
) -> Result<Vec<Result<ScenarioRecord, Error>>, Error> {
    let scenarios = requests.to_vec();
    let asked = Request::Mix { scenarios };
    let ended = follow_child(program, &asked, requests, request_path, interrupts, live)?;
    Ok(requests
        .iter()
        .map(|request| ended.result(request, interrupts))
        .collect())
}

fn follow_child(
    program: Program,
    asked: &Request,
    requests: &[RunRequest],
    request_path: &Path,
    interrupts: &Interrupts,
    live: &mut Live,
) -> Result<ChildEnded, Error> {
    let mut group = program.ask(asked, request_path)?;
    let watched = watch_child(&mut group, requests, interrupts, live);
    live.finish();
    watched
}

/// The end of a child.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChildEnded {
    pub(crate) status: ExitStatus,
    pub(crate) aborted: bool,
}

impl ChildEnded {
    /// Returns the record of a scenario, or the reason why there is none.
    ///
    /// # Errors
    /// That reason.
    pub(crate) fn result(
        self,
        request: &RunRequest,
        interrupts: &Interrupts,
    ) -> Result<ScenarioRecord, Error> {
        for path in [Some(&request.record), request.spare_record.as_ref()] {
            if let Some(path) = path
                && let Ok(bytes) = files::read(path)
                && let Ok(record) = serde_json::from_slice(&bytes)
            {
                return Ok(record);
            }
        }
        let folded =
            journal::fold(&request.journal).map_err(Error::io("read", &request.journal))?;
        if let Some(failure) = folded.failure {
            return Err(Error::refused(&request.scenario, &failure));
        }
        let reason = in_words(self.status);
        let ending = if self.aborted {
            EndReason::Aborted
        } else {
            EndReason::Died {
                reason: Redacted::assume(&*reason),
            }
        };
        folded.into_record(ending).ok_or_else(|| {
            if interrupts.count() > 0 {
                Error::interrupted()
            } else {
                lost(&request.scenario, &reason)
            }
        })
    }
}

/// Waits for the end of the child.
fn watch_child(
    group: &mut Group,
    requests: &[RunRequest],
    interrupts: &Interrupts,
    live: &mut Live,
) -> Result<ChildEnded, Error> {
    let mut tails: Vec<_> = requests
        .iter()
        .map(|request| journal::Tail::new(&request.journal))
        .collect();
    let begin = now();
    let mut asked = 0;
    let mut aborted: Option<Instant> = None;
    let mut is_killed = false;
    loop {
        let status = poll(group)?;
        let output = match status {
            Some(_) => group.last_output(),
            None => group.output(),
        };
        for line in output {
            live.print(&line);
        }
        for (at, tail) in tails.iter_mut().enumerate() {
            for line in tail.read() {
                match line {
                    JournalLine::Start(start) => live.start(at, *start, begin.elapsed()),
                    JournalLine::Frame(frame) => live.frame(at, *frame),
                    JournalLine::End(_) | JournalLine::Failed(_) => live.end_one(at),
                    JournalLine::Ready => {}
                }
            }
        }
        live.tick(begin.elapsed());
        if let Some(status) = status {
            return Ok(ChildEnded {
                status,
                aborted: aborted.is_some(),
            });
        }
        if let Some(broken) = live.take_broken_limit() {
            group.say("stop");
            live.end();
            live.print(&broken);
        }
        let wanted = interrupts.count();
        if wanted > asked {
            if asked == 0 {
                group.say("stop");
                live.end();
                live.print("stopping: waiting for requests in flight (Ctrl-C again to abort)");
            }
            if wanted > 1 && aborted.is_none() {
                group.say("abort");
                live.print("aborting");
                aborted = Some(now());
            }
            asked = wanted;
        }
        let is_overdue = aborted.is_some_and(|since| since.elapsed() > ABORT_LIMIT);
        if !is_killed && (wanted > 2 || is_overdue) {
            live.print(KILLED);
            group.kill();
            is_killed = true;
        }
        std::thread::sleep(POLL);
    }
}

fn poll(group: &mut Group) -> Result<Option<ExitStatus>, Error> {
    group
        .poll()
        .map_err(|error| Error::failure(format!("could not wait for the load test: {error}")))
}

fn lost(scenario: &str, reason: &str) -> Error {
    Error::failure(format!("`{scenario}` ended without a result: {reason}"))
}

pub(crate) fn in_words(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("killed by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "another process is watched here; nothing is measured, and no test pauses it"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
#[cfg(unix)]
mod tests;

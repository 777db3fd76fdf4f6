//! The runs that pages start: one at a time, each a child process, the others in a queue.
//!
//! Two loads on one machine would measure each other. The pipe to the child ends with this process, and a child that
//! loses it stops its load.

use super::command::prepare_command;
use crate::commands::run::WATCHED_RUN;
use loadtest_console::console::clean_output;
use loadtest_console::error::Error;
use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The ended runs that are kept.
const ENDED: usize = 20;
/// The lines of output that are kept of a run.
const LINES: usize = 200;

/// The runs of this server.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    folder: PathBuf,
    state: Arc<Mutex<RunQueue>>,
    spawn_thread: ThreadSpawner,
}

/// Starts a thread that does this work.
type ThreadSpawner = fn(Box<dyn FnOnce() + Send>) -> io::Result<()>;

fn spawn_thread(work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("run".to_owned());
    thread.spawn(work).map(drop)
}

#[derive(Debug, Default)]
struct RunQueue {
    queue: VecDeque<QueuedRun>,
    next_number: u64,
    current: Option<CurrentRun>,
    /// The runs that ended last, the newest first.
    ended: VecDeque<EndedRun>,
    is_closed: bool,
}

/// A run that waits for its turn.
#[derive(Debug, Clone)]
pub(super) struct QueuedRun {
    pub(super) number: u64,
    /// The words after `cargo loadtest`.
    pub(super) arguments: Vec<String>,
    /// The scenarios, for people.
    pub(super) title: String,
    /// The visitor of a shared dashboard who asked for it.
    pub(super) visitor: Option<String>,
}

#[derive(Debug)]
struct CurrentRun {
    queued: QueuedRun,
    control: Option<ChildStdin>,
    run: Option<String>,
    output: VecDeque<String>,
    stops: u32,
}

/// The run under way, as pages show it.
#[derive(Debug, Clone)]
pub(super) struct ShownRun {
    pub(super) number: u64,
    pub(super) title: String,
    /// The name of its folder, once it has one: until then it is built.
    pub(super) run: Option<String>,
    /// How often it was asked to stop.
    pub(super) stops: u32,
    /// The last lines that it printed.
    pub(super) output: Vec<String>,
}

/// A run that has ended.
#[derive(Debug, Clone)]
pub(super) struct EndedRun {
    /// The time of its end, RFC 3339 in UTC.
    pub(super) at: String,
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) run: Option<String>,
    pub(super) exit_code: Option<i32>,
    pub(super) output: Vec<String>,
}

impl Runs {
    /// Runs start in `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            state: Arc::default(),
            spawn_thread,
        }
    }

    fn lock(&self) -> MutexGuard<'_, RunQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a run, or puts it into the queue behind others. Returns its number, by which it is among the ended ones
    /// where it cannot be started.
    pub(super) fn start(
        &self,
        arguments: Vec<String>,
        title: String,
        visitor: Option<&str>,
    ) -> u64 {
        let mut state = self.lock();
        state.next_number += 1;
        let number = state.next_number;
        state.queue.push_back(QueuedRun {
            number,
            arguments,
            title,
            visitor: visitor.map(str::to_owned),
        });
        drop(state);
        self.start_next();
        number
    }

    /// Takes a run out of the queue. Returns false where it is not in it any more.
    pub(super) fn unqueue(&self, number: u64) -> bool {
        let mut state = self.lock();
        let before = state.queue.len();
        state.queue.retain(|queued| queued.number != number);
        state.queue.len() < before
    }

    /// Asks the run with this number to stop: `stop` lets requests in flight end, `abort` does not. Returns false where
    /// it is not under way any more.
    pub(super) fn stop(&self, number: u64, word: &str) -> bool {
        let mut state = self.lock();
        let current = state.current.as_mut();
        if let Some(current) = current.filter(|current| current.queued.number == number) {
            current.stops += 1;
            if let Some(control) = &mut current.control {
                // A run that has just ended needs no word.
                let _ = writeln!(control, "{word}").and_then(|()| control.flush());
            }
            return true;
        }
        false
    }

    /// Stops what runs, and starts nothing more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.queue.clear();
        let current = state.current.as_ref().map(|current| current.queued.number);
        drop(state);
        if let Some(number) = current {
            self.stop(number, "stop");
        }
    }

    pub(super) fn current(&self) -> Option<ShownRun> {
        self.lock().current.as_ref().map(|current| ShownRun {
            number: current.queued.number,
            title: current.queued.title.clone(),
            run: current.run.clone(),
            stops: current.stops,
            output: current.output.iter().cloned().collect(),
        })
    }

    pub(super) fn queued(&self) -> Vec<QueuedRun> {
        self.lock().queue.iter().cloned().collect()
    }

    /// Returns the runs that ended last, the newest first.
    pub(super) fn ended(&self) -> Vec<EndedRun> {
        self.lock().ended.iter().cloned().collect()
    }

    /// Starts the next run of the queue that can be started, unless one is under way.
    fn start_next(&self) {
        while let Some(queued) = self.take_next() {
            match self.begin(&queued) {
                Ok(()) => return,
                Err(error) => self.note_end(None, Some(format!("error: {error}"))),
            }
        }
    }

    /// Makes the next run of the queue the current one.
    fn take_next(&self) -> Option<QueuedRun> {
        let mut state = self.lock();
        if state.current.is_some() || state.is_closed {
            return None;
        }
        let queued = state.queue.pop_front()?;
        state.current = Some(CurrentRun {
            queued: queued.clone(),
            control: None,
            run: None,
            output: VecDeque::new(),
            stops: 0,
        });
        Some(queued)
    }

    /// Starts the current run, and a thread that follows it.
    fn begin(&self, queued: &QueuedRun) -> Result<(), Error> {
        let mut command =
            prepare_command(&self.folder, &queued.arguments, queued.visitor.as_deref())?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C in the terminal is for this server, which passes it on.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(Error::spawn(&command))?;
        if let Some(current) = &mut self.lock().current {
            current.control = child.stdin.take();
        }
        let child = Arc::new(Mutex::new(Some(child)));
        let (runs, followed) = (self.clone(), Arc::clone(&child));
        let take = |child: &Mutex<Option<Child>>| {
            let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
            child.take()
        };
        let follow = move || take(&followed).map_or((), |child| runs.follow(child));
        (self.spawn_thread)(Box::new(follow)).map_err(|error| {
            if let Some(mut child) = take(&child) {
                // One that has just ended needs no end.
                let _ = child.kill().and_then(|()| child.wait());
            }
            Error::failure(format!("no thread for the run: {error}"))
        })
    }

    /// Reads the output of a run until it ends, and starts the next one.
    fn follow(&self, mut child: Child) {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for line in stdout
                    .into_iter()
                    .flat_map(|pipe| BufReader::new(pipe).lines())
                {
                    let Ok(line) = line else { break };
                    if let Some(run) = line.strip_prefix(WATCHED_RUN)
                        && let Some(current) = &mut self.lock().current
                    {
                        current.run.get_or_insert_with(|| run.to_owned());
                    }
                }
            });
            for line in stderr
                .into_iter()
                .flat_map(|pipe| BufReader::new(pipe).lines())
            {
                let Ok(line) = line else { break };
                if let Some(current) = &mut self.lock().current {
                    current.output.push_back(clean_output(&line));
                    if current.output.len() > LINES {
                        current.output.pop_front();
                    }
                }
            }
        });
        let status = child.wait();
        self.note_end(status.ok().and_then(|status| status.code()), None);
        self.start_next();
    }

    /// Puts the current run among those that ended, with a last line of its output.
    fn note_end(&self, exit_code: Option<i32>, line: Option<String>) {
        let mut state = self.lock();
        if let Some(current) = state.current.take() {
            state.ended.push_front(EndedRun {
                at: crate::store::now(),
                number: current.queued.number,
                title: current.queued.title,
                run: current.run,
                exit_code,
                output: current.output.into_iter().chain(line).collect(),
            });
            state.ended.truncate(ENDED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::Instant;

    #[test]
    fn a_run_that_cannot_be_followed_leaves_room_for_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Runs::new(folder.path());
        runs.spawn_thread = |_| Err(io::Error::other("too many threads"));
        let first = runs.start(vec!["--list".to_owned()], "first".to_owned(), None);
        let second = runs.start(vec!["--list".to_owned()], "second".to_owned(), None);
        assert!(runs.current().is_none() && runs.queued().is_empty());
        let ended = runs.ended();
        let numbers: Vec<_> = ended.iter().map(|run| run.number).collect();
        assert_eq!(numbers, [second, first]);
        assert_eq!(
            ended[0].output,
            ["error: no thread for the run: too many threads"]
        );
        // With threads, one runs again: this test program, which ends by itself.
        runs.spawn_thread = spawn_thread;
        let third = runs.start(vec!["--list".to_owned()], "third".to_owned(), None);
        let begin = Instant::now();
        while runs.ended().first().is_none_or(|run| run.number != third) {
            assert!(begin.elapsed() < Duration::from_secs(120));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(runs.ended()[0].exit_code, Some(0));
    }
}

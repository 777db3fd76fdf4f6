//! A child process that ends with its owner, and the last of what it printed.

use super::TargetError;
#[cfg(unix)]
use super::group::ProcessGroup;
use crate::redact;
use loadtest_model::redacted::Redacted;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A running child; dropping it kills and reaps it, also while a panic unwinds.
#[derive(Debug)]
pub(super) struct ChildProcess {
    /// The name by which people know it.
    pub(super) program: String,
    child: Mutex<Child>,
    printed: Arc<OutputBuffer>,
    /// The group ends everything that the child started.
    #[cfg(unix)]
    group: Option<ProcessGroup>,
}

impl ChildProcess {
    /// Starts `command` without input, its output kept here.
    pub(super) fn spawn(mut command: Command, program: String) -> io::Result<Self> {
        #[cfg(unix)]
        let group = ProcessGroup::new().inspect(|group| group.add_command(&mut command));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        // From here on a failure drops the process, which ends the child.
        let process = Self {
            program,
            child: Mutex::new(child),
            printed: Arc::default(),
            #[cfg(unix)]
            group,
        };
        if let Some(stdout) = stdout {
            process.printed.read_pipe(stdout)?;
        }
        if let Some(stderr) = stderr {
            process.printed.read_pipe(stderr)?;
        }
        Ok(process)
    }

    /// Returns the exit status of the child, once it has ended.
    pub(super) fn ended(&self) -> Result<Option<ExitStatus>, TargetError> {
        lock_ignoring_poison(&self.child)
            .try_wait()
            .map_err(|error| TargetError::Unknown {
                program: self.program.clone(),
                error,
            })
    }

    /// Kills and reaps the child.
    pub(super) fn kill(&self) {
        kill_and_reap(&mut lock_ignoring_poison(&self.child));
    }

    /// The last lines the child printed. Of a child that has ended, all it ever wrote is waited for.
    pub(super) fn last_output(&self) -> LastOutput {
        if matches!(self.ended(), Ok(Some(_))) {
            // What it started would hold its pipes open.
            #[cfg(unix)]
            if let Some(group) = &self.group {
                group.kill();
            }
            self.printed.wait_for_end();
        }
        self.printed.last_lines()
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        kill_and_reap(self.child.get_mut().unwrap_or_else(PoisonError::into_inner));
    }
}

fn kill_and_reap(child: &mut Child) {
    // Both fail only for a child that is gone already, which is what is wanted.
    let _ = child.kill();
    let _ = child.wait();
}

/// The last lines that a process printed, on standard output and standard error together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastOutput(Redacted);

impl LastOutput {
    /// The lines as they were printed, without control characters and secrets; empty when there were
    /// none.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LastOutput {
    /// Writes the end of an error message: each line on its own, behind a bar.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("; it printed nothing");
        }
        f.write_str("; the last it printed:")?;
        self.0
            .lines()
            .try_for_each(|line| write!(f, "\n    | {line}"))
    }
}

/// The number of output bytes that are kept.
const MAX_KEPT_OUTPUT: usize = 64 * 1024;
/// The number of output lines in an error.
const MAX_SHOWN_LINES: usize = 20;
/// The longest time for the pipes of a dead child to close. Only a process that it started and that left its group holds
/// them open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The output of a child: a buffer that two threads fill.
#[derive(Debug, Default)]
struct OutputBuffer {
    tail: Mutex<OutputTail>,
    closed: Condvar,
}

#[derive(Debug, Default)]
struct OutputTail {
    bytes: VecDeque<u8>,
    /// The number of open pipes.
    open: usize,
}

impl OutputBuffer {
    /// Reads `pipe` to its end in a thread of its own.
    fn read_pipe(self: &Arc<Self>, mut pipe: impl Read + Send + 'static) -> io::Result<()> {
        let printed = Arc::clone(self);
        lock_ignoring_poison(&self.tail).open += 1;
        thread::Builder::new()
            .name("target output".into())
            .spawn(move || {
                let mut chunk = [0; 4096];
                loop {
                    match pipe.read(&mut chunk) {
                        Ok(0) => break,
                        Ok(length) => lock_ignoring_poison(&printed.tail).push(&chunk[..length]),
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(_) => break,
                    }
                }
                lock_ignoring_poison(&printed.tail).open -= 1;
                printed.closed.notify_all();
            })?;
        Ok(())
    }

    fn wait_for_end(&self) {
        let tail = lock_ignoring_poison(&self.tail);
        drop(
            self.closed
                .wait_timeout_while(tail, DRAIN_TIMEOUT, |tail| tail.open > 0),
        );
    }

    fn last_lines(&self) -> LastOutput {
        lock_ignoring_poison(&self.tail).last_lines()
    }
}

impl OutputTail {
    fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend(chunk);
        let surplus = self.bytes.len().saturating_sub(MAX_KEPT_OUTPUT);
        self.bytes.drain(..surplus);
    }

    fn last_lines(&mut self) -> LastOutput {
        let text = String::from_utf8_lossy(self.bytes.make_contiguous());
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let mut shown = lines[lines.len().saturating_sub(MAX_SHOWN_LINES)..].join("\n");
        shown.retain(|c| !c.is_control() || matches!(c, '\n' | '\t'));
        LastOutput(redact::redact(&shown))
    }
}

/// Locks, whatever a panicking thread left: all that is kept here is valid at any time.
fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let mut tail = OutputTail::default();
        for number in 0..100_000 {
            tail.push(format!("line {number}\n").as_bytes());
            assert!(tail.bytes.len() <= MAX_KEPT_OUTPUT);
        }
        let shown = tail.last_lines();
        assert_eq!(shown.as_str().lines().count(), MAX_SHOWN_LINES);
        assert!(shown.as_str().starts_with("line 99980\n"));
        assert!(shown.as_str().ends_with("line 99999"));
    }

    #[test]
    fn a_chunk_larger_than_the_buffer_leaves_its_end() {
        let mut tail = OutputTail::default();
        let mut chunk = vec![b'a'; MAX_KEPT_OUTPUT + 10];
        chunk.extend(b"\nend");
        tail.push(&chunk);
        assert_eq!(tail.bytes.len(), MAX_KEPT_OUTPUT);
        assert!(tail.last_lines().as_str().ends_with("\nend"));
    }

    #[test]
    fn broken_text_and_control_characters_are_shown_as_text() {
        let mut tail = OutputTail::default();
        tail.push(b"\x1b]0;title\x07caf\xe9\r\n\tindented\n\n");
        assert_eq!(
            tail.last_lines().as_str(),
            "]0;titlecaf\u{fffd}\n\tindented"
        );
    }

    #[test]
    fn an_output_reads_as_the_end_of_a_sentence() {
        assert_eq!(
            LastOutput(Redacted::default()).to_string(),
            "; it printed nothing"
        );
        assert_eq!(
            LastOutput("one\ntwo".into()).to_string(),
            "; the last it printed:\n    | one\n    | two"
        );
    }
}

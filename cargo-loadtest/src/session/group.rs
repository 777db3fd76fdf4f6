//! A child with all it starts: one process group, which never survives us.

use loadtest_console::console::clean_output;
use loadtest_console::error::Error;
use std::io::{self, BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// Lines of output that wait to be shown; a child that prints more waits for us.
const WAITING_LINES: usize = 1024;
/// The most bytes that are kept of a line of output.
const MAX_LINE: usize = 16 * 1024;
/// The time to wait for output on a pipe that should be closed.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// A running child, its control pipe and its output.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
    control: Option<ChildStdin>,
    output: Receiver<String>,
    ended: bool,
}

impl Group {
    /// Starts `command` as the leader of a group of its own, so that Ctrl-C is ours to pass on.
    pub(crate) fn spawn(mut command: Command) -> Result<Self, Error> {
        let failed = Error::spawn(&command);
        let (reader, writer) = io::pipe().map_err(&failed)?;
        let twin = writer.try_clone().map_err(&failed)?;
        command.stdin(Stdio::piped()).stdout(twin).stderr(writer);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(&failed)?;
        // The command holds the writing end, which must close with the child.
        drop(command);
        let (sender, output) = sync_channel(WAITING_LINES);
        let group = Self {
            control: child.stdin.take(),
            child,
            output,
            ended: false,
        };
        std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || {
                read_lines(BufReader::new(reader), |line| {
                    sender.send(clean_output(&line)).is_ok()
                });
            })
            .map_err(failed)?;
        Ok(group)
    }

    /// Writes a line to the control pipe.
    pub(crate) fn say(&mut self, word: &str) {
        if let Some(control) = &mut self.control {
            // A child that has ended already needs no word.
            let _ = writeln!(control, "{word}").and_then(|()| control.flush());
        }
    }

    /// Returns the output since the last call.
    pub(crate) fn output(&self) -> Vec<String> {
        self.output.try_iter().collect()
    }

    /// Returns the last output of an ended child.
    pub(crate) fn last_output(&self) -> Vec<String> {
        std::iter::from_fn(|| self.output.recv_timeout(LAST_OUTPUT).ok()).collect()
    }

    /// The status of the child if it has ended; then nothing of its group is left.
    pub(crate) fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        if !self.ended && !has_ended(&mut self.child)? {
            return Ok(None);
        }
        if !self.ended {
            // Before the child is waited for, since until then nobody else can have its number.
            self.kill();
            self.ended = true;
        }
        self.child.wait().map(Some)
    }

    /// Ends the child and all that it started, at once.
    pub(crate) fn kill(&mut self) {
        if !self.ended {
            kill_group(&mut self.child);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
            // Nothing more can be done about a child that cannot be waited for.
            let _ = self.child.wait();
        }
    }
}

/// Hands each line of `input` to `receive` until that wants no more. Of a long line, only the start is kept.
fn read_lines(mut input: impl BufRead, mut receive: impl FnMut(String) -> bool) {
    let mut line = Vec::new();
    let mut length = 0;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        line.extend_from_slice(&part[..part.len().min(MAX_LINE - line.len())]);
        length += part.len();
        let is_last = chunk.is_empty();
        let read = part.len() + usize::from(end.is_some());
        input.consume(read);
        if end.is_some() || is_last && length > 0 {
            if !receive(describe_line(&line, length)) {
                return;
            }
            line.clear();
            length = 0;
        }
        if is_last {
            return;
        }
    }
}

/// Returns the text of a line, of which `start` is there and that is `length` bytes long.
fn describe_line(start: &[u8], length: usize) -> String {
    let text = String::from_utf8_lossy(start);
    if start.len() == length {
        text.trim_end().to_owned()
    } else {
        format!("{text}… [cut: {length} bytes in all]")
    }
}

#[cfg(unix)]
fn kill_group(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // The child leads a group of its own, whose number is its own.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(child: &mut Child) {
    let _ = child.kill();
}

/// Returns true if the child has ended, without reaping it.
#[cfg(unix)]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return Ok(child.try_wait()?.is_some());
    };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Err(rustix::io::Errno::INTR) => {}
            status => return Ok(status?.is_some()),
        }
    }
}

#[cfg(not(unix))]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    Ok(child.try_wait()?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_up_to_a_length_and_cut_beyond_it() {
        let long = "x".repeat(MAX_LINE + 1);
        let longest = "y".repeat(MAX_LINE);
        let input = format!("a\r\n\n{long}\n{longest}\nwithout an end");
        for size in [1, 7, 8192] {
            let mut lines = Vec::new();
            read_lines(BufReader::with_capacity(size, input.as_bytes()), |line| {
                lines.push(line);
                true
            });
            let cut = format!("{}… [cut: {} bytes in all]", &long[1..], MAX_LINE + 1);
            assert_eq!(lines, ["a", "", &cut, &longest, "without an end"]);
        }
    }

    #[test]
    fn reading_ends_when_no_line_is_wanted() {
        let mut lines = Vec::new();
        read_lines(&b"a\nb\n"[..], |line| {
            lines.push(line);
            false
        });
        assert_eq!(lines, ["a"]);
    }
}

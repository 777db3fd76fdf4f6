//! The output of the process: once there is a secret, a thread filters it line by line.

use super::known;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest line that is waited for, in bytes.
const MAX_LINE: usize = 64 * 1024;

/// True if standard output and error of the process are those of a load test.
static OWNS_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Says that this process is a load test and nothing else, whose output may be looked through.
pub(crate) fn own_output() {
    OWNS_OUTPUT.store(true, Ordering::Relaxed);
}

/// Looks through what is printed from now on, and lets the process leave no image of its memory.
pub(super) fn guard_output() {
    if OWNS_OUTPUT.load(Ordering::Relaxed) {
        system::guard_output();
    }
}

/// Waits until everything is printed, at the end of the process.
pub(crate) fn flush_output() {
    system::flush_output();
}

/// Copies `input` to `output` without secrets, in whole lines.
fn copy_scrubbed(mut input: impl Read, mut output: impl Write) {
    let mut waiting = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        let length = match input.read(&mut chunk) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        waiting.extend_from_slice(&chunk[..length]);
        let ready = if length == 0 {
            waiting.len()
        } else {
            printable_len(&waiting)
        };
        // A reader that closed the other end wants no more, and printing must not wait for it.
        let _closed = output
            .write_all(&known::scrub_bytes(&waiting[..ready]))
            .and_then(|()| output.flush());
        waiting.drain(..ready);
        if length == 0 {
            return;
        }
    }
}

/// Returns how much can be printed: whole lines; of an incomplete line, all but the possible start of a
/// secret.
fn printable_len(waiting: &[u8]) -> usize {
    if let Some(end) = waiting.iter().rposition(|byte| *byte == b'\n') {
        return end + 1;
    }
    if waiting.len() < MAX_LINE {
        return 0;
    }
    known::safe_cut(waiting, waiting.len(), true)
}

#[cfg(unix)]
mod system {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    use nix::unistd::{dup2_stderr, dup2_stdout};
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::MetadataExt;
    use std::sync::mpsc::{Receiver, channel};
    use std::sync::{Mutex, PoisonError};
    use std::thread;
    use std::time::Duration;

    /// The time for output of a program that was started here to arrive.
    const LAST_OUTPUT: Duration = Duration::from_secs(1);

    static GUARDED: Mutex<Option<Guarded>> = Mutex::new(None);

    struct Guarded {
        stdout: OwnedFd,
        stderr: OwnedFd,
        /// Ends when all is printed.
        copied: Receiver<()>,
    }

    pub(super) fn guard_output() {
        let _best_effort = leave_no_core();
        let mut guarded = GUARDED.lock().unwrap_or_else(PoisonError::into_inner);
        if guarded.is_none() {
            *guarded = divert_output().ok();
        }
    }

    /// The hard limit stays, so that a program that is started here may ask for one.
    fn leave_no_core() -> nix::Result<()> {
        let (_, hard) = getrlimit(Resource::RLIMIT_CORE)?;
        setrlimit(Resource::RLIMIT_CORE, 0, hard)
    }

    fn divert_output() -> io::Result<Guarded> {
        let stdout = io::stdout().as_fd().try_clone_to_owned()?;
        let stderr = io::stderr().as_fd().try_clone_to_owned()?;
        let (sender, copied) = channel();
        let follow = |output: OwnedFd| -> io::Result<io::PipeWriter> {
            let (reader, writer) = io::pipe()?;
            let sender = sender.clone();
            thread::Builder::new()
                .name("loadtest-output".to_owned())
                .spawn(move || {
                    super::copy_scrubbed(reader, File::from(output));
                    drop(sender);
                })?;
            Ok(writer)
        };
        let first = follow(stdout.try_clone()?)?;
        // In one place, what is printed keeps its order.
        let second = if is_same_file(&stdout, &stderr)? {
            first.try_clone()?
        } else {
            follow(stderr.try_clone()?)?
        };
        dup2_stdout(first.as_fd())?;
        dup2_stderr(second.as_fd())?;
        Ok(Guarded {
            stdout,
            stderr,
            copied,
        })
    }

    fn is_same_file(one: &OwnedFd, other: &OwnedFd) -> io::Result<bool> {
        let file = |fd: &OwnedFd| {
            let metadata = File::from(fd.try_clone()?).metadata()?;
            io::Result::Ok((metadata.dev(), metadata.ino()))
        };
        Ok(file(one)? == file(other)?)
    }

    pub(super) fn flush_output() {
        let mut guarded = GUARDED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Guarded {
            stdout,
            stderr,
            copied,
        }) = guarded.take()
        else {
            return;
        };
        let _flushed = io::Write::flush(&mut io::stdout());
        // The pipes end with their last writers, which these are.
        if dup2_stdout(stdout.as_fd()).is_ok() && dup2_stderr(stderr.as_fd()).is_ok() {
            let _ended = copied.recv_timeout(LAST_OUTPUT);
        }
    }
}

#[cfg(not(unix))]
mod system {
    pub(super) fn guard_output() {}
    pub(super) fn flush_output() {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Secret;

    /// Reads these pieces one by one.
    struct Pieces<'a>(Vec<&'a [u8]>);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let piece = self.0.remove(0);
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    fn copied(pieces: Vec<&[u8]>) -> String {
        let mut output = Vec::new();
        copy_scrubbed(Pieces(pieces), &mut output);
        String::from_utf8_lossy(&output).into_owned()
    }

    #[test]
    fn a_secret_in_two_writes_is_taken_out() {
        let _known = Secret::new("O", "printed-in-pieces");
        let shown = copied(vec![b"a printed-", b"in-pieces b\nprinted-in-", b"pieces"]);
        assert_eq!(shown, "a [secret:O] b\n[secret:O]");
    }

    #[test]
    fn a_secret_in_a_line_without_an_end_is_taken_out_wherever_it_is() {
        let value = "printed-in-a-long-line";
        let _known = Secret::new("L", value);
        for before in 0..40 {
            let line = "x".repeat(MAX_LINE - 300 + before * 8) + value + &"y".repeat(9000);
            let shown = copied(line.as_bytes().chunks(4096).collect());
            assert_eq!(shown, line.replace(value, "[secret:L]"), "{before}");
        }
    }
}

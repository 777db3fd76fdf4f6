//! Commands of this program as child processes: what a page does is what the command line does.

use super::guard::SECRET_VARIABLE;
use crate::session;
use loadtest_console::error::Error;
use loadtest_console::interrupt::terminate;
use loadtest_console::process::USER_VARIABLE;
use std::collections::BTreeSet;
use std::io::{BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The end of a command.
#[derive(Debug, Clone)]
pub(super) struct CommandOutput {
    pub(super) is_ok: bool,
    pub(super) stdout: String,
    /// Errors and progress.
    pub(super) stderr: String,
}

impl CommandOutput {
    fn new(output: &Output) -> Self {
        Self {
            is_ok: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns what the command says of its failure: its lines on standard error from the first error on, else the last.
    pub(super) fn explanation(&self) -> String {
        let lines: Vec<_> = self.stderr.lines().collect();
        let error = lines.iter().position(|line| line.starts_with("error"));
        lines[error.unwrap_or(lines.len().saturating_sub(10))..].join("\n")
    }
}

/// Prepares `cargo loadtest ARGUMENTS` in `folder`, for the visitor of a shared dashboard.
///
/// # Errors
/// When this program cannot find itself.
pub(super) fn prepare_command(
    folder: &Path,
    arguments: &[String],
    visitor: Option<&str>,
) -> Result<Command, Error> {
    let mut command = Command::new(session::own_program()?);
    command
        .args(["--color", "never"])
        .args(arguments)
        .current_dir(folder)
        .env_remove(SECRET_VARIABLE)
        .stdin(Stdio::null());
    if let Some(visitor) = visitor {
        command.env(USER_VARIABLE, visitor);
    }
    Ok(command)
}

/// Runs a command to its end.
///
/// # Errors
/// When it cannot be started.
pub(super) fn run_command(
    folder: &Path,
    arguments: &[String],
    visitor: Option<&str>,
) -> Result<CommandOutput, Error> {
    run_to_end(prepare_command(folder, arguments, visitor)?, &[])
}

/// Runs a command with this standard input to its end.
///
/// # Errors
/// When it cannot be started.
pub(super) fn run_command_with_input(
    folder: &Path,
    arguments: &[String],
    input: &[u8],
) -> Result<CommandOutput, Error> {
    run_to_end(prepare_command(folder, arguments, None)?, input)
}

/// Runs a command to its end, and hands on what it prints on standard error as it comes, with the progress of cargo.
///
/// # Errors
/// When it cannot be started.
pub(super) fn follow_command(
    folder: &Path,
    arguments: &[String],
    visitor: Option<&str>,
    mut on_line: impl FnMut(&str) + Send,
) -> Result<CommandOutput, Error> {
    let mut command = prepare_command(folder, arguments, visitor)?;
    command
        .env("CARGO_TERM_PROGRESS_WHEN", "always")
        .env("CARGO_TERM_PROGRESS_WIDTH", "100")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Error::spawn(&command))?;
    let _running = RunningCommand::new(&child);
    let stderr = child.stderr.take();
    let (words, output) = std::thread::scope(|scope| {
        let words = scope.spawn(move || {
            let bytes = stderr
                .into_iter()
                .flat_map(|pipe| BufReader::new(pipe).bytes());
            read_lines(bytes.map_while(Result::ok), &mut on_line)
        });
        let output = child.wait_with_output();
        (words.join(), output)
    });
    let output = output.map_err(Error::spawn(&command))?;
    Ok(CommandOutput {
        stderr: words.unwrap_or_default(),
        ..CommandOutput::new(&output)
    })
}

/// Hands on each line, also those that are written over, and returns the text that stays.
fn read_lines(bytes: impl Iterator<Item = u8>, on_line: &mut impl FnMut(&str)) -> String {
    let (mut text, mut line) = (String::new(), Vec::new());
    let mut is_over = false;
    for byte in bytes {
        match byte {
            b'\r' | b'\n' => {
                on_line(&String::from_utf8_lossy(&line));
                if byte == b'\n' {
                    text.push_str(&String::from_utf8_lossy(&line));
                    text.push('\n');
                    line.clear();
                }
                is_over = byte == b'\r';
            }
            _ => {
                if std::mem::take(&mut is_over) {
                    line.clear();
                }
                line.push(byte);
            }
        }
    }
    text + &String::from_utf8_lossy(&line)
}

fn run_to_end(mut command: Command, input: &[u8]) -> Result<CommandOutput, Error> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Error::spawn(&command))?;
    let _running = RunningCommand::new(&child);
    let pipe = child.stdin.take();
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            // A command that has seen enough closes its end.
            let _ = pipe.map(|mut pipe| pipe.write_all(input));
        });
        child.wait_with_output()
    });
    Ok(CommandOutput::new(&output.map_err(Error::spawn(&command))?))
}

/// The commands under way, by the number of their process.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Marks a child as one that ends with the server.
#[derive(Debug)]
pub(super) struct RunningCommand(u32);

impl RunningCommand {
    pub(super) fn new(child: &Child) -> Self {
        lock_running().insert(child.id());
        Self(child.id())
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        lock_running().remove(&self.0);
    }
}

/// Ends the commands under way, which nobody waits for any more.
pub(super) fn end_commands() {
    for id in lock_running().iter() {
        terminate(*id);
    }
}

fn lock_running() -> MutexGuard<'static, BTreeSet<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_written_over_are_handed_on_and_do_not_stay() {
        let mut seen = Vec::new();
        let bytes = b"   Compiling a\n  [1/2]\r  [2/2]\r   Compiling b\r\nerror: no\nend".iter();
        let text = read_lines(bytes.copied(), &mut |line| seen.push(line.to_owned()));
        assert_eq!(text, "   Compiling a\n   Compiling b\nerror: no\nend");
        assert!(seen.contains(&"  [1/2]".to_owned()), "{seen:?}");
    }
}

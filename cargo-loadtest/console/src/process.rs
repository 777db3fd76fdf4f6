//! The process around a call: working directory, environment variables and standard streams.
//!
//! Everything else asks this room. A call inside another program replaces all of it for its
//! thread.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

thread_local! {
    static REPLACED: RefCell<Option<Replacement>> = const { RefCell::new(None) };
    static IS_REPLACED: Cell<bool> = const { Cell::new(false) };
}

/// The variable with the name of the caller.
pub const USER_VARIABLE: &str = "LOADTEST_USER";

/// The process that a captured call sees.
#[derive(Debug, Default)]
pub struct Replacement {
    /// The working directory.
    pub directory: PathBuf,
    /// The environment variables.
    pub variables: BTreeMap<OsString, OsString>,
    /// The bytes of standard input.
    pub input: Vec<u8>,
    /// The bytes written to standard output.
    pub output: Vec<u8>,
    /// The bytes written to standard error.
    pub errors: Vec<u8>,
}

/// A standard stream to write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// Does `work` with a replaced process; returns its result and the process afterwards.
pub fn replace<T>(replacement: Replacement, work: impl FnOnce() -> T) -> (T, Replacement) {
    let before = REPLACED.replace(Some(replacement));
    IS_REPLACED.set(true);
    let result = work();
    IS_REPLACED.set(before.is_some());
    let after = REPLACED.replace(before).unwrap_or_default();
    (result, after)
}

/// Returns true within a captured call: nothing is a terminal there.
pub fn is_replaced() -> bool {
    IS_REPLACED.get()
}

fn with_replacement<T>(ask: impl FnOnce(&mut Replacement) -> T) -> Option<T> {
    REPLACED.with_borrow_mut(|replaced| replaced.as_mut().map(ask))
}

/// Returns the working directory.
///
/// # Errors
/// It is gone, or may not be read.
pub fn directory() -> io::Result<PathBuf> {
    match with_replacement(|process| process.directory.clone()) {
        Some(directory) => Ok(directory),
        None => std::env::current_dir(),
    }
}

/// Resolves a path that the user gave; `-` stays, since it is a standard stream.
pub fn resolve(path: &Path) -> PathBuf {
    let joined =
        with_replacement(|process| process.directory.join(path)).filter(|_| path != Path::new("-"));
    joined.unwrap_or_else(|| path.to_path_buf())
}

/// Returns an environment variable.
pub fn variable_os(name: &str) -> Option<OsString> {
    with_replacement(|process| process.variables.get(&OsString::from(name)).cloned())
        .unwrap_or_else(|| std::env::var_os(name))
}

/// Returns an environment variable that is UTF-8.
pub fn variable(name: &str) -> Option<String> {
    variable_os(name)?.into_string().ok()
}

/// Returns all environment variables.
pub fn variables() -> Vec<(OsString, OsString)> {
    let replaced = with_replacement(|process| process.variables.clone().into_iter().collect());
    replaced.unwrap_or_else(|| std::env::vars_os().collect())
}

/// Lets this process leave no image of its memory, which holds secrets: those of the environment at least. The hard
/// limit stays, so that a program that is started here may ask for one.
pub fn leave_no_core() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let maximum = getrlimit(Resource::Core).maximum;
        let none = Rlimit {
            current: Some(0),
            maximum,
        };
        // A limit may always be lowered.
        let _ = setrlimit(Resource::Core, none);
    }
}

/// Writes to a standard stream, and flushes it.
///
/// # Errors
/// It takes nothing: it is closed, say, or its disk is full.
pub fn write_to(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    let captured = with_replacement(|process| match stream {
        Stream::Output => process.output.extend_from_slice(bytes),
        Stream::Errors => process.errors.extend_from_slice(bytes),
    });
    if captured.is_some() {
        return Ok(());
    }
    match stream {
        Stream::Output => {
            let mut stdout = io::stdout().lock();
            stdout.write_all(bytes)?;
            stdout.flush()
        }
        Stream::Errors => io::stderr().lock().write_all(bytes),
    }
}

/// Reads at most `limit` bytes of standard input.
///
/// # Errors
/// It cannot be read.
pub fn read_input(limit: u64) -> io::Result<Vec<u8>> {
    if let Some(input) = with_replacement(|process| process.input.clone()) {
        let limit = usize::try_from(limit)
            .unwrap_or(usize::MAX)
            .min(input.len());
        return Ok(input[..limit].to_vec());
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

//! The error of the tool: exit code, message, help.
//!
//! The message is built where the mistake is found. [`Kind`] exists for the few errors that a caller handles.

use loadtest_model::exit_code::ExitCode;
use loadtest_model::failure::RunFailure;
use std::fmt;
use std::path::PathBuf;

/// An error to print, with the exit code it ends the tool with.
///
/// Messages are lower-case fragments; [`help`](Self::help) says what to do.
#[derive(Debug)]
pub struct Error {
    exit_code: ExitCode,
    message: String,
    help: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    kind: Kind,
}

/// Distinguishes errors that a caller handles.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Anything that no caller handles.
    #[default]
    Other,
    /// An input or output operation failed.
    Io(std::io::ErrorKind),
    /// No package, or no cargo, in the working directory.
    NoPackage,
    /// No run has the given name, or only one with a similar one.
    UnknownRun {
        /// True if the name of a run is similar.
        has_similar: bool,
    },
    /// No baseline has the given name.
    UnknownBaseline,
    /// The load-test binary refused to run a scenario.
    Refused(Box<RunFailure>),
}

impl Error {
    /// Something failed: exit code 1.
    pub fn failure(message: impl Into<String>) -> Self {
        Self::with_exit_code(ExitCode::Internal, message)
    }

    /// The request is invalid: exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::with_exit_code(ExitCode::Usage, message)
    }

    /// The request matches nothing: exit code 3.
    pub fn nothing_found(message: impl Into<String>) -> Self {
        Self::with_exit_code(ExitCode::NothingFound, message)
    }

    /// The user asked to stop: exit code 105.
    pub fn interrupted() -> Self {
        Self::with_exit_code(ExitCode::Interrupted, "interrupted")
    }

    /// The load-test binary refused to run `scenario`; its failure decides the exit code.
    pub fn refused(scenario: &str, failure: &RunFailure) -> Self {
        let message = format!("`{scenario}` did not run: {}", failure.message);
        Self {
            help: failure.help.as_deref().map(str::to_owned),
            kind: Kind::Refused(Box::new(failure.clone())),
            ..Self::with_exit_code(failure.kind.exit_code(), message)
        }
    }

    /// For `map_err`: an I/O error of `action` (an infinitive) at `path`.
    pub fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self {
            kind: Kind::Io(source.kind()),
            ..Self::failure(format!("could not {action} `{}`", path.display())).with_source(source)
        }
    }

    /// For `map_err`: a program that could not be started.
    pub fn spawn(command: &std::process::Command) -> impl Fn(std::io::Error) -> Self + use<> {
        let program = command.get_program().to_string_lossy().into_owned();
        move |source| Self {
            kind: Kind::Io(source.kind()),
            ..Self::failure(format!("could not run `{program}`")).with_source(source)
        }
    }

    /// For `map_err`: data that could not be encoded as JSON.
    pub fn encode(what: impl fmt::Display) -> impl Fn(serde_json::Error) -> Self {
        move |error| Self::failure(format!("could not encode {what}: {error}"))
    }

    /// An error with any exit code.
    pub fn with_exit_code(exit_code: ExitCode, message: impl Into<String>) -> Self {
        Self {
            exit_code,
            message: message.into(),
            help: None,
            source: None,
            kind: Kind::Other,
        }
    }

    /// Adds what to do instead.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        let help = Some(help.into());
        Self { help, ..self }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let source = Some(source.into());
        Self { source, ..self }
    }

    /// Marks an error that a caller handles.
    #[must_use]
    pub fn of_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// The exit code of the tool; `docs/exit-codes.md` lists them.
    pub fn exit_code(&self) -> ExitCode {
        self.exit_code
    }

    /// Advice on what to do instead.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The kind, for callers that handle some errors.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

//! `cargo loadtest`: discovers, runs, grades and exports load tests.
//!
//! [`main`] is the whole program. [`Call`] runs one command within another program and captures its output.

mod access;
mod archive;
mod baselines;
mod bundle;
mod ci;
mod cli;
#[cfg(feature = "cluster")]
mod cluster;
mod commands;
mod config;
mod course;
mod export;
#[cfg(test)]
mod fuzz;
mod journal;
mod live;
mod notify;
mod observe;
mod policy;
mod post;
mod protected;
mod samples;
mod selection;
mod session;
#[cfg(test)]
mod soak;
#[cfg_attr(
    not(feature = "ui"),
    expect(dead_code, unused_imports, reason = "the dashboard uses the rest")
)]
mod source;
mod store;
#[cfg_attr(
    not(feature = "telemetry"),
    expect(dead_code, reason = "the formats of protobuf use the rest")
)]
mod telemetry;
#[cfg(feature = "ui")]
mod ui;
mod workspace;

use cli::{Cli, Command};
use loadtest_console::{console, error, interrupt, process};
use loadtest_model::exit_code::ExitCode;
use process::Replacement;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Runs the tool as the program `cargo-loadtest`.
pub fn main() -> std::process::ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    process::leave_no_core();
    if arguments.get(1).is_some_and(|word| word == session::REPLAY) {
        return loadtest::harness::replay();
    }
    if let [_, word, file] = arguments.as_slice()
        && word == source::SHOW
    {
        return match source::show_source(Path::new(file)) {
            Ok(()) => ExitCode::Passed.into(),
            Err(error) => {
                console::print_error(&error);
                error.exit_code().into()
            }
        };
    }
    run_as_program(arguments).into()
}

/// Runs the command line of this process. A panic is a failure, and no failed build, whose exit code it would have.
fn run_as_program(arguments: Vec<OsString>) -> ExitCode {
    if let Err(error) = interrupt::Interrupts::install_for_program() {
        console::print_error(&error);
        return error.exit_code();
    }
    std::panic::catch_unwind(|| run(arguments)).unwrap_or_else(|_| {
        let error = error::Error::failure("a panic ended this program, which is a bug in it")
            .with_help(
                "its message is above; without free threads or memory no other cause is needed",
            );
        console::print_error(&error);
        error.exit_code()
    })
}

/// A command run within this process: its output is captured, and it sees its own working directory and
/// environment.
///
/// Commands that read and write files only (`report`, `compare`, `history`, `baseline`, `config`, `import`) run
/// completely so. Others start `cargo` or load tests, which see the environment of this process.
#[derive(Debug)]
pub struct Call {
    arguments: Vec<OsString>,
    process: Replacement,
}

/// Exit code and output of a [`Call`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit code that the program would have.
    pub exit_code: u8,
    /// Bytes written to standard output.
    pub stdout: Vec<u8>,
    /// Bytes written to standard error.
    pub stderr: Vec<u8>,
}

impl Call {
    /// Prepares `cargo loadtest ARGUMENTS` in `directory`, with an empty environment.
    pub fn new<A: Into<OsString>>(
        directory: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let program = OsString::from("cargo-loadtest");
        Self {
            arguments: std::iter::once(program)
                .chain(arguments.into_iter().map(Into::into))
                .collect(),
            process: Replacement {
                directory: directory.into(),
                ..Replacement::default()
            },
        }
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let (name, value) = (name.as_ref().to_owned(), value.as_ref().to_owned());
        self.process.variables.insert(name, value);
        self
    }

    /// Sets the bytes of standard input.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.process.input = bytes.into();
        self
    }

    /// Runs the command.
    pub fn run(self) -> Output {
        let (exit_code, after) = process::replace(self.process, || run(self.arguments));
        Output {
            exit_code: exit_code.number(),
            stdout: after.output,
            stderr: after.errors,
        }
    }
}

/// Runs the command line `arguments`, which begins with the program; returns the exit code.
fn run(arguments: Vec<OsString>) -> ExitCode {
    // For mistakes in the command line itself, which may say otherwise.
    cli::Color::default().apply();
    let mut words = arguments.iter().map(|word| word.to_string_lossy());
    let has_controls = words.any(|word| console::has_controls(&word));
    let cli = match cli::parse(arguments) {
        Ok(cli) => cli,
        Err(error) => return console::print_usage(&error, has_controls),
    };
    let session = ci::Session::begin(cli.command.is_for_ci());
    cli.color.apply();
    let code = match dispatch(&cli) {
        Ok(code) => code,
        Err(error) => {
            console::print_error(&error);
            session.failed(&error);
            error.exit_code()
        }
    };
    session.end(code)
}

fn dispatch(cli: &Cli) -> Result<ExitCode, error::Error> {
    match &cli.command {
        Command::Init(args) => commands::init::init(args),
        Command::List(args) => commands::list::list(args, cli),
        Command::Plan(args) => commands::plan::plan(args, cli),
        Command::Run(args) => commands::run::run(args, cli),
        Command::Debug(args) => commands::debug::debug(args, cli),
        Command::Capacity(args) => commands::capacity::capacity(args, cli),
        Command::Import(args) => commands::import::import(args, cli.quiet),
        Command::Export(args) => commands::export::export(args, cli),
        Command::Bundle(args) => commands::bundle::bundle(args, cli),
        Command::Duplicate(args) => commands::duplicate::duplicate(args, cli),
        Command::Report(args) => commands::report::report(args, cli),
        Command::Send(args) => commands::send::send(args, cli),
        Command::Merge(args) => commands::merge::merge(args),
        Command::Setup(args) => commands::setup::setup(args, cli),
        Command::Teardown(args) => commands::setup::teardown(args, cli),
        #[cfg(feature = "cluster")]
        Command::Agent(args) => commands::agent::agent(args, cli),
        #[cfg(feature = "cluster")]
        Command::Agents(args) => commands::agent::list(args),
        Command::Compare(args) => commands::compare::compare(args),
        Command::History(args) => commands::history::history(args),
        #[cfg(feature = "ui")]
        Command::Ui(args) => ui::ui(args, cli),
        Command::Baseline(args) => commands::baseline::baseline(args),
        Command::Config(args) => commands::config::config(args),
        Command::Completions(args) => commands::completions::completions(args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_its_own_directory_environment_and_output() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("loadtest.toml");
        std::fs::write(file, "[store]\nkeep = 3\n").unwrap();
        let shown = Call::new(folder.path(), ["config", "--format", "json"])
            .env("LOADTEST_STORE_MAX_AGE", "2d")
            .run();
        let text = String::from_utf8(shown.stdout).unwrap();
        assert_eq!(shown.exit_code, 0, "{text}");
        assert!(text.contains("LOADTEST_STORE_MAX_AGE"), "{text}");
        assert!(text.contains("loadtest.toml"), "{text}");

        let refused = Call::new(folder.path(), ["config"])
            .env("LOADTEST_STORE_KEEP", "many")
            .run();
        assert_eq!(refused.exit_code, 2);
        assert!(refused.stdout.is_empty());
        let text = String::from_utf8(refused.stderr).unwrap();
        assert!(
            text.starts_with("error: `LOADTEST_STORE_KEEP=many`"),
            "{text}"
        );
    }
}

//! What a build server is told besides the result: summary, outputs, annotations.
//!
//! Nothing here decides anything. What a server cannot be told is a warning, and never fails a run.

mod annotation;
mod command;
mod github;
mod outputs;
#[cfg(test)]
mod tests;

use crate::export::Format;
use github::JobStep;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::card::Report;
use loadtest_model::exit_code::ExitCode;
use std::path::Path;

/// The formats that `--ci` writes into the folder of a run: for people, programs, the tests tab,
/// the review and charts.
pub(crate) const EXPORTS: [Format; 5] = [
    Format::Html,
    Format::Json,
    Format::Junit,
    Format::Markdown,
    Format::Openmetrics,
];

/// A published run, and where its parts are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Published<'a> {
    pub(crate) report: &'a Report,
    /// The folder of the run.
    pub(crate) folder: &'a Path,
    /// Its page, where it was written.
    pub(crate) page: Option<&'a Path>,
    /// The folder that paths of sources are relative to.
    pub(crate) sources: &'a Path,
}

/// An invocation on a build server, from its first line to its exit code.
#[derive(Debug)]
pub(crate) struct Session {
    github: Option<JobStep>,
}

impl Session {
    /// Begins one, where `--ci` asks for it: from here on nothing that is printed is a command to the server.
    pub(crate) fn begin(asked: bool) -> Self {
        if asked {
            console::disable_redraw();
        }
        let github = JobStep::of_environment().filter(|_| asked);
        if github.is_some() {
            command::stop();
        }
        Self { github }
    }

    /// Tells of what prevented the run as a whole.
    pub(crate) fn failed(&self, error: &Error) {
        if let Some(github) = &self.github {
            github.failed(error);
        }
    }

    /// Tells what it came to, whatever was told before.
    pub(crate) fn end(self, exit_code: ExitCode) -> ExitCode {
        if let Some(github) = &self.github {
            github.end(exit_code);
            command::resume();
        }
        exit_code
    }
}

/// Tells of a run.
pub(crate) fn report_run(run: &Published<'_>) {
    if let Some(github) = JobStep::of_environment() {
        github.report(run);
    }
}

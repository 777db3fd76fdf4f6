//! A step of GitHub Actions: its summary, its outputs, its annotations.
//!
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>

use super::annotation::{self, Annotation, Level};
use super::{Published, command, outputs};
use crate::export;
use loadtest_console::error::Error;
use loadtest_console::{console, process};
use loadtest_model::exit_code::ExitCode;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Once;

/// Annotations of one kind that GitHub keeps of a step.
const NOTES: usize = 10;
/// The most that a summary of a step takes, in bytes; above it nothing is shown.
const SUMMARY: u64 = 1_024 * 1_024;

const SUMMARY_FILE: &str = "GITHUB_STEP_SUMMARY";
const OUTPUT_FILE: &str = "GITHUB_OUTPUT";
/// Outputs that cannot be written are told once.
static OUTPUT_LOST: Once = Once::new();

/// The files through which a step receives messages.
#[derive(Debug, Clone, Default)]
pub(super) struct JobStep {
    pub(super) summary: Option<PathBuf>,
    pub(super) output: Option<PathBuf>,
    /// The folder of the repository.
    pub(super) repository: Option<PathBuf>,
}

impl JobStep {
    /// The step that this process is part of.
    pub(super) fn of_environment() -> Option<Self> {
        let path = |name: &str| {
            let value = process::variable_os(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        (process::variable_os("GITHUB_ACTIONS")? == "true").then(|| Self {
            summary: path(SUMMARY_FILE),
            output: path(OUTPUT_FILE),
            repository: path("GITHUB_WORKSPACE"),
        })
    }

    /// Summary, outputs and annotations of a run.
    pub(super) fn report(&self, run: &Published<'_>) {
        self.summarise(|room| export::markdown::render_within(run.report, room));
        self.put(&outputs::list_outputs(run));
        let notes = annotation::list_annotations(run.report);
        self.annotate(&notes, run.sources);
    }

    /// The same of what prevented a run.
    pub(super) fn failed(&self, error: &Error) {
        let mut text = console::clean_lines(&error.to_string());
        if let Some(help) = error.help() {
            let _ = write!(text, "\n{}", console::clean_lines(help));
        }
        self.summarise(|_| {
            let quoted = text.replace('\n', "\n    ");
            format!("## ❌ The load test failed\n\n    {quoted}\n")
        });
        self.put(&[("verdict", "error".to_owned())]);
        let note = Annotation {
            level: Level::Error,
            place: None,
            title: "cargo loadtest".to_owned(),
            text,
        };
        self.annotate(&[note], Path::new(""));
    }

    /// Writes the result of the invocation.
    pub(super) fn end(&self, exit_code: ExitCode) {
        self.put(&[
            ("passed", (exit_code == ExitCode::Passed).to_string()),
            ("exit_code", exit_code.to_string()),
        ]);
    }

    /// Adds to the summary what `write` makes of the room that is left.
    fn summarise(&self, write: impl FnOnce(usize) -> String) {
        let Some(path) = &self.summary else {
            return;
        };
        let taken = std::fs::metadata(path).map_or(0, |file| file.len());
        // A line end before it may be needed.
        let room = SUMMARY.saturating_sub(taken + 1) as usize;
        let page = write(room);
        if page.len() > room {
            let limit = SUMMARY / 1024;
            console::print_warning(format_args!(
                "the summary of this step is full: GitHub shows {limit} KiB"
            ));
            return;
        }
        tell_of(SUMMARY_FILE, path, append(path, &page));
    }

    fn put(&self, values: &[(&str, String)]) {
        if let Some(path) = &self.output {
            let lines: String = values
                .iter()
                .map(|(name, value)| entry(name, value))
                .collect();
            let written = append(path, &lines);
            // It is written to twice: what a run was, and what the invocation came to.
            if written.is_err() {
                OUTPUT_LOST.call_once(|| tell_of(OUTPUT_FILE, path, written));
            }
        }
    }

    /// Commands for as many as GitHub keeps, the last of which says how many there are more.
    fn annotate(&self, notes: &[Annotation], sources: &Path) {
        let mut lines = Vec::new();
        for level in [Level::Error, Level::Warning] {
            let those: Vec<_> = notes.iter().filter(|note| note.level == level).collect();
            let more = those.len().saturating_sub(NOTES);
            for (at, note) in those.iter().take(NOTES).enumerate() {
                let mut text = note.text.clone();
                if more > 0 && at + 1 == NOTES {
                    let _ = write!(text, "\n\nThere are {more} more: see the report.");
                }
                lines.push(self.command(note, &text, sources));
            }
        }
        if lines.is_empty() {
            return;
        }
        command::resume();
        for line in lines {
            console::print_command(line);
        }
        command::stop();
    }

    pub(super) fn command(&self, note: &Annotation, text: &str, sources: &Path) -> String {
        let name = match note.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let mut properties = Vec::new();
        let mut text = console::clean_lines(text);
        if let Some((file, line)) = &note.place {
            match self.within(&sources.join(file)) {
                Some(path) => {
                    properties.push(("file", path));
                    properties.push(("line", line.to_string()));
                }
                None => {
                    let _ = write!(text, "\n({}:{line})", console::clean(file));
                }
            }
        }
        properties.push(("title", console::clean(&note.title)));
        command::command_line(name, &properties, &text)
    }

    /// A file as the repository knows it; `None` where it is not in there.
    fn within(&self, file: &Path) -> Option<String> {
        let file = file.canonicalize().ok()?;
        let repository = self.repository.as_ref()?.canonicalize().ok()?;
        let parts = file.strip_prefix(repository).ok()?.components();
        let parts: Vec<_> = parts.map(|part| part.as_os_str().to_str()).collect();
        parts
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .map(|parts| parts.join("/"))
    }
}

/// A name and its value, from which no value breaks out.
pub(super) fn entry(name: &str, value: &str) -> String {
    if !value.contains(['\n', '\r']) {
        return format!("{name}={value}\n");
    }
    let mut end = command::random_token();
    while value.contains(&end) {
        end = command::random_token();
    }
    format!("{name}<<{end}\n{value}\n{end}\n")
}

/// Adds lines to a file, after the end of its last one.
pub(super) fn append(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    let mut whole = text.to_owned();
    if is_within_a_line(path).unwrap_or(false) {
        whole.insert(0, '\n');
    }
    file.write_all(whole.as_bytes())
}

fn is_within_a_line(path: &Path) -> std::io::Result<bool> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

fn tell_of(name: &str, path: &Path, written: std::io::Result<()>) {
    if let Err(error) = written {
        console::print_warning(format_args!(
            "could not write `{}`, which `{name}` names: {error}",
            path.display()
        ));
    }
}

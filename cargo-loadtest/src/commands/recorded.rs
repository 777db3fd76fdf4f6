//! Requests from elsewhere as the scenario of a run: copied curl commands.

use super::Project;
use crate::cli::CurlArgs;
use crate::console;
use crate::error::Error;
use crate::import::{
    Environment, Files, Input, Mistake, Recording, format, hide_secrets, read_text, read_words,
    redact_text, replay_recording,
};
use crate::process;
use crate::selection::Found;
use crate::session;
use crate::workspace::{Binary, Script};
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// What a text of commands may have at most, in bytes.
const LONGEST: u64 = 32 * 1024 * 1024;

/// Requests that were read.
pub(super) struct Requests {
    pub(super) input: Input,
    pub(super) recording: Recording,
}

/// The requests that the command line gives or names; none where it asks for scenarios.
///
/// # Errors
/// Input that is refused; a file that cannot be read.
pub(super) fn requests(args: &CurlArgs) -> Result<Option<Requests>, Error> {
    if !args.are_given() {
        return Ok(None);
    }
    read(
        args.file.as_deref(),
        &args.command,
        args.allow_files,
        Some(&mut process::variable),
    )
    .map(Some)
}

/// Reads the requests of a text, or else those of a command. Without an environment, variables have no values.
///
/// # Errors
/// As [`requests`].
pub(super) fn read(
    file: Option<&Path>,
    command: &[OsString],
    allow_files: bool,
    environment: Option<Environment<'_>>,
) -> Result<Requests, Error> {
    let files = Files {
        folder: process::directory().map_err(Error::io("enter", PathBuf::from(".")))?,
        are_permitted: allow_files,
    };
    let (input, read) = match file {
        Some(path) => {
            let input = text(path, LONGEST)?;
            let read = read_text(&input, &files, environment);
            (input, read)
        }
        None => read_words(&words(command)?, &files),
    };
    match read {
        Ok(recording) => Ok(Requests { input, recording }),
        Err(mistake) => Err(refused(&input, mistake, "curl")),
    }
}

/// Warns where this program is to measure what it sends itself, and was not made for it.
pub(super) fn warn_of_debug_build(quiet: bool) {
    if cfg!(debug_assertions) && !quiet {
        console::print_warning(
            "this tool sends the requests itself, and was built without optimisation: each costs it several times the \
             processor time; install it (`cargo install --path cargo-loadtest`) to measure",
        );
    }
}

/// The words after `--`, the first of which is `curl`.
fn words(command: &[OsString]) -> Result<Vec<Vec<u8>>, Error> {
    let words: Vec<Vec<u8>> = command
        .iter()
        .map(|word| word.as_encoded_bytes().to_vec())
        .collect();
    if words.first().is_some_and(|first| first == b"curl") {
        return Ok(words);
    }
    let first = String::from_utf8_lossy(&words[0]).into_owned();
    Err(Error::usage(format!(
        "after `--` comes a curl command, and this begins with `{}`",
        console::clean(&first)
    ))
    .with_help("write `-- curl http://..`; filters come without `--`"))
}

/// The text of a file, or of standard input, which may have so many bytes.
pub(super) fn text(path: &Path, most: u64) -> Result<Input, Error> {
    let is_stdin = path == Path::new("-");
    let read = if is_stdin {
        process::read_input(most + 1)
    } else {
        std::fs::File::open(path).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(most + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        })
    };
    let bytes = read.map_err(Error::io("read", path))?;
    let name = if is_stdin {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    };
    if bytes.len() as u64 > most {
        let most = most / (1024 * 1024);
        return Err(Error::usage(format!(
            "{}: this has more than {most} MiB",
            console::clean(&name)
        ))
        .with_help("import a part of it"));
    }
    if is_utf_16(&bytes) {
        return Err(Error::usage(format!("{}:1:1: this is UTF-16", console::clean(&name))).with_help("save the text as UTF-8; in PowerShell, write it with `Set-Content -Encoding utf8` and not with `>`"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let before = String::from_utf8_lossy(before);
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .map_or(0, |last| last.chars().count())
            + 1;
        Error::usage(format!(
            "{}:{line}:{column}: this is not UTF-8",
            console::clean(&name)
        ))
        .with_help("save the text as UTF-8")
    })?;
    // What editors of Windows put at the beginning.
    let text = text
        .strip_prefix('\u{feff}')
        .map_or(text.clone(), str::to_owned);
    Ok(Input::new(name, text))
}

/// Whether a text is of two bytes for each letter: by its mark, or since every other byte of its beginning is zero.
fn is_utf_16(bytes: &[u8]) -> bool {
    let is_text = |bytes: &[u8]| bytes.iter().all(|byte| (1..128).contains(byte));
    let pairs = |first: usize, second: usize| {
        let begin: Vec<&[u8]> = bytes.chunks_exact(2).take(8).collect();
        let text: Vec<u8> = begin.iter().map(|pair| pair[first]).collect();
        !begin.is_empty() && is_text(&text) && begin.iter().all(|pair| pair[second] == 0)
    };
    bytes.starts_with(&[0xff, 0xfe])
        || bytes.starts_with(&[0xfe, 0xff])
        || pairs(0, 1)
        || pairs(1, 0)
}

/// Why an input cannot be imported as `from`; the help is to import it as what it is, where that is something else.
pub(super) fn refused(input: &Input, mistake: Mistake, from: &str) -> Error {
    let other = format(input).filter(|other| *other != from);
    let other = other.map(|other| {
        let name = console::clean(&input.name);
        format!("import it with `cargo loadtest import {other} {name}`")
    });
    let excerpt = input.excerpt(&mistake.span);
    let words = redact_text(&mistake.words, &[]);
    let error = Error::usage(format!("{words}\n{excerpt}"));
    match other.or(mistake.help) {
        Some(help) => error.with_help(help),
        None => error,
    }
}

impl Requests {
    /// Hides the secrets of the recording, also in excerpts of the input.
    pub(super) fn hide_secrets(&mut self) {
        hide_secrets(&mut self.recording);
        let secrets = self
            .recording
            .secrets
            .iter()
            .filter(|secret| !secret.is_variable);
        let values = secrets.filter_map(|secret| secret.value.clone());
        self.input.hide(values.collect::<Vec<_>>());
    }

    /// Warns of what is not done as the input says.
    pub(super) fn tell(&self) {
        for note in &self.recording.notes {
            let excerpt = self.input.excerpt(&note.span);
            let words = redact_text(&note.words, &[]);
            console::print_warning(format_args!("{words}\n{excerpt}"));
        }
    }

    /// The scenario of the requests, which this program sends itself. What is not done as the commands say is told.
    pub(super) fn scenario(mut self, project: &Project<'_>) -> Result<Found, Error> {
        let recording = self.recording.clone();
        self.hide_secrets();
        if !project.cli.quiet {
            self.tell();
        }
        let root = &project.workspace.start;
        let replayed = replay_recording(&recording, &self.recording, &self.input, root);
        let replayed = replayed.map_err(|error| {
            Error::failure(format!("the requests cannot be handed on: {error}"))
        })?;
        Ok(Found {
            binary: Binary {
                package: replayed.definition.package.to_string(),
                package_root: root.clone(),
                target: "curl command".to_owned(),
                executable: session::own_program()?,
                script: Some(Script(replayed.script)),
            },
            definition: replayed.definition,
            also_in: Vec::new(),
        })
    }
}

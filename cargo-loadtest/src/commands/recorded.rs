//! Copied curl commands as the scenario of a run.

use super::Project;
use crate::cli::CurlArgs;
use crate::selection::Found;
use crate::session;
use crate::workspace::{Binary, Script};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::process;
use loadtest_import::{
    EnvironmentLookup, Input, Mistake, PermittedFiles, Recording, Span, format, hide_secrets,
    read_text, read_words, replay_recording,
};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The most equal warnings that are printed one by one.
const MOST_EQUAL: usize = 3;
/// Longest text of commands, in bytes.
const LONGEST: u64 = 32 * 1024 * 1024;

/// Requests and the text that they were read from.
pub(super) struct ImportedRequests {
    pub(super) input: Input,
    pub(super) recording: Recording,
}

/// Reads the requests that the command line gives or names; none where it asks for scenarios.
///
/// # Errors
/// Input that is refused; a file that cannot be read.
pub(super) fn read_requests(args: &CurlArgs) -> Result<Option<ImportedRequests>, Error> {
    if !args.are_given() {
        return Ok(None);
    }
    let file = args.file.as_deref();
    read_commands(
        file,
        &args.command,
        args.allow_files,
        VariableValues::Everywhere,
    )
    .map(Some)
}

/// The places in which variables of the text have values.
#[derive(Debug, Clone, Copy)]
pub(super) enum VariableValues<'a> {
    Everywhere,
    /// In hosts, where one that is not set stands for the host of a base URL.
    OfHosts(Option<&'a str>),
}

/// Reads the requests of a text, or else those of a command.
///
/// # Errors
/// As [`read_requests`].
pub(super) fn read_commands(
    file: Option<&Path>,
    command: &[OsString],
    allow_files: bool,
    values: VariableValues<'_>,
) -> Result<ImportedRequests, Error> {
    let files = PermittedFiles {
        folder: process::directory().map_err(Error::io("enter", PathBuf::from(".")))?,
        are_permitted: allow_files,
    };
    let (input, read) = match file {
        Some(path) => {
            let input = read_input(path, LONGEST)?;
            let mut all = process::variable;
            // The base URL stands for one host: a payment is not sent to that of the login.
            let mut unset: Option<String> = None;
            let mut hosts = |name: &str| {
                let VariableValues::OfHosts(Some(base)) = values else {
                    return process::variable(name);
                };
                let host = base.split_once("://").map_or(base, |(_, host)| host);
                let host = host.split('/').next().map(str::to_owned);
                process::variable(name)
                    .filter(|value| !value.is_empty())
                    .or_else(|| {
                        let first = unset.get_or_insert_with(|| name.to_owned());
                        host.filter(|_| first == name)
                    })
            };
            let is_everywhere = matches!(values, VariableValues::Everywhere);
            let all: Option<EnvironmentLookup<'_>> = is_everywhere.then_some(&mut all);
            let read = read_text(&input, &files, all, Some(&mut hosts));
            (input, read)
        }
        None => read_words(&curl_words(command)?, &files),
    };
    match read {
        Ok(recording) => Ok(ImportedRequests { input, recording }),
        Err(mistake) => Err(explain_refusal(&input, mistake, "curl")),
    }
}

/// Warns that a debug build of this program is slow to send requests.
pub(super) fn warn_of_debug_build(quiet: bool) {
    if cfg!(debug_assertions) && !quiet {
        console::print_warning(
            "this tool sends the requests itself, and was built without optimisation: each request takes several times the \
             processor time; install it (`cargo install --path cargo-loadtest`) to measure",
        );
    }
}

/// Returns the words after `--`, the first of which is `curl`.
fn curl_words(command: &[OsString]) -> Result<Vec<Vec<u8>>, Error> {
    let words = command.iter();
    let words: Vec<_> = words.map(|word| word.as_encoded_bytes().to_vec()).collect();
    if words.first().is_some_and(|first| first == b"curl") {
        return Ok(words);
    }
    let first = console::clean(&String::from_utf8_lossy(&words[0]));
    let words = format!("after `--` a curl command is expected, and this starts with `{first}`");
    Err(Error::usage(words).with_help("write `-- curl http://..`; filters come without `--`"))
}

/// Reads a file, or standard input, of at most so many bytes.
pub(super) fn read_input(path: &Path, most: u64) -> Result<Input, Error> {
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
    let shown = console::clean(&name);
    if bytes.len() as u64 > most {
        let most = most / (1024 * 1024);
        let error = Error::usage(format!("{shown}: this has more than {most} MiB"));
        return Err(error.with_help("import a part of it"));
    }
    if is_utf_16(&bytes) {
        let help = "save the text as UTF-8; in PowerShell, write it with `Set-Content -Encoding utf8` and not with `>`";
        return Err(Error::usage(format!("{shown}:1:1: this is UTF-16")).with_help(help));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
        let (line, column) = Input::new("", before.as_str()).place(before.len());
        let error = Error::usage(format!("{shown}:{line}:{column}: this is not UTF-8"));
        error.with_help("save the text as UTF-8")
    })?;
    // Editors of Windows begin a file with a mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(Input::new(name, text))
}

/// Returns true for text with two bytes for each letter: by its mark, or by zeros in every other byte of its beginning.
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

/// Explains why an input cannot be imported as one format. The help names its own format, if that is another.
pub(super) fn explain_refusal(input: &Input, mistake: Mistake, from: &str) -> Error {
    let other = format(input).filter(|other| *other != from);
    let other = other.map(|other| {
        let name = console::clean(&input.name);
        format!("import it with `cargo loadtest import {other} {name}`")
    });
    let excerpt = input.excerpt(&mistake.span);
    let words = input.redact(&mistake.words);
    let error = Error::usage(format!("{words}\n{excerpt}"));
    match other.or(mistake.help) {
        Some(help) => error.with_help(help),
        None => error,
    }
}

impl ImportedRequests {
    /// Hides the secrets of the recording, also in excerpts of the input.
    pub(super) fn hide_secrets(&mut self) {
        hide_secrets(&mut self.recording);
        let secrets = self.recording.secrets.iter();
        let secrets = secrets.filter(|secret| !secret.is_variable);
        self.input
            .hide(secrets.filter_map(|secret| secret.value.clone()));
    }

    /// Prints the warnings about parts that are not imported as they are; many equal ones once, with their number.
    pub(super) fn print_warnings(&self) {
        let mut groups: Vec<(&str, Vec<&Span>)> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        for note in &self.recording.notes {
            let at = *known.entry(&note.words).or_insert(groups.len());
            match groups.get_mut(at) {
                Some((_, spans)) => spans.push(&note.span),
                None => groups.push((&note.words, vec![&note.span])),
            }
        }
        for (words, mut spans) in groups {
            let words = self.input.redact(words);
            let mut more = String::new();
            if spans.len() > MOST_EQUAL {
                more = format!("\n  = and at {} more places", spans.len() - 1);
                spans.truncate(1);
            }
            for span in spans {
                let excerpt = self.input.excerpt(span);
                console::print_warning(format_args!("{words}\n{excerpt}{more}"));
            }
        }
        let mut shown = HashSet::new();
        for part in &self.recording.code {
            if shown.insert(part.span.start) {
                let excerpt = self.input.excerpt(&part.span);
                let words = self.input.redact(&part.what);
                console::print_warning(format_args!("not imported: {words} is code\n{excerpt}"));
            }
        }
    }

    /// Returns a scenario that this program sends itself, and prints the warnings.
    pub(super) fn into_scenario(mut self, project: &Project<'_>) -> Result<Found, Error> {
        let recording = self.recording.clone();
        self.hide_secrets();
        if !project.cli.quiet {
            self.print_warnings();
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
                packages: None,
            },
            definition: replayed.definition,
            also_in: Vec::new(),
        })
    }
}

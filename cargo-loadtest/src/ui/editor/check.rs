//! What the compiler says of a file: its messages, each at the option or step that it is about.

use super::super::command::RunningCommand;
use super::super::dashboard::Dashboard;
use super::super::guard::SECRET_VARIABLE;
use crate::error::Error;
use crate::workspace::{cargo_check, folder};
use cargo_metadata::Message;
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel, DiagnosticSpan};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

/// The checks of files, by their path.
#[derive(Debug, Clone, Default)]
pub(in crate::ui) struct Checks(Arc<Mutex<BTreeMap<PathBuf, SourceCheck>>>);

/// The check of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ui) enum SourceCheck {
    Running,
    /// The messages; none where the file is in order.
    Ended(Vec<Finding>),
    /// Cargo did not get as far as the compiler.
    Failed(String),
}

/// A message of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ui) struct Finding {
    pub(in crate::ui) is_error: bool,
    pub(in crate::ui) text: String,
    /// The first and the last line in the file; none where it is about something else.
    pub(in crate::ui) lines: Option<(usize, usize)>,
}

impl Finding {
    /// Returns true if the message is about something on these lines.
    pub(in crate::ui) fn is_within(&self, first: usize, last: usize) -> bool {
        self.lines
            .is_some_and(|(from, to)| first <= from && to <= last)
    }
}

impl Checks {
    fn set(&self, path: &Path, check: SourceCheck) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(path.to_path_buf(), check);
    }

    pub(in crate::ui) fn get(&self, path: &Path) -> Option<SourceCheck> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(path).cloned()
    }

    /// Returns true if a check runs, and the number of errors that the others found.
    pub(in crate::ui) fn summarize(&self) -> (bool, usize) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_running = all.values().any(|check| *check == SourceCheck::Running);
        let errors = all.values().map(|check| match check {
            SourceCheck::Ended(findings) => findings.iter().filter(|one| one.is_error).count(),
            SourceCheck::Running | SourceCheck::Failed(_) => 0,
        });
        (is_running, errors.sum())
    }

    /// Checks a file on a thread of its own, and lists the scenarios again where it is in order.
    pub(in crate::ui) fn start(&self, dashboard: &Arc<Dashboard>, path: &Path, package: &str) {
        if self.get(path) == Some(SourceCheck::Running) {
            return;
        }
        self.set(path, SourceCheck::Running);
        let (checks, dashboard) = (self.clone(), Arc::clone(dashboard));
        let (path, package) = (path.to_path_buf(), package.to_owned());
        let failed = (self.clone(), path.clone());
        let check = move || match run_check(&dashboard, &package) {
            Ok(diagnoses) => {
                checks.keep(&dashboard, &package, &diagnoses);
                checks.set(&path, SourceCheck::Ended(findings_of(&path, &diagnoses)));
                if !diagnoses.iter().any(|one| one.finding.is_error) {
                    dashboard.refresh_listing();
                }
            }
            Err(error) => checks.set(&path, SourceCheck::Failed(error.to_string())),
        };
        if let Err(error) = std::thread::Builder::new()
            .name("check".to_owned())
            .spawn(check)
        {
            let (checks, path) = failed;
            checks.set(&path, SourceCheck::Failed(error.to_string()));
        }
    }

    /// Checks a package to the end.
    pub(in crate::ui) fn check_package(&self, dashboard: &Dashboard, package: &str) {
        // What keeps cargo from the compiler is told where the scenarios are listed.
        if let Ok(diagnoses) = run_check(dashboard, package) {
            self.keep(dashboard, package, &diagnoses);
        }
    }

    /// Keeps what was found in the files of a package, also that nothing was.
    fn keep(&self, dashboard: &Dashboard, package: &str, diagnoses: &[Diagnosis]) {
        let workspace = dashboard.workspace();
        let packages = workspace.packages();
        let package = packages.iter().find(|one| one.name.as_str() == package);
        let Some(folder) = package.map(|package| folder(package)) else {
            return;
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.keys().filter(|path| path.starts_with(&folder)).cloned();
        let found = diagnoses.iter().filter_map(|one| one.path.clone());
        let paths: BTreeSet<PathBuf> = known.chain(found).collect();
        for path in paths {
            let check = SourceCheck::Ended(findings_of(&path, diagnoses));
            all.insert(path, check);
        }
    }
}

/// A message of the compiler, with the file that it is about.
struct Diagnosis {
    path: Option<PathBuf>,
    /// Its place, for a page about another file.
    place: String,
    finding: Finding,
}

/// The messages about a file, and the errors of others.
fn findings_of(path: &Path, diagnoses: &[Diagnosis]) -> Vec<Finding> {
    let found = diagnoses.iter().filter_map(|one| {
        if one.path.as_deref() == Some(path) {
            return Some(one.finding.clone());
        }
        // Warnings about other files are theirs.
        one.finding.is_error.then(|| Finding {
            text: format!("{}: {}", one.place, one.finding.text),
            lines: None,
            ..one.finding.clone()
        })
    });
    let mut findings: Vec<Finding> = found.collect();
    findings.sort_by_key(|finding| (finding.lines.is_none(), !finding.is_error));
    findings
}

/// Checks the load tests of a package.
fn run_check(dashboard: &Dashboard, package: &str) -> Result<Vec<Diagnosis>, Error> {
    let mut command = cargo_check(package, &dashboard.cargo_flags());
    command
        .current_dir(&dashboard.folder)
        .env_remove(SECRET_VARIABLE);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::spawn(&command))?;
    let _running = RunningCommand::new(&child);
    let stderr = child.stderr.take();
    let words = std::thread::spawn(move || {
        stderr
            .map(std::io::read_to_string)
            .and_then(Result::ok)
            .unwrap_or_default()
    });
    let mut diagnoses = Vec::new();
    let stdout = child.stdout.take().into_iter();
    for message in stdout
        .flat_map(|stdout| Message::parse_stream(BufReader::new(stdout)))
        .flatten()
    {
        if let Message::CompilerMessage(message) = message {
            diagnoses.extend(describe(&message.message, &dashboard.root));
        }
    }
    let status = child.wait().map_err(Error::spawn(&command))?;
    let words = words.join().unwrap_or_default();
    if !status.success() && diagnoses.is_empty() {
        return Err(Error::failure(words.trim().to_owned()));
    }
    Ok(diagnoses)
}

/// Describes an error or a warning of the compiler; its last summaries are none.
fn describe(diagnostic: &Diagnostic, root: &Path) -> Option<Diagnosis> {
    let is_error = matches!(
        diagnostic.level,
        DiagnosticLevel::Error | DiagnosticLevel::Ice
    );
    if !is_error && diagnostic.level != DiagnosticLevel::Warning || diagnostic.spans.is_empty() {
        return None;
    }
    let mut spans = diagnostic.spans.iter().filter(|span| span.is_primary);
    let own = spans.find_map(|span| find_own(span, |file| root.join(file).starts_with(root)));
    let mut text = diagnostic.message.clone();
    for help in &diagnostic.children {
        text.push('\n');
        text.push_str(&help.message);
    }
    let place = own.unwrap_or(&diagnostic.spans[0]);
    Some(Diagnosis {
        path: own.map(|span| root.join(&span.file_name)),
        place: format!("{}:{}", place.file_name, place.line_start),
        finding: Finding {
            is_error,
            text,
            lines: own.map(|span| (span.line_start, span.line_end)),
        },
    })
}

/// Returns the place in the user's own file: that of the tokens, else that of the macro which made them.
fn find_own(mut span: &DiagnosticSpan, is_own: impl Fn(&str) -> bool) -> Option<&DiagnosticSpan> {
    while !is_own(&span.file_name) {
        span = &span.expansion.as_ref()?.span;
    }
    Some(span)
}

//! What the compiler says of a file: its messages, each at the option or step that it is about.

use crate::ui::command::RunningCommand;
use crate::ui::dashboard::Dashboard;
use crate::ui::guard::SECRET_VARIABLE;
use crate::workspace::{cargo_check, folder};
use cargo_metadata::Message;
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel, DiagnosticSpan};
use loadtest_console::error::Error;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The checks of files, by their path.
#[derive(Debug, Clone, Default)]
pub(in crate::ui) struct Checks(Arc<Mutex<BTreeMap<PathBuf, VersionedCheck>>>);

/// The check of a file, and the number of its changes so far.
#[derive(Debug)]
struct VersionedCheck {
    version: u64,
    check: SourceCheck,
}

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
    fn all(&self) -> MutexGuard<'_, BTreeMap<PathBuf, VersionedCheck>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A check begins; returns its version.
    fn begin(&self, path: &Path) -> u64 {
        let mut all = self.all();
        let version = all.get(path).map_or(0, |known| known.version) + 1;
        let check = SourceCheck::Running;
        all.insert(path.to_path_buf(), VersionedCheck { version, check });
        version
    }

    /// A check is over, unless another one has begun since: that one has seen what was written last.
    fn end(&self, path: &Path, version: u64, check: SourceCheck) {
        if let Some(known) = self.all().get_mut(path)
            && known.version == version
        {
            known.version += 1;
            known.check = check;
        }
    }

    pub(in crate::ui) fn get(&self, path: &Path) -> Option<SourceCheck> {
        self.all().get(path).map(|known| known.check.clone())
    }

    /// Returns a number that grows with each change of the check of a file.
    pub(in crate::ui) fn version(&self, path: &Path) -> u64 {
        self.all().get(path).map_or(0, |known| known.version)
    }

    /// Returns true if a check runs, and the number of errors that the others found.
    pub(in crate::ui) fn summarize(&self) -> (bool, usize) {
        let all = self.all();
        let is_running = (all.values()).any(|known| known.check == SourceCheck::Running);
        let errors = all.values().map(|known| match &known.check {
            SourceCheck::Ended(findings) => findings.iter().filter(|one| one.is_error).count(),
            SourceCheck::Running | SourceCheck::Failed(_) => 0,
        });
        (is_running, errors.sum())
    }

    /// Checks a file on a thread of its own, and lists the scenarios again where it is in order.
    pub(in crate::ui) fn start(&self, dashboard: &Arc<Dashboard>, path: &Path, package: &str) {
        let version = self.begin(path);
        let (checks, dashboard) = (self.clone(), Arc::clone(dashboard));
        let (path, package) = (path.to_path_buf(), package.to_owned());
        let failed = (self.clone(), path.clone());
        let check = move || match run_check(&dashboard, &package) {
            Ok(diagnoses) => {
                checks.keep(&dashboard, &package, &diagnoses);
                let check = SourceCheck::Ended(findings_of(&path, &diagnoses));
                checks.end(&path, version, check);
                if !diagnoses.iter().any(|one| one.finding.is_error) {
                    dashboard.refresh_listing();
                }
            }
            Err(error) => checks.end(&path, version, SourceCheck::Failed(error.to_string())),
        };
        if let Err(error) = std::thread::Builder::new()
            .name("check".to_owned())
            .spawn(check)
        {
            let (checks, path) = failed;
            checks.end(&path, version, SourceCheck::Failed(error.to_string()));
        }
    }

    /// Checks a package to the end.
    pub(in crate::ui) fn check_package(&self, dashboard: &Dashboard, package: &str) {
        // What keeps cargo from the compiler is told where the scenarios are listed.
        if let Ok(diagnoses) = run_check(dashboard, package) {
            self.keep(dashboard, package, &diagnoses);
        }
    }

    /// Keeps what was found in the files of a package, also that nothing was, apart from those that a check of their
    /// own is about.
    fn keep(&self, dashboard: &Dashboard, package: &str, diagnoses: &[Diagnosis]) {
        let workspace = dashboard.workspace();
        let packages = workspace.packages();
        let package = packages.iter().find(|one| one.name.as_str() == package);
        if let Some(package) = package {
            self.keep_below(&folder(package), diagnoses);
        }
    }

    fn keep_below(&self, folder: &Path, diagnoses: &[Diagnosis]) {
        let mut all = self.all();
        let known = all.keys().filter(|path| path.starts_with(folder)).cloned();
        let found = diagnoses.iter().filter_map(|one| one.path.clone());
        let paths: BTreeSet<PathBuf> = known.chain(found).collect();
        for path in paths {
            let check = SourceCheck::Ended(findings_of(&path, diagnoses));
            let version = match all.get(&path) {
                Some(known) if [&SourceCheck::Running, &check].contains(&&known.check) => continue,
                known => known.map_or(0, |known| known.version) + 1,
            };
            all.insert(path, VersionedCheck { version, check });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_another_one_overtook_says_nothing() {
        let (checks, path) = (Checks::default(), Path::new("/shop/tests/load.rs"));
        let finding = Finding {
            is_error: true,
            text: "cannot find type `Missing`".to_owned(),
            lines: Some((3, 3)),
        };
        let diagnoses = [Diagnosis {
            path: Some(path.to_path_buf()),
            place: "tests/load.rs:3".to_owned(),
            finding: finding.clone(),
        }];
        let mistaken = SourceCheck::Ended(vec![finding]);
        let (first, second) = (checks.begin(path), checks.begin(path));
        checks.end(path, first, mistaken.clone());
        checks.keep_below(Path::new("/shop"), &diagnoses);
        assert_eq!(checks.get(path), Some(SourceCheck::Running));
        let before = checks.version(path);
        checks.end(path, second, SourceCheck::Ended(Vec::new()));
        assert_eq!(checks.get(path), Some(SourceCheck::Ended(Vec::new())));
        assert!(checks.version(path) > before);
        // A later look at the whole package.
        let before = checks.version(path);
        for _ in 0..2 {
            checks.keep_below(Path::new("/shop"), &diagnoses);
            assert_eq!(checks.get(path), Some(mistaken.clone()));
            assert_eq!(checks.version(path), before + 1);
        }
    }
}

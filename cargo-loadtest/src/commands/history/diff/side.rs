//! What is set beside one another: two runs, or two versions by a run of each.

use super::super::entry::{Archive, Version, short};
use crate::cli::CargoArgs;
use crate::error::Error;
use crate::store::{self, Store};
use loadtest_model::record::{RunRecord, ScenarioRecord};
use serde::Serialize;

/// A run, or the version of a scenario, shown by its newest run.
#[derive(Debug, Serialize)]
pub(super) struct Side {
    /// What somebody called it.
    pub(super) name: String,
    /// The run.
    pub(super) run_id: String,
    /// When that began, RFC 3339 in UTC.
    pub(super) started_at: String,
    /// The commit of its source.
    pub(super) commit: Option<String>,
    /// Whether the work tree differed from it.
    pub(super) uncommitted_changes: Option<bool>,
    /// Whether the run itself is meant, and not only the version that it shows.
    #[serde(skip)]
    pub(super) is_run: bool,
    /// What ran.
    #[serde(skip)]
    pub(super) scenarios: Vec<ScenarioRecord>,
}

/// How to see the difference of the sources.
#[derive(Debug, Serialize)]
pub(super) struct Sources {
    /// A command for a shell; `None` where git knows no two commits.
    pub(super) command: Option<String>,
    /// What it does not show, or why there is none.
    pub(super) note: Option<String>,
}

/// The identity of a scenario.
pub(super) fn identity(scenario: &ScenarioRecord) -> String {
    scenario.definition.identity()
}

impl Side {
    /// What `name` means: a run, else a version by the beginning of its fingerprint.
    ///
    /// # Errors
    /// When nothing has that name, or several have; a record that cannot be read.
    pub(super) fn find(name: &str, cargo: &CargoArgs) -> Result<Self, Error> {
        let unknown = match store::open(name, || Store::of_workspace(cargo)) {
            Ok((_, record)) => return Self::of(name, record, None),
            Err(error @ Error::UnknownRun { .. }) => error,
            Err(error) => return Err(error),
        };
        if name.is_empty() || !name.bytes().all(|letter| letter.is_ascii_hexdigit()) {
            return Err(unknown);
        }
        let store = Store::of_workspace(cargo)?;
        let archive = Archive::read(&store)?;
        let wanted = name.to_ascii_lowercase();
        let is_it = |version: &Version| version.fingerprint.starts_with(&wanted);
        let mut found = archive
            .entries
            .iter()
            .filter(|entry| entry.version.as_ref().is_some_and(is_it));
        let Some(newest) = found.next() else {
            return Err(unknown);
        };
        let is_other = |version: &Version| Some(&version.fingerprint) != fingerprint(newest);
        let others = found.filter(|entry| entry.version.as_ref().is_some_and(is_other));
        let mut candidates: Vec<String> = others.filter_map(fingerprint).cloned().collect();
        if !candidates.is_empty() {
            candidates.extend(fingerprint(newest).cloned());
            candidates.sort();
            candidates.dedup();
            return Err(Error::SeveralVersions {
                name: name.to_owned(),
                candidates,
            });
        }
        let (_, record) = store::open(&newest.run, || Ok(store.clone()))?;
        Self::of(name, record, fingerprint(newest).map(String::as_str))
    }

    /// A run; with a fingerprint, the version of that.
    fn of(name: &str, mut record: RunRecord, fingerprint: Option<&str>) -> Result<Self, Error> {
        if let Some(fingerprint) = fingerprint {
            record
                .scenarios
                .retain(|scenario| scenario.definition.fingerprint == fingerprint);
        }
        if record.scenarios.is_empty() {
            return Err(Error::NoVersion { run: record.run_id });
        }
        Ok(Self {
            name: name.to_owned(),
            run_id: record.run_id,
            started_at: record.started_at,
            commit: record.environment.git_commit,
            uncommitted_changes: record.environment.git_dirty,
            is_run: fingerprint.is_none(),
            scenarios: record.scenarios,
        })
    }

    /// The identities of its scenarios.
    pub(super) fn identities(&self) -> Vec<String> {
        self.scenarios.iter().map(identity).collect()
    }

    /// Keeps the scenarios of these identities.
    pub(super) fn keep(&mut self, identities: &[String]) {
        self.scenarios
            .retain(|scenario| identities.contains(&identity(scenario)));
    }

    /// Whether both are the same scenarios of the same run.
    fn is_same(&self, other: &Self) -> bool {
        let fingerprints = |side: &Self| -> Vec<_> {
            let scenarios = side.scenarios.iter();
            let of = |scenario: &ScenarioRecord| scenario.definition.fingerprint.clone();
            scenarios.map(of).collect()
        };
        self.run_id == other.run_id && fingerprints(self) == fingerprints(other)
    }

    /// The commit as git has them, and nothing else: a record may say anything.
    fn git_commit(&self) -> Option<&str> {
        let commit = self.commit.as_deref()?;
        let is_hash = commit.len() >= 7 && commit.bytes().all(|letter| letter.is_ascii_hexdigit());
        is_hash.then_some(commit)
    }
}

fn fingerprint(entry: &super::super::entry::Entry) -> Option<&String> {
    entry.version.as_ref().map(|version| &version.fingerprint)
}

impl Sources {
    pub(super) fn between<'a>(
        base: &Side,
        new: &Side,
        files: impl Iterator<Item = &'a str>,
    ) -> Self {
        if base.is_same(new) {
            return Self {
                command: None,
                note: Some(format!(
                    "`{}` and `{}` are the same run, {}, so that nothing differs",
                    base.name, new.name, base.run_id
                )),
            };
        }
        let (Some(one), Some(other)) = (base.git_commit(), new.git_commit()) else {
            return Self {
                command: None,
                note: Some("one of the runs knows no commit".to_owned()),
            };
        };
        let changed: Vec<_> = [base, new]
            .into_iter()
            .filter(|side| side.uncommitted_changes == Some(true))
            .map(|side| side.run_id.as_str())
            .collect();
        let beside = (!changed.is_empty()).then(|| {
            format!(
                "{} ran with changes that were not committed, which git does not know",
                changed.join(" and ")
            )
        });
        if one == other {
            let same = format!("both ran at the commit {}", short(one));
            return Self {
                command: None,
                note: Some(match beside {
                    Some(beside) => format!("{same}; {beside}"),
                    None => same,
                }),
            };
        }
        let mut files: Vec<String> = files.filter(|file| !file.is_empty()).map(quoted).collect();
        files.sort();
        files.dedup();
        Self {
            command: Some(format!("git diff {one} {other} -- {}", files.join(" "))),
            note: beside,
        }
    }
}

/// A word of a POSIX shell.
fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._~:/%@".contains(letter);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

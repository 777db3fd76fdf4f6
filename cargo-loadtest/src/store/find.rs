//! Which run somebody means.

use super::identifier::began;
use super::{RunFolder, Store, read_record};
use loadtest_console::error::{Error, Kind};
use loadtest_console::process;
use loadtest_console::suggestion::{find_similar, join_some};
use loadtest_model::record::RunRecord;
use std::path::Path;

/// The name of the newest run, and of the file that says which it is.
pub(crate) const LATEST: &str = "latest";

/// The run that `word` names: a path - of the folder of a run, of its record, of another of its files -, or
/// a name in the store, which is only asked for then.
///
/// # Errors
/// When there is no such run, or its record cannot be read; those of `store`.
pub(crate) fn open(
    word: &str,
    store: impl FnOnce() -> Result<Store, Error>,
) -> Result<(RunFolder, RunRecord), Error> {
    let path = &process::resolve(Path::new(word));
    let named = Path::new(word);
    // What is no name in the store is a path, also one that is not there.
    let is_path = named.components().count() > 1 || named.is_absolute() || named.starts_with(".");
    if path.is_file() || (is_path && !path.is_dir()) {
        if let Some(folder) = RunFolder::around(path) {
            let record = folder.read()?;
            return Ok((folder, record));
        }
        return Ok((RunFolder::from_record_path(path), read_record(path)?));
    }
    let folder = if is_path || (word != LATEST && RunFolder::at(path).has_begun()) {
        RunFolder::at(path)
    } else {
        store()?.find(word).map_err(|error| match error {
            error if path.is_dir() && matches!(error.kind(), Kind::UnknownRun { .. }) => {
                not_a_run(path)
            }
            error => error,
        })?
    };
    if !folder.is_known() {
        return Err(not_a_run(folder.path()));
    }
    if folder.is_under_way() {
        let message = format!("the run {} is still in progress", folder.identifier());
        return Err(Error::nothing_found(message)
            .with_help("`cargo loadtest history` shows when it is over"));
    }
    let record = folder.read()?;
    Ok((folder, record))
}

fn not_a_run(path: &Path) -> Error {
    Error::nothing_found(format!(
        "`{}` is not a run: it holds neither a record nor a journal",
        path.display()
    ))
    .with_help("name the folder of a run, its `record.json`, an identifier or `latest`")
}

impl Store {
    /// The folder of `run`: an identifier, the beginning of one that no other has, or `latest`.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub(crate) fn find(&self, run: &str) -> Result<RunFolder, Error> {
        // A whole name needs no list of all runs.
        if began(run).is_some() && self.directory.join(run).is_dir() {
            return Ok(RunFolder::at(&self.directory.join(run)));
        }
        let identifiers = self.identifiers();
        let wanted = if run == LATEST {
            self.latest(&identifiers).ok_or_else(|| self.no_run())?
        } else {
            run.to_owned()
        };
        let begins = |known: &&String| !wanted.is_empty() && known.starts_with(&wanted);
        let found: Vec<&String> = match identifiers.iter().find(|known| **known == wanted) {
            Some(known) => vec![known],
            None => identifiers.iter().filter(begins).collect(),
        };
        match found[..] {
            [only] => Ok(RunFolder::at(&self.directory.join(only))),
            [] => {
                let store = self.directory.display();
                let similar = find_similar(&wanted, identifiers.iter().map(String::as_str));
                let error =
                    Error::nothing_found(format!("there is no run `{wanted}` in `{store}`"))
                        .of_kind(Kind::UnknownRun {
                            has_similar: similar.is_some(),
                        });
                let newest: Vec<_> = identifiers.iter().rev().cloned().collect();
                Err(match similar {
                    Some(name) => error.with_help(format!("did you mean `{name}`?")),
                    None if newest.is_empty() => error.with_help("`cargo loadtest run` makes one"),
                    None => error.with_help(format!(
                        "available: {}; see `cargo loadtest history`",
                        join_some(&newest)
                    )),
                })
            }
            _ => {
                let candidates: Vec<_> = found.into_iter().rev().cloned().collect();
                let message = format!(
                    "several runs start with `{wanted}`: {}",
                    join_some(&candidates)
                );
                Err(Error::usage(message).with_help("give a longer prefix"))
            }
        }
    }

    /// The newest run that is over, killed ones included. The marker may be older: a killed run leaves none.
    fn latest(&self, identifiers: &[String]) -> Option<String> {
        let is_over = |identifier: &&String| {
            let folder = RunFolder::at(&self.directory.join(identifier));
            folder.holds_something() && !folder.is_under_way()
        };
        identifiers.iter().filter(is_over).max().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::store;
    use loadtest_model::exit_code::ExitCode;

    #[test]
    fn an_unknown_run_is_corrected() {
        let (_guard, store) = store();
        assert!(
            store
                .find("latest")
                .unwrap_err()
                .to_string()
                .contains("there is no run in")
        );
        let identifier = store.create().unwrap().identifier();
        let error = store.find(&format!("{identifier}x")).unwrap_err();
        assert_eq!(
            error.help().unwrap(),
            format!("did you mean `{identifier}`?")
        );
        let error = store.find("yesterday").unwrap_err();
        assert_eq!(
            error.help().unwrap(),
            format!("available: {identifier}; see `cargo loadtest history`")
        );
    }

    #[test]
    fn the_beginning_of_an_identifier_is_enough_where_no_other_has_it() {
        let (_guard, store) = store();
        for identifier in [
            "20261121-143005-abcd",
            "20261121-143005-abxy",
            "20261122-090000-abcd",
        ] {
            std::fs::create_dir_all(store.directory.join(identifier)).unwrap();
        }
        let found = |run: &str| store.find(run).map(|folder| folder.identifier());
        for run in ["20261122", "2026112", "20261122-090000-abcd"] {
            let expected = match run {
                "2026112" => None,
                _ => Some("20261122-090000-abcd".to_owned()),
            };
            assert_eq!(found(run).ok(), expected, "{run}");
        }
        assert_eq!(
            found("20261121-143005-abx").unwrap(),
            "20261121-143005-abxy"
        );
        let error = found("20261121").unwrap_err();
        assert_eq!(error.exit_code(), ExitCode::Usage);
        assert_eq!(
            error.to_string(),
            "several runs start with `20261121`: 20261121-143005-abxy, 20261121-143005-abcd"
        );
        assert!(
            found("")
                .unwrap_err()
                .to_string()
                .contains("there is no run `")
        );
        // One that is the beginning of another is meant itself.
        std::fs::create_dir_all(store.directory.join("20261122-090000-abcd-copy")).unwrap();
        assert_eq!(
            found("20261122-090000-abcd").unwrap(),
            "20261122-090000-abcd"
        );
    }

    /// A list of runs has no links, so the run is found without one.
    #[cfg(unix)]
    #[test]
    fn a_whole_name_needs_no_list_of_all_runs() {
        let (guard, store) = store();
        let elsewhere = guard.path().join("elsewhere");
        std::fs::create_dir_all(&elsewhere).unwrap();
        std::fs::create_dir_all(&store.directory).unwrap();
        let name = "20261121-143005-abcd";
        std::os::unix::fs::symlink(&elsewhere, store.directory.join(name)).unwrap();
        assert_eq!(store.identifiers(), [""; 0]);
        assert_eq!(store.find(name).unwrap().identifier(), name);
        assert!(store.find("20261121").is_err());
        // What is no name of a run is one of the list, or is none.
        std::os::unix::fs::symlink(&elsewhere, store.directory.join("link")).unwrap();
        assert!(store.find("link").is_err());
    }

    #[test]
    fn the_latest_run_is_the_newest_that_measured_something() {
        let (_guard, store) = store();
        let make = |identifier: &str, files: &[&str]| {
            let path = store.directory.join(identifier);
            std::fs::create_dir_all(&path).unwrap();
            for file in files {
                std::fs::write(path.join(file), "{}").unwrap();
            }
            RunFolder::at(&path)
        };
        let latest = || store.find("latest").unwrap().identifier();
        make("20261121-143005-zzzz", &["record.json"]);
        let marked = make("20261121-143005-aaaa", &["record.json"]);
        assert_eq!(latest(), "20261121-143005-zzzz");
        // One that ended later and began earlier.
        store.mark_latest(&marked).unwrap();
        assert_eq!(latest(), "20261121-143005-zzzz");
        make("20261121-150000-aaaa", &["run.json", "request-1.json"]);
        assert_eq!(latest(), "20261121-143005-zzzz");
        make("20261121-140000-aaaa", &["record.json"]);
        make(
            "20261121-160000-aaaa",
            &["request-1.json", "journal-1.jsonl"],
        );
        assert_eq!(latest(), "20261121-160000-aaaa");
    }

    #[test]
    fn a_run_is_named_by_path_or_by_its_name_in_the_store() {
        let (_guard, store) = store();
        let folder = store.create().unwrap();
        let record = crate::store::tests::header_of(1);
        folder.open(&record).unwrap();
        let named = |word: &str| {
            let (found, read) = open(word, || Ok(store.clone()))?;
            assert_eq!(read, record, "{word}");
            Ok::<_, Error>(found.identifier())
        };
        let path = folder.path().display().to_string();
        // As long as somebody writes it, there is nothing to be read.
        assert!(
            named(&path)
                .unwrap_err()
                .to_string()
                .contains("is still in progress")
        );
        assert!(
            named("latest")
                .unwrap_err()
                .to_string()
                .contains("there is no run in")
        );
        drop(folder);
        let folder = RunFolder::at(Path::new(&path));
        for word in [&folder.identifier(), &path, &format!("{path}/run.json")] {
            assert_eq!(named(word).unwrap(), folder.identifier(), "{word}");
        }
        // What is no run is told from a run that measured nothing.
        let outside = store.directory.parent().unwrap().display().to_string();
        let odd = store.directory.join("odd");
        std::fs::create_dir(&odd).unwrap();
        for word in [outside.as_str(), &odd.display().to_string(), "odd"] {
            let error = named(word).unwrap_err();
            assert!(
                error.to_string().contains("is not a run"),
                "{word}: {error}"
            );
            assert_eq!(error.exit_code(), ExitCode::NothingFound);
        }
        std::fs::remove_file(folder.header()).unwrap();
        assert!(
            named(&path)
                .unwrap_err()
                .to_string()
                .contains("nothing was measured")
        );
        let missing = named(&format!("{path}/x/record.json")).unwrap_err();
        assert_eq!(missing.exit_code(), ExitCode::Internal);
    }
}

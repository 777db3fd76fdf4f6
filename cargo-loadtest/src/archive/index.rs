//! The summaries of runs in one file of the store, so that a list of runs reads no records.
//!
//! It is a cache: a summary counts only while the files of its run are as they were, and a file that is missing, cut or
//! of another version is written again. So two writers at once do no harm.

use super::entry::{Entry, summarize_unfinished};
use crate::store::RunFolder;
use loadtest_console::error::Error;
use loadtest_console::files;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::UNIX_EPOCH;

const FILE: &str = "index.jsonl";
/// So many runs are read at a time, which take some seconds.
const MANY: usize = 500;
/// A summary depends on the grading of the tool that made it.
const VERSION: &str = concat!("1 ", env!("CARGO_PKG_VERSION"));

/// The summaries of the runs in a store.
#[derive(Debug)]
pub(crate) struct Index {
    path: PathBuf,
    runs: BTreeMap<String, IndexLine>,
    is_changed: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct IndexLine {
    run: String,
    files: Vec<FileState>,
    entries: Vec<Entry>,
}

/// A file of a run as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileState {
    name: String,
    length: u64,
    /// Nanoseconds since 1970.
    modified: u128,
}

impl Index {
    /// Reads the index of the store in `directory`; what cannot be read is left out.
    pub(crate) fn load(directory: &Path) -> Self {
        let path = directory.join(FILE);
        let text = files::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines();
        let is_current = lines.next() == Some(VERSION);
        let lines = lines.filter(|_| is_current);
        let runs = lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .map(|line: IndexLine| (line.run.clone(), line))
            .collect();
        Self {
            path,
            runs,
            is_changed: false,
        }
    }

    /// Returns the summary of `run`, which `read` makes where the index has none that is up to date.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn summarize(
        &mut self,
        run: &RunFolder,
        read: impl FnOnce(&RunFolder) -> Result<Vec<Entry>, Error>,
    ) -> Result<Vec<Entry>, Error> {
        let name = run.identifier();
        let files = match list_result(run) {
            Some(files) => files,
            None if run.is_under_way() => {
                return Ok(summarize_unfinished(run, &run.read_header()?));
            }
            None => list_all_files(run),
        };
        if let Some(known) = self.runs.get(&name).filter(|line| line.files == files) {
            return Ok(known.entries.clone());
        }
        let entries = read(run)?;
        self.is_changed = true;
        let line = IndexLine {
            run: name.clone(),
            files,
            entries: entries.clone(),
        };
        self.runs.insert(name, line);
        Ok(entries)
    }

    /// Reads the runs that it does not know on all processors, if there are many. What was read is kept from time to time:
    /// whoever stops it goes on there the next time. `tell` hears how many are read of how many.
    pub(super) fn fill(
        &mut self,
        runs: &[RunFolder],
        read: impl Fn(&RunFolder) -> Result<Vec<Entry>, Error> + Sync,
        mut tell: impl FnMut(usize, usize),
    ) {
        let is_unknown =
            |run: &&RunFolder| !self.runs.contains_key(&run.identifier()) && run.record().exists();
        let unknown: Vec<&RunFolder> = runs.iter().filter(is_unknown).collect();
        if unknown.len() < MANY {
            return;
        }
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let read_line = |run: &&RunFolder| {
            let files = list_result(run)?;
            // What cannot be read is told by who lists it.
            let entries = read(run).ok()?;
            let run = run.identifier();
            Some(IndexLine {
                run,
                files,
                entries,
            })
        };
        let read_part = |part: &[&RunFolder]| part.iter().filter_map(read_line).collect::<Vec<_>>();
        let mut done = 0;
        for batch in unknown.chunks(MANY) {
            let lines: Vec<IndexLine> = thread::scope(|scope| {
                let parts = batch.chunks(batch.len().div_ceil(threads));
                let parts: Vec<_> = parts
                    .map(|part| scope.spawn(move || read_part(part)))
                    .collect();
                let parts = parts
                    .into_iter()
                    .map(|part| part.join().unwrap_or_default());
                parts.flatten().collect()
            });
            self.is_changed |= !lines.is_empty();
            let lines = lines.into_iter().map(|line| (line.run.clone(), line));
            self.runs.extend(lines);
            self.save();
            done += batch.len();
            tell(done, unknown.len());
        }
    }

    /// Forgets the runs that are gone.
    pub(super) fn retain(&mut self, runs: &[RunFolder]) {
        let names: BTreeSet<_> = runs.iter().map(RunFolder::identifier).collect();
        let before = self.runs.len();
        self.runs.retain(|name, _| names.contains(name));
        self.is_changed |= self.runs.len() < before;
    }

    /// Writes the file if there is something new; without it, the next list only takes longer.
    pub(super) fn save(&mut self) {
        if !self.is_changed {
            return;
        }
        let mut text = VERSION.to_owned();
        for line in self.runs.values() {
            text.push('\n');
            text.push_str(&serde_json::to_string(line).unwrap_or_default());
        }
        self.is_changed = files::write(&self.path, text.as_bytes()).is_err();
    }
}

/// Returns the state of the files that the summary of a finished run is made from; `None` while it has no record.
fn list_result(run: &RunFolder) -> Option<Vec<FileState>> {
    let record = FileState::read(&run.record())?;
    let comparison = FileState::read(&run.comparison());
    Some(std::iter::once(record).chain(comparison).collect())
}

/// Returns the state of all files of a run: without a record, it is known by several of them.
fn list_all_files(run: &RunFolder) -> Vec<FileState> {
    let entries = std::fs::read_dir(run.path()).into_iter().flatten();
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| FileState::read(path))
        .collect()
}

impl FileState {
    fn read(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self {
            name: path.file_name()?.to_string_lossy().into_owned(),
            length: metadata.len(),
            modified: modified.as_nanos(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Archive;
    use crate::session::sample;
    use crate::store::{MeasuredRun, Store};

    fn store_of_runs(runs: usize) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("runs"));
        for _ in 0..runs {
            add_run(&store);
        }
        (folder, store)
    }

    fn add_run(store: &Store) -> String {
        let run = store.create().unwrap();
        let mut record = run.new_record(loadtest_model::record::Environment::default());
        record.scenarios.push(sample::scenario_record());
        let result = MeasuredRun {
            record: &record,
            comparison: None,
        };
        run.close(result, 1).unwrap();
        run.identifier()
    }

    fn text(store: &Store) -> String {
        std::fs::read_to_string(store.directory().join(FILE)).unwrap()
    }

    /// Lists the store; a record that is parsed is one that the index did not have.
    fn list(store: &Store) -> (Vec<String>, usize) {
        let mut index = Index::load(store.directory());
        let mut parsed = 0;
        for run in store.runs().unwrap() {
            let summarized = index.summarize(&run, |run| {
                parsed += 1;
                crate::archive::entry::summarize(run)
            });
            summarized.unwrap();
        }
        let archive = Archive::read(store).unwrap();
        (
            archive
                .entries
                .iter()
                .map(|entry| entry.run.clone())
                .collect(),
            parsed,
        )
    }

    #[test]
    fn a_run_is_read_once_and_again_when_its_record_changes() {
        let (_guard, store) = store_of_runs(2);
        assert_eq!(list(&store).1, 2);
        assert_eq!(list(&store).1, 0);
        let name = add_run(&store);
        assert_eq!(list(&store).1, 1);
        let record = store.find(&name).unwrap().record();
        let longer = [std::fs::read(&record).unwrap(), b"\n".to_vec()].concat();
        std::fs::write(record, longer).unwrap();
        let (runs, parsed) = list(&store);
        assert_eq!((runs.len(), parsed), (3, 1));
    }

    #[test]
    fn an_index_that_is_missing_cut_or_of_another_version_is_made_again() {
        let (_guard, store) = store_of_runs(2);
        let runs = list(&store).0;
        let whole = text(&store);
        let cut = whole[..whole.len() - 10].to_owned();
        let other = whole.replacen(VERSION, "0 0.0.1", 1);
        for (broken, parsed) in [
            (cut, 1),
            (other, 2),
            ("{".to_owned(), 2),
            (String::new(), 2),
        ] {
            std::fs::write(store.directory().join(FILE), broken).unwrap();
            assert_eq!(list(&store), (runs.clone(), parsed));
            assert_eq!(text(&store), whole);
        }
        std::fs::remove_file(store.directory().join(FILE)).unwrap();
        assert_eq!(list(&store), (runs, 2));
    }

    #[test]
    fn many_runs_are_read_in_batches_and_kept_after_each() {
        let (_guard, store) = store_of_runs(3);
        let runs = store.runs().unwrap();
        let again = std::iter::repeat_n(&runs, MANY).flatten();
        let many: Vec<RunFolder> = again.map(|run| RunFolder::at(run.path())).collect();
        let mut index = Index::load(store.directory());
        let mut told = Vec::new();
        index.fill(&many, crate::archive::entry::summarize, |done, all| {
            told.push((done, all, text(&store).lines().count()));
        });
        let whole = 3 * MANY;
        let batches = [MANY, 2 * MANY, whole].map(|done| (done, whole, 4));
        assert_eq!(told, batches, "a line for each run and one for the version");
        assert_eq!(list(&store).1, 0);
        // Few are read where they are listed.
        index.fill(&runs, |_| panic!("all are known"), |_, _| ());
    }

    #[test]
    fn a_run_that_is_gone_leaves_the_index() {
        let (_guard, store) = store_of_runs(2);
        let runs = list(&store).0;
        std::fs::remove_dir_all(store.find(&runs[0]).unwrap().path()).unwrap();
        assert_eq!(list(&store).0, runs[1..]);
        assert!(!text(&store).contains(&runs[0]));
    }
}

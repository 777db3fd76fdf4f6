//! Old runs go when `[store]` says how many are kept, or for how long.
//!
//! Only what is surely a run, and surely over, is ever removed: a folder that this tool named, with a record
//! or the beginning of one, that no process writes.

use super::claim::Claim;
use super::identifier::began;
use super::{RunFolder, Store};
use jiff::Timestamp;
use loadtest_console::error::Error;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The prefix of folders that are being removed, so that none is read half gone.
const REMOVED: &str = ".removed-";
/// A run without a record that wrote something within this time may be alive, whoever holds its folder.
const QUIET: Duration = Duration::from_secs(60);

/// The result of pruning.
#[derive(Debug, Default)]
pub(crate) struct Pruned {
    /// The runs that are gone, the oldest first.
    pub(crate) removed: Vec<String>,
    /// Errors for folders that could not be removed.
    pub(crate) failed: Vec<Error>,
}

impl Store {
    /// Removes the runs beyond the number or the age that is kept, but for `made`.
    pub(crate) fn prune(&self, made: &RunFolder, now: Timestamp) -> Pruned {
        let mut pruned = Pruned::default();
        if (self.keep.is_none() && self.max_age.is_none()) || self.holds_baselines() {
            return pruned;
        }
        for left in self.folders(|name| name.starts_with(REMOVED)) {
            // Of a removal that did not come to its end; what it was is told already.
            remove_folder(&left, &mut pruned);
        }
        let mut runs = self.folders(|name| began(name).is_some());
        runs.retain(|path| RunFolder::at(path).has_begun());
        runs.sort();
        let too_many: HashSet<&PathBuf> = self.too_many(&runs).into_iter().collect();
        let beyond = runs.iter().rev();
        let beyond: Vec<&PathBuf> = beyond
            .filter(|path| too_many.contains(path) || self.is_too_old(path, now))
            .collect();
        for path in beyond.into_iter().rev() {
            let run = RunFolder::at(path).identifier();
            if run == made.identifier() {
                continue;
            }
            remove_run(path, &mut pruned);
        }
        pruned
    }

    /// Removes a run.
    ///
    /// # Errors
    /// When it is under way, is not surely a run, or cannot be removed.
    #[cfg(any(test, feature = "ui"))]
    pub(crate) fn remove(&self, folder: &RunFolder) -> Result<(), Error> {
        let (run, path) = (folder.identifier(), folder.path());
        if self.holds_baselines() {
            let reason = "the runs are in the folder of the baselines, where none is removed";
            return Err(Error::usage(reason));
        }
        if began(&run).is_none() || path.parent() != Some(&self.directory) {
            return Err(Error::usage(format!("`{run}` is not a run of the store")));
        }
        let mut pruned = Pruned::default();
        remove_run(path, &mut pruned);
        match pruned.failed.pop() {
            Some(error) => Err(error),
            None if pruned.removed.is_empty() => Err(Error::usage(format!(
                "`{run}` is in progress, or was within the last minute"
            ))),
            None => self.mark_newest(&run),
        }
    }

    /// Lets `latest` mean the newest run that is left, where it meant this one.
    #[cfg(any(test, feature = "ui"))]
    fn mark_newest(&self, removed: &str) -> Result<(), Error> {
        let latest = self.directory.join(super::LATEST);
        let is_link = std::fs::read_link(&latest).is_ok_and(|to| to == Path::new(removed));
        if !is_link && !std::fs::read(&latest).is_ok_and(|name| name == removed.as_bytes()) {
            return Ok(());
        }
        match self.runs().ok().and_then(|mut runs| runs.pop()) {
            Some(newest) => self.mark_latest(&newest),
            None => std::fs::remove_file(&latest).map_err(Error::io("remove", latest)),
        }
    }

    /// The `runs` beyond the number that is kept. Those that measured nothing are counted apart, so that a
    /// target that is down costs no measurement.
    fn too_many<'r>(&self, runs: &'r [PathBuf]) -> Vec<&'r PathBuf> {
        let Some(keep) = self.keep.filter(|keep| *keep < runs.len()) else {
            return Vec::new();
        };
        let (mut measured, mut others) = (0, 0);
        let is_beyond = |path: &&PathBuf| {
            // Older ones need not be read any more.
            if measured >= keep && others >= keep {
                return true;
            }
            let count = if RunFolder::at(path).is_measured() {
                &mut measured
            } else {
                &mut others
            };
            *count += 1;
            *count > keep
        };
        runs.iter().rev().filter(is_beyond).collect()
    }

    /// Returns true if runs are stored in the folder of baselines.
    fn holds_baselines(&self) -> bool {
        let whole = |path: &Path| path.canonicalize().unwrap_or(path.to_path_buf());
        whole(&self.directory).starts_with(whole(&self.baselines))
    }

    fn is_too_old(&self, run: &Path, now: Timestamp) -> bool {
        let began = began(&RunFolder::at(run).identifier());
        began.zip(self.max_age).is_some_and(|(began, max_age)| {
            let age = now.duration_since(began);
            Duration::try_from(age).is_ok_and(|age| age > max_age)
        })
    }

    /// The folders in the store of which the name fits; a link is none.
    fn folders(&self, fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        std::fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter(|entry| entry.file_name().to_str().is_some_and(&fits))
            .map(|entry| entry.path())
            .collect()
    }
}

/// Removes a run that is over. One that is not, or that another process removes, is neither removed nor failed.
fn remove_run(path: &Path, pruned: &mut Pruned) {
    // Held until the folder is gone.
    let Some(_over) = claim(path) else { return };
    let run = RunFolder::at(path).identifier();
    let away = path.with_file_name(format!("{REMOVED}{run}"));
    match std::fs::rename(path, &away) {
        Ok(()) => {
            pruned.removed.push(run);
            remove_folder(&away, pruned);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => pruned
            .failed
            .push(Error::io("remove the old run", path)(error)),
    }
}

/// The evidence that a run is over.
enum Over {
    /// Nobody else can begin to write it.
    Claimed { _claim: Claim },
    /// It has a record, and the system has no locks.
    Recorded,
}

/// Claims a run that is over; what has a record is over unless somebody says otherwise.
fn claim(run: &Path) -> Option<Over> {
    let has_record = RunFolder::at(run).record().exists();
    match Claim::try_new(run) {
        Ok(claim) => {
            let over = claim.map(|claim| Over::Claimed { _claim: claim });
            over.filter(|_| has_record || is_quiet(run))
        }
        Err(_) => has_record.then_some(Over::Recorded),
    }
}

/// Returns true if nothing in the folder was written lately.
fn is_quiet(run: &Path) -> bool {
    let files = std::fs::read_dir(run).into_iter().flatten().flatten();
    let now = SystemTime::now();
    files
        .filter_map(|file| file.metadata().ok()?.modified().ok())
        // What was written in the future is no sign of age.
        .all(|written| now.duration_since(written).is_ok_and(|ago| ago > QUIET))
}

fn remove_folder(folder: &Path, pruned: &mut Pruned) {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => pruned
            .failed
            .push(Error::io("remove the rest of an old run in", folder)(error)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{header, store};

    const NOW: i64 = 1_795_271_405;

    fn now() -> Timestamp {
        Timestamp::from_second(NOW).unwrap()
    }

    /// A run that is over, so many hours old.
    fn run(store: &Store, hours: i64) -> RunFolder {
        let folder = begun(store, hours);
        std::fs::rename(folder.header(), folder.record()).unwrap();
        folder
    }

    /// The same without a record.
    fn begun(store: &Store, hours: i64) -> RunFolder {
        let at = Timestamp::from_second(NOW - hours * 3_600).unwrap();
        let path = store
            .directory
            .join(crate::store::identifier::identifier(at));
        std::fs::create_dir_all(&path).unwrap();
        let folder = RunFolder::at(&path);
        folder.open(&header(&folder.identifier())).unwrap();
        folder
    }

    /// Lets a file be written long ago.
    fn age(path: &Path) {
        let ago = SystemTime::now() - 2 * QUIET;
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(ago).unwrap();
    }

    /// Lets a file be written just now, for however long the test takes.
    fn renew(path: &Path) {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() + 60 * QUIET).unwrap();
    }

    fn left(store: &Store) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(&store.directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn names(runs: &[RunFolder]) -> Vec<String> {
        runs.iter().map(RunFolder::identifier).collect()
    }

    #[test]
    fn nothing_is_removed_unless_it_is_asked_for() {
        let (_guard, store) = store();
        let runs: Vec<_> = [90_000, 5, 0].map(|hours| run(&store, hours)).into();
        let pruned = store.prune(&runs[2], now());
        assert!(pruned.removed.is_empty() && pruned.failed.is_empty());
        assert_eq!(left(&store), names(&runs));
    }

    #[test]
    fn the_oldest_beyond_the_number_go() {
        let (_guard, mut store) = store();
        store.keep = Some(2);
        let runs: Vec<_> = [7, 5, 3, 0].map(|hours| run(&store, hours)).into();
        let pruned = store.prune(&runs[3], now());
        assert_eq!(pruned.removed, names(&runs[..2]));
        assert_eq!(left(&store), names(&runs[2..]));
    }

    #[test]
    fn those_beyond_the_age_go() {
        let (_guard, mut store) = store();
        store.max_age = Some(Duration::from_secs(5 * 3_600));
        let runs: Vec<_> = [7, 6, 5, 0].map(|hours| run(&store, hours)).into();
        // That of the future is not old.
        let ahead = run(&store, -2);
        let pruned = store.prune(&runs[3], now());
        assert_eq!(pruned.removed, names(&runs[..2]));
        assert_eq!(left(&store).len(), 3);
        assert!(ahead.record().exists());
    }

    #[test]
    fn the_run_that_was_just_made_stays_whatever_is_asked_for() {
        let (_guard, mut store) = store();
        store.keep = Some(0);
        store.max_age = Some(Duration::ZERO);
        let runs: Vec<_> = [9, 3, 1].map(|hours| run(&store, hours)).into();
        // The clock was set back in between.
        let pruned = store.prune(&runs[1], now());
        assert_eq!(pruned.removed.len(), 2);
        assert_eq!(left(&store), names(&runs[1..2]));
    }

    #[test]
    fn one_run_is_removed_unless_it_is_under_way() {
        let (_guard, store) = store();
        let (old, new) = (run(&store, 5), run(&store, 1));
        store.mark_latest(&new).unwrap();
        store.remove(&new).unwrap();
        assert_eq!(left(&store), [old.identifier(), "latest".to_owned()]);
        assert_eq!(store.find("latest").unwrap().identifier(), old.identifier());
        let written = begun(&store, 2);
        renew(&written.header());
        assert!(store.remove(&written).is_err());
        let elsewhere = tempfile::tempdir().unwrap();
        let other = RunFolder::at(&elsewhere.path().join(old.identifier()));
        assert!(store.remove(&other).is_err());
        store.remove(&old).unwrap();
        age(&written.header());
        store.remove(&written).unwrap();
        assert_eq!(left(&store), [""; 0]);
    }

    #[test]
    fn what_is_no_run_of_ours_stays() {
        let (_guard, mut store) = store();
        store.keep = Some(1);
        let made = run(&store, 0);
        let old = run(&store, 9);
        let place = |name: &str| store.directory.join(name);
        let mut expected = vec![made.identifier()];
        for (name, file) in [
            // Renamed by somebody who wants to keep it.
            ("before-the-move", "record.json"),
            ("20200101-000000-aaaa-copy", "record.json"),
            // Nothing of ours is in it.
            ("20200101-000000-bbbb", "notes.txt"),
            (".loadtest", "baselines"),
        ] {
            std::fs::create_dir(place(name)).unwrap();
            std::fs::write(place(name).join(file), "{}").unwrap();
            expected.push(name.to_owned());
        }
        std::fs::create_dir(place("20200101-000000-cccc")).unwrap();
        std::fs::write(place("20200101-000000-dddd"), "a file").unwrap();
        std::fs::write(place("latest"), made.identifier()).unwrap();
        expected
            .extend(["20200101-000000-cccc", "20200101-000000-dddd", "latest"].map(str::to_owned));
        #[cfg(unix)]
        {
            let elsewhere = store.directory.with_file_name("elsewhere");
            std::fs::create_dir(&elsewhere).unwrap();
            std::fs::write(elsewhere.join("record.json"), "{}").unwrap();
            std::os::unix::fs::symlink(&elsewhere, place("20200101-000000-eeee")).unwrap();
            expected.push("20200101-000000-eeee".to_owned());
        }
        let pruned = store.prune(&made, now());
        assert_eq!(pruned.removed, [old.identifier()]);
        expected.sort();
        assert_eq!(left(&store), expected);
    }

    #[test]
    fn a_run_that_is_being_written_stays() {
        let (_guard, mut store) = store();
        store.keep = Some(1);
        let made = run(&store, 0);
        let (written, killed) = (begun(&store, 9), begun(&store, 8));
        renew(&written.header());
        age(&killed.header());
        let pruned = store.prune(&made, now());
        assert_eq!(
            pruned.removed,
            [killed.identifier()],
            "the other wrote lately"
        );
        age(&written.header());
        #[cfg(unix)]
        {
            let claim = Claim::new(written.path()).unwrap();
            assert!(store.prune(&made, now()).removed.is_empty());
            std::fs::rename(written.header(), written.record()).unwrap();
            // Its reports are yet to be written.
            assert!(store.prune(&made, now()).removed.is_empty());
            drop(claim);
        }
        assert_eq!(store.prune(&made, now()).removed, [written.identifier()]);
    }

    #[test]
    fn baselines_stay_where_somebody_keeps_runs_among_them() {
        let (_guard, mut store) = store();
        store.keep = Some(1);
        store.baselines = store.directory.parent().unwrap().to_path_buf();
        let runs: Vec<_> = [7, 5, 0].map(|hours| run(&store, hours)).into();
        assert!(store.prune(&runs[2], now()).removed.is_empty());
        assert_eq!(left(&store), names(&runs));
    }

    #[test]
    fn a_removal_that_was_cut_short_is_ended_by_the_next() {
        let (_guard, mut store) = store();
        store.keep = Some(1);
        let made = run(&store, 0);
        let half = store.directory.join(".removed-20200101-000000-aaaa");
        std::fs::create_dir(&half).unwrap();
        std::fs::write(half.join("report.html"), "half").unwrap();
        let pruned = store.prune(&made, now());
        assert!(pruned.removed.is_empty() && pruned.failed.is_empty());
        assert_eq!(left(&store), names(&[made]));
    }
}

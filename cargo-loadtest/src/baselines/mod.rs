//! Baselines: runs under a name, beside `loadtest.toml`, made to be committed.
//!
//! `.loadtest/baselines/NAME/SCENARIO/RUN.json.gz`: a file per run and scenario, each a run record of its own,
//! pruned to what a comparison needs. Which of them count follows from the files alone: the newest run of a
//! scenario decides its version, load and target, and those that differ count no longer. So neither two
//! saves at once, nor one that was killed, nor a merge of two branches leaves anything broken.

mod against;
mod run;
mod save;
#[cfg(test)]
mod tests;

pub(crate) use against::{Against, compared};
pub(crate) use run::BaselineRun;
pub(crate) use save::{SaveOptions, SaveResult};

use crate::config::Config;
use loadtest_console::error::{Error, Kind};
use loadtest_console::file_names;
use loadtest_console::suggestion::{find_similar, join_names};
use loadtest_model::comparison::{Differs, find_difference};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder of all baselines, relative to that of `loadtest.toml`.
const PLACE: &str = ".loadtest/baselines";

/// All baselines of a workspace.
#[derive(Debug, Clone)]
pub(crate) struct Baselines {
    folder: PathBuf,
}

/// A baseline, which may not exist yet.
#[derive(Debug, Clone)]
pub(crate) struct Baseline {
    name: String,
    folder: PathBuf,
}

/// The contents of a baseline.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The runs that count, by scenario; of each the oldest first.
    pub(crate) scenarios: Vec<Vec<BaselineRun>>,
    /// Runs that differ from a newer run of their scenario, with the difference.
    pub(crate) outdated: Vec<(BaselineRun, Differs)>,
    /// Files that are not part of the baseline.
    pub(crate) strange: Vec<PathBuf>,
}

impl Baselines {
    pub(crate) fn from_config(config: &Config) -> Self {
        Self {
            folder: config.folder.join(PLACE),
        }
    }

    /// The names of those there are, in order.
    pub(crate) fn names(&self) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> = folders(&self.folder)?
            .iter()
            .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
            .filter(|name| file_names::check_baseline_name(name).is_ok())
            .collect();
        names.sort();
        Ok(names)
    }

    /// The baseline of a name, if there is one.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Baseline>, Error> {
        Ok(self
            .names()?
            .into_iter()
            .find(|known| known == name)
            .map(|name| self.at(&name)))
    }

    /// The baseline of a name.
    ///
    /// # Errors
    /// An invalid or unknown name; something else than a folder in its place.
    pub(crate) fn open(&self, name: &str) -> Result<Baseline, Error> {
        file_names::check_baseline_name(name)?;
        if let Some(baseline) = self.find(name)? {
            return Ok(baseline);
        }
        self.at(name).has_place()?;
        Err(self.unknown(name))
    }

    /// The baseline of a name, new or not.
    ///
    /// # Errors
    /// An invalid name, or one that differs from another in case alone, as some systems ignore case; something
    /// else than a folder in its place.
    pub(crate) fn new_or_not(&self, name: &str) -> Result<Baseline, Error> {
        file_names::check_baseline_name(name)?;
        let same = |known: &String| known != name && known.eq_ignore_ascii_case(name);
        if let Some(known) = self.names()?.into_iter().find(same) {
            let error = file_names::BaselineNameError {
                name: name.to_owned(),
                reason: "differs from another one in nothing but its case",
                example: known,
            };
            return Err(error.into());
        }
        let baseline = self.at(name);
        baseline.has_place()?;
        Ok(baseline)
    }

    /// Returns true if a name looks like a misspelling of a known baseline.
    pub(crate) fn is_slip(&self, name: &str) -> Result<bool, Error> {
        let names = self.names()?;
        Ok(names
            .iter()
            .any(|known| file_names::is_misspelling(name, known)))
    }

    /// Returns the error for an unknown baseline.
    pub(crate) fn unknown(&self, name: &str) -> Error {
        let known = self.names().unwrap_or_default();
        let save = format!("`cargo loadtest baseline save {name}`");
        let help = match find_similar(name, known.iter().map(String::as_str)) {
            Some(name) => format!("did you mean `{name}`?"),
            None if known.is_empty() => {
                format!("there are no baselines yet; {save} saves the latest run as one")
            }
            None => {
                let known = join_names(&known);
                format!("existing baselines: {known}; {save} saves the latest run as this baseline")
            }
        };
        Error::usage(format!("there is no baseline `{name}`"))
            .with_help(help)
            .of_kind(Kind::UnknownBaseline)
    }

    fn at(&self, name: &str) -> Baseline {
        Baseline {
            name: name.to_owned(),
            folder: self.folder.join(name),
        }
    }
}

impl Baseline {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Refuses a place where something else is than a folder; a link is something else.
    fn has_place(&self) -> Result<(), Error> {
        match fs::symlink_metadata(&self.folder) {
            Ok(found) if !found.is_dir() => Err(not_a_folder(&self.folder)),
            _ => Ok(()),
        }
    }

    /// The runs of a scenario that count, the oldest first.
    ///
    /// # Errors
    /// A file that is damaged or newer than this tool.
    pub(crate) fn runs(&self, identity: &str) -> Result<Vec<BaselineRun>, Error> {
        let files = files(&self.folder.join(file_names::scenario_folder(identity)))?;
        Ok(in_force(read(&files.runs, identity)?).0)
    }

    /// Everything in it.
    ///
    /// # Errors
    /// A file that is damaged or newer than this tool.
    pub(crate) fn contents(&self) -> Result<Contents, Error> {
        let mut contents = Contents {
            strange: files(&self.folder)?.everything(),
            ..Contents::default()
        };
        for folder in folders(&self.folder)? {
            let files = files(&folder)?;
            contents.strange.extend(files.strange);
            contents.strange.extend(folders(&folder)?);
            let runs = files.runs.iter().map(|path| BaselineRun::read(path));
            let runs = runs.collect::<Result<Vec<_>, _>>()?;
            for one in &runs {
                one.belongs_to(&folder)?;
            }
            let (counting, outdated) = in_force(runs);
            contents.outdated.extend(outdated);
            if !counting.is_empty() {
                contents.scenarios.push(counting);
            }
        }
        contents.scenarios.sort_by_key(|runs| runs[0].identity());
        Ok(contents)
    }

    /// Removes its runs, and its folders where nothing else is in them; how many there were, and what stays.
    ///
    /// # Errors
    /// When that cannot be done.
    pub(crate) fn remove(&self) -> Result<(usize, Vec<PathBuf>), Error> {
        let mut count = 0;
        let mut strange = files(&self.folder)?.everything();
        for folder in folders(&self.folder)? {
            let files = files(&folder)?;
            strange.extend(files.strange);
            strange.extend(folders(&folder)?);
            for run in &files.runs {
                remove(run)?;
                count += 1;
            }
            // One that is not empty stays.
            let _ = fs::remove_dir(&folder);
        }
        let _ = fs::remove_dir(&self.folder);
        Ok((count, strange))
    }
}

/// Splits runs into those that count, the oldest first, and those that the newest replaced.
fn in_force(mut runs: Vec<BaselineRun>) -> (Vec<BaselineRun>, Vec<(BaselineRun, Differs)>) {
    runs.sort_by(|one, other| one.age().cmp(&other.age()));
    let Some(newest) = runs.pop() else {
        return Default::default();
    };
    let (mut counting, mut outdated) = (Vec::new(), Vec::new());
    for one in runs {
        match find_difference(&one.side(), &newest.side()) {
            None => counting.push(one),
            Some(differs) => outdated.push((one, differs)),
        }
    }
    counting.push(newest);
    (counting, outdated)
}

/// Reads the runs of a scenario; not those that another save just removed.
fn read(paths: &[PathBuf], identity: &str) -> Result<Vec<BaselineRun>, Error> {
    let mut all = Vec::new();
    for path in paths {
        match BaselineRun::read(path) {
            Ok(run) => {
                run.is_of(identity)?;
                all.push(run);
            }
            Err(error) if *error.kind() == Kind::Io(ErrorKind::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// The files of a folder.
#[derive(Debug, Default)]
struct Files {
    /// Files named like runs.
    runs: Vec<PathBuf>,
    /// The others.
    strange: Vec<PathBuf>,
}

impl Files {
    /// All of them, where there should be none.
    fn everything(self) -> Vec<PathBuf> {
        self.runs.into_iter().chain(self.strange).collect()
    }
}

fn files(folder: &Path) -> Result<Files, Error> {
    let mut files = Files::default();
    for (path, kind) in entries(folder)? {
        if kind.is_file() && BaselineRun::is_named_as_one(&path) {
            files.runs.push(path);
        } else if !kind.is_dir() {
            files.strange.push(path);
        }
    }
    Ok(files)
}

/// The folders in a folder; links are none.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = entries(folder)?.into_iter();
    let folders = entries.filter(|(_, kind)| kind.is_dir());
    Ok(folders.map(|(path, _)| path).collect())
}

fn not_a_folder(path: &Path) -> Error {
    Error::usage(format!(
        "expected a folder of baselines at `{}`, found something else: move it away",
        path.display()
    ))
}

fn entries(folder: &Path) -> Result<Vec<(PathBuf, fs::FileType)>, Error> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(not_a_folder(folder));
        }
        Err(error) => return Err(Error::io("read the folder", folder)(error)),
    };
    let entry = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.path(), entry.file_type()?))
    };
    let mut entries = listed
        .map(entry)
        .collect::<Result<Vec<_>, _>>()
        .map_err(Error::io("read the folder", folder))?;
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(entries)
}

/// Removes a file that somebody else may just have removed.
fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

//! Baselines: runs under a name, beside `loadtest.toml`, made to be committed.
//!
//! `.loadtest/baselines/NAME/SCENARIO/RUN.json.gz`: a file per run and scenario, each a run record of its own,
//! pruned to what a comparison needs. Which of them count follows from the files alone: the newest run of a
//! scenario decides its version, load and target, and those that differ count no longer. So neither two
//! saves at once, nor one that was killed, nor a merge of two branches leaves anything broken.

mod beside;
mod kept;
mod name;
mod save;
#[cfg(test)]
mod tests;

pub(crate) use beside::{Against, compared};
pub(crate) use kept::Kept;
pub(crate) use name::check as check_name;
pub(crate) use save::{Keeping, Saved};

use crate::config::Config;
use crate::error::Error;
use crate::selection::similar;
use loadtest_model::comparison::{Differs, find_difference};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where they are, from the folder of `loadtest.toml`.
const PLACE: &str = ".loadtest/baselines";

/// All baselines of a workspace.
#[derive(Debug, Clone)]
pub(crate) struct Baselines {
    folder: PathBuf,
}

/// One of them, which may be yet to be made.
#[derive(Debug, Clone)]
pub(crate) struct Baseline {
    name: String,
    folder: PathBuf,
}

/// What is in a baseline.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The runs that count, by scenario; of each the oldest first.
    pub(crate) scenarios: Vec<Vec<Kept>>,
    /// Those that a newer run of their scenario left behind, and in what they differ from it.
    pub(crate) outdated: Vec<(Kept, Differs)>,
    /// What is no part of it.
    pub(crate) strange: Vec<PathBuf>,
}

impl Baselines {
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            folder: config.folder.join(PLACE),
        }
    }

    /// The names of those there are, in order.
    pub(crate) fn names(&self) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> = folders(&self.folder)?
            .iter()
            .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
            .filter(|name| name::check(name).is_ok())
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
    /// [`Error::BaselineName`], [`Error::UnknownBaseline`], [`Error::BaselinePlace`].
    pub(crate) fn open(&self, name: &str) -> Result<Baseline, Error> {
        name::check(name)?;
        if let Some(baseline) = self.find(name)? {
            return Ok(baseline);
        }
        self.at(name).has_place()?;
        Err(self.unknown(name))
    }

    /// The baseline of a name, new or not.
    ///
    /// # Errors
    /// [`Error::BaselineName`], also where another one differs in case alone: not all systems tell them apart;
    /// [`Error::BaselinePlace`].
    pub(crate) fn new_or_not(&self, name: &str) -> Result<Baseline, Error> {
        name::check(name)?;
        let same = |known: &String| known != name && known.eq_ignore_ascii_case(name);
        if let Some(known) = self.names()?.into_iter().find(same) {
            return Err(Error::BaselineName {
                name: name.to_owned(),
                why: "differs from another one in nothing but its case".to_owned(),
                instead: known,
            });
        }
        let baseline = self.at(name);
        baseline.has_place()?;
        Ok(baseline)
    }

    /// Whether a name looks like a slip for that of a baseline that there is.
    pub(crate) fn is_slip(&self, name: &str) -> Result<bool, Error> {
        let names = self.names()?;
        Ok(names.iter().any(|known| name::is_slip(name, known)))
    }

    /// That there is no baseline of a name.
    pub(crate) fn unknown(&self, name: &str) -> Error {
        let known = self.names().unwrap_or_default();
        Error::UnknownBaseline {
            suggestion: similar(name, known.iter().map(String::as_str)).map(str::to_owned),
            name: name.to_owned(),
            known,
        }
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
            Ok(found) if !found.is_dir() => Err(Error::BaselinePlace {
                path: self.folder.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// The runs of a scenario that count, the oldest first.
    ///
    /// # Errors
    /// A file that is damaged or newer than this tool.
    pub(crate) fn runs(&self, identity: &str) -> Result<Vec<Kept>, Error> {
        let files = files(&self.folder.join(name::of_scenario(identity)))?;
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
            let kept = files.runs.iter().map(|path| Kept::read(path));
            let kept = kept.collect::<Result<Vec<_>, _>>()?;
            for one in &kept {
                one.belongs_to(&folder)?;
            }
            let (counting, outdated) = in_force(kept);
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

/// Those that count, the oldest first; and those that the newest left behind.
fn in_force(mut kept: Vec<Kept>) -> (Vec<Kept>, Vec<(Kept, Differs)>) {
    kept.sort_by(|one, other| one.age().cmp(&other.age()));
    let Some(newest) = kept.pop() else {
        return Default::default();
    };
    let (mut counting, mut outdated) = (Vec::new(), Vec::new());
    for one in kept {
        match find_difference(&one.side(), &newest.side()) {
            None => counting.push(one),
            Some(differs) => outdated.push((one, differs)),
        }
    }
    counting.push(newest);
    (counting, outdated)
}

/// Reads the runs of a scenario; not those that another save just removed.
fn read(paths: &[PathBuf], identity: &str) -> Result<Vec<Kept>, Error> {
    let mut all = Vec::new();
    for path in paths {
        match Kept::read(path) {
            Ok(kept) => {
                kept.is_of(identity)?;
                all.push(kept);
            }
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// The files of a folder.
#[derive(Debug, Default)]
struct Files {
    /// Those that are runs, by their names.
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
        if kind.is_file() && Kept::is_named_as_one(&path) {
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

fn entries(folder: &Path) -> Result<Vec<(PathBuf, fs::FileType)>, Error> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(Error::BaselinePlace {
                path: folder.to_path_buf(),
            });
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

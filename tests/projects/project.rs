//! A small cargo project, as a user has one: it depends on `loadtest` by path and stands alone.

use crate::call::Call;
use crate::lonely;
#[cfg(unix)]
use crate::site::site;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::{Mutex, PoisonError};

/// The folder of this workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this package is a member of the workspace")
}

/// A folder that stays from one run of the suite to the next, so that little is compiled again.
pub(crate) fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The target folder of this workspace, where `cargo test` and `cargo loadtest` compile.
pub(crate) fn ours() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("cargo's folder for tests is in its target folder")
}

/// The folders that cargo compiles the project in `folder` in: the one of its programs, and the one of everything else,
/// which has what this workspace has compiled already.
///
/// Cargo locks a folder while it compiles there. Projects that `cargo check` compiles too, with all they depend on, would
/// keep those of all other tests waiting for more than a minute. So they have the same files under a lock of their own,
/// once what both depend on is compiled.
pub(crate) fn build_folders(folder: &Path) -> (PathBuf, PathBuf) {
    #[cfg(unix)]
    if is_checked(folder) {
        static CHECKED: OnceLock<PathBuf> = OnceLock::new();
        let checked = CHECKED.get_or_init(|| {
            built_load_test(site().root());
            let checked = kept("checked");
            fs::create_dir_all(checked.join("debug")).expect("a folder of ours");
            for shared in [".fingerprint", "build", "deps", "examples", "incremental"] {
                let link = checked.join("debug").join(shared);
                if !link.is_symlink() {
                    let files = ours().join("debug").join(shared);
                    std::os::unix::fs::symlink(files, link).expect("a link in our own folder");
                }
            }
            checked
        });
        return (checked.clone(), checked.clone());
    }
    (kept("target"), ours().to_path_buf())
}

/// Whether `cargo check` compiles the project that `folder` is in: in the dashboard, in an editor, or in its own test.
#[cfg(unix)]
fn is_checked(folder: &Path) -> bool {
    let within = folder.strip_prefix(kept("projects"));
    let project = within.ok().and_then(|path| path.iter().next()?.to_str());
    project.is_some_and(|name| {
        name.ends_with("board") || matches!(name, "editor" | "import_k6_shapes")
    })
}

/// The files of a project; [`create`](Self::create) writes them.
#[derive(Debug)]
#[must_use]
pub(crate) struct Files {
    name: &'static str,
    files: BTreeMap<PathBuf, String>,
}

/// A project on disk.
///
/// Its folder is the same in every run of the suite, so the name must be the test's own.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    root: PathBuf,
}

impl Files {
    /// No files yet.
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            files: BTreeMap::new(),
        }
    }

    /// Adds a file.
    pub(crate) fn file(mut self, path: &str, text: impl Into<String>) -> Self {
        self.files.insert(PathBuf::from(path), text.into());
        self
    }

    /// Adds the manifest of a package in `folder` with a load test, and what else it is to say.
    pub(crate) fn package(self, folder: &str, name: &str, more: &str) -> Self {
        let manifest = format!(
            "{}[dev-dependencies]\nloadtest = {}\n\n{LOAD_TEST}\n{more}",
            header(name),
            dependency()
        );
        self.file(&in_folder(folder, "Cargo.toml"), manifest)
            .file(&in_folder(folder, "src/lib.rs"), "//! Nothing.\n")
    }

    /// A project of one package with a load test.
    pub(crate) fn single(name: &'static str, load: &str) -> Self {
        Self::new(name)
            .package("", name, STANDS_ALONE)
            .file("tests/load.rs", load)
    }

    /// Writes the project. Files that are there and the same are left alone, others are removed: of earlier runs
    /// of the suite, so that the process of a single test, which runs beside others, removes none.
    pub(crate) fn create(self) -> Project {
        let root = kept("projects").join(self.name);
        let lock = PathBuf::from("Cargo.lock");
        if !lonely::is_inside() {
            for file in all_files(&root) {
                if self.files.contains_key(&file) || file == lock {
                    continue;
                }
                match fs::remove_file(root.join(file)) {
                    // What an earlier run has left behind may remove its files as well.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    removed => removed.expect("our own file can be removed"),
                }
            }
        }
        for (path, text) in &self.files {
            write(&root.join(path), text);
        }
        adopt_lock(&root);
        Project { root }
    }
}

impl Project {
    /// The folder of the project.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A file of the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The text of a file; empty where there is none.
    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    /// All files, in order.
    pub(crate) fn files(&self) -> Vec<String> {
        all_files(&self.root)
            .into_iter()
            .map(|file| file.display().to_string())
            .collect()
    }

    /// `cargo-loadtest loadtest <line>` in this project, built in the profile that tests share.
    pub(crate) fn tool(&self, command: &str, line: &str) -> Call {
        let call = Call::tool(&self.root).arg(command);
        let call = if builds(command) {
            call.args(["--profile", "test"])
        } else {
            call
        };
        call.line(line)
    }

    /// The load test of this project as `cargo test --test load -- <line>` runs it.
    pub(crate) fn test(&self, line: &str) -> Call {
        Call::program(built_load_test(&self.root), &self.root).line(line)
    }

    /// `cargo <line>` in this project.
    pub(crate) fn cargo(&self, line: &str) -> Call {
        Call::cargo(&self.root).line(line)
    }
}

/// The programs that were built, by the folder of their project or the name of their package.
static BUILT: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

/// Builds a program, once for all tests of this process and of those that it starts for a test.
pub(crate) fn build_once(key: &Path, build: impl FnOnce() -> PathBuf) -> PathBuf {
    let mut programs = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let handed_over = || {
        let all = std::env::var(lonely::BUILT).unwrap_or_default();
        let mut pairs = all.lines().filter_map(|line| line.split_once('\t'));
        let found = pairs.find(|(name, _)| Path::new(name) == key);
        found.map(|(_, program)| PathBuf::from(program))
    };
    programs
        .entry(key.to_path_buf())
        .or_insert_with(|| handed_over().unwrap_or_else(build))
        .clone()
}

/// Lists the programs that were built, for a process that is started for a test.
pub(crate) fn list_built() -> String {
    let programs = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let pairs = programs.iter();
    let lines = pairs.map(|(key, program)| format!("{}\t{}\n", key.display(), program.display()));
    lines.collect()
}

/// Builds the load test of the project at `root`, and returns its path.
pub(crate) fn built_load_test(root: &Path) -> PathBuf {
    // This one may need another program first, while the list of them is not locked.
    build_folders(root);
    build_once(root, || {
        let flags =
            "build --quiet --profile test --test load --message-format json-render-diagnostics";
        let output = Call::cargo(root).line(flags).run().exits(0);
        output.executable("load")
    })
}

/// Whether a command of the tool builds the load tests.
pub(crate) fn builds(command: &str) -> bool {
    matches!(
        command,
        "run"
            | "list"
            | "plan"
            | "debug"
            | "capacity"
            | "export"
            | "duplicate"
            | "ui"
            | "agent"
            | "setup"
            | "bundle"
            | "teardown"
    )
}

/// The lines that make `tests/load.rs` a load test.
pub(crate) const LOAD_TEST: &str = "[[test]]\nname = \"load\"\nharness = false\n";

/// The lines that make a package a workspace of its own, and its builds small.
pub(crate) const STANDS_ALONE: &str = "[workspace]\n";

/// What a manifest begins with.
pub(crate) fn header(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n")
}

/// How a manifest depends on the library.
pub(crate) fn dependency() -> String {
    let path = workspace().join("loadtest");
    format!("{{ path = {:?} }}", path.display().to_string())
}

/// Writes `text`, unless the file says so already: cargo goes by the time of a file.
pub(crate) fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return;
    }
    let folder = path.parent().expect("a file is in a folder");
    fs::create_dir_all(folder).expect("a folder of the project");
    fs::write(path, text).expect("a file of the project");
}

/// Gives the project in `root` the versions of this workspace, so that nothing has to be looked up
/// or fetched. Cargo then takes out what the project does not need, once.
pub(crate) fn adopt_lock(root: &Path) {
    let name = root.file_name().expect("a project has a name");
    let ours = fs::read_to_string(workspace().join("Cargo.lock")).expect("the workspace's lock");
    let adopted = kept("locks").join(name);
    let theirs = root.join("Cargo.lock");
    if theirs.exists() && fs::read_to_string(&adopted).is_ok_and(|lock| lock == ours) {
        return;
    }
    write(&theirs, &ours);
    write(&adopted, &ours);
}

/// Every file below `root`, relative to it and in order; no links, such as that to the latest run.
pub(crate) fn all_files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = entry.file_type().expect("it was listed");
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && let Ok(file) = path.strip_prefix(root)
            {
                files.push(file.to_path_buf());
            }
        }
    }
    files.sort();
    files
}

fn in_folder(folder: &str, file: &str) -> String {
    Path::new(folder).join(file).display().to_string()
}

//! The user's workspace: what cargo knows of it, and the load tests in it.

mod binary;
mod build;
mod environment;
mod features;
mod source;

use crate::cli::CargoArgs;
use cargo_metadata::{Metadata, MetadataCommand, Package, Target};
use loadtest_console::error::{Error, Kind};
use loadtest_console::process;
use loadtest_console::suggestion::suggest_name;
use ring::digest::{SHA256, digest};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) use binary::{Binary, Script, hash};
pub(crate) use build::build;
#[cfg(feature = "ui")]
pub(crate) use build::cargo_check;
pub(crate) use environment::{clean, record as environment};
pub(crate) use source::calls_main;

/// The words of cargo for a missing package.
const NO_MANIFEST: &str = "could not find `Cargo.toml`";

/// The workspace that the current directory or `--manifest-path` belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    /// The metadata of cargo; none without a package.
    metadata: Option<Metadata>,
    root: PathBuf,
    /// The starting folder: that of `--manifest-path`, else the working directory.
    pub(crate) start: PathBuf,
    /// The folder of build artifacts.
    pub(crate) target_directory: PathBuf,
}

/// A target of a package whose source calls `loadtest::main!`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadTest {
    /// The name of the package.
    pub(crate) package: String,
    /// The folder of the package.
    pub(crate) package_root: PathBuf,
    /// The package as cargo's messages name it.
    pub(crate) package_id: String,
    /// The source file of the target.
    pub(crate) path: PathBuf,
    /// The kind as cargo's flags name it: `test`.
    pub(crate) kind: &'static str,
    /// The name of the target.
    pub(crate) name: String,
    /// The features of the package without which cargo does not build it.
    pub(crate) required_features: Vec<String>,
}

impl Workspace {
    /// Asks cargo.
    ///
    /// # Errors
    /// When there is no workspace, or cargo does not understand it.
    pub(crate) fn load(args: &CargoArgs) -> Result<Self, Error> {
        let mut query = MetadataCommand::new();
        query.cargo_path(cargo()).no_deps();
        if let Some(path) = &args.manifest_path {
            query.manifest_path(path);
        }
        let mut command = query.cargo_command();
        pass_on(&mut command, args, false);
        clean(&mut command);
        if let Ok(directory) = process::directory() {
            command.current_dir(directory);
        }
        for path in [
            process::directory().ok(),
            args.manifest_path.clone(),
            args.target_dir.clone(),
        ] {
            path.map_or(Ok(()), |path| check_is_utf8(&path))?;
        }
        let output =
            command
                .stdin(Stdio::null())
                .output()
                .map_err(|source| match source.kind() {
                    ErrorKind::NotFound => Error::spawn(&command)(source).of_kind(Kind::NoPackage),
                    _ => Error::spawn(&command)(source),
                })?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let error = Error::usage(text.trim().trim_start_matches("error: "));
            return Err(if text.contains(NO_MANIFEST) {
                let help =
                    "run this in the folder of a package, or name one with `--manifest-path`";
                error.with_help(help).of_kind(Kind::NoPackage)
            } else {
                error
            });
        }
        let metadata =
            MetadataCommand::parse(String::from_utf8_lossy(&output.stdout)).map_err(|error| {
                Error::failure(format!(
                    "cargo's description of the workspace cannot be read: {error}"
                ))
            })?;
        let current = || process::directory().map_err(Error::io("enter", PathBuf::from(".")));
        let start = match args.manifest_path.as_deref().and_then(Path::parent) {
            Some(folder) => current()?.join(folder),
            None => current()?,
        };
        let target_directory = match &args.target_dir {
            Some(directory) => current()?.join(directory),
            None => metadata.target_directory.clone().into_std_path_buf(),
        };
        Ok(Self {
            root: metadata.workspace_root.clone().into_std_path_buf(),
            metadata: Some(metadata),
            start,
            target_directory,
        })
    }

    /// The same; without a package, the folder of the first `loadtest.toml` from here upward, else the current
    /// one. What is kept goes below `target` there, too.
    ///
    /// # Errors
    /// When cargo does not understand what it finds.
    pub(crate) fn load_or_folder(args: &CargoArgs) -> Result<Self, Error> {
        match Self::load(args) {
            Err(error) if args.manifest_path.is_none() && *error.kind() == Kind::NoPackage => {}
            loaded => return loaded,
        }
        let start = process::directory().map_err(Error::io("enter", PathBuf::from(".")))?;
        let has_file = |folder: &&Path| folder.join(crate::config::FILE_NAME).is_file();
        let root = start.ancestors().find(has_file).unwrap_or(&start);
        let target_directory = match &args.target_dir {
            Some(directory) => start.join(directory),
            None => root.join("target"),
        };
        Ok(Self {
            root: root.to_path_buf(),
            metadata: None,
            target_directory,
            start,
        })
    }

    /// The folder of runs, where the configuration names none: `loadtest` among the artifacts of the build. A target
    /// directory outside of the workspace may serve others as well, so each has a folder of its own there.
    pub(crate) fn run_directory(&self) -> PathBuf {
        let (root, target) = (normalize(&self.root), normalize(&self.target_directory));
        let runs = target.join("loadtest");
        if target.starts_with(&root) {
            return runs;
        }
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let hash = digest(&SHA256, root.as_os_str().as_encoded_bytes());
        let hash = hash.as_ref();
        runs.join(format!(
            "{name}-{:02x}{:02x}{:02x}",
            hash[0], hash[1], hash[2]
        ))
    }

    /// The folder of the workspace.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The members of the workspace, by name.
    pub(crate) fn packages(&self) -> Vec<&Package> {
        let metadata = self.metadata.iter();
        let mut packages: Vec<_> = metadata.flat_map(Metadata::workspace_packages).collect();
        packages.sort_by(|one, other| one.name.cmp(&other.name));
        packages
    }

    /// The member whose folder is around the starting folder, unless that is the root of the workspace.
    pub(crate) fn member_here(&self) -> Option<&Package> {
        let members = self.packages().into_iter();
        members
            .filter(|package| {
                let folder = folder(package);
                folder != self.root && self.start.starts_with(folder)
            })
            .max_by_key(|package| folder(package).components().count())
    }

    /// The names of the members that `default-members` selects; none where it is not set. The root package alone is
    /// what cargo takes where it is not set, and load tests often are in a member of their own.
    pub(crate) fn default_members(&self) -> Vec<String> {
        let metadata = self.metadata.iter();
        let defaults: Vec<_> = metadata
            .flat_map(Metadata::workspace_default_packages)
            .collect();
        let is_root_alone = matches!(&*defaults, [only] if folder(only) == self.root);
        if is_root_alone || defaults.len() == self.packages().len() {
            return Vec::new();
        }
        let names = defaults.iter();
        names.map(|package| package.name.to_string()).collect()
    }

    /// The member called `name`.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn package(&self, name: &str) -> Result<&Package, Error> {
        let packages = self.packages();
        let names = packages.iter().map(|package| package.name.to_string());
        packages
            .iter()
            .find(|package| package.name == name)
            .copied()
            .ok_or_else(|| {
                let known: Vec<_> = names.collect();
                Error::usage(format!("there is no package `{name}` in the workspace"))
                    .with_help(suggest_name(name, &known, "packages"))
            })
    }

    /// The load tests of the packages called `names`, or of all members.
    ///
    /// # Errors
    /// When there is no such package, or no load test in them.
    pub(crate) fn load_tests(&self, names: &[String]) -> Result<Vec<LoadTest>, Error> {
        let packages = if names.is_empty() {
            self.packages()
        } else {
            let mut packages = Vec::new();
            for name in names {
                let package = self.package(name)?;
                if !packages
                    .iter()
                    .any(|known: &&Package| known.id == package.id)
                {
                    packages.push(package);
                }
            }
            packages
        };
        let (mut found, mut without_main) = (Vec::new(), Vec::new());
        for package in &packages {
            let renamed = loadtest_aliases(package);
            for target in &package.targets {
                let Some(kind) = flag(target) else { continue };
                let path = target.src_path.as_std_path();
                // A file that is missing is cargo's to complain about, when it builds.
                let Ok(source) = std::fs::read(path) else {
                    continue;
                };
                if calls_main(&String::from_utf8_lossy(&source), &renamed) {
                    found.push(LoadTest {
                        package: package.name.to_string(),
                        package_root: folder(package),
                        package_id: package.id.repr.clone(),
                        path: path.to_path_buf(),
                        kind,
                        name: target.name.clone(),
                        required_features: target.required_features.clone(),
                    });
                } else if String::from_utf8_lossy(&source).contains("#[scenario") {
                    without_main.push(path);
                }
            }
        }
        if let ([], [path, ..]) = (&*found, &*without_main) {
            let path = path.strip_prefix(&self.root).unwrap_or(path).display();
            let message = format!("there is no load test in {}", place(names));
            return Err(Error::nothing_found(message).with_help(format!(
                "`{path}` has scenarios, but not the line `loadtest::main!();`: put it at the end"
            )));
        }
        if found.is_empty() {
            let message = format!("there is no load test in {}", place(names));
            let others = match names {
                [] => "",
                _ => "`--workspace` selects the load tests of all packages; ",
            };
            return Err(Error::nothing_found(message).with_help(format!(
                "{others}`cargo loadtest init` adds one; or put `loadtest::main!();` at the end of \
                 `tests/load.rs` and these lines into `Cargo.toml`:\n\n    \
                 [[test]]\n    name = \"load\"\n    path = \"tests/load.rs\"\n    harness = false"
            )));
        }
        Ok(found)
    }
}

/// Refuses a path that cargo and the load test cannot be told: both are told in JSON.
///
/// # Errors
/// When it is no UTF-8.
fn check_is_utf8(path: &Path) -> Result<(), Error> {
    if path.to_str().is_some() {
        return Ok(());
    }
    let message = format!("the path `{}` is not UTF-8", path.display());
    Err(Error::usage(message).with_help("rename the folder, or use another one"))
}

/// Under which other names the package knows `loadtest`.
fn loadtest_aliases(package: &Package) -> Vec<String> {
    let dependencies = package.dependencies.iter();
    dependencies
        .filter(|dependency| dependency.name == "loadtest")
        .filter_map(|dependency| dependency.rename.as_ref())
        .map(|name| name.replace('-', "_"))
        .collect()
}

/// Formats the searched place: a package, several, or the workspace.
pub(crate) fn place(packages: &[String]) -> String {
    match packages {
        [] => "the workspace".to_owned(),
        [one] => format!("package `{one}`"),
        several => format!(
            "the packages {}",
            loadtest_console::suggestion::join_names(several)
        ),
    }
}

/// Resolves `..` in the text of a path: what it names need not exist yet.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// The folder of a package.
pub(crate) fn folder(package: &Package) -> PathBuf {
    package
        .manifest_path
        .parent()
        .map_or_else(PathBuf::new, |folder| folder.as_std_path().to_path_buf())
}

/// The cargo that called, or the one in `PATH`.
fn cargo() -> OsString {
    process::variable_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Adds the flags that every call of cargo gets.
fn pass_on(command: &mut Command, args: &CargoArgs, build: bool) {
    for (flag, given) in [
        ("--locked", args.locked),
        ("--offline", args.offline),
        ("--frozen", args.frozen),
    ] {
        if given {
            command.arg(flag);
        }
    }
    if build && let Some(path) = &args.manifest_path {
        command.arg("--manifest-path").arg(path);
    }
    if build && let Some(directory) = &args.target_dir {
        command.arg("--target-dir").arg(directory);
    }
}

fn flag(target: &Target) -> Option<&'static str> {
    [
        (target.is_test(), "test"),
        (target.is_bench(), "bench"),
        (target.is_example(), "example"),
        (target.is_bin(), "bin"),
    ]
    .into_iter()
    .find_map(|(is, flag)| is.then_some(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_directory(root: &str, target: &str) -> PathBuf {
        let workspace = Workspace {
            metadata: None,
            root: root.into(),
            start: root.into(),
            target_directory: target.into(),
        };
        workspace.run_directory()
    }

    #[test]
    fn workspaces_that_share_a_target_directory_do_not_share_their_runs() {
        assert_eq!(
            run_directory("/home/ada/shop", "/home/ada/shop/target"),
            Path::new("/home/ada/shop/target/loadtest")
        );
        let shared =
            ["/home/ada/shop", "/home/bob/shop"].map(|root| run_directory(root, "/builds"));
        assert_ne!(shared[0], shared[1]);
        for directory in &shared {
            let text = directory.display().to_string();
            assert!(text.starts_with("/builds/loadtest/shop-"), "{text}");
        }
        let beside = run_directory("/home/ada/shop", "/home/ada/shop/../target");
        assert!(
            beside.starts_with("/home/ada/target/loadtest"),
            "{beside:?}"
        );
    }
}

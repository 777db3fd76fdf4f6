//! `cargo loadtest init`: the first load test of a package.
//!
//! Nothing is overwritten: what exists is reported and left as it is.

mod manifest;
mod source;

use crate::cli::{CargoArgs, InitArgs};
use crate::config::FILE_NAME;
use crate::workspace::{Workspace, folder};
use cargo_metadata::Package;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_console::suggestion::join_names;
use loadtest_model::exit_code::ExitCode;
use manifest::{LoadtestOrigin, Manifest};
use source::DependencySource;
use std::path::{Path, PathBuf};

const EXAMPLE: &str = include_str!("templates/load.rs");
/// Has every key; a test of the configuration holds it to the table of the keys.
const CONFIG: &str = include_str!("templates/loadtest.toml");

/// Adds test target, example and configuration.
///
/// # Errors
/// When there is no package to add them to, or a file cannot be read or written.
pub(crate) fn init(args: &InitArgs) -> Result<ExitCode, Error> {
    let cargo = CargoArgs {
        manifest_path: manifest_path(args)?,
        ..CargoArgs::default()
    };
    let workspace = Workspace::load(&cargo)?;
    let package = package(&workspace, args)?;
    let root = folder(package);
    let workspace_manifest = Manifest::read(&workspace.root().join("Cargo.toml"))?;
    let mut manifest = Manifest::read(package.manifest_path.as_std_path())?;
    let mut done = Vec::new();
    let mut kept = Vec::new();

    let own = manifest.dependency();
    let shared = workspace_manifest.shared_dependency();
    let used = match own {
        None | Some(LoadtestOrigin::Workspace) => shared,
        own => own,
    };
    if used == Some(LoadtestOrigin::Registry) {
        return Err(refuse_registry(args));
    }
    if own.is_some() {
        kept.push("Cargo.toml has a dependency on `loadtest`".to_owned());
    } else if shared.is_some() {
        manifest.inherit_dependency();
        done.push("Cargo.toml: a dev-dependency on the `loadtest` of the workspace".to_owned());
    } else {
        let source = DependencySource::find(args)?;
        manifest.add_dependency(&source);
        done.push(format!(
            "Cargo.toml: a dev-dependency on `loadtest` from {source}"
        ));
    }
    let example = root.join("tests/load.rs");
    let is_new = !example.exists();
    if manifest.has_test("load") {
        kept.push("Cargo.toml has a test target `load`".to_owned());
    } else if is_new || calls_main(&example) {
        manifest.add_test();
        done.push("Cargo.toml: the test target `load` with `harness = false`".to_owned());
    } else {
        return Err(
            Error::usage("`tests/load.rs` exists and is not a load test").with_help(
                "put `loadtest::main!();` at its end, or give it another name, and run this again",
            ),
        );
    }
    if !done.is_empty() {
        manifest.write()?;
    }
    add_file(&example, &root, EXAMPLE, &mut done, &mut kept)?;
    let config = workspace.root().join(FILE_NAME);
    add_file(&config, workspace.root(), CONFIG, &mut done, &mut kept)?;
    print_summary(package, &done, &kept);
    Ok(ExitCode::Passed)
}

/// The crate of that name on the package registry is not ours.
fn refuse_registry(args: &InitArgs) -> Error {
    let instead = match DependencySource::find(args) {
        Ok(source) => manifest::entry(&source),
        Err(_) => "{ git = \"https://..\", rev = \"..\" }".to_owned(),
    };
    Error::usage(
        "`Cargo.toml` depends on the `loadtest` of the package registry, \
                  a name that belongs to another project there",
    )
    .with_help(format!(
        "write instead, or remove the line and run this again:\n\n    loadtest = {instead}"
    ))
}

fn manifest_path(args: &InitArgs) -> Result<Option<PathBuf>, Error> {
    let Some(folder) = &args.path else {
        return Ok(None);
    };
    let path = folder.join("Cargo.toml");
    if path.is_file() {
        return Ok(Some(path));
    }
    Err(
        Error::usage(format!("there is no package in `{}`", folder.display()))
            .with_help("`cargo init` makes one; `--path` is the folder of its `Cargo.toml`"),
    )
}

/// The package that is named, else the one that the user stands in.
fn package<'w>(workspace: &'w Workspace, args: &InitArgs) -> Result<&'w Package, Error> {
    if let Some(name) = &args.package {
        return workspace.package(name);
    }
    let packages = workspace.packages();
    packages
        .iter()
        .filter(|package| workspace.start.starts_with(folder(package)))
        .max_by_key(|package| folder(package).components().count())
        .copied()
        .ok_or_else(|| {
            let names: Vec<_> = packages
                .iter()
                .map(|package| package.name.as_str())
                .collect();
            Error::usage("this is a workspace; which package should get the load test?")
                .with_help(format!("choose with `-p`: {}", join_names(&names)))
        })
}

fn calls_main(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|source| crate::workspace::calls_main(&source, &[]))
}

fn add_file(
    path: &Path,
    root: &Path,
    text: &str,
    done: &mut Vec<String>,
    kept: &mut Vec<String>,
) -> Result<(), Error> {
    let shown = path.strip_prefix(root).unwrap_or(path).display();
    if path.exists() {
        kept.push(format!("{shown} exists"));
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
    }
    files::write(path, text.as_bytes())?;
    done.push(shown.to_string());
    Ok(())
}

fn print_summary(package: &Package, done: &[String], kept: &[String]) {
    for line in done {
        console::print_status("Added", line);
    }
    for line in kept {
        console::print_status("Kept", line);
    }
    if done.is_empty() {
        console::print_progress(format_args!(
            "nothing to do: package `{}` has a load test",
            package.name
        ));
        return;
    }
    console::print_progress(
        "\nNext:\n  \
         1. describe in tests/load.rs what your users do\n  \
         2. cargo loadtest list\n  \
         3. LOADTEST_BASE_URL=http://127.0.0.1:8080 cargo test\n  \
         4. cargo loadtest run --base-url http://127.0.0.1:8080",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_configuration_that_is_written_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE_NAME), CONFIG).unwrap();
        let read = || Config::load(folder.path(), folder.path()).unwrap();
        let nothing = Config {
            folder: folder.path().to_path_buf(),
            is_file: true,
            ..Config::default()
        };
        assert_eq!(read(), nothing);
    }

    #[test]
    fn the_example_is_found_as_a_load_test() {
        assert!(crate::workspace::calls_main(EXAMPLE, &[]));
    }
}

//! What of our environment belongs to the user, what to the cargo that called us; and the
//! surroundings that a record names.

use loadtest_console::console;
use loadtest_console::process::{self, USER_VARIABLE};
use loadtest_model::record::Environment;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

/// Variables that `cargo run` sets. Build scripts of common crates rerun when they change, so every run through an
/// alias would compile again.
const SET_BY_CARGO: [&str; 12] = [
    "CARGO",
    "CARGO_BIN_NAME",
    "CARGO_CRATE_NAME",
    "CARGO_MAKEFLAGS",
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_MANIFEST_PATH",
    "CARGO_PRIMARY_PACKAGE",
    "CARGO_RUSTC_CURRENT_DIR",
    "CARGO_TARGET_TMPDIR",
    // Of rustup: each of its proxies counts, and refuses at twenty.
    "RUST_RECURSION_COUNT",
    "__CARGO_FIX_PLZ",
];
const SET_BY_CARGO_PREFIXES: [&str; 4] = [
    "CARGO_BIN_EXE_",
    "CARGO_CFG_",
    "CARGO_FEATURE_",
    "CARGO_PKG_",
];
const LIBRARY_PATHS: [&str; 3] = [
    "LD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
];

/// Takes from the environment of `command` what cargo set for this tool and not for its children.
pub(crate) fn clean(command: &mut Command) {
    let called_by_run = std::env::var_os("CARGO_MANIFEST_DIR").is_some();
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| is_set_by_cargo(name, called_by_run))
        {
            command.env_remove(name);
        }
    }
    let own = std::env::current_exe().ok();
    let Some(own) = own.as_deref().and_then(Path::parent) else {
        return;
    };
    for name in LIBRARY_PATHS {
        if let Some(path) = std::env::var_os(name) {
            match without_cargos(&path, own) {
                Some(rest) => command.env(name, rest),
                None => command.env_remove(name),
            };
        }
    }
}

fn is_set_by_cargo(name: &str, called_by_run: bool) -> bool {
    // These short names may be anybody's; only beside the others they are cargo's.
    if matches!(name, "OUT_DIR" | "NUM_JOBS") || name.starts_with("DEP_") {
        return called_by_run;
    }
    SET_BY_CARGO.contains(&name)
        || SET_BY_CARGO_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// A library path without the folders that `cargo run` adds: those of the build that made us, and
/// those of the toolchain. `None` when nothing is left.
fn without_cargos(path: &OsStr, own: &Path) -> Option<OsString> {
    let kept: Vec<_> = std::env::split_paths(path)
        .filter(|folder| !folder.as_os_str().is_empty())
        .filter(|folder| !folder.starts_with(own) && !is_toolchain(folder))
        .collect();
    if kept.is_empty() {
        return None;
    }
    std::env::join_paths(kept).ok()
}

fn is_toolchain(folder: &Path) -> bool {
    folder
        .components()
        .any(|part| part.as_os_str() == "rustlib")
        || folder.ends_with("lib") && folder.with_file_name("bin").join("rustc").exists()
}

/// The machine, and the state of the source in `root`; what is in the folders `aside` is no source.
///
/// A file that git does not know is a change too: it may be one that was compiled, or a feed.
pub(crate) fn record(root: &Path, aside: &[&Path]) -> Environment {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command
            .args(arguments)
            .current_dir(root)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .stdin(Stdio::null());
        let output = command.output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let git_commit = git(&["rev-parse", "HEAD"]);
    // All of the repository, of which the workspace may be a part.
    let mut status = vec!["status".to_owned(), "--porcelain".to_owned()];
    status.extend(["--".to_owned(), ":/".to_owned()]);
    let inside = aside
        .iter()
        .filter_map(|folder| folder.strip_prefix(root).ok());
    let inside = inside
        .filter_map(Path::to_str)
        .filter(|path| !path.is_empty());
    status.extend(inside.map(|path| format!(":(exclude,literal){path}")));
    let status: Vec<&str> = status.iter().map(String::as_str).collect();
    Environment {
        git_dirty: git_commit
            .as_ref()
            .and_then(|_| git(&status))
            .map(|changes| !changes.is_empty()),
        git_commit,
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        started_by: process::variable(USER_VARIABLE).map(|user| console::clean(&user)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_sets_for_a_program_goes() {
        for name in [
            "CARGO",
            "CARGO_MANIFEST_DIR",
            "CARGO_PKG_VERSION_MAJOR",
            "CARGO_PRIMARY_PACKAGE",
            "CARGO_BIN_EXE_shop",
            "RUST_RECURSION_COUNT",
            "OUT_DIR",
        ] {
            assert!(is_set_by_cargo(name, true), "{name}");
        }
    }

    #[test]
    fn what_the_user_configures_stays() {
        for name in [
            "CARGO_HOME",
            "CARGO_TARGET_DIR",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
            "CARGO_BUILD_JOBS",
            "CARGO_PROFILE_RELEASE_DEBUG",
            "CARGO_NET_OFFLINE",
            "CARGO_REGISTRIES_OURS_TOKEN",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_INCREMENTAL",
            "RUSTFLAGS",
            "RUSTC_WRAPPER",
            "RUSTUP_TOOLCHAIN",
            "PATH",
        ] {
            assert!(!is_set_by_cargo(name, true), "{name}");
        }
        assert!(!is_set_by_cargo("OUT_DIR", false));
    }

    #[test]
    fn the_folders_of_our_own_build_leave_the_library_path() {
        let path = std::env::join_paths([
            "/home/ada/target/release/deps",
            "/home/ada/target/release",
            "/opt/libraries",
            "/toolchain/lib/rustlib/x86_64-unknown-linux-gnu/lib",
        ])
        .unwrap();
        let own = Path::new("/home/ada/target/release");
        assert_eq!(without_cargos(&path, own).unwrap(), "/opt/libraries");
        assert_eq!(
            without_cargos(OsStr::new("/home/ada/target/release"), own),
            None
        );
    }

    /// A repository with a file in one commit.
    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet"]);
        std::fs::create_dir(folder.path().join("app")).unwrap();
        std::fs::write(folder.path().join("app/load.rs"), "one").unwrap();
        commit(folder.path());
        folder
    }

    fn commit(folder: &Path) {
        git(folder, &["add", "."]);
        let name = ["-c", "user.name=Ada", "-c", "user.email=ada@example"];
        let commit = ["commit", "--quiet", "--no-gpg-sign", "-m", "x"];
        git(folder, &[&name[..], &commit[..]].concat());
    }

    fn git(folder: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        let output = command
            .args(arguments)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn the_commit_is_that_of_the_repository_around_the_workspace() {
        let folder = repository();
        let head = git(folder.path(), &["rev-parse", "HEAD"]);
        let clean = (Some(head.clone()), Some(false));
        let seen = |root: &Path| {
            let environment = record(root, &[]);
            (environment.git_commit, environment.git_dirty)
        };
        assert_eq!(seen(folder.path()), clean);
        let app = folder.path().join("app");
        assert_eq!(seen(&app), clean);
        git(folder.path(), &["checkout", "--quiet", "--detach"]);
        assert_eq!(seen(&app), clean);
        // What changed beside the workspace may be a library of it.
        std::fs::write(folder.path().join("lib.rs"), "new").unwrap();
        assert_eq!(seen(&app), (Some(head), Some(true)));
        std::fs::remove_file(folder.path().join("lib.rs")).unwrap();
        std::fs::write(app.join("load.rs"), "two").unwrap();
        assert_eq!(seen(&app).1, Some(true));
        commit(folder.path());
        assert_eq!(seen(&app).1, Some(false));
    }

    #[test]
    fn what_the_tool_itself_wrote_changes_no_source() {
        let folder = repository();
        let app = folder.path().join("app");
        let (runs, baselines) = (app.join("runs [x]"), app.join(".loadtest/baselines"));
        for written in [&runs, &baselines] {
            std::fs::create_dir_all(written).unwrap();
            std::fs::write(written.join("record.json"), "{}").unwrap();
        }
        let dirty = |aside: &[&Path]| record(&app, aside).git_dirty;
        assert_eq!(dirty(&[]), Some(true));
        let elsewhere = Path::new("/elsewhere");
        assert_eq!(dirty(&[&runs, &baselines, elsewhere]), Some(false));
        std::fs::write(app.join("users.csv"), "ada").unwrap();
        assert_eq!(dirty(&[&runs, &baselines]), Some(true));
    }

    #[test]
    fn a_repository_without_a_commit_has_none() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet"]);
        let environment = record(folder.path(), &[]);
        assert_eq!(
            (environment.git_commit, environment.git_dirty),
            (None, None)
        );
    }

    #[test]
    fn a_folder_outside_of_git_has_no_commit() {
        let folder = tempfile::tempdir().unwrap();
        let environment = record(folder.path(), &[]);
        assert_eq!(
            (environment.git_commit, environment.git_dirty),
            (None, None)
        );
        assert!(environment.cpus > 0);
    }
}

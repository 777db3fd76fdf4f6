//! What of our environment belongs to the user, what to the cargo that called us; and the
//! surroundings that a record names.

use loadtest::record::Environment;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

/// What `cargo run` sets for the program it runs. Build scripts of common crates ask to be run
/// anew when these change, so with them every run through the alias would compile.
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

/// The machine, and the state of the source in `root`.
pub(crate) fn record(root: &Path) -> Environment {
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
    Environment {
        git_dirty: git_commit
            .as_ref()
            .and_then(|_| git(&["status", "--porcelain"]))
            .map(|changes| !changes.is_empty()),
        git_commit,
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
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

    #[test]
    fn a_folder_outside_of_git_has_no_commit() {
        let folder = tempfile::tempdir().unwrap();
        let environment = record(folder.path());
        assert_eq!(
            (environment.git_commit, environment.git_dirty),
            (None, None)
        );
        assert!(environment.cpus > 0);
    }
}

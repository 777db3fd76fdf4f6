//! Bundles: one file that runs load tests on a machine without their source or a toolchain.
//!
//! A bundle is a gzip tar. Its first entry, `bundle.json`, lists every other one with size and SHA-256. Bundles come
//! from elsewhere, so nothing in them is trusted before it is checked.

mod config;
mod files;
#[cfg(feature = "cluster")]
mod limit;
mod open;
#[cfg(test)]
mod tests;
mod write;

use loadtest_console::error::Error;
use serde::{Deserialize, Serialize};

pub(crate) use open::{OpenedBundle, open_bundle};
pub(crate) use write::write_bundle;

/// The version of the format.
const FORMAT: u32 = 1;
/// The name of the first entry.
const MANIFEST: &str = "bundle.json";
/// The name of the entry with the configuration of the tool.
const CONFIG: &str = "loadtest.toml";
/// The folder of programs.
const PROGRAMS: &str = "programs";
/// The folder with a folder for each package.
const PACKAGES: &str = "packages";
/// Bounds on what is unpacked.
const MOST_FILES: usize = 10_000;
const MOST_BYTES: u64 = 4 << 30;
const LARGEST_MANIFEST: u64 = 4 << 20;
/// The longest path that the header of an entry holds.
const LONGEST_PATH: usize = 255;

/// `bundle.json`: the contents of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BundleManifest {
    /// The version of the format.
    format: u32,
    /// The version of the tool that wrote it.
    tool: String,
    /// The machine that its programs run on.
    platform: String,
    /// The identities of its scenarios.
    scenarios: Vec<String>,
    programs: Vec<BundledProgram>,
    files: Vec<BundledFile>,
}

/// A load test in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BundledProgram {
    /// The path in the bundle.
    path: String,
    /// The package that holds it.
    package: String,
    /// The target in words: test `load`.
    target: String,
}

/// A file in a bundle, in the order of the entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BundledFile {
    path: String,
    bytes: u64,
    sha256: String,
}

/// The part of a manifest that every version of the format has.
#[derive(Debug, Deserialize)]
struct BundleVersion {
    format: u32,
    tool: String,
}

/// Returns the machine of this program: `x86_64-linux-gnu`.
fn platform() -> String {
    let library = if cfg!(target_env = "musl") {
        "-musl"
    } else if cfg!(target_env = "gnu") {
        "-gnu"
    } else if cfg!(target_env = "msvc") {
        "-msvc"
    } else {
        ""
    };
    format!(
        "{}-{}{library}",
        std::env::consts::ARCH,
        std::env::consts::OS
    )
}

/// Refuses paths that lead out of the folder they are unpacked in, or that no file system takes.
///
/// # Errors
/// When `path` is such a one.
fn check_path(path: &str) -> Result<(), Error> {
    let is_name = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part.contains(['\\', ':'])
            && !part.contains(char::is_control)
    };
    if path.len() <= LONGEST_PATH && path.split('/').all(is_name) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "`{}` is not a valid path in a bundle",
        path.escape_debug()
    )))
}

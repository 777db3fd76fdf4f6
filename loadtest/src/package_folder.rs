//! The folders of packages: where they were compiled, or where a bundle holds them.

use loadtest_model::protocol::PACKAGES_VARIABLE;
use std::path::PathBuf;

/// Returns the folder of `package`, which was `compiled` when the program was. On another machine, the variable
/// [`PACKAGES_VARIABLE`] names the folder that holds a folder for each package.
pub(crate) fn find_package_folder(package: &str, compiled: &str) -> PathBuf {
    match std::env::var_os(PACKAGES_VARIABLE) {
        Some(packages) if !packages.is_empty() => PathBuf::from(packages).join(package),
        _ => PathBuf::from(compiled),
    }
}

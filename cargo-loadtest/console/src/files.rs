//! Files that are written as a whole, or not at all.
//!
//! Each is written under another name and renamed, so that a reader never sees half of one.

use crate::error::Error;
use serde::Serialize;
use std::fs::Permissions;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Writes `value` as JSON.
///
/// # Errors
/// When it cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let bytes =
        serde_json::to_vec(value).map_err(Error::encode(format_args!("`{}`", path.display())))?;
    write(path, &bytes)
}

/// Reads a regular file: a pipe or a device might never end.
///
/// # Errors
/// When it cannot be read, or is another kind of file.
pub fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    check_is_regular(path)?;
    std::fs::read(path)
}

/// Opens a regular file.
///
/// # Errors
/// As [`read`].
pub fn open(path: &Path) -> std::io::Result<std::fs::File> {
    check_is_regular(path)?;
    std::fs::File::open(path)
}

fn check_is_regular(path: &Path) -> std::io::Result<()> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(());
    }
    let words = "it is a pipe or a device, and only regular files are read";
    Err(std::io::Error::new(ErrorKind::InvalidInput, words))
}

/// Writes a whole file, or none; one that is there keeps its permissions, and a link its target. What is no
/// file, such as a device or a pipe, is written to.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let Some(target) = target(path) else {
        return std::fs::File::options()
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(Error::io("write", path));
    };
    let temporary = temporary_path(&target);
    let written = permissions(&target)
        .and_then(|permissions| Ok((permissions, std::fs::File::create(&temporary)?)))
        .and_then(|(permissions, mut file)| {
            if let Some(permissions) = permissions {
                file.set_permissions(permissions)?;
            }
            file.write_all(bytes)
        })
        .and_then(|()| std::fs::rename(&temporary, &target));
    written.map_err(|error| {
        // What is left of it is of no use, and the first error is the one to tell.
        let _ = std::fs::remove_file(&temporary);
        Error::io("write", path)(error)
    })
}

/// Tests that a file could be written at `path`; leaves nothing behind.
///
/// # Errors
/// When it could not.
pub fn try_write(path: &Path) -> Result<(), Error> {
    let Some(target) = target(path) else {
        return Ok(());
    };
    let temporary = temporary_path(&target);
    permissions(&target)
        .and_then(|_| std::fs::File::create(&temporary))
        .and_then(|file| {
            drop(file);
            std::fs::remove_file(&temporary)
        })
        .map_err(Error::io("write", path))
}

/// The file that `path` means, whatever links lead there; none for what is written to as it is: devices,
/// pipes, and what a program has open.
fn target(path: &Path) -> Option<PathBuf> {
    let is_open = path.starts_with("/dev") || path.starts_with("/proc");
    match std::fs::metadata(path) {
        Ok(there) if is_open || !(there.is_file() || there.is_dir()) => None,
        Ok(_) => Some(path.canonicalize().unwrap_or(path.to_path_buf())),
        Err(_) => Some(path.to_path_buf()),
    }
}

/// Returns the permissions of an existing file.
///
/// # Errors
/// When it may not be written.
fn permissions(path: &Path) -> std::io::Result<Option<Permissions>> {
    match std::fs::File::options().append(true).open(path) {
        Ok(file) => Ok(Some(file.metadata()?.permissions())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The name of a file until it is whole: beside it, no longer than a name may be, and no other writer's, of
/// which one in another container may have the number of our process.
fn temporary_path(path: &Path) -> PathBuf {
    let random = RandomState::new().hash_one(std::process::id());
    path.with_file_name(format!(".loadtest-{random:016x}.part"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_keeps_its_target_and_a_file_its_permissions() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        symlink(&file, &link).unwrap();
        try_write(&link).unwrap();
        write(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        // What a program has open is no file to be replaced.
        assert_eq!(target(Path::new("/dev/null")), None);
        assert_eq!(target(Path::new("/dev/stdout")), None);
    }
}

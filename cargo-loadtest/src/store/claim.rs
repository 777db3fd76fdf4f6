//! Which runs a living process writes: it holds a lock on their folder, which ends when the process does,
//! however that ends.
//!
//! Where the system has no such locks, nobody knows.

use std::fs::File;
use std::io;
use std::path::Path;

/// A lock on the folder of a run, held for as long as this lives.
#[derive(Debug)]
pub(crate) struct Claim(File);

impl Claim {
    /// Claims a folder that was just made.
    ///
    /// # Errors
    /// Where the system has no such locks.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let file = File::open(folder)?;
        lock(&file, Wait::Briefly)?;
        Ok(Self(file))
    }

    /// Claims a folder, unless another process has it.
    ///
    /// # Errors
    /// Where the system has no such locks; where the folder is not there.
    pub(crate) fn try_new(folder: &Path) -> io::Result<Option<Self>> {
        let file = File::open(folder)?;
        match lock(&file, Wait::Never) {
            Ok(()) => Ok(Some(Self(file))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A process that is just being started has the file for a moment, too.
        let _ = unlock(&self.0);
    }
}

/// For how long a lock is waited for.
#[derive(Debug, Clone, Copy)]
enum Wait {
    Never,
    /// While others look whether it is held.
    Briefly,
}

#[cfg(unix)]
fn lock(file: &File, wait: Wait) -> io::Result<()> {
    use rustix::fs::{FlockOperation, flock};
    let operation = match wait {
        Wait::Never => FlockOperation::NonBlockingLockExclusive,
        Wait::Briefly => FlockOperation::LockExclusive,
    };
    Ok(flock(file, operation)?)
}

#[cfg(unix)]
fn unlock(file: &File) -> io::Result<()> {
    use rustix::fs::{FlockOperation, flock};
    Ok(flock(file, FlockOperation::Unlock)?)
}

#[cfg(not(unix))]
fn unlock(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn lock(_: &File, _: Wait) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_claimed_once_and_free_again_when_the_claim_ends() {
        let folder = tempfile::tempdir().unwrap();
        let claim = Claim::new(folder.path()).unwrap();
        assert!(Claim::try_new(folder.path()).unwrap().is_none());
        // As a child has it between its fork and its program.
        let _copy = claim.0.try_clone().unwrap();
        drop(claim);
        assert!(Claim::try_new(folder.path()).unwrap().is_some());
        assert!(Claim::try_new(&folder.path().join("missing")).is_err());
    }
}

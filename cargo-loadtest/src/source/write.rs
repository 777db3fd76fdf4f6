//! Writes a source file as a whole, and only over the text that was read.

use loadtest_console::error::Error;
use loadtest_console::files;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Reads a source file.
///
/// # Errors
/// When it cannot be read, or is not text.
pub(crate) fn read_source(path: &Path) -> Result<String, Error> {
    let bytes = files::read(path).map_err(Error::io("read", path))?;
    String::from_utf8(bytes)
        .map_err(|_| Error::failure(format!("`{}` is not text in UTF-8", path.display())))
}

/// Writes `text` in the place of `was`; the file keeps its permissions.
///
/// # Errors
/// When the file is not `was` any more, or cannot be written.
pub(crate) fn replace_source(path: &Path, was: &str, text: &str) -> Result<(), Error> {
    // Two forms that are saved at once would both find the text that they were made from.
    static WRITING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    if read_source(path)? != was {
        let reason = format!("`{}` changed since it was read", path.display());
        return Err(Error::failure(reason).with_help("look at it and try again"));
    }
    files::write(path, text.as_bytes())
}

/// Writes a file that is not there yet.
///
/// # Errors
/// When there is one, or it cannot be written.
pub(crate) fn create_source(path: &Path, text: &str) -> Result<(), Error> {
    drop(fs::File::create_new(path).map_err(Error::io("create", path))?);
    files::write(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_changes_at_the_same_time_none_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("load.rs");
        create_source(&path, "").unwrap();
        let add_lines = |name: usize| {
            for line in 0..100 {
                while {
                    let was = read_source(&path).unwrap();
                    replace_source(&path, &was, &format!("{was}{name} {line}\n")).is_err()
                } {}
            }
        };
        std::thread::scope(|scope| {
            for name in 0..4 {
                scope.spawn(move || add_lines(name));
            }
        });
        assert_eq!(read_source(&path).unwrap().lines().count(), 400);
    }

    #[test]
    fn only_the_text_that_was_read_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("load.rs");
        create_source(&path, "one").unwrap();
        assert!(create_source(&path, "again").is_err());
        let read = read_source(&path).unwrap();
        replace_source(&path, &read, "two").unwrap();
        assert!(replace_source(&path, &read, "three").is_err());
        assert_eq!(read_source(&path).unwrap(), "two");
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}

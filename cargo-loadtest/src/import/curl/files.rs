//! Files that a command names. They are read where that is permitted.

use super::super::source::{Mistake, Span};
use std::path::{Path, PathBuf};

/// Largest file that is read, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The folder of files, and the permission to read them.
#[derive(Debug, Clone)]
pub(crate) struct PermittedFiles {
    /// The folder that paths are relative to.
    pub(crate) folder: PathBuf,
    /// True where files may be read.
    pub(crate) are_permitted: bool,
}

impl PermittedFiles {
    /// Reads a file.
    pub(super) fn read(&self, path: &str, span: &Span) -> Result<Vec<u8>, Mistake> {
        let path = self.path(path, span)?;
        let failed =
            |why: String| Mistake::new(span.clone(), format!("`{}` {why}", shown_path(&path)));
        let whole = self.folder.join(&path);
        let unreadable = |error: std::io::Error| failed(format!("cannot be read: {error}"));
        let metadata = std::fs::metadata(&whole).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(failed("is not a file".to_owned()));
        }
        if metadata.len() > LARGEST {
            let most = LARGEST / 1024 / 1024;
            return Err(failed(format!("is larger than {most} MiB")));
        }
        std::fs::read(&whole).map_err(unreadable)
    }

    /// Returns the path of a file that may be read.
    pub(super) fn path(&self, path: &str, span: &Span) -> Result<PathBuf, Mistake> {
        let path = PathBuf::from(path);
        if self.are_permitted {
            return Ok(path);
        }
        Err(Mistake::new(
            span.clone(),
            format!(
                "this reads the file `{}`, which is not permitted",
                shown_path(&path)
            ),
        )
        .help("`--allow-files` permits the files that the command names"))
    }
}

fn shown_path(path: &Path) -> String {
    crate::console::clean(&path.display().to_string())
}

//! Files that a command names, which are read where that is permitted, and the data that options take from them.

use crate::source::{Mistake, Span};
use std::path::{Path, PathBuf};
use url::form_urlencoded::byte_serialize;

/// Largest file that is read, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The folder of files, and the permission to read them.
#[derive(Debug, Clone)]
pub struct PermittedFiles {
    /// The folder that paths are relative to.
    pub folder: PathBuf,
    /// True where files may be read.
    pub are_permitted: bool,
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
    loadtest_console::console::clean(&path.display().to_string())
}

/// The source of a value that names a file.
pub(super) struct DataSource<'a> {
    pub(super) files: &'a PermittedFiles,
    /// Text of a here-document.
    pub(super) stdin: Option<&'a [u8]>,
}

impl DataSource<'_> {
    /// Reads the file `name`; `-` is standard input.
    pub(super) fn read(&self, name: &str, span: &Span) -> Result<Vec<u8>, Mistake> {
        if name != "-" {
            return self.files.read(name, span);
        }
        self.stdin.map(<[u8]>::to_vec).ok_or_else(|| {
            let words = "this reads the standard input, but there is none";
            let help = "write the data into the command, or into a here-document `<<END`";
            Mistake::new(span.clone(), words).help(help)
        })
    }

    /// Reads a file of text.
    pub(super) fn read_text(&self, name: &str, span: &Span) -> Result<String, Mistake> {
        String::from_utf8(self.read(name, span)?)
            .map_err(|_| Mistake::new(span.clone(), "this file is not text in UTF-8"))
    }

    /// Reads the value of `-d`, of `--data-binary` or `--json`.
    pub(super) fn read_data(
        &self,
        value: &[u8],
        keeps_lines: bool,
        span: &Span,
    ) -> Result<Vec<u8>, Mistake> {
        let Some(name) = value.strip_prefix(b"@") else {
            return Ok(value.to_vec());
        };
        let mut data = self.read(&String::from_utf8_lossy(name), span)?;
        if !keeps_lines {
            data.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
        }
        Ok(data)
    }

    /// Reads the value of `--data-urlencode`: `content`, `=content`, `name=content`, `@file`, `name@file`.
    pub(super) fn read_encoded(&self, value: &str, span: &Span) -> Result<String, Mistake> {
        let (name, content) = match (value.split_once('='), value.split_once('@')) {
            (Some((name, content)), _) => (name, content.as_bytes().to_vec()),
            (None, Some((name, file))) => (name, self.read(file, span)?),
            (None, None) => ("", value.as_bytes().to_vec()),
        };
        let sign = if name.is_empty() { "" } else { "=" };
        let encoded: String = byte_serialize(&content).collect();
        Ok(format!("{name}{sign}{encoded}"))
    }
}

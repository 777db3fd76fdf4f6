//! Files that steps send: read once before the load, and shared by all users.

use super::{SetupContext, SetupError};
use bytes::Bytes;
use reqwest::multipart::Part;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file to send, read once: made by a `#[setup]`, and shared by all virtual users.
///
/// ```
/// use loadtest::File;
/// use loadtest::multipart::Form;
/// use loadtest::prelude::*;
///
/// #[scenario(base = "http://127.0.0.1:3000")]
/// fn uploads() {
///     #[setup]
///     fn photo() -> Result<File, loadtest::FileError> {
///         File::read("data/me.png")
///     }
///
///     #[step]
///     fn upload(photo: &File) -> Request {
///         Request::post("/photos").multipart(Form::new().text("name", "me").part("photo", photo.part()))
///     }
///
///     #[step]
///     fn raw(photo: &File) -> Request {
///         Request::put("/photos/1").header("content-type", photo.content_type()).body(photo)
///     }
/// }
/// ```
#[derive(Clone)]
pub struct File {
    name: String,
    bytes: Bytes,
    content_type: &'static str,
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` cannot be read: {source}")]
pub struct FileError {
    /// The path as it was given.
    path: PathBuf,
    /// Why.
    #[source]
    source: io::Error,
}

impl File {
    /// Reads the file at `path`, which is relative to the folder of the package: a scenario runs
    /// there, under `cargo test` as under `cargo loadtest`.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        Self::read_at(path, path).map_err(|source| FileError {
            path: path.to_owned(),
            source,
        })
    }

    /// Reads `place`; `path` names it.
    fn read_at(place: &Path, path: &Path) -> io::Result<Self> {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        Ok(Self {
            name,
            bytes: made_once(read_regular(place)?),
            content_type: mime_guess::from_path(path)
                .first_raw()
                .unwrap_or("application/octet-stream"),
        })
    }

    /// The name of the file, without its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the content type for the file name, else `application/octet-stream`.
    pub fn content_type(&self) -> &'static str {
        self.content_type
    }

    /// Returns the content without copying it.
    pub fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The file as a part of a form, with its name and content type.
    pub fn part(&self) -> Part {
        let length = self.bytes.len() as u64;
        let part =
            || Part::stream_with_length(self.bytes.clone(), length).file_name(self.name.clone());
        // the name of every known type is one
        part()
            .mime_str(self.content_type)
            .unwrap_or_else(|_| part())
    }
}

impl From<&File> for Bytes {
    fn from(file: &File) -> Self {
        file.bytes()
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("name", &self.name)
            .field("bytes", &self.bytes.len())
            .field("content_type", &self.content_type)
            .finish()
    }
}

/// Reads a regular file. Any other kind, such as a pipe, might never end.
pub(super) fn read_regular(place: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(place)?;
    if metadata.is_file() {
        return fs::read(place);
    }
    Err(if metadata.is_dir() {
        io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")
    } else {
        let words = "it is a pipe or a device, and only regular files are read";
        io::Error::new(io::ErrorKind::InvalidInput, words)
    })
}

/// A body that all users share.
#[doc(hidden)]
pub fn made_once(body: Vec<u8>) -> Bytes {
    let body = Bytes::from(body);
    // The first clone of owned bytes allocates; it is made here, and not in the load.
    drop(body.clone());
    body
}

/// Reads a file that the attribute of `step` names.
#[doc(hidden)]
pub fn open_file(
    step: &'static str,
    path: &'static str,
    context: &SetupContext,
) -> Result<File, SetupError> {
    let path_in_package = Path::new(path);
    File::read_at(&context.root.join(path_in_package), path_in_package).map_err(|error| {
        SetupError::File {
            step,
            path,
            reason: error.to_string(),
        }
    })
}

/// Refuses a file that holds the line which separates the parts of the form it is sent in.
#[doc(hidden)]
pub fn without_boundary(
    file: &File,
    step: &'static str,
    path: &'static str,
    boundary: &str,
) -> Result<(), SetupError> {
    let boundary = boundary.as_bytes();
    if file
        .bytes
        .windows(boundary.len())
        .any(|window| window == boundary)
    {
        return Err(SetupError::File {
            step,
            path,
            reason: "it holds the boundary of the form that it is sent in; give the step another \
                     name, which makes another boundary"
                .to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(root: &Path) -> SetupContext {
        SetupContext {
            root: root.to_owned(),
            ..SetupContext::default()
        }
    }

    #[test]
    fn a_file_has_its_bytes_its_name_and_the_type_of_its_extension() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = open_file("send", "Cargo.toml", &context(root)).unwrap();
        assert_eq!(file.bytes(), fs::read(root.join("Cargo.toml")).unwrap());
        assert_eq!(file.name(), "Cargo.toml");
        assert_eq!(file.bytes().as_ptr(), file.bytes().as_ptr(), "not copied");
        for (path, content_type) in [
            ("a/me.png", "image/png"),
            ("me.JPG", "image/jpeg"),
            ("data.json", "application/json"),
            ("blob", "application/octet-stream"),
            ("blob.nobody-knows", "application/octet-stream"),
        ] {
            let place = root.join("Cargo.toml");
            let file = File::read_at(&place, Path::new(path)).unwrap();
            assert_eq!(file.content_type(), content_type, "{path}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named_with_its_step() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = open_file("upload", "data/none.png", &context(root)).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with(
                "step `upload` sends the file `data/none.png` of its package, which cannot be sent: "
            ),
            "{message}"
        );
        let error = File::read("data/none.png").unwrap_err().to_string();
        assert!(
            error.starts_with("`data/none.png` cannot be read: "),
            "{error}"
        );
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_regular_file_is_refused() {
        for (path, reason) in [
            (
                "/dev/null",
                "it is a pipe or a device, and only regular files are read",
            ),
            ("src", "it is a folder"),
        ] {
            let error = File::read(path).unwrap_err().to_string();
            assert_eq!(error, format!("`{path}` cannot be read: {reason}"));
        }
    }

    #[test]
    fn a_file_with_the_boundary_in_it_is_refused() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = open_file("upload", "Cargo.toml", &context(root)).unwrap();
        assert!(without_boundary(&file, "upload", "Cargo.toml", "loadtest-00").is_ok());
        let refused = without_boundary(&file, "upload", "Cargo.toml", "[package]").unwrap_err();
        assert!(refused.to_string().contains("boundary"), "{refused}");
    }
}

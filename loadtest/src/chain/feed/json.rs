//! Rows of JSON: an array, or a value on every line.

use super::error::FeedError;
use crate::redact;
use serde::de::DeserializeOwned;
use std::path::Path;

/// The elements of the array that `text` is.
pub(super) fn array<T: DeserializeOwned>(text: &str, path: &Path) -> Result<Vec<T>, FeedError> {
    let blank = text.len() - text.trim_start().len();
    match text[blank..].chars().next() {
        None => Err(FeedError::EmptyFile { path: path.into() }),
        Some('[') => serde_json::from_str(text).map_err(|error| place(&error, 0, path)),
        Some(_) => Err(FeedError::Line {
            path: path.into(),
            line: text[..blank].matches('\n').count() + 1,
            message:
                "this is not an array: the file must contain `[row, row, ..]`; for a row on every line use \
                      `Feed::json_lines`"
                    .to_owned(),
        }),
    }
}

/// The values on the lines of `text`.
pub(super) fn lines<T: DeserializeOwned>(text: &str, path: &Path) -> Result<Vec<T>, FeedError> {
    let mut rows = Vec::new();
    for (above, line) in text.split('\n').enumerate() {
        if !line.trim().is_empty() {
            rows.push(serde_json::from_str(line).map_err(|error| place(&error, above, path))?);
        }
    }
    Ok(rows)
}

/// The place of `error`, below that many lines.
fn place(error: &serde_json::Error, above: usize, path: &Path) -> FeedError {
    let message = error.to_string();
    let plain = message
        .rsplit_once(" at line ")
        .map_or(&*message, |(message, _)| message);
    let (line, column) = (above + error.line().max(1), error.column());
    let (path, message) = (path.into(), redact::redact_decode_error(plain).into_owned());
    // at the end of a file there is no column
    if column == 0 {
        return FeedError::Line {
            path,
            line,
            message,
        };
    }
    FeedError::Column {
        path,
        line,
        column,
        message,
    }
}

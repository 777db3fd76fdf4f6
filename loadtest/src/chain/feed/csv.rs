//! Rows of CSV, as RFC 4180 has it: the first one names the columns, and every row has all of them.

use super::cell::{CellError, Record};
use super::error::FeedError;
use crate::redact;
use csv::{ErrorKind, Position, StringRecord};
use serde::de::DeserializeOwned;
use std::path::Path;

/// The rows of `text`.
pub(super) fn rows<T: DeserializeOwned>(text: &str, path: &Path) -> Result<Vec<T>, FeedError> {
    let file = File { text, path };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader
        .headers()
        .map_err(|error| file.malformed(&error))?
        .clone();
    if header.is_empty() {
        return Err(FeedError::EmptyFile { path: path.into() });
    }
    let header_at = file.start(header.position());
    for (at, name) in header.iter().enumerate() {
        if let Some(first) = header.iter().take(at).position(|other| other == name) {
            // Where the header is missing this is data, so it is not shown.
            let message = format!(
                "columns {} and {} of the header row have the same name",
                first + 1,
                at + 1
            );
            return Err(file.at(header_at, message));
        }
    }
    let mut rows = Vec::new();
    let mut record = StringRecord::new();
    let mut last = header_at;
    while reader
        .read_record(&mut record)
        .map_err(|error| file.malformed(&error))?
    {
        last = file.start(record.position());
        let row = T::deserialize(Record::new(&header, &record));
        rows.push(row.map_err(|error| file.mismatch(&error, &header, header_at, last))?);
    }
    // An open quote swallows the rest of the file, so it shows in the last row.
    match file.open_quote(last) {
        Some(error) => Err(error),
        None => Ok(rows),
    }
}

struct File<'a> {
    text: &'a str,
    path: &'a Path,
}

impl File<'_> {
    /// Returns the start of a record; its own position may lie before the end of the line above.
    fn start(&self, position: Option<&Position>) -> usize {
        let from = position.map_or(0, |position| position.byte() as usize);
        let rest = self.text.get(from..).unwrap_or_default();
        from + (rest.len() - rest.trim_start_matches(['\r', '\n']).len())
    }

    fn at(&self, offset: usize, message: String) -> FeedError {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let bytes = before.as_bytes();
        let breaks = (0..bytes.len())
            .filter(|&i| {
                bytes[i] == b'\n'
                    || bytes[i] == b'\r' && self.text.as_bytes().get(i + 1) != Some(&b'\n')
            })
            .count();
        FeedError::Line {
            path: self.path.into(),
            line: breaks + 1,
            message,
        }
    }

    fn malformed(&self, error: &csv::Error) -> FeedError {
        let start = self.start(error.position());
        if let ErrorKind::UnequalLengths {
            expected_len, len, ..
        } = error.kind()
        {
            return self.open_quote(start).unwrap_or_else(|| {
                let cells = if *len == 1 { "cell" } else { "cells" };
                let message = format!(
                    "this row has {len} {cells}, and the header row has {expected_len}; a cell with \
                     a comma must be quoted: \"a, b\""
                );
                self.at(start, message)
            });
        }
        // The text is UTF-8 and in memory: there is nothing else to go wrong.
        self.at(start, "this row cannot be read as CSV".to_owned())
    }

    fn mismatch(
        &self,
        error: &CellError,
        header: &StringRecord,
        header_at: usize,
        row_at: usize,
    ) -> FeedError {
        if let Some(field) = error.missing {
            let plain = |name: &str| {
                name.chars()
                    .filter(|c| c.is_alphanumeric())
                    .flat_map(char::to_lowercase)
                    .collect::<String>()
            };
            // Only a name that is nearly the same is shown: without a header row, it is data.
            let near = header.iter().find(|name| plain(name) == plain(field));
            let hint = near.map_or_else(
                || "name it in the header row, or make the field an `Option`".to_owned(),
                |near| format!("the header row has `{near}`, and names must be equal"),
            );
            return self.at(header_at, format!("there is no column `{field}`: {hint}"));
        }
        let message = redact::redact_decode_error(&error.message).into_owned();
        let message = match error.column.and_then(|at| header.get(at)) {
            Some(name) => format!("field `{name}`: {message}"),
            None => message,
        };
        self.at(row_at, message)
    }

    /// The quote that is open at the end of the text, looked for from the record at `start` on.
    fn open_quote(&self, start: usize) -> Option<FeedError> {
        let bytes = self.text.as_bytes();
        let mut open = None;
        let mut begins = true;
        let mut at = start;
        while let Some(&byte) = bytes.get(at) {
            match open {
                Some(_) if byte == b'"' && bytes.get(at + 1) == Some(&b'"') => at += 1,
                Some(_) if byte == b'"' => open = None,
                None if byte == b'"' && begins => open = Some(at),
                _ => {}
            }
            begins = open.is_none() && b",\r\n".contains(&byte);
            at += 1;
        }
        open.map(|at| {
            let message = "the quote of this cell is never closed: a `\"` is missing".to_owned();
            self.at(at, message)
        })
    }
}

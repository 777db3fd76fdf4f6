//! The data of a scenario: rows of a file or of an iterator, one to an iteration or to a user.

use super::{SetupContext, SetupError, Vu};
use std::sync::Arc;

/// The rows that a `#[feed]` function gives: one to each iteration.
#[derive(Debug)]
#[must_use = "a feed is what a `#[feed]` function returns"]
pub struct Feed<T> {
    rows: Vec<T>,
}

impl<T> Feed<T> {
    /// The rows of an iterator.
    pub fn iter(rows: impl IntoIterator<Item = T>) -> Self {
        Self {
            rows: rows.into_iter().collect(),
        }
    }
}

/// The rows of a feed, read before the run and shared by all users.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Rows<T> {
    rows: Arc<[T]>,
}

/// The row of one virtual user in the current iteration.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Row {
    at: usize,
}

/// Reads the rows that the feed `name` gives; a panic is a failure of the setup.
#[doc(hidden)]
pub fn open_feed<T>(
    name: &'static str,
    context: &SetupContext,
    feed: impl FnOnce() -> Feed<T>,
) -> Result<Rows<T>, SetupError> {
    let _ = (name, context);
    Ok(Rows {
        rows: feed().rows.into(),
    })
}

impl<T> Rows<T> {
    /// After how many iterations a run ends, where a feed says so.
    pub fn limit(&self) -> Option<u64> {
        None
    }
}

impl Row {
    /// Moves to the row of the iteration of `vu`.
    pub fn draw<T>(&mut self, rows: &Rows<T>, vu: &Vu) {
        self.at = (vu.turn() % rows.rows.len() as u64) as usize;
    }

    /// The row.
    pub fn get<'a, T>(&self, rows: &'a Rows<T>) -> &'a T {
        &rows.rows[self.at]
    }
}

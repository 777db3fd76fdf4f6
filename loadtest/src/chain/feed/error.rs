//! Errors of feeds. They never contain values of rows.

use std::io;
use std::path::PathBuf;

impl FeedError {
    /// `rows` are too few for `users` of which each has `taken` of its own.
    pub(super) fn too_few_rows(rows: u64, users: u32, taken: u64) -> Self {
        let each = match taken {
            1 => "a row".to_owned(),
            _ => format!("{taken} rows"),
        };
        let most = rows / taken;
        Self::TooFewRows {
            rows,
            users,
            each,
            most,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum FeedError {
    #[error("`{first}` and `{second}` contradict each other: keep one of them")]
    Contradiction {
        first: &'static str,
        second: &'static str,
    },
    #[error("`{call}` is not possible here: {reason}")]
    NoPlace {
        call: &'static str,
        reason: &'static str,
    },
    #[error("{}: there is no such file; its path is relative to the folder of the package", path.display())]
    NotFound { path: PathBuf },
    #[error("{}: a feed is read from a file, and this is a folder", path.display())]
    Folder { path: PathBuf },
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// A place in a file; lines are counted from one.
    #[error("{}:{line}: {message}", path.display())]
    Line {
        path: PathBuf,
        line: usize,
        message: String,
    },
    #[error("{}:{line}:{column}: {message}", path.display())]
    Column {
        path: PathBuf,
        line: usize,
        column: usize,
        message: String,
    },
    #[error("{}: the file has no rows; a feed has at least one", path.display())]
    EmptyFile { path: PathBuf },
    #[error("it has no rows; a feed has at least one")]
    NoRows,
    #[error(
        "its iterator gave more than 10,000,000 rows, which would all be in memory: create each row \
         when it is needed, with `Feed::generate(|n| ..)`"
    )]
    TooManyRows,
    #[error(
        "it has {rows} rows for up to {users} virtual users, and with `.unique()` each has {each} of \
         its own: add rows, let the load have at most {most} users, or let users share rows with \
         `.unique().cycle()`"
    )]
    TooFewRows {
        rows: u64,
        users: u32,
        /// The rows of each user, in words.
        each: String,
        /// The most users that there are rows for.
        most: u64,
    },
    #[error("it has {rows} rows, and each journey takes {taken}: add rows, or take fewer")]
    FewerThanTaken { rows: u64, taken: u64 },
    #[error("its part of the rows that {count} feeds share as `{name}` is too small: {error}")]
    Part {
        name: String,
        count: u64,
        error: Box<FeedError>,
    },
    #[error(
        "it shares its rows as `{name}` with {other}, but their rows differ: it has {rows}, and the other \
         {other_rows}; use the same source, or different names"
    )]
    OtherRows {
        name: String,
        rows: String,
        other: String,
        other_rows: String,
    },
}

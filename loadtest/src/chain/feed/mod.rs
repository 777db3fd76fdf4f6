//! The data of a scenario: rows of a file, an iterator or a function, one to an iteration or to a user.
//!
//! Which row it is follows from the seed, the name of the feed and the place of the iteration, or from
//! the number of the user, and from nothing else. Values of rows are in no error.

mod cell;
mod csv;
mod deck;
mod error;
mod json;
pub(crate) mod open;
pub(crate) mod shared;
#[cfg(test)]
mod tests;

use deck::{End, Order};
use error::FeedError;
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::{Path, PathBuf};

/// The most rows that are taken from an iterator.
const MOST_ROWS: usize = 10_000_000;

/// The rows that a `#[feed]` function gives: one to each iteration.
///
/// ```
/// # use loadtest::prelude::*;
/// # #[response]
/// # struct User { name: String }
/// # #[scenario]
/// # fn s() {
/// #[feed]
/// fn user() -> Feed<User> {
///     Feed::csv("data/users.csv").shuffle()
/// }
/// # #[step(get = "/{{user.name}}")]
/// # fn a();
/// # }
/// ```
///
/// Rows come from a file ([`csv`](Self::csv), [`json`](Self::json), [`json_lines`](Self::json_lines)),
/// from an iterator ([`iter`](Self::iter)) or from a function of their number
/// ([`generate`](Self::generate)). They come in the order they have, unless [`shuffle`](Self::shuffle),
/// [`random`](Self::random) or [`unique`](Self::unique) says otherwise, and after the last one the
/// first one comes again, unless [`stop`](Self::stop) ends the load there.
///
/// What contradicts itself, like `.random().stop()`, and every mistake in a file is an error before the
/// run. Files are read once, before the run, and their rows are shared by all users.
#[must_use = "a feed is what a `#[feed]` function returns"]
pub struct Feed<T> {
    source: FeedSource<T>,
    /// All that were asked for, to find those that contradict each other.
    orders: Vec<Order>,
    ends: Vec<End>,
    /// The name under which other scenarios of a mix have the same rows.
    shared: Option<String>,
}

/// The source of rows.
enum FeedSource<T> {
    File {
        path: PathBuf,
        read: fn(&str, &Path) -> Result<Vec<T>, FeedError>,
    },
    Rows(Vec<T>),
    /// An iterator with more than [`MOST_ROWS`].
    TooMany,
    Generate(Box<Generate<T>>),
}

impl<T> FeedSource<T> {
    /// The source, for people.
    fn describe(&self) -> String {
        match self {
            Self::File { path, .. } => path.display().to_string(),
            Self::Rows(_) | Self::TooMany => "an iterator".to_owned(),
            Self::Generate(_) => "a function".to_owned(),
        }
    }
}

type Generate<T> = dyn Fn(u64) -> T + Send + Sync;

/// What a row of a file is read into.
#[diagnostic::on_unimplemented(
    message = "a row of a file cannot be read into `{Self}`",
    label = "not readable from a row",
    note = "put `#[response]` (or `#[derive(serde::Deserialize)]`) on `{Self}`, or use `Value` for any row"
)]
pub trait FromRow: DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> FromRow for T {}

impl<T: FromRow> Feed<T> {
    /// The rows of a CSV file in UTF-8; its first row names the columns.
    ///
    /// `path` is relative to the folder of the scenario's package. Every row has a cell for every
    /// column. Nothing is trimmed. An empty cell is `None` for an `Option`. In rows of `Value` an empty
    /// cell is `null`, and a cell that is written as JSON writes a number or a `bool` is one; every
    /// other cell is text, so `007` stays as it is.
    pub fn csv(path: impl Into<PathBuf>) -> Self {
        Self::file(path, csv::rows)
    }

    /// The elements of a JSON file that holds an array.
    ///
    /// `path` is relative to the folder of the scenario's package.
    pub fn json(path: impl Into<PathBuf>) -> Self {
        Self::file(path, json::array)
    }

    /// The lines of a file with a JSON value on each; blank lines are passed over.
    ///
    /// `path` is relative to the folder of the scenario's package.
    pub fn json_lines(path: impl Into<PathBuf>) -> Self {
        Self::file(path, json::lines)
    }

    fn file(path: impl Into<PathBuf>, read: fn(&str, &Path) -> Result<Vec<T>, FeedError>) -> Self {
        Self::from_source(FeedSource::File {
            path: path.into(),
            read,
        })
    }
}

impl<T> Feed<T> {
    /// The rows of an iterator, all taken before the run: at most 10 million.
    pub fn iter(rows: impl IntoIterator<Item = T>) -> Self {
        let rows: Vec<T> = rows.into_iter().take(MOST_ROWS + 1).collect();
        Self::from_source(if rows.len() > MOST_ROWS {
            FeedSource::TooMany
        } else {
            FeedSource::Rows(rows)
        })
    }

    /// Endless rows, each made of its number, counted from zero, when its iteration begins.
    ///
    /// The same number must give the same row: `Feed::generate(|n| format!("user-{n}"))`.
    pub fn generate(row: impl Fn(u64) -> T + Send + Sync + 'static) -> Self {
        Self::from_source(FeedSource::Generate(Box::new(row)))
    }

    /// The rows in the order they have; so they come unless something else is asked for.
    pub fn sequential(self) -> Self {
        self.in_order(Order::Sequential)
    }

    /// Every row once, in an order that follows from the seed; after the last one all of them again,
    /// in a new order.
    pub fn shuffle(self) -> Self {
        self.in_order(Order::Shuffle)
    }

    /// A row drawn evenly from all of them, each time anew; some may never come.
    pub fn random(self) -> Self {
        self.in_order(Order::Random)
    }

    /// A row for each virtual user, which keeps it in all its iterations: the user with the number 0
    /// has the first one. There must be as many rows as users, unless [`cycle`](Self::cycle) allows
    /// several users to share one.
    pub fn unique(self) -> Self {
        self.in_order(Order::Unique)
    }

    /// After the last row the first one comes again; so it is unless something else is asked for.
    pub fn cycle(self) -> Self {
        self.ending(End::Cycle)
    }

    /// The load ends after the last row; the iterations of a warm-up take rows too.
    pub fn stop(self) -> Self {
        self.ending(End::Stop)
    }

    /// In a mix, no two feeds with this name have a row in common: they take turns, so that of two the first has the
    /// rows 0, 2, 4 and the second 1, 3, 5. Their sources are the same. Outside of a mix it changes nothing.
    pub fn shared(mut self, name: impl Into<String>) -> Self {
        self.shared = Some(name.into());
        self
    }

    fn from_source(source: FeedSource<T>) -> Self {
        Self {
            source,
            orders: Vec::new(),
            ends: Vec::new(),
            shared: None,
        }
    }

    fn in_order(mut self, order: Order) -> Self {
        self.orders.push(order);
        self
    }

    fn ending(mut self, end: End) -> Self {
        self.ends.push(end);
        self
    }
}

/// Without the rows, which may hold secrets.
impl<T> fmt::Debug for Feed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed")
            .field("orders", &self.orders)
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}

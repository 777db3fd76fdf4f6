//! Opens a feed before the run: everything that can be wrong with it is an error here.

use super::deck::{Deck, End, Order, settle};
use super::error::FeedError;
use super::shared::SharedFeed;
use super::{Feed, FeedSource, Generate};
use crate::chain::file::read_regular;
use crate::chain::kept::Shareable;
use crate::chain::{SetupContext, SetupError, Vu};
use crate::panic_message::take_panic_message;
use crate::redact;
use loadtest_model::plan::RowLimit;
use std::any::Any;
use std::fmt::{self, Display};
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// The rows of a feed, read before the run and shared by all users.
pub struct Rows<T> {
    name: &'static str,
    deck: Deck,
    ends: bool,
    /// The name under which others have the same rows, and the part that is its own then.
    shared: Option<SharedFeed>,
    source: Box<dyn Deal>,
    ty: PhantomData<fn() -> T>,
}

/// A row of one virtual user in the current iteration.
#[derive(Debug, Default)]
pub struct Row {
    at: usize,
    /// The row of a feed that makes its rows.
    made: Option<Box<dyn Any + Send>>,
}

/// Rows of an erased type, as `SetupValue` keeps its value.
trait Deal: Send + Sync {
    /// The row that is kept at `at`.
    fn kept(&self, at: usize) -> Option<&dyn Any>;

    /// The row with the number `n`, where rows are made.
    fn make(&self, n: u64) -> Option<Box<dyn Any + Send>>;
}

struct Kept<T>(Vec<T>);

impl<T: Shareable> Deal for Kept<T> {
    fn kept(&self, at: usize) -> Option<&dyn Any> {
        self.0.get(at).map(|row| row as &dyn Any)
    }

    fn make(&self, _: u64) -> Option<Box<dyn Any + Send>> {
        None
    }
}

struct Made<T>(Box<Generate<T>>);

impl<T: Shareable> Deal for Made<T> {
    fn kept(&self, _: usize) -> Option<&dyn Any> {
        None
    }

    fn make(&self, n: u64) -> Option<Box<dyn Any + Send>> {
        Some(Box::new((self.0)(n)))
    }
}

/// Reads the rows of the feed `name`, of which each iteration takes `taken`; a panic is its failure.
///
/// # Errors
/// The error of the function; everything that is wrong with the feed, without the values of its rows.
pub fn open_feed<T: Shareable, E: Display>(
    name: &'static str,
    context: &SetupContext,
    taken: u64,
    feed: impl FnOnce() -> Result<Feed<T>, E>,
) -> Result<Rows<T>, SetupError> {
    let opened = catch_unwind(AssertUnwindSafe(|| match feed() {
        Ok(feed) => open(name, context, taken, feed).map_err(|error| error.to_string()),
        Err(error) => Err(redact::redact_message(&error.to_string()).into_string()),
    }));
    let opened =
        opened.unwrap_or_else(|panic| Err(format!("panicked: {}", take_panic_message(panic))));
    opened.map_err(|reason| SetupError::Feed { feed: name, reason })
}

fn open<T: Shareable>(
    name: &'static str,
    context: &SetupContext,
    taken: u64,
    feed: Feed<T>,
) -> Result<Rows<T>, FeedError> {
    let is_endless = matches!(feed.source, FeedSource::Generate(_));
    let described = feed.source.describe();
    let (order, end) = settle(&feed.orders, &feed.ends, is_endless)?;
    let (source, rows): (Box<dyn Deal>, _) = match feed.source {
        FeedSource::TooMany => return Err(FeedError::TooManyRows),
        FeedSource::Generate(make) => (Box::new(Made(make)), None),
        FeedSource::Rows(rows) if rows.is_empty() => return Err(FeedError::NoRows),
        FeedSource::Rows(rows) => {
            let count = rows.len() as u64;
            (Box::new(Kept(rows)), Some(count))
        }
        FeedSource::File { path, read } => {
            let rows = read(&text(&path, &context.root)?, &path)?;
            if rows.is_empty() {
                return Err(FeedError::EmptyFile { path });
            }
            let count = rows.len() as u64;
            (Box::new(Kept(rows)), Some(count))
        }
    };
    let is_own = order == Order::Unique && end.is_none() && !context.first_rows;
    let users = is_own.then_some(context.users);
    let deck = Deck {
        order: if context.first_rows {
            Order::Sequential
        } else {
            order
        },
        rows,
        key: Deck::key(context.seed, name),
        taken,
        first: 0,
        step: 1,
    };
    require_rows(deck, users)?;
    let ends = end == Some(End::Stop);
    let shared = feed.shared.map(|shared| SharedFeed {
        name: shared,
        feed: name,
        source: described,
        deck,
        users,
        ends,
        part: Arc::default(),
    });
    Ok(Rows {
        name,
        deck,
        ends,
        shared,
        source,
        ty: PhantomData,
    })
}

/// Refuses a feed with too few rows for an iteration, or for `users` of which each has its own.
pub(super) fn require_rows(deck: Deck, users: Option<u32>) -> Result<(), FeedError> {
    let Deck { taken, rows, .. } = deck;
    let Some(rows) = rows else { return Ok(()) };
    if rows < taken {
        return Err(FeedError::FewerThanTaken { rows, taken });
    }
    match users {
        Some(users) if rows / taken < u64::from(users) => {
            Err(FeedError::too_few_rows(rows, users, taken))
        }
        _ => Ok(()),
    }
}

/// The text of the file at `path`, which is relative to `root` where that exists.
fn text(path: &Path, root: &Path) -> Result<String, FeedError> {
    let found = if root.is_dir() {
        root.join(path)
    } else {
        path.to_owned()
    };
    let bytes = read_regular(&found).map_err(|error| {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => FeedError::NotFound { path },
            io::ErrorKind::IsADirectory => FeedError::Folder { path },
            _ => FeedError::Unreadable { path, error },
        }
    })?;
    let line = |line, message: &str| FeedError::Line {
        path: path.to_owned(),
        line,
        message: message.to_owned(),
    };
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return Err(line(1, "the file is UTF-16: save it as UTF-8"));
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let lines = valid.split(|byte| *byte == b'\n').count();
        line(lines, "this is not UTF-8: save the file as UTF-8")
    })?;
    if text.starts_with('\u{FEFF}') {
        text.drain(..'\u{FEFF}'.len_utf8());
    }
    Ok(text)
}

/// The feed that ends the load first, of those that end it.
pub fn fewest<const N: usize>(limits: [Option<RowLimit>; N]) -> Option<RowLimit> {
    limits.into_iter().flatten().min_by_key(|limit| limit.rows)
}

impl<T> Rows<T> {
    /// After how many iterations the load ends, where this feed says so.
    pub fn limit(&self) -> Option<RowLimit> {
        self.deck.limit(self.name).filter(|_| self.ends)
    }

    /// The feed as it is shared, where it is.
    pub fn shared(&self) -> Option<SharedFeed> {
        self.shared.clone()
    }

    /// All of the rows, or the part that is its own.
    fn own_deck(&self) -> Deck {
        let part = self.shared.as_ref().and_then(|shared| shared.part.get());
        part.copied().unwrap_or(self.deck)
    }
}

impl<T> fmt::Debug for Rows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("name", &self.name)
            .field("deck", &self.deck)
            .finish_non_exhaustive()
    }
}

/// Moves to the rows of the iteration of `vu`.
pub fn draw<T, const N: usize>(own: &mut [Row; N], rows: &Rows<T>, vu: &Vu) {
    for (nth, row) in own.iter_mut().enumerate() {
        row.draw(rows, vu, nth as u64);
    }
}

impl Row {
    /// Moves to the `nth` row of the iteration of `vu`.
    pub(super) fn draw<T>(&mut self, rows: &Rows<T>, vu: &Vu, nth: u64) {
        let number = rows.own_deck().row(vu.turn(), vu.id(), nth);
        self.at = number as usize;
        self.made = rows.source.make(number);
    }

    /// The row.
    pub fn get<'a, T: 'static>(&'a self, rows: &'a Rows<T>) -> &'a T {
        let row = match &self.made {
            Some(made) => made.downcast_ref(),
            None => rows.source.kept(self.at).and_then(<dyn Any>::downcast_ref),
        };
        row.unwrap_or_else(|| unreachable!("a row is drawn from the rows it is taken from"))
    }
}

//! Feeds that the scenarios of a mix share: each has rows of its own.

use super::deck::Deck;
use super::error::FeedError;
use super::open::require_rows;
use crate::chain::{RowLimit, SetupError};
use std::sync::{Arc, OnceLock};

/// A feed that shares its rows with the feeds of the same name.
#[derive(Debug, Clone)]
pub struct SharedFeed {
    /// The name of the rows.
    pub(crate) name: String,
    /// The name of the `#[feed]` function.
    pub(super) feed: &'static str,
    /// The source of the rows, for people.
    pub(super) source: String,
    /// The whole of the rows.
    pub(super) deck: Deck,
    /// The users of which each needs rows of its own.
    pub(super) users: Option<u32>,
    pub(super) ends: bool,
    /// Takes its part of the rows.
    pub(super) part: Arc<OnceLock<Deck>>,
}

impl SharedFeed {
    /// Takes part `index` of `count`: every `count`-th row. Returns after how many iterations it ends the load, if it
    /// does.
    ///
    /// # Errors
    /// The part has too few rows.
    pub(crate) fn take_part(&self, index: u64, count: u64) -> Result<Option<RowLimit>, SetupError> {
        let rows = self.deck.rows;
        let deck = Deck {
            rows: rows.map(|rows| rows.saturating_sub(index).div_ceil(count)),
            first: index,
            step: count,
            ..self.deck
        };
        require_rows(deck, self.users).map_err(|error| {
            let name = self.name.clone();
            let error = Box::new(error);
            self.failed(&FeedError::Part { name, count, error })
        })?;
        // a second time nothing changes
        let _ = self.part.set(deck);
        let limit = deck.limit(self.feed);
        Ok(limit.filter(|_| self.ends))
    }

    /// Refuses a feed whose rows are not those of `first`, which the scenario `owner` has.
    ///
    /// # Errors
    /// Another file, or another number of rows.
    pub(crate) fn require_rows_of(&self, first: &Self, owner: &str) -> Result<(), SetupError> {
        if (&self.source, self.deck.rows) == (&first.source, first.deck.rows) {
            return Ok(());
        }
        Err(self.failed(&FeedError::OtherRows {
            name: self.name.clone(),
            rows: self.describe_rows(),
            other: format!("`{}` of `{owner}`", first.feed),
            other_rows: first.describe_rows(),
        }))
    }

    fn describe_rows(&self) -> String {
        match self.deck.rows {
            Some(rows) => format!("{rows} of {}", self.source),
            None => format!("those of {}", self.source),
        }
    }

    fn failed(&self, error: &FeedError) -> SetupError {
        SetupError::Feed {
            feed: self.feed,
            reason: error.to_string(),
        }
    }
}

/// The shared ones of the feeds of a scenario.
pub fn collect_shared<const N: usize>(feeds: [Option<SharedFeed>; N]) -> Vec<SharedFeed> {
    feeds.into_iter().flatten().collect()
}

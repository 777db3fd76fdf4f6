//! The rows of a feed as a limit of a plan.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The rows of a feed that ends the load when it has no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowLimit {
    /// The name of the `#[feed]` function.
    pub feed: Cow<'static, str>,
    /// The number of iterations it has rows for.
    pub rows: u64,
}

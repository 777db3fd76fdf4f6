//! Collections of Postman, of versions 2.0 and 2.1.

use super::document;
use super::recording::Recording;
use super::source::{Input, Mistake};

/// What is taken of a collection.
#[derive(Debug, Clone, Default)]
pub(crate) struct PostmanOptions {
    /// The folders that are taken, by name; without any, all.
    pub(crate) folders: Vec<String>,
    /// An environment that was exported, whose variables are used.
    pub(crate) environment: Option<Input>,
}

/// Reads a collection.
pub(crate) fn read_postman(input: &Input, _options: &PostmanOptions) -> Result<Recording, Mistake> {
    let root = document::read(input)?;
    Err(Mistake::new(root.span, "no collection"))
}

//! Archives of a browser's requests (HAR 1.2, <http://www.softwareishard.com/blog/har-12-spec/>).

use super::document;
use super::recording::Recording;
use super::source::{Input, Mistake};

/// What is taken of an archive.
#[derive(Debug, Clone, Default)]
pub(crate) struct HarOptions {
    /// The hosts whose requests are kept, as `host` or `host:port`; without any, that of the first document.
    pub(crate) hosts: Vec<String>,
    /// Whether static files are kept.
    pub(crate) keeps_static: bool,
    /// Whether pauses are left out.
    pub(crate) drops_pauses: bool,
}

/// Reads an archive.
pub(crate) fn read_har(input: &Input, _options: &HarOptions) -> Result<Recording, Mistake> {
    let root = document::read(input)?;
    Err(Mistake::new(root.span, "no archive"))
}

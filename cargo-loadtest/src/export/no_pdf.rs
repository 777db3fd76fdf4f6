//! Stands in for the PDF document in a tool that was built without the feature `pdf`: it is asked for nothing.

use loadtest_model::card::Report;
use std::fmt;

/// A font. There is none.
#[derive(Debug, Clone)]
pub(crate) enum Font {}

/// The reason why no font is read.
#[derive(Debug)]
pub(crate) struct NoFont;

impl Font {
    /// Reads no font.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn parse(_: &str, _: Vec<u8>) -> Result<Self, NoFont> {
        Err(NoFont)
    }
}

impl fmt::Display for NoFont {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this build of the tool writes no PDF")
    }
}

/// Renders nothing: `Exports::check` refuses the format.
pub(crate) fn render(_: &Report, _: &[Font]) -> Vec<u8> {
    unreachable!("a PDF is refused before anything runs")
}

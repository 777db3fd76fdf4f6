//! Text that may leave the process.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;

/// Text without secrets, as records, journals and messages hold it.
///
/// `loadtest::redact::redact` makes it of any text. A field of this type is what the compiler keeps secrets out of.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Redacted(String);

impl Redacted {
    /// Takes over text that has no secrets: words of this program alone, or what is left of a redaction.
    pub fn assume(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl From<&'static str> for Redacted {
    /// Takes over words of the program itself.
    fn from(words: &'static str) -> Self {
        Self(words.to_owned())
    }
}

impl PartialEq<&str> for Redacted {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl Deref for Redacted {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Debug for Redacted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

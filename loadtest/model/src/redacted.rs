//! Text that may leave the process.

use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// Text without secrets and without what drives a terminal, as records, journals and messages hold it.
///
/// `loadtest::redact::redact` makes it of any text. A field of this type is what the compiler keeps secrets out of.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Redacted(String);

impl Redacted {
    /// Takes over text that has no secrets: words of this program alone, or what is left of a redaction. Control
    /// characters are replaced.
    pub fn assume(text: impl Into<String>) -> Self {
        let text = text.into();
        match replace_controls(&text) {
            Cow::Borrowed(_) => Self(text),
            Cow::Owned(text) => Self(text),
        }
    }

    /// Returns the text.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Reads it as [`assume`](Redacted::assume) takes it: a file may come from anywhere.
impl<'de> Deserialize<'de> for Redacted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::assume)
    }
}

/// Returns `text` with visible characters in place of those that drive a terminal, turn the direction of text or
/// are invisible. Tabs and line breaks stay; a line break is `\n`.
pub fn replace_controls(text: &str) -> Cow<'_, str> {
    let is_replaced = |letter: char| replacement(letter) != letter;
    if !text.contains(is_replaced) {
        return text.into();
    }
    let text = text.replace("\r\n", "\n");
    text.chars().map(replacement).collect::<String>().into()
}

fn replacement(letter: char) -> char {
    match letter {
        '\n' | '\t' => letter,
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or(' '),
        '\x7f' => '␡',
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{fffe}'
        | '\u{ffff}' => '\u{fffd}',
        _ => letter,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_drive_a_terminal_is_shown_instead() {
        for (text, shown) in [
            ("plain, é, 注\n\tok", "plain, é, 注\n\tok"),
            ("\x1b[31mred\x1b]0;title\x07", "␛[31mred␛]0;title␇"),
            ("a\r\nb\rc\0d\x7f", "a\nb␍c␀d␡"),
            (
                "\u{9b}31m \u{202e}txt.exe \u{200b}",
                "\u{fffd}31m \u{fffd}txt.exe \u{fffd}",
            ),
        ] {
            assert_eq!(replace_controls(text), shown);
            assert_eq!(&*Redacted::assume(text), shown);
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(serde_json::from_str::<Redacted>(&json).unwrap(), shown);
        }
    }
}

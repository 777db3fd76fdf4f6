//! Text with values in it that a run fills in.

use std::borrow::Cow;

/// The first character of the last private plane of Unicode.
const FIRST: u32 = 0x10_0000;

/// A part of a [`Text`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    /// Literal text.
    Literal(String),
    /// Bytes that are not UTF-8.
    Bytes(Vec<u8>),
    /// The value of the [`Reference`](super::Reference) with this number.
    Reference(usize),
    /// The value of the [`Secret`](super::Secret) with this number.
    Secret(usize),
    /// The [`Constant`](super::Constant) with this number.
    Constant(usize),
    /// A value that a run makes.
    Run(super::RunValue),
}

/// A text of a request: literals, secrets and values of earlier answers, in their order.
///
/// No literal is empty, and no two of them are neighbours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Text(Vec<Piece>);

impl Text {
    /// Makes a text without values.
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Self::from_iter([Piece::Literal(text.into())])
    }

    /// Makes a text of bytes, which may be no UTF-8.
    pub(crate) fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::from_iter([match String::from_utf8(bytes.into()) {
            Ok(text) => Piece::Literal(text),
            Err(error) => Piece::Bytes(error.into_bytes()),
        }])
    }

    /// Makes a text that is the value of a reference.
    pub(crate) fn reference(number: usize) -> Self {
        Self(vec![Piece::Reference(number)])
    }

    /// Makes a text that is the value of a secret.
    pub(crate) fn secret(number: usize) -> Self {
        Self(vec![Piece::Secret(number)])
    }

    /// Makes a text that is a constant.
    pub(crate) fn constant(number: usize) -> Self {
        Self(vec![Piece::Constant(number)])
    }

    /// Makes a text that is a column of the row of a feed, or all of the row.
    pub(crate) fn row(feed: usize, column: Option<String>) -> Self {
        Self::from(Piece::Run(super::RunValue::Row { feed, column }))
    }

    /// Joins texts with a separator between them.
    pub(crate) fn join(texts: impl IntoIterator<Item = Self>, separator: &str) -> Self {
        let mut joined = Self::default();
        for (number, text) in texts.into_iter().enumerate() {
            joined.push_str(if number > 0 { separator } else { "" });
            joined.append(text);
        }
        joined
    }

    /// Puts literals around it.
    pub(crate) fn between(self, before: &str, after: &str) -> Self {
        let mut text = Self::literal(before);
        text.append(self);
        text.push_str(after);
        text
    }

    /// Appends a pair of a form, or of cookies: `&name=value`.
    pub(crate) fn push_pair(&mut self, separator: &str, name: &str, value: Self) {
        self.push_str(if self.is_empty() { "" } else { separator });
        self.push_str(name);
        self.push_str("=");
        self.append(value);
    }

    /// Appends to the query of a URL.
    pub(crate) fn push_query(&mut self, pairs: Self) {
        let has_query = self.split_once("?").is_some();
        self.push_str(if has_query { "&" } else { "?" });
        self.append(pairs);
    }

    /// Returns the pieces in their order.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Returns true where there is no piece.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the whole text where it is a single literal, or empty.
    pub fn as_literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the bytes of a text without values.
    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [Piece::Bytes(bytes)] => Some(bytes),
            _ => self.as_literal().map(str::as_bytes),
        }
    }

    /// Returns true where a run fills something in.
    pub(crate) fn has_values(&self) -> bool {
        let is_literal = |piece: &Piece| matches!(piece, Piece::Literal(_) | Piece::Bytes(_));
        !self.0.iter().all(is_literal)
    }

    /// Returns true where bytes are no UTF-8.
    pub(crate) fn is_binary(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Bytes(_)))
    }

    /// Returns the numbers of the references in it.
    pub(crate) fn references(&self) -> impl Iterator<Item = usize> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Reference(number) => Some(*number),
            _ => None,
        })
    }

    /// Returns the literal at the start, which may be empty.
    pub(crate) fn start(&self) -> &str {
        match self.0.first() {
            Some(Piece::Literal(text)) => text,
            _ => "",
        }
    }

    /// Appends a literal.
    pub(crate) fn push_str(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Literal(last)) => last.push_str(text),
            _ => self.0.push(Piece::Literal(text.to_owned())),
        }
    }

    /// Appends a piece.
    pub(crate) fn push(&mut self, piece: Piece) {
        match piece {
            Piece::Literal(text) => self.push_str(&text),
            Piece::Bytes(bytes) if bytes.is_empty() => {}
            piece => self.0.push(piece),
        }
    }

    /// Appends all pieces of another text.
    pub(crate) fn append(&mut self, other: Self) {
        for piece in other.0 {
            self.push(piece);
        }
    }

    /// Splits at the first occurrence of `delimiter` in a literal.
    pub(crate) fn split_once(&self, delimiter: &str) -> Option<(Self, Self)> {
        let flat = self.flat();
        let (before, after) = flat.text.split_once(delimiter)?;
        Some((flat.restore(before), flat.restore(after)))
    }

    /// Returns what follows `prefix`.
    pub(crate) fn strip_prefix(&self, prefix: &str) -> Option<Self> {
        let flat = self.flat();
        Some(flat.restore(flat.text.strip_prefix(prefix)?))
    }

    /// Applies a function to each literal, such as an encoding.
    pub(crate) fn map_literals(&self, mut map: impl FnMut(&str) -> String) -> Self {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Literal(text) => Piece::Literal(map(text)),
            piece => piece.clone(),
        });
        pieces.collect()
    }

    /// Returns the text with `show` in the place of each value.
    pub(crate) fn shown(&self, show: impl Fn(&Piece) -> String) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Literal(text) => Cow::Borrowed(text.as_str()),
            Piece::Bytes(bytes) => String::from_utf8_lossy(bytes),
            piece => Cow::Owned(show(piece)),
        });
        pieces.collect()
    }
}

/// A [`Text`] as a string that parsers can read: each value is one character of the last private plane of Unicode.
///
/// It lives as long as a parser needs it, and is never stored.
#[derive(Debug, Clone)]
pub(crate) struct Flat {
    pub(crate) text: String,
    values: Vec<Piece>,
}

impl Flat {
    /// Returns the text of a part of the string.
    pub(crate) fn restore(&self, part: &str) -> Text {
        let mut text = Text::default();
        let mut end = 0;
        for (at, letter) in part
            .char_indices()
            .filter(|(_, letter)| self.is_value(*letter))
        {
            text.push_str(&part[end..at]);
            text.push(self.values[number(letter)].clone());
            end = at + letter.len_utf8();
        }
        text.push_str(&part[end..]);
        text
    }

    /// Returns true where a part of the string has values.
    pub(crate) fn has_values(&self, part: &str) -> bool {
        part.chars().any(|letter| self.is_value(letter))
    }

    /// Returns the value that a part of the string consists of.
    pub(crate) fn value(&self, part: &str) -> Option<&Piece> {
        let mut letters = part.chars();
        let letter = letters.next().filter(|letter| self.is_value(*letter))?;
        let is_alone = letters.next().is_none();
        is_alone.then(|| &self.values[number(letter)])
    }

    pub(crate) fn is_value(&self, letter: char) -> bool {
        number(letter) < self.values.len()
    }
}

impl Text {
    /// Returns the text for parsers.
    pub(crate) fn flat(&self) -> Flat {
        let mut flat = Flat {
            text: String::new(),
            values: Vec::new(),
        };
        for piece in &self.0 {
            match piece {
                Piece::Literal(text) => flat.text.push_str(text),
                piece => {
                    let number = u32::try_from(flat.values.len()).unwrap_or(0);
                    flat.text.extend(char::from_u32(FIRST + number));
                    flat.values.push(piece.clone());
                }
            }
        }
        flat
    }
}

/// Returns the number of the value that a character stands for.
fn number(letter: char) -> usize {
    usize::try_from(u32::from(letter).wrapping_sub(FIRST)).unwrap_or(usize::MAX)
}

impl FromIterator<Piece> for Text {
    fn from_iter<Pieces: IntoIterator<Item = Piece>>(pieces: Pieces) -> Self {
        let mut text = Self::default();
        for piece in pieces {
            text.push(piece);
        }
        text
    }
}

impl From<Piece> for Text {
    fn from(piece: Piece) -> Self {
        Self::from_iter([piece])
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::literal(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::literal(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting() -> Text {
        Text::from_iter([
            Piece::Literal("a=".to_owned()),
            Piece::Secret(1),
            Piece::Literal("&b=".to_owned()),
            Piece::Literal("c&d".to_owned()),
        ])
    }

    #[test]
    fn text_is_split_within_literals_alone() {
        assert_eq!(greeting().split_once("%"), None);
    }

    #[test]
    fn prefixes_are_stripped_from_literals_alone() {
        let rest = greeting().strip_prefix("a=").unwrap();
        assert_eq!(rest.pieces()[0], Piece::Secret(1));
        assert_eq!(greeting().strip_prefix("b"), None);
        assert_eq!(Text::secret(1).strip_prefix(""), Some(Text::secret(1)));
    }

    #[test]
    fn a_flat_text_gives_back_its_values() {
        let text = greeting();
        let flat = text.flat();
        assert_eq!(flat.restore(&flat.text), text);
        let (_, value) = flat.text.split_once('=').unwrap();
        let (value, rest) = value.split_once('&').unwrap();
        assert_eq!(flat.value(value), Some(&Piece::Secret(1)));
        assert!(flat.has_values(value) && !flat.has_values(rest));
        let mut private = greeting();
        private.push_str("\u{f0000}");
        assert_eq!(private.flat().restore(&private.flat().text), private);
    }

    #[test]
    fn bytes_are_kept_as_they_are() {
        assert_eq!(Text::from_bytes("ü").as_literal(), Some("ü"));
        let binary = Text::from_bytes([0xff, 0]);
        assert!(binary.is_binary() && binary.as_literal().is_none());
        assert_eq!(binary.as_bytes(), Some(&[0xff, 0][..]));
        assert_eq!(Text::secret(0).as_bytes(), None);
    }
}

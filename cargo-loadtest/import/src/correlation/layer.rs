//! Texts within texts: percent-encoded in a URL, escaped in a string of JSON. Each byte has its place in the outermost
//! one.

use std::borrow::Cow;
use std::ops::Range;

/// A decoded text.
#[derive(Debug, Clone)]
pub(super) struct Layer<'a> {
    pub(super) text: Cow<'a, str>,
    /// The places of all bytes in the outermost text, and its end.
    places: Vec<usize>,
}

impl<'a> Layer<'a> {
    /// Makes the outermost text.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            places: (0..=text.len()).collect(),
        }
    }

    /// Returns a part of the text.
    pub(super) fn part(&self, part: Range<usize>) -> Layer<'_> {
        Layer {
            places: self.places[part.start..=part.end].to_vec(),
            text: Cow::Borrowed(&self.text[part]),
        }
    }

    /// Returns the place of a part in the outermost text.
    pub(super) fn place(&self, part: &Range<usize>) -> Range<usize> {
        self.places[part.start]..self.places[part.end]
    }

    /// Decodes percent-encoding; in a form, `+` is a blank. Returns nothing where the result is no text.
    pub(super) fn percent_decoded(&self, is_form: bool) -> Option<Layer<'_>> {
        self.decoded(|rest, first| {
            let code = rest.get(1..3).filter(|_| first == '%');
            match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                Some(byte) => Some((3, vec![byte])),
                None if first == '+' && is_form => Some((1, vec![b' '])),
                None => Some((first.len_utf8(), first.to_string().into_bytes())),
            }
        })
    }

    /// Decodes the inside of a string of JSON.
    pub(super) fn unescaped(&self) -> Option<Layer<'_>> {
        self.decoded(|rest, first| {
            // `\\n`, `\\u00e9` and `\\ud83d\\ude00`.
            let lengths: &[usize] = if first == '\\' {
                &[2, 6, 12]
            } else {
                &[first.len_utf8()]
            };
            lengths.iter().find_map(|length| {
                let decoded = format!("\"{}\"", rest.get(..*length)?);
                let decoded: String = serde_json::from_str(&decoded).ok()?;
                Some((*length, decoded.into_bytes()))
            })
        })
    }

    /// Decodes one unit after the other; `decode` returns the length of the first unit and its meaning.
    fn decoded(
        &self,
        decode: impl Fn(&str, char) -> Option<(usize, Vec<u8>)>,
    ) -> Option<Layer<'_>> {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        let mut rest = &*self.text;
        while let Some(first) = rest.chars().next() {
            let (length, decoded) = decode(rest, first)?;
            let place = self.places[self.text.len() - rest.len()];
            places.extend(decoded.iter().map(|_| place));
            bytes.extend(decoded);
            rest = &rest[length..];
        }
        places.extend(self.places.last());
        Some(Layer {
            text: Cow::Owned(String::from_utf8(bytes).ok()?),
            places,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_know_their_places_through_all_layers() {
        let text = "a=%7B%22t%22%3A%22x%5C%22%C3%A9y%22%7D";
        let whole = Layer::new(text);
        let query = whole.part(2..text.len());
        let json = query.percent_decoded(true).unwrap();
        assert_eq!(json.text, "{\"t\":\"x\\\"éy\"}");
        let inside = json.part(6..json.text.len() - 2);
        let value = inside.unescaped().unwrap();
        assert_eq!(value.text, "x\"éy");
        let at = value.text.find('é').unwrap();
        assert_eq!(&text[value.place(&(at..at + 2))], "%C3%A9");
        assert_eq!(&text[value.place(&(0..value.text.len()))], "x%5C%22%C3%A9y");
        let escaped = Layer::new("\\u00e9\\ud83d\\ude00\\/");
        assert_eq!(escaped.unescaped().unwrap().text, "é😀/");
        for broken in ["\\", "\\u12", "\\ud83d", "%ff"] {
            let layer = Layer::new(broken);
            assert!(layer.unescaped().is_none() || layer.percent_decoded(false).is_none());
        }
    }
}

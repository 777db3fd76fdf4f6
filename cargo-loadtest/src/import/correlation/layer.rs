//! Texts within texts - percent-encoded in a URL, escaped in a string of JSON - whose every letter knows where it
//! stands in the outermost one.

use std::borrow::Cow;
use std::ops::Range;

/// A text that was decoded, and the places of its bytes.
#[derive(Debug, Clone)]
pub(super) struct Layer<'a> {
    pub(super) text: Cow<'a, str>,
    places: Places,
    /// Whether it is written as it is read.
    pub(super) is_plain: bool,
}

#[derive(Debug, Clone)]
enum Places {
    /// From this one on.
    From(usize),
    /// That of each byte, and the end.
    Each(Vec<usize>),
}

impl<'a> Layer<'a> {
    /// The outermost text.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            places: Places::From(0),
            is_plain: true,
        }
    }

    /// A part of it.
    pub(super) fn part(&self, part: Range<usize>) -> Layer<'_> {
        let places = match &self.places {
            Places::From(start) => Places::From(start + part.start),
            Places::Each(each) => Places::Each(each[part.start..=part.end].to_vec()),
        };
        Layer {
            text: Cow::Borrowed(&self.text[part]),
            places,
            is_plain: self.is_plain,
        }
    }

    /// Where a part of it stands in the outermost text.
    pub(super) fn place(&self, part: &Range<usize>) -> Range<usize> {
        match &self.places {
            Places::From(start) => start + part.start..start + part.end,
            Places::Each(each) => each[part.start]..each[part.end],
        }
    }

    /// All of it.
    pub(super) fn whole(&self) -> Range<usize> {
        self.place(&(0..self.text.len()))
    }

    /// What percent-encoding says; of a form, `+` is a blank. Nothing where that is no text.
    pub(super) fn percent_decoded(&self, is_form: bool) -> Option<Layer<'_>> {
        let bytes = self.text.as_bytes();
        let is_written = |byte: &u8| *byte == b'%' || is_form && *byte == b'+';
        if !bytes.iter().any(is_written) {
            return Some(self.part(0..bytes.len()));
        }
        let mut decoder = Decoder::new(self);
        let mut at = 0;
        while at < bytes.len() {
            let digits = bytes.get(at + 1..at + 3);
            let code = digits
                .filter(|_| bytes[at] == b'%')
                .and_then(|digits| std::str::from_utf8(digits).ok())
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            match (code, bytes[at]) {
                (Some(code), _) => at = decoder.put(&[code], at..at + 3),
                (None, b'+') if is_form => at = decoder.put(b" ", at..at + 1),
                (None, byte) => at = decoder.put(&[byte], at..at + 1),
            }
        }
        decoder.done()
    }

    /// What the inside of a string of JSON says.
    pub(super) fn unescaped(&self) -> Option<Layer<'_>> {
        if !self.text.contains('\\') {
            return Some(self.part(0..self.text.len()));
        }
        let mut decoder = Decoder::new(self);
        let text = &*self.text;
        let mut at = 0;
        while let Some(letter) = text.get(at..)?.chars().next() {
            if letter != '\\' {
                at = decoder.put_letter(letter, at..at + letter.len_utf8());
                continue;
            }
            let escape = *text.as_bytes().get(at + 1)?;
            let plain = match escape {
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'u' => {
                    let unit =
                        |from: usize| u32::from_str_radix(text.get(from..from + 4)?, 16).ok();
                    let first = unit(at + 2)?;
                    let second = (text.get(at + 6..at + 8) == Some("\\u"))
                        .then(|| unit(at + 8))
                        .flatten()
                        .filter(|low| (0xdc00..0xe000).contains(low));
                    let (code, end) = match second {
                        Some(low) if (0xd800..0xdc00).contains(&first) => (
                            0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00),
                            at + 12,
                        ),
                        _ => (first, at + 6),
                    };
                    at = decoder.put_letter(char::from_u32(code)?, at..end);
                    continue;
                }
                other => char::from(other),
            };
            at = decoder.put_letter(plain, at..at + 2);
        }
        decoder.done()
    }
}

/// Puts together what a layer says within another.
struct Decoder<'a> {
    outer: &'a Layer<'a>,
    bytes: Vec<u8>,
    each: Vec<usize>,
}

impl<'a> Decoder<'a> {
    fn new(outer: &'a Layer<'a>) -> Self {
        Self {
            outer,
            bytes: Vec::with_capacity(outer.text.len()),
            each: Vec::with_capacity(outer.text.len() + 1),
        }
    }

    /// Adds what a part of the outer text stands for; where the next one begins.
    fn put(&mut self, decoded: &[u8], part: Range<usize>) -> usize {
        let end = part.end;
        let place = self.outer.place(&part).start;
        self.bytes.extend_from_slice(decoded);
        self.each.extend(decoded.iter().map(|_| place));
        end
    }

    fn put_letter(&mut self, letter: char, part: Range<usize>) -> usize {
        self.put(letter.encode_utf8(&mut [0; 4]).as_bytes(), part)
    }

    fn done(mut self) -> Option<Layer<'a>> {
        self.each.push(self.outer.whole().end);
        Some(Layer {
            text: Cow::Owned(String::from_utf8(self.bytes).ok()?),
            places: Places::Each(self.each),
            is_plain: false,
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
        assert_eq!(&text[value.whole()], "x%5C%22%C3%A9y");
        let escaped = Layer::new("\\u00e9\\ud83d\\ude00\\/");
        assert_eq!(escaped.unescaped().unwrap().text, "é😀/");
        for broken in ["\\", "\\u12", "\\ud83d", "%ff"] {
            let layer = Layer::new(broken);
            assert!(layer.unescaped().is_none() || layer.percent_decoded(false).is_none());
        }
    }
}

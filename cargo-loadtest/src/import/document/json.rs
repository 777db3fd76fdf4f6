//! JSON, whose values know their places.

use super::{DEEPEST, Field, Mistake, Node, Value, make_object};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Reads a document.
pub(super) fn read(text: &str) -> Result<Node<'_>, Mistake> {
    let mut reader = JsonReader { text, at: 0 };
    let node = reader.read_node(0)?;
    match reader.next_byte() {
        None => Ok(node),
        Some(_) => Err(reader.refuse("trailing characters")),
    }
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> JsonReader<'a> {
    /// Returns the next byte that is no blank.
    fn next_byte(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let blanks = rest.iter().take_while(|byte| b" \n\r\t".contains(byte));
        self.at += blanks.count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn refuse(&self, words: &str) -> Mistake {
        let last = self.text.len().saturating_sub(1);
        let words = if self.at > last { "EOF" } else { words };
        let at = self.at.min(last);
        Mistake::new(at..at + 1, format!("this is not JSON: {words}"))
    }

    fn read_node(&mut self, depth: usize) -> Result<Node<'a>, Mistake> {
        let byte = self.next_byte();
        let start = self.at;
        let value = match byte {
            Some(b'{' | b'[') if depth == DEEPEST => {
                let words = format!("values are nested deeper than {DEEPEST} levels");
                return Err(Mistake::new(start..start + 1, words));
            }
            Some(b'{') => {
                let mut fields = Vec::new();
                while self.has_more(b'}', fields.is_empty())? {
                    fields.push(self.read_field(depth + 1)?);
                }
                make_object(fields)?
            }
            Some(b'[') => {
                let mut items = Vec::new();
                while self.has_more(b']', items.is_empty())? {
                    items.push(self.read_node(depth + 1)?);
                }
                Value::List(items)
            }
            Some(b'"') => Value::Text(self.read_text()?),
            _ => self.read_word()?,
        };
        let span = start..self.at;
        Ok(Node { span, value })
    }

    /// Goes on to the next value within brackets, if there is one.
    fn has_more(&mut self, close: u8, is_first: bool) -> Result<bool, Mistake> {
        self.at += usize::from(is_first);
        let byte = self.next_byte();
        if byte == Some(close) {
            self.at += 1;
            return Ok(false);
        }
        if !is_first {
            if byte != Some(b',') {
                return Err(self.refuse("expected `,` or the end"));
            }
            self.at += 1;
        }
        Ok(true)
    }

    fn read_field(&mut self, depth: usize) -> Result<Field<'a>, Mistake> {
        if self.next_byte() != Some(b'"') {
            return Err(self.refuse("key must be a string"));
        }
        let start = self.at;
        let name = self.read_text()?;
        let span = start..self.at;
        if self.next_byte() != Some(b':') {
            return Err(self.refuse("expected `:`"));
        }
        self.at += 1;
        let node = self.read_node(depth)?;
        Ok(Field { name, span, node })
    }

    /// Reads null, a boolean or a number.
    fn read_word(&mut self) -> Result<Value<'a>, Mistake> {
        let rest = &self.text[self.at..];
        let is_end = |letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter);
        let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        let value = match word {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ if serde_json::from_str::<&RawValue>(word).is_ok() => {
                Value::Number(Cow::Borrowed(word))
            }
            _ => return Err(self.refuse("expected value")),
        };
        self.at += word.len();
        Ok(value)
    }

    fn read_text(&mut self) -> Result<Cow<'a, str>, Mistake> {
        let mut text = Cow::Borrowed("");
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let is_sign = |byte: &u8| matches!(byte, b'"' | b'\\') || *byte < b' ';
            let length = rest.bytes().position(|byte| is_sign(&byte));
            let plain = &rest[..length.unwrap_or(rest.len())];
            if text.is_empty() {
                text = Cow::Borrowed(plain);
            } else {
                text.to_mut().push_str(plain);
            }
            self.at += plain.len();
            match rest.as_bytes().get(plain.len()) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => self.read_escape(text.to_mut())?,
                _ => return Err(self.refuse("a control character in a string")),
            }
        }
    }

    fn read_escape(&mut self, text: &mut String) -> Result<(), Mistake> {
        let kind = self.text.as_bytes().get(self.at + 1).copied();
        let letter = match kind.unwrap_or_default() {
            byte @ (b'"' | b'\\' | b'/') => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut units = Vec::new();
                while self.text[self.at..].starts_with("\\u") {
                    let digits = self.text.get(self.at + 2..self.at + 6);
                    let digits = digits.filter(|digits| !digits.starts_with('+'));
                    let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
                    units.push(unit.ok_or_else(|| self.refuse("invalid escape"))?);
                    self.at += 6;
                }
                // Half of a surrogate pair is no mistake: browsers write them.
                text.push_str(&String::from_utf16_lossy(&units));
                return Ok(());
            }
            _ => return Err(self.refuse("invalid escape")),
        };
        text.push(letter);
        self.at += 2;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_knows_its_place() {
        let text = "{ \"a\": [1, -2.5e3, null, true],\n \"b\\n\": {\"c\" : \"\\u00e9\\ud83d x\"}, \"d\": {} }";
        let node = read(text).unwrap();
        assert_eq!(node.span, 0..text.len());
        let [first, second, third] = node.fields() else {
            panic!("{node:?}")
        };
        assert_eq!(&text[first.span.clone()], "\"a\"");
        assert_eq!(&text[first.node.items()[1].span.clone()], "-2.5e3");
        assert_eq!(second.name, "b\n");
        assert_eq!(&text[second.span.clone()], "\"b\\n\"");
        assert_eq!(second.node.text_of("c"), Some("é\u{fffd} x"));
        assert_eq!(node.get("d"), Some(&third.node));
        assert_eq!(
            first.node.json(),
            "[1,-2.5e3,null,true]",
            "as it was but for the blanks"
        );
    }

    #[test]
    fn a_mistake_has_its_place() {
        for (text, at) in [
            ("{\"a\": }", 6),
            ("{\n \"a\": 1,\n}", 11),
            ("[1, 2", 4),
            ("[1,]", 3),
            ("[1 2]", 3),
            ("[01]", 1),
            ("{\"a\" 1}", 5),
            ("\"a\nb\"", 2),
            ("\"\\u12\"", 1),
            ("\"\\x\"", 1),
            ("\"é", 2),
            ("{} x", 3),
            ("{\"a\": 1, \"b\": {}, \"a\": 2}", 18),
        ] {
            let mistake = read(text).unwrap_err();
            assert_eq!(mistake.span.start, at, "{text}: {mistake:?}");
        }
    }

    #[test]
    fn depth_has_an_end() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(DEEPEST)).is_ok());
        let mistake = read(&nested(100_000)).unwrap_err();
        assert_eq!(mistake.span, DEEPEST..DEEPEST + 1);
        assert!(mistake.words.contains("deeper than"), "{mistake:?}");
    }

    proptest! {
        #[test]
        fn what_is_json_is_what_others_take_for_it(
            text in r#"([\[\]{},:"\\ ]|[0-9eE.+-]{1,3}|true|null|"(a|\\[nu"]|\\u00e9)*"|"a":){0,8}"#,
        ) {
            let theirs = serde_json::from_str::<&RawValue>(&text);
            let ours = read(&text);
            prop_assume!(!ours.as_ref().is_err_and(|mistake| mistake.words.contains("already")));
            prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{}: {:?} {:?}", text, ours, theirs);
        }
    }
}

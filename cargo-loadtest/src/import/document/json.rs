//! JSON, level by level: the values within a value are read once it is known to be whole.

use super::{Budget, DEEPEST, Field, Mistake, Node, Value, too_deep};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Reads a document.
pub(super) fn read(text: &str) -> Result<Node<'_>, Mistake> {
    check_depth(text)?;
    let raw: &RawValue =
        serde_json::from_str(text).map_err(|error| json_mistake(text, 0, &error))?;
    let reader = JsonReader { text };
    reader.node(raw.get(), 0, &mut Budget::new())
}

/// Refuses deep nesting before anything is read, since the text of a value is read once more with each level.
fn check_depth(text: &str) -> Result<(), Mistake> {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' if depth == DEEPEST => return Err(too_deep(&(at..at + 1))),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the mistake of a text that begins at `start` of the document.
fn json_mistake(text: &str, start: usize, error: &serde_json::Error) -> Mistake {
    let at = start + text_offset(text, error.line(), error.column());
    let words = error.to_string();
    let words = words.split(" at line ").next().unwrap_or_default();
    Mistake::new(at..at + 1, format!("this is not JSON: {words}"))
}

/// Returns the place that the parser names.
fn text_offset(text: &str, line: usize, column: usize) -> usize {
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines
        .by_ref()
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let rest = lines.next().map_or(0, str::len);
    before + column.saturating_sub(1).min(rest)
}

struct JsonReader<'a> {
    text: &'a str,
}

impl<'a> JsonReader<'a> {
    fn node(&self, raw: &'a str, depth: usize, budget: &mut Budget) -> Result<Node<'a>, Mistake> {
        let start = raw.as_ptr() as usize - self.text.as_ptr() as usize;
        let span = start..start + raw.len();
        budget.take(1, &span)?;
        let broken = |error: serde_json::Error| json_mistake(raw, start, &error);
        let value = match raw.as_bytes().first() {
            Some(b'{' | b'[') if depth == DEEPEST => return Err(too_deep(&span)),
            Some(b'{') => {
                let Fields(fields) = serde_json::from_str(raw).map_err(broken)?;
                let mut nodes = Vec::with_capacity(fields.len());
                for (name, raw) in fields {
                    let node = self.node(raw.get(), depth + 1, budget)?;
                    nodes.push(Field {
                        span: self.name(&name, &node),
                        name,
                        node,
                    });
                }
                Value::Object(nodes)
            }
            Some(b'[') => {
                let items: Vec<&'a RawValue> = serde_json::from_str(raw).map_err(broken)?;
                let items = items
                    .into_iter()
                    .map(|raw| self.node(raw.get(), depth + 1, budget));
                Value::List(items.collect::<Result<_, _>>()?)
            }
            Some(b'"') => {
                let Text(text) = serde_json::from_str(raw).map_err(broken)?;
                Value::Text(text)
            }
            Some(b't') => Value::Bool(true),
            Some(b'f') => Value::Bool(false),
            Some(b'n') => Value::Null,
            _ => Value::Number(Cow::Borrowed(raw)),
        };
        Ok(Node { span, value })
    }

    /// Returns the place of the name before a value; the value's own where the name has escapes.
    fn name(&self, name: &str, node: &Node<'_>) -> std::ops::Range<usize> {
        let before = self.text[..node.span.start].trim_end();
        let before = before.strip_suffix(':').map(str::trim_end);
        let quoted = before
            .and_then(|before| before.strip_suffix('"')?.strip_suffix(name))
            .and_then(|before| before.strip_suffix('"'));
        quoted.map_or(node.span.clone(), |before| {
            before.len()..before.len() + name.len() + 2
        })
    }
}

/// Fields of an object, in their order.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some((Text(name), value)) = map.next_entry()? {
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// A string, in which half of a surrogate pair is no mistake: browsers write them.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Text<'de>, E> {
                Ok(Text(String::from_utf8_lossy(bytes)))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(
                    String::from_utf8_lossy(bytes).into_owned(),
                )))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_bytes(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_place() {
        let text = "{ \"a\": [1, -2.5e3, null, true],\n \"b\\n\": {\"c\" : \"\\u00e9\\ud83d x\"}, \"a\": {} }";
        let node = read(text).unwrap();
        assert_eq!(node.span, 0..text.len());
        let [first, second, third] = node.fields() else {
            panic!("{node:?}")
        };
        assert_eq!(&text[first.span.clone()], "\"a\"");
        assert_eq!(&text[first.node.items()[1].span.clone()], "-2.5e3");
        assert_eq!(second.name, "b\n");
        assert_eq!(second.span, second.node.span);
        assert_eq!(
            second.node.text_of("c"),
            Some("é\u{fffd}\u{fffd}\u{fffd} x")
        );
        assert_eq!(node.get("a"), Some(&third.node));
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
            ("{} x", 3),
        ] {
            let mistake = read(text).unwrap_err();
            assert_eq!(mistake.span.start, at, "{text}: {mistake:?}");
        }
    }

    #[test]
    fn depth_has_an_end() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(DEEPEST)).is_ok());
        let deep = nested(100_000);
        let mistake = read(&deep).unwrap_err();
        assert_eq!(mistake.span.start, DEEPEST);
        // Nothing of it is read: that it ends nowhere is not found.
        let mistake = read(&"[{\"a\": ".repeat(100_000)).unwrap_err();
        assert_eq!(mistake.span, 7 * DEEPEST / 2..7 * DEEPEST / 2 + 1);
        assert!(mistake.words.contains("deeper than"), "{mistake:?}");
        let flat = format!(
            "[\"{}\\\\\", \"\\\"{}\"]",
            "[{".repeat(1_000),
            "[{".repeat(1_000)
        );
        assert!(read(&flat).is_ok());
        let wide = format!("[{}]", vec![nested(DEEPEST - 1); 9].join(","));
        assert!(read(&wide).is_ok());
    }
}

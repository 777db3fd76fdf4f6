//! YAML 1.2, as far as JSON has a word for it.

use super::{DEEPEST, Field, Mistake, Node, Value, make_object};
use crate::source::Span;
use granit_parser::{Event, Options, Parser, ScalarStyle, StrInput};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Reads the one document of a text.
pub(super) fn read(text: &str) -> Result<Node<'_>, Mistake> {
    let mut options = Options::default();
    options.emit_comments = false;
    options.flow_nesting_limit = DEEPEST;
    options.block_nesting_limit = DEEPEST;
    let mut reader = YamlReader {
        text,
        parser: Parser::new_from_str_with_options(text, options),
    };
    let mut root = None;
    loop {
        let (event, span) = reader.next_event()?;
        match event {
            Event::StreamEnd => break,
            Event::DocumentStart(..) if root.is_some() => {
                let words = "a second document starts here, and only the first is read";
                return Err(Mistake::new(span, words));
            }
            Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
            event => root = Some(reader.read_node(event, span)?),
        }
    }
    root.ok_or_else(|| Mistake::new(0..0, "there is nothing in it"))
}

struct YamlReader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
}

impl<'a> YamlReader<'a> {
    fn next_event(&mut self) -> Result<(Event<'a>, Span), Mistake> {
        let end = self.text.len();
        let Some(next) = self.parser.next() else {
            return Ok((Event::StreamEnd, end..end));
        };
        let (event, span) = next.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or(end);
            Mistake::new(at..at + 1, format!("this is not YAML: {}", error.info()))
        })?;
        Ok((event, span.byte_range().unwrap_or(0..end)))
    }

    /// Reads the value that an event begins.
    fn read_node(&mut self, event: Event<'a>, mut span: Span) -> Result<Node<'a>, Mistake> {
        let value = match event {
            Event::Scalar(text, style, _, tag) => {
                let is_plain = style == ScalarStyle::Plain;
                if is_plain && span.is_empty() {
                    // It is at the next thing in the text.
                    let before = self.text.get(..span.start).unwrap_or_default();
                    let end = before.trim_end().len();
                    span = end..end;
                }
                if is_plain && tag.is_none_or(|tag| tag.suffix() != "str") {
                    plain_value(text)
                } else {
                    Value::Text(text)
                }
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                while let Some((event, at)) = self.next_within(&mut span)? {
                    items.push(self.read_node(event, at)?);
                }
                Value::List(items)
            }
            Event::MappingStart(..) => {
                let mut fields = Vec::new();
                while let Some((event, at)) = self.next_within(&mut span)? {
                    fields.push(self.read_field(event, at)?);
                }
                make_object(fields)?
            }
            Event::Alias(_) => {
                let words = "an alias is not imported: it refers to a value elsewhere";
                let help = "write the value itself, as `yq 'explode(.)'` does";
                return Err(Mistake::new(span, words).help(help));
            }
            _ => Value::Null,
        };
        Ok(Node { span, value })
    }

    /// Returns the next event of a list or an object; at its end extends the place of all of it.
    fn next_within(&mut self, span: &mut Span) -> Result<Option<(Event<'a>, Span)>, Mistake> {
        let (event, at) = self.next_event()?;
        if !matches!(
            event,
            Event::SequenceEnd | Event::MappingEnd | Event::StreamEnd
        ) {
            return Ok(Some((event, at)));
        }
        // The end of a block is at the next thing in the text.
        let within = self.text.get(span.start..at.end).unwrap_or_default();
        span.end = span.start + within.trim_end().len();
        Ok(None)
    }

    fn read_field(&mut self, event: Event<'a>, at: Span) -> Result<Field<'a>, Mistake> {
        let Node { value, span } = self.read_node(event, at)?;
        let name = match value {
            Value::Text(name) | Value::Number(name) => name,
            Value::Bool(true) => Cow::Borrowed("true"),
            Value::Bool(false) => Cow::Borrowed("false"),
            _ => return Err(Mistake::new(span, "this cannot be a name")),
        };
        let (event, at) = self.next_event()?;
        let node = self.read_node(event, at)?;
        Ok(Field { name, span, node })
    }
}

/// Returns the value of a scalar without quotes. Numbers are those of JSON; others, such as `0x1f`, are text.
fn plain_value(text: Cow<'_, str>) -> Value<'_> {
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        word if word.starts_with(|first: char| first == '-' || first.is_ascii_digit())
            && serde_json::from_str::<&RawValue>(word).is_ok() =>
        {
            Value::Number(text)
        }
        _ => Value::Text(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_empty_is_where_it_could_be() {
        let text = "a:\n\nb:\n  - \n";
        let node = read(text).unwrap();
        let [first, second] = node.fields() else {
            panic!("{node:?}")
        };
        assert_eq!(first.node.span, 1..1);
        assert_eq!(second.node.items()[0].span, 10..10);
        assert_eq!(node.span.end, 10);
    }

    #[test]
    fn values_are_those_of_the_core_schema() {
        let text = "a: {k: 1, l: [yes, 'no']}\nb: ~\n\"c\": 0x1F\n200: 0.5\ne:\n  k: \"2\"\nf: |\n  one\n  two\ng: 1.2.3\nh: !!str 12\ni: -7\n";
        let node = read(text).unwrap();
        assert_eq!(
            node.json(),
            r#"{"a":{"k":1,"l":["yes","no"]},"b":null,"c":"0x1F","200":0.5,"e":{"k":"2"},"f":"one\ntwo\n","g":"1.2.3","h":"12","i":-7}"#
        );
        let b = &node.fields()[1];
        assert_eq!(&text[b.span.clone()], "b");
        let value = node.at(&["a", "k"]).unwrap();
        assert_eq!(&text[value.span.clone()], "1");
        assert!(text[node.get("e").unwrap().span.clone()].ends_with("k: \"2\""));
    }

    #[test]
    fn a_mistake_has_its_place() {
        for (text, at) in [
            ("a: [1, 2\nb: 3", ":"),
            ("a: 1\n? [x, y]\n: 2", "[x, y]"),
            ("a: *nowhere", "*nowhere"),
            ("a: 1\n---\nb: 2", "---"),
            ("a: &x {b: 1}\nc:\n  <<: *x", "*x"),
            ("a: &a [*a]", "*a"),
            ("a: 1\nb: 2\n'a': 3", "'a'"),
        ] {
            let mistake = read(text).unwrap_err();
            assert!(
                text[mistake.span.start..].starts_with(at),
                "{text:?}: {mistake:?}"
            );
        }
    }

    #[test]
    fn depth_has_an_end() {
        let deep = format!("a: {}{}", "[".repeat(50_000), "]".repeat(50_000));
        assert!(read(&deep).is_err());
    }
}

//! YAML 1.2, as far as JSON has a word for it.

use super::{Budget, DEEPEST, Field, Mistake, Node, Value, too_deep};
use crate::import::source::Span;
use granit_parser::{Event, Options, Parser, ScalarStyle};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// Reads the one document of a text.
pub(super) fn read(text: &str) -> Result<Node<'_>, Mistake> {
    let mut options = Options::default();
    options.emit_comments = false;
    options.flow_nesting_limit = DEEPEST;
    options.block_nesting_limit = DEEPEST;
    let events = Parser::new_from_str_with_options(text, options).map(move |next| {
        let (event, span) = next.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or(text.len());
            Mistake::new(at..at + 1, format!("this is not YAML: {}", error.info()))
        })?;
        Ok((event, span.byte_range().unwrap_or(0..text.len())))
    });
    let mut reader = YamlReader {
        text,
        events: Box::new(events),
        anchors: HashMap::new(),
        budget: Budget::new(),
    };
    let mut root = None;
    while let Some(next) = reader.events.next() {
        let (event, span) = next?;
        match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(..) if root.is_none() => {}
            Event::DocumentStart(..) => {
                let words = "a second document begins here, and one is read";
                return Err(Mistake::new(span, words));
            }
            event => root = Some(reader.read_node(event, span, 0)?),
        }
    }
    root.ok_or_else(|| Mistake::new(0..0, "there is nothing in it"))
}

type Events<'a> = dyn Iterator<Item = Result<(Event<'a>, Span), Mistake>> + 'a;

struct YamlReader<'a> {
    text: &'a str,
    events: Box<Events<'a>>,
    /// Values that aliases stand for.
    anchors: HashMap<usize, Node<'a>>,
    budget: Budget,
}

impl<'a> YamlReader<'a> {
    fn next_event(&mut self) -> Result<(Event<'a>, Span), Mistake> {
        let end = self.text.len();
        let next = self.events.next();
        next.unwrap_or_else(|| Err(Mistake::new(end..end, "this is not YAML: it ends here")))
    }

    /// Reads the value that an event begins.
    fn read_node(
        &mut self,
        event: Event<'a>,
        mut span: Span,
        depth: usize,
    ) -> Result<Node<'a>, Mistake> {
        self.budget.take(1, &span)?;
        if depth > DEEPEST {
            return Err(too_deep(&span));
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text =
                    style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix() == "str");
                let value = if is_text {
                    Value::Text(text)
                } else {
                    plain_value(text)
                };
                (value, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut items = Vec::new();
                while let Some((event, at)) = self.next_within(&mut span)? {
                    items.push(self.read_node(event, at, depth + 1)?);
                }
                (Value::List(items), anchor)
            }
            Event::MappingStart(_, anchor, _) => {
                let mut fields = Vec::new();
                while let Some((event, at)) = self.next_within(&mut span)? {
                    fields.push(self.read_field(event, at, depth + 1)?);
                }
                (Value::Object(merge_fields(fields)), anchor)
            }
            Event::Alias(anchor) => return self.copy_anchor(anchor, span, depth),
            _ => (Value::Null, 0),
        };
        let node = Node { span, value };
        if anchor > 0 {
            self.budget.take(measure(&node).0, &node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    /// Returns the next event of a list or an object; at its end extends the place of all of it.
    fn next_within(&mut self, span: &mut Span) -> Result<Option<(Event<'a>, Span)>, Mistake> {
        let (event, at) = self.next_event()?;
        if !matches!(event, Event::SequenceEnd | Event::MappingEnd) {
            return Ok(Some((event, at)));
        }
        // The end of a block is at the next thing in the text.
        let within = self.text.get(span.start..at.end).unwrap_or_default();
        span.end = span.start + within.trim_end().len();
        Ok(None)
    }

    fn read_field(
        &mut self,
        event: Event<'a>,
        span: Span,
        depth: usize,
    ) -> Result<Field<'a>, Mistake> {
        let key = self.read_node(event, span, depth)?;
        let words = format!("{} cannot be a name", key.kind());
        let name = match key.value {
            Value::Text(name) | Value::Number(name) => name,
            Value::Bool(true) => Cow::Borrowed("true"),
            Value::Bool(false) => Cow::Borrowed("false"),
            _ => return Err(Mistake::new(key.span, words)),
        };
        let (event, at) = self.next_event()?;
        Ok(Field {
            name,
            span: key.span,
            node: self.read_node(event, at, depth)?,
        })
    }

    fn copy_anchor(
        &mut self,
        anchor: usize,
        span: Span,
        depth: usize,
    ) -> Result<Node<'a>, Mistake> {
        let known = self.anchors.get(&anchor).ok_or_else(|| {
            Mistake::new(span.clone(), "this stands for a value that it is itself in")
        })?;
        let (values, height) = measure(known);
        if depth + height > DEEPEST {
            return Err(too_deep(&span));
        }
        self.budget.take(values, &span)?;
        Ok(known.clone())
    }
}

/// Returns the count of the values in a value, and of their levels.
fn measure(node: &Node<'_>) -> (usize, usize) {
    let fields = node.fields().iter().map(|field| &field.node);
    let inner = node.items().iter().chain(fields).map(measure);
    inner.fold((1, 0), |(values, height), inner| {
        (values + inner.0, height.max(inner.1 + 1))
    })
}

/// Adds the fields that `<<` brings along, unless the object has them itself.
fn merge_fields(fields: Vec<Field<'_>>) -> Vec<Field<'_>> {
    let (merges, mut own): (Vec<_>, Vec<_>) =
        fields.into_iter().partition(|field| field.name == "<<");
    let objects = merges.into_iter().flat_map(|merge| match merge.node.value {
        Value::List(items) => items,
        _ => vec![merge.node],
    });
    for object in objects {
        if let Value::Object(mut fields) = object.value {
            fields.retain(|field| own.iter().all(|own| own.name != field.name));
            own.extend(fields);
        }
    }
    own
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
    use std::fmt::Write as _;

    #[test]
    fn values_are_those_of_the_core_schema() {
        let text = "a: &x {k: 1, l: [yes, 'no']}\nb: ~\n\"c\": 0x1F\n200: 0.5\ne:\n  <<: *x\n  k: \"2\"\nf: |\n  one\n  two\ng: 1.2.3\nh: !!str 12\ni: -7\n";
        let node = read(text).unwrap();
        assert_eq!(
            node.json(),
            r#"{"a":{"k":1,"l":["yes","no"]},"b":null,"c":"0x1F","200":0.5,"e":{"k":"2","l":["yes","no"]},"f":"one\ntwo\n","g":"1.2.3","h":"12","i":-7}"#
        );
        let b = &node.fields()[1];
        assert_eq!(&text[b.span.clone()], "b");
        assert_eq!(
            &text[node.get("a").unwrap().get("k").unwrap().span.clone()],
            "1"
        );
        assert!(text[node.get("e").unwrap().span.clone()].ends_with("k: \"2\""));
    }

    #[test]
    fn a_mistake_has_its_place() {
        for (text, at) in [
            ("a: [1, 2\nb: 3", ":"),
            ("a: 1\n? [x, y]\n: 2", "[x, y]"),
            ("a: *nowhere", "*nowhere"),
            ("a: 1\n---\nb: 2", "---"),
        ] {
            let mistake = read(text).unwrap_err();
            assert!(
                text[mistake.span.start..].starts_with(at),
                "{text:?}: {mistake:?}"
            );
        }
    }

    #[test]
    fn aliases_of_aliases_do_not_grow_without_end() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let item = format!("*a{}", level - 1);
            let items = vec![item; 10].join(", ");
            let _ = writeln!(text, "a{level}: &a{level} [{items}]");
        }
        let mistake = read(&text).unwrap_err();
        assert!(mistake.words.contains("more than"), "{mistake:?}");
        let mut text = "a0: &a0 [x]\n".to_owned();
        for level in 1..=DEEPEST {
            let _ = writeln!(text, "a{level}: &a{level} [*a{}]", level - 1);
        }
        let mistake = read(&text).unwrap_err();
        assert!(mistake.words.contains("deeper than"), "{mistake:?}");
        let deep = format!("a: {}{}", "[".repeat(50_000), "]".repeat(50_000));
        assert!(read(&deep).is_err());
        assert!(read("a: &a [*a]").is_err());
    }
}

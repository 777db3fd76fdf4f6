//! YAML 1.2, as far as JSON has a word for it.

use super::{Budget, DEEPEST, Field, Mistake, Node, Value, too_deep};
use crate::import::source::Span;
use granit_parser::{Event, Options, Parser, ScalarStyle};
use std::borrow::Cow;
use std::collections::HashMap;

/// Reads the one document of a text.
pub(super) fn read(text: &str) -> Result<Node<'_>, Mistake> {
    let mut reader = YamlReader {
        text,
        open: Vec::new(),
        anchors: HashMap::new(),
        budget: Budget::new(),
        root: None,
    };
    let mut options = Options::default();
    options.emit_comments = false;
    options.flow_nesting_limit = DEEPEST;
    options.block_nesting_limit = DEEPEST;
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or(text.len());
            Mistake::new(at..at + 1, format!("this is not YAML: {}", error.info()))
        })?;
        reader.event(event, span.byte_range().unwrap_or(0..text.len()))?;
    }
    reader
        .root
        .ok_or_else(|| Mistake::new(0..0, "there is nothing in it"))
}

/// A list or an object that has not ended.
struct Open<'a> {
    start: usize,
    anchor: usize,
    /// Levels of the values in it.
    height: usize,
    values: Values<'a>,
}

enum Values<'a> {
    List(Vec<Node<'a>>),
    Object {
        fields: Vec<Field<'a>>,
        /// A name whose value comes next.
        name: Option<(Cow<'a, str>, Span)>,
    },
}

struct YamlReader<'a> {
    text: &'a str,
    open: Vec<Open<'a>>,
    /// Values of aliases, with their count of values and of levels.
    anchors: HashMap<usize, (Node<'a>, usize, usize)>,
    budget: Budget,
    root: Option<Node<'a>>,
}

impl<'a> YamlReader<'a> {
    fn event(&mut self, event: Event<'a>, span: Span) -> Result<(), Mistake> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.budget.take(1, &span)?;
                let is_text =
                    style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix() == "str");
                let value = if is_text {
                    Value::Text(text)
                } else {
                    plain_value(text)
                };
                self.add(Node { span, value }, anchor, 0)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(&span, anchor, Values::List(Vec::new()))
            }
            Event::MappingStart(_, anchor, _) => {
                let values = Values::Object {
                    fields: Vec::new(),
                    name: None,
                };
                self.begin(&span, anchor, values)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(&span),
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor);
                let (node, values, height) = known.ok_or_else(|| {
                    Mistake::new(span.clone(), "this stands for a value that it is itself in")
                })?;
                self.budget.take(*values, &span)?;
                if self.open.len() + height > DEEPEST {
                    return Err(too_deep(&span));
                }
                let (node, height) = (node.clone(), *height);
                self.add(node, 0, height)
            }
            Event::DocumentStart(..) if self.root.is_some() => Err(Mistake::new(
                span,
                "a second document begins here, and one is read",
            )),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, span: &Span, anchor: usize, values: Values<'a>) -> Result<(), Mistake> {
        self.budget.take(1, span)?;
        if self.open.len() == DEEPEST {
            return Err(too_deep(span));
        }
        self.open.push(Open {
            start: span.start,
            anchor,
            height: 0,
            values,
        });
        Ok(())
    }

    fn end(&mut self, span: &Span) -> Result<(), Mistake> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let value = match open.values {
            Values::List(items) => Value::List(items),
            Values::Object { fields, .. } => Value::Object(merge_fields(fields)),
        };
        // What ends a block is the next thing in it.
        let within = self.text.get(open.start..span.end).unwrap_or_default();
        let end = open.start + within.trim_end().len();
        let node = Node {
            span: open.start..end,
            value,
        };
        self.add(node, open.anchor, open.height)
    }

    /// Adds a value that is whole.
    fn add(&mut self, node: Node<'a>, anchor: usize, height: usize) -> Result<(), Mistake> {
        if anchor > 0 {
            let values = count_values(&node);
            self.budget.take(values, &node.span)?;
            self.anchors.insert(anchor, (node.clone(), values, height));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.height = open.height.max(height + 1);
        match &mut open.values {
            Values::List(items) => items.push(node),
            Values::Object { fields, name } => {
                if let Some((name, span)) = name.take() {
                    fields.push(Field { name, span, node });
                } else {
                    let words = format!("{} cannot be a name", node.kind());
                    let text = match node.value {
                        Value::Null => Cow::Borrowed("null"),
                        Value::Bool(true) => Cow::Borrowed("true"),
                        Value::Bool(false) => Cow::Borrowed("false"),
                        Value::Number(text) | Value::Text(text) => text,
                        Value::List(_) | Value::Object(_) => {
                            return Err(Mistake::new(node.span, words));
                        }
                    };
                    *name = Some((text, node.span));
                }
            }
        }
        Ok(())
    }
}

fn count_values(node: &Node<'_>) -> usize {
    let items: usize = node.items().iter().map(count_values).sum();
    let fields: usize = node
        .fields()
        .iter()
        .map(|field| count_values(&field.node))
        .sum();
    1 + items + fields
}

/// Adds the fields that `<<` brings along, unless the object has them itself.
fn merge_fields(fields: Vec<Field<'_>>) -> Vec<Field<'_>> {
    if fields.iter().all(|field| field.name != "<<") {
        return fields;
    }
    let (merges, mut own): (Vec<_>, Vec<_>) =
        fields.into_iter().partition(|field| field.name == "<<");
    for merge in merges {
        let objects = match merge.node.value {
            Value::List(items) => items,
            _ => vec![merge.node],
        };
        for object in objects {
            let Value::Object(fields) = object.value else {
                continue;
            };
            for field in fields {
                if own.iter().all(|own| own.name != field.name) {
                    own.push(field);
                }
            }
        }
    }
    own
}

/// Returns the value of a scalar without quotes, by the core schema (<https://yaml.org/spec/1.2.2/#103-core-schema>).
fn plain_value(text: Cow<'_, str>) -> Value<'_> {
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    // Numbers are those of JSON; others, such as `0x1f` and `.5`, are written anew.
    let is_json = serde_json::from_str::<serde_json::Number>(&text).is_ok();
    if is_json {
        return Value::Number(text);
    }
    let unsigned = text.strip_prefix('+').unwrap_or(&text);
    let integer = match unsigned.split_at_checked(2) {
        Some(("0x", digits)) => u64::from_str_radix(digits, 16).ok(),
        Some(("0o", digits)) => u64::from_str_radix(digits, 8).ok(),
        _ => None,
    };
    if let Some(integer) = integer {
        return Value::Number(Cow::Owned(integer.to_string()));
    }
    let begins = unsigned.strip_prefix('-').unwrap_or(unsigned);
    let is_number = begins.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && begins
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    match unsigned.parse::<f64>() {
        Ok(number) if is_number && number.is_finite() => {
            Value::Number(Cow::Owned(number.to_string()))
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
        let text = "a: &x {k: 1, l: [yes, 'no']}\nb: ~\n\"c\": 0x1F\n200: .5\ne:\n  <<: *x\n  k: \"2\"\nf: |\n  one\n  two\ng: 1.2.3\nh: !!str 12\ni: +7\n";
        let node = read(text).unwrap();
        assert_eq!(
            node.json(),
            r#"{"a":{"k":1,"l":["yes","no"]},"b":null,"c":31,"200":0.5,"e":{"k":"2","l":["yes","no"]},"f":"one\ntwo\n","g":"1.2.3","h":"12","i":7}"#
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
        let deep = format!("a: {}{}", "[".repeat(50_000), "]".repeat(50_000));
        assert!(read(&deep).is_err());
        assert!(read("a: &a [*a]").is_err());
    }
}

//! Examples as the types of their schemas have them: in YAML, `007` is a number and `yes` a text, whatever was meant.

use super::super::places::Document;
use super::{DEEPEST, Kind, Shape};
use crate::import::document::{Node, Value};

/// The words of YAML 1.1 for what is so.
const TRUE: [&str; 4] = ["y", "yes", "on", "true"];
/// The same for what is not.
const FALSE: [&str; 4] = ["n", "no", "off", "false"];

/// An example as its schema has it.
pub(in super::super) fn typed<'a>(
    document: &Document<'a>,
    schema: &'a Node<'a>,
    example: Node<'a>,
) -> Node<'a> {
    read(document, schema, example, 0)
}

fn read<'a>(
    document: &Document<'a>,
    schema: &'a Node<'a>,
    example: Node<'a>,
    depth: usize,
) -> Node<'a> {
    if depth == DEEPEST {
        return example;
    }
    let shape = Shape::new(document, schema, &[]);
    let Node { span, value } = example;
    let value = match value {
        Value::Number(_) | Value::Bool(_) if shape.is_only("string") => {
            match document.written(&span) {
                Some(text) => Value::Text(text.into()),
                None => value,
            }
        }
        Value::Text(text) if shape.is_only("boolean") => {
            let word = text.to_ascii_lowercase();
            if TRUE.contains(&word.as_str()) {
                Value::Bool(true)
            } else if FALSE.contains(&word.as_str()) {
                Value::Bool(false)
            } else {
                Value::Text(text)
            }
        }
        Value::List(items) => Value::List(match shape.get("items") {
            Some(of) if of.is_object() => items
                .into_iter()
                .map(|item| read(document, of, item, depth + 1))
                .collect(),
            _ => items,
        }),
        Value::Object(mut fields) if shape.kind() == Kind::Object => {
            let properties = shape.properties();
            let properties: std::collections::HashMap<_, _> = properties.into_iter().collect();
            for field in &mut fields {
                if let Some(property) = properties.get(&*field.name) {
                    let nothing = Node {
                        span: 0..0,
                        value: Value::Null,
                    };
                    let node = std::mem::replace(&mut field.node, nothing);
                    field.node = read(document, property, node, depth + 1);
                }
            }
            Value::Object(fields)
        }
        value => value,
    };
    Node { span, value }
}

//! Bodies of JSON, in the order of their keys, with their values in place.

use super::layout::join_items;
use crate::document::{self, Node, Value};
use crate::hiding::quote_bare;
use crate::recording::{Flat, Piece, Recording, Text};
use crate::source::Input;
use serde_json::Number;

/// Most items of a body for the macro `json!`, which recurses at each.
const MOST_ITEMS: usize = 15;

/// Longest number whose digits a float keeps.
const LONGEST_NUMBER: usize = 16;

/// A text of JSON; values of a run are the characters of a [`Flat`].
pub(super) struct JsonText {
    pub(super) flat: Flat,
    input: Input,
}

/// A part of JSON that is written in the notation of its place.
pub(super) enum Leaf<'a> {
    Key(&'a str),
    Text(&'a str),
    Plain(&'a str),
}

impl JsonText {
    /// Parses an object or a list whose numbers Rust writes as they are, and whose values without quotes are bare
    /// references.
    pub(super) fn parse(text: &Text, recording: &Recording) -> Option<Self> {
        let flat = text.flat();
        let (body, added) = quote_bare(&flat, &flat.text);
        let are_bare = added.iter().all(|at| {
            let letter = body[at + 1..].chars().next().unwrap_or_default();
            match flat.value(letter.encode_utf8(&mut [0; 4])) {
                Some(Piece::Reference(at)) => recording.references[*at].is_bare,
                Some(_) => false,
                // The closing quote.
                None => true,
            }
        });
        let is_structured = body.trim_start().starts_with(['{', '[']);
        let input = Input::new(String::new(), body);
        let is_fit = !text.is_binary() && are_bare && is_structured;
        let has_exact_numbers = document::read(&input).is_ok_and(|node| are_numbers_exact(&node));
        (is_fit && has_exact_numbers).then_some(Self { flat, input })
    }

    /// Renders the JSON, indented by `indent`; returns nothing where a leaf has no notation.
    pub(super) fn render(
        &self,
        indent: usize,
        notation: &mut dyn FnMut(Leaf<'_>) -> Option<String>,
    ) -> Option<String> {
        render_node(&document::read(&self.input).ok()?, indent, notation)
    }

    /// Returns true for a body that the macro `json!` takes.
    pub(super) fn is_small(&self) -> bool {
        let items = self.input.text.matches([',', '[', '{']);
        items.count() <= MOST_ITEMS
    }
}

fn render_node(
    node: &Node<'_>,
    indent: usize,
    notation: &mut dyn FnMut(Leaf<'_>) -> Option<String>,
) -> Option<String> {
    match &node.value {
        Value::Null => notation(Leaf::Plain("null")),
        Value::Bool(value) => notation(Leaf::Plain(if *value { "true" } else { "false" })),
        Value::Number(number) => {
            let number: Number = number.parse().ok()?;
            notation(Leaf::Plain(&number.to_string()))
        }
        Value::Text(text) => notation(Leaf::Text(text)),
        Value::List(items) => {
            let items = items.iter();
            let items = items.map(|item| render_node(item, indent + 4, notation));
            let items: Option<Vec<_>> = items.collect();
            Some(join_items("[", &items?, "]", indent))
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|field| {
                let name = notation(Leaf::Key(&field.name))?;
                let value = render_node(&field.node, indent + 4, notation)?;
                Some(format!("{name}: {value}"))
            });
            let fields: Option<Vec<_>> = fields.collect();
            Some(join_items("{", &fields?, "}", indent))
        }
    }
}

/// Returns true where Rust has all digits of each number: those of `1e2` and `1.50`, and not those of `1e400`.
fn are_numbers_exact(node: &Node<'_>) -> bool {
    let is_exact = |number: &str| {
        let is_whole = number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
        let is_normal = number.parse::<f64>().is_ok_and(f64::is_normal);
        is_whole || is_normal && number.len() <= LONGEST_NUMBER
    };
    let fields = node.fields().iter().map(|field| &field.node);
    let are_exact = fields.chain(node.items()).all(are_numbers_exact);
    are_exact && !matches!(&node.value, Value::Number(number) if !is_exact(number))
}

/// Writes a number as code, where its type is not `i32`.
pub(super) fn number_code(value: &str) -> String {
    match value.parse::<i128>() {
        Ok(number) if i32::try_from(number).is_err() => {
            let ty = if number < 0 { "i64" } else { "u64" };
            format!("{value}_{ty}")
        }
        _ => value.to_owned(),
    }
}

/// Returns true where a body of this type may be written as JSON.
pub(super) fn is_json_type(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    essence.ends_with("/json") || essence.ends_with("+json") || essence == "text/plain"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Option<JsonText> {
        JsonText::parse(&Text::literal(body), &Recording::default())
    }

    #[test]
    fn what_cannot_be_said_without_a_change_is_left() {
        for body in [
            r#"{"a":1.0,"b":1e5,"c":-0.5,"d":1.50,"e":0,"f":-0,"g":9007199254740993}"#,
            "[18446744073709551615,-9223372036854775808,0.1,1E-7]",
            r#"{"text":"1.00000000000000000001"}"#,
        ] {
            assert!(parse(body).is_some(), "{body}");
        }
        for body in [
            r#"{"a":0.12345678901234567890123}"#,
            r#"{"a":18446744073709551616}"#,
            "[1e400]",
            "[1e-400]",
            r#""text""#,
            r#"{"a":1} {"#,
            r#"{"a":1,"b":{"c":2,"c":3}}"#,
        ] {
            assert!(parse(body).is_none(), "{body}");
        }
    }

    #[test]
    fn a_type_of_json_is_one_whatever_it_is_about() {
        for ty in [
            "application/json",
            "application/json; charset=utf-8",
            "application/vnd.api+json",
            "application/problem+json",
            "text/plain;charset=UTF-8",
        ] {
            assert!(is_json_type(ty), "{ty}");
        }
        for ty in ["application/x-ndjson", "application/xml", "text/html", ""] {
            assert!(!is_json_type(ty), "{ty}");
        }
    }
}

//! Bodies of JSON, in the order of their keys, with their values in place.

use super::layout::join_items;
use crate::import::document::{self, Node, Value};
use crate::import::recording::{Flat, Piece, Recording, Text};
use crate::import::secrets::quote_bare;
use crate::import::source::Input;
use serde_json::Number;

/// From here on numbers of JSON are no whole numbers of Rust.
const LARGEST: f64 = 18_446_744_073_709_551_615.0;

/// The deepest recursion of `json!`: the compiler ends at 128, and the step is within other macros.
const MOST_EXPANSIONS: usize = 110;

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

    /// Returns true where `json!` can write it: names without values of a run, and within the limits of the
    /// compiler.
    pub(super) fn is_for_macro(&self) -> bool {
        let node = document::read(&self.input).ok();
        let depth = node.and_then(|node| self.expansions(&node));
        depth.is_some_and(|depth| depth <= MOST_EXPANSIONS)
    }

    /// Returns the depth of the recursion of `json!`, which takes one token after the other.
    fn expansions(&self, node: &Node<'_>) -> Option<usize> {
        let mut fields = node.fields().iter();
        let is_fit = fields.all(|field| !self.flat.has_values(&field.name));
        let (begin, each) = match &node.value {
            Value::List(_) => (5, 2),
            Value::Object(_) if is_fit => (2, 3),
            Value::Object(_) => return None,
            _ => return Some(1),
        };
        let values = node.fields().iter().map(|field| &field.node);
        let values = values.chain(node.items()).enumerate();
        let mut depths =
            values.map(|(at, value)| Some(begin + (at + 1) * each + self.expansions(value)?));
        depths.try_fold(begin, |deepest, depth| Some(deepest.max(depth?)))
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
            let items = items
                .iter()
                .map(|item| render_node(item, indent + 4, notation));
            Some(join_items(
                "[",
                &items.collect::<Option<Vec<_>>>()?,
                "]",
                indent,
            ))
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|field| {
                let name = notation(Leaf::Key(&field.name))?;
                let value = render_node(&field.node, indent + 4, notation)?;
                Some(format!("{name}: {value}"))
            });
            Some(join_items(
                "{",
                &fields.collect::<Option<Vec<_>>>()?,
                "}",
                indent,
            ))
        }
    }
}

/// Returns true where Rust has all digits of each number: those of `1e2` and `1.50`, and not those of `1e400`.
fn are_numbers_exact(node: &Node<'_>) -> bool {
    let digits = |number: &str| {
        let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
        mantissa
            .replace(['-', '.'], "")
            .trim_matches('0')
            .to_owned()
    };
    let is_exact = |number: &str| {
        let is_whole = number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
        is_whole
            || number.parse::<f64>().is_ok_and(|value| {
                value.abs() < LARGEST && digits(&value.to_string()) == digits(number)
            })
    };
    let fields = node.fields().iter().map(|field| &field.node);
    let are_exact = fields.chain(node.items()).all(are_numbers_exact);
    are_exact && !matches!(&node.value, Value::Number(number) if !is_exact(number))
}

/// Returns true where a body of this type may be written as JSON.
pub(super) fn is_json_type(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    essence.ends_with("/json") || essence.ends_with("+json") || essence == "text/plain"
}

/// Writes a value that is no string as code: a large number says its type.
pub(super) fn number_code(value: &str) -> String {
    match value.parse::<i128>() {
        Ok(number) if i32::try_from(number).is_err() => {
            let ty = if number < 0 { "i64" } else { "u64" };
            format!("{value}_{ty}")
        }
        _ => value.to_owned(),
    }
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
        let is_for_macro = |body: &str| parse(body).unwrap().is_for_macro();
        assert!(is_for_macro(r#"{"a":[{"a":1},{"a":2}]}"#));
        // As much as the compiler takes is tried with it end to end.
        let fields = |count: usize| {
            let fields: Vec<_> = (0..count).map(|at| format!("\"k{at}\":1")).collect();
            format!("{{{}}}", fields.join(","))
        };
        assert!(is_for_macro(&fields(35)) && !is_for_macro(&fields(37)));
        assert!(!is_for_macro(&("[".repeat(20) + &"]".repeat(20))));
    }

    #[test]
    fn numbers_have_the_type_that_they_need_in_code() {
        for (number, written) in [
            ("7", "7"),
            ("-2147483648", "-2147483648"),
            ("2147483648", "2147483648_u64"),
            ("-2147483649", "-2147483649_i64"),
            ("1e300", "1e300"),
            ("0.5", "0.5"),
            ("true", "true"),
            ("null", "null"),
        ] {
            assert_eq!(number_code(number), written);
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

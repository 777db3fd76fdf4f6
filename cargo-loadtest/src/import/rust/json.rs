//! Bodies of JSON, in the order of their keys, with their values in place.

use super::layout::join_items;
use crate::import::document::{self, Node, Value};
use crate::import::recording::{Flat, Piece, Recording, Text};
use crate::import::secrets::quote_bare;
use crate::import::source::Input;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use std::collections::HashSet;
use std::fmt;

/// From here on numbers of JSON are no whole numbers of Rust.
const LARGEST: f64 = 18_446_744_073_709_551_615.0;

/// The deepest recursion of `json!`: the compiler ends at 128, and the step is within other macros.
const MOST_EXPANSIONS: usize = 110;

/// A value whose keys keep their order; values of a run are the characters of a [`Flat`].
pub(super) enum Json {
    /// `null`, `true`, a number.
    Plain(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// A part of JSON that is written in the notation of its place.
pub(super) enum Leaf<'a> {
    Key(&'a str),
    Text(&'a str),
    Plain(&'a str),
}

impl Json {
    /// Parses an object or a list whose numbers Rust writes as they are, and whose values without quotes are bare
    /// references.
    pub(super) fn parse(text: &Text, recording: &Recording) -> Option<(Flat, Self)> {
        (!text.is_binary()).then_some(())?;
        let flat = text.flat();
        let (body, added) = quote_bare(&flat, &flat.text);
        let are_bare = added.iter().all(|at| {
            let letter = &body[at + 1..];
            let end = letter.chars().next().map_or(0, char::len_utf8);
            match flat.value(&letter[..end]) {
                Some(Piece::Reference(at)) => recording.references[*at].is_bare,
                Some(_) => false,
                // The closing quote.
                None => true,
            }
        });
        let json: Self = serde_json::from_str(&body).ok().filter(|_| are_bare)?;
        let is_structured = matches!(json, Self::Object(_) | Self::List(_));
        (is_structured && json.has_numbers_of(&body)).then_some((flat, json))
    }

    /// Renders the JSON, indented by `indent`; returns nothing where a leaf has no notation.
    pub(super) fn render(
        &self,
        indent: usize,
        notation: &mut dyn FnMut(Leaf<'_>) -> Option<String>,
    ) -> Option<String> {
        match self {
            Self::Plain(value) => notation(Leaf::Plain(value)),
            Self::Text(value) => notation(Leaf::Text(value)),
            Self::List(items) => {
                let items = items.iter().map(|item| item.render(indent + 4, notation));
                Some(join_items(
                    "[",
                    &items.collect::<Option<Vec<_>>>()?,
                    "]",
                    indent,
                ))
            }
            Self::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| {
                    let name = notation(Leaf::Key(name))?;
                    Some(format!("{name}: {}", value.render(indent + 4, notation)?))
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

    /// Returns true where a key has values of a run.
    pub(super) fn has_values_in_keys(&self, flat: &Flat) -> bool {
        match self {
            Self::Plain(_) | Self::Text(_) => false,
            Self::List(items) => items.iter().any(|item| item.has_values_in_keys(flat)),
            Self::Object(fields) => fields
                .iter()
                .any(|(name, value)| flat.has_values(name) || value.has_values_in_keys(flat)),
        }
    }

    /// Returns true where `json!` can write it: each key once, and within the limits of the compiler.
    pub(super) fn is_for_macro(&self) -> bool {
        self.has_each_key_once() && self.expansions() <= MOST_EXPANSIONS
    }

    fn has_each_key_once(&self) -> bool {
        match self {
            Self::Plain(_) | Self::Text(_) => true,
            Self::List(items) => items.iter().all(Self::has_each_key_once),
            Self::Object(fields) => {
                let names: HashSet<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                let values = fields.iter().map(|(_, value)| value);
                names.len() == fields.len() && values.into_iter().all(Self::has_each_key_once)
            }
        }
    }

    /// Returns the depth of the recursion of `json!`, which takes one token after the other.
    fn expansions(&self) -> usize {
        let deepest = |begin: usize, each: usize, items: &mut dyn Iterator<Item = &Self>| {
            let items = items.enumerate();
            let depths = items.map(|(at, item)| begin + (at + 1) * each + item.expansions());
            depths.max().unwrap_or(begin)
        };
        match self {
            Self::Plain(_) | Self::Text(_) => 1,
            Self::List(items) => deepest(5, 2, &mut items.iter()),
            Self::Object(fields) => deepest(2, 3, &mut fields.iter().map(|(_, value)| value)),
        }
    }

    /// Returns true where each number equals that of the body: `1e2` and `100.0` do, one with too many digits does not.
    fn has_numbers_of(&self, body: &str) -> bool {
        let input = Input::new(String::new(), body.to_owned());
        let Ok(node) = document::read(&input) else {
            return false;
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        self.numbers(&mut ours);
        collect_numbers(&node, &mut theirs);
        let same = |(ours, theirs): (&&str, &&str)| {
            ours == theirs || parse_decimal(ours) == parse_decimal(theirs)
        };
        ours.len() == theirs.len() && ours.iter().zip(&theirs).all(same)
    }

    fn numbers<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Self::Plain(value) => {
                found.extend(Some(value.as_str()).filter(|value| is_number(value)));
            }
            Self::Text(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.numbers(found)),
            Self::Object(fields) => fields.iter().for_each(|(_, value)| value.numbers(found)),
        }
    }
}

/// Returns true where a body of this type may be written as JSON.
pub(super) fn is_json_type(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    essence.ends_with("/json") || essence.ends_with("+json") || essence == "text/plain"
}

/// Writes a value that is no string as code: a large number says its type.
pub(super) fn number_code(value: &str) -> String {
    if value.parse::<i32>().is_ok() || !is_number(value) || value.contains(['.', 'e', 'E']) {
        return value.to_owned();
    }
    let ty = if value.starts_with('-') { "i64" } else { "u64" };
    format!("{value}_{ty}")
}

fn is_number(value: &str) -> bool {
    value.starts_with(|first: char| first.is_ascii_digit() || first == '-')
}

fn collect_numbers<'a>(node: &'a Node<'_>, found: &mut Vec<&'a str>) {
    match &node.value {
        Value::Number(number) => found.push(number),
        Value::List(items) => items.iter().for_each(|item| collect_numbers(item, found)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|field| collect_numbers(&field.node, found)),
        _ => {}
    }
}

/// Returns the sign of a number, its digits without zeros around them, and the power of ten of the last digit.
fn parse_decimal(number: &str) -> Option<(bool, String, i64)> {
    let (sign, number) = match number.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, number),
    };
    let (digits, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let power: i64 = power.parse().ok()?;
    let shift = i64::try_from(zeros).ok()? - i64::try_from(fraction.len()).ok()?;
    let power = if significant.is_empty() {
        0
    } else {
        power.checked_add(shift)?
    };
    Some((sign, significant.to_owned(), power))
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Plain("null".to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Plain(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Plain(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Plain(value.to_string()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        if value.abs() >= LARGEST {
            return Err(E::custom("its digits would be lost"));
        }
        let number = Number::from_f64(value).ok_or_else(|| E::custom("no number"))?;
        Ok(Json::Plain(number.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(field) = fields.next_entry()? {
            object.push(field);
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Option<Json> {
        Json::parse(&Text::literal(body), &Recording::default()).map(|(_, json)| json)
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
        ] {
            assert!(parse(body).is_none(), "{body}");
        }
        let is_for_macro = |body: &str| parse(body).unwrap().is_for_macro();
        assert!(is_for_macro(r#"{"a":[{"a":1},{"a":2}]}"#));
        assert!(!is_for_macro(r#"{"a":1,"b":{"c":2,"c":3}}"#));
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

//! Bodies of JSON as people write them: in the order of their keys, with values of answers and secrets in their
//! places.

use super::WIDTH;
use super::declared::{Writing, told_name};
use super::literal::text;
use super::template::Piece;
use crate::import::document::{self, Node, Value};
use crate::import::secrecy::{is_callback, is_secret, is_secret_number};
use crate::import::source::Input;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use std::collections::HashSet;
use std::fmt;

/// From here on numbers of JSON are no whole numbers of Rust.
const LARGEST: f64 = 18_446_744_073_709_551_615.0;

/// How deep `json!` may call itself: the compiler ends at 128, and the step is within other macros.
const MOST_EXPANSIONS: usize = 110;

/// A value whose keys keep their order.
pub(super) enum Json {
    /// `null`, `true`, a number.
    Plain(String),
    /// A string.
    Text(String),
    /// `[..]`.
    List(Vec<Json>),
    /// `{..}`.
    Object(Vec<(String, Json)>),
}

/// How JSON is written: as the options of a step have it, or as code.
pub(super) trait Notation {
    /// The key of a field, in quotes; nothing where it cannot be one.
    fn name(&mut self, name: &str) -> Option<String>;
    /// A string, which `key` says what it is.
    fn text(&mut self, key: &str, value: &str) -> Option<String>;
    /// `null`, `true`, a number.
    fn plain(&mut self, value: &str) -> String;
}

/// JSON in an attribute.
struct Declared<'a, 'b, 'c> {
    writing: &'a mut Writing<'b, 'c>,
    /// Whether there are other values than strings.
    has_types: bool,
}

impl Json {
    /// Reads an object or a list whose numbers are no others when they are written again; other bodies are better
    /// shown as they are.
    pub(super) fn structured(body: &str) -> Option<Self> {
        let json = serde_json::from_str(body).ok();
        json.filter(|json| matches!(json, Self::Object(_) | Self::List(_)))
            .filter(|json| json.has_numbers_of(body))
    }

    /// The fields of a form, as they stand in an attribute.
    pub(super) fn write_fields(&self, writing: &mut Writing<'_, '_>) -> Option<String> {
        let has_types = false;
        self.laid("", 0, &mut Declared { writing, has_types })
    }

    /// As it stands in an attribute; nothing where a key or a string cannot be written there.
    pub(super) fn write(&self, key: &str, writing: &mut Writing<'_, '_>) -> Option<String> {
        let has_types = true;
        self.laid(key, 0, &mut Declared { writing, has_types })
    }

    /// On one line, or on several that are indented by `indent`.
    pub(super) fn laid(
        &self,
        key: &str,
        indent: usize,
        notation: &mut dyn Notation,
    ) -> Option<String> {
        let inside = |open: &str, items: Vec<String>, close: &str| {
            if items.is_empty() {
                return format!("{open}{close}");
            }
            let blank = if open == "{" { " " } else { "" };
            let line = format!("{open}{blank}{}{blank}{close}", items.join(", "));
            if line.chars().count() + indent < WIDTH - 20 && !line.contains('\n') {
                return line;
            }
            let margin = " ".repeat(indent);
            let items: Vec<_> = items
                .iter()
                .map(|item| format!("{margin}    {item},\n"))
                .collect();
            format!("{open}\n{}{margin}{close}", items.concat())
        };
        match self {
            // No template can be a number.
            Self::Plain(value) if is_hidden(key, value) => None,
            Self::Plain(value) => Some(notation.plain(value)),
            Self::Text(value) => notation.text(key, value),
            Self::List(items) => {
                let items = items
                    .iter()
                    .map(|item| item.laid(key, indent + 4, notation));
                Some(inside("[", items.collect::<Option<_>>()?, "]"))
            }
            Self::Object(fields) => {
                // `{"name": "password", "value": ".."}`
                let told = fields.iter().find_map(|(name, value)| match value {
                    Self::Text(value) if ["name", "key"].contains(&&**name) => Some(value.as_str()),
                    _ => None,
                });
                let told = told.filter(|told| is_secret(told));
                let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                let is_called_back = is_callback(&names);
                let fields = fields.iter().map(|(name, value)| {
                    let key = match told {
                        Some(told) if name == "value" => told,
                        _ if is_secret(key) => key,
                        None => told_name(name, is_called_back),
                        _ => name,
                    };
                    let name = notation.name(name)?;
                    let value = value.laid(key, indent + 4, notation)?;
                    Some(format!("{name}: {value}"))
                });
                Some(inside("{", fields.collect::<Option<_>>()?, "}"))
            }
        }
    }

    /// Whether `json!` can say it: each key once, and not so much that the compiler refuses to go on.
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

    /// How deep `json!` calls itself for it, which takes a token after the other.
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

    /// Whether each number is as great as the one that stands there: `1e2` and `100.0` are, what has more digits than
    /// a number of Rust is not.
    fn has_numbers_of(&self, body: &str) -> bool {
        let input = Input::new(String::new(), body.to_owned());
        let Ok(node) = document::read(&input) else {
            return false;
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        self.numbers(&mut ours);
        numbers(&node, &mut theirs);
        let same =
            |(ours, theirs): (&&str, &&str)| ours == theirs || decimal(ours) == decimal(theirs);
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

impl Notation for Declared<'_, '_, '_> {
    fn name(&mut self, name: &str) -> Option<String> {
        let has_place = name.contains("{{") || self.writing.vault.plain(name).text().is_none();
        (!has_place).then(|| text(name))
    }

    fn text(&mut self, key: &str, value: &str) -> Option<String> {
        let template = self.writing.field(key, value);
        let scope = self.writing.scope;
        match template.0.as_slice() {
            [Piece::Value(at)]
                if self.has_types && scope.recording.references[*at].is_bare && scope.has(*at) =>
            {
                let path = scope.path(*at, false)?;
                Some(format!("{{{{{path}}}}}"))
            }
            _ => scope.literal(&template),
        }
    }

    fn plain(&mut self, value: &str) -> String {
        value.to_owned()
    }
}

/// Whether a body of this type may be written as JSON.
pub(super) fn is_type(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    essence.ends_with("/json") || essence.ends_with("+json") || essence == "text/plain"
}

/// A value that is no string, as code has it: a number that is not small says its type.
pub(super) fn code(value: &str) -> String {
    if value.parse::<i32>().is_ok() || !is_number(value) || value.contains(['.', 'e', 'E']) {
        return value.to_owned();
    }
    let ty = if value.starts_with('-') { "i64" } else { "u64" };
    format!("{value}_{ty}")
}

/// Whether a value that is no string is a secret.
pub(super) fn is_hidden(key: &str, value: &str) -> bool {
    is_secret_number(key, value) && is_number(value)
}

fn is_number(value: &str) -> bool {
    value.starts_with(|first: char| first.is_ascii_digit() || first == '-')
}

fn numbers<'a>(node: &'a Node<'_>, found: &mut Vec<&'a str>) {
    match &node.value {
        Value::Number(number) => found.push(number),
        Value::List(items) => items.iter().for_each(|item| numbers(item, found)),
        Value::Object(fields) => fields.iter().for_each(|field| numbers(&field.node, found)),
        _ => {}
    }
}

/// A number as its sign, its digits without zeros around them, and the power of ten of the last of these.
fn decimal(number: &str) -> Option<(bool, String, i64)> {
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
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
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

    #[test]
    fn what_cannot_be_said_without_a_change_is_left() {
        for body in [
            r#"{"a":1.0,"b":1e5,"c":-0.5,"d":1.50,"e":0,"f":-0,"g":9007199254740993}"#,
            "[18446744073709551615,-9223372036854775808,0.1,1E-7]",
            r#"{"text":"1.00000000000000000001"}"#,
        ] {
            assert!(Json::structured(body).is_some(), "{body}");
        }
        for body in [
            r#"{"a":0.12345678901234567890123}"#,
            r#"{"a":18446744073709551616}"#,
            "[1e400]",
            "[1e-400]",
            r#""text""#,
            r#"{"a":1} {"#,
        ] {
            assert!(Json::structured(body).is_none(), "{body}");
        }
        let is_for_macro = |body: &str| Json::structured(body).unwrap().is_for_macro();
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
            assert_eq!(code(number), written);
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
            assert!(is_type(ty), "{ty}");
        }
        for ty in ["application/x-ndjson", "application/xml", "text/html", ""] {
            assert!(!is_type(ty), "{ty}");
        }
    }
}

//! Bodies of JSON as the language has them: in the order of their keys, with secrets as placeholders.

use super::WIDTH;
use super::declared::Writing;
use super::literal::text;
use super::template::Piece;
use crate::import::secrecy::{is_callback, is_secret, is_secret_number};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use std::fmt;

/// From here on numbers of JSON are no whole numbers of Rust.
const LARGEST: f64 = 18_446_744_073_709_551_615.0;

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

impl Json {
    /// Reads an object or a list; other bodies are better shown as they are.
    pub(super) fn structured(body: &str) -> Option<Self> {
        serde_json::from_str(body)
            .ok()
            .filter(|json| matches!(json, Self::Object(_) | Self::List(_)))
    }

    /// The fields of a form, as they stand in an attribute.
    pub(super) fn write_fields(&self, writing: &mut Writing<'_, '_>) -> Option<String> {
        self.laid("", 0, false, writing)
    }

    /// As it stands in an attribute; nothing where a key or a string cannot be written there.
    pub(super) fn write(
        &self,
        key: &str,
        indent: usize,
        writing: &mut Writing<'_, '_>,
    ) -> Option<String> {
        self.laid(key, indent, true, writing)
    }

    fn laid(
        &self,
        key: &str,
        indent: usize,
        has_types: bool,
        writing: &mut Writing<'_, '_>,
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
            Self::Plain(value) if is_secret_number(key, value) && is_number(value) => None,
            Self::Plain(value) => Some(value.clone()),
            Self::Text(value) => {
                let template = writing.field(key, value);
                let only = match template.0.as_slice() {
                    [Piece::Value(at)] => Some(*at),
                    _ => None,
                };
                match only {
                    Some(at)
                        if has_types
                            && writing.scope.recording.references[at].is_bare
                            && writing.scope.has(at) =>
                    {
                        let path = writing.scope.path(at, false)?;
                        Some(format!("{{{{{path}}}}}"))
                    }
                    _ => writing.scope.literal(&template),
                }
            }
            Self::List(items) => {
                let items = items
                    .iter()
                    .map(|item| item.laid(key, indent + 4, has_types, writing));
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
                    let has_place =
                        name.contains("{{") || writing.vault.plain(name).text().is_none();
                    (!has_place).then_some(())?;
                    let key = match told {
                        Some(told) if name == "value" => told,
                        _ if is_secret(key) => key,
                        None if is_called_back && name == "code" => "auth_code",
                        _ => name,
                    };
                    let value = value.laid(key, indent + 4, has_types, writing)?;
                    Some(format!("{}: {value}", text(name)))
                });
                Some(inside("{", fields.collect::<Option<_>>()?, "}"))
            }
        }
    }
}

fn is_number(value: &str) -> bool {
    value.starts_with(|first: char| first == '-' || first.is_ascii_digit())
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

//! Bodies of JSON as the language has them: in the order of their keys, with secrets as placeholders.

use super::WIDTH;
use super::literal::text;
use super::secrets::Vault;
use loadtest::redact::is_secret;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use std::fmt;

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
    /// Reads an object; other bodies are better shown as they are.
    pub(super) fn object(body: &str) -> Option<Self> {
        serde_json::from_str(body)
            .ok()
            .filter(|json| matches!(json, Self::Object(_)))
    }

    /// Whether a key or a string has what would be a placeholder, or a number is one that a literal cannot tell.
    pub(super) fn is_literal(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Text(value) => !value.contains("{{"),
            Self::List(items) => items.iter().all(Self::is_literal),
            Self::Object(fields) => fields
                .iter()
                .all(|(key, value)| !key.contains("{{") && value.is_literal()),
        }
    }

    /// As it stands in an attribute.
    pub(super) fn write(&self, key: &str, step: &str, indent: usize, vault: &mut Vault) -> String {
        let inside = |open: &str, items: Vec<String>, close: &str| {
            if items.is_empty() {
                return format!("{open}{close}");
            }
            let blank = if open == "{" { " " } else { "" };
            let line = format!("{open}{blank}{}{blank}{close}", items.join(", "));
            if line.len() + indent < WIDTH - 20 && !line.contains('\n') {
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
            Self::Plain(value) => value.clone(),
            Self::Text(value) if is_secret(key) => {
                let what = format!("`{key}` in the body of `{step}`");
                text(&vault.secret(value, key, &what))
            }
            Self::Text(value) => text(&vault.plain(value)),
            Self::List(items) => {
                let items = items
                    .iter()
                    .map(|item| item.write(key, step, indent + 4, vault));
                inside("[", items.collect(), "]")
            }
            Self::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| {
                    let key = if is_secret(key) { key } else { name };
                    format!(
                        "{}: {}",
                        text(name),
                        value.write(key, step, indent + 4, vault)
                    )
                });
                inside("{", fields.collect(), "}")
            }
        }
    }
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

//! Shapes of texts with secrets in them: forms, JSON, prose.

use crate::document::{Node, Value};
use crate::recording::Flat;
use crate::secrets::{is_callback, is_secret_name};
use crate::text::{form_decode, form_encode};
use std::collections::BTreeSet;

/// Returns the decoded names of a query or a form.
pub(super) fn names_of(pairs: &str) -> Vec<String> {
    let keys = pairs.split('&').map(|pair| pair.split('=').next());
    keys.map(|key| form_decode(key.unwrap_or_default()))
        .collect()
}

/// Returns true where all names are those of a form, and not JSON that is sent as one.
pub(super) fn has_form_names(body: &str) -> bool {
    let is_other = |letter: char| letter.is_whitespace() || "\"'`{}<>".contains(letter);
    let mut names = names_of(body).into_iter();
    body.contains('=') && names.all(|name| !name.contains(is_other))
}

/// Returns true where encoding the decoded form gives the same text.
pub(crate) fn is_usual_form(flat: &Flat) -> bool {
    let is_usual = |part: &str| {
        let decoded = flat.restore(&form_decode(part));
        decoded.map_literals(form_encode) == flat.restore(part)
    };
    let mut pairs = flat.text.split('&').map(|pair| pair.split_once('='));
    pairs.all(|pair| pair.is_some_and(|(name, value)| is_usual(name) && is_usual(value)))
}

/// Returns true where a value is a text with parts, and not a single word.
pub(super) fn is_prose(value: &str) -> bool {
    let is_sign = |letter: char| letter.is_whitespace() || "{}[]<>&;?\"'`,:".contains(letter);
    value.starts_with('/') || value.contains(is_sign)
}

/// Puts quotes around values that stand in JSON without them; returns the places of these quotes, too.
pub(crate) fn quote_bare(flat: &Flat, text: &str) -> (String, BTreeSet<usize>) {
    let (mut quoted, mut added) = (String::with_capacity(text.len()), BTreeSet::new());
    let (mut in_string, mut is_escaped) = (false, false);
    for letter in text.chars() {
        if !in_string && flat.is_value(letter) {
            added.insert(quoted.len());
            quoted.push('"');
            quoted.push(letter);
            added.insert(quoted.len());
            quoted.push('"');
            continue;
        }
        in_string ^= letter == '"' && !is_escaped;
        is_escaped = in_string && letter == '\\' && !is_escaped;
        quoted.push(letter);
    }
    (quoted, added)
}

/// Collects the strings and numbers of JSON, with the key that says what they are.
pub(super) fn collect_values<'n>(
    node: &'n Node<'_>,
    key: &str,
    values: &mut Vec<(String, &'n Node<'n>)>,
) {
    match &node.value {
        Value::Text(_) | Value::Number(_) => values.push((key.to_owned(), node)),
        Value::List(items) => items
            .iter()
            .for_each(|item| collect_values(item, key, values)),
        Value::Object(fields) => {
            // `{"name": "password", "value": ".."}`
            let named = fields.iter().find_map(|field| {
                let name = field.node.text().filter(|name| is_secret_name(name))?;
                ["name", "key"]
                    .contains(&&*field.name)
                    .then(|| name.to_owned())
            });
            let field_names: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
            let is_callback = is_callback(&field_names);
            for field in fields {
                let key = match &named {
                    Some(named) if field.name == "value" => named,
                    _ if is_secret_name(key) => key,
                    None if is_callback && field.name == "code" => "auth_code",
                    _ => &field.name,
                };
                collect_values(&field.node, key, values);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

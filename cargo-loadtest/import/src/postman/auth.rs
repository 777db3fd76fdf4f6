//! Credentials of a request, of its folders and of the collection.

use super::ItemReader;
use super::environment::value_text;
use super::variables::split_variables;
use crate::document::Node;
use crate::recording::{Credentials, Exchange, Header, Text};
use crate::text::{form_encode, is_token};

/// Secret parameters.
const SECRET: [&str; 6] = [
    "token",
    "password",
    "value",
    "accessToken",
    "secretKey",
    "clientSecret",
];

/// Returns a parameter. Version 2.1 has a list of them, version 2.0 an object.
fn find_parameter(auth: &Node<'_>, kind: &str, name: &str) -> Option<String> {
    let all = auth.get(kind)?;
    let found = if all.is_list() {
        let mut items = all.items().iter().rev();
        items
            .find(|item| item.text_of("key") == Some(name))?
            .get("value")?
    } else {
        all.get(name)?
    };
    Some(value_text(found)).filter(|text| !text.is_empty())
}

/// Returns the names of the variables in secret parameters.
pub(super) fn variable_names(auth: &Node<'_>) -> Vec<String> {
    let kind = auth.text_of("type").unwrap_or_default();
    let mut names = Vec::new();
    let parameters = SECRET.iter();
    for parameter in parameters.filter_map(|name| find_parameter(auth, kind, name)) {
        let (variables, _) = split_variables(&parameter);
        names.extend(variables.iter().map(|(_, name)| (*name).to_owned()));
    }
    names
}

/// Gives a request its credentials.
pub(super) fn apply_auth(auth: &Node<'_>, exchange: &mut Exchange, item: &mut ItemReader<'_, '_>) {
    let kind = auth.text_of("type").unwrap_or("noauth");
    let get = |name: &str| find_parameter(auth, kind, name);
    match kind {
        "noauth" | "none" => {}
        "bearer" => {
            if let Some(token) = get("token") {
                let what = "the bearer token of the collection";
                let token = resolve_secret(&token, "api token", what, item);
                set_token(exchange, "Bearer", token);
            }
        }
        "basic" => {
            let user = get("username").unwrap_or_default();
            let password = get("password").unwrap_or_default();
            let what = "the password of the basic credentials";
            let user = item.resolve(&user);
            let password = resolve_secret(&password, "password", what, item);
            exchange.remove_header("authorization");
            exchange.credentials = Some(Credentials { user, password });
        }
        "apikey" => {
            let Some(name) = get("key") else { return };
            let name = item.fixed_name(&name);
            let what = format!("the API key `{name}`");
            let text = get("value").unwrap_or_default();
            let text = resolve_secret(&text, &name, &what, item);
            item.reader.recording().keys.push(name.to_ascii_lowercase());
            if get("in").as_deref() == Some("query") {
                append_query(exchange, &name, &text);
            } else if is_token(&name) {
                exchange.remove_header(&name);
                exchange.headers.push(Header::new(name, text));
            } else {
                let words = "the name of the API key cannot be a header, and is left out";
                item.reader
                    .note(&auth.name(kind).unwrap_or_default(), words);
            }
        }
        "oauth2" => {
            let token = get("accessToken").unwrap_or_else(|| "{{accessToken}}".to_owned());
            let what = "the access token of OAuth 2";
            let token = resolve_secret(&token, "access token", what, item);
            if get("addTokenTo").as_deref() == Some("queryParams") {
                append_query(exchange, "access_token", &token);
            } else {
                let prefix = get("headerPrefix").unwrap_or_else(|| "Bearer".to_owned());
                let prefix = item.fixed_name(prefix.trim());
                set_token(exchange, &prefix, token);
            }
        }
        other => {
            let words = format!(
                "credentials of the kind `{other}` are computed for each request, which is not done: the requests are sent without them"
            );
            let span = auth.get("type").unwrap_or(auth).beginning();
            item.reader.variables.note_place_once(&span, words);
        }
    }
}

/// Resolves a secret parameter; one that is written out becomes a secret.
fn resolve_secret(text: &str, wanted: &str, what: &str, item: &mut ItemReader<'_, '_>) -> Text {
    let text = item.resolve(text);
    match text.as_literal() {
        Some(value) if !value.is_empty() => item.reader.variables.secret_value(value, wanted, what),
        _ => text,
    }
}

fn set_token(exchange: &mut Exchange, prefix: &str, token: Text) {
    let blank = if prefix.is_empty() { "" } else { " " };
    let value = token.between(&format!("{prefix}{blank}"), "");
    exchange.remove_header("authorization");
    exchange.headers.push(Header::new("Authorization", value));
}

fn append_query(exchange: &mut Exchange, name: &str, value: &Text) {
    let value = value.map_literals(form_encode);
    exchange
        .target
        .push_query(value.between(&format!("{}=", form_encode(name)), ""));
}

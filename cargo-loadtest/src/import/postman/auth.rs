//! Who asks: credentials of a request, or of the folders and the collection that it is in.

use super::super::document::Node;
use super::super::marked::{Credentials, Exchange, Header};
use super::Reader;
use super::environment::value;
use super::variables::{Piece, Scope, next};

/// The parameters that are secret.
const SECRET: [&str; 6] = [
    "token",
    "password",
    "value",
    "accessToken",
    "secretKey",
    "clientSecret",
];

/// A parameter: version 2.1 has a list of them, version 2.0 an object.
fn parameter(auth: &Node<'_>, kind: &str, name: &str) -> Option<String> {
    let all = auth.get(kind)?;
    let found = if all.is_list() {
        let mut items = all.items().iter().rev();
        items
            .find(|item| item.text_of("key") == Some(name))?
            .get("value")?
    } else {
        all.get(name)?
    };
    Some(value(found)).filter(|text| !text.is_empty())
}

/// The names of the variables that credentials are made of.
pub(super) fn names(auth: &Node<'_>) -> Vec<String> {
    let kind = auth.text_of("type").unwrap_or_default();
    let mut names = Vec::new();
    for parameter in SECRET.iter().filter_map(|name| parameter(auth, kind, name)) {
        let mut rest = parameter.as_str();
        while let Some((_, name, after)) = next(rest) {
            names.push(name.to_owned());
            rest = after;
        }
    }
    names
}

/// Gives a request its credentials.
pub(super) fn apply(
    auth: &Node<'_>,
    exchange: &mut Exchange,
    reader: &mut Reader<'_>,
    scope: Scope<'_>,
) {
    let kind = auth.text_of("type").unwrap_or("noauth");
    let get = |name: &str| parameter(auth, kind, name);
    match kind {
        "noauth" | "none" => {}
        "bearer" => {
            if let Some(token) = get("token") {
                let token = secret(
                    &token,
                    "api token",
                    "the bearer token of the collection",
                    reader,
                    scope,
                );
                authorize(exchange, &format!("Bearer {token}"));
            }
        }
        "basic" => {
            let user = get("username").unwrap_or_default();
            let user = reader.variables.text(&user, scope);
            let password = get("password").unwrap_or_default();
            let what = "the password of the basic credentials";
            let password = secret(&password, "password", what, reader, scope);
            exchange
                .headers
                .retain(|header| !header.name.eq_ignore_ascii_case("authorization"));
            exchange.credentials = Some(Credentials {
                user: user.into_bytes(),
                password: password.into_bytes(),
            });
        }
        "apikey" => {
            let Some(name) = get("key") else { return };
            let name = reader.known(&name, scope);
            let what = format!("the API key `{name}`");
            let text = get("value").unwrap_or_default();
            let text = secret(&text, &name, &what, reader, scope);
            reader.keys.push(name.to_ascii_lowercase());
            if get("in").as_deref() == Some("query") {
                query(exchange, &name, &text);
            } else if !super::request::is_header_name(&name) {
                reader.note(
                    &auth.name(kind).unwrap_or_else(|| auth.beginning()),
                    "the name of the API key can be no header, and it is left out",
                );
            } else {
                exchange
                    .headers
                    .retain(|header| !header.name.eq_ignore_ascii_case(&name));
                exchange.headers.push(Header {
                    name,
                    value: text.into_bytes(),
                });
            }
        }
        "oauth2" => {
            let token = get("accessToken").unwrap_or_else(|| "{{accessToken}}".to_owned());
            let token = secret(
                &token,
                "access token",
                "the access token of OAuth 2",
                reader,
                scope,
            );
            if get("addTokenTo").as_deref() == Some("queryParams") {
                query(exchange, "access_token", &token);
            } else {
                let prefix = get("headerPrefix").unwrap_or_else(|| "Bearer".to_owned());
                let prefix = reader.known(prefix.trim(), scope);
                authorize(exchange, format!("{prefix} {token}").trim_start());
            }
        }
        other => {
            let words = format!(
                "credentials of the kind `{other}` are made anew for each request, which is not done: the requests are sent without"
            );
            let span = auth
                .get("type")
                .map_or_else(|| auth.beginning(), Node::beginning);
            reader.note_at_once(&span, words);
        }
    }
}

/// A secret parameter: its variables, or a secret for what is written there.
fn secret(
    text: &str,
    wanted: &str,
    what: &str,
    reader: &mut Reader<'_>,
    scope: Scope<'_>,
) -> String {
    let pieces = reader.variables.pieces(text, scope);
    let is_text = pieces.iter().all(|piece| matches!(piece, Piece::Text(_)));
    let text = reader.variables.joined(&pieces, false);
    if is_text && !text.is_empty() {
        return reader.variables.hidden(&text, wanted, what);
    }
    text
}

fn authorize(exchange: &mut Exchange, value: &str) {
    exchange
        .headers
        .retain(|header| !header.name.eq_ignore_ascii_case("authorization"));
    exchange.headers.push(Header {
        name: "Authorization".to_owned(),
        value: value.as_bytes().to_vec(),
    });
}

fn query(exchange: &mut Exchange, name: &str, value: &str) {
    let pair: String = url::form_urlencoded::Serializer::new(String::new())
        .append_pair(name, value)
        .finish();
    let sign = if exchange.target.contains('?') {
        '&'
    } else {
        '?'
    };
    exchange.target.push(sign);
    exchange.target.push_str(&pair);
}

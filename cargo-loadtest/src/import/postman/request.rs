//! One request: method, URL, headers, credentials and body.

use super::super::document::Node;
use super::super::marked::{Body, Exchange, Header};
use super::behaviour::Behaviour;
use super::collection::{Collection, Entry};
use super::environment::{place, value};
use super::variables::{Piece, Scope};
use super::{Fault, Reader, auth, body, url};

/// The methods whose body Postman does not send, unless it is told to.
const WITHOUT_BODY: [&str; 6] = ["GET", "HEAD", "COPY", "PURGE", "UNLOCK", "VIEW"];
/// How many redirects Postman follows.
pub(super) const REDIRECTS: u32 = 10;
/// What is set by whoever sends.
const SENDERS_OWN: [&str; 5] = [
    "content-length",
    "connection",
    "transfer-encoding",
    "keep-alive",
    "postman-token",
];

/// Reads a request; none where it cannot be sent, which is told.
pub(super) fn read(
    entry: &Entry<'_, '_>,
    collection: &Collection<'_, '_>,
    reader: &mut Reader<'_>,
    scope: Scope<'_>,
) -> Option<Exchange> {
    let request = entry.request;
    let method = request.get("method").map(value).unwrap_or_default();
    let method = match method.trim() {
        "" => "GET".to_owned(),
        method => reader.known(method, scope).to_ascii_uppercase(),
    };
    let node = if request.is_object() {
        request.get("url")
    } else {
        Some(request)
    };
    let node = node
        .filter(|node| node.is_object() || node.text().is_some_and(|text| !text.trim().is_empty()));
    let url_span = node.map(url::place);
    let scope_of_url = Scope {
        at: url_span.as_ref().unwrap_or(&entry.span),
        ..scope
    };
    let (url, at) = match node {
        _ if !is_header_name(&method) => {
            let why = Fault::Other("this is no method of HTTP".to_owned());
            (Err(why), request.get("method").map(Node::beginning))
        }
        None => {
            let why = Fault::Other("there is no URL".to_owned());
            (Err(why), request.name("url").or(request.name("method")))
        }
        Some(node) => (url::read(node, reader, scope_of_url), url_span.clone()),
    };
    let url = match url {
        Ok(url) => url,
        Err(why) => {
            let name = entry.name.as_deref().unwrap_or("without a name");
            let span = at.unwrap_or_else(|| entry.span.clone());
            reader.leave(&span, format!("{method} {name}"), &why);
            return None;
        }
    };
    if let Some(names) = &url.unknown {
        reader.unknown_host(scope_of_url.at, names);
    }
    let mut exchange = Exchange {
        span: entry.span.clone(),
        method,
        origin: url.origin,
        target: url.target,
        credentials: url.credentials,
        name: entry.name.clone(),
        description: description(request).or_else(|| description(entry.item)),
        pattern: url.pattern,
        redirects: REDIRECTS,
        ..Exchange::default()
    };
    headers(request, &mut exchange, reader, scope);
    let behaviour = Behaviour { entry, collection };
    if let Some(node) = request.get("body") {
        if behaviour.is("disableBodyPruning", true)
            || !WITHOUT_BODY.contains(&exchange.method.as_str())
        {
            add_body(node, &mut exchange, reader, scope);
        } else if body::is_something(node) {
            let words = format!(
                "a `{}` is sent without a body, as in Postman, unless `disableBodyPruning` is set",
                exchange.method
            );
            let span = request.name("body");
            reader.note(&span.unwrap_or_else(|| node.beginning()), words);
        }
    }
    behaviour.apply(&mut exchange, reader);
    let inherited = collection
        .way(entry.folder)
        .into_iter()
        .map(|folder| folder.node);
    let mut nodes = std::iter::once(request).chain(inherited);
    // `null` is as nothing: the folder says.
    let auth = nodes.find_map(|node| {
        let auth = node.get("auth");
        auth.filter(|auth| auth.text_of("type").is_some_and(|kind| kind != "inherit"))
    });
    if let Some(auth) = auth {
        auth::apply(auth, &mut exchange, reader, scope);
    }
    Some(exchange)
}

fn add_body(node: &Node<'_>, exchange: &mut Exchange, reader: &mut Reader<'_>, scope: Scope<'_>) {
    let is_type = |header: &Header| header.name.eq_ignore_ascii_case("content-type");
    let known = exchange.headers.iter().find(|header| is_type(header));
    let known = known.map(|header| String::from_utf8_lossy(&header.value).into_owned());
    let (body, implied) = body::read(node, known.as_deref(), reader, scope);
    let is_form = matches!(body, Body::Multipart(_));
    if is_form {
        exchange.headers.retain(|header| !is_type(header));
    }
    if let Some(implied) = implied.filter(|_| is_form || known.is_none()) {
        exchange.headers.push(Header {
            name: "Content-Type".to_owned(),
            value: implied.into_bytes(),
        });
    }
    exchange.body = body;
}

/// What is said about a request, a folder or a collection.
pub(super) fn description(node: &Node<'_>) -> Option<String> {
    let node = node.get("description")?;
    let text = node.text().or_else(|| node.text_of("content"))?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Whether this can be the name of a header.
pub(super) fn is_header_name(name: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_sign)
}

fn headers(request: &Node<'_>, exchange: &mut Exchange, reader: &mut Reader<'_>, scope: Scope<'_>) {
    let Some(list) = request.get("header") else {
        return;
    };
    let at = request.name("header").unwrap_or_else(|| list.beginning());
    let scope = Scope { at: &at, ..scope };
    if let Some(text) = list.text() {
        for line in text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
        {
            if let Some((name, value)) = line.split_once(':') {
                header(name, value, exchange, reader, scope);
            }
        }
        return;
    }
    for node in list.items() {
        let at = place(node);
        let scope = Scope { at: &at, ..scope };
        if node.get("disabled").and_then(Node::boolean) == Some(true) {
            continue;
        }
        if let Some((name, value)) = node.text().and_then(|text| text.split_once(':')) {
            header(name, value, exchange, reader, scope);
        } else if let Some(name) = node
            .get("key")
            .map(value)
            .filter(|name| !name.trim().is_empty())
        {
            let value = node.get("value").map(value).unwrap_or_default();
            header(&name, &value, exchange, reader, scope);
        } else if node
            .get("value")
            .is_some_and(|value| value.text() != Some(""))
        {
            reader.note(
                &at,
                "a header has a name as its `key`, and this has none: it is left out",
            );
        }
    }
    if !list.is_list() && !matches!(list.kind(), "null") {
        let words = format!(
            "`header` is {}, and should be a list: it is left out",
            list.kind()
        );
        reader.note(&list.beginning(), words);
    }
}

fn header(
    name: &str,
    value: &str,
    exchange: &mut Exchange,
    reader: &mut Reader<'_>,
    scope: Scope<'_>,
) {
    let name = reader.known(name.trim(), scope);
    let lower = name.to_ascii_lowercase();
    let value = if lower == "cookie" {
        without_own_cookies(value, reader, scope)
    } else {
        reader.variables.text(value.trim(), scope)
    };
    let is_postmans = lower == "user-agent" && value.starts_with("PostmanRuntime/");
    let is_host = lower == "host"
        && exchange
            .origin
            .ends_with(&format!("//{}", value.to_ascii_lowercase()));
    if SENDERS_OWN.contains(&lower.as_str())
        || is_postmans
        || is_host
        || lower == "cookie" && value.is_empty()
    {
        return;
    }
    if !is_header_name(&name)
        || value
            .bytes()
            .any(|byte| matches!(byte, 0..=8 | 10..=31 | 127))
    {
        reader.note(
            scope.at,
            "a header whose name or value has letters that no header has is left out",
        );
        return;
    }
    exchange.headers.push(Header {
        name,
        value: value.into_bytes(),
    });
}

/// The cookies of a header without those that earlier answers set, which go back by themselves.
fn without_own_cookies(value: &str, reader: &mut Reader<'_>, scope: Scope<'_>) -> String {
    let pairs = value
        .split(';')
        .map(str::trim)
        .filter(|pair| !pair.is_empty());
    let mut kept = Vec::new();
    for pair in pairs {
        let pieces = reader.variables.pieces(pair, scope);
        if !pieces.iter().any(|piece| matches!(piece, Piece::Cookie(_))) {
            kept.push(reader.variables.joined(&pieces, false));
        }
    }
    kept.join("; ")
}

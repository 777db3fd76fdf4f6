//! URLs: as a text, or in parts; with variables anywhere.

use super::super::document::Node;
use super::super::marked::Credentials;
use super::super::source::Span;
use super::dynamic;
use super::environment::value;
use super::variables::{Piece, Scope, next};
use super::{Fault, Reader};
use std::fmt::Write as _;

/// Where requests go whose host is not known.
pub(super) const SOMEWHERE: &str = "http://127.0.0.1:8080";

/// Where a request goes.
#[derive(Debug, Default)]
pub(super) struct Url {
    /// `http://host:port`; empty where the target itself will say.
    pub(super) origin: String,
    /// Path and query.
    pub(super) target: String,
    /// The path with names in braces for what is variable, where something is.
    pub(super) pattern: Option<String>,
    /// Who asks.
    pub(super) credentials: Option<Credentials>,
    /// The variables that the host would be made of, where they have no value.
    pub(super) unknown: Option<Vec<String>>,
}

/// The parts of a URL, with their variables.
#[derive(Debug, Default)]
struct Parts {
    /// Scheme, host and port.
    authority: String,
    segments: Option<Vec<String>>,
    query: Vec<(String, Option<String>)>,
    /// The values of segments such as `:id`.
    variables: Vec<(String, String)>,
}

/// Reads a URL.
///
/// # Errors
/// Why it can be none of a request.
pub(super) fn read(
    node: &Node<'_>,
    reader: &mut Reader<'_>,
    scope: Scope<'_>,
) -> Result<Url, Fault> {
    let parts = parts(node);
    let pieces = reader.variables.host(parts.authority.trim(), scope);
    let mut url = Url::default();
    let mut before = match pieces.as_slice() {
        [Piece::Answer { .. }, ..] => reader.variables.joined(&pieces, false),
        [Piece::Text(text), rest @ ..] if rest.is_empty() || has_path(text) || has_host(rest) => {
            let joined = reader.variables.joined(&pieces, false);
            let (origin, credentials, path) = origin(&joined)?;
            (url.origin, url.credentials) = (origin, credentials);
            path
        }
        pieces => {
            let names = pieces.iter().filter_map(|piece| match piece {
                Piece::Hidden { name, .. } | Piece::Cookie(name) => Some(name.clone()),
                Piece::Answer { .. } | Piece::Text(_) => None,
            });
            url.unknown = Some(names.collect());
            SOMEWHERE.clone_into(&mut url.origin);
            String::new()
        }
    };
    let mut pattern = before.clone();
    let mut has_names = false;
    for segment in parts.segments.iter().flatten() {
        let named = segment.strip_prefix(':').filter(|name| is_name(name));
        before.push('/');
        pattern.push('/');
        if let Some(name) = named {
            let own = parts.variables.iter().find(|(key, _)| key == name);
            let own = own.map(|(_, value)| without_kind(value));
            let text = own.unwrap_or_else(|| format!("{{{{{name}}}}}"));
            before.push_str(&reader.variables.text(&text, scope));
            let _ = write!(pattern, "{{{name}}}");
            has_names = true;
        } else {
            before.push_str(&reader.variables.text(segment, scope));
            let mut rest = segment.as_str();
            while let Some((text, name, after)) = next(rest) {
                let _ = write!(pattern, "{text}{{{}}}", name.trim_start_matches('$'));
                has_names = true;
                rest = after;
            }
            pattern.push_str(rest);
        }
    }
    let mut target = encoded(&before, "\"<>`{}#\\");
    let mut sign = if before.contains('?') { '&' } else { '?' };
    for (name, value) in &parts.query {
        target.push(std::mem::replace(&mut sign, '&'));
        let name = reader.known(name, scope);
        target.push_str(&encoded(&name, QUERY));
        if let Some(value) = value {
            let value = reader.variables.text(&without_kind(value), scope);
            target.push('=');
            target.push_str(&encoded(&value, QUERY));
        }
    }
    url.pattern = has_names.then(|| rooted(&pattern));
    url.target = if url.origin.is_empty() {
        target
    } else {
        rooted(&target)
    };
    Ok(url)
}

/// Where a URL is shown: on one line.
pub(super) fn place(node: &Node<'_>) -> Span {
    let has_text = |node: &&Node<'_>| node.text().is_some_and(|text| !text.is_empty());
    let raw = node.get("raw").filter(has_text);
    let host = node.get("host");
    let label = host.and_then(|host| host.items().first()).or(host);
    let shown = raw.or(label.filter(has_text)).unwrap_or(node);
    shown.beginning()
}

/// Whether the host comes after all that has no value: that is who asks, `http://ada:{{password}}@host`.
fn has_host(pieces: &[Piece]) -> bool {
    matches!(pieces.last(), Some(Piece::Text(text)) if text.contains('@'))
}

const QUERY: &str = "\"<>'`{}#";

/// With one slash before it: two would begin the name of a host.
fn rooted(path: &str) -> String {
    format!("/{}", path.trim_start_matches('/'))
}

/// A value, or what it is an example of.
fn without_kind(value: &str) -> String {
    let found = dynamic::of_kind(value);
    found.map_or_else(
        || value.to_owned(),
        |found| found.trim_matches('"').to_owned(),
    )
}

fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    !name.is_empty() && name.chars().all(is_letter)
}

/// Whether a URL goes on behind its host.
fn has_path(text: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.contains(['/', '?'])
}

/// The origin of a URL, its credentials, and what follows.
fn origin(text: &str) -> Result<(String, Option<Credentials>, String), Fault> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let scheme = scheme.to_ascii_lowercase();
    if scheme != "http" && scheme != "https" {
        return Err(Fault::NotHttp);
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (who, host) = match authority.rsplit_once('@') {
        Some((who, host)) => (Some(who), host),
        None => (None, authority),
    };
    if matches!(host.trim(), "http:" | "https:") {
        let words = "this URL has two schemes, one of which is that of a variable";
        return Err(Fault::Other(words.to_owned()));
    }
    let url = url::Url::parse(&format!("{scheme}://{}/", host.trim()));
    let url =
        url.map_err(|error| Fault::Other(format!("the host of this URL is none ({error})")))?;
    let credentials = who.map(|who| {
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        Credentials {
            user: decoded(user),
            password: decoded(password),
        }
    });
    Ok((
        url.origin().ascii_serialization(),
        credentials,
        path.to_owned(),
    ))
}

/// Escapes as the bytes they stand for.
fn decoded(text: &str) -> Vec<u8> {
    let pair = format!("v={}", text.replace('+', "%2B").replace('&', "%26"));
    let mut pairs = url::form_urlencoded::parse(pair.as_bytes());
    pairs
        .next()
        .map_or_else(Vec::new, |(_, value)| value.into_owned().into_bytes())
}

/// What cannot stand in a URL, and these letters, as escapes; escapes that are there stay.
fn encoded(text: &str, letters: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii_graphic() && !letters.contains(letter) {
            encoded.push(letter);
        } else {
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

fn parts(node: &Node<'_>) -> Parts {
    if let Some(text) = node.text() {
        return of_text(text);
    }
    let host = match node.get("host") {
        Some(host) if host.is_list() => {
            let labels: Vec<_> = host.items().iter().map(value).collect();
            labels.join(".")
        }
        Some(host) => value(host),
        None => String::new(),
    };
    let raw = node.get("raw").map(value).unwrap_or_default();
    let mut parts =
        if host.is_empty() && node.get("path").is_none_or(|path| path.items().is_empty()) {
            of_text(&raw)
        } else {
            in_parts(node, &host)
        };
    for variable in node.get("variable").map(Node::items).unwrap_or_default() {
        let name = variable.text_of("key").or_else(|| variable.text_of("id"));
        let value = variable.get("value").map(value).unwrap_or_default();
        if let Some(name) = name.filter(|_| !value.is_empty()) {
            parts.variables.push((name.to_owned(), value));
        }
    }
    parts
}

fn in_parts(node: &Node<'_>, host: &str) -> Parts {
    let mut authority = host.to_owned();
    let part = |name: &str| node.get(name).map(value).filter(|part| !part.is_empty());
    if let Some(protocol) = part("protocol").filter(|_| !host.contains("://")) {
        authority = format!("{}://{host}", protocol.trim_end_matches("://"));
    }
    if let Some(port) = part("port") {
        let _ = write!(authority, ":{port}");
    }
    let segments = node.get("path").map(|path| {
        if path.is_list() {
            let segments = path.items().iter();
            segments
                .map(|segment| value(segment.get("value").unwrap_or(segment)))
                .collect()
        } else {
            segments(&value(path))
        }
    });
    let mut query = Vec::new();
    match node.get("query") {
        Some(list) if list.is_list() => {
            for pair in list.items() {
                let is_off = pair.get("disabled").and_then(Node::boolean) == Some(true);
                let name = pair.get("key").map(value);
                let content = pair.get("value").filter(|value| value.scalar().is_some());
                if let Some(name) =
                    name.filter(|name| !is_off && (!name.is_empty() || content.is_some()))
                {
                    query.push((name, content.map(value)));
                }
            }
        }
        Some(text) => query = pairs(&value(text)),
        None => {}
    }
    Parts {
        authority,
        segments,
        query,
        variables: Vec::new(),
    }
}

fn of_text(text: &str) -> Parts {
    let text = text.trim().split('#').next().unwrap_or_default();
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let host = text.find("://").map_or(0, |at| at + 3);
    let end = text[host..].find('/').map_or(text.len(), |at| host + at);
    let (authority, path) = text.split_at(end);
    Parts {
        authority: authority.to_owned(),
        segments: (!path.is_empty()).then(|| segments(path)),
        query: pairs(query),
        variables: Vec::new(),
    }
}

fn segments(path: &str) -> Vec<String> {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split('/').map(str::to_owned).collect()
}

fn pairs(query: &str) -> Vec<(String, Option<String>)> {
    let pairs = query.trim_start_matches('?').split('&');
    let pairs = pairs.filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (pair.to_owned(), None),
        })
        .collect()
}

//! URLs: as a text, or in parts; with variables anywhere.

use super::super::document::Node;
use super::super::recording::{Credentials, Piece, Text};
use super::super::source::Span;
use super::dynamic;
use super::environment::value_text;
use super::variables::{Scope, find_variable};
use super::{Fault, Reader};
use std::fmt::Write as _;

/// Origin of requests whose host is not known.
pub(super) const SOMEWHERE: &str = "http://127.0.0.1:8080";

/// The URL of a request.
#[derive(Debug, Default)]
pub(super) struct Url {
    /// `http://host:port`; empty where the target is a whole URL at run time.
    pub(super) origin: String,
    /// Path and query.
    pub(super) target: Text,
    /// The path with names in braces for what is variable, where something is.
    pub(super) pattern: Option<String>,
    pub(super) credentials: Option<Credentials>,
    /// The variables of the host, where they have no value.
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
/// The reason why it is not the URL of a request.
pub(super) fn read_url(
    node: &Node<'_>,
    reader: &mut Reader<'_>,
    scope: Scope<'_>,
) -> Result<Url, Fault> {
    let parts = read_parts(node);
    let authority = reader.variables.resolve_host(parts.authority.trim(), scope);
    let mut url = Url::default();
    let mut path = match authority.pieces() {
        [Piece::Reference(_), ..] => authority,
        [Piece::Literal(_)] => url.set_origin(&authority)?,
        [Piece::Literal(text), ..] if has_path(text) || has_credentials(&authority) => {
            url.set_origin(&authority)?
        }
        pieces => {
            let hidden = pieces
                .iter()
                .filter(|piece| matches!(piece, Piece::Secret(_)));
            let names = hidden.map(|piece| reader.variables.piece_name(piece));
            url.unknown = Some(names.collect());
            SOMEWHERE.clone_into(&mut url.origin);
            Text::default()
        }
    };
    let mut pattern = path.shown(|piece| format!("{{{}}}", reader.variables.piece_name(piece)));
    let mut has_names = false;
    for segment in parts.segments.iter().flatten() {
        let named = segment.strip_prefix(':').filter(|name| is_name(name));
        path.push_str("/");
        pattern.push('/');
        if let Some(name) = named {
            let own = parts.variables.iter().find(|(key, _)| key == name);
            let own = own.map(|(_, value)| replace_kind(value));
            let text = own.unwrap_or_else(|| format!("{{{{{name}}}}}"));
            path.append(reader.variables.resolve(&text, scope));
            let _ = write!(pattern, "{{{name}}}");
            has_names = true;
        } else {
            path.append(reader.variables.resolve(segment, scope));
            let mut rest = segment.as_str();
            while let Some((text, name, after)) = find_variable(rest) {
                let _ = write!(pattern, "{text}{{{}}}", name.trim_start_matches('$'));
                has_names = true;
                rest = after;
            }
            pattern.push_str(rest);
        }
    }
    let mut target = path.map_literals(|text| encode(text, "\"<>`{}#\\"));
    let mut sign = if target.split_once("?").is_some() {
        "&"
    } else {
        "?"
    };
    for (name, value) in &parts.query {
        target.push_str(std::mem::replace(&mut sign, "&"));
        target.push_str(&encode(&reader.fixed_name(name, scope), QUERY));
        if let Some(value) = value {
            let value = reader.variables.resolve(&replace_kind(value), scope);
            target.push_str("=");
            target.append(value.map_literals(|text| encode(text, QUERY)));
        }
    }
    url.pattern = has_names.then(|| format!("/{}", pattern.trim_start_matches('/')));
    url.target = if url.origin.is_empty() {
        target
    } else {
        with_one_slash(&target)
    };
    Ok(url)
}

/// Returns the place of a URL, on one line.
pub(super) fn url_place(node: &Node<'_>) -> Span {
    let has_text = |node: &&Node<'_>| node.text().is_some_and(|text| !text.is_empty());
    let raw = node.get("raw").filter(has_text);
    let host = node.get("host");
    let label = host.and_then(|host| host.items().first()).or(host);
    let shown = raw.or(label.filter(has_text)).unwrap_or(node);
    shown.beginning()
}

/// Whether only the credentials have no value: `http://ada:{{password}}@host`.
fn has_credentials(authority: &Text) -> bool {
    matches!(authority.pieces().last(), Some(Piece::Literal(text)) if text.contains('@'))
}

const QUERY: &str = "\"<>'`{}#";

/// Returns a path with one slash before it: two would begin the name of a host.
fn with_one_slash(path: &Text) -> Text {
    let start = path.start();
    let slashes = start.len() - start.trim_start_matches('/').len();
    let mut target = Text::literal("/");
    target.append(path.strip_prefix(&start[..slashes]).unwrap_or_default());
    target
}

/// Replaces a kind of value, such as `<string>`, by a value.
fn replace_kind(value: &str) -> String {
    let found = dynamic::kind_value(value);
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

impl Url {
    /// Sets origin and credentials, and returns the path behind them.
    fn set_origin(&mut self, text: &Text) -> Result<Text, Fault> {
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (scheme.start().to_ascii_lowercase(), rest),
            None => ("http".to_owned(), text.clone()),
        };
        if scheme != "http" && scheme != "https" {
            return Err(Fault::NotHttp);
        }
        let (authority, path) = split_path(&rest);
        let (who, host) = match authority.split_once("@") {
            Some((who, host)) => (Some(who), host),
            None => (None, authority),
        };
        let host = host.as_literal().unwrap_or_default().trim();
        if matches!(host, "http:" | "https:") {
            let words = "this URL has two schemes, one of which is that of a variable";
            return Err(Fault::Other(words.to_owned()));
        }
        let url = url::Url::parse(&format!("{scheme}://{host}/"));
        let url =
            url.map_err(|error| Fault::Other(format!("the host of this URL is none ({error})")))?;
        self.origin = url.origin().ascii_serialization();
        self.credentials = who.map(|who| {
            let (user, password) = who.split_once(":").unwrap_or((who, Text::default()));
            Credentials {
                user: user.map_literals(percent_decode),
                password: password.map_literals(percent_decode),
            }
        });
        Ok(path)
    }
}

/// Splits host and port from what follows them.
fn split_path(text: &Text) -> (Text, Text) {
    let (mut authority, mut path) = (Text::default(), Text::default());
    for piece in text.pieces() {
        match piece {
            Piece::Literal(text) if path.is_empty() => {
                let end = text.find(['/', '?', '#']).unwrap_or(text.len());
                authority.push_str(&text[..end]);
                path.push_str(&text[end..]);
            }
            piece if path.is_empty() => authority.push(piece.clone()),
            piece => path.push(piece.clone()),
        }
    }
    (authority, path)
}

fn percent_decode(text: &str) -> String {
    let pair = format!("v={}", text.replace('+', "%2B").replace('&', "%26"));
    let mut pairs = url::form_urlencoded::parse(pair.as_bytes());
    pairs
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

/// Escapes these letters and those that cannot stand in a URL; escapes in the text stay.
fn encode(text: &str, letters: &str) -> String {
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

fn read_parts(node: &Node<'_>) -> Parts {
    if let Some(text) = node.text() {
        return parse_parts(text);
    }
    let host = match node.get("host") {
        Some(host) if host.is_list() => {
            let labels: Vec<_> = host.items().iter().map(value_text).collect();
            labels.join(".")
        }
        Some(host) => value_text(host),
        None => String::new(),
    };
    let raw = node.get("raw").map(value_text).unwrap_or_default();
    let mut parts =
        if host.is_empty() && node.get("path").is_none_or(|path| path.items().is_empty()) {
            parse_parts(&raw)
        } else {
            join_parts(node, &host)
        };
    for variable in node.get("variable").map(Node::items).unwrap_or_default() {
        let name = variable.text_of("key").or_else(|| variable.text_of("id"));
        let value = variable.get("value").map(value_text).unwrap_or_default();
        if let Some(name) = name.filter(|_| !value.is_empty()) {
            parts.variables.push((name.to_owned(), value));
        }
    }
    parts
}

fn join_parts(node: &Node<'_>, host: &str) -> Parts {
    let mut authority = host.to_owned();
    let part = |name: &str| {
        node.get(name)
            .map(value_text)
            .filter(|part| !part.is_empty())
    };
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
                .map(|segment| value_text(segment.get("value").unwrap_or(segment)))
                .collect()
        } else {
            split_segments(&value_text(path))
        }
    });
    let mut query = Vec::new();
    match node.get("query") {
        Some(list) if list.is_list() => {
            for pair in list.items() {
                let is_off = pair.get("disabled").and_then(Node::boolean) == Some(true);
                let name = pair.get("key").map(value_text);
                let content = pair.get("value").filter(|value| value.scalar().is_some());
                if let Some(name) =
                    name.filter(|name| !is_off && (!name.is_empty() || content.is_some()))
                {
                    query.push((name, content.map(value_text)));
                }
            }
        }
        Some(text) => query = split_query(&value_text(text)),
        None => {}
    }
    Parts {
        authority,
        segments,
        query,
        variables: Vec::new(),
    }
}

fn parse_parts(text: &str) -> Parts {
    let text = text.trim().split('#').next().unwrap_or_default();
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let host = text.find("://").map_or(0, |at| at + 3);
    let end = text[host..].find('/').map_or(text.len(), |at| host + at);
    let (authority, path) = text.split_at(end);
    Parts {
        authority: authority.to_owned(),
        segments: (!path.is_empty()).then(|| split_segments(path)),
        query: split_query(query),
        variables: Vec::new(),
    }
}

fn split_segments(path: &str) -> Vec<String> {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split('/').map(str::to_owned).collect()
}

fn split_query(query: &str) -> Vec<(String, Option<String>)> {
    let pairs = query.trim_start_matches('?').split('&');
    let pairs = pairs.filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (pair.to_owned(), None),
        })
        .collect()
}

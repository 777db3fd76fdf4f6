//! URLs: as a text, or in parts; with variables anywhere.

use super::environment::{is_disabled, value_text};
use super::variables::find_variable;
use super::{ItemReader, dynamic};
use crate::base::SOMEWHERE;
use crate::document::Node;
use crate::migration::{parse_origin, split_authority, split_credentials};
use crate::recording::{Credentials, Piece, Text};
use crate::source::Span;
use crate::text::percent_encode;
use std::fmt::Write as _;

/// Letters that a query cannot have.
const NOT_IN_QUERY: &str = "\"<>'`{}#";

/// The URL of a request.
#[derive(Debug, Default)]
pub(super) struct RequestUrl {
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

/// Reads a URL.
pub(super) fn read_url(
    node: &Node<'_>,
    item: &mut ItemReader<'_, '_>,
) -> Result<RequestUrl, String> {
    let text = url_text(node);
    let (text, query) = text.split_once('?').unwrap_or((&text, ""));
    let host = text.find("://").map_or(0, |at| at + 3);
    let end = text[host..].find('/').map_or(text.len(), |at| host + at);
    let (authority, segments) = text.split_at(end);
    let authority = item.resolve_host(authority.trim());
    let mut url = RequestUrl::default();
    let mut path = match authority.pieces() {
        [Piece::Reference(_), ..] => authority,
        [Piece::Literal(_)] => url.set_origin(&authority)?,
        [Piece::Literal(text), ..] if has_path(text) || has_credentials(&authority) => {
            url.set_origin(&authority)?
        }
        pieces => {
            let is_secret = |piece: &&Piece| matches!(piece, Piece::Secret(_));
            let names = pieces.iter().filter(is_secret);
            let names = names.map(|piece| item.reader.variables.piece_name(piece));
            url.unknown = Some(names.collect());
            url.origin = match pieces {
                [] => SOMEWHERE.to_owned(),
                _ => authority.shown(|piece| match piece {
                    Piece::Secret(at) => format!(
                        "{{{}}}",
                        item.reader.variables.migration.recording.secrets[*at].name
                    ),
                    _ => "{value}".to_owned(),
                }),
            };
            Text::default()
        }
    };
    let mut pattern =
        path.shown(|piece| format!("{{{}}}", item.reader.variables.piece_name(piece)));
    for segment in segments.split('/').skip(1) {
        path.push_str("/");
        let value = segment.strip_prefix(':').filter(|name| is_name(name));
        let value = value.map(|name| (name, path_variable(node, name)));
        if let Some((name, value)) = value {
            path.append(item.resolve(&value));
            let _ = write!(pattern, "/{{{name}}}");
        } else {
            path.append(item.resolve(segment));
            let shown = segment.replace("{{$", "{").replace("{{", "{");
            let _ = write!(pattern, "/{}", shown.replace("}}", "}"));
        }
    }
    let mut target = path.map_literals(|text| percent_encode(text, "\"<>`{}#\\"));
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = percent_encode(&item.fixed_name(name), NOT_IN_QUERY);
        let value = item.resolve(&dynamic::replace_kind(value));
        let value = value.map_literals(|text| percent_encode(text, NOT_IN_QUERY));
        let sign = if pair.contains('=') { "=" } else { "" };
        target.push_query(value.between(&format!("{name}{sign}"), ""));
    }
    let has_names = segments.contains("/:") || find_variable(segments).is_some();
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

/// Returns true where only the credentials have no value: `http://ada:{{password}}@host`.
fn has_credentials(authority: &Text) -> bool {
    matches!(authority.pieces().last(), Some(Piece::Literal(text)) if text.contains('@'))
}

/// Returns a path with one slash before it: two would begin the name of a host.
fn with_one_slash(path: &Text) -> Text {
    let start = path.start();
    let slashes = start.len() - start.trim_start_matches('/').len();
    let path = path.strip_prefix(&start[..slashes]).unwrap_or_default();
    path.between("/", "")
}

fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    !name.is_empty() && name.chars().all(is_letter)
}

/// Returns the value of a segment such as `:id`: of the URL, else the variable of this name.
fn path_variable(node: &Node<'_>, name: &str) -> String {
    let mut variables = node.get("variable").map_or(&[][..], Node::items).iter();
    let value = variables.find_map(|variable| {
        let key = variable.text_of("key").or_else(|| variable.text_of("id"))?;
        let value = variable.get("value").map(value_text)?;
        (key == name && !value.is_empty()).then_some(value)
    });
    value.map_or_else(
        || format!("{{{{{name}}}}}"),
        |value| dynamic::replace_kind(&value),
    )
}

/// Returns true where a URL goes on behind its host.
fn has_path(text: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.contains(['/', '?'])
}

impl RequestUrl {
    /// Sets origin and credentials, and returns the path behind them.
    fn set_origin(&mut self, text: &Text) -> Result<Text, String> {
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (scheme.start().to_ascii_lowercase(), rest),
            None => ("http".to_owned(), text.clone()),
        };
        if scheme != "http" && scheme != "https" {
            return Err("this is not HTTP".to_owned());
        }
        let (authority, path) = split_authority(&rest);
        let (credentials, host) = split_credentials(&authority);
        let host = host.as_literal().unwrap_or_default().trim();
        if matches!(host, "http:" | "https:") {
            let words = "this URL has two schemes, one of them from a variable";
            return Err(words.to_owned());
        }
        self.origin = parse_origin(&scheme, host)?;
        self.credentials = credentials;
        Ok(path)
    }
}

/// Returns a URL as text without its fragment, joined from its parts where it has some.
fn url_text(node: &Node<'_>) -> String {
    let host = join_items(node.get("host"), ".");
    let path = join_items(node.get("path"), "/");
    if host.is_empty() && path.is_empty() {
        let text = node.text_of("raw").or(node.text()).unwrap_or_default();
        return text.trim().split('#').next().unwrap_or_default().to_owned();
    }
    let mut text = host;
    let protocol = join_items(node.get("protocol"), "");
    if !protocol.is_empty() && !text.contains("://") {
        text = format!("{}://{text}", protocol.trim_end_matches("://"));
    }
    let port = join_items(node.get("port"), "");
    if !port.is_empty() {
        let _ = write!(text, ":{port}");
    }
    if node.get("path").is_some() {
        text.push('/');
        text.push_str(path.strip_prefix('/').unwrap_or(&path));
    }
    let mut sign = '?';
    for pair in node.get("query").map_or(&[][..], Node::items) {
        let name = pair.get("key").map(value_text);
        let value = pair.get("value").filter(|value| value.scalar().is_some());
        let name = name.filter(|name| !name.is_empty() || value.is_some());
        if let Some(name) = name.filter(|_| !is_disabled(pair)) {
            text.push(std::mem::replace(&mut sign, '&'));
            text.push_str(&name);
            if let Some(value) = value {
                let _ = write!(text, "={}", value_text(value));
            }
        }
    }
    text
}

/// Joins the items of a list, which may have the words in their `value`; else returns the text itself.
fn join_items(node: Option<&Node<'_>>, separator: &str) -> String {
    let Some(node) = node else {
        return String::new();
    };
    if !node.is_list() {
        return value_text(node);
    }
    let items = node.items().iter();
    let items = items.map(|item| value_text(item.get("value").unwrap_or(item)));
    items.collect::<Vec<_>>().join(separator)
}

//! A request that is being put together: its values can still be replaced by those of earlier answers.

use super::answer::{Answers, answers};
use super::body::{Sent, body};
use super::operations::Operation;
use super::parameters::{Parameter, parameters};
use super::places::{Document, shortened};
use super::security::{Access, access, is_token};
use super::servers::{Server, Servers};
use super::style::escaped;
use crate::import::document::Node;
use crate::import::marked::{Exchange, Header};
use std::fmt::Write as _;

/// What some services put at the end of all their paths.
const EXTENSIONS: [&str; 2] = [".json", ".xml"];

/// A request to be.
pub(super) struct Draft<'a> {
    pub(super) operation: Operation<'a>,
    pub(super) server: Server,
    /// The path in its pieces.
    pub(super) pieces: Vec<Piece>,
    pub(super) query: Vec<Given>,
    pub(super) headers: Vec<Given>,
    pub(super) cookies: Vec<Given>,
    pub(super) access: Access,
    pub(super) sent: Sent<'a>,
    pub(super) answers: Answers<'a>,
}

/// A piece of a path.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// As it is sent.
    Text(String),
    /// A value.
    Value {
        name: String,
        /// As it is sent.
        text: String,
        /// Whether the document says what fits: then nothing else is looked for.
        is_chosen: bool,
    },
}

/// A value with a name.
#[derive(Debug, Clone)]
pub(super) struct Given {
    /// As the document names it.
    pub(super) parameter: String,
    /// As it is sent.
    pub(super) name: String,
    /// As it is sent.
    pub(super) text: String,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        document: &Document<'a>,
        operation: Operation<'a>,
        servers: &Servers,
    ) -> Self {
        let parameters = parameters(document, &operation);
        let server = servers.of(document, operation.node, operation.item);
        let (pieces, query) = template(document, &operation, &parameters);
        let mut draft = Self {
            server,
            pieces,
            query,
            headers: Vec::new(),
            cookies: Vec::new(),
            access: access(document, operation.node),
            sent: body(document, &operation, &parameters),
            answers: answers(document, &operation),
            operation,
        };
        for parameter in &parameters {
            draft.add(document, parameter);
            if parameter.place == "path" && !draft.has_piece(parameter.name) {
                let words = format!(
                    "`{}` is no part of `{}`: it is left out",
                    shortened(parameter.name),
                    shortened(&draft.operation.path)
                );
                document.note(&parameter.node.beginning(), words);
            }
        }
        draft
    }

    fn add(&mut self, document: &Document<'a>, parameter: &Parameter<'a>) {
        let name = parameter.name;
        let is_of_url = matches!(parameter.place, "path" | "body" | "formData");
        if is_of_url || !parameter.is_sent(document) {
            return;
        }
        let given = |(sent, text): (String, String)| Given {
            parameter: name.to_owned(),
            name: sent,
            text,
        };
        let value = parameter.value(document);
        let manner = parameter.manner(document);
        match parameter.place {
            "query" => {
                let has_it = |pair: &Given| pair.parameter == name;
                if !self.query.iter().any(has_it) && !self.is_key(name) {
                    let pairs = manner.query(name, &value).into_iter();
                    self.query.extend(pairs.map(given));
                }
            }
            place => {
                let text = manner.header(&value);
                let is_text = text.bytes().all(|byte| (b' '..0x7f).contains(&byte));
                if !is_text || !is_token(name) {
                    let words = format!("`{}` cannot be sent as a header", shortened(name));
                    document.note(&parameter.node.span, words);
                    return;
                }
                let sent = (name.to_owned(), text.trim().to_owned());
                if place == "cookie" {
                    let is_known = self.access.cookies.iter().any(|(key, _)| key == name);
                    let pairs = manner.query(name, &value).into_iter();
                    let secret = |(sent, text): (String, String)| {
                        if document.is_marker(&text) {
                            return given((sent, text));
                        }
                        let what = format!("the cookie `{}`", shortened(&sent));
                        let marker = document.secret(&sent, &what);
                        given((sent, marker))
                    };
                    self.cookies.extend(pairs.filter(|_| !is_known).map(secret));
                } else if !self.is_key(name) {
                    self.headers.push(given(sent));
                }
            }
        }
    }

    /// Whether the path has a value of this name.
    fn has_piece(&self, wanted: &str) -> bool {
        let mut pieces = self.pieces.iter();
        pieces.any(|piece| matches!(piece, Piece::Value { name, .. } if name == wanted))
    }

    /// Whether a security scheme has this name already.
    fn is_key(&self, name: &str) -> bool {
        let mut keys = self.access.headers.iter().chain(&self.access.query);
        keys.any(|(key, _)| key.eq_ignore_ascii_case(name))
    }

    /// The template of the path with nothing in the place of names, by which paths are the same.
    pub(super) fn shape(&self) -> String {
        self.until(self.pieces.len())
    }

    /// The same of the collection that a value is an item of: what stands before it, where a segment begins.
    pub(super) fn collection(&self, piece: usize) -> Option<String> {
        let before = self.pieces[..piece].last();
        let begins = matches!(before, Some(Piece::Text(text)) if text.ends_with('/'));
        let after = self.pieces.get(piece + 1);
        let ends = match after {
            None => true,
            Some(Piece::Text(text)) => text.starts_with('/') || is_extension(text),
            Some(Piece::Value { .. }) => false,
        };
        (begins && ends).then(|| self.until(piece))
    }

    fn until(&self, piece: usize) -> String {
        let pieces = self.pieces[..piece].iter().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Value { .. } => "{}",
        });
        let shape: String = pieces.collect();
        let shape = shape.trim_end_matches('/');
        let extension = EXTENSIONS.iter().find_map(|end| shape.strip_suffix(end));
        extension.unwrap_or(shape).to_owned()
    }

    /// Whether the path ends with a value: it is of one item.
    pub(super) fn is_of_item(&self) -> bool {
        let mut pieces = self.pieces.iter().rev();
        let last = pieces.find(|piece| match piece {
            Piece::Text(text) => text != "/" && !is_extension(text),
            Piece::Value { .. } => true,
        });
        matches!(last, Some(Piece::Value { .. }))
    }

    /// The value of a parameter, as it is sent.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let of_path = self.pieces.iter().find_map(|piece| match piece {
            Piece::Value {
                name: known, text, ..
            } if known == name => Some(text),
            _ => None,
        });
        let given = self.query.iter().chain(&self.headers);
        let mut given = given.filter(|given| given.parameter == name);
        of_path
            .or_else(|| given.next().map(|given| &given.text))
            .map(String::as_str)
    }

    /// The path as it is sent.
    fn target(&self) -> String {
        let mut target = self.server.prefix.clone();
        for piece in &self.pieces {
            target.push_str(match piece {
                Piece::Text(text) | Piece::Value { text, .. } => text,
            });
        }
        let keys = self.access.query.iter();
        let keys = keys.map(|(name, value)| (escaped(name, false), value));
        let given = self.query.iter();
        let given = given.map(|given| (given.name.clone(), &given.text));
        for (number, (name, value)) in given.chain(keys).enumerate() {
            let separator = if number == 0 { '?' } else { '&' };
            let _ = write!(target, "{separator}{name}={value}");
        }
        target
    }

    /// The exchange.
    pub(super) fn finish(self, group: Option<String>) -> Exchange {
        let target = self.target();
        let mut headers = Vec::new();
        let mut add = |name: &str, value: &str| {
            headers.push(Header {
                name: name.to_owned(),
                value: value.as_bytes().to_vec(),
            });
        };
        if let Some(bearer) = &self.access.bearer {
            add("authorization", &format!("Bearer {bearer}"));
        }
        for (name, value) in &self.access.headers {
            add(&name.to_ascii_lowercase(), value);
        }
        if self.answers.has_choice {
            add("accept", "application/json");
        }
        for given in &self.headers {
            add(&given.name.to_ascii_lowercase(), &given.text);
        }
        let cookies = self.cookies.iter();
        let cookies = cookies.map(|given| (&given.name, &given.text));
        let keys = self
            .access
            .cookies
            .iter()
            .map(|(name, value)| (name, value));
        let cookies: Vec<_> = cookies
            .chain(keys)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !cookies.is_empty() {
            add("cookie", &cookies.join("; "));
        }
        if let Some(content_type) = &self.sent.content_type {
            add("content-type", content_type);
        }
        let pattern = format!("{}{}", self.server.prefix, self.operation.path);
        Exchange {
            span: self.operation.span.clone(),
            method: self.operation.method.clone(),
            origin: self.server.origin.clone(),
            target,
            headers,
            credentials: self.access.credentials,
            body: self.sent.body,
            name: self.operation.id.map(str::to_owned),
            description: description(&self.operation),
            group,
            pattern: Some(
                pattern
                    .split(['?', '#'])
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            ),
            expect: self.answers.expect,
            answer: self.answers.example,
            ..Exchange::default()
        }
    }
}

/// What the document says about an operation.
fn description(operation: &Operation<'_>) -> Option<String> {
    let text = |key| operation.node.text_of(key).map(str::trim);
    let text = text("summary")
        .filter(|text| !text.is_empty())
        .or(text("description"))
        .filter(|text| !text.is_empty());
    let is_deprecated = operation.node.get("deprecated").and_then(Node::boolean) == Some(true);
    match (text, is_deprecated) {
        (Some(text), true) => Some(format!("{}. Deprecated.", text.trim_end_matches('.'))),
        (None, true) => Some("Deprecated.".to_owned()),
        (text, false) => text.map(str::to_owned),
    }
}

/// The pieces of a path, and the query that some have in it.
fn template<'a>(
    document: &Document<'a>,
    operation: &Operation<'a>,
    parameters: &[Parameter<'a>],
) -> (Vec<Piece>, Vec<Given>) {
    let path = operation.path.split('#').next().unwrap_or_default();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut pieces = Vec::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        pieces.push(Piece::Text(fixed(before)));
        pieces.push(value_of(document, operation, parameters, name));
        rest = after;
    }
    pieces.push(Piece::Text(fixed(rest)));
    pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        // `{name}` has the value of a parameter, which is sent for its own sake.
        Given {
            parameter: name.to_owned(),
            name: escaped_again(name),
            text: escaped_again(value),
        }
    });
    (
        pieces,
        pairs.filter(|given| !given.text.contains("%7B")).collect(),
    )
}

fn value_of<'a>(
    document: &Document<'a>,
    operation: &Operation<'a>,
    parameters: &[Parameter<'a>],
    name: &str,
) -> Piece {
    // As RFC 6570 has it.
    let name = name.trim_matches(['+', '*', ' ']);
    let mut declared = parameters.iter();
    let declared = declared.find(|parameter| parameter.place == "path" && parameter.name == name);
    let Some(parameter) = declared else {
        let words = format!(
            "`{{{}}}` of this path is described nowhere",
            shortened(name)
        );
        document.note(&operation.span, words);
        return Piece::Value {
            name: name.to_owned(),
            text: "1".to_owned(),
            is_chosen: false,
        };
    };
    let value = parameter.value(document);
    let text = parameter.manner(document).path(name, &value);
    // Such a segment leads to another place.
    let text = if matches!(text.as_str(), "" | "." | "..") {
        "1".to_owned()
    } else {
        text
    };
    let is_chosen = parameter.schema().is_some_and(|schema| {
        let shape = super::sample::Shape::new(document, schema, &[]);
        shape.get("enum").is_some() || shape.get("const").is_some()
    });
    Piece::Value {
        name: name.to_owned(),
        text,
        is_chosen,
    }
}

fn is_extension(text: &str) -> bool {
    EXTENSIONS.contains(&text.trim_end_matches('/'))
}

/// A piece of a path that is written in the document: what no URL can have is escaped.
fn fixed(text: &str) -> String {
    let mut fixed = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~:@/!$&'()*+,;=%".contains(&byte);
        if is_plain {
            fixed.push(char::from(byte));
        } else {
            let _ = write!(fixed, "%{byte:02X}");
        }
    }
    fixed
}

fn escaped_again(text: &str) -> String {
    fixed(text).replace('&', "%26")
}

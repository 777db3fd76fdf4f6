//! Drafts of requests, in which values of earlier answers can still replace made-up ones.

use super::answer::{Answers, read_answers};
use super::body::{RequestBody, make_body};
use super::document::{ApiDocument, shorten};
use super::operations::{Operation, step_name};
use super::parameters::{Parameter, read_parameters};
use super::security::{Access, read_access};
use super::servers::{ServerAddress, Servers};
use super::style::escape_url;
use crate::recording::{EventStream, Exchange, Header, Text};
use crate::text::{is_token, percent_encode_except};
use std::collections::HashSet;

/// Letters that the template of a path may have as they are.
const IN_TEMPLATE: &str = "-._~:@/!$&'()*+,;=%";

/// The draft of a request.
pub(super) struct RequestDraft<'a> {
    pub(super) operation: Operation<'a>,
    server: ServerAddress,
    /// Parameters of the operation; those of the query and the headers may not be sent.
    pub(super) parameters: Vec<Parameter<'a>>,
    pub(super) path: Vec<PathPiece>,
    /// Pieces of the path whose values other requests know.
    pub(super) answered: HashSet<usize>,
    /// Escaped names and values.
    pub(super) query: Vec<(String, Text)>,
    pub(super) headers: Vec<(String, Text)>,
    cookies: Vec<(String, Text)>,
    pub(super) access: Access,
    pub(super) body: RequestBody,
    pub(super) answers: Answers,
}

/// A piece of a path.
#[derive(Debug, Clone)]
pub(super) enum PathPiece {
    /// Escaped text of the template.
    Fixed(String),
    /// Value of a parameter.
    Value {
        name: String,
        /// Escaped value.
        text: Text,
        /// The schema allows only certain values, or the user gave one, so no other is searched for.
        is_fixed: bool,
    },
}

impl<'a> RequestDraft<'a> {
    pub(super) fn new(
        document: &ApiDocument<'a>,
        operation: Operation<'a>,
        servers: &Servers,
    ) -> Self {
        let parameters = read_parameters(document, &operation);
        let mut draft = Self {
            server: servers.find(document, operation.node, operation.path_item),
            path: fill_template(document, &operation, &parameters),
            answered: HashSet::new(),
            query: Vec::new(),
            headers: Vec::new(),
            cookies: Vec::new(),
            access: read_access(document, operation.node),
            body: make_body(document, &operation, &parameters),
            answers: read_answers(document, &operation),
            operation,
            parameters: Vec::new(),
        };
        for parameter in &parameters {
            draft.add_parameter(document, parameter);
        }
        draft.parameters = parameters;
        draft
    }

    fn add_parameter(&mut self, document: &ApiDocument<'a>, parameter: &Parameter<'a>) {
        let name = parameter.name;
        if parameter.place == "path" {
            if !self.has_path_value(name) {
                let words = format!(
                    "`{}` is not part of `{}`: it is left out",
                    shorten(name),
                    shorten(&self.operation.path)
                );
                document.warn(&parameter.node.beginning(), words);
            }
            return;
        }
        if matches!(parameter.place, "body" | "formData") || !parameter.is_sent(document) {
            return;
        }
        let value = parameter.value(document);
        let style = parameter.style(document);
        if parameter.place == "query" {
            if !self.is_key(name) {
                self.query.extend(style.write_query(name, &value));
            }
            return;
        }
        let text = style.write_header(&value);
        let shown = text.shown(|_| String::new());
        let is_header = shown.bytes().all(|byte| (b' '..0x7f).contains(&byte));
        if !is_header || !is_token(name) {
            let words = format!("`{}` cannot be sent as a header", shorten(name));
            document.warn(&parameter.node.span, words);
        } else if parameter.place == "header" {
            if !self.is_key(name) {
                self.headers.push((name.to_owned(), text));
            }
        } else if !self.access.cookies.iter().any(|(key, _)| key == name) {
            for (name, value) in style.write_query(name, &value) {
                let what = format!("the cookie `{}`", shorten(&name));
                let value = Some(value).filter(Text::has_values);
                let value = value.unwrap_or_else(|| document.add_secret(&name, &what));
                self.cookies.push((name, value));
            }
        }
    }

    /// Returns the names of its parameters in the path, the query and the headers.
    pub(super) fn parameter_names(&self) -> impl Iterator<Item = &str> {
        let in_path = self.path.iter().filter_map(|piece| match piece {
            PathPiece::Value { name, .. } => Some(name.as_str()),
            PathPiece::Fixed(_) => None,
        });
        let declared = self.parameters.iter();
        let declared = declared.filter(|one| matches!(one.place, "query" | "header"));
        in_path.chain(declared.map(|one| one.name))
    }

    fn has_path_value(&self, wanted: &str) -> bool {
        let mut pieces = self.path.iter();
        pieces.any(|piece| matches!(piece, PathPiece::Value { name, .. } if name == wanted))
    }

    /// Returns whether a security scheme sends this name.
    fn is_key(&self, name: &str) -> bool {
        let mut keys = self.access.headers.iter().chain(&self.access.query);
        keys.any(|(key, _)| key.eq_ignore_ascii_case(name))
    }

    /// Returns the template of the path without names, by which paths are compared.
    pub(super) fn shape(&self) -> String {
        self.shape_before(self.path.len())
    }

    /// Returns the shape of the collection whose item a value names: the path before the value.
    pub(super) fn collection(&self, piece: usize) -> Option<String> {
        let before = self.path[..piece].last();
        let begins = matches!(before, Some(PathPiece::Fixed(text)) if text.ends_with('/'));
        let ends = match self.path.get(piece + 1) {
            None => true,
            Some(PathPiece::Fixed(text)) => text.starts_with('/'),
            Some(PathPiece::Value { .. }) => false,
        };
        (begins && ends).then(|| self.shape_before(piece))
    }

    fn shape_before(&self, piece: usize) -> String {
        let pieces = self.path[..piece].iter().map(|piece| match piece {
            PathPiece::Fixed(text) => text,
            PathPiece::Value { .. } => "{}",
        });
        let shape: String = pieces.collect();
        shape.trim_end_matches('/').to_owned()
    }

    /// Returns whether the path ends with a value.
    pub(super) fn is_of_item(&self) -> bool {
        let mut pieces = self.path.iter().rev();
        let last = pieces.find(|piece| !matches!(piece, PathPiece::Fixed(text) if text == "/"));
        matches!(last, Some(PathPiece::Value { .. }))
    }

    fn target(&self) -> Text {
        let mut target = Text::literal(self.server.prefix.as_str());
        for piece in &self.path {
            match piece {
                PathPiece::Fixed(text) => target.push_str(text),
                PathPiece::Value { text, .. } => target.append(text.clone()),
            }
        }
        let sent = self.query.iter().map(|(name, value)| (name.clone(), value));
        let keys = self.access.query.iter();
        let keys = keys.map(|(name, value)| (escape_url(name), value));
        for (name, value) in sent.chain(keys) {
            target.push_query(value.clone().between(&format!("{name}="), ""));
        }
        target
    }

    /// Makes the exchange.
    pub(super) fn finish(self, group: Option<usize>) -> Exchange {
        let target = self.target();
        let bearer = self.access.bearer;
        let bearer = bearer.map(|it| Header::new("authorization", it.between("Bearer ", "")));
        let keys = self.access.headers.into_iter();
        let keys = keys.map(|(name, value)| Header::new(name.to_ascii_lowercase(), value));
        let accept = self.answers.has_choice;
        let accept = accept.then(|| Header::new("accept", "application/json"));
        let sent = self.headers.into_iter();
        let sent = sent.map(|(name, value)| Header::new(name.to_ascii_lowercase(), value));
        let mut cookies = Text::default();
        for (name, value) in self.cookies.into_iter().chain(self.access.cookies) {
            cookies.push_pair("; ", &name, value);
        }
        let cookie = (!cookies.is_empty()).then(|| Header::new("cookie", cookies));
        let content_type = self.body.content_type;
        let content_type = content_type.map(|value| Header::new("content-type", value));
        let headers = bearer.into_iter().chain(keys).chain(accept).chain(sent);
        let pattern = format!("{}{}", self.server.prefix, self.operation.path);
        Exchange {
            span: self.operation.span.clone(),
            description: self.operation.description(),
            name: step_name(&self.operation),
            method: self.operation.method,
            origin: self.server.origin,
            target,
            headers: headers.chain(cookie).chain(content_type).collect(),
            credentials: self.access.credentials,
            body: self.body.body,
            group,
            pattern: Some(pattern),
            expect: self.answers.expect,
            answer: self.answers.example,
            stream: self.answers.is_stream.then(EventStream::default),
            ..Exchange::default()
        }
    }
}

/// Splits the template of a path into its pieces.
fn fill_template<'a>(
    document: &ApiDocument<'a>,
    operation: &Operation<'a>,
    parameters: &[Parameter<'a>],
) -> Vec<PathPiece> {
    let mut pieces = Vec::new();
    let mut rest = operation.path.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        pieces.push(PathPiece::Fixed(percent_encode_except(before, IN_TEMPLATE)));
        pieces.push(make_path_value(document, operation, parameters, name));
        rest = after;
    }
    pieces.push(PathPiece::Fixed(percent_encode_except(rest, IN_TEMPLATE)));
    pieces.retain(|piece| !matches!(piece, PathPiece::Fixed(text) if text.is_empty()));
    pieces
}

fn make_path_value<'a>(
    document: &ApiDocument<'a>,
    operation: &Operation<'a>,
    parameters: &[Parameter<'a>],
    name: &str,
) -> PathPiece {
    let mut declared = parameters.iter();
    let declared = declared.find(|parameter| parameter.place == "path" && parameter.name == name);
    let text = declared.map(|parameter| {
        let value = parameter.value(document);
        parameter.style(document).write_path(&value)
    });
    if text.is_none() {
        let words = format!("`{{{}}}` of this path is described nowhere", shorten(name));
        document.warn(&operation.span, words);
    }
    let given = document.given_value(name);
    let text = text.or_else(|| given.map(|given| Text::literal(escape_url(given))));
    // Such a segment leads to another place.
    let text = text.filter(|text| !matches!(text.as_literal(), Some("" | "." | "..")));
    PathPiece::Value {
        name: name.to_owned(),
        text: text.unwrap_or_else(|| Text::literal("1")),
        is_fixed: given.is_some()
            || declared.is_some_and(|declared| declared.has_fixed_values(document)),
    }
}

//! The request that the attribute of a step declares.

use super::header::ResolvedHeader;
use super::names::{NameUser, NotEarlier, ScenarioNames};
use super::payload::{RequestFiles, ResolvedBody};
use super::values::{constant, value_of_user};
use super::{ResolvedScenario, ResolvedStep, secrets};
use crate::options::{TemplateValue, check_header_name, escape_json, opening_url};
use crate::suggest::{MacroErrors, did_you_mean};
use crate::template::{PathSegment, PlaceholderPath, Template, TemplatePart};
use proc_macro2::{Span, TokenStream};

/// A declared request, all its placeholders resolved.
pub(crate) struct ResolvedRequest {
    pub(crate) method: String,
    /// True for one that opens a WebSocket, whose URL may be one of `ws://`.
    pub(crate) opens_websocket: bool,
    /// True for a GraphQL operation whose fields are parameters of the URL.
    pub(crate) is_graphql_by_get: bool,
    pub(crate) url: Vec<RequestPiece>,
    pub(crate) headers: Vec<ResolvedHeader>,
    pub(crate) body: Option<ResolvedBody>,
    /// The files that the body names by number.
    pub(crate) files: RequestFiles,
}

/// A part of a text that is written at run time.
pub(crate) enum RequestPiece {
    Text(String),
    Value(Placeholder, ValueEncoding),
    /// An expression.
    Rust(TokenStream, ValueEncoding),
    /// The content of the file with this number.
    File(usize),
    /// Its content type.
    FileType(usize),
    /// A `?` or `&`, whichever the URL so far needs.
    BeginQuery,
}

/// The encoding of a value for its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueEncoding {
    Raw,
    Url,
    Query,
    Form,
    JsonText,
    JsonValue,
}

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueOrigin {
    Step(usize),
    /// The row with that number of those that an iteration has.
    Feed {
        at: usize,
        row: usize,
    },
    State(usize),
    Setup(usize),
    Secret,
}

impl ValueOrigin {
    pub(super) fn step_index(self) -> Option<usize> {
        match self {
            Self::Step(step) => Some(step),
            _ => None,
        }
    }

    /// Returns true if the value must not be shown, not even in an error about an invalid URL.
    pub(crate) fn is_private(self) -> bool {
        !matches!(self, Self::Step(_))
    }
}

pub(crate) struct Placeholder {
    pub(crate) origin: ValueOrigin,
    /// The expression, for the dependency ledger.
    pub(crate) variable: String,
    pub(crate) access: ValueAccess,
    /// True for a value in the answer of a step that answers `Graph<T>`.
    pub(crate) is_graph: bool,
    /// The name of the step or value where it is a token of its own.
    pub(crate) root: Option<(String, Span)>,
    /// The place to blame when the value cannot be written.
    pub(crate) span: Span,
}

pub(crate) enum ValueAccess {
    /// A response header of a step; the name is lower case.
    Header {
        step: usize,
        name: String,
    },
    /// A cookie that the answer of a step sets.
    Cookie {
        step: usize,
        name: String,
    },
    /// Fields that rustc checks; for each whether it is in a literal.
    Typed {
        segments: Vec<(PathSegment, Span)>,
        in_literal: bool,
    },
    Untyped(Vec<PathSegment>),
    /// The name of a secret.
    Secret(String),
}

impl Placeholder {
    /// The name of the secret, if it is one.
    pub(crate) fn secret_name(&self) -> Option<&str> {
        match &self.access {
            ValueAccess::Secret(name) => Some(name),
            _ => None,
        }
    }

    /// Its name where that has a place of its own, else its end.
    pub(super) fn name_span(&self) -> Span {
        self.root.as_ref().map_or(self.span, |(_, span)| *span)
    }
}

impl ResolvedRequest {
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        let body = self.body.iter().flat_map(ResolvedBody::pieces);
        self.url
            .iter()
            .filter_map(RequestPiece::placeholder)
            .chain(self.headers.iter().flat_map(ResolvedHeader::placeholders))
            .chain(body.filter_map(RequestPiece::placeholder))
    }
}

impl RequestPiece {
    pub(crate) fn placeholder(&self) -> Option<&Placeholder> {
        match self {
            Self::Value(placeholder, _) => Some(placeholder),
            _ => None,
        }
    }
}

/// The request of the step with the number `at`; `None` where there is a mistake, which is noted.
pub(super) fn resolve_request(
    at: usize,
    scenario: &ResolvedScenario,
    names: &ScenarioNames,
    errors: &mut MacroErrors,
) -> Option<ResolvedRequest> {
    let before = errors.len();
    let step = &scenario.steps[at];
    let Some(call) = &step.options.call else {
        let name = &step.name;
        if step.options.is_broken {
            return None;
        }
        errors.add_at(
            step.ident.span(),
            format!(
                "step `{name}` has no body and no request: add `get = \"/path\"` to its `#[step]`, \
                 or a body `{{ Request::get(...) }}`"
            ),
        );
        return None;
    };
    let mut resolver = RequestResolver {
        at,
        scenario,
        names,
        errors,
    };
    let mut url = resolver.resolve_url(call.url.as_ref()?);
    let opens_websocket = call.opens_websocket();
    if let (true, Some(RequestPiece::Text(start))) = (opens_websocket, url.first_mut()) {
        *start = opening_url(start);
    }
    resolver.resolve_query(&step.options.query, &mut url);
    let headers = resolver.resolve_headers(&step.options.headers);
    let boundary = format!("loadtest-{}", step.fingerprint);
    let mut files = RequestFiles::default();
    let body = step.options.body.as_ref();
    let body = body.map(|body| resolver.resolve_body(body, &mut files, &boundary));
    (errors.len() == before).then(|| ResolvedRequest {
        method: call.sent_method(),
        opens_websocket,
        is_graphql_by_get: step.options.graphql.document.is_some() && call.method == "get",
        url,
        headers,
        body,
        files,
    })
}

pub(super) struct RequestResolver<'a> {
    /// The number of the step that uses the values; with that of all steps, it is the scenario.
    pub(super) at: usize,
    pub(super) scenario: &'a ResolvedScenario,
    pub(super) names: &'a ScenarioNames,
    pub(super) errors: &'a mut MacroErrors,
}

impl RequestResolver<'_> {
    /// A value at the very start holds a path or a whole URL, which is not encoded once more.
    fn resolve_url(&mut self, template: &Template) -> Vec<RequestPiece> {
        let mut pieces = self.resolve_template(template, ValueEncoding::Url);
        if let Some(RequestPiece::Value(_, sink) | RequestPiece::Rust(_, sink)) = pieces.first_mut()
        {
            *sink = ValueEncoding::Raw;
        }
        pieces
    }

    pub(super) fn resolve_template(
        &mut self,
        template: &Template,
        sink: ValueEncoding,
    ) -> Vec<RequestPiece> {
        template
            .parts
            .iter()
            .filter_map(|part| match part {
                TemplatePart::Text(text) => Some(RequestPiece::Text(text.clone())),
                TemplatePart::Value(path) => self.resolve_value(path, sink),
            })
            .collect()
    }

    pub(super) fn resolve_value(
        &mut self,
        path: &PlaceholderPath,
        sink: ValueEncoding,
    ) -> Option<RequestPiece> {
        if path.root == "vu" {
            let value = self.errors.ok_or_note(value_of_user(path))?;
            return Some(RequestPiece::Rust(value, sink));
        }
        if self.names_constant(path) {
            return Some(RequestPiece::Rust(constant(path), sink));
        }
        let resolved = self.resolve_placeholder(path);
        let placeholder = self.errors.ok_or_note(resolved)?;
        Some(RequestPiece::Value(placeholder, sink))
    }

    pub(super) fn resolve_json(&mut self, json: &TemplateValue, pieces: &mut Vec<RequestPiece>) {
        match json {
            TemplateValue::Constant(text) => push_text(pieces, text),
            TemplateValue::Text(template) => {
                push_text(pieces, "\"");
                for part in &template.parts {
                    match part {
                        TemplatePart::Text(text) => push_text(pieces, &escape_json(text)),
                        TemplatePart::Value(path) => {
                            pieces.extend(self.resolve_value(path, ValueEncoding::JsonText));
                        }
                    }
                }
                push_text(pieces, "\"");
            }
            TemplateValue::Value(path) => {
                pieces.extend(self.resolve_value(path, ValueEncoding::JsonValue));
            }
            TemplateValue::Word(word) => self.refuse_word(word, "a JSON value"),
            // a word of JSON, refused there
            TemplateValue::File(_) => {}
            TemplateValue::Rust(expression) => {
                pieces.push(RequestPiece::Rust(
                    expression.clone(),
                    ValueEncoding::JsonValue,
                ));
            }
            TemplateValue::Array(values) => {
                push_text(pieces, "[");
                for (i, value) in values.iter().enumerate() {
                    push_text(pieces, if i > 0 { "," } else { "" });
                    self.resolve_json(value, pieces);
                }
                push_text(pieces, "]");
            }
            TemplateValue::Object(fields) => {
                push_text(pieces, "{");
                for (i, (key, value)) in fields.iter().enumerate() {
                    push_text(pieces, if i > 0 { ",\"" } else { "\"" });
                    push_text(pieces, &escape_json(&key.value()));
                    push_text(pieces, "\":");
                    self.resolve_json(value, pieces);
                }
                push_text(pieces, "}");
            }
        }
    }

    fn resolve_placeholder(&mut self, path: &PlaceholderPath) -> syn::Result<Placeholder> {
        let source = &path.source;
        let last = path.segments.last().map_or(path.span, |(_, span)| *span);
        let placeholder = |origin, access, name: &str| Placeholder {
            origin,
            variable: source.clone(),
            access,
            is_graph: false,
            root: (!path.in_literal && path.root == name).then(|| (path.root.clone(), path.span)),
            span: last,
        };
        if path.root == secrets::SECRET_ROOT {
            let access = ValueAccess::Secret(secrets::secret_name(path)?);
            return Ok(placeholder(
                ValueOrigin::Secret,
                access,
                secrets::SECRET_ROOT,
            ));
        }
        let step = self.names.earlier_step(&path.root, self.at);
        if matches!(step, Err(NotEarlier::Unknown))
            && let Some(origin) = self.names.find_value(&path.root)
        {
            let (origin, segments) = self.settle_row(path, origin)?;
            let access = self.value_access(path, origin, segments)?;
            return Ok(placeholder(origin, access, &path.root));
        }
        let step = step.map_err(|reason| {
            let names = self.names;
            let steps = names.steps.iter().take(self.at);
            let values = names.feeds.iter().chain(&names.states).chain(&names.setups);
            let known = steps.chain(values).map(String::as_str);
            let known: Vec<&str> = known.chain(["vu", secrets::SECRET_ROOT]).collect();
            let (at, is_async) = (self.at, false);
            let who = self.scenario.steps.get(at);
            let who = who.map_or("header", |step| &step.name);
            let reader = NameUser::Step { at, is_async };
            let why = names.explain_refusal(&reason, &path.root, reader, who, &known);
            syn::Error::new(path.span, format!("`{{{{{source}}}}}`: {why}"))
        })?;
        let upstream = &self.scenario.steps[step];
        let access = response_access(path, step, upstream)?;
        Ok(Placeholder {
            is_graph: upstream.response.graph_data.is_some(),
            ..placeholder(ValueOrigin::Step(step), access, &upstream.name)
        })
    }
}

/// A path through a value: a response, or a row.
pub(super) fn access_through(
    segments: &[(PathSegment, Span)],
    path: &PlaceholderPath,
    is_untyped: bool,
    what: &str,
) -> syn::Result<ValueAccess> {
    if is_untyped {
        return Ok(ValueAccess::Untyped(
            segments
                .iter()
                .map(|(segment, _)| segment.clone())
                .collect(),
        ));
    }
    for (segment, span) in segments {
        if let PathSegment::Field(name) = segment
            && !is_field_name(name)
        {
            if name.bytes().all(|byte| byte.is_ascii_digit()) {
                let instead = path
                    .source
                    .replacen(&format!(".{name}"), &format!("[{name}]"), 1);
                return Err(syn::Error::new(
                    *span,
                    format!("an element of a list has its number in brackets: `{{{{{instead}}}}}`"),
                ));
            }
            return Err(syn::Error::new(
                *span,
                format!(
                    "`{name}` is not a Rust field name: this {what} is typed, so use its Rust field \
                     names"
                ),
            ));
        }
    }
    Ok(ValueAccess::Typed {
        segments: segments.to_vec(),
        in_literal: path.in_literal,
    })
}

fn response_access(
    path: &PlaceholderPath,
    step: usize,
    upstream: &ResolvedStep,
) -> syn::Result<ValueAccess> {
    let (source, root) = (&path.source, &path.root);
    let error = |span, message: String| {
        Err(syn::Error::new(
            span,
            format!("`{{{{{source}}}}}`: {message}"),
        ))
    };
    let Some(((PathSegment::Field(kind), span), rest)) = path.segments.split_first() else {
        return error(
            path.span,
            format!(
                "which value? `{{{{{root}.response.field}}}}` or `{{{{{root}.headers.name}}}}`"
            ),
        );
    };
    match (kind.as_str(), rest) {
        ("response", rest) if upstream.response.is_untyped => {
            access_through(rest, path, true, "response")
        }
        ("response", _) if upstream.response.is_socket() => error(
            *span,
            format!("`{root}` is a WebSocket, which `async` steps use: `{root}: &Socket<T>`"),
        ),
        ("response", _) if upstream.response.is_unit => error(*span, upstream.explain_not_read()),
        ("response", [(PathSegment::Field(field), span), ..])
            if upstream.response.is_list && is_field_name(field) =>
        {
            let rest = source.trim_start_matches(&format!("{root}.response"));
            let instead = format!("`{{{{{root}.response[0]{rest}}}}}`");
            error(
                *span,
                format!("the answer of `{root}` is a list: write {instead}"),
            )
        }
        ("response", rest) => access_through(rest, path, false, "response"),
        ("headers", [(PathSegment::Field(name) | PathSegment::Key(name), span)]) => {
            check_header_name(name, *span)?;
            let name = name.to_ascii_lowercase();
            Ok(ValueAccess::Header { step, name })
        }
        ("headers", _) => error(
            *span,
            format!("name one header: `{{{{{root}.headers.location}}}}`"),
        ),
        ("cookies", [(PathSegment::Field(name) | PathSegment::Key(name), _)]) => {
            let name = name.clone();
            Ok(ValueAccess::Cookie { step, name })
        }
        ("cookies", _) => error(
            *span,
            format!("name one cookie: `{{{{{root}.cookies.csrf}}}}`"),
        ),
        (other, rest) => {
            let near = did_you_mean(other, ["response", "headers", "cookies"]);
            let hint = if near.is_empty() && rest.is_empty() {
                format!("; did you mean `{{{{{root}.response.{other}}}}}`?")
            } else {
                near
            };
            error(
                *span,
                format!("a step has `response`, `headers` and `cookies`, not `{other}`{hint}"),
            )
        }
    }
}

/// Returns true if `name` can be an identifier, possibly a raw one.
pub(crate) fn is_field_name(name: &str) -> bool {
    let is_word = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    is_word && !["_", "self", "Self", "super", "crate"].contains(&name)
}

pub(super) fn push_text(pieces: &mut Vec<RequestPiece>, text: &str) {
    if let Some(RequestPiece::Text(last)) = pieces.last_mut() {
        last.push_str(text);
    } else if !text.is_empty() {
        pieces.push(RequestPiece::Text(text.to_owned()));
    }
}

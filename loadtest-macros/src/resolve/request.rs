//! The request that the attribute of a step declares.

use super::header::Header;
use super::names::{Names, NotEarlier};
use super::payload::{Files, Payload};
use super::{Feed, Step, secrets, shape};
use crate::options::{Json, escape, header_name};
use crate::suggest::{Errors, did_you_mean, listed};
use crate::template::{Part, Path, Segment, Template};
use proc_macro2::{Span, TokenStream};

/// A declared request, all its placeholders resolved.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) url: Vec<Piece>,
    pub(crate) headers: Vec<Header>,
    pub(crate) body: Option<Payload>,
    /// The files that the body names by number.
    pub(crate) files: Files,
}

/// A part of a text that is written at run time.
pub(crate) enum Piece {
    Text(String),
    Value(Placeholder, Sink),
    /// An expression.
    Rust(TokenStream, Sink),
    /// What is in the file with that number.
    File(usize),
    /// Its content type.
    FileType(usize),
    /// A `?` or `&`, whichever the URL so far needs.
    BeginQuery,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sink {
    Raw,
    Url,
    Query,
    Form,
    JsonText,
    JsonValue,
}

/// What a value is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Step(usize),
    Feed(usize),
    Secret,
}

impl Origin {
    pub(super) fn step(self) -> Option<usize> {
        match self {
            Self::Step(step) => Some(step),
            Self::Feed(_) | Self::Secret => None,
        }
    }

    /// Whether its value is shown nowhere, not even in a URL that is none.
    pub(crate) fn is_private(self) -> bool {
        matches!(self, Self::Feed(_) | Self::Secret)
    }
}

pub(crate) struct Placeholder {
    pub(crate) origin: Origin,
    /// The expression, for the dependency ledger.
    pub(crate) variable: String,
    pub(crate) access: Access,
    /// The name of the step or feed where it is a token of its own.
    pub(crate) root: Option<(String, Span)>,
    /// The place to blame when the value cannot be written.
    pub(crate) span: Span,
}

pub(crate) enum Access {
    /// Of a step; the name in lower case.
    Header {
        step: usize,
        name: String,
    },
    /// Fields that rustc checks; for each whether it is in a literal.
    Typed {
        segments: Vec<(Segment, Span)>,
        in_literal: bool,
    },
    Untyped(Vec<Segment>),
    /// Of no answer: the name of a secret.
    Secret(String),
}

impl Placeholder {
    /// The name of the secret that it stands for.
    pub(crate) fn secret(&self) -> Option<&str> {
        match &self.access {
            Access::Secret(name) => Some(name),
            _ => None,
        }
    }

    /// Its name where that has a place of its own, else its end.
    pub(super) fn place(&self) -> Span {
        self.root.as_ref().map_or(self.span, |(_, span)| *span)
    }
}

impl Request {
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        let body = self.body.iter().flat_map(Payload::pieces);
        self.url
            .iter()
            .filter_map(Piece::placeholder)
            .chain(self.headers.iter().flat_map(Header::placeholders))
            .chain(body.filter_map(Piece::placeholder))
    }
}

impl Piece {
    pub(crate) fn placeholder(&self) -> Option<&Placeholder> {
        match self {
            Self::Value(placeholder, _) => Some(placeholder),
            _ => None,
        }
    }
}

/// The request of the step with the number `at`; `None` where there is a mistake, which is noted.
pub(super) fn resolve(
    at: usize,
    steps: &[Step],
    feeds: &[Feed],
    names: &Names,
    errors: &mut Errors,
) -> Option<Request> {
    let before = errors.len();
    let step = &steps[at];
    let Some(call) = &step.options.call else {
        let name = &step.name;
        if step.options.names_method {
            return None;
        }
        errors.at(
            step.ident.span(),
            format!(
                "step `{name}` has no body and no request: add `get = \"/path\"` to its `#[step]`, \
                 or a body `{{ Request::get(...) }}`"
            ),
        );
        return None;
    };
    let mut resolver = Resolver {
        at,
        steps,
        feeds,
        names,
        errors,
    };
    let mut url = resolver.url(call.url.as_ref()?);
    resolver.query(&step.options.query, &mut url);
    let headers = resolver.headers(&step.options.headers);
    let boundary = format!("loadtest-{}", step.fingerprint);
    let mut files = Files::default();
    let body = step.options.body.as_ref();
    let body = body.map(|body| resolver.payload(body, &mut files, &boundary));
    (errors.len() == before).then(|| Request {
        method: call.method.to_string().to_uppercase(),
        url,
        headers,
        body,
        files,
    })
}

pub(super) struct Resolver<'a> {
    /// The number of the step that uses the values; with that of all steps, it is the scenario.
    pub(super) at: usize,
    pub(super) steps: &'a [Step],
    pub(super) feeds: &'a [Feed],
    pub(super) names: &'a Names,
    pub(super) errors: &'a mut Errors,
}

impl Resolver<'_> {
    /// A value at the very start holds a path or a whole URL, which is not encoded once more.
    fn url(&mut self, template: &Template) -> Vec<Piece> {
        let mut pieces = self.pieces(template, Sink::Url);
        if let Some(Piece::Value(_, sink)) = pieces.first_mut() {
            *sink = Sink::Raw;
        }
        pieces
    }

    pub(super) fn pieces(&mut self, template: &Template, sink: Sink) -> Vec<Piece> {
        template
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(Piece::Text(text.clone())),
                Part::Value(path) => self.value(path, sink),
            })
            .collect()
    }

    pub(super) fn value(&mut self, path: &Path, sink: Sink) -> Option<Piece> {
        let resolved = self.placeholder(path);
        let placeholder = self.errors.note(resolved)?;
        Some(Piece::Value(placeholder, sink))
    }

    pub(super) fn json(&mut self, json: &Json, pieces: &mut Vec<Piece>) {
        match json {
            Json::Constant(text) => push_text(pieces, text),
            Json::Text(template) => {
                push_text(pieces, "\"");
                for part in &template.parts {
                    match part {
                        Part::Text(text) => push_text(pieces, &escape(text)),
                        Part::Value(path) => pieces.extend(self.value(path, Sink::JsonText)),
                    }
                }
                push_text(pieces, "\"");
            }
            Json::Value(path) => pieces.extend(self.value(path, Sink::JsonValue)),
            Json::Word(word) => self.refuse_word(word, "a JSON value"),
            Json::Rust(expression) => self.rust(expression, Sink::JsonValue, pieces),
            Json::Array(values) => {
                push_text(pieces, "[");
                for (i, value) in values.iter().enumerate() {
                    push_text(pieces, if i > 0 { "," } else { "" });
                    self.json(value, pieces);
                }
                push_text(pieces, "]");
            }
            Json::Object(fields) => {
                push_text(pieces, "{");
                for (i, (key, value)) in fields.iter().enumerate() {
                    push_text(pieces, if i > 0 { ",\"" } else { "\"" });
                    push_text(pieces, &escape(&key.value()));
                    push_text(pieces, "\":");
                    self.json(value, pieces);
                }
                push_text(pieces, "}");
            }
        }
    }

    pub(super) fn rust(&mut self, expression: &TokenStream, sink: Sink, pieces: &mut Vec<Piece>) {
        let how = |step: &str| format!("write `{{{{{step}.response...}}}}` for its answer");
        let is_step = |name: &str| self.names.steps.iter().any(|step| step == name);
        shape::refuse_calls(expression.clone(), &is_step, &how, self.errors);
        pieces.push(Piece::Rust(expression.clone(), sink));
    }

    fn placeholder(&mut self, path: &Path) -> syn::Result<Placeholder> {
        let source = &path.source;
        let who = self.steps.get(self.at).map_or("", |step| &step.name);
        let error = |span, message: String| {
            Err(syn::Error::new(
                span,
                format!("`{{{{{source}}}}}`: {message}"),
            ))
        };
        let last = path.segments.last().map_or(path.span, |(_, span)| *span);
        let placeholder = |origin, access, name: &str| Placeholder {
            origin,
            variable: source.clone(),
            access,
            root: (!path.in_literal && path.root == name).then(|| (path.root.clone(), path.span)),
            span: last,
        };
        if path.root == secrets::ROOT {
            let access = Access::Secret(secrets::name(path)?);
            return Ok(placeholder(Origin::Secret, access, secrets::ROOT));
        }
        let step = match self.names.earlier_step(&path.root, self.at) {
            Ok(step) => step,
            Err(NotEarlier::Itself) => {
                return error(
                    path.span,
                    format!("step `{who}` cannot use its own response"),
                );
            }
            Err(NotEarlier::Later(later)) => {
                return error(
                    path.span,
                    format!("`{later}` runs after `{who}`; a step can only use the steps above it"),
                );
            }
            Err(NotEarlier::NoSuchNumber(number)) => {
                let count = self.steps.len();
                return error(
                    path.span,
                    format!("there is no step {number}: this scenario has {count}"),
                );
            }
            // what only a function can look up is no reason to give up
            Err(
                NotEarlier::Unknown | NotEarlier::Row | NotEarlier::NoUser | NotEarlier::NotAsync,
            ) => {
                if let Some(at) = self.names.feed(&path.root) {
                    let feed = &self.feeds[at];
                    let access = row_access(path, feed)?;
                    return Ok(placeholder(Origin::Feed(at), access, &feed.name));
                }
                if let Some((what, taken)) = self.names.for_functions(&path.root) {
                    return error(
                        path.span,
                        format!(
                            "`{}` is {what}, and a placeholder stands for an answer or a row: let a \
                             function build the request, and take `{taken}`",
                            path.root
                        ),
                    );
                }
                let steps = self.names.steps[..self.at].iter();
                let known = || steps.clone().chain(&self.names.feeds).map(String::as_str);
                let hint = did_you_mean(&path.root, known());
                let there_is = if known().next().is_none() {
                    String::new()
                } else if who.is_empty() {
                    format!("; there is {}", listed(known()))
                } else {
                    format!("; above `{who}` there is {}", listed(known()))
                };
                let root = &path.root;
                let or_feed = if self.feeds.is_empty() {
                    ""
                } else {
                    " or feed"
                };
                return error(
                    path.span,
                    format!("no step{or_feed} named `{root}`{hint}{there_is}"),
                );
            }
        };
        let upstream = &self.steps[step];
        let access = access(path, step, upstream)?;
        Ok(placeholder(Origin::Step(step), access, &upstream.name))
    }
}

/// How a path goes through a row.
fn row_access(path: &Path, feed: &Feed) -> syn::Result<Access> {
    let (source, root) = (&path.source, &path.root);
    if let [(Segment::Field(kind), span), (next, _), ..] = path.segments.as_slice()
        && matches!(kind.as_str(), "response" | "headers")
    {
        let next = match next {
            Segment::Field(field) => format!(".{field}"),
            Segment::Index(index) => format!("[{index}]"),
            Segment::Key(key) => format!("['{key}']"),
        };
        return Err(syn::Error::new(
            *span,
            format!(
                "`{{{{{source}}}}}`: `{root}` is a feed, and its row has no `{kind}`: write \
                 `{{{{{root}{next}}}}}`"
            ),
        ));
    }
    through(&path.segments, path, feed.ty.is_untyped, "row")
}

/// A path through a value: a response, or a row.
fn through(
    segments: &[(Segment, Span)],
    path: &Path,
    is_untyped: bool,
    what: &str,
) -> syn::Result<Access> {
    if is_untyped {
        return Ok(Access::Untyped(
            segments
                .iter()
                .map(|(segment, _)| segment.clone())
                .collect(),
        ));
    }
    for (segment, span) in segments {
        if let Segment::Field(name) = segment
            && !is_field_name(name)
        {
            return Err(syn::Error::new(
                *span,
                format!(
                    "`{name}` is not a Rust field name: this {what} is typed, so use its Rust field \
                     names"
                ),
            ));
        }
    }
    Ok(Access::Typed {
        segments: segments.to_vec(),
        in_literal: path.in_literal,
    })
}

fn access(path: &Path, step: usize, upstream: &Step) -> syn::Result<Access> {
    let (source, root) = (&path.source, &path.root);
    let error = |span, message: String| {
        Err(syn::Error::new(
            span,
            format!("`{{{{{source}}}}}`: {message}"),
        ))
    };
    let Some(((Segment::Field(kind), span), rest)) = path.segments.split_first() else {
        return error(
            path.span,
            format!(
                "which value? `{{{{{root}.response.field}}}}` or `{{{{{root}.headers.name}}}}`"
            ),
        );
    };
    match (kind.as_str(), rest) {
        ("response", rest) if upstream.response.is_untyped => through(rest, path, true, "response"),
        ("response", _) if upstream.response.is_unit => error(*span, upstream.not_read()),
        ("response", rest) => through(rest, path, false, "response"),
        ("headers", [(Segment::Field(name) | Segment::Key(name), span)]) => {
            header_name(name, *span)?;
            let name = name.to_ascii_lowercase();
            Ok(Access::Header { step, name })
        }
        ("headers", _) => error(
            *span,
            format!("name one header: `{{{{{root}.headers.location}}}}`"),
        ),
        (other, rest) => {
            let near = did_you_mean(other, ["response", "headers"]);
            let hint = if near.is_empty() && rest.is_empty() {
                format!("; did you mean `{{{{{root}.response.{other}}}}}`?")
            } else {
                near
            };
            error(
                *span,
                format!("a step has `response` and `headers`, not `{other}`{hint}"),
            )
        }
    }
}

/// Whether it can be written as an identifier, if need be a raw one.
pub(crate) fn is_field_name(name: &str) -> bool {
    let is_word = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    is_word && !["_", "self", "Self", "super", "crate"].contains(&name)
}

pub(super) fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if let Some(Piece::Text(last)) = pieces.last_mut() {
        last.push_str(text);
    } else if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
}

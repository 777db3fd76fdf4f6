//! Descriptions of services: OpenAPI 3.1, 3.0 and 2.0, as JSON or YAML.
//!
//! Nothing but a document without any operation is refused. What it has in a wrong place, or of a wrong kind, is
//! told and left out; versions are told by what is there, since many a document mixes them.

mod answer;
mod body;
mod content;
mod draft;
mod flow;
mod journey;
mod links;
mod notes;
mod operations;
mod parameters;
mod places;
mod sample;
mod security;
mod servers;
mod style;
#[cfg(test)]
mod tests;

use super::document::{self, Node};
use super::marked::{Origin, Recording, Reference};
use super::source::{Input, Mistake};
use draft::{Draft, Given, Piece};
use flow::{From, Place, Want};
use journey::Journey;
use places::{Document, shortened};
use servers::Servers;
use std::collections::{HashMap, HashSet};

/// What is taken of a description.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenApiOptions {
    /// The tags whose operations are taken; without any, all.
    pub(crate) tags: Vec<String>,
    /// The operations that are taken, by identifier or as `GET /path`; without any, all.
    pub(crate) operations: Vec<String>,
    /// Where the service is, if not where the description says.
    pub(crate) base: Option<String>,
}

/// Reads a description.
///
/// # Errors
/// The text is no description of a service, or none of its operations is asked for.
pub(crate) fn read_openapi(input: &Input, options: &OpenApiOptions) -> Result<Recording, Mistake> {
    let mut root = document::read(input)?;
    let doubles = document::without_doubles(&mut root);
    let document = Document::new(&root, &input.text);
    for doubled in doubles {
        document.note(&doubled.span, doubled.words);
    }
    version(&document)?;
    let operations = operations::operations(&document, options)?;
    let servers = Servers::new(&document, options.base.as_deref())?;
    let mut drafts = Vec::new();
    for operation in operations {
        drafts.push(Draft::new(&document, operation, &servers));
    }
    let wants = flow::wants(&drafts, links::links(&document, &drafts));
    let journey = journey::journey(&root, &drafts, &wants);
    let references = references(&document, &mut drafts, &wants, &journey.order);
    made_up(&document, &drafts, &references.filled);
    let mut recording = Recording {
        references: references.all,
        base: Some(servers.usual().origin.clone()),
        ..about(&root)
    };
    recording.client.keeps_cookies = drafts.iter().any(|draft| draft.answers.sets_cookies);
    told_once(&document, &drafts);
    exchanges(drafts, journey, &mut recording);
    let sent = markers(&document, &recording);
    recording.hidden = document.hidden();
    recording.keys = security::keys(&document);
    let (notes, secrets) = document.finish();
    recording.notes = notes;
    recording.secrets = secrets
        .into_iter()
        .filter(|secret| sent.contains(&secret.value))
        .collect();
    Ok(recording)
}

/// Whether it is such a description, of a version that is known.
fn version(document: &Document<'_>) -> Result<(), Mistake> {
    let root = document.root;
    let start = document.start();
    let said = root.get("openapi").or_else(|| root.get("swagger"));
    let Some(said) = said else {
        if root.get("paths").is_some_and(Node::is_object) {
            let words =
                "the document does not say which version of OpenAPI it is: it is read as 3.1";
            document.note(&start, words);
            return Ok(());
        }
        return Err(Mistake::new(start, "this is no OpenAPI document")
            .help("one begins with `openapi: 3.1.0` or `swagger: \"2.0\"`, and has `paths`"));
    };
    let version = said.scalar().unwrap_or_default();
    if version.starts_with("1.") {
        return Err(
            Mistake::new(said.span.clone(), "this is of Swagger 1, which is not read")
                .help("convert it to version 2.0 or 3"),
        );
    }
    let is_known = ["2", "3.0", "3.1", "3.2"].iter().any(|known| {
        version
            .strip_prefix(known)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    if !is_known && version != "3" {
        let words = format!(
            "`{}` is no version of OpenAPI that is known: it is read as 3.1",
            shortened(&version)
        );
        document.note(&said.span, words);
    }
    if let (Some(_), Some(swagger)) = (root.get("openapi"), root.name("swagger")) {
        let words = format!(
            "the document says `openapi` {} and `swagger`: it is read as the former, with what it has of the latter",
            shortened(&version)
        );
        document.note(&swagger, words);
    }
    if !root.get("info").is_some_and(Node::is_object) {
        document.note(&start, "the document has no `info`: it has no name");
    }
    Ok(())
}

/// What the document says about itself.
fn about(root: &Node<'_>) -> Recording {
    let text = |key| {
        let text = root.at(&["info", key])?.text()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    Recording {
        name: text("title"),
        description: text("description").or_else(|| text("summary")),
        ..Recording::default()
    }
}

/// The references, and which places of which drafts they are in.
struct References {
    all: Vec<Reference>,
    /// The pieces of paths whose values are known, by draft.
    filled: Vec<(usize, usize)>,
}

/// Puts markers in the place of values, where what they come from is asked for before.
fn references(
    document: &Document<'_>,
    drafts: &mut [Draft<'_>],
    wants: &[Want],
    order: &[usize],
) -> References {
    let mut places = vec![0; drafts.len()];
    for (place, number) in order.iter().enumerate() {
        places[*number] = place;
    }
    let mut all: Vec<Reference> = Vec::new();
    let mut known: HashMap<String, String> = HashMap::new();
    let mut filled = Vec::new();
    for want in wants {
        if places[want.origin] >= places[want.user] {
            continue;
        }
        let marker = match origin(&want.from, places[want.origin]) {
            None => match &want.from {
                From::Sent(text) => text.clone(),
                _ => continue,
            },
            Some(from) => {
                let key = format!("{from:?} {:?}", want.confidence);
                let number = all.len();
                let new = || {
                    let marker = document.marker('r', number);
                    all.push(Reference {
                        marker: marker.clone(),
                        from,
                        is_bare: want.is_bare,
                        confidence: want.confidence,
                        why: want.why.clone(),
                    });
                    marker
                };
                known.entry(key).or_insert_with(new).clone()
            }
        };
        put(&mut drafts[want.user], &want.place, marker);
        if let Place::Piece(piece) = want.place {
            filled.push((want.user, piece));
        }
    }
    References { all, filled }
}

fn origin(from: &From, exchange: usize) -> Option<Origin> {
    Some(match from {
        From::Body(path) => Origin::Body {
            exchange,
            path: path.clone(),
        },
        From::Header(name) => Origin::Header {
            exchange,
            name: name.clone(),
        },
        From::End { header, before } => Origin::Part {
            exchange,
            name: header.clone(),
            before: before.clone(),
            after: String::new(),
        },
        From::Sent(_) => return None,
    })
}

fn put(draft: &mut Draft<'_>, place: &Place, value: String) {
    match place {
        Place::Piece(number) => {
            if let Some(Piece::Value { text, .. }) = draft.pieces.get_mut(*number) {
                *text = value;
            }
        }
        Place::Field(name) => draft.sent.put(name, value),
        Place::Bearer => draft.access.bearer = Some(value),
        Place::Query(name) | Place::Header(name) => {
            let given = if matches!(place, Place::Query(_)) {
                &mut draft.query
            } else {
                &mut draft.headers
            };
            given.retain(|given| given.parameter != *name);
            given.push(Given {
                parameter: name.clone(),
                name: style::escaped(name, false),
                text: value,
            });
        }
    }
}

/// Says which values of paths are made up, once for each parameter.
fn made_up(document: &Document<'_>, drafts: &[Draft<'_>], filled: &[(usize, usize)]) {
    let filled: HashSet<_> = filled.iter().copied().collect();
    let mut users: Vec<(&str, &str, usize, usize)> = Vec::new();
    let mut known: HashMap<(&str, &str), usize> = HashMap::new();
    for (number, draft) in drafts.iter().enumerate() {
        for (at, piece) in draft.pieces.iter().enumerate() {
            let Piece::Value {
                name,
                text,
                is_chosen: false,
            } = piece
            else {
                continue;
            };
            if filled.contains(&(number, at)) {
                continue;
            }
            let user = *known.entry((name, text)).or_insert_with(|| {
                users.push((name, text, number, 0));
                users.len() - 1
            });
            users[user].3 += 1;
        }
    }
    for (name, value, first, count) in users {
        let name = shortened(name);
        let value = if document.is_marker(value) {
            "a secret"
        } else {
            &format!("`{}`", shortened(value))
        };
        let words = match count {
            1 => format!("nothing here answers with `{{{name}}}`: {value} is sent for it"),
            _ => format!(
                "nothing here answers with `{{{name}}}`: {value} is sent for it, in {count} operations"
            ),
        };
        document.note(&drafts[first].operation.span, words);
    }
}

/// Says what is true of several operations once.
fn told_once(document: &Document<'_>, drafts: &[Draft<'_>]) {
    let deprecated = drafts.iter().filter(|draft| {
        draft
            .operation
            .node
            .get("deprecated")
            .and_then(Node::boolean)
            == Some(true)
    });
    for draft in deprecated {
        let words = format!("`{}` is deprecated", shortened(&draft.operation.name()));
        document.note(&draft.operation.span, words);
    }
    let callbacks = drafts
        .iter()
        .find_map(|draft| draft.operation.node.name("callbacks"));
    for (sent, what) in [
        (callbacks, "callbacks"),
        (document.root.name("webhooks"), "webhooks"),
    ] {
        if let Some(span) = sent {
            let words = format!("{what} are what the service sends: they are left out");
            document.note(&span, words);
        }
    }
}

/// The exchanges in the order of their journey.
fn exchanges(drafts: Vec<Draft<'_>>, journey: Journey, recording: &mut Recording) {
    let mut drafts: Vec<Option<Draft<'_>>> = drafts.into_iter().map(Some).collect();
    let mut group_of = journey.group_of;
    for number in journey.order {
        if let Some(draft) = drafts[number].take() {
            recording
                .exchanges
                .push(draft.finish(group_of[number].take()));
        }
    }
    recording.groups = journey.groups;
}

/// The markers that are in the requests.
fn markers(document: &Document<'_>, recording: &Recording) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut look = |bytes: &[u8]| document.markers(bytes, &mut found);
    for exchange in &recording.exchanges {
        look(exchange.target.as_bytes());
        exchange
            .headers
            .iter()
            .for_each(|header| look(&header.value));
        if let Some(credentials) = &exchange.credentials {
            look(&credentials.user);
            look(&credentials.password);
        }
        look(&exchange.body.bytes());
    }
    found
}

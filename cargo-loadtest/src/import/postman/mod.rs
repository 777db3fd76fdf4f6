//! Collections of Postman, of versions 2.0 and 2.1 (<https://schema.postman.com/>).
//!
//! Scripts are never run, and files never read. What everybody writes in scripts - to keep a part of an answer in a
//! variable, to expect a status - is understood; the rest is a note.

mod answers;
mod auth;
mod behaviour;
mod body;
mod collection;
mod dynamic;
mod environment;
mod folders;
mod names;
mod request;
mod script;
#[cfg(test)]
mod tests;
mod url;
mod variables;

use super::document::{self, Node};
use super::marked::{Client, Dropped, Recording};
use super::source::{Input, Mistake, Note, Span};
use collection::{Collection, Entry};
pub(crate) use environment::{Environment, read_environment};
use environment::{Layer, layer};
use script::Script;
use std::collections::{HashMap, HashSet};
use variables::{Piece, Scope, Variables};

/// What is taken of a collection.
#[derive(Debug, Clone, Default)]
pub(crate) struct PostmanOptions {
    /// The folders that are taken, by name; without any, all.
    pub(crate) folders: Vec<String>,
    /// An environment that was exported, whose variables are used.
    pub(crate) environment: Option<Environment>,
}

/// What is collected while requests are read.
struct Reader<'a> {
    variables: Variables<'a>,
    dropped: Vec<Dropped>,
    /// All requests that cannot be sent, and why.
    left: Vec<Note>,
    is_insecure: bool,
    /// The names of headers and parameters that hold keys.
    keys: Vec<String>,
    /// What is told once only.
    told: HashSet<String>,
}

impl Reader<'_> {
    fn note(&mut self, span: &Span, words: impl Into<String>) {
        self.variables.notes.push(Note::new(span.clone(), words));
    }

    /// Says something the first time only.
    fn note_once(&mut self, span: &Span, words: &str) {
        if self.told.insert(words.to_owned()) {
            self.note(span, words);
        }
    }

    /// Says something of a place once, however many requests it is said of.
    fn note_at_once(&mut self, span: &Span, words: String) {
        if self.told.insert(format!("{} {words}", span.start)) {
            self.note(span, words);
        }
    }

    /// A name, whose variables have to be known: it is the same in every run.
    fn known(&mut self, text: &str, scope: Scope<'_>) -> String {
        let mut is_known = true;
        let mut name = String::new();
        for piece in self.variables.pieces(text, scope) {
            is_known &= matches!(piece, Piece::Text(_));
            match piece {
                Piece::Text(text) => name.push_str(&text),
                Piece::Hidden { name: variable, .. } | Piece::Cookie(variable) => {
                    name.push_str(&variable);
                }
                Piece::Answer { .. } => name.push_str("value"),
            }
        }
        if !is_known {
            let words = format!("a name is the same in every run, and here `{name}`");
            self.note(scope.at, words);
        }
        name
    }

    /// Leaves a request out that is none of HTTP, or cannot be sent.
    fn leave(&mut self, span: &Span, what: String, why: &Fault) {
        let words = match why {
            Fault::NotHttp => {
                let why = "not HTTP".to_owned();
                let words = format!("`{what}` is not HTTP");
                let span = span.clone();
                self.dropped.push(Dropped { span, what, why });
                words
            }
            Fault::Other(why) => {
                let words = format!("{why}: `{what}` is left out");
                self.note(span, words.as_str());
                words
            }
        };
        self.left.push(Note::new(span.clone(), words));
    }

    /// Says where requests go whose host has no value.
    fn unknown_host(&mut self, span: &Span, names: &[String]) {
        let names: Vec<_> = names
            .iter()
            .map(|name| format!("`{{{{{name}}}}}`"))
            .collect();
        let what = if names.is_empty() {
            "the URL has no host".to_owned()
        } else {
            format!("there is no host for {}", names.join(" and "))
        };
        if self.told.insert(format!("host {what}")) {
            let somewhere = url::SOMEWHERE;
            self.note(
                span,
                format!("{what}, so requests go to `{somewhere}`: give `--environment FILE`, or write another `base`"),
            );
        }
    }
}

/// Why a request cannot be sent.
enum Fault {
    /// It is of another protocol.
    NotHttp,
    /// In words.
    Other(String),
}

/// The scripts of a request.
#[derive(Default)]
struct Scripts {
    before: Vec<Script>,
    after: Vec<Script>,
    /// Where it is said when they run.
    places: [Option<Span>; 2],
}

/// Reads a collection.
pub(crate) fn read_postman(input: &Input, options: &PostmanOptions) -> Result<Recording, Mistake> {
    let mut document = document::read(input)?;
    let doubles = document::without_doubles(&mut document);
    let root = collection::found(&document)?;
    let mut reader = Reader {
        variables: Variables::new(&input.text, options.environment.as_ref()),
        dropped: Vec::new(),
        left: Vec::new(),
        is_insecure: false,
        keys: Vec::new(),
        told: HashSet::new(),
    };
    reader.variables.notes = doubles;
    let collection = collection::read(root, &mut reader.variables.notes)?;
    let selected = folders::selected(&collection, &options.folders, root)?;
    let (mut recording, entries) = exchanges(&collection, &mut reader);
    recording.name = root
        .at(&["info", "name"])
        .and_then(Node::text)
        .map(str::to_owned);
    recording.description = root.get("info").and_then(request::description);
    recording.client = Client {
        insecure: reader.is_insecure,
        keeps_cookies: true,
        redirects: request::REDIRECTS,
        ..Client::default()
    };
    recording.hidden = reader.variables.real();
    recording.notes = reader.variables.notes;
    recording.dropped = reader.dropped;
    recording.secrets = reader.variables.secrets;
    recording.keys = reader.keys;
    recording.references = reader.variables.references;
    let prefix = &reader.variables.prefix;
    folders::group(&mut recording, &entries, &collection, &selected, prefix);
    folders::base(&mut recording);
    recording.notes.sort_by_key(|note| note.span.start);
    if recording.exchanges.is_empty() {
        return Err(folders::nothing_left(
            &collection,
            &selected,
            &reader.left,
            root,
        ));
    }
    Ok(recording)
}

/// All requests, in their order: what their scripts keep is there for those that follow. With them, the numbers of
/// their entries.
fn exchanges(collection: &Collection<'_, '_>, reader: &mut Reader<'_>) -> (Recording, Vec<usize>) {
    let mut recording = Recording::default();
    let mut entries = Vec::new();
    let scripts = scripts(collection, reader);
    for folder in &collection.folders {
        let auth = folder.node.get("auth");
        reader
            .variables
            .in_credentials
            .extend(auth.map(auth::names).unwrap_or_default());
    }
    for entry in &collection.entries {
        let auth = entry.request.get("auth");
        reader
            .variables
            .in_credentials
            .extend(auth.map(auth::names).unwrap_or_default());
    }
    for (place, (entry, scripts)) in collection.entries.iter().zip(&scripts).enumerate() {
        let own = entry.item.get("variable").map(layer).unwrap_or_default();
        let way = collection.way(entry.folder);
        let layers: Vec<&Layer> = std::iter::once(&own)
            .chain(way.iter().map(|folder| &folder.variables))
            .collect();
        let scope = Scope {
            layers: &layers,
            span: &entry.span,
            at: &entry.span,
        };
        let name = entry.name.as_deref().unwrap_or("a request without a name");
        for (variable, parts) in scripts.before.iter().flat_map(|script| &script.sets) {
            reader
                .variables
                .set(variable, parts.as_deref(), None, name, scope);
        }
        let exchange = request::read(entry, collection, reader, scope);
        let number = exchange.as_ref().map(|_| recording.exchanges.len());
        if let Some(mut exchange) = exchange {
            let statuses: Vec<u16> = scripts
                .after
                .iter()
                .flat_map(|script| script.statuses.clone())
                .collect();
            (exchange.answer, exchange.expect) =
                answers::read(entry.item, entry.request, &statuses);
            recording.exchanges.push(exchange);
            entries.push(place);
            tell(entry, scripts, name, reader);
        }
        for (variable, parts) in scripts.after.iter().flat_map(|script| &script.sets) {
            reader
                .variables
                .set(variable, parts.as_deref(), number, name, scope);
        }
    }
    (recording, entries)
}

/// The scripts of all requests; those of folders and the collection are told of, and no more.
fn scripts(collection: &Collection<'_, '_>, reader: &mut Reader<'_>) -> Vec<Scripts> {
    for (number, folder) in collection.folders.iter().enumerate() {
        let scripts = of(folder.node);
        let what = if number == 0 {
            "the collection"
        } else {
            "a folder"
        };
        for (scripts, when) in [(&scripts.before, "before"), (&scripts.after, "after")] {
            let does_something = scripts.iter().any(|script| {
                !script.sets.is_empty() || !script.deeds.is_empty() || !script.statuses.is_empty()
            });
            if does_something {
                let span = folder.node.name("event");
                let span = span.unwrap_or_else(|| folder.node.beginning());
                let words = format!(
                    "not run: the script of {what} {when} each of its requests{}",
                    deeds(scripts)
                );
                reader.note(&span, words);
            }
        }
    }
    let scripts: Vec<Scripts> = collection
        .entries
        .iter()
        .map(|entry| of(entry.item))
        .collect();
    let mut by = HashMap::new();
    for (entry, scripts) in collection.entries.iter().zip(&scripts) {
        for (variable, _) in scripts.after.iter().flat_map(|script| &script.sets) {
            let name = entry.name.clone().unwrap_or_else(|| "a request".to_owned());
            by.entry(variable.clone()).or_insert(name);
        }
    }
    reader.variables.set_by = by;
    scripts
}

/// The scripts of an item.
fn of(item: &Node<'_>) -> Scripts {
    let mut scripts = Scripts::default();
    for event in item.get("event").map(Node::items).unwrap_or_default() {
        let is_off = event.get("disabled").and_then(Node::boolean) == Some(true);
        let Some(node) = event.get("script").filter(|_| !is_off) else {
            continue;
        };
        let exec = node.get("exec").unwrap_or(node);
        let lines: Vec<_> = exec.items().iter().filter_map(Node::text).collect();
        let text = exec.text().map_or_else(|| lines.join("\n"), str::to_owned);
        let Some(listen) = event.get("listen") else {
            continue;
        };
        let (scripts, place) = match listen.text() {
            Some("prerequest") => (&mut scripts.before, &mut scripts.places[0]),
            Some("test") => (&mut scripts.after, &mut scripts.places[1]),
            _ => continue,
        };
        scripts.push(script::read(&text));
        place.get_or_insert_with(|| listen.span.clone());
    }
    scripts
}

/// Says what the scripts of a request do that is not done.
fn tell(entry: &Entry<'_, '_>, scripts: &Scripts, name: &str, reader: &mut Reader<'_>) {
    let [before, after] = &scripts.places;
    for (place, scripts, what) in [
        (before, &scripts.before, "pre-request script"),
        (after, &scripts.after, "test script"),
    ] {
        let deeds = deeds(scripts);
        if !deeds.is_empty() {
            let span = place.as_ref().unwrap_or(&entry.span);
            reader.note(span, format!("not run: the {what} of `{name}`{deeds}"));
        }
    }
    if let Some(place) = after
        && scripts.after.iter().any(|script| script.checks_more)
    {
        let words = "of what scripts check, here and elsewhere, only the status is checked";
        reader.note_once(place, words);
    }
}

/// What scripts do that is not understood, as the end of a sentence.
fn deeds(scripts: &[Script]) -> String {
    let unknown: Vec<String> = scripts
        .iter()
        .flat_map(|script| &script.sets)
        .filter(|(_, parts)| parts.is_none())
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let mut deeds: Vec<String> = Vec::new();
    if !unknown.is_empty() {
        deeds.push(format!(
            "sets {} in a way that is not known",
            unknown.join(", ")
        ));
    }
    for deed in scripts.iter().flat_map(|script| &script.deeds) {
        deeds.push((*deed).to_owned());
    }
    deeds.dedup();
    if deeds.is_empty() {
        return String::new();
    }
    format!(", which {}", deeds.join(" and "))
}

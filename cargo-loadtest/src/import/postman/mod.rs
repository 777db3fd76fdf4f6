//! Collections of Postman, of versions 2.0 and 2.1 (<https://schema.postman.com/>).
//!
//! Scripts are never run, and files never read. Two idioms of scripts are understood: to keep a value of the answer, and
//! to expect a status. The rest is a note.

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
use super::recording::{Client, Dropped, Recording};
use super::source::{Input, Mistake, Note, Span};
use collection::{Collection, Entry};
pub(crate) use environment::{Environment, read_environment};
use environment::{Layer, read_layer};
use script::Script;
use std::collections::{HashMap, HashSet};
use variables::{Scope, Variables};

/// Options of an import.
#[derive(Debug, Clone, Default)]
pub(crate) struct PostmanOptions {
    /// Names of the folders to take; all without any.
    pub(crate) folders: Vec<String>,
    /// An exported environment.
    pub(crate) environment: Option<Environment>,
}

/// State of the reader of a collection.
struct Reader<'a> {
    variables: Variables<'a>,
    dropped: Vec<Dropped>,
    /// Requests that cannot be sent, with the reason.
    left: Vec<Note>,
    is_insecure: bool,
    /// Names of headers and parameters that hold keys.
    keys: Vec<String>,
    /// Notes that are made once.
    noted: HashSet<String>,
}

impl Reader<'_> {
    fn note(&mut self, span: &Span, words: impl Into<String>) {
        self.variables.notes.push(Note::new(span.clone(), words));
    }

    /// Adds a note the first time only.
    fn note_once(&mut self, span: &Span, words: &str) {
        if self.noted.insert(words.to_owned()) {
            self.note(span, words);
        }
    }

    /// Adds a note once for a place, however many requests it is about.
    fn note_at_once(&mut self, span: &Span, words: String) {
        if self.noted.insert(format!("{} {words}", span.start)) {
            self.note(span, words);
        }
    }

    /// Resolves a name, which is the same in every run, and so has no variables that are not known.
    fn fixed_name(&mut self, text: &str, scope: Scope<'_>) -> String {
        let text = self.variables.resolve(text, scope);
        if let Some(name) = text.as_literal() {
            return name.to_owned();
        }
        let name = text.shown(|piece| self.variables.piece_name(piece));
        let words = format!("a name is the same in every run, and here `{name}`");
        self.note(scope.at, words);
        name
    }

    /// Leaves out a request that is not HTTP or cannot be sent.
    fn leave_out(&mut self, span: &Span, what: String, why: &Fault) {
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

    /// Notes the address of requests whose host has no value.
    fn note_unknown_host(&mut self, span: &Span, names: &[String]) {
        let names: Vec<_> = names
            .iter()
            .map(|name| format!("`{{{{{name}}}}}`"))
            .collect();
        let what = if names.is_empty() {
            "the URL has no host".to_owned()
        } else {
            format!("there is no host for {}", names.join(" and "))
        };
        if self.noted.insert(format!("host {what}")) {
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
    NotHttp,
    Other(String),
}

/// The scripts of a request.
#[derive(Default)]
struct Scripts {
    before: Vec<Script>,
    after: Vec<Script>,
    /// Places of the names of the events.
    places: [Option<Span>; 2],
}

/// Reads a collection.
pub(crate) fn read_postman(input: &Input, options: &PostmanOptions) -> Result<Recording, Mistake> {
    let mut document = document::read(input)?;
    let doubles = document::without_doubles(&mut document);
    let root = collection::find_collection(&document)?;
    let mut reader = Reader {
        variables: Variables::new(options.environment.as_ref()),
        dropped: Vec::new(),
        left: Vec::new(),
        is_insecure: false,
        keys: Vec::new(),
        noted: HashSet::new(),
    };
    reader.variables.notes = doubles;
    let collection = collection::read_collection(root, &mut reader.variables.notes)?;
    let selected = folders::select_folders(&collection, &options.folders, root)?;
    let (mut recording, entries) = read_exchanges(&collection, &mut reader);
    recording.name = root
        .at(&["info", "name"])
        .and_then(Node::text)
        .map(str::to_owned);
    recording.description = root.get("info").and_then(request::read_description);
    recording.client = Client {
        insecure: reader.is_insecure,
        keeps_cookies: true,
        redirects: request::REDIRECTS,
        ..Client::default()
    };
    recording.notes = reader.variables.notes;
    recording.dropped = reader.dropped;
    recording.secrets = reader.variables.secrets;
    recording.keys = reader.keys;
    recording.references = reader.variables.references;
    folders::group_requests(&mut recording, &entries, &collection, &selected);
    folders::drop_unused(&mut recording);
    folders::choose_base(&mut recording);
    recording.notes.sort_by_key(|note| note.span.start);
    if recording.exchanges.is_empty() {
        return Err(folders::explain_nothing_left(
            &collection,
            &selected,
            &reader.left,
            root,
        ));
    }
    Ok(recording)
}

/// Reads all requests in their order, since scripts keep values for later ones. Also returns the numbers of their
/// entries.
fn read_exchanges(
    collection: &Collection<'_, '_>,
    reader: &mut Reader<'_>,
) -> (Recording, Vec<usize>) {
    let mut recording = Recording::default();
    let mut entries = Vec::new();
    let scripts = read_scripts(collection, reader);
    for folder in &collection.folders {
        let auth = folder.node.get("auth");
        reader
            .variables
            .in_credentials
            .extend(auth.map(auth::variable_names).unwrap_or_default());
    }
    for entry in &collection.entries {
        let auth = entry.request.get("auth");
        reader
            .variables
            .in_credentials
            .extend(auth.map(auth::variable_names).unwrap_or_default());
    }
    for (place, (entry, scripts)) in collection.entries.iter().zip(&scripts).enumerate() {
        let own = entry
            .item
            .get("variable")
            .map(read_layer)
            .unwrap_or_default();
        let way = collection.folders_around(entry.folder);
        let layers: Vec<&Layer> = std::iter::once(&own)
            .chain(way.iter().map(|folder| &folder.variables))
            .collect();
        let scope = Scope {
            layers: &layers,
            span: &entry.span,
            at: &entry.span,
        };
        let name = entry.name.as_deref().unwrap_or("a request without a name");
        for (variable, kept) in scripts.before.iter().flat_map(|script| &script.sets) {
            reader.variables.keep(variable, kept.as_ref(), None, name);
        }
        let exchange = request::read_request(entry, collection, reader, scope);
        let number = exchange.as_ref().map(|_| recording.exchanges.len());
        if let Some(mut exchange) = exchange {
            let statuses: Vec<u16> = scripts
                .after
                .iter()
                .flat_map(|script| script.statuses.clone())
                .collect();
            (exchange.answer, exchange.expect) =
                answers::read_answers(entry.item, entry.request, &statuses);
            recording.exchanges.push(exchange);
            entries.push(place);
            note_scripts(entry, scripts, name, reader);
        }
        for (variable, kept) in scripts.after.iter().flat_map(|script| &script.sets) {
            reader.variables.keep(variable, kept.as_ref(), number, name);
        }
    }
    (recording, entries)
}

/// Reads the scripts of all requests, and notes those of folders and the collection.
fn read_scripts(collection: &Collection<'_, '_>, reader: &mut Reader<'_>) -> Vec<Scripts> {
    for (number, folder) in collection.folders.iter().enumerate() {
        let scripts = item_scripts(folder.node);
        let what = if number == 0 {
            "the collection"
        } else {
            "a folder"
        };
        for (scripts, when) in [(&scripts.before, "before"), (&scripts.after, "after")] {
            let does_something = scripts.iter().any(|script| {
                !script.sets.is_empty() || !script.effects.is_empty() || !script.statuses.is_empty()
            });
            if does_something {
                let span = folder.node.name("event");
                let span = span.unwrap_or_else(|| folder.node.beginning());
                let words = format!(
                    "not run: the script of {what} {when} each of its requests{}",
                    describe_effects(scripts)
                );
                reader.note(&span, words);
            }
        }
    }
    let scripts: Vec<Scripts> = collection
        .entries
        .iter()
        .map(|entry| item_scripts(entry.item))
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

/// Reads the scripts of an item.
fn item_scripts(item: &Node<'_>) -> Scripts {
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
        scripts.push(script::read_script(&text));
        place.get_or_insert_with(|| listen.span.clone());
    }
    scripts
}

/// Notes the effects of scripts that are not honoured.
fn note_scripts(entry: &Entry<'_, '_>, scripts: &Scripts, name: &str, reader: &mut Reader<'_>) {
    let [before, after] = &scripts.places;
    for (place, scripts, what) in [
        (before, &scripts.before, "pre-request script"),
        (after, &scripts.after, "test script"),
    ] {
        let effects = describe_effects(scripts);
        if !effects.is_empty() {
            let span = place.as_ref().unwrap_or(&entry.span);
            reader.note(span, format!("not run: the {what} of `{name}`{effects}"));
        }
    }
    if let Some(place) = after
        && scripts.after.iter().any(|script| script.checks_more)
    {
        let words = "of what scripts check, here and elsewhere, only the status is checked";
        reader.note_once(place, words);
    }
}

/// Describes the effects of scripts that are not honoured, as the end of a sentence.
fn describe_effects(scripts: &[Script]) -> String {
    let unknown: Vec<String> = scripts
        .iter()
        .flat_map(|script| &script.sets)
        .filter(|(_, kept)| kept.is_none())
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let mut effects: Vec<String> = Vec::new();
    if !unknown.is_empty() {
        effects.push(format!(
            "sets {} in a way that is not known",
            unknown.join(", ")
        ));
    }
    for effect in scripts.iter().flat_map(|script| &script.effects) {
        effects.push((*effect).to_owned());
    }
    effects.dedup();
    if effects.is_empty() {
        return String::new();
    }
    format!(", which {}", effects.join(" and "))
}

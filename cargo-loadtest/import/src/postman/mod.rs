//! Collections of Postman, of versions 2.0 and 2.1 (<https://schema.postman.com/>).
//!
//! Scripts are never run, and files never read. Two idioms of scripts are understood: to keep a value of the answer, and
//! to expect a status. The rest is a note.

mod auth;
mod behaviour;
mod body;
mod collection;
mod dynamic;
mod environment;
mod folders;
mod request;
mod script;
#[cfg(test)]
mod tests;
mod url;
mod variables;

use super::base::SOMEWHERE;
use super::document::{self, Node};
use super::recording::{Client, Recording, Text};
use super::source::{Input, Mistake, Note, Span};
use collection::PostmanCollection;
pub(crate) use environment::PostmanEnvironment;
pub use environment::read_environment;
use environment::{VariableLayer, is_disabled, read_layer};
use loadtest_console::suggestion::join_names;
use script::ScriptIdioms;
use std::collections::{BTreeSet, HashMap};
use variables::{PostmanVariables, VariableScope};

/// Options of an import.
#[derive(Debug, Clone, Default)]
pub struct PostmanOptions {
    /// Names of the folders to take; all without any.
    pub folders: Vec<String>,
    /// An exported environment.
    pub environment: Option<PostmanEnvironment>,
}

/// State of the reader of a collection.
struct CollectionReader<'a> {
    variables: PostmanVariables<'a>,
    /// Requests that cannot be sent, with the reason.
    left: Vec<Note>,
    hosts: Vec<UnknownHost>,
}

/// A host without a value.
struct UnknownHost {
    origin: String,
    /// The place of its first request.
    span: Span,
    /// The first half of its warning.
    what: String,
}

impl<'a> CollectionReader<'a> {
    fn new(options: &'a PostmanOptions) -> Self {
        let mut variables = PostmanVariables::new(options.environment.as_ref());
        variables.migration.recording = Recording {
            client: Client {
                keeps_cookies: true,
                redirects: request::REDIRECTS,
                ..Client::default()
            },
            quotes_are_text: true,
            ..Recording::default()
        };
        Self {
            variables,
            left: Vec::new(),
            hosts: Vec::new(),
        }
    }

    fn recording(&mut self) -> &mut Recording {
        &mut self.variables.migration.recording
    }

    fn note(&mut self, span: &Span, words: impl Into<String>) {
        self.variables.migration.note(span, words);
    }

    /// Leaves out a request that cannot be sent.
    fn leave_out(&mut self, span: &Span, what: &str, why: &str) {
        let note = Note::new(span.clone(), format!("{why}: `{what}` is left out"));
        self.recording().notes.push(note.clone());
        self.left.push(note);
    }

    /// Notes that the host of requests has no value.
    fn note_unknown_host(&mut self, span: &Span, origin: &str, names: &[String]) {
        let names: Vec<_> = names.iter().map(|name| format!("{{{{{name}}}}}")).collect();
        let what = if names.is_empty() {
            "the URL has no host".to_owned()
        } else {
            format!("there is no host for {}", join_names(&names))
        };
        if !self.hosts.iter().any(|host| host.origin == origin) {
            self.hosts.push(UnknownHost {
                origin: origin.to_owned(),
                span: span.clone(),
                what,
            });
        }
    }
}

/// A place of an item, with the variables that are known there.
struct ItemReader<'r, 'a> {
    reader: &'r mut CollectionReader<'a>,
    /// Variables of the folders and of the collection, the nearest ones first.
    layers: &'r [&'r VariableLayer],
    /// The place, which notes show.
    at: Span,
}

impl<'a> ItemReader<'_, 'a> {
    /// Goes to another place of the item.
    fn at(&mut self, at: Span) -> ItemReader<'_, 'a> {
        let (reader, layers) = (&mut *self.reader, self.layers);
        ItemReader { reader, layers, at }
    }

    /// Resolves a text.
    fn resolve(&mut self, text: &str) -> Text {
        let (layers, at) = (self.layers, &self.at);
        let scope = VariableScope { layers, at };
        self.reader.variables.resolve(text, scope)
    }

    /// Resolves scheme, credentials, host and port of a URL.
    fn resolve_host(&mut self, text: &str) -> Text {
        let (layers, at) = (self.layers, &self.at);
        let scope = VariableScope { layers, at };
        self.reader.variables.resolve_host(text, scope)
    }

    /// Resolves a name, which is the same in every run, and so has no variables that are not known.
    fn fixed_name(&mut self, text: &str) -> String {
        let text = self.resolve(text);
        if let Some(name) = text.as_literal() {
            return name.to_owned();
        }
        let name = text.shown(|piece| self.reader.variables.piece_name(piece));
        self.note(format!(
            "a name is the same in every run, and here `{name}`"
        ));
        name
    }

    fn note(&mut self, words: impl Into<String>) {
        self.reader.note(&self.at, words);
    }

    /// Adds a note the first time only.
    fn note_once(&mut self, words: impl Into<String>) {
        let migration = &mut self.reader.variables.migration;
        migration.note_once(&self.at, words);
    }
}

/// The script of an event, and the place of the event's name.
#[derive(Default)]
struct EventScript {
    script: ScriptIdioms,
    place: Option<Span>,
}

/// Reads a collection.
///
/// # Errors
/// The first thing that is no such input, and where it stands.
pub fn read_postman(input: &Input, options: &PostmanOptions) -> Result<Recording, Mistake> {
    let document = document::read(input)?;
    let root = collection::find_collection(&document)?;
    let mut notes = Vec::new();
    let collection = collection::read_collection(root, &mut notes);
    let selected = folders::select_folders(&collection, &options.folders, root)?;
    let mut entries: Vec<usize> = (0..collection.entries.len()).collect();
    // The first time, all requests are read, and then those that the selected ones need.
    let (reader, folders) = loop {
        let mut reader = CollectionReader::new(options);
        entries = read_exchanges(&collection, &entries, &mut reader);
        let folders = folders::assign_folders(reader.recording(), &entries, &collection, &selected);
        let needed: Vec<usize> = folders.iter().flatten().copied().collect();
        if needed.is_empty() {
            let left = &reader.left;
            let why = folders::explain_nothing_left(&collection, &selected, left, root);
            return Err(why);
        }
        if needed.len() == folders.len() {
            break (reader, needed);
        }
        let all = entries.iter().zip(&folders);
        entries = all
            .filter_map(|(entry, folder)| folder.map(|_| *entry))
            .collect();
    };
    let mut recording = reader.variables.migration.recording;
    let info = root.get("info");
    let name = info.and_then(|info| info.text_of("name"));
    recording.name = name.map(str::to_owned);
    recording.description = info.and_then(request::read_description);
    recording.notes.splice(0..0, notes);
    folders::name_groups(&mut recording, &entries, &collection, &folders);
    recording.drop_unused();
    let constants = recording.choose_base();
    for UnknownHost { origin, span, what } in reader.hosts {
        let words = match constants.get(&origin) {
            Some(name) => {
                format!("{what}: give `--environment FILE`, or write it into the constant `{name}`")
            }
            None => format!(
                "{what}, so requests go to `{SOMEWHERE}`: give `--environment FILE`, or write another `base`"
            ),
        };
        recording.notes.push(Note::new(span, words));
    }
    recording.notes.sort_by_key(|note| note.span.start);
    Ok(recording)
}

/// Reads the requests of these entries in their order, since scripts keep values for later ones. Returns the numbers of
/// the entries that can be sent.
fn read_exchanges(
    collection: &PostmanCollection<'_, '_>,
    numbers: &[usize],
    reader: &mut CollectionReader<'_>,
) -> Vec<usize> {
    let mut entries = Vec::new();
    let scripts = read_scripts(collection, numbers, reader);
    let folders = collection.folders.iter().map(|folder| folder.node);
    let requests = collection.entries.iter().map(|entry| entry.request);
    for auth in folders.chain(requests).filter_map(|node| node.get("auth")) {
        let names = auth::variable_names(auth);
        reader.variables.in_credentials.extend(names);
    }
    for place in numbers {
        let (entry, [before, after]) = (&collection.entries[*place], &scripts[*place]);
        let own = entry.item.get("variable").map(read_layer);
        let own = own.unwrap_or_default();
        let way = collection.folders_around(entry.folder);
        let outer = way.iter().map(|folder| &folder.variables);
        let layers: Vec<&VariableLayer> = std::iter::once(&own).chain(outer).collect();
        let name = entry.name.as_deref().unwrap_or("a request without a name");
        let variables = &mut reader.variables;
        for (variable, kept) in &before.script.sets {
            variables.set_variable(variable, kept.as_ref(), None, name);
        }
        let mut item = ItemReader {
            reader,
            layers: &layers,
            at: entry.span.clone(),
        };
        let exchange = request::read_request(entry, collection, &mut item);
        let number = exchange
            .as_ref()
            .map(|_| reader.recording().exchanges.len());
        if let Some(mut exchange) = exchange {
            (exchange.answer, exchange.expect) =
                request::read_answers(entry.item, &after.script.statuses);
            reader.recording().exchanges.push(exchange);
            entries.push(*place);
            for (script, what) in [(before, "pre-request script"), (after, "test script")] {
                note_effects(script, &format!("the {what} of `{name}`"), reader);
            }
            if let Some(place) = after.place.as_ref().filter(|_| after.script.checks_more) {
                let words = "of the checks in scripts, here and elsewhere, only the status check is imported";
                reader.variables.migration.note_once(place, words);
            }
        }
        for (variable, kept) in &after.script.sets {
            let variables = &mut reader.variables;
            variables.set_variable(variable, kept.as_ref(), number, name);
        }
    }
    entries
}

/// Reads the scripts of all requests, and notes those of folders and the collection.
fn read_scripts(
    collection: &PostmanCollection<'_, '_>,
    numbers: &[usize],
    reader: &mut CollectionReader<'_>,
) -> Vec<[EventScript; 2]> {
    let entries = numbers.iter().map(|number| &collection.entries[*number]);
    let folders = entries.flat_map(|entry| collection.numbers_around(entry.folder));
    for number in folders.collect::<BTreeSet<_>>() {
        let folder = &collection.folders[number];
        let what = ["the collection", "a folder"][number.min(1)];
        for (event, when) in item_scripts(folder.node).iter().zip(["before", "after"]) {
            let script = &event.script;
            let does_something = !script.statuses.is_empty()
                || !script.sets.is_empty()
                || !script.effects.is_empty();
            if let Some(place) = event.place.as_ref().filter(|_| does_something) {
                let effects = describe_effects(script);
                let what = format!("the script of {what} {when} each of its requests");
                reader.note(place, format!("not run: {what}{effects}"));
            }
        }
    }
    let entries = collection.entries.iter();
    let scripts: Vec<_> = entries.map(|entry| item_scripts(entry.item)).collect();
    let mut set_by = HashMap::new();
    for (entry, [_, after]) in collection.entries.iter().zip(&scripts) {
        for (variable, _) in &after.script.sets {
            let name = entry.name.as_deref().unwrap_or("a request").to_owned();
            set_by.entry(variable.clone()).or_insert(name);
        }
    }
    reader.variables.set_by = set_by;
    scripts
}

/// Reads the scripts of an item: before a request, and after it.
fn item_scripts(item: &Node<'_>) -> [EventScript; 2] {
    ["prerequest", "test"].map(|listen| {
        let events = item.get("event").map_or(&[][..], Node::items).iter();
        let events =
            events.filter(|event| event.text_of("listen") == Some(listen) && !is_disabled(event));
        let mut text = String::new();
        let mut place = None;
        for event in events {
            let Some(script) = event.get("script") else {
                continue;
            };
            let exec = script.get("exec").unwrap_or(script);
            for line in exec.items().iter().chain([exec]).filter_map(Node::text) {
                text.push_str(line);
                text.push('\n');
            }
            let listen = event.get("listen").map(|listen| listen.span.clone());
            place = place.or(listen);
        }
        let script = script::read_script(&text);
        EventScript { script, place }
    })
}

/// Notes the effects of a script that are not honoured.
fn note_effects(event: &EventScript, what: &str, reader: &mut CollectionReader<'_>) {
    let effects = describe_effects(&event.script);
    if let Some(place) = event.place.as_ref().filter(|_| !effects.is_empty()) {
        reader.note(place, format!("not run: {what}{effects}"));
    }
}

/// Describes the effects of a script that are not honoured, as the end of a sentence.
fn describe_effects(script: &ScriptIdioms) -> String {
    let unknown = script.sets.iter().filter(|(_, kept)| kept.is_none());
    let unknown: Vec<String> = unknown.map(|(name, _)| format!("`{name}`")).collect();
    let mut effects = Vec::new();
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        effects.push(format!("sets {unknown} in a way that is not known"));
    }
    effects.extend(script.effects.iter().map(|effect| (*effect).to_owned()));
    if effects.is_empty() {
        return String::new();
    }
    format!(", which {}", effects.join(" and "))
}

//! What `{{name}}` stands for: the value of a scope, a part of an earlier answer, or a secret.

mod markers;

use super::dynamic;
use super::environment::{Environment, Layer, Variable};
use super::names;
use super::script::Part;
use crate::import::marked::{Key, Origin, Reference, Secret};
use crate::import::source::{Note, Span};
use std::collections::{HashMap, HashSet};

/// How deep variables may be within each other, as in Postman.
const DEEPEST: usize = 20;
/// How many variables are looked up at most.
const MOST_LOOKUPS: usize = 200_000;
/// How many bytes their values may come to.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The same of one value that has variables in it.
const MOST_BYTES_OF_ONE: usize = 64 * 1024;
/// The same of all such values.
const MOST_BYTES_NESTED: usize = 1024 * 1024;
/// As how many bytes a piece counts that is no text.
const BYTES_OF_PIECE: usize = 64;
/// How many variables on the way from one to itself are shown.
const MOST_SHOWN: usize = 8;
/// The longest name.
const LONGEST_NAME: usize = 100;

/// A part of a text whose variables were looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// What is there, or the value of a variable.
    Text(String),
    /// A variable whose value is not for the source: it is secret, or there is none.
    Hidden {
        /// What it is called.
        name: String,
        /// Whether it has no value.
        is_missing: bool,
    },
    /// A part of an earlier answer.
    Answer {
        /// Where it is.
        from: Origin,
        /// Why it is thought so.
        why: String,
    },
    /// A cookie that an answer set, which goes back by itself.
    Cookie(String),
}

/// Where a text stands, as far as its variables have to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Variables of the folders and of the collection, the nearest ones first.
    pub(super) layers: &'a [&'a Layer],
    /// The request.
    pub(super) span: &'a Span,
    /// Where what is said of the text is shown.
    pub(super) at: &'a Span,
}

/// All variables, as they are when a request is sent.
pub(super) struct Variables<'a> {
    environment: Option<&'a Environment>,
    /// What scripts have set so far.
    set: HashMap<String, Vec<Piece>>,
    /// What scripts set at all, and the request they belong to.
    pub(super) set_by: HashMap<String, String>,
    /// Those that credentials are made of.
    pub(super) in_credentials: HashSet<String>,
    /// What all markers begin with.
    pub(super) prefix: String,
    markers: usize,
    /// The secrets that are used.
    pub(super) secrets: Vec<Secret>,
    /// The markers, by what they stand for.
    known: HashMap<String, String>,
    /// The names of secrets.
    names: HashSet<String>,
    /// What is known of the values that secrets have in the input: a key of `known`, a name, what it is.
    hidden: HashMap<String, (String, String, String)>,
    /// The references that are used.
    pub(super) references: Vec<Reference>,
    pub(super) notes: Vec<Note>,
    /// The made up values that were told, with the place of their request.
    told: HashSet<(usize, String)>,
    /// What else was told.
    told_once: HashSet<String>,
    /// The variables whose values are being looked at.
    open: Vec<String>,
    /// Those that stand for themselves.
    round: HashSet<String>,
    /// Whether one of those that are open is such.
    is_round: bool,
    /// Whether the text is a host, which is no secret.
    is_host: bool,
    made_up: usize,
    lookups: usize,
    bytes: usize,
    /// What the value that is being looked at has come to.
    bytes_of_one: usize,
    /// What all values with variables in them have come to.
    bytes_nested: usize,
    /// Whether the value that is being looked at is too large.
    is_cut: bool,
}

impl<'a> Variables<'a> {
    /// Those of an input, whose text has none of the markers in it.
    pub(super) fn new(input: &str, environment: Option<&'a Environment>) -> Self {
        let mut prefix = "ltpm".to_owned();
        while input.contains(&prefix) {
            prefix.push('x');
        }
        Self {
            environment,
            set: HashMap::new(),
            set_by: HashMap::new(),
            in_credentials: HashSet::new(),
            prefix,
            markers: 0,
            secrets: Vec::new(),
            known: HashMap::new(),
            names: HashSet::new(),
            hidden: HashMap::new(),
            references: Vec::new(),
            notes: Vec::new(),
            told: HashSet::new(),
            told_once: HashSet::new(),
            open: Vec::new(),
            round: HashSet::new(),
            is_round: false,
            is_host: false,
            made_up: 0,
            lookups: 0,
            bytes: 0,
            bytes_of_one: 0,
            bytes_nested: 0,
            is_cut: false,
        }
    }

    /// Does what a script does: the value is a text, or parts of the answer to the exchange with this number.
    pub(super) fn set(
        &mut self,
        name: &str,
        parts: Option<&[Part]>,
        exchange: Option<usize>,
        of: &str,
        scope: Scope<'_>,
    ) {
        let Some(parts) = parts else {
            // The script knows what, and nobody else does.
            self.set.remove(name);
            return;
        };
        let mut pieces = Vec::new();
        let is_nested = parts.iter().any(|part| matches!(part, Part::Variable(_)));
        for part in parts {
            let why = || format!("the script of `{of}` keeps it as `{name}`");
            match (part, exchange) {
                (Part::Text(text), _) => pieces.push(Piece::Text(text.clone())),
                (Part::Variable(other), _) => self.look_up(other, scope, 0, &mut pieces),
                (Part::Json(path), Some(exchange)) if !path.is_empty() => {
                    let path: Vec<Key> = path.clone();
                    pieces.push(Piece::Answer {
                        from: Origin::Body { exchange, path },
                        why: why(),
                    });
                }
                (Part::Header(header), Some(exchange)) => {
                    let name = header.to_ascii_lowercase();
                    pieces.push(Piece::Answer {
                        from: Origin::Header { exchange, name },
                        why: why(),
                    });
                }
                (Part::Cookie(cookie), _) => pieces.push(Piece::Cookie(cookie.clone())),
                _ => {
                    self.set.remove(name);
                    return;
                }
            }
        }
        if is_nested && pieces.iter().map(size).sum::<usize>() > MOST_BYTES_OF_ONE {
            self.tell_large(scope);
            self.set.remove(name);
            return;
        }
        let is_empty = pieces
            .iter()
            .all(|piece| *piece == Piece::Text(String::new()));
        let is_text = pieces.iter().all(|piece| matches!(piece, Piece::Text(_)));
        let text: String = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                _ => "",
            })
            .collect();
        if is_empty {
            self.set.remove(name);
        } else if is_text && self.is_secret(name, &text) {
            self.hide(name, &text);
            self.set.insert(
                name.to_owned(),
                vec![Piece::Hidden {
                    name: name.to_owned(),
                    is_missing: false,
                }],
            );
        } else {
            self.set.insert(name.to_owned(), pieces);
        }
    }

    /// A text in pieces.
    pub(super) fn pieces(&mut self, text: &str, scope: Scope<'_>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        self.expand(text, scope, 0, &mut pieces);
        pieces
    }

    /// Scheme, credentials, host and port in pieces: variables that are the host are there with their values,
    /// whatever they are marked as.
    pub(super) fn host(&mut self, text: &str, scope: Scope<'_>) -> Vec<Piece> {
        let (who, host) = match text.rsplit_once('@') {
            Some((who, host)) => (format!("{who}@"), host),
            None => (String::new(), text),
        };
        let mut pieces = self.pieces(&who, scope);
        self.is_host = true;
        self.expand(host, scope, 0, &mut pieces);
        self.is_host = false;
        pieces
    }

    /// A text with markers in the place of what is not known yet.
    pub(super) fn text(&mut self, text: &str, scope: Scope<'_>) -> String {
        let pieces = self.pieces(text, scope);
        self.joined(&pieces, false)
    }

    /// Pieces as a text with markers; a reference is bare where it is no string of JSON.
    pub(super) fn joined(&mut self, pieces: &[Piece], is_bare: bool) -> String {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Hidden { name, is_missing } => {
                    text.push_str(&self.secret(name, *is_missing));
                }
                Piece::Cookie(name) => text.push_str(&self.secret(name, true)),
                Piece::Answer { from, why } => text.push_str(&self.reference(from, why, is_bare)),
            }
        }
        text
    }

    fn expand(&mut self, text: &str, scope: Scope<'_>, depth: usize, pieces: &mut Vec<Piece>) {
        self.bytes = self.bytes.saturating_add(text.len());
        let is_nested = depth > 1 || depth == 1 && next(text).is_some();
        if is_nested && !self.has_room(text.len()) {
            self.is_cut = true;
            self.tell_large(scope);
            return;
        }
        let mut rest = text;
        while let Some((before, name, after)) = next(rest) {
            push_text(before, pieces);
            self.look_up(name, scope, depth, pieces);
            if self.is_cut {
                return;
            }
            rest = after;
        }
        push_text(rest, pieces);
    }

    /// Counts what a value with variables in it has come to; whether it may be so much.
    fn has_room(&mut self, bytes: usize) -> bool {
        self.bytes_of_one = self.bytes_of_one.saturating_add(bytes);
        self.bytes_nested = self.bytes_nested.saturating_add(bytes);
        self.bytes_of_one <= MOST_BYTES_OF_ONE && self.bytes_nested <= MOST_BYTES_NESTED
    }

    fn tell_large(&mut self, scope: Scope<'_>) {
        let words = "variables stand for more than can be kept, here and further down: they are asked for at run time";
        self.note_once(scope.at, words.to_owned());
    }

    fn look_up(&mut self, name: &str, scope: Scope<'_>, depth: usize, pieces: &mut Vec<Piece>) {
        self.lookups += 1;
        let hidden = |is_missing| Piece::Hidden {
            name: name.to_owned(),
            is_missing,
        };
        let is_large = self.lookups > MOST_LOOKUPS || self.bytes > MOST_BYTES;
        if is_large {
            self.tell_large(scope);
            pieces.push(hidden(true));
            return;
        }
        if depth >= DEEPEST {
            let words = format!(
                "variables within variables end after {DEEPEST} levels: `{name}` is asked for at run time"
            );
            self.note_once(scope.at, words);
            pieces.push(hidden(true));
            return;
        }
        if let Some(kind) = name.strip_prefix('$') {
            self.make_up(kind, scope, pieces);
            return;
        }
        if let Some(set) = self.set.get(name) {
            let bytes = set.iter().map(size).sum();
            for piece in set {
                match piece {
                    Piece::Text(text) => push_text(text, pieces),
                    piece => pieces.push(piece.clone()),
                }
            }
            self.bytes = self.bytes.saturating_add(bytes);
            if depth > 0 && !self.has_room(bytes) {
                self.is_cut = true;
                self.tell_large(scope);
            }
            return;
        }
        let Some(variable) = self.find(name, scope) else {
            pieces.push(hidden(true));
            return;
        };
        let variable = variable.clone();
        if variable.is_secret || self.is_secret(name, &variable.value) {
            if !self.is_host {
                self.hide(name, &variable.value);
                pieces.push(hidden(false));
                return;
            }
            let words = format!(
                "the value of `{name}`, which is the host, is in the scenario, also where it is marked as secret"
            );
            let span = variable.span.clone();
            self.note_once(&span.unwrap_or_else(|| scope.at.clone()), words);
        }
        if self.open.iter().any(|open| open == name) {
            let way = self.open.iter().map(String::as_str);
            let way = way.skip_while(|open| *open != name).chain([name]);
            let way: Vec<_> = way
                .take(MOST_SHOWN)
                .map(|name| format!("`{name}`"))
                .collect();
            let words = format!(
                "`{name}` stands for itself ({}): it has no value, and is asked for at run time",
                way.join(" → ")
            );
            let span = variable.span.clone();
            if self.round.insert(name.to_owned()) {
                self.note_once(&span.unwrap_or_else(|| scope.at.clone()), words);
            }
            self.is_round = true;
            return;
        }
        if self.open.is_empty() {
            self.bytes_of_one = 0;
        }
        self.open.push(name.to_owned());
        let mut own = Vec::new();
        self.expand(&variable.value, scope, depth + 1, &mut own);
        self.open.pop();
        if self.is_cut {
            // A part of a value is no value.
            self.is_cut = !self.open.is_empty();
            self.is_round &= !self.open.is_empty();
            pieces.push(hidden(true));
            return;
        }
        if self.is_round {
            // Nothing of it is a value, up to the variable that the text has.
            self.is_round = !self.open.is_empty();
            self.round.insert(name.to_owned());
            pieces.push(hidden(true));
            return;
        }
        for piece in own {
            match piece {
                Piece::Text(text) => push_text(&text, pieces),
                piece => pieces.push(piece),
            }
        }
    }

    fn note_once(&mut self, span: &Span, words: String) {
        if self.told_once.insert(words.clone()) {
            self.notes.push(Note::new(span.clone(), words));
        }
    }

    /// The variable with a value that is nearest: in the environment, the folders, the collection, everywhere.
    fn find<'s>(&'s self, name: &str, scope: Scope<'s>) -> Option<&'s Variable> {
        let of = |is_global: bool| {
            let environment = self
                .environment
                .filter(|found| found.is_global == is_global);
            environment.map(|environment| &environment.variables)
        };
        let layers = scope.layers.iter().copied();
        let mut layers = of(false).into_iter().chain(layers).chain(of(true));
        layers.find_map(|layer| {
            layer
                .get(name)
                .filter(|variable| !variable.value.is_empty())
        })
    }

    fn is_secret(&self, name: &str, value: &str) -> bool {
        self.in_credentials.contains(name) || names::is_secret(name, value)
    }

    fn make_up(&mut self, kind: &str, scope: Scope<'_>, pieces: &mut Vec<Piece>) {
        self.made_up += 1;
        let value = dynamic::value(kind, self.made_up);
        if self.told.insert((scope.span.start, kind.to_owned())) {
            let instead = match kind {
                "guid" | "randomUUID" => "; a step with a body has `vu.uuid()`",
                "randomInt" => "; a step with a body has `vu.random_range(0..=1000)`",
                _ if kind.starts_with("random") => {
                    "; a `#[feed]` has a row of data for each journey"
                }
                _ => "",
            };
            self.notes.push(Note::new(
                scope.at.clone(),
                format!(
                    "`{{{{${kind}}}}}` is new with each request in Postman, and here always `{value}`{instead}"
                ),
            ));
        }
        push_text(&value, pieces);
    }
}

/// As how many bytes a piece counts.
fn size(piece: &Piece) -> usize {
    match piece {
        Piece::Text(text) => text.len(),
        _ => BYTES_OF_PIECE,
    }
}

/// Adds a text to what is there.
fn push_text(text: &str, pieces: &mut Vec<Piece>) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(before)) => before.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// The first `{{name}}`: what is before it, the name, and what is behind it.
pub(super) fn next(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(open) = text[from..].find("{{") {
        let open = from + open;
        // Of `{{{a}}`, the last two.
        let braces = text[open..]
            .bytes()
            .take_while(|byte| *byte == b'{')
            .count();
        let begin = open + braces;
        let end = text[begin..].find(['{', '}'])? + begin;
        let name = text[begin..end].trim();
        if text[end..].starts_with("}}") && is_name(name) {
            return Some((&text[..begin - 2], name, &text[end + 2..]));
        }
        from = end;
    }
    None
}

/// Whether this is the name of a variable: templates of other kinds have signs in it.
fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "_-. $:".contains(letter);
    name.len() <= LONGEST_NAME
        && name.chars().all(is_letter)
        && name.chars().any(char::is_alphanumeric)
}

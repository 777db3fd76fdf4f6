//! Resolves `{{name}}`: to the value of a scope, a part of an earlier answer, or a secret.

use super::dynamic;
use super::environment::{Environment, Layer, Variable};
use super::names;
use super::script::Kept;
use crate::import::recording::{Confidence, Origin, Piece, Reference, Secret, Text};
use crate::import::secrets::variable;
use crate::import::source::{Note, Span};
use std::collections::{HashMap, HashSet};

/// Deepest nesting of variables within variables, as in Postman.
const DEEPEST: usize = 20;
const MOST_LOOKUPS: usize = 200_000;
/// Most bytes of all values.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Most bytes of one value with variables in it.
const MOST_BYTES_OF_ONE: usize = 64 * 1024;
/// Most bytes of all such values.
const MOST_BYTES_NESTED: usize = 1024 * 1024;
/// Most variables that may be given at run time.
const MOST_SECRETS: usize = 1000;
const LONGEST_NAME: usize = 100;
/// Most variables that are shown of a circle.
const MOST_SHOWN: usize = 8;

/// The surroundings of a text, as far as its variables need them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Variables of the folders and of the collection, the nearest ones first.
    pub(super) layers: &'a [&'a Layer],
    /// Place of the request.
    pub(super) span: &'a Span,
    /// Place that notes about the text show.
    pub(super) at: &'a Span,
}

/// Variables whose values are being resolved, the outermost first.
type Open = Vec<String>;

/// Why a value cannot be resolved.
enum Unresolved {
    Circular,
    TooLarge,
}

/// All variables, as they are when a request is sent.
#[derive(Default)]
pub(super) struct Variables<'a> {
    environment: Option<&'a Environment>,
    /// Values that scripts have set so far.
    set: HashMap<String, Text>,
    /// All variables that scripts set, with the name of the request.
    pub(super) set_by: HashMap<String, String>,
    /// Variables that credentials are made of.
    pub(super) in_credentials: HashSet<String>,
    pub(super) secrets: Vec<Secret>,
    /// Names of the secrets in the collection, by number.
    secret_names: Vec<String>,
    /// Numbers of the secrets, by variable or by value.
    secret_numbers: HashMap<String, usize>,
    /// Names of secrets that are taken.
    names: HashSet<String>,
    pub(super) references: Vec<Reference>,
    reference_numbers: HashMap<(Origin, bool), usize>,
    pub(super) notes: Vec<Note>,
    /// Notes that are made once.
    noted: HashSet<String>,
    /// Variables that stand for themselves.
    circular: HashSet<String>,
    /// Whether the text is a host, which is not secret.
    is_host: bool,
    made_up: usize,
    lookups: usize,
    bytes: usize,
    bytes_of_one: usize,
    bytes_nested: usize,
}

impl<'a> Variables<'a> {
    pub(super) fn new(environment: Option<&'a Environment>) -> Self {
        Self {
            environment,
            ..Self::default()
        }
    }

    /// Sets a variable as a script of the request `of` does; `exchange` is the number of its answer.
    pub(super) fn keep(
        &mut self,
        name: &str,
        kept: Option<&Kept>,
        exchange: Option<usize>,
        of: &str,
    ) {
        let from = match (kept, exchange) {
            (Some(Kept::Text(text)), _) if !text.is_empty() => {
                let text = if self.is_secret(name, text) {
                    self.secret_variable(name, Some(text))
                } else {
                    text.as_str().into()
                };
                self.set.insert(name.to_owned(), text);
                return;
            }
            (Some(Kept::Json(path)), Some(exchange)) if !path.is_empty() => Origin::Body {
                exchange,
                path: path.clone(),
            },
            (Some(Kept::Header(header)), Some(exchange)) => Origin::Header {
                exchange,
                name: header.to_ascii_lowercase(),
            },
            _ => {
                self.set.remove(name);
                return;
            }
        };
        let why = format!("the script of `{of}` keeps it as `{name}`");
        let text = Text::reference(self.add_reference(from, why, false));
        self.set.insert(name.to_owned(), text);
    }

    /// Resolves a text.
    pub(super) fn resolve(&mut self, text: &str, scope: Scope<'_>) -> Text {
        // Without an open variable, failures have been replaced.
        self.expand(text, scope, &mut Open::new())
            .unwrap_or_default()
    }

    /// Resolves scheme, credentials, host and port: variables of the host have their values there, even secret ones.
    pub(super) fn resolve_host(&mut self, text: &str, scope: Scope<'_>) -> Text {
        let (who, host) = match text.rsplit_once('@') {
            Some((who, host)) => (format!("{who}@"), host),
            None => (String::new(), text),
        };
        let mut resolved = self.resolve(&who, scope);
        self.is_host = true;
        resolved.append(self.resolve(host, scope));
        self.is_host = false;
        resolved
    }

    /// Returns a secret for a value that is written in the collection.
    pub(super) fn secret_value(&mut self, value: &str, wanted: &str, what: &str) -> Text {
        let key = format!("value {value}");
        self.add_secret(key, wanted, |name| Secret::known(name, what, value))
    }

    /// Returns a name for the value of a piece.
    pub(super) fn piece_name(&self, piece: &Piece) -> String {
        match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Secret(number) => self.secret_names[*number].clone(),
            Piece::Reference(_) | Piece::Bytes(_) => "value".to_owned(),
        }
    }

    /// Returns the same text as a value of JSON without quotes, if it is the value of an answer alone.
    pub(super) fn bare(&mut self, text: &Text) -> Option<Text> {
        let [Piece::Reference(number)] = *text.pieces() else {
            return None;
        };
        let Reference { from, why, .. } = self.references[number].clone();
        Some(Text::reference(self.add_reference(from, why, true)))
    }

    /// Whether a part of a text has no value in the collection.
    pub(super) fn is_missing(&self, piece: &Piece) -> bool {
        matches!(piece, Piece::Secret(number) if self.secrets[*number].value.is_none())
    }

    fn expand(
        &mut self,
        text: &str,
        scope: Scope<'_>,
        open: &mut Open,
    ) -> Result<Text, Unresolved> {
        let mut expanded = Text::default();
        let mut rest = text;
        while let Some((before, name, after)) = find_variable(rest) {
            expanded.push_str(before);
            expanded.append(self.look_up(name, scope, open)?);
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn look_up(
        &mut self,
        name: &str,
        scope: Scope<'_>,
        open: &mut Open,
    ) -> Result<Text, Unresolved> {
        self.lookups += 1;
        if self.lookups > MOST_LOOKUPS || self.bytes > MOST_BYTES {
            self.note_too_large(scope);
            return Ok(self.secret_variable(name, None));
        }
        if open.len() >= DEEPEST {
            let words = format!(
                "variables within variables end after {DEEPEST} levels: `{name}` is asked for at run time"
            );
            self.note_once(scope.at, words);
            return Ok(self.secret_variable(name, None));
        }
        if let Some(kind) = name.strip_prefix('$') {
            return Ok(self.make_up(kind, scope));
        }
        if let Some(text) = self.set.get(name) {
            self.bytes += text.pieces().iter().map(piece_length).sum::<usize>();
            return Ok(text.clone());
        }
        let Some(Variable {
            value,
            is_secret,
            span,
        }) = self.find(name, scope).cloned()
        else {
            return Ok(self.secret_variable(name, None));
        };
        let span = span.as_ref().unwrap_or(scope.at);
        if is_secret || self.is_secret(name, &value) {
            if !self.is_host {
                return Ok(self.secret_variable(name, Some(&value)));
            }
            let words = format!(
                "the value of `{name}`, which is the host, is in the scenario, also where it is marked as secret"
            );
            self.note_once(span, words);
        }
        if open.iter().any(|other| other == name) {
            self.note_circle(name, open, span);
            return Err(Unresolved::Circular);
        }
        let resolved = self.expand_value(name, &value, scope, open);
        if matches!(resolved, Err(Unresolved::Circular)) {
            self.circular.insert(name.to_owned());
        }
        match resolved {
            Err(_) if open.is_empty() => Ok(self.secret_variable(name, None)),
            resolved => resolved,
        }
    }

    fn expand_value(
        &mut self,
        name: &str,
        value: &str,
        scope: Scope<'_>,
        open: &mut Open,
    ) -> Result<Text, Unresolved> {
        self.bytes += value.len();
        if open.is_empty() {
            self.bytes_of_one = 0;
        }
        if !open.is_empty() || find_variable(value).is_some() {
            self.bytes_of_one += value.len();
            self.bytes_nested += value.len();
            if self.bytes_of_one > MOST_BYTES_OF_ONE || self.bytes_nested > MOST_BYTES_NESTED {
                self.note_too_large(scope);
                return Err(Unresolved::TooLarge);
            }
        }
        open.push(name.to_owned());
        let expanded = self.expand(value, scope, open);
        open.pop();
        expanded
    }

    fn note_once(&mut self, span: &Span, words: String) {
        if self.noted.insert(words.clone()) {
            self.notes.push(Note::new(span.clone(), words));
        }
    }

    fn note_too_large(&mut self, scope: Scope<'_>) {
        let words = "variables stand for more than can be kept, here and further down: they are asked for at run time";
        self.note_once(scope.at, words.to_owned());
    }

    fn note_circle(&mut self, name: &str, open: &Open, span: &Span) {
        let way = open.iter().map(String::as_str);
        let way = way.skip_while(|open| *open != name).chain([name]);
        let way: Vec<_> = way
            .take(MOST_SHOWN)
            .map(|name| format!("`{name}`"))
            .collect();
        let words = format!(
            "`{name}` stands for itself ({}): it has no value, and is asked for at run time",
            way.join(" → ")
        );
        if self.circular.insert(name.to_owned()) {
            self.note_once(span, words);
        }
    }

    /// Returns the nearest variable with a value: of the environment, the folders, the collection, the globals.
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

    /// Returns a secret for a variable, which may have a value in the collection.
    fn secret_variable(&mut self, name: &str, value: Option<&str>) -> Text {
        let what = match self.set_by.get(name) {
            _ if value.is_some() => format!("the variable `{name}` of the collection"),
            Some(request) => format!(
                "the variable `{name}`, which `{request}` sets only later or in a way that is not known"
            ),
            None if self.circular.contains(name) => {
                format!("the variable `{name}`, which stands for itself in the collection")
            }
            None => format!("the variable `{name}`, which has no value in the collection"),
        };
        let value = value.filter(|value| !value.contains("{{"));
        let key = format!("variable {name}");
        self.add_secret(key, name, |secret| match value {
            Some(value) => Secret::known(secret, what, value),
            None => Secret::variable(secret, what, None),
        })
    }

    fn add_secret(
        &mut self,
        key: String,
        wanted: &str,
        make: impl FnOnce(String) -> Secret,
    ) -> Text {
        if let Some(number) = self.secret_numbers.get(&key) {
            return Text::secret(*number);
        }
        let number = self.secrets.len();
        if number >= MOST_SECRETS {
            return Text::literal("x");
        }
        let name = names::unique(&variable(wanted, "VARIABLE"), "_", |name| {
            self.names.contains(name)
        });
        self.names.insert(name.clone());
        self.secret_numbers.insert(key, number);
        self.secret_names.push(wanted.to_owned());
        self.secrets.push(make(name));
        Text::secret(number)
    }

    fn add_reference(&mut self, from: Origin, why: String, is_bare: bool) -> usize {
        let next = self.references.len();
        let key = (from.clone(), is_bare);
        let number = *self.reference_numbers.entry(key).or_insert(next);
        if number == next {
            self.references.push(Reference {
                from,
                is_bare,
                confidence: Confidence::Certain,
                why,
            });
        }
        number
    }

    fn make_up(&mut self, kind: &str, scope: Scope<'_>) -> Text {
        self.made_up += 1;
        let value = dynamic::make_value(kind, self.made_up);
        if self.noted.insert(format!("{} ${kind}", scope.span.start)) {
            let instead = match kind {
                "guid" | "randomUUID" => "; a step with a body has `vu.uuid()`",
                "randomInt" => "; a step with a body has `vu.random_range(0..=1000)`",
                _ if kind.starts_with("random") => {
                    "; a `#[feed]` has a row of data for each journey"
                }
                _ => "",
            };
            let words = format!(
                "`{{{{${kind}}}}}` is new with each request in Postman, and here always `{value}`{instead}"
            );
            self.notes.push(Note::new(scope.at.clone(), words));
        }
        value.into()
    }
}

fn piece_length(piece: &Piece) -> usize {
    match piece {
        Piece::Literal(text) => text.len(),
        _ => size_of::<Piece>(),
    }
}

/// Finds the first `{{name}}`, and returns the text before it, the name, and the text behind it.
pub(super) fn find_variable(text: &str) -> Option<(&str, &str, &str)> {
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

/// Whether this is the name of a variable, not a template of another kind.
fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "_-. $:".contains(letter);
    name.len() <= LONGEST_NAME
        && name.chars().all(is_letter)
        && name.chars().any(char::is_alphanumeric)
}

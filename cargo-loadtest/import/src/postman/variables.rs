//! Resolves `{{name}}`: to the value of a scope, a part of an earlier answer, or a secret.

use super::dynamic;
use super::environment::{ListedVariable, PostmanEnvironment, VariableLayer};
use super::script::KeptValue;
use crate::migration::Migration;
use crate::naming::unique;
use crate::recording::{
    Confidence, Feed, FeedOrder, Origin, Piece, Reference, RunValue, Secret, Text,
};
use crate::secrets::{self, find_secrets, has_secret};
use crate::source::{Note, Span};
use std::collections::{HashMap, HashSet};

/// Deepest nesting of variables within variables, as in Postman.
const DEEPEST: usize = 20;
/// Most bytes of all values.
const MOST_BYTES: usize = 16 * 1024 * 1024;
const LONGEST_NAME: usize = 100;
const TOO_LARGE: &str =
    "variables have larger values than can be kept, here and below: they are read at run time";

/// The surroundings of a text, as far as its variables need them.
#[derive(Debug, Clone, Copy)]
pub(super) struct VariableScope<'a> {
    /// Variables of the folders and of the collection, the nearest ones first.
    pub(super) layers: &'a [&'a VariableLayer],
    /// Place that notes about the text show.
    pub(super) at: &'a Span,
}

/// All variables, as they are when a request is sent.
#[derive(Default)]
pub(super) struct PostmanVariables<'a> {
    environment: Option<&'a PostmanEnvironment>,
    /// Values that scripts have set so far.
    set: HashMap<String, Text>,
    /// All variables that scripts set, with the name of the request.
    pub(super) set_by: HashMap<String, String>,
    /// Variables that credentials are made of.
    pub(super) in_credentials: HashSet<String>,
    pub(super) migration: Migration,
    /// Names of the secrets in the collection, by number.
    secret_names: Vec<String>,
    /// Numbers of the secrets, by variable or by value.
    secret_numbers: HashMap<String, usize>,
    /// Names of secrets that are taken.
    names: HashSet<String>,
    /// Variables whose values are being resolved, the outermost first.
    open: Vec<String>,
    /// True for a host, which is not secret.
    is_host: bool,
    bytes: usize,
}

impl<'a> PostmanVariables<'a> {
    pub(super) fn new(environment: Option<&'a PostmanEnvironment>) -> Self {
        Self {
            environment,
            ..Self::default()
        }
    }

    /// Adds a note once for a place, however many requests it is about.
    pub(super) fn note_place_once(&mut self, span: &Span, words: String) {
        let note = Note::new(span.clone(), words);
        let notes = &mut self.migration.recording.notes;
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Sets a variable as a script of a request does; `exchange` is the number of its answer.
    pub(super) fn set_variable(
        &mut self,
        name: &str,
        kept: Option<&KeptValue>,
        exchange: Option<usize>,
        request: &str,
    ) {
        let from = match (kept, exchange) {
            (Some(KeptValue::Text(text)), _) if !text.is_empty() => {
                let text = if self.is_secret(name, text) {
                    self.secret_variable(name, Some(text))
                } else {
                    text.as_str().into()
                };
                self.set.insert(name.to_owned(), text);
                return;
            }
            (Some(KeptValue::Json(path)), Some(exchange)) if !path.is_empty() => {
                Origin::body(exchange, path)
            }
            (Some(KeptValue::Header(header)), Some(exchange)) => {
                Origin::header(exchange, header.to_ascii_lowercase())
            }
            _ => {
                self.set.remove(name);
                return;
            }
        };
        let why = format!("the script of `{request}` keeps it as `{name}`");
        let text = self.refer(from, false, &why);
        self.set.insert(name.to_owned(), text);
    }

    /// Resolves a text.
    pub(super) fn resolve(&mut self, text: &str, scope: VariableScope<'_>) -> Text {
        // Without an open variable, failures have been replaced.
        self.expand(text, scope).unwrap_or_default()
    }

    /// Resolves scheme, credentials, host and port: variables of the host have their values there, even secret ones.
    pub(super) fn resolve_host(&mut self, text: &str, scope: VariableScope<'_>) -> Text {
        let host = text.rfind('@').map_or(0, |at| at + 1);
        let mut resolved = self.resolve(&text[..host], scope);
        self.is_host = true;
        resolved.append(self.resolve(&text[host..], scope));
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
            Piece::Run(RunValue::Uuid) => "uuid".to_owned(),
            Piece::Reference(_) | Piece::Constant(_) | Piece::Bytes(_) | Piece::Run(_) => {
                "value".to_owned()
            }
        }
    }

    /// Returns the same text as a value of JSON without quotes, if it is one that a run has: of an answer alone, or made.
    pub(super) fn bare(&mut self, text: &Text) -> Option<Text> {
        let mut pieces = text.pieces().iter();
        let is_bare =
            |piece: &Piece| matches!(piece, Piece::Run(value) if *value != RunValue::Uuid);
        if pieces.any(is_bare) {
            return Some(text.clone());
        }
        let [Piece::Reference(number)] = *text.pieces() else {
            return None;
        };
        let reference = &self.migration.recording.references[number];
        let Reference { from, why, .. } = reference.clone();
        Some(self.refer(from, true, &why))
    }

    /// Returns true where a part of a text has no value in the collection.
    pub(super) fn is_missing(&self, piece: &Piece) -> bool {
        matches!(piece, Piece::Secret(number) if self.migration.recording.secrets[*number].value.is_none())
    }

    /// Returns nothing where a variable within others stands for itself or for too much.
    fn expand(&mut self, text: &str, scope: VariableScope<'_>) -> Option<Text> {
        let mut expanded = Text::default();
        let (variables, rest) = split_variables(text);
        for (before, name) in variables {
            expanded.push_str(before);
            expanded.append(self.expand_variable(name, scope)?);
        }
        expanded.push_str(rest);
        Some(expanded)
    }

    fn expand_variable(&mut self, name: &str, scope: VariableScope<'_>) -> Option<Text> {
        if self.bytes > MOST_BYTES {
            self.migration.note_once(scope.at, TOO_LARGE);
            return Some(self.secret_variable(name, None));
        }
        if self.open.len() >= DEEPEST {
            let words = format!(
                "variables within variables end after {DEEPEST} levels, at `{name}`: the outermost is asked for at run time"
            );
            self.migration.note_once(scope.at, words);
            return None;
        }
        if let Some(kind) = name.strip_prefix('$') {
            return Some(self.make_up(kind));
        }
        if let Some(text) = self.set.get(name) {
            self.bytes += text.start().len();
            return Some(text.clone());
        }
        let Some(variable) = self.find(name, scope).cloned() else {
            return Some(self.secret_variable(name, None));
        };
        let span = variable.span.as_ref().unwrap_or(scope.at);
        if variable.is_secret || self.is_secret(name, &variable.value) {
            if !self.is_host {
                return Some(self.secret_variable(name, Some(&variable.value)));
            }
            let words = format!(
                "the value of `{name}`, which is the host, is in the scenario, also where it is marked as secret"
            );
            self.migration.note_once(span, words);
        }
        self.bytes += variable.value.len();
        self.open.push(name.to_owned());
        let expanded = self.expand(&variable.value, scope);
        self.open.pop();
        let is_inner = !self.open.is_empty();
        expanded.or_else(|| (!is_inner).then(|| self.secret_variable(name, None)))
    }

    /// Returns the nearest variable with a value: of the environment, the folders, the collection, the globals.
    fn find<'s>(&'s self, name: &str, scope: VariableScope<'s>) -> Option<&'s ListedVariable> {
        let exported = self.environment.map(|exported| &exported.variables);
        let is_global = self.environment.is_some_and(|exported| exported.is_global);
        let before = exported.filter(|_| !is_global).into_iter();
        let mut layers = before.chain(scope.layers.iter().copied()).chain(exported);
        layers.find_map(|layer| {
            let variable = layer.get(name);
            variable.filter(|variable| !variable.value.is_empty())
        })
    }

    fn is_secret(&self, name: &str, value: &str) -> bool {
        if self.in_credentials.contains(name) {
            return true;
        }
        if value.starts_with("http://") || value.starts_with("https://") {
            return has_secret(value) || !find_secrets(value).is_empty();
        }
        secrets::is_secret_name(name) || secrets::is_secret_value(name, value)
    }

    /// Returns a secret for a variable, which may have a value in the collection.
    fn secret_variable(&mut self, name: &str, value: Option<&str>) -> Text {
        let what = match self.set_by.get(name) {
            _ if value.is_some() => format!("the variable `{name}` of the collection"),
            Some(request) => format!(
                "the variable `{name}`, which `{request}` sets only later or in a way that is not known"
            ),
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
        let secrets = &mut self.migration.recording.secrets;
        let number = secrets.len();
        let name = unique(&secrets::variable(wanted, "VARIABLE"), &mut self.names);
        self.secret_numbers.insert(key, number);
        self.secret_names.push(wanted.to_owned());
        secrets.push(make(name));
        Text::secret(number)
    }

    fn refer(&mut self, from: Origin, is_bare: bool, why: &str) -> Text {
        let certain = Confidence::Certain;
        self.migration.refer_because(from, is_bare, certain, why)
    }

    fn make_up(&mut self, kind: &str) -> Text {
        dynamic::make_value(kind, |name, source| {
            let feed = Feed::new(name, source, FeedOrder::Random);
            self.migration.feed(name.to_owned(), feed)
        })
    }
}

/// Splits a text at its variables: returns each name with the text before it, and the rest.
pub(super) fn split_variables(text: &str) -> (Vec<(&str, &str)>, &str) {
    let mut variables = Vec::new();
    let mut rest = text;
    while let Some((before, name, after)) = find_variable(rest) {
        variables.push((before, name));
        rest = after;
    }
    (variables, rest)
}

/// Finds the first `{{name}}`, and returns the text before it, the name, and the text behind it.
pub(super) fn find_variable(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(open) = text[from..].find("{{") {
        let open = from + open;
        // Of `{{{a}}`, the last two.
        let begin = text.len() - text[open..].trim_start_matches('{').len();
        let end = text[begin..].find(['{', '}'])? + begin;
        let name = text[begin..end].trim();
        if text[end..].starts_with("}}") && is_name(name) {
            return Some((&text[..begin - 2], name, &text[end + 2..]));
        }
        from = end;
    }
    None
}

/// Returns true for the name of a variable, not a template of another kind.
fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "_-. $:".contains(letter);
    name.len() <= LONGEST_NAME
        && name.chars().all(is_letter)
        && name.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_as_in_an_environment() {
        for (name, named) in [
            ("apiKey", "API_KEY"),
            ("api-key 2", "API_KEY_2"),
            ("accessTokenURL", "ACCESS_TOKEN_URL"),
            ("user", "API_USER"),
            ("path", "API_PATH"),
            ("2fa", "VARIABLE_2FA"),
            ("é", "VARIABLE"),
            ("cargo_home", "API_CARGO_HOME"),
        ] {
            assert_eq!(secrets::variable(name, "VARIABLE"), named);
        }
    }

    #[test]
    fn secrets_are_known_by_name() {
        let variables = PostmanVariables::new(None);
        for (name, value, is_secret) in [
            ("apiKey", "abc", true),
            ("access_token", "abc", true),
            ("jwt", "abc", true),
            ("pw", "", true),
            ("clientKey", "abc", true),
            ("key", "7Qx2bV9mTz4K", true),
            ("key", "name", false),
            ("tokenUrl", "/oauth/token", false),
            ("token", "https://auth.example/", false),
            ("baseUrl", "https://ada:canary@h/", true),
            ("userId", "17", false),
        ] {
            assert_eq!(variables.is_secret(name, value), is_secret, "{name}");
        }
    }
}

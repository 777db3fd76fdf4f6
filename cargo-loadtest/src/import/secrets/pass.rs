//! The secrets pass: replaces secret literals of requests by [`Piece::Secret`].

use super::forms::{collect_values, has_form_names, is_prose, is_usual_form, names_of, quote_bare};
use super::metadata::redact_words;
use super::rules::{is_harmless, is_secret_segment, is_secret_user};
use super::{
    encodings_of, find_base64_texts, find_secrets, has_secret, is_callback, is_secret_name,
    is_secret_number, is_secret_value, variable,
};
use crate::import::document::{self, Value};
use crate::import::recording::{
    Body, Credentials, Exchange, Flat, Header, Part, Piece, Recording, Secret, Text,
};
use crate::import::source::Input;
use crate::import::text::{URL_ENCODED, escape_json, form_decode, form_encode};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::collections::{HashMap, HashSet};

/// The fewest letters and digits next to a value that may be secret themselves.
const SHORTEST_REST: usize = 8;
/// The shortest value that is looked for everywhere.
pub(super) const SHORTEST_KNOWN: usize = 8;
/// The most secrets whose encodings are looked for.
const MOST_ENCODED: usize = 500;

/// Replaces all secrets of a recording.
pub(crate) fn hide_secrets(recording: &mut Recording) {
    let mut finder = Finder::new(recording);
    for (number, exchange) in recording.exchanges.iter_mut().enumerate() {
        split_basic(exchange);
        finder.exchange = Some(number);
        finder.hide_in(exchange);
    }
    finder.exchange = None;
    // A secret of one request is one in all others, also before it.
    let known = finder.known_forms();
    for exchange in &mut recording.exchanges {
        exchange.target = finder.replace_known(&exchange.target, &known, true);
        for text in exchange.texts_mut().into_iter().skip(1) {
            *text = finder.replace_known(text, &known, false);
        }
    }
    recording.secrets = finder.secrets;
    redact_words(recording);
}

/// Turns a header of basic authentication into credentials, of which the user is often no secret.
fn split_basic(exchange: &mut Exchange) {
    let is_authorization = |header: &Header| header.name.eq_ignore_ascii_case("authorization");
    let mut headers = exchange.headers.iter().enumerate();
    let mut headers = headers
        .by_ref()
        .filter(|(_, header)| is_authorization(header));
    let (Some((at, header)), None, None) = (headers.next(), headers.next(), &exchange.credentials)
    else {
        return;
    };
    let pair = header
        .value
        .as_literal()
        .and_then(|value| value.strip_prefix("Basic "));
    let pair = pair.and_then(|pair| BASE64_STANDARD.decode(pair).ok());
    let Some(pair) = pair.and_then(|pair| String::from_utf8(pair).ok()) else {
        return;
    };
    if let Some((user, password)) = pair.split_once(':') {
        exchange.credentials = Some(Credentials {
            user: user.into(),
            password: password.into(),
        });
        exchange.headers.remove(at);
    }
}

/// A form of a secret that is looked for.
struct Known {
    form: String,
    number: usize,
    is_encoded: bool,
}

/// Finds secrets, and numbers them.
struct Finder {
    secrets: Vec<Secret>,
    /// The numbers of secrets by their value.
    numbers: HashMap<String, usize>,
    names: HashSet<String>,
    /// Names that hold keys by the word of the input.
    keys: Vec<String>,
    exchange: Option<usize>,
}

impl Finder {
    fn new(recording: &mut Recording) -> Self {
        let secrets = std::mem::take(&mut recording.secrets);
        let values = secrets.iter().enumerate();
        let values = values.filter_map(|(at, secret)| Some((secret.value.clone()?, at)));
        Self {
            numbers: values.filter(|(value, _)| !value.is_empty()).collect(),
            names: secrets.iter().map(|secret| secret.name.clone()).collect(),
            secrets,
            keys: recording.keys.clone(),
            exchange: None,
        }
    }

    /// Returns the piece of a secret value, which gets a name where it has none.
    fn add_secret(&mut self, value: &str, wanted: &str, what: &str) -> Piece {
        if let Some(number) = self.numbers.get(value) {
            return Piece::Secret(*number);
        }
        let wanted = variable(wanted, "SECRET");
        let mut name = wanted.clone();
        let mut count = 1;
        while !self.names.insert(name.clone()) {
            count += 1;
            name = format!("{wanted}_{count}");
        }
        let number = self.secrets.len();
        self.numbers.insert(value.to_owned(), number);
        self.secrets.push(Secret {
            exchange: self.exchange,
            ..Secret::known(name, what, value)
        });
        Piece::Secret(number)
    }

    fn hide_in(&mut self, exchange: &mut Exchange) {
        exchange.target = self.hide_in_url(&exchange.target);
        for header in &mut exchange.headers {
            header.value = self.hide_in_header(header);
        }
        if let Some(credentials) = &mut exchange.credentials {
            self.hide_credentials(credentials);
        }
        let is_form = exchange.content_type().is_some_and(|content_type| {
            let essence = content_type.split(';').next().unwrap_or_default();
            essence.trim().eq_ignore_ascii_case(URL_ENCODED)
        });
        match &mut exchange.body {
            Body::Text(text) if !text.is_binary() => *text = self.hide_in_body(text, is_form),
            Body::None | Body::Text(_) => {}
            Body::Multipart(parts) => parts.iter_mut().for_each(|part| self.hide_in_part(part)),
        }
    }

    fn hide_credentials(&mut self, credentials: &mut Credentials) {
        let Credentials { user, password } = credentials;
        let plain = password.shown(|_| String::new());
        if let Some(name) = user
            .as_literal()
            .filter(|user| is_secret_user(user, &plain))
        {
            let piece = self.add_secret(name, "api key", "the key in the place of a user");
            *user = Text::from_iter([piece]);
        }
        let flat = password.flat();
        *password = if password.is_binary() {
            Text::from_iter([self.add_secret(&plain, "password", "the password")])
        } else {
            self.hide_whole(&flat, &flat.text, "password", "the password")
        };
    }

    fn hide_in_header(&mut self, header: &Header) -> Text {
        let name = header.name.to_ascii_lowercase();
        let what = format!("the header {}", quote(&name));
        if header.value.is_binary() {
            let plain = header.value.shown(|_| String::new());
            return if is_secret_name(&name) {
                Text::from_iter([self.add_secret(&plain, &name, &what)])
            } else {
                header.value.clone()
            };
        }
        let flat = header.value.flat();
        if let Some(token) = flat.text.strip_prefix("Bearer ")
            && name == "authorization"
        {
            let mut text = Text::literal("Bearer ");
            text.append(self.hide_whole(&flat, token, "api token", "the bearer token"));
            return text;
        }
        self.hide_named(&flat, &name, &flat.text, &what)
    }

    fn hide_in_part(&mut self, part: &mut Part) {
        let name = part.name.shown(|_| String::new());
        if !part.content.is_binary() {
            let flat = part.content.flat();
            part.content = self.hide_named(&flat, &name, &flat.text, &in_body(&name));
        }
        if let Some(file_name) = part.file_name.as_mut().filter(|name| !name.is_binary()) {
            let flat = file_name.flat();
            *file_name = self.hide_text(&flat, &flat.text, "file name", "a file name in the body");
        }
        for line in &mut part.headers {
            let flat = line.flat();
            let Some((name, value)) = flat.text.split_once(':') else {
                continue;
            };
            let what = format!("the header {} of a part", quote(name.trim()));
            let mut text = flat.restore(name);
            text.push_str(": ");
            text.append(self.hide_named(&flat, name.trim(), value.trim(), &what));
            *line = text;
        }
    }

    /// Hides secrets of a path and its query.
    fn hide_in_url(&mut self, url: &Text) -> Text {
        let flat = url.flat();
        let (path, query) = match flat.text.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (flat.text.as_str(), None),
        };
        let mut text = Text::default();
        let mut before = "";
        for (at, segment) in path.split('/').enumerate() {
            text.push_str(if at == 0 { "" } else { "/" });
            let decoded = form_decode(&segment.replace('+', "%2B"));
            if !flat.has_values(segment) && is_secret_segment(before, &decoded) {
                text.push(self.add_secret(&decoded, "path token", "a part of the path"));
            } else {
                text.append(flat.restore(segment));
            }
            before = segment;
        }
        let Some(query) = query else { return text };
        text.push_str("?");
        let is_callback = is_callback(&names_of(query));
        for (at, pair) in query.split('&').enumerate() {
            text.push_str(if at == 0 { "" } else { "&" });
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, decoded) = (form_decode(key), form_decode(value));
            if self.is_whole(&flat, &name, &decoded, is_callback) {
                text.append(flat.restore(key));
                text.push_str("=");
                let what = format!("{} in the URL", quote(&name));
                text.append(self.hide_whole(&flat, &decoded, &name, &what));
            } else {
                text.append(flat.restore(pair));
            }
        }
        text
    }

    fn hide_in_body(&mut self, body: &Text, is_form: bool) -> Text {
        let flat = body.flat();
        if is_form && has_form_names(&flat.text) {
            return self.hide_in_form(&flat);
        }
        if flat.text.trim_start().starts_with(['{', '['])
            && let Some(text) = self.hide_in_json(&flat)
        {
            return text;
        }
        self.hide_text(&flat, &flat.text, "body", "the body")
    }

    /// Hides secrets of a form: decoded ones where it is encoded in the usual way, else as they are written.
    fn hide_in_form(&mut self, flat: &Flat) -> Text {
        let is_usual = is_usual_form(flat);
        let is_callback = is_callback(&names_of(&flat.text));
        let mut text = Text::default();
        for (at, pair) in flat.text.split('&').enumerate() {
            text.push_str(if at == 0 { "" } else { "&" });
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, decoded) = (form_decode(key), form_decode(value));
            let wanted = if is_callback && name == "code" {
                "auth_code"
            } else {
                &name
            };
            if is_usual {
                text.append(flat.restore(key));
                text.push_str("=");
                let value = self.hide_named(flat, wanted, &decoded, &in_body(&name));
                text.append(value.map_literals(form_encode));
            } else if self.is_whole(flat, &name, &decoded, is_callback) {
                text.append(flat.restore(key));
                text.push_str("=");
                text.append(self.hide_whole(flat, value, wanted, &in_body(&name)));
            } else {
                text.append(self.hide_text(flat, pair, "body", "the body"));
            }
        }
        text
    }

    /// Hides secrets of JSON; returns nothing where it is no JSON, or has secrets in other places than its values.
    fn hide_in_json(&mut self, flat: &Flat) -> Option<Text> {
        let (json, added) = quote_bare(flat, &flat.text);
        let input = Input::new(String::new(), json.clone());
        let root = document::read(&input).ok()?;
        let mut places = Vec::new();
        collect_values(&root, "", &mut places);
        let mut text = Text::default();
        let mut end = 0;
        let copy = |text: &mut Text, from: usize, to: usize| {
            let part = json[from..to].char_indices();
            let part: String = part
                .filter(|(at, _)| !added.contains(&(from + at)))
                .map(|(_, letter)| letter)
                .collect();
            text.append(flat.restore(&part));
        };
        for (key, node) in places {
            match &node.value {
                Value::Number(number) if is_secret_number(&key, number) => {
                    copy(&mut text, end, node.span.start);
                    text.push(self.add_secret(number, &key, &in_body(&key)));
                    end = node.span.end;
                }
                Value::Text(value) if !value.is_empty() && flat.value(value).is_none() => {
                    let hidden = self.hide_named(flat, &key, value, &in_body(&key));
                    if hidden != flat.restore(value) {
                        copy(&mut text, end, node.span.start + 1);
                        text.append(hidden.map_literals(escape_json));
                        end = node.span.end - 1;
                    }
                }
                _ => {}
            }
        }
        copy(&mut text, end, json.len());
        let is_safe = |piece: &Piece| !matches!(piece, Piece::Literal(text) if has_secret(text));
        text.pieces().iter().all(is_safe).then_some(text)
    }

    /// Returns true where a value of a query or a form is a secret as a whole.
    fn is_whole(&self, flat: &Flat, name: &str, value: &str, is_callback: bool) -> bool {
        let has_parts = || is_prose(value) && !is_harmless(name) && !find_secrets(value).is_empty();
        self.is_named(flat, name, value)
            || is_callback && name == "code" && !value.is_empty()
            || !flat.has_values(value) && (has_secret(value) || has_parts())
    }

    /// Returns true where a value is secret by its name or its form.
    fn is_named(&self, flat: &Flat, name: &str, value: &str) -> bool {
        !value.is_empty()
            && (self.is_key(name)
                || is_secret_name(name)
                || !flat.has_values(value) && is_secret_value(name, value))
    }

    fn is_key(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.eq_ignore_ascii_case(name))
    }

    /// Hides the secrets of a value with a name.
    fn hide_named(&mut self, flat: &Flat, name: &str, value: &str, what: &str) -> Text {
        let is_prose = is_prose(value);
        if is_secret_name(name)
            || self.is_key(name)
            || !is_prose && self.is_named(flat, name, value)
        {
            return self.hide_whole(flat, value, name, what);
        }
        if is_prose && !is_harmless(name) || flat.has_values(value) {
            return self.hide_text(flat, value, name, what);
        }
        if has_secret(value) {
            return self.hide_whole(flat, value, name, what);
        }
        flat.restore(value)
    }

    /// Hides a value that is secret as a whole; of one with values in it, the literals.
    fn hide_whole(&mut self, flat: &Flat, value: &str, wanted: &str, what: &str) -> Text {
        let is_rest = |text: &str| {
            let letters = text
                .chars()
                .filter(|letter| letter.is_alphanumeric())
                .count();
            let has_value = text.split('=').skip(1).any(|value| {
                !value.trim_start().is_empty() && !value.trim_start().starts_with([';', '&', ','])
            });
            has_value || letters >= SHORTEST_REST
        };
        let has_values = flat.has_values(value);
        let is_hidden = |text: &str| !has_values || is_rest(text);
        self.hide_literals(&flat.restore(value), wanted, what, is_hidden)
    }

    /// Hides the literals of a text for which `is_hidden` is true.
    fn hide_literals(
        &mut self,
        text: &Text,
        wanted: &str,
        what: &str,
        is_hidden: impl Fn(&str) -> bool,
    ) -> Text {
        let pieces = text.pieces().iter().map(|piece| match piece {
            Piece::Literal(text) if is_hidden(text) => self.add_secret(text, wanted, what),
            piece => piece.clone(),
        });
        pieces.collect()
    }

    /// Hides the secret parts of prose; all of it where a secret has no clear ends.
    fn hide_text(&mut self, flat: &Flat, text: &str, wanted: &str, what: &str) -> Text {
        let whole = flat.restore(text);
        let mut hidden = Text::default();
        for piece in whole.pieces() {
            let Piece::Literal(text) = piece else {
                hidden.push(piece.clone());
                continue;
            };
            let mut end = 0;
            for found in find_secrets(text) {
                hidden.push_str(&text[end..found.span.start]);
                end = found.span.end;
                let name = found.name.as_deref().unwrap_or(wanted);
                hidden.push(self.add_secret(&text[found.span], name, what));
            }
            hidden.push_str(&text[end..]);
        }
        let is_safe = |piece: &Piece| !matches!(piece, Piece::Literal(text) if has_secret(text));
        if hidden.pieces().iter().all(is_safe) {
            return hidden;
        }
        let has_values = whole.has_values();
        self.hide_literals(&whole, wanted, what, |text| !has_values || has_secret(text))
    }

    /// Returns all forms in which the secrets may occur, and names encoded ones.
    fn known_forms(&mut self) -> Vec<Known> {
        let mut known = Vec::new();
        for (number, secret) in self.secrets.iter().enumerate() {
            let value = secret.value.as_deref().unwrap_or_default();
            if value.len() < SHORTEST_KNOWN || secret.is_variable {
                continue;
            }
            let most = if number < MOST_ENCODED { usize::MAX } else { 1 };
            for (at, form) in encodings_of(value).into_iter().take(most).enumerate() {
                known.push(Known {
                    form,
                    number,
                    is_encoded: at > 0,
                });
            }
        }
        known
    }

    /// Replaces the values of secrets wherever they occur.
    fn replace_known(&mut self, text: &Text, known: &[Known], is_url: bool) -> Text {
        let mut replaced = Text::default();
        for piece in text.pieces() {
            let Piece::Literal(text) = piece else {
                replaced.push(piece.clone());
                continue;
            };
            let mut rest = text.as_str();
            loop {
                let found = known
                    .iter()
                    .filter_map(|known| Some((rest.find(&known.form)?, known)));
                let first = found.min_by_key(|(at, known)| (*at, usize::MAX - known.form.len()));
                let Some((at, found)) = first else { break };
                self.replace_base64(&rest[..at], &mut replaced);
                replaced.push(if found.is_encoded && !is_url {
                    let name = self.secrets[found.number].name.clone();
                    let what = format!("`{name}`, encoded for a URL or JSON");
                    self.add_secret(&found.form, &format!("{name}_ENCODED"), &what)
                } else {
                    Piece::Secret(found.number)
                });
                rest = &rest[at + found.form.len()..];
            }
            self.replace_base64(rest, &mut replaced);
        }
        replaced
    }

    /// Replaces words of Base64 with a secret in them.
    fn replace_base64(&mut self, text: &str, into: &mut Text) {
        let mut end = 0;
        for (at, word, decoded) in find_base64_texts(text) {
            let is_in = |secret: &&Secret| {
                let value = secret.value.as_deref().unwrap_or_default();
                value.len() >= SHORTEST_KNOWN && decoded.contains(value)
            };
            let Some(secret) = self.secrets.iter().find(is_in) else {
                continue;
            };
            let name = secret.name.clone();
            let what = format!("Base64 of a text that has `{name}` in it");
            into.push_str(&text[end..at]);
            into.push(self.add_secret(word, &format!("{name}_BASE64"), &what));
            end = at + word.len();
        }
        into.push_str(&text[end..]);
    }
}

/// Quotes a name of the input, shortened.
fn quote(name: &str) -> String {
    let short: String = name.chars().take(60).collect();
    let more = if short.len() < name.len() { " …" } else { "" };
    format!(
        "`{}{more}`",
        crate::console::clean(&short).replace('`', "'")
    )
}

fn in_body(name: &str) -> String {
    format!("{} in the body", quote(name))
}

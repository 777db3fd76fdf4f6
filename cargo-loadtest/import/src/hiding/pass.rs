//! The secrets pass: replaces secret literals of requests by [`Piece::Secret`], and redacts the words around requests.

use super::forms::{collect_values, has_form_names, is_prose, is_usual_form, names_of, quote_bare};
use crate::document::{self, Value};
use crate::naming::unique;
use crate::recording::{Body, Credentials, Exchange, Header, Part, Piece, Recording, Secret, Text};
use crate::secrets::{
    FindSecrets, HiddenValues, NameKind, find_evident_secrets, find_secret_literals, find_secrets,
    has_found, is_callback, is_in_name, is_random_header, is_recognised, is_secret_name,
    is_secret_number, is_secret_segment, is_secret_user, is_secret_value, looks_secret, variable,
};
use crate::source::Input;
use crate::text::{URL_ENCODED, escape_json, form_decode, form_encode, quote_name};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use loadtest::redact::{REDACTED, SecretTexts};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The fewest letters and digits next to a value that may be secret themselves.
const SHORTEST_REST: usize = 8;
/// The segment of a path that names a secret.
const HIDDEN: &str = "{token}";

/// The place of a text in a request, which says how it is encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextPlace {
    /// The segment of a path, in which a word is no secret.
    Segment,
    /// A query, or a form that is encoded as it is usual.
    Pairs,
    Json,
    /// The name of a field, in which a word is no secret.
    Name,
    Plain,
}

impl TextPlace {
    /// Returns true where the place encodes a value in this way by itself.
    fn encodes(self, value: &str, written: &str) -> bool {
        match self {
            _ if written == value => true,
            Self::Segment | Self::Pairs => form_decode(written) == value,
            Self::Json => {
                let read = serde_json::from_str::<String>(&format!("\"{written}\""));
                read.is_ok_and(|read| read == value)
            }
            Self::Name | Self::Plain => false,
        }
    }
}

/// Replaces all secrets of a recording.
pub fn hide_secrets(recording: &mut Recording) {
    let mut finder = Finder::new(recording);
    for (number, exchange) in recording.exchanges.iter_mut().enumerate() {
        split_basic(exchange);
        finder.exchange = Some(number);
        finder.hide_in(exchange);
    }
    finder.exchange = None;
    // A secret of one request is one in all others, also before it.
    let secrets = finder.secrets.iter().filter(|secret| !secret.is_variable);
    let known = SecretTexts::new(secrets.filter_map(|secret| secret.value.as_deref()));
    for exchange in &mut recording.exchanges {
        finder.replace_in(exchange, &known);
    }
    recording.secrets = finder.secrets;
    redact_words(recording, finder.find);
}

/// Redacts names, descriptions, warnings and patterns.
fn redact_words(recording: &mut Recording, find: FindSecrets) {
    let secrets = recording.secrets.iter();
    let values = secrets.filter(|secret| !secret.is_variable);
    let known: Vec<String> = values.filter_map(|secret| secret.value.clone()).collect();
    let hidden = HiddenValues::new(&known);
    for words in recording.words_mut() {
        *words = hidden.redact(words, find);
    }
    for part in &mut recording.code {
        part.text = hidden.redact(&part.text, find_secret_literals);
    }
    let is_token = |value: &&String| is_recognised(value);
    let tokens: Vec<String> = known.iter().filter(is_token).cloned().collect();
    let hidden = HiddenValues::new(&tokens);
    for exchange in &mut recording.exchanges {
        if let Some(pattern) = &mut exchange.pattern {
            *pattern = hidden.redact(pattern, find).replace(REDACTED, HIDDEN);
        }
    }
}

/// Turns a header of basic authentication into credentials, of which the user is often no secret.
fn split_basic(exchange: &mut Exchange) {
    let mut headers = exchange.headers.iter();
    let is_authorization = |header: &Header| header.name.eq_ignore_ascii_case("authorization");
    let Some(at) = headers.position(is_authorization) else {
        return;
    };
    let value = exchange.headers[at].value.as_literal().unwrap_or_default();
    let pair = value
        .strip_prefix("Basic ")
        .filter(|_| exchange.credentials.is_none());
    let pair = pair.and_then(|pair| BASE64_STANDARD.decode(pair).ok());
    let pair = pair.and_then(|pair| String::from_utf8(pair).ok());
    if let Some((user, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
        exchange.credentials = Some(Credentials {
            user: user.into(),
            password: password.into(),
        });
        exchange.headers.remove(at);
    }
}

/// Returns true where the body is declared as a form.
fn is_form(exchange: &Exchange) -> bool {
    let content_type = exchange.content_type().unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(URL_ENCODED)
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
    /// The input is a description, whose random values are examples.
    is_described: bool,
    find: FindSecrets,
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
            is_described: recording.is_described,
            find: if recording.is_described {
                find_evident_secrets
            } else {
                find_secrets
            },
        }
    }

    /// Returns true where a segment of a path is secret.
    fn is_segment(&self, before: &str, segment: &str) -> bool {
        looks_secret(segment) || !self.is_described && is_secret_segment(before, segment)
    }

    /// Returns true where a value with a harmless name is secret.
    fn is_value(&self, name: &str, value: &str) -> bool {
        looks_secret(value) || !self.is_described && is_secret_value(name, value)
    }

    /// Returns the piece of a secret value, which gets a name where it has none.
    fn add_secret(&mut self, value: &str, wanted: &str, what: &str) -> Piece {
        if let Some(number) = self.numbers.get(value) {
            return Piece::Secret(*number);
        }
        let name = unique(&variable(wanted, "SECRET"), &mut self.names);
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
        let is_form = is_form(exchange);
        match &mut exchange.body {
            Body::Text(text) if !text.is_binary() => {
                *text = if is_form && has_form_names(&text.flat().text) {
                    self.hide_in_pairs(text, is_usual_form(&text.flat()), "body")
                } else {
                    self.hide_text(text, "body", "the body")
                };
            }
            Body::None | Body::Text(_) => {}
            Body::Multipart(parts) => parts.iter_mut().for_each(|part| self.hide_in_part(part)),
        }
    }

    fn hide_credentials(&mut self, credentials: &mut Credentials) {
        let Credentials { user, password } = credentials;
        let plain = password.shown(|_| String::new());
        let name = user.as_literal().unwrap_or_default();
        if is_secret_user(name, &plain) {
            let piece = self.add_secret(name, "api key", "the key used as the user name");
            *user = piece.into();
        }
        *password = self.hide_whole(password, "password", "the password");
    }

    fn hide_in_header(&mut self, header: &Header) -> Text {
        let name = header.name.to_ascii_lowercase();
        let token = header.value.strip_prefix("Bearer ");
        if let Some(token) = token.filter(|_| name == "authorization") {
            let hidden = self.hide_whole(&token, "api token", "the bearer token");
            return hidden.between("Bearer ", "");
        }
        // Each cookie is a secret of its own already.
        if name == "cookie" && has_named_values(&header.value) {
            return header.value.clone();
        }
        let what = format!("the header {}", quote_name(&name));
        let value = header.value.as_literal().unwrap_or_default();
        let hidden = self.hide_named(&header.value, &name, &what);
        let is_random = || is_random_header(value, NameKind::new(&name));
        if hidden == header.value && !self.is_described && is_random() {
            return self.hide_whole(&header.value, &name, &what);
        }
        hidden
    }

    fn hide_in_part(&mut self, part: &mut Part) {
        let name = part.name.shown(|_| String::new());
        part.content = self.hide_named(&part.content, &name, &in_place(&name, "body"));
        if let Some(file_name) = &mut part.file_name {
            *file_name = self.hide_text(file_name, "file name", "a file name in the body");
        }
    }

    /// Hides secrets of a path and its query.
    fn hide_in_url(&mut self, url: &Text) -> Text {
        let flat = url.flat();
        let end = flat.text.find('?').unwrap_or(flat.text.len());
        let (path, query) = flat.text.split_at(end);
        let mut text = Text::default();
        let mut before = "";
        for (at, segment) in path.split('/').enumerate() {
            text.push_str(if at == 0 { "" } else { "/" });
            let decoded = form_decode(&segment.replace('+', "%2B"));
            if !flat.has_values(segment) && self.is_segment(before, &decoded) {
                text.push(self.add_secret(&decoded, "path token", "a part of the path"));
            } else {
                text.append(flat.restore(segment));
            }
            before = segment;
        }
        if let Some(query) = query.strip_prefix('?') {
            text.push_str("?");
            text.append(self.hide_in_pairs(&flat.restore(query), true, "URL"));
        }
        text
    }

    /// Hides secrets of a query or a form: decoded ones where its place encodes them again, else as they are written.
    fn hide_in_pairs(&mut self, pairs: &Text, is_encoded_again: bool, place: &str) -> Text {
        let flat = pairs.flat();
        let is_callback = is_callback(&names_of(&flat.text));
        let mut text = Text::default();
        for (at, pair) in flat.text.split('&').enumerate() {
            text.push_str(if at == 0 { "" } else { "&" });
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, decoded) = (form_decode(key), flat.restore(&form_decode(value)));
            let what = in_place(&name, place);
            let wanted = match name.as_str() {
                "code" if is_callback => "auth_code",
                name => name,
            };
            let part = if is_encoded_again {
                decoded
            } else {
                flat.restore(value)
            };
            let mut hidden = self.hide_named(&part, wanted, &what);
            if hidden == part && !is_encoded_again && !(self.find)(&form_decode(value)).is_empty() {
                hidden = self.hide_whole(&part, wanted, &what);
            }
            if hidden == part {
                text.append(flat.restore(pair));
                continue;
            }
            text.append(flat.restore(key));
            text.push_str("=");
            let encode = |text: &str| match text {
                text if is_encoded_again => form_encode(text),
                text => text.to_owned(),
            };
            text.append(hidden.map_literals(encode));
        }
        text
    }

    /// Hides secrets of JSON; returns nothing where it is no JSON.
    fn hide_in_json(&mut self, whole: &Text) -> Option<Text> {
        let flat = whole.flat();
        if !flat.text.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let (json, added) = quote_bare(&flat, &flat.text);
        let input = Input::new(String::new(), json);
        let root = document::read(&input).ok()?;
        let mut values = Vec::new();
        collect_values(&root, "", &mut values);
        let mut text = Text::default();
        let mut end = 0;
        let copy = |text: &mut Text, part: Range<usize>| {
            let letters = input.text[part.clone()].char_indices();
            let letters = letters.filter(|(at, _)| !added.contains(&(part.start + at)));
            let part: String = letters.map(|(_, letter)| letter).collect();
            text.append(flat.restore(&part));
        };
        for (key, node) in values {
            let what = in_place(&key, "body");
            let (span, hidden) = match &node.value {
                Value::Number(number) if is_secret_number(&key, number) => {
                    let piece = self.add_secret(number, &key, &what);
                    (node.span.clone(), piece.into())
                }
                Value::Text(value) if flat.value(value).is_none() => {
                    let value = flat.restore(value);
                    let hidden = self.hide_named(&value, &key, &what);
                    if hidden == value {
                        continue;
                    }
                    let inside = node.span.start + 1..node.span.end - 1;
                    (inside, hidden.map_literals(escape_json))
                }
                _ => continue,
            };
            copy(&mut text, end..span.start);
            text.append(hidden);
            end = span.end;
        }
        copy(&mut text, end..input.text.len());
        Some(text)
    }

    /// Returns true where the name makes a value secret.
    fn is_named(&self, name: &str) -> bool {
        let mut keys = self.keys.iter();
        keys.any(|key| key.eq_ignore_ascii_case(name)) || is_secret_name(name)
    }

    /// Hides the secrets of a value with a name; one of content only looks random.
    fn hide_named(&mut self, text: &Text, name: &str, what: &str) -> Text {
        let find = self.find;
        if NameKind::new(name) == NameKind::Content {
            self.find = find_evident_secrets;
        }
        let hidden = self.hide_value(text, name, what);
        self.find = find;
        hidden
    }

    fn hide_value(&mut self, text: &Text, name: &str, what: &str) -> Text {
        let value = text.shown(|_| String::new());
        let is_prose = is_prose(&value) && NameKind::new(name) != NameKind::Harmless;
        match () {
            () if value.is_empty() => text.clone(),
            () if self.is_named(name) => self.hide_whole(text, name, what),
            () if text.is_binary() => text.clone(),
            () if is_prose || text.has_values() => self.hide_text(text, name, what),
            () if self.is_value(name, &value) || has_found(&value, self.find) => {
                self.hide_whole(text, name, what)
            }
            () => text.clone(),
        }
    }

    /// Hides a value that is secret as a whole; of one with values in it, the literals.
    fn hide_whole(&mut self, text: &Text, wanted: &str, what: &str) -> Text {
        if text.is_binary() {
            let lossy = text.shown(|_| String::new());
            return self.add_secret(&lossy, wanted, what).into();
        }
        let find = self.find;
        let is_rest = |text: &str| {
            let letters = text.chars().filter(|letter| letter.is_alphanumeric());
            let mut values = text.split('=').skip(1).map(str::trim_start);
            letters.count() >= SHORTEST_REST
                || values.any(|value| !value.is_empty() && !value.starts_with([';', '&', ',']))
                || has_found(text, find)
        };
        let has_values = text.has_values();
        let pieces = text.pieces().iter().map(|piece| match piece {
            Piece::Literal(text) if !has_values || is_rest(text) => {
                self.add_secret(text, wanted, what)
            }
            piece => piece.clone(),
        });
        pieces.collect()
    }

    /// Hides the secret parts of JSON or prose; all of it where a secret has no clear ends.
    fn hide_text(&mut self, whole: &Text, wanted: &str, what: &str) -> Text {
        if let Some(hidden) = self.hide_in_json(whole) {
            return hidden;
        }
        let mut hidden = Text::default();
        for piece in whole.pieces() {
            let Piece::Literal(text) = piece else {
                hidden.push(piece.clone());
                continue;
            };
            let mut end = 0;
            for found in (self.find)(text) {
                hidden.push_str(&text[end..found.span.start]);
                end = found.span.end;
                let name = found.name.as_deref().unwrap_or(wanted);
                hidden.push(self.add_secret(&text[found.span], name, what));
            }
            hidden.push_str(&text[end..]);
        }
        let find = self.find;
        let is_safe =
            |piece: &Piece| !matches!(piece, Piece::Literal(text) if has_found(text, find));
        if hidden.pieces().iter().all(is_safe) {
            hidden
        } else {
            self.hide_whole(whole, wanted, what)
        }
    }

    /// Replaces the values of known secrets in all that a request sends.
    fn replace_in(&mut self, exchange: &mut Exchange, known: &SecretTexts) {
        let body = match &exchange.body {
            Body::Text(text) if text.start().trim_start().starts_with(['{', '[']) => {
                TextPlace::Json
            }
            Body::Text(text) if is_form(exchange) && is_usual_form(&text.flat()) => {
                TextPlace::Pairs
            }
            _ => TextPlace::Plain,
        };
        let url = exchange.target.flat();
        let end = url.text.find('?').unwrap_or(url.text.len());
        let (path, query) = url.text.split_at(end);
        let segments = path.split('/').map(|segment| {
            let segment = url.restore(segment);
            self.replace_known(&segment, known, TextPlace::Segment)
        });
        let mut target = Text::join(segments, "/");
        target.append(self.replace_known(&url.restore(query), known, TextPlace::Pairs));
        exchange.target = target;
        let mut texts: Vec<(&mut Text, TextPlace)> = Vec::new();
        let headers = exchange.headers.iter_mut();
        texts.extend(headers.map(|header| (&mut header.value, TextPlace::Plain)));
        if let Some(Credentials { user, password }) = &mut exchange.credentials {
            texts.extend([(user, TextPlace::Plain), (password, TextPlace::Plain)]);
        }
        match &mut exchange.body {
            Body::None => {}
            Body::Text(text) => texts.push((text, body)),
            Body::Multipart(parts) => {
                for part in parts {
                    texts.push((&mut part.name, TextPlace::Name));
                    let contents = part.file_name.iter_mut().chain([&mut part.content]);
                    texts.extend(contents.map(|text| (text, TextPlace::Plain)));
                }
            }
        }
        let sockets = exchange.socket.iter_mut();
        let sent = sockets.flat_map(|socket| &mut socket.sent);
        texts.extend(sent.map(|message| (&mut message.content, TextPlace::Plain)));
        for (text, place) in texts {
            *text = self.replace_known(text, known, place);
        }
    }

    /// Replaces the values of secrets wherever they occur, but for words that are names.
    fn replace_known(&mut self, text: &Text, known: &SecretTexts, place: TextPlace) -> Text {
        let mut replaced = Text::default();
        for piece in text.pieces() {
            let Piece::Literal(text) = piece else {
                replaced.push(piece.clone());
                continue;
            };
            let mut end = 0;
            for (span, value) in known.find(text) {
                let is_name = matches!(place, TextPlace::Segment | TextPlace::Name)
                    || is_in_name(text, span.clone());
                if span.start < end || is_name && !is_recognised(&value) {
                    continue;
                }
                replaced.push_str(&text[end..span.start]);
                let written = &text[span.clone()];
                let number = self.numbers[&value];
                replaced.push(if place.encodes(&value, written) {
                    Piece::Secret(number)
                } else {
                    let name = self.secrets[number].name.clone();
                    let what = format!("`{name}`, encoded");
                    self.add_secret(written, &format!("{name}_ENCODED"), &what)
                });
                end = span.end;
            }
            replaced.push_str(&text[end..]);
        }
        replaced
    }
}

fn in_place(name: &str, place: &str) -> String {
    format!("{} in the {place}", quote_name(name))
}

/// Returns true for `sid={{value}}; theme=dark; ..`, where each value is one already, or a short word.
fn has_named_values(cookies: &Text) -> bool {
    let flat = cookies.flat();
    flat.has_values(&flat.text)
        && flat.text.split("; ").all(|pair| {
            let value = pair.split_once('=').map_or("", |(_, value)| value);
            let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            flat.value(value).is_some() || value.len() < 8 && value.bytes().all(is_word)
        })
}

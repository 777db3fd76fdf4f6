//! Secrets in a text: after a name (`token = ..`, `"pin": ".."`, `<Password>..`), in a URL, or by their form.

use super::random::{decode_base64_text, is_random, split_words};
use super::rules::{
    NameKind, is_secret_name, is_secret_segment, is_secret_user, is_secret_value, looks_secret,
};
use crate::text::place_of;
use loadtest::redact::{self, REDACTED, SecretTexts};
use std::ops::Range;

/// The shortest value that the library looks for.
const LONG: usize = 8;
/// The shortest value that is redacted as a word of its own.
const SHORT: usize = 5;

/// The name of a secret in a path.
const PATH_TOKEN: &str = "path token";
/// The longest run of Base64 that is no document.
const LONGEST_RUN: usize = 2048;
/// The longest tag.
const LONGEST_TAG: usize = 256;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretMatch {
    /// Its place.
    pub(crate) span: Range<usize>,
    /// The name that the text gives it.
    pub(crate) name: Option<String>,
}

/// Finds the secrets of a text.
pub(crate) type FindSecrets = fn(&str) -> Vec<SecretMatch>;

/// Finds the secrets of a text, in their order.
pub(crate) fn find_secrets(text: &str) -> Vec<SecretMatch> {
    let mut search = Search {
        text,
        rest: text,
        found: Vec::new(),
    };
    while let Some(first) = search.rest.chars().next() {
        let rest = search.rest;
        if let Some(document) = search.find_document() {
            search.skip(document);
        } else if let Some(authority) = rest.strip_prefix("://") {
            search.user_info(authority);
        } else if is_name(first) {
            search.word(rest);
        } else if first == '/' {
            search.path(rest);
        } else {
            search.rest = &rest[first.len_utf8()..];
            if first == '<' {
                search.element(search.rest);
            }
        }
    }
    search.found
}

/// Finds the secrets of a text by their names and forms, and none that only looks random.
pub(crate) fn find_evident_secrets(text: &str) -> Vec<SecretMatch> {
    let mut found = find_secrets(text);
    found.retain(|found| {
        let name = found.name.as_deref().filter(|name| *name != PATH_TOKEN);
        name.is_some_and(is_secret_name) || looks_secret(&text[found.span.clone()])
    });
    found
}

/// Finds the secrets of code: those within its strings. What is after a name is else an expression: `token = login().token`.
pub(crate) fn find_secret_literals(code: &str) -> Vec<SecretMatch> {
    let mut found = find_secrets(code);
    found.retain(|found| {
        let begin = code[..found.span.start].rfind('\n').unwrap_or(0);
        let line = &code[begin..found.span.start];
        let is_open = |quote| line.matches(quote).count() % 2 == 1;
        let part = &code[found.span.clone()];
        ['"', '\'', '`'].into_iter().any(is_open) && !part.contains("${") || is_recognised(part)
    });
    found
}

/// Returns true where a value has the look of a secret: of a key, a token, or chance. Others may be words, and so the names of
/// fields.
pub(crate) fn is_recognised(value: &str) -> bool {
    looks_secret(value) || is_random(value, NameKind::Plain)
}

/// Returns true where a part of a text is a name, or in one, and no value: before `=` or `:`, of an element, of a parameter
/// without a value.
pub(crate) fn is_in_name(text: &str, span: Range<usize>) -> bool {
    let is_inner = |letter: char| letter.is_alphanumeric() || "_-.[]%".contains(letter);
    let before = text[..span.start].trim_end_matches(is_inner);
    let after = text[span.end..].trim_start_matches(is_inner);
    let is_parameter = before.ends_with(['?', '&']) && (after.is_empty() || after.starts_with('&'));
    let after = after.trim_start_matches(['\\', '"', '\'', '`', ' ']);
    is_parameter || after.starts_with(['=', ':']) || before.ends_with('<') || before.ends_with("</")
}

/// Values that are shown nowhere.
pub(crate) struct HiddenValues {
    long: SecretTexts,
    /// Values that are redacted as words of their own.
    short: Vec<String>,
}

impl HiddenValues {
    pub(crate) fn new(values: &[String]) -> Self {
        let is_short = |value: &&String| {
            let is_word = value.bytes().all(|byte| byte.is_ascii_alphabetic());
            (SHORT..LONG).contains(&value.len()) && !is_word && !REDACTED.contains(&***value)
        };
        Self {
            long: SecretTexts::new(values.iter().map(String::as_str)),
            short: values.iter().filter(is_short).cloned().collect(),
        }
    }

    /// Redacts these values, and what `find` takes for secrets.
    pub(crate) fn redact(&self, text: &str, find: FindSecrets) -> String {
        let long = self.long.find(text).into_iter();
        let mut shown = redact_spans(text, long.map(|(span, _)| span));
        for value in &self.short {
            shown = redact_short(&shown, value);
        }
        let spans = find(&shown).into_iter().map(|found| found.span);
        redact_spans(&shown, spans)
    }
}

/// Replaces parts of a text, which come in their order.
fn redact_spans(text: &str, spans: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut end = 0;
    for span in spans.into_iter().filter(|span| !span.is_empty()) {
        shown.push_str(text.get(end..span.start).unwrap_or_default());
        shown.push_str(REDACTED);
        end = span.end;
    }
    shown + &text[end..]
}

/// Redacts a short value where it is a word of its own.
fn redact_short(text: &str, value: &str) -> String {
    let is_letter = |letter: char| letter.is_alphanumeric();
    let places = text.match_indices(value);
    let spans = places.map(|(at, _)| at..at + value.len());
    let alone = spans.filter(|span| {
        !text[..span.start].ends_with(is_letter) && !text[span.end..].starts_with(is_letter)
    });
    redact_spans(text, alone)
}

struct Search<'a> {
    text: &'a str,
    /// The part that is not searched yet.
    rest: &'a str,
    found: Vec<SecretMatch>,
}

impl<'a> Search<'a> {
    /// Takes a part as a secret, and goes on after it.
    fn take(&mut self, part: &'a str, name: Option<&str>) {
        let span = place_of(part, self.text);
        self.rest = &self.text[span.end..];
        if !part.is_empty() && !is_placeholder(part) {
            let name = name.map(str::to_owned);
            self.found.push(SecretMatch { span, name });
        }
    }

    /// Goes on after a part.
    fn skip(&mut self, part: &'a str) {
        self.rest = &self.text[place_of(part, self.text).end..];
    }

    /// Returns the document in Base64 that begins here: it has slashes, but no path and no secrets.
    fn find_document(&self) -> Option<&'a str> {
        let is_inner = |letter: char| letter.is_ascii_alphanumeric() || "+/".contains(letter);
        let at = self.text.len() - self.rest.len();
        if self.text[..at].ends_with(is_inner) {
            return None;
        }
        let run = self.rest.split(|letter| !is_inner(letter)).next()?;
        (run.len() > LONGEST_RUN).then_some(run)
    }

    /// Parses `user:password@` after the slashes of a URL.
    fn user_info(&mut self, rest: &'a str) {
        let is_end = |letter: char| letter.is_whitespace() || "/?#\"'`<>".contains(letter);
        let authority = rest.split(is_end).next().unwrap_or_default();
        if let Some((user, _)) = authority.rsplit_once('@') {
            match user.split_once(':') {
                Some((name, password)) => {
                    if is_secret_user(name, password) {
                        self.take(name, Some("api key"));
                    }
                    self.take(password, Some("password"));
                }
                None => self.take(user, Some("user")),
            }
        }
        self.skip(authority);
    }

    /// Parses the text of an element of XML, after its `<`.
    fn element(&mut self, rest: &'a str) {
        let mut letters = rest.char_indices().take(LONGEST_TAG);
        let Some((end, _)) = letters.find(|(_, letter)| *letter == '>') else {
            return;
        };
        let name = rest[..end].split([' ', '\t', '\r', '\n', '/']).next();
        let local = name.and_then(|name| name.rsplit(':').next());
        let local = local.filter(|local| !local.is_empty() && local.chars().all(is_name));
        let inner = rest[end + 1..].split('<').next().unwrap_or_default().trim();
        let is_one = |local| !inner.contains(char::is_whitespace) || is_secret_name(local);
        if let Some(local) = local.filter(|local| is_one(local) && is_secret_value(local, inner)) {
            self.take(inner, Some(local));
        }
    }

    /// Parses a word: the name of a value, or a value.
    fn word(&mut self, rest: &'a str) {
        let end = rest.find(|letter| !is_name(letter));
        let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
        if let Some(value) = find_credentials(name, after) {
            return self.take(value, Some("token"));
        }
        if let Some(value) = find_named_value(name, after) {
            let is_parted =
                value.contains(|letter: char| letter.is_whitespace() || "/?&=".contains(letter));
            if is_parted && !is_secret_name(name) {
                // A text or a URL has parts.
                self.rest = &self.text[place_of(value, self.text).start..];
            } else if is_secret_value(name, value) {
                self.take(value, Some(name));
            } else {
                self.skip(value);
            }
            return;
        }
        let word = split_words(rest).next().unwrap_or_default();
        let word = word.trim_end_matches('.');
        if word.len() < name.len() || !rest.starts_with(word) {
            self.skip(name);
        } else if looks_secret(word) || is_random(word, NameKind::Plain) {
            self.take(word, None);
        } else {
            self.skip(word);
        }
    }

    /// Parses the segments of a path.
    fn path(&mut self, rest: &'a str) {
        let is_end =
            |letter: char| letter.is_whitespace() || "?#\"'`<>()[]{},;&\\".contains(letter);
        let path = rest.split(is_end).next().unwrap_or_default();
        let path = path.trim_end_matches('.');
        let mut before = "";
        for segment in path.split('/') {
            if is_secret_segment(before, segment) {
                self.take(segment, Some(PATH_TOKEN));
            }
            before = segment;
        }
        self.skip(path);
    }
}

/// Returns true for a placeholder of a value.
fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    ["[", "{{", "${", "$", "<", "%", "***", "…", "..."]
        .iter()
        .any(|begin| value.starts_with(begin))
        || ["null", "true", "false"].contains(&value)
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || "_-.%".contains(letter)
}

/// Finds the credentials after `Bearer` and the like, which are no words of a sentence.
fn find_credentials<'a>(name: &str, after: &'a str) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let is_scheme = ["bearer", "basic", "token", "apikey"].contains(&name.as_str());
    let rest = after.strip_prefix(' ').filter(|_| is_scheme)?;
    let is_end = |letter: char| !letter.is_ascii_alphanumeric() && !"-._~+/=%".contains(letter);
    let value = rest.trim_start_matches(' ').split(is_end).next()?;
    let value = value.trim_end_matches('.');
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_long = value.len() >= if has_digit { 6 } else { 20 } || value.ends_with('=');
    let begins_well = value.starts_with(|first: char| first.is_ascii_alphanumeric());
    (is_long && begins_well).then_some(value)
}

/// Finds the value of a name: `name=`, `"name": "`, `name is `.
fn find_named_value<'a>(name: &str, after: &'a str) -> Option<&'a str> {
    // `user[password]=`, `"password":`, and the same in a string of JSON.
    let rest = after.strip_prefix(']').unwrap_or(after);
    let unquoted = rest.trim_start_matches('\\');
    let unquoted = unquoted.strip_prefix(['"', '\'', '`']).unwrap_or(rest);
    let sign = unquoted.trim_start().strip_prefix([':', '=']);
    let rest = match sign {
        Some(rest) => rest.strip_prefix('>').unwrap_or(rest),
        None => after.strip_prefix(" is ")?,
    };
    let value = rest.trim_start_matches([' ', '\t']);
    let open = value.trim_start_matches('\\');
    let slashes = value.len() - open.len();
    if open.starts_with(['"', '\'', '`']) {
        let (close, inner) = value.split_at(slashes + 1);
        let mut ends = inner.match_indices(close).map(|(at, _)| &inner[..at]);
        let is_open = |end: &&str| {
            let escapes = end.len() - end.trim_end_matches('\\').len();
            slashes > 0 || escapes.is_multiple_of(2)
        };
        let value = ends.find(is_open).unwrap_or(inner);
        return (!value.is_empty()).then_some(value);
    }
    let is_whole = is_secret_name(name);
    let header = name.to_ascii_lowercase();
    let header = header
        .strip_prefix("proxy-")
        .or(header.strip_prefix("set-"))
        .unwrap_or(&header);
    let is_line = ["authorization", "cookie"].contains(&header);
    let mut after_sign = false;
    let mut parts = value.split(|letter: char| {
        // `a=b=c` of no secrets is gone through once.
        let is_next = after_sign && letter != '=' && !is_whole;
        after_sign = letter == '=';
        match letter {
            '\r' | '\n' | '"' | '\'' | '`' => true,
            _ if is_line => false,
            _ => letter.is_whitespace() || "&<>,;)}]|\\".contains(letter) || is_next,
        }
    });
    let value = parts.next()?.trim_end_matches(['.', '!']);
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_value = !value.is_empty() && !rest.starts_with("//");
    (is_value && (sign.is_some() || has_digit && is_whole)).then_some(value)
}

/// Returns true where a text has a secret in it, by a name or by its form.
pub(crate) fn has_secret(text: &str) -> bool {
    has_found(text, find_secrets)
}

/// Returns true where a text has a secret by `find` in it, with a name, or one by its form.
pub(crate) fn has_found(text: &str, find: FindSecrets) -> bool {
    let is_secret_text = |text: &str| {
        redact::names_secret(text)
            || looks_secret(text)
            || find(text).iter().any(|found| found.name.is_some())
    };
    let mut decoded = split_words(text).filter_map(decode_base64_text);
    is_secret_text(text) || decoded.any(|text| is_secret_text(&text))
}

//! Secrets in a text: after a name (`token = ..`, `"pin": ".."`, `<Password>..`), in a URL, or by their form.

use super::random::{Strictness, decode_base64_text, is_random, split_words};
use super::rules::{
    is_secret_name, is_secret_segment, is_secret_user, is_secret_value, looks_secret,
};
use loadtest::redact::{self, REDACTED};
use std::ops::Range;

/// The shortest known value that is redacted within words.
const LONG: usize = 8;
/// The shortest known value that is redacted as a word of its own.
const SHORT: usize = 5;

/// A redacted value and the quote after it.
const CLOSED: &str = "[redacted]`";
/// A separator that is in no text for people.
const DISTANCE: &str = "\r\u{c}";

/// The longest value.
const LONGEST_VALUE: usize = 16 * 1024;
/// The longest tag.
const LONGEST_TAG: usize = 256;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::import) struct SecretMatch {
    /// Its place.
    pub(in crate::import) span: Range<usize>,
    /// The name that the text gives it.
    pub(in crate::import) name: Option<String>,
}

/// Finds the secrets of a text, in their order.
pub(in crate::import) fn find_secrets(text: &str) -> Vec<SecretMatch> {
    let mut search = Search {
        text,
        at: 0,
        found: Vec::new(),
    };
    while search.at < text.len() {
        search.step();
    }
    search.found
}

/// Redacts the secrets of a text for people, and all `known` values.
pub(crate) fn redact_text(text: &str, known: &[String]) -> String {
    let mut shown = text.to_owned();
    for value in known {
        for form in encodings_of(value) {
            shown = redact_value(&shown, &form);
        }
    }
    let encoded: Vec<String> = find_base64_texts(&shown)
        .filter(|(_, _, text)| {
            known
                .iter()
                .any(|value| value.len() >= LONG && text.contains(value))
        })
        .map(|(_, word, _)| word.to_owned())
        .collect();
    for word in encoded {
        shown = shown.replace(&word, REDACTED);
    }
    let mut plain = String::with_capacity(shown.len());
    let mut end = 0;
    for found in find_secrets(&shown) {
        plain.push_str(&shown[end..found.span.start]);
        plain.push_str(REDACTED);
        end = found.span.end;
    }
    plain.push_str(&shown[end..]);
    // A closing quote is no part of the value before it.
    let mut apart = String::with_capacity(plain.len());
    let mut rest = plain.as_str();
    while let Some(at) = rest.find(CLOSED) {
        let (before, after) = rest.split_at(at + REDACTED.len());
        apart.push_str(before);
        let goes_on = after[1..].starts_with(|next: char| next.is_alphanumeric());
        apart.push_str(if goes_on { "" } else { DISTANCE });
        rest = after;
    }
    apart.push_str(rest);
    redact::redact_text(&apart).replace(DISTANCE, "")
}

/// Returns the encodings of a value: plain, as in a URL, a form, JSON.
pub(in crate::import) fn encodings_of(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let mut add = |form: String| {
        if !form.is_empty() && !forms.contains(&form) {
            forms.push(form);
        }
    };
    let form: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    add(form.replace('+', "%20"));
    add(form);
    if let Ok(json) = serde_json::to_string(value) {
        add(json[1..json.len() - 1].to_owned());
    }
    forms
}

/// Finds words that are a text in Base64: their place, the word and the text.
pub(in crate::import) fn find_base64_texts(
    text: &str,
) -> impl Iterator<Item = (usize, &str, String)> {
    let begin = text.as_ptr() as usize;
    split_words(text).filter_map(move |word| {
        let decoded = decode_base64_text(word)?;
        Some((word.as_ptr() as usize - begin, word, decoded))
    })
}

fn redact_value(text: &str, value: &str) -> String {
    if value.len() >= LONG {
        return text.replace(value, REDACTED);
    }
    let is_word = value.bytes().all(|byte| byte.is_ascii_alphabetic());
    if value.len() < SHORT || is_word || REDACTED.contains(value) {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut rest = text;
    let is_letter = |letter: char| letter.is_alphanumeric();
    while let Some((before, after)) = rest.split_once(value) {
        shown.push_str(before);
        let is_alone = !before.ends_with(is_letter) && !after.starts_with(is_letter);
        shown.push_str(if is_alone { REDACTED } else { value });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

struct Search<'a> {
    text: &'a str,
    at: usize,
    found: Vec<SecretMatch>,
}

impl<'a> Search<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, span: Range<usize>, name: Option<&str>) {
        self.at = span.end;
        if !span.is_empty() && !is_placeholder(&self.text[span.clone()]) {
            let name = name.map(str::to_owned);
            self.found.push(SecretMatch { span, name });
        }
    }

    fn step(&mut self) {
        let rest = self.rest();
        if rest.starts_with("://") {
            self.at += 3;
            self.user_info();
            return;
        }
        if rest.starts_with('<') {
            self.at += 1;
            self.element();
            return;
        }
        if rest.starts_with(is_name) {
            self.word();
            return;
        }
        if rest.starts_with('/') {
            self.path();
            return;
        }
        self.at += rest.chars().next().map_or(1, char::len_utf8);
    }

    /// Parses `user:password@` after the slashes of a URL.
    fn user_info(&mut self) {
        let rest = self.rest();
        let end = rest.find(|letter: char| letter.is_whitespace() || "/?#\"'`<>".contains(letter));
        let authority = &rest[..end.unwrap_or(rest.len())];
        let from = self.at;
        self.at += authority.len();
        let Some((user, _)) = authority.rsplit_once('@') else {
            return;
        };
        let to = from + user.len();
        match user.split_once(':') {
            Some((name, password)) => {
                if is_secret_user(name, password) {
                    self.take(from..from + name.len(), Some("api key"));
                }
                self.take(from + name.len() + 1..to, Some("password"));
            }
            None => self.take(from..to, Some("user")),
        }
        self.at = from + authority.len();
    }

    /// Parses the text of an element of XML, after its `<`.
    fn element(&mut self) {
        let rest = truncate(self.rest(), LONGEST_VALUE);
        let Some((tag, content)) = truncate(rest, LONGEST_TAG)
            .split_once('>')
            .map(|(tag, _)| (tag, &rest[tag.len() + 1..]))
        else {
            return;
        };
        let name = tag.split([' ', '\t', '\r', '\n', '/']).next();
        let name = name.unwrap_or_default();
        let local = name.rsplit(':').next().unwrap_or_default();
        if local.is_empty() || !local.chars().all(is_name) {
            return;
        }
        let end = content.find('<').unwrap_or(content.len());
        let inner = content[..end].trim();
        let is_one = !inner.contains(char::is_whitespace) || is_secret_name(local);
        if is_one && is_secret_value(local, inner) {
            let blank = content.len() - content.trim_start().len();
            let from = self.at + tag.len() + 1 + blank;
            self.take(from..from + inner.len(), Some(local));
        }
    }

    /// Parses a word: the name of a value, or a value.
    fn word(&mut self) {
        let rest = self.rest();
        let length = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        if let Some(value) = find_credentials(name, after) {
            let from = self.at + length;
            self.take(from + value.start..from + value.end, Some("token"));
            return;
        }
        if let Some(value) = find_named_value(name, after) {
            let from = self.at + length;
            self.value(name, from + value.start..from + value.end);
            return;
        }
        let word = split_words(rest).next().unwrap_or(name);
        let word = word.trim_end_matches('.');
        if word.len() < length || !rest.starts_with(word) {
            self.at += length;
            return;
        }
        let span = self.at..self.at + word.len();
        if looks_secret(word) || is_random(word, Strictness::Normal) {
            self.take(span, None);
        } else {
            self.at = span.end;
        }
    }

    /// Takes the value of a name, where it is secret.
    fn value(&mut self, name: &str, span: Range<usize>) {
        let value = &self.text[span.clone()];
        if !is_secret_name(name)
            && value.contains(|letter: char| letter.is_whitespace() || "/?&=".contains(letter))
        {
            // A text or a URL has parts.
            self.at = span.start;
        } else if is_secret_value(name, value) {
            self.take(span, Some(name));
        } else {
            self.at = span.end.max(self.at + 1);
        }
    }

    /// Parses the segments of a path.
    fn path(&mut self) {
        let rest = self.rest();
        let end = rest
            .find(|letter: char| letter.is_whitespace() || "?#\"'`<>()[]{},;&\\".contains(letter));
        let path = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
        let from = self.at;
        let mut before = "";
        let mut at = from;
        for segment in path.split('/') {
            if is_secret_segment(before, segment) {
                self.take(at..at + segment.len(), Some("path token"));
            }
            before = segment;
            at += segment.len() + 1;
        }
        self.at = from + path.len().max(1);
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
fn find_credentials(name: &str, after: &str) -> Option<Range<usize>> {
    let is_scheme = ["bearer", "basic", "token", "apikey"]
        .iter()
        .any(|scheme| name.eq_ignore_ascii_case(scheme));
    let begin = after.len() - after.trim_start_matches(' ').len();
    if !is_scheme || begin == 0 {
        return None;
    }
    let rest = &after[begin..];
    let end = rest
        .find(|letter: char| !letter.is_ascii_alphanumeric() && !"-._~+/=%".contains(letter))
        .unwrap_or(rest.len());
    let value = rest[..end].trim_end_matches('.');
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let begins_well = value.starts_with(|first: char| first.is_ascii_alphanumeric());
    let is_credential =
        begins_well && (value.len() >= 6 && has_digit || value.ends_with('=') || value.len() >= 20);
    is_credential.then(|| begin..begin + value.len())
}

/// Finds the value of a name: `name=`, `"name": "`, `name is `.
fn find_named_value(name: &str, after: &str) -> Option<Range<usize>> {
    let at = |rest: &str| after.len() - rest.len();
    // `user[password]=`, `"password":`, and the same in a string of JSON.
    let rest = after.strip_prefix(']').unwrap_or(after);
    let unquoted = rest.trim_start_matches('\\');
    let rest = match unquoted.strip_prefix(['"', '\'', '`']) {
        Some(unquoted) => unquoted.trim_start(),
        None => rest.trim_start_matches(' '),
    };
    let (rest, is_sentence) = match rest.strip_prefix([':', '=']) {
        Some(rest) => (rest.strip_prefix('>').unwrap_or(rest), false),
        None => (after.strip_prefix(" is ")?, true),
    };
    if rest.starts_with("//") {
        return None;
    }
    let value = rest.trim_start_matches([' ', '\t']);
    let slashes = value.len() - value.trim_start_matches('\\').len();
    let open = value[slashes..]
        .chars()
        .next()
        .filter(|open| "\"'`".contains(*open));
    if let Some(open) = open {
        let begin = at(value) + slashes + 1;
        let close = format!("{}{open}", &value[..slashes]);
        let inner = truncate(&after[begin..], LONGEST_VALUE);
        let end = find_end(inner, &close, slashes == 0);
        return (end > 0).then_some(begin..begin + end);
    }
    let is_line = [
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
    ]
    .iter()
    .any(|header| name.eq_ignore_ascii_case(header));
    let is_whole = is_secret_name(name);
    let mut after_sign = false;
    let end = value.find(|letter: char| {
        let is_end = letter.is_whitespace() || "&\"'`<>,;)}]|\\".contains(letter);
        // `a=b=c` of no secrets is gone through once.
        let is_next = after_sign && letter != '=' && !is_whole;
        after_sign = letter == '=';
        if is_line {
            "\r\n\"'`".contains(letter)
        } else {
            is_end || is_next
        }
    });
    let value_end = value[..end.unwrap_or(value.len())].trim_end_matches(['.', '!']);
    let has_digit = value_end.bytes().any(|byte| byte.is_ascii_digit());
    let is_value = !value_end.is_empty() && (!is_sentence || has_digit && is_secret_name(name));
    is_value.then(|| at(value)..at(value) + value_end.len())
}

/// Returns the start of a text, up to this many bytes.
fn truncate(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// Finds the end of a quoted value.
fn find_end(inner: &str, close: &str, has_escapes: bool) -> usize {
    let mut from = 0;
    while let Some(found) = inner[from..].find(close) {
        let at = from + found;
        let before = &inner[..at];
        let slashes = before.len() - before.trim_end_matches('\\').len();
        if !has_escapes || slashes.is_multiple_of(2) {
            return at;
        }
        from = at + close.len();
    }
    inner.len()
}

/// Returns true where a text has a secret in it.
pub(in crate::import) fn has_secret(text: &str) -> bool {
    let is_secret_text = |text: &str| {
        let named = replace_lookalikes(text);
        redact::redact_text(&named) != named || looks_secret(text) || has_secret_element(text)
    };
    is_secret_text(text) || find_base64_texts(text).any(|(_, _, text)| is_secret_text(&text))
}

/// Replaces names that only sound like those of secrets, such as `max_tokens`.
fn replace_lookalikes(text: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(is_part) {
        let (before, after) = rest.split_at(begin);
        plain.push_str(before);
        let end = after.find(|letter| !is_part(letter));
        let (name, after) = after.split_at(end.unwrap_or(after.len()));
        let is_alike = redact::is_secret_name(name) && !is_secret_name(name);
        plain.push_str(if is_alike { "name" } else { name });
        rest = after;
    }
    plain + rest
}

/// Returns true where an element of XML has a secret name and is not empty.
fn has_secret_element(text: &str) -> bool {
    text.split('<').skip(1).any(|rest| {
        let Some((tag, content)) = rest.split_once('>') else {
            return false;
        };
        let name = tag
            .split([' ', '\t', '\r', '\n', '/'])
            .next()
            .unwrap_or_default();
        let local = name.rsplit(':').next().unwrap_or_default();
        !content.trim().is_empty() && !local.is_empty() && is_secret_name(local)
    })
}

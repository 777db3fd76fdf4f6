//! What of a text is secret: after a name (`token = ..`, `"pin": ".."`, `<Password>..`), in a URL, or by its looks.

use super::random::{Place, is_random, text_in_base64, words};
use super::{is_secret, is_secret_segment, is_secret_user, is_secret_value, looks_secret};
use loadtest::redact::{self, REDACTED};
use std::ops::Range;

/// A known value is looked for anywhere if it is as long.
const LONG: usize = 8;
/// And as a word of its own if it is as long, and no word.
const SHORT: usize = 5;

/// A redacted value, and the quote behind it.
const CLOSED: &str = "[redacted]`";
/// Ends all values, and is in no text for people.
const DISTANCE: &str = "\r\u{c}";

/// How the commands of PowerShell begin whose answer a variable gets.
const VERBS: [&str; 8] = [
    "ConvertFrom",
    "ConvertTo",
    "Get",
    "Import",
    "Invoke",
    "New",
    "Read",
    "Start",
];

/// A longer one is no value.
const LONGEST_VALUE: usize = 16 * 1024;
/// Nor is a longer one the tag of a value.
const LONGEST_TAG: usize = 256;

/// A part of a text that is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::import) struct Found {
    /// Where it stands.
    pub(in crate::import) span: Range<usize>,
    /// What the text calls it.
    pub(in crate::import) name: Option<String>,
}

/// The secret parts of a text, in their order; what is between them may still be told by other rules.
pub(in crate::import) fn found(text: &str) -> Vec<Found> {
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

/// A text for people, without what is secret in it: neither what looks like it, nor any of the `known` values.
pub(crate) fn without(text: &str, known: &[String]) -> String {
    let mut shown = text.to_owned();
    for value in known {
        for form in forms(value) {
            shown = without_value(&shown, &form);
        }
    }
    let encoded: Vec<String> = texts_in_base64(&shown)
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
    for found in found(&shown) {
        plain.push_str(&shown[end..found.span.start]);
        plain.push_str(REDACTED);
        end = found.span.end;
    }
    plain.push_str(&shown[end..]);
    // A quote that closes behind is no part of the value: it is kept at a distance from it.
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

/// How a value may be written: as it is, in a URL, in a form, in JSON.
pub(in crate::import) fn forms(value: &str) -> Vec<String> {
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

/// The words of a text that are a text in Base64: where they are, and what that text is.
pub(in crate::import) fn texts_in_base64(
    text: &str,
) -> impl Iterator<Item = (usize, &str, String)> {
    let begin = text.as_ptr() as usize;
    words(text).filter_map(move |word| {
        let decoded = text_in_base64(word)?;
        Some((word.as_ptr() as usize - begin, word, decoded))
    })
}

fn without_value(text: &str, value: &str) -> String {
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
    found: Vec<Found>,
}

impl<'a> Search<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, span: Range<usize>, name: Option<&str>) {
        self.at = span.end;
        if !span.is_empty() && !is_placeholder(&self.text[span.clone()]) {
            let name = name.map(str::to_owned);
            self.found.push(Found { span, name });
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

    /// `user:password@`, after the slashes of a URL.
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

    /// The text of an element of XML, after its `<`.
    fn element(&mut self) {
        let rest = first(self.rest(), LONGEST_VALUE);
        let Some((tag, content)) = first(rest, LONGEST_TAG)
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
        let is_one = !inner.contains(char::is_whitespace) || is_secret(local);
        if is_one && is_secret_value(local, inner) {
            let blank = content.len() - content.trim_start().len();
            let from = self.at + tag.len() + 1 + blank;
            self.take(from..from + inner.len(), Some(local));
        }
    }

    /// A word: the name of what follows it, or something that looks like a secret itself.
    fn word(&mut self) {
        let rest = self.rest();
        let length = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        if let Some(value) = scheme(name, after) {
            let from = self.at + length;
            self.take(from + value.start..from + value.end, Some("token"));
            return;
        }
        let is_assigned = self.text[..self.at].ends_with('$') && is_assigned_command(after);
        if let Some(value) = announced(name, after).filter(|_| !is_assigned) {
            self.value(
                name,
                self.at + length + value.start..self.at + length + value.end,
            );
            return;
        }
        let word = words(rest).next().unwrap_or(name);
        let word = word.trim_end_matches('.');
        if word.len() < length || !rest.starts_with(word) {
            self.at += length;
            return;
        }
        let span = self.at..self.at + word.len();
        if looks_secret(word) || is_random(word, Place::Any) {
            self.take(span, None);
        } else {
            self.at = span.end;
        }
    }

    /// What a name announces.
    fn value(&mut self, name: &str, span: Range<usize>) {
        let value = &self.text[span.clone()];
        if !is_secret(name)
            && value.contains(|letter: char| letter.is_whitespace() || "/?&=".contains(letter))
        {
            // More than a value: a text, a URL.
            self.at = span.start;
        } else if is_secret_value(name, value) {
            self.take(span, Some(name));
        } else {
            self.at = span.end.max(self.at + 1);
        }
    }

    /// The segments of a path, after a host or at its beginning.
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

/// What stands where a value is to be written.
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

/// The credentials after `Bearer` and the like; words of a sentence are none.
fn scheme(name: &str, after: &str) -> Option<Range<usize>> {
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

/// Where the value is that a name announces: `name=`, `"name": "`, `name is `.
fn announced(name: &str, after: &str) -> Option<Range<usize>> {
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
        let inner = first(&after[begin..], LONGEST_VALUE);
        let end = closing(inner, &close, slashes == 0);
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
    let is_whole = is_secret(name);
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
    let is_value = !value_end.is_empty() && (!is_sentence || has_digit && is_secret(name));
    is_value.then(|| at(value)..at(value) + value_end.len())
}

/// Whether a variable gets what a program of PowerShell answers: `$session = New-Object Microsoft..`.
fn is_assigned_command(after: &str) -> bool {
    let Some(command) = after.trim_start_matches(' ').strip_prefix('=') else {
        return false;
    };
    let command = command.trim_start_matches(' ');
    let end = command.find(char::is_whitespace).unwrap_or(command.len());
    let is_noun = |noun: &str| {
        noun.starts_with(|first: char| first.is_ascii_uppercase())
            && noun.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    command[..end]
        .split_once('-')
        .is_some_and(|(verb, noun)| VERBS.contains(&verb) && is_noun(noun))
}

/// As much of the beginning, in bytes.
fn first(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// Where a quoted value ends.
fn closing(inner: &str, close: &str, has_escapes: bool) -> usize {
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

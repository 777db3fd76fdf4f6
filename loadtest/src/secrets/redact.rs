//! Takes secrets out of what is kept or shown: headers, bodies, URLs, messages.
//!
//! When in doubt it takes out too much. It reads no format: a body may be cut off anywhere, or be
//! JSON within JSON.

pub use super::known::SecretTexts;
use super::{self as secrets, SecretHit};
use http::HeaderValue;
use loadtest_model::redacted::Redacted;
use std::borrow::Cow;
use std::ops::Range;

/// The placeholder for a secret.
pub const REDACTED: &str = "[redacted]";

/// The longest name of a row, in characters.
const MAX_ROW_NAME: usize = 100;

/// The longest message of an error, a panic or a check that is kept, in bytes.
pub(crate) const MAX_MESSAGE: usize = 4096;

/// The bytes left free in a message that is cut, so that words before it do not cut it again.
const ROOM: usize = 64;

/// The part of a longer message that is searched for secrets, in bytes. More of it than is kept, so that a secret
/// across the cut is found.
const MAX_SEARCHED: usize = 16 * MAX_MESSAGE;

/// The most passes over a text; each may uncover more.
const MAX_PASSES: usize = 8;

/// The placeholder for a known value while names are searched.
const KNOWN_MARK: &str = "[secret:x]";

/// The words that make a field name secret, without `_` and `-`.
const SECRET_WORDS: [&str; 6] = [
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "authorization",
];

/// The value of the header `name` as it may be shown.
pub(crate) fn redact_header<'a>(name: &str, value: &'a HeaderValue) -> Cow<'a, str> {
    if value.is_sensitive() || is_secret_name(name) {
        return REDACTED.into();
    }
    match String::from_utf8_lossy(value.as_bytes()) {
        Cow::Borrowed(value) => redact_text(value),
        Cow::Owned(value) => redact_text(&value).into_owned().into(),
    }
}

/// Makes text that may be kept and shown: without the values of fields that hold secrets (`token=..`,
/// `"api_key": ".."`), credentials after `Bearer` and `Basic`, user names in URLs, and the values of all
/// secrets that this process knows, however they are written. Nothing in it drives a terminal.
pub fn redact(text: &str) -> Redacted {
    Redacted::assume(redact_text(text))
}

/// Returns whether [`redact`] finds a secret in `text`.
pub fn names_secret(text: &str) -> bool {
    *redact_text(text) != *text
}

/// Redacts a message of any length as [`redact`] does, and cuts one over [`MAX_MESSAGE`] with a mark that says so.
pub(crate) fn redact_message(text: &str) -> Redacted {
    if text.len() <= MAX_MESSAGE {
        let shown = redact(text);
        if shown.len() <= MAX_MESSAGE {
            return shown;
        }
    }
    let mark = format!("… [cut: {} bytes in all]", text.len());
    let begin = &text[..char_boundary_before(text, MAX_SEARCHED)];
    let is_cut = begin.len() < text.len();
    let safe = secrets::safe_cut(begin.as_bytes(), begin.len(), is_cut);
    let shown = redact(&begin[..char_boundary_before(begin, safe)]);
    let end = char_boundary_before(&shown, MAX_MESSAGE - ROOM - mark.len());
    Redacted::assume(format!("{}{mark}", &shown[..end]))
}

/// Returns the last boundary between characters up to `limit`.
fn char_boundary_before(text: &str, limit: usize) -> usize {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Redacts as [`redact`] does, and leaves control characters.
pub(crate) fn redact_text(text: &str) -> Cow<'_, str> {
    match secrets::scrub_text(text) {
        Cow::Borrowed(text) => redact_named_secrets(text),
        Cow::Owned(text) => redact_named_secrets(&text).into_owned().into(),
    }
}

/// The text without what its own words call secret.
fn redact_named_secrets(text: &str) -> Cow<'_, str> {
    let mut shown = redact_pass(text);
    // What is left beside a redacted value may read differently now; a second look rarely finds any.
    for _ in 0..MAX_PASSES {
        match redact_pass(&shown) {
            Cow::Borrowed(_) => break,
            Cow::Owned(again) => shown = again.into(),
        }
    }
    shown
}

/// A name that the scenario's code gives to a row, as it may be shown.
pub(crate) fn redact_row_name(name: &str) -> String {
    let name = redact(name);
    match name.char_indices().nth(MAX_ROW_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.into_string(),
    }
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextPart<'a> {
    /// Text that may be shown.
    Plain(&'a str),
    /// A secret.
    Secret {
        /// The name of the field that announces it.
        name: &'a str,
        /// The secret.
        value: &'a str,
    },
}

impl TextPart<'_> {
    /// Returns whether the part is empty.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Plain(text) | Self::Secret { value: text, .. } => text.is_empty(),
        }
    }
}

/// The parts of a text: what [`redact_text`] leaves of it, and what it takes out.
///
/// Where the text itself holds a `[redacted]`, that is a secret too. Of two secrets so close together
/// that what is between them is in the first one as well, the border may be elsewhere.
pub(crate) fn split_secrets(whole: &str) -> Vec<TextPart<'_>> {
    let hits = secrets::find_secrets(whole.as_bytes());
    if hits.is_empty() {
        return split_named_secrets(whole);
    }
    // What the words of the text call secret is looked for where known values are marks already, so that
    // nothing in these misleads.
    let (marked, marks) = mark_known_values(whole, &hits);
    let mut parts = Vec::new();
    let (mut at, mut from) = (0, 0);
    for part in split_named_secrets(&marked) {
        let (TextPart::Plain(text) | TextPart::Secret { value: text, .. }) = part;
        let inside = at..at + text.len();
        at = inside.end;
        let is_here =
            |mark: &&SecretMark| inside.start <= mark.shown.start && mark.shown.end <= inside.end;
        let behind = |shown: usize| {
            let before = marks.iter().rev().find(|mark| mark.shown.end <= shown);
            before.map_or(shown, |mark| mark.whole.end + shown - mark.shown.end)
        };
        let end = behind(inside.end);
        if let TextPart::Secret { name, .. } = part {
            let name = name_in(whole, name);
            let value = &whole[from..end];
            parts.push(TextPart::Secret { name, value });
        } else {
            for mark in marks.iter().filter(is_here) {
                parts.push(TextPart::Plain(&whole[from..mark.whole.start]));
                let value = &whole[mark.whole.clone()];
                parts.push(TextPart::Secret { name: "", value });
                from = mark.whole.end;
            }
            parts.push(TextPart::Plain(&whole[from..end]));
        }
        from = end;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// A known value, and the mark in its place.
struct SecretMark {
    whole: Range<usize>,
    shown: Range<usize>,
}

fn mark_known_values(whole: &str, hits: &[SecretHit]) -> (String, Vec<SecretMark>) {
    let mut marked = String::with_capacity(whole.len());
    let mut marks: Vec<SecretMark> = Vec::new();
    let mut copied = 0;
    for hit in hits {
        let range = secrets::whole_characters(whole, &hit.range);
        if range.start < copied {
            continue;
        }
        marked.push_str(&whole[copied..range.start]);
        let begin = marked.len();
        marked.push_str(KNOWN_MARK);
        copied = range.end;
        marks.push(SecretMark {
            whole: range,
            shown: begin..marked.len(),
        });
    }
    marked.push_str(&whole[copied..]);
    (marked, marks)
}

/// Returns the same name as a part of `whole`.
fn name_in<'a>(whole: &'a str, name: &str) -> &'a str {
    whole
        .find(name)
        .map_or("", |at| &whole[at..at + name.len()])
}

fn split_named_secrets(whole: &str) -> Vec<TextPart<'_>> {
    let shown = redact_named_secrets(whole);
    let mut parts = Vec::new();
    let mut at = 0;
    let mut name = "";
    let mut pieces = shown.split(REDACTED).enumerate().peekable();
    while let Some((i, piece)) = pieces.next() {
        let rest = &whole[at..];
        let begin = match pieces.peek() {
            _ if i == 0 => 0,
            Some(_) => rest.find(piece).unwrap_or_default(),
            None => rest.len().saturating_sub(piece.len()),
        };
        let value = &rest[..begin];
        let plain = &rest[begin..begin + piece.len()];
        at += begin + piece.len();
        parts.push(TextPart::Secret { name, value });
        parts.push(TextPart::Plain(plain));
        name = announced_name(plain);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The name at the end of what is before a secret.
fn announced_name(before: &str) -> &str {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let end = before.rfind(is_name).map_or(0, |at| at + 1);
    let last = before[..end].rsplit(|c| !is_name(c)).next();
    last.unwrap_or_default()
}

/// Redacts a decoder's message: keeps the type of the found value and drops the value.
pub(crate) fn redact_decode_error(message: &str) -> Cow<'_, str> {
    for (before, after) in [
        ("string \"", "\", expected "),
        ("character `", "`, expected "),
        ("integer `", "`, expected "),
        ("floating point `", "`, expected "),
        ("unknown variant `", "`, expected "),
    ] {
        if let Some(at) = message.find(before)
            && let from = at + before.len()
            && let Some(length) = message[from..].rfind(after)
        {
            let (head, tail) = (&message[..from], &message[from + length..]);
            return format!("{head}{REDACTED}{tail}").into();
        }
    }
    redact_text(message)
}

/// Redacts the URL of a step as written in the source, and keeps its placeholders.
pub fn redact_url_template(url: &str) -> Cow<'_, str> {
    let Some((path, query)) = url.split_once('?') else {
        return redact_text(url);
    };
    let mut shown = redact_text(path).into_owned();
    for (i, pair) in query.split('&').enumerate() {
        shown.push(if i == 0 { '?' } else { '&' });
        let names_a_value = pair
            .split_once('=')
            .is_some_and(|(_, to)| to.starts_with('{'));
        shown.push_str(&if names_a_value {
            pair.into()
        } else {
            redact_text(pair)
        });
    }
    shown.into()
}

fn redact_pass(text: &str) -> Cow<'_, str> {
    let mut redaction = Redaction {
        text,
        output: String::new(),
        copied: 0,
    };
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"://") {
            at += 3;
            if let Some(end) = user_info_end(bytes, at) {
                redaction.replace(at, end);
                at = end;
            }
        } else if let Some(length) = secrets::mark_length(&bytes[at..]) {
            at += length;
        } else if is_name_byte(bytes[at]) {
            let end = run_end(bytes, at, is_name_byte);
            at = match find_secret_after(text, at, end) {
                Some((from, to)) => {
                    redaction.replace(from, to);
                    to
                }
                None => end,
            };
        } else {
            at += 1;
        }
    }
    redaction.finish()
}

struct Redaction<'a> {
    text: &'a str,
    output: String,
    copied: usize,
}

impl<'a> Redaction<'a> {
    /// Both ends lie beside an ASCII character or an end of the text, so never within a character.
    fn replace(&mut self, from: usize, to: usize) {
        if self.text[from..to] != *REDACTED {
            self.output.push_str(&self.text[self.copied..from]);
            self.output.push_str(REDACTED);
            self.copied = to;
        }
    }

    fn finish(mut self) -> Cow<'a, str> {
        if self.copied == 0 {
            return self.text.into();
        }
        self.output.push_str(&self.text[self.copied..]);
        self.output.into()
    }
}

/// Returns the range of the secret that the name `text[from..to]` announces.
fn find_secret_after(text: &str, from: usize, to: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let name = &text[from..to];
    if is_auth_scheme(name) {
        let begin = run_end(bytes, to, |b| b == b' ');
        let end = run_end(bytes, begin, is_credential_byte);
        return (to < begin && begin < end).then_some((begin, end));
    }
    if let Some(part) = find_secret_part(text, from, to) {
        return Some(part);
    }
    let mut at = run_end(bytes, to, |b| b == b']');
    let quoted = quote_at(bytes, at);
    if let Some((_, end)) = quoted {
        at = end;
    }
    at = run_end(bytes, at, is_blank);
    let separator = *bytes.get(at)?;
    if !matches!(separator, b':' | b'=') || !is_secret_name(name) {
        return None;
    }
    let begin = run_end(bytes, at + 1, is_blank);
    let is_json = quoted.is_some();
    let (begin, end) = if let Some((depth, open)) = quote_at(bytes, begin) {
        (open, closing_quote(bytes, open, depth, bytes[open - 1]))
    } else if is_json && matches!(bytes.get(begin), Some(b'[' | b'{')) {
        (begin, closing_bracket(bytes, begin))
    } else if is_json {
        let end = run_end(bytes, begin, |b| !is_blank(b) && !b",}]\"".contains(&b));
        if is_token_count(name, &text[begin..end]) {
            return None;
        }
        (begin, end)
    } else if separator == b':' && is_secret_header(name) {
        (begin, run_end(bytes, begin, |b| !b"\r\n\"".contains(&b)))
    } else {
        let end = run_end(bytes, begin, |b| !is_blank(b) && !b"&\"".contains(&b));
        if is_auth_scheme(&text[begin..end]) {
            return find_secret_after(text, begin, end);
        }
        (begin, end)
    };
    (begin < end).then_some((begin, end))
}

/// Returns the range of the content of a part of a multipart form (RFC 7578), if the word `text[from..to]` is the
/// `name` in its head and says that it is a secret.
fn find_secret_part(text: &str, from: usize, to: usize) -> Option<(usize, usize)> {
    let name = text[to..].strip_prefix("=\"")?.split('"').next()?;
    if !text[from..to].eq_ignore_ascii_case("name") || !is_secret_name(name) {
        return None;
    }
    let line = text[..from].rsplit('\n').next()?;
    if !line.to_ascii_lowercase().contains("form-data") {
        return None;
    }
    let find = |from: usize, words: [&str; 2]| {
        let found = words.map(|word| text[from..].find(word).map(|at| (from + at, word.len())));
        found.into_iter().flatten().min()
    };
    let (head_end, blank) = find(to, ["\r\n\r\n", "\n\n"])?;
    let begin = head_end + blank;
    let end = find(begin, ["\r\n--", "\n--"]).map_or(text.len(), |(end, _)| end);
    (begin < end).then_some((begin, end))
}

/// Returns whether a field of this name holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    is_secret_header(name) || SECRET_WORDS.iter().any(|word| plain.contains(word))
}

/// Returns whether a number in the field `name` is a count of tokens, as language models have them: `max_tokens`.
fn is_token_count(name: &str, value: &str) -> bool {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let name = name.to_ascii_lowercase();
    is_number && name.contains("tokens") && !is_secret_name(&name.replace("tokens", ""))
}

/// Returns whether the whole value of this header is secret.
fn is_secret_header(name: &str) -> bool {
    [
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
    ]
    .iter()
    .any(|header| name.eq_ignore_ascii_case(header))
}

fn is_auth_scheme(word: &str) -> bool {
    word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic")
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_-.%".contains(&byte)
}

fn is_credential_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=%:".contains(&byte)
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

/// Returns the end of the run of bytes that are `wanted`.
fn run_end(bytes: &[u8], from: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| wanted(**byte)).count()
}

/// The quote at `from`, if one is there: how many backslashes it has, and where it ends.
fn quote_at(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let at = run_end(bytes, from, |b| b == b'\\');
    matches!(bytes.get(at), Some(b'"' | b'\'')).then_some((at - from, at + 1))
}

/// Returns the end of the string that began at `from`: before its closing quote, or at the end of the text.
fn closing_quote(bytes: &[u8], from: usize, depth: usize, mark: u8) -> usize {
    let mut backslashes = 0;
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        if *byte == mark && (backslashes <= depth || closes_string(backslashes, depth)) {
            return at - backslashes.min(depth);
        }
        backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
    }
    bytes.len()
}

/// Returns whether a quote after so many backslashes closes the string. In plain JSON two backslashes are one
/// of the value.
fn closes_string(backslashes: usize, depth: usize) -> bool {
    depth == 0 && backslashes.is_multiple_of(2)
}

/// Returns the end of the array or object that begins at `from`, or the end of the text.
fn closing_bracket(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth == 1 => return at + 1,
            b']' | b'}' => depth -= 1,
            b'"' => at = closing_quote(bytes, at + 1, 0, b'"'),
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Returns the end of the user name in a URL whose host begins at `from`, if it has one.
fn user_info_end(bytes: &[u8], from: usize) -> Option<usize> {
    let end = run_end(bytes, from, |b| !is_blank(b) && !b"/?#\"'`<>@".contains(&b));
    (bytes.get(end) == Some(&b'@') && from < end).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_of_secret_fields_are_taken_out() {
        for (before, after) in [
            (
                r#"{"token":"abc","id":7}"#,
                r#"{"token":"[redacted]","id":7}"#,
            ),
            (
                r#"{"access_token" : "a\"b\\", "x": 1}"#,
                r#"{"access_token" : "[redacted]", "x": 1}"#,
            ),
            (r#"{"apiKey":12345}"#, r#"{"apiKey":[redacted]}"#),
            (r#"{"token":12345}"#, r#"{"token":[redacted]}"#),
            (
                r#"{"max_tokens":300,"secret_tokens":7,"tokens":"a","completion_tokens": 12}"#,
                r#"{"max_tokens":300,"secret_tokens":[redacted],"tokens":"[redacted]","completion_tokens": 12}"#,
            ),
            (
                r#"{"tokens":["a]","b"],"id":1}"#,
                r#"{"tokens":[redacted],"id":1}"#,
            ),
            (
                r#"{"secret":{"a":{"b":"}"}},"id":1}"#,
                r#"{"secret":[redacted],"id":1}"#,
            ),
            (
                r#"{"authorization":["a","b"]}"#,
                r#"{"authorization":[redacted]}"#,
            ),
            (
                r#"{"body":"{\"password\":\"p\\\"w\",\"id\":1}"}"#,
                r#"{"body":"{\"password\":\"[redacted]\",\"id\":1}"}"#,
            ),
            (r#"{"token":"cut off in the mid"#, r#"{"token":"[redacted]"#),
            (r#"{"token":["cut", "off"#, r#"{"token":[redacted]"#),
            (
                "user=me&password=p,w;d)&x=1",
                "user=me&password=[redacted]&x=1",
            ),
            ("user[password]=pw&x=1", "user[password]=[redacted]&x=1"),
            (
                "http://h/p?api_key=k&X-Api-Key=l#f",
                "http://h/p?api_key=[redacted]&X-Api-Key=[redacted]",
            ),
            (
                "passwd: hunter2 was refused",
                "passwd: [redacted] was refused",
            ),
            ("Token='single quoted'", "Token='[redacted]'"),
            (
                "Authorization: Digest a=\r\nAccept: x",
                "Authorization: [redacted]\r\nAccept: x",
            ),
            (
                "set-cookie: id=1; Path=/\nx: y",
                "set-cookie: [redacted]\nx: y",
            ),
            (
                "sent Bearer eyJ.a-b_c and Basic dXNlcjpwdw==.",
                "sent Bearer [redacted] and Basic [redacted]",
            ),
            ("token: bearer abc", "token: bearer [redacted]"),
            (
                "--b\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nada\r\n--b\r\ncontent-disposition: form-data; \
                 name=\"user[password]\"; filename=\"p\"\r\nContent-Type: text/plain\r\n\r\nhunter2\r\nx\r\n--b--\r\n",
                "--b\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nada\r\n--b\r\ncontent-disposition: form-data; \
                 name=\"user[password]\"; filename=\"p\"\r\nContent-Type: text/plain\r\n\r\n[redacted]\r\n--b--\r\n",
            ),
            ("http://me:pw@host/p", "http://[redacted]@host/p"),
            ("://api_key://&@", "://[redacted]@"),
            ("pässword=1&passwordß=ü€", "pässword=1&passwordß=[redacted]"),
        ] {
            assert_eq!(redact_text(before), after, "of {before}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for same in [
            "",
            r#"{"id":7,"name":"token"}"#,
            "no token here",
            "token=&x=1",
            "user=me&page=2",
            "http://host:80/a@b",
            "expected 2xx, got 503 Service Unavailable",
        ] {
            assert!(matches!(redact_text(same), Cow::Borrowed(_)), "{same}");
        }
    }

    #[test]
    fn a_mismatch_names_the_type_and_not_the_value() {
        #[derive(Debug, serde::Deserialize)]
        enum Kind {
            Small,
        }
        fn message<T: serde::de::DeserializeOwned + std::fmt::Debug>(json: &str) -> String {
            let error = serde_json::from_str::<T>(json).unwrap_err();
            redact_decode_error(&error.to_string()).into_owned()
        }
        let string = message::<Vec<u64>>(r#"["s3cr\", expected x\"et"]"#);
        assert!(
            string.starts_with(r#"invalid type: string "[redacted]", expected u64"#),
            "{string}"
        );
        for shown in [
            message::<u64>(r#""s3cret""#),
            message::<String>("5315"),
            message::<String>("5.315"),
            message::<u8>("5315"),
            message::<Kind>(r#""s3cret""#),
            message::<char>(r#""s3cret""#),
        ] {
            assert!(!shown.contains("s3cr") && !shown.contains("315"), "{shown}");
            assert!(
                shown.contains(REDACTED) && shown.contains("expected"),
                "{shown}"
            );
        }
        let null = message::<u64>("null");
        assert!(
            null.starts_with("invalid type: null, expected u64"),
            "{null}"
        );
        assert!(matches!(
            redact_decode_error("missing field `id`"),
            Cow::Borrowed(_)
        ));
        assert!(matches!(Kind::Small, Kind::Small));
    }

    #[test]
    fn the_placeholders_of_a_url_stay() {
        for (before, after) in [
            ("/a?api_key=k&page=2", "/a?api_key=[redacted]&page=2"),
            (
                "/a?token={{login.response.token}}&page=2",
                "/a?token={{login.response.token}}&page=2",
            ),
            ("/a?token={}", "/a?token={}"),
            ("http://me:pw@host/token", "http://[redacted]@host/token"),
            ("/a?", "/a?"),
        ] {
            assert_eq!(redact_url_template(before), after);
        }
    }

    #[test]
    fn headers_that_carry_credentials_are_hidden() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "set-cookie",
            "x-api-key",
        ] {
            assert_eq!(
                redact_header(name, &HeaderValue::from_static("v")),
                REDACTED,
                "{name}"
            );
        }
        assert_eq!(
            redact_header("accept", &HeaderValue::from_static("*/*")),
            "*/*"
        );
        assert_eq!(
            redact_header("referer", &HeaderValue::from_static("http://h/?token=t")),
            "http://h/?token=[redacted]"
        );
    }

    #[test]
    fn a_long_message_is_cut_between_characters_and_says_so() {
        let whole = "é".repeat(MAX_MESSAGE / 2);
        assert_eq!(*redact_message(&whole), *whole);
        for before in ["", "x"] {
            let long = format!("{before}{}", "é".repeat(16_000_000));
            let shown = redact_message(&long);
            let mark = format!("… [cut: {} bytes in all]", long.len());
            let kept = shown.strip_suffix(mark.as_str()).unwrap();
            assert!(long.starts_with(kept));
            assert!((MAX_MESSAGE - ROOM - 1..=MAX_MESSAGE - ROOM).contains(&shown.len()));
            let told = format!("a check panicked: {shown}");
            assert_eq!(*redact_message(&told), *told);
        }
    }

    #[test]
    fn a_secret_across_the_cut_of_a_message_is_hidden() {
        let _known = secrets::Secret::new("CUT", "across-the-cut-of-a-message");
        for before in [MAX_MESSAGE - 60, MAX_SEARCHED - 10] {
            let long = format!(
                "{}across-the-cut-of-a-message{}",
                "x".repeat(before),
                "y".repeat(MAX_SEARCHED)
            );
            let shown = redact_message(&long);
            assert!(!shown.contains("across"), "{before}");
            assert!(shown.len() <= MAX_MESSAGE);
        }
    }

    #[test]
    fn the_parts_of_a_text_are_its_secrets_and_the_rest() {
        let whole = r#"{"token":"a","x":1,"api_key":7,"password":"a"}"#;
        let secrets: Vec<_> = split_secrets(whole)
            .into_iter()
            .filter_map(|part| match part {
                TextPart::Secret { name, value } => Some((name, value)),
                TextPart::Plain(_) => None,
            })
            .collect();
        assert_eq!(
            secrets,
            [("token", "a"), ("api_key", "7"), ("password", "a")]
        );
        assert_eq!(split_secrets("no secret"), [TextPart::Plain("no secret")]);
        assert_eq!(split_secrets(""), []);
        let secret = |name, value| TextPart::Secret { name, value };
        assert_eq!(
            split_secrets("user[password]=é"),
            [TextPart::Plain("user[password]="), secret("password", "é")]
        );
        assert_eq!(
            split_secrets("http://me:pw@h/ü"),
            [
                TextPart::Plain("http://"),
                secret("http", "me:pw"),
                TextPart::Plain("@h/ü")
            ]
        );
    }

    proptest! {
        #[test]
        fn the_parts_of_a_text_are_the_whole_text(any in "(token|=|\\PC| |&|\"|\\[redacted\\]|é){0,24}") {
            let (mut whole, mut shown) = (String::new(), String::new());
            for part in split_secrets(&any) {
                match part {
                    TextPart::Plain(text) => {
                        whole.push_str(text);
                        shown.push_str(text);
                    }
                    TextPart::Secret { value, .. } => {
                        whole.push_str(value);
                        shown.push_str(REDACTED);
                    }
                }
            }
            prop_assert_eq!(whole, any.as_str());
            let (plain, text) = (shown.replace(REDACTED, ""), redact_text(&any));
            prop_assert_eq!(plain, text.replace(REDACTED, ""));
        }

        #[test]
        fn any_text_can_be_redacted_and_twice_is_once(any in "\\PC*") {
            let once = redact_text(&any).into_owned();
            prop_assert_eq!(redact_text(&once), once.as_str());
        }

        #[test]
        fn texts_full_of_secrets_are_redacted_once(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "token", "\"", "'", "\\", ":", "=", " ", "[", "]", "{", "}", ",", "&", "Bearer",
                    "basic", "a", "é", "\n", "://", "@", "cookie", "[redacted]", "api_key", "/", "-",
                ]),
                0..24,
            )
        ) {
            let once = redact_text(&parts.concat()).into_owned();
            prop_assert_eq!(redact_text(&once), once.as_str());
        }

        #[test]
        fn no_part_of_a_json_secret_survives(secret in "[a-z\"\\\\{}\\[\\],:=& ]{1,20}", cut in 0..60_usize) {
            let secret = format!("SECRET{secret}SECRET");
            let body = serde_json::json!({"id": 1, "password": secret, "z": 2}).to_string();
            let mut end = cut.min(body.len());
            while !body.is_char_boundary(end) { end -= 1; }
            let shown = redact_text(&body[..end]).into_owned();
            prop_assert!(!shown.contains("SECRET"), "{}", shown);
        }

        #[test]
        fn no_part_of_a_query_secret_survives(secret in "[!-%'-~]{1,20}") {
            let secret = secret.replace('"', "");
            let url = format!("http://h/p?a=1&access_token=SECRET{secret}SECRET&b=2");
            let shown = redact_text(&url).into_owned();
            prop_assert!(!shown.contains("SECRET"), "{}", shown);
        }
    }
}

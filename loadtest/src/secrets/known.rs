//! The values that must not leave this process, and their removal from texts.

use super::finder::{MIN_LENGTH, SecretFinder};
use super::spelling::{MAX_LAYERS, UnescapedText, unescape_layer};
use super::{Secret, is_name_char, output};
use base64::prelude::{BASE64_STANDARD_NO_PAD, Engine as _};
use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use url::{Position, Url};

/// The least number of run-time secrets that are remembered.
const MIN_REMEMBERED: usize = 10_000;
/// The start of a placeholder; the name of the secret and a `]` follow.
const MARK_START: &str = "[secret:";
/// The longest text that is read for nothing but to know where a secret ends.
const MAX_SLACK: usize = 64 * 1024;

/// The length of the longest value that is looked for.
static MAX_SECRET_LENGTH: AtomicUsize = AtomicUsize::new(0);
/// True if there are secrets to look for. Without them, no other state is read.
static HAS_SECRETS: AtomicBool = AtomicBool::new(false);
static KNOWN_SECRETS: RwLock<Option<KnownSecrets>> = RwLock::new(None);
/// Secrets of the run that are not searched yet: their spellings are worked out outside of the load.
static NEW_SECRETS: Mutex<VecDeque<Secret>> = Mutex::new(VecDeque::new());
/// True if there may be such secrets.
static HAS_NEW_SECRETS: AtomicBool = AtomicBool::new(false);

/// The secrets to look for.
#[derive(Default)]
struct KnownSecrets {
    /// The secrets of environment and files.
    kept: SecretValues,
    /// The secrets of the run: the latest, and those before them.
    latest: SecretValues,
    before: SecretValues,
}

#[derive(Default)]
struct SecretValues {
    secrets: Vec<Secret>,
    texts: HashSet<Box<str>>,
    finder: SecretFinder,
}

/// A secret in a text.
#[derive(Debug, Clone)]
pub(crate) struct SecretHit {
    pub(crate) range: Range<usize>,
    pub(crate) secret: Secret,
    pub(crate) form: SecretForm,
}

/// The spelling of a secret in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretForm {
    /// Unchanged.
    Same,
    /// With percent signs, backslashes, or in hexadecimal digits.
    Escaped,
    /// Base64, together with the bytes around it.
    Base64,
}

/// Looks for the value of a secret of environment or file until the end of the process.
pub(super) fn keep_secret(secret: &Secret) {
    change_known(|known| known.kept.add(secret));
    guard_process(secret);
}

/// Looks for the value of a secret until many others came after it.
pub(super) fn remember_secret(secret: &Secret) {
    if secret.expose().len() < MIN_LENGTH {
        return;
    }
    let mut new = NEW_SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    if new.len() == MIN_REMEMBERED {
        new.pop_front();
    }
    new.push_back(secret.clone());
    HAS_NEW_SECRETS.store(true, Ordering::Release);
    drop(new);
    guard_process(secret);
}

fn guard_process(secret: &Secret) {
    MAX_SECRET_LENGTH.fetch_max(secret.expose().len(), Ordering::Relaxed);
    if !HAS_SECRETS.swap(true, Ordering::Relaxed) {
        output::guard_output();
    }
}

/// Returns whether there are secrets to look for.
pub(crate) fn has_secrets() -> bool {
    HAS_SECRETS.load(Ordering::Relaxed)
}

fn change_known(change: impl FnOnce(&mut KnownSecrets)) {
    let mut known = KNOWN_SECRETS
        .write()
        .unwrap_or_else(PoisonError::into_inner);
    change(known.get_or_insert_default());
}

/// All that is known, the newest values included.
fn known_secrets() -> RwLockReadGuard<'static, Option<KnownSecrets>> {
    if HAS_NEW_SECRETS.load(Ordering::Acquire) {
        // Whoever comes meanwhile waits here, and does not miss what is on its way.
        let mut new = NEW_SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
        change_known(|known| new.drain(..).for_each(|secret| known.remember(&secret)));
        HAS_NEW_SECRETS.store(false, Ordering::Release);
    }
    KNOWN_SECRETS.read().unwrap_or_else(PoisonError::into_inner)
}

impl KnownSecrets {
    fn remember(&mut self, secret: &Secret) {
        if self.latest.secrets.len() == MIN_REMEMBERED {
            self.before = std::mem::take(&mut self.latest);
        }
        self.latest.add(secret);
    }

    fn find(&self, text: &[u8]) -> Vec<SecretHit> {
        let mut hits = Vec::new();
        let mut reading: Option<UnescapedText> = None;
        for layer in 0..=MAX_LAYERS {
            let (bytes, from) = match &reading {
                Some(reading) => (&*reading.bytes, Some(&*reading.from)),
                None => (text, None),
            };
            for values in [&self.kept, &self.latest, &self.before] {
                values.find(bytes, |range, secret, is_base64| {
                    let place = |at: usize| from.map_or(at, |from| from[at]);
                    let range = place(range.start)..place(range.end);
                    let form = if is_base64 {
                        SecretForm::Base64
                    } else if text[range.clone()] == *secret.expose().as_bytes() {
                        SecretForm::Same
                    } else {
                        SecretForm::Escaped
                    };
                    let secret = secret.clone();
                    hits.push(SecretHit {
                        range,
                        secret,
                        form,
                    });
                });
            }
            if layer == MAX_LAYERS {
                break;
            }
            match unescape_layer(bytes, from) {
                Some(next) => reading = Some(next),
                None => break,
            }
        }
        merge_hits(hits)
    }
}

/// The same without overlaps: of several hits in one place the longest is kept, as long as all of them.
fn merge_hits(mut hits: Vec<SecretHit>) -> Vec<SecretHit> {
    hits.sort_by_key(|hit| (hit.range.start, std::cmp::Reverse(hit.range.end)));
    let mut all: Vec<SecretHit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match all.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                if hit.range.end > last.range.end {
                    last.range.end = hit.range.end;
                    last.form = SecretForm::Escaped;
                }
            }
            _ => all.push(hit),
        }
    }
    all
}

impl SecretValues {
    fn add(&mut self, secret: &Secret) {
        let value = secret.expose();
        if value.len() < MIN_LENGTH || !self.texts.insert(value.into()) {
            return;
        }
        let owner = self.secrets.len() * 2;
        self.secrets.push(secret.clone());
        self.add_text(value, owner);
        // The fields of a header lose the blanks around them.
        self.add_text(value.trim(), owner);
        for spelling in url_spellings(value) {
            self.add_text(&spelling, owner);
        }
        // What looks like an escape in a short value leaves too little of it to be looked for once it is read.
        if let Ok(quoted) = serde_json::to_string(value) {
            self.finder
                .add(&quoted.as_bytes()[1..quoted.len() - 1], owner);
        }
        if value.contains('\n') {
            // Of a key in several lines, each is worth the same; the first and the last say what it is.
            let lines = value.lines().filter(|line| !line.starts_with("-----"));
            lines.for_each(|line| self.add_text(line, owner));
        }
    }

    fn add_text(&mut self, text: &str, owner: usize) {
        let bytes = text.as_bytes();
        if bytes.len() < MIN_LENGTH {
            return;
        }
        self.finder.add(bytes, owner);
        // What looks like an escape in it is read as one in the text.
        let mut reading = unescape_layer(bytes, None);
        for _ in 0..MAX_LAYERS {
            let Some(read) = reading else { break };
            self.finder.add(&read.bytes, owner);
            reading = unescape_layer(&read.bytes, None);
        }
        for before in 0..3 {
            self.finder.add(&base64_core(bytes, before), owner + 1);
        }
        let (mut small, mut large) = (String::new(), String::new());
        for byte in bytes {
            let _ = write!(small, "{byte:02x}");
            let _ = write!(large, "{byte:02X}");
        }
        self.finder.add(small.as_bytes(), owner);
        self.finder.add(large.as_bytes(), owner);
    }

    /// Tells where in `text` a value is, of which secret, and whether in Base64.
    fn find(&self, text: &[u8], mut tell: impl FnMut(Range<usize>, &Secret, bool)) {
        self.finder.find(text, |found| {
            let mut range = found.begin..found.end;
            let is_base64 = found.owner % 2 == 1;
            if is_base64 {
                // Its ends hold a few bits of the secret as well.
                let letters = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
                let before = text[..range.start].iter().rev();
                range.start -= before.take_while(|byte| letters(byte)).count();
                let after = text[range.end..].iter();
                range.end += after
                    .take_while(|byte| letters(byte) || **byte == b'=')
                    .count();
            }
            tell(range, &self.secrets[found.owner / 2], is_base64);
        });
    }
}

/// Values to find in texts, however they are written: with escapes, or in Base64.
#[derive(Default)]
pub struct SecretTexts(KnownSecrets);

impl fmt::Debug for SecretTexts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SecretTexts")
            .finish_non_exhaustive()
    }
}

impl SecretTexts {
    /// Looks for these values, but for those of less than eight bytes.
    pub fn new<'v>(values: impl IntoIterator<Item = &'v str>) -> Self {
        let mut texts = Self::default();
        for value in values {
            let secret = Secret::unregistered("", value.to_owned());
            texts.0.kept.add(&secret);
        }
        texts
    }

    /// Returns the places of the values in `text` in their order, each with its value.
    pub fn find(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let hits = self.0.find(text.as_bytes()).into_iter();
        let found = hits.map(|hit| {
            let range = whole_characters(text, &hit.range);
            (range, hit.secret.expose().to_owned())
        });
        found.collect()
    }
}

/// Returns what a URL parser makes of `value` in a path, a query and a fragment: it does more than to encode some
/// characters. `\` in a path becomes `/`, line breaks are dropped.
fn url_spellings(value: &str) -> Vec<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte);
    if value.bytes().all(is_plain) {
        return Vec::new();
    }
    let parsed = ["/", "/?", "/#"].into_iter().filter_map(|before| {
        let url = Url::parse(&format!("http://h{before}{value}")).ok()?;
        let spelling = &url[Position::BeforePath..];
        Some(spelling[before.len()..].to_owned())
    });
    let segment = || {
        let mut url = Url::parse("http://h").ok()?;
        url.path_segments_mut().ok()?.push(value);
        Some(url.path()[1..].to_owned())
    };
    parsed.chain(segment()).collect()
}

/// Returns the characters that these bytes always have in Base64, if `before` bytes (or 3 more, or 6) precede
/// them.
fn base64_core(bytes: &[u8], before: usize) -> Vec<u8> {
    let padded = [&[0; 2][..before], bytes].concat();
    let mut text = BASE64_STANDARD_NO_PAD.encode(&padded).into_bytes();
    // Those that share their six bits with what is before or after.
    text.truncate(padded.len() * 8 / 6);
    text.drain(..(before * 8).div_ceil(6));
    text
}

/// The secrets in `text`, in order.
pub(crate) fn find_secrets(text: &[u8]) -> Vec<SecretHit> {
    if !has_secrets() {
        return Vec::new();
    }
    known_secrets()
        .as_ref()
        .map_or_else(Vec::new, |known| known.find(text))
}

/// Returns the number of bytes after a place that tell whether a secret lies across it. Zero without secrets.
pub(crate) fn lookahead_len() -> usize {
    // Six for each byte, as JSON can write it.
    MAX_SECRET_LENGTH
        .load(Ordering::Relaxed)
        .saturating_mul(6)
        .min(MAX_SLACK)
}

/// Returns the last place up to `limit` at which `text` can be cut without leaving the start of a secret. If
/// it `is_cut` already, its end may be incomplete.
pub(crate) fn safe_cut(text: &[u8], limit: usize, is_cut: bool) -> usize {
    let whole = if is_cut { lookahead_len() } else { 0 };
    let limit = limit.min(text.len().saturating_sub(whole));
    let hits = find_secrets(text);
    let across = hits.iter().map(|hit| &hit.range);
    across
        .filter(|range| range.start < limit && limit < range.end)
        .map(|range| range.start)
        .next()
        .unwrap_or(limit)
}

/// The secret that all of `text` is, and how it is written.
pub(crate) fn secret_form(text: &str) -> Option<(Secret, SecretForm)> {
    match find_secrets(text.as_bytes()).as_slice() {
        [hit] if hit.range == (0..text.len()) => Some((hit.secret.clone(), hit.form)),
        _ => None,
    }
}

/// Returns `text` with names in place of secrets.
pub(crate) fn scrub_text(text: &str) -> Cow<'_, str> {
    let hits = find_secrets(text.as_bytes());
    if hits.is_empty() {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    let mut copied = 0;
    for hit in hits {
        let range = whole_characters(text, &hit.range);
        shown.push_str(text.get(copied..range.start).unwrap_or_default());
        let _ = write!(shown, "{MARK_START}{}]", hit.secret.name());
        copied = copied.max(range.end);
    }
    shown.push_str(&text[copied..]);
    shown.into()
}

/// Returns `text` with names in place of secrets.
pub(crate) fn scrub_bytes(text: &[u8]) -> Cow<'_, [u8]> {
    let hits = find_secrets(text);
    if hits.is_empty() {
        return text.into();
    }
    let mut shown = Vec::with_capacity(text.len());
    let mut copied = 0;
    for hit in hits {
        shown.extend_from_slice(&text[copied..hit.range.start]);
        shown.extend_from_slice(format!("{MARK_START}{}]", hit.secret.name()).as_bytes());
        copied = hit.range.end;
    }
    shown.extend_from_slice(&text[copied..]);
    shown.into()
}

/// The range, or as much more as it takes to cut no character in two.
pub(crate) fn whole_characters(text: &str, range: &Range<usize>) -> Range<usize> {
    let start = (0..=range.start).rfind(|at| text.is_char_boundary(*at));
    let end = (range.end..=text.len()).find(|at| text.is_char_boundary(*at));
    start.unwrap_or(0)..end.unwrap_or(text.len())
}

/// Returns the length of the placeholder at the start of `text`, if there is one.
pub(crate) fn mark_length(text: &[u8]) -> Option<usize> {
    let name = text.strip_prefix(MARK_START.as_bytes())?;
    let length = name
        .iter()
        .take_while(|byte| is_name_char(char::from(**byte)))
        .count();
    (name.get(length) == Some(&b']')).then_some(MARK_START.len() + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
    use proptest::{prop_assert, prop_assume, proptest};

    /// Everything that a value can be written with, and then some.
    const VALUE: &str = "p \"q'+/=ü%\\&<x>%41\\n\u{1f600}";

    fn known_of(values: &[&str]) -> KnownSecrets {
        let mut known = KnownSecrets::default();
        for (number, value) in values.iter().enumerate() {
            let secret = Secret::unregistered(&format!("S{number}"), (*value).to_owned());
            known.kept.add(&secret);
        }
        known
    }

    /// Where the values begin and end.
    fn ranges(known: &KnownSecrets, text: &str) -> Vec<(usize, usize)> {
        let hits = known.find(text.as_bytes()).into_iter();
        hits.map(|hit| (hit.range.start, hit.range.end)).collect()
    }

    fn percent(value: &str, small: bool) -> String {
        let encode = |byte: u8| match byte {
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte if small => format!("%{byte:02x}"),
            byte => format!("%{byte:02X}"),
        };
        value.bytes().map(encode).collect()
    }

    fn json(value: &str) -> String {
        let text = serde_json::to_string(value).unwrap();
        text[1..text.len() - 1].to_owned()
    }

    fn ascii_json(value: &str) -> String {
        let mut text = String::new();
        for unit in value.encode_utf16() {
            let _ = write!(text, "\\u{unit:04x}");
        }
        text
    }

    fn html(value: &str) -> String {
        value
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;")
    }

    fn form_encoded(value: &str) -> String {
        form_urlencoded::byte_serialize(value.as_bytes()).collect()
    }

    fn hexadecimal(value: &str) -> String {
        value.bytes().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    #[test]
    fn it_is_found_however_it_is_written() {
        let known = known_of(&[VALUE]);
        for written in [
            VALUE.to_owned(),
            percent(VALUE, false),
            percent(VALUE, true),
            percent(&percent(VALUE, false), true),
            form_encoded(VALUE),
            json(VALUE),
            json(&json(VALUE)),
            json(&json(&json(VALUE))),
            ascii_json(VALUE),
            json(&percent(VALUE, false)),
            percent(&json(VALUE), false),
            format!("{VALUE:?}").trim_matches('"').to_owned(),
            html(VALUE),
            html(&json(VALUE)),
            hexadecimal(VALUE),
            hexadecimal(VALUE).to_uppercase(),
        ] {
            let text = format!("ä {written} ä");
            assert_eq!(ranges(&known, &text), [(3, 3 + written.len())], "{written}");
        }
    }

    #[test]
    fn it_is_found_as_every_encoder_of_a_request_writes_it() {
        for value in [
            VALUE,
            "7f3a4b\"q'+/=%41\\&<>c5d6e7",
            "a b?c#d/../e\\.\\f",
            "tab\tand\nbreak",
        ] {
            let known = known_of(&[value]);
            let mut url = Url::parse("http://h/p").unwrap();
            url.set_path(&format!("/in/{value}/path"));
            url.set_query(Some(&format!("a={value}&b")));
            url.query_pairs_mut().append_pair("q", value);
            url.set_fragment(Some(value));
            let parsed = Url::parse(&format!("http://h/p/{value}")).unwrap();
            let joined = Url::parse("http://h/p/").unwrap().join(value).unwrap();
            for url in [url.as_str(), parsed.as_str(), joined.as_str()] {
                let shown = known.find(url.as_bytes());
                let mut rest = url.to_owned();
                for hit in shown.iter().rev() {
                    rest.replace_range(hit.range.clone(), "");
                }
                for part in value.split(|letter: char| !letter.is_ascii_alphanumeric()) {
                    let is_left = part.len() > 3 && rest.contains(part);
                    assert!(!is_left, "{part} of {value} is left: {rest}");
                }
                assert!(!shown.is_empty(), "{url}");
            }
        }
    }

    #[test]
    fn base64_is_taken_out_as_a_whole() {
        let known = known_of(&[VALUE]);
        for before in ["", "u:", "us:", "user:"] {
            for after in ["", "!", "!!", "!!!"] {
                let plain = format!("{before}{VALUE}{after}");
                for written in [
                    BASE64_STANDARD.encode(&plain),
                    BASE64_URL_SAFE.encode(&plain),
                ] {
                    for written in [written.clone(), percent(&written, true)] {
                        let text = format!("Basic {written} .");
                        let expected = (6, 6 + written.len());
                        assert_eq!(ranges(&known, &text), [expected], "{plain}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_value_that_is_short_is_not_looked_for() {
        assert!(ranges(&known_of(&["1234567"]), "1234567 1234567").is_empty());
        assert_eq!(ranges(&known_of(&["12345678"]), "a12345678"), [(1, 9)]);
    }

    #[test]
    fn a_short_value_with_what_looks_like_escapes_is_found_in_json() {
        let value = "\\%a0\u{10eb0}";
        let quoted = json(value);
        let known = known_of(&[value]);
        assert_eq!(ranges(&known, &quoted), [(0, quoted.len())]);
    }

    #[test]
    fn each_line_of_a_key_is_looked_for() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADAN\nBgkqhkiG9w0B\n-----END KEY-----\n";
        let known = known_of(&[key]);
        assert_eq!(ranges(&known, "x BgkqhkiG9w0B x"), [(2, 14)]);
        assert!(ranges(&known, "-----BEGIN KEY-----").is_empty());
        assert_eq!(ranges(&known, key), [(0, key.len())]);
    }

    #[test]
    fn where_values_overlap_all_of_it_is_taken_out() {
        let known = known_of(&["abcdefgh", "efghijkl", "cdefghij"]);
        assert_eq!(ranges(&known, "-abcdefghijkl-"), [(1, 13)]);
    }

    #[test]
    fn the_latest_values_of_a_run_are_looked_for() {
        let mut known = KnownSecrets::default();
        let name = |number: usize| format!("token-{number:08}");
        for number in 0..=2 * MIN_REMEMBERED {
            known.remember(&Secret::unregistered("t", name(number)));
        }
        assert!(ranges(&known, &name(0)).is_empty());
        for number in [MIN_REMEMBERED, 2 * MIN_REMEMBERED] {
            assert_eq!(ranges(&known, &name(number)).len(), 1, "{number}");
        }
    }

    #[test]
    fn a_text_is_not_cut_within_a_secret() {
        let value = "across-the-border-of-a-text";
        let _known = Secret::new("C", value);
        let text = format!("{}{value} and more", "x".repeat(100));
        let cut_at = |limit| safe_cut(text.as_bytes(), limit, false);
        assert_eq!([cut_at(100), cut_at(101), cut_at(126)], [100, 100, 100]);
        assert_eq!(
            [cut_at(127), cut_at(128), cut_at(900)],
            [127, 128, text.len()]
        );
        let long = text + &"y".repeat(lookahead_len());
        assert_eq!(
            safe_cut(long.as_bytes(), 900, true),
            long.len() - lookahead_len()
        );
    }

    #[test]
    fn a_mark_is_known_by_its_form() {
        assert_eq!(mark_length(b"[secret:A_b-7] x"), Some(14));
        assert_eq!(mark_length(b"[secret:a b]"), None);
        assert_eq!(mark_length(b"[secret:a"), None);
    }

    #[test]
    fn names_stand_in_place_of_secrets() {
        let secret = Secret::new("T", "known-to-this-test");
        assert_eq!(scrub_text("a known-to-this-test!"), "a [secret:T]!");
        assert_eq!(
            *scrub_bytes(b"\xff known-to-this-test"),
            *b"\xff [secret:T]"
        );
        assert!(matches!(scrub_text("nothing of it"), Cow::Borrowed(_)));
        let (found, how) = secret_form("known%2dto-this-test").unwrap();
        assert_eq!((found.name(), how), (secret.name(), SecretForm::Escaped));
        assert!(secret_form("a known-to-this-test").is_none());
    }

    proptest! {
        #[test]
        fn a_value_of_anything_is_found_in_everything(
            value in proptest::prelude::any::<String>(),
            before in proptest::prelude::any::<String>(),
            after in proptest::prelude::any::<String>(),
        ) {
            prop_assume!(value.len() >= MIN_LENGTH);
            let known = known_of(&[&value]);
            let text = format!("{before}{value}{after}");
            let place = before.len()..before.len() + value.len();
            let covers = |hit: &SecretHit| hit.range.start <= place.start && place.end <= hit.range.end;
            prop_assert!(known.find(text.as_bytes()).iter().any(covers));
            let json = serde_json::to_string(&value).unwrap();
            let whole = |hit: &SecretHit| hit.range.start <= 1 && json.len() - 1 <= hit.range.end;
            prop_assert!(known.find(json.as_bytes()).iter().any(whole), "{}", json);
        }
    }
}

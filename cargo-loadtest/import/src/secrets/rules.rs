//! Rules for names and values of secrets; the words are in `data/secrets.toml`.

use super::random::{is_random, split_words};
use crate::text::{has_word, split_name};
use loadtest::redact;
use serde::Deserialize;
use std::sync::LazyLock;

/// The shortest key of a well-known service.
const SHORTEST_KEY: usize = 16;
/// The shortest JSON Web Token.
const SHORTEST_TOKEN: usize = 30;
/// The shortest number that is a secret.
const SHORTEST_NUMBER: usize = 3;
/// The longest name of a variable.
const LONGEST_NAME: usize = 60;

/// The words of `data/secrets.toml`, which describes each list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    secret: Vec<String>,
    secret_joined: Vec<String>,
    about: Vec<String>,
    counted: Vec<String>,
    leading: Vec<String>,
    prefixes: Vec<String>,
    doubtful: Vec<String>,
    content: Vec<String>,
    harmless: Vec<String>,
    harmless_joined: Vec<String>,
    identifiers: Vec<String>,
    versions: Vec<String>,
    own_variables: Vec<String>,
    taken_variables: Vec<String>,
    pub(super) extensions: Vec<String>,
}

pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| {
    toml::from_str(include_str!("../data/secrets.toml")).expect("the rules are valid")
});

/// The kind of a name, which says how random its value has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// The value is secret, whatever it is.
    Secret,
    /// The value is secret as often as not: `key`, `code`.
    Doubtful,
    /// The name says nothing.
    Plain,
    /// The value identifies a thing, and is random, too: a name that ends with `id`, a path.
    Identifier,
    /// The value is a file or a page: `html`, `image`.
    Content,
    /// The value gives no access, such as a trace.
    Harmless,
}

impl NameKind {
    pub(crate) fn new(name: &str) -> Self {
        let words = split_name(name);
        let joined = words.concat();
        let is_last = |list: &[String]| words.last().is_some_and(|last| has_word(list, last));
        let ends_harmless = || {
            RULES
                .harmless_joined
                .iter()
                .any(|end| joined.ends_with(end))
        };
        match () {
            () if has_secret_words(name, &words) => Self::Secret,
            () if is_last(&RULES.harmless) || ends_harmless() => Self::Harmless,
            () if is_last(&RULES.content) => Self::Content,
            () if is_last(&RULES.doubtful) => Self::Doubtful,
            () if is_last(&RULES.identifiers) => Self::Identifier,
            () => Self::Plain,
        }
    }
}

fn has_secret_words(name: &str, words: &[String]) -> bool {
    let Some(last) = words.last() else {
        return false;
    };
    let is_counted = last == "tokens" && words.iter().any(|word| has_word(&RULES.counted, word));
    let joined = words.concat();
    let is_named = redact::is_secret_name(name)
        // Longer names that end with `sid` identify things.
        || ["sid", "connectsid"].contains(&joined.as_str())
        || has_word(&RULES.secret, last)
        || RULES.secret_joined.iter().any(|part| joined.contains(part));
    is_named && !is_counted && !has_word(&RULES.about, last)
}

/// Returns true if the name alone makes a value secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    NameKind::new(name) == NameKind::Secret
}

/// Returns true if the value is secret by its name, its form or its randomness.
pub(crate) fn is_secret_value(name: &str, value: &str) -> bool {
    let kind = NameKind::new(name);
    !["", "true", "false", "null"].contains(&value)
        && (kind == NameKind::Secret || looks_secret(value) || is_random(value, kind))
}

/// Returns true where a user name is a key: by its form, or as a long one without a password.
pub(crate) fn is_secret_user(user: &str, password: &str) -> bool {
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || "_-.~+/=".contains(letter);
    let is_alone = password.is_empty() && user.len() >= SHORTEST_KEY && user.chars().all(is_key);
    is_alone || looks_secret(user) || is_random(user, NameKind::Plain)
}

/// Returns true for the parameters of an authorization callback, whose `code` is secret
/// (RFC 6749, sections 4.1.2 and 4.1.3).
pub(crate) fn is_callback<Name: AsRef<str>>(names: &[Name]) -> bool {
    let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&name.as_ref()));
    has(&["code"]) && has(&["state", "grant_type", "session_state", "code_verifier"])
}

/// Returns true where a number is a secret, such as a PIN, and no count, such as `max_tokens`.
pub(crate) fn is_secret_number(name: &str, number: &str) -> bool {
    let is_named = !redact::is_secret_name(name) || split_name(name).concat().contains("passw");
    is_secret_name(name) && is_named && number.len() >= SHORTEST_NUMBER
}

/// Returns true where a segment of a path is secret; `before` is the segment before it.
pub(crate) fn is_secret_segment(before: &str, segment: &str) -> bool {
    if looks_secret(segment) {
        return true;
    }
    let before_lower = before.to_lowercase();
    if has_word(&RULES.versions, &before_lower) {
        return false;
    }
    let leads =
        is_secret_name(before) || RULES.leading.iter().any(|word| before_lower.contains(word));
    if !leads {
        return is_random(segment, NameKind::Identifier);
    }
    let is_code = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    segment.len() >= 8
        && segment.bytes().any(|byte| byte.is_ascii_digit())
        && segment.bytes().all(is_code)
        || is_random(segment, NameKind::Doubtful)
}

/// Returns true where a value has the form of a key or a token, whatever its name.
pub(crate) fn looks_secret(value: &str) -> bool {
    split_words(value).any(|word| {
        let word = word.trim_matches('=');
        let is_key = word.len() >= SHORTEST_KEY
            && RULES.prefixes.iter().any(|prefix| word.starts_with(prefix))
            && word.bytes().any(|byte| byte.is_ascii_digit());
        let is_web_token = word.len() >= SHORTEST_TOKEN
            && word.starts_with("eyJ")
            && word.matches('.').count() >= 2;
        is_key || is_web_token
    })
}

/// Makes the name of an environment variable: `ACCESS_TOKEN` of `accessToken`.
pub(crate) fn variable(name: &str, otherwise: &str) -> String {
    let short: String = name.chars().take(LONGEST_NAME).collect();
    let words = split_name(&short).into_iter().map(|mut word| {
        word.retain(|letter| letter.is_ascii_alphanumeric());
        word.to_ascii_uppercase()
    });
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    let upper = words.join("_");
    let mut own = RULES.own_variables.iter();
    let is_taken =
        own.any(|prefix| upper.starts_with(prefix)) || has_word(&RULES.taken_variables, &upper);
    match upper.bytes().next() {
        None => otherwise.to_owned(),
        Some(first) if first.is_ascii_digit() => format!("{otherwise}_{upper}"),
        _ if is_taken => format!("API_{upper}"),
        _ => upper,
    }
}

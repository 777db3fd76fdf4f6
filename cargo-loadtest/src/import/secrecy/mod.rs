//! What of a recording is secret: by its name, or by what it looks like. More is than in a report: the source of a
//! scenario is kept in a repository, and a name in the environment costs little.
//!
//! A value is secret if its name says so ([`is_secret`]), if it is like those of a well-known service
//! ([`looks_secret`]), or if it looks random ([`random`]) under a name that does not say what else it is.

#[cfg(test)]
mod corpus;
mod prose;
mod random;
#[cfg(test)]
mod tests;

use loadtest::redact;
pub(crate) use prose::without;
pub(super) use prose::{forms, found, texts_in_base64};
use random::{Place, is_random, text_in_base64, words};

/// Words that make a name a secret's where it ends with them.
const WORDS: [&str; 30] = [
    "assertion",
    "auth",
    "bearer",
    "contrasena",
    "contraseña",
    "credential",
    "credentials",
    "csrf",
    "cvc",
    "cvv",
    "jwt",
    "kennwort",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passwort",
    "phpsessid",
    "pin",
    "pw",
    "pwd",
    "sess",
    "sessid",
    "session",
    "sig",
    "signature",
    "ssn",
    "totp",
    "xsrf",
    "jsessionid",
];
/// The same of names whose words go together, without what is between them.
const JOINED: [&str; 20] = [
    "accesskey",
    "accountkey",
    "authcode",
    "authkey",
    "cardnumber",
    "clientkey",
    "connectionstring",
    "masterkey",
    "mfacode",
    "motdepasse",
    "privatekey",
    "recoverycode",
    "samlrequest",
    "samlresponse",
    "secretkey",
    "sharedkey",
    "signingkey",
    "sessionid",
    "subscriptionkey",
    "verificationcode",
];
/// Words that a name ends with that is about a secret, and has none.
const ABOUT: [&str; 24] = [
    "count",
    "enabled",
    "endpoint",
    "expiration",
    "expires",
    "expiry",
    "field",
    "help",
    "hint",
    "hints",
    "label",
    "length",
    "limit",
    "limits",
    "placeholder",
    "policy",
    "required",
    "strength",
    "ttl",
    "type",
    "uri",
    "uris",
    "url",
    "urls",
];
/// Words that have one of a secret in them, and mean something else.
const ALIKE: [&str; 8] = [
    "passwordless",
    "secretarial",
    "secretariat",
    "secretaries",
    "secretary",
    "tokenization",
    "tokenize",
    "tokenizer",
];
/// Words before `tokens` that are counted.
const COUNTED: [&str; 14] = [
    "budget",
    "cached",
    "completion",
    "input",
    "max",
    "maximum",
    "min",
    "minimum",
    "num",
    "output",
    "prompt",
    "reasoning",
    "total",
    "used",
];
/// Words in a path before what is mailed to one person alone.
const LEADING: [&str; 7] = [
    "activat",
    "confirm",
    "invit",
    "magic",
    "reset",
    "unsubscribe",
    "verif",
];
/// How the keys of well-known services begin.
const BEGINNINGS: [&str; 28] = [
    "AKIA",
    "ASIA",
    "AIza",
    "SG.",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "pk_live_",
    "rk_live_",
    "sk_live_",
    "sk_test_",
    "xoxb-",
    "xoxp-",
    "dop_v1_",
    "glptt-",
    "hvs.",
    "lin_api_",
    "pypi-",
    "rk_test_",
    "shpat_",
    "shpss_",
    "sq0atp-",
    "whsec_",
    "xapp-",
    "xoxa-",
    "ya29.",
];
/// A key of such a service is as long, at least.
const SHORTEST_KEY: usize = 16;
/// A token of three parts is as long, at least.
const SHORTEST_TOKEN: usize = 30;
/// A number that is shorter guards nothing.
const SHORTEST_NUMBER: usize = 3;
/// The longest name of a variable.
const LONGEST_NAME: usize = 60;
/// How variables begin that cargo, the compiler and this tool read.
const OURS: [&str; 3] = ["CARGO", "LOADTEST", "RUST"];
/// Variables that are there in every environment, and mean something else.
const TAKEN: [&str; 22] = [
    "CI", "COLUMNS", "EDITOR", "HOME", "HOST", "HOSTNAME", "LANG", "LINES", "LOGNAME", "MAIL",
    "NAME", "OS", "PATH", "PWD", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER",
    "USERNAME",
];

/// Words that make a name a secret's where it ends with them, and its value looks random even if it is short.
const DOUBTFUL: [&str; 13] = [
    "code", "grant", "hash", "key", "keys", "nonce", "refresh", "sso", "state", "ticket", "tkt",
    "verifier", "verify",
];
/// Words that a name ends with whose value is random, and lets nobody in: hashes, traces, places in a list.
const HARMLESS: [&str; 24] = [
    "after",
    "agent",
    "baggage",
    "before",
    "boundary",
    "checksum",
    "commit",
    "cursor",
    "digest",
    "etag",
    "fbclid",
    "gclid",
    "integrity",
    "match",
    "md5",
    "msclkid",
    "revision",
    "sha",
    "sha1",
    "sha256",
    "sha512",
    "trace",
    "traceparent",
    "tracestate",
];
/// The same of names whose words go together.
const HARMLESS_JOINED: [&str; 11] = [
    "clientid",
    "contenttype",
    "correlationid",
    "idempotencykey",
    "requestid",
    "sha256hash",
    "socketkey",
    "spanid",
    "traceid",
    "useragent",
    "publickey",
];
/// Words that a name ends with whose value says which thing is meant.
const THINGS: [&str; 7] = ["guid", "id", "ids", "ref", "slug", "ulid", "uuid"];
/// Words in a path before the hash of what stands there.
const VERSIONS: [&str; 8] = [
    "blob", "blobs", "commit", "commits", "objects", "raw", "sha", "tree",
];

/// What a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Secret,
    Harmless,
    Nothing(Place),
}

fn says(name: &str) -> Says {
    if is_secret(name) {
        return Says::Secret;
    }
    let words = words_of(name);
    let joined = words.concat();
    let last = words.iter().rev().find(|word| !word.is_empty());
    let is_one = |of: &[&str]| last.is_some_and(|last| of.contains(&last.as_str()));
    let is_harmless = is_one(&HARMLESS) || HARMLESS_JOINED.iter().any(|end| joined.ends_with(end));
    match last {
        _ if is_harmless => Says::Harmless,
        _ if is_one(&DOUBTFUL) => Says::Nothing(Place::Doubtful),
        _ if is_one(&THINGS) => Says::Nothing(Place::Thing),
        _ => Says::Nothing(Place::Any),
    }
}

/// The words of a name, in small letters: `accessToken` has two.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let begins = letter.is_uppercase() && was_lower;
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words
}

/// Whether what has this name is secret.
pub(super) fn is_secret(name: &str) -> bool {
    let mut words = words_of(name);
    let count = words.iter().filter(|word| !word.is_empty()).count();
    words.retain(|word| !word.is_empty() && !ALIKE.contains(&word.as_str()));
    let Some(last) = words.last().map(String::as_str) else {
        return false;
    };
    let is_counted = last == "tokens" && words.iter().any(|word| COUNTED.contains(&word.as_str()));
    if is_counted || ABOUT.contains(&last) {
        return false;
    }
    let is_whole = words.len() == count;
    if is_whole && redact::is_secret_name(name) || redact::is_secret_name(&words.join("-")) {
        return true;
    }
    let joined = words.concat();
    // Identifiers of things are called so, too, but by more than this.
    if ["sid", "connectsid"].contains(&joined.as_str()) {
        return true;
    }
    WORDS.contains(&last) || JOINED.iter().any(|secret| joined.contains(secret))
}

/// Whether a value is secret that has this name.
pub(super) fn is_secret_value(name: &str, value: &str) -> bool {
    // `off_session=true`
    if ["", "true", "false", "null"].contains(&value) {
        return false;
    }
    match says(name) {
        Says::Secret => true,
        Says::Harmless => looks_secret(value),
        Says::Nothing(place) => looks_secret(value) || is_random(value, place),
    }
}

/// Whether a user name is a key: by its looks, or since it is long and no password guards it.
pub(super) fn is_secret_user(user: &str, password: &str) -> bool {
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || "_-.~+/=".contains(letter);
    let is_alone = password.is_empty() && user.len() >= SHORTEST_KEY && user.chars().all(is_key);
    is_alone || looks_secret(user) || is_random(user, Place::Any)
}

/// Whether a name says that its value lets nobody in, however random it is.
pub(super) fn is_harmless(name: &str) -> bool {
    says(name) == Says::Harmless
}

/// Whether these are the parameters with which an authorization server sends somebody back, or what is sent for the
/// token then (RFC 6749, sections 4.1.2 and 4.1.3): their `code` is secret.
pub(super) fn is_callback<Name: AsRef<str>>(names: &[Name]) -> bool {
    let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&name.as_ref()));
    has(&["code"]) && has(&["state", "grant_type", "session_state", "code_verifier"])
}

/// Whether a number is a secret, such as a PIN: not the `max_tokens` of a request.
pub(super) fn is_secret_number(name: &str, number: &str) -> bool {
    let plain = words_of(name).concat();
    let is_named = !redact::is_secret_name(name) || plain.contains("passw");
    is_secret(name) && is_named && number.len() >= SHORTEST_NUMBER
}

/// Whether a segment of a path is secret, where the one before it is this.
pub(super) fn is_secret_segment(before: &str, segment: &str) -> bool {
    if looks_secret(segment) {
        return true;
    }
    if VERSIONS.contains(&before.to_lowercase().as_str()) {
        return false;
    }
    let has_digit = segment.bytes().any(|byte| byte.is_ascii_digit());
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_code = segment.len() >= 8 && has_digit && segment.bytes().all(is_one);
    if leads_to_secret(before) {
        return is_code || is_random(segment, Place::Doubtful);
    }
    is_random(segment, Place::Thing)
}

/// Whether a value is secret, whatever it is called.
pub(super) fn looks_secret(value: &str) -> bool {
    words(value).any(is_known)
}

/// Whether it is a token or a key of a known form.
fn is_known(word: &str) -> bool {
    let word = word.trim_matches('=');
    let is_key = word.len() >= SHORTEST_KEY
        && BEGINNINGS.iter().any(|begin| word.starts_with(begin))
        && word.bytes().any(|byte| byte.is_ascii_digit());
    // A JSON Web Token: an object in Base64, and two parts more.
    let is_token =
        word.len() >= SHORTEST_TOKEN && word.starts_with("eyJ") && word.matches('.').count() >= 2;
    is_key || is_token
}

/// Whether what follows this segment of a path, if it looks random, lets in whoever knows it: `/reset/..`.
fn leads_to_secret(segment: &str) -> bool {
    let plain = segment.to_lowercase();
    is_secret(segment) || LEADING.iter().any(|word| plain.contains(word))
}

/// Whether a text has something secret in it.
pub(super) fn has_secret(text: &str) -> bool {
    has_named_secret(text)
        || words(text)
            .filter_map(text_in_base64)
            .any(|text| has_named_secret(&text))
}

fn has_named_secret(text: &str) -> bool {
    let named = without_alike(text);
    redact::redact_text(&named) != named || looks_secret(text) || has_element(text)
}

/// A text without the names that only sound like those of secrets.
fn without_alike(text: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(is_part) {
        let (before, after) = rest.split_at(begin);
        plain.push_str(before);
        let end = after.find(|letter| !is_part(letter));
        let (name, after) = after.split_at(end.unwrap_or(after.len()));
        let is_alike = redact::is_secret_name(name) && !is_secret(name);
        plain.push_str(if is_alike { "name" } else { name });
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// Whether it has an element of XML that is called like a secret, and is not empty.
fn has_element(text: &str) -> bool {
    text.split('<').skip(1).any(|rest| {
        let Some((tag, content)) = rest.split_once('>') else {
            return false;
        };
        let name = tag.split([' ', '\t', '\r', '\n', '/']).next();
        let name = name.unwrap_or_default();
        let local = name.rsplit(':').next().unwrap_or_default();
        !content.trim().is_empty() && !local.is_empty() && is_secret(local)
    })
}

/// As variables of the environment are called: `ACCESS_TOKEN` of `accessToken`; `otherwise` where no letter is left.
pub(super) fn variable(name: &str, otherwise: &str) -> String {
    let mut upper = String::new();
    let mut was_lower = false;
    for letter in name.chars().take(LONGEST_NAME) {
        // `accessToken` is two words.
        if letter.is_ascii_uppercase() && was_lower {
            upper.push('_');
        }
        was_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if letter.is_ascii_alphanumeric() {
            upper.push(letter.to_ascii_uppercase());
        } else if !upper.is_empty() && !upper.ends_with('_') {
            upper.push('_');
        }
    }
    let upper = upper.trim_end_matches('_');
    let is_ours = OURS.iter().any(|begin| upper.starts_with(begin));
    match upper.bytes().next() {
        None => otherwise.to_owned(),
        Some(first) if first.is_ascii_digit() => format!("{otherwise}_{upper}"),
        _ if is_ours || TAKEN.contains(&upper) => format!("API_{upper}"),
        _ => upper.to_owned(),
    }
}

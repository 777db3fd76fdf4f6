//! Secrets: where they come from, what may be done with them, and that none of them is shown.
//!
//! Their values are known to this process alone. Two marks replace them in what leaves it: `scrub_*` writes
//! `[secret:NAME]` for a value that is known, and `redact_*` writes `[redacted]` besides for what a text calls
//! secret by its names (`token=..`).

mod finder;
mod json;
mod known;
mod output;
pub mod redact;
mod source;
mod spelling;

pub(crate) use json::scrub_json;
pub(crate) use known::{
    SecretForm, SecretHit, find_secrets, lookahead_len, mark_length, safe_cut, scrub_text,
    secret_form, whole_characters,
};
pub(crate) use output::{flush_output, own_output};
pub(crate) use source::{MissingSecret, first_missing, forget_missing, look_up, missing_here};

use http::HeaderValue;
use http::header::InvalidHeaderValue;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// A secret value: from [`secret`], or made with [`Secret::new`] of a value in a response.
///
/// It has no `Display` and no `Serialize`, and its `Debug` is `[secret:NAME]`. It is accepted where values
/// of headers are, and by `bearer_auth` and `basic_auth`; elsewhere [`expose`](Self::expose) lends its text.
/// Wherever that turns up in what a load test writes, `[secret:NAME]` stands in its place.
///
/// As the field of a [`#[response]`](macro@crate::prelude::response) it takes a secret out of an answer:
///
/// ```
/// use loadtest::prelude::*;
///
/// #[response]
/// struct Login { token: Secret }
/// # let login: Login = serde_json::from_str(r#"{"token":"f81d4fae-7dec"}"#).unwrap();
///
/// let request: Request = Request::get("/orders").bearer_auth(&login.token);
/// assert_eq!(format!("{:?}", login.token), "[secret:answer]");
/// ```
#[derive(Clone)]
pub struct Secret(Arc<Inner>);

struct Inner {
    name: Box<str>,
    value: Box<str>,
}

/// The name of a secret that came with an answer.
const ANSWER_NAME: &str = "answer";
/// The longest name that is shown.
const MAX_NAME: usize = 64;

/// The secret `name`: the value of the variable `name` of the environment, or what is in the file that the
/// variable `name_FILE` names, without its last line end.
///
/// ```no_run
/// use loadtest::prelude::*;
///
/// let request: Request = Request::get("/orders").bearer_auth(secret("API_TOKEN"));
/// ```
///
/// Where the source of a scenario says `secret("NAME")`, a run is refused before anything is sent if it is
/// missing, and `cargo test` ignores the scenario.
///
/// # Panics
/// It is missing, and the source did not show that it is needed. Then a run ends at once, as one that was
/// refused.
#[track_caller]
pub fn secret(name: &str) -> Secret {
    source::require_secret(name)
}

/// Keeps a value that is known before a run out of all that is written.
#[cfg(feature = "replay")]
pub(crate) fn keep_value(name: &str, value: &str) {
    known::keep_secret(&Secret::unregistered(name, value.to_owned()));
}

impl Secret {
    /// Makes a secret of a value that is known only now, such as a token that a target gave out. The `name`
    /// is what is shown in its place.
    ///
    /// The latest 10,000 of them are kept out of what is written; the values of [`secret`] all are.
    pub fn new(name: impl AsRef<str>, value: impl Into<String>) -> Self {
        let made = Self::unregistered(name.as_ref(), value.into());
        known::remember_secret(&made);
        made
    }

    /// Makes a secret that is not searched yet.
    fn unregistered(name: &str, value: String) -> Self {
        let fit = |c: char| if is_name_char(c) { c } else { '_' };
        let name: String = name.chars().take(MAX_NAME).map(fit).collect();
        Self(Arc::new(Inner {
            name: name.into(),
            value: value.into(),
        }))
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The value, for what takes text.
    pub fn expose(&self) -> &str {
        &self.0.value
    }

    fn header(&self) -> Result<HeaderValue, InvalidHeaderValue> {
        let mut value = HeaderValue::from_str(self.expose())?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// Returns whether a character may be in the name of a secret.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[secret:{}]", self.name())
    }
}

impl TryFrom<Secret> for HeaderValue {
    type Error = InvalidHeaderValue;

    fn try_from(secret: Secret) -> Result<Self, Self::Error> {
        secret.header()
    }
}

impl TryFrom<&Secret> for HeaderValue {
    type Error = InvalidHeaderValue;

    fn try_from(secret: &Secret) -> Result<Self, Self::Error> {
        secret.header()
    }
}

/// Reads a secret from a response; it is called `answer`.
impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|value| Self::new(ANSWER_NAME, value))
    }
}

/// What nothing is: it says in the compiler's words what to write instead.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a secret is never shown: write `.expose()` where its text is needed",
    label = "a secret, which is neither shown nor serialised"
)]
pub trait Shown {}

// Never implemented. The lifetime keeps the compiler from noticing that before it is used.
#[doc(hidden)]
impl fmt::Display for Secret
where
    for<'a> &'a Self: Shown,
{
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Err(fmt::Error)
    }
}

#[doc(hidden)]
impl Serialize for Secret
where
    for<'a> &'a Self: Shown,
{
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("a secret is never serialised"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_by_its_name() {
        let secret = Secret::new("user token", "f81d4fae-7dec");
        assert_eq!(format!("{secret:?}"), "[secret:user_token]");
        assert_eq!(format!("{:?}", Some(&secret)), "Some([secret:user_token])");
        assert_eq!(secret.expose(), "f81d4fae-7dec");
    }

    #[test]
    fn as_the_value_of_a_header_it_is_kept_out_of_logs() {
        let secret = Secret::new("token", "f81d4fae-7ded");
        for value in [
            HeaderValue::try_from(&secret).unwrap(),
            HeaderValue::try_from(secret).unwrap(),
        ] {
            assert!(value.is_sensitive());
            assert_eq!(value, "f81d4fae-7ded");
        }
        let broken = Secret::new("token", "two\nlines of a key");
        assert!(HeaderValue::try_from(broken).is_err());
    }

    #[test]
    fn a_response_may_hold_one() {
        let secret: Secret = serde_json::from_str(r#""a\"b of an answer""#).unwrap();
        assert_eq!(secret.expose(), "a\"b of an answer");
        assert_eq!(scrub_text("got a\"b of an answer."), "got [secret:answer].");
    }
}

//! Variable names in place of secrets: the same name for the same value throughout an iteration.

use crate::redact::{self, REDACTED, TextPart};
use crate::secrets::{self as known, SecretForm};
use std::borrow::Cow;

/// The variable of a secret of which nothing is known.
const DEFAULT_VARIABLE: &str = "SECRET";

/// The secrets of an iteration. Their values never leave it.
#[derive(Default)]
pub(super) struct SecretNames {
    named: Vec<NamedSecret>,
    answered: Vec<AnsweredSecret>,
}

/// A secret that was sent.
struct NamedSecret {
    variable: String,
    value: String,
}

/// A secret that came with an answer.
struct AnsweredSecret {
    value: String,
    /// A description of its place.
    what: String,
}

impl SecretNames {
    /// Returns the name of the variable that stands for `value`, which is called `name` where it is used.
    pub(super) fn name_variable(&mut self, name: &str, value: &str) -> String {
        let mut base: String = name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_uppercase()
                } else {
                    '_'
                }
            })
            .collect();
        if !base.starts_with(|c: char| c.is_ascii_uppercase()) {
            DEFAULT_VARIABLE.clone_into(&mut base);
        }
        let mut number = 1;
        loop {
            let variable = match number {
                1 => base.clone(),
                _ => format!("{base}_{number}"),
            };
            match self.named.iter().find(|named| named.variable == variable) {
                Some(named) if named.value == value => return variable,
                Some(_) => number += 1,
                None => {
                    self.named.push(NamedSecret {
                        variable: variable.clone(),
                        value: value.to_owned(),
                    });
                    return variable;
                }
            }
        }
    }

    /// Returns the variable for `value` and its description, if all of it is a secret of the scenario. The
    /// variable has the name of the secret only if the value is written plainly.
    pub(super) fn scenario_secret(&mut self, value: &str, what: &str) -> Option<(String, String)> {
        let (secret, form) = known::secret_form(value)?;
        let name = secret.name();
        let (name, how) = match form {
            SecretForm::Same => (name.to_owned(), ""),
            SecretForm::Escaped => (format!("{name}_ENCODED"), ", encoded as it is there"),
            SecretForm::Base64 => (
                format!("{name}_BASE64"),
                " and what is beside it, in Base64",
            ),
        };
        let words = format!("the secret {}{how}, {what}", secret.name());
        Some((self.name_variable(&name, value), words))
    }

    /// Remembers the secrets of an answer; `place` is where they are, in words.
    pub(super) fn remember_secrets(&mut self, parts: &[TextPart<'_>], place: &str) {
        for part in parts {
            if let TextPart::Secret { name, value } = part
                && !self.answered.iter().any(|known| known.value == *value)
            {
                self.answered.push(AnsweredSecret {
                    value: (*value).to_owned(),
                    what: format!("{} {place}", comment_word(name)),
                });
            }
        }
    }

    /// Returns the place of a value in an earlier response, if it came from one.
    pub(super) fn origin_of(&self, value: &str) -> Option<&str> {
        let known = self.answered.iter().find(|known| known.value == value);
        known.map(|known| known.what.as_str())
    }
}

/// The value of the header `name`, with its secrets separated; the scheme of credentials is none. If it
/// `is_sensitive`, it is one itself or holds one.
pub(super) fn split_header<'a>(
    name: &'a str,
    value: &'a str,
    is_sensitive: bool,
) -> Vec<TextPart<'a>> {
    let by_value = || {
        let parts = redact::split_secrets(value);
        let knows = |part: &TextPart<'_>| matches!(part, TextPart::Secret { .. });
        (!is_sensitive || parts.iter().any(knows)).then_some(parts)
    };
    if !redact::is_secret_name(name)
        && let Some(parts) = by_value()
    {
        return parts;
    }
    let is_scheme = |scheme: &str| {
        ["bearer", "basic"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    };
    let begin = match value.split_once(' ') {
        Some((scheme, _)) if is_scheme(scheme) => scheme.len() + 1,
        _ => 0,
    };
    let (scheme, value) = value.split_at(begin);
    let mut parts = vec![TextPart::Plain(scheme), TextPart::Secret { name, value }];
    parts.retain(|part| !part.is_empty());
    parts
}

/// Joins the parts, with placeholders for secrets.
pub(super) fn join_shown(parts: &[TextPart<'_>]) -> String {
    parts
        .iter()
        .map(|part| match part {
            TextPart::Plain(text) => text,
            TextPart::Secret { .. } => REDACTED,
        })
        .collect()
}

/// A name without what means something to a shell, for a comment.
pub(super) fn comment_word(name: &str) -> Cow<'_, str> {
    let is_fit = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.chars().all(is_fit) {
        return name.into();
    }
    let fit = |c| if is_fit(c) { c } else { '_' };
    name.chars().map(fit).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_one_name_and_another_value_another() {
        let mut vault = SecretNames::default();
        assert_eq!(vault.name_variable("authorization", "a"), "AUTHORIZATION");
        assert_eq!(vault.name_variable("authorization", "b"), "AUTHORIZATION_2");
        assert_eq!(vault.name_variable("authorization", "a"), "AUTHORIZATION");
        assert_eq!(vault.name_variable("x-api-key", "a"), "X_API_KEY");
        assert_eq!(vault.name_variable("7-token", "a"), "SECRET");
    }

    #[test]
    fn a_value_is_known_by_the_answer_it_came_with() {
        let mut vault = SecretNames::default();
        let answer = redact::split_secrets(r#"{"access_token":"hunter2"}"#);
        vault.remember_secrets(&answer, "in the answer of login");
        let known = vault.origin_of("hunter2");
        assert_eq!(known, Some("access_token in the answer of login"));
        assert_eq!(vault.origin_of("hunter"), None);
    }

    #[test]
    fn of_credentials_the_scheme_is_shown() {
        for (name, value, expected) in [
            ("authorization", "Bearer hunter2", "Bearer [redacted]"),
            ("authorization", "hunter2", REDACTED),
            ("cookie", "a=hunter2; b=c", REDACTED),
            (
                "referer",
                "http://h/?token=hunter2&a=b",
                "http://h/?token=[redacted]&a=b",
            ),
            ("accept", "text/html", "text/html"),
            ("x-token", "", ""),
        ] {
            assert_eq!(
                join_shown(&split_header(name, value, false)),
                expected,
                "{name}"
            );
        }
    }
}

//! The headers of requests to other systems: their secrets are in variables of the environment, or in files beside them.

use crate::config::AccessConfig;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use loadtest_console::{files, process};
use std::path::Path;

/// Replaces a secret in what may be shown.
const HIDDEN: &str = "***";
/// Shorter values are found in any text.
const SHORTEST: usize = 4;

/// The headers of requests, and what of them is secret.
#[derive(Clone, Default)]
pub(crate) struct AccessHeaders {
    pub(crate) headers: Vec<(String, String)>,
    secrets: Vec<String>,
}

impl AccessHeaders {
    /// Reads the variables that are named; `scheme` begins the value of a token.
    ///
    /// # Errors
    /// Every variable that holds no value that can be sent.
    pub(crate) fn read(access: &AccessConfig, scheme: &str) -> Result<Self, Vec<String>> {
        let headers = access.headers.clone().into_iter().collect();
        let mut read = Self {
            headers,
            ..Self::default()
        };
        let mut mistakes = Vec::new();
        let mut add = |key: &str, variable: &str, header: &str, write: &dyn Fn(&str) -> String| {
            match read_secret(variable) {
                Ok(secret) => read.add_secret(header, &secret, write(&secret)),
                Err(mistake) => mistakes.push(format!(
                    "its `{key}` names the variable `{variable}`, which {mistake}"
                )),
            }
        };
        if let Some(variable) = &access.token_env {
            let write = |token: &str| format!("{scheme} {token}");
            add("token_env", variable, "authorization", &write);
        }
        if let Some(variable) = &access.basic_env {
            let write = |login: &str| format!("Basic {}", BASE64_STANDARD.encode(login));
            add("basic_env", variable, "authorization", &write);
        }
        for (header, variable) in &access.header_env {
            add("header_env", variable, header, &str::to_owned);
        }
        if mistakes.is_empty() {
            Ok(read)
        } else {
            Err(mistakes)
        }
    }

    /// Adds a header whose value holds a secret.
    pub(crate) fn add_secret(&mut self, header: &str, secret: &str, value: String) {
        self.secrets.push(secret.to_owned());
        self.secrets.extend(value.split(' ').map(str::to_owned));
        self.secrets.extend(secret.split(':').map(str::to_owned));
        self.headers.push((header.to_owned(), value));
    }

    /// Returns a text in which no secret is left.
    pub(crate) fn hide(&self, text: &str) -> String {
        let mut secrets: Vec<_> = self.secrets.iter().filter(|one| is_telling(one)).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.into_iter().fold(text.to_owned(), |text, secret| {
            text.replace(secret.as_str(), HIDDEN)
        })
    }

    /// Returns true if a secret would be sent.
    pub(crate) fn has_secrets(&self) -> bool {
        !self.secrets.is_empty()
    }
}

fn is_telling(secret: &str) -> bool {
    secret.len() >= SHORTEST && !["Bearer", "Basic", "Token"].contains(&secret)
}

/// Returns the value of a variable, or the text of the file that `NAME_FILE` names.
///
/// # Errors
/// What is wrong with it, which continues a sentence about the variable.
pub(crate) fn read_secret(variable: &str) -> Result<String, String> {
    let held = |name: &str| process::variable(name).filter(|value| !value.is_empty());
    let value = match (held(variable), held(&format!("{variable}_FILE"))) {
        (Some(value), _) => value,
        (None, Some(path)) => {
            let bytes = files::read(&process::resolve(Path::new(&path)))
                .map_err(|error| format!("is not set, and its file cannot be read: {error}"))?;
            let text = String::from_utf8(bytes).map_err(|_| "has a file that is not text")?;
            text.trim_end_matches(['\n', '\r']).to_owned()
        }
        (None, None) => return Err("holds no value".to_owned()),
    };
    if value.is_empty() {
        return Err("holds no value".to_owned());
    }
    if value.chars().any(char::is_control) {
        return Err("holds a control character".to_owned());
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_in_every_form_that_is_sent() {
        let mut headers = AccessHeaders::default();
        let login = "ada:hush-hush";
        headers.add_secret(
            "authorization",
            login,
            format!("Basic {}", BASE64_STANDARD.encode(login)),
        );
        for text in [login, "hush-hush", &BASE64_STANDARD.encode(login)] {
            assert_eq!(
                headers.hide(&format!("401: got {text}")),
                "401: got ***",
                "{text}"
            );
        }
        assert_eq!(headers.hide("401: Basic ada"), "401: Basic ada");
    }
}

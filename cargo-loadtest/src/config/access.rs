//! The keys of a place that is spoken to by HTTP: its headers, and the variables of its secrets.

use super::key::Given;
use super::notify::read_variable;
use super::place::{OPEN_SECRET, is_open_to_others};
use std::collections::BTreeMap;
use url::Url;

/// The headers of requests, and where their secrets are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AccessConfig {
    /// `token_env`: the variable of a token.
    pub(crate) token_env: Option<String>,
    /// `basic_env`: the variable of `user:password`.
    pub(crate) basic_env: Option<String>,
    /// `header_env`: the variables of secret headers, by their names.
    pub(crate) header_env: BTreeMap<String, String>,
    /// `headers` that are no secrets.
    pub(crate) headers: BTreeMap<String, String>,
    /// `insecure`: secrets may go to another host unencrypted.
    pub(crate) insecure: bool,
}

impl AccessConfig {
    /// The keys.
    pub(super) const KEYS: [&str; 5] = [
        "token_env",
        "basic_env",
        "header_env",
        "headers",
        "insecure",
    ];

    /// Sets one of the keys.
    ///
    /// # Errors
    /// The mistake in the value, which continues a sentence about it.
    pub(super) fn set_key(&mut self, name: &str, given: &Given<'_>) -> Result<(), String> {
        let text = given.text();
        match name {
            "token_env" => {
                self.token_env = Some(read_variable(text, "token_env = \"MIMIR_TOKEN\"")?);
            }
            "basic_env" => {
                self.basic_env = Some(read_variable(text, "basic_env = \"MIMIR_LOGIN\"")?);
            }
            "header_env" => self.header_env = parse_header_variables(given)?,
            "headers" => self.headers = parse_headers(given)?,
            "insecure" => self.insecure = given.flag()?,
            _ => return Err("is not a key of this table".to_owned()),
        }
        Ok(())
    }

    /// Returns what is wrong with the keys of `what` together, for requests to a URL.
    pub(super) fn mistakes(&self, what: &str, url: Option<&Url>) -> Vec<String> {
        let mut mistakes = Vec::new();
        if self.token_env.is_some() && self.basic_env.is_some() {
            mistakes.push(format!("{what} has `token_env` or `basic_env`, not both"));
        }
        if self.has_secrets() && url.is_some_and(is_open_to_others) && !self.insecure {
            mistakes.push(OPEN_SECRET.to_owned());
        }
        mistakes
    }

    /// Returns true if variables hold secrets for it.
    pub(crate) fn has_secrets(&self) -> bool {
        self.token_env.is_some() || self.basic_env.is_some() || !self.header_env.is_empty()
    }

    /// Returns the variables that hold secrets for it.
    pub(crate) fn secret_variables(&self) -> impl Iterator<Item = &str> {
        let single = self.token_env.iter().chain(&self.basic_env);
        single.chain(self.header_env.values()).map(String::as_str)
    }
}

/// Joins the names of headers: a value may tell more than it should.
pub(super) fn join_header_names(given: &Given<'_>) -> String {
    let names = given.pairs().unwrap_or_default().into_iter();
    let names: Vec<_> = names.map(|(name, _)| name).collect();
    names.join(", ")
}

/// Reads the variables of secrets in headers.
fn parse_header_variables(given: &Given<'_>) -> Result<BTreeMap<String, String>, String> {
    let mut headers = BTreeMap::new();
    for (name, variable) in given.pairs()? {
        let example = "header_env = { DD-API-KEY = \"DATADOG_KEY\" }";
        let variable = read_variable(&variable, example)
            .map_err(|mistake| format!("the value of `{name}` {mistake}"))?;
        headers.insert(check_header_name(name)?, variable);
    }
    Ok(headers)
}

/// Reads headers that are no secrets.
fn parse_headers(given: &Given<'_>) -> Result<BTreeMap<String, String>, String> {
    let mut headers = BTreeMap::new();
    for (name, value) in given.pairs()? {
        if loadtest::redact::is_secret_name(&name) {
            return Err(format!(
                "`{name}` holds a secret, which must not be in this file; write `token_env`, `basic_env` or \
                 `header_env` with the name of a variable"
            ));
        }
        if value.chars().any(char::is_control) {
            return Err(format!("the value of `{name}` holds a control character"));
        }
        headers.insert(check_header_name(name)?, value);
    }
    Ok(headers)
}

fn check_header_name(name: String) -> Result<String, String> {
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if is_name {
        Ok(name)
    } else {
        Err(format!("`{name}` is not a name of a header"))
    }
}

//! Variables that a text sets, or that the environment has.

use crate::recording::{Piece, Secret, Text};
use crate::source::{Mistake, Span};
use std::collections::HashMap;

/// Looks up an environment variable.
pub type EnvironmentLookup<'a> = &'a mut dyn FnMut(&str) -> Option<String>;

/// Shorter values are not looked for in requests.
const SHORTEST: usize = 4;
/// Most bytes that variables may add to a text.
pub(super) const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The variables of a text, and those of the environment that it used.
#[derive(Default)]
pub(crate) struct ShellVariables<'a> {
    /// Returns the values of the environment; without it, placeholders stand for them.
    environment: Option<EnvironmentLookup<'a>>,
    /// Returns the values for hosts, where placeholders stand for the others.
    hosts: Option<EnvironmentLookup<'a>>,
    /// Values for hosts, of the variables that were used.
    host_values: HashMap<String, String>,
    /// Start of all placeholders.
    prefix: String,
    /// Values that the text sets.
    set: HashMap<String, Vec<u8>>,
    /// Variables of the environment that were used, with their values or placeholders.
    used: Vec<(String, String)>,
    /// Bytes put in altogether.
    pub(super) spent: usize,
}

impl<'a> ShellVariables<'a> {
    /// Begins with the values of an environment, and those that it has for hosts.
    pub(crate) fn new(
        text: &str,
        environment: Option<EnvironmentLookup<'a>>,
        hosts: Option<EnvironmentLookup<'a>>,
    ) -> Self {
        let mut prefix = "ltv".to_owned();
        while text.contains(&prefix) {
            prefix.push('x');
        }
        Self {
            environment,
            hosts,
            prefix,
            ..Self::default()
        }
    }

    pub(super) fn set(&mut self, name: String, value: Vec<u8>) {
        self.set.insert(name, value);
    }

    /// Returns the value of a variable, to be put where `span` is, unless values come to more than the limit: a few
    /// lines can double a value again and again.
    pub(super) fn value(&mut self, name: &str, span: &Span) -> Result<Vec<u8>, Mistake> {
        let value = match self.set.get(name) {
            Some(value) => value.clone(),
            None => self.environment_value(name, span)?.into_bytes(),
        };
        self.spent += value.len();
        if self.spent <= MOST_BYTES {
            return Ok(value);
        }
        let most = MOST_BYTES / (1024 * 1024);
        let words = format!("with this variable all values in the text exceed {most} MiB");
        let help = "write a shorter value, or the text itself instead of the variable";
        Err(Mistake::new(span.clone(), words).help(help))
    }

    fn environment_value(&mut self, name: &str, span: &Span) -> Result<String, Mistake> {
        if let Some((_, value)) = self.used.iter().find(|(used, _)| used == name) {
            return Ok(value.clone());
        }
        let value = match &mut self.environment {
            Some(environment) => environment(name),
            None => Some(format!("{}{}e", self.prefix, self.used.len())),
        };
        let value = value.ok_or_else(|| {
            let words = format!("the variable `{name}` is not in the environment");
            let help = "export it first; it is never sent with an empty value";
            Mistake::new(span.clone(), words).help(help)
        })?;
        if let Some(host) = self.hosts.as_mut().and_then(|hosts| hosts(name)) {
            self.host_values.insert(name.to_owned(), host);
        }
        if !value.is_empty() {
            self.used.push((name.to_owned(), value.clone()));
        }
        Ok(value)
    }

    /// Returns the variables of the environment that were used, as secrets.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let what = "a variable of the copied command";
        let secrets = self.used.iter().map(|(name, value)| {
            let value = self.environment.as_ref().map(|_| value.clone());
            Secret::variable(name, what, value)
        });
        secrets.collect()
    }

    /// Splits bytes at the values of the variables that were used.
    pub(crate) fn split_values(&self, bytes: &[u8]) -> Text {
        let Ok(mut rest) = std::str::from_utf8(bytes) else {
            return Text::from_bytes(bytes);
        };
        let mut text = Text::default();
        loop {
            let used = self.used.iter().enumerate();
            let found = used.filter(|(_, (_, value))| value.len() >= SHORTEST);
            let found = found.filter_map(|(number, (_, value))| {
                Some((rest.find(value)?, std::cmp::Reverse(value.len()), number))
            });
            let Some((at, length, number)) = found.min() else {
                break;
            };
            text.push_str(&rest[..at]);
            text.push(Piece::Secret(number));
            rest = &rest[at + length.0..];
        }
        text.push_str(rest);
        text
    }

    /// Puts the values of the environment into scheme, host and port of a URL, which a scenario names.
    pub(crate) fn fill_host(&self, url: &str, span: &Span) -> Result<String, Mistake> {
        let after_scheme = url.find("://").map_or(0, |at| at + 3);
        let rest = &url[after_scheme..];
        let end = after_scheme + rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (mut host, path) = (url[..end].to_owned(), &url[end..]);
        for (name, placeholder) in self.used.iter().filter(|_| self.environment.is_none()) {
            if !host.contains(placeholder) {
                continue;
            }
            let value = self.host_values.get(name).filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| {
                let words =
                    format!("the host comes from the variable `{name}`, which has no value");
                let help = format!("export `{name}`, give `--base-url`, or write the host itself");
                Mistake::new(span.clone(), words).help(help)
            })?;
            host = host.replace(placeholder, value.trim_end_matches('/'));
        }
        Ok(host + path)
    }
}

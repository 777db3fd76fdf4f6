//! What stands in a request for a value that is not known before a run.

use super::super::names;
use super::Variables;
use crate::import::marked::{Confidence, Origin, Reference, Secret};
use crate::import::secrets::variable;

/// How many variables may be given at run time.
const MOST_SECRETS: usize = 1000;

impl Variables<'_> {
    fn marker(&mut self) -> String {
        self.markers += 1;
        format!("{}{}e", self.prefix, self.markers)
    }

    /// The marker of a variable that is given at run time.
    pub(in super::super) fn secret(&mut self, name: &str, is_missing: bool) -> String {
        let key = format!("variable {name}");
        let what = match self.set_by.get(name) {
            Some(request) if is_missing => {
                format!(
                    "the variable `{name}`, which `{request}` sets only later or in a way that is not known"
                )
            }
            _ if self.round.contains(name) => {
                format!("the variable `{name}`, which stands for itself in the collection")
            }
            _ if is_missing => {
                format!("the variable `{name}`, which has no value in the collection")
            }
            _ => format!("the variable `{name}` of the collection"),
        };
        self.keep(key, name, what)
    }

    /// The marker of a value that is secret itself.
    pub(in super::super) fn hidden(&mut self, value: &str, wanted: &str, what: &str) -> String {
        let key = format!("value {value}");
        let hidden = (key.clone(), wanted.to_owned(), what.to_owned());
        self.hidden.entry(value.to_owned()).or_insert(hidden);
        self.keep(key, wanted, what.to_owned())
    }

    /// Keeps the value of a variable out of all texts.
    pub(super) fn hide(&mut self, name: &str, value: &str) {
        if value.is_empty() || value.contains("{{") || self.hidden.len() >= MOST_SECRETS {
            return;
        }
        let what = format!("the variable `{name}` of the collection");
        let hidden = (format!("variable {name}"), name.to_owned(), what);
        self.hidden.entry(value.to_owned()).or_insert(hidden);
    }

    /// The secrets that have a value in the input, with it.
    pub(in super::super) fn real(&mut self) -> Vec<Secret> {
        let mut hidden: Vec<_> = std::mem::take(&mut self.hidden).into_iter().collect();
        hidden.sort();
        let mut real = Vec::new();
        for (value, (key, wanted, what)) in hidden {
            let marker = self.known.get(&key);
            let known = self
                .secrets
                .iter()
                .find(|secret| Some(&secret.value) == marker);
            let name = if let Some(known) = known {
                known.name.clone()
            } else {
                let wanted = variable(&wanted, "VARIABLE");
                let name = names::unique(&wanted, "_", |name| self.names.contains(name));
                self.names.insert(name.clone());
                name
            };
            let what = known.map_or(what, |known| known.what.clone());
            real.push(Secret { name, what, value });
        }
        real
    }

    fn keep(&mut self, key: String, wanted: &str, what: String) -> String {
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        if self.secrets.len() >= MOST_SECRETS {
            // More than anybody could give.
            return "x".to_owned();
        }
        let name = names::unique(&variable(wanted, "VARIABLE"), "_", |name| {
            self.names.contains(name)
        });
        self.names.insert(name.clone());
        let value = self.marker();
        self.known.insert(key, value.clone());
        self.secrets.push(Secret {
            name,
            what,
            value: value.clone(),
        });
        value
    }

    pub(super) fn reference(&mut self, from: &Origin, why: &str, is_bare: bool) -> String {
        let key = format!("{is_bare} {from:?}");
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let marker = self.marker();
        self.known.insert(key, marker.clone());
        self.references.push(Reference {
            marker: marker.clone(),
            from: from.clone(),
            is_bare,
            confidence: Confidence::Certain,
            why: why.to_owned(),
        });
        marker
    }
}

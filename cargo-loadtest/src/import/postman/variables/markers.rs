//! What stands in a request for a value that is not known before a run.

use super::super::names;
use super::Variables;
use crate::import::recording::{Confidence, Origin, Reference, Secret};

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
        self.keep(format!("value {value}"), wanted, what.to_owned())
    }

    fn keep(&mut self, key: String, wanted: &str, what: String) -> String {
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        if self.secrets.len() >= MOST_SECRETS {
            // More than anybody could give.
            return "x".to_owned();
        }
        let name = names::unique(&names::upper(wanted), "_", |name| self.names.contains(name));
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

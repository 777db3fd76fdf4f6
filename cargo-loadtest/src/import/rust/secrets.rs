//! Which values are secret, and the names that stand for them in the source.

use super::super::recording::Secret;

/// A secret that a source names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// The variable that holds it.
    pub(crate) name: String,
    /// What it is.
    pub(crate) what: String,
}

/// The secrets of a source that is being written.
pub(super) struct Vault {
    known: Vec<(Named, Vec<u8>)>,
    /// Those that the input takes from the environment itself.
    variables: Vec<Secret>,
}

impl Vault {
    pub(super) fn new(variables: &[Secret]) -> Self {
        let named = variables.iter().map(|secret| {
            let named = Named {
                name: secret.name.clone(),
                what: secret.what.clone(),
            };
            (named, secret.value.clone().into_bytes())
        });
        Self {
            known: named.collect(),
            variables: variables.to_vec(),
        }
    }

    /// The name of a secret value.
    pub(super) fn name(&mut self, value: &[u8], wanted: &str, what: &str) -> String {
        if let Some((known, _)) = self.known.iter().find(|(_, known)| known == value) {
            return known.name.clone();
        }
        let wanted = upper(wanted);
        let mut name = wanted.clone();
        let mut number = 1;
        while self.known.iter().any(|(known, _)| known.name == name) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        let named = Named {
            name: name.clone(),
            what: what.to_owned(),
        };
        self.known.push((named, value.to_vec()));
        name
    }

    /// A template of a value that is secret as a whole, but for variables in it.
    pub(super) fn secret(&mut self, value: &str, wanted: &str, what: &str) -> String {
        if value.is_empty() {
            return String::new();
        }
        if self.has_variable(value) {
            return self.plain(value);
        }
        format!(
            "{{{{secret.{}}}}}",
            self.name(value.as_bytes(), wanted, what)
        )
    }

    /// The same of one that is not.
    pub(super) fn plain(&self, value: &str) -> String {
        let mut template = value.to_owned();
        for Secret { name, value, .. } in &self.variables {
            template = template.replace(value.as_str(), &format!("{{{{secret.{name}}}}}"));
        }
        template
    }

    /// Whether a value holds that of a variable.
    pub(super) fn has_variable(&self, value: &str) -> bool {
        let mut variables = self.variables.iter();
        variables.any(|secret| value.contains(secret.value.as_str()))
    }

    /// All of them, by name.
    pub(super) fn named(self) -> Vec<Named> {
        let mut named: Vec<_> = self.known.into_iter().map(|(named, _)| named).collect();
        named.sort_by(|one, other| one.name.cmp(&other.name));
        named
    }
}

/// As variables are called.
fn upper(name: &str) -> String {
    let mut upper = String::new();
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() {
            upper.push(letter.to_ascii_uppercase());
        } else if !upper.is_empty() && !upper.ends_with('_') {
            upper.push('_');
        }
    }
    let upper = upper.trim_end_matches('_');
    match upper.bytes().next() {
        Some(first) if first.is_ascii_alphabetic() => upper.to_owned(),
        _ => format!("SECRET_{upper}"),
    }
}

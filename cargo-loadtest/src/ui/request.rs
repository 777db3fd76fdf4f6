//! The fields of a request.

use crate::console::clean;
use crate::error::Error;
use std::str::FromStr;

/// The fields of a query or a form, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `a=1&b=2`.
    pub(super) fn parse(text: &[u8]) -> Self {
        let pairs = url::form_urlencoded::parse(text);
        Self(pairs.into_owned().collect())
    }

    /// Refuses a NUL: neither a path nor the argument of a command can have one.
    ///
    /// # Errors
    /// The field that has one.
    pub(super) fn check(&self) -> Result<(), Error> {
        let odd = self.0.iter().find(|(_, value)| value.contains('\0'));
        odd.map_or(Ok(()), |(name, _)| {
            let message = format!("the field `{}` has a NUL character", clean(name));
            Err(Error::usage(message))
        })
    }

    /// Returns the value of a field, without space around it; `None` where it is empty or missing.
    pub(super) fn get<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// Returns the values of a field that may be there several times.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let values = self.0.iter().filter(move |(known, _)| known == name);
        values
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// Returns a value that is a number or the like; `None` where it is missing or is none.
    pub(super) fn parsed<T: FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }

    /// Returns the first value of a field as it was sent; `None` where it is missing.
    pub(super) fn raw(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        values.next().map(|(_, value)| value.as_str())
    }

    /// Returns all names and values, as they were sent.
    pub(super) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    #[cfg(test)]
    pub(super) fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }

    /// Sets a field.
    #[cfg(test)]
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_in_a_field_is_a_mistake_of_the_caller() {
        assert!(Fields::parse(b"name=main&run=latest").check().is_ok());
        let error = Fields::parse(b"run=latest&name=ma%00in")
            .check()
            .unwrap_err();
        assert_eq!(error.to_string(), "the field `name` has a NUL character");
        assert_eq!(error.exit_code(), 2, "which is a 400");
    }
}

//! The fields of a request.

use loadtest_console::console::clean;
use loadtest_console::error::Error;
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

    /// Reads the fields of a rendered form as a browser sends them.
    #[cfg(test)]
    pub(super) fn from_html(html: &str) -> Self {
        let unescape = |text: &str| {
            text.replace("&quot;", "\"")
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&")
        };
        let attribute = |tag: &str, name: &str| {
            let begin = tag.find(&format!(" {name}=\""))? + name.len() + 3;
            Some(unescape(&tag[begin..begin + tag[begin..].find('"')?]))
        };
        let mut pairs = Vec::new();
        for (at, _) in html.match_indices('<') {
            let tag = &html[at..at + html[at..].find('>').unwrap()];
            let name = attribute(tag, "name").filter(|_| !tag.starts_with("<button"));
            let Some(name) = name else { continue };
            if tag.starts_with("<textarea") {
                let rest = &html[at + tag.len() + 1..];
                pairs.push((name, unescape(&rest[..rest.find("</textarea>").unwrap()])));
            } else if tag.starts_with("<select") {
                let rest = &html[at..at + html[at..].find("</select>").unwrap()];
                let chosen = rest.find(" selected").map(|end| &rest[..end]);
                let chosen =
                    chosen.and_then(|rest| attribute(&rest[rest.rfind('<').unwrap()..], "value"));
                pairs.push((name, chosen.unwrap_or_default()));
            } else if !tag.contains("type=\"checkbox\"") || tag.contains(" checked") {
                pairs.push((
                    name,
                    attribute(tag, "value").unwrap_or_else(|| "on".to_owned()),
                ));
            }
        }
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
    use loadtest_model::exit_code::ExitCode;

    #[test]
    fn a_nul_in_a_field_is_a_mistake_of_the_caller() {
        assert!(Fields::parse(b"name=main&run=latest").check().is_ok());
        let error = Fields::parse(b"run=latest&name=ma%00in")
            .check()
            .unwrap_err();
        assert_eq!(error.to_string(), "the field `name` has a NUL character");
        assert_eq!(error.exit_code(), ExitCode::Usage, "which is a 400");
    }
}

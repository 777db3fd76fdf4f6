//! The headers of a request: those of the command, and those that curl adds.

use super::cookies;
use super::request::RequestDraft;
use crate::recording::{BOUNDARY, Body, Credentials, Exchange, Header};
use crate::shell::ShellVariables;
use crate::source::{Mistake, Note, Span};
use crate::text::{URL_ENCODED, is_token, percent_decode};
use jiff::Timestamp;
use url::Url;

/// A header of `-H`.
pub(super) struct OwnHeader {
    name: String,
    /// None for one that removes a default header.
    value: Option<String>,
}

impl RequestDraft {
    /// Adds a header: `Name: value`, `Name;` for an empty one, `Name:` to remove a default one.
    pub(super) fn add_header(
        &mut self,
        line: &str,
        span: &Span,
        notes: &mut Vec<Note>,
    ) -> Result<(), Mistake> {
        let refuse = |words| Err(Mistake::new(span.clone(), words));
        let (name, value) = match (line.split_once(':'), line.trim_end().strip_suffix(';')) {
            (Some((name, value)), _) => (name, Some(value.trim()).filter(|it| !it.is_empty())),
            (None, Some(name)) => (name, Some("")),
            (None, None) => return refuse("a header is `Name: value`, and this has no `:`"),
        };
        if !is_token(name.trim()) {
            return refuse(
                "the name of a header consists of letters, digits and signs such as `-`",
            );
        }
        let is_control = |letter: char| letter.is_ascii_control() && letter != '\t';
        if value.is_some_and(|value| value.contains(is_control)) {
            return refuse("the value of a header has no line breaks and no control characters");
        }
        let name = name.trim().to_owned();
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "content-length" | "connection" | "transfer-encoding" | "keep-alive" => {
                let is_usual = lower == "content-length"
                    || value.is_none_or(|value| value.eq_ignore_ascii_case("keep-alive"));
                if !is_usual {
                    let words = format!("`{lower}` is set by the client; it is left out");
                    notes.push(Note::new(span.clone(), words));
                }
            }
            _ => self.headers.push(OwnHeader {
                name,
                value: value.map(str::to_owned),
            }),
        }
        Ok(())
    }

    /// Returns true where `-H` sets or removes a header.
    fn has_own(&self, name: &str) -> bool {
        let mut own = self.headers.iter();
        own.any(|header| header.name.eq_ignore_ascii_case(name))
    }

    /// Adds headers and credentials to a request.
    pub(super) fn add_headers(
        &self,
        exchange: &mut Exchange,
        url: &Url,
        is_upload: bool,
        variables: &ShellVariables<'_>,
    ) {
        let boundary = format!("; boundary={BOUNDARY}");
        let is_form = matches!(exchange.body, Body::Multipart(_));
        let mut defaults = self.defaults.clone();
        let cookies = self.cookies_for(url);
        if !cookies.is_empty() {
            defaults.push(("cookie", cookies));
        }
        if self.is_json {
            let json = "application/json".to_owned();
            defaults.extend([("content-type", json.clone()), ("accept", json)]);
        } else if is_form {
            defaults.push(("content-type", format!("multipart/form-data{boundary}")));
        } else if is_upload {
            defaults.push(("expect", "100-continue".to_owned()));
        } else if exchange.body != Body::None {
            defaults.push(("content-type", URL_ENCODED.to_owned()));
        }
        let has_token = defaults.iter().any(|(name, _)| *name == "authorization");
        if !has_token && !self.has_own("authorization") && !self.sends_no_credentials {
            let from_url = || {
                let password = percent_decode(url.password().unwrap_or_default());
                let user = percent_decode(url.username());
                (!user.is_empty() || !password.is_empty()).then_some((user, password))
            };
            let pair = self.user.clone().or_else(from_url);
            exchange.credentials = pair.map(|(user, password)| Credentials {
                user: variables.split_values(user.as_bytes()),
                password: variables.split_values(password.as_bytes()),
            });
        }
        let mut add = |name: &str, value: &str| {
            let value = variables.split_values(value.as_bytes());
            exchange.headers.push(Header::new(name, value));
        };
        for (name, value) in &defaults {
            if !self.has_own(name) {
                add(name, value);
            }
        }
        for OwnHeader { name, value } in &self.headers {
            let host = exchange.origin.split("//").nth(1).unwrap_or_default();
            match value {
                None => exchange.omitted.push(name.to_ascii_lowercase()),
                Some(value) if name.eq_ignore_ascii_case("host") && value == host => {}
                Some(value) if is_form && name.eq_ignore_ascii_case("content-type") => {
                    add(name, &format!("{value}{boundary}"));
                }
                Some(value) => add(name, value),
            }
        }
    }

    fn cookies_for(&self, url: &Url) -> String {
        let now = Timestamp::now().as_second();
        let files = self.cookie_files.iter();
        let found = files.flat_map(|file| cookies::cookies_for_url(file, url, now));
        let all: Vec<String> = found.chain(self.cookies.iter().cloned()).collect();
        all.join("; ")
    }
}

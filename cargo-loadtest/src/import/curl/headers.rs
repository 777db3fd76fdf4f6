//! The headers of a request: those of the command, and those that curl adds.

use super::super::recording::{BOUNDARY, Credentials, Exchange, Header, Recording};
use super::super::shell::ShellVariables;
use super::super::source::{Mistake, Note};
use super::super::text::is_token;
use super::cookies;
use super::request::{RawBody, RawRequest, RequestDraft};
use super::url::CurlUrl;
use jiff::Timestamp;

/// Encodings that curl can decode.
const ENCODINGS: &[u8] = b"deflate, gzip, br, zstd";

/// Name and value of a header.
type RawHeader = (String, Vec<u8>);

impl RequestDraft {
    /// Adds headers and credentials to a request.
    pub(super) fn add_headers(
        &self,
        exchange: &mut Exchange,
        request: &RawRequest<'_>,
        variables: &ShellVariables<'_>,
        into: &mut Recording,
    ) -> Result<(), Mistake> {
        let (url, body, is_upload) = (&request.url, request.body, request.is_upload);
        let mut headers: Vec<RawHeader> = Vec::new();
        let own = self.own_headers(exchange, into)?;
        let is_own = |name: &str| {
            let mut own = own.iter();
            own.any(|((header, _), _)| header.eq_ignore_ascii_case(name))
        };
        let mut add = |name: &str, value: &[u8]| {
            if !is_own(name) {
                headers.push((name.to_owned(), value.to_vec()));
            }
        };
        if let Some(bearer) = &self.bearer {
            add("authorization", &[b"Bearer ", &bearer[..]].concat());
        }
        if let Some((range, span)) = &self.range {
            if matches!(body, RawBody::None) {
                add("range", range);
            } else {
                let words = "`--range`: a body is sent as a whole, and without a range";
                into.notes.push(Note::new(span.clone(), words));
            }
        }
        let encodings = if self.is_compressed { ENCODINGS } else { b"" };
        for (name, value) in [
            ("user-agent", self.agent.as_deref().unwrap_or_default()),
            ("accept-encoding", encodings),
            ("referer", self.referer.as_deref().unwrap_or_default()),
            ("cookie", &self.cookies_for(url)),
        ] {
            if !value.is_empty() {
                add(name, value);
            }
        }
        if self.is_json {
            add("content-type", b"application/json");
            add("accept", b"application/json");
        }
        match body {
            RawBody::Form(_) => {
                let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
                add("content-type", content_type.as_bytes());
            }
            RawBody::Bytes(_) if !is_upload && !self.is_json => {
                add("content-type", b"application/x-www-form-urlencoded");
            }
            _ => {}
        }
        if is_upload {
            add("expect", b"100-continue");
        }
        if self.agent.as_ref().is_some_and(Vec::is_empty) && !is_own("user-agent") {
            exchange.omitted.push("user-agent".to_owned());
        }
        if !is_own("authorization") && self.bearer.is_none() && !self.sends_no_credentials {
            let user = self.user.as_ref().or(url.credentials.as_ref());
            exchange.credentials = user.map(|pair| Credentials {
                user: variables.split_values(&pair.user),
                password: variables.split_values(&pair.password),
            });
        }
        for ((name, mut value), is_sent) in own {
            if !is_sent {
                exchange.omitted.push(name.to_ascii_lowercase());
                continue;
            }
            let is_type = name.eq_ignore_ascii_case("content-type");
            if is_type && matches!(body, RawBody::Form(_)) {
                value.extend(format!("; boundary={BOUNDARY}").into_bytes());
            }
            headers.push((name, value));
        }
        let headers = headers.into_iter();
        let headers =
            headers.map(|(name, value)| Header::new(name, variables.split_values(&value)));
        exchange.headers = headers.collect();
        Ok(())
    }

    /// Returns the headers of `-H`, and whether they are sent: one without a value removes a default header.
    fn own_headers(
        &self,
        exchange: &Exchange,
        into: &mut Recording,
    ) -> Result<Vec<(RawHeader, bool)>, Mistake> {
        let mut own = Vec::new();
        for (line, span) in &self.headers {
            let at = line.iter().position(|byte| *byte == b':');
            let (name, value, is_sent) = match at {
                Some(at) => {
                    let value = line[at + 1..].trim_ascii();
                    (&line[..at], value, !value.is_empty())
                }
                None => match line.trim_ascii_end().strip_suffix(b";") {
                    Some(name) => (name, &[][..], true),
                    // As curl does.
                    None => continue,
                },
            };
            let name = String::from_utf8_lossy(name.trim_ascii()).into_owned();
            if name.is_empty() && line.starts_with(b":") {
                let words = "what begins with `:` is no header, but how HTTP/2 tells method and URL; it is left out";
                into.notes.push(Note::new(span.clone(), words));
                continue;
            }
            if !is_token(&name) {
                let words = "the name of a header is made of letters, digits and signs such as `-`";
                return Err(Mistake::new(span.clone(), words));
            }
            let mut bytes = value.iter();
            if bytes.any(|byte| byte.is_ascii_control() && *byte != b'\t') {
                let words = "the value of a header has no line breaks and no control characters";
                return Err(Mistake::new(span.clone(), words));
            }
            let lower = name.to_ascii_lowercase();
            let host = exchange.origin.split("//").nth(1).unwrap_or_default();
            let is_implied = match lower.as_str() {
                "content-length" | "connection" | "transfer-encoding" | "keep-alive" => true,
                "host" => value.eq_ignore_ascii_case(host.as_bytes()),
                _ => false,
            };
            let differs = lower == "transfer-encoding"
                || lower == "connection" && !value.eq_ignore_ascii_case(b"keep-alive");
            if !is_implied {
                own.push(((name, value.to_vec()), is_sent));
            } else if differs && is_sent {
                let words = format!("`{lower}` is set by whoever sends; it is left out");
                into.notes.push(Note::new(span.clone(), words));
            }
        }
        Ok(own)
    }

    fn cookies_for(&self, url: &CurlUrl) -> Vec<u8> {
        let now = u64::try_from(Timestamp::now().as_second()).unwrap_or(0);
        let mut all: Vec<Vec<u8>> = Vec::new();
        for file in &self.cookie_files {
            let found =
                cookies::cookies_for_url(file, &url.origin, &url.path, now, self.without_sessions);
            let pairs = found.into_iter();
            all.extend(pairs.map(|(name, value)| [name, value].join(&b'=')));
        }
        all.extend(self.cookies.iter().cloned());
        all.join(&b"; "[..])
    }
}

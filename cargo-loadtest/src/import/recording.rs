//! What every reader makes of its input: the requests in their order, and all that is known of them.

use super::source::{Note, Span};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::time::Duration;

/// What an input holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recording {
    /// The requests, in the order in which they were sent.
    pub(crate) exchanges: Vec<Exchange>,
    /// What is not done as the input says.
    pub(crate) notes: Vec<Note>,
    /// Values that belong to nobody who reads what becomes of them.
    pub(crate) secrets: Vec<Secret>,
    /// How the requests are sent.
    pub(crate) client: Client,
}

/// A value that comes from the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Secret {
    /// The variable.
    pub(crate) name: String,
    /// What stands for it in the requests.
    pub(crate) value: String,
}

/// How requests are sent: one way for all of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Client {
    /// Whether certificates go unchecked.
    pub(crate) insecure: bool,
    /// The version of HTTP, where the input asks for one.
    pub(crate) http: Option<Http>,
    /// Whether cookies that answers set are sent back.
    pub(crate) keeps_cookies: bool,
    /// A file of certificates to trust.
    pub(crate) ca: Option<String>,
    /// A file with the certificate of the client and its key.
    pub(crate) identity: Option<String>,
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Http {
    /// HTTP/1.1.
    One,
    /// HTTP/2 from the first byte.
    Two,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Where it stands in the input.
    pub(crate) span: Span,
    /// The method.
    pub(crate) method: String,
    /// `http://host:port`, without credentials.
    pub(crate) origin: String,
    /// Path and query, as they are sent.
    pub(crate) target: String,
    /// The headers that are sent besides those of every request, in their order.
    pub(crate) headers: Vec<Header>,
    /// Those of every request that are not.
    pub(crate) omitted: Vec<String>,
    /// Who asks, where that is sent as basic credentials.
    pub(crate) credentials: Option<Credentials>,
    /// The body.
    pub(crate) body: Body,
    /// How many redirects are followed.
    pub(crate) redirects: u32,
    /// How long it may take.
    pub(crate) timeout: Option<Duration>,
}

/// A header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// The name, as it was written.
    pub(crate) name: String,
    /// The value, without blanks around it.
    pub(crate) value: Vec<u8>,
}

/// A user and a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: Vec<u8>,
    pub(crate) password: Vec<u8>,
}

/// A body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Body {
    /// None.
    #[default]
    None,
    /// These bytes.
    Bytes(Vec<u8>),
    /// The parts of a form.
    Multipart(Vec<Part>),
}

/// A part of a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// The name of the field.
    pub(crate) name: Vec<u8>,
    /// That of the file.
    pub(crate) file_name: Option<Vec<u8>>,
    /// What the content is.
    pub(crate) content_type: Option<String>,
    /// Headers of its own.
    pub(crate) headers: Vec<Vec<u8>>,
    /// The bytes.
    pub(crate) content: Vec<u8>,
}

/// What separates the parts of a form: always the same, so that every run sends the same bytes.
pub(crate) const BOUNDARY: &str = "------------------------loadtest8Zq4vC1xWm";

#[cfg(test)]
impl Exchange {
    /// The value of a header, if it has it.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        let mut headers = self.headers.iter();
        headers
            .find(|header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value.as_slice())
    }
}

impl Credentials {
    /// As a header says it.
    pub(crate) fn basic(&self) -> Vec<u8> {
        let pair = [&self.user[..], &self.password[..]].join(&b':');
        format!("Basic {}", BASE64_STANDARD.encode(pair)).into_bytes()
    }
}

impl Body {
    /// The bytes that are sent.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::None => Vec::new(),
            Self::Bytes(bytes) => bytes.clone(),
            Self::Multipart(parts) => multipart(parts),
        }
    }
}

fn multipart(parts: &[Part]) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        body.extend_from_slice(format!("--{BOUNDARY}\r\n").as_bytes());
        body.extend_from_slice(b"Content-Disposition: form-data; name=\"");
        body.extend(quoted(&part.name));
        body.push(b'"');
        if let Some(file_name) = &part.file_name {
            body.extend_from_slice(b"; filename=\"");
            body.extend(quoted(file_name));
            body.push(b'"');
        }
        body.extend_from_slice(b"\r\n");
        if let Some(content_type) = &part.content_type {
            body.extend_from_slice(format!("Content-Type: {content_type}\r\n").as_bytes());
        }
        for header in &part.headers {
            body.extend_from_slice(header);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"\r\n");
        body.extend_from_slice(&part.content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

/// As a name stands within quotes (<https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data>).
fn quoted(name: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b'"' => quoted.extend_from_slice(b"%22"),
            b'\r' => quoted.extend_from_slice(b"%0D"),
            b'\n' => quoted.extend_from_slice(b"%0A"),
            byte => quoted.push(*byte),
        }
    }
    quoted
}

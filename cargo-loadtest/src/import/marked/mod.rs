//! Recordings whose values are markers: strings like nothing else in the input, in the place of a secret or of a value
//! of an earlier answer.
//!
//! Readers that still make these are converted by [`Recording::typed`].

mod convert;

#[cfg(test)]
use super::recording::BOUNDARY;
pub(crate) use super::recording::{Client, Confidence, Dropped, Group, Key, Origin};
use super::source::{Note, Span};
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
    /// What secrets are in the input itself, which may stand in any place of it: the value here is the real one, and
    /// the name that of one of [`Self::secrets`], or one that is free.
    pub(crate) hidden: Vec<Secret>,
    /// The names of headers, parameters and cookies that the input says hold keys, in small letters.
    pub(crate) keys: Vec<String>,
    /// How the requests are sent.
    pub(crate) client: Client,
    /// What the input is called, if it has a name.
    pub(crate) name: Option<String>,
    /// What it says about itself.
    pub(crate) description: Option<String>,
    /// Parts of it that are scenarios of their own, in their order; none where all of it is one.
    pub(crate) groups: Vec<Group>,
    /// What is left out, which the user is told.
    pub(crate) dropped: Vec<Dropped>,
    /// Values that are not known before a run.
    pub(crate) references: Vec<Reference>,
    /// `http://host:port` of the service that is tested, where it is not that of the first request.
    pub(crate) base: Option<String>,
}

/// A value that a run has from an earlier answer, or from its data. Its marker, which is like nothing else in the
/// input, stands in the place of the value: in [`Exchange::target`], a header, a body, credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Letters and digits only.
    pub(crate) marker: String,
    /// Where the value is from.
    pub(crate) from: Origin,
    /// Whether it is a number, a boolean or a list, not a string: in JSON, `"marker"` is written without quotes then.
    pub(crate) is_bare: bool,
    /// How certain that is.
    pub(crate) confidence: Confidence,
    /// Why it is thought so, as the end of a sentence: `this value of 36 characters is in its answer`. Never the
    /// value.
    pub(crate) why: String,
}

/// A value that comes from the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Secret {
    /// The variable.
    pub(crate) name: String,
    /// What it is, for the head of the source: `the bearer token of the service`.
    pub(crate) what: String,
    /// What stands for it in the requests.
    pub(crate) value: String,
}

/// A request, and its answer where that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// What the input calls it.
    pub(crate) name: Option<String>,
    /// What the input says about it.
    pub(crate) description: Option<String>,
    /// The name of the [`Group`] it is in.
    pub(crate) group: Option<String>,
    /// The target with names in braces for what differs from request to request: `/items/{id}`. It is for names
    /// alone.
    pub(crate) pattern: Option<String>,
    /// The statuses of success, where they are known.
    pub(crate) expect: Vec<u16>,
    /// How long the user thinks after it.
    pub(crate) think: Option<Duration>,
    /// What was answered, or is said to be.
    pub(crate) answer: Option<Answer>,
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The status.
    pub(crate) status: u16,
    /// The headers.
    pub(crate) headers: Vec<Header>,
    /// The body, decoded; nothing where it was not recorded.
    pub(crate) body: Vec<u8>,
    /// Whether it was made up of a description, so that its values are not those of any request.
    pub(crate) is_example: bool,
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

impl Body {
    /// The bytes that are sent.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::None => Vec::new(),
            Self::Bytes(bytes) => bytes.clone(),
            Self::Multipart(parts) => multipart(parts),
        }
    }
}

#[cfg(test)]
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
#[cfg(test)]
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

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
    /// Rows of data, one of which each journey has.
    pub(crate) data: Vec<Data>,
    /// `http://host:port` of the service that is tested, where it is not that of the first request.
    pub(crate) base: Option<String>,
}

/// Requests that belong together: those with its name in [`Exchange::group`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// What it is called.
    pub(crate) name: String,
    /// What is said about it.
    pub(crate) description: Option<String>,
}

/// A request that is not imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// Where it stands in the input.
    pub(crate) span: Span,
    /// The request in a few words: `GET https://cdn.example/logo.png`.
    pub(crate) what: String,
    /// Why, in words that are the same for all of a kind: `static files`.
    pub(crate) why: String,
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

/// Where a value is from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// The JSON of the answer to the exchange with this number.
    Body { exchange: usize, path: Vec<Key> },
    /// The text of that answer, which is no JSON: what is between two texts, the first time.
    Between {
        exchange: usize,
        before: String,
        after: String,
    },
    /// A header of that answer.
    Header { exchange: usize, name: String },
    /// A part of such a header: what is between two texts, in the first of that name that has both. An empty `before`
    /// is its beginning, an empty `after` its end.
    Part {
        exchange: usize,
        name: String,
        before: String,
        after: String,
    },
    /// The target of the link with this relation, in the `link` headers of that answer
    /// (<https://www.rfc-editor.org/rfc/rfc8288>).
    Link { exchange: usize, rel: String },
    /// What another one gives, read once more.
    Within {
        outer: Box<Origin>,
        reading: Reading,
    },
    /// A field of [`Recording::data`] with this number.
    Row { data: usize, field: String },
}

/// How a text is read once more.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Reading {
    /// As JSON.
    Json(Vec<Key>),
    /// What is between two texts, the first time; to its end, where `after` is empty.
    Between { before: String, after: String },
    /// As what it means, where it is written like this.
    Decoded(Spelling),
}

/// How letters are written that would mean something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Spelling {
    /// `%2F`, as in URLs.
    Percent,
    /// `&amp;`, as in HTML.
    Html,
    /// `\/`, as in strings of JSON and scripts.
    Json,
}

impl Origin {
    /// Where what is read once more is from.
    pub(crate) fn root(&self) -> &Self {
        let mut origin = self;
        while let Self::Within { outer, .. } = origin {
            origin = outer;
        }
        origin
    }

    /// The same, read once more.
    pub(crate) fn within(self, reading: Reading) -> Self {
        Self::Within {
            outer: Box::new(self),
            reading,
        }
    }
}

/// A step of the way to a value in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// The field of an object.
    Field(String),
    /// The item of a list, from zero.
    Item(usize),
}

/// How certain it is that a value comes from where it is thought to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Confidence {
    /// It fits, and might be a coincidence.
    Possible,
    /// It is hardly a coincidence.
    Likely,
    /// The input says so, or the value is like no other.
    Certain,
}

impl Confidence {
    /// In a word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// Rows of data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Data {
    /// What a row is called.
    pub(crate) name: String,
    /// The names of its fields.
    pub(crate) fields: Vec<String>,
    /// As many values in each as there are fields.
    pub(crate) rows: Vec<Vec<String>>,
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

/// How requests are sent: one way for all of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Client {
    /// Whether certificates go unchecked.
    pub(crate) insecure: bool,
    /// The version of HTTP, where the input asks for one.
    pub(crate) http: Option<Http>,
    /// Whether cookies that answers set are sent back.
    pub(crate) keeps_cookies: bool,
    /// How many redirects are followed unless an [`Exchange`] has another number.
    pub(crate) redirects: u32,
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

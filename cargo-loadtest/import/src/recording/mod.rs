//! The typed recording: requests in their order, with the values in them that a run fills in.
//!
//! A reader makes one of its input, the passes transform it, and the writers print it.

mod settings;
mod stream;
mod text;

use super::source::{Note, Span};
use super::text::{URL_ENCODED, percent_decode};
use base64::prelude::{BASE64_STANDARD, Engine as _};
pub(crate) use settings::{
    AnswerCheck, AnswerTest, CodePart, Feed, FeedOrder, FeedSource, JsonTest, Metric, MetricKind,
    MetricValue, RunValue, Runs, ScenarioSettings, StepSettings,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;
pub(crate) use stream::{EVENTS, EventStream, Socket, SocketMessage, is_json};
pub(crate) use text::{Flat, Piece, Text};

/// The requests of an input, and all that is known of them.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The requests, in the order in which they were sent.
    pub exchanges: Vec<Exchange>,
    /// Warnings: parts of the input that are not imported as they are.
    pub notes: Vec<Note>,
    /// Secrets, by the number that a piece of a text has.
    pub secrets: Vec<Secret>,
    /// True for a description of requests: its values are examples, which may look random.
    pub(crate) is_described: bool,
    /// True where a value between quotes is text in JSON; else the value of a run, alone between quotes, is what it is.
    pub(crate) quotes_are_text: bool,
    /// Names of headers, parameters and cookies that hold keys by the word of the input, in small letters.
    pub(crate) keys: Vec<String>,
    /// Settings of the HTTP client.
    pub(crate) client: Client,
    /// The title of the input.
    pub(crate) name: Option<String>,
    /// The description that the input has of itself.
    pub(crate) description: Option<String>,
    /// Parts that become scenarios of their own, in their order; empty where all is one scenario.
    pub(crate) groups: Vec<Group>,
    /// Requests that are left out.
    pub dropped: Vec<Dropped>,
    /// Values of earlier answers, by the number that [`Piece::Reference`] has.
    pub(crate) references: Vec<Reference>,
    /// Values that several requests share, by the number that [`Piece::Constant`] has.
    pub(crate) constants: Vec<Constant>,
    /// Test data, by the number that [`RunValue::Row`] has.
    pub(crate) feeds: Vec<Feed>,
    /// Parts of the input that are code.
    pub code: Vec<CodePart>,
    /// `http://host:port` of the service under test; by default that of the first request.
    pub(crate) base: Option<String>,
}

impl Recording {
    /// Returns `http://host:port` of the service under test.
    pub(crate) fn base_origin(&self) -> &str {
        let first = self.exchanges.first().map(|first| &first.origin);
        self.base.as_ref().or(first).map_or("", String::as_str)
    }

    /// Sends the requests to the origin of the first one to another base URL.
    pub fn replace_base(&mut self, base: &str) {
        let base = base.trim_end_matches('/');
        let first = self.exchanges.first().map(|first| first.origin.clone());
        for exchange in &mut self.exchanges {
            if Some(&exchange.origin) == first.as_ref() {
                base.clone_into(&mut exchange.origin);
            }
        }
        self.base = Some(base.to_owned());
    }

    /// Returns all names, descriptions and warnings.
    pub(crate) fn words_mut(&mut self) -> Vec<&mut String> {
        let mut words: Vec<&mut String> = Vec::new();
        words.extend(self.name.iter_mut().chain(&mut self.description));
        for group in &mut self.groups {
            words.extend([&mut group.name].into_iter().chain(&mut group.description));
        }
        words.extend(
            self.constants
                .iter_mut()
                .map(|constant| &mut constant.value),
        );
        words.extend(self.notes.iter_mut().map(|note| &mut note.words));
        for dropped in &mut self.dropped {
            words.extend([&mut dropped.what, &mut dropped.why]);
        }
        for exchange in &mut self.exchanges {
            words.extend(exchange.name.iter_mut().chain(&mut exchange.description));
        }
        words
    }

    /// Returns the references of an exchange, and those by which their parts of pages are found.
    pub(crate) fn references_of(&self, exchange: &Exchange) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        let texts = exchange.texts().into_iter();
        let mut open: Vec<usize> = texts.flat_map(Text::references).collect();
        while let Some(at) = open.pop() {
            if all.insert(at) {
                open.extend(self.references[at].from.references());
            }
        }
        all
    }

    /// Returns how many parts are code, in words.
    pub fn describe_code(&self) -> Option<String> {
        match self.code.len() {
            0 => None,
            1 => Some("1 part could not be converted and is kept as a comment".to_owned()),
            parts => Some(format!(
                "{parts} parts could not be converted and are kept as comments"
            )),
        }
    }

    /// Removes the references, constants and secrets that no request uses, but for secrets with values, which may stand
    /// anywhere.
    pub(crate) fn drop_unused(&mut self) {
        let texts = self.exchanges.iter().flat_map(Exchange::texts);
        let mut used: HashSet<Piece> = texts.flat_map(Text::pieces).cloned().collect();
        let references = self
            .exchanges
            .iter()
            .flat_map(|one| self.references_of(one));
        used.extend(references.map(Piece::Reference));
        let secrets = self.secrets.iter().enumerate();
        let known = secrets.filter(|(_, secret)| secret.value.is_some());
        used.extend(known.map(|(at, _)| Piece::Secret(at)));
        let mut renumbered = HashMap::new();
        keep_used(&mut self.secrets, Piece::Secret, &used, &mut renumbered);
        keep_used(
            &mut self.references,
            Piece::Reference,
            &used,
            &mut renumbered,
        );
        keep_used(&mut self.constants, Piece::Constant, &used, &mut renumbered);
        let references = self.references.iter_mut();
        let rows = references.filter_map(|reference| match &mut reference.from {
            Origin::Page { row, .. } => row.as_mut(),
            _ => None,
        });
        let texts = self.exchanges.iter_mut().flat_map(Exchange::texts_mut);
        for text in texts.chain(rows) {
            let pieces = text.pieces().iter();
            *text = pieces
                .map(|piece| renumbered.get(piece).unwrap_or(piece).clone())
                .collect();
        }
    }
}

/// Removes the items that are not used, and notes the new numbers of the others.
fn keep_used<T>(
    items: &mut Vec<T>,
    piece: fn(usize) -> Piece,
    used: &HashSet<Piece>,
    renumbered: &mut HashMap<Piece, Piece>,
) {
    let (mut number, mut kept) = (0, 0);
    items.retain(|_| {
        let old = piece(number);
        number += 1;
        let is_kept = used.contains(&old);
        if is_kept {
            renumbered.insert(old, piece(kept));
            kept += 1;
        }
        is_kept
    });
}

/// A group of requests: those with its number in [`Exchange::group`]. Two groups may have one name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) settings: ScenarioSettings,
}

/// A request that is not imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Its place in the input.
    pub span: Span,
    /// The request in a few words: `GET https://cdn.example/logo.png`.
    pub what: String,
    /// The reason, in the same words for all of a kind: `static files`.
    pub why: String,
}

/// A value that several requests share, and that users edit in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Constant {
    /// The name in capitals.
    pub(crate) name: String,
    /// The plain value.
    pub(crate) value: String,
    /// The meaning, as a sentence.
    pub(crate) what: String,
}

/// A value that a run takes from an earlier answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The source of the value.
    pub(crate) from: Origin,
    /// True for a number, a boolean or a list; in JSON it is written without quotes.
    pub(crate) is_bare: bool,
    /// The certainty that the value is from there.
    pub(crate) confidence: Confidence,
    /// The reason, as the end of a sentence: `this value of 36 characters is in its answer`. Never the value.
    pub(crate) why: String,
}

/// The numbers of references, so that each is there once.
#[derive(Debug, Default)]
pub(crate) struct ReferenceNumbers(HashMap<(Origin, bool, Confidence), usize>);

impl ReferenceNumbers {
    /// Returns the value of a reference, and adds that to `all` the first time.
    pub(crate) fn refer(&mut self, reference: Reference, all: &mut Vec<Reference>) -> Text {
        let key = (
            reference.from.clone(),
            reference.is_bare,
            reference.confidence,
        );
        let number = *self.0.entry(key).or_insert_with(|| {
            all.push(reference);
            all.len() - 1
        });
        Text::reference(number)
    }
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// A value in the JSON of an answer.
    Body { exchange: usize, path: Vec<Key> },
    /// A value of an HTML page, or of a row of it.
    Page {
        exchange: usize,
        /// The text of the row that has it, where it is in one.
        row: Option<Text>,
        find: PageFind,
    },
    /// The first text between two others, in an answer that is not JSON.
    Between {
        exchange: usize,
        before: String,
        after: String,
    },
    /// A header of an answer.
    Header { exchange: usize, name: String },
    /// A part of a header: the text between two others, in the first header of that name that has both. An empty
    /// `before` is the start of the header, an empty `after` its end.
    Part {
        exchange: usize,
        name: String,
        before: String,
        after: String,
    },
}

impl Origin {
    /// Makes the value at this path of the JSON of an answer.
    pub(crate) fn body(exchange: usize, path: &[Key]) -> Self {
        let path = path.to_vec();
        Self::Body { exchange, path }
    }

    /// Makes the value of a header.
    pub(crate) fn header(exchange: usize, name: impl Into<String>) -> Self {
        let name = name.into();
        Self::Header { exchange, name }
    }

    /// Makes the value of the first field of a page with this name.
    pub(crate) fn field(exchange: usize, name: impl Into<String>) -> Self {
        let (name, number) = (name.into(), 0);
        let find = PageFind::Field { name, number };
        Self::of_page(exchange, find)
    }

    /// Makes a value of all of a page.
    pub(crate) fn of_page(exchange: usize, find: PageFind) -> Self {
        Self::Page {
            exchange,
            row: None,
            find,
        }
    }

    /// Returns a word for the value: `id`, `csrf`, `location`.
    pub(crate) fn word(&self) -> &str {
        match self {
            Self::Body { path, .. } => {
                let keys = path.iter().rev();
                let mut fields = keys.filter_map(|key| match key {
                    Key::Field(key) => Some(key.as_str()),
                    Key::Item(_) => None,
                });
                fields.next().unwrap_or("value")
            }
            Self::Page { find, .. } => find.word(),
            Self::Between { before, .. } | Self::Part { before, .. } => {
                naming_words(before).next_back().unwrap_or("value")
            }
            Self::Header { name, .. } => name,
        }
    }

    /// Returns the references by which it is found.
    fn references(&self) -> impl Iterator<Item = usize> {
        let row = match self {
            Self::Page { row, .. } => row.as_ref(),
            _ => None,
        };
        row.into_iter().flat_map(Text::references)
    }

    /// Returns the number of the exchange whose answer has the value.
    pub(crate) fn exchange(&self) -> usize {
        match self {
            Self::Body { exchange, .. }
            | Self::Page { exchange, .. }
            | Self::Between { exchange, .. }
            | Self::Header { exchange, .. }
            | Self::Part { exchange, .. } => *exchange,
        }
    }
}

/// A value of an HTML page, by the method of [`loadtest::Page`] that finds it again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PageFind {
    /// The value of the field with this name and number, from zero.
    Field { name: String, number: usize },
    /// The address of the link with this text.
    Link { text: Text },
    /// The value of the option with this text, in the `<select>` with this name.
    Option { name: String, text: Text },
    /// The value of the option with this number.
    OptionAt { name: String, number: usize },
    /// The address with this number of those that match a pattern.
    Address { pattern: String, number: usize },
    /// The text with this number of those that the last `*` of a pattern stands for.
    Id { pattern: String, number: usize },
    /// The value with this number of an attribute that begins with `data-`.
    Data { name: String, number: usize },
}

impl PageFind {
    /// Returns a word for the value: `csrf`, `edit`, `order`.
    fn word(&self) -> &str {
        match self {
            Self::Field { name, .. } | Self::Option { name, .. } | Self::OptionAt { name, .. } => {
                naming_words(name).next_back().unwrap_or("value")
            }
            Self::Link { .. } | Self::Address { .. } => "address",
            Self::Id { .. } => "id",
            Self::Data { name, .. } => name.strip_prefix("data-").unwrap_or(name),
        }
    }

    /// Returns the part in words, without its value.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Field { name, .. } => format!("`{name}`"),
            Self::Option { name, .. } | Self::OptionAt { name, .. } => {
                format!("an option of `{name}`")
            }
            Self::Link { text } => {
                let text = text.shown(|_| "..".to_owned());
                format!("the link `{text}`")
            }
            Self::Address { pattern, .. } => format!("the address `{pattern}`"),
            Self::Id { pattern, .. } => format!("the id in `{pattern}`"),
            Self::Data { name, .. } => format!("the attribute `{name}`"),
        }
    }
}

/// A step of the path to a value in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// The field of an object.
    Field(String),
    /// The item of a list, from zero.
    Item(usize),
}

/// Returns the words around a value that may name it: `csrf` of `name="csrf" value="`.
pub(crate) fn naming_words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    const SILENT: [&str; 11] = [
        "button", "content", "data", "hidden", "id", "input", "meta", "name", "option", "type",
        "value",
    ];
    let words =
        text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_-[]".contains(letter));
    words.filter(|word| word.len() > 1 && word.len() < 40 && !SILENT.contains(word))
}

/// The certainty that a value is from its [`Origin`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Confidence {
    /// It may be a coincidence.
    Possible,
    /// It is hardly a coincidence.
    Likely,
    /// The input says so, or the value is unique.
    Certain,
}

impl Confidence {
    /// Returns the word that users see.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// A secret, which a run reads from the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The variable of the environment.
    pub(crate) name: String,
    /// The meaning, for the head of the source: `the bearer token of the service`.
    pub(crate) what: String,
    /// The value, where the input has it. It is replaced wherever it occurs.
    pub value: Option<String>,
    /// True where the input itself takes the value from a variable.
    pub is_variable: bool,
    /// The first exchange that has it, where [`Self::what`] is about a part of one.
    pub(crate) exchange: Option<usize>,
}

impl Secret {
    /// Makes a secret of a variable that the input names.
    pub(crate) fn variable(
        name: impl Into<String>,
        what: impl Into<String>,
        value: Option<String>,
    ) -> Self {
        Self {
            name: name.into(),
            what: what.into(),
            value,
            is_variable: true,
            exchange: None,
        }
    }

    /// Makes a secret of a value, which is replaced wherever it occurs.
    pub(crate) fn known(
        name: impl Into<String>,
        what: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        Self {
            is_variable: false,
            ..Self::variable(name, what, Some(value.into()))
        }
    }
}

/// Settings of the HTTP client, the same for all requests of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Client {
    /// Skips the check of certificates.
    pub(crate) insecure: bool,
    /// The version of HTTP, where the input asks for one.
    pub(crate) http: Option<Http>,
    /// Sends cookies of answers back.
    pub(crate) keeps_cookies: bool,
    /// The number of redirects to follow, unless an [`Exchange`] has another one.
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
    /// HTTP/3.
    Three,
}

/// A request, and its answer where that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Its place in the input.
    pub(crate) span: Span,
    pub(crate) method: String,
    /// `http://host:port`, without credentials.
    pub(crate) origin: String,
    /// Path and query, as they are sent.
    pub(crate) target: Text,
    /// The headers in their order, without those that every request has.
    pub(crate) headers: Vec<Header>,
    /// Default headers that are not sent.
    pub(crate) omitted: Vec<String>,
    /// User and password of basic authentication.
    pub(crate) credentials: Option<Credentials>,
    pub(crate) body: Body,
    /// The number of redirects to follow.
    pub(crate) redirects: u32,
    pub(crate) timeout: Option<Duration>,
    /// The name that the input gives.
    pub(crate) name: Option<String>,
    /// The description that the input gives.
    pub(crate) description: Option<String>,
    /// The number of its [`Group`].
    pub(crate) group: Option<usize>,
    /// The target with names in braces for what differs from request to request: `/items/{id}`. For names alone.
    pub(crate) pattern: Option<String>,
    /// The statuses of success, where the input says them.
    pub(crate) expect: Vec<u16>,
    /// The think time after it.
    pub(crate) think: Option<Duration>,
    /// The recorded or documented answer.
    pub answer: Option<Answer>,
    /// The stream of events that the answer is.
    pub(crate) stream: Option<EventStream>,
    /// The WebSocket that the request opens.
    pub(crate) socket: Option<Socket>,
    pub(crate) settings: StepSettings,
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<Header>,
    /// The decoded body; empty where it was not recorded.
    pub body: Vec<u8>,
    /// True where it is made from a description: its values are then those of no request.
    pub is_example: bool,
}

/// A header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// The name, as it was written.
    pub name: String,
    /// The value, without blanks around it.
    pub value: Text,
}

/// A user and a password.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: Text,
    pub(crate) password: Text,
}

impl Credentials {
    /// Reads what a URL has before its host: `user:password`.
    pub(crate) fn of_url(text: Text) -> Self {
        let (user, password) = text.split_once(":").unwrap_or((text, Text::default()));
        Self {
            user: user.map_literals(percent_decode),
            password: password.map_literals(percent_decode),
        }
    }
}

/// A body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Body {
    #[default]
    None,
    /// Text, or bytes.
    Text(Text),
    /// The parts of a form.
    Multipart(Vec<Part>),
}

impl Body {
    /// Makes the body of a text; none of an empty one.
    pub(crate) fn of_text(text: Text) -> Self {
        if text.is_empty() {
            return Self::None;
        }
        Self::Text(text)
    }
}

/// A part of a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// The name of the field.
    pub(crate) name: Text,
    pub(crate) file_name: Option<Text>,
    pub(crate) content_type: Option<String>,
    pub(crate) content: Text,
}

/// The content of a file that the input does not have.
pub(crate) const PLACEHOLDER: &str = "loadtest";

impl Part {
    /// Makes a file that the input does not have.
    pub(crate) fn placeholder(name: impl Into<Text>, file_name: impl Into<Text>) -> Self {
        Self {
            name: name.into(),
            file_name: Some(file_name.into()),
            content_type: None,
            content: PLACEHOLDER.into(),
        }
    }
}

/// The boundary between the parts of a form: a constant, so that every run sends the same bytes.
pub(crate) const BOUNDARY: &str = "------------------------loadtest8Zq4vC1xWm";

impl Exchange {
    /// Returns the name of its transaction.
    pub(crate) fn transaction(&self) -> Option<&str> {
        self.settings.transaction.as_deref()
    }

    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&Text> {
        let mut headers = self.headers.iter();
        headers
            .find(|header| header.name.eq_ignore_ascii_case(name))
            .map(|header| &header.value)
    }

    /// Removes all headers with a name.
    pub(crate) fn remove_header(&mut self, name: &str) {
        let is_other = |header: &Header| !header.name.eq_ignore_ascii_case(name);
        self.headers.retain(is_other);
    }

    /// Adds the type of a body that is a form, where no header says another one.
    pub(crate) fn imply_form(&mut self) {
        if self.header("content-type").is_none() {
            let header = Header::new("Content-Type", URL_ENCODED);
            self.headers.push(header);
        }
    }

    /// Returns the type of the body, where the request says it in plain text.
    pub(crate) fn content_type(&self) -> Option<&str> {
        self.header("content-type").and_then(Text::as_literal)
    }

    /// Returns all texts that are sent.
    pub(crate) fn texts_mut(&mut self) -> Vec<&mut Text> {
        let mut texts = vec![&mut self.target];
        texts.extend(self.headers.iter_mut().map(|header| &mut header.value));
        if let Some(Credentials { user, password }) = &mut self.credentials {
            texts.extend([user, password]);
        }
        match &mut self.body {
            Body::None => {}
            Body::Text(text) => texts.push(text),
            Body::Multipart(parts) => {
                for part in parts {
                    texts.push(&mut part.name);
                    texts.extend(&mut part.file_name);
                    texts.push(&mut part.content);
                }
            }
        }
        let sent = self.socket.iter_mut().flat_map(|socket| &mut socket.sent);
        texts.extend(sent.map(|message| &mut message.content));
        texts
    }

    /// Returns all texts that are sent.
    pub(crate) fn texts(&self) -> Vec<&Text> {
        let mut texts = vec![&self.target];
        texts.extend(self.headers.iter().map(|header| &header.value));
        if let Some(Credentials { user, password }) = &self.credentials {
            texts.extend([user, password]);
        }
        match &self.body {
            Body::None => {}
            Body::Text(text) => texts.push(text),
            Body::Multipart(parts) => {
                for part in parts {
                    texts.push(&part.name);
                    texts.extend(&part.file_name);
                    texts.push(&part.content);
                }
            }
        }
        let sent = self.socket.iter().flat_map(|socket| &socket.sent);
        texts.extend(sent.map(|message| &message.content));
        texts
    }
}

impl Header {
    /// Makes a header.
    pub(crate) fn new(name: impl Into<String>, value: impl Into<Text>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// Encodes a user and a password as the value of an `authorization` header.
pub(crate) fn encode_basic(user: &[u8], password: &[u8]) -> Vec<u8> {
    let pair = [user, password].join(&b':');
    format!("Basic {}", BASE64_STANDARD.encode(pair)).into_bytes()
}

/// Writes the parts of a form as a body; `fill` returns the bytes of a text.
pub(crate) fn encode_multipart(parts: &[Part], fill: impl Fn(&Text) -> Vec<u8>) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        body.extend_from_slice(format!("--{BOUNDARY}\r\n").as_bytes());
        body.extend_from_slice(b"Content-Disposition: form-data; name=\"");
        body.extend(escape_quotes(&fill(&part.name)));
        body.push(b'"');
        if let Some(file_name) = &part.file_name {
            body.extend_from_slice(b"; filename=\"");
            body.extend(escape_quotes(&fill(file_name)));
            body.push(b'"');
        }
        body.extend_from_slice(b"\r\n");
        if let Some(content_type) = &part.content_type {
            body.extend_from_slice(format!("Content-Type: {content_type}\r\n").as_bytes());
        }
        body.extend_from_slice(b"\r\n");
        body.extend(fill(&part.content));
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

/// Moves each item after all that it needs. In a cycle, some come later than they are needed.
pub(crate) fn order_by_needs<'n>(
    usual: &[usize],
    needs: impl Fn(usize) -> &'n [usize],
) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    for first in usual {
        let mut open = Vec::new();
        if seen.insert(*first) {
            open.push((*first, 0));
        }
        while let Some((number, done)) = open.pop() {
            match needs(number).get(done) {
                Some(needed) => {
                    open.push((number, done + 1));
                    if seen.insert(*needed) {
                        open.push((*needed, 0));
                    }
                }
                None => order.push(number),
            }
        }
    }
    order
}

/// Escapes a name within quotes (<https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data>).
fn escape_quotes(name: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b'"' => escaped.extend_from_slice(b"%22"),
            b'\r' => escaped.extend_from_slice(b"%0D"),
            b'\n' => escaped.extend_from_slice(b"%0A"),
            byte => escaped.push(*byte),
        }
    }
    escaped
}

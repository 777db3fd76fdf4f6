//! Entries of an archive, read leniently: a value of an unexpected type counts as missing.

use super::times::{parse_moment, read_duration};
use crate::document::Node;
use crate::recording::{Dropped, EVENTS};
use crate::source::{Note, Span};
use crate::text::{find_pair, is_token, truncate};
use loadtest_console::console::clean;
use url::{Position, Url};

/// Longest request line that is shown, in characters.
const LONGEST_SHOWN: usize = 160;

/// A request and its answer.
#[derive(Debug)]
pub(super) struct HarEntry<'a> {
    /// Place of the URL.
    pub(super) span: Span,
    pub(super) method: String,
    pub(super) url: Url,
    /// The scheme of the URL is that of WebSockets, and replaced by that of HTTP.
    pub(super) is_websocket: bool,
    /// Time of the request, in milliseconds.
    pub(super) started: Option<i64>,
    /// Time of the complete answer, in milliseconds.
    pub(super) ended: Option<i64>,
    /// Status of the answer, if there is one.
    pub(super) status: Option<u16>,
    /// Resource type that the browser recorded, in lower case.
    pub(super) resource: Option<String>,
    /// Headers of the request, names in lower case.
    pub(super) request_headers: Vec<(String, String)>,
    /// Headers of the answer, names in lower case.
    pub(super) answer_headers: Vec<(String, String)>,
    pub(super) node: &'a Node<'a>,
}

/// Reason why an entry is no request.
#[derive(Debug)]
pub(super) enum SkippedEntry {
    /// It was not sent over HTTP.
    Dropped(Dropped),
    /// It cannot be read.
    Unreadable(Note),
}

impl<'a> HarEntry<'a> {
    /// Reads an entry, if it is a request over HTTP.
    pub(super) fn read(node: &'a Node<'a>) -> Result<Self, SkippedEntry> {
        let request = node.get("request").unwrap_or(node);
        let Some(place) = request.get("url") else {
            let kind = if node.is_object() { request } else { node }.kind();
            let words =
                format!("an entry has a request with a `url`, and this is {kind} without one");
            return Err(unreadable(request.beginning(), &words));
        };
        let Some(text) = place.text().map(str::trim) else {
            let words = format!("a URL is a string, and this is {}", place.kind());
            return Err(unreadable(place.beginning(), &words));
        };
        let method = request.text_of("method").unwrap_or("GET").trim();
        if !is_token(method) {
            let span = request.get("method").map(Node::beginning);
            let words = "this is not a method of HTTP";
            return Err(unreadable(span.unwrap_or(place.span.clone()), words));
        }
        let (url, is_websocket) = parse_url(method, text, &place.span)?;
        let started = node.text_of("startedDateTime").and_then(parse_moment);
        let response = node.get("response");
        Ok(Self {
            span: place.span.clone(),
            method: method.to_ascii_uppercase(),
            url,
            is_websocket,
            started,
            ended: started.map(|started| started.saturating_add(read_duration(node))),
            status: response.and_then(read_status),
            resource: node.text_of("_resourceType").map(str::to_ascii_lowercase),
            request_headers: read_headers(Some(request)),
            answer_headers: read_headers(response),
            node,
        })
    }

    /// Returns the first header of the request with this name, given in lower case.
    pub(super) fn request_header(&self, name: &str) -> Option<&str> {
        find_pair(&self.request_headers, name).map(String::as_str)
    }

    /// Returns the first header of the answer with this name, given in lower case.
    pub(super) fn answer_header(&self, name: &str) -> Option<&str> {
        find_pair(&self.answer_headers, name).map(String::as_str)
    }

    /// Returns the media type of the answer, in lower case and without parameters.
    pub(super) fn answer_type(&self) -> String {
        let recorded = self
            .content()
            .and_then(|content| content.text_of("mimeType"))
            .filter(|mime| !mime.is_empty() && *mime != "x-unknown");
        let mime = recorded.or_else(|| self.answer_header("content-type"));
        let mime = mime.and_then(|mime| mime.split(';').next());
        mime.unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Returns whether the answer is a stream of events.
    pub(super) fn is_event_stream(&self) -> bool {
        let accept = self.request_header("accept").unwrap_or_default();
        self.resource.as_deref() == Some("eventsource")
            || self.answer_type() == EVENTS
            || accept.trim() == EVENTS
    }

    /// Returns whether the request changes nothing on the server.
    pub(super) fn is_read(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }

    pub(super) fn request(&self) -> &'a Node<'a> {
        self.node.get("request").unwrap_or(self.node)
    }

    /// Returns the node of the request body.
    pub(super) fn post_data(&self) -> Option<&'a Node<'a>> {
        let data = self.request().get("postData");
        data.filter(|data| data.is_object())
    }

    /// Returns the recorded size of the request body, in bytes.
    pub(super) fn body_size(&self) -> f64 {
        let size = self.request().get("bodySize").and_then(Node::number);
        size.unwrap_or(0.0)
    }

    /// Returns the node of the answer body.
    pub(super) fn content(&self) -> Option<&'a Node<'a>> {
        self.node.get("response")?.get("content")
    }

    /// Returns the list of cookies of `part`: `request` or `response`.
    pub(super) fn cookies(&self, part: &str) -> Vec<(&'a str, &'a str)> {
        let list = self.node.at(&[part, "cookies"]);
        let items = list.map(Node::items).unwrap_or_default().iter();
        items
            .filter_map(|item| Some((item.text_of("name")?, item.text_of("value")?)))
            .collect()
    }

    /// Returns whether the answer came from a cache of the browser or a worker of the page.
    pub(super) fn is_from_cache(&self) -> bool {
        let flags: [&[&str]; 3] = [
            &["_fromCache"],
            &["_fromServiceWorker"],
            &["response", "_fetchedViaServiceWorker"],
        ];
        let is_set = |path: &&[&str]| {
            self.node.at(path).is_some_and(|flag| {
                flag.boolean() == Some(true) || flag.text().is_some_and(|text| !text.is_empty())
            })
        };
        flags.iter().any(is_set)
    }

    /// Returns whether a browser, a test or a proxy answered in place of the server.
    pub(super) fn is_synthetic(&self) -> bool {
        self.answer_header("non-authoritative-reason").is_some()
            || self.node.get("_wasFulfilled").and_then(Node::boolean) == Some(true)
    }

    /// Returns the record of leaving this entry out.
    pub(super) fn to_dropped(&self, reason: &str) -> Dropped {
        dropped(&self.span, &self.method, self.url.as_str(), reason)
    }
}

fn unreadable(span: Span, words: &str) -> SkippedEntry {
    SkippedEntry::Unreadable(Note::new(span, format!("{words}: it is left out")))
}

fn dropped(span: &Span, method: &str, url: &str, reason: &str) -> Dropped {
    Dropped {
        span: span.clone(),
        what: clean(&format!("{method} {}", shorten_url(url))),
        why: reason.to_owned(),
    }
}

/// Parses a URL, and returns it with true where it is that of a WebSocket.
fn parse_url(method: &str, text: &str, span: &Span) -> Result<(Url, bool), SkippedEntry> {
    let dropped = |reason| SkippedEntry::Dropped(dropped(span, method, text, reason));
    if method.eq_ignore_ascii_case("CONNECT") {
        return Err(dropped("proxy tunnels"));
    }
    let (scheme, rest) = text.split_once(':').unwrap_or_default();
    let (text, is_websocket) = match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" | "" => (text.to_owned(), false),
        "ws" => (format!("http:{rest}"), true),
        "wss" => (format!("https:{rest}"), true),
        _ => return Err(dropped("no requests over HTTP")),
    };
    match Url::parse(&text) {
        Ok(url) if url.has_host() => Ok((url, is_websocket)),
        Ok(_) => Err(unreadable(span.clone(), "this URL has no host")),
        Err(error) => {
            let words = format!("this URL cannot be read ({error})");
            Err(unreadable(span.clone(), &words))
        }
    }
}

fn read_status(response: &Node<'_>) -> Option<u16> {
    let status = response.get("status")?.number()?;
    (100.0..600.0).contains(&status).then_some(status as u16)
}

/// Returns the headers of a request or an answer. Browsers join several `set-cookie` by line breaks.
fn read_headers(part: Option<&Node<'_>>) -> Vec<(String, String)> {
    let list = part.and_then(|part| part.get("headers"));
    let mut headers = Vec::new();
    for item in list.map(Node::items).unwrap_or_default() {
        let (Some(name), Some(value)) = (item.text_of("name"), item.get("value")) else {
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        if is_token(&name) {
            let value = value.scalar().unwrap_or_default();
            let lines = value.lines().map(str::trim);
            headers.extend(lines.map(|line| (name.clone(), line.to_owned())));
        }
    }
    headers
}

/// Returns a URL without user and query; of one without a host, such as `data:image/png;base64,..`, the scheme alone.
fn shorten_url(text: &str) -> String {
    let scheme = text.split(':').next().unwrap_or_default();
    let Some(url) = Url::parse(text).ok().filter(Url::has_host) else {
        return format!("{scheme}:");
    };
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    let shown = format!("{scheme}://{authority}{}", url.path());
    truncate(&shown, LONGEST_SHOWN)
}

//! Makes the exchange of an entry: the request to send, and the answer to expect.

use super::body::{read_answer_body, read_request_body};
use super::entry::HarEntry;
use super::headers::select_headers;
use super::kinds::EntryKind;
use super::socket::read_socket;
use crate::recording::{Answer, EventStream, Exchange, Header, Text};
use crate::source::Note;
use url::Url;

/// Reads an entry of a kind. `cookie` is the header that its request needs; `has_answers` is false for a list of requests that were
/// never sent.
pub(super) fn read_exchange(
    (entry, kind): (&HarEntry<'_>, EntryKind),
    has_answers: bool,
    cookie: Option<Text>,
    notes: &mut Vec<Note>,
) -> Exchange {
    let is_socket = kind == EntryKind::WebSocket;
    // A step that opens a WebSocket succeeds with the status 101 alone.
    let recorded = entry.status.filter(|_| has_answers && !is_socket);
    let is_stream = !is_socket && entry.is_event_stream();
    // A load test asks as at a first visit, without a cache.
    let status = recorded.map(|status| if status == 304 { 200 } else { status });
    if let Some(status @ 500..) = recorded {
        let words = format!(
            "it was answered with {status}, an error of the server, and that is expected of it"
        );
        notes.push(Note::new(entry.span.clone(), words));
    }
    let (body, content_type) = read_request_body(entry, notes);
    let selected = select_headers(entry, content_type.as_deref());
    if let Some(name) = selected.refused {
        let words = format!("the header `{name}` has control characters, and is left out");
        notes.push(Note::new(entry.span.clone(), words));
    }
    let mut headers = selected.headers;
    headers.extend(cookie.map(|cookie| Header::new("cookie", cookie)));
    Exchange {
        span: entry.span.clone(),
        method: entry.method.clone(),
        origin: entry.url.origin().ascii_serialization(),
        target: Text::literal(format_target(&entry.url)),
        headers,
        credentials: selected.credentials,
        body,
        expect: status.into_iter().collect(),
        answer: status.map(|status| read_answer(entry, status, is_stream)),
        stream: is_stream.then(|| EventStream::read(&read_answer_body(entry))),
        socket: is_socket.then(|| read_socket(entry)),
        ..Exchange::default()
    }
}

/// Reads an answer; values are not taken from that which `is_stream`.
fn read_answer(entry: &HarEntry<'_>, status: u16, is_stream: bool) -> Answer {
    let headers = entry.answer_headers.iter();
    let headers = headers.map(|(name, value)| Header::new(name, value.as_str()));
    Answer {
        status,
        headers: headers.collect(),
        body: if is_stream {
            Vec::new()
        } else {
            read_answer_body(entry)
        },
        is_example: false,
    }
}

/// Formats path and query as they are sent.
fn format_target(url: &Url) -> String {
    let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
    path.replace('`', "%60")
}

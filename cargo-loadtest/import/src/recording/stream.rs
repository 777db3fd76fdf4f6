//! Answers that go on: streams of events, and the messages of WebSockets.

use super::Text;
use std::time::Duration;

/// The media type of streams of events.
pub(crate) const EVENTS: &str = "text/event-stream";

/// An answer that is a stream of events, and what was recorded of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EventStream {
    /// The number of recorded events.
    pub(crate) events: usize,
    /// The data of a last event that is no JSON, behind others that are.
    pub(crate) end: Option<String>,
    /// True where events are no JSON.
    pub(crate) is_text: bool,
}

/// A message that a user sent over a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SocketMessage {
    pub(crate) content: Text,
    /// The time since the message before it, in either direction.
    pub(crate) pause: Duration,
    /// True where the target sent a message before the user sent the next one.
    pub(crate) is_answered: bool,
}

/// A WebSocket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Socket {
    pub(crate) sent: Vec<SocketMessage>,
    /// True where what came is no JSON.
    pub(crate) is_text: bool,
}

impl EventStream {
    /// Reads recorded events (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).
    pub(crate) fn read(body: &[u8]) -> Self {
        let body = String::from_utf8_lossy(body).replace("\r\n", "\n");
        let data = body.split("\n\n").filter_map(|event| {
            let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
            let lines: Vec<_> = lines
                .map(|line| line.strip_prefix(' ').unwrap_or(line))
                .collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        });
        let mut data: Vec<String> = data.collect();
        let end = data.pop_if(|last| !is_json(last));
        let is_text = !data.iter().all(|data| is_json(data)) || data.is_empty() && end.is_some();
        Self {
            events: data.len() + usize::from(is_text && end.is_some()),
            end: end.filter(|_| !is_text),
            is_text,
        }
    }
}

/// Returns true for a text that is a value of JSON.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_events_are_counted_and_a_last_one_that_is_no_json_ends_them() {
        let read = |body: &str| {
            let stream = EventStream::read(body.as_bytes());
            (stream.events, stream.end, stream.is_text)
        };
        let end = |text: &str| Some(text.to_owned());
        assert_eq!(read(""), (0, None, false));
        assert_eq!(
            read(": hello\n\nevent: a\ndata: {\ndata: }\n\ndata:7\n\ndata: [DONE]\n\n"),
            (2, end("[DONE]"), false)
        );
        assert_eq!(read("data: 1\r\n\r\ndata: 2\r\n\r\n"), (2, None, false));
        assert_eq!(
            read("data: so\n\ndata: 2\n\ndata: it is\n\n"),
            (3, None, true)
        );
        assert_eq!(read("data: so\n\n"), (1, None, true));
    }
}

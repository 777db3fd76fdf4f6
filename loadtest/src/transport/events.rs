//! Streams of events as they come: server-sent events, and a value on each line. No I/O here.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use std::ops::Range;
use std::time::Duration;
use tokio::time::Instant;

/// The most events whose data is kept.
const MAX_KEPT_EVENTS: usize = 100_000;
/// The most events of which the times are kept: some 100 MB.
const MAX_TIMED_EVENTS: usize = 1_000_000;
/// The most data that is kept, or that one event has.
const MAX_KEPT_DATA: usize = 16 * 1024 * 1024;

/// An event as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawEvent {
    /// Its data; empty where none is kept.
    pub(crate) data: Bytes,
    /// The value of its field `event`.
    pub(crate) name: Option<Box<str>>,
    /// The value of its field `id`.
    pub(crate) id: Option<Box<str>>,
    /// The time at which the request was ready.
    pub(crate) begun: Option<Instant>,
    /// From then to the read that completed it.
    pub(crate) at: Duration,
    /// True if the same read completed the event before it.
    pub(crate) is_together: bool,
}

impl RawEvent {
    /// Returns whether it is the last of a subscription of GraphQL, by its protocol over server-sent events.
    pub(super) fn is_complete(&self) -> bool {
        self.name.as_deref() == Some("complete")
    }

    /// Returns whether it says that the service failed: an event of the name `error`, or an object with an `error` that
    /// is one, as the services of language models send them.
    pub(super) fn is_error(&self) -> bool {
        #[derive(Deserialize)]
        struct Said {
            error: Value,
        }
        if self.name.as_deref() == Some("error") {
            return true;
        }
        // Most events are none, and are not read twice.
        let text = std::str::from_utf8(&self.data).unwrap_or_default();
        text.trim_start().starts_with('{')
            && text.contains("\"error\"")
            && serde_json::from_str(text).is_ok_and(|Said { error }| match error {
                Value::String(words) => !words.is_empty(),
                Value::Object(fields) => !fields.is_empty(),
                _ => false,
            })
    }
}

/// The events of an answer, so far.
#[derive(Debug, Clone, Default)]
pub struct EventLog {
    pub(crate) events: Vec<RawEvent>,
    /// The length of all data.
    kept: usize,
}

/// More came than is kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMuch;

impl EventLog {
    /// The time of each event, and whether it came with the one before.
    pub(crate) fn times(&self) -> impl Iterator<Item = (Duration, bool)> + '_ {
        self.events
            .iter()
            .map(|event| (event.at, event.is_together))
    }

    /// Adds an event, with its data if that is wanted.
    pub(crate) fn add(&mut self, mut event: RawEvent, keeps_data: bool) -> Result<(), TooMuch> {
        let most = if keeps_data {
            self.kept += event.data.len();
            MAX_KEPT_EVENTS
        } else {
            event.data = Bytes::new();
            MAX_TIMED_EVENTS
        };
        if self.kept > MAX_KEPT_DATA || self.events.len() == most {
            return Err(TooMuch);
        }
        self.events.push(event);
        Ok(())
    }
}

/// How events are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events, as the HTML standard has them (section 9.2.6).
    ServerSent,
    /// A value on each line.
    Lines,
}

impl Framing {
    /// Returns the framing that a `content-type` announces.
    pub(crate) fn from_content_type(value: &str) -> Option<Self> {
        let kind = value.split(';').next().unwrap_or_default().trim();
        let kind = kind.to_ascii_lowercase();
        match &*kind {
            "text/event-stream" => Some(Self::ServerSent),
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/x-jsonlines"
            | "application/json-lines"
            | "application/jsonlines"
            | "application/stream+json" => Some(Self::Lines),
            _ => None,
        }
    }
}

/// Splits the bytes of an answer into events.
#[derive(Debug)]
pub(crate) struct EventSplitter {
    framing: Framing,
    /// The line that is not over yet.
    line: Vec<u8>,
    /// True before the first byte of a body, where a byte order mark may stand.
    is_at_start: bool,
    /// True after a carriage return, whose line feed ends no further line.
    skips_line_feed: bool,
    data: Vec<u8>,
    /// True once the event has a field `data`.
    has_data: bool,
    name: Option<Box<str>>,
    /// That of the last event that had one.
    id: Option<Box<str>>,
}

impl EventSplitter {
    pub(crate) fn new(framing: Framing) -> Self {
        Self {
            framing,
            line: Vec::new(),
            is_at_start: true,
            skips_line_feed: false,
            data: Vec::new(),
            has_data: false,
            name: None,
            id: None,
        }
    }

    /// Takes what came, and hands over each event that is complete with it, without a time. Stops where `each` says
    /// so.
    ///
    /// # Errors
    /// A line or the data of an event is larger than what is kept.
    pub(crate) fn push(
        &mut self,
        mut input: &[u8],
        mut each: impl FnMut(RawEvent) -> bool,
    ) -> Result<(), TooMuch> {
        while !input.is_empty() {
            if std::mem::take(&mut self.skips_line_feed) && input[0] == b'\n' {
                input = &input[1..];
                continue;
            }
            let end = input.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let Some(end) = end else {
                self.line.extend_from_slice(input);
                return self.check_size();
            };
            self.skips_line_feed = input[end] == b'\r';
            self.line.extend_from_slice(&input[..end]);
            input = &input[end + 1..];
            self.check_size()?;
            if let Some(event) = self.end_line()
                && !each(event)
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the event that the end of the body completes: a last line without its end. A server-sent event that
    /// is not over is none.
    pub(crate) fn finish(&mut self) -> Option<RawEvent> {
        (self.framing == Framing::Lines)
            .then(|| self.end_line())
            .flatten()
    }

    fn check_size(&self) -> Result<(), TooMuch> {
        if self.line.len() + self.data.len() > MAX_KEPT_DATA {
            return Err(TooMuch);
        }
        Ok(())
    }

    /// Takes in a whole line.
    fn end_line(&mut self) -> Option<RawEvent> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_at_start) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if self.framing == Framing::Lines {
            let is_blank = line.trim_ascii().is_empty();
            return (!is_blank).then(|| RawEvent {
                data: line.into(),
                ..RawEvent::default()
            });
        }
        if line.is_empty() {
            return self.end_event();
        }
        let (name, value) = split_field(&line);
        match &line[name] {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(&line[value]);
            }
            b"event" => self.name = Some(String::from_utf8_lossy(&line[value]).into()),
            b"id" if !line[value.clone()].contains(&0) => {
                self.id = Some(String::from_utf8_lossy(&line[value]).into());
            }
            // Comments, `retry` and what is unknown.
            _ => {}
        }
        // The next line has room.
        line.clear();
        self.line = line;
        None
    }

    /// Returns the event that a blank line ends; one without data is none.
    fn end_event(&mut self) -> Option<RawEvent> {
        let (data, name) = (std::mem::take(&mut self.data), self.name.take());
        std::mem::take(&mut self.has_data).then(|| RawEvent {
            data: data.into(),
            name,
            id: self.id.clone(),
            ..RawEvent::default()
        })
    }
}

/// The places of name and value of a field; a comment has an empty name.
fn split_field(line: &[u8]) -> (Range<usize>, Range<usize>) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return (0..line.len(), line.len()..line.len());
    };
    let space = usize::from(line.get(colon + 1) == Some(&b' '));
    (0..colon, colon + 1 + space..line.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(framing: Framing, pieces: &[&[u8]]) -> Vec<RawEvent> {
        let mut splitter = EventSplitter::new(framing);
        let mut all = Vec::new();
        for piece in pieces {
            let pushed = splitter.push(piece, |event| {
                all.push(event);
                true
            });
            pushed.unwrap();
        }
        all.extend(splitter.finish());
        all
    }

    fn data(framing: Framing, text: &str) -> Vec<String> {
        let events = events(framing, &[text.as_bytes()]).into_iter();
        events
            .map(|event| String::from_utf8_lossy(&event.data).into_owned())
            .collect()
    }

    #[test]
    fn server_sent_events_are_read_as_the_standard_says() {
        for (text, expected) in [
            ("data: a\n\ndata: b\n\n", &["a", "b"][..]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata:b\r\r", &["a", "b"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data: a\ndata: b\n\n", &["a\nb"]),
            ("data\n\ndata\ndata\n\ndata:\n", &["", "\n"]),
            (": a comment\n\ndata: a\n\n", &["a"]),
            ("data:  two\n\n", &[" two"]),
            ("event: ping\n\ndata: a\n\n", &["a"]),
            ("retry: 5\nwhat: ever\ndata: a\n\n", &["a"]),
            ("data: a\n\ndata: not over", &["a"]),
            ("data: not over\n", &[]),
            ("", &[]),
        ] {
            assert_eq!(data(Framing::ServerSent, text), expected, "{text:?}");
        }
        let named = events(
            Framing::ServerSent,
            &[b"event: done\nid: 7\ndata: a\n\ndata: b\n\nid: 8\0\ndata: c\n\n"],
        );
        let id = |event: &RawEvent| event.id.as_deref().map(str::to_owned);
        let name = |event: &RawEvent| event.name.as_deref().map(str::to_owned);
        let seven = Some("7".to_owned());
        assert_eq!(
            named.iter().map(id).collect::<Vec<_>>(),
            [seven.clone(), seven.clone(), seven]
        );
        assert_eq!(
            named.iter().map(name).collect::<Vec<_>>(),
            [Some("done".to_owned()), None, None]
        );
    }

    #[test]
    fn a_value_on_each_line_needs_no_end_of_the_last() {
        for (text, expected) in [
            ("1\n2\n", &["1", "2"][..]),
            ("1\r\n\r\n \n{\"a\": 2}", &["1", "{\"a\": 2}"]),
            ("", &[]),
        ] {
            assert_eq!(data(Framing::Lines, text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_content_type_says_how_events_are_told_apart() {
        let of = Framing::from_content_type;
        assert_eq!(
            of("Text/Event-Stream; charset=utf-8"),
            Some(Framing::ServerSent)
        );
        assert_eq!(of("application/x-ndjson"), Some(Framing::Lines));
        assert_eq!(of("application/json"), None);
    }

    #[test]
    fn an_event_that_says_that_the_service_failed_is_known() {
        let is_error = |name: Option<&str>, data: &'static str| {
            let event = RawEvent {
                data: Bytes::from_static(data.as_bytes()),
                name: name.map(Into::into),
                ..RawEvent::default()
            };
            event.is_error()
        };
        assert!(is_error(None, r#"{"error": {"message": "overloaded"}}"#));
        assert!(is_error(None, r#" {"error":"model not found"}"#));
        assert!(is_error(
            Some("message"),
            r#"{"type":"error","error":{"type":"overloaded_error"}}"#
        ));
        assert!(is_error(Some("error"), "gone"));
        for data in [
            r#"{"error": null, "text": "a"}"#,
            r#"{"error": false}"#,
            r#"{"error": ""}"#,
            r#"{"error": {}}"#,
            r#"{"text": "an \"error\" in {\"error\": 1}"}"#,
            r#"{"choices": [{"error": "x"}]}"#,
            r#"["error", {"error": "x"}]"#,
            "an error",
            "",
        ] {
            assert!(!is_error(None, data), "{data}");
        }
    }

    #[test]
    fn what_has_no_end_is_too_much() {
        let mut splitter = EventSplitter::new(Framing::ServerSent);
        let piece = vec![b'x'; 1 << 20];
        let pushed = (0..17).map(|_| splitter.push(&piece, |_| true));
        assert_eq!(pushed.filter(Result::is_err).count(), 1);
        let mut log = EventLog::default();
        let event = || RawEvent {
            data: Bytes::from_static(&[b'x'; 1024]),
            ..RawEvent::default()
        };
        let added = (0..=16 * 1024).map(|_| log.add(event(), true));
        assert_eq!(added.filter(Result::is_err).count(), 1);
        let mut times = EventLog::default();
        assert!((0..MAX_TIMED_EVENTS).all(|_| times.add(event(), false).is_ok()));
        assert!(times.events.iter().all(|event| event.data.is_empty()));
        assert_eq!(times.add(event(), false), Err(TooMuch));
    }

    proptest! {
        #[test]
        fn bytes_may_be_split_anywhere(
            text in "(data: [a-c\u{e9}]{0,3}(\n|\r|\r\n)|(\n|\r|\r\n)|: x\n|event: e\n|\u{feff}){0,12}",
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
            lines in any::<bool>(),
        ) {
            let framing = if lines { Framing::Lines } else { Framing::ServerSent };
            let bytes = text.as_bytes();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(events(framing, &pieces), events(framing, &[bytes]));
        }
    }
}

//! The events of a stream and the messages of WebSockets for display.

use crate::redact;
use crate::transport::TranscriptLine;
use crate::transport::events::{EventLog, RawEvent};
use loadtest_model::protocol::{DebugMessages, DebugStream, ShownEvent, ShownSocketMessage};
use tokio::time::Instant;

/// The most events that are shown.
const MAX_SHOWN_EVENTS: usize = 1_000;
/// The most data of all of them.
const MAX_SHOWN_DATA: usize = 64 * 1024;

/// The first events of a stream, without secrets; `keeps_data` is false for a step that has their times alone.
pub(super) fn shown_stream(log: &EventLog, keeps_data: bool) -> DebugStream {
    let events = take_with_room(&log.events, |event| event.data.len());
    let events: Vec<_> = events.map(|event| shown_event(event, keeps_data)).collect();
    DebugStream {
        left_out: log.events.len() - events.len(),
        events,
    }
}

/// The first messages of WebSockets, without secrets, with their times from `begin` on.
pub(super) fn shown_messages(
    step: usize,
    begin: Instant,
    lines: &[TranscriptLine],
) -> DebugMessages {
    let shown = take_with_room(lines, |line| line.data.len());
    let messages: Vec<_> = shown.map(|line| shown_message(begin, line)).collect();
    DebugMessages {
        step,
        left_out: lines.len() - messages.len(),
        messages,
    }
}

/// As many of the first ones as are shown.
fn take_with_room<T>(all: &[T], size: impl Fn(&T) -> usize) -> impl Iterator<Item = &T> {
    let mut room = MAX_SHOWN_DATA;
    let has_room = move |one: &&T| {
        let left = room.checked_sub(size(one));
        room = left.unwrap_or_default();
        left.is_some()
    };
    all.iter().take(MAX_SHOWN_EVENTS).take_while(has_room)
}

fn shown_message(begin: Instant, line: &TranscriptLine) -> ShownSocketMessage {
    let text = str::from_utf8(&line.data).ok().filter(|_| line.is_text);
    ShownSocketMessage {
        at: line.at.saturating_duration_since(begin),
        is_sent: line.is_sent,
        frame: line.frame,
        text: text.map(redact::redact),
        bytes: line.data.len(),
    }
}

fn shown_event(event: &RawEvent, keeps_data: bool) -> ShownEvent {
    let data = String::from_utf8_lossy(&event.data);
    ShownEvent {
        at: event.at,
        is_together: event.is_together,
        name: event.name.as_deref().map(redact::redact),
        data: keeps_data.then(|| redact::redact(&data)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::protocol::SocketFrame;
    use std::time::Duration;

    fn log(events: impl IntoIterator<Item = RawEvent>) -> EventLog {
        let mut log = EventLog::default();
        for event in events {
            log.add(event, true).unwrap();
        }
        log
    }

    fn event(data: impl Into<Vec<u8>>) -> RawEvent {
        RawEvent {
            data: data.into().into(),
            at: Duration::from_millis(200),
            ..RawEvent::default()
        }
    }

    #[test]
    fn events_are_shown_without_secrets() {
        let named = RawEvent {
            name: Some("delta".into()),
            is_together: true,
            ..event(r#"{"token":"hunter2","text":"a"}"#)
        };
        let shown = shown_stream(&log([event("{}"), named]), true);
        assert_eq!((shown.events.len(), shown.left_out), (2, 0));
        let last = &shown.events[1];
        assert_eq!(last.name.as_deref(), Some("delta"));
        assert!(last.is_together && last.at == Duration::from_millis(200));
        let data = last.data.clone().unwrap().into_string();
        assert!(
            data.contains("\"text\":\"a\"") && !data.contains("hunter2"),
            "{data}"
        );
    }

    #[test]
    fn messages_are_shown_without_secrets() {
        let begin = Instant::now();
        let line = |is_sent, is_text, data: &'static str| TranscriptLine {
            is_sent,
            frame: SocketFrame::Message,
            is_text,
            data: data.into(),
            at: begin + Duration::from_millis(3),
        };
        let lines = [
            line(true, true, r#"{"token":"hunter2","room":7}"#),
            line(false, false, "bytes"),
        ];
        let shown = shown_messages(4, begin, &lines);
        assert_eq!((shown.step, shown.left_out), (4, 0));
        let [sent, received] = &shown.messages[..] else {
            panic!("two messages");
        };
        let text = sent.text.clone().unwrap().into_string();
        assert!(
            text.contains("\"room\":7") && !text.contains("hunter2"),
            "{text}"
        );
        assert!(sent.is_sent && sent.at == Duration::from_millis(3));
        assert_eq!((received.text.clone(), received.bytes), (None, 5));
    }

    #[test]
    fn a_long_stream_is_cut() {
        let many = shown_stream(&log(vec![event("a"); 1_200]), true);
        assert_eq!((many.events.len(), many.left_out), (1_000, 200));
        let large = shown_stream(&log(vec![event(vec![b'a'; 40_000]); 3]), true);
        assert_eq!((large.events.len(), large.left_out), (1, 2));
        let times = shown_stream(&log([event("")]), false);
        assert_eq!(times.events[0].data, None);
    }
}

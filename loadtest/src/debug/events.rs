//! The events of a stream for display.

use crate::redact;
use crate::transport::events::{EventLog, RawEvent};
use loadtest_model::protocol::{DebugStream, ShownEvent};

/// The most events that are shown.
const MAX_SHOWN_EVENTS: usize = 1_000;
/// The most data of all of them.
const MAX_SHOWN_DATA: usize = 64 * 1024;

/// The first events of a stream, without secrets; `keeps_data` is false for a step that has their times alone.
pub(super) fn shown_stream(log: &EventLog, keeps_data: bool) -> DebugStream {
    let mut room = MAX_SHOWN_DATA;
    let mut has_room = |event: &&RawEvent| {
        let left = room.checked_sub(event.data.len());
        room = left.unwrap_or_default();
        left.is_some()
    };
    let all = log.events.iter();
    let shown = all
        .take(MAX_SHOWN_EVENTS)
        .take_while(|event| has_room(event))
        .map(|event| shown_event(event, keeps_data));
    let events: Vec<_> = shown.collect();
    DebugStream {
        left_out: log.events.len() - events.len(),
        events,
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
    fn a_long_stream_is_cut() {
        let many = shown_stream(&log(vec![event("a"); 1_200]), true);
        assert_eq!((many.events.len(), many.left_out), (1_000, 200));
        let large = shown_stream(&log(vec![event(vec![b'a'; 40_000]); 3]), true);
        assert_eq!((large.events.len(), large.left_out), (1, 2));
        let times = shown_stream(&log([event("")]), false);
        assert_eq!(times.events[0].data, None);
    }
}

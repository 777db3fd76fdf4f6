//! Times of entries, and the pauses between them as think time.

use super::TimedExchange;
use crate::document::Node;
use jiff::Timestamp;
use std::time::Duration;

/// Longest duration of a request, in milliseconds.
const LONGEST_REQUEST: f64 = 86_400_000.0;
/// Shortest pause that counts as think time, in milliseconds: below it, a script went on.
const SHORTEST_PAUSE: i64 = 300;
/// Longest think time, in milliseconds.
const LONGEST_PAUSE: i64 = 30_000;
/// Unit to which pauses are rounded, in milliseconds.
const PAUSE_STEP: i64 = 100;

/// Parses a moment into milliseconds. Without a time zone, it is read as UTC.
pub(super) fn parse_moment(text: &str) -> Option<i64> {
    let moment: Timestamp = text.trim().parse().ok()?;
    Some(moment.as_millisecond())
}

/// Returns the duration of an entry, in milliseconds.
pub(super) fn read_duration(entry: &Node<'_>) -> i64 {
    let time = entry.get("time").and_then(Node::number).unwrap_or(0.0);
    time.clamp(0.0, LONGEST_REQUEST) as i64
}

/// Leaves out the pauses between the messages of WebSockets.
pub(super) fn drop_message_pauses(exchanges: &mut [TimedExchange]) {
    let sockets = exchanges
        .iter_mut()
        .flat_map(|timed| &mut timed.exchange.socket);
    for message in sockets.flat_map(|socket| &mut socket.sent) {
        message.pause = Duration::ZERO;
    }
}

/// Sets the think time of each exchange: from the end of all answers so far to the next request.
pub(super) fn add_think_times(exchanges: &mut [TimedExchange]) {
    let mut last_end: Option<i64> = None;
    for number in 1..exchanges.len() {
        let started = exchanges[number].started;
        let before = &mut exchanges[number - 1];
        last_end = last_end.max(before.ended);
        let (Some(ended), Some(started)) = (last_end, started) else {
            continue;
        };
        let pause = started.saturating_sub(ended);
        if pause < SHORTEST_PAUSE {
            continue;
        }
        let rounded = (pause.min(LONGEST_PAUSE) + PAUSE_STEP / 2) / PAUSE_STEP * PAUSE_STEP;
        before.exchange.think = Some(Duration::from_millis(rounded.unsigned_abs()));
    }
}

//! When an entry was sent, and how long it took.

use super::super::document::Node;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// No request takes longer, in milliseconds.
const LONGEST: f64 = 86_400_000.0;

/// A moment in milliseconds; without a time zone, as if it was universal time.
pub(super) fn moment(text: &str) -> Option<i64> {
    let text = text.trim();
    let moment = text.parse::<Timestamp>().ok();
    let moment = moment.or_else(|| {
        let moment = text.parse::<DateTime>().ok()?;
        moment
            .to_zoned(TimeZone::UTC)
            .ok()
            .map(|zoned| zoned.timestamp())
    });
    moment.map(Timestamp::as_millisecond)
}

/// How long an entry took, in milliseconds.
pub(super) fn duration(node: &Node<'_>) -> i64 {
    let time = node
        .get("time")
        .and_then(Node::number)
        .filter(|time| *time >= 0.0);
    let time = time.unwrap_or_else(|| {
        let timings = node.get("timings").map(Node::fields).unwrap_or_default();
        // The handshake of TLS is a part of connecting.
        let phases = timings
            .iter()
            .filter(|field| field.name != "ssl" && !field.name.starts_with('_'));
        phases
            .filter_map(|field| field.node.number())
            .filter(|time| *time > 0.0)
            .sum()
    });
    #[expect(clippy::cast_possible_truncation, reason = "it is within bounds")]
    let time = time.min(LONGEST) as i64;
    time
}

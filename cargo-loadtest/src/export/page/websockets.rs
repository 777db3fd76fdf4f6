//! The section of WebSockets.

use super::{Block, Fact, Section};
use loadtest_model::card::Card;
use loadtest_model::display;
use std::fmt::Write as _;

/// Says how many WebSockets there were, how they ended, and what went over them.
pub(super) fn build_websockets(card: &Card) -> Option<Section> {
    let sockets = card.websockets.as_ref()?;
    let tally = &sockets.tally;
    let count = display::format_count;
    let messages = |number, per_second, bytes| {
        format!(
            "{}, {}, {}",
            display::format_counted(number, "message"),
            display::format_rate(per_second),
            display::format_bytes(bytes)
        )
    };
    let mut opened = format!(
        "{} in the whole run, at most {} at once",
        count(tally.opened),
        count(tally.most_open)
    );
    if tally.reopened > 0 {
        let reopened = count(tally.reopened);
        let _ = write!(
            opened,
            ", {reopened} of them reopened, after the target closed one"
        );
    }
    let mut closed = format!("{} by users", count(tally.closed_by_user));
    if let Some(codes) = sockets.describe_closed() {
        let _ = write!(closed, "; otherwise, by code: {codes}");
    }
    let mut facts = vec![Fact::new("Opened", opened), Fact::new("Closed", closed)];
    let sent = messages(
        tally.sent_messages,
        sockets.sent_per_second,
        tally.sent_bytes,
    );
    let received = messages(
        tally.received_messages,
        sockets.received_per_second,
        tally.received_bytes,
    );
    facts.extend([Fact::new("Sent", sent), Fact::new("Received", received)]);
    Some(Section::new("WebSockets", vec![Block::Facts(facts)]).essential())
}

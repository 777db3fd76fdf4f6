//! The counts of the WebSockets of a thread, which are those of its worker.

use loadtest_model::metrics::WebSocketTally;
use std::cell::RefCell;

#[derive(Default)]
struct SocketCounts {
    open: u64,
    tally: WebSocketTally,
}

thread_local! {
    static COUNTS: RefCell<SocketCounts> = RefCell::default();
}

/// Takes what was counted since it was last taken.
pub(crate) fn take_socket_counts() -> WebSocketTally {
    COUNTS.with_borrow_mut(|counts| {
        let next = WebSocketTally {
            most_open: counts.open,
            ..WebSocketTally::default()
        };
        std::mem::replace(&mut counts.tally, next)
    })
}

/// Returns the number of connections that are open.
pub(crate) fn count_open_sockets() -> u64 {
    COUNTS.with_borrow(|counts| counts.open)
}

/// A connection took the place of one that the target had closed.
pub(crate) fn count_reopened_socket() {
    COUNTS.with_borrow_mut(|counts| counts.tally.reopened += 1);
}

pub(super) fn count_opened() {
    COUNTS.with_borrow_mut(|SocketCounts { open, tally }| {
        *open += 1;
        tally.opened += 1;
        tally.most_open = tally.most_open.max(*open);
    });
}

/// A connection ended: by its user, or by the target with this code.
pub(super) fn count_closed(by_target: Option<u16>) {
    COUNTS.with_borrow_mut(|SocketCounts { open, tally }| {
        *open -= 1;
        match by_target {
            Some(code) => *tally.closed_by_target.entry(code).or_default() += 1,
            None => tally.closed_by_user += 1,
        }
    });
}

pub(super) fn count_sent(bytes: usize) {
    COUNTS.with_borrow_mut(|SocketCounts { tally, .. }| {
        tally.sent_messages += 1;
        tally.sent_bytes += bytes as u64;
    });
}

pub(super) fn count_received(bytes: usize) {
    COUNTS.with_borrow_mut(|SocketCounts { tally, .. }| {
        tally.received_messages += 1;
        tally.received_bytes += bytes as u64;
    });
}

//! The WebSockets of a stretch of a run.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of the WebSockets of a stretch of a run, in all of its windows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WebSocketTally {
    /// Connections that were opened.
    pub opened: u64,
    /// Those of them that took the place of one that the target had closed, and that was to last.
    pub reopened: u64,
    /// The most that were open at once.
    pub most_open: u64,
    /// Connections that ended otherwise than by their user, by close code: 1006 without a close frame.
    pub closed_by_target: BTreeMap<u16, u64>,
    /// Connections that their user closed, or that ended with the load.
    pub closed_by_user: u64,
    /// Messages sent.
    pub sent_messages: u64,
    /// Their bytes, before compression.
    pub sent_bytes: u64,
    /// Messages that came.
    pub received_messages: u64,
    /// Their bytes, after decompression.
    pub received_bytes: u64,
}

impl WebSocketTally {
    /// Returns true where there was no WebSocket.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what was at another time.
    pub fn merge(&mut self, other: &Self) {
        let most_open = self.most_open.max(other.most_open);
        self.merge_simultaneous(other);
        self.most_open = most_open;
    }

    /// Adds what others had open in the same time.
    pub fn merge_simultaneous(&mut self, other: &Self) {
        self.opened += other.opened;
        self.reopened += other.reopened;
        self.most_open += other.most_open;
        for (code, count) in &other.closed_by_target {
            *self.closed_by_target.entry(*code).or_default() += count;
        }
        self.closed_by_user += other.closed_by_user;
        self.sent_messages += other.sent_messages;
        self.sent_bytes += other.sent_bytes;
        self.received_messages += other.received_messages;
        self.received_bytes += other.received_bytes;
    }
}

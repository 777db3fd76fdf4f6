//! What passes over a WebSocket whatever the steps do: heartbeats, and replies to texts of the target.

use super::connection::SocketState;
use super::deflate::compress;
use bytes::Bytes;
use loadtest_model::definition::{AutomaticReply, Heartbeat, WebSocketDef};
use std::borrow::Cow;
use std::task::Context;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// The bytes of it that wait for the target, beyond which no more is sent: one that reads nothing fills no memory by
/// what it sends.
const MAX_UNWRITTEN: usize = 64 * 1024;

/// The heartbeat and the replies of a connection.
pub(super) struct Background {
    heartbeat: Option<(Heartbeat, Interval)>,
    replies: Cow<'static, [AutomaticReply]>,
    compresses: bool,
    /// The bytes that were sent since the target had last taken all.
    unwritten: usize,
}

impl Background {
    /// Begins what `def` declares, if it declares any. In a box, since most connections have none.
    pub(super) fn begin(def: &WebSocketDef, compresses: bool) -> Option<Box<Self>> {
        let heartbeat = def.heartbeat.clone().map(|heartbeat| {
            let mut interval = interval_at(Instant::now() + heartbeat.every, heartbeat.every);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            (heartbeat, interval)
        });
        (heartbeat.is_some() || !def.replies.is_empty()).then(|| {
            Box::new(Self {
                heartbeat,
                replies: def.replies.clone(),
                compresses,
                unwritten: 0,
            })
        })
    }

    /// Has the heartbeat written if it is due, and wakes the task of `context` for the next one.
    pub(super) fn poll_heartbeat(&mut self, state: &mut SocketState, context: &mut Context<'_>) {
        while let Some((heartbeat, interval)) = &mut self.heartbeat
            && interval.poll_tick(context).is_ready()
        {
            let message = heartbeat.message.clone();
            self.send(state, &message);
        }
    }

    /// Returns whether steps do not get this text of the target: it has a reply, or is the answer to a heartbeat.
    pub(super) fn takes(&self, text: &Bytes) -> bool {
        let heartbeat = self.heartbeat.as_ref();
        let answer = heartbeat.and_then(|(heartbeat, _)| heartbeat.answer.as_deref());
        self.reply_to(text).is_some() || answer.is_some_and(|answer| *text == answer)
    }

    /// Has the reply to such a text written, if it has one.
    pub(super) fn reply(&mut self, state: &mut SocketState, text: &Bytes) {
        if let Some(reply) = self.reply_to(text) {
            let message = reply.with.clone();
            self.send(state, &message);
        }
    }

    fn reply_to(&self, text: &Bytes) -> Option<&AutomaticReply> {
        self.replies.iter().find(|reply| *text == *reply.to)
    }

    fn send(&mut self, state: &mut SocketState, message: &str) {
        if state.unwritten() == 0 {
            self.unwritten = 0;
        }
        if state.is_open() && self.unwritten < MAX_UNWRITTEN {
            let compressed = self.compresses.then(|| compress(message.as_bytes()));
            let before = state.unwritten();
            state.write_message(true, message.as_bytes(), compressed.as_deref());
            self.unwritten += state.unwritten() - before;
        }
    }
}

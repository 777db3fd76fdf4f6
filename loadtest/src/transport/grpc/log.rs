//! What is measured of a call, and what is kept of it to be shown.

use super::messages::MessageCounter;
use crate::transport::progress::{CallStage, add_phase};
use crate::transport::{Failure, Phases};
use http::{HeaderMap, StatusCode};
use loadtest_model::metrics::MessageCounts;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The most messages of each direction that are shown.
const MAX_SHOWN_MESSAGES: usize = 1_000;

/// A call under way, or one that is over.
#[derive(Debug)]
pub(crate) struct CallLog {
    pub(crate) begun: Instant,
    pub(in crate::transport) stage: CallStage,
    /// The time from which on a connection could be used.
    pub(super) usable_at: Instant,
    /// The time at which a new connection was ready, where there is one.
    pub(crate) connected_at: Option<Instant>,
    /// The connections opened for it.
    pub(crate) connections: u32,
    pub(crate) head_at: Option<Instant>,
    pub(crate) phases: Phases,
    /// The times that it was written.
    pub(crate) requests: u32,
    /// The time of each message that came, and whether it was there with the one before.
    pub(crate) arrivals: Vec<(Duration, bool)>,
    /// The messages that were sent, by who sends them.
    pub(super) sent: Arc<Mutex<SentMessages>>,
    /// How and when it ended, with the code of success; `None` while it is under way.
    pub(crate) end: Option<(Result<Option<u16>, Failure>, Instant)>,
    /// What there is to show, if somebody watches.
    pub(crate) shown: Option<Box<ShownCall>>,
}

/// The messages that were sent.
#[derive(Debug, Default)]
pub(super) struct SentMessages {
    counter: MessageCounter,
    /// The lengths of the first ones, if somebody watches.
    lengths: Option<Vec<u32>>,
}

/// A call as it is shown: messages by their lengths.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShownCall {
    pub(crate) metadata: HeaderMap,
    pub(crate) sent: Vec<u32>,
    pub(crate) head: Option<(StatusCode, HeaderMap)>,
    pub(crate) received: Vec<(Duration, u32)>,
    pub(crate) trailers: Option<HeaderMap>,
}

impl CallLog {
    /// The log of a call that begins now.
    pub(crate) fn new(is_watched: bool) -> Self {
        let begun = Instant::now();
        Self {
            begun,
            stage: CallStage::Connect,
            usable_at: begun,
            connected_at: None,
            connections: 0,
            head_at: None,
            phases: Phases::default(),
            requests: 0,
            arrivals: Vec::new(),
            sent: Arc::new(Mutex::new(SentMessages {
                lengths: is_watched.then(Vec::new),
                ..SentMessages::default()
            })),
            end: None,
            shown: is_watched.then(Box::default),
        }
    }

    /// The head of the answer is there.
    pub(super) fn head(&mut self, status: StatusCode, headers: &HeaderMap) {
        let now = Instant::now();
        self.head_at = Some(now);
        self.stage = CallStage::Body;
        add_phase(&mut self.phases.first_byte, now - self.usable_at);
        if let Some(shown) = &mut self.shown {
            shown.head = Some((status, headers.clone()));
        }
    }

    /// A message is there.
    pub(super) fn receive(&mut self, length: u32, is_together: bool) {
        let at = self.begun.elapsed();
        self.arrivals.push((at, is_together));
        if let Some(shown) = &mut self.shown
            && shown.received.len() < MAX_SHOWN_MESSAGES
        {
            shown.received.push((at, length));
        }
    }

    /// A connection is open for the call.
    pub(super) fn connect(&mut self) {
        self.connected_at = Some(Instant::now());
        self.connections += 1;
    }

    /// The call is over; the first end counts.
    pub(crate) fn finish(&mut self, result: Result<Option<u16>, Failure>) {
        if self.end.is_some() {
            return;
        }
        let now = Instant::now();
        if let Some(head_at) = self.head_at {
            add_phase(&mut self.phases.body, now - head_at);
        }
        self.end = Some((result, now));
    }

    fn sent(&self) -> MutexGuard<'_, SentMessages> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many messages there were.
    pub(crate) fn messages(&self) -> MessageCounts {
        MessageCounts {
            sent: self.sent().counter.count(),
            received: self.arrivals.len() as u64,
        }
    }

    /// Takes what there is to show.
    pub(crate) fn take_shown(&mut self) -> Option<Box<ShownCall>> {
        let mut shown = self.shown.take()?;
        shown.sent = self.sent().lengths.take().unwrap_or_default();
        Some(shown)
    }
}

impl SentMessages {
    /// Counts what is sent.
    pub(super) fn push(&mut self, data: &[u8]) {
        let Self { counter, lengths } = self;
        counter.push(data, |length| {
            if let Some(lengths) = lengths
                && lengths.len() < MAX_SHOWN_MESSAGES
            {
                lengths.push(length);
            }
        });
    }
}

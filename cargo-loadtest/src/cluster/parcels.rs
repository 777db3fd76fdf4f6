//! The parcels of all agents of a run, in the order of the stream.

use super::connection::ANSWER_LIMIT;
use super::messages::parcel_subject;
use crate::error::Error;
use async_nats::jetstream::consumer::pull::Config as PullConfig;
use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy};
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The time to wait for parcels at once.
const WAIT: Duration = Duration::from_millis(100);
/// The most parcels at once: what they hold is read before agents hear of us again.
const BATCH: usize = 32;
/// The most bytes at once, which is more than a message of a server can have.
const BATCH_BYTES: usize = 64 << 20;
/// Agents send more often than this; where nothing comes, the consumer is made anew.
const STALL: Duration = Duration::from_secs(2);
/// The time for each answer of the server: an answer that a broken connection lost must not keep beats from agents.
const CONSUMER_LIMIT: Duration = Duration::from_secs(1);

/// What came under the subject of an agent.
pub(super) struct Parcel {
    /// The number of its part, from 0, if the subject names one.
    pub(super) place: Option<usize>,
    pub(super) bytes: Vec<u8>,
}

/// The reading end of the stream.
pub(super) struct Parcels {
    stream: Stream,
    subject: String,
    consumer: Option<Consumer<PullConfig>>,
    /// The number of the next message.
    next: u64,
    last_parcel: Instant,
    /// Messages that waited at the server when the last one was sent.
    waiting: u64,
}

impl Parcels {
    /// Reads what comes from now on.
    ///
    /// # Errors
    /// When the server does not tell where its stream is.
    pub(super) async fn open(mut stream: Stream, run: &str) -> Result<Self, Error> {
        let failed = |reason: String| {
            Error::failure(format!("the stream of the server cannot be read: {reason}"))
        };
        let info = timeout(ANSWER_LIMIT, stream.info()).await;
        let info = info.map_err(|_| failed(format!("no answer in {ANSWER_LIMIT:?}")))?;
        let next = info
            .map_err(|error| failed(error.to_string()))?
            .state
            .last_sequence
            + 1;
        Ok(Self {
            stream,
            subject: parcel_subject(run, '*'),
            consumer: None,
            next,
            last_parcel: Instant::now(),
            waiting: 0,
        })
    }

    /// Returns true if the last parcels that were asked for could be heard, and no others wait: what an agent said last
    /// may be among these.
    pub(super) fn is_hearing(&self) -> bool {
        self.consumer.is_some() && self.waiting == 0
    }

    /// Returns the parcels that came, after a short wait. A server that is gone has none.
    pub(super) async fn next(&mut self) -> Vec<Parcel> {
        let mut parcels = Vec::new();
        if self.consumer.is_none() || self.last_parcel.elapsed() > STALL {
            self.consumer = self.make_consumer().await;
            self.last_parcel = Instant::now();
        }
        let Some(consumer) = &self.consumer else {
            sleep(WAIT).await;
            return parcels;
        };
        let batch = consumer
            .batch()
            .max_messages(BATCH)
            .max_bytes(BATCH_BYTES)
            .expires(WAIT)
            .messages();
        let Ok(Ok(mut batch)) = timeout(CONSUMER_LIMIT, batch).await else {
            self.consumer = None;
            return parcels;
        };
        loop {
            match timeout(2 * WAIT, batch.next()).await {
                Ok(Some(Ok(message))) => {
                    if let Ok(info) = message.info() {
                        self.next = info.stream_sequence + 1;
                        self.waiting = info.pending;
                    }
                    self.last_parcel = Instant::now();
                    let place = message.subject.rsplit('.').next();
                    parcels.push(Parcel {
                        place: place.and_then(|place| place.parse().ok()),
                        bytes: message.payload.to_vec(),
                    });
                }
                Ok(None) => return parcels,
                Ok(Some(Err(_))) | Err(_) => {
                    self.consumer = None;
                    return parcels;
                }
            }
        }
    }

    async fn make_consumer(&mut self) -> Option<Consumer<PullConfig>> {
        let info = timeout(CONSUMER_LIMIT, self.stream.info())
            .await
            .ok()?
            .ok()?;
        if info.state.last_sequence + 1 < self.next {
            // The server lost its stream and began another one.
            self.next = 1;
        }
        let config = PullConfig {
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: self.next.max(1),
            },
            ack_policy: AckPolicy::None,
            filter_subject: self.subject.clone(),
            inactive_threshold: Duration::from_secs(30),
            ..PullConfig::default()
        };
        timeout(CONSUMER_LIMIT, self.stream.create_consumer(config))
            .await
            .ok()?
            .ok()
    }
}

//! The parcels of all agents of a run, in the order of the stream.

use super::connection::ANSWER_LIMIT;
use super::messages::parcel_subject;
use async_nats::jetstream::consumer::pull::Config as PullConfig;
use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy};
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt as _;
use loadtest_console::error::Error;
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
    /// The time when the server took it.
    pub(super) said_at: Instant,
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
    /// The clock of the server.
    server: ServerClock,
    /// The time up to which all was heard that the server took, if something waits there.
    heard_until: Option<Instant>,
}

/// The times of the server by our own clock: those of messages that came without delay.
#[derive(Debug, Default)]
struct ServerClock {
    /// A time of the server in nanoseconds after 1970, and the same by our own clock.
    known: Option<(i128, Instant)>,
}

impl ServerClock {
    /// Returns the time at which the server took a message that came now.
    fn time_of(&mut self, taken_ns: i128) -> Instant {
        let now = Instant::now();
        let (known_ns, known) = *self.known.get_or_insert((taken_ns, now));
        let span = |ns: i128| Duration::from_nanos(u64::try_from(ns).unwrap_or_default());
        let taken = known + span(taken_ns - known_ns);
        let taken = taken
            .checked_sub(span(known_ns - taken_ns))
            .unwrap_or(taken);
        if taken > now {
            // It came faster than all before.
            self.known = Some((taken_ns, now));
            return now;
        }
        taken
    }
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
            server: ServerClock::default(),
            heard_until: None,
        })
    }

    /// Returns the time up to which all was heard that agents said; `None` where they could not be heard.
    pub(super) fn heard_until(&self) -> Option<Instant> {
        (self.consumer.as_ref()).map(|_| self.heard_until.unwrap_or_else(Instant::now))
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
                    let mut said_at = Instant::now();
                    if let Ok(info) = message.info() {
                        self.next = info.stream_sequence + 1;
                        said_at = self.server.time_of(info.published.unix_timestamp_nanos());
                        self.heard_until = (info.pending > 0).then_some(said_at);
                    }
                    self.last_parcel = Instant::now();
                    let place = message.subject.rsplit('.').next();
                    parcels.push(Parcel {
                        place: place.and_then(|place| place.parse().ok()),
                        said_at,
                        bytes: message.payload.to_vec(),
                    });
                }
                Ok(None) => {
                    if parcels.is_empty() {
                        self.heard_until = None;
                    }
                    return parcels;
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn times_of_the_server_are_those_of_the_message_that_came_fastest() {
        let mut clock = ServerClock::default();
        let begin = Instant::now();
        let second = 1_000_000_000;
        assert_eq!(clock.time_of(7 * second), begin);
        // Late by four seconds, and then by one less than the first.
        advance(Duration::from_secs(5)).await;
        assert_eq!(clock.time_of(8 * second), begin + Duration::from_secs(1));
        assert_eq!(clock.time_of(13 * second), Instant::now());
        advance(Duration::from_secs(1)).await;
        assert_eq!(clock.time_of(13 * second), begin + Duration::from_secs(5));
        assert_eq!(
            clock.time_of(6 * second),
            begin
                .checked_sub(2 * Duration::from_secs(1))
                .unwrap_or(begin)
        );
    }
}

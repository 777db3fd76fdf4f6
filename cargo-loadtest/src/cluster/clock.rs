//! The clocks of other machines, which are measured and not trusted.

use super::messages::{Answer, Question, agent_subject, decode};
use crate::error::Error;
use async_nats::Client;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// Questions to each agent, of which the fastest answer counts.
const PROBES: usize = 40;

/// The clock of an agent beside ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockOffset {
    /// What its clock shows more than ours, in microseconds.
    pub(super) offset_us: i64,
    /// The most by which that can be wrong: half of the time that the answer took.
    pub(super) error_us: u64,
}

impl ClockOffset {
    /// Returns a time of our clock by that of the agent, both in microseconds after 1970.
    pub(super) fn to_agent(self, ours_us: u64) -> u64 {
        ours_us.saturating_add_signed(self.offset_us)
    }
}

/// Returns our time in microseconds after 1970.
pub(super) fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_micros()).unwrap_or(u64::MAX))
}

/// Asks an agent for its time, and keeps the answer that took the shortest time.
///
/// # Errors
/// When it does not answer.
pub(super) async fn measure_clock(client: &Client, agent: &str) -> Result<ClockOffset, Error> {
    let failed =
        |reason: String| Error::failure(format!("agent {agent} does not tell its time: {reason}"));
    let question = serde_json::to_vec(&Question::Clock).map_err(Error::encode("a question"))?;
    let mut best: Option<ClockOffset> = None;
    for _ in 0..PROBES {
        let (sent, sent_us) = (Instant::now(), now_us());
        let answer = client
            .request(agent_subject(agent), question.clone().into())
            .await;
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        let took = u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX);
        let Answer::Clock { now_us } = decode(&answer.payload).map_err(failed)? else {
            return Err(failed("it answered something else".to_owned()));
        };
        let middle_us = sent_us.saturating_add(took / 2);
        let offset_us = i64::try_from(i128::from(now_us) - i128::from(middle_us));
        let found = ClockOffset {
            offset_us: offset_us.map_err(|error| failed(error.to_string()))?,
            error_us: took.div_ceil(2),
        };
        best = best
            .into_iter()
            .chain([found])
            .min_by_key(|offset| offset.error_us);
    }
    best.ok_or_else(|| failed("no answer came".to_owned()))
}

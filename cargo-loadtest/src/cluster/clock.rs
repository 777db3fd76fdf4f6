//! The clocks of other machines, which are measured and not trusted.

use super::messages::{Answer, Question, agent_subject, decode};
use async_nats::Client;
use loadtest_console::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// Questions to each agent, of which the fastest answer counts.
const PROBES: usize = 40;

/// No clock is so far from ours: 35 years, in microseconds.
const MAX_OFFSET_US: u64 = 1 << 50;

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

/// What is known of the clock of an agent in a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct AgentClock {
    /// Before the load: the start is set by it.
    before: ClockOffset,
    /// The best of those about the start.
    at_start: ClockOffset,
    /// The newest since.
    newest: Option<ClockOffset>,
}

impl AgentClock {
    pub(super) fn new(before: ClockOffset) -> Self {
        Self {
            before,
            at_start: before,
            newest: None,
        }
    }

    /// Adds a measurement; the first of a run is one about the start.
    pub(super) fn add(&mut self, found: ClockOffset) {
        if self.newest.is_none() && found.error_us < self.at_start.error_us {
            self.at_start = found;
        }
        self.newest = Some(found);
    }

    /// Returns the offset about the start of the load.
    pub(super) fn at_start(&self) -> ClockOffset {
        self.at_start
    }

    /// Returns how much later than it was told to the agent began, in microseconds; less than 0 if earlier.
    pub(super) fn began_late_us(&self) -> i64 {
        self.before.offset_us - self.at_start.offset_us
    }

    /// Returns what the clock has gained since the start, in microseconds.
    pub(super) fn drift_us(&self) -> Option<i64> {
        Some(self.newest?.offset_us - self.at_start.offset_us)
    }
}

/// Returns our time in microseconds after 1970.
pub(super) fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_micros()).unwrap_or(u64::MAX))
}

/// Measures the clocks of all agents at once; that of one that does not answer stays unknown.
pub(super) async fn measure_clocks(
    client: Client,
    agents: Vec<String>,
) -> Vec<Option<ClockOffset>> {
    let clocks = agents
        .iter()
        .map(async |agent| measure_clock(&client, agent).await.ok());
    futures_util::future::join_all(clocks).await
}

/// Asks an agent for its time, and keeps the answer that took the shortest time.
///
/// # Errors
/// When it does not answer.
pub(super) async fn measure_clock(client: &Client, agent: &str) -> Result<ClockOffset, Error> {
    let failed = |reason: String| {
        Error::failure(format!("agent {agent} does not report its time: {reason}"))
    };
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
        let offset_us = i64::try_from(i128::from(now_us) - i128::from(middle_us)).ok();
        let offset_us = offset_us.filter(|offset| offset.unsigned_abs() < MAX_OFFSET_US);
        let found = ClockOffset {
            offset_us: offset_us.ok_or_else(|| failed("its clock is far off".to_owned()))?,
            error_us: took.div_ceil(2),
        };
        best = best
            .into_iter()
            .chain([found])
            .min_by_key(|offset| offset.error_us);
    }
    best.ok_or_else(|| failed("no answer came".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(offset_us: i64, error_us: u64) -> ClockOffset {
        ClockOffset {
            offset_us,
            error_us,
        }
    }

    #[test]
    fn a_start_is_told_by_the_better_measurement_and_the_drift_by_the_newest() {
        let mut clock = AgentClock::new(offset(1_000, 80));
        assert_eq!((clock.began_late_us(), clock.drift_us()), (0, None));
        // The agent began when its clock showed 1,000 µs more than ours, which was 30 µs too late.
        clock.add(offset(970, 20));
        assert_eq!((clock.began_late_us(), clock.drift_us()), (30, Some(0)));
        clock.add(offset(1_470, 10));
        assert_eq!((clock.began_late_us(), clock.drift_us()), (30, Some(500)));
        assert_eq!(clock.at_start(), offset(970, 20));
    }
}

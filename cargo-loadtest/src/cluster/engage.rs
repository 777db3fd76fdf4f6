//! The choice of agents for the parts of a run.

use super::bundles::Offered;
use super::clock::{ClockOffset, measure_clock};
use super::connection::ANSWER_LIMIT;
use super::controller::{BEAT, Crew};
use super::discovery::find_usable;
use super::messages::{
    AgentInfo, Answer, Beat, LoadOrder, Order, Phase, Question, agent_subject, decode,
};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::protocol::SetupValues;
use loadtest_model::shard::Shard;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The time to find others in place of agents that became busy.
const REPLACEMENT_LIMIT: Duration = Duration::from_secs(10);

/// The agents that took a part of a run, in the order of the parts.
#[derive(Default)]
pub(super) struct Engaged {
    pub(super) agents: Vec<AgentInfo>,
    pub(super) clocks: Vec<ClockOffset>,
    pub(super) shards: Vec<Shard>,
}

impl Crew<'_> {
    /// Gives each part to an agent. One that another controller was faster to engage is replaced.
    pub(super) async fn engage(
        &self,
        setup_values: &[SetupValues],
        engaged: &mut Engaged,
        interrupts: &Interrupts,
    ) -> Result<(), Error> {
        let weights: Vec<u32> = self.agents.iter().map(|agent| agent.weight).collect();
        let shards = Shard::by_weight(&weights).map_err(|error| Error::usage(error.to_string()))?;
        let clocks = self.clocks.iter().copied();
        let mut candidates: VecDeque<_> = self.agents.iter().cloned().zip(clocks).collect();
        let begin = Instant::now();
        let mut last_beat = None::<Instant>;
        for (place, shard) in shards.into_iter().enumerate() {
            let question = self.encode_order(place, shard, setup_values)?;
            loop {
                // Those that prepare already hear that somebody is there.
                if last_beat.is_none_or(|last| last.elapsed() >= BEAT) {
                    self.beat((0..place).map(|_| Beat::of(Phase::Prepare)))
                        .await;
                    last_beat = Some(Instant::now());
                }
                let Some((agent, clock)) = candidates.pop_front() else {
                    if begin.elapsed() > REPLACEMENT_LIMIT {
                        return Err(Error::failure("other runs took the agents before this one")
                            .with_help("run it again, or start more agents"));
                    }
                    interrupts.check()?;
                    for agent in find_usable(&self.client, &self.needs()).await? {
                        if !self.has_bundle(&agent).await? {
                            continue;
                        }
                        let clock = measure_clock(&self.client, &agent.agent).await?;
                        candidates.push_back((agent, clock));
                    }
                    continue;
                };
                if self.ask_to_prepare(&agent, &question).await? {
                    engaged.agents.push(agent);
                    engaged.clocks.push(clock);
                    engaged.shards.push(shard);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns true if an agent needs no bundle, or has it; else it begins to fetch it.
    async fn has_bundle(&self, agent: &AgentInfo) -> Result<bool, Error> {
        match &self.cluster.sent {
            Some(sent) if sent.is_for(agent) => {
                Ok(sent.offer(&self.client, agent).await? == Offered::Taken)
            }
            _ => Ok(true),
        }
    }

    /// Returns the order for a part, as a message.
    fn encode_order(
        &self,
        place: usize,
        shard: Shard,
        setup_values: &[SetupValues],
    ) -> Result<Vec<u8>, Error> {
        let requests = self.run.requests.iter();
        let order = Order {
            run: self.run.name.clone(),
            place,
            loads: requests
                .map(|request| LoadOrder::new(request, shard))
                .collect(),
            setup_values: setup_values.to_vec(),
            orphan_after_s: self.cluster.orphan_after.as_secs(),
            bundle: self
                .cluster
                .sent
                .as_ref()
                .map(|sent| sent.signed.sha256.clone()),
        };
        let question = serde_json::to_vec(&Question::Prepare(Box::new(order)));
        let question = question.map_err(Error::encode("an order"))?;
        let most = self.client.server_info().max_payload;
        if question.len() > most {
            return Err(Error::usage(format!(
                "the values of setups have {} bytes, but a message of the server may have at most {most}",
                question.len()
            ))
            .with_help("let the setup return less, or raise `max_payload` of the server"));
        }
        Ok(question)
    }

    /// Asks an agent to take a part; returns false if it makes another run.
    async fn ask_to_prepare(&self, agent: &AgentInfo, question: &[u8]) -> Result<bool, Error> {
        let failed = |reason: String| {
            Error::failure(format!(
                "agent {} does not take part: {reason}",
                agent.agent
            ))
        };
        let subject = agent_subject(&agent.agent);
        let answer = self.client.request(subject, question.to_vec().into());
        let answer = timeout(2 * ANSWER_LIMIT, answer).await;
        let answer = answer.map_err(|_| failed("it does not answer".to_owned()))?;
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        match decode(&answer.payload).map_err(failed)? {
            Answer::Accepted => Ok(true),
            Answer::Busy => Ok(false),
            Answer::Refused { message } => Err(failed(console::clean(&message))),
            Answer::Clock { .. } | Answer::Fetching => {
                Err(failed("it answered something else".to_owned()))
            }
        }
    }
}

//! The controller of a run: finds agents, gives each its part, starts them together, and joins what they measured.

use super::clock::{ClockOffset, measure_clock, now_us};
use super::connection::{ANSWER_LIMIT, ClusterAddress, open_stream};
use super::course::RunCourse;
use super::discovery::{find_usable, wait_for_agents};
use super::messages::{
    AgentInfo, Answer, Beat, Order, Phase, Question, agent_subject, control_subject, decode,
};
use super::parcels::Parcels;
use crate::cli::AgentLoss;
use crate::config::Config;
use crate::console;
use crate::error::Error;
use crate::interrupt::Interrupts;
use crate::live::Live;
use async_nats::Client;
use async_nats::connection::State;
use loadtest_model::protocol::{RunRequest, SetupValues};
use loadtest_model::record::{RunRecord, ScenarioRecord};
use loadtest_model::shard::Shard;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep, timeout};

/// The interval between two beats.
const BEAT: Duration = Duration::from_millis(500);
/// An agent that says nothing for so long is lost.
const SILENCE: Duration = Duration::from_millis(3_500);
/// The same after our own connection came back.
const SILENCE_AFTER_OUTAGE: Duration = Duration::from_secs(4);
/// The interval between two looks at a connection that is down.
const OUTAGE_POLL: Duration = Duration::from_millis(100);
/// The time for agents to prepare.
const PREPARATION_LIMIT: Duration = Duration::from_secs(120);
/// The time for the rest of the journals once nothing runs any more.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// The time to find others in place of agents that became busy.
const REPLACEMENT_LIMIT: Duration = Duration::from_secs(10);
/// The least time between the moment when all are ready and the start.
const NOTICE: Duration = Duration::from_secs(1);

/// A cluster, and how a run uses it.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) address: ClusterAddress,
    pub(crate) agents: usize,
    pub(crate) wait: Duration,
    pub(crate) on_loss: AgentLoss,
    pub(crate) orphan_after: Duration,
}

impl Cluster {
    /// Completes the command line with what the configuration says.
    ///
    /// # Errors
    /// When the server or the number of agents is missing.
    pub(crate) fn new(
        url: Option<&str>,
        agents: Option<usize>,
        wait: Option<Duration>,
        on_loss: Option<AgentLoss>,
        config: &Config,
    ) -> Result<Self, Error> {
        let config = &config.cluster;
        let agents = agents.or(config.agents).ok_or_else(|| {
            Error::usage("how many agents make the load is not given")
                .with_help("give `--agents 3`, or `agents = 3` in `[cluster]` of `loadtest.toml`")
        })?;
        Ok(Self {
            address: ClusterAddress::new(url, config)?,
            agents,
            wait: wait.or(config.wait).unwrap_or(Duration::from_secs(60)),
            on_loss: on_loss.or(config.on_agent_loss).unwrap_or_default(),
            orphan_after: config.orphan_after.unwrap_or(Duration::from_secs(15)),
        })
    }
}

/// A run to make: scenarios that start together.
pub(crate) struct ClusterRun<'a> {
    /// Its name on the subjects.
    pub(crate) name: String,
    /// The request of each scenario, for the whole load.
    pub(crate) requests: &'a [RunRequest],
    /// The record of the whole without a result, of which those of the parts are copies.
    pub(crate) header: &'a RunRecord,
    /// The folder for the journals of agents.
    pub(crate) folder: PathBuf,
}

impl ClusterRun<'_> {
    /// Returns its scenarios with the SHA-256 of their programs.
    fn scenarios(&self) -> BTreeMap<String, String> {
        let requests = self.requests.iter();
        requests
            .map(|request| (request.scenario.clone(), request.executable_hash.clone()))
            .collect()
    }
}

/// The agents that make a run, chosen and connected.
pub(crate) struct Crew<'a> {
    cluster: &'a Cluster,
    run: &'a ClusterRun<'a>,
    runtime: Runtime,
    client: Client,
    agents: Vec<AgentInfo>,
    clocks: Vec<ClockOffset>,
}

impl Cluster {
    /// Waits for enough agents, and measures their clocks; nothing is sent to the target.
    ///
    /// # Errors
    /// When they do not come, or there is no server.
    pub(crate) fn gather<'a>(
        &'a self,
        run: &'a ClusterRun<'a>,
        interrupts: &Interrupts,
    ) -> Result<Crew<'a>, Error> {
        let runtime = super::make_runtime()?;
        let scenarios = run.scenarios();
        let (client, agents, clocks) = runtime.block_on(async {
            let client = self.address.connect("loadtest controller").await?;
            let agents =
                wait_for_agents(&client, self.agents, self.wait, &scenarios, interrupts).await?;
            let clocks = agents
                .iter()
                .map(|agent| measure_clock(&client, &agent.agent));
            let clocks = futures_util::future::try_join_all(clocks).await?;
            Ok::<_, Error>((client, agents, clocks))
        })?;
        Ok(Crew {
            cluster: self,
            run,
            runtime,
            client,
            agents,
            clocks,
        })
    }
}

impl Crew<'_> {
    /// Makes the run; `setup_values` are those of each scenario.
    ///
    /// # Errors
    /// What prevents the whole; the result has what became of each scenario.
    pub(crate) fn make_run(
        &self,
        setup_values: &[SetupValues],
        interrupts: &Interrupts,
        live: &mut Live,
    ) -> Result<Vec<Result<ScenarioRecord, Error>>, Error> {
        let made = self.runtime.block_on(async {
            let stream = open_stream(&self.client).await?;
            let parcels = Parcels::open(stream, &self.run.name).await?;
            let mut engaged = Engaged::default();
            if let Err(error) = self.engage(setup_values, &mut engaged, interrupts).await {
                // Those that prepare in vain are told.
                self.beat(Phase::Abort, &[], Vec::new()).await;
                return Err(error);
            }
            let journals = self.run.requests.iter();
            let journals = journals.map(|request| request.journal.clone()).collect();
            let mut control = Control {
                crew: self,
                course: RunCourse::create(&engaged.agents, self.run, journals)?,
                clocks: engaged.clocks,
                parcels,
                phase: Phase::Prepare,
                starts_us: Vec::new(),
                last_beat: None,
                outage: None,
                outage_since: None,
                stopped_by: None,
            };
            let made = control.conduct(interrupts, live).await;
            // Agents that hear it need not wait for their own deadline.
            control.phase = if made.is_ok() {
                Phase::Done
            } else {
                Phase::Abort
            };
            for _ in 0..3 {
                control.beat().await;
                sleep(Duration::from_millis(50)).await;
            }
            made.and_then(|()| control.course.conclude(&control.clocks))
        });
        live.finish();
        made
    }
}

/// The agents that took a part of a run, in the order of the parts.
#[derive(Default)]
struct Engaged {
    agents: Vec<AgentInfo>,
    clocks: Vec<ClockOffset>,
}

impl Crew<'_> {
    /// Gives each part to an agent. One that another controller was faster to engage is replaced.
    async fn engage(
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
        for (place, shard) in shards.into_iter().enumerate() {
            let question = self.encode_order(place, shard, setup_values)?;
            loop {
                self.beat(Phase::Prepare, &[], Vec::new()).await;
                let Some((agent, clock)) = candidates.pop_front() else {
                    if begin.elapsed() > REPLACEMENT_LIMIT {
                        return Err(Error::failure("other runs took the agents before this one")
                            .with_help("run it again, or start more agents"));
                    }
                    interrupts.check()?;
                    for agent in find_usable(&self.client, &self.run.scenarios()).await? {
                        let clock = measure_clock(&self.client, &agent.agent).await?;
                        candidates.push_back((agent, clock));
                    }
                    continue;
                };
                if self.ask_to_prepare(&agent, &question).await? {
                    engaged.agents.push(agent);
                    engaged.clocks.push(clock);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the order for a part, as a message.
    fn encode_order(
        &self,
        place: usize,
        shard: Shard,
        setup_values: &[SetupValues],
    ) -> Result<Vec<u8>, Error> {
        let requests = self.run.requests.iter().map(|request| {
            let mut request = RunRequest {
                journal: PathBuf::new(),
                record: PathBuf::new(),
                spare_record: None,
                has_controller: true,
                ..request.clone()
            };
            request.overrides.shard = shard;
            request
        });
        let order = Order {
            run: self.run.name.clone(),
            place,
            requests: requests.collect(),
            setup_values: setup_values.to_vec(),
            orphan_after_s: self.cluster.orphan_after.as_secs(),
        };
        let question = serde_json::to_vec(&Question::Prepare(Box::new(order)));
        let question = question.map_err(Error::encode("an order"))?;
        let most = self.client.server_info().max_payload;
        if question.len() > most {
            return Err(Error::usage(format!(
                "the values of setups take {} bytes, and a message of the server at most {most}",
                question.len()
            ))
            .with_help("let the setup return less, or raise `max_payload` of the server"));
        }
        Ok(question)
    }

    /// Asks an agent to take a part; returns false if it makes another run.
    async fn ask_to_prepare(&self, agent: &AgentInfo, question: &[u8]) -> Result<bool, Error> {
        let failed = |reason: String| {
            Error::failure(format!("agent {} takes no part: {reason}", agent.agent))
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
            Answer::Clock { .. } => Err(failed("it answered something else".to_owned())),
        }
    }

    /// Says what is wanted.
    async fn beat(&self, phase: Phase, starts_us: &[u64], received: Vec<Vec<u64>>) {
        let beat = Beat {
            phase,
            starts_us: starts_us.to_vec(),
            received,
        };
        if let Ok(beat) = serde_json::to_vec(&beat) {
            // What is lost is said again.
            let subject = control_subject(&self.run.name);
            let _ = timeout(BEAT, self.client.publish(subject, beat.into())).await;
            let _ = timeout(BEAT, self.client.flush()).await;
        }
    }
}

/// A run that is being made.
struct Control<'a> {
    crew: &'a Crew<'a>,
    course: RunCourse<'a>,
    clocks: Vec<ClockOffset>,
    parcels: Parcels,
    phase: Phase,
    starts_us: Vec<u64>,
    last_beat: Option<Instant>,
    /// The last time at which our own connection was down.
    outage: Option<Instant>,
    /// The time since which it is down.
    outage_since: Option<Instant>,
    /// The number of requests to stop that were obeyed.
    stopped_by: Option<u32>,
}

impl Control<'_> {
    /// Prepares, starts, follows and ends it.
    async fn conduct(&mut self, interrupts: &Interrupts, live: &mut Live) -> Result<(), Error> {
        let begin = Instant::now();
        while !self.course.all_are_ready() {
            self.turn().await?;
            self.course.read(live, begin)?;
            if let Some(failure) = self.course.find_failure() {
                return Err(failure);
            }
            self.find_lost_agents();
            if let Some(reason) = self.course.describe_loss() {
                return Err(Error::failure(format!("{reason}, before the load began")));
            }
            interrupts.check()?;
            if begin.elapsed() > PREPARATION_LIMIT {
                let names = self.course.unready().join(", ");
                return Err(Error::failure(format!(
                    "not ready in {PREPARATION_LIMIT:?}: {names}"
                )));
            }
        }
        self.start();
        let begin = Instant::now();
        let mut drained_since = None;
        loop {
            self.turn().await?;
            if let Some(broken) = self.course.read(live, begin)? {
                live.print(&broken);
                self.end_with(Phase::Stop);
            }
            live.tick(begin.elapsed());
            self.obey(interrupts, live);
            self.find_lost_agents();
            if let Some(reason) = self.course.take_news() {
                live.print(&reason);
                if self.crew.cluster.on_loss == AgentLoss::Fail {
                    self.end_with(Phase::Stop);
                }
            }
            if self.course.is_complete() {
                return Ok(());
            }
            // By then all agents have stopped by themselves.
            let patience = self.crew.cluster.orphan_after + DRAIN_LIMIT;
            if self
                .outage_since
                .is_some_and(|since| since.elapsed() > patience)
            {
                live.print("no NATS server answers any more: the run ends with what is known");
                return Ok(());
            }
            // Who is lost may still deliver what it measured, and who was told to abort has its own limit.
            if self.course.all_ended_or_lost() || self.stopped_by.is_some_and(|count| count > 2) {
                let since = *drained_since.get_or_insert_with(Instant::now);
                if since.elapsed() > DRAIN_LIMIT || interrupts.count() > 2 {
                    return Ok(());
                }
            } else {
                drained_since = None;
            }
        }
    }

    /// Sets the start, by the clock of each agent.
    fn start(&mut self) {
        let slowest = self.clocks.iter().map(|clock| clock.error_us).max();
        let notice = NOTICE.max(Duration::from_micros(slowest.unwrap_or_default() * 20));
        let start = now_us() + u64::try_from(notice.as_micros()).unwrap_or_default();
        self.starts_us = self
            .crew
            .clocks
            .iter()
            .map(|clock| clock.to_agent(start))
            .collect();
        self.end_with(Phase::Run);
    }

    /// Goes on to a phase, and says so at once.
    fn end_with(&mut self, phase: Phase) {
        if phase > self.phase {
            self.phase = phase;
            self.last_beat = None;
        }
    }

    /// Says what is wanted, if it is time, and takes what has come.
    async fn turn(&mut self) -> Result<(), Error> {
        if self.last_beat.is_none_or(|last| last.elapsed() >= BEAT) {
            self.beat().await;
        }
        if self.crew.client.connection_state() != State::Connected {
            self.outage = Some(Instant::now());
            self.outage_since.get_or_insert_with(Instant::now);
            sleep(OUTAGE_POLL).await;
            return Ok(());
        }
        self.outage_since = None;
        for parcel in self.parcels.next().await {
            self.course.take(&parcel)?;
        }
        Ok(())
    }

    async fn beat(&mut self) {
        self.last_beat = Some(Instant::now());
        let received = self.course.received();
        self.crew.beat(self.phase, &self.starts_us, received).await;
    }

    fn obey(&mut self, interrupts: &Interrupts, live: &mut Live) {
        let wanted = interrupts.count();
        if wanted == 0 || self.stopped_by == Some(wanted) {
            return;
        }
        self.stopped_by = Some(wanted);
        if wanted == 1 {
            self.end_with(Phase::Stop);
            live.end();
            live.print("stopping: waiting for requests in flight (Ctrl-C again to abort)");
        } else {
            self.end_with(Phase::Abort);
            live.print("aborting");
        }
    }

    /// Notes who said nothing for too long, while we could have heard it.
    fn find_lost_agents(&mut self) {
        if self
            .outage
            .is_none_or(|last| last.elapsed() > SILENCE_AFTER_OUTAGE)
        {
            self.course.note_silence(SILENCE);
        }
    }
}

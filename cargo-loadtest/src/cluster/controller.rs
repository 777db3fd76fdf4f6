//! The controller of a run: finds agents, gives each its part, starts them together, and joins what they measured.

use super::bundles::SentBundle;
use super::clock::{ClockOffset, measure_clock};
use super::conduct::Control;
use super::connection::{ClusterAddress, open_stream};
use super::course::RunCourse;
use super::discovery::{RunNeeds, wait_for_agents};
use super::engage::Engaged;
use super::messages::{AgentInfo, Beat, Phase, control_subject};
use super::parcels::Parcels;
use crate::cli::AgentLoss;
use crate::config::Config;
use crate::live::Live;
use async_nats::Client;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::protocol::{RunRequest, SetupValues};
use loadtest_model::record::{RunRecord, ScenarioRecord};
use std::path::PathBuf;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// The interval between two beats.
pub(super) const BEAT: Duration = Duration::from_millis(500);
/// The time for a NATS server to come back, unless the file says otherwise.
const ORPHAN_LIMIT: Duration = Duration::from_secs(15);

/// A cluster, and how a run uses it.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) address: ClusterAddress,
    pub(crate) agents: usize,
    pub(crate) wait: Duration,
    pub(crate) on_loss: AgentLoss,
    /// The share of a load that is enough where an agent is lost.
    pub(crate) min_share: Option<f64>,
    pub(crate) orphan_after: Duration,
    /// The bundle that agents get.
    pub(crate) sent: Option<SentBundle>,
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
        min_share: Option<f64>,
        config: &Config,
    ) -> Result<Self, Error> {
        let config = &config.cluster;
        // A share of the file goes with what the file says of a loss.
        let is_share_given =
            min_share.is_some() || (config.min_share.is_some() && on_loss.is_none());
        let on_loss = on_loss.or(config.on_agent_loss).unwrap_or_default();
        if is_share_given && on_loss != AgentLoss::Continue {
            return Err(Error::usage(
                "`--min-share`, or `min_share` in `[cluster]`, is only for a run that continues without a lost agent",
            )
            .with_help("give `--on-agent-loss continue` too"));
        }
        let agents = agents.or(config.agents).ok_or_else(|| {
            Error::usage("the number of agents is missing")
                .with_help("give `--agents 3`, or `agents = 3` in `[cluster]` of `loadtest.toml`")
        })?;
        Ok(Self {
            address: ClusterAddress::new(url, config)?,
            agents,
            wait: wait.or(config.wait).unwrap_or(Duration::from_secs(60)),
            on_loss,
            min_share: min_share.or(config.min_share),
            orphan_after: config.orphan_after.unwrap_or(ORPHAN_LIMIT),
            sent: None,
        })
    }
}

/// A run to make: scenarios that start together.
pub(crate) struct ClusterRun<'a> {
    /// Its name on the subjects.
    pub(crate) name: String,
    /// The request of each scenario, for the whole load.
    pub(crate) requests: &'a [RunRequest],
    /// The hash of the bundle that they are from.
    pub(crate) bundle: Option<String>,
    /// The record of the whole without a result, of which those of the parts are copies.
    pub(crate) header: &'a RunRecord,
    /// The folder for the files of agents.
    pub(crate) folder: PathBuf,
}

impl Cluster {
    /// Returns what agents need for a run.
    fn needs(&self, run: &ClusterRun<'_>) -> RunNeeds {
        let requests = run.requests.iter();
        RunNeeds {
            scenarios: requests
                .map(|request| (request.scenario.clone(), request.executable_hash.clone()))
                .collect(),
            bundle: run.bundle.clone(),
            signer: self.sent.as_ref().map(|sent| sent.key.as_str().to_owned()),
        }
    }
}

/// The agents that make a run, chosen and connected.
pub(crate) struct Crew<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) run: &'a ClusterRun<'a>,
    runtime: Runtime,
    pub(super) client: Client,
    pub(super) agents: Vec<AgentInfo>,
    pub(super) clocks: Vec<ClockOffset>,
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
        let needs = self.needs(run);
        let (client, agents, clocks) = runtime.block_on(async {
            let client = self.address.connect("loadtest controller").await?;
            // Without a stream, agents would come in vain.
            open_stream(&client).await?;
            let agents =
                wait_for_agents(&client, self.agents, self.wait, &needs, interrupts).await?;
            if let Some(sent) = &self.sent {
                sent.send(&client, &agents, interrupts).await?;
            }
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
    /// Returns what agents need for the run.
    pub(super) fn needs(&self) -> RunNeeds {
        self.cluster.needs(self.run)
    }

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
                self.beat((0..self.agents.len()).map(|_| Beat::of(Phase::Done)))
                    .await;
                return Err(error);
            }
            let course = RunCourse::create(&engaged.agents, engaged.shards, self.run)?;
            let mut control = Control::new(self, course, engaged.clocks, parcels);
            let made = control.conduct(interrupts, live).await;
            // Agents that hear it need not wait for their own deadline.
            control.dismiss().await;
            made.and_then(|()| {
                control.tell_missing_spans(live);
                let Cluster {
                    on_loss, min_share, ..
                } = self.cluster;
                let enough = min_share.filter(|_| *on_loss == AgentLoss::Continue);
                control.conclude(enough)
            })
        });
        live.finish();
        made
    }

    /// Says what is wanted of each agent. What is lost is said again.
    pub(super) async fn beat(&self, beats: impl Iterator<Item = Beat>) {
        let publish = async {
            for (place, beat) in beats.enumerate() {
                let Ok(beat) = serde_json::to_vec(&beat) else {
                    continue;
                };
                let subject = control_subject(&self.run.name, place);
                let _ = self.client.publish(subject, beat.into()).await;
            }
            let _ = self.client.flush().await;
        };
        let _ = timeout(BEAT, publish).await;
    }
}

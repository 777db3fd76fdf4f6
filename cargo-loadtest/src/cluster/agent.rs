//! An agent: waits for controllers, and makes its part of their runs.

use super::clock::now_us;
use super::connection::{ANSWER_LIMIT, ClusterAddress, warn_of_missing_streams};
use super::messages::{
    AGENTS, AgentInfo, Answer, Beat, Order, PROTOCOL, Phase, Question, agent_subject,
    control_subject, decode,
};
use super::programs::{Acceptance, Programs, Taking};
use super::work::Work;
use crate::store::Store;
use async_nats::{Client, Message, Subscriber};
use futures_util::StreamExt as _;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::record::Environment;
use std::future::pending;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The interval between two looks at the child and the signals.
const POLL: Duration = Duration::from_millis(20);

/// What an agent runs, and how.
pub(crate) struct AgentSetting<'a> {
    /// The bundles that it takes, if it takes any.
    pub(crate) acceptance: Option<Acceptance>,
    /// Where its own runs are kept.
    pub(crate) store: &'a Store,
    /// The machine and the source.
    pub(crate) environment: Environment,
    /// Its share of a load, beside those of the others.
    pub(crate) weight: u32,
    /// True to end after one run.
    pub(crate) once: bool,
    /// True if traffic stays within a network namespace of its own.
    pub(crate) offline: bool,
    /// What the user asks.
    pub(crate) interrupts: &'a Interrupts,
}

/// Serves runs with `programs` until it is stopped, or until the first is over.
///
/// # Errors
/// When there is no server, the store cannot be written, or the first run was none and there is to be only one.
pub(crate) fn serve(
    setting: &AgentSetting<'_>,
    programs: Programs,
    address: &ClusterAddress,
) -> Result<ExitCode, Error> {
    setting.store.check_writable()?;
    super::block_on(async {
        let host = host_name();
        let random = RandomState::new().hash_one("agent") & 0xff_ffff;
        let word: String = host
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(20)
            .collect();
        let agent = format!("{word}-{random:06x}");
        let client = address.connect(&format!("loadtest agent {agent}")).await?;
        warn_of_missing_streams(&client);
        let info = AgentInfo {
            agent: agent.clone(),
            protocol: PROTOCOL,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            host,
            environment: setting.environment.clone(),
            weight: setting.weight,
            scenarios: programs.hashes.clone(),
            bundle: programs.bundle.clone(),
            accepts: (setting.acceptance.as_ref()).map(|accepted| accepted.key.as_str().to_owned()),
            run: None,
        };
        let all = subscribe(&client, AGENTS.to_owned()).await?;
        let own = subscribe(&client, agent_subject(&agent)).await?;
        let has = match &info.accepts {
            Some(key) => format!("bundles that {key} signed"),
            None => display::format_counted(info.scenarios.len() as u64, "scenario"),
        };
        console::print_status(
            "Waiting",
            format_args!("for runs as agent {agent}, with {has}"),
        );
        let mut agent = Agent {
            setting,
            client,
            info,
            programs,
            taking: Taking::default(),
            work: None,
            beats: None,
        };
        agent.run(all, own).await
    })?
}

pub(super) async fn subscribe(client: &Client, subject: String) -> Result<Subscriber, Error> {
    let failed = |reason: String| {
        Error::failure(format!(
            "the server does not allow us to subscribe: {reason}"
        ))
    };
    let subscriber = client
        .subscribe(subject)
        .await
        .map_err(|error| failed(error.to_string()))?;
    match timeout(ANSWER_LIMIT, client.flush()).await {
        Ok(Ok(())) => Ok(subscriber),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!(
            "no answer in {}",
            display::format_span(ANSWER_LIMIT)
        ))),
    }
}

struct Agent<'a> {
    setting: &'a AgentSetting<'a>,
    client: Client,
    info: AgentInfo,
    programs: Programs,
    taking: Taking,
    work: Option<Work>,
    beats: Option<Subscriber>,
}

impl Agent<'_> {
    async fn run(&mut self, mut all: Subscriber, mut own: Subscriber) -> Result<ExitCode, Error> {
        loop {
            tokio::select! {
                Some(asked) = all.next() => self.reply(&asked, serde_json::to_vec(&self.info)).await,
                Some(asked) = own.next() => {
                    let answer = self.answer(&asked.payload).await;
                    self.reply(&asked, serde_json::to_vec(&answer)).await;
                }
                Some(beat) = next_beat(&mut self.beats) => {
                    if let (Ok(beat), Some(work)) = (decode::<Beat>(&beat.payload), &mut self.work) {
                        work.obey(&beat);
                    }
                }
                () = sleep(POLL) => {}
            }
            if let Some(work) = &mut self.work
                && work.look(&self.client, self.setting.interrupts)?
            {
                let code = self.finish();
                if self.setting.once {
                    return code;
                }
                if let Err(error) = code {
                    console::print_error(&error);
                }
            }
            if self.work.is_none() && self.setting.interrupts.count() > 0 {
                console::print_status("Stopped", "by request; no run is active");
                return Ok(ExitCode::Passed);
            }
        }
    }

    async fn reply(&self, asked: &Message, answer: serde_json::Result<Vec<u8>>) {
        if let (Some(inbox), Ok(answer)) = (&asked.reply, answer) {
            // Who asks again gets another answer.
            let _ = self.client.publish(inbox.clone(), answer.into()).await;
        }
    }

    async fn answer(&mut self, question: &[u8]) -> Answer {
        let refused = |message: String| Answer::Refused { message };
        match decode(question) {
            Err(wrong) => refused(format!("the request has another version: {wrong}")),
            Ok(Question::Clock) => Answer::Clock { now_us: now_us() },
            Ok(Question::Prepare(_) | Question::Take(_)) if self.work.is_some() => Answer::Busy,
            Ok(Question::Take(bundle)) => match &self.setting.acceptance {
                Some(acceptance) => {
                    let (answer, programs) =
                        self.taking.take(bundle, acceptance, &self.client).await;
                    if let Some(programs) = programs {
                        self.info.scenarios.clone_from(&programs.hashes);
                        self.info.bundle.clone_from(&programs.bundle);
                        self.programs = programs;
                    }
                    answer
                }
                None => refused("it takes no bundles: `--accept-bundles` is not given".to_owned()),
            },
            // Another controller gave it another bundle meanwhile.
            Ok(Question::Prepare(order)) if self.has_other_bundle(&order) => Answer::Busy,
            Ok(Question::Prepare(order)) => match self.begin(*order).await {
                Ok(()) => Answer::Accepted,
                Err(error) => refused(error.to_string()),
            },
        }
    }

    /// Returns true if the scenarios for an order are still to come, or those of another bundle.
    fn has_other_bundle(&self, order: &Order) -> bool {
        let is_other = |sha256: &String| !self.taking.has(sha256);
        let is_missing = order.bundle.as_ref().is_some_and(is_other);
        self.setting.acceptance.is_some() && (self.taking.is_busy() || is_missing)
    }

    async fn begin(&mut self, order: Order) -> Result<(), Error> {
        let beats = subscribe(&self.client, control_subject(&order.run, order.place)).await?;
        let run = order.run.clone();
        let shard = order.loads.first().map(|first| first.overrides.shard);
        let shard = shard.unwrap_or_default();
        let work = Work::begin(
            order,
            self.setting,
            &self.programs,
            &self.info.agent,
            &self.client,
        )?;
        console::print_status("Running", format_args!("{shard} of {run}"));
        self.info.run = Some(run);
        self.work = Some(work);
        self.beats = Some(beats);
        Ok(())
    }

    /// Ends the work on a run; the result is about its part.
    fn finish(&mut self) -> Result<ExitCode, Error> {
        self.beats = None;
        self.info.run = None;
        match self.work.take() {
            Some(work) => work.finish(self.setting),
            None => Ok(ExitCode::Passed),
        }
    }
}

/// Waits for the next beat of the run, if there is one.
async fn next_beat(beats: &mut Option<Subscriber>) -> Option<Message> {
    match beats {
        Some(beats) => beats.next().await,
        None => pending().await,
    }
}

/// Returns the name of this machine.
fn host_name() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    #[cfg(not(unix))]
    let name = loadtest_console::process::variable_os("COMPUTERNAME")
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    if name.is_empty() {
        "agent".to_owned()
    } else {
        name
    }
}

/// Returns true if a run that is in this phase may go on.
pub(super) fn goes_on(phase: Phase) -> bool {
    phase <= Phase::Run
}

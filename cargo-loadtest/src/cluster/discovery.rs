//! The agents of a cluster, and the choice of those that can make a run.

use super::clock::measure_clocks;
use super::connection::{ANSWER_LIMIT, ClusterAddress, warn_of_missing_streams};
use super::messages::{AGENTS, AgentInfo, PROTOCOL, decode, is_name};
use crate::cli::values::MAX_AGENTS;
use async_nats::{Client, StatusCode};
use futures_util::StreamExt as _;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::display;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// The time for agents to answer all.
const ROUND: Duration = Duration::from_millis(500);

/// What agents need for a run.
#[derive(Debug)]
pub(super) struct RunNeeds {
    /// The scenarios, each with the SHA-256 of its program.
    pub(super) scenarios: BTreeMap<String, String>,
    /// The hash of the controller's bundle.
    pub(super) bundle: Option<String>,
    /// The key that signs the bundle, where agents get it from the controller.
    pub(super) signer: Option<String>,
}

/// Asks who is there, and returns the agents in the order of their names.
///
/// # Errors
/// When the server does not take the question.
pub(super) async fn find_agents(client: &Client) -> Result<Vec<AgentInfo>, Error> {
    let failed = |reason: String| Error::failure(format!("the agents cannot be queried: {reason}"));
    let inbox = client.new_inbox();
    let answers = client.subscribe(inbox.clone()).await;
    let mut answers = answers.map_err(|error| failed(error.to_string()))?;
    let asked = client
        .publish_with_reply(AGENTS, inbox, Vec::new().into())
        .await;
    asked.map_err(|error| failed(error.to_string()))?;
    let flushed = timeout(ANSWER_LIMIT, client.flush()).await;
    let flushed = flushed.map_err(|_| {
        failed(format!(
            "no answer in {}",
            display::format_span(ANSWER_LIMIT)
        ))
    })?;
    flushed.map_err(|error| failed(error.to_string()))?;
    let end = Instant::now() + ROUND;
    let mut agents = BTreeMap::new();
    while let Ok(Some(answer)) = timeout_at(end, answers.next()).await {
        // This answer is the server's: nobody listens.
        if answer.status == Some(StatusCode::NO_RESPONDERS) || agents.len() >= MAX_AGENTS {
            break;
        }
        match decode::<AgentInfo>(&answer.payload) {
            Ok(info) if !is_name(&info.agent) => console::print_warning(format_args!(
                "an agent with an invalid name is ignored: {}",
                console::clean(&info.agent)
            )),
            Ok(info) => _ = agents.insert(info.agent.clone(), info),
            Err(wrong) => console::print_warning(format_args!(
                "an agent of another version answered, and is left out: {}",
                console::clean(&wrong)
            )),
        }
    }
    Ok(agents.into_values().collect())
}

/// Returns the agents that can make a run now.
///
/// # Errors
/// When the server does not take the question.
pub(super) async fn find_usable(
    client: &Client,
    needs: &RunNeeds,
) -> Result<Vec<AgentInfo>, Error> {
    let mut agents = find_agents(client).await?;
    agents.retain(|agent| find_obstacle(agent, needs).is_none());
    Ok(agents)
}

/// Waits for so many agents that can make a run.
///
/// # Errors
/// When they do not come in time, with the reason for each that is there.
pub(super) async fn wait_for_agents(
    client: &Client,
    wanted: usize,
    wait: Duration,
    needs: &RunNeeds,
    interrupts: &Interrupts,
) -> Result<Vec<AgentInfo>, Error> {
    let begin = Instant::now();
    let mut has_told = false;
    let mut told_reasons = BTreeSet::new();
    loop {
        let all = find_agents(client).await?;
        let (mut usable, mut refused) = (Vec::new(), Vec::new());
        for agent in all {
            match find_obstacle(&agent, needs) {
                None => usable.push(agent),
                Some(obstacle) => refused.push((
                    format!(
                        "{} ({}) {obstacle}",
                        agent.agent,
                        console::clean(&agent.host)
                    ),
                    obstacle,
                )),
            }
        }
        if usable.len() >= wanted {
            usable.truncate(wanted);
            return Ok(usable);
        }
        interrupts.check()?;
        if begin.elapsed() >= wait {
            return Err(too_few(usable.len(), wanted, wait, refused));
        }
        if !std::mem::replace(&mut has_told, true) {
            let agents = display::format_counted(wanted as u64, "agent");
            let there = match usable.len() {
                0 => "none is connected yet".to_owned(),
                1 => "1 is connected".to_owned(),
                several => format!("{several} are connected"),
            };
            console::print_status("Waiting", format_args!("for {agents}, {there}"));
        }
        for (reason, _) in refused {
            if !told_reasons.contains(&reason) {
                console::print_warning(format_args!("agent {reason}"));
                told_reasons.insert(reason);
            }
        }
    }
}

/// The reason why an agent cannot make a run.
#[derive(Debug, PartialEq, Eq)]
enum Obstacle {
    /// It makes another run, with this name.
    Busy(String),
    /// It differs from what the run needs, in these words.
    Differs(String),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(run) => write!(f, "is busy with the run {run}"),
            Self::Differs(words) => f.write_str(words),
        }
    }
}

/// Returns the error for agents that did not come in time, with the reason for each that is there.
fn too_few(
    usable: usize,
    wanted: usize,
    wait: Duration,
    refused: Vec<(String, Obstacle)>,
) -> Error {
    let help = match refused.as_slice() {
        [] => "start agents with `cargo loadtest agent --cluster URL`",
        all if all
            .iter()
            .any(|(_, obstacle)| matches!(obstacle, Obstacle::Differs(_))) =>
        {
            "make the agents match the run; `cargo loadtest agents` lists their programs"
        }
        _ => "give a longer `--wait` for the end of the other run, or start more agents",
    };
    let agents = display::format_counted(wanted as u64, "agent");
    let mut message = format!(
        "{usable} of {agents} connected within {}",
        display::format_span(wait)
    );
    let reasons: Vec<String> = refused.into_iter().map(|(reason, _)| reason).collect();
    if !reasons.is_empty() {
        message = format!("{message}: {}", reasons.join("; "));
    }
    Error::failure(message).with_help(help)
}

/// Returns the reason why an agent cannot make a run.
fn find_obstacle(agent: &AgentInfo, needs: &RunNeeds) -> Option<Obstacle> {
    let differs = |words: String| Some(Obstacle::Differs(words));
    let ours = env!("CARGO_PKG_VERSION");
    if agent.protocol != PROTOCOL || agent.tool_version != ours {
        return differs(format!(
            "has version {} of the tool, and the controller {ours}: install the same",
            console::clean(&agent.tool_version)
        ));
    }
    match (&agent.accepts, &needs.signer) {
        (Some(theirs), Some(ours)) if theirs == ours => return find_other_run(agent),
        (Some(theirs), Some(ours)) => {
            return differs(format!(
                "accepts bundles of the key {}, and this one is signed with {ours}",
                console::clean(theirs)
            ));
        }
        _ => {}
    }
    for (scenario, program) in &needs.scenarios {
        match agent.scenarios.get(scenario) {
            None if agent.accepts.is_some() => {
                return differs("has only signed bundles: give `--bundle` and `--sign`".to_owned());
            }
            None => {
                return differs(format!(
                    "has no scenario `{scenario}`: start it with the same bundle"
                ));
            }
            Some(theirs) if theirs != program => {
                return differs(format!(
                    "has another build of `{scenario}`: give all the same program, with `bundle` or `--binary`"
                ));
            }
            Some(_) => {}
        }
    }
    // Programs may be the same and their data files not.
    if let (Some(ours), Some(theirs)) = (&needs.bundle, &agent.bundle)
        && ours != theirs
    {
        return differs("has another bundle: give all the same file".to_owned());
    }
    find_other_run(agent)
}

fn find_other_run(agent: &AgentInfo) -> Option<Obstacle> {
    let run = agent.run.as_ref()?;
    Some(Obstacle::Busy(console::clean(run)))
}

/// An agent that is there, and its clock.
#[derive(Debug, Serialize)]
pub(crate) struct ListedAgent {
    #[serde(flatten)]
    pub(crate) info: AgentInfo,
    /// What its clock shows more than ours, in microseconds; `None` if it did not tell its time.
    pub(crate) clock_offset_us: Option<i64>,
    /// The most by which that can be wrong, in microseconds.
    pub(crate) clock_error_us: Option<u64>,
}

/// Returns the agents of a cluster, for people to see.
///
/// # Errors
/// When there is no server.
pub(crate) fn list_agents(address: &ClusterAddress) -> Result<Vec<ListedAgent>, Error> {
    super::block_on(async {
        let client = address.connect("loadtest agents").await?;
        warn_of_missing_streams(&client);
        let agents = find_agents(&client).await?;
        let names = agents.iter().map(|info| info.agent.clone()).collect();
        let clocks = measure_clocks(client, names).await;
        let listed = agents.into_iter().zip(clocks);
        let listed = listed.map(|(info, clock)| ListedAgent {
            info,
            clock_offset_us: clock.map(|clock| clock.offset_us),
            clock_error_us: clock.map(|clock| clock.error_us),
        });
        Ok(listed.collect())
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> AgentInfo {
        AgentInfo {
            agent: "a-1".to_owned(),
            protocol: PROTOCOL,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            host: "one".to_owned(),
            environment: loadtest_model::record::Environment::default(),
            weight: 1,
            scenarios: [("p::s".to_owned(), "abc".to_owned())].into(),
            bundle: Some("b".to_owned()),
            accepts: None,
            run: None,
        }
    }

    #[test]
    fn an_agent_that_differs_is_refused_with_the_remedy() {
        let wanted = RunNeeds {
            scenarios: [("p::s".to_owned(), "abc".to_owned())].into(),
            bundle: Some("b".to_owned()),
            signer: Some("K1".to_owned()),
        };
        assert_eq!(find_obstacle(&agent(), &wanted), None);
        let empty = |accepts: &str| AgentInfo {
            scenarios: BTreeMap::new(),
            bundle: None,
            accepts: Some(accepts.to_owned()),
            ..agent()
        };
        assert_eq!(find_obstacle(&empty("K1"), &wanted), None);
        let unsigned = RunNeeds {
            scenarios: wanted.scenarios.clone(),
            bundle: None,
            signer: None,
        };
        let obstacle = find_obstacle(&empty("K1"), &unsigned).unwrap().to_string();
        assert!(
            obstacle.contains("give `--bundle` and `--sign`"),
            "{obstacle}"
        );
        let cases: [(AgentInfo, &str); 7] = [
            (empty("K2"), "of the key K2, and this one is signed with K1"),
            (
                AgentInfo {
                    run: Some("r-2".to_owned()),
                    ..empty("K1")
                },
                "is busy with the run r-2",
            ),
            (
                AgentInfo {
                    bundle: Some("c".to_owned()),
                    ..agent()
                },
                "give all the same file",
            ),
            (
                AgentInfo {
                    tool_version: "0.0.1".to_owned(),
                    ..agent()
                },
                "install the same",
            ),
            (
                AgentInfo {
                    scenarios: BTreeMap::new(),
                    ..agent()
                },
                "start it with the same bundle",
            ),
            (
                AgentInfo {
                    scenarios: [("p::s".to_owned(), "abd".to_owned())].into(),
                    ..agent()
                },
                "give all the same program",
            ),
            (
                AgentInfo {
                    run: Some("r-1".to_owned()),
                    ..agent()
                },
                "is busy with the run r-1",
            ),
        ];
        for (agent, expected) in cases {
            let obstacle = find_obstacle(&agent, &wanted).unwrap().to_string();
            assert!(obstacle.contains(expected), "{obstacle}");
        }
    }

    #[test]
    fn too_few_agents_are_told_in_one_line_with_a_help_that_fits() {
        let told = |obstacle: Obstacle| (format!("a-1 (one) {obstacle}"), obstacle);
        let busy = || told(Obstacle::Busy("r-1".to_owned()));
        let other = || told(Obstacle::Differs("has another bundle".to_owned()));
        for (refused, message, help) in [
            (
                vec![],
                "0 of 3 agents connected within 1 min 30 s",
                "start agents with",
            ),
            (
                vec![busy(), busy()],
                "0 of 3 agents connected within 1 min 30 s: a-1 (one) is busy with the run r-1; a-1 (one) is busy with the run r-1",
                "a longer `--wait`",
            ),
            (
                vec![busy(), other()],
                "0 of 3 agents connected within 1 min 30 s: a-1 (one) is busy with the run r-1; a-1 (one) has another bundle",
                "match the run",
            ),
        ] {
            let error = too_few(0, 3, Duration::from_secs(90), refused);
            assert_eq!(error.to_string(), message);
            assert!(error.help().unwrap().contains(help), "{error}");
        }
    }
}

//! Checks the permission to send: of every known host before a run, and of its owner again while it
//! lasts.

use super::run_identity::RunIdentity;
use crate::chain::{RequestBuf, RequestTarget, Scenario};
use crate::redact;
use crate::targets::Origin;
use crate::targets::{
    LONGEST_PROOF, ListedTarget, PROOF_PATH, Permissions, RefusalCause, Statement, offline,
    running_package,
};
use crate::transport::{
    Call, HttpTransport, Network, NetworkError, Transport as _, UnfinishedCall,
};
use http::{HeaderValue, Uri};
use loadtest_model::definition::{Expect, Reads, ScenarioDef};
use loadtest_model::plan::Plan;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};
use tokio::runtime;
use tokio::task::LocalSet;

/// The time limit for reading the file of a target.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// So often in a row it may be out of reach during a load that the target has trouble with.
const MAX_FAILED_FETCHES: u32 = 3;

/// Checks that every known host is permitted and accepts connections.
pub(super) async fn permit_and_reach(
    scenario: &Scenario,
    base: Option<&str>,
    sender: &RunIdentity,
) -> Result<Network, NetworkError> {
    let network = permit_known_hosts(scenario, base, sender).await?;
    network.reachable().await?;
    Ok(network)
}

/// Asks for permission to send to every host that is known: the file of the team, and the targets
/// themselves where it says so.
pub(super) async fn permit_known_hosts(
    scenario: &Scenario,
    base: Option<&str>,
    sender: &RunIdentity,
) -> Result<Network, NetworkError> {
    if let Some(url) = scenario.definition.url_without_tls(base) {
        let url = redact::redact(url);
        return Err(NetworkError::NeedsTls { url });
    }
    let is_offline = offline::proof().is_some();
    let permissions = Permissions::of_package(&running_package(), is_offline)?;
    let mut network = Network::permitting(permissions, base, sender.run_id()).await?;
    sender.share_licence(&mut network);
    network.configure(&scenario.definition.client(), &scenario.folder())?;
    for url in absolute_urls(scenario) {
        network.admit(url).await?;
    }
    for url in scenario.definition.reaches.iter() {
        network.admit_socket(url).await?;
    }
    let network = Arc::new(network);
    let mut proofs = Vec::new();
    for (origin, entry) in listed_origins(&network).filter(|(_, entry)| entry.proof) {
        let said = fetch_statement(&network, &origin).await;
        let said = said.and_then(|(text, said)| {
            said.permits(entry, SystemTime::now())?;
            Ok(text)
        });
        let said = said.map_err(|words| {
            let words = format!("{} does not say so: {words}", authorization_url(&origin));
            network
                .permissions()
                .refusal(&origin, None, RefusalCause::NoProof { words })
        })?;
        proofs.push((origin, said));
    }
    let network = Arc::into_inner(network);
    let mut network = network.unwrap_or_else(|| unreachable!("its owner has ended"));
    network.record_proofs(proofs);
    Ok(network)
}

/// The origins that are permitted by an entry, and their entries.
fn listed_origins(network: &Network) -> impl Iterator<Item = (Origin, &ListedTarget)> {
    let entry = |origin: &Origin| {
        network
            .permissions()
            .entry(origin)
            .map(|entry| (origin.clone(), entry))
    };
    network.origins().iter().filter_map(entry)
}

fn authorization_url(origin: &Origin) -> String {
    format!("{origin}{PROOF_PATH}")
}

/// Fetches the statement of a target about load tests.
async fn fetch_statement(
    network: &Arc<Network>,
    origin: &Origin,
) -> Result<(String, Statement), String> {
    let said = fetch_authorization(network, origin)
        .await
        .map_err(|unread| match unread {
            FetchError::Unreachable(why) | FetchError::Refused(why) => why,
        })?;
    let statement = Statement::read(&said)?;
    Ok((said, statement))
}

/// The reason why the statement of a target was not read.
enum FetchError {
    /// It could not be asked.
    Unreachable(String),
    /// It has no such file.
    Refused(String),
}

async fn fetch_authorization(
    network: &Arc<Network>,
    origin: &Origin,
) -> Result<String, FetchError> {
    let uri: Uri = authorization_url(origin)
        .parse()
        .map_err(|error| FetchError::Refused(format!("{error}")))?;
    let request = RequestBuf {
        target: RequestTarget::Absolute(uri),
        headers: vec![(http::header::ACCEPT, HeaderValue::from_static("text/plain"))],
        ..RequestBuf::default()
    };
    let unfinished = UnfinishedCall::default();
    let call = Call {
        request: &request,
        expect: &Expect::ANY,
        reads: Reads {
            body: true,
            headers: false,
        },
        timeout: FETCH_TIMEOUT,
        redirects: 0,
        new_connection: false,
        unfinished: &unfinished,
        trace: None,
        stream: None,
        websocket: None,
        is_graphql: false,
    };
    let user = HttpTransport::new(Arc::clone(network), 0);
    let exchange = LocalSet::new().run_until(user.send(call)).await;
    let answer = exchange
        .result
        .map_err(|failure| FetchError::Unreachable(failure.message))?;
    if answer.status != http::StatusCode::OK {
        return Err(FetchError::Refused(format!("it answers {}", answer.status)));
    }
    if answer.body.len() > LONGEST_PROOF {
        return Err(FetchError::Refused(format!(
            "it is longer than {LONGEST_PROOF} bytes"
        )));
    }
    String::from_utf8(answer.body.into())
        .map_err(|_| FetchError::Refused("it is not text".to_owned()))
}

/// Refuses what the entries do not allow, before anything of the load is sent; an open load that may choose
/// how many users it needs keeps to what they allow.
pub(super) fn check_terms(
    network: &Network,
    plan: &mut Plan,
    definition: &ScenarioDef,
) -> Result<(), NetworkError> {
    for (origin, entry) in listed_origins(network) {
        let refuse = |words: String| -> NetworkError {
            let words = format!(
                "{words}, over the cap in line {} of `loadtest.toml`",
                entry.line
            );
            network
                .permissions()
                .refusal(&origin, None, RefusalCause::Cap { words })
                .into()
        };
        if let Some(most) = entry.max_rate {
            let requests = requests_to(&origin, network, definition);
            let peak = plan.load.peak() * requests;
            if plan.load.is_open() && peak > most * (1.0 + 1e-9) {
                return Err(refuse(format!(
                    "the load is up to {peak:.1} requests a second ({:.1} journeys of {requests:.2} requests), \
                     above `max_rate = \"{most}/s\"`",
                    plan.load.peak()
                )));
            }
        }
        if let Some(most) = entry.max_in_flight
            && plan.max_users > most
        {
            if !plan.load.is_open() || plan.load.max_users.is_some() {
                return Err(refuse(format!(
                    "{} users may each have a request in flight, above `max_in_flight = {most}`",
                    plan.max_users
                )));
            }
            plan.max_users = most;
        }
        if let Some(most) = entry.max_duration
            && let Some(duration) = plan.load.duration()
            && plan.load.warm_up + duration > most
        {
            let asked = humantime::format_duration(plan.load.warm_up + duration);
            let most = humantime::format_duration(most);
            return Err(refuse(format!(
                "the load lasts {asked}, above `max_duration = \"{most}\"`"
            )));
        }
    }
    Ok(())
}

/// Returns the average number of requests per iteration to `origin`. Requests whose host the source does not
/// show count for the base. Those that each user sends once, in its first iteration or after its last, are left out: they
/// are few, and refused at the time where they break a cap.
fn requests_to(origin: &Origin, network: &Network, definition: &ScenarioDef) -> f64 {
    let is_base = network.origins().first() == Some(origin) && network.base_url().is_some();
    let goes_there = |url: Option<&str>| match url {
        Some(url) if !url.starts_with('/') => url
            .parse::<Uri>()
            .ok()
            .and_then(|uri| Origin::from_uri(&uri).ok())
            .map_or(is_base, |of| of == *origin),
        _ => is_base,
    };
    let steps = definition.steps.iter();
    steps
        .filter(|step| !step.runs_once_per_user() && goes_there(step.url.as_deref()))
        .map(|step| step.weight)
        .sum()
}

/// The shortest `max_duration` of all targets, and what is said when it is over.
pub(super) fn shortest_max_duration(network: &Network) -> Option<(Duration, String)> {
    listed_origins(network)
        .filter_map(|(origin, entry)| Some((entry.max_duration?, origin, entry.line)))
        .min_by_key(|(longest, ..)| *longest)
        .map(|(longest, origin, line)| {
            let words = format!(
                "{origin} may be tested for {} at a time, by line {line} of `loadtest.toml`",
                humantime::format_duration(longest)
            );
            (longest, words)
        })
}

/// Reads the files of the targets again and again, until it is dropped; a run whose target takes its word
/// back is halted.
#[derive(Debug)]
pub(super) struct StatementWatch {
    /// Closing it ends the thread.
    _open: Option<mpsc::Sender<()>>,
}

/// Begins to read the files of the targets that have to prove that they may be tested.
pub(super) fn watch_statements(network: &Arc<Network>) -> StatementWatch {
    let watched: Vec<(Origin, ListedTarget)> = listed_origins(network)
        .filter(|(_, entry)| entry.proof)
        .map(|(origin, entry)| (origin, entry.clone()))
        .collect();
    if watched.is_empty() {
        return StatementWatch { _open: None };
    }
    let (open, closed) = mpsc::channel();
    let (network, silent) = (Arc::clone(network), Arc::clone(network));
    let begun = thread::Builder::new()
        .name("loadtest-proof".to_owned())
        .spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else {
                return;
            };
            let mut unread = 0;
            let mut pause = Duration::from_secs(1);
            while matches!(
                closed.recv_timeout(pause),
                Err(mpsc::RecvTimeoutError::Timeout)
            ) {
                pause = Duration::from_secs(60);
                for (origin, entry) in &watched {
                    let said = match runtime.block_on(fetch_authorization(&network, origin)) {
                        Ok(text) => Statement::read(&text),
                        Err(FetchError::Unreachable(_)) if unread < MAX_FAILED_FETCHES => {
                            unread += 1;
                            pause = pause.min(Duration::from_secs(5));
                            continue;
                        }
                        Err(FetchError::Refused(why) | FetchError::Unreachable(why)) => Err(why),
                    };
                    let said = said.and_then(|said| {
                        said.permits(entry, SystemTime::now())?;
                        Ok(said)
                    });
                    match said {
                        Ok(said) => {
                            unread = 0;
                            pause = pause.min(said.recheck);
                        }
                        Err(why) => network.halt(format!(
                            "{} does not permit it any more: {why}",
                            authorization_url(origin)
                        )),
                    }
                }
                if network.halted().is_some() {
                    return;
                }
            }
        });
    if let Err(error) = begun {
        silent.halt(format!("the target cannot be asked again: {error}"));
    }
    StatementWatch { _open: Some(open) }
}

/// Returns the absolute URLs whose host is part of the source.
fn absolute_urls(scenario: &Scenario) -> impl Iterator<Item = &str> {
    scenario
        .definition
        .steps
        .iter()
        .filter_map(|step| step.url.as_deref())
        .filter(|url| {
            let host = url
                .split_once("://")
                .map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(rest));
            host.is_some_and(|host| !host.contains('{'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::{ListedTarget, Permissions};
    use loadtest_model::definition::sample::{self, step};
    use loadtest_model::definition::{Load, Shape, StepDef};
    use loadtest_model::plan::{GradingDefaults, Overrides};

    /// Checks a load of so many journeys per second of `steps`, for a target that takes 100 requests per second.
    async fn check(per_second: f64, steps: Vec<StepDef>) -> Result<(), String> {
        let entry =
            "[[targets]]\nhost = \"localhost\"\nscheme = \"http\"\nport = 8080\nowner = \"ada\"\n";
        let permissions = Permissions {
            targets: ListedTarget::read(&format!("{entry}max_rate = \"100/s\"\n")).unwrap(),
            ..Permissions::default()
        };
        let base = Some("http://localhost:8080");
        let network = Network::permitting(permissions, base, "run").await.unwrap();
        let load = Load::new(Shape::Rate {
            per_second,
            ramp_up: Duration::ZERO,
            duration: Duration::from_secs(10),
        });
        let definition = sample::scenario(Some(load), steps);
        let (overrides, grading) = (Overrides::default(), GradingDefaults::default());
        let mut plan = Plan::new(&definition, &overrides, &grading, 7).unwrap();
        check_terms(&network, &mut plan, &definition).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn what_each_user_sends_once_is_no_part_of_the_requests_of_a_journey() {
        let steps = || {
            let mut steps = vec![step("open"), step("ask"), step("leave")];
            steps[0].once = true;
            steps[2].last = true;
            steps
        };
        assert_eq!(check(100.0, steps()).await, Ok(()));
        let refused = check(101.0, steps()).await.unwrap_err();
        assert!(
            refused.contains("101.0 requests a second (101.0 journeys of 1.00 requests)"),
            "{refused}"
        );
        let mut all = steps();
        all[0].once = false;
        let refused = check(60.0, all).await.unwrap_err();
        assert!(refused.contains("120.0 requests a second"), "{refused}");
    }
}

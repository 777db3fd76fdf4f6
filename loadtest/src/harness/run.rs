//! One run, as `cargo-loadtest` asks for it: from the request to the record.

use super::recorded::recorded;
use super::{complain, write_json};
use crate::chain::{Prepared, Scenario, SetupContext};
use crate::definition::ScenarioDef;
use crate::engine::{self, Control, Ended, How, Phase};
use crate::plan::Plan;
use crate::protocol::{BASE_URL_VARIABLE, FailureKind, JournalLine, RunFailure, RunRequest};
use crate::record::{End, Ending, ScenarioRecord, Start};
use crate::redact;
use crate::registry::Registry;
use crate::targets::{self, Target};
use crate::transport::{HttpTransport, Network, NetworkError};
use std::fs::File;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use tokio::runtime;

/// Runs the scenario, and writes journal and record.
pub(super) fn run(registry: &Registry, request: &RunRequest) -> io::Result<()> {
    let mut journal = Journal(File::create(&request.journal)?);
    let control = Control::new();
    listen(control.clone());
    let begun = begin(registry, request);
    if control.phase() > Phase::Running {
        if let Ok(Ready {
            scenario, prepared, ..
        }) = begun
        {
            tear_down(scenario, &prepared);
        }
        return journal.write(&JournalLine::Failed(RunFailure {
            kind: FailureKind::Interrupted,
            message: "stopped before the load began".to_owned(),
            help: None,
        }));
    }
    match begun {
        Err(failure) => journal.write(&JournalLine::Failed(failure)),
        Ok(ready) => measure(ready, request, &control, &mut journal),
    }
}

/// Everything a run needs, checked.
struct Ready {
    scenario: &'static Scenario,
    plan: Plan,
    prepared: Prepared,
    network: Network,
}

fn begin(registry: &Registry, request: &RunRequest) -> Result<Ready, RunFailure> {
    if !registry.problems.is_empty() {
        return Err(usage(registry.problems.join("\n"), None));
    }
    let scenario = registry
        .scenarios
        .iter()
        .copied()
        .find(|scenario| scenario.definition.identity() == request.scenario)
        .ok_or_else(|| {
            usage(
                format!("this binary holds no scenario `{}`", request.scenario),
                None,
            )
        })?;
    let definition = &scenario.definition;
    let plan = Plan::new(
        definition,
        &request.overrides,
        &request.grading,
        request.seed,
    )
    .map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        usage(
            format!("{}: {}", definition.identity(), errors.join("; ")),
            None,
        )
    })?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| RunFailure {
            kind: FailureKind::Internal,
            message: format!("no runtime: {error}"),
            help: None,
        })?;
    let given = request.base_url.clone().or_else(given_base_url);
    // What is given is asked for permission before a setup might start to use it.
    if let Some(given) = &given {
        runtime
            .block_on(Network::prepare(Some(given), &request.run_id))
            .map_err(network_failure)?;
    }
    let prepared = set_up(scenario, given.clone(), &plan, false).map_err(|message| RunFailure {
        kind: FailureKind::Setup,
        message,
        help: None,
    })?;
    let base = base_url(given, &prepared, definition);
    if base.is_none() && needs_base(scenario) {
        return Err(usage(
            format!("scenario `{}` has no target", definition.identity()),
            Some(NO_TARGET.to_owned()),
        ));
    }
    let network = runtime
        .block_on(reach(scenario, base.as_deref(), &request.run_id))
        .map_err(network_failure)?;
    Ok(Ready {
        scenario,
        plan,
        prepared,
        network,
    })
}

fn measure(
    ready: Ready,
    request: &RunRequest,
    control: &Control,
    journal: &mut Journal,
) -> io::Result<()> {
    let Ready {
        scenario,
        plan,
        prepared,
        network,
    } = ready;
    let workers = engine::workers(&plan);
    let start = Start {
        definition: recorded(&scenario.definition),
        plan: plan.clone(),
        base_url: network.base_url().map(str::to_owned),
        own_target: prepared.target.is_some(),
        executable_hash: request.executable_hash.clone(),
        workers,
        started_at: jiff::Timestamp::now().to_string(),
    };
    let mut record = ScenarioRecord::new(start.clone());
    journal.write(&JournalLine::Start(Box::new(start)))?;
    let network = Arc::new(network);
    let mut written = Ok(());
    let ended = engine::run(
        scenario,
        &prepared.shared,
        &plan,
        workers,
        control,
        move |user| HttpTransport::new(Arc::clone(&network), user),
        |frame| {
            record.absorb(&frame);
            if written.is_ok() {
                written = journal.write(&JournalLine::Frame(Box::new(frame)));
            }
        },
    );
    let target_death = prepared
        .target
        .as_ref()
        .and_then(|target| target.check().err())
        .map(|died| redact::text(&died.to_string()).into_owned());
    tear_down(scenario, &prepared);
    drop(prepared);
    match ended {
        Ok(ended) => {
            let end = end(ended, &scenario.definition, target_death);
            record.end(end.clone());
            // The record first: with a full disk it says more than the journal.
            let recorded = write_json(&request.record, &record);
            written?;
            journal.write(&JournalLine::End(end))?;
            recorded
        }
        Err(error) => {
            let message = error.to_string();
            journal.write(&JournalLine::Failed(RunFailure {
                kind: FailureKind::Internal,
                message,
                help: None,
            }))
        }
    }
}

/// The base URL: what is given, else that of the target just started, else the declared one.
pub(super) fn base_url(
    given: Option<String>,
    prepared: &Prepared,
    definition: &ScenarioDef,
) -> Option<String> {
    let own = prepared.target.as_ref().map(Target::url);
    given.or_else(|| own.or(definition.base.as_deref()).map(str::to_owned))
}

/// Asks for permission to send to every host that is known, and whether somebody is there.
pub(super) async fn reach(
    scenario: &Scenario,
    base: Option<&str>,
    run_id: &str,
) -> Result<Network, NetworkError> {
    let mut network = Network::prepare(base, run_id).await?;
    network.configure(&scenario.definition.client, Path::new(scenario.root))?;
    for url in absolute_urls(scenario) {
        network.admit(url).await?;
    }
    network.reachable().await?;
    Ok(network)
}

/// Runs the setups; their panics are told as errors, and nothing they say keeps a secret.
///
/// `first_rows`: iteration 0 gets the first row of every feed.
pub(super) fn set_up(
    scenario: &Scenario,
    base_url: Option<String>,
    plan: &Plan,
    first_rows: bool,
) -> Result<Prepared, String> {
    let context = SetupContext {
        base_url,
        root: scenario.root.into(),
        seed: engine::seed(plan, &scenario.definition),
        users: plan.max_users,
        first_rows,
    };
    let prepared = match engine::catch(|| (scenario.prepare)(&context)) {
        Ok(prepared) => prepared.map_err(|error| error.to_string()),
        Err(message) => Err(format!("the setup panicked: {message}")),
    };
    prepared.map_err(|message| redact::text(&message).into_owned())
}

/// Runs the teardowns; what they break costs no measurement.
pub(super) fn tear_down(scenario: &Scenario, prepared: &Prepared) {
    if let Err(message) = engine::catch(|| (scenario.teardown)(&prepared.shared)) {
        let identity = scenario.definition.identity();
        complain(&format!(
            "warning: the teardown of `{identity}` panicked: {message}"
        ));
    }
}

fn end(ended: Ended, definition: &ScenarioDef, target_death: Option<String>) -> End {
    let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    End {
        ending: match ended.how {
            How::Completed => Ending::Completed,
            How::Stopped => Ending::Interrupted,
            How::Aborted => Ending::Aborted,
            How::Stuck { step } => Ending::Stuck {
                reason: match step.map(|step| &definition.steps[step].name) {
                    Some(name) => format!("step `{name}` did not give its thread back"),
                    None => "the scenario did not give a thread back".to_owned(),
                },
            },
        },
        elapsed_us: micros(ended.elapsed),
        steady_us: micros(ended.steady),
        planned: ended.planned,
        complete: ended.complete,
        panics: ended.panics,
        target_death,
    }
}

/// The journal: a line per event, written through at once.
struct Journal(File);

impl Journal {
    fn write(&mut self, line: &JournalLine) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.0.write_all(&bytes)
    }
}

/// Listens to the control pipe until it closes, which means `stop`.
fn listen(control: Control) {
    let listener = thread::Builder::new()
        .name("loadtest-control".to_owned())
        .spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                match line.trim() {
                    "stop" => stop(&control),
                    "abort" => control.abort(),
                    _ => {}
                }
            }
            stop(&control);
        });
    if let Err(error) = listener {
        complain(&format!(
            "warning: the run cannot be stopped early: {error}"
        ));
    }
}

/// Ends the run, or the wait for a target that it is to begin with.
fn stop(control: &Control) {
    control.stop();
    targets::give_up();
}

/// How a scenario gets a target.
pub(super) const NO_TARGET: &str = "set `base = \"http://127.0.0.1:8080\"` in `#[scenario(..)]`, return a `Target` from \
     a `#[setup]`, set LOADTEST_BASE_URL, or give `--base-url`";

/// The base URL of the environment.
pub(super) fn given_base_url() -> Option<String> {
    std::env::var(BASE_URL_VARIABLE)
        .ok()
        .filter(|url| !url.is_empty())
}

/// Whether a step is known to have a path that only a base URL makes whole.
pub(super) fn needs_base(scenario: &Scenario) -> bool {
    let steps = &scenario.definition.steps;
    let urls: Vec<&str> = steps
        .iter()
        .filter_map(|step| step.url.as_deref())
        .collect();
    urls.is_empty() || urls.iter().any(|url| url.starts_with('/'))
}

/// The absolute URLs whose host stands in the source.
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

fn usage(message: String, help: Option<String>) -> RunFailure {
    RunFailure {
        kind: FailureKind::Usage,
        message,
        help,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn network_failure(error: NetworkError) -> RunFailure {
    let kind = match error {
        NetworkError::BadUrl { .. } => FailureKind::Usage,
        NetworkError::NotPermitted(_) => FailureKind::NotPermitted,
        _ => FailureKind::Setup,
    };
    RunFailure {
        kind,
        message: error.to_string(),
        help: None,
    }
}

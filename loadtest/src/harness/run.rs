//! One run, whoever asks for it: what comes before the load, the load, and what comes after it.

use super::complain;
use super::errands::Errands;
use super::permission::{self, permitted, reach};
use super::recorded::recorded;
use super::sender::Sender;
use crate::chain::{Prepared, Scenario, SetupContext, SetupError};
use crate::engine::{self, Control, Ended, Going, How, Phase, Place, Staff};
use crate::journey::{self, Event, Tls, Watcher};
use crate::machine::{self, Need, Shortage};
use crate::redact;
use crate::secrets::{self, Missing};
use crate::targets::{Target, offline};
use crate::transport::{HttpTransport, Network, NetworkError};
use loadtest_model::card;
use loadtest_model::definition::ScenarioDef;
use loadtest_model::failure::{FailureKind, RunFailure};
use loadtest_model::metrics::Frame;
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_model::protocol::{
    BASE_URL_VARIABLE, DebugRequest, VALIDITY_VARIABLE, is_validity_off,
};
use loadtest_model::record::{End, Ending, Start};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::runtime;
use tokio::task::LocalSet;
use tokio::time::Instant;

/// A scenario that can begin: everything a run needs, checked and set up. Nothing of the load was sent yet.
pub(crate) struct Ready {
    scenario: &'static Scenario,
    plan: Plan,
    /// For the teardowns.
    context: SetupContext,
    prepared: Prepared,
    network: Arc<Network>,
    sender: Sender,
    validity_off: bool,
}

/// Runs the setups, asks for permission, and looks whether the target is there; what was set up in
/// vain is torn down.
pub(crate) fn begin(
    scenario: &'static Scenario,
    mut plan: Plan,
    given: Option<String>,
    sender: &Sender,
) -> Result<Ready, RunFailure> {
    unwinds(!cfg!(panic = "abort"))?;
    offline::enter();
    if let Some(denied) = offline::denied() {
        return Err(RunFailure {
            kind: FailureKind::NotOffline,
            message: denied.message.clone(),
            help: denied.help.clone(),
        });
    }
    let validity_off = is_validity_off(std::env::var(VALIDITY_VARIABLE).ok().as_deref())
        .map_err(|message| usage(message, None))?;
    has_secrets(&scenario.definition)?;
    let runtime = runtime()?;
    let known = known_base(given.as_deref(), &scenario.definition);
    // What is known is asked for permission before a setup might start to use it.
    runtime
        .block_on(permitted(scenario, known.as_deref(), sender))
        .map_err(network_failure)?;
    let errands =
        Errands::new(scenario, sender).map_err(|error| internal(format!("no runtime: {error}")))?;
    let mut context = context(scenario, given.clone(), &plan, errands);
    let prepared = set_up(scenario, &context).map_err(|message| {
        if let Some(reason) = sender.withdrawn() {
            return withdrawn(&reason);
        }
        lacking().unwrap_or(RunFailure {
            kind: if sender.was_refused() {
                FailureKind::NotPermitted
            } else {
                FailureKind::Setup
            },
            message,
            help: offline::proof().map(|_| OFFLINE_SETUP.to_owned()),
        })
    })?;
    plan.rows.clone_from(&prepared.rows);
    let definition = &scenario.definition;
    let base = base_url(given, &prepared, definition);
    context.base_url.clone_from(&base);
    let network = if let Some(reason) = sender.withdrawn() {
        Err(withdrawn(&reason))
    } else if base.is_none() && needs_base(scenario) {
        Err(usage(
            format!("scenario `{}` has no target", definition.identity()),
            Some(NO_TARGET.to_owned()),
        ))
    } else {
        runtime
            .block_on(reach(scenario, base.as_deref(), sender))
            .map_err(network_failure)
    };
    let network = network.and_then(|network| {
        let terms = permission::terms(&network, &mut plan, definition);
        terms.map(|()| network).map_err(network_failure)
    });
    match network {
        Ok(network) => Ok(Ready {
            scenario,
            plan,
            context,
            prepared,
            network: Arc::new(network),
            sender: sender.clone(),
            validity_off,
        }),
        Err(failure) => {
            tear_down(scenario, &prepared, &context);
            Err(failure)
        }
    }
}

impl Ready {
    /// What the run will do.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What is known of the run before anything is measured.
    pub(crate) fn start(&self, executable_hash: &str, workers: u32) -> Start {
        let target = self.prepared.target.as_ref();
        Start {
            definition: recorded(&self.scenario.definition),
            plan: self.plan.clone(),
            base_url: self.network.base_url().map(str::to_owned),
            own_target: target.is_some(),
            target_in_process: target.is_some_and(Target::is_in_process),
            permits: self.network.permits(),
            offline: offline::proof().cloned(),
            validity_off: self.validity_off,
            executable_hash: executable_hash.to_owned(),
            workers,
            started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        }
    }

    /// What `workers` threads will need of the machine.
    pub(crate) fn need(&self, workers: u32) -> Need {
        let target = self.prepared.target.as_ref();
        Need {
            users: self.plan.max_users,
            is_ceiling: self.plan.load.is_open() && self.plan.load.max_users.is_none(),
            workers,
            target: self.network.base_url().map(str::to_owned),
            addresses: self.network.base_addresses() as u64,
            target_in_process: target.is_some_and(Target::is_in_process),
        }
    }

    /// Undoes the setups, also of a run that does not take place.
    pub(crate) fn abandon(self) {
        tear_down(self.scenario, &self.prepared, &self.context);
    }

    /// Goes through one journey and the teardowns; `tell` gets what happens.
    pub(super) fn journey(
        self,
        request: &DebugRequest,
        place: Place,
        control: &Control,
        mut tell: impl FnMut(Event),
    ) -> Result<(), RunFailure> {
        let definition = &self.scenario.definition;
        if let Some(limit) = self
            .plan
            .rows
            .as_ref()
            .filter(|limit| place.turn >= limit.rows)
        {
            let message = format!(
                "the load ends before this iteration: the feed `{}` has {} rows",
                limit.feed, limit.rows
            );
            self.abandon();
            return Err(usage(message, None));
        }
        let runtime = match runtime() {
            Ok(runtime) => runtime,
            Err(failure) => {
                self.abandon();
                return Err(failure);
            }
        };
        let base = self.network.base_url().map(str::to_owned);
        tell(Event::Start(Box::new(journey::Start {
            definition: recorded(definition),
            number: place.number(&self.plan),
            seed: request.seed,
            base_url: base.as_deref().map(|url| redact::text(url).into_owned()),
            own_target: self.prepared.target.is_some(),
        })));
        let tls = Tls::of(&definition.client(), Path::new(self.scenario.root));
        let mut watcher = Watcher::new(definition, base.as_deref(), tls, &mut tell);
        let user = HttpTransport::new(Arc::clone(&self.network), place.user).watched();
        let (shared, plan) = (&self.prepared.shared, &self.plan);
        let mut phase = control.subscribe();
        let ran = LocalSet::new().block_on(&runtime, async {
            tokio::select! {
                biased;
                _ = phase.wait_for(|phase| *phase > Phase::Running) => None,
                ran = engine::journey(self.scenario, shared, plan, user, place, &mut watcher) => Some(ran),
            }
        });
        let has_failed = watcher.has_failed;
        drop(watcher);
        let target_death = target_death(&self.prepared);
        tear_down(self.scenario, &self.prepared, &self.context);
        let Some(ran) = ran else {
            return Err(interrupted());
        };
        if let Some(failure) = lacking() {
            return Err(failure);
        }
        let problem = ran.err().or_else(|| self.sender.withdrawn());
        tell(Event::End(journey::End {
            is_ok: problem.is_none() && !has_failed,
            problem: problem.map(|problem| redact::text(&problem).into_owned()),
            target_death,
        }));
        Ok(())
    }

    /// Runs the load and the teardowns; `report` gets a frame a second.
    pub(crate) fn measure(
        self,
        staff: Staff,
        at: Instant,
        control: &Control,
        report: impl FnMut(Frame),
    ) -> Result<End, RunFailure> {
        let end = self.load(staff, at, control, report);
        self.abandon();
        end
    }

    /// Runs the load; what was set up stays as it is.
    pub(super) fn load(
        &self,
        staff: Staff,
        at: Instant,
        control: &Control,
        mut report: impl FnMut(Frame),
    ) -> Result<End, RunFailure> {
        let network = Arc::clone(&self.network);
        let watched = Arc::clone(&self.network);
        let longest = permission::longest(&watched);
        let _proofs = permission::watch(&watched);
        let ended = engine::run(
            self.scenario,
            &self.prepared.shared,
            &self.plan,
            staff,
            at,
            control,
            move |user| HttpTransport::new(Arc::clone(&network), user),
            move |frame| {
                let second = frame.second;
                report(frame);
                if let Some((longest, words)) = &longest
                    && Duration::from_secs(u64::from(second) + 1) >= *longest
                {
                    watched.halt(words.clone());
                }
                match watched.halted() {
                    Some(_) => Going::Halt,
                    None if secrets::first_missing().is_some() => Going::Halt,
                    None => Going::On,
                }
            },
        );
        if let Some(failure) = lacking() {
            return Err(failure);
        }
        let target_death = target_death(&self.prepared);
        match ended {
            Ok(ended) => Ok(end(
                ended,
                &self.plan,
                &self.scenario.definition,
                target_death,
                self.network.halted(),
            )),
            Err(error) => Err(internal(error.to_string())),
        }
    }

    /// The same run under another load.
    pub(super) fn under(&mut self, plan: Plan) {
        let rows = self.prepared.rows.clone();
        self.plan = Plan { rows, ..plan };
    }

    /// Whether the target has ended that the scenario started.
    pub(super) fn has_lost_target(&self) -> bool {
        target_death(&self.prepared).is_some()
    }

    /// Asks whether the target is there.
    ///
    /// # Errors
    /// What is seen of it, in words.
    pub(super) fn reach_target(&self) -> Result<(), String> {
        if let Some(death) = target_death(&self.prepared) {
            return Err(death);
        }
        let reached = runtime().map(|runtime| runtime.block_on(self.network.reachable()));
        match reached {
            Ok(Err(error)) => Err(redact::text(&error.to_string()).into_owned()),
            _ => Ok(()),
        }
    }
}

/// Makes ready what loads that run at once `need` of the machine; what may become a problem is told.
pub(crate) fn fit(need: &[Need]) -> Result<(), RunFailure> {
    let warnings =
        machine::check(need).map_err(|Shortage { message, help }| usage(message, Some(help)))?;
    for warning in warnings {
        complain(&format!("warning: {warning}"));
    }
    Ok(())
}

/// Looks up the secrets that the source of a scenario shows, before anything is sent.
fn has_secrets(definition: &ScenarioDef) -> Result<(), RunFailure> {
    secrets::forget_missing();
    let (mut message, mut help) = (Vec::new(), Vec::new());
    for missing in missing_secrets(definition) {
        message.push(missing.to_string());
        help.push(missing.help());
    }
    if message.is_empty() {
        return Ok(());
    }
    Err(usage(message.join("; "), Some(help.join("; "))))
}

/// The secrets that the source of a scenario shows and that cannot be had.
pub(super) fn missing_secrets(definition: &ScenarioDef) -> impl Iterator<Item = Missing> {
    let names = definition.secrets.iter();
    names.filter_map(|name| secrets::look_up(name).err())
}

/// What is said of a secret that code asked for in vain, which its source did not show.
fn lacking() -> Option<RunFailure> {
    let missing = secrets::first_missing()?;
    Some(usage(
        format!("{missing}; its name is known only to the code that asked for it"),
        Some(missing.help()),
    ))
}

/// A program that a panic ends can count none of its steps' panics: one would take all measurements with it.
fn unwinds(unwinds: bool) -> Result<(), RunFailure> {
    if unwinds {
        return Ok(());
    }
    Err(usage(
        "this program was built with `panic = \"abort\"`: the panic of a single step would end it, and \
         every measurement with it"
            .to_owned(),
        Some(
            "remove `panic = \"abort\"` from the profile in `Cargo.toml`, or `-C panic=abort` from RUSTFLAGS"
                .to_owned(),
        ),
    ))
}

/// The plan of a scenario, or all that is wrong with it.
pub(crate) fn plan(
    definition: &ScenarioDef,
    overrides: &Overrides,
    grading: &GradingDefaults,
    seed: u64,
) -> Result<Plan, RunFailure> {
    Plan::new(definition, overrides, grading, seed).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        usage(
            format!("{}: {}", definition.identity(), errors.join("; ")),
            None,
        )
    })
}

/// The base URL as far as it is known before the setups.
pub(super) fn known_base(given: Option<&str>, definition: &ScenarioDef) -> Option<String> {
    let declared = definition.base.as_deref();
    let declared = declared.filter(|_| !definition.starts_target);
    given.or(declared).map(str::to_owned)
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

/// What the setups of a run have to know.
pub(super) fn context(
    scenario: &Scenario,
    base_url: Option<String>,
    plan: &Plan,
    errands: Errands,
) -> SetupContext {
    SetupContext {
        base_url,
        root: scenario.root.into(),
        seed: engine::seed(plan, &scenario.definition),
        users: plan.max_users,
        first_rows: false,
        courier: Some(Arc::new(errands)),
    }
}

/// Runs the setups; their panics are told as errors, and nothing they say keeps a secret.
pub(super) fn set_up(scenario: &Scenario, context: &SetupContext) -> Result<Prepared, String> {
    let prepared = match engine::catch(|| (scenario.prepare)(context)) {
        // It holds no value, and in `tokens.csv:17` the line is none.
        Ok(Err(error @ SetupError::Feed { .. })) => return Err(error.to_string()),
        Ok(prepared) => prepared.map_err(|error| error.to_string()),
        Err(message) => Err(format!("the setup panicked: {message}")),
    };
    prepared.map_err(|message| redact::text(&message).into_owned())
}

/// Runs the teardowns; what they break costs no measurement.
pub(super) fn tear_down(scenario: &Scenario, prepared: &Prepared, context: &SetupContext) {
    if let Err(message) = (scenario.teardown)(&prepared.shared, context) {
        let identity = scenario.definition.identity();
        complain(&format!("warning: {identity}: {}", redact::text(&message)));
    }
}

/// How the target died that the scenario had started, if it did.
fn target_death(prepared: &Prepared) -> Option<String> {
    let target = prepared.target.as_ref()?;
    let died = target.check().err()?;
    Some(redact::text(&died.to_string()).into_owned())
}

/// What waits for a few requests in turn.
fn runtime() -> Result<runtime::Runtime, RunFailure> {
    runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| internal(format!("no runtime: {error}")))
}

fn end(
    ended: Ended,
    plan: &Plan,
    definition: &ScenarioDef,
    target_death: Option<String>,
    halted: Option<&str>,
) -> End {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    End {
        ending: match ended.how {
            How::Completed => Ending::Completed,
            How::Stopped => Ending::Interrupted,
            How::Aborted => Ending::Aborted,
            How::Panicked => Ending::Panicked,
            How::Halted => Ending::Halted {
                reason: redact::text(halted.unwrap_or_default()).into_owned(),
            },
            How::Broken(broken) => Ending::ThresholdBroken {
                threshold: broken.threshold,
                after_us: micros(broken.after),
                reason: card::describe_broken(&broken, plan, definition),
            },
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
        out_of_rows: ended.out_of_rows,
        target_death,
    }
}

/// How a scenario gets a target.
pub(super) const NO_TARGET: &str = "set `base = \"http://127.0.0.1:8080\"` in `#[scenario(..)]`, return a `Target` from \
     a `#[setup]`, set LOADTEST_BASE_URL, or give `--base-url`";

/// The base URL of the environment.
pub(crate) fn given_base_url() -> Option<String> {
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

pub(crate) fn usage(message: String, help: Option<String>) -> RunFailure {
    RunFailure {
        kind: FailureKind::Usage,
        message,
        help,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn network_failure(error: NetworkError) -> RunFailure {
    let kind = match error {
        NetworkError::BadUrl { .. }
        | NetworkError::BadFile { .. }
        | NetworkError::Permissions(_) => FailureKind::Usage,
        NetworkError::NotPermitted(_) => FailureKind::NotPermitted,
        _ => FailureKind::Setup,
    };
    RunFailure {
        kind,
        message: error.to_string(),
        help: None,
    }
}

/// What a setup may have missed.
const OFFLINE_SETUP: &str = "with `--offline` (LOADTEST_OFFLINE) a setup reaches nothing but what the scenario starts itself";

/// A run that a target ended before its load.
fn withdrawn(reason: &str) -> RunFailure {
    let message = format!("the permission to test ended before the load: {reason}");
    RunFailure {
        kind: FailureKind::Withdrawn,
        message: redact::text(&message).into_owned(),
        help: None,
    }
}

/// A journey that was stopped.
pub(super) fn interrupted() -> RunFailure {
    RunFailure {
        kind: FailureKind::Interrupted,
        message: "stopped before the journey was over".to_owned(),
        help: None,
    }
}

pub(crate) fn internal(message: String) -> RunFailure {
    RunFailure {
        kind: FailureKind::Internal,
        message,
        help: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_a_panic_ends_is_refused_with_the_remedy() {
        assert_eq!(unwinds(true), Ok(()));
        let failure = unwinds(false).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Usage);
        assert!(failure.message.contains("`panic = \"abort\"`"));
        assert!(failure.help.unwrap().contains("`Cargo.toml`"));
    }
}

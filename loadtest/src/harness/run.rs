//! One run: everything before the load, the load, and everything after it.

use super::control_pipe::ActiveLoad;
use super::definition_redaction::redact_definition;
use super::failures::{OFFLINE_SETUP_HELP, network_failure, withdrawn_failure};
pub(crate) use super::failures::{internal_failure, interrupted_failure, usage_failure};
use super::permission::{self, permit_and_reach, permit_known_hosts};
use super::print_error;
use super::run_identity::RunIdentity;
use super::setup_client::SetupClient;
use crate::chain::feed::open::fewest;
use crate::chain::{
    Prepared, RowLimit, Scenario, SetupContext, SetupError, SetupSource, SharedFeed,
};
use crate::debug::{CurlTls, DebugObserver};
use crate::engine::{
    self, Control, IterationPosition, LoadRun, RunPhase, RunTracing, SamplesFile, SpanWriter,
    Workers,
};
use crate::machine::{self, MachineNeed, MachineShortage};
use crate::redact;
use crate::secrets::{self, MissingSecret};
use crate::targets::{Target, offline};
use crate::transport::{HttpTransport, Network};
use loadtest_model::definition::ScenarioDef;
use loadtest_model::failure::{FailureKind, RunFailure};
use loadtest_model::metrics::Frame;
use loadtest_model::plan::{GradingDefaults, Overrides, Plan};
use loadtest_model::protocol::{
    BASE_URL_VARIABLE, DebugEnd, DebugEvent, DebugRequest, DebugStart, VALIDITY_VARIABLE,
    is_validity_off,
};
use loadtest_model::record::{RunEnd, RunStart};
use loadtest_model::redacted::Redacted;
use loadtest_model::samples::{SamplesHeader, SamplesRequest};
use loadtest_model::trace::RunIds;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::runtime;
use tokio::task::LocalSet;
use tokio::time::Instant;

/// A scenario that can begin: everything a run needs, checked and set up. Nothing of the load was sent yet.
pub(crate) struct PreparedRun {
    scenario: &'static Scenario,
    plan: Plan,
    /// For the teardowns.
    context: SetupContext,
    prepared: Prepared,
    network: Arc<Network>,
    sender: RunIdentity,
    validity_off: bool,
}

/// Runs the setups, asks for permission, and looks whether the target is there; what was set up in
/// vain is torn down.
pub(crate) fn prepare_run(
    scenario: &'static Scenario,
    mut plan: Plan,
    given: Option<String>,
    sender: &RunIdentity,
    values: SetupSource,
) -> Result<PreparedRun, RunFailure> {
    check_panic_strategy(!cfg!(panic = "abort"))?;
    if !matches!(values, SetupSource::Run) && scenario.definition.starts_target && given.is_none() {
        return Err(usage_failure(
            "its setup starts its own target, which other processes cannot reach",
            Some("give the URL of one target for all with `--base-url`".to_owned()),
        ));
    }
    offline::enter();
    if let Some(denied) = offline::denied() {
        return Err(RunFailure {
            kind: FailureKind::NotOffline,
            message: redact::redact(&denied.message),
            help: denied.help.as_deref().map(redact::redact),
        });
    }
    let validity_off = is_validity_off(std::env::var(VALIDITY_VARIABLE).ok().as_deref())
        .map_err(|message| usage_failure(message, None))?;
    check_secrets(&scenario.definition)?;
    let runtime = make_runtime()?;
    let known = declared_base_url(given.as_deref(), &scenario.definition);
    // What is known is asked for permission before a setup might start to use it.
    runtime
        .block_on(permit_known_hosts(scenario, known.as_deref(), sender))
        .map_err(network_failure)?;
    let errands = SetupClient::new(scenario, sender)
        .map_err(|error| internal_failure(format!("no runtime: {error}")))?;
    let mut context = setup_context(scenario, given.clone(), &plan, errands);
    context.values = values;
    let prepared = set_up(scenario, &context).map_err(|message| {
        if let Some(reason) = sender.withdrawn_reason() {
            return withdrawn_failure(&reason);
        }
        missing_secret_failure().unwrap_or(RunFailure {
            kind: if sender.was_refused() {
                FailureKind::NotPermitted
            } else {
                FailureKind::Setup
            },
            message,
            help: offline::proof().map(|_| OFFLINE_SETUP_HELP.into()),
        })
    })?;
    plan.rows.clone_from(&prepared.rows);
    let definition = &scenario.definition;
    let base = base_url(given, &prepared, definition);
    context.base_url.clone_from(&base);
    let network = if let Some(reason) = sender.withdrawn_reason() {
        Err(withdrawn_failure(&reason))
    } else if base.is_none() && definition.needs_base() {
        Err(usage_failure(
            format!("scenario `{}` has no target", definition.identity()),
            Some(NO_TARGET_HELP.to_owned()),
        ))
    } else {
        runtime
            .block_on(permit_and_reach(scenario, base.as_deref(), sender))
            .map_err(network_failure)
    };
    let network = network.and_then(|network| {
        let terms = permission::check_terms(&network, &mut plan, definition);
        terms.map(|()| network).map_err(network_failure)
    });
    match network {
        Ok(network) => Ok(PreparedRun {
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

impl PreparedRun {
    /// Returns the plan of the run.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the feeds whose rows it shares with others.
    pub(super) fn shared_feeds(&self) -> &[SharedFeed] {
        &self.prepared.shared_feeds
    }

    /// Ends the load after so many iterations at the latest.
    pub(super) fn limit_rows(&mut self, limit: Option<RowLimit>) {
        self.plan.rows = fewest([self.plan.rows.take(), limit]);
    }

    /// Keeps broken thresholds from ending this part of a load, of which a controller sees all.
    pub(super) fn leave_thresholds_to_controller(&mut self) {
        for scoped in &mut self.plan.thresholds {
            scoped.threshold.abort_after = None;
        }
    }

    /// Begins the file for the raw samples of a load that begins at `start`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn create_samples(
        &self,
        request: &SamplesRequest,
        run: &str,
        start: Instant,
    ) -> Result<SamplesFile, RunFailure> {
        let definition = redact_definition(&self.scenario.definition);
        let header = SamplesHeader {
            run: run.to_owned(),
            scenario: definition.identity(),
            started_us: engine::unix_micros(start),
            steps: (definition.steps.iter())
                .map(|step| step.name.to_string())
                .collect(),
        };
        SamplesFile::create(request, &header)
            .map_err(|error| internal_failure(format!("the samples cannot be kept: {error}")))
    }

    /// Returns the identity of the scenario.
    pub(super) fn identity(&self) -> String {
        self.scenario.definition.identity()
    }

    /// Returns the start of the record, which is known before anything is measured.
    pub(crate) fn start_record(&self, executable_hash: &str, workers: u32) -> RunStart {
        let target = self.prepared.target.as_ref();
        RunStart {
            definition: redact_definition(&self.scenario.definition),
            plan: self.plan.clone(),
            base_url: self.network.base_url().map(str::to_owned),
            own_target: target.is_some(),
            target_in_process: target.is_some_and(Target::is_in_process),
            permits: self.network.permits(),
            offline: offline::proof().cloned(),
            validity_off: self.validity_off,
            executable_hash: executable_hash.to_owned(),
            workers,
            started_at: humantime::format_rfc3339_seconds(SystemTime::now() + self.plan.start)
                .to_string(),
        }
    }

    /// Returns the needs of `workers` threads.
    pub(crate) fn machine_need(&self, workers: u32) -> MachineNeed {
        let target = self.prepared.target.as_ref();
        let definition = &self.scenario.definition;
        let has_sockets = definition.steps.iter().any(|step| step.websocket.is_some());
        let shared = definition.client().connections.filter(|_| !has_sockets);
        let shared = shared.map_or(u32::MAX, |connections| connections.max(workers));
        MachineNeed {
            users: self.plan.max_users.min(shared),
            is_ceiling: self.plan.load.is_open() && self.plan.load.max_users.is_none(),
            workers,
            target: self.network.base_url().map(str::to_owned),
            addresses: self.network.base_addresses() as u64,
            target_in_process: target.is_some_and(Target::is_in_process),
        }
    }

    /// Undoes the setups, also of a run that does not take place.
    pub(crate) fn tear_down_unused(self) {
        tear_down(self.scenario, &self.prepared, &self.context);
    }

    /// Runs the teardowns of setups that ran in another process.
    pub(super) fn run_teardowns(self) -> Result<(), Redacted> {
        let ran = (self.scenario.teardown)(&self.prepared.shared, &self.context);
        ran.map_err(|message| redact::redact_message(&message))
    }

    /// Runs one iteration and the teardowns; `tell` gets what happens.
    pub(super) fn run_debug_iteration(
        self,
        request: &DebugRequest,
        place: IterationPosition,
        control: &Control,
        mut tell: impl FnMut(DebugEvent),
    ) -> Result<(), RunFailure> {
        let definition = &self.scenario.definition;
        if let Some(limit) = self
            .plan
            .rows
            .as_ref()
            .filter(|limit| place.feed_index >= limit.rows)
        {
            let message = format!(
                "the load ends before this iteration: the feed `{}` has rows for {} journeys",
                limit.feed, limit.rows
            );
            self.tear_down_unused();
            return Err(usage_failure(message, None));
        }
        let runtime = match make_runtime() {
            Ok(runtime) => runtime,
            Err(failure) => {
                self.tear_down_unused();
                return Err(failure);
            }
        };
        let base = self.network.base_url().map(str::to_owned);
        tell(DebugEvent::Start(Box::new(DebugStart {
            definition: redact_definition(definition),
            number: place.to_number(&self.plan),
            seed: request.seed,
            base_url: base.as_deref().map(redact::redact),
            own_target: self.prepared.target.is_some(),
        })));
        let tls = CurlTls::from_client(&definition.client(), &self.scenario.folder());
        let mut watcher = DebugObserver::new(definition, base.as_deref(), tls, &mut tell);
        let user = HttpTransport::new(Arc::clone(&self.network), place.user).watched();
        let (shared, plan) = (&self.prepared.shared, &self.plan);
        let ids = self.trace_ids();
        let mut phase = control.subscribe();
        let ran = LocalSet::new().block_on(&runtime, async {
            tokio::select! {
                biased;
                _ = phase.wait_for(|phase| *phase > RunPhase::Running) => None,
                ran = engine::run_single_iteration(self.scenario, shared, plan, user, place, ids, &mut watcher) => Some(ran),
            }
        });
        let has_failed = watcher.has_failed;
        drop(watcher);
        let target_death = target_death(&self.prepared);
        tear_down(self.scenario, &self.prepared, &self.context);
        let Some(ran) = ran else {
            return Err(interrupted_failure());
        };
        if let Some(failure) = missing_secret_failure() {
            return Err(failure);
        }
        let problem = ran.err().or_else(|| self.sender.withdrawn_reason());
        tell(DebugEvent::End(DebugEnd {
            is_ok: problem.is_none() && !has_failed,
            problem: problem.map(|problem| redact::redact_message(&problem)),
            target_death,
        }));
        Ok(())
    }

    /// Returns the ids of its traces, if requests carry them.
    fn trace_ids(&self) -> Option<RunIds> {
        let run_id = self.sender.run_id();
        self.plan
            .tracing
            .is_some()
            .then(|| RunIds::new(run_id, &self.identity(), self.plan.seed))
    }

    /// Runs the load and the teardowns; `report` gets a frame a second.
    pub(crate) fn run_and_tear_down(
        self,
        workers: Workers,
        start: Instant,
        control: &Control,
        report: impl FnMut(Frame),
    ) -> Result<RunEnd, RunFailure> {
        let end = self.run_load(workers, start, control, None, None, report);
        self.tear_down_unused();
        end
    }

    /// Runs the load, and writes the spans of sampled journeys and the raw samples to files where they are given; what
    /// was set up stays as it is.
    pub(super) fn run_load(
        &self,
        workers: Workers,
        start: Instant,
        control: &Control,
        spans: Option<&Path>,
        samples: Option<SamplesFile>,
        report: impl FnMut(Frame),
    ) -> Result<RunEnd, RunFailure> {
        let spans = spans.filter(|_| self.plan.tracing.is_some());
        let spans = spans.and_then(|path| start_spans(path, start));
        let _measured = ActiveLoad::begin();
        let network = Arc::clone(&self.network);
        let _proofs = permission::watch_statements(&self.network);
        let load = LoadRun {
            tracing: self.trace_ids().map(|ids| RunTracing {
                ids,
                spans: spans.as_ref().map(SpanWriter::outlet),
            }),
            samples,
            ..self.plain_load(workers, start, control)
        };
        let ended = load.run(
            move |user| HttpTransport::new(Arc::clone(&network), user),
            self.halt_where_asked(report),
        );
        if let Some(spans) = spans {
            spans.finish();
        }
        self.end_load(ended.map_err(|error| internal_failure(error.to_string())))
    }

    /// The same with one worker on the thread and by the clock of the caller, who is within a `LocalSet`.
    pub(crate) async fn run_load_on_this_thread(
        &self,
        control: &Control,
        report: impl FnMut(Frame),
    ) -> Result<RunEnd, RunFailure> {
        let _measured = ActiveLoad::begin();
        let network = Arc::clone(&self.network);
        let start = engine::common_start(1);
        let load = LoadRun {
            tracing: self.trace_ids().map(|ids| RunTracing { ids, spans: None }),
            ..self.plain_load(Workers::none(), start, control)
        };
        let ended = load
            .run_on_this_thread(
                move |user| HttpTransport::new(Arc::clone(&network), user),
                self.halt_where_asked(report),
            )
            .await;
        self.end_load(Ok(ended))
    }

    /// Returns the load without traces and samples.
    fn plain_load<'a>(
        &'a self,
        workers: Workers,
        start: Instant,
        control: &'a Control,
    ) -> LoadRun<'a> {
        LoadRun {
            scenario: self.scenario,
            shared: &self.prepared.shared,
            plan: &self.plan,
            workers,
            start,
            control,
            tracing: None,
            samples: None,
        }
    }

    /// Reports each frame, and halts the load where its target, its permission or a missing secret asks for that.
    fn halt_where_asked(
        &self,
        mut report: impl FnMut(Frame),
    ) -> impl FnMut(Frame) -> ControlFlow<Redacted> {
        let watched = Arc::clone(&self.network);
        let longest = permission::shortest_max_duration(&watched);
        move |frame| {
            let second = frame.second;
            report(frame);
            if let Some((longest, words)) = &longest
                && Duration::from_secs(u64::from(second) + 1) >= *longest
            {
                watched.halt(words.clone());
            }
            match watched.halted() {
                Some(reason) => ControlFlow::Break(redact::redact(reason)),
                // The run fails for it, whatever its end.
                None if secrets::first_missing().is_some() => {
                    ControlFlow::Break(Redacted::default())
                }
                None => ControlFlow::Continue(()),
            }
        }
    }

    /// Adds what is known of the target to the end of a load.
    fn end_load(&self, ended: Result<RunEnd, RunFailure>) -> Result<RunEnd, RunFailure> {
        if let Some(failure) = missing_secret_failure() {
            return Err(failure);
        }
        let target_death = target_death(&self.prepared);
        Ok(RunEnd {
            target_death,
            ..ended?
        })
    }

    /// The same run under another load.
    pub(super) fn replace_plan(&mut self, plan: Plan) {
        let rows = self.prepared.rows.clone();
        self.plan = Plan { rows, ..plan };
    }

    /// Returns whether the target that the scenario started has ended.
    pub(super) fn has_lost_target(&self) -> bool {
        target_death(&self.prepared).is_some()
    }

    /// Asks whether the target is there.
    ///
    /// # Errors
    /// What is seen of it, in words.
    pub(super) fn reach_target(&self) -> Result<(), Redacted> {
        if let Some(death) = target_death(&self.prepared) {
            return Err(death);
        }
        let reached = make_runtime().map(|runtime| runtime.block_on(self.network.reachable()));
        match reached {
            Ok(Err(error)) => Err(redact::redact(&error.to_string())),
            _ => Ok(()),
        }
    }
}

/// Starts the file of spans; without one the load runs all the same.
fn start_spans(path: &Path, start: Instant) -> Option<SpanWriter> {
    let writer = SpanWriter::start(path, start);
    let print = |error: &_| print_error(&format!("warning: spans cannot be written: {error}"));
    writer.inspect_err(print).ok()
}

/// Prepares the machine for simultaneous loads, and prints what may become a problem.
pub(crate) fn check_machine(need: &[MachineNeed]) -> Result<(), RunFailure> {
    let warnings = machine::check_machine(need)
        .map_err(|MachineShortage { message, help }| usage_failure(message, Some(help)))?;
    for warning in warnings {
        print_error(&format!("warning: {warning}"));
    }
    Ok(())
}

/// Looks up the secrets that the source of a scenario shows, before anything is sent.
fn check_secrets(definition: &ScenarioDef) -> Result<(), RunFailure> {
    secrets::forget_missing();
    let (mut message, mut help) = (Vec::new(), Vec::new());
    for missing in missing_secrets(definition) {
        message.push(missing.to_string());
        help.push(missing.help());
    }
    if message.is_empty() {
        return Ok(());
    }
    Err(usage_failure(message.join("; "), Some(help.join("; "))))
}

/// The secrets that the source of a scenario shows and that cannot be had.
pub(super) fn missing_secrets(definition: &ScenarioDef) -> impl Iterator<Item = MissingSecret> {
    let names = definition.secrets.iter();
    names.filter_map(|name| secrets::look_up(name).err())
}

/// Returns the failure for a missing secret that only the code asked for.
fn missing_secret_failure() -> Option<RunFailure> {
    let missing = secrets::first_missing()?;
    Some(usage_failure(
        format!("{missing}; its name is known only to the code that asked for it"),
        Some(missing.help()),
    ))
}

/// A program that a panic ends can count none of its steps' panics: one would take all measurements with it.
fn check_panic_strategy(unwinds: bool) -> Result<(), RunFailure> {
    if unwinds {
        return Ok(());
    }
    Err(usage_failure(
        "this program was built with `panic = \"abort\"`: the panic of a single step would end it, and lose \
         every measurement"
            .to_owned(),
        Some(
            "remove `panic = \"abort\"` from the profile in `Cargo.toml`, or `-C panic=abort` from RUSTFLAGS"
                .to_owned(),
        ),
    ))
}

/// The plan of a scenario, or all that is wrong with it.
pub(crate) fn make_plan(
    definition: &ScenarioDef,
    overrides: &Overrides,
    grading: &GradingDefaults,
    seed: u64,
) -> Result<Plan, RunFailure> {
    Plan::new(definition, overrides, grading, seed).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        usage_failure(
            format!("{}: {}", definition.identity(), errors.join("; ")),
            None,
        )
    })
}

/// The base URL as far as it is known before the setups.
pub(super) fn declared_base_url(given: Option<&str>, definition: &ScenarioDef) -> Option<String> {
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

/// Returns the context for the setups of a run.
pub(super) fn setup_context(
    scenario: &Scenario,
    base_url: Option<String>,
    plan: &Plan,
    errands: SetupClient,
) -> SetupContext {
    SetupContext {
        base_url,
        root: scenario.folder(),
        seed: engine::scenario_seed(plan, &scenario.definition),
        users: plan.max_users,
        first_rows: false,
        sender: Some(Arc::new(errands)),
        values: SetupSource::Run,
    }
}

/// Runs the setups; their panics are errors, and nothing they say keeps a secret.
pub(super) fn set_up(scenario: &Scenario, context: &SetupContext) -> Result<Prepared, Redacted> {
    let prepared = match engine::catch_panic(|| (scenario.prepare)(context)) {
        // It holds no value, and in `tokens.csv:17` the line is none.
        Ok(Err(error @ SetupError::Feed { .. })) => {
            return Err(Redacted::assume(error.to_string()));
        }
        Ok(prepared) => prepared.map_err(|error| error.to_string()),
        Err(message) => Err(format!("the setup panicked: {message}")),
    };
    prepared.map_err(|message| redact::redact_message(&message))
}

/// Runs the teardowns, unless the setups ran elsewhere; what they break costs no measurement.
pub(super) fn tear_down(scenario: &Scenario, prepared: &Prepared, context: &SetupContext) {
    if let SetupSource::Given(_) | SetupSource::Elsewhere = context.values {
        return;
    }
    if let Err(message) = (scenario.teardown)(&prepared.shared, context) {
        let identity = scenario.definition.identity();
        print_error(&format!(
            "warning: {identity}: {}",
            redact::redact_message(&message)
        ));
    }
}

/// Returns how the target that the scenario started has ended, if it has.
fn target_death(prepared: &Prepared) -> Option<Redacted> {
    let target = prepared.target.as_ref()?;
    let died = target.check().err()?;
    Some(redact::redact_message(&died.to_string()))
}

/// Makes a runtime for a few sequential requests.
fn make_runtime() -> Result<runtime::Runtime, RunFailure> {
    runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| internal_failure(format!("no runtime: {error}")))
}

/// Help for a scenario without a target.
pub(super) const NO_TARGET_HELP: &str = "set `base = \"http://127.0.0.1:8080\"` in `#[scenario(..)]`, return a `Target` from \
     a `#[setup]`, set LOADTEST_BASE_URL, or give `--base-url`";

/// The base URL of the environment.
pub(crate) fn given_base_url() -> Option<String> {
    std::env::var(BASE_URL_VARIABLE)
        .ok()
        .filter(|url| !url.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_a_panic_ends_is_refused_with_the_remedy() {
        assert_eq!(check_panic_strategy(true), Ok(()));
        let failure = check_panic_strategy(false).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Usage);
        assert!(failure.message.contains("`panic = \"abort\"`"));
        assert!(failure.help.unwrap().contains("`Cargo.toml`"));
    }
}

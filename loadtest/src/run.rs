//! Runs scenarios from ordinary code.

use crate::chain::Scenario;
use crate::chain::SetupSource;
use crate::engine::{self, Control, RunPhase, Workers};
use crate::harness::run::{
    PreparedRun, check_machine, given_base_url, internal_failure, make_plan, prepare_run,
};
use crate::harness::run_identity::RunIdentity;
use loadtest_model::card::Card;
use loadtest_model::definition::{Load, ScenarioDef, Share};
use loadtest_model::exit_code::ExitCode;
use loadtest_model::failure::{FailureKind, RunFailure};
use loadtest_model::metrics::Frame;
use loadtest_model::plan::{GradingDefaults, Overrides};
use loadtest_model::record::{RunEnd, ScenarioRecord};
use loadtest_model::redacted::Redacted;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// Runs `scenario` under `load` and grades it. [`Run`] has more options.
///
/// ```no_run
/// use loadtest::prelude::*;
/// use loadtest::definition::{Load, Rate};
/// use std::time::Duration;
///
/// #[scenario(base = "http://127.0.0.1:3000")]
/// fn visit() {
///     #[step(get = "/", expect = 200)]
///     fn home();
/// }
///
/// # async fn program() -> Result<(), loadtest::RunError> {
/// let card = loadtest::run(visit(), Load::rate(Rate::per_second(200.0), Duration::from_secs(10))).await?;
/// println!("{card}");
/// assert_eq!(card.exit_code().number(), 0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`RunError`] when there was no run.
pub async fn run(scenario: &'static Scenario, load: Load) -> Result<Card, RunError> {
    Run::new(scenario).load(load).run().await
}

/// Builder of a run.
///
/// It does what `cargo loadtest run` does: setups, permission, load, teardowns, grade. The load uses its own
/// threads, independent of the runtime that waits for it.
#[derive(Debug, Clone)]
#[must_use = "nothing runs before `run`"]
pub struct Run {
    scenario: &'static Scenario,
    load: Option<Load>,
    base_url: Option<String>,
    seed: Option<u64>,
    identifier: Option<String>,
    grading: GradingDefaults,
    validity_off: bool,
    control: Control,
    progress: Option<ProgressCallback>,
}

/// The counters of a run so far, warm-up and ramp-up included. Times and rates are in the card.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Since the start of the load, in whole seconds.
    pub elapsed: Duration,
    /// Iterations that started.
    pub started: u64,
    /// Iterations that ended well.
    pub ok: u64,
    /// Iterations that failed.
    pub failed: u64,
    /// Iterations that could not start, since no user was free.
    pub dropped: u64,
}

impl Progress {
    fn add(&mut self, frame: &Frame) {
        self.elapsed = Duration::from_secs(u64::from(frame.second) + 1);
        for tally in frame.windows.all() {
            self.started += tally.journey.started;
            self.ok += tally.journey.ok;
            self.failed += tally.journey.failed;
            self.dropped += tally.journey.dropped;
        }
    }
}

#[derive(Clone)]
struct ProgressCallback(Arc<dyn Fn(Progress) + Send + Sync>);

impl fmt::Debug for ProgressCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressCallback")
    }
}

impl Run {
    /// Creates a run of `scenario` under the load that it declares.
    pub fn new(scenario: &'static Scenario) -> Self {
        Self {
            scenario,
            load: None,
            base_url: None,
            seed: None,
            identifier: None,
            grading: GradingDefaults::default(),
            validity_off: false,
            control: Control::new(),
            progress: None,
        }
    }

    /// Sets the load, in place of the declared one.
    pub fn load(mut self, load: Load) -> Self {
        self.load = Some(load);
        self
    }

    /// Sets the URL that paths are joined to. It overrides the declared one and `LOADTEST_BASE_URL`.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the seed of weights, think times and data. It is random by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the identifier of the run, which is sent with every request. It is random by default.
    pub fn run_id(mut self, run_id: impl Into<String>) -> Self {
        self.identifier = Some(run_id.into());
        self
    }

    /// Sets the Apdex target T of steps that declare none.
    pub fn apdex(mut self, target: Duration) -> Self {
        self.grading.apdex = Some(target);
        self
    }

    /// Sets the error budget of steps that declare none.
    pub fn budget(mut self, share: Share) -> Self {
        self.grading.budget = Some(share.as_fraction());
        self
    }

    /// Leaves the validity of the measurement unjudged, as `LOADTEST_VALIDITY=off` does: a test of the library has the
    /// same grade on a busy machine.
    #[doc(hidden)]
    pub fn without_validity(mut self) -> Self {
        self.validity_off = true;
        self
    }

    /// Sets the control that stops the run early. A stopped run has a card too: its verdict is
    /// [`Interrupted`](loadtest_model::card::Verdict::Interrupted). A control stops every run that has it.
    pub fn control(mut self, control: &Control) -> Self {
        self.control = control.clone();
        self
    }

    /// Calls `report` once a second during the load, on the thread of the run: it must not block.
    pub fn on_progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(ProgressCallback(Arc::new(report)));
        self
    }

    /// Runs it and grades it. A future that is dropped stops the run: no iteration starts any more,
    /// those in flight may end, the teardowns run.
    ///
    /// # Errors
    /// [`RunError`] when there was no run: a mistake in the load, a setup that failed, a target that is
    /// not there or may not be tested.
    pub async fn run(self) -> Result<Card, RunError> {
        let mut stop = StopOnDrop(Some(self.control.clone()));
        let (sender, receiver) = oneshot::channel();
        self.spawn(move |result| _ = sender.send(result))?;
        let result = receiver.await;
        // The run is over, and its control may be that of others.
        stop.0 = None;
        result.unwrap_or_else(|_| Err(lost()))
    }

    /// The same for code that is not asynchronous: blocks until the run is over.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_blocking(self) -> Result<Card, RunError> {
        let (sender, receiver) = std::sync::mpsc::channel();
        self.spawn(move |result| _ = sender.send(result))?;
        receiver.recv().unwrap_or_else(|_| Err(lost()))
    }

    fn spawn(
        self,
        done: impl FnOnce(Result<Card, RunError>) + Send + 'static,
    ) -> Result<(), RunError> {
        thread::Builder::new()
            .name("loadtest-run".to_owned())
            .spawn(move || {
                // A panic of ours must not look like a run that never ends; it drops `done`.
                done(self.measure().map_err(RunError::from));
            })
            .map(drop)
            .map_err(|error| internal_failure(format!("no thread: {error}")).into())
    }

    /// Runs it with one worker, on the thread and by the clock of the caller, who is within a `LocalSet`. A test of the
    /// library may pause that clock: what a run waits for then takes no time, and no other program disturbs it.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    #[doc(hidden)]
    pub async fn run_on_this_thread(self) -> Result<Card, RunError> {
        // Setups block; a paused clock stands still meanwhile.
        let preparing = spawn_blocking(move || self.prepare().map(|ready| (self, ready)));
        let (run, ready) = preparing.await.unwrap_or_else(|_| Err(lost_failure()))?;
        if run.control.phase() != RunPhase::Running {
            let torn_down = spawn_blocking(|| ready.tear_down_unused()).await;
            return Err(torn_down.map_or_else(|_| lost(), |()| interrupted().into()));
        }
        let mut report = GradedRun::new(&run, &ready, 1);
        let ended = ready
            .run_load_on_this_thread(&run.control, |frame| report.add(&frame))
            .await;
        spawn_blocking(|| ready.tear_down_unused())
            .await
            .map_err(|_| lost())?;
        Ok(report.grade(ended?))
    }

    /// Plans the run and sets it up.
    fn prepare(&self) -> Result<PreparedRun, RunFailure> {
        let random = || RandomState::new().hash_one("seed") & u64::from(u32::MAX);
        let seed = self.seed.unwrap_or_else(random);
        let run_id = self.identifier.clone();
        let run_id = run_id.unwrap_or_else(|| format!("{:08x}", random()));
        let declared = self.scenario.definition.clone();
        let definition = ScenarioDef {
            load: self.load.clone().or(declared.load),
            ..self.scenario.definition.clone()
        };
        let plan = make_plan(&definition, &Overrides::default(), &self.grading, seed)?;
        prepare_run(
            self.scenario,
            plan,
            self.base_url.clone().or_else(given_base_url),
            &RunIdentity::new(run_id),
            SetupSource::Run,
        )
    }

    fn measure(self) -> Result<Card, RunFailure> {
        let ready = self.prepare()?;
        let workers = engine::worker_count(ready.plan());
        let prepared_workers = check_machine(&[ready.machine_need(workers)]).and_then(|()| {
            Workers::new(workers, workers).map_err(|error| internal_failure(error.to_string()))
        });
        let prepared_workers = match prepared_workers {
            Ok(prepared_workers) if self.control.phase() == RunPhase::Running => prepared_workers,
            result => {
                ready.tear_down_unused();
                return Err(result.err().unwrap_or_else(interrupted));
            }
        };
        let mut report = GradedRun::new(&self, &ready, workers);
        let start = engine::common_start(1);
        let end = ready.run_and_tear_down(prepared_workers, start, &self.control, |frame| {
            report.add(&frame);
        })?;
        Ok(report.grade(end))
    }
}

/// The record of a run under way, and its caller who wants to know how far it is.
struct GradedRun {
    record: ScenarioRecord,
    progress: Progress,
    callback: Option<ProgressCallback>,
}

impl GradedRun {
    fn new(run: &Run, ready: &PreparedRun, workers: u32) -> Self {
        let mut start_record = ready.start_record("", workers);
        start_record.validity_off |= run.validity_off;
        Self {
            record: ScenarioRecord::new(start_record),
            progress: Progress::default(),
            callback: run.progress.clone(),
        }
    }

    fn add(&mut self, frame: &Frame) {
        self.record.absorb(frame);
        if let Some(ProgressCallback(report)) = &self.callback {
            self.progress.add(frame);
            report(self.progress);
        }
    }

    fn grade(mut self, end: RunEnd) -> Card {
        self.record.finish(end);
        Card::grade(&self.record, None)
    }
}

struct StopOnDrop(Option<Control>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(control) = &self.0 {
            control.stop();
        }
    }
}

fn interrupted() -> RunFailure {
    RunFailure {
        kind: FailureKind::Interrupted,
        message: "stopped before the load started".into(),
        help: None,
    }
}

fn lost() -> RunError {
    lost_failure().into()
}

fn lost_failure() -> RunFailure {
    internal_failure("the run ended without a result")
}

/// The reason why a run did not take place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunError {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The message.
    pub message: String,
    /// The remedy, if one is known.
    pub help: Option<String>,
}

impl RunError {
    /// The exit code that `cargo loadtest run` would end with.
    pub fn exit_code(&self) -> ExitCode {
        self.kind.exit_code()
    }
}

impl From<RunFailure> for RunError {
    fn from(failure: RunFailure) -> Self {
        Self {
            kind: failure.kind,
            message: failure.message.into_string(),
            help: failure.help.map(Redacted::into_string),
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for RunError {}

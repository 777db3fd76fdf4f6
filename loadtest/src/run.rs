//! A scenario as a value: run from ordinary code, in a program or a test of one's own.

use crate::chain::Scenario;
use crate::engine::{self, Control, RunPhase, Workers};
use crate::harness::run::{
    check_machine, given_base_url, internal_failure, make_plan, prepare_run,
};
use crate::harness::run_identity::RunIdentity;
use loadtest_model::card::Card;
use loadtest_model::definition::{Load, ScenarioDef};
use loadtest_model::failure::{FailureKind, RunFailure};
use loadtest_model::plan::{GradingDefaults, Overrides};
use loadtest_model::record::ScenarioRecord;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Runs `scenario` under `load` and grades it: [`Run`] with nothing else to say.
///
/// ```no_run
/// use loadtest::prelude::*;
/// use loadtest::definition::Load;
/// use std::time::Duration;
///
/// #[scenario(base = "http://127.0.0.1:3000")]
/// fn visit() {
///     #[step(get = "/", expect = 200)]
///     fn home();
/// }
///
/// # async fn program() -> Result<(), loadtest::RunError> {
/// let card = loadtest::run(visit(), Load::rate(200.0, Duration::from_secs(10))).await?;
/// println!("{card}");
/// assert_eq!(card.exit_code(), 0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`RunError`] when there was no run.
pub async fn run(scenario: &'static Scenario, load: Load) -> Result<Card, RunError> {
    Run::new(scenario).load(load).run().await
}

/// A run to be: a scenario, and how it is to be run.
///
/// It does what `cargo loadtest run` does: setups, permission, load, teardowns, grade. The load has
/// threads of its own, so that it does not matter in which runtime one waits for it, or in none.
#[derive(Debug, Clone)]
#[must_use = "nothing runs before `run`"]
pub struct Run {
    scenario: &'static Scenario,
    load: Option<Load>,
    base_url: Option<String>,
    seed: Option<u64>,
    identifier: Option<String>,
    grading: GradingDefaults,
}

impl Run {
    /// A run of `scenario` under the load that it declares.
    pub fn new(scenario: &'static Scenario) -> Self {
        Self {
            scenario,
            load: None,
            base_url: None,
            seed: None,
            identifier: None,
            grading: GradingDefaults::default(),
        }
    }

    /// The load, in place of the one that the scenario declares.
    pub fn load(mut self, load: Load) -> Self {
        self.load = Some(load);
        self
    }

    /// The URL that paths are joined to, whatever the scenario declares or `LOADTEST_BASE_URL` says.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The seed of weights, think times and data; any other where nothing is said.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The identifier of the run, which is sent with every request.
    pub fn run_id(mut self, run_id: impl Into<String>) -> Self {
        self.identifier = Some(run_id.into());
        self
    }

    /// The grading target T of steps that declare none.
    pub fn apdex(mut self, target: Duration) -> Self {
        self.grading.apdex = Some(target);
        self
    }

    /// The error budget of steps that declare none, a share of one.
    pub fn budget(mut self, share: f64) -> Self {
        self.grading.budget = Some(share);
        self
    }

    /// Runs it and grades it. A future that is dropped stops the run: no iteration starts any more,
    /// those in flight may end, the teardowns run.
    ///
    /// # Errors
    /// [`RunError`] when there was no run: a mistake in the load, a setup that failed, a target that is
    /// not there or may not be tested.
    pub async fn run(self) -> Result<Card, RunError> {
        let control = Control::new();
        let stop = StopOnDrop(control.clone());
        let (sender, receiver) = oneshot::channel();
        self.spawn(control, move |result| _ = sender.send(result))?;
        let result = receiver.await;
        drop(stop);
        result.unwrap_or_else(|_| Err(lost()))
    }

    /// The same for code that is not asynchronous: blocks until the run is over.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_blocking(self) -> Result<Card, RunError> {
        let (sender, receiver) = std::sync::mpsc::channel();
        self.spawn(Control::new(), move |result| _ = sender.send(result))?;
        receiver.recv().unwrap_or_else(|_| Err(lost()))
    }

    fn spawn(
        self,
        control: Control,
        done: impl FnOnce(Result<Card, RunError>) + Send + 'static,
    ) -> Result<(), RunError> {
        thread::Builder::new()
            .name("loadtest-run".to_owned())
            .spawn(move || {
                // A panic of ours must not look like a run that never ends; it drops `done`.
                done(self.measure(&control).map_err(RunError::from));
            })
            .map(drop)
            .map_err(|error| internal_failure(format!("no thread: {error}")).into())
    }

    fn measure(self, control: &Control) -> Result<Card, RunFailure> {
        let Self {
            scenario,
            load,
            base_url,
            seed,
            identifier,
            grading,
        } = self;
        let random = || RandomState::new().hash_one("seed") & u64::from(u32::MAX);
        let seed = seed.unwrap_or_else(random);
        let run_id = identifier.unwrap_or_else(|| format!("{:08x}", random()));
        let declared = scenario.definition.clone();
        let definition = ScenarioDef {
            load: load.or(declared.load),
            ..scenario.definition.clone()
        };
        let plan = make_plan(&definition, &Overrides::default(), &grading, seed)?;
        let given = base_url.or_else(given_base_url);
        let ready = prepare_run(scenario, plan, given, &RunIdentity::new(run_id))?;
        let workers = engine::worker_count(ready.plan());
        let prepared_workers = check_machine(&[ready.machine_need(workers)]).and_then(|()| {
            Workers::new(workers, workers).map_err(|error| internal_failure(error.to_string()))
        });
        let prepared_workers = match prepared_workers {
            Ok(prepared_workers) if control.phase() == RunPhase::Running => prepared_workers,
            result => {
                ready.tear_down_unused();
                return Err(result.err().unwrap_or_else(interrupted));
            }
        };
        let mut record = ScenarioRecord::new(ready.start_record("", workers));
        let end = ready.run_and_tear_down(
            prepared_workers,
            engine::common_start(1),
            control,
            |frame| {
                record.absorb(&frame);
            },
        )?;
        record.finish(end);
        Ok(Card::grade(&record, None))
    }
}

struct StopOnDrop(Control);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn interrupted() -> RunFailure {
    RunFailure {
        kind: FailureKind::Interrupted,
        message: "stopped before the load began".to_owned(),
        help: None,
    }
}

fn lost() -> RunError {
    internal_failure("the run ended without a result".to_owned()).into()
}

/// Why there was no run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunError {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What is wrong.
    pub message: String,
    /// What to do instead.
    pub help: Option<String>,
}

impl RunError {
    /// The exit code that `cargo loadtest run` would end with.
    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }
}

impl From<RunFailure> for RunError {
    fn from(failure: RunFailure) -> Self {
        Self {
            kind: failure.kind,
            message: failure.message,
            help: failure.help,
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

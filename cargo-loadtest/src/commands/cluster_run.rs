//! A run whose load the agents of a cluster make; its setups and teardowns run here.

use crate::cli::RunArgs;
use crate::cluster::{Cluster, ClusterRun, SentBundle};
use crate::config::Config;
use crate::live::Live;
use crate::selection::Found;
use crate::session::{self, Program};
use crate::store::RunFolder;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_console::interrupt::Interrupts;
use loadtest_model::plan::{Overrides, Plan, PlanError};
use loadtest_model::protocol::{Request, RunRequest, SetupRequest, SetupValues};
use loadtest_model::record::{Environment, ScenarioRecord};
use loadtest_model::shard::Shard;
use std::path::Path;

/// Returns the cluster that makes the load, if one does.
///
/// # Errors
/// When it is not described in full, or cannot make such a run.
pub(super) fn open_cluster(args: &RunArgs, config: &Config) -> Result<Option<Cluster>, Error> {
    let given = &args.cluster;
    if given.cluster.is_none() && given.agents.is_none() {
        let unused = [
            ("--sign", given.sign.is_some()),
            ("--wait", given.wait.is_some()),
            ("--on-agent-loss", given.on_agent_loss.is_some()),
            ("--min-share", given.min_share.is_some()),
        ];
        return match unused.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(None),
            Some((option, _)) => Err(Error::usage(format!(
                "`{option}` is only for a run with agents"
            ))
            .with_help("give `--agents 3` or `--cluster URL` too")),
        };
    }
    if args.curl.file.is_some() || !args.curl.command.is_empty() {
        return Err(Error::usage("agents need a program, not a copied request")
            .with_help("turn it into a scenario: `cargo loadtest import curl`"));
    }
    if args.samples.samples.is_some() {
        return Err(Error::usage("agents write no samples").with_help(
            "leave `--samples` out, or divide the load with `--shard`, where each process writes its own",
        ));
    }
    let mut cluster = Cluster::new(
        given.cluster.as_deref(),
        given.agents,
        given.wait,
        given.on_agent_loss,
        given.min_share,
        config,
    )?;
    if let (Some(bundle), Some(key)) = (&args.project.bundle, &given.sign) {
        cluster.sent = Some(SentBundle::sign(bundle, key)?);
    }
    Ok(Some(cluster))
}

/// Refuses, before agents are waited for, a load that so many cannot share.
///
/// # Errors
/// When there is one.
pub(super) fn check_division(
    chosen: &[Found],
    overrides: &[Overrides],
    config: &Config,
    cluster: Option<&Cluster>,
) -> Result<(), Error> {
    let Some(cluster) = cluster else {
        return Ok(());
    };
    let agents = u32::try_from(cluster.agents).unwrap_or(u32::MAX);
    let shard = Shard::new(1, agents).map_err(|error| Error::usage(error.to_string()))?;
    let mut mistakes = Vec::new();
    for (found, overrides) in chosen.iter().zip(overrides) {
        let overrides = Overrides {
            shard,
            ..overrides.clone()
        };
        let Err(errors) = Plan::new(&found.definition, &overrides, &config.grading, 0) else {
            continue;
        };
        let identity = found.definition.identity();
        mistakes.extend(errors.iter().map(|error| match error {
            PlanError::Indivisible { what, .. } => {
                format!("`{identity}`: a load of {what} is too small for {agents} agents; give a larger one, or fewer `--agents`")
            }
            error => format!("`{identity}`: {error}"),
        }));
    }
    if mistakes.is_empty() {
        return Ok(());
    }
    Err(Error::usage(mistakes.join("\n")))
}

/// Scenarios that agents run at once.
pub(super) struct DividedRun<'a> {
    pub(super) folder: &'a RunFolder,
    pub(super) chosen: &'a [Found],
    /// The request of each, for the whole load.
    pub(super) requests: &'a [RunRequest],
    /// The hash of the bundle that they are from.
    pub(super) bundle: Option<String>,
    pub(super) interrupts: &'a Interrupts,
    pub(super) offline: bool,
}

impl DividedRun<'_> {
    /// Waits for agents, sets up, lets them make the load, and tears down.
    ///
    /// # Errors
    /// What prevents the whole; the result has what became of each scenario.
    pub(super) fn make(
        &self,
        cluster: &Cluster,
        live: &mut Live,
    ) -> Result<Vec<Result<ScenarioRecord, Error>>, Error> {
        let run = ClusterRun {
            name: format!("{}-{}", self.folder.identifier(), number_of(self.requests)),
            requests: self.requests,
            bundle: self.bundle.clone(),
            header: &self.folder.new_record(Environment::default()),
            folder: self.folder.path().to_path_buf(),
        };
        let crew = cluster.gather(&run, self.interrupts)?;
        let folder =
            tempfile::tempdir().map_err(Error::io("create a folder in", std::env::temp_dir()))?;
        let hooks = self.hooks(folder.path());
        let mut values = Vec::new();
        let set_up = self.set_up(&hooks, &mut values);
        let results = set_up.and_then(|()| crew.make_run(&values, self.interrupts, live));
        // What was set up is torn down, also of a run that the user stopped.
        for (found, hook) in self.chosen.iter().zip(&hooks).take(values.len()) {
            let patient = Interrupts::default();
            if let Err(error) = self.run_hooks(found, hook, Request::Teardown, &patient) {
                console::print_error(&error);
            }
        }
        results
    }

    /// Returns a request for the setups of each scenario, with files in `folder`.
    fn hooks(&self, folder: &Path) -> Vec<SetupRequest> {
        let requests = self.requests.iter().enumerate();
        requests
            .map(|(at, request)| SetupRequest {
                scenario: request.scenario.clone(),
                overrides: request.overrides.clone(),
                base_url: request.base_url.clone(),
                seed: request.seed,
                values: folder.join(format!("setup-values-{at}.json")),
                output: folder.join(format!("setup-{at}.jsonl")),
            })
            .collect()
    }

    /// Runs the setups in turn, and keeps the values of those that succeeded.
    fn set_up(&self, hooks: &[SetupRequest], values: &mut Vec<SetupValues>) -> Result<(), Error> {
        for (found, hook) in self.chosen.iter().zip(hooks) {
            self.run_hooks(found, hook, Request::Setup, self.interrupts)?;
            let text = files::read(&hook.values).map_err(Error::io("read", &hook.values))?;
            let read = serde_json::from_slice(&text);
            values.push(read.map_err(|error| {
                Error::failure(format!("the values of setups cannot be read: {error}"))
            })?);
        }
        Ok(())
    }

    fn run_hooks(
        &self,
        found: &Found,
        hook: &SetupRequest,
        asked: fn(Box<SetupRequest>) -> Request,
        interrupts: &Interrupts,
    ) -> Result<(), Error> {
        let program = Program::from_binary(&found.binary, self.offline);
        // The answer to what was asked before is not taken for this one.
        let _ = std::fs::remove_file(&hook.output);
        let request = hook.output.with_extension("request.json");
        session::run_hooks(program, asked, hook, &request, interrupts).map(|_| ())
    }
}

/// Returns the number of the first scenario in its run, from which the subjects of a cluster are named.
fn number_of(requests: &[RunRequest]) -> String {
    let journal = requests
        .first()
        .and_then(|request| request.journal.file_stem());
    let name = journal
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    name.trim_start_matches("journal-").to_owned()
}

//! `cargo loadtest agent` and `agents`: the machines of a cluster.

use super::{Project, UnpackedBundle};
use crate::cli::{AgentArgs, AgentsArgs, Cli, ResultFormat};
use crate::cluster::{
    Acceptance, AgentSetting, BundleKey, ClusterAddress, ListedAgent, Programs, list_agents, serve,
};
use crate::config::{Config, FILE_NAME};
use crate::policy::{self, Action};
use crate::store::Store;
use crate::workspace::{self, Workspace};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::display;
use loadtest_model::exit_code::ExitCode;
use std::path::Path;
use std::sync::Arc;

/// Serves runs of controllers with the load tests of the project.
///
/// # Errors
/// When there is no server, or nothing to run.
pub(crate) fn agent(args: &AgentArgs, cli: &Cli) -> Result<ExitCode, Error> {
    let key = args.accept_bundles.as_deref();
    let key = key.map(BundleKey::parse).transpose()?;
    let project = match &key {
        Some(_) => Project::open_anywhere(&args.project, cli)?,
        None => Project::open(&args.project, cli)?,
    };
    let config = project.config()?;
    let address = ClusterAddress::new(args.cluster.as_deref(), &config.cluster)?;
    if project.offline {
        return Err(Error::usage(
            "an agent with `--offline` (LOADTEST_OFFLINE) reaches no target: targets of a cluster are other processes",
        )
        .with_help("leave `--offline` out; `[[targets]]` lists where load may go"));
    }
    project.permits(Action::Run, &config)?;
    let (programs, acceptance) = if let Some(key) = key {
        let acceptance = accept_bundles(key, &project, &config);
        (Programs::default(), Some(acceptance))
    } else {
        let scenarios = project.scenarios()?;
        policy::permits_tests(&config, &scenarios)?;
        let bundle = project.bundle_hash();
        (Programs::new(scenarios, bundle, None)?, None)
    };
    let store = Store::in_workspace(&project.workspace, &config);
    let setting = AgentSetting {
        acceptance,
        environment: workspace::environment(project.workspace.root(), &store.outputs()),
        store: &store,
        weight: args.weight,
        once: args.once,
        offline: project.offline,
        interrupts: &project.interrupts,
    };
    serve(&setting, programs, &address)
}

/// Takes bundles of this key, within what `config` of this machine permits.
fn accept_bundles(key: BundleKey, project: &Project<'_>, config: &Config) -> Acceptance {
    let (interrupts, workspace) = (project.interrupts.clone(), &project.workspace);
    let (root, start) = (workspace.root().to_path_buf(), workspace.start.clone());
    let config = config.clone();
    let open = move |path: &Path| {
        let bundle = UnpackedBundle::open(path)?;
        if config.is_file {
            bundle
                .opened
                .limit_targets(&config.folder.join(FILE_NAME))?;
        }
        let scenarios = bundle.scenarios(&interrupts)?;
        let theirs = Config::of_bundle(&bundle.opened.config(), &root)?;
        for rules in [&theirs, &config] {
            policy::permits(Action::Run, rules, &start)?;
            policy::permits_tests(rules, &scenarios)?;
        }
        let UnpackedBundle { opened, folder } = bundle;
        Programs::new(scenarios, Some(opened.hash), Some(folder))
    };
    Acceptance {
        key,
        open: Arc::new(open),
    }
}

/// Prints the agents that are there.
///
/// # Errors
/// When there is no server.
pub(crate) fn list(args: &AgentsArgs) -> Result<ExitCode, Error> {
    let workspace = Workspace::load_or_folder(&args.cargo)?;
    let config = Config::load(&workspace.start, workspace.root())?;
    let address = ClusterAddress::new(args.cluster.as_deref(), &config.cluster)?;
    let agents = list_agents(&address)?;
    match args.format {
        ResultFormat::Json => console::print_json(
            serde_json::to_string_pretty(&agents).map_err(Error::encode("the agents"))?,
        )?,
        ResultFormat::Human if agents.is_empty() => console::print_result(
            "no agent is connected; start one with `cargo loadtest agent --cluster URL`",
        )?,
        ResultFormat::Human => {
            for agent in &agents {
                console::print_result(describe(agent))?;
            }
        }
    }
    Ok(ExitCode::Passed)
}

/// Formats an agent as a line.
fn describe(listed: &ListedAgent) -> String {
    let agent = &listed.info;
    let clock = listed.clock_offset_us.zip(listed.clock_error_us);
    let clock = clock.map_or("unknown".to_owned(), |(offset, error)| {
        display::format_clock_offset(offset, error)
    });
    let machine = &agent.environment;
    let cpus = display::format_counted(machine.cpus as u64, "processor");
    let scenarios = match &agent.accepts {
        Some(_) => "signed bundles".to_owned(),
        None => display::format_counted(agent.scenarios.len() as u64, "scenario"),
    };
    let state = agent
        .run
        .as_ref()
        .map_or("idle".to_owned(), |run| format!("runs {run}"));
    let line = format!(
        "{}  {}, {} {}, {cpus}, clock {clock}, version {}, weight {}, {scenarios}, {state}",
        agent.agent, agent.host, machine.os, machine.arch, agent.tool_version, agent.weight
    );
    console::clean(&line)
}

//! `cargo loadtest setup` and `teardown`: once for all shards of a load.

use super::{Project, run};
use crate::cli::{Cli, SetupArgs};
use crate::policy::{self, Action};
use crate::selection::Found;
use crate::session::{self, Program};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_console::process;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::protocol::{Request, SetupRequest, SetupValues};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Runs the setups of a scenario, and writes their values.
///
/// # Errors
/// When one failed, or its value cannot be written as JSON.
pub(crate) fn setup(args: &SetupArgs, cli: &Cli) -> Result<ExitCode, Error> {
    let values = run_hooks(args, cli, Request::Setup)?;
    let file = args.values.display();
    console::print_result(match &*values {
        [] => format!("No setup of the scenario makes a value; wrote {file} without one"),
        names => format!("Wrote the values of {} to {file}", names.join(", ")),
    })?;
    Ok(ExitCode::Passed)
}

/// Runs the teardowns of a scenario, with the values that its setups made.
///
/// # Errors
/// When one failed.
pub(crate) fn teardown(args: &SetupArgs, cli: &Cli) -> Result<ExitCode, Error> {
    run_hooks(args, cli, Request::Teardown)?;
    Ok(ExitCode::Passed)
}

fn run_hooks(
    args: &SetupArgs,
    cli: &Cli,
    asked: impl FnOnce(Box<SetupRequest>) -> Request,
) -> Result<Vec<String>, Error> {
    let project = Project::open(&args.project, cli)?;
    let config = project.config()?;
    let load = config.run.load_args(&args.load);
    let overrides = config.overrides(&load)?;
    project.permits(Action::Run, &config)?;
    let found = project.one(Some(&args.scenario), None)?;
    policy::permits_tests(&config, std::slice::from_ref(&found))?;
    let here = process::directory().map_err(Error::io("enter", PathBuf::from(".")))?;
    let folder =
        tempfile::tempdir().map_err(Error::io("create a folder in", std::env::temp_dir()))?;
    let request = SetupRequest {
        scenario: found.definition.identity(),
        overrides,
        base_url: load.base_url.clone(),
        seed: load.seed.unwrap_or(run::SHARD_SEED),
        // The program runs in the folder of its package.
        values: here.join(&args.values),
        output: folder.path().join("setup.jsonl"),
    };
    session::run_hooks(
        Program::from_binary(&found.binary, project.offline),
        asked,
        &request,
        &folder.path().join("request.json"),
        &project.interrupts,
    )
}

/// Finds the file with the values of each scenario's setups, by its identity.
///
/// # Errors
/// When a file cannot be read, or is about none of the scenarios.
pub(super) fn find_setup_values(
    files: &[PathBuf],
    chosen: &[Found],
) -> Result<BTreeMap<String, PathBuf>, Error> {
    let mut found = BTreeMap::new();
    for file in files {
        let text = std::fs::read(file).map_err(Error::io("read", file))?;
        let values: SetupValues = serde_json::from_slice(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            Error::usage(format!(
                "`{}` holds no values of setups (line {line}, column {column})",
                file.display()
            ))
            .with_help("write it with `cargo loadtest setup`")
        })?;
        if !chosen
            .iter()
            .any(|one| one.definition.identity() == values.scenario)
        {
            return Err(Error::usage(format!(
                "`{}` holds the values of `{}`, which does not run",
                file.display(),
                values.scenario
            )));
        }
        found.insert(values.scenario, file.clone());
    }
    Ok(found)
}

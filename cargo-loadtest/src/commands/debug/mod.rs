//! `cargo loadtest debug`: one journey as it would be in a run, with everything that is sent and answered.

mod transcript;

use super::{Project, recorded, run};
use crate::cli::{Cli, DebugArgs, ResultFormat};
use crate::policy::{self, Action};
use crate::selection::identified;
use crate::session::{self, Program};
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::plan::Overrides;
use loadtest_model::protocol::DebugRequest;
use transcript::Transcript;

/// Runs the journey and prints it as it goes.
///
/// # Errors
/// When there was none, or when it broke off.
pub(crate) fn debug(args: &DebugArgs, cli: &Cli) -> Result<ExitCode, Error> {
    let given = recorded::read_requests(&args.curl)?;
    let project = Project::open_for(given.as_ref(), &args.project, cli)?;
    let config = project.config()?;
    let load = config.run.load_args(&args.load);
    let overrides = Overrides {
        tracing: config.traces.tracing(args.trace.then_some(1.0)),
        ..config.overrides(&load)?
    };
    run::check_overrides(&overrides)?;
    project.permits(Action::Debug, &config)?;
    let found = match &args.scenario {
        Some(name) if args.exact => identified(&project.scenarios()?, name)?.clone(),
        name => project.one(name.as_deref(), given)?,
    };
    policy::permits_tests(&config, std::slice::from_ref(&found))?;
    let seed = load.seed.unwrap_or_else(run::random_seed);
    let chosen = std::slice::from_ref(&found);
    let plans = run::plan(
        chosen,
        std::slice::from_ref(&overrides),
        &config.grading,
        seed,
    )?;
    let folder =
        tempfile::tempdir().map_err(Error::io("create a folder in", std::env::temp_dir()))?;
    let request = DebugRequest {
        scenario: found.definition.identity(),
        overrides,
        base_url: args.load.base_url.clone(),
        seed,
        iteration: args.iteration,
        output: folder.path().join("journey.jsonl"),
    };
    let mut transcript = Transcript::new(
        plans.into_iter().next().map(|plan| plan.load),
        console::colours_results(),
    );
    let end = session::debug(
        Program::from_binary(&found.binary, project.offline),
        &request,
        &folder.path().join("request.json"),
        &project.interrupts,
        |event| {
            if args.format == ResultFormat::Json {
                let line = serde_json::to_string(event).map_err(Error::encode("an event"))?;
                return console::print_json(line);
            }
            match transcript.tell(event) {
                text if text.is_empty() => Ok(()),
                text => console::print_result(text.strip_suffix('\n').unwrap_or(&text)),
            }
        },
    )?;
    Ok(if end.is_ok {
        ExitCode::Passed
    } else {
        ExitCode::GateFailed
    })
}

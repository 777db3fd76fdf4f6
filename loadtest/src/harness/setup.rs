//! The setups and teardowns of a load that several processes share: each run once, by themselves.

use super::control_pipe::listen_to_control_pipe;
use super::requests::{JournalWriter, find_scenario};
use super::run::{given_base_url, interrupted_failure, make_plan, prepare_run, usage_failure};
use super::run_identity::RunIdentity;
use super::write_error;
use crate::chain::{NotedValues, Scenario, SetupSource};
use crate::engine::{Control, RunPhase};
use crate::registry::Registry;
use loadtest_model::failure::{FailureKind, RunFailure};
use loadtest_model::plan::GradingDefaults;
use loadtest_model::protocol::{SetupLine, SetupRequest, SetupValues};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

/// Which functions of a scenario run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hooks {
    Setups,
    Teardowns,
}

/// Runs the setups and writes their values, or runs the teardowns; writes down what came of it.
pub(super) fn run_setup_request(
    registry: &Registry,
    request: &SetupRequest,
    hooks: Hooks,
) -> io::Result<()> {
    let mut output = JournalWriter::create(&request.output)?;
    let control = Control::new();
    listen_to_control_pipe(control.clone());
    let line = match run_hooks(registry, request, hooks, &control) {
        Ok(values) => SetupLine::Done { values },
        Err(failure) => SetupLine::Failed(failure),
    };
    output.write_line(&line)
}

fn run_hooks(
    registry: &Registry,
    request: &SetupRequest,
    hooks: Hooks,
    control: &Control,
) -> Result<Vec<String>, RunFailure> {
    let scenario = find_scenario(registry, &request.scenario)?;
    let definition = &scenario.definition;
    let grading = GradingDefaults::default();
    let plan = make_plan(definition, &request.overrides, &grading, request.seed)?;
    let noted = NotedValues::default();
    let source = match hooks {
        Hooks::Setups => SetupSource::Note(noted.clone()),
        Hooks::Teardowns => given_values(scenario, Some(&request.values))?,
    };
    let given = request.base_url.clone().or_else(given_base_url);
    let sender = RunIdentity::for_side_task("setup");
    let ready = prepare_run(scenario, plan, given, &sender, source)?;
    if hooks == Hooks::Teardowns {
        let ran = ready.run_teardowns();
        return ran.map(|()| Vec::new()).map_err(|message| RunFailure {
            kind: FailureKind::Setup,
            message,
            help: None,
        });
    }
    let values = noted.all();
    let names = values.keys().cloned().collect();
    let written = write_values(
        &request.values,
        &SetupValues {
            scenario: definition.identity(),
            fingerprint: definition.revision().to_owned(),
            values,
        },
    );
    if control.phase() > RunPhase::Running {
        ready.tear_down_unused();
        return Err(interrupted_failure());
    }
    match written {
        Ok(()) => Ok(names),
        Err(error) => {
            ready.tear_down_unused();
            Err(usage_failure(error.to_string(), None))
        }
    }
}

/// Writes values for the owner of the file alone: they may hold what a login returned.
fn write_values(path: &Path, values: &SetupValues) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let bytes = serde_json::to_vec_pretty(values)?;
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(&bytes));
    written.map_err(|error| write_error(path, &error))
}

/// Reads the values of a scenario's setups; without a file, none may be needed.
pub(super) fn given_values(
    scenario: &Scenario,
    path: Option<&Path>,
) -> Result<SetupSource, RunFailure> {
    let Some(path) = path else {
        return Ok(SetupSource::Elsewhere);
    };
    let refuse = |message: String, help: &str| usage_failure(message, Some(help.to_owned()));
    let help = "write it with `cargo loadtest setup`";
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| {
        refuse(
            format!("the values `{shown}` cannot be read: {error}"),
            help,
        )
    })?;
    let values: SetupValues = serde_json::from_slice(&bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        refuse(
            format!("`{shown}` holds no values of setups (line {line}, column {column})"),
            help,
        )
    })?;
    let definition = &scenario.definition;
    if values.scenario != definition.identity() {
        return Err(refuse(
            format!(
                "`{shown}` holds the values of `{}`, not of `{}`",
                values.scenario,
                definition.identity()
            ),
            help,
        ));
    }
    if values.fingerprint != definition.revision() {
        return Err(refuse(
            format!(
                "`{shown}` holds the values of another version of `{}`",
                values.scenario
            ),
            "run `cargo loadtest setup` of this version",
        ));
    }
    Ok(SetupSource::Given(Arc::new(values.values)))
}

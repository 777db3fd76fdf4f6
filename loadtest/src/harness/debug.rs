//! Runs one iteration for `cargo loadtest debug` and reports it as it goes.

use super::control_pipe::listen_to_control_pipe;
use super::requests::{JournalWriter, find_scenario};
use super::run::{given_base_url, interrupted_failure, make_plan, prepare_run, usage_failure};
use super::run_identity::RunIdentity;
use crate::chain::SetupSource;
use crate::engine::{Control, IterationPosition, RunPhase};
use crate::registry::Registry;
use loadtest_model::failure::RunFailure;
use loadtest_model::plan::GradingDefaults;
use loadtest_model::protocol::DebugEvent;
use loadtest_model::protocol::DebugRequest;
use std::io;

/// Runs the iteration, and writes down what happens.
pub(super) fn run_debug_request(registry: &Registry, request: &DebugRequest) -> io::Result<()> {
    let mut output = JournalWriter::create(&request.output)?;
    let control = Control::new();
    let _starts = listen_to_control_pipe(control.clone());
    let mut written = Ok(());
    let mut tell = |event: DebugEvent| {
        if written.is_ok() {
            written = output.write_line(&event);
        }
    };
    if let Err(failure) = run_debug_iteration(registry, request, &control, &mut tell) {
        tell(DebugEvent::Failed(failure));
    }
    written
}

fn run_debug_iteration(
    registry: &Registry,
    request: &DebugRequest,
    control: &Control,
    tell: impl FnMut(DebugEvent),
) -> Result<(), RunFailure> {
    let scenario = find_scenario(registry, &request.scenario)?;
    let (definition, grading) = (&scenario.definition, GradingDefaults::default());
    let plan = make_plan(definition, &request.overrides, &grading, request.seed)?;
    let place = IterationPosition::from_number(request.iteration, &plan)
        .map_err(|message| usage_failure(message, None))?;
    let given = request.base_url.clone().or_else(given_base_url);
    let ready = prepare_run(
        scenario,
        plan,
        given,
        &RunIdentity::for_side_task("debug"),
        SetupSource::Run,
    );
    if control.phase() > RunPhase::Running {
        if let Ok(ready) = ready {
            ready.tear_down_unused();
        }
        return Err(interrupted_failure());
    }
    ready?.run_debug_iteration(request, place, control, tell)
}

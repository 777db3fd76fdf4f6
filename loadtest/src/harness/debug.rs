//! One journey that `cargo-loadtest` asks for, told as it goes.

use super::asked::{Journal, find, listen};
use super::run::{begin, given_base_url, interrupted, plan, usage};
use super::sender::Sender;
use crate::engine::{Control, Phase, Place};
use crate::journey::Event;
use crate::registry::Registry;
use loadtest_model::failure::RunFailure;
use loadtest_model::plan::GradingDefaults;
use loadtest_model::protocol::DebugRequest;
use std::io;

/// Runs the journey, and writes down what happens.
pub(super) fn debug(registry: &Registry, request: &DebugRequest) -> io::Result<()> {
    let mut output = Journal::create(&request.output)?;
    let control = Control::new();
    listen(control.clone());
    let mut written = Ok(());
    let mut tell = |event: Event| {
        if written.is_ok() {
            written = output.write(&event);
        }
    };
    if let Err(failure) = journey(registry, request, &control, &mut tell) {
        tell(Event::Failed(failure));
    }
    written
}

fn journey(
    registry: &Registry,
    request: &DebugRequest,
    control: &Control,
    tell: impl FnMut(Event),
) -> Result<(), RunFailure> {
    let scenario = find(registry, &request.scenario)?;
    let (definition, grading) = (&scenario.definition, GradingDefaults::default());
    let plan = plan(definition, &request.overrides, &grading, request.seed)?;
    let place = Place::of(request.iteration, &plan).map_err(|message| usage(message, None))?;
    let given = request.base_url.clone().or_else(given_base_url);
    let ready = begin(scenario, plan, given, &Sender::of_errand("debug"));
    if control.phase() > Phase::Running {
        if let Ok(ready) = ready {
            ready.abandon();
        }
        return Err(interrupted());
    }
    ready?.journey(request, place, control, tell)
}

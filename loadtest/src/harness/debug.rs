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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::smoke::run_smoke_test;
    use crate::prelude::*;
    use libtest_mimic::Completion;
    use loadtest_model::plan::Overrides;
    use loadtest_tests::{Reply, Server};
    use std::path::PathBuf;

    #[scenario]
    fn refused() {
        #[setup(for = 50m, refresh = 401)]
        async fn token(http: &mut Http) -> Result<String, Error> {
            Ok(http.post("/token").send().await?.text().await?)
        }

        #[step(get = "/orders", bearer = "{{token}}")]
        fn orders();
    }

    /// A service whose first token is of no use, and whose second one is.
    fn service() -> Server {
        Server::start(|request| match request.header("authorization") {
            Some("Bearer t") => Reply::status(401),
            Some(_) => Reply::status(200),
            None if request.sequence == 0 => Reply::text("t"),
            None => Reply::text("t2"),
        })
    }

    fn requests(server: &Server) -> [u64; 2] {
        ["/token", "/orders"].map(|path| server.requests_to(path))
    }

    #[test]
    fn a_smoke_test_fetches_the_value_of_a_setup_again_where_a_step_is_refused() {
        let server = service();
        let ended = run_smoke_test(refused(), Some(server.url())).unwrap();
        assert!(matches!(ended, Completion::Completed));
        assert_eq!(requests(&server), [2, 2]);
    }

    #[test]
    fn a_shown_journey_fetches_the_value_of_a_setup_again_where_a_step_is_refused() {
        let server = service();
        let grading = GradingDefaults::default();
        let plan = make_plan(&refused().definition, &Overrides::default(), &grading, 7).unwrap();
        let sender = RunIdentity::for_side_task("debug");
        // In a process of a divided load as well, which gets no value of it.
        let source = SetupSource::Elsewhere;
        let ready = prepare_run(refused(), plan, Some(server.url()), &sender, source).unwrap();
        let request = DebugRequest {
            scenario: refused().definition.identity(),
            overrides: Overrides::default(),
            base_url: None,
            seed: 7,
            iteration: None,
            output: PathBuf::new(),
        };
        let mut end = None;
        let place = IterationPosition::default();
        let ran = ready.run_debug_iteration(&request, place, &Control::new(), |event| {
            if let DebugEvent::End(ended) = event {
                end = Some(ended.is_ok);
            }
        });
        ran.unwrap();
        assert_eq!(end, Some(true));
        assert_eq!(requests(&server), [2, 2]);
    }
}

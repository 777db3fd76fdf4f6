//! What breaks while agents make a load, and what becomes of the run.

use super::broker::Broker;
use super::{Agent, assert_is_sum};
use crate::call::{Running, wait_for};
use crate::secrets::{CANARY, CANARY_BASE64, leaky};
use crate::site::{Sandbox, assert_balanced, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::record::{EndReason, ScenarioRecord};
use loadtest_tests::Server;
use rustix::process::Signal;

pub(crate) fn trials() -> Vec<Trial> {
    trials![needing "nats-server":
        a_killed_agent_ends_the_run_and_is_named,
        a_run_may_go_on_without_a_lost_agent,
        a_server_that_is_killed_and_comes_back_loses_nothing,
        agents_stop_without_their_controller,
        an_agent_that_is_told_to_stop_says_so,
        a_threshold_of_the_whole_ends_the_run,
        an_agent_that_stood_still_is_lost_and_delivers_what_it_measured,
        agents_stop_without_their_server,
        a_server_that_is_too_old_is_refused,
        a_run_is_stopped_by_its_user,
        what_a_secret_holds_is_in_no_message,
    ]
}

/// A run of agents under way.
struct ClusterRun {
    sandbox: Sandbox,
    running: Running,
}

impl ClusterRun {
    fn start(broker: &Broker, server: &Server, line: &str) -> Self {
        let sandbox = Sandbox::new();
        let line = format!("{line} {}", broker.option());
        let running = sandbox.run(&line, server).start();
        Self { sandbox, running }
    }
}

/// Waits until so many requests came.
#[track_caller]
fn wait_for_load(server: &Server, requests: usize) {
    wait_for("the load", || {
        (server.recorded().len() >= requests).then_some(())
    });
}

fn parts<const N: usize>(agents: &[Agent; N]) -> [ScenarioRecord; N] {
    agents.each_ref().map(Agent::part)
}

fn a_killed_agent_ends_the_run_and_is_named() {
    let (broker, server) = (Broker::start(), Server::recording(shop));
    let [first, second] = Agent::start_all(&broker);
    let run = ClusterRun::start(
        &broker,
        &server,
        "single --rate 40/s --duration 60s --agents 2",
    );
    wait_for_load(&server, 40);
    second.running.signal(Signal::KILL);
    let output = run.running.output().exits(102);
    let record = run.sandbox.record();
    let EndReason::AgentLost { reason, .. } = &record.end.ending else {
        panic!("{:?}", record.end.ending);
    };
    assert!(
        reason.contains("was lost: it said nothing for 3.5s"),
        "{reason}"
    );
    let lost: Vec<bool> = record
        .shards
        .iter()
        .map(|shard| {
            shard
                .agent
                .as_ref()
                .is_some_and(|agent| agent.lost.is_some())
        })
        .collect();
    assert_eq!(lost.iter().filter(|lost| **lost).count(), 1, "{output}");
    assert!(record.windows.steady.journey.started >= first.part().windows.steady.journey.started);
    assert!(second.running.process() > 0);
}

fn a_run_may_go_on_without_a_lost_agent() {
    let (broker, server) = (Broker::start(), Server::recording(shop));
    let [first, second] = Agent::start_all(&broker);
    let run = ClusterRun::start(
        &broker,
        &server,
        "single --rate 40/s --duration 8s --agents 2 --on-agent-loss continue",
    );
    wait_for_load(&server, 40);
    second.running.signal(Signal::KILL);
    run.running.output().exits(102);
    // The other one made all of its part.
    assert_eq!(first.part().end.planned, 160);
    assert_eq!(first.part().end.ending, EndReason::Completed);
}

fn a_server_that_is_killed_and_comes_back_loses_nothing() {
    let (mut broker, server) = (Broker::start(), Server::recording(shop));
    let agents: [Agent; 2] = Agent::start_all(&broker);
    let run = ClusterRun::start(
        &broker,
        &server,
        "single --rate 40/s --duration 10s --agents 2",
    );
    wait_for_load(&server, 80);
    broker.kill();
    wait_for_load(&server, 160);
    broker.restart();
    run.running.output().exits(0);
    let record = run.sandbox.record();
    assert_balanced(&record);
    assert_eq!(record.end.planned, 400);
    assert_eq!(record.windows.steady.journey.started, 400);
    assert_is_sum(&record, &parts(&agents));
}

fn agents_stop_without_their_controller() {
    let (broker, server) = (Broker::start(), Server::recording(shop));
    let mut agents: [Agent; 2] = Agent::start_all(&broker);
    let run = ClusterRun::start(
        &broker,
        &server,
        "single --rate 40/s --duration 600s --agents 2",
    );
    wait_for_load(&server, 40);
    run.running.signal(Signal::KILL);
    for agent in &mut agents {
        agent
            .running
            .wait_until_it_says("the load is stopped: the controller said nothing for 5s");
    }
    let parts = agents.each_ref().map(|agent| {
        agent.running.signal(Signal::INT);
        agent.running.signal(Signal::INT);
        agent.part()
    });
    for part in parts {
        assert_eq!(part.end.ending, EndReason::Interrupted);
        assert_balanced(&part);
    }
}

fn an_agent_that_is_told_to_stop_says_so() {
    let (broker, server) = (Broker::start(), Server::recording(shop));
    let agents: [Agent; 2] = Agent::start_all(&broker);
    let run = ClusterRun::start(
        &broker,
        &server,
        "single --rate 40/s --duration 600s --agents 2",
    );
    wait_for_load(&server, 40);
    agents[0].running.signal(Signal::TERM);
    let output = run.running.output();
    assert!(
        output
            .stderr
            .contains("gave up: the agent was told to stop"),
        "{output}"
    );
    let record = run.sandbox.record();
    assert_balanced(&record);
    assert_is_sum(&record, &parts(&agents));
    output.exits(102);
}

fn a_threshold_of_the_whole_ends_the_run() {
    let (broker, server) = (Broker::start(), Server::recording(shop));
    let agents: [Agent; 2] = Agent::start_all(&broker);
    let line = "given_up --rate 100/s --duration 600s --agents 2";
    let run = ClusterRun::start(&broker, &server, line);
    run.running.output().exits(99);
    let record = run.sandbox.record();
    assert!(
        matches!(record.end.ending, EndReason::ThresholdBroken { .. }),
        "{:?}",
        record.end.ending
    );
    assert_is_sum(&record, &parts(&agents));
}

fn a_run_is_stopped_by_its_user() {
    let (broker, server) = (Broker::start(), Server::recording(shop));
    let agents: [Agent; 2] = Agent::start_all(&broker);
    let run = ClusterRun::start(
        &broker,
        &server,
        "single --rate 40/s --duration 600s --agents 2",
    );
    wait_for_load(&server, 40);
    run.running.signal(Signal::INT);
    run.running.output().exits(105).says(&["stopping"]);
    let record = run.sandbox.record();
    assert_balanced(&record);
    assert_eq!(record.end.ending, EndReason::Interrupted);
    assert_is_sum(&record, &parts(&agents));
}

fn what_a_secret_holds_is_in_no_message() {
    let (broker, server) = (Broker::start(), Server::recording(leaky));
    let _agents: [Agent; 2] = Agent::start_all(&broker);
    let line = "secretive --iterations 10 --users 2 --agents 2";
    let run = ClusterRun::start(&broker, &server, line);
    run.running.output().exits(99);
    assert_eq!(server.requests_to("/refused"), 10);
    let written = broker.written();
    let holds = |word: &str| {
        let mut parts = written.windows(word.len());
        parts.any(|part| part == word.as_bytes())
    };
    assert!(holds("see the manual"), "what is no secret is there");
    assert!(!holds(CANARY) && !holds(CANARY_BASE64));
}

fn an_agent_that_stood_still_is_lost_and_delivers_what_it_measured() {
    let (broker, server) = (Broker::start(), Server::recording(shop));
    let agents: [Agent; 2] = Agent::start_all(&broker);
    let line = "single --rate 40/s --duration 600s --agents 2";
    let mut run = ClusterRun::start(&broker, &server, line);
    wait_for_load(&server, 40);
    agents[0].running.signal(Signal::STOP);
    run.running
        .wait_until_it_says("was lost: it said nothing for 3.5s");
    agents[0].running.signal(Signal::CONT);
    run.running.output().exits(102);
    let record = run.sandbox.record();
    assert!(matches!(record.end.ending, EndReason::AgentLost { .. }));
    assert_is_sum(&record, &parts(&agents));
}

fn agents_stop_without_their_server() {
    let (mut broker, server) = (Broker::start(), Server::recording(shop));
    let mut agents: [Agent; 2] = Agent::start_all(&broker);
    let sandbox = Sandbox::with("[cluster]\norphan_after = \"2s\"\n");
    let line = format!(
        "single --rate 40/s --duration 600s --agents 2 {}",
        broker.option()
    );
    let run = sandbox.run(&line, &server).start();
    // So that the controller has a second of each.
    wait_for_load(&server, 160);
    broker.kill();
    for agent in &mut agents {
        agent
            .running
            .wait_until_it_says("the load is stopped: no NATS server answered for 2s");
    }
    let words = "no NATS server answers any more";
    run.output().exits(102).says(&[words]);
}

fn a_server_that_is_too_old_is_refused() {
    let Some(broker) = Broker::start_old() else {
        return;
    };
    Sandbox::new()
        .call()
        .arg("agents")
        .line(&broker.option())
        .run()
        .exits(2)
        .says(&["the NATS server at", "is 2.9", "use 2.10.27 or newer"]);
}

//! What breaks while agents make a load, and what becomes of the run.

use super::broker::Broker;
use super::run::{Cluster, ClusterRun};
use crate::secrets::{CANARY, CANARY_BASE64, leaky};
use crate::site::{Sandbox, assert_balanced, shop, total};
use crate::trial::{nats_servers, trials};
use libtest_mimic::Trial;
use loadtest_model::card::Accounts;
use loadtest_model::record::EndReason;
use loadtest_tests::{Gate, Reply, Server};
use rustix::process::Signal;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) fn trials() -> Vec<Trial> {
    trials![needing "nats-server":
        a_killed_agent_ends_the_run_and_is_named,
        a_run_may_go_on_without_a_lost_agent,
        a_server_that_is_killed_and_comes_back_loses_nothing,
        what_agents_measured_without_their_controller_is_merged,
        an_agent_that_is_told_to_stop_says_so,
        a_threshold_of_the_whole_ends_the_run,
        an_agent_that_stood_still_is_lost_and_delivers_what_it_measured,
        agents_stop_without_their_server,
        agents_that_stopped_without_their_server_deliver_when_it_is_back,
        a_server_that_is_too_old_is_refused,
        a_run_is_stopped_by_its_user,
        a_run_is_aborted_by_its_user,
        what_a_secret_holds_is_in_no_message,
    ]
}

fn a_killed_agent_ends_the_run_and_is_named() {
    let cluster = Cluster::<2>::start();
    let [first, second] = &cluster.agents;
    let run = cluster.run("single --rate 40/s --duration 600s");
    cluster.wait_for_load(40);
    second.running.signal(Signal::KILL);
    let output = run.running.output().exits(102);
    let record = run.sandbox.record();
    let EndReason::AgentLost { reason, .. } = &record.end.ending else {
        panic!("{:?}", record.end.ending);
    };
    assert!(
        reason.contains("was lost: it was silent for 3.5 s"),
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
    let mut cluster = Cluster::<2>::start();
    // Nothing is answered until one agent is gone, so that its part is not over before.
    let gate = Gate::new();
    let held = gate.clone();
    cluster.target = Server::recording(move |request| shop(request).hold(&held));
    let [first, second] = &cluster.agents;
    let line = "single --rate 40/s --duration 4s --on-agent-loss continue --min-share 40%";
    let run = cluster.run(line);
    cluster.wait_for_load(40);
    second.running.signal(Signal::KILL);
    gate.open();
    // What it had to make is missing, but enough is left.
    run.running.output().exits(0).says(&["DEGRADED"]);
    let record = run.sandbox.record();
    let accounts = Accounts::from_record(&record);
    assert_eq!(accounts.planned, 160);
    assert_eq!(accounts.started + accounts.dropped + accounts.not_run, 160);
    let name = second.name();
    let lost = record.shards.iter().find(|shard| shard.run_id == name);
    let lost = lost.expect("the shard of the agent");
    assert_eq!((lost.planned, lost.state()), (80, "LOST"));
    assert_eq!(lost.started + lost.dropped + accounts.not_run, 80);
    let EndReason::AgentLost { reason, is_enough } = &record.end.ending else {
        panic!("no agent was lost");
    };
    let words = format!(
        "{} iterations of its part are not known to have run",
        accounts.not_run
    );
    assert!(*is_enough && reason.contains(&words), "{reason}");
    // The other one made all of its part.
    assert_eq!(first.part().end.planned, 80);
    assert_eq!(first.part().end.ending, EndReason::Completed);
}

fn a_server_that_is_killed_and_comes_back_loses_nothing() {
    for program in nats_servers() {
        let mut cluster = Cluster::<2>::on(Broker::of(&program));
        let run = cluster.run("single --rate 40/s --duration 10s");
        cluster.wait_for_load(80);
        cluster.broker.kill();
        cluster.wait_for_load(160);
        cluster.broker.restart();
        run.running.output().exits(0);
        let record = run.sandbox.record();
        assert_balanced(&record);
        assert_eq!(record.end.planned, 400);
        assert_eq!(record.windows.steady.journey.started, 400);
        cluster.assert_is_sum(&record);
    }
}

fn what_agents_measured_without_their_controller_is_merged() {
    let mut cluster = Cluster::<2>::start();
    let run = cluster.run("single --rate 40/s --duration 600s");
    cluster.wait_for_load(40);
    run.running.signal(Signal::KILL);
    for agent in &mut cluster.agents {
        agent
            .running
            .wait_until_it_says("the load is stopped: the controller was silent for 5 s");
        // It is free again, and waits for nobody.
        agent.running.wait_until_it_says("Finished its shard of ");
    }
    for part in cluster.parts() {
        assert_eq!(part.end.ending, EndReason::Interrupted);
        assert_balanced(&part);
    }
    let kept = cluster.agents.each_ref();
    let kept = kept.map(|agent| agent.sandbox.only_run().0.join("record.json"));
    let sandbox = Sandbox::new();
    sandbox.tool("merge", "").args(kept).run().exits(105);
    let merged = sandbox.record();
    assert_balanced(&merged);
    cluster.assert_is_sum(&merged);
}

fn an_agent_that_is_told_to_stop_says_so() {
    let cluster = Cluster::<2>::start();
    let run = cluster.run("single --rate 40/s --duration 600s");
    cluster.wait_for_load(40);
    cluster.agents[0].running.signal(Signal::TERM);
    let output = run.running.output();
    assert!(
        output.stderr.contains("gave up: the agent was stopped"),
        "{output}"
    );
    let record = run.sandbox.record();
    assert_balanced(&record);
    cluster.assert_is_sum(&record);
    output.exits(102);
}

fn a_threshold_of_the_whole_ends_the_run() {
    let cluster = Cluster::<2>::start();
    let line = "given_up --rate 100/s --duration 600s";
    let run = cluster.run(line);
    run.running.output().exits(99);
    let record = run.sandbox.record();
    assert!(
        matches!(record.end.ending, EndReason::ThresholdBroken { .. }),
        "{:?}",
        record.end.ending
    );
    cluster.assert_is_sum(&record);
}

fn a_run_is_stopped_by_its_user() {
    let cluster = Cluster::<2>::start();
    let run = cluster.run("single --rate 40/s --duration 600s");
    cluster.wait_for_load(40);
    run.running.signal(Signal::INT);
    run.running.output().exits(105).says(&["stopping"]);
    let record = run.sandbox.record();
    assert_balanced(&record);
    assert_eq!(record.end.ending, EndReason::Interrupted);
    cluster.assert_is_sum(&record);
}

fn a_run_is_aborted_by_its_user() {
    let mut cluster = Cluster::<2>::start();
    let answered = AtomicUsize::new(0);
    cluster.target = Server::recording(move |_| {
        if answered.fetch_add(1, Ordering::SeqCst) < 20 {
            Reply::text("ok")
        } else {
            Reply::hang()
        }
    });
    let mut run = cluster.run("single --iterations 1000 --users 4");
    cluster.wait_for_load(24);
    run.running.signal(Signal::INT);
    run.running.wait_until_it_says("stopping");
    run.running.signal(Signal::INT);
    run.running.output().exits(105).says(&["aborting"]);
    let record = run.sandbox.record();
    assert_balanced(&record);
    let journey = total(&record).journey;
    assert_eq!((journey.ok, journey.cancelled), (20, 4));
    cluster.assert_is_sum(&record);
}

fn what_a_secret_holds_is_in_no_message() {
    // The server keeps what agents measured, and here also logs every other message.
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("messages.log");
    let configuration = format!("trace: true\nlog_file: {:?}\n", log.display().to_string());
    fs::write(folder.path().join("server.conf"), configuration).expect("our own folder");
    let mut cluster = Cluster::<2>::on(Broker::guarded(folder, "nats"));
    cluster.target = Server::recording(leaky);
    let run = cluster.run("secretive --iterations 10 --users 2");
    run.running.output().exits(99);
    assert_eq!(cluster.target.requests_to("/refused"), 10);
    let written = cluster.broker.written();
    let holds = |word: &str| {
        let mut parts = written.windows(word.len());
        parts.any(|part| part == word.as_bytes())
    };
    assert!(holds("see the manual"), "what is no secret is there");
    assert!(
        holds("prepare") && holds("executable_hash"),
        "orders are there"
    );
    assert!(!holds(CANARY) && !holds(CANARY_BASE64));
}

fn an_agent_that_stood_still_is_lost_and_delivers_what_it_measured() {
    let cluster = Cluster::<2>::start();
    let line = "single --rate 40/s --duration 600s";
    let mut run = cluster.run(line);
    cluster.wait_for_load(40);
    cluster.agents[0].running.signal(Signal::STOP);
    run.running
        .wait_until_it_says("was lost: it was silent for 3.5 s");
    cluster.agents[0].running.signal(Signal::CONT);
    run.running.output().exits(102);
    let record = run.sandbox.record();
    assert!(matches!(record.end.ending, EndReason::AgentLost { .. }));
    cluster.assert_is_sum(&record);
}

/// A run whose server is killed, and whose agents have stopped for that reason.
fn run_without_server() -> (Cluster<2>, ClusterRun) {
    let mut cluster = Cluster::<2>::start();
    let sandbox = Sandbox::with("[cluster]\norphan_after = \"2s\"\n");
    let run = cluster.run_in(sandbox, "single --rate 40/s --duration 600s");
    // So that the controller has a second of each.
    cluster.wait_for_load(160);
    cluster.broker.kill();
    for agent in &mut cluster.agents {
        agent
            .running
            .wait_until_it_says("the load is stopped: no NATS server answered for 2 s");
    }
    (cluster, run)
}

fn agents_stop_without_their_server() {
    let (_cluster, run) = run_without_server();
    let words = "the NATS server no longer answers";
    run.running.output().exits(102).says(&[words]);
}

fn agents_that_stopped_without_their_server_deliver_when_it_is_back() {
    let (mut cluster, run) = run_without_server();
    cluster.broker.restart();
    let reason = "gave up: no NATS server answered for 2 s";
    run.running.output().exits(102).says(&[reason]);
    let record = run.sandbox.record();
    assert_balanced(&record);
    assert!(matches!(record.end.ending, EndReason::AgentLost { .. }));
    cluster.assert_is_sum(&record);
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

//! Something is wrong with one of the machines, and the run names it.

use super::broker::Broker;
use super::run::{Agent, Cluster};
use crate::call::{pid, send};
use crate::canary;
use crate::site::{Sandbox, assert_balanced};
use crate::trial::{is_installed, trials};
use jiff::Timestamp;
use libtest_mimic::Trial;
use loadtest_model::card::Card;
use loadtest_model::protocol::SpanLine;
use loadtest_model::record::{EndReason, Trust};
use rustix::process::{Resource, Rlimit, Signal, prlimit};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials![needing "nats-server":
        another_build_is_refused_by_name,
        a_secret_that_one_agent_lacks_is_told_before_the_load,
        a_full_disk_of_an_agent_is_told,
        an_agent_that_is_throttled_spoils_the_run_and_is_named,
    ];
    trials.extend(if is_installed("faketime") {
        trials![needing "nats-server": clocks_that_differ_by_seconds_start_together,]
    } else {
        trials![needing "faketime": clocks_that_differ_by_seconds_start_together,]
    });
    trials
}

fn another_build_is_refused_by_name() {
    let broker = Broker::start();
    let agent = Agent::of_another_build(&broker);
    let cluster = Cluster::of(broker, [agent]);
    let run = cluster.run("single --iterations 5 --wait 1s");
    run.running.output().exits(1).says(&[
        "0 of 1 agent connected within 1 s",
        "has another build of `site::load::single`",
        "with `bundle` or `--binary`",
    ]);
    assert_eq!(cluster.target.requests(), 0);
}

fn a_secret_that_one_agent_lacks_is_told_before_the_load() {
    let broker = Broker::start();
    let sandbox = || Sandbox::at(canary::project().root(), "");
    let address = broker.option();
    let with = Agent::within(sandbox(), |sandbox| {
        sandbox.tool("agent", &address).env("CANARY", "canary-1")
    });
    let without = Agent::within(sandbox(), |sandbox| sandbox.tool("agent", &address));
    let cluster = Cluster::of(broker, [with, without]);
    let controller = sandbox();
    let line = format!("leaky --iterations 4 --users 2 {address} --agents 2");
    let run = controller.run(&line, &cluster.target);
    let output = run.env("CANARY", "canary-1").run().exits(2);
    let name = cluster.agents[1].name();
    assert!(
        output.stderr.contains(&format!("agent {name} (")),
        "{output}"
    );
    output.says(&[
        "the secret `CANARY` is missing",
        "set the environment variable `CANARY`",
    ]);
    assert_eq!(cluster.target.requests(), 0);
}

fn a_full_disk_of_an_agent_is_told() {
    let broker = Broker::start();
    let address = broker.option();
    // What it writes fails in place of ending it.
    let script = "trap '' XFSZ; exec \"$0\" \"$@\"";
    let full =
        Agent::called(|sandbox| sandbox.wrapped_tool(("sh", &["-c", script]), "agent", &address));
    let cluster = Cluster::of(broker, [full, Agent::start(&address, "")]);
    let run = cluster.run("single --rate 40/s --duration 600s");
    cluster.wait_for_load(80);
    let full = &cluster.agents[0];
    for process in [full.child(), full.running.process()] {
        let limit = Rlimit {
            current: Some(1),
            maximum: Some(1),
        };
        prlimit(pid(process), Resource::Fsize, limit).expect("our own process");
    }
    let output = run.running.output();
    let record = run.sandbox.record();
    let EndReason::AgentLost { reason, .. } = &record.end.ending else {
        panic!("{:?}\n{output}", record.end.ending);
    };
    let name = cluster.agents[0].name();
    let ended = format!("agent {name} ended too early: exit code 1");
    assert!(reason.contains(&ended), "{reason}");
    assert!(reason.contains("File too large"), "{reason}");
    output.exits(102);
    assert_balanced(&record);
    // Not when the load would have been over, with 24,000.
    assert!(record.windows.steady.journey.started < 12_000);
}

fn an_agent_that_is_throttled_spoils_the_run_and_is_named() {
    let broker = Broker::start();
    let address = broker.option();
    let agents =
        [(); 2].map(|()| Agent::called(|sandbox| sandbox.tool("agent", &address).judged()));
    let cluster = Cluster::of(broker, agents);
    let line = format!("single --rate 40/s --duration 6s {address} --agents 2");
    let controller = Sandbox::new();
    let running = controller.run(&line, &cluster.target).judged().start();
    cluster.wait_for_load(40);
    let agent = &cluster.agents[0];
    // It gets 1 s of 2.
    for requests in [80, 120] {
        send(agent.child(), Signal::STOP);
        cluster.wait_for_load(requests - 20);
        send(agent.child(), Signal::CONT);
        cluster.wait_for_load(requests);
    }
    let output = running.output().exits(102);
    let record = controller.record();
    assert_balanced(&record);
    cluster.assert_is_sum(&record);
    let name = agent.name();
    let shard = record.shards.iter().find(|shard| shard.run_id == name);
    let shard = shard.expect("the shard of the agent");
    assert_eq!(shard.trust(), Trust::Invalid);
    assert!(
        shard.doubts[0]
            .what
            .starts_with("the generator fell behind"),
        "{output}"
    );
    let causes = Card::grade(&record, None).validity.causes;
    let named = format!("agent {name}, {}: the generator fell behind", shard.shard);
    assert!(
        causes.iter().any(|cause| cause.what.starts_with(&named)),
        "{output}"
    );
}

fn clocks_that_differ_by_seconds_start_together() {
    let broker = Broker::start();
    let address = broker.option();
    let agents = ["-5s", "+5s"].map(|shift| {
        Agent::called(|sandbox| {
            let wrapper = ("faketime", ["-f", shift]);
            let call = sandbox.wrapped_tool((wrapper.0, &wrapper.1), "agent", &address);
            call.env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        })
    });
    let cluster = Cluster::of(broker, agents);
    let run = cluster.run("single --rate 40/s --duration 3s --trace 50%");
    run.running.output().exits(0);
    let record = run.sandbox.record();
    assert_balanced(&record);
    assert_eq!(record.end.planned, 120);
    // The spans of both begin when the run does.
    let spans = run.sandbox.only_run().text("spans-1.jsonl");
    let lines = spans.lines().map(serde_json::from_str);
    let starts = lines.filter_map(|line| match line.expect("a line") {
        SpanLine::Start { unix_us } => Some(i64::try_from(unix_us).expect("a time")),
        _ => None,
    });
    let starts = starts.map(|start| Timestamp::from_microsecond(start).expect("a time"));
    let seconds = starts.map(|start| start.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let began = &record.start.started_at;
    assert_eq!(seconds.collect::<Vec<_>>(), [began.clone(), began.clone()]);
    cluster.assert_is_sum(&record);
    for (agent, shift) in cluster.agents.iter().zip([-5_000_000_i64, 5_000_000]) {
        let name = agent.name();
        let shard = record.shards.iter().find(|shard| shard.run_id == name);
        let shard = shard.expect("the shard of the agent");
        let told = shard.agent.as_ref().expect("what is known of its machine");
        let wrong_us = told.clock_offset_us.abs_diff(shift);
        assert!(wrong_us <= told.clock_error_us + 1, "{told:?}");
        // By its own clock, one of them would have begun five seconds late.
        assert!(shard.began_after_us < 5_000_000, "{shard:?}");
        assert_eq!(shard.started_at, record.start.started_at);
    }
}

//! One load of several agents, by a real NATS server: `agent`, `agents`, `run --cluster`.

mod access;
mod broker;
mod bundles;
mod failures;
#[cfg(target_os = "linux")]
mod liar;
#[cfg(target_os = "linux")]
mod machines;
mod messages;
mod proxy;
pub(crate) mod run;
mod wire;

use crate::call::send;
use crate::shards::{accounts, divided};
use crate::site::{Sandbox, assert_balanced, shop};
use crate::trial::{nats_servers, trials};
pub(crate) use broker::Broker;
use libtest_mimic::Trial;
use loadtest_model::record::ScenarioRecord;
use loadtest_tests::Server;
pub(crate) use run::Cluster;
use run::{Agent, assert_is_sum};
use rustix::process::Signal;
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials![needing "nats-server":
        agents_make_the_load_of_one_process,
        agents_are_listed_and_refused_by_name,
        what_agents_cannot_do_is_refused_before_they_are_waited_for,
        an_agent_that_differs_is_told_while_others_are_waited_for,
        a_server_without_streams_is_told_at_once,
        an_agent_that_could_make_no_run_does_not_start,
        setups_run_once_on_the_controller,
        a_mix_is_made_by_agents_at_once,
        two_runs_have_agents_of_their_own,
    ];
    trials.extend(failures::trials());
    trials.extend(messages::trials());
    trials.extend(access::trials());
    trials.extend(bundles::trials());
    #[cfg(target_os = "linux")]
    trials.extend([liar::trials(), machines::trials()].into_iter().flatten());
    trials
}

fn sent(server: &Server) -> Vec<String> {
    let recorded = server.recorded();
    let all = recorded
        .iter()
        .map(|request| format!("{} {} {}", request.method, request.target, request.text()));
    let mut all: Vec<String> = all.collect();
    all.sort();
    all
}

fn agents_make_the_load_of_one_process() {
    let load = "journey --iterations 50 --users 6 --seed 7";
    let alone = Server::recording(shop);
    Sandbox::new().run(load, &alone).run().exits(0);
    for program in nats_servers() {
        let cluster = Cluster::<3>::on(Broker::of(&program));
        let run = cluster.run(load);
        run.running.output().exits(0);
        let record = run.sandbox.record();
        assert_balanced(&record);
        assert_eq!(record.end.planned, 50);
        cluster.assert_is_sum(&record);
        let shards = record.shards.iter();
        let told = shards.filter_map(|shard| shard.agent.as_ref());
        assert_eq!(told.filter(|agent| agent.lost.is_none()).count(), 3);
        assert_eq!(sent(&alone), sent(&cluster.target));

        // They serve the next run as well: one of a rate, whose seconds are added up as they come.
        let run = cluster.run_in(run.sandbox, "single --rate 60/s --duration 3s");
        run.running.output().exits(0);
        let last = run.sandbox.runs().pop().expect("a run").scenario();
        assert_balanced(&last);
        assert_eq!(last.end.planned, 180);
        cluster.assert_is_sum(&last);
    }
}

fn agents_are_listed_and_refused_by_name() {
    let (broker, server) = (Broker::start(), Server::recording(shop));
    let sandbox = Sandbox::new();
    let list = || sandbox.call().arg("agents").line(&broker.option());
    list().run().exits(0).prints(&["no agent is connected"]);
    let agent = Agent::start(&broker.option(), "--weight 3");
    list()
        .run()
        .exits(0)
        .prints(&["weight 3", "idle", ", clock ", " ± "]);
    let output = list().line("--format json").run().exits(0);
    let listed: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(listed[0]["weight"], 3);
    // Both clocks are that of this machine, told in whole microseconds.
    let [offset, error] = ["clock_offset_us", "clock_error_us"].map(|key| listed[0][key].as_i64());
    assert!(
        offset.expect("an offset").abs() <= error.expect("an error") + 1,
        "{output}"
    );
    let wait = format!("single --users 2 {} --agents 2 --wait 1s", broker.option());
    sandbox
        .run(&wait, &server)
        .run()
        .exits(1)
        .says(&["1 of 2 agents connected within 1 s", "cargo loadtest agent"]);
    assert_eq!(server.recorded().len(), 0);
    assert!(agent.sandbox.runs().is_empty());
    drop(broker);
    sandbox
        .call()
        .arg("agents")
        .line("--cluster nats://127.0.0.1:1")
        .run()
        .exits(1)
        .says(&["no NATS server answers", "nats-server -js"]);
    sandbox
        .call()
        .arg("agents")
        .line("--cluster nats://10.0.0.1")
        .run()
        .exits(2)
        .says(&["is not encrypted", "tls://"]);
}

fn what_agents_cannot_do_is_refused_before_they_are_waited_for() {
    let (broker, server) = (Broker::start(), Server::recording(shop));
    let sandbox = Sandbox::new();
    let option = broker.option();
    for (line, words) in [
        (
            format!("single --iterations 2 --agents 3 {option}"),
            "`site::load::single`: a load of 1 user and 2 iterations is too small for 3 agents",
        ),
        (
            format!("single --agents 4294967296 {option}"),
            "a run has at most 10000 agents",
        ),
        (
            format!("single --agents 3 --min-share 95% {option}"),
            "give `--on-agent-loss continue` too",
        ),
        (
            format!("single --agents 3 --on-agent-loss fail --min-share 95% {option}"),
            "give `--on-agent-loss continue` too",
        ),
        (
            "single --wait 5s".to_owned(),
            "`--wait` is only for a run with agents",
        ),
        (
            format!("single --wait 5s {option}"),
            "the number of agents is missing",
        ),
    ] {
        let output = sandbox.run(&line, &server).run().exits(2);
        output.says(&[words]).says_no("Waiting");
    }
    let empty = sandbox.call().args(["agents", "--cluster", ""]);
    empty
        .run()
        .exits(2)
        .says(&["no cluster is given", "tls://"]);
    let encrypted = option.replace("nats://", "tls://");
    let encrypted = sandbox.call().arg("agents").line(&encrypted).run();
    encrypted.exits(1).says(&["does not speak TLS"]);
    // The number of agents may be that of the environment, and a share that of a file, with what it says of a loss.
    let sandbox = Sandbox::with("[cluster]\non_agent_loss = \"continue\"\nmin_share = \"95%\"\n");
    for line in ["--wait 1s", "--wait 1s --on-agent-loss fail"] {
        let line = format!("single --iterations 2 --users 2 {line} {option}");
        let run = sandbox
            .run(&line, &server)
            .env("LOADTEST_CLUSTER_AGENTS", "2");
        run.run()
            .exits(1)
            .says(&["0 of 2 agents connected within 1 s"]);
    }
    let sandbox = Sandbox::with("[cluster]\nmin_share = \"95%\"\n");
    let line = format!("single --agents 1 {option}");
    let run = sandbox.run(&line, &server).run();
    run.exits(2).says(&["`min_share` in `[cluster]`"]);
    assert_eq!(server.requests(), 0);
}

fn an_agent_that_differs_is_told_while_others_are_waited_for() {
    let broker = Broker::start();
    let agent = Agent::of_another_build(&broker);
    let cluster = Cluster::of(broker, [agent]);
    let mut run = cluster.run("single --iterations 5 --wait 10m");
    let reason = format!("agent {} (", cluster.agents[0].name());
    run.running
        .wait_until_it_says("has another build of `site::load::single`");
    let said = run.running.said();
    assert!(
        said.contains("for 1 agent, none is connected yet"),
        "{said}"
    );
    assert_eq!(said.matches(&reason).count(), 1, "{said}");
    send(run.running.process(), Signal::INT);
    run.running.output().exits(105);
    assert_eq!(cluster.target.requests(), 0);
}

fn a_server_without_streams_is_told_at_once() {
    let (broker, server) = (Broker::without_streams(), Server::recording(shop));
    let agent = Agent::start(&broker.option(), "");
    let said = agent.running.said();
    assert!(said.contains("the NATS server keeps no streams"), "{said}");
    let sandbox = Sandbox::new();
    let list = sandbox.call().arg("agents").line(&broker.option()).run();
    list.exits(0).says(&["the NATS server keeps no streams"]);
    let line = format!("single --users 2 --agents 2 {}", broker.option());
    let run = sandbox.run(&line, &server).run().exits(1);
    run.says(&["the NATS server keeps no stream", "nats-server -js"])
        .says_no("Waiting");
}

fn an_agent_that_could_make_no_run_does_not_start() {
    let broker = Broker::start();
    let sandbox = Sandbox::new();
    let agent = sandbox.tool("agent", &broker.option());
    let agent = agent.env("LOADTEST_STORE_DIRECTORY", "/dev/null/runs");
    let output = agent.run().exits(1).says_no("Waiting");
    output.says(&["could not create the folder `/dev/null/runs`"]);
    // Nor does one that could not reach a target.
    let agent = sandbox.tool("agent", &broker.option()).arg("--offline");
    let output = agent.run().exits(2).says_no("Waiting");
    output.says(&["an agent with `--offline` (LOADTEST_OFFLINE) reaches no target"]);
}

fn setups_run_once_on_the_controller() {
    let (broker, server) = (Broker::start(), Server::recording(accounts));
    let project = divided("divided_cluster");
    let mut agents = [1, 2].map(|_| {
        project
            .tool("agent", &format!("--once {}", broker.option()))
            .start()
    });
    for agent in &mut agents {
        agent.wait_until_it_says("Waiting for runs");
    }
    // The target is that of the controller, whatever the environment of an agent says.
    let line = format!("visit {} --agents 2", broker.option());
    let run = project.tool("run", &line);
    run.env("LOADTEST_BASE_URL", server.url()).run().exits(0);
    for agent in agents {
        agent.output().exits(0);
    }
    let of = |method: &str| {
        let all = server.recorded();
        let own = all.iter().filter(|request| request.method == method);
        own.map(|request| request.target.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("POST"), ["/accounts"]);
    assert_eq!(of("GET"), vec!["/of/ada"; 8]);
    assert_eq!(of("DELETE"), ["/accounts/ada"]);

    // What cannot travel is refused before anything is sent, and so is a target of the scenario's own.
    let server = Server::recording(accounts);
    let mut agent = project.tool("agent", &broker.option()).start();
    agent.wait_until_it_says("Waiting for runs");
    let line = format!(
        "opaque {} --agents 1 --base-url {}",
        broker.option(),
        server.url()
    );
    let refused = project.tool("run", &line).run();
    refused.exits(100).says(&["setup `key` failed", "Opaque`"]);
    assert_eq!(server.requests(), 0);
}

fn a_mix_is_made_by_agents_at_once() {
    let cluster = Cluster::<2>::start();
    let run = cluster.run("--mix single journey --rate 40/s --duration 3s");
    run.running.output().exits(0);
    let record = run.sandbox.only_run().record();
    let agents = cluster.agents.each_ref();
    let parts = agents.map(|agent| agent.sandbox.only_run().record());
    for (at, scenario) in record.scenarios.iter().enumerate() {
        assert_balanced(scenario);
        let own: Vec<ScenarioRecord> = parts
            .iter()
            .map(|part| part.scenarios[at].clone())
            .collect();
        assert_is_sum(scenario, &own);
    }
    let planned = record.scenarios.iter().map(|scenario| scenario.end.planned);
    assert_eq!(planned.sum::<u64>(), 120);
}

fn two_runs_have_agents_of_their_own() {
    let broker = Broker::start();
    let agents = [(); 4].map(|()| Agent::start(&broker.option(), ""));
    let server = Server::start(shop);
    let line = format!(
        "single --rate 20/s --duration 4s {} --agents 2",
        broker.option()
    );
    let controllers = [Sandbox::new(), Sandbox::new()];
    let runs = controllers
        .each_ref()
        .map(|controller| controller.run(&line, &server).start());
    for run in runs {
        run.output().exits(0);
    }
    for controller in &controllers {
        let record = controller.record();
        assert_balanced(&record);
        assert_eq!(record.windows.steady.journey.started, 80);
    }
    let made = agents.iter().map(|agent| agent.sandbox.runs().len());
    assert_eq!(made.sum::<usize>(), 4);
}

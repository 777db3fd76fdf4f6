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

use crate::shards::{accounts, divided};
use crate::site::{Sandbox, assert_balanced, shop};
use crate::trial::{nats_servers, trials};
pub(crate) use broker::Broker;
use libtest_mimic::Trial;
use loadtest_model::record::ScenarioRecord;
use loadtest_tests::Server;
pub(crate) use run::Cluster;
use run::{Agent, assert_is_sum};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials![needing "nats-server":
        agents_make_the_load_of_one_process,
        agents_are_listed_and_refused_by_name,
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
    list().run().exits(0).prints(&["no agent is there"]);
    let agent = Agent::start(&broker.option(), "--weight 3");
    list().run().exits(0).prints(&["weight 3", "idle"]);
    let wait = format!("single {} --agents 2 --wait 1s", broker.option());
    sandbox
        .run(&wait, &server)
        .run()
        .exits(1)
        .says(&["1 of 2 agents came in 1s", "cargo loadtest agent"]);
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
    let line = format!(
        "visit {} --agents 2 --base-url {}",
        broker.option(),
        server.url()
    );
    project.tool("run", &line).run().exits(0);
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

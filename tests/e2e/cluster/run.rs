//! The parts of a load that several agents make: a server, agents, a target, and the run of a controller.

use super::broker::Broker;
use crate::call::{Call, Running, wait_for};
use crate::site::{Sandbox, shop};
use loadtest_model::metrics::Windows;
use loadtest_model::record::ScenarioRecord;
use loadtest_tests::Server;
use std::fs;
use std::io::Write as _;

/// An agent with a folder and a store of its own.
pub(crate) struct Agent {
    pub(crate) sandbox: Sandbox,
    pub(crate) running: Running,
}

impl Agent {
    /// Starts one, and waits until it listens.
    #[track_caller]
    pub(crate) fn start(address: &str, line: &str) -> Self {
        Self::called(|sandbox| sandbox.tool("agent", address).line(line))
    }

    /// Starts one by a call of its own.
    #[track_caller]
    pub(crate) fn called(call: impl FnOnce(&Sandbox) -> Call) -> Self {
        Self::within(Sandbox::new(), call)
    }

    /// Starts one in a folder of its own.
    #[track_caller]
    pub(crate) fn within(sandbox: Sandbox, call: impl FnOnce(&Sandbox) -> Call) -> Self {
        let mut running = call(&sandbox).start();
        running.wait_until_it_says("Waiting for runs");
        Self { sandbox, running }
    }

    /// Starts one whose program differs from that of the controller.
    #[track_caller]
    pub(crate) fn of_another_build(broker: &Broker) -> Self {
        Self::called(|sandbox| {
            let program = sandbox.root().join("load");
            fs::copy(sandbox.binary(), &program).expect("our own file");
            let mut file = fs::File::options().append(true).open(&program);
            let file = file.as_mut().expect("our own file");
            file.write_all(b"\n").expect("our own file");
            let call = sandbox.call().args(["agent", "--binary"]).arg(&program);
            call.line(&broker.option())
        })
    }

    /// Its name.
    #[track_caller]
    pub(crate) fn name(&self) -> String {
        let said = self.running.said();
        let after = said.split("as agent ").nth(1);
        let name = after.and_then(|after| after.split(',').next());
        name.expect("it says its name").to_owned()
    }

    /// The process that makes its load.
    #[track_caller]
    pub(crate) fn child(&self) -> u32 {
        let process = self.running.process();
        let path = format!("/proc/{process}/task/{process}/children");
        let children = fs::read_to_string(path).expect("a process that runs");
        let mut children = children.split_whitespace();
        let child = children.next().expect("a load test under way");
        assert_eq!(children.next(), None, "one child");
        child.parse().expect("the number of a process")
    }

    /// What it kept of its last part.
    #[track_caller]
    pub(crate) fn part(&self) -> ScenarioRecord {
        let part = wait_for("the record of an agent", || {
            let run = self.sandbox.runs().pop()?;
            let is_there = run.files().iter().any(|file| file.ends_with("record.json"));
            is_there.then_some(run)
        });
        part.scenario()
    }
}

/// A server, a target, and agents that listen.
pub(crate) struct Cluster<const N: usize> {
    pub(crate) broker: Broker,
    pub(crate) target: Server,
    pub(crate) agents: [Agent; N],
}

/// A run of agents under way.
pub(crate) struct ClusterRun {
    pub(crate) sandbox: Sandbox,
    pub(crate) running: Running,
}

impl<const N: usize> Cluster<N> {
    /// Starts the server and agents that are all alike.
    #[track_caller]
    pub(crate) fn start() -> Self {
        Self::on(Broker::start())
    }

    #[track_caller]
    pub(crate) fn on(broker: Broker) -> Self {
        let agents = std::array::from_fn(|_| Agent::start(&broker.option(), ""));
        Self::of(broker, agents)
    }

    pub(crate) fn of(broker: Broker, agents: [Agent; N]) -> Self {
        Self {
            broker,
            target: Server::recording(shop),
            agents,
        }
    }

    /// Starts a run of them all.
    pub(crate) fn run(&self, line: &str) -> ClusterRun {
        self.run_in(Sandbox::new(), line)
    }

    pub(crate) fn run_in(&self, sandbox: Sandbox, line: &str) -> ClusterRun {
        let line = format!("{line} {} --agents {N}", self.broker.option());
        ClusterRun {
            running: sandbox.run(&line, &self.target).start(),
            sandbox,
        }
    }

    /// Waits until so many requests came to the target.
    #[track_caller]
    pub(crate) fn wait_for_load(&self, requests: u64) {
        wait_for("the load", || {
            (self.target.requests() >= requests).then_some(())
        });
    }

    /// What each agent kept.
    #[track_caller]
    pub(crate) fn parts(&self) -> [ScenarioRecord; N] {
        self.agents.each_ref().map(Agent::part)
    }

    /// Checks that a record is the sum of what the agents kept, bucket by bucket.
    #[track_caller]
    pub(crate) fn assert_is_sum(&self, record: &ScenarioRecord) {
        assert_is_sum(record, &self.parts());
    }
}

/// Checks that a record is the sum of these, bucket by bucket.
#[track_caller]
pub(crate) fn assert_is_sum(record: &ScenarioRecord, parts: &[ScenarioRecord]) {
    let mut windows = Windows::default();
    for part in parts {
        windows.merge(&part.windows);
    }
    assert_eq!(record.windows, windows, "bucket by bucket");
    assert_eq!(
        record.end.planned,
        parts.iter().map(|part| part.end.planned).sum::<u64>()
    );
}

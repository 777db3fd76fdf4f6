//! Bundles that agents take through the server: only those that their key signed, and nothing without a key.

use super::access::admit_roles;
use super::broker::Broker;
use super::run::{Agent, Cluster};
use super::wire::RawClient;
use crate::call::{Call, Output};
use crate::site::{Sandbox, assert_balanced};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::Server;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

pub(crate) fn trials() -> Vec<Trial> {
    trials![needing "nats-server":
        agents_without_a_project_make_the_load_of_a_signed_bundle,
        a_bundle_that_the_key_of_an_agent_did_not_sign_is_refused_by_name,
        bytes_that_changed_on_the_server_are_refused_by_name,
        an_agent_without_a_key_takes_no_bundle,
        signed_bundles_need_no_more_than_their_permissions,
    ]
}

const LOAD: &str = "single --rate 40/s --duration 3s";

/// A controller with a bundle and a key.
struct Signer {
    sandbox: Sandbox,
    public: String,
    /// The file by which the server lets it in.
    credentials: String,
}

impl Signer {
    #[track_caller]
    fn new() -> Self {
        let sandbox = Sandbox::elsewhere("");
        let made = Sandbox::new();
        let bundle = made.call().args(["bundle", "single", "--binary"]);
        let bundle = bundle.arg(made.binary()).arg("-o");
        bundle.arg(sandbox.root().join("a.bundle")).run().exits(0);
        let public = Self::create_key(&sandbox);
        Self {
            sandbox,
            public,
            credentials: String::new(),
        }
    }

    /// Makes the key, and returns the public one.
    #[track_caller]
    fn create_key(sandbox: &Sandbox) -> String {
        let call = sandbox.call().args(["bundle", "--new-key", "key"]);
        call.run().exits(0).stdout.trim().to_owned()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.sandbox.root().join(name)
    }

    /// A run of these agents.
    fn call(&self, line: &str, broker: &Broker, target: &Server) -> Call {
        let call = self.sandbox.call().args(["run", "--bundle"]);
        let call = call.arg(self.file("a.bundle")).arg("--sign");
        let call = call.arg(self.file("key")).line(line);
        let call = call.line(&broker.option());
        // The configuration is that of the bundle.
        call.args(["--base-url", &target.url()])
            .env("LOADTEST_STORE_DIRECTORY", self.file("runs"))
            .env("LOADTEST_CLUSTER_CREDENTIALS", &self.credentials)
    }

    #[track_caller]
    fn run<const N: usize>(&self, line: &str, cluster: &Cluster<N>) -> Output {
        let line = format!("{line} --agents {N}");
        self.call(&line, &cluster.broker, &cluster.target).run()
    }
}

/// An agent outside of every project, where no cargo is to be found.
#[track_caller]
fn start_agent(broker: &Broker, key: &str, configuration: &str) -> Agent {
    Agent::within(Sandbox::elsewhere(configuration), |sandbox| {
        let call = sandbox.call().args(["agent", "--accept-bundles", key]);
        let call = call.line(&broker.option());
        call.env("PATH", "").env("CARGO", "/no/cargo")
    })
}

/// Makes a run of two agents, and compares it with what they kept.
#[track_caller]
fn assert_load(signer: &Signer, cluster: &Cluster<2>) {
    let output = signer.run(LOAD, cluster).exits(0).says_no("ermission");
    let record = signer.sandbox.runs().pop().expect("a run").scenario();
    assert_balanced(&record);
    assert_eq!(record.end.planned, 120, "{output}");
    cluster.assert_is_sum(&record);
    for agent in &cluster.agents {
        let said = agent.running.said();
        assert!(!said.contains("ermission"), "{said}");
    }
}

fn agents_without_a_project_make_the_load_of_a_signed_bundle() {
    let (broker, signer) = (Broker::start(), Signer::new());
    let agents = [(); 2].map(|()| start_agent(&broker, &signer.public, ""));
    let cluster = Cluster::of(broker, agents);
    assert_load(&signer, &cluster);
    // They have it now, and nothing is sent again.
    signer
        .run("single --iterations 4 --users 2", &cluster)
        .exits(0)
        .says_no("the bundle to agents");
}

fn a_bundle_that_the_key_of_an_agent_did_not_sign_is_refused_by_name() {
    let (broker, signer) = (Broker::start(), Signer::new());
    let other = Signer::create_key(&Sandbox::elsewhere(""));
    let agent = start_agent(&broker, &other, "");
    let cluster = Cluster::of(broker, [agent]);
    let output = signer.run("single --wait 1s", &cluster).exits(1);
    let name = cluster.agents[0].name();
    output
        .says(&["0 of 1 agent", &name, "accepts bundles of the key", &other])
        .says_no("the bundle to agents");
    // Nor has it any other scenario.
    let controller = Sandbox::new();
    let line = format!("single --wait 1s --agents 1 {}", cluster.broker.option());
    let run = controller.run(&line, &cluster.target).run();
    run.exits(1).says(&[&name, "has only signed bundles"]);
    assert_eq!(cluster.target.requests(), 0);
}

fn bytes_that_changed_on_the_server_are_refused_by_name() {
    let (broker, signer) = (Broker::start(), Signer::new());
    let mut spy = RawClient::connect(broker.address(), &["lt.bundles.*.*"]);
    let agent = start_agent(&broker, &signer.public, "");
    let cluster = Cluster::of(broker, [agent]);
    fs::set_permissions(signer.file("key"), Permissions::from_mode(0o644)).expect("our own file");
    signer
        .run("single --iterations 4", &cluster)
        .exits(0)
        .says(&["other users can read the secret key"]);
    let first = spy.next().expect("the first piece of the bundle");
    assert!(first.subject.ends_with(".0"), "{}", first.subject);

    let mut changed = first.body.clone();
    changed[1000] ^= 1;
    let requests = cluster.target.requests();
    for (bytes, refusal) in [
        (&changed[..], "is not the one that was signed"),
        (&changed[1..], "is not as long as the one that was signed"),
    ] {
        spy.publish(&first.subject, bytes);
        while spy.next().expect("what was published").body != bytes {}
        let late = start_agent(&cluster.broker, &signer.public, "");
        let call = signer.call(
            "single --users 2 --agents 2",
            &cluster.broker,
            &cluster.target,
        );
        let output = call.run().exits(1);
        let named = format!("agent {} refuses the bundle", late.name());
        output.says(&[named.as_str(), refusal]);
    }
    assert_eq!(cluster.target.requests(), requests);
}

fn an_agent_without_a_key_takes_no_bundle() {
    let (broker, signer) = (Broker::start(), Signer::new());
    let agent = Agent::of_another_build(&broker);
    let cluster = Cluster::of(broker, [agent]);
    signer
        .run("single --wait 1s", &cluster)
        .exits(1)
        .says(&["0 of 1 agent", "has another build of"])
        .says_no("the bundle to agents");
    assert_eq!(cluster.target.requests(), 0);

    let again = signer.sandbox.call().args(["bundle", "--new-key", "key"]);
    again.run().exits(1).says(&["give another name"]);
    let help = signer.sandbox.call().args(["bundle", "--help"]).run();
    assert!(!help.stdout.contains("--bundle <FILE>"), "{help}");

    // The key is worth nothing without agents.
    let call = signer
        .sandbox
        .call()
        .line("run --sign key --bundle a.bundle");
    call.run()
        .exits(2)
        .says(&["`--sign` is only for a run with agents"]);
}

/// As `docs/scale.md` has them.
fn signed_bundles_need_no_more_than_their_permissions() {
    let pieces = ["$JS.API.DIRECT.GET.loadtest-bundles.>"];
    let (broker, agent, controller) = admit_roles(&pieces, &["lt.bundles.*.*"]);
    let quoted = controller.split('"').nth(1).expect("the name of a file");
    let signer = Signer {
        credentials: quoted.to_owned(),
        ..Signer::new()
    };
    let agents = [(); 2].map(|()| start_agent(&broker, &signer.public, &agent));
    assert_load(&signer, &Cluster::of(broker, agents));
}

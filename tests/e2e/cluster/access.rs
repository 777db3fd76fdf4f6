//! Who may speak with the server: TLS, credentials, and the permissions of each role.

use super::broker::Broker;
use super::run::{Agent, Cluster, ClusterRun};
use crate::call::{self, Call};
use crate::project::workspace;
use crate::site::{Sandbox, assert_balanced};
use crate::trials;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use libtest_mimic::Trial;
use loadtest_tests::Authority;
use nkeys::KeyPair;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

pub(crate) fn trials() -> Vec<Trial> {
    trials![needing "nats-server":
        a_run_is_made_by_an_encrypted_server,
        each_role_needs_no_more_than_its_permissions,
        the_documented_server_is_encrypted_and_knows_its_users,
        a_user_has_a_password_and_a_certificate,
        a_subject_that_is_denied_is_named,
    ]
}

const LOAD: &str = "single --rate 40/s --duration 3s";

/// Makes a run of two agents, with these lines of configuration for agents and for the controller.
#[track_caller]
fn make_run(broker: Broker, agents: &str, controller: &str) {
    let address = broker.option();
    let start = |_| Agent::within(Sandbox::with(agents), |one| one.tool("agent", &address));
    let cluster = Cluster::of(broker, [0, 1].map(start));
    let ClusterRun { sandbox, running } = cluster.run_in(Sandbox::with(controller), LOAD);
    running.output().exits(0).says_no("ermission");
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(record.end.planned, 120);
    cluster.assert_is_sum(&record);
    for agent in &cluster.agents {
        let said = agent.running.said();
        assert!(!said.contains("ermission"), "{said}");
    }
}

/// A line of `[cluster]` that names a file.
fn naming(key: &str, file: &Path) -> String {
    format!("[cluster]\n{key} = {:?}\n", file.display().to_string())
}

fn a_run_is_made_by_an_encrypted_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = Authority::new();
    let (certificate, key) = authority.issue("127.0.0.1", 4000);
    let path = |name: &str| folder.path().join(name);
    for (name, text) in [
        ("server.pem", certificate.as_str()),
        ("server.key", &key),
        ("ca.pem", authority.pem()),
        (
            "server.conf",
            "tls { cert_file: \"./server.pem\", key_file: \"./server.key\" }\n",
        ),
    ] {
        let text = text.replace("./", &format!("{}/", folder.path().display()));
        fs::write(path(name), text).expect("our own file");
    }
    let trusting = naming("ca", &path("ca.pem"));
    let broker = Broker::guarded(folder, "tls");
    let sandbox = Sandbox::new();
    let list = sandbox.call().arg("agents").line(&broker.option());
    list.run().exits(1).says(&[
        "the certificate of the NATS server at `tls://",
        "LOADTEST_CLUSTER_CA",
    ]);
    make_run(broker, &trusting, &trusting);
}

fn a_user_has_a_password_and_a_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let (authority, other) = (Authority::new(), Authority::new());
    let (certificate, key) = authority.issue("127.0.0.1", 4000);
    let identity = |authority: &Authority| {
        let (certificate, key) = authority.issue("agent.example", 4000);
        certificate + &key
    };
    let path = |name: &str| folder.path().join(name);
    let configuration = "tls { cert_file: \"./server.pem\", key_file: \"./server.key\", ca_file: \"./ca.pem\", \
                         verify: true }\n\
                         authorization { users: [ { user: ada, password: \"hush-hush\" } ] }\n";
    for (name, text) in [
        ("server.pem", certificate.as_str()),
        ("server.key", &key),
        ("ca.pem", authority.pem()),
        ("agent.pem", &identity(&authority)),
        ("other.pem", &identity(&other)),
        ("server.conf", configuration),
    ] {
        let text = text.replace("./", &format!("{}/", folder.path().display()));
        fs::write(path(name), text).expect("our own file");
    }
    let ca = naming("ca", &path("ca.pem"));
    let own = |name: &str| ca.clone() + &naming("identity", &path(name)).replace("[cluster]\n", "");
    let login = |name: &str| own(name) + "basic_env = \"NATS_LOGIN\"\n";
    let (of_other, without_login, known) =
        (login("other.pem"), own("agent.pem"), login("agent.pem"));
    let broker = Broker::guarded(folder, "tls");
    let option = broker.option();
    let list = |configuration: &str, password: &str| {
        let sandbox = Sandbox::with(configuration);
        let list = sandbox.call().arg("agents").line(&option);
        list.env("NATS_LOGIN", format!("ada:{password}")).run()
    };
    for (configuration, password, words) in [
        (&ca, "hush-hush", "LOADTEST_CLUSTER_IDENTITY"),
        (&of_other, "hush-hush", "NATS server at `tls://127.0.0.1:"),
        (&without_login, "hush-hush", "refuses us"),
        (&known, "wrong-one", "refuses us"),
    ] {
        let output = list(configuration, password).exits(1);
        output
            .says(&[words])
            .says_no("no NATS server answers")
            .says_no(password);
    }
    let output = list(&known, "hush-hush").exits(0);
    output.prints(&["no agent is connected"]);
    let agent = Agent::within(Sandbox::with(&known), |one| {
        one.tool("agent", &option)
            .env("NATS_LOGIN", "ada:hush-hush")
    });
    let output = list(&known, "hush-hush").exits(0);
    output.prints(&[&*agent.name()]);
}

/// With the user of a controller, an agent hears of no run.
fn a_subject_that_is_denied_is_named() {
    let (broker, _, controller) = admit_roles(&[], &[]);
    let option = broker.option();
    let mut agent = Agent::within(Sandbox::with(&controller), |one| one.tool("agent", &option));
    let denied = "does not permit this user's Subscription to \"lt.agents\"";
    agent.running.wait_until_it_says(denied);
}

/// The recipe of `docs/scale.md`, as it stands.
fn the_documented_server_is_encrypted_and_knows_its_users() {
    let page = fs::read_to_string(workspace().join("docs/scale.md")).expect("the page");
    let recipe = page.split("```sh\n").nth(1).expect("a recipe");
    let (recipe, start) = recipe.split_once("nats-server -c").expect("its end");
    assert!(start.starts_with(" nats.conf &\n```"), "{start}");
    let folder = tempfile::tempdir().expect("a folder");
    let tool = format!(
        "set -eu\ncargo() {{ {:?} \"$@\"; }}\n{recipe}",
        call::tool().display().to_string()
    );
    let made = Call::program("bash", folder.path()).args(["-c", &tool]);
    made.run().exits(0);
    let path = |name: &str| folder.path().join(name);
    let text = fs::read_to_string(path("nats.conf")).expect("the configuration");
    // Where it listens and keeps its streams is ours.
    let text = text.replace("port: 4222", "");
    let text = text.replace("jetstream { store_dir: \"nats-data\" }", "");
    let text = text.replace(
        "\"server.",
        &format!("\"{}/server.", folder.path().display()),
    );
    fs::write(path("server.conf"), text).expect("our own file");
    let ca = naming("ca", &path("server.pem"));
    let role =
        |key: &str| ca.clone() + &naming("credentials", &path(key)).replace("[cluster]\n", "");
    let (agent, controller) = (role("agent.key"), role("controller.key"));
    let broker = Broker::guarded(folder, "tls");
    let stranger = Sandbox::with(&ca);
    let list = stranger.call().arg("agents").line(&broker.option());
    list.run().exits(1).says(&["refuses us"]);
    make_run(broker, &agent, &controller);
}

/// What one key says of another, signed.
fn sign(issuer: &KeyPair, subject: &KeyPair, name: &str, claims: &Value) -> String {
    let text = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let head = text(json!({"typ": "JWT", "alg": "ed25519-nkey"}));
    let body = text(json!({
        "jti": name,
        "iat": 1_700_000_000,
        "iss": issuer.public_key(),
        "sub": subject.public_key(),
        "name": name,
        "nats": claims,
    }));
    let signed = format!("{head}.{body}");
    let signature = issuer.sign(signed.as_bytes()).expect("a key that signs");
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

/// Writes the credentials of a user who may publish and subscribe to these subjects.
fn let_in(
    folder: &TempDir,
    account: &KeyPair,
    name: &str,
    publish: &[&str],
    subscribe: &[&str],
) -> String {
    let user = KeyPair::new_user();
    let claims = json!({
        "pub": {"allow": publish},
        "sub": {"allow": subscribe},
        "subs": -1, "data": -1, "payload": -1,
        "type": "user", "version": 2,
    });
    let token = sign(account, &user, name, &claims);
    let seed = user.seed().expect("a key of our own");
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    );
    let path = folder.path().join(format!("{name}.creds"));
    fs::write(&path, text).expect("our own file");
    naming("credentials", &path)
}

/// As `docs/scale.md` has them.
fn each_role_needs_no_more_than_its_permissions() {
    let (broker, agent, controller) = admit_roles(&[], &[]);
    let sandbox = Sandbox::new();
    let list = sandbox.call().arg("agents").line(&broker.option());
    list.run()
        .exits(1)
        .says(&["refuses us", "authorization violation"]);
    make_run(broker, &agent, &controller);
}

/// Starts a server that lets in agents and controllers, which may publish to further subjects; returns the
/// configuration of each.
pub(crate) fn admit_roles(of_agent: &[&str], of_controller: &[&str]) -> (Broker, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let operator = KeyPair::new_operator();
    // The server's own account, and that of the cluster.
    let [system, account] = [(); 2].map(|()| KeyPair::new_account());
    let claims = json!({"type": "operator", "version": 2});
    let mut configuration = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{\n",
        sign(&operator, &operator, "operator", &claims),
        system.public_key(),
    );
    let plenty = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
    });
    for (one, limits) in [(&system, json!({"conn": -1})), (&account, plenty)] {
        let claims = json!({"limits": limits, "type": "account", "version": 2});
        let token = sign(&operator, one, "account", &claims);
        let line = [&one.public_key(), ": ", &token, "\n"];
        configuration.extend(line);
    }
    configuration.push_str("}\n");
    fs::write(folder.path().join("server.conf"), configuration).expect("our own file");
    let agent = let_in(
        &folder,
        &account,
        "agent",
        &[&["lt.run.*.parcels.*", "_INBOX.>"], of_agent].concat(),
        &["lt.agents", "lt.agent.>", "lt.run.*.control.*", "_INBOX.>"],
    );
    let controller = let_in(
        &folder,
        &account,
        "controller",
        &[
            &["lt.agents", "lt.agent.>", "lt.run.*.control.*", "$JS.API.>"],
            of_controller,
        ]
        .concat(),
        &["_INBOX.>"],
    );
    (Broker::guarded(folder, "nats"), agent, controller)
}

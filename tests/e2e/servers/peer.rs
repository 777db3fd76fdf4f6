//! A server with its log, the project with the scenarios for all of them, and what is read from a report.

use crate::call::{Call, Running};
use crate::project::{
    Files, LOAD_TEST, Project, STANDS_ALONE, dependency, header, ours, workspace,
};
use crate::site::Sandbox;
use crate::smoke::{built_tool, smoke};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::OnceLock;

const FILES: [(&str, &str); 5] = [
    (
        "tests/load.rs",
        include_str!("../../fixtures/servers/load.rs"),
    ),
    (
        "tests/load/graphql.rs",
        include_str!("../../fixtures/servers/load/graphql.rs"),
    ),
    (
        "tests/load/grpc.rs",
        include_str!("../../fixtures/servers/load/grpc.rs"),
    ),
    (
        "tests/load/sse.rs",
        include_str!("../../fixtures/servers/load/sse.rs"),
    ),
    (
        "tests/load/websocket.rs",
        include_str!("../../fixtures/servers/load/websocket.rs"),
    ),
];

/// The scenarios.
fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let manifest = format!(
            "{}[dev-dependencies]\n\
             futures-util = {{ version = \"0.3\", default-features = false, features = [\"alloc\"] }}\n\
             loadtest = {}\nshop-proto = {{ path = {:?} }}\n\n{LOAD_TEST}\n{STANDS_ALONE}",
            header("servers"),
            dependency(),
            workspace().join("tests/shop-proto").display().to_string(),
        );
        let files = Files::new("servers")
            .file("Cargo.toml", manifest)
            .file("src/lib.rs", "//! Nothing.\n");
        let files = FILES.into_iter().fold(files, |files, (path, text)| files.file(path, text));
        files.create()
    })
}

/// A server, which ends with this.
pub(super) struct Peer {
    running: Running,
    url: String,
}

impl Peer {
    /// Starts a script of the fixtures by the Python with the packages of servers.
    pub(super) fn python(script: &str) -> Self {
        let python = ours().join("servers/python/bin/python");
        Self::start(Call::program(python, workspace()).arg(fixture(script)))
    }

    /// Starts `graphql.cjs` with the packages that are installed for it.
    pub(super) fn graphql(server: &str) -> Self {
        let modules = ours().join("servers/node/node_modules");
        let script = fixture("graphql.cjs");
        let call = Call::program("node", workspace()).env("NODE_PATH", modules);
        Self::start(call.arg(script).arg(server))
    }

    /// Starts the service of gRPC, by packages of the system, with a limit of calls at once for a connection.
    pub(super) fn grpc(streams: u32) -> Self {
        let script = workspace().join("loadtest/tests/data/grpc_server.py");
        let call = Call::program("/usr/bin/python3", workspace()).arg(script);
        Self::start(call.arg(streams.to_string()))
    }

    fn start(call: Call) -> Self {
        let mut running = call.start();
        let port = running.wait_until_it_printed("its port", |printed| {
            let (port, _) = printed.split_once('\n')?;
            Some(port.to_owned())
        });
        let url = format!("http://127.0.0.1:{port}");
        Self { running, url }
    }

    /// Runs a scenario, and returns its card as JSON.
    #[track_caller]
    pub(super) fn run(&self, scenario: &str) -> Value {
        let sandbox = Sandbox::at(project().root(), "");
        let line = format!("--exact servers::load::{scenario} --export json=-");
        let output = sandbox.tool("run", &line).args(["--base-url", &self.url]);
        let output = output.run();
        let report: Value = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{output}"));
        report["cards"][0].clone()
    }

    /// Runs scenarios under `cargo test` and in `debug`, all at the same time; each succeeds or fails as given.
    #[track_caller]
    pub(super) fn run_once(&self, scenarios: &[(&str, bool)]) {
        let calls = scenarios.iter().flat_map(|(scenario, succeeds)| {
            let test = smoke(project(), &format!("--exact {scenario}"));
            let test = test.env("LOADTEST_BASE_URL", &self.url).start();
            let line = format!("--exact servers::load::{scenario}");
            let debug = built_tool(project(), "debug", &line);
            let debug = debug.args(["--base-url", &self.url]).start();
            let codes = if *succeeds { (0, 0) } else { (101, 99) };
            [(test, codes.0), (debug, codes.1)]
        });
        // All are started before the first is waited for.
        for (call, code) in calls.collect::<Vec<_>>() {
            call.output().exits(code);
        }
    }

    /// Waits until the log has so many lines of an event, and returns all lines.
    #[track_caller]
    pub(super) fn log(&mut self, event: &str, count: usize) -> Vec<Value> {
        let what = format!("{count} lines of {event}");
        self.running.wait_until_it_printed(&what, |printed| {
            let whole = printed.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let lines = whole.lines().skip(1).map(serde_json::from_str);
            let lines: Vec<Value> = lines.map(|line| line.expect("JSON")).collect();
            (lines.iter().filter(|line| line["event"] == event).count() >= count).then_some(lines)
        })
    }
}

fn fixture(name: &str) -> PathBuf {
    workspace().join("tests/fixtures/servers").join(name)
}

/// The steps of a card: name, successes, failures, and the kind and status of these.
pub(super) fn steps(card: &Value) -> Vec<String> {
    let all = card["steps"].as_array().expect("steps").iter();
    let described = all.map(|step| {
        let errors = card["errors"].as_array().expect("errors").iter();
        let errors = errors.filter(|error| error["step"] == step["name"]);
        let errors = errors.map(|error| {
            let [kind, status] = ["kind", "status"].map(|key| &error[key]);
            format!(
                ", {} {} {status}",
                error["count"],
                kind.as_str().expect("a kind")
            )
        });
        let name = step["name"].as_str().expect("a name");
        format!("{name}: {} ok{}", step["ok"], errors.collect::<String>())
    });
    described.collect()
}

/// The step with a name.
#[track_caller]
pub(super) fn step<'a>(card: &'a Value, name: &str) -> &'a Value {
    let mut all = card["steps"].as_array().expect("steps").iter();
    all.find(|step| step["name"] == name).expect("a step")
}

/// Counts the lines of a log in which all these fields have these texts.
pub(super) fn count(log: &[Value], fields: &[(&str, &str)]) -> usize {
    let fits = |line: &&Value| fields.iter().all(|(key, text)| line[key] == *text);
    log.iter().filter(fits).count()
}

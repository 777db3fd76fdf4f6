//! Runs the command against a target that is out of order, and returns what happened.

use crate::project::{Files, Project};
use crate::row::{Group, ITERATIONS, Outcome, Row};
use crate::site::{Sandbox, assert_balanced, total};
use loadtest_tests::Authority;
use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::sync::OnceLock;

/// The project of every row, built once, and the authority that its scenario `trusting` trusts.
pub(crate) struct Matrix {
    pub(crate) project: Project,
    pub(crate) authority: Authority,
}

/// The project, written when it is asked for first.
pub(crate) fn matrix() -> &'static Matrix {
    static MATRIX: OnceLock<Matrix> = OnceLock::new();
    MATRIX.get_or_init(|| {
        let authority = Authority::new();
        let project = Files::single("matrix", include_str!("../fixtures/matrix/load.rs"))
            .file("certs/ca.pem", authority.pem())
            .create();
        Matrix { project, authority }
    })
}

/// A target that is out of order; it stops when it is dropped.
pub(crate) struct Target {
    address: SocketAddr,
    url: String,
    servers: Vec<Box<dyn Any>>,
}

impl Target {
    /// A target at `address`, over `http` or `https`, kept up by `server`.
    pub(crate) fn new(scheme: &str, address: SocketAddr, server: impl Any) -> Self {
        Self {
            address,
            url: format!("{scheme}://{address}"),
            servers: vec![Box::new(server)],
        }
    }

    /// Keeps up another server with it.
    pub(crate) fn and(mut self, server: impl Any) -> Self {
        self.servers.push(Box::new(server));
        self
    }
}

/// A row whose fault is a target, which the users of `scenario` send their requests to one after another.
pub(crate) fn row(
    group: Group,
    fault: &'static str,
    scenario: &'static str,
    target: impl Fn() -> Target + Send + Sync + 'static,
    expected: Outcome,
) -> Row {
    Row {
        group,
        fault,
        inject: Box::new(move || run(scenario, &target(), 1)),
        expected,
    }
}

/// The same for a target that answers too late, with all requests at once.
pub(crate) fn row_at_once(
    group: Group,
    fault: &'static str,
    scenario: &'static str,
    target: impl Fn() -> Target + Send + Sync + 'static,
    expected: Outcome,
) -> Row {
    Row {
        group,
        fault,
        inject: Box::new(move || run(scenario, &target(), ITERATIONS)),
        expected,
    }
}

/// Runs `scenario` against `target`.
fn run(scenario: &str, target: &Target, users: u64) -> Outcome {
    let sandbox = Sandbox::at(matrix().project.root(), "");
    let line = format!(
        "--exact matrix::load::{scenario} --iterations {ITERATIONS} --users {users} --base-url"
    );
    let output = sandbox.tool("run", &line).arg(&target.url).run();
    let exit_code = output.status.code().expect("it ended by itself");
    let folder = sandbox.only_run();
    let survives = fs::read_dir(&folder.0)
        .expect("the folder of the run")
        .flatten();
    let mut survives: Vec<String> = survives
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    survives.sort();
    let mut outcome = Outcome {
        exit_code,
        ok: 0,
        errors: Vec::new(),
        remarks: Vec::new(),
        message: String::new(),
        survives,
    };
    let Some(record) = folder.record().scenarios.pop() else {
        let said = output
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("error: "));
        outcome.message = plain(said.unwrap_or_default(), target);
        return outcome;
    };
    assert_balanced(&record);
    let step = &total(&record).steps[0];
    outcome.ok = step.ok;
    let mut errors = BTreeMap::new();
    for error in &step.errors {
        *errors.entry(error.kind.name()).or_default() += error.count;
    }
    outcome.errors = errors.into_iter().collect();
    if let Some(error) = step.errors.first() {
        outcome.message = plain(&error.example.to_string(), target);
    }
    let counters = [
        ("retries", step.retries),
        ("ambiguous", step.ambiguous),
        ("unsolicited", step.unsolicited),
    ];
    outcome.remarks = counters
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .collect();
    outcome
}

/// A message without what differs from run to run.
fn plain(message: &str, target: &Target) -> String {
    message.replace(&target.address.to_string(), "127.0.0.1:PORT")
}

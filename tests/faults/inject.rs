//! Runs the command where something is out of order, and returns what happened.

use crate::call::{Call, Output};
use crate::project::{Files, Project, built_load_test};
use crate::row::{Count, Group, ITERATIONS, Outcome, Row, ends};
use crate::site::{Sandbox, assert_balanced, total};
use loadtest_model::metrics::Frame;
use loadtest_model::protocol::JournalLine;
use loadtest_tests::{Authority, Reply, Server};
use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::sync::OnceLock;

/// The project of nearly every row, built once, and the authority that its scenario `trusting` trusts.
pub(crate) struct Matrix {
    pub(crate) project: Project,
    pub(crate) authority: Authority,
}

/// The project, written and built when it is asked for first: some rows leave no room for a build.
pub(crate) fn matrix() -> &'static Matrix {
    static MATRIX: OnceLock<Matrix> = OnceLock::new();
    MATRIX.get_or_init(|| {
        let authority = Authority::new();
        let project = Files::single("matrix", include_str!("../fixtures/matrix/load.rs"))
            .file("src/main.rs", include_str!("../fixtures/site/main.rs"))
            .file(
                "tests/load/code.rs",
                include_str!("../fixtures/matrix/code.rs"),
            )
            .file(
                "tests/load/soak.rs",
                include_str!("../fixtures/matrix/soak.rs"),
            )
            .file(
                "tests/load/text.rs",
                include_str!("../fixtures/matrix/text.rs"),
            )
            .file("certs/ca.pem", authority.pem())
            .create();
        built_load_test(project.root());
        Matrix { project, authority }
    })
}

/// A folder in the project.
pub(crate) fn sandbox() -> Sandbox {
    Sandbox::at(matrix().project.root(), "")
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
    Row::new(group, fault, expected, move || meet(scenario, &target(), 1))
}

/// The same for a target that answers too late, with all requests at once.
pub(crate) fn row_at_once(
    group: Group,
    fault: &'static str,
    scenario: &'static str,
    target: impl Fn() -> Target + Send + Sync + 'static,
    expected: Outcome,
) -> Row {
    Row::new(group, fault, expected, move || {
        meet(scenario, &target(), ITERATIONS)
    })
}

/// A row that calls the command in a sandbox, once or more, and returns the last output. Its expected message may be
/// a part of what is said.
pub(crate) fn act(
    group: Group,
    fault: &'static str,
    expected: Outcome,
    act: impl Fn(&Sandbox) -> Output + Send + Sync + 'static,
) -> Row {
    let wanted = expected.clone();
    Row::new(group, fault, expected, move || {
        let sandbox = sandbox();
        let output = act(&sandbox);
        observe(&sandbox, &output).said(&wanted, &output)
    })
}

/// A server that answers every request at once.
pub(crate) fn good_server() -> Server {
    Server::start(|_| Reply::text("ok"))
}

/// Runs one scenario of the project with more arguments.
pub(crate) fn run(sandbox: &Sandbox, scenario: &str, line: &str, server: &Server) -> Call {
    sandbox.run(&format!("--exact matrix::load::{scenario} {line}"), server)
}

/// Runs `scenario` against `target`.
fn meet(scenario: &str, target: &Target, users: u64) -> Outcome {
    let sandbox = sandbox();
    let line = format!(
        "--exact matrix::load::{scenario} --iterations {ITERATIONS} --users {users} --base-url"
    );
    let output = sandbox.tool("run", &line).arg(&target.url).run();
    let mut outcome = observe(&sandbox, &output);
    let address = target.address.to_string();
    outcome.message = outcome.message.replace(&address, "127.0.0.1:PORT");
    outcome
}

/// Returns what a call left in its sandbox, which holds one run at most.
pub(crate) fn observe(sandbox: &Sandbox, output: &Output) -> Outcome {
    let exit_code = output.status.code().expect("it ended by itself");
    let mut errors = output.stderr.lines();
    let error = errors.find_map(|line| line.strip_prefix("error: "));
    let mut outcome = ends(exit_code, error.unwrap_or_default()).leaves(&[]);
    let mut runs = sandbox.runs();
    let Some(folder) = runs.pop() else {
        return outcome;
    };
    assert!(runs.is_empty(), "one run: {runs:?}");
    let files = fs::read_dir(&folder.0).expect("the folder of the run");
    let names = files.flatten().map(|entry| entry.file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    outcome.survives = names.collect();
    outcome.survives.sort();
    if !folder.0.join("record.json").is_file() {
        outcome.ok = printed_ok(output).into();
        return outcome;
    }
    let record = folder.record();
    record.scenarios.iter().for_each(assert_balanced);
    let totals: Vec<_> = record.scenarios.iter().map(total).collect();
    let steps = || totals.iter().flat_map(|total| &total.steps);
    outcome.ok = Count::Exactly(steps().map(|step| step.ok).sum());
    let mut errors = BTreeMap::new();
    for error in steps().flat_map(|step| &step.errors) {
        *errors.entry(error.kind.name()).or_default() += error.count;
    }
    let exact = |(name, count): (&'static str, u64)| (name, Count::Exactly(count));
    outcome.errors = errors.into_iter().map(exact).collect();
    if let Some(error) = steps().flat_map(|step| &step.errors).next() {
        outcome.message = error.example.to_string();
    }
    let counters = [
        ("retries", steps().map(|step| step.retries).sum()),
        ("ambiguous", steps().map(|step| step.ambiguous).sum()),
        ("unsolicited", steps().map(|step| step.unsolicited).sum()),
        (
            "cancelled",
            totals.iter().map(|total| total.journey.cancelled).sum(),
        ),
    ];
    let counters = counters.into_iter().filter(|(_, count)| *count > 0);
    outcome.remarks = counters.map(exact).collect();
    outcome
}

/// Returns the seconds that the journal of the only run holds so far.
pub(crate) fn read_journal(sandbox: &Sandbox) -> Vec<Frame> {
    let run = sandbox.runs().pop();
    let journal = run.and_then(|run| fs::read(run.0.join("journal-1.jsonl")).ok());
    let journal = journal.unwrap_or_default();
    let lines = journal.split_inclusive(|byte| *byte == b'\n');
    // The last one may be on its way.
    let lines = lines.filter(|line| line.ends_with(b"\n"));
    let frames = lines.filter_map(|line| match JournalLine::from_json(line) {
        Ok(JournalLine::Frame(frame)) => Some(*frame),
        _ => None,
    });
    frames.collect()
}

/// Returns the journeys that succeeded in these seconds.
pub(crate) fn count_ok(frames: &[Frame]) -> u64 {
    let tallies = frames.iter().flat_map(|frame| frame.windows.all());
    tallies.map(|tally| tally.journey.ok).sum()
}

/// The successes that the card shows: `.. started = 7 ok + 0 failed ..`, or `7 ok, ..`.
pub(crate) fn printed_ok(output: &Output) -> u64 {
    let text = [&*output.stdout, &output.stderr].join("\n");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut counts = words
        .windows(2)
        .filter(|pair| pair[1].trim_end_matches(',') == "ok");
    counts
        .find_map(|pair| pair[0].parse().ok())
        .unwrap_or_default()
}

impl Outcome {
    /// Keeps of it, and of what was said, only as much as `expected` says.
    pub(crate) fn said(self, expected: &Self, output: &Output) -> Self {
        let said = [&*output.stdout, &output.stderr, &self.message].join("\n");
        self.round_to(expected, &said)
    }
}

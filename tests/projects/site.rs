//! The project with many scenarios, compiled once, of which each test runs its own.

use crate::call::{Call, is_running, tool, wait_for};
use crate::project::{
    Files, LOAD_TEST, Project, STANDS_ALONE, all_files, builds, built_load_test, dependency, header,
};
use loadtest_model::metrics::{Health, Histogram, StepTally, Tally};
use loadtest_model::record::{NotRun, RunRecord, ScenarioRecord};
use loadtest_tests::{Reply, Request, Server};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

/// The project.
pub(crate) fn site() -> &'static Project {
    static SITE: OnceLock<Project> = OnceLock::new();
    SITE.get_or_init(|| {
        let manifest = format!(
            "{}[dev-dependencies]\nloadtest = {}\n\n{LOAD_TEST}\n{STANDS_ALONE}",
            header("site"),
            dependency()
        );
        Files::new("site")
            .file("Cargo.toml", manifest)
            .file("src/main.rs", include_str!("../fixtures/site/main.rs"))
            .file("tests/load.rs", include_str!("../fixtures/site/load.rs"))
            .file(
                "tests/load/choices.rs",
                include_str!("../fixtures/site/choices.rs"),
            )
            .file(
                "tests/load/groups.rs",
                include_str!("../fixtures/site/groups.rs"),
            )
            .file(
                "tests/load/limits.rs",
                include_str!("../fixtures/site/limits.rs"),
            )
            .file(
                "tests/load/metrics.rs",
                include_str!("../fixtures/site/metrics.rs"),
            )
            .file(
                "tests/load/repeat.rs",
                include_str!("../fixtures/site/repeat.rs"),
            )
            .create()
    })
}

/// A folder within a project for one test, with a store of its own.
#[derive(Debug)]
pub(crate) struct Sandbox {
    folder: TempDir,
    /// The load test of the project.
    binary: PathBuf,
}

/// The folder of a run.
#[derive(Debug)]
pub(crate) struct RunFolder(pub(crate) PathBuf);

impl Sandbox {
    /// Creates a folder in [`site`].
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// Creates one with more in its `loadtest.toml`.
    pub(crate) fn with(configuration: &str) -> Self {
        Self::at(site().root(), configuration)
    }

    /// Creates one in the project at `root`.
    pub(crate) fn at(root: &Path, configuration: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("sandbox-")
            .tempdir_in(root)
            .expect("a folder in the project");
        let text = format!("[store]\ndirectory = \"runs\"\n{configuration}");
        std::fs::write(folder.path().join("loadtest.toml"), text).expect("the configuration");
        Self {
            folder,
            binary: built_load_test(root),
        }
    }

    /// Creates one outside of every project.
    pub(crate) fn elsewhere(configuration: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!("[store]\ndirectory = \"runs\"\n{configuration}");
        std::fs::write(folder.path().join("loadtest.toml"), text).expect("the configuration");
        Self {
            folder,
            binary: built_load_test(site().root()),
        }
    }

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// `cargo loadtest` from here.
    pub(crate) fn call(&self) -> Call {
        Call::tool(self.folder.path())
    }

    /// `cargo loadtest <command> <line>` from here.
    pub(crate) fn tool(&self, command: &str, line: &str) -> Call {
        self.complete(self.call(), command, line)
    }

    fn complete(&self, call: Call, command: &str, line: &str) -> Call {
        let call = call.arg(command);
        let call = if builds(command) {
            call.arg("--binary").arg(&self.binary)
        } else {
            call
        };
        call.line(line)
    }

    /// `<program> <arguments> cargo loadtest` from here.
    #[cfg(unix)]
    pub(crate) fn wrapped(&self, program: &str, arguments: &[&str]) -> Call {
        Call::program(program, self.folder.path())
            .args(arguments)
            .arg(tool())
            .arg("loadtest")
    }

    /// `<program> <arguments> cargo loadtest <command> <line>` from here.
    #[cfg(unix)]
    pub(crate) fn wrapped_tool(&self, wrapper: (&str, &[&str]), command: &str, line: &str) -> Call {
        self.complete(self.wrapped(wrapper.0, wrapper.1), command, line)
    }

    /// The load test of the project.
    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// `cargo loadtest run <line>` where `ulimit <limit>` holds: `-n 400`, or `-S -n 128` until the tool raises it.
    #[cfg(unix)]
    pub(crate) fn run_with_files(&self, limit: &str, line: &str, server: &Server) -> Call {
        let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
        self.wrapped_tool(("sh", &["-c", &script]), "run", line)
            .args(["--base-url", &server.url()])
    }

    /// `cargo loadtest run <line> --base-url <server>` from here.
    pub(crate) fn run(&self, line: &str, server: &Server) -> Call {
        self.tool("run", line).args(["--base-url", &server.url()])
    }

    /// The runs made from here.
    pub(crate) fn runs(&self) -> Vec<RunFolder> {
        let runs = std::fs::read_dir(self.folder.path().join("runs"));
        let mut runs: Vec<PathBuf> = runs
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir() && !path.is_symlink() && !is_hidden(path))
            .collect();
        runs.sort();
        runs.into_iter().map(RunFolder).collect()
    }

    /// The only run made from here.
    #[track_caller]
    pub(crate) fn only_run(&self) -> RunFolder {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1, "one run: {runs:?}");
        runs.remove(0)
    }

    /// The record of the only scenario of the only run.
    #[track_caller]
    pub(crate) fn record(&self) -> ScenarioRecord {
        self.only_run().scenario()
    }
}

/// Returns true for a folder that is no run: the dashboard has one.
fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with('.')
}

impl RunFolder {
    /// The name of the run.
    pub(crate) fn name(&self) -> String {
        let name = self.0.file_name().expect("a run has a name");
        name.to_string_lossy().into_owned()
    }

    /// The record.
    #[track_caller]
    pub(crate) fn record(&self) -> RunRecord {
        let text = self.text("record.json");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("record.json: {error}\n{text}"))
    }

    /// The journal of a scenario or a trial of a run that has its record.
    #[track_caller]
    pub(crate) fn journal(&self, number: usize) -> String {
        let path = self.0.join(format!("journal-{number}.jsonl.gz"));
        let file = std::fs::File::open(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        std::io::read_to_string(flate2::read::GzDecoder::new(file)).expect("a whole journal")
    }

    /// The record of the only scenario.
    #[track_caller]
    pub(crate) fn scenario(&self) -> ScenarioRecord {
        let mut scenarios = self.record().scenarios;
        assert_eq!(scenarios.len(), 1, "one scenario");
        scenarios.remove(0)
    }

    /// The only scenario, which did not run.
    #[track_caller]
    pub(crate) fn not_run(&self) -> NotRun {
        let mut record = self.record();
        assert!(record.scenarios.is_empty(), "nothing was measured");
        assert_eq!(record.not_run.len(), 1, "one scenario");
        self.has_page();
        record.not_run.remove(0)
    }

    /// Rewrites the record as an idle machine would have made it, with its validity judged: only such a run can
    /// become a baseline.
    #[track_caller]
    pub(crate) fn make_judged(&self) {
        let mut record = self.record();
        for scenario in &mut record.scenarios {
            scenario.start.validity_off = false;
            for cell in &mut scenario.cells.cells {
                cell.health = Health::default();
            }
            let windows = &mut scenario.windows;
            for tally in [&mut windows.warm_up, &mut windows.ramp, &mut windows.steady] {
                let starts = tally.journey.lateness.count();
                tally.journey.lateness = Histogram::default();
                tally.journey.lateness.record_n(Duration::ZERO, starts);
            }
        }
        let text = serde_json::to_vec(&record).expect("a record is JSON");
        std::fs::write(self.0.join("record.json"), text).expect("our own file");
    }

    /// The text of a file.
    #[track_caller]
    pub(crate) fn text(&self, name: &str) -> String {
        let path = self.0.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The names of all files.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        all_files(&self.0)
    }

    /// The page is there and whole.
    #[track_caller]
    pub(crate) fn has_page(&self) {
        let page = self.text("report.html");
        assert!(page.trim_end().ends_with("</html>"), "the page is whole");
    }
}

/// Answers the scenario `journey` as a shop does.
pub(crate) fn shop(request: &Request) -> Reply {
    match request.path.as_str() {
        "/login" => Reply::json(r#"{"token":"t-1","user":{"id":7,"name":"Ada"}}"#),
        "/products" => Reply::json(r#"{"items":[{"id":31},{"id":32}]}"#),
        "/orders" => Reply::status(201).body(r#"{"id":99}"#),
        "/orders/99" => Reply::text("shown"),
        "/single" => Reply::text("ok"),
        _ => Reply::status(404),
    }
}

/// Everything that was counted, whatever part of the load it was due in.
pub(crate) fn total(record: &ScenarioRecord) -> Tally {
    let mut total = Tally::new(record.start.definition.steps.len());
    for tally in record.windows.all() {
        total.merge(tally);
    }
    total
}

/// The counts of the step called `name`.
#[track_caller]
pub(crate) fn step<'a>(record: &ScenarioRecord, total: &'a Tally, name: &str) -> &'a StepTally {
    let at = number(record, name);
    &total.steps[at]
}

/// The zero-based number of the step called `name`.
#[track_caller]
pub(crate) fn number(record: &ScenarioRecord, name: &str) -> usize {
    let steps = &record.start.definition.steps;
    steps
        .iter()
        .position(|step| step.name == name)
        .unwrap_or_else(|| panic!("no step `{name}`"))
}

/// The process of the load test that sent the requests which `server` recorded, by their `x-process`.
#[track_caller]
pub(crate) fn sender(server: &Server) -> u32 {
    let process = server.recorded()[0].header("x-process").map(str::parse);
    process.expect("the process is named").expect("a number")
}

/// Waits until the load test has ended that sent the requests which `server` recorded.
#[cfg(unix)]
#[track_caller]
pub(crate) fn wait_for_the_end_of_the_load(server: &Server) {
    let process = sender(server);
    wait_for("the end of the load", || {
        (!is_running(process)).then_some(())
    });
}

/// The sums that every record keeps, whatever happened.
#[track_caller]
pub(crate) fn assert_balanced(record: &ScenarioRecord) {
    let total = total(record);
    let journey = &total.journey;
    assert_eq!(
        record.end.planned,
        journey.started + journey.dropped,
        "planned = started + dropped: {journey:?}"
    );
    assert_eq!(
        journey.started,
        journey.ok + journey.failed + journey.cancelled,
        "started = ok + failed + cancelled: {journey:?}"
    );
    assert_eq!(journey.time.count(), journey.ok);
    assert_eq!(journey.failed_time.count(), journey.failed);
    for (step, def) in total.steps.iter().zip(record.start.definition.steps.iter()) {
        let name = &def.name;
        assert_eq!(step.executed, step.ok + step.failed, "{name}");
        let errors: u64 = step.errors.iter().map(|error| error.count).sum();
        assert_eq!(step.failed, errors, "every failure of {name} has a kind");
        let timed = step.response.count() + step.failed_response.count();
        assert!(
            timed <= step.executed,
            "{name} has no time that nobody took"
        );
        assert!(
            step.response.count() >= step.ok,
            "every success of {name} has a time"
        );
    }
    for (at, step) in total.steps.iter().enumerate() {
        let ledger: u64 = total
            .dependencies
            .iter()
            .filter(|line| line.step == at)
            .map(|line| line.count)
            .sum();
        assert_eq!(
            step.skipped + step.skipped_not_drawn + step.left_out,
            ledger,
            "the ledger holds every skip of step {at}"
        );
        let is_last = record.start.definition.steps[at].last;
        if journey.cancelled == 0 && !is_last {
            let spared = step.not_drawn + step.left_out + step.kept + step.skipped_not_drawn;
            let met = step.executed + step.skipped + spared;
            assert_eq!(met, journey.started, "every iteration came to step {at}");
        }
    }
}

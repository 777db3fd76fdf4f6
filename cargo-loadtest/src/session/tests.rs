//! A shell stands in for the load test: it gets the same variable, pipes and signals.

use super::*;
use loadtest_console::files;
use loadtest_model::exit_code::ExitCode;
use loadtest_model::failure::{FailureKind, RunFailure};
use std::path::PathBuf;
use std::process::Command;

struct Fixture {
    folder: tempfile::TempDir,
    interrupts: Interrupts,
}

impl Fixture {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            interrupts: Interrupts::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, lines: &[JournalLine]) {
        std::fs::write(self.path(name), sample::journal(lines)).unwrap();
    }

    fn run(&self, script: &str) -> Result<ScenarioRecord, Error> {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(script)
            .current_dir(self.folder.path());
        let request = sample::request(self.folder.path());
        let mut live = Live::new(true, 1);
        let program = Program {
            command,
            script: None,
        };
        run(
            program,
            &request,
            &self.path("request"),
            &self.interrupts,
            &mut live,
        )
    }

    /// Asks to stop as soon as the script has made the file `ready`.
    fn interrupt_when_ready(&self, times: u32) -> std::thread::JoinHandle<()> {
        let (ready, interrupts) = (self.path("ready"), self.interrupts.clone());
        std::thread::spawn(move || {
            while !ready.exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            for _ in 0..times {
                interrupts.request();
            }
        })
    }
}

fn started() -> JournalLine {
    JournalLine::Start(Box::new(sample::start()))
}

#[test]
fn the_record_of_the_child_is_the_result() {
    let fixture = Fixture::new();
    files::write_json(&fixture.path("made"), &sample::scenario_record()).unwrap();
    let record = fixture
        .run("test -s \"$LOADTEST_REQUEST\" && echo chatter && cp made record")
        .unwrap();
    assert_eq!(record, sample::scenario_record());
    let request = std::fs::read(fixture.path("request")).unwrap();
    let request: Request = serde_json::from_slice(&request).unwrap();
    assert!(matches!(request, Request::Run(_)));
}

#[test]
fn a_killed_child_leaves_what_its_journal_holds() {
    let fixture = Fixture::new();
    fixture.write(
        "made",
        &[started(), JournalLine::Frame(Box::new(sample::frame(0, 9)))],
    );
    let record = fixture.run("cp made journal; kill -9 $$").unwrap();
    assert_eq!(record.windows.steady.journey.started, 9);
    assert_eq!(
        record.end.ending,
        EndReason::Died {
            reason: "killed by signal 9".into()
        }
    );
}

#[test]
fn a_refusal_has_the_exit_code_of_its_kind() {
    for (kind, code) in [
        (FailureKind::Usage, 2),
        (FailureKind::Setup, 100),
        (FailureKind::NotPermitted, 103),
        (FailureKind::Interrupted, 105),
        (FailureKind::Internal, 1),
    ] {
        let fixture = Fixture::new();
        let failure = RunFailure {
            kind,
            message: "no".into(),
            help: Some("ask".into()),
        };
        fixture.write("made", &[JournalLine::Failed(failure)]);
        let error = fixture.run("cp made journal; exit 1").unwrap_err();
        assert_eq!(
            (error.exit_code().number(), error.help()),
            (code, Some("ask"))
        );
    }
}

#[test]
fn a_child_without_a_trace_is_an_error_that_tells_its_status() {
    let error = Fixture::new().run("exit 7").unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::Internal);
    assert!(error.to_string().contains("exit code 7"), "{error}");
}

#[test]
fn the_first_interrupt_stops_and_the_second_aborts() {
    for (times, word) in [(1, "stop"), (2, "stop abort")] {
        let fixture = Fixture::new();
        fixture.write("made", &[started()]);
        let interrupter = fixture.interrupt_when_ready(times);
        let count = times;
        let script = format!(
            "cp made journal; touch ready; i=0; while [ $i -lt {count} ]; do read word; \
             printf '%s ' $word >> words; i=$((i+1)); done"
        );
        let record = fixture.run(&script).unwrap();
        interrupter.join().unwrap();
        let words = std::fs::read_to_string(fixture.path("words")).unwrap();
        assert_eq!(words.trim(), word);
        assert_eq!(record.end.ending == EndReason::Aborted, times == 2);
    }
}

#[test]
fn what_the_child_started_does_not_survive_it() {
    let fixture = Fixture::new();
    fixture.write("made", &[started()]);
    fixture
        .run("sleep 1000 & echo $! > survivor; cp made journal")
        .unwrap();
    assert_ended(&fixture.path("survivor"));
}

#[test]
fn a_child_that_does_not_obey_is_ended_by_a_third_interrupt() {
    let fixture = Fixture::new();
    fixture.write("made", &[started()]);
    let interrupter = fixture.interrupt_when_ready(3);
    let script = "cp made journal; echo $$ > survivor; touch ready; while :; do sleep 1000; done";
    let record = fixture.run(script).unwrap();
    interrupter.join().unwrap();
    assert_eq!(record.end.ending, EndReason::Aborted);
    assert_ended(&fixture.path("survivor"));
}

/// Waits until the process whose number is in `file` is gone or waits to be reaped by its new parent.
fn assert_ended(file: &Path) {
    let number = std::fs::read_to_string(file).unwrap();
    let is_running = || {
        let output = Command::new("ps")
            .args(["-o", "stat=", "-p", number.trim()])
            .output()
            .unwrap();
        let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        !state.is_empty() && !state.starts_with('Z')
    };
    // Far longer than the system needs to end it.
    for _ in 0..6_000 {
        if !is_running() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("process {} still runs", number.trim());
}

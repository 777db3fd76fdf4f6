//! Files, disks and outputs that are not as they should be.

use crate::call::{Output, wait_for};
use crate::inject::{act, good_server, observe, printed_ok, run, sandbox};
use crate::row::Count::Some as SomeOf;
use crate::row::{Group, Outcome, Place, Row, ends, passes};
use loadtest_tests::{Gate, Reply, Server};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

pub(crate) fn rows() -> Vec<Row> {
    let parts = [outputs(), stores(), inputs()];
    parts.into_iter().flatten().collect()
}

fn outputs() -> Vec<Row> {
    vec![
        act(
            Group::Files,
            "Standard output is closed",
            passes(),
            |sandbox| {
                let server = good_server();
                let call = run(sandbox, "plain", "--iterations 3", &server);
                let output = call.start_without_stdout().output();
                output.says_no("panicked").says_no("error")
            },
        )
        .peers("k6: killed (141); oha: exit code 1"),
        act(
            Group::Files,
            "Standard output takes nothing",
            ends(1, "could not write to standard output").ok(3),
            |sandbox| {
                let server = good_server();
                let call = run(sandbox, "plain", "--iterations 3", &server);
                let output = call.output_without_room().has_one_error();
                for (command, line) in [("list", "plain"), ("report", "")] {
                    let call = sandbox.tool(command, line);
                    call.output_without_room().exits(1).has_one_error();
                }
                output
            },
        ),
    ]
}

fn stores() -> Vec<Row> {
    vec![
        full_disk(
            "A disk with room for the journal only",
            "32k",
            ends(1, "No space left on device").ok(SomeOf).leaves(&["journal-1.jsonl"]),
            |output| output.prints(&["plain", "planned = ", "Steps"]),
        )
        .peers("k6: a truncated file; oha: exit code 1, an empty file; Goose: exit code 1, empty files"),
        full_disk(
            "A disk without room",
            "12k",
            ends(1, "neither journal nor record can be written, so here is its card:")
                .ok(SomeOf)
                .leaves(&["journal-1.jsonl"]),
            |output| output.says(&[" ok, 0 failed, p50 "]),
        ),
        act(
            Group::Files,
            "The store is removed during the run",
            passes().ok(5).leaves(&["record.json", "report.html"]),
            |sandbox| {
                let store = sandbox.root().join("runs");
                let server = Server::start(move |request| {
                    // The tool may write a file meanwhile.
                    while request.sequence == 2 && fs::remove_dir_all(&store).is_err() {}
                    Reply::text("ok")
                });
                run(sandbox, "plain", "--iterations 5 --users 1", &server).run()
            },
        ),
        act(
            Group::Files,
            "A folder in place of the record",
            ends(1, "record and report are in").ok(5).leaves(&[
                "journal-1.jsonl",
                "observed-1.jsonl",
                "record-1.json",
                "record.json",
                "request-1.json",
                "run.json",
            ]),
            |sandbox| {
                let gate = Gate::new();
                let held = gate.clone();
                let server = Server::start(move |_| Reply::text("ok").hold(&held));
                let call = run(sandbox, "plain", "--iterations 5 --verbose", &server);
                let running = call.env("TMPDIR", sandbox.root()).start();
                wait_for("the load", || (server.requests() >= 1).then_some(()));
                let folder = sandbox.only_run().0;
                fs::create_dir_all(folder.join("record.json/x")).expect("a folder");
                wait_for("what is observed", || {
                    folder.join("observed-1.jsonl").exists().then_some(())
                });
                gate.open();
                let output = running.output().has_one_error();
                output.prints(&["matrix::load::plain", "p95"])
            },
        ),
        act(
            Group::Files,
            "The store is below a file",
            ends(1, "could not create").leaves(&[]),
            |sandbox| {
                fs::write(sandbox.root().join("runs"), "").expect("a file");
                let server = good_server();
                let output = run(sandbox, "plain", "--iterations 3", &server).run();
                assert_eq!(server.requests(), 0);
                output
            },
        ),
    ]
}

fn inputs() -> Vec<Row> {
    vec![
        act(
            Group::Files,
            "A pipe in place of `loadtest.toml`",
            ends(1, "it is a pipe or a device").leaves(&[]),
            |sandbox| {
                let file = sandbox.root().join("loadtest.toml");
                fs::remove_file(&file).expect("our own file");
                make_pipe(&file);
                sandbox.tool("run", "plain --iterations 3").run()
            },
        ),
        act(
            Group::Files,
            "A device in place of `loadtest.toml`",
            ends(1, "it is a pipe or a device").leaves(&[]),
            |sandbox| {
                let file = sandbox.root().join("loadtest.toml");
                fs::remove_file(&file).expect("our own file");
                symlink("/dev/zero", file).expect("a link");
                sandbox.tool("run", "plain --iterations 3").run()
            },
        ),
        act(
            Group::Files,
            "A pipe in place of a record",
            ends(1, "it is a pipe or a device").leaves(&[]),
            |sandbox| {
                let file = sandbox.root().join("record.json");
                make_pipe(&file);
                sandbox.tool("report", "").arg(file).run()
            },
        ),
    ]
}

fn make_pipe(path: &std::path::Path) {
    let status = Command::new("mkfifo").arg(path).status();
    assert!(status.is_ok_and(|status| status.success()), "mkfifo");
}

/// A run whose store is on a disk of `size`, which goes with the namespace of the run: the files are listed in it.
fn full_disk(
    fault: &'static str,
    size: &'static str,
    expected: Outcome,
    check: impl Fn(Output) -> Output + Send + Sync + 'static,
) -> Row {
    let wanted = expected.clone();
    let row = Row::new(Group::Files, fault, expected, move || {
        let sandbox = sandbox();
        let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(5)));
        let mount = format!("mkdir -p runs && mount -t tmpfs -o size={size} none runs");
        let script = format!("{mount} && \"$0\" \"$@\"; code=$?; ls runs/* >&2; exit $code");
        let wrapper = ("unshare", &["-Urm", "sh", "-c", &script][..]);
        let line = "--users 2 --duration 3s --verbose --exact matrix::load::plain --base-url";
        let call = sandbox.wrapped_tool(wrapper, "run", line);
        let output = check(call.arg(server.url()).run());
        let mut outcome = observe(&sandbox, &output);
        let lines = output.stderr.lines();
        let files =
            lines.filter(|line| ["journal-1.jsonl", "record.json", "report.html"].contains(line));
        outcome.ok = printed_ok(&output).into();
        outcome.survives = files.map(str::to_owned).collect();
        outcome.said(&wanted, &output)
    });
    row.needing(Place::Namespaces)
}

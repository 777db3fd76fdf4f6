//! Targets and machines out of order: what fails is told by its kind, is counted, and costs nobody else.

use crate::call::{Output, send, wait_for};
use crate::project::{Files, LOAD_TEST, Project, STANDS_ALONE, dependency, header};
use crate::site::{Sandbox, assert_balanced, step, total};
use crate::trials;
use flate2::Compression;
use flate2::write::GzEncoder;
use libtest_mimic::Trial;
use loadtest_model::metrics::ErrorKind;
use loadtest_model::metrics::{StepTally, Tally};
use loadtest_model::record::EndReason;
use loadtest_tests::{Reply, Request, Server};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials![
        floods_are_streamed_without_being_kept,
        what_is_too_much_to_keep_is_not_kept,
        a_target_that_never_answers_does_not_hold_up_the_run,
        a_target_that_dies_and_returns_costs_what_came_between,
        a_host_that_does_not_exist_is_told_before_the_load,
        no_room_for_files_is_no_fault_of_the_target,
        a_run_whose_steps_panic_too_often_is_given_up,
        a_few_panics_are_failures_and_nothing_more,
        a_generator_that_was_stopped_says_so,
    ];
    trials.extend(trials![needing "unshare":
        a_host_is_looked_up_again_where_the_scenario_says_so,
        no_room_for_ports_is_no_fault_of_the_target,
        a_full_disk_leaves_no_half_a_record,
    ]);
    trials
}

fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let manifest = format!(
            "{}[dev-dependencies]\nloadtest = {}\n\n{LOAD_TEST}\n{STANDS_ALONE}",
            header("faults"),
            dependency()
        );
        let project = Files::new("faults")
            .file("Cargo.toml", manifest)
            .file("src/main.rs", include_str!("../fixtures/site/main.rs"))
            .file("tests/load.rs", include_str!("../fixtures/faults/load.rs"))
            .create();
        // What is short of everything below is not to build as well.
        project.tool("list", "").run().exits(0);
        project
    })
}

fn sandbox() -> Sandbox {
    Sandbox::at(project().root(), "")
}

/// The kinds of failure of a step, and how often each came.
fn kinds(step: &StepTally) -> BTreeMap<&'static str, u64> {
    let mut kinds = BTreeMap::new();
    for error in &step.errors {
        *kinds.entry(error.kind.name()).or_default() += error.count;
    }
    kinds
}

fn requests(total: &Tally) -> u64 {
    total.steps.iter().map(|step| step.requests).sum()
}

/// 64 MB that turn up as they are asked for, and 2 GB of nothing in 2 MB.
fn flood() -> impl Fn(&Request) -> Reply + Send + Sync {
    let large = vec![b'x'; 64 << 20];
    let mut nothing = GzEncoder::new(Vec::new(), Compression::default());
    nothing.write_all(&vec![0; 8 << 20]).expect("memory");
    let bomb = nothing.finish().expect("memory").repeat(256);
    move |request| match request.path.as_str() {
        "/endless-head" => Reply::endless_head(),
        "/many-headers" => Reply::status(200).many_headers(5_000),
        "/endless" => Reply::endless(),
        "/large" => Reply::status(200).body(large.clone()),
        "/bomb" => Reply::status(200)
            .header("content-encoding", "gzip")
            .body(bomb.clone()),
        _ => Reply::status(404),
    }
}

/// Runs a scenario and says by how much its memory grew at most, in KiB.
fn growth(sandbox: &Sandbox, scenario: &str, server: &Server) -> u64 {
    let notes = tempfile::tempdir().expect("a folder");
    let name = format!("--exact faults::load::{scenario}");
    let call = sandbox.run(&name, server).env("FAULTS_NOTES", notes.path());
    call.run().exits(99);
    let weight = |when: &str| -> u64 {
        let text = std::fs::read_to_string(notes.path().join(when)).expect("a note");
        text.parse().expect("a number")
    };
    weight("after") - weight("before")
}

/// More than any run may need beyond what it had at the start, in KiB.
const BOUND: u64 = 64 << 10;

fn floods_are_streamed_without_being_kept() {
    let server = Server::start(flood());
    let sandbox = sandbox();
    let grown = growth(&sandbox, "flooded", &server);
    assert!(grown < BOUND, "{grown} KiB");
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let of = |name| kinds(step(&record, &all, name));
    assert_eq!(of("head"), [("head.too_large", 8)].into());
    assert_eq!(of("headers"), [("head.too_large", 8)].into());
    assert_eq!(of("endless"), [("timeout.total", 8)].into());
    let large = step(&record, &all, "large");
    assert_eq!(large.ok, 8, "{:?}", large.errors);
    assert!(large.received_bytes >= 8 * (64 << 20));
    assert_eq!(server.requests(), requests(&all));
    assert_eq!(server.requests(), 32);
}

fn what_is_too_much_to_keep_is_not_kept() {
    let server = Server::start(flood());
    let sandbox = sandbox();
    let grown = growth(&sandbox, "stuffed", &server);
    assert!(grown < BOUND, "{grown} KiB");
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let of = |name| kinds(step(&record, &all, name));
    assert_eq!(of("endless"), [("body.too_large", 4)].into());
    assert_eq!(of("large"), [("body.too_large", 4)].into());
    assert_eq!(of("bomb"), [("body.ratio", 4)].into());
    assert_eq!(server.requests(), requests(&all));
}

fn a_target_that_never_answers_does_not_hold_up_the_run() {
    let server = Server::start(|_| Reply::hang());
    let sandbox = sandbox();
    sandbox
        .run("hurried --rate 20/s --duration 1s", &server)
        .run()
        .exits(99);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    assert_eq!((record.end.planned, all.journey.cancelled), (20, 0));
    assert_eq!(record.end.ending, EndReason::Completed);
    let page = &all.steps[0];
    assert_eq!(kinds(page), [("timeout.head", 20)].into());
    assert_eq!(
        page.response.count(),
        20,
        "they are entered at their deadline"
    );
    assert_eq!((page.requests, server.requests()), (20, 20));
}

fn a_target_that_dies_and_returns_costs_what_came_between() {
    let first = Server::start(|_| Reply::text("ok"));
    let address = first.address();
    let sandbox = sandbox();
    let mut running = sandbox
        .run("hurried --rate 50/s --duration 5s", &first)
        .start();
    running.wait_until_it_says("[0s]");
    wait_for("the load", || (first.requests() >= 20).then_some(()));
    let before = first.requests();
    drop(first);
    running.wait_until_it_says("first error");
    let second = Server::start_at(address, |_| Reply::text("ok"));
    running.output().exits(99);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let page = &all.steps[0];
    assert_eq!(record.end.planned, 250);
    assert!(page.failed > 0 && second.requests() > 0);
    for kind in kinds(page).into_keys() {
        assert!(
            [
                "connect.refused",
                "reset.before_head",
                "closed.fresh",
                "closed.reused"
            ]
            .contains(&kind),
            "{kind}"
        );
    }
    // What the first had read when it died is answered by nobody.
    let answered = page.ok - second.requests();
    assert!(
        (before..=before + 2).contains(&answered),
        "{answered} of {before}"
    );
    let users = u64::from(record.start.plan.max_users);
    assert!(second.connections() <= users, "{}", second.connections());
}

fn a_host_that_does_not_exist_is_told_before_the_load() {
    let sandbox = sandbox();
    sandbox
        .tool("run", "hurried --base-url http://nothing.invalid")
        .run()
        .exits(103)
        .says(&[
            "`http://nothing.invalid` may not be tested",
            "a name that is not listed is looked up in the hosts file only; nothing was sent",
        ]);
    assert_eq!(sandbox.only_run().not_run().exit_code, 103);
}

/// A run that failed in its own machine, as `kind`.
fn is_invalid(sandbox: &Sandbox, output: Output, kind: &str, remedy: &str) {
    output
        .exits(102)
        .prints(&["INVALID", "failed in the generator itself", kind, remedy]);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    assert_eq!(all.journey.started, 3);
    let ask = &all.steps[0];
    assert!(kinds(ask).contains_key(kind), "{:?}", ask.errors);
    assert!(ask.requests > 0, "the others were sent");
}

fn no_room_for_files_is_no_fault_of_the_target() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(20)));
    let sandbox = sandbox();
    let output = sandbox.run_with_files("-n 120", "crowded", &server).run();
    is_invalid(&sandbox, output, "local.fds", "`ulimit -n`");
    let all = total(&sandbox.record());
    assert_eq!(requests(&all), server.requests());
}

/// The tool in namespaces of its own, after `script`.
fn apart(sandbox: &Sandbox, namespaces: &str, script: &str) -> crate::call::Call {
    let script = format!("{script} && exec \"$0\" \"$@\"");
    sandbox.wrapped("unshare", &[namespaces, "sh", "-c", &script])
}

fn no_room_for_ports_is_no_fault_of_the_target() {
    let sandbox = sandbox();
    let script = "echo '40000 40099' >/proc/sys/net/ipv4/ip_local_port_range && \
                  (ip link set lo up || ifconfig lo up)";
    let run = apart(&sandbox, "-Urn", script);
    let output = run.line("run --profile dev crowded").run();
    is_invalid(
        &sandbox,
        output,
        "local.ports",
        "widen the range of local ports",
    );

    // Ports that rest after their connection was closed are taken too.
    let sandbox = self::sandbox();
    let resting = format!("echo 0 >/proc/sys/net/ipv4/tcp_tw_reuse && {script}");
    let run = apart(&sandbox, "-Urn", &resting);
    let output = run.line("run --profile dev closing").run().exits(102);
    output.prints(&["470 new connections a second"]);
    let record = sandbox.record();
    assert_balanced(&record);
    let page = &total(&record).steps[0];
    assert!(page.ok > 0 && page.ok <= 100, "{}", page.ok);
    assert_eq!(kinds(page), [("local.ports", page.failed)].into());

    // More users than ports are refused before the load.
    let sandbox = self::sandbox();
    let run = apart(&sandbox, "-Urn", script);
    let line = "run --profile dev crowded --users 101 --iterations 101";
    run.line(line).run().exits(2).says(&[
        "101 virtual users need as many local ports",
        "this machine has 100",
        "`sysctl net.ipv4.ip_local_port_range`",
    ]);
}

fn a_full_disk_leaves_no_half_a_record() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(5)));
    let sandbox = sandbox();
    // What is on the disk goes with the namespace.
    let run_on_disk_of = |size: &str| {
        let mount = format!("mkdir -p runs && mount -t tmpfs -o size={size} none runs");
        let script = format!("{mount} && \"$0\" \"$@\"; code=$?; ls runs/* >&2; exit $code");
        let output = sandbox
            .wrapped("unshare", &["-Urm", "sh", "-c", &script])
            .line("run --profile dev hurried --users 2 --duration 3s --verbose --base-url")
            .arg(server.url())
            .run()
            .exits(1)
            .says(&[
                "could not write",
                "No space left on device",
                "journal-1.jsonl",
            ]);
        let files: Vec<&str> = output.stderr.lines().collect();
        for half in ["record.json", "report.html"] {
            assert!(!files.contains(&half), "{output}");
        }
        output
    };
    // Room for a journal, and not for a record: the result is not lost.
    run_on_disk_of("32k").prints(&["hurried", "planned = ", "Steps"]);
    // Room for nothing.
    run_on_disk_of("12k").says(&[
        "journal-1.jsonl`: No space left on device",
        "neither journal nor record can be kept, so here is its card:",
        " ok, 0 failed, p50 ",
    ]);
}

fn a_host_is_looked_up_again_where_the_scenario_says_so() {
    let answer = |_: &Request| Reply::text("ok").close();
    let first = Server::start(answer);
    let port = first.address().port();
    let second = Server::start_at((Ipv4Addr::new(127, 0, 0, 2), port).into(), answer);
    let names = tempfile::tempdir().expect("a folder");
    let hosts = |text: &str| std::fs::write(names.path().join("hosts"), text).expect("room");
    hosts("127.0.0.1 shop.test\n");
    std::fs::write(names.path().join("nsswitch.conf"), "hosts: files\n").expect("room");
    let bind = |file: &str| {
        format!(
            "mount --bind {} /etc/{file}",
            shown(&names.path().join(file))
        )
    };
    let script = format!("{} && {}", bind("hosts"), bind("nsswitch.conf"));
    let sandbox = sandbox();
    let mut running = apart(&sandbox, "-Urm", &script)
        .line("run --profile dev wandering --base-url")
        .arg(format!("http://shop.test:{port}"))
        .start();
    wait_for("the load", || (first.requests() >= 5).then_some(()));
    hosts("127.0.0.2 shop.test\n");
    wait_for("the move", || (second.requests() >= 5).then_some(()));
    let stayed = first.requests();
    // Some lookups find nothing, until the name is there again.
    hosts("127.0.0.1 another.test\n");
    running.wait_until_it_says("first error `dns.nxdomain`");
    let before = second.requests();
    hosts("127.0.0.2 shop.test\n");
    wait_for("its return", || {
        (second.requests() > before + 5).then_some(())
    });
    // Then it leads astray.
    hosts("192.0.2.1 shop.test\n");
    running.wait_until_it_says("first error `guard.blocked`");
    running.signal(Signal::INT);
    let output = running.output().exits(103);
    output.prints(&["NOT PERMITTED", "(192.0.2.1) may not be tested"]);
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let page = &all.steps[0];
    let found: Vec<_> = kinds(page).into_keys().collect();
    assert_eq!(found, ["dns.nxdomain", "guard.blocked"]);
    assert_eq!(first.requests(), stayed, "nobody goes back");
    assert_eq!(page.ok, first.requests() + second.requests());
    assert_eq!(page.requests, page.ok);
}

fn shown(path: &Path) -> String {
    format!("'{}'", path.display())
}

fn a_run_whose_steps_panic_too_often_is_given_up() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(2)));
    let sandbox = sandbox();
    let run = sandbox.run("crumbling", &server).run().exits(99);
    run.prints(&[
        "given up before its end: more than 5 % of the steps panicked, most at ",
        "tests/load.rs",
        "told to panic",
    ]);
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(record.end.ending, EndReason::Panicked);
    assert!(
        record.end.elapsed_us < 60_000_000,
        "{} us",
        record.end.elapsed_us
    );
    let all = total(&record);
    let broken = step(&record, &all, "every_fifth");
    assert_eq!(kinds(broken), [("step.panic", broken.failed)].into());
    assert_eq!(record.end.panics.len(), 1);
    assert_eq!(record.end.panics[0].count, broken.failed);
    assert!(record.end.panics[0].location.contains("tests/load.rs:"));
}

fn a_few_panics_are_failures_and_nothing_more() {
    let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(4)));
    let sandbox = sandbox();
    sandbox.run("cracked", &server).run().exits(99);
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(
        (record.end.planned, &record.end.ending),
        (2000, &EndReason::Completed)
    );
    let all = total(&record);
    assert_eq!(kinds(&all.steps[0]), [("step.panic", 40)].into());
    assert_eq!((all.steps[0].ok, server.requests()), (1960, 1960));
    assert_eq!(server.connections(), 4 + 1, "nobody lost a connection");
}

/// The time for which the generator is suspended: a stall in two seconds at least.
const STOPPED: Duration = Duration::from_millis(2_500);

fn a_generator_that_was_stopped_says_so() {
    let server = Server::recording(|_| Reply::text("ok").delay(Duration::from_millis(5)));
    let sandbox = sandbox();
    let run = sandbox.run("steady --users 2 --duration 5s", &server);
    let running = run.judged().start();
    wait_for("the load", || (server.requests() >= 50).then_some(()));
    let process = server.recorded()[0].header("x-process").map(str::parse);
    let process = process.expect("the process is named").expect("a number");
    send(process, Signal::STOP);
    // The stop is what is tested: its length is the stall.
    std::thread::sleep(STOPPED);
    send(process, Signal::CONT);
    running
        .output()
        .exits(102)
        .prints(&["INVALID", "a worker thread stalled in"]);
    let record = sandbox.record();
    assert_balanced(&record);
    let cells = &record.cells.cells;
    let longest = cells.iter().map(|cell| cell.health.longest_stall_us).max();
    assert!(longest >= Some(2_400_000), "{longest:?}");
    let all = total(&record);
    assert_eq!(all.journey.ok, server.requests());
    assert_eq!(
        all.steps[0].errors.first().map(|error| error.kind),
        None::<ErrorKind>
    );
}

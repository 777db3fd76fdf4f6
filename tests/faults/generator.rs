//! A machine that has too little for the load.

use crate::inject::{act, good_server, run};
use crate::row::Count::Some as SomeOf;
use crate::row::{Group, Outcome, Place, Row, ends};
use crate::site::{Sandbox, total};
use loadtest_tests::{Reply, Server};
use std::time::Duration;

/// Leaves 100 ports for connections.
const FEW_PORTS: &str = "echo '40000 40099' >/proc/sys/net/ipv4/ip_local_port_range && \
                         (ip link set lo up || ifconfig lo up)";

pub(crate) fn rows() -> Vec<Row> {
    let invalid = |kind, remedy: &str| ends(102, remedy).error(kind, 3);
    vec![
        act(
            Group::Generator,
            "200 requests at once where 120 files may be open",
            invalid("local.fds", "`ulimit -n`"),
            |sandbox| {
                let server = Server::start(|_| Reply::text("ok").delay(Duration::from_millis(20)));
                let line = "--exact matrix::load::crowded";
                let output = sandbox.run_with_files("-n 120", line, &server).run();
                assert_eq!(requests(sandbox), server.requests());
                output
            },
        ),
        act(
            Group::Generator,
            "1,000 users where 400 files may be open",
            ends(2, "1000 open connections"),
            |sandbox| {
                let server = Server::start(|_| Reply::text("ok"));
                let line = "--exact matrix::load::plain --users 1000 --duration 2s";
                let output = sandbox.run_with_files("-n 400", line, &server).run();
                assert_eq!(server.requests(), 0);
                output.says(&["`ulimit -n "])
            },
        ),
        act(
            Group::Generator,
            "No thread can be started after the setup",
            ends(1, "no thread is left for the load"),
            |sandbox| {
                let server = good_server();
                let output = run(sandbox, "code::without_threads", "", &server).run();
                assert_eq!(server.requests(), 0);
                output.says_no("panicked")
            },
        ),
        apart(
            "200 requests at once where there are 100 local ports",
            "true",
            "crowded",
            invalid("local.ports", "widen the range of local ports"),
        )
        .peers("k6: errors of the target; oha: 301 errors; Goose: 26,694 failures"),
        apart(
            "No local port left, since each rests after its connection was closed",
            "echo 0 >/proc/sys/net/ipv4/tcp_tw_reuse",
            "closing",
            ends(102, "470 new connections a second")
                .ok(SomeOf)
                .error("local.ports", SomeOf),
        ),
        apart(
            "101 users where there are 100 local ports",
            "true",
            "crowded --users 101 --iterations 101",
            ends(2, "101 virtual users need as many local ports"),
        ),
    ]
}

/// A run in a network of its own with 100 local ports.
fn apart(fault: &'static str, before: &'static str, line: &'static str, expected: Outcome) -> Row {
    let row = act(Group::Generator, fault, expected, move |sandbox| {
        let script = format!("{before} && {FEW_PORTS} && exec \"$0\" \"$@\"");
        let wrapper = ("unshare", &["-Urn", "sh", "-c", &script][..]);
        let line = format!("--exact matrix::load::{line}");
        sandbox.wrapped_tool(wrapper, "run", &line).run()
    });
    row.needing(Place::Namespaces)
}

/// The requests of a run, by its record.
fn requests(sandbox: &Sandbox) -> u64 {
    let total = total(&sandbox.record());
    total.steps.iter().map(|step| step.requests).sum()
}

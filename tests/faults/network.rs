//! Connections that break off, stall or are slow.

#![expect(
    clippy::too_many_lines,
    reason = "a row of a table is several lines long"
)]

use crate::call::wait_for;
use crate::inject::{Target, act, good_server, observe, row, row_at_once, run, sandbox};
use crate::messages::{CLOSED_EARLY, CUT_BODY, RESET_EARLY};
use crate::row::Count::Some as SomeOf;
use crate::row::{Group, Outcome, Place, Row, ends, fails, passes};
use crate::site::total;
use loadtest_bad_server::{BadServer, ClosedPort, FaultProxy, FullPort, NetworkFault, Script};
use loadtest_tests::{Reply, Request, Server};
use rustix::process::Signal;
use std::fs;
use std::net::Ipv4Addr;
use std::time::Duration;

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
/// The length of the head of the answer.
const HEAD: usize = ANSWER.len() - 5;

pub(crate) fn rows() -> Vec<Row> {
    vec![
        row(
            Group::Network,
            "Nothing listens at the port",
            "plain",
            || {
                let port = ClosedPort::take();
                Target::new("http", port.address(), port)
            },
            ends(
                100,
                "`matrix::load::plain` did not run: nothing answers at http://127.0.0.1:PORT (127.0.0.1:PORT): Connection refused (os error 111); is the target running?",
            ),
        )
.peers("k6, oha, Goose: every request fails; wrk: exit code 1"),
        row(
            Group::Network,
            "Connections that are never accepted",
            "plain",
            || {
                let port = FullPort::take();
                Target::new("http", port.address(), port)
            },
            ends(
                100,
                "`matrix::load::plain` did not run: nothing answers at http://127.0.0.1:PORT (127.0.0.1:PORT): timed out; is the target running?",
            ),
        ),
        through(
            "Reset before the first byte of the answer",
            NetworkFault::ResetAfter(0),
            fails(
                "reset.before_head",
                RESET_EARLY,
            ),
        ),
        through(
            "Reset within the head",
            NetworkFault::ResetAfter(HEAD / 2),
            fails(
                "reset.before_head",
                RESET_EARLY,
            ),
        ),
        through(
            "Reset within the body",
            NetworkFault::ResetAfter(HEAD + 2),
            fails("reset.in_body", "the connection was reset within the body"),
        ),
        through(
            "Closed before the first byte of the answer",
            NetworkFault::CloseAfter(0),
            fails(
                "closed.fresh",
                CLOSED_EARLY,
            ),
        ),
        through(
            "Closed within the head",
            NetworkFault::CloseAfter(HEAD / 2),
            fails(
                "closed.fresh",
                CLOSED_EARLY,
            ),
        ),
        through(
            "Closed within the body",
            NetworkFault::CloseAfter(HEAD + 2),
            fails(
                "body.truncated",
                CUT_BODY,
            ),
        ),
        through(
            "Closed in one direction within the body",
            NetworkFault::HalfCloseAfter(HEAD + 2),
            fails(
                "body.truncated",
                CUT_BODY,
            ),
        ),
        hangs(
            "No byte of an answer until the deadline",
            NetworkFault::BlackHoleAfter(0),
            fails("timeout.head", "no head of the answer within 3s"),
        )
.peers("k6: error 1050, 61 dropped; oha: no success rate; Goose: runs on for more than 20 s, no report"),
        hangs(
            "Half a head until the deadline",
            NetworkFault::BlackHoleAfter(HEAD / 2),
            fails("timeout.head", "no head of the answer within 3s"),
        ),
        hangs(
            "Half a body until the deadline",
            NetworkFault::BlackHoleAfter(HEAD + 2),
            fails("timeout.total", "no complete answer within 3s"),
        ),
        through(
            "Every byte in a packet of its own",
            NetworkFault::Slices(1),
            passes(),
        ),
        through(
            "Latency of 20 ms with 10 ms of jitter",
            NetworkFault::Latency {
                delay: Duration::from_millis(20),
                jitter: Duration::from_millis(10),
            },
            passes(),
        ),
        through(
            "1,000 bytes a second",
            NetworkFault::Bandwidth(1_000),
            passes(),
        ),
        dies_and_returns(),
        host_moves(),
    ]
}

/// A target that ends during the load; another takes its place at the same address. The load lasts until that has
/// answered, however long it takes.
fn dies_and_returns() -> Row {
    let expected = ends(105, "Connection refused")
        .ok(SomeOf)
        .error("connect.refused", SomeOf);
    let wanted = expected.clone();
    Row::new(
        Group::Network,
        "The target dies and returns during the load, which Ctrl-C ends then",
        expected,
        move || {
            let sandbox = sandbox();
            let first = good_server();
            let address = first.address();
            let mut running = run(&sandbox, "plain", "--rate 50/s --duration 60s", &first).start();
            wait_for("the load", || (first.requests() >= 20).then_some(()));
            drop(first);
            running.wait_until_it_says("first error `connect.refused`");
            let second = Server::start_at(address, |_| Reply::text("ok"));
            wait_for("its return", || (second.requests() >= 20).then_some(()));
            running.signal(Signal::INT);
            let output = running.output();
            let record = sandbox.record();
            let ok = total(&record).steps[0].ok;
            assert!(ok >= second.requests(), "{ok} of {}", second.requests());
            let users = u64::from(record.start.plan.max_users);
            assert!((1..=users).contains(&second.connections()));
            let mut outcome = observe(&sandbox, &output);
            // Some requests may have been under way when it died.
            let cut_off = [
                "reset.before_head",
                "closed.fresh",
                "closed.reused",
                "closed.before_head",
            ];
            outcome.errors.retain(|(kind, _)| !cut_off.contains(kind));
            outcome.remarks.retain(|(remark, _)| *remark != "retries");
            outcome.said(&wanted, &output)
        },
    )
}

/// A target whose host leads to another address, to none, back, and to one that may not be tested.
fn host_moves() -> Row {
    let expected = ends(103, "(192.0.2.1) is not a permitted target")
        .ok(SomeOf)
        .error("dns.nxdomain", SomeOf)
        .error("guard.blocked", SomeOf);
    let fault = "The host leads elsewhere, to no address and to one that is not a permitted target, where names are looked up again (`dns = ttl`)";
    let row = act(Group::Network, fault, expected, |sandbox| {
        let answer = |_: &Request| Reply::text("ok").close();
        let first = Server::start(answer);
        let port = first.address().port();
        let second = Server::start_at((Ipv4Addr::new(127, 0, 0, 2), port).into(), answer);
        let folder = sandbox.root().display();
        let hosts = |text: &str| fs::write(sandbox.root().join("hosts"), text).expect("room");
        hosts("127.0.0.1 shop.test\n");
        fs::write(sandbox.root().join("nsswitch.conf"), "hosts: files\n").expect("room");
        let bind = |file| format!("mount --bind '{folder}/{file}' /etc/{file}");
        let (names, order) = (bind("hosts"), bind("nsswitch.conf"));
        let script = format!("{names} && {order} && exec \"$0\" \"$@\"");
        let wrapper = ("unshare", &["-Urm", "sh", "-c", &script][..]);
        let line = "--exact matrix::load::wandering --base-url";
        let mut running = sandbox
            .wrapped_tool(wrapper, "run", line)
            .arg(format!("http://shop.test:{port}"))
            .start();
        wait_for("the load", || (first.requests() >= 5).then_some(()));
        hosts("127.0.0.2 shop.test\n");
        wait_for("the move", || (second.requests() >= 5).then_some(()));
        let stayed = first.requests();
        hosts("127.0.0.1 another.test\n");
        running.wait_until_it_says("first error `dns.nxdomain`");
        let before = second.requests();
        hosts("127.0.0.2 shop.test\n");
        wait_for("its return", || {
            (second.requests() > before + 5).then_some(())
        });
        hosts("192.0.2.1 shop.test\n");
        running.wait_until_it_says("first error `guard.blocked`");
        running.signal(Signal::INT);
        let output = running.output();
        assert_eq!(first.requests(), stayed, "no request goes back");
        let page = &total(&sandbox.record()).steps[0];
        assert_eq!(page.ok, first.requests() + second.requests());
        assert_eq!(page.requests, page.ok);
        output
    });
    row.needing(Place::Namespaces)
        .peers("k6, oha, Goose: follow the name")
}

/// A proxy with a fault, in front of a server that answers well.
fn proxy(fault: NetworkFault) -> Target {
    let server = BadServer::start(Script::answer(ANSWER));
    let proxy = FaultProxy::start(server.address(), fault);
    Target::new("http", proxy.address(), proxy).and(server)
}

fn through(fault: &'static str, network: NetworkFault, expected: Outcome) -> Row {
    let target = move || proxy(network);
    row(Group::Network, fault, "plain", target, expected)
}

fn hangs(fault: &'static str, network: NetworkFault, expected: Outcome) -> Row {
    let target = move || proxy(network);
    row_at_once(Group::Network, fault, "hurried", target, expected)
}

//! Connections that break off, stall or are slow.

#![expect(
    clippy::too_many_lines,
    reason = "a row of a table is several lines long"
)]

use crate::inject::{Target, row, row_at_once};
use crate::row::{Group, Outcome, Row, fails, passes, refuses};
use loadtest_bad_server::{BadServer, ClosedPort, FaultProxy, NetworkFault, Script};
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
            refuses(
                100,
                "`matrix::load::plain` did not run: nothing answers at http://127.0.0.1:PORT (127.0.0.1:PORT): Connection refused (os error 111); is the target running?",
            ),
        ),
        through(
            "Reset before the first byte of the answer",
            NetworkFault::ResetAfter(0),
            fails(
                "reset.before_head",
                "the connection was reset before the head of the answer",
            ),
        ),
        through(
            "Reset within the head",
            NetworkFault::ResetAfter(HEAD / 2),
            fails(
                "reset.before_head",
                "the connection was reset before the head of the answer",
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
                "the server closed the new connection before the head of the answer",
            ),
        ),
        through(
            "Closed within the head",
            NetworkFault::CloseAfter(HEAD / 2),
            fails(
                "closed.fresh",
                "the server closed the new connection before the head of the answer",
            ),
        ),
        through(
            "Closed within the body",
            NetworkFault::CloseAfter(HEAD + 2),
            fails(
                "body.truncated",
                "the body ended early: the connection was closed before the end",
            ),
        ),
        through(
            "Closed in one direction within the body",
            NetworkFault::HalfCloseAfter(HEAD + 2),
            fails(
                "body.truncated",
                "the body ended early: the connection was closed before the end",
            ),
        ),
        hangs(
            "No byte of an answer until the deadline",
            NetworkFault::BlackHoleAfter(0),
            fails("timeout.head", "no head of an answer within 1s"),
        ),
        hangs(
            "Half a head until the deadline",
            NetworkFault::BlackHoleAfter(HEAD / 2),
            fails("timeout.head", "no head of an answer within 1s"),
        ),
        hangs(
            "Half a body until the deadline",
            NetworkFault::BlackHoleAfter(HEAD + 2),
            fails("timeout.total", "no complete answer within 1s"),
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
    ]
}

/// A proxy with a fault, in front of a server that answers well.
fn proxy(fault: NetworkFault) -> Target {
    let server = BadServer::start(Script::answer(ANSWER));
    let proxy = FaultProxy::start(server.address(), fault);
    Target::new("http", proxy.address(), proxy).and(server)
}

fn through(fault: &'static str, network: NetworkFault, expected: Outcome) -> Row {
    row(
        Group::Network,
        fault,
        "plain",
        move || proxy(network),
        expected,
    )
}

fn hangs(fault: &'static str, network: NetworkFault, expected: Outcome) -> Row {
    row_at_once(
        Group::Network,
        fault,
        "hurried",
        move || proxy(network),
        expected,
    )
}

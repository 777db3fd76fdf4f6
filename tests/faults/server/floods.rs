//! Answers that are larger than any memory: the load test grows by no more than 64 MiB.

use crate::call::Output;
use crate::inject::{act, run};
use crate::messages::LARGE_HEAD;
use crate::row::{Group, Outcome, Row, fails, passes};
use flate2::Compression;
use flate2::write::GzEncoder;
use loadtest_tests::{Reply, Server};
use std::io::Write as _;

pub(crate) fn rows() -> Vec<Row> {
    const TOO_LARGE: &str = "the body";
    vec![
        weighs(
            "A head without an end",
            "weighing",
            Reply::endless_head,
            fails(
                "head.too_large",
                LARGE_HEAD,
            ),
        )
        .peers("k6: error after 100 MB; oha: error after 13 MB; Goose: failure after 17 MB"),
        weighs(
            "A body without an end that is not read, until the deadline",
            "weighing_hurried",
            unfinished,
            fails("timeout.total", "no complete answer within 3s"),
        )
        .peers("k6: out of memory, all results lost, unless bodies are discarded; oha: no success rate; Goose: out of memory"),
        weighs("A body of 64 MB that is not read", "weighing", large, passes())
            .peers("k6: out of memory; oha: passes, 17 MB; Goose: passes, 483 MB"),
        weighs(
            "A body without an end that is read",
            "weighing_read",
            Reply::endless,
            fails("body.too_large", TOO_LARGE),
        ),
        weighs(
            "A body of 64 MB that is read",
            "weighing_read",
            large,
            fails("body.too_large", TOO_LARGE),
        ),
        weighs(
            "A gzip bomb: 2 GB in 2 MB",
            "weighing_read",
            bomb,
            fails("body.ratio", TOO_LARGE),
        )
        .peers("k6: out of memory; oha: passes, not decoded; Goose: out of memory"),
    ]
}

/// A target that floods, and a scenario that prints how much memory it took.
fn weighs(
    fault: &'static str,
    scenario: &'static str,
    reply: fn() -> Reply,
    expected: Outcome,
) -> Row {
    act(Group::Server, fault, expected, move |sandbox| {
        let reply = reply();
        let server = Server::start(move |_| reply.clone());
        let output = run(sandbox, scenario, "--iterations 3 --users 3", &server).run();
        let grown = peak(&output, "after=") - peak(&output, "before=");
        assert!(grown < 64 << 10, "{grown} KiB");
        output
    })
}

/// The most memory that the load test had used when it said so, in KiB.
fn peak(output: &Output, when: &str) -> u64 {
    let mut said = output
        .stderr
        .lines()
        .filter_map(|line| line.split(when).nth(1));
    let peak = said.next().expect("the load test says its memory");
    peak.trim().parse().expect("a number")
}

fn large() -> Reply {
    Reply::status(200).body(vec![b'x'; 64 << 20])
}

/// More than the load test may grow, and then nothing: the deadline is waited for idly.
fn unfinished() -> Reply {
    Reply::unfinished(80)
}

/// 2 GB of nothing in 2 MB.
fn bomb() -> Reply {
    let mut nothing = GzEncoder::new(Vec::new(), Compression::default());
    nothing.write_all(&vec![0; 8 << 20]).expect("memory");
    let bomb = nothing.finish().expect("memory").repeat(256);
    Reply::status(200)
        .header("content-encoding", "gzip")
        .body(bomb)
}

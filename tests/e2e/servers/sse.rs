//! Streams of events by `sse-starlette`.

use super::peer::{Peer, count, step, steps};
use crate::trials;
use libtest_mimic::Trial;

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "sse-starlette":
        streams_have_the_events_that_their_server_sent,
        streams_fail_though_their_server_sends_comments,
        an_endless_stream_is_left_where_no_load_ends,
    ]
}

fn streams_have_the_events_that_their_server_sent() {
    let mut peer = Peer::python("sse.py");
    let card = peer.run("sse::feeds");
    assert_eq!(
        steps(&card),
        [
            "whole: 6 ok",
            "lines: 6 ok",
            "left: 6 ok",
            "alive: 6 ok",
            "followed: 6 ok"
        ],
    );
    let log = peer.log("close", 6 * 7);
    let opened = |target: &str| count(&log, &[("event", "open"), ("target", target)]);
    let targets = [
        "/feed?count=5",
        "/lines?",
        "/endless?",
        "/quiet?",
        "/feed?cut=7",
    ];
    assert_eq!(targets.map(opened), [6, 6, 6, 6, 3 * 6]);
    // Each came back with the last number that it had.
    let after = |last: &str| count(&log, &[("event", "open"), ("last", last)]);
    assert_eq!(["6", "13"].map(after), [6, 6]);

    let sent = |target: &str| {
        let closed = log
            .iter()
            .filter(|line| line["event"] == "close" && line["target"] == target);
        closed
            .map(|line| line["sent"].as_u64().expect("a number"))
            .sum::<u64>()
    };
    let events = |name: &str| step(&card, name)["stream"]["events"].clone();
    // One of its events is the end mark.
    assert_eq!(events("whole"), sent("/feed?count=5") - 6);
    assert_eq!(events("lines"), sent("/lines?"));
    assert_eq!(events("left"), 6 * 2);
    assert_eq!(events("alive"), 0);
    let row = &step(&card, "followed")["inner"][0];
    assert_eq!(
        (&row["requests"], &row["stream"]["events"]),
        (&18.into(), &sent("/feed?cut=7").into())
    );
}

fn streams_fail_though_their_server_sends_comments() {
    let mut peer = Peer::python("sse.py");
    let card = peer.run("sse::faults");
    assert_eq!(
        steps(&card),
        [
            "hung: 0 ok, 4 timeout.event 200",
            "hung_for_a_step: 0 ok, 4 timeout.event 200",
            "without_any: 0 ok, 4 timeout.event 200",
            "empty: 0 ok, 4 stream.unfinished 200",
            "cut: 0 ok, 4 stream.unfinished 200",
            "failing: 0 ok, 4 stream.error 200",
            "compressed: 0 ok, 4 head.malformed 200",
        ],
    );
    // The server sees that it is left.
    let log = peer.log("close", 4 * 6);
    assert_eq!(
        count(&log, &[("event", "open"), ("target", "/quiet?")]),
        4 * 3
    );
    assert_eq!(count(&log, &[("event", "open")]), 4 * 6);
}

fn an_endless_stream_is_left_where_no_load_ends() {
    let mut peer = Peer::python("sse.py");
    peer.run_once(&[
        ("sse::endless", true),
        ("sse::endless_for_a_step", true),
        ("sse::endless_and_silent", false),
    ]);
    let log = peer.log("close", 2 * 3);
    assert_eq!(count(&log, &[("event", "open")]), 2 * 3);
}

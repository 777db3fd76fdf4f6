//! Calls of gRPC by `grpcio`, with four at once over a connection.

use super::peer::{Peer, count, step, steps};
use crate::trials;
use libtest_mimic::Trial;
use std::collections::BTreeSet;

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "grpcio":
        calls_wait_for_a_stream_where_a_server_has_few,
        calls_are_those_that_the_server_had,
        an_endless_call_is_left_where_no_load_ends,
    ]
}

const STREAMS: u32 = 4;

fn calls_wait_for_a_stream_where_a_server_has_few() {
    for (scenario, journeys, calls) in [("shared", 600, 600), ("crowded", 8, 8 * 20)] {
        let mut peer = Peer::grpc(STREAMS);
        let card = peer.run(&format!("grpc::{scenario}"));
        assert_eq!(steps(&card), [format!("add: {journeys} ok")]);
        let log = peer.log("call", calls);
        assert_eq!(count(&log, &[("method", "add")]), calls, "{scenario}");
        let connections: BTreeSet<_> = log.iter().map(|line| line["connection"].as_str()).collect();
        let row = &step(&card, "add")["inner"][0];
        assert_eq!(
            (&row["requests"], &row["failed"]),
            (&calls.into(), &0.into())
        );
        let counted = &step(&card, "add")["phases"]["connections"];
        assert_eq!(*counted, connections.len(), "{scenario}");
    }
}

fn calls_are_those_that_the_server_had() {
    let mut peer = Peer::grpc(STREAMS);
    let card = peer.run("grpc::calls");
    assert_eq!(
        steps(&card),
        [
            "add: 6 ok",
            "watch: 6 ok",
            "left: 6 ok",
            "refused: 0 ok, 6 grpc.status 5"
        ]
    );
    assert_eq!(
        step(&card, "watch")["inner"][0]["messages"]["received"],
        6 * 2
    );
    let log = peer.log("call", 6 * 4);
    assert_eq!(
        ["add", "watch"].map(|method| count(&log, &[("method", method)])),
        [12, 12]
    );
}

fn an_endless_call_is_left_where_no_load_ends() {
    let mut peer = Peer::grpc(STREAMS);
    peer.run_once(&[("grpc::endless", true)]);
    let log = peer.log("call", 2);
    assert_eq!(count(&log, &[("method", "watch")]), 2);
}

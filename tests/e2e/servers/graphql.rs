//! GraphQL by graphql-yoga, graphql-sse and Apollo Server.

use super::peer::{Peer, count, step, steps};
use crate::trials;
use libtest_mimic::Trial;

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "graphql-yoga":
        subscriptions_end_with_their_server,
        operations_and_their_errors_are_those_of_the_servers,
        a_batch_is_one_request_of_several_operations,
    ]
}

fn subscriptions_end_with_their_server() {
    let mut peer = Peer::graphql("yoga");
    let card = peer.run("graphql::subscriptions");
    assert_eq!(
        steps(&card),
        [
            "yoga: 6 ok",
            "reference: 6 ok",
            "built: 6 ok",
            "followed: 6 ok",
            "left: 6 ok",
            "left_reference: 6 ok",
            "broken: 0 ok, 6 graphql.errors 200",
            "unknown: 0 ok, 6 graphql.errors 200",
            "unknown_reference: 0 ok, 6 graphql.errors 200",
        ],
    );
    // The server ends those that are left, too.
    let log = peer.log("close", 6 * 6);
    assert_eq!(count(&log, &[("event", "open")]), 6 * 6);
    let whole = log
        .iter()
        .filter(|line| line["event"] == "close" && line["whole"] == true);
    assert_eq!(whole.count(), 4 * 6, "{log:?}");
    for (name, events) in [("yoga", 24), ("reference", 24), ("built", 24), ("left", 18)] {
        assert_eq!(step(&card, name)["stream"]["events"], events, "{name}");
    }
}

fn operations_and_their_errors_are_those_of_the_servers() {
    for (server, unknown) in [("yoga", 200), ("apollo", 400)] {
        let mut peer = Peer::graphql(server);
        let card = peer.run("graphql::operations");
        assert_eq!(
            steps(&card),
            [
                "cart: 6 ok",
                "cached: 6 ok",
                "add: 6 ok",
                "shelf: 6 ok",
                "strict: 0 ok, 6 graphql.errors 200",
                "none: 0 ok, 6 graphql.errors 200",
                &format!("unknown: 0 ok, 6 graphql.errors {unknown}"),
                "got: 0 ok, 6 graphql.errors 405",
            ],
        );
        assert_eq!(step(&card, "shelf")["partial_answers"], 6);
        let log = peer.log("operation", 6 * 8);
        let names = [
            "query Cart",
            "query Cached",
            "mutation Add",
            "query Shelf",
            "query Strict",
            "query None",
            "query Unknown",
            "mutation Got",
        ];
        for name in names {
            let method = if ["query Cached", "mutation Got"].contains(&name) {
                "GET"
            } else {
                "POST"
            };
            assert_eq!(
                count(&log, &[("name", name), ("method", method)]),
                6,
                "{name} of {server}"
            );
        }
    }
}

fn a_batch_is_one_request_of_several_operations() {
    let mut peer = Peer::graphql("apollo");
    let card = peer.run("graphql::batch");
    assert_eq!(
        steps(&card),
        ["both: 4 ok", "refused: 0 ok, 4 graphql.errors 200"]
    );
    let log = peer.log("operation", 4 * 4);
    assert_eq!(count(&log, &[("event", "request")]), 2 * 4);
    let names = ["query Cart", "query Shelf", "query None"];
    assert_eq!(names.map(|name| count(&log, &[("name", name)])), [8, 4, 4]);
}

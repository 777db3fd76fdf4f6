//! WebSockets by the library `websockets`, which drops its clients as Phoenix does.

use super::peer::{Peer, count, steps};
use crate::trials;
use libtest_mimic::Trial;
use serde_json::{Value, json};

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "websockets":
        a_socket_that_was_closed_is_opened_and_joined_again,
        members_of_a_room_hear_each_other,
        a_connection_lives_by_its_heartbeat,
    ]
}

fn a_socket_that_was_closed_is_opened_and_joined_again() {
    // A user says nine things, every third of which ends its connection.
    let failing = |code| {
        [
            "socket: 6 ok".to_owned(),
            "join: 6 ok".to_owned(),
            format!("talk: 12 ok, 6 ws.closed {code}"),
        ]
    };
    for (scenario, code, sockets, says) in [
        ("kicked", 4001, 6, 18),
        ("dropped", 1006, 6, 18),
        ("ended", 4001, 8, 8),
    ] {
        let mut peer = Peer::python("websocket.py");
        let card = peer.run(&format!("websocket::{scenario}"));
        if scenario == "ended" {
            assert_eq!(steps(&card), ["socket: 8 ok", "join: 8 ok", "leave: 8 ok"]);
        } else {
            assert_eq!(steps(&card), failing(code));
        }
        let log = peer.log("close", sockets);
        let counts = ["open", "phx_join", "new_msg"].map(|event| count(&log, &[("event", event)]));
        assert_eq!(counts, [sockets, sockets, says], "{scenario}");
        let strangers = log
            .iter()
            .filter(|line| line["event"] == "new_msg" && line["joined"] == false);
        assert_eq!(strangers.count(), 0, "{scenario}");
        let closed = log
            .iter()
            .filter(|line| line["event"] == "close" && line["code"] == code);
        assert_eq!(closed.count(), sockets, "{scenario}: {log:?}");

        let counted = &card["websockets"];
        // Each of the two users opened one that took no other's place.
        assert_eq!(
            (&counted["opened"], &counted["reopened"]),
            (&sockets.into(), &(sockets - 2).into())
        );
        assert_eq!(
            counted["closed_by_target"],
            json!({ code.to_string(): sockets })
        );
        assert_eq!(counted["sent_messages"], sockets + says);
    }
}

fn members_of_a_room_hear_each_other() {
    let mut peer = Peer::python("websocket.py");
    let card = peer.run("websocket::room");
    assert_eq!(steps(&card), ["socket: 4 ok", "join: 4 ok", "talk: 4 ok"]);
    let log = peer.log("close", 4);
    let counts = ["open", "phx_join", "new_msg"].map(|event| count(&log, &[("event", event)]));
    assert_eq!(counts, [4, 4, 4]);
    let counted = &card["websockets"];
    assert_eq!(
        (&counted["opened"], &counted["closed_by_user"]),
        (&4.into(), &4.into())
    );
    assert_eq!(counted["most_open"], 4);
    // A reply to each message, and what each said to all.
    assert_eq!(
        (&counted["sent_messages"], &counted["received_messages"]),
        (&8.into(), &(8 + 4 * 4).into())
    );
    assert_eq!(card["counters"][0]["count"], 16, "{}", card["counters"]);
}

fn a_connection_lives_by_its_heartbeat() {
    let mut peer = Peer::python("websocket.py");
    let card = peer.run("websocket::beating");
    assert_eq!(steps(&card), ["socket: 6 ok", "rest: 6 ok"]);
    let log = peer.log("close", 6);
    for connection in 0..6 {
        let is_beat =
            |line: &&Value| line["event"] == "heartbeat" && line["connection"] == connection;
        assert!(log.iter().filter(is_beat).count() >= 3, "{log:?}");
    }
    assert_eq!(card["websockets"]["closed_by_user"], 6);

    let card = peer.run("websocket::silent");
    assert_eq!(
        steps(&card),
        ["socket: 3 ok", "rest: 0 ok, 3 ws.closed 1001"]
    );
    assert_eq!(card["websockets"]["closed_by_target"], json!({ "1001": 3 }));
}

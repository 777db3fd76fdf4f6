//! HTTP/2 that is negotiated in the handshake of TLS (ALPN).

use super::{
    DATA, END_HEADERS, END_STREAM, HEADERS, STATUS_200, frame, goaway, head, request, reset,
};
use crate::inject::{Target, matrix, row};
use crate::messages::NOT_HTTP_1;
use crate::row::{Group, Outcome, Row, fails, passes};
use loadtest_bad_server::{BadServer, Script};

const HTTP_1: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

pub(super) fn rows() -> Vec<Row> {
    let answer = frame(HEADERS, END_HEADERS | END_STREAM, 1, &[STATUS_200]);
    let part = frame(DATA, 0, 1, b"hi");
    vec![
        chosen(
            "Over TLS: HTTP/2 is negotiated, and spoken",
            request().send([goaway(1, 0), answer].concat()).hold(),
            passes(),
        ),
        chosen(
            "Over TLS: HTTP/2 is negotiated, and the stream is reset (INTERNAL_ERROR)",
            request().send([goaway(1, 0), reset(2)].concat()).hold(),
            fails(
                "reset.before_head",
                "the server reset the request before the head of the answer (INTERNAL_ERROR)",
            ),
        ),
        chosen(
            "Over TLS: HTTP/2 is negotiated, and GOAWAY comes in place of an answer",
            request().send(goaway(0, 0)).hold(),
            fails(
                "closed.fresh",
                "the server closed the connection before the head of the answer (NO_ERROR)",
            ),
        ),
        chosen(
            "Over TLS: HTTP/2 is negotiated, and the connection is closed within the body",
            request().send([head(), part].concat()),
            fails(
                "body.truncated",
                "the body ended early: the connection was closed before the end",
            ),
        ),
        chosen(
            "Over TLS: HTTP/2 is negotiated, and HTTP/1.1 is spoken",
            Script::new().read_head().send(HTTP_1),
            fails(
                "head.malformed",
                "the answer is not HTTP/2: the target speaks HTTP/1.1; write `http = 1`",
            ),
        ),
        negotiates(
            "Over TLS: nothing is negotiated, and HTTP/2 is spoken",
            "trusting",
            &[],
            Script::new()
                .read_head()
                .send(frame(super::SETTINGS, 0, 0, &[])),
            fails("head.malformed", NOT_HTTP_1),
        ),
        negotiates(
            "Over TLS: HTTP/2 is asked for (`http = 2`), and the server knows HTTP/1.1 alone",
            "negotiating",
            &["http/1.1"],
            Script::answer(HTTP_1),
            fails(
                "tls.protocol",
                "the TLS handshake failed: received fatal alert: NoApplicationProtocol; the target speaks another version of HTTP: leave out `http = ..`, so that it chooses",
            ),
        ),
        negotiates(
            "Over TLS: HTTP/2 is asked for (`http = 2`), and the server negotiates nothing",
            "negotiating",
            &[],
            Script::answer(HTTP_1),
            fails(
                "tls.protocol",
                "the target does not offer HTTP/2, which `http = 2` requires",
            ),
        ),
    ]
}

/// A server that chooses HTTP/2, where the scenario leaves it the choice.
fn chosen(fault: &'static str, script: Script, expected: Outcome) -> Row {
    negotiates(fault, "trusting", &["h2", "http/1.1"], script, expected)
}

/// A server that chooses among `protocols`, and plays `script` whatever was chosen.
fn negotiates(
    fault: &'static str,
    scenario: &'static str,
    protocols: &'static [&'static str],
    script: Script,
    expected: Outcome,
) -> Row {
    let target = move || {
        let mut config = matrix().authority.server("127.0.0.1", 4000);
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let server = BadServer::start_tls(config, script.clone());
        Target::new("https", server.address(), server)
    };
    row(Group::Http2, fault, scenario, target, expected)
}

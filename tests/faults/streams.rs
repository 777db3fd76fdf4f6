//! Streams of events, and answers of GraphQL servers, that say less than their status.

#![expect(
    clippy::too_many_lines,
    reason = "a row of a table is several lines long"
)]

use crate::inject::{Target, row, row_at_once};
use crate::row::{Group, Outcome, Row, fails, passes};
use loadtest_bad_server::{BadServer, Script};

pub(crate) fn rows() -> Vec<Row> {
    vec![
        streams(
            "Two events and the declared end",
            "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n",
            passes(),
        ),
        streams(
            "Two events, and the end of the answer without the declared end",
            "data: 1\n\ndata: 2\n\n",
            fails(
                "stream.unfinished",
                "the stream ended after 2 events without `[DONE]`; the last one: 2",
            ),
        ),
        streams(
            "The declared end, and no event before it",
            "data: [DONE]\n\n",
            fails(
                "stream.unfinished",
                "the stream ended without an event before its end mark",
            ),
        ),
        streams(
            "Comments, and no event",
            ": ping\n\n: ping\n\n",
            fails(
                "stream.unfinished",
                "the stream ended after 0 events without `[DONE]`",
            ),
        ),
        streams(
            "An event that is an error of the service",
            "data: {\"error\": {\"message\": \"no capacity\"}}\n\ndata: [DONE]\n\n",
            fails(
                "stream.error",
                "the service failed within its stream: {\"error\": {\"message\": \"no capacity\"}}",
            ),
        ),
        streams(
            "An event named `error`",
            "data: 1\n\nevent: error\ndata: no capacity\n\n",
            fails(
                "stream.error",
                "the service failed within its stream: no capacity",
            ),
        ),
        streams(
            "An event that is not JSON",
            "data: 1\n\ndata: {\n\ndata: [DONE]\n\n",
            fails(
                "body.decode",
                "event 2: the body is not JSON: EOF while parsing an object at line 1 column 1",
            ),
        ),
        answered(
            "A stream with the content type of a page",
            "streaming",
            "text/html",
            "<p>busy</p>",
            fails(
                "head.malformed",
                "the answer is not a stream of events: content-type text/html; `format = events` or `format = lines` reads it as one",
            ),
        ),
        row(
            Group::Streams,
            "A stream cut within an event",
            "streaming",
            || {
                let script = Script::new()
                    .read_head()
                    .send(format!("{HEAD}content-length: 90\r\n\r\ndata: 1\n\ndata: "));
                start(script.close())
            },
            fails(
                "body.truncated",
                "the body ended early: the connection was closed before the end",
            ),
        ),
        row_at_once(
            Group::Streams,
            "An event, and silence for longer than `idle`",
            "streaming",
            || {
                let script = Script::new().read_head();
                start(script.send(format!("{HEAD}\r\ndata: 1\n\n")).hold())
            },
            fails("timeout.event", "no event came within 3s"),
        ),
        answered(
            "A GraphQL answer with errors and status 200",
            "querying",
            "application/json",
            "{\"data\":null,\"errors\":[{\"message\":\"no page\",\"path\":[\"page\"]}]}",
            fails("graphql.errors", "no page at `page`"),
        ),
        answered(
            "A GraphQL answer with neither data nor errors",
            "querying",
            "application/json",
            "{}",
            fails("body.decode", "the answer has neither `data` nor `errors`"),
        ),
    ]
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

/// Answers each request with these events.
fn streams(fault: &'static str, events: &'static str, expected: Outcome) -> Row {
    answered(fault, "streaming", "text/event-stream", events, expected)
}

/// Answers each request of `scenario` with this body.
fn answered(
    fault: &'static str,
    scenario: &'static str,
    content_type: &'static str,
    body: &'static str,
    expected: Outcome,
) -> Row {
    let target = move || {
        let length = body.len();
        start(Script::answer(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}"
        )))
    };
    row(Group::Streams, fault, scenario, target, expected)
}

fn start(script: Script) -> Target {
    let server = BadServer::start(script);
    Target::new("http", server.address(), server)
}

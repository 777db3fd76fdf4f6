//! HTTP/1.1 answers that are broken or unusual.

mod bodies;
mod connections;
mod contents;
mod floods;
mod heads;
mod redirects;

use crate::inject::{Target, row};
use crate::row::{Group, Outcome, Row};
use loadtest_bad_server::{BadServer, Script};

pub(crate) fn rows() -> Vec<Row> {
    let parts = [
        heads::rows(),
        bodies::rows(),
        contents::rows(),
        floods::rows(),
        redirects::rows(),
        connections::rows(),
    ];
    parts.into_iter().flatten().collect()
}

/// An answer as it should be.
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// Answers each request with these bytes and keeps the connection.
fn answers(fault: &'static str, bytes: impl Into<Vec<u8>>, expected: Outcome) -> Row {
    scripted(fault, "plain", Script::answer(bytes), expected)
}

/// Answers one request with these bytes and closes the connection.
fn closes(fault: &'static str, bytes: impl Into<Vec<u8>>, expected: Outcome) -> Row {
    scripted(fault, "plain", Script::answer_once(bytes), expected)
}

/// The same as [`answers`] for a step that reads the body.
fn reads(fault: &'static str, bytes: impl Into<Vec<u8>>, expected: Outcome) -> Row {
    scripted(fault, "reading", Script::answer(bytes), expected)
}

/// The same as [`answers`] for a step that follows two redirects.
fn redirects(fault: &'static str, bytes: impl Into<Vec<u8>>, expected: Outcome) -> Row {
    scripted(fault, "following", Script::answer(bytes), expected)
}

fn scripted(fault: &'static str, scenario: &'static str, script: Script, expected: Outcome) -> Row {
    let target = move || {
        let server = BadServer::start(script.clone());
        Target::new("http", server.address(), server)
    };
    row(Group::Server, fault, scenario, target, expected)
}

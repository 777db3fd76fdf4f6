//! Frames of HTTP/2 that are broken or unusual: by prior knowledge (`http = 2` at an `http://` target) where a row does
//! not say otherwise.

mod connections;
mod negotiated;
mod streams;

use crate::inject::{Target, row, row_at_once};
use crate::row::{Group, Outcome, Row};
use loadtest_bad_server::{BadServer, Script};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
/// `:status: 200` in HPACK.
const STATUS_200: u8 = 0x88;

pub(crate) fn rows() -> Vec<Row> {
    let parts = [connections::rows(), streams::rows(), negotiated::rows()];
    parts.into_iter().flatten().collect()
}

/// A frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The head of an answer whose body follows.
fn head() -> Vec<u8> {
    frame(HEADERS, END_HEADERS, 1, &[STATUS_200])
}

fn reset(code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, 1, &code.to_be_bytes())
}

fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(
        GOAWAY,
        0,
        0,
        &[last.to_be_bytes(), code.to_be_bytes()].concat(),
    )
}

fn setting(name: u16, value: u32) -> Vec<u8> {
    let payload = [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(SETTINGS, 0, 0, &payload)
}

/// A header in HPACK, literal; both parts are shorter than 127 bytes.
fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8][..], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}

/// Reads the preface, sends SETTINGS, and reads up to the first request.
fn request() -> Script {
    let settings = frame(SETTINGS, 0, 0, &[]);
    preface().send(settings).read_frame(HEADERS)
}

/// Reads the preface, which ends with the second empty line.
fn preface() -> Script {
    Script::new().read_head().read_head()
}

/// Answers the request with these frames.
fn answers(fault: &'static str, frames: impl Into<Vec<u8>>, expected: Outcome) -> Row {
    scripted(fault, request().send(frames).hold(), expected)
}

/// Answers the request with these frames and a good answer after them.
fn well(fault: &'static str, frames: Vec<u8>, expected: Outcome) -> Row {
    let answer = frame(HEADERS, END_HEADERS | END_STREAM, 1, &[STATUS_200]);
    last(fault, [frames, answer].concat(), expected)
}

/// Answers the request with these frames, the last of the connection.
fn last(fault: &'static str, frames: Vec<u8>, expected: Outcome) -> Row {
    answers(fault, [goaway(1, 0), frames].concat(), expected)
}

/// Begins the connection with these bytes.
fn begins(fault: &'static str, bytes: impl Into<Vec<u8>>, expected: Outcome) -> Row {
    scripted(fault, preface().send(bytes).hold(), expected)
}

fn scripted(fault: &'static str, script: Script, expected: Outcome) -> Row {
    row(Group::Http2, fault, "second", target(script), expected)
}

/// The same for a script that says nothing until the deadline.
fn silent(fault: &'static str, script: Script, expected: Outcome) -> Row {
    let scenario = "second_hurried";
    row_at_once(Group::Http2, fault, scenario, target(script), expected)
}

fn target(script: Script) -> impl Fn() -> Target + Send + Sync + 'static {
    move || {
        let server = BadServer::start(script.clone());
        Target::new("http", server.address(), server)
    }
}

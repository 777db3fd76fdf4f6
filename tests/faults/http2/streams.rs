//! Frames that concern a request: heads, bodies, silence.

use super::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PADDED, PING, PRIORITY, PUSH_PROMISE,
    STATUS_200, answers, field, frame, head, last, request, scripted, silent,
};
use crate::messages::{CLOSED_EARLY, CONNECTION_ERROR, STREAM_ERROR};
use crate::row::{Row, fails, passes};
use loadtest_bad_server::Script;

pub(super) fn rows() -> Vec<Row> {
    let parts = [stream_frames(), heads(), bodies(), silences()];
    parts.into_iter().flatten().collect()
}

fn stream_frames() -> Vec<Row> {
    let promise = [&[0, 0, 0, 2][..], &[0x82]].concat();
    vec![
        answers(
            "DATA on stream 0",
            frame(DATA, 0, 0, b"hi"),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "DATA on a stream that was never opened",
            frame(DATA, 0, 9, b"hi"),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "DATA before the head",
            frame(DATA, 0, 1, b"hi"),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "HEADERS on stream 0",
            frame(HEADERS, END_HEADERS, 0, &[STATUS_200]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "HEADERS on a stream of the server",
            frame(HEADERS, END_HEADERS, 2, &[STATUS_200]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "PUSH_PROMISE, which was not allowed",
            frame(PUSH_PROMISE, END_HEADERS, 1, &promise),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "CONTINUATION without HEADERS",
            frame(CONTINUATION, END_HEADERS, 1, &[STATUS_200]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "DATA between HEADERS and CONTINUATION",
            [
                frame(HEADERS, 0, 1, &[STATUS_200]),
                frame(DATA, 0, 1, b"hi"),
            ]
            .concat(),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "A stream that depends on itself",
            frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 16]),
            fails("head.malformed", STREAM_ERROR),
        ),
    ]
}

fn heads() -> Vec<Row> {
    let ends = END_HEADERS | END_STREAM;
    let block = |block: &[u8]| frame(HEADERS, ends, 1, block);
    vec![
        answers(
            "HPACK that refers to nothing",
            block(&[0xff; 4]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "HPACK that is cut",
            block(&[0x40, 9, b'x']),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "No `:status`",
            block(&field("x", "1")),
            fails("head.malformed", STREAM_ERROR),
        ),
        answers(
            "`:status` after a header",
            block(&[field("x", "1"), vec![STATUS_200]].concat()),
            fails("head.malformed", STREAM_ERROR),
        ),
        answers(
            "`:status` twice",
            block(&[STATUS_200, STATUS_200]),
            fails("head.malformed", STREAM_ERROR),
        ),
        answers(
            "`:status` that is no number",
            block(&field(":status", "ok")),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        last(
            "`:path` in an answer",
            block(&[vec![STATUS_200], field(":path", "/")].concat()),
            passes(),
        ),
        answers(
            "A header in upper case",
            block(&[vec![STATUS_200], field("X", "1")].concat()),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "A `connection` header",
            block(&[vec![STATUS_200], field("connection", "close")].concat()),
            fails("head.malformed", STREAM_ERROR),
        ),
        answers(
            "A line break in a header",
            block(&[vec![STATUS_200], field("x", "a\r\nb: c")].concat()),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "A header of 70 KB",
            large_head(),
            fails(
                "head.too_large",
                "the head of the answer has more than 64 KiB",
            ),
        ),
        last(
            "Status 500 in HTTP/2",
            block(&[0x8e]),
            fails("status", "expected 2xx, got 500 Internal Server Error"),
        ),
    ]
}

fn bodies() -> Vec<Row> {
    let with_length = frame(
        HEADERS,
        END_HEADERS,
        1,
        &[&[STATUS_200][..], &field("content-length", "9")].concat(),
    );
    let body = |flags, data: &[u8]| [head(), frame(DATA, flags, 1, data)].concat();
    vec![
        answers(
            "A body shorter than its content-length",
            [with_length.clone(), frame(DATA, END_STREAM, 1, b"hi")].concat(),
            fails(
                "body.truncated",
                "the body breaks the rules of HTTP/2, such as an announced length: stream error detected: unspecific protocol error detected",
            ),
        ),
        answers(
            "A body longer than its content-length",
            [with_length, frame(DATA, END_STREAM, 1, b"hi, hi, hi")].concat(),
            fails(
                "body.truncated",
                "the body breaks the rules of HTTP/2, such as an announced length: stream error detected: unspecific protocol error detected",
            ),
        ),
        answers(
            "Padding larger than its frame",
            body(PADDED, &[9]),
            fails(
                "body.bad_chunk",
                "the framing of the body is broken: connection error detected: unspecific protocol error detected",
            ),
        ),
        answers(
            "Trailers that do not end the stream",
            [body(0, b"hi"), head()].concat(),
            fails(
                "body.truncated",
                "the body breaks the rules of HTTP/2, such as an announced length: stream error detected: unspecific protocol error detected",
            ),
        ),
        scripted(
            "Closed before the head in HTTP/2",
            request().half_close().hold(),
            fails("closed.fresh", CLOSED_EARLY),
        ),
        scripted(
            "Closed within the body in HTTP/2",
            request().send(body(0, b"hi")).half_close().hold(),
            fails(
                "body.truncated",
                "the body ended early: the connection was closed before the end",
            ),
        ),
        scripted(
            "Reset within the body in HTTP/2",
            // The answer to the PING says that all before it was read.
            request()
                .send(body(0, b"hi"))
                .send(frame(PING, 0, 0, &[0; 8]))
                .read_frame(PING)
                .reset(),
            fails(
                "body.truncated",
                "the body ended early: the connection was closed before the end",
            ),
        ),
        scripted(
            "Reset before the head in HTTP/2",
            request().reset(),
            fails("closed.fresh", CLOSED_EARLY),
        ),
    ]
}

fn silences() -> Vec<Row> {
    vec![
        silent(
            "No SETTINGS and no answer until the deadline",
            Script::new().hold(),
            fails("timeout.head", "no head of the answer within 3s"),
        ),
        silent(
            "No head until the deadline in HTTP/2",
            request().hold(),
            fails("timeout.head", "no head of the answer within 3s"),
        ),
        silent(
            "No body until the deadline in HTTP/2",
            request().send(head()).hold(),
            fails("timeout.total", "no complete answer within 3s"),
        ),
    ]
}

/// `:status: 200` and a header of 70,000 bytes.
fn large_head() -> Vec<u8> {
    // The length in HPACK: 127, and 69,873 in groups of seven bits.
    let mut block = vec![STATUS_200, 0, 1, b'x', 0x7f, 0xf1, 0xa1, 0x04];
    block.resize(block.len() + 70_000, b'h');
    let pieces: Vec<&[u8]> = block.chunks(16_384).collect();
    let kind = |at| if at == 0 { HEADERS } else { CONTINUATION };
    let flags = |at| {
        if at + 1 == pieces.len() {
            END_HEADERS
        } else {
            0
        }
    };
    let frames = pieces.iter().enumerate();
    frames
        .flat_map(|(at, piece)| frame(kind(at), flags(at), 1, piece))
        .collect()
}

//! Frames that concern the connection, or end it.

#![expect(
    clippy::too_many_lines,
    reason = "a row of a table is several lines long"
)]

use super::{
    DATA, GOAWAY, PING, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE, answers, begins, frame,
    goaway, head, last, preface, reset, scripted, setting, silent, well,
};
use crate::messages::CONNECTION_ERROR;
use crate::row::{Row, fails, passes};
use loadtest_bad_server::Script;

const HTTP1: &str = "the answer is not HTTP/2: the target speaks HTTP/1.1; write `http = 1`";

pub(super) fn rows() -> Vec<Row> {
    let parts = [goaways(), resets(), connection_frames()];
    parts.into_iter().flatten().collect()
}

fn goaways() -> Vec<Row> {
    vec![
        answers(
            "GOAWAY without an error, the request not processed",
            goaway(0, 0),
            fails(
                "closed.fresh",
                "the server closed the connection before the head of the answer (NO_ERROR)",
            ),
        ),
        answers(
            "GOAWAY with PROTOCOL_ERROR",
            goaway(0, 1),
            fails(
                "closed.fresh",
                "the server closed the connection before the head of the answer (PROTOCOL_ERROR)",
            ),
        ),
        answers(
            "GOAWAY with INTERNAL_ERROR",
            goaway(0, 2),
            fails(
                "closed.fresh",
                "the server closed the connection before the head of the answer (INTERNAL_ERROR)",
            ),
        ),
        answers(
            "GOAWAY with ENHANCE_YOUR_CALM",
            goaway(0, 11),
            fails(
                "closed.fresh",
                "the server closed the connection before the head of the answer (ENHANCE_YOUR_CALM)",
            ),
        ),
        answers(
            "GOAWAY with HTTP_1_1_REQUIRED",
            goaway(0, 13),
            fails(
                "closed.fresh",
                "the server closed the connection before the head of the answer (HTTP_1_1_REQUIRED); it wants HTTP/1.1: write `http = 1`",
            ),
        ),
        answers(
            "GOAWAY with an error that does not exist",
            goaway(0, 99),
            fails(
                "closed.fresh",
                "the server closed the connection before the head of the answer (Reason(63))",
            ),
        ),
        answers(
            "GOAWAY with 4 bytes",
            frame(GOAWAY, 0, 0, &[0; 4]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "GOAWAY on a stream",
            frame(GOAWAY, 0, 1, &[0; 8]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
    ]
}

fn resets() -> Vec<Row> {
    let begun = |code| [head(), reset(code)].concat();
    vec![
        last(
            "RST_STREAM with NO_ERROR before the head",
            reset(0),
            fails(
                "reset.before_head",
                "the server reset the request before the head of the answer (NO_ERROR)",
            ),
        ),
        last(
            "RST_STREAM with PROTOCOL_ERROR before the head",
            reset(1),
            fails(
                "reset.before_head",
                "the server reset the request before the head of the answer (PROTOCOL_ERROR)",
            ),
        ),
        last(
            "RST_STREAM with INTERNAL_ERROR before the head",
            reset(2),
            fails(
                "reset.before_head",
                "the server reset the request before the head of the answer (INTERNAL_ERROR)",
            ),
        ),
        last(
            "RST_STREAM with CANCEL before the head",
            reset(8),
            fails(
                "reset.before_head",
                "the server reset the request before the head of the answer (CANCEL)",
            ),
        ),
        last(
            "RST_STREAM with ENHANCE_YOUR_CALM before the head",
            reset(11),
            fails(
                "reset.before_head",
                "the server reset the request before the head of the answer (ENHANCE_YOUR_CALM)",
            ),
        ),
        last(
            "RST_STREAM with HTTP_1_1_REQUIRED before the head",
            reset(13),
            fails(
                "reset.before_head",
                "the server reset the request before the head of the answer (HTTP_1_1_REQUIRED); it wants HTTP/1.1: write `http = 1`",
            ),
        ),
        last(
            "RST_STREAM with an error that does not exist",
            reset(99),
            fails(
                "reset.before_head",
                "the server reset the request before the head of the answer (Reason(63))",
            ),
        ),
        last(
            "RST_STREAM with INTERNAL_ERROR within the body",
            begun(2),
            fails(
                "reset.in_body",
                "the server reset the answer within the body (INTERNAL_ERROR)",
            ),
        ),
        last(
            "RST_STREAM with CANCEL within the body",
            begun(8),
            fails(
                "reset.in_body",
                "the server reset the answer within the body (CANCEL)",
            ),
        ),
        answers(
            "RST_STREAM with 3 bytes",
            frame(RST_STREAM, 0, 1, &[0; 3]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "RST_STREAM on stream 0",
            frame(RST_STREAM, 0, 0, &[0; 4]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "RST_STREAM on a stream that was never opened",
            frame(RST_STREAM, 0, 9, &[0; 4]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
    ]
}

fn connection_frames() -> Vec<Row> {
    vec![
        begins(
            "An answer in HTTP/1.1",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            fails("head.malformed", HTTP1),
        ),
        scripted(
            "An answer in HTTP/1.1, then reset",
            preface()
                .send("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
                .reset(),
            fails("head.malformed", HTTP1),
        ),
        scripted(
            "An answer in HTTP/1.1 after the first line, then reset",
            Script::new()
                .read(16)
                .send("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
                .reset(),
            fails("head.malformed", HTTP1),
        ),
        begins(
            "Garbage in place of SETTINGS",
            [0xff; 64],
            fails(
                "head.malformed",
                "the answer is not HTTP/2: connection error detected: frame with invalid size",
            ),
        ),
        silent(
            "A PING in place of SETTINGS, then nothing until the deadline",
            preface().send(frame(PING, 0, 0, &[0; 8])).hold(),
            fails("timeout.head", "no head of the answer within 3s"),
        ),
        begins(
            "SETTINGS with 5 bytes",
            frame(SETTINGS, 0, 0, &[0; 5]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        begins(
            "SETTINGS on a stream",
            frame(SETTINGS, 0, 1, &[]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        begins(
            "ENABLE_PUSH of 2",
            setting(2, 2),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        begins(
            "INITIAL_WINDOW_SIZE of 2^31",
            setting(4, 1 << 31),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        begins(
            "MAX_FRAME_SIZE of 0",
            setting(5, 0),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "An acknowledgement of SETTINGS with settings",
            frame(SETTINGS, 1, 0, &[0; 6]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "PING with 7 bytes",
            frame(PING, 0, 0, &[0; 7]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "PING on a stream",
            frame(PING, 0, 1, &[0; 8]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "WINDOW_UPDATE of 0 for the connection",
            frame(WINDOW_UPDATE, 0, 0, &[0; 4]),
            fails("head.malformed", CONNECTION_ERROR),
        ),
        answers(
            "WINDOW_UPDATE beyond 2^31-1",
            frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]),
            fails(
                "head.malformed",
                "the answer is not HTTP/2: connection error detected: flow-control protocol violated",
            ),
        ),
        answers(
            "A frame that is larger than allowed",
            frame(DATA, 0, 1, &vec![0; 16_385]),
            fails(
                "head.malformed",
                "the answer is not HTTP/2: connection error detected: frame with invalid size",
            ),
        ),
        well(
            "A frame of a type that does not exist",
            frame(0xfe, 0xff, 0, b"news"),
            passes(),
        ),
        well(
            "100 PING frames before the answer",
            frame(PING, 0, 0, &[0; 8]).repeat(100),
            passes(),
        ),
        well(
            "PRIORITY for another stream",
            frame(PRIORITY, 0, 3, &[0, 0, 0, 0, 16]),
            passes(),
        ),
    ]
}

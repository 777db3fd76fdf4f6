//! Lengths, chunks, and what comes after an answer.

#![expect(
    clippy::too_many_lines,
    reason = "a row of a table is several lines long"
)]

use super::{OK, answers, closes};
use crate::messages::{BAD_CHUNK_SIZE, CUT_BODY, INVALID_LENGTH};
use crate::row::{Row, fails, passes};

pub(crate) fn rows() -> Vec<Row> {
    vec![
        answers(
            "Content-length is no number",
            "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\nhi",
            fails(
                "head.malformed",
                INVALID_LENGTH,
            ),
        ),
        answers(
            "Content-length is empty",
            "HTTP/1.1 200 OK\r\ncontent-length: \r\n\r\nhi",
            fails(
                "head.malformed",
                INVALID_LENGTH,
            ),
        ),
        answers(
            "Content-length -1",
            "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nhi",
            fails(
                "head.malformed",
                INVALID_LENGTH,
            ),
        ),
        answers(
            "Content-length +2",
            "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nhi",
            fails(
                "head.malformed",
                INVALID_LENGTH,
            ),
        ),
        answers(
            "Content-length in hexadecimal",
            "HTTP/1.1 200 OK\r\ncontent-length: 0x2\r\n\r\nhi",
            fails(
                "head.malformed",
                INVALID_LENGTH,
            ),
        ),
        answers(
            "Content-length with a fraction",
            "HTTP/1.1 200 OK\r\ncontent-length: 2.0\r\n\r\nhi",
            fails(
                "head.malformed",
                INVALID_LENGTH,
            ),
        ),
        answers(
            "Content-length of 2^64",
            "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551616\r\n\r\nhi",
            fails(
                "head.malformed",
                INVALID_LENGTH,
            ),
        ),
        answers(
            "Content-length as a list of two that differ",
            "HTTP/1.1 200 OK\r\ncontent-length: 2, 5\r\n\r\nhi",
            fails(
                "head.malformed",
                INVALID_LENGTH,
            ),
        ),
        answers(
            "Content-length as a list of two that are the same",
            "HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nhi",
            passes(),
        ),
        answers(
            "Two content-length headers that differ",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\nhi",
            fails(
                "head.malformed",
                INVALID_LENGTH,
            ),
        )
.peers("k6, oha: an error; Goose: failures"),
        answers(
            "Two content-length headers that are the same",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nhi",
            passes(),
        ),
        closes(
            "Content-length longer than the body, then closed",
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi",
            fails(
                "body.truncated",
                CUT_BODY,
            ),
        )
.peers("k6, oha: an error; Goose, hey: success"),
        answers(
            "Content-length shorter than the body",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhigh",
            passes().with("unsolicited", 3),
        ),
        answers(
            "Content-length and transfer-encoding",
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            passes().with("ambiguous", 3),
        )
.peers("k6, oha, Goose: 200; wrk: an error"),
        closes(
            "No length: the body ends with the connection",
            "HTTP/1.1 200 OK\r\n\r\nhi",
            passes(),
        ),
        answers(
            "HTTP/1.0 with transfer-encoding",
            "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            fails(
                "head.malformed",
                "the answer is not HTTP/1.1: a transfer encoding in HTTP/1.0",
            ),
        ),
        answers(
            "HTTP/1.0 with a length",
            "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi",
            passes(),
        ),
        closes(
            "Transfer-encoding that is not known",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: zip\r\n\r\nhi",
            passes(),
        ),
        answers(
            "Transfer-encoding named twice",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            passes(),
        ),
        answers(
            "A chunk size that is no number",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhi\r\n0\r\n\r\n",
            fails(
                "body.bad_chunk",
                BAD_CHUNK_SIZE,
            ),
        )
.peers("k6, oha: an error; Goose, hey: success"),
        answers(
            "An empty chunk size",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\r\nhi\r\n0\r\n\r\n",
            fails(
                "body.bad_chunk",
                BAD_CHUNK_SIZE,
            ),
        ),
        answers(
            "A negative chunk size",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-2\r\nhi\r\n0\r\n\r\n",
            fails(
                "body.bad_chunk",
                BAD_CHUNK_SIZE,
            ),
        ),
        answers(
            "A chunk size with 0x",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0x2\r\nhi\r\n0\r\n\r\n",
            fails(
                "body.bad_chunk",
                BAD_CHUNK_SIZE,
            ),
        ),
        answers(
            "A chunk size of 2^64",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10000000000000000\r\nhi\r\n0\r\n\r\n",
            fails(
                "body.bad_chunk",
                BAD_CHUNK_SIZE,
            ),
        ),
        answers(
            "A chunk that is longer than its size",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhigh\r\n0\r\n\r\n",
            fails(
                "body.bad_chunk",
                "the chunked body is broken: a chunk is longer than it says",
            ),
        ),
        closes(
            "A chunk that is shorter than its size, then closed",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nhi",
            fails(
                "body.truncated",
                CUT_BODY,
            ),
        )
.peers("k6, oha: an error; Goose, hey: success"),
        answers(
            "A chunk without an end of line",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi0\r\n\r\n",
            fails(
                "body.bad_chunk",
                "the chunked body is broken: a chunk is longer than it says",
            ),
        ),
        closes(
            "No last chunk, then closed",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n",
            fails(
                "body.truncated",
                CUT_BODY,
            ),
        ),
        closes(
            "A last chunk without the empty line, then closed",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n",
            fails(
                "body.truncated",
                CUT_BODY,
            ),
        ),
        answers(
            "A chunk with an extension",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;name=\"a b\"\r\nhi\r\n0\r\n\r\n",
            passes(),
        ),
        answers(
            "Trailers",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx: 1\r\n\r\n",
            passes(),
        ),
        answers(
            "A trailer that is no header",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nno colon\r\n\r\n",
            passes(),
        ),
        answers(
            "A chunk extension of 100 KB",
            format!(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;{}\r\nhi\r\n0\r\n\r\n",
                "x".repeat(100_000)
            ),
            passes(),
        ),
        answers(
            "A trailer of 100 KB",
            format!(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx: {}\r\n\r\n",
                "x".repeat(100_000)
            ),
            passes(),
        ),
        answers(
            "Bytes after the last chunk",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nmore",
            passes().with("unsolicited", 3),
        ),
        answers(
            "204 with a content-length and no body",
            "HTTP/1.1 204 None\r\ncontent-length: 2\r\n\r\n",
            passes(),
        ),
        answers(
            "204 with a body",
            "HTTP/1.1 204 None\r\ncontent-length: 2\r\n\r\nhi",
            passes().with("unsolicited", 3),
        ),
        answers(
            "304 with a body",
            "HTTP/1.1 304 Same\r\ncontent-length: 2\r\n\r\nhi",
            fails("status", "expected 2xx, got 304 Not Modified").with("unsolicited", 3),
        ),
        answers(
            "Two answers to one request",
            format!("{OK}{OK}"),
            passes().with("unsolicited", 3),
        ),
        answers(
            "Connection: close, and not closed",
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi",
            passes(),
        ),
    ]
}

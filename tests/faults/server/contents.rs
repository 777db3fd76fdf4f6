//! Bodies that a step reads.

#![expect(
    clippy::too_many_lines,
    reason = "a row of a table is several lines long"
)]

use super::reads;
use crate::row::{Row, fails, passes};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;

pub(crate) fn rows() -> Vec<Row> {
    vec![
        reads(
            "Gzip that is not gzip",
            encoded("gzip", b"plain"),
            fails(
                "body.decode",
                "the body is not `gzip` data, though its `content-encoding` says so",
            ),
        ),
        reads(
            "Gzip cut in its middle",
            encoded("gzip", &gzip()[..20]),
            fails("body.decode", "the `gzip` data of the body ends early"),
        ),
        reads(
            "Gzip without its checksum",
            {
                let gzip = gzip();
                encoded("gzip", &gzip[..gzip.len() - 8])
            },
            fails("body.decode", "the `gzip` data of the body ends early"),
        ),
        reads(
            "Gzip with a wrong checksum",
            {
                let mut gzip = gzip();
                let at = gzip.len() - 8;
                gzip[at] ^= 1;
                encoded("gzip", &gzip)
            },
            fails(
                "body.decode",
                "the body is not valid `gzip` data: corrupt gzip stream does not have a matching checksum",
            ),
        ),
        reads(
            "Gzip with bytes after its end",
            encoded("gzip", &[gzip(), b"more".to_vec()].concat()),
            fails(
                "body.decode",
                "the body has other bytes after its `gzip` data",
            ),
        ),
        reads("Gzip that is empty", encoded("gzip", b""), passes()),
        reads(
            "Deflate that is not deflate",
            encoded("deflate", b"plain"),
            fails(
                "body.decode",
                "the body is not valid `deflate` data: corrupt deflate stream",
            ),
        ),
        reads(
            "Brotli, which was not asked for",
            encoded("br", b"plain"),
            fails(
                "body.decode",
                "the body is encoded as `br`, which was not requested and cannot be decoded",
            ),
        ),
        reads(
            "Zstandard, which was not asked for",
            encoded("zstd", b"plain"),
            fails(
                "body.decode",
                "the body is encoded as `zstd`, which was not requested and cannot be decoded",
            ),
        ),
        reads(
            "A coding that does not exist, and a plain body",
            encoded("none", b"{\"id\":1}"),
            passes(),
        ),
        reads(
            "JSON that is cut",
            encoded("identity", b"{\"id\":1"),
            fails(
                "body.decode",
                "the body is not JSON: EOF while parsing an object at line 1 column 7",
            ),
        ),
        reads(
            "HTML in place of JSON",
            encoded("identity", b"<html>busy</html>"),
            fails(
                "body.decode",
                "the body is not JSON: expected value at line 1 column 1",
            ),
        ),
        reads(
            "An empty body in place of JSON",
            encoded("identity", b""),
            passes(),
        ),
        reads(
            "JSON that is not UTF-8",
            encoded("identity", b"{\"id\":\"\xff\"}"),
            fails(
                "body.decode",
                "the body is not JSON: invalid unicode code point at line 1 column 8",
            ),
        ),
        reads(
            "JSON nested 10,000 deep",
            encoded("identity", "[".repeat(10_000).as_bytes()),
            fails(
                "body.decode",
                "the body is not JSON: recursion limit exceeded at line 1 column 128",
            ),
        ),
        reads("Gzip that is sound", encoded("gzip", &gzip()), passes()),
    ]
}

fn encoded(coding: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: {coding}\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn gzip() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(br#"{"id":1,"name":"Ada","items":[1,2,3]}"#)
        .expect("memory");
    encoder.finish().expect("memory")
}

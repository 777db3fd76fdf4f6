//! Heads and chunks of servers that are broken or worse.

use super::chunks::Chunks;
use super::response_head::{ParsedHead, parse_head};
use http::HeaderMap;
use loadtest_tests::fuzz::fuzz_bytes;
use std::ops::ControlFlow;

const HEADS: [&str; 8] = [
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-type: text/plain\r\n\r\nhello",
    "HTTP/1.1 302 Found\r\nlocation: /x?y=%41\r\ntransfer-encoding: gzip, chunked\r\nconnection: close\r\n\r\n",
    "HTTP/1.0 200\r\nconnection: keep-alive\r\nset-cookie: a=b; Path=/; Secure\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\ncontent-length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\ncontent-length:18446744073709551615\nloadtest-stop: 1\n\n",
    "\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nx: \u{e9}\r\n folded\r\n\r\n",
];

const BODIES: [&str; 5] = [
    "5\r\nhello\r\n00A ;x=\"y\"\r\n, my world\r\n0\r\nx: y\r\nz: 1\r\n\r\n",
    "0\r\n\r\n",
    "fffffffffffffffe\r\nx",
    "1\r\na\r\n1\r\nb\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "5\r\nhello\n0\n\n",
];

#[test]
fn no_head_is_too_strange_and_more_bytes_do_not_change_it() {
    fuzz_bytes(HEADS, |bytes| {
        for is_head in [false, true] {
            let parse = |bytes: &[u8]| {
                let mut kept = HeaderMap::new();
                let parsed = parse_head(bytes, is_head, true, &mut kept);
                let shown = parsed.map(|parsed| {
                    parsed.map(|parsed| match parsed {
                        ParsedHead::Interim(length) => (length, None),
                        ParsedHead::Final(length, head) => {
                            (length, Some((head.status, head.version, head.is_kept)))
                        }
                    })
                });
                (shown, kept)
            };
            if let (Ok(Some((length, head))), kept) = parse(bytes) {
                assert!(length <= bytes.len());
                let (again, same) = parse(&bytes[..length]);
                assert_eq!(again.ok(), Some(Some((length, head))));
                assert_eq!(same, kept);
            }
        }
    });
}

#[test]
fn no_body_in_chunks_is_too_strange_and_its_pieces_do_not_change_it() {
    fuzz_bytes(BODIES, |bytes| {
        let decode = |piece: usize| {
            let (mut chunks, mut data, mut used) = (Chunks::Start, Vec::new(), 0);
            for piece in bytes.chunks(piece) {
                let decoded = chunks.decode(piece, &mut |part| {
                    data.extend_from_slice(part);
                    ControlFlow::Continue(())
                });
                let Ok((length, _)) = decoded else {
                    return None;
                };
                used += length;
            }
            assert!(data.len() <= used && used <= bytes.len());
            Some((data, used, chunks.is_over()))
        };
        let whole = decode(bytes.len().max(1));
        for piece in [1, 2, 7] {
            assert_eq!(decode(piece), whole, "in pieces of {piece}");
        }
    });
}

//! Compressed bodies: asked for where they are read, decoded, bounded.

use super::user::{BODY, EVERYTHING, NOTHING, failed, get, ok, run, send, user, with_header};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Reply, Server};
use std::io::Write as _;

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn deflate(body: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn encoded(name: &str, body: Vec<u8>) -> Reply {
    Reply::status(200)
        .header("content-encoding", name)
        .body(body)
}

#[test]
fn compression_is_asked_for_where_a_body_is_read() {
    let server = Server::recording(|_| Reply::status(200));
    run(async {
        let mut user = user(&server.url()).await;
        ok(send(&mut user, &get("/"), NOTHING).await);
        ok(send(&mut user, &get("/"), BODY).await);
        let own = with_header(get("/"), "accept-encoding", "br");
        ok(send(&mut user, &own, BODY).await);
    });
    let asked: Vec<Option<String>> = server
        .recorded()
        .iter()
        .map(|request| request.header("accept-encoding").map(str::to_owned))
        .collect();
    assert_eq!(
        asked,
        [
            None,
            Some("gzip, deflate".to_owned()),
            Some("br".to_owned())
        ]
    );
}

#[test]
fn a_compressed_body_is_decoded_and_counted_as_it_came() {
    let text = "{\"name\":\"Ada\"}".repeat(500);
    let (zipped, bare) = (gzip(text.as_bytes()), deflate(text.as_bytes()));
    let wire = zipped.len() as u64;
    let server = Server::start(move |request| match request.path.as_str() {
        "/gzip" => encoded("gzip", zipped.clone()).chunked(),
        "/head" => encoded("gzip", zipped.clone()),
        _ => encoded("deflate", bare.clone()),
    });
    run(async {
        let mut user = user(&server.url()).await;
        let exchange = send(&mut user, &get("/gzip"), EVERYTHING).await;
        assert!(
            (wire..wire + 200).contains(&exchange.traffic.received_bytes),
            "{}",
            exchange.traffic.received_bytes
        );
        let received = ok(exchange);
        assert_eq!(received.body, text);
        // The headers are those of the answer.
        assert_eq!(received.headers["content-encoding"], "gzip");
        assert_eq!(ok(send(&mut user, &get("/deflate"), BODY).await).body, text);
        // Not read, not decoded, and no body at all where none can be.
        assert_eq!(ok(send(&mut user, &get("/gzip"), NOTHING).await).body, "");
        let mut head = get("/head");
        head.method = http::Method::HEAD;
        assert_eq!(ok(send(&mut user, &head, BODY).await).body, "");
    });
    assert_eq!(server.connections(), 1);
}

#[test]
fn what_cannot_be_decoded_is_told_by_its_kind() {
    let whole = gzip(b"a text that is long enough to be cut");
    let followed = |bytes: &[u8]| [&whole[..], &whole, bytes].concat();
    let (few, many) = (followed(b"more"), followed(&[b'x'; 40]));
    let bomb = gzip(&vec![0; 4 << 20]);
    // Noise that repeats: it is large, and grows to less than a hundred times its size.
    let noise: Vec<u8> = (0..1024_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let large = gzip(&noise.repeat(17 << 10));
    let server = Server::start(move |request| match request.path.as_str() {
        "/cut" => encoded("gzip", whole[..whole.len() - 9].to_vec()),
        "/few" => encoded("gzip", few.clone()),
        "/many" => encoded("gzip", many.clone()),
        "/broken" => encoded("gzip", b"no gzip at all, this".to_vec()),
        "/brotli" => encoded("br", b"\x0b\x02\x80hello\x03".to_vec()),
        "/bomb" => encoded("gzip", bomb.clone()),
        _ => encoded("gzip", large.clone()),
    });
    run(async {
        let mut user = user(&server.url()).await;
        for (path, kind, word) in [
            ("/cut", ErrorKind::BodyDecode, "ends early"),
            ("/few", ErrorKind::BodyDecode, "other bytes after"),
            ("/many", ErrorKind::BodyDecode, "other bytes after"),
            ("/broken", ErrorKind::BodyDecode, "not `gzip` data"),
            ("/brotli", ErrorKind::BodyDecode, "`br`"),
            ("/bomb", ErrorKind::BodyRatio, "250 times"),
            ("/large", ErrorKind::BodyTooLarge, "16 MiB"),
        ] {
            let failure = failed(send(&mut user, &get(path), BODY).await, kind);
            assert!(failure.message.contains(word), "{}", failure.message);
            assert_eq!(failure.status.map(|status| status.as_u16()), Some(200));
            assert_eq!(failure.headers, None);
        }
        // What there is of it is shown.
        let cut = send(&mut user, &get("/cut"), EVERYTHING).await;
        let failure = failed(cut, ErrorKind::BodyDecode);
        assert_eq!(failure.headers.unwrap()["content-encoding"], "gzip");
        let sample = failure.sample.unwrap_or_default();
        assert!(sample.starts_with("a text that is"), "{sample}");
    });
    // Each was read to its end, so that the connection is of further use.
    assert_eq!((server.requests(), server.connections()), (8, 1));
}

#[test]
fn the_sample_of_an_unexpected_answer_is_readable() {
    let long: Vec<u8> = (0..20_000_u32)
        .flat_map(|i| i.to_string().into_bytes())
        .collect();
    let (short, cut) = (gzip(br#"{"error":"bad","token":"hunter2"}"#), gzip(&long));
    let server = Server::start(move |request| {
        let (name, body) = match request.path.as_str() {
            "/short" => ("gzip", short.clone()),
            "/long" => ("gzip", cut.clone()),
            _ => ("br", vec![1, 2, 3]),
        };
        let reply = Reply::status(500).header("content-encoding", name);
        reply.body(body)
    });
    run(async {
        let mut user = user(&server.url()).await;
        let mut sample = async |path: &str| {
            let exchange = send(&mut user, &get(path), BODY).await;
            failed(exchange, ErrorKind::Status).sample.unwrap()
        };
        assert_eq!(
            sample("/short").await,
            r#"{"error":"bad","token":"[redacted]"}"#
        );
        let start = sample("/long").await;
        assert!(start.starts_with("0123456789101112"), "{start}");
        assert!(start.len() <= 1024);
        assert_eq!(sample("/brotli").await, "(encoded as br)");
    });
}

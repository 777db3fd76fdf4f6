//! Streams of events: over both versions of HTTP, and what becomes of their connection.

use super::http2::{http2, serve};
use super::user::{NOTHING, PATIENCE, failed, get, ok, run, run_paused, send, user, user_of};
use crate::transport::memory::MemoryServer;
use crate::transport::{Call, Exchange, HttpTransport, StreamCall, Transport, UnfinishedCall};
use http::Response;
use loadtest_model::definition::{EndMark, Expect, Reads, StreamDef, StreamFormat};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Reply, Server};
use std::borrow::Cow;
use std::time::Duration;

const BODY: &str = "data: a\n\ndata: b\n\ndata: [DONE]\n\n";
/// What may follow the end of a stream.
const LAST: &str = ": bye\n\n";

fn until_done() -> StreamDef {
    StreamDef {
        end: Some(EndMark::Data(Cow::Borrowed("[DONE]"))),
        ..StreamDef::UNDECLARED
    }
}

async fn read(user: &mut HttpTransport, path: &str, def: &StreamDef) -> Exchange {
    let call = Call {
        request: &get(path),
        expect: &Expect::SUCCESS,
        reads: Reads {
            body: true,
            headers: false,
        },
        timeout: PATIENCE,
        redirects: 0,
        new_connection: false,
        unfinished: &UnfinishedCall::default(),
        trace: None,
        stream: Some(StreamCall {
            def,
            keeps_data: true,
            is_graphql: false,
            lasts: def.lasts,
            each: &|_| Ok(false),
            opened: None,
        }),
        websocket: None,
        is_graphql: false,
    };
    user.send(call).await
}

fn data(exchange: &Exchange) -> Vec<String> {
    let log = exchange.events.as_ref().unwrap();
    let data = log.events.iter().map(|event| event.data.to_vec());
    data.map(|data| String::from_utf8(data).unwrap()).collect()
}

#[test]
fn a_stream_comes_over_http2_and_leaves_its_connection_of_use() {
    run(async {
        let (address, log) = serve(|path| {
            let kind = Response::builder().header("content-type", "text/event-stream");
            let body = if path == "/cut" { &BODY[..10] } else { BODY };
            (kind.body(()).unwrap(), body.into())
        })
        .await;
        let mut user = user_of(&format!("http://{address}"), &http2()).await;
        let exchange = read(&mut user, "/", &until_done()).await;
        assert_eq!(data(&exchange), ["a", "b"]);
        let last = exchange.events.as_ref().unwrap().events.last().unwrap().at;
        assert_eq!(
            exchange.service_time, last,
            "what follows the last event is no part"
        );
        ok(exchange);
        let cut = read(&mut user, "/cut", &until_done()).await;
        assert_eq!(data(&cut), ["a"]);
        failed(cut, ErrorKind::StreamUnfinished);
        ok(send(&mut user, &get("/"), NOTHING).await);
        let connections: Vec<_> = log.borrow().iter().map(|one| one.connection).collect();
        assert_eq!(connections[..2], [0, 0]);
    });
}

#[test]
fn a_stream_that_can_be_of_events_alone_asks_for_nothing_else() {
    run(async {
        let server = Server::recording(|_| {
            let reply = Reply::status(200).header("content-type", "text/event-stream");
            reply.body(BODY)
        });
        let mut user = user(&server.url()).await;
        for format in [StreamFormat::Detected, StreamFormat::Events] {
            let def = StreamDef {
                format,
                ..until_done()
            };
            ok(read(&mut user, "/", &def).await);
        }
        let got = server.recorded();
        let accepted = got.iter().map(|request| request.header("accept").unwrap());
        assert_eq!(accepted.collect::<Vec<_>>(), ["*/*", "text/event-stream"]);
    });
}

#[test]
fn an_error_in_json_is_quoted_and_another_answer_is_not_waited_for() {
    run(async {
        let server = Server::start(|request| match &*request.path {
            "/json" => Reply::json(r#"{"error":"the model is overloaded"}"#),
            _ => Reply::status(200)
                .header("content-type", "text/plain")
                .pieces([(Duration::from_secs(3600), b"never".to_vec())]),
        });
        let mut user = user(&server.url()).await;
        let refused = failed(
            read(&mut user, "/json", &until_done()).await,
            ErrorKind::HeadMalformed,
        );
        let words = "the answer is not a stream of events: content-type application/json; ";
        assert!(refused.message.starts_with(words), "{refused:?}");
        let sample = refused.sample.unwrap();
        assert_eq!(&*sample, r#"{"error":"the model is overloaded"}"#);
        let silent = read(&mut user, "/", &until_done()).await;
        let refused = failed(silent, ErrorKind::HeadMalformed);
        assert!(refused.sample.is_none());
    });
}

#[test]
fn the_end_of_the_body_is_waited_for_if_it_comes_soon() {
    run_paused(async {
        let server = MemoryServer::start(|path| {
            let later = match path {
                "/soon" => Duration::from_millis(99),
                _ => Duration::from_millis(101),
            };
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
            let length = BODY.len() + LAST.len();
            let start = format!("{head}content-length: {length}\r\n\r\n{BODY}");
            Box::new([(Duration::ZERO, start.into()), (later, LAST.into())].into_iter())
        });
        let mut user = user(&server.url).await;
        for _ in 0..2 {
            let exchange = read(&mut user, "/soon", &until_done()).await;
            assert_eq!(exchange.traffic.requests, 1);
            assert_eq!(
                exchange.service_time,
                Duration::ZERO,
                "up to the last event"
            );
            ok(exchange);
        }
        assert_eq!(server.connections(), 1);
        ok(read(&mut user, "/late", &until_done()).await);
        let first = StreamDef {
            events: Some(1),
            ..StreamDef::UNDECLARED
        };
        let exchange = read(&mut user, "/soon", &first).await;
        assert_eq!(data(&exchange), ["a"]);
        ok(exchange);
        assert_eq!(
            server.connections(),
            2,
            "one was given up, with the rest of its body"
        );
    });
}

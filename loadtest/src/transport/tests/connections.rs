//! Connections: kept, lost, opened anew, and what is sent again.

use super::user::{
    BODY, NOTHING, PATIENCE, failed, get, ok, request, run, run_on_stopped_clock, send, until,
    user, user_of,
};
use crate::transport::{Call, HttpTransport, Network, Transport, UnfinishedCall};
use http::Method;
use loadtest_model::definition::{Client, Expect};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Reply, Server};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn one_connection_carries_all_requests_of_a_user() {
    let server = Server::start(|request| Reply::text(format!("answer {}", request.sequence)));
    run(async {
        let mut user = user(&server.url()).await;
        for i in 0..50 {
            let received = ok(send(&mut user, &get("/a?b=1"), BODY).await);
            assert_eq!(received.body, format!("answer {i}"));
        }
    });
    assert_eq!((server.requests(), server.connections()), (50, 1));
}

#[test]
fn each_user_has_a_connection_of_its_own() {
    let server = Server::start(|_| Reply::status(200));
    run(async {
        let network = Network::prepare(Some(&server.url()), "r").await.unwrap();
        let network = Arc::new(network);
        for number in 0..4 {
            let mut user = HttpTransport::new(Arc::clone(&network), number);
            ok(send(&mut user, &get("/"), NOTHING).await);
            ok(send(&mut user, &get("/"), NOTHING).await);
        }
    });
    assert_eq!((server.requests(), server.connections()), (8, 4));
}

#[test]
fn new_visitors_open_connections_in_each_iteration_or_for_each_request() {
    let server = Server::start(|_| Reply::status(200));
    let client = Client {
        new_connections: true,
        ..Client::default()
    };
    run(async {
        let mut user = user_of(&server.url(), &client).await;
        for _ in 0..3 {
            user.begin();
            let first = send(&mut user, &get("/"), NOTHING).await;
            assert!(first.phases.connect.is_some());
            let second = send(&mut user, &get("/"), NOTHING).await;
            assert!(second.phases.connect.is_none());
        }
    });
    assert_eq!((server.requests(), server.connections()), (6, 3));
    run(async {
        let user = user(&server.url()).await;
        for at in 0..6 {
            let call = Call {
                request: &get("/"),
                expect: &Expect::SUCCESS,
                reads: NOTHING,
                timeout: PATIENCE,
                redirects: 0,
                new_connection: at % 2 == 1,
                unfinished: &UnfinishedCall::default(),
                trace: None,
                stream: None,
                websocket: None,
                is_graphql: false,
            };
            ok(user.send(call).await);
        }
    });
    // One for the requests that keep theirs, and one for each of the others.
    assert_eq!((server.requests(), server.connections()), (12, 3 + 1 + 3));
}

#[test]
fn an_announced_close_costs_no_repeated_request() {
    let server = Server::start(|_| Reply::text("bye").close());
    run(async {
        let mut user = user(&server.url()).await;
        for _ in 0..20 {
            let exchange = send(&mut user, &request(Method::POST, "/"), BODY).await;
            assert_eq!(exchange.traffic.requests, 1);
            assert!(exchange.phases.connect.is_some());
            ok(exchange);
        }
    });
    assert_eq!((server.requests(), server.connections()), (20, 20));
}

/// Long enough for the idle limit of a target.
const REST: Duration = Duration::from_millis(100);

/// Answers the first request of each connection; on the second it does `fault`.
fn lost_on_reuse(fault: impl Fn() -> Reply + Send + Sync + 'static) -> Server {
    let first = std::sync::Mutex::new(std::collections::HashSet::new());
    Server::start(move |request| {
        if first.lock().unwrap().insert(request.connection) {
            Reply::text("fine")
        } else {
            fault()
        }
    })
}

/// The ends of a connection, and what they are called when the target had the request.
const ENDS: [(fn() -> Reply, ErrorKind); 2] = [
    (Reply::close_before_head, ErrorKind::ClosedBeforeHead),
    (Reply::reset, ErrorKind::ResetBeforeHead),
];

#[test]
fn a_connection_that_rested_and_ends_with_a_request_repeats_an_idempotent_one_once() {
    for (fault, _) in ENDS {
        let server = lost_on_reuse(fault);
        run_on_stopped_clock(async {
            let mut user = user(&server.url()).await;
            let first = send(&mut user, &get("/"), BODY).await;
            assert_eq!(first.traffic.requests, 1);
            let single = first.traffic.sent_bytes;
            ok(first);
            for method in [
                Method::GET,
                Method::HEAD,
                Method::PUT,
                Method::DELETE,
                Method::OPTIONS,
            ] {
                tokio::time::advance(REST).await;
                let repeated = send(&mut user, &request(method.clone(), "/"), BODY).await;
                assert_eq!(repeated.traffic.requests, 2, "{method}");
                assert!(repeated.traffic.sent_bytes >= 2 * single, "{method}");
                assert!(repeated.phases.connect.is_some(), "{method}");
                ok(repeated);
            }
        });
        // 1 + 5 twice; a new connection for each of the five.
        assert_eq!((server.requests(), server.connections()), (11, 6));
    }
}

#[test]
fn a_connection_that_met_no_idle_limit_ends_under_its_request() {
    for (fault, kind) in ENDS {
        let server = lost_on_reuse(fault);
        run_on_stopped_clock(async {
            let mut user = user(&server.url()).await;
            ok(send(&mut user, &get("/"), BODY).await);
            tokio::time::advance(REST.saturating_sub(Duration::from_millis(1))).await;
            let lost = send(&mut user, &get("/"), BODY).await;
            assert_eq!(lost.traffic.requests, 1);
            failed(lost, kind);
        });
        assert_eq!(server.requests(), 2);
    }
}

#[test]
fn a_connection_that_is_closed_at_once_after_an_answer_is_no_failure_and_a_reset_is_one() {
    for (fault, kind) in [
        (Reply::close_before_head as fn() -> Reply, None),
        (Reply::reset, Some(ErrorKind::ResetBeforeHead)),
    ] {
        let server = lost_on_reuse(fault);
        run_on_stopped_clock(async {
            let mut user = user(&server.url()).await;
            ok(send(&mut user, &get("/"), BODY).await);
            let exchange = send(&mut user, &get("/"), BODY).await;
            match kind {
                None => {
                    assert_eq!(exchange.traffic.requests, 2);
                    ok(exchange);
                }
                Some(kind) => drop(failed(exchange, kind)),
            }
        });
        let requests = if kind.is_none() { 3 } else { 2 };
        assert_eq!(server.requests(), requests);
    }
}

/// A server that answers the first request of each connection, and does `fault` to the second once it is let go.
fn held_on_reuse(fault: fn() -> Reply) -> (Server, std::sync::mpsc::Sender<()>) {
    let (go, gone) = std::sync::mpsc::channel();
    let gone = std::sync::Mutex::new(gone);
    let server = lost_on_reuse(move || {
        gone.lock().unwrap().recv().unwrap();
        fault()
    });
    (server, go)
}

#[test]
fn a_request_that_the_target_had_for_a_while_is_not_sent_again() {
    for (fault, kind) in ENDS {
        let (server, go) = held_on_reuse(fault);
        run_on_stopped_clock(async {
            let mut user = user(&server.url()).await;
            ok(send(&mut user, &get("/"), BODY).await);
            tokio::time::advance(10 * REST).await;
            let work = async {
                until(|| server.requests() == 2).await;
                tokio::time::advance(Duration::from_millis(20)).await;
                go.send(()).unwrap();
            };
            let request = get("/");
            let (lost, ()) = tokio::join!(send(&mut user, &request, BODY), work);
            assert_eq!(lost.traffic.requests, 1);
            failed(lost, kind);
            // The user goes on over another connection.
            ok(send(&mut user, &get("/"), BODY).await);
        });
        assert_eq!((server.requests(), server.connections()), (3, 2));
    }
}

#[test]
fn the_time_of_a_repeated_request_runs_from_the_first_try() {
    let wait = Duration::from_millis(5);
    let (server, go) = held_on_reuse(Reply::close_before_head);
    run_on_stopped_clock(async {
        let mut user = user(&server.url()).await;
        ok(send(&mut user, &get("/"), BODY).await);
        tokio::time::advance(REST).await;
        let work = async {
            until(|| server.requests() == 2).await;
            tokio::time::advance(wait).await;
            go.send(()).unwrap();
        };
        let request = get("/");
        let (repeated, ()) = tokio::join!(send(&mut user, &request, BODY), work);
        assert_eq!(repeated.service_time, wait);
        assert_eq!(repeated.phases.first_byte, Some(Duration::ZERO));
        assert_eq!(repeated.traffic.requests, 2);
        ok(repeated);
    });
}

#[test]
fn a_post_goes_over_a_new_connection_when_the_kept_one_is_seen_to_close() {
    let pause = Duration::from_millis(5);
    let server = Server::start(move |_| Reply::text("fine").rest(pause).close_silently());
    run(async {
        let mut user = user(&server.url()).await;
        for i in 1..=20 {
            let exchange = send(&mut user, &request(Method::POST, "/"), BODY).await;
            assert_eq!(exchange.traffic.requests, 1);
            ok(exchange);
            // The client has no turn until the close has arrived.
            until(|| server.closed() == i).await;
            #[cfg(target_os = "linux")]
            super::framing::wait_for_end(server.address().port());
            // The runtime learns of it.
            tokio::task::yield_now().await;
        }
    });
    assert_eq!((server.requests(), server.connections()), (20, 20));
}

#[test]
fn an_idle_limit_that_meets_a_post_has_one_name_and_its_remedy() {
    for (fault, _) in ENDS {
        let server = lost_on_reuse(fault);
        run_on_stopped_clock(async {
            let mut user = user(&server.url()).await;
            for method in [Method::POST, Method::PATCH] {
                ok(send(&mut user, &get("/"), BODY).await);
                tokio::time::advance(2 * REST).await;
                let lost = send(&mut user, &request(method, "/"), BODY).await;
                assert_eq!(lost.traffic.requests, 1);
                assert_eq!(
                    failed(lost, ErrorKind::ClosedReused).message,
                    "the kept connection had been idle for 200 ms, and ended while the request was sent; a longer keep-alive time \
                     of the target avoids it, or `retry(1, on = reset)`"
                );
            }
        });
        assert_eq!(server.requests(), 4);
    }
}

#[test]
fn a_request_is_repeated_only_once() {
    let server = Server::start(|request| match request.sequence {
        0 => Reply::text("fine"),
        _ => Reply::close_before_head(),
    });
    run_on_stopped_clock(async {
        let mut user = user(&server.url()).await;
        ok(send(&mut user, &get("/"), BODY).await);
        tokio::time::advance(REST).await;
        let lost = send(&mut user, &get("/"), BODY).await;
        assert_eq!(lost.traffic.requests, 2);
        failed(lost, ErrorKind::ClosedFresh);
    });
    assert_eq!(server.requests(), 3);
}

#[test]
fn a_partly_read_answer_is_not_asked_for_again() {
    let server = lost_on_reuse(|| Reply::raw("HTTP/1.1 200 OK\r\ncontent-le").close_silently());
    run_on_stopped_clock(async {
        let mut user = user(&server.url()).await;
        ok(send(&mut user, &get("/"), BODY).await);
        tokio::time::advance(REST).await;
        let lost = send(&mut user, &get("/"), BODY).await;
        assert_eq!(lost.traffic.requests, 1);
        failed(lost, ErrorKind::ClosedBeforeHead);
    });
    assert_eq!(server.requests(), 2);
}

#[test]
fn an_unsolicited_answer_is_never_taken_for_the_next_one() {
    let server = Server::start(|request| {
        let own = Reply::text(request.target.clone());
        own.followed_by(&Reply::text("nobody asked"))
    });
    run(async {
        let mut user = user(&server.url()).await;
        let mut unsolicited = 0;
        for i in 0..20 {
            let path = format!("/{i}");
            // Even a POST may be sent anew: nothing of it was written to the spoilt connection.
            let exchange = send(&mut user, &request(Method::POST, &path), BODY).await;
            assert_eq!(exchange.traffic.requests, 1);
            unsolicited += exchange.traffic.unsolicited;
            assert_eq!(ok(exchange).body, path);
        }
        // It is noticed with the answer, or when the connection is wanted again.
        assert!((19..=20).contains(&unsolicited), "{unsolicited}");
    });
    assert_eq!((server.requests(), server.connections()), (20, 20));
}

#[test]
fn a_call_that_is_given_up_leaves_no_answer_behind() {
    let server = Server::start(|request| match request.path.as_str() {
        "/slow" => Reply::hang(),
        _ => Reply::text("fast"),
    });
    run(async {
        let mut user = user(&server.url()).await;
        ok(send(&mut user, &get("/"), BODY).await);
        let slow = get("/slow");
        tokio::select! {
            biased;
            exchange = send(&mut user, &slow, BODY) => panic!("{exchange:?}"),
            () = until(|| server.requests_to("/slow") == 1) => {}
        }
        let exchange = send(&mut user, &get("/"), BODY).await;
        assert_eq!(exchange.traffic.requests, 1);
        assert_eq!(ok(exchange).body, "fast");
    });
    assert_eq!(server.connections(), 2);
}

#[test]
fn a_server_that_comes_back_is_found_again() {
    let server = Server::start(|_| Reply::text("one"));
    let address = server.address();
    run_on_stopped_clock(async {
        let mut user = user(&server.url()).await;
        ok(send(&mut user, &get("/"), BODY).await);
        drop(server);
        let refused = send(&mut user, &get("/"), BODY).await;
        assert!(refused.phases.connect.is_some());
        let failure = failed(refused, ErrorKind::ConnectRefused);
        assert!(
            failure.message.contains(&address.to_string()),
            "{}",
            failure.message
        );
        let revived = Server::start_at(address, |_| Reply::text("two"));
        assert_eq!(ok(send(&mut user, &get("/"), BODY).await).body, "two");
        drop(revived);
    });
}

#[test]
fn an_early_answer_to_a_large_upload_does_not_block_the_next_request() {
    // The server reads nothing of the body and says so; it keeps the connection open.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let mut open = Vec::new();
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 16]).unwrap();
            stream
                .write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")
                .unwrap();
            open.push(stream);
        }
    });
    run(async {
        let mut user = user(&url).await;
        let mut upload = request(Method::POST, "/");
        upload.body = vec![0; 32 << 20].into();
        failed(send(&mut user, &upload, NOTHING).await, ErrorKind::Status);
        let call = Call {
            request: &get("/"),
            expect: &Expect::SUCCESS,
            reads: NOTHING,
            timeout: PATIENCE,
            redirects: 0,
            new_connection: false,
            unfinished: &UnfinishedCall::default(),
            trace: None,
            stream: None,
            websocket: None,
            is_graphql: false,
        };
        failed(user.send(call).await, ErrorKind::Status);
    });
    server.join().unwrap();
}

#[test]
fn requests_at_the_same_time_have_connections_of_their_own_and_share_cookies() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/hang" => Reply::hang(),
        "/login" => Reply::text("in").header("set-cookie", "id=7"),
        _ => Reply::text("fine"),
    });
    run(async {
        let user = user(&server.url()).await;
        let unfinished = UnfinishedCall::default();
        let call = |request| Call {
            request,
            expect: &Expect::SUCCESS,
            reads: BODY,
            timeout: PATIENCE,
            redirects: 0,
            new_connection: false,
            unfinished: &unfinished,
            trace: None,
            stream: None,
            websocket: None,
            is_graphql: false,
        };
        let (hang, login, plain) = (get("/hang"), get("/login"), get("/"));
        {
            let mut hanging = pin!(user.send(call(&hang)));
            for request in [&login, &plain, &plain] {
                tokio::select! {
                    _ = &mut hanging => panic!("it hangs"),
                    exchange = user.send(call(request)) => drop(ok(exchange)),
                }
            }
            assert_eq!(unfinished.take(), None);
        }
        // Dropped: it was written, and nothing came.
        let sent = unfinished.take().expect("a request under way").traffic;
        assert_eq!((sent.requests, sent.received_bytes), (1, 0));
        assert!(sent.sent_bytes > 0);
        let (a, b) = tokio::join!(user.send(call(&plain)), user.send(call(&plain)));
        drop((ok(a), ok(b)));
        assert_eq!(unfinished.take(), None);
        // One hung, one was kept, one more was needed for the last two.
        assert_eq!(server.connections(), 3);
        let later = server.recorded().split_off(2);
        assert_eq!(later.len(), 4);
        let cookie = Some("id=7");
        assert!(
            later
                .iter()
                .all(|request| request.header("cookie") == cookie)
        );
    });
}

//! Connections that users share: how many there are, who waits, and what becomes of those that end.

use super::http2::{NO_ERROR, REFUSED, go_away, head, raw, raw_in_memory, reset};
use super::user::{BODY, PATIENCE, failed, ok, request, run, run_on_stopped_clock, run_paused};
use crate::transport::{
    Call, Exchange, HttpTransport, Network, RequestBuf, Transport, UnfinishedCall,
};
use bytes::Bytes;
use futures_util::future::{join, join_all};
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use loadtest_model::definition::{Client, Expect, HttpVersion};
use loadtest_model::metrics::ErrorKind;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

/// The requests that a server has, and had.
#[derive(Debug, Default)]
struct Visits {
    /// The paths in the order in which they came, each with the number of its connection.
    paths: Vec<(usize, String)>,
    connections: usize,
    /// How many are under way on each connection, now and at most.
    under_way: Vec<(usize, usize)>,
}

/// A server that answers once it is allowed to.
#[derive(Clone)]
struct GatedServer {
    address: SocketAddr,
    visits: Arc<Mutex<Visits>>,
    /// The answers that it may still give to paths below `/hold`.
    gate: Arc<Semaphore>,
    arrived: Arc<Notify>,
}

impl GatedServer {
    /// Takes so many requests at once over a connection.
    async fn start(most: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            visits: Arc::default(),
            gate: Arc::new(Semaphore::new(0)),
            arrived: Arc::default(),
        };
        let kept = server.clone();
        tokio::task::spawn_local(async move {
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                server.visits.lock().unwrap().connections += 1;
                server.visits.lock().unwrap().under_way.push((0, 0));
                let server = server.clone();
                let service = service_fn(move |request| server.clone().answer(connection, request));
                tokio::spawn(async move {
                    let mut builder = Builder::new(TokioExecutor::new());
                    builder.max_concurrent_streams(most);
                    let _ = builder
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        kept
    }

    async fn answer(
        self,
        connection: usize,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let path = request.uri().path().to_owned();
        let is_held = path.starts_with("/hold");
        {
            let mut visits = self.visits.lock().unwrap();
            visits.paths.push((connection, path));
            let (now, most) = &mut visits.under_way[connection];
            *now += 1;
            *most = (*most).max(*now);
        }
        self.arrived.notify_one();
        if is_held {
            self.gate.acquire().await.unwrap().forget();
        }
        self.visits.lock().unwrap().under_way[connection].0 -= 1;
        Ok(Response::new(Full::from("fine")))
    }

    /// Waits until so many requests have come.
    async fn wait_for(&self, count: usize) {
        while self.visits.lock().unwrap().paths.len() < count {
            self.arrived.notified().await;
        }
    }

    fn paths(&self) -> Vec<String> {
        let visits = self.visits.lock().unwrap();
        visits.paths.iter().map(|(_, path)| path.clone()).collect()
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// So many users of a worker thread, whose share is `connections`.
async fn users(base: &str, connections: u32, count: u64) -> Vec<HttpTransport> {
    let mut network = Network::prepare(Some(base), "run-7").await.unwrap();
    let client = Client {
        http: HttpVersion::Http2,
        connections: Some(connections),
        ..Client::DEFAULT
    };
    network.configure(&client, Path::new("")).unwrap();
    let network = Arc::new(network);
    let user = |number| {
        let mut user = HttpTransport::new(Arc::clone(&network), number);
        user.share_connections(&|count| (0..count).collect());
        user
    };
    (0..count).map(user).collect()
}

async fn send_by(user: &HttpTransport, method: Method, path: &str, timeout: Duration) -> Exchange {
    send_request(user, &request(method, path), timeout).await
}

async fn send_request(user: &HttpTransport, request: &RequestBuf, timeout: Duration) -> Exchange {
    let call = Call {
        request,
        expect: &Expect::SUCCESS,
        reads: BODY,
        timeout,
        redirects: 0,
        new_connection: false,
        unfinished: &UnfinishedCall::default(),
        trace: None,
        stream: None,
        websocket: None,
        is_graphql: false,
    };
    user.send(call).await
}

async fn get_by(user: &HttpTransport, path: &str) -> Exchange {
    send_by(user, Method::GET, path, PATIENCE).await
}

/// One GET by each of `users` at once, each of which is held, and what comes of them once the server has so many.
async fn hold(server: &GatedServer, users: &[HttpTransport], at_once: usize) -> Vec<Exchange> {
    let before = server.paths().len();
    let paths: Vec<_> = (0..users.len()).map(|i| format!("/hold/{i}")).collect();
    let sent = join_all(
        users
            .iter()
            .zip(&paths)
            .map(|(user, path)| get_by(user, path)),
    );
    let release = async {
        server.wait_for(before + at_once).await;
        server.gate.add_permits(users.len());
    };
    join(sent, release).await.0
}

#[test]
fn users_share_so_many_connections_and_each_has_its_part_of_the_requests() {
    run(async {
        let server = GatedServer::start(100).await;
        let users = users(&server.url(), 3, 6).await;
        let first = hold(&server, &users[..3], 3).await;
        let opened = |all: &[Exchange]| {
            let opened = all
                .iter()
                .filter(|exchange| exchange.phases.connect.is_some());
            opened.count()
        };
        assert_eq!(opened(&first), 3);
        let all = hold(&server, &users, 6).await;
        assert_eq!(opened(&all), 0, "no more connections than three");
        for exchange in first.into_iter().chain(all) {
            assert_eq!(exchange.phases.stream_wait, None);
            assert_eq!(exchange.traffic.requests, 1);
            assert!(exchange.traffic.sent_bytes > 0);
            assert_eq!(ok(exchange).body, "fine");
        }
        let visits = server.visits.lock().unwrap();
        assert_eq!(visits.connections, 3);
        assert_eq!(visits.under_way, [(0, 2); 3]);
    });
}

#[test]
fn bytes_count_with_the_request_whose_body_they_are() {
    run(async {
        let server = GatedServer::start(100).await;
        let users = users(&server.url(), 1, 2).await;
        ok(get_by(&users[0], "/").await);
        let mut upload = request(Method::POST, "/hold");
        upload.body = vec![b'x'; 10_000].into();
        let large = send_request(&users[0], &upload, PATIENCE);
        let small = async {
            server.wait_for(2).await;
            let small = get_by(&users[1], "/").await;
            server.gate.add_permits(1);
            small
        };
        let (large, small) = join(large, small).await;
        let (large_sent, small_sent) = (large.traffic.sent_bytes, small.traffic.sent_bytes);
        ok(large);
        ok(small);
        assert!((1..1_000).contains(&small_sent), "{small_sent}");
        assert!((9_900..12_000).contains(&large_sent), "{large_sent}");
    });
}

#[test]
fn requests_one_after_another_go_over_all_connections_in_turn() {
    run(async {
        let server = GatedServer::start(100).await;
        let users = users(&server.url(), 2, 1).await;
        for _ in 0..4 {
            ok(get_by(&users[0], "/").await);
        }
        let visits = server.visits.lock().unwrap();
        let connections: Vec<_> = visits
            .paths
            .iter()
            .map(|(connection, _)| *connection)
            .collect();
        assert_eq!(connections, [0, 1, 0, 1]);
    });
}

#[test]
fn a_request_waits_for_a_stream_in_the_order_in_which_it_came() {
    run(async {
        let server = GatedServer::start(2).await;
        let users = users(&server.url(), 1, 7).await;
        ok(get_by(&users[0], "/first").await);
        let paths: Vec<_> = (0..7).map(|i| format!("/hold/{i}")).collect();
        let sent = join_all(
            users
                .iter()
                .zip(&paths)
                .map(|(user, path)| get_by(user, path)),
        );
        let release = async {
            for count in 3..=8 {
                server.wait_for(count).await;
                server.gate.add_permits(1);
            }
            server.gate.add_permits(1);
        };
        let (all, ()) = join(sent, release).await;
        for (i, exchange) in all.into_iter().enumerate() {
            let phases = exchange.phases;
            assert_eq!(phases.stream_wait.is_some(), i >= 2, "request {i}");
            let parts = phases.stream_wait.unwrap_or_default() + phases.first_byte.unwrap();
            assert!(parts <= exchange.service_time);
            assert_eq!(exchange.traffic.requests, 1, "none is refused");
            ok(exchange);
        }
        assert_eq!(server.paths()[1..], paths);
        let visits = server.visits.lock().unwrap();
        assert_eq!(
            (visits.connections, &visits.under_way[..]),
            (1, &[(0, 2)][..])
        );
    });
}

#[test]
fn the_first_requests_wait_until_the_target_says_how_many_it_takes() {
    run(async {
        let server = GatedServer::start(2).await;
        let users = users(&server.url(), 1, 5).await;
        let all = hold(&server, &users, 2).await;
        let opened = all
            .iter()
            .filter(|exchange| exchange.phases.connect.is_some());
        assert_eq!(opened.count(), 1);
        for exchange in all {
            assert_eq!(exchange.traffic.requests, 1, "none is refused");
            ok(exchange);
        }
        assert_eq!(server.visits.lock().unwrap().under_way, [(0, 2)]);
    });
}

/// Polls a call once, which has to wait.
async fn begin(call: Pin<&mut impl Future<Output = Exchange>>) {
    let mut call = call;
    poll_fn(|cx| {
        assert!(call.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[test]
fn who_waits_in_vain_is_told_so() {
    run(async {
        let server = GatedServer::start(1).await;
        let users = users(&server.url(), 1, 2).await;
        let late = async {
            server.wait_for(1).await;
            let short = Duration::from_millis(20);
            let late = send_by(&users[1], Method::GET, "/late", short).await;
            server.gate.add_permits(1);
            late
        };
        let (first, late) = join(get_by(&users[0], "/hold"), late).await;
        ok(first);
        assert_eq!((late.traffic.requests, late.phases.first_byte), (0, None));
        let failure = late.result.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::TimeoutConnect);
        assert_eq!(
            failure.message.as_str(),
            "no free stream of a shared connection (one until the SETTINGS of the target arrive) within 20ms"
        );
        ok(get_by(&users[1], "/next").await);
        assert_eq!(server.paths(), ["/hold", "/next"]);
    });
}

#[test]
fn a_stream_that_is_granted_to_who_is_gone_goes_to_the_next() {
    run(async {
        let server = GatedServer::start(1).await;
        let users = users(&server.url(), 1, 3).await;
        ok(get_by(&users[0], "/first").await);
        let mut held = pin!(get_by(&users[0], "/hold"));
        begin(held.as_mut()).await;
        let mut abandoned = Box::pin(get_by(&users[1], "/abandoned"));
        begin(abandoned.as_mut()).await;
        let mut next = pin!(get_by(&users[2], "/next"));
        begin(next.as_mut()).await;
        server.gate.add_permits(1);
        ok(held.await);
        drop(abandoned);
        ok(next.await);
        assert_eq!(server.paths(), ["/first", "/hold", "/next"]);
    });
}

#[test]
fn a_request_that_is_given_up_frees_its_stream() {
    run(async {
        let server = GatedServer::start(1).await;
        let users = users(&server.url(), 1, 2).await;
        ok(get_by(&users[0], "/first").await);
        {
            let mut given_up = pin!(get_by(&users[0], "/hold"));
            tokio::select! {
                _ = given_up.as_mut() => unreachable!("it is held"),
                () = server.wait_for(2) => {}
            }
        }
        ok(get_by(&users[1], "/after").await);
        assert_eq!(server.paths(), ["/first", "/hold", "/after"]);
        assert_eq!(server.visits.lock().unwrap().connections, 1);
    });
}

#[test]
fn a_connection_that_ends_is_replaced_and_costs_no_request() {
    run(async {
        let (address, counts) = raw(|_, stream| {
            let end = [head(stream, true), go_away(stream, NO_ERROR)].concat();
            (end, true)
        })
        .await;
        let users = users(&format!("http://{address}"), 1, 1).await;
        for _ in 0..10 {
            let exchange = send_by(&users[0], Method::POST, "/", PATIENCE).await;
            assert!(exchange.phases.connect.is_some());
            ok(exchange);
        }
        assert_eq!(*counts.borrow(), [1; 10]);
    });
}

#[test]
fn a_request_that_was_not_looked_at_is_sent_again_and_others_stay() {
    for (fault, expected) in [
        (reset(3, REFUSED), vec![3]),
        (go_away(1, NO_ERROR), vec![2, 1]),
    ] {
        run(async {
            let (address, counts) = raw(move |connection, stream| match (connection, stream) {
                (0, 3) => (fault.clone(), false),
                _ => (head(stream, true), false),
            })
            .await;
            let users = users(&format!("http://{address}"), 1, 2).await;
            ok(get_by(&users[0], "/").await);
            let exchange = send_by(&users[1], Method::POST, "/", PATIENCE).await;
            assert_eq!(exchange.traffic.requests, 2);
            ok(exchange);
            assert_eq!(*counts.borrow(), expected);
        });
    }
}

#[test]
fn a_request_that_is_refused_for_the_sake_of_others_is_sent_until_it_gets_through() {
    run_paused(async {
        // Streams have odd numbers: the first request is refused six times, and the next one always.
        let (url, counts) = raw_in_memory(|_, stream| match stream {
            13 => (head(stream, true), false),
            _ => (reset(stream, REFUSED), false),
        });
        let users = users(&url, 1, 1).await;
        let exchange = send_by(&users[0], Method::POST, "/", PATIENCE).await;
        assert_eq!(exchange.traffic.requests, 7);
        ok(exchange);
        let exchange = send_by(&users[0], Method::POST, "/", PATIENCE).await;
        assert_eq!(exchange.traffic.requests, 7);
        failed(exchange, ErrorKind::ResetBeforeHead);
        assert_eq!(*counts.borrow(), [14], "over one connection");
    });
}

#[test]
fn a_connection_that_a_target_gives_up_under_a_request_was_a_kept_one() {
    run(async {
        let (address, _) = raw(|_, stream| match stream {
            3 => (go_away(1, NO_ERROR), false),
            _ => (head(stream, true), false),
        })
        .await;
        let users = users(&format!("http://{address}"), 2, 2).await;
        let (one, other) = join(get_by(&users[0], "/"), get_by(&users[1], "/")).await;
        ok(one);
        ok(other);
        // Both connections were used before, and neither takes it.
        let exchange = send_by(&users[0], Method::POST, "/", PATIENCE).await;
        failed(exchange, ErrorKind::ClosedReused);
    });
}

#[test]
fn a_lost_connection_repeats_only_what_may_be_repeated() {
    for (method, rest, kind) in [
        (Method::GET, 100, None),
        (Method::GET, 99, Some(ErrorKind::ClosedBeforeHead)),
        (Method::POST, 100, Some(ErrorKind::ClosedReused)),
    ] {
        run_on_stopped_clock(async {
            let (address, counts) = raw(|connection, stream| match (connection, stream) {
                (0, 3) => (Vec::new(), true),
                _ => (head(stream, true), false),
            })
            .await;
            let users = users(&format!("http://{address}"), 1, 2).await;
            ok(get_by(&users[0], "/").await);
            tokio::time::advance(Duration::from_millis(rest)).await;
            let exchange = send_by(&users[1], method, "/", PATIENCE).await;
            let again = kind.is_none();
            assert_eq!(exchange.traffic.requests, if again { 2 } else { 1 });
            match kind {
                None => drop(ok(exchange)),
                Some(kind) => drop(failed(exchange, kind)),
            }
            // Another request finds a connection in any case.
            ok(get_by(&users[0], "/").await);
            assert_eq!(*counts.borrow(), if again { [2, 2] } else { [2, 1] });
        });
    }
}

#[test]
fn where_no_connection_comes_about_each_request_fails_by_itself() {
    run(async {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = closed.local_addr().unwrap();
        drop(closed);
        let users = users(&format!("http://{address}"), 2, 5).await;
        let all = join_all(users.iter().map(|user| get_by(user, "/"))).await;
        for exchange in all {
            assert_eq!(exchange.result.unwrap_err().kind, ErrorKind::ConnectRefused);
        }
    });
}

#[test]
fn connections_end_with_their_last_user() {
    run(async {
        let server = GatedServer::start(100).await;
        for connections in 1..=2 {
            let users = users(&server.url(), 4, 1).await;
            ok(get_by(&users[0], "/").await);
            drop(users);
            assert_eq!(server.visits.lock().unwrap().connections, connections);
        }
    });
}

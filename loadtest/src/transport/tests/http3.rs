//! HTTP/3 against a server in this process, and what its failures are called.

use super::user::{
    BODY, EVERYTHING, NOTHING, alone, failed, follow, get, ok, request, run, run_on_stopped_clock,
    send, with_header,
};
use crate::targets::Permissions;
use crate::transport::{Call, HttpTransport, Network, Resolver, Transport, UnfinishedCall};
use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::server::RequestStream;
use http::{Method, Response, StatusCode, Version};
use loadtest_model::definition::{Client, Expect, HttpVersion};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::Authority;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{ConnectionError, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::ServerConfig as TlsServerConfig;
use std::cell::{Cell, RefCell};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::{LocalSet, spawn_local};

/// What the server does with a request.
#[derive(Debug, Clone)]
enum Act {
    Answer(Vec<(&'static str, String)>, u16, Vec<u8>),
    /// Sends back what it gets, as it comes.
    Echo,
    /// Gives the request up before the head of its answer.
    Reset(Code),
    /// Gives it up within the body.
    ResetInBody(Code),
    /// Ends the connection instead.
    Close,
    /// Answers, and ends the connection then.
    AnswerAndClose,
    /// An interim answer before the answer.
    Early,
    Silent,
}

fn fine() -> Act {
    Act::Answer(Vec::new(), 200, b"fine".to_vec())
}

#[derive(Debug, Clone)]
struct Arrived {
    line: String,
    authority: String,
    headers: Vec<String>,
    body: usize,
    connection: usize,
}

/// A server of HTTP/3; it runs as long as the test does.
struct Http3Server {
    address: SocketAddr,
    log: Rc<RefCell<Vec<Arrived>>>,
    /// How connections ended, by their clients or by the server.
    ended: Rc<RefCell<Vec<ConnectionError>>>,
    end: Rc<Notify>,
    _endpoint: Endpoint,
}

type Stream = RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;

impl Http3Server {
    fn start(mut tls: TlsServerConfig, act: impl Fn(&Arrived) -> Act + Clone + 'static) -> Self {
        if tls.alpn_protocols.is_empty() {
            tls.alpn_protocols = vec![b"h3".to_vec()];
        }
        let crypto = QuicServerConfig::try_from(tls).unwrap();
        let config = ServerConfig::with_crypto(Arc::new(crypto));
        let endpoint = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let server = Self {
            address: endpoint.local_addr().unwrap(),
            log: Rc::default(),
            ended: Rc::default(),
            end: Rc::default(),
            _endpoint: endpoint.clone(),
        };
        let (log, ended, end) = (
            Rc::clone(&server.log),
            Rc::clone(&server.ended),
            Rc::clone(&server.end),
        );
        spawn_local(async move {
            let mut number = 0;
            while let Some(incoming) = endpoint.accept().await {
                let (act, log, ended, end) = (
                    act.clone(),
                    Rc::clone(&log),
                    Rc::clone(&ended),
                    Rc::clone(&end),
                );
                let connection = number;
                number += 1;
                spawn_local(async move {
                    let Ok(quic) = incoming.await else { return };
                    let reason = serve(quic, connection, act, log).await;
                    ended.borrow_mut().extend(reason);
                    end.notify_one();
                });
            }
        });
        server
    }

    fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    fn connections(&self) -> Vec<usize> {
        let log = self.log.borrow();
        log.iter().map(|request| request.connection).collect()
    }

    async fn wait_for_end(&self) -> ConnectionError {
        while self.ended.borrow().is_empty() {
            self.end.notified().await;
        }
        self.ended.borrow_mut().remove(0)
    }
}

/// Serves a connection, and returns why it ended.
async fn serve(
    quic: quinn::Connection,
    number: usize,
    act: impl Fn(&Arrived) -> Act + Clone + 'static,
    log: Rc<RefCell<Vec<Arrived>>>,
) -> Option<ConnectionError> {
    let Ok(mut connection) =
        h3::server::Connection::<_, Bytes>::new(h3_quinn::Connection::new(quic.clone())).await
    else {
        return None;
    };
    while let Ok(Some(resolver)) = connection.accept().await {
        let (act, log, quic) = (act.clone(), Rc::clone(&log), quic.clone());
        spawn_local(async move {
            let Ok((head, stream)) = resolver.resolve_request().await else {
                return;
            };
            let arrived = Arrived {
                line: format!("{} {}", head.method(), head.uri().path_and_query().unwrap()),
                authority: head.uri().authority().unwrap().to_string(),
                headers: (head.headers().iter())
                    .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
                    .collect(),
                body: 0,
                connection: number,
            };
            let is_head = head.method() == Method::HEAD;
            let _ = answer(stream, arrived, is_head, act, &log, &quic).await;
        });
    }
    // Before the end of the server itself takes its place.
    quic.close_reason()
}

async fn answer(
    mut stream: Stream,
    mut arrived: Arrived,
    is_head: bool,
    act: impl Fn(&Arrived) -> Act,
    log: &RefCell<Vec<Arrived>>,
    quic: &quinn::Connection,
) -> Result<(), h3::error::StreamError> {
    let act = act(&arrived);
    let empty = || Response::new(());
    if let Act::Echo = act {
        log.borrow_mut().push(arrived);
        stream.send_response(empty()).await?;
        while let Some(mut data) = stream.recv_data().await? {
            let data = data.copy_to_bytes(data.remaining());
            stream.send_data(data).await?;
        }
        return stream.finish().await;
    }
    while let Some(data) = stream.recv_data().await? {
        arrived.body += data.remaining();
    }
    log.borrow_mut().push(arrived);
    match act {
        Act::Answer(headers, status, body) => {
            let mut response = empty();
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            for (name, value) in headers {
                response.headers_mut().append(name, value.parse().unwrap());
            }
            stream.send_response(response).await?;
            if !is_head && !body.is_empty() {
                stream.send_data(body.into()).await?;
            }
            stream.finish().await?;
        }
        Act::Early => {
            let mut early = empty();
            *early.status_mut() = StatusCode::from_u16(103).unwrap();
            stream.send_response(early).await?;
            stream.send_response(empty()).await?;
            stream.finish().await?;
        }
        Act::Reset(code) => stream.stop_stream(code),
        Act::ResetInBody(code) => {
            stream.send_response(empty()).await?;
            stream.send_data(Bytes::from_static(b"part")).await?;
            // It is on its way when the rest is given up.
            tokio::time::sleep(Duration::from_millis(50)).await;
            stream.stop_stream(code);
        }
        Act::Close => quic.close(VarInt::from_u32(0x100), b"bye"),
        Act::AnswerAndClose => {
            stream.send_response(empty()).await?;
            stream.finish().await?;
            drop(stream);
            tokio::time::sleep(Duration::from_millis(50)).await;
            quic.close(VarInt::from_u32(0x100), b"bye");
        }
        Act::Silent => {
            let _ = quic.closed().await;
        }
        Act::Echo => unreachable!("it is answered already"),
    }
    Ok(())
}

/// An authority, the folder with its certificate, and the settings of a client that trusts it.
struct Trust {
    authority: Authority,
    folder: TempDir,
}

impl Trust {
    fn new() -> Self {
        let authority = Authority::new();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        Self { authority, folder }
    }

    fn client() -> Client {
        Client {
            http: HttpVersion::Http3,
            ca: Some("ca.pem".into()),
            ..Client::DEFAULT
        }
    }

    fn tls(&self) -> TlsServerConfig {
        self.authority.server("127.0.0.1", 4000)
    }

    async fn user(&self, url: &str) -> HttpTransport {
        configured(url, &Self::client(), self.folder.path()).await
    }
}

async fn configured(url: &str, client: &Client, root: &Path) -> HttpTransport {
    let mut network = Network::prepare(Some(url), "run-7").await.unwrap();
    network.configure(client, root).unwrap();
    HttpTransport::new(Arc::new(network), 0)
}

#[test]
fn requests_go_one_after_another_over_one_connection() {
    run(async {
        let trust = Trust::new();
        let server = Http3Server::start(trust.tls(), |arrived| {
            let headers = vec![("x-line", arrived.line.clone())];
            Act::Answer(headers, 200, b"fine".to_vec())
        });
        let mut user = trust.user(&format!("{}/api", server.url())).await;
        for i in 0..20 {
            let exchange = send(&mut user, &get(&format!("/a?i={i}")), EVERYTHING).await;
            assert_eq!(exchange.traffic.requests, 1);
            assert_eq!(exchange.phases.connect.is_some(), i == 0);
            assert_eq!(exchange.phases.tls, None, "it is part of the handshake");
            assert!(exchange.phases.first_byte.is_some());
            assert!(exchange.traffic.sent_bytes > 9 && exchange.traffic.received_bytes > 9);
            let received = ok(exchange);
            assert_eq!(received.version, Version::HTTP_3);
            assert_eq!(received.body, "fine");
            assert_eq!(received.headers["x-line"], format!("GET /api/a?i={i}"));
        }
        let mut post = request(Method::POST, "/b");
        post.body = vec![b'x'; 200_000].into();
        let exchange = send(&mut user, &post, NOTHING).await;
        assert!(exchange.traffic.sent_bytes > 200_000);
        ok(exchange);
        ok(send(&mut user, &request(Method::HEAD, "/head"), BODY).await);
        let log = server.log.borrow();
        assert!(log.iter().all(|request| request.connection == 0));
        assert_eq!(log[0].authority, server.address.to_string());
        let agent = format!("user-agent: loadtest/{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(
            log[0].headers,
            [
                agent.as_str(),
                "accept: */*",
                "accept-encoding: gzip, deflate",
                "loadtest-run: run-7"
            ]
        );
        assert_eq!(log[20].body, 200_000);
        assert!(
            log[20]
                .headers
                .contains(&"content-length: 200000".to_owned())
        );
    });
}

#[test]
fn the_end_of_a_user_ends_its_connection_in_order_and_at_once() {
    run(async {
        let trust = Trust::new();
        let server = Http3Server::start(trust.tls(), |_| fine());
        let mut user = trust.user(&server.url()).await;
        ok(send(&mut user, &get("/"), NOTHING).await);
        drop(user);
        let reason = server.wait_for_end().await;
        let ConnectionError::ApplicationClosed(close) = reason else {
            panic!("{reason:?}");
        };
        assert_eq!(close.error_code, VarInt::from_u32(0x100), "H3_NO_ERROR");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn connections_that_have_ended_leave_no_socket_behind() {
    let name = "transport::tests::http3::connections_that_have_ended_leave_no_socket_behind";
    let open_files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    alone(name, &[], || {
        run(async {
            let trust = Trust::new();
            let server = Http3Server::start(trust.tls(), |_| fine());
            let refusing = format!("https://{}", closed_port());
            let before = open_files();
            for _ in 0..10 {
                let mut user = trust.user(&server.url()).await;
                ok(send(&mut user, &get("/"), NOTHING).await);
                let mut user = trust.user(&refusing).await;
                failed(
                    send(&mut user, &get("/"), NOTHING).await,
                    ErrorKind::ConnectRefused,
                );
            }
            assert_eq!(open_files(), before);
        });
    });
}

#[test]
fn certificates_are_checked_as_over_tcp() {
    run(async {
        let trust = Trust::new();
        let stranger = Authority::new();
        for (tls, kind) in [
            (stranger.server("127.0.0.1", 4000), ErrorKind::TlsUntrusted),
            (
                trust.authority.server("127.0.0.2", 4000),
                ErrorKind::TlsName,
            ),
            (
                trust.authority.server("127.0.0.1", 2001),
                ErrorKind::TlsExpired,
            ),
        ] {
            let server = Http3Server::start(tls, |_| fine());
            let mut user = trust.user(&server.url()).await;
            let refused = send(&mut user, &get("/"), BODY).await;
            assert_eq!(refused.traffic.requests, 0);
            assert!(refused.phases.connect.is_some());
            let words = failed(refused, kind).message;
            assert!(words.starts_with("the QUIC handshake failed: "), "{words}");
            let names = "certificate not valid for name \"127.0.0.1\"; certificate is only valid for \
                         IpAddress(127.0.0.2)";
            assert_eq!(words.contains(names), kind == ErrorKind::TlsName, "{words}");
            let insecure = Client {
                insecure: true,
                ..Trust::client()
            };
            let mut user = configured(&server.url(), &insecure, trust.folder.path()).await;
            ok(send(&mut user, &get("/"), BODY).await);
            assert_eq!(server.log.borrow().len(), 1);
        }
    });
}

#[test]
fn a_server_that_wants_to_know_its_clients_gets_the_identity() {
    run(async {
        let trust = Trust::new();
        let (certificate, key) = trust.authority.issue("client", 4000);
        let identity = trust.folder.path().join("client.pem");
        std::fs::write(identity, certificate + &key).unwrap();
        let server = Http3Server::start(trust.authority.mutual("127.0.0.1"), |_| fine());
        let mut user = trust.user(&server.url()).await;
        let failure = failed(
            send(&mut user, &get("/"), BODY).await,
            ErrorKind::TlsProtocol,
        );
        assert!(
            failure.message.contains("identity = "),
            "{}",
            failure.message
        );
        let known = Client {
            identity: Some("client.pem".into()),
            ..Trust::client()
        };
        let mut user = configured(&server.url(), &known, trust.folder.path()).await;
        ok(send(&mut user, &get("/"), BODY).await);
    });
}

#[test]
fn where_nobody_speaks_http3_no_connection_comes_about() {
    run(async {
        let trust = Trust::new();
        let mut tls = trust.tls();
        tls.alpn_protocols = vec![b"other".to_vec()];
        let server = Http3Server::start(tls, |_| fine());
        let mut user = trust.user(&server.url()).await;
        let failure = failed(
            send(&mut user, &get("/"), BODY).await,
            ErrorKind::TlsProtocol,
        );
        let words = "the target speaks another version of HTTP";
        assert!(failure.message.contains(words), "{}", failure.message);

        let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("https://{}", silent.local_addr().unwrap());
        let mut user = trust.user(&url).await;
        let exchange = send_within(&mut user, "/", Duration::from_millis(50)).await;
        assert_eq!(exchange.traffic.requests, 0);
        let failure = failed(exchange, ErrorKind::TimeoutConnect);
        let address = silent.local_addr().unwrap();
        assert_eq!(
            failure.message,
            format!(
                "the QUIC handshake with {address} over UDP did not end within 50ms; is HTTP/3 enabled there, and does \
                 the network let UDP pass?"
            )
        );
    });
}

/// An address at which nothing listens, over UDP.
fn closed_port() -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.local_addr().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn where_nothing_listens_the_system_says_so_at_once() {
    run(async {
        let trust = Trust::new();
        let address = closed_port();
        let mut user = trust.user(&format!("https://{address}")).await;
        let refused = send(&mut user, &get("/"), BODY).await;
        assert!(refused.phases.connect.is_some());
        let failure = failed(refused, ErrorKind::ConnectRefused);
        assert_eq!(
            failure.message,
            format!(
                "cannot connect to {address}: nothing listens at this UDP port; is HTTP/3 enabled there?"
            )
        );
    });
}

#[test]
fn a_target_that_says_nothing_is_given_up_before_the_deadline() {
    run(async {
        tokio::time::pause();
        let trust = Trust::new();
        let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = silent.local_addr().unwrap();
        let mut user = trust.user(&format!("https://{address}")).await;
        let exchange = send(&mut user, &get("/"), BODY).await;
        let connect = exchange.phases.connect.unwrap();
        assert_eq!(connect.as_secs(), 10);
        let failure = failed(exchange, ErrorKind::ConnectTimeout);
        assert_eq!(
            failure.message,
            format!(
                "cannot connect to {address}: no answer to the QUIC handshake over UDP within 10s; is HTTP/3 enabled \
                 there, and does the network let UDP pass?"
            )
        );
    });
}

#[cfg(target_os = "linux")]
#[test]
fn of_several_addresses_the_next_is_tried_where_nothing_answers() {
    run(async {
        let trust = Trust::new();
        let tls = trust.authority.server("shop.test", 4000);
        let server = Http3Server::start(tls, |_| fine());
        let resolver = Resolver::new(Duration::MAX, |_| {
            let all = ["127.0.0.2", "127.0.0.1"];
            Ok(all.map(|text| text.parse().unwrap()).to_vec())
        });
        let url = format!("https://shop.test:{}", server.address.port());
        let permissions = Permissions::default();
        let network = Network::resolving(resolver, permissions, Some(&url), "run-7").await;
        let mut network = network.unwrap();
        network
            .configure(&Trust::client(), trust.folder.path())
            .unwrap();
        network.reachable().await.unwrap();
        let mut user = HttpTransport::new(Arc::new(network), 0);
        ok(send(&mut user, &get("/"), BODY).await);
        assert_eq!(server.connections(), [1], "after that of the check before");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_target_that_has_died_is_noticed_with_the_next_request() {
    let trust = Trust::new();
    let (tls, (ready, address)) = (trust.tls(), channel());
    let (dies, death) = channel::<()>();
    let target = std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async move {
            let server = Http3Server::start(tls, |_| fine());
            ready.send(server.address).unwrap();
            tokio::task::spawn_blocking(move || death.recv())
                .await
                .unwrap()
                .unwrap_err();
            // Nothing is said to the clients: its tasks do not run any more.
            drop(server);
        });
    });
    run_on_stopped_clock(async {
        let mut user = trust
            .user(&format!("https://{}", address.recv().unwrap()))
            .await;
        ok(send(&mut user, &get("/"), BODY).await);
        drop(dies);
        target.join().unwrap();
        let lost = send(&mut user, &request(Method::POST, "/"), BODY).await;
        let failure = failed(lost, ErrorKind::ClosedReused);
        assert_eq!(
            failure.message,
            "the kept connection had been idle for 0 ms, and ended while the request was sent: nothing listens at the address \
             any more; a longer keep-alive time of the target avoids it, or `retry(1, on = reset)`"
        );
        failed(
            send(&mut user, &get("/"), BODY).await,
            ErrorKind::ConnectRefused,
        );
    });
}

#[test]
fn the_check_before_a_run_speaks_quic() {
    run(async {
        let trust = Trust::new();
        let prepared = async |address: SocketAddr| {
            let url = format!("https://{address}");
            let mut network = Network::prepare(Some(&url), "run-7").await.unwrap();
            let folder = trust.folder.path();
            network.configure(&Trust::client(), folder).unwrap();
            network.reachable().await
        };
        let server = Http3Server::start(trust.tls(), |_| fine());
        prepared(server.address).await.unwrap();
        // Failures of TLS are those of the first users.
        let stranger = Authority::new().server("127.0.0.1", 4000);
        let server = Http3Server::start(stranger, |_| fine());
        prepared(server.address).await.unwrap();
        assert_eq!(server.log.borrow().len(), 0);

        tokio::time::pause();
        let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = silent.local_addr().unwrap();
        let refused = prepared(address).await.unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "nothing answers at https://{address} ({address}): no answer to the QUIC handshake over UDP within 5s; \
                 is HTTP/3 enabled there, and does the network let UDP pass?; is the target running?"
            )
        );
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_redirect_to_where_nothing_answers_names_the_place() {
    run(async {
        let trust = Trust::new();
        let address = closed_port();
        let location = format!("https://{address}/there");
        let server = Http3Server::start(trust.tls(), move |_| {
            Act::Answer(vec![("location", location.clone())], 302, Vec::new())
        });
        let mut user = trust.user(&server.url()).await;
        let lost = follow(&mut user, &get("/"), BODY, 1).await;
        let failure = failed(lost, ErrorKind::ConnectRefused);
        let words = format!("after a redirect to https://{address}: cannot connect to {address}: ");
        assert!(failure.message.starts_with(&words), "{}", failure.message);
    });
}

async fn send_within(
    user: &mut HttpTransport,
    path: &str,
    timeout: Duration,
) -> crate::transport::Exchange {
    let call = Call {
        request: &get(path),
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

#[test]
fn only_what_does_no_harm_is_sent_again() {
    let rejected = Act::Reset(Code::H3_REQUEST_REJECTED);
    let reset = Act::Reset(Code::H3_INTERNAL_ERROR);
    for (act, method, rest, expected) in [
        (rejected, Method::POST, 0, Ok(0)),
        (reset, Method::GET, 100, Err(ErrorKind::ResetBeforeHead)),
        (Act::Close, Method::GET, 100, Ok(1)),
        (
            Act::Close,
            Method::GET,
            99,
            Err(ErrorKind::ClosedBeforeHead),
        ),
        (Act::Close, Method::POST, 100, Err(ErrorKind::ClosedReused)),
    ] {
        run_on_stopped_clock(async {
            let trust = Trust::new();
            let (fault, count) = (act.clone(), Rc::new(Cell::new(0)));
            let server = Http3Server::start(trust.tls(), move |_| {
                count.set(count.get() + 1);
                if count.get() == 2 {
                    fault.clone()
                } else {
                    fine()
                }
            });
            let mut user = trust.user(&server.url()).await;
            ok(send(&mut user, &get("/"), NOTHING).await);
            tokio::time::advance(Duration::from_millis(rest)).await;
            let exchange = send(&mut user, &request(method, "/"), NOTHING).await;
            match expected {
                Ok(connection) => {
                    assert_eq!(exchange.traffic.requests, 2);
                    ok(exchange);
                    assert_eq!(server.connections(), [0, 0, connection]);
                }
                Err(kind) => {
                    failed(exchange, kind);
                    assert_eq!(server.connections(), [0, 0]);
                }
            }
        });
    }
}

#[test]
fn a_connection_that_the_server_ends_while_it_rests_costs_nothing() {
    run(async {
        let trust = Trust::new();
        let server = Http3Server::start(trust.tls(), |_| Act::AnswerAndClose);
        let mut user = trust.user(&server.url()).await;
        for i in 0..3 {
            let exchange = send(&mut user, &request(Method::POST, "/"), NOTHING).await;
            assert_eq!(exchange.traffic.requests, 1);
            assert!(exchange.phases.connect.is_some());
            ok(exchange);
            server.wait_for_end().await;
            // What the server said has come by then, or comes with the next packets.
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(server.connections().len(), i + 1);
        }
        assert_eq!(server.connections(), [0, 1, 2]);
    });
}

#[test]
fn redirects_cookies_statuses_and_interim_answers_are_the_same() {
    run(async {
        let trust = Trust::new();
        let server = Http3Server::start(trust.tls(), |arrived| match &*arrived.line {
            "POST /hop" => Act::Answer(
                vec![
                    ("location", "/end".to_owned()),
                    ("set-cookie", "a=1".to_owned()),
                ],
                303,
                Vec::new(),
            ),
            "GET /end" => fine(),
            "GET /early" => Act::Early,
            _ => Act::Answer(Vec::new(), 500, b"sorry".to_vec()),
        });
        let mut user = trust.user(&server.url()).await;
        let exchange = follow(&mut user, &request(Method::POST, "/hop"), BODY, 1).await;
        assert_eq!(exchange.traffic.requests, 2);
        assert_eq!(ok(exchange).body, "fine");
        let failure = failed(send(&mut user, &get("/bad"), BODY).await, ErrorKind::Status);
        assert_eq!(failure.sample.as_deref(), Some("sorry"));
        ok(send(&mut user, &get("/early"), BODY).await);
        let log = server.log.borrow();
        assert!(log[1].headers.contains(&"cookie: a=1".to_owned()));
        assert!(log.iter().all(|request| request.connection == 0));
    });
}

#[test]
fn a_body_goes_up_while_its_answer_comes_down() {
    run(async {
        let trust = Trust::new();
        let server = Http3Server::start(trust.tls(), |_| Act::Echo);
        let mut user = trust.user(&server.url()).await;
        let mut post = request(Method::POST, "/echo");
        post.body = (0..4_000_000_u32)
            .map(|i| i as u8)
            .collect::<Vec<_>>()
            .into();
        for _ in 0..2 {
            let exchange = send(&mut user, &post, BODY).await;
            assert!(exchange.phases.upload.is_some());
            let received = ok(exchange);
            assert!(received.body == post.body, "{} bytes", received.body.len());
        }
        assert_eq!(server.connections(), [0, 0]);
    });
}

#[test]
fn bodies_that_break_off_are_told() {
    run(async {
        let trust = Trust::new();
        let server = Http3Server::start(trust.tls(), |arrived| match &*arrived.line {
            "GET /short" => Act::Answer(
                vec![("content-length", "10".to_owned())],
                200,
                b"fine".to_vec(),
            ),
            "GET /silent" => Act::Silent,
            _ => Act::ResetInBody(Code::H3_INTERNAL_ERROR),
        });
        let mut user = trust.user(&server.url()).await;
        let failure = failed(
            send(&mut user, &get("/short"), BODY).await,
            ErrorKind::BodyTruncated,
        );
        assert_eq!(
            failure.message.as_str(),
            "the body has 4 bytes, and 10 were announced"
        );
        failed(
            send(&mut user, &get("/reset"), BODY).await,
            ErrorKind::ResetInBody,
        );
        let silent = send_within(&mut user, "/silent", Duration::from_millis(50)).await;
        assert_eq!(silent.traffic.requests, 1, "it was written");
        failed(silent, ErrorKind::TimeoutHead);
        // A wrong length ended its connection, and a reset of its stream did not.
        assert_eq!(server.connections(), [0, 1, 1]);
    });
}

#[test]
fn nothing_is_sent_to_hosts_that_are_not_allowed_or_once_the_target_says_so() {
    run(async {
        let trust = Trust::new();
        let server = Http3Server::start(trust.tls(), |_| {
            Act::Answer(vec![("loadtest-stop", "now".to_owned())], 200, Vec::new())
        });
        let mut user = trust.user(&server.url()).await;
        let other = get("https://shop.test/");
        failed(
            send(&mut user, &other, NOTHING).await,
            ErrorKind::GuardBlocked,
        );
        ok(send(&mut user, &with_header(get("/"), "x-own", "1"), NOTHING).await);
        failed(
            send(&mut user, &get("/"), NOTHING).await,
            ErrorKind::GuardBlocked,
        );
        assert_eq!(server.log.borrow().len(), 1);
    });
}

#[test]
fn a_target_that_allows_no_data_is_said_to_be_one() {
    run(async {
        let trust = Trust::new();
        let mut transport = TransportConfig::default();
        transport.receive_window(VarInt::from_u32(0));
        let mut tls = trust.tls();
        tls.alpn_protocols = vec![b"h3".to_vec()];
        let crypto = QuicServerConfig::try_from(tls).unwrap();
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = endpoint.local_addr().unwrap();
        let url = format!("https://{address}");
        let mut network = Network::prepare(Some(&url), "run-7").await.unwrap();
        network
            .configure(&Trust::client(), trust.folder.path())
            .unwrap();
        // The client has ended its part of the handshake by the time that the server knows of it: only the wait for
        // permission to send is left, and no real time passes with it.
        let server = spawn_local(async move {
            let quic = endpoint.accept().await.unwrap().await.unwrap();
            tokio::time::pause();
            quic.closed().await
        });
        let error = network.reachable().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "nothing answers at {url} ({address}): the QUIC handshake ended, but the target let nothing be sent \
                 within 5s; its `initial_max_data` may be 0; is the target running?"
            )
        );
        server.abort();
    });
}

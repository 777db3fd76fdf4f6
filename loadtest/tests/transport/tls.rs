//! `https`: who is trusted, and what each refusal is called.

use crate::user::{BODY, alone, failed, get, ok, run, send, user};
use loadtest::transport::{ErrorKind, Exchange, HttpTransport, Network};
use loadtest_tests::{Reply, Server};
use rcgen::{CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A certificate authority of our own.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    /// What a server shows that is called `name`, with a certificate good until `year`.
    fn config(&self, name: &str, year: i32) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 1, 1);
        let certificate: CertificateDer<'static> =
            params.signed_by(&key, &self.issuer).unwrap().into();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap()
    }
}

/// Takes TLS off and passes what is left to `inner`; runs as long as the test does.
async fn front(config: ServerConfig, inner: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::task::spawn_local(async move {
        while let Ok((outer, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::task::spawn_local(async move {
                // A handshake that the client refuses is what some tests are about.
                if let Ok(mut outer) = acceptor.accept(outer).await {
                    let mut inner = TcpStream::connect(inner).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
                }
            });
        }
    });
    address
}

async fn ask(user: &mut HttpTransport) -> Exchange {
    send(user, &get("/"), BODY).await
}

#[test]
fn certificates_are_checked_against_those_that_are_trusted() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let trusted = directory.join(format!("trusted-{}.pem", std::process::id()));
    alone(
        "tls::certificates_are_checked_against_those_that_are_trusted",
        &[("SSL_CERT_FILE", trusted.as_os_str())],
        || {
            let ours = Authority::new();
            std::fs::write(std::env::var_os("SSL_CERT_FILE").unwrap(), &ours.pem).unwrap();
            let server = Server::start(|_| Reply::text("fine"));
            run(against(&ours, &server));
        },
    );
    std::fs::remove_file(trusted).unwrap_or_default();
}

async fn against(ours: &Authority, server: &Server) {
    let good = front(ours.config("127.0.0.1", 4000), server.address()).await;
    let mut user = user(&format!("https://{good}")).await;
    let first = ask(&mut user).await;
    assert!(first.phases.tls.is_some() && first.phases.connect.is_some());
    let plain = format!("GET / HTTP/1.1\r\nhost: {good}\r\n").len() as u64;
    // Counted before encryption: some headers more than this, but no handshake.
    assert!(
        (plain..plain + 100).contains(&first.sent_bytes),
        "{}",
        first.sent_bytes
    );
    assert_eq!(ok(first).body, "fine");
    let second = ask(&mut user).await;
    assert_eq!((second.phases.tls, second.phases.connect), (None, None));
    ok(second);
    assert_eq!((server.requests(), server.connections()), (2, 1));

    // By name, and with an origin that turns up only during the run.
    let named = front(ours.config("localhost", 4000), server.address()).await;
    let url = format!("https://localhost:{}/", named.port());
    ok(send(&mut user, &get(&url), BODY).await);

    let stranger = Authority::new();
    for (config, kind) in [
        (stranger.config("127.0.0.1", 4000), ErrorKind::TlsUntrusted),
        (ours.config("127.0.0.2", 4000), ErrorKind::TlsName),
        (ours.config("127.0.0.1", 2001), ErrorKind::TlsExpired),
    ] {
        let address = front(config, server.address()).await;
        let url = format!("https://{address}");
        let network = Network::prepare(Some(&url), "r").await.unwrap();
        let mut user = HttpTransport::new(Arc::new(network), 0);
        let refused = ask(&mut user).await;
        assert_eq!((refused.requests, refused.sent_bytes), (0, 0));
        assert!(refused.phases.tls.is_some());
        failed(refused, kind);
    }
    assert_eq!(server.requests(), 3);

    // A server that does not speak TLS at all.
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", plain.local_addr().unwrap());
    tokio::task::spawn_local(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        // Until the client goes away.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    failed(
        send(&mut user, &get(&url), BODY).await,
        ErrorKind::TlsProtocol,
    );
}

//! `https`: who is trusted, and what each refusal is called.

use super::user::{BODY, alone, failed, get, ok, run, send, user};
use crate::transport::{Exchange, HttpTransport, Network, NetworkError};
use loadtest_model::definition::Client;
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Authority, Front, Reply, Server, self_signed};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

async fn ask(user: &mut HttpTransport) -> Exchange {
    send(user, &get("/"), BODY).await
}

#[test]
fn certificates_are_checked_against_those_that_are_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let trusted = directory.path().join("trusted.pem");
    alone(
        "transport::tests::tls::certificates_are_checked_against_those_that_are_trusted",
        &[("SSL_CERT_FILE", trusted.as_os_str())],
        || {
            let ours = Authority::new();
            std::fs::write(std::env::var_os("SSL_CERT_FILE").unwrap(), ours.pem()).unwrap();
            let server = Server::start(|_| Reply::text("fine"));
            run(against(&ours, &server));
        },
    );
}

async fn against(ours: &Authority, server: &Server) {
    let front = Front::start(ours.server("127.0.0.1", 4000), server.address());
    let good = front.address();
    let mut user = user(&front.url()).await;
    let first = ask(&mut user).await;
    assert!(first.phases.tls.is_some() && first.phases.connect.is_some());
    let plain = format!("GET / HTTP/1.1\r\nhost: {good}\r\n").len() as u64;
    // Counted before encryption: some headers more than this, but no handshake.
    assert!(
        (plain..plain + 100).contains(&first.traffic.sent_bytes),
        "{}",
        first.traffic.sent_bytes
    );
    assert_eq!(ok(first).body, "fine");
    let second = ask(&mut user).await;
    assert_eq!((second.phases.tls, second.phases.connect), (None, None));
    ok(second);
    assert_eq!((server.requests(), server.connections()), (2, 1));

    // By name, and with an origin that turns up only during the run.
    let named = Front::start(ours.server("localhost", 4000), server.address());
    let url = format!("https://localhost:{}/", named.address().port());
    ok(send(&mut user, &get(&url), BODY).await);

    let stranger = Authority::new();
    for (config, kind) in [
        (stranger.server("127.0.0.1", 4000), ErrorKind::TlsUntrusted),
        (ours.server("127.0.0.2", 4000), ErrorKind::TlsName),
        (ours.server("127.0.0.1", 2001), ErrorKind::TlsExpired),
    ] {
        let front = Front::start(config, server.address());
        let network = Network::prepare(Some(&front.url()), "r").await.unwrap();
        let mut user = HttpTransport::new(Arc::new(network), 0);
        let refused = ask(&mut user).await;
        assert_eq!(
            (refused.traffic.requests, refused.traffic.sent_bytes),
            (0, 0)
        );
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
    let failure = failed(
        send(&mut user, &get(&url), BODY).await,
        ErrorKind::TlsProtocol,
    );
    assert!(
        failure.message.contains("is it `http://`?"),
        "{}",
        failure.message
    );
}

/// A folder with the files that scenarios name.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

async fn configured(
    url: &str,
    client: &Client,
    root: &Path,
) -> Result<HttpTransport, NetworkError> {
    let mut network = Network::prepare(Some(url), "r").await?;
    network.configure(client, root)?;
    Ok(HttpTransport::new(Arc::new(network), 0))
}

fn ca() -> Client {
    Client {
        ca: Some("ca.pem".into()),
        ..Client::DEFAULT
    }
}

#[test]
fn a_named_authority_is_trusted_also_where_the_system_trusts_nobody() {
    alone(
        "transport::tests::tls::a_named_authority_is_trusted_also_where_the_system_trusts_nobody",
        &[
            ("SSL_CERT_FILE", "/nowhere".as_ref()),
            ("SSL_CERT_DIR", "/nowhere".as_ref()),
        ],
        || {
            let ours = Authority::new();
            let folder = folder(&[("ca.pem", ours.pem())]);
            let server = Server::start(|_| Reply::text("fine"));
            let front = Front::start(ours.server("127.0.0.1", 4000), server.address());
            let other = Authority::new().server("127.0.0.1", 4000);
            let stranger = Front::start(other, server.address());
            run(async {
                let url = front.url();
                let mut user = configured(&url, &ca(), folder.path()).await.unwrap();
                ok(ask(&mut user).await);
                let url = stranger.url();
                let mut user = configured(&url, &ca(), folder.path()).await.unwrap();
                let failure = failed(ask(&mut user).await, ErrorKind::TlsUntrusted);
                assert!(failure.message.contains("ca = "), "{}", failure.message);
                let mut user = configured(&url, &Client::DEFAULT, folder.path())
                    .await
                    .unwrap();
                let failure = failed(ask(&mut user).await, ErrorKind::TlsProtocol);
                assert!(
                    failure.message.contains("SSL_CERT_FILE"),
                    "{}",
                    failure.message
                );
            });
        },
    );
}

#[test]
fn a_certificate_that_signed_itself_is_trusted_where_it_is_named() {
    let server = Server::start(|_| Reply::text("fine"));
    let (_, other) = self_signed("127.0.0.1", 4000);
    for (name, year, refusal) in [
        ("127.0.0.1", 4000, None),
        ("127.0.0.2", 4000, Some(ErrorKind::TlsName)),
        ("127.0.0.1", 2001, Some(ErrorKind::TlsExpired)),
    ] {
        let (config, pem) = self_signed(name, year);
        let front = Front::start(config, server.address());
        run(async {
            let url = front.url();
            let named = folder(&[("ca.pem", &format!("{other}{pem}"))]);
            let mut user = configured(&url, &ca(), named.path()).await.unwrap();
            match refusal {
                None => assert_eq!(ok(ask(&mut user).await).body, "fine"),
                Some(kind) => drop(failed(ask(&mut user).await, kind)),
            }
            let others = folder(&[("ca.pem", &other)]);
            let mut user = configured(&url, &ca(), others.path()).await.unwrap();
            let failure = ask(&mut user).await.result.unwrap_err();
            let words = if year == 2001 {
                "expired at 2001-01-01T00:00:00Z"
            } else {
                "that of an authority, and not trusted itself; name the certificate"
            };
            assert!(failure.message.contains(words), "{}", failure.message);
        });
    }
    assert_eq!(server.requests(), 1);
}

#[test]
fn insecure_takes_any_certificate_and_nothing_else_does() {
    let stranger = Authority::new();
    let server = Server::start(|_| Reply::text("fine"));
    let insecure = Client {
        insecure: true,
        ..Client::DEFAULT
    };
    for (name, year) in [
        ("127.0.0.1", 4000),
        ("else.test", 4000),
        ("127.0.0.1", 2001),
    ] {
        let front = Front::start(stranger.server(name, year), server.address());
        run(async {
            let mut user = configured(&front.url(), &insecure, Path::new(""))
                .await
                .unwrap();
            assert_eq!(ok(ask(&mut user).await).body, "fine");
            let url = front.url();
            let mut user = configured(&url, &Client::DEFAULT, Path::new(""))
                .await
                .unwrap();
            assert!(ask(&mut user).await.result.is_err());
        });
    }
}

#[test]
fn a_server_that_wants_to_know_the_client_is_shown_its_certificate() {
    let ours = Authority::new();
    let (certificate, key) = ours.issue("client", 4000);
    let (strange, strange_key) = Authority::new().issue("client", 4000);
    let folder = folder(&[
        ("ca.pem", ours.pem()),
        ("client.pem", &format!("{certificate}{key}")),
        ("strange.pem", &format!("{strange_key}{strange}")),
    ]);
    let server = Server::start(|_| Reply::text("fine"));
    let front = Front::start(ours.mutual("127.0.0.1"), server.address());
    let with = |identity: &'static str| Client {
        identity: Some(identity.into()),
        ..ca()
    };
    run(async {
        let url = front.url();
        let client = with("client.pem");
        let mut user = configured(&url, &client, folder.path()).await.unwrap();
        ok(ask(&mut user).await);
        for client in [ca(), with("strange.pem")] {
            let mut user = configured(&url, &client, folder.path()).await.unwrap();
            // With TLS 1.3 the refusal comes after the handshake, and may meet the request under way.
            let failure = failed(ask(&mut user).await, ErrorKind::TlsProtocol);
            assert!(
                failure.message.contains("identity = "),
                "{}",
                failure.message
            );
        }
    });
    assert_eq!(server.requests(), 1);
}

/// So do servers of gRPC, which do not send the alert of their `BoringSSL`.
#[test]
fn a_server_that_closes_in_silence_after_it_asked_who_the_client_is_is_explained() {
    let ours = Authority::new();
    let folder = folder(&[("ca.pem", ours.pem())]);
    for (config, is_explained) in [
        (ours.asking("127.0.0.1"), true),
        (ours.server("127.0.0.1", 4000), false),
    ] {
        run(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("https://{}/", listener.local_addr().unwrap());
            tokio::task::spawn_local(async move {
                let (stream, _) = listener.accept().await.unwrap();
                let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
                let mut stream = acceptor.accept(stream).await.unwrap();
                // All of the request, so that nothing is reset.
                let _ = stream.read(&mut [0; 4096]).await;
            });
            let mut user = configured(&url, &ca(), folder.path()).await.unwrap();
            let failure = failed(ask(&mut user).await, ErrorKind::ClosedFresh);
            let words = "; it had asked for a certificate of the client: `identity = ";
            assert_eq!(
                failure.message.contains(words),
                is_explained,
                "{}",
                failure.message
            );
        });
    }
}

#[test]
fn a_file_that_is_not_what_it_should_be_is_named_with_what_belongs_there() {
    let ours = Authority::new();
    let (certificate, key) = ours.issue("client", 4000);
    let (_, other_key) = ours.issue("other", 4000);
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let torn = "-----BEGIN CERTIFICATE-----\n!!!!\n";
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let folder = folder(&[
        ("empty.pem", ""),
        ("broken.pem", broken),
        ("torn.pem", torn),
        ("key.pem", &key),
        ("certificate.pem", &certificate),
        ("encrypted.pem", &format!("{certificate}{encrypted}")),
        ("mixed.pem", &format!("{certificate}{other_key}")),
        ("binary.pem", "\u{1}\u{2}\u{3}"),
    ]);
    let refusal = |client: Client| {
        run(configured("https://127.0.0.1:1", &client, folder.path()))
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    for (file, words) in [
        (
            "missing.pem",
            "no such file; put the certificates to trust there",
        ),
        (
            "empty.pem",
            "no certificate (`-----BEGIN CERTIFICATE-----`)",
        ),
        ("binary.pem", "no certificate"),
        ("key.pem", "no certificate"),
        ("broken.pem", "certificate 1 cannot be used"),
        ("torn.pem", "no PEM file"),
    ] {
        let message = refusal(Client {
            ca: Some(file.into()),
            ..Client::DEFAULT
        });
        let path = folder.path().join(file).display().to_string();
        assert!(
            message.starts_with(&format!("`ca` names {path}: ")),
            "{message}"
        );
        assert!(message.contains(words), "{message}");
    }
    for (file, words) in [
        (
            "missing.pem",
            "no such file; put the certificate of the client",
        ),
        ("empty.pem", "no certificate"),
        ("key.pem", "no certificate"),
        (
            "certificate.pem",
            "no private key (`-----BEGIN PRIVATE KEY-----`)",
        ),
        ("encrypted.pem", "is encrypted"),
        ("mixed.pem", "is not that of its first certificate"),
    ] {
        let message = refusal(Client {
            identity: Some(file.into()),
            ..Client::DEFAULT
        });
        assert!(message.starts_with("`identity` names /"), "{message}");
        assert!(message.contains(words), "{file}: {message}");
    }
}

//! The guard: what may not be tested gets not one byte, and no name is looked up during a run.

use super::user::{BODY, NOTHING, failed, get, ok, run, send, user};
use crate::transport::{HttpTransport, Network, NetworkError};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Reply, Server};
use std::sync::Arc;

#[test]
fn a_url_that_leads_elsewhere_is_blocked_before_anything_is_sent() {
    let server = Server::start(|_| Reply::text("fine"));
    let port = server.address().port();
    run(async {
        let mut user = user(&server.url()).await;
        // From here on the user knows this way of writing the address.
        ok(send(&mut user, &get(&server.url()), NOTHING).await);
        for url in [
            format!("ftp://127.0.0.1:{port}/"),
            "http://10.0.0.1/".to_owned(),
            "http://169.254.169.254/latest/meta-data".to_owned(),
            "http://0.0.0.0/".to_owned(),
            format!("http://0.0.0.0:{port}/"),
            format!("http://[::]:{port}/"),
            "http://[::ffff:10.0.0.1]/".to_owned(),
            "http://0xa.1/".to_owned(),
            "http://167772161/".to_owned(),
            "http://example.com/".to_owned(),
            "https://example.com/".to_owned(),
            "http://EXAMPLE.com./".to_owned(),
            "http://localhost.example.com/".to_owned(),
            "http://127.0.0.1.example.com/".to_owned(),
            "http://127.0.0.1.nip.io/".to_owned(),
            format!("http://localhost@example.com:{port}/"),
            format!("http://user:hunter2@127.0.0.1:{port}/"),
            "ftp://127.0.0.1/".to_owned(),
        ] {
            let exchange = send(&mut user, &get(&url), BODY).await;
            assert_eq!(
                (exchange.traffic.requests, exchange.traffic.sent_bytes),
                (0, 0),
                "{url}"
            );
            assert_eq!(exchange.phases.connect, None, "{url}");
            let failure = failed(exchange, ErrorKind::GuardBlocked);
            assert!(
                failure.message.contains("is not a permitted target"),
                "{}",
                failure.message
            );
            assert!(!failure.message.contains("hunter2"), "{}", failure.message);
        }
        // The user goes on.
        ok(send(&mut user, &get("/"), NOTHING).await);
    });
    assert_eq!((server.requests(), server.connections()), (2, 1));
}

#[test]
fn every_spelling_of_loopback_is_one_origin() {
    let server = Server::recording(|_| Reply::text("fine"));
    let port = server.address().port();
    run(async {
        let mut user = user(&server.url()).await;
        let hosts = [
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "2130706433",
            "[::ffff:127.0.0.1]",
        ];
        for host in hosts {
            ok(send(
                &mut user,
                &get(&format!("http://{host}:{port}/a?b=c")),
                BODY,
            )
            .await);
        }
        for host in ["localhost", "LOCALHOST", "localhost.", "LocalHost."] {
            ok(send(&mut user, &get(&format!("HTTP://{host}:{port}")), BODY).await);
        }
        ok(send(
            &mut user,
            &get(&format!("http://shop.localhost:{port}/")),
            BODY,
        )
        .await);
    });
    assert_eq!((server.requests(), server.connections()), (10, 3));
    let recorded = server.recorded();
    assert_eq!(
        recorded[4].header("host"),
        Some(format!("127.0.0.1:{port}").as_str())
    );
    assert_eq!(recorded[4].target, "/a?b=c");
    assert_eq!(
        recorded[8].header("host"),
        Some(format!("localhost:{port}").as_str())
    );
    assert_eq!(recorded[8].target, "/");
}

#[test]
fn the_guard_judges_the_base_url_too() {
    run(async {
        for url in [
            "http://10.1.2.3",
            "http://[::ffff:10.0.0.1]:80",
            "https://0xa.1/x",
        ] {
            let error = Network::prepare(Some(url), "r").await.unwrap_err();
            assert!(
                matches!(error, NetworkError::NotPermitted(_)),
                "{url}: {error}"
            );
            assert!(
                error.to_string().contains("load may go to this machine"),
                "{error}"
            );
            let mut network = Network::prepare(None, "r").await.unwrap();
            let error = network.admit(url).await.unwrap_err();
            assert!(
                matches!(error, NetworkError::NotPermitted(_)),
                "{url}: {error}"
            );
        }
    });
}

#[test]
fn a_name_that_was_admitted_before_the_run_is_not_looked_up_again() {
    let server = Server::start(|_| Reply::text("fine"));
    let url = format!("http://{}:{}/", own_name(), server.address().port());
    run(async {
        let unknown = Network::prepare(Some(&server.url()), "r").await.unwrap();
        let mut user = HttpTransport::new(Arc::new(unknown), 0);
        let failure = failed(
            send(&mut user, &get(&url), BODY).await,
            ErrorKind::GuardBlocked,
        );
        assert!(
            failure.message.contains("not known before the run"),
            "{}",
            failure.message
        );

        let mut network = Network::prepare(Some(&server.url()), "r").await.unwrap();
        match network.admit(&url).await {
            Ok(()) => {
                let mut user = HttpTransport::new(Arc::new(network), 0);
                ok(send(&mut user, &get(&url), BODY).await);
            }
            // Where this machine's own name is no loopback name, it has to be refused.
            Err(error) => assert!(
                matches!(
                    error,
                    NetworkError::NotPermitted(_) | NetworkError::Unresolved { .. }
                ),
                "{error}"
            ),
        }
    });
}

/// The name of this machine, which usually is in its `hosts` file.
fn own_name() -> String {
    let name = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    match name.trim() {
        "" | "localhost" => "no-such-host.invalid".to_owned(),
        name => name.to_ascii_lowercase(),
    }
}

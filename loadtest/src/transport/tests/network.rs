//! The base URL: what it may be, what is made of it, and what is said when it is wrong.

use super::user::{BODY, failed, get, ok, run, send, user};
use crate::transport::{HttpTransport, Network, NetworkError};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Reply, Server};
use std::sync::Arc;

#[test]
fn a_base_url_that_cannot_be_used_is_refused_with_the_reason() {
    run(async {
        for (url, reason) in [
            ("", "empty"),
            ("127.0.0.1:8080", "no scheme"),
            ("localhost", "no scheme"),
            ("/api", "no scheme"),
            ("ftp://127.0.0.1", "neither http nor https"),
            ("http:// 127.0.0.1", "space"),
            (" http://127.0.0.1", "space"),
            ("http://", "no host"),
            ("http:///api", "no host"),
            ("http://:8080", "no host"),
            ("http://127.0.0.1/?a=1", "query"),
            ("http://127.0.0.1/#a", "fragment"),
            ("http://me:hunter2@127.0.0.1/", "user name"),
            ("http://127.0.0.1:99999", "99999"),
            ("http://127.0.0.1:0", "`0`"),
            ("http://127.0.0.256", "not an IPv4 address"),
            ("http://a..b", "not a host name"),
            ("http://[::1", ""),
        ] {
            let error = Network::prepare(Some(url), "r").await.unwrap_err();
            assert!(
                matches!(error, NetworkError::BadUrl { .. }),
                "{url}: {error}"
            );
            let message = error.to_string();
            assert!(message.contains(reason), "{url}: {message}");
            assert!(
                message.contains("http://127.0.0.1:8080"),
                "{url}: {message}"
            );
            assert!(!message.contains("hunter2"), "{message}");
        }
    });
}

#[test]
fn a_name_that_neither_a_list_nor_the_hosts_file_has_is_not_permitted() {
    run(async {
        let error = Network::prepare(Some("http://no-such-host.invalid"), "r")
            .await
            .unwrap_err();
        assert!(matches!(error, NetworkError::NotPermitted(_)), "{error}");
        assert!(
            error.to_string().contains("no-such-host.invalid"),
            "{error}"
        );
    });
}

#[test]
fn the_path_of_the_base_comes_before_that_of_the_step() {
    let server = Server::recording(|_| Reply::text("fine"));
    run(async {
        for base in ["", "/", "/api", "/api/", "/api/v1//"] {
            let mut user = user(&format!("{}{base}", server.url())).await;
            ok(send(&mut user, &get("/users?x=1"), BODY).await);
        }
    });
    let targets: Vec<String> = server.recorded().into_iter().map(|r| r.target).collect();
    assert_eq!(
        targets,
        [
            "/users?x=1",
            "/users?x=1",
            "/api/users?x=1",
            "/api/users?x=1",
            "/api/v1/users?x=1"
        ]
    );
}

#[test]
fn the_base_url_is_told_without_its_final_slash() {
    run(async {
        let network = Network::prepare(Some("http://127.0.0.1:1/api/"), "r")
            .await
            .unwrap();
        assert_eq!(network.base_url(), Some("http://127.0.0.1:1/api"));
        let network = Network::prepare(None, "r").await.unwrap();
        assert_eq!(network.base_url(), None);
    });
}

#[test]
fn a_path_without_a_base_says_how_to_give_one() {
    run(async {
        let network = Network::prepare(None, "r").await.unwrap();
        let mut user = HttpTransport::new(Arc::new(network), 0);
        let failure = failed(
            send(&mut user, &get("/users"), BODY).await,
            ErrorKind::StepError,
        );
        assert!(failure.message.contains("`/users`"), "{}", failure.message);
        assert!(
            failure.message.contains("--base-url"),
            "{}",
            failure.message
        );
    });
}

#[test]
fn without_a_base_an_absolute_url_works() {
    let server = Server::start(|_| Reply::text("fine"));
    run(async {
        let mut network = Network::prepare(None, "r").await.unwrap();
        network
            .admit(&format!("{}/a?b=c", server.url()))
            .await
            .unwrap();
        network.reachable().await.unwrap();
        let mut user = HttpTransport::new(Arc::new(network), 3);
        for path in ["", "/", "/x?y=z"] {
            let url = format!("{}{path}", server.url());
            ok(send(&mut user, &get(&url), BODY).await);
        }
    });
    assert_eq!((server.requests(), server.connections()), (3, 1));
}

#[test]
fn a_user_keeps_a_connection_to_each_of_many_origins() {
    let servers: Vec<Server> = (0..20)
        .map(|_| Server::start(|_| Reply::text("fine")))
        .collect();
    run(async {
        let mut user = user(&servers[0].url()).await;
        for _ in 0..2 {
            for server in &servers[..10] {
                ok(send(&mut user, &get(&server.url()), BODY).await);
            }
        }
        assert!(servers[..10].iter().all(|server| server.connections() == 1));
        for server in &servers {
            ok(send(&mut user, &get(&server.url()), BODY).await);
            ok(send(&mut user, &get("/"), BODY).await);
        }
    });
    assert_eq!(servers[0].connections(), 1);
    assert_eq!(servers[19].requests(), 1);
}

#[test]
fn localhost_is_reached_whatever_family_the_server_listens_on() {
    let server = Server::start(|_| Reply::text("fine"));
    run(async {
        let url = format!("http://localhost:{}", server.address().port());
        let network = Network::prepare(Some(&url), "r").await.unwrap();
        network.reachable().await.unwrap();
        let network = Arc::new(network);
        for number in 0..4 {
            let mut user = HttpTransport::new(Arc::clone(&network), number);
            ok(send(&mut user, &get("/"), BODY).await);
        }
    });
    assert_eq!(server.requests(), 4);
}

#[test]
fn an_absent_target_is_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    run(async {
        let network = Network::prepare(Some(&url), "r").await.unwrap();
        network.reachable().await.unwrap();
        drop(listener);
        let error = network.reachable().await.unwrap_err();
        assert!(matches!(error, NetworkError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains(&url), "{error}");
        assert!(
            error.to_string().ends_with("; is the target running?"),
            "{error}"
        );
    });
}

#[test]
fn what_the_generator_lacks_is_no_question_about_the_target() {
    let error = NetworkError::Unreachable {
        url: "http://127.0.0.1:80".to_owned(),
        address: ([127, 0, 0, 1], 80).into(),
        source: std::io::ErrorKind::AddrNotAvailable.into(),
        offline: false,
    };
    assert_eq!(
        error.to_string(),
        "nothing answers at http://127.0.0.1:80 (127.0.0.1:80): address not available; this machine has no free \
         port left: keep connections alive, or use fewer users"
    );
}

//! `dns = ttl`: new connections look their host up again, and what is found then is judged anew.

use super::user::{BODY, NOTHING, failed, get, ok, run, send};
use crate::transport::{Call, HttpTransport, Network, Resolver, Transport, UnfinishedCall};
use loadtest_model::definition::{Client, Cookies, Dns, Expect};
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Reply, Server};
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An answer that is never asked for again.
const FOR_EVER: Duration = Duration::from_secs(3_600);

type Answer = Result<Vec<&'static str>, &'static str>;

/// A resolver that answers each lookup as the script says, the last answer for ever, and counts them.
fn scripted(kept: Duration, script: Vec<Answer>) -> (Resolver, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let resolver = Resolver::new(kept, move |name| {
        assert_eq!(name, "shop.test");
        let at = count.fetch_add(1, Ordering::SeqCst).min(script.len() - 1);
        let addresses = script[at].clone().map_err(io::Error::other)?;
        let parsed = addresses.iter().map(|text| text.parse().unwrap());
        Ok(parsed.collect::<Vec<IpAddr>>())
    });
    (resolver, asked)
}

/// The network of a scenario whose base is `shop.test`.
async fn network(resolver: Resolver, port: u16, dns: Dns) -> Arc<Network> {
    let base = format!("http://shop.test:{port}");
    let mut network = Network::resolving(
        resolver,
        crate::targets::Permissions::default(),
        Some(&base),
        "r",
    )
    .await
    .unwrap();
    let client = Client {
        dns,
        cookies: Cookies::Off,
        ..Client::DEFAULT
    };
    network.configure(&client, Path::new("")).unwrap();
    network.reachable().await.unwrap();
    Arc::new(network)
}

// Elsewhere one loopback address is all there is.
#[cfg(target_os = "linux")]
#[test]
fn a_new_connection_goes_where_the_name_stands_now_and_an_open_one_stays() {
    let server = Server::start(|request| match request.path.as_str() {
        "/bye" => Reply::text("bye").close(),
        _ => Reply::text("fine"),
    });
    let port = server.address().port();
    let other = Server::start_at(([127, 0, 0, 2], port).into(), |_| Reply::text("moved"));
    run(async {
        let script = vec![
            Ok(vec!["127.0.0.1"]),
            Ok(vec!["127.0.0.1"]),
            Ok(vec!["127.0.0.2"]),
        ];
        let (resolver, asked) = scripted(Duration::ZERO, script);
        let mut user = HttpTransport::new(network(resolver, port, Dns::Ttl).await, 0);
        for path in ["/", "/", "/bye"] {
            ok(send(&mut user, &get(path), NOTHING).await);
        }
        assert_eq!(
            asked.load(Ordering::SeqCst),
            2,
            "once before, once to connect"
        );
        for _ in 0..3 {
            assert_eq!(ok(send(&mut user, &get("/"), BODY).await).body, "moved");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 3);
    });
    assert_eq!((server.requests(), other.requests()), (3, 3));
    assert_eq!(other.connections(), 1);
}

#[test]
fn without_it_and_while_an_answer_is_new_nobody_asks_again() {
    let server = Server::start(|_| Reply::text("bye").close());
    let port = server.address().port();
    run(async {
        for (kept, dns) in [(Duration::ZERO, Dns::Pinned), (FOR_EVER, Dns::Ttl)] {
            let script = vec![Ok(vec!["127.0.0.1"]), Err("nobody asks twice")];
            let (resolver, asked) = scripted(kept, script);
            let mut user = HttpTransport::new(network(resolver, port, dns).await, 0);
            for _ in 0..3 {
                ok(send(&mut user, &get("/"), NOTHING).await);
            }
            assert_eq!(asked.load(Ordering::SeqCst), 1, "{dns:?}");
        }
    });
}

#[test]
fn a_name_that_comes_to_stand_for_a_foreign_address_is_blocked() {
    let server = Server::start(|_| Reply::text("bye").close());
    let port = server.address().port();
    run(async {
        let script = vec![
            Ok(vec!["127.0.0.1"]),
            Ok(vec!["127.0.0.1"]),
            // One foreign address among them is enough.
            Ok(vec!["127.0.0.1", "169.254.169.254"]),
            Ok(vec!["127.0.0.1"]),
        ];
        let (resolver, _) = scripted(Duration::ZERO, script);
        let mut user = HttpTransport::new(network(resolver, port, Dns::Ttl).await, 0);
        ok(send(&mut user, &get("/"), NOTHING).await);
        let exchange = send(&mut user, &get("/"), NOTHING).await;
        assert_eq!(exchange.traffic.requests, 0);
        let failure = failed(exchange, ErrorKind::GuardBlocked);
        let words = format!(
            "`http://shop.test:{port}` (169.254.169.254) is not a permitted target: it is a link-local"
        );
        assert!(failure.message.starts_with(&words), "{}", failure.message);
        ok(send(&mut user, &get("/"), NOTHING).await);
    });
    assert_eq!(server.requests(), 2);
}

#[test]
fn a_lookup_that_fails_is_told_by_its_kind_and_its_time_counts() {
    const SLOW: Duration = Duration::from_millis(30);
    let server = Server::start(|_| Reply::text("bye").close());
    let port = server.address().port();
    run(async {
        let asked = AtomicUsize::new(0);
        let resolver = Resolver::new(Duration::ZERO, move |_| {
            let nth = asked.fetch_add(1, Ordering::SeqCst);
            if nth > 0 {
                std::thread::sleep(SLOW);
            }
            match nth {
                1 => Err(io::Error::other("Name or service not known")),
                2 => Err(io::ErrorKind::TimedOut.into()),
                3 => Err(io::Error::other("Temporary failure in name resolution")),
                4 => Ok(Vec::new()),
                _ => Ok(vec!["127.0.0.1".parse().unwrap()]),
            }
        });
        let mut user = HttpTransport::new(network(resolver, port, Dns::Ttl).await, 0);
        for kind in [
            ErrorKind::DnsNxdomain,
            ErrorKind::DnsTimeout,
            ErrorKind::DnsUnreachable,
            ErrorKind::DnsNxdomain,
        ] {
            let exchange = send(&mut user, &get("/"), NOTHING).await;
            assert_eq!(exchange.traffic.requests, 0);
            assert!(exchange.service_time >= SLOW, "{kind}");
            assert!(exchange.phases.connect >= Some(SLOW), "{kind}");
            let failure = failed(exchange, kind);
            let words = "the host `shop.test` cannot be resolved: ";
            assert!(failure.message.starts_with(words), "{}", failure.message);
        }
        let exchange = send(&mut user, &get("/"), NOTHING).await;
        assert!(exchange.service_time >= SLOW && exchange.phases.connect >= Some(SLOW));
        ok(exchange);
    });
    assert_eq!(server.requests(), 1);
}

#[test]
fn a_lookup_blocks_nobody_serves_all_who_wait_and_ends_no_later_than_the_request() {
    let server = Server::start(|_| Reply::text("fine"));
    let port = server.address().port();
    let (answer, answers) = channel::<()>();
    let answers = Mutex::new(answers);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let resolver = Resolver::new(Duration::ZERO, move |_| {
        if count.fetch_add(1, Ordering::SeqCst) > 0 {
            answers.lock().unwrap().recv().map_err(io::Error::other)?;
        }
        Ok(vec!["127.0.0.1".parse().unwrap()])
    });
    run(async {
        let network = network(resolver, port, Dns::Ttl).await;
        let [hasty, first, second] =
            [0, 1, 2].map(|number| HttpTransport::new(Arc::clone(&network), number));
        let request = get("/");
        let unfinished = UnfinishedCall::default();
        let call = |timeout| Call {
            request: &request,
            expect: &Expect::SUCCESS,
            reads: NOTHING,
            timeout,
            redirects: 0,
            new_connection: false,
            unfinished: &unfinished,
            trace: None,
            stream: None,
            websocket: None,
            is_graphql: false,
        };
        // Nobody answers yet: this thread goes on, and the deadline holds.
        let exchange = hasty.send(call(Duration::from_millis(20))).await;
        let failure = failed(exchange, ErrorKind::TimeoutConnect);
        assert_eq!(failure.message, "no address of the host within 20ms");
        let both = async { tokio::join!(first.send(call(FOR_EVER)), second.send(call(FOR_EVER))) };
        let answered = async {
            // The one that failed lets others have a turn before it asks, and is to wait, too.
            for _ in 0..2 {
                tokio::task::yield_now().await;
            }
            answer.send(()).unwrap();
        };
        let (one, two) = tokio::join!(both, answered).0;
        ok(one);
        ok(two);
        assert_eq!(asked.load(Ordering::SeqCst), 2, "one lookup for all three");
    });
    assert_eq!(server.connections(), 2 + 1);
}

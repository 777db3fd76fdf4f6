//! gRPC: calls of a generated client over `http.grpc()`, what is measured of them, and how they fail.

mod server;

use crate::paused::on_paused_clock;
use crate::python_server::PythonServer;
use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream;
use http::{HeaderMap, HeaderName, Response};
use loadtest::card::{Card, InnerRow, StepRow};
use loadtest::prelude::*;
use loadtest::{Run, Scenario};
use loadtest_model::definition::Load;
use loadtest_tests::{Reply, Server};
use server::{
    After, BROKEN, LAST, MISSING, RawCall, SLOW, STATUSES, Shop, raw_server, raw_server_here,
    raw_tls_server,
};
use shop_proto::cart_client::CartClient;
use shop_proto::{Item, Price};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

const MS: Duration = Duration::from_millis(1);

fn run(scenario: &'static Scenario, url: &str, load: Load) -> Card {
    let run = Run::new(scenario).load(load).base_url(url);
    run.without_validity().run_blocking().unwrap()
}

/// The card of a run against a shop, both on one paused clock, and the shop once it has heard of the end.
fn run_in_shop(run: Run) -> (Card, Shop) {
    on_paused_clock(async {
        let shop = Shop::start().await;
        let run = run.base_url(&*shop.url).without_validity();
        let card = run.run_on_this_thread().await.unwrap();
        // The clock goes on when everything has happened that was to happen.
        sleep(MS).await;
        (card, shop)
    })
}

/// Step, kind, status, number and words of each failure.
fn errors(card: &Card) -> Vec<(&str, &str, Option<u16>, u64, &str)> {
    let errors = card.errors.iter();
    errors
        .map(|error| {
            (
                &*error.step,
                error.kind.name(),
                error.status,
                error.count,
                &*error.example,
            )
        })
        .collect()
}

/// Name, calls and failures of each row.
fn rows(step: &StepRow) -> Vec<(&str, u64, u64)> {
    let rows = step.inner.iter();
    rows.map(|row: &InnerRow| (&*row.name, row.requests, row.failed))
        .collect()
}

/// The messages of a row that were sent, and that came.
fn messages(row: &InnerRow) -> (u64, u64) {
    let messages = row.messages.unwrap();
    (messages.sent, messages.received)
}

fn item(product: u64, quantity: u32) -> Item {
    Item { product, quantity }
}

#[scenario(header("x-tenant", "load"))]
fn kinds() {
    #[step]
    async fn unary(http: &mut Http) -> Result<u64, Error> {
        let mut cart = CartClient::new(http.grpc());
        let total = cart.add(item(7, 3)).await?.into_inner();
        Ok(total.cents)
    }

    #[step]
    async fn client_stream(http: &mut Http) -> Result<u64, Error> {
        let items = stream::iter((1..=50).map(|quantity| item(7, quantity)));
        let total = CartClient::new(http.grpc()).add_all(items).await?;
        Ok(total.into_inner().cents)
    }

    #[step(first_event.p95 < 1s, gap.p99 < 1s)]
    async fn server_stream(http: &mut Http) -> Result<u64, Error> {
        let watched = CartClient::new(http.grpc()).watch(item(7, 5)).await?;
        let (mut prices, mut count) = (watched.into_inner(), 0);
        while prices.message().await?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    #[step]
    async fn both(http: &mut Http) -> Result<u64, Error> {
        let (sender, mut items) = tokio::sync::mpsc::channel(1);
        let items = stream::poll_fn(move |context| items.poll_recv(context));
        sender.send(item(1, 1)).await?;
        let mut prices = CartClient::new(http.grpc()).ask(items).await?.into_inner();
        let mut products = 0;
        for next in 2..=4 {
            let Price { product, .. } = prices.message().await?.ok_or("no price")?;
            products += product;
            if next < 4 {
                sender.send(item(next, 1)).await?;
            }
        }
        drop(sender);
        match prices.message().await? {
            Some(_) => Err("one price too many".into()),
            None => Ok(products),
        }
    }

    #[check]
    fn all_came(unary: &u64, client_stream: &u64, server_stream: &u64, both: &u64) -> bool {
        (*unary, *client_stream, *server_stream, *both) == (300, 127_500, 5, 6)
    }
}

#[test]
fn all_kinds_of_calls_are_rows_with_their_messages_and_their_status() {
    let (card, shop) = run_in_shop(Run::new(kinds()).load(Load::iterations(4, 2)));
    assert_eq!(errors(&card), []);
    let found: Vec<_> = card.steps.iter().map(rows).collect();
    assert_eq!(
        found,
        [
            [("shop.Cart/Add", 4, 0)],
            [("shop.Cart/AddAll", 4, 0)],
            [("shop.Cart/Watch", 4, 0)],
            [("shop.Cart/Ask", 4, 0)],
        ]
    );
    let counted: Vec<_> = card
        .steps
        .iter()
        .map(|step| messages(&step.inner[0]))
        .collect();
    assert_eq!(counted, [(4, 4), (200, 4), (4, 20), (12, 12)]);
    for step in &card.steps {
        assert_eq!(step.statuses, [(0, 4)].into(), "{}", step.name);
        assert_eq!(step.inner[0].statuses, [(0, 4)].into());
        assert!(step.sent_bytes > 0 && step.received_bytes > 0);
    }
    let streams: Vec<_> = card.steps.iter().map(|step| step.stream.as_ref()).collect();
    assert!(streams[0].is_none() && streams[1].is_none());
    let watched = streams[2].unwrap();
    assert_eq!((watched.events, watched.first_event.samples), (20, 4));
    assert_eq!(watched.gap.samples, 16);
    assert!(watched.first_event.p50.unwrap() >= 20 * MS, "{watched:?}");
    // Each user has one connection, and keeps it.
    assert_eq!(shop.connections(), 2);
    let said = |metadata: &HeaderMap, name: &str| metadata.get(name).cloned();
    for metadata in shop.metadata() {
        assert_eq!(said(&metadata, "x-tenant").unwrap(), "load");
        assert!(said(&metadata, "loadtest-run").is_some());
        let agent = said(&metadata, "user-agent").unwrap();
        assert!(agent.to_str().unwrap().starts_with("loadtest/"));
    }
}

#[scenario]
fn statuses() {
    #[step(once)]
    async fn client(http: &mut Http) -> Result<CartClient<Grpc>, Error> {
        Ok(CartClient::new(http.grpc()))
    }

    /// The status as it came.
    #[step]
    async fn ask(client: &mut CartClient<Grpc>, vu: &mut Vu) -> Result<(), Status> {
        client.add(item(STATUSES + 1 + vu.iteration(), 1)).await?;
        Ok(())
    }
}

#[test]
fn each_status_is_a_failure_of_its_own_with_its_number_and_name() {
    let (card, shop) = run_in_shop(Run::new(statuses()).load(Load::iterations(16, 1)));
    let names = [
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    ];
    let mut found = errors(&card);
    found.sort_by_key(|error| error.2);
    let words: Vec<String> = names
        .iter()
        .map(|name| format!("{name}: as asked"))
        .collect();
    let expected: Vec<_> = (1..=16)
        .zip(&words)
        .map(|(code, words)| ("ask", "grpc.status", Some(code), 1, &**words))
        .collect();
    assert_eq!(found, expected);
    let step = &card.steps[1];
    assert_eq!((step.ok, step.failed), (0, 16));
    assert_eq!(step.statuses, (1..=16).map(|code| (code, 1)).collect());
    assert_eq!(rows(step), [("shop.Cart/Add", 16, 16)]);
    assert_eq!(
        shop.connections(),
        1,
        "the client is kept, and its connection"
    );
}

#[test]
fn a_server_of_another_author_understands_and_is_understood() {
    let Some(server) = PythonServer::start("grpc_server.py", "grpc") else {
        println!("skipped: the Python module `grpc` is not installed");
        return;
    };
    let card = run(kinds(), &server.url, Load::iterations(4, 2));
    assert_eq!(errors(&card), []);
    let checked: u64 = card.steps.iter().map(|step| step.checks_passed).sum();
    assert_eq!(checked, 4);
    let counted: Vec<_> = card
        .steps
        .iter()
        .map(|step| messages(&step.inner[0]))
        .collect();
    assert_eq!(counted, [(4, 4), (200, 4), (4, 20), (12, 12)]);
    let watched = card.steps[2].stream.as_ref().unwrap();
    assert_eq!((watched.events, watched.gap.samples), (20, 16));
    assert!(watched.first_event.p50.unwrap() >= 20 * MS, "{watched:?}");

    // A server that aborts a call sends trailers alone.
    let card = run(statuses(), &server.url, Load::iterations(16, 1));
    let mut codes: Vec<_> = errors(&card)
        .into_iter()
        .map(|(_, kind, code, count, words)| (code, kind, count, words.ends_with(": as asked")))
        .collect();
    codes.sort_unstable();
    let expected: Vec<_> = (1..=16)
        .map(|code| (Some(code), "grpc.status", 1, true))
        .collect();
    assert_eq!(codes, expected);

    let card = run(many(), &server.url, Load::iterations(1, 1));
    assert_eq!(errors(&card), []);
    assert_eq!(rows(&card.steps[0]), [("shop.Cart/Add", 100, 0)]);
}

#[scenario]
fn handled() {
    /// It goes on where nothing is found.
    #[step]
    async fn look(http: &mut Http) -> Result<(), Error> {
        let found = CartClient::new(http.grpc()).add(item(MISSING, 1)).await;
        match found.map_err(|status| status.code()) {
            Err(Code::NotFound) => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }

    /// The first call fails, the one that ends later does not.
    #[step]
    async fn join(http: &mut Http) -> Result<(), Error> {
        let (mut one, mut other) = (CartClient::new(http.grpc()), CartClient::new(http.grpc()));
        let (missing, slow) = tokio::join!(one.add(item(MISSING, 1)), other.add(item(1, 0)));
        slow?;
        let missing = missing.map_err(|status| {
            let words = format!("nothing to buy: {status}");
            Error::from(
                Box::new(Wrapped { words, status }) as Box<dyn std::error::Error + Send + Sync>
            )
        });
        missing?;
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{words}")]
struct Wrapped {
    words: String,
    #[source]
    status: Status,
}

#[test]
fn a_status_fails_its_row_and_the_step_only_where_it_is_handed_on() {
    let (card, shop) = run_in_shop(Run::new(handled()).load(Load::iterations(3, 1)));
    assert_eq!(
        errors(&card),
        [(
            "join",
            "grpc.status",
            Some(5),
            3,
            "nothing to buy: NOT_FOUND: no such product: 100%"
        )]
    );
    assert_eq!(rows(&card.steps[0]), [("shop.Cart/Add", 3, 3)]);
    assert_eq!(rows(&card.steps[1]), [("shop.Cart/Add", 6, 3)]);
    assert_eq!(card.steps[1].statuses, [(0, 3), (5, 3)].into());
    assert_eq!(shop.connections(), 1);
}

#[scenario]
fn many() {
    #[step]
    async fn all(http: &mut Http) -> Result<u64, Error> {
        let calls = (0..100).map(|product| {
            let mut cart = CartClient::new(http.grpc());
            async move { cart.add(item(product, 0)).await }
        });
        let mut sum = 0;
        for answer in join_all(calls).await {
            sum += answer?.into_inner().cart;
        }
        Ok(sum)
    }
}

#[test]
fn a_hundred_calls_at_once_share_one_connection() {
    let (card, shop) = run_in_shop(Run::new(many()).load(Load::iterations(1, 1)));
    assert_eq!(errors(&card), []);
    assert_eq!(rows(&card.steps[0]), [("shop.Cart/Add", 100, 0)]);
    assert_eq!((shop.connections(), shop.most_open()), (1, 100));
}

#[scenario(http = 2, connections = 3)]
fn shared() {
    #[step]
    async fn add(http: &mut Http) -> Result<u64, Error> {
        let add = |product| {
            let mut cart = CartClient::new(http.grpc());
            async move { cart.add(item(product, 0)).await }
        };
        let mut sum = 0;
        for answer in join_all((0..3).map(add)).await {
            sum += answer?.into_inner().cart;
        }
        Ok(sum)
    }

    /// No call: the server answers it all the same.
    #[step(get = "/")]
    fn look();
}

#[test]
fn calls_and_requests_of_all_users_share_connections() {
    let (card, shop) = run_in_shop(Run::new(shared()).load(Load::iterations(40, 10)));
    assert_eq!(errors(&card), []);
    assert_eq!(rows(&card.steps[0]), [("shop.Cart/Add", 120, 0)]);
    assert_eq!(card.steps[1].ok, 40);
    assert_eq!(shop.connections(), 3);
}

#[scenario]
fn intercepted() {
    #[step]
    async fn add(http: &mut Http) -> Result<(), Error> {
        let mut cart =
            CartClient::with_interceptor(http.grpc(), |mut request: tonic::Request<()>| {
                let token = MetadataValue::from_static("of-the-interceptor");
                request.metadata_mut().insert("x-answer", token);
                Ok(request)
            });
        let answer = cart.add(item(7, 1)).await?;
        let answered = answer.metadata().get("x-answer");
        if answered.is_none_or(|answered| answered != "of-the-interceptor") {
            return Err(format!("{answered:?}").into());
        }
        Ok(())
    }

    /// The interceptor refuses: nothing is sent.
    #[step]
    async fn refuse(http: &mut Http) -> Result<(), Error> {
        let refuse = |_| Err::<tonic::Request<()>, _>(Status::unauthenticated("no token"));
        let mut cart = CartClient::with_interceptor(http.grpc(), refuse);
        cart.add(item(7, 1)).await?;
        Ok(())
    }
}

#[test]
fn an_interceptor_adds_metadata_and_what_it_refuses_is_not_sent() {
    let (card, shop) = run_in_shop(Run::new(intercepted()).load(Load::iterations(2, 1)));
    let [("refuse", "step.error", None, 2, words)] = errors(&card)[..] else {
        panic!("{:?}", errors(&card))
    };
    assert!(words.contains("no token"), "{words}");
    assert_eq!(rows(&card.steps[0]), [("shop.Cart/Add", 2, 0)]);
    assert!(card.steps[1].inner.is_empty());
    assert_eq!(shop.metadata().len(), 2);
}

#[scenario]
fn late() {
    #[step(timeout = 60ms)]
    async fn unanswered(http: &mut Http) -> Result<(), Error> {
        CartClient::new(http.grpc()).add(item(SLOW, 1)).await?;
        Ok(())
    }

    /// Its client gives it less time than the step has.
    #[step]
    async fn declared(http: &mut Http) -> Result<(), Error> {
        let mut request = tonic::Request::new(item(SLOW, 1));
        request.set_timeout(50 * MS);
        CartClient::new(http.grpc()).add(request).await?;
        Ok(())
    }

    #[step(timeout = 150ms)]
    async fn silent(http: &mut Http) -> Result<(), Error> {
        let mut cart = CartClient::new(http.grpc());
        let mut prices = cart.watch(item(SLOW, 2)).await?.into_inner();
        while prices.message().await?.is_some() {}
        Ok(())
    }

    /// It has seen enough, which is no failure.
    #[step]
    async fn left(http: &mut Http) -> Result<(), Error> {
        let mut cart = CartClient::new(http.grpc());
        let mut prices = cart.watch(item(SLOW, 2)).await?.into_inner();
        prices.message().await?;
        prices.message().await?;
        Ok(())
    }

    #[step]
    async fn gave_up(http: &mut Http) -> Result<(), Error> {
        let mut cart = CartClient::new(http.grpc());
        let _ = tokio::time::timeout(50 * MS, cart.add(item(SLOW, 1))).await;
        Ok(())
    }

    #[step]
    async fn next(http: &mut Http) -> Result<(), Error> {
        CartClient::new(http.grpc()).add(item(1, 1)).await?;
        Ok(())
    }
}

#[test]
fn a_call_ends_at_the_deadline_and_its_server_is_told() {
    let (card, shop) = run_in_shop(Run::new(late()).load(Load::iterations(2, 1)));
    // tonic answers with a status once the time is over that its client has set; whichever comes first is right.
    let late: Vec<_> = errors(&card);
    let found: Vec<_> = late.iter().map(|&(step, kind, ..)| (step, kind)).collect();
    assert!(found.contains(&("unanswered", "timeout.head")), "{late:?}");
    assert!(found.contains(&("silent", "timeout.total")), "{late:?}");
    let declared = late.iter().filter(|error| error.0 == "declared");
    assert_eq!(declared.map(|error| error.3).sum::<u64>(), 2);
    assert_eq!(card.steps[3].ok, 2);
    assert_eq!(rows(&card.steps[3]), [("shop.Cart/Watch", 2, 0)]);
    // Their client has the codes `DEADLINE_EXCEEDED` and `CANCELLED`.
    assert_eq!(card.steps[0].statuses, [(4, 2)].into());
    assert_eq!(card.steps[3].statuses, [(1, 2)].into());
    assert_eq!(card.steps[3].inner[0].statuses, [(1, 2)].into());
    let left = card.steps[3].stream.as_ref().unwrap();
    assert_eq!((left.events, left.first_event.samples), (4, 2));
    assert_eq!(rows(&card.steps[4]), [("shop.Cart/Add", 2, 2)]);
    assert_eq!(card.steps[4].ok, 2);
    assert_eq!(card.steps[5].ok, 2);
    assert_eq!(shop.connections(), 1, "only the calls have ended");
    assert_eq!(shop.given_up(), 10);
}

#[scenario]
fn unlisted() {
    #[step]
    async fn elsewhere(http: &mut Http) -> Result<(), Error> {
        let origin = "http://grpc.example.com:50051".parse()?;
        CartClient::with_origin(http.grpc(), origin)
            .add(item(1, 1))
            .await?;
        Ok(())
    }

    /// An address of this machine may always be tested.
    #[step]
    async fn here(http: &mut Http, vu: &mut Vu) -> Result<(), Error> {
        let origin = vu.origin().parse()?;
        CartClient::with_origin(http.grpc(), origin)
            .add(item(1, 1))
            .await?;
        Ok(())
    }
}

#[test]
fn a_call_to_an_unlisted_host_is_refused_before_anything_is_sent() {
    let (card, shop) = run_in_shop(Run::new(unlisted()).load(Load::iterations(2, 1)));
    let [("elsewhere", "guard.blocked", None, 2, words)] = errors(&card)[..] else {
        panic!("{:?}", errors(&card))
    };
    assert!(words.contains("grpc.example.com"), "{words}");
    assert_eq!(card.steps[1].ok, 2);
    let phases = &card.steps[0].phases;
    assert_eq!(
        (phases.connect, phases.first_byte),
        (Duration::ZERO, Duration::ZERO)
    );
    assert_eq!(card.steps[0].sent_bytes, 0);
    assert_eq!(shop.connections(), 1);
}

#[scenario]
fn last_call() {
    #[step]
    async fn add(http: &mut Http) -> Result<(), Error> {
        CartClient::new(http.grpc()).add(item(LAST, 1)).await?;
        Ok(())
    }
}

#[test]
fn a_target_ends_the_test_by_its_metadata() {
    let (card, shop) = run_in_shop(Run::new(last_call()).load(Load::iterations(50, 1)));
    assert_eq!(errors(&card), []);
    assert_eq!(card.steps[0].ok, 1);
    assert_eq!(shop.metadata().len(), 1);
}

#[scenario]
fn asks() {
    #[step(timeout = 2s)]
    async fn add(http: &mut Http) -> Result<u64, Error> {
        let total = CartClient::new(http.grpc()).add(item(7, 1)).await?;
        Ok(total.into_inner().cents)
    }
}

/// The head of an answer.
fn head(status: u16, kind: &str) -> Response<()> {
    let head = Response::builder()
        .status(status)
        .header("content-type", kind);
    head.body(()).unwrap()
}

/// A `Total` of 7 cents.
const TOTAL: &[u8] = b"\0\0\0\0\x02\x10\x07";

/// Its step gives its call less time than it has itself.
#[scenario]
fn declares() {
    #[step(timeout = 2s)]
    async fn add(http: &mut Http) -> Result<(), Error> {
        let mut request = tonic::Request::new(item(7, 1));
        request.set_timeout(50 * MS);
        CartClient::new(http.grpc()).add(request).await?;
        Ok(())
    }
}

#[test]
fn a_call_ends_at_the_deadline_that_its_client_declares_though_no_server_does_it() {
    let card = on_paused_clock(async {
        let held = Arc::new(Mutex::new(Vec::new()));
        let (url, _) = raw_server_here(move |call| {
            held.lock().unwrap().push(call.respond);
            After::Nothing
        })
        .await;
        let run = Run::new(declares()).load(Load::iterations(1, 1));
        let run = run.base_url(url).without_validity();
        run.run_on_this_thread().await.unwrap()
    });
    let words = "no head of the answer within 50ms";
    assert_eq!(errors(&card), [("add", "timeout.head", None, 1, words)]);
}

fn answer(call: RawCall) {
    let RawCall { mut respond, .. } = call;
    let mut body = respond
        .send_response(head(200, "application/grpc"), false)
        .unwrap();
    body.send_data(Bytes::from_static(TOTAL), false).unwrap();
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().unwrap());
    body.send_trailers(trailers).unwrap();
}

/// The card of so many calls, one after another, that a raw server answers by `answer`, both on one paused clock, and
/// the number of connections.
fn ask_raw_server(
    count: u64,
    answer: impl Fn(RawCall) -> After + Send + Sync + Clone + 'static,
) -> (Card, usize) {
    on_paused_clock(async {
        let (url, connections) = raw_server_here(answer).await;
        let run = Run::new(asks()).load(Load::iterations(count, 1));
        let run = run.base_url(url).without_validity();
        let card = run.run_on_this_thread().await.unwrap();
        (card, connections.load(Ordering::SeqCst))
    })
}

/// Kind, status and words of the one failure of a call that is answered so.
fn failure(
    answer: impl Fn(RawCall) + Send + Sync + Clone + 'static,
) -> (String, Option<u16>, String) {
    let (card, _) = ask_raw_server(1, move |call| {
        answer(call);
        After::Nothing
    });
    let [(_, kind, status, 1, words)] = errors(&card)[..] else {
        panic!("{:?}", errors(&card))
    };
    assert_eq!(rows(&card.steps[0]), [("shop.Cart/Add", 1, 1)]);
    (kind.to_owned(), status, words.to_owned())
}

#[test]
fn each_wrong_answer_has_its_kind() {
    // Head, then a part of the body, then the end of it without trailers.
    let untrailed = |part: &'static [u8]| {
        move |RawCall { mut respond, .. }: RawCall| {
            let mut body = respond
                .send_response(head(200, "application/grpc"), false)
                .unwrap();
            body.send_data(Bytes::from_static(part), true).unwrap();
        }
    };
    let cut = "the answer ended without the status of the call";
    assert_eq!(
        failure(untrailed(TOTAL)),
        ("body.truncated".to_owned(), None, cut.to_owned())
    );
    let within = "the answer ended within a message, and without the status of the call";
    assert_eq!(
        failure(untrailed(&TOTAL[..6])),
        ("body.truncated".to_owned(), None, within.to_owned())
    );
    let busy = failure(|RawCall { mut respond, .. }| {
        let mut body = respond
            .send_response(head(503, "text/plain"), false)
            .unwrap();
        body.send_data(Bytes::from_static(b"busy"), true).unwrap();
    });
    let words = "expected a gRPC answer, got 503 Service Unavailable";
    assert_eq!(busy, ("status".to_owned(), Some(503), words.to_owned()));
    let page = failure(|RawCall { mut respond, .. }| {
        let mut body = respond
            .send_response(head(200, "text/html"), false)
            .unwrap();
        body.send_data(Bytes::from_static(b"<p>"), true).unwrap();
    });
    let words = "the answer is not gRPC: content-type text/html";
    assert_eq!(
        page,
        ("head.malformed".to_owned(), Some(200), words.to_owned())
    );
    let reset = failure(|RawCall { mut respond, .. }| {
        let mut body = respond
            .send_response(head(200, "application/grpc"), false)
            .unwrap();
        body.send_data(Bytes::from_static(&TOTAL[..3]), false)
            .unwrap();
        tokio::spawn(async move {
            // What was sent before would be left out: the clock goes on when it has come.
            sleep(100 * MS).await;
            body.send_reset(h2::Reason::INTERNAL_ERROR);
        });
    });
    assert_eq!(reset.0, "reset.in_body", "{reset:?}");
    let before = failure(|RawCall { mut respond, .. }| {
        respond.send_reset(h2::Reason::INTERNAL_ERROR);
    });
    assert_eq!(before.0, "reset.before_head", "{before:?}");
    let refused = failure(|RawCall { mut respond, .. }| {
        let mut only = head(200, "application/grpc");
        only.headers_mut()
            .insert("grpc-status", "7".parse().unwrap());
        respond.send_response(only, true).unwrap();
    });
    assert_eq!(
        refused,
        (
            "grpc.status".to_owned(),
            Some(7),
            "PERMISSION_DENIED".to_owned()
        )
    );
}

#[test]
fn half_a_message_and_broken_details_are_failures_with_their_words() {
    // A head of a message, a part of a head, and a part of a message: each after a whole one, and alone.
    let half = "the answer ended within a message, though the status of the call is OK";
    for part in [&TOTAL[..5], &TOTAL[..2], &TOTAL[..6]] {
        for whole in [TOTAL, &[]] {
            let failed = failure(move |RawCall { mut respond, .. }: RawCall| {
                let mut body = respond
                    .send_response(head(200, "application/grpc"), false)
                    .unwrap();
                let sent = [whole, part].concat();
                body.send_data(Bytes::from(sent), false).unwrap();
                let trailers = [(HeaderName::from_static("grpc-status"), "0".parse().unwrap())];
                body.send_trailers(trailers.into_iter().collect()).unwrap();
            });
            assert_eq!(failed, ("body.truncated".to_owned(), None, half.to_owned()));
        }
    }
    // In trailers, and in an answer that is a head alone.
    for is_alone in [false, true] {
        let details = failure(move |RawCall { mut respond, .. }: RawCall| {
            let trailers: HeaderMap = [
                (HeaderName::from_static("grpc-status"), "9".parse().unwrap()),
                (
                    HeaderName::from_static("grpc-status-details-bin"),
                    "%%%".parse().unwrap(),
                ),
            ]
            .into_iter()
            .collect();
            let mut first = head(200, "application/grpc");
            if is_alone {
                first.headers_mut().extend(trailers);
                respond.send_response(first, true).unwrap();
            } else {
                let mut body = respond.send_response(first, false).unwrap();
                body.send_trailers(trailers).unwrap();
            }
        });
        let words = "FAILED_PRECONDITION: its `grpc-status-details-bin` is not Base64";
        assert_eq!(
            details,
            ("grpc.status".to_owned(), Some(9), words.to_owned())
        );
    }
}

#[test]
fn an_answer_that_the_client_cannot_read_fails_its_row_and_its_step() {
    let say = |message: &'static [u8]| {
        move |RawCall { mut respond, .. }: RawCall| {
            let mut body = respond
                .send_response(head(200, "application/grpc"), false)
                .unwrap();
            body.send_data(Bytes::from_static(message), false).unwrap();
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", "0".parse().unwrap());
            body.send_trailers(trailers).unwrap();
        }
    };
    // A field of a kind that is none, a compressed message without a compression, and no message at all.
    for (message, said) in [
        (
            &b"\0\0\0\0\x02\x0f\x07"[..],
            "failed to decode Protobuf message",
        ),
        (b"\x01\0\0\0\x02\x10\x07", "compressed"),
        (b"", "Missing response message"),
    ] {
        let (kind, status, words) = failure(say(message));
        assert_eq!((&*kind, status), ("body.decode", None), "{words}");
        assert!(
            words.starts_with("the client could not read the answer: "),
            "{words}"
        );
        assert!(words.contains(said), "{words}");
    }
}

/// Its step looks at the code of each call that fails without one of the target.
#[scenario]
fn coded() {
    #[step(timeout = 60ms)]
    async fn late(http: &mut Http) -> Result<Code, Error> {
        let added = CartClient::new(http.grpc()).add(item(SLOW, 1)).await;
        code_of(added)
    }

    #[step(timeout = 150ms)]
    async fn silent(http: &mut Http) -> Result<Code, Error> {
        let mut cart = CartClient::new(http.grpc());
        let mut prices = cart.watch(item(SLOW, 2)).await?.into_inner();
        for _ in 0..2 {
            prices.message().await?;
        }
        code_of(prices.message().await)
    }

    #[step]
    async fn unlisted(http: &mut Http) -> Result<Code, Error> {
        let origin = "http://grpc.example.com:50051".parse()?;
        code_of(
            CartClient::with_origin(http.grpc(), origin)
                .add(item(1, 1))
                .await,
        )
    }

    #[step]
    async fn unconnected(http: &mut Http) -> Result<Code, Error> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let origin = format!("http://{}", listener.local_addr()?).parse()?;
        drop(listener);
        code_of(
            CartClient::with_origin(http.grpc(), origin)
                .add(item(1, 1))
                .await,
        )
    }

    #[check]
    fn each_has_its_code(late: &Code, silent: &Code, unlisted: &Code, unconnected: &Code) -> bool {
        [*late, *silent, *unlisted, *unconnected]
            == [
                Code::DeadlineExceeded,
                Code::DeadlineExceeded,
                Code::PermissionDenied,
                Code::Unavailable,
            ]
    }
}

fn code_of<T>(result: Result<T, Status>) -> Result<Code, Error> {
    match result {
        Ok(_) => Err("it was answered".into()),
        Err(status) => Ok(status.code()),
    }
}

#[test]
fn a_client_sees_the_code_of_a_failure_and_its_row_the_kind() {
    let (card, _) = run_in_shop(Run::new(coded()).load(Load::iterations(1, 1)));
    assert_eq!(errors(&card), []);
    assert_eq!(card.steps[3].checks_passed, 1, "{card}");
    let late = || [(4, 1)].into();
    let statuses = [late(), late(), BTreeMap::new(), BTreeMap::new()];
    let rows_of_steps = ["Add", "Watch", "Add", "Add"].into_iter().zip(statuses);
    for (step, (row, statuses)) in card.steps.iter().zip(rows_of_steps) {
        assert_eq!(step.ok, 1, "{}", step.name);
        assert_eq!(rows(step), [(&*format!("shop.Cart/{row}"), 1, 1)]);
        assert_eq!(step.statuses, statuses, "{}", step.name);
    }
    let kinds = [
        "timeout.head",
        "timeout.total",
        "guard.blocked",
        "connect.refused",
    ];
    let notes = card.notes.join("\n");
    for kind in kinds.iter().filter(|kind| **kind != "guard.blocked") {
        assert!(notes.contains(kind), "{kind}: {notes}");
    }
}

#[test]
fn a_target_that_speaks_http_1_is_told_from_one_that_fails() {
    let server = Server::start(|_| Reply::text("hello"));
    let card = run(asks(), &server.url(), Load::iterations(1, 1));
    let [("add", "head.malformed", None, 1, words)] = errors(&card)[..] else {
        panic!("{:?}", errors(&card))
    };
    assert_eq!(
        words,
        "the answer is not HTTP/2, which gRPC needs: the target speaks HTTP/1.1"
    );
}

#[test]
fn a_call_that_the_target_has_not_looked_at_is_sent_again() {
    // The second call is refused at first.
    let (card, connections) = ask_raw_server(3, |call| {
        if call.number == 1 {
            let RawCall { mut respond, .. } = call;
            respond.send_reset(h2::Reason::REFUSED_STREAM);
        } else {
            answer(call);
        }
        After::Nothing
    });
    assert_eq!(errors(&card), []);
    assert_eq!(rows(&card.steps[0]), [("shop.Cart/Add", 3, 0)]);
    assert_eq!((card.steps[0].requests, card.steps[0].retries), (4, 1));
    assert_eq!(connections, 1);
}

#[test]
fn a_call_that_is_refused_for_the_sake_of_others_is_sent_until_it_gets_through() {
    // A new connection, whose first streams the target refuses.
    let (card, connections) = ask_raw_server(1, |call| {
        if call.number < 6 {
            let RawCall { mut respond, .. } = call;
            respond.send_reset(h2::Reason::REFUSED_STREAM);
        } else {
            answer(call);
        }
        After::Nothing
    });
    assert_eq!(errors(&card), []);
    assert_eq!((card.steps[0].requests, card.steps[0].retries), (7, 6));
    assert_eq!(connections, 1);
    let refused = failure(|RawCall { mut respond, .. }| {
        respond.send_reset(h2::Reason::REFUSED_STREAM);
    });
    assert_eq!(refused.0, "reset.before_head");
}

#[test]
fn a_connection_that_takes_no_more_calls_ends_those_that_it_has() {
    let (card, connections) = ask_raw_server(4, |call| {
        let is_second = call.number == 1;
        answer(call);
        if is_second {
            After::GoAway
        } else {
            After::Nothing
        }
    });
    assert_eq!(errors(&card), []);
    assert_eq!(rows(&card.steps[0]), [("shop.Cart/Add", 4, 0)]);
    assert_eq!(connections, 2);
}

#[test]
fn a_connection_that_is_closed_within_a_call_fails_it() {
    let (url, connections) = raw_server(|call| {
        if call.number == 1 {
            // Longer than the end of a connection and a call may meet, however long connecting took.
            std::thread::sleep(Duration::from_millis(400));
            return After::Close;
        }
        answer(call);
        After::Nothing
    });
    let card = run(asks(), &url, Load::iterations(3, 1));
    let [("add", kind, None, 1, _)] = errors(&card)[..] else {
        panic!("{:?}", errors(&card))
    };
    assert_eq!(kind, "closed.before_head");
    assert_eq!(card.steps[0].ok, 2);
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[scenario]
fn breaks() {
    #[step]
    async fn watch(http: &mut Http) -> Result<(), Error> {
        let mut cart = CartClient::new(http.grpc());
        let mut prices = cart.watch(item(BROKEN, 2)).await?.into_inner();
        while prices.message().await?.is_some() {}
        Ok(())
    }
}

#[test]
fn a_stream_that_ends_with_another_status_has_failed_and_counts_no_gaps() {
    let (card, _) = run_in_shop(Run::new(breaks()).load(Load::iterations(2, 1)));
    assert_eq!(
        errors(&card),
        [("watch", "grpc.status", Some(10), 2, "ABORTED: sold out")]
    );
    let stream = card.steps[0].stream.as_ref().unwrap();
    assert_eq!((stream.first_event.samples, stream.gap.samples), (2, 0));
    assert_eq!(messages(&card.steps[0].inner[0]), (2, 4));
}

#[scenario(insecure = true, http = 1)]
fn encrypted() {
    #[step]
    async fn add(http: &mut Http) -> Result<u64, Error> {
        let total = CartClient::new(http.grpc()).add(item(7, 1)).await?;
        Ok(total.into_inner().cents)
    }
}

#[test]
fn calls_go_over_http_2_within_tls_whatever_requests_do() {
    let (url, connections) = raw_tls_server(&["http/1.1", "h2"], |call| {
        answer(call);
        After::Nothing
    });
    let card = run(encrypted(), &url, Load::iterations(4, 2));
    assert_eq!(errors(&card), []);
    assert_eq!(rows(&card.steps[0]), [("shop.Cart/Add", 4, 0)]);
    assert_eq!(connections.load(Ordering::SeqCst), 2);

    let (url, _) = raw_tls_server(&["http/1.1"], |_| After::Nothing);
    let card = run(encrypted(), &url, Load::iterations(1, 1));
    let [("add", "tls.protocol", None, 1, words)] = errors(&card)[..] else {
        panic!("{:?}", errors(&card))
    };
    assert_eq!(words, "the target does not offer HTTP/2, which gRPC needs");
}

#[scenario]
fn prepared() {
    /// The cart that all users share.
    #[setup]
    async fn cart(http: &mut Http) -> Result<u64, Error> {
        let filled = CartClient::new(http.grpc()).add(item(77, 1)).await?;
        Ok(filled.into_inner().cart)
    }

    #[step]
    async fn add(cart: &u64, http: &mut Http) -> Result<(), Error> {
        let total = CartClient::new(http.grpc()).add(item(*cart, 1)).await?;
        match total.into_inner().cart {
            77 => Ok(()),
            other => Err(format!("{other}").into()),
        }
    }
}

#[test]
fn a_setup_may_call_too_and_is_not_measured() {
    let (card, shop) = run_in_shop(Run::new(prepared()).load(Load::iterations(2, 1)));
    assert_eq!(errors(&card), []);
    assert_eq!(rows(&card.steps[0]), [("shop.Cart/Add", 2, 0)]);
    assert_eq!(shop.metadata().len(), 3);
}

/// Its steps read until there is no more.
#[scenario(grace = 200ms, load = users(2, for = 1s))]
fn watching() {
    /// Five prices, and then silence.
    #[step(timeout = 1h)]
    async fn watch(http: &mut Http) -> Result<u64, Error> {
        let watched = CartClient::new(http.grpc()).watch(item(SLOW, 5)).await?;
        let (mut prices, mut count) = (watched.into_inner(), 0);
        while prices.message().await?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    #[check]
    fn all_came(watch: &u64) -> bool {
        *watch == 5
    }
}

/// A stream that ends by itself, after the load.
#[scenario(grace = 20s, load = users(1, for = 100ms))]
fn watching_on() {
    #[step]
    async fn watch(http: &mut Http) -> Result<u64, Error> {
        let watched = CartClient::new(http.grpc()).watch(item(7, 20)).await?;
        let (mut prices, mut count) = (watched.into_inner(), 0);
        while prices.message().await?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    #[check]
    fn all_came(watch: &u64) -> bool {
        *watch == 20
    }
}

#[test]
fn an_endless_stream_of_messages_ends_with_the_load_and_another_one_is_read_to_its_end() {
    let (card, shop) = run_in_shop(Run::new(watching()));
    assert_eq!(errors(&card), []);
    let step = &card.steps[0];
    assert_eq!((step.ok, card.accounts.cancelled), (2, 0));
    assert_eq!(rows(step), [("shop.Cart/Watch", 2, 0)]);
    assert_eq!(messages(&step.inner[0]), (2, 10));
    assert_eq!(shop.given_up(), 2);

    let (card, _) = run_in_shop(Run::new(watching_on()));
    assert_eq!(errors(&card), []);
    assert_eq!((card.steps[0].ok, card.accounts.cancelled), (1, 0));
    assert_eq!(messages(&card.steps[0].inner[0]), (1, 20));
}

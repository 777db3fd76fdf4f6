//! Setups and teardowns that send: data that is there before the load and gone after it.

use loadtest::Run;
use loadtest::prelude::*;
use loadtest_model::definition::Load;
use loadtest_model::failure::FailureKind;
use loadtest_tests::{Reply, Server};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

#[response]
struct Item {
    id: u64,
}

/// Its items are made before the load and deleted after it.
#[scenario(redirects = 1)]
fn with_items() {
    #[setup]
    async fn token(http: &mut Http) -> Result<String, Error> {
        let answer = http.post("/login").send().await?;
        Ok(answer.error_for_status()?.text().await?)
    }

    #[setup]
    async fn items(token: &str, http: &mut Http) -> Result<Vec<Item>, Error> {
        let mut items = Vec::new();
        for _ in 0..3 {
            let request = http.post("/items").bearer_auth(token);
            items.push(request.send().await?.json().await?);
        }
        Ok(items)
    }

    /// Does not send, but waits.
    #[setup]
    async fn count(items: &[Item]) -> usize {
        tokio::task::yield_now().await;
        items.len()
    }

    #[feed]
    fn item(items: &[Item]) -> Feed<u64> {
        Feed::iter(items.iter().map(|item| item.id).collect::<Vec<_>>())
    }

    #[step]
    fn look(item: &u64, count: &usize) -> Request {
        Request::get(format!("/items/{item}/of/{count}"))
    }

    #[teardown]
    async fn delete(items: &[Item], http: &mut Http) -> Result<(), Error> {
        for item in items {
            let answer = http.delete(format!("/items/{}", item.id)).send().await?;
            answer.error_for_status()?;
        }
        Ok(())
    }
}

#[test]
fn what_a_setup_made_is_there_for_the_load_and_deleted_by_the_teardown() {
    let log = std::sync::Arc::new(Mutex::new(Vec::new()));
    let written = std::sync::Arc::clone(&log);
    let server = Server::start(move |request| {
        let mut log = written.lock().unwrap();
        log.push(format!("{} {}", request.method, request.path));
        match (&*request.method, &*request.path) {
            ("POST", "/login") => Reply::status(303).header("location", "/token"),
            ("GET", "/token") => Reply::text("t"),
            ("POST", "/items") => match request.header("authorization") {
                Some("Bearer t") => Reply::json(format!(r#"{{"id":{}}}"#, log.len())),
                _ => Reply::status(401),
            },
            _ => Reply::status(204),
        }
    });
    let run = Run::new(with_items()).load(Load::iterations(3, 1));
    let card = run.base_url(server.url()).run_blocking().unwrap();
    assert_eq!((card.headline.ok, card.steps[0].requests), (3, 3));
    assert_eq!(
        *log.lock().unwrap(),
        [
            "POST /login",
            "GET /token",
            "POST /items",
            "POST /items",
            "POST /items",
            "GET /items/3/of/3",
            "GET /items/4/of/3",
            "GET /items/5/of/3",
            "DELETE /items/3",
            "DELETE /items/4",
            "DELETE /items/5",
        ]
    );
}

static SHOP: LazyLock<Server> = LazyLock::new(|| Server::start(|_| Reply::text("shop")));

/// Its target is that of a setup, and not the base it declares.
#[scenario(base = "http://127.0.0.1:1")]
fn own_target() {
    #[setup]
    fn server() -> Target {
        Target::external(SHOP.url())
    }

    #[setup]
    async fn greeting(http: &mut Http) -> Result<String, Error> {
        Ok(http.get("/greeting").send().await?.text().await?)
    }

    #[step]
    fn ask(greeting: &str) -> Request {
        Request::get(format!("/{greeting}"))
    }

    #[teardown]
    async fn leave(http: &mut Http) -> Result<(), Error> {
        http.post("/leave").send().await?;
        Err("and complains".into())
    }
}

#[test]
fn they_send_to_the_target_of_the_run_and_a_teardown_that_fails_costs_no_measurement() {
    let card = Run::new(own_target())
        .load(Load::iterations(2, 1))
        .run_blocking()
        .unwrap();
    assert_eq!(card.headline.ok, 2);
    assert_eq!(SHOP.requests_to("/greeting"), 1);
    assert_eq!(SHOP.requests_to("/shop"), 2);
    assert_eq!(SHOP.requests_to("/leave"), 1);
}

#[test]
fn a_setup_that_is_refused_ends_the_run_before_it_begins() {
    let server = Server::start(|_| Reply::status(401));
    let run = Run::new(with_items()).base_url(server.url());
    let error = run.run_blocking().unwrap_err();
    assert_eq!(error.kind, FailureKind::Setup);
    let words = error.to_string();
    assert!(words.starts_with("setup `token` failed: "), "{words}");
    assert!(words.contains("401"), "{words}");
    assert_eq!(server.requests(), 1);
}

#[test]
fn a_setup_that_nobody_answers_says_so() {
    let run = Run::new(with_items()).base_url("http://127.0.0.1:1");
    let words = run.run_blocking().unwrap_err().to_string();
    assert!(words.starts_with("setup `token` failed: "), "{words}");
    assert!(words.contains("refused"), "{words}");
}

static PREPARED: AtomicU32 = AtomicU32::new(0);

/// Nobody may test its target.
#[scenario(base = "http://192.0.2.1")]
fn elsewhere() {
    #[setup]
    async fn prepare(http: &mut Http) -> Result<(), Error> {
        PREPARED.fetch_add(1, Ordering::SeqCst);
        http.get("/").send().await?;
        Ok(())
    }

    #[step(get = "/")]
    fn ask();
}

#[test]
fn permission_comes_before_the_setups() {
    let error = Run::new(elsewhere()).run_blocking().unwrap_err();
    assert_eq!(error.kind, FailureKind::NotPermitted, "{error}");
    assert_eq!(PREPARED.load(Ordering::SeqCst), 0);
}

/// Its setup leaves the target that is permitted.
#[scenario]
fn strays() {
    #[setup]
    async fn stray(http: &mut Http) -> Result<(), Error> {
        http.get("http://192.0.2.1/").send().await?;
        Ok(())
    }

    #[step(get = "/")]
    fn ask();
}

#[test]
fn a_setup_sends_to_no_host_that_is_not_permitted() {
    let server = Server::start(|_| Reply::text(""));
    let run = Run::new(strays()).base_url(server.url());
    let error = run.run_blocking().unwrap_err();
    assert_eq!(error.kind, FailureKind::NotPermitted);
    assert!(error.to_string().contains("192.0.2.1"), "{error}");
    assert_eq!(server.requests(), 0);
}

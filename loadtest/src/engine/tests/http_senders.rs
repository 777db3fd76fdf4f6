//! Steps that send for themselves, from the macro to the socket.

use crate::chain::{Scenario, SetupContext};
use crate::engine::{self, Control, Workers};
use crate::prelude::*;
use crate::transport::{HttpTransport, Network};
use loadtest_model::metrics::ErrorKind;
use loadtest_model::metrics::{Frame, StepTally, Tally};
use loadtest_model::plan::{GradingDefaults, IterationCount, Overrides, Plan};
use loadtest_tests::{Reply, Server};
use std::collections::HashMap;
use std::error::Error as StdError;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[response]
struct Order {
    id: u64,
    status: String,
}

/// Runs `count` iterations of one user against `server`.
pub(super) fn run(scenario: &'static Scenario, count: u64, server: &Server) -> Tally {
    let overrides = Overrides {
        iterations: Some(IterationCount::Total(count)),
        users: Some(1),
        ..Overrides::default()
    };
    let plan = Plan::new(
        &scenario.definition,
        &overrides,
        &GradingDefaults::default(),
        7,
    )
    .unwrap();
    let prepared = (scenario.prepare)(&SetupContext::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let network = runtime.block_on(Network::prepare(Some(&server.url()), "run-7"));
    let network = Arc::new(network.unwrap());
    let mut all = Tally::default();
    engine::LoadRun {
        scenario,
        shared: &prepared.shared,
        plan: &plan,
        workers: Workers::new(1, 1).unwrap(),
        start: engine::common_start(1),
        control: &Control::new(),
        tracing: None,
        samples: None,
    }
    .run(
        move |user| HttpTransport::new(Arc::clone(&network), user),
        |frame: Frame| {
            for window in frame.windows.all() {
                all.merge(window);
            }
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    let journeys = &all.journey;
    let ended = journeys.ok + journeys.failed + journeys.cancelled;
    assert_eq!(journeys.started, ended);
    for step in &all.steps {
        assert_eq!(step.executed, step.ok + step.failed);
    }
    all
}

fn rows(step: &StepTally) -> Vec<(&str, u64, u64)> {
    let rows = step.inner.iter();
    rows.map(|row| (&*row.name, row.requests, row.failed))
        .collect()
}

fn error(step: &StepTally) -> (ErrorKind, Option<u16>, &str) {
    assert_eq!(step.errors.len(), 1, "{:?}", step.errors);
    let error = &step.errors[0];
    (error.kind, error.status, &error.example)
}

#[scenario]
fn relentless() {
    #[step]
    async fn hammer(http: &mut Http) -> Result<(), Error> {
        loop {
            let one = async { http.get("/a").send().await.is_ok() };
            let other = async { http.get("/b").send().await.is_ok() };
            tokio::join!(one, other);
        }
    }
}

#[test]
fn a_step_that_goes_on_whatever_it_is_told_ends_when_the_target_asks_for_the_end() {
    let server = Server::start(|request| match request.sequence {
        5 => Reply::text("enough").header("loadtest-stop", "1"),
        _ => Reply::text("ok"),
    });
    let all = run(relentless(), 1_000, &server);
    assert_eq!((all.journey.started, all.journey.cancelled), (1, 1));
    let step = &all.steps[0];
    assert_eq!((step.executed, step.failed, step.cancelled), (0, 0, 1));
    assert_eq!(step.requests, server.requests());
    let failed: u64 = step.inner.iter().map(|row| row.failed).sum();
    assert_eq!(failed, 0, "{:?}", step.inner);
}

#[scenario]
fn polling() {
    #[setup]
    fn patience() -> u32 {
        20
    }

    #[state]
    fn asked() -> u64 {
        0
    }

    #[step(post = "/orders", expect = 201)]
    fn buy() -> Order;

    #[step(check = |r| r.headers()["x-turn"] == "3")]
    async fn wait(
        buy: &Response<Order>,
        asked: &mut u64,
        patience: &u32,
        vu: &mut Vu,
        http: &mut Http,
    ) -> Result<Order, Error> {
        assert_eq!(buy.status(), 201);
        assert!(vu.random() < 1.0);
        for _ in 0..*patience {
            *asked += 1;
            let url = format!("/orders/{}", buy.id);
            let order: Order = http.get(url).send().await?.json().await?;
            if order.status == "done" {
                return Ok(order);
            }
            http.pause(Duration::from_millis(1)).await;
        }
        Err(Error::msg("never done"))
    }

    #[check]
    fn is_answered(wait: &Response<Order>) -> bool {
        wait.status() == 202
    }

    #[step(
        get = "/receipts/{{wait.response.id}}",
        header("x-turn", "{{wait.headers.x-turn}}")
    )]
    fn receipt();
}

#[test]
fn a_step_polls_over_the_connection_of_its_user_and_templates_have_its_answer() {
    let turns = AtomicU64::new(0);
    let server = Server::recording(move |request| match request.method.as_str() {
        "POST" => with_status("201 Created", r#"{"id":7,"status":"new"}"#, 0),
        _ if request.target.starts_with("/receipts/") => Reply::status(200),
        _ => {
            let turn = turns.fetch_add(1, Ordering::SeqCst) % 3 + 1;
            let status = if turn == 3 { "done" } else { "new" };
            let body = format!(r#"{{"id":7,"status":"{status}"}}"#);
            with_status("202 Accepted", &body, turn)
        }
    });
    let all = run(polling(), 2, &server);
    let wait = &all.steps[1];
    assert_eq!((wait.ok, wait.requests), (2, 6), "{:?}", wait.errors);
    assert_eq!((wait.checks_passed, wait.checks_failed), (4, 0));
    assert_eq!(rows(wait), [("GET /orders/{}", 6, 0)]);
    assert_eq!(wait.statuses, [(202, 6)].into());
    assert_eq!(wait.response.count(), 2);
    assert!(wait.received_bytes > 0 && wait.phases.first_byte.count() == 2);
    assert_eq!(all.journey.ok, 2);
    assert_eq!(server.requests_to("/receipts/7"), 2);
    let receipt = server.recorded().pop().unwrap();
    assert_eq!(receipt.header("x-turn"), Some("3"));
    assert_eq!(server.connections(), 1, "one connection for all steps");
}

/// An answer whose status line is not one of the ready-made ones.
fn with_status(status: &str, body: &str, turn: u64) -> Reply {
    Reply::raw(format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nx-turn: {turn}\r\n\r\n{body}",
        body.len()
    ))
}

#[scenario]
fn vocabulary() {
    #[step]
    async fn sends(http: &mut Http) -> Result<String, Error> {
        let query = [("q", "a b&c")];
        http.get("/search?x=1")
            .query(&query)
            .header("x-one", "1")
            .header("x-one", "2")
            .bearer_auth("t-1")
            .send()
            .await?;
        http.post("/json").json(&json!({ "a": [1] })).send().await?;
        let fields = HashMap::from([("name", "Ada & Co")]);
        http.put("/form").form(&fields).send().await?;
        let form = reqwest::multipart::Form::new().text("field", "value");
        http.patch("/parts").multipart(form).send().await?;
        http.delete("/text")
            .body("gone")
            .basic_auth("ada", Some("pass"))
            .send()
            .await?;
        http.head("/head").send().await?;
        http.request(http::Method::OPTIONS, "/any").send().await?;
        let last = http.get("/last").send().await?;
        let url = last.url().to_string();
        assert_eq!(last.headers()["content-type"], "application/json");
        let own = reqwest::Request::new(http::Method::GET, format!("{url}/own").parse()?);
        Ok(http.execute(own).await?.text().await?)
    }
}

#[test]
fn the_words_are_those_of_reqwest_and_the_transport_is_ours() {
    let server = Server::recording(|_| Reply::json("{}"));
    let all = run(vocabulary(), 1, &server);
    assert_eq!(all.steps[0].ok, 1, "{:?}", all.steps[0].errors);
    assert_eq!(server.connections(), 1);
    let requests = server.recorded();
    let lines: Vec<String> = requests
        .iter()
        .map(|request| format!("{} {}", request.method, request.target))
        .collect();
    assert_eq!(
        lines,
        [
            "GET /search?x=1&q=a+b%26c",
            "POST /json",
            "PUT /form",
            "PATCH /parts",
            "DELETE /text",
            "HEAD /head",
            "OPTIONS /any",
            "GET /last",
            "GET /last/own",
        ]
    );
    for request in &requests {
        assert_eq!(request.header("loadtest-run"), Some("run-7"));
        assert!(
            request
                .header("user-agent")
                .unwrap()
                .starts_with("loadtest/")
        );
        assert_eq!(request.all("accept").collect::<Vec<_>>(), ["*/*"]);
        assert_eq!(request.header("host"), Some(&*server.address().to_string()));
    }
    assert_eq!(requests[0].all("x-one").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(requests[0].header("authorization"), Some("Bearer t-1"));
    assert_eq!(requests[1].header("content-type"), Some("application/json"));
    assert_eq!(requests[1].text(), r#"{"a":[1]}"#);
    assert_eq!(requests[2].text(), "name=Ada+%26+Co");
    assert!(
        requests[3]
            .text()
            .contains("name=\"field\"\r\n\r\nvalue\r\n")
    );
    assert!(
        requests[3].header("content-length").is_some(),
        "not chunked"
    );
    assert_eq!(
        requests[4].header("authorization"),
        Some("Basic YWRhOnBhc3M=")
    );
    assert_eq!(requests[4].text(), "gone");
    let own = "GET 127.0.0.1";
    assert!(all.steps[0].inner.last().unwrap().name.starts_with(own));
}

#[scenario(redirects = 2)]
fn moved() {
    #[step]
    async fn follows(http: &mut Http) -> Result<Vec<String>, Error> {
        let direct = http.get("/end?a=1").query(&[("b", "2")]).send().await?;
        let moved = http.post("/start").body("x").send().await?;
        let urls = vec![direct.url().to_string(), moved.url().to_string()];
        moved.error_for_status()?;
        Ok(urls)
    }

    #[step(get = "{{follows.response[0]}}")]
    fn first();

    #[step(get = "{{follows.response[1]}}")]
    fn last();
}

#[test]
fn an_answer_tells_the_url_that_it_came_from() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/start" => Reply::status(302).header("location", "/between"),
        "/between" => Reply::status(302).header("location", "end?there"),
        _ => Reply::status(204),
    });
    let all = run(moved(), 1, &server);
    assert_eq!(all.steps[0].requests, 4, "{:?}", all.steps[0].errors);
    let targets = server.recorded();
    let targets: Vec<&str> = targets.iter().map(|request| &*request.target).collect();
    assert_eq!(
        targets,
        [
            "/end?a=1&b=2",
            "/start",
            "/between",
            "/end?there",
            "/end?a=1&b=2",
            "/end?there"
        ]
    );
}

/// As people write their own.
#[derive(Debug, thiserror::Error)]
enum Own {
    #[error("not sent")]
    Sending(#[from] crate::chain::HttpError),
    #[error("not taken")]
    Answer(#[from] reqwest::Error),
    #[error("sold out")]
    Out(#[from] Skip),
}

/// As `anyhow::Error` is made.
struct Lends(Box<dyn StdError + Send + Sync>);

impl<E: StdError + Send + Sync + 'static> From<E> for Lends {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl AsRef<dyn StdError + Send + Sync> for Lends {
    fn as_ref(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.0
    }
}

impl std::fmt::Display for Lends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[scenario]
fn holders() {
    #[step]
    async fn own_status(http: &mut Http) -> Result<(), Own> {
        http.get("/busy").send().await?.error_for_status()?;
        Ok(())
    }

    #[step]
    async fn lent_status(http: &mut Http) -> Result<(), Lends> {
        http.get("/busy").send().await?.error_for_status()?;
        Ok(())
    }

    #[step]
    async fn bare_status(http: &mut Http) -> Result<(), reqwest::Error> {
        let answer = http.get("/busy").send().await;
        answer.map_or(Ok(()), |answer| answer.error_for_status().map(drop))
    }

    #[step]
    async fn lent_body(http: &mut Http) -> Result<Order, Lends> {
        Ok(http.get("/none").send().await?.json().await?)
    }

    #[step]
    async fn own_sending(http: &mut Http) -> Result<(), Own> {
        http.get("/lost")
            .timeout(Duration::from_millis(50))
            .send()
            .await?;
        Ok(())
    }

    #[step]
    async fn own_skip(_http: &mut Http) -> Result<(), Own> {
        Err(Skip::because("nothing left"))?
    }

    #[step]
    async fn lent_skip(_http: &mut Http) -> Result<(), Lends> {
        Err(Own::Out(Skip::because("nothing left")))?
    }
}

#[test]
fn an_error_has_the_kind_of_what_it_holds() {
    let server = Server::start(|request| match &*request.target {
        "/busy" => Reply::status(503),
        "/lost" => Reply::hang(),
        _ => Reply::json("[]"),
    });
    let all = run(holders(), 1, &server);
    let [own, lent, bare, body, sending, skips @ ..] = all.steps.as_slice() else {
        unreachable!("seven steps");
    };
    for (step, start) in [(own, "not taken: HTTP"), (lent, "HTTP"), (bare, "HTTP")] {
        let (kind, status, example) = error(step);
        assert_eq!((kind, status), (ErrorKind::Status, Some(503)), "{example}");
        assert!(example.starts_with(start), "{example}");
    }
    assert_eq!(error(body).0, ErrorKind::BodyDecode);
    let (kind, _, example) = error(sending);
    assert_eq!(kind, ErrorKind::TimeoutHead);
    assert!(
        example.starts_with("not sent: no head of the answer"),
        "{example}"
    );
    for skip in skips {
        assert_eq!((skip.left_out, skip.failed), (1, 0), "{:?}", skip.errors);
    }
}

#[scenario]
fn mistakes() {
    #[step]
    async fn undecodable(http: &mut Http) -> Result<Order, Box<dyn std::error::Error>> {
        Ok(http.get("/secret").send().await?.json().await?)
    }

    #[step]
    async fn refused_by_status(http: &mut Http) -> Result<(), reqwest::Error> {
        let answer = http.get("/busy").send().await;
        answer.unwrap().error_for_status().map(drop)
    }

    #[step]
    async fn foreign(http: &mut Http) -> Result<(), Error> {
        http.get("http://example.com/orders?token=x").send().await?;
        Ok(())
    }

    #[step]
    async fn no_url(http: &mut Http) -> Result<(), Error> {
        http.get("orders?token=x").send().await?;
        Ok(())
    }

    #[step]
    async fn bad_header(http: &mut Http) -> Result<(), Error> {
        http.get("/").header("x-a", "line\nbreak").send().await?;
        Ok(())
    }

    #[step(timeout = 50ms)]
    async fn late(http: &mut Http) -> Result<(), Error> {
        http.get("/late").send().await?;
        Ok(())
    }

    #[step]
    async fn panics(http: &mut Http) -> Result<Vec<u64>, Error> {
        let all: Vec<u64> = http.get("/none").send().await?.json().await?;
        Ok(vec![all[3]])
    }

    #[step]
    async fn words() -> Result<(), &'static str> {
        Err("password=hunter2 was wrong")
    }

    #[step]
    async fn skips(http: &mut Http) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        http.get("/stock").send().await?;
        Err(Skip::because("the shop is empty").into())
    }

    #[step]
    async fn skips_too() -> Result<(), Error> {
        Err(Skip::because("the shop is empty"))?
    }

    #[step]
    fn after(panics: &Vec<u64>) -> Request {
        Request::get(format!("/{}", panics[0]))
    }

    #[step(get = "/alive")]
    fn alive();
}

#[test]
fn every_failure_has_its_kind_and_the_user_lives_on() {
    let server = Server::start(|request| match &*request.target {
        "/secret" => Reply::json(r#"{"id":"hunter2","status":""}"#),
        "/busy" => Reply::status(503),
        "/late" => Reply::hang(),
        "/none" => Reply::json("[]"),
        _ => Reply::status(200),
    });
    let all = run(mistakes(), 1, &server);
    let [
        undecodable,
        refused,
        foreign,
        no_url,
        bad_header,
        late,
        panics,
        words,
        skips,
        skips_too,
        after,
        alive,
    ] = all.steps.as_slice()
    else {
        unreachable!("twelve steps");
    };
    let (kind, _, example) = error(undecodable);
    assert_eq!(kind, ErrorKind::BodyDecode);
    assert!(example.contains("expected u64"), "{example}");
    assert!(!example.contains("hunter2"), "{example}");
    let (kind, status, example) = error(refused);
    assert_eq!((kind, status), (ErrorKind::Status, Some(503)));
    assert!(
        example.contains(&format!("{}/busy", server.url())),
        "{example}"
    );
    let (kind, _, example) = error(foreign);
    assert_eq!(kind, ErrorKind::GuardBlocked);
    assert!(example.contains("example.com") && !example.contains("token"));
    assert_eq!(rows(foreign), [("GET example.com/orders", 1, 1)]);
    assert_eq!(foreign.requests, 0);
    let (kind, _, example) = error(no_url);
    assert_eq!(kind, ErrorKind::StepError);
    assert_eq!(
        example,
        "URL `orders`: it starts neither with `/` nor with `http://` or `https://`"
    );
    assert!(no_url.inner.is_empty());
    assert_eq!(error(bad_header).0, ErrorKind::StepError);
    assert_eq!(error(late).0, ErrorKind::TimeoutHead);
    assert_eq!(late.response.count(), 1, "entered at its deadline");
    let (kind, _, example) = error(panics);
    assert_eq!(kind, ErrorKind::StepPanic);
    assert!(example.contains("index out of bounds"), "{example}");
    let (kind, _, example) = error(words);
    assert_eq!(kind, ErrorKind::StepError);
    assert!(!example.contains("hunter2"), "{example}");
    assert_eq!((skips.left_out, skips.executed, skips.requests), (1, 0, 1));
    assert_eq!((skips_too.left_out, skips_too.executed), (1, 0));
    assert_eq!((after.skipped, alive.ok), (1, 1));
}

#[scenario(
    header("x-client", "loadtest"),
    header("x-order", "{{buy.response.id}}"),
    bearer = "{{buy.response.status}}",
    redirects = 1
)]
fn with_headers() {
    #[step(post = "/orders")]
    fn buy() -> Order;

    #[step]
    async fn sends(buy: &Response<Order>, http: &mut Http) -> Result<(), Error> {
        http.get("/plain").send().await?;
        http.get("/own")
            .header("X-Client", "own")
            .basic_auth("ada", Some("pass"))
            .send()
            .await?;
        let elsewhere = buy.headers()["x-elsewhere"].to_str()?;
        let absolute = format!("{elsewhere}/absolute").parse()?;
        let absolute = reqwest::Request::new(http::Method::GET, absolute);
        http.execute(absolute).await?;
        http.get("/away").send().await?;
        Ok(())
    }

    #[step]
    async fn sends_again(http: &mut Http) -> Result<(), Error> {
        http.get("/again").header("x-order", "own").send().await?;
        Ok(())
    }
}

/// `x-client`, `x-order` and `authorization` of the request for `path`.
fn three_headers<'a>(requests: &'a [loadtest_tests::Request], path: &str) -> [Option<&'a str>; 3] {
    let request = requests.iter().find(|request| request.path == path);
    let request = request.unwrap_or_else(|| panic!("no request for {path}"));
    ["x-client", "x-order", "authorization"].map(|name| {
        assert!(request.all(name).count() <= 1, "{path}: {name} twice");
        request.header(name)
    })
}

#[test]
fn each_request_gets_the_headers_of_the_scenario_that_it_lacks() {
    let other = Server::recording(|_| Reply::status(200));
    let elsewhere = other.url();
    let server = Server::recording(move |request| match request.path.as_str() {
        "/orders" => {
            Reply::json(r#"{"id":7,"status":"t-1"}"#).header("x-elsewhere", elsewhere.clone())
        }
        "/away" => Reply::status(307).header("location", format!("{elsewhere}/landed")),
        _ => Reply::status(200),
    });
    let all = run(with_headers(), 1, &server);
    assert_eq!(all.journey.ok, 1, "{:?}", all.steps);
    let (here, there) = (server.recorded(), other.recorded());
    let (client, order, bearer) = (Some("loadtest"), Some("7"), Some("Bearer t-1"));
    assert_eq!(three_headers(&here, "/orders"), [client, None, None]);
    assert_eq!(three_headers(&here, "/plain"), [client, order, bearer]);
    let basic = Some("Basic YWRhOnBhc3M=");
    assert_eq!(three_headers(&here, "/own"), [Some("own"), order, basic]);
    assert_eq!(three_headers(&there, "/absolute"), [client, order, bearer]);
    assert_eq!(three_headers(&here, "/away"), [client, order, bearer]);
    assert_eq!(three_headers(&there, "/landed"), [client, order, None]);
    let again = three_headers(&here, "/again");
    assert_eq!(again, [client, Some("own"), bearer]);
}

#[test]
fn a_step_that_sends_for_itself_needs_what_the_headers_of_its_scenario_need() {
    let server = Server::start(|_| Reply::status(500));
    let all = run(with_headers(), 2, &server);
    assert_eq!(server.requests(), 2, "none but the orders");
    let skipped = all.dependencies.iter();
    let skipped: Vec<_> = skipped
        .map(|failure| (failure.step, failure.upstream, failure.count))
        .collect();
    assert_eq!(skipped, [(1, 0, 2), (2, 0, 2)]);
}

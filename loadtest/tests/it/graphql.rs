//! GraphQL: what is sent, how answers are read, and how they fail.

use loadtest::card::Card;
use loadtest::prelude::*;
use loadtest::{Run, Scenario};
use loadtest_model::definition::Load;
use loadtest_tests::{Reply, Request as Got, Server};

#[response]
struct Cart {
    cart: CartBody,
}

#[response]
struct CartBody {
    id: String,
    total: Option<f64>,
}

#[response]
struct Added {
    add: Value,
}

/// The failures of a step: kind, number and example.
fn errors(card: &Card) -> Vec<(&str, u64, &str)> {
    let errors = card.errors.iter();
    errors
        .map(|error| (error.kind.name(), error.count, &*error.example))
        .collect()
}

fn run(
    scenario: &'static Scenario,
    reply: impl Fn(&Got) -> Reply + Send + Sync + 'static,
) -> (Card, Vec<Got>) {
    let server = Server::recording(reply);
    let run = Run::new(scenario).load(Load::iterations(2, 1));
    let card = run.base_url(server.url()).run_blocking().unwrap();
    (card, server.recorded())
}

fn json_of(request: &Got) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

const CART: &str = r#"{"data": {"cart": {"id": "c\"1", "total": 7.5}}}"#;

#[scenario]
fn shop() {
    #[step(post = "/login")]
    fn login() -> Value;

    #[step(
        graphql = "query Cart($id: ID!, $first: Int = 10) { cart(id: $id, note: \"a\") { id total } # }
        }",
        variables = { "id": {{login.response.cart}} },
        bearer = "{{login.response.token}}",
        check = |answer| answer.cart.total == Some(7.5) && answer.status() == 200,
    )]
    fn cart() -> Cart;

    #[step(post = "/api/{{cart.response.cart.id}}", graphql = "{ ping }")]
    fn ping();

    #[step]
    fn add(cart: &Cart) -> Request<Graph<Added>> {
        Request::graphql("mutation Add($id: ID!) { add(cart: $id) } query Other { other }")
            .variables(&json!({ "id": cart.cart.id }))
            .operation("Add")
            .extensions(&json!({ "trace": true }))
    }

    #[step(post = "/done", json = { "added": "{{add.response.add.total}}" })]
    fn done();
}

#[test]
fn operations_are_posted_with_their_variables_and_answers_are_read_from_data() {
    let (card, got) = run(shop(), |request| match request.path.as_str() {
        "/login" => Reply::json(r#"{"cart": "c1", "token": "t"}"#),
        "/graphql" if request.body.starts_with(b"{\"query\":\"query") => Reply::json(CART),
        _ => Reply::json(r#"{"data": {"add": {"total": 8}}}"#),
    });
    assert_eq!(errors(&card), []);
    let all_ok = card.steps.iter().all(|step| step.ok == 2);
    assert!(all_ok && card.steps[1].checks_failed == 0);
    let first: Vec<_> = got[..5].iter().collect();
    assert_eq!(
        json_of(first[1]),
        json!({
            "query": "query Cart($id: ID!, $first: Int = 10) { cart(id: $id, note: \"a\") { id total } # }\n        }",
            "variables": { "id": "c1" },
        })
    );
    assert_eq!(first[1].header("content-type"), Some("application/json"));
    assert_eq!(first[1].header("authorization"), Some("Bearer t"));
    assert_eq!(
        (first[2].path.as_str(), json_of(first[2])),
        ("/api/c%221", json!({ "query": "{ ping }" }))
    );
    assert_eq!(
        json_of(first[3]),
        json!({
            "query": "mutation Add($id: ID!) { add(cart: $id) } query Other { other }",
            "variables": { "id": "c\"1" },
            "operationName": "Add",
            "extensions": { "trace": true },
        })
    );
    assert_eq!(json_of(first[4]), json!({ "added": "8" }));
    let operations: Vec<_> = card
        .steps
        .iter()
        .map(|step| step.operation.as_deref())
        .collect();
    assert_eq!(
        operations,
        [
            None,
            Some("query Cart"),
            Some("query"),
            Some("mutation Add"),
            None
        ]
    );
    let urls: Vec<_> = card
        .steps
        .iter()
        .map(|step| step.url.as_deref().unwrap())
        .collect();
    assert_eq!(
        urls,
        [
            "/login",
            "/graphql",
            "/api/{{cart.response.cart.id}}",
            "/graphql",
            "/done"
        ]
    );
}

#[scenario]
fn strict() {
    #[step(graphql = "query Cart { cart { id total } }")]
    fn cart() -> Cart;
}

#[scenario]
fn not_read() {
    #[step(graphql = "mutation Clear { clear }")]
    fn clear();
}

#[scenario]
fn built() {
    #[step]
    fn cart() -> Request<Graph<Cart>> {
        Request::graphql("query Cart { cart { id total } }")
    }
}

#[scenario]
fn partial() {
    #[step(graphql = "query Cart { cart { id total } }", partial = true)]
    fn cart() -> Graph<Cart>;

    #[step(post = "/seen", json = { "id": {{cart.response.cart.id}} })]
    fn seen();

    #[step]
    fn errors(cart: &Graph<Cart>) -> Request {
        let errors: Vec<_> = cart
            .errors()
            .iter()
            .map(|error| (error.path(), error.message()))
            .collect();
        Request::post("/errors").json(&errors)
    }
}

const BESIDE: &str = r#"{"errors": [{"message": "no price today", "path": ["cart", "total"]}, {"message": "x"}], "data": {"cart": {"id": "c1", "total": null}}}"#;
const ALONE: &str = r#"{"errors": [{"message": "no such cart", "path": ["cart"], "extensions": {"code": "GONE"}}], "data": null}"#;
const REFUSED: &str = r#"{"errors": [{"message": "Cannot query field \"cart\""}]}"#;

/// The failures where every answer has this status and this body.
fn failures_of(
    scenario: &'static Scenario,
    status: u16,
    body: &'static str,
) -> Vec<(String, u64, String)> {
    let reply = move |_: &Got| {
        let reply =
            Reply::status(status).header("content-type", "application/graphql-response+json");
        reply.body(body)
    };
    let (card, _) = run(scenario, reply);
    let owned =
        |(kind, count, example): (&str, u64, &str)| (kind.to_owned(), count, example.to_owned());
    errors(&card).into_iter().map(owned).collect()
}

#[test]
fn an_answer_with_errors_has_failed_whatever_its_status_and_data() {
    for scenario in [strict(), not_read(), built()] {
        for (status, body, example) in [
            (
                200,
                BESIDE,
                "no price today at `cart.total`, and 1 more error",
            ),
            (200, ALONE, "no such cart at `cart`"),
            (404, ALONE, "no such cart at `cart`"),
            (400, REFUSED, "Cannot query field \"cart\""),
            (
                500,
                BESIDE,
                "no price today at `cart.total`, and 1 more error",
            ),
        ] {
            let expected = [("graphql.errors".to_owned(), 2, example.to_owned())];
            assert_eq!(
                failures_of(scenario, status, body),
                expected,
                "{status} {body}"
            );
        }
    }
}

#[test]
fn an_answer_without_data_and_errors_cannot_be_read() {
    let neither = "the answer has neither `data` nor `errors`";
    for scenario in [strict(), not_read(), built()] {
        for body in ["{}", r#"{"data": null}"#, r#"{"data": null, "errors": []}"#] {
            let expected = [("body.decode".to_owned(), 2, neither.to_owned())];
            assert_eq!(failures_of(scenario, 200, body), expected, "{body}");
        }
    }
    let expected = "`data`: missing field `id` at `.cart`".to_owned();
    let body = r#"{"data": {"cart": {}}}"#;
    assert_eq!(
        failures_of(strict(), 200, body),
        [("body.decode".to_owned(), 2, expected)]
    );
}

#[test]
fn a_status_without_an_answer_of_graphql_is_a_status() {
    for body in [
        "<h1>no</h1>",
        "{}",
        r#"{"data": {"cart": null}}"#,
        r#"{"errors": ["no"]}"#,
    ] {
        let expected = "expected 2xx, got 502 Bad Gateway".to_owned();
        assert_eq!(
            failures_of(strict(), 502, body),
            [("status".to_owned(), 2, expected)],
            "{body}"
        );
    }
}

#[test]
fn errors_of_many_bytes_with_another_status_are_read_whole() {
    let body = format!(
        r#"{{"errors": [{{"message": "no such cart", "extensions": {{"stack": "{}"}}}}]}}"#,
        "x".repeat(200_000)
    );
    let body: &'static str = body.leak();
    let expected = [("graphql.errors".to_owned(), 2, "no such cart".to_owned())];
    assert_eq!(failures_of(strict(), 400, body), expected);
}

#[test]
fn partial_accepts_errors_beside_data_and_hands_both_on() {
    let (card, got) = run(partial(), |_| Reply::json(BESIDE));
    assert_eq!(errors(&card), []);
    assert_eq!(json_of(&got[1]), json!({ "id": "c1" }));
    assert_eq!(
        json_of(&got[2]),
        json!([["cart.total", "no price today"], ["", "x"]])
    );
    let counts = card.steps.iter().map(|step| step.partial_answers);
    assert_eq!(counts.collect::<Vec<_>>(), [2, 0, 0]);
    let (card, _) = run(partial(), |_| Reply::json(ALONE));
    assert_eq!(
        errors(&card),
        [("graphql.errors", 2, "no such cart at `cart`")]
    );
    // The data is no `Cart`, and the errors say why.
    let nothing = r#"{"data": {"cart": null}, "errors": [{"message": "no such cart"}]}"#;
    let (card, _) = run(partial(), move |_| Reply::json(nothing));
    let [(kind, 2, example)] = errors(&card)[..] else {
        panic!("{:?}", errors(&card))
    };
    assert_eq!(kind, "graphql.errors");
    assert!(example.starts_with("no such cart (`data`: "), "{example}");
}

#[scenario]
fn retried() {
    #[step(graphql = "{ cart { id total } }", retry(2, backoff = 1ms, on = 503))]
    fn cart() -> Value;
}

#[test]
fn a_status_is_tried_again_though_its_body_has_errors() {
    let (card, got) = run(retried(), |_| Reply::status(503).body(REFUSED));
    assert_eq!((errors(&card)[0].0, got.len()), ("graphql.errors", 6));
}

#[scenario]
fn asynchronous() {
    #[step]
    async fn ask(http: &mut Http) -> Result<String, Error> {
        let request = http.post("/graphql").bearer_auth("t");
        let document = "query Cart($id: ID!) { cart(id: $id) { id total } }";
        let cart: Graph<Cart> = request.graphql(document, &json!({ "id": 7 })).await?;
        Ok(cart.into_data().cart.id)
    }

    #[step(post = "/done", json = { "id": {{ask.response}} })]
    fn done();
}

#[scenario]
fn heedless() {
    #[step]
    async fn ask(http: &mut Http) -> Result<(), Error> {
        let request = http.post("/graphql");
        let document = "query Cart { cart { id total } }";
        drop(request.graphql::<Cart>(document, &json!({})).await);
        Ok(())
    }
}

#[test]
fn an_answer_with_errors_fails_its_row_whatever_the_step_makes_of_it() {
    let (card, _) = run(heedless(), |_| Reply::json(ALONE));
    let row = &card.steps[0].inner[0];
    assert_eq!((&*row.name, row.requests, row.failed), ("query Cart", 2, 2));
}

#[test]
fn async_steps_ask_over_http_in_rows_of_the_operation() {
    let (card, got) = run(asynchronous(), |_| Reply::json(CART));
    assert_eq!(errors(&card), []);
    assert_eq!(
        json_of(&got[0]),
        json!({ "query": "query Cart($id: ID!) { cart(id: $id) { id total } }", "variables": { "id": 7 } })
    );
    assert_eq!(json_of(&got[1]), json!({ "id": "c\"1" }));
    let rows: Vec<_> = card.steps[0].inner.iter().map(|row| &*row.name).collect();
    assert_eq!(rows, ["query Cart"]);
    for (status, body, expected) in [
        (200, ALONE, ("graphql.errors", "no such cart at `cart`")),
        (
            400,
            REFUSED,
            ("graphql.errors", "Cannot query field \"cart\""),
        ),
        (
            200,
            "{}",
            ("body.decode", "the answer has neither `data` nor `errors`"),
        ),
    ] {
        let failures = failures_of(asynchronous(), status, body);
        let (kind, count, example) = &failures[0];
        assert_eq!((&**kind, &**example), expected);
        assert_eq!(*count, 2);
    }
    assert_eq!(
        failures_of(asynchronous(), 502, "<h1>no</h1>")[0].0,
        "status"
    );
}

#[response]
struct Price {
    price: f64,
}

/// A subscription as a stream of events.
#[scenario]
fn prices() {
    #[step(graphql = "subscription Prices { price }")]
    fn declared() -> Events<Graph<Price>>;

    #[step]
    async fn followed(http: &mut Http) -> Result<f64, Error> {
        let request = http.get("/graphql/stream").name("prices");
        let mut events = request.events::<Graph<Price>>().await?;
        let mut last = 0.0;
        while let Some(event) = events.next().await? {
            last = event.price;
        }
        Ok(last)
    }
}

#[test]
fn errors_within_an_event_are_those_of_graphql() {
    let [declared, _] = &prices().definition.steps[..] else {
        panic!("two steps")
    };
    assert_eq!(declared.operation(), Some("subscription Prices"));
    let stream = |second: &'static str| {
        run(prices(), move |_| {
            let reply = Reply::status(200).header("content-type", "text/event-stream");
            let event = |data: &str| format!("event: next\ndata: {data}\n\n");
            let first = event(r#"{"data": {"price": 7.5}}"#);
            reply.body(first + &event(second))
        })
        .0
    };
    // The event `complete` of the protocol is the end, and no answer.
    for end in ["", "\n\nevent: complete\ndata:"] {
        let second = format!("{}{end}", r#"{"data": {"price": 8}}"#).leak();
        let card = stream(second);
        assert_eq!(errors(&card), []);
        let events = [&card.steps[0].stream, &card.steps[1].inner[0].stream];
        let events = events.map(|stream| stream.as_ref().unwrap().events);
        assert_eq!(events, [4, 4]);
    }
    let card = stream(r#"{"data": {"price": 8}}"#);
    let rows = |card: &Card| {
        let row = &card.steps[1].inner[0];
        (row.name.clone(), row.requests, row.failed)
    };
    assert_eq!(rows(&card), ("prices".to_owned(), 2, 0));

    let card = stream(r#"{"errors": [{"message": "closed", "path": ["price"]}], "data": null}"#);
    assert_eq!(
        errors(&card),
        [
            ("graphql.errors", 2, "event 2: closed at `price`"),
            ("graphql.errors", 2, "closed at `price`"),
        ]
    );
    assert_eq!(rows(&card), ("prices".to_owned(), 2, 2));

    let card = stream("{}");
    assert_eq!(
        errors(&card),
        [
            (
                "body.decode",
                2,
                "event 2: the answer has neither `data` nor `errors`"
            ),
            (
                "body.decode",
                2,
                "the answer has neither `data` nor `errors`"
            ),
        ]
    );
}

/// The same by a request of its own.
#[scenario]
fn built_prices() {
    #[step]
    fn built() -> Request<Events<Graph<Price>>> {
        Request::post("/graphql/stream").json(&json!({ "query": "subscription { price }" }))
    }
}

#[test]
fn a_subscription_asks_for_events_alone_and_fails_with_the_errors_that_refuse_it() {
    for (scenario, count) in [(prices(), 2), (built_prices(), 1)] {
        for status in [200, 400] {
            let (card, got) = run(scenario, move |_| {
                let reply = Reply::status(status).header("content-type", "application/json");
                reply.body(REFUSED)
            });
            let refused = ("graphql.errors", 2, "Cannot query field \"cart\"");
            assert_eq!(errors(&card), vec![refused; count], "{status}");
            let accepts = |request: &Got| request.header("accept") == Some("text/event-stream");
            assert!(got.iter().all(accepts), "{got:?}");
        }
    }
    let (card, _) = run(built_prices(), |_| {
        let reply = Reply::status(200).header("content-type", "text/event-stream");
        reply.body("event: next\ndata: {\"data\": {\"price\": 7.5}}\n\nevent: complete\ndata:\n\n")
    });
    assert_eq!(errors(&card), []);
    assert_eq!(card.steps[0].stream.as_ref().unwrap().events, 2);
}

/// Asks by GET: built, in an async step and declared.
#[scenario]
fn by_get() {
    #[step]
    fn built() -> Request<Graph<Cart>> {
        Request::graphql("query Cart($id: ID!) { cart(id: $id) { id total } }")
            .by_get()
            .variables(&json!({ "id": "a&b" }))
            .extensions(&json!({ "persisted": true }))
            .url("/api?v=1")
    }

    #[step]
    async fn sent(http: &mut Http) -> Result<(), Error> {
        let document = "query Cart($id: ID!) { cart(id: $id) { id total } }";
        let request = http.get("/graphql");
        let _cart: Graph<Cart> = request.graphql(document, &json!({ "id": 7 })).await?;
        Ok(())
    }

    #[step(
        get = "/api?v=1",
        graphql = "query Cart($id: ID!) { cart(id: $id) { id total } }",
        variables = { "id": {{built.response.cart.id}} },
    )]
    fn declared() -> Cart;
}

#[test]
fn operations_by_get_are_parameters_of_the_url() {
    let (card, got) = run(by_get(), |_| Reply::json(CART));
    assert_eq!(errors(&card), []);
    let document =
        "query=query+Cart%28%24id%3A+ID%21%29+%7B+cart%28id%3A+%24id%29+%7B+id+total+%7D+%7D";
    let expected = [
        format!(
            "/api?v=1&extensions=%7B%22persisted%22%3Atrue%7D&{document}&variables=%7B%22id%22%3A%22a%26b%22%7D"
        ),
        format!("/graphql?{document}&variables=%7B%22id%22%3A7%7D"),
        format!("/api?v=1&{document}&variables=%7B%22id%22%3A%22c%5C%221%22%7D"),
    ];
    assert_eq!(got.len(), 2 * expected.len(), "two iterations");
    for (request, target) in got.iter().zip(expected) {
        assert_eq!((&*request.method, &*request.target), ("GET", &*target));
        assert_eq!(
            (request.body.len(), request.header("content-type")),
            (0, None)
        );
    }
    let step = &card.steps[0];
    let shown = (
        step.method.as_deref(),
        step.url.as_deref(),
        step.operation.as_deref(),
    );
    assert_eq!(shown, (Some("GET"), Some("/api?v=1"), Some("query Cart")));
    assert_eq!(card.steps[1].inner[0].name, "query Cart");
}

#[scenario]
fn batch() {
    #[step]
    async fn start(http: &mut Http) -> Result<usize, Error> {
        let operations = [
            (
                "query Cart($id: ID!) { cart(id: $id) { id total } }",
                json!({ "id": 7 }),
            ),
            ("{ cart { id total } }", json!({})),
        ];
        let request = http.post("/graphql").name("start page");
        let carts: Vec<Graph<Cart>> = request.graphql_batch(operations).await?;
        Ok(carts
            .iter()
            .filter(|answer| answer.cart.total.is_some())
            .count())
    }

    #[step(post = "/done", json = { "found": {{start.response}} })]
    fn done();
}

#[test]
fn a_batch_is_one_request_with_an_answer_for_each_operation() {
    let (card, got) = run(batch(), |_| Reply::json(format!("[{CART}, {CART}]")));
    assert_eq!(errors(&card), []);
    assert_eq!(
        json_of(&got[0]),
        json!([
            { "query": "query Cart($id: ID!) { cart(id: $id) { id total } }", "variables": { "id": 7 } },
            { "query": "{ cart { id total } }", "variables": {} },
        ])
    );
    assert_eq!(json_of(&got[1]), json!({ "found": 2 }));
    let (card, _) = run(batch(), |_| Reply::json(format!("[{CART}, {ALONE}]")));
    assert_eq!(
        errors(&card),
        [("graphql.errors", 2, "no such cart at `cart`")]
    );
    let row = &card.steps[0].inner[0];
    assert_eq!((&*row.name, row.requests, row.failed), ("start page", 2, 2));
}

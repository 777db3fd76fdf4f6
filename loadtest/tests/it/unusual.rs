#![deny(warnings, missing_docs, clippy::pedantic, clippy::nursery)]
#![forbid(unsafe_code)]
//! Scenarios of unusual shapes and names; generated code raises no lint in any of them.

use crate::script::{Event, User, ok};
use loadtest::prelude::*;

/// Untyped JSON inside of typed responses, with names that are words of Rust or of other languages.
#[scenario]
fn untyped_within_typed() {
    #[response]
    struct Answer {
        any: Value,
        maybe: Option<Value>,
        list: Vec<Value>,
        #[serde(rename = "plainText")]
        plain: Option<String>,
    }

    #[step(get = "/")]
    fn ask() -> Answer;

    #[step(get = "/{{ask.response.any.user.id}}/{{ask.response.any.list[1].type}}")]
    fn deep();

    #[step(post = "/", json = { "a": {{ask.response.maybe.userId}}, "b": {{ask.response.list[0].x}} })]
    fn more();

    #[step(get = "/{{ask.response.any.user['id']}}/{{ask.response.plain}}")]
    fn keys();

    #[step(get = "/{{ask.response.any.user.missing.id}}")]
    fn missing();
}

/// Names that the prelude, the generated code and the language use themselves.
#[scenario]
fn names_of_others() {
    #[step(get = "/")]
    fn r#match() -> Value;

    #[step(get = "/{{match.response.a}}")]
    fn request() -> Value;

    #[step]
    fn response(request: &Value) -> Request<Value> {
        Request::get(format!("/{}", request["b"]))
    }

    #[step]
    fn json(response: &Value) -> Request<Value> {
        Request::get(format!("/{}", response["b"]))
    }

    #[step]
    fn value(json: &Value, response: &Response<Value>) -> Request {
        Request::get(format!("/{}{}", json["a"], response["b"]))
    }

    #[step(get = "/{{response.response.a}}{{response.headers.x-id}}")]
    fn slot();

    #[step]
    fn a_step_whose_name_is_so_long_that_no_table_of_any_terminal_shows_it_in_full_and_yet_it_works_as_any_other(
        r#match: &Value,
    ) -> Request {
        Request::get(format!("/{}", r#match["a"]))
    }

    #[step(get = "/gr%C3%B6%C3%9Fe", name = "größe")]
    fn größe_über() -> Value;

    #[step]
    #[expect(
        unused_variables,
        reason = "lints can be expected of a step as of any function"
    )]
    fn 名前(größe_über: &Value) -> Request {
        let unused = 1;
        Request::get("/name")
    }
}

/// Everything that generates code: "quotes", `{braces}`, {{double ones}} and \backslashes\.
#[scenario(
    name = "all of it",
    tags = ["every kind"],
    base = "http://localhost",
    load = rate(2/s, ramp_up = 1s, for = 2s),
    thresholds(p95 < 300ms, errors < 1%),
    apdex = 300ms,
    budget = 0.5%,
)]
fn every_kind() {
    use std::collections::BTreeMap as Map;

    const SHARE: f64 = 1.0;

    /// A type of its own.
    #[derive(Debug, Default)]
    struct Basket {
        items: Map<u64, String>,
    }

    impl Basket {
        fn add(&mut self, id: u64) -> usize {
            self.items.insert(id, id.to_string());
            self.items.len()
        }
    }

    #[response]
    struct Product {
        id: u64,
        name: Option<String>,
    }

    #[setup]
    fn seed() -> Result<u64, String> {
        Ok(7)
    }

    #[state]
    fn basket(vu: &Vu, seed: &u64) -> Basket {
        let mut basket = Basket::default();
        basket.add(vu.id() + *seed);
        basket
    }

    /// A step with a "doc comment" of {braces}.
    #[step(
        get = "/products/1?q=a",
        header("x-a", "b"),
        bearer = "t",
        expect = 200 | 304,
        think = 1ms..2ms,
        timeout = 1s,
        weight = SHARE,
        p99 < 1s,
        apdex = 1s,
        budget = 1%,
        grade_weight = 2,
        check = |product| product.id > 0,
    )]
    fn product() -> Product;

    #[step(post = "/cart", json = { "id": {{product.response.id}}, "n": "{{product.response.name}}", "x": [1, null] })]
    fn cart() -> Vec<Value>;

    #[step]
    fn order(
        product: &Response<Product>,
        cart: Option<&Vec<Value>>,
        basket: &mut Basket,
    ) -> Option<Request<Value>> {
        let count = basket.add(product.id);
        Some(Request::post(format!("/orders/{count}")).json(&json!({ "cart": cart? })))
    }

    #[step]
    fn again(order: &Value, vu: &mut Vu) -> Result<Request, String> {
        let id = order["id"].as_u64().ok_or("no id")?;
        Ok(Request::get(format!("/orders/{id}?r={}", vu.random())))
    }

    #[check]
    fn is_ordered(order: &Value, basket: &Basket) -> Result<(), String> {
        if order.is_object() && !basket.items.is_empty() {
            Ok(())
        } else {
            Err("no object".to_owned())
        }
    }

    #[teardown]
    fn clean(seed: &u64) {
        assert_eq!(*seed, 7);
    }
}

mod first {
    /// Scenarios of one name in two modules are two scenarios.
    #[loadtest::prelude::scenario]
    pub(super) fn health() {
        #[loadtest::prelude::step(get = "/first")]
        fn health();
    }
}

mod second {
    pub(super) mod within {
        #[loadtest::prelude::scenario]
        pub(in super::super) fn health() {
            #[loadtest::prelude::step(get = "/second")]
            fn health();
        }
    }
}

#[test]
fn paths_go_on_through_untyped_fields() {
    let mut user = User::new(untyped_within_typed());
    let events = user.iterate(&[], |_| {
        ok(
            r#"{"any":{"user":{"id":5},"list":[0,{"type":"x"}]},"maybe":{"userId":6},
               "list":[{"x":[7]}],"plainText":"p"}"#,
        )
    });
    assert_eq!(user.sent[1].line, "GET /5/x");
    assert_eq!(user.sent[2].body, r#"{"a":6,"b":[7]}"#);
    assert_eq!(user.sent[3].line, "GET /5/p");
    let variable = "ask.response.any.user.missing.id";
    assert_eq!(
        events[4],
        Event::Unmet(
            "missing",
            loadtest::__private::Unmet::Missing { step: 0, variable }
        )
    );
}

#[test]
fn a_step_may_have_the_name_of_anything() {
    let mut user = User::new(names_of_others());
    let events = user.iterate(&[], |_| ok(r#"{"a":1,"b":2}"#));
    let lines: Vec<&str> = user.sent.iter().map(|sent| sent.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "GET /",
            "GET /1",
            "GET /2",
            "GET /2",
            "GET /12",
            "GET /1",
            "GET /gr%C3%B6%C3%9Fe",
            "GET /name"
        ],
        "{events:?}"
    );
}

#[test]
fn every_kind_of_generated_code_runs() {
    let scenario = every_kind();
    assert_eq!(
        scenario.definition.description,
        r#"Everything that generates code: "quotes", `{braces}`, {{double ones}} and \backslashes\."#
    );
    let mut user = User::new(scenario);
    let events = user.iterate(&[], |line| match line {
        "POST /cart" => ok("[1]"),
        _ => ok(r#"{"id":3,"name":"n"}"#),
    });
    assert_eq!(events.len(), 6, "{events:?}");
    assert_eq!(user.sent[1].body, r#"{"id":3,"n":"n","x":[1,null]}"#);
    assert_eq!(user.sent[2].line, "POST /orders/2");
}

#[test]
fn modules_keep_scenarios_of_one_name_apart() {
    let registry = loadtest::__private::Registry::collect();
    let health: Vec<_> = registry
        .scenarios
        .iter()
        .map(|scenario| scenario.definition.test_name())
        .filter(|name| name.starts_with("unusual::") && name.ends_with("health"))
        .collect();
    assert_eq!(
        health,
        ["unusual::first::health", "unusual::second::within::health"]
    );
    assert_ne!(
        first::health().definition.steps[0].url,
        second::within::health().definition.steps[0].url
    );
}

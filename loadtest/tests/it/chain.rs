//! What the chain of a scenario does at run time.

use crate::script::{Event, User, ok};
use loadtest::__private::{RequestBuf, SetupContext, Unmet};
use loadtest::prelude::*;
use loadtest_model::definition::{Dependency, Reads, StepDef};
use loadtest_model::metrics::{Cause, RootCause};
use std::sync::atomic::{AtomicUsize, Ordering};

#[response]
struct Login {
    token: String,
    user: Option<Profile>,
}
#[response]
struct Profile {
    id: u64,
    name: String,
}
#[response]
struct Catalog {
    items: Vec<Product>,
}
#[response]
struct Product {
    id: u64,
}
#[response]
struct Order {
    id: u64,
}

/// A shopper's
/// visit.
#[scenario]
fn checkout() {
    #[state]
    fn cart(vu: &Vu) -> Vec<u64> {
        vec![vu.id()]
    }

    #[setup]
    fn currency() -> String {
        "EUR".to_owned()
    }

    /// Logs in.
    #[step]
    fn login() -> Request<Login> {
        Request::post("/login").json(&json!({ "user": "ada" }))
    }

    #[step(think = 500ms..2s)]
    fn browse(login: &Login, currency: &String) -> Request<Catalog> {
        Request::get(format!("/products?in={currency}")).bearer_auth(&login.token)
    }

    #[check]
    fn has_products(browse: &Response<Catalog>) -> Result<(), String> {
        match browse.items.len() {
            0 => Err(format!("{}: an empty catalog", browse.status())),
            _ => Ok(()),
        }
    }

    #[check]
    fn has_much(login: &Login, browse: &Catalog, cart: &mut Vec<u64>) -> bool {
        let _ = login;
        !cart.is_empty() && browse.items[0].id > 0
    }

    #[step(weight = 0.2, expect = 201 | 202, p99 < 1s)]
    fn buy(
        login: &Response<Login>,
        browse: &Catalog,
        cart: &mut Vec<u64>,
    ) -> Option<Request<Order>> {
        let product = browse.items.first()?;
        cart.push(product.id);
        Some(
            Request::post("/orders")
                .header("x-session", login.headers().get("x-session")?)
                .json(&json!({ "cart": cart })),
        )
    }

    #[step]
    fn home(buy: Option<&Order>) -> Request {
        match buy {
            Some(order) => Request::get(format!("/?ordered={}", order.id)),
            None => Request::get("/"),
        }
    }

    #[step]
    fn receipt(buy: &Order) -> Result<Request<Value>, String> {
        if buy.id == 13 {
            return Err("unlucky".to_owned());
        }
        Ok(Request::get(format!("/receipts/{}", buy.id)))
    }
}

/// A response with a header.
fn with_header(
    name: &'static str,
    value: &'static str,
    body: &'static str,
) -> Option<http::Response<Bytes>> {
    let mut response = ok(body)?;
    response
        .headers_mut()
        .insert(name, http::HeaderValue::from_static(value));
    Some(response)
}

fn shop(line: &str) -> Option<http::Response<Bytes>> {
    match line {
        "POST /login" => with_header("x-session", "s1", r#"{"token":"t","user":null}"#),
        "GET /products?in=EUR" => ok(r#"{"items":[{"id":7}]}"#),
        "POST /orders" => ok(r#"{"id":9}"#),
        _ => ok("{}"),
    }
}

fn unmet_upstream(step: usize, variable: &'static str, root: RootCause, at: usize) -> Unmet {
    Unmet::Upstream {
        step,
        variable,
        cause: Cause { root, step: at },
    }
}

#[test]
fn a_journey_passes_its_values_on() {
    let mut user = User::new(checkout());
    let events = user.iterate(&[], shop);
    assert_eq!(
        events,
        [
            Event::Ok("login"),
            Event::Ok("browse"),
            Event::Check("has_products", Ok(())),
            Event::Check("has_much", Ok(())),
            Event::Ok("buy"),
            Event::Ok("home"),
            Event::Ok("receipt"),
        ]
    );
    let sent = &user.sent;
    assert_eq!(sent[0].body, r#"{"user":"ada"}"#);
    assert_eq!(sent[0].headers, ["content-type: application/json"]);
    assert_eq!(sent[1].headers, ["authorization: Bearer t"]);
    assert_eq!(sent[2].body, r#"{"cart":[3,7]}"#);
    assert_eq!(sent[2].headers[0], "x-session: s1");
    assert_eq!(sent[3].line, "GET /?ordered=9");
}

#[test]
fn state_lives_on_and_slots_do_not() {
    let mut user = User::new(checkout());
    user.iterate(&[], shop);
    user.iterate(&[], shop);
    assert_eq!(user.sent[7].body, r#"{"cart":[3,7,7]}"#);
    let events = user.iterate(&["login"], shop);
    assert_eq!(
        events[1],
        Event::Unmet("browse", unmet_upstream(0, "login", RootCause::NotDrawn, 0))
    );
}

#[test]
fn a_new_iteration_begins_with_empty_slots() {
    let prepared = (checkout().prepare)(&SetupContext::default()).unwrap();
    let mut vu = Vu::new(0, 0);
    let mut chain = (checkout().chain)(&prepared.shared, &mut vu);
    let mut request = RequestBuf::default();
    let not_drawn = Err(unmet_upstream(0, "login", RootCause::NotDrawn, 0));
    chain.begin(&mut vu);
    assert_eq!(chain.build(1, &mut vu, &mut request), not_drawn);
    let answer = shop("POST /login").unwrap();
    chain.finish(0, answer.into()).unwrap();
    assert_eq!(chain.build(1, &mut vu, &mut request), Ok(()));
    chain.begin(&mut vu);
    assert_eq!(chain.build(1, &mut vu, &mut request), not_drawn);
}

#[test]
fn a_failed_step_is_the_root_of_all_skips_below() {
    let mut user = User::new(checkout());
    let events = user.iterate(&[], |line| {
        if line == "POST /login" {
            None
        } else {
            shop(line)
        }
    });
    assert_eq!(
        events,
        [
            Event::Failed("login", "no answer".to_owned()),
            Event::Unmet("browse", unmet_upstream(0, "login", RootCause::Failed, 0)),
            Event::Unmet("buy", unmet_upstream(0, "login", RootCause::Failed, 0)),
            Event::Ok("home"),
            Event::Unmet("receipt", unmet_upstream(2, "buy", RootCause::Failed, 0)),
        ]
    );
    assert_eq!(user.sent[1].line, "GET /");
}

#[test]
fn a_weight_skip_is_no_failure_of_anybody() {
    let mut user = User::new(checkout());
    let events = user.iterate(&["buy"], shop);
    assert_eq!(events[5], Event::Ok("home"));
    assert_eq!(
        events[6],
        Event::Unmet("receipt", unmet_upstream(2, "buy", RootCause::NotDrawn, 2))
    );
}

#[test]
fn none_and_err_decline() {
    let mut user = User::new(checkout());
    let events = user.iterate(&[], |line| match line {
        "GET /products?in=EUR" => ok(r#"{"items":[]}"#),
        _ => shop(line),
    });
    let reason = "the step returned `None`".to_owned();
    assert!(events.contains(&Event::Unmet("buy", Unmet::Declined { reason })));
    assert!(events.contains(&Event::Unmet(
        "receipt",
        unmet_upstream(2, "buy", RootCause::Declined, 2)
    )));

    let events = user.iterate(&[], |line| match line {
        "POST /orders" => ok(r#"{"id":13}"#),
        _ => shop(line),
    });
    let reason = "unlucky".to_owned();
    assert_eq!(
        events[6],
        Event::Unmet("receipt", Unmet::Declined { reason })
    );
}

#[test]
fn a_check_fails_with_its_words_and_a_panic_is_a_failed_check() {
    let mut user = User::new(checkout());
    let events = user.iterate(&[], |line| match line {
        "GET /products?in=EUR" => ok(r#"{"items":[]}"#),
        _ => shop(line),
    });
    assert_eq!(
        events[2],
        Event::Check("has_products", Err("200 OK: an empty catalog".to_owned()))
    );
    let Event::Check("has_much", Err(message)) = &events[3] else {
        panic!("{events:?}")
    };
    assert!(
        message.starts_with("panicked: index out of bounds"),
        "{message}"
    );
}

#[test]
fn a_check_without_its_inputs_does_not_run() {
    let mut user = User::new(checkout());
    let events = user.iterate(&["browse"], shop);
    assert!(
        !events.iter().any(|event| matches!(event, Event::Check(..))),
        "{events:?}"
    );
}

#[test]
fn a_body_that_does_not_decode_fails_the_step() {
    let mut user = User::new(checkout());
    let events = user.iterate(&[], |line| match line {
        "POST /login" => ok(""),
        "GET /products?in=EUR" => ok("{"),
        _ => shop(line),
    });
    assert_eq!(
        events[0],
        Event::Failed("login", "the body is empty".to_owned())
    );
    let events = user.iterate(&[], |line| match line {
        "POST /login" => ok(r#"{"user":null}"#),
        _ => shop(line),
    });
    let Event::Failed("login", reason) = &events[0] else {
        panic!("{events:?}")
    };
    assert!(reason.starts_with("missing field `token`"), "{reason}");
}

/// Every kind of template.
#[scenario]
fn templates() {
    #[step(post = "/login", json = { "user": "ada", "n": [1, -2.5, true, null], "rust": (1 + 1) })]
    fn login() -> Login;

    #[step(
        get = "/products?for={{login.response.user.id}}&name={{login.response.user.name}}",
        bearer = "{{step1.response.token}}"
    )]
    fn browse() -> Catalog;

    #[step(
        post = "/orders/{{login.response.user.name}}",
        header("x-session", "{{step1.headers.x-session}}"),
        header("content-type", "application/vnd.shop+json"),
        json = { "product": {{browse.response.items[0].id}}, "note": "for \"{{login.response.user.name}}\"" },
        check = |r| r.status() == 200,
        check = |r| r["id"].is_number(),
    )]
    fn order() -> Value;

    #[step(
        get = "/orders/{{order.response.id}}/{{order.response.lines[1].sku}}?k={{order.response['a b']}}"
    )]
    fn show();

    #[step(get = "{{order.headers.location}}")]
    fn follow();

    #[step(get = "http://other.test:8080/{{login.response.user.id}}")]
    fn elsewhere();

    #[step(head = "https://other.test/fixed?a=b")]
    fn fixed();

    #[step(post = "/copy", json = {{order.response.lines}})]
    fn copy();
}

const ADA: &str = r#"{"token":"t","user":{"id":7,"name":"a \"b\" & /ü"}}"#;

fn templates_server(line: &str) -> Option<http::Response<Bytes>> {
    match line {
        "POST /login" => with_header("x-session", "s 1", ADA),
        line if line.starts_with("GET /products") => ok(r#"{"items":[{"id":41}]}"#),
        line if line.starts_with("POST /orders") => with_header(
            "location",
            "/orders/5?x=1&y=%20",
            r#"{"id":5,"lines":[null,{"sku":"s/1 2"}],"a b":true}"#,
        ),
        _ => ok("ignored"),
    }
}

#[test]
fn values_are_encoded_for_the_place_they_go_to() {
    let mut user = User::new(templates());
    let events = user.iterate(&[], templates_server);
    let verdicts: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Check(name, verdict) => Some((*name, verdict.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(
        verdicts,
        [
            ("|r| r.status() == 200", Ok(())),
            ("|r| r[\"id\"].is_number()", Ok(()))
        ]
    );
    let sent = &user.sent;
    assert_eq!(
        sent[0].body,
        r#"{"user":"ada","n":[1,-2.5,true,null],"rust":2}"#
    );
    assert_eq!(
        sent[1].line,
        "GET /products?for=7&name=a%20%22b%22%20%26%20/%C3%BC"
    );
    assert_eq!(sent[1].headers, ["authorization: Bearer t"]);
    assert_eq!(sent[2].line, "POST /orders/a%20%22b%22%20%26%20/%C3%BC");
    assert_eq!(
        sent[2].headers,
        ["x-session: s 1", "content-type: application/vnd.shop+json"]
    );
    assert_eq!(
        sent[2].body,
        r#"{"product":41,"note":"for \"a \"b\" & /ü\""}"#.replace(r#"a "b""#, r#"a \"b\""#)
    );
    assert_eq!(sent[3].line, "GET /orders/5/s/1%202?k=true");
    assert_eq!(sent[4].line, "GET /orders/5?x=1&y=%20");
    assert_eq!(sent[5].line, "GET http://other.test:8080/7");
    assert_eq!(sent[6].line, "HEAD https://other.test/fixed?a=b");
    assert_eq!(sent[7].body, r#"[null,{"sku":"s/1 2"}]"#);
}

#[test]
fn a_template_at_the_start_may_be_an_absolute_url() {
    let mut user = User::new(templates());
    user.iterate(&[], |line| {
        if line.starts_with("POST /orders") {
            with_header("location", "https://other.test/a?b=c%2F", r#"{"id":5}"#)
        } else {
            templates_server(line)
        }
    });
    assert_eq!(user.sent[3].line, "GET https://other.test/a?b=c%2F");
}

#[test]
fn what_is_missing_null_or_past_the_end_is_named() {
    let mut user = User::new(templates());
    let events = user.iterate(&[], |line| match line {
        "POST /login" => ok(r#"{"token":"t","user":null}"#),
        _ => templates_server(line),
    });
    let missing = |step, variable| Unmet::Missing { step, variable };
    assert_eq!(
        events,
        [
            Event::Ok("login"),
            Event::Unmet("browse", missing(0, "login.response.user.id")),
            Event::Unmet("order", missing(0, "login.response.user.name")),
            Event::Unmet(
                "show",
                unmet_upstream(2, "order.response.id", RootCause::Missing, 0)
            ),
            Event::Unmet(
                "follow",
                unmet_upstream(2, "order.headers.location", RootCause::Missing, 0)
            ),
            Event::Unmet("elsewhere", missing(0, "login.response.user.id")),
            Event::Ok("fixed"),
            Event::Unmet(
                "copy",
                unmet_upstream(2, "order.response.lines", RootCause::Missing, 0)
            ),
        ]
    );
    for (lines, variable) in [
        (r#"{"id":null,"lines":[]}"#, "order.response.id"),
        (r#"{"id":1,"lines":[0]}"#, "order.response.lines[1].sku"),
        (
            r#"{"id":1,"lines":[0,{"sku":null}]}"#,
            "order.response.lines[1].sku",
        ),
        (r#"{"id":1,"lines":[0,{"sku":2}]}"#, "order.response['a b']"),
    ] {
        let events = user.iterate(&[], |line| {
            if line.starts_with("POST /orders") {
                ok(lines)
            } else {
                templates_server(line)
            }
        });
        let show = Event::Unmet("show", missing(2, variable));
        assert!(events.contains(&show), "{lines}: {events:?}");
        let follow = Event::Unmet("follow", missing(2, "order.headers.location"));
        assert!(events.contains(&follow), "{events:?}");
    }
    let events = user.iterate(&[], |line| {
        if line.starts_with("GET /products") {
            ok(r#"{"items":[]}"#)
        } else {
            templates_server(line)
        }
    });
    let order = Event::Unmet("order", missing(1, "browse.response.items[0].id"));
    assert!(events.contains(&order), "{events:?}");
}

#[scenario]
fn cookies() {
    #[step(get = "/")]
    fn home();
    #[step(post = "/orders", header("x-csrf", "{{home.cookies.csrf}}"), json = { "page": "{{home.cookies['p.q']}}" })]
    fn order();
    #[step]
    fn cancel(home: &Response) -> Result<Request, Error> {
        Ok(Request::delete("/orders").header("x-csrf", home.cookie("csrf")?))
    }
}

#[test]
fn cookies_of_an_answer_are_values_of_it() {
    let mut user = User::new(cookies());
    user.iterate(&[], |line| match line {
        "GET /" => {
            let mut answer = with_header("set-cookie", "csrf=a1; Path=/", "")?;
            let more = http::HeaderValue::from_static("p.q=7; HttpOnly");
            answer.headers_mut().append("set-cookie", more);
            Some(answer)
        }
        _ => ok(""),
    });
    assert_eq!(
        (&*user.sent[1].headers[0], &*user.sent[1].body),
        ("x-csrf: a1", r#"{"page":"7"}"#)
    );
    assert_eq!(user.sent[2].headers, ["x-csrf: a1"]);
    let events = user.iterate(&[], |_| ok(""));
    let missing = Unmet::Missing {
        step: 0,
        variable: "home.cookies.csrf",
    };
    assert_eq!(events[1], Event::Unmet("order", missing));
    assert_eq!(user.sent.len(), 3 + 1, "nothing is sent without it");
}

#[test]
fn a_header_that_is_there_but_no_text_is_not_missing() {
    let mut user = User::new(templates());
    let events = user.iterate(&[], |line| {
        let mut response = templates_server(line)?;
        if let Some(session) = response.headers_mut().get_mut("x-session") {
            *session = http::HeaderValue::from_bytes(b"\xff").unwrap();
        }
        Some(response)
    });
    let reason = "`step1.headers.x-session` is not text".to_owned();
    let order = Event::Unmet("order", Unmet::Invalid { reason });
    assert!(events.contains(&order), "{events:?}");
}

#[test]
fn a_value_cannot_lead_to_another_path() {
    let mut user = User::new(templates());
    let events = user.iterate(&[], |line| match line {
        "POST /login" => ok(r#"{"token":"t","user":{"id":7,"name":"../admin"}}"#),
        _ => templates_server(line),
    });
    assert_eq!(user.sent[1].line, "GET /products?for=7&name=../admin");
    let reason = "URL `/orders/../admin`: a value makes `..` a segment, which leads elsewhere";
    let reason = reason.to_owned();
    let order = Event::Unmet("order", Unmet::Invalid { reason });
    assert!(events.contains(&order), "{events:?}");
}

/// What cannot be sent.
#[scenario]
fn invalid() {
    #[step(get = "/")]
    fn start() -> Value;

    #[step]
    fn url(start: &Value) -> Request {
        Request::get(format!("/{}", start["path"].as_str().unwrap_or_default()))
    }

    #[step]
    fn relative() -> Request {
        Request::get("orders?token=s3cret")
    }

    #[step]
    fn name() -> Request {
        Request::get("/").header("bad\nname", "x")
    }

    #[step]
    fn value() -> Request {
        Request::get("/").header("x", "a\nb")
    }

    #[step(get = "/", header("x", "{{start.response.path}}"))]
    fn template();

    #[step(get = "{{start.response.path}}")]
    fn whole();

    #[step]
    fn body() -> Request {
        let by_pair: std::collections::HashMap<(u8, u8), u8> = [((1, 2), 3)].into();
        Request::post("/").json(&by_pair)
    }
}

#[test]
fn what_cannot_be_sent_is_invalid_and_says_why() {
    let mut user = User::new(invalid());
    let events = user.iterate(&[], |_| ok(r#"{"path":"a b\nc"}"#));
    let mut reasons = events[1..].iter().map(|event| match event {
        Event::Unmet(_, Unmet::Invalid { reason }) => reason.as_str(),
        other => panic!("{other:?}"),
    });
    let mut next = || reasons.next().unwrap();
    assert_eq!(next(), "URL `/a b\\nc`: invalid uri character");
    assert_eq!(
        next(),
        "URL `orders`: it starts neither with `/` nor with `http://` or `https://`"
    );
    assert_eq!(
        next(),
        "header `bad\\nname`: a name consists of letters, digits and signs such as `-` and `_`, without \
         spaces"
    );
    assert_eq!(
        next(),
        "header `x`: its value has a character that no header can hold, such as a line break"
    );
    assert_eq!(
        next(),
        "header `x`: its value has a character that no header can hold, such as a line break"
    );
    assert_eq!(
        next(),
        "URL `a b\\nc`: it starts neither with `/` nor with `http://` or `https://`"
    );
    assert_eq!(
        next(),
        "the body cannot be written as JSON: key must be a string"
    );
}

#[test]
fn nothing_of_a_request_stays_for_the_next() {
    let mut user = User::new(templates());
    user.iterate(&[], templates_server);
    assert_eq!(user.sent[3].headers, Vec::<String>::new());
    assert_eq!(user.sent[3].body, "");
}

/// A request with everything.
#[scenario]
fn builder() {
    #[step]
    fn all() -> Request {
        let mut more = http::HeaderMap::new();
        more.insert("x-a", http::HeaderValue::from_static("2"));
        Request::new(http::Method::OPTIONS, "/all")
            .header("x-a", "1")
            .header(http::header::ACCEPT, http::HeaderValue::from_static("a/b"))
            .headers(more)
            .basic_auth("ada", Some("pw"))
            .json(&1)
            .header("content-type", "text/x")
            .timeout(std::time::Duration::from_secs(1))
    }

    #[step]
    fn text() -> Request {
        Request::put("/text").json(&1).body("plain")
    }
}

#[test]
fn a_request_is_built_as_with_reqwest() {
    let mut user = User::new(builder());
    user.iterate(&[], |_| ok(""));
    assert_eq!(user.sent[0].line, "OPTIONS /all");
    assert_eq!(
        user.sent[0].headers,
        [
            "accept: a/b",
            "x-a: 2",
            "authorization: Basic YWRhOnB3",
            "content-type: text/x"
        ]
    );
    assert_eq!(user.sent[0].body, "1");
    assert_eq!(
        (user.sent[1].headers.len(), &*user.sent[1].body),
        (0, "plain")
    );
}

#[response]
struct Links {
    next: String,
    all: Vec<std::borrow::Cow<'static, str>>,
}

/// URLs that belong to an earlier answer.
#[scenario]
fn lent_urls() {
    #[step(get = "/")]
    fn links() -> Links;

    #[step]
    fn reference(links: &Links) -> Request {
        Request::get(&links.next)
    }

    #[step]
    fn text(links: &Links) -> Request {
        let url = links.next.trim_end_matches('2');
        Request::get(url).query(&[("page", 3)])
    }

    #[step]
    fn cow(links: &Links) -> Option<Request> {
        Some(Request::new(http::Method::PUT, links.all.first()?))
    }
}

#[test]
fn a_url_may_be_lent_by_an_earlier_answer() {
    let mut user = User::new(lent_urls());
    let answer = r#"{"next":"/items?of=2","all":["http://127.0.0.1:1/x"]}"#;
    user.iterate(&[], |_| ok(answer));
    let lines: Vec<&str> = user.sent.iter().map(|sent| &*sent.line).collect();
    let expected = [
        "GET /",
        "GET /items?of=2",
        "GET /items?of=&page=3",
        "PUT http://127.0.0.1:1/x",
    ];
    assert_eq!(lines, expected);
}

fn step_of(scenario: &'static loadtest::Scenario, name: &str) -> &'static StepDef {
    let mut steps = scenario.definition.steps.iter();
    steps.find(|step| step.name == name).expect("there is one")
}

#[test]
fn the_definition_says_what_is_used() {
    let dependency = |step, optional| Dependency { step, optional };
    let buy = step_of(checkout(), "buy");
    assert_eq!(
        *buy.dependencies,
        [dependency(0, false), dependency(1, false)]
    );
    assert_eq!(
        *step_of(checkout(), "home").dependencies,
        [dependency(2, true)]
    );
    assert_eq!(
        *step_of(templates(), "order").dependencies,
        [dependency(0, false), dependency(1, false)]
    );
    assert_eq!(step_of(checkout(), "login").description, "Logs in.");
    assert_eq!(checkout().definition.description, "A shopper's\nvisit.");
}

#[test]
fn only_what_somebody_looks_at_is_kept() {
    let reads = |scenario, step| step_of(scenario, step).reads;
    let (body, headers) = (true, true);
    assert_eq!(reads(checkout(), "login"), Reads { body, headers });
    assert_eq!(reads(checkout(), "browse"), Reads { body, headers });
    assert_eq!(
        reads(checkout(), "buy"),
        Reads {
            body,
            headers: false
        }
    );
    assert_eq!(
        reads(checkout(), "home"),
        Reads {
            body: false,
            headers: false
        }
    );
    assert_eq!(reads(templates(), "login"), Reads { body, headers });
    assert_eq!(
        reads(templates(), "browse"),
        Reads {
            body,
            headers: false
        }
    );
    assert_eq!(reads(templates(), "order"), Reads { body, headers });
}

#[test]
fn method_and_url_are_shown_where_the_source_does() {
    let shown = |scenario, step| {
        let step = step_of(scenario, step);
        (step.method.as_deref(), step.url.as_deref())
    };
    assert_eq!(
        shown(checkout(), "browse"),
        (Some("GET"), Some("/products?in={currency}"))
    );
    assert_eq!(shown(checkout(), "home"), (None, None));
    assert_eq!(
        shown(templates(), "follow"),
        (Some("GET"), Some("{{order.headers.location}}"))
    );
}

static LOG: AtomicUsize = AtomicUsize::new(0);

/// Setups and teardowns.
#[scenario]
fn prepared() {
    #[setup]
    fn server() -> Result<Target, String> {
        LOG.fetch_add(1, Ordering::Relaxed);
        Ok(Target::external("http://127.0.0.1:1".to_owned()))
    }

    #[setup]
    fn account(server: &Target) -> Result<String, std::num::ParseIntError> {
        let number: u64 = server
            .url()
            .trim_start_matches("http://127.0.0.1:")
            .parse()?;
        assert!(number != 13, "unlucky");
        Ok(format!("account-{number}"))
    }

    #[teardown]
    fn remove(account: &String) {
        assert!(!account.is_empty());
        LOG.fetch_add(100, Ordering::Relaxed);
    }

    #[step]
    fn read(account: &String, server: &Target) -> Request {
        Request::get(format!("{}/{account}", server.url()))
    }
}

#[test]
fn setups_run_once_in_order_unless_the_target_comes_from_outside() {
    assert!(prepared().definition.starts_target);
    let mut user = User::new(prepared());
    assert_eq!(LOG.load(Ordering::Relaxed), 1);
    user.iterate(&[], |_| ok(""));
    assert_eq!(user.sent[0].line, "GET http://127.0.0.1:1/account-1");

    let outside = |url: &str| {
        let mut context = SetupContext::default();
        context.base_url = Some(url.to_owned());
        (prepared().prepare)(&context)
    };
    let left = outside("http://127.0.0.1:7").unwrap();
    assert!(left.target.is_none());
    assert_eq!(LOG.load(Ordering::Relaxed), 1);
    (prepared().teardown)(&left.shared, &SetupContext::default()).unwrap();
    assert_eq!(LOG.load(Ordering::Relaxed), 101);

    let error = outside("http://127.0.0.1:x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "setup `account` failed: invalid digit found in string"
    );
    let error = outside("http://127.0.0.1:13").unwrap_err();
    assert_eq!(
        error.to_string(),
        "setup `account` failed: panicked: unlucky"
    );
}

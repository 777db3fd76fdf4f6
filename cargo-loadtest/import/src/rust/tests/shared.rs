//! What stands at the scenario, and what at its steps.

use super::rich::{exchange, header, reference};
use super::{made, written};
use crate::recording::{Answer, Credentials, Exchange, Key, Origin, Recording};

const MARKER: &str = "ltm0e";

fn with(mut exchange: Exchange, name: &str, value: &str) -> Exchange {
    exchange.headers.push(header(name, value));
    exchange
}

/// A page, a login, and these requests, the token of the login being a value of its answer.
fn session(after: impl IntoIterator<Item = Exchange>) -> String {
    let mut login = exchange("POST", "/login", 200);
    login.answer = Some(Answer {
        status: 200,
        headers: Vec::new(),
        body: br#"{"token":"t"}"#.to_vec(),
        is_example: false,
    });
    let from = Origin::Body {
        exchange: 1,
        path: vec![Key::Field("token".to_owned())],
    };
    let mut exchanges = vec![exchange("GET", "/", 200), login];
    exchanges.extend(after);
    let recording = Recording {
        exchanges,
        references: vec![reference(from, false)],
        ..Recording::default()
    };
    made(&recording).source
}

fn asked(target: &str) -> Exchange {
    let token = format!("Bearer {MARKER}");
    with(exchange("GET", target, 200), "Authorization", &token)
}

const BEARER: &str = "bearer = \"{{login.response.token}}\"";

#[test]
fn the_token_of_all_that_follows_is_told_once() {
    let source = session([asked("/a"), asked("/b"), asked("/c")]);
    assert_eq!(source.matches(BEARER).count(), 1, "{source}");
    let begin = source.find("#[scenario(").unwrap();
    let end = source.find("fn get_root").unwrap();
    assert!(source[begin..end].contains(BEARER), "{source}");
    assert!(
        source.contains("#[step(get = \"/c\", expect = 200)]"),
        "{source}"
    );
}

#[test]
fn no_step_gets_a_header_that_was_not_recorded() {
    let open = exchange("GET", "/open", 200);
    let source = session([asked("/a"), open, asked("/b"), asked("/c")]);
    assert_eq!(source.matches(BEARER).count(), 3, "{source}");
    let twice = with(asked("/d"), "authorization", "Bearer another");
    let source = session([asked("/a"), asked("/b"), asked("/c"), twice]);
    assert!(
        source.matches("{{login.response.token}}").count() >= 3,
        "{source}"
    );
    // Two are few enough to be read.
    let source = session([asked("/a"), asked("/b")]);
    assert_eq!(source.matches(BEARER).count(), 2, "{source}");
}

#[test]
fn a_step_with_credentials_of_its_own_keeps_them() {
    let mut own = exchange("GET", "/own", 200);
    own.credentials = Some(Credentials {
        user: "ada".into(),
        password: "canary".into(),
    });
    let source = session([asked("/a"), own, asked("/b"), asked("/c")]);
    assert_eq!(source.matches(BEARER).count(), 1, "{source}");
    assert!(source.contains("basic = (\"ada\", "), "{source}");
}

#[test]
fn the_value_that_most_steps_have_is_that_of_the_scenario() {
    let source = written(
        "curl http://h/a -H 'accept: text/html' -H 'x-api-key: canary-1' -b 's=canary-2';
         curl http://h/b -H 'Accept: application/json' -H 'x-api-key: canary-1' -b 's=canary-2';
         curl http://h/c -H 'accept: application/json' -H 'x-api-key: canary-1' -b 's=canary-2' --json '{}';
         curl -X PROPFIND http://h/d -H 'accept: application/json' -H 'x-api-key: canary-1' -b 's=canary-2'",
    )
    .source;
    assert!(!source.contains("canary"), "{source}");
    let begin = source.find("#[scenario(").unwrap();
    let end = source.find("#[step").unwrap();
    let scenario = &source[begin..end];
    assert!(
        scenario.contains("header(\"accept\", \"application/json\")"),
        "{source}"
    );
    assert!(
        scenario.contains("header(\"x-api-key\", \"{{secret.X_API_KEY}}\")"),
        "{source}"
    );
    assert_eq!(source.matches("application/json").count(), 1, "{source}");
    assert_eq!(source.matches("text/html").count(), 1, "{source}");
    // No cookies were recorded but these.
    assert!(
        scenario.contains("header(\"cookie\", \"{{secret.COOKIE}}\")"),
        "{source}"
    );
    assert!(scenario.contains("cookies = off"), "{source}");
    assert!(source.contains("Request::new"), "{source}");
}

#[test]
fn a_type_has_its_name_before_those_of_its_fields() {
    let mut made_order = exchange("POST", "/orders", 201);
    made_order.answer = Some(Answer {
        status: 201,
        headers: Vec::new(),
        body: br#"{"order":{"id":7}}"#.to_vec(),
        is_example: false,
    });
    let path = ["order", "id"].map(|key| Key::Field(key.to_owned()));
    let from = Origin::Body {
        exchange: 0,
        path: path.to_vec(),
    };
    let recording = Recording {
        exchanges: vec![
            made_order,
            exchange("GET", &format!("/orders/{MARKER}"), 200),
        ],
        references: vec![reference(from, false)],
        ..Recording::default()
    };
    let source = made(&recording).source;
    for part in [
        "struct Order {\n    order: Order2,\n}",
        "/// The `order` of `Order`.\n#[response]\nstruct Order2 {",
        "-> Order;",
    ] {
        assert!(source.contains(part), "{part}: {source}");
    }
}

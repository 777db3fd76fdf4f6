//! What a `#[feed]` gives to steps, checks and templates.

use crate::script::{Event, User, ok};
use loadtest::__private::{SetupContext, Unmet};
use loadtest::Scenario;
use loadtest::prelude::*;
use std::collections::HashMap;

#[response]
struct Shopper {
    id: u64,
    name: String,
    email: Option<String>,
    address: Option<Address>,
    r#type: String,
    tags: Vec<String>,
}

#[response]
struct Address {
    city: Option<String>,
}

fn shopper(id: u64, city: Option<&str>) -> Shopper {
    Shopper {
        id,
        name: format!("Ada & {id}"),
        email: None,
        address: Some(Address {
            city: city.map(str::to_owned),
        }),
        r#type: "new".to_owned(),
        tags: vec!["a\"b".to_owned()],
    }
}

#[scenario]
fn whole() {
    #[feed]
    fn user() -> Feed<Shopper> {
        Feed::iter([shopper(1, Some("Łódź")), shopper(2, None)])
    }

    #[setup]
    fn prefix() -> String {
        "item".to_owned()
    }

    #[feed]
    fn item(prefix: &String) -> Result<Feed<String>, std::num::ParseIntError> {
        let count: u64 = "3".parse()?;
        let prefix = prefix.clone();
        Ok(Feed::iter((0..count).map(move |n| format!("{prefix} {n}"))))
    }

    #[feed]
    fn r#match() -> Feed<Value> {
        Feed::iter([json!({ "a b": [{ "x": 7 }], "nothing": null })])
    }

    #[feed]
    fn map() -> Feed<HashMap<String, String>> {
        Feed::iter([HashMap::from([("key".to_owned(), "value".to_owned())])])
    }

    #[feed]
    fn number() -> Feed<u64> {
        Feed::generate(|n| n * 10)
    }

    #[state]
    fn seen(prefix: &String) -> Vec<String> {
        vec![prefix.clone()]
    }

    #[step(
        put = "/users/{{user.name}}/{{number}}?city={{ user.address.city }}&k={{map['key']}}",
        header("x-type", "{{user.type}}-{{item}}"),
        json = {
            "id": {{user.id}},
            "tags": {{user.tags}},
            "tag": "<{{user.tags[0]}}>",
            "x": {{r#match["a b"][0].x}},
            "row": {{r#match}},
        },
    )]
    fn declared() -> Value;

    #[step]
    fn built(
        user: &Shopper,
        _declared: &Value,
        seen: &mut Vec<String>,
        vu: &mut Vu,
    ) -> Request<Value> {
        seen.push(user.name.clone());
        let _ = vu.random();
        Request::get(format!("/{}/{}", user.id, seen.len()))
    }

    #[check]
    fn is_his(built: &Value, user: &Shopper, _number: &u64) -> bool {
        built["id"] == user.id
    }

    #[step(get = "/mail/{{user.email}}")]
    fn mail() -> Value;

    #[step(get = "/null/{{match.nothing}}/{{mail.response.id}}")]
    fn null();
}

#[test]
fn a_row_goes_to_templates_steps_and_checks() {
    let mut user = User::new(whole());
    let events = user.iterate(&[], |line| match line {
        "GET /1/2" => ok(r#"{"id":1}"#),
        _ => ok("{}"),
    });
    let sent = &user.sent[0];
    assert_eq!(
        sent.line,
        "PUT /users/Ada%20%26%201/0?city=%C5%81%C3%B3d%C5%BA&k=value"
    );
    assert_eq!(sent.headers[0], "x-type: new-item 0");
    assert_eq!(
        sent.body,
        r#"{"id":1,"tags":["a\"b"],"tag":"<a\"b>","x":7,"row":{"a b":[{"x":7}],"nothing":null}}"#
    );
    assert_eq!(user.sent[1].line, "GET /1/2");
    assert_eq!(
        events,
        [
            Event::Ok("declared"),
            Event::Ok("built"),
            Event::Check("is_his", Ok(())),
            Event::Unmet(
                "mail",
                Unmet::NotInFeed {
                    variable: "user.email"
                }
            ),
            Event::Unmet(
                "null",
                Unmet::NotInFeed {
                    variable: "match.nothing"
                }
            ),
        ]
    );
}

#[test]
fn the_definition_names_the_feeds() {
    let feeds = &whole().definition.feeds;
    let names: Vec<&str> = feeds.iter().map(|feed| &*feed.name).collect();
    assert_eq!(names, ["user", "item", "match", "map", "number"]);
    let line = line!() - 6;
    assert!(feeds.iter().all(|feed| (1..line).contains(&feed.line)));
    // a row is no step
    assert!(whole().definition.steps[0].dependencies.is_empty());
}

/// The first requests of one user.
fn targets(scenario: &Scenario) -> Vec<String> {
    let prepared = (scenario.prepare)(&SetupContext::default()).expect("the feeds are read");
    let mut vu = Vu::new(0, 1);
    let mut chain = (scenario.chain)(&prepared.shared, &mut vu);
    let mut request = loadtest::__private::RequestBuf::default();
    chain.begin(&mut vu);
    chain.build(0, &mut vu, &mut request).expect("a request");
    vec![http::Request::from(&request).uri().to_string()]
}

#[scenario]
fn ending() {
    #[feed]
    fn long() -> Feed<u8> {
        Feed::iter(0..9).stop()
    }
    #[feed]
    fn short() -> Feed<u8> {
        Feed::iter(5..9).stop()
    }
    #[step(get = "/{{long}}/{{short}}")]
    fn ask();
}

#[test]
fn the_shortest_feed_ends_the_load() {
    let prepared = (ending().prepare)(&SetupContext::default()).unwrap();
    let rows = prepared.rows.unwrap();
    assert_eq!((&*rows.feed, rows.rows), ("short", 4));
    assert_eq!(targets(ending()), ["/0/5"]);
    let endless = (whole().prepare)(&SetupContext::default()).unwrap();
    assert!(endless.rows.is_none());
}

#[scenario]
fn several() {
    #[feed(rows = 2)]
    fn user() -> Feed<Shopper> {
        Feed::iter([
            shopper(1, Some("a")),
            shopper(2, None),
            shopper(3, Some("c")),
        ])
    }

    #[feed(rows = 3)]
    fn word() -> Feed<String> {
        Feed::generate(|n| format!("w{n}"))
    }

    #[feed(rows = 2)]
    fn any() -> Feed<Value> {
        Feed::iter([json!({ "id": 1 }), json!({ "id": 2 })])
    }

    #[state]
    fn seen() -> u64 {
        0
    }

    #[step(post = "/{{user[0].id}}/{{any[1].id}}/{{word[2]}}", json = { "to": {{user[1].id}} })]
    fn declared();

    #[step]
    fn built(user: [&Shopper; 2], word: [&str; 3], seen: &mut u64) -> Request {
        *seen += 1;
        let [from, to] = user;
        Request::get(format!("/{}-{}/{}", from.id, to.id, word.join("-")))
    }

    #[check]
    fn is_checked(built: &Response, user: [&Shopper; 2]) -> bool {
        built.status() == 200 && user[0].id != user[1].id
    }

    #[step(get = "/{{user[1].address.city}}")]
    fn missing();
}

#[test]
fn an_iteration_has_as_many_rows_as_the_feed_says() {
    let mut user = User::new(several());
    let events = user.iterate(&[], |_| ok(""));
    let lines: Vec<&str> = user.sent.iter().map(|sent| &*sent.line).collect();
    assert_eq!(lines, ["POST /1/2/w2", "GET /1-2/w0-w1-w2"]);
    assert_eq!(user.sent[0].body, r#"{"to":2}"#);
    let variable = "user[1].address.city";
    assert_eq!(
        events,
        [
            Event::Ok("declared"),
            Event::Ok("built"),
            Event::Check("is_checked", Ok(())),
            Event::Unmet("missing", Unmet::NotInFeed { variable }),
        ]
    );
}

#[scenario]
fn file() {
    #[feed]
    fn dependency() -> Feed<HashMap<String, String>> {
        Feed::csv("tests/data/dependencies.csv")
    }
    #[step(get = "/{{dependency['name']}}")]
    fn ask();
}

#[test]
fn a_path_is_relative_to_the_package_and_a_missing_file_names_the_feed() {
    let context = |root: &str| {
        let mut context = SetupContext::default();
        context.root = root.into();
        context
    };
    assert!((file().prepare)(&context(file().root)).is_ok());
    assert_eq!(file().root, env!("CARGO_MANIFEST_DIR"));
    let error = (file().prepare)(&context(concat!(env!("CARGO_MANIFEST_DIR"), "/src")));
    assert_eq!(
        error.expect_err("there is no such file").to_string(),
        "feed `dependency` failed: tests/data/dependencies.csv: there is no such file; its path is \
         relative to the folder of the package"
    );
}

#[scenario]
fn invalid() {
    #[feed]
    fn user() -> Feed<Shopper> {
        Feed::iter([Shopper {
            name: "canary/..".to_owned(),
            ..shopper(1, None)
        }])
    }
    #[step(get = "/users/{{user.name}}/{{user.id}}")]
    fn declared();
    #[step]
    fn built(user: &Shopper) -> Request {
        Request::get(format!("/users/{} ", user.name))
    }
    #[step(get = "{{user.name}}")]
    fn start();
}

#[test]
fn an_invalid_url_shows_no_value_of_a_row() {
    let events = User::new(invalid()).iterate(&[], |_| None);
    let reasons: Vec<&str> = events
        .iter()
        .map(|event| match event {
            Event::Unmet(_, Unmet::Invalid { reason }) => reason.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        reasons[0],
        "URL `/users/{{user.name}}/{{user.id}}`: a value makes `..` a segment, which leads elsewhere"
    );
    for (reason, url) in reasons
        .iter()
        .zip(["/users/{{user.name}}", "/users/{} ", "{{user.name}}"])
    {
        assert!(reason.starts_with(&format!("URL `{url}")), "{reason}");
        assert!(!reason.contains("canary"), "{reason}");
    }
}

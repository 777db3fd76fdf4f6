//! Templates with values of states, setups and the clock.

use crate::script::{Event, User, ok};
use jiff::Timestamp;
use loadtest::__private::Unmet;
use loadtest::prelude::*;
use std::time::Duration;

struct Profile {
    name: String,
    city: Option<String>,
    tags: Vec<Value>,
}

#[scenario(header("x-run", "{{items[1]}}-{{visit.name}}"))]
fn values() {
    #[setup]
    fn items() -> Vec<u64> {
        vec![7, 8]
    }

    #[setup]
    fn settings() -> Result<Value, String> {
        Ok(json!({ "limits": { "page": 20 }, "none": null }))
    }

    #[state]
    fn visit(items: &[u64]) -> Profile {
        Profile {
            name: format!("a b {}", items[0]),
            city: None,
            tags: vec![json!({ "id": 5 })],
        }
    }

    #[state]
    fn count() -> u64 {
        0
    }

    #[step]
    fn built(count: &mut u64) -> Request {
        *count += 1;
        Request::get("/built")
    }

    #[step(
        post = "/{{visit.name}}/{{count}}?page={{settings.limits.page}}",
        json = { "n": {{count}}, "tag": {{visit.tags[0].id}}, "items": {{items}}, "all": {{settings}} },
    )]
    fn declared();

    #[step(get = "/{{visit.city}}")]
    fn no_city();

    #[step(get = "/{{settings.none}}")]
    fn no_setting();
}

#[test]
fn states_and_setups_are_in_templates_as_they_are_when_the_request_is_built() {
    let mut user = User::new(values());
    let mut events = user.iterate(&[], |_| ok(""));
    events.extend(user.iterate(&["no_city", "no_setting"], |_| ok("")));
    let lines: Vec<&str> = user.sent.iter().map(|sent| &*sent.line).collect();
    assert_eq!(
        lines,
        [
            "GET /built",
            "POST /a%20b%207/1?page=20",
            "GET /built",
            "POST /a%20b%207/2?page=20"
        ]
    );
    assert_eq!(user.sent[0].headers, ["x-run: 8-a b 7"]);
    assert_eq!(
        user.sent[3].body,
        r#"{"n":2,"tag":5,"items":[7,8],"all":{"limits":{"page":20},"none":null}}"#
    );
    let missing = |name, variable| Event::Unmet(name, Unmet::NotInFeed { variable });
    assert_eq!(
        events[2..4],
        [
            missing("no_city", "visit.city"),
            missing("no_setting", "settings.none")
        ]
    );
}

#[scenario]
fn clock() {
    #[step(
        get = "/{{vu.now.unix}}/{{vu.now.unix_ms}}",
        header("date", "{{vu.now}}"),
        json = { "at": {{vu.now}}, "s": {{vu.now.unix}} },
    )]
    fn ask();
}

#[test]
fn the_time_is_that_of_the_clock() {
    let before = Timestamp::now().as_millisecond();
    let mut user = User::new(clock());
    assert_eq!(user.iterate(&[], |_| ok("")), [Event::Ok("ask")]);
    let after = Timestamp::now().as_millisecond();
    let sent = &user.sent[0];
    let numbers = sent.line.strip_prefix("GET /").unwrap().split_once('/');
    let (seconds, millis) = numbers.unwrap();
    let (seconds, millis): (i64, i64) = (seconds.parse().unwrap(), millis.parse().unwrap());
    assert!((before..=after).contains(&millis));
    assert!((before / 1_000..=after / 1_000).contains(&seconds));
    let text = sent.headers[0].strip_prefix("date: ").unwrap();
    assert_eq!((text.len(), text.ends_with('Z')), (24, true), "{text}");
    let shown: Timestamp = text.parse().unwrap();
    assert!((before..=after).contains(&shown.as_millisecond()));
    let body: Value = serde_json::from_str(&sent.body).unwrap();
    let told: Timestamp = body["at"].as_str().unwrap().parse().unwrap();
    assert!(told.duration_since(shown).unsigned_abs() < Duration::from_secs(60));
    assert!((before / 1_000..=after / 1_000).contains(&body["s"].as_i64().unwrap()));
}

const OWNER: &str = "a b/c";
const PAGE_2: u32 = 2;
const PLACE: &str = "/x/y?z=1";

#[scenario(header("x-owner", "{{OWNER}}"))]
fn constants() {
    #[step(
        post = "/repos/{{OWNER}}?page={{PAGE_2}}&owner={{OWNER}}",
        json = { "owner": "of {{OWNER}}", "page": {{PAGE_2}} },
    )]
    fn declared();

    #[step(get = "{{PLACE}}", query = { "page": "{{PAGE_2}}" })]
    fn place();
}

#[test]
fn constants_are_in_templates_and_are_encoded_as_values() {
    let mut user = User::new(constants());
    user.iterate(&[], |_| ok(""));
    let lines: Vec<&str> = user.sent.iter().map(|sent| &*sent.line).collect();
    assert_eq!(
        lines,
        [
            "POST /repos/a%20b/c?page=2&owner=a%20b/c",
            "GET /x/y?z=1&page=2"
        ]
    );
    assert_eq!(user.sent[0].headers[0], "x-owner: a b/c");
    assert_eq!(user.sent[0].body, r#"{"owner":"of a b/c","page":2}"#);
}

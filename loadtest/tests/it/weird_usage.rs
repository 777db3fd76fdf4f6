#![deny(warnings, missing_docs, clippy::pedantic)]
#![forbid(unsafe_code)]
//! What users write beyond the examples; it compiles without a warning and works.

use crate::script::{Event, User, ok};
use loadtest::__private::Unmet;
use loadtest::prelude::*;

mod inner {
    use loadtest::prelude::*;

    /// Local types, constants, imports and helpers; raw names; patterns.
    #[scenario(name = "kitchen sink", tags = ["x", "y"], version = "v1")]
    pub(crate) fn kitchen() {
        use std::collections::{BTreeMap, HashMap};

        const HALF: f64 = 0.5;

        #[response]
        struct Session {
            token: String,
            r#type: Option<String>,
            by_name: HashMap<String, u64>,
            sorted: BTreeMap<String, Option<Vec<u8>>>,
            any: Value,
        }

        /// Shared by all users.
        struct Seed {
            base: u64,
        }

        fn helper(n: u64) -> String {
            format!("/h/{n}")
        }

        macro_rules! path {
            ($name:literal) => {
                concat!("/", $name)
            };
        }

        #[setup]
        fn seed() -> Seed {
            Seed { base: 40 }
        }

        #[state]
        fn visits(vu: &Vu, seed: &Seed) -> Vec<u64> {
            vec![vu.id() + seed.base]
        }

        #[state]
        fn count() -> u64 {
            0
        }

        #[step]
        fn r#match(
            seed: &Seed,
            visits: &mut Vec<u64>,
            vu: &mut Vu,
            count: &mut u64,
        ) -> Request<Session> {
            visits.push(vu.iteration());
            *count += 1;
            Request::get(helper(seed.base + visits.len() as u64))
        }

        #[step(weight = HALF, name = "second step")]
        fn second(
            #[from(match)] Session { token, .. }: &Session,
            count: &u64,
            visits: &Vec<u64>,
        ) -> Result<Request<Value>, impl std::fmt::Display + use<>> {
            if token.is_empty() {
                return Err("empty token");
            }
            Ok(Request::get(format!("/t/{token}/{count}/{}", visits.len())))
        }

        #[step]
        fn order_only(_second: &Value) -> Request {
            Request::get(path!("only"))
        }

        #[step(
            get = "/d/{{match.response.by_name['a']}}/{{second.response.list[1].x}}?t={{match.response.type}}",
            header("x-sorted", "{{match.response.sorted['k'][0]}}"),
            header("X-Any", "{{step1.response.any['deep']}}"),
            json = { "k": {{match.response.type}} },
            check = |r| r.is_null(),
        )]
        fn typed_and_not() -> Value;

        #[step(get = "/d/{{match.response.by_name['a']}}", json = { "k": {{match.response.type}} })]
        fn unquoted() -> Option<u64>;

        #[step(get = "/after/{{unquoted.response}}")]
        fn after();

        #[step(get = "/none", json = {{second.headers.x-none}})]
        fn no_header();

        #[check]
        fn r#type(#[from(match)] token: &Session, _second: Option<&Response<Value>>) -> bool {
            !token.token.is_empty()
        }
    }
}

/// Where a crate of macros has the library.
mod facade {
    pub(crate) use ::loadtest as tools;
}

/// A macro that brings the type of its answer along, and the library from its own crate.
macro_rules! make_answer {
    ($name:ident, $ty:ident { $($field:ident: $of:ty),* }, $kind:ident) => {
        #[response(crate = $crate::weird_usage::facade::tools)]
        pub(crate) struct $ty { $(pub(crate) $field: $of),* }

        #[response(crate = $crate::weird_usage::facade::tools)]
        pub(crate) enum $kind {
            #[serde(rename = "on")]
            On,
        }

        #[scenario(crate = $crate::weird_usage::facade::tools)]
        fn $name() {
            #[step(get = "/")]
            fn one() -> $ty;

            #[step]
            fn two(one: &$ty) -> Request<$kind> {
                Request::get(format!("/{}", one.id))
            }
        }
    };
}

mod brought {
    use loadtest::prelude::{Request, response, scenario};

    make_answer!(along, Answer { id: u64 }, Kind);

    pub(super) fn scenarios() -> [&'static loadtest::Scenario; 2] {
        make_answer!(within_a_function, r#Type { id: u64 }, Kind);
        [along(), within_a_function()]
    }
}

#[test]
fn a_macro_may_bring_answers_with_the_library_of_its_crate() {
    for scenario in brought::scenarios() {
        let mut user = User::new(scenario);
        let events = user.iterate(&[], |line| match line {
            "GET /" => ok(r#"{"id":7}"#),
            _ => ok(r#""on""#),
        });
        assert_eq!(events, [Event::Ok("one"), Event::Ok("two")]);
        assert_eq!(user.sent[1].line, "GET /7");
    }
}

macro_rules! make {
    ($name:ident, $ty:ty, $path:literal) => {
        #[scenario]
        fn $name() {
            #[step(get = $path)]
            fn one() -> $ty;

            #[step(get = "/{{one.response.deep.value}}")]
            fn by_template();

            #[step]
            fn two(one: &$ty) -> Request {
                Request::get(format!("/{}", one["deep"]["value"]))
            }
        }
    };
}
make!(made, Value, "/m");
make!(made_again, Value, "/n");

mod outer {
    /// A scenario in nested modules, whose step has its name; nothing is imported.
    pub(crate) mod nested {
        #[loadtest::prelude::scenario(load = users(5, for = 1m))]
        pub(crate) fn health() {
            #[loadtest::prelude::step(get = "/health", expect = 200..=204 | 304)]
            fn health();
        }
    }
}

/// What scenarios may be grouped under.
#[derive(Debug)]
pub struct Group;

impl Group {
    /// An associated function; items of macros; closures with commas in their types.
    #[scenario]
    fn associated() {
        macro_rules! numbers {
            ($($name:ident)*) => {$(
                fn $name() -> u8 {
                    7
                }
            )*};
        }
        numbers! { one two }
        numbers!(three);

        #[step(
            get = "/list",
            check = |list| -> Result<(), String> { (list.len() > 1).then_some(()).ok_or_else(String::new) },
            check = |list| list.iter().map(|n| n.as_u64().ok_or(())).collect::<Result<Vec<_>, ()>>().is_ok(),
        )]
        fn list() -> Vec<Value>;

        #[step]
        fn sum() -> Request {
            Request::get(format!("/{}", one() + two() + three()))
        }
    }
}

/// Answers that are a single value are compared as they are, by number and by word.
#[scenario]
fn scalars() {
    #[step(get = "/number", check = |answer| *answer == 45, check = |answer| answer == &45, check = |answer| *answer < 46)]
    fn number() -> u64;

    #[step(get = "/word", check = |answer| *answer == "on", check = |answer| **answer == "on")]
    fn word() -> String;

    #[step(get = "/any", check = |answer| *answer == 45)]
    fn any() -> Value;

    #[step(get = "/list", check = |answer| *answer == [1, 2])]
    fn list() -> Vec<u64>;
}

#[test]
fn scalar_answers_are_compared_without_a_second_star() {
    let run = |number: &'static str| {
        User::new(scalars()).iterate(&[], move |line| match line {
            "GET /word" => ok("on"),
            "GET /list" => ok("[1,2]"),
            _ => ok(number),
        })
    };
    let failed = |events: Vec<Event>| {
        let verdicts = events
            .iter()
            .filter(|event| matches!(event, Event::Check(_, Err(_))));
        verdicts.count()
    };
    assert_eq!((failed(run("45")), failed(run("46"))), (0, 4));
}

/// The condition holds for the registration as well.
#[scenario]
#[cfg(any())]
fn left_out() {
    #[step(get = "/")]
    fn step();
}

#[test]
fn names_types_and_patterns_of_all_kinds_work() {
    let scenario = inner::kitchen();
    let definition = &scenario.definition;
    assert_eq!(definition.name, "kitchen sink");
    assert_eq!(definition.function, "kitchen");
    assert_eq!(definition.module, "it::weird_usage::inner");
    assert_eq!(definition.revision(), "v1");
    assert_eq!(definition.steps[0].name, "match");
    assert_eq!(definition.steps[1].name, "second step");
    assert!((definition.steps[1].weight - 0.5).abs() < f64::EPSILON);

    let mut user = User::new(scenario);
    let token =
        r#"{"token":"t","type":"a&b","by_name":{"a":9},"sorted":{"k":[5]},"any":{"deep":1}}"#;
    let events = user.iterate(&[], |line| match line {
        "GET /h/42" => ok(token),
        "GET /t/t/1/2" => ok(r#"{"list":[0,{"x":true}]}"#),
        _ => ok(""),
    });
    let missing = |step, variable| Unmet::Missing { step, variable };
    assert_eq!(
        events,
        [
            Event::Ok("match"),
            Event::Ok("second step"),
            Event::Check("type", Ok(())),
            Event::Ok("order_only"),
            Event::Ok("typed_and_not"),
            Event::Check("|r| r.is_null()", Ok(())),
            Event::Ok("unquoted"),
            Event::Unmet("after", missing(4, "unquoted.response")),
            Event::Unmet("no_header", missing(1, "second.headers.x-none")),
        ]
    );
    assert_eq!(user.sent[3].line, "GET /d/9/true?t=a%26b");
    assert_eq!(user.sent[3].headers[..2], ["x-sorted: 5", "x-any: 1"]);
    assert_eq!(user.sent[3].body, r#"{"k":"a&b"}"#);

    let events = user.iterate(&[], |_| {
        ok(r#"{"token":"","by_name":{},"sorted":{},"any":null}"#)
    });
    let reason = "empty token".to_owned();
    assert_eq!(
        events[1],
        Event::Unmet("second step", Unmet::Declined { reason })
    );
    assert_eq!(
        events[3],
        Event::Unmet("typed_and_not", missing(0, "match.response.by_name['a']"))
    );
}

#[test]
fn scenarios_come_out_of_macros() {
    for scenario in [made(), made_again()] {
        let mut user = User::new(scenario);
        user.iterate(&[], |_| ok(r#"{"deep":{"value":3}}"#));
        assert_eq!(user.sent[1].line, "GET /3");
        assert_eq!(user.sent[2].line, "GET /3");
    }
    assert_ne!(
        made().definition.fingerprint,
        made_again().definition.fingerprint
    );
    assert_eq!(
        made().definition.steps[2].fingerprint,
        made_again().definition.steps[2].fingerprint
    );
}

#[test]
fn a_scenario_may_be_an_associated_function_with_macros_of_its_own() {
    let mut user = User::new(Group::associated());
    user.iterate(&[], |_| ok("[1, 2]"));
    assert_eq!(user.sent[1].line, "GET /21");
}

#[test]
fn all_scenarios_are_registered_once() {
    let registry = loadtest::__private::Registry::collect();
    let all = registry.scenarios.iter();
    let all: Vec<_> = all.map(|found| found.definition.test_name()).collect();
    let mut names: Vec<_> = all
        .iter()
        .filter_map(|name| name.strip_prefix("weird_usage::"))
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "associated",
            "brought::along",
            "brought::within_a_function",
            "inner::kitchen",
            "made",
            "made_again",
            "outer::nested::health",
            "scalars"
        ]
    );
    let lines: Vec<_> = [made(), made_again()].map(|s| s.definition.line).to_vec();
    assert!(lines[0] < lines[1], "{lines:?}");
    let _ = outer::nested::health();
}

#[deny(dead_code)]
mod unread {
    use loadtest::prelude::*;

    #[response]
    pub(super) struct Unread {
        id: u64,
    }
}

#[test]
fn fields_that_no_step_reads_are_not_dead_code() {
    assert!(serde_json::from_str::<unread::Unread>(r#"{"id":1}"#).is_ok());
    assert!(serde_json::from_str::<unread::Unread>("{}").is_err());
}

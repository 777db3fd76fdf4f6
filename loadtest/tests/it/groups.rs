//! Groups: steps that are measured together, in one scenario or in several.

use crate::script::{Event, User, ok};
use loadtest::Scenario;
use loadtest::prelude::*;
use loadtest_model::definition::StepDef;

#[response]
struct Login {
    token: String,
}

/// How a visitor signs in.
#[group(p95 < 800ms, errors < 1% or abort)]
fn sign_in() {
    #[step(get = "/login?for={{visitor}}")]
    fn page() -> String;

    #[step]
    fn login(page: &str, visitor: &str) -> Request<Login> {
        let csrf = csrf_of(page);
        Request::post("/login").json(&json!({ "user": visitor, "csrf": csrf }))
    }

    fn csrf_of(page: &str) -> &str {
        page.trim_matches(|c: char| !c.is_alphanumeric())
    }

    #[check]
    fn there_is_a_token(login: &Login) -> bool {
        !login.token.is_empty()
    }
}

mod elsewhere {
    use super::Login;
    use loadtest::prelude::*;

    #[group(name = "look around", max < 2s)]
    pub(super) fn look() {
        #[step(get = "/a", bearer = "{{login.response.token}}", weight = 0.5)]
        fn first();

        #[step(check = |second| second.token.len() > 1, name = "the second")]
        fn second(login: &Login, first: Option<&Response>) -> Request<Login> {
            Request::get(if first.is_some() { "/b" } else { "/c" }).bearer_auth(&login.token)
        }
    }
}

#[scenario]
fn buyers() {
    #[feed]
    fn visitor() -> Feed<String> {
        Feed::generate(|n| format!("buyer{n}"))
    }

    #[group]
    use sign_in;

    #[step(get = "/orders", bearer = "{{login.response.token}}")]
    fn orders();

    #[group]
    use self::elsewhere::look;
}

#[scenarios(tags = ["staff"])]
mod sellers {
    use super::{Login, sign_in};
    use loadtest::prelude::*;

    #[feed]
    fn visitor() -> Feed<String> {
        Feed::generate(|n| format!("seller{n}"))
    }

    #[scenario]
    pub(super) fn sellers() {
        #[group]
        use sign_in;
    }
}

/// The group in the scenario, and another time for it.
#[scenario(timeout = 5s)]
fn alone() {
    #[feed]
    fn visitor() -> Feed<String> {
        Feed::generate(|n| format!("seller{n}"))
    }

    #[group(mean <= 1s)]
    fn enter() {
        #[step(get = "/login?for={{visitor}}")]
        fn page() -> String;
    }

    #[step(get = "/{{page.response}}")]
    fn leave();
}

fn steps(scenario: &'static Scenario) -> &'static [StepDef] {
    &scenario.definition.steps
}

#[test]
fn the_steps_of_a_group_stand_where_the_scenario_names_it() {
    let names: Vec<_> = steps(buyers())
        .iter()
        .map(|step| (&*step.name, step.group.as_deref()))
        .collect();
    let (sign_in, look) = (Some("sign_in"), Some("look around"));
    assert_eq!(
        names,
        [
            ("page", sign_in),
            ("login", sign_in),
            ("orders", None),
            ("first", look),
            ("the second", look),
        ]
    );
    let groups: Vec<_> = buyers()
        .definition
        .groups
        .iter()
        .map(|group| {
            let limits = group.thresholds.iter().map(ToString::to_string);
            (&*group.name, limits.collect::<Vec<_>>().join(", "))
        })
        .collect();
    assert_eq!(
        groups,
        [
            ("sign_in", "p95 < 800ms, errors < 1% or abort".to_owned()),
            ("look around", "max < 2s".to_owned()),
        ]
    );
    let group = &buyers().definition.groups[0];
    assert_eq!(group.description, "How a visitor signs in.");
}

#[test]
fn a_group_uses_the_data_of_the_scenario_that_it_is_in() {
    let answer = |line: &str| match line {
        "POST /login" => ok(r#"{ "token": "t1" }"#),
        "GET /b" => ok(r#"{ "token": "t2" }"#),
        _ => ok("<x7>"),
    };
    let lines = |scenario| {
        let mut user = User::new(scenario);
        let events = user.iterate(&[], answer);
        let lines = user.sent.iter().map(|sent| sent.line.clone());
        (lines.collect::<Vec<_>>(), user.sent, events)
    };
    let (buyer, sent, events) = lines(buyers());
    // as it is written, though its tokens came through a macro
    let check = Event::Check("|second| second.token.len() > 1", Ok(()));
    assert!(events.contains(&check), "{events:?}");
    assert_eq!(
        buyer,
        [
            "GET /login?for=buyer0",
            "POST /login",
            "GET /orders",
            "GET /a",
            "GET /b"
        ]
    );
    assert_eq!(sent[1].body, r#"{"csrf":"x7","user":"buyer0"}"#);
    assert!(
        sent[4]
            .headers
            .contains(&"authorization: Bearer t1".to_owned())
    );
    let (seller, ..) = lines(sellers::sellers());
    assert_eq!(seller, ["GET /login?for=seller0", "POST /login"]);
    let (alone, ..) = lines(alone());
    assert_eq!(alone, ["GET /login?for=seller0", "GET /%3Cx7%3E"]);
}

#[test]
fn a_step_of_a_shared_group_is_the_same_in_every_scenario() {
    let (buyer, seller) = (&steps(buyers())[1], &steps(sellers::sellers())[1]);
    assert_eq!(buyer.fingerprint, seller.fingerprint);
    assert_ne!(
        buyers().definition.fingerprint,
        sellers::sellers().definition.fingerprint
    );
    assert_ne!(buyer.fingerprint, steps(alone())[0].fingerprint);
    // Of one file are the lines of its steps, too.
    assert_eq!(buyer.line, seller.line);
}

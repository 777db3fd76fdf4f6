//! Headers of a whole scenario, as its steps send them.

use crate::script::{Event, Sent, User, ok};
use loadtest::__private::Unmet;
use loadtest::prelude::*;
use loadtest_model::definition::{Dependency, StepDef};
use loadtest_model::metrics::{Cause, RootCause};

#[response]
struct Login {
    token: String,
    tenant: Option<String>,
}

#[response]
struct Visitor {
    id: u64,
}

const LOGIN: &str = r#"{"token":"t-1","tenant":"blue"}"#;

#[scenario(
    header("X-Client", "loadtest"),
    header("x-visitor", "{{visitor.id}}"),
    header("x-tenant", "of {{step1.response.tenant}}"),
    bearer = "{{login.response.token}}"
)]
fn shopping() {
    #[feed]
    fn visitor() -> Feed<Visitor> {
        Feed::iter([Visitor { id: 7 }])
    }

    #[step(post = "/login", bearer = "nobody")]
    fn login() -> Login;

    #[step(get = "/told")]
    fn told() -> Value;

    #[step(get = "/own", header("x-CLIENT", "own"), basic = ("ada", "{{told.response.k}}"))]
    fn own();

    #[step]
    fn built() -> Request {
        Request::get("/built")
    }

    #[step]
    fn built_with_own(visitor: &Visitor) -> Option<Request> {
        let url = format!("/built/{}", visitor.id);
        Some(
            Request::get(url)
                .bearer_auth("own")
                .header("X-Client", "own"),
        )
    }
}

fn iterate(
    scenario: &'static loadtest::Scenario,
    answer: Option<&'static str>,
) -> (Vec<Sent>, Vec<Event>) {
    let mut user = User::new(scenario);
    let events = user.iterate(&[], |line| match line {
        "POST /login" => answer.and_then(ok),
        _ => ok(r#"{"k":"word"}"#),
    });
    (user.sent, events)
}

fn step(scenario: &'static loadtest::Scenario, name: &str) -> &'static StepDef {
    let mut steps = scenario.definition.steps.iter();
    steps.find(|step| step.name == name).expect("the step")
}

#[test]
fn each_step_sends_them_unless_it_sets_them_itself() {
    let (sent, events) = iterate(shopping(), Some(LOGIN));
    assert_eq!(events.len(), 5, "{events:?}");
    let headers = |at: usize| sent[at].headers.join(" | ");
    assert_eq!(
        headers(0),
        "authorization: Bearer nobody | x-client: loadtest | x-visitor: 7"
    );
    let all = "x-client: loadtest | x-visitor: 7 | x-tenant: of blue | authorization: Bearer t-1";
    assert_eq!(headers(1), all);
    assert_eq!(
        headers(2),
        "x-client: own | authorization: Basic YWRhOndvcmQ= | x-visitor: 7 | x-tenant: of blue"
    );
    assert_eq!(headers(3), all);
    assert_eq!(
        headers(4),
        "authorization: Bearer own | x-client: own | x-visitor: 7 | x-tenant: of blue"
    );
}

#[test]
fn a_step_that_sends_a_value_needs_the_step_it_is_of() {
    let (sent, events) = iterate(shopping(), None);
    assert_eq!(sent.len(), 1, "{sent:?}");
    let unmet = |variable| Unmet::Upstream {
        step: 0,
        variable,
        cause: Cause {
            root: RootCause::Failed,
            step: 0,
        },
    };
    let tenant = "step1.response.tenant";
    assert_eq!(
        events[1..],
        [
            Event::Unmet("told", unmet(tenant)),
            Event::Unmet(
                "own",
                Unmet::Upstream {
                    step: 1,
                    variable: "told.response.k",
                    cause: Cause {
                        root: RootCause::Failed,
                        step: 0
                    }
                }
            ),
            Event::Unmet("built", unmet(tenant)),
            Event::Unmet("built_with_own", unmet(tenant)),
        ]
    );
    let needs = |step, optional| Dependency { step, optional };
    assert_eq!(*step(shopping(), "login").dependencies, []);
    for name in ["told", "built", "built_with_own"] {
        let dependencies = &step(shopping(), name).dependencies;
        assert_eq!(**dependencies, [needs(0, false)], "{name}");
    }
    assert_eq!(
        *step(shopping(), "own").dependencies,
        [needs(1, false), needs(0, false)]
    );
}

#[test]
fn a_value_that_is_missing_is_never_sent() {
    let (sent, events) = iterate(shopping(), Some(r#"{"token":"t-1","tenant":null}"#));
    assert_eq!(sent.len(), 1, "{sent:?}");
    for (at, name) in [(1, "told"), (3, "built")] {
        let unmet = Unmet::Missing {
            step: 0,
            variable: "step1.response.tenant",
        };
        assert_eq!(events[at], Event::Unmet(name, unmet));
    }
}

#[test]
fn the_definition_has_them_on_each_step() {
    let shown = |name| {
        let headers = step(shopping(), name).headers.iter();
        headers
            .map(|header| format!("{}: {}", header.name, header.value))
            .collect::<Vec<_>>()
    };
    let all = [
        "x-client: loadtest",
        "x-visitor: {{visitor.id}}",
        "x-tenant: of {{login.response.tenant}}",
        "authorization: Bearer {{login.response.token}}",
    ];
    assert_eq!(shown("told"), all);
    assert_eq!(shown("built"), all);
    assert_eq!(
        shown("own"),
        [
            "x-client: own",
            "authorization: Basic ada:{{told.response.k}}",
            "x-visitor: {{visitor.id}}",
            "x-tenant: of {{login.response.tenant}}",
        ]
    );
}

mod one {
    use super::*;

    #[scenario(header("x-client", "one"))]
    pub(super) fn scenario() {
        #[step(get = "/plain")]
        fn plain();

        #[step(get = "/own", header("x-client", "own"))]
        fn own();
    }
}

mod other {
    use super::*;

    #[scenario(header("x-client", "other"))]
    pub(super) fn scenario() {
        #[step(get = "/plain")]
        fn plain();

        #[step(get = "/own", header("x-client", "own"))]
        fn own();
    }
}

#[test]
fn the_fingerprint_of_a_step_knows_what_it_sends() {
    let of = |scenario, name| &step(scenario, name).fingerprint;
    let (one, other) = (one::scenario(), other::scenario());
    assert_ne!(of(one, "plain"), of(other, "plain"));
    assert_eq!(of(one, "own"), of(other, "own"));
}

#[scenario(header("content-type", "application/xml"), basic = ("ada", "pass"))]
fn bodies() {
    #[step(post = "/json", json = { "a": 1 })]
    fn json();

    #[step(post = "/form", form = { "a": 1 })]
    fn form();

    #[step(post = "/text", body = "<a/>")]
    fn text();

    #[step]
    fn built_json() -> Request {
        Request::post("/json").json(&json!({ "a": 1 }))
    }

    #[step]
    fn built_text() -> Request {
        Request::post("/text").body("<a/>")
    }
}

#[test]
fn json_and_forms_say_themselves_what_they_are() {
    let (sent, _) = iterate(bodies(), None);
    let types = sent.iter().map(|request| {
        let of_type = request
            .headers
            .iter()
            .filter(|header| header.starts_with("content-type"));
        of_type.map(String::as_str).collect::<Vec<_>>().join(" | ")
    });
    assert_eq!(
        types.collect::<Vec<_>>(),
        [
            "content-type: application/json",
            "content-type: application/x-www-form-urlencoded",
            "content-type: application/xml",
            "content-type: application/json",
            "content-type: application/xml",
        ]
    );
    for request in &sent {
        let basic = "authorization: Basic YWRhOnBhc3M=".to_owned();
        assert!(request.headers.contains(&basic), "{request:?}");
    }
}

#[scenario(header("x-trace", "{{first.headers.x-trace}}"))]
fn traced() {
    #[step(get = "/before")]
    fn before();

    #[step(get = "/first")]
    fn first();

    #[step]
    fn then() -> Result<Request, Skip> {
        Err(Skip::because("it is not asked where `first` failed"))
    }
}

#[test]
fn a_function_is_not_called_where_a_step_is_missing_that_its_request_needs() {
    let mut user = User::new(traced());
    let events = user.iterate(&[], |line| match line {
        "GET /first" => None,
        _ => ok(""),
    });
    assert_eq!(user.sent[0].headers, [""; 0]);
    assert!(
        matches!(
            events[2],
            Event::Unmet("then", Unmet::Upstream { step: 1, .. })
        ),
        "{events:?}"
    );
    assert!(step(traced(), "first").reads.headers);
    assert!(!step(traced(), "before").reads.headers);
}

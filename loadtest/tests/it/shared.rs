//! What the scenarios of a module share.

use crate::script::User;
use loadtest::Scenario;
use loadtest::prelude::*;
use loadtest_model::definition::StepDef;
use std::time::Duration;

#[response]
struct Row {
    name: String,
}

#[scenarios(
    base = "http://127.0.0.1:8080",
    tags = ["shop"],
    timeout = 2s,
    header("x-client", "loadtest"),
    thresholds(p95 < 1s, errors < 1%),
)]
mod shop {
    //! Two scenarios with the same target, data and options.

    use super::Row;
    use loadtest::prelude::*;

    #[setup]
    fn region() -> String {
        default_region().to_owned()
    }

    /// Not a role: it is left alone.
    fn default_region() -> &'static str {
        "eu"
    }

    #[scenario]
    pub(super) fn browse() {
        #[step(get = "/products/{{user.name}}")]
        fn products();
    }

    #[scenario(tags = ["new"], timeout = 5s, header("X-Client", "buyer"), thresholds(p95 < 2s))]
    pub(super) fn buy() {
        #[setup]
        fn region() -> String {
            "us".to_owned()
        }

        #[step]
        fn order(user: &Row, region: &str) -> Request {
            Request::post(format!("/{region}/orders/{}", user.name))
        }
    }

    #[feed]
    fn user() -> Feed<Row> {
        let names = ["ada", "grace"].map(str::to_owned);
        Feed::iter(names.map(|name| Row { name }))
    }
}

/// The same as `shop::browse`, written in one place, and with another option.
#[scenario(base = "http://127.0.0.1:8080", timeout = 3s)]
fn browse() {
    #[step(get = "/products/{{user.name}}")]
    fn products();

    #[feed]
    fn user() -> Feed<Row> {
        Feed::generate(|_| Row {
            name: String::new(),
        })
    }
}

fn only_step(scenario: &'static Scenario) -> &'static StepDef {
    &scenario.definition.steps[0]
}

#[test]
fn options_of_a_module_hold_for_a_scenario_that_does_not_give_them() {
    let (browse, buy) = (shop::browse(), shop::buy());
    assert_eq!(
        browse.definition.identity(),
        "loadtest::it::shared::shop::browse"
    );
    assert_eq!(only_step(browse).timeout, Duration::from_secs(2));
    assert_eq!(only_step(buy).timeout, Duration::from_secs(5));
    for (scenario, tags, thresholds) in [
        (browse, &["shop"][..], ["p95 < 1s", "errors < 1%"]),
        (buy, &["shop", "new"], ["errors < 1%", "p95 < 2s"]),
    ] {
        let definition = &scenario.definition;
        assert_eq!(definition.base.as_deref(), Some("http://127.0.0.1:8080"));
        assert_eq!(*definition.tags, *tags);
        let shown: Vec<_> = definition
            .thresholds
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(shown, thresholds);
    }
    assert_eq!(only_step(browse).headers[0].value, "loadtest");
    assert_eq!(only_step(buy).headers.len(), 1);
    assert_eq!(only_step(buy).headers[0].value, "buyer");
}

#[test]
fn each_scenario_has_the_functions_of_its_module_and_its_own_in_their_place() {
    let answer = |_: &str| crate::script::ok("{}");
    for (scenario, line) in [
        (shop::browse(), "GET /products/ada"),
        (shop::buy(), "POST /us/orders/ada"),
    ] {
        assert_eq!(scenario.definition.feeds[0].name, "user");
        let mut user = User::new(scenario);
        user.iterate(&[], answer);
        assert_eq!(user.sent[0].line, line);
    }
}

#[test]
fn the_fingerprint_of_a_scenario_covers_what_it_has_from_its_module() {
    let of = |scenario: &'static Scenario| &scenario.definition.fingerprint;
    assert_ne!(of(shop::browse()), of(browse()));
    let step = |scenario| &only_step(scenario).fingerprint;
    assert_ne!(step(shop::browse()), step(browse()), "another timeout");
}

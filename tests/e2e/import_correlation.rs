//! Values of earlier answers in what is imported: against a server whose values are other ones in each journey.

use crate::call::Call;
use crate::project::{Files, workspace};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::Replay;
use std::fs;

pub(crate) fn trials() -> Vec<Trial> {
    trials![values_of_answers_are_those_of_the_journey,]
}

const ARCHIVE: &str = include_str!("../fixtures/import/correlation/shop.har");
/// Runs something with what a user would have in the environment.
fn with_secrets(call: Call, url: &str) -> Call {
    call.env("LOADTEST_BASE_URL", url)
        .env("PASSWORD", "lovelace")
}

fn values_of_answers_are_those_of_the_journey() {
    let archive = workspace().join("tests/fixtures/import/correlation/shop.har");
    let folder = tempfile::tempdir().expect("a folder of the system");
    let call = Call::tool(folder.path())
        .line("import har --no-think -o load.rs")
        .arg(archive);
    let output = call.run().exits(0);
    output.says(&["Wrote load.rs", "Linked", "{{login.response.token}}"]);
    let source = fs::read_to_string(folder.path().join("load.rs")).expect("a source");
    // What is the user's stays as it was recorded, also where an answer repeats it.
    for own in [
        "\"list\", \"7\"",
        "limit=7",
        "0f8fad5b-d9cb-469f-a165-70867728950e",
        "\"amount\": 4200",
        "2024-01-01",
    ] {
        assert!(source.contains(own), "{own} is not in\n{source}");
    }
    let archive: serde_json::Value = serde_json::from_str(ARCHIVE).expect("our own archive");
    for fresh in archive["log"]["_fresh"].as_array().expect("a list") {
        let fresh = fresh.as_str().expect("a value");
        assert!(
            !source.contains(fresh) || fresh == "42",
            "{fresh} is in\n{source}"
        );
    }
    let (server, refusals) = Replay::of_har(ARCHIVE).start();
    let made = Files::single("correlated", &source).create();
    let smoke = with_secrets(made.cargo("test --test load"), &server.url());
    let output = smoke.run();
    assert!(
        output.status.success(),
        "{:#?}\n{output}\n{source}",
        refusals.told()
    );
    let run = made.tool("run", "--iterations 6 --users 2");
    let output = with_secrets(run, &server.url()).run();
    output.exits(0);
    assert_eq!(refusals.told(), Vec::<String>::new());
    assert_eq!(server.requests_to("/newsletter"), 7);
    // A value as it was recorded is refused: one of them in the place of what is read makes the test fail.
    let place = "{{get_products.response.items[1].id}}";
    assert!(source.contains(place), "{source}");
    let made = Files::single("correlated", &source.replace(place, "42")).create();
    let smoke = with_secrets(made.cargo("test --test load"), &server.url());
    let output = smoke.run();
    assert!(!output.status.success(), "{output}");
    let told = refusals.told();
    assert!(
        told[0].starts_with("GET /api/products/42: the target is"),
        "{told:?}"
    );
}

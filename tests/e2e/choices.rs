//! Steps of which one runs at most, and branches that follow them.

use crate::site::{Sandbox, assert_balanced, site, step, total};
use crate::smoke::smoke;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::metrics::RootCause;
use loadtest_tests::{Reply, Server};
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        one_of_a_choice_runs_and_its_branch_follows,
        a_choice_is_listed_planned_and_exported,
        a_test_runs_all_of_a_choice,
    ]
}

const JOURNEYS: u64 = 600;

fn server() -> Server {
    Server::start(|_| Reply::json(r#"{"id":7}"#))
}

fn one_of_a_choice_runs_and_its_branch_follows() {
    let server = server();
    let sandbox = Sandbox::new();
    let line = format!("choices::views --iterations {JOURNEYS} --users 4 --seed 11 --verbose");
    let output = sandbox.run(&line, &server).run().exits(0);
    let sent = |path| server.requests_to(path);
    assert_eq!(sent("/grid") + sent("/rows") + sent("/map"), JOURNEYS);
    assert_eq!(sent("/grid/7"), sent("/grid"));
    assert_eq!(sent("/grid/next"), sent("/grid"));
    assert_eq!(sent("/rows/next"), sent("/rows"));
    assert_eq!(sent("/from-grid"), sent("/grid"));
    assert_eq!(sent("/from-elsewhere"), sent("/rows") + sent("/map"));
    let offers = sent("/gift") + sent("/sale");
    assert!((200..400).contains(&offers), "{offers}");

    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    assert_eq!((all.journey.ok, all.journey.failed), (JOURNEYS, 0));
    for (name, path) in [("grid", "/grid"), ("rows", "/rows"), ("map", "/map")] {
        let tally = step(&record, &all, name);
        assert_eq!(tally.executed, sent(path), "{name}");
        assert_eq!(tally.not_drawn, JOURNEYS - sent(path), "{name}");
    }
    let next = step(&record, &all, "next");
    assert_eq!(next.skipped_not_drawn, JOURNEYS - sent("/grid"));
    let mut causes = all.dependencies.iter().map(|one| one.cause.root);
    assert!(causes.all(|root| root == RootCause::NotDrawn));
    assert!(
        output.stdout.contains("\n  Executions by step\n"),
        "{output}"
    );

    let again = Sandbox::new();
    again.run(&line, &server).run().exits(0);
    assert_eq!(sent("/grid") % 2, 0, "the same seed chooses the same");
    let record = again.record();
    let all = total(&record);
    assert_eq!(2 * step(&record, &all, "map").executed, sent("/map"));
}

fn a_choice_is_listed_planned_and_exported() {
    let sandbox = Sandbox::new();
    sandbox
        .tool("list", "choices::views")
        .run()
        .exits(0)
        .prints(&[
            "weight 0.7; one of `view`",
            "weight 0.25; one of `offer`",
            "weight 1 (effective 0.7); uses zoom",
        ]);
    let plan = sandbox
        .tool("plan", "choices::views --iterations 1000 --format json")
        .args(["--base-url", "http://127.0.0.1:1"])
        .run()
        .exits(0);
    let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON and nothing else");
    let totals: Vec<_> = (0..9)
        .map(|at| plan[0]["steps"][at]["requests"]["total"].as_f64())
        .collect();
    let expected = [700, 250, 200, 100, 250, 700, 700, 200, 1000];
    assert_eq!(totals, expected.map(|total| Some(f64::from(total))));

    let export = sandbox.tool("export", "choices::views").run().exits(0);
    let export: Value = serde_json::from_str(&export.stdout).expect("JSON and nothing else");
    assert_eq!(export["steps"][3]["one_of"], "view");
    assert_eq!(export["steps"][5]["one_of"], Value::Null);
    assert_eq!(export["steps"][6]["uses"][0]["step"], "zoom");
}

fn a_test_runs_all_of_a_choice() {
    let server = server();
    smoke(site(), "--exact choices::views")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(0)
        .prints(&["1 passed"]);
    assert_eq!(server.requests(), 9);
}

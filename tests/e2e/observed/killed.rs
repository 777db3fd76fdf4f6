//! A tool that is killed leaves what it read beside the journal.

use super::{page, source};
use crate::call::{Running, wait_for};
use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;
use serde_json::Value;

pub(super) fn trials() -> Vec<Trial> {
    trials![
        a_run_whose_tool_is_killed_has_what_was_observed,
        a_search_whose_tool_is_killed_has_what_was_observed,
    ]
}

/// Kills the tool once a page was asked so often, and waits for what the load test writes at its end.
fn kill(sandbox: &Sandbox, running: Running, page: &Server, asked: u64, last: (&str, &str)) {
    wait_for("the questions", || (page.requests() >= asked).then_some(()));
    running.signal(Signal::KILL);
    running.output();
    let (file, part) = last;
    let path = sandbox.only_run().0.join(file);
    wait_for("the end of the load", || {
        let text = std::fs::read_to_string(&path).ok()?;
        text.contains(part).then_some(())
    });
}

fn a_run_whose_tool_is_killed_has_what_was_observed() {
    // Grows by one with every question.
    let page = Server::recording(|request| {
        Reply::text(format!("jobs 7\nwork_total {}\n", request.sequence))
    });
    let silent = Server::start(|request| match request.sequence {
        0 => Reply::text("jobs{zone=\"a\"} 7\n"),
        _ => Reply::status(503),
    });
    let sandbox = Sandbox::with(&format!(
        "[[observe]]\nname = \"db\"\nscrape = \"{}\"\nmetrics = [\n\
         {{ name = \"queue\", family = \"jobs\", unit = \"jobs\", limit = \"max < 5\" }},\n\
         {{ name = \"cpu\", family = \"work_total\", as = \"rate\", unit = \"cores\", per = \"request\", limit = \"mean < 1us\" }},\n]\n{}",
        page.url(),
        source(
            "silent",
            &silent.url(),
            "jobs",
            ", by = \"zone\", limit = \"max < 5\""
        )
    ));
    let target = Server::start(shop);
    let line = "single --rate 20/s --duration 600s --ramp-up 0s";
    // One question before the run.
    let running = sandbox.run(line, &target).start();
    kill(
        &sandbox,
        running,
        &page,
        5,
        ("record-1.json", "interrupted"),
    );
    let run = sandbox.only_run();
    assert!(!run.0.join("record.json").exists());
    let exports = "report latest --export json --export html --export markdown --export csv";
    let output = sandbox.call().line(exports).run();
    output
        .exits(105)
        .prints(&["INTERRUPTED", "db queue", "7 jobs"]);
    let report: Value = serde_json::from_str(&run.text("report.json")).expect("JSON");
    let row = |name: &str| {
        let rows = report["cards"][0]["observed"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["name"] == name);
        row.unwrap_or_else(|| panic!("{name}: {rows:?}")).clone()
    };
    let queue = row("db queue");
    assert_eq!(queue["mean"], 7.0);
    assert_eq!(queue["holds"], false);
    let known = queue["course"].as_array().expect("a course").iter();
    assert!(known.filter(|mean| !mean.is_null()).count() >= 2, "{queue}");
    assert_eq!(row("db cpu")["holds"], false);
    assert!(row("db cpu")["mean"].as_f64() > Some(0.0));
    let silent = row("silent");
    assert_eq!(silent["holds"], false);
    assert_eq!(silent["gap"], "503 Service Unavailable");
    #[cfg(target_os = "linux")]
    assert!(row("target memory")["mean"].as_f64() > Some(1e6));
    for (file, part) in [
        ("report.html", "max of <code>db queue</code>: 7 jobs"),
        ("report.html", "db cpu"),
        ("report.md", "db queue"),
        ("report.csv", ",observed,db queue,"),
    ] {
        assert!(run.text(file).contains(part), "{file}: {part}");
    }
}

fn a_search_whose_tool_is_killed_has_what_was_observed() {
    let page = page("jobs 7\n");
    let sandbox = Sandbox::with(&source("queue", &page.url(), "jobs", ", unit = \"jobs\""));
    let target = Server::start(shop);
    let line = "site::load::single --from 10/s --max 1000/s --window 2s --confirm 2s --ramp-up 0s --rest 0s";
    let call = sandbox.tool("capacity", line);
    let call = call.args(["--slo", "p95 < 10s", "--base-url", &target.url()]);
    let mut running = call.start();
    running.wait_until_it_says("20/s");
    kill(&sandbox, running, &page, 6, ("search.jsonl", "\"end\":"));
    let output = sandbox.call().line("report latest --export json=-").run();
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let trial = &report["capacity"]["trials"][0];
    assert_eq!(trial["observed"][0]["name"], "queue");
    assert_eq!(trial["observed"][0]["max"], 7.0);
    assert_eq!(report["cards"][0]["observed"][0]["name"], "queue");
    assert_eq!(report["cards"][0]["observed"][0]["max"], 7.0);
}

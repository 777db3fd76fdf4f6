//! Raw samples: a line for each execution, request and journey, and none more.

use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::metrics::StepTally;
use loadtest_model::record::ScenarioRecord;
use loadtest_tests::{Reply, Server};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        lines_add_up_to_the_accounts_of_the_run,
        requests_of_an_async_step_have_lines_and_names,
        scenarios_at_once_share_one_table,
        a_compressed_file_holds_the_same_lines,
        a_share_of_the_journeys_is_kept_whole_and_again_with_the_seed,
        standard_output_gets_lines_in_place_of_the_card,
        mistakes_are_refused_before_anything_is_sent,
        a_shard_keeps_its_own,
    ]
}

fn parse(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

/// Compares lines with the published schema.
#[track_caller]
fn assert_valid(lines: &[Value]) {
    let schema = serde_json::from_str(include_str!("../../docs/samples.schema.json"));
    let schema = jsonschema::validator_for(&schema.expect("JSON")).expect("a schema");
    for line in lines {
        if let Err(error) = schema.validate(line) {
            panic!("{error}\n{line}");
        }
    }
}

/// Compares the lines about a scenario with its accounts.
#[track_caller]
fn assert_add_up(lines: &[Value], record: &ScenarioRecord) {
    let identity = record.start.definition.identity();
    let own = lines.iter().filter(|line| line["scenario"] == identity);
    let of_kind = |kind: &str| own.clone().filter(|line| line["kind"] == kind).collect();
    let journeys: Vec<&Value> = of_kind("journey");
    let steps: Vec<&Value> = of_kind("step");
    let sum = |name: &str, count: &dyn Fn(&StepTally) -> u64| -> u64 {
        let at = record.start.definition.steps.iter();
        let at = at.into_iter().position(|step| step.name == name);
        let windows = record.windows.all().into_iter();
        let tallies = windows.filter_map(|tally| tally.steps.get(at.expect("a step")));
        tallies.map(count).sum()
    };
    for step in record.start.definition.steps.iter() {
        let mine = steps.iter().filter(|line| line["step"] == *step.name);
        let mine: Vec<_> = mine.collect();
        let failed = mine.iter().filter(|line| line["ok"] == false);
        assert_eq!(mine.len() as u64, sum(&step.name, &|tally| tally.executed));
        assert_eq!(
            failed.count() as u64,
            sum(&step.name, &|tally| tally.failed)
        );
        let sent = mine.iter().filter_map(|line| line["sent"].as_u64());
        assert_eq!(
            sent.sum::<u64>(),
            sum(&step.name, &|tally| tally.sent_bytes)
        );
        let received = mine.iter().filter_map(|line| line["received"].as_u64());
        let bytes = sum(&step.name, &|tally| tally.received_bytes);
        assert_eq!(received.sum::<u64>(), bytes);
    }
    let windows = record.windows.all().into_iter();
    let ended: u64 = windows
        .map(|tally| tally.journey.ok + tally.journey.failed)
        .sum();
    assert_eq!(journeys.len() as u64, ended);
    let account = record.end.samples.as_ref().expect("an account");
    let all = own.filter(|line| line["kind"] != "run").count();
    assert_eq!((account.written, account.lost), (all as u64, 0));
}

fn lines_add_up_to_the_accounts_of_the_run() {
    let server = Server::start(|request| match request.sequence % 7 {
        3 => Reply::status(503),
        _ => shop(request),
    });
    let sandbox = Sandbox::new();
    let line = "journey --rate 40/s --ramp-up 500ms --duration 1s --samples runs/{run}/all.jsonl";
    let output = sandbox.run(line, &server).run().exits(99);
    let run = sandbox.only_run();
    let lines = parse(&run.text("all.jsonl"));
    output.says(&[&format!("Kept {} samples in ", lines.len() - 1)]);
    assert_valid(&lines);
    let record = run.scenario();
    assert_add_up(&lines, &record);
    assert_eq!(lines[0]["kind"], "run");
    assert_eq!(lines[0]["run"], *run.name());
    assert_eq!(
        lines[0]["steps"],
        serde_json::json!(["login", "browse", "order", "show"])
    );
    let refused = lines.iter().filter(|line| line["status"] == 503);
    assert!(refused.clone().count() > 0);
    assert!(
        refused
            .clone()
            .all(|line| line["error"] == "status" && line["ok"] == false)
    );
    for window in ["ramp", "steady"] {
        assert!(
            lines.iter().any(|line| line["window"] == window),
            "{window}"
        );
    }
    let left = std::fs::read_dir(&run.0).expect("the folder of the run");
    let names = left.map(|entry| entry.expect("an entry").file_name());
    let names: Vec<_> = names
        .map(|name| name.into_string().expect("text"))
        .collect();
    assert!(
        !names.iter().any(|name| name.starts_with("samples-")),
        "{names:?}"
    );
}

fn requests_of_an_async_step_have_lines_and_names() {
    let polls = std::sync::atomic::AtomicUsize::new(0);
    let server =
        Server::start(
            move |request| match (request.method.as_str(), request.path.as_str()) {
                ("POST", "/orders") => Reply::status(201).body(r#"{"id":99}"#),
                ("GET", "/orders/99") => {
                    match polls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) % 3 {
                        2 => Reply::json(r#"{"id":99}"#),
                        _ => Reply::status(404),
                    }
                }
                _ => Reply::status(200),
            },
        );
    let sandbox = Sandbox::new();
    sandbox.run("polls --samples all.jsonl", &server).run();
    let text = std::fs::read_to_string(sandbox.root().join("all.jsonl")).expect("samples");
    let lines = parse(&text);
    assert_valid(&lines);
    assert_add_up(&lines, &sandbox.record());
    let requests = lines.iter().filter(|line| line["kind"] == "request");
    let asked: Vec<_> = requests
        .filter(|line| line["request"] == "GET /orders/{}")
        .collect();
    assert_eq!(asked.len() as u64, server.requests_to("/orders/99"));
    let statuses: BTreeSet<_> = asked
        .iter()
        .filter_map(|line| line["status"].as_u64())
        .collect();
    assert_eq!(statuses, BTreeSet::from([200, 404]));
    assert!(asked.iter().all(|line| line["step"] == "wait"));
}

fn scenarios_at_once_share_one_table() {
    for mix in ["", "--mix "] {
        let (server, sandbox) = (Server::start(shop), Sandbox::new());
        let line = format!("{mix}single journey --iterations 20 --users 4 --samples all.csv");
        sandbox.run(&line, &server).run().exits(0);
        let text = std::fs::read_to_string(sandbox.root().join("all.csv")).expect("samples");
        let (header, rows) = text.split_once("\r\n").expect("a header");
        let columns: Vec<_> = header.split(',').collect();
        assert_eq!(columns[..4], ["time", "scenario", "kind", "step"]);
        let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split(',').collect()).collect();
        assert!(rows.iter().all(|row| row.len() == columns.len()));
        let record = sandbox.only_run().record();
        for scenario in &record.scenarios {
            let identity = scenario.start.definition.identity();
            let own = rows.iter().filter(|row| row[1] == identity).count() as u64;
            let account = scenario.end.samples.as_ref().expect("an account");
            assert_eq!((account.written, account.lost), (own, 0));
            assert!(own > 0);
        }
    }
}

fn a_compressed_file_holds_the_same_lines() {
    let (server, sandbox) = (Server::start(shop), Sandbox::new());
    let line = "journey --iterations 30 --samples all.jsonl.gz";
    sandbox.run(line, &server).run().exits(0);
    let unpacked = Command::new("gzip")
        .args(["-dc", "all.jsonl.gz"])
        .current_dir(sandbox.root())
        .output()
        .expect("gzip runs");
    assert!(unpacked.status.success());
    let lines = parse(&String::from_utf8(unpacked.stdout).expect("text"));
    assert_valid(&lines);
    assert_add_up(&lines, &sandbox.record());
}

fn a_share_of_the_journeys_is_kept_whole_and_again_with_the_seed() {
    let (server, sandbox) = (Server::start(shop), Sandbox::new());
    let kept = |seed: u32| {
        let line = format!(
            "journey --iterations 200 --users 2 --seed {seed} --samples some.jsonl --samples-share 20%"
        );
        sandbox.run(&line, &server).run().exits(0);
        let text = std::fs::read_to_string(sandbox.root().join("some.jsonl")).expect("samples");
        let lines = parse(&text);
        let of_kind = |kind: &str| {
            let own = lines.iter().filter(|line| line["kind"] == kind);
            own.filter_map(|line| line["iteration"].as_u64())
                .collect::<Vec<_>>()
        };
        let journeys: BTreeSet<_> = of_kind("journey").into_iter().collect();
        let steps: BTreeSet<_> = of_kind("step").into_iter().collect();
        assert_eq!(journeys, steps);
        assert_eq!(of_kind("step").len(), journeys.len() * 4);
        journeys
    };
    let (first, again, other) = (kept(5), kept(5), kept(6));
    assert!((20..60).contains(&first.len()), "{}", first.len());
    assert_eq!(first, again);
    assert_ne!(first, other);
}

fn standard_output_gets_lines_in_place_of_the_card() {
    let (server, sandbox) = (Server::start(shop), Sandbox::new());
    let output = sandbox
        .run("single --iterations 9 --samples -", &server)
        .run()
        .exits(0);
    let lines = parse(&output.stdout);
    assert_valid(&lines);
    assert_add_up(&lines, &sandbox.record());
}

fn mistakes_are_refused_before_anything_is_sent() {
    let (server, sandbox) = (Server::start(shop), Sandbox::new());
    for (line, words) in [
        ("--samples all.txt", "end the name with `.jsonl`, `.csv`"),
        ("--samples all.jsonl --samples-share 0%", "keeps nothing"),
        ("--samples all.jsonl --samples-share 3", "has no unit"),
        ("--samples-share 3%", "--samples"),
        ("--samples - --export json=-", "give one of them a file"),
        ("--samples - --send json=-", "give one of them a file"),
        (
            "--samples runs/{run}/record.jsonl/x.csv --samples-share 101%",
            "more than all",
        ),
        ("--samples /proc/none/x.jsonl", "cannot be written"),
    ] {
        let line = format!("single --iterations 1 {line}");
        sandbox
            .run(&line, &server)
            .run()
            .exits(2)
            .has_one_error()
            .says(&[words]);
    }
    assert_eq!(server.requests(), 0);
}

fn a_shard_keeps_its_own() {
    let (server, sandbox) = (Server::start(shop), Sandbox::new());
    let mut all = BTreeSet::new();
    for shard in ["1/2", "2/2"] {
        let line =
            format!("journey --iterations 20 --users 4 --shard {shard} --samples part.jsonl");
        sandbox.run(&line, &server).run().exits(0);
        let text = std::fs::read_to_string(sandbox.root().join("part.jsonl")).expect("samples");
        for line in parse(&text).iter().filter(|line| line["kind"] == "journey") {
            assert!(all.insert(line["iteration"].as_u64()));
        }
    }
    assert_eq!(all.len(), 20);
}

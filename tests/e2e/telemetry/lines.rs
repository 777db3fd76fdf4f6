//! Lines of JSON, and the same run sent again.

use super::{assert_delivered, assert_lines_agree, last_line, read_lines, sink};
use crate::cluster::{Broker, Cluster};
use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use serde_json::Value;

pub(super) fn trials() -> Vec<Trial> {
    let mut trials = trials![
        lines_in_a_file_agree_with_the_record,
        lines_on_standard_output_take_the_place_of_the_card,
        scenarios_at_once_and_in_turn_have_lines_of_their_own,
        a_search_sends_its_trials,
        an_earlier_run_is_sent_with_the_same_lines,
        a_run_without_a_journal_or_a_sink_is_refused,
        a_record_is_never_overwritten,
    ];
    trials.extend(trials![needing "nats-server": a_cluster_sends_the_sum_of_its_agents,]);
    trials
}

const INTO_RUN: &str = "format = \"json\"\npath = \"runs/{run}/intervals.jsonl\"";

fn lines_in_a_file_agree_with_the_record() {
    let server = Server::start(|request| match request.sequence % 7 {
        3 => Reply::status(503),
        _ => shop(request),
    });
    let sandbox = Sandbox::with(&format!(
        "[telemetry]\nlabels = {{ service = \"shop\" }}\n{}",
        sink(INTO_RUN)
    ));
    let output = sandbox
        .run("journey --rate 40/s --duration 3s", &server)
        .run();
    output
        .exits(99)
        .says(&["intervals delivered"])
        .prints(&["FAILED"]);
    let run = sandbox.only_run();
    assert_delivered(&run.record());
    let lines = read_lines(&run.0.join("intervals.jsonl"));
    assert_lines_agree(&lines, &run.scenario());
    for line in &lines {
        assert_eq!(line["run"], *run.name());
        assert_eq!(line["labels"]["service"], "shop");
    }
    let limit = lines
        .iter()
        .rev()
        .find(|line| line["condition"] == "errors < 1 %");
    assert_eq!(limit.expect("the limit")["gauges"]["held"], 0);
}

fn lines_on_standard_output_take_the_place_of_the_card() {
    let (server, sandbox) = (Server::start(shop), Sandbox::new());
    let run = sandbox
        .run("single --iterations 9 --send json=-", &server)
        .run();
    let output = run.exits(0);
    let lines: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("nothing but lines"))
        .collect();
    assert_lines_agree(&lines, &sandbox.record());
}

fn scenarios_at_once_and_in_turn_have_lines_of_their_own() {
    for mix in ["", "--mix "] {
        let (server, sandbox) = (Server::start(shop), Sandbox::with(&sink(INTO_RUN)));
        let line = format!("{mix}single journey --iterations 20 --users 4");
        sandbox.run(&line, &server).run().exits(0);
        let run = sandbox.only_run();
        let record = run.record();
        assert_delivered(&record);
        let lines = read_lines(&run.0.join("intervals.jsonl"));
        assert_eq!(record.scenarios.len(), 2);
        for scenario in &record.scenarios {
            assert_lines_agree(&lines, scenario);
        }
    }
}

fn a_search_sends_its_trials() {
    let (server, sandbox) = (Server::start(shop), Sandbox::with(&sink(INTO_RUN)));
    let line = "single --profile test --slo p95<9s --from 10/s --max 20/s --window 1s --confirm 1s";
    let call = sandbox.call().arg("capacity").line(line);
    call.args(["--base-url", &server.url()]).run().exits(0);
    let run = sandbox.only_run();
    assert_delivered(&run.record());
    let lines = read_lines(&run.0.join("intervals.jsonl"));
    // Each trial begins anew.
    let journeys = |line: &&Value| {
        line["step"].is_null() && line["condition"].is_null() && line["second"] == 0
    };
    let begun = lines.iter().filter(journeys).count();
    assert!(begun >= 2, "{begun}");
    assert_lines_agree(&lines, &run.record().scenarios[0]);
}

fn an_earlier_run_is_sent_with_the_same_lines() {
    let (server, sandbox) = (
        Server::start(shop),
        Sandbox::with(&sink("format = \"json\"\npath = \"lines.jsonl\"")),
    );
    sandbox
        .run("journey --rate 30/s --duration 3s", &server)
        .run()
        .exits(0);
    let path = sandbox.root().join("lines.jsonl");
    let live = std::fs::read_to_string(&path).expect("the lines");
    std::fs::remove_file(&path).expect("our own file");
    let asked = server.requests();
    for line in ["", "latest --to 1", "latest --send json=lines.jsonl"] {
        let sent = sandbox.call().arg("send").line(line).run().exits(0);
        sent.says(&["intervals delivered"]);
        let again = std::fs::read_to_string(&path).expect("the lines");
        assert_eq!(again, live, "{line}");
    }
    assert_eq!(server.requests(), asked, "nothing is run again");
    sandbox
        .call()
        .arg("send")
        .line("--to 2")
        .run()
        .exits(2)
        .says(&["there is no sink 2"]);
}

fn a_run_without_a_journal_or_a_sink_is_refused() {
    let (server, sandbox) = (Server::start(shop), Sandbox::new());
    sandbox.run("single --iterations 3", &server).run().exits(0);
    let send = |line: &str| sandbox.call().arg("send").line(line).run();
    send("")
        .exits(2)
        .says(&["there is no sink to send to", "--send otlp="]);
    let page = send("--send prometheus=127.0.0.1:0");
    page.exits(2)
        .says(&["a page to be scraped gets no earlier run"]);
    let journal = sandbox.only_run().0.join("journal-1.jsonl.gz");
    std::fs::remove_file(journal).expect("the journal");
    send("--send json=-")
        .exits(3)
        .says(&["has no journal to send"]);
}

fn a_record_is_never_overwritten() {
    let (server, sandbox) = (Server::start(shop), Sandbox::new());
    sandbox.run("single --iterations 3", &server).run().exits(0);
    let run = sandbox.only_run();
    let before = run.text("record.json");
    let to = format!("--send json={}", run.0.join("record.json").display());
    let sent = sandbox.call().arg("send").line(&to).run();
    sent.exits(1).says(&["part of the record of a run"]);
    assert_eq!(run.text("record.json"), before);
}

fn a_cluster_sends_the_sum_of_its_agents() {
    let cluster = Cluster::<2>::on(Broker::start());
    let sandbox = Sandbox::with(&sink(INTO_RUN));
    let run = cluster.run_in(sandbox, "single --rate 60/s --duration 3s");
    run.running.output().exits(0);
    let folder = run.sandbox.only_run();
    assert_delivered(&folder.record());
    let lines = read_lines(&folder.0.join("intervals.jsonl"));
    assert_lines_agree(&lines, &folder.scenario());
    let line = last_line(&lines, "single", None);
    assert_eq!(line["totals"]["journeys"]["ok"], 180);
}

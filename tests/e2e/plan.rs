//! What a run would send, told without sending anything.

use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_plan_sends_nothing_and_makes_no_run,
        overrides_and_their_mistakes_are_those_of_a_run,
        a_plan_runs_no_setup,
        a_plan_says_where_a_run_may_send,
        a_plan_foretells_what_a_run_does,
    ]
}

#[track_caller]
fn only(stdout: &str) -> Value {
    let mut all: Vec<Value> =
        serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}\n{stdout}"));
    assert_eq!(all.len(), 1, "one scenario\n{stdout}");
    all.remove(0)
}

fn a_plan_sends_nothing_and_makes_no_run() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    sandbox
        .tool("plan", "journey --rate 10/s --duration 20s --ramp-up 4s")
        .args(["--base-url", &server.url()])
        .run()
        .exits(0)
        .prints(&[
            "site::load::journey [quick]",
            "10/s for 20 s, ramp-up 4 s (open model)",
            "180 in 20 s; 10/s when steady",
            "permitted: loopback",
            "GET /orders/{{order.response.id}}",
            "20 users at most",
        ]);
    assert_eq!(server.requests(), 0);
    assert!(sandbox.runs().is_empty());
}

fn overrides_and_their_mistakes_are_those_of_a_run() {
    let sandbox = Sandbox::new();
    let output = sandbox.tool("plan", "journey single --ramp-up 20s").run();
    let planned = output.exits(2).has_one_error().says(&[
        "`site::load::journey`: `--ramp-up` has no meaning",
        "`site::load::single`: the ramp of 20s leaves nothing",
    ]);
    let refused = sandbox.tool("run", "journey single --ramp-up 20s").run();
    let error = |text: &str| text[text.find("error").unwrap_or(0)..].to_owned();
    assert_eq!(
        error(&planned.stderr),
        error(&refused.exits(2).stderr),
        "a run says the same"
    );
    sandbox
        .tool("plan", "jurney")
        .run()
        .exits(3)
        .has_one_error()
        .says(&["did you mean `site::load::journey`?"]);
}

fn a_plan_runs_no_setup() {
    // Its setup would start a target that dies, and a run of it fails.
    Sandbox::new()
        .tool("plan", "own_deaf")
        .run()
        .exits(0)
        .prints(&[
            "started by the scenario on this machine: permitted",
            "as many as the target allows",
            "so the rate depends on the",
        ]);
}

fn a_plan_says_where_a_run_may_send() {
    let sandbox = Sandbox::new();
    let target = |line: &str, variable: &str| {
        let output = sandbox
            .tool(
                "plan",
                &format!("--exact site::load::own --format json {line}"),
            )
            .env("LOADTEST_BASE_URL", variable)
            .run()
            .exits(0);
        only(&output.stdout)["target"].clone()
    };
    let seen = |target: &Value| {
        let host = &target["hosts"][0];
        [&target["from"], &host["name"], &host["permission"]].map(Value::to_string)
    };
    assert_eq!(target("", "")["from"], "setup");
    assert_eq!(
        seen(&target("", "http://localhost:1")),
        ["\"environment\"", "\"localhost\"", "\"permitted\""]
    );
    assert_eq!(
        seen(&target(
            "--base-url http://192.0.2.1/x",
            "http://localhost:1"
        )),
        ["\"command_line\"", "\"192.0.2.1\"", "\"refused\""]
    );
}

fn a_plan_foretells_what_a_run_does() {
    let sandbox = Sandbox::new();
    let line = "single --iterations 7 --users 2";
    let output = sandbox
        .tool("plan", &format!("{line} --seed 3 --format json"))
        .run();
    let plan = only(&output.exits(0).stdout);
    assert_eq!(plan["seed"], 3);
    assert_eq!(plan["max_users"], 2);
    assert_eq!(plan["iterations"]["per_second"], Value::Null);
    let server = Server::start(|_| Reply::text("ok"));
    sandbox.run(line, &server).run().exits(0);
    let sent = u32::try_from(server.requests()).expect("few");
    assert_eq!(plan["requests"]["total"], f64::from(sent));
    assert_eq!(plan["steps"][0]["requests"]["bound"], "expected");
}

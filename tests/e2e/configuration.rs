//! `loadtest.toml`: what a team agrees on.

use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::definition::Letter;
use loadtest_model::definition::Shape;
use loadtest_tests::{Reply, Server};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        every_mistake_is_told_with_its_line,
        a_file_that_is_no_toml_is_refused,
        the_grading_of_the_team_is_in_the_record,
        a_variable_wins_over_the_file_and_a_flag_over_both,
        a_bad_variable_is_an_error_and_a_misspelt_one_a_warning,
        a_load_under_a_name_is_run_and_flags_change_it_further,
        an_unknown_load_is_refused_before_anything_is_built,
        what_is_in_force_is_shown_with_where_it_is_from,
        members_below_tester_may_look_but_not_run,
        a_free_plan_runs_single_requests_only,
    ]
}

fn every_mistake_is_told_with_its_line() {
    let server = Server::start(|_| Reply::text("ok"));
    // The first two lines are `[store]` and its directory.
    let sandbox = Sandbox::with("[grading]\napdx = \"300ms\"\nbudget = \"lots\"\n\n[gradin]\n");
    let output = sandbox
        .run("single --iterations 3", &server)
        .run()
        .exits(2)
        .has_one_error()
        .says(&[
            "loadtest.toml",
            "line 4: unknown key `apdx`; did you mean `apdex`?",
            "line 5: `budget = \"lots\"`",
            "line 7: unknown key `gradin`; did you mean `grading`?",
        ])
        .says_no("Compiling");
    assert_eq!(server.connections(), 0, "{output}");
    assert!(sandbox.runs().is_empty());
}

fn a_file_that_is_no_toml_is_refused() {
    let sandbox = Sandbox::with("[[targets]]\nhost = \"127.0.0.1\"\n");
    sandbox
        .tool("run", "single")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["line 3", "a target needs `owner`"]);
    let sandbox = Sandbox::with("[grading\n");
    sandbox
        .tool("run", "single")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["loadtest.toml", "line 3"]);
}

fn the_grading_of_the_team_is_in_the_record() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::with("[grading]\napdex = \"1234ms\"\nbudget = \"7%\"\n");
    let output = sandbox.run("single --iterations 3", &server).run();
    output.exits(0);
    let grading = sandbox.record().start.plan.grading[0];
    assert_eq!(grading.target, Duration::from_millis(1234));
    assert!((grading.budget - 0.07).abs() < 1e-9);
}

/// The rate of the load that the record holds.
#[track_caller]
fn rate(sandbox: &Sandbox) -> f64 {
    match sandbox.record().start.plan.load.shape {
        Shape::Rate { per_second, .. } => per_second,
        shape => panic!("a rate, and not {shape:?}"),
    }
}

fn a_variable_wins_over_the_file_and_a_flag_over_both() {
    let server = Server::start(|_| Reply::text("ok"));
    let file = "[run]\nseed = 1\nmin_grade = \"F\"\n[ci]\nseed = 2\n[grading]\napdex = \"300ms\"\n";
    let seed = |line: &str, variable: &str| {
        let sandbox = Sandbox::with(file);
        let call = sandbox.run(&format!("single --iterations 3 {line}"), &server);
        call.env("LOADTEST_RUN_SEED", variable)
            .env("LOADTEST_GRADING_APDEX", "200ms")
            .run();
        let plan = sandbox.record().start.plan;
        assert_eq!(plan.grading[0].target, Duration::from_millis(200));
        assert_eq!(plan.min_grade, Some(Letter::F));
        plan.seed
    };
    assert_eq!(seed("", ""), 1);
    assert_eq!(seed("", "3"), 3);
    assert_eq!(seed("--seed 4", "3"), 4);
}

fn a_bad_variable_is_an_error_and_a_misspelt_one_a_warning() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let output = sandbox
        .run("single --iterations 3", &server)
        .env("LOADTEST_GRADING_APDEX", "soon")
        .run();
    let output = output
        .exits(2)
        .has_one_error()
        .says(&["`LOADTEST_GRADING_APDEX=soon` is not a length of time"])
        .says_no("Compiling");
    assert_eq!(server.connections(), 0, "{output}");
    sandbox
        .tool("config", "")
        .env("LOADTEST_GRADING_APDX", "1s")
        .env("LOADTEST_API_TOKEN", "s3cret")
        .run()
        .exits(0)
        .says(&[
            "warning: `LOADTEST_GRADING_APDX` is not read; did you mean `LOADTEST_GRADING_APDEX`?",
        ])
        .says_no("TOKEN");
}

const LOADS: &str = "[load.brisk]\nrate = \"50/s\"\nduration = \"200ms\"\n[load.soak]\nusers = 9\n";

fn a_load_under_a_name_is_run_and_flags_change_it_further() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::with(LOADS);
    sandbox.run("single --load brisk", &server).run();
    assert!((rate(&sandbox) - 50.0).abs() < 1e-9);
    let sandbox = Sandbox::with(LOADS);
    sandbox
        .run("single --load brisk --duration 100ms", &server)
        .run();
    let load = sandbox.record().start.plan.load;
    assert!((rate(&sandbox) - 50.0).abs() < 1e-9);
    assert_eq!(load.duration(), Some(Duration::from_millis(100)));
    let sandbox = Sandbox::with(LOADS);
    for (line, words) in [
        ("--load brisk", "50/s for 200 ms"),
        ("--load brisk --users 4", "4 users for 200 ms"),
        ("--load soak", "9 users"),
    ] {
        let plan = sandbox.tool("plan", &format!("single {line}"));
        plan.run().exits(0).prints(&[words]);
    }
    let sandbox = Sandbox::with(&format!("[run]\nload = \"brisk\"\n{LOADS}"));
    let url = server.url();
    for command in ["plan", "debug"] {
        let call = sandbox.tool(command, "single").args(["--base-url", &url]);
        call.run().exits(0).prints(&["50/s for 200 ms"]);
    }
    let call = sandbox
        .tool("plan", "single")
        .env("LOADTEST_RUN_LOAD", "soak");
    call.run().exits(0).prints(&["9 users"]);
}

fn an_unknown_load_is_refused_before_anything_is_built() {
    for command in ["run", "plan", "debug"] {
        let sandbox = Sandbox::with(LOADS);
        sandbox
            .tool(command, "single --load brsk")
            .run()
            .exits(2)
            .has_one_error()
            .says(&["there is no load `brsk`; did you mean `brisk`? Available: `brisk` and `soak`"])
            .says_no("Finished");
        assert!(sandbox.runs().is_empty());
    }
    let sandbox = Sandbox::with("[run]\nload = \"brsk\"\n");
    sandbox
        .tool("run", "single")
        .run()
        .exits(2)
        .has_one_error()
        .says(&[
            "loadtest.toml: line 4: there is no load `brsk`; `loadtest.toml` has no `[load.NAME]`",
        ]);
}

fn what_is_in_force_is_shown_with_where_it_is_from() {
    let sandbox = Sandbox::with(&format!(
        "[grading]\napdex = \"300ms\"\n[[notify]]\nurl = \"https://hooks.example.com/T0SECRET\"\n{LOADS}"
    ));
    let output = sandbox
        .tool("config", "")
        .env("LOADTEST_GRADING_BUDGET", "3%")
        .run()
        .exits(0)
        .says_no("T0SECRET");
    for (key, value, place) in [
        ("directory", "runs", "loadtest.toml:2"),
        ("apdex", "300ms", "loadtest.toml:4"),
        ("budget", "3%", "LOADTEST_GRADING_BUDGET"),
        ("max_age", "of any age", "built-in"),
        ("brisk", "50/s, for 200ms", "loadtest.toml:7"),
    ] {
        let lines = output.stdout.lines();
        let mut of_key = lines.filter(|line| line.trim_start().starts_with(key));
        assert!(
            of_key.any(|line| line.contains(place) && line.ends_with(value)),
            "{key}: {output}"
        );
    }
    let output = sandbox.tool("config", "--format json").run().exits(0);
    let data: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    let keys = data["keys"].as_array().expect("keys");
    let apdex = keys.iter().find(|key| key["key"] == "grading.apdex");
    let apdex = apdex.expect("every key is there");
    assert_eq!(
        (&apdex["value"], &apdex["line"]),
        (&"300ms".into(), &4.into())
    );
    assert_eq!(data["notify"][0]["host"], "https://hooks.example.com");
    assert!(!output.stdout.contains("T0SECRET"));
}

const TEAM: &str =
    "[organisation.members]\nada = \"admin\"\ntess = \"tester\"\nvera = \"viewer\"\n";

fn members_below_tester_may_look_but_not_run() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::with(TEAM);
    for (user, who) in [
        ("vera", "`vera` (by LOADTEST_USER) has the level viewer"),
        (
            "mallory",
            "`mallory` (by LOADTEST_USER) is not a member of the organisation",
        ),
    ] {
        for (command, what) in [
            ("run", "running load tests"),
            ("debug", "running a journey"),
            ("capacity", "searching for a capacity"),
            ("duplicate", "duplicating scenarios"),
        ] {
            let line = if command == "duplicate" {
                "single other"
            } else {
                "single"
            };
            sandbox
                .tool(command, line)
                .env("LOADTEST_USER", user)
                .run()
                .exits(2)
                .has_one_error()
                .says(&[who, what, "needs the level tester", "ask `ada`"])
                .says_no("Finished");
        }
        let call = sandbox.tool("plan", "single").env("LOADTEST_USER", user);
        call.run().exits(0);
    }
    assert_eq!(server.connections(), 0);
    let call = sandbox.run("single --iterations 3", &server);
    call.env("LOADTEST_USER", "Tess").run();
    assert_eq!(server.requests(), 3);
    // A build server says who it is for.
    let call = sandbox.tool("run", "single").env("GITHUB_ACTOR", "vera");
    call.run().exits(2).says(&["`vera` (by GITHUB_ACTOR)"]);
}

fn a_free_plan_runs_single_requests_only() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::with("[organisation]\nplan = \"free\"\n");
    let refused = sandbox.run("single journey", &server).run();
    let output = refused
        .exits(2)
        .has_one_error()
        .says(&[
            "the plan `free` allows tests of a single request only",
            "load::journey (4 steps)",
            "`[organisation]`, loadtest.toml:4",
        ])
        .says_no("load::single (");
    assert_eq!(server.connections(), 0, "{output}");
    assert!(sandbox.runs().is_empty());
    sandbox.run("single --iterations 3", &server).run();
    assert_eq!(server.requests(), 3);
}

//! One journey at a time: what a run sends is sent again, and each request is a command that sends it too.

use crate::call::{Call, Output, wait_for};
use crate::project::{Files, Project};
use crate::site::{Sandbox, site};
use crate::smoke::built_tool;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{ClosedPort, Reply, Request, Server};
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = trials![
        an_iteration_is_sent_again_as_the_run_had_sent_it,
        users_have_iterations_of_their_own,
        every_end_of_a_step_is_told_with_its_cause,
        thinking_is_told_and_not_waited_for,
        what_there_is_not_is_a_mistake,
        what_cannot_begin_has_the_exit_code_of_a_run,
        a_target_of_the_scenario_is_started_and_stopped,
        ctrl_c_ends_a_journey,
    ];
    all.extend(trials![needing "curl": a_printed_command_sends_what_was_sent,]);
    all
}

fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT
        .get_or_init(|| Files::single("debug", include_str!("../fixtures/debug/load.rs")).create())
}

fn sandbox() -> Sandbox {
    Sandbox::at(project().root(), "")
}

fn debug(line: &str, server: &Server) -> Call {
    built_tool(project(), "debug", line).args(["--base-url", &server.url()])
}

/// A request without what differs from run to run.
fn told(request: &Request) -> String {
    let mut headers: Vec<_> = request
        .headers
        .iter()
        .filter(|(name, _)| name != "loadtest-run")
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    headers.sort();
    let body = String::from_utf8_lossy(&request.body);
    format!(
        "{} {}\n{}\n\n{body}",
        request.method,
        request.target,
        headers.join("\n")
    )
}

/// The requests of each iteration.
fn by_iteration(all: &[Request]) -> BTreeMap<String, Vec<String>> {
    let mut iterations: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for request in all {
        let iteration = request.header("x-iteration").expect("an iteration");
        iterations
            .entry(iteration.to_owned())
            .or_default()
            .push(told(request));
    }
    iterations
}

/// Runs a load, and returns what its iterations sent.
fn ran(line: &str) -> BTreeMap<String, Vec<String>> {
    let server = Server::recording(|_| Reply::json(r#"{"id":7}"#));
    let all = sandbox().run(line, &server).run().exits(0);
    let sent = sent_to(&server);
    assert!(sent.len() >= 3, "{all}");
    sent
}

/// Runs a load that ends when these iterations have been sent, and returns what all of them sent.
fn ran_until(line: &str, wanted: &[&str]) -> BTreeMap<String, Vec<String>> {
    let server = Server::recording(|_| Reply::json(r#"{"id":7}"#));
    let sandbox = sandbox();
    let running = sandbox.run(line, &server).start();
    wait_for("the iterations", || {
        let sent = by_iteration(&server.recorded());
        let mut wanted = wanted.iter();
        wanted.all(|one| sent.contains_key(*one)).then_some(())
    });
    running.signal(Signal::INT);
    running.output().exits(105);
    sent_to(&server)
}

/// The requests of each iteration.
fn sent_to(server: &Server) -> BTreeMap<String, Vec<String>> {
    // Another port is another host.
    let host = server.address().to_string();
    by_iteration(&server.recorded())
        .into_iter()
        .map(|(iteration, all)| {
            (
                iteration,
                all.iter()
                    .map(|one| one.replace(&host, "127.0.0.1:PORT"))
                    .collect(),
            )
        })
        .collect()
}

/// What an iteration sends alone.
#[track_caller]
fn alone(line: &str) -> (Vec<String>, Output) {
    let server = Server::recording(|_| Reply::json(r#"{"id":7}"#));
    let output = debug(line, &server).run().exits(0);
    let host = server.address().to_string();
    let sent = server.recorded();
    (
        sent.iter()
            .map(|one| told(one).replace(&host, "127.0.0.1:PORT"))
            .collect(),
        output,
    )
}

fn an_iteration_is_sent_again_as_the_run_had_sent_it() {
    // 40 users are two threads where there are two processors.
    let fixed = ran("drawn --seed 11");
    assert_eq!(fixed.len(), 40);
    let shapes: BTreeSet<usize> = fixed.values().map(Vec::len).collect();
    assert!(shapes.len() > 2, "not all are alike: {shapes:?}");
    let few = ran("drawn --seed 11 --iterations 40 --users 3");
    assert_eq!(few, fixed, "users share the work, and it is the same");
    for iteration in [0, 1, 7, 23, 39] {
        let (sent, output) = alone(&format!("drawn --seed 11 --iteration {iteration}"));
        assert_eq!(sent, fixed[&iteration.to_string()], "{output}");
    }
    // Arrivals have the numbers that fixed work has.
    let arrived = ran("drawn --seed 11 --rate 60/s --duration 500ms");
    for (iteration, sent) in &arrived {
        assert_eq!(sent, &fixed[iteration], "{iteration}");
    }
    let (sent, _) = alone("drawn --seed 12 --iteration 7");
    assert_ne!(sent, fixed["7"], "another seed");
}

fn users_have_iterations_of_their_own() {
    let counted = ran_until("counted --seed 3", &["0/0", "1/0", "2/4"]);
    for (user, iteration) in [(0, 0), (1, 0), (2, 4)] {
        let (sent, output) = alone(&format!("counted --seed 3 --iteration {user}.{iteration}"));
        assert_eq!(sent, counted[&format!("{user}/{iteration}")], "{output}");
        output.prints(&["kept per user, and empty here", "would think for 20.0 ms"]);
    }
    let (first, _) = alone("counted --seed 3");
    assert_eq!(first, counted["0/0"]);
}

fn every_end_of_a_step_is_told_with_its_cause() {
    let server = Server::start(|request| match request.path.as_str() {
        "/source" => Reply::json(r#"{"id":1,"token":"canary-7f3a"}"#),
        "/polled" if request.sequence < 2 => Reply::json(r#"{"done":false}"#),
        "/polled" => Reply::json(r#"{"done":true}"#),
        _ => Reply::status(503).body(r#"{"error":"out of tea","api_key":"canary-7f3a"}"#),
    });
    let output = debug("ends", &server).run().exits(99).prints(&[
        "debug::load::ends, iteration 0.0\n",
        "\n1 source\n> GET http://127.0.0.1:",
        "< 200 OK  ",
        "first byte",
        "<   \"id\": 1,\n<   \"token\": \"[redacted]\"\n",
        "\n2 refused\n",
        "< 503 Service Unavailable",
        "<   \"error\": \"out of tea\",\n",
        "failed: expected 2xx, got 503 Service Unavailable (status)\n",
        "\n3 after\nskipped: needs `refused.response.id`, but `refused` has no response: failed \
         (root cause: failed, step 2 refused)\n",
        "\n4 left_out\nleft out: nothing to do at ",
        "\n5 rare\nnot drawn, by its weight\n",
        "(root cause: not drawn, step 5 rare)\n",
        "\njourney failed: 1 failed, 1 left out, 1 not drawn, 2 ok, 2 skipped\n",
    ]);
    assert_eq!(
        output.stdout.matches("GET http").count(),
        5,
        "each poll\n{output}"
    );
    assert!(!output.stdout.contains("canary"), "{output}");
    assert!(
        !output.stdout.contains('\u{1b}'),
        "no colours off a terminal"
    );
}

fn thinking_is_told_and_not_waited_for() {
    let server = Server::start(|_| Reply::text("ok"));
    let output = debug("slow", &server).run().exits(0);
    output.prints(&[
        "think     times are shown, but not waited for\n",
        "ok\nwould think for 3",
        "600 s now\n",
        "journey ok: 2 ok\n",
    ]);
    assert_eq!(server.requests(), 2);
}

fn what_there_is_not_is_a_mistake() {
    let server = Server::start(|_| Reply::text("ok"));
    for (line, parts) in [
        (
            "o",
            &[
                "matches several scenarios",
                "debug::load::odd",
                "debug::load::slow",
            ][..],
        ),
        (
            "drawn --iteration 40",
            &["there is no iteration 40", "has 40, counted from 0"],
        ),
        (
            "drawn --iteration 1.2",
            &["there is no iteration 1.2", "`2`"],
        ),
        (
            "drawn --iteration -1",
            &["is not the number of an iteration"],
        ),
        (
            "counted --iteration 3",
            &["`0.3` is the iteration of user 0"],
        ),
        ("counted --iteration 3.0", &["there is no user 3"]),
        (
            "drawn --duration 3s",
            &["`debug::load::drawn`", "--duration"],
        ),
    ] {
        let output = debug(line, &server).run().exits(2).has_one_error();
        output.says(parts);
    }
    debug("nothing-like-it", &server)
        .run()
        .exits(3)
        .says(&["no scenario matches"]);
    assert_eq!(server.connections(), 0);
}

fn what_cannot_begin_has_the_exit_code_of_a_run() {
    let server = Server::start(|_| Reply::text("ok"));
    let output = debug("unready", &server).run().exits(100).has_one_error();
    output.says(&["`debug::load::unready` did not run", "nothing is ready"]);
    let at = |url: &str| {
        let call = built_tool(project(), "debug", "slow");
        call.args(["--base-url", url]).run()
    };
    let foreign = format!("http://0.0.0.0:{}", server.address().port());
    at(&foreign).exits(103).says(&["is not a permitted target"]);
    assert_eq!(server.requests(), 0);
    let closed = ClosedPort::new();
    let gone = format!("http://{}", closed.address());
    at(&gone).exits(100).has_one_error();
    built_tool(project(), "debug", "slow")
        .run()
        .exits(2)
        .says(&["has no target", "--base-url"]);
}

fn a_target_of_the_scenario_is_started_and_stopped() {
    let output = built_tool(site(), "debug", "own").run().exits(0);
    let output = output.prints(&[
        "started by the scenario; it ends with the journey",
        "journey ok",
    ]);
    let url = output
        .stdout
        .split_whitespace()
        .find_map(|word| word.trim_end_matches(',').strip_prefix("http://"));
    let address = url
        .expect("the target")
        .split('/')
        .next()
        .expect("an address");
    let gone = std::net::TcpStream::connect(address);
    assert!(gone.is_err(), "{address} still listens");
}

fn ctrl_c_ends_a_journey() {
    let server = Server::start(|_| Reply::text("late").delay(Duration::from_secs(50)));
    let running = debug("slow", &server).start();
    wait_for("the request", || (server.requests() == 1).then_some(()));
    running.signal(Signal::INT);
    running.output().exits(105);
    assert_eq!(server.requests(), 1);
}

/// The secrets of the scenario `odd`, by the names that its requests give them.
const SECRETS: [(&str, &str); 6] = [
    ("PASSWORD", r#"hunter2'\"$x"#),
    ("PASSWORD_2", "hunter2"),
    ("API_KEY", "hunter2"),
    ("AUTHORIZATION", "hunter2-token"),
    ("COOKIE", "session=hunter2; theme=dark"),
    ("TOKEN", "hunter2"),
];

fn a_printed_command_sends_what_was_sent() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/quoted" => Reply::json(r#"{"access_token":"hunter2-token"}"#),
        "/here" => Reply::status(302).header("location", "/there?it's=1"),
        "/head" => Reply::text(""),
        _ => Reply::json("{}"),
    });
    let output = debug("odd", &server).run().exits(0);
    assert!(!output.stdout.contains("hunter2"), "{output}");
    let output = output.prints(&[
        "# export PASSWORD: password in the body\n",
        "# export AUTHORIZATION: the header authorization, which is access_token in the answer of quoted\n",
    ]);
    let sent = server.recorded();
    let commands = commands(&output.stdout);
    assert_eq!(commands.len(), sent.len(), "{output}");
    assert_eq!(sent.len(), 14);
    for (command, first) in commands.iter().zip(&sent) {
        shell(command);
        let again = server.recorded().pop().expect("a request");
        assert_eq!(told(&again), told(first), "{command}");
        assert_eq!(again.body, first.body, "{command}");
    }
    assert_eq!(server.recorded().len(), 2 * sent.len());
}

/// The commands of a transcript.
fn commands(transcript: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut is_command = false;
    for line in transcript.lines() {
        if line == "ok"
            || ["> ", "< ", "# export"]
                .iter()
                .any(|mark| line.starts_with(mark))
        {
            is_command = false;
        } else if ["curl ", "printf ", "{ printf "]
            .iter()
            .any(|begin| line.starts_with(begin))
        {
            is_command = true;
            commands.push(String::new());
        }
        if let (true, Some(command)) = (is_command, commands.last_mut()) {
            command.push_str(line);
            command.push('\n');
        }
    }
    commands
}

/// Pastes a command into a shell.
fn shell(command: &str) {
    let mut shell = Command::new("sh")
        .envs(SECRETS)
        .env("no_proxy", "*")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut input = shell.stdin.take().expect("its input");
    std::io::Write::write_all(&mut input, command.as_bytes()).expect("a command");
    drop(input);
    let output = shell.wait_with_output().expect("its end");
    assert!(output.status.success(), "{command}\n{output:?}");
}

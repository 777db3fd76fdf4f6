//! Sinks that are slow, down or wrong: each costs its own line, and nothing else.

use super::receivers::{fetch, free_address};
use super::{assert_lines_agree, assert_measured, assert_nothing_holds, read_lines, sink};
use crate::call::wait_for;
use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{ClosedPort, Reply, Request, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::net::{TcpListener, UdpSocket};

pub(super) fn trials() -> Vec<Trial> {
    trials![
        sinks_that_hang_fail_reset_or_are_gone_cost_their_own_lines,
        a_refused_sink_is_given_up_at_once_and_tells_no_secret,
        a_sink_that_is_down_in_the_middle_has_all_counts_in_the_end,
        what_is_wrong_with_a_sink_is_told_before_the_run,
        ctrl_c_ends_the_waiting,
        a_page_is_scraped_for_the_last_time_at_the_end,
        datagrams_add_up_to_the_record,
        a_token_of_a_file_and_headers_are_sent,
        offline_serves_what_is_here,
        sinks_of_the_file_are_left_out_on_demand,
        max_series_holds_and_what_is_folded_is_told_before_the_load,
    ]
}

fn max_series_holds_and_what_is_folded_is_told_before_the_load() {
    let target = Server::start(|_| Reply::status(200).body("four"));
    let folded = "the rows of each async step are folded into one";
    let without = "phases, and the rows of async steps, are left out";
    for (most, told) in [(400, folded), (100, without)] {
        let page = free_address();
        let sandbox = Sandbox::with(&format!(
            "[telemetry]\nmax_series = {most}\n{}",
            sink(&format!("format = \"prometheus\"\nlisten = \"{page}\""))
        ));
        let mut running = sandbox.run("gathers --iterations 6", &target).start();
        running.wait_until_it_says("waiting for a last scrape");
        let text = fetch(page, "/metrics");
        let output = running.output().exits(0);
        let told = format!("warning: telemetry: {told}, so that there are at most {most} series");
        let place = |words: &str| {
            let found = output.stderr.find(words);
            found.unwrap_or_else(|| panic!("{words}\n{output}"))
        };
        assert!(place(&told) < place("gathers against "), "{output}");
        let series: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert!((50..=most).contains(&series.len()), "{}", series.len());
        let requests = series.iter().filter(|line| line.contains("request=\""));
        let mut names = requests.map(|line| line.contains("request=\"(others)\""));
        assert_eq!(names.next().is_some(), most == 400, "{text}");
        assert!(names.all(|is_folded| is_folded), "{text}");
        let left_out = output.stderr.contains("series are left out of telemetry");
        assert_eq!(left_out, most == 100, "{output}");
        assert_measured(&sandbox, 6);
    }
}

const LOAD: &str = "single --rate 20/s --duration 2s";

fn sinks_that_hang_fail_reset_or_are_gone_cost_their_own_lines() {
    let hanging = Server::start(|_| Reply::hang());
    let failing = Server::start(|_| Reply::status(500));
    let resetting = Server::start(|_| Reply::reset());
    let closed = ClosedPort::new();
    let sandbox = Sandbox::new();
    let target = Server::start(shop);
    let mut call = sandbox.run(LOAD, &target);
    let places = [
        hanging.url(),
        failing.url(),
        resetting.url(),
        format!("http://{}", closed.address()),
    ];
    for (format, place) in ["remote-write", "otlp", "influx", "otlp"]
        .iter()
        .zip(&places)
    {
        call = call.args(["--send", &format!("{format}={place}/canary-path")]);
    }
    call = call.args(["--send", "json=lines.jsonl"]);
    let output = call.run().exits(0).says_no("canary");
    assert_measured(&sandbox, 40);
    let told = |number: usize, format: &str, place: &str, reason: &str| {
        let line = format!("telemetry {number}, {format} {place}: 0 of ");
        let line = output.stderr.lines().find(|said| said.contains(&line));
        let line = line.unwrap_or_else(|| panic!("nothing on {number}\n{output}"));
        assert!(line.contains(reason) && line.contains("dropped"), "{line}");
    };
    told(1, "remote-write", &places[0], "no answer in time");
    told(2, "otlp", &places[1], "500 Internal Server Error");
    told(3, "influx", &places[2], "connection");
    told(4, "otlp", &places[3], "connection refused");
    let lines = read_lines(&sandbox.root().join("lines.jsonl"));
    assert_lines_agree(&lines, &sandbox.record());
    let record = sandbox.only_run().record();
    let delivered: Vec<_> = record.telemetry.iter().map(|sink| sink.delivered).collect();
    assert_eq!(delivered[..4], [0; 4]);
    assert_nothing_holds(&sandbox, "canary");
}

fn a_refused_sink_is_given_up_at_once_and_tells_no_secret() {
    // It says what it was sent.
    let echo = |request: &Request| {
        let secret = request
            .header("authorization")
            .unwrap_or_default()
            .to_owned();
        Reply::status(401).body(format!("not with {secret} or {}", &secret[7..]))
    };
    let receiver = Server::recording(echo);
    let sandbox = Sandbox::with(&sink(&format!(
        "format = \"otlp\"\nurl = \"{}/canary-path\"\ntoken_env = \"TOKEN\"",
        receiver.url()
    )));
    let target = Server::start(shop);
    let output = sandbox
        .run(LOAD, &target)
        .env("TOKEN", "canary-token")
        .run();
    let place = format!("telemetry 1, otlp {}", receiver.url());
    output
        .exits(0)
        .says(&[
            &format!("warning: {place}: given up: 401 Unauthorized: not with"),
            &format!("{place}: 0 of "),
            "given up: 401 Unauthorized",
        ])
        .says_no("canary")
        .says_no("sends them again");
    assert_eq!(receiver.requests(), 1);
    let sent = &receiver.recorded()[0];
    assert_eq!(sent.header("authorization"), Some("Bearer canary-token"));
    assert_eq!(sent.path, "/canary-path/v1/metrics");
    assert_measured(&sandbox, 40);
    assert_nothing_holds(&sandbox, "canary");
}

fn a_sink_that_is_down_in_the_middle_has_all_counts_in_the_end() {
    // Its first answer is good, then it is down, then it comes back and asks for patience.
    let receiver = Server::recording(|request| match request.sequence {
        1..4 => Reply::status(503),
        4 => Reply::status(429).header("retry-after", "1"),
        _ => Reply::json("{}"),
    });
    let sink = format!(
        "format = \"otlp\"\nurl = \"{}\"\nencoding = \"json\"",
        receiver.url()
    );
    let (target, sandbox) = (Server::start(shop), Sandbox::with(&super::sink(&sink)));
    let run = sandbox
        .run("single --rate 20/s --duration 3s", &target)
        .run();
    run.exits(0).says_no("dropped");
    let recorded = receiver.recorded();
    let last = recorded.last().expect("a message");
    assert_eq!(last.header("content-type"), Some("application/json"));
    let message: Value = serde_json::from_slice(&last.body).expect("JSON");
    let metrics = &message["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let metrics = metrics.as_array().expect("metrics");
    let find = |name: &str| {
        metrics
            .iter()
            .find(|metric| metric["name"] == name)
            .expect("a metric")
    };
    let journeys = &find("loadtest.journeys")["sum"];
    assert_eq!(journeys["aggregationTemporality"], 2);
    assert_eq!(journeys["dataPoints"][0]["asDouble"], 60.0);
    let response = &find("loadtest.step.response")["exponentialHistogram"]["dataPoints"][0];
    assert_eq!(response["count"], "60");
}

fn what_is_wrong_with_a_sink_is_told_before_the_run() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken
        .local_addr()
        .map(|address| (taken, address))
        .expect("a bound socket");
    let target = Server::start(shop);
    for (sink, told) in [
        (
            "format = \"otlp\"\nurl = \"http://127.0.0.1:1\"\ntoken_env = \"NO_SUCH\"".to_owned(),
            "telemetry 1, otlp: its `token_env` names the variable `NO_SUCH`, which holds no value",
        ),
        (
            "format = \"otlp\"".to_owned(),
            "the variable `OTEL_EXPORTER_OTLP_ENDPOINT` holds none",
        ),
        (
            format!("format = \"prometheus\"\nlisten = \"{}\"", taken.1),
            "cannot be listened at: address in use",
        ),
        ("format = \"otpl\"".to_owned(), "did you mean `otlp`?"),
        (
            "format = \"otlp\"\nurl = \"https://ada:canary@c\"".to_owned(),
            "holds a user name, a password",
        ),
    ] {
        let sandbox = Sandbox::with(&super::sink(&sink));
        let output = sandbox.run("single --iterations 3", &target).run();
        output
            .exits(2)
            .has_one_error()
            .says(&[told])
            .says_no("canary");
        assert!(sandbox.runs().is_empty(), "{sink}");
    }
    let sandbox = Sandbox::new();
    let output = sandbox
        .run(
            "single --iterations 3 --send otlp=http://ada:canary@c --send jsn=x",
            &target,
        )
        .run();
    output
        .exits(2)
        .says(&[
            "`--send`: its url holds a user name",
            "did you mean `json`?",
        ])
        .says_no("canary");
    assert_eq!(target.requests(), 0);
}

fn ctrl_c_ends_the_waiting() {
    let receiver = Server::start(|_| Reply::hang());
    let (target, sandbox) = (Server::start(shop), Sandbox::new());
    let send = format!("single --iterations 3 --send influx={}", receiver.url());
    let running = sandbox.run(&send, &target).start();
    wait_for("the load", || (target.requests() == 3).then_some(()));
    wait_for("the message", || (receiver.requests() == 1).then_some(()));
    // The load is over when its record is there.
    wait_for("the record of the load", || {
        let run = sandbox.runs().pop()?;
        run.files()
            .iter()
            .any(|file| file.starts_with("record-1.json"))
            .then_some(())
    });
    running.signal(Signal::INT);
    let output = running.output();
    output
        .says(&["telemetry 1, influx", "0 of "])
        .prints(&["PASSED"]);
}

/// Returns the answer to a request for a path of the page.
fn scrape(address: &str, path: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).expect("the page");
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

fn a_page_is_scraped_for_the_last_time_at_the_end() {
    let (target, sandbox) = (Server::start(shop), Sandbox::new());
    let line = "single --iterations 30 --send prometheus=127.0.0.1:0";
    let mut running = sandbox.run(line, &target).start();
    running.wait_until_it_says("waiting for a last scrape (at most 10s");
    let said = running.said();
    let (_, said) = said
        .split_once("telemetry 1, prometheus ")
        .expect("the page");
    let address = said.split(": ").next().expect("an address");
    assert!(scrape(address, "/-/healthy").ends_with("healthy\n"));
    assert!(scrape(address, "/other").starts_with("HTTP/1.1 404 "));
    let page = scrape(address, "/metrics");
    let output = running.output().exits(0);
    output.says(&["1 scrape answered, the last with the final figures"]);
    let sample = page.lines().find(|line| {
        line.starts_with("loadtest_journeys_total{") && line.contains("result=\"ok\"")
    });
    assert!(sample.is_some_and(|line| line.ends_with("} 30")), "{page}");
}

fn datagrams_add_up_to_the_record() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("a bound socket");
    // Once the run is over, all that was sent is there.
    socket.set_nonblocking(true).expect("our own socket");
    let (target, sandbox) = (
        Server::start(shop),
        Sandbox::with(&sink(&format!(
            "format = \"statsd\"\naddress = \"{address}\"\ndialect = \"dogstatsd\""
        ))),
    );
    sandbox.run(LOAD, &target).run().exits(0);
    let mut buffer = [0; 2_000];
    let mut text = String::new();
    while let Ok(length) = socket.recv(&mut buffer) {
        assert!(length <= 1_400, "{length}");
        text.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    let counted: f64 = text
        .lines()
        .filter(|line| line.starts_with("loadtest.step.executions:") && line.contains("result:ok"))
        .map(|line| {
            let value = line.split([':', '|']).nth(1).expect("a value");
            value.parse::<f64>().expect("a number")
        })
        .sum();
    assert!((counted - 40.0).abs() < f64::EPSILON, "{text}");
    assert!(text.contains("loadtest.step.response.p95:"), "{text}");
}

fn a_token_of_a_file_and_headers_are_sent() {
    let receiver = Server::recording(|_| Reply::status(204));
    let sandbox = Sandbox::with(&sink(&format!(
        "format = \"influx\"\nurl = \"{}/write?db=load\"\ntoken_env = \"TOKEN\"\n\
         headers = {{ X-Scope-OrgID = \"load\" }}\nheader_env = {{ DD-API-KEY = \"KEY\" }}",
        receiver.url()
    )));
    let file = sandbox.root().join("token");
    std::fs::write(&file, "of a file\n").expect("the token");
    let target = Server::start(shop);
    let call = sandbox.run("single --iterations 3", &target);
    call.env("TOKEN_FILE", &file)
        .env("KEY", "canary-key")
        .run()
        .exits(0)
        .says_no("canary");
    let sent = &receiver.recorded()[0];
    assert_eq!(sent.target, "/write?db=load");
    assert_eq!(sent.header("authorization"), Some("Token of a file"));
    assert_eq!(sent.header("x-scope-orgid"), Some("load"));
    assert_eq!(sent.header("dd-api-key"), Some("canary-key"));
    assert!(
        sent.text().contains("loadtest_journeys,"),
        "{}",
        sent.text()
    );
    assert_nothing_holds(&sandbox, "canary");
    let shown = sandbox
        .call()
        .arg("config")
        .env("KEY", "canary-key")
        .run()
        .exits(0);
    shown
        .prints(&["$TOKEN is not set", "with $KEY", &receiver.url()])
        .says_no("canary");
}

fn offline_serves_what_is_here() {
    let sandbox = Sandbox::with(&format!(
        "{}{}",
        sink("format = \"influx\"\nurl = \"https://influx.invalid/write\""),
        sink("format = \"json\"\npath = \"lines.jsonl\"")
    ));
    let target = Server::start(shop);
    let run = sandbox.run("single --iterations 3", &target);
    let output = run.env("LOADTEST_OFFLINE", "1").run();
    output.says(&["telemetry 1, influx: an offline run sends nothing to another machine"]);
}

fn sinks_of_the_file_are_left_out_on_demand() {
    let receiver = Server::start(|_| Reply::status(204));
    let sandbox = Sandbox::with(&sink(&format!(
        "format = \"influx\"\nurl = \"{}\"",
        receiver.url()
    )));
    let target = Server::start(shop);
    let line = "single --iterations 3 --no-telemetry --send json=lines.jsonl";
    let output = sandbox.run(line, &target).run().exits(0);
    output.says(&["telemetry 1, json"]).says_no("influx");
    assert_eq!(receiver.connections(), 0);
}

//! With `--offline`, nothing but loopback can be reached: not even by code that opens sockets of its own.

use crate::call::{Call, Output, tool, wait_for};
use crate::guard::project;
use crate::lonely::{self, tests};
use crate::mix::frames;
use crate::project::built_load_test;
use crate::site::{Sandbox, assert_balanced, site, total};
use crate::smoke::smoke;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use std::net::SocketAddr;

pub(crate) fn trials() -> Vec<Trial> {
    let tests = tests![
        code_that_opens_its_own_sockets_reaches_nobody,
        a_target_that_the_scenario_starts_is_there,
        what_is_elsewhere_is_refused_and_what_runs_outside_is_told,
        a_smoke_test_is_kept_from_the_network_too,
        no_webhook_is_told,
        a_system_that_allows_no_network_of_ones_own_is_told,
        ctrl_c_ends_it_in_order,
    ];
    let prepare = || {
        project();
        site().tool("list", "").run().exits(0);
    };
    lonely::trials("offline", prepare, tests)
}

/// One on the loopback that is outside of the load test, one at another address of the machine.
fn outside() -> [Server; 2] {
    ["127.0.0.1:0", "10.99.0.1:0"].map(|address| {
        let address: SocketAddr = address.parse().expect("an address");
        Server::start_at(address, |_| Reply::text("outside"))
    })
}

fn places(servers: &[Server]) -> String {
    let all = servers.iter().map(|server| server.address().to_string());
    all.collect::<Vec<_>>().join(" ")
}

fn code_that_opens_its_own_sockets_reaches_nobody() {
    let outside = outside();
    let run = |line: &str| {
        let sandbox = Sandbox::at(project().root(), "");
        let call = sandbox.tool("run", line).env("PLACES", places(&outside));
        let output = call.args(["--export", "json"]).run().exits(0);
        (sandbox, output)
    };
    let (sandbox, output) = run("escapes --offline");
    for server in &outside {
        let place = server.address();
        for from in ["setup", "step"] {
            assert!(
                output.stderr.contains(&format!("{from} to {place}: false")),
                "{output}"
            );
        }
        assert_eq!(server.connections(), 0, "{place}");
    }
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(total(&record).journey.ok, 3, "its own target was there");
    let offline = record.start.offline.expect("a proof");
    assert_eq!(offline.interfaces.first().map(String::as_str), Some("lo"));
    let ours = std::fs::read_link("/proc/self/ns/net").expect("a network");
    assert_ne!(offline.namespace, ours.to_string_lossy());
    let folder = sandbox.only_run();
    for file in ["report.html", "report.json"] {
        assert!(folder.text(file).contains(&offline.namespace), "{file}");
    }
    // What was written belongs to whoever ran it.
    for file in folder.files() {
        use std::os::unix::fs::MetadataExt as _;
        let own = std::fs::metadata("/proc/self").expect("a process");
        let metadata = std::fs::metadata(folder.0.join(&file)).expect("a file");
        assert_eq!(
            (metadata.uid(), metadata.gid()),
            (own.uid(), own.gid()),
            "{}",
            file.display()
        );
    }
    // Without it they are reached, so that the test could have failed.
    let (sandbox, output) = run("escapes");
    output.says(&[": true"]);
    for server in &outside {
        assert_eq!(server.connections(), 4, "a setup and three steps");
    }
    assert_eq!(sandbox.record().start.offline, None);
}

fn a_target_that_the_scenario_starts_is_there() {
    let sandbox = Sandbox::new();
    sandbox
        .tool("run", "--exact site::load::own --iterations 20 --offline")
        .run()
        .exits(0);
    let record = sandbox.record();
    assert_eq!(total(&record).journey.ok, 20);
    assert!(record.start.offline.is_some());
    // By the environment it is the same, and by every command that sends.
    let call = sandbox
        .tool("debug", "site::load::own")
        .env("LOADTEST_OFFLINE", "1");
    call.run().exits(0);
    sandbox
        .tool("plan", "site::load::own --offline")
        .run()
        .exits(0);
}

fn what_is_elsewhere_is_refused_and_what_runs_outside_is_told() {
    let [here, _] = outside();
    let url = here.url();
    let cases: [(&str, i32, &[&str]); 4] = [
        (
            &url,
            100,
            &["nothing answers at", "a loopback of its own", "`#[setup]`"],
        ),
        (
            "http://10.99.0.1:8121",
            103,
            &["is not a permitted target", "with `--offline`"],
        ),
        (
            "https://shop.test",
            103,
            &["is not a permitted target", "with `--offline`"],
        ),
        (
            "http://[2001:db8::1]:80",
            103,
            &["is not a permitted target", "with `--offline`"],
        ),
    ];
    let at = |command: &str, url: &str| -> Output {
        let sandbox = Sandbox::at(project().root(), "");
        let line = if command == "capacity" {
            "lasting --slo errors<1% --offline"
        } else {
            "lasting --offline"
        };
        sandbox.tool(command, line).args(["--base-url", url]).run()
    };
    for (url, code, told) in cases {
        for command in ["run", "debug", "capacity"] {
            let output = at(command, url).exits(code);
            // A search tells it on its card.
            if command != "capacity" {
                output.has_one_error().says(told);
            }
        }
    }
    assert_eq!(here.connections(), 0);
}

fn a_smoke_test_is_kept_from_the_network_too() {
    let outside = outside();
    let test = |offline: &str| {
        let call = smoke(project(), "escapes");
        let call = call.env("PLACES", places(&outside));
        call.env("LOADTEST_OFFLINE", offline).run()
    };
    test("1")
        .exits(0)
        .prints(&["setup to 127.0.0.1", ": false"]);
    for server in &outside {
        assert_eq!(server.connections(), 0);
    }
    test("0").exits(0);
    for server in &outside {
        assert_eq!(server.connections(), 2, "a setup and a step");
    }
    test("perhaps")
        .exits(2)
        .says(&["`LOADTEST_OFFLINE` is `perhaps`"]);
    let sandbox = Sandbox::at(project().root(), "");
    let call = sandbox
        .tool("run", "escapes")
        .env("LOADTEST_OFFLINE", "perhaps");
    call.run().exits(2).says(&["neither `1` nor `0`"]);
}

fn no_webhook_is_told() {
    let [hook, _] = outside();
    let sandbox = Sandbox::at(
        project().root(),
        &format!("[[notify]]\nurl = \"{}/hook\"\n", hook.url()),
    );
    let run = |line: &str| sandbox.tool("run", line).run().exits(0);
    run("escapes --offline")
        .says(&["an offline run (`--offline`, LOADTEST_OFFLINE) sends no webhook"]);
    assert_eq!(hook.connections(), 0);
    let output = run("escapes").says_no("offline run");
    assert!(hook.connections() > 0, "{output}");
}

fn a_system_that_allows_no_network_of_ones_own_is_told() {
    let outside = outside();
    // A limit of the user namespace around it, of which each has its own.
    let limited = |network: &str, program: &str, line: &str| {
        let script =
            "ip link set lo up; echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
        let call = Call::program("unshare", project().root());
        let call = call.args([network, "sh", "-c", script, program]).line(line);
        call.env("PLACES", places(&outside))
    };
    let tool = tool().to_string_lossy();
    let call = limited(
        "-Ur",
        &tool,
        "loadtest run --profile test escapes named --offline",
    );
    call.run().exits(2).has_one_error().says(&[
        "cannot be isolated from the network, so nothing was run",
        "sysctl -w user.max_user_namespaces",
        "--network none",
    ]);
    let load_test = built_load_test(project().root());
    let call = limited("-Ur", &load_test.to_string_lossy(), "escapes");
    call.env("LOADTEST_OFFLINE", "1")
        .run()
        .exits(2)
        .says(&["cannot be isolated from the network"]);
    // Where there is nothing but loopback already, nothing more is needed.
    let call = limited(
        "-Urn",
        &tool,
        "loadtest run --profile test escapes --offline --verbose",
    );
    call.run()
        .exits(0)
        .prints(&["only lo in its network"])
        .says(&[": false"]);
    for server in &outside {
        assert_eq!(server.connections(), 0);
    }
}

fn ctrl_c_ends_it_in_order() {
    let sandbox = Sandbox::new();
    let line = "--exact site::load::own --users 1 --duration 1h --offline";
    let mut running = sandbox.tool("run", line).start();
    running.wait_until_it_says("[0s]");
    wait_for("a journey in the journal", || {
        let frames = frames(&sandbox).concat();
        let mut frames = frames.iter();
        let is_ended = frames.any(|frame| frame.windows.steady.journey.ok > 0);
        is_ended.then_some(())
    });
    running.signal(rustix::process::Signal::INT);
    running.wait_until_it_says("stopping");
    running.output().exits(105);
    let record = sandbox.record();
    assert!(record.start.offline.is_some() && total(&record).journey.ok > 0);
}

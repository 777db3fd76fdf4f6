//! Webhooks: what they are told, and that no run waits or fails for them.

use crate::call::{Call, Output, wait_for};
use crate::project::workspace;
use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Authority, ClosedPort, Front, Reply, Request, Server, self_signed};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_run_tells_of_its_start_and_its_end,
        a_broken_threshold_is_told_as_a_failed_gate,
        several_scenarios_fail_one_gate,
        an_invalid_key_keeps_the_run_from_starting,
        a_receiver_that_comes_back_is_told,
        a_receiver_that_asks_for_patience_is_given_it,
        a_refusal_is_final,
        a_redirect_is_not_followed,
        a_receiver_that_never_answers_holds_nobody_up,
        an_answer_without_end_is_not_read,
        one_broken_webhook_does_not_keep_the_other_from_being_told,
        an_unknown_certificate_is_told_in_a_line,
        a_certificate_that_the_system_trusts_will_do,
        a_proxy_of_the_environment_is_taken,
        slack_gets_a_message,
        ctrl_c_ends_the_waiting,
        an_interrupted_run_tells_its_end,
        a_search_tells_what_it_found,
        only_runs_and_searches_tell_anybody,
    ]
    .into_iter()
    .chain(trials![needing "python3": the_documented_receiver_takes_what_is_signed,])
    .collect()
}

/// A target, a receiver, and a place that is configured to tell it.
struct Scene {
    target: Server,
    receiver: Server,
}

impl Scene {
    fn new(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self {
            target: Server::start(|_| Reply::text("ok")),
            receiver: Server::recording(script),
        }
    }

    fn sandbox(&self, more: &str) -> Sandbox {
        Sandbox::with(&webhook(
            &format!("{}/hook?token=hush", self.receiver.url()),
            more,
        ))
    }

    /// Runs one scenario of three requests; what the machine was too busy for is told no less.
    fn run(&self, more: &str) -> Output {
        let sandbox = self.sandbox(more);
        let output = sandbox.run("single --iterations 3", &self.target).run();
        output.exits(0).says_no("hush")
    }

    /// The events that came, in their order.
    fn told(&self) -> Vec<Value> {
        self.receiver.recorded().iter().map(body).collect()
    }

    /// The one event of this kind that came, however often.
    #[track_caller]
    fn told_of(&self, event: &str) -> Value {
        let found = self.told().into_iter().find(|told| told["event"] == event);
        found.unwrap_or_else(|| panic!("nobody told of {event}"))
    }
}

fn webhook(url: &str, more: &str) -> String {
    format!("[[notify]]\nurl = \"{url}\"\n{more}\n")
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}

fn ok(_: &Request) -> Reply {
    Reply::text("ok")
}

/// The event of the end only, so that there is one delivery.
const END: &str = "events = [\"run.finished\"]";

fn assert_shape(told: &Value) {
    let schema = std::fs::read_to_string(workspace().join("docs/event.schema.json"));
    let schema = serde_json::from_str(&schema.expect("the schema")).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let mistakes: Vec<String> = validator
        .iter_errors(told)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(mistakes.is_empty(), "{mistakes:?}\n{told:#}");
}

fn a_run_tells_of_its_start_and_its_end() {
    let scene = Scene::new(ok);
    let sandbox = scene.sandbox("");
    let output = sandbox
        .run("single --iterations 3", &scene.target)
        .env("CI_JOB_URL", "https://ci.example/acme/-/jobs/7")
        .run()
        .exits(0)
        .says_no("webhook");
    let run = sandbox.only_run();
    let record = run.record();
    let told = scene.told();
    for told in &told {
        assert_shape(told);
        assert_eq!(told["run_id"], *record.run_id);
        assert_eq!(told["job_url"], "https://ci.example/acme/-/jobs/7");
        assert_eq!(told["scenarios"][0]["identity"], "site::load::single");
        assert_eq!(told["scenarios"][0]["tags"][0], "quick");
    }
    let start = scene.told_of("run.started");
    assert!(start["outcome"].is_null());
    let load = start["scenarios"][0]["load"].as_str();
    assert!(
        load.is_some_and(|load| load.contains("3 iterations")),
        "{load:?}"
    );
    let end = scene.told_of("run.finished");
    assert_ne!(start["id"], end["id"]);
    assert_eq!(
        end["outcome"]["exit_code"].as_i64(),
        output.status.code().map(i64::from)
    );
    let page = end["outcome"]["report"].as_str().expect("a page");
    assert!(page.ends_with("report.html"), "{page}");
    assert!(end["scenarios"][0]["result"]["p95_us"].as_u64().is_some());
    for request in scene.receiver.recorded() {
        assert_eq!(request.method, "POST");
        assert_eq!(request.target, "/hook?token=hush");
        assert_eq!(request.header("content-type"), Some("application/json"));
        let told = body(&request);
        assert_eq!(request.header("loadtest-event"), told["event"].as_str());
        assert_eq!(request.header("loadtest-delivery"), told["id"].as_str());
        assert_eq!(request.header("x-hub-signature-256"), None);
    }
    for file in run.files() {
        let bytes = std::fs::read(run.0.join(&file)).expect("a file of the run");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hush"), "{}", file.display());
    }
}

fn a_broken_threshold_is_told_as_a_failed_gate() {
    let scene = Scene {
        target: Server::start(|_| Reply::status(500)),
        receiver: Server::recording(ok),
    };
    let sandbox = scene.sandbox("");
    let output = sandbox.run("single --iterations 3", &scene.target).run();
    output.exits(99);
    let gate = scene.told_of("gate.failed");
    assert_shape(&gate);
    assert_eq!(gate["outcome"]["verdict"], "failed");
    let result = &gate["scenarios"][0]["result"];
    assert_eq!(result["reasons"][0]["kind"], "threshold");
    assert_eq!(
        result["broken_thresholds"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(scene.told().len(), 3);
}

fn several_scenarios_fail_one_gate() {
    let scene = Scene {
        target: Server::start(|_| Reply::status(500)),
        receiver: Server::recording(ok),
    };
    let sandbox = scene.sandbox("events = [\"gate.failed\"]");
    let output = sandbox
        .run("single strict --iterations 3", &scene.target)
        .run();
    output.exits(99);
    let told = scene.told();
    assert_eq!(told.len(), 1);
    let scenarios = told[0]["scenarios"].as_array().expect("scenarios");
    assert_eq!(scenarios.len(), 2);
    for scenario in scenarios {
        assert_eq!(scenario["result"]["verdict"], "failed");
    }
}

fn an_invalid_key_keeps_the_run_from_starting() {
    let scene = Scene::new(ok);
    let sandbox = scene.sandbox("secret_env = \"NO_SUCH_KEY\"");
    sandbox
        .run("single --iterations 3", &scene.target)
        .run()
        .exits(2)
        .has_one_error()
        .says(&["webhook 1: its `secret_env` names the variable `NO_SUCH_KEY`"])
        .says_no("Compiling")
        .says_no("hush");
    assert_eq!(scene.receiver.connections() + scene.target.connections(), 0);
    assert!(sandbox.runs().is_empty());
}

/// The receiver of `docs/events.md`, with real deliveries.
fn the_documented_receiver_takes_what_is_signed() {
    let page = std::fs::read_to_string(workspace().join("docs/events.md")).expect("the page");
    let script = page.split("```python\n").nth(1).expect("a receiver");
    let script = script.split("```").next().expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let mut receiver = Call::program("python3", folder.path())
        .args(["-c", script, "0"])
        .env("WEBHOOK_KEY", "a long secret")
        .start();
    receiver.wait_until_it_says("listening on ");
    let said = receiver.said();
    let port = said.trim().rsplit(' ').next().expect("a port");
    let target = Server::start(ok);
    let url = format!("http://127.0.0.1:{port}/");
    let sandbox = Sandbox::with(&webhook(&url, &format!("{END}\nsecret_env = \"HOOK_KEY\"")));
    let run = |key: &str| {
        let call = sandbox.run("single --iterations 3", &target);
        call.env("HOOK_KEY", key).run().exits(0).says_no(key)
    };
    run("a long secret").says_no("webhook");
    receiver.wait_until_it_says("run.finished of ");
    run("another secret").says(&["run.finished not delivered: 401 Unauthorized"]);
    for run in sandbox.runs() {
        assert!(!run.text("record.json").contains("secret"));
    }
}

fn a_receiver_that_comes_back_is_told() {
    let scene = Scene::new(|request| match request.sequence {
        0 | 1 => Reply::status(503),
        _ => Reply::text("ok"),
    });
    scene.run(END).says_no("webhook");
    let told = scene.told();
    assert_eq!(told.len(), 3);
    assert!(
        told.iter().all(|told| *told == told_first(&scene)),
        "one delivery"
    );
}

fn told_first(scene: &Scene) -> Value {
    scene.told().swap_remove(0)
}

fn a_receiver_that_asks_for_patience_is_given_it() {
    let scene = Scene::new(|request| match request.sequence {
        0 => Reply::status(429).header("retry-after", "1"),
        _ => Reply::text("ok"),
    });
    scene.run(END).says_no("webhook");
    let came: Vec<_> = scene
        .receiver
        .recorded()
        .iter()
        .map(|one| one.arrived)
        .collect();
    assert_eq!(came.len(), 2);
    assert!(
        came[1] - came[0] >= Duration::from_secs(1),
        "asked too early"
    );
    let scene = Scene::new(|_| Reply::status(429).header("retry-after", "3600"));
    scene
        .run(END)
        .says(&["run.finished not delivered: 429 Too Many Requests\n"]);
    assert_eq!(scene.receiver.requests(), 1);
}

fn a_refusal_is_final() {
    let scene = Scene::new(|_| Reply::status(404).body("no_service token=hunter2 \u{1b}[31m"));
    let place = scene.receiver.url();
    let told = format!(
        "warning: webhook 1, {place}: run.finished not delivered: 404 Not Found: no_service"
    );
    scene
        .run(END)
        .says(&[&told])
        .says_no("hunter2")
        .says_no("\u{1b}");
    assert_eq!(scene.receiver.requests(), 1);
}

fn a_redirect_is_not_followed() {
    let other = Server::start(ok);
    let place = other.url();
    let scene = Scene::new(move |_| Reply::status(307).header("location", place.clone()));
    let why = "307 Temporary Redirect: redirects are not followed";
    scene.run(END).says(&[why]);
    assert_eq!(scene.receiver.requests(), 1);
    assert_eq!(other.connections(), 0);
}

fn a_receiver_that_never_answers_holds_nobody_up() {
    let scene = Scene::new(|_| Reply::hang());
    let sandbox = scene.sandbox("");
    let output = sandbox
        .run("single --iterations 3", &scene.target)
        .run()
        .exits(0);
    // The tool is gone, the run was measured, and nothing was answered to this moment.
    assert_eq!(scene.target.requests(), 3);
    assert!(scene.receiver.requests() >= 2);
    sandbox.only_run().has_page();
    output.says(&["run.started", "run.finished not delivered: no answer yet"]);
}

fn an_answer_without_end_is_not_read() {
    let scene = Scene::new(|_| Reply::endless());
    scene.run(END).says_no("webhook");
    assert_eq!(scene.receiver.requests(), 1);
    let refusal = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-length: 99999999\r\n\r\n{}",
        "x".repeat(100_000)
    );
    let scene = Scene::new(move |_| Reply::raw(refusal.clone()));
    scene.run(END).says(&["400 Bad Request: xxxx"]);
    assert_eq!(scene.receiver.requests(), 1);
    let scene = Scene::new(|_| Reply::endless_head());
    scene.run(END).says(&["its answer is not HTTP"]);
}

fn one_broken_webhook_does_not_keep_the_other_from_being_told() {
    let scene = Scene::new(ok);
    let closed = ClosedPort::new();
    let place = format!("http://{}", closed.address());
    let sandbox = Sandbox::with(&format!(
        "{}{}",
        webhook(&format!("{place}/hook"), END),
        webhook(&scene.receiver.url(), END)
    ));
    let output = sandbox
        .run("single --iterations 3", &scene.target)
        .run()
        .exits(0);
    let why = format!("webhook 1, {place}: run.finished not delivered: connection refused (");
    let output = output.says(&[&why, "attempts)"]);
    assert_eq!(output.stderr.matches("webhook").count(), 1, "{output}");
    assert_eq!(
        scene.told_of("run.finished")["outcome"]["exit_code"],
        output.status.code().unwrap_or(-1)
    );
}

fn an_unknown_certificate_is_told_in_a_line() {
    let scene = Scene::new(ok);
    let (config, _) = self_signed("127.0.0.1", 4000);
    let front = Front::start(config, scene.receiver.address());
    let sandbox = Sandbox::with(&webhook(&format!("{}/hook?token=hush", front.url()), END));
    let output = sandbox
        .run("single --iterations 3", &scene.target)
        .run()
        .exits(0);
    let place = format!("webhook 1, {}: run.finished not delivered: ", front.url());
    output
        .says(&[&place, "its certificate is not trusted here"])
        .says_no("hush")
        .says_no("attempts");
    assert_eq!(scene.receiver.requests(), 0);
}

fn a_certificate_that_the_system_trusts_will_do() {
    let scene = Scene::new(ok);
    let authority = Authority::new();
    let front = Front::start(
        authority.server("127.0.0.1", 4000),
        scene.receiver.address(),
    );
    let sandbox = Sandbox::with(&webhook(&front.url(), END));
    let trusted = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(trusted.path(), authority.pem()).expect("the authority");
    sandbox
        .run("single --iterations 3", &scene.target)
        .env("SSL_CERT_FILE", trusted.path())
        .run()
        .exits(0)
        .says_no("webhook");
    assert_eq!(front.handshakes(), 1);
    assert_shape(&scene.told_of("run.finished"));
}

fn a_proxy_of_the_environment_is_taken() {
    let target = Server::start(ok);
    let proxy = Server::recording(|_| Reply::status(407));
    let sandbox = Sandbox::with(&webhook("https://hooks.invalid/services/hush", END));
    sandbox.run("single --iterations 3", &target)
        .env("https_proxy", proxy.url())
        .run()
        .exits(0)
        .says(&["webhook 1, https://hooks.invalid: run.finished not delivered: the proxy does not connect"])
        .says_no("hush");
    let asked = &proxy.recorded()[0];
    assert_eq!(
        (&*asked.method, &*asked.target),
        ("CONNECT", "hooks.invalid:443")
    );
}

fn slack_gets_a_message() {
    let scene = Scene::new(ok);
    scene
        .run(&format!("{END}\nformat = \"slack\""))
        .says_no("webhook");
    let message = told_first(&scene);
    let text = message["text"].as_str().expect("a text");
    assert!(text.ends_with("site::load::single"), "{text}");
    assert_eq!(message["blocks"][0]["type"], "section");
    let keys: Vec<_> = message.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["blocks", "text"]);
}

fn ctrl_c_ends_the_waiting() {
    // The receiver asks for more time than the run waits: without the signal, that would be said.
    let scene = Scene::new(|_| Reply::hang());
    let sandbox = scene.sandbox(END);
    let running = sandbox.run("single --iterations 3", &scene.target).start();
    wait_for("the event", || {
        (scene.receiver.requests() == 1).then_some(())
    });
    running.signal(Signal::INT);
    let output = running.output().exits(0);
    output.says(&["run.finished not delivered: no answer yet", "Ctrl-C"]);
}

fn an_interrupted_run_tells_its_end() {
    let scene = Scene::new(ok);
    let sandbox = scene.sandbox("");
    let running = sandbox
        .run("single --users 2 --duration 1h", &scene.target)
        .start();
    wait_for("the load", || (scene.target.requests() > 20).then_some(()));
    running.signal(Signal::INT);
    running.output().exits(105);
    let end = scene.told_of("run.finished");
    assert_shape(&end);
    assert_eq!(end["outcome"]["verdict"], "interrupted");
    assert_eq!(end["scenarios"][0]["result"]["verdict"], "interrupted");
    assert_eq!(scene.told().len(), 2, "no gate failed");
}

fn a_search_tells_what_it_found() {
    let scene = Scene::new(ok);
    let sandbox = scene.sandbox("");
    let line =
        "single --profile test --slo p95<1us --from 10/s --max 20/s --window 1s --confirm 1s";
    let output = sandbox
        .call()
        .arg("capacity")
        .line(line)
        .args(["--base-url", &scene.target.url()])
        .run();
    output.exits(99);
    let gate = scene.told_of("gate.failed");
    assert_shape(&gate);
    assert_eq!(gate["capacity"]["verdict"], "not_met");
    assert!(gate["scenarios"][0]["result"].is_null());
    assert_eq!(scene.told().len(), 3);
}

fn only_runs_and_searches_tell_anybody() {
    let scene = Scene::new(ok);
    // Nor do they need the key.
    let sandbox = scene.sandbox("secret_env = \"NO_SUCH_KEY\"");
    let base = format!("--base-url {}", scene.target.url());
    sandbox.tool("list", "").run().exits(0);
    sandbox
        .tool("plan", &format!("single {base}"))
        .run()
        .exits(0);
    sandbox
        .tool("debug", &format!("single {base}"))
        .run()
        .exits(0);
    assert_eq!(scene.target.requests(), 1);
    assert_eq!(scene.receiver.connections(), 0);
}

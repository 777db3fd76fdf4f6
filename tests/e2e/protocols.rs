//! The examples of the library, each with a protocol and a server of its own: what is measured of it is in every format,
//! and what it declares in every command.

use crate::call::{Call, Output};
use crate::project::workspace;
use crate::trials;
use jsonschema::Validator;
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use tempfile::TempDir;

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = trials![needing "pdftotext":
        a_stream_of_events_is_everywhere,
        websockets_are_everywhere,
        calls_of_grpc_are_everywhere,
        operations_of_graphql_are_everywhere,
    ];
    all.extend(trials![needing "redis-server": operations_of_another_client_are_everywhere,]);
    all.extend(trials![figures_of_streams_are_searched_for,]);
    all
}

/// The examples, compiled with the features of the whole workspace, as `cargo test` does it.
fn example(name: &str) -> PathBuf {
    static BUILT: OnceLock<Output> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let names = ["assistant", "cart", "chat", "prices", "shelf"];
        let call = Call::cargo_here();
        let call =
            call.line("test --no-run --quiet --workspace --message-format json-render-diagnostics");
        let names = names.iter().flat_map(|name| ["--example", name]);
        call.args(names).run().exits(0)
    });
    built.executable(name)
}

/// A report in each format, and what a reader finds in the document.
struct Reports {
    texts: Vec<(&'static str, String)>,
    json: Value,
}

impl Reports {
    /// Each of the formats named has each of these parts.
    #[track_caller]
    fn have(&self, formats: &[&str], parts: &[&str]) {
        for format in formats {
            let mut texts = self.texts.iter();
            let (_, text) = texts.find(|(name, _)| name == format).expect("a format");
            for part in parts {
                assert!(text.contains(part), "{format} lacks {part:?}\n{text}");
            }
        }
    }

    fn steps(&self) -> &Value {
        &self.json["cards"][0]["steps"]
    }
}

/// The formats for people.
const PAGES: [&str; 4] = ["terminal", "html", "pdf", "markdown"];

/// An example in a folder of its own.
struct Example {
    name: &'static str,
    binary: PathBuf,
    folder: TempDir,
}

impl Example {
    fn new(name: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = "[store]\ndirectory = \"runs\"\n";
        fs::write(folder.path().join("loadtest.toml"), store).expect("the configuration");
        Self {
            name,
            binary: example(name),
            folder,
        }
    }

    fn tool(&self, command: &str, line: &str) -> Call {
        let call = Call::tool(self.folder.path());
        let call = call.args([command, "--binary"]).arg(&self.binary);
        call.line(line)
    }

    /// Runs some journeys, and writes the report in all formats.
    fn run(&self) -> Reports {
        let formats = [
            "html",
            "pdf",
            "json",
            "junit",
            "markdown",
            "csv",
            "openmetrics",
        ];
        let exports = formats.map(|format| {
            let path = self.folder.path().join(format);
            format!("--export={format}={}", path.display())
        });
        let call = self.tool("run", "--verbose --iterations 6 --users 2");
        // Its limits on times are for an idle machine, and its exit code is theirs.
        let output = call.args(exports).run();
        let mut texts = vec![("terminal", output.stdout.clone())];
        for format in formats {
            let path = self.folder.path().join(format);
            texts.push((
                format,
                match format {
                    "pdf" => Call::program("pdftotext", self.folder.path())
                        .args(["-layout", "pdf", "-"])
                        .run()
                        .exits(0)
                        .stdout
                        .clone(),
                    _ => fs::read_to_string(path).expect(format),
                },
            ));
        }
        let (_, json) = texts
            .iter()
            .find(|(name, _)| *name == "json")
            .expect("JSON");
        let json: Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(json["cards"][0]["accounts"]["ok"], 6, "{output}");
        Reports { texts, json }
    }

    /// What is printed of its one scenario before anything is sent, and as data.
    fn declared(&self) -> (String, Value) {
        let list = self.tool("list", "").run().exits(0).stdout.clone();
        let plan = self.tool("plan", self.name).run().exits(0).stdout.clone();
        let export = self.tool("export", self.name).run().exits(0).stdout.clone();
        let export: Value = serde_json::from_str(&export).expect("JSON");
        let mistakes: Vec<_> = validator()
            .iter_errors(&export)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(mistakes.is_empty(), "{mistakes:#?}");
        (format!("{list}\n---\n{plan}"), export)
    }

    fn debug(&self) -> String {
        self.tool("debug", self.name).run().exits(0).stdout.clone()
    }
}

fn validator() -> Validator {
    let path = workspace().join("docs/scenario.schema.json");
    let schema = fs::read_to_string(path).expect("a schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    jsonschema::draft202012::new(&schema).expect("a schema that can be used")
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing\n{text}");
    }
}

fn a_stream_of_events_is_everywhere() {
    let example = Example::new("assistant");
    let reports = example.run();
    reports.have(&PAGES, &["Streams", "ap p95", "nits/s", "follow"]);
    reports.have(
        &["junit"],
        // How many are good by its limit on real time, the machine decides.
        &["first event p95 ", "per unit p95 ", "good "],
    );
    reports.have(
        &["openmetrics"],
        &[
            "loadtest_step_first_event_seconds_count{scenario=\"loadtest::assistant::assistant\",step=\"ask\"} 6\n",
            "loadtest_step_gap_seconds_count{scenario=\"loadtest::assistant::assistant\",step=\"ask\"} 120\n",
            "loadtest_step_units_total{scenario=\"loadtest::assistant::assistant\",step=\"ask\"} 240\n",
            "loadtest_step_good_ratio{",
        ],
    );
    // Units, their rate, events, together, good.
    reports.have(&["csv"], &[",240,", ",132,"]);
    let stream = &reports.steps()[0]["stream"];
    assert_eq!(
        (&stream["units"], &stream["events"]),
        (&240.into(), &132.into())
    );
    assert_eq!(stream["first_event"]["samples"], 6);
    let (declared, export) = example.declared();
    has(
        &declared,
        &[
            "a stream of events until `[DONE]`",
            "units by `tokens`",
            "good: first_event < 200 ms",
        ],
    );
    assert_eq!(export["steps"][0]["stream"]["units"], "tokens");
    has(
        &example.debug(),
        &[
            "< 200 OK",
            "{\"text\":\"word \"}",
            "{\"tokens\":40}",
            "curl -N ",
        ],
    );
}

fn websockets_are_everywhere() {
    let example = Example::new("chat");
    let reports = example.run();
    reports.have(
        &PAGES,
        &[
            "WebSockets",
            // The next may be opened before the last is closed.
            "6 in the whole run, ",
            "6 by users",
            "18 messages",
            "say",
            "from one to another",
        ],
    );
    reports.have(
        &["junit"],
        &[
            "name=\"websockets\" value=\"6 opened, at most ",
            " at once, 0 reopened, 6 closed by users, 18 messages sent, ",
        ],
    );
    reports.have(
        &["openmetrics"],
        &[
            "loadtest_websockets_opened_total{scenario=\"loadtest::chat::chat\"} 6\n",
            "loadtest_websocket_messages_total{scenario=\"loadtest::chat::chat\",direction=\"sent\"} 18\n",
            "step=\"talk\",request=\"say\",result=\"ok\"} 18\n",
        ],
    );
    reports.have(&["csv"], &[",websockets,", ",request,say,"]);
    let sockets = &reports.json["cards"][0]["websockets"];
    assert_eq!(
        (&sockets["opened"], &sockets["sent_messages"]),
        (&6.into(), &18.into())
    );
    let (declared, export) = example.declared();
    has(&declared, &["GET /room", "a WebSocket"]);
    assert!(export["steps"][0]["websocket"].is_object(), "{export}");
    has(
        &example.debug(),
        &[
            "< 101 Switching Protocols",
            "→ ",
            "← ",
            "{\"joined\":{\"members\":1}}",
            "curl -N ",
        ],
    );
}

fn calls_of_grpc_are_everywhere() {
    let example = Example::new("prices");
    let reports = example.run();
    reports.have(
        &PAGES,
        &[
            "gRPC calls",
            "shop.Cart/Watch",
            "OK 6",
            // Markdown marks the bar of `NOT_FOUND`.
            "FOUND 6",
            "Streams",
        ],
    );
    reports.have(
        &["junit"],
        &["watch: gap.p99 &lt; 100 ms", "first event p95 "],
    );
    reports.have(
        &["openmetrics"],
        &[
            "step=\"watch\",request=\"shop.Cart/Watch\",direction=\"received\"} 30\n",
            "step=\"both\",request=\"shop.Cart/AddAll\",direction=\"sent\"} 18\n",
            "step=\"miss\",request=\"shop.Cart/Add\",result=\"failed\"} 6\n",
        ],
    );
    reports.have(
        &["csv"],
        &[",request,shop.Cart/Watch,", ",request,shop.Cart/AddAll,"],
    );
    let row = &reports.steps()[1]["inner"][0];
    assert_eq!(
        (&row["name"], &row["statuses"]["5"]),
        (&"shop.Cart/Add".into(), &6.into())
    );
    let row = &reports.steps()[2]["inner"][0];
    assert_eq!(
        (&row["messages"]["received"], &row["stream"]["events"]),
        (&30.into(), &30.into())
    );
    let (declared, export) = example.declared();
    has(&declared, &["gap.p99 < 100 ms", "async"]);
    assert_eq!(export["steps"][2]["uses"][0]["step"], "add");
    has(
        &example.debug(),
        &[
            "row `shop.Cart/Add`",
            "a message of 5 bytes",
            "< NOT_FOUND: it is sold out",
            "< grpc-status: 0",
        ],
    );
}

fn operations_of_graphql_are_everywhere() {
    let example = Example::new("shelf");
    let reports = example.run();
    let all = ["query Shelf", "mutation Add"];
    reports.have(&PAGES, &all);
    reports.have(&["junit", "csv", "json"], &all);
    assert_eq!(reports.steps()[0]["operation"], "query Shelf");
    let (declared, export) = example.declared();
    has(
        &declared,
        &[
            "GraphQL `query Shelf`, accepting errors together with data",
            "GraphQL `mutation Add`",
        ],
    );
    assert_eq!(export["steps"][0]["graphql"]["operation"], "query Shelf");
    has(
        &example.debug(),
        &[
            "\"query\": \"query Shelf(",
            "\"code\": \"NO_PRICE\"",
            "\"variables\": {",
        ],
    );
}

fn operations_of_another_client_are_everywhere() {
    let example = Example::new("cart");
    let reports = example.run();
    reports.have(&PAGES, &["HINCRBY", "EXPIRE", "HGETALL", "connect tcp://"]);
    reports.have(&["junit"], &["name=\"fill\"", "6 executed"]);
    reports.have(
        &["openmetrics"],
        &[
            "step=\"fill\",request=\"EXPIRE\",result=\"ok\"} 6\n",
            "request=\"HGETALL\",quantile=\"0.95\"}",
        ],
    );
    reports.have(&["csv"], &[",request,EXPIRE,", ",request,HGETALL,"]);
    let row = &reports.steps()[2]["inner"][0];
    assert_eq!(
        (&row["name"], &row["requests"]),
        (&"HGETALL".into(), &6.into())
    );
    let (declared, export) = example.declared();
    has(&declared, &["once per user", "each step has its own"]);
    assert_eq!(export["steps"][0]["once"], true);
    has(
        &example.debug(),
        &["< `connect tcp://127.0.0.1:", "< `HINCRBY`", "< `HGETALL`"],
    );
}

fn figures_of_streams_are_searched_for() {
    let example = Example::new("assistant");
    let line =
        "assistant --from 4/s --max 8/s --window 1s --confirm 2s --ramp-up 200ms --rest 100ms";
    let slo = "ask.first_event.p95 < 20s, ask.gap.p99 < 20s, ask.per_unit.p95 < 20s, ask.good > 0%, errors < 50%";
    let search = |slo: &str| {
        example
            .tool("capacity", line)
            .args(["--slo", slo, "--export", "json=-"])
    };
    // Whether the generator keeps the rate, the machine decides; the figures are there, and their limits kept.
    let met = search(slo).run();
    let met: Value = serde_json::from_str(&met.stdout).expect("JSON");
    let conditions = met["capacity"]["trials"][0]["slo"].as_array();
    let conditions = conditions.expect("a trial with its conditions");
    assert_eq!(conditions.len(), 5, "{conditions:?}");
    for condition in &conditions[..4] {
        assert_eq!(condition["held"], true, "{condition}");
        assert!(condition["actual"].is_number(), "{condition}");
    }
    // The first word takes 60 ms, and each further one 5 ms.
    for slo in ["ask.first_event.p95 < 10ms", "ask.gap.p99 < 1ms"] {
        let missed = search(slo).run().exits(99);
        let missed: Value = serde_json::from_str(&missed.stdout).expect("JSON");
        let finding = &missed["capacity"]["finding"];
        assert!(finding["confirmed_per_second"].is_null(), "{finding}");
    }
}

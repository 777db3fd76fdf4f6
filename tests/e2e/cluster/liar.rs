//! An agent that lies is lost, and the others go on: the run is INVALID and names it. A controller that lies gets nothing
//! from an agent but a load.

use super::broker::Broker;
use super::run::{Agent, Cluster, ClusterRun};
use super::wire::RawClient;
use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::metrics::Frame;
use loadtest_model::protocol::JournalLine;
use loadtest_model::record::{RunStart, ScenarioRecord, ShardRun};
use loadtest_tests::Server;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

pub(crate) fn trials() -> Vec<Trial> {
    trials![needing "nats-server":
        a_lying_agent_is_lost_with_the_reason_and_nobody_else,
        an_agent_that_sends_without_an_end_takes_no_memory,
        what_an_agent_calls_itself_goes_nowhere_unread,
        an_order_names_no_file_and_no_run_that_is_none,
    ]
}

const LOAD: &str = "single --rate 20/s --duration 2s --seed 7";

/// What a liar tells once it has its part.
type Lie = fn(&mut Liar);

/// An agent that is none.
struct Liar {
    client: RawClient,
    name: String,
    /// The answer to the question who is there.
    info: Value,
    /// The parts as honest agents made them.
    parts: [ScenarioRecord; 2],
    subject: String,
    place: usize,
    sent: usize,
    is_over: Arc<AtomicBool>,
}

impl Liar {
    /// Answers whatever a controller asks, takes a part, and tells lies.
    fn serve(mut self, lie: Lie) {
        while let Some(asked) = self.client.next() {
            let Some(reply) = asked.reply else { continue };
            let question: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
            let order = &question["prepare"];
            let answer = match asked.subject.as_str() {
                "lt.agents" => self.info.clone(),
                _ if order.is_null() => json!({"clock": {"now_us": now_us()}}),
                _ => json!("accepted"),
            };
            self.client.publish(&reply, answer.to_string().as_bytes());
            if let Some(run) = order["run"].as_str() {
                self.place =
                    usize::try_from(order["place"].as_u64().expect("a place")).expect("a place");
                self.subject = format!("lt.run.{run}.parcels.{}", self.place);
                lie(&mut self);
                // The connection stays as long as its messages may be on their way.
                while self.client.next().is_some() {}
            }
        }
    }

    /// Waits until the load begins, or the run is over.
    fn wait_for_start(&mut self) {
        let prepares = b"\"prepare\"";
        while let Some(told) = self.client.next() {
            let is_beat = told.subject.contains(".control.");
            if is_beat && !told.body.windows(9).any(|part| part == prepares) {
                return;
            }
        }
    }

    fn send_parcel(&mut self, head: &Value, bytes: &[u8]) {
        let parcel = [head.to_string().as_bytes(), b"\n", bytes].concat();
        self.client.publish(&self.subject, &parcel);
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        let head = json!({"agent": self.name, "file": 0, "offset": self.sent});
        self.send_parcel(&head, bytes);
        self.sent += bytes.len();
    }

    fn send(&mut self, line: &JournalLine) {
        let mut bytes = serde_json::to_vec(line).expect("a line");
        bytes.push(b'\n');
        self.send_bytes(&bytes);
    }

    /// What its part begins with.
    fn begin(&mut self) -> RunStart {
        let start = self.parts[self.place].start.clone();
        self.send(&JournalLine::Ready);
        self.send(&JournalLine::Start(Box::new(start.clone())));
        start
    }

    fn send_frame(&mut self, change: impl FnOnce(&mut Frame)) {
        let mut frame = Frame::default();
        change(&mut frame);
        self.send(&JournalLine::Frame(Box::new(frame)));
    }

    /// The end of its part, as if all were in order.
    fn finish(&mut self) {
        let end = json!({"lengths": [self.sent, 0, 0], "status": "exit code 0", "output": []});
        let head = json!({"agent": self.name, "file": 0, "offset": self.sent, "end": end});
        self.send_parcel(&head, b"");
    }
}

fn now_us() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("a time after 1970").as_micros()
}

/// A server, an honest agent, and what a liar needs to look like another one.
struct Scene {
    broker: Broker,
    target: Server,
    honest: Agent,
    parts: [ScenarioRecord; 2],
    info: Value,
    liars: u32,
}

impl Scene {
    fn new() -> Self {
        let cluster = Cluster::<2>::start();
        let run = cluster.run(LOAD);
        run.running.output().exits(0);
        let mut parts = cluster.parts();
        parts.sort_by_key(|part| part.start.plan.shard);
        let list = run.sandbox.call().args(["agents", "--format", "json"]);
        let listed = list.line(&cluster.broker.option()).run().exits(0).stdout;
        let listed: Value = serde_json::from_str(&listed).expect("JSON");
        let [honest, _] = cluster.agents;
        Self {
            honest,
            broker: cluster.broker,
            target: cluster.target,
            info: listed[0].clone(),
            parts,
            liars: 0,
        }
    }

    /// Starts a liar, and a run that it takes part in.
    fn run(&mut self, lie: Lie) -> (String, ClusterRun, Arc<AtomicBool>) {
        let address = self.broker.option();
        // The one of the run before may still wait for its controller.
        self.honest = Agent::start(&address, "");
        self.liars += 1;
        // Before the others in the order of names.
        let name = format!("0-liar-{}", self.liars);
        let is_over = Arc::new(AtomicBool::new(false));
        let subject = format!("lt.agent.{name}");
        let server: SocketAddr = self.broker.address();
        let mut info = self.info.clone();
        info["agent"] = json!(name);
        let liar = Liar {
            client: RawClient::connect(server, &["lt.agents", &subject, "lt.run.*.control.*"]),
            name: name.clone(),
            info,
            parts: self.parts.clone(),
            subject: String::new(),
            place: 0,
            sent: 0,
            is_over: Arc::clone(&is_over),
        };
        thread::spawn(move || liar.serve(lie));
        let sandbox = Sandbox::new();
        let load = format!("{LOAD} {address} --agents 2 --on-agent-loss continue");
        let running = sandbox.run(&load, &self.target).start();
        (name, ClusterRun { sandbox, running }, is_over)
    }
}

/// What a liar tells, the exit code of the run, and the words on it. One that lies before the load keeps it from beginning;
/// one that lies later is lost, and the others go on.
const LIES: [(&str, Lie, i32, &str); 15] = [
    (
        "wrong totals",
        |liar| {
            liar.begin();
            liar.wait_for_start();
            liar.send_frame(|_| ());
            let mut end = liar.parts[liar.place].end.clone();
            end.planned = 1_000_000;
            liar.send(&JournalLine::End(end));
            liar.finish();
        },
        102,
        "planned 1000000",
    ),
    (
        "more than there can be",
        |liar| {
            liar.begin();
            liar.wait_for_start();
            liar.send_frame(|frame| frame.windows.steady.journey.started = u64::MAX);
        },
        102,
        "more than any run can have",
    ),
    (
        "figures that contradict each other",
        |liar| {
            liar.begin();
            liar.wait_for_start();
            let mut frame = Frame::default();
            frame.windows.steady = liar.parts[0].windows.steady.clone();
            frame.windows.steady.steps[0].satisfied += 1_000;
            liar.send(&JournalLine::Frame(Box::new(frame)));
        },
        102,
        "more were in time",
    ),
    (
        "a second of another year",
        |liar| {
            liar.begin();
            liar.wait_for_start();
            liar.send_frame(|frame| frame.second = u32::MAX - 1);
        },
        102,
        "which no run can have",
    ),
    (
        "a second twice",
        |liar| {
            liar.begin();
            liar.wait_for_start();
            liar.send_frame(|frame| frame.second = 1);
            liar.send_frame(|frame| frame.second = 1);
        },
        102,
        "second 1 after second 1",
    ),
    (
        "a second after the end",
        |liar| {
            liar.begin();
            liar.wait_for_start();
            let end = liar.parts[liar.place].end.clone();
            liar.send(&JournalLine::End(end));
            liar.send_frame(|_| ());
        },
        102,
        "a line after the end",
    ),
    (
        "two starts",
        |liar| {
            let start = liar.begin();
            liar.wait_for_start();
            liar.send(&JournalLine::Start(Box::new(start)));
        },
        102,
        "a second start",
    ),
    (
        "an ending that is none",
        |liar| {
            liar.begin();
            liar.wait_for_start();
            liar.send_bytes(b"{\"end\":{\"ending\":{\"how\":\"exploded\"}}}\n");
        },
        102,
        "a line of its journal",
    ),
    (
        "a line that is none",
        |liar| {
            liar.begin();
            liar.wait_for_start();
            liar.send_bytes(b"{\"frame\":{\"second\":0}\n");
        },
        102,
        "a line of its journal",
    ),
    (
        "spans of a run without traces",
        |liar| {
            liar.begin();
            liar.wait_for_start();
            let head = json!({"agent": liar.name, "file": 2, "offset": 0});
            liar.send_parcel(&head, b"{\"lost\":{\"spans\":1}}\n");
        },
        102,
        "spans that were not requested",
    ),
    (
        "in the name of another",
        |liar| {
            liar.begin();
            liar.wait_for_start();
            let head = json!({"agent": liar.info["host"], "file": 0, "offset": liar.sent});
            liar.send_parcel(&head, b"\"ready\"\n");
        },
        102,
        // It is not known whose word that is, so it is nobody's.
        "was silent for",
    ),
    (
        "another load",
        |liar| {
            let mut start = liar.parts[liar.place].start.clone();
            start.plan.seed += 1;
            liar.send(&JournalLine::Start(Box::new(start)));
        },
        1,
        "a load that was not assigned",
    ),
    (
        "the part of another",
        |liar| {
            let start = liar.parts[1 - liar.place].start.clone();
            liar.send(&JournalLine::Start(Box::new(start)));
        },
        1,
        "a load that was not assigned",
    ),
    (
        "a journal of no scenario",
        |liar| {
            let head = json!({"agent": liar.name, "file": 3, "offset": 0});
            liar.send_parcel(&head, b"");
        },
        1,
        "a scenario that does not run",
    ),
    (
        "garbage",
        |liar| {
            let subject = liar.subject.clone();
            liar.client.publish(&subject, &[0, 255, 10, 13, 10, 7]);
        },
        1,
        "sends unreadable data",
    ),
];

fn a_lying_agent_is_lost_with_the_reason_and_nobody_else() {
    let mut scene = Scene::new();
    for (what, lie, code, words) in LIES {
        let (name, run, _) = scene.run(lie);
        let output = run.running.output().exits(code);
        let last = run.sandbox.only_run();
        if code == 1 {
            let told = &output.stderr;
            assert!(
                told.contains(&name) && told.contains(words),
                "{what}: {output}"
            );
            let files = last.files();
            let is_kept = files.iter().any(|file| file.ends_with("agent-2-journal-1"));
            assert!(is_kept, "{what}: {files:?}");
            continue;
        }
        // The other made its part, which counts, and nothing of the liar does.
        let record = last.record();
        let [liar, honest] = &record.scenarios[0].shards[..] else {
            panic!("{what}: {record:?}");
        };
        let told = liar.agent.as_ref().and_then(|agent| agent.lost.as_ref());
        let told = told.map(ToString::to_string).unwrap_or_default();
        assert!(
            told.contains(&name) && told.contains(words),
            "{what}: {told}"
        );
        let made = |shard: &ShardRun| shard.started;
        assert_eq!((made(liar), made(honest)), (0, 20), "{what}");
    }
}

/// Returns the most memory that a process had so far, in kB; `None` once it is over.
fn peak_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn an_agent_that_sends_without_an_end_takes_no_memory() {
    let mut scene = Scene::new();
    let (name, run, is_over) = scene.run(|liar| {
        let bytes = vec![b'x'; 512 << 10];
        // 1 GB, unless the run ends before.
        for _ in 0..2_048 {
            if liar.is_over.load(Ordering::SeqCst) {
                break;
            }
            liar.send_bytes(&bytes);
        }
    });
    let mut most = 0;
    while let Some(kilobytes) = peak_memory(run.running.process()) {
        most = most.max(kilobytes);
        thread::yield_now();
    }
    is_over.store(true, Ordering::SeqCst);
    let words = "sends a line that no journal has";
    run.running.output().exits(1).says(&[&name, words]);
    assert!(most > 0 && most < 200_000, "{most} kB");
}

fn what_an_agent_calls_itself_goes_nowhere_unread() {
    let scene = Scene::new();
    let mut info = scene.info.clone();
    info["agent"] = json!("red\u{1b}[31m\r\nPUB lt.agents 0\r\n");
    let server = scene.broker.address();
    let mut client = RawClient::connect(server, &["lt.agents"]);
    thread::spawn(move || {
        while let Some(asked) = client.next() {
            let reply = asked.reply.expect("a question");
            client.publish(&reply, b"");
            client.publish(&reply, info.to_string().as_bytes());
        }
    });
    let sandbox = Sandbox::new();
    let list = sandbox.call().arg("agents").line(&scene.broker.option());
    let output = list.run().exits(0).says(&["is left out"]);
    assert!(
        !output.stderr.contains('\u{1b}') && !output.stdout.contains('\u{1b}'),
        "{output}"
    );
    assert_eq!(output.stdout.lines().count(), 1, "the honest one\n{output}");
}

fn an_order_names_no_file_and_no_run_that_is_none() {
    let broker = Broker::start();
    let agent = Agent::start(&broker.option(), "");
    let mut controller = RawClient::connect(broker.address(), &["answers"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("precious");
    std::fs::write(&file, "kept").expect("our own file");
    let subject = format!("lt.agent.{}", agent.name());
    let load = json!({
        "scenario": "site::load::single", "run_id": "20261128-120000-abcd", "overrides": {},
        "base_url": null, "grading": {}, "seed": 1, "executable_hash": "", "has_spans": false,
    });
    let samples = json!({"path": file, "share": 1.0});
    let shell = json!("$(id > file)");
    let mut ask = |field: &str, value: &Value| {
        let mut load = load.clone();
        load[field] = value.clone();
        let order = json!({"run": "r-1", "place": 0, "loads": [load], "setup_values": [], "orphan_after_s": 15});
        let question = json!({"prepare": order}).to_string();
        let answer = controller.ask(&subject, "answers", question.as_bytes());
        let answer: Value = serde_json::from_slice(&answer.expect("an answer").body).expect("JSON");
        answer["refused"]["message"].as_str().map(str::to_owned)
    };
    for (field, value, words) in [
        ("samples", &samples, "unknown field `samples`"),
        ("journal", &json!(file), "unknown field `journal`"),
        ("record", &json!(file), "unknown field `record`"),
        ("spans", &json!(file), "unknown field `spans`"),
        ("run_id", &shell, "a name is of letters"),
        // An order that could be one gets further.
        ("seed", &json!(2), "another build of `site::load::single`"),
    ] {
        let refused = ask(field, value).unwrap_or_default();
        assert!(refused.contains(words), "{field}: {refused}");
    }
    assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some("kept"));
}

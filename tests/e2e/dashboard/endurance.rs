//! Pages that are open for long, and many at once.

use super::Dashboard;
use crate::browser::Browser;
use crate::project::workspace;
use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::metrics::{Frame, Tally};
use loadtest_model::protocol::JournalLine;
use loadtest_tests::{Reply, Server};
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write as _;
use std::ops::Range;
use std::time::Duration;

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "chromium":
        ten_hours_take_no_more_memory_than_ten_minutes,
        seven_tabs_do_not_hang,
    ]
}

/// The seconds of the run.
const TEN_HOURS: u32 = 36_000;
/// Seconds differ in 50 times and 17 numbers of users.
const DIFFERENT: u32 = 50 * 17;
/// The page takes the parts of one look so many times again at each measurement: a look lasts a second.
const AGAIN: u32 = 100;

/// A run under way whose journal the test writes, faster than time.
#[derive(Debug)]
struct ScriptedRun {
    journal: File,
    /// The lines of seconds that differ in more than their number, without it.
    lines: Vec<(String, String)>,
    /// A lock as that of the process of a run.
    _claim: File,
}

impl ScriptedRun {
    const NAME: &str = "20261125-000000-long";

    /// Begins with the declarations of a run that was recorded, for ten hours.
    fn begin(sandbox: &Sandbox) -> Self {
        let folder = sandbox.root().join("runs").join(Self::NAME);
        fs::create_dir_all(&folder).expect("a folder");
        let claim = File::open(&folder).expect("our own folder");
        flock(&claim, FlockOperation::NonBlockingLockExclusive).expect("a lock");
        let recorded = workspace().join("loadtest/tests/records/v1/killed");
        let read = |name: &str| fs::read_to_string(recorded.join(name)).expect("a record");
        let header = read("run.json").replace("20261121-213851-mia8", Self::NAME);
        fs::write(folder.join("run.json"), header).expect("our own folder");
        let journal = read("journal-1.jsonl");
        let line = journal.lines().next().expect("its begin");
        let mut begin: Value = serde_json::from_str(line).expect("JSON");
        for of in ["definition", "plan"] {
            let duration = format!("/start/{of}/load/shape/duration_us");
            let duration = begin.pointer_mut(&duration).expect("a duration");
            *duration = json!(u64::from(TEN_HOURS) * 1_000_000);
        }
        let mut journal = File::create(folder.join("journal-1.jsonl")).expect("our own folder");
        writeln!(journal, "{begin}").expect("room");
        Self {
            journal,
            lines: (0..DIFFERENT).map(make_line).collect(),
            _claim: claim,
        }
    }

    /// Writes so many seconds.
    fn write(&mut self, seconds: Range<u32>) {
        let mut text = String::new();
        for second in seconds {
            let alike = &self.lines[(second % DIFFERENT) as usize];
            text.push_str(&alike.0);
            text.push_str(&second.to_string());
            text.push_str(&alike.1);
        }
        self.journal.write_all(text.as_bytes()).expect("room");
    }
}

/// The line of a second, before and after its number.
fn make_line(second: u32) -> (String, String) {
    let line = JournalLine::Frame(Box::new(make_frame(second)));
    let line = serde_json::to_string(&line).expect("JSON") + "\n";
    let number = format!("\"second\":{}", u32::MAX);
    let (before, after) = line.split_once(&number).expect("a number");
    (format!("{before}\"second\":"), after.to_owned())
}

/// A second of twenty journeys of four steps, with a number of no second.
fn make_frame(second: u32) -> Frame {
    let mut frame = Frame {
        second: u32::MAX,
        active_users: second % 17,
        ..Frame::default()
    };
    let tally = &mut frame.windows.steady;
    *tally = Tally::new(4);
    let time = Duration::from_millis(u64::from(second % 50) + 1);
    tally.journey.started = 20;
    tally.journey.ok = 20;
    tally.journey.time.record_n(4 * time, 20);
    for step in &mut tally.steps {
        step.executed = 20;
        step.ok = 20;
        step.response.record_n(time, 20);
    }
    frame
}

/// Gives the page the parts of its last look again.
const REPLAY: &str = "window.EventSource = class extends EventSource {
    constructor(address) {
        super(address);
        window.parts = new Map();
        this.addEventListener('part', (event) => {
            if (event.isTrusted) parts.set(JSON.parse(event.data).id, event.data);
        });
        window.replay = () => {
            for (const data of parts.values()) this.dispatchEvent(new MessageEvent('part', { data }));
        };
    }
};";

/// The memory of the page.
#[derive(Debug)]
struct Memory {
    heap: f64,
    /// Nodes that are not part of the page, or not of its document.
    nodes_outside: u64,
    listeners: u64,
}

impl Memory {
    #[track_caller]
    fn of(browser: &mut Browser) -> Self {
        // What a collection finishes is collected by the next one.
        for _ in 0..3 {
            browser.call("HeapProfiler.collectGarbage", json!({}));
        }
        let inside = browser.value(
            "(() => { const nodes = document.createNodeIterator(document); let count = 0; while (nodes.nextNode()) count++; return count; })()",
        );
        let metrics = browser.call("Performance.getMetrics", json!({}));
        let metric = |name: &str| {
            let mut all = metrics["metrics"].as_array().expect("figures").iter();
            let one = all.find(|metric| metric["name"] == name);
            one.and_then(|metric| metric["value"].as_f64())
                .expect("a figure")
        };
        Self {
            heap: metric("JSHeapUsedSize"),
            nodes_outside: metric("Nodes") as u64 - inside.as_u64().expect("a number"),
            listeners: metric("JSEventListeners") as u64,
        }
    }
}

fn ten_hours_take_no_more_memory_than_ten_minutes() {
    let sandbox = Sandbox::new();
    let mut run = ScriptedRun::begin(&sandbox);
    run.write(0..600);
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    browser.call(
        "Page.addScriptToEvaluateOnNewDocument",
        json!({ "source": REPLAY }),
    );
    browser.call("Performance.enable", json!({}));
    browser.visit(&dashboard.url(&format!("/runs/{}", ScriptedRun::NAME)));
    let mut measured = Vec::new();
    for (seconds, words) in [
        (600..600, "10m/10h"),
        (600..18_000, "5h/10h"),
        (18_000..TEN_HOURS - 60, "9h 59m/10h"),
    ] {
        run.write(seconds);
        browser.wait_until(&format!(
            "document.querySelector('.progress strong')?.textContent === '{words}' && !!window.parts?.has('live-figures')"
        ));
        for _ in 0..AGAIN {
            browser.value("replay()");
        }
        browser.value("parts.clear()");
        measured.push(Memory::of(&mut browser));
    }
    let (first, last) = (&measured[0], &measured[2]);
    assert!(last.heap <= 1.2 * first.heap, "{measured:#?}");
    assert_eq!(last.listeners, first.listeners, "{measured:#?}");
    assert_eq!(last.nodes_outside, first.nodes_outside, "{measured:#?}");
    // A drawing shows no more points than fit.
    let points = browser.value(
        "Math.max(...[...document.querySelectorAll('#live-figures polyline')].map(line => line.getAttribute('points').split(' ').length))",
    );
    assert!(
        (100..=600).contains(&points.as_u64().unwrap_or_default()),
        "{points}"
    );
    assert_eq!(browser.complaints(), [""; 0]);
    let peak = peak_memory(dashboard.running.process());
    assert!(peak < 150_000, "{peak} kB in the server");
    dashboard.end().exits(0);
}

/// Returns the most memory that a process had, in kB.
#[track_caller]
fn peak_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("our own child");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|rest| rest.split_whitespace().next());
    peak.and_then(|peak| peak.parse().ok()).expect("a figure")
}

/// Eight pages of one run: a browser has six connections for all of them.
fn seven_tabs_do_not_hang() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse_in(Browser::start_with_tabs());
    let terminal = sandbox
        .run("single --users 1 --duration 1h", &server)
        .start();
    browser.wait_until_there_is("#bar a.button");
    let page = browser.value("document.querySelector('#bar a.button').href");
    let page = page.as_str().expect("an address");
    for _ in 0..8 {
        browser.open_tab();
        browser.visit(page);
        browser.wait_until_there_is("#live-figures .tiles");
    }
    browser.show_tab(1);
    assert_eq!(browser.value("document.hidden"), false);
    // It goes on where it was left.
    let position = "document.querySelector('.progress strong').textContent";
    let before = browser.value(position);
    browser.wait_until(&format!("{position} !== {before}"));
    terminal.signal(Signal::INT);
    terminal.output().exits(105);
    for tab in 1..=8 {
        browser.show_tab(tab);
        browser.wait_until_there_is(".verdict");
    }
    dashboard.end().exits(0);
}

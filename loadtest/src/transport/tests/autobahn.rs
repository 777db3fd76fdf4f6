//! The client of WebSockets beside the Autobahn test suite, whose server plays some 500 cases and judges each.
//!
//! The suite is a program for Python 2.7: `PYTHONUSERBASE=target/autobahn python2.7 -m pip install --user
//! autobahntestsuite==0.8.2`. Without it the test says that it was left out. Built with optimizations it plays all cases,
//! else those that are not slow.

use super::user::{get, run, user};
use super::websocket::open;
use crate::transport::{HttpTransport, SocketConnection};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Many or large messages, and all of these compressed: minutes for code that is not optimized.
const SLOW_CASES: &[&str] = &["9.*", "12.*", "13.*"];

/// The server of the suite, which ends with this.
struct Suite {
    process: Child,
    url: String,
    reports: tempfile::TempDir,
}

impl Suite {
    /// Starts it with the compression of messages among its cases, if it is installed in `folder`.
    fn start(folder: &Path) -> Option<Self> {
        let program = folder.join("bin/wstest");
        if !program.exists() {
            return None;
        }
        let reports = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let specification = json!({
            "url": format!("ws://127.0.0.1:{port}"),
            "outdir": reports.path(),
            "cases": ["*"],
            "exclude-cases": if cfg!(debug_assertions) { SLOW_CASES } else { &[] },
            "exclude-agent-cases": {},
        });
        let file = reports.path().join("specification.json");
        fs::write(&file, specification.to_string()).unwrap();
        let process = Command::new(program)
            .args(["--mode", "fuzzingserver", "--webport", "0", "--spec"])
            .arg(&file)
            .env("PYTHONUSERBASE", folder)
            .current_dir(reports.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let suite = Self {
            process,
            url: format!("http://127.0.0.1:{port}"),
            reports,
        };
        for _ in 0..600 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(suite);
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("wstest does not answer");
    }

    /// Opens `path`, and yields the connection with the user who drives it.
    async fn open(&self, path: &str) -> (HttpTransport, Arc<SocketConnection>) {
        let mut user = user(&self.url).await;
        let exchange = open(&mut user, &get(path), true).await;
        let socket = exchange.socket.clone();
        let failed = || panic!("{path}: {:?}", exchange.result.err());
        (user, socket.unwrap_or_else(failed))
    }

    /// The words on each case: `OK`, `NON-STRICT`, `FAILED` and the like.
    fn verdicts(&self) -> BTreeMap<String, (String, String)> {
        let index = fs::read(self.reports.path().join("index.json")).unwrap();
        let index: Value = serde_json::from_slice(&index).unwrap();
        let cases = index["loadtest"].as_object().unwrap();
        let word = |case: &Value, name: &str| case[name].as_str().unwrap().to_owned();
        let verdicts = cases.iter().map(|(number, case)| {
            let words = (word(case, "behavior"), word(case, "behaviorClose"));
            (number.clone(), words)
        });
        verdicts.collect()
    }
}

impl Drop for Suite {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends back each message until the connection is over.
async fn echo(socket: &SocketConnection) {
    let mut next = 0;
    while let Ok(((number, is_text, data), _)) = socket
        .receive(next, |message| {
            Ok(Some((
                message.number,
                message.is_text,
                message.data.clone(),
            )))
        })
        .await
    {
        next = number + 1;
        if socket.send(is_text, &data).is_err() {
            return;
        }
    }
}

#[test]
fn every_case_of_the_autobahn_test_suite_is_passed() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/autobahn");
    let Some(suite) = Suite::start(&folder) else {
        println!("skipped: the Autobahn test suite is not installed in `target/autobahn`");
        return;
    };
    run(async {
        let (_user, counting) = suite.open("/getCaseCount").await;
        let count = counting
            .receive(0, |message| Ok(Some(message.data.clone())))
            .await;
        let count: usize = str::from_utf8(&count.unwrap().0).unwrap().parse().unwrap();
        // They stay until the server has closed their connections.
        let mut users = Vec::new();
        for number in 1..=count {
            let (user, socket) = suite
                .open(&format!("/runCase?case={number}&agent=loadtest"))
                .await;
            let echoed = tokio::time::timeout(Duration::from_secs(120), echo(&socket)).await;
            assert!(echoed.is_ok(), "case number {number} does not end");
            users.push(user);
        }
        let (_user, updating) = suite.open("/updateReports?agent=loadtest").await;
        echo(&updating).await;
        assert_eq!(suite.verdicts().len(), count);
    });
    let mut others = suite.verdicts();
    let is_passed = |word: &str| matches!(word, "OK" | "NON-STRICT" | "INFORMATIONAL");
    // The server of these asks for a smaller window of compression, which a client need not offer (RFC 7692, 7.1.2).
    let is_optional = |number: &str| {
        let optional = ["13.3.", "13.4.", "13.5.", "13.6."];
        optional.iter().any(|begin| number.starts_with(begin))
    };
    others.retain(|number, (messages, close)| {
        let is_left_out = messages == "UNIMPLEMENTED" && is_optional(number);
        !(is_passed(messages) || is_left_out) || !is_passed(close)
    });
    assert!(others.is_empty(), "{others:#?}");
}

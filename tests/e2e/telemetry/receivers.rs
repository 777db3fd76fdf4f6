//! Real receivers, each on a free port and in a folder of its own; they end when they are dropped.

use crate::call::wait_for;
use jiff::Timestamp;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A Prometheus that takes remote writes, native histograms and exemplars.
pub(crate) struct Prometheus {
    child: Child,
    folder: TempDir,
    address: SocketAddr,
}

impl Prometheus {
    /// Starts one that asks the page at `scraped` every second.
    pub(crate) fn start(scraped: Option<SocketAddr>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let targets = scraped.map(|address| {
            format!(
                "scrape_configs:\n  - job_name: scraped\n    scrape_interval: 1s\n    static_configs: [{{ targets: ['{address}'] }}]\n"
            )
        });
        let config = targets.unwrap_or_else(|| "global: {}\n".to_owned());
        std::fs::write(folder.path().join("prometheus.yml"), config).expect("a configuration");
        let (child, address) = launch_prometheus(folder.path(), "127.0.0.1:0");
        Self {
            child,
            folder,
            address,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it takes remote writes.
    pub(crate) fn write_url(&self) -> String {
        format!("{}/api/v1/write", self.url())
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("our own child");
        self.child.wait().expect("our own child");
    }

    /// Starts it again where it was.
    pub(crate) fn restart(&mut self) {
        let address = self.address.to_string();
        (self.child, self.address) = launch_prometheus(self.folder.path(), &address);
    }

    /// The answer to a query: the labels and values of all series. The last figures of a run are those of the end of a
    /// second, which may be yet to come.
    #[track_caller]
    pub(crate) fn query(&self, query: &str) -> Vec<(Value, f64)> {
        let soon = Timestamp::now().as_second() + 3;
        self.query_at(query, Timestamp::from_second(soon).expect("a time"))
    }

    /// The answer to a query about a time.
    #[track_caller]
    pub(crate) fn query_at(&self, query: &str, time: Timestamp) -> Vec<(Value, f64)> {
        let query: String = form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let path = format!("/api/v1/query?query={query}&time={time}");
        let answer = fetch(self.address, &path);
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let series = answer["data"]["result"].as_array().expect("a vector");
        let value = |one: &Value| {
            let text = one["value"][1].as_str().expect("a value");
            (one["metric"].clone(), text.parse().expect("a number"))
        };
        series.iter().map(value).collect()
    }

    /// The series with exemplars of a query, and these.
    #[track_caller]
    pub(crate) fn exemplars(&self, query: &str) -> Vec<Value> {
        let encoded: String = form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let now = Timestamp::now().as_second();
        let path = format!(
            "/api/v1/query_exemplars?query={encoded}&start={}&end={}",
            now - 600,
            now + 10
        );
        let answer: Value = serde_json::from_str(&fetch(self.address, &path)).expect("JSON");
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"].as_array().cloned().unwrap_or_default()
    }

    /// The only value of a query.
    #[track_caller]
    pub(crate) fn value(&self, query: &str) -> f64 {
        let series = self.query(query);
        assert_eq!(series.len(), 1, "{query}: {series:?}");
        series[0].1
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn launch_prometheus(folder: &Path, address: &str) -> (Child, SocketAddr) {
    let log = folder.join("log");
    let file = std::fs::File::create(&log).expect("a file for its log");
    let child = Command::new("prometheus")
        .current_dir(folder)
        .args([
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            "--web.enable-remote-write-receiver",
        ])
        .args([
            "--enable-feature=native-histograms,exemplar-storage",
            &format!("--web.listen-address={address}"),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .expect("prometheus");
    let address = wait_for("prometheus", || {
        let log = std::fs::read_to_string(&log).ok()?;
        log.contains("Server is ready to receive web requests")
            .then_some(())?;
        let line = log
            .lines()
            .find(|line| line.contains("msg=\"Listening on\""))?;
        line.split("address=").nth(1)?.trim().parse().ok()
    });
    (child, address)
}

/// An `InfluxDB` 1.x.
pub(crate) struct Influx {
    child: Child,
    _folder: TempDir,
    address: SocketAddr,
}

impl Influx {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [address, other] = [free_address(), free_address()];
        let path = folder.path().display();
        let config = format!(
            "reporting-disabled = true\nbind-address = \"{other}\"\n[meta]\ndir = \"{path}/meta\"\n[data]\n\
             dir = \"{path}/data\"\nwal-dir = \"{path}/wal\"\n[http]\nbind-address = \"{address}\"\n[monitor]\n\
             store-enabled = false\n"
        );
        let file = folder.path().join("influxdb.conf");
        std::fs::write(&file, config).expect("a configuration");
        let child = Command::new("influxd")
            .arg("-config")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("influxd");
        wait_for("influxd", || TcpStream::connect(address).ok());
        let started = Self {
            child,
            _folder: folder,
            address,
        };
        started.query("CREATE DATABASE load");
        started
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/write?db=load", self.address)
    }

    /// The answer to a query.
    pub(crate) fn query(&self, query: &str) -> Value {
        let query: String = form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let head = format!("POST /query?db=load&q={query} HTTP/1.0\r\n\r\n");
        let answer = exchange(self.address, &head);
        serde_json::from_str(&answer).expect("JSON")
    }
}

impl Drop for Influx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address at which nothing listens now.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("a bound socket")
}

/// The body of the answer to a request for `path`.
#[track_caller]
pub(crate) fn fetch(address: SocketAddr, path: &str) -> String {
    exchange(address, &format!("GET {path} HTTP/1.0\r\n\r\n"))
}

/// The same where the answer is to be of OpenMetrics.
#[track_caller]
pub(crate) fn fetch_openmetrics(address: SocketAddr, path: &str) -> String {
    let accepted = "application/openmetrics-text; version=1.0.0";
    exchange(
        address,
        &format!("GET {path} HTTP/1.0\r\naccept: {accepted}\r\n\r\n"),
    )
}

#[track_caller]
fn exchange(address: SocketAddr, head: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a server");
    stream.write_all(head.as_bytes()).expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (_, body) = text.split_once("\r\n\r\n").expect("a head");
    body.to_owned()
}

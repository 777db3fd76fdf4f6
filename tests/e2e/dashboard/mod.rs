//! `cargo loadtest ui`: who may reach it, and what its pages do in a real browser.

mod access;
mod accessibility;
mod editor;
mod endurance;
mod forms;
mod keys;
mod pages;
mod runs;
mod shared;
mod states;
mod walkthrough;

use crate::browser::Browser;
use crate::call::{Call, Running, wait_for};
use crate::site::Sandbox;
use libtest_mimic::Trial;
use rustix::process::Signal;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};

pub(crate) fn trials() -> Vec<Trial> {
    let all = [
        access::trials(),
        accessibility::trials(),
        editor::trials(),
        endurance::trials(),
        forms::trials(),
        keys::trials(),
        pages::trials(),
        runs::trials(),
        states::trials(),
        shared::trials(),
        walkthrough::trials(),
    ];
    all.into_iter().flatten().collect()
}

/// A dashboard under way; dropped, it is ended.
struct Dashboard {
    running: Running,
    /// The address that was printed: it can be opened once.
    address: String,
    port: u16,
}

impl Dashboard {
    /// `cargo loadtest ui --no-open <line>`, once it has printed its address.
    #[track_caller]
    fn start(sandbox: &Sandbox, line: &str) -> Self {
        Self::launch(sandbox.tool("ui", &format!("--no-open --port 0 {line}")))
    }

    /// The same of a whole call.
    #[track_caller]
    fn launch(call: Call) -> Self {
        let running = call.start();
        let address = wait_for("the address of the dashboard", || {
            let printed = running.printed();
            Some(printed.split_once('\n')?.0.to_owned())
        });
        let port = address.strip_prefix("http://127.0.0.1:").expect(&address);
        let port = port.split('/').next().and_then(|port| port.parse().ok());
        Self {
            running,
            port: port.expect("a port"),
            address,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Opens the printed address in a new browser.
    #[track_caller]
    fn browse(&self) -> Browser {
        self.browse_in(Browser::start())
    }

    /// Opens the printed address.
    #[track_caller]
    fn browse_in(&self, mut browser: Browser) -> Browser {
        browser.visit(&self.address);
        browser
    }

    /// Returns the cookie, for which the printed address is used up.
    #[track_caller]
    fn sign_in(&self) -> String {
        let path = self.address.split_at(self.url("").len()).1.to_owned();
        let answer = self.exchange("GET", &path, &[], "");
        let line = answer
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "));
        let line = line.unwrap_or_else(|| panic!("{answer}"));
        line.split(';').next().expect("a cookie").to_owned()
    }

    /// Sends a request with these headers besides `host`, which they may replace; returns the whole answer.
    #[track_caller]
    fn exchange(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        exchange(self.port, method, path, headers, body)
    }

    /// Sends a form as a page of the dashboard does; returns the whole answer.
    #[track_caller]
    fn send_form(&self, cookie: &str, path: &str, form: &str) -> String {
        let own = self.url("");
        let headers = [
            ("cookie", cookie),
            ("content-type", "application/x-www-form-urlencoded"),
            ("origin", &own),
        ];
        self.exchange("POST", path, &headers, form)
    }

    /// Returns a page with its head.
    #[track_caller]
    fn page(&self, cookie: &str, path: &str) -> String {
        self.exchange("GET", path, &[("cookie", cookie)], "")
    }

    /// Ends it with Ctrl-C, and waits.
    #[track_caller]
    fn end(self) -> crate::call::Output {
        self.running.signal(Signal::INT);
        self.running.output()
    }
}

/// Sends a request to a port of this machine with these headers besides `host`, which they may replace; returns the
/// whole answer.
#[track_caller]
fn exchange(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a server");
    let own = format!("127.0.0.1:{port}");
    let mut all = vec![("connection", "close")];
    if !headers.iter().any(|(name, _)| *name == "host") {
        all.push(("host", &own));
    }
    all.extend(headers);
    let lines = all
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let lines: Vec<_> = lines.collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\ncontent-length: {}\r\n{}",
        body.len(),
        lines.concat()
    );
    socket
        .write_all(format!("{head}\r\n{body}").as_bytes())
        .expect("a request");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("an answer");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns the status of an answer.
#[track_caller]
fn status(answer: &str) -> u16 {
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    status.unwrap_or_else(|| panic!("{answer}"))
}

/// Returns the address that an answer leads to.
#[track_caller]
fn location(answer: &str) -> String {
    let mut lines = answer.lines();
    let location = lines.find_map(|line| line.strip_prefix("location: "));
    location.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

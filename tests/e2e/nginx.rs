//! The same scenarios against a server that knows nothing of us.

use crate::call::wait_for;
use crate::site::{Sandbox, assert_balanced, total};
use crate::trials;
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

pub(crate) fn trials() -> Vec<Trial> {
    trials![needing "nginx":
        the_access_log_of_nginx_has_every_request_we_counted,
        a_rate_is_in_the_access_log_of_nginx,
        nginx_speaks_http2_with_us,
    ]
}

/// An nginx of our own; it is stopped when it is dropped.
pub(crate) struct Nginx {
    folder: TempDir,
    child: Child,
    pub(crate) port: u16,
}

/// What the server of the tests answers.
const ANSWERS: &str = "\
    default_type application/json;
    location = /login { return 200 '{\"token\":\"t-1\",\"user\":{\"id\":7,\"name\":\"Ada\"}}'; }
    location = /products { return 200 '{\"items\":[{\"id\":31}]}'; }
    location = /orders { return 201 '{\"id\":99}'; }
    location = /orders/99 { return 200 'shown'; }
    location = /single { return 200 'ok'; }
    location / { return 404; }
";

impl Nginx {
    fn start() -> Self {
        Self::start_with("plain", "", ANSWERS)
    }

    /// One with another format of its log, more to say of where it listens, and other answers.
    pub(crate) fn start_with(format: &str, listens: &str, answers: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Between our finding a free port and its taking it, somebody else may have taken it.
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0")
                .and_then(|listener| listener.local_addr())
                .expect("a free port")
                .port();
            let mut child = Self::launch(&folder, port, format, listens, answers);
            let begun = wait_for("nginx", || {
                if child.try_wait().expect("our own child").is_some() {
                    return Some(false);
                }
                TcpStream::connect(("127.0.0.1", port))
                    .is_ok()
                    .then_some(true)
            });
            if begun {
                return Self {
                    folder,
                    child,
                    port,
                };
            }
        }
        let log = std::fs::read_to_string(folder.path().join("error.log")).unwrap_or_default();
        panic!("nginx does not start\n{log}");
    }

    fn launch(folder: &TempDir, port: u16, format: &str, listens: &str, answers: &str) -> Child {
        let root = folder.path().display();
        let configuration = format!(
            "daemon off;\nmaster_process off;\npid {root}/nginx.pid;\nerror_log {root}/error.log;\n\
             events {{ worker_connections 256; }}\n\
             http {{\n  \
             log_format plain '$request_method $request_uri $status';\n  \
             log_format versioned '$server_protocol $request_method $request_uri $status';\n  \
             access_log {root}/access.log {format};\n  \
             client_body_temp_path {root}/body;\n  proxy_temp_path {root}/proxy;\n  \
             fastcgi_temp_path {root}/fastcgi;\n  uwsgi_temp_path {root}/uwsgi;\n  \
             scgi_temp_path {root}/scgi;\n  keepalive_requests 50;\n  \
             server {{\n    listen 127.0.0.1:{port} {listens};\n    \
             {answers}\n  }}\n}}\n"
        );
        let path = folder.path().join("nginx.conf");
        std::fs::write(&path, configuration).expect("the configuration");
        Command::new("nginx")
            .arg("-c")
            .arg(path)
            .arg("-p")
            .arg(folder.path())
            .arg("-e")
            .arg(folder.path().join("error.log"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx is installed")
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Stops it and counts the lines of its log.
    fn stop(mut self) -> BTreeMap<String, u64> {
        crate::call::send(self.child.id(), rustix::process::Signal::QUIT);
        self.child.wait().expect("our own child");
        let log = std::fs::read_to_string(self.folder.path().join("access.log"));
        let mut lines = BTreeMap::new();
        for line in log.expect("the access log").lines() {
            *lines.entry(line.to_owned()).or_default() += 1;
        }
        lines
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn the_access_log_of_nginx_has_every_request_we_counted() {
    let nginx = Nginx::start();
    let sandbox = Sandbox::new();
    // Every 50th request closes its connection, so that connections are renewed on the way.
    sandbox
        .tool("run", "journey --iterations 500 --users 8")
        .args(["--base-url", &nginx.url()])
        .run()
        .exits(0);
    let record = sandbox.record();
    assert_balanced(&record);
    let total = total(&record);
    let requests: Vec<u64> = total.steps.iter().map(|step| step.requests).collect();
    let log = nginx.stop();
    let lines = [
        "POST /login 200",
        "GET /products 200",
        "POST /orders 201",
        "GET /orders/99 200",
    ];
    let logged: Vec<u64> = lines.map(|line| log.get(line).copied().unwrap_or(0)).into();
    assert_eq!(logged, requests, "{log:?}");
    assert_eq!(
        logged.iter().sum::<u64>(),
        log.values().sum::<u64>(),
        "nothing else: {log:?}"
    );
    assert_eq!(total.journey.ok, 500);
}

fn a_rate_is_in_the_access_log_of_nginx() {
    let nginx = Nginx::start();
    let sandbox = Sandbox::new();
    sandbox
        .tool("run", "single --rate 200/s --duration 1s")
        .args(["--base-url", &nginx.url()])
        .run()
        .exits(0);
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(record.end.planned, 200);
    let total = total(&record);
    let log = nginx.stop();
    assert_eq!(
        log.get("GET /single 200"),
        Some(&total.steps[0].requests),
        "{log:?}"
    );
    // There may be as many users, so that none is dropped.
    assert_eq!((total.journey.ok, total.journey.dropped), (200, 0));
}

fn nginx_speaks_http2_with_us() {
    let nginx = Nginx::start_with("versioned", "http2", ANSWERS);
    let sandbox = crate::client::sandbox();
    // Every 50th request ends its connection, which HTTP/2 announces with a GOAWAY.
    sandbox
        .tool(
            "run",
            "--exact client::load::second --iterations 200 --users 4",
        )
        .args(["--base-url", &nginx.url()])
        .run()
        .exits(0);
    let record = sandbox.record();
    assert_balanced(&record);
    let total = total(&record);
    assert_eq!(total.journey.ok, 200, "{:?}", total.steps);
    let log = nginx.stop();
    let lines = ["HTTP/2.0 GET /single 200", "HTTP/2.0 POST /orders 201"];
    let logged = lines.map(|line| log.get(line).copied());
    assert_eq!(logged, [Some(200), Some(200)], "{log:?}");
}

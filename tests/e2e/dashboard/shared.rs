//! A dashboard for a team, behind a proxy.

use super::{exchange, status};
use crate::call::{Call, Running, wait_for};
use crate::nginx::Nginx;
use crate::site::{Sandbox, shop};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::Server;
use rustix::process::Signal;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;

pub(super) fn trials() -> Vec<Trial> {
    let mut all = trials![
        nothing_is_shared_without_members_a_header_and_a_secret,
        members_do_what_their_level_permits_and_others_see_nothing,
        editing_is_permitted_by_an_option,
    ];
    all.extend(trials![needing "nginx": behind_nginx_a_tester_runs_what_is_there,]);
    all
}

const SECRET: &str = "5d41402abc4b2a76b9719d911017c592";
const MEMBERS: &str =
    "[organisation.members]\nada = \"admin\"\ntess = \"tester\"\nvera = \"viewer\"\n";
const PUBLIC: &str = "https://loadtest.example";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn shared(sandbox: &Sandbox, line: &str) -> Call {
    let flags = format!("--user-header x-user {line}");
    let call = sandbox.tool("ui", &flags);
    call.env("LOADTEST_PROXY_SECRET", SECRET)
}

fn nothing_is_shared_without_members_a_header_and_a_secret() {
    let sandbox = Sandbox::new();
    let call = shared(&sandbox, &format!("--public-url {PUBLIC}"));
    call.run().exits(2).says(&["`[organisation.members]`"]);
    let sandbox = Sandbox::with(MEMBERS);
    let call = shared(&sandbox, &format!("--public-url {PUBLIC}"));
    let call = call.env("LOADTEST_PROXY_SECRET", "short");
    call.run()
        .exits(2)
        .says(&["`LOADTEST_PROXY_SECRET`", "32 characters"]);
    let call = shared(&sandbox, &format!("--public-url {PUBLIC}/load"));
    call.run().exits(2).says(&["only a scheme and a host"]);
    let call = sandbox.tool("ui", &format!("--public-url {PUBLIC}"));
    call.run().exits(2).says(&["--user-header"]);
    let call = sandbox.tool("ui", "--allow-edit");
    call.run().exits(2).says(&["--public-url"]);
}

/// Starts a shared dashboard on a port of its own, which is returned, too.
#[track_caller]
fn start(sandbox: &Sandbox, line: &str) -> (Running, u16) {
    let mut running = shared(sandbox, &format!("--public-url {PUBLIC} --port 0 {line}")).start();
    running.wait_until_it_says("Serving http://127.0.0.1:");
    let port = wait_for("the port", || {
        let said = running.said();
        let line = said.split_once("http://127.0.0.1:")?.1.split_once('\n')?.0;
        line.trim().parse().ok()
    });
    wait_for("the public address", || {
        running.printed().contains(PUBLIC).then_some(())
    });
    (running, port)
}

/// Asks as the proxy does for `user`.
#[track_caller]
fn ask(port: u16, user: &str, method: &str, path: &str, body: &str) -> String {
    let headers = [
        ("host", "loadtest.example"),
        ("origin", PUBLIC),
        ("x-user", user),
        ("x-loadtest-proxy-secret", SECRET),
        FORM,
    ];
    exchange(port, method, path, &headers, body)
}

fn members_do_what_their_level_permits_and_others_see_nothing() {
    let sandbox = Sandbox::with(MEMBERS);
    let (running, port) = start(&sandbox, "");
    let all: [&[(&str, &str)]; 4] = [
        &[],
        &[("host", "loadtest.example")],
        &[("host", "loadtest.example"), ("x-user", "ada")],
        &[
            ("host", "loadtest.example"),
            ("x-loadtest-proxy-secret", SECRET),
        ],
    ];
    let answers = all.map(|headers| status(&exchange(port, "GET", "/", headers, "")));
    assert_eq!(answers, [421, 403, 403, 403]);
    for path in ["/", "/runs", "/settings", "/stream", "/code"] {
        let answer = ask(port, "mallory", "GET", path, "");
        assert_eq!(status(&answer), 403, "{answer}");
        assert!(
            answer.contains("`mallory` (by the proxy) is not a member"),
            "{answer}"
        );
    }
    let page = ask(port, "vera", "GET", "/runs", "");
    assert_eq!(status(&page), 200, "{page}");
    assert!(
        page.contains("vera, viewer") && !page.contains("set-cookie"),
        "{page}"
    );
    for (user, path, reason) in [
        ("vera", "/runs/start", "needs the level tester"),
        ("vera", "/runs/stop", "needs the level tester"),
        ("vera", "/try/start", "needs the level tester"),
        ("vera", "/baselines/remove", "needs the level tester"),
        ("vera", "/runs/remove", "needs the level tester"),
        ("tess", "/new/read", "sources are not changed"),
        ("tess", "/edit/save", "sources are not changed"),
        ("ada", "/new/add", "sources are not changed"),
        ("ada", "/scenarios/duplicate", "sources are not changed"),
    ] {
        let answer = ask(port, user, "POST", path, "");
        assert_eq!(status(&answer), 403, "{user} {path}: {answer}");
        assert!(answer.contains(reason), "{user} {path}: {answer}");
    }
    running.signal(Signal::INT);
    running.output().exits(0);
}

fn editing_is_permitted_by_an_option() {
    let sandbox = Sandbox::with(MEMBERS);
    let (running, port) = start(&sandbox, "--allow-edit");
    let answer = ask(port, "vera", "POST", "/edit/save", "");
    assert_eq!(status(&answer), 403, "{answer}");
    // A tester gets as far as the form, which is empty.
    let answer = ask(port, "tess", "POST", "/edit/save", "");
    assert_ne!(status(&answer), 403, "{answer}");
    running.signal(Signal::INT);
    running.output().exits(0);
}

fn behind_nginx_a_tester_runs_what_is_there() {
    let server = Server::start(shop);
    let sandbox = Sandbox::with(MEMBERS);
    let (socket, users) = (sandbox.root().join("ui.sock"), sandbox.root().join("users"));
    std::fs::write(&users, "tess:{PLAIN}open\nmallory:{PLAIN}open\n").expect("the users");
    // It serves whatever `Host` it is asked for: the port is not known before it listens.
    let nginx = Nginx::start_with(
        "plain",
        "",
        &format!(
            "location / {{ auth_basic load; auth_basic_user_file {users}; proxy_pass http://unix:{socket}; \
             proxy_set_header Host loadtest.example; proxy_set_header X-User $remote_user; \
             proxy_set_header X-Loadtest-Proxy-Secret {SECRET}; }}",
            users = users.display(),
            socket = socket.display(),
        ),
    );
    let line = format!("--public-url {PUBLIC} --socket ui.sock");
    let running = shared(&sandbox, &line).start();
    wait_for("the public address", || {
        running.printed().contains(PUBLIC).then_some(())
    });
    let mode = std::fs::metadata(&socket)
        .expect("the socket")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // `tess:open` and `mallory:open`.
    let credentials = |user: &str| match user {
        "tess" => "Basic dGVzczpvcGVu",
        _ => "Basic bWFsbG9yeTpvcGVu",
    };
    let ask = |user: &str, method: &str, path: &str, body: &str| {
        let own = credentials(user);
        // What a client says of itself is replaced by what the proxy knows.
        let headers = [
            ("authorization", own),
            ("origin", PUBLIC),
            ("x-user", "ada"),
            FORM,
        ];
        exchange(nginx.port, method, path, &headers, body)
    };
    assert_eq!(status(&exchange(nginx.port, "GET", "/", &[], "")), 401);
    let answer = ask("mallory", "GET", "/", "");
    assert!(
        answer.contains("`mallory` (by the proxy) is not a member"),
        "{answer}"
    );

    let form = format!(
        "only=site%3A%3Aload%3A%3Asingle&users=2&iterations=20&base-url={}",
        server.url().replace(':', "%3A").replace('/', "%2F")
    );
    let answer = ask("tess", "POST", "/runs/start", &form);
    assert_eq!(status(&answer), 303, "{answer}");
    // The stream comes through the proxy while it lasts.
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, nginx.port)).expect("nginx");
    let head = format!(
        "GET /stream HTTP/1.1\r\nhost: x\r\nauthorization: {}\r\n\r\n",
        credentials("tess")
    );
    stream.write_all(head.as_bytes()).expect("a request");
    let mut received = Vec::new();
    wait_for("a part of the page", || {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).expect("the stream");
        received.extend_from_slice(&bytes[..count]);
        String::from_utf8_lossy(&received)
            .contains("data: ")
            .then_some(())
    });
    let run = wait_for("the run", || {
        let page = ask("tess", "GET", "/events", "");
        page.contains("PASSED").then_some(page)
    });
    assert!(run.contains("by tess"), "{run}");
    let record = sandbox.only_run().record();
    assert_eq!(record.environment.started_by.as_deref(), Some("tess"));
    running.signal(Signal::INT);
    running.output().exits(0);
}

//! Who may reach a dashboard: it is guarded like a terminal.

use super::{Dashboard, status};
use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};

pub(super) fn trials() -> Vec<Trial> {
    let mut all = trials![
        the_address_is_good_once_and_only_the_cookie_opens_pages,
        other_hosts_and_other_origins_get_nothing,
        a_read_only_dashboard_starts_nothing,
        a_second_call_opens_the_first_dashboard,
        a_restart_takes_the_same_secret_and_fresh_makes_a_new_one,
        its_file_is_for_this_user_alone,
    ];
    all.extend(trials![needing "chromium": a_strange_page_changes_and_reads_nothing,]);
    all
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn the_address_is_good_once_and_only_the_cookie_opens_pages() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    for path in ["/", "/runs", "/settings", "/stream", "/nothing"] {
        let answer = dashboard.exchange("GET", path, &[], "");
        assert_eq!(status(&answer), 401, "{answer}");
        assert!(
            !answer.contains("sandbox") && !answer.contains("Scenarios"),
            "{answer}"
        );
    }
    let cookie = dashboard.sign_in();
    let again = dashboard
        .address
        .split_at(dashboard.url("").len())
        .1
        .to_owned();
    assert_eq!(status(&dashboard.exchange("GET", &again, &[], "")), 401);
    for path in [
        "/",
        "/runs",
        "/compare",
        "/baselines",
        "/events",
        "/settings",
    ] {
        let answer = dashboard.exchange("GET", path, &[("cookie", &cookie)], "");
        assert_eq!(status(&answer), 200, "{answer}");
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(answer.contains(header), "{header}: {answer}");
        }
        assert!(
            !answer.contains(" style=") && !answer.contains("onclick"),
            "{answer}"
        );
    }
    let missing = dashboard.exchange(
        "GET",
        "/runs/20260101-000000-none",
        &[("cookie", &cookie)],
        "",
    );
    assert_eq!(status(&missing), 404, "{missing}");
    assert!(missing.contains("there is no run"), "{missing}");
    dashboard.end().exits(0);
}

fn other_hosts_and_other_origins_get_nothing() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let cookie = dashboard.sign_in();
    let cookie = ("cookie", cookie.as_str());
    let rebound = [("host", "evil.example"), cookie];
    let answer = dashboard.exchange("GET", "/", &rebound, "");
    assert_eq!(status(&answer), 421);
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
    let own = dashboard.url("");
    let change = |headers: &[(&str, &str)]| {
        let answer = dashboard.exchange("POST", "/scenarios/refresh", headers, "");
        status(&answer)
    };
    assert_eq!(change(&[cookie, FORM, ("origin", &own)]), 303);
    assert_eq!(change(&[cookie, FORM]), 403);
    assert_eq!(
        change(&[cookie, FORM, ("origin", "http://127.0.0.1:3000")]),
        403
    );
    assert_eq!(
        change(&[
            cookie,
            FORM,
            ("origin", &own),
            ("sec-fetch-site", "same-site")
        ]),
        403
    );
    assert_eq!(
        change(&[cookie, ("content-type", "text/plain"), ("origin", &own)]),
        415
    );
    assert_eq!(change(&[FORM, ("origin", &own)]), 401);
    let part = [
        cookie,
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "no-cors"),
    ];
    assert_eq!(status(&dashboard.exchange("GET", "/runs", &part, "")), 403);
    let long = "a".repeat((1 << 20) + 1);
    let answer = dashboard.exchange(
        "POST",
        "/runs/start",
        &[cookie, FORM, ("origin", &own)],
        &long,
    );
    assert_eq!(status(&answer), 413, "{answer}");
    dashboard.end().exits(0);
}

fn a_read_only_dashboard_starts_nothing() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "--read-only");
    let cookie = dashboard.sign_in();
    let own = dashboard.url("");
    let headers = [("cookie", cookie.as_str()), FORM, ("origin", &own)];
    let form = format!("only=site::load::single&base-url={}", server.url());
    let answer = dashboard.exchange("POST", "/runs/start", &headers, &form);
    assert_eq!(status(&answer), 403, "{answer}");
    let page = dashboard.exchange(
        "GET",
        "/scenarios/site::load::single/try",
        &headers[..1],
        "",
    );
    assert!(page.contains("read-only"), "{page}");
    dashboard.end().exits(0);
    assert_eq!(server.requests(), 0);
    assert!(sandbox.runs().is_empty());
}

fn a_second_call_opens_the_first_dashboard() {
    let sandbox = Sandbox::new();
    let first = Dashboard::start(&sandbox, "");
    let second = sandbox.tool("ui", "--no-open").run().exits(0);
    let address = second.stdout.trim();
    assert!(address.starts_with(&first.url("/open/")), "{second}");
    assert_ne!(address, first.address);
    let path = address.split_at(first.url("").len()).1;
    assert_eq!(status(&first.exchange("GET", path, &[], "")), 303);
    // What was asked for is not what runs.
    for (option, words) in [
        ("--read-only", "runs already, without `--read-only`"),
        ("--port 1", "runs already, on port"),
    ] {
        let other = sandbox.tool("ui", &format!("--no-open {option}"));
        other.run().exits(2).says(&[words, "end it with Ctrl-C"]);
    }
    first.end().exits(0);
}

fn a_restart_takes_the_same_secret_and_fresh_makes_a_new_one() {
    let sandbox = Sandbox::new();
    let first = Dashboard::start(&sandbox, "");
    let (cookie, port) = (first.sign_in(), first.port);
    first.end().exits(0);
    let opens = |line: String| {
        let running = sandbox.tool("ui", &line).start();
        let dashboard = Dashboard {
            port,
            address: crate::call::wait_for("the address", || {
                Some(running.printed().split_once('\n')?.0.to_owned())
            }),
            running,
        };
        let answer = dashboard.exchange("GET", "/", &[("cookie", &cookie)], "");
        dashboard.end().exits(0);
        status(&answer)
    };
    assert_eq!(opens(format!("--no-open --port {port}")), 200);
    assert_eq!(opens(format!("--no-open --fresh --port {port}")), 401);
}

fn its_file_is_for_this_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let file = sandbox.root().join("runs/.dashboard/server.json");
    let mode = std::fs::metadata(&file)
        .expect("its file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    dashboard.end().exits(0);
}

/// A page of another server in the same browser, which knows the port.
fn a_strange_page_changes_and_reads_nothing() {
    let target = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    let (own, run) = (
        dashboard.url("/"),
        format!("only=site::load::single&base-url={}", target.url()),
    );
    let page = format!(
        "<!doctype html><title>strange</title><form method=post action='{own}runs/start' target=out>\
         <input name=only value='site::load::single'><input name=base-url value='{}'></form><iframe name=out></iframe>",
        target.url()
    );
    let strange =
        Server::start(move |_| Reply::text(page.clone()).header("content-type", "text/html"));
    browser.visit(&strange.url());
    let tried = browser.awaited(&format!(
        "(async () => {{
            const results = [];
            const attempt = async (what, work) => {{
                try {{ results.push(`${{what}}: ${{await work()}}`); }} catch {{ results.push(`${{what}}: nothing`); }}
            }};
            await attempt('read', async () => (await (await fetch('{own}', {{ credentials: 'include' }})).text()).length);
            await attempt('blind', async () => (await fetch('{own}runs/start', {{ method: 'POST', mode: 'no-cors',
                credentials: 'include', body: new URLSearchParams('{run}') }})).status);
            await attempt('picture', () => new Promise((done, fail) => {{
                const picture = new Image(); picture.onload = done; picture.onerror = fail; picture.src = '{own}'; }}));
            await attempt('stream', () => new Promise((done, fail) => {{
                const stream = new EventSource('{own}stream', {{ withCredentials: true }});
                stream.onmessage = done; stream.onopen = done; stream.onerror = fail; }}));
            const loaded = new Promise(done => document.querySelector('iframe').addEventListener('load', done, {{ once: true }}));
            document.querySelector('form').submit();
            await loaded;
            await attempt('frame', () => document.querySelector('iframe').contentDocument.body.textContent);
            return results.join(', ');
        }})()"
    ));
    assert_eq!(
        tried,
        "read: nothing, blind: nothing, picture: nothing, stream: nothing, frame: nothing"
    );
    dashboard.end().exits(0);
    assert_eq!(target.requests(), 0);
    assert!(sandbox.runs().is_empty());
}

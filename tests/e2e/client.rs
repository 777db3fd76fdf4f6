//! How virtual users talk HTTP: TLS, cookies, redirects and compression, through real scenarios.

use crate::project::{Files, Project};
use crate::site::{Sandbox, assert_balanced, step, total};
use crate::trials;
use flate2::Compression;
use flate2::write::GzEncoder;
use libtest_mimic::Trial;
use loadtest_model::metrics::ErrorKind;
use loadtest_tests::{Authority, Front, Reply, Request, Server};
use std::io::Write as _;
use std::sync::OnceLock;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        an_authority_of_ones_own_is_trusted_for_its_scenario_alone,
        a_server_can_ask_who_the_users_are,
        what_was_not_checked_is_told_everywhere,
        a_missing_file_is_a_mistake_that_is_told_before_anything_is_sent,
        cookies_live_as_long_as_declared,
        redirects_are_followed_where_a_scenario_says_so,
        headers_of_a_scenario_are_on_its_steps_and_in_its_definition,
    ]
}

/// The project, and the authority whose certificates are in it.
struct Client {
    project: Project,
    authority: Authority,
}

pub(crate) fn sandbox() -> Sandbox {
    Sandbox::at(client().project.root(), "")
}

fn client() -> &'static Client {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    CLIENT.get_or_init(|| {
        let authority = Authority::new();
        let (certificate, key) = authority.issue("client", 4000);
        let project = Files::single("client", include_str!("../fixtures/client/load.rs"))
            .file("certs/ca.pem", authority.pem())
            .file("certs/client.pem", format!("{certificate}{key}"))
            .create();
        Client { project, authority }
    })
}

const ONE: &str = "--iterations 3 --users 1 --base-url";

fn run(sandbox: &Sandbox, scenario: &str, url: &str) -> crate::call::Output {
    sandbox
        .tool("run", &format!("--exact client::load::{scenario} {ONE}"))
        .args([url])
        .run()
}

fn gzip(text: &str) -> Reply {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory");
    Reply::status(200)
        .header("content-encoding", "gzip")
        .body(encoder.finish().expect("memory"))
}

fn an_authority_of_ones_own_is_trusted_for_its_scenario_alone() {
    let server = Server::start(|_| gzip(r#"{"n":1}"#));
    let front = Front::start(
        client().authority.server("127.0.0.1", 4000),
        server.address(),
    );
    let sandbox = sandbox();
    run(&sandbox, "trusting", &front.url()).exits(0);
    let record = sandbox.record();
    assert_balanced(&record);
    assert_eq!(total(&record).journey.ok, 3, "{:?}", total(&record).steps);
    let sent = server.requests();

    let sandbox = self::sandbox();
    run(&sandbox, "session", &front.url()).exits(99);
    let total = total(&sandbox.record());
    assert_eq!(total.steps[0].errors[0].kind, ErrorKind::TlsUntrusted);
    assert_eq!(server.requests(), sent, "nothing was sent");
}

fn a_server_can_ask_who_the_users_are() {
    let server = Server::start(|_| Reply::status(200));
    let front = Front::start(client().authority.mutual("127.0.0.1"), server.address());
    let sandbox = sandbox();
    run(&sandbox, "known", &front.url()).exits(0);
    assert_eq!(total(&sandbox.record()).journey.ok, 3);
    let sent = server.requests();
    let sandbox = self::sandbox();
    run(&sandbox, "trusting", &front.url()).exits(99);
    assert_eq!(total(&sandbox.record()).journey.ok, 0);
    assert_eq!(server.requests(), sent, "nobody else gets through");
}

fn what_was_not_checked_is_told_everywhere() {
    const NOTE: &str = "Certificates were not checked";
    let server = Server::start(|_| Reply::status(200));
    let stranger = Authority::new().server("elsewhere.test", 2001);
    let front = Front::start(stranger, server.address());
    let sandbox = sandbox();
    let output = sandbox
        .tool(
            "run",
            &format!("--exact client::load::careless --export json --verbose {ONE}"),
        )
        .args([front.url()])
        .run()
        .exits(0)
        .prints(&[NOTE, "certificates not checked"]);
    let run = sandbox.only_run();
    assert_eq!(total(&run.scenario()).journey.ok, 3);
    assert!(run.scenario().start.definition.client.insecure);
    assert!(run.text("report.html").contains(NOTE));
    let json = run.text("report.json");
    assert!(
        json.contains(NOTE) && json.contains("\"insecure\": true"),
        "{json}"
    );
    // It is told, but what was measured is right.
    assert!(output.stdout.contains("VALID") || output.stdout.contains("DEGRADED"));
}

fn a_missing_file_is_a_mistake_that_is_told_before_anything_is_sent() {
    let server = Server::start(|_| Reply::status(200));
    let sandbox = sandbox();
    let file = client().project.path("certs/missing.pem");
    run(&sandbox, "lost", &server.url()).exits(2).says(&[
        "`ca` names",
        &file.display().to_string(),
        "there is no such file",
        "as PEM",
    ]);
    assert_eq!(server.requests(), 0);
}

/// The paths of the requests, with their cookies.
fn cookies(requests: &[Request]) -> Vec<String> {
    requests
        .iter()
        .map(|request| {
            let cookie = request.header("cookie").unwrap_or_default();
            format!("{} {cookie}", request.path)
        })
        .collect()
}

fn cookies_live_as_long_as_declared() {
    let cases = [
        (
            "session",
            ["/before ", "/login ", "/after id=0", "/before "],
        ),
        (
            "known_user",
            ["/before ", "/login ", "/before id=0", "/login id=0"],
        ),
        ("forgetful", ["/login ", "/after ", "/login ", "/after "]),
    ];
    for (scenario, expected) in cases {
        let server = Server::recording(|request| match request.path.as_str() {
            "/login" => {
                Reply::status(200).header("set-cookie", format!("id={}; Path=/", request.sequence))
            }
            _ => Reply::status(200),
        });
        let sandbox = sandbox();
        run(&sandbox, scenario, &server.url()).exits(0);
        assert_eq!(total(&sandbox.record()).journey.ok, 3);
        assert_eq!(cookies(&server.recorded())[..4], expected, "{scenario}");
    }
}

fn redirects_are_followed_where_a_scenario_says_so() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/hop" => Reply::status(303).header("location", "/end"),
        "/round" => Reply::status(302).header("location", "/round"),
        "/away" => Reply::status(302).header("location", "http://shop.example/"),
        _ => Reply::json(r#"{"n":7}"#),
    });
    let sandbox = sandbox();
    run(&sandbox, "following", &server.url()).exits(99);
    let record = sandbox.record();
    assert_balanced(&record);
    let total = total(&record);
    let counts = |name| {
        let step = step(&record, &total, name);
        (step.executed, step.failed, step.requests)
    };
    assert_eq!(counts("follow"), (3, 0, 6));
    assert_eq!(counts("show"), (3, 0, 3));
    assert_eq!(counts("stay"), (3, 0, 3));
    assert_eq!(counts("round"), (3, 3, 9));
    assert_eq!(counts("away"), (3, 3, 3));
    let kind = |name| step(&record, &total, name).errors[0].kind;
    assert_eq!(kind("round"), ErrorKind::RedirectLoop);
    assert_eq!(kind("away"), ErrorKind::RedirectBlocked);
    let lines: Vec<String> = server
        .recorded()
        .iter()
        .take(3)
        .map(|request| format!("{} {}", request.method, request.target))
        .collect();
    assert_eq!(lines, ["POST /hop", "GET /end", "GET /page?n=7"]);
}

fn headers_of_a_scenario_are_on_its_steps_and_in_its_definition() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/session" => Reply::json(r#"{"token":"t-1"}"#),
        _ => Reply::status(200),
    });
    let sandbox = sandbox();
    run(&sandbox, "introduced", &server.url()).exits(0);
    let requests = server.recorded();
    assert_eq!(requests.len(), 3 * 4);
    for request in &requests {
        let (client, authorization) = match request.path.as_str() {
            "/session" => ("loadtest", "Basic YWRhOmNhbmFyeS03ZjNh"),
            "/built" => ("own", "Bearer t-1"),
            _ => ("loadtest", "Bearer t-1"),
        };
        assert_eq!(request.header("x-client"), Some(client));
        assert_eq!(request.header("x-api-key"), Some("canary-7f3a"));
        assert_eq!(request.header("authorization"), Some(authorization));
    }
    let record = sandbox.record();
    let needs = |at: usize| record.start.definition.steps[at].dependencies.len();
    assert_eq!((needs(0), needs(1), needs(2), needs(3)), (0, 1, 1, 1));
    assert!(
        !sandbox
            .only_run()
            .text("record.json")
            .contains("canary-7f3a")
    );
    let exported = sandbox
        .tool("export", "introduced")
        .run()
        .exits(0)
        .prints(&["x-api-key", "Bearer {{login.response.token}}"]);
    let exported = exported.stdout.clone();
    assert_eq!(exported.matches("Bearer {{login").count(), 3, "{exported}");
    assert!(!exported.contains("canary-7f3a"), "{exported}");

    let refusing = Server::start(|_| Reply::status(401));
    let sandbox = self::sandbox();
    run(&sandbox, "introduced", &refusing.url()).exits(99);
    assert_eq!(refusing.requests(), 3, "nobody asks without a token");
    let record = sandbox.record();
    assert_balanced(&record);
    let all = total(&record);
    let skipped = all.dependencies.iter();
    let skipped: Vec<_> = skipped
        .map(|failure| (failure.step, failure.upstream, failure.count))
        .collect();
    assert_eq!(skipped, [(1, 0, 3), (2, 0, 3), (3, 0, 3)]);
}

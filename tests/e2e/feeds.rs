//! Rows of real files go to a real server, and what is wrong with a file is told before the run.

use crate::call::Output;
use crate::project::{Files, Project};
use crate::site::{RunFolder, Sandbox, assert_balanced, step, total};
use crate::smoke::smoke;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::display;
use loadtest_model::metrics::RootCause;
use loadtest_tests::{Reply, Request, Server};
use std::sync::OnceLock;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        every_row_is_sent_once_and_the_load_ends_there,
        a_seed_gives_one_order_and_another_seed_another,
        a_value_that_a_row_lacks_is_a_dependency_failure_of_its_feed,
        users_have_rows_of_their_own,
        too_few_rows_for_all_users_are_an_error_before_the_run,
        a_mistake_in_a_file_is_placed_and_shows_no_value,
        a_test_has_the_first_row,
    ]
}

const USERS: &str = "\u{FEFF}name,age,email\r\nada,36,ada@example.org\r\ngrace,85,canary-mail\r\n\
                     \"linus, jr\",54,\r\nmargaret,87,m@example.org\r\nalan,41,a@example.org\r\n";
const NAMES: [&str; 5] = [
    "/users/ada",
    "/users/alan",
    "/users/grace",
    "/users/linus%2C%20jr",
    "/users/margaret",
];

fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        Files::single("feeds", include_str!("../fixtures/feeds/load.rs"))
            .file("data/users.csv", USERS)
            .file(
                "data/teams.jsonl",
                "{\"team\": \"red\"}\n\n{\"team\": \"blue\"}\n",
            )
            .file(
                "data/broken.csv",
                "name,age,email\nada,36,\ngrace,canary-7,\nlinus,54,\n",
            )
            .create()
    })
}

/// A place whose runs are its own.
struct Place(Sandbox);

impl Place {
    fn new() -> Self {
        Self(Sandbox::at(project().root(), ""))
    }

    fn run(&self, line: &str, server: &Server) -> Output {
        self.0.run(&format!("--verbose {line}"), server).run()
    }

    /// The only run made from here.
    fn folder(&self) -> RunFolder {
        self.0.only_run()
    }
}

fn server() -> Server {
    Server::recording(|_| Reply::json(r#"{"id":1}"#))
}

fn targets(requests: &[Request]) -> Vec<&str> {
    requests.iter().map(|r| r.target.as_str()).collect()
}

fn every_row_is_sent_once_and_the_load_ends_there() {
    let (server, place) = (server(), Place::new());
    let output = place.run("once_each", &server).exits(0);
    let words = "the feed `user` ran out of rows after 5 iterations: the load ended there";
    let shown = output
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(shown.contains(words), "{output}");
    let requests = server.recorded();
    let mut sent = targets(&requests);
    sent.sort_unstable();
    assert_eq!(sent, NAMES);
    for request in &requests {
        let body = request.text();
        let team = ["red", "blue"].map(|team| format!("\"of\":\"{team}\"}}"));
        assert!(body.starts_with("{\"age\":"), "{body}");
        assert!(team.iter().any(|team| body.ends_with(team)), "{body}");
    }
    let record = place.folder().scenario();
    assert_balanced(&record);
    assert_eq!((record.end.planned, total(&record).journey.ok), (5, 5));
    assert!(record.end.out_of_rows);
    assert_eq!(record.start.definition.feeds.len(), 2);
    // 5 arrivals at 50 a second, and not the minute that was asked for
    assert!(
        record.end.steady_us < 60_000_000,
        "{}",
        record.end.steady_us
    );
    assert!(
        place
            .folder()
            .text("report.html")
            .contains("ran out of rows")
    );
    assert_eq!(display::format_counted(5, "iteration"), "5 iterations");
}

fn a_seed_gives_one_order_and_another_seed_another() {
    let order = |seed: u32| {
        let (server, place) = (server(), Place::new());
        let line = format!("once_each --iterations 5 --users 1 --seed {seed}");
        place.run(&line, &server).exits(0);
        let requests = server.recorded();
        let sent = requests.iter().map(|r| (r.target.clone(), r.text()));
        sent.collect::<Vec<_>>()
    };
    let first = order(1);
    assert_eq!(first, order(1));
    assert_ne!(first, order(2));
}

fn a_value_that_a_row_lacks_is_a_dependency_failure_of_its_feed() {
    let (server, place) = (server(), Place::new());
    let output = place.run("mail", &server).exits(99);
    let shown = output
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for words in [
        "`write` needed `user.email`, which `user` lacks",
        "`sent` needed `write.response.id` of `write`, which had no value from a feed, a state or a setup",
    ] {
        assert!(shown.contains(words), "{words}\n{output}");
    }
    let record = place.folder().scenario();
    assert_balanced(&record);
    let total = total(&record);
    assert_eq!(step(&record, &total, "greet").ok, 5);
    assert_eq!(step(&record, &total, "write").ok, 4);
    assert_eq!(step(&record, &total, "write").skipped, 1);
    let causes = total
        .dependencies
        .iter()
        .map(|d| (d.step, d.cause.root, d.feed()));
    assert_eq!(
        causes.collect::<Vec<_>>(),
        [
            (1, RootCause::NotInFeed, Some("user")),
            (2, RootCause::NotInFeed, None)
        ]
    );
    assert!(targets(&server.recorded()).contains(&"/mail/canary-mail"));
    for file in ["record.json", "report.html"] {
        assert!(!place.folder().text(file).contains("canary"), "{file}");
    }
}

fn users_have_rows_of_their_own() {
    let (server, place) = (server(), Place::new());
    place
        .run("own_rows --iterations 10 --users 5", &server)
        .exits(0);
    let requests = server.recorded();
    let mut sent = targets(&requests);
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent, NAMES, "each user has its share of the iterations");
}

fn too_few_rows_for_all_users_are_an_error_before_the_run() {
    let (server, place) = (server(), Place::new());
    place
        .run("own_rows", &server)
        .exits(100)
        .has_one_error()
        .says(&[
            "feed `user` failed: it has 5 rows for up to 8 virtual users",
            "`.unique().cycle()`",
        ]);
    assert!(server.recorded().is_empty());
}

fn a_mistake_in_a_file_is_placed_and_shows_no_value() {
    let (server, place) = (server(), Place::new());
    let output = place
        .run("broken", &server)
        .exits(100)
        .has_one_error()
        .says(&[
            "feed `user` failed: data/broken.csv:3: field `age`: invalid digit found in string",
        ]);
    assert!(server.recorded().is_empty());
    assert!(!output.stderr.contains("canary"), "{output}");
    let record = place.folder().text("record.json");
    assert!(record.contains("data/broken.csv:3"), "{record}");
    assert!(!record.contains("canary"), "{record}");
}

fn a_test_has_the_first_row() {
    let server = server();
    let test = |name: &str| {
        let call = smoke(project(), &format!("--exact {name}"));
        call.env("LOADTEST_BASE_URL", server.url()).run()
    };
    test("once_each").exits(0);
    assert_eq!(targets(&server.recorded()), ["/users/ada"]);
    // a user of its own needs one row
    test("own_rows").exits(0);
    let output = test("broken").exits(101);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains("data/broken.csv:3: field `age`"), "{said}");
}

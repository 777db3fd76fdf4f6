//! `loadtest.toml`: what a team agrees on.

use crate::call::graded;
use crate::site::Desk;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        every_mistake_is_told_with_its_line,
        a_file_that_is_no_toml_is_refused,
        the_grading_of_the_team_is_in_the_record,
    ]
}

fn every_mistake_is_told_with_its_line() {
    let server = Server::start(|_| Reply::text("ok"));
    // The first two lines are `[store]` and its directory.
    let desk = Desk::with("[grading]\napdx = \"300ms\"\nbudget = \"lots\"\n\n[gradin]\n");
    let output = desk
        .run("single --iterations 3", &server)
        .run()
        .exits(2)
        .has_one_error()
        .says(&[
            "loadtest.toml",
            "line 4: unknown key `apdx`; did you mean `apdex`?",
            "line 5: `budget = \"lots\"`",
            "line 7: unknown key `gradin`; did you mean `grading`?",
        ])
        .says_no("Compiling");
    assert_eq!(server.connections(), 0, "{output}");
    assert!(desk.runs().is_empty());
}

fn a_file_that_is_no_toml_is_refused() {
    let desk = Desk::with("[[targets]]\nhost = \"127.0.0.1\"\n");
    desk.tool("run", "single")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["line 3", "a target needs `owner`"]);
    let desk = Desk::with("[grading\n");
    desk.tool("run", "single")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["loadtest.toml", "line 3"]);
}

fn the_grading_of_the_team_is_in_the_record() {
    let server = Server::start(|_| Reply::text("ok"));
    let (desk, output) = graded(|| {
        let desk = Desk::with("[grading]\napdex = \"1234ms\"\nbudget = \"7%\"\n");
        let output = desk.run("single --iterations 3", &server).run();
        (desk, output)
    });
    output.exits(0);
    let grading = desk.record().plan.grading[0];
    assert_eq!(grading.target, Duration::from_millis(1234));
    assert!((grading.budget - 0.07).abs() < 1e-9);
}

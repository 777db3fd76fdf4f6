//! Mistakes of the user: each is told once, in words that help, with the exit code of its kind.

use crate::call::Call;
use crate::project::{Files, STANDS_ALONE, header};
use crate::site::{Sandbox, shop, site};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::Server;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_scenario_that_does_not_compile_is_shown_as_rustc_shows_it,
        a_load_test_without_scenarios_is_told_from_none_at_all,
        a_package_without_a_load_test_is_told_how_to_get_one,
        a_name_given_twice_is_shown_at_both_places,
        an_unknown_filter_lists_what_there_is,
        an_unknown_tag_lists_the_tags,
        an_unknown_package_is_corrected,
        unusable_flags_are_refused_before_anything_is_built,
        a_flag_that_the_load_has_no_place_for_is_refused,
        a_manifest_that_cargo_refuses_is_told_in_its_words,
        outside_of_a_package_there_is_nothing_to_do,
    ]
}

fn a_scenario_that_does_not_compile_is_shown_as_rustc_shows_it() {
    let load = r#"
use loadtest::prelude::*;

#[scenario]
fn broken() {
    #[step]
    fn ask(nobody: &Value) -> Request {
        Request::get("/")
    }
}

loadtest::main!();
"#;
    let project = Files::single("broken", load).create();
    for command in ["run", "list"] {
        let output = project.tool(command, "").run().exits(101).says(&[
            "nobody",
            "tests/load.rs:7",
            "the load tests do not compile",
        ]);
        assert_eq!(output.stdout, "");
    }
}

fn a_load_test_without_scenarios_is_told_from_none_at_all() {
    let project = Files::single("empty", "loadtest::main!();\n").create();
    project
        .tool("run", "")
        .run()
        .exits(3)
        .has_one_error()
        .says(&["no scenario is linked", "#[scenario]"]);
    // Under cargo's own runner it is no success either: cargo hands the exit code of a single target on.
    let output = project.cargo("test --test load").run();
    output.exits(3).says(&["no scenario is linked"]);
}

fn a_package_without_a_load_test_is_told_how_to_get_one() {
    let project = Files::new("bare")
        .file("Cargo.toml", format!("{}{STANDS_ALONE}", header("bare")))
        .file("src/lib.rs", "")
        .create();
    for command in ["run", "list"] {
        project
            .tool(command, "")
            .run()
            .exits(3)
            .has_one_error()
            .says(&[
                "there is no load test",
                "cargo loadtest init",
                "harness = false",
            ]);
    }
}

fn a_name_given_twice_is_shown_at_both_places() {
    let load = r#"
use loadtest::prelude::*;

#[scenario(name = "checkout")]
fn first() {
    #[step(get = "/")]
    fn ask();
}

#[scenario(name = "checkout")]
fn second() {
    #[step(get = "/")]
    fn ask();
}

loadtest::main!();
"#;
    let project = Files::single("twice", load).create();
    for command in ["run", "list"] {
        project
            .tool(command, "")
            .run()
            .exits(2)
            .has_one_error()
            .says(&[
                "`checkout` exists twice",
                "tests/load.rs:5",
                "tests/load.rs:11",
            ]);
    }
}

fn an_unknown_filter_lists_what_there_is() {
    let sandbox = Sandbox::new();
    sandbox
        .tool("run", "jurney")
        .run()
        .exits(3)
        .has_one_error()
        .says(&[
            "no scenario matches `jurney`",
            "did you mean `site::load::journey`?",
            "more; see `cargo loadtest list`",
        ]);
    assert!(sandbox.runs().is_empty(), "nothing was run");
    sandbox
        .tool("list", "--exact journey")
        .run()
        .exits(3)
        .has_one_error();
}

fn an_unknown_tag_lists_the_tags() {
    let sandbox = Sandbox::new();
    sandbox
        .tool("run", "--tag quik")
        .run()
        .exits(3)
        .has_one_error()
        .says(&["the tag `quik`", "language", "did you mean `quick`?"]);
    assert!(sandbox.runs().is_empty(), "nothing was run");
}

fn an_unknown_package_is_corrected() {
    site()
        .tool("run", "-p sites")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["`sites`", "did you mean `site`?"]);
}

fn unusable_flags_are_refused_before_anything_is_built() {
    for (line, part) in [
        ("--durations 5s", "--duration"),
        ("--rate 200", "200/s"),
        ("--rate 0/s", "starts nothing"),
        ("--rate 5/fortnight", "--rate"),
        ("--duration 5", "5s"),
        ("--duration 5parsecs", "--duration"),
        ("--users 0", "at least 1 user"),
        ("--users -1", "is not a number of users"),
        ("--rate -5/s", "is not a rate"),
        ("--rate 2000000/s", "at most `1000000/s`"),
        ("--duration 99999999999h", "at most 30 days"),
        ("--min-grade Z", "is not a grade; available: A+, A"),
        ("-- wget http://127.0.0.1", "starts with `wget`"),
        ("--allow-files", "`--allow-files` needs a curl command"),
        ("--export json=- --export html=-", "only one report"),
        ("--users many", "--users"),
        ("--iterations 0", "at least 1 iteration"),
        ("--rate 5/s --users 3", "cannot be used with"),
        ("--base-url 127.0.0.1:80", "http://"),
        (
            "--ramp-up 20s --duration 10s",
            "the ramp of 20s leaves nothing",
        ),
        ("--export yaml", "yaml"),
        ("--export json=no/such/folder/a.json", "no/such/folder"),
    ] {
        let sandbox = Sandbox::new();
        let output = sandbox.tool("run", line).run().exits(2).has_one_error();
        output
            .says(&[part])
            .says_no("Compiling")
            .says_no("Finished");
        assert!(sandbox.runs().is_empty(), "{line}: nothing was run");
    }
}

fn a_flag_that_the_load_has_no_place_for_is_refused() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    sandbox
        .run("journey single --ramp-up 20s", &server)
        .run()
        .exits(2)
        .has_one_error()
        // Both mistakes at once: one load is in iterations, the other has no room for the ramp.
        .says(&[
            "`site::load::journey`: `--ramp-up` has no meaning",
            "`site::load::single`: the ramp of 20s leaves nothing",
        ]);
    assert_eq!(server.connections(), 0, "nothing was sent");
    assert!(sandbox.runs().is_empty());
}

fn a_manifest_that_cargo_refuses_is_told_in_its_words() {
    let project = Files::new("refused")
        .file(
            "Cargo.toml",
            "[package]\nname = \"refused\"\nversion = \"first\"\n",
        )
        .file("src/lib.rs", "")
        .create();
    for command in ["list", "run", "report", "init"] {
        project.tool(command, "").run().exits(2).says(&["version"]);
    }
}

fn outside_of_a_package_there_is_nothing_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = Call::tool(folder.path()).arg("report").run().exits(3);
    report.says(&["there is no run in", "target/loadtest"]);
    for command in ["list", "run", "init"] {
        Call::tool(folder.path())
            .arg(command)
            .run()
            .exits(2)
            .has_one_error()
            .says(&[
                "could not find `Cargo.toml`",
                "help: run this in the folder",
            ]);
    }
}

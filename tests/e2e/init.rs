//! `cargo loadtest init`: from a package without load tests to one that has them.

use crate::project::{Files, Project, STANDS_ALONE, header};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_package_gets_a_load_test_that_works,
        a_workspace_is_asked_which_package_is_meant,
        what_is_there_is_never_overwritten,
        the_crate_of_that_name_on_the_registry_is_not_taken_for_ours,
    ]
}

/// Every file but the lock, with its text.
fn contents(project: &Project) -> Vec<(String, String)> {
    project
        .files()
        .into_iter()
        .filter(|file| file != "Cargo.lock")
        .map(|file| (file.clone(), project.text(&file)))
        .collect()
}

fn a_package_gets_a_load_test_that_works() {
    let manifest = format!(
        "{}# kept\n[dependencies]\n\n{STANDS_ALONE}",
        header("begun")
    );
    let project = Files::new("begun")
        .file("Cargo.toml", manifest.clone())
        .file("src/lib.rs", "//! Ours.\n")
        .create();
    project
        .tool("init", "")
        .run()
        .exits(0)
        .says(&["Added", "Cargo.toml", "tests/load.rs"]);
    let after = contents(&project);
    let names: Vec<&str> = after.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["Cargo.toml", "loadtest.toml", "src/lib.rs", "tests/load.rs"]
    );
    assert_eq!(project.text("src/lib.rs"), "//! Ours.\n");
    let changed = project.text("Cargo.toml");
    for line in manifest.lines() {
        assert!(
            changed.lines().any(|ours| ours == line),
            "{line:?} is gone from\n{changed}"
        );
    }
    assert!(changed.contains("harness = false") && changed.contains("[dev-dependencies]"));

    // Once more: nothing happens.
    project.tool("init", "").run().exits(0).says_no("Added");
    assert_eq!(contents(&project), after);

    // What was made compiles without a warning, and works.
    let server = Server::start(|_| Reply::text("welcome"));
    let output = project
        .cargo("test")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(0)
        .says_no("warning");
    assert!(output.stdout.contains("1 passed"), "{output}");
    assert_eq!(server.requests(), 1);
    project
        .tool("run", "--iterations 3")
        .args(["--base-url", &server.url()])
        .run()
        .exits(0);
    assert_eq!(server.requests(), 4);
}

fn a_workspace_is_asked_which_package_is_meant() {
    let project = Files::new("several")
        .file(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"one\", \"two\"]\n",
        )
        .file("one/Cargo.toml", header("one"))
        .file("one/src/lib.rs", "")
        .file("two/Cargo.toml", header("two"))
        .file("two/src/lib.rs", "")
        .create();
    let before = contents(&project);
    project
        .tool("init", "")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["`one`", "`two`", "-p"]);
    assert_eq!(contents(&project), before, "nothing is touched");
    project.tool("init", "-p two").run().exits(0);
    assert!(
        project
            .text("two/tests/load.rs")
            .contains("loadtest::main!();")
    );
    assert!(
        project.path("loadtest.toml").exists(),
        "it is the workspace's"
    );
    assert_eq!(project.text("one/Cargo.toml"), header("one"));
}

fn what_is_there_is_never_overwritten() {
    let project = Files::new("taken")
        .file("Cargo.toml", format!("{}{STANDS_ALONE}", header("taken")))
        .file("src/lib.rs", "")
        .file("tests/load.rs", "#[test]\nfn ours() {}\n")
        .create();
    let before = contents(&project);
    project
        .tool("init", "")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["`tests/load.rs` exists"]);
    assert_eq!(contents(&project), before);
}

fn the_crate_of_that_name_on_the_registry_is_not_taken_for_ours() {
    let manifest = format!(
        "{}[dev-dependencies]\nloadtest = \"0.9\"\n\n{STANDS_ALONE}",
        header("foreign")
    );
    let project = Files::new("foreign")
        .file("Cargo.toml", manifest)
        .file("src/lib.rs", "")
        .create();
    let before = contents(&project);
    project
        .tool("init", "")
        .run()
        .exits(2)
        .has_one_error()
        .says(&["belongs to another project", "loadtest = { path = "]);
    assert_eq!(contents(&project), before);
}

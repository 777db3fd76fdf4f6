//! The source of a scenario once more, as a new version beside the old one.

use crate::project::{Files, Project, STANDS_ALONE, dependency, header};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use std::sync::OnceLock;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        a_copy_compiles_is_listed_and_runs_at_once,
        what_cannot_be_copied_is_refused_and_the_file_left_alone,
    ]
}

const LOAD: &str = r##"use loadtest::prelude::*;

#[path = "parts/windows.rs"]
mod windows;

const TEXT: &str = "fn visit() {"; // } fn visit()

// Why: the contract says so.
/// A visit.
#[scenario(
    name = "A visit",    tags = ["kept"], // the first
    version = "1",
)]
// Between.
fn visit() {
    // fn visit() { "
    #[step(get = "/visit", header("x-quirk", "}"))]
    fn visit() -> Value;

    #[step]
    fn again(visit: &Value) -> Request {
        let path = r#"/again"#; /* } */
        let _ = ('}', TEXT, visit);
        Request::get(path)
    }
} // the end

loadtest::main!();
"##;

const WINDOWS: &str = "use loadtest::prelude::*;\n\n/// By hand.\n#[scenario]\nfn by_hand() {\n    \
                       #[step(get = \"/by-hand\")]\n    fn ask();\n}\n";

fn a_copy_compiles_is_listed_and_runs_at_once() {
    let windows = WINDOWS.replace('\n', "\r\n");
    let project = Files::new("twins")
        .package("", "twins", STANDS_ALONE)
        .file("tests/load.rs", LOAD)
        .file("tests/parts/windows.rs", windows.clone())
        .create();
    project
        .tool("duplicate", "load::visit visit_twice")
        .run()
        .exits(0)
        .prints(&[
            "Copied `twins::load::visit` to `twins::load::visit_twice`",
            "tests/load.rs:34",
            "version = \"1\"",
            "cargo loadtest run twins::load::visit_twice",
        ]);
    let begin = LOAD.find("/// A visit").expect("the comment");
    let end = LOAD.find(" // the end").expect("the end");
    let copy = LOAD[begin..end]
        .replacen("\nfn visit() {", "\nfn visit_twice() {", 1)
        .replacen("\"A visit\"", "\"visit_twice\"", 1);
    let at = end + " // the end".len();
    let expected = format!("{}\n\n{copy}{}", &LOAD[..at], &LOAD[at..]);
    assert_eq!(project.text("tests/load.rs"), expected);

    project
        .tool("duplicate", "by_hand by_machine")
        .run()
        .exits(0)
        .prints(&[
            "`twins::load::windows::by_machine`",
            "tests/parts/windows.rs:12",
        ]);
    let item = &windows[windows.find("/// By").expect("the item")..].trim_end();
    let copy = item.replacen("by_hand()", "by_machine()", 1);
    let expected = format!("{}\r\n\r\n{copy}\r\n", windows.trim_end());
    assert_eq!(project.text("tests/parts/windows.rs"), expected);

    project.tool("list", "").run().exits(0).prints(&[
        "twins::load::visit \"A visit\" [kept]",
        "twins::load::visit_twice [kept]",
        "twins::load::windows::by_hand",
        "twins::load::windows::by_machine",
    ]);
    let server = Server::start(|_| Reply::text("{}"));
    project
        .cargo("test --test load")
        .env("LOADTEST_BASE_URL", server.url())
        .run()
        .exits(0)
        .prints(&["test visit_twice", "test windows::by_machine", "4 passed"]);
    assert_eq!(server.requests_to("/visit"), 2);
    assert_eq!(server.requests_to("/by-hand"), 2);
}

const REFUSED: &str = r#"use acme as _;
use loadtest::prelude::*;

macro_rules! visits {
    ($name:ident) => {
        #[scenario]
        fn $name() {
            #[step(get = "/made")]
            fn ask();
        }
    };
}

visits!(made);

#[scenario]
fn visit() {
    #[step(get = "/visit")]
    fn ask();
}

mod inner {
    use loadtest::prelude::*;

    #[scenario(name = "shown")]
    fn visited() {
        #[step(get = "/visited")]
        fn ask();
    }
}

loadtest::main!();
"#;

/// A project with scenarios that cannot be copied, among them one of a library that lies elsewhere.
fn refused() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let library = format!(
            "{}[dependencies]\nloadtest = {}\n\n[workspace]\n",
            header("acme"),
            dependency()
        );
        let elsewhere = Files::new("acme-library")
            .file("Cargo.toml", library)
            .file("src/lib.rs", WINDOWS)
            .create();
        let manifest = format!(
            "{}[dev-dependencies]\nloadtest = {}\nacme = {{ path = {:?} }}\n\n\
             [[test]]\nname = \"load\"\nharness = false\n\n{STANDS_ALONE}",
            header("refused"),
            dependency(),
            elsewhere.root().display().to_string()
        );
        Files::new("refused")
            .file("Cargo.toml", manifest)
            .file("src/lib.rs", "//! Nothing.\n")
            .file("tests/load.rs", REFUSED)
            .create()
    })
}

fn what_cannot_be_copied_is_refused_and_the_file_left_alone() {
    let project = refused();
    for (line, code, words) in [
        ("visit type", 2, "`r#` before a keyword"),
        ("visit 2nd", 2, "is not a valid name of a function"),
        ("visit main", 2, "is not a valid name of a function"),
        ("load::visit made", 2, "is taken by `refused::load::made`"),
        (
            "load::visit shown",
            2,
            "is taken by `refused::load::inner::visited`",
        ),
        ("load::visit visit", 2, "is taken by `refused::load::visit`"),
        ("made twin", 2, "a macro generated it"),
        (
            "by_hand twin",
            2,
            "`acme` is not a member of this workspace",
        ),
        ("visi twin", 2, "matches several scenarios"),
        ("vizit twin", 3, "did you mean"),
    ] {
        project
            .tool("duplicate", line)
            .run()
            .exits(code)
            .has_one_error()
            .says(&[words]);
        assert_eq!(project.text("tests/load.rs"), REFUSED, "{line}");
    }
    let names: Vec<_> = project
        .files()
        .into_iter()
        .filter(|name| name.starts_with("tests"))
        .collect();
    assert_eq!(names, ["tests/load.rs"], "nothing else is left there");
}

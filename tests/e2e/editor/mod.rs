//! What rust-analyzer makes of a scenario, also of one that is half written.

mod client;

use crate::project::Files;
use client::Editor;
use libtest_mimic::{Completion, Trial};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const SCENARIO: &str = r#"//! A scenario as it stands in an editor.

use loadtest::prelude::*;

#[response]
struct Login {
    token: String,
    items: Vec<Item>,
    best: Option<Item>,
}

#[response]
struct Item {
    id: u64,
}

#[response]
struct User {
    mail: String,
}

#[scenario]
fn shop() {
    #[feed]
    fn user() -> Feed<User> {
        Feed::generate(|n| User { mail: format!("{n}@example.org") })
    }

    #[step(post = "/login", weight = 0.5)]
    fn login() -> Login;

    #[step(
        post = "/orders",
        json = { "product": {{login.response.items[0].id}}, "note": "{{login.response.token}}" },
    )]
    fn order() -> Value;

    #[step]
    fn read(login: &Login) -> Request {
        let first = &login.items[0];
        Request::get(format!("/items/{}", first.id)).bearer_auth(&login.token)
    }
}

loadtest::main!();
"#;

pub(crate) fn trials() -> Vec<Trial> {
    // one server for all: what takes long is its reading of the project
    vec![Trial::ignorable_test(
        "editor::a_scenario_is_understood_while_it_is_written",
        || {
            if !is_installed() {
                return Ok(Completion::ignored_with(
                    "`rust-analyzer` or `rust-src` is not installed: \
                     `rustup component add rust-analyzer rust-src`",
                ));
            }
            if !is_library_known() {
                return Ok(Completion::ignored_with(
                    "the dependencies of the standard library are not fetched: `RUSTC_BOOTSTRAP=1 cargo fetch \
                     --locked --manifest-path $(rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.toml`",
                ));
            }
            a_scenario_is_understood_while_it_is_written();
            Ok(Completion::Completed)
        },
    )]
}

/// Whether it runs, for rustup has a program of that name without the component as well, and has the
/// source of the standard library, without which it knows no type of a value within a `Vec`.
fn is_installed() -> bool {
    let output = Command::new("rust-analyzer").arg("--version").output();
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    output.is_ok_and(|output| output.status.success())
        && sysroot.is_ok_and(|sysroot| {
            let sysroot = String::from_utf8_lossy(&sysroot.stdout);
            Path::new(sysroot.trim())
                .join("lib/rustlib/src/rust/library")
                .is_dir()
        })
}

/// Whether the server can read the standard library, which it does as a workspace of cargo: else it knows no type of a
/// value within a `Vec`.
fn is_library_known() -> bool {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let Ok(sysroot) = sysroot else { return false };
    let sysroot = String::from_utf8_lossy(&sysroot.stdout);
    let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
    let mut metadata = Command::new(env!("CARGO"));
    metadata
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .arg("--manifest-path")
        .arg(library.join("sysroot/Cargo.toml"))
        // As the server does it: the library uses what is not stable.
        .env("RUSTC_BOOTSTRAP", "1");
    metadata
        .output()
        .is_ok_and(|output| output.status.success())
}

fn a_scenario_is_understood_while_it_is_written() {
    let project = Files::single("editor", SCENARIO).create();
    // what the server builds is then there already
    project
        .cargo("build --tests --quiet --profile test")
        .run()
        .exits(0);
    let mut editor = Editor::open(&project, "tests/load.rs");

    assert_eq!(editor.diagnostics(), Vec::<String>::new());
    hovers_show_what_the_user_wrote(&mut editor);
    names_lead_from_templates_to_their_items(&mut editor);
    fields_are_offered_in_code_that_does_not_compile(&mut editor);
    names_are_offered_in_placeholders(&mut editor);
    mistakes_are_shown_without_a_build(&mut editor);
}

fn hovers_show_what_the_user_wrote(editor: &mut Editor) {
    let parameter = editor.hover(&start_of("login", "read(login"));
    assert!(parameter.contains("login: &Login"), "{parameter}");
    let option = editor.hover(&start_of("weight", "weight = 0.5"));
    assert!(
        option.contains("the probability that the step runs"),
        "{option}"
    );
    let field = editor.hover(&start_of("id", "items[0].id"));
    assert!(field.contains("id: u64"), "{field}");
}

fn names_lead_from_templates_to_their_items(editor: &mut Editor) {
    let step = editor.definition(&start_of("login", "{{login"));
    assert_eq!(step, [start_of("login", "fn login")]);
    let field = editor.definition(&start_of("id", "items[0].id"));
    assert_eq!(field, [start_of("id", "    id")]);

    let renamed = editor.rename(&start_of("items", "    items"), "products");
    for place in ["    items", "{{login.response.items", "&login.items"] {
        assert!(
            renamed.contains(&start_of("items", place)),
            "{place}: {renamed:?}"
        );
    }
}

fn fields_are_offered_in_code_that_does_not_compile(editor: &mut Editor) {
    const BODY: &str = "let first = &login.items[0];";
    let half_written = [
        ("an unfinished line", BODY, "login."),
        ("an unclosed parenthesis", BODY, "Request::get(login."),
        (
            "a step above with a broken signature",
            BODY,
            "login.\n    }\n    #[step]\n    fn broken(x y) -> Request {",
        ),
        ("a mistake in an option", "weight = 0.5", "wieght = 0.5"),
    ];
    for (what, written, instead) in half_written {
        let mut text = SCENARIO.replacen(written, instead, 1);
        if !instead.contains("login.") {
            text = text.replacen(BODY, "login.", 1);
        }
        editor.write(&text);
        let dot = text.find("login.\n").or_else(|| text.find("(login."));
        let end = dot.expect("our own text") + text[dot.unwrap_or(0)..].find('.').unwrap_or(0) + 1;
        let offered = editor.completions(&position(&text, end));
        for field in ["token", "items"] {
            assert!(
                offered.iter().any(|label| label == field),
                "{what}: {field} is not among {offered:?}"
            );
        }
        assert!(
            !offered.iter().any(|label| label.starts_with("__")),
            "{what}: generated names are offered: {offered:?}"
        );
    }
}

fn names_are_offered_in_placeholders(editor: &mut Editor) {
    const PATH: &str = "{{login.response.items[0].id}}";
    let half_written: [(&str, &[&str], &[&str]); 9] = [
        ("{{|}}", &["login", "user"], &["order", "token"]),
        ("{{log|}}", &["login", "user"], &["order", "token"]),
        ("{{login.|}}", &["response", "headers"], &["token"]),
        ("{{login.response.|}}", &["token", "items"], &["response"]),
        ("{{login.response.it|}}", &["token", "items"], &[]),
        ("{{login.response.|.id}}", &["token", "items"], &[]),
        ("{{step1.response.items[0].|}}", &["id"], &["token"]),
        ("{{login.response.best.|}}", &["id"], &["token"]),
        ("{{user.|}}", &["mail"], &["response"]),
    ];
    for (path, offered, not_offered) in half_written {
        let text = SCENARIO.replacen(PATH, path, 1);
        let cursor = text.find(path).expect("our own text") + path.find('|').unwrap_or(0);
        let text = text.replacen(path, &path.replace('|', ""), 1);
        editor.write(&text);
        let labels = editor.completions(&position(&text, cursor));
        for (names, wanted) in [(offered, true), (not_offered, false), (&["__value"], false)] {
            for name in names {
                assert_eq!(
                    labels.contains(&(*name).to_owned()),
                    wanted,
                    "{path}: {name}: {labels:?}"
                );
            }
        }
    }
}

fn mistakes_are_shown_without_a_build(editor: &mut Editor) {
    editor.write(&SCENARIO.replace("read(login: &Login)", "read(logn: &Login)"));
    let shown = editor.diagnostics();
    assert!(
        shown
            .iter()
            .any(|message| message.contains("did you mean `login`?")),
        "{shown:?}"
    );
    editor.write(SCENARIO);
    assert_eq!(editor.diagnostics(), Vec::<String>::new());
}

/// Where `word` begins in the first `context`, which ends with it or goes on after it.
fn start_of(word: &str, context: &str) -> Value {
    let context_at = SCENARIO.find(context).expect("our own text");
    let within = context.rfind(word).expect("the context has the word");
    position(SCENARIO, context_at + within)
}

/// A byte of `text`, which is ASCII, as line and column from 0.
fn position(text: &str, byte: usize) -> Value {
    let before = &text[..byte];
    let line = before.matches('\n').count();
    let column = byte - before.rfind('\n').map_or(0, |newline| newline + 1);
    json!({ "line": line, "character": column })
}

//! A formatter and comments leave a fingerprint as it is; a change of meaning does not.
//!
//! The real `rustfmt` is asked, so the suite is reported as ignored where there is none.

#[expect(dead_code, reason = "the crate itself uses the rest")]
#[path = "../src/fingerprint.rs"]
mod fingerprint;

use fingerprint::Fingerprint;
use libtest_mimic::{Arguments, Completion, Trial};
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

const SCENARIO: &str = r#"
/// A visit.
#[scenario(tags = ["shop", "critical"], load = rate(200/s, ramp_up = 10s, for = 1m), thresholds(p95 < 300ms, errors < 1%))]
fn checkout() {
    use std::collections::{HashMap, BTreeMap};
    use std::fmt;
    const SHARE: f64 = 0.5;
    #[state] fn cart(vu: &Vu) -> Vec<u64> { Vec::new() }

    #[step(expect = 200, get = "/login", name = "log in")]
    fn login() -> Login;

    // what is on offer
    #[step(think = 500ms..2s)]
    fn browse(login: &Login, vu: &mut Vu) -> Request<Catalog> {
        let page = (vu.random() * 5.0) as u32; /* any */
        let found: HashMap<String, Vec<Option<u8>>> = login.pages.iter().filter(|page| page.is_some() && page.number > 3).map(|page| { page.name() }).collect();
        if page == 0 { return Request::get("/products") }
        Request::get(format!("/products?page={page}&found={}", found.len(),)).bearer_auth(&login.token).header("x-a-rather-long-name", "and a long value")
    }

    #[step(weight = SHARE, expect = 201 | 202, json = { "id": {{browse.response.items[0].id}} }, post = "/orders")]
    fn buy() -> Value;

    #[check]
    fn is_full(browse: &Catalog, buy: Option<&Value>) -> Result<(), String> {
        match browse.items.len() { 0 => Err("empty".into()), 1 | 2 => { Ok(()) } _ => { let x = 1; Ok(()) } }
    }
}
"#;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = vec![
        Trial::ignorable_test("no_width_of_lines_changes_a_fingerprint", || {
            if format(60).is_none() {
                return Ok(Completion::ignored_with("`rustfmt` is not installed"));
            }
            no_width_of_lines_changes_a_fingerprint();
            Ok(Completion::Completed)
        }),
        Trial::test("comments_do_not_change_a_fingerprint", || {
            comments_do_not_change_a_fingerprint();
            Ok(())
        }),
        Trial::test("a_literal_does", || {
            a_literal_does();
            Ok(())
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn no_width_of_lines_changes_a_fingerprint() {
    let [narrow, wide] = [60, 140].map(|width| format(width).expect("it was there just now"));
    assert_ne!(narrow, wide);
    assert_ne!(narrow, SCENARIO);
    assert_eq!(of(&narrow), of(SCENARIO), "{narrow}");
    assert_eq!(of(&wide), of(SCENARIO), "{wide}");
}

fn comments_do_not_change_a_fingerprint() {
    for comment in ["// new\n", "/* new */ ", "/// New.\n", "#[doc = \"New.\"] "] {
        let text = SCENARIO.replace("#[step", &format!("{comment}#[step"));
        assert_eq!(of(&text), of(SCENARIO), "{comment}");
    }
}

fn a_literal_does() {
    for (from, to) in [
        ("\"/login\"", "\"/signin\""),
        ("* 5.0", "* 6.0"),
        ("500ms..2s", "500ms..3s"),
        ("[0]", "[1]"),
        ("\"x-a-rather-long-name\"", "\"x-a-rather-long-name \""),
        ("> 3", ">= 3"),
    ] {
        let changed = SCENARIO.replacen(from, to, 1);
        assert_ne!(changed, SCENARIO);
        assert_ne!(of(&changed), of(SCENARIO), "{from} to {to}");
    }
}

fn of(text: &str) -> String {
    Fingerprint::from_streams([text.parse().expect("our own text")])
}

/// The scenario as `rustfmt` writes it; `None` where there is no `rustfmt`.
fn format(width: usize) -> Option<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config"])
        .arg(format!("max_width={width},use_small_heuristics=Max"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .ok()?;
    let mut stdin = rustfmt.stdin.take()?;
    stdin.write_all(SCENARIO.as_bytes()).ok()?;
    drop(stdin);
    let output = rustfmt.wait_with_output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.is_empty()).then_some(text)
}

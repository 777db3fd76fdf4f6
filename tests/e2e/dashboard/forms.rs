//! What forms of pages answer, without a browser.

use super::{Dashboard, location, status};
use crate::call::wait_for;
use crate::site::Sandbox;
use crate::trials;
use flate2::Compression;
use flate2::write::GzEncoder;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use rustix::process::Signal;
use std::io::Write as _;

pub(super) fn trials() -> Vec<Trial> {
    trials![
        a_notice_is_shown_once_and_in_no_other_tab,
        what_is_wrong_stands_at_its_field_and_what_was_entered_stays,
        a_load_that_cannot_be_run_is_refused_in_the_words_of_the_page,
        what_is_too_large_is_refused_on_a_page,
        runs_are_found_by_text_and_deleted_when_that_is_confirmed,
    ]
}

fn a_notice_is_shown_once_and_in_no_other_tab() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let cookie = dashboard.sign_in();
    let words = "select a scenario to run";
    let answer = dashboard.send_form(&cookie, "/runs/start", "how=turn");
    assert_eq!(status(&answer), 303, "{answer}");
    let address = location(&answer);
    for other in ["/", "/runs", "/?notice=0123456789abcdef"] {
        let page = dashboard.page(&cookie, other);
        assert!(!page.contains(words), "{other}: {page}");
    }
    let page = dashboard.page(&cookie, &address);
    assert!(page.contains(words), "{address}: {page}");
    let again = dashboard.page(&cookie, &address);
    assert!(!again.contains(words), "{again}");
    dashboard.end().exits(0);
}

fn what_is_wrong_stands_at_its_field_and_what_was_entered_stays() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let cookie = dashboard.sign_in();
    let scenario = "scenario=site::load::single";
    for (path, form, words) in [
        (
            "/new/preview",
            "file=tests/load.rs&name=a+b&method=get&url=/a+b&rate=0/s".to_owned(),
            &[
                "`a b` is not a valid name of a function",
                "value=\"a b\"",
                "a URL cannot contain ' '",
                "value=\"/a b\"",
                "a load of 0 sends nothing",
                "value=\"0/s\"",
            ][..],
        ),
        (
            "/new/read",
            "text=wget+http://localhost/".to_owned(),
            &[
                "this is not a curl command",
                ">wget http://localhost/</textarea>",
            ],
        ),
        ("/new/read", "text=+".to_owned(), &["nothing was pasted"]),
        (
            "/new/read",
            "text=curl+http://localhost/+-d+@/etc/passwd".to_owned(),
            &[
                "which is not permitted",
                ">curl http://localhost/ -d @/etc/passwd</textarea>",
            ],
        ),
        (
            "/edit/preview",
            format!("{scenario}&act=add_step&new.name=&new.url=/x"),
            &["the new step has no name", "value=\"/x\""],
        ),
        (
            "/edit/preview",
            format!(
                "{scenario}&act=add_step&new.name=look&new.method=put&new.url=/{{{{gone.response}}}}"
            ),
            &[
                "no step or value named `gone`",
                "value=\"look\"",
                "<option value=\"put\" selected>",
                "value=\"/{{gone.response}}\"",
            ],
        ),
        (
            "/edit/preview",
            format!("{scenario}&p0.step=&p0.doc.was=another&p0.doc=mine"),
            &["the file has another value", ">mine</textarea>"],
        ),
    ] {
        let answer = dashboard.send_form(&cookie, path, &form);
        assert_eq!(status(&answer), 200, "{form}: {answer}");
        for words in words {
            assert!(answer.contains(words), "{form}: {words}: {answer}");
        }
    }
    dashboard.end().exits(0);
}

fn a_load_that_cannot_be_run_is_refused_in_the_words_of_the_page() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let cookie = dashboard.sign_in();
    for (load, words) in [
        ("rate=0/s", &["Rate: `0/s`", "value=\"0/s\""][..]),
        (
            "users=many&seed=x",
            &["Users: `many` is not a number", "Seed: `x` is not a seed"],
        ),
        (
            "base-url=localhost",
            &["Base URL: `localhost` is not a URL"],
        ),
        ("rate=5/s&users=2", &["Rate and Users exclude each other"]),
        (
            "iterations=5&duration=1s",
            &["Duration has no meaning for a fixed number of iterations; give Rate with it"],
        ),
        (
            "ramp-up=9s&duration=3s",
            &["the ramp of 9s leaves nothing of the run of 3s"],
        ),
    ] {
        for page in ["", "&page=scenario"] {
            let form = format!("only=site::load::single&{load}{page}");
            let answer = dashboard.send_form(&cookie, "/runs/start", &form);
            // Of a scenario without runs there is no page before it is listed.
            if page.is_empty() {
                assert_eq!(status(&answer), 200, "{form}: {answer}");
                for words in words {
                    assert!(answer.contains(words), "{form}: {words}: {answer}");
                }
                assert!(answer.contains("aria-invalid"), "{form}: {answer}");
            }
            assert!(
                !answer.contains("--rate") && !answer.contains("`--"),
                "{form}: {answer}"
            );
        }
    }
    dashboard.end().exits(0);
    assert!(sandbox.runs().is_empty());
}

fn what_is_too_large_is_refused_on_a_page() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let cookie = dashboard.sign_in();
    let large = format!("scenario={}", "a".repeat(1 << 20));
    let answer = dashboard.send_form(&cookie, "/edit/preview", &large);
    assert_eq!(status(&answer), 413, "{answer}");
    assert!(answer.contains("The form is larger than 1 MiB"), "{answer}");
    let long = format!("/runs?text={}", "a".repeat(17 << 10));
    let answer_of_address = dashboard.page(&cookie, &long);
    assert_eq!(status(&answer_of_address), 414, "{answer_of_address}");
    for answer in [answer, answer_of_address] {
        assert!(answer.contains("aria-label=\"Pages\""), "{answer}");
    }
    dashboard.end().exits(0);
}

fn runs_are_found_by_text_and_deleted_when_that_is_confirmed() {
    let server = Server::start(|_| Reply::text("ok"));
    let sandbox = Sandbox::new();
    sandbox
        .run("single --users 1 --iterations 3", &server)
        .run()
        .exits(0);
    // A baseline of a run as short as this is not made by the command.
    let baseline = sandbox
        .root()
        .join(".loadtest/baselines/main/site.load.single");
    std::fs::create_dir_all(&baseline).expect("a folder");
    let run = sandbox.only_run();
    let file = std::fs::File::create(baseline.join(format!("{}.json.gz", run.name())));
    let mut packed = GzEncoder::new(file.expect("a file"), Compression::fast());
    packed
        .write_all(run.text("record.json").as_bytes())
        .and_then(|()| packed.finish().map(drop))
        .expect("a record");
    sandbox
        .run("strict --users 1 --iterations 3", &server)
        .run();
    let runs = sandbox.runs();
    let [single, strict] = [0, 1].map(|at: usize| runs[at].name());
    let dashboard = Dashboard::start(&sandbox, "");
    let cookie = dashboard.sign_in();
    let page = dashboard.page(&cookie, "/runs?text=STRICT+site");
    assert!(page.contains(&strict) && !page.contains(&single), "{page}");
    assert!(page.contains("value=\"STRICT site\""), "{page}");
    let page = dashboard.page(&cookie, "/runs?text=nobody");
    assert!(page.contains("No run matches."), "{page}");

    let form = format!("run={single}&run={strict}");
    let asked = dashboard.send_form(&cookie, "/runs/remove", &form);
    assert!(
        asked.contains("Delete 2 runs?") && asked.contains(&strict),
        "{asked}"
    );
    assert!(
        asked.contains(&format!("The baseline main keeps its own copy of {single}")),
        "{asked}"
    );
    assert_eq!(sandbox.runs().len(), 2);
    let answer = dashboard.send_form(
        &cookie,
        "/runs/remove",
        &format!("run={single}&confirmed=yes"),
    );
    let page = dashboard.page(&cookie, &location(&answer));
    assert!(page.contains(&format!("deleted {single}")), "{page}");
    assert_eq!(sandbox.only_run().name(), strict);

    // One that is under way stays.
    let running = sandbox
        .run("single --users 1 --duration 1h", &server)
        .start();
    wait_for("requests", || (server.requests() > 10).then_some(()));
    let under_way = sandbox.runs().pop().expect("a run").name();
    let answer = dashboard.send_form(
        &cookie,
        "/runs/remove",
        &format!("run={under_way}&confirmed=yes"),
    );
    let page = dashboard.page(&cookie, &location(&answer));
    assert!(page.contains("is in progress"), "{page}");
    running.signal(Signal::INT);
    running.output().exits(105);
    assert_eq!(sandbox.runs().len(), 2);
    dashboard.end().exits(0);
}

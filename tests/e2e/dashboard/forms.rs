//! What forms of pages answer, without a browser.

use super::{Dashboard, location, status};
use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;

pub(super) fn trials() -> Vec<Trial> {
    trials![
        a_notice_is_shown_once_and_in_no_other_tab,
        what_is_wrong_stands_at_its_field_and_what_was_entered_stays,
    ]
}

fn a_notice_is_shown_once_and_in_no_other_tab() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let cookie = dashboard.sign_in();
    let words = "choose a scenario to run";
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
                "`a b` is no name of a function",
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
                "this is no curl command",
                ">wget http://localhost/</textarea>",
            ],
        ),
        ("/new/read", "text=+".to_owned(), &["nothing was pasted"]),
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

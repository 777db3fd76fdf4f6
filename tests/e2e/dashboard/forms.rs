//! What forms of pages answer, without a browser.

use super::{Dashboard, location, status};
use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;

pub(super) fn trials() -> Vec<Trial> {
    trials![a_notice_is_shown_once_and_in_no_other_tab,]
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

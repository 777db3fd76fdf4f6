//! Keys: what each presses, where none does anything, and where the focus goes.

use super::Dashboard;
use super::editor::{LOAD, open_form, project_with, wait_for_value, wait_for_words};
use super::pages::wait_for_scenarios;
use crate::browser::Browser;
use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;
use serde_json::{Value, json};

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "chromium":
        keys_lead_to_pages_and_through_lists,
        letters_are_text_in_a_field_and_can_be_switched_off,
        steps_are_moved_and_removed_by_keys_and_the_focus_stays_with_them,
    ]
}

#[track_caller]
fn wait_for_page(browser: &mut Browser, path: &str) {
    browser.wait_until(&format!("location.pathname === {}", json!(path)));
}

/// The text of what has the focus.
#[track_caller]
fn focus(browser: &mut Browser) -> Value {
    browser.value("document.activeElement.textContent")
}

/// Waits until what has the focus has such a property.
#[track_caller]
fn wait_for_focus(browser: &mut Browser, property: &str, value: &str) {
    let expression = format!("document.activeElement.{property}");
    wait_for_value(browser, &expression, &json!(value));
}

fn keys_lead_to_pages_and_through_lists() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    wait_for_scenarios(&mut browser);
    browser.press("Tab");
    assert_eq!(focus(&mut browser), "Skip to the content");
    let left = "document.activeElement.getBoundingClientRect().left";
    assert!(browser.value(left).as_f64() > Some(0.0));
    browser.press("Enter");
    browser.press("Tab");
    assert_eq!(focus(&mut browser), "New test");

    browser.press("?");
    browser.wait_until_there_is("dialog[open]");
    let listed = "[...document.querySelectorAll('dialog dt')].map(one => one.textContent.trim())";
    let listed = browser.value(listed);
    for key in ["/", "j", "x", "r", "t", "n", "g s", "g ,", "Esc"] {
        assert!(
            listed
                .as_array()
                .is_some_and(|all| all.contains(&json!(key))),
            "{key}: {listed}"
        );
    }
    // There is no run to stop, and no form to save.
    assert!(
        !listed.to_string().contains("Ctrl") && !listed.to_string().contains("\".\""),
        "{listed}"
    );
    // Behind a dialog nothing is pressed.
    browser.press("n");
    browser.press("Escape");
    assert_eq!(
        browser.value("document.querySelector('dialog[open]')"),
        Value::Null
    );
    assert_eq!(focus(&mut browser), "New test");

    let rows =
        browser.value("[...document.querySelectorAll('tbody th a')].map(one => one.textContent)");
    browser.press("j");
    assert_eq!(focus(&mut browser), rows[0]);
    browser.press("j");
    browser.press("x");
    assert_eq!(focus(&mut browser), rows[1]);
    assert_eq!(
        browser.value("[...document.querySelectorAll('tbody :checked')].map(one => one.closest('tr').querySelector('th a').textContent)"),
        json!([rows[1]])
    );
    browser.press("k");
    let first = rows[0].as_str().expect("a name");
    assert_eq!(focus(&mut browser), first);
    browser.press("t");
    wait_for_page(&mut browser, &format!("/scenarios/site::load::{first}/try"));
    for (key, path) in [
        ("s", "/"),
        ("r", "/runs"),
        ("c", "/compare"),
        ("b", "/baselines"),
        ("e", "/events"),
        (",", "/settings"),
    ] {
        browser.press_in_succession(&["g", key]);
        wait_for_page(&mut browser, path);
    }
    browser.press_in_succession(&["g", "s"]);
    wait_for_scenarios(&mut browser);
    browser.press("j");
    browser.press("Enter");
    wait_for_page(&mut browser, &format!("/scenarios/site::load::{first}"));
    browser.press("e");
    wait_for_page(
        &mut browser,
        &format!("/scenarios/site::load::{first}/edit"),
    );
    dashboard.end().exits(0);
}

fn letters_are_text_in_a_field_and_can_be_switched_off() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    wait_for_scenarios(&mut browser);
    browser.press("/");
    browser.write("gr?n");
    assert_eq!(browser.value("document.activeElement.value"), "gr?n");
    assert_eq!(
        browser.value("document.querySelector('dialog[open]')"),
        Value::Null
    );
    browser.visit(&dashboard.url("/settings"));
    for (is_on, path) in [(false, "/settings"), (true, "/runs")] {
        browser.tab_to("[data-letters] input");
        browser.press(" ");
        wait_for_value(
            &mut browser,
            "document.activeElement.checked",
            &json!(is_on),
        );
        browser.press("Shift+Tab");
        browser.press_in_succession(&["g", "r"]);
        wait_for_page(&mut browser, path);
        browser.press("Shift+Tab");
    }
    dashboard.end().exits(0);
}

/// Waits until the compiler has said that nothing reads the token that is left.
#[track_caller]
fn wait_for_warning(browser: &mut Browser) {
    browser.wait_until_there_is("[aria-label='Compiler messages']");
    wait_for_words(browser, "field `token` is never read");
}

fn steps_are_moved_and_removed_by_keys_and_the_focus_stays_with_them() {
    let name = "moved_board";
    // Fields that no step reads are no mistake unless a type says so.
    let load = LOAD.replace("#[response]", "#[response]\n#[warn(dead_code)]");
    let project = project_with(name, &load);
    let dashboard = Dashboard::launch(project.tool("ui", "--no-open --port 0"));
    let mut browser = dashboard.browse();
    open_form(&mut browser, &dashboard, name);
    let steps = |project: &crate::project::Project| {
        let text = super::editor::source(project);
        let lines = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("fn "));
        lines
            .map(|line| line.split('(').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    // The step that logs in is needed by the last one.
    browser.tab_to("#step-login input[name$='.returns']");
    browser.press("Alt+ArrowUp");
    wait_for_words(&mut browser, "login cannot go further up.");
    browser.tab_to("#step-browse [data-option=weight] input[name$='.a']");
    browser.press("Alt+ArrowDown");
    browser.wait_until_there_is(".diff");
    assert_eq!(steps(&project), ["visit", "login", "browse", "orders"]);
    browser.press("Control+s");
    browser.wait_until_there_is("#edit");
    assert_eq!(steps(&project), ["visit", "login", "orders", "browse"]);
    wait_for_focus(&mut browser, "id", "step-browse");
    // The page comes again after the check, and the focus with it.
    wait_for_words(&mut browser, "The compiler accepts the file.");
    wait_for_focus(&mut browser, "id", "step-browse");

    browser.tab_to("#step-orders button[name=remove]");
    browser.press("Enter");
    browser.wait_until_there_is(".diff");
    browser.press("Control+s");
    browser.wait_until_there_is("#edit");
    assert_eq!(steps(&project), ["visit", "login", "browse"]);
    wait_for_warning(&mut browser);
    wait_for_focus(&mut browser, "id", "step-browse");

    browser.press("d");
    browser.wait_until_there_is(".diff");
    browser.press("Control+s");
    browser.wait_until_there_is("#edit");
    assert_eq!(steps(&project), ["visit", "login", "browse", "browse_2"]);
    wait_for_warning(&mut browser);
    browser.press("a");
    wait_for_focus(&mut browser, "name", "new.name");
    dashboard.end().exits(0);
}

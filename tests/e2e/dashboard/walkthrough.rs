//! The way of a test through all pages, from a pasted request to two versions in its history: by pointer, and by keys
//! alone.

use super::Dashboard;
use super::editor::{project, source, wait_for_value, wait_for_words};
use super::pages::wait_for_scenarios;
use super::runs::text_of;
use crate::browser::Browser;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Gate, Reply, Request, Server};
use serde_json::json;
use std::sync::{Arc, Mutex};

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "chromium":
        a_pasted_request_becomes_a_scenario_that_runs_and_is_edited,
        every_page_can_be_used_without_a_mouse,
    ]
}

fn a_pasted_request_becomes_a_scenario_that_runs_and_is_edited() {
    walk_through("pointer_board", Hand::Pointer);
}

fn every_page_can_be_used_without_a_mouse() {
    walk_through("keys_board", Hand::Keys);
}

/// How somebody uses a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hand {
    Pointer,
    Keys,
}

/// Somebody before a browser.
#[derive(Debug)]
struct Person {
    browser: Browser,
    hand: Hand,
    holds: Holds,
}

/// What holds the answers of the target, while a run is to be watched.
type Holds = Arc<Mutex<Option<Gate>>>;

impl Person {
    /// Presses a button, or follows a link.
    #[track_caller]
    fn press(&mut self, selector: &str) {
        match self.hand {
            Hand::Pointer => self.browser.click_on(selector),
            Hand::Keys => {
                self.browser.tab_to(selector);
                self.browser.press("Enter");
            }
        }
    }

    /// Presses keys where only they are used, else a button or link.
    #[track_caller]
    fn press_or(&mut self, keys: &[&str], selector: &str) {
        if self.hand == Hand::Keys {
            self.browser.wait_until_there_is(selector);
            self.browser.press_in_succession(keys);
        } else {
            self.browser.click_on(selector);
        }
    }

    /// Goes to a field, with what it holds selected.
    #[track_caller]
    fn select(&mut self, selector: &str) {
        match self.hand {
            Hand::Pointer => self.browser.fill_in(selector, ""),
            Hand::Keys => self.browser.tab_to(selector),
        }
    }

    #[track_caller]
    fn fill_in(&mut self, selector: &str, text: &str) {
        self.select(selector);
        self.browser.write(text);
    }

    /// Chooses an option of a list.
    #[track_caller]
    fn choose(&mut self, selector: &str, option: &str) {
        if self.hand == Hand::Keys {
            self.fill_in(selector, option);
        } else {
            // The list of options is a window of its own.
            self.browser.wait_until_there_is(selector);
            let choice = format!("document.querySelector({selector:?}).value = {option:?}");
            self.browser.value(&choice);
        }
    }

    /// Shows the changes of the form, saves them, and waits for the compiler.
    #[track_caller]
    fn save(&mut self) {
        self.press_or(&["Control+s"], "#edit button.primary");
        self.browser.wait_until_there_is(".diff");
        self.press_or(&["Control+s"], "form[action='/edit/save'] button");
        self.browser.wait_until_there_is("#edit");
        wait_for_words(&mut self.browser, "The compiler accepts the file.");
    }

    /// Runs the scenario from its page, watches it, and reads its report.
    #[track_caller]
    fn run(&mut self) {
        let gate = Gate::new();
        *self.holds.lock().expect("no test panics with it") = Some(gate.clone());
        self.fill_in("input[name=users]", "2");
        self.fill_in("input[name=iterations]", "20");
        self.press_or(&["Enter"], "form[action='/runs/start'] fieldset button");
        self.browser.wait_until_there_is("#live-figures .tiles");
        gate.open();
        self.browser.wait_until_there_is(".grade");
    }
}

fn answer(request: &Request) -> Reply {
    match request.path.as_str() {
        "/login" => Reply::json(r#"{"cart":"c-7"}"#),
        "/orders" if request.header("x-cart") == Some("c-7") => Reply::text("kept"),
        "/orders" => Reply::text("of nobody"),
        _ => Reply::status(404),
    }
}

fn walk_through(name: &'static str, hand: Hand) {
    let holds = Holds::default();
    let held = Arc::clone(&holds);
    let server = Server::recording(move |request| {
        let reply = answer(request);
        match &*held.lock().expect("no test panics with it") {
            Some(gate) => reply.hold(gate),
            None => reply,
        }
    });
    let project = project(name);
    let dashboard = Dashboard::launch(project.tool("ui", "--no-open --port 0"));
    let browser = dashboard.browse();
    let mut person = Person {
        browser,
        hand,
        holds,
    };

    // The list loads itself again once it is built, and loses a key that is pressed then.
    wait_for_scenarios(&mut person.browser);
    // Requests are pasted, seen as Rust, saved and checked.
    person.press_or(&["n"], "a[href='/new']");
    let url = server.url();
    let login =
        format!("curl '{url}/login' -H 'content-type: application/json' -d '{{\"user\":\"ada\"}}'");
    let orders = format!("curl '{url}/orders' -H 'x-cart: none'");
    person.fill_in("textarea[name=text]", &login);
    person.browser.press("Enter");
    person.browser.write(&orders);
    person.press_or(&["Control+Enter"], "form[action='/new/read'] button");
    person
        .browser
        .wait_until_there_is("form[action='/new/save'] button");
    let shown = text_of(&mut person.browser, "main");
    assert!(shown.contains("fn login_then_get_orders()"), "{shown}");
    person.press("form[action='/new/save'] button");
    wait_for_words(&mut person.browser, "The compiler accepts the file.");

    // It is tried once, and a value of an answer goes into a field.
    person.press_or(&["Control+Enter"], "nav.actions a[href$='/try']");
    person.press_or(&["Control+Enter"], "form[action='/try/start'] button");
    person.browser.wait_until_there_is(".exchange");
    person.press(".exchange:last-of-type summary");
    assert!(text_of(&mut person.browser, ".exchange[open]").contains("of nobody"));
    person.press("main p a[href$='/edit']");
    person.fill_in("#step-login input[name$='.returns']", "Value");
    let value = "#step-get_orders [data-option=header] label:has(input[name$='.b'])";
    person.select(&format!("{value} input"));
    person.press(&format!("{value} + button.pick"));
    person.press("[data-insert='{{login.response.cart}}']");
    person.save();
    let module = || {
        let path = project.root().join("tests/load/login_then_get_orders.rs");
        std::fs::read_to_string(path).expect("the module")
    };
    assert!(
        module().contains("header(\"x-cart\", \"{{login.response.cart}}\")"),
        "{}",
        module()
    );
    assert!(source(&project).contains("mod login_then_get_orders;"));

    // It runs, gets another weight, and runs again.
    person.press("main p.sub a");
    person.run();
    let sent = server.recorded();
    let last = sent.iter().rfind(|request| request.path == "/orders");
    assert_eq!(
        last.and_then(|request| request.header("x-cart")),
        Some("c-7")
    );
    person.press_or(&["g", "s"], ".frame a[href='/']");
    wait_for_scenarios(&mut person.browser);
    let link = format!(
        "table.list a[href='/scenarios/{name}::load::login_then_get_orders::login_then_get_orders']"
    );
    person.press(&link);
    person.press_or(&["e"], "a[href$='/edit']");
    person.choose("#step-get_orders select[name^='key.']", "weight");
    person.press("#step-get_orders button[name=add]");
    person
        .browser
        .wait_until_there_is("#step-get_orders .field.new");
    let weight = "#step-get_orders .field.new input[name$='.a']";
    let has_focus = format!("document.activeElement.matches({weight:?})");
    wait_for_value(&mut person.browser, &has_focus, &json!(true));
    person.browser.value("document.activeElement.select()");
    person.browser.write("0.5");
    person.save();
    assert!(module().contains("weight = 0.5"), "{}", module());
    if hand == Hand::Keys {
        let focus = "document.activeElement.id";
        wait_for_value(&mut person.browser, focus, &json!("step-get_orders"));
    }
    person.press("main p.sub a");
    person.run();

    // The history has both versions, each with its run.
    person.press_or(&["g", "s"], ".frame a[href='/']");
    wait_for_scenarios(&mut person.browser);
    person.press(&link);
    person.browser.wait_until_there_is("h3");
    let versions = person.browser.value("[...document.querySelectorAll('section:has(> h3)')].map(one => one.querySelectorAll('tbody tr').length)");
    assert_eq!(versions, json!([1, 1]));
    assert_eq!(person.browser.complaints(), [""; 0]);
    dashboard.end().exits(0);
}

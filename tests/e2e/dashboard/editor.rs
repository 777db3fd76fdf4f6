//! Scenarios edited in a form: what is written is what was shown, and nothing of others is overwritten.

use super::Dashboard;
use super::pages::wait_for_scenarios;
use super::runs::text_of;
use crate::browser::Browser;
use crate::project::{Files, Project};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use serde_json::{Value, json};
use std::fs;

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "chromium":
        a_scenario_is_edited_checked_tried_and_run_in_both_versions,
        a_change_that_somebody_else_made_is_not_overwritten,
        a_pasted_request_becomes_a_module_and_an_empty_scenario_a_function,
        a_mistake_of_a_saved_type_is_at_its_field_and_in_the_list,
        a_scenario_that_does_not_compile_is_listed_with_its_errors,
        what_was_entered_stays_until_it_is_saved,
    ]
}

pub(super) const LOAD: &str = r#"//! Load tests of a shop.

use loadtest::prelude::*;

#[response]
struct Login {
    token: String,
}

/// Somebody buys. // not a comment
#[scenario(load = iterations(6, users = 1))] // the load
fn visit() {
    #[step(post = "/login", json = { "user": "ada" })]
    fn login() -> Login; // first

    // Most of them look at a list.
    #[step(get = "/products", weight = 0.8, /* keep */ expect = 200)]
    fn browse();

    #[step(get = "/orders", bearer = "{{login.response.token}}")]
    fn orders();
}

loadtest::main!();
"#;

pub(super) fn project(name: &'static str) -> Project {
    project_with(name, LOAD)
}

pub(super) fn project_with(name: &'static str, load: &str) -> Project {
    let project = Files::single(name, load)
        .file("loadtest.toml", "[store]\ndirectory = \"runs\"\n")
        .create();
    let _ = fs::remove_dir_all(project.root().join("runs"));
    project
}

fn answer(request: &Request) -> Reply {
    match request.path.as_str() {
        "/login" => Reply::json(r#"{"token":"t0ken","expires_in":60}"#),
        _ => Reply::text("ok"),
    }
}

pub(super) fn source(project: &Project) -> String {
    fs::read_to_string(project.root().join("tests/load.rs")).expect("the source")
}

/// Opens the form of the scenario, once it is known.
#[track_caller]
pub(super) fn open_form(browser: &mut Browser, dashboard: &Dashboard, name: &str) {
    browser.visit(&dashboard.url("/"));
    browser.wait_until_there_is(&format!("button[value='{name}::load::visit']"));
    browser.visit(&dashboard.url(&format!("/scenarios/{name}::load::visit/edit")));
    browser.wait_until_there_is("#step-browse");
}

/// Shows the changes, compares the lines, and saves.
#[track_caller]
fn save(browser: &mut Browser, added: &[&str]) {
    browser.click_on("#edit button.primary");
    browser.wait_until_there_is(".diff");
    let lines = browser.value("[...document.querySelectorAll('.diff .added')].map(one => one.textContent.slice(1).trim())");
    assert_eq!(lines, json!(added));
    browser.click_on("form[action='/edit/save'] button");
    browser.wait_until_there_is(".notice.t-good");
}

#[track_caller]
pub(super) fn wait_for_words(browser: &mut Browser, words: &str) {
    let words = json!(words);
    browser.wait_until(&format!("document.body.textContent.includes({words})"));
}

/// Waits until an expression has such a value.
#[track_caller]
pub(super) fn wait_for_value(browser: &mut Browser, expression: &str, value: &Value) {
    browser.wait_until(&format!(
        "JSON.stringify({expression}) === JSON.stringify({value})"
    ));
}

fn a_scenario_is_edited_checked_tried_and_run_in_both_versions() {
    let (name, server) = ("board", Server::start(answer));
    let project = project(name);
    let base = ["--base-url", &server.url()].map(str::to_owned);
    project.tool("run", "").args(&base).run().exits(0);
    let dashboard = Dashboard::launch(project.tool("ui", "--no-open --port 0"));
    let mut browser = dashboard.browse();
    open_form(&mut browser, &dashboard, name);

    // A weight: one line of the source changes, with all comments.
    browser.fill_in("#step-browse [data-option=weight] input[name$='.a']", "1/4");
    save(
        &mut browser,
        &["#[step(get = \"/products\", weight = 1/4, /* keep */ expect = 200)]"],
    );
    let with_weight = LOAD.replace("weight = 0.8", "weight = 1/4");
    assert_eq!(source(&project), with_weight);
    wait_for_words(&mut browser, "The compiler accepts the file.");

    // A value of an answer, from a journey that was tried.
    browser.visit(&dashboard.url(&format!("/scenarios/{name}::load::visit/try")));
    browser.fill_in("input[name=base-url]", &server.url());
    browser.click_on("form[action='/try/start'] button");
    browser.wait_until_there_is(".exchange");
    open_form(&mut browser, &dashboard, name);
    browser.value("document.querySelector('#step-browse select[name^=\"key.\"]').value = 'header'");
    browser.click_on("#step-browse button[name=add]");
    browser.wait_until_there_is("#step-browse .field.new");
    browser.fill_in("#step-browse .field.new input[name$='.a']", "x-token");
    browser.fill_in("#step-browse .field.new input[name$='.b']", " ");
    browser
        .value("document.querySelector(\"#step-browse .field.new input[name$='.b']\").value = ''");
    browser.click_on("#step-browse .field.new label:has(input[name$='.b']) + button.pick");
    browser.click_on("[data-insert='{{login.response.token}}']");
    // Another one that its type has no field for yet.
    browser.fill_in(
        "#step-orders [data-option=request] input[name$='.b']",
        "/orders?in=",
    );
    browser.click_on("#step-orders [data-option=request] label:has(input) + button.pick");
    browser.click_on("[data-insert='{{login.response.expires_in}}']");
    let line = "#[step(get = \"/products\", weight = 1/4, /* keep */ expect = 200, header(\"x-token\", \"{{login.response.token}}\"))]";
    browser.click_on("#edit button.primary");
    browser.wait_until_there_is(".diff");
    browser.click_on("form[action='/edit/save'] button");
    browser.wait_until_there_is(".notice.t-good");
    let text = source(&project);
    assert!(
        text.contains("header(\"x-token\", \"{{login.response.token}}\")"),
        "{text}\n{line}"
    );
    assert!(
        text.contains("    token: String,\n    expires_in: u64,\n}")
            && text.contains("get = \"/orders?in={{login.response.expires_in}}\""),
        "{text}"
    );
    assert!(
        text.contains("/* keep */") && text.contains("// the load") && text.contains("// first"),
        "{text}"
    );
    wait_for_words(&mut browser, "The compiler accepts the file.");

    // A mistake that the macro finds is refused at its field, and what was entered stays.
    let bearer = "#step-orders [data-option=bearer] input[name$='.a']";
    browser.fill_in(bearer, "{{logn.response.token}}");
    browser.click_on("#edit button.primary");
    let message = text_of(&mut browser, "#step-orders .has-error");
    assert!(message.contains("did you mean `login`?"), "{message}");
    let entered = browser.value(&format!("document.querySelector({bearer:?}).value"));
    assert_eq!(entered, "{{logn.response.token}}");
    assert_eq!(source(&project), text);

    // One that the compiler finds is told there, too, and the save is taken back.
    browser.fill_in(bearer, "{{login.response.tokn}}");
    browser.click_on("#edit button.primary");
    browser.wait_until_there_is(".diff");
    browser.click_on("form[action='/edit/save'] button");
    let message = text_of(&mut browser, "#step-orders .has-error");
    assert!(message.contains("no field `tokn`"), "{message}");
    browser.press("F8");
    let has_focus = "document.activeElement.matches('#step-orders .has-error *')";
    wait_for_value(&mut browser, has_focus, &json!(true));
    browser.click_on("form[action='/edit/undo'] button");
    wait_for_words(&mut browser, "The compiler accepts the file.");
    assert_eq!(source(&project), text);

    // Both versions have their runs.
    browser.visit(&dashboard.url(&format!("/scenarios/{name}::load::visit")));
    browser.fill_in("input[name=base-url]", &server.url());
    browser.click_on("form[action='/runs/start'] fieldset button");
    browser.wait_until_there_is(".grade");
    browser.visit(&dashboard.url(&format!("/scenarios/{name}::load::visit")));
    browser.wait_until_there_is("h3");
    assert_eq!(browser.value("document.querySelectorAll('h3').length"), 2);

    // A copy is another scenario, without the runs.
    browser.fill_in(
        "form[action='/scenarios/duplicate'] input[name=name]",
        "visit_2",
    );
    browser.click_on("form[action='/scenarios/duplicate'] button");
    browser.wait_until_there_is("#step-browse");
    assert_eq!(text_of(&mut browser, "main h1"), "visit_2");
    assert_eq!(source(&project).matches("#[scenario(").count(), 2);
    dashboard.end().exits(0);
}

/// The list is not asked to read the source again.
fn a_mistake_of_a_saved_type_is_at_its_field_and_in_the_list() {
    let name = "typed_board";
    let project = project(name);
    let dashboard = Dashboard::launch(project.tool("ui", "--no-open --port 0"));
    let mut browser = dashboard.browse();
    open_form(&mut browser, &dashboard, name);
    let returns = "#step-browse input[name$='.returns']";
    browser.fill_in(returns, "Missing");
    browser.click_on("#edit button.primary");
    browser.wait_until_there_is(".diff");
    browser.click_on("form[action='/edit/save'] button");
    browser.wait_until_there_is(".notice.t-good");
    browser.visit(&dashboard.url("/"));
    let errors = format!("a.s-bad[href='/scenarios/{name}::load::visit/edit']");
    assert!(text_of(&mut browser, &errors).contains("1 error"));
    browser.click_on(&errors);
    browser.wait_until_there_is(&format!("{returns}[aria-invalid=true]"));
    let message = text_of(&mut browser, "#step-browse [id$='-returns-error']");
    assert!(message.contains("cannot find type `Missing`"), "{message}");
    browser.click_on("form[action='/edit/undo'] button");
    wait_for_words(&mut browser, "The compiler accepts the file.");
    assert_eq!(source(&project), LOAD);
    dashboard.end().exits(0);
}

fn a_scenario_that_does_not_compile_is_listed_with_its_errors() {
    let name = "broken_board";
    let load = LOAD.replace("login.response.token", "login.response.tokn");
    let project = Files::single(name, &load)
        .file("loadtest.toml", "[store]\ndirectory = \"runs\"\n")
        .create();
    let dashboard = Dashboard::launch(project.tool("ui", "--no-open --port 0"));
    let mut browser = dashboard.browse();
    browser.visit(&dashboard.url("/"));
    // It is there before the compiler has looked.
    let row = text_of(&mut browser, "tbody tr");
    assert!(row.contains("login → browse → orders"), "{row}");
    let errors = format!("a.s-bad[href='/scenarios/{name}::load::visit/edit']");
    assert!(text_of(&mut browser, &errors).contains("1 error"));
    browser.click_on(&errors);
    let message = text_of(&mut browser, "#step-orders .has-error");
    assert!(message.contains("no field `tokn`"), "{message}");
    dashboard.end().exits(0);
}

fn what_was_entered_stays_until_it_is_saved() {
    let (name, server) = ("kept_board", Server::start(answer));
    // A part without fields stands before the steps, and the first answer is not read.
    let state = "#[state]\n    fn basket() -> u32 {\n        0\n    }\n\n    ";
    let load = LOAD
        .replace("    #[step(post", &format!("    {state}#[step(post"))
        .replace("fn login() -> Login;", "fn login();")
        .replace(", bearer = \"{{login.response.token}}\"", "");
    let project = project(name);
    let path = project.root().join("tests/load.rs");
    fs::write(&path, load).expect("our own file");
    let dashboard = Dashboard::launch(project.tool("ui", "--no-open --port 0"));
    let mut browser = dashboard.browse();
    open_form(&mut browser, &dashboard, name);
    browser.visit(&dashboard.url(&format!("/scenarios/{name}::load::visit/try")));
    browser.fill_in("input[name=base-url]", &server.url());
    browser.click_on("form[action='/try/start'] button");
    browser.wait_until_there_is(".exchange");
    open_form(&mut browser, &dashboard, name);

    // Values of the steps above, and the answer is read from then on.
    browser.click_on("#step-browse [data-option=request] label:has(input) + button.pick");
    let offered = browser.value(
        "[...document.querySelectorAll('#values [data-step]')].filter(one => !one.hidden).map(one => one.dataset.step)",
    );
    assert_eq!(offered, json!(["login"]));
    let is_none_said = browser.value("!document.querySelector('#values [data-none]').hidden");
    assert_eq!(is_none_said, false);
    browser.click_on("[data-insert='{{login.response.token}}']");
    browser.fill_in("#step-browse textarea[name$='.doc']", "Looks around.");
    browser.fill_in("input[name='name.orders']", "basket_orders");
    browser.fill_in("input[name='new.name']", "receipt");
    browser.fill_in("input[name='new.url']", "/receipt");
    let fields = "['input[name=\"name.orders\"]', 'input[name=\"new.name\"]', '#step-browse textarea', '#step-login input[name$=\".returns\"]']\
                  .map(one => document.querySelector(one).value)";
    let entered = json!(["basket_orders", "receipt", "Looks around.", "Value"]);
    browser.click_on("#edit button.primary");
    browser.wait_until_there_is(".diff");
    browser.click_on("button[value=back]");
    browser.wait_until_there_is("#edit");
    assert_eq!(browser.value(fields), entered);

    let text = source(&project);
    fs::remove_file(&path).expect("our own file");
    browser.click_on("#edit button.primary");
    wait_for_words(&mut browser, "Nothing was written");
    fs::write(&path, text).expect("our own file");
    browser.click_on("button[value=back]");
    browser.wait_until_there_is("#edit");
    assert_eq!(browser.value(fields), entered);
    save(
        &mut browser,
        &[
            "fn login() -> Value; // first",
            "/// Looks around.",
            "#[step(get = \"/products{{login.response.token}}\", weight = 0.8, /* keep */ expect = 200)]",
            "fn basket_orders();",
            "",
            "#[step(get = \"/receipt\")]",
            "fn receipt();",
        ],
    );
    dashboard.end().exits(0);
}

fn a_change_that_somebody_else_made_is_not_overwritten() {
    let name = "shared_board";
    let project = project(name);
    let path = project.root().join("tests/load.rs");
    let dashboard = Dashboard::launch(project.tool("ui", "--no-open --port 0"));
    let mut browser = dashboard.browse();
    open_form(&mut browser, &dashboard, name);
    // The button stays in view, however long the form is.
    browser.resize(400, 500);
    let is_in_view = "(() => { scrollTo(0, 0); const { top, bottom } = document.querySelector('.save button')\
        .getBoundingClientRect(); return top > 0 && bottom <= innerHeight; })()";
    assert_eq!(browser.value(is_in_view), true);
    browser.resize(1200, 900);
    browser.fill_in("#step-browse [data-option=weight] input[name$='.a']", "0.5");
    browser.fill_in("#step-browse [data-option=expect] input[name$='.a']", "201");
    // An editor changes the same option, and another line.
    let other = LOAD
        .replace("weight = 0.8", "weight = 0.6")
        .replace("\"ada\"", "\"eve\"");
    fs::write(&path, &other).expect("the source");
    browser.click_on("#edit button.primary");
    browser.wait_until_there_is(".notice.t-bad");
    let message = text_of(&mut browser, ".notice.t-bad");
    assert!(
        message.contains(
            "the file has `0.6` now, this page has `0.5`, and it was `0.8` when the page was opened"
        ),
        "{message}"
    );
    assert_eq!(source(&project), other);
    // What the page has is kept, and merges where nobody else changed it.
    assert_eq!(
        browser.value(
            "document.querySelector('#step-browse [data-option=expect] input[name$=\".a\"]').value"
        ),
        "201"
    );
    browser.fill_in("#step-browse [data-option=weight] input[name$='.a']", "0.6");
    save(
        &mut browser,
        &["#[step(get = \"/products\", weight = 0.6, /* keep */ expect = 201)]"],
    );
    assert_eq!(
        source(&project),
        other.replace("expect = 200", "expect = 201")
    );
    // A step that another one needs stays above it, and says so.
    browser.click_on("#step-login [data-move=down]");
    browser.click_on("form[action='/edit/save'] button");
    browser.wait_until_there_is("#step-login [data-move=up]");
    let stays = "document.querySelector('#step-login [data-move=down]:disabled').title";
    assert_eq!(
        browser.value(stays),
        "`orders` needs `login`, which must stay before it"
    );
    // A step with a comment is removed when that is confirmed.
    browser.click_on("#step-browse button[name=remove]");
    let message = text_of(&mut browser, "#step-browse-error");
    assert!(message.contains("// Most of them look"), "{message}");
    browser.click_on("#step-browse input[name=with_comments]");
    browser.click_on("#step-browse button[name=remove]");
    let removed = text_of(&mut browser, ".diff");
    assert!(removed.contains("−    // Most of them look"), "{removed}");
    dashboard.end().exits(0);
}

fn a_pasted_request_becomes_a_module_and_an_empty_scenario_a_function() {
    let (name, server) = ("new_board", Server::start(answer));
    let project = project(name);
    let dashboard = Dashboard::launch(project.tool("ui", "--no-open --port 0"));
    let mut browser = dashboard.browse();
    browser.visit(&dashboard.url("/new"));
    let command = format!(
        "curl '{}/products' -H 'authorization: Bearer s3cret-t0ken-9876'",
        server.url()
    );
    browser.fill_in("textarea[name=text]", &command);
    browser.click_on("form[action='/new/read'] button");
    browser.wait_until_there_is("form[action='/new/save'] button");
    let page = text_of(&mut browser, "main");
    assert!(
        page.contains("#[scenario(") && page.contains("{{secret."),
        "{page}"
    );
    assert!(!page.contains("s3cret-t0ken-9876"), "{page}");
    // What another page read meanwhile is not saved in its place.
    let read = |text: &str| {
        format!(
            "fetch('/new/read', {{ method: 'POST', body: new URLSearchParams({{ text: {} }}) }}).then(answer => answer.status)",
            json!(text)
        )
    };
    assert_eq!(browser.awaited(&read("curl http://127.0.0.1:9/other")), 200);
    let proposed = browser.value("document.querySelector('input[name=name]').value");
    assert_eq!(proposed, "get_products");
    browser.fill_in("input[name=name]", "products");
    browser.click_on("form[action='/new/save'] button");
    wait_for_words(
        &mut browser,
        "other requests were read since this page was opened",
    );
    assert_eq!(source(&project), LOAD);
    assert_eq!(browser.awaited(&read(&command)), 200);
    browser.visit(&dashboard.url("/new"));
    browser.fill_in("input[name=name]", "products");
    browser.click_on("form[action='/new/save'] button");
    browser.wait_until_there_is("#edit");
    let text = source(&project);
    let module = "#[path = \"load/products.rs\"]\nmod products;\n\nloadtest::main!();";
    assert_eq!(text, LOAD.replace("loadtest::main!();", module));
    let imported = project.root().join("tests/load/products.rs");
    let imported = fs::read_to_string(imported).expect("the module");
    assert!(
        !imported.contains("loadtest::main!") && !imported.contains("s3cret-t0ken-9876"),
        "{imported}"
    );

    browser.visit(&dashboard.url("/new"));
    let form = "form[action='/new/preview']";
    for (field, value) in [
        ("name", "ping"),
        ("url", "/ping"),
        ("rate", "5/s"),
        ("duration", "2s"),
    ] {
        browser.fill_in(&format!("{form} input[name={field}]"), value);
    }
    browser.click_on(&format!("{form} button"));
    browser.wait_until_there_is(".diff .added");
    assert!(
        !source(&project).contains("fn ping"),
        "{}",
        source(&project)
    );
    browser.click_on("form[action='/new/add'] button");
    browser.wait_until_there_is("#edit");
    let added = "#[scenario(load = rate(5/s, for = 2s))]\nfn ping() {\n    #[step(get = \"/ping\")]\n    fn request();\n}\n\n";
    assert!(source(&project).contains(added), "{}", source(&project));
    // Both are compiled, listed and can be run.
    browser.visit(&dashboard.url("/"));
    wait_for_scenarios(&mut browser);
    browser.wait_until_there_is(&format!("button[value='{name}::load::ping']"));
    browser.wait_until_there_is(&format!("button[value^='{name}::load::products::']"));
    browser.fill_in("input[name=base-url]", &server.url());
    browser.click_on(&format!("button[value='{name}::load::ping']"));
    browser.wait_until_there_is(".grade");
    assert_eq!(server.requests_to("/ping"), 10);

    // A name that is taken leaves room for another one.
    browser.visit(&dashboard.url("/new"));
    assert_eq!(browser.awaited(&read(&command)), 200);
    browser.visit(&dashboard.url("/new"));
    browser.click_on("form[action='/new/save'] button");
    browser.wait_until_there_is("#edit");
    browser.visit(&dashboard.url("/new"));
    assert_eq!(browser.awaited(&read(&command)), 200);
    browser.visit(&dashboard.url("/new"));
    let proposed = browser.value("document.querySelector('input[name=name]').value");
    assert_eq!(proposed, "get_products_2");
    browser.fill_in("input[name=name]", "get_products");
    browser.click_on("form[action='/new/save'] button");
    wait_for_words(&mut browser, "there is a module");
    browser.wait_until_there_is("form[action='/new/save'] button");
    dashboard.end().exits(0);
}

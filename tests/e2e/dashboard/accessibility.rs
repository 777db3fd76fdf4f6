//! Pages for everybody: names and headings in the accessibility tree, and what axe-core finds.

use super::Dashboard;
use super::pages::{addresses, wait_for_scenarios};
use super::runs::start_run;
use crate::browser::Browser;
use crate::project::ours;
use crate::site::{Sandbox, shop};
use crate::trial::is_installed;
use crate::trials;
use libtest_mimic::{Completion, Trial};
use loadtest_tests::{Reply, Server};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn trials() -> Vec<Trial> {
    let mut all = trials![needing "chromium":
        every_control_has_a_name_and_headings_are_in_order,
    ];
    all.push(axe_trial());
    all
}

/// A trial that is left out where axe-core is not installed.
fn axe_trial() -> Trial {
    Trial::ignorable_test(
        "dashboard::accessibility::every_page_is_free_of_axe_findings",
        || {
            let axe = axe_script();
            if !axe.is_file() || !is_installed("chromium") {
                let reason = format!("`{}` or `chromium` is not installed", axe.display());
                return Ok(Completion::ignored_with(reason));
            }
            every_page_is_free_of_axe_findings(&axe);
            Ok(Completion::Completed)
        },
    )
}

/// The script of axe-core, where `.ci/run` puts it.
fn axe_script() -> PathBuf {
    ours().join("accessibility/node_modules/axe-core/axe.min.js")
}

fn every_page_is_free_of_axe_findings(axe: &Path) {
    let axe = fs::read_to_string(axe).expect("the script of axe-core");
    let mut findings = Vec::new();
    let mut looked = 0;
    look_at_every_page(&mut |browser, state| {
        for (scheme, found) in run_axe(browser, &axe) {
            // A page of which nothing was checked has no finding either.
            let least = if scheme == "dark" { 1 } else { 6 };
            assert!(
                found["passes"].as_u64() >= Some(least),
                "{state}, {scheme}: {found}"
            );
            looked += 1;
            for violation in found["violations"].as_array().into_iter().flatten() {
                findings.push(format!("{state}, {scheme}: {violation:#}"));
            }
        }
    });
    assert!(looked > 40, "{looked} pages");
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// Runs axe-core in a world of its own, so that the policy of the page stays as it is: all rules in the light scheme, and
/// in the dark one those about colours, which alone depend on it.
#[track_caller]
fn run_axe(browser: &mut Browser, axe: &str) -> [(&'static str, Value); 2] {
    let tree = browser.call("Page.getFrameTree", json!({}));
    let world = browser.call(
        "Page.createIsolatedWorld",
        json!({ "frameId": tree["frameTree"]["frame"]["id"], "worldName": "axe" }),
    );
    let evaluate = |browser: &mut Browser, expression: &str| {
        let answer = browser.call(
            "Runtime.evaluate",
            json!({
                "expression": expression,
                "contextId": world["executionContextId"],
                "returnByValue": true,
                "awaitPromise": true,
            }),
        );
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    };
    evaluate(browser, &format!("{axe}; null"));
    let all = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']";
    let colours = "{ type: 'rule', values: ['color-contrast', 'link-in-text-block'] }";
    [("light", all), ("dark", colours)].map(|(scheme, rules)| {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
        let found = evaluate(
            browser,
            &format!(
                "axe.run(document, {{ runOnly: {rules}, resultTypes: ['violations'] }}).then(found => ({{
                    passes: found.passes.length,
                    violations: found.violations.map(one => ({{
                        rule: one.id,
                        help: one.help,
                        places: one.nodes.slice(0, 5).map(node => [node.target.join(' '), node.html.slice(0, 200), node.failureSummary]),
                    }})),
                }}))"
            ),
        );
        (scheme, found)
    })
}

/// The roles of controls, and of what needs a name besides them.
const NAMED: [&str; 20] = [
    "button",
    "checkbox",
    "combobox",
    "dialog",
    "DisclosureTriangle",
    "image",
    "img",
    "link",
    "listbox",
    "meter",
    "navigation",
    "option",
    "progressbar",
    "radio",
    "region",
    "searchbox",
    "slider",
    "spinbutton",
    "tab",
    "textbox",
];
/// What takes the focus where it is scrolled.
const SCROLLED: [&str; 2] = ["group", "list"];
/// What may take the focus without a name.
const UNNAMED: [&str; 2] = ["RootWebArea", "main"];

fn every_control_has_a_name_and_headings_are_in_order() {
    let mut looked = 0;
    look_at_every_page(&mut |browser, state| {
        let tree = browser.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().expect("a tree");
        let is_shown = |node: &&Value| node["ignored"] == false;
        let nodes: Vec<_> = nodes.iter().filter(is_shown).collect();
        assert!(nodes.len() > 10, "{state}: {tree}");
        for node in &nodes {
            let role = node["role"]["value"].as_str().unwrap_or_default();
            let name = node["name"]["value"].as_str().unwrap_or_default();
            let takes_focus = property(node, "focusable") == true && !UNNAMED.contains(&role);
            assert!(
                !name.trim().is_empty() || !(takes_focus || NAMED.contains(&role)),
                "no name: {state}: {node}"
            );
            assert!(
                !takes_focus || NAMED.contains(&role) || SCROLLED.contains(&role),
                "a control of no known kind: {state}: {node}"
            );
        }
        let levels = browser.value(
            "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(one => one.checkVisibility()).map(one => Number(one.tagName[1]))",
        );
        let levels: Vec<u64> = serde_json::from_value(levels).expect("levels");
        let firsts = levels.iter().filter(|level| **level == 1).count();
        assert_eq!(
            (levels.first(), firsts),
            (Some(&1), 1),
            "{state}: {levels:?}"
        );
        let is_step = |pair: &[u64]| pair[1] <= pair[0] + 1;
        assert!(levels.windows(2).all(is_step), "{state}: {levels:?}");
        looked += 1;
    });
    assert!(looked > 20, "{looked} pages");
}

fn property(node: &Value, name: &str) -> Value {
    let properties = node["properties"].as_array();
    let mut properties = properties.into_iter().flatten();
    let found = properties.find(|property| property["name"] == name);
    found.map_or(Value::Null, |property| property["value"]["value"].clone())
}

/// Shows every page of a dashboard, in each of the states that look different, and the exported report.
fn look_at_every_page(look: &mut dyn FnMut(&mut Browser, &str)) {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    wait_for_scenarios(&mut browser);
    for page in ["/", "/runs", "/compare", "/baselines", "/events"] {
        browser.visit(&dashboard.url(page));
        look(&mut browser, &format!("{page} before the first run"));
    }
    sandbox
        .run("journey --users 2 --iterations 40", &server)
        .run()
        .exits(0);
    // One fails all its requests.
    let broken = Server::start(|_| Reply::status(500).body("no stock ".repeat(99)));
    sandbox
        .run("single journey --users 2 --iterations 10", &broken)
        .run()
        .exits(99);
    sandbox.runs()[0].make_judged();
    sandbox.tool("baseline", "save main").run();
    let runs: Vec<_> = sandbox
        .runs()
        .iter()
        .map(crate::site::RunFolder::name)
        .collect();
    for page in addresses(&runs[0]) {
        browser.visit(&dashboard.url(&page));
        look(&mut browser, &page);
    }
    browser.press("?");
    browser.wait_until_there_is("dialog[open]");
    look(&mut browser, "the keys");
    for page in [
        format!("/runs/{}", runs[1]),
        format!("/compare?base={}&new={}", runs[0], runs[1]),
        "/?filter=quick&order=last".to_owned(),
        "/started?number=99".to_owned(),
        dashboard
            .address
            .split_at(dashboard.url("").len())
            .1
            .to_owned(),
    ] {
        browser.visit(&dashboard.url(&page));
        look(&mut browser, &page);
    }
    look_at_work(&dashboard, &server, &mut browser, look);
    dashboard.end().exits(0);
    for run in sandbox.runs().iter().take(2) {
        browser.open(&run.text("report.html"));
        look(&mut browser, "the exported report");
    }
}

/// Shows the pages of what is being done: a journey, an import, a change, a run.
fn look_at_work(
    dashboard: &Dashboard,
    server: &Server,
    browser: &mut Browser,
    look: &mut dyn FnMut(&mut Browser, &str),
) {
    let scenario = "/scenarios/site::load::journey";
    browser.visit(&dashboard.url(&format!("{scenario}/try")));
    browser.fill_in("input[name=base-url]", &server.url());
    browser.click_on("form[action='/try/start'] button");
    browser.wait_until_there_is(".exchange");
    browser.click_on(".exchange summary");
    look(browser, "a journey");

    browser.visit(&dashboard.url(&format!("{scenario}/edit")));
    browser.click_on("#step-order button.pick");
    browser.wait_until_there_is("dialog[open]");
    look(browser, "the values of answers");
    browser.press("Escape");
    browser.fill_in("#step-order [data-option=expect] input[name$='.a']", "202");
    browser.click_on("#edit button.primary");
    browser.wait_until_there_is(".diff");
    look(browser, "a difference");

    browser.visit(&dashboard.url("/new"));
    browser.fill_in(
        "textarea[name=text]",
        "curl http://127.0.0.1:9/products -H 'authorization: Bearer s3cret-t0ken-9876'",
    );
    browser.click_on("form[action='/new/read'] button");
    browser.wait_until_there_is("form[action='/new/save'] button");
    look(browser, "an import");

    browser.visit(&dashboard.url("/"));
    let load = [("users", "2"), ("duration", "1h")];
    start_run(browser, "site::load::single", server, &load);
    browser.wait_until_there_is("#live-figures .tiles");
    browser.click_on("[data-pause]");
    look(browser, "a run under way");
    browser.visit(&dashboard.url("/"));
    start_run(browser, "site::load::strict", server, &load);
    browser.wait_until_there_is("form[action='/runs/unqueue'] button");
    look(browser, "a run that waits");
}

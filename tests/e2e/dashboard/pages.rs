//! Every page in windows of every size, with and without scripts.

use super::Dashboard;
use crate::browser::Browser;
use crate::site::{Sandbox, shop, site};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::Server;
use serde_json::json;

pub(super) fn trials() -> Vec<Trial> {
    trials![needing "chromium":
        every_page_fits_every_window_and_asks_nobody_else,
        lists_are_filtered_and_sorted,
        places_in_source_lead_to_the_editor_of_this_browser,
        an_empty_workspace_says_what_to_do,
    ]
}

/// Settings of a browser, and sizes of its window: the width, and how many of its pixels are one of the page.
type Look = (
    &'static [(&'static str, &'static str)],
    &'static [(u32, u32)],
);

const LOOKS: [Look; 4] = [
    // 640 pixels are 1280 at a zoom of 200 %, and 320 at one of 400 %.
    (
        &[("prefers-color-scheme", "light")],
        &[(320, 4), (400, 1), (640, 2), (800, 1), (1280, 1), (1600, 1)],
    ),
    (
        &[
            ("prefers-color-scheme", "dark"),
            ("prefers-reduced-motion", "reduce"),
        ],
        &[(400, 1), (1280, 1)],
    ),
    (
        &[
            ("forced-colors", "active"),
            ("prefers-color-scheme", "light"),
        ],
        &[(400, 1), (1280, 1)],
    ),
    (
        &[
            ("forced-colors", "active"),
            ("prefers-color-scheme", "dark"),
        ],
        &[(1280, 1)],
    ),
];

/// The pages of the dashboard; `run` is the name of a run.
pub(super) fn addresses(run: &str) -> [String; 13] {
    [
        "/",
        "/scenarios/site::load::journey",
        "/scenarios/site::load::journey?plan=1",
        "/scenarios/site::load::journey/try",
        "/scenarios/site::load::journey/edit",
        "/new",
        "/runs",
        &format!("/runs/{run}"),
        "/compare",
        "/baselines",
        "/events",
        "/settings",
        "/nothing",
    ]
    .map(str::to_owned)
}

/// Waits until the scenarios are listed.
#[track_caller]
pub(super) fn wait_for_scenarios(browser: &mut Browser) {
    browser.wait_until_there_is("body[data-stream$='listing=known-0'] button[name=only]");
}

fn every_page_fits_every_window_and_asks_nobody_else() {
    let server = Server::start(shop);
    let sandbox = Sandbox::new();
    sandbox
        .run("journey --users 2 --iterations 40", &server)
        .run()
        .exits(0);
    sandbox.tool("baseline", "save main").run();
    let pages = addresses(&sandbox.only_run().name());
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    wait_for_scenarios(&mut browser);
    for (features, sizes) in &LOOKS {
        let features: Vec<_> = features
            .iter()
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        let features = json!({ "features": features });
        browser.call("Emulation.setEmulatedMedia", features.clone());
        for page in &pages {
            // It is loaded in the first size, and follows its window to the others.
            let (width, scale) = sizes[0];
            browser.zoom(width, 900 / scale, scale);
            browser.visit(&dashboard.url(page));
            for (width, scale) in *sizes {
                browser.zoom(*width, 900 / scale, *scale);
                let state = format!("{page} at {width}, {features}");
                assert_eq!(browser.value("innerWidth"), *width, "{state}");
                check_page(&mut browser, &dashboard, *width, &state);
            }
        }
    }
    browser.allow_scripts(false);
    for page in &pages {
        browser.visit(&dashboard.url(page));
        assert_eq!(
            browser.value("document.querySelectorAll('main h1').length"),
            1,
            "{page}"
        );
    }
    dashboard.end().exits(0);
}

/// Looks at a page: it fits its window, is silent, asks nobody else, does not move, and shows keys and focus.
#[track_caller]
fn check_page(browser: &mut Browser, dashboard: &Dashboard, width: u32, state: &str) {
    let widest = browser.value("document.documentElement.scrollWidth");
    assert!(
        widest.as_f64() <= Some(f64::from(width)),
        "{widest}: {state}"
    );
    let complaints = browser.complaints();
    let expected = usize::from(state.starts_with("/nothing"));
    assert_eq!(complaints.len(), expected, "{complaints:?}: {state}");
    let asked = browser.asked_for();
    let own = asked.iter().all(|url| {
        url.starts_with(&format!("\"{}", dashboard.url("/"))) || url.starts_with("\"data:")
    });
    assert!(own, "{asked:?}: {state}");
    assert_eq!(
        browser.value("document.querySelectorAll('h1').length"),
        1,
        "{state}"
    );
    assert_eq!(
        browser.value("document.getAnimations().length"),
        0,
        "{state}"
    );
    // Forced colours take the grounds away, but not from what only has one.
    let flat = "[...document.querySelectorAll('.key')].filter(one =>
        getComputedStyle(one).backgroundColor === getComputedStyle(document.body).backgroundColor).length";
    assert_eq!(browser.value(flat), 0, "{state}");
}

fn places_in_source_lead_to_the_editor_of_this_browser() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    let form = dashboard.url("/scenarios/site::load::single/edit");
    let places =
        "[...document.querySelectorAll('[data-path]')].map(one => one.querySelector('a')?.href)";
    browser.visit(&form);
    let none = browser.value(places);
    assert!(
        none.as_array()
            .is_some_and(|all| all.len() > 1 && all.iter().all(serde_json::Value::is_null)),
        "{none}"
    );
    // Without an editor, a place can be copied.
    browser.wait_until_there_is("main .sub [data-copy] + button.copy");
    let path = site().root().join("tests/load.rs").display().to_string();
    for (editor, begin) in [
        ("vscode", format!("vscode://file{path}:")),
        ("zed", format!("zed://file{path}:")),
        (
            "idea",
            format!("idea://open?file={}&line=", path.replace('/', "%2F")),
        ),
        ("", String::new()),
    ] {
        browser.visit(&dashboard.url("/settings"));
        browser.value(&format!(
            "(() => {{ const one = document.querySelector('[data-editor]'); one.value = '{editor}';
                one.dispatchEvent(new Event('change')); }})()"
        ));
        browser.visit(&form);
        let found = browser.value(places);
        let found = found.as_array().expect("places");
        for one in found {
            let is_there = one.as_str().is_some_and(|href| href.starts_with(&begin));
            assert_eq!(is_there, !editor.is_empty(), "{editor}: {one}");
        }
    }
    assert_eq!(browser.complaints(), [""; 0]);
    dashboard.end().exits(0);
}

fn lists_are_filtered_and_sorted() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    wait_for_scenarios(&mut browser);
    let shown = "[...document.querySelectorAll('tbody tr')].filter(row => !row.hidden).map(row => row.querySelector('th a').textContent)";
    let all = browser.value(shown);
    assert!(all.as_array().is_some_and(|all| all.len() > 10), "{all}");
    // By its tag, which two scenarios have; Enter runs nothing.
    browser.fill_in("#filter", "one step");
    assert_eq!(browser.value(shown), json!(["single"]));
    browser.press("Enter");
    assert_eq!(browser.value("location.pathname"), "/");
    browser.visit(&dashboard.url("/?filter=quick&order=last"));
    assert_eq!(browser.value(shown).as_array().map(Vec::len), Some(2));
    assert_eq!(
        browser.value("document.querySelector('[aria-sort=descending]').textContent"),
        "Last run"
    );
    dashboard.end().exits(0);
}

fn an_empty_workspace_says_what_to_do() {
    let sandbox = Sandbox::new();
    let dashboard = Dashboard::start(&sandbox, "");
    let mut browser = dashboard.browse();
    for (page, words) in [
        ("/runs", "Nothing has run yet"),
        ("/compare", "Nothing has run yet"),
        ("/baselines", "There is no baseline yet"),
        ("/events", "Nothing has happened yet"),
    ] {
        browser.visit(&dashboard.url(page));
        let text = browser.value("document.querySelector('main').textContent");
        assert!(
            text.as_str().is_some_and(|text| text.contains(words)),
            "{page}: {text}"
        );
    }
    dashboard.end().exits(0);
}

//! The page of a run, in a real browser.

use crate::baselines::stretch_to_a_minute;
use crate::browser::Browser;
use crate::site::Sandbox;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_model::comparison::{
    BaselineComparison, Change, Compared, Comparison, ComparisonOutcome, Figure, Margin,
    RunComparison, Subject,
};
use loadtest_model::definition::StepDef;
use loadtest_model::metrics::{SlowJourney, SlowStep};
use loadtest_model::record::RunRecord;
use loadtest_tests::{Reply, Request, Server};
use serde_json::Value;
use std::fs;
use std::sync::OnceLock;

pub(crate) fn trials() -> Vec<Trial> {
    trials![needing "chromium":
        the_page_fits_every_window_and_asks_for_nothing,
        nothing_is_cut_off_in_print,
        figures_are_read_off_by_pointer_and_by_arrow_keys,
        a_series_is_switched_off_by_its_entry_in_the_legend,
        buttons_copy_the_run_its_source_and_commands,
    ]
}

/// The page is opened at the first width of each pair, and then made wider.
const WIDTHS: [[u32; 2]; 2] = [[400, 800], [1280, 1600]];
const STRANGE: &str = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\
    _注文を作成して確認メールを送る_Привет_мир_оформление_заказа_с_доставкой";

/// The pages of one run: as it was, and as if it had many steps with strange names.
fn pages() -> &'static [(&'static str, String); 2] {
    static PAGES: OnceLock<[(&str, String); 2]> = OnceLock::new();
    PAGES.get_or_init(|| {
        let server = Server::start(answer);
        let sandbox = Sandbox::new();
        let load = "journey --iterations 610 --users 4";
        sandbox.run(load, &server).run().exits(99);
        let folder = sandbox.only_run();
        // Every second has answers then, and an order that failed.
        stretch_to_a_minute(&folder);
        let page = |record: &RunRecord, comparison: &RunComparison| {
            let record = serde_json::to_string(record).expect("a record");
            fs::write(folder.0.join("record.json"), record).expect("our own folder");
            let comparison = serde_json::to_string(comparison).expect("a comparison");
            fs::write(folder.0.join("comparison.json"), comparison).expect("our own folder");
            sandbox
                .tool("report", "latest --export html")
                .run()
                .exits(99);
            folder.text("report.html")
        };
        let mut record = folder.record();
        keep_a_slow_journey(&mut record);
        let plain = page(&record, &worse_than("main", &record));
        make_strange(&mut record);
        let strange = page(&record, &worse_than(STRANGE, &record));
        [("plain", plain), ("strange", strange)]
    })
}

/// One order in eight fails.
fn answer(request: &Request) -> Reply {
    use std::sync::atomic::{AtomicU64, Ordering};
    static ORDERS: AtomicU64 = AtomicU64::new(0);
    let is_order = request.path == "/orders";
    if is_order && ORDERS.fetch_add(1, Ordering::Relaxed) % 8 == 7 {
        return Reply::status(500).body("no stock");
    }
    crate::site::shop(request)
}

fn keep_a_slow_journey(record: &mut RunRecord) {
    let steps = record.scenarios[0].start.definition.steps.len();
    let slow = SlowJourney {
        iteration: 77,
        delay_us: 40_000,
        time_us: 30_000_000,
        ok: false,
        steps: (0..steps)
            .map(|step| SlowStep {
                step,
                begin_us: 40_000 + 400_000 * step as u64,
                time_us: 300_000,
                ok: step % 4 != 2,
            })
            .collect(),
        ..SlowJourney::default()
    };
    let journey = &mut record.scenarios[0].windows.steady.journey;
    journey.slowest.add(slow);
}

/// A comparison in which all is worse.
fn worse_than(baseline: &str, record: &RunRecord) -> RunComparison {
    let figure = |(figure, base): (Figure, f64)| Compared {
        figure,
        base,
        new: 1.3 * base,
        change: 0.3,
        interval: (0.21, 0.42),
        detectable: 0.12,
        verdict: Change::Regressed,
        needs: None,
    };
    let figures = [
        (Figure::P50, 98_000.0),
        (Figure::P95, 212_000.0),
        (Figure::P99, 1_430_000.0),
        (Figure::Errors, 0.1),
        (Figure::Rps, 1_234.0),
    ];
    let definition = &record.scenarios[0].start.definition;
    let steps = definition.steps.iter();
    let steps = steps.map(|step| Some(step.name.to_string()));
    let subjects = std::iter::once(None).chain(steps).map(|step| Subject {
        step,
        skipped: None,
        figures: figures.map(figure).to_vec(),
    });
    let comparison = BaselineComparison {
        baseline: baseline.to_owned(),
        outcome: ComparisonOutcome::Compared(Comparison {
            scenario: definition.identity(),
            base: vec!["20261101-220000-91be".to_owned()],
            new: record.run_id.clone(),
            margin: Margin::for_runs(1),
            is_closed: false,
            subjects: subjects.collect(),
            observed: Vec::new(),
        }),
    };
    RunComparison {
        run_id: record.run_id.clone(),
        scenarios: [(definition.identity(), comparison)].into(),
    }
}

/// The same with thirty steps.
fn make_strange(record: &mut RunRecord) {
    let scenario = &mut record.scenarios[0];
    let few: Vec<StepDef> = scenario.start.definition.steps.to_vec();
    let many = few.iter().cycle().take(30).cloned().enumerate();
    scenario.start.definition.steps = many
        .map(|(i, step)| StepDef {
            name: format!("{STRANGE}_{i}").into(),
            ..step
        })
        .collect::<Vec<_>>()
        .into();
    let grading = &mut scenario.start.plan.grading;
    *grading = grading.iter().cycle().take(30).copied().collect();
    for tally in [&mut scenario.windows.ramp, &mut scenario.windows.steady] {
        tally.steps = tally.steps.iter().cycle().take(30).cloned().collect();
        for error in tally.steps.iter_mut().flat_map(|step| &mut step.errors) {
            error.example = STRANGE.into();
        }
    }
    keep_a_slow_journey(record);
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// Left, top, width and height of an element in the window, which is brought there.
#[track_caller]
fn place(browser: &mut Browser, element: &str) -> [f64; 4] {
    let script = format!(
        "(() => {{ const it = {element}; it.scrollIntoView({{ block: 'center' }}); \
         const r = it.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; }})()"
    );
    let place = browser.value(&script);
    [0, 1, 2, 3].map(|i| number(&place[i]))
}

fn the_page_fits_every_window_and_asks_for_nothing() {
    let mut browser = Browser::start();
    for (name, page) in pages() {
        for scripts in [true, false] {
            browser.allow_scripts(scripts);
            for [opened, wider] in WIDTHS {
                browser.resize(opened, 900);
                browser.open(page);
                let state = format!("{name} from {opened} to {wider}, scripts: {scripts}");
                for width in [opened, wider] {
                    browser.resize(width, 900);
                    let widest = browser.value("document.documentElement.scrollWidth");
                    let shown = browser.value("innerWidth");
                    assert_eq!(shown, width, "{state}");
                    assert!(number(&widest) <= f64::from(width), "{widest}: {state}");
                }
                let complaints = browser.complaints();
                assert!(complaints.is_empty(), "{complaints:?}: {state}");
                let asked = browser.asked_for();
                assert!(
                    matches!(&asked[..], [one] if one.contains("file://")),
                    "{asked:?}: {state}"
                );
                // Complete without its script, which ran where it may.
                for element in [
                    "h1",
                    "table",
                    "figure svg",
                    ".legend li",
                    "table.dense",
                    ".charts",
                ] {
                    let found = format!("document.querySelectorAll('{element}').length");
                    assert!(number(&browser.value(&found)) > 0.0, "{element}: {state}");
                }
                let buttons = number(&browser.value("document.querySelectorAll('button').length"));
                assert_eq!(buttons > 0.0, scripts, "{state}");
                let foreign =
                    "document.querySelectorAll('img, iframe, script:not(:last-child)').length";
                assert_eq!(browser.value(foreign), 0, "{state}");
            }
        }
    }
}

fn nothing_is_cut_off_in_print() {
    let mut browser = Browser::start();
    // A4 within its margins.
    browser.resize(718, 1_000);
    let print = serde_json::json!({ "media": "print" });
    browser.call("Emulation.setEmulatedMedia", print);
    for (name, page) in pages() {
        browser.open(page);
        let beyond = browser.value(
            "[...document.querySelectorAll('table, svg, p, pre, dl')] \
             .filter((it) => it.getBoundingClientRect().right > innerWidth + 1) \
             .map((it) => it.textContent.slice(0, 80))",
        );
        let beyond = beyond.as_array().expect("a list");
        assert!(beyond.is_empty(), "{name}: {beyond:?}");
    }
}

fn open_plain(browser: &mut Browser) {
    browser.resize(1_280, 900);
    browser.open(&pages()[0].1);
}

const READOUTS: &str =
    "[...document.querySelectorAll('.readout')].map((it) => it.hidden ? '' : it.textContent)";
const PLOT: &str = "document.querySelector('.plot')";

/// What the first chart says at a point, by what the page keeps for it.
fn expected(browser: &mut Browser, point: usize) -> String {
    let kept = browser.value(
        "[document.querySelector('figure').dataset.at, \
         ...[...document.querySelector('figure').querySelectorAll('.legend li')].map((it) => it.dataset.words)]",
    );
    let of = |i: usize| {
        let list = kept[i].as_str().expect("a list").split('|').nth(point);
        list.expect("a point").to_owned()
    };
    format!("{}p50{}p95{}p99{}", of(0), of(1), of(2), of(3))
}

fn figures_are_read_off_by_pointer_and_by_arrow_keys() {
    let mut browser = Browser::start_with_window();
    open_plain(&mut browser);
    let hidden = |read: &Value| read.as_array().expect("a list").iter().all(|one| one == "");
    assert!(hidden(&browser.value(READOUTS)));

    let [left, top, width, height] = place(&mut browser, PLOT);
    browser.point(left + width - 14.0, top + height / 2.0);
    let read = browser.value(READOUTS);
    let points = browser.value("document.querySelector('figure').dataset.at.split('|').length");
    let last = number(&points) as usize - 1;
    assert_eq!(read[0], expected(&mut browser, last).as_str());
    // All charts are read off at the same time.
    let read = read.as_array().expect("a list");
    let at = expected(&mut browser, last);
    let at = at.split("p50").next().expect("a time");
    let same = read
        .iter()
        .filter(|one| one.as_str().is_some_and(|one| one.starts_with(at)));
    assert_eq!(same.count(), read.len(), "{read:?}");
    browser.point(2.0, 2.0);
    assert!(hidden(&browser.value(READOUTS)));

    browser.value(&format!("{PLOT}.focus()"));
    for (key, point) in [
        ("ArrowRight", 0),
        ("ArrowRight", 1),
        ("End", last),
        ("ArrowLeft", last - 1),
        ("Home", 0),
    ] {
        browser.press(key);
        let read = browser.value(READOUTS);
        assert_eq!(read[0], expected(&mut browser, point).as_str(), "{key}");
        let spoken = browser.value(&format!("{PLOT}.getAttribute('aria-valuetext')"));
        let spoken = spoken.as_str().expect("words");
        assert!(
            spoken.contains(": p50 ") && spoken.contains(", p99 "),
            "{spoken}"
        );
    }
    browser.press("Escape");
    assert!(hidden(&browser.value(READOUTS)));
    assert!(
        browser.complaints().is_empty(),
        "{:?}",
        browser.complaints()
    );
}

fn a_series_is_switched_off_by_its_entry_in_the_legend() {
    let mut browser = Browser::start();
    open_plain(&mut browser);
    let button = "document.querySelectorAll('figure .legend button')[1]";
    let state = format!(
        "[{button}.textContent, {button}.getAttribute('aria-pressed'), \
         [...document.querySelectorAll('figure:first-of-type svg')][0].querySelectorAll('g')[1].checkVisibility({{ visibilityProperty: true }})]"
    );
    assert_eq!(
        browser.value(&state),
        serde_json::json!(["p95", "true", true])
    );
    let [left, top, width, height] = place(&mut browser, button);
    browser.click([left + width / 2.0, top + height / 2.0]);
    assert_eq!(
        browser.value(&state),
        serde_json::json!(["p95", "false", false])
    );

    browser.value(&format!("{PLOT}.focus()"));
    browser.press("Home");
    let read = browser.value(READOUTS);
    let read = read[0].as_str().expect("words");
    assert!(
        read.contains("p50") && read.contains("p99") && !read.contains("p95"),
        "{read}"
    );

    // By the keyboard it comes back.
    browser.value(&format!("{button}.focus()"));
    browser.call(
        "Input.dispatchKeyEvent",
        serde_json::json!({ "type": "keyDown", "key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13 }),
    );
    assert_eq!(
        browser.value(&state),
        serde_json::json!(["p95", "true", true])
    );
}

fn buttons_copy_the_run_its_source_and_commands() {
    let mut browser = Browser::start();
    open_plain(&mut browser);
    let copied = browser.value(
        "(() => { const copied = []; \
         Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { copied.push(text); } } }); \
         for (const button of document.querySelectorAll('.copy')) button.click(); return copied; })()",
    );
    let copied: Vec<&str> = copied
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let buttons = browser.value("document.querySelectorAll('.copy').length");
    assert_eq!(buttons, copied.len(), "{copied:?}");
    let run = browser.value("document.querySelector('.masthead [data-copy]').textContent");
    assert_eq!(copied.first().copied(), run.as_str());
    for begin in [
        "tests/load.rs:",
        "cargo loadtest debug site::load::journey --seed ",
    ] {
        let found = copied.iter().any(|text| text.starts_with(begin));
        assert!(found, "{begin}: {copied:?}");
    }
    assert!(copied.iter().all(|text| !text.contains('`')), "{copied:?}");
}

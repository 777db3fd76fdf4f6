//! The card as one page: complete without scripts and without a network.

mod capacity;
mod drawing;
mod figures;
mod policy;
#[cfg(test)]
mod skeleton;
#[cfg(test)]
mod style;

use crate::console::clean_lines;
use crate::export::beside::{self, Shown};
use crate::export::chart;
use crate::export::facts::{
    Ledger, NOT_RUN, OWN_METRICS, errors_alarm, facts, ledger, percentiles_of, run_again,
    spared_heading,
};
use drawing::Drawing;
use loadtest_model::card::{Card, Report, view};
use minijinja::value::Serde;
use minijinja::{Environment, HtmlEscape, Value, context, escape_formatter};
use serde::Serialize;
use std::fmt::Write as _;
use std::time::Duration;

const TEMPLATE: &str = include_str!("../report.html");
const STYLE: &str = include_str!("../report.css");
const SCRIPT: &str = include_str!("../report.js");

/// A card and what is drawn of it.
#[derive(Serialize)]
struct Sheet<'a> {
    anchor: String,
    card: &'a Card,
    label: String,
    verdict: &'static str,
    errors_alarm: bool,
    percentiles_of: String,
    shares: Option<Drawing>,
    /// The colour of each step in the drawing of shares.
    roles: Vec<String>,
    /// What each point of the charts over time is of.
    at: Option<Value>,
    charts: Vec<Drawing>,
    figures: Option<figures::Table>,
    spectrum: Option<Drawing>,
    slowest: Vec<Drawing>,
    /// How to run the slowest journey again.
    again: Option<String>,
    /// What the generator saw of itself, in a line and drawn.
    generator: String,
    health: Vec<Drawing>,
    facts: Vec<(&'static str, String)>,
    ledger: Option<Ledger<'a>>,
    /// Why it does not pass; or what it kept.
    reasons: Vec<String>,
    kept: String,
    /// The least grade that was asked for.
    asked: Option<String>,
    /// What changed against the baseline, and the same drawn.
    beside: Option<Shown<'a>>,
    changes: Option<Drawing>,
    spared_heading: &'static str,
}

/// The report as an HTML page.
pub(crate) fn render(report: &Report) -> String {
    let mut environment = Environment::new();
    environment.set_formatter(|out, state, value| {
        match value.as_str().filter(|_| !value.is_safe()) {
            Some(text) => escape_formatter(out, state, &Value::from(clean_lines(text))),
            None => escape_formatter(out, state, value),
        }
    });
    environment.add_filter("duration", duration);
    environment.add_filter("count", |number: u64| view::count(number));
    environment.add_filter("percent", |ratio: Option<f64>| figure(ratio, view::percent));
    environment.add_filter("rate", |rate: Option<f64>| figure(rate, view::rate));
    environment.add_filter("throughput", |rate: Option<f64>| {
        figure(rate, view::throughput)
    });
    environment.add_filter("score", |score: f64| view::score(score));
    environment.add_filter("points", |points: f64| view::points(points));
    environment.add_filter("prose", prose);
    environment
        .add_template("report.html", TEMPLATE)
        .expect("the template is tested");
    let sheets: Vec<Sheet<'_>> = report
        .cards
        .iter()
        .enumerate()
        .map(|(i, card)| Sheet::of(i, report, card))
        .collect();
    let is_drawn = |sheet: &Sheet<'_>| !sheet.charts.is_empty() || sheet.spectrum.is_some();
    let has_charts = sheets.iter().any(is_drawn);
    let script = has_charts.then_some(SCRIPT);
    environment
        .get_template("report.html")
        .and_then(|template| {
            template.render(context! {
                style => Value::from_safe_string(STYLE.to_owned()),
                script => script.map(|script| Value::from_safe_string(script.to_owned())),
                policy => Value::from_safe_string(policy::of(script)),
                report => Value::from(Serde(report)),
                sheets => Value::from(Serde(&sheets)),
                search => report.capacity.as_ref().map(|capacity| Value::from(Serde(capacity::Sheet::of(capacity)))),
                exit_code => report.exit_code(),
                dash => view::NONE,
                not_run => NOT_RUN,
                own_metrics => OWN_METRICS,
            })
        })
        .expect("the template is tested with every kind of card")
}

impl<'a> Sheet<'a> {
    fn of(number: usize, report: &Report, card: &'a Card) -> Self {
        let charts = chart::over_time(card);
        let at = charts.first().and_then(|chart| chart.readout.as_ref());
        let at: Vec<String> = at.map(|readout| readout.at.clone()).unwrap_or_default();
        let draw = |chart| Drawing::of(chart, &at);
        let bottleneck = card.bottleneck.as_ref().map(|found| found.step);
        Self {
            anchor: format!("scenario-{}", number + 1),
            card,
            label: card.grade.label(),
            verdict: card.verdict.name(),
            errors_alarm: errors_alarm(card),
            percentiles_of: percentiles_of(card),
            shares: chart::shares(card).map(draw),
            roles: (0..card.steps.len())
                .map(|step| chart::paint_of(step, bottleneck.unwrap_or(usize::MAX)).role())
                .collect(),
            at: (!at.is_empty()).then(|| drawing::list(&at)),
            figures: figures::Table::of(&charts),
            charts: charts.into_iter().map(draw).collect(),
            spectrum: chart::spectrum(card).map(draw),
            slowest: chart::slowest(card).into_iter().map(draw).collect(),
            again: card
                .slowest
                .first()
                .map(|slowest| run_again(card, &slowest.number)),
            generator: card.generator.words(),
            health: chart::of_generator(card).into_iter().map(draw).collect(),
            facts: facts(report, card),
            ledger: ledger(card),
            reasons: beside::reasons(card),
            kept: beside::kept(card),
            asked: beside::asked(card),
            beside: beside::shown(card),
            changes: chart::changes(card).map(draw),
            spared_heading: spared_heading(card),
        }
    }
}

fn figure(figure: Option<f64>, words: fn(f64) -> String) -> String {
    figure.map_or_else(|| view::NONE.to_owned(), words)
}

/// A time in microseconds.
fn duration(us: Option<u64>) -> String {
    us.map_or_else(
        || view::NONE.to_owned(),
        |us| view::duration(Duration::from_micros(us)),
    )
}

/// A sentence in which what stands between two backticks is code.
fn prose(text: &str) -> Value {
    let parts: Vec<&str> = text.split('`').collect();
    let mut html = String::new();
    for (i, part) in parts.iter().enumerate() {
        let is_code = i % 2 == 1 && i + 1 < parts.len();
        let mut part = clean_lines(part);
        if !is_code {
            // A line does not end between a number and its unit.
            part = part.replace(" %", "\u{a0}%").replace(" ms", "\u{a0}ms");
        }
        let escaped = HtmlEscape(&part);
        // A backtick without a second one is a backtick.
        if is_code {
            let _ = write!(html, "<code>{escaped}</code>");
        } else if i % 2 == 1 {
            let _ = write!(html, "`{escaped}");
        } else {
            let _ = write!(html, "{escaped}");
        }
    }
    Value::from_safe_string(html)
}

#[cfg(test)]
mod tests {
    use super::skeleton::{Piece, pieces};
    use super::*;
    use crate::export::sample;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest as _, Sha256};

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'`<evil -->|&quot;";

    /// The text of the only script of a page.
    fn script(html: &str) -> &str {
        assert_eq!(html.matches("<script").count(), 1);
        assert_eq!(html.matches("</script").count(), 1);
        let (_, rest) = html.split_once("<script>").expect("no attributes");
        rest.split_once("</script>").expect("an end").0
    }

    #[test]
    fn text_from_outside_cannot_break_out() {
        let html = render(&sample::hostile(HOSTILE));
        assert_eq!(script(&html), SCRIPT, "nothing but our own script");
        assert!(!html.contains("<img"), "an element from outside");
        assert!(!html.contains("<evil"), "an element from outside");
        assert!(html.contains("&lt;img src=x onerror="));
        let (mut elements, mut attributes) = (0, 0);
        for piece in pieces(&html) {
            if let Piece::Tag { name, values, .. } = piece {
                elements += 1;
                let known = "!doctype html head meta title style body main header section article div p span h1 h2 h3 \
                    ul ol li dl dt dd table caption thead tbody tr th td strong code pre br footer a figure figcaption \
                    details summary svg g rect polyline polygon text script";
                assert!(known.split_whitespace().any(|one| one == name), "<{name}>");
                for (attribute, value) in values {
                    attributes += 1;
                    let known = "id class lang charset name content http-equiv href role scope tabindex colspan rowspan \
                        aria-label aria-labelledby aria-hidden data-label data-from data-to data-at data-words \
                        xmlns viewBox x y width height fill fill-opacity points stroke stroke-width \
                        stroke-linejoin stroke-linecap stroke-dasharray font-size text-anchor html";
                    let is_known = known.split_whitespace().any(|one| one == attribute);
                    assert!(is_known, "{attribute}=\"{value}\" of <{name}>");
                    let is_said = attribute == "aria-label" || attribute == "content";
                    assert!(
                        is_said || !value.contains("evil"),
                        "{attribute}=\"{value}\""
                    );
                }
            }
        }
        assert!(
            elements > 300 && attributes > 500,
            "{elements} {attributes}"
        );
    }

    #[test]
    fn nothing_from_outside_turns_the_direction_of_writing_or_is_a_control_character() {
        let outside = "a\u{202e}b\u{2066}c\u{1b}[2J\0d\u{7f}e\u{9b}f\u{200f}g";
        let html = render(&sample::hostile(outside));
        let is_kept = |letter: char| letter >= ' ' || letter == '\n' || letter == '\t';
        assert!(html.chars().all(is_kept), "a control character");
        for letter in ['\u{7f}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200f}'] {
            assert!(!html.contains(letter), "{:04x}", u32::from(letter));
        }
        assert!(html.contains("a\u{fffd}b"), "it is there all the same");
    }

    #[test]
    fn the_page_asks_for_nothing_and_runs_nothing_but_its_script() {
        for report in [sample::failed(), sample::several(), sample::empty()] {
            let html = render(&report);
            for outside in [
                "src=", "url(", "@import", "<link", "<iframe", "fetch(", "XMLHttp",
            ] {
                assert!(!html.contains(outside), "{outside}");
            }
            for piece in pieces(&html) {
                if let Piece::Tag { values, .. } = piece {
                    let is_active = |name: &str| name.starts_with("on") || name == "style";
                    assert!(
                        !values.iter().any(|(name, _)| is_active(name)),
                        "{values:?}"
                    );
                }
            }
            let links = html.matches("href=\"").count();
            assert_eq!(links, html.matches("href=\"#").count());
            let policy = html.split_once("Content-Security-Policy\" content=\"");
            let policy = policy.and_then(|(_, rest)| rest.split_once('"')).unwrap().0;
            assert!(policy.starts_with("default-src 'none'; style-src 'unsafe-inline'"));
            if report.cards[0].course.points.is_empty() {
                assert!(!html.contains("<script") && !policy.contains("script-src"));
            } else {
                let hash = STANDARD.encode(Sha256::digest(script(&html)));
                assert!(
                    policy.contains(&format!("script-src 'sha256-{hash}'")),
                    "{policy}"
                );
                assert_eq!(policy.matches("script-src").count(), 1);
            }
        }
    }

    #[test]
    fn every_kind_of_card_renders() {
        for (report, says) in [
            (sample::passed(), "PASSED"),
            (sample::failed(), "FAILED"),
            (sample::interrupted(), "INTERRUPTED"),
            (sample::empty(), "NOTHING MEASURED"),
            (sample::single(), "PASSED"),
            (sample::invalid(), "INVALID"),
            (sample::stuck(), "did not give its thread back"),
            (sample::doomed(), "is stricter"),
            (sample::sender(), "receipt"),
            (sample::own_metrics(), "sold_out"),
            (sample::compared(), "another source than in the baseline"),
            (sample::regressed(), "regressed against the baseline"),
            (sample::refused(), "the loads differ"),
            (sample::absent(), "the baseline has no run of this scenario"),
            (sample::graded_too_low(), "at least A asked for"),
        ] {
            assert!(render(&report).contains(says));
        }
    }

    #[test]
    fn what_was_kept_or_left_out_has_a_column_where_something_was() {
        let mut report = sample::failed();
        let html = render(&report);
        assert!(!html.contains(">Kept</th>") && !html.contains(">Left out</th>"));
        let step = &mut report.cards[0].steps[0];
        (step.kept, step.left_out) = (4_321, 1_234);
        let html = render(&report);
        assert!(html.contains(">Kept</th>") && html.contains(">Left out</th>"));
        for number in [4_321, 1_234] {
            assert!(html.contains(&format!(">{}</td>", view::count(number))));
        }
        let plain = crate::export::terminal::render(&report, 200, false);
        assert!(plain.contains("left out") && plain.contains("kept"));
        assert!(plain.contains(&view::count(4_321)));
    }

    #[test]
    fn requests_have_a_column_where_a_step_sent_more_than_one() {
        let mut report = sample::sender();
        let terminal = |report: &Report| crate::export::terminal::render(report, 200, false);
        for step in &mut report.cards[0].steps {
            step.retries = 0;
        }
        let before = render(&report);
        assert!(!before.contains(">Requests</th>"));
        let step = &mut report.cards[0].steps[0];
        (step.requests, step.retries) = (4_321, 2_000);
        let html = render(&report);
        assert!(html.contains(">Requests</th>"));
        assert!(html.contains(&format!(">{}</td>", view::count(4_321))));
        assert!(terminal(&report).contains(&view::count(4_321)));
    }

    #[test]
    fn several_scenarios_begin_with_a_summary() {
        let html = render(&sample::several());
        assert_eq!(html.matches("<article").count(), 3);
        assert!(html.contains("href=\"#scenario-3\""));
        assert!(!render(&sample::failed()).contains("href=\"#scenario-1\""));
    }

    #[test]
    fn what_did_not_run_is_in_the_summary_and_has_a_section() {
        for report in [sample::nothing_run(), sample::partly_run()] {
            let html = render(&report);
            assert_eq!(html.matches("DID NOT RUN").count(), 2);
            assert!(html.contains("setup failed: <code>SHOP_TOKEN</code> is not set"));
            assert_eq!(html.matches("<h1").count(), 1);
            assert!(html.contains("exit code 100"));
        }
    }

    #[test]
    fn five_minutes_of_ten_steps_stay_small() {
        let html = render(&sample::long());
        assert!(html.len() < 150_000, "{} bytes", html.len());
        // Sixty steps with long names take what their tables take.
        let html = render(&sample::huge());
        assert!(html.len() < 250_000, "{} bytes", html.len());
    }

    #[test]
    fn the_page_shows_the_digits_of_the_terminal() {
        for mut report in [sample::failed(), sample::doomed()] {
            // Halves of a microsecond are where roundings part.
            for ns in [82_500, 372_500, 9_994_500, 99_949_500] {
                let time = Some(Duration::from_nanos(ns));
                report.cards[0].headline.time.p50 = time;
                report.cards[0].steps[0].response.p95 = time;
                let words = view::duration(Duration::from_nanos(ns));
                let terminal = crate::export::terminal::render(&report, 200, false);
                assert_eq!(terminal.matches(&words).count(), 2, "{words}\n{terminal}");
                // One of them is in the table beside the spectrum too.
                assert_eq!(render(&report).matches(&words).count(), 3, "{words}");
            }
        }
    }

    #[test]
    fn headings_and_tables_are_there_for_those_who_listen() {
        let html = render(&sample::failed());
        assert!(html.starts_with("<!doctype html>\n<html lang=\"en\">"));
        assert_eq!(html.matches("<h1").count(), 1);
        assert_eq!(
            html.matches("<table").count(),
            html.matches("<caption").count()
        );
        assert_eq!(
            html.matches("<svg").count(),
            html.matches("role=\"img\"").count()
        );
        assert!(!html.contains("<th>"), "a header without scope");
        assert!(!html.contains("<h3"), "a level of headings is left out");
        let several = render(&sample::several());
        assert!(several.contains("<h3>") && several.contains("<h2"));
    }

    #[test]
    fn the_requests_of_a_step_that_sends_for_itself_stand_below_it() {
        let html = render(&sample::sender());
        assert_eq!(html.matches("<tr class=\"inner\">").count(), 2);
        let row = html
            .split("<th scope=\"row\">GET &#x2f;orders&#x2f;{}</th>")
            .nth(1);
        let row = row.and_then(|rest| rest.split("</tr>").next()).unwrap();
        for figure in ["200", "0 %", "100 ms", "190 ms", "198 ms"] {
            assert!(row.contains(figure), "{figure}: {row}");
        }
    }

    #[test]
    fn what_the_scenario_counted_and_timed_has_a_section_where_there_is_any() {
        let html = render(&sample::own_metrics());
        let row = |name: &str| {
            let rest = html.split(&format!("<th scope=\"row\">{name}</th>")).nth(1);
            let row = rest.and_then(|rest| rest.split("</tr>").next()).unwrap();
            row.replace("<td class=\"n\">", "").replace("</td>", "|")
        };
        assert_eq!(
            row("sold_out"),
            format!("{}|123&#x2f;s|", view::count(1_234))
        );
        assert_eq!(row("queued"), "100|50.0 ms|95.0 ms|99.0 ms|100 ms|");
        let without = render(&sample::failed());
        assert!(html.contains(OWN_METRICS) && !without.contains(OWN_METRICS));
        let mut report = sample::own_metrics();
        report.cards[0].timings.clear();
        assert!(!render(&report).contains("timed by itself"));
    }

    #[test]
    fn code_in_prose_is_marked_and_escaped() {
        assert_eq!(
            prose("of `a<b`: `x").to_string(),
            "of <code>a&lt;b</code>: `x"
        );
    }
}

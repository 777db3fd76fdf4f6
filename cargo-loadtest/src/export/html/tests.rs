use super::skeleton::{Piece, pieces};
use super::*;
use crate::export::sample;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

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
    assert_eq!(script(&html), CHART_SCRIPT, "nothing but our own script");
    assert!(!html.contains("<img"), "an element from outside");
    assert!(!html.contains("<evil"), "an element from outside");
    assert!(html.contains("&lt;img src=x onerror="));
    let (mut elements, mut attributes) = (0, 0);
    for piece in pieces(&html) {
        if let Piece::Tag { name, values, .. } = piece {
            elements += 1;
            let known = "!DOCTYPE html head meta title style body main header section article div p span h1 h2 h3 \
                ul ol li dl dt dd table caption thead tbody tr th td strong code pre br footer a figure figcaption \
                details summary nav svg g rect circle polyline polygon text script";
            assert!(known.split_whitespace().any(|one| one == name), "<{name}>");
            for (attribute, value) in values {
                attributes += 1;
                let known = "id class lang charset name content http-equiv href role scope tabindex colspan rowspan \
                    aria-label aria-labelledby aria-hidden open data-copy data-label data-from data-to data-at data-words \
                    xmlns viewBox x y rx cx cy r width height fill fill-opacity points stroke stroke-width \
                    stroke-linejoin stroke-linecap stroke-dasharray font-size text-anchor html";
                let is_known = known.split_whitespace().any(|one| one == attribute);
                assert!(is_known, "{attribute}=\"{value}\" of <{name}>");
                let is_said = ["aria-label", "content", "data-copy"].contains(&attribute);
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
            let hash = STANDARD.encode(digest(&SHA256, script(&html).as_bytes()));
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
        (sample::stuck(), "did not return its thread"),
        (sample::doomed(), "is stricter"),
        (sample::sender(), "receipt"),
        (sample::own_metrics(), "sold_out"),
        (sample::search("too much"), "CONFIRMED"),
        (sample::compared(), "its source differs from the baseline"),
        (sample::regressed(), "regressed against the baseline"),
        (sample::refused(), "the loads differ"),
        (sample::absent(), "the baseline has no run of this scenario"),
        (sample::graded_too_low(), "at least A required"),
    ] {
        assert!(render(&report).contains(says));
    }
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
    let html = render(&sample::several());
    assert!(
        html.len() < 160_000,
        "three scenarios: {} bytes",
        html.len()
    );
    // Sixty steps with long names take what their tables take.
    let html = render(&sample::huge());
    assert!(html.len() < 250_000, "{} bytes", html.len());
}

#[test]
fn accounts_are_folded_unless_something_in_them_is_wrong() {
    let folded = render(&sample::failed());
    assert!(folded.matches("<details").count() >= 4 && !folded.contains(" open>"));
    let invalid = render(&sample::invalid());
    let (_, rest) = invalid.split_once(" open><summary>").expect("one is open");
    assert!(
        rest.starts_with("<h2>Measurement INVALID</h2>"),
        "{}",
        &rest[..60]
    );
    assert_eq!(invalid.matches(" open>").count(), 1);
}

#[test]
fn every_section_can_be_reached_from_the_list_at_its_side() {
    let html = render(&sample::failed());
    let (_, rest) = html.split_once("<nav class=\"contents\"").expect("a list");
    let (list, _) = rest.split_once("</nav>").expect("its end");
    let links = list.split("href=\"#").skip(1);
    let anchors: Vec<_> = links.filter_map(|rest| rest.split('"').next()).collect();
    assert!(anchors.len() > 8, "{anchors:?}");
    for anchor in anchors {
        assert_eq!(
            html.matches(&format!("id=\"{anchor}\"")).count(),
            1,
            "{anchor}"
        );
    }
}

#[test]
fn style_and_script_of_all_pages_stay_small() {
    assert!(BASE_STYLE.len() <= 18_000, "{} bytes", BASE_STYLE.len());
    assert!(CHART_SCRIPT.len() <= 9_000, "{} bytes", CHART_SCRIPT.len());
}

#[test]
fn headings_and_tables_are_there_for_those_who_listen() {
    let html = render(&sample::failed());
    assert!(html.starts_with("<!DOCTYPE html><html lang=\"en\">"));
    assert_eq!(html.matches("<h1").count(), 1);
    assert!(!html.contains("aria-label=\"\""), "a region without a name");
    let regions = html.matches("role=\"region\" aria-label=\"").count();
    assert_eq!(html.matches("<table").count(), regions);
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
    let row = html.split("<th scope=\"row\">GET /orders/{}</th>").nth(1);
    let row = row.and_then(|rest| rest.split("</tr>").next()).unwrap();
    for figure in ["200", "0 %", "100 ms", "190 ms", "198 ms"] {
        assert!(row.contains(figure), "{figure}: {row}");
    }
}

#[test]
fn the_search_comes_first_and_the_trial_that_shows_it_follows() {
    let html = render(&sample::search("too much"));
    assert_eq!(html.matches("<h1").count(), 1);
    let sheets: Vec<&str> = html.split("<article").collect();
    let [_, search, card] = sheets[..] else {
        panic!("{} sheets", sheets.len() - 1);
    };
    assert!(search.contains("CONFIRMED") && search.contains("≥ 1\u{202f}280"));
    assert_eq!(search.matches("<tr>").count(), 6, "a head and five trials");
    assert!(search.contains("<th scope=\"col\" class=\"n\">login p99</th>"));
    assert!(card.contains("Steps") && !card.contains("<h1"));
    assert!(!html.contains("<th>"), "a header without scope");
}

#[test]
fn text_from_outside_cannot_break_out_of_a_search() {
    let html = render(&sample::search("</script><img src=x>\"'`<evil"));
    for element in ["<img", "<evil"] {
        assert!(!html.contains(element), "{element}");
    }
    assert_eq!(html.matches("script>").count(), 2, "but our own");
}

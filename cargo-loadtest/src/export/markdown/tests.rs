use super::text::{escape_code, escape_prose};
use super::*;
use crate::export::sample;

/// The reports that are kept whole. The end-to-end tests read them with GitHub's own parser.
const GOLDEN: [&str; 7] = [
    "compared",
    "empty",
    "failed",
    "hostile",
    "partly_run",
    "regressed",
    "search",
];

#[test]
fn golden_reports() {
    let mut found = 0;
    for (name, report) in sample::all() {
        if GOLDEN.contains(&name) {
            found += 1;
            insta::assert_snapshot!(format!("markdown_{name}"), render(&report));
        }
    }
    assert_eq!(found, GOLDEN.len());
}

#[test]
fn every_row_of_a_table_has_its_columns() {
    for (name, report) in sample::all() {
        let page = render(&report);
        let mut columns = None;
        for line in page.lines() {
            if !line.starts_with('|') {
                columns = None;
                continue;
            }
            let expected = *columns.get_or_insert_with(|| line.matches('|').count());
            assert_eq!(line.matches('|').count(), expected, "{name}: {line}");
        }
    }
}

#[test]
fn text_from_outside_is_code_or_does_nothing() {
    for (text, markdown) in [
        ("create_order", "`create_order`"),
        ("a`b", "<code>a&#96;b</code>"),
        ("a|b", "<code>a&#124;b</code>"),
        ("a\\", "<code>a&#92;</code>"),
        ("<b>@team</b>", "`<b>@team</b>`"),
        ("a\nb", "`a b`"),
        ("\u{202e}evil", "`\u{fffd}evil`"),
        (" ", ""),
    ] {
        assert_eq!(escape_code(text), markdown);
    }
    for (text, markdown) in [
        ("`a` failed: *b* _c_", "`a` failed: &#42;b&#42; &#95;c&#95;"),
        ("ask @team or see #12", "ask `@team` or see `#12`"),
        ("at https://evil.test/x", "at `https://evil.test/x`"),
        ("![x](//evil.test)", "`![x](//evil.test)`"),
        ("<img src=x>", "&#60;img src=x&#62;"),
        ("1. no list", "1&#46; no list"),
        ("- no list", "&#45; no list"),
        ("+ no list", "&#43; no list"),
        ("+31 % of it", "+31 % of it"),
        ("of deadbeef1", "of `deadbeef1`"),
        ("a `b", "a &#96;b"),
        ("1.3 % of 280/s, < 0.01 %", "1.3 % of 280/s, &#60; 0.01 %"),
    ] {
        assert_eq!(escape_prose(text), markdown);
    }
    assert_eq!(escape_code(&"x".repeat(1_000)).chars().count(), 303);
}

/// A run of many scenarios, of which every third failed.
fn many(scenarios: usize) -> Report {
    let mut report = sample::failed();
    let (bad, good) = (report.cards.remove(0), sample::passed().cards.remove(0));
    report.cards = (0..scenarios)
        .map(|at| {
            let mut card = if at % 3 == 0 {
                bad.clone()
            } else {
                good.clone()
            };
            card.name = format!("scenario_{at}");
            card
        })
        .collect();
    report
}

#[test]
fn a_page_stays_within_its_limit_and_says_what_is_missing() {
    assert!(!render(&sample::huge()).contains("Shortened, to stay"));
    let report = many(240);
    let page = render(&report);
    assert!(page.len() <= LIMIT, "{}", page.len());
    assert!(page.contains("**Shortened, to stay within 1.0 MB.**"));
    assert!(page.starts_with("## ❌ 160 of 240 scenarios passed\n"));
    assert!(page.contains("**Steps**") && !page.contains("<details>"));
}

#[test]
fn what_stands_last_goes_first() {
    let report = many(6);
    let whole = render_within(&report, usize::MAX);
    for limit in [whole.len(), whole.len() / 2, 2_000, 1_000] {
        let page = render_within(&report, limit);
        assert!(page.len() <= limit, "{} of {limit}", page.len());
        let is_whole = limit == whole.len();
        assert_eq!(page.contains("Shortened, to stay"), !is_whole, "{limit}");
        assert_eq!(page.contains("<details>"), is_whole, "{limit}");
        assert!(page.contains("2 of 6") || page.contains("4 of 6"), "{page}");
        assert!(page.trim_end().ends_with("</sub>"), "{page}");
    }
}

#[test]
fn the_figures_are_those_of_the_terminal() {
    let report = sample::failed();
    let page = render(&report);
    let card = &report.cards[0];
    for words in [
        display::format_duration(card.headline.time.p95.unwrap()),
        display::format_percent(card.headline.error_rate.unwrap()),
        display::format_percent(card.bottleneck.as_ref().unwrap().share),
    ] {
        assert!(page.contains(&words), "{words}");
    }
    assert!(
        page.contains(&format!("## ❌ FAILED: `{}`", card.name)),
        "{page}"
    );
    for reason in &card.reasons {
        assert!(page.contains(&escape_prose(&reason.words)), "{reason}");
    }
}

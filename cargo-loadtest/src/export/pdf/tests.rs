//! Of the document as a whole; what readers make of it is tested with a reader, end to end.

use super::*;
use crate::export::labels::NOT_RUN;
use crate::export::sample;
use loadtest_model::display;
use std::sync::LazyLock;

/// Text that would break out of wherever something stands in a PDF file.
const EVIL: &str = ") Tj ET endstream endobj %\\(<<>>[]/Name \u{202e}x\u{7} `a";

fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("passed", sample::passed()),
        ("failed", sample::failed()),
        ("long", sample::long()),
        ("huge", sample::huge()),
        ("interrupted", sample::interrupted()),
        ("invalid", sample::invalid()),
        ("empty", sample::empty()),
        ("single", sample::single()),
        ("hostile", sample::hostile(EVIL)),
        ("several", sample::several()),
        ("sender", sample::sender()),
        ("own_metrics", sample::own_metrics()),
        ("stuck", sample::stuck()),
        ("doomed", sample::doomed()),
        ("partly_run", sample::partly_run()),
        ("nothing_run", sample::nothing_run()),
        ("compared", sample::compared()),
        ("kept", sample::kept()),
        ("regressed", sample::regressed()),
        ("refused", sample::refused()),
        ("absent", sample::absent()),
        ("graded_too_low", sample::graded_too_low()),
        ("search", sample::search(EVIL)),
    ]
}

/// A report by its name, with what is on each of its pages.
type LaidOut = (&'static str, Report, Vec<Vec<PdfItem>>);

/// All reports with their pages, which are laid out once for all tests.
fn laid_out() -> &'static [LaidOut] {
    static MADE: LazyLock<Vec<LaidOut>> = LazyLock::new(|| {
        let fonts = Fonts::new(&[]);
        let reports = all().into_iter();
        let with_pages = |(name, report)| {
            let (pages, _) = lay_out(&Page::new(&report), &fonts);
            (name, report, pages)
        };
        reports.map(with_pages).collect()
    });
    &MADE
}

/// What is written on each page, as it is drawn: a line for each piece.
fn pages(report: &Report, more: &[Font]) -> Vec<String> {
    let fonts = Fonts::new(more);
    texts(&lay_out(&Page::new(report), &fonts).0)
}

fn texts(pages: &[Vec<PdfItem>]) -> Vec<String> {
    let text = |item: &PdfItem| match item {
        PdfItem::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    pages
        .iter()
        .map(|page| page.iter().filter_map(text).collect::<Vec<_>>().join("\n"))
        .collect()
}

fn mono() -> Font {
    static MADE: LazyLock<Font> =
        LazyLock::new(|| Font::parse("Mono", dejavu::sans_mono::regular()).unwrap());
    MADE.clone()
}

#[test]
fn every_kind_of_card_renders_and_stays_small() {
    for (name, report, pages) in laid_out() {
        let file = render(report, &[]);
        assert!(file.starts_with(b"%PDF-1.7\n") && file.trim_ascii_end().ends_with(b"%%EOF"));
        assert!(file.len() < 300_000, "{name}: {} bytes", file.len());
        let text = texts(pages).concat();
        let verdicts = report.cards.iter().map(|card| card.verdict.name());
        for verdict in verdicts.chain(report.not_run.iter().map(|_| NOT_RUN)) {
            assert!(text.contains(verdict), "{name}: {verdict}");
        }
    }
}

#[test]
fn the_same_record_gives_the_same_bytes() {
    for report in [sample::failed(), sample::several()] {
        let first = render(&report, &[mono()]);
        let between = render(&sample::huge(), &[]);
        assert!(first == render(&report, &[mono()]) && first != between);
    }
}

#[test]
fn nothing_leaves_the_page_and_the_foot_is_free() {
    let fonts = Fonts::new(&[]);
    for (name, _, pages) in laid_out() {
        for (number, page) in pages.iter().enumerate() {
            for item in page {
                let PdfItem::Text {
                    at,
                    text,
                    face,
                    size,
                    ..
                } = item
                else {
                    continue;
                };
                let width = text
                    .chars()
                    .map(|letter| fonts.width(*face, letter))
                    .sum::<f64>()
                    * size;
                let foot = at.1 > 786.0;
                let in_foot = ["loadtest", "page", "\\u{..}"]
                    .iter()
                    .any(|word| text.contains(word));
                assert!(
                    at.0 >= 30.0 && at.0 + width <= flow::PAGE.0 - 36.0,
                    "{name}: {text:?}"
                );
                assert!(
                    !foot || in_foot || *name == "hostile",
                    "{name}, page {number}: {text:?}"
                );
            }
        }
    }
}

#[test]
fn the_sections_come_in_the_order_of_the_page() {
    let fonts = Fonts::new(&[]);
    let (_, marks) = lay_out(&Page::new(&sample::failed()), &fonts);
    let titles: Vec<&str> = marks.iter().map(|mark| &*mark.title).collect();
    insta::assert_debug_snapshot!(titles);
    let places: Vec<_> = marks.iter().map(|mark| (mark.page, mark.y)).collect();
    assert!(places.is_sorted());
}

#[test]
fn golden_reports() {
    for (name, report) in [
        ("failed", sample::failed()),
        ("streamed", sample::streamed()),
        ("hostile", sample::hostile(EVIL)),
    ] {
        let text = pages(&report, &[]).join("\n----- page -----\n");
        insta::assert_snapshot!(format!("pdf_{name}"), text);
    }
}

#[test]
fn several_scenarios_begin_with_a_summary_and_each_has_its_page() {
    let fonts = Fonts::new(&[]);
    let (pages, marks) = lay_out(&Page::new(&sample::several()), &fonts);
    let scenarios: Vec<_> = marks.iter().filter(|mark| mark.level == 0).collect();
    assert_eq!(scenarios.len(), 4);
    assert!(scenarios[1..].iter().all(|mark| mark.y < 50.0));
    assert!(scenarios.windows(2).all(|pair| pair[0].page < pair[1].page) && pages.len() > 4);
}

#[test]
fn the_document_shows_the_digits_of_the_page() {
    let report = sample::failed();
    let text = pages(&report, &[]).concat();
    let head = &report.cards[0].headline;
    for time in [head.time.p50, head.time.p95, head.time.p99] {
        assert!(text.contains(&display::format_duration(time.unwrap())));
    }
    for step in &report.cards[0].steps {
        assert!(text.contains(&display::format_duration(step.response.p99.unwrap())));
        assert!(text.contains(&display::format_count(step.executed)));
    }
    for says in [
        "bottleneck",
        "✗ broken",
        "The accounts balance",
        "\"overloaded\"",
    ] {
        assert!(text.contains(says), "{says}");
    }
}

#[test]
fn what_no_font_has_is_escaped_and_the_foot_says_what_to_do() {
    let report = sample::huge();
    let text = pages(&report, &[]);
    assert!(text[0].contains("\\u{8CFC}") && text[0].contains("--pdf-font"));
    assert!(!pages(&sample::failed(), &[]).concat().contains("\\u{"));
}

#[test]
fn a_font_that_is_given_shows_what_the_bundled_one_lacks() {
    let mut report = sample::passed();
    report.cards[0].name = "look ⍟ up".to_owned();
    assert!(pages(&report, &[]).concat().contains("\\u{235F}"));
    let with = pages(&report, &[mono()]).concat();
    assert!(with.contains('⍟') && !with.contains("\\u{"), "{with}");
    assert!(render(&report, &[mono()]).len() < 300_000);
}

use super::*;
use crate::export::sample;
use loadtest_model::redacted::Redacted;

/// A page without what differs from machine to machine; the samples have none of that.
fn page(report: &Report, width: usize) -> String {
    render(report, width, false, Extent::Full)
}

/// The card as it is printed by default.
fn short(report: &Report, width: usize) -> String {
    render(report, width, false, Extent::Short)
}

#[test]
fn the_short_card_has_the_verdict_steps_bottleneck_and_errors() {
    let card = short(&sample::failed(), 100);
    insta::assert_snapshot!("short_failed", card);
    let card = short(&sample::passed(), 80);
    insta::assert_snapshot!("short_passed", card);
    assert!(card.lines().count() <= 34, "{card}");
}

#[test]
fn the_short_card_of_a_comparison_or_search_has_its_figures() {
    insta::assert_snapshot!("short_compared", short(&sample::compared(), 80));
    insta::assert_snapshot!("short_search", short(&sample::search("too much"), 80));
}

#[test]
fn the_short_card_tells_why_a_measurement_is_not_valid() {
    let card = short(&sample::invalid(), 80);
    let cause = "the generator fell behind";
    assert_eq!(card.matches(cause).count(), 1, "{card}");
    assert!(card.contains("→ "), "{card}");
    assert!(!short(&sample::passed(), 80).contains("Measurement"));
}

#[test]
fn streams_have_figures_of_their_own() {
    insta::assert_snapshot!("short_streamed", short(&sample::streamed(), 80));
    insta::assert_snapshot!("narrow_streamed", page(&sample::streamed(), 60));
}

#[test]
fn a_failed_run_says_why_before_anything_else() {
    insta::assert_snapshot!(page(&sample::failed(), 100));
}

#[test]
fn sixty_steps_with_long_names_in_several_scripts_stay_within_the_width() {
    insta::assert_snapshot!(page(&sample::huge(), 80));
}

#[test]
fn a_narrow_terminal_loses_no_figure() {
    insta::assert_snapshot!(page(&sample::failed(), 60));
}

#[test]
fn a_single_request_shows_outcomes_by_status() {
    insta::assert_snapshot!(page(&sample::single(), 80));
}

#[test]
fn what_regressed_is_a_reason_and_has_its_figures_beside_those_of_the_baseline() {
    insta::assert_snapshot!("compared", page(&sample::compared(), 80));
}

#[test]
fn the_least_grade_stands_beside_the_grade() {
    let narrow = page(&sample::graded_too_low(), 44);
    let lines: Vec<&str> = narrow.lines().skip(1).take(2).map(str::trim).collect();
    assert!(
        lines[0].ends_with("  B") && lines[1].ends_with(", at least A required"),
        "{narrow}"
    );
}

#[test]
fn a_search_shows_the_rate_what_broke_and_every_trial() {
    insta::assert_snapshot!(page(&sample::search("too much"), 80));
}

#[test]
fn the_requests_of_a_step_that_sends_for_itself_stand_below_it() {
    let page = page(&sample::sender(), 100);
    let row = |name: &str| {
        let mut lines = page.lines().map(str::trim);
        lines.find(|line| line.starts_with(name)).unwrap()
    };
    let words: Vec<&str> = row("GET /orders/{}").split_whitespace().collect();
    assert_eq!(
        words,
        [
            "GET",
            "/orders/{}",
            "B-",
            "200",
            "0",
            "%",
            "100",
            "ms",
            "190",
            "ms",
            "198",
            "ms"
        ]
    );
    assert!(row("receipt").contains("66.7 %"), "{}", row("receipt"));
    let (above, below) = page.split_once("GET /orders/{}  B-").unwrap();
    assert!(
        above.rfind("get_order") > above.rfind("create_order"),
        "{page}"
    );
    assert!(below.contains("receipt"), "{page}");
}

#[test]
fn what_did_not_run_is_as_plain_as_a_failed_card() {
    insta::assert_snapshot!(page(&sample::nothing_run(), 80));
    let both = page(&sample::partly_run(), 80);
    assert_eq!(both.matches("DID NOT RUN").count(), 2, "{both}");
    assert!(both.ends_with("exit code 100\n"), "{both}");
}

#[test]
fn a_long_example_is_cut_after_some_lines() {
    let mut report = sample::failed();
    report.cards[0].errors[0].example = Redacted::assume("what the server said ".repeat(80));
    let page = page(&report, 80);
    let lines = page.lines().filter(|line| line.contains("what the"));
    assert_eq!(lines.count(), 4, "{page}");
    assert!(page.contains("said …\n"), "{page}");
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let long = "注文".repeat(60);
    for report in [
        sample::failed(),
        sample::passed(),
        sample::streamed(),
        sample::single(),
        sample::empty(),
        sample::several(),
        sample::partly_run(),
        sample::compared(),
        sample::refused(),
        sample::graded_too_low(),
        sample::hostile(&long),
        sample::hostile(&"x".repeat(200)),
    ] {
        for limit in [20, 40, 60, 80, 120, 300] {
            for extent in [Extent::Short, Extent::Full] {
                for line in render(&report, limit, false, extent).lines() {
                    assert!(width(line) <= limit, "{} > {limit}: {line}", width(line));
                }
            }
        }
    }
}

#[test]
fn colour_changes_no_letter() {
    let report = sample::failed();
    let coloured = render(&report, 100, true, Extent::Full);
    assert!(coloured.contains("\x1b["));
    let mut bare = String::new();
    let mut within = false;
    for letter in coloured.chars() {
        match letter {
            '\x1b' => within = true,
            'm' if within => within = false,
            _ if within => {}
            _ => bare.push(letter),
        }
    }
    assert_eq!(bare, page(&report, 100));
}

#[test]
fn text_from_outside_cannot_drive_the_terminal() {
    let page = page(&sample::hostile("\x1b]0;owned\x07\u{9b}31m"), 80);
    assert!(!page.contains(['\x1b', '\x07', '\u{9b}']));
}

use super::*;
use crate::export::facts::OWN_METRICS;
use crate::export::sample;

/// A page without what differs from machine to machine; the samples have none of that.
fn page(report: &Report, width: usize) -> String {
    render(report, width, false)
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
fn a_passed_run_is_calm() {
    insta::assert_snapshot!(page(&sample::passed(), 80));
}

#[test]
fn a_narrow_terminal_loses_no_figure() {
    insta::assert_snapshot!(page(&sample::failed(), 60));
}

#[test]
fn an_interrupted_run_has_a_partial_grade() {
    insta::assert_snapshot!(page(&sample::interrupted(), 80));
}

#[test]
fn an_empty_run_says_so() {
    insta::assert_snapshot!(page(&sample::empty(), 80));
}

#[test]
fn an_invalid_run_has_no_grade_but_remedies() {
    insta::assert_snapshot!(page(&sample::invalid(), 80));
}

#[test]
fn a_single_request_shows_outcomes_by_status() {
    insta::assert_snapshot!(page(&sample::single(), 80));
}

#[test]
fn a_blocked_worker_is_named_before_anything_else() {
    insta::assert_snapshot!(page(&sample::stuck(), 80));
}

#[test]
fn what_regressed_is_a_reason_and_has_its_figures_beside_those_of_the_baseline() {
    insta::assert_snapshot!("regressed", page(&sample::regressed(), 80));
    insta::assert_snapshot!("compared", page(&sample::compared(), 80));
    insta::assert_snapshot!("compared_wide", page(&sample::compared(), 120));
    insta::assert_snapshot!("kept", page(&sample::kept(), 80));
}

#[test]
fn what_is_not_compared_says_why() {
    insta::assert_snapshot!("refused", page(&sample::refused(), 80));
    insta::assert_snapshot!("absent", page(&sample::absent(), 80));
}

#[test]
fn the_least_grade_stands_beside_the_grade() {
    insta::assert_snapshot!("graded_too_low", page(&sample::graded_too_low(), 80));
    let narrow = page(&sample::graded_too_low(), 44);
    let lines: Vec<&str> = narrow.lines().skip(1).take(2).map(str::trim).collect();
    assert!(
        lines[0].contains("  B  0.8") && lines[1] == "at least A asked for",
        "{narrow}"
    );
}

#[test]
fn what_belongs_beside_the_verdict_stands_below_its_reasons() {
    insta::assert_snapshot!(page(&sample::doomed(), 80));
}

#[test]
fn a_search_shows_the_rate_what_broke_and_every_trial() {
    insta::assert_snapshot!(page(&sample::search("too much"), 80));
}

#[test]
fn what_the_scenario_counted_and_timed_has_a_section() {
    insta::assert_snapshot!(page(&sample::own_metrics(), 80));
    let narrow = page(&sample::own_metrics(), 40);
    assert!(narrow.contains("sold_out") && narrow.contains("queued"));
    assert!(!page(&sample::failed(), 100).contains(OWN_METRICS));
}

#[test]
fn the_requests_of_a_step_that_sends_for_itself_stand_below_it() {
    let page = page(&sample::sender(), 100);
    let row = |name: &str| page.lines().find(|line| line.contains(name)).unwrap();
    let words: Vec<&str> = row("GET /orders/{}").split_whitespace().collect();
    assert_eq!(
        words,
        [
            "GET",
            "/orders/{}",
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
    let (above, below) = page.split_once("GET /orders/{}").unwrap();
    assert!(
        above.rfind("get_order") > above.rfind("create_order"),
        "{page}"
    );
    assert!(below.contains("receipt"), "{page}");
}

#[test]
fn a_weight_outside_its_interval_is_marked() {
    let mut report = sample::failed();
    assert!(!page(&report, 100).contains("(outside)"));
    report.cards[0].weights[0].plausible = false;
    assert!(page(&report, 100).contains("78.9 % – 80.5 % (outside)"));
}

#[test]
fn a_declared_version_is_called_one() {
    let mut report = sample::failed();
    assert!(page(&report, 100).contains("fingerprint  9c1d5a20b7e4\n"));
    let version = "spring-sale-2026".to_owned();
    report.cards[0].setting.version = Some(version);
    let page = page(&report, 100);
    assert!(
        page.contains("version      spring-sale-2026 (9c1d5a20b7e4)\n"),
        "{page}"
    );
    assert!(!page.contains("fingerprint"), "{page}");
}

#[test]
fn a_step_that_keeps_nothing_says_nothing_of_it() {
    let mut report = sample::passed();
    for step in &mut report.cards[0].steps {
        // What is skipped has a ledger, and with it what is kept.
        step.skipped = 0;
    }
    report.cards[0].steps[0].kept = 199;
    let words = page(&report, 60);
    assert!(
        words.contains("kept 199") && !words.contains("kept 0"),
        "{words}"
    );
    let row = |page: &str, name: &str| {
        let line = page
            .lines()
            .find(|line| line.starts_with(&format!("  {name} ")));
        line.unwrap().split_whitespace().count()
    };
    let wide = page(&report, 200);
    assert_eq!(row(&wide, "login"), row(&wide, "get_order") + 1, "{wide}");
}

#[test]
fn the_ledger_is_there_where_steps_were_kept_from_running_or_cut_off() {
    let mut report = sample::passed();
    for step in &mut report.cards[0].steps {
        step.skipped = 0;
    }
    let calm = page(&report, 80);
    assert!(!calm.contains("Dependency ledger"), "{calm}");
    assert!(calm.contains("not drawn 1\u{202f}975"), "{calm}");
    let step = &mut report.cards[0].steps[0];
    (step.cancelled, step.planned) = (7, step.planned + 7);
    let cut = page(&report, 80);
    let lines: Vec<&str> = cut
        .lines()
        .skip_while(|line| !line.contains("Dependency ledger"))
        .take(5)
        .map(str::trim)
        .collect();
    assert_eq!(
        lines[1..],
        [
            "step          planned  executed  failed  not drawn  cut off",
            "login          10\u{202f}007    10\u{202f}000       0                   7",
            "add_to_cart    10\u{202f}000     8\u{202f}025       0      1\u{202f}975",
            "create_order   10\u{202f}000    10\u{202f}000       6",
        ],
        "{cut}"
    );
}

#[test]
fn the_slowest_journey_names_what_took_long_and_can_be_run_again() {
    let mut report = sample::passed();
    let card = &mut report.cards[0];
    let journey = &mut card.slowest[0];
    (journey.delay_us, journey.time_us, journey.ok) = (300_000, 900_000, false);
    for (step, ms) in journey.steps.iter_mut().zip([20, 10, 30, 400, 40]) {
        step.time_us = ms * 1_000;
    }
    journey.steps[3].ok = false;
    let number = journey.number.clone();
    let page = page(&report, 132);
    let words = format!(
        "Slowest    iteration {number} took 900 ms, failed: 300 ms late, `create_order` 400 ms (failed), 4 other \
         steps 100 ms."
    );
    let again =
        format!("cargo loadtest debug shop::load::checkout_flow --seed 1729 --iteration {number}");
    assert!(page.contains(&words) && page.contains(&again), "{page}");
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
    report.cards[0].errors[0].example = "what the server said ".repeat(80);
    let page = page(&report, 80);
    let lines = page.lines().filter(|line| line.contains("what the"));
    assert_eq!(lines.count(), 4, "{page}");
    assert!(page.contains("said wha…\n"), "{page}");
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let long = "注文".repeat(60);
    for report in [
        sample::failed(),
        sample::passed(),
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
            for line in render(&report, limit, false).lines() {
                assert!(width(line) <= limit, "{} > {limit}: {line}", width(line));
            }
        }
    }
}

#[test]
fn colour_changes_no_letter() {
    let report = sample::failed();
    let coloured = render(&report, 100, true);
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

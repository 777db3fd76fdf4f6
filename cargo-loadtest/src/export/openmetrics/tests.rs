use super::*;
use crate::export::sample;
use loadtest_model::metrics::MessageCounts;
use std::collections::HashSet;

#[test]
fn golden_reports() {
    for (name, report) in sample::golden()
        .into_iter()
        .chain([("huge", sample::huge())])
    {
        insta::assert_snapshot!(format!("openmetrics_{name}"), render(&report));
    }
}

/// What ends a sample's name, by the type of its family.
fn suffixes(kind: &str) -> &'static [&'static str] {
    match kind {
        "counter" => &["_total"],
        "info" => &["_info"],
        "summary" => &["", "_count", "_sum"],
        _ => &[""],
    }
}

#[test]
fn every_sample_belongs_to_the_family_above_it_and_stands_once() {
    for (name, report) in sample::all() {
        let text = render(&report);
        let (mut families, mut samples) = (HashSet::new(), HashSet::new());
        let (mut family, mut kind) = ("", "");
        assert!(text.ends_with("# EOF\n"), "{name}");
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                (family, kind) = rest.split_once(' ').unwrap();
                assert!(families.insert(family), "{name}: {family} twice");
            } else if !line.starts_with("# ") {
                let (sample, value) = line.rsplit_once(' ').unwrap();
                assert!(value.parse::<f64>().unwrap().is_finite(), "{name}: {line}");
                assert!(samples.insert(sample), "{name}: {sample} twice");
                let metric = sample.split('{').next().unwrap();
                let suffix = metric.strip_prefix(family).unwrap();
                assert!(
                    suffixes(kind).contains(&suffix),
                    "{name}: {line} in {family}"
                );
            }
        }
    }
}

#[test]
fn every_family_is_described() {
    let page = include_str!("../../../../docs/reports.md");
    for (name, report) in sample::all() {
        for line in render(&report).lines() {
            let family = line
                .strip_prefix("# TYPE ")
                .and_then(|rest| rest.split_once(' '));
            let Some((family, _)) = family else { continue };
            assert!(page.contains(&format!("`{family}`")), "{name}: {family}");
        }
    }
}

#[test]
fn seconds_and_counts_are_those_of_the_card() {
    let report = sample::failed();
    let card = &report.cards[0];
    let text = render(&report);
    let p95 = card.steps[0].response.p95.unwrap();
    let p95 = crate::export::labels::round_to_micros(p95) as f64 / 1e6;
    for line in [
        "loadtest_exit_code 99".to_owned(),
        "loadtest_passed{scenario=\"shop::load::checkout_flow\"} 0".to_owned(),
        format!(
            "loadtest_step_response_time_seconds{{scenario=\"shop::load::checkout_flow\",step=\"login\",quantile=\"0.95\"}} {p95}"
        ),
        format!(
            "loadtest_step_executions_total{{scenario=\"shop::load::checkout_flow\",step=\"login\",result=\"failed\"}} {}",
            card.steps[0].failed
        ),
        format!(
            "loadtest_errors_total{{scenario=\"shop::load::checkout_flow\",step=\"login\",kind=\"status\",status=\"503\"}} {}",
            card.steps[0].failed
        ),
    ] {
        assert!(text.lines().any(|there| there == line), "{line}\n{text}");
    }
}

#[test]
fn what_did_not_run_did_not_pass_and_a_search_passes_by_itself() {
    let text = render(&sample::partly_run());
    assert!(text.contains("loadtest_passed{scenario=\"shop::load::ping\"} 1"));
    assert!(text.contains("loadtest_passed{scenario=\"shop::load::pay\"} 0"));
    let mut search = sample::search("journey");
    search.cards[0].verdict = loadtest_model::card::Verdict::Failed;
    assert!(render(&search).contains("} 1280\n"), "{}", render(&search));
    assert!(render(&search).contains("\"} 1\n# TYPE loadtest_validity"));
}

#[test]
fn what_keeps_a_run_from_passing_can_be_asked_for() {
    let lines = |report: &Report, wanted: &[&str]| {
        let text = render(report);
        for line in wanted {
            assert!(text.lines().any(|there| there == *line), "{line}\n{text}");
        }
    };
    let scenario = "scenario=\"shop::load::checkout_flow\"";
    let of_order = format!("{{{scenario},baseline=\"main\",step=\"create_order\",figure=\"p95\"}}");
    lines(
        &sample::regressed(),
        &[
            &format!("loadtest_reasons{{{scenario},kind=\"regression\"}} 4"),
            &format!("loadtest_compared{{{scenario},baseline=\"main\"}} 1"),
            &format!("loadtest_regressed{of_order} 1"),
            &format!("loadtest_change_ratio{of_order} 0.29"),
        ],
    );
    lines(
        &sample::refused(),
        &[
            &format!("loadtest_reasons{{{scenario},kind=\"not_compared\"}} 2"),
            &format!("loadtest_compared{{{scenario},baseline=\"main\"}} 0"),
        ],
    );
    lines(
        &sample::graded_too_low(),
        &[&format!(
            "loadtest_min_grade_passed{{{scenario},min_grade=\"A\"}} 0"
        )],
    );
    assert!(!render(&sample::passed()).contains("loadtest_compared"));
}

#[test]
fn labels_are_escaped() {
    let mut report = sample::single();
    report.cards[0].steps[0].name = "a\\b\"c\nd".to_owned();
    assert!(render(&report).contains(r#"step="a\\b\"c d""#));
}

#[test]
fn the_messages_of_grpc_calls_are_counted_by_direction() {
    let mut report = sample::sender();
    assert!(!render(&report).contains("loadtest_call_messages"));
    let row = &mut report.cards[0].steps[4].inner[0];
    "shop.Cart/Add".clone_into(&mut row.name);
    row.messages = Some(MessageCounts {
        sent: 1_204,
        received: 1_200,
    });
    let text = render(&report);
    let found: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("loadtest_call_messages_total{"))
        .map(|line| line.split_once("request=").expect("a request").1)
        .collect();
    assert_eq!(
        found,
        [
            "\"shop.Cart/Add\",direction=\"sent\"} 1204",
            "\"shop.Cart/Add\",direction=\"received\"} 1200",
        ]
    );
}

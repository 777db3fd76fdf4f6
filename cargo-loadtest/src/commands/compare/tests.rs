use super::*;
use loadtest_model::comparison::{
    Change, Compared as Found, Comparison, Figure, Margin, Refusal, Skipped, Subject,
};
use loadtest_model::exit_code::ExitCode;

fn found(figure: Figure, base: f64, new: f64, change: f64, verdict: Change) -> Found {
    let around = match figure {
        Figure::Errors => 0.002,
        _ => 0.09,
    };
    Found {
        figure,
        base,
        new,
        change,
        interval: (change - around, change + around),
        detectable: 0.1223,
        verdict,
        needs: None,
    }
}

fn compared() -> RunComparison {
    let subject = |step: Option<&str>, skipped, figures| Subject {
        step: step.map(str::to_owned),
        skipped,
        figures,
    };
    let steady = |scale: f64| {
        vec![
            found(
                Figure::P50,
                80e3 * scale,
                81e3 * scale,
                0.0125,
                Change::Unchanged,
            ),
            found(
                Figure::P95,
                218e3 * scale,
                220e3 * scale,
                0.009,
                Change::Unchanged,
            ),
            Found {
                needs: Some(1_000),
                ..found(
                    Figure::P99,
                    301e3 * scale,
                    330e3 * scale,
                    0.096,
                    Change::Inconclusive,
                )
            },
            found(Figure::Errors, 0.0, 0.0012, 0.0012, Change::Unchanged),
            found(Figure::Rps, 200.0, 199.0, -0.005, Change::Unchanged),
        ]
    };
    let mut slower = steady(1.0);
    slower[1] = found(Figure::P95, 218e3, 268e3, 0.23, Change::Regressed);
    slower[0] = found(Figure::P50, 80e3, 60e3, -0.25, Change::Improved);
    let comparison = Comparison {
        scenario: "shop::load::checkout".to_owned(),
        base: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
        new: "20261121-143005-k3f9".to_owned(),
        margin: Margin::for_runs(3),
        is_closed: false,
        subjects: vec![
            subject(None, Some(Skipped::Changed), Vec::new()),
            subject(Some("create_order"), None, slower),
            subject(
                Some("list_every_product_of_the_catalogue"),
                None,
                steady(0.1),
            ),
            subject(Some("pay\u{1b}[31m"), Some(Skipped::Changed), Vec::new()),
            subject(Some("old"), Some(Skipped::Removed), Vec::new()),
        ],
        observed: Vec::new(),
    };
    let refusals = vec![
        Refusal::TooShort {
            run_id: "20261121-143005-k3f9".to_owned(),
            steady_us: 12_000_000,
        },
        Refusal::Load {
            base: "200/s for 5 min (open model)".to_owned(),
            new: "50/s for 5 min (open model)".to_owned(),
        },
    ];
    RunComparison {
        base: "main".to_owned(),
        is_baseline: true,
        new: "20261121-143005-k3f9".to_owned(),
        scenarios: vec![
            (
                "shop::load::checkout".to_owned(),
                ComparisonOutcome::Compared(comparison),
            ),
            (
                "shop::load::browse".to_owned(),
                ComparisonOutcome::Refused { refusals },
            ),
            ("shop::load::visit".to_owned(), ComparisonOutcome::Absent),
        ],
        missing: vec!["shop::load::gone".to_owned()],
    }
}

#[test]
fn people_read_what_regressed_and_what_was_not_compared() {
    for columns in [80, 50] {
        let text = compared().words(columns, false);
        assert!(
            text.lines()
                .all(|line| unicode_width::UnicodeWidthStr::width(line) <= columns)
        );
        insta::assert_snapshot!(format!("people_{columns}"), text);
    }
}

#[test]
fn programs_read_the_same() {
    let text = data::render(&compared()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["exit_code"], 99);
    assert_eq!(value["base"]["kind"], "baseline");
    let first = &value["scenarios"][0];
    assert_eq!(first["outcome"], "compared");
    assert_eq!(first["regressions"].as_array().unwrap().len(), 1);
    assert_eq!(first["subjects"][1]["figures"][1]["verdict"], "regressed");
    assert_eq!(first["subjects"][2]["figures"][2]["needs"], 1_000);
    let refused = &value["scenarios"][1];
    assert_eq!(refused["refusals"][0]["kind"], "too_short");
    assert!(
        refused["reasons"][0]["help"]
            .as_str()
            .unwrap()
            .contains("--duration")
    );
}

#[test]
fn the_exit_code_says_whether_something_regressed_or_nothing_was_compared() {
    let mut all = compared();
    assert_eq!(all.exit_code(), ExitCode::GateFailed);
    let ComparisonOutcome::Compared(comparison) = &mut all.scenarios[0].1 else {
        unreachable!()
    };
    comparison.subjects[1].figures[1].verdict = Change::Inconclusive;
    assert_eq!(all.exit_code(), ExitCode::Passed);
    all.scenarios.remove(0);
    assert_eq!(all.exit_code(), ExitCode::Usage);
}

//! Every record that a released version wrote is read and graded as it was then.

use flate2::read::GzDecoder;
use loadtest_model::card::{Report, Trust};
use loadtest_model::comparison::{Change, Comparison, Figure, Side};
use loadtest_model::display;
use loadtest_model::record::RunRecord;
use std::path::PathBuf;

const ALL: [&str; 5] = [
    "passed.json",
    "failed.json",
    "interrupted.json",
    "capacity.json",
    "invalid.json",
];

fn read(name: &str) -> RunRecord {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/records/v1");
    let text = std::fs::read(path.join(name)).expect(name);
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn records_of_version_1_have_the_grades_and_verdicts_they_had() {
    let seen = ALL.map(|name| {
        let record = read(name);
        assert_eq!(record.schema_version, 1, "{name}");
        let report = Report::grade(&record, None);
        let [card] = report.cards.as_slice() else {
            panic!("{name}: {} cards", report.cards.len());
        };
        assert_eq!(card.accounts.balanced, Some(true), "{name}");
        format!(
            "{name}: {} {} {}, {} started, p95 {}, {} dependency failures, exit code {}",
            card.verdict.name(),
            card.grade.label(),
            card.grade
                .score
                .map(display::format_score)
                .unwrap_or_default(),
            card.accounts.started,
            card.headline
                .time
                .p95
                .map(display::format_duration)
                .unwrap_or_default(),
            card.headline.dependency_failures,
            report.exit_code(),
        )
    });
    assert_eq!(
        seen,
        [
            "passed.json: PASSED A+* 1.000, 50 started, p95 8.84 ms, 0 dependency failures, exit code 0",
            "failed.json: FAILED F* 0.499, 105 started, p95 8.20 ms, 50 dependency failures, exit code 99",
            "interrupted.json: INTERRUPTED A+* 1.000, 40 started, p95 28.9 ms, 0 dependency failures, exit code 105",
            "capacity.json: PASSED A+ 1.000, 428 started, p95 4.30 ms, 0 dependency failures, exit code 0",
            "invalid.json: INVALID – , 50 started, p95 50.0 ms, 0 dependency failures, exit code 102",
        ]
    );
}

#[test]
fn a_record_of_version_1_is_the_same_when_it_is_written_again() {
    for name in ALL {
        let record = read(name);
        let written = serde_json::to_vec(&record).expect(name);
        let again: RunRecord = serde_json::from_slice(&written).expect(name);
        assert_eq!(again, record, "{name}");
    }
}

#[test]
fn a_run_in_a_baseline_of_version_1_is_compared_as_it_was() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/records/baseline-v1");
    let packed = std::fs::read(folder.join("20261126-140005-abcd.json.gz")).expect("a baseline");
    let record: RunRecord = serde_json::from_reader(GzDecoder::new(&*packed)).expect("a record");
    let [scenario] = &record.scenarios[..] else {
        panic!("a scenario of its own");
    };
    let side = |run_id| Side {
        run_id,
        environment: &record.environment,
        scenario,
        trust: Trust::Valid,
    };
    let compared = Comparison::compare_sides(&[side("base")], &side("new")).expect("comparable");
    let steps: Vec<_> = compared
        .subjects
        .iter()
        .map(|subject| subject.step.as_deref())
        .collect();
    assert_eq!(steps, [None, Some("ask"), Some("tell")]);
    for subject in &compared.subjects {
        let figures: Vec<_> = subject.figures.iter().map(|one| one.figure).collect();
        assert_eq!(
            figures,
            [
                Figure::P50,
                Figure::P95,
                Figure::P99,
                Figure::Errors,
                Figure::Rps
            ]
        );
        let is_same = |figure: &Figure| {
            let mut found = subject.figures.iter();
            let found = found.find(|one| one.figure == *figure).expect("a figure");
            (found.change, found.verdict) == (0.0, Change::Unchanged)
        };
        let same = [Figure::P50, Figure::P95, Figure::Errors];
        assert!(same.iter().all(is_same), "{subject:?}");
    }
}

#[test]
fn what_a_later_version_1_added_is_optional() {
    let journeys = |name| Report::grade(&read(name), None).cards[0].slowest.len();
    assert_eq!((journeys("passed.json"), journeys("invalid.json")), (0, 5));
}

#[test]
fn a_record_can_be_graded_anew() {
    let mut record = read("failed.json");
    let before = Report::grade(&record, None).cards[0].grade.score;
    record.regrade(&loadtest_model::plan::GradingDefaults {
        apdex: None,
        budget: Some(1.0),
        ..Default::default()
    });
    let after = Report::grade(&record, None).cards[0].grade.score;
    assert!(before < after, "{before:?} {after:?}");
}

use super::{data, human};
use crate::archive::{Archive, Entry, Outcome, ScenarioHistory, Unreadable, of_record};
use crate::session::sample;
use loadtest_model::card::Report;
use loadtest_model::definition::{Load, Shape};
use loadtest_model::exit_code::ExitCode;
use loadtest_model::metrics::Health;
use loadtest_model::record::{
    EndReason, Environment, NotRun, RunRecord, SCHEMA_VERSION, ScenarioRecord,
};
use std::path::PathBuf;
use std::time::Duration;

const SCENARIO: &str = "shop::load::checkout";

/// A run in the hour `hour` with a p95 of so many milliseconds.
fn run(hour: u8, p95_ms: u64) -> RunRecord {
    let mut record = ScenarioRecord::new(sample::start());
    let mut frame = sample::frame(0, 20);
    let time = &mut frame.windows.steady.journey.time;
    *time = loadtest_model::metrics::Histogram::default();
    time.record_n(Duration::from_millis(p95_ms), 20);
    record.absorb(&frame);
    let planned = 20;
    record.finish(loadtest_model::record::RunEnd {
        planned,
        ..sample::end()
    });
    record.start.definition.fingerprint = "1f3a9c02aa11bb22".into();
    RunRecord {
        schema_version: SCHEMA_VERSION,
        run_id: format!("20261121-{hour:02}0000-abcd"),
        tool_version: "0.1.0".to_owned(),
        started_at: format!("2026-11-21T{hour:02}:00:00Z"),
        environment: Environment {
            git_commit: Some("1a2b3c4d5e6f".to_owned()),
            git_dirty: Some(hour % 2 == 1),
            ..Environment::default()
        },
        scenarios: vec![record],
        not_run: Vec::new(),
        capacity: None,
        telemetry: Vec::new(),
    }
}

fn changed(mut run: RunRecord, change: impl FnOnce(&mut ScenarioRecord)) -> RunRecord {
    change(&mut run.scenarios[0]);
    run
}

/// The entries of runs in the order of time, as the store gives them.
fn entries(runs: Vec<RunRecord>) -> Vec<Entry> {
    let newest_first = runs.into_iter().rev();
    newest_first
        .flat_map(|run| of_record(&run.run_id.clone(), run, None))
        .collect()
}

fn trends(history: &ScenarioHistory<'_>) -> Vec<Option<(i64, String)>> {
    let rows = history
        .versions
        .iter()
        .flat_map(|version| &version.settings)
        .flat_map(|setting| &setting.rows);
    rows.map(|row| {
        let trend = row.trend?;
        Some((
            (trend.change * 100.0).round() as i64,
            trend.against.to_owned(),
        ))
    })
    .collect()
}

#[test]
fn a_trend_is_the_change_since_the_run_before() {
    let entries = entries(vec![run(1, 100), run(2, 120), run(3, 60)]);
    let history = ScenarioHistory::from_entries(SCENARIO, &entries);
    let expected = [
        Some((-50, "20261121-020000-abcd".to_owned())),
        Some((20, "20261121-010000-abcd".to_owned())),
        None,
    ];
    assert_eq!(trends(&history), expected);
}

#[test]
fn other_versions_loads_and_targets_are_set_apart_and_never_compared() {
    let more = Load::new(Shape::Users {
        users: 9,
        ramp_up: Duration::ZERO,
        duration: Duration::from_secs(5),
    });
    let entries = entries(vec![
        run(1, 100),
        changed(run(2, 200), |record| record.start.plan.load = more),
        changed(run(3, 300), |record| {
            record.start.base_url = Some("http://127.0.0.1:1".to_owned());
        }),
        changed(run(4, 400), |record| {
            record.start.definition.fingerprint = "8b2c11d0aa11bb22".into();
        }),
        run(5, 110),
    ]);
    let history = ScenarioHistory::from_entries(SCENARIO, &entries);
    let shape: Vec<_> = history
        .versions
        .iter()
        .map(|version| (version.count, version.settings.len()))
        .collect();
    assert_eq!(shape, [(4, 3), (1, 1)], "that of the newest run first");
    let expected = Some((10, "20261121-010000-abcd".to_owned()));
    assert_eq!(trends(&history), [expected, None, None, None, None]);
    assert_eq!(history.versions[0].first_seen, "2026-11-21T01:00:00Z");
    assert_eq!(history.versions[0].last_seen, "2026-11-21T05:00:00Z");
}

#[test]
fn what_measured_nothing_to_go_by_is_listed_and_has_no_trend() {
    let stalled = |record: &mut ScenarioRecord| {
        record.start.target_in_process = false;
        record.end.ending = EndReason::Died {
            reason: "the tool was killed while it ran".into(),
        };
    };
    let mut missing = run(3, 1);
    missing.scenarios.clear();
    missing.not_run.push(NotRun {
        scenario: SCENARIO.to_owned(),
        exit_code: ExitCode::SetupFailed,
        message: "setup failed".into(),
        ..NotRun::from_definition(&run(3, 1).scenarios[0].start.definition)
    });
    let mut older = missing.clone();
    older.run_id = "20261121-050000-abcd".to_owned();
    older.started_at = "2026-11-21T05:00:00Z".to_owned();
    older.not_run[0].fingerprint = None;
    let entries = entries(vec![
        run(1, 100),
        changed(run(2, 900), stalled),
        missing,
        run(4, 100),
        older,
    ]);
    let history = ScenarioHistory::from_entries(SCENARIO, &entries);
    let verdicts: Vec<_> = entries.iter().map(Entry::verdict).collect();
    assert_eq!(
        verdicts,
        [
            "DID NOT RUN",
            "PASSED",
            "DID NOT RUN",
            "INTERRUPTED",
            "PASSED"
        ]
    );
    assert_eq!(entries[2].reason(), Some("setup failed"));
    assert!(entries[3].reason().unwrap().contains("killed"));
    let [unknown, version] = &history.versions[..] else {
        panic!("{:?}", history.versions);
    };
    assert_eq!(
        (unknown.version, unknown.count),
        (None, 1),
        "an older record"
    );
    assert_eq!(version.count, 4, "what did not run has its version");
    let measured = &version.settings[0].rows;
    let places: Vec<_> = measured.iter().map(|row| row.place).collect();
    assert_eq!(places, [1, 3, 4]);
    let trend = measured[0].trend.map(|trend| trend.against);
    assert_eq!(trend, Some("20261121-010000-abcd"));
    assert!(measured[1..].iter().all(|row| row.trend.is_none()));
    let archive = Archive {
        directory: PathBuf::from("runs"),
        entries: entries.clone(),
        unreadable: Vec::new(),
    };
    let text = human::render(&[history], &archive, 9, 80, false);
    let (version, missing) = text.split_once("  unknown load\n").expect("of one");
    assert!(version.contains("version 1f3a9c02: 4 runs") && missing.contains("setup failed"));
}

#[test]
fn a_search_shows_what_it_found_and_no_figures_of_its_trial() {
    let record = crate::export::sample::search_record("x");
    let entries = of_record("x", record.clone(), None);
    let [entry] = &entries[..] else {
        panic!("{entries:?}");
    };
    let report = Report::grade(&record, None);
    assert_eq!(entry.exit_code(), Some(report.exit_code()));
    assert!(matches!(entry.outcome, Outcome::Searched { .. }));
    assert!(entry.load.as_ref().unwrap().load.starts_with("search for "));
    assert!(entry.sound_p95().is_none());
}

#[test]
fn what_is_left_out_of_a_record_to_be_fast_decides_nothing() {
    let mut record = run(1, 100);
    let scenario = &mut record.scenarios[0];
    for second in 1..90 {
        let mut frame = sample::frame(second, 7);
        frame.health = Health {
            stalled_seconds: 1,
            longest_stall_us: 700_000,
            ..Health::default()
        };
        scenario.absorb(&frame);
        scenario.end.planned += 7;
    }
    let card = Report::grade(&record, None).cards.remove(0);
    let entries = of_record("x", record, None);
    let figures = entries[0].figures().unwrap();
    assert_eq!(figures.verdict, card.verdict);
    assert_eq!(entries[0].verdict(), "INVALID", "it stalled");
    assert_eq!(figures.score, card.grade.score);
    assert_eq!(figures.p95, card.headline.time.p95);
    assert_eq!(figures.error_rate, card.headline.error_rate);
}

fn archive() -> Archive {
    let mut failed = run(3, 130);
    failed.run_id = "20261121-030000-\u{1b}[31m".to_owned();
    let runs = vec![
        run(1, 100),
        run(2, 123),
        failed,
        changed(run(4, 900), |record| {
            record.end.ending = EndReason::Interrupted;
        }),
        changed(run(5, 90), |record| {
            record.start.definition.fingerprint = "8b2c11d0aa11bb22".into();
            record.start.definition.version = Some("2".into());
            record.start.base_url = Some("http://127.0.0.1:8080/".to_owned());
        }),
    ];
    Archive {
        directory: PathBuf::from("runs"),
        entries: entries(runs),
        unreadable: vec![Unreadable {
            run: "20261121-000000-aaaa".to_owned(),
            reason: "the record `runs/20261121-000000-aaaa/record.json` cannot be read: EOF while \
                     parsing a value at line 1 column 0"
                .to_owned(),
        }],
    }
}

fn rendered(limit: usize, width: usize) -> String {
    let archive = archive();
    let histories = [ScenarioHistory::from_entries(SCENARIO, &archive.entries)];
    human::render(&histories, &archive, limit, width, false)
}

#[test]
fn the_history_is_read_in_eighty_columns() {
    let text = rendered(20, 80);
    assert!(!text.contains('\u{1b}'));
    for line in text.lines() {
        assert!(crate::export::terminal::text::width(line) <= 80, "{line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_wide_terminal_shows_when_each_run_began() {
    let text = rendered(2, 100);
    assert!(text.contains("2026-11-21 05:00"), "{text}");
    assert!(text.contains("3 older runs not shown"), "{text}");
    assert!(!text.contains("20261121-010000"), "{text}");
}

#[test]
fn the_history_as_data_has_every_run_with_its_version() {
    let archive = archive();
    let histories = [ScenarioHistory::from_entries(SCENARIO, &archive.entries)];
    let text = data::render(&histories, &archive, 4);
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let versions = all["scenarios"][0]["versions"].as_array().unwrap();
    assert_eq!(versions[0]["version"], "2");
    assert_eq!(versions[0]["runs"][0]["target"], "http://127.0.0.1:8080");
    assert_eq!(versions[1]["fingerprint"], "1f3a9c02aa11bb22");
    assert_eq!(versions[1]["count"], 4);
    let runs = versions[1]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3, "of the newest four of the scenario");
    assert_eq!(runs[0]["verdict"], "interrupted");
    assert_eq!(runs[0]["trend"], serde_json::Value::Null);
    assert_eq!(runs[1]["p95_us"], 130_000);
    assert_eq!(runs[1]["trend"]["against"], "20261121-020000-abcd");
    assert_eq!(all["unreadable"][0]["run_id"], "20261121-000000-aaaa");
}

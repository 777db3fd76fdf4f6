//! Every record that a released version wrote is still exported, in each format.

use crate::export::{Format, terminal};
use crate::store::{self, RunFolder};
use loadtest_model::card::Report;
use loadtest_model::record::{EndReason, RunRecord};
use std::path::PathBuf;

/// The card as bytes: in each format, and on a terminal.
fn rendered(report: &Report) -> Vec<(&'static str, Vec<u8>)> {
    let terminal = terminal::render(report, 80, true, terminal::Extent::Full);
    let formats = Format::ALL.map(|format| (format.word(), format.render(report, &[])));
    formats
        .into_iter()
        .chain([("terminal", terminal.into_bytes())])
        .collect()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../loadtest/tests/records/v1")
}

fn all() -> Vec<(String, RunRecord)> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut all: Vec<_> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let record = if path.is_dir() {
                RunFolder::at(&path).read()
            } else {
                store::read_record(&path)
            };
            (name, record.unwrap())
        })
        .collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all
}

#[test]
fn every_record_that_was_ever_written_is_exported_in_every_format() {
    let all = all();
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "capacity.json",
            "failed.json",
            "interrupted.json",
            "invalid.json",
            "killed",
            "passed.json"
        ]
    );
    for (name, record) in &all {
        let report = Report::grade(record, None);
        for ((format, bytes), (_, again)) in rendered(&report).into_iter().zip(rendered(&report)) {
            let holds = |word: &str| {
                bytes
                    .windows(word.len())
                    .any(|part| part == word.as_bytes())
            };
            let what = if record.capacity.is_some() {
                "health"
            } else {
                report.cards[0].name.as_str()
            };
            // The text of a document is compressed.
            let is_text = std::str::from_utf8(&bytes).is_ok();
            assert!(holds(what) || !is_text, "{name} as {format} lacks `{what}`");
            assert!(!bytes.is_empty(), "{name} as {format}");
            assert_eq!(bytes, again, "{name} as {format} is not the same twice");
        }
    }
}

#[test]
fn the_journal_of_a_run_that_was_killed_is_read() {
    let record = RunFolder::at(&folder().join("killed")).read().unwrap();
    let [scenario] = record.scenarios.as_slice() else {
        panic!("{} scenarios", record.scenarios.len());
    };
    assert!(matches!(scenario.end.ending, EndReason::Died { .. }));
    assert_eq!(scenario.windows.steady.journey.started, 61);
}

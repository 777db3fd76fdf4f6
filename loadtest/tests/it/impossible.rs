//! Records that somebody damaged by hand: refused for what is wrong with them, and never a panic.

use loadtest_model::card::Report;
use loadtest_model::record::{self, RunRecord};
use serde_json::{Value, json};

fn records() -> Vec<Value> {
    ["passed", "failed", "invalid", "interrupted", "capacity"]
        .into_iter()
        .map(|name| {
            let path = format!(
                "{}/tests/records/v1/{name}.json",
                env!("CARGO_MANIFEST_DIR")
            );
            let text = std::fs::read_to_string(path).expect("a golden record");
            serde_json::from_str(&text).expect("JSON")
        })
        .collect()
}

/// The places of all numbers in a record; of lists, those of the first entry.
fn numbers(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(place.to_owned()),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate().take(1) {
                numbers(item, &format!("{place}/{i}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                numbers(field, &format!("{place}/{name}"), found);
            }
        }
        _ => {}
    }
}

fn refusal(record: &Value) -> Option<String> {
    let record: RunRecord = match record::from_json(record.to_string().as_bytes()) {
        Ok(record) => record,
        Err(error) => return Some(error.to_string()),
    };
    let refusal = record
        .check()
        .err()
        .map(|impossible| impossible.to_string());
    if refusal.is_none() {
        let _ = Report::grade(&record, None).exit_code();
    }
    refusal
}

#[test]
fn what_runs_wrote_is_possible() {
    for record in records() {
        assert_eq!(refusal(&record), None);
    }
}

#[test]
fn no_number_makes_the_grading_panic() {
    let mut records = records();
    for record in [records.swap_remove(0), records.swap_remove(0)] {
        let mut places = Vec::new();
        numbers(&record, "", &mut places);
        assert!(places.len() > 50);
        for place in places {
            for damaged in [json!(-1), json!(u32::MAX), json!(u64::MAX)] {
                let mut record = record.clone();
                *record.pointer_mut(&place).expect("our own place") = damaged.clone();
                let graded = std::panic::catch_unwind(|| refusal(&record));
                assert!(graded.is_ok(), "{place} = {damaged}");
            }
        }
    }
}

#[test]
fn an_impossible_figure_is_named() {
    let record = records().swap_remove(0);
    let steady = "/scenarios/0/windows/steady";
    for (place, damaged, told) in [
        (
            format!("{steady}/journey/started"),
            json!(u64::MAX),
            "`started`: 18446744073709551615 is more than any run can have",
        ),
        (
            format!("{steady}/steps/0/satisfied"),
            json!(1_000_000),
            "of step 1, ",
        ),
        (
            format!("{steady}/steps/0/ok"),
            json!(u64::MAX),
            "`ok`: 18446744073709551615 is more than any run can have",
        ),
        (
            "/scenarios/0/plan/grading/0/budget".to_owned(),
            json!(-0.5),
            "is -0.5, and a share lies between 0 and 1",
        ),
        (
            "/scenarios/0/plan/grading/0/target_us".to_owned(),
            json!(0),
            "which leaves no time",
        ),
        (
            "/scenarios/0/cells/width".to_owned(),
            json!(0),
            "its cells are 0 s wide",
        ),
        (
            "/scenarios/0/definition/steps".to_owned(),
            json!([]),
            "it has no step",
        ),
    ] {
        let mut record = record.clone();
        *record.pointer_mut(&place).expect("our own place") = damaged;
        let refusal = refusal(&record).expect("it cannot be");
        assert!(refusal.contains(told), "{place}: {refusal}");
    }
}

//! Files that are damaged or made up: records, journals, histograms and `loadtest.toml`. Each is refused in words, or
//! works to the end.

use crate::config::{Config, ConfigEnvironment};
use crate::export::Format;
use crate::store::{RecordError, decode_record};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use loadtest_model::card::Report;
use loadtest_model::metrics::Histogram;
use loadtest_tests::fuzz::{fuzz_bytes, fuzz_texts, read_seeds};
use std::path::Path;
use std::time::Duration;

/// Grades a record and writes it in every format, if it is one.
fn use_record(bytes: &[u8]) {
    match decode_record(bytes, Path::new("record.json")) {
        Ok(record) => {
            let report = Report::grade(&record, None);
            for format in Format::ALL {
                assert!(!format.render(&report, &[]).is_empty());
            }
        }
        Err(RecordError::Damaged(reason)) => assert!(!reason.is_empty()),
        Err(RecordError::Newer(error)) => assert!(error.to_string().contains("schema version")),
    }
}

#[test]
fn no_record_is_too_strange() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../loadtest/tests/records/v1");
    fuzz_texts(read_seeds(folder), |text| use_record(text.as_bytes()));
}

#[test]
fn no_histogram_is_too_strange() {
    let seeds = [0, 1, 3].map(|values| {
        let mut histogram = Histogram::default();
        for value in 0..values {
            histogram.record(Duration::from_micros(1 << (8 * value)));
        }
        let text = serde_json::to_value(&histogram).unwrap();
        let text = text.as_str().map(str::to_owned).unwrap_or_default();
        STANDARD.decode(text).unwrap()
    });
    fuzz_bytes(seeds, |bytes| {
        let text = serde_json::Value::from(STANDARD.encode(bytes));
        let Ok(histogram) = serde_json::from_value::<Histogram>(text) else {
            return;
        };
        let written = serde_json::to_value(&histogram).unwrap();
        let again: Histogram = serde_json::from_value(written).unwrap();
        assert_eq!(again, histogram);
        let mut double = again.clone();
        double.merge(&again);
        assert!(double.count() >= histogram.count());
    });
}

#[test]
fn no_configuration_is_too_strange_and_each_mistake_has_a_line() {
    let seeds = [
        include_str!("../../loadtest.toml"),
        "[store]\ndirectory = \"runs\"\nkeep = 3\n\n[[notify]]\nurl = \"http://127.0.0.1/x\"\nformat = \"slack\"\n",
        "[grading]\ntarget = \"300ms\"\n\n[presets.small]\nrate = \"5/s\"\nduration = \"1m\"\n\n[run]\nseed = 7\n",
        "[organisation]\nmax_rate = \"100/s\"\n[[targets]]\nhost = \"shop.test\"\nowner = \"ada\"\n",
    ];
    fuzz_texts(seeds, |text| {
        let path = Path::new("loadtest.toml");
        let environment = ConfigEnvironment::default();
        if let Err(error) = Config::decode(Some(text.as_bytes()), path, environment) {
            assert!(
                error.to_string().contains("loadtest.toml: line "),
                "{error}"
            );
        }
    });
}

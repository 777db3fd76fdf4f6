//! Sources: what the samples of a page come to.

use super::page::select_samples;
use super::source::{Question, Reading, Source};
use crate::access::AccessHeaders;
use crate::config::{FigureConfig, MetricConfig};
use std::time::{Duration, SystemTime};
use url::Url;

/// A source of one figure of the family `a`.
fn source(is_rate: bool, by: Option<&str>) -> Source {
    let mut metric = MetricConfig::default();
    metric.family = "a".to_owned();
    metric.is_rate = is_rate;
    Source {
        name: "node".to_owned(),
        place: "http://127.0.0.1:1".to_owned(),
        question: Question::Page(Url::parse("http://127.0.0.1:1/metrics").unwrap()),
        figures: vec![FigureConfig {
            name: "node cpu".to_owned(),
            unit: String::new(),
            by: by.map(str::to_owned),
            is_per_request: false,
            limit: None,
            metric: Some(metric),
        }],
        interval: Duration::from_secs(1),
        headers: AccessHeaders::default(),
    }
}

/// Reads pages, one each two seconds; returns groups and values of the last.
fn read(source: &Source, pages: &[&str]) -> Vec<(Option<String>, f64)> {
    let mut asking = source.begin();
    let metric = source.figures[0].metric.clone().unwrap();
    let mut last = Vec::new();
    for (count, page) in (0..).zip(pages) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(2 * count);
        let samples = select_samples(page, &[&metric]).unwrap();
        last = asking.read_figure(0, &samples[0], now);
    }
    let shown = last.into_iter();
    shown
        .map(|Reading { group, value, .. }| (group, value))
        .collect()
}

#[test]
fn values_are_added_up() {
    let pages = ["a{b=\"x\"} 1\na{b=\"y\"} 2\na{b=\"z\"} NaN\n"];
    assert_eq!(read(&source(false, None), &pages), [(None, 3.0)]);
    assert_eq!(read(&source(false, None), &["b 1\n"]), []);
    let each = read(&source(false, Some("b")), &pages);
    let expected = [("x", 1.0), ("y", 2.0)];
    assert_eq!(
        each,
        expected.map(|(group, value)| (Some(group.to_owned()), value))
    );
}

#[test]
fn a_rate_is_the_growth_of_counters_that_were_there_before() {
    let source = source(true, None);
    let first = "a{b=\"x\"} 10\na{b=\"y\"} 100\n";
    assert_eq!(read(&source, &[first]), [], "a rate needs two readings");
    let grown = "a{b=\"x\"} 14\na{b=\"y\"} 102\na{b=\"new\"} 1000\n";
    assert_eq!(read(&source, &[first, grown]), [(None, 3.0)]);
    // The process of `y` began again.
    let reset = "a{b=\"x\"} 14\na{b=\"y\"} 4\n";
    assert_eq!(read(&source, &[first, reset]), [(None, 4.0)]);
}

#[test]
fn what_is_beyond_the_most_groups_is_one() {
    let lines = (0..12).map(|number| format!("a{{b=\"g{number}\"}} 1\n"));
    let page: String = lines.collect();
    let found = read(&source(false, Some("b")), &["a{b=\"g11\"} 1\n", &page]);
    assert_eq!(found.len(), 9);
    let others = found
        .iter()
        .find(|(group, _)| group.as_deref() == Some("(others)"));
    assert_eq!(others, Some(&(Some("(others)".to_owned()), 4.0)));
    let first = found
        .iter()
        .find(|(group, _)| group.as_deref() == Some("g11"));
    assert!(first.is_some(), "a group keeps its series");
}

#[test]
fn labels_of_others_are_cut_and_cleaned() {
    let page = format!("a{{b=\"\u{1b}[31m{}\"}} 1\n", "x".repeat(100));
    let found = read(&source(false, Some("b")), &[&page]);
    let group = found[0].0.as_ref().unwrap();
    assert_eq!(group.chars().count(), 40);
    assert!(!group.contains('\u{1b}'), "{group:?}");
}

#[test]
fn the_time_of_readings_follows_no_step_of_the_wall_clock() {
    let begin = super::process::now();
    // A wall clock that was set back by an hour just now.
    let wall = SystemTime::now() + Duration::from_secs(3_600);
    let clock = super::SteadyClock { wall, begin };
    let second = Duration::from_secs(1);
    assert_eq!(clock.time_at(begin), wall);
    assert_eq!(clock.time_at(begin + second), wall + second);
}

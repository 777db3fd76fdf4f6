//! Intervals of a small run, what every sink makes of them, and what becomes of those that are not taken.

mod deliveries;
mod encodings;
mod quantiles;

use super::bounds::{Detail, SeriesBudget};
use super::feed::IntervalFeed;
use super::hub::{HubState, Receiver, ServedSink, SinkName};
use super::interval::{Interval, SeriesValue};
use super::queue::SinkQueue;
use super::tracker::{Tracker, TrackerSettings};
use super::{HistogramWeight, RunFacts};
use crate::access::AccessHeaders;
use crate::course::Course;
use crate::session::sample;
use loadtest_model::definition::WebSocketDef;
use loadtest_model::metrics::{
    ErrorKind, ErrorTally, Frame, MessageCounts, StreamSample, WebSocketTally,
};
use loadtest_model::record::RunStart;
use loadtest_model::trace::{RunIds, TracePoint, Tracing};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn settings(run_label: bool, most: usize) -> TrackerSettings {
    TrackerSettings {
        facts: RunFacts {
            run: "20261121-143005-k3f9".to_owned(),
            tool_version: "0.1.0".to_owned(),
            commit: Some("8e6c1d2f".to_owned()),
        },
        labels: vec![("service".to_owned(), "shop".to_owned())],
        run_label,
        weight: HistogramWeight {
            is_classic: true,
            is_native: false,
        },
        detail: Detail::All,
        // So few that the pages of the tests can be read.
        boundaries: 24,
        budget: Arc::new(SeriesBudget::new(most)),
    }
}

/// A second with errors, a request of a step that sends for itself, and figures of the scenario's own.
fn frame(second: u32) -> Frame {
    let mut frame = sample::frame(second, 20);
    let steady = &mut frame.windows.steady;
    let buy = &mut steady.steps[1];
    buy.failed = 2;
    buy.count_error(ErrorTally {
        kind: ErrorKind::Status,
        status: Some(503),
        count: 2,
        example: "503 canary-example".into(),
        sample: Some("canary-body".into()),
        traced: None,
    });
    let row = buy.inner("GET /canary-path");
    row.answered(200, Duration::from_millis(7), || "200".into());
    let trace = RunIds::new("20261121-143005-k3f9", "shop::load::checkout", 7).trace(12);
    steady.steps[0].traced = Some(TracePoint {
        trace_id: trace,
        span_id: trace.step(0),
        begin_us: u64::from(second) * 1_000_000 + 500_000,
        time_us: 21_400,
    });
    steady.own.count("orders", 3);
    steady.own.time("queued", Duration::from_micros(1_500));
    frame.health.busiest_worker = 0.25;
    frame
}

/// The intervals of these frames.
fn intervals(start: RunStart, settings: &TrackerSettings, frames: &[Frame]) -> Vec<Interval> {
    let mut course = Course::new(start, Duration::ZERO);
    let mut tracker = Tracker::new(0, &course, settings);
    let mut all = Vec::new();
    for frame in frames {
        course.add(frame.clone());
        let dropped = [("2 otlp".to_owned(), f64::from(frame.second))];
        all.extend(tracker.add(frame, &course, &dropped));
    }
    all.extend(tracker.finish());
    all
}

fn two_seconds() -> Vec<Interval> {
    intervals(
        sample::start(),
        &settings(true, 10_000),
        &[frame(2), frame(3)],
    )
}

/// The total and the own part of a counter, or count and own count of a histogram.
fn find_value(interval: &Interval, name: &str, labels: &[(&str, &str)]) -> Option<(f64, f64)> {
    let mut all = interval.all_series();
    let (_, series) = all.find(|(family, series)| {
        let given = series.labels.iter().map(|(name, text)| (*name, &**text));
        family.short_name() == name && given.eq(labels.iter().copied())
    })?;
    Some(match &series.value {
        SeriesValue::Counter { total, own } => (*total, *own),
        SeriesValue::Gauge(value) => (*value, *value),
        SeriesValue::Histogram(times) => (times.count as f64, times.own.count as f64),
    })
}

#[test]
fn websockets_have_their_counts_by_direction_and_code() {
    let mut start = sample::start();
    start.definition.steps.to_mut()[0].websocket = Some(WebSocketDef::default());
    let mut second = frame(2);
    second.websockets = WebSocketTally {
        opened: 3,
        most_open: 7,
        closed_by_target: [(1001, 2)].into(),
        closed_by_user: 1,
        sent_messages: 4,
        sent_bytes: 40,
        received_messages: 5,
        received_bytes: 500,
        ..WebSocketTally::default()
    };
    let all = intervals(start, &settings(true, 10_000), &[second, frame(3)]);
    for (name, labels, first, own) in [
        ("websockets_open", &[][..], 7.0, 7.0),
        ("websockets_opened", &[], 3.0, 3.0),
        (
            "websockets_closed",
            &[("by", "target"), ("code", "1001")],
            2.0,
            2.0,
        ),
        (
            "websockets_closed",
            &[("by", "user"), ("code", "")],
            1.0,
            1.0,
        ),
        ("websocket_messages", &[("direction", "sent")], 4.0, 4.0),
        (
            "websocket_message_bytes",
            &[("direction", "received")],
            500.0,
            500.0,
        ),
    ] {
        assert_eq!(
            find_value(&all[0], name, labels),
            Some((first, own)),
            "{name}"
        );
    }
    let none_more = find_value(&all[1], "websockets_opened", &[]);
    assert_eq!(none_more, Some((3.0, 0.0)));
}

#[test]
fn grpc_calls_have_their_messages_by_direction() {
    let mut second = frame(2);
    let buy = &mut second.windows.steady.steps[1];
    let call = buy.inner("shop.Cart/Watch");
    call.answered(0, Duration::from_millis(7), || "OK".into());
    call.exchanged(MessageCounts {
        sent: 1,
        received: 20,
    });
    let all = intervals(
        sample::start(),
        &settings(true, 10_000),
        &[second, frame(3)],
    );
    let labels = |request, direction| {
        [
            ("step", "buy"),
            ("request", request),
            ("direction", direction),
        ]
    };
    for (direction, number) in [("sent", 1.0), ("received", 20.0)] {
        let find =
            |interval, request| find_value(interval, "call_messages", &labels(request, direction));
        let call = "shop.Cart/Watch";
        assert_eq!(find(&all[0], call), Some((number, number)));
        assert_eq!(find(&all[1], call), Some((number, 0.0)));
        assert_eq!(find(&all[0], "GET"), None, "a request has no messages");
    }
    let lines = super::sink::json::encode_interval(&all[0]);
    let both = r#""call_messages":{"received":20,"sent":1}"#;
    assert_eq!(lines.matches(both).count(), 2, "{lines}");
}

#[test]
fn steps_that_read_streams_have_their_times_and_units() {
    let mut start = sample::start();
    let steps = start.definition.steps.to_mut();
    steps[0] = sample::streamed(steps[0].clone());
    let mut second = frame(2);
    let login = &mut second.windows.steady.steps[0];
    login.good = 19;
    let stream = StreamSample {
        first_event: Some(Duration::from_millis(200)),
        gaps: vec![Duration::from_millis(10); 3],
        units: 9,
        events: 5,
        together: 0,
        ..StreamSample::default()
    };
    login.stream.get_or_insert_default().record(&stream, true);
    // A second without streams goes on where the one before ended.
    let all = intervals(start, &settings(true, 10_000), &[second, frame(3)]);
    let login = [("step", "login")];
    for (name, first, own) in [
        ("step_units", 9.0, 9.0),
        ("step_events", 5.0, 5.0),
        ("step_good", 19.0, 19.0),
        ("step_first_event_seconds", 1.0, 1.0),
        ("step_gap_seconds", 3.0, 3.0),
        ("step_per_unit_seconds", 1.0, 1.0),
    ] {
        assert_eq!(
            find_value(&all[0], name, &login),
            Some((first, own)),
            "{name}"
        );
        assert_eq!(
            find_value(&all[1], name, &login),
            Some((first, 0.0)),
            "{name}"
        );
        assert_eq!(
            find_value(&all[0], name, &[("step", "buy")]),
            None,
            "{name}"
        );
    }
}

/// The names of the families in the queries of the dashboard below the row `title`.
fn families_of_dashboard(title: &str) -> Vec<String> {
    let dashboard = include_str!("../../../../docs/grafana/loadtest.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let of_row = panels.iter().skip_while(|panel| panel["title"] != title);
    let of_row = of_row.skip(1).take_while(|panel| panel["type"] != "row");
    let queries = of_row.map(|panel| panel["targets"][0]["expr"].as_str().unwrap());
    let names = queries.map(|query| {
        let (_, name) = query.split_once("loadtest_").unwrap();
        let end = name.find(|letter: char| !(letter.is_ascii_lowercase() || letter == '_'));
        name[..end.unwrap()].trim_end_matches("_total").to_owned()
    });
    names.collect()
}

#[test]
fn the_dashboard_asks_for_streams_websockets_and_calls_by_their_names() {
    let mut start = sample::start();
    let steps = start.definition.steps.to_mut();
    steps[0] = sample::streamed(steps[0].clone());
    steps[1].websocket = Some(WebSocketDef::default());
    let mut second = frame(2);
    second.websockets.opened = 1;
    let all = intervals(start, &settings(true, 10_000), &[second]);
    let known: Vec<_> = all[0]
        .all_series()
        .map(|(family, _)| family.short_name())
        .collect();
    let asked = families_of_dashboard("Streams, WebSockets and calls");
    assert_eq!(asked.len(), 9);
    for name in asked {
        assert!(known.contains(&&*name), "{name}");
    }
}

#[test]
fn an_interval_has_all_since_the_start_and_its_own_part() {
    let all = two_seconds();
    assert_eq!(all.len(), 2);
    let ok = [("result", "ok")];
    assert_eq!(find_value(&all[0], "journeys", &ok), Some((20.0, 20.0)));
    assert_eq!(find_value(&all[1], "journeys", &ok), Some((40.0, 20.0)));
    let login = [("step", "login")];
    let response = find_value(&all[1], "step_response_seconds", &login);
    assert_eq!(response, Some((40.0, 20.0)));
    let status = [("step", "buy"), ("kind", "status"), ("status", "503")];
    assert_eq!(find_value(&all[1], "errors", &status), Some((4.0, 2.0)));
    let lost = [("sink", "2 otlp"), ("what", "intervals")];
    assert_eq!(
        find_value(&all[1], "telemetry_dropped", &lost),
        Some((5.0, 3.0))
    );
    assert_eq!(all[1].time.to_string(), "2026-11-21T14:30:09Z");
}

#[test]
fn spans_that_come_after_the_end_of_a_load_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spans-1.jsonl");
    let queue = || Arc::new(SinkQueue::new(1, AccessHeaders::default(), None));
    let spans = queue();
    let sink = ServedSink {
        name: SinkName {
            number: 1,
            format: "otlp",
            place: String::new(),
            is_configured: true,
        },
        receiver: Receiver::Queue(queue()),
        spans: Some(Arc::clone(&spans)),
        counted_losses: 0,
    };
    let state = HubState {
        settings: settings(true, 10_000),
        trackers: BTreeMap::new(),
        spans: BTreeMap::new(),
        sinks: vec![sink],
    };
    let feed = IntervalFeed {
        state: Arc::new(Mutex::new(state)),
        first: 0,
        spans: vec![path.clone()],
    };
    let mut start = sample::start();
    start.plan.tracing = Some(Tracing {
        sample: 1.0,
        at_most_per_second: None,
        link: None,
    });
    feed.start(0, &Course::new(start, Duration::ZERO));
    feed.end(0);
    std::fs::write(&path, "{\"lost\":{\"spans\":3}}\n").unwrap();
    feed.finish();
    assert_eq!(spans.counts().offered, 3);
}

#[test]
fn what_is_due_in_the_warm_up_is_in_no_interval() {
    let mut frame = sample::frame(0, 20);
    frame.windows.warm_up = std::mem::take(&mut frame.windows.steady);
    let all = intervals(sample::start(), &settings(true, 10_000), &[frame]);
    assert_eq!(
        find_value(&all[0], "journeys", &[("result", "ok")]),
        Some((0.0, 0.0))
    );
}

#[test]
fn a_second_that_comes_in_parts_is_in_the_next_interval_and_nothing_is_lost() {
    let parts = [frame(2), frame(2), frame(3), frame(1)];
    let all = intervals(sample::start(), &settings(true, 10_000), &parts);
    let ok = [("result", "ok")];
    let found: Vec<_> = all
        .iter()
        .map(|interval| (interval.second, find_value(interval, "journeys", &ok)))
        .collect();
    assert_eq!(
        found,
        [
            (2, Some((20.0, 20.0))),
            (3, Some((60.0, 40.0))),
            (4, Some((80.0, 20.0)))
        ]
    );
}

#[test]
fn a_series_beyond_the_most_is_left_out_and_counted() {
    let settings = settings(true, 60);
    let all = intervals(sample::start(), &settings, &[frame(2), frame(3)]);
    let series = |interval: &Interval| -> usize {
        let all = interval.all_series();
        all.map(|(_, series)| match &series.value {
            SeriesValue::Histogram(times) => times.classic.len() + 3,
            _ => 1,
        })
        .sum()
    };
    assert!(series(&all[1]) <= 60, "{}", series(&all[1]));
    assert!(settings.budget.left_out() > 0);
    let left_out = settings.budget.left_out();
    assert!(left_out < 300, "each is counted once: {left_out}");
}

#[cfg(feature = "telemetry")]
#[test]
fn examples_are_in_order_and_stay_until_their_bucket_has_a_newer_one() {
    let slow = |second: u32, begin_us: u64, time_us: u64| {
        let mut frame = frame(second);
        let traced = frame.windows.steady.steps[0].traced.as_mut().unwrap();
        (traced.begin_us, traced.time_us) = (begin_us, time_us);
        frame
    };
    // The last one began late, and is slower than its second is long.
    let frames = [
        slow(2, 2_100_000, 30_000),
        slow(3, 3_100_000, 31_000),
        slow(4, 1_000_000, 400_000),
        slow(5, 5_900_000, 31_000_000),
    ];
    let all = intervals(sample::start(), &settings(true, 10_000), &frames);
    let told = |interval: &Interval, from: u32| -> Vec<(f64, String)> {
        let mut series = interval.all_series().map(|(_, series)| &series.value);
        let times = series.find_map(|value| match value {
            SeriesValue::Histogram(times) if !times.exemplars.is_empty() => Some(times),
            _ => None,
        });
        let new = times.unwrap().exemplars_from(from).into_iter();
        new.map(|one| (one.value, one.at.to_string())).collect()
    };
    let at = |value: f64, time: &str| (value, format!("2026-11-21T14:30:{time}Z"));
    let [second, third, fourth] = [at(0.031, "08.131"), at(0.4, "09"), at(31.0, "10.999")];
    assert_eq!(told(&all[0], 0), [at(0.03, "07.13")]);
    assert_eq!(told(&all[1], 0), std::slice::from_ref(&second));
    assert_eq!(told(&all[3], 0), [second, third.clone(), fourth.clone()]);
    assert_eq!(told(&all[3], 4), [third, fourth]);
    assert_eq!(told(&all[3], 6), []);
}

#[test]
fn a_shard_and_a_run_without_a_label_are_told_apart() {
    let mut start = sample::start();
    start.plan.shard = "2/8".parse().unwrap();
    let all = intervals(start, &settings(false, 10_000), &[frame(2)]);
    let common: Vec<_> = all[0]
        .common
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    assert_eq!(
        common,
        [
            ("service", "shop"),
            ("scenario", "shop::load::checkout"),
            ("shard", "2/8")
        ]
    );
    let mut info = all[0]
        .all_series()
        .filter(|(family, _)| family.short_name() == "run");
    let (_, info) = info.next().unwrap();
    assert_eq!(info.labels[0], ("run", "20261121-143005-k3f9".to_owned()));
}

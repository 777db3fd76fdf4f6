//! The bytes that sinks send.

use super::{intervals, settings, two_seconds};
use crate::config::StatsdDialect;
use crate::export::openmetrics::TextFormat;
use crate::session::sample;
use crate::telemetry::interval::Interval;
use crate::telemetry::sink::prometheus::encode_intervals;
use crate::telemetry::sink::{influx, json, statsd};
use loadtest_model::metrics::{Frame, GaugeTally};
use std::sync::Arc;

fn second_interval() -> Interval {
    two_seconds().pop().unwrap()
}

/// All that any sink would send, as text.
fn all_texts(interval: &Interval) -> Vec<String> {
    let dialects = [
        StatsdDialect::Statsd,
        StatsdDialect::Dogstatsd,
        StatsdDialect::Graphite,
    ];
    let mut texts = vec![
        influx::encode_interval(interval),
        json::encode_interval(interval),
    ];
    texts.extend(dialects.map(|dialect| statsd::encode_interval(interval, dialect)));
    let page = |format| encode_intervals(&[Arc::new(interval.clone())], format);
    texts.extend([TextFormat::OpenMetrics, TextFormat::Prometheus].map(page));
    #[cfg(feature = "telemetry")]
    texts.extend(protobuf::texts(interval));
    texts
}

#[test]
fn golden_openmetrics() {
    let page = encode_intervals(&[Arc::new(second_interval())], TextFormat::OpenMetrics);
    insta::assert_snapshot!(page);
}

#[test]
fn the_older_format_has_the_same_samples() {
    let page = |format| encode_intervals(&[Arc::new(second_interval())], format);
    let samples = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let samples = lines.map(|line| line.split(" # ").next().unwrap_or(line));
        samples.map(str::to_owned).collect()
    };
    let (new, old) = (page(TextFormat::OpenMetrics), page(TextFormat::Prometheus));
    assert_eq!(samples(&new), samples(&old));
    assert!(
        old.contains("# TYPE loadtest_errors_total counter\n"),
        "{old}"
    );
    for new in ["# EOF", "# UNIT", "trace_id"] {
        assert!(!old.contains(new), "{old}");
    }
}

#[test]
fn golden_influx_lines() {
    insta::assert_snapshot!(influx::encode_interval(&second_interval()));
}

#[test]
fn golden_statsd_lines() {
    for (name, dialect) in [
        ("plain", StatsdDialect::Statsd),
        ("dogstatsd", StatsdDialect::Dogstatsd),
        ("graphite", StatsdDialect::Graphite),
    ] {
        let text = statsd::encode_interval(&second_interval(), dialect);
        insta::assert_snapshot!(format!("statsd_{name}"), text);
    }
}

#[test]
fn a_gauge_below_zero_is_set_and_not_subtracted() {
    let mut frame = sample::frame(2, 1);
    let numbers = GaugeTally {
        count: 1,
        last: -5.0,
        ..GaugeTally::default()
    };
    frame
        .windows
        .steady
        .own
        .gauges
        .insert("balance".to_owned(), numbers);
    let frames: [Frame; 1] = [frame];
    let all = intervals(sample::start(), &settings(true, 10_000), &frames);
    let text = statsd::encode_interval(&all[0], StatsdDialect::Dogstatsd);
    let lines: Vec<_> = text
        .lines()
        .filter(|line| line.contains("own.gauge"))
        .collect();
    assert!(lines[0].starts_with("loadtest.own.gauge:0|g"), "{text}");
    assert!(lines[1].starts_with("loadtest.own.gauge:-5|g"), "{text}");
}

#[test]
fn golden_json_lines() {
    insta::assert_snapshot!(json::encode_interval(&second_interval()));
}

#[test]
fn every_json_line_has_the_published_shape() {
    let schema = include_str!("../../../../docs/intervals.schema.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let text = json::encode_interval(&second_interval());
    assert!(text.lines().count() > 5, "{text}");
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let mistakes: Vec<_> = validator
            .iter_errors(&line)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(mistakes, [""; 0], "{line:#}");
        let mut more = line.clone();
        more["more"] = true.into();
        assert!(!validator.is_valid(&more));
        for key in line.as_object().unwrap().keys() {
            let mut less = line.clone();
            less.as_object_mut().unwrap().remove(key);
            assert!(!validator.is_valid(&less), "without `{key}`");
        }
    }
}

#[test]
fn no_text_holds_a_message_a_path_or_a_body() {
    for text in all_texts(&second_interval()) {
        assert!(!text.contains("canary"), "{text}");
        assert!(text.contains("checkout"), "{text}");
    }
}

#[test]
fn what_a_label_holds_cannot_leave_it() {
    let mut start = sample::start();
    start.definition.steps.to_mut()[0].name = "a b,c=d\"e\\\n|f:g#h;i\u{1b}".into();
    let all = intervals(start, &settings(true, 10_000), &[super::frame(2)]);
    for text in all_texts(&all[0]) {
        assert!(!text.contains('\u{1b}'), "{text}");
    }
    let influx = influx::encode_interval(&all[0]);
    let line = influx.lines().find(|line| line.contains("f:g")).unwrap();
    assert!(line.contains(r#"step=a\ b\,c\=d"e/\ |f:g#h;i"#), "{line}");
    let statsd = statsd::encode_interval(&all[0], StatsdDialect::Dogstatsd);
    let line = statsd.lines().find(|line| line.contains("f:g")).unwrap();
    assert!(
        line.ends_with("step:a_b_c_d_e___f:g_h_i_,result:ok"),
        "{line}"
    );
}

#[cfg(feature = "telemetry")]
mod protobuf {
    use super::*;
    use crate::config::{HistogramForm, Temporality};
    use crate::telemetry::sink::{otlp, remote_write};

    /// The messages as text.
    pub(super) fn texts(interval: &Interval) -> Vec<String> {
        let written = remote_write::encode_interval(
            interval,
            HistogramForm::Both,
            &remote_write::KnownSeries::default(),
        );
        let message = otlp::encode_interval(interval, Temporality::Cumulative, None, 0);
        vec![
            format!("{written:#?}"),
            serde_json::to_string_pretty(&message).unwrap(),
        ]
    }

    /// `name{labels} value@time value@time`.
    fn describe(interval: &Interval, form: HistogramForm) -> String {
        let known = remote_write::KnownSeries::default();
        let series = remote_write::encode_interval(interval, form, &known);
        let lines = series.iter().map(|series| {
            let labels: Vec<_> = series
                .labels
                .iter()
                .map(|label| format!("{}={}", label.name, label.value))
                .collect();
            let samples = series
                .samples
                .iter()
                .map(|sample| format!("{}@{}", sample.value, sample.timestamp));
            let histograms = series.histograms.iter().map(|one| format!("{one:?}"));
            let exemplars = series.exemplars.iter().map(|one| format!("{one:?}"));
            let values: Vec<_> = samples.chain(histograms).chain(exemplars).collect();
            format!("{} {}\n", labels.join(","), values.join(" "))
        });
        lines.collect()
    }

    #[test]
    fn golden_remote_write() {
        let interval = second_interval();
        insta::assert_snapshot!(
            "remote_write_classic",
            describe(&interval, HistogramForm::Classic)
        );
        insta::assert_snapshot!(
            "remote_write_native",
            describe(&interval, HistogramForm::Native)
        );
    }

    /// The message of the second interval with a metric of each kind.
    fn describe_message(temporality: Temporality, is_second: bool) -> String {
        let all = two_seconds();
        let before = Some(&all[0]).filter(|_| is_second);
        let mut message = otlp::encode_interval(
            &all[1],
            temporality,
            before,
            before.map_or(0, |before| before.second + 1),
        );
        let metrics = &mut message.resource_metrics[0].scope_metrics[0].metrics;
        let kept = [
            "loadtest.errors",
            "loadtest.users",
            "loadtest.request.service",
            "loadtest.step.response",
        ];
        metrics.retain(|metric| kept.contains(&&*metric.name));
        serde_json::to_string_pretty(&message).unwrap()
    }

    #[test]
    fn golden_otlp() {
        let message = describe_message(Temporality::Cumulative, false);
        insta::assert_snapshot!("otlp_cumulative", message);
        let message = describe_message(Temporality::Delta, true);
        insta::assert_snapshot!("otlp_delta", message);
    }
}

//! Tests of the grammar of thresholds.

use super::metric::tests::any_metric;
use super::*;
use crate::threshold::{Better, Scope, Unit};
use proptest::prelude::*;
use std::time::Duration;

fn read(text: &str) -> Vec<(Option<String>, String)> {
    let conditions = parse_conditions(text).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    let show = |condition: Condition| (condition.step, condition.threshold.to_string());
    conditions.into_iter().map(show).collect()
}

fn mistakes(text: &str) -> Vec<String> {
    let mistakes = parse_conditions(text).expect_err(text);
    mistakes
        .iter()
        .map(|mistake| mistake.render_below(text))
        .collect()
}

#[test]
fn every_figure_of_the_report_can_have_a_condition() {
    let plain = |text: &str| (None, text.to_owned());
    let of = |step: &str, text: &str| (Some(step.to_owned()), text.to_owned());
    assert_eq!(
        read(
            "skips < 1%, dropped <= 0.5%, retries < 2%, throughput > 1500kB/s, throughput < 2MiB/s"
        ),
        [
            plain("skips < 1%"),
            plain("dropped <= 0.5%"),
            plain("retries < 2%"),
            plain("throughput > 1.5MB/s"),
            plain("throughput < 2.097152MB/s"),
        ]
    );
    assert_eq!(
        read(
            "count(sold_out) < 10, rate( sold_out ) > 30/m, time(\"in, line\").p95 < 1s, count(a)>=1_000"
        ),
        [
            plain("count(sold_out) < 10"),
            plain("rate(sold_out) > 0.5/s"),
            plain("time(\"in, line\").p95 < 1s"),
            plain("count(a) >= 1000"),
        ]
    );
    assert_eq!(
        read(
            "failed.p95 < 1s, lateness.max < 5ms, login.failed.p95 < 1s, login.first_byte.p99 < 1s"
        ),
        [
            plain("failed.p95 < 1s"),
            plain("lateness.max < 5ms"),
            of("login", "failed.p95 < 1s"),
            of("login", "first_byte.p99 < 1s"),
        ]
    );
    // Words that a step may have for a name.
    assert_eq!(
        read(
            "body.p95 < 1s, failed.errors < 1%, \"failed\".p95 < 1s, failed.failed.p95 < 1s, errors.p95 < 1s"
        ),
        [
            of("body", "p95 < 1s"),
            of("failed", "errors < 1%"),
            of("failed", "p95 < 1s"),
            of("failed", "failed.p95 < 1s"),
            of("errors", "p95 < 1s"),
        ]
    );
}

#[test]
fn a_condition_may_be_about_tagged_steps_or_requests_of_one_name() {
    assert_eq!(
        read(
            "tag(api).p95 < 300ms, tag( \"a b\" ).errors<1%, wait.row(\"GET /a\").rps > 1/s, tag(row).mean < 1s"
        ),
        [
            (None, "tag(api).p95 < 300ms".to_owned()),
            (None, "tag(\"a b\").errors < 1%".to_owned()),
            (
                Some("wait".to_owned()),
                "row(\"GET /a\").rps > 1/s".to_owned()
            ),
            (None, "tag(row).mean < 1s".to_owned()),
        ]
    );
    // A step may have such a name.
    assert_eq!(
        read("tag.p95 < 1s"),
        [(Some("tag".to_owned()), "p95 < 1s".to_owned())]
    );
    let scoped = |text: &str, scope| match parse_threshold(text, scope) {
        Ok(condition) => condition.threshold.to_string(),
        Err(mistake) => mistake.message,
    };
    for text in ["tag(api).tls.p95 < 1s or abort", "tag(api).checks > 99%"] {
        assert_eq!(scoped(text, Scope::Journey), text);
    }
    let text = "row(status).errors < 1% or abort after 30s";
    assert_eq!(scoped(text, Scope::Step), text);
    for (text, marked, message) in [
        ("tag(api) < 1%", "tag(api)", "write `tag(api).p95`"),
        (
            "tag(api).dropped < 1%",
            "dropped",
            "only available for whole journeys",
        ),
        (
            "tag(a).count(b) < 1",
            "count(b)",
            "write it without `tag(a)`",
        ),
        (
            "login.tag(api).p95 < 1s",
            "tag(api).",
            "write it without `login`",
        ),
        (
            "row(status).p95 < 1s",
            "row(status).",
            "write its name before it, `login.row(status)`",
        ),
        (
            "a.row(b).checks > 1%",
            "checks",
            "`checks` is not available for rows",
        ),
        (
            "a.row(b).service.p95 < 1s",
            "service.p95",
            "is not available for rows",
        ),
        (
            "tag() < 1%",
            ")",
            "the name that the scenario gives: `tag(api).p95`",
        ),
    ] {
        assert_mistake(text, marked, message);
    }
    for (text, scope, message) in [
        (
            "tag(api).p95 < 1s",
            Scope::Step,
            "put it in `thresholds(..)` of the scenario",
        ),
        (
            "row(a).p95 < 1s",
            Scope::Journey,
            "put it among the options of the step",
        ),
    ] {
        let found = scoped(text, scope);
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn a_record_keeps_the_subject_of_a_threshold_and_reads_those_without() {
    for (text, key) in [("tag(api).p95 < 1s", "tag"), ("a.row(b).p95 < 1s", "row")] {
        let threshold = &parse_conditions(text).unwrap()[0].threshold;
        let json = serde_json::to_value(threshold).unwrap();
        assert!(json["subject"][key].is_string(), "{json}");
        assert_eq!(
            serde_json::from_value::<Threshold>(json).unwrap(),
            *threshold
        );
    }
    let plain = &parse_conditions("p95 < 1s").unwrap()[0].threshold;
    let json = serde_json::to_value(plain).unwrap();
    assert!(json.get("subject").is_none(), "{json}");
    assert_eq!(serde_json::from_value::<Threshold>(json).unwrap(), *plain);
}

#[test]
fn conditions_are_read_as_a_scenario_declares_them() {
    let plain = |text: &str| (None, text.to_owned());
    assert_eq!(
        read("p95 < 300ms, errors < 1%"),
        [plain("p95 < 300ms"), plain("errors < 1%")]
    );
    assert_eq!(
        read(" p99_9<=1.5s,checks >= 99.5 % ,rps > 30/m,"),
        [
            plain("p99_9 <= 1.5s"),
            plain("checks >= 99.5%"),
            plain("rps > 0.5/s")
        ]
    );
    assert_eq!(read("rps < 500/s"), [plain("rps < 500/s")]);
    // As a report prints it.
    assert_eq!(read("p95 < 300 ms"), [plain("p95 < 300ms")]);
}

#[test]
fn a_condition_may_be_about_a_step() {
    let of = |step: &str, text: &str| (Some(step.to_owned()), text.to_owned());
    assert_eq!(
        read("login.p95 < 1s, \"GET /a, b\".errors < 1%, `p95`.max < 2s"),
        [
            of("login", "p95 < 1s"),
            of("GET /a, b", "errors < 1%"),
            of("p95", "max < 2s"),
        ]
    );
    assert_eq!(read("p95.p95 < 1s"), [of("p95", "p95 < 1s")]);
    assert_eq!(
        parse_conditions("errors < 1%, login.p95 < 1s").unwrap()[1].place,
        13..18
    );
}

#[test]
fn a_mistake_is_marked_where_it_stands() {
    assert_eq!(
        mistakes("p95 < 300, errors < 1"),
        [
            "  p95 < 300, errors < 1\n        ^^^ `300` has no unit: write `300ms`, `300s` or `300m`",
            "  p95 < 300, errors < 1\n                      ^ `1` has no unit: write `1%`",
        ]
    );
}

#[track_caller]
fn assert_mistake(text: &str, marked: &str, message: &str) {
    let mistakes = parse_conditions(text).expect_err(text);
    assert_eq!(mistakes.len(), 1, "{text}: {mistakes:?}");
    let mistake = &mistakes[0];
    assert!(mistake.message.contains(message), "{text}: {mistake:?}");
    assert_eq!(&text[mistake.place.clone()], marked, "{text}: {mistake:?}");
}

#[test]
fn every_mistake_says_what_to_write() {
    for (text, marked, message) in [
        ("", "", "expected a condition: `p95 < 300ms`"),
        ("p95 < 1s,, errors < 1%", ",", "expected a condition"),
        (
            "error < 1%",
            "error",
            "unknown metric `error`; did you mean `errors`?",
        ),
        (
            "latency < 1s",
            "latency",
            "unknown metric `latency`; available: `p50`, `p90`, `p95`, `p99`, `p99_9`, `max`, `mean`, `errors`, `checks`, \
             `skips`, `dropped`, `retries`, `rps`, `throughput`, `good`, `good_rate`, `units`; with a statistic \
             (`service.p95`): `service`, `done`, `connect`, `tls`, `first_byte`, `body`, `first_event`, `gap`, `per_unit`, \
             `failed`, `lateness`; of the scenario itself: `count(..)`, `rate(..)`, `time(..)`, `gauge(..)`",
        ),
        ("p99.9 < 1s", "p99.9", "`p99.9` is written `p99_9`"),
        ("p(95) < 300ms", "p", "without parentheses: `p95`"),
        (
            "p97 < 1s",
            "p97",
            "`p97` is not available: the percentiles are",
        ),
        (
            "http_req_duration < 1s",
            "http_req_duration",
            "did you mean `p95`?",
        ),
        (
            "p99.5 < 1s",
            "p99.5",
            "`p99.5` is not available: the percentiles are",
        ),
        ("p95 = 1s", "=", "or `>=`: `p95 < ...`"),
        ("rps 5/s", "5", "or `>=`: `rps > ...`"),
        (
            "p95 > 1s",
            "p95 >",
            "would hold when the target fails: write `p95 < ...`",
        ),
        ("checks < 1%", "checks <", "write `checks > ...`"),
        (
            "p95 < soon",
            "soon",
            "a time is a number with its unit: `300ms`, `2s`",
        ),
        ("p95 < -1s", "-1s", "a time is a number with its unit"),
        ("p95 < 1.2.3s", "1", "a time is a number"),
        ("p95 < 3x", "3x", "unknown unit `x`: use `us`"),
        (
            "p95 < 0ms",
            "0ms",
            "a time must be more than 0: write `1ms` or more",
        ),
        ("p95 < 99999999h", "99999999h", "this time is too long"),
        ("errors < 101%", "101%", "from 0% to 100%"),
        ("errors < 1s", "1s", "unknown unit `s`: write `1%`"),
        ("rps > 5", "5", "per second or minute"),
        ("p95 < 1s and errors < 1%", "and", "write `,` between them"),
        ("p95 < 1s && errors < 1%", "&", "write `,` between them"),
        (
            "p95 < 1s errors < 1%",
            "errors",
            "expected `,` and the next condition before `errors`",
        ),
        (
            "errors < 0.005",
            "0.005",
            "write `0.5%`, or `0.005%` if that is intended",
        ),
        (
            "errors < 0%",
            "errors < 0%",
            "this can never hold: write `errors <= 0%`",
        ),
        (
            "checks > 100%",
            "checks > 100%",
            "this can never hold: write `checks >= 100%`",
        ),
        (
            "\"a.p95 < 1s",
            "\"a.p95 < 1s",
            "the closing `\"` is missing",
        ),
        (
            "`a` < 1s",
            "`a`",
            "expected a metric of this step: ``a`.p95`",
        ),
        ("login. < 1s", "<", "expected a condition"),
    ] {
        assert_mistake(text, marked, message);
    }
}

#[test]
fn mistakes_in_names_and_units_say_what_to_write() {
    for (text, marked, message) in [
        ("median < 1s", "median", "did you mean `p50`?"),
        ("login.ttfb < 1s", "ttfb", "did you mean `first_byte.p95`?"),
        ("login.body.med < 1s", "med", "did you mean `p50`?"),
        (
            "login.body < 1s",
            "body",
            "`body` needs a statistic: write `body.p95`",
        ),
        (
            "login.body.p96 < 1s",
            "p96",
            "unknown statistic `p96`; did you mean",
        ),
        (
            "login.dropped < 1%",
            "dropped",
            "only available for whole journeys",
        ),
        (
            "login.count(sold_out) < 1",
            "count(sold_out)",
            "is of the whole scenario: write it without `login`",
        ),
        ("time(queued) < 1s", "time", "write `time(queued).p95`"),
        (
            "count() < 1",
            ")",
            "expected the name that the scenario gives",
        ),
        ("count(sold out) < 1", "out", "expected `)` after the name"),
        (
            "count(\"sold) < 1",
            "\"sold) < 1",
            "the closing `\"` is missing",
        ),
        ("counts(a) < 1", "counts", "did you mean `count`?"),
        ("gauge < 1", "gauge", "`gauge(queue).max`"),
        (
            "gauge(a) < 1",
            "gauge",
            "`gauge(a)` needs a figure: write `gauge(a).max`",
        ),
        (
            "gauge(a).p95 < 1",
            "p95",
            "a gauge has no `p95`; available: `last`, `min`, `max`, `mean`",
        ),
        (
            "gauge(a).max < 1ms",
            "1ms",
            "a number without a unit: `100`, `-2.5`",
        ),
        ("gauge(a).max < -", "-", "a number without a unit"),
        (
            "login.gauge(a).max < 1",
            "gauge(a).max",
            "write it without `login`",
        ),
        ("count(a) < 1%", "1%", "a whole number without a unit"),
        ("count(a) < 1.5", "1.5", "a whole number without a unit"),
        ("throughput > 5", "5", "bytes per second: `500kB/s`"),
        ("throughput > 5mb/s", "5mb/s", "bytes per second: `500kB/s`"),
        ("throughput > 5/s", "5/s", "requests per second are `rps`"),
        ("rate > 5/s", "rate", "the rate of requests is `rps`"),
        ("skips > 1%", "skips >", "write `skips < ...`"),
        (
            "errors < 1% or abort",
            "or",
            "for the thresholds of a scenario",
        ),
        (
            "count(a) < 1 or abort",
            "or",
            "for the thresholds of a scenario",
        ),
    ] {
        assert_mistake(text, marked, message);
    }
}

/// The threshold as it is shown, or the message about it and its place.
fn read_in_scope(text: &str, scope: Scope) -> (String, &str) {
    match parse_threshold(text, scope) {
        Ok(condition) => (condition.threshold.to_string(), text),
        Err(mistake) => (mistake.message, &text[mistake.place]),
    }
}

#[test]
fn attributes_take_or_abort() {
    let (step, journey) = (Scope::Step, Scope::Journey);
    for text in [
        "p95 < 300ms",
        "errors < 1% or abort",
        "tls.p95 < 1s or abort after 30s",
    ] {
        assert_eq!(read_in_scope(text, step).0, text);
    }
    for text in [
        "gauge(queue).max < 12.5 or abort",
        "gauge(\"a b\").min >= -2.5 or abort",
        "gauge(a).last > -5",
        "gauge(a).mean < 0 or abort after 30s",
    ] {
        assert_eq!(read_in_scope(text, journey).0, text);
    }
    for text in [
        "gauge(a).max > 1 or abort",
        "gauge(a).min < 1 or abort after 3s",
    ] {
        assert_eq!(read_in_scope(text, journey).1, "or", "{text}");
    }
    let rate = "rps > 5/s or abort after 10s";
    assert_eq!(read_in_scope(rate, journey).0, rate);
}

#[test]
fn mistakes_are_marked_at_their_words() {
    let (step, journey) = (Scope::Step, Scope::Journey);
    for (text, scope, place, message) in [
        (
            "dropped < 1%",
            step,
            "dropped",
            "put it in `thresholds(..)` of the scenario",
        ),
        (
            "tls.p95 < 1s",
            journey,
            "tls.p95",
            "put it among the options of the step",
        ),
        ("login.p95 < 1s", journey, "login", "`#[step(p95 < 300ms)]`"),
        ("login.p95 < 1s", step, "login", "unknown metric `login`"),
        (
            "servce.p95 < 1s",
            journey,
            "servce",
            "did you mean `service`?",
        ),
        (
            "errors.p95 < 1s",
            journey,
            "errors",
            "`errors` is one figure",
        ),
        ("p95.x < 1s", step, "p95.x", "`p95.x` is not available"),
        (
            "errors < 5% and abort",
            journey,
            "and",
            "written `errors < 5% or abort`",
        ),
        (
            "count < 1",
            journey,
            "count",
            "the name of a custom counter: `count(sold_out)`",
        ),
        (
            "time < 1s",
            journey,
            "time",
            "the name of a custom time: `time(queued).p95`",
        ),
        ("errors < 1% or stop", step, "stop", "`or abort after 30s`"),
        (
            "errors < 1% or abort later",
            step,
            "later",
            "`or abort after 30s`",
        ),
        (
            "errors < 1% or abort after 0s",
            step,
            "0s",
            "is not a delay",
        ),
        (
            "count(a) > 1 or abort",
            journey,
            "or",
            "leave `or abort` out",
        ),
        (
            "rps > 5/s or abort",
            journey,
            "abort",
            "`or abort after 10s`",
        ),
        (
            "errors < 1% and more",
            step,
            "and",
            "write `,` between them",
        ),
    ] {
        let (found, marked) = read_in_scope(text, scope);
        assert!(found.contains(message), "{text}: {found}");
        assert_eq!(marked, place, "{text}: {found}");
    }
}

#[test]
fn the_words_that_begin_a_threshold_are_of_one_kind_each() {
    assert!(is_metric_word("p95") && is_part_word("tls") && is_custom_word("count"));
    assert!(is_custom_word("tag") && is_custom_word("row") && is_custom_word("gauge"));
    assert!(!is_metric_word("tls") && !is_part_word("p95") && !is_custom_word("counts"));
}

proptest! {
    #[test]
    fn what_a_threshold_shows_is_read_again(metric in any_metric(), is_floor in any::<bool>(), or_equal in any::<bool>(), amount in 1_u32..10_000) {
        let is_floor = match metric.better() {
            Better::Less => false,
            Better::More => true,
            Better::Either => is_floor,
        };
        let comparison = match (is_floor, or_equal) {
            (true, true) => Comparator::GreaterOrEqual,
            (true, false) => Comparator::Greater,
            (false, true) => Comparator::LessOrEqual,
            (false, false) => Comparator::Less,
        };
        let bound = match metric.unit() {
            Unit::Share => Bound::Ratio(f64::from(amount) / 1e4),
            Unit::PerSecond => Bound::PerSecond(f64::from(amount) / 8.0),
            Unit::BytesPerSecond => Bound::BytesPerSecond(f64::from(amount) * 12_347.0),
            Unit::Count => Bound::Count(u64::from(amount)),
            Unit::Number => Bound::Number(f64::from(amount) / 8.0 - 100.0),
            Unit::Time => Bound::Time(Duration::from_micros(u64::from(amount) * 37)),
        };
        let threshold = Threshold::new(metric, comparison, bound);
        let text = threshold.to_string();
        // In a text a part of a step's time has its step before it.
        let is_of_step = threshold.metric.scope() == Scope::Step;
        let prefix = if is_of_step { "login." } else { "" };
        let read = parse_conditions(&format!("{prefix}{text}")).unwrap();
        prop_assert_eq!(read[0].threshold.to_string(), text);
        prop_assert_eq!(&read[0].threshold.metric, &threshold.metric);
        prop_assert_eq!(read[0].step.is_some(), is_of_step);
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,40}", places in proptest::collection::vec("(p95|errors|time|count|body|[<>=,.\"`() ]|1s|µ|é|3%|MB/s| or ){1}", 0..12)) {
        for text in [text, places.concat()] {
            if let Err(mistakes) = parse_conditions(&text) {
                for mistake in mistakes {
                    let shown = mistake.render_below(&text);
                    prop_assert!(shown.contains('^'));
                }
            }
        }
    }
}

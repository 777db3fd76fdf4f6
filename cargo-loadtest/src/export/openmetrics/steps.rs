//! The families of steps, of groups of them, and of the requests of steps that send for themselves.

use super::LabelledCard;
use super::page::{Labels, MetricsText, Sample};
use crate::export::labels::unique_names;
use loadtest_console::console::clean;
use loadtest_model::card::{GroupRow, InnerRow, Quantiles, StepRow, StreamRow};

/// A family with a sample per step: its name and the figure.
type StepFamily<T> = (&'static str, fn(&StepRow) -> T);

const GAUGES: [StepFamily<Option<f64>>; 4] = [
    ("step_score_ratio", |step| {
        step.grade.map(|grade| grade.score)
    }),
    ("step_error_ratio", |step| step.error_rate),
    ("step_executions_per_second", |step| step.per_second),
    ("step_time_share_ratio", |step| step.time_share),
];

const COUNTERS: [StepFamily<u64>; 3] = [
    ("step_requests", |step| step.requests),
    ("step_sent_bytes", |step| step.sent_bytes),
    ("step_received_bytes", |step| step.received_bytes),
];

/// The same of the times of each step.
type StepTimes = (&'static str, fn(&StepRow) -> &Quantiles);

const SUMMARIES: [StepTimes; 2] = [
    ("step_response_time_seconds", |step| &step.response),
    ("step_service_time_seconds", |step| &step.service),
];

/// The same of the streams of each step.
type StreamTimes = (&'static str, fn(&StreamRow) -> &Quantiles);

const STREAM_SUMMARIES: [StreamTimes; 3] = [
    ("step_first_event_seconds", |stream| &stream.first_event),
    ("step_gap_seconds", |stream| &stream.gap),
    ("step_per_unit_seconds", |stream| &stream.per_unit),
];

pub(super) fn write_steps(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let steps = || cards.iter().flat_map(LabelledCard::steps);
    for (name, figure) in GAUGES {
        let samples = steps().map(|(step, labels)| (labels, figure(step)));
        text.family(name, samples);
    }
    text.family(
        "step_executions",
        steps().flat_map(|(step, labels)| count_results(step, &labels)),
    );
    for (name, count) in COUNTERS {
        let samples = steps().map(|(step, labels)| (labels, Some(count(step) as f64)));
        text.family(name, samples);
    }
    for (name, times) in SUMMARIES {
        let all = steps().map(|(step, labels)| (labels, times(step)));
        text.summary(name, all);
    }
    write_streams(text, cards);
}

/// Writes the streams of events and the shares of good executions, where there are some.
fn write_streams(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let steps = || cards.iter().flat_map(LabelledCard::steps);
    let streams = || steps().filter_map(|(step, labels)| Some((step.stream.as_ref()?, labels)));
    if streams().next().is_some() {
        for (name, times) in STREAM_SUMMARIES {
            text.summary(
                name,
                streams().map(|(stream, labels)| (labels, times(stream))),
            );
        }
    }
    let units = streams().map(|(stream, labels)| (labels, Some(stream.units as f64)));
    text.optional_family("step_units", units.collect());
    let good = steps().filter_map(|(step, labels)| Some((labels, Some(step.good?))));
    text.optional_family("step_good_ratio", good.collect());
}

fn count_results(step: &StepRow, labels: &Labels) -> Vec<Sample> {
    let counts = [
        ("ok", step.ok),
        ("failed", step.failed),
        ("cancelled", step.cancelled),
        ("skipped_dependency", step.skipped),
        ("skipped_not_drawn", step.skipped_not_drawn),
        ("not_drawn", step.not_drawn),
        ("left_out", step.left_out),
        ("kept", step.kept),
    ];
    let counts = counts.into_iter();
    counts
        .map(|(result, count)| (with_label(labels, "result", result), Some(count as f64)))
        .collect()
}

fn with_label(labels: &Labels, label: &'static str, text: &str) -> Labels {
    let mut labels = labels.clone();
    labels.push((label, text.to_owned()));
    labels
}

/// A family with a sample per group: its name and the figure.
type GroupFamily = (&'static str, fn(&GroupRow) -> Option<f64>);

/// Writes the groups, where there are some.
pub(super) fn write_groups(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let mut rows: Vec<(&GroupRow, Labels)> = Vec::new();
    for scenario in cards {
        let groups = &scenario.card.groups;
        let names = unique_names(groups.iter().map(|row| clean(&row.name)));
        let groups = groups.iter().zip(names);
        rows.extend(groups.map(|(row, name)| (row, scenario.labels(&[("group", &name)]))));
    }
    if rows.is_empty() {
        return;
    }
    let figures: [GroupFamily; 3] = [
        ("group_error_ratio", |group| group.error_rate),
        ("group_executions_per_second", |group| group.per_second),
        ("group_time_share_ratio", |group| group.time_share),
    ];
    for (name, figure) in figures {
        let samples = rows
            .iter()
            .map(|(row, labels)| (labels.clone(), figure(row)));
        text.family(name, samples);
    }
    let results = rows.iter().flat_map(|(row, labels)| {
        [("ok", row.executed - row.failed), ("failed", row.failed)]
            .map(|(result, count)| (with_label(labels, "result", result), Some(count as f64)))
    });
    text.family("group_executions", results);
    text.summary(
        "group_response_time_seconds",
        rows.iter()
            .map(|(row, labels)| (labels.clone(), &row.response)),
    );
}

/// Writes the requests of steps that send for themselves.
pub(super) fn write_requests(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let mut rows: Vec<(&InnerRow, Labels)> = Vec::new();
    for (step, labels) in cards.iter().flat_map(LabelledCard::steps) {
        let names = unique_names(step.inner.iter().map(|row| clean(&row.name)));
        let inner = step.inner.iter().zip(names);
        rows.extend(inner.map(|(row, name)| (row, with_label(&labels, "request", &name))));
    }
    if rows.is_empty() {
        return;
    }
    let results = rows.iter().flat_map(|(row, labels)| {
        let ok = row.requests.saturating_sub(row.failed);
        [("ok", ok), ("failed", row.failed)]
            .map(|(result, count)| (with_label(labels, "result", result), Some(count as f64)))
    });
    text.family("requests", results);
    let scores = rows.iter().map(|(row, labels)| {
        let score = row.grade.map(|grade| grade.score);
        (labels.clone(), score)
    });
    text.family("request_score_ratio", scores);
    text.summary(
        "request_service_time_seconds",
        rows.iter()
            .map(|(row, labels)| (labels.clone(), &row.service)),
    );
    let messages = rows.iter().filter_map(|(row, labels)| {
        let messages = row.messages?;
        let counts = [("sent", messages.sent), ("received", messages.received)];
        Some(counts.map(|(direction, count)| {
            (
                with_label(labels, "direction", direction),
                Some(count as f64),
            )
        }))
    });
    text.optional_family("call_messages", messages.flatten().collect());
}

//! The families of steps, and of the requests of steps that send for themselves.

use super::LabelledCard;
use super::page::{FamilyKind, Labels, MetricsText, Sample};
use crate::console::clean;
use crate::export::labels::unique_names;
use loadtest_model::card::{InnerRow, Quantiles, StepRow};

/// A family with a sample per step: its name, its help and the figure.
type StepFamily<T> = (&'static str, &'static str, fn(&StepRow) -> T);

const GAUGES: [StepFamily<Option<f64>>; 4] = [
    (
        "loadtest_step_score_ratio",
        "The score of the grade of the step.",
        |step| step.grade.map(|grade| grade.score),
    ),
    (
        "loadtest_step_error_ratio",
        "Failed of all executions.",
        |step| step.error_rate,
    ),
    (
        "loadtest_step_executions_per_second",
        "Executions per second that sent something.",
        |step| step.per_second,
    ),
    (
        "loadtest_step_time_share_ratio",
        "The share of the service time of all steps.",
        |step| step.time_share,
    ),
];

const COUNTERS: [StepFamily<u64>; 3] = [
    (
        "loadtest_step_requests",
        "Requests written to a connection, repeated ones included.",
        |step| step.requests,
    ),
    (
        "loadtest_step_sent_bytes",
        "Bytes written, heads included.",
        |step| step.sent_bytes,
    ),
    (
        "loadtest_step_received_bytes",
        "Bytes read, heads included.",
        |step| step.received_bytes,
    ),
];

/// The same of the times of each step.
type StepTimes = (&'static str, &'static str, fn(&StepRow) -> &Quantiles);

const SUMMARIES: [StepTimes; 2] = [
    (
        "loadtest_step_response_time_seconds",
        "Response time of ok executions, and of timeouts at their deadline.",
        |step| &step.response,
    ),
    (
        "loadtest_step_service_time_seconds",
        "The same without the delay of a late start.",
        |step| &step.service,
    ),
];

pub(super) fn write_steps(text: &mut MetricsText, cards: &[LabelledCard<'_>]) {
    let steps = || cards.iter().flat_map(LabelledCard::steps);
    for (name, help, figure) in GAUGES {
        let samples = steps().map(|(step, labels)| (labels, figure(step)));
        text.family(FamilyKind::Gauge, name, help, samples);
    }
    text.family(
        FamilyKind::Counter,
        "loadtest_step_executions",
        "Times an iteration came by the step, by what became of it.",
        steps().flat_map(|(step, labels)| count_results(step, &labels)),
    );
    for (name, help, count) in COUNTERS {
        let samples = steps().map(|(step, labels)| (labels, Some(count(step) as f64)));
        text.family(FamilyKind::Counter, name, help, samples);
    }
    for (name, help, times) in SUMMARIES {
        let all = steps().map(|(step, labels)| (labels, times(step)));
        text.summary(name, help, all);
    }
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
    text.family(
        FamilyKind::Counter,
        "loadtest_requests",
        "Requests of steps that send for themselves.",
        results,
    );
    text.summary(
        "loadtest_request_service_time_seconds",
        "Service time of these requests.",
        rows.iter()
            .map(|(row, labels)| (labels.clone(), &row.service)),
    );
}

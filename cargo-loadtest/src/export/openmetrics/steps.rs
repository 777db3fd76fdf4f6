//! The families of steps, and of the requests of steps that send for themselves.

use super::Scenario;
use super::page::Page;
use crate::console::clean;
use crate::export::labels::unique_names;
use loadtest_model::card::{Quantiles, StepRow};

pub(super) fn of_steps(page: &mut Page, cards: &[Scenario<'_>]) {
    let mut gauge = |name: &str, help: &str, figure: fn(&StepRow) -> Option<f64>| {
        page.family(name, "gauge", help);
        for (step, labels) in cards.iter().flat_map(Scenario::steps) {
            page.figure(name, &labels, figure(step));
        }
    };
    gauge(
        "loadtest_step_score_ratio",
        "The score of the grade of the step.",
        |step| step.grade.map(|grade| grade.score),
    );
    gauge(
        "loadtest_step_error_ratio",
        "Failed of all executions.",
        |step| step.error_rate,
    );
    gauge(
        "loadtest_step_executions_per_second",
        "Executions per second that sent something.",
        |step| step.per_second,
    );
    gauge(
        "loadtest_step_time_share_ratio",
        "The share of the service time of all steps.",
        |step| step.time_share,
    );
    let name = "loadtest_step_executions";
    let help = "Times an iteration came by the step, by what became of it.";
    page.family(name, "counter", help);
    for (step, [scenario, name]) in cards.iter().flat_map(Scenario::steps) {
        for (result, count) in [
            ("ok", step.ok),
            ("failed", step.failed),
            ("cancelled", step.cancelled),
            ("skipped_dependency", step.skipped),
            ("skipped_not_drawn", step.skipped_not_drawn),
            ("not_drawn", step.not_drawn),
            ("left_out", step.left_out),
            ("kept", step.kept),
        ] {
            let labels = [scenario, name, ("result", result)];
            page.sample("loadtest_step_executions_total", &labels, count as f64);
        }
    }
    for (name, help, count) in [
        (
            "loadtest_step_requests",
            "Requests written to a connection, repeated ones included.",
            (|step| step.requests) as fn(&StepRow) -> u64,
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
    ] {
        page.family(name, "counter", help);
        for (step, labels) in cards.iter().flat_map(Scenario::steps) {
            page.sample(&format!("{name}_total"), &labels, count(step) as f64);
        }
    }
    for (name, help, times) in [
        (
            "loadtest_step_response_time_seconds",
            "Response time of ok executions, and of timeouts at their deadline.",
            (|step| &step.response) as fn(&StepRow) -> &Quantiles,
        ),
        (
            "loadtest_step_service_time_seconds",
            "The same without the delay of a late start.",
            |step| &step.service,
        ),
    ] {
        page.family(name, "summary", help);
        for (step, labels) in cards.iter().flat_map(Scenario::steps) {
            page.summary(name, &labels, times(step));
        }
    }
}

/// The requests of steps that send for themselves.
pub(super) fn of_requests(page: &mut Page, cards: &[Scenario<'_>]) {
    if !cards
        .iter()
        .flat_map(Scenario::steps)
        .any(|(step, _)| !step.inner.is_empty())
    {
        return;
    }
    let names = |step: &StepRow| unique_names(step.inner.iter().map(|row| clean(&row.name)));
    page.family(
        "loadtest_requests",
        "counter",
        "Requests of steps that send for themselves.",
    );
    for (step, [scenario, of]) in cards.iter().flat_map(Scenario::steps) {
        for (row, name) in step.inner.iter().zip(names(step)) {
            let ok = row.requests.saturating_sub(row.failed);
            for (result, count) in [("ok", ok), ("failed", row.failed)] {
                let labels = [scenario, of, ("request", name.as_str()), ("result", result)];
                page.sample("loadtest_requests_total", &labels, count as f64);
            }
        }
    }
    let name = "loadtest_request_service_time_seconds";
    page.family(name, "summary", "Service time of these requests.");
    for (step, [scenario, of]) in cards.iter().flat_map(Scenario::steps) {
        for (row, request) in step.inner.iter().zip(names(step)) {
            page.summary(name, &[scenario, of, ("request", &request)], &row.service);
        }
    }
}

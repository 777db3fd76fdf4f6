//! From what a frame holds to series: the one place that says which figure is in which family.

use super::bounds::Detail;
use super::interval::Exemplar;
use super::table::SeriesTable;
use crate::course::Course;
use crate::export::labels::unique_names;
use jiff::{SignedDuration, Timestamp};
use loadtest_console::console::clean;
use loadtest_model::card::{ThresholdRow, Trust};
use loadtest_model::definition::{Bound, ScenarioDef};
use loadtest_model::metrics::{
    Frame, InnerTally, MessageCounts, OTHERS, StepTally, StreamTally, Tally, WebSocketTally,
};
use loadtest_model::record::RunStart;
use loadtest_model::schedule::{Schedule, Window};
use loadtest_model::trace::TracePoint;
use std::time::Duration;

/// The names of a scenario's parts, as labels have them.
#[derive(Debug)]
pub(super) struct PartNames {
    steps: Vec<String>,
    /// Those that read streams of events, and those that say what a good execution is.
    streams: Vec<bool>,
    have_good: Vec<bool>,
    groups: Vec<String>,
    detail: Detail,
}

impl PartNames {
    pub(super) fn new(definition: &ScenarioDef, detail: Detail) -> Self {
        let steps = definition.steps.iter().map(|step| clean(&step.name));
        let groups = definition.groups.iter().map(|group| clean(&group.name));
        Self {
            steps: unique_names(steps),
            streams: (definition.steps.iter())
                .map(|step| step.stream.is_some())
                .collect(),
            have_good: (definition.steps.iter())
                .map(|step| !step.good.is_empty())
                .collect(),
            groups: unique_names(groups),
            detail,
        }
    }

    fn step(&self, number: usize) -> &str {
        self.steps.get(number).map_or("?", String::as_str)
    }

    /// Adds what a part of the load counted and timed.
    pub(super) fn add_tally(&self, table: &mut SeriesTable, tally: &Tally) {
        let journey = &tally.journey;
        for (result, number) in [
            ("ok", journey.ok),
            ("failed", journey.failed),
            ("dropped", journey.dropped),
            ("cancelled", journey.cancelled),
        ] {
            table.count("journeys", &[("result", result)], number as f64);
        }
        let (good, failed) = (&journey.time, &journey.failed_time);
        table.time_with_failures("journey_time_seconds", &[], good, failed);
        table.time("generator_lateness_seconds", &[], &journey.lateness);
        for (number, name) in self.steps.iter().enumerate() {
            let nothing = StepTally::default();
            let step = tally.steps.get(number).unwrap_or(&nothing);
            self.add_step(table, name, step);
            self.add_stream(table, number, step);
        }
        for (name, group) in self.groups.iter().zip(&tally.groups) {
            let ok = group.executed.saturating_sub(group.failed);
            for (result, number) in [("ok", ok), ("failed", group.failed)] {
                let labels = [("group", &**name), ("result", result)];
                table.count("group_executions", &labels, number as f64);
            }
            let labels = [("group", &**name)];
            let (good, failed) = (&group.response, &group.failed_response);
            table.time_with_failures("group_response_seconds", &labels, good, failed);
        }
        for failure in &tally.dependencies {
            let labels = [
                ("step", self.step(failure.step)),
                ("root_step", self.step(failure.cause.step)),
                ("cause", &failure.cause.root.to_string()),
            ];
            table.count("dependency_failures", &labels, failure.count as f64);
        }
        for (name, number) in &tally.own.counters {
            table.count("own", &[("name", &clean(name))], *number as f64);
        }
        for (name, times) in &tally.own.timings {
            table.time("own_seconds", &[("name", &clean(name))], times);
        }
        for (name, numbers) in &tally.own.gauges {
            table.set("own_gauge", &[("name", &clean(name))], numbers.last);
        }
    }

    /// Adds the slowest sampled execution of each step in a second, as examples of the interval of `second`.
    pub(super) fn add_exemplars(
        &self,
        table: &mut SeriesTable,
        frame: &Frame,
        start: Timestamp,
        second: u32,
    ) {
        for (number, name) in self.steps.iter().enumerate() {
            let mut slowest = None;
            for tally in measured_parts(frame) {
                let step = tally.steps.get(number);
                TracePoint::keep_slower(&mut slowest, step.and_then(|step| step.traced));
            }
            if let Some(point) = slowest {
                let exemplar = make_exemplar(&point, start, second);
                table.exemplify("step_response_seconds", &[("step", name)], exemplar);
            }
        }
    }

    fn add_step(&self, table: &mut SeriesTable, name: &str, step: &StepTally) {
        for (result, number) in [
            ("ok", step.ok),
            ("failed", step.failed),
            ("cancelled", step.cancelled),
            ("skipped_dependency", step.skipped),
            ("skipped_not_drawn", step.skipped_not_drawn),
            ("not_drawn", step.not_drawn),
            ("left_out", step.left_out),
            ("kept", step.kept),
        ] {
            let labels = [("step", name), ("result", result)];
            table.count("step_executions", &labels, number as f64);
        }
        let labels = [("step", name)];
        for (family, number) in [
            ("step_requests", step.requests),
            ("step_retries", step.retries),
            ("step_sent_bytes", step.sent_bytes),
            ("step_received_bytes", step.received_bytes),
        ] {
            table.count(family, &labels, number as f64);
        }
        let failed = &step.failed_response;
        table.time_with_failures("step_response_seconds", &labels, &step.response, failed);
        let (good, failed_service) = (&step.service, &step.failed_service);
        table.time_with_failures("step_service_seconds", &labels, good, failed_service);
        table.time("step_failed_response_seconds", &labels, failed);
        let phases = [
            ("step_first_byte_seconds", &step.phases.first_byte),
            ("step_connect_seconds", &step.phases.connect),
            ("step_tls_seconds", &step.phases.tls),
            ("step_stream_wait_seconds", &step.phases.stream_wait),
            ("step_upload_seconds", &step.phases.upload),
        ];
        for (family, times) in phases {
            // A step without connections of its own never has some of them.
            if self.detail.has_phases() && !times.is_empty() {
                table.time(family, &labels, times);
            }
        }
        for error in &step.errors {
            let status = error.status.map(|status| status.to_string());
            let labels = [
                ("step", name),
                ("kind", error.kind.name()),
                ("status", status.as_deref().unwrap_or_default()),
            ];
            table.count("errors", &labels, error.count as f64);
        }
        for row in &step.inner {
            self.add_row(table, name, row);
        }
    }

    /// Adds the streams of events of a step, and its good executions.
    fn add_stream(&self, table: &mut SeriesTable, number: usize, step: &StepTally) {
        let labels = [("step", self.step(number))];
        if self.streams[number] {
            let nothing = StreamTally::default();
            let stream = step.stream.as_deref().unwrap_or(&nothing);
            table.count("step_units", &labels, stream.units as f64);
            table.count("step_events", &labels, stream.events as f64);
            table.time("step_first_event_seconds", &labels, &stream.first_event);
            table.time("step_gap_seconds", &labels, &stream.gap);
            table.time("step_per_unit_seconds", &labels, &stream.per_unit);
        }
        if self.have_good[number] {
            table.count("step_good", &labels, step.good as f64);
        }
    }

    fn add_row(&self, table: &mut SeriesTable, step: &str, row: &InnerTally) {
        let request = match self.detail {
            Detail::All => row_label(&row.name),
            Detail::FoldedRows | Detail::NoPhases => OTHERS.to_owned(),
            Detail::NoRows => return,
        };
        let ok = row.requests.saturating_sub(row.failed);
        for (result, number) in [("ok", ok), ("failed", row.failed)] {
            let labels = [("step", step), ("request", &*request), ("result", result)];
            table.count("requests", &labels, number as f64);
        }
        let labels = [("step", step), ("request", &*request)];
        let (good, failed) = (&row.service, &row.failed_service);
        table.time_with_failures("request_service_seconds", &labels, good, failed);
        for (direction, number) in row.messages.into_iter().flat_map(list_directions) {
            let labels = [
                ("step", step),
                ("request", &*request),
                ("direction", direction),
            ];
            table.count("call_messages", &labels, number as f64);
        }
    }
}

fn list_directions(messages: MessageCounts) -> [(&'static str, u64); 2] {
    [("sent", messages.sent), ("received", messages.received)]
}

/// Returns the example that an execution is. Its end is within the second of its interval: receivers take examples in
/// order only, and a late start is a part of its time.
fn make_exemplar(point: &TracePoint, start: Timestamp, second: u32) -> Exemplar {
    let from = u64::from(second) * 1_000_000;
    let end = (point.begin_us + point.time_us).clamp(from, from + 999_000);
    let end = SignedDuration::from_micros(end.cast_signed());
    Exemplar {
        trace: point.trace_id,
        span: point.span_id,
        value: point.time_us as f64 / 1e6,
        at: start.saturating_add(end).unwrap_or(start),
        second,
    }
}

/// The label of requests of one name. One that was made of method and path is the method: a path can hold what a
/// target answered.
fn row_label(name: &str) -> String {
    let is_method =
        |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    match name.split_once(' ') {
        Some((method, path)) if is_method(method) && path.contains('/') => method.to_owned(),
        _ => clean(name),
    }
}

/// Sets the figures of a second that are no counts: what the load asks for, what there is, and what holds so far.
pub(super) fn set_gauges(table: &mut SeriesTable, frame: &Frame, course: &Course) {
    let start = &course.record.start;
    table.set("users", &[], f64::from(frame.active_users));
    let schedule = Schedule::new(&start.plan.load);
    let middle = Duration::from_secs_f64(f64::from(frame.second) + 0.5);
    if let Some(target) = schedule
        .target(middle)
        .filter(|_| start.plan.load.is_open())
    {
        table.set("target_per_second", &[], target * start.plan.shard.share());
    }
    let is_steady = schedule.window(middle) == Window::Steady;
    table.set("steady", &[], flag_value(is_steady));
    let health = &frame.health;
    table.set("generator_cpu_ratio", &[], health.busiest_worker);
    table.count("generator_stalls", &[], f64::from(health.stalled_seconds));
    table.count(
        "generator_throttled_seconds",
        &[],
        health.throttled_us as f64 / 1e6,
    );
    let mut steps = start.definition.steps.iter();
    if steps.any(|step| step.websocket.is_some()) {
        set_websockets(table, &frame.websockets);
    }
    let is_valid = course.validity.trust == Trust::Valid;
    table.set("generator_valid", &[], flag_value(is_valid));
    let thresholds = start.plan.thresholds.iter();
    for (scoped, row) in thresholds.zip(ThresholdRow::so_far(&course.record)) {
        let step = clean(row.step.as_deref().unwrap_or_default());
        let condition = clean(&row.condition);
        let labels = [("step", &*step), ("condition", &*condition)];
        let bound = match scoped.threshold.bound {
            Bound::Time(limit) => limit.as_secs_f64(),
            _ => row.bound,
        };
        table.set("threshold_bound", &labels, bound);
        // Without samples nothing is known of it yet.
        if row.actual.is_some() {
            table.set("threshold_held", &labels, flag_value(row.passed));
        }
    }
}

fn set_websockets(table: &mut SeriesTable, sockets: &WebSocketTally) {
    table.set("websockets_open", &[], sockets.most_open as f64);
    table.count("websockets_opened", &[], sockets.opened as f64);
    let by_user = sockets.closed_by_user as f64;
    table.count(
        "websockets_closed",
        &[("by", "user"), ("code", "")],
        by_user,
    );
    for (code, number) in &sockets.closed_by_target {
        let labels = [("by", "target"), ("code", &*code.to_string())];
        table.count("websockets_closed", &labels, *number as f64);
    }
    for (direction, messages, bytes) in [
        ("sent", sockets.sent_messages, sockets.sent_bytes),
        (
            "received",
            sockets.received_messages,
            sockets.received_bytes,
        ),
    ] {
        let labels = [("direction", direction)];
        table.count("websocket_messages", &labels, messages as f64);
        table.count("websocket_message_bytes", &labels, bytes as f64);
    }
}

fn flag_value(is_set: bool) -> f64 {
    f64::from(u8::from(is_set))
}

/// Sets the series that says what runs.
pub(super) fn set_info(table: &mut SeriesTable, start: &RunStart, run: &[(&'static str, &str)]) {
    let load = clean(&loadtest_model::display::format_planned_load(&start.plan));
    let seed = start.plan.seed.to_string();
    let more = [
        ("load", &*load),
        ("seed", &*seed),
        ("fingerprint", &*start.definition.fingerprint),
    ];
    table.set("run", &[run, &more].concat(), 1.0);
}

/// Adds up what is of the measured part of a second.
pub(super) fn measured_parts(frame: &Frame) -> [&Tally; 2] {
    [&frame.windows.ramp, &frame.windows.steady]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_no_label() {
        for (name, label) in [
            ("GET /users/ada", "GET"),
            ("POST other.example:8080/x", "POST"),
            ("pay", "pay"),
            ("pay by card", "pay by card"),
            ("GET quote", "GET quote"),
            (OTHERS, OTHERS),
        ] {
            assert_eq!(row_label(name), label, "{name}");
        }
    }
}

//! The state of a run so far: its phase, its limits, its errors and its rate over the last minute.

use super::Course;
use loadtest_console::console::clean;
use loadtest_console::units;
use loadtest_model::card::ThresholdRow;
use loadtest_model::display;
use loadtest_model::metrics::ErrorKind;
use loadtest_model::schedule::{Model, Schedule, Window};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The seconds that a sparkline covers.
pub(crate) const SPARKLINE_SECONDS: usize = 60;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The limits of a run by what is known of them so far.
#[derive(Debug, Default)]
pub(crate) struct LimitsSoFar {
    pub(crate) broken: Vec<String>,
    pub(crate) holding: Vec<String>,
    pub(crate) unmeasured: Vec<String>,
}

impl LimitsSoFar {
    pub(crate) fn of(course: &Course) -> Self {
        let mut limits = Self::default();
        for row in ThresholdRow::so_far(&course.record) {
            let text = format_limit(&row);
            match row.actual {
                None => limits.unmeasured.push(text),
                Some(_) if row.passed => limits.holding.push(text),
                Some(_) => limits.broken.push(text),
            }
        }
        limits
    }

    /// `1 of 2 limits broken: errors < 1 %: 12.4 %`, or `both limits hold`.
    pub(crate) fn summary(&self) -> String {
        let all = self.broken.len() + self.holding.len() + self.unmeasured.len();
        let limits = display::format_counted(all as u64, "limit");
        match (self.broken.first(), self.holding.len()) {
            (Some(_), _) => format!(
                "{} of {limits} broken: {}",
                self.broken.len(),
                self.broken.join(", ")
            ),
            (None, 0) => format!("{limits}, nothing measured yet"),
            (None, holding) => format!("{holding} of {limits} holding"),
        }
    }
}

/// `login.p95 < 300 ms: 412 ms`.
fn format_limit(row: &ThresholdRow) -> String {
    let step = row.step.as_deref().map(|step| format!("{}.", clean(step)));
    let condition = clean(&row.condition);
    let text = format!("{}{condition}", step.unwrap_or_default());
    match row.actual {
        Some(_) => format!("{text}: {}", row.actual_words),
        None => text,
    }
}

/// `ramp-up, 8s left`.
pub(crate) fn describe_phase(course: &Course, elapsed: Duration) -> String {
    let schedule = Schedule::new(&course.record.start.plan.load);
    let is_over = schedule.end().is_some_and(|end| elapsed >= end);
    let name = match schedule.window(elapsed) {
        _ if is_over => return "finishing: waiting for requests in flight".to_owned(),
        _ if matches!(schedule.model(), Model::Iterations { .. }) => return "running".to_owned(),
        Window::WarmUp => "warm-up",
        Window::Steady => "steady",
        Window::Ramp if schedule.steady_part(elapsed).is_zero() => "ramp-up",
        Window::Ramp => "ramp-down",
    };
    let end = schedule.window_end(elapsed);
    let end = schedule.end().map_or(end, |last| last.min(end));
    let left = end.saturating_sub(elapsed).as_secs_f64().ceil();
    format!(
        "{name}, {} left",
        units::show(Duration::from_secs(left as u64))
    )
}

/// `44 errors, most often status 500 in browse (40)`; `None` without errors.
pub(crate) fn describe_errors(course: &Course) -> Option<String> {
    let mut counts: BTreeMap<(ErrorKind, Option<u16>, usize), u64> = BTreeMap::new();
    for tally in course.record.windows.all() {
        for (at, step) in tally.steps.iter().enumerate() {
            for error in &step.errors {
                *counts.entry((error.kind, error.status, at)).or_default() += error.count;
            }
        }
    }
    let all = counts.values().sum::<u64>();
    let ((kind, status, step), most) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let name = course.record.start.definition.steps.get(step)?;
    let kind = match status {
        Some(status) if kind == ErrorKind::Status => format!("status {status}"),
        _ => kind.name().to_owned(),
    };
    Some(format!(
        "{}, most often {kind} in {} ({most})",
        display::format_counted(all, "error"),
        clean(&name.name)
    ))
}

/// Draws the newest `width` of `values`, a bar each.
pub(crate) fn draw_sparkline(values: &VecDeque<u64>, width: usize) -> String {
    let shown = values.range(values.len().saturating_sub(width)..);
    let most = shown.clone().copied().max().unwrap_or(0).max(1);
    let highest = BARS.len() as u64 - 1;
    shown
        .map(|value| BARS[(value * highest).div_ceil(most) as usize])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::metrics::ErrorTally;

    fn course(seconds: u32) -> Course {
        let mut course = Course::new(sample::start(), Duration::ZERO);
        for second in 0..seconds {
            course.add(sample::frame(second, 20));
        }
        course
    }

    #[test]
    fn a_limit_is_unmeasured_then_holds_or_is_broken() {
        let implied = ["errors < 1 %".to_owned()];
        assert_eq!(LimitsSoFar::of(&course(0)).unmeasured, implied);
        assert_eq!(
            LimitsSoFar::of(&course(0)).summary(),
            "1 limit, nothing measured yet"
        );
        let limits = LimitsSoFar::of(&course(3));
        assert_eq!(limits.holding, ["errors < 1 %: 0 %"]);
        assert_eq!(limits.summary(), "1 of 1 limit holding");
        let mut failing = course(3);
        let mut frame = sample::frame(3, 15);
        frame.windows.steady.journey.dropped = 25;
        failing.add(frame);
        let limits = LimitsSoFar::of(&failing);
        assert_eq!(limits.broken, ["errors < 1 %: 25.0 %"]);
        assert_eq!(
            limits.summary(),
            "1 of 1 limit broken: errors < 1 %: 25.0 %"
        );
    }

    #[test]
    fn the_phase_follows_the_load() {
        let course = course(1);
        let phase = |seconds| describe_phase(&course, Duration::from_secs(seconds));
        assert_eq!(phase(0), "ramp-up, 2s left");
        assert_eq!(phase(2), "steady, 58s left");
        assert_eq!(phase(59), "steady, 1s left");
        assert_eq!(phase(60), "finishing: waiting for requests in flight");
    }

    #[test]
    fn the_most_frequent_error_is_named_with_its_step() {
        let mut course = course(1);
        assert_eq!(describe_errors(&course), None);
        let mut frame = sample::frame(1, 1);
        let error = |kind, status, count| ErrorTally {
            kind,
            status,
            count,
            example: "x".into(),
            sample: None,
            traced: None,
        };
        frame.windows.steady.steps[0].count_error(error(ErrorKind::ConnectRefused, None, 4));
        frame
            .windows
            .ramp
            .merge(&loadtest_model::metrics::Tally::new(2));
        frame.windows.ramp.steps[1].count_error(error(ErrorKind::Status, Some(500), 40));
        course.add(frame);
        assert_eq!(
            describe_errors(&course).unwrap(),
            "44 errors, most often status 500 in buy (40)"
        );
    }

    #[test]
    fn a_sparkline_is_scaled_to_its_highest_value() {
        let line = |values: &[u64], width| draw_sparkline(&values.iter().copied().collect(), width);
        assert_eq!(line(&[0, 10, 70, 35], 10), "▁▂█▅");
        assert_eq!(line(&[70, 0, 1], 2), "▁█", "the newest");
        assert_eq!(line(&[0, 0], 5), "▁▁");
        assert_eq!(line(&[], 5), "");
    }
}

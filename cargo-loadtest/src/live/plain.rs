//! Lines for logs: one at the beginning, one every ten seconds.

use crate::course::{Course, format_share, format_time, format_users, format_window_rate};
use crate::course::{LimitsSoFar, describe_errors};
use loadtest_console::units;
use std::time::Duration;

/// Seconds between lines.
const EVERY: u32 = 10;

/// The lines that were printed.
#[derive(Debug, Default)]
pub(super) struct Plain {
    printed: u32,
}

/// The first line.
pub(super) fn start(course: &Course) -> String {
    let definition = &course.record.start.definition;
    let target = course
        .record
        .start
        .base_url
        .as_deref()
        .unwrap_or("its own URLs");
    let plan = &course.record.start.plan;
    let later = if plan.start.is_zero() {
        String::new()
    } else {
        format!(", starts in {}", units::show(plan.start))
    };
    format!(
        "[0s] {} against {target}, seed {}{later}",
        definition.identity(),
        plan.seed
    )
}

impl Plain {
    /// The line of the last ten seconds, once they are complete.
    pub(super) fn line(&mut self, course: &Course) -> Option<String> {
        let due = course.second() / EVERY * EVERY;
        if due <= self.printed {
            return None;
        }
        let at = Duration::from_secs(due.into());
        match course.describe_wait(at) {
            // There is no rate any more.
            Some(wait) => {
                self.printed = due;
                Some(format!("[{}] {wait}", course.position(at)))
            }
            None => Some(self.show(course, due)),
        }
    }

    /// The line of the last ten seconds of all, if they are complete.
    pub(super) fn last(&mut self, course: &Course) -> Option<String> {
        let due = (course.second() + 1) / EVERY * EVERY;
        (due > self.printed).then(|| self.show(course, due))
    }

    fn show(&mut self, course: &Course, end: u32) -> String {
        self.printed = end;
        let window = course.window(EVERY, end);
        let limits = LimitsSoFar::of(course);
        let errors = describe_errors(course).map(|errors| format!("; {errors}"));
        format!(
            "[{}] {}, {}, p95 {}, errors {} (last {EVERY} s); {}{}",
            course.position(Duration::from_secs(u64::from(end))),
            format_window_rate(&window),
            format_users(&window),
            format_time(window.p95),
            format_share(window.errors),
            limits.summary(),
            errors.unwrap_or_default(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;

    #[test]
    fn a_line_is_printed_when_ten_seconds_are_complete() {
        let mut course = Course::new(sample::start(), Duration::ZERO);
        let mut plain = Plain::default();
        let mut lines = Vec::new();
        for second in 0..30 {
            course.add(sample::frame(second, 20));
            lines.extend(plain.line(&course));
        }
        lines.extend(plain.last(&course));
        assert_eq!(
            lines,
            [
                "[10s/1m] 20/18 it/s, 3 users, p95 30.0 ms, errors 0 % (last 10 s); 1 of 1 limit holding",
                "[20s/1m] 20/20 it/s, 3 users, p95 30.0 ms, errors 0 % (last 10 s); 1 of 1 limit holding",
                "[30s/1m] 20/20 it/s, 3 users, p95 30.0 ms, errors 0 % (last 10 s); 1 of 1 limit holding",
            ]
        );
    }

    #[test]
    fn after_the_load_a_line_says_what_is_waited_for_instead_of_a_rate() {
        let mut course = Course::new(sample::start(), Duration::ZERO);
        let mut plain = Plain { printed: 50 };
        let mut lines = Vec::new();
        for second in 58..=80 {
            course.add(sample::frame(second, 0));
            lines.extend(plain.line(&course));
        }
        assert_eq!(
            lines[1..],
            [
                "[1m 10s/1m] waiting for the last 3 journeys, up to 20s",
                "[1m 20s/1m] waiting for the last 3 journeys, up to 10s",
            ]
        );
        assert!(lines[0].starts_with("[1m/1m] "), "{lines:?}");
    }
}

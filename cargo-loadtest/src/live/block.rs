//! A few lines at the bottom of the terminal, drawn anew and cleared at the end.

use super::keys::UnseenKeys;
use crate::course::{
    Course, StepWindow, Window, describe_doubt, format_share, format_time, format_users,
    format_window_rate,
};
use crate::course::{LimitsSoFar, describe_errors, describe_phase};
use crate::export::terminal::text::{shorten, width};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use loadtest_console::console::{self, clean};
use loadtest_console::units;
use std::time::Duration;

/// The most drawings a second.
const HERTZ: u8 = 8;
/// The seconds that the numbers are about.
const WINDOW: u32 = 5;
/// Steps with a line of their own.
const STEPS: usize = 20;
/// Rows of a terminal that are not for steps: the head, the phase, three of limits, the errors, a doubt, the rest of the
/// steps, what was typed.
const OTHER_ROWS: usize = 9;
/// The title of the row of bars.
const RATE_LABEL: &str = "  it/s ";
/// Columns of the bar, and of a name at most.
const BAR: usize = 10;
const NAME: usize = 24;

/// The line of the whole: name, bar and position give way where they leave the figures no room.
fn format_head(course: &Course, window: &Window, elapsed: Duration, room: usize) -> String {
    let figures = course.describe_wait(elapsed).unwrap_or_else(|| {
        format!(
            "{}, p95 {}, errors {}, {}",
            format_window_rate(window),
            format_time(window.p95),
            format_share(window.errors),
            format_users(window)
        )
    });
    let name = shorten(&clean(&course.record.start.definition.name), NAME);
    let filled = (course.progress(elapsed) * BAR as f64) as usize;
    let bar = format!("[{}{}]", "=".repeat(filled), " ".repeat(BAR - filled));
    let parts = [
        format!("{name} {bar} "),
        course.position(elapsed) + "  ",
        figures,
    ];
    let mut lines = (0..parts.len()).map(|from| parts[from..].concat());
    let fitting = lines.find(|line| width(line) <= room);
    fitting.unwrap_or_else(|| parts[2].clone())
}

/// The lines of all scenarios: one text, which is drawn when it changes and no more often.
#[derive(Debug)]
pub(super) struct LiveBlock {
    text: ProgressBar,
    drawn: String,
    _keys: UnseenKeys,
    /// The lines of each scenario, once it has begun.
    parts: Vec<Option<LinePart>>,
}

/// The lines of one scenario; where several run at once, steps have none.
#[derive(Debug)]
struct LinePart {
    /// The names of the steps that have a line.
    names: Vec<String>,
    window: Window,
    limits: LimitsSoFar,
    errors: Option<String>,
}

impl LiveBlock {
    pub(super) fn new(scenarios: usize) -> Self {
        let style = ProgressStyle::with_template("{msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let target = ProgressDrawTarget::stderr_with_hz(HERTZ);
        Self {
            text: ProgressBar::with_draw_target(None, target).with_style(style),
            drawn: String::new(),
            _keys: UnseenKeys::begin(),
            parts: (0..scenarios).map(|_| None).collect(),
        }
    }

    pub(super) fn start(&mut self, at: usize, course: &Course) {
        let steps = &course.record.start.definition.steps;
        let shown = match self.parts.len() {
            1 => shown_steps(steps.len(), console::progress_height()),
            _ => 0,
        };
        let names = steps.iter().take(shown);
        self.parts[at] = Some(LinePart {
            names: names.map(|step| clean(&step.name)).collect(),
            // Nothing yet, of every step.
            window: course.window(WINDOW, 1),
            limits: LimitsSoFar::of(course),
            errors: None,
        });
    }

    /// A second passed. Percentiles are merged here and not when drawing, which is more often.
    pub(super) fn update(&mut self, at: usize, course: &Course) {
        if let Some(part) = &mut self.parts[at] {
            part.window = course.window(WINDOW, course.second() + 1);
            part.limits = LimitsSoFar::of(course);
            part.errors = describe_errors(course);
        }
    }

    pub(super) fn draw(&mut self, courses: &[Option<Course>], since_spawn: Duration) {
        let room = console::progress_width();
        let is_alone = self.parts.len() == 1;
        let mut lines = Vec::new();
        for (part, course) in self.parts.iter().zip(courses) {
            if let (Some(part), Some(course)) = (part, course) {
                lines.extend(part.lines(course, since_spawn, room, is_alone));
            }
        }
        // One that wraps could not be cleared.
        let lines: Vec<_> = lines.iter().map(|line| shorten(line, room)).collect();
        let text = lines.join("\n");
        if text != self.drawn {
            self.text.set_message(text.clone());
            self.drawn = text;
        }
    }

    pub(super) fn print(&self, line: &str) {
        self.text.println(line);
    }

    pub(super) fn clear(&mut self) {
        self.text.finish_and_clear();
    }
}

impl LinePart {
    fn lines(
        &self,
        course: &Course,
        since_spawn: Duration,
        room: usize,
        has_steps: bool,
    ) -> Vec<String> {
        if let Some(wait) = course.time_to_start(since_spawn) {
            let name = shorten(&clean(&course.record.start.definition.name), NAME);
            let wait = units::show(Duration::from_secs(wait.as_secs() + 1));
            return vec![format!("{name} starts in {wait}")];
        }
        let window = &self.window;
        let mut lines = vec![format_head(
            course,
            window,
            course.elapsed(since_spawn),
            room,
        )];
        if has_steps {
            let phase = describe_phase(course, course.elapsed(since_spawn));
            let left = room.saturating_sub(width(&phase) + RATE_LABEL.len() + 4);
            let bars = course.sparkline(left);
            lines.push(format!("  {phase}{RATE_LABEL}{bars}"));
        }
        lines.extend(self.limit_lines(has_steps));
        lines.extend(self.errors.iter().map(|errors| format!("  {errors}")));
        let worst = course.validity.causes.first();
        lines.extend(worst.map(|cause| format!("  ! {}", describe_doubt(cause))));
        if has_steps {
            lines.extend(format_steps(&self.names, &window.steps, room));
            if self.names.len() < window.steps.len() {
                lines.push(format_rest(&window.steps, self.names.len()));
            }
        }
        lines
    }
}

impl LinePart {
    /// The limits, the broken ones first; where several scenarios run at once, only those.
    fn limit_lines(&self, has_all: bool) -> Vec<String> {
        let LimitsSoFar {
            broken,
            holding,
            unmeasured,
        } = &self.limits;
        let kinds = [
            ("broken so far", broken, true),
            ("holding", holding, has_all),
            ("not measured yet", unmeasured, has_all),
        ];
        let shown = kinds.into_iter();
        let shown = shown.filter(|(_, limits, is_shown)| *is_shown && !limits.is_empty());
        shown
            .map(|(label, limits, _)| format!("  {label}: {}", limits.join(", ")))
            .collect()
    }
}

/// Returns the number of steps that have a line on a terminal of so many rows.
fn shown_steps(all: usize, rows: usize) -> usize {
    let room = rows.saturating_sub(OTHER_ROWS).min(STEPS);
    // One that would stand for the rest alone is a step's as well.
    if all <= room + 1 { all } else { room }
}

/// Columns of a line of a step besides the name and the rate, which is cut where the terminal is narrow.
const FIGURES: usize = 31;

/// The lines of the steps in `room` columns.
fn format_steps(names: &[String], now: &[StepWindow], room: usize) -> Vec<String> {
    let longest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let most = longest.min(room.saturating_sub(FIGURES));
    let line = |(name, now): (&String, &StepWindow)| {
        let name = shorten(name, most);
        let gap = " ".repeat(most.saturating_sub(width(&name)));
        let (p95, errors) = (format_time(now.p95), format_share(now.errors));
        format!(
            "  {name}{gap}  p95 {p95:>8}  errors {errors:>6}  {:>7.1}/s",
            now.rate
        )
    };
    names.iter().zip(now).map(line).collect()
}

/// Sums up the steps from the number `from` on: the worst of them.
fn format_rest(steps: &[StepWindow], from: usize) -> String {
    let steps = steps.get(from..).unwrap_or_default();
    let errors = steps.iter().filter_map(|step| step.errors);
    format!(
        "  and {} more  p95 up to {}  errors up to {}",
        steps.len(),
        format_time(steps.iter().filter_map(|step| step.p95).max()),
        format_share(errors.max_by(f64::total_cmp)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;

    #[test]
    fn steps_leave_room_for_the_rest_and_are_never_more_than_the_terminal_has_rows() {
        assert_eq!(shown_steps(5, 24), 5);
        assert_eq!(shown_steps(60, 24), 15);
        assert_eq!(shown_steps(60, 100), 20);
        assert_eq!(shown_steps(21, 40), 21);
        assert_eq!(shown_steps(22, 40), 20);
        assert_eq!(shown_steps(60, 12), 3);
        assert_eq!(shown_steps(60, 2), 0);
    }

    #[test]
    fn the_figures_of_steps_line_up_and_stay_where_the_terminal_is_narrow() {
        let names = ["browse".to_owned(), "a_step_with_a_long_name".to_owned()];
        let now = StepWindow {
            rate: 86.8,
            p95: Some(Duration::from_micros(3_920)),
            errors: Some(0.143),
        };
        let now = [now.clone(), now];
        assert_eq!(
            format_steps(&names, &now, 80),
            [
                "  browse                   p95  3.92 ms  errors 14.3 %     86.8/s",
                "  a_step_with_a_long_name  p95  3.92 ms  errors 14.3 %     86.8/s",
            ]
        );
        let narrow = &format_steps(&names, &now, 40)[1];
        assert_eq!(
            shorten(narrow, 40),
            "  a_step_w…  p95  3.92 ms  errors 14.3 …"
        );
    }

    #[test]
    fn the_steps_without_a_line_are_told_by_the_worst_of_them() {
        let step = |ms: Option<u64>, errors| StepWindow {
            rate: 1.0,
            p95: ms.map(Duration::from_millis),
            errors,
        };
        let steps = [
            step(Some(900), Some(0.5)),
            step(Some(20), Some(0.0)),
            step(Some(31), Some(0.02)),
            step(None, None),
        ];
        assert_eq!(
            format_rest(&steps, 1),
            "  and 3 more  p95 up to 31.0 ms  errors up to 2.0 %"
        );
        assert_eq!(
            format_rest(&steps, 3),
            "  and 1 more  p95 up to –  errors up to –"
        );
    }

    fn course(name: &str) -> Course {
        let mut start = sample::start();
        start.definition.name = name.to_owned().into();
        Course::new(start, Duration::ZERO)
    }

    #[test]
    fn after_the_load_the_line_says_what_is_waited_for() {
        let mut course = course("visit");
        course.add(sample::frame(61, 0));
        let window = course.window(WINDOW, 62);
        let line = |second| format_head(&course, &window, Duration::from_secs(second), 100);
        assert!(line(60).contains("it/s"), "{}", line(60));
        assert_eq!(
            line(62),
            "visit [==========] 1m 2s/1m  waiting for the last 3 journeys, up to 28s"
        );
    }

    #[test]
    fn the_figures_are_there_however_narrow_the_terminal() {
        let window = Window {
            rate: 2000.0,
            target: Some(2000.0),
            users: 1000,
            p95: Some(Duration::from_millis(1_234)),
            errors: Some(0.0042),
            steps: Vec::new(),
        };
        let figures = "2000/2000 it/s, p95 1.23 s, errors 0.42 %, 1\u{202f}000 users";
        let line = |name, room| format_head(&course(name), &window, Duration::from_secs(30), room);
        assert_eq!(line("visit", 40), figures);
        assert_eq!(line("visit", 62), format!("30s/1m  {figures}"));
        let whole = format!("visit [=====     ] 30s/1m  {figures}");
        assert_eq!(line("visit", 81), whole);
        let long = line("a customer who looks around and buys", 120);
        assert!(long.starts_with("a customer who looks ar… ["), "{long}");
    }
}

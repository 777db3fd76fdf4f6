//! A few lines at the bottom of the terminal, drawn anew and cleared at the end.

use super::course::{Course, Window, percent, rate, time};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// How often a second the lines are drawn at most.
const HERTZ: u8 = 8;
/// The seconds that the numbers are about.
const WINDOW: u32 = 5;
/// Steps with a line of their own.
const STEPS: usize = 20;
const BAR: usize = 20;

/// The lines.
#[derive(Debug)]
pub(super) struct Block {
    lines: MultiProgress,
    head: ProgressBar,
    steps: Vec<ProgressBar>,
    window: Window,
}

impl Block {
    pub(super) fn new() -> Self {
        Self {
            lines: MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(HERTZ)),
            head: ProgressBar::hidden(),
            steps: Vec::new(),
            window: Window::default(),
        }
    }

    pub(super) fn start(&mut self, course: &Course) {
        self.clear();
        self.head = self.line();
        let steps = course.start.definition.steps.len().min(STEPS);
        self.steps = (0..steps).map(|_| self.line()).collect();
    }

    /// A second passed. Percentiles are merged here and not when drawing, which is more often.
    pub(super) fn update(&mut self, course: &Course) {
        self.window = course.window(WINDOW, course.second() + 1);
    }

    pub(super) fn draw(&mut self, course: &Course, since_spawn: Duration) {
        let elapsed = course.elapsed(since_spawn);
        let window = &self.window;
        let filled = (course.progress(elapsed) * BAR as f64) as usize;
        let definition = &course.start.definition;
        self.head.set_message(format!(
            "{} [{}{}] {}  {}, {} users, p95 {}, errors {} (last {WINDOW} s)",
            definition.name,
            "=".repeat(filled),
            " ".repeat(BAR - filled),
            course.position(elapsed),
            rate(window),
            window.users,
            time(window.p95),
            percent(window.errors),
        ));
        let width = definition
            .steps
            .iter()
            .map(|step| step.name.chars().count())
            .max()
            .unwrap_or(0);
        for ((line, step), now) in self
            .steps
            .iter()
            .zip(definition.steps.iter())
            .zip(&window.steps)
        {
            line.set_message(format!(
                "  {:width$}  p95 {:>8}  {:>7.1}/s  errors {}",
                step.name,
                time(now.p95),
                now.rate,
                percent(now.errors),
            ));
        }
    }

    pub(super) fn print(&self, line: &str) {
        // A terminal that is gone shows nothing; the run goes on.
        let _ = self.lines.println(line);
    }

    pub(super) fn clear(&mut self) {
        self.head.finish_and_clear();
        for line in self.steps.drain(..) {
            line.finish_and_clear();
        }
        let _ = self.lines.clear();
    }

    fn line(&self) -> ProgressBar {
        // The message is cut at the width of the terminal; a wrapped line could not be cleared.
        let style = ProgressStyle::with_template("{wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        self.lines.add(ProgressBar::new_spinner().with_style(style))
    }
}

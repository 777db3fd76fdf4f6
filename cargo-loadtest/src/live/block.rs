//! A few lines at the bottom of the terminal, drawn anew and cleared at the end.

use super::course::{Course, Window, percent, rate, time};
use crate::shell::{self, clean};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// How often a second the lines are drawn at most.
const HERTZ: u8 = 8;
/// The seconds that the numbers are about.
const WINDOW: u32 = 5;
/// Steps with a line of their own.
const STEPS: usize = 20;
/// Columns of the bar at most, and those below which it says nothing.
const BAR: usize = 20;
const SHORTEST_BAR: usize = 5;
/// Columns of a name below which it is left out.
const SHORTEST_NAME: usize = 4;
/// Columns of what follows the name of a step.
const FIGURES: usize = 46;

/// The line of the whole in `room` columns. The figures are there in any case; name and bar share what
/// they leave.
fn head(course: &Course, window: &Window, elapsed: Duration, room: usize) -> String {
    let figures = format!(
        "{}, {} users, p95 {}, errors {}",
        rate(window),
        window.users,
        time(window.p95),
        percent(window.errors),
    );
    let position = format!("{}  ", course.position(elapsed));
    let span = format!(" (last {WINDOW} s)");
    let name = clean(&course.start.definition.name);
    let mut left = room.saturating_sub(figures.width());
    let mut take = |columns: usize| {
        let fits = columns <= left;
        left -= if fits { columns } else { 0 };
        fits
    };
    let position = if take(position.width()) {
        position
    } else {
        String::new()
    };
    // The bar first, since what runs is known.
    let shortest = SHORTEST_BAR + "[] ".len();
    let has_bar = take(shortest);
    let name_room = name.width().min(left.saturating_sub(1));
    let name = if name_room >= SHORTEST_NAME.min(name.width()) {
        left -= name_room + 1;
        format!("{} ", shorten(&name, name_room))
    } else {
        String::new()
    };
    let span = if left >= span.width() {
        left -= span.width();
        span
    } else {
        String::new()
    };
    let bar = if has_bar {
        let columns = (SHORTEST_BAR + left).min(BAR);
        let filled = (course.progress(elapsed) * columns as f64) as usize;
        format!("[{}{}] ", "=".repeat(filled), " ".repeat(columns - filled))
    } else {
        String::new()
    };
    format!("{name}{bar}{position}{figures}{span}")
}

/// Cuts a text to `limit` columns, an ellipsis in place of what is cut.
fn shorten(text: &str, limit: usize) -> String {
    if text.width() <= limit {
        return text.to_owned();
    }
    let mut short = String::new();
    for letter in text.chars() {
        if short.width() + letter.width().unwrap_or(0) + 1 > limit {
            break;
        }
        short.push(letter);
    }
    short.push('…');
    short
}

/// The lines of all scenarios.
#[derive(Debug)]
pub(super) struct Block {
    lines: MultiProgress,
    parts: Vec<Part>,
}

/// The lines of one scenario; where several run at once, steps have none.
#[derive(Debug)]
struct Part {
    head: ProgressBar,
    steps: Vec<ProgressBar>,
    window: Window,
}

impl Block {
    pub(super) fn new(scenarios: usize) -> Self {
        let part = || Part {
            head: ProgressBar::hidden(),
            steps: Vec::new(),
            window: Window::default(),
        };
        Self {
            lines: MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(HERTZ)),
            parts: (0..scenarios).map(|_| part()).collect(),
        }
    }

    pub(super) fn start(&mut self, at: usize, course: &Course) {
        let steps = match self.parts.len() {
            1 => course.start.definition.steps.len().min(STEPS),
            _ => 0,
        };
        let head = self.line();
        let steps = (0..steps).map(|_| self.line()).collect();
        let part = &mut self.parts[at];
        (part.head, part.steps) = (head, steps);
    }

    /// A second passed. Percentiles are merged here and not when drawing, which is more often.
    pub(super) fn update(&mut self, at: usize, course: &Course) {
        self.parts[at].window = course.window(WINDOW, course.second() + 1);
    }

    pub(super) fn draw(&mut self, at: usize, course: &Course, since_spawn: Duration) {
        let elapsed = course.elapsed(since_spawn);
        let part = &self.parts[at];
        let window = &part.window;
        let room = shell::progress_width();
        let definition = &course.start.definition;
        part.head.set_message(head(course, window, elapsed, room));
        let names: Vec<_> = definition
            .steps
            .iter()
            .map(|step| shorten(&clean(&step.name), room.saturating_sub(FIGURES)))
            .collect();
        let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
        for ((line, name), now) in part.steps.iter().zip(&names).zip(&window.steps) {
            line.set_message(format!(
                "  {name}{}  p95 {:>8}  {:>7.1}/s  errors {}",
                " ".repeat(width - name.width()),
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
        for part in &mut self.parts {
            part.head.finish_and_clear();
            for line in part.steps.drain(..) {
                line.finish_and_clear();
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;

    fn course(name: &str) -> Course {
        let mut start = sample::start();
        start.definition.name = name.to_owned().into();
        Course::new(start, Duration::ZERO)
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
        let figures = "2000/2000 it/s, 1000 users, p95 1.2 s, errors 0.42 %";
        for name in [
            "visit",
            "a customer who looks around and buys",
            "注文を作成する",
        ] {
            for room in 20..200 {
                let line = head(&course(name), &window, Duration::from_secs(30), room);
                assert!(line.contains(figures), "{room}: {line}");
                let most = room.max(figures.len());
                assert!(line.width() <= most, "{room}: {line}");
            }
        }
        let line = |room| head(&course("visit"), &window, Duration::from_secs(30), room);
        assert_eq!(line(60), format!("30s/1m  {figures}"));
        assert_eq!(line(80), format!("visit [=====      ] 30s/1m  {figures}"));
        assert_eq!(
            line(120),
            format!("visit [==========          ] 30s/1m  {figures} (last 5 s)")
        );
    }
}

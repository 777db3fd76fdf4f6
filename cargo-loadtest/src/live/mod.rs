//! The course of a run while it lasts, on standard error: a block that is drawn anew on a terminal,
//! else a line now and then.

mod block;
mod course;
mod plain;

use crate::shell;
use block::Block;
use course::Course;
use loadtest::metrics::Frame;
use loadtest::record::Start;
use plain::Plain;
use std::time::Duration;

/// The view of one run.
#[derive(Debug)]
pub(crate) struct Live {
    view: View,
    course: Option<Course>,
    /// Whether nothing is left to be said about the end.
    is_ending: bool,
}

/// How long after its end a run may go on unsaid.
const OVERRUN: Duration = Duration::from_secs(1);

#[derive(Debug)]
enum View {
    Quiet,
    Plain(Plain),
    Block(Block),
}

impl Live {
    /// What suits standard error.
    pub(crate) fn new(quiet: bool) -> Self {
        let view = if quiet {
            View::Quiet
        } else if shell::can_redraw() {
            View::Block(Block::new())
        } else {
            View::Plain(Plain::default())
        };
        Self {
            view,
            course: None,
            is_ending: false,
        }
    }

    /// The load begins, `elapsed` after the child was started.
    pub(crate) fn start(&mut self, start: Start, elapsed: Duration) {
        let course = Course::new(start, elapsed);
        match &mut self.view {
            View::Quiet => {}
            View::Plain(_) => shell::progress(plain::start(&course)),
            View::Block(block) => block.start(&course),
        }
        self.course = Some(course);
    }

    /// A second passed.
    pub(crate) fn frame(&mut self, frame: Frame) {
        let Some(course) = &mut self.course else {
            return;
        };
        if matches!(self.view, View::Quiet) {
            return;
        }
        let errors = course.first_errors(&frame);
        course.add(frame);
        let line = match &mut self.view {
            View::Plain(plain) => plain.line(course),
            View::Block(block) => {
                block.update(course);
                None
            }
            View::Quiet => None,
        };
        for line in errors.iter().chain(&line) {
            self.print(line);
        }
    }

    /// Time passes, `elapsed` since the child was started.
    pub(crate) fn tick(&mut self, elapsed: Duration) {
        if let Some(course) = &self.course
            && !self.is_ending
            && !matches!(self.view, View::Quiet)
            && course.is_over(elapsed.saturating_sub(OVERRUN))
        {
            let most = course.start.plan.graceful_stop.as_secs();
            self.print(&format!(
                "finishing: waiting for requests in flight (at most {most} s)"
            ));
            self.is_ending = true;
        }
        if let (View::Block(block), Some(course)) = (&mut self.view, &self.course) {
            block.draw(course, elapsed);
        }
    }

    /// Prints a line without disturbing the view.
    pub(crate) fn print(&self, line: &str) {
        match &self.view {
            View::Block(block) => block.print(line),
            View::Quiet | View::Plain(_) => shell::progress(line),
        }
    }

    /// Requests in flight are waited for no more, or somebody said that they are.
    pub(crate) fn end(&mut self) {
        self.is_ending = true;
    }

    /// The run is over.
    pub(crate) fn finish(&mut self) {
        match (&mut self.view, &self.course) {
            (View::Block(block), _) => block.clear(),
            (View::Plain(plain), Some(course)) => {
                if let Some(line) = plain.last(course) {
                    shell::progress(line);
                }
            }
            _ => {}
        }
    }
}

//! The course of a run while it lasts, on standard error: a block that is drawn anew on a terminal,
//! else a line now and then.

mod block;
mod keys;
mod plain;

use crate::course::Course;
use crate::observe::Observer;
use crate::telemetry::IntervalFeed;
use block::LiveBlock;
use loadtest_console::console::{self, clean};
use loadtest_model::metrics::Frame;
use loadtest_model::record::RunStart;
use plain::Plain;
use std::time::Duration;

/// The view of one scenario, or of several that run at once.
#[derive(Debug)]
pub(crate) struct Live {
    view: View,
    courses: Vec<Option<Course>>,
    /// The number of scenarios that have ended.
    ended: usize,
    /// Nothing is left to report about the end.
    is_ending: bool,
    /// Gets the same frames.
    feed: Option<IntervalFeed>,
    /// Reads the target's side at the same time.
    observer: Option<Observer>,
}

/// A run may go on for so long after its end without a word.
const OVERRUN: Duration = Duration::from_secs(1);

#[derive(Debug)]
enum View {
    Quiet,
    Plain(Vec<Plain>),
    Block(LiveBlock),
}

impl Live {
    /// Creates the view that suits standard error, for so many scenarios.
    pub(crate) fn new(quiet: bool, scenarios: usize) -> Self {
        let view = if quiet {
            View::Quiet
        } else if console::can_redraw() {
            View::Block(LiveBlock::new(scenarios))
        } else {
            View::Plain((0..scenarios).map(|_| Plain::default()).collect())
        };
        Self {
            view,
            courses: (0..scenarios).map(|_| None).collect(),
            ended: 0,
            is_ending: false,
            feed: None,
            observer: None,
        }
    }

    /// Tells when scenarios begin and end.
    pub(crate) fn with_observer(self, observer: Observer) -> Self {
        Self {
            observer: Some(observer),
            ..self
        }
    }

    /// Hands every frame on.
    pub(crate) fn with_feed(self, feed: Option<IntervalFeed>) -> Self {
        Self { feed, ..self }
    }

    /// The same for one of many short runs, of which a log gets a line each from elsewhere.
    pub(crate) fn of_trial(quiet: bool) -> Self {
        Self::new(quiet || !console::can_redraw(), 1)
    }

    /// The load of the scenario with the number `at` begins, `elapsed` after the child was started.
    pub(crate) fn start(&mut self, at: usize, start: RunStart, elapsed: Duration) {
        if let Some(observer) = &self.observer {
            observer.start(at, &start);
        }
        let course = Course::new(start, elapsed);
        match &mut self.view {
            View::Quiet => {}
            View::Plain(_) => console::print_progress(plain::start(&course)),
            View::Block(block) => block.start(at, &course),
        }
        if let Some(feed) = &self.feed {
            feed.start(at, &course);
        }
        self.courses[at] = Some(course);
    }

    /// A second of it passed.
    pub(crate) fn frame(&mut self, at: usize, frame: Frame) {
        if let Some(observer) = &self.observer {
            observer.count_requests(at, &frame);
        }
        let name = self.name(at);
        let Some(course) = &mut self.courses[at] else {
            return;
        };
        if matches!(self.view, View::Quiet) && self.feed.is_none() {
            return;
        }
        let mut lines = course.first_errors(&frame);
        let broken = course.broken(&frame);
        match &self.feed {
            None => course.add(frame),
            Some(feed) => {
                course.add(frame.clone());
                feed.frame(at, &frame, course);
            }
        }
        match &mut self.view {
            View::Plain(plain) => {
                lines.extend(course.first_doubts());
                lines.extend(plain[at].line(course));
            }
            // A doubt has a place of its own there, for as long as it is one.
            View::Block(block) => block.update(at, course),
            View::Quiet => return,
        }
        for line in lines.into_iter().chain(broken) {
            self.print(&format!("{name}{line}"));
        }
    }

    /// Names the scenario of a line, where there are several.
    fn name(&self, at: usize) -> String {
        match &self.courses[at] {
            Some(course) if self.courses.len() > 1 => {
                format!("{} ", clean(&course.record.start.definition.name))
            }
            _ => String::new(),
        }
    }

    /// Time passes, `elapsed` since the child was started.
    pub(crate) fn tick(&mut self, elapsed: Duration) {
        let mut courses = self.courses.iter().flatten().peekable();
        if !self.is_ending && !matches!(self.view, View::Quiet) && courses.peek().is_some() {
            let past = elapsed.saturating_sub(OVERRUN);
            let most = courses.try_fold(0, |most, course| {
                let grace = course.record.start.plan.graceful_stop.as_secs();
                course.is_over(past).then_some(grace.max(most))
            });
            if let Some(most) = most {
                self.print(&format!(
                    "finishing: waiting for requests in flight (at most {most} s)"
                ));
                self.is_ending = true;
            }
        }
        for line in self.feed.iter().flat_map(IntervalFeed::take_news) {
            self.print(&format!("warning: {line}"));
        }
        for line in self.observer.iter().flat_map(Observer::take_news) {
            self.print(&format!("warning: {line}"));
        }
        if let View::Block(block) = &mut self.view {
            block.draw(&self.courses, elapsed);
        }
    }

    /// Returns why the run has to end, when a limit of the target's side is broken that ends it; once.
    pub(crate) fn take_broken_limit(&self) -> Option<String> {
        let broken = self.observer.as_ref()?.take_broken_limit()?;
        Some(format!("given up: {}", broken.reason))
    }

    /// Prints a line without disturbing the view.
    pub(crate) fn print(&self, line: &str) {
        match &self.view {
            View::Block(block) => block.print(&console::clean_lines(line)),
            View::Quiet | View::Plain(_) => console::print_progress(line),
        }
    }

    /// Somebody said that requests in flight are waited for.
    pub(crate) fn end(&mut self) {
        self.is_ending = true;
    }

    /// The scenario with the number `at` has ended: nothing of it is in flight any more.
    pub(crate) fn end_one(&mut self, at: usize) {
        if let Some(feed) = &self.feed {
            feed.end(at);
        }
        if let Some(observer) = &self.observer {
            observer.end(at);
        }
        self.ended += 1;
        self.is_ending |= self.ended >= self.courses.len();
    }

    /// The run is over.
    pub(crate) fn finish(&mut self) {
        if let Some(feed) = &self.feed {
            feed.finish();
        }
        let mut last = Vec::new();
        match &mut self.view {
            View::Block(block) => block.clear(),
            View::Plain(plain) => {
                for (at, (plain, course)) in plain.iter_mut().zip(&self.courses).enumerate() {
                    let line = course.as_ref().and_then(|course| plain.last(course));
                    last.extend(line.map(|line| (at, line)));
                }
            }
            View::Quiet => {}
        }
        for (at, line) in last {
            console::print_progress(format!("{}{line}", self.name(at)));
        }
    }
}

//! The last seconds of a run, and what they come to.

mod progress;

use loadtest_console::console::clean;
use loadtest_console::units;
use loadtest_model::card::{Trust, Validity, ValidityCause};
use loadtest_model::definition::Shape;
use loadtest_model::display;
use loadtest_model::metrics::{Frame, JourneyTally, Tally};
use loadtest_model::record::{RunStart, ScenarioRecord};
use loadtest_model::schedule::Schedule;
pub(crate) use progress::{LimitsSoFar, describe_errors, describe_phase};
use progress::{SPARKLINE_SECONDS, draw_sparkline};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// The seconds that are kept.
const KEPT: u32 = 12;

/// A run so far.
#[derive(Debug)]
pub(crate) struct Course {
    /// All of it but its end.
    pub(crate) record: ScenarioRecord,
    /// The objections to the measurement so far.
    pub(crate) validity: Validity,
    /// The start of the load, in time since the child was started.
    began: Duration,
    frames: VecDeque<Frame>,
    /// The iterations that began in each second of the last minute.
    started: VecDeque<u64>,
    seen: BTreeSet<&'static str>,
    /// The objections that were reported, by their remedy.
    told: BTreeSet<(Trust, String)>,
}

/// The counts of a stretch of seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Window {
    /// Iterations begun per second.
    pub(crate) rate: f64,
    /// Iterations per second that the load asks for; `None` in the closed model.
    pub(crate) target: Option<f64>,
    /// Virtual users within an iteration.
    pub(crate) users: u32,
    /// p95 of the journey time of ok journeys.
    pub(crate) p95: Option<Duration>,
    /// The share of failed journeys, dropped ones included; `None` when none ended.
    pub(crate) errors: Option<f64>,
    /// The steps.
    pub(crate) steps: Vec<StepWindow>,
}

/// The counts of one step.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StepWindow {
    /// Executions per second.
    pub(crate) rate: f64,
    /// p95 of the response time.
    pub(crate) p95: Option<Duration>,
    /// The share of failed executions; `None` when there was none.
    pub(crate) errors: Option<f64>,
}

impl Course {
    pub(crate) fn new(start: RunStart, began: Duration) -> Self {
        let began = began + start.plan.start;
        let record = ScenarioRecord::new(start);
        Self {
            validity: Validity::so_far(&record),
            record,
            began,
            frames: VecDeque::new(),
            started: VecDeque::new(),
            seen: BTreeSet::new(),
            told: BTreeSet::new(),
        }
    }

    /// Adds a second; one second may come in parts.
    pub(crate) fn add(&mut self, frame: Frame) {
        self.record.absorb(&frame);
        self.validity = Validity::so_far(&self.record);
        let started = frame.windows.all().map(|tally| tally.journey.started);
        let started: u64 = started.into_iter().sum();
        match self.started.back_mut() {
            Some(last)
                if self
                    .frames
                    .back()
                    .is_some_and(|last| last.second == frame.second) =>
            {
                *last += started;
            }
            _ => self.started.push_back(started),
        }
        if self.started.len() > SPARKLINE_SECONDS {
            self.started.pop_front();
        }
        match self.frames.back_mut() {
            Some(last) if last.second == frame.second => {
                last.windows.merge(&frame.windows);
                last.active_users = frame.active_users;
            }
            _ => self.frames.push_back(frame),
        }
        let newest = self.second();
        while self
            .frames
            .front()
            .is_some_and(|frame| frame.second + KEPT < newest)
        {
            self.frames.pop_front();
        }
    }

    /// A line for each kind of error in `frame` that did not happen before.
    pub(crate) fn first_errors(&mut self, frame: &Frame) -> Vec<String> {
        let mut lines = Vec::new();
        for tally in frame.windows.all() {
            for (step, counts) in self.record.start.definition.steps.iter().zip(&tally.steps) {
                for error in &counts.errors {
                    if self.seen.insert(error.kind.name()) {
                        lines.push(format!(
                            "[{}s] first error `{}` in `{}`: {}",
                            frame.second,
                            error.kind,
                            clean(&step.name),
                            clean(&error.example)
                        ));
                    }
                }
            }
        }
        lines
    }

    /// A line for each cause to doubt the measurement that was not there before, or was less bad.
    pub(crate) fn first_doubts(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for cause in &self.validity.causes {
            if self.told.insert((cause.trust, cause.remedy.clone())) {
                lines.push(format!("[{}s] {}", self.second(), describe_doubt(cause)));
            }
        }
        lines
    }

    /// A line for the threshold that ends the run with `frame`.
    pub(crate) fn broken(&self, frame: &Frame) -> Option<String> {
        let broken = frame.broken.as_ref()?;
        let record = &self.record;
        let reason = loadtest_model::card::describe_broken(
            broken,
            &record.start.plan,
            &record.start.definition,
        );
        let after = units::show(Duration::from_secs(broken.after.as_secs()));
        let most = self.record.start.plan.graceful_stop.as_secs();
        Some(format!(
            "[{after}] given up: {}; waiting for requests in flight (at most {most} s)",
            clean(&reason)
        ))
    }

    /// Iterations that ended, those of the warm-up apart.
    fn finished(&self) -> u64 {
        let windows = &self.record.windows;
        [&windows.ramp, &windows.steady]
            .iter()
            .map(|tally| tally.journey.ok + tally.journey.failed)
            .sum()
    }

    /// The rate of the last minute as a row of bars, at most `width` of them.
    pub(crate) fn sparkline(&self, width: usize) -> String {
        draw_sparkline(&self.started, width)
    }

    /// The newest second.
    pub(crate) fn second(&self) -> u32 {
        self.frames.back().map_or(0, |frame| frame.second)
    }

    /// The time since the load began.
    pub(crate) fn elapsed(&self, since_spawn: Duration) -> Duration {
        since_spawn.saturating_sub(self.began)
    }

    /// The time until the load begins, of one that begins later than its mix.
    pub(crate) fn time_to_start(&self, since_spawn: Duration) -> Option<Duration> {
        let left = self.began.checked_sub(since_spawn)?;
        let waits = !self.record.start.plan.start.is_zero() && self.frames.is_empty();
        waits.then_some(left)
    }

    /// The planned length, warm-up included; `None` for a fixed amount of work.
    pub(crate) fn length(&self) -> Option<Duration> {
        let load = &self.record.start.plan.load;
        Some(load.warm_up + load.duration()?)
    }

    /// Returns true past the planned end of the load; never for a fixed amount of work.
    pub(crate) fn is_over(&self, since_spawn: Duration) -> bool {
        self.length()
            .is_some_and(|length| self.elapsed(since_spawn) > length)
    }

    /// Describes what is waited for past the planned end of the load; `None` before, or when nothing is in flight.
    pub(crate) fn describe_wait(&self, elapsed: Duration) -> Option<String> {
        let over = elapsed.checked_sub(self.length()?)?;
        let left = self.record.start.plan.graceful_stop.saturating_sub(over);
        let journeys = self.frames.back()?.active_users;
        (!over.is_zero() && journeys > 0).then(|| {
            format!(
                "waiting for the last {}, up to {}",
                display::format_counted(journeys.into(), "journey"),
                units::show(Duration::from_secs(left.as_secs_f64().ceil() as u64))
            )
        })
    }

    /// The iterations of a fixed amount of work that are this run's.
    fn iterations(&self) -> Option<u64> {
        let plan = &self.record.start.plan;
        let Shape::Iterations { count, .. } = plan.load.shape else {
            return None;
        };
        let (from, to) = plan.shard.range_of(count);
        Some((to - from).max(1))
    }

    /// Returns the share that is done, `elapsed` after the beginning.
    pub(crate) fn progress(&self, elapsed: Duration) -> f64 {
        let share = match (self.iterations(), self.length()) {
            (Some(count), _) => self.finished() as f64 / count as f64,
            (_, Some(length)) => elapsed.as_secs_f64() / length.as_secs_f64(),
            _ => 0.0,
        };
        share.clamp(0.0, 1.0)
    }

    /// `20s/1m`, or for a fixed amount of work `20s, 300/1000`.
    pub(crate) fn position(&self, elapsed: Duration) -> String {
        let elapsed = units::show(Duration::from_secs(elapsed.as_secs()));
        match (self.iterations(), self.length()) {
            (Some(count), _) => format!("{elapsed}, {}/{count}", self.finished()),
            (_, Some(length)) => format!("{elapsed}/{}", units::show(length)),
            _ => elapsed,
        }
    }

    /// The last `seconds`, or as many as there are, before second `end`.
    pub(crate) fn window(&self, seconds: u32, end: u32) -> Window {
        let from = end.saturating_sub(seconds);
        let length = f64::from((end - from).max(1));
        let mut window = Window {
            steps: vec![StepWindow::default(); self.record.start.definition.steps.len()],
            ..Window::default()
        };
        let (mut journeys, mut all) = (JourneyTally::default(), Tally::new(window.steps.len()));
        for frame in &self.frames {
            if !(from..end).contains(&frame.second) {
                continue;
            }
            window.users = frame.active_users;
            for tally in frame.windows.all() {
                journeys.merge(&tally.journey);
                for (sum, step) in all.steps.iter_mut().zip(&tally.steps) {
                    sum.executed += step.executed;
                    sum.failed += step.failed;
                    sum.response.merge(&step.response);
                    sum.failed_response.merge(&step.failed_response);
                }
            }
        }
        window.rate = (journeys.ok + journeys.failed) as f64 / length;
        window.p95 = journeys.times().quantile(0.95);
        let bad = journeys.failed + journeys.dropped;
        window.errors = share_of(bad, journeys.ok + bad);
        let load = &self.record.start.plan.load;
        window.target = load.is_open().then(|| {
            let schedule = Schedule::new(load);
            let sum: f64 = (from..end)
                .filter_map(|second| {
                    schedule.target(Duration::from_secs_f64(f64::from(second) + 0.5))
                })
                .sum();
            sum * self.record.start.plan.shard.share() / length
        });
        for (step, sum) in window.steps.iter_mut().zip(&all.steps) {
            step.rate = sum.executed as f64 / length;
            step.p95 = sum.times().quantile(0.95);
            step.errors = share_of(sum.failed, sum.executed);
        }
        window
    }
}

/// `DEGRADED so far: ..`.
pub(crate) fn describe_doubt(cause: &ValidityCause) -> String {
    format!("{} so far: {}", cause.trust.name(), clean(&cause.what))
}

fn share_of(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// `31.0 ms`, or a dash.
pub(crate) fn format_time(time: Option<Duration>) -> String {
    time.map_or_else(|| display::NO_VALUE.to_owned(), display::format_duration)
}

/// `0.42 %`, or a dash.
pub(crate) fn format_share(share: Option<f64>) -> String {
    share.map_or_else(|| display::NO_VALUE.to_owned(), display::format_percent)
}

/// `1 user`.
pub(crate) fn format_users(window: &Window) -> String {
    display::format_counted(window.users.into(), "user")
}

/// `201/200 it/s`, or without a target `201 it/s`.
pub(crate) fn format_window_rate(window: &Window) -> String {
    let number = |rate: f64| {
        if rate < 10.0 {
            format!("{}", (rate * 10.0).round() / 10.0)
        } else {
            format!("{rate:.0}")
        }
    };
    match window.target {
        Some(target) => format!("{}/{} it/s", number(window.rate), number(target)),
        None => format!("{} it/s", number(window.rate)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::metrics::ErrorTally;

    fn course(frames: impl IntoIterator<Item = Frame>) -> Course {
        let mut course = Course::new(sample::start(), Duration::from_secs(1));
        for frame in frames {
            course.add(frame);
        }
        course
    }

    #[test]
    fn a_window_holds_the_last_seconds_and_no_more() {
        let course = course((0..20).map(|second| sample::frame(second, u64::from(second))));
        let window = course.window(5, 20);
        assert!((window.rate - 17.0).abs() < 1e-9);
        assert_eq!(window.target, Some(20.0));
        assert_eq!(window.errors, Some(0.0));
        assert_eq!(window.steps[1], StepWindow::default());
        assert!((window.steps[0].rate - 17.0).abs() < 1e-9);
        assert_eq!(course.second(), 19);
    }

    #[test]
    fn parts_of_one_second_add_up() {
        let course = course([sample::frame(0, 3), sample::frame(0, 4)]);
        assert!((course.window(5, 1).rate - 7.0).abs() < 1e-9);
    }

    #[test]
    fn the_target_follows_the_ramp() {
        let course = course([]);
        // Two seconds from nothing to 20/s: 5/s and 15/s in their middles.
        assert_eq!(course.window(5, 1).target, Some(5.0));
        assert_eq!(course.window(5, 2).target, Some(10.0));
    }

    #[test]
    fn dropped_iterations_count_as_errors() {
        let mut frame = sample::frame(0, 3);
        frame.windows.steady.journey.dropped = 1;
        assert_eq!(course([frame]).window(5, 1).errors, Some(0.25));
        assert_eq!(course([]).window(5, 1).errors, None);
    }

    #[test]
    fn a_limit_that_ends_the_run_is_told_with_what_was_measured() {
        let mut course = course([]);
        let limit = course.record.start.plan.thresholds[0].clone();
        assert_eq!(limit.threshold.to_string(), "errors < 1%");
        let mut frame = sample::frame(31, 1);
        assert_eq!(course.broken(&frame), None);
        frame.broken = Some(loadtest_model::metrics::Broken {
            threshold: 0,
            actual: 0.071,
            after: Duration::from_secs(32),
        });
        let line = |course: &Course, of: &str| {
            format!(
                "[32s] given up: errors of {of}: 7.1 %, and must be < 1 %; waiting for requests in \
                 flight (at most {} s)",
                course.record.start.plan.graceful_stop.as_secs()
            )
        };
        assert_eq!(course.broken(&frame), Some(line(&course, "the journey")));
        // A name cannot take the terminal.
        course.record.start.plan.thresholds[0].step = Some(1);
        course.record.start.definition.steps.to_mut()[1].name = "buy\u{1b}[2J".into();
        let told = course.broken(&frame).unwrap();
        assert!(!told.contains('\u{1b}'), "{told:?}");
    }

    #[test]
    fn an_error_is_told_once_by_kind() {
        let mut course = course([]);
        let mut frame = sample::frame(3, 1);
        frame.windows.steady.steps[1].count_error(ErrorTally {
            kind: loadtest_model::metrics::ErrorKind::ConnectRefused,
            status: None,
            count: 3,
            example: "127.0.0.1:1 refused".into(),
            sample: None,
            traced: None,
        });
        assert_eq!(
            course.first_errors(&frame),
            ["[3s] first error `connect.refused` in `buy`: 127.0.0.1:1 refused"]
        );
        assert!(course.first_errors(&frame).is_empty());
    }

    #[test]
    fn a_doubt_is_told_once_and_again_when_it_gets_worse() {
        let stalled = |second, stalled| {
            let mut frame = sample::frame(second, 1);
            frame.health.stalled_seconds = stalled;
            frame.health.longest_stall_us = 300_000;
            frame
        };
        let mut course = course([]);
        let mut told = Vec::new();
        for (second, stalls) in [(0, 0), (1, 1), (2, 0), (3, 1), (4, 1)] {
            course.add(stalled(second, stalls));
            told.extend(course.first_doubts());
        }
        assert_eq!(
            told,
            [
                "[1s] DEGRADED so far: a worker thread stalled in 1 of 2 seconds: it did not return for \
                 100 ms or longer, up to 300 ms",
                "[3s] INVALID so far: a worker thread stalled in 2 of 4 seconds: it did not return for \
                 100 ms or longer, up to 300 ms",
            ]
        );
    }

    #[test]
    fn a_load_that_starts_later_in_its_mix_waits_and_counts_from_its_own_start() {
        let mut start = sample::start();
        start.plan.start = Duration::from_secs(30);
        let course = Course::new(start, Duration::from_secs(1));
        let at = |second| course.time_to_start(Duration::from_secs(second));
        assert_eq!(at(11), Some(Duration::from_secs(20)));
        assert_eq!(at(32), None);
        assert_eq!(
            course.elapsed(Duration::from_secs(36)),
            Duration::from_secs(5)
        );
        assert!(!course.is_over(Duration::from_secs(31)));
    }

    #[test]
    fn past_the_end_of_the_load_the_last_journeys_are_waited_for() {
        let frame = |users| {
            let mut frame = sample::frame(59, 1);
            frame.active_users = users;
            frame
        };
        let mut course = course([frame(3)]);
        let grace = course.record.start.plan.graceful_stop;
        assert_eq!(grace, Duration::from_secs(30));
        let at = |course: &Course, ms| course.describe_wait(Duration::from_millis(ms));
        assert_eq!(at(&course, 60_000), None);
        let words = "waiting for the last 3 journeys, up to 30s";
        assert_eq!(at(&course, 60_001).unwrap(), words);
        course.add(frame(1));
        let words = "waiting for the last 1 journey, up to 8s";
        assert_eq!(at(&course, 82_000).unwrap(), words);
        course.add(frame(0));
        assert_eq!(at(&course, 82_000), None);
    }

    #[test]
    fn the_position_counts_from_the_beginning_of_the_load() {
        let course = course([]);
        let elapsed = course.elapsed(Duration::from_millis(16_900));
        assert_eq!(course.position(elapsed), "15s/1m");
        assert!((course.progress(elapsed) - 0.265).abs() < 1e-9);
        assert!(course.progress(Duration::from_secs(90)) >= 1.0);
        assert!(!course.is_over(Duration::from_secs(61)));
        assert!(course.is_over(Duration::from_secs(62)));
    }
}

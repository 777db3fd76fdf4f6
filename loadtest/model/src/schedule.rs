//! The start times of iterations: pure arithmetic from the start of the run, so that nothing drifts.

use crate::definition::{Load, Shape, Stage};
use serde::Serialize;
use std::ops::Range;
use std::time::Duration;

/// Users of a closed load who may begin before any of them is answered. A target takes connections one by one, and
/// drops those for which its backlog has no room, so that they are tried again after a second: that would be
/// our doing.
pub const AT_ONCE: u64 = 32;
/// From one user to the next where as many are not answered yet. A backlog of 128 holds what comes in 48 ms.
pub const GAP: Duration = Duration::from_micros(500);

/// The course of a load over time, warm-up included.
#[derive(Debug, Clone)]
pub struct Schedule {
    segments: Vec<Segment>,
    model: Model,
    warm_up: f64,
    steady: (f64, f64),
}

/// The model of a load: what makes iterations start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// They arrive at a rate.
    Open,
    /// Each user starts its next one when the last ends.
    Closed,
    /// A fixed number is made by users.
    Iterations {
        /// The number of iterations.
        count: u64,
        /// Made by this many users.
        users: u32,
        /// True if each makes an equal part.
        per_user: bool,
    },
}

/// The part of the load that an iteration is due in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// The warm-up: discarded.
    WarmUp,
    /// The ramp, and what follows the last steady stage: in the accounts only.
    Ramp,
    /// The headline numbers.
    Steady,
}

impl Window {
    /// All of them, in their order.
    pub const ALL: [Self; 3] = [Self::WarmUp, Self::Ramp, Self::Steady];
}

/// A linear piece of the course; times in seconds from the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// The start of the piece.
    pub start: f64,
    /// The length of the piece.
    pub length: f64,
    /// The target at the start: iterations per second, or users.
    pub from: f64,
    /// The target at the end.
    pub to: f64,
    /// Arrivals before this piece (open model).
    before: f64,
}

impl Schedule {
    /// The course of `load`.
    pub fn new(load: &Load) -> Self {
        let warm_up = load.warm_up.as_secs_f64();
        let (stages, model, ramp) = match &load.shape {
            Shape::Rate {
                per_second,
                ramp_up,
                duration,
            } => (
                ramp_stages(*per_second, *ramp_up, *duration),
                Model::Open,
                Some(*ramp_up),
            ),
            Shape::Users {
                users,
                ramp_up,
                duration,
            } => (
                ramp_stages(f64::from(*users), *ramp_up, *duration),
                Model::Closed,
                Some(
                    begin_span(*users, *duration)
                        .saturating_sub(load.warm_up)
                        .max(*ramp_up),
                ),
            ),
            Shape::Iterations {
                count,
                users,
                per_user,
            } => (
                Vec::new(),
                Model::Iterations {
                    count: *count,
                    users: *users,
                    per_user: *per_user,
                },
                None,
            ),
            Shape::RateStages { stages } => (stages.to_vec(), Model::Open, None),
            Shape::UserStages { stages } => (stages.to_vec(), Model::Closed, None),
        };
        let mut schedule = Self {
            segments: Vec::new(),
            model,
            warm_up,
            steady: (warm_up, f64::INFINITY),
        };
        if warm_up > 0.0 && !stages.is_empty() {
            schedule.push(Stage {
                from: load.peak(),
                to: load.peak(),
                duration: load.warm_up,
            });
        }
        for &stage in &stages {
            schedule.push(stage);
        }
        schedule.steady = match ramp {
            Some(ramp) => (warm_up + ramp.as_secs_f64(), f64::INFINITY),
            None => schedule
                .flat_part(usize::from(warm_up > 0.0))
                .unwrap_or(schedule.steady),
        };
        schedule
    }

    /// Returns the linear pieces of the load; none for a fixed amount of work.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the model of the load.
    pub fn model(&self) -> Model {
        self.model
    }

    /// The end of the load; `None` for a fixed amount of work.
    pub fn end(&self) -> Option<Duration> {
        self.segments
            .last()
            .map(|last| Duration::from_secs_f64(last.start + last.length))
    }

    /// Returns the length of the steady part, which the headline numbers cover, in a run of `elapsed`.
    pub fn steady_part(&self, elapsed: Duration) -> Duration {
        let end = self
            .end()
            .unwrap_or(elapsed)
            .min(elapsed)
            .as_secs_f64()
            .min(self.steady.1);
        Duration::from_secs_f64((end - self.steady.0).max(0.0))
    }

    /// The begin and the end of the steady part, which the headline numbers cover; no end for a fixed amount of work.
    pub fn steady_span(&self) -> (Duration, Option<Duration>) {
        let end = self.end().map(|end| end.as_secs_f64().min(self.steady.1));
        (
            Duration::from_secs_f64(self.steady.0),
            end.map(Duration::from_secs_f64),
        )
    }

    /// Returns the part of the load that contains `due`, a time from the start.
    pub fn window(&self, due: Duration) -> Window {
        let due = due.as_secs_f64();
        if due < self.warm_up {
            Window::WarmUp
        } else if due < self.steady.0 || due >= self.steady.1 {
            Window::Ramp
        } else {
            Window::Steady
        }
    }

    /// The end of the window that `due` is in; the largest time where it has none.
    pub fn window_end(&self, due: Duration) -> Duration {
        [self.warm_up, self.steady.0, self.steady.1]
            .into_iter()
            .filter(|edge| *edge > due.as_secs_f64())
            .reduce(f64::min)
            .and_then(|edge| Duration::try_from_secs_f64(edge).ok())
            .unwrap_or(Duration::MAX)
    }

    /// Open model: how many iterations arrive in all.
    pub fn arrivals(&self) -> u64 {
        // An arrival at the very end would have no time to start; the tolerance is for `rate x time`
        // that is a whole number but for rounding.
        self.segments.last().map_or(0, |last| {
            (last.before + last.area() - 1e-6).ceil().max(0.0) as u64
        })
    }

    /// Returns the number of iterations that arrive before a time from the start; `None` where none arrive by a rate.
    pub fn arrivals_until(&self, time: Duration) -> Option<u64> {
        if !matches!(self.model(), Model::Open) {
            return None;
        }
        let (mut least, mut most) = (0, self.arrivals());
        while least < most {
            let middle = least + (most - least) / 2;
            if self.arrival(middle) < time {
                least = middle + 1;
            } else {
                most = middle;
            }
        }
        Some(least)
    }

    /// Open model: when arrival `index` is due; arrivals up to a time are the integral of the rate.
    pub fn arrival(&self, index: u64) -> Duration {
        let index = index as f64;
        let piece = self
            .segments
            .partition_point(|piece| piece.before <= index)
            .saturating_sub(1);
        let piece = &self.segments[piece];
        Duration::from_secs_f64(piece.start + piece.time_of(index - piece.before).min(piece.length))
    }

    /// Closed model: from when, not before `time`, user `user` (counted from zero) is to be active.
    pub fn active_from(&self, user: u64, time: Duration) -> Option<Duration> {
        self.active_span(user, time).map(|span| span.start)
    }

    /// Closed model: from when, not before `time`, user `user` (counted from zero) is to be active, and until when it
    /// surely stays so.
    pub fn active_span(&self, user: u64, time: Duration) -> Option<Range<Duration>> {
        let (level, time) = (user as f64, time.as_secs_f64());
        for piece in self
            .segments
            .iter()
            .filter(|piece| piece.start + piece.length > time)
        {
            let from = time.max(piece.start);
            let value = piece.value(from);
            if value > level || (value >= level && piece.to > piece.from) {
                let until = if piece.to < level {
                    piece.crossing(level)
                } else {
                    piece.start + piece.length
                };
                return Some(Duration::from_secs_f64(from)..Duration::from_secs_f64(until));
            }
            if piece.to > level {
                let from = piece.crossing(level).max(from);
                let until = piece.start + piece.length;
                return Some(Duration::from_secs_f64(from)..Duration::from_secs_f64(until));
            }
        }
        None
    }

    /// The target at `time` from the start: iterations per second or users; `None` after the end and
    /// for a fixed amount of work.
    pub fn target(&self, time: Duration) -> Option<f64> {
        let time = time.as_secs_f64();
        let piece = self
            .segments
            .iter()
            .find(|piece| (piece.start..piece.start + piece.length).contains(&time))?;
        Some(piece.value(time))
    }

    fn push(&mut self, stage: Stage) {
        let (start, before) = self.segments.last().map_or((0.0, 0.0), |last| {
            (last.start + last.length, last.before + last.area())
        });
        let length = stage.duration.as_secs_f64();
        if length > 0.0 {
            self.segments.push(Segment {
                start,
                length,
                from: stage.from,
                to: stage.to,
                before,
            });
        }
    }

    /// From the first flat piece to the end of the last one.
    #[expect(
        clippy::float_cmp,
        reason = "a stage is flat when both ends are written alike"
    )]
    fn flat_part(&self, skip: usize) -> Option<(f64, f64)> {
        let mut flat = self
            .segments
            .iter()
            .skip(skip)
            .filter(|piece| piece.from == piece.to && piece.to > 0.0);
        let first = flat.next()?;
        let last = flat.next_back().unwrap_or(first);
        let end = last.start + last.length;
        let whole = self.end().is_none_or(|all| end >= all.as_secs_f64());
        Some((first.start, if whole { f64::INFINITY } else { end }))
    }
}

/// Returns the longest time until `users` who begin at once have all begun; zero if the load ends before.
fn begin_span(users: u32, duration: Duration) -> Duration {
    let later = u64::from(users).saturating_sub(AT_ONCE);
    let beginning = GAP * u32::try_from(later).unwrap_or(u32::MAX);
    if beginning < duration {
        beginning
    } else {
        Duration::ZERO
    }
}

/// A rise from zero, then a steady part; both within `duration`.
fn ramp_stages(target: f64, ramp_up: Duration, duration: Duration) -> Vec<Stage> {
    vec![
        Stage {
            from: 0.0,
            to: target,
            duration: ramp_up,
        },
        Stage {
            from: target,
            to: target,
            duration: duration.saturating_sub(ramp_up),
        },
    ]
}

impl Segment {
    /// Returns the integral of the target: the arrivals in the piece (open model).
    pub fn area(&self) -> f64 {
        f64::midpoint(self.from, self.to) * self.length
    }

    fn value(&self, time: f64) -> f64 {
        self.from + (self.to - self.from) * (time - self.start) / self.length
    }

    /// The time at which the target, which is no constant, is `value`.
    fn crossing(&self, value: f64) -> f64 {
        self.start + (value - self.from) / (self.to - self.from) * self.length
    }

    /// The time from the start of the piece at which its integral reaches `area`: the root of
    /// `from t + slope t^2 / 2 = area`, in the form that does not cancel.
    fn time_of(&self, area: f64) -> f64 {
        let slope = (self.to - self.from) / self.length;
        let root = (self.from * self.from + 2.0 * slope * area).max(0.0).sqrt();
        if area <= 0.0 {
            0.0
        } else {
            2.0 * area / (self.from + root)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn rate(per_second: f64, ramp_up: f64, duration: f64) -> Schedule {
        Schedule::new(&Load::new(Shape::Rate {
            per_second,
            ramp_up: seconds(ramp_up),
            duration: seconds(duration),
        }))
    }

    #[test]
    fn arrivals_at_a_constant_rate_are_evenly_spaced() {
        let schedule = rate(7.3, 0.0, 100.0);
        assert_eq!(schedule.arrivals(), 730);
        assert_eq!(schedule.arrival(0), Duration::ZERO);
        assert_eq!(schedule.arrival(73), seconds(10.0));
        assert_eq!(schedule.arrival(365), seconds(50.0));
    }

    #[test]
    fn a_ramp_starts_half_as_many_as_its_end_rate_would() {
        let schedule = rate(200.0, 10.0, 60.0);
        assert_eq!(schedule.arrivals(), 1_000 + 10_000);
        assert_eq!(schedule.arrival(1_000), seconds(10.0));
        assert_eq!(schedule.arrival(250), seconds(5.0));
        assert_eq!(schedule.window(seconds(9.9)), Window::Ramp);
        assert_eq!(schedule.window(seconds(10.0)), Window::Steady);
        assert_eq!(schedule.steady_part(seconds(75.0)), seconds(50.0));
    }

    #[test]
    fn figures_of_users_without_a_ramp_start_when_all_have_begun() {
        let window = |duration, at| {
            let schedule = Schedule::new(&Load::new(Shape::Users {
                users: 2_016,
                ramp_up: Duration::ZERO,
                duration: seconds(duration),
            }));
            schedule.window(seconds(at))
        };
        assert_eq!(window(10.0, 0.9), Window::Ramp);
        assert_eq!(window(10.0, 1.0), Window::Steady);
        // The load ends before all have begun.
        assert_eq!(window(0.5, 0.1), Window::Steady);
    }

    #[test]
    fn users_of_a_ramp_start_one_after_another() {
        let schedule = Schedule::new(&Load::new(Shape::Users {
            users: 50,
            ramp_up: seconds(10.0),
            duration: seconds(60.0),
        }));
        assert_eq!(
            schedule.active_from(0, Duration::ZERO),
            Some(Duration::ZERO)
        );
        assert_eq!(schedule.active_from(25, Duration::ZERO), Some(seconds(5.0)));
        assert_eq!(schedule.active_from(49, Duration::ZERO), Some(seconds(9.8)));
        assert_eq!(schedule.active_from(49, seconds(30.0)), Some(seconds(30.0)));
        assert_eq!(schedule.active_from(50, Duration::ZERO), None);
        assert_eq!(schedule.active_from(0, seconds(60.0)), None);
    }

    proptest! {
        #[test]
        fn a_user_is_active_to_the_end_of_a_span(
            stages in prop::collection::vec((0_u32..6, 0_u32..6, 1_u32..20), 1..5),
            user in 0_u64..6,
            time in 0.0..60.0,
            share in 0.0..1.0,
        ) {
            let stages = stages.into_iter().map(|(from, to, length)| Stage {
                from: f64::from(from),
                to: f64::from(to),
                duration: Duration::from_secs(length.into()),
            });
            let stages = stages.collect::<Vec<_>>().into();
            let schedule = Schedule::new(&Load::new(Shape::UserStages { stages }));
            let Some(span) = schedule.active_span(user, seconds(time)) else {
                return Ok(());
            };
            prop_assert!(seconds(time) <= span.start && span.start < span.end, "{span:?}");
            let within = span.start + span.end.abs_diff(span.start).mul_f64(share * 0.999);
            let active = schedule.active_from(user, within);
            let later = active.map(|active| active.abs_diff(within));
            prop_assert!(later.is_some_and(|later| later < Duration::from_micros(1)), "{span:?}: {active:?}");
        }
    }

    #[test]
    fn users_leave_and_return_with_the_stages() {
        let stage = |from, to, duration| Stage {
            from,
            to,
            duration: seconds(duration),
        };
        let stages = vec![
            stage(10.0, 10.0, 10.0),
            stage(2.0, 2.0, 10.0),
            stage(2.0, 10.0, 8.0),
        ];
        let schedule = Schedule::new(&Load::new(Shape::UserStages {
            stages: stages.into(),
        }));
        assert_eq!(schedule.active_from(5, seconds(3.0)), Some(seconds(3.0)));
        assert_eq!(schedule.active_from(5, seconds(12.0)), Some(seconds(23.0)));
        assert_eq!(schedule.window(seconds(5.0)), Window::Steady);
        assert_eq!(schedule.window(seconds(23.0)), Window::Ramp);
    }

    #[test]
    fn the_warm_up_comes_before_everything() {
        let mut load = Load::new(Shape::Rate {
            per_second: 10.0,
            ramp_up: Duration::ZERO,
            duration: seconds(5.0),
        });
        load.warm_up = seconds(2.0);
        let schedule = Schedule::new(&load);
        assert_eq!(schedule.end(), Some(seconds(7.0)));
        assert_eq!(schedule.arrivals(), 70);
        assert_eq!(schedule.window(schedule.arrival(19)), Window::WarmUp);
        assert_eq!(schedule.window(schedule.arrival(20)), Window::Steady);
        assert_eq!(schedule.steady_part(seconds(7.0)), seconds(5.0));
    }

    /// Rates and times as people write them, and as they do not: none, hardly any, and a great many.
    fn any_stages() -> impl Strategy<Value = Vec<Stage>> {
        let rate = || prop_oneof![Just(0.0), 0.0_f64..1.0, 0.0_f64..500.0, 1e3_f64..1e6];
        let time = prop_oneof![1e-6_f64..1e-3, 1e-3_f64..1.0, 1.0_f64..3_600.0];
        let stage =
            (rate(), rate(), time, any::<bool>()).prop_map(|(from, to, time, is_flat)| Stage {
                from,
                to: if is_flat { from } else { to },
                duration: seconds(time),
            });
        proptest::collection::vec(stage, 1..8)
    }

    /// The integral of the rate up to `time`, and the rate there.
    fn integral(stages: &[Stage], time: Duration) -> (f64, f64) {
        let (mut area, mut left, mut rate) = (0.0, time.as_secs_f64(), 0.0_f64);
        for stage in stages {
            let length = stage.duration.as_secs_f64();
            let part = left.min(length);
            let end = stage.from + (stage.to - stage.from) * part / length;
            area += f64::midpoint(stage.from, end) * part;
            rate = if left > 0.0 {
                stage.from.max(end)
            } else {
                rate
            };
            left = (left - part).max(0.0);
        }
        (area, rate)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn arrivals_are_the_integral_of_the_rate(
            stages in any_stages(),
            picked in proptest::collection::vec(0.0_f64..1.0, 64),
        ) {
            let schedule = Schedule::new(&Load::new(Shape::RateStages { stages: stages.clone().into() }));
            let end = schedule.end().unwrap();
            let (total, _) = integral(&stages, end);
            let arrivals = schedule.arrivals();
            // One at the start, and one whenever the integral is whole, but none at the very end.
            let tolerance = 1e-6 + total * 1e-12;
            prop_assert!(arrivals as f64 >= total - tolerance, "{arrivals} of {total}");
            prop_assert!(arrivals as f64 <= total + 1.0, "{arrivals} of {total}");
            let some = picked.into_iter().map(|share| (share * arrivals as f64) as u64);
            for index in some.chain(0..arrivals.min(50)).chain(arrivals.saturating_sub(50)..arrivals) {
                let due = schedule.arrival(index);
                prop_assert!(due <= end);
                if index > 0 {
                    prop_assert!(due >= schedule.arrival(index - 1), "{index} is due before the one before it");
                }
                // As near as a nanosecond can be written, and a sum of so many. A nanosecond earlier the rate may be
                // that of another stage.
                let (area, rate) = integral(&stages, due);
                let (_, before) = integral(&stages, due.saturating_sub(Duration::from_nanos(2)));
                let rate = rate.max(before);
                let tolerance = 2e-9 * rate + 1e-6 + total * 1e-11;
                prop_assert!(
                    (area - index as f64).abs() <= tolerance,
                    "{area} arrivals by the time {due:?} of {index}, at {rate} a second"
                );
            }
        }

        #[test]
        fn every_arrival_is_in_the_window_it_is_due_in(
            stages in any_stages(),
            warm_up in prop_oneof![Just(0.0), 0.001_f64..10.0],
            share in 0.0_f64..1.0,
        ) {
            let mut load = Load::new(Shape::RateStages { stages: stages.into() });
            load.warm_up = seconds(warm_up);
            let schedule = Schedule::new(&load);
            prop_assume!(schedule.arrivals() > 0);
            let due = schedule.arrival((share * schedule.arrivals() as f64) as u64);
            let end = schedule.window_end(due);
            let last = end.saturating_sub(Duration::from_nanos(1)).min(Duration::from_secs(1_000_000));
            prop_assert_eq!(schedule.window(due), schedule.window(last.max(due)));
            if end < Duration::MAX {
                // An edge lies between two nanoseconds.
                prop_assert_ne!(schedule.window(due), schedule.window(end + Duration::from_nanos(1)));
            }
        }
    }
}

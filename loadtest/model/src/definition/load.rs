//! How much load a run applies, and for how long.

use super::{Rate, micros};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// The most stages that a curve becomes.
const MOST_SAMPLES: u64 = 600;

/// The load of a scenario, as declared or as overridden on the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The model and its course over time.
    pub shape: Shape,
    /// Time before the measured run whose results are discarded.
    #[serde(rename = "warm_up_us", with = "micros", default)]
    pub warm_up: Duration,
    /// Open model: the highest number of virtual users; `None` derives it from rate and think time.
    #[serde(default)]
    pub max_users: Option<u32>,
    /// Closed model: the least time from the start of a user's iteration to the start of its next one.
    #[serde(rename = "pace_us", with = "micros::option", default)]
    pub pace: Option<Duration>,
}

/// The load model: open (arrivals), closed (users) or a fixed amount of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum Shape {
    /// Open model: iterations started per second, whatever the target does.
    Rate {
        /// Iterations per second after the ramp.
        per_second: f64,
        /// Linear rise from zero, part of `duration`.
        #[serde(rename = "ramp_up_us", with = "micros")]
        ramp_up: Duration,
        /// The whole run, ramp included.
        #[serde(rename = "duration_us", with = "micros")]
        duration: Duration,
    },
    /// Closed model: virtual users, each starting its next iteration when the last one ends.
    Users {
        /// Virtual users after the ramp.
        users: u32,
        /// Linear rise from zero, part of `duration`.
        #[serde(rename = "ramp_up_us", with = "micros")]
        ramp_up: Duration,
        /// The whole run, ramp included.
        #[serde(rename = "duration_us", with = "micros")]
        duration: Duration,
    },
    /// A fixed number of iterations, made by `users`.
    Iterations {
        /// Iterations in total.
        count: u64,
        /// Virtual users that make them.
        users: u32,
        /// True if each user makes an equal part; else the next iteration goes to whoever is free.
        #[serde(default)]
        per_user: bool,
    },
    /// Open model in linear stages; `from` and `to` are iterations per second.
    RateStages {
        /// The stages, one after another.
        stages: Cow<'static, [Stage]>,
    },
    /// Closed model in linear stages; `from` and `to` are virtual users.
    UserStages {
        /// The stages, one after another.
        stages: Cow<'static, [Stage]>,
    },
}

/// A linear course between two targets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// The target at the start of the stage.
    pub from: f64,
    /// The target at its end.
    pub to: f64,
    /// The length of the stage.
    #[serde(rename = "duration_us", with = "micros")]
    pub duration: Duration,
}

impl Load {
    /// The load of a scenario that declares none: one virtual user for ten seconds.
    pub const DEFAULT: Self = Self::new(Shape::Users {
        users: 1,
        ramp_up: Duration::ZERO,
        duration: Duration::from_secs(10),
    });

    /// A load without warm-up, its number of users derived.
    pub const fn new(shape: Shape) -> Self {
        Self {
            shape,
            warm_up: Duration::ZERO,
            max_users: None,
            pace: None,
        }
    }

    /// Open model: iterations start at this rate for so long, whatever the target does.
    pub const fn rate(rate: Rate, duration: Duration) -> Self {
        Self::new(Shape::Rate {
            per_second: rate.as_per_second(),
            ramp_up: Duration::ZERO,
            duration,
        })
    }

    /// Closed model: so many virtual users for so long, each starting its next iteration when the last
    /// one ends.
    pub const fn users(users: u32, duration: Duration) -> Self {
        Self::new(Shape::Users {
            users,
            ramp_up: Duration::ZERO,
            duration,
        })
    }

    /// A fixed number of iterations, shared by so many virtual users.
    pub const fn iterations(count: u64, users: u32) -> Self {
        Self::new(Shape::Iterations {
            count,
            users,
            per_user: false,
        })
    }

    /// A fixed number of iterations for each of so many virtual users.
    pub const fn iterations_per_user(each: u64, users: u32) -> Self {
        Self::new(Shape::Iterations {
            count: each.saturating_mul(users as u64),
            users,
            per_user: true,
        })
    }

    /// Open model in linear stages, whose targets are iterations per second.
    pub fn rate_stages(stages: impl Into<Vec<Stage>>) -> Self {
        Self::new(Shape::RateStages {
            stages: stages.into().into(),
        })
    }

    /// Closed model in linear stages, whose targets are virtual users.
    pub fn user_stages(stages: impl Into<Vec<Stage>>) -> Self {
        Self::new(Shape::UserStages {
            stages: stages.into().into(),
        })
    }

    /// Open model along a curve: iterations per second at each time from the start of the load.
    ///
    /// The curve is read once, at the start of every second and at the end, of a load of more than ten minutes at 600
    /// instants; between them the rate is linear.
    pub fn rate_curve(curve: impl Fn(Duration) -> f64, duration: Duration) -> Self {
        Self::rate_stages(sample_curve(curve, duration))
    }

    /// Closed model along a curve: virtual users at each time from the start of the load. The curve is read as that of
    /// [`rate_curve`](Self::rate_curve).
    pub fn user_curve(curve: impl Fn(Duration) -> f64, duration: Duration) -> Self {
        Self::user_stages(sample_curve(curve, duration))
    }

    /// Rises from nothing to the full load over this time, which is part of the duration. A load in
    /// stages gets one more before its first; a fixed number of iterations has no course and stays as
    /// it is.
    #[must_use]
    pub fn ramp_up(mut self, time: Duration) -> Self {
        match &mut self.shape {
            Shape::Rate { ramp_up, .. } | Shape::Users { ramp_up, .. } => *ramp_up = time,
            Shape::RateStages { stages } | Shape::UserStages { stages } => {
                let to = stages.first().map_or(0.0, |first| first.from);
                let ramp = Stage {
                    from: 0.0,
                    to,
                    duration: time,
                };
                stages.to_mut().insert(0, ramp);
            }
            Shape::Iterations { .. } => {}
        }
        self
    }

    /// Runs the full load for this long before what is measured; its results are discarded.
    #[must_use]
    pub const fn warm_up(mut self, time: Duration) -> Self {
        self.warm_up = time;
        self
    }

    /// Open model: the highest number of virtual users.
    #[must_use]
    pub const fn max_users(mut self, users: u32) -> Self {
        self.max_users = Some(users);
        self
    }

    /// Closed model: each user starts an iteration at this interval, or at once after one that took longer.
    #[must_use]
    pub const fn pace(mut self, interval: Duration) -> Self {
        self.pace = Some(interval);
        self
    }

    /// The highest target: iterations per second or users.
    pub fn peak(&self) -> f64 {
        match &self.shape {
            Shape::Rate { per_second, .. } => *per_second,
            Shape::Users { users, .. } | Shape::Iterations { users, .. } => f64::from(*users),
            Shape::RateStages { stages } | Shape::UserStages { stages } => stages
                .iter()
                .map(|stage| stage.from.max(stage.to))
                .fold(0.0, f64::max),
        }
    }

    /// Returns the first target that is no number of users or iterations, and its time from the start of the load.
    pub fn first_invalid_target(&self) -> Option<(Duration, f64)> {
        let (Shape::RateStages { stages } | Shape::UserStages { stages }) = &self.shape else {
            return None;
        };
        let mut start = Duration::ZERO;
        for stage in stages.iter() {
            let end = start.saturating_add(stage.duration);
            for (at, target) in [(start, stage.from), (end, stage.to)] {
                if !(target.is_finite() && target >= 0.0) {
                    return Some((at, target));
                }
            }
            start = end;
        }
        None
    }

    /// Returns true for an open load: iterations arrive at a rate, however slow the target is.
    pub fn is_open(&self) -> bool {
        matches!(self.shape, Shape::Rate { .. } | Shape::RateStages { .. })
    }

    /// The length of the measured run, ramp included and warm-up not; `None` for a fixed amount of work.
    pub fn duration(&self) -> Option<Duration> {
        match &self.shape {
            Shape::Rate { duration, .. } | Shape::Users { duration, .. } => Some(*duration),
            Shape::Iterations { .. } => None,
            Shape::RateStages { stages } | Shape::UserStages { stages } => {
                let times = stages.iter().map(|stage| stage.duration);
                Some(times.fold(Duration::ZERO, Duration::saturating_add))
            }
        }
    }
}

/// The stages between samples of `curve`. Neighbours that are flat alike are one stage.
#[expect(
    clippy::float_cmp,
    reason = "a stage is flat when the curve is the same at both ends"
)]
fn sample_curve(curve: impl Fn(Duration) -> f64, duration: Duration) -> Vec<Stage> {
    let count = duration.as_secs().clamp(1, MOST_SAMPLES) as u32;
    let sample_time = |i| {
        if i == count {
            duration
        } else {
            duration / count * i
        }
    };
    let mut stages: Vec<Stage> = Vec::new();
    let mut from = curve(Duration::ZERO);
    for i in 0..count {
        let to = curve(sample_time(i + 1));
        let length = sample_time(i + 1).saturating_sub(sample_time(i));
        let stage = Stage::new(from, to, length);
        match stages.last_mut() {
            Some(last) if last.from == to && last.to == to && from == to => {
                last.duration += stage.duration;
            }
            _ => stages.push(stage),
        }
        from = to;
    }
    stages
}

impl Stage {
    /// A linear course from one target to another.
    pub const fn new(from: f64, to: f64, duration: Duration) -> Self {
        Self { from, to, duration }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_curve_becomes_a_stage_for_each_second_and_one_where_it_is_flat() {
        let load = Load::rate_curve(|at| (at.as_secs_f64() * 10.0).min(20.0), seconds(60));
        let stages = [
            Stage::new(0.0, 10.0, seconds(1)),
            Stage::new(10.0, 20.0, seconds(1)),
            Stage::new(20.0, 20.0, seconds(58)),
        ];
        assert_eq!(load, Load::rate_stages(stages));
        let short = Load::user_curve(|at| at.as_secs_f64(), Duration::from_millis(500));
        let stage = Stage::new(0.0, 0.5, Duration::from_millis(500));
        assert_eq!(short, Load::user_stages([stage]));
    }

    #[test]
    fn the_first_target_without_a_meaning_is_found_with_its_time() {
        let at_40 = |bad: f64| {
            let curve = move |at| if at == seconds(40) { bad } else { 1.0 };
            Load::rate_curve(curve, seconds(60)).first_invalid_target()
        };
        let (at, target) = at_40(f64::NAN).unwrap();
        assert_eq!(at, seconds(40));
        assert!(target.is_nan());
        assert_eq!(at_40(-2.0), Some((seconds(40), -2.0)));
        assert_eq!(at_40(f64::INFINITY), Some((seconds(40), f64::INFINITY)));
        assert_eq!(at_40(0.0), None);
    }

    proptest! {
        #[test]
        fn the_stages_of_a_curve_meet_it_and_last_as_long(
            nanos in 1_000_000_000_u64..10_000_000_000_000,
            (base, wave, period) in (1.0_f64..100.0, 0.0_f64..1.0, 1.0_f64..1_000.0),
        ) {
            let curve = |at: Duration| base * (1.0 + wave * (at.as_secs_f64() / period).sin());
            let duration = Duration::from_nanos(nanos);
            let load = Load::user_curve(curve, duration);
            prop_assert_eq!(load.duration(), Some(duration));
            let Shape::UserStages { stages } = &load.shape else { unreachable!() };
            prop_assert!(stages.len() <= 600);
            let mut at = Duration::ZERO;
            for stage in stages.iter() {
                prop_assert!(stage.duration >= Duration::from_nanos(999_999_999));
                prop_assert_eq!(stage.from.to_bits(), curve(at).to_bits());
                at += stage.duration;
                prop_assert_eq!(stage.to.to_bits(), curve(at).to_bits());
            }
        }
    }
}

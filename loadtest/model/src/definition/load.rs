//! How much load a run applies, and for how long.

use super::{Rate, micros};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

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

impl Stage {
    /// A linear course from one target to another.
    pub const fn new(from: f64, to: f64, duration: Duration) -> Self {
        Self { from, to, duration }
    }
}

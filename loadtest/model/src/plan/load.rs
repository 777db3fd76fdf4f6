//! The load of a plan: what overrides make of the declared one, and whether it can be run.

use super::error::{FIXED_WORK, LoadOption};
use super::{IterationCount, Overrides, PlanError};
use crate::definition::{Load, ScenarioDef, Shape};
use std::time::Duration;

/// The most iterations per second, and the most users, that a plan may have.
const MOST: f64 = 1_000_000.0;
/// The longest load.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// The time an iteration is assumed to take besides thinking, when users are estimated from a rate.
const ASSUMED_JOURNEY: Duration = Duration::from_secs(2);

/// The declared load with what the command line changes of it.
pub(super) fn override_load(
    declared: Load,
    overrides: &Overrides,
    errors: &mut Vec<PlanError>,
) -> Load {
    let (declared_ramp, declared_duration) = match &declared.shape {
        Shape::Rate {
            ramp_up, duration, ..
        }
        | Shape::Users {
            ramp_up, duration, ..
        } => (*ramp_up, Some(*duration)),
        _ => (Duration::ZERO, declared.duration()),
    };
    let ramp_up = overrides.ramp_up.unwrap_or(declared_ramp);
    let duration = overrides
        .duration
        .or(declared_duration)
        .unwrap_or(Duration::from_secs(10));
    let shape = if let Some(per_second) = overrides.rate_per_second {
        Shape::Rate {
            per_second,
            ramp_up,
            duration,
        }
    } else if let Some(iterations) = overrides.iterations {
        let users = overrides.users.unwrap_or(match declared.shape {
            Shape::Iterations { users, .. } | Shape::Users { users, .. } => users,
            _ => 1,
        });
        match iterations {
            IterationCount::Total(count) => Load::iterations(count, users),
            IterationCount::PerUser { per_user } => Load::iterations_per_user(per_user, users),
        }
        .shape
    } else if let Some(users) = overrides.users {
        match declared.shape {
            Shape::Iterations {
                count,
                users: all,
                per_user: true,
            } => Load::iterations_per_user(count / u64::from(all.max(1)), users).shape,
            Shape::Iterations { count, .. } => Load::iterations(count, users).shape,
            _ => Shape::Users {
                users,
                ramp_up,
                duration,
            },
        }
    } else {
        match declared.shape {
            Shape::Rate { per_second, .. } => Shape::Rate {
                per_second,
                ramp_up,
                duration,
            },
            Shape::Users { users, .. } => Shape::Users {
                users,
                ramp_up,
                duration,
            },
            shape => shape,
        }
    };
    let shape = match shape {
        // A user without an iteration would only be in the way.
        Shape::Iterations {
            count,
            users,
            per_user,
        } => Shape::Iterations {
            count,
            users: users.min(u32::try_from(count).unwrap_or(u32::MAX)),
            per_user,
        },
        shape => shape,
    };
    refuse_times(&shape, overrides, errors);
    let load = Load { shape, ..declared };
    Load {
        // A rate has a pace of its own.
        pace: load.pace.filter(|_| !load.is_open()),
        ..load
    }
}

/// Notes flags that give a time to a load that has none, or several.
fn refuse_times(shape: &Shape, overrides: &Overrides, errors: &mut Vec<PlanError>) {
    let load = match shape {
        Shape::Iterations { .. } => Some(FIXED_WORK),
        Shape::RateStages { .. } | Shape::UserStages { .. } => Some("a load in stages"),
        _ => None,
    };
    if let Some(load) = load {
        for (option, is_given) in [
            (LoadOption::Duration, overrides.duration.is_some()),
            (LoadOption::RampUp, overrides.ramp_up.is_some()),
        ] {
            if is_given {
                errors.push(PlanError::Meaningless { option, load });
            }
        }
    }
}

/// Notes every mistake in `load`.
pub(super) fn check_load(load: &Load, errors: &mut Vec<PlanError>) {
    if let Some((at, target)) = load.first_invalid_target() {
        errors.push(PlanError::Target {
            at,
            target: target.to_string(),
        });
    }
    if is_too_long(load) {
        errors.push(PlanError::TooLong);
    }
    if load.max_users == Some(0) {
        errors.push(PlanError::Nothing {
            what: "at most 0 users".to_owned(),
            least: "1 user",
        });
    }
    let peak = load.peak();
    if !(peak.is_finite() && peak > 0.0) {
        errors.push(if load.is_open() {
            PlanError::Nothing {
                what: format!("{peak}/s"),
                least: "`1/m`",
            }
        } else {
            PlanError::Nothing {
                what: format!("{peak} users"),
                least: "1 user",
            }
        });
    }
    if peak > MOST {
        errors.push(if load.is_open() {
            PlanError::TooMuch {
                what: format!("{peak}/s"),
                most: "1,000,000/s",
            }
        } else {
            PlanError::TooMuch {
                what: format!("{peak} users"),
                most: "1,000,000 users",
            }
        });
    }
    match load.shape {
        Shape::Rate {
            ramp_up, duration, ..
        }
        | Shape::Users {
            ramp_up, duration, ..
        } => {
            if duration.is_zero() {
                errors.push(PlanError::Nothing {
                    what: "0s".to_owned(),
                    least: "`1s`",
                });
            } else if ramp_up >= duration {
                errors.push(PlanError::RampTooLong {
                    ramp: ramp_up,
                    duration,
                });
            }
        }
        Shape::Iterations { count: 0, .. } => {
            errors.push(PlanError::Nothing {
                what: "0 iterations".to_owned(),
                least: "1 iteration",
            });
        }
        _ => {}
    }
}

/// Also of times whose sum is no time at all.
fn is_too_long(load: &Load) -> bool {
    let times: Vec<Duration> = match &load.shape {
        Shape::Rate { duration, .. } | Shape::Users { duration, .. } => vec![*duration],
        Shape::Iterations { .. } => Vec::new(),
        Shape::RateStages { stages } | Shape::UserStages { stages } => {
            stages.iter().map(|stage| stage.duration).collect()
        }
    };
    times
        .into_iter()
        .try_fold(load.warm_up, Duration::checked_add)
        .is_none_or(|all| all > LONGEST)
}

/// `ceil(peak rate x (mean think per journey + 2 s))`, at least 10, at most 10,000, and those that wait for each other;
/// closed: the peak.
pub(super) fn max_users(scenario: &ScenarioDef, load: &Load) -> u32 {
    if !load.is_open() {
        return load.peak().ceil() as u32;
    }
    load.max_users.unwrap_or_else(|| {
        let think: f64 = scenario
            .steps
            .iter()
            .map(|step| {
                let mean = step.think.map_or(Duration::ZERO, |think| think.mean());
                step.weight * mean.as_secs_f64()
            })
            .sum();
        let users = load.peak() * (think + ASSUMED_JOURNEY.as_secs_f64());
        let groups = scenario.steps.iter().filter_map(|step| step.rendezvous);
        let waiting: u32 = groups.map(|group| group.users).sum();
        // What is a whole number but for rounding stays one.
        ((users - 1e-6).ceil() as u32).clamp(10, 10_000) + waiting
    })
}

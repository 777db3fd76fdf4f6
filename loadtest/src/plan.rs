//! A scenario with its overrides, checked: what a run will do.
//!
//! All mistakes are reported at once.

use crate::chain::RowLimit;
use crate::definition::{Bound, Load, Metric, ScenarioDef, Shape, Threshold};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the command line changes of a declared load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overrides {
    /// `--rate`, iterations per second.
    pub rate_per_second: Option<f64>,
    /// `--users`.
    pub users: Option<u32>,
    /// `--iterations`.
    pub iterations: Option<u64>,
    /// `--ramp-up`.
    #[serde(rename = "ramp_up_us", with = "crate::definition::micros::option")]
    pub ramp_up: Option<Duration>,
    /// `--duration`.
    #[serde(rename = "duration_us", with = "crate::definition::micros::option")]
    pub duration: Option<Duration>,
}

/// The grading policy of a workspace, from `loadtest.toml`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GradingDefaults {
    /// The target T of steps that declare none.
    #[serde(rename = "apdex_us", with = "crate::definition::micros::option")]
    pub apdex: Option<Duration>,
    /// The error budget of steps that declare none, a share of one.
    pub budget: Option<f64>,
}

/// What a run of one scenario does; kept in its record, so that it can be graded again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The load, overrides applied.
    pub load: Load,
    /// Whether the scenario declares no load and none was given, so that the default applies.
    pub default_load: bool,
    /// The seed of weights, think times and `vu.random()`.
    pub seed: u64,
    /// The most virtual users that the load may need.
    pub max_users: u32,
    /// How long iterations in flight may take after the end of the load.
    #[serde(rename = "graceful_stop_us", with = "crate::definition::micros")]
    pub graceful_stop: Duration,
    /// How each step is graded, in the order of the steps.
    pub grading: Vec<StepGrading>,
    /// What must hold for the run to pass.
    pub thresholds: Vec<ScopedThreshold>,
    /// The feed after whose last row the load ends, where one says so; known when the feeds are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowLimit>,
}

/// How a step is graded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepGrading {
    /// The Apdex target T.
    #[serde(rename = "target_us", with = "crate::definition::micros")]
    pub target: Duration,
    /// The error budget, a share of one.
    pub budget: f64,
    /// The share in the overall grade, before division by the sum of all.
    pub weight: f64,
}

/// A threshold and what it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScopedThreshold {
    /// The zero-based number of the step; `None` for the journey.
    pub step: Option<usize>,
    /// The condition.
    pub threshold: Threshold,
    /// Nobody declared it: `errors < 1%`, which applies where no threshold is on errors.
    pub implied: bool,
}

/// A mistake in a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A load of nothing.
    #[error("a load of {what} starts nothing; use at least {least}")]
    Nothing {
        /// What was given: `0/s`, `0 users`.
        what: String,
        /// What would do.
        least: &'static str,
    },
    /// A load beyond what one machine can start.
    #[error("a load of {what} is more than one machine can start; use at most {most}")]
    TooMuch {
        /// What was given.
        what: String,
        /// What would do.
        most: &'static str,
    },
    /// A grading target that no answer meets.
    #[error("a grading target T of 0s is met by no answer; use for example `500ms`")]
    NoApdex,
    /// An error budget that is no share.
    #[error("an error budget of {given} is no share of one; use for example `0.01` for 1 %")]
    NoShare {
        /// What was given, as text.
        given: String,
    },
    /// A stage with a target that is no number of users or iterations.
    #[error("a stage from {from} to {to} has no meaning; use numbers of at least 0")]
    Stage {
        /// The target at its start, as text.
        from: String,
        /// The target at its end, as text.
        to: String,
    },
    /// A load that does not end within the lifetime of a run.
    #[error(
        "a load that lasts longer than 30 days cannot be run; use at most 30 days, warm-up included"
    )]
    TooLong,
    /// The ramp takes all of the run.
    #[error(
        "the ramp of {ramp:?} leaves nothing of the run of {duration:?}, which includes it; \
         make the run longer or the ramp shorter"
    )]
    RampTooLong {
        /// The ramp.
        ramp: Duration,
        /// The run.
        duration: Duration,
    },
    /// An override that the load has no place for.
    #[error("`{flag}` has no meaning for {load}; {instead}")]
    Meaningless {
        /// The flag.
        flag: &'static str,
        /// The load, in words.
        load: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
}

/// The target T when nobody declares one (`SPEC`: Apdex, 500 ms).
const DEFAULT_TARGET: Duration = Duration::from_millis(500);
/// The error budget when nobody declares one.
const DEFAULT_BUDGET: f64 = 0.01;
/// How long iterations in flight may take after the end of the load.
const GRACEFUL_STOP: Duration = Duration::from_secs(30);
/// The most iterations per second, and the most users, that a plan may have.
const MOST: f64 = 1_000_000.0;
/// The longest load.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// The time an iteration is assumed to take besides thinking, when users are estimated from a rate.
const ASSUMED_JOURNEY: Duration = Duration::from_secs(2);

impl Plan {
    /// Applies `overrides` to what `scenario` declares.
    ///
    /// # Errors
    /// Every mistake in the resulting load.
    pub fn new(
        scenario: &ScenarioDef,
        overrides: &Overrides,
        defaults: &GradingDefaults,
        seed: u64,
    ) -> Result<Self, Vec<PlanError>> {
        let default_load = scenario.load.is_none()
            && overrides.rate_per_second.is_none()
            && overrides.users.is_none()
            && overrides.iterations.is_none();
        let mut errors = Vec::new();
        let load = overridden(
            scenario.load.clone().unwrap_or(Load::DEFAULT),
            overrides,
            &mut errors,
        );
        check(&load, &mut errors);
        check_grading(defaults, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            max_users: max_users(scenario, &load),
            load,
            default_load,
            seed,
            graceful_stop: GRACEFUL_STOP,
            rows: None,
            grading: scenario
                .steps
                .iter()
                .map(|step| {
                    let declared = step.apdex.or_else(|| tightest_tail_bound(&step.thresholds));
                    StepGrading {
                        target: declared
                            .or(scenario.apdex)
                            .or(defaults.apdex)
                            .unwrap_or(DEFAULT_TARGET),
                        budget: step
                            .budget
                            .or(scenario.budget)
                            .or(defaults.budget)
                            .unwrap_or(DEFAULT_BUDGET),
                        weight: step.grade_weight.unwrap_or(step.weight),
                    }
                })
                .collect(),
            thresholds: thresholds(scenario),
        })
    }
}

impl Load {
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

    /// Whether iterations arrive at a rate, whatever the target does.
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

fn check_grading(defaults: &GradingDefaults, errors: &mut Vec<PlanError>) {
    if defaults.apdex.is_some_and(|target| target.is_zero()) {
        errors.push(PlanError::NoApdex);
    }
    if let Some(budget) = defaults.budget
        && !(0.0..=1.0).contains(&budget)
    {
        errors.push(PlanError::NoShare {
            given: budget.to_string(),
        });
    }
}

fn overridden(declared: Load, overrides: &Overrides, errors: &mut Vec<PlanError>) -> Load {
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
    } else if let Some(count) = overrides.iterations {
        let users = overrides.users.unwrap_or(match declared.shape {
            Shape::Iterations { users, .. } | Shape::Users { users, .. } => users,
            _ => 1,
        });
        Shape::Iterations { count, users }
    } else if let Some(users) = overrides.users {
        match declared.shape {
            Shape::Iterations { count, .. } => Shape::Iterations { count, users },
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
        Shape::Iterations { count, users } => Shape::Iterations {
            count,
            users: users.min(u32::try_from(count).unwrap_or(u32::MAX)),
        },
        shape => shape,
    };
    let load = match shape {
        Shape::Iterations { .. } => Some("a fixed number of iterations"),
        Shape::RateStages { .. } | Shape::UserStages { .. } => Some("a load in stages"),
        _ => None,
    };
    if let Some(load) = load {
        for (flag, given) in [
            ("--duration", overrides.duration.is_some()),
            ("--ramp-up", overrides.ramp_up.is_some()),
        ] {
            if given {
                errors.push(PlanError::Meaningless {
                    flag,
                    load,
                    instead: "give `--rate` or `--users` with it, or leave it out",
                });
            }
        }
    }
    Load { shape, ..declared }
}

fn check(load: &Load, errors: &mut Vec<PlanError>) {
    if let Shape::RateStages { stages } | Shape::UserStages { stages } = &load.shape {
        let is_target = |target: f64| target.is_finite() && target >= 0.0;
        for stage in stages.iter() {
            if !(is_target(stage.from) && is_target(stage.to)) {
                errors.push(PlanError::Stage {
                    from: stage.from.to_string(),
                    to: stage.to.to_string(),
                });
            }
        }
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

/// `ceil(peak rate x (mean think per journey + 2 s))`, at least 10, at most 10,000; closed: the peak.
fn max_users(scenario: &ScenarioDef, load: &Load) -> u32 {
    if !load.is_open() {
        return load.peak().ceil() as u32;
    }
    load.max_users.unwrap_or_else(|| {
        let think: f64 = scenario
            .steps
            .iter()
            .map(|step| {
                let mean = step
                    .think
                    .map_or(Duration::ZERO, |think| (think.min + think.max) / 2);
                step.weight * mean.as_secs_f64()
            })
            .sum();
        let users = load.peak() * (think + ASSUMED_JOURNEY.as_secs_f64());
        // What is a whole number but for rounding stays one.
        ((users - 1e-6).ceil() as u32).clamp(10, 10_000)
    })
}

/// The smallest bound of the limits on p95 or higher.
fn tightest_tail_bound(thresholds: &[Threshold]) -> Option<Duration> {
    thresholds
        .iter()
        .filter(|threshold| {
            matches!(
                threshold.metric,
                Metric::P95 | Metric::P99 | Metric::P999 | Metric::Max
            )
        })
        .filter_map(|threshold| match threshold.bound {
            Bound::Time(time) => Some(time),
            _ => None,
        })
        .min()
}

fn thresholds(scenario: &ScenarioDef) -> Vec<ScopedThreshold> {
    let declared = |step: Option<usize>, thresholds: &[Threshold]| -> Vec<ScopedThreshold> {
        thresholds
            .iter()
            .map(|&threshold| ScopedThreshold {
                step,
                threshold,
                implied: false,
            })
            .collect()
    };
    let mut all = declared(None, &scenario.thresholds);
    for (i, step) in scenario.steps.iter().enumerate() {
        all.extend(declared(Some(i), &step.thresholds));
    }
    if !all
        .iter()
        .any(|scoped| scoped.threshold.metric == Metric::Errors)
    {
        let threshold = Threshold {
            metric: Metric::Errors,
            comparison: crate::definition::Comparison::Less,
            bound: Bound::Ratio(0.01),
        };
        all.push(ScopedThreshold {
            step: None,
            threshold,
            implied: true,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Comparison, StepDef, Think, sample};

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn scenario(load: Option<Load>) -> ScenarioDef {
        let think = Some(Think {
            min: seconds(1),
            max: seconds(3),
        });
        sample::scenario(
            load,
            vec![StepDef {
                weight: 0.5,
                think,
                ..sample::step("a")
            }],
        )
    }

    fn plan(load: Option<Load>, overrides: &Overrides) -> Result<Plan, Vec<PlanError>> {
        Plan::new(&scenario(load), overrides, &GradingDefaults::default(), 1)
    }

    fn rate(per_second: f64, ramp_up: u64, duration: u64) -> Load {
        Load::new(Shape::Rate {
            per_second,
            ramp_up: seconds(ramp_up),
            duration: seconds(duration),
        })
    }

    #[test]
    fn grading_without_meaning_is_refused_all_at_once() {
        for budget in [f64::NAN, -1.0, 2.0] {
            let defaults = GradingDefaults {
                apdex: Some(Duration::ZERO),
                budget: Some(budget),
            };
            let plan = Plan::new(&scenario(None), &Overrides::default(), &defaults, 1);
            let mistakes = plan.unwrap_err();
            assert_eq!(mistakes.len(), 2, "{budget}: {mistakes:?}");
            assert_eq!(mistakes[0], PlanError::NoApdex);
        }
    }

    #[test]
    fn a_scenario_without_a_load_gets_one_user_for_ten_seconds() {
        let plan = plan(None, &Overrides::default()).unwrap();
        assert!(plan.default_load);
        assert_eq!((plan.load, plan.max_users), (Load::DEFAULT, 1));
    }

    #[test]
    fn a_rate_replaces_the_model_and_keeps_ramp_and_duration() {
        let users = Shape::Users {
            users: 50,
            ramp_up: seconds(5),
            duration: seconds(60),
        };
        let overrides = Overrides {
            rate_per_second: Some(200.0),
            ..Overrides::default()
        };
        assert_eq!(
            plan(Some(Load::new(users)), &overrides).unwrap().load,
            rate(200.0, 5, 60)
        );
    }

    #[test]
    fn users_and_iterations_together_share_the_work() {
        let overrides = Overrides {
            users: Some(8),
            iterations: Some(100),
            ..Overrides::default()
        };
        let plan = plan(Some(rate(5.0, 0, 10)), &overrides).unwrap();
        assert_eq!(
            plan.load.shape,
            Shape::Iterations {
                count: 100,
                users: 8
            }
        );
    }

    #[test]
    fn a_user_without_an_iteration_is_not_made() {
        let overrides = Overrides {
            users: Some(100_000),
            iterations: Some(3),
            ..Overrides::default()
        };
        assert_eq!(plan(None, &overrides).unwrap().max_users, 3);
    }

    #[test]
    fn a_load_beyond_one_machine_is_refused() {
        let errors = plan(Some(rate(2e6, 0, 10)), &Overrides::default()).unwrap_err();
        assert_eq!(
            errors[0].to_string(),
            "a load of 2000000/s is more than one machine can start; use at most 1,000,000/s"
        );
    }

    #[test]
    fn every_mistake_is_reported() {
        let overrides = Overrides {
            rate_per_second: Some(0.0),
            ramp_up: Some(seconds(20)),
            ..Overrides::default()
        };
        let errors = plan(Some(rate(5.0, 0, 10)), &overrides).unwrap_err();
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert_eq!(
            errors[0].to_string(),
            "a load of 0/s starts nothing; use at least `1/m`"
        );
        assert!(
            errors[1].to_string().contains("leaves nothing of the run"),
            "{}",
            errors[1]
        );
    }

    #[test]
    fn a_duration_has_no_place_in_stages() {
        let stages = vec![crate::definition::Stage {
            from: 1.0,
            to: 1.0,
            duration: seconds(1),
        }];
        let load = Load::new(Shape::RateStages {
            stages: stages.into(),
        });
        let overrides = Overrides {
            duration: Some(seconds(9)),
            ..Overrides::default()
        };
        let errors = plan(Some(load), &overrides).unwrap_err();
        assert!(
            errors[0]
                .to_string()
                .starts_with("`--duration` has no meaning for a load in stages")
        );
    }

    #[test]
    fn users_of_an_open_load_follow_from_rate_and_think_time() {
        // 100/s x (0.5 x 2 s + 2 s)
        assert_eq!(
            plan(Some(rate(100.0, 0, 10)), &Overrides::default())
                .unwrap()
                .max_users,
            300
        );
        assert_eq!(
            plan(Some(rate(1.0, 0, 10)), &Overrides::default())
                .unwrap()
                .max_users,
            10
        );
        assert_eq!(
            plan(Some(rate(9e5, 0, 10)), &Overrides::default())
                .unwrap()
                .max_users,
            10_000
        );
    }

    #[test]
    fn the_grading_target_is_the_nearest_that_somebody_set() {
        let grading = |scenario: &ScenarioDef, defaults: &GradingDefaults| {
            Plan::new(scenario, &Overrides::default(), defaults, 1)
                .unwrap()
                .grading[0]
        };
        let none = GradingDefaults::default();
        let workspace = GradingDefaults {
            apdex: Some(seconds(4)),
            budget: Some(0.2),
        };
        let mut scenario = scenario(None);
        assert_eq!(grading(&scenario, &none).target, Duration::from_millis(500));
        assert_eq!(
            grading(&scenario, &workspace),
            StepGrading {
                target: seconds(4),
                budget: 0.2,
                weight: 0.5
            }
        );
        scenario.apdex = Some(seconds(3));
        assert_eq!(grading(&scenario, &workspace).target, seconds(3));
        let limit = |metric, time| Threshold {
            metric,
            comparison: Comparison::Less,
            bound: Bound::Time(seconds(time)),
        };
        scenario.steps.to_mut()[0].thresholds = vec![
            limit(Metric::P50, 1),
            limit(Metric::P99, 9),
            limit(Metric::P95, 2),
        ]
        .into();
        assert_eq!(
            grading(&scenario, &workspace).target,
            seconds(2),
            "the smallest on p95 or higher"
        );
        scenario.steps.to_mut()[0].apdex = Some(seconds(7));
        assert_eq!(grading(&scenario, &workspace).target, seconds(7));
    }

    #[test]
    fn errors_below_one_percent_applies_unless_errors_have_a_threshold() {
        let implied = plan(None, &Overrides::default()).unwrap().thresholds;
        assert_eq!(implied.len(), 1);
        assert!(implied[0].implied);
        assert_eq!(implied[0].threshold.to_string(), "errors < 1%");
    }
}

//! A scenario with its overrides, checked: what a run will do.
//!
//! All mistakes are reported at once.

mod error;
mod load;
mod rows;
#[cfg(test)]
mod tests;

use crate::definition::Letter;
use crate::definition::{
    Bound, Comparator, Load, Metric, Part, Rendezvous, ScenarioDef, Shape, Statistic, Subject,
    Threshold,
};
use crate::shard::Shard;
use crate::trace::Tracing;
pub use error::{LoadOption, PlanError};
use load::{check_load, max_users, override_load};
pub use rows::RowLimit;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The changes of a declared load from the command line, and the tracing of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overrides {
    /// `--rate`, iterations per second.
    pub rate_per_second: Option<f64>,
    /// `--users`.
    pub users: Option<u32>,
    /// `--iterations`.
    pub iterations: Option<IterationCount>,
    /// `--ramp-up`.
    #[serde(rename = "ramp_up_us", with = "crate::definition::micros::option")]
    pub ramp_up: Option<Duration>,
    /// `--duration`.
    #[serde(rename = "duration_us", with = "crate::definition::micros::option")]
    pub duration: Option<Duration>,
    /// `--mix`: the scenario runs beside others, and may start after them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_mix: bool,
    /// `--shard`: the part of the load to make.
    #[serde(skip_serializing_if = "Shard::is_whole")]
    pub shard: Shard,
    /// `[traces]` and `--trace`; `None` where requests carry no trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
}

/// A number of iterations to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IterationCount {
    /// `1000`: by all users together.
    Total(u64),
    /// `20/user`: by each user.
    PerUser {
        /// The number for each user.
        per_user: u64,
    },
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
    /// The share in the overall grade of each step that declares none.
    pub grade_weight: Option<f64>,
    /// The least overall grade with which a run passes.
    pub min_grade: Option<Letter>,
}

/// The plan of a run of one scenario; kept in its record, so that it can be graded again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The load, overrides applied.
    pub load: Load,
    /// The time from the start of the mix to the start of the load; none outside of a mix.
    #[serde(rename = "start_us", with = "crate::definition::micros", default)]
    pub start: Duration,
    /// True if the default load applies, since none was declared or given.
    pub default_load: bool,
    /// The seed of weights, think times and `vu.random()`.
    pub seed: u64,
    /// The most virtual users that the load may need.
    pub max_users: u32,
    /// The time that iterations in flight get after the end of the load.
    #[serde(rename = "graceful_stop_us", with = "crate::definition::micros")]
    pub graceful_stop: Duration,
    /// The grading of each step, in the order of the steps.
    pub grading: Vec<StepGrading>,
    /// The thresholds that must hold for the run to pass.
    pub thresholds: Vec<ScopedThreshold>,
    /// The least overall grade with which it passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_grade: Option<Letter>,
    /// The feed after whose last row the load ends, where one says so; known when the feeds are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowLimit>,
    /// The part of all this that the run makes; load, users and rows are those of the whole.
    #[serde(default, skip_serializing_if = "Shard::is_whole")]
    pub shard: Shard,
    /// The tracing of its journeys; `None` where requests carry no trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
}

/// The grading of a step.
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
    /// The zero-based number of the step; `None` for a group, for the journey, and for the steps with a tag.
    pub step: Option<usize>,
    /// The zero-based number of the group, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<usize>,
    /// The zero-based numbers of the steps with the tag, where the condition is on a tag.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tagged: Vec<usize>,
    /// The condition.
    pub threshold: Threshold,
    /// Implied, not declared: `errors < 1%`, which applies where no threshold is on errors.
    pub implied: bool,
}

/// The default target T (`SPEC`: Apdex, 500 ms).
const DEFAULT_TARGET: Duration = Duration::from_millis(500);
/// The default error budget.
const DEFAULT_BUDGET: f64 = 0.01;
/// The time that iterations in flight get after the end of the load.
pub const GRACEFUL_STOP: Duration = Duration::from_secs(30);

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
        let load = override_load(
            scenario.load.clone().unwrap_or(Load::DEFAULT),
            overrides,
            &mut errors,
        );
        check_load(&load, &mut errors);
        let max_users = max_users(scenario, &load);
        check_rendezvous(scenario, max_users, &mut errors);
        check_shard(scenario, &load, overrides.shard, &mut errors);
        check_grading(defaults, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            max_users,
            load,
            start: if overrides.in_mix {
                scenario.start
            } else {
                Duration::ZERO
            },
            default_load,
            seed,
            graceful_stop: scenario.grace.unwrap_or(GRACEFUL_STOP),
            rows: None,
            shard: overrides.shard,
            tracing: overrides.tracing.clone(),
            grading: scenario
                .steps
                .iter()
                .map(|step| {
                    let declared = step.apdex.or_else(|| {
                        tightest_tail_bound(&*step.thresholds, &Subject::Whole, step.graded_part())
                    });
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
                        weight: step
                            .grade_weight
                            .or(scenario.grade_weight)
                            .or(defaults.grade_weight)
                            .unwrap_or(step.weight),
                    }
                })
                .collect(),
            thresholds: collect_thresholds(scenario),
            min_grade: defaults.min_grade,
        })
    }
}

/// Notes every step before which more users are to wait than there are.
fn check_rendezvous(scenario: &ScenarioDef, max_users: u32, errors: &mut Vec<PlanError>) {
    for step in scenario.steps.iter() {
        if let Some(Rendezvous { users, .. }) = step.rendezvous
            && users > max_users
        {
            errors.push(PlanError::Rendezvous {
                step: step.name.to_string(),
                users,
                max_users,
            });
        }
    }
}

/// Notes what cannot be divided among processes.
fn check_shard(scenario: &ScenarioDef, load: &Load, shard: Shard, errors: &mut Vec<PlanError>) {
    if shard.is_whole() {
        return;
    }
    for step in scenario
        .steps
        .iter()
        .filter(|step| step.rendezvous.is_some())
    {
        errors.push(PlanError::DividedRendezvous {
            step: step.name.to_string(),
        });
    }
    let users = if load.is_open() {
        load.max_users
    } else {
        Some(load.peak().ceil() as u32)
    };
    let iterations = match load.shape {
        Shape::Iterations { count, .. } => Some(count),
        _ => None,
    };
    let counts = [(users.map(u64::from), "user"), (iterations, "iteration")];
    let shards = shard.count();
    let few = counts.into_iter().filter_map(|(count, what)| {
        let few = count.filter(|count| *count < u64::from(shards))?;
        let plural = if few == 1 { "" } else { "s" };
        Some(format!("{few} {what}{plural}"))
    });
    let few: Vec<String> = few.collect();
    if !few.is_empty() {
        let what = few.join(" and ");
        errors.push(PlanError::Indivisible { what, shards });
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
    if let Some(weight) = defaults.grade_weight
        && !(0.0..=1e6).contains(&weight)
    {
        errors.push(PlanError::NoGradeWeight {
            given: weight.to_string(),
        });
    }
}

impl ScopedThreshold {
    /// A declared condition of `scenario`, on a step or else on the journey or on the steps with a tag.
    pub fn new(scenario: &ScenarioDef, step: Option<usize>, threshold: Threshold) -> Self {
        let tagged = match &threshold.subject {
            Subject::Tag(tag) => scenario.tagged_steps(tag),
            _ => Vec::new(),
        };
        Self {
            step,
            group: None,
            tagged,
            threshold,
            implied: false,
        }
    }
}

/// The smallest bound of the limits on p95 or higher of a part of a step, or of one of its rows.
pub(crate) fn tightest_tail_bound<'a>(
    thresholds: impl IntoIterator<Item = &'a Threshold>,
    subject: &Subject,
    part: Part,
) -> Option<Duration> {
    thresholds
        .into_iter()
        .filter(|threshold| threshold.subject == *subject)
        .filter(|threshold| {
            matches!(
                threshold.metric,
                Metric::Time(of, Statistic::P95 | Statistic::P99 | Statistic::P999 | Statistic::Max)
                    if of == part
            )
        })
        .filter_map(|threshold| match threshold.bound {
            Bound::Time(time) => Some(time),
            _ => None,
        })
        .min()
}

fn collect_thresholds(scenario: &ScenarioDef) -> Vec<ScopedThreshold> {
    with_error_limit(declared_thresholds(scenario).collect())
}

/// The thresholds of the journey, of groups and of steps, as they are declared.
pub fn declared_thresholds(scenario: &ScenarioDef) -> impl Iterator<Item = ScopedThreshold> + '_ {
    let groups = scenario.groups.iter().enumerate();
    let groups = groups.map(|(at, group)| (None, Some(at), &group.thresholds));
    let steps = scenario.steps.iter().enumerate();
    let steps = steps.map(|(at, step)| (Some(at), None, &step.thresholds));
    let scopes = std::iter::once((None, None, &scenario.thresholds));
    scopes
        .chain(groups)
        .chain(steps)
        .flat_map(move |(step, group, thresholds)| {
            thresholds.iter().map(move |threshold| ScopedThreshold {
                group,
                ..ScopedThreshold::new(scenario, step, threshold.clone())
            })
        })
}

/// Adds the implied threshold where none limits errors: `errors < 1%`, of the whole journey.
pub fn with_error_limit(mut thresholds: Vec<ScopedThreshold>) -> Vec<ScopedThreshold> {
    // One on a group, a tag or a row is about a part of the journey; the rest may fail all the same.
    let limits_errors = |scoped: &ScopedThreshold| {
        let threshold = &scoped.threshold;
        threshold.metric == Metric::Errors && threshold.subject.is_whole() && scoped.group.is_none()
    };
    if !thresholds.iter().any(limits_errors) {
        let threshold = Threshold::new(Metric::Errors, Comparator::Less, Bound::Ratio(0.01));
        thresholds.push(ScopedThreshold {
            step: None,
            group: None,
            tagged: Vec::new(),
            threshold,
            implied: true,
        });
    }
    thresholds
}

//! The search for the highest arrival rate that meets an SLO: runs and cards in turn.
//!
//! Rates double until one does not meet it, the gap is halved, and the highest rate that met it is confirmed
//! on a longer window. Each trial is an ordinary run of the open model whose thresholds are the SLO, so
//! its card says whether the SLO held. Nothing here runs anything: [`next_action`] is a function of what the
//! trials came to.

mod search;

pub use search::{Next, finding, next_action};

use crate::definition::{Bound, Load, Metric, Part, ScenarioDef, StepDef, micros};
use crate::display;
use crate::failure::RunFailure;
use crate::metrics::ObservedLimit;
use crate::plan::{GradingDefaults, Overrides, Plan, PlanError, ScopedThreshold};
use crate::redacted::Redacted;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The goal of a search and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The thresholds that must hold.
    pub slo: Vec<ScopedThreshold>,
    /// The limits of the target's own side that must hold too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedCondition>,
    /// The first rate, iterations per second.
    pub from_per_second: f64,
    /// The highest rate that is tried.
    pub max_per_second: f64,
    /// The capacity below which the search is a failed gate.
    pub min_per_second: Option<f64>,
    /// The distance between the result and a rate that breaks the SLO, a share of one.
    pub tolerance: f64,
    /// The length of each trial.
    #[serde(rename = "window_us", with = "micros")]
    pub window: Duration,
    /// The length of the confirmation.
    #[serde(rename = "confirm_us", with = "micros")]
    pub confirm: Duration,
    /// The length of the rise at the beginning of each trial, which is not measured.
    #[serde(rename = "ramp_up_us", with = "micros")]
    pub ramp_up: Duration,
    /// The pause after each trial, in which the target can recover.
    #[serde(rename = "rest_us", with = "micros")]
    pub rest: Duration,
    /// The most virtual users of each trial, if given.
    pub max_users: Option<u32>,
}

/// A condition on a figure of the target's own side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedCondition {
    /// The name of the figure: `db cpu`.
    pub name: String,
    /// Its unit: `cores`; empty where it has none.
    pub unit: String,
    /// The limit.
    pub limit: ObservedLimit,
}

impl ObservedCondition {
    /// Formats the condition: `observed(db cpu).max < 3.5 cores`.
    pub fn describe(&self) -> String {
        format!(
            "observed({}).{}",
            self.name,
            self.limit.describe(&self.unit)
        )
    }
}

/// The purpose of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To find out whether the SLO holds.
    Search,
    /// To see it hold for longer.
    Confirmation,
}

/// The outcome of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialOutcome {
    /// The SLO held.
    Met,
    /// It did not.
    Missed,
    /// It did not hold, or is unknown, since the generator was at its limit.
    GeneratorLimited,
}

/// A trial as far as the search has to know it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Iterations per second.
    pub per_second: f64,
    /// Its purpose.
    pub purpose: Purpose,
    /// Its outcome.
    pub outcome: TrialOutcome,
}

/// A condition of the SLO in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The measured value, in the unit of the bound: microseconds, a share of one, per second.
    pub actual: Option<f64>,
    /// The same in words.
    pub words: String,
    /// True if the condition held.
    pub held: bool,
}

/// A run of the search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The rate, why it was tried, and what it came to.
    pub attempt: Attempt,
    /// The length of the measured part.
    #[serde(rename = "window_us", with = "micros")]
    pub window: Duration,
    /// Iterations finished per second; where the SLO was not met, within the window.
    pub achieved_per_second: Option<f64>,
    /// p95 of the journey time, of one step its response time.
    #[serde(rename = "p95_us", with = "micros::option")]
    pub p95: Option<Duration>,
    /// Failed and dropped of all finished and dropped, a share of one.
    pub error_rate: Option<f64>,
    /// The conditions of the SLO, in its order; those of the target's own side are the last.
    pub slo: Vec<Measured>,
    /// The reasons why the SLO was not met, the decisive one first.
    pub reasons: Vec<String>,
    /// The remedy, if it is the generator's limit.
    pub help: Option<String>,
    /// The highest value of each figure of the target's side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedMax>,
}

/// The highest value of a figure of the target's side in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedMax {
    /// The name: `db cpu`.
    pub name: String,
    /// The unit: `cores`; empty where it has none.
    pub unit: String,
    /// The value; `None` without any.
    pub max: Option<f64>,
}

/// A condition of the SLO in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The name of the step; `None` for the journey.
    pub step: Option<String>,
    /// The condition: `p95 < 300 ms`.
    pub words: String,
}

/// A search in the record of its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The identity of the scenario.
    pub scenario: String,
    /// The SLO in words.
    pub conditions: Vec<Condition>,
    /// The goal.
    pub goal: Goal,
    /// The trials, in their order.
    pub trials: Vec<Trial>,
    /// The way it ended; `None` when the program or the tool died.
    pub ending: Option<SearchEnding>,
}

/// The way a search ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum SearchEnding {
    /// There was nothing more to try.
    Completed,
    /// It was stopped.
    Interrupted,
    /// The target did not come back after a trial.
    TargetGone {
        /// The observation.
        reason: Redacted,
    },
    /// A step never gave its thread back.
    Stuck {
        /// The step.
        reason: Redacted,
    },
    /// A run went wrong, so that there could be no further one.
    Broken {
        /// The failure and its remedy.
        failure: RunFailure,
    },
}

/// The result of a search, as far as it got.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Finding {
    /// The highest rate that was confirmed.
    pub confirmed_per_second: Option<f64>,
    /// The highest rate that met the SLO in a trial and that no confirmation refuted.
    pub met_per_second: Option<f64>,
    /// The number of the trial, from zero, with the lowest rate beyond the result that did not meet the SLO.
    pub broke: Option<usize>,
    /// The limit that keeps the result from being higher.
    pub limit: Option<Limit>,
}

/// The limit that keeps the capacity from being higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The target: the SLO broke.
    Target,
    /// The generator was at its own limit.
    Generator,
    /// No higher rate was asked for.
    Max,
}

impl Goal {
    /// The run that tries a rate.
    ///
    /// # Errors
    /// Every mistake in the resulting load.
    pub fn plan(
        &self,
        scenario: &ScenarioDef,
        grading: &GradingDefaults,
        seed: u64,
        per_second: f64,
        purpose: Purpose,
    ) -> Result<Plan, Vec<PlanError>> {
        let overrides = Overrides {
            rate_per_second: Some(per_second),
            ramp_up: Some(self.ramp_up),
            duration: Some(self.ramp_up + self.window_of(purpose)),
            ..Overrides::default()
        };
        let declared = scenario.load.clone().unwrap_or(Load::DEFAULT);
        let scenario = ScenarioDef {
            load: Some(Load {
                max_users: self.max_users.or(declared.max_users),
                // What rises slowly needs none, and a target that was warmed up once stays warm.
                warm_up: Duration::ZERO,
                ..declared
            }),
            ..scenario.clone()
        };
        let mut plan = Plan::new(&scenario, &overrides, grading, seed)?;
        plan.thresholds.clone_from(&self.slo);
        if plan.load.max_users.is_none() {
            plan.max_users = plan.max_users.max(self.users(&scenario, per_second));
        }
        Ok(plan)
    }

    /// Returns the length of a trial.
    pub fn window_of(&self, purpose: Purpose) -> Duration {
        match purpose {
            Purpose::Search => self.window,
            Purpose::Confirmation => self.confirm,
        }
    }

    /// Users enough for journeys twice as long as the SLO allows, so that it is broken before they run out. A stream
    /// whose length nothing limits may last as long as its step lets it.
    fn users(&self, scenario: &ScenarioDef, per_second: f64) -> u32 {
        let longest = |step: Option<usize>| {
            let of_step = self.slo.iter().filter(move |scoped| match step {
                Some(step) if !scoped.tagged.is_empty() => scoped.tagged.contains(&step),
                step => scoped.step == step && scoped.tagged.is_empty(),
            });
            of_step
                .filter_map(|scoped| match scoped.threshold.bound {
                    Bound::Time(time) => Some(time.as_secs_f64()),
                    _ => None,
                })
                .fold(0.0, f64::max)
        };
        let stream = |step: usize, def: &StepDef| {
            let is_limit = |scoped: &ScopedThreshold| {
                let of_step = scoped.step == Some(step) || scoped.tagged.contains(&step);
                of_step && matches!(scoped.threshold.metric, Metric::Time(Part::Whole, _))
            };
            let stream = def.stream.as_ref()?;
            let longest = stream.lasts.unwrap_or(def.timeout).as_secs_f64();
            (!self.slo.iter().any(is_limit)).then_some(longest)
        };
        let steps = scenario.steps.iter().enumerate();
        let steps: f64 = steps
            .map(|(i, def)| stream(i, def).unwrap_or_else(|| longest(Some(i))))
            .sum();
        let think: f64 = scenario
            .steps
            .iter()
            .filter_map(|step| step.think.map(|think| think.longest().as_secs_f64()))
            .sum();
        let journey = 2.0 * longest(None).max(steps) + think;
        ((per_second * journey).ceil() as u32).clamp(10, 10_000)
    }

    /// The most trials and the most confirmations there can be.
    pub fn most(&self) -> (usize, usize) {
        (search::most_trials(self), search::CONFIRMATIONS)
    }

    /// The longest that a search can take, but for answers that are waited for and the setups.
    pub fn longest(&self) -> Duration {
        let (trials, confirmations) = self.most();
        let apart = self.ramp_up + self.rest;
        let of = |count: usize, window: Duration| {
            (window + apart).saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
        };
        of(trials, self.window).saturating_add(of(confirmations, self.confirm))
    }
}

impl fmt::Display for Condition {
    /// Writes the condition for people: ``p95 < 300 ms of `login` ``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)?;
        match &self.step {
            Some(step) => write!(f, " of `{step}`"),
            None => Ok(()),
        }
    }
}

impl Search {
    /// A search that is yet to begin.
    pub fn new(scenario: &ScenarioDef, goal: Goal) -> Self {
        let condition = |scoped: &ScopedThreshold| Condition {
            step: (scoped.step.and_then(|step| scenario.steps.get(step)))
                .map(|step| &step.name)
                .or((scoped.group.and_then(|group| scenario.groups.get(group)))
                    .map(|group| &group.name))
                .map(ToString::to_string),
            words: display::format_threshold(&scoped.threshold),
        };
        Self {
            scenario: scenario.identity(),
            conditions: (goal.slo.iter().map(condition))
                .chain(goal.observed.iter().map(|observed| Condition {
                    step: None,
                    words: observed.describe(),
                }))
                .collect(),
            goal,
            trials: Vec::new(),
            ending: None,
        }
    }

    /// Returns the result.
    pub fn finding(&self) -> Finding {
        finding(&self.goal, &self.attempts())
    }

    /// The number of the trial, from zero, that shows the result best: the confirmation that held, else
    /// the highest rate that met the SLO, else the last one.
    pub fn decisive(&self) -> Option<usize> {
        let met = |trial: &&(usize, &Trial)| trial.1.attempt.outcome == TrialOutcome::Met;
        let of = |purpose| {
            let all = self.trials.iter().enumerate();
            all.filter(move |(_, trial)| trial.attempt.purpose == purpose)
        };
        let best = |a: &(usize, &Trial), b: &(usize, &Trial)| {
            a.1.attempt.per_second.total_cmp(&b.1.attempt.per_second)
        };
        let confirmed = of(Purpose::Confirmation).find(|trial| met(&trial));
        confirmed
            .or_else(|| of(Purpose::Search).filter(|trial| met(&trial)).max_by(best))
            .map(|(at, _)| at)
            .or_else(|| self.trials.len().checked_sub(1))
    }

    /// The trials as far as the search has to know them.
    pub fn attempts(&self) -> Vec<Attempt> {
        self.trials.iter().map(|trial| trial.attempt).collect()
    }
}

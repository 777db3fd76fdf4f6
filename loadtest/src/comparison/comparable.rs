//! Which runs can be compared: those of which a difference would be the target's.

use crate::card::{Trust, view};
use crate::definition::{Load, Shape};
use crate::record::{Ending, Environment, ScenarioRecord};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The shortest steady part that is compared: of less, chance is not told apart.
pub const SHORTEST: Duration = Duration::from_secs(60);

/// A run of a scenario, and where it ran.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The identifier of the run.
    pub run_id: &'a str,
    /// Where it ran, and of what source.
    pub environment: &'a Environment,
    /// What it measured.
    pub scenario: &'a ScenarioRecord,
    /// How far it can be trusted.
    pub trust: Trust,
}

/// Why two runs are not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// They are of different scenarios.
    Scenario {
        /// That of the baseline.
        base: String,
        /// The other one.
        new: String,
    },
    /// One did not come to its end.
    Unfinished {
        /// Which.
        run_id: String,
    },
    /// One measured the generator.
    Invalid {
        /// Which.
        run_id: String,
    },
    /// One has too short a steady part.
    TooShort {
        /// Which.
        run_id: String,
        /// How long it is, in microseconds.
        steady_us: u64,
    },
    /// Their loads differ in more than how long they last.
    Load {
        /// That of the baseline, in words.
        base: String,
        /// The other one.
        new: String,
    },
    /// They asked different targets.
    Target {
        /// That of the baseline, in words.
        base: String,
        /// The other one.
        new: String,
    },
    /// They ran on machines that differ, with the target on the same one.
    Machine {
        /// That of the baseline, in words.
        base: String,
        /// The other one.
        new: String,
    },
}

/// Everything that speaks against comparing `new` with `base`.
pub(super) fn refusals(base: &Side<'_>, new: &Side<'_>) -> Vec<Refusal> {
    let (ours, theirs) = (new.scenario, base.scenario);
    let (one, other) = (theirs.definition.identity(), ours.definition.identity());
    if one != other {
        return vec![Refusal::Scenario {
            base: one,
            new: other,
        }];
    }
    let mut all = Vec::new();
    for side in [base, new] {
        let run_id = side.run_id.to_owned();
        let steady_us = side.scenario.steady_us;
        if side.scenario.ending != Ending::Completed {
            all.push(Refusal::Unfinished { run_id });
        } else if side.trust == Trust::Invalid {
            all.push(Refusal::Invalid { run_id });
        } else if u128::from(steady_us) < SHORTEST.as_micros() {
            all.push(Refusal::TooShort { run_id, steady_us });
        }
    }
    if !is_same_load(&theirs.plan.load, &ours.plan.load) {
        all.push(Refusal::Load {
            base: view::load(&theirs.plan.load),
            new: view::load(&ours.plan.load),
        });
    }
    let (one, other) = (target(theirs), target(ours));
    if one != other {
        all.push(Refusal::Target {
            base: one,
            new: other,
        });
    } else if ours.own_target {
        let (one, other) = (machine(base.environment), machine(new.environment));
        if one != other {
            all.push(Refusal::Machine {
                base: one,
                new: other,
            });
        }
    }
    all
}

/// Whether they ask for the same in each second, for however long.
fn is_same_load(one: &Load, other: &Load) -> bool {
    match (&one.shape, &other.shape) {
        (Shape::Rate { per_second: a, .. }, Shape::Rate { per_second: b, .. }) => a == b,
        (Shape::Users { users: a, .. }, Shape::Users { users: b, .. })
        | (Shape::Iterations { users: a, .. }, Shape::Iterations { users: b, .. }) => a == b,
        (one, other) => one == other,
    }
}

fn target(scenario: &ScenarioRecord) -> String {
    if scenario.target_in_process {
        return "one within the process that measured it".to_owned();
    }
    if scenario.own_target {
        return "one that the scenario started".to_owned();
    }
    let base = scenario.base_url.as_deref().unwrap_or("absolute URLs");
    base.trim_end_matches('/').to_owned()
}

fn machine(environment: &Environment) -> String {
    let processors = view::counted(environment.cpus as u64, "processor");
    format!("{} {}, {processors}", environment.os, environment.arch)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario { base, new } => {
                write!(
                    f,
                    "the runs are of different scenarios: `{base}` and `{new}`"
                )
            }
            Self::Unfinished { run_id } => write!(f, "the run {run_id} did not come to its end"),
            Self::Invalid { run_id } => {
                write!(
                    f,
                    "the run {run_id} is INVALID: the generator measured itself"
                )
            }
            Self::TooShort { run_id, steady_us } => {
                let steady = view::duration(Duration::from_micros(*steady_us));
                let least = view::span(SHORTEST);
                write!(
                    f,
                    "the run {run_id} measured {steady} after its ramp, and chance needs {least} to be told apart"
                )
            }
            Self::Load { base, new } => write!(f, "the loads differ: {base}, and now {new}"),
            Self::Target { base, new } => write!(f, "the targets differ: {base}, and now {new}"),
            Self::Machine { base, new } => write!(
                f,
                "the machines differ, and the target ran on them too: {base}, and now {new}"
            ),
        }
    }
}

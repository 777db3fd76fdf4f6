//! Checks that two runs can be compared: that a difference would be the target's.

use super::refusal::Refusal;
use crate::definition::{Load, ScenarioDef, Shape};
use crate::display;
use crate::record::Trust;
use crate::record::{EndReason, Environment, ScenarioRecord};
use crate::schedule::Schedule;
use crate::trace::Tracing;
use std::fmt;
use std::time::Duration;

/// The shortest steady part that is compared: in less, chance dominates.
pub const SHORTEST_STEADY_PART: Duration = Duration::from_secs(60);

/// A run of a scenario, and where it ran.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The identifier of the run.
    pub run_id: &'a str,
    /// The machine and the source.
    pub environment: &'a Environment,
    /// The measurements.
    pub scenario: &'a ScenarioRecord,
    /// The trust in them.
    pub trust: Trust,
}

/// A run that has not begun, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub struct PlannedRun<'a> {
    /// The scenario.
    pub definition: &'a ScenarioDef,
    /// The load it will get.
    pub load: &'a Load,
    /// The tracing of that load.
    pub tracing: Option<&'a Tracing>,
    /// The base URL that the run is given, or that the scenario declares; without secrets.
    pub base_url: Option<&'a str>,
    /// Its setup may start a target of its own, since no base URL is given.
    pub may_start_target: bool,
    /// The machine it will run on.
    pub environment: &'a Environment,
}

/// Everything that speaks against comparing `new` with `base`.
pub(super) fn find_refusals(base: &Side<'_>, new: &Side<'_>) -> Vec<Refusal> {
    let (ours, theirs) = (new.scenario, base.scenario);
    let (one, other) = (
        theirs.start.definition.identity(),
        ours.start.definition.identity(),
    );
    if one != other {
        return vec![Refusal::Scenario {
            base: one,
            new: other,
        }];
    }
    if base.run_id == new.run_id {
        let run_id = base.run_id.to_owned();
        return vec![Refusal::Same { run_id }];
    }
    let mut all = Vec::new();
    for side in [base, new] {
        let run_id = side.run_id.to_owned();
        let steady_us = side.scenario.end.steady_us;
        if side.scenario.end.ending != EndReason::Completed {
            all.push(Refusal::Unfinished { run_id });
        } else if side.trust == Trust::Invalid {
            all.push(Refusal::Invalid { run_id });
        } else if u128::from(steady_us) < SHORTEST_STEADY_PART.as_micros() {
            all.push(Refusal::TooShort { run_id, steady_us });
        }
    }
    for side in [base, new] {
        let shard = side.scenario.start.plan.shard;
        if !shard.is_whole() {
            let run_id = side.run_id.to_owned();
            all.push(Refusal::Shard { run_id, shard });
        }
    }
    all.extend(compare_loads(
        &theirs.start.plan.load,
        &ours.start.plan.load,
    ));
    all.extend(compare_traces(
        theirs.start.plan.tracing.as_ref(),
        ours.start.plan.tracing.as_ref(),
    ));
    let (one, other) = (describe_target(theirs), describe_target(ours));
    if one != other {
        all.push(Refusal::Target {
            base: one,
            new: other,
        });
    } else if ours.start.own_target {
        all.extend(compare_machines(base.environment, new.environment));
    }
    all
}

/// A difference between two runs of a scenario that must not be averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Differs {
    /// The source of the scenario.
    Version,
    /// The load.
    Load,
    /// The tracing of its requests.
    Traces,
    /// The target.
    Target,
    /// The machine, which the target ran on too.
    Machine,
}

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "an older version",
            Self::Load => "another load",
            Self::Traces => "other traces",
            Self::Target => "another target",
            Self::Machine => "another machine",
        })
    }
}

/// Returns the first difference between two runs of a scenario that matters, if there is one.
pub fn find_difference(old: &Side<'_>, new: &Side<'_>) -> Option<Differs> {
    let (was, is) = (old.scenario, new.scenario);
    if was.start.definition.revision() != is.start.definition.revision() {
        Some(Differs::Version)
    } else if !is_same_load(&was.start.plan.load, &is.start.plan.load) {
        Some(Differs::Load)
    } else if !is_same_tracing(
        was.start.plan.tracing.as_ref(),
        is.start.plan.tracing.as_ref(),
    ) {
        Some(Differs::Traces)
    } else if describe_target(was) != describe_target(is) {
        Some(Differs::Target)
    } else if is.start.own_target
        && describe_machine(old.environment) != describe_machine(new.environment)
    {
        Some(Differs::Machine)
    } else {
        None
    }
}

/// Everything that is known to speak against comparing the run `planned` with those of `base`, before anything
/// is sent.
pub fn refuse_planned_run(base: &[Side<'_>], planned: &PlannedRun<'_>) -> Vec<Refusal> {
    let mut all = Vec::new();
    let schedule = Schedule::new(planned.load);
    let steady = schedule.end().map(|end| schedule.steady_part(end));
    if let Some(steady) = steady.filter(|steady| *steady < SHORTEST_STEADY_PART) {
        let steady_us = u64::try_from(steady.as_micros()).unwrap_or(u64::MAX);
        all.push(Refusal::PlannedTooShort { steady_us });
    }
    for side in base {
        let scenario = side.scenario;
        all.extend(compare_loads(&scenario.start.plan.load, planned.load));
        let traced = scenario.start.plan.tracing.as_ref();
        all.extend(compare_traces(traced, planned.tracing));
        let is_own = scenario.start.own_target || scenario.start.target_in_process;
        // Which of the two it will be, only its setup knows.
        let will_be = if planned.may_start_target && is_own {
            describe_target(scenario)
        } else if planned.may_start_target {
            OWN.to_owned()
        } else {
            describe_url(planned.base_url)
        };
        let was = describe_target(scenario);
        if was != will_be {
            all.push(Refusal::Target {
                base: was,
                new: will_be,
            });
        } else if scenario.start.own_target {
            all.extend(compare_machines(side.environment, planned.environment));
        }
    }
    let mut once = Vec::new();
    for refusal in all {
        if !once.contains(&refusal) {
            once.push(refusal);
        }
    }
    once
}

fn compare_loads(base: &Load, new: &Load) -> Option<Refusal> {
    (!is_same_load(base, new)).then(|| Refusal::Load {
        base: display::format_load(base),
        new: display::format_load(new),
    })
}

fn compare_traces(base: Option<&Tracing>, new: Option<&Tracing>) -> Option<Refusal> {
    let describe = |tracing: Option<&Tracing>| {
        tracing.map_or_else(|| "no traces".to_owned(), display::format_tracing)
    };
    (!is_same_tracing(base, new)).then(|| Refusal::Traces {
        base: describe(base),
        new: describe(new),
    })
}

fn is_same_tracing(base: Option<&Tracing>, new: Option<&Tracing>) -> bool {
    match (base, new) {
        (Some(base), Some(new)) => base.is_same_load(new),
        (base, new) => base.is_none() && new.is_none(),
    }
}

fn compare_machines(base: &Environment, new: &Environment) -> Option<Refusal> {
    let (base, new) = (describe_machine(base), describe_machine(new));
    (base != new).then_some(Refusal::Machine { base, new })
}

/// Returns true if both ask for the same in each second, for however long.
fn is_same_load(one: &Load, other: &Load) -> bool {
    if one.pace != other.pace {
        return false;
    }
    match (&one.shape, &other.shape) {
        (Shape::Rate { per_second: a, .. }, Shape::Rate { per_second: b, .. }) => {
            a.total_cmp(b).is_eq()
        }
        (Shape::Users { users: a, .. }, Shape::Users { users: b, .. })
        | (Shape::Iterations { users: a, .. }, Shape::Iterations { users: b, .. }) => a == b,
        (one, other) => one == other,
    }
}

/// A target that the scenario started as a program of its own.
const OWN: &str = "a target that the scenario started";

fn describe_target(scenario: &ScenarioRecord) -> String {
    if scenario.start.target_in_process {
        return "a target within the load-test process".to_owned();
    }
    if scenario.start.own_target {
        return OWN.to_owned();
    }
    describe_url(scenario.start.base_url.as_deref())
}

fn describe_url(base: Option<&str>) -> String {
    base.map_or_else(|| "absolute URLs".to_owned(), bare_url)
}

/// A URL without what names a user, asks for something, or is a place within a page, as it is written most
/// often.
pub(super) fn bare_url(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let scheme = scheme.to_ascii_lowercase();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let usual = if scheme == "https" { ":443" } else { ":80" };
    let host = host
        .strip_suffix(usual)
        .unwrap_or(host)
        .to_ascii_lowercase();
    format!("{scheme}://{host}{}", path.trim_end_matches('/'))
}

fn describe_machine(environment: &Environment) -> String {
    let processors = display::format_counted(environment.cpus as u64, "processor");
    format!("{} {}, {processors}", environment.os, environment.arch)
}

//! Checks of a record: impossible figures are refused before they are summed or graded.

use super::{EndReason, RunRecord, ScenarioRecord};
use crate::capacity::Search;
use crate::metrics::{Cells, Frame, Tally};
use serde::de::{
    Deserialize, DeserializeOwned, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};
use std::borrow::Cow;
use std::fmt::{self, Display};

/// No counter of a run comes so far, nor do its microseconds: 35 years. Sums of thousands still fit.
const MOST: u64 = 1 << 50;
/// No run takes so many seconds: two years.
const LONGEST: u64 = 1 << 26;
/// Numbers that may be any.
const ANY: [&str; 2] = ["seed", "sum_ns"];

/// An impossible figure in a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct Impossible {
    /// Where: the scenario, and the step.
    pub place: String,
    /// The figure, and the reason why it cannot be.
    pub what: String,
}

type Check = Result<(), String>;

/// Reads a record, a part of one or a line of a journal from JSON.
///
/// # Errors
/// When it is another JSON, or has a number so large that sums would overflow.
pub fn from_json<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    let PossibleNumbers = serde_json::from_slice(json)?;
    serde_json::from_slice(json)
}

/// The numbers of a JSON document, none of them too large.
struct PossibleNumbers;

impl<'de> Deserialize<'de> for PossibleNumbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for PossibleNumbers {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a record")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Self, E> {
        if number > MOST {
            return Err(E::custom(format!("{number} is more than any run can have")));
        }
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        while let Some(name) = fields.next_key::<Cow<'_, str>>()? {
            if ANY.contains(&&*name) {
                fields.next_value::<IgnoredAny>()?;
            } else {
                let number = fields.next_value::<Self>();
                number.map_err(|error| A::Error::custom(format!("`{name}`: {error}")))?;
            }
        }
        Ok(self)
    }
}

impl RunRecord {
    /// Checks that its parts fit together, so that they can be summed and graded.
    ///
    /// # Errors
    /// The first impossible figure.
    pub fn check(&self) -> Result<(), Impossible> {
        if let Some(search) = &self.capacity {
            of_search(search).map_err(|what| Impossible {
                place: format!("the search of `{}`", search.scenario),
                what,
            })?;
        }
        self.scenarios.iter().try_for_each(ScenarioRecord::check)
    }
}

impl ScenarioRecord {
    /// The same of one scenario.
    ///
    /// # Errors
    /// As [`RunRecord::check`].
    pub fn check(&self) -> Result<(), Impossible> {
        of_scenario(self).map_err(|what| Impossible {
            place: format!("`{}`", self.start.definition.identity()),
            what,
        })
    }
}

impl Frame {
    /// The same of a second of a scenario with so many steps.
    ///
    /// # Errors
    /// As [`RunRecord::check`].
    pub fn check(&self, steps: usize) -> Result<(), Impossible> {
        let windows = &self.windows;
        [&windows.warm_up, &windows.ramp, &windows.steady]
            .into_iter()
            .try_for_each(|tally| of_tally(tally, steps))
            .and_then(|()| check_seconds("the second", self.second.into()))
            .map_err(|what| Impossible {
                place: format!("second {}", self.second),
                what,
            })
    }
}

fn of_scenario(record: &ScenarioRecord) -> Check {
    let steps = record.start.definition.steps.len();
    if steps == 0 {
        return Err("it has no step".to_owned());
    }
    of_plan(record)?;
    for (name, tally) in [
        ("warm-up", &record.windows.warm_up),
        ("ramp", &record.windows.ramp),
        ("steady part", &record.windows.steady),
    ] {
        of_tally(tally, steps).map_err(|what| format!("in the {name}, {what}"))?;
    }
    of_cells(&record.cells)
}

fn of_plan(record: &ScenarioRecord) -> Check {
    let plan = &record.start.plan;
    let steps = record.start.definition.steps.len();
    for (step, policy) in record.start.definition.steps.iter().zip(&plan.grading) {
        let name = |what: &str| format!("the {what} of step `{}`", step.name);
        check_share(&name("error budget"), policy.budget)?;
        if policy.target.is_zero() {
            return Err(format!(
                "{} is 0, which leaves no time",
                name("target time")
            ));
        }
        if !(policy.weight.is_finite() && policy.weight >= 0.0) {
            return Err(format!(
                "{} is {}",
                name("weight in the grade"),
                policy.weight
            ));
        }
        if !(step.weight > 0.0 && step.weight <= 1.0) {
            return Err(format!("{} is {}", name("weight"), step.weight));
        }
    }
    for scoped in &plan.thresholds {
        for number in scoped.step.iter().chain(&scoped.tagged) {
            check_index("a threshold", *number, steps)?;
        }
    }
    let groups = record.start.definition.groups.len();
    let mut numbers = plan.thresholds.iter().filter_map(|scoped| scoped.group);
    if let Some(number) = numbers.find(|number| *number >= groups) {
        let number = number.saturating_add(1);
        return Err(format!(
            "a threshold is of group {number}, and there are {groups}"
        ));
    }
    if let EndReason::ThresholdBroken { threshold, .. } = record.end.ending
        && threshold >= plan.thresholds.len()
    {
        return Err(format!(
            "it ended for threshold {threshold}, and has {}",
            plan.thresholds.len()
        ));
    }
    let times = [
        Some(plan.load.warm_up),
        plan.load.duration(),
        Some(plan.graceful_stop),
    ];
    for time in times.into_iter().flatten() {
        check_seconds("a time of its load", time.as_secs())?;
    }
    Ok(())
}

fn of_tally(tally: &Tally, steps: usize) -> Check {
    if tally.steps.len() > steps {
        return Err(format!(
            "{} steps ran, and there are {steps}",
            tally.steps.len()
        ));
    }
    for (i, step) in tally.steps.iter().enumerate() {
        if step.satisfied + step.tolerating > step.ok {
            return Err(format!(
                "of step {}, {} were ok, and more were in time: {} satisfied and {} tolerating",
                i + 1,
                step.ok,
                step.satisfied,
                step.tolerating
            ));
        }
    }
    for failure in &tally.dependencies {
        check_index("a dependency failure", failure.step, steps)?;
        check_index("the upstream of one", failure.upstream, steps)?;
        check_index("the cause of one", failure.cause.step, steps)?;
    }
    for share in &tally.journey.shares {
        if share.steps_us.len() > steps {
            return Err(format!(
                "journeys have {} steps, and there are {steps}",
                share.steps_us.len()
            ));
        }
    }
    let slowest = tally.journey.slowest.journeys();
    for step in slowest.iter().flat_map(|journey| &journey.steps) {
        check_index("one of the slowest journeys", step.step, steps)?;
    }
    Ok(())
}

fn of_cells(cells: &Cells) -> Check {
    if cells.width == 0 || u64::from(cells.width) > LONGEST / 64 {
        return Err(format!("its cells are {} s wide", cells.width));
    }
    if cells.cells.len() > Cells::LIMIT {
        return Err(format!("it has {} cells", cells.cells.len()));
    }
    for cell in &cells.cells {
        check_seconds("the second of a cell", cell.second.into())?;
        check_seconds("the length of a cell", cell.seconds.into())?;
    }
    Ok(())
}

fn of_search(search: &Search) -> Check {
    for trial in &search.trials {
        let rate = trial.attempt.per_second;
        if !(rate.is_finite() && rate >= 0.0) {
            return Err(format!("a rate that was tried is {rate}"));
        }
        if let Some(errors) = trial.error_rate {
            check_share("an error rate", errors)?;
        }
    }
    Ok(())
}

fn check_seconds(name: &str, seconds: u64) -> Check {
    if seconds > LONGEST {
        return Err(format!("{name} is {seconds} s, which no run can have"));
    }
    Ok(())
}

fn check_share(name: &str, share: f64) -> Check {
    if !(0.0..=1.0).contains(&share) {
        return Err(format!(
            "{name} is {share}, and a share lies between 0 and 1"
        ));
    }
    Ok(())
}

fn check_index(name: impl Display, step: usize, steps: usize) -> Check {
    if step >= steps {
        return Err(format!(
            "{name} is of step {}, and there are {steps}",
            step.saturating_add(1)
        ));
    }
    Ok(())
}

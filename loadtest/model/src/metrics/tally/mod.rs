//! Counters and histograms of a stretch of a run: a second of one worker, or all of it.

mod ended;
mod group;
mod journey;
mod step;
mod stream;
#[cfg(test)]
mod tests;

use super::{Health, OwnTally, WebSocketTally};
use crate::metrics::{Cause, RootCause};
use crate::redacted::Redacted;
pub use ended::{EndedRow, EndedStep, EndedTally};
pub use group::{GroupSample, GroupTally};
pub use journey::{JourneyTally, TailShare};
use serde::{Deserialize, Serialize, Serializer};
use std::time::Duration;
pub use step::{
    DoneTimes, ErrorTally, GradedTimes, InnerTally, MessageCounts, PhaseTally, StepTally,
};
pub use stream::{StreamSample, StreamTally};

/// The measurements of one second, as the journal keeps them. Several frames of the same second add up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The second, counted from the start of the run (warm-up included).
    pub second: u32,
    /// The measurements, by the part of the load that the iterations were due in.
    #[serde(serialize_with = "Windows::serialize_measured")]
    pub windows: Windows,
    /// Virtual users within an iteration at the end of the second.
    pub active_users: u32,
    /// The generator's own health.
    #[serde(default)]
    pub health: Health,
    /// The WebSockets.
    #[serde(default, skip_serializing_if = "WebSocketTally::is_empty")]
    pub websockets: WebSocketTally,
    /// The threshold for which the run ends now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
}

/// A threshold that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Broken {
    /// Its number in the plan.
    pub threshold: usize,
    /// The measured value, in the unit of its bound; times in microseconds.
    pub actual: f64,
    /// The time since the start of the load.
    #[serde(rename = "after_us", with = "crate::definition::micros")]
    pub after: Duration,
}

/// Measurements, by the part of the load that the iterations were due in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Windows {
    /// Due within the warm-up: counted, else discarded.
    pub warm_up: Tally,
    /// Due within the ramp: in the accounts, not in the headline numbers.
    pub ramp: Tally,
    /// Due after the ramp (loads without a steady part: all of it): the headline numbers.
    pub steady: Tally,
}

/// The measurements of a part of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// The journeys.
    pub journey: JourneyTally,
    /// The steps, in the order of the scenario; empty when nothing happened.
    pub steps: Vec<StepTally>,
    /// The groups, in the order of the scenario, up to the last one that was executed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupTally>,
    /// The dependency failures.
    pub dependencies: Vec<DependencyTally>,
    /// The custom metrics of the scenario.
    #[serde(skip_serializing_if = "OwnTally::is_empty")]
    pub own: OwnTally,
    /// What ended within the part, whenever it was due. Only the measured part has it, and not in records of versions
    /// that counted by due times alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Box<EndedTally>>,
}

/// Dependency failures of one step with one variable, upstream step and root cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyTally {
    /// The zero-based number of the step that did not run.
    pub step: usize,
    /// The expression or parameter that had no value; `None` where the step's function declined or left it out.
    pub variable: Option<String>,
    /// The step that should have given it; the step itself where its function declined or left it out.
    pub upstream: usize,
    /// The cause at the root of the chain of skips.
    pub cause: Cause,
    /// The number of times.
    pub count: u64,
    /// The first one, in words.
    pub example: Redacted,
}

/// Panics at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panicked {
    /// `file:line:column`.
    pub location: String,
    /// The first message.
    pub message: Redacted,
    /// The number of skips.
    pub count: u64,
}

impl Frame {
    /// Adds what another worker saw of the same second.
    pub fn merge(&mut self, other: &Self) {
        self.windows.merge(&other.windows);
        self.active_users += other.active_users;
        self.health.merge(&other.health, 1);
        self.websockets.merge_simultaneous(&other.websockets);
        self.broken = self.broken.or(other.broken);
    }
}

impl Windows {
    /// All windows, in the order of time.
    pub fn all(&self) -> [&Tally; 3] {
        [&self.warm_up, &self.ramp, &self.steady]
    }

    /// Returns true if any step was executed, failed by being skipped, or has rows or streams; else journeys that ended
    /// did nothing.
    pub(crate) fn have_measured_steps(&self) -> bool {
        self.all().into_iter().any(Tally::has_measured_steps)
    }

    /// Returns true if the end of the run cut off an execution of this step.
    pub(crate) fn is_cut_off(&self, step: usize) -> bool {
        let mut steps = (self.all().into_iter()).filter_map(|tally| tally.steps.get(step));
        steps.any(|step| step.cancelled > 0)
    }

    /// Writes those in which something happened.
    fn serialize_measured<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = ["warm_up", "ramp", "steady"].into_iter().zip(self.all());
        serializer.collect_map(named.filter(|(_, tally)| !tally.is_empty()))
    }

    /// Adds what was put aside while it was counted.
    pub fn settle(&mut self) {
        for tally in [&mut self.warm_up, &mut self.ramp, &mut self.steady] {
            let on_time = std::mem::take(&mut tally.journey.on_time);
            tally.journey.lateness.record_n(Duration::ZERO, on_time);
            for step in &mut tally.steps {
                let both = std::mem::take(&mut step.response_and_service);
                step.response.merge(&both);
                step.service.merge(&both);
                let at_once = std::mem::take(&mut step.phases.answered_at_once);
                step.phases.body.record_n(Duration::ZERO, at_once);
            }
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.warm_up.merge(&other.warm_up);
        self.ramp.merge(&other.ramp);
        self.steady.merge(&other.steady);
    }
}

impl Tally {
    /// An empty tally of a scenario with `steps` steps.
    pub fn new(steps: usize) -> Self {
        Self {
            steps: vec![StepTally::default(); steps],
            ..Self::default()
        }
    }

    /// Returns true if a step did anything in it.
    fn has_measured_steps(&self) -> bool {
        self.steps.iter().any(|step| {
            step.executed + step.skipped > 0 || !step.inner.is_empty() || step.stream.is_some()
        })
    }

    /// Returns true if nothing happened.
    fn is_empty(&self) -> bool {
        let Self {
            journey,
            steps,
            groups,
            dependencies,
            own,
            ended,
        } = self;
        *journey == JourneyTally::default()
            && steps.iter().all(|step| *step == StepTally::default())
            && groups.is_empty()
            && dependencies.is_empty()
            && own.is_empty()
            && (ended.as_ref()).is_none_or(|ended| **ended == EndedTally::default())
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.journey.merge(&other.journey);
        if self.steps.len() < other.steps.len() {
            self.steps
                .resize_with(other.steps.len(), StepTally::default);
        }
        for (ours, theirs) in self.steps.iter_mut().zip(&other.steps) {
            ours.merge(theirs);
        }
        for (group, theirs) in other.groups.iter().enumerate() {
            self.group(group).merge(theirs);
        }
        for theirs in &other.dependencies {
            self.count_dependency(theirs.clone());
        }
        self.own.merge(&other.own);
        if let Some(theirs) = &other.ended {
            self.ended.get_or_insert_default().merge(theirs);
        }
    }

    /// The tally of the group with that number.
    pub fn group(&mut self, group: usize) -> &mut GroupTally {
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, GroupTally::default);
        }
        &mut self.groups[group]
    }

    /// Adds one dependency failure, or several of one kind.
    pub fn count_dependency(&mut self, failure: DependencyTally) {
        let same = |ours: &&mut DependencyTally| {
            (ours.step, ours.upstream, ours.cause)
                == (failure.step, failure.upstream, failure.cause)
                && ours.variable == failure.variable
        };
        match self.dependencies.iter_mut().find(same) {
            Some(ours) => ours.count += failure.count,
            None => self.dependencies.push(failure),
        }
    }
}

impl DependencyTally {
    /// Explains why the step did not run.
    pub fn describe(&self) -> Redacted {
        match self.variable {
            Some(_) => self.example.clone(),
            // Another step ended the journey.
            None if self.cause.step != self.step => self.example.clone(),
            None => Redacted::assume(format!("its function made no request: {}", self.example)),
        }
    }

    /// The feed, state or setup that lacks the value, where it is no step: what the variable begins with.
    pub fn feed(&self) -> Option<&str> {
        let is_root = matches!(self.cause.root, RootCause::NotInFeed | RootCause::Expired);
        let is_feed = is_root && self.cause.step == self.step;
        let variable = self.variable.as_deref().filter(|_| is_feed)?;
        variable.split(['.', '[']).next()
    }
}

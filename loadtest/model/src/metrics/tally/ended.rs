//! What ended within the measured part of a load, whenever it was due: rates are of this, divided by the length of that part.
//!
//! Latencies, shares and accounts are of what was due in the measured part, whenever it ended. A rate of those would say
//! that a target kept up which only came to the end of its queue after the load.

use super::Tally;
use crate::metrics::inner::find_row;
use crate::metrics::{StepTally, StreamTally};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Counts of what ended within the measured part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndedTally {
    /// Journeys, ok or failed.
    pub journeys: u64,
    /// The steps, in the order of the scenario, up to the last one that is not empty.
    pub steps: Vec<EndedStep>,
    /// Executions of the groups, likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<u64>,
}

/// What ended of one step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndedStep {
    /// Executions that sent something.
    pub sent: u64,
    /// Bytes read, heads included. Those of an operation that reaches beyond the measured part are divided by time.
    pub received_bytes: u64,
    /// Executions for which all of `good(..)` holds.
    pub good: u64,
    /// Units of work of streams that ended well, each at its own time.
    pub units: u64,
    /// The requests of a step that sends for itself, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<EndedRow>,
}

/// What ended of one row of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndedRow {
    /// The name of the row.
    pub name: String,
    /// Requests that ended: answered or not.
    pub requests: u64,
    /// Units of work of its streams that ended well.
    pub units: u64,
}

impl EndedTally {
    /// No counts yet, with room for those of all `steps`.
    pub fn with_room(steps: usize) -> Self {
        Self {
            steps: vec![EndedStep::default(); steps],
            ..Self::default()
        }
    }

    /// Takes out the empty steps behind the last one that is not.
    pub fn settle(&mut self) {
        let none = EndedStep::default();
        let kept = self.steps.iter().rposition(|step| *step != none);
        self.steps.truncate(kept.map_or(0, |last| last + 1));
    }

    /// The counts of step number `step`.
    #[inline]
    pub fn step(&mut self, step: usize) -> &mut EndedStep {
        item(&mut self.steps, step)
    }

    /// The executions of group number `group`.
    pub fn group(&mut self, group: usize) -> &mut u64 {
        item(&mut self.groups, group)
    }

    /// The sum of a figure of the steps with these `numbers`.
    pub fn sum(&self, numbers: &[usize], of: fn(&EndedStep) -> u64) -> u64 {
        let steps = numbers.iter().filter_map(|step| self.steps.get(*step));
        steps.map(of).sum()
    }

    /// The requests of the row `name` of a step.
    pub(crate) fn row_requests(&self, step: usize, name: &str) -> u64 {
        let rows = self.steps.get(step).map_or(&[][..], |step| &step.rows);
        let row = rows.iter().find(|row| row.name == name);
        row.map_or(0, |row| row.requests)
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.journeys += other.journeys;
        for (at, theirs) in other.steps.iter().enumerate() {
            self.step(at).merge(theirs);
        }
        for (at, theirs) in other.groups.iter().enumerate() {
            *self.group(at) += theirs;
        }
    }

    /// What was due in the measured part, as records were counted that know nothing else.
    fn from_due(tally: &Tally) -> Self {
        Self {
            journeys: tally.journey.ok + tally.journey.failed,
            steps: tally.steps.iter().map(EndedStep::from_due).collect(),
            groups: tally.groups.iter().map(|group| group.executed).collect(),
        }
    }
}

impl EndedStep {
    /// The row `name`, or the one of what has no row of its own.
    pub fn row(&mut self, name: &str) -> &mut EndedRow {
        let made = |name| EndedRow {
            name,
            ..EndedRow::default()
        };
        find_row(&mut self.rows, name, |row| &row.name, made)
    }

    fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.received_bytes += other.received_bytes;
        self.good += other.good;
        self.units += other.units;
        for theirs in &other.rows {
            let ours = self.row(&theirs.name);
            ours.requests += theirs.requests;
            ours.units += theirs.units;
        }
    }

    fn from_due(tally: &StepTally) -> Self {
        let units =
            |stream: &Option<Box<StreamTally>>| stream.as_ref().map_or(0, |stream| stream.units);
        Self {
            sent: crate::metrics::sent(tally),
            received_bytes: tally.received_bytes,
            good: tally.good,
            units: units(&tally.stream),
            rows: (tally.inner.iter())
                .map(|row| EndedRow {
                    name: row.name.clone(),
                    requests: row.requests,
                    units: units(&row.stream),
                })
                .collect(),
        }
    }
}

impl Tally {
    /// What rates of it are of.
    pub fn ended(&self) -> Cow<'_, EndedTally> {
        match &self.ended {
            Some(ended) => Cow::Borrowed(ended),
            None => Cow::Owned(EndedTally::from_due(self)),
        }
    }
}

#[inline]
fn item<T: Default>(list: &mut Vec<T>, at: usize) -> &mut T {
    if list.len() <= at {
        list.resize_with(at + 1, T::default);
    }
    &mut list[at]
}

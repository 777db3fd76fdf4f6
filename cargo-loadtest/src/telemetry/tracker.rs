//! A scenario under way: its frames become intervals.

use super::bounds::{Detail, SeriesBudget, find_boundaries};
use super::interval::Interval;
use super::measure::{PartNames, measured_parts, set_gauges, set_info};
use super::table::SeriesTable;
use super::{HistogramWeight, RunFacts};
use crate::course::Course;
use jiff::{SignedDuration, Timestamp};
use loadtest_model::metrics::{Frame, Tally};
use std::sync::Arc;

/// Settings that all scenarios of a run have in common.
#[derive(Debug)]
pub(super) struct TrackerSettings {
    pub(super) facts: RunFacts,
    /// The labels of the team.
    pub(super) labels: Vec<(String, String)>,
    pub(super) run_label: bool,
    pub(super) weight: HistogramWeight,
    pub(super) detail: Detail,
    /// The most boundaries of a histogram.
    pub(super) boundaries: usize,
    pub(super) budget: Arc<SeriesBudget>,
}

/// The figures of one scenario so far.
#[derive(Debug)]
pub(super) struct Tracker {
    scenario: usize,
    common: Arc<[(String, String)]>,
    run: Arc<str>,
    start: Timestamp,
    names: PartNames,
    table: SeriesTable,
    /// The newest second that an interval was made of.
    newest: Option<u32>,
    /// Something was added since.
    is_changed: bool,
}

impl Tracker {
    /// Begins with the start of a load; it has the `scenario`th place in the run.
    pub(super) fn new(scenario: usize, course: &Course, settings: &TrackerSettings) -> Self {
        let start = &course.record.start;
        let facts = &settings.facts;
        let mut common = settings.labels.clone();
        let mut add = |name: &str, text: String| common.push((name.to_owned(), text));
        if settings.run_label {
            add("run", facts.run.clone());
        }
        add(
            "scenario",
            loadtest_console::console::clean(&start.definition.identity()),
        );
        if !start.plan.shard.is_whole() {
            let shard = start.plan.shard.to_string();
            add("shard", shard.trim_start_matches("shard ").to_owned());
        }
        let boundaries = find_boundaries(&start.plan, settings.boundaries);
        let mut table = SeriesTable::new(boundaries, settings.weight, Arc::clone(&settings.budget));
        let names = PartNames::new(&start.definition, settings.detail);
        let mut run = vec![
            ("tool_version", &*facts.tool_version),
            ("commit", facts.commit.as_deref().unwrap_or_default()),
        ];
        if !settings.run_label {
            run.insert(0, ("run", &*facts.run));
        }
        set_info(&mut table, start, &run);
        names.add_tally(&mut table, &Tally::default());
        Self {
            scenario,
            common: common.into(),
            run: (&*facts.run).into(),
            start: start.started_at.parse().unwrap_or_default(),
            names,
            table,
            newest: None,
            is_changed: false,
        }
    }

    /// Adds a second, which `course` holds already, and what was lost of the intervals before. Returns the interval that
    /// it ends; a second that came in parts is added to the next one.
    pub(super) fn add(
        &mut self,
        frame: &Frame,
        course: &Course,
        dropped: &[(String, f64)],
    ) -> Option<Interval> {
        for tally in measured_parts(frame) {
            self.names.add_tally(&mut self.table, tally);
        }
        let second = self
            .newest
            .map_or(frame.second, |newest| frame.second.max(newest + 1));
        self.names
            .add_exemplars(&mut self.table, frame, self.start, second);
        set_gauges(&mut self.table, frame, course);
        for (sink, number) in dropped {
            let labels = [("sink", &**sink), ("what", "intervals")];
            self.table.count("telemetry_dropped", &labels, *number);
        }
        self.is_changed = true;
        let is_new = self.newest.is_none_or(|newest| frame.second > newest);
        is_new.then(|| self.take(frame.second))
    }

    /// Returns what is left at the end.
    pub(super) fn finish(&mut self) -> Option<Interval> {
        let newest = self.newest.filter(|_| self.is_changed)?;
        Some(self.take(newest + 1))
    }

    fn take(&mut self, second: u32) -> Interval {
        self.newest = Some(second);
        self.is_changed = false;
        let elapsed = SignedDuration::from_secs(i64::from(second) + 1);
        Interval {
            scenario: self.scenario,
            common: Arc::clone(&self.common),
            run: Arc::clone(&self.run),
            second,
            start: self.start,
            time: self.start.saturating_add(elapsed).unwrap_or(self.start),
            families: self.table.take(),
        }
    }
}

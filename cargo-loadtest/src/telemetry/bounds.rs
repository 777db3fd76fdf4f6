//! Bounds known before the run: the boundaries of histograms, and the series of a scenario.

use super::HistogramWeight;
use loadtest_model::definition::{Bound, ScenarioDef};
use loadtest_model::metrics::MOST_ROWS;
use loadtest_model::plan::Plan;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The boundaries of every histogram, in milliseconds.
const BOUNDARIES_MS: [f64; 15] = [
    1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3, 1e4, 2.5e4, 5e4,
];
/// The most boundaries.
const MOST_BOUNDARIES: usize = 24;
/// The most names of a scenario's own figures, and the one of the others.
const MOST_NAMES: usize = 65;
/// Kinds of errors that a step is expected to have.
const EXPECTED_ERRORS: usize = 10;
/// Series of a step that are no histograms and no errors.
const STEP_COUNTERS: usize = 12;
/// Series of a row that are no histograms, messages of calls included.
const ROW_COUNTERS: usize = 4;
/// Series of a scenario that are no histograms.
const SCENARIO_SERIES: usize = 16;
/// The series of WebSockets, with the usual codes of those that the target closes.
const SOCKET_SERIES: usize = 10;

/// Returns the boundaries of a scenario's histograms: the usual ones and those of its own limits.
pub(super) fn find_boundaries(plan: &Plan) -> Arc<[Duration]> {
    let usual = BOUNDARIES_MS.map(|ms| Duration::from_secs_f64(ms / 1e3));
    let mut boundaries: BTreeSet<Duration> = usual.into();
    let limits = plan
        .thresholds
        .iter()
        .filter_map(|scoped| match scoped.threshold.bound {
            Bound::Time(limit) => Some(limit),
            _ => None,
        });
    let targets = plan.grading.iter().map(|grading| grading.target);
    let tolerated = plan.grading.iter().map(|grading| 4 * grading.target);
    for limit in limits.chain(targets).chain(tolerated) {
        if boundaries.len() < MOST_BOUNDARIES && !limit.is_zero() {
            boundaries.insert(limit);
        }
    }
    boundaries.into_iter().collect()
}

/// The extent of a scenario that is sent, from all to least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    All,
    /// The requests of each step that sends for itself are one row.
    FoldedRows,
    /// And phases are left out.
    NoPhases,
    /// And so are these rows.
    NoRows,
}

impl Detail {
    const ALL: [Self; 4] = [Self::All, Self::FoldedRows, Self::NoPhases, Self::NoRows];

    /// Returns the highest one that `most` series have room for, of all scenarios together.
    pub(super) fn for_room(
        most: usize,
        weight: HistogramWeight,
        scenarios: &[&ScenarioDef],
    ) -> Self {
        let fits = |detail: &Self| {
            let all = scenarios.iter();
            let series: usize = all.map(|one| detail.count_series(weight, one)).sum();
            series <= most
        };
        Self::ALL.into_iter().find(fits).unwrap_or(Self::NoRows)
    }

    fn count_series(self, weight: HistogramWeight, scenario: &ScenarioDef) -> usize {
        let histogram = weight.series(MOST_BOUNDARIES);
        let rows = match self {
            Self::All => MOST_ROWS,
            Self::FoldedRows | Self::NoPhases => 1,
            Self::NoRows => 0,
        };
        let shares = scenario.client.connections.is_some();
        let times = if self.has_phases() {
            6 + usize::from(shares)
        } else {
            3
        };
        let steps = scenario.steps.iter().map(|step| {
            let rows = if step.sends_itself { rows } else { 0 };
            let streams = step.stream.as_ref().map_or(0, |_| 2 + 3 * histogram);
            let good = usize::from(!step.good.is_empty());
            let own = STEP_COUNTERS + EXPECTED_ERRORS + times * histogram + streams + good;
            own + rows * (ROW_COUNTERS + histogram)
        });
        let has_sockets = scenario.steps.iter().any(|step| step.websocket.is_some());
        let sockets = if has_sockets { SOCKET_SERIES } else { 0 };
        let groups = scenario.groups.len() * (2 + histogram);
        steps.sum::<usize>() + groups + sockets + SCENARIO_SERIES + 2 * histogram + MOST_NAMES
    }

    pub(super) fn has_phases(self) -> bool {
        matches!(self, Self::All | Self::FoldedRows)
    }

    /// Describes what is not sent, for `max_series`.
    pub(super) fn describe_loss(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::FoldedRows => Some("the requests of each step that sends for itself are one row"),
            Self::NoPhases => Some(
                "the requests of each step that sends for itself are one row, and phases are left out",
            ),
            Self::NoRows => {
                Some("phases, and the requests of steps that send for themselves, are left out")
            }
        }
    }
}

/// The series that a run may have, and has.
#[derive(Debug)]
pub(super) struct SeriesBudget {
    most: usize,
    taken: AtomicUsize,
    left_out: AtomicUsize,
}

impl SeriesBudget {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            taken: AtomicUsize::new(0),
            left_out: AtomicUsize::new(0),
        }
    }

    /// Takes room for a new row of so many series, if there is any.
    pub(super) fn take(&self, series: usize) -> bool {
        // Only the thread that reads the journal takes any.
        let taken = self.taken.load(Ordering::Relaxed) + series;
        let has_room = taken <= self.most;
        if has_room {
            self.taken.store(taken, Ordering::Relaxed);
        } else {
            self.left_out.fetch_add(series, Ordering::Relaxed);
        }
        has_room
    }

    /// Returns the number of series for which there was no room.
    pub(super) fn left_out(&self) -> usize {
        self.left_out.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::definition::{Comparator, Metric, Part, Statistic, Threshold};
    use loadtest_model::plan::ScopedThreshold;

    const CLASSIC: HistogramWeight = HistogramWeight {
        is_classic: true,
        is_native: false,
    };
    const NATIVE: HistogramWeight = HistogramWeight {
        is_classic: false,
        is_native: true,
    };

    #[test]
    fn limits_and_targets_are_boundaries_and_there_are_at_most_24() {
        let mut start = sample::start();
        let ms = |boundaries: &[Duration]| -> Vec<u128> {
            boundaries.iter().map(Duration::as_millis).collect()
        };
        let usual = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];
        let found = find_boundaries(&start.plan);
        assert_eq!(ms(&found)[..10], usual);
        assert!(ms(&found).contains(&2_000), "4 T");
        let metric = Metric::Time(Part::Whole, Statistic::P95);
        for limit in 0..40 {
            let limit = Duration::from_millis(300 + limit);
            let threshold = Threshold::new(metric.clone(), Comparator::Less, Bound::Time(limit));
            let scoped = ScopedThreshold::new(&start.definition, None, threshold);
            start.plan.thresholds.push(scoped);
        }
        let found = find_boundaries(&start.plan);
        assert_eq!(found.len(), 24);
        assert!(ms(&found).contains(&300) && ms(&found).contains(&308));
    }

    #[test]
    fn rows_are_folded_first_then_phases_left_out_then_rows() {
        let mut definition = sample::definition("checkout", &[]);
        let mut step = definition.steps[0].clone();
        step.sends_itself = true;
        definition.steps = vec![step; 40].into();
        let detail = |most| Detail::for_room(most, CLASSIC, &[&definition]);
        assert_eq!(detail(1_000_000), Detail::All);
        assert_eq!(detail(10_000), Detail::FoldedRows);
        assert_eq!(detail(6_000), Detail::NoPhases);
        assert_eq!(detail(100), Detail::NoRows);
        assert_eq!(
            Detail::for_room(10_000, NATIVE, &[&definition]),
            Detail::All
        );
    }

    #[test]
    fn no_more_series_are_taken_than_there_is_room_for() {
        let budget = SeriesBudget::new(10);
        let taken = [6, 5, 4, 1].map(|series| budget.take(series));
        assert_eq!((taken, budget.left_out()), ([true, false, true, false], 6));
    }
}

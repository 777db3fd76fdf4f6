//! Bounds known before the run: the boundaries of histograms, and the series of a scenario.

use super::HistogramWeight;
use loadtest_model::definition::{Bound, ScenarioDef};
use loadtest_model::metrics::MOST_ROWS;
use loadtest_model::plan::Plan;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A decade of boundaries in hundredths: each is at most 10 % above the one before, and 1, 2.5 and 5 are among them.
/// `histogram_quantile` takes the times within a bucket for evenly spread, so its error is at most the width.
const DECADE: [u64; 26] = [
    100, 110, 120, 132, 145, 159, 174, 191, 210, 230, 250, 275, 300, 330, 360, 395, 430, 465, 500,
    550, 600, 660, 720, 790, 860, 930,
];
/// The decades from 100 µs: a hundredth of the first is a microsecond.
const DECADES: u32 = 6;
/// The longest boundary.
const LONGEST: Duration = Duration::from_secs(50);
/// These of a decade are there whatever the room, from 1 ms.
const USUAL: [u64; 3] = [100, 250, 500];
const SHORTEST_USUAL: Duration = Duration::from_millis(1);
/// The boundaries that there is always room for: the usual ones, and some limits and targets.
const FEWEST_BOUNDARIES: usize = 24;
/// All boundaries, and as many limits and targets between them.
pub(super) const MOST_BOUNDARIES: usize = 173;
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
/// Histograms of a scenario's own times that are expected.
const OWN_TIMES: usize = 8;
/// The series of WebSockets, with the usual codes of those that the target closes.
const SOCKET_SERIES: usize = 10;

/// Returns the boundaries of a scenario's histograms, at most so many: the usual ones, its own limits and targets, and
/// as many others as there is room for, those near limits and targets first.
///
/// They are the same from the start to the end of a run: a bucket that began later would have a shorter history than
/// its neighbours, and `rate` would find too little in it. All scenarios have theirs from one grid, so that sums over
/// scenarios, shards and runs have the same buckets.
pub(super) fn find_boundaries(plan: &Plan, most: usize) -> Arc<[Duration]> {
    let limits = plan
        .thresholds
        .iter()
        .filter_map(|scoped| match scoped.threshold.bound {
            Bound::Time(limit) => Some(limit),
            _ => None,
        });
    let targets = plan.grading.iter().map(|grading| grading.target);
    let tolerated = plan.grading.iter().map(|grading| 4 * grading.target);
    let mut places: Vec<Duration> = limits.chain(targets).chain(tolerated).collect();
    places.retain(|place| !place.is_zero());
    let mut grid = list_grid();
    let usual = grid.iter().filter(|(_, is_usual)| *is_usual);
    let mut boundaries: BTreeSet<Duration> = usual.map(|(boundary, _)| *boundary).collect();
    let distance = |boundary: &Duration| {
        let ratios = places.iter().map(|place| boundary.div_duration_f64(*place));
        ratios.fold(f64::INFINITY, |nearest, ratio| {
            nearest.min(ratio.ln().abs())
        })
    };
    grid.sort_by(|(one, _), (other, _)| distance(one).total_cmp(&distance(other)));
    // Without room for more, the rest is left to series that were not foreseen.
    let finer = grid.iter().filter(|_| most > FEWEST_BOUNDARIES);
    for boundary in places.iter().chain(finer.map(|(one, _)| one)) {
        if boundaries.len() < most {
            boundaries.insert(*boundary);
        }
    }
    boundaries.into_iter().collect()
}

/// Returns the grid of boundaries, and which of them are usual.
fn list_grid() -> Vec<(Duration, bool)> {
    let decades = (0..DECADES).map(|decade| 10_u64.pow(decade));
    let all = decades.flat_map(|scale| DECADE.map(|step| (step, scale)));
    let all = all.map(|(step, scale)| {
        let boundary = Duration::from_micros(step * scale);
        let is_usual = USUAL.contains(&step) && boundary >= SHORTEST_USUAL;
        (boundary, is_usual)
    });
    all.filter(|(boundary, _)| *boundary <= LONGEST).collect()
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
        let histogram = weight.series(FEWEST_BOUNDARIES);
        let fits = |detail: &Self| detail.count_all(histogram, scenarios) <= most;
        Self::ALL.into_iter().find(fits).unwrap_or(Self::NoRows)
    }

    /// Returns the number of boundaries that `most` series have room for. Finer buckets take the place of nothing else.
    pub(super) fn count_boundaries(
        self,
        most: usize,
        weight: HistogramWeight,
        scenarios: &[&ScenarioDef],
    ) -> usize {
        let fits = |boundaries: &usize| {
            let histogram = weight.series(*boundaries);
            let own = scenarios.len() * OWN_TIMES * histogram;
            self.count_all(histogram, scenarios) + own <= most
        };
        let all = FEWEST_BOUNDARIES..=MOST_BOUNDARIES;
        all.rev().find(fits).unwrap_or(FEWEST_BOUNDARIES)
    }

    /// Returns the series that all scenarios may have, with so many for a histogram.
    fn count_all(self, histogram: usize, scenarios: &[&ScenarioDef]) -> usize {
        let all = scenarios.iter();
        all.map(|one| self.count_series(histogram, one)).sum()
    }

    fn count_series(self, histogram: usize, scenario: &ScenarioDef) -> usize {
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

    /// Describes what `max_series` leaves out, or makes coarser with so many boundaries.
    pub(super) fn describe_losses(self, boundaries: usize) -> impl Iterator<Item = &'static str> {
        let is_coarse = boundaries < MOST_BOUNDARIES - FEWEST_BOUNDARIES;
        let coarse = is_coarse.then_some("buckets far from limits are wider than 10 %");
        let left_out = match self {
            Self::All => None,
            Self::FoldedRows => Some("the rows of each async step are folded into one"),
            Self::NoPhases => {
                Some("the rows of each async step are folded into one, and phases are left out")
            }
            Self::NoRows => Some("phases, and the rows of async steps, are left out"),
        };
        left_out.into_iter().chain(coarse)
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
    use loadtest_model::record::RunStart;

    const CLASSIC: HistogramWeight = HistogramWeight {
        is_classic: true,
        is_native: false,
    };
    const NATIVE: HistogramWeight = HistogramWeight {
        is_classic: false,
        is_native: true,
    };

    fn limited(start: &mut RunStart, limits: impl IntoIterator<Item = Duration>) {
        for limit in limits {
            let metric = Metric::Time(Part::Whole, Statistic::P95);
            let threshold = Threshold::new(metric, Comparator::Less, Bound::Time(limit));
            let scoped = ScopedThreshold::new(&start.definition, None, threshold);
            start.plan.thresholds.push(scoped);
        }
    }

    /// The widest step from a boundary to the next, of those between two times.
    fn widest(boundaries: &[Duration], from: Duration, to: Duration) -> f64 {
        let pairs = boundaries.windows(2);
        let pairs = pairs.filter(|pair| from <= pair[0] && pair[1] <= to);
        let steps = pairs.map(|pair| pair[1].div_duration_f64(pair[0]));
        steps.fold(0.0, f64::max)
    }

    #[test]
    fn limits_and_targets_are_boundaries_whatever_the_room() {
        let mut start = sample::start();
        let ms = |boundaries: &[Duration]| -> Vec<u128> {
            boundaries.iter().map(Duration::as_millis).collect()
        };
        let found = find_boundaries(&start.plan, FEWEST_BOUNDARIES);
        assert_eq!(found.len(), 16);
        let usual = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];
        assert_eq!(ms(&found)[..10], usual);
        assert!(ms(&found).contains(&2_000), "4 T");
        let limits = (0..40).map(|limit| Duration::from_millis(301 + limit));
        limited(&mut start, limits);
        let found = find_boundaries(&start.plan, FEWEST_BOUNDARIES);
        assert_eq!(found.len(), 24);
        assert!(ms(&found).contains(&301) && ms(&found).contains(&309));
    }

    #[test]
    fn with_room_all_boundaries_are_at_most_10_percent_apart() {
        let plan = sample::start().plan;
        let found = find_boundaries(&plan, MOST_BOUNDARIES);
        let grid = list_grid();
        assert!(grid.iter().all(|(boundary, _)| found.contains(boundary)));
        assert_eq!(grid.len() + FEWEST_BOUNDARIES, MOST_BOUNDARIES);
        let ends = (found[0], found[found.len() - 1]);
        assert_eq!(ends, (Duration::from_micros(100), LONGEST));
        let widest = widest(&found, Duration::ZERO, LONGEST);
        assert!(widest < 1.100_001, "{widest}");
    }

    #[test]
    fn with_little_room_those_near_limits_and_targets_are() {
        let mut start = sample::start();
        for grading in &mut start.plan.grading {
            grading.target = Duration::from_millis(300);
        }
        limited(&mut start, [Duration::from_millis(297)]);
        let found = find_boundaries(&start.plan, 40);
        assert_eq!(found.len(), 40);
        let [from, to] = [200, 450].map(Duration::from_millis);
        let widest = widest(&found, from, to);
        assert!(widest < 1.100_001, "{widest} of {found:?}");
    }

    #[test]
    fn finer_buckets_stay_within_the_room_and_fold_nothing() {
        let mut definition = sample::definition("checkout", &[]);
        let step = definition.steps[0].clone();
        for (steps, detail, most) in [
            (3, Detail::All, MOST_BOUNDARIES),
            (8, Detail::All, 164),
            (20, Detail::All, 69),
            (60, Detail::NoPhases, 42),
        ] {
            definition.steps = vec![step.clone(); steps].into();
            let scenarios = [&definition];
            let found = Detail::for_room(10_000, CLASSIC, &scenarios);
            let boundaries = found.count_boundaries(10_000, CLASSIC, &scenarios);
            assert_eq!((found, boundaries), (detail, most), "{steps} steps");
            let native = Detail::All.count_boundaries(10_000, NATIVE, &scenarios);
            assert_eq!(native, MOST_BOUNDARIES);
        }
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

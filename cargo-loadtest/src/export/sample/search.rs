//! A search for the capacity.

use super::run;
use super::scenario::{HEALTHY, checkout};
use loadtest_model::capacity::{
    Attempt, Goal, Measured, Purpose, Search, SearchEnding, Trial, TrialOutcome,
};
use loadtest_model::card::Report;
use loadtest_model::definition::{Bound, Comparator, Metric, Threshold};
use loadtest_model::plan::ScopedThreshold;
use loadtest_model::record::{EndReason, RunRecord};
use std::time::Duration;

/// A search that found the capacity, whose scenario and reasons say `text`.
pub(in crate::export) fn search(text: &str) -> Report {
    Report::grade(&search_record(text), None)
}

/// Its record.
pub(crate) fn search_record(text: &str) -> RunRecord {
    let threshold = |metric, bound| Threshold::new(metric, Comparator::Less, bound);
    let scoped = |step, threshold| ScopedThreshold {
        step,
        group: None,
        tagged: Vec::new(),
        threshold,
        implied: false,
    };
    let goal = Goal {
        slo: vec![
            scoped(
                None,
                threshold(Metric::P95, Bound::Time(Duration::from_millis(300))),
            ),
            scoped(None, threshold(Metric::Errors, Bound::Ratio(0.01))),
            scoped(
                Some(0),
                threshold(Metric::P99, Bound::Time(Duration::from_millis(200))),
            ),
        ],
        observed: Vec::new(),
        from_per_second: 640.0,
        max_per_second: 1e6,
        min_per_second: None,
        tolerance: 0.05,
        window: Duration::from_secs(10),
        confirm: Duration::from_secs(60),
        ramp_up: Duration::from_secs(2),
        rest: Duration::from_secs(2),
        max_users: None,
    };
    let mut record = checkout(HEALTHY, 60, EndReason::Completed);
    record.start.definition.function = text.to_owned().into();
    let mut search = Search::new(&record.start.definition, goal);
    search.ending = Some(SearchEnding::Completed);
    for (per_second, purpose, outcome) in [
        (640.0, Purpose::Search, TrialOutcome::Met),
        (1_280.0, Purpose::Search, TrialOutcome::Met),
        (2_560.0, Purpose::Search, TrialOutcome::Missed),
        (1_340.0, Purpose::Search, TrialOutcome::GeneratorLimited),
        (1_280.0, Purpose::Confirmation, TrialOutcome::Met),
    ] {
        let is_met = outcome == TrialOutcome::Met;
        let measured = |actual: f64, words: &str, held| Measured {
            actual: Some(actual),
            words: words.to_owned(),
            held,
        };
        let p95 = if is_met { 212 } else { 1_412 };
        search.trials.push(Trial {
            attempt: Attempt {
                per_second,
                purpose,
                outcome,
            },
            window: search.goal.window_of(purpose),
            achieved_per_second: Some(per_second),
            p95: Some(Duration::from_millis(p95)),
            error_rate: Some(0.000_4),
            slo: vec![
                measured(p95 as f64 * 1e3, "1.4 s", is_met),
                measured(0.000_4, "0.04 %", true),
                measured(183e3, "183 ms", true),
            ],
            reasons: if is_met {
                Vec::new()
            } else {
                vec![format!("p95 of the journey: 1.4 s, {text}")]
            },
            help: (outcome == TrialOutcome::GeneratorLimited).then(|| text.to_owned()),
            observed: Vec::new(),
        });
    }
    let mut run = run(vec![record]);
    run.capacity = Some(search);
    run
}

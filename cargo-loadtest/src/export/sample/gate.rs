//! Runs beside a baseline, and runs that must have a grade.

use super::scenario::{HEALTHY, RAMP, Target, checkout};
use super::{report, report_compared};
use loadtest_model::card::{Card, Quantiles, Report};
use loadtest_model::comparison::{
    BaselineComparison, Change, Compared, Comparison, ComparisonOutcome, Figure, Margin,
    ObservedCompared, Refusal, Skipped, Subject,
};
use loadtest_model::definition::Letter;
use loadtest_model::record::{EndReason, ScenarioRecord};
use loadtest_model::record::{Offline, Permit, PermittedBy};
use std::net::IpAddr;
use std::sync::LazyLock;

/// The figures of one subject: the change, half the width of its interval, and the verdict. Figures
/// are p50, p95, p99, errors and RPS.
type Said = [(f64, f64, Change); 5];

use Change::{Improved, Inconclusive, Regressed, Unchanged};

const SAME: Said = [
    (0.004, 0.021, Unchanged),
    (-0.011, 0.034, Unchanged),
    (0.017, 0.046, Unchanged),
    (0.000_1, 0.000_4, Unchanged),
    (0.0, 0.001, Unchanged),
];

/// A run of which some figures are better than those of the baseline, some are worse, and some cannot be
/// told; one step has another source, one is new, and one is gone.
pub(in crate::export) fn compared() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        let target = Target {
            order_errors: 0.007,
            ..HEALTHY
        };
        let record = checkout(target, 90, EndReason::Completed);
        let mut list = SAME;
        (list[0], list[1]) = ((-0.18, 0.025, Improved), (-0.21, 0.041, Improved));
        list[2].2 = Inconclusive;
        list[2].1 = 0.19;
        let mut order = SAME;
        order[1] = (0.31, 0.077, Regressed);
        order[2] = (0.06, 0.12, Inconclusive);
        order[3] = (0.006_5, 0.000_9, Regressed);
        let subjects = [
            (None, Err(Skipped::Changed)),
            (Some(0), Ok(SAME)),
            (Some(1), Ok(list)),
            (Some(2), Err(Skipped::Changed)),
            (Some(3), Ok(order)),
            (Some(4), Err(Skipped::Added)),
        ];
        let mut comparison = comparison(&record, 3, &subjects);
        comparison.subjects.push(Subject {
            step: Some("apply_voucher".to_owned()),
            skipped: Some(Skipped::Removed),
            figures: Vec::new(),
        });
        comparison.observed = vec![
            observed("db cpu", 1.6, 1.92),
            ObservedCompared {
                base_mean: None,
                base_max: None,
                ..observed("target cpu", 1.0, 0.4)
            },
        ];
        report_beside_main(record, ComparisonOutcome::Compared(comparison))
    });
    MADE.clone()
}

/// A run that is as its baseline of one run was, but for what is better, and what cannot be told.
pub(in crate::export) fn kept() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        let record = checkout(HEALTHY, 90, EndReason::Completed);
        let mut order = SAME;
        order[1] = (-0.22, 0.06, Improved);
        order[2] = (-0.09, 0.16, Inconclusive);
        // Of the last step nothing can be told.
        let unsure = SAME.map(|(change, half, _)| (change, 12.0 * half, Inconclusive));
        let subjects = [
            (None, Ok(SAME)),
            (Some(0), Ok(SAME)),
            (Some(1), Ok(SAME)),
            (Some(2), Ok(SAME)),
            (Some(3), Ok(order)),
            (Some(4), Ok(unsure)),
        ];
        let comparison = comparison(&record, 1, &subjects);
        report_beside_main(record, ComparisonOutcome::Compared(comparison))
    });
    MADE.clone()
}

/// A run with a step that is slower than that of the baseline, and the journey with it.
pub(in crate::export) fn regressed() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        let record = checkout(slower_order(), 90, EndReason::Completed);
        let (mut journey, mut order) = (SAME, SAME);
        journey[1] = (0.14, 0.031, Regressed);
        journey[2] = (0.16, 0.09, Inconclusive);
        order[0] = (0.27, 0.03, Regressed);
        order[1] = (0.29, 0.052, Regressed);
        order[2] = (0.33, 0.11, Regressed);
        let subjects = [
            (None, Ok(journey)),
            (Some(0), Ok(SAME)),
            (Some(1), Ok(SAME)),
            (Some(2), Ok(SAME)),
            (Some(3), Ok(order)),
            (Some(4), Ok(SAME)),
        ];
        let comparison = comparison(&record, 3, &subjects);
        report_beside_main(record, ComparisonOutcome::Compared(comparison))
    });
    MADE.clone()
}

/// A run that is not comparable, for two reasons.
pub(in crate::export) fn refused() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        let record = checkout(HEALTHY, 60, EndReason::Completed);
        let refusals = vec![
            Refusal::TooShort {
                run_id: RUN.to_owned(),
                steady_us: (60 - RAMP) * 1_000_000,
            },
            Refusal::Load {
                base: "100/s for 5 min, ramp-up 10 s (open model)".to_owned(),
                new: "200/s for 1 min, ramp-up 10 s (open model)".to_owned(),
            },
        ];
        report_beside_main(record, ComparisonOutcome::Refused { refusals })
    });
    MADE.clone()
}

/// A run whose scenario the baseline does not know.
pub(in crate::export) fn absent() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        let mut record = checkout(HEALTHY, 60, EndReason::Completed);
        record.start.offline = Some(Offline {
            namespace: "net:[4026532561]".to_owned(),
            interfaces: vec!["lo".to_owned()],
        });
        report_beside_main(record, ComparisonOutcome::Absent)
    });
    MADE.clone()
}

/// A run that must have an A, and has a B.
pub(in crate::export) fn graded_too_low() -> Report {
    static MADE: LazyLock<Report> = LazyLock::new(|| {
        let target = Target {
            typical: [24.0, 470.0, 31.0, 58.0, 490.0],
            ..HEALTHY
        };
        let mut record = checkout(target, 60, EndReason::Completed);
        // Slow as it is, no threshold is broken.
        record.start.plan.thresholds.retain(|scoped| scoped.implied);
        record.start.plan.min_grade = Some(Letter::A);
        record.start.own_target = false;
        record.start.base_url = Some("https://shop.staging.example.com".to_owned());
        record.start.permits = vec![Permit {
            origin: "https://shop.staging.example.com".to_owned(),
            addresses: vec![IpAddr::from([10, 20, 0, 7])],
            by: PermittedBy::Listed {
                owner: "shop-team@example.com".to_owned(),
                line: 12,
                proof: Some("loadtest: 1".to_owned()),
            },
        }];
        report(vec![record])
    });
    MADE.clone()
}

/// A comparison in which `text` stands wherever something comes from outside.
pub(super) fn hostile(text: &str) -> BaselineComparison {
    let record = checkout(HEALTHY, 20, EndReason::Completed);
    let mut worse = SAME;
    worse[1] = (0.31, 0.077, Regressed);
    let subjects = [
        (None, Err(Skipped::Changed)),
        (Some(0), Ok(worse)),
        (Some(1), Err(Skipped::Added)),
    ];
    let mut comparison = comparison(&record, 1, &subjects);
    comparison.scenario = text.to_owned();
    comparison.observed = vec![observed(text, 1.6, 1.9)];
    comparison.base = vec![text.to_owned()];
    for subject in &mut comparison.subjects {
        subject.step = subject.step.as_ref().map(|_| text.to_owned());
    }
    BaselineComparison {
        baseline: text.to_owned(),
        outcome: ComparisonOutcome::Compared(comparison),
    }
}

/// A figure in cores, by its means.
fn observed(name: &str, base: f64, new: f64) -> ObservedCompared {
    ObservedCompared {
        name: name.to_owned(),
        unit: "cores".to_owned(),
        base_mean: Some(base),
        new_mean: Some(new),
        base_max: Some(2.0 * base),
        new_max: Some(1.5 * new),
    }
}

/// The identifier of every invented run.
const RUN: &str = "20261105-100000-4f2a";

fn slower_order() -> Target {
    let mut target = HEALTHY;
    target.typical[3] *= 1.3;
    target
}

/// The report of a run that was compared with the baseline `main`.
fn report_beside_main(record: ScenarioRecord, outcome: ComparisonOutcome) -> Report {
    let comparison = BaselineComparison {
        baseline: "main".to_owned(),
        outcome,
    };
    report_compared(record, comparison)
}

/// The comparison of a record with a baseline of so many runs: the figures are its own, and those of the
/// baseline follow from what is said.
fn comparison(
    record: &ScenarioRecord,
    runs: usize,
    subjects: &[(Option<usize>, Result<Said, Skipped>)],
) -> Comparison {
    let card = Card::grade(record, None);
    let of = |(step, said): &(Option<usize>, Result<Said, Skipped>)| {
        let now = if let Some(step) = step {
            let step = &card.steps[*step];
            (step.response, step.error_rate, step.per_second)
        } else {
            let head = &card.headline;
            (head.time, head.error_rate, head.achieved_per_second)
        };
        Subject {
            step: step.map(|step| card.steps[step].name.clone()),
            skipped: said.err(),
            figures: said.map_or_else(|_| Vec::new(), |said| figures(now, said)),
        }
    };
    Comparison {
        scenario: card.identity.clone(),
        base: [
            "20261101-220000-91be",
            "20261102-220000-07d3",
            "20261103-220000-c4aa",
        ]
        .into_iter()
        .take(runs)
        .map(str::to_owned)
        .collect(),
        new: RUN.to_owned(),
        margin: Margin::for_runs(runs),
        is_closed: false,
        subjects: subjects.iter().map(of).collect(),
        observed: Vec::new(),
    }
}

fn figures(
    (times, errors, rate): (Quantiles, Option<f64>, Option<f64>),
    said: Said,
) -> Vec<Compared> {
    let us = |time: Option<std::time::Duration>| time.unwrap_or_default().as_secs_f64() * 1e6;
    let now = [
        (Figure::P50, us(times.p50)),
        (Figure::P95, us(times.p95)),
        (Figure::P99, us(times.p99)),
        (Figure::Errors, errors.unwrap_or(0.0)),
        (Figure::Rps, rate.unwrap_or(0.0)),
    ];
    let of = |((figure, new), (change, half, verdict)): ((Figure, f64), (f64, f64, Change))| {
        let is_share = figure == Figure::Errors;
        Compared {
            figure,
            base: if is_share {
                (new - change).max(0.0)
            } else {
                new / (1.0 + change)
            },
            new: if is_share { new.max(change) } else { new },
            change,
            interval: (change - half, change + 1.1 * half),
            detectable: if is_share { 0.005 + half } else { 0.07 + half },
            verdict,
            // Of a percentile of which nothing can be told there are too few.
            needs: (figure == Figure::P99 && verdict == Inconclusive && half > 0.5)
                .then_some(1_000),
        }
    };
    now.into_iter().zip(said).map(of).collect()
}

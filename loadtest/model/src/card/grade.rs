//! Grades: an Apdex index per step, limited by the error budget it spends; the overall grade is the
//! weighted mean, limited by the error budget that the journeys spend.
//!
//! The index and its bands are those of the Apdex Alliance's specification 1.1; the levels at which
//! a spent budget limits the score (1, 6 and 14.4) are the burn rates of Google's *Site Reliability
//! Workbook*, chapter 5. Each band is split in thirds for `+` and `-`.

use crate::definition::{Letter, micros};
use crate::metrics::{InnerTally, StepTally};
use crate::plan::StepGrading;
use serde::Serialize;
use std::time::Duration;

/// The version of the grading formula.
pub const VERSION: u32 = 2;

/// Fewer attempts than this make a small sample, marked `*`.
pub const SMALL_SAMPLE: u64 = 100;

/// The score above which a step is never graded once it burns more than 14.4 times its budget.
const SPENT: f64 = 0.4999;
/// The standard normal quantile of a two-sided interval of 95 %.
const Z: f64 = 1.96;

/// The grade of one step, with all that it was computed from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StepGrade {
    /// [`VERSION`] of the formula.
    pub version: u32,
    /// The target T.
    #[serde(rename = "target_us", with = "micros")]
    pub target: Duration,
    /// The error budget, a share of one.
    pub budget: f64,
    /// The share in the overall grade, before division by the sum of all.
    pub weight: f64,
    /// A: executed and skipped; steps that were not drawn are in no figure here.
    pub attempts: u64,
    /// F: failed and skipped.
    pub failures: u64,
    /// Ok within T.
    pub satisfied: u64,
    /// Ok within 4 T, but not within T.
    pub tolerating: u64,
    /// `(satisfied + tolerating / 2) / attempts`.
    pub apdex: f64,
    /// `failures / attempts / budget`; `None` where a budget of nothing is overspent.
    pub burn: Option<f64>,
    /// The highest score that the burn allows.
    pub cap: f64,
    /// The smaller of index and cap.
    pub score: f64,
    /// The letter of the score.
    pub letter: Letter,
    /// The interval of the score with a confidence of 95 %, for small samples only.
    pub interval: Option<(f64, f64)>,
}

impl StepGrade {
    /// Grades a step; `None` when it was never attempted in the measured part, or when no execution of it has a
    /// time.
    pub fn from_tally(tally: &StepTally, policy: &StepGrading) -> Option<Self> {
        let attempts = tally.executed + tally.skipped;
        let failures = tally.failed + tally.skipped;
        if failures == 0 && tally.response.count() == 0 {
            return None;
        }
        let in_time = (tally.satisfied, tally.tolerating);
        Some(Self::from_counts(attempts, failures, in_time, policy))
    }

    /// Grades the requests of one name within a step; `None` of none. What is within T is exact except for
    /// times within 0.1 % of T or 4 T. Where some of the streams that are graded `by_first_event` failed, it is not
    /// known which first events are theirs: those of the ok ones count as late as all are.
    pub fn from_row(row: &InnerTally, by_first_event: bool, policy: &StepGrading) -> Option<Self> {
        let ok = row.requests.saturating_sub(row.failed);
        let stream = row.stream.as_ref().filter(|_| by_first_event);
        let within = |limit: Duration| {
            if let Some(stream) = stream {
                return stream.share_of_first_events(limit, ok);
            }
            let late = row.timed_out.count_at_most(limit);
            let times = row.service.count_at_most(limit);
            times.saturating_sub(late).min(ok)
        };
        let satisfied = within(policy.target);
        let bearable = within(policy.target.saturating_mul(4));
        let in_time = (satisfied, bearable - satisfied);
        (row.requests > 0).then(|| Self::from_counts(row.requests, row.failed, in_time, policy))
    }

    fn from_counts(
        attempts: u64,
        failures: u64,
        (satisfied, tolerating): (u64, u64),
        policy: &StepGrading,
    ) -> Self {
        let all = attempts as f64;
        let apdex = (satisfied as f64 + tolerating as f64 / 2.0) / all;
        let burn = budget_burn(failures as f64 / all, policy.budget);
        let cap = burn.map_or(SPENT, score_limit);
        let score = apdex.min(cap);
        let interval = (attempts < SMALL_SAMPLE).then(|| {
            let (low, high) = index_interval(satisfied as f64, tolerating as f64, all);
            (low.min(cap), high.min(cap))
        });
        Self {
            version: VERSION,
            target: policy.target,
            budget: policy.budget,
            weight: policy.weight,
            attempts,
            failures,
            satisfied,
            tolerating,
            apdex,
            burn,
            cap,
            score,
            letter: Letter::from_score(score),
            interval,
        }
    }

    /// Returns the printed grade: `B+`, and `A*` of a small sample.
    pub fn label(&self) -> String {
        let star = if self.interval.is_some() { "*" } else { "" };
        format!("{}{star}", self.letter)
    }
}

/// Returns how many times the budget was spent; `None` for any failure without a budget.
fn budget_burn(ratio: f64, budget: f64) -> Option<f64> {
    if ratio == 0.0 {
        Some(0.0)
    } else if budget > 0.0 {
        Some(ratio / budget)
    } else {
        None
    }
}

/// The highest score at a burn: nothing is lost within the budget, then one deliberate step below
/// "excellent", and from there in lines to the bottom of "fair" at 6 and of "poor" at 14.4.
fn score_limit(burn: f64) -> f64 {
    if burn <= 1.0 + 1e-9 {
        1.0
    } else if burn <= 6.0 {
        0.94 - (burn - 1.0) / 5.0 * 0.24 - 1e-9
    } else if burn <= 14.4 {
        0.70 - (burn - 6.0) / 8.4 * 0.20 - 1e-9
    } else {
        SPENT
    }
}

/// The interval of the index by its standard error; where all samples are alike, which has no
/// error, by the rule of three.
fn index_interval(satisfied: f64, tolerating: f64, attempts: f64) -> (f64, f64) {
    let index = (satisfied + tolerating / 2.0) / attempts;
    let variance = ((satisfied + tolerating / 4.0) / attempts - index * index).max(0.0);
    let error = Z * (variance / attempts).sqrt();
    let least = 3.0 / attempts;
    let error = if error < 1e-9 { least } else { error };
    ((index - error).max(0.0), (index + error).min(1.0))
}

/// The error budget that journeys spent. It limits the overall score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct JourneyBudget {
    /// Failed and dropped journeys of all, a share of one.
    pub error_rate: f64,
    /// The error budget, a share of one: the largest of the steps.
    pub budget: f64,
    /// `error_rate / budget`; `None` where a budget of nothing is overspent.
    pub burn: Option<f64>,
    /// The highest overall score that the burn allows.
    pub cap: f64,
}

/// The weighted mean of the steps' scores, limited by the failed journeys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grade {
    /// The score; `None` when nothing could be graded, or the measurement is invalid.
    pub score: Option<f64>,
    /// Its letter.
    pub letter: Option<Letter>,
    /// The interval of the score with a confidence of 95 %, if a graded step is a small sample.
    pub interval: Option<(f64, f64)>,
    /// The error budget of the journeys; `None` when none ended.
    pub journeys: Option<JourneyBudget>,
    /// The run ended early.
    pub partial: bool,
    /// The measurement is invalid, so that no grade is given.
    pub withheld: bool,
    /// The names of the steps that were never attempted in the measured part.
    pub ungraded: Vec<String>,
}

impl Grade {
    /// The mean of the steps' grades; steps never attempted are in neither sum.
    pub fn from_steps(steps: &[Option<StepGrade>]) -> Self {
        let mean = |value: &dyn Fn(&StepGrade) -> f64| {
            let (sum, weights) = steps
                .iter()
                .flatten()
                .fold((0.0, 0.0), |(sum, weights), step| {
                    (sum + step.weight * value(step), weights + step.weight)
                });
            (weights > 0.0).then(|| sum / weights)
        };
        let score = mean(&|step| step.score);
        let small = steps
            .iter()
            .flatten()
            .any(|step| step.interval.is_some() && step.weight > 0.0);
        let low = mean(&|step| step.interval.map_or(step.score, |(low, _)| low));
        let high = mean(&|step| step.interval.map_or(step.score, |(_, high)| high));
        Self {
            score,
            letter: score.map(Letter::from_score),
            interval: low.zip(high).filter(|_| small),
            journeys: None,
            partial: false,
            withheld: false,
            ungraded: Vec::new(),
        }
    }

    /// Limits the score by the error budget that journeys spent.
    #[must_use]
    pub fn limit_by_journeys(self, error_rate: f64, budget: f64) -> Self {
        let burn = budget_burn(error_rate, budget);
        let cap = burn.map_or(SPENT, score_limit);
        let score = self.score.map(|score| score.min(cap));
        Self {
            score,
            letter: score.map(Letter::from_score),
            interval: self
                .interval
                .map(|(low, high)| (low.min(cap), high.min(cap))),
            journeys: Some(JourneyBudget {
                error_rate,
                budget,
                burn,
                cap,
            }),
            ..self
        }
    }

    /// Returns the printed grade: `B+`, `A*`, `NS` for no sample, `–` if it is withheld.
    pub fn label(&self) -> String {
        match self.letter {
            Some(letter) if self.interval.is_some() => format!("{letter}*"),
            Some(letter) => letter.to_string(),
            None if self.withheld => super::display::NO_VALUE.to_owned(),
            None => "NS".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Histogram;
    use proptest::prelude::*;

    fn policy(budget: f64) -> StepGrading {
        StepGrading {
            target: Duration::from_millis(500),
            budget,
            weight: 1.0,
        }
    }

    fn tally(sat: u64, tol: u64, slow: u64, failed: u64, skipped: u64) -> StepTally {
        let mut response = Histogram::default();
        response.record_n(Duration::from_millis(100), sat + tol + slow);
        StepTally {
            response,
            executed: sat + tol + slow + failed,
            ok: sat + tol + slow,
            failed,
            skipped,
            satisfied: sat,
            tolerating: tol,
            ..StepTally::default()
        }
    }

    fn grade(sat: u64, tol: u64, slow: u64, failed: u64, skipped: u64) -> Option<StepGrade> {
        StepGrade::from_tally(&tally(sat, tol, slow, failed, skipped), &policy(0.01))
    }

    #[test]
    fn the_worked_cases_of_the_documentation_hold() {
        for (what, counts, score, letter) in [
            ("all fast", (10_000, 0, 0, 0, 0), 1.0, "A+"),
            (
                "p95 at T, rest within 4 T",
                (9_500, 500, 0, 0, 0),
                0.975,
                "A",
            ),
            ("p95 at T, rest beyond", (9_500, 0, 500, 0, 0), 0.95, "A-"),
            (
                "p90 at T, rest within 4 T",
                (9_000, 1_000, 0, 0, 0),
                0.95,
                "A-",
            ),
            (
                "median at T, rest within 4 T",
                (5_000, 5_000, 0, 0, 0),
                0.75,
                "C",
            ),
            ("0.9 % errors", (9_910, 0, 0, 90, 0), 0.991, "A+"),
            ("1.1 % errors", (9_890, 0, 0, 110, 0), 0.935, "B+"),
            ("3 % errors", (9_700, 0, 0, 300, 0), 0.844, "C+"),
            ("7 % errors", (9_300, 0, 0, 700, 0), 0.676, "D+"),
            ("15 % errors", (8_500, 0, 0, 1_500, 0), 0.4999, "F"),
            ("3.3 % skipped", (36_000, 536, 0, 8, 1_204), 0.834, "C+"),
            ("10 % skipped", (9_000, 0, 0, 0, 1_000), 0.605, "D"),
            ("all skipped", (0, 0, 0, 0, 500), 0.0, "F"),
        ] {
            let (sat, tol, slow, failed, skipped) = counts;
            let grade = grade(sat, tol, slow, failed, skipped).unwrap();
            assert!(
                (grade.score - score).abs() < 0.001,
                "{what}: {}",
                grade.score
            );
            assert_eq!(grade.letter.name(), letter, "{what}");
        }
    }

    #[test]
    fn a_letter_starts_at_its_score_and_not_below() {
        for (letter, least) in [
            ("A+", 0.98),
            ("A", 0.96),
            ("A-", 0.94),
            ("B+", 0.91),
            ("B", 0.88),
            ("B-", 0.85),
            ("C+", 0.80),
            ("C", 0.75),
            ("C-", 0.70),
            ("D+", 0.633_333_333_4),
            ("D", 0.566_666_666_7),
            ("D-", 0.50),
            ("F", 0.0),
        ] {
            assert_eq!(Letter::from_score(least).name(), letter, "{least}");
            assert!(least == 0.0 || Letter::from_score(least - 1e-9) < Letter::from_score(least));
        }
        assert_eq!(Letter::from_score(1.0), Letter::APlus);
    }

    #[test]
    fn a_burn_at_a_level_has_the_bottom_of_the_band_above_it() {
        // Of 100,000 attempts with a budget of 0.1 %, that many fail.
        let of = |failed: u64| {
            let tally = tally(100_000 - failed, 0, 0, failed, 0);
            StepGrade::from_tally(&tally, &policy(0.001)).unwrap()
        };
        for (failed, burn, cap, letter) in [
            (100, 1.0, 1.0, "A+"),
            (101, 1.01, 0.939_52, "B+"),
            (350, 3.5, 0.82, "C+"),
            (600, 6.0, 0.70, "D+"),
            (1_440, 14.4, 0.50, "F"),
            (1_441, 14.41, 0.499_9, "F"),
        ] {
            let grade = of(failed);
            assert!((grade.burn.unwrap() - burn).abs() < 1e-9, "{failed}");
            assert!((grade.cap - cap).abs() < 1e-8, "{failed}: {}", grade.cap);
            assert_eq!(grade.letter.name(), letter, "{failed}");
        }
        assert_eq!(
            of(600).letter,
            Letter::DPlus,
            "just below the bottom of fair"
        );
    }

    #[test]
    fn the_interval_of_a_small_sample_is_that_of_its_standard_error() {
        // 40 satisfied and 10 tolerating of 50: 0.9, and a variance of 0.85 - 0.81.
        let step = grade(40, 10, 0, 0, 0).unwrap();
        let error = 1.96 * (0.04_f64 / 50.0).sqrt();
        let (low, high) = step.interval.unwrap();
        assert!((low - (0.9 - error)).abs() < 1e-12, "{low}");
        assert!((high - (0.9 + error)).abs() < 1e-12, "{high}");
        // The cap holds for both ends: 2 of 40 failed, 5 times the budget.
        let step = grade(38, 0, 0, 2, 0).unwrap();
        let (low, high) = step.interval.unwrap();
        assert!(
            (step.cap - 0.748).abs() < 1e-8 && high <= step.cap,
            "{step:?}"
        );
        assert!(low <= step.score && step.score <= high, "{step:?}");
        // The whole has the weighted mean of both ends.
        let sure = grade(1_000, 0, 0, 0, 0);
        let all = Grade::from_steps(&[Some(step), sure]).interval.unwrap();
        assert!((all.0 - f64::midpoint(low, 1.0)).abs() < 1e-12);
        assert!((all.1 - f64::midpoint(high, 1.0)).abs() < 1e-12);
    }

    #[test]
    fn a_login_that_fails_every_tenth_time_makes_the_whole_journey_a_d() {
        let login = grade(9_000, 0, 0, 1_000, 0);
        let later = grade(9_000, 0, 0, 0, 1_000);
        let overall = Grade::from_steps(&[login, later, later, later, later]);
        assert_eq!(overall.label(), "D");
        assert!(
            (overall.score.unwrap() - 0.604_8).abs() < 1e-4,
            "{overall:?}"
        );
    }

    #[test]
    fn the_journey_of_the_documentation_is_a_b_minus() {
        let login = grade(9_100, 600, 0, 300, 0).unwrap();
        let browse = grade(9_700, 0, 0, 0, 300).unwrap();
        let mut recommend = grade(2_000, 0, 0, 0, 0).unwrap();
        recommend.weight = 0.2;
        for (step, apdex, burn, cap, letter) in [
            (login, 0.94, 3.0, 0.844, "C+"),
            (browse, 0.97, 3.0, 0.844, "C+"),
            (recommend, 1.0, 0.0, 1.0, "A+"),
        ] {
            let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
            assert!(close(step.apdex, apdex) && close(step.cap, cap), "{step:?}");
            assert!(close(step.burn.unwrap(), burn), "{step:?}");
            assert_eq!(step.letter.name(), letter);
        }
        let overall = Grade::from_steps(&[login, browse, recommend].map(Some));
        assert!((overall.score.unwrap() - 1.888 / 2.2).abs() < 1e-6);
        assert_eq!(overall.label(), "B-");
        let overall = overall.limit_by_journeys(0.03, 0.01);
        assert!((overall.score.unwrap() - 0.844).abs() < 1e-6);
        assert_eq!(overall.label(), "C+");
    }

    #[test]
    fn a_step_that_was_never_attempted_is_in_neither_sum() {
        assert_eq!(grade(0, 0, 0, 0, 0), None);
        let overall = Grade::from_steps(&[grade(5_000, 5_000, 0, 0, 0), None]);
        assert_eq!(overall.label(), "C");
        assert_eq!(Grade::from_steps(&[None, None]).label(), "NS");
    }

    #[test]
    fn steps_without_weight_give_no_overall_grade() {
        let mut step = grade(10, 0, 0, 0, 0).unwrap();
        step.weight = 0.0;
        assert_eq!(Grade::from_steps(&[Some(step)]).label(), "NS");
    }

    #[test]
    fn the_overall_grade_weighs_the_steps() {
        let mut good = grade(1_000, 0, 0, 0, 0).unwrap();
        good.weight = 3.0;
        let bad = grade(0, 0, 1_000, 0, 0).unwrap();
        let overall = Grade::from_steps(&[Some(good), Some(bad)]);
        assert!((overall.score.unwrap() - 0.75).abs() < 1e-12);
        assert_eq!(overall.label(), "C");
    }

    #[test]
    fn small_samples_are_marked_and_have_an_interval() {
        let step = grade(11, 1, 0, 0, 0).unwrap();
        let (low, high) = step.interval.unwrap();
        assert!(low < step.score && step.score < high, "{low}..{high}");
        assert_eq!(Grade::from_steps(&[Some(step)]).label(), "A-*");
        let (low, high) = grade(12, 0, 0, 0, 0).unwrap().interval.unwrap();
        assert!((low - 0.75).abs() < 1e-9 && (high - 1.0).abs() < 1e-9);
        assert_eq!(grade(100, 0, 0, 0, 0).unwrap().interval, None);
    }

    #[test]
    fn without_a_budget_any_failure_is_one_too_many() {
        let one = StepGrade::from_tally(&tally(9_999, 0, 0, 1, 0), &policy(0.0)).unwrap();
        assert_eq!((one.letter, one.burn), (Letter::F, None));
        let none = StepGrade::from_tally(&tally(10_000, 0, 0, 0, 0), &policy(0.0)).unwrap();
        assert_eq!(none.letter, Letter::APlus);
    }

    #[test]
    fn a_kept_budget_and_a_p95_within_the_target_give_at_least_an_a_minus() {
        let step = grade(9_405, 0, 495, 100, 0).unwrap();
        assert_eq!(step.letter, Letter::AMinus, "{}", step.score);
    }

    proptest! {
        #[test]
        fn a_worse_sample_never_raises_the_score(
            zones in prop::array::uniform5(0_u64..400),
            from in 0_usize..4,
            worse in 1_usize..5,
            budget in prop_oneof![Just(0.0), Just(0.01), 0.0..0.2_f64],
            weights in prop::array::uniform2(0.01..5.0_f64),
        ) {
            let to = (from + worse).min(4);
            prop_assume!(zones[from] > 0);
            let mut after = zones;
            after[from] -= 1;
            after[to] += 1;
            let step = |[sat, tol, slow, failed, skipped]: [u64; 5], weight| {
                let policy = StepGrading { weight, ..policy(budget) };
                StepGrade::from_tally(&tally(sat, tol, slow, failed, skipped), &policy)
            };
            let other = step([10, 20, 30, 1, 2], weights[1]);
            let (before, after) = (step(zones, weights[0]), step(after, weights[0]));
            let (b, a) = (before.unwrap(), after.unwrap());
            prop_assert!(a.score <= b.score + 1e-12, "{} -> {}", b.score, a.score);
            prop_assert!(a.letter <= b.letter);
            let overall = |step| Grade::from_steps(&[step, other]).score.unwrap();
            prop_assert!(overall(after) <= overall(before) + 1e-12);
        }
    }
}

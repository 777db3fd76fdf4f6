//! The next rate to try: a pure function of the outcomes of the earlier ones.
//!
//! The lowest rate that did not meet the SLO is believed when it was seen twice, so that one hiccup of the
//! target does not decide the result; where the second look meets it, the search goes on from there.

use super::{Attempt, Finding, Goal, Limit, Purpose, TrialOutcome};

/// The most confirmations there can be; each after the first is of a lower rate.
pub(super) const CONFIRMATIONS: usize = 5;
/// The maximum number of times that the first rate is halved.
const HALVINGS: usize = 6;
/// Iterations that a window must hold to say something.
const FEWEST: f64 = 10.0;

/// The next action of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Tries a rate, iterations per second.
    Try {
        /// Iterations per second.
        per_second: f64,
        /// Why.
        purpose: Purpose,
    },
    /// It is over.
    Done,
}

/// Returns the next action after `attempts`.
pub fn next_action(goal: &Goal, attempts: &[Attempt]) -> Next {
    let confirmations = filter_attempts(attempts, Purpose::Confirmation);
    if let Some(last) = confirmations.last() {
        return match step_down(goal, confirmations.len(), last) {
            Some(per_second) => confirm_rate(per_second),
            None => Next::Done,
        };
    }
    let tried = filter_attempts(attempts, Purpose::Search);
    let met = highest_met(&tried);
    if tried.len() >= most_trials(goal) {
        return met.map_or(Next::Done, confirm_rate);
    }
    match (met, lowest_above(&tried, met)) {
        (None, None) => try_rate(goal.from_per_second.min(goal.max_per_second)),
        (None, Some(lowest)) => {
            let half = round_rate(lowest / 2.0);
            if half < lowest_rate(goal) || half >= lowest {
                Next::Done
            } else {
                try_rate(half)
            }
        }
        (Some(met), None) if met >= goal.max_per_second => confirm_rate(met),
        (Some(met), None) => try_rate((met * 2.0).min(goal.max_per_second)),
        (Some(met), Some(broke)) => {
            let middle = round_rate(f64::midpoint(met, broke));
            let is_close = broke <= met * (1.0 + goal.tolerance);
            if !is_close && met < middle && middle < broke {
                try_rate(middle)
            } else if count_attempts(&tried, broke) < 2 {
                try_rate(broke)
            } else {
                confirm_rate(met)
            }
        }
    }
}

/// Returns the result of `attempts`.
pub fn finding(goal: &Goal, attempts: &[Attempt]) -> Finding {
    let confirmations = filter_attempts(attempts, Purpose::Confirmation);
    let confirmed = confirmations
        .iter()
        .find(|attempt| attempt.outcome == TrialOutcome::Met)
        .map(|attempt| attempt.per_second);
    let refuted = confirmations
        .iter()
        .filter(|attempt| attempt.outcome != TrialOutcome::Met)
        .map(|attempt| attempt.per_second)
        .fold(f64::INFINITY, f64::min);
    let believed: Vec<Attempt> = filter_attempts(attempts, Purpose::Search)
        .into_iter()
        .filter(|attempt| attempt.per_second < refuted)
        .collect();
    let met = confirmed.or_else(|| highest_met(&believed));
    let beyond = |attempt: &Attempt| {
        attempt.outcome != TrialOutcome::Met && met.is_none_or(|met| attempt.per_second > met)
    };
    let broke = attempts
        .iter()
        .enumerate()
        .filter(|(_, attempt)| beyond(attempt))
        // Of the same rate the last one.
        .min_by(|(i, a), (j, b)| a.per_second.total_cmp(&b.per_second).then(j.cmp(i)))
        .map(|(at, _)| at);
    let limit = match broke.map(|at| attempts[at].outcome) {
        Some(TrialOutcome::GeneratorLimited) => Some(Limit::Generator),
        Some(_) => Some(Limit::Target),
        None => met
            .filter(|met| *met >= goal.max_per_second)
            .map(|_| Limit::Max),
    };
    Finding {
        confirmed_per_second: confirmed,
        met_per_second: met,
        broke,
        limit,
    }
}

/// The most trials before the confirmation: all doublings or halvings, and the bisection with room for a few
/// second looks.
pub(super) fn most_trials(goal: &Goal) -> usize {
    let doublings = (goal.max_per_second / goal.from_per_second)
        .log2()
        .ceil()
        .max(0.0) as usize;
    let bisections = (1.0 / goal.tolerance).log2().ceil().max(1.0) as usize;
    1 + doublings.max(HALVINGS) + 2 * bisections + 2
}

fn try_rate(per_second: f64) -> Next {
    let purpose = Purpose::Search;
    Next::Try {
        per_second,
        purpose,
    }
}

fn confirm_rate(per_second: f64) -> Next {
    let purpose = Purpose::Confirmation;
    Next::Try {
        per_second,
        purpose,
    }
}

/// The rate that is confirmed after one that was not; each step down is twice as long as the one before.
fn step_down(goal: &Goal, confirmations: usize, last: &Attempt) -> Option<f64> {
    if last.outcome == TrialOutcome::Met || confirmations >= CONFIRMATIONS {
        return None;
    }
    let step = goal.tolerance * f64::from(1_u32 << (confirmations - 1).min(8));
    let lower = round_rate(last.per_second * (1.0 - step.min(0.5)));
    (lower >= lowest_rate(goal) && lower < last.per_second).then_some(lower)
}

fn filter_attempts(attempts: &[Attempt], purpose: Purpose) -> Vec<Attempt> {
    let attempts = attempts.iter().copied();
    attempts.filter(|one| one.purpose == purpose).collect()
}

fn highest_met(tried: &[Attempt]) -> Option<f64> {
    tried
        .iter()
        .filter(|attempt| attempt.outcome == TrialOutcome::Met)
        .map(|attempt| attempt.per_second)
        .max_by(f64::total_cmp)
}

/// The lowest rate above that one: none of them met the SLO.
fn lowest_above(tried: &[Attempt], met: Option<f64>) -> Option<f64> {
    tried
        .iter()
        .map(|attempt| attempt.per_second)
        .filter(|rate| met.is_none_or(|met| *rate > met))
        .min_by(f64::total_cmp)
}

fn count_attempts(tried: &[Attempt], rate: f64) -> usize {
    let same = |attempt: &&Attempt| attempt.per_second.total_cmp(&rate).is_eq();
    tried.iter().filter(same).count()
}

/// The lowest rate that is tried: one of which a window holds a few iterations.
fn lowest_rate(goal: &Goal) -> f64 {
    let halved = goal.from_per_second / f64::from(1_u32 << HALVINGS);
    let fewest = FEWEST / goal.window.as_secs_f64();
    halved.max(fewest.min(goal.from_per_second))
}

/// To three digits, so that rates can be read.
fn round_rate(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.log10().floor() - 2.0);
    let rounded = (rate / unit).round() * unit;
    // What is left of the powers of ten: `0.30000000000000004`.
    (rounded * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn goal() -> Goal {
        Goal {
            slo: Vec::new(),
            observed: Vec::new(),
            from_per_second: 10.0,
            max_per_second: 1e6,
            min_per_second: None,
            tolerance: 0.05,
            window: Duration::from_secs(10),
            confirm: Duration::from_secs(60),
            ramp_up: Duration::from_secs(2),
            rest: Duration::from_secs(2),
            max_users: None,
        }
    }

    /// All trials against a target, which returns the outcome of a rate at the n-th trial.
    fn trials(goal: &Goal, target: impl Fn(f64, Purpose, usize) -> TrialOutcome) -> Vec<Attempt> {
        let (searches, confirmations) = goal.most();
        let mut attempts = Vec::new();
        while let Next::Try {
            per_second,
            purpose,
        } = next_action(goal, &attempts)
        {
            assert!(per_second > 0.0 && per_second <= goal.max_per_second);
            let outcome = target(per_second, purpose, attempts.len());
            attempts.push(Attempt {
                per_second,
                purpose,
                outcome,
            });
            assert!(filter_attempts(&attempts, Purpose::Search).len() <= searches);
            assert!(filter_attempts(&attempts, Purpose::Confirmation).len() <= confirmations);
        }
        attempts
    }

    fn knee(at: f64) -> impl Fn(f64, Purpose, usize) -> TrialOutcome {
        move |rate, _, _| {
            if rate <= at {
                TrialOutcome::Met
            } else {
                TrialOutcome::Missed
            }
        }
    }

    fn rates(attempts: &[Attempt]) -> Vec<f64> {
        attempts.iter().map(|attempt| attempt.per_second).collect()
    }

    #[test]
    fn rates_double_the_gap_is_halved_and_the_result_confirmed() {
        let goal = goal();
        let attempts = trials(&goal, knee(100.0));
        assert_eq!(
            rates(&attempts),
            [
                10.0, 20.0, 40.0, 80.0, 160.0, 120.0, 100.0, 110.0, 105.0, 105.0, 100.0
            ]
        );
        let found = finding(&goal, &attempts);
        assert_eq!(found.confirmed_per_second, Some(100.0));
        assert_eq!(found.limit, Some(Limit::Target));
        assert_eq!(rates(&attempts[found.broke.unwrap()..])[0..1], [105.0]);
    }

    #[test]
    fn the_highest_rate_that_may_be_tried_ends_the_search() {
        let goal = Goal {
            max_per_second: 50.0,
            ..goal()
        };
        let attempts = trials(&goal, knee(1e9));
        assert_eq!(rates(&attempts), [10.0, 20.0, 40.0, 50.0, 50.0]);
        let found = finding(&goal, &attempts);
        assert_eq!(found.confirmed_per_second, Some(50.0));
        assert_eq!((found.limit, found.broke), (Some(Limit::Max), None));
    }

    #[test]
    fn a_first_rate_that_is_too_high_is_halved_as_long_as_it_says_something() {
        let goal = Goal {
            from_per_second: 100.0,
            ..goal()
        };
        let attempts = trials(&goal, knee(0.0));
        assert_eq!(
            rates(&attempts),
            [100.0, 50.0, 25.0, 12.5, 6.25, 3.13, 1.57]
        );
        let found = finding(&goal, &attempts);
        assert_eq!(
            (found.met_per_second, found.limit),
            (None, Some(Limit::Target))
        );
        let attempts = trials(&goal, knee(30.0));
        assert_eq!(rates(&attempts)[..3], [100.0, 50.0, 25.0]);
        assert_eq!(finding(&goal, &attempts).confirmed_per_second, Some(29.7));
    }

    #[test]
    fn one_hiccup_at_a_low_rate_does_not_decide() {
        let goal = goal();
        let attempts = trials(&goal, |rate, purpose, at| match at {
            1 => TrialOutcome::Missed,
            _ => knee(1_000.0)(rate, purpose, at),
        });
        let found = finding(&goal, &attempts).confirmed_per_second.unwrap();
        assert!((950.0..=1_000.0).contains(&found), "{found}");
    }

    #[test]
    fn a_confirmation_that_fails_is_stepped_down_from_and_not_for_ever() {
        let goal = goal();
        let slower = |rate: f64, purpose, _| {
            let knee = if purpose == Purpose::Search {
                100.0
            } else {
                90.0
            };
            if rate <= knee {
                TrialOutcome::Met
            } else {
                TrialOutcome::Missed
            }
        };
        let attempts = trials(&goal, slower);
        assert_eq!(
            rates(&filter_attempts(&attempts, Purpose::Confirmation)),
            [100.0, 95.0, 85.5]
        );
        let found = finding(&goal, &attempts);
        assert_eq!(found.confirmed_per_second, Some(85.5));
        assert_eq!(rates(&attempts[found.broke.unwrap()..])[0..1], [95.0]);

        let attempts = trials(&goal, |rate, purpose, at| match purpose {
            Purpose::Search => knee(100.0)(rate, purpose, at),
            Purpose::Confirmation => TrialOutcome::Missed,
        });
        let found = finding(&goal, &attempts);
        assert_eq!(found.confirmed_per_second, None);
        assert_eq!(
            found.met_per_second,
            Some(40.0),
            "below all that was refuted"
        );
    }

    #[test]
    fn the_generator_is_named_where_it_is_the_limit() {
        let goal = goal();
        let attempts = trials(&goal, |rate, _, _| {
            if rate <= 300.0 {
                TrialOutcome::Met
            } else {
                TrialOutcome::GeneratorLimited
            }
        });
        let found = finding(&goal, &attempts);
        assert_eq!(found.limit, Some(Limit::Generator));
        assert!((285.0..=300.0).contains(&found.confirmed_per_second.unwrap()));

        let attempts = trials(&goal, |_, _, _| TrialOutcome::GeneratorLimited);
        let found = finding(&goal, &attempts);
        assert_eq!(
            (found.met_per_second, found.limit),
            (None, Some(Limit::Generator))
        );
    }

    #[test]
    fn rates_can_be_read() {
        for (rate, shown) in [
            (1_234.5, 1_230.0),
            (0.30123, 0.301),
            (86_666.0, 86_700.0),
            (5.0, 5.0),
        ] {
            assert_eq!(Some(round_rate(rate)), Some(shown));
        }
    }

    proptest! {
        #[test]
        fn below_any_knee_the_result_is_within_the_tolerance(
            at in 1.2_f64..900_000.0,
            tolerance in 0.02_f64..0.3,
        ) {
            let goal = Goal { tolerance, ..goal() };
            let attempts = trials(&goal, knee(at));
            let found = finding(&goal, &attempts).confirmed_per_second.unwrap();
            prop_assert!(found <= at);
            // Three digits are exact to 1 %.
            let lowest = at / (1.0 + tolerance.max(0.011)) - 0.006;
            prop_assert!(found >= lowest, "{found} of {at}");
        }

        #[test]
        fn a_target_that_answers_by_chance_ends_within_its_bounds(
            outcomes in proptest::collection::vec(0_u8..3, 100),
            from in 0.1_f64..1e5,
            max in 0.2_f64..1e6,
        ) {
            let goal = Goal { from_per_second: from.min(max), max_per_second: max, ..goal() };
            let attempts = trials(&goal, |_, _, at| match outcomes[at] {
                0 => TrialOutcome::Met,
                1 => TrialOutcome::Missed,
                _ => TrialOutcome::GeneratorLimited,
            });
            let found = finding(&goal, &attempts);
            if let Some(rate) = found.confirmed_per_second {
                let of_it = |attempt: &Attempt| {
                    attempt.per_second.total_cmp(&rate).is_eq() && attempt.purpose == Purpose::Confirmation
                };
                prop_assert!(attempts.iter().any(|one| of_it(one) && one.outcome == TrialOutcome::Met));
                prop_assert!(found.broke.is_none_or(|at| attempts[at].per_second > rate));
            }
        }

        #[test]
        fn noise_near_the_knee_costs_no_more_than_the_noise(
            at in 50.0_f64..50_000.0,
            noise in proptest::collection::vec(-0.1_f64..0.1, 100),
        ) {
            let goal = goal();
            let attempts = trials(&goal, |rate, purpose, i| match purpose {
                Purpose::Search => knee(at * (1.0 + noise[i]))(rate, purpose, i),
                Purpose::Confirmation => knee(at)(rate, purpose, i),
            });
            let found = finding(&goal, &attempts).confirmed_per_second.unwrap();
            prop_assert!(found <= at && found >= at * 0.75, "{found} of {at}");
        }
    }
}

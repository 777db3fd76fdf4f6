//! The split of a total load among scenarios that run at once.

use crate::plan::{IterationCount, Overrides};

/// A total that cannot be shared out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MixError {
    /// Some scenario would get nothing.
    #[error(
        "`{flag} {given}` is the total of the mix and leaves nothing for some of its {scenarios} scenarios; \
         give at least {scenarios}, or select fewer scenarios"
    )]
    TooFew {
        /// The flag.
        flag: &'static str,
        /// The total that was given.
        given: u64,
        /// The number of scenarios.
        scenarios: usize,
    },
}

/// Splits `total` among scenarios by weight: rates exactly, users and iterations in whole numbers of at least
/// one. Ramp, duration and iterations per user are no totals: they apply to each
/// scenario.
///
/// # Errors
/// [`MixError`] for each total that is too small.
pub fn split_load(total: &Overrides, weights: &[f64]) -> Result<Vec<Overrides>, Vec<MixError>> {
    let mut errors = Vec::new();
    let mut whole = |flag, given: Option<u64>| {
        let given = given?;
        let shares = split_whole(given, weights);
        if shares.is_none() {
            errors.push(MixError::TooFew {
                flag,
                given,
                scenarios: weights.len(),
            });
        }
        shares
    };
    let users = whole("--users", total.users.map(u64::from));
    let (all, per_user) = match total.iterations {
        Some(IterationCount::Total(count)) => (Some(count), None),
        per_user => (None, per_user),
    };
    let iterations = whole("--iterations", all);
    if !errors.is_empty() {
        return Err(errors);
    }
    let sum: f64 = weights.iter().sum();
    let share = |of: &Option<Vec<u64>>, i: usize| of.as_ref().map(|shares| shares[i]);
    Ok(weights
        .iter()
        .enumerate()
        .map(|(i, weight)| Overrides {
            rate_per_second: total.rate_per_second.map(|rate| rate * (weight / sum)),
            // No share is more than the total.
            users: share(&users, i).and_then(|users| u32::try_from(users).ok()),
            iterations: share(&iterations, i)
                .map(IterationCount::Total)
                .or(per_user),
            in_mix: true,
            ..total.clone()
        })
        .collect())
}

/// Whole shares of at least one whose sum is `total`, by the largest remainder; of equal remainders the
/// earlier one. `None` when there are more weights than things.
fn split_whole(total: u64, weights: &[f64]) -> Option<Vec<u64>> {
    let least = weights.len() as u64;
    if total < least {
        return None;
    }
    let sum: f64 = weights.iter().sum();
    let exact: Vec<f64> = weights
        .iter()
        .map(|weight| total as f64 * (weight / sum))
        .collect();
    let mut shares: Vec<u64> = exact.iter().map(|exact| (*exact as u64).max(1)).collect();
    // How far a scenario is from what it is due: above zero it has too little.
    let owed = |shares: &[u64], i: usize| exact[i] - shares[i] as f64;
    let mut given: u64 = shares
        .iter()
        .fold(0, |sum, share| sum.saturating_add(*share));
    while given < total {
        // Rounding down loses less than one each, so this is short; but a sum of large numbers may be
        // off by more, and what is left over then goes to the one that is owed most.
        let most = (0..shares.len()).max_by(|&one, &other| {
            owed(&shares, one)
                .total_cmp(&owed(&shares, other))
                .then(other.cmp(&one))
        })?;
        let missing = total - given;
        let step = if missing <= least { 1 } else { missing - least };
        shares[most] += step;
        given += step;
    }
    while given > total {
        // The least of one took from the others: from the one that has most beyond its due.
        let least_owed = (0..shares.len())
            .filter(|&i| shares[i] > 1)
            .min_by(|&one, &other| {
                owed(&shares, one)
                    .total_cmp(&owed(&shares, other))
                    .then(other.cmp(&one))
            })?;
        let surplus = given - total;
        let step = if surplus <= least { 1 } else { surplus - least };
        let step = step.min(shares[least_owed] - 1);
        shares[least_owed] -= step;
        given -= step;
    }
    Some(shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_total_is_split_by_weight() {
        assert_eq!(split_whole(100, &[3.0, 1.0]), Some(vec![75, 25]));
        assert_eq!(split_whole(10, &[1.0, 1.0, 1.0]), Some(vec![4, 3, 3]));
        assert_eq!(split_whole(3, &[1.0, 1e6, 1.0]), Some(vec![1, 1, 1]));
        assert_eq!(split_whole(10, &[1e6, 1.0, 1.0]), Some(vec![8, 1, 1]));
        assert_eq!(split_whole(1, &[1.0, 1.0]), None);
    }

    #[test]
    fn a_rate_is_split_exactly_and_what_is_no_total_applies_to_each() {
        let total = Overrides {
            rate_per_second: Some(10.0),
            duration: Some(std::time::Duration::from_secs(5)),
            iterations: Some(IterationCount::PerUser { per_user: 1 }),
            ..Overrides::default()
        };
        let split = split_load(&total, &[3.0, 1.0]).unwrap();
        let rates: Vec<_> = split.iter().map(|one| one.rate_per_second).collect();
        assert_eq!(rates, [Some(7.5), Some(2.5)]);
        assert!(split.iter().all(|one| one.duration == total.duration));
        assert!(split.iter().all(|one| one.iterations == total.iterations));
    }

    #[test]
    fn every_total_that_is_too_small_is_told() {
        let total = Overrides {
            users: Some(1),
            iterations: Some(IterationCount::Total(2)),
            ..Overrides::default()
        };
        let errors = split_load(&total, &[1.0, 1.0, 1.0]).unwrap_err();
        let flags: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(
            flags[0].starts_with("`--users 1` is the total of the mix"),
            "{flags:?}"
        );
        assert!(flags[1].contains("give at least 3"), "{flags:?}");
    }

    proptest! {
        #[test]
        fn shares_add_up_and_nobody_is_left_out(
            total in 1_u64..=u64::from(u32::MAX),
            weights in prop::collection::vec(0.000_001_f64..=1e6, 1..40),
        ) {
            let sum: f64 = weights.iter().sum();
            match split_whole(total, &weights) {
                None => prop_assert!(total < weights.len() as u64),
                Some(shares) => {
                    prop_assert_eq!(shares.iter().sum::<u64>(), total);
                    prop_assert!(shares.iter().all(|share| *share >= 1));
                    // Quota: no member that is due at least two is off by a whole one and what the least takes.
                    let least = weights.len() as f64;
                    for (share, weight) in shares.iter().zip(&weights) {
                        let due = total as f64 * (weight / sum);
                        prop_assert!((*share as f64) < due + 1.0 + 1e-3);
                        prop_assert!((*share as f64) > due - least - 1e-3);
                    }
                }
            }
        }

        #[test]
        fn a_greater_weight_never_gets_less(
            total in 40_u64..10_000,
            weights in prop::collection::vec(0.01_f64..=100.0, 2..20),
        ) {
            let shares = split_whole(total, &weights).unwrap();
            for i in 0..weights.len() {
                for j in 0..weights.len() {
                    if weights[i] > weights[j] {
                        prop_assert!(shares[i] >= shares[j], "{weights:?} {shares:?}");
                    }
                }
            }
        }

        #[test]
        fn rates_add_up(
            rate in 0.01_f64..=1e6,
            weights in prop::collection::vec(0.000_001_f64..=1e6, 1..40),
        ) {
            let total = Overrides { rate_per_second: Some(rate), ..Overrides::default() };
            let split = split_load(&total, &weights).unwrap();
            let sum: f64 = split.iter().filter_map(|one| one.rate_per_second).sum();
            prop_assert!((sum - rate).abs() <= rate * 1e-12);
        }
    }
}

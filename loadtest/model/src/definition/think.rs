//! Think times: the pauses of a virtual user after a step.

use super::micros;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;
use std::time::Duration;

/// The pause after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Think {
    /// A fixed time, or one drawn evenly between two.
    Uniform {
        /// The shortest pause.
        #[serde(rename = "min_us", with = "micros")]
        min: Duration,
        /// The longest pause.
        #[serde(rename = "max_us", with = "micros")]
        max: Duration,
    },
    /// A time drawn by another law.
    Random {
        /// The law.
        law: ThinkLaw,
        /// The mean of the pauses.
        #[serde(rename = "mean_us", with = "micros")]
        mean: Duration,
        /// The standard deviation of the pauses; that of [`ThinkLaw::Exponential`] is its mean.
        #[serde(rename = "deviation_us", with = "micros")]
        deviation: Duration,
    },
}

/// A law of think times with a mean and a standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkLaw {
    /// The normal distribution, cut at zero and at twice the mean, which leaves the mean as it is.
    Normal,
    /// The exponential distribution: the gaps of a Poisson process.
    Exponential,
    /// The lognormal distribution: never below zero, with a long tail.
    Lognormal,
}

impl ThinkLaw {
    /// The name in the source: `normal`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Exponential => "exponential",
            Self::Lognormal => "lognormal",
        }
    }
}

impl Think {
    /// Returns a pause, made of numbers that `random` draws evenly from 0 to below 1.
    ///
    /// Normal numbers come from the transform of Box and Muller ("A note on the generation of random normal
    /// deviates", 1958), exponential ones from the inverse of the distribution. A lognormal pause is `exp(mu + sigma z)`,
    /// z normal, with `sigma^2 = ln(1 + deviation^2 / mean^2)` and `mu = ln(mean) - sigma^2 / 2`.
    pub fn draw(&self, mut random: impl FnMut() -> f64) -> Duration {
        let (law, mean, deviation) = match *self {
            Self::Uniform { min, max } => {
                return min + max.saturating_sub(min).mul_f64(random());
            }
            Self::Random {
                law,
                mean,
                deviation,
            } => (law, mean.as_secs_f64(), deviation.as_secs_f64()),
        };
        // The logarithm is of a number above 0.
        let mut exponential = || -(1.0 - random()).ln();
        let seconds = match law {
            ThinkLaw::Exponential => mean * exponential(),
            ThinkLaw::Normal | ThinkLaw::Lognormal => {
                let radius = (2.0 * exponential()).sqrt();
                let normal = radius * (TAU * random()).cos();
                if law == ThinkLaw::Normal {
                    mean + deviation * normal
                } else {
                    let variance = (deviation / mean).powi(2).ln_1p();
                    (mean.ln() - variance / 2.0 + variance.sqrt() * normal).exp()
                }
            }
        };
        let longest = self.longest();
        Duration::try_from_secs_f64(seconds.max(0.0)).map_or(longest, |time| time.min(longest))
    }

    /// Returns the mean of the pauses.
    pub fn mean(&self) -> Duration {
        match *self {
            Self::Uniform { min, max } => min.saturating_add(max) / 2,
            Self::Random { mean, .. } => mean,
        }
    }

    /// Returns the longest pause: twice the mean of a normal law, and the mean and ten standard deviations of the
    /// others. Longer ones are cut, so that no user thinks for ever.
    pub fn longest(&self) -> Duration {
        match *self {
            Self::Uniform { max, .. } => max,
            Self::Random {
                law: ThinkLaw::Normal,
                mean,
                ..
            } => mean.saturating_mul(2),
            Self::Random {
                mean, deviation, ..
            } => mean.saturating_add(deviation.saturating_mul(10)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{GOLDEN, mix_bits, unit_interval};
    use proptest::prelude::*;

    fn random(law: ThinkLaw, mean_ms: u64, deviation_ms: u64) -> Think {
        Think::Random {
            law,
            mean: Duration::from_millis(mean_ms),
            deviation: Duration::from_millis(deviation_ms),
        }
    }

    /// The same numbers in every run, as those of a virtual user are.
    fn numbers(mut state: u64) -> impl FnMut() -> f64 {
        move || {
            state = state.wrapping_add(GOLDEN);
            unit_interval(mix_bits(state))
        }
    }

    /// Mean and standard deviation of many draws, in milliseconds.
    fn moments(think: Think) -> (f64, f64) {
        const DRAWS: u32 = 200_000;
        let mut random = numbers(7);
        let draws: Vec<f64> = (0..DRAWS)
            .map(|_| think.draw(&mut random).as_secs_f64() * 1e3)
            .collect();
        let mean = draws.iter().sum::<f64>() / f64::from(DRAWS);
        let squares: f64 = draws.iter().map(|draw| (draw - mean).powi(2)).sum();
        (mean, (squares / f64::from(DRAWS)).sqrt())
    }

    #[track_caller]
    fn assert_moments(think: Think, mean: f64, deviation: f64) {
        let (found, spread) = moments(think);
        assert!((found / mean - 1.0).abs() < 0.01, "{think:?}: mean {found}");
        assert!(
            (spread / deviation - 1.0).abs() < 0.01,
            "{think:?}: deviation {spread}"
        );
    }

    #[test]
    fn draws_have_the_mean_and_the_deviation_that_were_asked_for() {
        assert_moments(random(ThinkLaw::Normal, 2_000, 500), 2_000.0, 500.0);
        assert_moments(
            random(ThinkLaw::Exponential, 2_000, 2_000),
            2_000.0,
            2_000.0,
        );
        assert_moments(random(ThinkLaw::Lognormal, 2_000, 500), 2_000.0, 500.0);
        assert_moments(random(ThinkLaw::Lognormal, 2_000, 1_500), 2_000.0, 1_500.0);
        let uniform = Think::Uniform {
            min: Duration::from_secs(1),
            max: Duration::from_secs(3),
        };
        assert_moments(uniform, 2_000.0, 2_000.0 / 12_f64.sqrt());
    }

    #[test]
    fn a_normal_law_that_is_cut_keeps_its_mean() {
        let (mean, _) = moments(random(ThinkLaw::Normal, 1_000, 3_000));
        assert!((mean / 1_000.0 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn half_of_all_lognormal_and_exponential_pauses_are_below_their_median() {
        let below = |think: Think, median: f64| {
            let mut random = numbers(9);
            let times = (0..100_000).map(|_| think.draw(&mut random).as_secs_f64());
            times.filter(|time| *time < median).count()
        };
        // The median of a lognormal law is exp(mu): mean / sqrt(1 + (deviation / mean)^2).
        let lognormal = below(random(ThinkLaw::Lognormal, 2_000, 2_000), 2_f64.sqrt());
        let exponential = below(
            random(ThinkLaw::Exponential, 2_000, 2_000),
            2.0 * 2_f64.ln(),
        );
        for count in [lognormal, exponential] {
            assert!((49_500..50_500).contains(&count), "{count}");
        }
    }

    #[test]
    fn records_from_before_the_laws_still_read() {
        let old: Think = serde_json::from_str(r#"{"min_us":1000,"max_us":2000}"#).unwrap();
        let (min, max) = (Duration::from_millis(1), Duration::from_millis(2));
        assert_eq!(old, Think::Uniform { min, max });
        let think = random(ThinkLaw::Lognormal, 2_000, 500);
        let text = serde_json::to_string(&think).unwrap();
        assert_eq!(
            text,
            r#"{"law":"lognormal","mean_us":2000000,"deviation_us":500000}"#
        );
        assert_eq!(serde_json::from_str::<Think>(&text).unwrap(), think);
    }

    proptest! {
        #[test]
        fn no_pause_is_longer_than_the_longest(
            law in prop_oneof![Just(ThinkLaw::Normal), Just(ThinkLaw::Exponential), Just(ThinkLaw::Lognormal)],
            mean in 0_u64..10_000_000,
            deviation in 0_u64..10_000_000,
            numbers in prop::array::uniform2(prop_oneof![Just(0.0), Just(1.0 - f64::EPSILON), 0.0_f64..1.0]),
        ) {
            let think = random(law, mean, deviation);
            let mut numbers = numbers.into_iter();
            let drawn = think.draw(|| numbers.next().unwrap());
            prop_assert!(drawn <= think.longest(), "{drawn:?}");
        }
    }
}

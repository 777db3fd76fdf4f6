//! The choice of the journeys whose spans are kept: before their first request, and the same ones in every run with
//! the seed.

use super::Tracing;
use crate::random::{GOLDEN, mix_bits, unit_interval};
use crate::schedule::{Model, Schedule};
use std::cell::Cell;
use std::time::Duration;

/// Keeps these choices apart from other numbers of the seed.
const PURPOSE: u64 = 0x7472_6163_6573;

/// Decides about each iteration of a load.
///
/// Of a load with planned arrivals the journeys are chosen by their numbers alone: evenly over each second, and no more
/// than the bound. How many journeys a second of other loads will hold is not known: there the hash of an iteration
/// makes it a candidate, and its worker keeps the bound by a clock.
#[derive(Debug)]
pub struct Sampler {
    sample: f64,
    quota: Option<Quota>,
    seed: u64,
    is_open: bool,
    /// The stretch of time that was asked for last.
    stretch: Cell<Stretch>,
}

/// A number of journeys in each stretch of time of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// The most journeys.
    pub journeys: u64,
    /// The length of a stretch.
    pub every: Duration,
}

/// The arrivals of a stretch of time, and how many of them are sampled.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    /// Its start, and the start of the next one.
    from: Duration,
    until: Duration,
    first: u64,
    arrivals: u64,
    sampled: u64,
}

impl Quota {
    /// At most so many journeys per second, where less than one is one in a longer time.
    pub fn per_second(rate: f64) -> Self {
        let journeys = rate.floor().max(1.0);
        Self {
            journeys: journeys as u64,
            every: Duration::try_from_secs_f64(journeys / rate).unwrap_or(Duration::MAX),
        }
    }

    /// Returns the number of the stretch that holds a time from the start of the load.
    pub fn stretch(&self, time: Duration) -> u64 {
        let stretch = time.as_nanos() / self.every.as_nanos().max(1);
        u64::try_from(stretch).unwrap_or(u64::MAX)
    }
}

impl Sampler {
    /// The choices of a load; `seed` is that of run and scenario.
    pub fn new(tracing: &Tracing, schedule: &Schedule, seed: u64) -> Self {
        Self {
            sample: tracing.sample,
            quota: tracing.at_most_per_second.map(Quota::per_second),
            seed: mix_bits(seed ^ PURPOSE),
            is_open: matches!(schedule.model(), Model::Open),
            stretch: Cell::default(),
        }
    }

    /// Returns the bound that workers keep by a clock, where there is one.
    pub fn quota_by_clock(&self) -> Option<Quota> {
        self.quota.filter(|_| !self.is_open)
    }

    /// Returns true if an iteration is sampled, as far as its number decides; it is due at a time from the start of the
    /// load.
    #[inline]
    pub fn is_chosen(
        &self,
        schedule: &Schedule,
        iteration: u64,
        due: impl FnOnce() -> Duration,
    ) -> bool {
        if self.is_open {
            self.is_chosen_of_arrivals(schedule, iteration, due())
        } else {
            self.draw(iteration) < self.sample
        }
    }

    fn is_chosen_of_arrivals(&self, schedule: &Schedule, iteration: u64, due: Duration) -> bool {
        let stretch = self.stretch_at(schedule, due);
        if stretch.sampled == 0 || iteration < stretch.first {
            return false;
        }
        // The arrivals are cut into as many parts as there are journeys to sample, and one of each is drawn.
        let place = iteration - stretch.first;
        let part = |at: u64| {
            let at = u128::from(at) * u128::from(stretch.sampled);
            (at / u128::from(stretch.arrivals)) as u64
        };
        let begin = |part: u64| {
            let at = u128::from(part) * u128::from(stretch.arrivals);
            at.div_ceil(u128::from(stretch.sampled)) as u64
        };
        let (from, to) = (begin(part(place)), begin(part(place) + 1));
        let drawn = (self.draw(stretch.first + from) * (to - from) as f64) as u64;
        place == from + drawn.min(to - from - 1)
    }

    fn stretch_at(&self, schedule: &Schedule, due: Duration) -> Stretch {
        let known = self.stretch.get();
        if known.from <= due && due < known.until {
            return known;
        }
        let by_second = Quota {
            journeys: u64::MAX,
            every: Duration::from_secs(1),
        };
        let quota = self.quota.unwrap_or(by_second);
        let number = quota.stretch(due) + 1;
        let end = |number: u64| {
            let factor = u32::try_from(number).unwrap_or(u32::MAX);
            quota.every.saturating_mul(factor)
        };
        let (from, until) = (end(number - 1), end(number));
        let first = schedule.arrivals_until(from).unwrap_or(0);
        let arrivals = schedule.arrivals_until(until).unwrap_or(first) - first;
        // What is left of a journey is one by chance.
        let wanted = self.sample * arrivals as f64;
        let chance = self.draw(!number);
        let wanted = wanted.floor() as u64 + u64::from(wanted.fract() > chance);
        let stretch = Stretch {
            from,
            until,
            first,
            arrivals,
            sampled: wanted.min(quota.journeys).min(arrivals),
        };
        self.stretch.set(stretch);
        stretch
    }

    /// Returns a number from 0 to below 1.
    #[inline]
    fn draw(&self, place: u64) -> f64 {
        unit_interval(mix_bits(self.seed ^ mix_bits(place ^ GOLDEN)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Load, Rate};
    use crate::shard::Shard;

    fn tracing(sample: f64, at_most_per_second: Option<f64>) -> Tracing {
        Tracing {
            sample,
            at_most_per_second,
            link: None,
        }
    }

    /// The iterations that are sampled of a load of so many arrivals per second.
    fn sampled(per_second: f64, seconds: u64, tracing: &Tracing, seed: u64) -> Vec<u64> {
        let load = Load::rate(Rate::per_second(per_second), Duration::from_secs(seconds));
        let schedule = Schedule::new(&load);
        let sampler = Sampler::new(tracing, &schedule, seed);
        let all = 0..schedule.arrivals();
        all.filter(|i| sampler.is_chosen(&schedule, *i, || schedule.arrival(*i)))
            .collect()
    }

    fn by_second(iterations: &[u64], per_second: u64) -> Vec<usize> {
        let seconds = iterations.iter().map(|i| i / per_second).max().unwrap_or(0);
        (0..=seconds)
            .map(|second| {
                iterations
                    .iter()
                    .filter(|i| **i / per_second == second)
                    .count()
            })
            .collect()
    }

    #[test]
    fn one_percent_of_a_thousand_a_second_is_ten_in_every_second() {
        let one = sampled(1000.0, 30, &tracing(0.01, None), 7);
        assert_eq!(by_second(&one, 1000), [10; 30]);
        assert_eq!(one, sampled(1000.0, 30, &tracing(0.01, Some(10.0)), 7));
        assert_ne!(one, sampled(1000.0, 30, &tracing(0.01, None), 8));
        // Spread over the second, and not at the same places of each.
        let places = |second: usize| -> Vec<u64> {
            let all = one.iter().skip(second * 10).take(10);
            all.map(|i| i % 1000).collect()
        };
        assert_ne!(places(0), places(1));
        assert!(
            places(0)
                .windows(2)
                .all(|pair| pair[1] / 100 == pair[0] / 100 + 1)
        );
    }

    #[test]
    fn no_second_has_more_than_the_bound_and_every_second_has_some() {
        let all = sampled(1000.0, 10, &tracing(1.0, Some(10.0)), 3);
        assert_eq!(by_second(&all, 1000), [10; 10]);
        let all = sampled(100.0, 20, &tracing(1.0, Some(0.25)), 3);
        assert_eq!(by_second(&all, 400), [1; 5]);
        let all = sampled(50.0, 4, &tracing(1.0, None), 3);
        assert_eq!(all, (0..200).collect::<Vec<_>>());
        assert!(sampled(50.0, 4, &tracing(0.0, None), 3).is_empty());
    }

    #[test]
    fn a_share_of_few_journeys_is_met_over_time() {
        let few = sampled(3.0, 10_000, &tracing(0.01, None), 5).len();
        assert!((250..350).contains(&few), "{few} of 300");
    }

    #[test]
    fn a_rising_load_is_sampled_by_what_it_makes_in_each_second() {
        let load = Load {
            shape: crate::definition::Shape::Rate {
                per_second: 100.0,
                ramp_up: Duration::from_secs(9),
                duration: Duration::from_secs(10),
            },
            ..Load::rate(Rate::per_second(100.0), Duration::from_secs(10))
        };
        let schedule = Schedule::new(&load);
        let sampler = Sampler::new(&tracing(0.5, Some(20.0)), &schedule, 1);
        let mut counts = [0; 10];
        for i in 0..schedule.arrivals() {
            let due = schedule.arrival(i);
            if sampler.is_chosen(&schedule, i, || due) {
                counts[due.as_secs() as usize] += 1;
            }
        }
        assert!(counts[0] <= 3, "{counts:?}");
        assert!(
            counts.windows(2).all(|pair| pair[0] <= pair[1]),
            "{counts:?}"
        );
        assert_eq!(counts[5..], [20; 5]);
    }

    #[test]
    fn shards_that_ask_out_of_order_choose_the_same_together() {
        let load = Load::rate(Rate::per_second(200.0), Duration::from_secs(5));
        let schedule = Schedule::new(&load);
        let tracing = tracing(0.05, Some(7.0));
        let mut together = Vec::new();
        for number in 1..=3 {
            let shard = Shard::new(number, 3).unwrap();
            let sampler = Sampler::new(&tracing, &schedule, 9);
            let own = shard.count_of(schedule.arrivals());
            let own = (0..own).rev().map(|i| shard.to_global(i));
            together
                .extend(own.filter(|i| sampler.is_chosen(&schedule, *i, || schedule.arrival(*i))));
        }
        together.sort_unstable();
        assert_eq!(together, sampled(200.0, 5, &tracing, 9));
        assert_eq!(together.len(), 35);
    }

    #[test]
    fn users_are_sampled_by_the_hash_of_an_iteration_and_bounded_by_a_clock() {
        let schedule = Schedule::new(&Load::users(5, Duration::from_secs(5)));
        let sampler = Sampler::new(&tracing(0.1, Some(2.5)), &schedule, 9);
        let chosen = |i: &u64| sampler.is_chosen(&schedule, *i, || Duration::ZERO);
        let number = (0..10_000).filter(chosen).count();
        assert!((900..1100).contains(&number), "{number}");
        let quota = sampler.quota_by_clock().unwrap();
        assert_eq!(
            (quota.journeys, quota.every),
            (2, Duration::from_millis(800))
        );
        assert_eq!(quota.stretch(Duration::from_millis(1700)), 2);
    }
}

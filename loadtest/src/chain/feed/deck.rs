//! Picks the row for a turn: pure arithmetic without memory, so that every thread finds the same.

use super::error::FeedError;
use crate::chain::RowLimit;
use loadtest_model::random::mix_bits;

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Sequential,
    Shuffle,
    Random,
    Unique,
}

/// The behaviour after the last row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Cycle,
    Stop,
}

impl Order {
    fn call(self) -> &'static str {
        match self {
            Self::Sequential => ".sequential()",
            Self::Shuffle => ".shuffle()",
            Self::Random => ".random()",
            Self::Unique => ".unique()",
        }
    }
}

impl End {
    fn call(self) -> &'static str {
        match self {
            Self::Cycle => ".cycle()",
            Self::Stop => ".stop()",
        }
    }
}

/// The order and the end that were asked for, where they go together.
pub(super) fn settle(
    orders: &[Order],
    ends: &[End],
    is_endless: bool,
) -> Result<(Order, Option<End>), FeedError> {
    let order = only(orders, Order::call)?;
    let end = only(ends, End::call)?;
    let no_place = |call, reason| Err(FeedError::NoPlace { call, reason });
    if is_endless {
        if let Some(order @ (Order::Shuffle | Order::Random)) = order {
            return no_place(
                order.call(),
                "`Feed::generate` creates each row from its number, so there are no rows to put in another \
                 order; let the function mix the number",
            );
        }
        if let Some(end) = end {
            return no_place(
                end.call(),
                "`Feed::generate` has no last row; the load of the scenario says how long it lasts",
            );
        }
    }
    match (order, end) {
        (Some(Order::Random), Some(End::Stop)) => no_place(
            ".stop()",
            "rows drawn with `.random()` never end; for every row once, write \
             `.shuffle().stop()`",
        ),
        (Some(Order::Unique), Some(End::Stop)) => no_place(
            ".stop()",
            "with `.unique()` each user keeps its row, so rows never end; for every row \
             once, leave `.unique()` out",
        ),
        (order, end) => Ok((order.unwrap_or(Order::Sequential), end)),
    }
}

/// The one thing that was asked for, once or several times.
fn only<A: Copy + PartialEq>(
    asked: &[A],
    call: fn(A) -> &'static str,
) -> Result<Option<A>, FeedError> {
    let Some(first) = asked.first() else {
        return Ok(None);
    };
    match asked.iter().find(|other| *other != first) {
        None => Ok(Some(*first)),
        Some(other) => Err(FeedError::Contradiction {
            first: call(*first),
            second: call(*other),
        }),
    }
}

/// Gives each turn its row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deck {
    pub(super) order: Order,
    /// The number of rows; `None` if they are made on demand.
    pub(super) rows: Option<u64>,
    /// The key derived from seed, scenario and feed.
    pub(super) key: u64,
    /// The number of rows that an iteration takes.
    pub(super) taken: u64,
    /// The first row, and the distance between two: not 0 and 1 where others have the rows between.
    pub(super) first: u64,
    pub(super) step: u64,
}

impl Deck {
    /// The key of the feed `name`; `seed` is that of run and scenario.
    pub(super) fn key(seed: u64, name: &str) -> u64 {
        name.bytes()
            .fold(mix_bits(seed), |key, byte| mix_bits(key ^ u64::from(byte)))
    }

    /// The number of the `nth` row for the iteration at place `turn`, in the hands of `user`.
    ///
    /// The rows of an iteration are all different, since there are no fewer of them.
    pub(super) fn row(self, turn: u64, user: u64, nth: u64) -> u64 {
        let own = self.own_row(turn, user, nth);
        own.wrapping_mul(self.step).wrapping_add(self.first)
    }

    /// After how many iterations the rows of the feed `name` come again.
    pub(super) fn limit(self, name: &'static str) -> Option<RowLimit> {
        let rows = self.rows? / self.taken;
        let feed = name.into();
        Some(RowLimit { feed, rows })
    }

    /// The same among the rows that are its own.
    fn own_row(self, turn: u64, user: u64, nth: u64) -> u64 {
        let Self { key, taken, .. } = self;
        let place = match self.order {
            Order::Unique => user,
            _ => turn,
        };
        let in_order = place.wrapping_mul(taken).wrapping_add(nth);
        let Some(rows) = self.rows else {
            return in_order;
        };
        match self.order {
            Order::Sequential | Order::Unique => in_order % rows,
            Order::Shuffle => {
                // what is left over at the end of a pass would go with rows of the next one
                let whole = rows / taken;
                let at = place % whole * taken + nth;
                permuted(at, rows, mix_bits(key ^ mix_bits(place / whole)))
            }
            Order::Random if taken > 1 => permuted(nth, rows, mix_bits(key ^ mix_bits(place))),
            Order::Random => scaled(mix_bits(key ^ mix_bits(place)), rows),
        }
    }
}

/// `bits` as a number below `rows` (Lemire: "Fast Random Integer Generation in an Interval", 2019;
/// what it leaves uneven is below `rows / 2^64`).
fn scaled(bits: u64, rows: u64) -> u64 {
    ((u128::from(bits) * u128::from(rows)) >> 64) as u64
}

/// Rounds of the network; four are enough to look random (Luby, Rackoff 1988), a few more help where
/// the halves have only a few bits.
const ROUNDS: u64 = 7;
/// The fewest bits of a half: with fewer there would be too few orders of a handful of rows.
const FEWEST_BITS: u32 = 3;

/// Where `place` goes in the permutation of `0..rows` that belongs to `key`: a Feistel network over
/// the next larger power of four, walked until it comes back below `rows` (Black, Rogaway: "Ciphers
/// with Arbitrary Finite Domains", 2002). That takes fewer than four rounds on average, but for a
/// handful of rows.
fn permuted(place: u64, rows: u64, key: u64) -> u64 {
    let bits = (u64::BITS - (rows - 1).leading_zeros())
        .div_ceil(2)
        .max(FEWEST_BITS);
    let mask = (1_u64 << bits) - 1;
    let mut place = place;
    loop {
        let (mut left, mut right) = (place >> bits, place & mask);
        for round in 0..ROUNDS {
            let scrambled = mix_bits(mix_bits(key ^ round) ^ right) & mask;
            (left, right) = (right, left ^ scrambled);
        }
        place = left << bits | right;
        if place < rows {
            return place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn pass(rows: u64, key: u64, pass: u64) -> Vec<u64> {
        let deck = Deck {
            order: Order::Shuffle,
            rows: Some(rows),
            key,
            taken: 1,
            first: 0,
            step: 1,
        };
        (0..rows)
            .map(|at| deck.row(pass * rows + at, 0, 0))
            .collect()
    }

    proptest! {
        #[test]
        fn every_pass_of_a_shuffle_has_every_row_once(
            rows in 1..3_000_u64,
            key in any::<u64>(),
            number in 0..1_000_u64,
        ) {
            let mut pass = pass(rows, key, number);
            pass.sort_unstable();
            prop_assert!(pass.into_iter().eq(0..rows));
        }

        #[test]
        fn the_passes_of_a_shuffle_differ(rows in 30..500_u64, key in any::<u64>()) {
            prop_assert_ne!(pass(rows, key, 0), pass(rows, key, 1));
            prop_assert_ne!(pass(rows, key, 0), pass(rows, key ^ 1, 0));
            prop_assert_ne!(pass(rows, key, 1), (0..rows).collect::<Vec<_>>());
        }

        #[test]
        fn a_row_follows_from_its_place_alone_and_is_one_of_them(
            rows in 1..u64::MAX,
            turn in any::<u64>(),
            users in any::<[u64; 2]>(),
            key in any::<u64>(),
        ) {
            for order in [Order::Sequential, Order::Random, Order::Shuffle] {
                let deck = Deck { order, rows: Some(rows), key, taken: 1, first: 0, step: 1 };
                let row = deck.row(turn, users[0], 0);
                prop_assert!(row < rows);
                prop_assert_eq!(row, deck.row(turn, users[1], 0));
            }
            let deck = Deck { order: Order::Unique, rows: Some(rows), key, taken: 1, first: 0, step: 1 };
            prop_assert_eq!(deck.row(turn, users[0], 0), users[0] % rows);
        }

        #[test]
        fn the_rows_of_an_iteration_are_different_and_those_of_a_pass_come_once(
            taken in 2..9_u64,
            more in 0..40_u64,
            place in 0..1_000_u64,
            key in any::<u64>(),
        ) {
            let rows = taken + more;
            for order in [Order::Sequential, Order::Shuffle, Order::Random, Order::Unique] {
                let deck = Deck { order, rows: Some(rows), key, taken, first: 0, step: 1 };
                let of = |place| (0..taken).map(move |nth| deck.row(place, place, nth));
                let different: BTreeSet<u64> = of(place).collect();
                prop_assert_eq!(different.len() as u64, taken);
                prop_assert!(different.iter().all(|row| *row < rows));
                if order != Order::Random {
                    let whole = rows / taken;
                    let pass: BTreeSet<u64> = (0..whole).flat_map(of).collect();
                    prop_assert_eq!(pass.len() as u64, whole * taken);
                }
            }
        }
    }

    #[test]
    fn all_orders_of_three_rows_come_about_alike_often() {
        let mut counts = std::collections::BTreeMap::<_, u32>::new();
        for number in 0..6_000 {
            *counts.entry(pass(3, 7, number)).or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(
            counts.values().all(|n| (850..1_150).contains(n)),
            "{counts:?}"
        );
    }

    #[test]
    fn random_rows_come_again_and_are_drawn_evenly() {
        let deck = Deck {
            order: Order::Random,
            rows: Some(10),
            key: Deck::key(1, "user"),
            taken: 1,
            first: 0,
            step: 1,
        };
        let mut counts = [0_u32; 10];
        for turn in 0..10_000 {
            counts[deck.row(turn, 0, 0) as usize] += 1;
        }
        assert!(
            counts.iter().all(|n| (850..1_150).contains(n)),
            "{counts:?}"
        );
    }

    #[test]
    fn two_feeds_of_a_scenario_are_shuffled_apart() {
        let of = |name| pass(50, Deck::key(9, name), 0);
        assert_ne!(of("user"), of("item"));
        assert_eq!(of("user"), of("user"));
    }
}

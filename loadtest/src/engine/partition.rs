//! The part of a load that one worker makes.

use loadtest_model::shard::Shard;

/// Of the shard of this process, every `workers`-th arrival or user; of fixed work, a consecutive part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Partition {
    shard: Shard,
    worker: u64,
    workers: u64,
}

impl Partition {
    /// The part of worker number `worker`, from 0.
    pub(super) fn new(shard: Shard, worker: u32, workers: u32) -> Self {
        Self {
            shard,
            worker: worker.into(),
            workers: workers.into(),
        }
    }

    /// Returns the number in the whole load of what has the number `local` here.
    pub(super) fn to_global(self, local: u64) -> u64 {
        self.shard.to_global(local * self.workers + self.worker)
    }

    /// Returns how many of the first `all` of the whole load are here.
    pub(super) fn count_of(self, all: u64) -> u64 {
        (self.shard.count_of(all) + self.workers - 1 - self.worker) / self.workers
    }

    /// Returns the numbers of those of the first `all` of the whole load that are here; of what every worker needs, of one
    /// at least.
    pub(super) fn numbers_of(self, all: u64) -> Vec<u64> {
        let here = self.count_of(all).max(1);
        (0..here).map(|local| self.to_global(local)).collect()
    }

    /// Returns the consecutive part of `all` that is here: from the first to before the second.
    pub(super) fn range_of(self, all: u64) -> (u64, u64) {
        let (from, to) = self.shard.range_of(all);
        let part = |worker: u64| from + (to - from) * worker / self.workers;
        (part(self.worker), part(self.worker + 1))
    }

    /// Returns the number of workers of all processes, if all have as many as this one.
    pub(super) fn all_workers(self) -> u32 {
        u32::try_from(self.workers)
            .unwrap_or(u32::MAX)
            .saturating_mul(self.shard.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_parts_of_all_workers_are_the_whole_and_do_not_overlap(
            all in 0_u64..2_000,
            processes in prop::collection::vec((1_u32..6, 1_u32..9), 1..8),
        ) {
            let weights: Vec<u32> = processes.iter().map(|(weight, _)| *weight).collect();
            let shards = Shard::by_weight(&weights).unwrap();
            let mut numbers = Vec::new();
            let mut ranges = Vec::new();
            for (shard, (_, workers)) in shards.into_iter().zip(processes) {
                for worker in 0..workers {
                    let partition = Partition::new(shard, worker, workers);
                    let count = partition.count_of(all);
                    numbers.extend((0..count).map(|local| partition.to_global(local)));
                    ranges.push(partition.range_of(all));
                }
            }
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..all).collect::<Vec<_>>());
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0));
            prop_assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, all));
        }
    }
}

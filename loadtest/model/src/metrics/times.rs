//! Times that failures do not make look better: at each quantile the larger of that of what succeeded and that of all that
//! ended. Failures that are fast would hide how slow the rest is, and failures that are slow would be hidden by the rest.

use super::tally::{GroupTally, InnerTally, JourneyTally, StepTally};
use super::{CompactHistogram, CompactSum, Histogram, Tally};
use std::borrow::Cow;
use std::time::Duration;

/// The times of what succeeded, and of all that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Times<'a> {
    good: Cow<'a, Histogram>,
    /// The same and those of what failed, if something did.
    all: Option<Histogram>,
}

impl<'a> Times<'a> {
    /// The times of what succeeded, where what `failed` took so long.
    pub fn new(good: &'a Histogram, failed: &[&Histogram]) -> Self {
        let mut failed = failed.iter().filter(|times| !times.is_empty()).peekable();
        let all = failed.peek().is_some().then(|| {
            let mut all = good.clone();
            failed.for_each(|times| all.merge(times));
            all
        });
        Self {
            good: Cow::Borrowed(good),
            all,
        }
    }

    /// Adds those of something else.
    pub fn merge(&mut self, other: &Self) {
        if self.all.is_some() || other.all.is_some() {
            let all = self.all.get_or_insert_with(|| self.good.as_ref().clone());
            all.merge(other.all.as_ref().unwrap_or(&other.good));
        }
        self.good.to_mut().merge(&other.good);
    }

    /// Those of what succeeded, and of what ended at its deadline.
    pub fn good(&self) -> &Histogram {
        &self.good
    }

    /// The number of times.
    pub fn count(&self) -> u64 {
        self.all.as_ref().unwrap_or(&self.good).count()
    }

    /// The same as [`Histogram::quantile`].
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        self.larger(|times| times.quantile(quantile))
    }

    /// The longest time.
    pub fn max(&self) -> Option<Duration> {
        self.larger(Histogram::max)
    }

    /// The mean.
    pub fn mean(&self) -> Option<Duration> {
        self.larger(Histogram::mean)
    }

    fn larger(&self, of: impl Fn(&Histogram) -> Option<Duration>) -> Option<Duration> {
        of(&self.good).max(self.all.as_ref().and_then(&of))
    }
}

/// The same of histograms to two digits.
#[derive(Debug)]
pub struct CompactTimes {
    good: CompactSum,
    all: Option<CompactSum>,
}

impl CompactTimes {
    /// Sums the times of what succeeded and of what failed.
    pub fn of<'a>(
        times: impl Iterator<Item = (&'a CompactHistogram, &'a CompactHistogram)> + Clone,
    ) -> Self {
        let good = times.clone().map(|(good, _)| good);
        let failed = times.map(|(_, failed)| failed);
        let has_failed = failed.clone().any(|failed| !failed.is_empty());
        Self {
            all: has_failed.then(|| CompactSum::of(good.clone().chain(failed))),
            good: CompactSum::of(good),
        }
    }

    /// The same as [`Histogram::quantile`], to two digits.
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        let all = self.all.as_ref().and_then(|all| all.quantile(quantile));
        self.good.quantile(quantile).max(all)
    }
}

impl JourneyTally {
    /// Journey times; an arrival that never began ended when the load did.
    pub fn times(&self) -> Times<'_> {
        Times::new(&self.time, &[&self.failed_time, &self.dropped_time])
    }
}

impl StepTally {
    /// Response times.
    pub fn times(&self) -> Times<'_> {
        Times::new(&self.response, &[&self.failed_response])
    }

    /// Service times.
    pub fn service_times(&self) -> Times<'_> {
        Times::new(&self.service, &[self.failed_service()])
    }

    /// The service time of all executions; of a step with `until` with the pauses between its requests, in which the target
    /// was not done yet.
    pub fn time_spent(&self) -> Duration {
        let service = self.service.sum() + self.failed_service().sum();
        let done = self
            .done
            .as_ref()
            .map(|done| done.ok.sum() + done.failed.sum());
        done.map_or(service, |done| done.max(service))
    }

    /// The times until the answer came that `until` waits for.
    pub fn done_times(&self) -> Option<Times<'_>> {
        let done = self.done.as_ref()?;
        Some(Times::new(&done.ok, &[&done.failed]))
    }

    /// The service times of what failed; records that lack them have its response times.
    fn failed_service(&self) -> &Histogram {
        if self.failed_service.is_empty() {
            &self.failed_response
        } else {
            &self.failed_service
        }
    }
}

impl GroupTally {
    /// The response times of its steps, summed.
    pub fn times(&self) -> Times<'_> {
        Times::new(&self.response, &[&self.failed_response])
    }
}

impl InnerTally {
    /// Service times.
    pub fn times(&self) -> Times<'_> {
        Times::new(&self.service, &[&self.failed_service])
    }
}

impl Tally {
    /// The times in large type: those of journeys, or of a scenario of one step its response times. An arrival that never
    /// began is one too.
    pub fn times(&self) -> Times<'_> {
        match &self.steps[..] {
            [step] => Times::new(
                &step.response,
                &[&step.failed_response, &self.journey.dropped_time],
            ),
            _ => self.journey.times(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn of(times: &[(u32, u64)]) -> Histogram {
        let mut histogram = Histogram::default();
        for (ms, count) in times {
            histogram.record_n(MS * *ms, *count);
        }
        histogram
    }

    /// p50, p99 and the maximum, in milliseconds.
    fn figures(good: &[(u32, u64)], failed: &[(u32, u64)]) -> [u128; 3] {
        let (good, failed) = (of(good), of(failed));
        let times = Times::new(&good, &[&failed]);
        let compact = [&good, &failed].map(CompactHistogram::from_histogram);
        let compact = CompactTimes::of([(&compact[0], &compact[1])].into_iter());
        let found = [times.quantile(0.5), times.quantile(0.99), times.max()];
        for (quantile, fine) in [(0.5, found[0]), (0.99, found[1])] {
            let (fine, coarse) = (fine.unwrap(), compact.quantile(quantile).unwrap());
            assert!(coarse.abs_diff(fine) <= fine / 64, "{coarse:?}, {fine:?}");
        }
        found.map(|time| time.unwrap().as_millis())
    }

    #[test]
    fn failures_make_no_figure_better_and_slow_ones_make_it_worse() {
        assert_eq!(figures(&[(2, 99), (4, 1)], &[]), [2, 2, 4]);
        // 4 % of answers are failures after 2 s.
        assert_eq!(figures(&[(2, 96)], &[(2_000, 4)]), [2, 2_000, 2_000]);
        // Half of them fail at once, which says nothing of the other half.
        assert_eq!(
            figures(&[(100, 98), (300, 2)], &[(1, 100)]),
            [100, 300, 300]
        );
        // The quantiles of a sum are of all in it.
        let (good, failed, other) = (of(&[(2, 96)]), of(&[(2_000, 4)]), of(&[(5, 100)]));
        let mut sum = Times::new(&other, &[]);
        sum.merge(&Times::new(&good, &[&failed]));
        assert_eq!((sum.count(), sum.good().count()), (200, 196));
        let found = [0.99, 0.75].map(|quantile| sum.quantile(quantile).unwrap().as_millis());
        assert_eq!(found, [2_000, 5]);
    }
}

//! Values of the metrics of thresholds: the same during a run and after it.
//!
//! In a scenario of one step the times of the journey are those of the step's responses, so that a
//! threshold is on the figure that is shown.

use super::{EndedStep, GroupTally, Histogram, InnerTally, StepTally, Tally, Times};
use crate::definition::{Metric, Part, Statistic, Subject};
use crate::plan::ScopedThreshold;
use crate::shard::Shard;

/// The measured value of a metric.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Aggregate {
    /// The value in microseconds, as a share of one, per second, in bytes per second, or as a number; `None`
    /// without samples.
    pub value: Option<f64>,
    /// The number of samples behind it: times, executions, requests or iterations.
    pub samples: u64,
}

impl Aggregate {
    /// Computes the metric of a threshold from `tally`. Rates are divided by `seconds`; rates and sums of a shard are
    /// those of the whole load, if all of it goes as this part does.
    pub fn from_threshold(
        scoped: &ScopedThreshold,
        tally: &Tally,
        seconds: Option<f64>,
        shard: Shard,
    ) -> Self {
        let measured = Self::of_part(scoped, tally, seconds);
        if shard.is_whole() || !scoped.threshold.metric.is_additive() {
            return measured;
        }
        Self {
            value: measured.value.map(|value| value / shard.share()),
            ..measured
        }
    }

    /// The metric of what was measured.
    fn of_part(scoped: &ScopedThreshold, tally: &Tally, seconds: Option<f64>) -> Self {
        let ScopedThreshold {
            step,
            group,
            tagged,
            threshold,
            ..
        } = scoped;
        let metric = &threshold.metric;
        if let Some(group) = group {
            let group = tally.groups.get(*group);
            return group.map_or_else(Self::default, |group| Self::of_group(metric, group));
        }
        match (&threshold.subject, metric, step) {
            (_, Metric::Count(name), _) => Self::counted(name, tally),
            (_, Metric::Rate(name), _) => {
                let counted = Self::counted(name, tally);
                let value = counted.value.zip(seconds);
                Self {
                    value: value.map(|(count, seconds)| count / seconds),
                    ..counted
                }
            }
            (_, Metric::Timing(name, statistic), _) => match tally.own.timings.get(&**name) {
                Some(times) => Self::plain_time(*statistic, times),
                None => Self::default(),
            },
            (_, Metric::Gauge(name, figure), _) => match tally.own.gauges.get(&**name) {
                Some(gauge) => Self {
                    value: gauge.figure(*figure),
                    samples: gauge.count,
                },
                None => Self::default(),
            },
            (Subject::Row(name), metric, Some(step)) => {
                let rows = tally.steps.get(*step).map_or(&[][..], |step| &step.inner);
                let row = rows.iter().find(|row| row.name == **name);
                let ended = || tally.ended().row_requests(*step, name);
                row.map_or_else(Self::default, |row| {
                    Self::of_row(metric, row, (seconds, ended))
                })
            }
            (Subject::Tag(_), metric, _) => Self::of_steps(metric, tally, tagged, seconds),
            (_, metric, None) => Self::of_journey(metric, tally, seconds),
            (_, metric, Some(step)) => Self::of_steps(metric, tally, &[*step], seconds),
        }
    }

    fn of_group(metric: &Metric, group: &GroupTally) -> Self {
        match metric {
            Metric::Time(Part::Whole, statistic) => Self::time(*statistic, &group.times()),
            Metric::Errors => {
                Self::share(group.failed, group.executed.saturating_sub(group.failed))
            }
            _ => Self::default(),
        }
    }

    fn of_journey(metric: &Metric, tally: &Tally, seconds: Option<f64>) -> Self {
        let journey = &tally.journey;
        let due = journey.ok + journey.failed;
        match metric {
            Metric::Time(part, statistic) => match (part, find_only_step(tally)) {
                (Part::Whole, _) => Self::time(*statistic, &tally.times()),
                (Part::Failed, Some(step)) => Self::plain_time(*statistic, &step.failed_response),
                (Part::Failed, None) => Self::plain_time(*statistic, &journey.failed_time),
                (Part::Lateness, _) => Self::plain_time(*statistic, &journey.lateness),
                _ => Self::default(),
            },
            Metric::Errors => Self::share(journey.failed + journey.dropped, journey.ok),
            Metric::Dropped => Self::share(journey.dropped, journey.started),
            Metric::Rps if find_only_step(tally).is_none() => Self {
                value: seconds
                    .filter(|_| due + journey.dropped > 0)
                    .map(|seconds| tally.ended().journeys as f64 / seconds),
                samples: due,
            },
            metric => {
                let all: Vec<usize> = (0..tally.steps.len()).collect();
                Self::of_steps(metric, tally, &all, seconds)
            }
        }
    }

    /// The metric of all executions of the steps with these `numbers`.
    fn of_steps(metric: &Metric, tally: &Tally, numbers: &[usize], seconds: Option<f64>) -> Self {
        let found = numbers.iter().filter_map(|step| tally.steps.get(*step));
        let steps: Vec<&StepTally> = found.collect();
        let sum = |of: fn(&StepTally) -> u64| steps.iter().map(|step| of(step)).sum::<u64>();
        // Of what sent nothing there is no rate of requests.
        let rate = |of: fn(&EndedStep) -> u64| {
            let seconds = seconds.filter(|_| sum(sent) > 0)?;
            Some(tally.ended().sum(numbers, of) as f64 / seconds)
        };
        match metric {
            Metric::Time(part, statistic) => {
                let times = steps.iter().filter_map(|step| times_of(step, *part));
                let sum = times.reduce(|mut sum, times| {
                    sum.merge(&times);
                    sum
                });
                sum.map_or_else(Self::default, |times| Self::time(*statistic, &times))
            }
            Metric::Errors => {
                let failed = sum(|step| step.failed);
                Self::share(failed, sum(|step| step.executed).saturating_sub(failed))
            }
            Metric::Checks => {
                let failed = sum(|step| step.checks_failed);
                Self::share(sum(|step| step.checks_passed), failed)
            }
            Metric::Skips => {
                let executed = sum(|step| step.executed);
                Self::share(sum(|step| step.skipped), executed)
            }
            Metric::Retries => {
                let retries = sum(|step| step.retries);
                Self::share(retries, sum(|step| step.requests).saturating_sub(retries))
            }
            Metric::Rps => Self {
                value: rate(|step| step.sent),
                samples: sum(sent),
            },
            Metric::Throughput => Self {
                value: rate(|step| step.received_bytes),
                samples: sum(sent),
            },
            Metric::Good => {
                let good = sum(|step| step.good);
                Self::share(good, sum(|step| step.executed).saturating_sub(good))
            }
            Metric::GoodRate => Self {
                value: rate(|step| step.good),
                samples: sum(|step| step.executed),
            },
            Metric::Units => {
                let streams = || steps.iter().filter_map(|step| step.stream.as_ref());
                let samples = streams().map(|stream| stream.events.max(stream.first_event.count()));
                let samples = samples.sum();
                Self {
                    value: seconds.filter(|_| samples > 0).map(|seconds| {
                        tally.ended().sum(numbers, |step| step.units) as f64 / seconds
                    }),
                    samples,
                }
            }
            Metric::Dropped
            | Metric::Count(_)
            | Metric::Rate(_)
            | Metric::Timing(..)
            | Metric::Gauge(..) => Self::default(),
        }
    }

    /// The metric of the requests of one name within an `async` step.
    ///
    /// Rates are of the requests that `ended` in so many seconds.
    fn of_row(
        metric: &Metric,
        row: &InnerTally,
        (seconds, ended): (Option<f64>, impl FnOnce() -> u64),
    ) -> Self {
        match metric {
            Metric::Time(Part::Whole, statistic) => Self::time(*statistic, &row.times()),
            Metric::Errors => Self::share(row.failed, row.requests.saturating_sub(row.failed)),
            Metric::Rps => Self {
                value: seconds
                    .filter(|_| row.requests > 0)
                    .map(|seconds| ended() as f64 / seconds),
                samples: row.requests,
            },
            _ => Self::default(),
        }
    }

    /// The sum of a counter. One that was never counted has none: either nothing happened, or
    /// the name is another one. A scenario that may count nothing says so by counting 0.
    fn counted(name: &str, tally: &Tally) -> Self {
        match tally.own.counters.get(name) {
            Some(sum) => Self {
                value: Some(*sum as f64),
                samples: tally.journey.ok + tally.journey.failed,
            },
            None => Self::default(),
        }
    }

    fn share(part: u64, rest: u64) -> Self {
        let samples = part + rest;
        Self {
            value: (samples > 0).then(|| part as f64 / samples as f64),
            samples,
        }
    }

    fn plain_time(statistic: Statistic, times: &Histogram) -> Self {
        Self::time(statistic, &Times::new(times, &[]))
    }

    fn time(statistic: Statistic, times: &Times<'_>) -> Self {
        let time = match statistic {
            Statistic::Max => times.max(),
            Statistic::Mean => times.mean(),
            _ => statistic.quantile().and_then(|at| times.quantile(at)),
        };
        Self {
            value: time.map(|time| time.as_nanos() as f64 / 1e3),
            samples: times.count(),
        }
    }
}

/// The times of a part of a step's executions; nothing has the lateness of a step.
fn times_of(step: &StepTally, part: Part) -> Option<Times<'_>> {
    let times = match part {
        Part::Whole => return Some(step.times()),
        Part::Service => return Some(step.service_times()),
        Part::Done => return step.done_times(),
        Part::Connect => Some(&step.phases.connect),
        Part::Tls => Some(&step.phases.tls),
        Part::FirstByte => Some(&step.phases.first_byte),
        Part::Body => Some(&step.phases.body),
        Part::FirstEvent => Some(&step.stream.as_ref()?.first_event),
        Part::Gap => Some(&step.stream.as_ref()?.gap),
        Part::PerUnit => Some(&step.stream.as_ref()?.per_unit),
        Part::Failed => Some(&step.failed_response),
        Part::Lateness => None,
    };
    times.map(|times| Times::new(times, &[]))
}

/// The step of a scenario that has only one.
fn find_only_step(tally: &Tally) -> Option<&StepTally> {
    match &tally.steps[..] {
        [step] => Some(step),
        _ => None,
    }
}

/// Executions of a step that sent something: those with a time, as far as there were requests. One that
/// had an invalid value, or whose code panicked, has no time; one that got no connection, no request.
pub fn sent(step: &StepTally) -> u64 {
    (step.response.count() + step.failed_response.count()).min(step.requests)
}

/// Failed and dropped of all finished and dropped: a dropped iteration is a failed journey.
pub fn journey_error_rate(tally: &Tally) -> Option<f64> {
    Aggregate::of_journey(&Metric::Errors, tally, None).value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Bound, Comparator, Threshold};
    use crate::metrics::EndedTally;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);
    const SECONDS: Option<f64> = Some(10.0);

    /// 1, 2, .. 100 times a length.
    fn hundred(unit: Duration) -> Histogram {
        let mut times = Histogram::default();
        for number in 1..=100 {
            times.record(unit * number);
        }
        times
    }

    /// Two steps, in which every time is known.
    fn tally() -> Tally {
        let mut tally = Tally::new(2);
        let journey = &mut tally.journey;
        (journey.started, journey.ok, journey.failed) = (190, 150, 30);
        (journey.cancelled, journey.dropped) = (10, 20);
        journey.time = hundred(10 * MS);
        journey.failed_time = hundred(20 * MS);
        journey.lateness = hundred(MS / 100);
        let step = &mut tally.steps[0];
        (step.executed, step.ok, step.failed, step.skipped) = (160, 120, 40, 40);
        (step.requests, step.retries, step.received_bytes) = (200, 20, 5_000);
        (step.checks_passed, step.checks_failed) = (90, 10);
        step.response = hundred(3 * MS);
        step.service = hundred(2 * MS);
        step.failed_response = hundred(30 * MS);
        step.phases.connect = hundred(MS / 10);
        step.phases.tls = hundred(MS / 5);
        step.phases.first_byte = hundred(MS);
        step.phases.body = hundred(MS / 2);
        let other = &mut tally.steps[1];
        (other.executed, other.ok, other.requests) = (40, 40, 50);
        other.received_bytes = 1_000;
        other.response.record_n(MS, 40);
        tally.own.count("sold_out", 30);
        tally.own.gauge("queue", 7.5, MS);
        tally.own.gauge("queue", 2.5, 2 * MS);
        tally
            .own
            .timings
            .insert("queued".to_owned(), hundred(4 * MS));
        tally
    }

    fn of(text: &str, step: Option<usize>, tally: &Tally) -> Aggregate {
        of_subject(Subject::Whole, text, step, tally)
    }

    /// With a tag, of both steps.
    fn of_subject(subject: Subject, text: &str, step: Option<usize>, tally: &Tally) -> Aggregate {
        let (metric, comparison) = text.rsplit_once(' ').unwrap_or((text, "<"));
        let comparison = match comparison {
            ">" => Comparator::Greater,
            _ => Comparator::Less,
        };
        let metric: Metric = metric.parse().unwrap();
        let threshold = Threshold {
            subject,
            ..Threshold::new(metric, comparison, Bound::Ratio(0.0))
        };
        let scoped = ScopedThreshold {
            step,
            group: None,
            tagged: vec![0, 1],
            threshold,
            implied: false,
        };
        Aggregate::from_threshold(&scoped, tally, SECONDS, Shard::WHOLE)
    }

    /// Buckets of a histogram are at most a hundredth wide.
    fn is_about(actual: Option<f64>, wanted: f64) -> bool {
        actual.is_some_and(|actual| (actual - wanted).abs() <= wanted * 0.01)
    }

    #[test]
    fn every_metric_of_a_step_is_of_its_own_figures() {
        let tally = tally();
        for (text, wanted, samples) in [
            // Of 3, 6, .. 300 ms of what was ok, and 30, 60, .. 3,000 ms of what failed.
            ("p50", 273_000.0, 200),
            ("p90", 2_400_000.0, 200),
            ("p95", 2_700_000.0, 200),
            ("p99", 2_940_000.0, 200),
            ("p99_9", 3_000_000.0, 200),
            ("max", 3_000_000.0, 200),
            ("mean", 833_250.0, 200),
            ("service.p95", 2_700_000.0, 200),
            ("connect.p95", 9_500.0, 100),
            ("tls.p50", 10_000.0, 100),
            ("first_byte.max", 100_000.0, 100),
            ("body.mean", 25_250.0, 100),
            ("failed.p99", 2_970_000.0, 100),
            ("errors", 40.0 / 160.0, 160),
            ("checks", 0.9, 100),
            ("skips", 40.0 / 200.0, 200),
            ("retries", 0.1, 200),
            ("rps", 20.0, 200),
            ("throughput", 500.0, 200),
        ] {
            let aggregate = of(text, Some(0), &tally);
            assert!(is_about(aggregate.value, wanted), "{text}: {aggregate:?}");
            assert_eq!(aggregate.samples, samples, "{text}");
        }
    }

    #[test]
    fn every_metric_of_the_journey_is_of_the_whole() {
        let tally = tally();
        for (text, wanted, samples) in [
            // Of 10, 20, .. 1,000 ms and 20, 40, .. 2,000 ms.
            ("p95", 1_800_000.0, 200),
            ("failed.p95", 1_900_000.0, 100),
            ("lateness.p99", 990.0, 100),
            ("errors", 50.0 / 200.0, 200),
            ("checks", 0.9, 100),
            ("skips", 40.0 / 240.0, 240),
            ("dropped", 20.0 / 210.0, 210),
            ("retries", 20.0 / 250.0, 250),
            ("rps", 18.0, 180),
            ("throughput", 600.0, 240),
            ("count(sold_out)", 30.0, 180),
            ("rate(sold_out)", 3.0, 180),
            ("time(queued).p95", 380_000.0, 100),
            ("gauge(queue).last", 2.5, 2),
            ("gauge(queue).min", 2.5, 2),
            ("gauge(queue).max", 7.5, 2),
            ("gauge(queue).mean", 5.0, 2),
        ] {
            let aggregate = of(text, None, &tally);
            assert!(is_about(aggregate.value, wanted), "{text}: {aggregate:?}");
            assert_eq!(aggregate.samples, samples, "{text}");
        }
    }

    #[test]
    fn metrics_of_a_tag_are_of_all_executions_of_its_steps() {
        let tally = tally();
        for (text, wanted, samples) in [
            // 40 of 240 times are 1 ms, so that the median is the 80th of the others.
            ("p50", 219_000.0, 240),
            ("max", 3_000_000.0, 240),
            ("mean", (100.0 * 1_666_500.0 + 40.0 * 1_000.0) / 240.0, 240),
            ("failed.p99", 2_970_000.0, 100),
            ("first_byte.max", 100_000.0, 100),
            ("errors", 40.0 / 200.0, 200),
            ("checks", 0.9, 100),
            ("skips", 40.0 / 240.0, 240),
            ("retries", 20.0 / 250.0, 250),
            ("rps", 24.0, 240),
            ("throughput", 600.0, 240),
        ] {
            let aggregate = of_subject(Subject::Tag("api".into()), text, None, &tally);
            assert!(is_about(aggregate.value, wanted), "{text}: {aggregate:?}");
            assert_eq!(aggregate.samples, samples, "{text}");
        }
    }

    #[test]
    fn rates_are_of_what_ended_within_the_measured_part() {
        let mut tally = tally();
        tally.steps[0].inner("order status").requests = 120;
        let mut ended = EndedTally {
            journeys: 100,
            ..EndedTally::default()
        };
        let step = ended.step(0);
        (step.sent, step.received_bytes, step.good) = (110, 3_000, 60);
        step.row("order status").requests = 70;
        ended.step(1).sent = 20;
        tally.ended = Some(Box::new(ended));
        for (text, step, wanted, samples) in [
            ("rps", None, 10.0, 180),
            ("throughput", None, 300.0, 240),
            ("rps", Some(0), 11.0, 200),
            ("good_rate", Some(0), 6.0, 160),
            ("throughput", Some(1), 0.0, 40),
        ] {
            let aggregate = of(text, step, &tally);
            assert_eq!(aggregate.value, Some(wanted), "{text}");
            assert_eq!(aggregate.samples, samples, "{text}");
        }
        let row = Subject::Row("order status".into());
        assert_eq!(of_subject(row, "rps", Some(0), &tally).value, Some(7.0));
        let tag = Subject::Tag("api".into());
        assert_eq!(of_subject(tag, "rps", None, &tally).value, Some(13.0));
        // What is not rated is of what was due.
        assert!(is_about(of("errors", None, &tally).value, 50.0 / 200.0));
    }

    #[test]
    fn metrics_of_a_row_are_of_the_requests_of_that_name() {
        let mut tally = tally();
        let row = tally.steps[0].inner("order status");
        (row.requests, row.failed, row.service) = (120, 30, hundred(MS));
        tally.steps[0].inner("GET /").requests = 7;
        let of = |name: &'static str, text, step| {
            of_subject(Subject::Row(name.into()), text, Some(step), &tally)
        };
        for (text, wanted, samples) in [
            ("p95", 95_000.0, 100),
            ("mean", 50_500.0, 100),
            ("errors", 0.25, 120),
            ("rps", 12.0, 120),
        ] {
            let aggregate = of("order status", text, 0);
            assert!(is_about(aggregate.value, wanted), "{text}: {aggregate:?}");
            assert_eq!(aggregate.samples, samples, "{text}");
        }
        for (name, step) in [("order statu", 0), ("order status", 1), ("GET /", 7)] {
            assert_eq!(of(name, "errors", step), Aggregate::default(), "{name}");
        }
    }

    #[test]
    fn of_nothing_there_is_no_value() {
        let nothing = Tally::new(2);
        let parts = [Part::Whole].into_iter().chain(Part::NAMED);
        let times = parts.flat_map(|part| Statistic::ALL.map(|one| Metric::Time(part, one)));
        let own = [
            "count(a)",
            "rate(a)",
            "count(a) >",
            "time(a).p95",
            "time(a).mean",
            "gauge(a).max",
        ];
        let texts = times.chain(Metric::WORDS).map(|metric| metric.to_string());
        for text in texts.chain(own.map(str::to_owned)) {
            for step in [None, Some(0), Some(7)] {
                assert_eq!(of(&text, step, &nothing), Aggregate::default(), "{text}");
            }
        }
    }

    #[test]
    fn a_counter_that_never_came_has_no_value_and_one_that_counted_nothing_is_zero() {
        let mut tally = tally();
        for name in ["lost", "sold_uot"] {
            for text in ["count(x)", "rate(x)", "count(x) >", "rate(x) >"] {
                let text = text.replace('x', name);
                assert_eq!(of(&text, None, &tally), Aggregate::default(), "{text}");
            }
        }
        assert_eq!(of("time(lost).p95", None, &tally), Aggregate::default());
        tally.own.count("lost", 0);
        for text in ["count(lost)", "rate(lost)", "count(lost) >"] {
            let aggregate = of(text, None, &tally);
            assert_eq!(
                (aggregate.value, aggregate.samples),
                (Some(0.0), 180),
                "{text}"
            );
        }
        // Also where many intervals are added up.
        let mut whole = Tally::new(2);
        whole.merge(&tally);
        assert_eq!(of("count(lost)", None, &whole).value, Some(0.0));
    }

    #[test]
    fn the_times_of_a_single_step_are_those_of_its_journey() {
        let mut tally = tally();
        tally.steps.truncate(1);
        for (text, wanted) in [
            ("p95", 2_700_000.0),
            ("failed.p99", 2_970_000.0),
            ("rps", 20.0),
        ] {
            assert!(is_about(of(text, None, &tally).value, wanted), "{text}");
        }
    }
}

//! The figures of one scenario, as they come.

use super::figures::{Figures, ObservedFigure, ObservedLine, SeriesReading, StandsFor};
use super::file::ObservedFile;
use crate::config::is_loopback;
use loadtest_model::record::{ObservedLimit, ObservedSeries, RunStart};
use loadtest_model::redacted::Redacted;
use loadtest_model::schedule::Schedule;
use std::path::Path;
use std::time::{Duration, SystemTime};
use url::Url;

/// What is observed of one scenario.
#[derive(Debug)]
pub(super) struct ObservedScenario {
    /// The start of its load.
    begin: SystemTime,
    schedule: Schedule,
    /// The port of its target, if that is a process of this machine and not the load test itself.
    pub(super) port: Option<u16>,
    figures: Figures,
    /// Keeps the same, if anything is observed.
    file: Option<ObservedFile>,
    ended_at: Option<SystemTime>,
}

/// What is known of a series before its first value.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeriesHead<'a> {
    pub(super) name: &'a str,
    pub(super) unit: &'a str,
    pub(super) source: &'a str,
    pub(super) limit: Option<&'a ObservedLimit>,
    /// True if it is divided by the requests that were sent meanwhile.
    pub(super) is_per_request: bool,
    /// The seconds between two values.
    pub(super) width: u32,
}

/// A limit that ends the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokenLimit {
    /// The time from the start of the load.
    pub(crate) after: Duration,
    /// The value and the limit in words.
    pub(crate) reason: String,
}

impl ObservedScenario {
    pub(super) fn new(start: &RunStart, now: SystemTime) -> Self {
        let port = start.base_url.as_deref().and_then(local_port);
        Self {
            begin: now + start.plan.start,
            schedule: Schedule::new(&start.plan.load),
            port: port.filter(|_| !start.target_in_process),
            figures: Figures::default(),
            file: None,
            ended_at: None,
        }
    }

    /// Keeps all that comes in a file, too.
    pub(super) fn keep_in(&mut self, path: &Path) {
        self.file = Some(ObservedFile::create(path));
    }

    /// The load is over: later values are not of it.
    pub(super) fn end(&mut self, now: SystemTime) {
        self.ended_at.get_or_insert(now);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended_at.is_some()
    }

    pub(super) fn has_ended_before(&self, time: SystemTime) -> bool {
        self.ended_at.is_some_and(|end| end < time)
    }

    /// Adds a value at a time, which of a rate is about the `span` before it; before and after the load nothing counts.
    /// Returns the limit that ends the run with it.
    pub(super) fn add(
        &mut self,
        head: SeriesHead<'_>,
        (time, span): (SystemTime, Duration),
        value: f64,
    ) -> Option<BrokenLimit> {
        if !value.is_finite() || self.ended_at.is_some_and(|end| time > end) {
            return None;
        }
        let elapsed = time.duration_since(self.begin).ok()?;
        let second = u32::try_from(elapsed.as_secs()).ok()?;
        let number = self.place_series(head);
        self.put(ObservedLine::Reading(SeriesReading {
            series: number,
            at_us: to_micros(elapsed),
            span_us: to_micros(span),
            value,
        }));
        let limit = head.limit.filter(|limit| limit.abort_after.is_some())?;
        let after = Duration::from_secs(u64::from(second) + 1);
        let series = self.figures.series().nth(number)?;
        let values = series.sum_steady(&self.schedule, second.saturating_add(1))?;
        let is_broken = limit.ends_run(&values, self.schedule.steady_part(after));
        is_broken.then(|| BrokenLimit {
            after,
            reason: limit.describe_failure(head.name, head.unit, &values),
        })
    }

    /// Adds the requests of a second.
    pub(super) fn add_requests(&mut self, second: u32, count: u64) {
        self.put(ObservedLine::Requests { second, count });
    }

    /// Notes why the source of some series did not answer.
    pub(super) fn note_gap(&mut self, why: &str, is_of_source: impl Fn(&str) -> bool) {
        let why = Redacted::assume(why);
        let series = self.figures.series().enumerate();
        let is_new = |series: &ObservedSeries| series.gap.as_ref() != Some(&why);
        let silent = series.filter(|(_, series)| is_of_source(&series.name) && is_new(series));
        let silent: Vec<_> = silent.map(|(number, _)| number).collect();
        for series in silent {
            let why = why.clone();
            self.put(ObservedLine::Gap { series, why });
        }
    }

    /// Returns all series.
    pub(super) fn list_series(&self) -> Vec<ObservedSeries> {
        self.figures.clone().into_series()
    }

    /// Adds a series without a value.
    pub(super) fn announce(&mut self, head: SeriesHead<'_>, stands_for: Option<StandsFor>) {
        self.put(ObservedLine::Series(ObservedFigure {
            series: ObservedSeries {
                name: head.name.to_owned(),
                unit: head.unit.to_owned(),
                source: Redacted::assume(head.source),
                width: head.width.max(1),
                points: Vec::new(),
                limit: head.limit.cloned(),
                gap: None,
            },
            waiting: head.is_per_request.then(Vec::new),
            stands_for,
        }));
    }

    fn place_series(&mut self, head: SeriesHead<'_>) -> usize {
        self.figures.find(head.name).unwrap_or_else(|| {
            self.announce(head, None);
            self.figures.len() - 1
        })
    }

    fn put(&mut self, line: ObservedLine) {
        if let Some(file) = &mut self.file {
            file.append(&line, &self.figures);
        }
        self.figures.add(line);
    }
}

fn to_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Returns the port of a URL of this machine.
fn local_port(base_url: &str) -> Option<u16> {
    let url = Url::parse(base_url).ok()?;
    is_loopback(&url).then(|| url.port_or_known_default())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::sample;
    use loadtest_model::definition::Comparator;
    use loadtest_model::record::ObservedFigure;

    #[test]
    fn only_targets_of_this_machine_have_a_process() {
        for (url, port) in [
            ("http://127.0.0.1:3000", Some(3000)),
            ("https://localhost/api", Some(443)),
            ("http://[::1]:81", Some(81)),
            ("http://10.0.0.1:3000", None),
            ("nonsense", None),
        ] {
            assert_eq!(local_port(url), port, "{url}");
        }
    }

    /// A scenario whose load begins at `begin` and is steady after two seconds.
    fn scenario(begin: SystemTime) -> ObservedScenario {
        ObservedScenario::new(&sample::start(), begin)
    }

    fn head(limit: Option<&ObservedLimit>) -> SeriesHead<'_> {
        SeriesHead {
            name: "db cpu",
            unit: "cores",
            source: "http://127.0.0.1:9090",
            limit,
            is_per_request: false,
            width: 1,
        }
    }

    #[test]
    fn only_values_of_the_load_count() {
        let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let mut scenario = scenario(begin);
        let at = |seconds| (begin + Duration::from_secs(seconds), Duration::ZERO);
        let before = (begin - Duration::from_secs(1), Duration::ZERO);
        scenario.add(head(None), before, 1.0);
        scenario.add(head(None), at(3), 2.0);
        scenario.end(at(4).0);
        scenario.add(head(None), at(4), 3.0);
        scenario.add(head(None), at(5), 4.0);
        let series = scenario.list_series();
        let seconds: Vec<_> = (series[0].points.iter())
            .map(|point| (point.second, point.last))
            .collect();
        assert_eq!(seconds, [(3, 2.0), (4, 3.0)]);
    }

    #[test]
    fn a_limit_with_abort_ends_the_run_in_the_steady_part() {
        let begin = SystemTime::UNIX_EPOCH;
        let mut scenario = scenario(begin);
        let limit = ObservedLimit {
            figure: ObservedFigure::Max,
            comparison: Comparator::Less,
            bound: 3.5,
            abort_after: Some(Duration::ZERO),
        };
        let mut add = |seconds, value| {
            let time = begin + Duration::from_secs(seconds);
            scenario.add(head(Some(&limit)), (time, Duration::ZERO), value)
        };
        assert_eq!(add(1, 9.0), None, "the ramp is not judged");
        assert_eq!(add(2, 3.0), None);
        let broken = add(3, 3.9).unwrap();
        assert_eq!(broken.after, Duration::from_secs(4));
        let reason = "max of `db cpu`: 3.9 cores, and must be < 3.5 cores";
        assert_eq!(broken.reason, reason);
    }
}

//! The figures of a scenario as they are read, and the lines that keep them in a file.

use loadtest_model::record::ObservedSeries;
use loadtest_model::redacted::Redacted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The requests of a second are complete when those of a second are known that is so much later.
const COMPLETE_AFTER: u64 = 3;
const MICROS: u64 = 1_000_000;

/// All figures of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    figures: Vec<ObservedFigure>,
    requests: RequestCounts,
}

/// A series, and what is not in it yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ObservedFigure {
    #[serde(flatten)]
    pub(super) series: ObservedSeries,
    /// Of one that is divided by the requests: the readings whose requests are not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) waiting: Option<Vec<SeriesReading>>,
    /// It is shown only if nothing of it is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stands_for: Option<StandsFor>,
}

/// The series that a series without a value stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StandsFor {
    /// One with its name, of a source that is not known yet.
    Itself,
    /// Those of each label.
    Labels,
}

/// A value of a series; times are counted from the start of the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct SeriesReading {
    /// The number of the series.
    pub(super) series: usize,
    pub(super) at_us: u64,
    /// The time before it that a rate is about.
    pub(super) span_us: u64,
    pub(super) value: f64,
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ObservedLine {
    /// All that was known so far.
    Figures(Figures),
    /// The next series.
    Series(ObservedFigure),
    Reading(SeriesReading),
    /// The reason why the source of a series did not answer.
    Gap {
        series: usize,
        why: Redacted,
    },
    /// Requests of a second.
    Requests {
        second: u32,
        count: u64,
    },
}

/// The requests of each second of the load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct RequestCounts(BTreeMap<u32, u64>);

impl Figures {
    /// Adds a line.
    pub(super) fn add(&mut self, line: ObservedLine) {
        match line {
            ObservedLine::Figures(figures) => *self = figures,
            ObservedLine::Series(figure) => self.figures.push(figure),
            ObservedLine::Reading(reading) => {
                if let Some(figure) = self.figures.get_mut(reading.series) {
                    match &mut figure.waiting {
                        None => figure.series.add(reading.second(), reading.value),
                        Some(waiting) => waiting.push(reading),
                    }
                }
            }
            ObservedLine::Gap { series, why } => {
                if let Some(figure) = self.figures.get_mut(series) {
                    figure.series.gap = Some(why);
                }
            }
            ObservedLine::Requests { second, count } => {
                self.requests.add(second, count);
                self.divide_by_requests(COMPLETE_AFTER);
            }
        }
    }

    /// Returns the number of a series.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let is_it =
            |figure: &ObservedFigure| figure.stands_for.is_none() && figure.series.name == name;
        self.figures.iter().position(is_it)
    }

    /// Returns how many series there are.
    pub(super) fn len(&self) -> usize {
        self.figures.len()
    }

    /// Returns the series, in the order of their numbers.
    pub(super) fn series(&self) -> impl Iterator<Item = &ObservedSeries> {
        self.figures.iter().map(|figure| &figure.series)
    }

    /// Returns what is shown of them.
    pub(super) fn into_series(mut self) -> Vec<ObservedSeries> {
        self.divide_by_requests(0);
        let read: Vec<_> = (self.figures.iter())
            .filter(|figure| figure.stands_for.is_none())
            .map(|figure| figure.series.name.clone())
            .collect();
        let figures = self.figures.into_iter();
        let shown = figures.filter(|figure| {
            let is_read = |name: &String| {
                let rest = name.strip_prefix(&*figure.series.name);
                rest.is_some_and(|rest| match figure.stands_for {
                    None => false,
                    Some(StandsFor::Itself) => rest.is_empty(),
                    Some(StandsFor::Labels) => rest.starts_with(' '),
                })
            };
            !read.iter().any(is_read)
        });
        shown.map(|figure| figure.series).collect()
    }

    /// Divides the readings whose requests are complete, when those of so many later seconds are known.
    fn divide_by_requests(&mut self, later: u64) {
        let Some(known) = self.requests.known_until().checked_sub(later * MICROS) else {
            return;
        };
        for figure in &mut self.figures {
            let Some(waiting) = &mut figure.waiting else {
                continue;
            };
            let complete = waiting.partition_point(|reading| reading.at_us <= known);
            for reading in waiting.drain(..complete) {
                // A time without a request has no value.
                if let Ok(count @ 1..) = u32::try_from(self.requests.count_during(reading)) {
                    let amount =
                        reading.value * Duration::from_micros(reading.span_us).as_secs_f64();
                    let each = amount / f64::from(count);
                    figure.series.add_weighted(reading.second(), each, count);
                }
            }
        }
    }
}

impl SeriesReading {
    fn second(self) -> u32 {
        u32::try_from(self.at_us / MICROS).unwrap_or(u32::MAX)
    }
}

impl RequestCounts {
    fn add(&mut self, second: u32, count: u64) {
        *self.0.entry(second).or_default() += count;
    }

    /// Returns the end of the last second, in microseconds.
    fn known_until(&self) -> u64 {
        let last = self.0.last_key_value();
        last.map_or(0, |(second, _)| (u64::from(*second) + 1) * MICROS)
    }

    /// Returns the requests that were sent in the time of a reading; those of a second count as sent evenly.
    ///
    /// The times of readings that follow each other share none, and leave none out.
    fn count_during(&self, reading: SeriesReading) -> u64 {
        let begin = reading.at_us.saturating_sub(reading.span_us);
        let first = SeriesReading {
            at_us: begin,
            ..reading
        }
        .second();
        let seconds = self.0.range(first..=reading.second());
        let sent = seconds.map(|(second, count)| {
            let start = u64::from(*second) * MICROS;
            let until = |time: u64| {
                let share =
                    u128::from(*count) * u128::from(time.clamp(start, start + MICROS) - start);
                (share / u128::from(MICROS)) as u64
            };
            until(reading.at_us) - until(begin)
        });
        sent.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::record::ObservedPoint;

    fn figure(name: &str) -> ObservedFigure {
        ObservedFigure {
            series: ObservedSeries {
                name: name.to_owned(),
                unit: String::new(),
                source: "process 1".into(),
                width: 1,
                points: Vec::new(),
                limit: None,
                gap: None,
            },
            waiting: None,
            stands_for: None,
        }
    }

    fn reading(series: usize, at_ms: u64, span_ms: u64, value: f64) -> ObservedLine {
        ObservedLine::Reading(SeriesReading {
            series,
            at_us: at_ms * 1_000,
            span_us: span_ms * 1_000,
            value,
        })
    }

    /// Returns the points of the only series, a rate that is divided by the requests of each second.
    fn divide(requests: &[u64], readings: &[(u64, u64, f64)]) -> Vec<(u32, u32, f64)> {
        let mut figures = Figures::default();
        figures.add(ObservedLine::Series(ObservedFigure {
            waiting: Some(Vec::new()),
            ..figure("cpu per request")
        }));
        for (at, span, value) in readings {
            figures.add(reading(0, *at, *span, *value));
        }
        for (second, count) in (0..).zip(requests) {
            let count = *count;
            figures.add(ObservedLine::Requests { second, count });
        }
        let series = figures.into_series();
        let points = series[0].points.iter();
        points
            .map(|point| (point.second, point.count, point.mean))
            .collect()
    }

    #[test]
    fn a_rate_is_divided_by_the_requests_of_the_time_that_it_is_about() {
        // Half of the first second and half of the next; all of two; a time without a request; one that is not known whole.
        let readings = [
            (1_500, 1_000, 0.5),
            (4_000, 2_000, 3.0),
            (6_000, 1_000, 9.0),
            (7_200, 1_000, 9.0),
        ];
        let points = divide(&[60, 40, 100, 20, 7, 0, 3], &readings);
        assert_eq!(points, [(1, 50, 0.01), (4, 120, 0.05)]);
        // What was used before the load is of the first requests.
        assert_eq!(divide(&[10], &[(500, 1_000, 1.0)]), [(0, 5, 0.2)]);
    }

    #[test]
    fn each_request_is_in_the_time_of_one_reading() {
        let readings = [300, 1_350, 2_300, 3_999].map(|at: u64| (at, 1_000, 0.0));
        let mut before = 0;
        let readings = readings.map(|(at, _, value)| {
            let span = at - before;
            before = at;
            (at, span, value)
        });
        let points = divide(&[7, 11, 13, 17], &readings);
        let counts: Vec<_> = points.iter().map(|(_, count, _)| *count).collect();
        assert_eq!(counts, [2, 8, 11, 26]);
        assert_eq!(counts.iter().sum::<u32>(), 7 + 11 + 13 + 16);
    }

    #[test]
    fn requests_that_are_told_late_count() {
        let mut figures = Figures::default();
        figures.add(ObservedLine::Series(ObservedFigure {
            waiting: Some(Vec::new()),
            ..figure("cpu per request")
        }));
        figures.add(reading(0, 1_000, 1_000, 1.0));
        for (second, count) in [(0, 6), (1, 1), (0, 4), (2, 1)] {
            figures.add(ObservedLine::Requests { second, count });
        }
        assert_eq!(figures.figures[0].series.points, []);
        let count = 1;
        figures.add(ObservedLine::Requests { second: 3, count });
        let point = ObservedPoint {
            second: 1,
            count: 10,
            mean: 0.1,
            max: 0.1,
            last: 0.1,
        };
        assert_eq!(figures.figures[0].series.points, [point]);
        assert_eq!(figures.figures[0].waiting, Some(Vec::new()));
    }

    #[test]
    fn a_series_that_stands_for_others_is_shown_when_nothing_of_them_is_read() {
        let mut figures = Figures::default();
        for (name, stands_for) in [
            ("zone", Some(StandsFor::Labels)),
            ("disk", Some(StandsFor::Labels)),
            ("target cpu", Some(StandsFor::Itself)),
            ("target memory", Some(StandsFor::Itself)),
            ("zone a", None),
            ("target cpu", None),
            ("target memory per request", None),
        ] {
            figures.add(ObservedLine::Series(ObservedFigure {
                stands_for,
                ..figure(name)
            }));
        }
        assert_eq!(figures.find("target cpu"), Some(5));
        let names: Vec<_> = (figures.into_series().into_iter())
            .map(|series| series.name)
            .collect();
        let shown = [
            "disk",
            "target memory",
            "zone a",
            "target cpu",
            "target memory per request",
        ];
        assert_eq!(names, shown);
    }

    #[test]
    fn a_line_of_a_series_that_is_not_there_does_no_harm() {
        let mut figures = Figures::default();
        figures.add(reading(0, u64::MAX / 1_000, u64::MAX / 1_000, 1.0));
        figures.add(ObservedLine::Gap {
            series: 3,
            why: "no answer".into(),
        });
        figures.add(ObservedLine::Series(ObservedFigure {
            waiting: Some(Vec::new()),
            ..figure("cpu per request")
        }));
        figures.add(reading(0, u64::MAX / 1_000, 1, f64::MAX));
        for second in [u32::MAX, 0] {
            let count = u64::from(u32::MAX);
            figures.add(ObservedLine::Requests { second, count });
        }
        assert_eq!(figures.into_series()[0].points, []);
    }
}

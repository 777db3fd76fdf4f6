//! How much of a percentile the generator itself made: by starts that were late, and by stalls of its threads while requests
//! were under way. In both cases an upper bound.

use super::generator::Generator;
use super::validity::{LATE_STARTS, ValidityCause};
use crate::definition::{Metric, Part, Statistic};
use crate::display;
use crate::metrics::{Histogram, TOO_LATE};
use crate::record::{ScenarioRecord, Trust};
use std::time::Duration;

/// The share of a percentile from which the generator is said to have made it.
const MADE_SHARE: f64 = 0.5;

/// The delays that the generator made.
pub(super) struct OwnDelays<'a> {
    lateness: &'a Histogram,
    /// The longest stall.
    stall: Duration,
    /// The share of the executions that stalls can have delayed.
    stalled: f64,
}

impl<'a> OwnDelays<'a> {
    pub(super) fn from_record(record: &'a ScenarioRecord, generator: &Generator) -> Self {
        let journey = &record.windows.steady.journey;
        let users = record.cells.cells.iter().map(|cell| cell.active_users);
        let users = f64::from(users.max().unwrap_or(0)) / f64::from(record.start.workers.max(1));
        let ended = (journey.ok + journey.failed).max(1) as f64;
        Self {
            lateness: &journey.lateness,
            stall: generator.longest_stall,
            stalled: generator.stalled_seconds as f64 * users / ended,
        }
    }

    /// The most by which late starts can have raised the time at `quantile`; 1 is the maximum.
    fn late_at(&self, quantile: f64) -> Duration {
        let late = if quantile < 1.0 {
            self.lateness.quantile(quantile)
        } else {
            self.lateness.max()
        };
        late.unwrap_or_default()
    }

    fn stall_at(&self, quantile: f64) -> Duration {
        if self.stalled > 1.0 - quantile {
            self.stall
        } else {
            Duration::ZERO
        }
    }

    /// The most by which the generator can have raised a figure, if it is one of times and that much matters.
    pub(super) fn of(&self, metric: &Metric) -> Option<Duration> {
        let Metric::Time(part, statistic) = metric else {
            return None;
        };
        let quantile = match statistic {
            Statistic::Max => 1.0,
            _ => statistic.quantile()?,
        };
        // Other parts begin when their request is sent, however late that is.
        let late = match part {
            Part::Whole | Part::FirstEvent => self.late_at(quantile),
            _ => Duration::ZERO,
        };
        Some(late.max(self.stall_at(quantile))).filter(|delay| *delay > TOO_LATE)
    }

    /// Judges the last percentiles that are shown, which the 99th says nothing about.
    pub(super) fn judge_tail(&self, record: &ScenarioRecord) -> Option<ValidityCause> {
        let times = record.windows.steady.times();
        let shown = [
            ("p99.9", 0.999, times.quantile(0.999)),
            ("maximum", 1.0, times.max()),
        ];
        let started = self.lateness.count();
        let late = started.saturating_sub(self.lateness.count_at_most(TOO_LATE));
        // A single one is chance.
        if late < LATE_STARTS && self.stalled == 0.0 {
            return None;
        }
        let made: Vec<String> = shown
            .into_iter()
            .filter_map(|(name, quantile, time)| {
                let delay = self.late_at(quantile).max(self.stall_at(quantile));
                let time = time?;
                let is_made =
                    delay > TOO_LATE && delay.as_secs_f64() >= MADE_SHARE * time.as_secs_f64();
                is_made.then(|| format!("the {name} of {}", display::format_duration(time)))
            })
            .collect();
        if made.is_empty() {
            return None;
        }
        let mut causes = Vec::new();
        if let Some(latest) = self.lateness.max().filter(|_| late > 0) {
            causes.push(format!(
                "{} of {} iterations started over {} late, by up to {}",
                display::format_count(late),
                display::format_count(started),
                display::format_span(TOO_LATE),
                display::format_duration(latest)
            ));
        }
        if self.stalled > 0.0 {
            let longest = display::format_duration(self.stall);
            causes.push(format!("a worker thread stalled for up to {longest}"));
        }
        Some(ValidityCause {
            trust: Trust::Degraded,
            what: format!(
                "the generator made {}: {}",
                made.join(" and "),
                causes.join(", and ")
            ),
            remedy: "do not attribute them to the target; use a machine with idle processors that is not suspended"
                .to_owned(),
        })
    }
}

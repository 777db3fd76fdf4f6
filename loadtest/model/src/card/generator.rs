//! The generator's own figures: the evidence for [validity](super::Validity).

use crate::definition::micros;
use crate::display;
use crate::metrics::Cell;
use crate::record::ScenarioRecord;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The share of a core from which a worker is busy.
pub(super) const BUSY: f64 = 0.9;
/// The share of the machine's time that may go to others.
pub(super) const STOLEN: f64 = 0.1;

/// The generator's own figures: lateness and waits of the steady part, everything else of the whole run but the
/// warm-up.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Generator {
    /// The seconds that were watched.
    pub seconds: u64,
    /// The median of start lateness that is the generator's fault.
    #[serde(rename = "late_p50_us", with = "micros::option")]
    pub late_p50: Option<Duration>,
    /// The 99th percentile of it.
    #[serde(rename = "late_p99_us", with = "micros::option")]
    pub late_p99: Option<Duration>,
    /// The longest of it.
    #[serde(rename = "latest_us", with = "micros::option")]
    pub latest: Option<Duration>,
    /// Arrivals that waited for a free user, those included that never started.
    pub waited: u64,
    /// The highest share of one core that any one worker used in a second, a share of one.
    pub busiest_worker: f64,
    /// Seconds in which a worker used over 90 % of its core.
    pub busy_seconds: u64,
    /// Seconds in which a worker's runtime did not come back for
    /// [`Health::STALL`](crate::metrics::Health::STALL) or longer.
    pub stalled_seconds: u64,
    /// The longest of these stalls.
    #[serde(rename = "longest_stall_us", with = "micros")]
    pub longest_stall: Duration,
    /// The step whose code kept a worker's thread for so long in most seconds, where one was seen to.
    pub kept_by: Option<String>,
    /// The time for which the quota of a control group stopped threads of the process, summed over the processors.
    #[serde(rename = "throttled_us", with = "micros")]
    pub throttled: Duration,
    /// The highest share of the machine's time in a second that its host gave to others, a share of one.
    pub stolen: f64,
    /// Seconds in which that was over 10 %.
    pub stolen_seconds: u64,
    /// The most memory of the load test's process that was resident; 0 where the system does not tell.
    pub memory_bytes: u64,
}

impl Generator {
    pub(super) fn from_record(record: &ScenarioRecord) -> Self {
        let warm_up = record.start.plan.load.warm_up.as_secs() as u32;
        let cells = || {
            let cells = record.cells.cells.iter();
            cells.filter(move |cell| cell.second + cell.seconds > warm_up)
        };
        let seconds = |counts: fn(&Cell) -> bool| -> u64 {
            cells()
                .filter(|cell| counts(cell))
                .map(|cell| u64::from(cell.seconds))
                .sum()
        };
        let highest = |share: fn(&Cell) -> f64| cells().map(share).fold(0.0, f64::max);
        let journey = &record.windows.steady.journey;
        let stall = cells().map(|cell| cell.health.longest_stall_us).max();
        let throttled = cells().map(|cell| cell.health.throttled_us).sum();
        Self {
            seconds: seconds(|_| true),
            late_p50: journey.lateness.quantile(0.5),
            late_p99: journey.lateness.quantile(0.99),
            latest: journey.lateness.max(),
            waited: journey.waits.count() + journey.dropped,
            busiest_worker: highest(|cell| cell.health.busiest_worker),
            busy_seconds: seconds(|cell| cell.health.busiest_worker > BUSY),
            stalled_seconds: cells()
                .map(|cell| u64::from(cell.health.stalled_seconds))
                .sum(),
            longest_stall: Duration::from_micros(stall.unwrap_or(0)),
            kept_by: kept_by(record, cells()),
            throttled: Duration::from_micros(throttled),
            stolen: highest(|cell| cell.health.stolen),
            stolen_seconds: seconds(|cell| cell.health.stolen > STOLEN),
            memory_bytes: cells()
                .map(|cell| cell.health.memory_bytes)
                .max()
                .unwrap_or(0),
        }
    }

    /// The main of it in a line.
    pub fn describe(&self) -> String {
        let mut words = Vec::new();
        if let Some(late) = self.late_p99 {
            words.push(format!(
                "p99 of start lateness {}",
                display::format_duration(late)
            ));
        }
        words.push(format!(
            "busiest worker {}",
            display::format_whole_percent(self.busiest_worker.min(1.0))
        ));
        words.push(match self.stalled_seconds {
            0 => "no stall".to_owned(),
            stalled => format!(
                "stalled in {} of {}",
                display::format_count(stalled),
                display::format_counted(self.seconds, "second")
            ),
        });
        words.push(match self.throttled {
            Duration::ZERO => "not throttled".to_owned(),
            throttled => format!("throttled for {}", display::format_duration(throttled)),
        });
        if self.stolen_seconds > 0 {
            let stolen = display::format_whole_percent(self.stolen);
            words.push(format!("up to {stolen} stolen by the host"));
        }
        if self.waited > 0 {
            words.push(format!(
                "{} waited",
                display::format_counted(self.waited, "arrival")
            ));
        }
        words.join(", ")
    }
}

fn kept_by<'a>(record: &ScenarioRecord, cells: impl Iterator<Item = &'a Cell>) -> Option<String> {
    let mut seconds: BTreeMap<u32, u32> = BTreeMap::new();
    for step in cells.filter_map(|cell| cell.health.kept_by) {
        *seconds.entry(step).or_default() += 1;
    }
    let (step, _) = seconds.into_iter().max_by_key(|(_, seconds)| *seconds)?;
    let step = record.start.definition.steps.get(step as usize)?;
    Some(step.name.to_string())
}

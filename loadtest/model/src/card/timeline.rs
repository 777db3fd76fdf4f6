//! The course of a run over time, for charts: at most some 300 points.

use crate::definition::{Load, Shape, Stage, micros};
use crate::metrics::ErrorKind;
use crate::metrics::{Cell, CellStep, CompactHistogram, CompactTimes, StepTally, Times};
use crate::plan::Plan;
use crate::record::{ScenarioRecord, ShardRun};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// The most points of a course.
const POINTS: u32 = 300;
/// The part of its length that a last point needs.
const SHORTEST_POINT: f64 = 0.1;
/// The most steps with a course of their own.
const STEPS: usize = 6;
/// The same of shards.
const GENERATORS: usize = 6;

/// The course of a run over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// The number of seconds per point.
    pub width: u32,
    /// The second in which the steady part begins; `None` where there is no ramp to tell it from.
    pub steady_from: Option<f64>,
    /// The points, without gaps, in the order of time, until the last journey has ended. Rates of a last point that is not over
    /// by then are of the part that it has.
    pub points: Vec<Point>,
    /// The courses of the steps, of which there are two or more: of the six that take longest.
    pub steps: Vec<StepCourse>,
    /// The courses of the first events of streams: of the six steps that take longest to one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first_events: Vec<StepCourse>,
    /// The courses of the shards that made the load, of which there are two or more: of the six that started
    /// iterations latest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<GeneratorCourse>,
}

/// The delay of starts by one shard over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GeneratorCourse {
    /// The place of the shard, from 0.
    pub place: usize,
    /// The shard: `shard 2/3`.
    pub name: String,
    /// The longest delay of a start in each point, in microseconds.
    pub latest_us: Vec<Option<u64>>,
}

/// The response time of one step over time, or the time to its first event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepCourse {
    /// The place of the step in the scenario, from 0.
    pub step: usize,
    /// The name of the step.
    pub name: String,
    /// The 95th percentile of these times in each point, in microseconds; `None` where it has none.
    pub p95_us: Vec<Option<u64>>,
}

/// The measurements of some seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Point {
    /// The first second, counted from the start of the measured run.
    pub second: u32,
    /// Median journey time (of one-step scenarios: response time) of what ended; `None` if nothing did.
    #[serde(rename = "p50_us", with = "micros::option")]
    pub p50: Option<Duration>,
    /// The 95th percentile of the same.
    #[serde(rename = "p95_us", with = "micros::option")]
    pub p95: Option<Duration>,
    /// The 99th percentile of the same.
    #[serde(rename = "p99_us", with = "micros::option")]
    pub p99: Option<Duration>,
    /// Iterations that ended, per second.
    pub finished_per_second: f64,
    /// Iterations that were to start, per second; open model only.
    pub target_per_second: Option<f64>,
    /// The most virtual users within an iteration.
    pub active_users: u32,
    /// Failures per second by kind.
    pub errors_per_second: BTreeMap<ErrorKind, f64>,
    /// The longest start lateness that is the generator's fault.
    #[serde(rename = "latest_us", with = "micros")]
    pub latest: Duration,
    /// The longest stall of a worker's runtime.
    #[serde(rename = "stall_us", with = "micros")]
    pub stall: Duration,
    /// The highest share of one core that any one worker used in a second.
    pub busiest_worker: f64,
    /// For how much of each second the quota of a control group stopped threads of the process, summed over
    /// the processors.
    pub throttled: f64,
    /// The highest share of the machine's time in a second that its host gave to others.
    pub stolen: f64,
    /// Iterations begun that had waited for a free user, per second.
    pub waited_per_second: f64,
    /// The WebSockets, where there were some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub websockets: Option<SocketPoint>,
}

/// The WebSockets of some seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SocketPoint {
    /// The most that were open at once.
    pub most_open: u64,
    /// Messages sent, per second.
    pub sent_per_second: f64,
    /// Messages that came, per second.
    pub received_per_second: f64,
}

impl Timeline {
    pub(super) fn from_record(record: &ScenarioRecord) -> Self {
        let cells = &record.cells;
        let warm_up = record.start.plan.load.warm_up.as_secs() as u32;
        let end = cells
            .cells
            .last()
            .map_or(0, |cell| cell.second + cell.seconds);
        let seconds = end.saturating_sub(warm_up);
        if seconds == 0 {
            return Self::default();
        }
        let unit = cells.width.max(1);
        let width = unit * seconds.div_ceil(unit).div_ceil(POINTS);
        let one_step = record.start.definition.steps.len() == 1;
        let elapsed = record.end.elapsed_us as f64 / 1e6 - f64::from(warm_up);
        // After the last journey there are users who leave, and of an instant there is no rate.
        let length = |i: u32| (elapsed - f64::from(i * width)).min(width.into());
        let least = SHORTEST_POINT * f64::from(width);
        let points: Vec<Point> = (0..seconds.div_ceil(width))
            .filter(|i| *i == 0 || length(*i) >= least)
            .map(|i| {
                let from = warm_up + i * width;
                let within: Vec<&Cell> = cells
                    .cells
                    .iter()
                    .filter(|cell| (from..from + width).contains(&cell.second))
                    .collect();
                let length = length(i).max(least);
                measure_point(i * width, length, &within, one_step, &record.start.plan)
            })
            .collect();
        let from = |point: &Point| warm_up + point.second;
        let ranges: Vec<_> = points
            .iter()
            .map(|point| from(point)..from(point) + width)
            .collect();
        Self {
            width,
            steady_from: ramp_length(&record.start.plan.load).map(|ramp| ramp.as_secs_f64()),
            points,
            steps: measure_steps(record, &ranges, &RESPONSES),
            first_events: measure_steps(record, &ranges, &FIRST_EVENTS),
            generators: measure_generators(record, &ranges),
        }
    }
}

impl Timeline {
    /// Leaves out times and rates of journeys that measured nothing.
    pub(super) fn forget_journeys(&mut self) {
        for point in &mut self.points {
            (point.p50, point.p95, point.p99) = (None, None, None);
            point.finished_per_second = 0.0;
        }
    }
}

/// Measures the shards that started latest, in their order, within these seconds.
fn measure_generators(record: &ScenarioRecord, ranges: &[Range<u32>]) -> Vec<GeneratorCourse> {
    let shards = record.shards.iter().enumerate();
    let mut latest: Vec<(usize, &ShardRun)> = shards
        .filter(|(_, shard)| !shard.latest_us.is_empty())
        .collect();
    latest.sort_by_key(|(place, shard)| (Reverse(shard.latest_us.iter().max()), *place));
    latest.truncate(GENERATORS);
    latest.sort_by_key(|(place, _)| *place);
    let cells = &record.cells.cells;
    let measure = |shard: &ShardRun, range: &Range<u32>| {
        let own = cells.iter().zip(&shard.latest_us);
        let within = own.filter(|(cell, _)| range.contains(&cell.second));
        within.filter_map(|(_, latest)| *latest).max()
    };
    let courses = latest.into_iter().map(|(place, shard)| GeneratorCourse {
        place,
        name: shard.shard.to_string(),
        latest_us: ranges.iter().map(|range| measure(shard, range)).collect(),
    });
    courses.collect()
}

/// A time of steps that has a course.
struct StepTime {
    /// The fewest steps that are worth a chart.
    least: usize,
    of_tally: fn(&StepTally) -> Option<Times<'_>>,
    /// Those of what was ok or timed out, and of the rest.
    of_cell: fn(&CellStep) -> Option<(&CompactHistogram, &CompactHistogram)>,
}

static NO_TIMES: CompactHistogram = CompactHistogram::NONE;

/// A single step is that of the journey.
const RESPONSES: StepTime = StepTime {
    least: 2,
    of_tally: |step| Some(step.times()),
    of_cell: |step| Some((&step.response, &step.failed_response)),
};
const FIRST_EVENTS: StepTime = StepTime {
    least: 1,
    of_tally: |step| Some(Times::new(&step.stream.as_ref()?.first_event, &[])),
    of_cell: |step| Some((&step.stream.as_ref()?.first_event, &NO_TIMES)),
};

/// Measures the steps that take longest, in the order of the scenario, within these seconds.
fn measure_steps(
    record: &ScenarioRecord,
    ranges: &[Range<u32>],
    time: &StepTime,
) -> Vec<StepCourse> {
    let definitions = &record.start.definition.steps;
    let tallies = record.windows.steady.steps.iter().enumerate();
    let mut slowest: Vec<(Duration, usize)> = tallies
        .take(definitions.len())
        .filter_map(|(step, tally)| Some(((time.of_tally)(tally)?.quantile(0.95)?, step)))
        .collect();
    if slowest.len() < time.least {
        return Vec::new();
    }
    slowest.sort_by_key(|(time, step)| (Reverse(*time), *step));
    slowest.truncate(STEPS);
    slowest.sort_by_key(|(_, step)| *step);
    let cells = &record.cells.cells;
    let measure = |step: usize, range: &Range<u32>| {
        let begin = cells.partition_point(|cell| cell.second < range.start);
        let within = cells[begin..]
            .iter()
            .take_while(|cell| cell.second < range.end);
        let steps = within.filter_map(|cell| cell.steps.get(step));
        let times = CompactTimes::of(steps.filter_map(time.of_cell));
        times.quantile(0.95).map(|time| time.as_micros() as u64)
    };
    let courses = slowest.into_iter().map(|(_, step)| StepCourse {
        step,
        name: definitions[step].name.to_string(),
        p95_us: ranges.iter().map(|range| measure(step, range)).collect(),
    });
    courses.collect()
}

fn measure_point(second: u32, length: f64, cells: &[&Cell], one_step: bool, plan: &Plan) -> Point {
    let mut point = Point {
        second,
        ..Point::default()
    };
    let per_second = |count: u64| count as f64 / length;
    let mut finished = 0;
    for cell in cells {
        finished += cell.ok + cell.failed;
        point.active_users = point.active_users.max(cell.active_users);
        let health = &cell.health;
        point.latest = point.latest.max(Duration::from_micros(cell.latest_us));
        let stall = Duration::from_micros(health.longest_stall_us);
        point.stall = point.stall.max(stall);
        point.busiest_worker = point.busiest_worker.max(health.busiest_worker);
        point.throttled += per_second(health.throttled_us) / 1e6;
        point.stolen = point.stolen.max(health.stolen);
        point.waited_per_second += per_second(cell.waited);
        let sockets = &cell.websockets;
        if !sockets.is_empty() {
            let point = point.websockets.get_or_insert_default();
            point.most_open = point.most_open.max(sockets.most_open);
            point.sent_per_second += per_second(sockets.sent_messages);
            point.received_per_second += per_second(sockets.received_messages);
        }
        for (kind, count) in &cell.errors {
            *point.errors_per_second.entry(*kind).or_default() += per_second(*count);
        }
    }
    let times = CompactTimes::of(cells.iter().filter_map(|cell| {
        if one_step {
            let step = cell.steps.first()?;
            Some((&step.response, &step.failed_response))
        } else {
            Some((&cell.time, &cell.failed_time))
        }
    }));
    point.p50 = times.quantile(0.5);
    point.p95 = times.quantile(0.95);
    point.p99 = times.quantile(0.99);
    point.finished_per_second = per_second(finished);
    let middle = f64::from(second) + length / 2.0;
    let target = target_rate(&plan.load, middle);
    point.target_per_second = target.map(|target| target * plan.shard.share());
    point
}

fn ramp_length(load: &Load) -> Option<Duration> {
    match load.shape {
        Shape::Rate { ramp_up, .. } | Shape::Users { ramp_up, .. } => {
            Some(ramp_up).filter(|ramp| !ramp.is_zero())
        }
        _ => None,
    }
}

/// The arrival rate of an open load at a time after the warm-up; none after its end.
fn target_rate(load: &Load, at: f64) -> Option<f64> {
    match &load.shape {
        Shape::Rate {
            per_second,
            ramp_up,
            duration,
        } => (at < duration.as_secs_f64()).then(|| {
            let ramp = ramp_up.as_secs_f64();
            if at < ramp {
                per_second * at / ramp
            } else {
                *per_second
            }
        }),
        Shape::RateStages { stages } => {
            let mut begin = 0.0;
            for Stage { from, to, duration } in stages.iter() {
                let length = duration.as_secs_f64();
                if at < begin + length {
                    return Some(from + (to - from) * (at - begin) / length);
                }
                begin += length;
            }
            None
        }
        _ => None,
    }
}

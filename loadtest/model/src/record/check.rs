//! Checks of a record: impossible figures are refused before they are summed or graded.

use super::{EndReason, RunRecord, ScenarioRecord};
use crate::capacity::Search;
use crate::metrics::{Cells, Frame, Histogram, JourneyTally, StepTally, Tally};
use std::fmt::Display;

/// No counter of a run comes so far, nor do its microseconds: 35 years. Sums of thousands still fit.
const MOST: u64 = 1 << 50;
/// No run takes so many seconds: two years.
const LONGEST: u32 = 1 << 26;

/// An impossible figure in a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct Impossible {
    /// Where: the scenario, and the step.
    pub place: String,
    /// The figure, and the reason why it cannot be.
    pub what: String,
}

type Check = Result<(), String>;

impl RunRecord {
    /// Checks that all figures are possible, so that they can be summed and graded.
    ///
    /// # Errors
    /// The first impossible figure.
    pub fn check(&self) -> Result<(), Impossible> {
        if let Some(search) = &self.capacity {
            of_search(search).map_err(|what| Impossible {
                place: format!("the search of `{}`", search.scenario),
                what,
            })?;
        }
        self.scenarios.iter().try_for_each(ScenarioRecord::check)
    }
}

impl ScenarioRecord {
    /// The same of one scenario.
    ///
    /// # Errors
    /// As [`RunRecord::check`].
    pub fn check(&self) -> Result<(), Impossible> {
        of_scenario(self).map_err(|what| Impossible {
            place: format!("`{}`", self.start.definition.identity()),
            what,
        })
    }
}

impl Frame {
    /// The same of a second of a scenario with so many steps.
    ///
    /// # Errors
    /// As [`RunRecord::check`].
    pub fn check(&self, steps: usize) -> Result<(), Impossible> {
        let all = [
            &self.windows.warm_up,
            &self.windows.ramp,
            &self.windows.steady,
        ];
        all.into_iter()
            .try_for_each(|tally| of_tally(tally, steps))
            .and_then(|()| no_more("the second", u64::from(self.second), LONGEST.into()))
            .and_then(|()| no_more("throttled_us", self.health.throttled_us, MOST))
            .and_then(|()| no_more("worker_cpu_us", self.health.worker_cpu_us, MOST))
            .map_err(|what| Impossible {
                place: format!("second {}", self.second),
                what,
            })
    }
}

fn of_scenario(record: &ScenarioRecord) -> Check {
    let steps = record.start.definition.steps.len();
    if steps == 0 {
        return Err("it has no step".to_owned());
    }
    for (name, value) in [
        ("elapsed_us", record.end.elapsed_us),
        ("steady_us", record.end.steady_us),
        ("planned", record.end.planned),
    ] {
        no_more(name, value, MOST)?;
    }
    of_plan(record)?;
    for (name, tally) in [
        ("warm-up", &record.windows.warm_up),
        ("ramp", &record.windows.ramp),
        ("steady part", &record.windows.steady),
    ] {
        of_tally(tally, steps).map_err(|what| format!("in the {name}, {what}"))?;
    }
    for panicked in &record.end.panics {
        no_more("the number of panics", panicked.count, MOST)?;
    }
    of_cells(&record.cells)
}

fn of_plan(record: &ScenarioRecord) -> Check {
    let plan = &record.start.plan;
    let steps = record.start.definition.steps.len();
    for (step, policy) in record.start.definition.steps.iter().zip(&plan.grading) {
        let name = |what: &str| format!("the {what} of step `{}`", step.name);
        check_share(&name("error budget"), policy.budget)?;
        if policy.target.is_zero() {
            return Err(format!(
                "{} is 0, which leaves no time",
                name("target time")
            ));
        }
        if !(policy.weight.is_finite() && policy.weight >= 0.0) {
            return Err(format!(
                "{} is {}",
                name("weight in the grade"),
                policy.weight
            ));
        }
        if !(step.weight > 0.0 && step.weight <= 1.0) {
            return Err(format!("{} is {}", name("weight"), step.weight));
        }
    }
    let numbers = plan.thresholds.iter().filter_map(|scoped| scoped.step);
    for number in numbers {
        check_index("a threshold", number, steps)?;
    }
    if let EndReason::ThresholdBroken { threshold, .. } = record.end.ending
        && threshold >= plan.thresholds.len()
    {
        return Err(format!(
            "it ended for threshold {threshold}, and has {}",
            plan.thresholds.len()
        ));
    }
    let times = [
        Some(plan.load.warm_up),
        plan.load.duration(),
        Some(plan.graceful_stop),
    ];
    for time in times.into_iter().flatten() {
        no_more(
            "a time of its load in seconds",
            time.as_secs(),
            LONGEST.into(),
        )?;
    }
    Ok(())
}

fn of_tally(tally: &Tally, steps: usize) -> Check {
    of_journey(&tally.journey, steps)?;
    if tally.steps.len() > steps {
        return Err(format!(
            "{} steps ran, and there are {steps}",
            tally.steps.len()
        ));
    }
    for (i, step) in tally.steps.iter().enumerate() {
        of_step(step).map_err(|what| format!("of step {}, {what}", i + 1))?;
    }
    for failure in &tally.dependencies {
        check_index("a dependency failure", failure.step, steps)?;
        check_index("the upstream of one", failure.upstream, steps)?;
        check_index("the cause of one", failure.cause.step, steps)?;
        no_more("its count", failure.count, MOST)?;
    }
    for (name, count) in &tally.own.counters {
        no_more(&format!("the counter `{name}`"), *count, MOST)?;
    }
    let mut timings = tally.own.timings.iter();
    timings.try_for_each(|(name, times)| check_histogram(&format!("`{name}`"), times))
}

fn of_journey(journey: &JourneyTally, steps: usize) -> Check {
    let JourneyTally {
        started,
        ok,
        failed,
        cancelled,
        dropped,
        time,
        failed_time,
        lateness,
        waits,
        shares,
        slowest,
        on_time: _,
    } = journey;
    for (name, value) in [
        ("started", started),
        ("ok", ok),
        ("failed", failed),
        ("cancelled", cancelled),
        ("dropped", dropped),
    ] {
        no_more(&format!("`{name}` of the journey"), *value, MOST)?;
    }
    for (name, times) in [
        ("time", time),
        ("failed_time", failed_time),
        ("lateness", lateness),
        ("waits", waits),
    ] {
        check_histogram(&format!("`{name}` of the journey"), times)?;
    }
    for share in shares {
        no_more("a number of journeys", share.journeys, MOST)?;
        no_more("a journey in µs", share.at_least_us, MOST)?;
        for time in &share.steps_us {
            no_more("the time of a step in µs", *time, MOST)?;
        }
        if share.steps_us.len() > steps {
            return Err(format!(
                "journeys have {} steps, and there are {steps}",
                share.steps_us.len()
            ));
        }
    }
    for journey in slowest.journeys() {
        for time in [journey.due_us, journey.delay_us, journey.time_us] {
            no_more("a time of one of the slowest journeys in µs", time, MOST)?;
        }
        for step in &journey.steps {
            check_index("one of the slowest journeys", step.step, steps)?;
            no_more("a step of it in µs", step.begin_us, MOST)?;
            no_more("a step of it in µs", step.time_us, MOST)?;
        }
    }
    Ok(())
}

fn of_step(step: &StepTally) -> Check {
    for (name, value) in [
        ("executed", step.executed),
        ("ok", step.ok),
        ("failed", step.failed),
        ("cancelled", step.cancelled),
        ("not_drawn", step.not_drawn),
        ("left_out", step.left_out),
        ("kept", step.kept),
        ("skipped", step.skipped),
        ("skipped_not_drawn", step.skipped_not_drawn),
        ("requests", step.requests),
        ("retries", step.retries),
        ("sent_bytes", step.sent_bytes),
        ("received_bytes", step.received_bytes),
        ("ambiguous", step.ambiguous),
        ("unsolicited", step.unsolicited),
        ("satisfied", step.satisfied),
        ("tolerating", step.tolerating),
        ("checks_passed", step.checks_passed),
        ("checks_failed", step.checks_failed),
    ] {
        no_more(&format!("`{name}`"), value, MOST)?;
    }
    if step.satisfied + step.tolerating > step.ok {
        return Err(format!(
            "{} were ok, and more were in time: {} satisfied and {} tolerating",
            step.ok, step.satisfied, step.tolerating
        ));
    }
    let phases = &step.phases;
    for (name, times) in [
        ("response", &step.response),
        ("service", &step.service),
        ("failed_response", &step.failed_response),
        ("connect", &phases.connect),
        ("tls", &phases.tls),
        ("first_byte", &phases.first_byte),
        ("body", &phases.body),
    ] {
        check_histogram(&format!("`{name}`"), times)?;
    }
    let inner = step.inner.iter();
    let statuses = inner.clone().flat_map(|row| row.statuses.values());
    let errors = inner.clone().flat_map(|row| &row.errors);
    for count in step.statuses.values().chain(statuses) {
        no_more("the number of a status", *count, MOST)?;
    }
    for error in step.errors.iter().chain(errors) {
        no_more("the number of an error", error.count, MOST)?;
    }
    for row in inner {
        let name = |what: &str| format!("`{what}` of its request `{}`", row.name);
        no_more(&name("requests"), row.requests, MOST)?;
        no_more(&name("failed"), row.failed, MOST)?;
        check_histogram(&name("service"), &row.service)?;
    }
    Ok(())
}

fn of_cells(cells: &Cells) -> Check {
    if cells.width == 0 || cells.width > LONGEST / 64 {
        return Err(format!("its cells are {} s wide", cells.width));
    }
    if cells.cells.len() > Cells::LIMIT {
        return Err(format!("it has {} cells", cells.cells.len()));
    }
    for cell in &cells.cells {
        let what = |name: &str| format!("`{name}` of the cell at {} s", cell.second);
        no_more("the second of a cell", cell.second.into(), LONGEST.into())?;
        no_more(&what("seconds"), cell.seconds.into(), LONGEST.into())?;
        for (name, value) in [
            ("started", cell.started),
            ("ok", cell.ok),
            ("failed", cell.failed),
            ("dropped", cell.dropped),
            ("waited", cell.waited),
            ("latest_us", cell.latest_us),
            ("longest_wait_us", cell.longest_wait_us),
            ("worker_cpu_us", cell.health.worker_cpu_us),
            ("longest_stall_us", cell.health.longest_stall_us),
            ("throttled_us", cell.health.throttled_us),
        ] {
            no_more(&what(name), value, MOST)?;
        }
        for count in cell.errors.values() {
            no_more(&what("errors"), *count, MOST)?;
        }
        for step in &cell.steps {
            for value in [step.executed, step.failed, step.skipped] {
                no_more(&what("steps"), value, MOST)?;
            }
        }
    }
    Ok(())
}

fn of_search(search: &Search) -> Check {
    for trial in &search.trials {
        let rate = trial.attempt.per_second;
        if !(rate.is_finite() && rate >= 0.0) {
            return Err(format!("a rate that was tried is {rate}"));
        }
        if let Some(errors) = trial.error_rate {
            check_share("an error rate", errors)?;
        }
    }
    Ok(())
}

fn no_more(name: &str, value: u64, most: u64) -> Check {
    if value > most {
        return Err(format!("{name} is {value}, which no run comes to"));
    }
    Ok(())
}

fn check_histogram(name: &str, times: &Histogram) -> Check {
    no_more(
        &format!("the number of times in {name}"),
        times.count(),
        MOST,
    )
}

fn check_share(name: &str, share: f64) -> Check {
    if !(0.0..=1.0).contains(&share) {
        return Err(format!(
            "{name} is {share}, and a share lies between 0 and 1"
        ));
    }
    Ok(())
}

fn check_index(name: impl Display, step: usize, steps: usize) -> Check {
    if step >= steps {
        return Err(format!(
            "{name} is of step {}, and there are {steps}",
            step.saturating_add(1)
        ));
    }
    Ok(())
}

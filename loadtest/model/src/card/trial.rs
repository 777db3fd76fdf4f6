//! The outcome of a trial: the SLO held, the target missed it, or the generator was at its limit.
//!
//! Slowness of the target is the target's, waits for its users included. It is the generator's
//! where the run is invalid, where the generator had no processor time, or where the SLO would have held
//! had no arrival been late or waited for a user.

use super::observed::judge_condition;
use super::{Card, ThresholdRow, Trust, ValidityCause, judge_busy_workers, judge_throttling};
use crate::capacity::{Attempt, Measured, ObservedCondition, Purpose, Trial, TrialOutcome};
use crate::definition::{Metric, Part, Shape};
use crate::display;
use crate::metrics::Histogram;
use crate::record::ScenarioRecord;
use std::time::Duration;

/// The share of the arrivals that must come to an end.
const FINISHED: f64 = 0.99;
/// The share of the due rate from which a target keeps up: arrivals at random, and journeys that are in flight when a
/// part begins and when it ends, move the rate of a sound run by a few percent.
pub(super) const KEPT_UP: f64 = 0.95;
/// Seconds and journeys below which that share is chance.
const LONG_ENOUGH: f64 = 3.0;
const ENOUGH: f64 = 3.0;
/// Standard errors by which the mean of what ended in a second has to be below the rate to say that a queue grew.
const SURE: f64 = 4.0;
/// The share of the time for which the system may throttle the generator.
const THROTTLED: f64 = 0.01;

/// Judges the run that tried `per_second`; the SLO is its thresholds and conditions on what was observed.
pub fn judge_trial(
    record: &ScenarioRecord,
    card: &Card,
    per_second: f64,
    purpose: Purpose,
    observed: &[ObservedCondition],
) -> Trial {
    let observed = observed.iter();
    let (observed, broken): (Vec<_>, Vec<_>) = observed
        .map(|condition| judge_condition(condition, record, &card.course))
        .unzip();
    let broken = broken.into_iter().flatten().collect();
    let Judgement {
        outcome,
        reasons,
        help,
    } = judge_run(record, card, broken);
    let (ramp_up, duration) = measured_span(record);
    Trial {
        attempt: Attempt {
            per_second,
            purpose,
            outcome,
        },
        window: duration.saturating_sub(ramp_up),
        achieved_per_second: card.headline.achieved_per_second,
        p95: card.headline.time.p95,
        error_rate: card.headline.error_rate,
        slo: card
            .thresholds
            .iter()
            .map(|row| Measured {
                actual: row.actual,
                words: row.actual_words.clone(),
                held: row.passed,
            })
            .chain(observed)
            .collect(),
        reasons,
        help,
        observed: Vec::new(),
    }
}

struct Judgement {
    outcome: TrialOutcome,
    reasons: Vec<String>,
    help: Option<String>,
}

impl Judgement {
    /// Judges that the generator was at its limit, with everything else that was seen.
    fn of_generator(cause: ValidityCause, rest: Vec<String>) -> Self {
        Self {
            outcome: TrialOutcome::GeneratorLimited,
            reasons: std::iter::once(cause.what).chain(rest).collect(),
            help: Some(cause.remedy),
        }
    }
}

/// Judges a run of which the conditions on what was observed are broken for these reasons.
fn judge_run(record: &ScenarioRecord, card: &Card, observed: Vec<String>) -> Judgement {
    let broken: Vec<&ThresholdRow> = card.thresholds.iter().filter(|row| !row.passed).collect();
    let mut reasons: Vec<String> = broken.iter().map(|row| row.reason()).collect();
    let is_past_target = !observed.is_empty();
    reasons.extend(observed);
    reasons.extend(explain_unfinished(record));
    reasons.extend(fell_behind(record, card));
    let death = record.end.target_death.as_ref();
    reasons.extend(death.map(|death| format!("the target did not survive the run: {death}")));
    // The worst comes first.
    let invalid = card.validity.causes.first();
    if let Some(cause) = invalid.filter(|cause| cause.trust == Trust::Invalid) {
        return Judgement::of_generator(cause.clone(), reasons);
    }
    if record.end.out_of_rows {
        return Judgement::of_generator(out_of_rows(record), reasons);
    }
    if reasons.is_empty() {
        return Judgement {
            outcome: TrialOutcome::Met,
            reasons,
            help: None,
        };
    }
    // What the target uses is not the generator's doing.
    let excuse = find_excuse(record, card, &broken).filter(|_| !is_past_target);
    match excuse {
        Some(cause) => Judgement::of_generator(cause, reasons),
        None => Judgement {
            outcome: TrialOutcome::Missed,
            reasons,
            help: None,
        },
    }
}

fn new_cause(what: String, remedy: &str) -> ValidityCause {
    ValidityCause {
        trust: Trust::Degraded,
        what,
        remedy: remedy.to_owned(),
    }
}

fn out_of_rows(record: &ScenarioRecord) -> ValidityCause {
    let feed = record.start.plan.rows.as_ref().map(|limit| &*limit.feed);
    new_cause(
        format!(
            "the feed `{}` ran out of rows before the window was over",
            feed.unwrap_or("?")
        ),
        "add rows, or start again after the last row: `.cycle()`",
    )
}

/// Explains that not all arrivals came to an end.
fn explain_unfinished(record: &ScenarioRecord) -> Option<String> {
    let journey = &record.windows.steady.journey;
    let ended = journey.ok + journey.failed;
    let due = ended + journey.dropped + journey.cancelled;
    (due > 0 && (ended as f64) < FINISHED * due as f64).then(|| {
        format!(
            "only {1} of {0} ended",
            display::format_counted(due, "arrival"),
            display::format_count(ended)
        )
    })
}

/// Explains that iterations ended more slowly than they arrived, so that a queue grows.
fn fell_behind(record: &ScenarioRecord, card: &Card) -> Option<String> {
    let (ramp_up, duration) = measured_span(record);
    let half = duration.saturating_sub(ramp_up) / 2;
    let steps = record.start.definition.steps.iter();
    let think: Duration = steps.filter_map(|step| Some(step.think?.longest())).sum();
    // Of journeys that take longer, those that end now arrived while the rate still rose.
    if card.headline.time.p95? + think > half {
        return None;
    }
    let rate = record.start.plan.load.peak();
    let ended = ended_by_second(record, ramp_up + half, duration)?;
    let seconds = ended.len() as f64;
    if seconds < LONG_ENOUGH {
        return None;
    }
    let mean = ended.iter().sum::<f64>() / seconds;
    let missing = rate - mean;
    let spread: f64 = ended.iter().map(|count| (count - mean).powi(2)).sum();
    let standard_error = (spread / (seconds - 1.0) / seconds).sqrt();
    let ended = mean;
    // Little is missing of a rate just above the capacity, but in each second.
    let grows_steadily = missing > SURE * standard_error;
    let is_behind = missing * seconds > ENOUGH && (ended < KEPT_UP * rate || grows_steadily);
    is_behind.then(|| {
        format!(
            "journeys ended at {} while {} arrived: a queue grew",
            display::format_rate(ended),
            display::format_rate(rate)
        )
    })
}

/// The seconds that are wholly between two times of a run.
fn whole_seconds(from: Duration, to: Duration) -> std::ops::Range<u32> {
    from.as_secs_f64().ceil() as u32..to.as_secs() as u32
}

/// Returns the iterations that ended in each second between two times of a run; `None` where no second is known.
fn ended_by_second(record: &ScenarioRecord, from: Duration, to: Duration) -> Option<Vec<f64>> {
    let seconds = whole_seconds(from, to);
    let cells = &record.cells;
    if cells.width > 1 || cells.cells.is_empty() || seconds.is_empty() {
        return None;
    }
    let mut ended = vec![0.0; seconds.len()];
    for cell in &cells.cells {
        if seconds.contains(&cell.second) {
            ended[(cell.second - seconds.start) as usize] += (cell.ok + cell.failed) as f64;
        }
    }
    Some(ended)
}

/// Returns the reason why the generator, and not the target, may have broken the SLO.
fn find_excuse(
    record: &ScenarioRecord,
    card: &Card,
    broken: &[&ThresholdRow],
) -> Option<ValidityCause> {
    let generator = &card.generator;
    let is_judged = !record.start.validity_off;
    if let Some(cause) = judge_busy_workers(generator).filter(|_| is_judged) {
        return Some(cause);
    }
    if is_judged && generator.throttled.as_secs_f64() > THROTTLED * generator.seconds as f64 {
        return judge_throttling(generator);
    }
    let journey = &record.windows.steady.journey;
    let started = journey.started + journey.dropped;
    let late = |row: &ThresholdRow| quantile_of_all(&journey.lateness, row, started);
    if is_judged && !broken.is_empty() && broken.iter().all(|row| holds_without(row, late(row))) {
        return Some(new_cause(
            "the generator started iterations late; otherwise the SLO would have held".to_owned(),
            "use a machine with more or idle processors, or a release build",
        ));
    }
    let waited = |row: &ThresholdRow| quantile_of_all(&journey.waits, row, started);
    // What never began waited until the end, and is an error of the journey.
    let is_wait = |row: &ThresholdRow| match row.metric {
        Metric::Errors => row.step.is_none() && never_began(card, row),
        _ => holds_without(row, waited(row)),
    };
    (generator.waited > 0 && broken.iter().all(|row| is_wait(row))).then(|| {
        let users = display::format_counted(u64::from(record.start.plan.max_users), "virtual user");
        new_cause(
            format!(
                "arrivals waited because all {users} were busy; otherwise the SLO would have held"
            ),
            "raise `max_users` of the scenario, or give `--max-users`",
        )
    })
}

/// Returns true if the limit of errors would hold, counting only iterations that began.
fn never_began(card: &Card, row: &ThresholdRow) -> bool {
    let headline = &card.headline;
    headline.failed as f64 <= row.bound * (headline.ok + headline.failed) as f64
}

/// Returns true if a condition on times would hold, had everything taken `less`.
fn holds_without(row: &ThresholdRow, less: Duration) -> bool {
    // Parts of a request begin when it is sent, however late that is.
    let is_time = matches!(row.metric, Metric::Time(Part::Whole | Part::FirstEvent, _));
    let actual = row.actual.filter(|_| is_time);
    actual.is_some_and(|actual| actual - less.as_nanos() as f64 / 1e3 < row.bound)
}

/// The time at the quantile of a condition, of `all` where those that are not in the histogram had none.
fn quantile_of_all(times: &Histogram, row: &ThresholdRow, all: u64) -> Duration {
    let quantile = row.metric.quantile().unwrap_or(0.95);
    let share = times.count() as f64 / all.max(1) as f64;
    let within = 1.0 - (1.0 - quantile) / share.max(f64::MIN_POSITIVE);
    if within <= 0.0 {
        return Duration::ZERO;
    }
    times.quantile(within.min(1.0)).unwrap_or_default()
}

fn measured_span(record: &ScenarioRecord) -> (Duration, Duration) {
    match record.start.plan.load.shape {
        Shape::Rate {
            ramp_up, duration, ..
        } => (ramp_up, duration),
        _ => (
            Duration::ZERO,
            record.start.plan.load.duration().unwrap_or_default(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::sample;
    use crate::definition::{Bound, Comparator, Threshold};
    use crate::metrics::{Cell, EndedTally, Health};
    use crate::plan::{ScopedThreshold, with_error_limit};
    use crate::record::{ObservedFigure, ObservedLimit, ObservedSeries};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A trial at 100/s over ten seconds, each answer within 10 ms.
    fn record() -> ScenarioRecord {
        let mut record = sample::record(&["ask"]);
        let threshold = Threshold::new(Metric::P95, Comparator::Less, Bound::Time(ms(300)));
        record.start.plan.thresholds = with_error_limit(vec![ScopedThreshold {
            step: None,
            group: None,
            tagged: Vec::new(),
            threshold,
            implied: false,
        }]);
        record.cells.cells = (0..10)
            .map(|second| Cell {
                second,
                seconds: 1,
                ok: 100,
                ..Cell::default()
            })
            .collect();
        record
    }

    fn slow(record: &mut ScenarioRecord, time: Duration) {
        let tally = &mut record.windows.steady;
        tally.steps[0].response = Histogram::default();
        tally.steps[0].response.record_n(time, 1_000);
        tally.journey.time = tally.steps[0].response.clone();
    }

    fn judge(record: &ScenarioRecord, observed: &[ObservedCondition]) -> Trial {
        let card = Card::grade(record, None);
        judge_trial(record, &card, 100.0, Purpose::Search, observed)
    }

    fn judged(record: &ScenarioRecord) -> (TrialOutcome, String) {
        let trial = judge(record, &[]);
        (trial.attempt.outcome, trial.reasons.join("; "))
    }

    #[track_caller]
    fn comes_to(record: &ScenarioRecord, outcome: TrialOutcome, why: &str) {
        let (found, reasons) = judged(record);
        assert_eq!(found, outcome, "{reasons}");
        assert!(reasons.contains(why), "{reasons}");
    }

    #[test]
    fn a_slo_that_holds_is_met() {
        assert_eq!(judged(&record()), (TrialOutcome::Met, String::new()));
    }

    #[test]
    fn a_slow_target_misses_it() {
        let mut record = record();
        slow(&mut record, ms(400));
        comes_to(&record, TrialOutcome::Missed, "p95 of `ask`: 400 ms");
        // Also where its users all wait for it.
        record.windows.steady.journey.waits.record_n(ms(50), 900);
        comes_to(&record, TrialOutcome::Missed, "p95 of `ask`: 400 ms");
    }

    #[test]
    fn users_that_ran_out_before_the_target_did_are_the_generators_limit() {
        let mut record = record();
        slow(&mut record, ms(400));
        record.windows.steady.journey.waits.record_n(ms(350), 900);
        comes_to(
            &record,
            TrialOutcome::GeneratorLimited,
            "arrivals waited because all",
        );
        record.windows.steady.journey.dropped = 100;
        record.end.planned += 100;
        comes_to(
            &record,
            TrialOutcome::GeneratorLimited,
            "arrivals waited because all",
        );
        // Failures are the target's.
        let tally = &mut record.windows.steady;
        (tally.journey.ok, tally.journey.failed) = (900, 100);
        comes_to(&record, TrialOutcome::Missed, "errors of the journey");
    }

    #[test]
    fn a_generator_without_processor_time_is_the_limit_and_only_of_what_broke() {
        let mut record = record();
        for cell in &mut record.cells.cells {
            cell.health = Health {
                busiest_worker: 0.97,
                ..Health::default()
            };
        }
        assert_eq!(judged(&record), (TrialOutcome::Met, String::new()));
        slow(&mut record, ms(400));
        comes_to(
            &record,
            TrialOutcome::GeneratorLimited,
            "over 90 % of its core",
        );
    }

    #[test]
    fn late_starts_are_an_excuse_where_they_make_the_difference() {
        let mut record = record();
        record
            .windows
            .steady
            .journey
            .lateness
            .record_n(ms(9), 1_000);
        slow(&mut record, ms(305));
        comes_to(
            &record,
            TrialOutcome::GeneratorLimited,
            "started iterations late",
        );
        slow(&mut record, ms(320));
        comes_to(&record, TrialOutcome::Missed, "p95 of `ask`: 320 ms");
    }

    #[test]
    fn an_invalid_run_says_nothing_even_where_the_slo_held() {
        let mut record = record();
        record
            .windows
            .steady
            .journey
            .lateness
            .record_n(ms(50), 1_000);
        comes_to(
            &record,
            TrialOutcome::GeneratorLimited,
            "the generator fell behind",
        );
    }

    #[test]
    fn a_queue_that_grows_within_the_slo_misses_it() {
        let mut record = record();
        for cell in &mut record.cells.cells[5..] {
            cell.ok = 90;
        }
        comes_to(
            &record,
            TrialOutcome::Missed,
            "ended at 90/s while 100/s arrived",
        );
        // Little is missing, but in each second.
        for (cell, ok) in record.cells.cells[5..].iter_mut().zip([96, 97, 96, 97, 96]) {
            cell.ok = ok;
        }
        comes_to(
            &record,
            TrialOutcome::Missed,
            "ended at 96.4/s while 100/s arrived",
        );
        for (cell, ok) in record.cells.cells[5..]
            .iter_mut()
            .zip([104, 84, 104, 92, 98])
        {
            cell.ok = ok;
        }
        assert_eq!(judged(&record).0, TrialOutcome::Met);
        // Journeys of half the window may not have ended yet.
        slow(&mut record, ms(5_100));
        record.cells.cells[9].ok = 0;
        assert!(!judged(&record).1.contains("a queue grew"));
    }

    #[test]
    fn what_ended_after_the_window_was_not_achieved_in_it() {
        let mut record = record();
        let achieved = |record: &ScenarioRecord| {
            let trial = judge(record, &[]);
            trial.achieved_per_second
        };
        assert_eq!(achieved(&record), Some(100.0));
        let mut ended = EndedTally {
            journeys: 700,
            ..EndedTally::default()
        };
        ended.step(0).sent = 700;
        record.windows.steady.ended = Some(Box::new(ended));
        assert_eq!(achieved(&record), Some(70.0));
    }

    #[test]
    fn a_condition_on_what_was_observed_is_a_part_of_the_slo() {
        let mut record = record();
        let condition = ObservedCondition {
            name: "db cpu".to_owned(),
            unit: "cores".to_owned(),
            limit: ObservedLimit {
                figure: ObservedFigure::Max,
                comparison: Comparator::Less,
                bound: 3.5,
                abort_after: None,
            },
        };
        let judge = |record: &ScenarioRecord| {
            let trial = judge(record, std::slice::from_ref(&condition));
            let last = trial.slo.last().unwrap().clone();
            (
                trial.attempt.outcome,
                trial.reasons.join("; "),
                last.words,
                last.held,
            )
        };
        let unknown = "max of `db cpu` is not known, and must be < 3.5 cores: values cover only 0 of 10 points of the steady part";
        let missed = |why: &str, words: &str| {
            (
                TrialOutcome::Missed,
                why.to_owned(),
                words.to_owned(),
                false,
            )
        };
        assert_eq!(judge(&record), missed(unknown, "–"));
        let mut series = ObservedSeries {
            name: "db cpu".to_owned(),
            unit: "cores".to_owned(),
            source: "http://127.0.0.1:9090".into(),
            width: 1,
            points: Vec::new(),
            limit: None,
            gap: None,
        };
        for second in 0..4 {
            series.add(second, 3.0);
        }
        record.observed.push(series);
        let too_few = unknown.replace("0 of 10", "4 of 10");
        assert_eq!(judge(&record), missed(&too_few, "3 cores"));
        record.observed[0].add(4, 3.4);
        let met = (
            TrialOutcome::Met,
            String::new(),
            "3.4 cores".to_owned(),
            true,
        );
        assert_eq!(judge(&record), met);
        record.observed[0].add(5, 3.9);
        let broken = "max of `db cpu`: 3.9 cores, and must be < 3.5 cores";
        assert_eq!(judge(&record), missed(broken, "3.9 cores"));
        // What the generator did is no excuse for what the target used.
        record.windows.steady.journey.waits.record_n(ms(50), 900);
        assert_eq!(judge(&record), missed(broken, "3.9 cores"));
    }

    #[test]
    fn what_was_cut_off_or_never_began_was_not_achieved() {
        let mut record = record();
        let tally = &mut record.windows.steady;
        tally.journey.ok = 900;
        tally.journey.cancelled = 100;
        tally.steps[0].executed = 900;
        tally.steps[0].ok = 900;
        tally.steps[0].cancelled = 100;
        tally.steps[0].requests = 1_000;
        let (outcome, reasons) = judged(&record);
        assert_eq!(outcome, TrialOutcome::Missed, "{reasons}");
        assert!(
            reasons.contains("only 900 of 1\u{202f}000 arrivals ended"),
            "{reasons}"
        );
    }
}

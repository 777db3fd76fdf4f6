//! Remarks that do not decide the verdict.

use super::Card;
use super::step::StepRow;
use super::threshold::ThresholdRow;
use super::trial::KEPT_UP;
use super::verdict::Verdict;
use crate::definition::Letter;
use crate::definition::{Metric, Part};
use crate::display;
use crate::metrics::JourneyTally;
use crate::record::ScenarioRecord;

/// The memory from which a remark says what holds it: a load of ten thousand users takes a tenth of it.
const MUCH_MEMORY: u64 = 1_000_000_000;

/// The journeys that did not end in the measured part from which a remark says so.
const MANY_LATE: f64 = 10.0;

/// The share of events that came together with the one before from which a remark says so.
const MANY_JOINED: f64 = 0.1;

/// The WebSockets opened anew, as a share of the journeys, from which a remark says so.
const MANY_REOPENED: f64 = 0.1;

/// The share of requests that the client sent again by itself from which a remark says so: what a target gives up so often
/// is seen by its users.
const MANY_RESENT: f64 = 0.01;

/// The share of sampled journeys from which a remark says so.
const MUCH_SAMPLED: f64 = 0.1;
/// The same, of sampled journeys per second.
const MUCH_SAMPLED_PER_SECOND: f64 = 100.0;

/// The remarks on a card that is otherwise complete.
pub(super) fn collect_remarks(card: &Card, record: &ScenarioRecord) -> Vec<String> {
    let died = record
        .end
        .target_death
        .as_ref()
        .map(|death| format!("the target did not survive the run: {death}"));
    died.into_iter()
        .chain(ran_out(record))
        .chain(note_growing_queue(card))
        .chain(note_few_samples(card))
        .chain(note_clipped_times(record))
        .chain(note_much_memory(card, record))
        .chain(note_odd_answers(record))
        .chain(note_resent_requests(card))
        .chain(note_much_tracing(record))
        .chain(note_lost_samples(record))
        .chain(note_joined_events(card))
        .chain(note_silent_streams(card, record))
        .chain(note_reopened_sockets(card))
        .chain(note_unsent_ticks(record))
        .chain(note_named_ids(card))
        .chain(never_came(card, record))
        .chain(explain_contrast(card))
        .collect()
}

/// Remarks that a feed ended the load.
fn ran_out(record: &ScenarioRecord) -> Option<String> {
    let limit = record
        .start
        .plan
        .rows
        .as_ref()
        .filter(|_| record.end.out_of_rows)?;
    let feed = display::quote_name(&limit.feed);
    let iterations = |count| display::format_counted(count, "iteration");
    Some(if record.end.planned < limit.rows {
        format!(
            "the feed {feed} ran out of rows for some users, who stopped early: it has rows for {}, \
             dealt to all users in turn, and {} began",
            iterations(limit.rows),
            iterations(record.end.planned)
        )
    } else {
        format!(
            "the feed {feed} ran out of rows after {}: the load ended there",
            iterations(limit.rows)
        )
    })
}

/// Remarks that fewer journeys ended in the measured part than were due in it.
fn note_growing_queue(card: &Card) -> Option<String> {
    let headline = &card.headline;
    let (due, ended) = (headline.target_per_second?, headline.achieved_per_second?);
    let seconds = card.setting.steady_us as f64 / 1e6;
    if ended >= KEPT_UP * due || (due - ended) * seconds < MANY_LATE {
        return None;
    }
    Some(format!(
        "journeys ended at {} in the measured part, where {} were due: the rest ended after it, or never",
        display::format_rate(ended),
        display::format_rate(due)
    ))
}

/// Remarks that a limit is on a percentile of so few times that it is their longest.
fn note_few_samples(card: &Card) -> Option<String> {
    let few = |row: &&ThresholdRow| {
        let quantile = match row.metric {
            Metric::Time(_, statistic) | Metric::Timing(_, statistic) => statistic.quantile(),
            _ => None,
        };
        row.samples > 0
            && quantile.is_some_and(|at| at > 0.5 && (row.samples as f64) * (1.0 - at) < 1.0 - 1e-9)
    };
    let few: Vec<String> = (card.thresholds.iter().filter(few))
        .map(|row| {
            format!(
                "`{}` is on {}",
                row.condition,
                display::format_counted(row.samples, "time")
            )
        })
        .collect();
    (!few.is_empty()).then(|| {
        format!(
            "{}: so few have no such percentile, and the limit is on the longest",
            few.join(", ")
        )
    })
}

/// Remarks that some times were longer than percentiles can tell.
fn note_clipped_times(record: &ScenarioRecord) -> Option<String> {
    let (mut journeys, mut steps) = (0, 0);
    for tally in [&record.windows.ramp, &record.windows.steady] {
        journeys += tally.journey.time.clipped() + tally.journey.failed_time.clipped();
        for step in &tally.steps {
            steps += step.response.clipped() + step.failed_response.clipped();
        }
    }
    let most = journeys.max(steps);
    (most > 0).then(|| {
        format!(
            "{} took longer than an hour: the percentiles count them as an hour, the maximum is exact",
            display::format_counted(most, if journeys >= steps { "journey" } else { "request" })
        )
    })
}

/// Remarks that the process of the load test grew large, and what makes it grow.
fn note_much_memory(card: &Card, record: &ScenarioRecord) -> Option<String> {
    let memory = card.generator.memory_bytes;
    let users = record
        .cells
        .cells
        .iter()
        .map(|cell| cell.active_users)
        .max();
    let users = u64::from(users.unwrap_or(0).max(1));
    (memory >= MUCH_MEMORY).then(|| {
        format!(
            "the load test took up to {} of memory, {} for each of {}: a user keeps what its steps returned until \
             its iteration ends, and its states until the load ends",
            display::format_bytes(memory),
            display::format_bytes(memory / users),
            display::format_counted(users, "virtual user")
        )
    })
}

/// Remarks that so many journeys are sampled that the target does more than without traces.
fn note_much_tracing(record: &ScenarioRecord) -> Option<String> {
    let journeys = |count: fn(&JourneyTally) -> u64| {
        let windows = record.windows.all().into_iter();
        windows.map(|window| count(&window.journey)).sum::<u64>()
    };
    let sampled = journeys(|journeys| journeys.sampled) as f64;
    let share = sampled / journeys(|journeys| journeys.started).max(1) as f64;
    let seconds = record.end.elapsed_us as f64 / 1e6;
    let is_much = share > MUCH_SAMPLED || sampled / seconds.max(1.0) > MUCH_SAMPLED_PER_SECOND;
    is_much.then(|| {
        format!(
            "traced: {} of journeys; recording this many traces slows the target down",
            display::format_percent(share)
        )
    })
}

/// Remarks that the target closes WebSockets that are to last, so that the figures hold handshakes.
fn note_reopened_sockets(card: &Card) -> Option<String> {
    let reopened = card.websockets.as_ref()?.tally.reopened;
    let is_many = reopened as f64 > MANY_REOPENED * card.accounts.started as f64;
    is_many.then(|| {
        format!(
            "the target closed {} that should last, and users reopened them: the figures include handshakes that \
             users of a lasting connection do not see",
            display::format_counted(reopened, "WebSocket")
        )
    })
}

/// Remarks on ticks of a beat that were overdue when the load ended.
fn note_unsent_ticks(record: &ScenarioRecord) -> Vec<String> {
    let steps = record.start.definition.steps.iter().enumerate();
    let notes = steps.filter_map(|(at, step)| {
        let windows = record.windows.all().into_iter();
        let tallies = windows.filter_map(|window| window.steps.get(at));
        let unsent: u64 = tallies.map(|tally| tally.unsent_ticks).sum();
        (unsent > 0).then(|| {
            let were = if unsent == 1 { "was" } else { "were" };
            format!(
                "{} of `vu.beat(..)` in {} {were} overdue when the load ended: the target was too slow for them, \
                 nothing was sent for them, and they are in no figure",
                display::format_counted(unsent, "tick"),
                display::quote_name(&step.name)
            )
        })
    });
    notes.collect()
}

/// Remarks on rows that are many, since their names hold ids.
fn note_named_ids(card: &Card) -> impl Iterator<Item = String> + '_ {
    let rows = |step: &'_ StepRow| -> Vec<String> {
        let names = step.inner.iter().filter_map(|row| {
            let sum = format!("{} here is the sum of", display::quote_name(&row.name));
            Some(format!("{sum} {}", row.describe_names()?))
        });
        names.collect()
    };
    card.steps.iter().filter_map(move |step| {
        let rows = rows(step);
        let name = display::quote_name(&step.name);
        (!rows.is_empty()).then(|| {
            format!(
                "the rows of {name} have names with ids: {}. Name them without the id, so that a limit can be on the row",
                rows.join(", ")
            )
        })
    })
}

/// Remarks on odd answers of a step that are no failures.
fn note_odd_answers(record: &ScenarioRecord) -> Vec<String> {
    let mut remarks = Vec::new();
    for (at, step) in record.start.definition.steps.iter().enumerate() {
        let windows = record.windows.all().into_iter();
        let tallies = windows.filter_map(|window| window.steps.get(at));
        let (ambiguous, unsolicited) = tallies.fold((0, 0), |(ambiguous, unsolicited), tally| {
            (ambiguous + tally.ambiguous, unsolicited + tally.unsolicited)
        });
        let name = display::quote_name(&step.name);
        if ambiguous > 0 {
            remarks.push(format!(
                "{} in {name} had both a `content-length` and a `transfer-encoding` (`http.ambiguous`): the \
                 latter applies, but a proxy in between may read them differently",
                display::format_counted(ambiguous, "answer")
            ));
        }
        if unsolicited > 0 {
            let were = if unsolicited == 1 { "was" } else { "were" };
            remarks.push(format!(
                "{} {were} closed in {name} because the server sent unrequested bytes \
                 (`http.unsolicited`): none of them was treated as an answer",
                display::format_counted(unsolicited, "connection")
            ));
        }
    }
    remarks
}

/// Remarks on steps of which the client sent many requests again by itself.
fn note_resent_requests(card: &Card) -> impl Iterator<Item = String> + '_ {
    card.steps.iter().filter_map(|step| {
        let share = step.resent as f64 / step.requests.max(1) as f64;
        (share > MANY_RESENT).then(|| {
            format!(
                "{} of {} of {} ({}) were sent again by the client, and are in no error rate: the target closed the \
                 kept connection while they were sent, or refused their stream; give it a longer keep-alive time than the \
                 pauses of users, or more streams",
                display::format_count(step.resent),
                display::format_counted(step.requests, "request"),
                display::quote_name(&step.name),
                display::format_percent(share)
            )
        })
    })
}

/// Remarks on streams of which many events came together with the one before.
fn note_joined_events(card: &Card) -> impl Iterator<Item = String> + '_ {
    card.steps.iter().filter_map(|step| {
        let share = step.stream.as_ref()?.together?;
        (share > MANY_JOINED).then(|| {
            format!(
                "{} of the events of {} came together with the one before: the gaps say how the network delivered \
                 them; `per_unit` is the pace of the target",
                display::format_percent(share),
                display::quote_name(&step.name)
            )
        })
    })
}

/// Remarks on streams that ended well and in which no event counts, so that nothing is known of their first one.
fn note_silent_streams(card: &Card, record: &ScenarioRecord) -> impl Iterator<Item = String> {
    let steps = record.start.definition.steps.iter().zip(&card.steps);
    let notes = steps.filter_map(|(def, step)| {
        let stream = def.stream.as_ref()?;
        let begun = step.stream.as_ref();
        let begun = begun.map_or(0, |stream| stream.first_event.samples);
        let silent = step.ok.saturating_sub(begun);
        let (missing, question) = match stream.first {
            Some(_) => ("an event that counts", ": is its `first` right?"),
            None => ("an event", ""),
        };
        (silent > 0).then(|| {
            format!(
                "{} of {} ended without {missing}, and are graded by their whole time{question}",
                display::format_counted(silent, "stream"),
                display::quote_name(&step.name)
            )
        })
    });
    notes.collect::<Vec<_>>().into_iter()
}

/// Remarks that raw samples are missing.
fn note_lost_samples(record: &ScenarioRecord) -> Option<String> {
    let samples = record.end.samples.as_ref()?;
    let why = match &samples.ended {
        Some(reason) => format!("the file for them ended: {reason}"),
        None => "they came faster than they could be written".to_owned(),
    };
    (samples.lost > 0).then(|| {
        let lost = display::format_counted(samples.lost, "sample");
        format!(
            "{lost} of the load were lost, because {why}; no figure of this report is computed from samples"
        )
    })
}

/// Limits on what the scenario was to count or time by itself, or on requests that a step was to send, and never
/// did: a name may be misspelt.
fn never_came(card: &Card, record: &ScenarioRecord) -> Vec<String> {
    let own = &record.windows.steady.own;
    let mut remarks = Vec::new();
    for row in &card.thresholds {
        let sender = card
            .steps
            .iter()
            .find(|step| row.step.as_ref() == Some(&step.name));
        let scenario = |does: &str| format!("the scenario {does}");
        let (does, name, names): (String, &str, Vec<&String>) =
            match (&row.metric, &row.row, sender) {
                (_, Some(name), Some(step)) => (
                    format!("the step {} sends", display::quote_name(&step.name)),
                    name,
                    step.inner.iter().map(|row| &row.name).collect(),
                ),
                (Metric::Count(name) | Metric::Rate(name), ..) => {
                    (scenario("counts"), name, own.counters.keys().collect())
                }
                (Metric::Timing(name, _), ..) => {
                    (scenario("times"), name, own.timings.keys().collect())
                }
                (Metric::Gauge(name, _), ..) => {
                    (scenario("sets"), name, own.gauges.keys().collect())
                }
                _ => continue,
            };
        if names.iter().any(|known| *known == name) {
            continue;
        }
        let some = names.iter().take(4).map(|name| display::quote_name(name));
        let some: Vec<_> = some.collect();
        let does = match (some.is_empty(), names.len() > 4) {
            (true, _) => format!("{does} nothing"),
            (false, more) => format!(
                "{does} {}{}",
                some.join(", "),
                if more { ", .." } else { "" }
            ),
        };
        let remedy = match row.metric {
            Metric::Count(_) | Metric::Rate(_) => {
                format!("; if nothing happened, write `vu.count(\"{name}\", 0)`")
            }
            _ => String::new(),
        };
        remarks.push(format!(
            "the threshold `{}` is on a name that was never recorded: {does}{remedy}",
            row.condition
        ));
    }
    remarks
}

/// Explains an excellent grade beside a failed verdict.
fn explain_contrast(card: &Card) -> Option<String> {
    let excellent = card
        .grade
        .letter
        .is_some_and(|letter| letter >= Letter::AMinus);
    if card.verdict != Verdict::Failed || !excellent {
        return None;
    }
    let broken = || card.thresholds.iter().filter(|row| !row.passed);
    let stricter = broken().find_map(|row| find_stricter_policy(card, row));
    let other = broken().next().map(|row| {
        if row.row.is_some() {
            format!(
                "`{}` is a limit on requests within a step; the grade rates whole steps",
                row.condition
            )
        } else if row.tag.is_some() {
            format!(
                "the grade rates each step by itself; `{}` is a limit on several steps",
                row.condition
            )
        } else if row.step.is_none() && !card.headline.single_request {
            format!(
                "the grade rates each step by itself; `{}` is a limit on the whole journey",
                row.condition
            )
        } else if matches!(&row.metric, Metric::Time(part, at) if *part == graded_part(card, row) && at.quantile().is_some()) {
            format!(
                "the grade counts an answer of up to 4 T as half; `{}` does not",
                row.condition
            )
        } else {
            format!(
                "the grade rates times and errors; `{}` does not affect it",
                row.condition
            )
        }
    });
    stricter.or(other)
}

/// The part of executions that the step of a threshold is graded by.
fn graded_part(card: &Card, row: &ThresholdRow) -> Part {
    let mut steps = card.steps.iter();
    let step = steps.find(|step| row.step.as_ref() == Some(&step.name));
    step.map_or(Part::Whole, StepRow::graded_part)
}

/// The part of the grading policy than which a threshold is stricter.
fn find_stricter_policy(card: &Card, row: &ThresholdRow) -> Option<String> {
    if row.row.is_some() || row.tag.is_some() {
        return None;
    }
    let step = match &row.step {
        Some(name) => card.steps.iter().find(|step| step.name == *name)?,
        None if card.headline.single_request => card.steps.first()?,
        None => return None,
    };
    let grade = step.grade.as_ref()?;
    let target_us = grade.target.as_nanos() as f64 / 1e3;
    let policy = match row.metric {
        Metric::Errors if row.bound < grade.budget => {
            format!(
                "an error budget of {}",
                display::format_exact_percent(grade.budget)
            )
        }
        Metric::Time(part, _) if part == step.graded_part() && row.bound < target_us => {
            format!("T = {}", display::format_span(grade.target))
        }
        _ => return None,
    };
    Some(format!(
        "the grade uses {policy}; the threshold `{}` is stricter",
        row.condition
    ))
}

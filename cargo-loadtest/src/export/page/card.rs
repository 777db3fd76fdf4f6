//! The sheet of one scenario.

use super::{
    Badge, Sentence, Sheet, SheetKind, Tile, Tone, anchor, calls, comparison, executions, findings,
    generators, is_error_rate_alarming, steps, streams, tone_of_grade, tone_of_verdict, traces,
    units, websockets,
};
use loadtest_console::console::clean;
use loadtest_model::card::{Card, Reason, Report};
use loadtest_model::comparison::ComparisonOutcome;
use loadtest_model::display;
use std::fmt::Write as _;

/// The most reasons that the verdict names.
const REASONS: usize = 8;

pub(super) fn build_sheet(report: &Report, card: &Card, at: usize) -> Sheet {
    let is_appendix = report.capacity.is_some();
    let mut about = format!("{} · {}", card.identity, card.setting.load);
    if is_appendix {
        about.insert_str(0, "the trial that shows the result · ");
    }
    let tone = tone_of_verdict(card.verdict);
    let mut remarks = list_reasons(card, tone);
    if remarks.is_empty() {
        remarks.push(Sentence::marked(Tone::Good, describe_success(card)));
    }
    let others = card.remarks.iter();
    remarks.extend(others.map(|remark| Sentence::marked(Tone::Fair, remark)));
    let sections = [
        steps::build_losses(card),
        Some(steps::build_steps(card)),
        streams::build_streams(card),
        websockets::build_websockets(card),
        calls::build_calls(card),
        steps::build_time(card),
        findings::build_over_time(card),
        findings::build_observed(card),
        findings::build_errors(card),
        steps::build_dependency_failures(card),
        findings::build_statuses(card),
        findings::build_thresholds(card),
        comparison::build_of_card(card),
        Some(findings::build_distribution(card)),
        findings::build_custom_metrics(card),
        steps::build_slowest(card),
        traces::build_traces(card),
        executions::build_executions(card),
        Some(findings::build_iterations(card)),
        Some(findings::build_measurement(card)),
        generators::build_generators(card),
        (!is_appendix).then(|| findings::build_environment(report, card)),
        findings::build_notes(card),
    ];
    let mut sections: Vec<_> = sections.into_iter().flatten().collect();
    units::share_units(&mut sections);
    Sheet {
        anchor: anchor(at),
        kind: if is_appendix {
            SheetKind::Appendix
        } else {
            SheetKind::Card
        },
        verdict: card.verdict.name().to_owned(),
        tone,
        name: card.name.clone(),
        about,
        description: card.description.clone(),
        tags: card.tags.clone(),
        badge: Some(build_badge(card)),
        remarks,
        tiles: build_tiles(card),
        tiles_note: describe_percentiles(card),
        sections,
    }
}

/// Builds the overall grade with what limits it.
fn build_badge(card: &Card) -> Badge {
    let grade = &card.grade;
    let mut notes = Vec::new();
    notes.extend(grade.score.map(display::format_score));
    let interval = grade.interval;
    notes.extend(interval.map(|(low, high)| {
        format!(
            "{} – {}",
            display::format_score(low),
            display::format_score(high)
        )
    }));
    if grade.partial && !grade.withheld {
        notes.push("partial".to_owned());
    }
    if grade.withheld {
        notes.push("withheld".to_owned());
    }
    notes.extend(
        card.min_grade
            .map(|least| format!("at least {least} required")),
    );
    Badge {
        title: "grade",
        label: grade.label(),
        tone: tone_of_grade(card),
        notes,
    }
}

/// Returns the first reasons of the verdict with their remedies, and how many more there are.
fn list_reasons(card: &Card, tone: Tone) -> Vec<Sentence> {
    let remedy = |reason: &Reason| {
        let mut causes = card.validity.causes.iter();
        causes
            .find(|cause| cause.what == reason.words)
            .map(|cause| cause.remedy.clone())
    };
    let mut reasons: Vec<_> = shown_reasons(card)
        .iter()
        .map(|reason| Sentence {
            help: remedy(reason),
            ..Sentence::marked(tone, &*reason.words)
        })
        .collect();
    let others = card.reasons.len() - reasons.len();
    if others > 0 {
        reasons.push(Sentence::marked(tone, format!("and {others} more")));
    }
    reasons
}

/// Returns the reasons that the head of the sheet names.
pub(super) fn shown_reasons(card: &Card) -> &[Reason] {
    &card.reasons[..REASONS.min(card.reasons.len())]
}

/// Describes what a run that passed has kept.
fn describe_success(card: &Card) -> String {
    let mut words = match card.thresholds.len() as u64 {
        0 => "no threshold has samples".to_owned(),
        count => format!("{} kept", display::format_counted(count, "threshold")),
    };
    if let Some(least) = card.min_grade {
        let _ = write!(words, ", graded {least} or better");
    }
    if let Some(compared) = &card.comparison {
        let state = match &compared.outcome {
            ComparisonOutcome::Compared(_) => "nothing regressed against",
            _ => "not compared with",
        };
        let baseline = display::quote_name(&clean(&compared.baseline));
        let _ = write!(words, ", {state} the baseline {baseline}");
    }
    words
}

fn build_tiles(card: &Card) -> Vec<Tile> {
    let head = &card.headline;
    let none = || display::NO_VALUE.to_owned();
    let tile = |title, figure: Option<String>| Tile {
        title,
        figure: figure.unwrap_or_else(none),
        note: String::new(),
        is_alarming: false,
    };
    let mut failed = format!("{} failed", display::format_count(head.failed));
    if head.dropped > 0 {
        let _ = write!(failed, ", {} dropped", display::format_count(head.dropped));
    }
    let (success, rate) = if head.single_request {
        ("Success rate", "RPS")
    } else {
        ("Error rate", "Journeys/s")
    };
    let errors = head.error_rate.map(|rate| {
        display::format_percent(if head.single_request {
            1.0 - rate
        } else {
            rate
        })
    });
    let target = head.target_per_second.map_or_else(
        || "closed model: no target".to_owned(),
        |target| format!("of {} targeted", display::format_rate(target)),
    );
    let quantiles = [head.time.p50, head.time.p95, head.time.p99];
    let named = ["p50", "p95", "p99"].into_iter();
    let named = named.zip(display::format_durations(&quantiles));
    let mut tiles: Vec<_> = named.map(|(title, time)| tile(title, Some(time))).collect();
    tiles.extend([
        Tile {
            note: failed,
            is_alarming: is_error_rate_alarming(card),
            ..tile(success, errors)
        },
        Tile {
            note: target,
            ..tile(rate, head.achieved_per_second.map(display::format_rate))
        },
    ]);
    if !head.single_request {
        let failures = head.dependency_failures;
        tiles.push(Tile {
            is_alarming: failures > 0,
            ..tile("Dependency failures", Some(display::format_count(failures)))
        });
    }
    tiles
}

/// Describes what the percentiles in large type measure.
fn describe_percentiles(card: &Card) -> String {
    let head = &card.headline;
    let measured = if head.single_request {
        "response time"
    } else {
        "whole journeys, without think time"
    };
    let good = (head.good_time.as_ref())
        .map_or_else(String::new, |good| format!(", including failures; {good}"));
    format!("Percentiles cover {measured}{good}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::page::Block;
    use crate::export::sample;
    use loadtest_model::card::{Point, Timeline};

    #[test]
    fn a_run_that_measured_nothing_has_no_empty_charts_and_no_alarming_error_rate() {
        let mut report = sample::empty();
        let points = (0..3).map(|second| Point {
            second,
            target_per_second: Some(0.1),
            ..Point::default()
        });
        let card = &mut report.cards[0];
        card.accounts.planned = 0;
        card.course = Timeline {
            width: 1,
            points: points.collect(),
            ..Timeline::default()
        };
        assert!(card.thresholds.iter().any(|row| !row.passed), "no samples");
        let sheet = build_sheet(&report, &report.cards[0], 0);
        assert!(sheet.tiles.iter().all(|tile| !tile.is_alarming));
        let mut sections = sheet.sections.iter();
        let section = sections.find(|section| section.title == "Over time");
        let [Block::Sentences(why)] = &section.expect("says why").blocks[..] else {
            panic!("{section:?}");
        };
        assert_eq!(
            why[0].words,
            "There are no times to draw: no step was executed."
        );
    }

    #[test]
    fn of_many_reasons_the_verdict_names_the_first_and_counts_the_rest() {
        let mut card = sample::regressed().cards[0].clone();
        assert_eq!(list_reasons(&card, Tone::Bad).len(), 4);
        let one = card.reasons[0].clone();
        card.reasons.extend(vec![one; 6]);
        let shown = list_reasons(&card, Tone::Bad);
        assert_eq!(shown.len(), REASONS + 1);
        assert_eq!(shown[REASONS].words, "and 2 more");
    }
}

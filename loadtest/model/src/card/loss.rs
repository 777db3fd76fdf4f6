//! The losses of a score, in words.

use super::grade::{Grade, StepGrade};
use crate::definition::{Letter, Part};
use crate::display;
use crate::metrics::{Cause, RootCause};
use crate::metrics::{DependencyTally, StepTally, Tally};
use serde::Serialize;
use std::fmt::Write as _;
use std::time::Duration;

/// Points that a score lost to one cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loss {
    /// The points, of a score of at most 1.
    pub points: f64,
    /// The kind of cause.
    pub kind: LossKind,
    /// The zero-based number of the step at fault.
    pub step: usize,
    /// The number of executions that cost points.
    pub count: u64,
    /// The cause.
    pub words: String,
}

/// The kind of a [`Loss`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// Executions that failed.
    Errors,
    /// Executions that an upstream step prevented.
    Skips,
    /// Answers slower than the target.
    Latency,
    /// Answers slower than the target only since the iteration started late.
    StartDelay,
    /// Journeys that failed more often than the largest budget of a step allows.
    Journeys,
}

/// Returns the losses of a step that is graded by `part`, largest first; `names` are the names of all steps.
pub(super) fn losses_of_step(
    (step, part): (usize, Part),
    names: &[&str],
    tally: &StepTally,
    grade: &StepGrade,
    dependencies: &[DependencyTally],
) -> Vec<Loss> {
    let attempts = grade.attempts as f64;
    // What the cap takes beyond the index is the failures' doing, each alike.
    let per_failure = 1.0 / attempts
        + if grade.failures > 0 {
            (grade.apdex - grade.score).max(0.0) / grade.failures as f64
        } else {
            0.0
        };
    let mut losses = Vec::new();
    if tally.failed > 0 {
        losses.push(Loss {
            points: tally.failed as f64 * per_failure,
            kind: LossKind::Errors,
            step,
            count: tally.failed,
            words: describe_errors(names[step], tally, grade),
        });
    }
    let mut known = 0;
    for (cause, count, words) in count_skips(step, names, dependencies) {
        known += count;
        losses.push(Loss {
            points: count as f64 * per_failure,
            kind: LossKind::Skips,
            step: cause.step,
            count,
            words,
        });
    }
    if tally.skipped > known {
        losses.push(Loss {
            points: (tally.skipped - known) as f64 * per_failure,
            kind: LossKind::Skips,
            step,
            count: tally.skipped - known,
            words: format!(
                "{} could not run in {}",
                display::quote_name(names[step]),
                display::format_counted(tally.skipped - known, "iteration")
            ),
        });
    }
    losses.extend(match part {
        Part::FirstEvent => find_late_events(step, names[step], tally, grade),
        _ => find_slow_losses(step, names[step], tally, grade),
    });
    losses.sort_by(|a, b| b.points.total_cmp(&a.points));
    losses
}

fn describe_errors(name: &str, tally: &StepTally, grade: &StepGrade) -> String {
    let rate = tally.failed as f64 / tally.executed as f64;
    let share = tally.failed as f64 / grade.attempts as f64;
    let mut words = format!(
        "{} errors on {}",
        display::format_percent(rate),
        display::quote_name(name)
    );
    if grade.burn.is_none_or(|burn| burn > 1.0) {
        words.push_str(&describe_burn(share, grade.budget));
    }
    words
}

/// Describes how much of a budget was spent: ` spent 300 % of the budget of 1 %`.
fn describe_burn(share: f64, budget: f64) -> String {
    if budget <= 0.0 {
        return ", where none is allowed".to_owned();
    }
    let burn = share / budget;
    let spent = if burn >= 9.995 {
        format!("{} ×", display::format_count(burn.round() as u64))
    } else {
        format!("{} of", display::format_whole_percent(burn))
    };
    format!(
        " used {spent} its budget of {}",
        display::format_exact_percent(budget)
    )
}

/// The counted skips of a step by root cause.
fn count_skips(
    step: usize,
    names: &[&str],
    dependencies: &[DependencyTally],
) -> Vec<(Cause, u64, String)> {
    let mut causes: Vec<(Cause, u64, &DependencyTally)> = Vec::new();
    for failure in dependencies {
        if failure.step != step || !failure.cause.root.counts() {
            continue;
        }
        match causes
            .iter_mut()
            .find(|(cause, ..)| *cause == failure.cause)
        {
            Some((_, count, _)) => *count += failure.count,
            None => causes.push((failure.cause, failure.count, failure)),
        }
    }
    causes
        .into_iter()
        .map(|(cause, count, first)| {
            let name = display::quote_name(names[step]);
            let root = names.get(cause.step).copied().unwrap_or("?");
            let times = display::format_counted(count, "iteration");
            let variable = display::quote_name(first.variable.as_deref().unwrap_or(root));
            let root = display::quote_name(root);
            let words = match cause.root {
                RootCause::Failed => {
                    format!("{root} failing left {name} without {variable} in {times}")
                }
                RootCause::Missing => {
                    format!("answers of {root} left {name} without {variable} in {times}")
                }
                RootCause::NotInFeed if cause.step == step => {
                    format!("{name} lacked {variable} in {times}")
                }
                RootCause::NotInFeed => format!(
                    "{root} lacking a value of its own left {name} without {variable} in {times}"
                ),
                RootCause::Expired if cause.step == step => {
                    format!("{name} had only an expired {variable} in {times}")
                }
                RootCause::Expired => format!(
                    "an expired value that {root} needed left {name} without {variable} in {times}"
                ),
                RootCause::Declined if cause.step == step => {
                    format!("{name} declined to run in {times}")
                }
                RootCause::Declined => {
                    format!("{root} declining to run left {name} without {variable} in {times}")
                }
                RootCause::Invalid if cause.step == step => {
                    format!("{name} had values that make an invalid request in {times}")
                }
                RootCause::Invalid | RootCause::NotDrawn | RootCause::LeftOut => format!(
                    "{root} making no valid request left {name} without {variable} in {times}"
                ),
            };
            (cause, count, words)
        })
        .collect()
}

/// Counts the ok executions over T and, among them, those over 4 T; and the points that they cost.
fn count_slow(tally: &StepTally, grade: &StepGrade) -> (u64, u64, f64) {
    let over = tally.ok.saturating_sub(grade.satisfied);
    let beyond = over.saturating_sub(grade.tolerating);
    let points = (beyond as f64 + grade.tolerating as f64 / 2.0) / grade.attempts as f64;
    (over, beyond, points)
}

/// Describes how many ok executions were over T, and over 4 T: `8.0 % of WHAT took over 300 ms, 1.0 % over 1.2 s`.
fn describe_slow(
    what: &str,
    over: u64,
    beyond: u64,
    tally: &StepTally,
    target: Duration,
) -> String {
    let share = |part: u64| display::format_percent(part as f64 / tally.ok as f64);
    let mut words = format!(
        "{} of {what} took over {}",
        share(over),
        display::format_span(target)
    );
    if beyond > 0 {
        let over = display::format_span(target * 4);
        let _ = write!(words, ", {} over {over}", share(beyond));
    }
    words
}

/// Returns the loss by first events that came late.
fn find_late_events(step: usize, name: &str, tally: &StepTally, grade: &StepGrade) -> Vec<Loss> {
    let (over, beyond, points) = count_slow(tally, grade);
    if over == 0 {
        return Vec::new();
    }
    let what = format!("the first events of {}", display::quote_name(name));
    vec![Loss {
        points,
        kind: LossKind::Latency,
        step,
        count: over,
        words: describe_slow(&what, over, beyond, tally, grade.target),
    }]
}

/// Returns the losses by slow answers; those due only to a late start are separate.
fn find_slow_losses(step: usize, name: &str, tally: &StepTally, grade: &StepGrade) -> Vec<Loss> {
    let (over, beyond, points) = count_slow(tally, grade);
    if over == 0 {
        return Vec::new();
    }
    let slower = |times: &crate::metrics::Histogram| {
        times
            .count()
            .saturating_sub(times.count_at_most(grade.target))
    };
    let (response, service) = (slower(&tally.response), slower(&tally.service));
    let late = if response > 0 {
        response.saturating_sub(service) as f64 / response as f64
    } else {
        0.0
    };
    let name = display::quote_name(name);
    let what = format!("the answers of {name}");
    let words = describe_slow(&what, over, beyond, tally, grade.target);
    let loss = |points, kind, count, words| Loss {
        points,
        kind,
        step,
        count,
        words,
    };
    let delays = (over as f64 * late).round() as u64;
    let delayed = || {
        format!(
            "start delay: {} of {name} were over {} only since their iteration started late",
            display::format_counted(response - service, "answer"),
            display::format_span(grade.target)
        )
    };
    if late >= 0.99 {
        vec![loss(points, LossKind::StartDelay, delays, delayed())]
    } else if late >= 0.01 {
        vec![
            loss(
                points * (1.0 - late),
                LossKind::Latency,
                over - delays,
                words,
            ),
            loss(points * late, LossKind::StartDelay, delays, delayed()),
        ]
    } else {
        vec![loss(points, LossKind::Latency, over - delays, words)]
    }
}

/// Returns the losses of the overall grade, largest first: those of the steps by their weight. Skips with the same
/// culprit are one loss; other losses begin with the letter of their step.
pub(super) fn losses_overall(steps: &[(&str, Option<&StepGrade>, &[Loss])]) -> Vec<Loss> {
    let weights: f64 = steps
        .iter()
        .filter_map(|(_, grade, _)| grade.map(|grade| grade.weight))
        .sum();
    if weights <= 0.0 {
        return Vec::new();
    }
    let mut losses: Vec<Loss> = Vec::new();
    let mut skipped: Vec<(usize, f64, u64, Vec<&str>, &Loss)> = Vec::new();
    for (name, grade, own) in steps {
        let Some(grade) = grade else { continue };
        for loss in *own {
            let points = loss.points * grade.weight / weights;
            if points <= 0.0 {
                continue;
            }
            if loss.kind != LossKind::Skips {
                let words = match grade.letter {
                    Letter::APlus => loss.words.clone(),
                    letter => format!("{letter}: {}", loss.words),
                };
                losses.push(Loss {
                    points,
                    words,
                    ..loss.clone()
                });
                continue;
            }
            match skipped.iter_mut().find(|(root, ..)| *root == loss.step) {
                Some((_, sum, count, names, _)) => {
                    *sum += points;
                    *count += loss.count;
                    if !names.contains(name) {
                        names.push(name);
                    }
                }
                None => skipped.push((loss.step, points, loss.count, vec![*name], loss)),
            }
        }
    }
    for (root, points, count, names, first) in skipped {
        let words = if let [_] = names[..] {
            first.words.clone()
        } else {
            let culprit = display::quote_name(steps.get(root).map_or("?", |(name, ..)| name));
            let names: Vec<String> = names.iter().map(|name| display::quote_name(name)).collect();
            let times = display::format_count(count);
            format!(
                "{culprit} prevented {} from running {times} times",
                join_names(&names)
            )
        };
        losses.push(Loss {
            points,
            kind: LossKind::Skips,
            step: root,
            count,
            words,
        });
    }
    losses.sort_by(|a, b| b.points.total_cmp(&a.points));
    losses
}

/// Returns the points between the mean of the steps and the overall score, which failed journeys cost.
pub(super) fn loss_by_journeys(mean: &Grade, overall: &Grade, tally: &Tally) -> Option<Loss> {
    let points = mean.score? - overall.score?;
    let journeys = overall.journeys.filter(|_| points > 0.0)?;
    let failures = |step: &StepTally| step.failed + step.skipped;
    let steps = tally.steps.iter().enumerate();
    let (step, _) = steps.max_by_key(|(_, step)| failures(step))?;
    Some(Loss {
        points,
        kind: LossKind::Journeys,
        step,
        count: tally.journey.failed + tally.journey.dropped,
        words: format!(
            "{} errors of the journey{}",
            display::format_percent(journeys.error_rate),
            describe_burn(journeys.error_rate, journeys.budget)
        ),
    })
}

/// `a`, `a and b`, `a, b and c`, `a, b, c and 3 more`.
fn join_names(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, third] => format!("{first}, {second} and {third}"),
        [first, second, third, rest @ ..] => {
            format!("{first}, {second}, {third} and {} more", rest.len())
        }
    }
}

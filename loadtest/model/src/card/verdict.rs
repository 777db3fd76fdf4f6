//! The verdict of a run, and the process exit code for it.

use super::{Card, DependencyFailure, InnerRow, ObservedRow, StepRow, StreamRow, ThresholdRow};
use crate::comparison::ComparisonOutcome;
use crate::display;
use crate::exit_code::ExitCode;
use crate::metrics::{ErrorKind, RootCause};
use crate::record::EndReason;
use crate::record::ScenarioRecord;
use crate::record::Trust;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The verdict of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every threshold holds.
    Passed,
    /// A threshold does not hold.
    Failed,
    /// The generator measured itself.
    Invalid,
    /// The run ended before its time.
    Interrupted,
    /// A request went to an address that may not be tested, and was not sent.
    NotPermitted,
    /// Nothing was measured.
    Empty,
    /// The accounts of the run do not balance: a fault of the generator.
    Internal,
}

impl Verdict {
    /// The exit code of a run with this verdict.
    pub const fn exit_code(self) -> ExitCode {
        match self {
            Self::Passed => ExitCode::Passed,
            Self::Failed => ExitCode::GateFailed,
            Self::Invalid => ExitCode::Invalid,
            Self::Interrupted => ExitCode::Interrupted,
            Self::NotPermitted => ExitCode::NotPermitted,
            Self::Empty => ExitCode::NothingFound,
            Self::Internal => ExitCode::Internal,
        }
    }

    /// Returns the printed name: `PASSED`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::Invalid => "INVALID",
            Self::Interrupted => "INTERRUPTED",
            Self::NotPermitted => "NOT PERMITTED",
            Self::Empty => "NOTHING MEASURED",
            Self::Internal => "INTERNAL ERROR",
        }
    }
}

/// A reason why a run does not pass, for people and for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The kind of reason.
    pub kind: ReasonKind,
    /// The step it is about; `None` where it is about the journey or the run.
    pub step: Option<String>,
    /// The reason in words: `p95 of login is 412 ms, and must be < 300 ms`.
    pub words: String,
}

/// The kind of a reason that keeps a run from passing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// The accounts of the run do not balance.
    Internal,
    /// A request to where it may not go was not sent.
    NotPermitted,
    /// The run ended before its time.
    Interrupted,
    /// Nothing was measured.
    Empty,
    /// The generator measured itself.
    Invalid,
    /// The run ended itself.
    GivenUp,
    /// A threshold does not hold.
    Threshold,
    /// A limit of the target's own side does not hold.
    Observed,
    /// The overall grade is below the least that may be.
    MinGrade,
    /// A figure is worse than that of the baseline, beyond margin and chance.
    Regression,
    /// The comparison that was asked for could not be made.
    NotCompared,
}

impl ReasonKind {
    /// Returns the name used in data: `min_grade`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::NotPermitted => "not_permitted",
            Self::Interrupted => "interrupted",
            Self::Empty => "empty",
            Self::Invalid => "invalid",
            Self::GivenUp => "given_up",
            Self::Threshold => "threshold",
            Self::Observed => "observed",
            Self::MinGrade => "min_grade",
            Self::Regression => "regression",
            Self::NotCompared => "not_compared",
        }
    }
}

impl fmt::Display for ReasonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.words)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The verdict over a card that is otherwise complete, and its reasons, the decisive ones first; the measured part took
/// `seconds`.
pub(super) fn judge_card(
    card: &Card,
    record: &ScenarioRecord,
    seconds: Option<f64>,
) -> (Verdict, Vec<Reason>) {
    let ending = &record.end.ending;
    let plain = |kind, all: Vec<String>| {
        all.into_iter()
            .map(|words| Reason::new(kind, words))
            .collect()
    };
    let observed = card
        .observed
        .iter()
        .filter_map(ObservedRow::explain_failure);
    let found: [(Verdict, Vec<Reason>); 12] = [
        (
            Verdict::Internal,
            plain(ReasonKind::Internal, explain_imbalance(card)),
        ),
        (Verdict::NotPermitted, explain_halt(ending)),
        (Verdict::NotPermitted, explain_blocked_target(card)),
        (
            Verdict::Interrupted,
            plain(ReasonKind::Interrupted, explain_interruption(ending)),
        ),
        (
            Verdict::Empty,
            plain(ReasonKind::Empty, explain_empty_run(card, record, seconds)),
        ),
        (
            Verdict::Invalid,
            plain(ReasonKind::Invalid, explain_invalidity(card)),
        ),
        (
            Verdict::Failed,
            plain(ReasonKind::GivenUp, given_up(card, ending)),
        ),
        (Verdict::Failed, explain_failures(card)),
        (
            Verdict::Failed,
            plain(ReasonKind::Observed, observed.collect()),
        ),
        (Verdict::Failed, graded_too_low(card)),
        (Verdict::Failed, beside_baseline(card)),
        // After all that the target did: that decides by itself.
        (Verdict::Invalid, explain_own_delays(card)),
    ];
    let stuck = matches!(ending, EndReason::Stuck { .. });
    let verdict = found
        .iter()
        .find(|(_, reasons)| !reasons.is_empty())
        .map_or(Verdict::Passed, |(verdict, _)| *verdict);
    let reasons = found
        .into_iter()
        // What was never measured fails no threshold of its own.
        .filter(|(of, _)| *of != Verdict::Failed || (verdict != Verdict::Empty && !stuck))
        .flat_map(|(_, reasons)| reasons)
        .fold(Vec::new(), |mut all: Vec<Reason>, reason| {
            if all.iter().all(|known| known.words != reason.words) {
                all.push(reason);
            }
            all
        });
    (verdict, reasons)
}

impl Reason {
    fn new(kind: ReasonKind, words: String) -> Self {
        Self {
            kind,
            step: None,
            words,
        }
    }

    fn of_step(kind: ReasonKind, step: &str, words: String) -> Self {
        Self {
            step: Some(step.to_owned()),
            ..Self::new(kind, words)
        }
    }
}

/// Explains that the accounts do not balance, which also makes the run invalid.
fn explain_imbalance(card: &Card) -> Vec<String> {
    if card.accounts.balanced == Some(false) {
        explain_invalidity(card)
    } else {
        Vec::new()
    }
}

fn explain_halt(ending: &EndReason) -> Vec<Reason> {
    match ending {
        EndReason::Halted { reason } => {
            let words = format!("stopped before its end: {reason}");
            vec![Reason::new(ReasonKind::NotPermitted, words)]
        }
        _ => Vec::new(),
    }
}

fn explain_blocked_target(card: &Card) -> Vec<Reason> {
    card.errors
        .iter()
        .filter(|error| error.kind == ErrorKind::GuardBlocked)
        .chain(&card.unheeded)
        .map(|error| {
            let words = format!(
                "{} of {} not sent: {}",
                display::format_counted(error.count + error.elsewhere, "request"),
                display::quote_name(&error.step),
                error.example
            );
            Reason::of_step(ReasonKind::NotPermitted, &error.step, words)
        })
        .collect()
}

fn explain_interruption(ending: &EndReason) -> Vec<String> {
    let reason = match ending {
        EndReason::Completed
        | EndReason::Stuck { .. }
        | EndReason::AgentLost { .. }
        | EndReason::Panicked
        | EndReason::Halted { .. }
        | EndReason::ThresholdBroken { .. }
        | EndReason::ObservedBroken { .. } => return Vec::new(),
        EndReason::Interrupted => "stopped early; requests in flight could finish".to_owned(),
        EndReason::Aborted => "aborted early; requests in flight were cut off".to_owned(),
        EndReason::Died { reason } => format!("the process died: {reason}"),
    };
    vec![reason]
}

fn explain_empty_run(card: &Card, record: &ScenarioRecord, seconds: Option<f64>) -> Vec<String> {
    // What a blocked worker did is unknown, which is not nothing.
    if matches!(record.end.ending, EndReason::Stuck { .. }) {
        return Vec::new();
    }
    let attempted = card
        .steps
        .iter()
        .any(|step| step.executed + step.skipped > 0);
    let is_graded = card.steps.iter().any(|step| step.grade.is_some());
    let session = (card.steps.iter().enumerate()).find(|(_, step)| has_measured_rows(step));
    let session = session.filter(|_| !is_graded);
    let reason = if !attempted && card.headline.dropped == 0 {
        let cancelled = card.accounts.cancelled;
        if let Some(words) = explain_panics(card) {
            words
        } else if let Some(session) = session {
            return explain_ungraded_sessions(card, record, session);
        } else if card.accounts.started == 0 {
            "no iteration started".to_owned()
        } else if cancelled == card.accounts.started {
            let remedy = advise_on_streams(record).unwrap_or_else(|| {
                "run it longer, or let the steps end before the load does".to_owned()
            });
            format!(
                "no step ended before the run did: {} cut off; {remedy}",
                display::format_counted(cancelled, "iteration")
            )
        } else if let Some(skip) = card.not_drawn.iter().find(|skip| left_itself_out(skip)) {
            format!("no step was executed: {}", skip.describe())
        } else if seconds.is_some() {
            "no step was executed in the measured part; run it longer, or let journeys of the ramp end earlier, so \
             that others start"
                .to_owned()
        } else {
            "no step was executed in the measured part; run it longer".to_owned()
        }
    } else if attempted && card.grade.score.is_none() && !card.grade.withheld {
        if let Some(session) = session {
            return explain_ungraded_sessions(card, record, session);
        }
        "no step that was executed has a weight in the grade".to_owned()
    } else {
        return Vec::new();
    };
    vec![reason]
}

fn left_itself_out(skip: &DependencyFailure) -> bool {
    skip.cause == RootCause::LeftOut && skip.step == skip.root_step
}

/// Advises on the streams that the end of the run cut off, and that no option ends.
pub(super) fn advise_on_streams(record: &ScenarioRecord) -> Option<String> {
    let steps = record.start.definition.steps.iter().enumerate();
    let endless = steps.filter(|(_, def)| {
        let stream = def.stream.as_ref();
        stream.is_some_and(|stream| stream.events.is_none() && stream.lasts.is_none())
    });
    let names = endless.filter(|(step, _)| record.windows.is_cut_off(*step));
    let names: Vec<_> = names
        .map(|(_, def)| display::quote_name(&def.name))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "let the streams of {} end by `events = 100` or `lasts = 10s`, give them more time than the load has by \
             `grace = 2m`, or read them in an `async` step, where a stream ends with the load",
            names.join(", ")
        )
    })
}

/// Explains that the operations of step `at` were measured and no step; nothing where limits on these decide.
fn explain_ungraded_sessions(
    card: &Card,
    record: &ScenarioRecord,
    (at, step): (usize, &StepRow),
) -> Vec<String> {
    let mut limits = card.thresholds.iter().filter(|row| !row.implied);
    if card.min_grade.is_none() && limits.any(|row| row.actual.is_some()) {
        return Vec::new();
    }
    vec![if record.windows.is_cut_off(at) {
        format!(
            "no execution of {} ended in the measured part: the end of the load cut off each, so only operations \
             and events are counted, and there is no grade. Judge these by limits such as `{}`; or let the step end earlier",
            display::quote_name(&step.name),
            example_limit(step)
        )
    } else {
        explain_sessions(card, step)
    }]
}

/// Returns true if operations of a step were measured, whether it ended or not.
pub(super) fn has_measured_rows(step: &StepRow) -> bool {
    step.inner.iter().any(InnerRow::is_measured)
}

/// Explains that there is no grade, since no execution of `step` began in the measured part, only operations of it.
fn explain_sessions(card: &Card, step: &StepRow) -> String {
    let name = display::quote_name(&step.name);
    let errors = || card.errors.iter().filter(|error| error.step == step.name);
    let end = match errors().next() {
        Some(first) => format!(
            "failed {}, most by `{}`: {}, so",
            display::format_counted(
                errors().map(|error| error.count + error.elsewhere).sum(),
                "time"
            ),
            first.kind,
            first.example
        ),
        None => "continued to the end of the load, so".to_owned(),
    };
    format!(
        "no step started in the measured part: {name} started in the ramp or the warm-up and {end} that only its \
         operations and events are counted, and there is no grade. Judge these by limits such as `{}`; or leave out the \
         ramp (`ramp_up = 0s`) and the warm-up, or let the step end earlier, so that others start",
        example_limit(step)
    )
}

/// Writes a limit on what was measured of the operations of a step.
fn example_limit(step: &StepRow) -> String {
    let rows = step.inner.iter().filter(|row| row.requests > 0);
    let has_gaps = |stream: &StreamRow| stream.gap.samples > 0;
    match rows.max_by_key(|row| row.requests) {
        Some(row) if row.requests > row.failed => format!("row({:?}).p95 < 100ms", row.name),
        _ if step.stream.as_ref().is_some_and(has_gaps) => "gap.p95 < 100ms".to_owned(),
        Some(row) => format!("row({:?}).errors < 1%", row.name),
        None => "units > 1/s".to_owned(),
    }
}

/// Explains why nothing was executed, if panics were the reason.
fn explain_panics(card: &Card) -> Option<String> {
    if card.accounts.failed == 0 {
        return None;
    }
    let worst = card.panics.iter().max_by_key(|panic| panic.count);
    if let Some(worst) = worst {
        let count = card.panics.iter().map(|panic| panic.count).sum();
        return Some(format!(
            "no step was executed, since the scenario panicked: {}, most at {}: {}",
            display::format_counted(count, "panic"),
            worst.location,
            worst.message
        ));
    }
    let errors = || {
        card.errors
            .iter()
            .filter(|error| error.kind == ErrorKind::StepPanic)
    };
    let first = errors().next()?;
    let count = errors().map(|error| error.count + error.elsewhere).sum();
    Some(format!(
        "no step was executed, since the scenario panicked: {}, most in {}: {}",
        display::format_counted(count, "panic"),
        display::quote_name(&first.step),
        first.example
    ))
}

fn explain_invalidity(card: &Card) -> Vec<String> {
    card.validity
        .causes
        .iter()
        .filter(|cause| cause.trust == Trust::Invalid)
        .map(|cause| cause.what.clone())
        .collect()
}

/// Explains that the run ended itself: the limit, or the places of the panics.
fn given_up(card: &Card, ending: &EndReason) -> Vec<String> {
    match ending {
        EndReason::Panicked => {}
        EndReason::ThresholdBroken {
            after_us, reason, ..
        }
        | EndReason::ObservedBroken { after_us, reason } => {
            let after = display::format_span(Duration::from_micros(*after_us));
            return vec![format!("given up after {after}: {reason}")];
        }
        _ => return Vec::new(),
    }
    let mut words = "given up before its end: more than 5 % of the steps panicked".to_owned();
    if let Some(worst) = card.panics.iter().max_by_key(|panic| panic.count) {
        words = format!("{words}, most at {}: {}", worst.location, worst.message);
    }
    vec![words]
}

fn explain_failures(card: &Card) -> Vec<Reason> {
    broken_thresholds(card, ReasonKind::Threshold, |row| row.own_delay.is_none())
}

/// Explains limits that the generator broke by itself.
fn explain_own_delays(card: &Card) -> Vec<Reason> {
    broken_thresholds(card, ReasonKind::Invalid, |row| row.own_delay.is_some())
}

fn broken_thresholds(
    card: &Card,
    kind: ReasonKind,
    is_meant: impl Fn(&ThresholdRow) -> bool,
) -> Vec<Reason> {
    let broken = card.thresholds.iter().filter(|row| !row.passed);
    let reasons = broken.filter(|row| is_meant(row)).map(|row| Reason {
        kind,
        step: row.step.clone(),
        words: row.reason(),
    });
    reasons.collect()
}

/// A withheld grade is its own reason.
fn graded_too_low(card: &Card) -> Vec<Reason> {
    let words = card
        .min_grade
        .zip(card.grade.letter)
        .filter(|(least, letter)| letter < least)
        .map(|(least, letter)| format!("the grade is {letter}; {least} or better is required"));
    words
        .map(|words| Reason::new(ReasonKind::MinGrade, words))
        .into_iter()
        .collect()
}

fn beside_baseline(card: &Card) -> Vec<Reason> {
    let Some(beside) = &card.comparison else {
        return Vec::new();
    };
    match &beside.outcome {
        ComparisonOutcome::Compared(comparison) => comparison
            .regressions()
            .map(|(subject, figure)| Reason {
                kind: ReasonKind::Regression,
                step: subject.step.clone(),
                words: format!(
                    "{} of {} regressed against the baseline `{}`: {}",
                    figure.figure.label(),
                    subject.step.as_ref().map_or_else(
                        || "the journey".to_owned(),
                        |step| display::quote_name(step)
                    ),
                    beside.baseline,
                    figure.difference_words()
                ),
            })
            .collect(),
        ComparisonOutcome::Refused { refusals } => refusals
            .iter()
            .map(|refusal| {
                let words = format!(
                    "not compared with the baseline `{}`: {refusal}",
                    beside.baseline
                );
                Reason::new(ReasonKind::NotCompared, words)
            })
            .collect(),
        ComparisonOutcome::Absent => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_reason_is_called_as_data_has_it() {
        for kind in [
            ReasonKind::Internal,
            ReasonKind::NotPermitted,
            ReasonKind::Interrupted,
            ReasonKind::Empty,
            ReasonKind::Invalid,
            ReasonKind::GivenUp,
            ReasonKind::Threshold,
            ReasonKind::Observed,
            ReasonKind::MinGrade,
            ReasonKind::Regression,
            ReasonKind::NotCompared,
        ] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}

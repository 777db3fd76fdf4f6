//! The card in a few lines of plain text, for a program that ran a scenario itself.

use super::{Card, Quantiles, StepRow};
use crate::display;
use crate::exit_code::ExitCode;
use std::fmt;

impl Card {
    /// The exit code of a run with this card.
    pub const fn exit_code(&self) -> ExitCode {
        self.verdict.exit_code()
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headline = &self.headline;
        write!(f, "{} {}", self.verdict, self.name)?;
        if let (Some(letter), Some(score)) = (self.grade.letter, self.grade.score) {
            write!(f, ", grade {letter} ({})", display::format_score(score))?;
        }
        write!(f, "\n{}, seed {}", self.setting.load, self.setting.seed)?;
        write!(
            f,
            "\n{} ok, {} failed, {}, errors {}",
            display::format_count(headline.ok),
            display::format_count(headline.failed + headline.dropped),
            format_percentiles(&headline.time),
            headline
                .error_rate
                .map_or_else(dash, display::format_percent),
        )?;
        // The cause of an invalid run follows below, with its remedy.
        let is_cause = |reason: &str| {
            let mut causes = self.validity.causes.iter();
            causes.any(|cause| cause.what == reason)
        };
        for reason in self
            .reasons
            .iter()
            .filter(|reason| !is_cause(&reason.words))
        {
            write!(f, "\n{}: {reason}", self.verdict.name().to_lowercase())?;
        }
        for cause in &self.validity.causes {
            write!(
                f,
                "\n{}: {}; {}",
                cause.trust.name().to_lowercase(),
                cause.what,
                cause.remedy
            )?;
        }
        let width = self.steps.iter().map(|step| step.name.chars().count());
        let width = width.max().unwrap_or(0);
        for step in &self.steps {
            write_step_row(f, step, width)?;
        }
        for error in &self.errors {
            write!(
                f,
                "\n  {} x {} in {}: {}",
                display::format_count(error.count),
                error.kind,
                error.step,
                error.example
            )?;
        }
        for failure in &self.dependency_failures {
            write!(
                f,
                "\n  {} x {}",
                display::format_count(failure.count),
                failure.describe()
            )?;
        }
        Ok(())
    }
}

fn write_step_row(f: &mut fmt::Formatter<'_>, step: &StepRow, width: usize) -> fmt::Result {
    let grade = step
        .grade
        .as_ref()
        .map_or_else(dash, |grade| grade.letter.to_string());
    write!(
        f,
        "\n  {:width$}  {grade:2}  {} ok, {} failed, {} skipped, {}",
        step.name,
        display::format_count(step.ok),
        display::format_count(step.failed),
        display::format_count(step.skipped),
        format_percentiles(&step.response),
    )
}

fn dash() -> String {
    display::NO_VALUE.to_owned()
}

/// Formats the usual percentiles: `p50 12.1 ms, p95 31.0 ms, p99 48.5 ms`.
fn format_percentiles(times: &Quantiles) -> String {
    let words = display::format_durations(&[times.p50, times.p95, times.p99]);
    let named = ["p50", "p95", "p99"].into_iter().zip(words);
    let named: Vec<_> = named.map(|(name, time)| format!("{name} {time}")).collect();
    named.join(", ")
}

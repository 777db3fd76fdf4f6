//! `cargo loadtest capacity`.

use super::{CurlArgs, Export, ProjectArgs, ReportOptions, TelemetryArgs, TraceArgs, values};
use clap::Args;
use loadtest_model::threshold::{Condition, ThresholdMistake, parse_conditions};
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

/// `cargo loadtest capacity`.
#[derive(Debug, Args)]
pub(crate) struct CapacityArgs {
    /// Scenario name (`package::module::function`), its end, or any unique part
    #[arg(value_name = "SCENARIO", required_unless_present_any = ["file", "command"], conflicts_with_all = ["file", "command"])]
    pub(crate) scenario: Option<String>,
    /// Conditions to meet: `p95 < 300ms, errors < 1%`, for one step: `login.p95 < 200ms`, or for the target's side: `observed(db cpu).max < 3.5` [default: the thresholds of the scenario]
    #[arg(long, value_name = "SLO")]
    pub(crate) slo: Option<Slo>,
    /// Write a report: `html`, `pdf`, `json`, `junit`, `markdown`, `csv` or `openmetrics`. PATH defaults to the folder of the run; `-` replaces the card on standard output
    #[arg(long, value_name = "FORMAT[=PATH]")]
    pub(crate) export: Vec<Export>,
    #[command(flatten)]
    pub(crate) reports: ReportOptions,
    #[command(flatten)]
    pub(crate) curl: CurlArgs,
    #[command(flatten)]
    pub(crate) rates: RateArgs,
    #[command(flatten)]
    pub(crate) trials: TrialArgs,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    /// Run for CI: plain lines, reports, job summary, outputs and annotations
    #[arg(long, help_heading = "Gate")]
    pub(crate) ci: bool,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Range and precision of the search.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rates")]
pub(crate) struct RateArgs {
    /// First rate to try [default: the rate of the scenario, else 10/s]
    #[arg(long, value_name = "N/s", value_parser = values::rate, allow_hyphen_values = true)]
    pub(crate) from: Option<f64>,
    /// Highest rate to try
    #[arg(long, value_name = "N/s", value_parser = values::rate, allow_hyphen_values = true)]
    pub(crate) max: Option<f64>,
    /// Fail with exit code 99 if the capacity is below this rate
    #[arg(long, value_name = "N/s", value_parser = values::rate, allow_hyphen_values = true)]
    pub(crate) min: Option<f64>,
    /// Stop when the result is this close to a rate that misses the SLO
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = values::tolerance, allow_hyphen_values = true)]
    pub(crate) tolerance: f64,
}

/// Options of each trial.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Trials")]
pub(crate) struct TrialArgs {
    /// Measure each rate for this long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::window, allow_hyphen_values = true)]
    pub(crate) window: Duration,
    /// Measure the result again for this long, to confirm it
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::window, allow_hyphen_values = true)]
    pub(crate) confirm: Duration,
    /// Ramp-up time before each measurement
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = values::bounded_duration, allow_hyphen_values = true)]
    pub(crate) ramp_up: Duration,
    /// Pause after each trial
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = values::bounded_duration, allow_hyphen_values = true)]
    pub(crate) rest: Duration,
    /// Maximum number of virtual users [default: enough for journeys twice as long as the SLO allows]
    #[arg(long, value_name = "N", value_parser = values::users, allow_hyphen_values = true)]
    pub(crate) max_users: Option<u32>,
    /// Seed of the first trial; each further trial adds 1
    #[arg(long, value_name = "SEED", value_parser = values::seed, allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// Base URL, instead of the URL that the scenario declares
    #[arg(long, value_name = "URL", value_parser = values::base_url)]
    pub(crate) base_url: Option<String>,
}

/// The value of `--slo`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slo {
    /// The text as written.
    pub(crate) text: String,
    /// The parsed conditions.
    pub(crate) conditions: Vec<Condition>,
    /// The conditions on the target's own side.
    pub(crate) observed: Vec<ObservedText>,
}

/// A condition on the target's own side: `observed(db cpu).max < 3.5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedText {
    /// The name of the figure.
    pub(crate) name: String,
    /// The limit as written.
    pub(crate) limit: String,
    /// The place of the condition in the text, in bytes.
    pub(crate) place: Range<usize>,
}

/// Takes the conditions on the target's own side out of a text, in which spaces replace them.
fn take_observed(text: &mut String) -> Result<Vec<ObservedText>, ThresholdMistake> {
    const BEGIN: &str = "observed(";
    let mut found = Vec::new();
    while let Some(start) = text.find(BEGIN) {
        let rest = &text[start + BEGIN.len()..];
        let (name, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once("\")").unwrap_or((quoted, "")),
            None => rest.split_once(')').unwrap_or((rest, "")),
        };
        let limit = behind.split(',').next().unwrap_or_default();
        let end = text.len() - behind.len() + limit.len();
        let place = start..end;
        let is_first = text[..start].trim_end().is_empty();
        if !is_first && !text[..start].trim_end().ends_with(',') {
            let message = "expected a comma before `observed(..)`".to_owned();
            return Err(ThresholdMistake { place, message });
        }
        let Some(limit) = limit.trim_start().strip_prefix('.') else {
            let message = "write `observed(db cpu).max < 3.5`".to_owned();
            return Err(ThresholdMistake { place, message });
        };
        found.push(ObservedText {
            name: name.trim().to_owned(),
            limit: limit.trim().to_owned(),
            place: place.clone(),
        });
        // With the comma behind it, or the one before it where it is the last.
        let has_comma = text[end..].starts_with(',');
        let before = text[..start].trim_end().len();
        let gap = match has_comma {
            true => start..end + 1,
            false if is_first => place,
            false => before - 1..end,
        };
        text.replace_range(gap.clone(), &" ".repeat(gap.len()));
    }
    Ok(found)
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // What marks a place must stand below it.
        let text: String = text
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .collect();
        let mut rest = text.clone();
        let parsed = take_observed(&mut rest)
            .map_err(|mistake| vec![mistake])
            .and_then(|observed| {
                let is_all = !observed.is_empty() && rest.trim().is_empty();
                let conditions = if is_all {
                    Vec::new()
                } else {
                    parse_conditions(&rest)?
                };
                Ok((conditions, observed))
            });
        match parsed {
            Ok((conditions, observed)) => Ok(Self {
                text,
                conditions,
                observed,
            }),
            Err(mistakes) => {
                let shown: Vec<_> = mistakes
                    .iter()
                    .map(|mistake| mistake.render_below(&text))
                    .collect();
                Err(format!("\n\n{}", shown.join("\n")))
            }
        }
    }
}

//! `cargo loadtest capacity`.

use super::{CurlArgs, Export, PdfArgs, ProjectArgs, values};
use clap::Args;
use loadtest_model::threshold::{Condition, parse_conditions};
use std::str::FromStr;
use std::time::Duration;

/// `cargo loadtest capacity`.
#[derive(Debug, Args)]
pub(crate) struct CapacityArgs {
    /// The scenario: its identity (`package::module::function`), an end of it, or a part that no other one has
    #[arg(value_name = "SCENARIO", required_unless_present_any = ["file", "command"], conflicts_with_all = ["file", "command"])]
    pub(crate) scenario: Option<String>,
    /// What must hold: `p95 < 300ms, errors < 1%`, for one step `login.p95 < 200ms` [default: the thresholds of the scenario]
    #[arg(long, value_name = "SLO")]
    pub(crate) slo: Option<Slo>,
    /// Write the report as FORMAT: `html`, `pdf`, `json`, `junit`, `markdown`, `csv` or `openmetrics`; without PATH into the folder of the run, with `-` to standard output in place of the card
    #[arg(long, value_name = "FORMAT[=PATH]")]
    pub(crate) export: Vec<Export>,
    #[command(flatten)]
    pub(crate) pdf: PdfArgs,
    #[command(flatten)]
    pub(crate) curl: CurlArgs,
    #[command(flatten)]
    pub(crate) rates: RateArgs,
    #[command(flatten)]
    pub(crate) trials: TrialArgs,
    /// Search as on a build server: plain lines, reports for it, its summary, outputs and annotations
    #[arg(long, help_heading = "Gate")]
    pub(crate) ci: bool,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Which rates are tried.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rates")]
pub(crate) struct RateArgs {
    /// Try this rate first [default: that of the scenario, else 10/s]
    #[arg(long, value_name = "N/s", value_parser = values::rate, allow_hyphen_values = true)]
    pub(crate) from: Option<f64>,
    /// Try no higher rate
    #[arg(long, value_name = "N/s", value_parser = values::rate, allow_hyphen_values = true)]
    pub(crate) max: Option<f64>,
    /// Fail with exit code 99 when the capacity is below this rate
    #[arg(long, value_name = "N/s", value_parser = values::rate, allow_hyphen_values = true)]
    pub(crate) min: Option<f64>,
    /// Stop when the result is this close to a rate that breaks the SLO
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = values::tolerance, allow_hyphen_values = true)]
    pub(crate) tolerance: f64,
}

/// How a rate is tried.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Trials")]
pub(crate) struct TrialArgs {
    /// Measure each rate for this long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::window, allow_hyphen_values = true)]
    pub(crate) window: Duration,
    /// Measure the result for this long once more
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::window, allow_hyphen_values = true)]
    pub(crate) confirm: Duration,
    /// Rise from nothing to the rate over this time, before it is measured
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = values::ramp_up, allow_hyphen_values = true)]
    pub(crate) ramp_up: Duration,
    /// Let the target rest for this long after each trial
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = values::ramp_up, allow_hyphen_values = true)]
    pub(crate) rest: Duration,
    /// Use this many virtual users at most [default: enough for journeys twice as long as the SLO allows]
    #[arg(long, value_name = "N", value_parser = values::users, allow_hyphen_values = true)]
    pub(crate) max_users: Option<u32>,
    /// Draw weights, think times and data of the first trial by this seed, those of the next by the next
    #[arg(long, value_name = "SEED", value_parser = values::seed, allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// Join paths to this URL, whatever the scenario declares
    #[arg(long, value_name = "URL", value_parser = values::base_url)]
    pub(crate) base_url: Option<String>,
}

/// `--slo`: the text, and what it says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slo {
    /// As it was written.
    pub(crate) text: String,
    /// Its conditions.
    pub(crate) conditions: Vec<Condition>,
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // What marks a place must stand below it.
        let text: String = text
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .collect();
        match parse_conditions(&text) {
            Ok(conditions) => Ok(Self { text, conditions }),
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

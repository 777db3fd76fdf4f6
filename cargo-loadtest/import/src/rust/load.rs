//! Loads, think times and the other options of scenarios and steps, as they are written.

#![expect(
    clippy::float_cmp,
    reason = "numbers of the input are compared as they are written"
)]

use super::layout::{quote_text, write_flag, write_option};
use crate::recording::{Runs, ScenarioSettings, StepSettings};
use loadtest_model::definition::{Load, Shape, Stage, Think};
use std::time::Duration;

/// The longest time that is written.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Returns the options of a scenario.
pub(super) fn scenario_options(settings: &ScenarioSettings) -> Vec<String> {
    let thresholds = settings.thresholds.join(", ");
    let options = [
        write_option("load", settings.load.as_ref().map(render_load)),
        (!thresholds.is_empty()).then(|| format!("thresholds({thresholds})")),
        write_option("start", settings.start.map(render_time)),
        write_option("weight", settings.weight),
        write_flag("cookies = user", settings.keeps_cookies),
        write_flag("cookies = off", settings.drops_cookies),
        write_flag("stop_on_failure", settings.stops_on_failure),
    ];
    options.into_iter().flatten().collect()
}

/// Returns the options of a step that its settings have, without those on statuses and checks.
pub(super) fn step_options(settings: &StepSettings) -> Vec<String> {
    let mut options = settings.thresholds.clone();
    if !settings.tags.is_empty() {
        let tags: Vec<_> = settings.tags.iter().map(|tag| quote_text(tag)).collect();
        options.push(format!("tags = [{}]", tags.join(", ")));
    }
    let more = [
        write_option("weight", settings.weight.as_ref()),
        write_option("one_of", settings.choice.as_ref()),
        write_flag("stop_on_failure", settings.stops_on_failure),
        write_flag("once", settings.runs == Runs::Once),
        write_flag("last", settings.runs == Runs::Last),
    ];
    options.extend(more.into_iter().flatten());
    options
}

/// Renders a load: `users(50, ramp_up = 10s, for = 1m)`.
fn render_load(load: &Load) -> String {
    let most = write_option(", max_users", load.max_users);
    let pace = write_option(", pace", load.pace.map(render_time));
    let more = most.unwrap_or_default() + &pace.unwrap_or_default();
    let term = |word: &str, amount: String, ramp_up: Duration, duration: Duration| {
        let ramp = match render_long_time(ramp_up) {
            _ if ramp_up.is_zero() => String::new(),
            time => format!(", ramp_up = {time}"),
        };
        format!(
            "{word}({amount}{ramp}, for = {}{more})",
            render_long_time(duration)
        )
    };
    match &load.shape {
        Shape::Rate {
            per_second,
            ramp_up,
            duration,
        } => term("rate", format!("{per_second}/s"), *ramp_up, *duration),
        Shape::Users {
            users,
            ramp_up,
            duration,
        } => term("users", users.to_string(), *ramp_up, *duration),
        Shape::Iterations {
            count,
            users,
            per_user,
        } => {
            let each = if *per_user { "/user" } else { "" };
            let count = if *per_user {
                count / u64::from((*users).max(1))
            } else {
                *count
            };
            format!("iterations({count}{each}, users = {users}{more})")
        }
        Shape::RateStages { stages } => render_stages("rate", "/s", stages, &more),
        Shape::UserStages { stages } => render_stages("users", "", stages, &more),
    }
}

fn render_stages(word: &str, unit: &str, stages: &[Stage], more: &str) -> String {
    let stages = stages.iter().enumerate().map(|(at, stage)| {
        let Stage { from, to, duration } = stage;
        let more = if at == 0 { more } else { "" };
        let time = render_long_time(*duration);
        if from == to {
            format!("{word}({to}{unit}, for = {time}{more})")
        } else {
            format!("{word}({from}{unit} -> {to}{unit}, for = {time}{more})")
        }
    });
    format!("[{}]", stages.collect::<Vec<_>>().join(", "))
}

/// Renders a think time: `1s..3s`.
pub(super) fn render_think(think: &Think) -> String {
    match think {
        Think::Uniform { min, max } if min == max => render_time(*min),
        Think::Uniform { min, max } => format!("{}..{}", render_time(*min), render_time(*max)),
        Think::Random {
            law,
            mean,
            deviation,
        } => {
            let (name, mean, deviation) = (law.name(), render_time(*mean), render_time(*deviation));
            match name {
                "exponential" => format!("{name}({mean})"),
                _ => format!("{name}({mean}, {deviation})"),
            }
        }
    }
}

/// Renders a time as the language has it: `2s`, `1500ms`.
pub(super) fn render_time(time: Duration) -> String {
    let millis = time.min(LONGEST).as_millis();
    match millis % 1000 {
        0 => format!("{}s", millis / 1000),
        _ => format!("{millis}ms"),
    }
}

/// Renders the time of a load: `10m`.
fn render_long_time(time: Duration) -> String {
    match time.min(LONGEST).as_millis() {
        millis if millis >= 60_000 && millis % 60_000 == 0 => format!("{}m", millis / 60_000),
        _ => render_time(time),
    }
}

//! The options of a script: scenarios and their loads.

use super::requests::read_duration;
use super::value::Js;
use crate::import::recording::ScenarioSettings;
use loadtest_model::definition::{Load, Shape, Stage};
use std::borrow::Cow;
use std::time::Duration;

/// What is read of an executor.
const EXECUTOR: [&str; 15] = [
    "executor",
    "exec",
    "startTime",
    "env",
    "tags",
    "vus",
    "iterations",
    "duration",
    "rate",
    "timeUnit",
    "startRate",
    "startVUs",
    "stages",
    "preAllocatedVUs",
    "maxVUs",
];

/// A scenario that options declare.
#[derive(Debug, Default)]
pub(super) struct DeclaredScenario<'t> {
    /// The name; none where the options are those of the only one.
    pub(super) name: Option<String>,
    /// The function that it runs.
    pub(super) function: String,
    pub(super) settings: ScenarioSettings,
    /// Its variables of the environment.
    pub(super) environment: Vec<(String, Js<'t>)>,
    pub(super) tags: Vec<(String, Js<'t>)>,
    /// Parts of it that are not imported.
    pub(super) notes: Vec<String>,
}

/// Reads the scenarios of options.
pub(super) fn read_scenarios<'t>(options: &Js<'t>) -> Vec<DeclaredScenario<'t>> {
    let declared = options.get("scenarios").map_or(&[][..], Js::fields);
    if declared.is_empty() {
        let (load, notes) = read_short_load(options);
        return vec![DeclaredScenario {
            name: None,
            function: "default".to_owned(),
            settings: ScenarioSettings {
                load,
                ..ScenarioSettings::default()
            },
            notes,
            ..DeclaredScenario::default()
        }];
    }
    let scenarios = declared.iter().map(|(name, options)| {
        let (load, mut notes) = read_executor(options);
        let unused = options
            .fields()
            .iter()
            .filter(|(name, _)| !EXECUTOR.contains(&name.as_str()));
        notes.extend(unused.map(|(name, _)| format!("`{name}` is not imported")));
        let fields = |name: &str| options.get(name).map_or(&[][..], Js::fields).to_vec();
        DeclaredScenario {
            name: Some(name.clone()),
            function: options
                .get("exec")
                .and_then(Js::as_str)
                .unwrap_or("default")
                .to_owned(),
            settings: ScenarioSettings {
                load,
                start: options
                    .get("startTime")
                    .and_then(|time| read_duration(time, 1e-3)),
                ..ScenarioSettings::default()
            },
            environment: fields("env"),
            tags: fields("tags"),
            notes: notes
                .into_iter()
                .map(|words| format!("{name}: {words}"))
                .collect(),
        }
    });
    scenarios.collect()
}

fn count(value: Option<&Js<'_>>) -> Option<u32> {
    let number = value?.as_number()?;
    (number.fract() == 0.0 && (0.0..=1e6).contains(&number)).then_some(number as u32)
}

fn time(value: Option<&Js<'_>>) -> Option<Duration> {
    read_duration(value?, 1e-3).filter(|time| !time.is_zero())
}

fn read_short_load(options: &Js<'_>) -> (Option<Load>, Vec<String>) {
    let users = count(options.get("vus"));
    let iterations = count(options.get("iterations"));
    if let Some(stages) = options.get("stages") {
        return read_stages(stages, f64::from(users.unwrap_or(1)), 1.0, false);
    }
    let users = users.unwrap_or(1).max(1);
    let shape = match (iterations, time(options.get("duration"))) {
        (Some(count), _) => Shape::Iterations {
            count: u64::from(count.max(1)),
            users,
            per_user: false,
        },
        (None, Some(duration)) => Shape::Users {
            users,
            ramp_up: Duration::ZERO,
            duration,
        },
        (None, None) => return (None, Vec::new()),
    };
    (Some(Load::new(shape)), Vec::new())
}

fn read_executor(options: &Js<'_>) -> (Option<Load>, Vec<String>) {
    let executor = options
        .get("executor")
        .and_then(Js::as_str)
        .unwrap_or_default();
    let users = count(options.get("vus")).unwrap_or(1).max(1);
    let unit = time(options.get("timeUnit")).map_or(1.0, |unit| unit.as_secs_f64());
    let most = count(options.get("maxVUs")).or_else(|| count(options.get("preAllocatedVUs")));
    let iterations = u64::from(count(options.get("iterations")).unwrap_or(1).max(1));
    let duration = time(options.get("duration"));
    let number = |name: &str| options.get(name).and_then(Js::as_number);
    let mut notes = Vec::new();
    let shape = match executor {
        "constant-vus" => duration.map(|duration| Shape::Users {
            users,
            ramp_up: Duration::ZERO,
            duration,
        }),
        "shared-iterations" => Some(Shape::Iterations {
            count: iterations,
            users,
            per_user: false,
        }),
        "per-vu-iterations" => Some(Shape::Iterations {
            count: iterations * u64::from(users),
            users,
            per_user: true,
        }),
        "constant-arrival-rate" => {
            number("rate")
                .zip(duration)
                .map(|(rate, duration)| Shape::Rate {
                    per_second: round(rate / unit),
                    ramp_up: Duration::ZERO,
                    duration,
                })
        }
        "ramping-vus" | "ramping-arrival-rate" => {
            let is_rate = executor == "ramping-arrival-rate";
            let from = number(if is_rate { "startRate" } else { "startVUs" });
            let from = from.unwrap_or(if is_rate { 0.0 } else { 1.0 });
            let stages = options.get("stages").cloned().unwrap_or(Js::Undefined);
            let (load, more) = read_stages(&stages, from, unit, is_rate);
            notes.extend(more);
            load.map(|load| load.shape)
        }
        _ => None,
    };
    let Some(shape) = shape else {
        if notes.is_empty() {
            notes.push(format!(
                "the load of the executor `{executor}` is not known: write it"
            ));
        }
        return (None, notes);
    };
    let is_rate = matches!(shape, Shape::Rate { .. } | Shape::RateStages { .. });
    let mut load = Load::new(shape);
    load.max_users = most.filter(|most| is_rate && *most > 0);
    (Some(load), notes)
}

/// Reads stages; `unit` is the time unit of rates in seconds.
fn read_stages(
    stages: &Js<'_>,
    from: f64,
    unit: f64,
    is_rate: bool,
) -> (Option<Load>, Vec<String>) {
    let mut from = round(from / unit);
    let mut read = Vec::new();
    let lacks = || vec!["its stages are computed by code: write its load".to_owned()];
    for stage in stages.items() {
        let to = stage.get("target").and_then(Js::as_number);
        let duration = stage
            .get("duration")
            .and_then(|time| read_duration(time, 1e-3));
        let (Some(to), Some(duration)) = (to, duration) else {
            return (None, lacks());
        };
        let to = round(to / unit);
        // A stage without a time is a jump.
        if !duration.is_zero() {
            read.push(Stage { from, to, duration });
        }
        from = to;
    }
    if read.is_empty()
        || read
            .iter()
            .all(|stage| stage.from == 0.0 && stage.to == 0.0)
    {
        return (None, lacks());
    }
    let stages = Cow::Owned(read);
    let shape = if is_rate {
        Shape::RateStages { stages }
    } else {
        Shape::UserStages { stages }
    };
    (Some(Load::new(shape)), Vec::new())
}

/// Rounds a rate to what is worth writing.
pub(super) fn round(rate: f64) -> f64 {
    (rate * 1e4).round() / 1e4
}

//! The options of a script: scenarios and their loads.

use super::requests::read_duration;
use super::value::Js;
use crate::migration::{load_of_stages, round};
use crate::recording::ScenarioSettings;
use loadtest_model::definition::{Load, Rate};
use std::time::Duration;

/// The options of a scenario that are imported.
const KNOWN: &str = "executor exec startTime env tags vus iterations duration rate timeUnit startRate startVUs \
    stages preAllocatedVUs maxVUs";

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
        let named = options.fields().iter().map(|(name, _)| name);
        let unknown = named.filter(|name| !KNOWN.split(' ').any(|known| known == *name));
        notes.extend(unknown.map(|name| format!("`{name}` is not imported")));
        let fields = |name: &str| options.get(name).map_or(&[][..], Js::fields).to_vec();
        let function = options.get("exec").and_then(Js::as_str);
        let notes = notes.into_iter().map(|words| format!("{name}: {words}"));
        DeclaredScenario {
            name: Some(name.clone()),
            function: function.unwrap_or("default").to_owned(),
            settings: ScenarioSettings {
                load,
                start: options.get("startTime").and_then(read_duration),
                ..ScenarioSettings::default()
            },
            environment: fields("env"),
            tags: fields("tags"),
            notes: notes.collect(),
        }
    });
    scenarios.collect()
}

fn count(value: Option<&Js<'_>>) -> Option<u32> {
    let number = value?.as_number()?;
    (number.fract() == 0.0 && (0.0..=1e6).contains(&number)).then_some(number as u32)
}

fn time(value: Option<&Js<'_>>) -> Option<Duration> {
    read_duration(value?).filter(|time| !time.is_zero())
}

fn read_short_load(options: &Js<'_>) -> (Option<Load>, Vec<String>) {
    let users = count(options.get("vus"));
    let iterations = count(options.get("iterations"));
    if let Some(stages) = options.get("stages") {
        return read_stages(stages, f64::from(users.unwrap_or(1)), 1.0, false);
    }
    let users = users.unwrap_or(1).max(1);
    let load = match (iterations, time(options.get("duration"))) {
        (Some(count), _) => Some(Load::iterations(count.max(1).into(), users)),
        (None, duration) => duration.map(|duration| Load::users(users, duration)),
    };
    (load, Vec::new())
}

fn read_executor(options: &Js<'_>) -> (Option<Load>, Vec<String>) {
    let executor = options.get("executor").and_then(Js::as_str);
    let executor = executor.unwrap_or_default();
    let users = count(options.get("vus")).unwrap_or(1).max(1);
    let unit = time(options.get("timeUnit")).map_or(1.0, |unit| unit.as_secs_f64());
    let most = count(options.get("maxVUs")).or_else(|| count(options.get("preAllocatedVUs")));
    let iterations = u64::from(count(options.get("iterations")).unwrap_or(1).max(1));
    let duration = time(options.get("duration"));
    let number = |name: &str| options.get(name).and_then(Js::as_number);
    let load = match executor {
        "constant-vus" => duration.map(|duration| Load::users(users, duration)),
        "shared-iterations" => Some(Load::iterations(iterations, users)),
        "per-vu-iterations" => Some(Load::iterations_per_user(iterations, users)),
        "constant-arrival-rate" => {
            let rate = number("rate").map(|rate| Rate::per_second(round(rate / unit)));
            rate.zip(duration)
                .map(|(rate, duration)| Load::rate(rate, duration))
        }
        "ramping-vus" | "ramping-arrival-rate" => {
            let is_rate = executor == "ramping-arrival-rate";
            let from = number(if is_rate { "startRate" } else { "startVUs" });
            let from = from.unwrap_or(if is_rate { 0.0 } else { 1.0 });
            let stages = options.get("stages").cloned().unwrap_or(Js::Undefined);
            let (load, notes) = read_stages(&stages, from, unit, is_rate);
            if load.is_none() {
                return (None, notes);
            }
            load
        }
        _ => None,
    };
    let Some(mut load) = load else {
        let words = format!("the load of the executor `{executor}` is not known: write it");
        return (None, vec![words]);
    };
    load.max_users = most.filter(|most| load.is_open() && *most > 0);
    (Some(load), Vec::new())
}

/// Reads stages; `unit` is the time unit of rates in seconds.
fn read_stages(
    stages: &Js<'_>,
    mut from: f64,
    unit: f64,
    is_rate: bool,
) -> (Option<Load>, Vec<String>) {
    let course = stages.items().iter().map(|stage| {
        let to = stage.get("target").and_then(Js::as_number)?;
        let duration = read_duration(stage.get("duration")?)?;
        let from = std::mem::replace(&mut from, to);
        Some((from / unit, to / unit, duration.as_secs_f64()))
    });
    let course: Option<Vec<_>> = course.collect();
    let load = course.and_then(|course| load_of_stages(&course, is_rate));
    let lacks = "its stages are computed by code: write its load";
    let notes = if load.is_none() {
        vec![lacks.to_owned()]
    } else {
        Vec::new()
    };
    (load, notes)
}

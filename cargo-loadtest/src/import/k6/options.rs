//! The options of a script: loads and limits.

use super::requests::read_duration;
use super::value::Js;
use crate::import::recording::{Exchange, MetricKind, ScenarioSettings};
use loadtest_model::definition::{Load, Shape, Stage};
use loadtest_model::threshold::{Scope, parse_threshold};
use std::borrow::Cow;
use std::time::Duration;

/// The tag of all steps, for limits on all requests.
const ALL_REQUESTS: &str = "http";

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
    let lacks = || vec!["its stages are made by code: write its load".to_owned()];
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
fn round(rate: f64) -> f64 {
    (rate * 1e4).round() / 1e4
}

/// A limit that options declare.
#[derive(Debug)]
pub(super) struct DeclaredLimit {
    /// The name of the metric.
    pub(super) name: String,
    /// The limit, as the options write it.
    pub(super) words: String,
    pub(super) is_applied: bool,
}

/// Gives the limits of options to the exchanges of a scenario and to it, and returns all of them.
pub(super) fn apply_thresholds(
    options: &Js<'_>,
    scenario: Option<&str>,
    code_metrics: &[String],
    settings: &mut ScenarioSettings,
    exchanges: &mut [Exchange],
) -> Vec<DeclaredLimit> {
    let mut limits = Vec::new();
    for (name, conditions) in options.get("thresholds").map_or(&[][..], Js::fields) {
        let one = std::slice::from_ref(conditions);
        let conditions = if conditions.items().is_empty() {
            one
        } else {
            conditions.items()
        };
        let (metric, selector) = split_metric(name);
        for condition in conditions {
            let words = condition.get("threshold").unwrap_or(condition).as_str();
            let is_here = selector.is_none_or(|(tag, value)| {
                tag != "scenario" || value == scenario.unwrap_or("default")
            });
            // A limit on a metric that code adds to as well would be one on a part of it.
            let is_code = code_metrics.iter().any(|known| known == metric);
            let mut metrics = exchanges
                .iter()
                .flat_map(|exchange| &exchange.settings.metrics);
            let known = metrics.find(|known| known.name == metric && !is_code);
            let known = known.map(|known| known.kind);
            let limit = words.and_then(|words| read_limit(metric, known, words, condition));
            let is_applied = match (limit, known) {
                _ if !is_here => false,
                (Some(limit), None) => place_limit(&limit, metric, selector, settings, exchanges),
                (Some(limit), Some(_)) => {
                    let is_whole = selector.is_none_or(|(tag, _)| tag == "scenario");
                    let fits = is_whole && parse_threshold(&limit, Scope::Journey).is_ok();
                    settings.thresholds.extend(Some(limit).filter(|_| fits));
                    fits
                }
                (None, _) => false,
            };
            limits.push(DeclaredLimit {
                name: name.clone(),
                words: words.unwrap_or("a condition that code makes").to_owned(),
                is_applied,
            });
        }
    }
    settings.thresholds.dedup();
    limits
}

/// Splits `http_req_duration{name:login}`.
fn split_metric(name: &str) -> (&str, Option<(&str, &str)>) {
    let Some((metric, rest)) = name.split_once('{') else {
        return (name.trim(), None);
    };
    let rest = rest.trim_end_matches('}');
    let pair = rest
        .split_once(':')
        .map(|(tag, value)| (tag.trim(), value.trim()));
    match pair {
        // Figures are those of successful requests anyway.
        Some(("expected_response", "true")) => (metric.trim(), None),
        pair => (metric.trim(), pair.or(Some((rest, "")))),
    }
}

/// Returns a limit in the language, without its subject: `p95 < 300ms`.
fn read_limit(
    metric: &str,
    kind: Option<MetricKind>,
    words: &str,
    condition: &Js<'_>,
) -> Option<String> {
    let at = words.find(['<', '>'])?;
    let (statistic, rest) = words.split_at(at);
    let length = rest.find(|letter: char| !"<>=".contains(letter))?;
    let (sign, number) = rest.split_at(length);
    let number: f64 = number.trim().parse().ok()?;
    let statistic = statistic.trim();
    let millis = format!("{number}ms");
    let share = format!("{}%", round(number * 100.0));
    let word = match statistic {
        "avg" => "mean",
        "med" | "p(50)" => "p50",
        "max" => "max",
        "p(90)" => "p90",
        "p(95)" => "p95",
        "p(99)" => "p99",
        "p(99.9)" => "p99_9",
        _ => "",
    };
    let name = quote_word(metric);
    let limit = match (metric, statistic) {
        _ if kind.is_some() => match (kind?, statistic) {
            (MetricKind::Count, "count") => format!("count({name}) {sign} {number}"),
            (MetricKind::Count, "rate") => format!("rate({name}) {sign} {number}/s"),
            (MetricKind::Time, _) if !word.is_empty() => {
                format!("time({name}).{word} {sign} {millis}")
            }
            // The mean of ones and zeros is a share.
            (MetricKind::Gauge, "rate" | "avg") => format!("gauge({name}).mean {sign} {number}"),
            (MetricKind::Gauge, "value") => format!("gauge({name}).last {sign} {number}"),
            (MetricKind::Gauge, "min" | "max") => {
                format!("gauge({name}).{statistic} {sign} {number}")
            }
            _ => return None,
        },
        ("http_req_duration" | "iteration_duration" | "group_duration", _) if !word.is_empty() => {
            format!("{word} {sign} {millis}")
        }
        ("http_req_waiting", _) if !word.is_empty() => format!("first_byte.{word} {sign} {millis}"),
        ("http_req_connecting", _) if !word.is_empty() => format!("connect.{word} {sign} {millis}"),
        ("http_req_tls_handshaking", _) if !word.is_empty() => {
            format!("tls.{word} {sign} {millis}")
        }
        ("http_req_failed", "rate") => format!("errors {sign} {share}"),
        ("checks", "rate") => format!("checks {sign} {share}"),
        ("iterations" | "http_reqs", "rate") => format!("rps {sign} {number}/s"),
        _ => return None,
    };
    if condition.get("abortOnFail").and_then(Js::truth) != Some(true) {
        return Some(limit);
    }
    let delay = condition
        .get("delayAbortEval")
        .and_then(|time| read_duration(time, 1e-3));
    Some(match delay.filter(|delay| !delay.is_zero()) {
        Some(delay) => format!("{limit} or abort after {delay:?}"),
        None => format!("{limit} or abort"),
    })
}

/// Quotes a name that is no word.
fn quote_word(name: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if name.chars().all(is_part) {
        return name.to_owned();
    }
    loadtest_model::threshold::quote_text(name)
}

/// Places a limit where it is about what it is about in the script.
fn place_limit(
    limit: &str,
    metric: &str,
    selector: Option<(&str, &str)>,
    settings: &mut ScenarioSettings,
    exchanges: &mut [Exchange],
) -> bool {
    let is_of_journey = [
        "iteration_duration",
        "iterations",
        "checks",
        "http_req_failed",
    ]
    .contains(&metric);
    let is_valid = |text: &str, scope| parse_threshold(text, scope).is_ok();
    let of_tag = |tag: &str, settings: &mut ScenarioSettings| {
        let tag = quote_word(tag);
        let text = format!("tag({tag}).{limit}");
        let fits = is_valid(&text, Scope::Journey);
        if fits {
            settings.thresholds.push(text);
        }
        fits
    };
    match selector {
        None | Some(("scenario", _)) if is_of_journey || exchanges.len() == 1 => {
            let is_simple = is_valid(limit, Scope::Journey);
            if is_simple {
                settings.thresholds.push(limit.to_owned());
            }
            is_simple
        }
        None | Some(("scenario", _)) => {
            for exchange in exchanges {
                if !exchange.settings.tags.iter().any(|tag| tag == ALL_REQUESTS) {
                    exchange.settings.tags.push(ALL_REQUESTS.to_owned());
                }
            }
            of_tag(ALL_REQUESTS, settings)
        }
        Some(("name" | "url", value)) => {
            let mut is_found = false;
            for exchange in exchanges {
                let target = exchange.target.as_literal().unwrap_or_default();
                let url = format!("{}{target}", exchange.origin);
                let is_same = exchange.name.as_deref() == Some(value) || url == value;
                if is_same && is_valid(limit, Scope::Step) {
                    exchange.settings.thresholds.push(limit.to_owned());
                    is_found = true;
                }
            }
            is_found
        }
        Some(("group", value)) => {
            let value = value.trim_start_matches(':').replace("::", " / ");
            let tag = value.trim().to_owned();
            let mut is_found = false;
            for exchange in exchanges {
                let is_within = exchange.transaction().is_some_and(|name| {
                    name == tag
                        || name
                            .strip_prefix(&tag)
                            .is_some_and(|rest| rest.starts_with(" / "))
                });
                is_found |= is_within;
                let tags = &mut exchange.settings.tags;
                if is_within && metric != "group_duration" && !tags.contains(&tag) {
                    tags.push(tag.clone());
                }
            }
            if is_found && metric == "group_duration" {
                settings.group_limits.push((tag, limit.to_owned()));
                return true;
            }
            is_found && of_tag(&tag, settings)
        }
        Some((name, value)) => {
            let tag = format!("{name}:{value}");
            let mut exchanges = exchanges.iter();
            let is_found = exchanges.any(|exchange| exchange.settings.tags.contains(&tag));
            is_found && of_tag(&tag, settings)
        }
    }
}

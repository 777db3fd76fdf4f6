//! The limits of a script: `thresholds` of its options.

use super::requests::read_duration;
use super::value::Js;
use crate::migration::round;
use crate::recording::{Exchange, MetricKind, ScenarioSettings};
use loadtest_model::threshold::{Scope, parse_threshold};

/// The tag of all steps, for limits on all requests.
const ALL_REQUESTS: &str = "http";

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
        let conditions = match conditions.items() {
            [] => std::slice::from_ref(conditions),
            items => items,
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
                words: words
                    .unwrap_or("a condition that is computed by code")
                    .to_owned(),
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
    let limit = match (kind, metric, statistic) {
        (Some(MetricKind::Count), _, "count") => format!("count({name}) {sign} {number}"),
        (Some(MetricKind::Count), _, "rate") => format!("rate({name}) {sign} {number}/s"),
        (Some(MetricKind::Time), ..) if !word.is_empty() => {
            format!("time({name}).{word} {sign} {millis}")
        }
        // The mean of ones and zeros is a share.
        (Some(MetricKind::Gauge), _, "rate" | "avg") => {
            format!("gauge({name}).mean {sign} {number}")
        }
        (Some(MetricKind::Gauge), _, "value") => format!("gauge({name}).last {sign} {number}"),
        (Some(MetricKind::Gauge), _, "min" | "max") => {
            format!("gauge({name}).{statistic} {sign} {number}")
        }
        (None, "http_req_failed", "rate") => format!("errors {sign} {share}"),
        (None, "checks", "rate") => format!("checks {sign} {share}"),
        (None, "iterations" | "http_reqs", "rate") => format!("rps {sign} {number}/s"),
        (None, ..) if !word.is_empty() => {
            let figure = match metric {
                "http_req_duration" | "iteration_duration" | "group_duration" => "",
                "http_req_waiting" => "first_byte.",
                "http_req_connecting" => "connect.",
                "http_req_tls_handshaking" => "tls.",
                _ => return None,
            };
            format!("{figure}{word} {sign} {millis}")
        }
        _ => return None,
    };
    if condition.get("abortOnFail").and_then(Js::truth) != Some(true) {
        return Some(limit);
    }
    let delay = condition.get("delayAbortEval");
    let delay = delay.and_then(read_duration);
    let delay = delay.filter(|delay| !delay.is_zero());
    let after = delay.map_or_else(String::new, |delay| format!(" after {delay:?}"));
    Some(format!("{limit} or abort{after}"))
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
    let is_of_journey = matches!(
        metric,
        "iteration_duration" | "iterations" | "checks" | "http_req_failed"
    );
    let is_valid = |text: &str, scope| parse_threshold(text, scope).is_ok();
    let add = |settings: &mut ScenarioSettings, limit: String| {
        let fits = is_valid(&limit, Scope::Journey);
        settings.thresholds.extend(Some(limit).filter(|_| fits));
        fits
    };
    let of_tag = |tag: &str, settings: &mut ScenarioSettings| {
        add(settings, format!("tag({}).{limit}", quote_word(tag)))
    };
    match selector {
        None | Some(("scenario", _)) if is_of_journey || exchanges.len() == 1 => {
            add(settings, limit.to_owned())
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

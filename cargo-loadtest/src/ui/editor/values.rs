//! The values of answers that later steps can use, from the journey that was tried last.

use loadtest_model::protocol::{DebugEvent, DebugExchange};
use serde_json::Value;

/// The most values of an answer.
const VALUES: usize = 200;
/// The longest value that is shown.
const LONGEST: usize = 60;
/// The elements of a list that are offered.
const ELEMENTS: usize = 3;

/// The values of a step's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ui) struct StepValues {
    pub(in crate::ui) step: String,
    pub(in crate::ui) status: String,
    /// Templates, each with the value that it had.
    pub(in crate::ui) values: Vec<(String, String)>,
}

/// Collects the values of the answers of a journey, in the order of its steps, whose functions are `steps`.
pub(in crate::ui) fn collect_values(events: &[DebugEvent], steps: &[&str]) -> Vec<StepValues> {
    let exchanges = events.iter().filter_map(|event| match event {
        DebugEvent::Exchange(exchange) if exchange.row.is_none() => Some(exchange),
        _ => None,
    });
    let mut all: Vec<StepValues> = exchanges
        .filter_map(|exchange| describe_exchange(steps.get(exchange.step)?, exchange))
        .collect();
    // Of a step that was sent again, the last answer counts.
    all.reverse();
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|values| seen.insert(values.step.clone()));
    all.reverse();
    all
}

fn describe_exchange(step: &str, exchange: &DebugExchange) -> Option<StepValues> {
    let answer = exchange.hops.last()?.answer.as_ref()?;
    let mut values = Vec::new();
    let body = answer.body.as_ref().and_then(|body| body.text.as_ref());
    if let Some(body) = body.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        collect_from(&body, &format!("{step}.response"), &mut values);
    }
    values.truncate(VALUES);
    for (name, value) in &answer.headers {
        values.push((format!("{{{{{step}.headers.{name}}}}}"), shorten(value)));
    }
    Some(StepValues {
        step: step.to_owned(),
        status: answer.status.clone(),
        values,
    })
}

fn collect_from(value: &Value, path: &str, values: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                // Another name is no path of a template.
                if name
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || letter == '_')
                {
                    collect_from(value, &format!("{path}.{name}"), values);
                }
            }
        }
        Value::Array(elements) => {
            for (at, value) in elements.iter().take(ELEMENTS).enumerate() {
                collect_from(value, &format!("{path}[{at}]"), values);
            }
        }
        Value::String(text) => values.push((format!("{{{{{path}}}}}"), shorten(text))),
        other => values.push((format!("{{{{{path}}}}}"), other.to_string())),
    }
}

fn shorten(text: &str) -> String {
    let mut letters = text.chars();
    let begin: String = letters.by_ref().take(LONGEST).collect();
    if letters.next().is_some() {
        format!("{begin}…")
    } else {
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_value_of_an_answer_has_its_template() {
        let mut values = Vec::new();
        let body =
            json!({ "token": "t", "odd name": 1, "items": [{ "id": 7 }, { "id": 8 }], "ok": true });
        collect_from(&body, "login.response", &mut values);
        let shown: Vec<_> = values
            .iter()
            .map(|(template, value)| format!("{template}={value}"))
            .collect();
        assert_eq!(
            shown,
            [
                "{{login.response.items[0].id}}=7",
                "{{login.response.items[1].id}}=8",
                "{{login.response.ok}}=true",
                "{{login.response.token}}=t",
            ]
        );
    }
}

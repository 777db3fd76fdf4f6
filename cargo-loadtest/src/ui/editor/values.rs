//! The values of answers that later steps can use, from the journey that was tried last.

use crate::source::{AnswerField, AnswerType, Edit};
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
    pub(in crate::ui) values: Vec<OfferedValue>,
}

/// A value of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ui) struct OfferedValue {
    pub(in crate::ui) template: String,
    pub(in crate::ui) value: String,
    /// The type of a field that holds it; none for headers and for what has no value.
    field_type: Option<&'static str>,
}

impl OfferedValue {
    /// Returns the edit that adds the field which the declared type of the answer lacks for this value.
    pub(in crate::ui) fn missing_field(
        &self,
        returns: Option<&str>,
        answers: &[AnswerType],
    ) -> Option<Edit> {
        let path = self.template.trim_matches(['{', '}']);
        let (_, path) = path.split_once(".response")?;
        let mut parts = path.split('.');
        let mut holder = element_type(returns?, count_indices(parts.next()?))?;
        while let Some(part) = parts.next() {
            let name = part.split('[').next()?;
            let answer = answers.iter().find(|answer| answer.name == holder)?;
            let mut fields = answer.fields.as_ref()?.iter();
            if let Some(field) = fields.find(|field| field.name == name) {
                holder = element_type(&field.field_type, count_indices(part))?;
                continue;
            }
            let is_value = parts.next().is_none() && name == part && !answer.has_serde;
            return is_value.then_some(Edit::AddField {
                answer: answer.name.clone(),
                field: AnswerField {
                    name: name.to_owned(),
                    field_type: self.field_type?.to_owned(),
                },
            });
        }
        None
    }
}

fn count_indices(part: &str) -> usize {
    part.matches('[').count()
}

/// Returns the type within so many lists: `Item` of `Option<Vec<Item>>` for one.
fn element_type(of: &str, lists: usize) -> Option<&str> {
    let inside = |outer: &str| {
        let inside = of.strip_prefix(outer)?.trim_start().strip_prefix('<')?;
        Some(inside.strip_suffix('>')?.trim())
    };
    match inside("Option") {
        Some(inside) => element_type(inside, lists),
        None if lists == 0 => Some(of),
        None => element_type(inside("Vec")?, lists - 1),
    }
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
        values.push(OfferedValue {
            template: format!("{{{{{step}.headers.{name}}}}}"),
            value: shorten(value),
            field_type: None,
        });
    }
    Some(StepValues {
        step: step.to_owned(),
        status: answer.status.clone(),
        values,
    })
}

fn collect_from(value: &Value, path: &str, values: &mut Vec<OfferedValue>) {
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
        value => values.push(OfferedValue {
            template: format!("{{{{{path}}}}}"),
            value: match value {
                Value::String(text) => shorten(text),
                other => other.to_string(),
            },
            field_type: match value {
                Value::String(_) => Some("String"),
                Value::Bool(_) => Some("bool"),
                Value::Number(number) if number.is_u64() => Some("u64"),
                Value::Number(number) if number.is_i64() => Some("i64"),
                Value::Number(_) => Some("f64"),
                _ => None,
            },
        }),
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
            .map(|one| format!("{}={}", one.template, one.value))
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

    #[test]
    fn a_value_without_a_field_proposes_one_of_its_type() {
        let text = "
            #[response] struct Login { token: String, user: Option<User>, items: Vec<Item> }
            #[response] struct User { name: String }
            #[response] struct Item { id: u64 }
            #[response] #[serde(rename_all = \"camelCase\")] struct Other { id: u64 }";
        let answers = AnswerType::read_all(text).unwrap();
        let body = json!({
            "token": "t", "expires_in": 3600, "rate": 0.5, "below": -1, "nothing": null, "list": [1],
            "user": { "name": "Ada", "is_new": true }, "items": [{ "id": 7, "price": "1.0" }],
            "new": { "id": 1 },
        });
        let mut values = Vec::new();
        collect_from(&body, "login.response", &mut values);
        let missing = |returns: &str, values: &[OfferedValue]| -> Vec<String> {
            let found = values
                .iter()
                .filter_map(|value| value.missing_field(Some(returns), &answers));
            let told = found.map(|edit| match edit {
                Edit::AddField { answer, field } => {
                    format!("{answer}.{}: {}", field.name, field.field_type)
                }
                other => panic!("{other:?}"),
            });
            told.collect()
        };
        assert_eq!(
            missing("Login", &values),
            [
                "Login.below: i64",
                "Login.expires_in: u64",
                "Item.price: String",
                "Login.rate: f64",
                "User.is_new: bool",
            ]
        );
        assert_eq!(missing("Value", &values), [""; 0]);
        assert_eq!(missing("Other", &values), [""; 0]);
        values.clear();
        collect_from(
            &json!([{ "id": 1, "size": 2 }]),
            "list.response",
            &mut values,
        );
        assert_eq!(missing("Vec<Item>", &values), ["Item.size: u64"]);
        assert_eq!(missing("Item", &values), [""; 0]);
    }
}

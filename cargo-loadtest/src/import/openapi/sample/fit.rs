//! What is asked of a value and is not so: of those that are made up, not of examples.

use super::shape::Shape;
use crate::import::document::{Node, Value};
use crate::import::source::Span;
use std::borrow::Cow;
use std::collections::HashSet;

/// What is not looked at, whatever the value is.
const NEVER: [&str; 3] = ["not", "if", "$dynamicRef"];
/// The same of lists and of objects.
const OF_LISTS: [&str; 1] = ["contains"];
const OF_OBJECTS: [&str; 3] = ["propertyNames", "dependentSchemas", "dependencies"];
/// How far a number may be from a multiple, by which it is one all the same.
const NEAR: f64 = 1e-6;

/// What is said about a value, each with its place.
pub(super) fn faults<'a>(shape: &Shape<'a>, value: &Node<'a>) -> Vec<(Span, String)> {
    let mut faults = Vec::new();
    let mut look = |key: &str, fails: &dyn Fn(f64) -> bool, what: &str| {
        let said = shape.get(key);
        let asked = said.and_then(Node::number);
        if let (Some(said), Some(asked)) = (said, asked.filter(|asked| fails(*asked))) {
            let words = format!("`{key}` is {asked}, and {what} is sent: an example would help");
            faults.push((said.beginning(), words));
        }
    };
    let mut others: Vec<&str> = NEVER.to_vec();
    match &value.value {
        Value::Text(text) => {
            let length = text.chars().count() as f64;
            let what = format!("a text of {length} letters");
            look("minLength", &|least| length < least, &what);
            look("maxLength", &|most| length > most, &what);
        }
        Value::Number(number) => {
            let known = number.parse::<f64>().unwrap_or(0.0);
            let is_open = |key: &str| shape.get(key).and_then(Node::boolean) == Some(true);
            let (is_open_below, is_open_above) =
                (is_open("exclusiveMinimum"), is_open("exclusiveMaximum"));
            let is_below = |least: f64| known < least || is_open_below && known <= least;
            let is_above = |most: f64| known > most || is_open_above && known >= most;
            let is_between = |step: f64| {
                let times = known / step;
                step > 0.0 && (times - times.round()).abs() > NEAR
            };
            look("minimum", &is_below, number);
            look("maximum", &is_above, number);
            look("exclusiveMinimum", &|least| known <= least, number);
            look("exclusiveMaximum", &|most| known >= most, number);
            look("multipleOf", &is_between, number);
        }
        Value::List(items) => {
            let length = items.len() as f64;
            let what = format!("a list of {length}");
            look("minItems", &|least| length < least, &what);
            look("maxItems", &|most| length > most, &what);
            others.extend(OF_LISTS);
            let mut seen = HashSet::new();
            let is_unique = items.iter().all(|item| seen.insert(item.json()));
            let asked = shape.get("uniqueItems");
            if let Some(asked) = asked.filter(|asked| asked.boolean() == Some(true) && !is_unique) {
                let words =
                    "`uniqueItems` is not so for the list that is sent: an example would help";
                faults.push((asked.beginning(), words.to_owned()));
            }
        }
        Value::Object(fields) => {
            let count = fields.len() as f64;
            let what = format!("an object of {count}");
            look("minProperties", &|least| count < least, &what);
            look("maxProperties", &|most| count > most, &what);
            others.extend(OF_OBJECTS);
            for rule in shape.get("dependentRequired").map_or(&[][..], Node::fields) {
                let has = |name: &str| fields.iter().any(|field| field.name == name);
                let mut needed = rule.node.items().iter().filter_map(Node::text);
                if has(&rule.name) && needed.any(|name| !has(name)) {
                    let words =
                        "`dependentRequired` is not so for what is sent: an example would help";
                    faults.push((rule.span.clone(), words.to_owned()));
                }
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
    for key in others {
        if let Some(said) = shape.get(key) {
            let words = format!(
                "`{key}` is not looked at: what is sent may not fit, unless there is an example"
            );
            faults.push((said.beginning(), words));
        }
    }
    faults
}

/// An item of a list that is like others and none of them; nothing where none is known.
pub(super) fn another<'a>(shape: &Shape<'a>, item: &Node<'a>, number: usize) -> Option<Node<'a>> {
    if number == 0 {
        return Some(item.clone());
    }
    if let Some(listed) = shape.get("enum") {
        let mut others = listed
            .items()
            .iter()
            .filter(|other| other.value != item.value);
        return others.nth(number - 1).cloned();
    }
    let is_free = |keys: &[&str]| keys.iter().all(|key| shape.get(key).is_none());
    let value = match &item.value {
        Value::Number(known) if is_free(&["multipleOf", "const"]) => {
            let known: i64 = known.parse().ok()?;
            let next = known.checked_add(i64::try_from(number).ok()?)?;
            let is_within = |key: &str, fits: &dyn Fn(f64) -> bool| {
                shape.get(key).and_then(Node::number).is_none_or(fits)
            };
            let fits = is_within("maximum", &|most| (next as f64) < most)
                && is_within("exclusiveMaximum", &|most| (next as f64) < most);
            Value::Number(Cow::Owned(fits.then_some(next)?.to_string()))
        }
        Value::Text(text) if is_free(&["pattern", "format", "maxLength", "const"]) => {
            Value::Text(Cow::Owned(format!("{text}{}", number + 1)))
        }
        _ => return None,
    };
    Some(Node {
        span: item.span.clone(),
        value,
    })
}

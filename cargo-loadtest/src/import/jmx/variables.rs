//! Variables and functions in the texts of a plan: `${name}`, `${__P(name,default)}`.

use super::element::Element;
use crate::import::migration::Migration;
use crate::import::recording::{Feed, FeedOrder, FeedSource, Piece, RunValue, Text, UserValue};
use std::collections::HashMap;

/// Deepest variables in variables.
const DEEPEST: usize = 10;
/// Most numbers of a feed.
const MOST_NUMBERS: i64 = 1_000_000;

/// The value of a variable.
#[derive(Debug, Clone)]
pub(super) enum Variable {
    /// A text, in which other variables may be.
    Template(String),
    /// A value of an answer or of test data.
    Value(Text),
    /// Only code knows it.
    Unknown,
}

/// The variables at a place of the plan.
pub(super) type Variables = HashMap<String, Variable>;

/// Returns a text with its variables.
pub(super) fn resolve(text: &str, variables: &Variables, migration: &mut Migration) -> Text {
    resolve_within(text, variables, migration, 0)
}

/// Returns a property with its variables as a number.
pub(super) fn read_number(
    element: &Element,
    name: &str,
    variables: &Variables,
    migration: &mut Migration,
) -> Option<f64> {
    let text = resolve(element.text_of(name), variables, migration);
    let number: f64 = text.as_literal()?.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

fn resolve_within(
    text: &str,
    variables: &Variables,
    migration: &mut Migration,
    depth: usize,
) -> Text {
    let mut resolved = Text::default();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        resolved.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let Some(end) = closing_brace(after) else {
            resolved.push_str(&rest[at..]);
            return resolved;
        };
        let value = value_of(after[..end].trim(), variables, migration, depth);
        resolved.append(value);
        rest = &after[end + 1..];
    }
    resolved.push_str(rest);
    resolved
}

/// Returns the place of the brace that closes an expression.
fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => open += 1,
            '}' if open == 0 => return Some(at),
            '}' => open -= 1,
            _ => {}
        }
    }
    None
}

fn value_of(
    expression: &str,
    variables: &Variables,
    migration: &mut Migration,
    depth: usize,
) -> Text {
    if let Some(call) = expression.strip_prefix("__") {
        return call_function(call, expression, variables, migration, depth);
    }
    match variables.get(expression) {
        Some(Variable::Value(text)) => text.clone(),
        Some(Variable::Template(text)) if depth < DEEPEST => {
            resolve_within(text, variables, migration, depth + 1)
        }
        _ => migration.unknown(expression),
    }
}

fn call_function(
    call: &str,
    expression: &str,
    variables: &Variables,
    migration: &mut Migration,
    depth: usize,
) -> Text {
    let (name, arguments) = call.split_once('(').unwrap_or((call, ""));
    let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    let first = arguments.first().copied().unwrap_or_default();
    let second = arguments.get(1).copied();
    let run = |value: RunValue| Text::from_iter([Piece::Run(value)]);
    match name {
        "P" | "property" => {
            let default = if name == "P" {
                second
            } else {
                arguments.get(2).copied()
            };
            match default.filter(|default| !default.is_empty()) {
                Some(default) if depth < DEEPEST => {
                    resolve_within(default, variables, migration, depth + 1)
                }
                _ => migration.variable(first),
            }
        }
        "env" | "Env" => migration.variable(first),
        "UUID" => Text::from_iter([Piece::User(UserValue::Uuid)]),
        "RandomString" => Text::from_iter([Piece::User(UserValue::Unique)]),
        "threadNum" => run(RunValue::User),
        "counter" if first.eq_ignore_ascii_case("true") => run(RunValue::Iteration),
        "counter" => numbers(migration, "counter", 1, MOST_NUMBERS, FeedOrder::Sequential)
            .unwrap_or_else(|| migration.unknown(expression)),
        "time" => match first {
            "" => run(RunValue::UnixMillis),
            "/1000" => run(RunValue::UnixSeconds),
            _ => migration.unknown(expression),
        },
        "Random" => {
            let number = |text: &str| {
                let text = resolve_within(text, variables, migration, DEEPEST);
                text.as_literal()?.trim().parse::<i64>().ok()
            };
            let mut bounds = [first, second.unwrap_or_default()]
                .map(number)
                .into_iter()
                .flatten();
            match (bounds.next(), bounds.next()) {
                (Some(low), Some(high)) => {
                    numbers(migration, "number", low, high, FeedOrder::Random)
                        .unwrap_or_else(|| migration.unknown(expression))
                }
                _ => migration.unknown(expression),
            }
        }
        _ => migration.unknown(expression),
    }
}

/// Returns a number of a range, both included.
pub(super) fn numbers(
    migration: &mut Migration,
    name: &str,
    low: i64,
    high: i64,
    order: FeedOrder,
) -> Option<Text> {
    let is_fit = low <= high && high.checked_sub(low)? <= MOST_NUMBERS;
    is_fit.then_some(())?;
    let feed = Feed {
        name: name.to_owned(),
        source: FeedSource::Numbers(low, high),
        order,
        stops: false,
    };
    let feed = migration.feed(format!("{name} {low}..{high} {order:?}"), feed);
    Some(Text::from_iter([Piece::Run(RunValue::Row {
        feed,
        column: None,
    })]))
}

//! Variables and functions in the texts of a plan: `${name}`, `${__P(name,default)}`.

use super::element::Element;
use crate::import::migration::Migration;
use crate::import::recording::{FeedOrder, Piece, RunValue, Text};
use std::collections::HashMap;

/// Deepest variables in variables.
const DEEPEST: usize = 10;
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
        let called = call_function(call, variables, migration, depth);
        return called.unwrap_or_else(|| migration.unknown(expression));
    }
    match variables.get(expression) {
        Some(Variable::Value(text)) => text.clone(),
        Some(Variable::Template(text)) if depth < DEEPEST => {
            resolve_within(text, variables, migration, depth + 1)
        }
        _ => migration.unknown(expression),
    }
}

/// Returns the value of a call, where it is known.
fn call_function(
    call: &str,
    variables: &Variables,
    migration: &mut Migration,
    depth: usize,
) -> Option<Text> {
    let (name, arguments) = call.split_once('(').unwrap_or((call, ""));
    let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
    let first = argument(0);
    let run = |value: RunValue| Some(Piece::Run(value).into());
    match name {
        "P" if !argument(1).is_empty() && depth < DEEPEST => {
            Some(resolve_within(argument(1), variables, migration, depth + 1))
        }
        "P" | "property" | "env" | "Env" => Some(migration.variable(first)),
        "UUID" => run(RunValue::Uuid),
        "RandomString" => run(RunValue::Unique),
        "threadNum" => run(RunValue::User),
        "counter" if first.eq_ignore_ascii_case("true") => run(RunValue::Iteration),
        "time" if first.is_empty() => run(RunValue::UnixMillis),
        "time" if first == "/1000" => run(RunValue::UnixSeconds),
        "Random" => {
            let [low, high] = [first, argument(1)].map(|text| {
                let text = resolve_within(text, variables, migration, DEEPEST);
                text.as_literal()?.trim().parse::<i64>().ok()
            });
            numbers(migration, "number", (low?, high?), FeedOrder::Random)
        }
        _ => None,
    }
}

/// Returns a number of a range, both included.
pub(super) fn numbers(
    migration: &mut Migration,
    name: &str,
    range: (i64, i64),
    order: FeedOrder,
) -> Option<Text> {
    let feed = migration.number_feed(name, range, order)?;
    Some(Text::row(feed, None))
}

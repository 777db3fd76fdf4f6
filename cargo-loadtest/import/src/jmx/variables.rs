//! Variables and functions in the texts of a plan: `${name}`, `${__P(name,default)}`.

use super::element::Element;
use crate::migration::Migration;
use crate::recording::{FeedOrder, Piece, RunValue, Text};
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

/// The variables at a place of the plan, and the recording that their values are of.
pub(super) struct VariableScope<'s> {
    pub(super) variables: &'s Variables,
    pub(super) migration: &'s mut Migration,
}

impl VariableScope<'_> {
    /// Returns a text with its variables.
    pub(super) fn resolve(&mut self, text: &str) -> Text {
        self.resolve_within(text, 0)
    }

    /// Returns a property with its variables.
    pub(super) fn text_of(&mut self, element: &Element, name: &str) -> Text {
        self.resolve(element.text_of(name))
    }

    /// Returns a property with its variables as a number.
    pub(super) fn number_of(&mut self, element: &Element, name: &str) -> Option<f64> {
        let text = self.text_of(element, name);
        let number: f64 = text.as_literal()?.trim().parse().ok()?;
        number.is_finite().then_some(number)
    }

    fn resolve_within(&mut self, text: &str, depth: usize) -> Text {
        let mut resolved = Text::default();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            resolved.push_str(&rest[..at]);
            let after = &rest[at + 2..];
            let Some(end) = closing_brace(after) else {
                resolved.push_str(&rest[at..]);
                return resolved;
            };
            resolved.append(self.value_of(after[..end].trim(), depth));
            rest = &after[end + 1..];
        }
        resolved.push_str(rest);
        resolved
    }

    fn value_of(&mut self, expression: &str, depth: usize) -> Text {
        if let Some(call) = expression.strip_prefix("__") {
            let called = self.call_function(call, depth);
            return called.unwrap_or_else(|| self.migration.unknown(expression));
        }
        match self.variables.get(expression) {
            Some(Variable::Value(text)) => text.clone(),
            Some(Variable::Template(text)) if depth < DEEPEST => {
                self.resolve_within(text, depth + 1)
            }
            _ => self.migration.unknown(expression),
        }
    }

    /// Returns the value of a call, where it is known.
    fn call_function(&mut self, call: &str, depth: usize) -> Option<Text> {
        let (name, arguments) = call.split_once('(').unwrap_or((call, ""));
        let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
        let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
        let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
        let first = argument(0);
        let run = |value: RunValue| Some(Piece::Run(value).into());
        match name {
            "P" if !argument(1).is_empty() && depth < DEEPEST => {
                Some(self.resolve_within(argument(1), depth + 1))
            }
            "P" | "property" | "env" | "Env" => Some(self.migration.variable(first)),
            "UUID" => run(RunValue::Uuid),
            "RandomString" => run(RunValue::Unique),
            "threadNum" => run(RunValue::User),
            "counter" if first.eq_ignore_ascii_case("true") => run(RunValue::Iteration),
            "time" if first.is_empty() => run(RunValue::UnixMillis),
            "time" if first == "/1000" => run(RunValue::UnixSeconds),
            "Random" => {
                let [low, high] = [first, argument(1)].map(|text| {
                    let text = self.resolve_within(text, DEEPEST);
                    text.as_literal()?.trim().parse::<i64>().ok()
                });
                numbers(self.migration, "number", (low?, high?), FeedOrder::Random)
            }
            _ => None,
        }
    }
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

//! Operators of expressions.

#![expect(
    clippy::float_cmp,
    reason = "numbers of the input are compared as they are written"
)]

use super::conditions::{combine_any, compare, tests_of};
use super::interpreter::Interpreter;
use super::syntax::{inner_of, span_of};
use super::value::Js;
use crate::import::recording::{FeedOrder, RunValue};
use tree_sitter::Node;

impl<'t> Interpreter<'_, 't> {
    /// Evaluates an operator between two values.
    pub(super) fn eval_binary(&mut self, node: Node<'t>) -> Js<'t> {
        let unknown = Js::Unknown(span_of(node));
        let field = |name: &str| node.child_by_field_name(name);
        let (Some(left), Some(sign), Some(right)) =
            (field("left"), field("operator"), field("right"))
        else {
            return unknown;
        };
        let one = self.eval(left);
        let sign = self.text(sign);
        match sign {
            "||" | "??" => return self.eval_or(one, right, node),
            "&&" => {
                return match one.truth() {
                    Some(true) => self.eval(right),
                    Some(false) => one,
                    None => {
                        if let Some(mut tests) = tests_of(&one) {
                            match tests_of(&self.eval(right)) {
                                Some(more) => {
                                    tests.extend(more);
                                    Js::Tests(tests)
                                }
                                None => unknown,
                            }
                        } else {
                            self.eval(right);
                            unknown
                        }
                    }
                };
            }
            _ => {}
        }
        let other = self.eval(right);
        match (sign, &one, &other) {
            ("+", Js::Number(one), Js::Number(other)) => Js::Number(one + other),
            ("-", Js::Number(one), Js::Number(other)) => Js::Number(one - other),
            ("*", Js::Number(one), Js::Number(other)) => Js::Number(one * other),
            ("/", Js::Number(one), Js::Number(other)) => Js::Number(one / other),
            ("%", Js::Number(one), Js::Number(other)) => Js::Number(one % other),
            (_, Js::Random { .. }, Js::Number(number)) => {
                scale(&one, sign, *number).unwrap_or(unknown)
            }
            ("+" | "*", Js::Number(number), Js::Random { .. }) => {
                scale(&other, sign, *number).unwrap_or(unknown)
            }
            ("*", Js::Random { .. }, Js::Length(of)) | ("*", Js::Length(of), Js::Random { .. })
                if matches!(**of, Js::Data(_)) =>
            {
                Js::Index(FeedOrder::Random)
            }
            ("/", Js::Counter(RunValue::UnixMillis), Js::Number(number)) if *number == 1e3 => {
                Js::Counter(RunValue::UnixSeconds)
            }
            ("%" | "-", Js::Index(order), Js::Length(_) | Js::Number(_)) => Js::Index(*order),
            ("%" | "-", Js::Counter(RunValue::User), Js::Length(_) | Js::Number(_)) => {
                Js::Index(FeedOrder::PerUser)
            }
            ("%", Js::Counter(RunValue::Iteration), Js::Length(_) | Js::Number(_)) => {
                Js::Index(FeedOrder::Sequential)
            }
            ("+", Js::Text(_) | Js::Variable(_) | Js::Found(_), _) | ("+", _, Js::Text(_)) => {
                let mut text = self.text_of_value(&one);
                text.append(self.text_of_value(&other));
                Js::Text(text)
            }
            ("+", ..) if one.is_unknown() || other.is_unknown() => {
                // Text, or a sum: in either case it is made by code.
                unknown
            }
            _ => compare(sign, &one, &other).unwrap_or(unknown),
        }
    }

    fn eval_or(&mut self, one: Js<'t>, right: Node<'t>, node: Node<'t>) -> Js<'t> {
        if let Js::Variable(_) = one {
            return match self.eval(right) {
                Js::Unknown(_) | Js::Undefined | Js::Null => one,
                value => value,
            };
        }
        match one.truth() {
            Some(true) => return one,
            Some(false) => return self.eval(right),
            None => {}
        }
        let Some(tests) = tests_of(&one) else {
            self.eval(right);
            return Js::Unknown(span_of(node));
        };
        if inner_of(right).kind() == "call_expression" && matches!(one, Js::Tests(_)) {
            let text = self.text(inner_of(right));
            if !["fail(", "console."]
                .iter()
                .any(|silent| text.starts_with(silent))
            {
                self.leave_code(right, "what follows a failed check");
            }
            return one;
        }
        let more = tests_of(&self.eval(right));
        let joined = more.and_then(|more| combine_any(&tests, &more));
        joined.map_or_else(|| Js::Unknown(span_of(node)), Js::Tests)
    }
}

/// Scales or moves a number that is drawn.
fn scale<'t>(random: &Js<'t>, sign: &str, number: f64) -> Option<Js<'t>> {
    let Js::Random {
        low,
        high,
        is_whole,
    } = random
    else {
        return None;
    };
    let stays_whole = *is_whole && number.fract() == 0.0;
    let apply = |bound: f64| match sign {
        "+" => Some(bound + number),
        "-" => Some(bound - number),
        "*" if !is_whole => Some(bound * number),
        "/" if !is_whole => Some(bound / number),
        "<" if (*low, *high) == (0.0, 1.0) => None,
        _ => None,
    };
    if ["<", "<="].contains(&sign) && (*low, *high) == (0.0, 1.0) {
        return Some(Js::Chance(number));
    }
    Some(Js::Random {
        low: apply(*low)?,
        high: apply(*high)?,
        is_whole: stays_whole,
    })
}

//! Operators between values.

#![expect(
    clippy::float_cmp,
    reason = "numbers of the input are compared as they are written"
)]

use super::conditions::{combine_any, compare, tests_of};
use super::script::Script;
use super::value::{Js, Random};
use crate::recording::{FeedOrder, RunValue};
use crate::syntax::{inner_of, part_of};
use std::rc::Rc;
use tree_sitter::Node;

impl<'t> Script<'_, 't> {
    /// Returns what an operator makes of two values.
    pub(super) fn binary(&mut self, node: Node<'t>, frame: usize) -> Option<Js<'t>> {
        let [left, sign, right] = ["left", "operator", "right"].map(|name| part_of(node, name));
        let (sign, right) = (self.text(sign?), right?);
        let one = self.value(left?, frame);
        if ["||", "??"].contains(&sign) {
            return self.or(one, right, frame);
        }
        let other = self.value(right, frame);
        if sign == "&&" {
            return match one.truth() {
                Some(true) => Some(other),
                Some(false) => Some(one),
                None => {
                    let mut tests = tests_of(&one)?;
                    tests.extend(tests_of(&other)?);
                    Some(Js::Tests(tests))
                }
            };
        }
        let is_arithmetic = ["-", "*", "/", "%"].contains(&sign);
        let numbers = one.as_number().zip(other.as_number());
        Some(match (sign, &one, &other) {
            ("+", ..) => return self.sum(&one, &other),
            // `Math.random() * 9 | 0`
            ("|", Js::Random(drawn), Js::Number(zero)) if *zero == 0.0 => {
                Js::Random(Random::whole(drawn.low, drawn.high))
            }
            (_, Js::Random(drawn), Js::Number(number))
            | ("*", Js::Number(number), Js::Random(drawn)) => scale(*drawn, sign, *number)?,
            ("*", Js::Random(_), Js::Length(of)) | ("*", Js::Length(of), Js::Random(_))
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
            _ if is_arithmetic => match (sign, numbers?) {
                ("-", (one, other)) => Js::Number(one - other),
                ("*", (one, other)) => Js::Number(one * other),
                ("/", (one, other)) => Js::Number(one / other),
                (_, (one, other)) => Js::Number(one % other),
            },
            _ => return compare(sign, &one, &other),
        })
    }

    /// Returns a sum, or a text of two parts.
    pub(super) fn sum(&mut self, one: &Js<'t>, other: &Js<'t>) -> Option<Js<'t>> {
        match (one, other) {
            (Js::Number(one), Js::Number(other)) => Some(Js::Number(one + other)),
            (Js::Random(drawn), Js::Number(number)) | (Js::Number(number), Js::Random(drawn)) => {
                scale(*drawn, "+", *number)
            }
            (Js::Text(_) | Js::Variable(..) | Js::Found(_), _) | (_, Js::Text(_)) => {
                let mut text = self.text_of_value(one);
                text.append(self.text_of_value(other));
                Some(Js::Text(text))
            }
            // Text, or a number: code makes it in either case.
            _ => None,
        }
    }

    /// Returns one value, or another one where it is none.
    pub(super) fn or(&mut self, one: Js<'t>, right: Node<'t>, frame: usize) -> Option<Js<'t>> {
        match (one.truth(), &one) {
            (Some(true), _) | (None, Js::Variable(_, Some(_))) => return Some(one),
            (Some(false), _) => return Some(self.value(right, frame)),
            (None, Js::Variable(name, None)) => {
                let name = name.clone();
                return Some(match self.value(right, frame) {
                    Js::Unknown(_) | Js::Undefined | Js::Null => one,
                    value => Js::Variable(name, Some(Rc::new(value))),
                });
            }
            _ => {}
        }
        let tests = tests_of(&one)?;
        // `check(..) || fail()` is what the check is.
        if matches!(one, Js::Tests(_)) && inner_of(right).kind() == "call_expression" {
            return Some(one);
        }
        let more = tests_of(&self.value(right, frame))?;
        combine_any(&tests, &more).map(Js::Tests)
    }
}

/// Scales or moves a number that is drawn.
fn scale<'t>(drawn: Random, sign: &str, number: f64) -> Option<Js<'t>> {
    if ["<", "<="].contains(&sign) && (drawn.low, drawn.high) == (0.0, 1.0) {
        return Some(Js::Chance(number));
    }
    let apply = |bound: f64| match sign {
        "+" => Some(bound + number),
        "-" => Some(bound - number),
        "*" if !drawn.is_whole => Some(bound * number),
        "/" if !drawn.is_whole => Some(bound / number),
        _ => None,
    };
    Some(Js::Random(Random {
        low: apply(drawn.low)?,
        high: apply(drawn.high)?,
        is_whole: drawn.is_whole && number.fract() == 0.0,
    }))
}

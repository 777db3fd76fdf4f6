//! Conditions on answers: what checks and `if` ask.

#![expect(
    clippy::float_cmp,
    reason = "numbers of the input are compared as they are written"
)]

use super::script::Script;
use super::value::{Js, ResponsePart, Test, show_number};
use crate::recording::{AnswerCheck, JsonTest, Origin, RunValue};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

/// All statuses.
const ALL: Range<u16> = 100..600;

/// Returns the conditions that a value is, if it is one.
pub(super) fn tests_of(value: &Js<'_>) -> Option<Vec<(usize, Test)>> {
    let (exchange, check) = match value {
        Js::Tests(tests) => return Some(tests.clone()),
        Js::Bool(true) => return Some(Vec::new()),
        Js::Part(exchange, ResponsePart::Body) => (exchange, AnswerCheck::NotEmpty),
        Js::Json(exchange, path) => (exchange, AnswerCheck::json(path, JsonTest::Exists)),
        Js::Found(Origin::Header { exchange, name }) => (exchange, AnswerCheck::header(name, "")),
        _ => return None,
    };
    Some(vec![(*exchange, Test::Check(check))])
}

/// Returns conditions of which one has to hold, where that is one on the status.
pub(super) fn combine_any(
    one: &[(usize, Test)],
    other: &[(usize, Test)],
) -> Option<Vec<(usize, Test)>> {
    match (one, other) {
        ([(exchange, Test::Status(one))], [(same, Test::Status(other))]) if exchange == same => {
            Some(vec![(*exchange, Test::Status(one | other))])
        }
        _ => None,
    }
}

/// Returns the operator with its sides exchanged.
fn turned(sign: &str) -> &str {
    match sign {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        sign => sign,
    }
}

/// Returns true where an operator holds for numbers of this order.
fn holds(sign: &str, order: Ordering) -> Option<bool> {
    Some(match sign {
        "==" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        _ => return None,
    })
}

/// Returns the statuses that compare so with a number.
fn compared_statuses(sign: &str, number: f64) -> Option<BTreeSet<u16>> {
    let is_fit = number.fract() == 0.0 && (100.0..=600.0).contains(&number);
    is_fit.then(|| holds(sign, Ordering::Equal)).flatten()?;
    let number = number as u16;
    let fits = |status: &u16| holds(sign, status.cmp(&number)) == Some(true);
    Some(ALL.filter(fits).collect())
}

/// Returns the ranges of statuses, without their ends.
pub(super) fn ranges_of(statuses: &BTreeSet<u16>) -> Vec<(u16, u16)> {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for status in statuses {
        match ranges.last_mut().filter(|range| range.1 == *status) {
            Some(range) => range.1 += 1,
            None => ranges.push((*status, status + 1)),
        }
    }
    ranges
}

/// Compares two values.
pub(super) fn compare<'t>(sign: &str, one: &Js<'t>, other: &Js<'t>) -> Option<Js<'t>> {
    let sign = match sign {
        "===" | "==" => "==",
        "!==" | "!=" => "!=",
        sign => sign,
    };
    if is_value(one) && !is_value(other) {
        return compare(turned(sign), other, one);
    }
    let test = match (one, other) {
        (Js::Part(exchange, ResponsePart::Status), _) => {
            let statuses = compared_statuses(sign, other.as_number()?)?;
            return Some(Js::Tests(vec![(*exchange, Test::Status(statuses))]));
        }
        (Js::Part(exchange, ResponsePart::Duration), _) if ["<", "<="].contains(&sign) => {
            let millis = other
                .as_number()
                .filter(|millis| (0.0..1e9).contains(millis))?;
            let time = Duration::from_secs_f64(millis / 1e3);
            (*exchange, AnswerCheck::Within(time))
        }
        (Js::Part(exchange, ResponsePart::Body), _) => match (sign, other) {
            ("==", Js::Text(_)) => (*exchange, AnswerCheck::Body(other.as_str()?.to_owned())),
            ("!=", Js::Null | Js::Undefined) => (*exchange, AnswerCheck::NotEmpty),
            ("!=", _) if other.as_str() == Some("") => (*exchange, AnswerCheck::NotEmpty),
            _ => return None,
        },
        (Js::Json(exchange, path), _) => {
            (*exchange, AnswerCheck::json(path, json_test(sign, other)?))
        }
        (Js::Length(of), Js::Number(number)) => match &**of {
            Js::Part(exchange, ResponsePart::Body) if is_filled(sign, *number) => {
                (*exchange, AnswerCheck::NotEmpty)
            }
            Js::Json(exchange, path) if *number >= 0.0 && number.fract() == 0.0 => {
                let test = JsonTest::Compares {
                    is_length: true,
                    operator: operator(sign)?,
                    number: show_number(*number),
                };
                (*exchange, AnswerCheck::json(path, test))
            }
            _ => return None,
        },
        (Js::Found(Origin::Header { exchange, name }), _) => match (sign, other) {
            ("==", Js::Text(_)) => {
                let (name, text) = (name.clone(), other.as_str()?.to_owned());
                (*exchange, AnswerCheck::HeaderIs { name, text })
            }
            ("!=", Js::Undefined | Js::Null) => (*exchange, AnswerCheck::header(name, "")),
            _ => return None,
        },
        (Js::Counter(RunValue::Iteration), Js::Number(number)) => {
            let is_first = (sign, *number) == ("==", 0.0) || (sign, *number) == ("<", 1.0);
            return is_first.then_some(Js::FirstIteration);
        }
        // `body.indexOf(..) !== -1` is what `includes` says.
        (Js::Tests(_), Js::Number(number)) => {
            let is_found =
                *number == -1.0 && ["!=", ">"].contains(&sign) || *number == 0.0 && sign == ">=";
            return is_found.then(|| one.clone());
        }
        (Js::Tests(_), Js::Bool(true)) if sign == "==" => return Some(one.clone()),
        _ => return compare_known(sign, one, other).map(Js::Bool),
    };
    Some(Js::Tests(vec![(test.0, Test::Check(test.1))]))
}

impl Script<'_, '_> {
    /// Gives conditions to their exchanges. Returns false where one cannot hold.
    pub(super) fn apply_tests(&mut self, tests: &[(usize, Test)]) -> bool {
        let exchanges = &mut self.migration.recording.exchanges;
        let mut all_hold = true;
        for (exchange, test) in tests {
            let Some(exchange) = exchanges.get_mut(*exchange) else {
                continue;
            };
            match test {
                Test::Check(check) => {
                    if !exchange.settings.checks.contains(check) {
                        exchange.settings.checks.push(check.clone());
                    }
                }
                Test::Status(statuses) => {
                    let known = exchange.settings.statuses.iter();
                    let known = known.flat_map(|(from, to)| *from..*to);
                    let known: BTreeSet<u16> = known.chain(exchange.expect.clone()).collect();
                    let both = if known.is_empty() {
                        statuses.clone()
                    } else {
                        &known & statuses
                    };
                    if both.is_empty() {
                        all_hold = false;
                        continue;
                    }
                    // A few are written one by one.
                    let (few, more): (Vec<_>, Vec<_>) = ranges_of(&both)
                        .into_iter()
                        .partition(|(from, to)| to - from < 4);
                    exchange.expect = few.into_iter().flat_map(|(from, to)| from..to).collect();
                    exchange.settings.statuses = more;
                }
            }
        }
        all_hold
    }

    /// Expects a status where nothing else says which one.
    pub(super) fn expect_status(&mut self, tests: &[(usize, Test)]) {
        for (exchange, test) in tests {
            let known = self.migration.recording.exchanges.get(*exchange);
            let is_free = known
                .is_some_and(|known| known.expect.is_empty() && known.settings.statuses.is_empty());
            if is_free && matches!(test, Test::Status(statuses) if statuses.len() < ALL.len()) {
                self.apply_tests(&[(*exchange, test.clone())]);
            }
        }
    }
}

/// Returns true for a value that is the same in every run.
fn is_value(value: &Js<'_>) -> bool {
    matches!(
        value,
        Js::Text(_) | Js::Number(_) | Js::Bool(_) | Js::Null | Js::Undefined
    )
}

fn is_filled(sign: &str, number: f64) -> bool {
    matches!(sign, ">" | "!=") && number == 0.0 || sign == ">=" && number == 1.0
}

fn operator(sign: &str) -> Option<&'static str> {
    let known = ["==", "!=", "<", "<=", ">", ">="];
    known.into_iter().find(|known| *known == sign)
}

fn json_test(sign: &str, other: &Js<'_>) -> Option<JsonTest> {
    let value = match other {
        Js::Undefined | Js::Null if sign == "!=" => return Some(JsonTest::Exists),
        Js::Null | Js::Undefined => serde_json::Value::Null,
        Js::Bool(value) => (*value).into(),
        Js::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
            (*number as i64).into()
        }
        Js::Number(number) => (*number).into(),
        Js::Text(_) => other.as_str()?.into(),
        _ => return None,
    };
    match sign {
        "==" => Some(JsonTest::Is(value)),
        "!=" => Some(JsonTest::IsNot(value)),
        sign => Some(JsonTest::Compares {
            is_length: false,
            operator: operator(sign)?,
            number: show_number(other.as_number().filter(|number| number.is_finite())?),
        }),
    }
}

fn compare_known(sign: &str, one: &Js<'_>, other: &Js<'_>) -> Option<bool> {
    let is_same = match (one, other) {
        (Js::Text(_), Js::Text(_)) => one.as_str()? == other.as_str()?,
        (Js::Bool(one), Js::Bool(other)) => one == other,
        (Js::Null | Js::Undefined, Js::Null | Js::Undefined) => true,
        (Js::Number(one), Js::Number(other)) => {
            return holds(sign, one.partial_cmp(other)?);
        }
        _ => return None,
    };
    ["==", "!="]
        .contains(&sign)
        .then_some(is_same == (sign == "=="))
}

/// Returns true for conditions that a good answer meets.
pub(super) fn is_success(tests: &[(usize, Test)]) -> bool {
    let is_good = |(_, test): &(usize, Test)| match test {
        Test::Status(statuses) => {
            statuses.len() == ALL.len() || statuses.iter().all(|status| *status < 400)
        }
        Test::Check(_) => true,
    };
    !tests.is_empty() && tests.iter().all(is_good)
}

/// Returns the condition that holds where one on the status does not.
pub(super) fn opposite(tests: &[(usize, Test)]) -> Option<Vec<(usize, Test)>> {
    match tests {
        [(exchange, Test::Status(statuses))] => {
            let others = ALL.filter(|status| !statuses.contains(status));
            Some(vec![(*exchange, Test::Status(others.collect()))])
        }
        _ => None,
    }
}

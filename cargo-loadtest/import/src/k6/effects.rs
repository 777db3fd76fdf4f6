//! Calls of k6 that do something: requests, groups, checks, pauses, metrics.

use super::conditions::tests_of;
use super::requests::head_of;
use super::script::Script;
use super::value::{Js, ResponsePart, Test};
use crate::migration::add_think;
use crate::recording::{AnswerTest, Metric, MetricKind, MetricValue, Runs};
use crate::syntax::{children_of, inner_of, part_of};
use loadtest_model::definition::Think;
use std::time::Duration;
use tree_sitter::Node;

/// The longest pause, in seconds.
const LONGEST_PAUSE: f64 = 3600.0;

/// An unexpected status is an error of the step, which no metric counts.
const UNCOUNTED: &str = "a metric under a condition, or of an unexpected status,";

/// Returns the function of `k6/http` that sends.
pub(super) fn sender(path: &str) -> Option<&str> {
    match path.strip_prefix("http.")? {
        method @ ("get" | "head" | "post" | "put" | "patch" | "del" | "options" | "request"
        | "asyncRequest" | "batch") => Some(method),
        _ => None,
    }
}

impl<'t> Script<'_, 't> {
    /// Does what a call of k6 does; none for other calls.
    pub(super) fn call_effect(
        &mut self,
        path: &str,
        nodes: &[Node<'t>],
        node: Node<'t>,
        frame: usize,
    ) -> Option<Js<'t>> {
        if let Some(method) = sender(path).filter(|_| !self.is_outside) {
            let arguments = self.arguments(node, frame);
            let site = self.site(frame).unwrap_or_else(|| head_of(node));
            return Some(self.send_call(method, &arguments, node, &site));
        }
        match path {
            "check" => Some(self.check(nodes, node, frame)),
            "group" | "describe" => {
                let arguments = self.arguments(node, frame);
                let [name, Js::Function(function, at, this), ..] = arguments.as_slice() else {
                    return None;
                };
                let name = self.text_of_value(name);
                let name = name.as_literal().unwrap_or("group").trim().to_owned();
                self.transactions.push(name);
                let value = self.enter((*function, *at, this.clone()), &[], None);
                self.transactions.pop();
                Some(value)
            }
            "sleep" => {
                let arguments = self.arguments(node, frame);
                self.add_pause(arguments.first().unwrap_or(&Js::Undefined), node);
                Some(Js::Undefined)
            }
            "fail" => {
                self.leave_code(node, "the end of a journey");
                Some(Js::Undefined)
            }
            _ => None,
        }
    }

    fn check(&mut self, nodes: &[Node<'t>], node: Node<'t>, frame: usize) -> Js<'t> {
        let subject = nodes.first().map(|first| self.value(*first, frame));
        let subject = subject.unwrap_or(Js::Undefined);
        let list = nodes.get(1).map(|list| inner_of(*list));
        let checks: Vec<(Node<'t>, Js<'t>)> = match list {
            Some(list) if list.kind() == "object" => {
                let checks = children_of(list).into_iter().map(|child| {
                    let value = part_of(child, "value");
                    let value = value.map(|value| self.value(value, frame));
                    (child, value.unwrap_or(Js::Function(child, frame, None)))
                });
                checks.collect()
            }
            Some(list) => {
                let checks = self.value(list, frame);
                let values = checks.fields().iter().map(|(_, value)| value);
                values.map(|value| (list, value.clone())).collect()
            }
            None => Vec::new(),
        };
        if checks.is_empty() {
            self.leave_code(node, "a check");
        }
        let mut all = Vec::new();
        let unknown_calls = self.unknown_calls.len();
        for (place, check) in checks {
            let value = match check {
                Js::Function(function, at, _) => {
                    self.enter((function, at, None), std::slice::from_ref(&subject), None)
                }
                value => value,
            };
            let tests = tests_of(&value).filter(|tests| !tests.is_empty());
            match tests {
                Some(tests) if self.apply_tests(&tests) => all.extend(tests),
                _ => {
                    self.leave_code(place, "a check");
                    if let Js::Response(exchange) = subject {
                        self.migration.place_last(exchange);
                    }
                }
            }
        }
        self.unknown_calls.truncate(unknown_calls);
        if all.is_empty()
            && let Js::Response(exchange) = subject
        {
            // It is known which answer it is about.
            all.push((exchange, Test::Status((100..600).collect())));
        }
        Js::Tests(all)
    }

    /// Adds a pause to the request before it.
    pub(super) fn add_pause(&mut self, value: &Js<'t>, node: Node<'t>) {
        let seconds = |number: f64| Duration::from_secs_f64(number.clamp(0.0, LONGEST_PAUSE));
        let (low, high) = match (value, value.as_number()) {
            (_, Some(number)) if number.is_finite() => (number, number),
            (Js::Random(drawn), _) if drawn.is_whole => (drawn.low, drawn.high - 1.0),
            (Js::Random(drawn), _) => (drawn.low, drawn.high),
            _ => return self.leave_code(node, "a pause"),
        };
        let (min, max) = (seconds(low.min(high)), seconds(low.max(high)));
        if self.runs == Runs::Last {
            return self.leave_code(node, "a pause after the load");
        }
        let (runs, is_drawn) = (self.runs, self.is_drawn);
        let mut before = self.migration.scenario_mut().iter_mut().rev();
        let last = before.find(|last| {
            last.settings.runs == runs && (is_drawn || last.settings.weight.is_none())
        });
        match last {
            Some(last) => add_think(&mut last.settings.think, Think::Uniform { min, max }),
            None if runs == Runs::Always => self.lead = (self.lead.0 + min, self.lead.1 + max),
            None => self.leave_code(node, "a pause"),
        }
    }

    /// Adds the pause before the first request: in a loop, it is one after the last.
    pub(super) fn place_lead(&mut self) {
        let (min, max) = std::mem::take(&mut self.lead);
        let mut before = self.migration.scenario_mut().iter_mut().rev();
        let last = before
            .find(|last| last.settings.runs == Runs::Always && last.settings.weight.is_none());
        if let Some(last) = last {
            add_think(&mut last.settings.think, Think::Uniform { min, max });
        }
    }

    /// Reads `metric.add(value)`: a metric of the request that it is about, or else of the last one.
    pub(super) fn add_metric(&mut self, kind: &str, name: &str, value: &Js<'t>, node: Node<'t>) {
        if let Err(what) = self.read_metric(kind, name, value) {
            // A limit on a part of it would be another one.
            self.code_metrics.push(name.to_owned());
            self.leave_code(node, what);
        }
    }

    fn read_metric(&mut self, kind: &str, name: &str, value: &Js<'t>) -> Result<(), &'static str> {
        let when = self.when.as_ref();
        let when = when.map(|(tests, holds)| answer_test(tests, *holds).ok_or(UNCOUNTED));
        let when = when.transpose()?;
        let (about, value) = match value {
            Js::Number(number) => (
                when.as_ref().map(|(at, _)| *at),
                MetricValue::Number(*number as i64),
            ),
            Js::Bool(value) => (None, MetricValue::Number(i64::from(*value))),
            Js::Part(exchange, ResponsePart::Duration) => (Some(*exchange), MetricValue::Time),
            Js::Json(exchange, path) => (Some(*exchange), MetricValue::Json(path.clone())),
            Js::Tests(tests) | Js::Fails(tests) => {
                let holds = matches!(value, Js::Tests(_));
                let (exchange, test) = answer_test(tests, holds).ok_or(UNCOUNTED)?;
                (Some(exchange), MetricValue::Test(test))
            }
            _ => return Err("the value of a metric"),
        };
        let kind = match (kind, &value) {
            ("Counter", MetricValue::Number(0..) | MetricValue::Test(_)) => MetricKind::Count,
            ("Trend", MetricValue::Number(0..) | MetricValue::Time | MetricValue::Json(_)) => {
                MetricKind::Time
            }
            ("Gauge" | "Rate", _) => MetricKind::Gauge,
            _ => return Err("the value of a metric"),
        };
        let last = self.migration.recording.exchanges.len();
        let last = Some(last).filter(|_| !self.migration.scenario_mut().is_empty());
        let about = about.or(last.map(|last| last - 1));
        let exchange = about.and_then(|at| self.migration.recording.exchanges.get_mut(at));
        let exchange = exchange.ok_or("a metric before the first request")?;
        exchange.settings.metrics.push(Metric {
            name: name.to_owned(),
            kind,
            value,
            when: when.map(|(_, test)| test),
        });
        Ok(())
    }
}

/// Returns a condition on an answer, and whose answer it is. The status is none of these: an unexpected one is a failure.
fn answer_test(tests: &[(usize, Test)], holds: bool) -> Option<(usize, AnswerTest)> {
    let checks = tests.iter().map(|(_, test)| match test {
        Test::Check(check) => Some(check.clone()),
        Test::Status(_) => None,
    });
    let checks = checks.collect::<Option<Vec<_>>>()?;
    Some((tests.first()?.0, AnswerTest { checks, holds }))
}

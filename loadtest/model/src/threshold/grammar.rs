//! The grammar of thresholds, for attributes and for the command line.
//!
//! `thresholds(..)` of a scenario, the options of a step and `--slo` share it, so that they accept the same
//! metrics and explain mistakes in the same words.

use super::quantity::{Quantity, describe_unit};
use super::{Bound, Comparator, Threshold};
use crate::threshold::{Better, GaugeFigure, Metric, Scope, Unit};
use std::ops::Range;
use std::time::Duration;

/// A threshold as it was written, and the step it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The name of the step; `None` for the journey.
    pub step: Option<String>,
    /// The threshold.
    pub threshold: Threshold,
    /// The place of its subject in the text, in bytes: the step, or the metric where there is none.
    pub place: Range<usize>,
}

/// A mistake in the text of a threshold, with the text to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThresholdMistake {
    /// The place in the text, in bytes.
    pub place: Range<usize>,
    /// The mistake and its remedy.
    pub message: String,
}

/// Parses conditions that are separated by commas: `p95 < 300ms, login.errors < 1%`.
///
/// # Errors
/// The first mistake of every condition.
pub fn parse_conditions(text: &str) -> Result<Vec<Condition>, Vec<ThresholdMistake>> {
    let mut parser = ThresholdParser::new(text, None);
    let (mut conditions, mut mistakes) = (Vec::new(), Vec::new());
    loop {
        match parser.parse_condition() {
            Ok(condition) => conditions.push(condition),
            Err(mistake) => {
                mistakes.push(mistake);
                parser.skip_condition();
            }
        }
        if !parser.take(",") || (parser.is_at_end() && !conditions.is_empty()) {
            break;
        }
    }
    if mistakes.is_empty() {
        Ok(conditions)
    } else {
        Err(mistakes)
    }
}

/// Parses one threshold of an attribute: `p95 < 300ms`, `errors < 1% or abort after 30s`.
///
/// With [`Scope::Step`] it is an option of a step, with [`Scope::Journey`] one of the scenario.
///
/// # Errors
/// The first mistake.
pub fn parse_threshold(text: &str, scope: Scope) -> Result<Condition, ThresholdMistake> {
    ThresholdParser::new(text, Some(scope)).parse_condition()
}

/// Parses a metric alone: `service.p95`.
pub(super) fn parse_metric(text: &str) -> Result<Metric, ThresholdMistake> {
    let mut parser = ThresholdParser::new(text, None);
    let (metric, _) = parser.parse_subject_metric()?;
    if parser.is_at_end() {
        return Ok(metric);
    }
    ThresholdParser::fail(parser.find_next(), "expected a metric and nothing else")
}

impl ThresholdMistake {
    /// Returns the text with the mistake marked and explained below it.
    pub fn render_below(&self, text: &str) -> String {
        let before = text[..self.place.start].chars().count();
        let marked = text[self.place.clone()].chars().count().max(1);
        let (space, carets) = (" ".repeat(before), "^".repeat(marked));
        format!("  {text}\n  {space}{carets} {}", self.message)
    }
}

/// Parses a text from left to right.
pub(super) struct ThresholdParser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// The attribute the text stands in; `None` on the command line, where a step may stand before the metric.
    pub(super) scope: Option<Scope>,
}

impl<'a> ThresholdParser<'a> {
    fn new(text: &'a str, scope: Option<Scope>) -> Self {
        Self { text, at: 0, scope }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.rest().is_empty()
    }

    pub(super) fn take(&mut self, word: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Takes the characters for which `holds` is true.
    pub(super) fn take_while(&mut self, holds: impl Fn(char) -> bool) -> (&'a str, Range<usize>) {
        let rest = self.rest();
        let end = rest.find(|c| !holds(c)).unwrap_or(rest.len());
        let place = self.at..self.at + end;
        self.at = place.end;
        (&rest[..end], place)
    }

    /// Takes the next word, and returns it with its place.
    pub(super) fn take_word(&mut self) -> (&'a str, Range<usize>) {
        self.skip_space();
        self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '%'))
    }

    /// Returns the place of the next word or sign, for a mistake about it.
    pub(super) fn find_next(&mut self) -> Range<usize> {
        let begin = self.at;
        let (_, place) = self.take_word();
        self.at = begin;
        if place.is_empty() {
            let sign = self.text[place.start..].chars().next();
            return place.start..place.start + sign.map_or(0, char::len_utf8);
        }
        place
    }

    pub(super) fn fail<T>(
        place: Range<usize>,
        message: impl Into<String>,
    ) -> Result<T, ThresholdMistake> {
        Err(ThresholdMistake {
            place,
            message: message.into(),
        })
    }

    /// Moves to the next comma, after a mistake.
    fn skip_condition(&mut self) {
        self.take_while(|c| c != ',');
    }

    fn parse_condition(&mut self) -> Result<Condition, ThresholdMistake> {
        let (step, subject, metric, place) = self.parse_subject()?;
        let comparator = self.parse_comparator(&metric)?;
        let (wrong, wanted) = match metric.better() {
            Better::Less if comparator.is_floor() => (">", "<"),
            Better::More if !comparator.is_floor() => ("<", ">"),
            _ => ("", ""),
        };
        if !wrong.is_empty() {
            return Self::fail(
                place.start..self.at,
                format!(
                    "`{metric} {wrong} ...` would hold when the target fails: write `{metric} {wanted} ...`"
                ),
            );
        }
        let unit = metric.unit();
        let quantity = self.parse_quantity(unit)?;
        let bound = quantity.bound(unit)?;
        let best = if comparator.is_floor() { 1.0 } else { 0.0 };
        if let Bound::Ratio(share) = bound
            && !comparator.holds(best, share)
        {
            let sign = comparator.symbol();
            let digits = quantity.digits;
            return Self::fail(
                place.start..quantity.place.end,
                format!("this can never hold: write `{metric} {sign}= {digits}%`"),
            );
        }
        let abort_after = self.parse_abort(&metric, comparator)?;
        self.skip_space();
        if !self.rest().is_empty() && !self.rest().starts_with(',') {
            let rest = self.rest().trim_start_matches("and").trim_start();
            let next = self.find_next();
            let message = if self.scope.is_some() && rest.starts_with("abort") {
                "a limit that ends the run is written `errors < 5% or abort`".to_owned()
            } else if self.rest().starts_with("and") || self.rest().starts_with("&&") {
                "all conditions must hold: write `,` between them".to_owned()
            } else {
                let next = &self.text[next.clone()];
                format!("expected `,` and the next condition before `{next}`, or nothing")
            };
            return Self::fail(next, message);
        }
        Ok(Condition {
            place: step.as_ref().map_or(place, |(_, place)| place.clone()),
            step: step.map(|(name, _)| name),
            threshold: Threshold {
                subject,
                abort_after,
                ..Threshold::new(metric, comparator, bound)
            },
        })
    }

    /// Parses `or abort`, or `or abort after 30s`, of a threshold in an attribute.
    fn parse_abort(
        &mut self,
        metric: &Metric,
        comparator: Comparator,
    ) -> Result<Option<Duration>, ThresholdMistake> {
        const WANTED: &str = "expected `or abort` or `or abort after 30s`";
        if !self.is_next_word("or") {
            return Ok(None);
        }
        let (_, or) = self.take_word();
        if self.scope.is_none() {
            let message = "`or abort` is for the thresholds of a scenario, which may end its run";
            return Self::fail(or, message);
        }
        if !self.is_next_word("abort") {
            return Self::fail(self.find_next(), WANTED);
        }
        let (_, abort) = self.take_word();
        let after = if self.is_next_word("after") {
            self.take_word();
            let quantity = self.parse_quantity(Unit::Time)?;
            if quantity.value == 0.0 {
                let message = "`after 0s` is not a delay: write `or abort`";
                return Self::fail(quantity.place, message);
            }
            quantity.time()?
        } else if self.is_at_end() || self.rest().starts_with(',') {
            Duration::ZERO
        } else {
            return Self::fail(self.find_next(), WANTED);
        };
        let is_floor = comparator.is_floor();
        let is_known_at_end = match metric {
            Metric::Count(_) | Metric::Gauge(_, GaugeFigure::Max) => is_floor,
            Metric::Gauge(_, GaugeFigure::Min) => !is_floor,
            _ => false,
        };
        match metric.unit() {
            _ if is_known_at_end => Self::fail(
                or,
                format!(
                    "{} limit on `{metric}` is judged when the run is over: leave `or abort` out",
                    if is_floor { "a lower" } else { "an upper" }
                ),
            ),
            Unit::PerSecond | Unit::BytesPerSecond if is_floor && after.is_zero() => Self::fail(
                abort,
                format!(
                    "`{metric}` is 0 when the run starts, so this aborts at once: write `or abort after 10s`"
                ),
            ),
            _ => Ok(Some(after)),
        }
    }

    fn is_next_word(&mut self, wanted: &str) -> bool {
        let begin = self.at;
        let (word, _) = self.take_word();
        self.at = begin;
        word == wanted
    }

    fn parse_comparator(&mut self, metric: &Metric) -> Result<Comparator, ThresholdMistake> {
        for (sign, comparator) in [
            ("<=", Comparator::LessOrEqual),
            ("<", Comparator::Less),
            (">=", Comparator::GreaterOrEqual),
            (">", Comparator::Greater),
        ] {
            if self.take(sign) {
                return Ok(comparator);
            }
        }
        let wanted = match metric {
            Metric::Checks | Metric::Rps => ">",
            _ => "<",
        };
        let place = self.find_next();
        Self::fail(
            place,
            format!("a limit is a comparison by `<`, `<=`, `>` or `>=`: `{metric} {wanted} ...`"),
        )
    }

    fn parse_quantity(&mut self, unit: Unit) -> Result<Quantity<'a>, ThresholdMistake> {
        self.skip_space();
        let begin = self.at;
        let is_negative = unit == Unit::Number && self.take("-");
        self.skip_space();
        let (digits, place) = self.take_while(|c| c.is_ascii_digit() || matches!(c, '.' | '_'));
        let Some(value) = digits
            .replace('_', "")
            .parse()
            .ok()
            .filter(|_| !place.is_empty())
        else {
            self.at = begin;
            return Self::fail(self.find_next(), describe_unit(unit));
        };
        let value: f64 = value;
        let end = self.at;
        self.skip_space();
        let (unit, mut unit_at) =
            self.take_while(|c| c.is_alphanumeric() || matches!(c, '%' | '/'));
        // `count(sold_out) < 10 or ..`
        let unit = if unit == "or" { "" } else { unit };
        if unit.is_empty() {
            self.at = end;
            unit_at = end..end;
        }
        Ok(Quantity {
            value: if is_negative { -value } else { value },
            digits,
            unit,
            place: begin..unit_at.end,
        })
    }
}

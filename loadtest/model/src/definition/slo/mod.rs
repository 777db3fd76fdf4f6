//! Conditions as text, for a command line: `p95 < 300ms, errors < 1%, login.p99 < 1s`.
//!
//! The language is that of `thresholds(..)` in a scenario, which the macros read from tokens; what is
//! told of a mistake has the same words. Here a step may stand before the metric, and nothing ends a run.

mod quantity;
mod subject;
#[cfg(test)]
mod tests;

use super::metric::{Better, Metric};
use super::threshold::{Bound, Comparison, Threshold};
use quantity::{Quantity, wanted};
use std::ops::Range;

/// A condition as it was written, and about which step.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The name of the step; `None` for the journey.
    pub step: Option<String>,
    /// The condition.
    pub threshold: Threshold,
    /// Where its subject stands in the text, in bytes: the step, or the metric where there is none.
    pub place: Range<usize>,
}

/// What cannot be read, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where it stands in the text, in bytes.
    pub place: Range<usize>,
    /// What is wrong.
    pub message: String,
}

/// Reads conditions that are separated by commas.
///
/// # Errors
/// The first mistake of every condition.
pub fn conditions(text: &str) -> Result<Vec<Condition>, Vec<Mistake>> {
    let mut reader = Reader { text, at: 0 };
    let (mut found, mut mistakes) = (Vec::new(), Vec::new());
    loop {
        match reader.condition() {
            Ok(condition) => found.push(condition),
            Err(mistake) => {
                mistakes.push(mistake);
                reader.skip_condition();
            }
        }
        if !reader.take(",") || (reader.is_at_end() && !found.is_empty()) {
            break;
        }
    }
    if mistakes.is_empty() {
        Ok(found)
    } else {
        Err(mistakes)
    }
}

/// Reads a metric alone.
pub(super) fn metric(text: &str) -> Result<Metric, Mistake> {
    let mut reader = Reader { text, at: 0 };
    let (metric, _) = reader.metric()?;
    if reader.is_at_end() {
        return Ok(metric);
    }
    Reader::wrong(reader.here(), "expected a metric and nothing else")
}

impl Mistake {
    /// The text with what is wrong marked below it, and told.
    pub fn show(&self, text: &str) -> String {
        let before = text[..self.place.start].chars().count();
        let marked = text[self.place.clone()].chars().count().max(1);
        let (space, carets) = (" ".repeat(before), "^".repeat(marked));
        format!("  {text}\n  {space}{carets} {}", self.message)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.rest().is_empty()
    }

    fn take(&mut self, word: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// All that follows of which `holds`.
    fn take_while(&mut self, holds: impl Fn(char) -> bool) -> (&'a str, Range<usize>) {
        let rest = self.rest();
        let end = rest.find(|c| !holds(c)).unwrap_or(rest.len());
        let place = self.at..self.at + end;
        self.at = place.end;
        (&rest[..end], place)
    }

    /// A word, beginning here.
    fn word(&mut self) -> (&'a str, Range<usize>) {
        self.skip_space();
        self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '%'))
    }

    /// What stands here, for a mistake about it: a word or a sign.
    fn here(&mut self) -> Range<usize> {
        let begin = self.at;
        let (_, place) = self.word();
        self.at = begin;
        if place.is_empty() {
            let sign = self.text[place.start..].chars().next();
            return place.start..place.start + sign.map_or(0, char::len_utf8);
        }
        place
    }

    fn wrong<T>(place: Range<usize>, message: impl Into<String>) -> Result<T, Mistake> {
        Err(Mistake {
            place,
            message: message.into(),
        })
    }

    /// On to the next comma, after a mistake.
    fn skip_condition(&mut self) {
        self.take_while(|c| c != ',');
    }

    fn condition(&mut self) -> Result<Condition, Mistake> {
        let (step, metric, place) = self.subject()?;
        let comparison = self.comparison(&metric)?;
        let (wrong, wanted) = match metric.better() {
            Better::Less if comparison.is_floor() => (">", "<"),
            Better::More if !comparison.is_floor() => ("<", ">"),
            _ => ("", ""),
        };
        if !wrong.is_empty() {
            return Self::wrong(
                place.start..self.at,
                format!(
                    "`{metric} {wrong} ...` holds when things go badly: write `{metric} {wanted} ...`"
                ),
            );
        }
        let bound = self.bound(&metric)?;
        self.skip_space();
        if !self.rest().is_empty() && !self.rest().starts_with(',') {
            let here = self.here();
            let message = if &self.text[here.clone()] == "or" {
                "`or abort` is for the thresholds of a scenario, which may end its run"
            } else {
                "expected `,` and the next condition, or nothing"
            };
            return Self::wrong(here, message);
        }
        Ok(Condition {
            place: step.as_ref().map_or(place, |(_, place)| place.clone()),
            step: step.map(|(name, _)| name),
            threshold: Threshold::new(metric, comparison, bound),
        })
    }

    fn comparison(&mut self, metric: &Metric) -> Result<Comparison, Mistake> {
        for (sign, comparison) in [
            ("<=", Comparison::LessOrEqual),
            ("<", Comparison::Less),
            (">=", Comparison::GreaterOrEqual),
            (">", Comparison::Greater),
        ] {
            if self.take(sign) {
                return Ok(comparison);
            }
        }
        let wanted = match metric.better() {
            Better::More => ">",
            Better::Less | Better::Either => "<",
        };
        let place = self.here();
        Self::wrong(
            place,
            format!("a limit is a comparison: `{metric} {wanted} ...`"),
        )
    }

    fn bound(&mut self, metric: &Metric) -> Result<Bound, Mistake> {
        let unit = metric.unit();
        self.quantity(wanted(unit))?.bound(unit)
    }

    fn quantity(&mut self, wanted: &str) -> Result<Quantity<'a>, Mistake> {
        self.skip_space();
        let begin = self.at;
        let (digits, place) = self.take_while(|c| c.is_ascii_digit() || matches!(c, '.' | '_'));
        let Some(value) = digits
            .replace('_', "")
            .parse()
            .ok()
            .filter(|_| !place.is_empty())
        else {
            self.at = begin;
            return Self::wrong(self.here(), wanted);
        };
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
            value,
            digits,
            unit,
            place: begin..unit_at.end,
        })
    }
}

//! Conditions as text, for a command line: `p95 < 300ms, errors < 1%, login.p99 < 1s`.
//!
//! The language is that of `thresholds(..)` in a scenario, which the macros read from tokens; what is
//! told of a mistake has the same words. Here a step may stand before the metric.

use super::threshold::{Bound, Comparison, Metric, Threshold};
use std::ops::Range;
use std::time::Duration;
use strsim::damerau_levenshtein;

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

/// A number, with how it was written, and the unit behind it.
struct Quantity<'a> {
    value: f64,
    digits: &'a str,
    unit: &'a str,
    place: Range<usize>,
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
        let subject = self.subject()?;
        let metric_at = self.here();
        let (name, place) = self.word();
        let metric = metric(name, metric_at)?;
        if self.rest().starts_with('.') {
            self.at += 1;
            let (_, rest) = self.take_while(|c| c.is_alphanumeric() || c == '_');
            return Self::wrong(place.start..rest.end, "`p99.9` is written `p99_9`");
        }
        let comparison = self.comparison(metric)?;
        if is_floor(metric)
            != matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual)
        {
            let name = metric.name();
            let (wrong, wanted) = if is_floor(metric) {
                ("<", ">")
            } else {
                (">", "<")
            };
            return Self::wrong(
                place.start..self.at,
                format!(
                    "`{name} {wrong} ...` holds when things go badly: write `{name} {wanted} ...`"
                ),
            );
        }
        let bound = self.bound(metric)?;
        self.skip_space();
        if !self.rest().is_empty() && !self.rest().starts_with(',') {
            return Self::wrong(
                self.here(),
                "expected `,` and the next condition, or nothing",
            );
        }
        Ok(Condition {
            place: subject.as_ref().map_or(place, |(_, place)| place.clone()),
            step: subject.map(|(name, _)| name),
            threshold: Threshold {
                metric,
                comparison,
                bound,
            },
        })
    }

    /// The step before the metric: `login.` or `"GET /products".`.
    fn subject(&mut self) -> Result<Option<(String, Range<usize>)>, Mistake> {
        self.skip_space();
        let begin = self.at;
        if let Some(quote) = self
            .rest()
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '`'))
        {
            self.at += 1;
            let (name, _) = self.take_while(|c| c != quote);
            if !self.rest().starts_with(quote) {
                return Self::wrong(begin..self.at, format!("the closing `{quote}` is missing"));
            }
            self.at += 1;
            let place = begin..self.at;
            if !self.take(".") {
                let wanted = format!("expected a metric of this step: `{quote}{name}{quote}.p95`");
                return Self::wrong(place, wanted);
            }
            return Ok(Some((name.to_owned(), place)));
        }
        let (name, place) = self.word();
        let is_step = !name.is_empty() && self.rest().starts_with('.');
        // `p99.9` is a metric that is written wrongly, and no step.
        let of_metric = Metric::ALL.iter().any(|metric| metric.name() == name);
        let is_number =
            self.rest()[usize::from(is_step)..].starts_with(|c: char| c.is_ascii_digit());
        if is_step && !(of_metric && is_number) {
            self.at += 1;
            return Ok(Some((name.to_owned(), place)));
        }
        self.at = begin;
        Ok(None)
    }

    fn comparison(&mut self, metric: Metric) -> Result<Comparison, Mistake> {
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
        let (name, wanted) = (metric.name(), if is_floor(metric) { ">" } else { "<" });
        let place = self.here();
        Self::wrong(
            place,
            format!("a limit is a comparison: `{name} {wanted} ...`"),
        )
    }

    fn bound(&mut self, metric: Metric) -> Result<Bound, Mistake> {
        let example = match metric {
            Metric::Errors | Metric::Checks => "a share is a number of percent: `1%`",
            Metric::Rps => "a rate is per second or minute: `200/s`, `30/m`",
            _ => "a time is a number with its unit: `300ms`, `2s`",
        };
        let quantity = self.quantity(example)?;
        match metric {
            Metric::Errors | Metric::Checks => share(&quantity).map(Bound::Ratio),
            Metric::Rps => rate(&quantity).map(Bound::PerSecond),
            _ => time(&quantity).map(Bound::Time),
        }
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

/// More of these is better.
fn is_floor(metric: Metric) -> bool {
    matches!(metric, Metric::Checks | Metric::Rps)
}

fn metric(name: &str, place: Range<usize>) -> Result<Metric, Mistake> {
    let found = Metric::ALL.into_iter().find(|metric| metric.name() == name);
    found.ok_or_else(|| {
        let names = Metric::ALL.map(Metric::name);
        let near = names
            .into_iter()
            .map(|known| (damerau_levenshtein(name, known), known))
            .min()
            .filter(|(distance, known)| *distance * 2 <= known.len());
        let message = if name.is_empty() {
            "expected a condition: `p95 < 300ms`, `errors < 1%`".to_owned()
        } else if let Some((_, near)) = near {
            format!("unknown metric `{name}`; did you mean `{near}`?")
        } else {
            format!("unknown metric `{name}`; there is `{}`", names.join("`, `"))
        };
        Mistake { place, message }
    })
}

fn time(quantity: &Quantity<'_>) -> Result<Duration, Mistake> {
    let digits = quantity.digits;
    let unit = match quantity.unit {
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" => {
            return quantity.wrong(format!(
                "`{digits}` has no unit: write `{digits}ms`, `{digits}s` or `{digits}m`"
            ));
        }
        other => {
            return quantity.wrong(format!(
                "unknown unit `{other}`: use `us`, `ms`, `s`, `m` or `h`"
            ));
        }
    };
    match Duration::try_from_secs_f64(quantity.value * unit) {
        Ok(Duration::ZERO) => quantity.wrong("a time of 0 has no meaning here".to_owned()),
        Ok(time) if time <= LONGEST => Ok(time),
        _ => quantity.wrong("this time is too long".to_owned()),
    }
}

/// A century keeps the nanoseconds well inside 64 bits.
const LONGEST: Duration = Duration::from_secs(3600 * 24 * 365 * 100);

fn share(quantity: &Quantity<'_>) -> Result<f64, Mistake> {
    let digits = quantity.digits;
    match quantity.unit {
        "%" if quantity.value <= 100.0 => Ok(quantity.value / 100.0),
        "%" => quantity.wrong("a share is from 0% to 100%".to_owned()),
        "" => quantity.wrong(format!("`{digits}` has no unit: write `{digits}%`")),
        other => quantity.wrong(format!("unknown unit `{other}`: write `{digits}%`")),
    }
}

/// What no clock in nanoseconds can tell apart any more.
const MOST_PER_SECOND: f64 = 1e9;

fn rate(quantity: &Quantity<'_>) -> Result<f64, Mistake> {
    let seconds = match quantity.unit {
        "/s" => 1.0,
        "/m" => 60.0,
        _ => return quantity.wrong("a rate is per second or minute: `200/s`, `30/m`".to_owned()),
    };
    if quantity.value > MOST_PER_SECOND {
        return quantity.wrong("a rate is at most 1000000000/s".to_owned());
    }
    Ok(quantity.value / seconds)
}

impl Quantity<'_> {
    fn wrong<T>(&self, message: String) -> Result<T, Mistake> {
        Reader::wrong(self.place.clone(), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<(Option<String>, String)> {
        let conditions = conditions(text).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
        let show = |condition: Condition| (condition.step, condition.threshold.to_string());
        conditions.into_iter().map(show).collect()
    }

    fn mistakes(text: &str) -> Vec<String> {
        let mistakes = conditions(text).expect_err(text);
        mistakes.iter().map(|mistake| mistake.show(text)).collect()
    }

    #[test]
    fn conditions_are_read_as_a_scenario_declares_them() {
        let plain = |text: &str| (None, text.to_owned());
        assert_eq!(
            read("p95 < 300ms, errors < 1%"),
            [plain("p95 < 300ms"), plain("errors < 1%")]
        );
        assert_eq!(
            read(" p99_9<=1.5s,checks >= 99.5 % ,rps > 30/m,"),
            [
                plain("p99_9 <= 1.5s"),
                plain("checks >= 99.5%"),
                plain("rps > 0.5/s")
            ]
        );
        // As a report prints it.
        assert_eq!(read("p95 < 300 ms"), [plain("p95 < 300ms")]);
    }

    #[test]
    fn a_condition_may_be_about_a_step() {
        let of = |step: &str, text: &str| (Some(step.to_owned()), text.to_owned());
        assert_eq!(
            read("login.p95 < 1s, \"GET /a, b\".errors < 1%, `p95`.max < 2s"),
            [
                of("login", "p95 < 1s"),
                of("GET /a, b", "errors < 1%"),
                of("p95", "max < 2s"),
            ]
        );
        assert_eq!(read("p95.p95 < 1s"), [of("p95", "p95 < 1s")]);
        assert_eq!(
            conditions("errors < 1%, login.p95 < 1s").unwrap()[1].place,
            13..18
        );
    }

    #[test]
    fn a_mistake_is_marked_where_it_stands() {
        assert_eq!(
            mistakes("p95 < 300, errors < 1"),
            [
                "  p95 < 300, errors < 1\n        ^^^ `300` has no unit: write `300ms`, `300s` or `300m`",
                "  p95 < 300, errors < 1\n                      ^ `1` has no unit: write `1%`",
            ]
        );
    }

    #[test]
    fn every_mistake_says_what_to_write() {
        for (text, marked, message) in [
            ("", "", "expected a condition: `p95 < 300ms`"),
            ("p95 < 1s,, errors < 1%", ",", "expected a condition"),
            (
                "error < 1%",
                "error",
                "unknown metric `error`; did you mean `errors`?",
            ),
            (
                "latency < 1s",
                "latency",
                "unknown metric `latency`; there is `p50`",
            ),
            ("p99.9 < 1s", "p99.9", "`p99.9` is written `p99_9`"),
            ("p95 = 1s", "=", "a limit is a comparison: `p95 < ...`"),
            ("rps 5/s", "5", "a limit is a comparison: `rps > ...`"),
            (
                "p95 > 1s",
                "p95 >",
                "holds when things go badly: write `p95 < ...`",
            ),
            ("checks < 1%", "checks <", "write `checks > ...`"),
            (
                "p95 < soon",
                "soon",
                "a time is a number with its unit: `300ms`, `2s`",
            ),
            ("p95 < -1s", "-1s", "a time is a number with its unit"),
            ("p95 < 1.2.3s", "1", "a time is a number"),
            ("p95 < 3x", "3x", "unknown unit `x`: use `us`"),
            ("p95 < 0ms", "0ms", "a time of 0 has no meaning here"),
            ("p95 < 99999999h", "99999999h", "this time is too long"),
            ("errors < 101%", "101%", "from 0% to 100%"),
            ("errors < 1s", "1s", "unknown unit `s`: write `1%`"),
            ("rps > 5", "5", "per second or minute"),
            ("p95 < 1s and errors < 1%", "and", "expected `,`"),
            (
                "\"a.p95 < 1s",
                "\"a.p95 < 1s",
                "the closing `\"` is missing",
            ),
            (
                "`a` < 1s",
                "`a`",
                "expected a metric of this step: ``a`.p95`",
            ),
            ("login. < 1s", "<", "expected a condition"),
        ] {
            let mistakes = conditions(text).expect_err(text);
            assert_eq!(mistakes.len(), 1, "{text}: {mistakes:?}");
            let mistake = &mistakes[0];
            assert!(mistake.message.contains(message), "{text}: {mistake:?}");
            assert_eq!(&text[mistake.place.clone()], marked, "{text}: {mistake:?}");
        }
    }

    proptest! {
        #[test]
        fn what_a_threshold_shows_is_read_again(metric in 0..10_usize, or_equal in any::<bool>(), amount in 1_u32..10_000) {
            let metric = Metric::ALL[metric];
            let comparison = match (is_floor(metric), or_equal) {
                (true, true) => Comparison::GreaterOrEqual,
                (true, false) => Comparison::Greater,
                (false, true) => Comparison::LessOrEqual,
                (false, false) => Comparison::Less,
            };
            let bound = match metric {
                Metric::Errors | Metric::Checks => Bound::Ratio(f64::from(amount) / 1e4),
                Metric::Rps => Bound::PerSecond(f64::from(amount) / 8.0),
                _ => Bound::Time(Duration::from_micros(u64::from(amount) * 37)),
            };
            let threshold = Threshold { metric, comparison, bound };
            let text = threshold.to_string();
            let read = conditions(&text).unwrap();
            prop_assert_eq!(read[0].threshold.to_string(), text);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}", places in proptest::collection::vec("(p95|errors|[<>=,.\"` ]|1s|µ|é|3%){1}", 0..12)) {
            for text in [text, places.concat()] {
                if let Err(mistakes) = conditions(&text) {
                    for mistake in mistakes {
                        let shown = mistake.show(&text);
                        prop_assert!(shown.contains('^'));
                    }
                }
            }
        }
    }
}

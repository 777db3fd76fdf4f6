//! `limit` of `[[observe]]`: `max < 3.5`, `mean < 80%`, `last < 1GiB or abort after 30s`.

use super::key::suggest_known;
use loadtest_console::units;
use loadtest_model::definition::Comparator;
use loadtest_model::record::{ObservedFigure, ObservedLimit};
use std::time::Duration;

const FIGURES: [(&str, ObservedFigure); 3] = [
    ("max", ObservedFigure::Max),
    ("mean", ObservedFigure::Mean),
    ("last", ObservedFigure::Last),
];
/// The longer signs first.
const COMPARATORS: [Comparator; 4] = [
    Comparator::LessOrEqual,
    Comparator::GreaterOrEqual,
    Comparator::Less,
    Comparator::Greater,
];
/// The sizes of data; small letters are as good.
const BYTES: [(&str, f64); 9] = [
    ("b", 1.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("kib", 1_024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
];

/// A limit whose bound is yet to be seen in the unit of its figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrittenLimit {
    figure: ObservedFigure,
    comparison: Comparator,
    number: f64,
    /// The unit behind the number.
    suffix: String,
    abort_after: Option<Duration>,
}

impl WrittenLimit {
    /// Parses a limit.
    ///
    /// # Errors
    /// The mistake, which continues a sentence about the text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (condition, abort) = match text.split_once(" or ") {
            Some((condition, abort)) => (condition, Some(abort.trim())),
            None => (text, None),
        };
        let mut signs = COMPARATORS.iter();
        let found = signs.find_map(|sign| Some((sign, condition.split_once(sign.symbol())?)));
        let (comparison, (word, bound)) =
            found.ok_or("is not a limit; write `max < 3.5`, `mean < 80%` or `last < 1GiB`")?;
        let word = word.trim();
        let figure = FIGURES.iter().find(|(name, _)| *name == word);
        let (_, figure) = figure.ok_or_else(|| {
            let instead = suggest_known(word, &FIGURES.map(|(name, _)| name));
            format!("is a limit of `{word}`, which is not a statistic; {instead}")
        })?;
        let (number, suffix) = split_number(bound.trim());
        let number: Option<f64> = number.replace('_', "").parse().ok();
        let number = number.filter(|number| number.is_finite()).ok_or_else(|| {
            let sign = comparison.symbol();
            format!("has no number as its bound; write `{word} {sign} 3.5`")
        })?;
        Ok(Self {
            figure: *figure,
            comparison: *comparison,
            number,
            suffix: suffix.to_owned(),
            abort_after: abort.map(parse_abort).transpose()?,
        })
    }

    /// Returns true if it ends a run.
    pub(crate) fn ends_run(&self) -> bool {
        self.abort_after.is_some()
    }

    /// Returns the limit of a figure in this unit.
    ///
    /// # Errors
    /// When the bound has another one.
    pub(crate) fn in_unit(&self, unit: &str) -> Result<ObservedLimit, String> {
        let suffix = &*self.suffix;
        let size = match unit.strip_suffix("/request").unwrap_or(unit) {
            _ if suffix.is_empty() || suffix == unit => Some(1.0),
            "bytes" => {
                let lower = suffix.to_lowercase();
                let size = BYTES.iter().find(|(name, _)| *name == lower);
                size.map(|(_, size)| *size)
            }
            "s" | "seconds" => {
                let time = units::duration(&format!("1{suffix}")).ok();
                time.map(|time| time.as_secs_f64())
            }
            _ => None,
        };
        let size = size.ok_or_else(|| match unit {
            "" => format!(
                "its limit is in `{suffix}`, and it has no unit; write `unit = \"{suffix}\"`, or the limit as a number"
            ),
            unit => format!("its limit is in `{suffix}`, and its unit is `{unit}`; write the limit in `{unit}`"),
        })?;
        Ok(ObservedLimit {
            figure: self.figure,
            comparison: self.comparison,
            bound: self.number * size,
            abort_after: self.abort_after,
        })
    }
}

/// Splits a number from the unit behind it.
fn split_number(text: &str) -> (&str, &str) {
    let is_number = |letter: char| letter.is_ascii_digit() || "._+-".contains(letter);
    let end = text.find(|letter| !is_number(letter)).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// Parses `abort` or `abort after 30s`.
fn parse_abort(text: &str) -> Result<Duration, String> {
    let wrong = "has something other than `or abort` or `or abort after 30s` after its bound";
    let rest = text.strip_prefix("abort").ok_or(wrong)?.trim();
    if rest.is_empty() {
        return Ok(Duration::ZERO);
    }
    let delay = rest.strip_prefix("after ").ok_or(wrong)?;
    match units::duration(delay.trim()) {
        Ok(delay) if delay.is_zero() => {
            Err("ends with `after 0s`, which is not a delay; write `or abort`".to_owned())
        }
        Ok(delay) => Ok(delay),
        Err(mistake) => Err(format!("ends after `{}`, which {mistake}", delay.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, unit: &str) -> Result<ObservedLimit, String> {
        WrittenLimit::parse(text)?.in_unit(unit)
    }

    #[test]
    fn bounds_are_read_in_the_unit_of_the_figure() {
        for (text, unit, bound) in [
            ("max < 3.5", "cores", 3.5),
            ("max<=3.5 cores", "cores", 3.5),
            ("mean < 80%", "%", 80.0),
            ("last < 1GiB", "bytes", 1_073_741_824.0),
            ("last < 512 MB", "bytes", 512e6),
            ("max < 300ms", "seconds", 0.3),
            ("mean >= -2.5", "", -2.5),
            ("mean > 1_000", "", 1_000.0),
            ("mean < 3ms", "s/request", 0.003),
            ("mean < 2 kB", "bytes/request", 2_000.0),
            ("mean < 5", "/request", 5.0),
        ] {
            let limit = read(text, unit).unwrap();
            assert!((limit.bound - bound).abs() < 1e-9, "{text}: {limit:?}");
            assert_eq!(limit.abort_after, None);
        }
        let limit = read("max <= 1", "").unwrap();
        assert_eq!(limit.comparison, Comparator::LessOrEqual);
    }

    #[test]
    fn a_limit_may_end_the_run() {
        let abort = |text| read(text, "").unwrap().abort_after;
        assert_eq!(abort("max < 1 or abort"), Some(Duration::ZERO));
        assert_eq!(
            abort("max < 1 or abort after 30s"),
            Some(Duration::from_secs(30))
        );
    }

    #[test]
    fn what_is_no_limit_is_told_with_what_to_write() {
        for (text, unit, told) in [
            ("", "", "is not a limit; write `max < 3.5`"),
            ("3.5", "", "is not a limit"),
            (
                "p95 < 3",
                "",
                "is a limit of `p95`, which is not a statistic; there is",
            ),
            ("maxx < 3", "", "did you mean `max`?"),
            (
                "max < ",
                "",
                "has no number as its bound; write `max < 3.5`",
            ),
            ("max < 1-2", "", "has no number"),
            ("max < 80%", "", "it has no unit; write `unit = \"%\"`"),
            ("max < 80%", "cores", "its unit is `cores`"),
            ("max < 80 XB", "bytes", "its unit is `bytes`"),
            ("max < 1 or stop", "", "`or abort after 30s`"),
            ("max < 1 or abort later", "", "`or abort after 30s`"),
            ("max < 1 or abort after 3", "", "has no unit"),
            ("max < 1 or abort after 0s", "", "write `or abort`"),
        ] {
            let error = read(text, unit).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}

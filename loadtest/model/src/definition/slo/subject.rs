//! What a condition is about: a metric, and the step before it.

use super::{Mistake, Reader};
use crate::definition::{Metric, Part, Scope, Statistic};
use std::borrow::Cow;
use std::ops::Range;
use strsim::damerau_levenshtein;

/// The words before the name of what the scenario counts or times by itself.
const OWN: [&str; 3] = ["count", "rate", "time"];

/// Words of other tools.
const SYNONYMS: [(&str, &str); 8] = [
    ("avg", "mean"),
    ("average", "mean"),
    ("med", "p50"),
    ("median", "p50"),
    ("p999", "p99_9"),
    ("ttfb", "first_byte.p95"),
    ("waiting", "first_byte.p95"),
    ("dropped_iterations", "dropped"),
];

/// A step by its name, and where that stands.
type Step = (String, Range<usize>);

impl Reader<'_> {
    /// The metric, and the step before it: `p95`, `login.service.p95`, `"GET /products".p95`; and where the
    /// metric stands.
    pub(super) fn subject(&mut self) -> Result<(Option<Step>, Metric, Range<usize>), Mistake> {
        let step = self.step()?;
        let (metric, place) = self.metric()?;
        match (&step, metric.scope()) {
            (Some((name, _)), Scope::Journey) => {
                let message = if metric.is_own() {
                    format!("`{metric}` is of the whole scenario: write it without `{name}`")
                } else {
                    format!("`{metric}` is of whole journeys, and no step has it")
                };
                Self::wrong(place, message)
            }
            _ => Ok((step, metric, place)),
        }
    }

    /// The step before the metric: `login.` or `"GET /products".`.
    fn step(&mut self) -> Result<Option<Step>, Mistake> {
        self.skip_space();
        let begin = self.at;
        let quote = self.rest().chars().next();
        if let Some(quote) = quote.filter(|c| matches!(c, '"' | '`')) {
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
        if !name.is_empty() && self.rest().starts_with('.') {
            self.at += 1;
            // `p99.9` is a metric that is written wrongly, and no step.
            let is_number = self.rest().starts_with(|c: char| c.is_ascii_digit());
            let is_metric = statistic(name).is_some() && is_number;
            // Of a step only are the other parts, and a step may have such a name.
            let of_journey = part(name).is_some_and(|part| part.scope() != Scope::Step)
                && statistic(self.word().0).is_some()
                && !self.rest().starts_with('.');
            if !is_metric && !of_journey {
                self.at = place.end + 1;
                return Ok(Some((name.to_owned(), place)));
            }
        }
        self.at = begin;
        Ok(None)
    }

    /// A metric, and where it stands.
    pub(super) fn metric(&mut self) -> Result<(Metric, Range<usize>), Mistake> {
        let here = self.here();
        let (name, place) = self.word();
        let begin = place.start;
        if self.rest().starts_with('(') && OWN.contains(&name) {
            let metric = self.own(name, place)?;
            return Ok((metric, begin..self.at));
        }
        if self.rest().starts_with('.') {
            self.at += 1;
            let (word, rest) = self.take_while(|c| c.is_alphanumeric() || c == '_');
            return match (part(name), statistic(word)) {
                (Some(part), Some(statistic)) => {
                    Ok((Metric::Time(part, statistic), begin..rest.end))
                }
                (Some(part), None) => Self::wrong(rest, no_statistic(part.name(), word)),
                _ if word.starts_with(|c: char| c.is_ascii_digit()) => {
                    Self::wrong(begin..rest.end, "`p99.9` is written `p99_9`")
                }
                _ => Self::wrong(place, unknown(name)),
            };
        }
        if let Some(part) = part(name) {
            return Self::wrong(place, no_statistic(part.name(), ""));
        }
        let known = Metric::WORDS.into_iter();
        match known.into_iter().find(|known| known.to_string() == name) {
            Some(metric) => Ok((metric, place)),
            None => Self::wrong(here, unknown(name)),
        }
    }

    /// What follows `count`, `rate` or `time`.
    fn own(&mut self, kind: &str, place: Range<usize>) -> Result<Metric, Mistake> {
        self.at += 1;
        self.skip_space();
        let quoted = self.at;
        let name: Cow<'static, str> = if self.rest().starts_with('"') {
            let mut texts = serde_json::Deserializer::from_str(self.rest()).into_iter::<String>();
            let name = texts.next();
            let read = texts.byte_offset();
            let Some(Ok(name)) = name else {
                return Self::wrong(quoted..self.text.len(), "the closing `\"` is missing");
            };
            self.at += read;
            name.into()
        } else {
            self.word().0.to_owned().into()
        };
        if name.is_empty() {
            let wanted = format!("expected the name that the scenario gives: `{kind}(sold_out)`");
            return Self::wrong(self.here(), wanted);
        }
        if !self.take(")") {
            return Self::wrong(self.here(), "expected `)` after the name");
        }
        Ok(match kind {
            "count" => Metric::Count(name),
            "rate" => Metric::Rate(name),
            _ => {
                let written = &self.text[place.start..self.at];
                let is_followed = self.rest().starts_with('.');
                self.at += usize::from(is_followed);
                let (word, rest) = self.take_while(|c| c.is_alphanumeric() || c == '_');
                let at = if is_followed { rest } else { place };
                match statistic(word).filter(|_| is_followed) {
                    Some(statistic) => Metric::Timing(name, statistic),
                    None => return Self::wrong(at, no_statistic(written, word)),
                }
            }
        })
    }
}

fn part(name: &str) -> Option<Part> {
    Part::NAMED.into_iter().find(|part| part.name() == name)
}

fn statistic(name: &str) -> Option<Statistic> {
    Statistic::ALL.into_iter().find(|one| one.name() == name)
}

/// That something has many times, and which of them is meant is not said.
fn no_statistic(times: &str, word: &str) -> String {
    let names = Statistic::ALL.map(Statistic::name);
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == word);
    let synonym = synonym.map(|(_, known)| *known);
    let near = synonym.filter(|known| statistic(known).is_some());
    match near.or_else(|| similar(word, names)) {
        _ if word.is_empty() => format!("`{times}` is many times: write `{times}.p95`"),
        Some(near) => format!("unknown statistic `{word}`; did you mean `{near}`?"),
        None => format!(
            "unknown statistic `{word}`; there is `{}`",
            names.join("`, `")
        ),
    }
}

fn unknown(name: &str) -> String {
    if name.is_empty() {
        return "expected a condition: `p95 < 300ms`, `errors < 1%`".to_owned();
    }
    let words = Metric::WORDS.map(|metric| metric.to_string());
    let known = words.iter().map(String::as_str);
    let known = known.chain(Part::NAMED.map(Part::name)).chain(OWN);
    let synonym = SYNONYMS.iter().find(|(word, _)| *word == name);
    let near = synonym.map(|(_, known)| *known);
    match near.or_else(|| similar(name, known)) {
        Some(near) => format!("unknown metric `{name}`; did you mean `{near}`?"),
        None => format!("unknown metric `{name}`; there is `{}`", words.join("`, `")),
    }
}

/// The word of `known` that is at most a third away.
fn similar<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known = known.into_iter();
    known
        .map(|one| (damerau_levenshtein(word, one), one))
        .filter(|(distance, one)| *distance <= one.len().max(word.len()) / 3)
        .min()
        .map(|(_, one)| one)
}

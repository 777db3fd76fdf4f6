//! The subject of a threshold: a metric, and the step before it.

use super::grammar::{ThresholdMistake, ThresholdParser};
use super::quoted::unquote_text;
use crate::threshold::{GaugeFigure, Metric, Part, Scope, Statistic, Subject};
use std::borrow::Cow;
use std::ops::Range;
use strsim::damerau_levenshtein;

/// The words before the name of a custom metric.
const CUSTOM: [&str; 4] = ["count", "rate", "time", "gauge"];

/// The words of other tools.
const SYNONYMS: [(&str, &str); 16] = [
    ("http_req_duration", "p95"),
    ("iteration_duration", "p95"),
    ("http_req_failed", "errors"),
    ("error_rate", "errors"),
    ("failures", "errors"),
    ("http_reqs", "rps"),
    ("throughput", "rps"),
    ("http_req_waiting", "first_byte.p95"),
    ("avg", "mean"),
    ("average", "mean"),
    ("med", "p50"),
    ("median", "p50"),
    ("p999", "p99_9"),
    ("ttfb", "first_byte.p95"),
    ("waiting", "first_byte.p95"),
    ("dropped_iterations", "dropped"),
];

/// The words before the name of steps or requests, which a metric follows.
const SUBJECTS: [&str; 2] = ["tag", "row"];

/// The name of a step, and its place.
type Step = (String, Range<usize>);

impl ThresholdParser<'_> {
    /// Parses the metric and what stands before it: `p95`, `login.service.p95`, `"GET /products".p95`,
    /// `tag(api).errors`, `row("order status").p95`. Returns the place of the metric, too.
    pub(super) fn parse_subject(
        &mut self,
    ) -> Result<(Option<Step>, Subject, Metric, Range<usize>), ThresholdMistake> {
        let step = match self.scope {
            None => self.parse_step()?,
            Some(_) => None,
        };
        self.skip_space();
        let begin = self.at;
        let subject = self.parse_tag_or_row()?;
        let written = begin..self.at;
        let (metric, place) = self.parse_subject_metric()?;
        let name = step.as_ref().map(|(name, _)| &**name);
        if let Some(message) = self.explain_misplaced_subject(name, &subject) {
            return Self::fail(written, message);
        }
        match self.explain_misplaced_metric(name, &subject, &metric) {
            Some(message) => Self::fail(place, message),
            None => Ok((step, subject, metric, place)),
        }
    }

    /// Returns the message about a tag or a row where it cannot stand.
    fn explain_misplaced_subject(&self, step: Option<&str>, subject: &Subject) -> Option<String> {
        let shown = subject.to_string();
        let shown = shown.trim_end_matches('.');
        match (subject, self.scope, step) {
            (Subject::Tag(_), None, Some(step)) => Some(format!(
                "`{shown}` is of several steps: write it without `{step}`"
            )),
            (Subject::Tag(_), Some(Scope::Step), _) => Some(format!(
                "`{shown}` is of several steps: put it in `thresholds(..)` of the scenario"
            )),
            (Subject::Row(_), None, None) => Some(format!(
                "`{shown}` is of one step: write its name before it, `login.{shown}`"
            )),
            (Subject::Row(_), Some(Scope::Journey), _) => Some(format!(
                "`{shown}` is of one step: put it among the options of the step"
            )),
            _ => None,
        }
    }

    /// Returns the message about a metric that its subject does not have.
    fn explain_misplaced_metric(
        &self,
        step: Option<&str>,
        subject: &Subject,
        metric: &Metric,
    ) -> Option<String> {
        let before = match subject {
            Subject::Whole => step.map(str::to_owned),
            subject => Some(subject.to_string().trim_end_matches('.').to_owned()),
        };
        match (metric.scope(), subject, self.scope) {
            (_, Subject::Row(_), _) if !is_kept_for_rows(metric) => Some(format!(
                "`{metric}` is not available for rows: a row has `p95` and similar, `errors` and `rps`"
            )),
            (Scope::Journey, Subject::Whole, Some(Scope::Step)) => Some(format!(
                "`{metric}` is of the whole scenario: put it in `thresholds(..)` of the scenario"
            )),
            (Scope::Step, Subject::Whole, Some(Scope::Journey)) => Some(format!(
                "`{metric}` is of a step: put it among the options of the step"
            )),
            (Scope::Journey, ..) => before.map(|before| {
                if metric.is_own() {
                    format!("`{metric}` is of the whole scenario: write it without `{before}`")
                } else {
                    format!("`{metric}` is only available for whole journeys")
                }
            }),
            _ => None,
        }
    }

    /// Parses the steps or requests before the metric: `tag(api).`, `row("order status").`.
    fn parse_tag_or_row(&mut self) -> Result<Subject, ThresholdMistake> {
        let begin = self.at;
        let (word, place) = self.take_word();
        if !SUBJECTS.contains(&word) || !self.rest().starts_with('(') {
            self.at = begin;
            return Ok(Subject::Whole);
        }
        let sample = if word == "tag" {
            "api"
        } else {
            "\"GET /orders\""
        };
        let name = self.parse_name(&format!("{word}({sample}).p95"))?;
        let written = &self.text[place.start..self.at];
        if !self.take(".") {
            let message = format!("`{written}` needs a metric: write `{written}.p95`");
            return Self::fail(place.start..place.start + written.len(), message);
        }
        Ok(if word == "tag" {
            Subject::Tag(name)
        } else {
            Subject::Row(name)
        })
    }

    /// Parses the step before the metric: `login.` or `"GET /products".`.
    fn parse_step(&mut self) -> Result<Option<Step>, ThresholdMistake> {
        self.skip_space();
        let begin = self.at;
        let quote = self.rest().chars().next();
        if let Some(quote) = quote.filter(|c| matches!(c, '"' | '`')) {
            self.at += 1;
            let (name, _) = self.take_while(|c| c != quote);
            if !self.rest().starts_with(quote) {
                return Self::fail(begin..self.at, format!("the closing `{quote}` is missing"));
            }
            self.at += 1;
            let place = begin..self.at;
            if !self.take(".") {
                let wanted = format!("expected a metric of this step: `{quote}{name}{quote}.p95`");
                return Self::fail(place, wanted);
            }
            return Ok(Some((name.to_owned(), place)));
        }
        let (name, place) = self.take_word();
        if !name.is_empty() && self.rest().starts_with('.') {
            self.at += 1;
            // `p99.9` is a metric that is written wrongly, and no step.
            let is_number = self.rest().starts_with(|c: char| c.is_ascii_digit());
            let is_metric = find_statistic(name).is_some() && is_number;
            // Of a step only are the other parts, and a step may have such a name.
            let of_journey = find_part(name).is_some_and(|part| part.scope() != Scope::Step)
                && find_statistic(self.take_word().0).is_some()
                && !self.rest().starts_with('.');
            if !is_metric && !of_journey {
                self.at = place.end + 1;
                return Ok(Some((name.to_owned(), place)));
            }
        }
        self.at = begin;
        Ok(None)
    }

    /// Parses a metric, and returns its place.
    pub(super) fn parse_subject_metric(
        &mut self,
    ) -> Result<(Metric, Range<usize>), ThresholdMistake> {
        let here = self.find_next();
        let (name, place) = self.take_word();
        let begin = place.start;
        if self.rest().starts_with('(') && CUSTOM.contains(&name) {
            let metric = self.parse_custom(name, place)?;
            return Ok((metric, begin..self.at));
        }
        if name == "p" && self.rest().starts_with('(') {
            let message = "a percentile is written without parentheses: `p95`";
            return Self::fail(place, message);
        }
        if self.rest().starts_with('.') {
            self.at += 1;
            let (word, rest) = self.take_while(|c| c.is_alphanumeric() || c == '_');
            return match (find_part(name), find_statistic(word)) {
                (Some(part), Some(statistic)) => {
                    Ok((Metric::Time(part, statistic), begin..rest.end))
                }
                (Some(part), None) => {
                    Self::fail(rest, explain_missing_statistic(part.name(), word))
                }
                _ if find_statistic(name).is_some()
                    || word.starts_with(|c: char| c.is_ascii_digit()) =>
                {
                    let known = find_statistic(&format!("{name}_{word}"));
                    let message = match known.map(Statistic::name) {
                        Some(known) => format!("`{name}.{word}` is written `{known}`"),
                        None => explain_percentile(&format!("{name}.{word}")),
                    };
                    Self::fail(begin..rest.end, message)
                }
                _ if self.scope.is_some() && is_metric_word(name) => Self::fail(
                    place,
                    format!("`{name}` is one figure: write `{name} < ...`"),
                ),
                (None, Some(statistic))
                    if self.scope == Some(Scope::Journey) && find_known_metric(name).is_none() =>
                {
                    let statistic = statistic.name();
                    let message = format!(
                        "a limit of a step is an option of that step: `#[step({statistic} < 300ms)]`"
                    );
                    Self::fail(place, message)
                }
                _ => Self::fail(place, explain_unknown_metric(name)),
            };
        }
        if let Some(part) = find_part(name) {
            return Self::fail(place, explain_missing_statistic(part.name(), ""));
        }
        let known = Metric::WORDS.into_iter();
        match known.into_iter().find(|known| known.to_string() == name) {
            Some(metric) => Ok((metric, place)),
            None => Self::fail(here, explain_unknown_metric(name)),
        }
    }

    /// Parses a name in parentheses: `(sold_out)`, `("sold out")`.
    fn parse_name(&mut self, sample: &str) -> Result<Cow<'static, str>, ThresholdMistake> {
        self.at += 1;
        self.skip_space();
        let quoted = self.at;
        let name: Cow<'static, str> = if self.rest().starts_with('"') {
            let Some((name, length)) = unquote_text(self.rest()) else {
                return Self::fail(quoted..self.text.len(), "the closing `\"` is missing");
            };
            self.at += length;
            name.into()
        } else {
            self.take_word().0.to_owned().into()
        };
        if name.is_empty() {
            let wanted = format!("expected the name that the scenario gives: `{sample}`");
            return Self::fail(self.find_next(), wanted);
        }
        if !self.take(")") {
            return Self::fail(self.find_next(), "expected `)` after the name");
        }
        Ok(name)
    }

    /// Parses the rest of a metric that begins with `count`, `rate`, `time` or `gauge`.
    fn parse_custom(
        &mut self,
        kind: &str,
        place: Range<usize>,
    ) -> Result<Metric, ThresholdMistake> {
        let name = self.parse_name(&format!("{kind}(sold_out)"))?;
        if kind == "gauge" {
            return self.parse_gauge(name, place);
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
                match find_statistic(word).filter(|_| is_followed) {
                    Some(statistic) => Metric::Timing(name, statistic),
                    None => return Self::fail(at, explain_missing_statistic(written, word)),
                }
            }
        })
    }

    /// Parses the figure of a gauge: `.max`.
    fn parse_gauge(
        &mut self,
        name: Cow<'static, str>,
        place: Range<usize>,
    ) -> Result<Metric, ThresholdMistake> {
        let written = &self.text[place.start..self.at];
        if !self.rest().starts_with('.') {
            let message = format!("`{written}` needs a figure: write `{written}.max`");
            return Self::fail(place, message);
        }
        self.at += 1;
        let (word, rest) = self.take_while(|c| c.is_alphanumeric() || c == '_');
        let mut all = GaugeFigure::ALL.into_iter();
        match all.find(|figure| figure.name() == word) {
            Some(figure) => Ok(Metric::Gauge(name, figure)),
            None => Self::fail(
                rest,
                format!(
                    "a gauge has no `{word}`; available: `{}`",
                    GaugeFigure::ALL.map(GaugeFigure::name).join("`, `")
                ),
            ),
        }
    }
}

/// Returns true for a metric that the requests of one name in an `async` step have.
fn is_kept_for_rows(metric: &Metric) -> bool {
    matches!(
        metric,
        Metric::Time(Part::Whole, _) | Metric::Errors | Metric::Rps
    )
}

fn find_part(name: &str) -> Option<Part> {
    Part::NAMED.into_iter().find(|part| part.name() == name)
}

fn find_statistic(name: &str) -> Option<Statistic> {
    Statistic::ALL.into_iter().find(|one| one.name() == name)
}

/// Returns the message about times without a statistic, or with an unknown one.
fn explain_missing_statistic(times: &str, word: &str) -> String {
    let names = Statistic::ALL.map(Statistic::name);
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == word);
    let synonym = synonym.map(|(_, known)| *known);
    let near = synonym.filter(|known| find_statistic(known).is_some());
    match near.or_else(|| find_similar(word, names)) {
        _ if word.is_empty() => format!("`{times}` needs a statistic: write `{times}.p95`"),
        Some(near) => format!("unknown statistic `{word}`; did you mean `{near}`?"),
        None => format!(
            "unknown statistic `{word}`; available: `{}`",
            names.join("`, `")
        ),
    }
}

/// Returns the message about a word that is no metric, with the nearest one.
fn explain_unknown_metric(name: &str) -> String {
    if name.is_empty() {
        return "expected a condition: `p95 < 300ms`, `errors < 1%`".to_owned();
    }
    if SUBJECTS.contains(&name) {
        return format!("`{name}` needs a name: `{name}(..).p95`");
    }
    if CUSTOM.contains(&name) {
        return if name == "gauge" {
            "`gauge` needs the name of a gauge: `gauge(queue).max`".to_owned()
        } else if name == "time" {
            "`time` needs the name of a custom time: `time(queued).p95`".to_owned()
        } else {
            let of_requests = if name == "rate" {
                "; the rate of requests is `rps`"
            } else {
                ""
            };
            format!("`{name}` needs the name of a custom counter: `{name}(sold_out)`{of_requests}")
        };
    }
    let number = name.strip_prefix('p').unwrap_or_default();
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && name != "p999" {
        return explain_percentile(name);
    }
    if let Some(near) = find_known_metric(name) {
        return format!("unknown metric `{name}`; did you mean `{near}`?");
    }
    let words = Metric::WORDS.map(|metric| metric.to_string());
    format!(
        "unknown metric `{name}`; available: `{}`; with a statistic (`{}.p95`): `{}`; of the scenario itself: \
         `{}(..)`",
        words.join("`, `"),
        Part::NAMED[0].name(),
        Part::NAMED.map(Part::name).join("`, `"),
        CUSTOM.join("(..)`, `"),
    )
}

fn explain_percentile(name: &str) -> String {
    format!("`{name}` is not available: the percentiles are `p50`, `p90`, `p95`, `p99` and `p99_9`")
}

/// Returns the metric, or the beginning of one, that `name` is likely to mean.
fn find_known_metric(name: &str) -> Option<String> {
    if let Some((_, known)) = SYNONYMS.iter().find(|(word, _)| *word == name) {
        return Some((*known).to_owned());
    }
    let words = Metric::WORDS.map(|metric| metric.to_string());
    let known = words.iter().map(String::as_str);
    let known = known.chain(Part::NAMED.map(Part::name)).chain(CUSTOM);
    find_similar(name, known).map(str::to_owned)
}

/// Returns true for a word that is a whole metric: `p95`, `errors`.
pub fn is_metric_word(word: &str) -> bool {
    Metric::WORDS
        .iter()
        .any(|metric| metric.to_string() == word)
}

/// Returns true for a word that begins a longer metric: `service` of `service.p95`.
pub fn is_part_word(word: &str) -> bool {
    find_part(word).is_some()
}

/// Returns true for a word before a name in parentheses: `count` of `count(sold_out)`, `tag` of `tag(api).p95`.
pub fn is_custom_word(word: &str) -> bool {
    CUSTOM.contains(&word) || SUBJECTS.contains(&word)
}

/// Returns the word of `known` that differs least, in at most a third of its letters.
fn find_similar<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known = known.into_iter();
    known
        .map(|one| (damerau_levenshtein(word, one), one))
        .filter(|(distance, one)| *distance <= one.len().max(word.len()) / 3)
        .min()
        .map(|(_, one)| one)
}

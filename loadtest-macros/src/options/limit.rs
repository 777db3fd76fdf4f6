//! Thresholds as they are written in attributes: `p95 < 300ms`, `tls.p95 < 1s or abort after 30s`.
//!
//! The grammar is that of `loadtest::definition::slo`, which reads the same from text.

use super::skip_rest;
use super::value::{
    parse_count, parse_positive_duration, parse_rate, parse_share, parse_spanned_duration,
    parse_throughput,
};
use crate::suggest::did_you_mean;
use proc_macro2::{Ident, Span};
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{LitStr, Token, parenthesized, token};

/// A statistic of times, and the variant of `Statistic`.
const STATISTICS: [(&str, &str); 7] = [
    ("p50", "P50"),
    ("p90", "P90"),
    ("p95", "P95"),
    ("p99", "P99"),
    ("p99_9", "P999"),
    ("max", "Max"),
    ("mean", "Mean"),
];

/// Prefixes of a statistic, the variants of `Part`, and the scopes that have them.
const PARTS: [(&str, &str, Scope); 7] = [
    ("service", "Service", Scope::Step),
    ("connect", "Connect", Scope::Step),
    ("tls", "Tls", Scope::Step),
    ("first_byte", "FirstByte", Scope::Step),
    ("body", "Body", Scope::Step),
    ("failed", "Failed", Scope::Both),
    ("lateness", "Lateness", Scope::Journey),
];

/// Metrics of one word, the variant of `Metric`, the unit, and which values are good.
const WORDS: [(&str, &str, Unit, Better, Scope); 7] = [
    ("errors", "Errors", Unit::Share, Better::Less, Scope::Both),
    ("checks", "Checks", Unit::Share, Better::More, Scope::Both),
    ("skips", "Skips", Unit::Share, Better::Less, Scope::Both),
    (
        "dropped",
        "Dropped",
        Unit::Share,
        Better::Less,
        Scope::Journey,
    ),
    ("retries", "Retries", Unit::Share, Better::Less, Scope::Both),
    ("rps", "Rps", Unit::PerSecond, Better::More, Scope::Both),
    (
        "throughput",
        "Throughput",
        Unit::Throughput,
        Better::Either,
        Scope::Both,
    ),
];

/// Prefixes of custom metrics.
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

/// A condition, as a constant of the library.
pub(crate) struct Limit {
    pub(crate) metric: Metric,
    /// The variant of `Comparator`.
    pub(crate) comparison: &'static str,
    pub(crate) bound: Bound,
    /// The delay after the start of the steady part until the limit may abort the run.
    pub(crate) abort_after: Option<Duration>,
    /// The span of the metric.
    pub(crate) span: Span,
}

pub(crate) enum Metric {
    /// A variant of `Metric`.
    Word(&'static str),
    /// Variants of `Part` and `Statistic`.
    Time(&'static str, &'static str),
    Count(String),
    Rate(String),
    Timing(String, &'static str),
}

pub(crate) enum Bound {
    Time(Duration),
    Ratio(f64),
    PerSecond(f64),
    BytesPerSecond(f64),
    Count(u64),
}

/// The subject of a condition, or the subjects that have a metric.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Both,
    Step,
    Journey,
}

#[derive(Clone, Copy)]
enum Unit {
    Time,
    Share,
    PerSecond,
    Throughput,
    Count,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    Less,
    More,
    Either,
}

/// A metric that was read.
struct Subject {
    metric: Metric,
    /// The source text.
    text: String,
    unit: Unit,
    better: Better,
    scope: Scope,
}

/// Returns true if `name` alone is a metric.
pub(super) fn is_metric(name: &str) -> bool {
    statistic(name).is_some() || word(name).is_some()
}

/// Returns true if a condition begins with `name`, which was just parsed.
pub(super) fn begins(name: &str, input: ParseStream<'_>) -> bool {
    let is_part = part(name).is_some();
    is_metric(name)
        || is_part && (input.peek(Token![.]) || is_compared(input))
        || OWN.contains(&name) && input.peek(token::Paren)
}

/// Returns true if a comparison follows.
pub(super) fn is_compared(input: ParseStream<'_>) -> bool {
    input.peek(Token![<]) || input.peek(Token![>])
}

/// All words with which a condition on `scope` can begin.
pub(super) fn metrics(scope: Scope) -> impl Iterator<Item = &'static str> {
    let fits = move |of: Scope| of == Scope::Both || of == scope;
    let statistics = STATISTICS.into_iter().map(|(name, _)| name);
    let words = WORDS.into_iter().filter(move |word| fits(word.4));
    let parts = PARTS.into_iter().filter(move |part| fits(part.2));
    let own = OWN.into_iter().filter(move |_| fits(Scope::Journey));
    statistics
        .chain(words.map(|word| word.0))
        .chain(parts.map(|part| part.0))
        .chain(own)
}

/// Explains an unknown metric. If the metric exists elsewhere, the error appears once the name is
/// right.
pub(super) fn unknown_metric(name: &Ident) -> syn::Error {
    let text = name.to_string();
    let hint = match synonym(&text) {
        Some(known) => format!("; did you mean `{known}`?"),
        None => did_you_mean(&text, metrics(Scope::Step).chain(metrics(Scope::Journey))),
    };
    syn::Error::new(name.span(), format!("unknown metric `{name}`{hint}"))
}

fn synonym(word: &str) -> Option<&'static str> {
    let found = SYNONYMS.iter().find(|(other, _)| *other == word);
    found.map(|(_, known)| *known)
}

/// A condition that begins with `first`, on a step or on the journey.
pub(super) fn limit(first: &Ident, scope: Scope, input: ParseStream<'_>) -> syn::Result<Limit> {
    let subject = subject(first, input)?;
    let Subject {
        text, unit, better, ..
    } = &subject;
    let elsewhere = match (scope, subject.scope) {
        (Scope::Step, Scope::Journey) => Some(format!(
            "`{text}` is of the whole scenario: put it in `thresholds(..)` of the scenario"
        )),
        (Scope::Journey, Scope::Step) => Some(format!(
            "`{text}` is of a step: put it among the options of the step"
        )),
        _ => None,
    };
    if let Some(message) = elsewhere {
        skip_rest(input);
        return Err(syn::Error::new(first.span(), message));
    }
    let (wrong, wanted) = match better {
        Better::More => ("<", ">"),
        Better::Less | Better::Either => (">", "<"),
    };
    let comparison = if input.parse::<Option<Token![<=]>>()?.is_some() {
        "LessOrEqual"
    } else if input.parse::<Option<Token![<]>>()?.is_some() {
        "Less"
    } else if input.parse::<Option<Token![>=]>>()?.is_some() {
        "GreaterOrEqual"
    } else if input.parse::<Option<Token![>]>>()?.is_some() {
        "Greater"
    } else {
        return Err(input.error(format!("a limit is a comparison: `{text} {wanted} ...`")));
    };
    let is_floor = comparison.starts_with("Greater");
    if *better != Better::Either && is_floor != (*better == Better::More) {
        return Err(syn::Error::new(
            first.span(),
            format!("`{text} {wrong} ...` holds when things go badly: write `{text} {wanted} ...`"),
        ));
    }
    let bound = match unit {
        Unit::Time => Bound::Time(parse_positive_duration(input)?),
        Unit::Share => Bound::Ratio(parse_share(input)?),
        Unit::PerSecond => Bound::PerSecond(parse_rate(input)?.per_second),
        Unit::Throughput => Bound::BytesPerSecond(parse_throughput(input)?),
        Unit::Count => Bound::Count(parse_count(input)?),
    };
    let abort_after = abort(&subject, is_floor, input)?;
    Ok(Limit {
        metric: subject.metric,
        comparison,
        bound,
        abort_after,
        span: first.span(),
    })
}

/// The metric that begins with `first`.
fn subject(first: &Ident, input: ParseStream<'_>) -> syn::Result<Subject> {
    let name = first.to_string();
    let of = |metric, text: &str, unit, better, scope| Subject {
        metric,
        text: text.to_owned(),
        unit,
        better,
        scope,
    };
    if let Some((_, variant, scope)) = part(&name) {
        let (statistic, variant_of) = after_dot(&name, first, input)?;
        let text = format!("{name}.{statistic}");
        let metric = Metric::Time(variant, variant_of);
        return Ok(of(metric, &text, Unit::Time, Better::Less, scope));
    }
    if OWN.contains(&name.as_str()) && input.peek(token::Paren) {
        let (own, written) = own(&name, input)?;
        let text = format!("{name}({written})");
        let (metric, text, unit, better) = match name.as_str() {
            "count" => (Metric::Count(own), text, Unit::Count, Better::Either),
            "rate" => (Metric::Rate(own), text, Unit::PerSecond, Better::Either),
            _ => {
                let (statistic, variant) = after_dot(&text, first, input)?;
                let text = format!("{text}.{statistic}");
                (Metric::Timing(own, variant), text, Unit::Time, Better::Less)
            }
        };
        return Ok(of(metric, &text, unit, better, Scope::Journey));
    }
    if input.peek(Token![.]) && is_metric(&name) {
        let what = if statistic(&name).is_some() {
            "`p99.9` is written `p99_9`".to_owned()
        } else {
            format!("`{name}` is one figure: write `{name} < ...`")
        };
        return Err(input.error(what));
    }
    if let Some((_, variant)) = statistic(&name) {
        let metric = Metric::Time("Whole", variant);
        return Ok(of(metric, &name, Unit::Time, Better::Less, Scope::Both));
    }
    match word(&name) {
        Some((_, variant, unit, better, scope)) => {
            Ok(of(Metric::Word(variant), &name, unit, better, scope))
        }
        None if OWN.contains(&name.as_str()) => {
            let message = match name.as_str() {
                "time" => {
                    "`time` is of what the scenario times by itself: `time(queued).p95`".to_owned()
                }
                _ => {
                    format!("`{name}` is of what the scenario counts by itself: `{name}(sold_out)`")
                }
            };
            skip_rest(input);
            Err(syn::Error::new(first.span(), message))
        }
        None => {
            skip_rest(input);
            Err(unknown_metric(first))
        }
    }
}

/// The statistic that follows `text`, and its variant.
fn after_dot(
    text: &str,
    first: &Ident,
    input: ParseStream<'_>,
) -> syn::Result<(&'static str, &'static str)> {
    if input.parse::<Option<Token![.]>>()?.is_none() {
        skip_rest(input);
        return Err(syn::Error::new(
            first.span(),
            format!("`{text}` is many times: write `{text}.p95`"),
        ));
    }
    let names = || STATISTICS.into_iter().map(|(name, _)| name);
    let word = Ident::parse_any(input).map_err(|error| {
        let message = format!("expected a statistic: `{text}.p95`");
        syn::Error::new(error.span(), message)
    })?;
    let found = statistic(&word.to_string());
    if found.is_some() && input.peek(Token![.]) {
        return Err(input.error("`p99.9` is written `p99_9`"));
    }
    found.ok_or_else(|| {
        skip_rest(input);
        let text = word.to_string();
        let known = synonym(&text).filter(|known| statistic(known).is_some());
        let mut hint = match known {
            Some(known) => format!("; did you mean `{known}`?"),
            None => did_you_mean(&text, names()),
        };
        if hint.is_empty() {
            let names: Vec<_> = names().collect();
            hint = format!("; there is `{}`", names.join("`, `"));
        }
        syn::Error::new(word.span(), format!("unknown statistic `{word}`{hint}"))
    })
}

/// The name between the parentheses, and how it is written.
fn own(kind: &str, input: ParseStream<'_>) -> syn::Result<(String, String)> {
    let content;
    parenthesized!(content in input);
    let wanted = format!("expected the name that the scenario gives: `{kind}(sold_out)`");
    let read = if content.peek(LitStr) {
        let text: LitStr = content.parse()?;
        if text.value().is_empty() {
            return Err(syn::Error::new(text.span(), "this must not be empty"));
        }
        (text.value(), text.token().to_string())
    } else {
        let word =
            Ident::parse_any(&content).map_err(|error| syn::Error::new(error.span(), &wanted))?;
        (word.unraw().to_string(), word.to_string())
    };
    if content.is_empty() {
        return Ok(read);
    }
    let message =
        "expected one name; quote a name with characters other than letters, digits and `_`";
    Err(content.error(message))
}

/// `or abort`, `or abort after 30s`.
fn abort(
    subject: &Subject,
    is_floor: bool,
    input: ParseStream<'_>,
) -> syn::Result<Option<Duration>> {
    const WANTED: &str = "what a broken limit does is `or abort`, or `or abort after 30s`";
    let is_word = |wanted: &str| {
        let ahead = input.fork();
        Ident::parse_any(&ahead).is_ok_and(|word| word == wanted)
    };
    if !is_word("or") {
        return Ok(None);
    }
    let or = Ident::parse_any(input)?;
    let word = Ident::parse_any(input).map_err(|error| syn::Error::new(error.span(), WANTED))?;
    if word != "abort" {
        skip_rest(input);
        return Err(syn::Error::new(word.span(), WANTED));
    }
    let after = if is_word("after") {
        Ident::parse_any(input)?;
        let (after, span) = parse_spanned_duration(input)?;
        if after.is_zero() {
            let message = "a delay of none is written without one: `or abort`";
            return Err(syn::Error::new(span, message));
        }
        after
    } else if input.is_empty() || input.peek(Ident::peek_any) {
        Duration::ZERO
    } else {
        return Err(input.error(WANTED));
    };
    let text = &subject.text;
    match subject.unit {
        Unit::Count if is_floor => Err(syn::Error::new(
            or.span(),
            format!(
                "whether `{text}` gets that far is known when the run is over: leave `or abort` out"
            ),
        )),
        Unit::PerSecond | Unit::Throughput if is_floor && after.is_zero() => Err(syn::Error::new(
            word.span(),
            format!(
                "`{text}` begins with nothing: say from when on it must hold: `or abort after 10s`"
            ),
        )),
        _ => Ok(Some(after)),
    }
}

fn statistic(name: &str) -> Option<(&'static str, &'static str)> {
    STATISTICS.into_iter().find(|one| one.0 == name)
}

fn part(name: &str) -> Option<(&'static str, &'static str, Scope)> {
    PARTS.into_iter().find(|one| one.0 == name)
}

fn word(name: &str) -> Option<(&'static str, &'static str, Unit, Better, Scope)> {
    WORDS.into_iter().find(|one| one.0 == name)
}

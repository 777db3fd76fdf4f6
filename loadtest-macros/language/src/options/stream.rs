//! `first = |event| ..`, `end = "[DONE]"`, `units = ..` and the like, of steps that answer `Events<T>`; and
//! `good(first_event < 800ms)`.

use super::step::{StepOptions, parse_closure};
use super::threshold::{is_compared, parse_threshold_option};
use super::value::{parse_error, parse_positive_duration, parse_whole};
use crate::suggest::{MacroErrors, did_you_mean};
use loadtest_model::threshold::{Metric, Scope};
use proc_macro2::{Ident, TokenStream};
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Expr, LitStr, Token, parenthesized, token};

/// The options of steps that answer `Events<T>`.
pub(crate) const STREAM_OPTIONS: [&str; 8] = [
    "first", "end", "units", "events", "lasts", "idle", "format", "graded",
];

/// The times that `good(..)` can look at, and their variants of `Part`.
const GOOD_TIMES: [(&str, &str); 5] = [
    ("response", "Whole"),
    ("service", "Service"),
    ("first_event", "FirstEvent"),
    ("gap", "Gap"),
    ("per_unit", "PerUnit"),
];

#[derive(Default)]
pub(crate) struct StreamOptions {
    /// Raw, as the closures of checks are.
    pub(crate) first: Option<TokenStream>,
    pub(crate) end: Option<EndOption>,
    /// A closure or the path of a function.
    pub(crate) units: Option<TokenStream>,
    pub(crate) events: Option<u32>,
    pub(crate) lasts: Option<Duration>,
    pub(crate) idle: Option<Duration>,
    /// True with `idle(bytes) = 30s`.
    pub(crate) idle_counts_bytes: bool,
    /// The variant of `StreamFormat`.
    pub(crate) format: Option<&'static str>,
    pub(crate) is_graded_by_response: bool,
    /// The conditions of `good(..)`: a variant of `Part`, and the most it may be.
    pub(crate) good: Vec<(&'static str, Duration)>,
}

pub(crate) enum EndOption {
    /// The data of the event that ends the stream.
    Data(LitStr),
    /// A condition on it, raw.
    Condition(TokenStream),
}

impl StreamOptions {
    /// Parses one of [`STREAM_OPTIONS`].
    pub(super) fn parse_option(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match key.to_string().as_str() {
            "first" => {
                let wanted = "`first` takes a closure: `first = |event| ..`, of an event";
                self.first = Some(parse_event_closure(key, input, wanted)?);
                return Ok(());
            }
            "end" if !input.peek2(LitStr) => {
                let wanted = "`end` takes the data of the event that ends the stream, or a closure of it: \
                              `end = \"[DONE]\"`, `end = |event| ..`";
                let condition = parse_event_closure(key, input, wanted)?;
                self.end = Some(EndOption::Condition(condition));
                return Ok(());
            }
            "idle" if input.peek(token::Paren) => {
                let content;
                parenthesized!(content in input);
                let wanted = "`idle` counts events; with `idle(bytes) = 30s` a heartbeat that is no event counts too";
                parse_word(&content, &[("bytes", "")], wanted)?;
                self.idle_counts_bytes = true;
            }
            _ => {}
        }
        input.parse::<Token![=]>()?;
        match key.to_string().as_str() {
            "end" => self.end = Some(EndOption::Data(input.parse()?)),
            "units" => self.units = Some(parse_units(input)?),
            "events" => {
                let wanted = "expected after how many events the step ends the stream, 1 to 100000: `events = 5`";
                self.events = Some(parse_whole(input, 1.0..=100_000.0, wanted)? as u32);
            }
            "lasts" => self.lasts = Some(parse_positive_duration(input)?),
            "idle" => self.idle = Some(parse_positive_duration(input)?),
            "format" => {
                let wanted = "a stream is read as `format = events` (server-sent events) or `format = lines` (a value on each line)";
                self.format = Some(parse_word(
                    input,
                    &[("events", "Events"), ("lines", "Lines")],
                    wanted,
                )?);
            }
            _ => {
                let wanted = "a stream is graded by the time to its first event, or with `graded = response` by that to its last";
                parse_word(input, &[("response", "")], wanted)?;
                self.is_graded_by_response = true;
            }
        }
        Ok(())
    }
}

impl StepOptions {
    /// Parses `good(first_event < 800ms, per_unit < 50ms)`, and the limit that may follow.
    pub(super) fn parse_good(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        const WANTED: &str =
            "`good` says what holds for a good execution: `good(response < 300ms) > 99%`";
        if !input.peek(token::Paren) {
            return Err(input.error(WANTED));
        }
        let content;
        parenthesized!(content in input);
        while !content.is_empty() {
            self.stream.good.push(parse_good_condition(&content)?);
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        if self.stream.good.is_empty() {
            return Err(syn::Error::new(key.span(), WANTED));
        }
        if is_compared(input) {
            self.thresholds
                .push(parse_threshold_option(key, Scope::Step, input)?);
        }
        Ok(())
    }

    /// Notes a limit on what is good where nothing says what that is.
    pub(super) fn check_good(&self, errors: &mut MacroErrors) {
        let mut limits = self.thresholds.iter();
        let limit =
            limits.find(|limit| matches!(limit.threshold.metric, Metric::Good | Metric::GoodRate));
        if let (Some(limit), true) = (limit, self.stream.good.is_empty()) {
            let metric = &limit.threshold.metric;
            errors.add_on(
                &limit.written,
                format!("`{metric}` needs to know what is good: add `good(response < 300ms)`"),
            );
        }
    }
}

fn parse_good_condition(input: ParseStream<'_>) -> syn::Result<(&'static str, Duration)> {
    const WANTED: &str = "a condition is on `first_event`, `per_unit`, `gap`, `response` or `service`: `response < 300ms`";
    let word = input
        .call(Ident::parse_any)
        .map_err(|error| parse_error(&error, WANTED))?;
    let name = word.to_string();
    let known = GOOD_TIMES.iter().find(|(time, _)| *time == name);
    let Some((_, variant)) = known else {
        let near = did_you_mean(&name, GOOD_TIMES.iter().map(|(time, _)| *time));
        return Err(syn::Error::new(word.span(), format!("{WANTED}{near}")));
    };
    if input.parse::<Option<Token![<=]>>()?.is_none() {
        let upper = input.parse::<Token![<]>();
        upper.map_err(|error| {
            parse_error(&error, "a good time is a short one: `response < 300ms`")
        })?;
    }
    Ok((variant, parse_positive_duration(input)?))
}

/// A closure of an event; for anything else the words `wanted`.
fn parse_event_closure(
    key: &Ident,
    input: ParseStream<'_>,
    wanted: &str,
) -> syn::Result<TokenStream> {
    parse_closure(key, input).map_err(|error| parse_error(&error, wanted))
}

/// A closure, or the name of a function.
fn parse_units(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    const WANTED: &str = "`units` takes a function of all events of an answer: `units = tokens`, or a closure `|events| ..`";
    let tokens: TokenStream = input.parse()?;
    match syn::parse2::<Expr>(tokens.clone()) {
        Ok(Expr::Closure(closure)) if closure.inputs.len() == 1 => Ok(tokens),
        Ok(Expr::Path(_)) => Ok(tokens),
        // half written ones are rustc's to report
        Err(_) if !tokens.is_empty() => Ok(tokens),
        _ => Err(syn::Error::new(input.span(), WANTED)),
    }
}

/// One of some words, and what it stands for.
fn parse_word(
    input: ParseStream<'_>,
    words: &[(&str, &'static str)],
    wanted: &str,
) -> syn::Result<&'static str> {
    let word = input
        .call(Ident::parse_any)
        .map_err(|error| parse_error(&error, wanted))?;
    let known = words.iter().find(|(name, _)| word == name);
    known
        .map(|(_, meaning)| *meaning)
        .ok_or_else(|| syn::Error::new(word.span(), wanted))
}

//! `once`, `last`, `retry(3, backoff = 100ms, on = 503 | timeout)` and `until = |r| .., every = .., within = ..`.

use super::step::{StepOptions, parse_closure, parse_statuses, refuse_value};
use super::threshold::ThresholdOption;
use super::value::{parse_number, parse_positive_duration};
use super::weight::WeightOption;
use super::{GivenOptions, parse_option_name, skip_rest, unknown_option};
use crate::suggest::{MacroErrors, did_you_mean};
use loadtest_model::threshold::Metric;
use proc_macro2::{Ident, Span, TokenStream};
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Token, parenthesized, token};

/// The options that this file reads.
pub(super) const REPEAT_KEYS: [&str; 6] = ["once", "last", "retry", "until", "every", "within"];

/// The statuses of success where none are declared.
const DEFAULT_SUCCESS: (u16, u16) = (200, 299);

/// The pause of `until` where none is declared, and when it gives up; as in `definition::Until`.
const DEFAULT_EVERY: Duration = Duration::from_millis(500);
const DEFAULT_WITHIN: Duration = Duration::from_secs(30);

const MAX_RETRIES: u32 = 100;
const MISSING: &str = "how often does it send again after a failure? write `retry(3)`";
const TIMES: &str = "`retry` takes a number of repetitions first: a whole one, from 1 to 100";
const UNTIL: &str = "`until` takes the response of its step and nothing else: `until = |r| ...`";
const TRIGGERS: &str = "a failure to retry after is a status like `503` or `5xx`, or `timeout`, \
                        `connect` or `reset`; several are joined by `|`";

#[derive(Default)]
pub(crate) struct RepeatOptions {
    pub(crate) once: Option<Ident>,
    pub(crate) last: Option<Ident>,
    pub(crate) retry: Option<RetryOption>,
    /// The condition, raw as the closures of checks are.
    pub(crate) until: Option<(Ident, TokenStream)>,
    pub(crate) every: Option<(Ident, Duration)>,
    pub(crate) within: Option<(Ident, Duration)>,
}

#[derive(Clone)]
pub(crate) struct RetryOption {
    pub(crate) key: Ident,
    pub(crate) times: u32,
    pub(crate) backoff: Option<Duration>,
    /// Empty for the default.
    pub(crate) on: Vec<(RetryTrigger, Span)>,
}

#[derive(Clone, Copy)]
pub(crate) enum RetryTrigger {
    /// An inclusive range of statuses.
    Status(u16, u16),
    Timeout,
    Connect,
    Reset,
}

impl RepeatOptions {
    pub(super) fn parse_option(&mut self, key: Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match key.to_string().as_str() {
            "once" | "last" => {
                refuse_value(&key, input)?;
                if key == "once" {
                    self.once = Some(key);
                } else {
                    self.last = Some(key);
                }
            }
            "retry" => self.retry = Some(parse_retry(key, input)?),
            "until" => {
                let condition =
                    parse_closure(input, "`until` is a closure: `until = |r| ...`", UNTIL)?;
                self.until = Some((key, condition));
            }
            name => {
                input.parse::<Token![=]>()?;
                let time = Some((key.clone(), parse_positive_duration(input)?));
                if name == "every" {
                    self.every = time;
                } else {
                    self.within = time;
                }
            }
        }
        Ok(())
    }
}

/// Notes options that contradict each other.
pub(super) fn check_repeat_options(options: &StepOptions, errors: &mut MacroErrors) {
    let repeat = &options.repeat;
    let is_drawn = match options.weight {
        WeightOption::Always => false,
        WeightOption::Literal(weight) => weight < 1.0,
        WeightOption::Relative(..) | WeightOption::Constant(_) => true,
    };
    if let Some(once) = &repeat.once
        && is_drawn
    {
        errors.add_at(
            once.span(),
            "a step that runs `once` runs in the first iteration of every user, and not by chance: \
             drop `once` or the `weight`",
        );
    }
    if let Some(last) = &repeat.last {
        check_last(last, options, is_drawn, errors);
    }
    let is_rate = |limit: &&ThresholdOption| {
        matches!(limit.threshold.metric, Metric::Rps | Metric::Throughput)
    };
    if let Some(key) = repeat.once.as_ref().or(repeat.last.as_ref())
        && let Some(limit) = options.thresholds.iter().find(is_rate)
    {
        errors.add_at(
            limit.span,
            format!("a step that runs `{key}` has no rate: it runs once for each user"),
        );
    }
    if let Some(retry) = &repeat.retry {
        check_retry(retry, &options.expect, errors);
    }
    check_times(repeat, errors);
}

/// A step that belongs to no journey is neither drawn for one nor thought about in it.
fn check_last(last: &Ident, options: &StepOptions, is_drawn: bool, errors: &mut MacroErrors) {
    let mut refuse = |span: Span, message: &str| errors.add_at(span, message);
    if options.repeat.once.is_some() {
        refuse(
            last.span(),
            "`once` is the first journey of a user, and `last` comes after its last one: drop one of \
             the two",
        );
    }
    if options.one_of.is_some() {
        refuse(
            last.span(),
            "the steps of a choice are drawn for a journey, and a step that runs `last` is part of \
             none: drop `last` or `one_of`",
        );
    } else if is_drawn {
        refuse(
            last.span(),
            "a step that runs `last` runs for every user, after its last journey, and not by chance: \
             drop `last` or the `weight`",
        );
    }
    if let Some(think) = options.keys.iter().find(|key| *key == "think") {
        refuse(
            think.span(),
            "a `last` step runs after the load, so it has no think time: drop `think`",
        );
    }
}

/// A status that is expected is no failure.
fn check_retry(retry: &RetryOption, expect: &[(u16, u16)], errors: &mut MacroErrors) {
    let expected = if expect.is_empty() {
        &[DEFAULT_SUCCESS]
    } else {
        expect
    };
    for (trigger, span) in &retry.on {
        let RetryTrigger::Status(from, to) = *trigger else {
            continue;
        };
        let both = expected
            .iter()
            .map(|(low, high)| (from.max(*low), to.min(*high)))
            .find(|(low, high)| low <= high);
        if let Some((status, _)) = both {
            errors.add_at(
                *span,
                format!(
                    "this step expects the status {status}, so it is no failure to retry after: \
                     take it out of `on` or of `expect`"
                ),
            );
        }
    }
}

fn check_times(repeat: &RepeatOptions, errors: &mut MacroErrors) {
    if repeat.until.is_none() {
        for (given, means) in [
            (&repeat.every, "the pause between the requests of `until`"),
            (&repeat.within, "the time after which `until` gives up"),
        ] {
            if let Some((key, _)) = given {
                errors.add_at(
                    key.span(),
                    format!("`{key}` is {means}: add `until = |r| ...`"),
                );
            }
        }
        return;
    }
    let (every, within) = (&repeat.every, &repeat.within);
    let key = within.as_ref().or(every.as_ref()).map(|(key, _)| key);
    let every = every.as_ref().map_or(DEFAULT_EVERY, |(_, time)| *time);
    let within = within.as_ref().map_or(DEFAULT_WITHIN, |(_, time)| *time);
    if let Some(key) = key.filter(|_| within < every) {
        errors.add_at(
            key.span(),
            format!(
                "with `every = {every:?}` and `within = {within:?}` nothing would be sent a second \
                 time: `within` is at least `every`"
            ),
        );
    }
}

/// Parses the parameters of `retry`.
fn parse_retry(key: Ident, input: ParseStream<'_>) -> syn::Result<RetryOption> {
    if !input.peek(token::Paren) {
        skip_rest(input);
        return Err(syn::Error::new(key.span(), MISSING));
    }
    let content;
    parenthesized!(content in input);
    if content.is_empty() || content.peek(Ident::peek_any) {
        skip_rest(&content);
        return Err(syn::Error::new(key.span(), MISSING));
    }
    let times = parse_number(&content, 1.0..=f64::from(MAX_RETRIES), TIMES)?;
    if times.value.fract() != 0.0 {
        return Err(syn::Error::new(times.span, TIMES));
    }
    let mut retry = RetryOption {
        key,
        times: times.value as u32,
        backoff: None,
        on: Vec::new(),
    };
    let mut given = GivenOptions::default();
    while content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
        let key = parse_option_name(&content)?;
        match key.to_string().as_str() {
            "backoff" | "on" => given.refuse_repeated(&key)?,
            _ => {
                skip_rest(&content);
                return Err(unknown_option(&key, ["backoff", "on"]));
            }
        }
        content.parse::<Token![=]>()?;
        if key == "backoff" {
            retry.backoff = Some(parse_positive_duration(&content)?);
        } else {
            retry.on = parse_triggers(&content)?;
        }
    }
    if content.is_empty() {
        Ok(retry)
    } else {
        Err(content.error("expected `,`"))
    }
}

fn parse_triggers(input: ParseStream<'_>) -> syn::Result<Vec<(RetryTrigger, Span)>> {
    let mut all = vec![parse_trigger(input)?];
    while input.parse::<Option<Token![|]>>()?.is_some() {
        all.push(parse_trigger(input)?);
    }
    Ok(all)
}

fn parse_trigger(input: ParseStream<'_>) -> syn::Result<(RetryTrigger, Span)> {
    let span = input.span();
    if input.peek(Ident::peek_any) {
        let word = parse_option_name(input)?;
        let trigger = match word.to_string().as_str() {
            "timeout" => RetryTrigger::Timeout,
            "connect" => RetryTrigger::Connect,
            "reset" => RetryTrigger::Reset,
            other => {
                let hint = did_you_mean(other, ["timeout", "connect", "reset"]);
                let message = if hint.is_empty() {
                    TRIGGERS.to_owned()
                } else {
                    format!("unknown failure `{other}`{hint}")
                };
                return Err(syn::Error::new(span, message));
            }
        };
        return Ok((trigger, span));
    }
    let (from, to) = parse_statuses(input, TRIGGERS)?;
    Ok((RetryTrigger::Status(from, to), span))
}

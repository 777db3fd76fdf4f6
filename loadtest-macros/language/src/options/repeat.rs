//! `once`, `once(for = 50m), refresh = 401`, `last`, `retry(3, backoff = 100ms, on = 503 | timeout)` and `until = |r| .., every = .., within = ..`.

use super::step::{StepOptions, parse_closure, parse_expect, parse_statuses, refuse_value};
use super::threshold::ThresholdOption;
use super::value::{parse_positive_duration, parse_whole};
use super::weight::WeightOption;
use super::{note_given, parse_option_name, unknown_option};
use crate::suggest::{MacroErrors, did_you_mean};
use proc_macro2::{Ident, Span, TokenStream};
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Token, parenthesized, token};

/// The statuses of success where none are declared.
const DEFAULT_SUCCESS: (u16, u16) = (200, 299);

/// The pause of `until` where none is declared, and when it gives up; as in `definition::Until`.
const DEFAULT_EVERY: Duration = Duration::from_millis(500);
const DEFAULT_WITHIN: Duration = Duration::from_secs(30);

const TIMES: &str =
    "`retry` takes a number of repetitions first, a whole one, at most 100: `retry(3)`";
const TRIGGERS: &str = "a failure to retry after is a status like `503` or `5xx`, or `timeout`, \
                        `connect` or `reset`; several are joined by `|`";

#[derive(Default)]
pub(crate) struct RepeatOptions {
    pub(crate) once: bool,
    /// `once(for = 50m)`
    pub(crate) once_for: Option<Duration>,
    /// The statuses of `refresh = 401`, inclusive ranges.
    pub(crate) refresh: Vec<(u16, u16)>,
    pub(crate) last: bool,
    pub(crate) retry: Option<RetryOption>,
    /// The condition, raw as the closures of checks are.
    pub(crate) until: Option<TokenStream>,
    pub(crate) every: Option<Duration>,
    pub(crate) within: Option<Duration>,
}

#[derive(Clone)]
pub(crate) struct RetryOption {
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
    pub(super) fn parse_option(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match key.to_string().as_str() {
            "once" => {
                self.once = true;
                if input.peek(token::Paren) {
                    self.once_for = Some(parse_once_for(input)?);
                    return Ok(());
                }
            }
            "refresh" => {
                input.parse::<Token![=]>()?;
                self.refresh = parse_expect(input)?;
                return Ok(());
            }
            "last" => self.last = true,
            "retry" => {
                self.retry = Some(parse_retry(input)?);
                return Ok(());
            }
            _ => {
                self.until = Some(parse_closure(key, input)?);
                return Ok(());
            }
        }
        refuse_value(key, input)
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
    for key in ["once", "last"]
        .into_iter()
        .filter_map(|name| options.find_key(name))
    {
        let mut refuse = |option: &str, why: &str| {
            errors.add_at(
                key.span(),
                format!("a step that runs `{key}` {why}: drop `{key}` or {option}"),
            );
        };
        if is_drawn && (key == "once" || options.one_of.is_none()) {
            refuse("the `weight`", "runs for every user, and not by chance");
        }
        if options.thresholds.iter().any(ThresholdOption::is_rate) {
            refuse("the limit", "runs once for each user, and has no rate");
        }
        if key == "last" {
            for (name, is_given) in [
                ("`once`", repeat.once),
                ("`one_of`", options.one_of.is_some()),
                ("`think`", options.find_key("think").is_some()),
                ("`rendezvous`", options.rendezvous.is_some()),
            ] {
                if is_given {
                    refuse(
                        name,
                        "runs after the last journey of its user, and is part of none",
                    );
                }
            }
        }
    }
    if let (Some(key), false) = (options.find_key("refresh"), repeat.once) {
        errors.add_at(
            key.span(),
            "`refresh` says when a step that runs `once` runs again: add `once`",
        );
    }
    if let Some(retry) = &repeat.retry {
        check_retry(retry, &options.expect, errors);
    }
    check_times(options, errors);
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
                    "this step expects the status {status}, so it is not a failure to retry: \
                     take it out of `on` or of `expect`"
                ),
            );
        }
    }
}

fn check_times(options: &StepOptions, errors: &mut MacroErrors) {
    let RepeatOptions {
        until,
        every,
        within,
        ..
    } = &options.repeat;
    let Some(key) = options.find_key("within").or(options.find_key("every")) else {
        return;
    };
    let (every, within) = (
        every.unwrap_or(DEFAULT_EVERY),
        within.unwrap_or(DEFAULT_WITHIN),
    );
    if until.is_none() {
        errors.add_at(
            key.span(),
            format!("`{key}` needs `until`: add `until = |r| ...`"),
        );
    } else if within < every {
        errors.add_at(
            key.span(),
            format!(
                "with `every = {every:?}` and `within = {within:?}` nothing would be sent a second \
                 time: `within` is at least `every`"
            ),
        );
    }
}

/// Parses the parameter of `once(for = 50m)`.
fn parse_once_for(input: ParseStream<'_>) -> syn::Result<Duration> {
    const WANTED: &str =
        "`once` takes how long the answer is of use, if not for ever: `once(for = 50m)`";
    let content;
    parenthesized!(content in input);
    if !content.peek(Token![for]) {
        return Err(content.error(WANTED));
    }
    content.parse::<Token![for]>()?;
    content.parse::<Token![=]>()?;
    parse_positive_duration(&content)
}

/// Parses the parameters of `retry`.
fn parse_retry(input: ParseStream<'_>) -> syn::Result<RetryOption> {
    if !input.peek(token::Paren) {
        return Err(input.error(TIMES));
    }
    let content;
    parenthesized!(content in input);
    let times = parse_whole(&content, 0.0..=100.0, TIMES)? as u32;
    let mut retry = RetryOption {
        times,
        backoff: None,
        on: Vec::new(),
    };
    let mut given = Vec::new();
    while content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
        let key = parse_option_name(&content)?;
        if key != "backoff" && key != "on" {
            return Err(unknown_option(&key, &["backoff", "on"]));
        }
        note_given(&key, &mut given)?;
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
        let word = input.call(Ident::parse_any)?.to_string();
        let trigger = match word.as_str() {
            "timeout" => RetryTrigger::Timeout,
            "connect" => RetryTrigger::Connect,
            "reset" => RetryTrigger::Reset,
            _ => {
                let near = did_you_mean(&word, ["timeout", "connect", "reset"]);
                return Err(syn::Error::new(span, format!("{TRIGGERS}{near}")));
            }
        };
        return Ok((trigger, span));
    }
    let (from, to) = parse_statuses(input, TRIGGERS)?;
    Ok((RetryTrigger::Status(from, to), span))
}

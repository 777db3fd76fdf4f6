//! `load = rate(200/s, ramp_up = 10s, for = 1m)` and its siblings.

use super::value::{parse_number, parse_rate, parse_spanned_duration};
use super::{GivenOptions, parse_option_name, unknown_option};
use proc_macro2::{Ident, Span};
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Token, bracketed, parenthesized, token};

const LOADS: &str =
    "`rate(200/s, for = 1m)`, `users(50, for = 1m)` or `iterations(1000, users = 10)`";

pub(crate) struct LoadOption {
    pub(crate) shape: LoadShape,
    pub(crate) warm_up: Duration,
    pub(crate) max_users: Option<u32>,
}

pub(crate) enum LoadShape {
    Rate {
        per_second: f64,
        ramp_up: Duration,
        duration: Duration,
    },
    Users {
        users: u32,
        ramp_up: Duration,
        duration: Duration,
    },
    Iterations {
        count: u64,
        users: u32,
    },
    RateStages(Vec<StageOption>),
    UserStages(Vec<StageOption>),
}

pub(crate) struct StageOption {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) duration: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadModel {
    Rate,
    Users,
    Iterations,
}

impl LoadModel {
    fn target_noun(self) -> &'static str {
        match self {
            Self::Rate => "a rate",
            Self::Users => "a number of users",
            Self::Iterations => "a number of iterations",
        }
    }
}

/// A single `model(target, option = value, ..)`.
struct LoadTerm {
    word: Ident,
    model: LoadModel,
    from: Option<f64>,
    to: f64,
    target: Span,
    ramp_up: Option<(Duration, Span)>,
    duration: Option<(Duration, Span)>,
    warm_up: Option<(Duration, Span)>,
    max_users: Option<(u32, Span)>,
    users: Option<u32>,
}

pub(super) fn parse_load(input: ParseStream<'_>) -> syn::Result<LoadOption> {
    if input.peek(token::Bracket) {
        let content;
        let bracket = bracketed!(content in input);
        let terms = content.parse_terminated(parse_load_term, Token![,])?;
        let terms: Vec<LoadTerm> = terms.into_iter().collect();
        return build_stages(&terms, bracket.span.join());
    }
    let term = parse_load_term(input)?;
    if term.from.is_some() {
        let span = term.word.span();
        return build_stages(&[term], span);
    }
    if term.to <= 0.0 {
        return Err(zero_load_error(&term));
    }
    let warm_up = term.warm_up.map_or(Duration::ZERO, |(time, _)| time);
    let max_users = term.max_users.map(|(users, _)| users);
    let shape = if term.model == LoadModel::Iterations {
        LoadShape::Iterations {
            count: term.to as u64,
            users: term.users.unwrap_or(1),
        }
    } else {
        let duration = require_duration(&term)?;
        let ramp_up = match term.ramp_up {
            Some((ramp_up, span)) if ramp_up >= duration => {
                return Err(syn::Error::new(
                    span,
                    "the ramp-up is part of `for`, so it must be shorter",
                ));
            }
            Some((ramp_up, _)) => ramp_up,
            None => Duration::ZERO,
        };
        match term.model {
            LoadModel::Rate => LoadShape::Rate {
                per_second: term.to,
                ramp_up,
                duration,
            },
            _ => LoadShape::Users {
                users: term.to as u32,
                ramp_up,
                duration,
            },
        }
    };
    Ok(LoadOption {
        shape,
        warm_up,
        max_users,
    })
}

fn build_stages(terms: &[LoadTerm], list: Span) -> syn::Result<LoadOption> {
    let Some(first) = terms.first() else {
        return Err(syn::Error::new(
            list,
            "a load has at least one stage: `[rate(0/s -> 200/s, for = 10s), rate(200/s, for = 1m)]`",
        ));
    };
    let model = first.model;
    let warm_up = first.warm_up.map_or(Duration::ZERO, |(time, _)| time);
    let max_users = first.max_users.map(|(users, _)| users);
    if terms
        .iter()
        .all(|term| term.to <= 0.0 && term.from.unwrap_or(0.0) <= 0.0)
    {
        return Err(zero_load_error(first));
    }
    let mut stages = Vec::new();
    for (i, term) in terms.iter().enumerate() {
        if term.model != model || model == LoadModel::Iterations {
            return Err(syn::Error::new(
                term.word.span(),
                "the stages of a load are all `rate` or all `users`",
            ));
        }
        if let Some((_, span)) = term.ramp_up {
            return Err(syn::Error::new(
                span,
                "a stage has no ramp-up: write it as a stage of its own, like `rate(0/s -> 200/s, for = 10s)`",
            ));
        }
        let late = term.warm_up.map(|(_, span)| span);
        if let Some(span) = late.or(term.max_users.map(|(_, span)| span))
            && i > 0
        {
            return Err(syn::Error::new(
                span,
                "this holds for the whole load: write it in the first stage",
            ));
        }
        stages.push(StageOption {
            from: term.from.unwrap_or(term.to),
            to: term.to,
            duration: require_duration(term)?,
        });
    }
    Ok(LoadOption {
        shape: if model == LoadModel::Rate {
            LoadShape::RateStages(stages)
        } else {
            LoadShape::UserStages(stages)
        },
        warm_up,
        max_users,
    })
}

fn zero_load_error(term: &LoadTerm) -> syn::Error {
    let what = term.model.target_noun();
    syn::Error::new(term.target, format!("{what} of 0 sends nothing"))
}

fn require_duration(term: &LoadTerm) -> syn::Result<Duration> {
    match term.duration {
        Some((Duration::ZERO, span)) => {
            Err(syn::Error::new(span, "a load of no length sends nothing"))
        }
        Some((duration, _)) => Ok(duration),
        None => Err(syn::Error::new(
            term.word.span(),
            "how long? add `for = 1m`",
        )),
    }
}

fn parse_load_term(input: ParseStream<'_>) -> syn::Result<LoadTerm> {
    if !input.peek(Ident::peek_any) {
        return Err(input.error(format!("a load is {LOADS}")));
    }
    let word = parse_option_name(input)?;
    let model = match word.to_string().as_str() {
        "rate" => LoadModel::Rate,
        "users" => LoadModel::Users,
        "iterations" => LoadModel::Iterations,
        _ => {
            return Err(syn::Error::new(
                word.span(),
                format!("unknown load `{word}`: use {LOADS}"),
            ));
        }
    };
    if !input.peek(token::Paren) {
        return Err(syn::Error::new(
            word.span(),
            format!("`{word}` has parts in parentheses: a load is {LOADS}"),
        ));
    }
    let content;
    parenthesized!(content in input);
    let (mut to, target) = parse_amount(model, &content)?;
    let mut from = None;
    if model != LoadModel::Iterations && content.parse::<Option<Token![->]>>()?.is_some() {
        from = Some(to);
        to = parse_amount(model, &content)?.0;
    }
    let mut term = LoadTerm {
        word,
        model,
        from,
        to,
        target,
        ramp_up: None,
        duration: None,
        warm_up: None,
        max_users: None,
        users: None,
    };
    let mut given = GivenOptions::default();
    while content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
        parse_term_option(&mut term, &mut given, &content)?;
    }
    if content.is_empty() {
        Ok(term)
    } else {
        Err(content.error("expected `,`"))
    }
}

fn parse_term_option(
    term: &mut LoadTerm,
    given: &mut GivenOptions,
    input: ParseStream<'_>,
) -> syn::Result<()> {
    let known: &[&str] = match term.model {
        LoadModel::Rate => &["ramp_up", "for", "warm_up", "max_users"],
        LoadModel::Users => &["ramp_up", "for", "warm_up"],
        LoadModel::Iterations => &["users"],
    };
    let key = parse_option_name(input)?;
    let name = key.to_string();
    if !known.contains(&name.as_str()) {
        let meant = match name.as_str() {
            "ramp" | "ramp_time" => "ramp_up",
            "duration" | "during" => "for",
            _ => "",
        };
        if known.contains(&meant) {
            return Err(syn::Error::new(
                key.span(),
                format!("unknown option `{key}`; did you mean `{meant}`?"),
            ));
        }
        return Err(unknown_option(&key, known.iter().copied()));
    }
    given.refuse_repeated(&key)?;
    input.parse::<Token![=]>()?;
    match name.as_str() {
        "ramp_up" => term.ramp_up = Some(parse_spanned_duration(input)?),
        "for" => term.duration = Some(parse_spanned_duration(input)?),
        "warm_up" => term.warm_up = Some(parse_spanned_duration(input)?),
        "max_users" => {
            let (users, span) = parse_amount(LoadModel::Users, input)?;
            require_positive(users, LoadModel::Users, span)?;
            term.max_users = Some((users as u32, span));
        }
        _ => {
            let (users, span) = parse_amount(LoadModel::Users, input)?;
            require_positive(users, LoadModel::Users, span)?;
            term.users = Some(users as u32);
        }
    }
    Ok(())
}

fn require_positive(amount: f64, model: LoadModel, span: Span) -> syn::Result<()> {
    if amount > 0.0 {
        return Ok(());
    }
    let what = model.target_noun();
    Err(syn::Error::new(span, format!("{what} of 0 sends nothing")))
}

fn parse_amount(model: LoadModel, input: ParseStream<'_>) -> syn::Result<(f64, Span)> {
    if model == LoadModel::Rate {
        let rate = parse_rate(input)?;
        return Ok((rate.per_second, rate.span));
    }
    let most = match model {
        LoadModel::Iterations => 1e12,
        _ => 1e6,
    };
    let wanted = format!("{} is a whole number, at most {most}", model.target_noun());
    let number = parse_number(input, 0.0..=most, &wanted)?;
    if number.value.fract() != 0.0 {
        return Err(syn::Error::new(number.span, wanted));
    }
    Ok((number.value, number.span))
}

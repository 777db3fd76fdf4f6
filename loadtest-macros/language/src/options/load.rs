//! `load = rate(200/s, ramp_up = 10s, for = 1m)` and its siblings.

use super::value::{parse_duration, parse_error, parse_positive_duration, parse_rate, parse_whole};
use super::{note_given, parse_option_name, unknown_option};
use proc_macro2::Ident;
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Path, Token, bracketed, parenthesized, token};

const LOADS: &str =
    "`rate(200/s, for = 1m)`, `users(50, for = 1m)` or `iterations(1000, users = 10)`";

pub(crate) struct LoadOption {
    pub(crate) shape: LoadShape,
    pub(crate) warm_up: Duration,
    pub(crate) max_users: Option<u32>,
    pub(crate) pace: Option<Duration>,
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
        per_user: bool,
    },
    RateStages(Vec<StageOption>),
    UserStages(Vec<StageOption>),
    /// A function of the time, which is called when the program lists its scenarios.
    Curve {
        is_rate: bool,
        curve: Path,
        duration: Duration,
    },
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
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Rate => &["ramp_up", "for", "warm_up", "max_users"],
            Self::Users => &["ramp_up", "spawn", "for", "warm_up", "pace"],
            Self::Iterations => &["users", "pace"],
        }
    }

    /// Parses the number of a load.
    fn parse_amount(self, input: ParseStream<'_>) -> syn::Result<f64> {
        match self {
            Self::Rate => parse_rate(input),
            Self::Users => parse_whole(input, 0.0..=1e6, USERS),
            Self::Iterations => parse_whole(
                input,
                0.0..=1e12,
                "a number of iterations is a whole number, at most 1000000000000",
            ),
        }
    }
}

const SPAWN: &str =
    "`spawn` takes how many users start per second or minute, more than 0: `spawn = 5/s`";
const USERS: &str = "a number of users is a whole number, at most 1000000";

/// A single `model(target, option = value, ..)`.
struct LoadTerm {
    word: Ident,
    model: LoadModel,
    from: Option<f64>,
    to: f64,
    /// In the place of the numbers.
    curve: Option<Path>,
    ramp_up: Option<Duration>,
    /// Users that start in each second of the ramp-up.
    spawn: Option<f64>,
    duration: Option<Duration>,
    warm_up: Option<Duration>,
    max_users: Option<u32>,
    pace: Option<Duration>,
    users: Option<u32>,
    /// `20/user`.
    per_user: bool,
}

impl LoadTerm {
    fn error(&self, message: &str) -> syn::Error {
        syn::Error::new(self.word.span(), message)
    }

    fn has_ramp_up(&self) -> bool {
        self.ramp_up.is_some() || self.spawn.is_some()
    }

    /// Returns the time in which all users start.
    fn ramp_up(&self) -> syn::Result<Duration> {
        match (self.ramp_up, self.spawn) {
            (Some(_), Some(_)) => Err(self.error(
                "`spawn` and `ramp_up` both say how fast users start: leave one of them out",
            )),
            (None, Some(spawn)) => {
                let ramp_up = Duration::try_from_secs_f64(self.to / spawn);
                ramp_up.map_err(|_| self.error(SPAWN))
            }
            (ramp_up, None) => Ok(ramp_up.unwrap_or_default()),
        }
    }

    fn require_duration(&self) -> syn::Result<Duration> {
        match self.duration {
            Some(Duration::ZERO) => Err(self.error("a load of no length sends nothing")),
            Some(duration) => Ok(duration),
            None => Err(self.error("how long? add `for = 1m`")),
        }
    }
}

pub(super) fn parse_load(input: ParseStream<'_>) -> syn::Result<LoadOption> {
    let is_list = input.peek(token::Bracket);
    let terms: Vec<LoadTerm> = if is_list {
        let content;
        bracketed!(content in input);
        let terms = content.parse_terminated(parse_load_term, Token![,])?;
        terms.into_iter().collect()
    } else {
        vec![parse_load_term(input)?]
    };
    let Some(first) = terms.first() else {
        return Err(input.error(
            "a load has at least one stage: `[rate(0/s -> 200/s, for = 10s), rate(200/s, for = 1m)]`",
        ));
    };
    if terms
        .iter()
        .all(|term| term.curve.is_none() && term.to <= 0.0 && term.from.unwrap_or(0.0) <= 0.0)
    {
        return Err(first.error("a load of 0 sends nothing"));
    }
    let shape = if is_list || first.from.is_some() {
        build_stages(&terms)?
    } else {
        build_shape(first)?
    };
    Ok(LoadOption {
        shape,
        warm_up: first.warm_up.unwrap_or_default(),
        max_users: first.max_users,
        pace: first.pace,
    })
}

fn build_shape(term: &LoadTerm) -> syn::Result<LoadShape> {
    if term.model == LoadModel::Iterations {
        let users = term.users.unwrap_or(1);
        let each = if term.per_user { users } else { 1 };
        return Ok(LoadShape::Iterations {
            count: (term.to as u64).saturating_mul(u64::from(each)),
            users,
            per_user: term.per_user,
        });
    }
    let duration = term.require_duration()?;
    if let Some(curve) = &term.curve {
        if term.has_ramp_up() {
            return Err(term.error("a curve has no ramp-up: it is the whole course of the load"));
        }
        return Ok(LoadShape::Curve {
            is_rate: term.model == LoadModel::Rate,
            curve: curve.clone(),
            duration,
        });
    }
    let ramp_up = term.ramp_up()?;
    if ramp_up >= duration {
        return Err(term.error("the ramp-up is part of `for`, so it must be shorter"));
    }
    Ok(if term.model == LoadModel::Rate {
        LoadShape::Rate {
            per_second: term.to,
            ramp_up,
            duration,
        }
    } else {
        LoadShape::Users {
            users: term.to as u32,
            ramp_up,
            duration,
        }
    })
}

fn build_stages(terms: &[LoadTerm]) -> syn::Result<LoadShape> {
    let model = terms[0].model;
    let mut stages = Vec::new();
    for (at, term) in terms.iter().enumerate() {
        if term.model != model || model == LoadModel::Iterations {
            return Err(term.error("the stages of a load are all `rate` or all `users`"));
        }
        if term.curve.is_some() {
            return Err(term.error("a curve is the whole course of the load, and no stage of it"));
        }
        if term.has_ramp_up() {
            return Err(term.error(
                "a stage has no ramp-up: write it as a stage of its own, like `rate(0/s -> 200/s, for = 10s)`",
            ));
        }
        if at > 0 && (term.warm_up.is_some() || term.max_users.is_some() || term.pace.is_some()) {
            return Err(term.error(
                "`warm_up`, `max_users` and `pace` hold for the whole load: write them in the first stage",
            ));
        }
        stages.push(StageOption {
            from: term.from.unwrap_or(term.to),
            to: term.to,
            duration: term.require_duration()?,
        });
    }
    Ok(if model == LoadModel::Rate {
        LoadShape::RateStages(stages)
    } else {
        LoadShape::UserStages(stages)
    })
}

fn parse_load_term(input: ParseStream<'_>) -> syn::Result<LoadTerm> {
    let model = match input.fork().call(Ident::parse_any) {
        Ok(word) if word == "rate" => LoadModel::Rate,
        Ok(word) if word == "users" => LoadModel::Users,
        Ok(word) if word == "iterations" => LoadModel::Iterations,
        _ => return Err(input.error(format!("a load is {LOADS}"))),
    };
    let word = parse_option_name(input)?;
    if !input.peek(token::Paren) {
        let message = format!("write the parts of `{word}` in parentheses: a load is {LOADS}");
        return Err(syn::Error::new(word.span(), message));
    }
    let content;
    parenthesized!(content in input);
    let curve = parse_curve(model, &content)?;
    let mut to = match curve {
        Some(_) => 0.0,
        None => model.parse_amount(&content)?,
    };
    let mut from = None;
    if model != LoadModel::Iterations
        && curve.is_none()
        && content.parse::<Option<Token![->]>>()?.is_some()
    {
        from = Some(to);
        to = model.parse_amount(&content)?;
    }
    let per_user = model == LoadModel::Iterations && parse_per_user(&content)?;
    let mut term = LoadTerm {
        word,
        model,
        from,
        to,
        curve,
        ramp_up: None,
        spawn: None,
        duration: None,
        warm_up: None,
        max_users: None,
        pace: None,
        users: None,
        per_user,
    };
    let mut given = Vec::new();
    while content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
        parse_term_option(&mut term, &mut given, &content)?;
    }
    if content.is_empty() {
        Ok(term)
    } else {
        Err(content.error("expected `,`"))
    }
}

/// Parses the path of a function of the time, in the place of a number.
fn parse_curve(model: LoadModel, input: ParseStream<'_>) -> syn::Result<Option<Path>> {
    let is_path = input.peek(Token![::]) || input.peek(Ident::peek_any);
    if model == LoadModel::Iterations || !is_path || input.peek2(Token![=]) {
        return Ok(None);
    }
    input.call(Path::parse_mod_style).map(Some)
}

/// Parses `/user` behind a number of iterations, if it is there.
fn parse_per_user(input: ParseStream<'_>) -> syn::Result<bool> {
    const WANTED: &str = "iterations are in all, or for each user: `1000`, `20/user`";
    if input.parse::<Option<Token![/]>>()?.is_none() {
        return Ok(false);
    }
    let unit = Ident::parse_any(input).map_err(|error| parse_error(&error, WANTED))?;
    if unit == "user" {
        return Ok(true);
    }
    Err(syn::Error::new(unit.span(), WANTED))
}

fn parse_term_option(
    term: &mut LoadTerm,
    given: &mut Vec<Ident>,
    input: ParseStream<'_>,
) -> syn::Result<()> {
    let known = term.model.options();
    let key = parse_option_name(input)?;
    let name = key.to_string();
    if name == "pace" && term.model == LoadModel::Rate {
        let message = "a rate is its own pace: journeys start when they are due, whatever users there are; \
                       `pace` is for `users(..)` and `iterations(..)`";
        return Err(syn::Error::new(key.span(), message));
    }
    if !known.contains(&name.as_str()) {
        return Err(unknown_option(&key, known));
    }
    note_given(&key, given)?;
    input.parse::<Token![=]>()?;
    match name.as_str() {
        "ramp_up" => term.ramp_up = Some(parse_duration(input)?),
        "spawn" => {
            let span = input.span();
            let rate = parse_rate(input)?;
            if rate <= 0.0 {
                return Err(syn::Error::new(span, SPAWN));
            }
            term.spawn = Some(rate);
        }
        "for" => term.duration = Some(parse_duration(input)?),
        "warm_up" => term.warm_up = Some(parse_duration(input)?),
        "pace" => term.pace = Some(parse_positive_duration(input)?),
        _ => {
            let users = parse_whole(
                input,
                1.0..=1e6,
                "a number of users is a whole number from 1 to 1000000",
            )?;
            let option = if name == "users" {
                &mut term.users
            } else {
                &mut term.max_users
            };
            *option = Some(users as u32);
        }
    }
    Ok(())
}

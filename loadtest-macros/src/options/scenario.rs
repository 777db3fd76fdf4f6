//! The options of `#[scenario(..)]`.

use super::client::{CLIENT_KEYS, ClientOptions};
use super::defaults::{DEFAULT_KEYS, StepDefaults};
use super::header::{HEADER_KEYS, HeaderOption};
use super::load::{LoadOption, parse_load};
use super::threshold::{ThresholdOption, begins_threshold, parse_threshold_option};
use super::value::{parse_grade_weight, parse_number, parse_positive_duration, parse_share};
use super::{
    GivenOptions, parse_assigned, parse_each, parse_option_name, skip_rest, unknown_option,
};
use crate::crate_path;
use crate::suggest::MacroErrors;
use loadtest_model::threshold::Scope;
use proc_macro2::TokenStream;
use std::ops::RangeInclusive;
use std::time::Duration;
use syn::parse::ParseStream;
use syn::{LitStr, Path, Token, bracketed, parenthesized, token};

const SCENARIO_KEYS: [&str; 11] = [
    "name",
    "tags",
    "base",
    "load",
    "thresholds",
    "apdex",
    "budget",
    "grade_weight",
    "version",
    "weight",
    "crate",
];

/// Every option that an editor can tell about; `crate` is a word of the language.
pub(crate) fn scenario_keys() -> impl Iterator<Item = &'static str> {
    let keys = SCENARIO_KEYS.into_iter().filter(|key| *key != "crate");
    keys.chain(HEADER_KEYS)
        .chain(CLIENT_KEYS)
        .chain(DEFAULT_KEYS)
}

/// The weights that a scenario may have, none of which is zero.
const WEIGHTS: RangeInclusive<f64> = f64::MIN_POSITIVE..=1e6;
const WEIGHT: &str = "the weight of a scenario is its share of a mix: a number above 0, at most 1_000_000, \
                      such as `weight = 3`";

#[derive(Default)]
pub(crate) struct ScenarioOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) tags: Vec<LitStr>,
    pub(crate) base: Option<LitStr>,
    pub(crate) load: Option<LoadOption>,
    pub(crate) thresholds: Vec<ThresholdOption>,
    pub(crate) apdex: Option<Duration>,
    pub(crate) budget: Option<f64>,
    pub(crate) grade_weight: Option<f64>,
    pub(crate) version: Option<LitStr>,
    pub(crate) client: ClientOptions,
    /// No two of the same name.
    pub(crate) headers: Vec<HeaderOption>,
    pub(crate) weight: Option<f64>,
    /// Options of its steps.
    pub(crate) defaults: StepDefaults,
    pub(crate) crate_path: Option<Path>,
}

impl ScenarioOptions {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut MacroErrors) -> Self {
        let mut options = Self::default();
        let mut given = GivenOptions::default();
        let mut more = MacroErrors::default();
        parse_each(tokens, errors, |input| {
            options.parse_option(&mut given, &mut more, input)
        });
        errors.extend(more);
        options
    }

    fn parse_option(
        &mut self,
        given: &mut GivenOptions,
        errors: &mut MacroErrors,
        input: ParseStream<'_>,
    ) -> syn::Result<()> {
        let key = parse_option_name(input)?;
        let name = key.to_string();
        let of_client = CLIENT_KEYS.contains(&name.as_str());
        let is_header = HEADER_KEYS.contains(&name.as_str());
        let is_default = DEFAULT_KEYS.contains(&name.as_str());
        if of_client
            || is_header && name != "header"
            || is_default && name != "check"
            || SCENARIO_KEYS.contains(&name.as_str())
        {
            given.refuse_repeated(&key)?;
        }
        match name.as_str() {
            "name" => self.name = Some(require_not_empty(parse_assigned(input)?)?),
            "version" => self.version = Some(require_not_empty(parse_assigned(input)?)?),
            "tags" => {
                input.parse::<Token![=]>()?;
                if !input.peek(token::Bracket) {
                    return Err(input.error("tags are a list: `tags = [\"critical\"]`"));
                }
                let content;
                bracketed!(content in input);
                let tags =
                    content.parse_terminated(<LitStr as syn::parse::Parse>::parse, Token![,])?;
                self.tags = tags.into_iter().collect();
            }
            "base" => self.base = Some(parse_base(input)?),
            "load" => {
                input.parse::<Token![=]>()?;
                self.load = Some(parse_load(input)?);
            }
            "thresholds" => {
                let content;
                parenthesized!(content in input);
                let inside: TokenStream = content.parse()?;
                parse_each(inside, errors, |input| self.parse_thresholds(input));
            }
            "apdex" => {
                input.parse::<Token![=]>()?;
                self.apdex = Some(parse_positive_duration(input)?);
            }
            "budget" => {
                input.parse::<Token![=]>()?;
                self.budget = Some(parse_share(input)?);
            }
            "grade_weight" => {
                input.parse::<Token![=]>()?;
                self.grade_weight = Some(parse_grade_weight(input)?);
            }
            name if of_client => self.client.parse_option(name, input)?,
            _ if is_default => self.defaults.parse_option(key, input)?,
            name if is_header => self.add_header(HeaderOption::parse(name, input)?)?,
            "weight" => {
                input.parse::<Token![=]>()?;
                let weight = parse_number(input, WEIGHTS, WEIGHT)?.value;
                if input.peek(Token![%]) {
                    return Err(input.error(WEIGHT));
                }
                self.weight = Some(weight);
            }
            "crate" => {
                input.parse::<Token![=]>()?;
                self.crate_path = Some(crate_path::parse_crate_path(input)?);
            }
            metric if begins_threshold(metric, input) => {
                skip_rest(input);
                return Err(syn::Error::new(
                    key.span(),
                    format!("put it in `thresholds(..)`: `thresholds({metric} ...)`"),
                ));
            }
            _ => {
                skip_rest(input);
                let known = SCENARIO_KEYS
                    .into_iter()
                    .chain(HEADER_KEYS)
                    .chain(CLIENT_KEYS)
                    .chain(DEFAULT_KEYS);
                return Err(unknown_option(&key, known));
            }
        }
        Ok(())
    }

    fn add_header(&mut self, header: HeaderOption) -> syn::Result<()> {
        let name = &header.name;
        if self.headers.iter().any(|other| other.name == *name) {
            let hint = if header.is_authorization() {
                "; `bearer` and `basic` are each one"
            } else {
                ""
            };
            return Err(syn::Error::new(
                header.span,
                format!("the header `{name}` is given twice{hint}"),
            ));
        }
        self.headers.push(header);
        Ok(())
    }

    fn parse_thresholds(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let metric = parse_option_name(input)?;
        self.thresholds
            .push(parse_threshold_option(&metric, Scope::Journey, input)?);
        Ok(())
    }
}

/// Parses `= "http://host"`.
fn parse_base(input: ParseStream<'_>) -> syn::Result<LitStr> {
    let base: LitStr = parse_assigned(input)?;
    let url = base.value();
    let host = match url.split_once("://") {
        Some(("http" | "https", host)) => host,
        _ => "",
    };
    if host.is_empty() || url.contains("{{") {
        return Err(syn::Error::new(
            base.span(),
            "a base is an absolute URL: `http://host` or `https://host`",
        ));
    }
    Ok(base)
}

pub(super) fn require_not_empty(literal: LitStr) -> syn::Result<LitStr> {
    if literal.value().trim().is_empty() {
        return Err(syn::Error::new(literal.span(), "this must not be empty"));
    }
    Ok(literal)
}

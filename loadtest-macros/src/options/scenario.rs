//! The options of `#[scenario(..)]`.

use super::client::{CLIENT_KEYS, Client};
use super::header::{HEADER_KEYS, Header};
use super::limit::{self, Limit, Scope, limit};
use super::load::{Load, load};
use super::value::{grade_weight, number, positive_duration, share};
use super::{Given, assigned, each, key, skip_rest, unknown_option};
use crate::crate_path;
use crate::suggest::Errors;
use proc_macro2::TokenStream;
use std::ops::RangeInclusive;
use std::time::Duration;
use syn::parse::ParseStream;
use syn::{LitStr, Path, Token, bracketed, parenthesized, token};

const KEYS: [&str; 11] = [
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
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    let keys = KEYS.into_iter().filter(|key| *key != "crate");
    keys.chain(HEADER_KEYS).chain(CLIENT_KEYS)
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
    pub(crate) load: Option<Load>,
    pub(crate) thresholds: Vec<Limit>,
    pub(crate) apdex: Option<Duration>,
    pub(crate) budget: Option<f64>,
    pub(crate) grade_weight: Option<f64>,
    pub(crate) version: Option<LitStr>,
    pub(crate) client: Client,
    /// No two of the same name.
    pub(crate) headers: Vec<Header>,
    pub(crate) weight: Option<f64>,
    pub(crate) crate_path: Option<Path>,
}

impl ScenarioOptions {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut given = Given::default();
        let mut more = Errors::default();
        each(tokens, errors, |input| {
            options.option(&mut given, &mut more, input)
        });
        errors.extend(more);
        options
    }

    fn option(
        &mut self,
        given: &mut Given,
        errors: &mut Errors,
        input: ParseStream<'_>,
    ) -> syn::Result<()> {
        let key = key(input)?;
        let name = key.to_string();
        let of_client = CLIENT_KEYS.contains(&name.as_str());
        let is_header = HEADER_KEYS.contains(&name.as_str());
        if of_client || is_header && name != "header" || KEYS.contains(&name.as_str()) {
            given.once(&key)?;
        }
        match name.as_str() {
            "name" => self.name = Some(not_empty(assigned(input)?)?),
            "version" => self.version = Some(not_empty(assigned(input)?)?),
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
            "base" => {
                let base: LitStr = assigned(input)?;
                let url = base.value();
                let host = url.split_once("://").map_or("", |(scheme, host)| {
                    if ["http", "https"].contains(&scheme) {
                        host
                    } else {
                        ""
                    }
                });
                if host.is_empty() || url.contains("{{") {
                    return Err(syn::Error::new(
                        base.span(),
                        "a base is an absolute URL: `http://host` or `https://host`",
                    ));
                }
                self.base = Some(base);
            }
            "load" => {
                input.parse::<Token![=]>()?;
                self.load = Some(load(input)?);
            }
            "thresholds" => {
                let content;
                parenthesized!(content in input);
                let inside: TokenStream = content.parse()?;
                each(inside, errors, |input| self.threshold(input));
            }
            "apdex" => {
                input.parse::<Token![=]>()?;
                self.apdex = Some(positive_duration(input)?);
            }
            "budget" => {
                input.parse::<Token![=]>()?;
                self.budget = Some(share(input)?);
            }
            "grade_weight" => {
                input.parse::<Token![=]>()?;
                self.grade_weight = Some(grade_weight(input)?);
            }
            name if of_client => self.client.option(name, input)?,
            name if is_header => self.header(Header::parse(name, input)?)?,
            "weight" => {
                input.parse::<Token![=]>()?;
                let weight = number(input, WEIGHTS, WEIGHT)?.value;
                if input.peek(Token![%]) {
                    return Err(input.error(WEIGHT));
                }
                self.weight = Some(weight);
            }
            "crate" => {
                input.parse::<Token![=]>()?;
                self.crate_path = Some(crate_path::path(input)?);
            }
            metric if limit::begins(metric, input) => {
                skip_rest(input);
                return Err(syn::Error::new(
                    key.span(),
                    format!("put it in `thresholds(..)`: `thresholds({metric} ...)`"),
                ));
            }
            _ => {
                skip_rest(input);
                let known = KEYS.into_iter().chain(HEADER_KEYS).chain(CLIENT_KEYS);
                return Err(unknown_option(&key, known));
            }
        }
        Ok(())
    }

    fn header(&mut self, header: Header) -> syn::Result<()> {
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

    fn threshold(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let metric = key(input)?;
        self.thresholds.push(limit(&metric, Scope::Journey, input)?);
        Ok(())
    }
}

pub(super) fn not_empty(literal: LitStr) -> syn::Result<LitStr> {
    if literal.value().trim().is_empty() {
        return Err(syn::Error::new(literal.span(), "this must not be empty"));
    }
    Ok(literal)
}

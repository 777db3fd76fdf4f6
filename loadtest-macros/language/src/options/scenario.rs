//! The options of `#[scenario(..)]`.

use super::client::ClientOptions;
use super::defaults::StepDefaults;
use super::documented::{SCENARIO_TABLE, STEP_TABLE, option_names};
use super::header::HeaderOption;
use super::load::{LoadOption, parse_load};
use super::step::is_url_char;
use super::threshold::{ThresholdOption, begins_threshold, parse_threshold_option};
use super::value::{
    parse_duration, parse_error, parse_grade_weight, parse_number, parse_positive_duration,
    parse_share,
};
use super::{
    misplaced_option, note_given, parse_assigned, parse_each, parse_option_name, unknown_option,
};
use crate::crate_path;
use crate::suggest::MacroErrors;
use loadtest_model::threshold::Scope;
use proc_macro2::{Ident, TokenStream};
use std::num::NonZeroU16;
use std::ops::RangeInclusive;
use std::time::Duration;
use syn::parse::ParseStream;
use syn::{LitStr, Path, Token, bracketed, parenthesized};

/// The weights that a scenario may have, none of which is zero.
const WEIGHTS: RangeInclusive<f64> = f64::MIN_POSITIVE..=1e6;
const WEIGHT: &str = "the weight of a scenario is its share of a mix: a number above 0, at most 1_000_000, \
                      such as `weight = 3`";

const REACHES: &str = "`reaches` lists what clients of your own connect to, each with `tcp`, `tls` or `udp`, host and \
                       port: `reaches = [\"tcp://db.staging.example.com:5432\"]`";

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
    /// From the start of a mix.
    pub(crate) start: Duration,
    /// The time that journeys under way have after the load.
    pub(crate) grace: Option<Duration>,
    /// What clients of its own connect to.
    pub(crate) reaches: Vec<LitStr>,
    /// Options of its steps.
    pub(crate) defaults: StepDefaults,
    pub(crate) crate_path: Option<Path>,
}

impl ScenarioOptions {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut MacroErrors) -> Self {
        let mut options = Self::default();
        let mut given = Vec::new();
        let mut more = MacroErrors::default();
        parse_each(tokens, errors, |input| {
            options.parse_option(&mut given, &mut more, input)
        });
        errors.extend(more);
        options
    }

    fn parse_option(
        &mut self,
        given: &mut Vec<Ident>,
        errors: &mut MacroErrors,
        input: ParseStream<'_>,
    ) -> syn::Result<()> {
        let key = parse_option_name(input)?;
        let name = key.to_string();
        let mut known = option_names(SCENARIO_TABLE);
        if !known.contains(&name.as_str()) {
            // too near to `rate` and other parts of a load
            known.retain(|name| *name != "crate");
            return Err(if begins_threshold(&name, input) {
                let message = format!("put it in `thresholds(..)`: `thresholds({name} ...)`");
                syn::Error::new(key.span(), message)
            } else {
                let misplaced = misplaced_option(&key, STEP_TABLE, "step");
                misplaced.unwrap_or_else(|| unknown_option(&key, &known))
            });
        }
        if !matches!(name.as_str(), "header" | "check") {
            note_given(&key, given)?;
        }
        match name.as_str() {
            "header" | "bearer" | "basic" => self.add_header(HeaderOption::parse(&name, input)?)?,
            "timeout" | "think" | "expect" | "retry" | "check" | "stop_on_failure" => {
                self.defaults.parse_option(&key, input)?;
            }
            "http" | "connections" | "cookies" | "dns" | "insecure" | "ca" | "identity"
            | "redirects" => {
                self.client.parse_option(&key, input)?;
            }
            "base" => self.base = Some(parse_base(input)?),
            "thresholds" => {
                let content;
                parenthesized!(content in input);
                let inside: TokenStream = content.parse()?;
                parse_each(inside, errors, |input| self.parse_thresholds(input));
            }
            "name" => self.name = Some(require_not_empty(parse_assigned(input)?)?),
            "version" => self.version = Some(require_not_empty(parse_assigned(input)?)?),
            _ => {
                input.parse::<Token![=]>()?;
                self.parse_setting(&name, input)?;
            }
        }
        Ok(())
    }

    fn parse_setting(&mut self, name: &str, input: ParseStream<'_>) -> syn::Result<()> {
        match name {
            "tags" => self.tags = parse_tags(input)?,
            "load" => self.load = Some(parse_load(input)?),
            "reaches" => self.reaches = parse_reaches(input)?,
            "start" => self.start = parse_duration(input)?,
            "grace" => self.grace = Some(parse_positive_duration(input)?),
            "apdex" => self.apdex = Some(parse_positive_duration(input)?),
            "budget" => self.budget = Some(parse_share(input)?),
            "grade_weight" => self.grade_weight = Some(parse_grade_weight(input)?),
            "weight" => {
                self.weight = Some(parse_number(input, WEIGHTS, WEIGHT)?);
                if input.peek(Token![%]) {
                    return Err(input.error(WEIGHT));
                }
            }
            _ => self.crate_path = Some(crate_path::parse_crate_path(input)?),
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

/// Parses `["shop", "critical"]`.
pub(super) fn parse_tags(input: ParseStream<'_>) -> syn::Result<Vec<LitStr>> {
    parse_list(input, "tags are a list: `tags = [\"critical\"]`")
}

/// Parses `["tcp://db.test:5432"]`.
fn parse_reaches(input: ParseStream<'_>) -> syn::Result<Vec<LitStr>> {
    let reaches = parse_list(input, REACHES)?;
    for one in &reaches {
        let url = one.value();
        let place = url.split_once("://").filter(|(scheme, _)| {
            let known = ["tcp", "tls", "udp"];
            known.contains(scheme)
        });
        let port = place.and_then(|(_, place)| place.rsplit_once(':'));
        let port = port.filter(|(host, _)| !host.is_empty());
        if port.is_none_or(|(_, port)| port.parse::<NonZeroU16>().is_err())
            || !url.chars().all(is_url_char)
        {
            return Err(syn::Error::new(one.span(), REACHES));
        }
    }
    Ok(reaches)
}

fn parse_list(input: ParseStream<'_>, example: &str) -> syn::Result<Vec<LitStr>> {
    let parse = |input: ParseStream<'_>| {
        let content;
        bracketed!(content in input);
        content.parse_terminated(<LitStr as syn::parse::Parse>::parse, Token![,])
    };
    let list = parse(input).map_err(|error| parse_error(&error, example))?;
    Ok(list.into_iter().collect())
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
            "a base is an absolute URL, such as `http://127.0.0.1:3000`",
        ));
    }
    if let Some(bad) = url.chars().find(|&c| !is_url_char(c)) {
        let message = format!("a URL cannot contain {bad:?}");
        return Err(syn::Error::new(base.span(), message));
    }
    Ok(base)
}

pub(super) fn require_not_empty(literal: LitStr) -> syn::Result<LitStr> {
    if literal.value().trim().is_empty() {
        return Err(syn::Error::new(literal.span(), "this must not be empty"));
    }
    Ok(literal)
}

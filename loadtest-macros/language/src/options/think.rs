//! `think = 500ms`, `500ms..2s`, `normal(2s, 500ms)`, `exponential(2s)`, `lognormal(2s, 500ms)`.

use super::value::{parse_duration, parse_positive_duration};
use proc_macro2::Ident;
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Token, parenthesized, token};

/// A pause after a step.
#[derive(Clone, Copy)]
pub(crate) enum ThinkOption {
    /// Drawn evenly from the first time to the second.
    Uniform(Duration, Duration),
    /// A variant of `ThinkLaw`, the mean, the standard deviation.
    Random(&'static str, Duration, Duration),
}

const PAUSE: &str = "a pause is a time, a range of two, or a law with its mean and standard deviation: \
                     `500ms`, `500ms..2s`, `normal(2s, 500ms)`, `lognormal(2s, 500ms)` or `exponential(2s)`";

/// Parses a pause behind its `=`.
pub(super) fn parse_think(input: ParseStream<'_>) -> syn::Result<ThinkOption> {
    if input.peek(Ident::peek_any) {
        return parse_law(input);
    }
    let span = input.span();
    let min = parse_duration(input)?;
    if input.peek(Token![..=]) || input.peek(Token![...]) || input.peek(Token![-]) {
        return Err(input.error("a pause is a time, or a range of two: `500ms..2s`"));
    }
    let max = match input.parse::<Option<Token![..]>>()? {
        Some(_) => parse_duration(input)?,
        None => min,
    };
    if max < min {
        let message = "the think time's upper bound is below its lower bound";
        return Err(syn::Error::new(span, message));
    }
    Ok(ThinkOption::Uniform(min, max))
}

fn parse_law(input: ParseStream<'_>) -> syn::Result<ThinkOption> {
    let word = input.call(Ident::parse_any)?;
    let name = word.to_string();
    let (variant, wanted) = match name.as_str() {
        "normal" => ("Normal", "mean and standard deviation: `normal(2s, 500ms)`"),
        "lognormal" => (
            "Lognormal",
            "mean and standard deviation: `lognormal(2s, 500ms)`",
        ),
        "exponential" => ("Exponential", "its mean: `exponential(2s)`"),
        _ => return Err(syn::Error::new(word.span(), PAUSE)),
    };
    let wanted = || syn::Error::new(word.span(), format!("`{name}` takes {wanted}"));
    if !input.peek(token::Paren) {
        return Err(wanted());
    }
    let content;
    parenthesized!(content in input);
    if content.is_empty() {
        return Err(wanted());
    }
    let mean = parse_positive_duration(&content)?;
    let mut deviation = mean;
    if variant != "Exponential" {
        if content.parse::<Option<Token![,]>>()?.is_none() || content.is_empty() {
            return Err(wanted());
        }
        deviation = parse_duration(&content)?;
    }
    if !content.is_empty() {
        return Err(wanted());
    }
    Ok(ThinkOption::Random(variant, mean, deviation))
}

//! The weight of a step: `0.8`, `80%`, `4/5`, a constant, or a whole number in a choice of such.

use super::value::{parse_error, parse_number};
use proc_macro2::{TokenStream, TokenTree};
use syn::parse::ParseStream;
use syn::{Lit, Token};

pub(crate) const WEIGHT_RANGE: &str = "a weight is the probability that the step runs in an iteration: more than 0, at most 1, such as `0.3` or `30%`";

/// The largest weight of a choice whose weights are whole numbers, and the largest denominator of a fraction.
const MOST_PARTS: f64 = 1_000_000.0;

/// The tolerance for weights that should add up to 1, for rounding errors. Equals that of
/// `definition::Draw`.
pub(crate) const ROUNDING: f64 = 1e-9;

#[derive(Default)]
pub(crate) enum WeightOption {
    #[default]
    Always,
    Literal(f64),
    /// A whole number above 1, which only a choice of such weights can have; the error where it has none.
    Relative(f64, syn::Error),
    /// Checked by the compiler.
    Constant(TokenStream),
}

impl WeightOption {
    /// The expression of a weight whose value only the compiler knows.
    pub(crate) fn constant_expression(&self) -> Option<&TokenStream> {
        match self {
            Self::Constant(expression) => Some(expression),
            _ => None,
        }
    }
}

/// Parses a weight behind its `=`.
pub(super) fn parse_weight(input: ParseStream<'_>) -> syn::Result<WeightOption> {
    if !input.peek(Token![-]) && !input.peek(Lit) {
        let constant: TokenStream = input.parse()?;
        return match constant.clone().into_iter().last() {
            None => Err(input.error(WEIGHT_RANGE)),
            Some(TokenTree::Punct(punct)) if punct.as_char() == '%' => {
                Err(syn::Error::new_spanned(
                    constant,
                    "a constant is a share of one, not a percentage: `weight = W` with \
                     `const W: f64 = 0.8`",
                ))
            }
            Some(_) => Ok(WeightOption::Constant(constant)),
        };
    }
    let start = input.span();
    let number = parse_number(input, 0.0..=f64::INFINITY, WEIGHT_RANGE)
        .map_err(|error| parse_error(&error, WEIGHT_RANGE))?;
    let parts = if input.parse::<Option<Token![%]>>()?.is_some() {
        100.0
    } else if input.parse::<Option<Token![/]>>()?.is_some() {
        parse_number(input, 1.0..=MOST_PARTS, WEIGHT_RANGE)?
    } else {
        1.0
    };
    let weight = number / parts;
    if weight > 0.0 && weight <= 1.0 {
        return Ok(WeightOption::Literal(weight));
    }
    let error = syn::Error::new(start, WEIGHT_RANGE);
    if parts <= 1.0 && weight.fract() == 0.0 && weight <= MOST_PARTS && weight > 0.0 {
        return Ok(WeightOption::Relative(weight, error));
    }
    Err(error)
}

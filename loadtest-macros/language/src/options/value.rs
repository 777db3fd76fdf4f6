//! Durations, rates and shares as they are written in attributes.

use loadtest_model::quantity::Share;
use proc_macro2::{Ident, Span};
use quote::quote;
use std::ops::RangeInclusive;
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Lit, Token};

/// The words `wanted` at the place of `error`.
pub(super) fn parse_error(error: &syn::Error, wanted: &str) -> syn::Error {
    syn::Error::new(error.span(), wanted)
}

/// Parses the number of redirects to follow.
pub(super) fn parse_redirects(input: ParseStream<'_>) -> syn::Result<u32> {
    input.parse::<Token![=]>()?;
    let wanted = "expected how many redirects are followed, 0 to 50: `redirects = 5`";
    Ok(parse_whole(input, 0.0..=50.0, wanted)? as u32)
}

/// Parses a whole number within `range`.
pub(super) fn parse_whole(
    input: ParseStream<'_>,
    range: RangeInclusive<f64>,
    wanted: &str,
) -> syn::Result<f64> {
    let span = input.span();
    match parse_number(input, range, wanted) {
        Ok(number) if number.fract() == 0.0 => Ok(number),
        Ok(_) => Err(syn::Error::new(span, wanted)),
        Err(error) => Err(parse_error(&error, wanted)),
    }
}

/// A share in the overall grade, before division by the sum of all.
pub(super) fn parse_grade_weight(input: ParseStream<'_>) -> syn::Result<f64> {
    parse_number(
        input,
        0.0..=1e6,
        "a grade weight is not negative, and at most 1000000",
    )
}

/// Parses a number within `range`; any other is refused with the words `wanted`, sign and all.
pub(super) fn parse_number(
    input: ParseStream<'_>,
    range: RangeInclusive<f64>,
    wanted: &str,
) -> syn::Result<f64> {
    let (minus, literal) = parse_signed_literal(input, "expected a number")?;
    let (value, suffix) = match &literal {
        Lit::Int(int) => (int.base10_parse().ok(), int.suffix()),
        Lit::Float(float) => (float.base10_parse().ok(), float.suffix()),
        _ => (None, ""),
    };
    let Some(value) = value.filter(|_| suffix.is_empty()) else {
        return Err(syn::Error::new(literal.span(), "expected a number"));
    };
    if minus.is_some() || !range.contains(&value) {
        return Err(syn::Error::new_spanned(quote!(#minus #literal), wanted));
    }
    Ok(value)
}

fn parse_signed_literal(
    input: ParseStream<'_>,
    wanted: &str,
) -> syn::Result<(Option<Token![-]>, Lit)> {
    let minus = input.parse()?;
    let literal = input.parse().map_err(|error| parse_error(&error, wanted))?;
    Ok((minus, literal))
}

/// A duration that is not zero.
pub(super) fn parse_positive_duration(input: ParseStream<'_>) -> syn::Result<Duration> {
    let span = input.span();
    match parse_duration(input)? {
        Duration::ZERO => Err(syn::Error::new(
            span,
            "a time must be more than 0: write `1ms` or more",
        )),
        duration => Ok(duration),
    }
}

/// `300ms`, `1.5s`, `2m`.
pub(super) fn parse_duration(input: ParseStream<'_>) -> syn::Result<Duration> {
    const WANTED: &str = "a time is a number with its unit: `300ms`, `2s`";
    let (minus, literal) = parse_signed_literal(input, WANTED)?;
    let error = |message: String| Err(syn::Error::new(literal.span(), message));
    let (digits, suffix) = match &literal {
        Lit::Int(int) => (int.base10_digits(), int.suffix()),
        Lit::Float(float) => (float.base10_digits(), float.suffix()),
        _ => return error(WANTED.to_owned()),
    };
    let unit = match suffix {
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" => {
            let unit = input.call(Ident::parse_any).map(|unit| unit.to_string());
            let message = match unit.as_deref() {
                Ok(unit @ ("us" | "ms" | "s" | "m" | "h")) => {
                    format!("a number and its unit are one word: `{digits}{unit}`")
                }
                _ => format!(
                    "`{digits}` has no unit: write `{digits}ms`, `{digits}s` or `{digits}m`"
                ),
            };
            return error(message);
        }
        other => {
            return error(format!(
                "unknown unit `{other}`: use `us`, `ms`, `s`, `m` or `h`"
            ));
        }
    };
    if minus.is_some() {
        return Err(syn::Error::new_spanned(
            quote!(#minus #literal),
            "a time is not negative",
        ));
    }
    let seconds = digits.parse::<f64>().unwrap_or(f64::INFINITY) * unit;
    // a century keeps the nanoseconds well inside 64 bits
    if seconds > 3600.0 * 24.0 * 365.0 * 100.0 {
        return error("this time is too long".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

const SHARE: &str = "a share is from 0% to 100%";

/// `1%`, as a share of one.
pub(super) fn parse_share(input: ParseStream<'_>) -> syn::Result<f64> {
    let span = input.span();
    let percent =
        parse_number(input, 0.0..=100.0, SHARE).map_err(|error| parse_error(&error, SHARE))?;
    match input.parse::<Option<Token![%]>>()? {
        Some(_) => Ok(Share::percent(percent).as_fraction()),
        None => Err(syn::Error::new(
            span,
            format!("`{percent}` has no unit: write `{percent}%`"),
        )),
    }
}

/// The highest rate that a nanosecond clock can resolve.
const MOST_PER_SECOND: f64 = 1e9;

/// `200/s` or `30/m`.
pub(super) fn parse_rate(input: ParseStream<'_>) -> syn::Result<f64> {
    const UNIT: &str = "a rate is per second or minute: `200/s`, `30/m`";
    const RANGE: &str = "a rate is not negative, and at most 1000000000/s";
    let span = input.span();
    let number = parse_number(input, 0.0..=MOST_PER_SECOND, RANGE)?;
    if input.parse::<Option<Token![/]>>()?.is_none() {
        return Err(syn::Error::new(span, UNIT));
    }
    let unit = Ident::parse_any(input).map_err(|error| parse_error(&error, UNIT))?;
    match unit.to_string().as_str() {
        "s" => Ok(number),
        "m" => Ok(number / 60.0),
        _ => Err(syn::Error::new(unit.span(), UNIT)),
    }
}

/// Refuses what is no token of RFC 9110 section 5.6.2.
pub(crate) fn check_header_name(name: &str, span: Span) -> syn::Result<()> {
    let is_valid = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    let message = || format!("`{name}` is not a valid HTTP header name");
    is_valid
        .then_some(())
        .ok_or_else(|| syn::Error::new(span, message()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse::Parser;

    fn time(text: &str) -> Result<Duration, String> {
        parse_duration
            .parse_str(text)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("300ms").unwrap(), Duration::from_millis(300));
        assert_eq!(time("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(time("2m").unwrap(), Duration::from_secs(120));
        assert_eq!(time("1_000us").unwrap(), Duration::from_millis(1));
        assert_eq!(
            time("300").unwrap_err(),
            "`300` has no unit: write `300ms`, `300s` or `300m`"
        );
    }

    #[test]
    fn times_that_no_clock_shows_are_refused() {
        for text in ["-1s", "-0.5ms", "-0s"] {
            assert_eq!(time(text).unwrap_err(), "a time is not negative", "{text}");
        }
        for text in ["1e300s", "1e999h", "99999999h"] {
            assert_eq!(time(text).unwrap_err(), "this time is too long", "{text}");
        }
    }

    #[test]
    fn rates_and_shares_are_within_their_range() {
        for text in ["-5/s", "1e300/s", "1e999/m"] {
            let error = parse_rate.parse_str(text);
            assert!(
                error
                    .unwrap_err()
                    .to_string()
                    .contains("not negative, and at most"),
                "{text}"
            );
        }
        for text in ["-1%", "101%", "1e999%"] {
            assert_eq!(parse_share.parse_str(text).unwrap_err().to_string(), SHARE);
        }
    }

    #[test]
    fn rates_are_per_second() {
        let per_second = |text: &str| parse_rate.parse_str(text).unwrap();
        assert!((per_second("30/m") - 0.5).abs() < 1e-12);
        assert!((per_second("2.5/s") - 2.5).abs() < 1e-12);
    }
}

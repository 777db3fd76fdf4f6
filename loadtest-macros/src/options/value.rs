//! Durations, rates and shares as they are written in attributes.

use proc_macro2::{Ident, Span};
use quote::quote;
use std::ops::RangeInclusive;
use std::time::Duration;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Lit, Token};

/// Parses the number of redirects to follow.
pub(super) fn parse_redirects(input: ParseStream<'_>) -> syn::Result<u32> {
    const WANTED: &str = "expected how many redirects are followed, 0 to 50: `redirects = 5`";
    input.parse::<Token![=]>()?;
    let number = parse_number(input, 0.0..=50.0, WANTED)
        .map_err(|error| syn::Error::new(error.span(), WANTED))?;
    if number.value.fract() != 0.0 {
        return Err(syn::Error::new(number.span, WANTED));
    }
    Ok(number.value as u32)
}

/// A share in the overall grade, before division by the sum of all.
pub(super) fn parse_grade_weight(input: ParseStream<'_>) -> syn::Result<f64> {
    let wanted = "a grade weight is not negative, and at most 1000000";
    Ok(parse_number(input, 0.0..=1e6, wanted)?.value)
}

/// A number without suffix, and its place.
pub(super) struct PlainNumber {
    pub(super) value: f64,
    pub(super) text: String,
    pub(super) span: Span,
}

/// A number within `range`; any other is refused with the words `wanted`, sign and all.
pub(super) fn parse_number(
    input: ParseStream<'_>,
    range: RangeInclusive<f64>,
    wanted: &str,
) -> syn::Result<PlainNumber> {
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
    Ok(PlainNumber {
        value,
        text: literal_text(&literal),
        span: literal.span(),
    })
}

/// A literal and the `-` before it, which `syn` would make one token whose place is the sign alone.
fn parse_signed_literal(
    input: ParseStream<'_>,
    wanted: &str,
) -> syn::Result<(Option<Token![-]>, Lit)> {
    let minus = input.parse()?;
    let literal = input
        .parse()
        .map_err(|error| syn::Error::new(error.span(), wanted))?;
    Ok((minus, literal))
}

/// `300ms`, `1.5s`, `2m`.
pub(super) fn parse_duration(input: ParseStream<'_>) -> syn::Result<Duration> {
    parse_spanned_duration(input).map(|(duration, _)| duration)
}

/// A duration that is not zero.
pub(super) fn parse_positive_duration(input: ParseStream<'_>) -> syn::Result<Duration> {
    match parse_spanned_duration(input)? {
        (Duration::ZERO, span) => Err(syn::Error::new(span, "a time of 0 has no meaning here")),
        (duration, _) => Ok(duration),
    }
}

pub(super) fn parse_spanned_duration(input: ParseStream<'_>) -> syn::Result<(Duration, Span)> {
    let (minus, literal) =
        parse_signed_literal(input, "a time is a number with its unit: `300ms`, `2s`")?;
    let error = |message: String| Err(syn::Error::new(literal.span(), message));
    let (digits, suffix) = match &literal {
        Lit::Int(int) => (int.base10_digits(), int.suffix()),
        Lit::Float(float) => (float.base10_digits(), float.suffix()),
        Lit::Str(text) => {
            let text = text.value();
            return error(format!("write a time without quotes: `{text}`"));
        }
        _ => return error("a time is a number with its unit: `300ms`, `2s`".to_owned()),
    };
    let unit = match suffix {
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" => {
            return error(format!(
                "`{digits}` has no unit: write `{digits}ms`, `{digits}s` or `{digits}m`"
            ));
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
    Ok((Duration::from_secs_f64(seconds), literal.span()))
}

const SHARE: &str = "a share is from 0% to 100%";

/// `1%`, as a share of one.
pub(super) fn parse_share(input: ParseStream<'_>) -> syn::Result<f64> {
    let literal = input.fork().parse::<Lit>().ok();
    let number = parse_number(input, 0.0..=f64::INFINITY, SHARE).map_err(|error| {
        let (digits, unit) = match &literal {
            Some(Lit::Int(int)) => (int.base10_digits(), int.suffix()),
            Some(Lit::Float(float)) => (float.base10_digits(), float.suffix()),
            _ => return error,
        };
        if unit.is_empty() {
            return error;
        }
        let message = format!("unknown unit `{unit}`: write `{digits}%`");
        syn::Error::new(error.span(), message)
    })?;
    if input.parse::<Option<Token![%]>>()?.is_none() {
        let text = number.text;
        return Err(syn::Error::new(
            number.span,
            format!("`{text}` has no unit: write `{text}%`"),
        ));
    }
    if number.value > 100.0 {
        return Err(syn::Error::new(number.span, SHARE));
    }
    Ok(number.value / 100.0)
}

/// The highest rate that a nanosecond clock can resolve.
const MOST_PER_SECOND: f64 = 1e9;

pub(super) struct RateLiteral {
    pub(super) per_second: f64,
    pub(super) span: Span,
}

/// `200/s` or `30/m`.
pub(super) fn parse_rate(input: ParseStream<'_>) -> syn::Result<RateLiteral> {
    const UNIT: &str = "a rate is per second or minute: `200/s`, `30/m`";
    let number = parse_number(
        input,
        0.0..=MOST_PER_SECOND,
        "a rate is not negative, and at most 1000000000/s",
    )?;
    if input.parse::<Option<Token![/]>>()?.is_none() {
        return Err(syn::Error::new(number.span, UNIT));
    }
    let unit = Ident::parse_any(input).map_err(|error| syn::Error::new(error.span(), UNIT))?;
    let seconds = match unit.to_string().as_str() {
        "s" => 1.0,
        "m" => 60.0,
        _ => return Err(syn::Error::new(unit.span(), UNIT)),
    };
    Ok(RateLiteral {
        per_second: number.value / seconds,
        span: number.span,
    })
}

/// Refuses what is no token of RFC 9110 section 5.6.2.
pub(crate) fn check_header_name(name: &str, span: Span) -> syn::Result<()> {
    let is_valid = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    if is_valid {
        Ok(())
    } else {
        Err(syn::Error::new(
            span,
            format!("`{name}` is not a valid HTTP header name"),
        ))
    }
}

pub(super) fn literal_text(literal: &Lit) -> String {
    quote::ToTokens::to_token_stream(literal).to_string()
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
            let error = parse_rate.parse_str(text).map(|rate| rate.per_second);
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
        let per_second = |text: &str| parse_rate.parse_str(text).unwrap().per_second;
        assert!((per_second("30/m") - 0.5).abs() < 1e-12);
        assert!((per_second("2.5/s") - 2.5).abs() < 1e-12);
    }
}

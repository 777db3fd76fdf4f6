//! Makes texts and numbers that fit a schema.

use super::schema::MergedSchema;
use crate::document::Node;
use crate::openapi::document::{ApiDocument, shorten};

/// Longest text that is made.
const LONGEST: usize = 4_096;
/// Largest integer that a float holds exactly.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The formats of texts, each with a text.
const FORMATS: &str = include_str!("../../data/openapi-formats.tsv");

/// Makes a text of the format or the length of a schema. Warns of a pattern.
pub(super) fn make_text(
    document: &ApiDocument<'_>,
    schema: &MergedSchema<'_>,
    name: &str,
) -> String {
    let format = schema.text_of("format").unwrap_or_default();
    if let Some(text) = text_of_format(format) {
        return text.to_owned();
    }
    if schema.text_of("contentEncoding") == Some("base64") {
        return "bG9hZHRlc3Q=".to_owned();
    }
    let length = |key: &str| {
        let length = schema.get(key).and_then(Node::number)?;
        Some(length.clamp(0.0, LONGEST as f64) as usize)
    };
    let least = length("minLength").unwrap_or(0);
    let most = length("maxLength").unwrap_or(LONGEST);
    if let Some(node) = schema.get("pattern") {
        let words = format!(
            "no text is made that matches `{}`: give an example",
            shorten(node.text().unwrap_or_default())
        );
        document.warn(&node.span, words);
    }
    let name = name.to_ascii_lowercase();
    let usual = match name.as_str() {
        name if name.contains("email") => "ada@example.com",
        name if name.ends_with("url") || name.ends_with("uri") => "https://example.com/",
        _ => "example",
    };
    let length = usual.len().clamp(least.min(most), most);
    let padding = "example".chars().cycle();
    usual.chars().chain(padding).take(length).collect()
}

fn text_of_format(format: &str) -> Option<&'static str> {
    let mut rows = FORMATS.lines().filter_map(|row| row.split_once('\t'));
    rows.find_map(|(known, text)| (known == format).then_some(text))
}

/// Makes a number within the bounds of a schema, 1 if that fits, as JSON writes it.
pub(super) fn make_number(schema: &MergedSchema<'_>, is_integer: bool) -> String {
    let number = |key: &str| schema.get(key).and_then(Node::number);
    // In OpenAPI 3.0 an exclusive bound is a flag, in 3.1 a number.
    let is_open = |key: &str| {
        schema
            .get(key)
            .is_some_and(|node| node.boolean() != Some(false))
    };
    let low = number("exclusiveMinimum").or(number("minimum"));
    let high = number("exclusiveMaximum").or(number("maximum"));
    let step = number("multipleOf").filter(|step| *step > 0.0);
    let is_within = low.is_none_or(|low| low < 1.0) && high.is_none_or(|high| 1.0 < high);
    if let (None, false, false, Some(low), Some(high)) = (step, is_integer, is_within, low, high) {
        return format_number(low.midpoint(high));
    }
    let step = step.unwrap_or(1.0);
    let first = low.map(|low| {
        let first = (low / step).ceil();
        first + f64::from(is_open("exclusiveMinimum") && first * step <= low)
    });
    let last = high.map(|high| {
        let last = (high / step).floor();
        last - f64::from(is_open("exclusiveMaximum") && last * step >= high)
    });
    let usual = (1.0 / step).ceil();
    let most = last.unwrap_or(f64::INFINITY);
    format_number(usual.max(first.unwrap_or(usual)).min(most) * step)
}

fn format_number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() <= LARGEST_EXACT {
        return (value as i64).to_string();
    }
    // Multiples of 0.1 are inexact: 0.30000000000000004.
    let rounded = format!("{value:.9}");
    let rounded = rounded.trim_end_matches('0').trim_end_matches('.');
    if value.abs() < LARGEST_EXACT && rounded.parse() != Ok(0.0) {
        return rounded.to_owned();
    }
    serde_json::Number::from_f64(value).map_or("1".to_owned(), |value| value.to_string())
}

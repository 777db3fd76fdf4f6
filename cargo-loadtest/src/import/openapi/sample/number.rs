//! Numbers within bounds.

use super::shape::Shape;
use crate::import::document::Node;

/// The largest integer up to which all are told apart.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// A number that fits, as it is written in JSON: one, if that does.
pub(super) fn number(shape: &Shape<'_>, is_integer: bool) -> String {
    let step = shape
        .get("multipleOf")
        .and_then(Node::number)
        .filter(|step| *step > 0.0);
    let unit = step.unwrap_or(1.0);
    let (mut low, mut is_open) = bound(shape, "minimum", "exclusiveMinimum", f64::max);
    let (high, is_open_above) = bound(shape, "maximum", "exclusiveMaximum", f64::min);
    if is_integer && let Some(bound) = low.filter(|low| low.fract() != 0.0) {
        low = Some(bound.ceil());
        is_open = false;
    }
    let above = |low: f64| if is_open { low + unit } else { low };
    let below = |high: f64| if is_open_above { high - unit } else { high };
    let wanted = match (low, high) {
        (Some(low), _) if above(low) > 1.0 => above(low),
        (_, Some(high)) if below(high) < 1.0 => below(high),
        _ => 1.0,
    };
    let mut value = step.map_or(wanted, |step| (wanted / step).ceil() * step);
    if let Some(high) = high
        && (value > high || value >= high && is_open_above)
    {
        value = match (low, step) {
            // Between two bounds that are near to each other.
            (Some(low), None) if !is_integer => low.midpoint(high),
            (_, Some(step)) => {
                ((below(high) + if is_open_above { unit / 2.0 } else { 0.0 }) / step).floor() * step
            }
            _ => below(high),
        };
    }
    if !is_integer
        && step.is_none()
        && let (Some(low), Some(high)) = (low, high)
        && (value < low || value <= low && is_open)
    {
        value = low.midpoint(high);
    }
    written(if is_integer { value.floor() } else { value })
}

/// A bound, and whether it is none of the values itself: in version 3.0 that is said by a boolean, in 3.1 there
/// is a number for it.
fn bound(
    shape: &Shape<'_>,
    name: &str,
    exclusive: &str,
    nearer: fn(f64, f64) -> f64,
) -> (Option<f64>, bool) {
    let inclusive = shape.get(name).and_then(Node::number);
    let exclusive = shape.get(exclusive);
    let is_open = exclusive.and_then(Node::boolean) == Some(true);
    let other = exclusive.and_then(Node::number);
    match (inclusive, other) {
        (Some(one), Some(other)) => {
            let bound = nearer(one, other);
            (Some(bound), bound.total_cmp(&other).is_eq())
        }
        (None, Some(other)) => (Some(other), true),
        (one, None) => (one, is_open),
    }
}

fn written(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() <= LARGEST_EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is an integer that fits, as was just seen"
        )]
        return (value as i64).to_string();
    }
    // Steps such as 0.1 are none that a float can hold: 0.30000000000000004.
    let rounded = format!("{value:.9}");
    let rounded = rounded.trim_end_matches('0').trim_end_matches('.');
    match serde_json::from_str::<serde_json::Number>(rounded) {
        Ok(_) if value.abs() < LARGEST_EXACT && rounded.parse() != Ok(0.0) => rounded.to_owned(),
        _ => serde_json::Number::from_f64(value).map_or("1".to_owned(), |value| value.to_string()),
    }
}

//! Quantities as people write them: `300ms`, `200/s`, `1%`; and back.

use loadtest_model::definition::Share;
use std::time::Duration;

const DURATION_UNITS: [(&str, f64); 7] = [
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
];
const RATE_UNITS: [(&str, f64); 3] = [("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// Reads a length of time: `300ms`, `1.5s`, `1m`, `1h`, `30d`.
///
/// # Errors
/// What is wrong with it and what to write instead.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let value =
        parse_number(number).ok_or("is not a length of time; write `10s`, `300ms` or `1.5m`")?;
    if unit.is_empty() {
        return Err(format!(
            "has no unit; write `{number}ms`, `{number}s`, `{number}m`, `{number}h` or `{number}d`"
        ));
    }
    let (_, seconds) = DURATION_UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| format!("has an unknown unit `{unit}`; use `ms`, `s`, `m`, `h` or `d`"))?;
    Duration::try_from_secs_f64(value * seconds).map_err(|_| "is too long".to_owned())
}

/// Reads a frequency, per second: `200/s`, `30/m`.
///
/// # Errors
/// What is wrong with it and what to write instead.
pub fn rate(text: &str) -> Result<f64, String> {
    let (number, unit) = split_unit(text);
    let value = parse_number(number).ok_or("is not a rate; write `200/s` or `30/m`")?;
    if unit.is_empty() {
        return Err(format!("has no unit; write `{number}/s` or `{number}/m`"));
    }
    let (_, seconds) = unit
        .strip_prefix('/')
        .and_then(|unit| {
            RATE_UNITS
                .iter()
                .find(|(name, _)| *name == unit.trim_start())
        })
        .ok_or_else(|| format!("has an unknown unit `{unit}`; use `/s`, `/m` or `/h`"))?;
    Ok(value / seconds)
}

/// Reads a share of one: `1%`, `0.5%`.
///
/// # Errors
/// What is wrong with it and what to write instead.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = split_unit(text);
    let value = parse_number(number).ok_or("is not a share; write `1%` or `0.5%`")?;
    match unit {
        "%" if value <= 100.0 => Ok(Share::percent(value).as_fraction()),
        "%" => Err("is more than all; use at most `100%`".to_owned()),
        "" => Err(format!("has no unit; write `{number}%`")),
        _ => Err(format!("has an unknown unit `{unit}`; use `%`")),
    }
}

/// A length of time in few characters: `1m 30s`, `10s`, `1.5s`, `300ms`.
pub fn show(time: Duration) -> String {
    if time.is_zero() {
        return "0s".to_owned();
    }
    if time < Duration::from_secs(60) {
        return format!("{time:?}");
    }
    let seconds = time.as_secs();
    let parts = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let shown: Vec<_> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    shown.join(" ")
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+')))
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn parse_number(number: &str) -> Option<f64> {
    let value: f64 = number.replace('_', "").parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_unit() {
        for (text, ms) in [
            ("300ms", 300),
            ("1.5s", 1_500),
            ("10s", 10_000),
            ("1m", 60_000),
            ("2min", 120_000),
            ("1h", 3_600_000),
            ("30d", 2_592_000_000),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn rates_are_per_second_whatever_their_unit() {
        for (text, per_second) in [("200/s", 200.0), ("30/m", 0.5), ("1.5 / s", 1.5)] {
            assert_eq!(rate(text), Ok(per_second), "{text}");
        }
    }

    #[test]
    fn a_missing_unit_is_named() {
        assert!(
            rate("200")
                .unwrap_err()
                .contains("has no unit; write `200/s`")
        );
        assert!(
            duration("10")
                .unwrap_err()
                .contains("has no unit; write `10ms`, `10s`, `10m`, `10h` or `10d`")
        );
        assert!(share("1").unwrap_err().contains("has no unit; write `1%`"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "s",
            "-1s",
            "1x",
            "nans",
            "infs",
            "1e400s",
            "1..5s",
            "10s10",
            "99999999999999999999h",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
        for text in ["", "/s", "-1/s", "1/x", "1s", "1 /", "200/"] {
            assert!(rate(text).is_err(), "{text}");
        }
        for text in ["101%", "-1%", "1s"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_shown_short() {
        for (seconds, shown) in [(10, "10s"), (60, "1m"), (90, "1m 30s"), (3_600, "1h")] {
            assert_eq!(show(Duration::from_secs(seconds)), shown);
        }
        assert_eq!(show(Duration::ZERO), "0s");
        assert_eq!(show(Duration::from_millis(1_500)), "1.5s");
    }
}

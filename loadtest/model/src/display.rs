//! Numbers in words: every format shows the same figure in the same way.

use crate::definition::{Bound, Load, Retry, Shape, Stage, Threshold, Until};
use crate::plan::Plan;
use crate::trace::{TRACEPARENT, Tracing};
use std::fmt::Write as _;
use std::time::Duration;

/// Stands between groups of three digits: a narrow space that does not break.
const GROUP: char = '\u{202f}';

/// Stands where there is no figure.
pub const NO_VALUE: &str = "–";

/// A unit of measured times.
struct TimeUnit {
    name: &'static str,
    micros: f64,
    /// The decimals of a microsecond.
    decimals: f64,
}

/// The units of measured times, the largest first.
const TIME_UNITS: [TimeUnit; 3] = [
    TimeUnit::new("s", 1e6, 6.0),
    TimeUnit::new("ms", 1e3, 3.0),
    TimeUnit::new("µs", 1.0, 0.0),
];

impl TimeUnit {
    const fn new(name: &'static str, micros: f64, decimals: f64) -> Self {
        Self {
            name,
            micros,
            decimals,
        }
    }

    /// The largest unit of which a time has at least one, once it is rounded; milliseconds for no time.
    fn of_micros(micros: f64) -> &'static Self {
        let [_, milliseconds, microseconds] = &TIME_UNITS;
        if micros == 0.0 {
            return milliseconds;
        }
        let mut units = TIME_UNITS.iter();
        let found = units.find(|unit| micros >= unit.micros * 0.999_5);
        found.unwrap_or(microseconds)
    }

    /// Formats a time to three digits, and no part of a microsecond.
    fn format(&self, micros: f64) -> String {
        let value = micros / self.micros;
        let mut magnitude = value.log10().floor();
        if (value * 10_f64.powf(2.0 - magnitude)).round() >= 1e3 {
            magnitude += 1.0;
        }
        let digits = (2.0 - magnitude).clamp(0.0, self.decimals) as usize;
        if digits == 0 || micros == 0.0 {
            format!("{} {}", format_count(value.round() as u64), self.name)
        } else {
            format!("{value:.digits$} {}", self.name)
        }
    }
}

/// Rounds a time to microseconds as the exports do, so that a figure is the same wherever it is read.
fn round_to_micros(time: Duration) -> f64 {
    ((time.as_nanos() + 500) / 1_000) as f64
}

/// A measured time, to three digits: `840 µs`, `1.24 ms`, `312 ms`, `2.00 s`, `125 s`.
pub fn format_duration(time: Duration) -> String {
    let micros = round_to_micros(time);
    TimeUnit::of_micros(micros).format(micros)
}

/// Formats times that are read together in one unit: that of the middle between the shortest and the longest, on a
/// scale of powers. A dash stands for none.
pub fn format_durations(times: &[Option<Duration>]) -> Vec<String> {
    let known = times.iter().flatten().map(|time| round_to_micros(*time));
    let (least, most) = known
        .filter(|micros| *micros > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(least, most), micros| {
            (micros.min(least), micros.max(most))
        });
    let middle = if most > 0.0 {
        (least * most).sqrt()
    } else {
        0.0
    };
    let unit = TimeUnit::of_micros(middle);
    let words = times.iter().map(|time| match time {
        Some(time) => unit.format(round_to_micros(*time)),
        None => NO_VALUE.to_owned(),
    });
    words.collect()
}

/// Formats a measured time in microseconds.
pub fn format_micros(us: u64) -> String {
    format_duration(Duration::from_micros(us))
}

/// Formats what the requests of a load carry: `` `traceparent` with 1 % of journeys sampled, at most 10/s ``.
pub fn format_tracing(tracing: &Tracing) -> String {
    let share = format_exact_percent(tracing.sample);
    let most = tracing.at_most_per_second.map(format_exact_rate);
    let most = most.map_or_else(String::new, |rate| format!(", at most {rate}"));
    format!("`{TRACEPARENT}` with {share} of journeys sampled{most}")
}

/// Formats what a clock shows more than ours, and how exactly that is known: `+1.20 ms ± 35 µs`.
pub fn format_clock_offset(offset_us: i64, error_us: u64) -> String {
    let sign = if offset_us < 0 { "−" } else { "+" };
    let [offset, error] = [offset_us.unsigned_abs(), error_us].map(format_micros);
    format!("{sign}{offset} ± {error}")
}

/// A declared time, exactly: `500 ms`, `1.5 s`, `10 s`, `5 min`, `1 min 30 s`, `2 h`.
pub fn format_span(time: Duration) -> String {
    let seconds = time.as_secs();
    if time.subsec_nanos() != 0 || seconds == 0 {
        let ms = time.as_nanos() as f64 / 1e6;
        return if ms >= 1000.0 {
            format!("{} s", ms / 1e3)
        } else {
            format!("{ms} ms")
        };
    }
    let mut words = Vec::new();
    for (amount, unit) in [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ] {
        if amount > 0 {
            words.push(format!("{amount} {unit}"));
        }
    }
    words.join(" ")
}

/// A number of things, in groups of three digits.
pub fn format_count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + 6);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(GROUP);
        }
        grouped.push(digit);
    }
    grouped
}

/// Describes a URL without TLS, of a scenario with `http = 3`.
pub fn describe_url_without_tls(url: &str) -> String {
    let url = quote_name(url);
    format!("{url} is not for `http = 3`: QUIC is always encrypted; write `https://`")
}

/// A name that stands as code in a sentence: between backticks, of which it has none itself.
pub fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "'"))
}

/// A number in four significant digits: `12.35`, `-0.05`, `1 234 568`.
pub fn format_number(number: f64) -> String {
    let size = number.abs();
    if (1e3..1e15).contains(&size) {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", format_count(size.round() as u64));
    }
    // Fewer than 15 digits behind the point, as many as `f64` has.
    let digits = (3.0 - size.log10().floor()).clamp(0.0, 15.0) as usize;
    let shown = format!("{number:.digits$}");
    let shown = if shown.contains('.') {
        shown.trim_end_matches('0').trim_end_matches('.')
    } else {
        &shown
    };
    if shown == "-0" { "0" } else { shown }.to_owned()
}

/// A number of things and their name, in the plural where it is not one.
pub fn format_counted(number: u64, singular: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {singular}{ending}", format_count(number))
}

/// A share of one: `0 %`, `< 0.01 %`, `0.42 %`, `1.3 %`, `48.6 %`, `> 99.9 %`, `100 %`.
///
/// What is not nothing is never shown as `0 %`, and what is not all of it never as `100 %`.
pub fn format_percent(ratio: f64) -> String {
    if !ratio.is_finite() {
        NO_VALUE.to_owned()
    } else if ratio <= 0.0 {
        "0 %".to_owned()
    } else if ratio < 0.000_1 {
        "< 0.01 %".to_owned()
    } else if ratio < 0.009_95 {
        format!("{:.2} %", ratio * 100.0)
    } else if ratio < 0.999_5 {
        format!("{:.1} %", ratio * 100.0)
    } else if ratio < 1.0 {
        "> 99.9 %".to_owned()
    } else {
        format_whole_percent(ratio)
    }
}

/// A share of one without decimals, for a sentence: `88 %`, `130 %`.
pub fn format_whole_percent(ratio: f64) -> String {
    let rounded = (ratio * 100.0).round();
    if ratio < 1.0 && rounded >= 100.0 {
        return format_percent(ratio);
    }
    if ratio > 0.0 && rounded < 1.0 {
        return format_percent(ratio);
    }
    format!("{} %", format_count(rounded as u64))
}

/// A declared share of one, exactly: `1 %`, `0.5 %`.
pub fn format_exact_percent(ratio: f64) -> String {
    format!("{} %", trimmed(ratio * 100.0))
}

/// A frequency, to three digits: `< 0.01/s`, `0.5/s`, `7.25/s`, `19.8/s`, `50/s`, `608/s`.
///
/// Never shows `0/s` for what is more than nothing. A round number is written as [`format_exact_rate`] does.
pub fn format_rate(per_second: f64) -> String {
    if !per_second.is_finite() {
        NO_VALUE.to_owned()
    } else if per_second > 0.0 && per_second < 0.005 {
        "< 0.01/s".to_owned()
    } else {
        format_exact_rate(if per_second < 9.995 {
            (per_second * 1e2).round() / 1e2
        } else if per_second < 99.95 {
            (per_second * 1e1).round() / 1e1
        } else {
            per_second.round()
        })
    }
}

/// A declared frequency, exactly: `200/s`, `0.5/s`.
pub fn format_exact_rate(per_second: f64) -> String {
    if per_second.fract() == 0.0 && (0.0..1e15).contains(&per_second) {
        return format!("{}/s", format_count(per_second as u64));
    }
    format!("{}/s", trimmed(per_second))
}

/// A figure of the target's side in its unit: `1.9 cores`, `512 MB`, `83 %`, `3.2 ms/request`.
pub fn format_observed(value: f64, unit: &str) -> String {
    match unit {
        "bytes" if value >= 0.0 => format_bytes(value.round() as u64),
        "" => format_number(value),
        "%" => format!("{} %", format_number(value)),
        "s/request" => match Duration::try_from_secs_f64(value) {
            Ok(time) => format!("{}/request", format_duration(time)),
            Err(_) => format!("{} {unit}", format_number(value)),
        },
        "bytes/request" if value >= 0.0 => {
            format!("{}/request", format_bytes(value.round() as u64))
        }
        "/request" => format!("{}/request", format_number(value)),
        _ => format!("{} {unit}", format_number(value)),
    }
}

/// An amount of data in powers of ten: `512 B`, `1.2 kB`, `38 MB`.
pub fn format_bytes(number: u64) -> String {
    let mut amount = number as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if amount < 999.5 {
            return if amount < 9.95 && unit != "B" {
                format!("{amount:.1} {unit}")
            } else {
                format!("{amount:.0} {unit}")
            };
        }
        amount /= 1e3;
    }
    format!("{amount:.1} TB")
}

/// A throughput: `38 MB/s`.
pub fn format_throughput(bytes_per_second: f64) -> String {
    format!("{}/s", format_bytes(bytes_per_second.round() as u64))
}

/// A declared throughput, exactly: `1.5 MB/s`.
pub fn format_exact_throughput(bytes_per_second: f64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let found = units.iter().find(|(_, size)| bytes_per_second >= *size);
    let (unit, size) = found.copied().unwrap_or(("B", 1.0));
    format!("{} {unit}/s", trimmed(bytes_per_second / size))
}

/// A score to three decimals, rounded down so that it never looks better than its letter.
pub fn format_score(score: f64) -> String {
    format!("{:.3}", ((score + 1e-9) * 1e3).floor() / 1e3)
}

/// Points that a score lost: `−0.39`, `−0.004`; `<0.001` rather than nothing.
pub fn format_points(points: f64) -> String {
    if points < 0.000_5 {
        "<0.001".to_owned()
    } else if points < 0.009_5 {
        format!("−{points:.3}")
    } else {
        format!("−{points:.2}")
    }
}

/// A condition: `p95 < 300 ms`, `tag(api).errors < 1 %`, `rps > 190/s`.
pub fn format_threshold(threshold: &Threshold) -> String {
    let Threshold {
        subject, metric, ..
    } = threshold;
    format!("{subject}{metric} {}", format_condition(threshold))
}

/// The right half of a condition: `< 300 ms`.
pub fn format_condition(threshold: &Threshold) -> String {
    let bound = match threshold.bound {
        Bound::Time(time) => format_span(time),
        Bound::Ratio(ratio) => format_exact_percent(ratio),
        Bound::PerSecond(rate) => format_exact_rate(rate),
        Bound::BytesPerSecond(rate) => format_exact_throughput(rate),
        Bound::Count(number) => format_count(number),
        Bound::Number(number) => number.to_string(),
    };
    format!("{} {bound}", threshold.comparison.symbol())
}

/// A condition as it is declared, with what happens once it is broken: `p95 < 300 ms or abort after 30 s`.
pub fn format_declared_threshold(threshold: &Threshold) -> String {
    let words = format_threshold(threshold);
    match threshold.abort_after {
        Some(Duration::ZERO) => format!("{words} or abort"),
        Some(after) => format!("{words} or abort after {}", format_span(after)),
        None => words,
    }
}

/// A declared repetition: `retry 3, backoff 100 ms, on 503 | timeout`.
pub fn format_retry(retry: &Retry) -> String {
    let on: Vec<String> = retry.on.iter().map(ToString::to_string).collect();
    let (times, backoff) = (retry.times, format_span(retry.backoff));
    format!("retry {times}, backoff {backoff}, on {}", on.join(" | "))
}

/// A declared wait: `until |r| r.done, every 500 ms, within 30 s`.
pub fn format_until(until: &Until) -> String {
    let (every, within) = (format_span(until.every), format_span(until.within));
    format!("until {}, every {every}, within {within}", until.condition)
}

/// A load: `200/s for 1 min, ramp-up 10 s (open model)`.
pub fn format_load(load: &Load) -> String {
    let (mut words, model) = match &load.shape {
        Shape::Rate {
            per_second,
            ramp_up,
            duration,
        } => (
            course(&format_exact_rate(*per_second), *ramp_up, *duration),
            "open model",
        ),
        Shape::Users {
            users,
            ramp_up,
            duration,
        } => (
            course(
                &format_counted(u64::from(*users), "user"),
                *ramp_up,
                *duration,
            ),
            "closed model",
        ),
        Shape::Iterations {
            count,
            users,
            per_user: true,
        } => (
            format!(
                "{} by each of {}",
                format_counted(count / u64::from((*users).max(1)), "iteration"),
                format_counted(u64::from(*users), "user")
            ),
            "closed model",
        ),
        Shape::Iterations {
            count: iterations,
            users,
            ..
        } => (
            format!(
                "{} shared by {}",
                format_counted(*iterations, "iteration"),
                format_counted(u64::from(*users), "user")
            ),
            "closed model",
        ),
        Shape::RateStages { stages } => (staged(stages, "/s"), "open model"),
        Shape::UserStages { stages } => (staged(stages, " users"), "closed model"),
    };
    if let Some(pace) = load.pace {
        let _ = write!(words, ", one iteration each every {}", format_span(pace));
    }
    if !load.warm_up.is_zero() {
        let _ = write!(words, ", after a warm-up of {}", format_span(load.warm_up));
    }
    format!("{words} ({model})")
}

/// The load of a plan, with its later start within a mix: `50 users for 1 min (closed model), from 30 s on`.
pub fn format_planned_load(plan: &Plan) -> String {
    let mut words = format_load(&plan.load);
    if !plan.start.is_zero() {
        let _ = write!(words, ", from {} into the mix on", format_span(plan.start));
    }
    if !plan.shard.is_whole() {
        let _ = write!(words, ", {}", plan.shard);
    }
    words
}

fn course(target: &str, ramp_up: Duration, duration: Duration) -> String {
    let mut words = format!("{target} for {}", format_span(duration));
    if !ramp_up.is_zero() {
        let _ = write!(words, ", ramp-up {}", format_span(ramp_up));
    }
    words
}

/// The stages that are told one by one.
const TOLD_STAGES: usize = 8;

fn staged(stages: &[Stage], unit: &str) -> String {
    if stages.len() > TOLD_STAGES {
        let targets = || stages.iter().flat_map(|stage| [stage.from, stage.to]);
        let lowest = trimmed(targets().fold(f64::INFINITY, f64::min));
        let highest = trimmed(targets().fold(0.0, f64::max));
        let time = format_span(stages.iter().map(|stage| stage.duration).sum());
        let count = stages.len();
        return format!("{lowest} to {highest}{unit} in {count} stages, for {time}");
    }
    let words: Vec<String> = stages
        .iter()
        .map(|stage| {
            let (from, to) = (trimmed(stage.from), trimmed(stage.to));
            let time = format_span(stage.duration);
            if from == to {
                format!("{to}{unit} for {time}")
            } else {
                format!("{from} → {to}{unit} in {time}")
            }
        })
        .collect();
    words.join(", ")
}

/// At most four decimals, and no zeros at the end.
fn trimmed(number: f64) -> String {
    let fixed = format!("{number:.4}");
    fixed.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_tell_their_pace_and_many_stages_their_range() {
        let words = |load: &Load| format_load(load).replace('\u{202f}', " ");
        let second = Duration::from_secs(1);
        assert_eq!(
            words(&Load::users(10, second * 30).pace(second * 2)),
            "10 users for 30 s, one iteration each every 2 s (closed model)"
        );
        assert_eq!(
            words(&Load::iterations_per_user(5, 20)),
            "5 iterations by each of 20 users (closed model)"
        );
        let climb = |at: Duration| at.as_secs_f64() + 0.5;
        assert_eq!(
            words(&Load::rate_curve(climb, second * 20)),
            "0.5 to 20.5/s in 20 stages, for 20 s (open model)"
        );
    }

    #[test]
    fn numbers_have_four_digits_and_a_sign() {
        for (number, words) in [
            (0.0, "0"),
            (-0.0, "0"),
            (12.0, "12"),
            (12.3456, "12.35"),
            (-0.05, "-0.05"),
            (-999.94, "-999.9"),
            (-1_234.5, "-1\u{202f}235"),
            (1e20, "100000000000000000000"),
        ] {
            assert_eq!(format_number(number), words);
        }
    }

    #[test]
    fn durations_have_three_digits_and_round_into_the_next_unit() {
        for (us, words) in [
            (0.0, "0 ms"),
            (0.9, "1 µs"),
            (82.5, "83 µs"),
            (372.49, "372 µs"),
            (840.0, "840 µs"),
            (999.7, "1.00 ms"),
            (1_240.0, "1.24 ms"),
            (9_997.0, "10.0 ms"),
            (99_960.0, "100 ms"),
            (312_000.0, "312 ms"),
            (999_400.0, "999 ms"),
            (999_600.0, "1.00 s"),
            (2_000_000.0, "2.00 s"),
            (9_996_000.0, "10.0 s"),
            (125_300_000.0, "125 s"),
            (3_005_000_000.0, "3\u{202f}005 s"),
        ] {
            assert_eq!(format_duration(Duration::from_secs_f64(us / 1e6)), words);
        }
    }

    #[test]
    fn times_that_are_read_together_have_the_unit_of_their_middle_and_three_digits() {
        for (micros, words) in [
            (&[3_000_000, 3_005_000][..], &["3.00 s", "3.00 s"][..]),
            (&[2_995_000, 3_015_000], &["3.00 s", "3.02 s"]),
            (&[1_390, 885], &["1.39 ms", "0.885 ms"]),
            (&[412_000, 1_234_000], &["412 ms", "1\u{202f}234 ms"]),
            (&[40, 1_010], &["40 µs", "1\u{202f}010 µs"]),
            (&[900_000, 31_000_000], &["0.900 s", "31.0 s"]),
            (&[12_300, 900_000_000], &["0.0123 s", "900 s"]),
            (&[85, 1_200_000], &["0.085 ms", "1\u{202f}200 ms"]),
            (&[12_000, 885, 0], &["12.0 ms", "0.885 ms", "0 ms"]),
            (&[80, 410], &["80 µs", "410 µs"]),
            (&[0], &["0 ms"]),
        ] {
            let times = micros.iter().map(|us| Some(Duration::from_micros(*us)));
            assert_eq!(format_durations(&times.collect::<Vec<_>>()), words);
        }
        let times = [None, Some(Duration::from_millis(3))];
        assert_eq!(format_durations(&times), ["–", "3.00 ms"]);
        assert_eq!(format_durations(&[None]), ["–"]);
    }

    #[test]
    fn declared_times_are_exact() {
        for (ms, words) in [
            (500, "500 ms"),
            (1_500, "1.5 s"),
            (10_000, "10 s"),
            (90_000, "1 min 30 s"),
            (7_200_000, "2 h"),
            (0, "0 ms"),
        ] {
            assert_eq!(format_span(Duration::from_millis(ms)), words);
        }
    }

    #[test]
    fn something_is_never_nothing_and_most_is_never_all() {
        for (ratio, words) in [
            (0.0, "0 %"),
            (0.000_01, "< 0.01 %"),
            (0.004_2, "0.42 %"),
            (0.009_99, "1.0 %"),
            (0.013, "1.3 %"),
            (0.999_4, "99.9 %"),
            (0.999_999, "> 99.9 %"),
            (1.0, "100 %"),
            (1.3, "130 %"),
        ] {
            assert_eq!(format_percent(ratio), words);
        }
        assert_eq!(format_whole_percent(0.001), "0.10 %");
        assert_eq!(format_whole_percent(0.998), "99.8 %");
        assert_eq!(format_exact_percent(0.07), "7 %");
        assert_eq!(
            (format_exact_rate(200.0), format_exact_rate(0.5)),
            ("200/s".to_owned(), "0.5/s".to_owned())
        );
    }

    #[test]
    fn a_rate_is_written_the_same_whether_measured_or_declared() {
        for (per_second, words) in [
            (0.0, "0/s"),
            (0.000_4, "< 0.01/s"),
            (0.5, "0.5/s"),
            (7.5, "7.5/s"),
            (50.0, "50/s"),
            (19.8, "19.8/s"),
            (2_000.0, "2\u{202f}000/s"),
        ] {
            assert_eq!(format_rate(per_second), words);
            if per_second == 0.0 || per_second >= 0.5 {
                assert_eq!(format_exact_rate(per_second), words);
            }
        }
        assert_eq!(format_rate(7.249_9), "7.25/s");
        assert_eq!(format_rate(49.98), "50/s");
        assert_eq!(format_rate(607.6), "608/s");
        assert_eq!(format_rate(f64::NAN), NO_VALUE);
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(format_count(999), "999");
        assert_eq!(format_count(1_000), "1\u{202f}000");
        assert_eq!(format_count(182_440_123), "182\u{202f}440\u{202f}123");
    }

    #[test]
    fn a_score_never_looks_better_than_its_letter() {
        assert_eq!(format_score(0.939_999), "0.939");
        assert_eq!(format_score(0.94), "0.940");
        assert_eq!(format_score(1.0), "1.000");
    }
}

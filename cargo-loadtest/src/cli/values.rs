//! The values of flags, read and checked one by one.

use crate::export::Format;
use clap::builder::{PathBufValueParser, TypedValueParser};
use jiff::Timestamp;
use loadtest_console::process;
use loadtest_console::units;
use loadtest_model::plan::IterationCount;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// `--export FORMAT[=PATH]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Export {
    /// The format.
    pub(crate) format: Format,
    /// The output file; `None` is the folder of the run, `-` and `/dev/stdout` are standard output.
    pub(crate) path: Option<PathBuf>,
}

impl Export {
    /// Returns true if it replaces the card.
    pub(crate) fn is_result(&self) -> bool {
        let results = [Path::new("-"), Path::new("/dev/stdout")];
        self.path
            .as_deref()
            .is_some_and(|path| results.contains(&path))
    }
}

impl FromStr for Export {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, path) = match text.split_once('=') {
            Some((_, "")) => return Err("has no path after `=`".to_owned()),
            Some((word, path)) => (word, Some(process::resolve(Path::new(path)))),
            None => (text, None),
        };
        let existing = Format::ALL.map(Format::word).join("`, `");
        match Format::ALL.into_iter().find(|format| format.word() == word) {
            Some(format) => Ok(Self { format, path }),
            None => Err(format!("unknown format `{word}`; available: `{existing}`")),
        }
    }
}

/// Parses a path, relative to the working directory of the call.
pub(super) fn path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| process::resolve(&path))
}

/// The most agents of a cluster.
pub(crate) const MAX_AGENTS: usize = 10_000;

/// Parses a number of agents.
pub(crate) fn agents(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("no agent would generate the load; write `1` or more".to_owned()),
        Ok(agents) if agents > MAX_AGENTS => Err(format!("a run has at most {MAX_AGENTS} agents")),
        Ok(agents) => Ok(agents),
        Err(_) => Err("is not a number of agents; write for example `3`".to_owned()),
    }
}

/// Parses a length of time that is not nothing.
pub(super) fn limit(text: &str) -> Result<Duration, String> {
    match units::duration(text)? {
        Duration::ZERO => Err("leaves no time; write for example `1h`".to_owned()),
        time => Ok(time),
    }
}

/// Parses the name of an image of containers.
pub(super) fn image(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_whitespace) {
        return Err(
            "is not an image; write for example `registry.example.com/loadtest`".to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// Parses an amount of memory as Kubernetes has it.
pub(super) fn memory_of_pod(text: &str) -> Result<String, String> {
    memory(text, &["k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"], "1Gi")
}

/// Parses an amount of memory as Docker Compose has it.
pub(super) fn memory_of_service(text: &str) -> Result<String, String> {
    memory(text, &["b", "k", "kb", "m", "mb", "g", "gb"], "1g")
}

fn memory(text: &str, units: &[&str], example: &str) -> Result<String, String> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if number.parse::<u64>().is_ok_and(|number| number > 0) && units.contains(&unit) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "is not an amount of memory; write for example `{example}`"
    ))
}

/// Parses the address of a server that other machines reach.
pub(super) fn encrypted_server(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("tls://").unwrap_or_default();
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || "/@".contains(c)) {
        return Err(
            "is not an address of a server with TLS; write for example `tls://nats:4222`"
                .to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// A path that processes in other folders find too.
pub(super) fn absolute_path() -> impl TypedValueParser<Value = PathBuf> {
    path().try_map(|path| process::directory().map(|folder| folder.join(path)))
}

/// Parses a time of RFC 3339.
pub(super) fn time(text: &str) -> Result<Timestamp, String> {
    let wrong = |_| "is not a time; write for example `2026-01-31T12:00:00Z`".to_owned();
    text.parse().map_err(wrong)
}

/// `NAME=VALUE`, neither of which is empty.
pub(super) fn named_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("is not a name and value; write `owner=acme`".to_owned()),
    }
}

/// More is a slip of the keyboard.
const MOST_PER_SECOND: f64 = 1e6;
const MOST_USERS: u32 = 1_000_000;
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

pub(crate) fn rate(text: &str) -> Result<f64, String> {
    match units::rate(text)? {
        0.0 => Err("starts nothing; use at least `1/h`".to_owned()),
        rate if rate > MOST_PER_SECOND => Err("is too much; use at most `1000000/s`".to_owned()),
        rate => Ok(rate),
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match bounded_duration(text)? {
        Duration::ZERO => Err("must be longer than 0; use at least `1s`".to_owned()),
        time => Ok(time),
    }
}

/// The target of a grade.
pub(crate) fn apdex(text: &str) -> Result<Duration, String> {
    match bounded_duration(text)? {
        Duration::ZERO => Err("leaves no time; use for example `500ms`".to_owned()),
        time => Ok(time),
    }
}

/// A time that is measured; of less there is no percentile to speak of.
pub(super) fn window(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        time if time < Duration::from_secs(1) => Err("is too short; use at least `1s`".to_owned()),
        time => Ok(time),
    }
}

/// Rates are shown with three digits, so rates that differ by less than 1 % look the same.
pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    match units::share(text)? {
        share if share < 0.01 => Err("is too fine; use at least `1%`".to_owned()),
        share if share > 0.5 => Err("is too coarse; use at most `50%`".to_owned()),
        share => Ok(share),
    }
}

pub(crate) fn bounded_duration(text: &str) -> Result<Duration, String> {
    match units::duration(text)? {
        time if time > LONGEST => Err("is too long; use at most 30 days, `720h`".to_owned()),
        time => Ok(time),
    }
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let mistake = "is not a seed; write a whole number, as an earlier run printed it";
    text.parse().map_err(|_| mistake.to_owned())
}

pub(crate) fn users(text: &str) -> Result<u32, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("no user would send anything; use at least 1 user".to_owned()),
        Ok(users) if users > u64::from(MOST_USERS) => {
            Err(format!("is too much; use at most {MOST_USERS} users"))
        }
        Ok(users) => u32::try_from(users).map_err(|error| error.to_string()),
        Err(_) => Err("is not a number of users; write a whole number such as `50`".to_owned()),
    }
}

pub(crate) fn iterations(text: &str) -> Result<IterationCount, String> {
    let per_user = text.strip_suffix("/user");
    match (per_user.unwrap_or(text).parse(), per_user) {
        (Ok(0), _) => Err("runs nothing; use at least 1 iteration".to_owned()),
        (Ok(per_user), Some(_)) => Ok(IterationCount::PerUser { per_user }),
        (Ok(count), None) => Ok(IterationCount::Total(count)),
        (Err(_), _) => Err(
            "is not a number of iterations; write a whole number such as `1000`, or `20/user`"
                .to_owned(),
        ),
    }
}

pub(super) fn base_url(text: &str) -> Result<String, String> {
    let host = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"))
        .ok_or("is not a URL; write `http://` or `https://` and the host")?;
    if host.is_empty() || host.starts_with('/') {
        return Err("has no host; write for example `http://127.0.0.1:8080`".to_owned());
    }
    Ok(text.to_owned())
}

/// A number of things that is at least one.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("none would be left; write `1` or more".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("is not a whole number; write for example `5`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_nothing_is_refused() {
        assert!(rate("0/s").is_err());
        assert!(users("0").is_err());
        assert!(iterations("0").is_err() && iterations("0/user").is_err());
        assert_eq!(iterations("1000"), Ok(IterationCount::Total(1000)));
        let each = IterationCount::PerUser { per_user: 20 };
        assert_eq!(iterations("20/user"), Ok(each));
        assert!(iterations("20/users").is_err());
        assert!(duration("0s").is_err());
        assert_eq!(bounded_duration("0s"), Ok(Duration::ZERO));
    }

    #[test]
    fn a_slip_of_the_keyboard_is_no_load() {
        assert!(rate("1000000/s").is_ok() && rate("1000001/s").is_err());
        assert!(users("1000000").is_ok() && users("1000001").is_err());
        assert!(duration("720h").is_ok() && duration("721h").is_err());
        for text in ["99999999999h", "721h"] {
            let mistake = duration(text).unwrap_err();
            assert!(mistake.contains("at most 30 days"), "{mistake}");
            assert!(bounded_duration(text).is_err());
        }
        assert!(users("99999999999").unwrap_err().contains("too much"));
    }

    #[test]
    fn a_search_is_neither_too_fine_nor_too_coarse() {
        assert!(window("1s").is_ok() && window("900ms").is_err());
        assert!(tolerance("1%").is_ok() && tolerance("50%").is_ok());
        for text in ["0%", "0.5%", "51%", "5", "-5%"] {
            assert!(tolerance(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_must_be_whole() {
        assert_eq!(at_least_one("3"), Ok(3));
        for text in ["0", "-1", "1.5", ""] {
            assert!(at_least_one(text).is_err(), "{text}");
        }
        for text in ["-1", "1.5", "many", "", "99999999999"] {
            assert!(users(text).is_err(), "{text}");
        }
        assert!(iterations("1.5").is_err());
    }

    #[test]
    fn an_export_may_name_its_path() {
        let export: Export = "json=out/a=b.json".parse().unwrap();
        assert_eq!(export.path, Some(PathBuf::from("out/a=b.json")));
        let export: Export = "html".parse().unwrap();
        assert_eq!((export.format, export.path), (Format::Html, None));
    }

    #[test]
    fn a_format_that_does_not_exist_is_answered_with_those_that_do() {
        for format in Format::ALL {
            assert_eq!(format.word().parse::<Export>().unwrap().format, format);
        }
        let unknown = "yaml".parse::<Export>().unwrap_err();
        assert!(unknown.contains("unknown format `yaml`") && unknown.contains("`openmetrics`"));
        assert!("json=".parse::<Export>().is_err());
    }

    #[test]
    fn what_no_launcher_can_start_is_refused() {
        assert_eq!(limit("90s"), Ok(Duration::from_secs(90)));
        assert!(limit("0s").is_err());
        for (parse, good, bad) in [
            (
                image as fn(&str) -> Result<String, String>,
                "loadtest",
                ["", "a b"],
            ),
            (memory_of_pod, "512Mi", ["lots", "1g"]),
            (memory_of_service, "512m", ["0g", "1Gi"]),
            (
                encrypted_server,
                "tls://nats:4222",
                ["nats://10.0.0.1:4222", "foo"],
            ),
        ] {
            assert_eq!(parse(good).unwrap(), good);
            for text in bad {
                assert!(parse(text).is_err(), "{text:?}");
            }
        }
    }

    #[test]
    fn a_base_url_has_scheme_and_host() {
        assert!(base_url("http://127.0.0.1:80").is_ok());
        for text in ["127.0.0.1:80", "http://", "http:///x", "ftp://host"] {
            assert!(base_url(text).is_err(), "{text}");
        }
    }
}

//! What a target says of itself: the file by which its owner agrees to a load test, and takes that back.
//!
//! ```text
//! loadtest: 1
//! owner: shop-team@example.com
//! max-rate: 200/s
//! until: 2027-01-01
//! recheck: 60s
//! ```
//!
//! `loadtest` is the version of this format and comes first, `owner` is that of the entry in `loadtest.toml`;
//! the others may be left out.

use super::listed::{ListedTarget, parse_rate};
use std::time::{Duration, SystemTime};

/// The path of the file.
pub(crate) const PATH: &str = "/.well-known/loadtest-authorization";
/// It is no longer than this, in bytes.
pub(crate) const MAX_LENGTH: usize = 4096;
/// The default interval between two reads of the file.
const DEFAULT_RECHECK: Duration = Duration::from_secs(60);

/// The content of the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    owner: String,
    max_rate: Option<f64>,
    until: Option<(String, SystemTime)>,
    /// After how long to read it again.
    pub(crate) recheck: Duration,
}

impl Statement {
    /// Reads the file.
    ///
    /// # Errors
    /// Why it says nothing, in words.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut statement = Self {
            owner: String::new(),
            max_rate: None,
            until: None,
            recheck: DEFAULT_RECHECK,
        };
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        for (number, line) in (1..).zip(lines) {
            let (key, value) = line
                .split_once(':')
                .map(|(key, value)| (key.trim(), value.trim()))
                .ok_or_else(|| format!("line {number} is not `key: value`"))?;
            let wrong = |wanted: &str| format!("line {number}: `{key}` is {wanted}");
            match (number, key) {
                (1, "loadtest") if value == "1" => {}
                (1, "loadtest") => return Err(format!("it is of version {value:.20}, not 1")),
                (1, _) => return Err("it does not start with `loadtest: 1`".to_owned()),
                (_, "owner") => value.clone_into(&mut statement.owner),
                (_, "max-rate") => {
                    let rate = parse_rate(value).map_err(|_| wrong("a rate: `200/s`"))?;
                    statement.max_rate = Some(rate);
                }
                (_, "until") => {
                    let end = humantime::parse_rfc3339(&format!("{value}T00:00:00Z"));
                    let end = end.map_err(|_| wrong("a day: `2027-01-01`"))?;
                    statement.until = Some((value.to_owned(), end));
                }
                (_, "recheck") => {
                    let time = humantime::parse_duration(value);
                    let time = time.map_err(|_| wrong("a time: `60s`"))?;
                    statement.recheck = time.clamp(Duration::from_secs(1), DEFAULT_RECHECK);
                }
                // What a later version adds must not be passed over: it may forbid something.
                _ => return Err(format!("line {number}: the key `{key:.40}` is not known")),
            }
        }
        if statement.owner.is_empty() {
            return Err("it names no `owner`".to_owned());
        }
        Ok(statement)
    }

    /// Checks that the statement agrees to `entry` at the time `now`.
    ///
    /// # Errors
    /// Why not, in words.
    pub(crate) fn permits(&self, entry: &ListedTarget, now: SystemTime) -> Result<(), String> {
        if !self.owner.eq_ignore_ascii_case(&entry.owner) {
            return Err(format!(
                "its owner differs from line {} of `loadtest.toml`, which names `{}`",
                entry.line, entry.owner
            ));
        }
        if let Some((day, end)) = &self.until
            && now >= *end
        {
            return Err(format!("it held until {day}"));
        }
        match self.max_rate {
            Some(most) if entry.max_rate.is_none_or(|rate| rate > most) => Err(format!(
                "it allows {most}/s; write `max_rate = \"{most}/s\"`, or less, below line {} of `loadtest.toml`",
                entry.line
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(keys: &str) -> ListedTarget {
        let text =
            format!("[[targets]]\nhost = \"shop.test\"\nowner = \"Ada@shop.test\"\n{keys}\n");
        ListedTarget::read(&text).unwrap().remove(0)
    }

    fn verdict(file: &str, keys: &str) -> Result<(), String> {
        let now = humantime::parse_rfc3339("2026-11-21T12:00:00Z").unwrap();
        Statement::read(file).and_then(|said| said.permits(&entry(keys), now))
    }

    #[test]
    fn a_file_that_names_the_owner_permits() {
        assert_eq!(verdict("loadtest: 1\nowner: ada@shop.test\n", ""), Ok(()));
        let all = "\r\nloadtest: 1\r\n owner : ada@shop.test\r\nmax-rate: 200/s\nuntil: 2026-11-22\nrecheck: 5s\n";
        assert_eq!(verdict(all, "max_rate = \"200/s\""), Ok(()));
        assert_eq!(
            Statement::read(all).unwrap().recheck,
            Duration::from_secs(5)
        );
        let usual = Statement::read("loadtest: 1\nowner: a\n").unwrap();
        assert_eq!(usual.recheck, Duration::from_secs(60));
        let often = Statement::read("loadtest: 1\nowner: a\nrecheck: 1ms").unwrap();
        assert_eq!(often.recheck, Duration::from_secs(1));
    }

    #[test]
    fn anything_else_does_not() {
        for (file, keys, told) in [
            ("", "", "it names no `owner`"),
            ("<!doctype html>", "", "line 1 is not `key: value`"),
            (
                "owner: ada@shop.test",
                "",
                "it does not start with `loadtest: 1`",
            ),
            (
                "loadtest: 2\nowner: ada@shop.test",
                "",
                "it is of version 2, not 1",
            ),
            (
                "loadtest: 1\nowner: eve@shop.test",
                "",
                "its owner differs from line 1",
            ),
            (
                "loadtest: 1\nowner: ada@shop.test\npaths: /api",
                "",
                "the key `paths` is not known",
            ),
            (
                "loadtest: 1\nowner: ada@shop.test\nuntil: 2026-11-21",
                "",
                "it held until 2026-11-21",
            ),
            (
                "loadtest: 1\nowner: ada@shop.test\nuntil: soon",
                "",
                "`until` is a day",
            ),
            (
                "loadtest: 1\nowner: ada@shop.test\nmax-rate: 100/s",
                "",
                "it allows 100/s",
            ),
            (
                "loadtest: 1\nowner: ada@shop.test\nmax-rate: 100/s",
                "max_rate = \"101/s\"",
                "it allows 100/s",
            ),
        ] {
            let why = verdict(file, keys).unwrap_err();
            assert!(why.contains(told), "{file}: {why}");
        }
    }
}

//! `[[targets]]` of `loadtest.toml`: where a team may send load, and on what terms.
//!
//! The library reads this table by itself, so that `cargo test` is guarded as well as `cargo loadtest`; all
//! other tables are those of the tool.

mod reader;

use super::class::AddressClass;
use crate::targets::{Host, Scheme};
use ipnet::IpNet;
use loadtest_model::display;
use reader::{EntryValue, TargetEntry, read_entries};
use serde::{Serialize, Serializer};
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// All keys of a target.
pub(super) const KEYS: [&str; 9] = [
    "host",
    "scheme",
    "port",
    "owner",
    "max_rate",
    "max_in_flight",
    "max_duration",
    "addresses",
    "proof",
];

/// A target that may be tested: an entry of `[[targets]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTarget {
    /// The host, in its one spelling: a name in lower case without a final dot, or an address.
    pub(crate) host: String,
    /// The scheme; `https` where none is given.
    pub(crate) scheme: Scheme,
    /// The port; that of the scheme, where none is given.
    pub(crate) port: u16,
    /// The person who answers for the target and agreed to the test.
    pub(crate) owner: String,
    /// The most requests a second, those of redirects and retries included.
    pub(crate) max_rate: Option<f64>,
    /// The most requests under way at once.
    pub(crate) max_in_flight: Option<u32>,
    /// The longest load.
    pub(crate) max_duration: Option<Duration>,
    /// The addresses that the host may have. If empty, those that it has before the run.
    pub(crate) addresses: Vec<IpNet>,
    /// True if the target itself must state that it may be tested.
    pub(crate) proof: bool,
    /// The line of the entry in its file.
    pub line: usize,
}

/// Prints the target with what is asked for: `https://shop.test of ada, at most 200/s, for 30m`.
impl fmt::Display for ListedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.origin(), self.owner)?;
        if let Some(rate) = self.max_rate {
            write!(f, ", at most {}", display::format_exact_rate(rate))?;
        }
        if let Some(most) = self.max_in_flight {
            write!(f, ", {most} in flight")?;
        }
        if let Some(time) = self.max_duration {
            write!(f, ", for {}", humantime::format_duration(time))?;
        }
        for (at, net) in self.addresses.iter().enumerate() {
            write!(f, "{}{net}", if at == 0 { ", at " } else { ", " })?;
        }
        if self.proof {
            f.write_str(", if it says so itself")?;
        }
        Ok(())
    }
}

/// Serializes the target with the units in the names of its keys, as `config --json` prints it.
impl Serialize for ListedTarget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let addresses = self.addresses.iter().map(ToString::to_string);
        let micros = |time: Duration| u64::try_from(time.as_micros()).ok();
        json!({
            "line": self.line,
            "host": self.host,
            "scheme": self.scheme.name(),
            "port": self.port,
            "owner": self.owner,
            "max_rate_per_second": self.max_rate,
            "max_in_flight": self.max_in_flight,
            "max_duration_us": self.max_duration.and_then(micros),
            "addresses": addresses.collect::<Vec<_>>(),
            "proof": self.proof.then_some("well-known"),
        })
        .serialize(serializer)
    }
}

/// A mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// The line, counted from 1.
    pub line: usize,
    /// The mistake, and the correct form.
    pub message: String,
}

impl ListedTarget {
    /// Reads all entries of `[[targets]]` in the text of a `loadtest.toml`.
    ///
    /// # Errors
    /// Every mistake in these entries, and text that is no TOML.
    pub fn read(text: &str) -> Result<Vec<Self>, Vec<Mistake>> {
        let (entries, mut mistakes) = read_entries(text);
        let mut all = Vec::new();
        for entry in entries {
            all.extend(entry.into_target(&mut mistakes));
        }
        let mut lines = HashMap::new();
        for one in &all {
            let first = *lines
                .entry((&one.host, one.scheme, one.port))
                .or_insert(one.line);
            if first != one.line {
                mistakes.push(Mistake {
                    line: one.line,
                    message: format!(
                        "{} is listed twice; the first time in line {first}",
                        one.origin()
                    ),
                });
            }
        }
        if mistakes.is_empty() {
            Ok(all)
        } else {
            mistakes.sort();
            mistakes.dedup();
            Err(mistakes)
        }
    }

    /// `https://shop.staging.example.com`, with the port where it is not that of the scheme.
    pub(crate) fn origin(&self) -> String {
        if Some(self.port) == self.scheme.implied_port() {
            format!("{}://{}", self.scheme, self.host)
        } else {
            format!("{}://{}:{}", self.scheme, self.host, self.port)
        }
    }

    /// Returns whether the host may have `address`.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        self.addresses.is_empty() || self.addresses.iter().any(|net| net.contains(&address))
    }
}

impl TargetEntry {
    /// The target, unless something is wrong with it.
    fn into_target(self, mistakes: &mut Vec<Mistake>) -> Option<ListedTarget> {
        let before = mistakes.len();
        let mut listed = ListedTarget {
            host: String::new(),
            scheme: Scheme::Https,
            port: 0,
            owner: String::new(),
            max_rate: None,
            max_in_flight: None,
            max_duration: None,
            addresses: Vec::new(),
            proof: false,
            line: self.line,
        };
        let mut seen = BTreeSet::new();
        let mut port = None;
        for (key, value, line) in &self.values {
            let told = if seen.insert(key.clone()) {
                listed.set_key(key, value, &mut port)
            } else {
                Err(format!("`{key}` is set twice in this target"))
            };
            mistakes.extend(told.err().map(|message| Mistake {
                line: *line,
                message,
            }));
        }
        for (key, example) in [
            ("host", "shop.staging.example.com"),
            ("owner", "shop-team@example.com"),
        ] {
            if !seen.contains(key) {
                mistakes.push(Mistake {
                    line: self.line,
                    message: format!(
                        "a target needs `{key}`; write for example `{key} = \"{example}\"`"
                    ),
                });
            }
        }
        let scheme = listed.scheme;
        if listed.proof && !scheme.is_http() {
            mistakes.push(Mistake {
                line: self.line,
                message: format!(
                    "`proof` is read by HTTP, which a target with `scheme = \"{scheme}\"` does not speak; leave it out"
                ),
            });
        }
        match port.or(scheme.implied_port()) {
            Some(port) => listed.port = port,
            None => mistakes.push(Mistake {
                line: self.line,
                message: format!(
                    "a target with `scheme = \"{scheme}\"` needs `port`; write for example `port = 5432`"
                ),
            }),
        }
        (mistakes.len() == before).then_some(listed)
    }
}

impl ListedTarget {
    fn set_key(
        &mut self,
        key: &str,
        value: &EntryValue,
        port: &mut Option<u16>,
    ) -> Result<(), String> {
        match key {
            "host" => self.host = parse_host(text_value(key, value)?)?,
            "scheme" => {
                let name = text_value(key, value)?;
                self.scheme = Scheme::from_name(name).ok_or_else(|| {
                    format!(
                        "`scheme = \"{name}\"` is not one of `https`, `http`, `tcp`, `tls` and `udp`"
                    )
                })?;
            }
            "port" => {
                *port = Some(positive_number(key, value, "443").map_err(|_| {
                    "`port` is a number from 1 to 65535; write for example `port = 443`".to_owned()
                })?);
            }
            "owner" => match text_value(key, value)?.trim() {
                "" => {
                    return Err(
                        "`owner` is empty; name the person or team responsible for the target"
                            .to_owned(),
                    );
                }
                owner => owner.clone_into(&mut self.owner),
            },
            "max_rate" => self.max_rate = Some(parse_rate(text_value(key, value)?)?),
            "max_in_flight" => self.max_in_flight = Some(positive_number(key, value, "200")?),
            "max_duration" => {
                let written = text_value(key, value)?;
                let wrong = || {
                    format!("`max_duration = \"{written}\"` is not a time; write for example `30m`")
                };
                let time = humantime::parse_duration(written).map_err(|_| wrong())?;
                self.max_duration = Some(
                    Some(time)
                        .filter(|time| !time.is_zero())
                        .ok_or_else(wrong)?,
                );
            }
            "addresses" => {
                let EntryValue::List(list) = value else {
                    return Err(
                        "`addresses` is a list: `addresses = [\"10.20.0.0/16\"]`".to_owned()
                    );
                };
                for one in list {
                    self.addresses.push(parse_net(text_value(key, one)?)?);
                }
                if list.is_empty() {
                    return Err(
                        "`addresses` is an empty list, so that none is permitted; leave it out"
                            .to_owned(),
                    );
                }
            }
            "proof" => match text_value(key, value)? {
                "well-known" => self.proof = true,
                other => {
                    return Err(format!(
                        "`proof = \"{other}\"` is not known; write `well-known`, or leave it out"
                    ));
                }
            },
            _ => {
                let near = KEYS.iter().find(|known| is_one_edit_away(key, known));
                return Err(match near {
                    Some(near) => format!("unknown key `{key}`; did you mean `{near}`?"),
                    None => format!(
                        "unknown key `{key}`; a target has {}",
                        KEYS.map(|key| format!("`{key}`")).join(", ")
                    ),
                });
            }
        }
        Ok(())
    }
}

fn text_value<'v>(key: &str, value: &'v EntryValue) -> Result<&'v str, String> {
    match value {
        EntryValue::Text(text) => Ok(text),
        EntryValue::Number(digits) => Err(format!(
            "`{key}` is text; write it in quotes: `\"{digits}\"`"
        )),
        EntryValue::List(_) => Err(format!("`{key}` is text, not a list")),
        EntryValue::Other(kind) => Err(format!("`{key}` is text, not {kind}")),
    }
}

/// A whole number above zero.
fn positive_number<T: std::str::FromStr + Default + PartialEq>(
    key: &str,
    value: &EntryValue,
    example: &str,
) -> Result<T, String> {
    let digits = match value {
        EntryValue::Number(digits) => digits.replace('_', ""),
        _ => String::new(),
    };
    let number = digits.parse().ok().filter(|number| *number != T::default());
    number.ok_or_else(|| {
        format!("`{key}` is a whole number above 0; write for example `{key} = {example}`")
    })
}

/// `200/s`, `30/m`: a second.
pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("`max_rate = \"{text}\"` is not a rate; write for example `200/s`");
    let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let seconds = match unit.trim() {
        "s" => 1.0,
        "m" | "min" => 60.0,
        _ => return Err(wrong()),
    };
    if number > 0.0 && number.is_finite() {
        Ok(number / seconds)
    } else {
        Err(wrong())
    }
}

/// A host alone, in its one spelling.
fn parse_host(text: &str) -> Result<String, String> {
    if text.contains("://") || text.contains('/') {
        return Err(format!(
            "`host = \"{text}\"` is more than a host; use the keys `scheme` and `port`"
        ));
    }
    if text.contains('*') {
        return Err(format!(
            "`host = \"{text}\"` is not a host; list each host separately, without `*`"
        ));
    }
    let is_v6 = text.parse::<std::net::Ipv6Addr>().is_ok();
    let written = if is_v6 {
        format!("[{text}]")
    } else {
        text.to_owned()
    };
    let host = Host::parse(&written).map_err(|reason| format!("`host = \"{text}\"`: {reason}"))?;
    if let Host::Address(address) = &host
        && let AddressClass::Never(what) = AddressClass::from_address(*address)
    {
        return Err(format!(
            "`host = \"{text}\"` is {what}, which is never tested"
        ));
    }
    Ok(host.to_string())
}

fn parse_net(text: &str) -> Result<IpNet, String> {
    let alone = text.parse::<IpAddr>().map(IpNet::from);
    alone.or_else(|_| text.parse()).map_err(|_| {
        format!("`{text}` is neither an address nor a network; write for example `10.20.0.0/16`")
    })
}

/// Returns whether the words differ by one letter that is missing, added, wrong or swapped.
fn is_one_edit_away(word: &str, known: &str) -> bool {
    strsim::damerau_levenshtein(word, known) <= 2 && word.len() > 2
}

#[cfg(test)]
mod tests;

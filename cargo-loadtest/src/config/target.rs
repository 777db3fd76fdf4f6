//! `[[targets]]`: which hosts may be tested, and how much.
//!
//! They are read, checked and shown. Nothing heeds them yet: the library permits loopback and targets that
//! a scenario starts, so a run against one of these is refused, and says so.

use super::key::{BuiltIn, Given, Key, Kind, unknown};
use super::reader::{Reader, Value};
use crate::cli::values;
use std::net::IpAddr;
use std::time::Duration;

/// A host that may be tested.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Target {
    /// The line of the entry.
    pub(crate) line: usize,
    /// `host`: a name or an address.
    pub(crate) host: String,
    /// `scheme`: `http` or `https`; both, where nothing is said.
    pub(crate) scheme: Option<&'static str>,
    /// `port`; that of the scheme, where nothing is said.
    pub(crate) port: Option<u16>,
    /// `owner`: who agrees to the tests.
    pub(crate) owner: String,
    /// `max_rate`: the most requests a second.
    pub(crate) max_rate: Option<f64>,
    /// `max_in_flight`: the most requests at a time.
    pub(crate) max_in_flight: Option<u32>,
    /// `max_duration`: the longest load.
    pub(crate) max_duration: Option<Duration>,
    /// `addresses`: what the name may stand for: addresses, and networks as `10.20.0.0/16`.
    pub(crate) addresses: Vec<String>,
}

/// The keys of an entry.
pub(super) const KEYS: [Key<Target>; 8] = [
    Key {
        name: "host",
        kind: Kind::TEXT,
        example: "\"shop.staging.example.com\"",
        built_in: BuiltIn::Required,
        read: |given, target| {
            target.host = host(given.text())?;
            Ok(())
        },
    },
    Key {
        name: "scheme",
        kind: Kind::TEXT,
        example: "\"https\"",
        built_in: BuiltIn::Nothing("http and https"),
        read: |given, target| {
            target.scheme = match given.text() {
                "http" => Some("http"),
                "https" => Some("https"),
                word => {
                    let instead = unknown(word, &["http", "https"]);
                    return Err(format!("is no scheme; {instead}"));
                }
            };
            Ok(())
        },
    },
    Key {
        name: "port",
        kind: Kind::Whole,
        example: "8443",
        built_in: BuiltIn::Nothing("that of the scheme"),
        read: |given, target| {
            let port = given.text().parse().ok().filter(|port| *port > 0);
            target.port = Some(port.ok_or("is no port; use a number from 1 to 65535")?);
            Ok(())
        },
    },
    Key {
        name: "owner",
        kind: Kind::TEXT,
        example: "\"shop-team@example.com\"",
        built_in: BuiltIn::Required,
        read: |given, target| {
            target.owner = given.name()?;
            Ok(())
        },
    },
    Key {
        name: "max_rate",
        kind: Kind::Text { unit: "/s" },
        example: "\"200/s\"",
        built_in: BuiltIn::Nothing("no limit"),
        read: |given, target| {
            target.max_rate = Some(values::rate(given.text())?);
            Ok(())
        },
    },
    Key {
        name: "max_in_flight",
        kind: Kind::Whole,
        example: "400",
        built_in: BuiltIn::Nothing("no limit"),
        read: |given, target| {
            let most = given.text().parse().ok().filter(|most| *most > 0);
            let most = most.ok_or("is no number of requests; write `400`, at least `1`")?;
            target.max_in_flight = Some(most);
            Ok(())
        },
    },
    Key {
        name: "max_duration",
        kind: Kind::Text { unit: "m" },
        example: "\"30m\"",
        built_in: BuiltIn::Nothing("no limit"),
        read: |given, target| {
            target.max_duration = Some(values::duration(given.text())?);
            Ok(())
        },
    },
    Key {
        name: "addresses",
        kind: Kind::List,
        example: "[\"10.20.0.0/16\"]",
        built_in: BuiltIn::Nothing("what the name stands for"),
        read: |given, target| {
            target.addresses = addresses(given)?;
            Ok(())
        },
    },
];

/// Reads the entries.
pub(super) fn read(value: Value<'_, '_>, reader: &mut Reader<'_>) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for (line, mut target) in reader.entries("targets", value, &KEYS) {
        target.line = line;
        let place = |target: &Target| (target.host.clone(), target.scheme, target.port);
        let same = targets.iter().find(|known| place(known) == place(&target));
        if let Some(same) = same.filter(|same| !same.host.is_empty()) {
            let message = format!("`{}` is named already, by line {}", same.host, same.line);
            reader.mistake_in(line, message);
        }
        targets.push(target);
    }
    targets
}

/// A host as a URL names it: without scheme, port and path, and none that needs no entry.
fn host(text: &str) -> Result<String, String> {
    const EXAMPLE: &str = "write for example `shop.staging.example.com`";
    let text = text.trim().trim_end_matches('.');
    if text.contains("://") || text.contains('/') {
        return Err(format!(
            "is a URL; write its host only, and `scheme` and `port` on lines of their own; {EXAMPLE}"
        ));
    }
    if text.contains('*') {
        return Err(format!(
            "stands for many hosts; name each of them; {EXAMPLE}"
        ));
    }
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        let address = address.to_canonical();
        if address.is_loopback() {
            return Err(needless());
        }
        if is_never_tested(address) {
            return Err(
                "is an address that is never tested: of no host, of many, or of the link only"
                    .to_owned(),
            );
        }
        return Ok(address.to_string());
    }
    if text.eq_ignore_ascii_case("localhost") {
        return Err(needless());
    }
    if text.contains(':') {
        return Err(format!(
            "has a port; write `port` on a line of its own; {EXAMPLE}"
        ));
    }
    match url::Host::parse(text) {
        Ok(host) => Ok(host.to_string()),
        Err(_) => Err(format!("is no host; {EXAMPLE}")),
    }
}

/// Limits on loopback would not be heeded.
fn needless() -> String {
    "is this machine, which may be tested without an entry; leave it out".to_owned()
}

fn is_never_tested(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_link_local()
                || address.is_multicast()
                || address.is_unspecified()
                || address.is_broadcast()
        }
        IpAddr::V6(address) => {
            address.is_unicast_link_local() || address.is_multicast() || address.is_unspecified()
        }
    }
}

fn addresses(given: &Given<'_>) -> Result<Vec<String>, String> {
    let check = |word: &String| {
        let (address, length) = match word.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (word.as_str(), None),
        };
        let longest = match address.parse() {
            Ok(IpAddr::V4(_)) => 32,
            Ok(IpAddr::V6(_)) => 128,
            Err(_) => 0,
        };
        let fits = |length: &str| length.parse().is_ok_and(|length: u8| length <= longest);
        if longest > 0 && length.is_none_or(fits) {
            Ok(word.clone())
        } else {
            Err(format!(
                "`{word}` is no address; write `10.20.0.7`, or a network such as `10.20.0.0/16`"
            ))
        }
    };
    given.words.iter().map(check).collect()
}

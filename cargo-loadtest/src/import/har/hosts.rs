//! Which hosts an archive is about: those of the site whose page was opened first.
//!
//! Two hosts are of one site if they end in the same name that somebody can register: the last two labels, or three
//! where the second last is one of the usual ones below a country (`shop.co.uk`). Where hosts are given away below a
//! common name (`somebody.github.io`) each one is a site, as is an address; loopback is one site, whatever it is
//! called.

use super::super::source::Note;
use super::archive::Entry;
use super::kinds::Kind;
use std::collections::HashMap;
use url::{Host, Url};

/// Names below which, in a country, names are registered.
const BELOW_COUNTRIES: [&str; 11] = [
    "ac", "co", "com", "edu", "go", "gob", "gov", "gv", "ne", "net", "org",
];
/// Names below which everybody has hosts.
const SHARED: [&str; 22] = [
    "amazonaws.com",
    "appspot.com",
    "azurewebsites.net",
    "cloudapp.net",
    "cloudfront.net",
    "deno.dev",
    "firebaseapp.com",
    "fly.dev",
    "github.dev",
    "github.io",
    "gitlab.io",
    "herokuapp.com",
    "netlify.app",
    "ngrok-free.app",
    "ngrok.io",
    "onrender.com",
    "pages.dev",
    "run.app",
    "up.railway.app",
    "vercel.app",
    "web.app",
    "workers.dev",
];

/// The hosts whose requests are kept.
#[derive(Debug)]
pub(super) enum Hosts {
    /// These, as `host` or `host:port`, in lower case.
    Named(Vec<String>),
    /// Those of a site; all of them where nothing can be told.
    Site(Option<String>),
}

impl Hosts {
    /// The hosts that are asked for, or else those of the site of the first document, or else of most calls.
    pub(super) fn of(entries: &[Entry<'_>], kinds: &[Kind], named: &[String]) -> Self {
        if !named.is_empty() {
            let named = named.iter().map(|host| plain(host));
            return Self::Named(named.collect());
        }
        let documents = || {
            let both = entries.iter().zip(kinds);
            both.filter(|(_, kind)| **kind == Kind::Document)
                .map(|(entry, _)| entry)
        };
        // A page that leads elsewhere, such as a short link, is not what was visited.
        let shown = documents().find(|entry| {
            entry
                .status
                .is_some_and(|status| (200..300).contains(&status) || status == 304)
        });
        if let Some(document) = shown.or_else(|| documents().next()) {
            return Self::Site(site(&document.url));
        }
        let mut sites: HashMap<String, usize> = HashMap::new();
        let calls = entries
            .iter()
            .zip(kinds)
            .filter(|(_, kind)| **kind == Kind::Call);
        let mut most: Option<(usize, String)> = None;
        for site in calls.filter_map(|(entry, _)| site(&entry.url)) {
            let count = sites.entry(site.clone()).or_default();
            *count += 1;
            if most.as_ref().is_none_or(|(most, _)| *count > *most) {
                most = Some((*count, site));
            }
        }
        Self::Site(most.map(|(_, site)| site))
    }

    /// Whether requests to this URL are kept.
    pub(super) fn has(&self, url: &Url) -> bool {
        match self {
            Self::Site(None) => true,
            Self::Site(own) => site(url) == *own,
            Self::Named(named) => {
                let host = url.host_str().unwrap_or_default();
                let with_port = format!("{host}:{}", url.port_or_known_default().unwrap_or(0));
                named
                    .iter()
                    .any(|named| named == host || *named == with_port)
            }
        }
    }
}

/// A host as URLs have it, where it was given with a scheme, a path or in capitals.
fn plain(host: &str) -> String {
    let host = host.trim();
    let host = host.split_once("://").map_or(host, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    host.to_ascii_lowercase()
}

/// The origin that most requests have, unless it is that of the first one.
pub(super) fn base<'a>(origins: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut first = None;
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut most: Option<(usize, &str)> = None;
    for origin in origins {
        first.get_or_insert(origin);
        let count = counts.entry(origin).or_default();
        *count += 1;
        if most.is_none_or(|(most, _)| *count > most) {
            most = Some((*count, origin));
        }
    }
    let most = most.map(|(_, origin)| origin);
    most.filter(|most| Some(*most) != first).map(str::to_owned)
}

/// Says that most of what the page asks for goes to a host of another site, and how to keep that; `kept` is what is.
pub(super) fn passed_over(
    entries: &[Entry<'_>],
    kinds: &[Kind],
    kept: &[Option<Kind>],
) -> Option<Note> {
    let left_out = entries.iter().zip(kinds).zip(kept);
    let left_out = left_out.filter(|((_, kind), kept)| **kind == Kind::Call && kept.is_none());
    // What is sent to be measured is hardly answered with data.
    let calls: Vec<&Entry<'_>> = left_out
        .map(|((entry, _), _)| entry)
        .filter(|entry| entry.mime().ends_with("json"))
        .collect();
    let host = busiest(calls.iter().copied())?;
    let mut there = calls
        .iter()
        .filter(|entry| entry.url.host_str() == Some(host.as_str()));
    let first = there.next()?;
    let count = there.count() + 1;
    let mut own = entries.iter().zip(kept).filter(|(_, kept)| kept.is_some());
    let (page, _) = own.next()?;
    let own_count = own.count() + 1;
    let own = page.url.host_str()?;
    (count > own_count && own != host).then(|| {
        let words = format!(
            "{count} calls go to a host of another site and are left out: `--host {own} --host {host}` keeps them, too"
        );
        Note::new(first.span.clone(), words)
    })
}

/// The host to which most requests go.
pub(super) fn busiest<'a>(entries: impl Iterator<Item = &'a Entry<'a>>) -> Option<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for host in entries.filter_map(|entry| entry.url.host_str()) {
        *counts.entry(host).or_default() += 1;
    }
    let most = counts
        .into_iter()
        .max_by_key(|(host, count)| (*count, std::cmp::Reverse(*host)));
    most.map(|(host, _)| host.to_owned())
}

/// What the hosts of one owner have in common.
fn site(url: &Url) -> Option<String> {
    let name = match url.host()? {
        Host::Domain(name) => name.trim_end_matches('.'),
        Host::Ipv4(address) if address.is_loopback() => "localhost",
        Host::Ipv6(address) if address.is_loopback() => "localhost",
        address => return Some(address.to_string()),
    };
    if name == "localhost" || name.ends_with(".localhost") {
        return Some("localhost".to_owned());
    }
    let is_shared = SHARED.iter().any(|shared| {
        name.strip_suffix(shared)
            .is_some_and(|before| before.is_empty() || before.ends_with('.'))
    });
    if is_shared {
        return Some(name.to_owned());
    }
    let labels: Vec<&str> = name.rsplit('.').collect();
    let is_country = labels[0].len() == 2;
    let takes = match labels.get(1) {
        Some(second) if is_country && BELOW_COUNTRIES.contains(second) => 3,
        _ => 2,
    };
    let mut own: Vec<&str> = labels.into_iter().take(takes).collect();
    own.reverse();
    Some(own.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site_of(url: &str) -> String {
        site(&Url::parse(url).unwrap()).unwrap()
    }

    #[test]
    fn hosts_of_one_owner_are_one_site() {
        for (url, name) in [
            ("https://www.example.com/a", "example.com"),
            ("https://api.eu.example.com:8443/", "example.com"),
            ("https://shop.example.co.uk/", "example.co.uk"),
            ("https://a.github.io/", "a.github.io"),
            ("https://example.de/", "example.de"),
            ("https://co.de/", "co.de"),
            ("http://localhost:3000/", "localhost"),
            ("http://127.0.0.1:8080/", "localhost"),
            ("http://[::1]/", "localhost"),
            ("http://192.0.2.7/", "192.0.2.7"),
            ("http://intranet/", "intranet"),
        ] {
            assert_eq!(site_of(url), name, "{url}");
        }
    }

    #[test]
    fn a_named_host_is_that_host_alone() {
        let named =
            |host: &str, url: &str| Hosts::Named(vec![plain(host)]).has(&Url::parse(url).unwrap());
        assert!(named("API.example.com", "https://api.example.com/a"));
        assert!(named(
            "https://api.example.com/",
            "https://api.example.com/a"
        ));
        assert!(named("h:443", "https://h/") && named("h", "http://h:81/"));
        assert!(
            !named("example.com", "https://api.example.com/") && !named("h:80", "http://h:81/")
        );
    }

    #[test]
    fn the_base_is_where_most_requests_go() {
        assert_eq!(base(["a", "b", "b"].into_iter()).as_deref(), Some("b"));
        assert_eq!(base(["a", "b", "b", "a"].into_iter()).as_deref(), Some("b"));
        assert_eq!(base(["a", "b"].into_iter()), None);
    }
}

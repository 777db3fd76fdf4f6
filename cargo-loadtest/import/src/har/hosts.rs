//! Selects the hosts to keep: by default those of the site whose page was opened first.
//!
//! Two hosts are of one site if they end in the same registrable name. That is the last two labels, or three where
//! the second last is a usual one below a country (`shop.co.uk`). Below shared domains (`example.github.io`) each
//! host is a site, as is an address. All loopback names are one site.

use super::entry::HarEntry;
use super::kinds::{EntryKind, is_listed, list_patterns};
use crate::text::most_frequent;
use url::{Host, Url};

/// Hosts whose requests are kept.
#[derive(Debug)]
pub(super) enum HostFilter {
    /// These, as `host` or `host:port`, in lower case.
    Named(Vec<String>),
    /// The hosts of a site, or all hosts if the site is unknown.
    Site(Option<String>),
}

impl HostFilter {
    /// Keeps the named hosts, else the site of the first document, else the site with most calls.
    pub(super) fn new(entries: &[HarEntry<'_>], kinds: &[EntryKind], named: &[String]) -> Self {
        if !named.is_empty() {
            return Self::Named(named.iter().map(|host| normalize_host(host)).collect());
        }
        let of_kind = |wanted: EntryKind| {
            let entries = entries.iter().zip(kinds);
            entries.filter_map(move |(entry, kind)| (*kind == wanted).then_some(entry))
        };
        // A page that redirects, such as a short link, is not the one that was visited.
        let is_shown = |entry: &&HarEntry<'_>| matches!(entry.status, Some(200..=299 | 304));
        let mut documents = of_kind(EntryKind::Document);
        let document = documents
            .clone()
            .find(is_shown)
            .or_else(|| documents.next());
        if let Some(document) = document {
            return Self::Site(find_site(&document.url));
        }
        let sites = of_kind(EntryKind::Call).filter_map(|entry| find_site(&entry.url));
        Self::Site(most_frequent(sites))
    }

    /// Returns whether requests to this URL are kept.
    pub(super) fn accepts(&self, url: &Url) -> bool {
        match self {
            Self::Site(None) => true,
            Self::Site(own) => find_site(url) == *own,
            Self::Named(named) => {
                let host = url.host_str().unwrap_or_default();
                let with_port = format!("{host}:{}", url.port_or_known_default().unwrap_or(0));
                named
                    .iter()
                    .any(|named| *named == host || *named == with_port)
            }
        }
    }
}

/// Removes the scheme and the path from a host, and lowers its letters.
fn normalize_host(host: &str) -> String {
    let host = host.trim();
    let host = host.split_once("://").map_or(host, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    host.to_ascii_lowercase()
}

/// Returns the most frequent origin, unless it is the first one.
pub(super) fn busiest_origin<'a>(origins: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut origins = origins.peekable();
    let first = origins.peek().copied();
    let most = most_frequent(origins);
    most.filter(|_| most != first).map(str::to_owned)
}

/// Returns the name that the hosts of one site share.
fn find_site(url: &Url) -> Option<String> {
    let name = match url.host()? {
        Host::Domain(name) => name.trim_end_matches('.'),
        Host::Ipv4(address) if address.is_loopback() => "localhost",
        Host::Ipv6(address) if address.is_loopback() => "localhost",
        address => return Some(address.to_string()),
    };
    if name == "localhost" || name.ends_with(".localhost") {
        return Some("localhost".to_owned());
    }
    let is_shared = list_patterns("shared domains").any(|shared| {
        let before = name.strip_suffix(shared);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    });
    if is_shared {
        return Some(name.to_owned());
    }
    let labels: Vec<&str> = name.split('.').collect();
    let length = match labels.as_slice() {
        [.., second, country]
            if country.len() == 2 && is_listed("names below countries", second) =>
        {
            3
        }
        _ => 2,
    };
    Some(labels[labels.len().saturating_sub(length)..].join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site_of(url: &str) -> String {
        find_site(&Url::parse(url).unwrap()).unwrap()
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
        let named = |host: &str, url: &str| {
            HostFilter::Named(vec![normalize_host(host)]).accepts(&Url::parse(url).unwrap())
        };
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
        assert_eq!(
            busiest_origin(["a", "b", "b"].into_iter()).as_deref(),
            Some("b")
        );
        assert_eq!(
            busiest_origin(["a", "b", "b", "a"].into_iter()).as_deref(),
            Some("b")
        );
        assert_eq!(busiest_origin(["a", "b"].into_iter()), None);
    }
}

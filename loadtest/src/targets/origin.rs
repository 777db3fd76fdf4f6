//! The origin of a URL: scheme, host and port, in one spelling each.

use super::Scheme;
use http::uri::Authority;
use http::{HeaderValue, Uri};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Scheme, host and port of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) scheme: Scheme,
    /// The host.
    pub(crate) host: Host,
    /// The port, that of the scheme where the URL names none.
    pub(crate) port: u16,
}

/// A host in its one spelling: lower case, without a trailing dot, numbers as addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// An address; an IPv4 address mapped into IPv6 is that IPv4 address.
    Address(IpAddr),
    /// A name.
    Name(String),
}

impl Origin {
    /// Reads the origin of an absolute URL for HTTP, or says why it has none.
    pub(crate) fn from_uri(uri: &Uri) -> Result<Self, Cow<'static, str>> {
        let name = uri.scheme_str().ok_or("it has no scheme")?;
        match Scheme::from_name(name) {
            Some(scheme) if scheme.is_http() => Self::with_scheme(scheme, uri),
            _ => Err(format!("the scheme `{name}` is neither http nor https").into()),
        }
    }

    /// Reads what a client of the scenario's own connects to, such as `tcp://127.0.0.1:5432`, or says what is wrong
    /// with it.
    pub(crate) fn of_socket(url: &str) -> Result<Self, Cow<'static, str>> {
        let uri: Uri = url.parse().map_err(|error| format!("{error}"))?;
        let scheme = match uri.scheme_str().map(Scheme::from_name) {
            Some(Some(scheme)) if !scheme.is_http() => scheme,
            _ => return Err("it must start with `tcp://`, `tls://` or `udp://`".into()),
        };
        let has_path = uri
            .path_and_query()
            .is_some_and(|path| path.as_str() != "/");
        if has_path || url.contains('@') {
            return Err("it must be only a host and a port".into());
        }
        Self::with_scheme(scheme, &uri)
    }

    fn with_scheme(scheme: Scheme, uri: &Uri) -> Result<Self, Cow<'static, str>> {
        let authority = uri.authority().ok_or("it has no host")?;
        if authority.as_str().contains('@') {
            return Err("it holds a user name; use a header for credentials".into());
        }
        Ok(Self {
            scheme,
            host: Host::parse(authority.host())?,
            port: parse_port(authority)?
                .or(scheme.implied_port())
                .ok_or("it names no port")?,
        })
    }

    /// The value of the `host` header: without the port that the scheme implies.
    pub(crate) fn host_header(&self) -> HeaderValue {
        let text = match self.port {
            port if Some(port) == self.scheme.implied_port() => self.host.to_string(),
            port => format!("{}:{port}", self.host),
        };
        HeaderValue::try_from(text).unwrap_or_else(|_| unreachable!("a host is ASCII"))
    }
}

fn parse_port(authority: &Authority) -> Result<Option<u16>, Cow<'static, str>> {
    let after_host = authority
        .as_str()
        .get(authority.host().len()..)
        .unwrap_or_default();
    match after_host.strip_prefix(':') {
        None | Some("") => Ok(None),
        Some(text) => match text.parse() {
            Ok(port) if port != 0 => Ok(Some(port)),
            _ => Err(format!("`{text}` is not a port").into()),
        },
    }
}

impl Host {
    /// Reads the host of a URL, an IPv6 address in brackets.
    pub(crate) fn parse(text: &str) -> Result<Self, Cow<'static, str>> {
        if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            let address: Ipv6Addr = inner
                .parse()
                .map_err(|_| format!("`{text}` is not an IPv6 address"))?;
            return Ok(Self::Address(address.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if name.is_empty() {
            return Err("it has no host".into());
        }
        let well_formed = name.split('.').all(|label| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        });
        if !well_formed {
            return Err(format!("`{text}` is not a host name").into());
        }
        // As browsers have it: a host whose last label is a number is an IPv4 address or nothing.
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.bytes().all(|b| b.is_ascii_digit()) || parse_ipv4_number(last).is_some() {
            return match parse_ipv4(&name) {
                Some(address) => Ok(Self::Address(address.into())),
                None => Err(format!("`{text}` is not an IPv4 address").into()),
            };
        }
        Ok(Self::Name(name))
    }

    /// Returns whether the name always means this machine, whatever a name server answers (RFC 6761).
    pub(crate) fn is_localhost(&self) -> bool {
        matches!(self, Self::Name(name) if name == "localhost" || name.ends_with(".localhost"))
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        if Some(self.port) == self.scheme.implied_port() {
            Ok(())
        } else {
            write!(f, ":{}", self.port)
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// Reads an IPv4 address as `inet_aton` and browsers do: `127.1`, `0x7f.1`, `2130706433`.
fn parse_ipv4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = text
        .split('.')
        .map(parse_ipv4_number)
        .collect::<Option<_>>()?;
    let (last, front) = parts.split_last()?;
    if front.len() > 3 || front.iter().any(|part| *part > 255) {
        return None;
    }
    let free_bits = 8 * (4 - front.len() as u32);
    if *last >= 1 << free_bits {
        return None;
    }
    let address = front
        .iter()
        .enumerate()
        .fold(*last, |sum, (i, part)| sum | part << (24 - 8 * i));
    u32::try_from(address).ok().map(Ipv4Addr::from_bits)
}

/// A decimal, octal (`0177`) or hexadecimal (`0x7f`) number.
fn parse_ipv4_number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some("") => return Some(0),
        Some(hex) => (hex, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    let plain = digits.bytes().all(|b| b.is_ascii_alphanumeric());
    plain
        .then(|| u64::from_str_radix(digits, radix).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(url: &str) -> Result<Origin, String> {
        let uri: Uri = url.parse().map_err(|e| format!("{e}"))?;
        Origin::from_uri(&uri).map_err(Cow::into_owned)
    }

    fn address(url: &str) -> IpAddr {
        match origin(url).unwrap().host {
            Host::Address(address) => address,
            Host::Name(name) => panic!("{url}: the name `{name}`"),
        }
    }

    #[test]
    fn every_spelling_of_an_address_is_that_address() {
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.1",
            "0X7F.0.0.0x1",
            "0177.1",
            "2130706433",
            "0x7f000001",
            "127.0.0.1.",
            "[::ffff:127.0.0.1]",
            "[::FFFF:7f00:1]",
        ] {
            assert_eq!(
                address(&format!("http://{host}/")),
                Ipv4Addr::LOCALHOST,
                "{host}"
            );
        }
        assert_eq!(
            address("http://[::ffff:10.0.0.1]/"),
            Ipv4Addr::new(10, 0, 0, 1)
        );
        assert_eq!(address("http://0xa.1/"), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(address("http://[::1]:80/"), Ipv6Addr::LOCALHOST);
    }

    #[test]
    fn a_broken_number_is_no_name() {
        for host in [
            "127.0.0.256",
            "1.2.3.4.5",
            "4294967296",
            "256.1",
            "1.0x",
            "08",
            "evil.1",
        ] {
            assert!(
                !matches!(
                    origin(&format!("http://{host}/")),
                    Ok(Origin {
                        host: Host::Name(_),
                        ..
                    })
                ),
                "{host}"
            );
        }
    }

    #[test]
    fn names_are_lowered_and_lose_their_final_dot() {
        let written = origin("http://LocalHost.:8080/").unwrap();
        assert_eq!(written, origin("HTTP://localhost:8080").unwrap());
        assert!(written.host.is_localhost());
        assert!(origin("http://shop.localhost").unwrap().host.is_localhost());
        assert!(
            !origin("http://localhost.evil.test")
                .unwrap()
                .host
                .is_localhost()
        );
        assert!(!origin("http://notlocalhost").unwrap().host.is_localhost());
    }

    #[test]
    fn user_names_strange_ports_and_schemes_are_refused() {
        for url in [
            "http://localhost@evil.test/",
            "http://user:secret@localhost/",
            "http://127.0.0.1:0/",
            "http://127.0.0.1:65536/",
            "http://127.0.0.1:http/",
            "ftp://127.0.0.1/",
            "http://a..b/",
            "http://[fe80::1%25lo]/",
            "/only/a/path",
        ] {
            assert!(origin(url).is_err(), "{url}");
        }
    }

    #[test]
    fn the_port_of_the_scheme_is_implied() {
        assert_eq!(origin("http://h").unwrap().port, 80);
        assert_eq!(origin("https://h:").unwrap().port, 443);
        assert_eq!(origin("https://h:443").unwrap().host_header(), "h");
        assert_eq!(
            origin("http://[::1]:443").unwrap().host_header(),
            "[::1]:443"
        );
    }
}

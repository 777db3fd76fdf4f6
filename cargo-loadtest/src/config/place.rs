//! The places of sinks and sources: URLs and addresses, and what may be told of them.

use std::net::{IpAddr, SocketAddr};
use url::{Host, Url};

/// A secret would go unencrypted to another machine.
pub(crate) const OPEN_SECRET: &str = "a secret would go to another host over plain `http`; write `https`, or \
                                      `insecure = true` if that is intended";

/// Returns true if what is sent there can be read on the way.
pub(crate) fn is_open_to_others(url: &Url) -> bool {
    url.scheme() == "http" && !is_loopback(url)
}

/// Returns true if a URL is of this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(is_loopback_host)
}

/// Returns true if a host, as it stands in a URL or before the port of an address, is this machine, whatever a name server
/// answers (RFC 6761).
pub(crate) fn is_loopback_host(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(&name);
            name == "localhost" || name.ends_with(".localhost")
        }
        Ok(Host::Ipv4(ip)) => ip.is_loopback(),
        Ok(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
        // Without brackets.
        Err(_) => (host.parse()).is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback()),
    }
}

/// Reads an address to listen at.
pub(super) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "is not an address and port; write `127.0.0.1:9646`".to_owned())
}

/// Reads host and port of a receiver.
pub(super) fn parse_address(text: &str) -> Result<String, String> {
    let is_address = text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && port.parse().is_ok_and(|port: u16| port > 0)
    });
    if is_address {
        Ok(text.to_owned())
    } else {
        Err("is not a host and port; write `127.0.0.1:8125`".to_owned())
    }
}

/// A URL that figures can be sent to. What is wrong is told without it: its path may be a secret.
pub(crate) fn sink_url(text: &str) -> Result<Url, String> {
    parse_http_url(text, "http://127.0.0.1:4318")
}

/// The same with another example.
pub(super) fn parse_http_url(text: &str, example: &str) -> Result<Url, String> {
    let example = format!("write for example `{example}`");
    let url = Url::parse(text).map_err(|error| format!("is not a URL ({error}); {example}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(format!(
            "starts with neither `http://` nor `https://`; {example}"
        ));
    }
    let is_secret = |(name, _): (std::borrow::Cow<'_, str>, _)| {
        matches!(&*name, "u" | "p") || loadtest::redact::is_secret_name(&name)
    };
    let has_user = !url.username().is_empty() || url.password().is_some();
    if has_user || url.query_pairs().any(is_secret) {
        return Err(
            "holds a user name, a password or a token, which must not be in a URL; `token_env`, `basic_env` \
             and `header_env` name the variables with these values"
                .to_owned(),
        );
    }
    Ok(url)
}

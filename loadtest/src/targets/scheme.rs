//! The scheme of a target: how it is spoken to.

use std::fmt;

/// How a target is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    Http,
    Https,
    /// Bytes of a client of the scenario's own.
    Tcp,
    /// The same within TLS.
    Tls,
    /// Datagrams of a client of the scenario's own.
    Udp,
}

impl Scheme {
    const ALL: [Self; 5] = [Self::Https, Self::Http, Self::Tcp, Self::Tls, Self::Udp];

    /// The scheme of this name in lower case.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Udp => "udp",
        }
    }

    /// The port that a URL means which names none.
    pub(crate) const fn implied_port(self) -> Option<u16> {
        match self {
            Self::Http => Some(80),
            Self::Https => Some(443),
            Self::Tcp | Self::Tls | Self::Udp => None,
        }
    }

    /// Returns true for HTTP, with TLS or without.
    pub(crate) const fn is_http(self) -> bool {
        matches!(self, Self::Http | Self::Https)
    }

    /// Returns true if the target is spoken to within TLS.
    pub(crate) const fn is_tls(self) -> bool {
        matches!(self, Self::Https | Self::Tls)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

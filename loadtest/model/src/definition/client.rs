//! How the virtual users of a scenario talk HTTP.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

type Text = Cow<'static, str>;

/// The HTTP settings of the virtual users of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Client {
    /// The version of the protocol: `http = 2`.
    pub http: HttpVersion,
    /// The HTTP/2 connections to an origin that the users of all workers share: `connections = 8`. Without it, each user
    /// has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// True if each iteration opens connections of its own, as new visitors do: `connections = new`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub new_connections: bool,
    /// The lifetime of a cookie: `cookies = user`.
    pub cookies: Cookies,
    /// For how long the addresses of a host serve: `dns = ttl`.
    pub dns: Dns,
    /// True if the certificate of the target is not checked: `insecure = true`.
    pub insecure: bool,
    /// A PEM file of certificates to trust besides those of the system: `ca = "certs/ca.pem"`.
    /// Relative to the scenario's package.
    pub ca: Option<Text>,
    /// A PEM file with the certificate and the private key of the client: `identity = "client.pem"`.
    /// Relative to the scenario's package.
    pub identity: Option<Text>,
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpVersion {
    /// The version that the target chooses by ALPN over TLS; HTTP/1.1 in the clear.
    #[default]
    Negotiated,
    /// HTTP/1.1 and nothing else.
    Http1,
    /// HTTP/2 and nothing else: by prior knowledge in the clear.
    Http2,
    /// HTTP/3 and nothing else.
    Http3,
}

/// The lifetime of a cookie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cookies {
    /// For the iteration; for the user where a step of the scenario runs `once`.
    #[default]
    Iteration,
    /// For all iterations of the virtual user.
    User,
    /// Not at all: none is sent but those that a step sets.
    Off,
}

/// For how long the addresses of a host serve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dns {
    /// For the whole run: each host is looked up once, before it.
    #[default]
    Pinned,
    /// For as long as the system says: new connections look the host up again.
    Ttl,
}

impl Client {
    /// The settings of a scenario that declares none.
    pub const DEFAULT: Self = Self {
        http: HttpVersion::Negotiated,
        connections: None,
        new_connections: false,
        cookies: Cookies::Iteration,
        dns: Dns::Pinned,
        insecure: false,
        ca: None,
        identity: None,
    };
}

impl Default for Client {
    fn default() -> Self {
        Self::DEFAULT
    }
}

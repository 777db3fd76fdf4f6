//! The bytes and the phases of one request.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::time::Duration;

/// The requests and bytes of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests written: 0 when no connection came about, 2 after a retry, one more for each redirect.
    pub requests: u32,
    /// The redirects followed, each with a request of its own.
    pub redirects: u32,
    /// Bytes written to the connection, heads included (before TLS).
    pub sent_bytes: u64,
    /// Bytes read from it, heads included (after TLS).
    pub received_bytes: u64,
    /// Answers that said two different things of the length of their body: in `content-length` and in
    /// `transfer-encoding`, which then holds.
    pub ambiguous: u32,
    /// Connections on which more came than was asked for; none of it was taken for an answer.
    pub unsolicited: u32,
    /// Connections opened, their handshake included.
    pub connections: u32,
}

impl Traffic {
    /// Returns the requests that repeat another one, where `fresh` of them are neither repeated nor redirected.
    pub fn repeated(&self, fresh: u32) -> u32 {
        self.requests.saturating_sub(self.redirects + fresh)
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, more: Self) {
        self.requests += more.requests;
        self.redirects += more.redirects;
        self.sent_bytes += more.sent_bytes;
        self.received_bytes += more.received_bytes;
        self.ambiguous += more.ambiguous;
        self.unsolicited += more.unsolicited;
        self.connections += more.connections;
    }
}

/// The parts of a service time; `None` where a part did not happen, as on a reused connection.
///
/// Where redirects were followed, each is the sum over all of the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Opening the TCP connection, and with `dns = ttl` the lookup before it.
    #[serde(rename = "connect_us", with = "crate::definition::micros::option")]
    pub connect: Option<Duration>,
    /// The TLS handshake.
    #[serde(rename = "tls_us", with = "crate::definition::micros::option")]
    pub tls: Option<Duration>,
    /// Waiting for a stream of a shared connection, all of which were in use.
    #[serde(
        rename = "stream_wait_us",
        with = "crate::definition::micros::option",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub stream_wait: Option<Duration>,
    /// Writing a request with a large body: from a usable connection to its last byte.
    #[serde(
        rename = "upload_us",
        with = "crate::definition::micros::option",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub upload: Option<Duration>,
    /// From a usable connection, or from the end of the upload, to the head of the answer.
    #[serde(rename = "first_byte_us", with = "crate::definition::micros::option")]
    pub first_byte: Option<Duration>,
    /// From the head to the last body byte.
    #[serde(rename = "body_us", with = "crate::definition::micros::option")]
    pub body: Option<Duration>,
}

impl Phases {
    /// Returns those of the connection alone, of a request that was cut off.
    #[must_use]
    pub fn of_opening(&self) -> Self {
        Self {
            upload: None,
            first_byte: None,
            body: None,
            ..*self
        }
    }
}

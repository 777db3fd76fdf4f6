//! WebSockets (RFC 6455) over HTTP/1.1 connections.
//!
//! Nothing of one is held while it rests but its state: what is read goes through a buffer of the thread.

#[cfg(test)]
mod beside_tungstenite;
mod deflate;
mod frame;
mod handshake;

use super::Failure;
use loadtest_model::metrics::ErrorKind;
use std::borrow::Cow;

/// The largest message, as it is read.
const MAX_MESSAGE: usize = 16 << 20;

/// What ends a connection: what the server did wrong.
#[derive(Debug, Clone)]
pub(crate) struct SocketError {
    kind: ErrorKind,
    words: Cow<'static, str>,
    /// The code that the server is told.
    code: u16,
}

impl SocketError {
    fn protocol(words: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind: ErrorKind::WsProtocol,
            words: words.into(),
            code: 1002,
        }
    }

    fn invalid_text() -> Self {
        Self {
            code: 1007,
            ..Self::protocol("a text is not UTF-8")
        }
    }

    fn too_large() -> Self {
        Self {
            kind: ErrorKind::WsTooLarge,
            words: "a message is larger than 16 MiB".into(),
            code: 1009,
        }
    }
}

impl From<SocketError> for Failure {
    fn from(error: SocketError) -> Self {
        Self::new(error.kind, error.words)
    }
}

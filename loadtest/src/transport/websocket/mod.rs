//! WebSockets (RFC 6455) over HTTP/1.1 connections.
//!
//! Nothing of one is held while it rests but its state: what is read goes through a buffer of the thread.

mod background;
#[cfg(test)]
mod beside_tungstenite;
mod connection;
mod counts;
mod deflate;
mod frame;
mod handshake;
mod task;

pub(crate) use connection::{SocketConnection, SocketMessage, TranscriptLine};
pub(crate) use counts::{count_open_sockets, count_reopened_socket, take_socket_counts};
pub(crate) use frame::is_sent_code;
use handshake::Agreement;
pub(super) use handshake::Handshake;

use super::meter::MeteredStream;
use super::socket::ByteCounts;
use super::{ErrorKind, Failure};
use crate::targets::Allowance;
use background::Background;
use http::{HeaderMap, HeaderName, HeaderValue};
use loadtest_model::definition::WebSocketDef;
use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use task::SocketTask;

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

    fn grows_too_large() -> Self {
        Self {
            words: "a message grows to more than 250 times its compressed size".into(),
            ..Self::too_large()
        }
    }
}

impl From<SocketError> for Failure {
    fn from(error: SocketError) -> Self {
        Self::new(error.kind, error.words)
    }
}

/// An upgrade under way: what the request needs, and the connection once the target has agreed.
pub(super) struct Upgrade {
    def: WebSocketDef,
    handshake: Handshake,
    pub(super) opened: Option<OpenedSocket>,
}

/// A connection that the target has handed over.
pub(super) struct OpenedSocket {
    def: WebSocketDef,
    io: MeteredStream,
    /// What was read beyond the head of the answer.
    rest: Vec<u8>,
    agreement: Agreement,
    allowance: Option<Arc<Allowance>>,
}

impl Upgrade {
    pub(super) fn begin(def: &WebSocketDef) -> Self {
        let protocols = def.protocol.as_deref().unwrap_or_default();
        Self {
            def: def.clone(),
            handshake: Handshake::begin(protocols, def.compress),
            opened: None,
        }
    }

    /// The headers that the request needs.
    pub(super) fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        self.handshake.headers()
    }

    /// Takes over the connection whose answer had `headers`.
    ///
    /// # Errors
    /// `ws.protocol`: what is wrong with the answer.
    pub(super) fn finish(
        &mut self,
        headers: &HeaderMap,
        (io, rest): (MeteredStream, Vec<u8>),
        allowance: Option<Arc<Allowance>>,
    ) -> Result<(), SocketError> {
        let agreement = self.handshake.check_answer(headers)?;
        self.opened = Some(OpenedSocket {
            def: self.def.clone(),
            io,
            rest,
            agreement,
            allowance,
        });
        Ok(())
    }
}

impl OpenedSocket {
    /// The connection, and the task that drives it.
    pub(super) fn into_parts(
        self,
        bytes: &Arc<ByteCounts>,
    ) -> (Arc<SocketConnection>, impl Future<Output = ()> + 'static) {
        let background = Background::begin(&self.def, self.agreement.compresses);
        let connection = Arc::new(SocketConnection::new(self.agreement, self.allowance));
        let task = SocketTask::new(
            self.io,
            &self.rest,
            background,
            Arc::clone(&connection),
            Arc::clone(bytes),
        );
        (connection, task)
    }
}

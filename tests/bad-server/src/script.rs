//! The script of a connection.

use std::time::Duration;

/// What a [`BadServer`](crate::BadServer) does on a connection, in order.
///
/// After its last act it closes the connection, unless it is told to [`repeat`](Self::repeat). It ends early when
/// the client closes the connection.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Script {
    pub(crate) acts: Vec<Act>,
    pub(crate) repeats: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Act {
    ReadHead,
    Read(usize),
    ReadFrame(u8),
    Send(Vec<u8>),
    Pause(Duration),
    HalfClose,
    Close,
    Reset,
    Hold,
}

impl Script {
    /// A script without acts, which closes the connection at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers each request of a connection with these bytes.
    pub fn answer(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new().read_head().send(bytes).repeat()
    }

    /// Answers one request with these bytes and closes the connection.
    pub fn answer_once(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new().read_head().send(bytes).close()
    }

    /// Reads up to the empty line that ends a head.
    pub fn read_head(self) -> Self {
        self.then(Act::ReadHead)
    }

    /// Reads so many bytes.
    pub fn read(self, bytes: usize) -> Self {
        self.then(Act::Read(bytes))
    }

    /// Reads frames of HTTP/2 up to the first of this type: 1 is a HEADERS frame, which begins a request.
    pub fn read_frame(self, kind: u8) -> Self {
        self.then(Act::ReadFrame(kind))
    }

    /// Sends these very bytes.
    pub fn send(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.then(Act::Send(bytes.into()))
    }

    /// Waits.
    pub fn pause(self, pause: Duration) -> Self {
        self.then(Act::Pause(pause))
    }

    /// Sends a FIN (over TLS a `close_notify` first), and goes on reading.
    pub fn half_close(self) -> Self {
        self.then(Act::HalfClose)
    }

    /// Closes the connection with a FIN, over TLS without `close_notify`, and drops what still comes.
    pub fn close(self) -> Self {
        self.then(Act::Close)
    }

    /// Closes the connection with a RST.
    pub fn reset(self) -> Self {
        self.then(Act::Reset)
    }

    /// Reads what comes and says nothing, until the client closes the connection.
    pub fn hold(self) -> Self {
        self.then(Act::Hold)
    }

    /// Begins again after the last act.
    pub fn repeat(self) -> Self {
        Self {
            repeats: true,
            ..self
        }
    }

    fn then(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }
}

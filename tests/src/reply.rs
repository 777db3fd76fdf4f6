//! What the server does with a request: an answer, or a fault.

use crate::gate::Gate;
use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// What the server does with a request.
///
/// The constructors make a whole behaviour; the other methods change the one at hand.
#[derive(Debug, Clone)]
#[must_use]
pub struct Reply {
    gate: Option<Gate>,
    delay: Duration,
    rest: Duration,
    deed: Deed,
    end: End,
}

#[derive(Debug, Clone)]
enum Deed {
    Answer {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
        framing: Framing,
    },
    Raw(Vec<u8>),
    /// The first, and then the second for ever.
    Stream(Vec<u8>, Vec<u8>),
    Nothing,
}

#[derive(Debug, Clone)]
enum Framing {
    Length,
    /// The announced length, whatever the body has.
    Announced(u64),
    Chunked,
    /// In pieces of so many bytes, with a pause before each.
    Drip(usize, Duration),
    /// The body again and again, chunked, until the client has enough.
    Endless,
    /// The body so many times, chunked, and no end.
    Unfinished(usize),
    /// Chunks, each after a pause of its own.
    Pieces(Vec<(Duration, Vec<u8>)>),
    /// The same, each made when it is its turn.
    MadePieces(PieceMaker),
}

type MakePiece = dyn Fn(usize) -> Option<(Duration, Vec<u8>)> + Send + Sync;

/// Makes the chunks of a body one by one.
#[derive(Clone)]
pub(crate) struct PieceMaker(Arc<MakePiece>);

impl PieceMaker {
    /// Returns the pause before a chunk, and the chunk; `None` after the last one.
    pub(crate) fn make(&self, number: usize) -> Option<(Duration, Vec<u8>)> {
        let (pause, piece) = (self.0)(number)?;
        Some((pause, chunk(&piece)))
    }
}

impl fmt::Debug for PieceMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PieceMaker")
    }
}

/// What becomes of the connection afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Keep,
    Close,
    Reset,
    Hang,
}

/// One thing to do on the connection.
#[derive(Debug)]
pub(crate) enum Act {
    WaitFor(Gate),
    Pause(Duration),
    Write(Vec<u8>),
    WriteTimes(Vec<u8>, usize),
    WriteForever(Vec<u8>),
    WritePieces(PieceMaker),
}

impl Reply {
    /// An answer with `status` and an empty body.
    pub fn status(status: u16) -> Self {
        Self {
            gate: None,
            delay: Duration::ZERO,
            rest: Duration::ZERO,
            deed: Deed::Answer {
                status,
                headers: Vec::new(),
                body: Vec::new(),
                framing: Framing::Length,
            },
            end: End::Keep,
        }
    }

    /// `200 OK` with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::status(200).body(text.into())
    }

    /// `200 OK` with JSON.
    pub fn json(json: impl Into<String>) -> Self {
        Self::text(json).header("content-type", "application/json")
    }

    /// These very bytes; the connection is kept unless told otherwise.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            deed: Deed::Raw(bytes.into()),
            ..Self::nothing(End::Keep)
        }
    }

    /// Closes the connection (FIN) without an answer.
    pub fn close_before_head() -> Self {
        Self::nothing(End::Close)
    }

    /// Resets the connection (RST) without an answer.
    pub fn reset() -> Self {
        Self::nothing(End::Reset)
    }

    /// Never answers, and keeps the connection open.
    pub fn hang() -> Self {
        Self::nothing(End::Hang)
    }

    /// Something that is not HTTP.
    pub fn garbage() -> Self {
        Self::raw("\x01\x02 this is not the protocol you are looking for\r\n\r\n").close_silently()
    }

    /// An answer with two `content-length` headers that disagree.
    pub fn two_content_lengths() -> Self {
        Self::raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\nhello")
    }

    /// A chunked answer whose second chunk has no readable size.
    pub fn bad_chunk() -> Self {
        Self::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n")
    }

    /// A chunked answer that ends in the middle of a chunk.
    pub fn cut_chunk() -> Self {
        Self::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n64\r\nhello")
            .close_silently()
    }

    /// `count` interim answers (`100 Continue`) and then `200 OK`.
    pub fn interim(count: usize) -> Self {
        let mut text = "HTTP/1.1 100 Continue\r\n\r\n".repeat(count);
        text.push_str("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        Self::raw(text)
    }

    /// A chunked body without end.
    pub fn endless() -> Self {
        Self::status(200)
            .body(vec![b'x'; 32 * 1024])
            .framing(Framing::Endless)
    }

    /// A chunked body of so many MiB, after which neither more of it nor its end comes.
    pub fn unfinished(mebibytes: usize) -> Self {
        Self::status(200)
            .body(vec![b'x'; 32 * 1024])
            .framing(Framing::Unfinished(32 * mebibytes))
            .hang_after()
    }

    /// A head without end.
    pub fn endless_head() -> Self {
        let headers = (0..100).map(|i| format!("x-{i}: {}\r\n", "h".repeat(100)));
        Self {
            deed: Deed::Stream(
                b"HTTP/1.1 200 OK\r\n".to_vec(),
                headers.collect::<String>().into(),
            ),
            ..Self::nothing(End::Close)
        }
    }

    fn nothing(end: End) -> Self {
        Self {
            gate: None,
            delay: Duration::ZERO,
            rest: Duration::ZERO,
            deed: Deed::Nothing,
            end,
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Deed::Answer { headers, .. } = &mut self.deed {
            headers.push((name.into(), value.into()));
        }
        self
    }

    /// Adds a header with a value of `bytes` bytes.
    pub fn huge_header(self, bytes: usize) -> Self {
        self.header("x-huge", "h".repeat(bytes))
    }

    /// Adds `count` headers.
    pub fn many_headers(self, count: usize) -> Self {
        (0..count).fold(self, |reply, i| reply.header(format!("x-{i}"), "v"))
    }

    /// Sets the body.
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        if let Deed::Answer { body, .. } = &mut self.deed {
            *body = bytes.into();
        }
        self
    }

    /// Holds the answer until the test opens the gate; a [delay](Self::delay) begins then.
    pub fn hold(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Waits before the head; several delays add up.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay += delay;
        self
    }

    /// Waits after the answer, before the connection is closed or the next request is read.
    pub fn rest(mut self, rest: Duration) -> Self {
        self.rest += rest;
        self
    }

    /// Sends the body chunked.
    pub fn chunked(self) -> Self {
        self.framing(Framing::Chunked)
    }

    /// Sends the body in pieces of `bytes` bytes, and waits before each.
    pub fn drip(self, bytes: usize, pause: Duration) -> Self {
        self.framing(Framing::Drip(bytes.max(1), pause))
    }

    /// Sends the body in such chunks, each after a pause of its own; without their end if the connection is
    /// [closed](Self::close_silently) then.
    pub fn pieces(self, pieces: impl IntoIterator<Item = (Duration, Vec<u8>)>) -> Self {
        self.framing(Framing::Pieces(pieces.into_iter().collect()))
    }

    /// Sends the chunks that `make` makes by their numbers until it makes none, each after a pause of its own. Each is
    /// made when it is its turn, so a stream may be as long as a client follows it.
    pub fn pieces_by(
        self,
        make: impl Fn(usize) -> Option<(Duration, Vec<u8>)> + Send + Sync + 'static,
    ) -> Self {
        self.framing(Framing::MadePieces(PieceMaker(Arc::new(make))))
    }

    /// Announces a body that is `missing` bytes longer, and closes.
    pub fn short(self, missing: u64) -> Self {
        self.announce(missing).close_silently()
    }

    /// Announces a body that is `missing` bytes longer, and resets the connection (RST) in it.
    pub fn reset_in_body(self, missing: u64) -> Self {
        Self {
            end: End::Reset,
            ..self.announce(missing)
        }
    }

    /// Announces a body that is `missing` bytes longer, and sends no more of it.
    pub fn hang_in_body(self, missing: u64) -> Self {
        Self {
            end: End::Hang,
            ..self.announce(missing)
        }
    }

    fn announce(self, missing: u64) -> Self {
        let length = match &self.deed {
            Deed::Answer { body, .. } => body.len() as u64,
            _ => 0,
        };
        self.framing(Framing::Announced(length + missing))
    }

    fn framing(mut self, wanted: Framing) -> Self {
        if let Deed::Answer { framing, .. } = &mut self.deed {
            *framing = wanted;
        }
        self
    }

    /// Says `connection: close`, and closes.
    pub fn close(self) -> Self {
        self.header("connection", "close").close_silently()
    }

    /// Closes after the answer without having announced it.
    pub fn close_silently(mut self) -> Self {
        self.end = End::Close;
        self
    }

    /// Neither answers nor closes the connection afterwards.
    pub fn hang_after(mut self) -> Self {
        self.end = End::Hang;
        self
    }

    /// Sends the answer of `other` behind it, in the same write, though nobody asked.
    pub fn followed_by(self, other: &Self) -> Self {
        let mut bytes = self.bytes();
        bytes.extend(other.bytes());
        Self {
            deed: Deed::Raw(bytes),
            ..self
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for act in self.acts(false) {
            if let Act::Write(more) = act {
                bytes.extend(more);
            }
        }
        bytes
    }

    pub(crate) fn end(&self) -> End {
        self.end
    }

    /// What to do, one thing after the other; the answer to a `HEAD` request has no body.
    pub(crate) fn acts(&self, is_head: bool) -> Vec<Act> {
        let mut acts = Vec::new();
        if let Some(gate) = &self.gate {
            acts.push(Act::WaitFor(gate.clone()));
        }
        if !self.delay.is_zero() {
            acts.push(Act::Pause(self.delay));
        }
        match &self.deed {
            Deed::Nothing => {}
            Deed::Raw(bytes) => acts.push(Act::Write(bytes.clone())),
            Deed::Stream(first, again) => {
                acts.push(Act::Write(first.clone()));
                acts.push(Act::WriteForever(again.clone()));
            }
            Deed::Answer {
                status,
                headers,
                body,
                framing,
            } => {
                let mut head = head(*status, headers, body.len(), framing).into_bytes();
                match framing {
                    _ if is_head => acts.push(Act::Write(head)),
                    Framing::Length | Framing::Announced(_) => {
                        head.extend(body);
                        acts.push(Act::Write(head));
                    }
                    Framing::Chunked => {
                        if !body.is_empty() {
                            head.extend(chunk(body));
                        }
                        head.extend(b"0\r\n\r\n");
                        acts.push(Act::Write(head));
                    }
                    Framing::Drip(bytes, pause) => {
                        acts.push(Act::Write(head));
                        for piece in body.chunks(*bytes) {
                            acts.push(Act::Pause(*pause));
                            acts.push(Act::Write(piece.to_vec()));
                        }
                    }
                    Framing::Pieces(pieces) => {
                        acts.push(Act::Write(head));
                        for (pause, piece) in pieces {
                            acts.push(Act::Pause(*pause));
                            acts.push(Act::Write(chunk(piece)));
                        }
                        if self.end == End::Keep {
                            acts.push(Act::Write(b"0\r\n\r\n".to_vec()));
                        }
                    }
                    Framing::MadePieces(maker) => {
                        acts.push(Act::Write(head));
                        acts.push(Act::WritePieces(maker.clone()));
                        if self.end == End::Keep {
                            acts.push(Act::Write(b"0\r\n\r\n".to_vec()));
                        }
                    }
                    Framing::Unfinished(times) => {
                        acts.push(Act::Write(head));
                        acts.push(Act::WriteTimes(chunk(body), *times));
                    }
                    Framing::Endless => {
                        acts.push(Act::Write(head));
                        acts.push(Act::WriteForever(chunk(body)));
                    }
                }
            }
        }
        if !self.rest.is_zero() {
            acts.push(Act::Pause(self.rest));
        }
        acts
    }
}

fn head(status: u16, headers: &[(String, String)], body: usize, framing: &Framing) -> String {
    let reason = match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Scripted",
    };
    let mut head = format!("HTTP/1.1 {status} {reason}\r\n");
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let _ = match framing {
        // These have no body, and say nothing about its length.
        _ if matches!(status, 100..=199 | 204 | 304) => Ok(()),
        Framing::Length | Framing::Drip(..) => write!(head, "content-length: {body}\r\n"),
        Framing::Announced(length) => write!(head, "content-length: {length}\r\n"),
        Framing::Chunked
        | Framing::Endless
        | Framing::Unfinished(_)
        | Framing::Pieces(_)
        | Framing::MadePieces(_) => {
            write!(head, "transfer-encoding: chunked\r\n")
        }
    };
    head.push_str("\r\n");
    head
}

fn chunk(data: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", data.len()).into_bytes();
    chunk.extend_from_slice(data);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

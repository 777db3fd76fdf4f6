//! HTTP/3 over one QUIC connection, one request at a time.
//!
//! A task drives the connection, also while it rests: QUIC acknowledges what comes, or the target sends it again. It
//! ends with the connection, which ends with its user.

mod failures;
mod quic;
mod socket;

pub(super) use failures::{Error, body_failure, head_failure, is_reset, is_unprocessed};

use super::failure::ConnectError;
use super::http2::announced_length;
use super::meter::{LARGE_BODY, MAX_HEAD, Meter};
use super::tls::TlsConfig;
use crate::targets::Host;
use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use h3::error::StreamError;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method, Request, StatusCode, Version};
use quic::QuicConnection;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::timeout;

/// The most interim (1xx) answers before an answer.
const MAX_INTERIM: u32 = 100;

/// What sends the body of a request.
type Upload = Pin<Box<dyn Future<Output = Result<(), StreamError>>>>;

/// A connection.
pub(super) struct Http3 {
    /// Closed before the streams over it are dropped, so that none of them looks as if it had come to its end.
    quic: QuicConnection,
    sender: SendRequest<h3_quinn::OpenStreams, Bytes>,
    /// The request that is to be written.
    unsent: Option<(Request<()>, Bytes)>,
    /// Sends the rest of its body, while that is on its way.
    upload: Option<Upload>,
    /// The answer whose body is to be read.
    answer: Option<RequestStream<h3_quinn::RecvStream, Bytes>>,
    /// The announced length of that body, where it has to be so long.
    length: Option<u64>,
    announced: u64,
    received: u64,
}

impl Http3 {
    /// Opens a connection to `host` at `address`: the QUIC handshake, TLS included. The target gets `patience` for the
    /// first word of an answer, for the rest of the handshake, and to let something be sent.
    pub(super) async fn open(
        tls: &TlsConfig,
        host: &Host,
        address: SocketAddr,
        meter: Rc<Meter>,
        patience: Duration,
    ) -> Result<Self, ConnectError> {
        let quic = QuicConnection::open(tls, host, address, meter, patience).await?;
        let mut builder = h3::client::builder();
        builder
            .max_field_section_size(MAX_HEAD as u64)
            .send_grease(false);
        // What begins HTTP/3 waits for ever where the target allows no data.
        let built = timeout(patience, builder.build(quic.for_h3())).await;
        let built = built.map_err(|_| {
            let words = format!(
                "the QUIC handshake ended, but the target let nothing be sent within {patience:?}; its \
                 `initial_max_data` may be 0"
            );
            ConnectError::Unanswered(io::Error::new(io::ErrorKind::TimedOut, words))
        })?;
        let (mut connection, sender) = built.map_err(|_| quic.lost_in_handshake(address))?;
        quic.drive_too(async move {
            // The requests over it know how it ended.
            let _ = connection.wait_idle().await;
        });
        Ok(Self {
            quic,
            sender,
            unsent: None,
            upload: None,
            answer: None,
            length: None,
            announced: 0,
            received: 0,
        })
    }

    /// Returns whether the connection can take a request.
    pub(super) fn is_idle(&self) -> bool {
        self.is_kept() && self.quic.is_open()
    }

    /// Returns whether another request may follow: all of the last one was sent.
    pub(super) fn is_kept(&self) -> bool {
        self.upload.is_none()
    }

    /// Returns what counts the bytes of the present request.
    pub(super) fn meter(&self) -> &Rc<Meter> {
        self.quic.meter()
    }

    /// Begins a request, which is written with the [head](Self::read_head) of its answer awaited.
    pub(super) fn write(&mut self, head: Request<()>, body: Bytes) {
        self.quic.begin_request();
        self.length = (head.method() == Method::HEAD).then_some(0);
        self.received = 0;
        self.unsent = Some((head, body));
    }

    /// Writes the request and waits for the head of its answer: status, version and `headers`.
    pub(super) async fn read_head(
        &mut self,
        headers: &mut HeaderMap,
    ) -> Result<(StatusCode, Version), Error> {
        let Some((head, body)) = self.unsent.take() else {
            unreachable!("a head is read after a request was written")
        };
        let opened = self.sender.send_request(head).await;
        let stream = opened.map_err(|error| self.quic.unsent_error(error))?;
        let (mut sending, mut receiving) = stream.split();
        let meter = (body.len() > LARGE_BODY).then(|| Rc::clone(self.quic.meter()));
        self.upload = Some(Box::pin(async move {
            if !body.is_empty() {
                sending.send_data(body).await?;
            }
            let finished = sending.finish().await;
            if let Some(meter) = meter {
                meter.finish_upload();
            }
            finished
        }));
        for _ in 0..=MAX_INTERIM {
            let answer = {
                let mut answer = pin!(receiving.recv_response());
                poll_fn(|cx| {
                    poll_upload(&mut self.upload, cx);
                    answer.as_mut().poll(cx)
                })
                .await
            };
            self.quic.count_bytes();
            let (mut head, ()) = answer
                .map_err(|error| self.quic.stream_error(error))?
                .into_parts();
            if head.status.is_informational() {
                continue;
            }
            std::mem::swap(headers, &mut head.headers);
            self.announced = announced_length(headers);
            let has_body = self.length.is_none() && head.status != StatusCode::NOT_MODIFIED;
            self.length =
                (has_body && headers.contains_key(CONTENT_LENGTH)).then_some(self.announced);
            self.answer = Some(receiving);
            return Ok((head.status, head.version));
        }
        Err(Error::TooManyInterim)
    }

    /// Returns the number of body bytes that are announced.
    pub(super) fn announced(&self) -> u64 {
        self.announced
    }

    /// Reads the body, and hands it over piece by piece; whether it came to its end. Trailers are passed over.
    pub(super) async fn read_body(
        &mut self,
        mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<bool, Error> {
        poll_fn(|cx| self.poll_body(cx, &mut take)).await
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        take: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Poll<Result<bool, Error>> {
        poll_upload(&mut self.upload, cx);
        while let Some(answer) = &mut self.answer {
            let read = ready!(answer.poll_recv_data(cx));
            self.quic.count_bytes();
            let Some(mut data) = read.map_err(|error| self.quic.stream_error(error))? else {
                break;
            };
            while data.has_remaining() {
                let piece = data.chunk();
                let count = piece.len();
                self.received += count as u64;
                if take(piece).is_break() {
                    return Poll::Ready(Ok(false));
                }
                data.advance(count);
            }
        }
        self.answer = None;
        let (received, length) = (self.received, self.length);
        Poll::Ready(match length {
            Some(announced) if announced != received => Err(Error::Length {
                announced,
                received,
            }),
            _ => Ok(true),
        })
    }
}

/// Sends more of a body. A target that wants no more of it says so in its answer.
fn poll_upload(upload: &mut Option<Upload>, cx: &mut Context<'_>) {
    if let Some(sending) = upload
        && sending.as_mut().poll(cx).is_ready()
    {
        *upload = None;
    }
}

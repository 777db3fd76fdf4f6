//! A shared connection, and one request over it.

use super::StreamLease;
use super::streams::StreamPermit;
use crate::transport::http2::{announced_length, poll_data};
use crate::transport::meter::{LARGE_BODY, Meter};
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request, StatusCode, Version};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// A shared connection, which its driver drives.
pub(in crate::transport) struct PooledConnection {
    pub(super) id: u64,
    pub(in crate::transport) meter: Rc<Meter>,
    /// The bytes that are counted already.
    sent: Cell<u64>,
    received: Cell<u64>,
}

/// A request over a shared connection.
pub(in crate::transport) struct PooledRequest {
    connection: Rc<PooledConnection>,
    /// The share of this request in the bytes of the connection.
    account: Rc<Meter>,
    sender: SendRequest<Bytes>,
    response: Option<ResponseFuture>,
    /// Its body, while that is on its way.
    upload: Option<PooledUpload>,
    /// The body that is to be read.
    body: Option<RecvStream>,
    /// Its announced length.
    announced: u64,
    /// The bytes that are its own at most, of those that pass: its heads without compression, and its bodies.
    sent: u64,
    received: u64,
    /// Given back after all else is dropped.
    _permit: StreamPermit,
}

/// The body of a request over a shared connection.
struct PooledUpload {
    stream: SendStream<Bytes>,
    /// The part that the connection has not taken yet.
    rest: Bytes,
    account: Rc<Meter>,
}

impl PooledUpload {
    /// Hands over to the connection what the target takes, so that it is known when that is all. A target that wants no
    /// more of it says so in its answer.
    fn poll(&mut self, cx: &mut Context<'_>) {
        while !self.rest.is_empty() {
            self.stream.reserve_capacity(self.rest.len());
            if self.stream.capacity() == 0 {
                match self.stream.poll_capacity(cx) {
                    Poll::Ready(Some(Ok(_))) => continue,
                    Poll::Ready(_) => self.rest.clear(),
                    Poll::Pending => {}
                }
                return;
            }
            let piece = self
                .rest
                .split_to(self.stream.capacity().min(self.rest.len()));
            let is_last = self.rest.is_empty();
            if self.stream.send_data(piece, is_last).is_err() {
                self.rest.clear();
            } else if is_last {
                self.account.finish_upload();
            }
        }
    }
}

impl PooledConnection {
    pub(super) fn new(id: u64, meter: Rc<Meter>) -> Self {
        Self {
            id,
            meter,
            sent: Cell::default(),
            received: Cell::default(),
        }
    }

    /// Returns whether it is driven, or a request goes over it.
    pub(super) fn is_in_use(self: &Rc<Self>) -> bool {
        Rc::strong_count(self) > 1
    }

    /// Takes the bytes that passed and that nothing has taken yet: those sent, and those received.
    pub(super) fn take_bytes(&self) -> (u64, u64) {
        self.take_bytes_up_to(u64::MAX, u64::MAX)
    }

    /// Takes at most so many of them.
    fn take_bytes_up_to(&self, sent: u64, received: u64) -> (u64, u64) {
        let take = |now: u64, taken: &Cell<u64>, most: u64| {
            let more = now.saturating_sub(taken.get()).min(most);
            taken.set(taken.get() + more);
            more
        };
        let meter = &self.meter;
        (
            take(meter.sent_bytes(), &self.sent, sent),
            take(meter.received_bytes(), &self.received, received),
        )
    }
}

impl PooledRequest {
    pub(in crate::transport) fn new(lease: StreamLease) -> Self {
        Self {
            account: Rc::new(Meter::new(0)),
            connection: lease.connection,
            sender: lease.sender,
            response: None,
            upload: None,
            body: None,
            announced: 0,
            sent: 0,
            received: 0,
            _permit: lease.permit,
        }
    }

    /// Returns what counts the bytes of the request. They are known when it ends.
    pub(in crate::transport) fn account(&self) -> &Rc<Meter> {
        &self.account
    }

    /// Begins the request; the driver of the connection writes it.
    pub(in crate::transport) fn write(
        &mut self,
        head: Request<()>,
        body: Bytes,
    ) -> Result<(), h2::Error> {
        let url = head.uri().path().len() + head.uri().query().map_or(0, str::len);
        self.sent = (url + headers_len(head.headers()) + body.len()) as u64;
        let (response, mut stream) = self.sender.send_request(head, body.is_empty())?;
        // One byte of it is its own, whoever counts the others: so it is known to be written.
        self.account.add(1, 0);
        self.connection.sent.set(self.connection.sent.get() + 1);
        if !body.is_empty() {
            let mut rest = Bytes::new();
            if body.len() > LARGE_BODY {
                rest = body;
            } else {
                stream.send_data(body, true)?;
            }
            let account = Rc::clone(&self.account);
            self.upload = Some(PooledUpload {
                stream,
                rest,
                account,
            });
        }
        self.response = Some(response);
        Ok(())
    }

    /// Waits for the head of the answer: status, version and `headers`.
    pub(in crate::transport) fn read_head<'a>(
        &'a mut self,
        headers: &'a mut HeaderMap,
    ) -> impl Future<Output = Result<(StatusCode, Version), h2::Error>> + use<'a> {
        poll_fn(move |cx| {
            if let Some(upload) = &mut self.upload {
                upload.poll(cx);
            }
            let Some(response) = &mut self.response else {
                unreachable!("a head is read after a request was written")
            };
            let answer = ready!(Pin::new(response).poll(cx));
            self.response = None;
            let (mut head, body) = answer?.into_parts();
            std::mem::swap(headers, &mut head.headers);
            self.announced = announced_length(headers);
            self.received += headers_len(headers) as u64;
            self.body = Some(body);
            Poll::Ready(Ok((head.status, head.version)))
        })
    }

    /// Returns the number of body bytes that are announced.
    pub(in crate::transport) fn announced(&self) -> u64 {
        self.announced
    }

    /// Reads the body, and hands it over piece by piece; whether it came to its end. Trailers are passed over.
    pub(in crate::transport) async fn read_body(
        &mut self,
        mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<bool, h2::Error> {
        let (body, received) = (&mut self.body, &mut self.received);
        let mut count = |data: &[u8]| {
            *received += data.len() as u64;
            take(data)
        };
        let upload = &mut self.upload;
        poll_fn(|cx| {
            if let Some(upload) = upload {
                upload.poll(cx);
            }
            poll_data(body.as_mut(), cx, &mut count)
        })
        .await
    }
}

/// The length of headers without compression, and of the frames that heads and bodies are in.
fn headers_len(headers: &HeaderMap) -> usize {
    let fields = headers.iter();
    let lengths = fields.map(|(name, value)| name.as_str().len() + value.len());
    lengths.sum::<usize>() + 32
}

impl Drop for PooledRequest {
    fn drop(&mut self) {
        // The driver and the pool have one each. What others wait for is theirs, and who is alone takes all.
        let (sent, received) = if Rc::strong_count(&self.connection) > 3 {
            let (sent, received) = (self.sent, self.received);
            self.connection.take_bytes_up_to(sent, received)
        } else {
            self.connection.take_bytes()
        };
        self.account.add(sent, received);
        self.account.set_waiting(self.connection.meter.is_waiting());
    }
}

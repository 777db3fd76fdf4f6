//! Sends the messages of a call, and keeps them for as long as it may have to be sent again.

use super::log::SentMessages;
use bytes::Bytes;
use h2::{Reason, SendStream};
use http_body::Body;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::sync::oneshot;

/// The messages of a call, as its client hands them over.
pub(crate) type OutgoingBody = Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>;
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// The most that is kept to be sent again.
const MAX_KEPT: usize = 1024 * 1024;

/// The messages of a call on their way.
pub(super) struct Upload {
    body: OutgoingBody,
    is_body_over: bool,
    /// What came of the body so far, while the call may have to be sent again.
    kept: Vec<Bytes>,
    kept_length: usize,
    /// False once the call cannot be sent again.
    is_repeatable: bool,
    /// How many of these are sent.
    replayed: usize,
    /// What waits for the target to take it.
    pending: Bytes,
    counted: Arc<Mutex<SentMessages>>,
}

impl Upload {
    pub(super) fn new(body: OutgoingBody, counted: Arc<Mutex<SentMessages>>) -> Self {
        Self {
            body,
            is_body_over: false,
            kept: Vec::new(),
            kept_length: 0,
            is_repeatable: true,
            replayed: 0,
            pending: Bytes::new(),
            counted,
        }
    }

    /// Returns whether all can be sent again; it begins anew then.
    pub(super) fn rewind(&mut self) -> bool {
        (self.replayed, self.pending) = (0, Bytes::new());
        self.is_repeatable
    }

    /// The call is answered: it will not be sent again.
    pub(super) fn forget(&mut self) {
        self.is_repeatable = false;
    }

    /// Sends what can be sent; ready once all is, or the stream is over.
    ///
    /// # Errors
    /// The error of the body.
    pub(super) fn poll_send(
        &mut self,
        stream: &mut SendStream<Bytes>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), BoxError>> {
        loop {
            // Who waits for the answer learns why.
            if stream.poll_reset(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            if self.pending.is_empty() {
                let Some(piece) = ready!(self.poll_piece(cx))? else {
                    let _ = stream.send_data(Bytes::new(), true);
                    return Poll::Ready(Ok(()));
                };
                self.pending = piece;
                continue;
            }
            stream.reserve_capacity(self.pending.len());
            if stream.capacity() == 0 {
                match ready!(stream.poll_capacity(cx)) {
                    Some(Ok(_)) => continue,
                    Some(Err(_)) | None => return Poll::Ready(Ok(())),
                }
            }
            let count = stream.capacity().min(self.pending.len());
            let piece = self.pending.split_to(count);
            if stream.send_data(piece, false).is_err() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// The next piece of the body; `None` after the last.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, BoxError>> {
        if let Some(piece) = self.kept.get(self.replayed) {
            self.replayed += 1;
            return Poll::Ready(Ok(Some(piece.clone())));
        }
        if !self.is_repeatable {
            (self.kept, self.replayed) = (Vec::new(), 0);
        }
        loop {
            if self.is_body_over {
                return Poll::Ready(Ok(None));
            }
            let Some(frame) = ready!(self.body.as_mut().poll_frame(cx)).transpose()? else {
                self.is_body_over = true;
                continue;
            };
            let Ok(piece) = frame.into_data() else {
                continue;
            };
            if piece.is_empty() {
                continue;
            }
            let counted = self.counted.lock();
            counted.unwrap_or_else(PoisonError::into_inner).push(&piece);
            self.keep(&piece);
            return Poll::Ready(Ok(Some(piece)));
        }
    }

    fn keep(&mut self, piece: &Bytes) {
        self.kept_length += piece.len();
        self.is_repeatable &= self.kept_length <= MAX_KEPT;
        if self.is_repeatable {
            self.kept.push(piece.clone());
            self.replayed = self.kept.len();
        }
    }

    /// Sends the rest, until the call is `over`.
    pub(super) async fn send_rest(
        mut self,
        mut stream: SendStream<Bytes>,
        over: oneshot::Receiver<()>,
    ) -> Option<String> {
        let mut over = pin!(over);
        let sent = poll_fn(|cx| {
            if over.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            self.poll_send(&mut stream, cx).map(Some)
        });
        let reason = match sent.await {
            Some(Ok(())) => return None,
            Some(Err(error)) => Some(format!("a call could not be sent to its end: {error}")),
            None => None,
        };
        stream.send_reset(Reason::CANCEL);
        reason
    }
}

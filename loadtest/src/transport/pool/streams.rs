//! The streams of shared connections that may be begun, and the requests that wait for one.
//!
//! A permit may go where its answer goes, so that it is `Send`, though all of it stays on one thread.

use bytes::Bytes;
use h2::client::SendRequest;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::sync::oneshot;

/// The streams of the connections to one origin.
#[derive(Clone)]
pub(super) struct Streams(Arc<Mutex<StreamCounts>>);

struct StreamCounts {
    slots: Vec<Slot>,
    /// Requests that wait, the longest first.
    waiting: VecDeque<oneshot::Sender<Granted>>,
    /// The slot to look at first: of several that are equal, all have their turn.
    turn: usize,
    /// The connections that there were.
    opened: u64,
}

/// The place of a connection.
enum Slot {
    Vacant,
    /// A request opens a connection.
    Opening,
    Open(OpenSlot),
}

struct OpenSlot {
    id: u64,
    sender: SendRequest<Bytes>,
    under_way: usize,
    /// The most requests that the target lets be under way.
    most: usize,
}

/// What a request gets, as data without a duty.
enum Granted {
    Stream {
        place: ConnectionPlace,
        sender: SendRequest<Bytes>,
    },
    Open {
        slot: usize,
    },
}

/// What a request gets.
pub(super) enum Grant {
    Stream {
        permit: StreamPermit,
        sender: SendRequest<Bytes>,
    },
    /// A connection is to be opened.
    Open(OpeningTicket),
}

/// A connection and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectionPlace {
    slot: usize,
    id: u64,
}

/// A share in the requests that may be under way over a connection.
pub(in crate::transport) struct StreamPermit {
    streams: Streams,
    place: ConnectionPlace,
}

/// The right to open a connection; others can once it is dropped.
pub(super) struct OpeningTicket {
    streams: Streams,
    slot: usize,
    is_open: bool,
}

/// A request that waits.
pub(super) struct WaitingRequest {
    streams: Streams,
    granted: oneshot::Receiver<Granted>,
}

impl Streams {
    /// The streams of so many connections, none of which is open.
    pub(super) fn new(connections: usize) -> Self {
        Self(Arc::new(Mutex::new(StreamCounts {
            slots: (0..connections).map(|_| Slot::Vacant).collect(),
            waiting: VecDeque::new(),
            turn: 0,
            opened: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, StreamCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a stream, or the right to open a connection.
    ///
    /// # Errors
    /// The request has to wait.
    pub(super) fn take(&self) -> Result<Grant, WaitingRequest> {
        let mut counts = self.lock();
        counts.forget_gone();
        if counts.waiting.is_empty()
            && let Some(granted) = counts.grant()
        {
            drop(counts);
            return Ok(self.oblige(granted));
        }
        let (sender, granted) = oneshot::channel();
        counts.waiting.push_back(sender);
        Err(WaitingRequest {
            streams: self.clone(),
            granted,
        })
    }

    /// Adds the duty to give it back.
    fn oblige(&self, granted: Granted) -> Grant {
        let streams = self.clone();
        match granted {
            Granted::Stream { place, sender } => Grant::Stream {
                permit: StreamPermit { streams, place },
                sender,
            },
            Granted::Open { slot } => Grant::Open(OpeningTicket {
                streams,
                slot,
                is_open: false,
            }),
        }
    }

    /// Reads how many requests the target lets be under way over a connection, or that `is_over`.
    pub(super) fn observe(&self, place: ConnectionPlace, is_over: bool) {
        let mut counts = self.lock();
        let Some(open) = counts.open_slot(place) else {
            return;
        };
        let most = open.sender.current_max_send_streams();
        if is_over {
            counts.slots[place.slot] = Slot::Vacant;
        } else if most == open.most {
            return;
        } else {
            open.most = most;
        }
        counts.serve();
    }
}

impl StreamCounts {
    fn open_slot(&mut self, place: ConnectionPlace) -> Option<&mut OpenSlot> {
        match &mut self.slots[place.slot] {
            Slot::Open(open) if open.id == place.id => Some(open),
            _ => None,
        }
    }

    /// Grants a stream of the connection with the fewest requests under way, where one has room.
    fn grant(&mut self) -> Option<Granted> {
        loop {
            let count = self.slots.len();
            let turns = (0..count).map(|i| (self.turn + i) % count);
            let with_room = turns.filter_map(|slot| Some((slot, self.slots[slot].room()?)));
            let (slot, _) = with_room.min_by_key(|(_, under_way)| *under_way)?;
            let Slot::Open(open) = &mut self.slots[slot] else {
                self.turn = slot + 1;
                self.slots[slot] = Slot::Opening;
                return Some(Granted::Open { slot });
            };
            let mut sender = open.sender.clone();
            // It is over, or about to be: another one takes its place.
            let polled = sender.poll_ready(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(Err(_)) = polled {
                self.slots[slot] = Slot::Vacant;
                continue;
            }
            open.under_way += 1;
            self.turn = slot + 1;
            let place = ConnectionPlace { slot, id: open.id };
            return Some(Granted::Stream { place, sender });
        }
    }

    /// Grants those that wait what there is.
    fn serve(&mut self) {
        self.forget_gone();
        while !self.waiting.is_empty()
            && let Some(granted) = self.grant()
        {
            self.hand_over(granted);
        }
    }

    /// Hands something over to the first that still waits.
    fn hand_over(&mut self, mut granted: Granted) {
        while let Some(waiting) = self.waiting.pop_front() {
            match waiting.send(granted) {
                Ok(()) => return,
                Err(back) => granted = back,
            }
        }
        self.take_back(&granted);
    }

    fn take_back(&mut self, granted: &Granted) {
        match *granted {
            Granted::Stream { place, .. } => {
                if let Some(open) = self.open_slot(place) {
                    open.under_way -= 1;
                }
            }
            Granted::Open { slot } => self.slots[slot] = Slot::Vacant,
        }
    }

    /// Forgets the first ones that do not wait any more.
    fn forget_gone(&mut self) {
        while self.waiting.front().is_some_and(oneshot::Sender::is_closed) {
            self.waiting.pop_front();
        }
    }
}

impl Slot {
    /// Returns how many requests are under way, if another may be.
    fn room(&self) -> Option<usize> {
        match self {
            Self::Vacant => Some(0),
            Self::Opening => None,
            Self::Open(open) => (open.under_way < open.most).then_some(open.under_way),
        }
    }
}

impl StreamPermit {
    pub(super) fn connection(&self) -> u64 {
        self.place.id
    }

    pub(super) fn place(&self) -> ConnectionPlace {
        self.place
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut counts = self.streams.lock();
        if let Some(open) = counts.open_slot(self.place) {
            open.under_way -= 1;
            counts.serve();
        }
    }
}

impl fmt::Debug for StreamPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StreamPermit").field(&self.place).finish()
    }
}

impl OpeningTicket {
    pub(super) fn slot(&self) -> usize {
        self.slot
    }

    /// The connection is open; the first stream is that of the request that opened it.
    pub(super) fn open(mut self, sender: SendRequest<Bytes>) -> StreamPermit {
        let mut counts = self.streams.lock();
        counts.opened += 1;
        let place = ConnectionPlace {
            slot: self.slot,
            id: counts.opened,
        };
        counts.slots[self.slot] = Slot::Open(OpenSlot {
            id: place.id,
            most: sender.current_max_send_streams(),
            sender,
            under_way: 1,
        });
        counts.serve();
        drop(counts);
        self.is_open = true;
        StreamPermit {
            streams: self.streams.clone(),
            place,
        }
    }
}

impl Drop for OpeningTicket {
    fn drop(&mut self) {
        if !self.is_open {
            let mut counts = self.streams.lock();
            counts.slots[self.slot] = Slot::Vacant;
            counts.serve();
        }
    }
}

impl Future for WaitingRequest {
    type Output = Grant;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Grant> {
        let granted = std::task::ready!(Pin::new(&mut self.granted).poll(cx));
        let granted =
            granted.unwrap_or_else(|_| unreachable!("a request that waits is not forgotten"));
        Poll::Ready(self.streams.oblige(granted))
    }
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        self.granted.close();
        // Granted, and not noticed any more.
        if let Ok(granted) = self.granted.try_recv() {
            let mut counts = self.streams.lock();
            counts.take_back(&granted);
            counts.serve();
        }
    }
}

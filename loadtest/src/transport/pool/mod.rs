//! The HTTP/2 connections that the users of a worker thread share: `connections = 8`.
//!
//! Each request takes a stream of the connection with the fewest requests under way. Where all have as many as the
//! target allows, requests wait for one in the order in which they came.

mod connection;
mod streams;

pub(super) use connection::{PooledConnection, PooledRequest};
pub(super) use streams::StreamPermit;

use super::connection::{Connection, ConnectionPurpose, Protocol};
use super::network::{Addresses, Network};
use super::progress::{CallStage, add_phase};
use super::{Failure, Phases, Traffic};
use crate::targets::Origin;
use bytes::Bytes;
use h2::client::SendRequest;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use streams::{Grant, OpeningTicket, Streams};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The most origins that a worker has connections to.
const MAX_POOLS: usize = 17;

thread_local! {
    /// The pools of this thread, of each network that is in use.
    static POOLS: RefCell<Vec<Weak<ConnectionPools>>> = const { RefCell::new(Vec::new()) };
}

/// The shared connections of a worker thread.
pub(crate) struct ConnectionPools {
    network: Arc<Network>,
    /// The numbers of its connections to an origin among those of all workers.
    numbers: Vec<u64>,
    pools: RefCell<Vec<Rc<ConnectionPool>>>,
}

/// The shared connections of a worker thread to one origin.
pub(super) struct ConnectionPool {
    network: Arc<Network>,
    origin: Origin,
    numbers: Vec<u64>,
    addresses: RefCell<Rc<Addresses>>,
    streams: Streams,
    /// Those that may still be in use.
    connections: RefCell<Vec<Rc<PooledConnection>>>,
    /// Drives the connections; they end with this.
    drivers: RefCell<JoinSet<()>>,
}

/// A stream of a shared connection that may be begun.
pub(super) struct StreamLease {
    pub(super) sender: SendRequest<Bytes>,
    pub(super) connection: Rc<PooledConnection>,
    pub(super) permit: StreamPermit,
    /// True if the connection was opened for another request.
    pub(super) is_reused: bool,
}

impl ConnectionPools {
    /// Returns the pools of this thread for `network`; `numbers` are those of the connections that are its share.
    pub(super) fn of_thread(
        network: &Arc<Network>,
        numbers: impl FnOnce() -> Vec<u64>,
    ) -> Rc<Self> {
        POOLS.with_borrow_mut(|known| {
            known.retain(|pools| pools.strong_count() > 0);
            let mut found = known.iter().filter_map(Weak::upgrade);
            if let Some(pools) = found.find(|pools| Arc::ptr_eq(&pools.network, network)) {
                return pools;
            }
            let pools = Rc::new(Self {
                network: Arc::clone(network),
                numbers: numbers(),
                pools: RefCell::default(),
            });
            known.push(Rc::downgrade(&pools));
            pools
        })
    }

    /// Returns the pool for `origin`, which is permitted and has `addresses`.
    pub(super) fn pool(&self, origin: &Origin, addresses: &Addresses) -> Rc<ConnectionPool> {
        let pools = &mut *self.pools.borrow_mut();
        if let Some(pool) = pools.iter().find(|pool| pool.origin == *origin) {
            return Rc::clone(pool);
        }
        if pools.len() == MAX_POOLS {
            pools.remove(1);
        }
        let pool = Rc::new(ConnectionPool {
            network: Arc::clone(&self.network),
            origin: origin.clone(),
            numbers: self.numbers.clone(),
            addresses: RefCell::new(Rc::new(addresses.clone())),
            streams: Streams::new(self.numbers.len()),
            connections: RefCell::default(),
            drivers: RefCell::default(),
        });
        pools.push(Rc::clone(&pool));
        pool
    }

    /// Takes the bytes that passed since they were last taken.
    pub(super) fn take_traffic(&self) -> Traffic {
        let mut sum = Traffic::default();
        for pool in &*self.pools.borrow() {
            for connection in &*pool.connections.borrow() {
                (sum.sent_bytes, sum.received_bytes) = {
                    let (sent, received) = connection.take_bytes();
                    (sum.sent_bytes + sent, sum.received_bytes + received)
                };
            }
        }
        sum
    }
}

impl ConnectionPool {
    /// Waits for a stream, and opens a connection for it where one is missing.
    pub(super) async fn lease(
        &self,
        phases: &mut Phases,
        stage: &mut CallStage,
    ) -> Result<StreamLease, Failure> {
        loop {
            let grant = match self.streams.take() {
                Ok(grant) => grant,
                Err(waiting) => {
                    *stage = CallStage::Stream;
                    let begin = Instant::now();
                    let grant = waiting.await;
                    add_phase(&mut phases.stream_wait, begin.elapsed());
                    grant
                }
            };
            match grant {
                Grant::Stream { permit, sender } => {
                    let connections = self.connections.borrow();
                    let id = permit.connection();
                    // Not there if it ended meanwhile.
                    if let Some(connection) = connections.iter().find(|found| found.id == id) {
                        return Ok(StreamLease {
                            sender,
                            connection: Rc::clone(connection),
                            permit,
                            is_reused: true,
                        });
                    }
                }
                Grant::Open(ticket) => return self.open(ticket, phases, stage).await,
            }
        }
    }

    /// Opens a connection, after a lookup where the addresses do not stay the same.
    async fn open(
        &self,
        ticket: OpeningTicket,
        phases: &mut Phases,
        stage: &mut CallStage,
    ) -> Result<StreamLease, Failure> {
        *stage = CallStage::Lookup;
        let begin = Instant::now();
        if let Some(found) = self.network.addresses_now(&self.origin).await {
            add_phase(&mut phases.connect, begin.elapsed());
            *self.addresses.borrow_mut() = Rc::new(found?);
        }
        let addresses = Rc::clone(&self.addresses.borrow());
        let mut preferred = addresses.of(self.numbers[ticket.slot()]);
        *stage = CallStage::Connect;
        let opened = Connection::open(
            &self.network,
            &self.origin,
            &addresses,
            &mut preferred,
            phases,
            ConnectionPurpose::Sharing,
            |begun| *stage = begun,
        );
        let Connection { protocol, meter } = opened.await?;
        let Protocol::Http2(http2) = protocol else {
            unreachable!("connections are shared over HTTP/2")
        };
        let (connection, sender) = http2.into_parts();
        let permit = ticket.open(sender.clone());
        let id = permit.connection();
        let shared = Rc::new(PooledConnection::new(id, meter));
        let mut connections = self.connections.borrow_mut();
        connections.retain(PooledConnection::is_in_use);
        connections.push(Rc::clone(&shared));
        let (streams, place) = (self.streams.clone(), permit.place());
        let mut drivers = self.drivers.borrow_mut();
        // Those that have ended hold nothing any more.
        while drivers.try_join_next().is_some() {}
        let driven = Rc::clone(&shared);
        drivers.spawn_local(async move {
            let mut connection = pin!(connection);
            // The requests over it know how it ended.
            let ended = poll_fn(|cx| {
                let polled = connection.as_mut().poll(cx);
                streams.observe(place, polled.is_ready());
                polled
            });
            let _ = ended.await;
            drop(driven);
        });
        Ok(StreamLease {
            sender,
            connection: shared,
            permit,
            is_reused: false,
        })
    }
}

//! The connections of one virtual user over which calls go: one to an origin, shared by all that are under way.

use crate::targets::{Allowance, Origin, RequestPass};
use crate::transport::connection::{Connection, ConnectionPurpose, Protocol};
use crate::transport::grpc::log::CallLog;
use crate::transport::meter::Meter;
use crate::transport::network::{Addresses, Network};
use crate::transport::pool::{ConnectionPool, ConnectionPools, StreamPermit};
use crate::transport::progress::{CallStage, add_phase};
use crate::transport::{ErrorKind, Failure, Traffic, request};
use bytes::Bytes;
use h2::client::SendRequest;
use http::Uri;
use http::uri::{Authority, PathAndQuery};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The most origins that a user has connections for calls to.
const MAX_CHANNELS: usize = 16;
/// The most methods of an origin that are known to answer with several messages.
const MAX_STREAMS: usize = 256;

/// The connections of one user for calls.
pub(crate) struct GrpcChannels {
    network: Arc<Network>,
    /// The number of the user, who shares the addresses with others.
    user: u64,
    /// The connections that it shares with other users, where it does.
    pools: Option<Rc<ConnectionPools>>,
    channels: RefCell<Vec<Rc<Channel>>>,
}

/// The connection to one origin, which is opened for the first call.
pub(super) struct Channel {
    pub(super) network: Arc<Network>,
    pub(super) origin: Origin,
    pub(super) authority: Authority,
    user: u64,
    /// The connections that the user shares with others, in place of its own.
    pool: Option<Rc<ConnectionPool>>,
    /// The caps of the origin, where it has some.
    allowance: Option<Arc<Allowance>>,
    state: Mutex<ChannelState>,
    /// Drives the connections; they end with this.
    drivers: RefCell<JoinSet<()>>,
    /// The meters of connections, with what was taken of their counts.
    meters: RefCell<Vec<(Rc<Meter>, Traffic)>>,
    /// The paths of methods that have answered with several messages.
    streams: RefCell<Vec<Box<str>>>,
}

/// What calls change that need a connection.
struct ChannelState {
    open: Option<OpenConnection>,
    addresses: Addresses,
    /// The address to connect to.
    preferred: usize,
}

/// A share in a connection.
pub(super) struct Lease {
    pub(super) sender: SendRequest<Bytes>,
    pub(super) meter: Rc<Meter>,
    /// True if it was opened for another call.
    pub(super) is_reused: bool,
    /// Its stream, of a connection that users share.
    pub(super) permit: Option<StreamPermit>,
}

/// The connection of a user.
struct OpenConnection {
    sender: SendRequest<Bytes>,
    meter: Rc<Meter>,
}

/// The way that a call goes.
#[derive(Clone)]
pub(crate) struct CallTarget {
    pub(super) channel: Rc<Channel>,
    pub(super) path: PathAndQuery,
}

impl GrpcChannels {
    pub(in crate::transport) fn new(
        network: Arc<Network>,
        user: u64,
        pools: Option<Rc<ConnectionPools>>,
    ) -> Self {
        Self {
            network,
            user,
            pools,
            channels: RefCell::default(),
        }
    }

    /// Lets the next calls open connections of their own. A call under way keeps its own until it ends.
    pub(crate) fn close_all(&self) {
        self.channels.borrow_mut().clear();
    }

    /// Finds the way to `uri`, a path below the base or an absolute URL.
    ///
    /// # Errors
    /// There is no base, or the guard refuses the URL.
    pub(crate) fn target(&self, uri: &Uri) -> Result<CallTarget, Failure> {
        let blocked = |reason: String| Failure::new(ErrorKind::GuardBlocked, reason);
        let path = uri.path_and_query().cloned();
        let path = path.unwrap_or(PathAndQuery::from_static("/"));
        let (origin, path) = if uri.authority().is_some() {
            let origin = Origin::from_uri(uri).map_err(|reason| {
                blocked(format!(
                    "`{}` is not a permitted target: {reason}; nothing was sent",
                    crate::redact::redact(&uri.to_string())
                ))
            })?;
            (origin, path)
        } else {
            let words = "a gRPC call needs a base URL; give one with `base = \"http://127.0.0.1:50051\"`, `LOADTEST_BASE_URL` or `--base-url`";
            let base = self.network.base();
            let base = base.ok_or_else(|| Failure::new(ErrorKind::StepError, words))?;
            (
                base.origin.clone(),
                request::join_paths(&base.prefix, &path)?,
            )
        };
        let channels = &mut *self.channels.borrow_mut();
        if let Some(channel) = channels.iter().find(|channel| channel.origin == origin) {
            let channel = Rc::clone(channel);
            return Ok(CallTarget { channel, path });
        }
        let addresses = self.network.addresses(&origin);
        let addresses = addresses.map_err(|refusal| blocked(refusal.to_string()))?;
        let pools = self.pools.as_ref();
        let channel = Rc::new(Channel {
            pool: pools.map(|pools| pools.pool(&origin, &addresses)),
            ..Channel::new(Arc::clone(&self.network), origin, addresses, self.user)
        });
        if channels.len() == MAX_CHANNELS {
            channels.remove(0);
        }
        channels.push(Rc::clone(&channel));
        Ok(CallTarget { channel, path })
    }

    /// Takes the bytes that passed since they were last taken.
    pub(in crate::transport) fn take_traffic(&self) -> Traffic {
        let pools = self.pools.as_ref();
        let mut sum = pools.map(|pools| pools.take_traffic()).unwrap_or_default();
        for channel in &*self.channels.borrow() {
            sum += channel.take_traffic();
        }
        sum
    }
}

impl Channel {
    fn new(network: Arc<Network>, origin: Origin, addresses: Addresses, user: u64) -> Self {
        let authority = Authority::try_from(origin.host_header().as_bytes())
            .unwrap_or_else(|_| unreachable!("an origin has an authority"));
        Self {
            allowance: network.allowance(&origin),
            authority,
            user,
            pool: None,
            state: Mutex::new(ChannelState {
                open: None,
                preferred: addresses.of(user),
                addresses,
            }),
            drivers: RefCell::default(),
            meters: RefCell::default(),
            streams: RefCell::default(),
            network,
            origin,
        }
    }

    /// Returns a share in the connection, which is opened where there is none that takes calls.
    pub(super) async fn lease(&self, log: &mut CallLog) -> Result<Lease, Failure> {
        if let Some(pool) = &self.pool {
            let lease = pool.lease(&mut log.phases, &mut log.stage).await?;
            if !lease.is_reused {
                log.connect();
            }
            return Ok(Lease {
                sender: lease.sender,
                meter: Rc::clone(&lease.connection.meter),
                is_reused: lease.is_reused,
                permit: Some(lease.permit),
            });
        }
        log.stage = CallStage::Connect;
        // Those that wait for the connection of another call share it.
        let mut state = self.state.lock().await;
        let state = &mut *state;
        if let Some(open) = &state.open {
            if let Ok(sender) = open.sender.clone().ready().await {
                return Ok(Lease {
                    sender,
                    meter: Rc::clone(&open.meter),
                    is_reused: true,
                    permit: None,
                });
            }
            state.open = None;
        }
        let open = self.connect(state, log).await?;
        let lease = Lease {
            sender: open.sender.clone(),
            meter: Rc::clone(&open.meter),
            is_reused: false,
            permit: None,
        };
        state.open = Some(open);
        log.connect();
        Ok(lease)
    }

    /// Opens a connection, after a lookup where the addresses do not stay the same.
    async fn connect(
        &self,
        state: &mut ChannelState,
        log: &mut CallLog,
    ) -> Result<OpenConnection, Failure> {
        log.stage = CallStage::Lookup;
        let begin = Instant::now();
        if let Some(found) = self.network.addresses_now(&self.origin).await {
            add_phase(&mut log.phases.connect, begin.elapsed());
            let addresses = found?;
            if addresses != state.addresses {
                state.preferred = addresses.of(self.user);
                state.addresses = addresses;
            }
        }
        let CallLog { stage, phases, .. } = log;
        *stage = CallStage::Connect;
        let opened = Connection::open(
            &self.network,
            &self.origin,
            &state.addresses,
            &mut state.preferred,
            phases,
            ConnectionPurpose::Calls,
            |begun| *stage = begun,
        );
        let Connection { protocol, meter } = opened.await?;
        let Protocol::Http2(http2) = protocol else {
            unreachable!("calls are sent over HTTP/2")
        };
        let (connection, sender) = http2.into_parts();
        let mut drivers = self.drivers.borrow_mut();
        // Those that have ended hold nothing any more.
        while drivers.try_join_next().is_some() {}
        drivers.spawn_local(async {
            // The calls over it know how it ended.
            let _ = connection.await;
        });
        let mut meters = self.meters.borrow_mut();
        meters.push((Rc::clone(&meter), Traffic::default()));
        Ok(OpenConnection { sender, meter })
    }

    fn take_traffic(&self) -> Traffic {
        let mut sum = Traffic::default();
        self.meters.borrow_mut().retain_mut(|(meter, taken)| {
            let (sent, received) = (meter.sent_bytes(), meter.received_bytes());
            sum.sent_bytes += sent - taken.sent_bytes;
            sum.received_bytes += received - taken.received_bytes;
            (taken.sent_bytes, taken.received_bytes) = (sent, received);
            // The connection of a meter that nobody else has is gone.
            Rc::strong_count(meter) > 1
        });
        sum
    }
}

impl CallTarget {
    /// Lets a call pass, if it may be sent now.
    ///
    /// # Errors
    /// `guard.blocked`: the cap that it would break, or that the permission has ended.
    pub(crate) fn admit(&self) -> Result<Option<RequestPass>, Failure> {
        let refuse = |words| Failure::new(ErrorKind::GuardBlocked, words);
        if let Some(reason) = self.channel.network.halted() {
            let words = format!("the permission to test has ended: {reason}");
            return Err(refuse(words));
        }
        let pass = self.channel.allowance.as_ref();
        pass.map(Allowance::admit_request)
            .transpose()
            .map_err(refuse)
    }

    /// Notes that the method answers with several messages, if it did so, and returns whether it ever has.
    pub(crate) fn note_stream(&self, has_several: bool) -> bool {
        let streams = &mut *self.channel.streams.borrow_mut();
        let is_known = streams.iter().any(|path| **path == *self.path.path());
        if has_several && !is_known && streams.len() < MAX_STREAMS {
            streams.push(self.path.path().into());
        }
        has_several || is_known
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.channel.origin
    }

    /// The whole URL.
    pub(crate) fn url(&self) -> String {
        let Channel {
            origin, authority, ..
        } = &*self.channel;
        format!("{}://{authority}{}", origin.scheme, self.path)
    }
}

impl fmt::Debug for CallTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallTarget")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::{ListedTarget, Permissions};

    /// The channels of a user whose run may send to this machine, below the caps in `keys`.
    async fn channels(keys: &str) -> GrpcChannels {
        let entry =
            "[[targets]]\nhost = \"localhost\"\nscheme = \"http\"\nport = 50051\nowner = \"ada\"\n";
        let permissions = Permissions {
            targets: ListedTarget::read(&format!("{entry}{keys}\n")).unwrap(),
            ..Permissions::default()
        };
        let base = Some("http://localhost:50051");
        let network = Network::permitting(permissions, base, "run").await.unwrap();
        GrpcChannels::new(Arc::new(network), 0, None)
    }

    fn target(channels: &GrpcChannels, uri: &str) -> CallTarget {
        channels.target(&uri.parse().unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_call_counts_for_the_cap_until_it_is_over() {
        let channels = channels("max_in_flight = 2").await;
        let add = target(&channels, "/shop.Cart/Add");
        let watch = target(&channels, "http://localhost:50051/shop.Cart/Watch");
        let held = [add.admit().unwrap(), watch.admit().unwrap()];
        assert!(held.iter().all(Option::is_some));
        let refused = add.admit().unwrap_err();
        assert_eq!(refused.kind, ErrorKind::GuardBlocked);
        assert!(
            refused.message.contains("`max_in_flight = 2`"),
            "{}",
            refused.message
        );
        drop(held);
        assert!(add.admit().unwrap().is_some());
    }

    #[tokio::test]
    async fn calls_count_for_the_rate_of_their_target() {
        let channels = channels("max_rate = \"10/s\"").await;
        tokio::time::pause();
        let add = target(&channels, "/shop.Cart/Add");
        let admit = || (0..100).filter(|_| add.admit().is_ok()).count();
        let at_once = admit();
        tokio::time::advance(std::time::Duration::from_millis(300)).await;
        assert_eq!((admit(), at_once >= 10), (3, true));
    }

    #[tokio::test]
    async fn the_connections_of_a_user_are_to_a_bounded_number_of_origins() {
        let channels = channels("").await;
        let uri = |port: usize| format!("http://127.0.0.1:{port}/shop.Cart/Add");
        let first = target(&channels, &uri(1_000));
        for port in 1_001..1_020 {
            target(&channels, &uri(port));
            assert!(channels.channels.borrow().len() <= MAX_CHANNELS);
        }
        assert_eq!(channels.channels.borrow().len(), MAX_CHANNELS);
        // That of the first one was let go of, and its call goes on with it.
        let again = target(&channels, &uri(1_000));
        assert!(!Rc::ptr_eq(&first.channel, &again.channel));
        let same = target(&channels, &uri(1_000));
        assert!(Rc::ptr_eq(&again.channel, &same.channel));
    }
}

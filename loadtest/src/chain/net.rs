//! What clients that a scenario brings itself connect with. No I/O here: the transport connects.

use super::{MeasureError, OperationEnd, StepSender};
use crate::transport::socket::{Datagrams, Stream};
use crate::transport::{ErrorKind, Failure, OperationTarget, Phases, Sockets};
use std::fmt::{self, Display};
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;

/// Connects the clients that a scenario brings itself: of databases, of queues, of any protocol.
///
/// A URL has a scheme, a host and a port: `tcp://db.staging.example.com:5432`. A host that is a name has to be in
/// `reaches = [..]` of the scenario, where its addresses are put to the guard before the run; an address of this machine
/// may always be connected to.
///
/// ```
/// use loadtest::prelude::*;
/// use redis::aio::MultiplexedConnection;
/// use redis::{AsyncCommands, AsyncConnectionConfig, RedisConnectionInfo};
///
/// #[scenario(reaches = ["tcp://redis.staging.example.com:6379"], load = rate(300/s, for = 2m, max_users = 50))]
/// fn visits() {
///     #[step(once)]
///     async fn redis(net: &mut Net) -> Result<MultiplexedConnection, Error> {
///         let stream = net.connect("tcp://redis.staging.example.com:6379").await?;
///         let (info, config) = (RedisConnectionInfo::default(), AsyncConnectionConfig::new());
///         let (redis, connection) = MultiplexedConnection::new_with_config(&info, stream, config).await?;
///         net.drive(connection);
///         Ok(redis)
///     }
///
///     #[step(p95 < 5ms)]
///     async fn visit(redis: &mut MultiplexedConnection, vu: &mut Vu) -> Result<u64, Error> {
///         Ok(vu.measure("INCR", redis.incr("visits", 1)).await?)
///     }
/// }
/// ```
pub struct Net {
    sender: Rc<dyn StepSender>,
}

impl Net {
    pub(crate) fn new(sender: Rc<dyn StepSender>) -> Self {
        Self { sender }
    }

    /// Opens a connection to `tcp://` or, within TLS, to `tls://`. It is an operation of the step: it counts in the row
    /// `connect tcp://..`, has the `timeout` of the step, and its time is part of that of the step.
    ///
    /// # Errors
    /// The guard refuses it (`guard.blocked`), or there is no connection.
    pub async fn connect(&mut self, url: impl AsRef<str>) -> Result<Stream, MeasureError> {
        let url = url.as_ref();
        let sockets = self.sockets()?;
        let name = format!("connect {url}");
        let target = OperationTarget::Url(url);
        let measured = self.sender.begin_operation(&name, target).await?;
        let (mut phases, time) = (Phases::default(), measured.timeout());
        let opened = tokio::time::timeout(time, sockets.connect(url, &mut phases)).await;
        let opened = opened.unwrap_or_else(|_| {
            Err(Failure::new(
                ErrorKind::TimeoutConnect,
                format!("no connection to {url} within {time:?}"),
            ))
        });
        measured.finish(OperationEnd {
            failure: opened.as_ref().err().cloned(),
            phases,
            ..OperationEnd::default()
        });
        Ok(opened?)
    }

    /// Returns the address of the target of the scenario, for a client that connects to it: `tcp://127.0.0.1:41873`, of
    /// which the start has chosen the port.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// #[scenario]
    /// fn cache() {
    ///     #[setup]
    ///     fn server() -> Result<Target, TargetError> {
    ///         Target::binary("target/release/cache").args(["--port", "{port}"]).start()
    ///     }
    ///
    ///     #[step]
    ///     async fn ping(net: &mut Net) -> Result<(), Error> {
    ///         net.connect(net.target()?).await?;
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// The scenario has no base URL.
    pub fn target(&self) -> Result<String, MeasureError> {
        let base = self.sockets()?.base().ok_or_else(|| {
            let reason = "`net.target()`: the scenario has no target: give it `base = \"..\"` or a `#[setup]` that returns a `Target`";
            Failure::new(ErrorKind::StepError, reason)
        })?;
        Ok(format!("tcp://{}:{}", base.host, base.port))
    }

    /// Opens a socket for datagrams to and from the one target of `udp://`. Nothing is sent by that.
    ///
    /// # Errors
    /// The guard refuses it (`guard.blocked`), or this machine has no socket left.
    pub async fn udp(&mut self, url: impl AsRef<str>) -> Result<Datagrams, MeasureError> {
        Ok(self.sockets()?.open_datagrams(url.as_ref()).await?)
    }

    /// Returns an address of `url` that may be connected to, for clients that connect by themselves. They are not held
    /// to it: `--offline` is what keeps them from other places.
    ///
    /// # Errors
    /// The guard refuses it: `guard.blocked`.
    pub fn permitted(&self, url: impl AsRef<str>) -> Result<SocketAddr, MeasureError> {
        Ok(self.sockets()?.permitted(url.as_ref())?)
    }

    /// Runs the future that drives a connection, as clients such as `tokio-postgres` have one beside them, until it ends
    /// or the virtual user does. If it fails, the next operation that fails says so too.
    pub fn drive<C: Future<Output: ConnectionEnd> + 'static>(&self, connection: C) {
        self.sender
            .drive(Box::pin(async { connection.await.failure() }));
    }

    fn sockets(&self) -> Result<&Sockets, Failure> {
        let none = || Failure::new(ErrorKind::StepError, "there is no network here");
        self.sender.sockets().ok_or_else(none)
    }
}

/// What a future yields that drives a connection: nothing, or a `Result`.
pub trait ConnectionEnd {
    /// Why the connection failed.
    fn failure(self) -> Option<String>;
}

impl ConnectionEnd for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<T, E: Display> ConnectionEnd for Result<T, E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Net").finish_non_exhaustive()
    }
}

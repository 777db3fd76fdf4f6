//! The servers that the tests call: one that `tonic` makes, and one that answers frame by frame.

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use h2::server::{Connection, SendResponse};
use http::HeaderMap;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use shop_proto::cart_server::{Cart, CartServer};
use shop_proto::{Item, Price, Total};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;
use tokio_rustls::TlsAcceptor;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status, Streaming};

/// A product that nobody has.
pub(super) const MISSING: u64 = 404;
/// A product that is never there in time.
pub(super) const SLOW: u64 = 408;
/// A product whose stream breaks off with `ABORTED` after two prices.
pub(super) const BROKEN: u64 = 409;
/// The product whose call ends the permission to test.
pub(super) const LAST: u64 = 410;
/// The first product that is answered with a status: `STATUSES + 5` is `NOT_FOUND`.
pub(super) const STATUSES: u64 = 1_000;

/// A shop that `tonic` serves.
pub(super) struct Shop {
    pub(super) url: String,
    connections: Arc<AtomicUsize>,
    notes: Arc<Notes>,
}

#[derive(Default)]
struct Notes {
    metadata: Mutex<Vec<HeaderMap>>,
    /// Calls whose client went away before they were answered.
    given_up: AtomicUsize,
    /// Calls under way, and the most there were at once.
    open: AtomicUsize,
    most_open: AtomicUsize,
}

/// Serves the calls of a shop, and notes them.
struct Service(Arc<Notes>);

/// Counts a call as given up, unless it is answered.
struct Pending(Arc<Notes>);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.given_up.fetch_add(1, Ordering::SeqCst);
    }
}

impl Shop {
    /// Starts it on the runtime of the test.
    pub(super) async fn start() -> Self {
        let connections = Arc::new(AtomicUsize::new(0));
        let notes: Arc<Notes> = Arc::default();
        let (service, counted) = (
            CartServer::new(Service(Arc::clone(&notes))),
            Arc::clone(&connections),
        );
        let address = serve_here(|address| async move {
            let incoming = TcpIncoming::bind(address).unwrap().with_nodelay(Some(true));
            let bound = incoming.local_addr().unwrap();
            let incoming = incoming.inspect(move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
            });
            let router = tonic::transport::Server::builder().add_service(service);
            let served = async move { router.serve_with_incoming(incoming).await.unwrap() };
            (bound, served)
        });
        Self {
            url: format!("http://{}", address.await),
            connections,
            notes,
        }
    }

    /// The connections for calls.
    pub(super) fn connections(&self) -> usize {
        // Before a run it is seen that the target is there.
        self.connections.load(Ordering::SeqCst) - 1
    }

    /// The metadata of all calls.
    pub(super) fn metadata(&self) -> Vec<HeaderMap> {
        self.notes.metadata.lock().unwrap().clone()
    }

    /// The most calls that were under way at once.
    pub(super) fn most_open(&self) -> usize {
        self.notes.most_open.load(Ordering::SeqCst)
    }

    /// The calls that were given up by their clients.
    pub(super) fn given_up(&self) -> usize {
        self.notes.given_up.load(Ordering::SeqCst)
    }
}

/// Runs a server on the runtime of the test, and returns its address.
async fn serve_here<F, S>(bind: impl FnOnce(SocketAddr) -> F) -> SocketAddr
where
    F: Future<Output = (SocketAddr, S)>,
    S: Future<Output = ()> + 'static,
{
    let (address, served) = bind((Ipv4Addr::LOCALHOST, 0).into()).await;
    spawn_local(served);
    address
}

/// Runs a server on a thread of its own, and returns its address.
fn serve<F, S>(bind: impl FnOnce(SocketAddr) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = (SocketAddr, S)>,
    S: Future,
{
    let (sender, bound) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(async {
            let (address, served) = bind((Ipv4Addr::LOCALHOST, 0).into()).await;
            sender.send(address).unwrap();
            served.await;
        });
    });
    bound.recv().unwrap()
}

fn price(item: &Item, number: u64) -> Price {
    Price {
        product: item.product,
        cents: 100 + number,
    }
}

#[tonic::async_trait]
impl Cart for Service {
    async fn add(&self, request: Request<Item>) -> Result<Response<Total>, Status> {
        let (metadata, _, item) = request.into_parts();
        let answered = metadata.get("x-answer").cloned();
        self.0
            .metadata
            .lock()
            .unwrap()
            .push(metadata.into_headers());
        match item.product {
            MISSING => return Err(Status::not_found("no such product: 100%")),
            SLOW => {
                let _pending = Pending(Arc::clone(&self.0));
                std::future::pending::<()>().await;
            }
            code @ STATUSES.. => {
                let code = Code::from(i32::try_from(code - STATUSES).unwrap());
                return Err(Status::new(code, "as asked"));
            }
            _ => {}
        }
        let open = self.0.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most_open.fetch_max(open, Ordering::SeqCst);
        if item.quantity == 0 {
            // On a paused clock all of a test are here before the first one is answered.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        let total = Total {
            cart: item.product,
            cents: u64::from(item.quantity) * 100,
        };
        let mut answer = Response::new(total);
        if item.product == LAST {
            let metadata = answer.metadata_mut();
            metadata.insert("loadtest-stop", "1".parse().unwrap());
        }
        if let Some(answered) = answered {
            answer.metadata_mut().insert("x-answer", answered);
        }
        Ok(answer)
    }

    async fn add_all(&self, request: Request<Streaming<Item>>) -> Result<Response<Total>, Status> {
        let mut items = request.into_inner();
        let (mut cart, mut cents) = (0, 0);
        while let Some(item) = items.message().await? {
            cart += 1;
            cents += u64::from(item.quantity) * 100;
        }
        Ok(Response::new(Total { cart, cents }))
    }

    type WatchStream = BoxStream<'static, Result<Price, Status>>;

    async fn watch(&self, request: Request<Item>) -> Result<Response<Self::WatchStream>, Status> {
        let item = request.into_inner();
        let count = u64::from(item.quantity);
        let broken = (item.product == BROKEN).then(|| Err(Status::aborted("sold out")));
        let pending = (item.product == SLOW).then(|| Pending(Arc::clone(&self.0)));
        let prices = stream::iter(0..count).then(move |number| async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(price(&item, number))
        });
        let prices = prices.chain(stream::iter(broken));
        Ok(Response::new(match pending {
            None => prices.boxed(),
            Some(pending) => {
                let silence = stream::once(async move {
                    let _pending = pending;
                    std::future::pending().await
                });
                prices.chain(silence).boxed()
            }
        }))
    }

    type AskStream = BoxStream<'static, Result<Price, Status>>;

    async fn ask(
        &self,
        request: Request<Streaming<Item>>,
    ) -> Result<Response<Self::AskStream>, Status> {
        let items = request.into_inner();
        let prices = items
            .enumerate()
            .map(|(number, item)| Ok(price(&item?, number as u64)));
        Ok(Response::new(prices.boxed()))
    }
}

/// A call that a raw server got: its number among all of the server, and what answers it.
pub(super) struct RawCall {
    pub(super) number: usize,
    pub(super) respond: SendResponse<Bytes>,
}

/// What becomes of a connection once a call over it is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Nothing,
    /// The server says that it takes no more, and answers those that it has.
    GoAway,
    /// The server closes it at once, with what is under way.
    Close,
}

/// Starts a server whose calls `answer` answers, on any number of connections. Returns its URL and the number of
/// connections so far.
pub(super) fn raw_server(
    answer: impl Fn(RawCall) -> After + Send + Sync + Clone + 'static,
) -> (String, Arc<AtomicUsize>) {
    let (address, connections) = raw_server_over(|stream| async { Ok(stream) }, answer);
    (format!("http://{address}"), connections)
}

/// The same on the runtime of the test.
pub(super) async fn raw_server_here(
    answer: impl Fn(RawCall) -> After + Send + Sync + Clone + 'static,
) -> (String, Arc<AtomicUsize>) {
    let connections: Arc<AtomicUsize> = Arc::default();
    let counted = Arc::clone(&connections);
    let accept = |stream| async { Ok(stream) };
    let address = serve_here(|address| bind_raw_server(address, accept, answer, counted)).await;
    (format!("http://{address}"), connections)
}

/// The same over TLS, which offers `protocols`.
pub(super) fn raw_tls_server(
    protocols: &[&str],
    answer: impl Fn(RawCall) -> After + Send + Sync + Clone + 'static,
) -> (String, Arc<AtomicUsize>) {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = rustls::crypto::ring::default_provider();
    let config = ServerConfig::builder_with_provider(provider.into());
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth();
    let mut config = config
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let names = protocols.iter();
    config.alpn_protocols = names.map(|name| name.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let accept = move |stream| acceptor.accept(stream);
    let (address, connections) = raw_server_over(accept, answer);
    (format!("https://{address}"), connections)
}

fn raw_server_over<S, F>(
    accept: impl Fn(TcpStream) -> F + Send + Sync + Clone + 'static,
    answer: impl Fn(RawCall) -> After + Send + Sync + Clone + 'static,
) -> (SocketAddr, Arc<AtomicUsize>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = io::Result<S>> + Send,
{
    let connections: Arc<AtomicUsize> = Arc::default();
    let counted = Arc::clone(&connections);
    let address = serve(move |address| bind_raw_server(address, accept, answer, counted));
    (address, connections)
}

/// Takes an address; the future that it returns serves there.
async fn bind_raw_server<S, F>(
    address: SocketAddr,
    accept: impl Fn(TcpStream) -> F + Send + Sync + Clone + 'static,
    answer: impl Fn(RawCall) -> After + Send + Sync + Clone + 'static,
    counted: Arc<AtomicUsize>,
) -> (SocketAddr, impl Future<Output = ()>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = io::Result<S>> + Send,
{
    let listener = TcpListener::bind(address).await.unwrap();
    let bound = listener.local_addr().unwrap();
    let served = async move {
        let calls = Arc::<AtomicUsize>::default();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (answer, calls) = (answer.clone(), Arc::clone(&calls));
            let (accept, counted) = (accept.clone(), Arc::clone(&counted));
            tokio::spawn(async move {
                // Before a run it is only seen that the target is there.
                let Ok(stream) = accept(stream).await else {
                    return;
                };
                if let Ok(connection) = h2::server::handshake(stream).await {
                    counted.fetch_add(1, Ordering::SeqCst);
                    answer_calls(connection, answer, calls).await;
                }
            });
        }
    };
    (bound, served)
}

async fn answer_calls<S: AsyncRead + AsyncWrite + Unpin>(
    mut connection: Connection<S, Bytes>,
    answer: impl Fn(RawCall) -> After,
    calls: Arc<AtomicUsize>,
) {
    while let Some(Ok((_, respond))) = connection.accept().await {
        let number = calls.fetch_add(1, Ordering::SeqCst);
        match answer(RawCall { number, respond }) {
            After::Nothing => {}
            After::GoAway => connection.graceful_shutdown(),
            After::Close => return,
        }
    }
}

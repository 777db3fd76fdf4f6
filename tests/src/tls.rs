//! A certificate authority of our own, and a front that takes TLS off.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

/// A certificate authority of our own.
pub struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// Which clients a server takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clients {
    NotAsked,
    /// Those with a certificate, and those without.
    Asked,
    Known,
}

impl Authority {
    /// An authority that nobody trusts yet.
    #[must_use]
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    /// Its certificate, to be trusted.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for `name` that is good until `year`, and its key, both as PEM.
    pub fn issue(&self, name: &str, year: i32) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.not_after = date_time_ymd(year, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// What a server shows that is called `name`, with a certificate good until `year`.
    pub fn server(&self, name: &str, year: i32) -> ServerConfig {
        self.config(name, year, Clients::NotAsked)
    }

    /// The same for a server that wants a certificate of this authority from its clients.
    pub fn mutual(&self, name: &str) -> ServerConfig {
        self.config(name, 4000, Clients::Known)
    }

    /// The same for one that asks for it, and takes clients without.
    pub fn asking(&self, name: &str) -> ServerConfig {
        self.config(name, 4000, Clients::Asked)
    }

    fn config(&self, name: &str, year: i32, clients: Clients) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let (certificate, key) = self.issue(name, year);
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the default versions");
        let builder = if clients == Clients::NotAsked {
            builder.with_no_client_auth()
        } else {
            let mut roots = RootCertStore::empty();
            roots.add(read(&self.pem)).expect("our own certificate");
            let mut verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            if clients == Clients::Asked {
                verifier = verifier.allow_unauthenticated();
            }
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        };
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("our own PEM");
        builder
            .with_single_cert(vec![read(&certificate)], key)
            .expect("a certificate and its key")
    }
}

/// What a server shows that is called `name` and has signed for itself until `year`, as an authority
/// of its own, and that certificate as PEM.
#[must_use]
pub fn self_signed(name: &str, year: i32) -> (ServerConfig, String) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_after = date_time_ymd(year, 1, 1);
    let pem = params.self_signed(&key).expect("a certificate").pem();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("our own key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the default versions")
        .with_no_client_auth()
        .with_single_cert(vec![read(&pem)], key)
        .expect("a certificate and its key");
    (config, pem)
}

fn read(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("our own PEM")
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// Takes TLS off and passes what is left to another server; it stops when it is dropped.
#[derive(Debug)]
pub struct Front {
    address: SocketAddr,
    handshakes: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Front {
    /// A front of `inner` on a free loopback port.
    pub fn start(config: ServerConfig, inner: SocketAddr) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .expect("a free loopback port");
        let address = listener.local_addr().expect("a bound socket");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let (stop, stopped) = oneshot::channel();
        let handshakes = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&handshakes);
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = pass(listener, config, inner, count) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            handshakes,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// How many handshakes have succeeded.
    pub fn handshakes(&self) -> u64 {
        self.handshakes.load(Ordering::SeqCst)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn pass(
    listener: std::net::TcpListener,
    config: ServerConfig,
    inner: SocketAddr,
    handshakes: Arc<AtomicU64>,
) {
    let listener = TcpListener::from_std(listener).expect("a listener within a runtime");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    while let Ok((outer, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        let handshakes = Arc::clone(&handshakes);
        tokio::spawn(async move {
            // A handshake that the client refuses is what some tests are about.
            if let Ok(mut outer) = acceptor.accept(outer).await {
                handshakes.fetch_add(1, Ordering::SeqCst);
                if let Ok(mut inner) = TcpStream::connect(inner).await {
                    let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
                }
            }
        });
    }
}

//! The TLS configuration of a run: authorities, identity, offered protocols.

use super::certificates;
use super::network::NetworkError;
use crate::targets::Host;
use loadtest_model::definition::{Client, HttpVersion};
#[cfg(feature = "http3")]
use quinn::crypto::rustls::QuicClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, crypto::ring};
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The name of HTTP/2 in a TLS handshake.
pub(super) const H2: &[u8] = b"h2";
/// The name of HTTP/3.
const H3: &[u8] = b"h3";

thread_local! {
    /// True once a handshake of this turn was asked for a certificate of the client.
    static WANTS_IDENTITY: Cell<bool> = const { Cell::new(false) };
}

/// A connection over TLS.
pub(super) struct OpenedTls {
    pub(super) stream: TlsStream<TcpStream>,
    /// True if the server asked for a certificate of the client.
    pub(super) wants_identity: bool,
}

/// A handshake that broke off after the server had asked for a certificate of the client.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UnknownClient(pub(super) io::Error);

/// Shows the certificate of the client, if there is one, and notes that it was asked for: some servers refuse a client
/// without one by closing the connection, and say nothing.
#[derive(Debug)]
struct NotingResolver(Option<SingleCertAndKey>);

impl ResolvesClientCert for NotingResolver {
    fn resolve(&self, issuers: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        WANTS_IDENTITY.set(true);
        self.0.as_ref()?.resolve(issuers, schemes)
    }

    fn has_certs(&self) -> bool {
        self.0.is_some()
    }
}

/// Awaits a handshake, and returns whether it was asked for a certificate of the client.
async fn note_wanted_identity<R>(handshake: impl Future<Output = R>) -> (R, bool) {
    let mut handshake = pin!(handshake);
    let mut wants_identity = false;
    let result = poll_fn(|context| {
        WANTS_IDENTITY.set(false);
        let polled = handshake.as_mut().poll(context);
        wants_identity |= WANTS_IDENTITY.get();
        polled
    });
    let result = result.await;
    (result, wants_identity)
}

/// The TLS options of a scenario. The rest is made for the first `https` URL.
#[derive(Debug, Default)]
pub(super) struct TlsConfig {
    http: HttpVersion,
    insecure: bool,
    authorities: Vec<CertificateDer<'static>>,
    identity: Option<CertifiedKey>,
    made: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl TlsConfig {
    /// Reads the files that `client` names, which are relative to `root`.
    pub(super) fn read(client: &Client, root: &Path) -> Result<Self, NetworkError> {
        let authorities = match client.ca.as_deref() {
            Some(file) => certificates::read_authorities(root, file)?,
            None => Vec::new(),
        };
        let identity = match client.identity.as_deref() {
            Some(file) => Some(certificates::read_identity(
                root,
                file,
                &ring::default_provider(),
            )?),
            None => None,
        };
        Ok(Self {
            http: client.http,
            insecure: client.insecure,
            authorities,
            identity,
            made: OnceLock::new(),
        })
    }

    /// Loads the certificates; done before the run for URLs that are known then.
    pub(super) fn client_config(&self) -> Result<Arc<ClientConfig>, String> {
        self.made.get_or_init(|| self.build_config()).clone()
    }

    /// Returns what QUIC takes of it.
    #[cfg(feature = "http3")]
    pub(super) fn quic_config(&self) -> Result<Arc<QuicClientConfig>, String> {
        let config = QuicClientConfig::try_from(self.client_config()?);
        config.map(Arc::new).map_err(|error| error.to_string())
    }

    /// Makes a TLS connection of a TCP connection to `host`.
    pub(super) async fn connect(&self, host: &Host, stream: TcpStream) -> io::Result<OpenedTls> {
        let config = self.client_config().map_err(io::Error::other)?;
        Self::connect_with(config, host, stream).await
    }

    /// The same for another protocol than HTTP.
    pub(super) async fn connect_alone(
        &self,
        host: &Host,
        stream: TcpStream,
    ) -> io::Result<OpenedTls> {
        self.connect_offering(&[], host, stream).await
    }

    /// The same for HTTP/1.1 alone, whatever version requests have.
    pub(super) async fn connect_for_upgrade(
        &self,
        host: &Host,
        stream: TcpStream,
    ) -> io::Result<OpenedTls> {
        self.connect_offering(&[b"http/1.1"], host, stream).await
    }

    /// The same for HTTP/2 alone, whatever version requests have.
    pub(super) async fn connect_for_calls(
        &self,
        host: &Host,
        stream: TcpStream,
    ) -> io::Result<OpenedTls> {
        self.connect_offering(&[H2], host, stream).await
    }

    async fn connect_offering(
        &self,
        protocols: &[&[u8]],
        host: &Host,
        stream: TcpStream,
    ) -> io::Result<OpenedTls> {
        let config = self.client_config().map_err(io::Error::other)?;
        let mut config = ClientConfig::clone(&config);
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Self::connect_with(Arc::new(config), host, stream).await
    }

    async fn connect_with(
        config: Arc<ClientConfig>,
        host: &Host,
        stream: TcpStream,
    ) -> io::Result<OpenedTls> {
        let name = match host {
            Host::Address(address) => ServerName::IpAddress((*address).into()),
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
        };
        let handshake = TlsConnector::from(config).connect(name, stream);
        let (result, wants_identity) = note_wanted_identity(handshake).await;
        match result {
            Ok(stream) => Ok(OpenedTls {
                stream,
                wants_identity,
            }),
            // TLS has no words of its own for it, as an alert has.
            Err(error)
                if wants_identity
                    && !error.get_ref().is_some_and(
                        <dyn std::error::Error + Send + Sync>::is::<rustls::Error>,
                    ) =>
            {
                Err(io::Error::new(error.kind(), UnknownClient(error)))
            }
            Err(error) => Err(error),
        }
    }

    fn build_config(&self) -> Result<Arc<ClientConfig>, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let verifier: Arc<dyn ServerCertVerifier> = if self.insecure {
            Arc::new(NoVerifier(provider))
        } else {
            let roots = Arc::new(self.trusted_roots()?);
            let usual = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
            Arc::new(RootsAndOwnVerifier {
                usual: usual.map_err(|error| error.to_string())?,
                named: self.authorities.clone(),
            })
        };
        let builder = builder
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let identity = self.identity.clone().map(SingleCertAndKey::from);
        let mut config = builder.with_client_cert_resolver(Arc::new(NotingResolver(identity)));
        config.alpn_protocols = match self.http {
            HttpVersion::Negotiated => vec![H2.to_vec(), b"http/1.1".to_vec()],
            HttpVersion::Http1 => vec![b"http/1.1".to_vec()],
            HttpVersion::Http2 => vec![H2.to_vec()],
            HttpVersion::Http3 => vec![H3.to_vec()],
        };
        Ok(Arc::new(config))
    }

    /// The certificates that the operating system trusts, or those in `SSL_CERT_FILE`, and our own.
    fn trusted_roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        roots.add_parsable_certificates(self.authorities.iter().cloned());
        if roots.is_empty() {
            let reason = found.errors.first().map_or_else(
                || "the operating system has none".to_owned(),
                ToString::to_string,
            );
            return Err(format!(
                "no trusted certificates were found ({reason}); name a file of them in \
                 SSL_CERT_FILE, or in the scenario: `ca = \"certs/ca.pem\"`"
            ));
        }
        Ok(roots)
    }
}

/// Part of a refusal: the certificate of the server is that of an authority.
pub(super) const IS_AUTHORITY: &str = "CaUsedAsEndEntity";

/// Takes the certificates of those that are trusted, and one that `ca` names itself.
///
/// Those that people sign by themselves mostly say that they are authorities (`openssl req -x509`),
/// and are refused as a server's own by the usual checks.
#[derive(Debug)]
struct RootsAndOwnVerifier {
    usual: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for RootsAndOwnVerifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let refused = match self
            .usual
            .verify_server_cert(shown, others, name, ocsp, now)
        {
            // Told apart only in words; a test holds it to them. Its time is checked before that.
            Err(error) if error.to_string().contains(IS_AUTHORITY) => error,
            result => return result,
        };
        if !self.named.contains(shown) {
            return Err(refused);
        }
        verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, shown, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Takes any certificate, as `insecure = true` asks for.
#[derive(Debug)]
struct NoVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

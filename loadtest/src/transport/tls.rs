//! The TLS configuration of a run, made when the first `https` URL turns up.

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::sync::{Arc, OnceLock};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::origin::Host;

/// The certificates that the operating system trusts, or those in `SSL_CERT_FILE`.
#[derive(Debug, Default)]
pub(super) struct TlsConfig(OnceLock<Result<Arc<ClientConfig>, String>>);

impl TlsConfig {
    /// Loads the certificates; done before the run for URLs that are known then.
    pub(super) fn load(&self) -> Result<Arc<ClientConfig>, String> {
        self.0.get_or_init(client_config).clone()
    }

    /// Makes a TLS connection of a TCP connection to `host`.
    pub(super) async fn connect(
        &self,
        host: &Host,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let config = self.load().map_err(io::Error::other)?;
        let name = match host {
            Host::Address(address) => ServerName::IpAddress((*address).into()),
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
        };
        TlsConnector::from(config).connect(name, stream).await
    }
}

fn client_config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let reason = found.errors.first().map_or_else(
            || "the operating system has none".to_owned(),
            ToString::to_string,
        );
        return Err(format!(
            "no trusted certificates were found ({reason}); name a file of them in SSL_CERT_FILE"
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

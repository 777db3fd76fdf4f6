//! Reads the PEM files that a scenario names: authorities and identities.

use super::network::NetworkError;
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::io;
use std::path::{Path, PathBuf};

/// A file that an option names.
struct PemFile {
    option: &'static str,
    path: PathBuf,
    /// The expected content.
    wanted: &'static str,
}

/// The certificates to trust in the file `name` of the option `ca`, relative to `root`.
pub(super) fn read_authorities(
    root: &Path,
    name: &str,
) -> Result<Vec<CertificateDer<'static>>, NetworkError> {
    let file = PemFile {
        option: "ca",
        path: root.join(name),
        wanted: "put the certificates to trust there, as PEM",
    };
    let certificates = file.parse_certificates(&file.read_bytes()?)?;
    let mut store = RootCertStore::empty();
    for (i, certificate) in certificates.iter().enumerate() {
        store.add(certificate.clone()).map_err(|error| {
            file.bad_file(&format!(
                "its certificate {} cannot be used: {error}",
                i + 1
            ))
        })?;
    }
    Ok(certificates)
}

/// The certificate and key in the file `name` of the option `identity`, relative to `root`.
pub(super) fn read_identity(
    root: &Path,
    name: &str,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, NetworkError> {
    let file = PemFile {
        option: "identity",
        path: root.join(name),
        wanted: "put the certificate of the client and its private key there, as PEM",
    };
    let text = file.read_bytes()?;
    let certificates = file.parse_certificates(&text)?;
    let key = match PrivateKeyDer::from_pem_slice(&text) {
        Ok(key) => key,
        Err(pem::Error::NoItemsFound) if is_encrypted_key(&text) => {
            return Err(file.bad_file(
                "its private key is encrypted, and its password is not known; \
                 decrypt it: `openssl pkey -in client.pem -out key.pem`",
            ));
        }
        Err(pem::Error::NoItemsFound) => {
            return Err(file.bad_file("it holds no private key (`-----BEGIN PRIVATE KEY-----`)"));
        }
        Err(error) => return Err(file.bad_file(&format!("its private key is broken: {error}"))),
    };
    if is_encrypted_key(&text) {
        return Err(file.bad_file(
            "its private key is encrypted, and its password is not known; \
             decrypt it: `openssl pkey -in client.pem -out key.pem`",
        ));
    }
    CertifiedKey::from_der(certificates, key, provider).map_err(|error| {
        file.bad_file(&match error {
            rustls::Error::InconsistentKeys(_) => {
                "its private key does not belong to its first certificate".to_owned()
            }
            error => format!("certificate and key cannot be used: {error}"),
        })
    })
}

/// Encrypted keys, as PKCS #8 and as OpenSSL once wrote them.
fn is_encrypted_key(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----")
        || text.contains("Proc-Type: 4,ENCRYPTED")
}

impl PemFile {
    fn read_bytes(&self) -> Result<Vec<u8>, NetworkError> {
        std::fs::read(&self.path).map_err(|error| {
            let what = match error.kind() {
                io::ErrorKind::NotFound => "there is no such file".to_owned(),
                _ => format!("it cannot be read: {error}"),
            };
            self.bad_file(&format!("{what}; {}", self.wanted))
        })
    }

    fn parse_certificates(
        &self,
        text: &[u8],
    ) -> Result<Vec<CertificateDer<'static>>, NetworkError> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(text)
            .collect::<Result<_, _>>()
            .map_err(|error| self.bad_file(&format!("it is not a PEM file: {error}")))?;
        if certificates.is_empty() {
            return Err(self.bad_file(&format!(
                "it holds no certificate (`-----BEGIN CERTIFICATE-----`); {}",
                self.wanted
            )));
        }
        Ok(certificates)
    }

    fn bad_file(&self, reason: &str) -> NetworkError {
        NetworkError::BadFile {
            option: self.option,
            path: self.path.clone(),
            reason: reason.to_owned(),
        }
    }
}

//! Tells the kinds of failure apart: from the error of a library to an [`ErrorKind`].

use super::http2;
use super::meter::{MAX_HEAD, Meter};
use super::{ErrorKind, Failure};
use rustls::{AlertDescription, CertificateError};
use std::error::Error;
use std::io;
use std::net::SocketAddr;

/// No TCP connection came about.
pub(super) fn connecting(address: SocketAddr, error: &io::Error) -> Failure {
    let kind = local(error).unwrap_or(match error.kind() {
        io::ErrorKind::ConnectionRefused => ErrorKind::ConnectRefused,
        io::ErrorKind::ConnectionReset => ErrorKind::ResetBeforeHead,
        io::ErrorKind::TimedOut => ErrorKind::ConnectTimeout,
        _ => ErrorKind::ConnectUnreachable,
    });
    let remedy = match kind {
        ErrorKind::LocalFds => "; raise the limit of open files (`ulimit -n`)",
        ErrorKind::LocalPorts => {
            "; this machine has no free port left: keep connections alive, or use fewer users"
        }
        _ => "",
    };
    Failure::new(
        kind,
        format!("cannot connect to {address}: {error}{remedy}"),
    )
}

/// The fault of this machine behind `error`, if it is one.
fn local(error: &io::Error) -> Option<ErrorKind> {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse => {
            return Some(ErrorKind::LocalPorts);
        }
        io::ErrorKind::OutOfMemory => return Some(ErrorKind::LocalMemory),
        _ => {}
    }
    #[cfg(unix)]
    {
        use nix::errno::Errno;
        match Errno::from_raw(error.raw_os_error()?) {
            Errno::EMFILE | Errno::ENFILE => return Some(ErrorKind::LocalFds),
            Errno::ENOBUFS => return Some(ErrorKind::LocalMemory),
            _ => {}
        }
    }
    None
}

/// The TLS handshake failed.
pub(super) fn in_handshake(error: &io::Error) -> Failure {
    let tls = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let kind = match tls {
        Some(rustls::Error::InvalidCertificate(certificate)) => match certificate {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                ErrorKind::TlsName
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => ErrorKind::TlsExpired,
            _ => ErrorKind::TlsUntrusted,
        },
        _ => ErrorKind::TlsProtocol,
    };
    let remedy = match tls {
        Some(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => {
            "; the target speaks another version of HTTP: leave out `http = ..`, so that it chooses"
        }
        Some(rustls::Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA,
        )) => CLIENT_CERTIFICATE,
        _ if kind == ErrorKind::TlsUntrusted => {
            "; name the certificate to trust: `ca = \"certs/ca.pem\"`"
        }
        _ => "",
    };
    Failure::new(kind, format!("the TLS handshake failed: {error}{remedy}"))
}

/// What to do where a server asks the client for a certificate.
const CLIENT_CERTIFICATE: &str = "; the target wants to know the client: `identity = \"certs/client.pem\"` with a certificate \
     that it trusts";

/// There is a connection, but no head of an answer came over it.
pub(super) fn before_head(error: &hyper::Error, meter: &Meter, reused: bool) -> Failure {
    // hyper tells "too large" apart from other mistakes of a head only in words; a test holds it to them.
    let too_large = error.is_parse() && error.to_string().contains("too large");
    if too_large || meter.is_head_too_large() {
        let kib = MAX_HEAD / 1024;
        return Failure::new(
            ErrorKind::HeadTooLarge,
            format!("the head of the answer has more than {kib} KiB or more than 100 headers"),
        );
    }
    if let Some(failure) = http2::error(error).and_then(|error| http2::before_head(error, meter)) {
        return failure;
    }
    if error.is_parse() {
        return Failure::new(
            ErrorKind::HeadMalformed,
            format!("the answer is not HTTP: {error}"),
        );
    }
    if error.is_user() {
        return Failure::new(
            ErrorKind::StepError,
            format!("the request cannot be sent: {}", chain(error)),
        );
    }
    match meter.fault() {
        Some(
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::TimedOut,
        ) => Failure::new(
            ErrorKind::ResetBeforeHead,
            "the connection was reset before the head of the answer",
        ),
        Some(io::ErrorKind::InvalidData) => Failure::new(ErrorKind::TlsProtocol, in_tls(error)),
        _ if reused => Failure::new(
            ErrorKind::ClosedReused,
            "the server closed the kept connection before the head of the answer",
        ),
        _ => Failure::new(
            ErrorKind::ClosedFresh,
            "the server closed the new connection before the head of the answer",
        ),
    }
}

/// The head is there, but the body broke off.
pub(super) fn in_body(error: &hyper::Error, meter: &Meter) -> Failure {
    if let Some(failure) = http2::error(error).and_then(http2::in_body) {
        return failure;
    }
    match meter.fault() {
        Some(io::ErrorKind::UnexpectedEof) | None => {}
        Some(io::ErrorKind::InvalidData) => {
            return Failure::new(ErrorKind::TlsProtocol, in_tls(error));
        }
        Some(_) => {
            return Failure::new(
                ErrorKind::ResetInBody,
                format!("the connection was reset within the body: {}", chain(error)),
            );
        }
    }
    let cause = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>());
    match cause.map(io::Error::kind) {
        Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => Failure::new(
            ErrorKind::BodyBadChunk,
            format!("the chunked body is broken: {}", chain(error)),
        ),
        _ => Failure::new(
            ErrorKind::BodyTruncated,
            format!("the body ended early: {}", chain(error)),
        ),
    }
}

/// TLS broke off after the handshake: with TLS 1.3 a server refuses a client's certificate only then.
fn in_tls(error: &hyper::Error) -> String {
    let text = chain(error);
    let refused = [
        "CertificateRequired",
        "CertificateUnknown",
        "CertificateExpired",
        "BadCertificate",
        "UnknownCA",
        "DecryptError",
    ];
    let remedy = if refused.iter().any(|alert| text.contains(alert)) {
        CLIENT_CERTIFICATE
    } else {
        ""
    };
    format!("TLS failed: {text}{remedy}")
}

/// An error with its causes, in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use nix::errno::Errno;

    #[test]
    fn the_faults_of_this_machine_are_told_from_those_of_the_target() {
        for (errno, kind) in [
            (Errno::ECONNREFUSED, ErrorKind::ConnectRefused),
            (Errno::ETIMEDOUT, ErrorKind::ConnectTimeout),
            (Errno::EHOSTUNREACH, ErrorKind::ConnectUnreachable),
            (Errno::ENETUNREACH, ErrorKind::ConnectUnreachable),
            (Errno::EADDRNOTAVAIL, ErrorKind::LocalPorts),
            (Errno::EADDRINUSE, ErrorKind::LocalPorts),
            (Errno::EMFILE, ErrorKind::LocalFds),
            (Errno::ENFILE, ErrorKind::LocalFds),
            (Errno::ENOMEM, ErrorKind::LocalMemory),
            (Errno::ENOBUFS, ErrorKind::LocalMemory),
        ] {
            let address = "127.0.0.1:80".parse().unwrap();
            let failure = connecting(address, &errno.into());
            assert_eq!(failure.kind, kind, "{errno:?}");
            assert!(
                failure.message.contains("127.0.0.1:80"),
                "{}",
                failure.message
            );
        }
    }
}

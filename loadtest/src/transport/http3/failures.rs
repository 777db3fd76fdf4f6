//! The names of what goes wrong over HTTP/3.

use crate::transport::connection::ConnectionEnd;
use crate::transport::error_mapping;
use crate::transport::meter::MAX_HEAD;
use crate::transport::{ErrorKind, Failure};
use h3::error::{Code, LocalError, StreamError};
use quinn::ConnectionError;
use rustls::{AlertDescription, CertificateError};
use std::io;
use std::net::SocketAddr;

/// The reason why an answer is missing or incomplete.
#[derive(Debug, thiserror::Error)]
pub(in crate::transport) enum Error {
    #[error("{0}")]
    Connection(ConnectionError),
    #[error("nothing listens at the address any more")]
    Gone,
    #[error("the server reset the request ({0})")]
    Reset(Code),
    #[error("the server takes no more requests over the connection")]
    GoingAway,
    #[error("the head of the request is larger than the target takes")]
    RequestTooLarge,
    #[error("the head of the answer has more than {} KiB", MAX_HEAD / 1024)]
    HeadTooLarge,
    #[error("there are more than 100 interim answers")]
    TooManyInterim,
    #[error("the body has {received} bytes, and {announced} were announced")]
    Length { announced: u64, received: u64 },
    #[error("{0}")]
    Malformed(String),
}

impl Error {
    /// The error of a stream, where the connection has ended for `reason`, if it has.
    pub(super) fn from_stream(error: StreamError, reason: Option<ConnectionError>) -> Self {
        match error {
            StreamError::RemoteTerminate { code, .. } => Self::Reset(code),
            StreamError::RemoteClosing { .. } => Self::GoingAway,
            StreamError::HeaderTooBig { .. } => Self::HeadTooLarge,
            StreamError::StreamError { reason, .. }
            | StreamError::ConnectionError {
                0:
                    h3::error::ConnectionError::Local {
                        error: LocalError::Application { reason, .. },
                        ..
                    },
                ..
            } => Self::Malformed(reason),
            error => match reason {
                None | Some(ConnectionError::LocallyClosed) => Self::Malformed(error.to_string()),
                Some(reason) => Self::Connection(reason),
            },
        }
    }
}

/// Returns whether the server certainly did not process the request (RFC 9114, section 8.1).
pub(in crate::transport) fn is_unprocessed(error: &Error) -> bool {
    matches!(
        error,
        Error::GoingAway | Error::Reset(Code::H3_REQUEST_REJECTED)
    )
}

/// Returns whether the server gave up the request and not the connection.
pub(in crate::transport) fn is_reset(error: &Error) -> bool {
    matches!(error, Error::Reset(_))
}

/// There is no connection to `address`, which answered.
pub(super) fn handshake_failure(error: &ConnectionError, address: SocketAddr) -> Failure {
    let tls = match error {
        ConnectionError::TransportError(error) => alert(error.code.into())
            .map(|alert| (local_tls_error(alert, &error.reason), Some(&*error.reason))),
        ConnectionError::ConnectionClosed(close) => {
            alert(close.error_code.into()).map(|alert| (rustls::Error::AlertReceived(alert), None))
        }
        _ => None,
    };
    if let Some((tls, reason)) = tls {
        let error = io::Error::new(io::ErrorKind::InvalidData, tls);
        return error_mapping::quic_handshake_failure(&error, reason);
    }
    let (kind, reason) = match error {
        ConnectionError::VersionMismatch => (
            ErrorKind::TlsProtocol,
            format!("{address} speaks another version of QUIC"),
        ),
        ConnectionError::TimedOut => (
            ErrorKind::TlsTimeout,
            format!("{address} stopped answering"),
        ),
        error => (
            ErrorKind::TlsProtocol,
            format!("{address} ended the connection: {error}"),
        ),
    };
    Failure::new(kind, format!("the QUIC handshake failed: {reason}"))
}

/// The alert of TLS that an error code of QUIC stands for (RFC 9001, section 4.8).
fn alert(code: u64) -> Option<AlertDescription> {
    let alert = code.checked_sub(0x100)?;
    u8::try_from(alert).ok().map(AlertDescription::from)
}

/// The error of TLS behind an alert of ours, of which QUIC has the words alone.
fn local_tls_error(alert: AlertDescription, reason: &str) -> rustls::Error {
    let certificate = match alert {
        AlertDescription::CertificateExpired if reason.contains("not valid yet") => {
            CertificateError::NotValidYet
        }
        AlertDescription::CertificateExpired => CertificateError::Expired,
        AlertDescription::UnknownCA => CertificateError::UnknownIssuer,
        _ if reason.contains("not valid for name") => CertificateError::NotValidForName,
        _ if reason.contains("certificate") => {
            let words = io::Error::other(reason.to_owned());
            CertificateError::Other(rustls::OtherError(std::sync::Arc::new(words)))
        }
        _ => return rustls::Error::General(reason.to_owned()),
    };
    rustls::Error::InvalidCertificate(certificate)
}

/// There is a connection, but no head of an answer came over it.
pub(in crate::transport) fn head_failure(error: &Error, end: ConnectionEnd) -> Failure {
    let (kind, words) = match error {
        Error::Connection(reason) => {
            return lost_connection(reason, end);
        }
        // Its last packet may come after the word that nothing listens there any more.
        Error::Gone => {
            return error_mapping::closed_connection(end, Some(&error.to_string()));
        }
        Error::Reset(code) => (
            ErrorKind::ResetBeforeHead,
            format!("the server reset the request before the head of the answer ({code})"),
        ),
        Error::GoingAway if end == ConnectionEnd::New => {
            (ErrorKind::ClosedFresh, error.to_string())
        }
        Error::GoingAway => (ErrorKind::ClosedReused, error.to_string()),
        Error::RequestTooLarge => (ErrorKind::StepError, error.to_string()),
        Error::HeadTooLarge | Error::TooManyInterim => (ErrorKind::HeadTooLarge, error.to_string()),
        Error::Length { .. } | Error::Malformed(_) => (
            ErrorKind::HeadMalformed,
            format!("the answer is not HTTP/3: {error}"),
        ),
    };
    Failure::new(kind, words)
}

/// The head is there, but the body broke off.
pub(in crate::transport) fn body_failure(error: &Error) -> Failure {
    let (kind, words) = match error {
        Error::Connection(_) | Error::Gone => (
            ErrorKind::BodyTruncated,
            format!("the body ended early: {error}"),
        ),
        Error::Reset(code) => (
            ErrorKind::ResetInBody,
            format!("the server reset the answer within the body ({code})"),
        ),
        Error::Length { .. } => (ErrorKind::BodyTruncated, error.to_string()),
        error => (
            ErrorKind::BodyBadChunk,
            format!("the framing of the body is broken: {error}"),
        ),
    };
    Failure::new(kind, words)
}

/// The connection ended.
fn lost_connection(reason: &ConnectionError, end: ConnectionEnd) -> Failure {
    let tls = match reason {
        ConnectionError::ConnectionClosed(close) => alert(close.error_code.into()),
        _ => None,
    };
    if let Some(alert) = tls {
        // A server refuses a client's certificate only after the handshake.
        let error = io::Error::other(rustls::Error::AlertReceived(alert));
        return error_mapping::quic_handshake_failure(&error, None);
    }
    error_mapping::closed_connection(end, Some(&reason.to_string()))
}

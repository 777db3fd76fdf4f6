//! Maps the errors of libraries to failures with an [`ErrorKind`].

use super::connection::{self, ConnectionEnd};
#[cfg(feature = "http3")]
use super::http3;
use super::meter::{MAX_BEFORE_HTTP2_HEAD, MAX_HEAD, Meter};
use super::tls::{IS_AUTHORITY, UnknownClient};
use super::{ErrorKind, Failure};
use super::{http1, http2};
use humantime::format_rfc3339_seconds;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, InvalidMessage};
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

/// No TCP connection came about.
pub(super) fn connect_failure(address: SocketAddr, error: &io::Error) -> Failure {
    let kind = local_error_kind(error).unwrap_or(match error.kind() {
        io::ErrorKind::ConnectionRefused => ErrorKind::ConnectRefused,
        io::ErrorKind::ConnectionReset => ErrorKind::ResetBeforeHead,
        io::ErrorKind::TimedOut => ErrorKind::ConnectTimeout,
        _ => ErrorKind::ConnectUnreachable,
    });
    let remedy = match describe_local_shortage(kind) {
        "" => String::new(),
        remedy => format!("; {remedy}"),
    };
    Failure::new(
        kind,
        format!("cannot connect to {address}: {error}{remedy}"),
    )
}

/// The remedy for a fault of this machine; empty for other kinds.
pub(super) fn describe_local_shortage(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::LocalFds => "raise the limit of open files (`ulimit -n`)",
        ErrorKind::LocalPorts => {
            "this machine has no free port left: keep connections alive, or use fewer users"
        }
        ErrorKind::LocalMemory => "this machine has no memory left for connections",
        _ => "",
    }
}

/// The fault of this machine behind `error`, if it is one.
pub(super) fn local_error_kind(error: &io::Error) -> Option<ErrorKind> {
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

/// The kind of an error that a client of the scenario's own met, where it is that of a connection of ours too.
pub(crate) fn io_error_kind(error: &io::Error) -> Option<ErrorKind> {
    local_error_kind(error).or(match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(ErrorKind::ConnectRefused),
        io::ErrorKind::TimedOut => Some(ErrorKind::TimeoutTotal),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            Some(ErrorKind::ConnectUnreachable)
        }
        _ => None,
    })
}

/// Returns whether the target refused the TLS handshake for the protocols that were offered.
pub(super) fn is_without_protocol(error: &io::Error) -> bool {
    let tls = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let refusal = rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol);
    tls == Some(&refusal)
}

/// The TLS handshake failed.
pub(super) fn handshake_failure(error: &io::Error) -> Failure {
    named_handshake_failure("TLS", error, None)
}

/// The QUIC handshake failed, of which TLS is a part; `reason` has the words of TLS, where `error` lacks them.
#[cfg(feature = "http3")]
pub(super) fn quic_handshake_failure(error: &io::Error, reason: Option<&str>) -> Failure {
    named_handshake_failure("QUIC", error, reason)
}

fn named_handshake_failure(name: &str, error: &io::Error, words: Option<&str>) -> Failure {
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
        _ if error.kind() == io::ErrorKind::TimedOut => ErrorKind::TlsTimeout,
        _ => ErrorKind::TlsProtocol,
    };
    let remedy = match tls {
        Some(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => {
            "; the target speaks another version of HTTP: leave out `http = ..`, so that it chooses"
        }
        Some(rustls::Error::AlertReceived(AlertDescription::ProtocolVersion)) => {
            "; the target speaks neither TLS 1.2 nor 1.3"
        }
        Some(rustls::Error::AlertReceived(alert)) => refused_client_help(|other| other == *alert),
        Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            "; the target does not seem to speak TLS there: is it `http://`?"
        }
        _ if error
            .get_ref()
            .is_some_and(<dyn Error + Send + Sync>::is::<UnknownClient>) =>
        {
            UNKNOWN_CLIENT_HELP
        }
        _ if kind == ErrorKind::TlsUntrusted => {
            "; name the certificate to trust: `ca = \"certs/ca.pem\"`"
        }
        _ => "",
    };
    let reason = match tls {
        Some(rustls::Error::InvalidCertificate(certificate)) => certificate_reason(certificate),
        _ => None,
    };
    let reason = reason.unwrap_or_else(|| words.map_or_else(|| error.to_string(), str::to_owned));
    let words = format!("the {name} handshake failed: {reason}{remedy}");
    Failure::new(kind, words)
}

/// Explains the refusal of a certificate, where the library's words are hard to read.
fn certificate_reason(error: &CertificateError) -> Option<String> {
    let date = |time: UnixTime| {
        let since_epoch = Duration::from_secs(time.as_secs());
        format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since_epoch)
    };
    match error {
        CertificateError::ExpiredContext { not_after, .. } => {
            Some(format!("the certificate expired at {}", date(*not_after)))
        }
        CertificateError::NotValidYetContext { not_before, .. } => Some(format!(
            "the certificate is not valid before {}",
            date(*not_before)
        )),
        CertificateError::UnknownIssuer => {
            Some("no trusted authority signed the certificate".to_owned())
        }
        CertificateError::Other(_) if error.to_string().contains(IS_AUTHORITY) => {
            Some("the certificate belongs to an authority, and is not trusted itself".to_owned())
        }
        _ => None,
    }
}

/// Help for a server that asks the client for a certificate.
const CLIENT_CERTIFICATE_HELP: &str = "; the target asks for a client certificate: set `identity = \"certs/client.pem\"` with a certificate \
     that it trusts";

/// Help where a server asked for a certificate of the client, and then closed the connection without a word.
const UNKNOWN_CLIENT_HELP: &str = "; it had asked for a certificate of the client: `identity = \"certs/client.pem\"` with one that it trusts";

/// Help where a server says no more than that it does not like what it was offered, as `BoringSSL` does under TLS 1.2
/// where the client has no certificate.
const HANDSHAKE_FAILURE_HELP: &str = "; the target may want to know the client, `identity = \"certs/client.pem\"`, or accepts none of the ciphers that \
     are offered";

/// The alerts by which servers refuse a client for its certificate, or since it has none.
const CLIENT_CERTIFICATE_ALERTS: [AlertDescription; 8] = [
    AlertDescription::CertificateRequired,
    AlertDescription::CertificateUnknown,
    AlertDescription::CertificateExpired,
    AlertDescription::CertificateRevoked,
    AlertDescription::UnsupportedCertificate,
    AlertDescription::BadCertificate,
    AlertDescription::UnknownCA,
    AlertDescription::DecryptError,
];

/// Help for a server that refuses the client, by an alert that `is_received`.
fn refused_client_help(is_received: impl Fn(AlertDescription) -> bool) -> &'static str {
    if CLIENT_CERTIFICATE_ALERTS.into_iter().any(&is_received) {
        CLIENT_CERTIFICATE_HELP
    } else if is_received(AlertDescription::HandshakeFailure) {
        HANDSHAKE_FAILURE_HELP
    } else {
        ""
    }
}

/// Help for a response that does not begin with a version of HTTP.
const NOT_HTTP1_HELP: &str =
    "; a target that only speaks HTTP/2 needs `http = 2`, a target with TLS `https://`";

/// There is a connection, but no head of an answer came over it.
pub(super) fn head_failure(
    error: &connection::Error,
    meter: &Meter,
    end: ConnectionEnd,
) -> Failure {
    let mut failure = describe_head_failure(error, meter, end);
    let is_left = matches!(
        failure.kind,
        ErrorKind::ClosedFresh | ErrorKind::ResetBeforeHead
    );
    if is_left && end == ConnectionEnd::New && meter.wants_identity() {
        failure.message.push_str(UNKNOWN_CLIENT_HELP);
    }
    failure
}

fn describe_head_failure(error: &connection::Error, meter: &Meter, end: ConnectionEnd) -> Failure {
    #[cfg(feature = "http3")]
    if let connection::Error::Http3(error) = error {
        return http3::head_failure(error, end);
    }
    let too_large = matches!(error, connection::Error::Http1(http1::Error::TooLarge));
    if meter.is_head_too_large() && matches!(error, connection::Error::Http2(_)) {
        let mib = MAX_BEFORE_HTTP2_HEAD / 1024 / 1024;
        return Failure::new(
            ErrorKind::HeadTooLarge,
            format!("the target sent {mib} MiB of frames without the head of an answer"),
        );
    }
    if too_large || meter.is_head_too_large() {
        let kib = MAX_HEAD / 1024;
        let count = if matches!(error, connection::Error::Http1(_)) {
            " or more than 100 headers"
        } else {
            ""
        };
        return Failure::new(
            ErrorKind::HeadTooLarge,
            format!("the head of the answer has more than {kib} KiB{count}"),
        );
    }
    match error {
        connection::Error::Http1(http1::Error::Malformed(reason)) => {
            let remedy = if reason.contains("version") {
                NOT_HTTP1_HELP
            } else {
                ""
            };
            return Failure::new(
                ErrorKind::HeadMalformed,
                format!("the answer is not HTTP/1.1: {reason}{remedy}"),
            );
        }
        connection::Error::Http1(_) => {}
        #[cfg(feature = "http3")]
        connection::Error::Http3(_) => {}
        connection::Error::Http2(_) if meter.speaks_http1() => {
            return Failure::new(
                ErrorKind::HeadMalformed,
                "the answer is not HTTP/2: the target speaks HTTP/1.1; write `http = 1`",
            );
        }
        connection::Error::Http2(error) => {
            if let Some(failure) = http2::head_failure(error, meter, end) {
                return failure;
            }
            if http2::is_invalid_request(error) {
                return Failure::new(
                    ErrorKind::StepError,
                    format!("the request cannot be sent: {}", error_chain_text(error)),
                );
            }
        }
    }
    match meter.fault() {
        Some(io::ErrorKind::InvalidData) => {
            Failure::new(ErrorKind::TlsProtocol, tls_failure_text(error.of()))
        }
        // Over HTTP/1.1 nothing but the request is on its way, so a reset is of it, unless the idle limit met it. Over
        // HTTP/2 a server that closes a connection resets it where something else is left unread, such as an
        // acknowledgement that has just come.
        _ if meter.is_reset()
            && matches!(error, connection::Error::Http1(_))
            && !matches!(end, ConnectionEnd::Resting(_)) =>
        {
            Failure::new(
                ErrorKind::ResetBeforeHead,
                "the connection was reset before the head of the answer",
            )
        }
        _ => closed_connection(end, None),
    }
}

/// The connection ended before the head of an answer, for `reason` where one is known.
pub(super) fn closed_connection(end: ConnectionEnd, reason: Option<&str>) -> Failure {
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let (kind, words) = match end {
        ConnectionEnd::New => (
            ErrorKind::ClosedFresh,
            format!("the server closed the new connection before the head of the answer{reason}"),
        ),
        ConnectionEnd::AtWork => (
            ErrorKind::ClosedBeforeHead,
            format!("the server closed the kept connection before the head of the answer{reason}"),
        ),
        ConnectionEnd::Resting(rest) => {
            let whole = Duration::from_millis(rest.as_millis() as u64);
            let rest = loadtest_model::display::format_span(whole);
            let words = format!(
                "the kept connection had been idle for {rest}, and ended while the request was sent{reason}; a longer keep-alive \
                 time of the target avoids it, or `retry(1, on = reset)`"
            );
            (ErrorKind::ClosedReused, words)
        }
    };
    Failure::new(kind, words)
}

/// The head is there, but the body broke off.
pub(super) fn body_failure(error: &connection::Error, meter: &Meter) -> Failure {
    #[cfg(feature = "http3")]
    if let connection::Error::Http3(error) = error {
        return http3::body_failure(error);
    }
    if let connection::Error::Http2(error) = error
        && let Some(failure) = http2::body_failure(error)
    {
        return failure;
    }
    match meter.fault() {
        Some(io::ErrorKind::InvalidData) => {
            return Failure::new(ErrorKind::TlsProtocol, tls_failure_text(error.of()));
        }
        // A server that closes a connection resets it where something is left unread, such as an acknowledgement that
        // has just come: which of both it is says nothing.
        _ if matches!(error, connection::Error::Http2(_)) => {
            return Failure::new(
                ErrorKind::BodyTruncated,
                "the body ended early: the connection was closed before the end",
            );
        }
        // What is written to a connection that the server has closed says no more than its end.
        None | Some(io::ErrorKind::BrokenPipe) => {}
        Some(io::ErrorKind::UnexpectedEof) => {
            return Failure::new(
                ErrorKind::BodyTruncated,
                "the body ended early: the connection was closed without an end of TLS",
            );
        }
        Some(io::ErrorKind::ConnectionReset) => {
            return Failure::new(
                ErrorKind::ResetInBody,
                "the connection was reset within the body",
            );
        }
        Some(_) => {
            let text = error_chain_text(error.of());
            return Failure::new(
                ErrorKind::ResetInBody,
                format!("the connection was reset within the body: {text}"),
            );
        }
    }
    let text = error_chain_text(error.of());
    match error {
        connection::Error::Http1(http1::Error::Chunk(_)) => Failure::new(
            ErrorKind::BodyBadChunk,
            format!("the chunked body is broken: {text}"),
        ),
        _ => Failure::new(
            ErrorKind::BodyTruncated,
            format!("the body ended early: {text}"),
        ),
    }
}

/// TLS broke off after the handshake: with TLS 1.3 a server refuses a client's certificate only then.
fn tls_failure_text(error: &dyn Error) -> String {
    let text = error_chain_text(error);
    let remedy = refused_client_help(|alert| text.contains(&format!("{alert:?}")));
    format!("TLS failed: {text}{remedy}")
}

/// An error with its causes, in one line.
fn error_chain_text(error: &dyn Error) -> String {
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
    fn a_handshake_that_the_system_gives_up_has_timed_out() {
        let kind = |errno: Errno| handshake_failure(&errno.into()).kind;
        assert_eq!(kind(Errno::ETIMEDOUT), ErrorKind::TlsTimeout);
        assert_eq!(kind(Errno::ECONNRESET), ErrorKind::TlsProtocol);
    }

    /// `BoringSSL` sends the first under TLS 1.3, after the handshake, and the second under TLS 1.2, within it.
    #[test]
    fn a_server_that_refuses_a_client_without_a_certificate_is_told_how_to_show_one() {
        for (alert, help) in [
            (
                AlertDescription::CertificateRequired,
                "with a certificate that it trusts",
            ),
            (
                AlertDescription::HandshakeFailure,
                "or accepts none of the ciphers that are offered",
            ),
        ] {
            let received = || {
                let error = rustls::Error::AlertReceived(alert);
                io::Error::new(io::ErrorKind::InvalidData, error)
            };
            let within = handshake_failure(&received());
            assert_eq!(within.kind, ErrorKind::TlsProtocol);
            for words in [within.message, tls_failure_text(&received())] {
                let identity = "`identity = \"certs/client.pem\"`";
                assert!(words.contains(identity) && words.ends_with(help), "{words}");
            }
        }
        let closed = io::Error::from(io::ErrorKind::UnexpectedEof);
        let closed = io::Error::new(closed.kind(), UnknownClient(closed));
        let words = "the TLS handshake failed: unexpected end of file; it had asked for a certificate of the client: \
                     `identity = \"certs/client.pem\"` with one that it trusts";
        assert_eq!(handshake_failure(&closed).message, words);
        let alert = rustls::Error::AlertReceived(AlertDescription::InternalError);
        let failed = handshake_failure(&io::Error::new(io::ErrorKind::InvalidData, alert));
        let words = "the TLS handshake failed: received fatal alert: InternalError";
        assert_eq!(failed.message, words);
    }

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
            let failure = connect_failure(address, &errno.into());
            assert_eq!(failure.kind, kind, "{errno:?}");
            assert!(
                failure.message.contains("127.0.0.1:80"),
                "{}",
                failure.message
            );
        }
    }
}

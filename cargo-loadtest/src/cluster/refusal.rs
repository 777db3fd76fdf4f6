//! Refusals of the NATS server: of a connection, and of a subject.

use super::connection::ClusterAddress;
use async_nats::rustls::{AlertDescription, Error as TlsError};
use async_nats::{ConnectError, ConnectErrorKind, Event, ServerError};
use loadtest_console::console;
use loadtest_console::error::Error;
use std::error::Error as _;
use std::io;

/// Begins what a server says of a subject that its user may not use.
const VIOLATION: &str = "permissions violation for ";

/// A subject that the server denies us.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Denial {
    /// The first two words of the subject, and what it is denied for: the rest differs from message to message.
    pub(super) subject: String,
    pub(super) message: String,
}

/// Returns what an event denies.
pub(super) fn describe_denial(url: &str, event: &Event) -> Option<Denial> {
    let Event::ServerError(ServerError::Other(words)) = event else {
        return None;
    };
    let words = console::clean(words);
    let at = words.to_ascii_lowercase().find(VIOLATION)? + VIOLATION.len();
    let denied = words.get(at..)?;
    Some(Denial {
        subject: denied.split('.').take(2).collect::<Vec<_>>().join("."),
        message: format!(
            "the NATS server at `{url}` does not permit this user's {denied}; \"Security\" in docs/scale.md has \
             the permissions of agents and of controllers"
        ),
    })
}

/// Returns why there is no connection, with the remedy.
pub(super) fn explain_refusal(address: &ClusterAddress, error: &ConnectError) -> Error {
    let (url, reason) = (&address.url, error.to_string());
    let failure = |what: String, help: &str| Error::failure(what).with_help(help);
    if matches!(
        error.kind(),
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation
    ) {
        return failure(
            format!("the NATS server at `{url}` refuses us: {reason}"),
            "name a file with `[cluster] credentials` (LOADTEST_CLUSTER_CREDENTIALS), or the variable of \
             `user:password` with `basic_env` (LOADTEST_CLUSTER_BASIC_ENV)",
        );
    }
    match find_cause::<TlsError>(error) {
        Some(TlsError::AlertReceived(alert)) if is_about_certificates(*alert) => {
            return match &address.identity {
                None => failure(
                    format!(
                        "the NATS server at `{url}` wants a certificate of its clients: {reason}"
                    ),
                    WITHOUT_IDENTITY,
                ),
                Some(file) => failure(
                    format!(
                        "the NATS server at `{url}` refuses the certificate in `{}`: {reason}",
                        file.display()
                    ),
                    "an authority that the server trusts has to sign it (`ca_file` of the server), and it must not be \
                     expired",
                ),
            };
        }
        Some(TlsError::InvalidMessage(_)) => {
            return failure(
                format!("the server at `{url}` does not speak TLS"),
                "give it a certificate; `nats://` is only for servers on this machine",
            );
        }
        Some(TlsError::InvalidCertificate(_)) => {
            return failure(
                format!("the certificate of the NATS server at `{url}` is not valid: {reason}"),
                "name the file of a private authority with `[cluster] ca`, or set LOADTEST_CLUSTER_CA",
            );
        }
        Some(_) => {
            let message = format!("TLS with the NATS server at `{url}` failed: {reason}");
            return Error::failure(message);
        }
        None => {}
    }
    if error.kind() == ConnectErrorKind::Tls {
        return failure(
            format!("TLS with the NATS server at `{url}` could not begin: {reason}"),
            "look at the files of `ca` and `identity` in `[cluster]`",
        );
    }
    // The alert of a server that closes at once can be lost.
    if address.server.scheme() == "tls" && is_cut_off(error) {
        let message = format!("the NATS server at `{url}` ended the TLS connection: {reason}");
        return match address.identity {
            None => failure(message, WITHOUT_IDENTITY),
            Some(_) => failure(message, "its log says why"),
        };
    }
    failure(
        format!("no NATS server answers at `{url}`: {reason}"),
        "start one with `nats-server -js`",
    )
}

const WITHOUT_IDENTITY: &str = "a server with `verify: true` wants one: name the PEM file of a certificate and its key with \
                                `[cluster] identity`, or set LOADTEST_CLUSTER_IDENTITY";

/// Returns true for an alert by which a server refuses the certificate of a client, or the lack of one.
fn is_about_certificates(alert: AlertDescription) -> bool {
    use AlertDescription as Alert;
    matches!(
        alert,
        Alert::NoCertificate
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
            | Alert::CertificateRequired
    )
}

/// Returns true if the other side ended the connection.
fn is_cut_off(error: &ConnectError) -> bool {
    let kind = find_cause::<io::Error>(error).map(io::Error::kind);
    matches!(
        kind,
        Some(
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof
        )
    ) || error.to_string().ends_with("broken pipe")
}

/// Finds a cause of this type. An error of input and output does not name what it holds as its source.
fn find_cause<E: std::error::Error + 'static>(error: &ConnectError) -> Option<&E> {
    let mut source = error.source();
    while let Some(one) = source {
        let held = one
            .downcast_ref::<io::Error>()
            .and_then(|error| error.get_ref());
        let held = held.and_then(|held| held.downcast_ref::<E>());
        if let Some(found) = one.downcast_ref::<E>().or(held) {
            return Some(found);
        }
        source = one.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ClusterConfig;
    use async_nats::rustls::{CertificateError, InvalidMessage};

    fn address(identity: Option<&str>) -> ClusterAddress {
        let config = ClusterConfig {
            identity: identity.map(Into::into),
            ..ClusterConfig::default()
        };
        ClusterAddress::new(Some("tls://nats.example.com"), &config).unwrap()
    }

    fn tls(error: TlsError) -> ConnectError {
        io::Error::new(io::ErrorKind::InvalidData, error).into()
    }

    #[test]
    fn refusals_of_a_connection_are_named_as_what_they_are() {
        let required = || {
            tls(TlsError::AlertReceived(
                AlertDescription::CertificateRequired,
            ))
        };
        let reset = || ConnectError::from(io::Error::from(io::ErrorKind::ConnectionReset));
        for (error, identity, words) in [
            (required(), None, "wants a certificate of its clients"),
            (
                required(),
                Some("a.pem"),
                "refuses the certificate in `a.pem`",
            ),
            (
                tls(TlsError::AlertReceived(AlertDescription::UnknownCA)),
                Some("a.pem"),
                "refuses the certificate in `a.pem`",
            ),
            (
                tls(TlsError::AlertReceived(AlertDescription::ProtocolVersion)),
                None,
                "TLS with the NATS server at `tls://nats.example.com` failed",
            ),
            (
                tls(TlsError::InvalidCertificate(CertificateError::Expired)),
                None,
                "the certificate of the NATS server at `tls://nats.example.com` is not valid",
            ),
            (
                tls(TlsError::InvalidMessage(InvalidMessage::InvalidContentType)),
                None,
                "does not speak TLS",
            ),
            (
                ConnectError::with_source(ConnectErrorKind::Tls, "could not load private key"),
                Some("a.pem"),
                "could not begin: TLS error: could not load private key",
            ),
            (reset(), None, "ended the TLS connection"),
            (
                ConnectError::with_source(ConnectErrorKind::Io, "broken pipe"),
                None,
                "ended the TLS connection",
            ),
            (
                io::Error::from(io::ErrorKind::ConnectionRefused).into(),
                None,
                "no NATS server answers",
            ),
            (
                ConnectError::with_source(
                    ConnectErrorKind::AuthorizationViolation,
                    ServerError::AuthorizationViolation,
                ),
                None,
                "refuses us",
            ),
        ] {
            let told = explain_refusal(&address(identity), &error).to_string();
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn a_subject_that_is_denied_is_named_once() {
        let denial = |words: &str| {
            let event = Event::ServerError(ServerError::Other(words.to_owned()));
            describe_denial("nats://127.0.0.1", &event)
        };
        let first = denial("Permissions Violation for Publish to \"lt.run.a.control.b\"").unwrap();
        assert!(
            first
                .message
                .contains("does not permit this user's Publish to \"lt.run.a.control.b\""),
            "{first:?}"
        );
        let other = denial("Permissions Violation for Publish to \"lt.run.c.control.d\"").unwrap();
        assert_eq!(first.subject, other.subject);
        let subscription =
            denial("Permissions Violation for Subscription to \"lt.run.a.control.b\"").unwrap();
        assert_ne!(first.subject, subscription.subject);
        assert_eq!(denial("Stale Connection"), None);
        assert_eq!(describe_denial("", &Event::Connected), None);
    }
}

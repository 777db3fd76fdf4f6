//! Certificates and handshakes.

#![expect(
    clippy::too_many_lines,
    reason = "a row of a table is several lines long"
)]

use crate::inject::{Target, matrix, row, row_at_once};
use crate::messages::{CLOSED_EARLY, NOT_HTTP_1};
use crate::row::{Group, Outcome, Row, fails, passes};
use loadtest_bad_server::{BadServer, Script};
use loadtest_tests::{Authority, self_signed};
use rustls::ServerConfig;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
/// The head of a TLS record.
const RECORD: usize = 5;

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = certificates();
    rows.extend(handshakes());
    rows.extend(sessions());
    rows
}

fn certificates() -> Vec<Row> {
    let ours = |name, year| matrix().authority.server(name, year);
    vec![
        unknown_authority(),
        shows(
            "A certificate that has expired",
            move || ours("127.0.0.1", 2001),
            fails(
                "tls.expired",
                "the TLS handshake failed: the certificate expired at 2001-01-01T00:00:00Z",
            ),
        ),
        shows(
            "A certificate for another address",
            move || ours("127.0.0.9", 4000),
            fails(
                "tls.name",
                "the TLS handshake failed: invalid peer certificate: certificate not valid for name \"127.0.0.1\"; certificate is only valid for IpAddress(127.0.0.9)",
            ),
        ),
        shows(
            "A certificate for another name",
            move || ours("shop.test", 4000),
            fails(
                "tls.name",
                "the TLS handshake failed: invalid peer certificate: certificate not valid for name \"127.0.0.1\"; certificate is only valid for DnsName(\"shop.test\")",
            ),
        ),
        shows(
            "A certificate signed with another key of the authority",
            || Authority::new().server("127.0.0.1", 4000),
            fails(
                "tls.untrusted",
                "the TLS handshake failed: invalid peer certificate: BadSignature; name the certificate to trust: `ca = \"certs/ca.pem\"`",
            ),
        ),
        shows(
            "A certificate that signed itself",
            || self_signed("127.0.0.1", 4000).0,
            fails(
                "tls.untrusted",
                "the TLS handshake failed: the certificate belongs to an authority, and is not trusted itself; name the certificate to trust: `ca = \"certs/ca.pem\"`",
            ),
        ),
        shows(
            "A server that wants a certificate of the client",
            || matrix().authority.mutual("127.0.0.1"),
            fails(
                "tls.protocol",
                "TLS failed: received fatal alert: CertificateRequired; the target asks for a client certificate: set `identity = \"certs/client.pem\"` with a certificate that it trusts",
            ),
        ),
        shows(
            "A certificate as it should be",
            move || ours("127.0.0.1", 4000),
            passes(),
        ),
    ]
}

fn handshakes() -> Vec<Row> {
    vec![
        says(
            "HTTP without TLS at an `https://` target",
            Script::new()
                .read(RECORD)
                .send("HTTP/1.1 400 Bad Request\r\n\r\n")
                .hold(),
            fails(
                "tls.protocol",
                "the TLS handshake failed: received corrupt message of type InvalidContentType; the target does not seem to speak TLS there: is it `http://`?",
            ),
        ),
        row(
            Group::Tls,
            "TLS at an `http://` target",
            "plain",
            || {
                let config = matrix().authority.server("127.0.0.1", 4000);
                let server = BadServer::start_tls(config, Script::answer(OK));
                Target::new("http", server.address(), server)
            },
            fails("head.malformed", NOT_HTTP_1),
        ),
        says(
            "Garbage in place of a ServerHello",
            Script::new().read(RECORD).send([0xff; 64]).hold(),
            fails(
                "tls.protocol",
                "the TLS handshake failed: received corrupt message of type InvalidContentType; the target does not seem to speak TLS there: is it `http://`?",
            ),
        ),
        says(
            "A ServerHello that is empty",
            Script::new()
                .read(RECORD)
                .send([22, 3, 3, 0, 4, 2, 0, 0, 0])
                .hold(),
            fails(
                "tls.protocol",
                "the TLS handshake failed: received corrupt message of type MissingData(\"ProtocolVersion\")",
            ),
        ),
        says(
            "Half a record, then closed",
            Script::new()
                .read(RECORD)
                .send([22, 3, 3, 0, 90, 2])
                .half_close()
                .hold(),
            fails(
                "tls.protocol",
                "the TLS handshake failed: tls handshake eof",
            ),
        ),
        says(
            "Closed within the handshake",
            Script::new().half_close().hold(),
            fails(
                "tls.protocol",
                "the TLS handshake failed: tls handshake eof",
            ),
        ),
        says(
            "Reset within the handshake",
            Script::new().read(RECORD).reset(),
            fails(
                "tls.protocol",
                "the TLS handshake failed: Connection reset by peer (os error 104)",
            ),
        ),
        alerts(
            "Alert handshake_failure",
            40,
            fails(
                "tls.protocol",
                "the TLS handshake failed: received fatal alert: HandshakeFailure; the target may want to know the client, `identity = \"certs/client.pem\"`, or accepts none of the ciphers that are offered",
            ),
        ),
        alerts(
            "Alert protocol_version",
            70,
            fails(
                "tls.protocol",
                "the TLS handshake failed: received fatal alert: ProtocolVersion; the target speaks neither TLS 1.2 nor 1.3",
            ),
        ),
        alerts(
            "Alert internal_error",
            80,
            fails(
                "tls.protocol",
                "the TLS handshake failed: received fatal alert: InternalError",
            ),
        ),
        alerts(
            "Alert unrecognized_name",
            112,
            fails(
                "tls.protocol",
                "the TLS handshake failed: received fatal alert: UnrecognisedName",
            ),
        ),
        alerts(
            "Alert no_application_protocol",
            120,
            fails(
                "tls.protocol",
                "the TLS handshake failed: received fatal alert: NoApplicationProtocol; the target speaks another version of HTTP: leave out `http = ..`, so that it chooses",
            ),
        ),
        row_at_once(
            Group::Tls,
            "No answer to the ClientHello until the deadline",
            "hurried",
            || scripted(Script::new().hold()),
            fails("timeout.connect", "the TLS handshake did not end within 3s"),
        )
        .peers("k6: error 1050; oha: nothing is said; Goose: hangs, no report"),
    ]
}

fn sessions() -> Vec<Row> {
    let one = |answer: &str| Script::answer_once(answer);
    vec![
        within(
            "Closed without close_notify within a body",
            one("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi"),
            fails(
                "body.truncated",
                "the body ended early: the connection was closed without an end of TLS",
            ),
        ),
        within(
            "Closed without close_notify at the end of a body without a length",
            one("HTTP/1.1 200 OK\r\n\r\nhi"),
            fails(
                "body.truncated",
                "the body ended early: the connection was closed without an end of TLS",
            ),
        ),
        within(
            "Closed with close_notify at the end of a body without a length",
            Script::new()
                .read_head()
                .send("HTTP/1.1 200 OK\r\n\r\nhi")
                .half_close()
                .hold(),
            passes(),
        ),
        within(
            "Closed without close_notify within the head",
            one("HTTP/1.1 200 OK\r\n"),
            fails("closed.fresh", CLOSED_EARLY),
        ),
        within(
            "Reset within the body",
            Script::new()
                .read_head()
                .send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi")
                .reset(),
            fails("reset.in_body", "the connection was reset within the body"),
        ),
    ]
}

/// A server with a certificate that answers well.
fn shows(
    fault: &'static str,
    config: impl Fn() -> ServerConfig + Send + Sync + 'static,
    expected: Outcome,
) -> Row {
    let target = move || {
        let server = BadServer::start_tls(config(), Script::answer(OK));
        Target::new("https", server.address(), server)
    };
    row(Group::Tls, fault, "trusting", target, expected)
}

/// A certificate that only the scenario `trusting` trusts.
fn unknown_authority() -> Row {
    let target = || {
        let config = matrix().authority.server("127.0.0.1", 4000);
        let server = BadServer::start_tls(config, Script::answer(OK));
        Target::new("https", server.address(), server)
    };
    let expected = fails(
        "tls.untrusted",
        "the TLS handshake failed: no trusted authority signed the certificate; name the certificate to trust: `ca = \"certs/ca.pem\"`",
    );
    row(
        Group::Tls,
        "A certificate of an authority that is not trusted",
        "plain",
        target,
        expected,
    )
    .peers("k6: error 1311; Goose: 1,612 failures; hey: accepts it")
}

/// A server that plays `script` in place of a handshake.
fn says(fault: &'static str, script: Script, expected: Outcome) -> Row {
    let target = move || scripted(script.clone());
    row(Group::Tls, fault, "trusting", target, expected)
}

fn alerts(fault: &'static str, description: u8, expected: Outcome) -> Row {
    let alert = [21, 3, 3, 0, 2, 2, description];
    says(
        fault,
        Script::new().read(RECORD).send(alert).hold(),
        expected,
    )
}

fn scripted(script: Script) -> Target {
    let server = BadServer::start(script);
    Target::new("https", server.address(), server)
}

/// A server that plays `script` after a good handshake.
fn within(fault: &'static str, script: Script, expected: Outcome) -> Row {
    let target = move || {
        let config = matrix().authority.server("127.0.0.1", 4000);
        let server = BadServer::start_tls(config, script.clone());
        Target::new("https", server.address(), server)
    };
    row(Group::Tls, fault, "trusting", target, expected)
}

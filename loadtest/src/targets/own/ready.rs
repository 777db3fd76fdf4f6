//! Probes whether a server is ready.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The probe that finds a target ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReadyProbe {
    /// It accepts a connection.
    Connect,
    /// It answers a `GET` of this path with a 2xx.
    Get(String),
}

/// The longest that one question may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

impl ReadyProbe {
    pub(super) fn get(path: String) -> Self {
        if path.starts_with('/') {
            Self::Get(path)
        } else {
            Self::Get(format!("/{path}"))
        }
    }

    /// Asks once, for at most `left`; the error says what came back instead.
    pub(super) fn probe_once(&self, address: SocketAddr, left: Duration) -> Result<(), String> {
        // Zero is no valid timeout.
        self.probe_within(address, left.clamp(Duration::from_millis(1), PROBE_TIMEOUT))
    }

    fn probe_within(&self, address: SocketAddr, patience: Duration) -> Result<(), String> {
        let stream = open_stream(address, patience)
            .map_err(|error| format!("no connection to {address} ({error})"))?;
        let Self::Get(path) = self else {
            return Ok(());
        };
        match request_status(stream, address, path, patience) {
            Ok(200..=299) => Ok(()),
            Ok(status) => Err(format!("GET {path} answered {status}")),
            Err(error) => Err(format!("GET {path} was not answered ({error})")),
        }
    }
}

fn open_stream(address: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, patience)?;
    // While no server listens, the system may pick the very port we call as the one we call from; TCP
    // then connects the socket to itself.
    if stream.local_addr()? == address {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(stream)
}

/// Sends the request and reads no more than the status line.
fn request_status(
    mut stream: TcpStream,
    address: SocketAddr,
    path: &str,
    patience: Duration,
) -> io::Result<u16> {
    stream.set_write_timeout(Some(patience))?;
    stream.set_read_timeout(Some(patience))?;
    // In one piece: a server may answer and hang up after the first.
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\naccept: */*\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let mut line = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut line)?;
    line.strip_prefix(b"HTTP/1.")
        .and_then(|rest| rest.get(2..))
        .and_then(|status| str::from_utf8(status).ok())
        .and_then(|status| status.parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    /// Longer than a machine may leave a thread without a turn.
    const PATIENCE: Duration = Duration::from_secs(120);

    /// Asks a server that sends `answer` to every client and then hangs up.
    fn answered(answer: &'static [u8]) -> Result<(), String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            stream.write_all(answer).unwrap();
            String::from_utf8(request).unwrap()
        });
        let outcome = ReadyProbe::get("health".into()).probe_within(address, PATIENCE);
        let request = server.join().unwrap();
        assert!(request.starts_with("GET /health HTTP/1.1\r\n"), "{request}");
        assert!(request.contains(&format!("\r\nhost: {address}\r\n")));
        outcome
    }

    #[test]
    fn a_2xx_is_ready() {
        assert_eq!(answered(b"HTTP/1.1 200 OK\r\n\r\n"), Ok(()));
        assert_eq!(answered(b"HTTP/1.0 204 No Content\r\n\r\n"), Ok(()));
    }

    #[test]
    fn anything_else_is_not_and_is_named() {
        assert_eq!(
            answered(b"HTTP/1.1 503 Service Unavailable\r\n\r\n"),
            Err("GET /health answered 503".into())
        );
        assert_eq!(
            answered(b"SSH-2.0-OpenSSH_9.6 and more of it"),
            Err("GET /health was not answered (the answer is not HTTP)".into())
        );
        assert!(
            answered(b"")
                .unwrap_err()
                .starts_with("GET /health was not answered")
        );
    }

    #[test]
    fn a_closed_port_is_not_ready() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(ReadyProbe::Connect.probe_within(address, PATIENCE), Ok(()));
        drop(listener);
        let refused = ReadyProbe::Connect
            .probe_within(address, PATIENCE)
            .unwrap_err();
        assert!(refused.starts_with(&format!("no connection to {address}")));
    }
}

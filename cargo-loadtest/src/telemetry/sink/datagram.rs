//! Lines in datagrams.

use super::Sent;
use std::net::UdpSocket;

/// The most bytes of a datagram, which every network passes on whole.
const MOST_BYTES: usize = 1_400;

/// A receiver of datagrams.
#[derive(Debug)]
pub(super) struct DatagramTarget {
    address: String,
    socket: Option<UdpSocket>,
}

impl DatagramTarget {
    pub(super) fn new(address: String) -> Self {
        Self {
            address,
            socket: None,
        }
    }

    /// Sends lines. What is lost on the way is not known.
    pub(super) fn send(&mut self, lines: &str) -> Sent {
        let socket = match &self.socket {
            Some(socket) => socket,
            None => match open_socket(&self.address) {
                Ok(socket) => self.socket.insert(socket),
                Err(error) => return Sent::Lost(error.kind().to_string()),
            },
        };
        for datagram in pack_lines(lines) {
            // The answer to an earlier one may say that nothing listens there.
            if let Err(error) = socket.send(datagram.as_bytes()) {
                self.socket = None;
                return Sent::Lost(error.kind().to_string());
            }
        }
        Sent::Delivered
    }
}

fn open_socket(address: &str) -> std::io::Result<UdpSocket> {
    use std::net::ToSocketAddrs as _;
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    for address in address.to_socket_addrs()? {
        let here = if address.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        };
        let connected = UdpSocket::bind(here).and_then(|socket| {
            socket.connect(address)?;
            Ok(socket)
        });
        match connected {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Divides lines among datagrams; a line is never cut.
fn pack_lines(lines: &str) -> Vec<&str> {
    let mut datagrams = Vec::new();
    let (mut from, mut to) = (0, 0);
    for line in lines.split_inclusive('\n') {
        if to + line.len() - from > MOST_BYTES && to > from {
            datagrams.push(&lines[from..to]);
            from = to;
        }
        to += line.len();
    }
    if to > from {
        datagrams.push(&lines[from..to]);
    }
    datagrams
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_hold_whole_lines_and_at_most_1400_bytes() {
        let lines: String = "line.of.some.length:1|c\n".repeat(300);
        let datagrams = pack_lines(&lines);
        assert_eq!(datagrams.concat(), lines);
        for datagram in &datagrams {
            assert!(datagram.len() <= MOST_BYTES && datagram.ends_with('\n'));
        }
        assert_eq!(datagrams.len(), 6, "{}", datagrams.len());
        assert!(pack_lines("").is_empty());
    }
}

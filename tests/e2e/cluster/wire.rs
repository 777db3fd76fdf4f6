//! A client of a NATS server that says whatever a test wants, line by line.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// A connection.
pub(crate) struct RawClient {
    from: BufReader<TcpStream>,
    to: TcpStream,
}

/// A message that came.
pub(crate) struct RawMessage {
    pub(crate) subject: String,
    pub(crate) reply: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl RawClient {
    /// Connects, and listens on these subjects.
    pub(crate) fn connect(server: SocketAddr, subjects: &[&str]) -> Self {
        let to = TcpStream::connect(server).expect("a server");
        let from = BufReader::new(to.try_clone().expect("a socket"));
        let mut client = Self { from, to };
        client.say(b"CONNECT {\"verbose\":false,\"pedantic\":false}\r\n");
        for (at, subject) in subjects.iter().enumerate() {
            client.say(format!("SUB {subject} {at}\r\n").as_bytes());
        }
        client
    }

    /// Publishes; a server that is gone takes nothing.
    pub(crate) fn publish(&mut self, subject: &str, body: &[u8]) {
        let head = format!("PUB {subject} {}\r\n", body.len());
        self.say(&[head.as_bytes(), body, b"\r\n"].concat());
    }

    /// Publishes with a subject for the answer, which is among those that this listens on, and returns the next message.
    pub(crate) fn ask(&mut self, subject: &str, reply: &str, body: &[u8]) -> Option<RawMessage> {
        let head = format!("PUB {subject} {reply} {}\r\n", body.len());
        self.say(&[head.as_bytes(), body, b"\r\n"].concat());
        self.next()
    }

    fn say(&mut self, bytes: &[u8]) {
        // The end of the connection is seen where it is read.
        let _ = self.to.write_all(bytes);
    }

    /// Waits for a message; `None` at the end of the connection.
    pub(crate) fn next(&mut self) -> Option<RawMessage> {
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["PING"] => self.say(b"PONG\r\n"),
                ["MSG", subject, _, reply @ .., length] => {
                    let mut body = vec![0; length.parse::<usize>().ok()? + 2];
                    self.from.read_exact(&mut body).ok()?;
                    body.truncate(body.len() - 2);
                    return Some(RawMessage {
                        subject: (*subject).to_owned(),
                        reply: reply.first().map(|reply| (*reply).to_owned()),
                        body,
                    });
                }
                _ => {}
            }
        }
    }
}

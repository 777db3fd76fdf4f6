//! A proxy of a NATS server that reads what passes, message by message, and loses, repeats, delays or cuts it.

use std::collections::HashSet;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    /// It comes three times; the server does not know the copies as such.
    Thrice,
    Lost,
    /// It comes so much later, with everything behind it.
    Late(Duration),
    /// The connection ends within it.
    Cut,
}

/// A message on its way.
#[derive(Debug)]
pub(crate) struct Passing<'a> {
    /// True on the way to the server.
    pub(crate) is_published: bool,
    pub(crate) subject: &'a str,
    /// The number that its sender gave it, from 1, where it brings bytes of a file, and not for the second time; 0 for
    /// others.
    pub(crate) parcel: u32,
}

type Script = dyn Fn(&Passing<'_>) -> Fate + Send + Sync;

/// A proxy of a server; it stops when it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Proxy {
    /// Starts one that does with each message what `script` says.
    pub(crate) fn start(
        server: SocketAddr,
        script: impl Fn(&Passing<'_>) -> Fate + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free loopback port");
        let address = listener.local_addr().expect("a bound socket");
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let script: Arc<Script> = Arc::new(script);
        let known = [(); 2].map(|()| Arc::new(Mutex::new(HashSet::new())));
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(server) = TcpStream::connect(server) else {
                    continue;
                };
                let ways = [(&client, &server, true), (&server, &client, false)];
                for ((from, to, is_published), known) in ways.into_iter().zip(&known) {
                    let mut way = Way {
                        from: from.try_clone().expect("a socket"),
                        to: to.try_clone().expect("a socket"),
                        is_published,
                        known: Arc::clone(known),
                        script: Arc::clone(&script),
                    };
                    thread::spawn(move || {
                        // What ends one way ends the other one.
                        let _ = way.pass();
                        let _ = way.from.shutdown(Shutdown::Both);
                        let _ = way.to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { address, is_over }
    }

    /// Its address, as an option of the tool.
    pub(crate) fn option(&self) -> String {
        format!("--cluster nats://{}", self.address)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

/// One direction of a connection.
struct Way {
    from: TcpStream,
    to: TcpStream,
    is_published: bool,
    /// The parcels that went this way.
    known: Arc<Mutex<HashSet<String>>>,
    script: Arc<Script>,
}

impl Way {
    fn pass(&mut self) -> io::Result<()> {
        let mut from = BufReader::new(self.from.try_clone()?);
        let mut head = Vec::new();
        while from.read_until(b'\n', &mut head)? > 0 {
            let line = String::from_utf8_lossy(&head).into_owned();
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["PUB" | "HPUB" | "MSG" | "HMSG", subject, .., length] => {
                    let length: usize = length.parse().map_err(io::Error::other)?;
                    let mut body = vec![0; length + 2];
                    from.read_exact(&mut body)?;
                    self.pass_message(subject, &head, &body)?;
                }
                _ => self.to.write_all(&head)?,
            }
            head.clear();
        }
        Ok(())
    }

    /// Returns the number of a parcel, unless it has none or went this way before.
    fn number_of_parcel(&self, subject: &str, body: &[u8]) -> Option<u32> {
        // The head of a parcel is a line, and so is each that follows it.
        let lines = body.windows(2).filter(|pair| pair == b"}\n").count();
        if !subject.contains(".parcels.") || lines < 2 {
            return None;
        }
        let text = String::from_utf8_lossy(body);
        let (_, identifier) = text.split_once("Nats-Msg-Id: ")?;
        let identifier = identifier.split_whitespace().next()?;
        let number = identifier.rsplit('.').next()?.parse().ok()?;
        let is_new = self.known.lock().ok()?.insert(identifier.to_owned());
        is_new.then_some(number)
    }

    fn pass_message(&mut self, subject: &str, head: &[u8], body: &[u8]) -> io::Result<()> {
        let fate = (self.script)(&Passing {
            is_published: self.is_published,
            subject,
            parcel: self.number_of_parcel(subject, body).unwrap_or(0),
        });
        match fate {
            Fate::Pass => {}
            Fate::Thrice => {
                // By this header the server would know them.
                let text = b"Nats-Msg-Id";
                let mut copy = body.to_vec();
                if let Some(at) = body.windows(text.len()).position(|part| part == text) {
                    copy[at] = b'X';
                }
                for _ in 0..2 {
                    self.to.write_all(&[head, &copy].concat())?;
                }
            }
            Fate::Lost => return Ok(()),
            Fate::Late(time) => thread::sleep(time),
            Fate::Cut => {
                self.to.write_all(head)?;
                self.to.write_all(&body[..body.len() / 2])?;
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
        }
        self.to.write_all(&[head, body].concat())
    }
}

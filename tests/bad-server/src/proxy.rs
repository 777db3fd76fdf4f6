//! A proxy that passes bytes to a server and back, and does a fault of the network to what comes back.

use crate::listener::{self, Listener};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

/// A fault of a network, on the way from the server to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkFault {
    /// Nothing: every byte is passed as it comes.
    None,
    /// A reset (RST) after so many bytes, when the next one comes.
    ResetAfter(usize),
    /// An end (FIN) after so many bytes, when the next one comes; what the client sends is read on.
    HalfCloseAfter(usize),
    /// An end (FIN) in both directions after so many bytes, when the next one comes.
    CloseAfter(usize),
    /// No byte after so many, and no end.
    BlackHoleAfter(usize),
    /// Pieces of so many bytes, each in a packet of its own.
    Slices(usize),
    /// A pause before each piece of data, and one of at most `jitter` more.
    Latency {
        /// The pause.
        delay: Duration,
        /// The most that comes on top; how much is the same in every run.
        jitter: Duration,
    },
    /// So many bytes a second.
    Bandwidth(u32),
}

/// A proxy on a free loopback port in front of a server.
pub struct FaultProxy {
    listener: Listener,
    fault: NetworkFault,
}

impl FaultProxy {
    /// Starts a proxy of the server at `upstream`.
    pub fn start(upstream: SocketAddr, fault: NetworkFault) -> Self {
        let listener = Listener::start(move |client, number| {
            // Either side may go away at any time; that is its business.
            let _ = pass(client, upstream, fault, number);
        });
        Self { listener, fault }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }
}

impl fmt::Debug for FaultProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultProxy")
            .field("address", &self.address())
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

fn pass(
    client: TcpStream,
    upstream: SocketAddr,
    fault: NetworkFault,
    number: u64,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    let server = TcpStream::connect(upstream)?;
    server.set_nodelay(true)?;
    let (mut asks, mut is_asked) = (client.try_clone()?, server.try_clone()?);
    let requests = thread::spawn(move || {
        let _ = io::copy(&mut asks, &mut is_asked);
        let _ = is_asked.shutdown(Shutdown::Write);
    });
    let is_reached = spoil(&server, &client, fault, number).unwrap_or(false);
    match fault {
        NetworkFault::HalfCloseAfter(_) if is_reached => client.shutdown(Shutdown::Write)?,
        NetworkFault::BlackHoleAfter(_) if is_reached => {}
        NetworkFault::ResetAfter(_) if is_reached => {
            // The other thread shares the socket: the RST is sent as soon as it lets go.
            server.shutdown(Shutdown::Both)?;
            client.shutdown(Shutdown::Read)?;
            let _ = requests.join();
            return listener::reset(client);
        }
        _ => client.shutdown(Shutdown::Both)?,
    }
    let _ = requests.join();
    Ok(())
}

/// Passes what the server says until the fault ends it, or the server does. Returns whether it was the fault.
fn spoil(
    mut server: &TcpStream,
    mut client: &TcpStream,
    fault: NetworkFault,
    number: u64,
) -> io::Result<bool> {
    let mut random = number;
    let mut left = match fault {
        NetworkFault::ResetAfter(bytes)
        | NetworkFault::HalfCloseAfter(bytes)
        | NetworkFault::CloseAfter(bytes)
        | NetworkFault::BlackHoleAfter(bytes) => bytes,
        _ => usize::MAX,
    };
    let mut buffer = [0; 4096];
    loop {
        let count = server.read(&mut buffer)?;
        if count == 0 {
            return Ok(false);
        }
        let data = &buffer[..count.min(left)];
        left -= data.len();
        match fault {
            NetworkFault::Slices(bytes) => {
                for slice in data.chunks(bytes.max(1)) {
                    client.write_all(slice)?;
                }
            }
            NetworkFault::Latency { delay, jitter } => {
                random = next_random(random);
                thread::sleep(delay + jitter.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64));
                client.write_all(data)?;
            }
            NetworkFault::Bandwidth(bytes) => {
                for slice in data.chunks((bytes as usize / 100).max(1)) {
                    thread::sleep(
                        Duration::from_secs(1).mul_f64(slice.len() as f64 / f64::from(bytes)),
                    );
                    client.write_all(slice)?;
                }
            }
            _ => client.write_all(data)?,
        }
        if data.len() < count {
            return Ok(true);
        }
    }
}

/// One step of `SplitMix64`.
fn next_random(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

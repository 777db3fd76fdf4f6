//! A scripted bad server and a TCP fault proxy, for tests of clients of any protocol over TCP or TLS.
//!
//! A [`BadServer`] plays a [`Script`] on each connection: it reads a request head, sends these very bytes, resets,
//! closes half, or holds the connection and says nothing.
//!
//! ```
//! use loadtest_bad_server::{BadServer, Script};
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//!
//! let server = BadServer::start(Script::new().read_head().send("HTTP/1.1 200 OK\r\n").reset());
//! let mut client = TcpStream::connect(server.address())?;
//! client.write_all(b"GET / HTTP/1.1\r\nhost: shop\r\n\r\n")?;
//!
//! let mut answer = Vec::new();
//! let error = client.read_to_end(&mut answer).unwrap_err();
//! assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
//! assert_eq!(server.heads(), 1);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A [`FaultProxy`] passes bytes to a real server and back, and does a [`NetworkFault`] to what comes back:
//!
//! ```
//! use loadtest_bad_server::{BadServer, FaultProxy, NetworkFault, Script};
//! use std::io::Read;
//! use std::net::TcpStream;
//!
//! let server = BadServer::start(Script::new().send("hello").close());
//! let proxy = FaultProxy::start(server.address(), NetworkFault::CloseAfter(4));
//! let mut answer = String::new();
//! TcpStream::connect(proxy.address())?.read_to_string(&mut answer)?;
//! assert_eq!(answer, "hell");
//! # Ok::<(), std::io::Error>(())
//! ```

mod listener;
mod proxy;
mod script;
mod server;

pub use listener::{ClosedPort, FullPort};
pub use proxy::{FaultProxy, NetworkFault};
pub use script::Script;
pub use server::BadServer;

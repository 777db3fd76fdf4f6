//! The transport against a server that answers, and misbehaves, as told.

mod uploads;
mod user;

mod answers;
mod autobahn;
mod compression;
mod connections;
mod cookies;
mod deadlines;
#[cfg(unix)]
mod exhaustion;
mod faults;
mod framing;
mod guard;
mod http2;
#[cfg(feature = "http3")]
mod http3;
mod lookups;
mod network;
mod pool;
mod redirects;
mod streams;
mod tls;
mod traces;
mod websocket;

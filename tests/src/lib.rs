//! A scripted HTTP/1.1 server for tests: it answers as told, misbehaves as told, and counts exactly.
//!
//! ```
//! use loadtest_tests::{Reply, Server};
//! use std::time::Duration;
//!
//! let server = Server::start(|request| match request.path.as_str() {
//!     "/slow" => Reply::json(r#"{"id":1}"#).delay(Duration::from_millis(50)),
//!     "/flaky" if request.sequence % 2 == 0 => Reply::reset(),
//!     "/flaky" => Reply::text("second time lucky"),
//!     _ => Reply::status(404),
//! });
//! println!("{} was sent {} requests", server.url(), server.requests());
//! ```

mod collection;
mod copied;
mod described;
#[cfg(test)]
mod docs;
pub mod fuzz;
mod gate;
mod parse;
mod replay;
mod reply;
mod serve;
mod tls;
mod waits;

pub use collection::{Collection, Serving};
pub use copied::{Copied, Sent, Taking};
pub use described::{Described, Service};
pub use gate::Gate;
pub use parse::Request;
pub use replay::{Refusals, Replay, Replayed};
pub use reply::Reply;
pub use serve::{ClosedPort, Server};
pub use tls::{Authority, Front, self_signed};
pub use waits::render_waits;

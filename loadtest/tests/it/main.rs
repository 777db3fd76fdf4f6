//! The library as its users see it, against real sockets where it sends.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that cannot go on fails the test"
)]

mod allocations;
mod bodies;
mod chain;
mod choices;
mod combined;
mod completion;
mod connections;
mod definition;
mod errands;
mod errors;
mod event_shapes;
mod feeds;
mod fetched_again;
mod graphql;
mod groups;
mod grpc;
mod headers;
mod impossible;
mod in_process;
mod measure;
mod paused;
mod python_server;
mod records;
mod renewal;
mod repeat;
mod retry_after;
mod script;
mod shared;
mod streams;
#[cfg(unix)]
mod target;
mod template_values;
mod unusual;
mod value;
mod websocket;
/// Public, so that the lints of public items look at its scenarios.
pub mod weird_usage;

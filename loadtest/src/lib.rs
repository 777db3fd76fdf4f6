//! Load tests as Rust functions.

pub mod card;
pub mod chain;
pub mod definition;
pub mod engine;
pub mod harness;
pub mod metrics;
pub mod plan;
pub mod protocol;
pub mod record;
pub mod redact;
mod registry;
pub mod schedule;
pub mod targets;
pub mod transport;

pub use registry::{Entry, Registry};

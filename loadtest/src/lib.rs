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

#[doc(hidden)]
pub use chain::generated as __private;
pub use registry::{Entry, Registry};

/// What a scenario file imports: `use loadtest::prelude::*;`.
pub mod prelude {
    pub use crate::chain::{Request, Response, Vu};
    pub use crate::targets::{Target, TargetError};
    pub use loadtest_macros::{check, response, scenario, setup, state, step, teardown};
    pub use serde_json::{Value, json};
}

/// The examples of the language page compile.
#[cfg(doctest)]
#[doc = include_str!("../../docs/language.md")]
mod language {}

//! Load tests as Rust functions: each step of a scenario is a function, its parameters are the answers
//! of earlier steps, and the compiler checks every one of them.
//!
//! ```no_run
//! use loadtest::prelude::*;
//!
//! #[response]
//! struct Login { token: String }
//!
//! /// A customer logs in and looks around.
//! #[scenario(
//!     base = "http://127.0.0.1:3000",
//!     load = rate(50/s, ramp_up = 2s, for = 10s),
//!     thresholds(p95 < 300ms, errors < 1%),
//! )]
//! fn visit() {
//!     #[step]
//!     fn login() -> Request<Login> {
//!         Request::post("/login").json(&json!({ "user": "ada" }))
//!     }
//!
//!     #[step(weight = 0.8, think = 500ms..2s)]
//!     fn browse(login: &Login) -> Request {
//!         Request::get("/products").bearer_auth(&login.token)
//!     }
//! }
//!
//! loadtest::main!();
//! ```
//!
//! That is the whole of a `tests/load.rs`, a test target with `harness = false`. `cargo test` runs each
//! scenario once; `cargo loadtest run` puts them under load and grades them, and [`run()`] does so from code
//! of your own. What a scenario file needs is
//! in the [`prelude`]; the language is described in `docs/language.md`.
//!
//! Data runs one way through the modules: [`definition`] and [`chain`] are what a scenario compiles to,
//! [`plan`] is what a run will do, [`engine`] does it over a [`transport`], [`metrics`] adds it up, a
//! [`record`] keeps it, and a [`card`] grades it; [`capacity`] is runs and cards in turn. [`debug`] is one iteration, shown. [`harness`] is the binary's own
//! `main`, [`protocol`] what it and `cargo-loadtest` say to each other.

pub mod chain;
pub mod debug;
pub mod engine;
pub mod harness;
mod machine;
pub mod redact;
mod registry;
pub mod replay;
mod run;
mod secrets;
pub mod targets;
pub mod transport;

#[doc(hidden)]
pub use chain::generated as __private;
pub use chain::{File, FileError};
#[doc(hidden)]
pub use loadtest_model::{
    capacity, card, comparison, definition, failure, metrics, mix, plan, protocol, record, schedule,
};
pub use registry::{Entry, Registry};
/// Whose requests and responses steps have that send for themselves.
pub use reqwest;
pub use run::{Run, RunError, run};
pub use secrets::{Secret, secret};

/// Forms with parts, for [`Request::multipart`](chain::Request::multipart): those of `reqwest`.
pub mod multipart {
    pub use reqwest::multipart::{Form, Part};
}

/// What a scenario file imports: `use loadtest::prelude::*;`.
pub mod prelude {
    pub use crate::chain::{Error, Feed, Http, Request, Response, Skip, Vu};
    pub use crate::secrets::{Secret, secret};
    pub use crate::targets::{Target, TargetError};
    pub use bytes::Bytes;
    pub use loadtest_macros::{check, feed, response, scenario, setup, state, step, teardown};
    pub use serde_json::{Value, json};
}

/// The examples of the pages on the language compile.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../docs/language.md")]
    mod language {}
    #[doc = include_str!("../../docs/recipes.md")]
    mod recipes {}
    #[doc = include_str!("../../docs/secrets.md")]
    mod secrets {}
    #[doc = include_str!("../../docs/steps.md")]
    mod steps {}
    #[doc = include_str!("../../docs/targets.md")]
    mod targets {}
}

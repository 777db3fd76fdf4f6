//! Load tests as Rust functions. Each step of a scenario is a function, its parameters are the responses
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
//! scenario once; `cargo loadtest run` puts them under load and grades them.
//!
//! | to | use |
//! |---|---|
//! | declare a scenario and its parts | [`#[scenario]`](prelude::scenario), [`#[step]`](prelude::step), [`#[check]`](prelude::check), [`#[feed]`](prelude::feed), [`#[state]`](prelude::state), [`#[setup]`](prelude::setup), [`#[teardown]`](prelude::teardown) |
//! | describe an answer | [`#[response]`](prelude::response), [`Response`], [`Page`], [`Events`], [`Socket`], [`Graph`] |
//! | build a request | [`Request`], [`File`], [`multipart`], [`secret`] |
//! | send several requests in a step | [`Http`] |
//! | call gRPC services | [`Http::grpc`] |
//! | leave a step out, or fail it | [`Skip`], [`Error`], [`Stale`] |
//! | draw numbers, and count things of your own | [`Vu`] |
//! | read rows of data | [`Feed`] |
//! | start the service under test | [`Target`](targets::Target) |
//! | run a scenario from code | [`run()`], [`Run`] |
//!
//! A scenario file needs [`prelude`] and [`main!`] only.

mod chain;
mod debug;
mod engine;
pub mod harness;
mod machine;
pub mod multipart;
mod package_folder;
mod page;
mod panic_message;
mod registry;
#[cfg(feature = "replay")]
mod replay;
mod run;
mod secrets;
pub mod targets;
mod transport;

#[cfg(test)]
extern crate self as loadtest;

#[doc(hidden)]
pub use chain::generated as __private;
pub use chain::{
    Scenario,
    beat::Beat,
    credential::Credential,
    error::Error,
    events::{Event, Events},
    feed::Feed,
    file::{File, FileError},
    graph::Graph,
    grpc::{Grpc, GrpcBody},
    http::{Http, event_stream::EventStream, failure::HttpError, request::HttpRequest},
    measure::{Measure, MeasureError, MeasuredOutput, Reason},
    net::{ConnectionEnd, Net},
    request::Request,
    response::Response,
    skip::Skip,
    socket::{IntoMessage, Message, OutgoingMessage, Socket, SocketWait},
    stale::Stale,
    stamp::Stamp,
    vu::Vu,
};
pub use engine::control::Control;
pub use loadtest_model::{card, definition, exit_code, failure};
pub use page::{Choice, Field, Link, Page, PageForm};
/// The HTTP client whose requests and responses `async` steps use.
pub use reqwest;
pub use run::{Progress, Run, RunError, run};
pub use secrets::{Secret, redact, secret};
pub use transport::graphql::GraphError;
pub use transport::socket::{Datagrams, Stream};

/// The imports of a scenario file: `use loadtest::prelude::*;`.
///
/// The attributes, the types that steps take and return, and [`json!`](serde_json::json) with its
/// [`Value`](serde_json::Value).
pub mod prelude {
    pub use crate::targets::{Target, TargetError};
    pub use crate::{
        Error, Events, Feed, Graph, Grpc, Http, Net, Page, Request, Response, Secret, Skip, Socket,
        Stale, Stamp, Vu, secret,
    };
    pub use bytes::Bytes;
    pub use loadtest_macros::{
        check, feed, group, response, scenario, scenarios, setup, state, step, teardown,
    };
    pub use serde_json::{Value, json};
}

/// The examples of the pages on the language compile.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../docs/graphql.md")]
    mod graphql {}
    #[doc = include_str!("../../docs/grpc.md")]
    mod grpc {}
    #[doc = include_str!("../../docs/language.md")]
    mod language {}
    #[doc = include_str!("../../docs/measure.md")]
    mod measure {}
    #[doc = include_str!("../../docs/recipes.md")]
    mod recipes {}
    #[doc = include_str!("../../docs/secrets.md")]
    mod secrets {}
    #[doc = include_str!("../../docs/steps.md")]
    mod steps {}
    #[doc = include_str!("../../docs/streams.md")]
    mod streams {}
    #[doc = include_str!("../../docs/targets.md")]
    mod targets {}
    #[doc = include_str!("../../docs/websocket.md")]
    mod websocket {}
}

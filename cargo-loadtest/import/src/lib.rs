//! Imports requests: reads them from curl commands, archives, OpenAPI documents, collections and load tests, and
//! writes a load test.
//!
//! A reader of a format makes a [`Recording`]; the passes [`correlate`] and [`hide_secrets`] transform it; the writers
//! print it. No shell is ever run, and no file is read without permission.

mod base;
mod correlation;
mod curl;
mod document;
#[cfg(test)]
mod fuzz;
mod har;
mod hiding;
mod jmx;
mod k6;
mod migration;
mod naming;
mod openapi;
mod postman;
mod recording;
#[cfg(test)]
mod refusals;
mod replayed;
mod rust;
mod secrets;
mod shell;
mod source;
mod syntax;
mod text;

pub use correlation::{LeftValue, correlate, find_left_values};
pub use curl::{PermittedFiles, read_text, read_words};
pub use document::format;
pub use har::{HarOptions, read_har};
pub use hiding::hide_secrets;
pub use jmx::read_jmx;
pub use k6::read_k6;
pub use openapi::{OpenApiOptions, read_openapi};
pub use postman::{PostmanOptions, read_environment, read_postman};
pub use recording::{Dropped, Recording};
pub use replayed::replay_recording;
pub use rust::{Linked, NamedSecret, WrittenScenario, format_source, write_source};
pub use shell::EnvironmentLookup;
pub use source::{Input, Mistake, Span};

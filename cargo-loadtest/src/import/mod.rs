//! Requests that somebody recorded, from whatever holds them: read, understood, and made a load test.
//!
//! A reader of a format - [`curl`], [`har`], [`openapi`], [`postman`] - makes a [`Recording`] of its input, and tells what it could not honour; what
//! is done with a recording knows nothing of formats. No shell is ever run, and no file is read that was not
//! permitted.

mod correlation;
mod curl;
mod document;
#[cfg(test)]
mod fuzz;
mod har;
mod naming;
mod openapi;
mod postman;
mod recording;
#[cfg(test)]
mod refusals;
mod replayed;
mod rust;
mod secrecy;
mod shell;
mod silence;
mod source;

pub(crate) use correlation::correlate;
pub(crate) use curl::{Files, read_text, read_words};
pub(crate) use document::format;
pub(crate) use har::{HarOptions, read_har};
pub(crate) use openapi::{OpenApiOptions, read_openapi};
pub(crate) use postman::{PostmanOptions, read_environment, read_postman};
pub(crate) use recording::{Recording, Secret};
pub(crate) use replayed::replayed;
pub(crate) use rust::{Linked, Named, write};
pub(crate) use secrecy::without as without_secrets;
pub(crate) use silence::silence;
pub(crate) use source::{Input, Mistake};

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
mod marked;
mod naming;
mod openapi;
mod postman;
#[expect(dead_code, reason = "readers and passes are converted to it")]
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
pub(crate) use har::HarOptions;
pub(crate) use marked::{Recording, Secret};
pub(crate) use openapi::OpenApiOptions;
pub(crate) use postman::{PostmanOptions, read_environment};
pub(crate) use replayed::{is_replayed, replayed};
pub(crate) use rust::{Linked, Named, write};
pub(crate) use secrecy::without as without_secrets;
pub(crate) use silence::silence;
pub(crate) use source::{Input, Mistake};

/// Reads an HTTP archive.
pub(crate) fn read_har(input: &Input, options: &HarOptions) -> Result<Recording, Mistake> {
    har::read_har(input, options).map(recording::Recording::marked)
}

/// Reads an OpenAPI document.
pub(crate) fn read_openapi(input: &Input, options: &OpenApiOptions) -> Result<Recording, Mistake> {
    openapi::read_openapi(input, options).map(|recording| recording.typed(false).marked())
}

/// Reads a Postman collection.
pub(crate) fn read_postman(input: &Input, options: &PostmanOptions) -> Result<Recording, Mistake> {
    postman::read_postman(input, options).map(|recording| recording.typed(false).marked())
}

//! Requests that somebody recorded, from whatever holds them: read, understood, and made a load test.
//!
//! A reader of a format - [`curl`] - makes a [`Recording`] of its input, and tells what it could not honour; what
//! is done with a recording knows nothing of formats. No shell is ever run, and no file is read that was not
//! permitted.

mod curl;
mod naming;
mod recording;
mod replayed;
mod rust;
mod shell;
mod source;

pub(crate) use curl::{Files, read_text, read_words};
pub(crate) use recording::Recording;
pub(crate) use replayed::{is_replayed, replayed};
pub(crate) use rust::{Named, write};
pub(crate) use source::{Input, Mistake};

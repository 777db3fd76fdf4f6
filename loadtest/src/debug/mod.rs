//! One iteration, shown: every request and response, and the outcome of each step, without secrets.

mod body;
mod curl;
mod events;
mod observer;
mod secret_names;
pub(crate) mod shell;

pub(crate) use curl::CurlTls;
pub(crate) use observer::DebugObserver;

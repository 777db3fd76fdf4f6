//! gRPC calls: the HTTP/2 connections of a user that they share, and what is measured of them.
//!
//! The clients of calls are those that others generate; nothing here knows what is within a message.

mod call;
mod channel;
mod log;
mod messages;
mod status;
mod upload;

pub(crate) use call::{CallBody, OpenCallError, OpenedCall};
pub(crate) use channel::{CallTarget, GrpcChannels};
pub(crate) use log::{CallLog, ShownCall};
pub(crate) use status::{code_of_failure, failure_trailers, ok_trailers};
pub(crate) use upload::{BoxError, OutgoingBody};

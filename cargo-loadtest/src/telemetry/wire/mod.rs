//! The messages of protobuf that sinks send, as far as they send them.

pub(super) mod otlp;
pub(super) mod otlp_trace;
pub(super) mod prometheus;

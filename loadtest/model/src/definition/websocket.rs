//! Steps that open a WebSocket.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How a step opens a WebSocket: a step that answers `Socket<T>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSocketDef {
    /// `protocol = "chat.v2"`: the protocols that are offered, of which the target chooses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Cow<'static, str>>,
    /// `compress = true`: compression is offered (`permessage-deflate`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compress: bool,
}

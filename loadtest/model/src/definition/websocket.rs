//! Steps that open a WebSocket.

use super::micros;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// How a step opens a WebSocket: a step that answers `Socket<T>`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSocketDef {
    /// `protocol = "chat.v2"`: the protocols that are offered, of which the target chooses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Cow<'static, str>>,
    /// `compress = true`: compression is offered (`permessage-deflate`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compress: bool,
    /// `heartbeat("ping", every = 25s)`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Heartbeat>,
    /// `reply("2", "3")`, in their order.
    #[serde(default, skip_serializing_if = "<[AutomaticReply]>::is_empty")]
    pub replies: Cow<'static, [AutomaticReply]>,
}

/// A text that is sent again and again, whatever the steps do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The text.
    pub message: Cow<'static, str>,
    /// The time from opening the connection to the first one, and from one to the next.
    #[serde(rename = "every_us", with = "micros")]
    pub every: Duration,
    /// `answer = "pong"`: the answer of the target, which is no message for steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Cow<'static, str>>,
}

/// A text of the target that is answered whatever the steps do, and is no message for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutomaticReply {
    /// The text of the target.
    pub to: Cow<'static, str>,
    /// The answer.
    pub with: Cow<'static, str>,
}

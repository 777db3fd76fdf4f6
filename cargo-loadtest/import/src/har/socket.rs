//! Reads the messages of a WebSocket, as browsers record them in `_webSocketMessages`.

use super::entry::HarEntry;
use crate::document::Node;
use crate::recording::{Socket, SocketMessage, Text, is_json};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::time::Duration;

/// The opcode of messages in bytes, whose data is encoded in base64.
const BINARY: f64 = 2.0;
/// The longest pause before a message, in seconds.
const LONGEST_PAUSE: f64 = 30.0;

/// Reads the messages of an entry.
pub(super) fn read_socket(entry: &HarEntry<'_>) -> Socket {
    let messages = entry.node.get("_webSocketMessages");
    let mut socket = Socket::default();
    let mut last = None;
    for message in messages.map(Node::items).unwrap_or_default() {
        let Some(data) = message.text_of("data") else {
            continue;
        };
        let is_binary = message.get("opcode").and_then(Node::number) == Some(BINARY);
        let time = message.get("time").and_then(Node::number);
        let pause = time
            .zip(last)
            .map_or(0.0, |(time, last): (f64, f64)| time - last);
        last = time.or(last);
        if message.text_of("type") == Some("send") {
            let bytes = is_binary
                .then(|| BASE64_STANDARD.decode(data).ok())
                .flatten();
            socket.sent.push(SocketMessage {
                content: bytes.map_or_else(|| Text::literal(data), Text::from_bytes),
                pause: Duration::try_from_secs_f64(pause.min(LONGEST_PAUSE)).unwrap_or_default(),
                is_answered: false,
            });
        } else {
            socket.is_text |= is_binary || !is_json(data);
            if let Some(sent) = socket.sent.last_mut() {
                sent.is_answered = true;
            }
        }
    }
    socket
}

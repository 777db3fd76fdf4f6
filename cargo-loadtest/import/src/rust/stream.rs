//! Steps whose answers go on: streams of events, and WebSockets with the messages that were sent.

use super::comment;
use super::function::{Function, Uses};
use super::layout::{quote_text, write_attribute};
use super::load::render_time;
use super::scope::Scope;
use crate::naming;
use crate::recording::{EventStream, Exchange, Piece, Socket, Text};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

/// The time after which a step leaves a stream of which nothing is known.
const LASTS: Duration = Duration::from_secs(10);
/// The most messages of a WebSocket that are written.
const MOST_MESSAGES: usize = 50;
/// The shortest pause between messages that is written.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// Returns what ends the stream of a step. That of a request with a body, such as a question to a model, ends by itself.
pub(super) fn render_stream_end(exchange: &Exchange, stream: &EventStream) -> Vec<String> {
    match &stream.end {
        Some(end) => vec![format!("end = {}", quote_text(end))],
        None if exchange.method != "GET" => Vec::new(),
        None if stream.events > 0 => vec![format!("events = {}", stream.events)],
        None => vec![format!(
            "lasts = {}",
            render_time(exchange.timeout.unwrap_or(LASTS))
        )],
    }
}

/// Returns the URL of a WebSocket, whose scheme says so.
pub(super) fn socket_url(url: Text) -> Text {
    let rest = url.strip_prefix("http");
    rest.map_or(url, |rest| rest.between("ws", ""))
}

/// Writes a step that sends the recorded messages over the WebSocket of the step `name`, whose type is `ty`.
pub(super) fn write_messages(
    source: &mut String,
    (name, ty): (&str, &str),
    socket: &Socket,
    scope: &Scope<'_>,
    uses: &mut Uses,
) {
    if socket.sent.is_empty() {
        return;
    }
    let mut function = Function::new(scope, uses);
    for message in socket.sent.iter().take(MOST_MESSAGES) {
        if message.pause >= SHORTEST_PAUSE {
            let millis = message.pause.as_millis();
            let pause = format!("std::time::Duration::from_millis({millis})");
            function.write(&format!("{name}.pause({pause}).await;"));
        }
        let verb = if message.is_answered { "ask" } else { "send" };
        let content = match message.content.pieces() {
            [Piece::Bytes(_)] => format!("{}.to_vec()", function.text(&message.content)),
            _ => function.owned(&message.content),
        };
        function.write(&format!("{name}.{verb}({content}).await?;"));
    }
    source.push('\n');
    if socket.sent.len() > MOST_MESSAGES {
        let more = socket.sent.len() - MOST_MESSAGES;
        let words = format!("The first {MOST_MESSAGES} messages; {more} more were recorded.");
        comment::write_comment(source, "    //", &words);
    }
    write_attribute(source, "    ", "step", &[]);
    let mut taken: HashSet<String> = scope.scenario.names.values().cloned().collect();
    let step = naming::unique(&format!("{name}_messages"), &mut taken);
    let mut parameters = vec![format!("{name}: &{ty}")];
    parameters.extend(function.parameters());
    let (parameters, statements) = (parameters.join(", "), function.statements());
    let _ = write!(
        source,
        "    async fn {step}({parameters}) -> Result<(), Error> {{\n{statements}        Ok(())\n    }}\n"
    );
}

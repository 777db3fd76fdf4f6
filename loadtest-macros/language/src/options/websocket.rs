//! `ws = "/socket"`, and the options of steps that answer `Socket<T>`: `protocol = "chat.v2"`, `compress = true`,
//! `heartbeat("ping", every = 25s)` and `reply("2", "3")`.

use super::body::parse_two_texts;
use super::value::{parse_error, parse_positive_duration};
use super::{note_given, parse_option_name, unknown_option};
use proc_macro2::Ident;
use std::time::Duration;
use syn::parse::ParseStream;
use syn::{LitBool, LitStr, Token, parenthesized, token};

/// The option that opens a WebSocket, in the place of a method.
pub const OPEN_OPTION: &str = "ws";
/// The options of steps that answer `Socket<T>`, declared or built.
pub(crate) const SOCKET_OPTIONS: [&str; 4] = ["protocol", "compress", "heartbeat", "reply"];

/// The shortest time between two heartbeats: a mistyped unit is to be no flood.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

const PROTOCOL: &str = "`protocol` takes the protocol that is offered, or several: `protocol = \"chat.v2\"`, \
                        `\"chat.v2, chat.v1\"`";
const HEARTBEAT: &str = "`heartbeat` takes a text and how often it is sent: `heartbeat(\"ping\", every = 25s)`; \
                         with `answer = \"pong\"`, what the target answers is no message for steps";
const REPLY: &str =
    "`reply` takes a text of the target, and the text that answers it: `reply(\"2\", \"3\")`";

#[derive(Default)]
pub(crate) struct WebSocketOptions {
    pub(crate) protocol: Option<LitStr>,
    pub(crate) compress: bool,
    pub(crate) heartbeat: Option<HeartbeatOption>,
    /// Each with what it answers.
    pub(crate) replies: Vec<(LitStr, LitStr)>,
}

pub(crate) struct HeartbeatOption {
    pub(crate) message: LitStr,
    pub(crate) every: Duration,
    pub(crate) answer: Option<LitStr>,
}

impl WebSocketOptions {
    /// Parses one of [`SOCKET_OPTIONS`].
    pub(super) fn parse_option(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        if key == "heartbeat" {
            self.heartbeat = Some(parse_heartbeat(input)?);
            return Ok(());
        }
        if key == "reply" {
            let (to, with) = parse_two_texts(input, REPLY)?;
            let text = to.value();
            if self.replies.iter().any(|(other, _)| other.value() == text) {
                let message = format!("`{text}` has a reply already");
                return Err(syn::Error::new(to.span(), message));
            }
            self.replies.push((to, with));
            return Ok(());
        }
        input.parse::<Token![=]>()?;
        if key == "compress" {
            let wanted =
                "`compress = true` offers compression (`permessage-deflate`) to the target";
            let value = input.parse::<LitBool>();
            self.compress = value.map_err(|error| parse_error(&error, wanted))?.value;
            return Ok(());
        }
        let literal = input.parse::<LitStr>();
        let literal = literal.map_err(|error| parse_error(&error, PROTOCOL))?;
        let value = literal.value();
        let mut protocols = value.split(',').map(str::trim);
        if !protocols.all(is_token) {
            return Err(syn::Error::new(literal.span(), PROTOCOL));
        }
        self.protocol = Some(literal);
        Ok(())
    }
}

fn parse_heartbeat(input: ParseStream<'_>) -> syn::Result<HeartbeatOption> {
    if !input.peek(token::Paren) {
        return Err(input.error(HEARTBEAT));
    }
    let content;
    parenthesized!(content in input);
    let text = |input: ParseStream<'_>| -> syn::Result<LitStr> {
        input
            .parse()
            .map_err(|error| parse_error(&error, HEARTBEAT))
    };
    let message = text(&content)?;
    let (mut every, mut answer, mut given) = (None, None, Vec::new());
    while content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
        let key = parse_option_name(&content)?;
        if key != "every" && key != "answer" {
            return Err(unknown_option(&key, &["every", "answer"]));
        }
        note_given(&key, &mut given)?;
        content.parse::<Token![=]>()?;
        if key == "answer" {
            answer = Some(text(&content)?);
            continue;
        }
        let span = content.span();
        let interval = parse_positive_duration(&content)?;
        if interval < MIN_INTERVAL {
            let message = "a heartbeat is sent every 100 ms at most; an `async` step sends more with `vu.beat(..)`";
            return Err(syn::Error::new(span, message));
        }
        every = Some(interval);
    }
    match every {
        Some(every) if content.is_empty() => Ok(HeartbeatOption {
            message,
            every,
            answer,
        }),
        _ => Err(syn::Error::new(message.span(), HEARTBEAT)),
    }
}

/// Returns true for a name of a protocol (RFC 9110, section 5.6.2).
fn is_token(name: &str) -> bool {
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(is_of_token)
}

/// The URL by which a WebSocket is opened: `ws://` and `wss://` are HTTP on the way to `101`.
pub(crate) fn opening_url(url: &str) -> String {
    for (scheme, http) in [("ws://", "http://"), ("wss://", "https://")] {
        if let Some(rest) = url.strip_prefix(scheme) {
            return format!("{http}{rest}");
        }
    }
    url.to_owned()
}

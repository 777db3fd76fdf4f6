//! `ws = "/socket"`, `protocol = "chat.v2"` and `compress = true`, of steps that answer `Socket<T>`.

use super::value::parse_error;
use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::{LitBool, LitStr, Token};

/// The option that opens a WebSocket, in the place of a method.
pub(crate) const OPEN_OPTION: &str = "ws";
/// The options of steps that answer `Socket<T>`, declared or built.
pub(crate) const SOCKET_OPTIONS: [&str; 2] = ["protocol", "compress"];

const PROTOCOL: &str = "`protocol` takes the protocol that is offered, or several: `protocol = \"chat.v2\"`, \
                        `\"chat.v2, chat.v1\"`";

#[derive(Default)]
pub(crate) struct WebSocketOptions {
    pub(crate) protocol: Option<LitStr>,
    pub(crate) compress: bool,
}

impl WebSocketOptions {
    /// Parses one of [`SOCKET_OPTIONS`].
    pub(super) fn parse_option(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
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

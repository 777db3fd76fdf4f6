//! The opening handshake of a WebSocket (RFC 6455, section 4): the headers of the request, and those that its answer
//! has to have.

use super::SocketError;
use super::frame::random_bits;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

/// What a server adds to the key before it hashes it.
const SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const DEFLATE: &str = "permessage-deflate";
const OFFERED_EXTENSION: &str =
    "permessage-deflate; client_no_context_takeover; server_no_context_takeover";

/// A handshake under way.
#[derive(Debug)]
pub(crate) struct Handshake {
    key: String,
    protocols: Vec<String>,
    compress: bool,
}

/// What was agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// The protocol that the server chose of those that were offered.
    pub(crate) protocol: Option<String>,
    pub(crate) compresses: bool,
}

impl Handshake {
    /// Begins a handshake that offers `protocols` (a list, as the header has it), and compression if `compress`.
    pub(crate) fn begin(protocols: &str, compress: bool) -> Self {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&random_bits().to_ne_bytes());
        nonce[8..].copy_from_slice(&random_bits().to_ne_bytes());
        Self {
            key: BASE64_STANDARD.encode(nonce),
            protocols: list_items(protocols).map(str::to_owned).collect(),
            compress,
        }
    }

    /// The headers of the request.
    pub(crate) fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers = vec![
            (CONNECTION, HeaderValue::from_static("upgrade")),
            (UPGRADE, HeaderValue::from_static("websocket")),
            (SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
        ];
        let offered = (!self.protocols.is_empty()).then(|| self.protocols.join(", "));
        for (name, value) in [
            (SEC_WEBSOCKET_KEY, Some(self.key.clone())),
            (SEC_WEBSOCKET_PROTOCOL, offered),
            (
                SEC_WEBSOCKET_EXTENSIONS,
                self.compress.then(|| OFFERED_EXTENSION.to_owned()),
            ),
        ] {
            let value = value.and_then(|value| HeaderValue::try_from(value).ok());
            headers.extend(value.map(|value| (name, value)));
        }
        headers
    }

    /// Checks the headers of the answer 101.
    ///
    /// # Errors
    /// `ws.protocol`: what is wrong with them.
    pub(crate) fn check_answer(&self, headers: &HeaderMap) -> Result<Agreement, SocketError> {
        let refuse = |words: String| Err(SocketError::protocol(words));
        let has = |name: &HeaderName, wanted: &str| {
            list_values(headers, name).any(|item| item.eq_ignore_ascii_case(wanted))
        };
        if !has(&UPGRADE, "websocket") {
            return refuse("the answer 101 has no `upgrade: websocket`".to_owned());
        }
        if !has(&CONNECTION, "upgrade") {
            return refuse("the answer 101 has no `connection: upgrade`".to_owned());
        }
        let accept = headers.get(SEC_WEBSOCKET_ACCEPT);
        let accept = accept.map(|value| value.as_bytes().trim_ascii());
        if accept != Some(accept_value(&self.key).as_bytes()) {
            let words = if accept.is_some() {
                "`sec-websocket-accept` does not match the key"
            } else {
                "the answer 101 has no `sec-websocket-accept`"
            };
            return refuse(words.to_owned());
        }
        let mut chosen = list_values(headers, &SEC_WEBSOCKET_PROTOCOL);
        let protocol = chosen.next().map(str::to_owned);
        match (&protocol, chosen.next()) {
            (_, Some(_)) => return refuse("the answer 101 chose two protocols".to_owned()),
            (Some(protocol), None) if !self.protocols.contains(protocol) => {
                return refuse(format!(
                    "the server chose `{protocol}`, which was not offered"
                ));
            }
            (None, None) if !self.protocols.is_empty() => {
                let offered = self.protocols.join("`, `");
                return refuse(format!(
                    "the server chose no protocol; offered: `{offered}`"
                ));
            }
            _ => {}
        }
        let mut compresses = false;
        for extension in list_values(headers, &SEC_WEBSOCKET_EXTENSIONS) {
            let mut parts = extension.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            if name != DEFLATE || !self.compress || compresses {
                return refuse(format!(
                    "the server uses the extension `{name}`, which was not offered"
                ));
            }
            check_deflate(parts)?;
            compresses = true;
        }
        Ok(Agreement {
            protocol,
            compresses,
        })
    }
}

/// Checks the parameters of the extension that the server accepted.
fn check_deflate<'a>(parts: impl Iterator<Item = &'a str>) -> Result<(), SocketError> {
    let mut resets_server = false;
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name.trim() {
            "server_no_context_takeover" => resets_server = true,
            "client_no_context_takeover" => {}
            // Any window of the server fits into ours.
            "server_max_window_bits" if !value.is_empty() => {}
            other => {
                return Err(SocketError::protocol(format!(
                    "the server asks for `{other}` of {DEFLATE}, which was not offered"
                )));
            }
        }
    }
    if resets_server {
        Ok(())
    } else {
        Err(SocketError::protocol(format!(
            "the server uses {DEFLATE} without `server_no_context_takeover`, which was asked for"
        )))
    }
}

/// The value that answers `key`.
fn accept_value(key: &str) -> String {
    let hash = digest(
        &SHA1_FOR_LEGACY_USE_ONLY,
        &[key.as_bytes(), SUFFIX].concat(),
    );
    BASE64_STANDARD.encode(hash.as_ref())
}

fn list_values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts.flat_map(list_items)
}

fn list_items(list: &str) -> impl Iterator<Item = &str> {
    let items = list.split(',').map(str::trim);
    items.filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadtest_model::metrics::ErrorKind;

    const EXAMPLE_KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

    fn check(
        protocols: &str,
        compress: bool,
        lines: &[(&'static str, &'static str)],
    ) -> Result<Agreement, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let handshake = Handshake {
            key: EXAMPLE_KEY.to_owned(),
            ..Handshake::begin(protocols, compress)
        };
        handshake.check_answer(&headers).map_err(|error| {
            assert_eq!(error.kind, ErrorKind::WsProtocol);
            error.words.into_owned()
        })
    }

    const GOOD: [(&str, &str); 3] = [
        ("upgrade", "WebSocket"),
        ("connection", "keep-alive, Upgrade"),
        ("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
    ];

    fn with(more: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
        [&GOOD, more].concat()
    }

    #[test]
    fn the_answer_of_the_standard_is_accepted() {
        let agreed = Agreement {
            protocol: None,
            compresses: false,
        };
        assert_eq!(check("", false, &GOOD), Ok(agreed));
    }

    #[test]
    fn every_handshake_has_a_key_of_its_own() {
        let [one, other] = [(); 2].map(|()| Handshake::begin("", false));
        assert_ne!(one.key, other.key);
        assert_eq!(BASE64_STANDARD.decode(&one.key).unwrap().len(), 16);
    }

    #[test]
    fn what_is_offered_is_in_the_headers() {
        let value = |handshake: &Handshake, name: HeaderName| {
            let mut headers = handshake.headers().into_iter();
            let found = headers.find(|(found, _)| *found == name);
            found.map(|(_, value)| value.to_str().unwrap().to_owned())
        };
        let plain = Handshake::begin("", false);
        assert_eq!(value(&plain, SEC_WEBSOCKET_PROTOCOL), None);
        assert_eq!(value(&plain, SEC_WEBSOCKET_EXTENSIONS), None);
        assert_eq!(value(&plain, SEC_WEBSOCKET_KEY), Some(plain.key.clone()));
        let rich = Handshake::begin("chat.v2,chat.v1", true);
        assert_eq!(
            value(&rich, SEC_WEBSOCKET_PROTOCOL).as_deref(),
            Some("chat.v2, chat.v1")
        );
        assert_eq!(
            value(&rich, SEC_WEBSOCKET_EXTENSIONS).as_deref(),
            Some(OFFERED_EXTENSION)
        );
    }

    #[test]
    fn each_wrong_answer_has_its_words() {
        for (lines, words) in [
            (
                vec![GOOD[1], GOOD[2]],
                "the answer 101 has no `upgrade: websocket`",
            ),
            (
                vec![GOOD[0], GOOD[2]],
                "the answer 101 has no `connection: upgrade`",
            ),
            (
                vec![GOOD[0], GOOD[1]],
                "the answer 101 has no `sec-websocket-accept`",
            ),
            (
                vec![GOOD[0], GOOD[1], ("sec-websocket-accept", "bm8=")],
                "`sec-websocket-accept` does not match the key",
            ),
            (
                with(&[("sec-websocket-protocol", "chat")]),
                "the server chose `chat`, which was not offered",
            ),
            (
                with(&[("sec-websocket-extensions", "permessage-deflate; x")]),
                "the server uses the extension `permessage-deflate`, which was not offered",
            ),
        ] {
            assert_eq!(check("", false, &lines), Err(words.to_owned()));
        }
    }

    #[test]
    fn the_server_chooses_one_of_the_offered_protocols() {
        let chosen = |value| check("a, b", false, &with(&[("sec-websocket-protocol", value)]));
        assert_eq!(chosen("b").unwrap().protocol.as_deref(), Some("b"));
        assert_eq!(
            chosen("a, b"),
            Err("the answer 101 chose two protocols".to_owned())
        );
        assert_eq!(
            check("a, b", false, &GOOD),
            Err("the server chose no protocol; offered: `a`, `b`".to_owned())
        );
    }

    #[test]
    fn compression_is_agreed_on_without_context_only() {
        let agreed = |value| {
            let lines = with(&[("sec-websocket-extensions", value)]);
            check("", true, &lines).map(|agreed| agreed.compresses)
        };
        assert_eq!(
            agreed("permessage-deflate; server_no_context_takeover; client_no_context_takeover"),
            Ok(true)
        );
        assert_eq!(
            agreed("permessage-deflate;server_no_context_takeover;server_max_window_bits=12"),
            Ok(true)
        );
        assert_eq!(
            agreed("permessage-deflate"),
            Err("the server uses permessage-deflate without `server_no_context_takeover`, which was asked for".to_owned())
        );
        assert_eq!(
            agreed("permessage-deflate; server_no_context_takeover; client_max_window_bits=9"),
            Err("the server asks for `client_max_window_bits` of permessage-deflate, which was not offered".to_owned())
        );
        assert_eq!(
            check("", true, &GOOD).map(|agreed| agreed.compresses),
            Ok(false)
        );
    }
}

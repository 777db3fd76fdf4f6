//! Records the requests on the wire for observers.

use super::compression::Encoding;
use crate::secrets;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Version};

/// The most of a response body that is kept for an observer.
pub(super) const MAX_SHOWN_BODY: usize = 64 * 1024;

/// The requests of one call so far. It is boxed, since most calls are not observed.
#[derive(Debug, Default)]
pub(crate) struct Hops(pub(crate) Vec<Hop>);

/// A request on the wire, and its response.
///
/// A [`Call`](super::Call) has several where a redirect is followed, or where the transport repeats what a
/// resting connection has lost.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    /// The method.
    pub(crate) method: Method,
    /// The whole URL.
    pub(crate) url: String,
    /// The version of the protocol.
    pub(crate) version: Version,
    /// The headers, those sent by default included.
    pub(crate) headers: HeaderMap,
    /// The body; empty for none.
    pub(crate) body: Bytes,
    /// The response, as far as it arrived.
    pub(crate) answer: Option<HopAnswer>,
}

/// The answer to one request.
#[derive(Debug, Clone)]
pub(crate) struct HopAnswer {
    /// The status.
    pub(crate) status: StatusCode,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The start of the body, decompressed where it can be.
    pub(crate) body: Bytes,
    /// True if the body was longer.
    pub(crate) is_cut: bool,
}

impl Hop {
    /// Describes the request that is about to be sent to `origin`, such as `http://127.0.0.1:80`.
    pub(super) fn from_request<B>(origin: &str, sent: &Request<B>, body: &Bytes) -> Self {
        let mut headers = sent.headers().clone();
        if !body.is_empty()
            && !headers.contains_key(CONTENT_LENGTH)
            && !headers.contains_key(TRANSFER_ENCODING)
        {
            // It is added when it is written.
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let path = sent
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str());
        Self {
            method: sent.method().clone(),
            url: format!("{origin}{path}"),
            version: sent.version(),
            headers,
            body: body.clone(),
            answer: None,
        }
    }
}

impl HopAnswer {
    pub(super) fn new(status: StatusCode, headers: &HeaderMap) -> Self {
        Self {
            status,
            headers: headers.clone(),
            body: Bytes::new(),
            is_cut: false,
        }
    }

    /// Keeps the start of a body that came as `body`.
    pub(super) fn keep(&mut self, body: &[u8], encoding: &Encoding) {
        let most = hop_read_limit();
        let start = body[..body.len().min(most)].to_vec();
        let mut start = encoding.excerpt(start, most).unwrap_or_default();
        self.is_cut = start.len() > MAX_SHOWN_BODY || body.len() > MAX_SHOWN_BODY;
        start.truncate(secrets::safe_cut(
            &start,
            MAX_SHOWN_BODY,
            body.len() >= most,
        ));
        self.body = start.into();
    }
}

/// Returns how much of a body is read to be shown. One byte more tells whether there is more, and a secret
/// across the end needs the rest of it.
pub(super) fn hop_read_limit() -> usize {
    MAX_SHOWN_BODY + 1 + secrets::lookahead_len()
}

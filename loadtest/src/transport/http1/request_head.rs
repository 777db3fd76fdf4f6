//! The heads of requests (RFC 9112).

use crate::transport::RequestBuf;
use crate::transport::request::OutgoingRequest;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING};
use loadtest_model::trace::TraceParent;
use std::io::Write as _;

/// Writes the head of a request; whether its body is to be written in chunks.
pub(super) fn encode_request_head(outgoing: &OutgoingRequest<'_>, out: &mut Vec<u8>) -> bool {
    let RequestBuf {
        method,
        headers,
        body,
        ..
    } = outgoing.buffer;
    for part in [
        method.as_str(),
        " ",
        outgoing.path.as_str(),
        " HTTP/1.1\r\n",
    ] {
        out.extend_from_slice(part.as_bytes());
    }
    let count = |which: HeaderName| headers.iter().filter(|(name, _)| *name == which).count();
    let encodings = count(TRANSFER_ENCODING);
    let is_chunked = encodings > 0 && !body.is_empty();
    let has_length = count(CONTENT_LENGTH) > 0;
    let mut encoding = 0;
    let mut write_line = |out: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue| {
        let mut end: &[u8] = b"\r\n";
        if encodings > 0 && name == TRANSFER_ENCODING {
            if !is_chunked {
                return;
            }
            encoding += 1;
            if encoding == encodings && !list_ends_with(value.as_bytes(), "chunked") {
                end = b", chunked\r\n";
            }
        } else if is_chunked && name == CONTENT_LENGTH {
            return;
        }
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), end] {
            out.extend_from_slice(part);
        }
    };
    if let Some(lines) = outgoing.default_lines() {
        for part in lines {
            out.extend_from_slice(part);
        }
        outgoing.write_further_headers(|name, value| write_line(out, name, value));
    } else {
        outgoing.write_headers(|name, value| write_line(out, name, value));
    }
    if let Some(parent) = outgoing.traceparent() {
        out.extend_from_slice(b"traceparent: ");
        let begin = out.len();
        out.extend_from_slice(&[0; TraceParent::LENGTH]);
        if let Some(value) = out[begin..].first_chunk_mut() {
            parent.write_header(value);
        }
        out.extend_from_slice(b"\r\n");
    }
    if !is_chunked && !has_length && !body.is_empty() {
        // A vector takes everything.
        let _ = write!(out, "content-length: {}\r\n", body.len());
    }
    out.extend_from_slice(b"\r\n");
    is_chunked
}

/// Returns whether the headers ask to close the connection.
pub(super) fn asks_to_close(headers: &[(HeaderName, HeaderValue)]) -> bool {
    let mut headers = headers.iter();
    headers.any(|(name, value)| *name == CONNECTION && list_contains(value.as_bytes(), "close"))
}

/// Returns whether a list contains `word`.
pub(super) fn list_contains(list: &[u8], word: &str) -> bool {
    let mut words = list.split(|byte| *byte == b',');
    words.any(|found| found.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

/// Returns whether `word` is the last of a list.
pub(super) fn list_ends_with(list: &[u8], word: &str) -> bool {
    let mut words = list.rsplit(|byte| *byte == b',');
    let found = words.next();
    found.is_some_and(|found| found.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::RequestTarget;
    use crate::transport::request::{DefaultHeaders, RequestSurroundings};
    use bytes::Bytes;
    use http::uri::PathAndQuery;

    #[test]
    fn a_request_is_written_with_the_length_of_its_body() {
        let written = |headers: &[(HeaderName, &'static str)], body: &'static str| {
            let headers = headers.iter();
            let buffer = RequestBuf {
                method: http::Method::POST,
                target: RequestTarget::Path(PathAndQuery::from_static("/a?b")),
                headers: headers
                    .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
                    .collect(),
                body: Bytes::from_static(body.as_bytes()),
                ..RequestBuf::default()
            };
            let host = HeaderValue::from_static("h");
            let around = RequestSurroundings {
                prefix: "",
                defaults: &DefaultHeaders::new(host.clone(), &host),
                reads_body: false,
                accepts_events: false,
                cookie: None,
                traceparent: None,
                upgrade: Vec::new(),
            };
            let mut out = Vec::new();
            encode_request_head(&OutgoingRequest::new(&buffer, around).unwrap(), &mut out);
            let out = String::from_utf8(out).unwrap();
            let is_default = |line: &str| {
                let name = line.split(':').next().unwrap_or_default();
                ["host", "user-agent", "accept", "loadtest-run"].contains(&name)
            };
            let lines = out.split_inclusive("\r\n");
            lines.filter(|line| !is_default(line)).collect::<String>()
        };
        let start = "POST /a?b HTTP/1.1\r\n";
        assert_eq!(
            written(&[], ""),
            format!("{start}content-length: 0\r\n\r\n")
        );
        assert_eq!(
            written(&[], "four"),
            format!("{start}content-length: 4\r\n\r\n")
        );
        let length = [(CONTENT_LENGTH, "4")];
        assert_eq!(
            written(&length, "four"),
            format!("{start}content-length: 4\r\n\r\n")
        );
        let coded = [(CONTENT_LENGTH, "4"), (TRANSFER_ENCODING, "gzip")];
        assert_eq!(
            written(&coded, "four"),
            format!("{start}transfer-encoding: gzip, chunked\r\n\r\n")
        );
        assert_eq!(written(&coded[1..], ""), format!("{start}\r\n"));
    }
}

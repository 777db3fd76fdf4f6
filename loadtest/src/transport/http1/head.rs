//! The heads of requests and answers (RFC 9112).

use super::super::STOP_NAME;
use super::super::request::OutgoingRequest;
use super::{Body, Chunks, Error};
use crate::transport::RequestBuf;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{HeaderMap, StatusCode, Version};
use httparse::{ParserConfig, Response, Status};
use loadtest_model::trace::TraceParent;
use std::io::Write as _;
use std::mem::MaybeUninit;

/// The most headers of an answer.
const MAX_HEADERS: usize = 100;

/// The headers of an answer that say something to a client.
const CLIENT_HEADERS: [&str; 4] = ["content-encoding", "location", "set-cookie", STOP_NAME];

/// The headers that say how long a body is.
const LENGTH_HEADERS: [&str; 2] = ["content-length", "transfer-encoding"];

/// A head, and its length.
pub(super) enum ParsedHead {
    /// There is another one to come.
    Interim(usize),
    /// The answer.
    Final(usize, ResponseHead),
}

/// The head of a response without its headers.
pub(super) struct ResponseHead {
    pub(super) status: StatusCode,
    pub(super) version: Version,
    pub(super) body: Body,
    /// True if the connection takes another request after it.
    pub(super) is_kept: bool,
}

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

/// The length of the empty lines before a head, which are passed over.
pub(super) fn blank_lines_len(input: &[u8]) -> usize {
    let mut rest = input;
    while let Some(after) = rest.strip_prefix(b"\n").or(rest.strip_prefix(b"\r\n")) {
        rest = after;
    }
    input.len() - rest.len()
}

/// Reads a head at the start of `input`, and its headers into `kept`; nothing where it is not there as a
/// whole.
///
/// `is_head` answers have no body. Headers that say nothing to a client are kept only if `all` are.
pub(super) fn parse_head(
    input: &[u8],
    is_head: bool,
    all: bool,
    kept: &mut HeaderMap,
) -> Result<Option<ParsedHead>, Error> {
    if input.is_empty() {
        return Ok(None);
    }
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut head = Response::new(&mut []);
    let parser = ParserConfig::default();
    let length = match parser.parse_response_with_uninit_headers(&mut head, input, &mut headers) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Error::TooLarge),
        Err(error) => return Err(Error::Malformed(describe_parse_error(error))),
    };
    let status = head.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(Error::Malformed("invalid status"))?;
    if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(Some(ParsedHead::Interim(length)));
    }
    let is_old = head.version == Some(0);
    let version = if is_old {
        Version::HTTP_10
    } else {
        Version::HTTP_11
    };
    let (mut keeps, mut closes) = (false, false);
    let mut announced = None;
    let mut chunked = None;
    for header in head.headers.iter() {
        let (name, value) = (header.name, header.value);
        if name.eq_ignore_ascii_case("content-length") {
            announced = Some(parse_length(value, announced));
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = Some(list_ends_with(value, "chunked"));
        } else if name.eq_ignore_ascii_case("connection") {
            closes |= list_contains(value, "close");
            keeps |= is_old && list_contains(value, "keep-alive");
        }
    }
    // Two things said of the length of a body are worth a look.
    let is_ambiguous = announced.is_some() && chunked.is_some();
    for header in head.headers.iter() {
        let is_one_of = |names: &[&str]| {
            let mut names = names.iter();
            names.any(|name| header.name.eq_ignore_ascii_case(name))
        };
        if all || is_one_of(&CLIENT_HEADERS) || is_ambiguous && is_one_of(&LENGTH_HEADERS) {
            let name = HeaderName::from_bytes(header.name.as_bytes());
            let value = HeaderValue::from_bytes(header.value);
            let (Ok(name), Ok(value)) = (name, value) else {
                return Err(Error::Malformed("invalid header"));
            };
            kept.append(name, value);
        }
    }
    let body = match (chunked, announced) {
        _ if is_head => Body::Length(0),
        _ if matches!(status.as_u16(), 101 | 204 | 304) => Body::Length(0),
        (Some(_), _) if is_old => {
            return Err(Error::Malformed("a transfer encoding in HTTP/1.0"));
        }
        (Some(true), _) => Body::Chunked(Chunks::Start),
        (None, Some(Some(length))) => Body::Length(length),
        (None, Some(None)) => return Err(Error::Malformed("invalid content-length")),
        (Some(false), _) | (None, None) => Body::UntilEnd,
    };
    let is_kept = !closes
        && (keeps || !is_old)
        && status != StatusCode::SWITCHING_PROTOCOLS
        && !matches!(body, Body::UntilEnd);
    let answer = ResponseHead {
        status,
        version,
        body,
        is_kept,
    };
    Ok(Some(ParsedHead::Final(length, answer)))
}

/// The length that a header says, which may say it several times, as others `before` it did; nothing where
/// that is no number, or not the same one.
#[expect(
    clippy::option_option,
    reason = "nothing was said, something else than a number was, or a number"
)]
fn parse_length(value: &[u8], before: Option<Option<u64>>) -> Option<u64> {
    let mut length = before;
    for part in value.split(|byte| *byte == b',') {
        let digits = std::str::from_utf8(part.trim_ascii()).ok();
        // Not even a sign.
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok());
        let same = length.is_none_or(|length| length == number);
        length = Some(number.filter(|_| same));
    }
    length.flatten()
}

/// Returns whether a list contains `word`.
fn list_contains(list: &[u8], word: &str) -> bool {
    let mut words = list.split(|byte| *byte == b',');
    words.any(|found| found.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

/// Returns whether `word` is the last of a list.
fn list_ends_with(list: &[u8], word: &str) -> bool {
    let mut words = list.rsplit(|byte| *byte == b',');
    let found = words.next();
    found.is_some_and(|found| found.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

/// Describes a mistake in a head.
fn describe_parse_error(error: httparse::Error) -> &'static str {
    match error {
        httparse::Error::Version => "invalid HTTP version",
        httparse::Error::Status => "invalid status",
        httparse::Error::HeaderName | httparse::Error::HeaderValue => "invalid header",
        _ => "invalid line",
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::request::{DefaultHeaders, RequestSurroundings};
    use super::*;
    use crate::transport::RequestTarget;
    use bytes::Bytes;
    use http::uri::PathAndQuery;

    fn parsed(text: &str, is_head: bool, all: bool) -> Result<(HeaderMap, Body, bool), Error> {
        let mut headers = HeaderMap::new();
        match parse_head(text.as_bytes(), is_head, all, &mut headers)? {
            Some(ParsedHead::Final(length, answer)) => {
                assert_eq!(length, text.len());
                Ok((headers, answer.body, answer.is_kept))
            }
            _ => panic!("no answer: {text}"),
        }
    }

    fn body(text: &str) -> (String, bool) {
        let (_, body, is_kept) = parsed(text, false, false).unwrap();
        (format!("{body:?}"), is_kept)
    }

    #[test]
    fn the_end_of_a_body_is_found_as_the_standard_says() {
        for (head, end, is_kept) in [
            ("1.1 200 OK\r\ncontent-length: 5", "Length(5)", true),
            (
                "1.1 200 OK\r\nContent-Length: 5, 5\r\ncontent-length: 5",
                "Length(5)",
                true,
            ),
            (
                "1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: gzip, Chunked",
                "Chunked(Start)",
                true,
            ),
            ("1.1 200 OK\r\ntransfer-encoding: gzip", "UntilEnd", false),
            ("1.1 200 OK", "UntilEnd", false),
            ("1.1 204 No Content", "Length(0)", true),
            ("1.1 204 No Content\r\ncontent-length: x", "Length(0)", true),
            (
                "1.1 304 Not Modified\r\ncontent-length: 7",
                "Length(0)",
                true,
            ),
            ("1.1 101 Switching Protocols", "Length(0)", false),
            (
                "1.1 200 OK\r\ncontent-length: 1\r\nconnection: x, Close",
                "Length(1)",
                false,
            ),
            (
                "1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\nconnection: keep-alive",
                "Length(1)",
                false,
            ),
            ("1.0 200 OK\r\ncontent-length: 1", "Length(1)", false),
            (
                "1.0 200 OK\r\ncontent-length: 1\r\nconnection: Keep-Alive",
                "Length(1)",
                true,
            ),
        ] {
            assert_eq!(
                body(&format!("HTTP/{head}\r\n\r\n")),
                (end.to_owned(), is_kept),
                "{head}"
            );
        }
        let (_, none, is_kept) =
            parsed("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n", true, false).unwrap();
        assert_eq!(
            (format!("{none:?}"), is_kept),
            ("Length(0)".to_owned(), true)
        );
    }

    #[test]
    fn what_is_ambiguous_is_refused() {
        for head in [
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6",
            "HTTP/1.1 200 OK\r\ncontent-length: 5, 6",
            "HTTP/1.1 200 OK\r\ncontent-length: +5",
            "HTTP/1.1 200 OK\r\ncontent-length:",
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999",
            "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked",
            "HTTP/1.1 099 Odd",
            "HTTP/2 200 OK",
        ] {
            let refused = parsed(&format!("{head}\r\n\r\n"), false, false);
            assert!(matches!(refused, Err(Error::Malformed(_))), "{head}");
        }
        let many = "x: y\r\n".repeat(101);
        let refused = parsed(&format!("HTTP/1.1 200 OK\r\n{many}\r\n"), false, false);
        assert!(matches!(refused, Err(Error::TooLarge)));
    }

    #[test]
    fn headers_that_say_nothing_to_a_client_are_kept_only_if_asked_for() {
        let text =
            "HTTP/1.1 200 OK\r\nx-a: 1\r\nSet-Cookie: a=b\r\ncontent-length: 0\r\nx-a: ä\r\n\r\n";
        assert_eq!(parsed(text, false, false).unwrap().0.len(), 1);
        assert_eq!(parsed(text, false, true).unwrap().0.len(), 4);
        let text =
            "HTTP/1.1 200 OK\r\nx-a: 1\r\ncontent-length: 1\r\nTransfer-encoding: chunked\r\n\r\n";
        let headers = parsed(text, false, false).unwrap().0;
        assert!(headers.contains_key(CONTENT_LENGTH) && headers.contains_key(TRANSFER_ENCODING));
    }

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

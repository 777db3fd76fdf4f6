//! The heads of answers (RFC 9112, sections 2 to 6).

use super::request_head::{list_contains, list_ends_with};
use super::{Body, Chunks, Error};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};
use httparse::{ParserConfig, Response, Status};
use std::mem::MaybeUninit;

/// The most headers of an answer.
const MAX_HEADERS: usize = 100;

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

/// Reads a head at the start of `input`, and its headers into `kept`; nothing where it is not there as a
/// whole. Empty lines before it are passed over.
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
    let version = match head.version {
        Some(0) => Version::HTTP_10,
        _ => Version::HTTP_11,
    };
    let mut said = Said::default();
    for header in head.headers.iter() {
        let role = HeaderRole::of(header.name.as_bytes());
        said.note(role, header.value);
        if all || role == HeaderRole::Client {
            keep_header(header, kept)?;
        }
    }
    if said.is_ambiguous() && !all {
        // Two things said of the length of a body are worth a look.
        let headers = head.headers.iter().filter(|header| {
            let role = HeaderRole::of(header.name.as_bytes());
            matches!(role, HeaderRole::Length | HeaderRole::TransferEncoding)
        });
        for header in headers {
            keep_header(header, kept)?;
        }
    }
    let body = if is_head || matches!(status.as_u16(), 101 | 204 | 304) {
        Body::Length(0)
    } else {
        said.body(version)?
    };
    let is_kept = !said.closes
        && (said.keeps || version == Version::HTTP_11)
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

fn keep_header(header: &httparse::Header<'_>, kept: &mut HeaderMap) -> Result<(), Error> {
    let name = HeaderName::from_bytes(header.name.as_bytes());
    let value = HeaderValue::from_bytes(header.value);
    let (Ok(name), Ok(value)) = (name, value) else {
        return Err(Error::Malformed("invalid header"));
    };
    kept.append(name, value);
    Ok(())
}

/// What a header says to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderRole {
    /// The length of the body.
    Length,
    /// The encoding of the transfer, and so the length too.
    TransferEncoding,
    /// Whether the connection is kept.
    Connection,
    /// What is heeded once the head is read.
    Client,
    /// Nothing.
    Other,
}

impl HeaderRole {
    /// The role of the header `name`.
    #[inline]
    fn of(name: &[u8]) -> Self {
        match name.len() {
            8 if is_name(name, b"location") => Self::Client,
            10 if is_name(name, b"connection") => Self::Connection,
            10 if is_name(name, b"set-cookie") => Self::Client,
            11 if is_name(name, b"retry-after") => Self::Client,
            13 if is_name(name, b"loadtest-stop") => Self::Client,
            14 if is_name(name, b"content-length") => Self::Length,
            16 if is_name(name, b"content-encoding") => Self::Client,
            17 if is_name(name, b"transfer-encoding") => Self::TransferEncoding,
            _ => Self::Other,
        }
    }
}

/// Returns whether the name of a header is `known`, in small letters or not.
fn is_name<const N: usize>(name: &[u8], known: &[u8; N]) -> bool {
    // What becomes a small letter or a hyphen by this bit is one, or a capital letter. All bytes are looked at, since
    // that takes fewer instructions than to stop at the first that differs.
    let pairs = name.iter().zip(known);
    name.len() == N && pairs.fold(0, |differs, (a, b)| differs | (a | 0x20) ^ b) == 0
}

/// What the headers say on the body and the connection.
#[derive(Default)]
#[expect(
    clippy::option_option,
    reason = "nothing was said, something else than a number was, or a number"
)]
struct Said {
    length: Option<Option<u64>>,
    is_chunked: Option<bool>,
    closes: bool,
    keeps: bool,
}

impl Said {
    #[inline]
    fn note(&mut self, role: HeaderRole, value: &[u8]) {
        match role {
            HeaderRole::Length => self.length = Some(parse_length(value, self.length)),
            HeaderRole::TransferEncoding => {
                self.is_chunked = Some(list_ends_with(value, "chunked"));
            }
            HeaderRole::Connection if value == b"keep-alive" => self.keeps = true,
            HeaderRole::Connection => {
                self.closes |= list_contains(value, "close");
                self.keeps |= list_contains(value, "keep-alive");
            }
            HeaderRole::Client | HeaderRole::Other => {}
        }
    }

    fn is_ambiguous(&self) -> bool {
        self.length.is_some() && self.is_chunked.is_some()
    }

    fn body(&self, version: Version) -> Result<Body, Error> {
        match (self.is_chunked, self.length) {
            (Some(_), _) if version == Version::HTTP_10 => {
                Err(Error::Malformed("a transfer encoding in HTTP/1.0"))
            }
            (Some(true), _) => Ok(Body::Chunked(Chunks::Start)),
            (None, Some(Some(length))) => Ok(Body::Length(length)),
            (None, Some(None)) => Err(Error::Malformed("invalid content-length")),
            (Some(false), _) | (None, None) => Ok(Body::UntilEnd),
        }
    }
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
        let number = parse_digits(part.trim_ascii());
        let same = length.is_none_or(|length| length == number);
        length = Some(number.filter(|_| same));
    }
    length.flatten()
}

/// The number that `digits` write, without so much as a sign.
fn parse_digits(digits: &[u8]) -> Option<u64> {
    let (first, rest) = digits.split_first()?;
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let mut rest = rest.iter();
    rest.try_fold(digit(first)?, |number, byte| {
        number.checked_mul(10)?.checked_add(digit(byte)?)
    })
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
    use super::*;
    use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};

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
}

//! Reads what the heads and the trailers of calls say. No I/O here.

use crate::redact;
use crate::transport::{ErrorKind, Failure};
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, Engine as _, GeneralPurpose, GeneralPurposeConfig};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use loadtest_model::metrics::status_label;
use std::fmt::Write as _;
use std::time::Duration;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// Base64 as metadata has it, with padding or without ("Requests" of "gRPC over HTTP2").
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The code of a status that cannot be read.
const UNKNOWN: u16 = 2;
const DEADLINE_EXCEEDED: u16 = 4;
const PERMISSION_DENIED: u16 = 7;
const INTERNAL: u16 = 13;
const UNAVAILABLE: u16 = 14;

/// The status that a call ended with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallStatus {
    pub(crate) code: u16,
    /// The words of the target, without secrets.
    pub(crate) message: String,
}

impl CallStatus {
    /// Reads the status in trailers, or in a head where there are no others.
    pub(super) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let code = headers.get(STATUS)?.to_str().ok();
        let code = code.and_then(|text| text.parse::<u16>().ok());
        let message = headers.get(MESSAGE).map(HeaderValue::as_bytes);
        let message = decode_percent(message.unwrap_or_default());
        Some(Self {
            code: code.filter(|code| *code < 100).unwrap_or(UNKNOWN),
            message: redact::redact_message(&message).into_string(),
        })
    }

    /// Returns the code of success, or the failure of a call that ended with this.
    pub(super) fn into_result(self) -> Result<Option<u16>, Failure> {
        if self.code == 0 {
            return Ok(Some(self.code));
        }
        Err(Failure {
            code: Some(self.code),
            ..Failure::new(ErrorKind::GrpcStatus, self.describe())
        })
    }

    /// `NOT_FOUND: no such cart`.
    fn describe(&self) -> String {
        let label = status_label(self.code);
        match &*self.message {
            "" => label,
            message => format!("{label}: {message}"),
        }
    }
}

/// Takes details that are no Base64 out of a head or trailers, since they make the client of `tonic` panic. The call has
/// failed by them, and its message says so.
pub(super) fn refuse_broken_details(headers: &mut HeaderMap) {
    let is_broken = |value: &HeaderValue| BASE64.decode(value.as_bytes()).is_err();
    if !headers.get_all(DETAILS).into_iter().any(is_broken) {
        return;
    }
    headers.remove(DETAILS);
    let status = CallStatus::from_headers(headers);
    let said = status.as_ref().map_or("", |status| &*status.message);
    let comma = if said.is_empty() { "" } else { "; " };
    let words = format!("{said}{comma}its `grpc-status-details-bin` is not Base64");
    if let Ok(message) = HeaderValue::from_str(&encode_percent(&words)) {
        headers.insert(MESSAGE, message);
    }
    if status.is_some_and(|status| status.code == 0) {
        headers.insert(STATUS, HeaderValue::from(INTERNAL));
    }
}

/// Returns the trailers of a call that ended well.
pub(crate) fn ok_trailers() -> HeaderMap {
    HeaderMap::from_iter([(STATUS, HeaderValue::from_static("0"))])
}

/// Returns the failure of an answer that is none to a call; `None` for one that is.
pub(super) fn head_failure(status: StatusCode, headers: &HeaderMap) -> Option<Failure> {
    if status != StatusCode::OK {
        let words = format!("expected a gRPC answer, got {status}");
        return Some(Failure {
            status: Some(status),
            ..Failure::new(ErrorKind::Status, words)
        });
    }
    let found = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let is_grpc = found
        .and_then(|found| found.strip_prefix("application/grpc"))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']));
    if is_grpc {
        return None;
    }
    let found = found.map_or_else(
        || "no content-type".to_owned(),
        |found| format!("content-type {found}"),
    );
    let words = format!("the answer is not gRPC: {found}");
    Some(Failure {
        status: Some(status),
        ..Failure::new(ErrorKind::HeadMalformed, words)
    })
}

/// Returns the code that clients make of a status of HTTP ("HTTP to gRPC Status Code Mapping" of gRPC).
pub(crate) fn code_of_http_status(status: StatusCode) -> u16 {
    match status.as_u16() {
        400 => 13,
        401 => 16,
        403 => 7,
        404 => 12,
        429 | 502 | 503 | 504 => 14,
        _ => UNKNOWN,
    }
}

/// Returns the code of a call that failed so, of which the target has said none.
pub(crate) fn code_of_failure(failure: &Failure) -> u16 {
    let http = failure.status.filter(|_| failure.kind == ErrorKind::Status);
    match failure.kind {
        _ if failure.code.is_some() || http.is_some() => failure
            .code
            .or(http.map(code_of_http_status))
            .unwrap_or(UNKNOWN),
        kind if kind.is_timeout() => DEADLINE_EXCEEDED,
        ErrorKind::GuardBlocked => PERMISSION_DENIED,
        ErrorKind::HeadMalformed | ErrorKind::StepError => UNKNOWN,
        // Neither a connection nor an answer in full.
        _ => UNAVAILABLE,
    }
}

/// Returns the head of an answer without messages, or its trailers, by which a client learns of a failure.
pub(crate) fn failure_trailers(failure: &Failure) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(STATUS, HeaderValue::from(code_of_failure(failure)));
    let message = HeaderValue::from_str(&encode_percent(&failure.message));
    if let Ok(message) = message {
        headers.insert(MESSAGE, message);
    }
    headers
}

/// Returns the deadline that a client has set for its call.
pub(super) fn declared_timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(TIMEOUT)?.to_str().ok()?;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number.checked_mul(3_600)?),
        "M" => Duration::from_secs(number.checked_mul(60)?),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Encodes a `grpc-message`.
fn encode_percent(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if matches!(byte, b' '..=b'~') && byte != b'%' {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Decodes a `grpc-message`; what is no percent-encoding stays as it is.
fn decode_percent(text: &[u8]) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let hex = tail
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        decoded.push(hex.unwrap_or(*first));
        rest = if hex.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |&(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        all.iter().map(pair).collect()
    }

    #[test]
    fn a_status_is_read_with_its_message() {
        let status = |code, message| {
            let read = headers(&[("grpc-status", code), ("grpc-message", message)]);
            CallStatus::from_headers(&read).unwrap().describe()
        };
        assert_eq!(status("0", ""), "OK");
        assert_eq!(
            status("5", "no such cart: 100%25 gone"),
            "NOT_FOUND: no such cart: 100% gone"
        );
        assert_eq!(status("42", "%zz %C3%A9 %"), "42: %zz \u{e9} %");
        assert_eq!(status("five", ""), "UNKNOWN");
        assert_eq!(status("200", ""), "UNKNOWN");
        assert_eq!(CallStatus::from_headers(&headers(&[])), None);
    }

    #[test]
    fn details_that_are_no_base64_are_a_failure_and_others_stay() {
        let read = |code, details| {
            let mut all = headers(&[
                ("grpc-status", code),
                ("grpc-message", "gone"),
                ("grpc-status-details-bin", details),
            ]);
            refuse_broken_details(&mut all);
            let status = CallStatus::from_headers(&all).unwrap().describe();
            (status, all.contains_key(DETAILS))
        };
        for details in ["CAUSBGdvbmU", "CAUSBGdvbmU=", ""] {
            assert_eq!(read("5", details), ("NOT_FOUND: gone".to_owned(), true));
        }
        let broken = "gone; its `grpc-status-details-bin` is not Base64";
        for details in ["%%%", "a", "CAUSBGdvbmU=="] {
            assert_eq!(read("5", details), (format!("NOT_FOUND: {broken}"), false));
        }
        assert_eq!(read("0", "-_-"), (format!("INTERNAL: {broken}"), false));
    }

    #[test]
    fn a_client_learns_of_a_failure_by_the_code_that_says_it() {
        for (kind, code) in [
            (ErrorKind::TimeoutConnect, 4),
            (ErrorKind::TimeoutTotal, 4),
            (ErrorKind::GuardBlocked, 7),
            (ErrorKind::ConnectRefused, 14),
            (ErrorKind::ResetInBody, 14),
            (ErrorKind::HeadMalformed, 2),
        ] {
            let trailers = failure_trailers(&Failure::new(kind, "50 % \u{e9}"));
            let read = CallStatus::from_headers(&trailers).unwrap();
            assert_eq!((read.code, &*read.message), (code, "50 % \u{e9}"), "{kind}");
            assert_eq!(trailers[MESSAGE], "50 %25 %C3%A9");
        }
        let unavailable = Failure {
            status: Some(StatusCode::FORBIDDEN),
            ..Failure::new(ErrorKind::Status, "")
        };
        assert_eq!(code_of_failure(&unavailable), 7);
    }

    #[test]
    fn an_answer_that_is_no_grpc_says_what_it_is() {
        let failure = |status, all: &[(&'static str, &'static str)]| {
            let failure = head_failure(status, &headers(all))?;
            Some((failure.kind, failure.message))
        };
        for kind in [
            "application/grpc",
            "application/grpc+proto",
            "application/grpc;x=y",
        ] {
            assert_eq!(failure(StatusCode::OK, &[("content-type", kind)]), None);
        }
        assert_eq!(
            failure(
                StatusCode::OK,
                &[("content-type", "application/grpc-web+proto")]
            ),
            Some((
                ErrorKind::HeadMalformed,
                "the answer is not gRPC: content-type application/grpc-web+proto".to_owned()
            ))
        );
        assert_eq!(
            failure(
                StatusCode::SERVICE_UNAVAILABLE,
                &[("content-type", "application/grpc")]
            ),
            Some((
                ErrorKind::Status,
                "expected a gRPC answer, got 503 Service Unavailable".to_owned()
            ))
        );
    }

    #[test]
    fn the_deadline_of_a_client_is_read_in_all_units() {
        for (text, time) in [
            ("2H", Some(Duration::from_secs(7_200))),
            ("3M", Some(Duration::from_secs(180))),
            ("15S", Some(Duration::from_secs(15))),
            ("250m", Some(Duration::from_millis(250))),
            ("7u", Some(Duration::from_micros(7))),
            ("9n", Some(Duration::from_nanos(9))),
            ("9", None),
            ("", None),
            ("xS", None),
        ] {
            let mut all = HeaderMap::new();
            all.insert(TIMEOUT, HeaderValue::from_str(text).unwrap());
            assert_eq!(declared_timeout(&all), time, "{text}");
        }
    }
}

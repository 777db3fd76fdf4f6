//! Helpers for forms and queries.

use super::Unmet;
use bytes::Bytes;
use futures_core::Stream as _;
use http::HeaderValue;
use http::header::{CONTENT_TYPE, InvalidHeaderValue};
use reqwest::multipart::Form;
use std::task::{Context, Poll, Waker};

/// The content type of JSON.
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The content type of a form without parts.
pub(super) const URL_ENCODED: HeaderValue =
    HeaderValue::from_static("application/x-www-form-urlencoded");

/// The content type of a form of parts, up to the line that separates them.
const MULTIPART: &str = "multipart/form-data; boundary=";

/// The content type of a form of parts that `boundary` separates.
pub(super) fn multipart(boundary: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    HeaderValue::from_maybe_shared(Bytes::from(format!("{MULTIPART}{boundary}")))
}

/// The boundary in a content type made by [`multipart`]; `None` where it is of another body.
pub(super) fn boundary(content_type: &HeaderValue) -> Option<&str> {
    content_type.to_str().ok()?.strip_prefix(MULTIPART)
}

/// Adds the boundary to a content type of the user's own, as curl does; the parts could not be separated
/// without it.
pub(super) fn with_boundary(own: &HeaderValue, boundary: &str) -> Result<HeaderValue, Unmet> {
    const KEY: &[u8] = b"boundary=";
    let parameters = own.as_bytes().split(|byte| *byte == b';').skip(1);
    let mut named = parameters.map(<[u8]>::trim_ascii).filter_map(|parameter| {
        let (key, value) = parameter.split_at_checked(KEY.len())?;
        key.eq_ignore_ascii_case(KEY).then_some(value)
    });
    match named.next() {
        None => {
            let mut whole = own.as_bytes().trim_ascii_end().to_vec();
            whole.extend_from_slice(b"; ");
            whole.extend_from_slice(KEY);
            whole.extend_from_slice(boundary.as_bytes());
            HeaderValue::from_maybe_shared(Bytes::from(whole)).map_err(|error| Unmet::Invalid {
                reason: format!("header `{CONTENT_TYPE}`: {error}"),
            })
        }
        Some(same) if same == boundary.as_bytes() => Ok(own.clone()),
        Some(_) => Err(Unmet::Invalid {
            reason: format!(
                "header `{CONTENT_TYPE}`: its `boundary` is not the one between the parts of this \
                 form; leave it out, and the right one is added"
            ),
        }),
    }
}

/// The whole body of a form whose parts are in memory.
pub(super) fn collect(form: Form) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let mut parts = Box::pin(form.into_stream());
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match parts.as_mut().poll_next(&mut context) {
            Poll::Ready(Some(Ok(piece))) => body.extend_from_slice(&piece),
            Poll::Ready(Some(Err(error))) => {
                return Err(format!("a part of the form cannot be read: {error}"));
            }
            Poll::Ready(None) => return Ok(body),
            Poll::Pending => {
                return Err(
                    "a part of the form is not in memory: make it with `Part::bytes`, or read a \
                     `File` in a `#[setup]` and take its `.part()`"
                        .to_owned(),
                );
            }
        }
    }
}

/// Adds `pairs` to the query of `url`.
pub(super) fn append_query(url: &mut String, pairs: &str) {
    if !pairs.is_empty() {
        begin_query(url);
        url.push_str(pairs);
    }
}

/// Brings `url` to where the next pair of its query begins. What follows a `#` is never sent.
#[doc(hidden)]
pub fn begin_query(url: &mut String) {
    if let Some(fragment) = url.find('#') {
        url.truncate(fragment);
    }
    if !url.contains('?') {
        url.push('?');
    } else if !url.ends_with(['?', '&']) {
        url.push('&');
    }
}

/// Refuses a user name that would end before its end: it is divided from the password by `:`
/// (<https://www.rfc-editor.org/rfc/rfc7617#section-2>).
#[doc(hidden)]
pub fn user_name(text: &str) -> Result<(), Unmet> {
    if text.contains(':') {
        return Err(Unmet::Invalid {
            reason: "the user name of a `basic` authorization cannot contain `:`".to_owned(),
        });
    }
    Ok(())
}

/// Refuses a value that holds the line which separates the parts of the form it is sent in.
#[doc(hidden)]
pub fn outside_boundary(value: &str, boundary: &str) -> Result<(), Unmet> {
    if value.contains(boundary) {
        return Err(Unmet::Invalid {
            reason: "a value holds the boundary of the form that it is sent in".to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_go_to_the_end_of_the_query() {
        for (before, after) in [
            ("/a", "/a?x=1"),
            ("/a?", "/a?x=1"),
            ("/a?b=2", "/a?b=2&x=1"),
            ("/a?b=2&", "/a?b=2&x=1"),
            ("/a#part", "/a?x=1"),
            ("http://h/a?b#part?", "http://h/a?b&x=1"),
        ] {
            let mut url = before.to_owned();
            append_query(&mut url, "x=1");
            assert_eq!(url, after, "of {before}");
        }
        let mut url = "/a#part".to_owned();
        append_query(&mut url, "");
        assert_eq!(url, "/a#part");
    }

    #[test]
    fn what_would_be_read_differently_is_refused() {
        assert!(user_name("ada").is_ok());
        assert!(matches!(user_name("ada:x"), Err(Unmet::Invalid { .. })));
        assert!(outside_boundary("loadtest-0", "loadtest-01").is_ok());
        assert!(outside_boundary("a loadtest-01 b", "loadtest-01").is_err());
    }
}

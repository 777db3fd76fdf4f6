//! The response of an earlier step.

use super::decode_error::explain_decode_error;
use super::{AnswerDetails, Error, KeptHeaders, NO_URL, RawResponse, ReadError};
use crate::Page;
use bytes::Bytes;
use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode, Version};
use reqwest::Url;
use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

/// The response of an earlier step, its body read into `T`; it derefs to `T`. `Response` alone is that of a
/// step which does not read the body.
#[derive(Clone)]
pub struct Response<T = ()> {
    status: StatusCode,
    headers: KeptHeaders,
    body: T,
    /// In a box, since most responses are kept without it.
    details: Option<Box<AnswerDetails>>,
}

impl<T> Response<T> {
    /// The response `raw`, whose body `is_read` into `body`.
    #[inline]
    pub(crate) fn new(mut raw: RawResponse, body: T, is_read: bool) -> Self {
        if let Some(details) = &mut raw.details {
            details.body = is_read.then_some(raw.body);
        }
        Self {
            status: raw.status,
            headers: raw.headers,
            body,
            details: raw.details,
        }
    }

    /// The status: one of those the step expects.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The value of a cookie that the answer set.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// #[scenario(base = "http://127.0.0.1:3000")]
    /// fn visit() {
    ///     #[step(get = "/")]
    ///     fn home();
    ///
    ///     #[step(expect = 201)]
    ///     fn order(home: &Response) -> Result<Request, Error> {
    ///         Ok(Request::post("/orders")
    ///             .header("x-csrf-token", home.cookie("csrf")?)
    ///             .json(&json!({ "product": 7 })))
    ///     }
    /// }
    /// ```
    ///
    /// After redirects it is of the last answer. The user keeps and sends cookies by itself, whether they are read or not.
    ///
    /// # Errors
    /// The answer set none of that name, or deleted it.
    pub fn cookie(&self, name: &str) -> Result<&str, Error> {
        let found = self.find_cookie(name);
        found.ok_or_else(|| format!("the answer set no cookie `{name}`").into())
    }

    /// The same, for those who word its absence themselves.
    pub(super) fn find_cookie(&self, name: &str) -> Option<&str> {
        find_cookie(&self.headers, name)
    }

    /// The body, to be changed.
    pub(super) fn body_mut(&mut self) -> &mut T {
        &mut self.body
    }

    /// The body.
    pub fn body(&self) -> &T {
        &self.body
    }

    /// The final URL, after redirects; `about:blank` if an `async` step sent nothing.
    pub fn url(&self) -> &Url {
        let details = self.details.as_ref();
        details.map_or(&NO_URL, |details| details.parsed_url())
    }

    /// The version of HTTP that the answer came with.
    pub fn version(&self) -> Version {
        let details = self.details.as_ref();
        details.map_or_else(Version::default, |details| details.version)
    }

    /// The service time of the answer: from its request being ready to the last byte, redirects included, and without
    /// earlier requests of `retry` or `until`.
    pub fn time(&self) -> Duration {
        let details = self.details.as_ref();
        details.map_or(Duration::ZERO, |details| details.time)
    }

    /// The body as text, whatever type it was read into.
    ///
    /// ```
    /// use loadtest::prelude::*;
    ///
    /// #[scenario(base = "http://127.0.0.1:3000")]
    /// fn visit() {
    ///     #[step(get = "/products", check = |list| list.text().is_ok_and(|text| !text.contains("NaN")))]
    ///     fn list() -> Value;
    /// }
    /// ```
    ///
    /// # Errors
    /// No body was read, since the step returns plain `Request`; or it is not UTF-8.
    pub fn text(&self) -> Result<&str, Error> {
        let body = self
            .details
            .as_ref()
            .and_then(|details| details.body.as_ref());
        let body = body
            .ok_or("no body was read: give the step's answer a type, such as `Request<Value>`")?;
        let text = std::str::from_utf8(body);
        text.map_err(|error| not_utf8(error.valid_up_to()).into())
    }
}

/// Returns the value of the cookie `name` that an answer with these headers sets: of several the last one counts, as in
/// browsers.
fn find_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(SET_COOKIE).iter();
    let texts = lines.filter_map(|line| line.to_str().ok());
    let mut pairs = texts.filter_map(|text| text.split(';').next()?.split_once('='));
    let (_, value) = pairs.rfind(|(key, _)| key.trim() == name)?;
    Some(value.trim()).filter(|value| !value.is_empty())
}

impl<T: fmt::Debug> fmt::Debug for Response<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

impl<T> Deref for Response<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.body
    }
}

/// Compares the body, so that a check of a value reads as one: `check = |answer| *answer == 45`, `check = |name| name == "Ada"`.
impl<T: PartialEq<U>, U: ?Sized> PartialEq<U> for Response<T> {
    fn eq(&self, other: &U) -> bool {
        self.body == *other
    }
}

/// Compares the body: `until = |left| *left < 10`.
impl<T: PartialOrd<U>, U> PartialOrd<U> for Response<T> {
    fn partial_cmp(&self, other: &U) -> Option<Ordering> {
        self.body.partial_cmp(other)
    }
}

/// A type that a response body is read into.
///
/// `String`, [`Bytes`] and `Vec<u8>` are the body as it came, [`Page`] is HTML, `()` is any body, and every other
/// type is read from JSON. An `Option` of any of them is `None` for an empty body.
#[diagnostic::on_unimplemented(
    message = "a response cannot be read into `{Self}`",
    label = "not readable from JSON",
    note = "put `#[response]` (or `#[derive(serde::Deserialize)]`) on `{Self}`, or use `Value` for any JSON, `String` for text, `Bytes` for any body"
)]
pub trait FromBody: Sized + Send + 'static {
    /// True for an answer of GraphQL.
    #[doc(hidden)]
    const IS_GRAPHQL: bool = false;

    /// Reads `body`; where JSON is read, an empty one counts as `null`.
    ///
    /// # Errors
    /// Why it is no `Self`.
    fn from_body(body: &Bytes) -> Result<Self, String>;

    /// Reads `body` as [`from_body`](Self::from_body) does, and says what kind of failure it is.
    ///
    /// # Errors
    /// Why it is no `Self`.
    #[doc(hidden)]
    fn read_body(body: &Bytes) -> Result<Self, ReadError> {
        Self::from_body(body).map_err(ReadError::from)
    }

    /// Reads all of an answer.
    ///
    /// # Errors
    /// Why it is no `Self`.
    #[doc(hidden)]
    fn from_response(response: &mut RawResponse) -> Result<Self, ReadError> {
        Self::read_body(&response.body)
    }
}

#[diagnostic::do_not_recommend]
impl<T: serde::de::DeserializeOwned + Send + 'static> FromBody for T {
    fn from_body(body: &Bytes) -> Result<Self, String> {
        Self::read_body(body).map_err(|error| error.reason)
    }

    fn read_body(body: &Bytes) -> Result<Self, ReadError> {
        if let Some(body) = as_it_came(body)? {
            return Ok(body);
        }
        let read = if body.is_empty() {
            serde_json::from_slice(b"null").map_err(|_| "the body is empty".to_owned())
        } else {
            serde_json::from_slice(body).map_err(|error| explain_decode_error(&error, body))
        };
        Ok(read?)
    }
}

/// The body as a `T`, where that is one of the types that are not read from JSON.
fn as_it_came<T: 'static>(body: &Bytes) -> Result<Option<T>, ReadError> {
    let some = (!body.is_empty()).then_some(body);
    let mut read = None::<T>;
    put(&mut read, || Ok(()))?;
    put(&mut read, || Ok(text(body)?))?;
    put(&mut read, || Ok(Page::from_bytes(body)?))?;
    put(&mut read, || Ok(some.map(Page::from_bytes).transpose()?))?;
    put(&mut read, || Ok(body.clone()))?;
    put(&mut read, || Ok(body.to_vec()))?;
    put(&mut read, || Ok(some.map(text).transpose()?))?;
    put(&mut read, || Ok(some.cloned()))?;
    put(&mut read, || Ok(some.map(|body| body.to_vec())))?;
    Ok(read)
}

/// Fills `place` if a `U` fits; the types are known to the compiler, so that all else costs nothing.
fn put<T: 'static, U: 'static>(
    place: &mut Option<T>,
    read: impl FnOnce() -> Result<U, ReadError>,
) -> Result<(), ReadError> {
    if let Some(place) = (place as &mut dyn Any).downcast_mut::<Option<U>>() {
        *place = Some(read()?);
    }
    Ok(())
}

fn text(body: &Bytes) -> Result<String, String> {
    String::from_utf8(body.to_vec()).map_err(|error| not_utf8(error.utf8_error().valid_up_to()))
}

fn not_utf8(from: usize) -> String {
    format!("the body is not UTF-8 from byte {from} on; `Bytes` accepts any body")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_last_cookie_of_a_name_counts() {
        let mut headers = HeaderMap::new();
        for line in [
            "csrf=old; Path=/",
            "csrf = a=b== ;HttpOnly",
            "sid=1",
            "gone=; Max-Age=0",
            "odd",
        ] {
            headers.append(SET_COOKIE, line.parse().unwrap());
        }
        let found =
            ["csrf", "sid", "gone", "odd", "Sid", "path"].map(|name| find_cookie(&headers, name));
        assert_eq!(found, [Some("a=b=="), Some("1"), None, None, None, None]);
    }

    fn read<T: FromBody>(body: &'static [u8]) -> Result<T, String> {
        T::from_body(&Bytes::from_static(body))
    }

    #[test]
    fn text_and_bytes_are_the_body_as_it_came() {
        assert_eq!(
            read("<p>\"é\"</p>".as_bytes()),
            Ok("<p>\"é\"</p>".to_owned())
        );
        assert_eq!(read(b"\"json\""), Ok("\"json\"".to_owned()));
        assert_eq!(read(b""), Ok(String::new()));
        assert_eq!(read(b"\xff\0"), Ok(Bytes::from_static(b"\xff\0")));
        assert_eq!(read(b"[1]"), Ok(b"[1]".to_vec()));
        assert_eq!(read(b"\xff"), Ok(()));
    }

    #[test]
    fn an_empty_body_is_none() {
        assert_eq!(read(b""), Ok(None::<String>));
        assert_eq!(read(b""), Ok(None::<Bytes>));
        assert_eq!(read(b""), Ok(None::<Vec<u8>>));
        assert_eq!(read(b""), Ok(None::<u64>));
        assert_eq!(read(b"null"), Ok(Some("null".to_owned())));
    }

    #[test]
    fn every_other_type_is_read_from_json() {
        assert_eq!(read(b"\"text\""), Ok(Value::from("text")));
        assert_eq!(read(b"[\"text\"]"), Ok(vec!["text".to_owned()]));
        assert_eq!(
            read(b""),
            Err::<Vec<u64>, _>("the body is empty".to_owned())
        );
        read::<Value>(b"<p>").unwrap_err();
    }

    #[test]
    fn text_that_is_no_utf_8_is_an_error_that_names_a_type_for_it() {
        let error = read::<String>(b"caf\xe9").unwrap_err();
        assert!(
            error.contains("byte 3") && error.contains("`Bytes`"),
            "{error}"
        );
    }
}

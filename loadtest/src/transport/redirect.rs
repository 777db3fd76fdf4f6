//! Follows redirects as browsers do.

use super::{ErrorKind, Failure};
use crate::redact;
use crate::targets::Origin;
use crate::transport::{RequestBuf, RequestTarget};
use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_LOCATION,
    CONTENT_TYPE, COOKIE, HOST, PROXY_AUTHORIZATION, TRANSFER_ENCODING,
};
use http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use url::Url;

/// The headers of a body, dropped if the body is not sent again.
const BODY_HEADERS: [HeaderName; 6] = [
    CONTENT_TYPE,
    CONTENT_LENGTH,
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_LOCATION,
    TRANSFER_ENCODING,
];
/// The headers meant for one origin only.
const ORIGIN_HEADERS: [HeaderName; 4] = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE, HOST];

/// An answer that points elsewhere.
#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) status: StatusCode,
    pub(super) location: Option<HeaderValue>,
}

/// Returns whether an answer with `status` is a redirect.
pub(super) fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

impl Redirect {
    /// The request that follows `request`, which was sent to `url`.
    pub(super) fn next_request(
        &self,
        request: &RequestBuf,
        url: &str,
    ) -> Result<RequestBuf, Failure> {
        let uri = self.target_uri(url)?;
        let becomes_get = match self.status {
            StatusCode::SEE_OTHER => !matches!(request.method, Method::GET | Method::HEAD),
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => request.method == Method::POST,
            _ => false,
        };
        let leaves = origin_of(url) != Origin::from_uri(&uri).ok();
        let stays_behind = |name: &HeaderName, value: &HeaderValue| {
            let text = String::from_utf8_lossy(value.as_bytes());
            ORIGIN_HEADERS.contains(name) || redact::redact_header(name.as_str(), value) != text
        };
        let mut next = RequestBuf {
            omitted: request.omitted.clone(),
            jar: request.jar,
            ..RequestBuf::default()
        };
        next.headers.extend(
            request
                .headers
                .iter()
                .filter(|(name, value)| {
                    !(becomes_get && BODY_HEADERS.contains(name)
                        || leaves && stays_behind(name, value))
                })
                .cloned(),
        );
        if becomes_get {
            next.method = Method::GET;
        } else {
            next.method = request.method.clone();
            next.body = request.body.clone();
        }
        next.target = RequestTarget::Absolute(uri);
        Ok(next)
    }

    /// Refuses to send the body of `next` to another origin than that of `url`: it was meant for the first.
    pub(super) fn check_body(&self, next: &RequestBuf, url: &str) -> Result<(), Failure> {
        let RequestTarget::Absolute(uri) = &next.target else {
            return Ok(());
        };
        let target = Origin::from_uri(uri).ok();
        if next.body.is_empty() || origin_of(url) == target {
            return Ok(());
        }
        let target = target.map(|target| target.to_string()).unwrap_or_default();
        Err(self.redirect_failure(
            ErrorKind::RedirectBlocked,
            format!(
                "a redirect is not followed: the {} answer asks to send the body to {target}, another origin; \
                 send it there by a step of its own",
                self.status.as_u16()
            ),
        ))
    }

    fn target_uri(&self, url: &str) -> Result<Uri, Failure> {
        let location = self
            .location
            .as_ref()
            .ok_or_else(|| self.bad_location("has no `location`"))?;
        let text = std::str::from_utf8(location.as_bytes())
            .map_err(|_| self.bad_location("has a `location` that is not text"))?;
        let unusable = |reason: String| {
            let shown: String = redact::redact(text).chars().take(200).collect();
            self.bad_location(&format!("has the unusable `location: {shown}`: {reason}"))
        };
        let mut target = Url::parse(url)
            .and_then(|from| from.join(text.trim()))
            .map_err(|error| unusable(error.to_string()))?;
        target.set_fragment(None);
        if !matches!(target.scheme(), "http" | "https") {
            let scheme = target.scheme();
            return Err(unusable(format!(
                "the scheme `{scheme}` is neither http nor https"
            )));
        }
        Uri::try_from(target.as_str()).map_err(|error| unusable(error.to_string()))
    }

    fn bad_location(&self, what: &str) -> Failure {
        self.redirect_failure(
            ErrorKind::RedirectBadLocation,
            format!("the {} answer {what}", self.status.as_u16()),
        )
    }

    /// It was followed as often as allowed.
    pub(super) fn too_many_failure(&self, followed: u32) -> Failure {
        self.redirect_failure(
            ErrorKind::RedirectLoop,
            format!("another redirect after {followed}; `redirects = {followed}` allows no more"),
        )
    }

    /// It points to where nothing may be sent.
    pub(super) fn blocked_failure(&self, refusal: &Failure) -> Failure {
        self.redirect_failure(
            ErrorKind::RedirectBlocked,
            format!("a redirect is not followed: {}", refusal.message),
        )
    }

    fn redirect_failure(&self, kind: ErrorKind, message: String) -> Failure {
        Failure {
            status: Some(self.status),
            ..Failure::new(kind, message)
        }
    }
}

fn origin_of(url: &str) -> Option<Origin> {
    let uri: Uri = url.parse().ok()?;
    Origin::from_uri(&uri).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(from: &str, location: &str) -> Result<String, ErrorKind> {
        let redirect = Redirect {
            status: StatusCode::FOUND,
            location: Some(HeaderValue::from_bytes(location.as_bytes()).unwrap()),
        };
        redirect
            .target_uri(from)
            .map(|uri| uri.to_string())
            .map_err(|failure| failure.kind)
    }

    #[test]
    fn locations_are_resolved_against_the_url_that_answered() {
        let from = "http://h.test:81/a/b?c=d";
        for (location, expected) in [
            ("/x", "http://h.test:81/x"),
            ("x?y=1", "http://h.test:81/a/x?y=1"),
            ("../x", "http://h.test:81/x"),
            ("?e", "http://h.test:81/a/b?e"),
            ("//other.test/x", "http://other.test/x"),
            ("https://h.test/x#part", "https://h.test/x"),
            ("http://h.test", "http://h.test/"),
            ("/é ü", "http://h.test:81/%C3%A9%20%C3%BC"),
            ("", "http://h.test:81/a/b?c=d"),
        ] {
            assert_eq!(to(from, location).as_deref(), Ok(expected), "{location}");
        }
        for location in [
            "ftp://h.test/",
            "javascript:alert(1)",
            "http://",
            "http://[::1",
        ] {
            assert_eq!(
                to(from, location),
                Err(ErrorKind::RedirectBadLocation),
                "{location}"
            );
        }
    }

    #[test]
    fn methods_bodies_and_secrets_go_on_as_in_browsers() {
        let mut request = RequestBuf::default();
        for name in [
            CONTENT_TYPE,
            AUTHORIZATION,
            COOKIE,
            HOST,
            http::header::ACCEPT,
        ] {
            request.headers.push((name, HeaderValue::from_static("x")));
        }
        request.body = "body".into();
        let next = |request: &RequestBuf, status: u16, location: &'static str| {
            let redirect = Redirect {
                status: StatusCode::from_u16(status).unwrap(),
                location: Some(HeaderValue::from_static(location)),
            };
            redirect.next_request(request, "http://h.test/a").unwrap()
        };
        for (status, method, expected) in [
            (301, Method::POST, Method::GET),
            (302, Method::POST, Method::GET),
            (303, Method::POST, Method::GET),
            (303, Method::PUT, Method::GET),
            (303, Method::HEAD, Method::HEAD),
            (302, Method::PUT, Method::PUT),
            (307, Method::POST, Method::POST),
            (308, Method::DELETE, Method::DELETE),
        ] {
            request.method = method.clone();
            let next = next(&request, status, "/b");
            assert_eq!(next.method, expected, "{status} {method}");
            let kept = method == expected;
            assert_eq!(!next.body.is_empty(), kept, "{status} {method}");
            assert_eq!(
                next.headers.len(),
                if kept { 5 } else { 4 },
                "{status} {method}"
            );
        }
        for elsewhere in ["http://other.test/", "https://h.test/", "http://h.test:81/"] {
            let names: Vec<_> = next(&request, 307, elsewhere).headers;
            let names: Vec<_> = names.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["content-type", "accept"], "{elsewhere}");
        }
    }

    #[test]
    fn what_reports_redact_is_not_sent_to_another_origin() {
        let mut request = RequestBuf::default();
        let mut marked = HeaderValue::from_static("from a secret");
        marked.set_sensitive(true);
        for (name, value) in [
            ("x-api-key", HeaderValue::from_static("k")),
            ("x-signed", marked),
            ("x-session", HeaderValue::from_static("token=abc")),
            ("x-trace", HeaderValue::from_static("7")),
        ] {
            request.headers.push((HeaderName::from_static(name), value));
        }
        let redirect = Redirect {
            status: StatusCode::TEMPORARY_REDIRECT,
            location: Some(HeaderValue::from_static("http://other.test/")),
        };
        let elsewhere = redirect.next_request(&request, "http://h.test/a").unwrap();
        let names: Vec<_> = elsewhere
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["x-trace"]);
        let at_home = Redirect {
            location: Some(HeaderValue::from_static("/b")),
            ..redirect
        };
        let same = at_home.next_request(&request, "http://h.test/a").unwrap();
        assert_eq!(same.headers.len(), 4);
    }
}

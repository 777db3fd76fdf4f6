//! Which requests are answered: a page can start programs, so it is guarded like a terminal.
//!
//! The rules hold for every request, in the order of [`Guard::check`].

mod proxy;

pub(super) use proxy::{Proxy, SECRET_VARIABLE};

use super::route::{Access, Route};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::Duration;
use tokio::time::Instant;

/// How long a code can be exchanged for the cookie.
const CODE_LIFE: Duration = Duration::from_secs(300);
/// The most codes that wait to be used.
const CODES: usize = 20;
/// So many refused requests within [`REFUSAL_TIME`] are worth a line in the terminal.
const REFUSALS: usize = 20;
const REFUSAL_TIME: Duration = Duration::from_secs(60);

/// The policy of every page: own files only, no frames, and markup only through one named policy of the script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
                      require-trusted-types-for 'script'; trusted-types loadtest";

/// The reason why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestRefusal {
    /// The name of another server: that of a page which made its name stand for this machine.
    Host,
    /// No cookie, or a wrong one.
    Secret,
    /// It did not come from the proxy, or the proxy gave no name.
    Proxy,
    /// Another page sent it.
    Origin,
    /// A body of a type that no form of ours sends.
    Type,
    /// The dashboard is read-only.
    ReadOnly,
}

impl RequestRefusal {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Secret => StatusCode::UNAUTHORIZED,
            Self::Origin | Self::Proxy | Self::ReadOnly => StatusCode::FORBIDDEN,
            Self::Type => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }
}

/// Who is let in.
#[derive(Debug)]
pub(super) enum Door {
    /// Browsers of this machine, with the cookie that the printed address gives.
    Cookie { port: u16, secret: String },
    /// Whom a proxy names.
    Proxy(Proxy),
}

/// The door of a server, and its codes.
#[derive(Debug)]
pub(super) struct Guard {
    door: Door,
    is_read_only: bool,
    codes: VecDeque<(String, Instant)>,
    refusals: VecDeque<Instant>,
}

/// Returns 256 random bits in hexadecimal.
pub(super) fn random_secret() -> String {
    let mut bytes = [0; 32];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the system has random numbers");
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Guard {
    pub(super) fn new(door: Door, is_read_only: bool) -> Self {
        Self {
            door,
            is_read_only,
            codes: VecDeque::new(),
            refusals: VecDeque::new(),
        }
    }

    pub(super) fn door(&self) -> &Door {
        &self.door
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Makes a code that can be exchanged for the cookie once.
    pub(super) fn new_code(&mut self, now: Instant) -> String {
        let code = random_secret();
        self.codes.push_back((code.clone(), now));
        if self.codes.len() > CODES {
            self.codes.pop_front();
        }
        code
    }

    /// Exchanges a code for the `set-cookie` header; `None` if it was used, is too old, or was never made.
    pub(super) fn use_code(&mut self, code: &str, now: Instant) -> Option<String> {
        self.codes
            .retain(|(_, made)| now.duration_since(*made) < CODE_LIFE);
        let at = self
            .codes
            .iter()
            .position(|(known, _)| is_same_secret(known, code))?;
        self.codes.remove(at);
        let Door::Cookie { port, secret } = &self.door else {
            return None;
        };
        let name = cookie_name(*port);
        Some(format!(
            "{name}={secret}; HttpOnly; SameSite=Strict; Path=/"
        ))
    }

    /// Checks the request; `route` is where it would go. Returns the user that a proxy names.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub(super) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        route: Option<&Route>,
    ) -> Result<Option<String>, RequestRefusal> {
        let origins = self.door.origins();
        let host = single(headers, &HOST).ok_or(RequestRefusal::Host)?;
        let is_known = |origin: &String| {
            let known = origin.split_once("://").map_or("", |(_, known)| known);
            known.eq_ignore_ascii_case(host)
        };
        if !origins.iter().any(is_known) {
            return Err(RequestRefusal::Host);
        }
        let access = route.map_or(Access::Read, Route::access);
        let user = match &self.door {
            _ if access == Access::Public => None,
            Door::Cookie { port, secret } if has_cookie(headers, *port, secret) => None,
            Door::Cookie { .. } => return Err(RequestRefusal::Secret),
            Door::Proxy(proxy) => Some(proxy.user(headers).ok_or(RequestRefusal::Proxy)?),
        };
        let site = single(headers, &HeaderName::from_static("sec-fetch-site"));
        if *method == Method::GET || *method == Method::HEAD {
            let mode = single(headers, &HeaderName::from_static("sec-fetch-mode"));
            let is_foreign = matches!(site, Some("cross-site" | "same-site"));
            return if is_foreign && mode != Some("navigate") {
                Err(RequestRefusal::Origin)
            } else {
                Ok(user)
            };
        }
        let is_same_origin = match (site, single(headers, &ORIGIN)) {
            (Some(site), _) => site == "same-origin",
            (None, Some(origin)) => origins.iter().any(|known| known == origin),
            (None, None) => false,
        };
        if !is_same_origin {
            return Err(RequestRefusal::Origin);
        }
        if self.is_read_only && access == Access::Change {
            return Err(RequestRefusal::ReadOnly);
        }
        let kind = single(headers, &CONTENT_TYPE).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        match kind {
            "application/x-www-form-urlencoded" | "application/json" => Ok(user),
            _ => Err(RequestRefusal::Type),
        }
    }

    /// Notes a refused request. Returns true where there have been so many that the user is to know.
    pub(super) fn note_refusal(&mut self, now: Instant) -> bool {
        self.refusals
            .retain(|then| now.duration_since(*then) < REFUSAL_TIME);
        self.refusals.push_back(now);
        let is_much = self.refusals.len() >= REFUSALS;
        if is_much {
            self.refusals.clear();
        }
        is_much
    }
}

impl Door {
    /// Returns the origins of the pages.
    fn origins(&self) -> Vec<String> {
        match self {
            Self::Cookie { port, .. } => ["127.0.0.1", "[::1]", "localhost"]
                .map(|host| format!("http://{host}:{port}"))
                .to_vec(),
            Self::Proxy(proxy) => vec![proxy.origin().to_owned()],
        }
    }
}

/// Cookies know no ports, so the name does.
pub(super) fn cookie_name(port: u16) -> String {
    format!("loadtest_{port}")
}

fn has_cookie(headers: &HeaderMap, port: u16, secret: &str) -> bool {
    let name = cookie_name(port);
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .any(|(key, value)| key == name && is_same_secret(value, secret))
}

/// Returns the value of a header that is there once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok()
}

/// Compares digests, so that the time says nothing about the first difference.
fn is_same_secret(one: &str, other: &str) -> bool {
    let hash = |text: &str| digest(&SHA256, text.as_bytes());
    hash(one).as_ref() == hash(other).as_ref()
}

/// Adds the headers that every answer has.
pub(super) fn add_headers(headers: &mut HeaderMap, is_lasting: bool) {
    let cache = if is_lasting {
        "private, max-age=31536000, immutable"
    } else {
        "no-store"
    };
    let all = [
        (CONTENT_SECURITY_POLICY.as_str(), POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        (
            "permissions-policy",
            "camera=(), geolocation=(), microphone=(), usb=()",
        ),
        ("cache-control", cache),
    ];
    for (name, value) in all {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
}

#[cfg(test)]
mod tests;

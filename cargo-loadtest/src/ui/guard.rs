//! Which requests are answered: a page can start programs, so it is guarded like a terminal.
//!
//! The rules hold for every request, in the order of [`Guard::check`].

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
pub(super) enum Refusal {
    /// The name of another server: that of a page which made its name stand for this machine.
    Host,
    /// No cookie, or a wrong one.
    Secret,
    /// Another page sent it.
    Origin,
    /// A body of a type that no form of ours sends.
    Type,
    /// The dashboard is read-only.
    ReadOnly,
}

impl Refusal {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Secret => StatusCode::UNAUTHORIZED,
            Self::Origin | Self::ReadOnly => StatusCode::FORBIDDEN,
            Self::Type => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }
}

/// The secret of a server, its addresses and its codes.
#[derive(Debug)]
pub(super) struct Guard {
    port: u16,
    secret: String,
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
    pub(super) fn new(port: u16, secret: String, is_read_only: bool) -> Self {
        Self {
            port,
            secret,
            is_read_only,
            codes: VecDeque::new(),
            refusals: VecDeque::new(),
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
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
        let (name, secret) = (self.cookie_name(), &self.secret);
        Some(format!(
            "{name}={secret}; HttpOnly; SameSite=Strict; Path=/"
        ))
    }

    /// Cookies know no ports, so the name does.
    pub(super) fn cookie_name(&self) -> String {
        format!("loadtest_{}", self.port)
    }

    /// Checks the request; `route` is where it would go.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub(super) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        route: Option<&Route>,
    ) -> Result<(), Refusal> {
        let hosts = ["127.0.0.1", "[::1]", "localhost"].map(|host| format!("{host}:{}", self.port));
        let host = single(headers, &HOST).ok_or(Refusal::Host)?;
        if !hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
            return Err(Refusal::Host);
        }
        let access = route.map_or(Access::Read, Route::access);
        if access != Access::Public && !self.has_secret(headers) {
            return Err(Refusal::Secret);
        }
        let site = single(headers, &HeaderName::from_static("sec-fetch-site"));
        if *method == Method::GET || *method == Method::HEAD {
            let mode = single(headers, &HeaderName::from_static("sec-fetch-mode"));
            let is_foreign = matches!(site, Some("cross-site" | "same-site"));
            return if is_foreign && mode != Some("navigate") {
                Err(Refusal::Origin)
            } else {
                Ok(())
            };
        }
        let is_same_origin = match (site, single(headers, &ORIGIN)) {
            (Some(site), _) => site == "same-origin",
            (None, Some(origin)) => hosts.iter().any(|host| origin == format!("http://{host}")),
            (None, None) => false,
        };
        if !is_same_origin {
            return Err(Refusal::Origin);
        }
        if self.is_read_only && access == Access::Change {
            return Err(Refusal::ReadOnly);
        }
        let kind = single(headers, &CONTENT_TYPE).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        match kind {
            "application/x-www-form-urlencoded" | "application/json" => Ok(()),
            _ => Err(Refusal::Type),
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

    fn has_secret(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie_name();
        headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(key, value)| key == name && is_same_secret(value, &self.secret))
    }
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
mod tests {
    use super::*;

    const PORT: u16 = 23_456;

    fn guard(is_read_only: bool) -> Guard {
        Guard::new(PORT, "s3cret".to_owned(), is_read_only)
    }

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    /// The headers of our own page: with a change, a value replaced, added, or (empty) left out.
    fn own(changes: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = headers(&[
            ("host", "127.0.0.1:23456"),
            ("cookie", "other=1; loadtest_23456=s3cret"),
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-mode", "navigate"),
            ("content-type", "application/x-www-form-urlencoded"),
        ]);
        for (name, value) in changes {
            headers.remove(*name);
            if !value.is_empty() {
                headers.append(*name, value.parse().unwrap());
            }
        }
        headers
    }

    fn check(route: &Route, headers: &HeaderMap) -> Result<(), Refusal> {
        guard(false).check(&route.method(), headers, Some(route))
    }

    #[test]
    fn our_own_page_may_do_everything() {
        for route in Route::samples() {
            assert_eq!(check(&route, &own(&[])), Ok(()), "{route:?}");
            for host in ["[::1]:23456", "localhost:23456", "LOCALHOST:23456"] {
                assert_eq!(check(&route, &own(&[("host", host)])), Ok(()), "{route:?}");
            }
        }
    }

    #[test]
    fn another_host_is_refused_everywhere() {
        for route in Route::samples() {
            for host in [
                "evil.example:23456",
                "127.0.0.1",
                "127.0.0.1:80",
                "127.0.0.1.evil.example:23456",
                "",
            ] {
                assert_eq!(
                    check(&route, &own(&[("host", host)])),
                    Err(Refusal::Host),
                    "{host}"
                );
            }
            let mut twice = own(&[]);
            twice.append("host", "evil.example".parse().unwrap());
            assert_eq!(check(&route, &twice), Err(Refusal::Host));
        }
    }

    #[test]
    fn without_the_cookie_there_are_no_data() {
        for route in Route::samples() {
            for cookie in [
                "",
                "loadtest_23456=",
                "loadtest_23456=S3CRET",
                "loadtest_1=s3cret",
                "s3cret",
            ] {
                let expected = match route.access() {
                    Access::Public => Ok(()),
                    Access::Read | Access::Change => Err(Refusal::Secret),
                };
                assert_eq!(
                    check(&route, &own(&[("cookie", cookie)])),
                    expected,
                    "{cookie} {route:?}"
                );
            }
        }
        let unknown = guard(false).check(&Method::GET, &own(&[("cookie", "")]), None);
        assert_eq!(unknown, Err(Refusal::Secret));
    }

    #[test]
    fn another_page_changes_nothing_and_reads_nothing() {
        for route in Route::samples() {
            let is_change = route.access() == Access::Change;
            for site in ["cross-site", "same-site"] {
                let navigation = check(&route, &own(&[("sec-fetch-site", site)]));
                assert_eq!(navigation.is_err(), is_change, "{route:?}");
                let part = [("sec-fetch-site", site), ("sec-fetch-mode", "no-cors")];
                assert_eq!(
                    check(&route, &own(&part)),
                    Err(Refusal::Origin),
                    "{route:?}"
                );
            }
            if is_change {
                assert_eq!(
                    check(&route, &own(&[("sec-fetch-site", "none")])),
                    Err(Refusal::Origin)
                );
                let origin = |origin| own(&[("sec-fetch-site", ""), ("origin", origin)]);
                assert_eq!(check(&route, &origin("http://127.0.0.1:23456")), Ok(()));
                for foreign in [
                    "",
                    "null",
                    "http://127.0.0.1:3000",
                    "https://127.0.0.1:23456",
                    "http://evil.example",
                ] {
                    assert_eq!(
                        check(&route, &origin(foreign)),
                        Err(Refusal::Origin),
                        "{foreign}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_change_has_the_type_of_a_form() {
        for route in Route::samples()
            .iter()
            .filter(|route| route.access() == Access::Change)
        {
            for kind in ["", "text/plain", "multipart/form-data"] {
                assert_eq!(
                    check(route, &own(&[("content-type", kind)])),
                    Err(Refusal::Type)
                );
            }
        }
    }

    #[test]
    fn a_read_only_dashboard_changes_nothing() {
        for route in Route::samples() {
            let checked = guard(true).check(&route.method(), &own(&[]), Some(&route));
            let expected = match route.access() {
                Access::Change => Err(Refusal::ReadOnly),
                Access::Public | Access::Read => Ok(()),
            };
            assert_eq!(checked, expected, "{route:?}");
        }
    }

    #[test]
    fn a_code_is_good_once_and_for_five_minutes() {
        let (mut guard, now) = (guard(false), Instant::now());
        let code = guard.new_code(now);
        assert_eq!(guard.use_code("other", now), None);
        let cookie = guard.use_code(&code, now + CODE_LIFE - Duration::from_millis(1));
        assert_eq!(
            cookie.unwrap(),
            "loadtest_23456=s3cret; HttpOnly; SameSite=Strict; Path=/"
        );
        assert_eq!(guard.use_code(&code, now), None);
        let old = guard.new_code(now);
        assert_eq!(guard.use_code(&old, now + CODE_LIFE), None);
    }

    #[test]
    fn many_refusals_in_a_minute_are_told() {
        let (mut guard, now) = (guard(false), Instant::now());
        let told: Vec<_> = (0..45).map(|_| guard.note_refusal(now)).collect();
        assert_eq!(told.iter().filter(|told| **told).count(), 2);
        for minutes in 1..40 {
            assert!(!guard.note_refusal(now + minutes * REFUSAL_TIME));
        }
    }
}

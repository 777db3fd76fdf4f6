//! The cookies of one virtual user, kept and sent as RFC 6265 has it.

use crate::targets::{Host, Origin};
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue};
use std::time::{Duration, SystemTime};

/// The most cookies a user keeps; the oldest goes first.
const MAX_COOKIES: usize = 300;
/// The largest name and value together that is kept, as in browsers.
const MAX_COOKIE_SIZE: usize = 4096;

/// The cookies of one user: those of its jar, and of jars with names.
#[derive(Debug, Default)]
pub(super) struct CookieJar {
    /// The cookies, ordered by the time they were first set.
    cookies: Vec<Cookie>,
}

#[derive(Debug)]
struct Cookie {
    /// The name of its jar, if that has one.
    jar: Option<&'static str>,
    name: String,
    value: String,
    /// The domain, spelled as hosts are.
    domain: String,
    /// It goes to no other host below its domain.
    host_only: bool,
    path: String,
    secure: bool,
    expires: Option<SystemTime>,
}

impl CookieJar {
    #[inline]
    pub(super) fn clear(&mut self) {
        self.cookies.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Returns whether a response with these headers sets or deletes cookies.
    pub(super) fn is_set_by(headers: &HeaderMap) -> bool {
        headers.contains_key(SET_COOKIE)
    }

    /// Keeps in `jar` what the answer to a request for `path` at `origin` sets; forgets what it deletes.
    pub(super) fn store_from(
        &mut self,
        jar: Option<&'static str>,
        headers: &HeaderMap,
        origin: &Origin,
        path: &str,
    ) {
        let now = SystemTime::now();
        for header in headers.get_all(SET_COOKIE) {
            if let Ok(text) = std::str::from_utf8(header.as_bytes()) {
                self.set_cookie(jar, text, &origin.host, path, now);
            }
        }
    }

    /// The value of the `cookie` header for a request for `path` at `origin`, if there is one: all of `jar` but the
    /// cookies that the request has in headers of its own.
    pub(super) fn header<'a>(
        &mut self,
        jar: Option<&str>,
        origin: &Origin,
        path: &str,
        own: impl Iterator<Item = &'a HeaderValue>,
    ) -> Option<HeaderValue> {
        let own: Vec<&[u8]> = own.flat_map(cookie_names).collect();
        self.header_text(jar, origin, path, &own, SystemTime::now())
            .and_then(|text| HeaderValue::try_from(text).ok())
            .map(mark_sensitive)
    }

    fn header_text(
        &mut self,
        jar: Option<&str>,
        origin: &Origin,
        path: &str,
        own: &[&[u8]],
        now: SystemTime,
    ) -> Option<String> {
        self.cookies.retain(|cookie| !cookie.is_expired(now));
        let path = path.split('?').next().unwrap_or(path);
        let host = origin.host.to_string();
        let mut fitting: Vec<&Cookie> = self
            .cookies
            .iter()
            .filter(|cookie| {
                cookie.jar == jar
                    && cookie.is_for_host(&host, &origin.host)
                    && path_matches(path, &cookie.path)
                    && (origin.scheme.is_tls() || !cookie.secure)
                    && !own.contains(&cookie.name.as_bytes())
            })
            .collect();
        // The sort is stable: those of one length stay in the order of their creation.
        fitting.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> = fitting.into_iter().map(Cookie::to_pair).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    fn set_cookie(
        &mut self,
        jar: Option<&'static str>,
        text: &str,
        host: &Host,
        path: &str,
        now: SystemTime,
    ) {
        let Some(cookie) = Cookie::read(text, host, path, now) else {
            return;
        };
        let cookie = Cookie { jar, ..cookie };
        let known = self
            .cookies
            .iter()
            .position(|known| known.place() == cookie.place());
        match (known, cookie.is_expired(now)) {
            (Some(index), true) => drop(self.cookies.remove(index)),
            (None, true) => {}
            (Some(index), false) => self.cookies[index] = cookie,
            (None, false) => {
                if self.cookies.len() == MAX_COOKIES {
                    self.cookies.remove(0);
                }
                self.cookies.push(cookie);
            }
        }
    }
}

impl Cookie {
    /// Reads a `set-cookie` header (RFC 6265, sections 5.2 and 5.3); `None` where it is to be ignored.
    fn read(text: &str, host: &Host, path: &str, now: SystemTime) -> Option<Self> {
        let is_control = |c: char| c.is_control() && c != '\t';
        if text.contains(is_control) {
            return None;
        }
        let mut parts = text.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || name.len() + value.len() > MAX_COOKIE_SIZE {
            return None;
        }
        let own = host.to_string();
        let mut cookie = Self {
            jar: None,
            name: name.to_owned(),
            value: value.to_owned(),
            domain: own,
            host_only: true,
            path: default_path(path).to_owned(),
            secure: false,
            expires: None,
        };
        let (mut domain, mut max_age) = (None, None);
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "domain" => domain = Some(value.strip_prefix('.').unwrap_or(value)),
                "path" if value.starts_with('/') => value.clone_into(&mut cookie.path),
                "path" => default_path(path).clone_into(&mut cookie.path),
                "secure" => cookie.secure = true,
                "max-age" => max_age = parse_max_age(value).or(max_age),
                "expires" => cookie.expires = parse_cookie_date(value).or(cookie.expires),
                _ => {}
            }
        }
        if let Some(seconds) = max_age {
            cookie.expires = checked_expiry(now, seconds);
        }
        match domain {
            None | Some("") => {}
            Some(domain) => {
                let domain = domain.to_ascii_lowercase();
                let is_shared = matches!(host, Host::Name(_)) && domain.contains('.');
                if is_shared && is_subdomain(&cookie.domain, &domain) {
                    cookie.host_only = false;
                    cookie.domain = domain;
                } else if domain != cookie.domain {
                    return None;
                }
            }
        }
        Some(cookie)
    }

    /// What no two cookies have in common.
    fn place(&self) -> (Option<&str>, &str, &str, &str) {
        (self.jar, &self.name, &self.domain, &self.path)
    }

    fn is_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }

    fn is_for_host(&self, text: &str, host: &Host) -> bool {
        text == self.domain
            || !self.host_only && matches!(host, Host::Name(_)) && is_subdomain(text, &self.domain)
    }

    fn to_pair(&self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

/// Joins the cookies of the jar and those of the request's own header, in the order of curl.
pub(super) fn join_cookies(jar: &HeaderValue, own: &HeaderValue) -> HeaderValue {
    let own = own.as_bytes().trim_ascii();
    let between: &[u8] = if own.is_empty() { b"" } else { b"; " };
    let all = [jar.as_bytes(), between, own].concat();
    HeaderValue::from_bytes(&all).map_or_else(|_| jar.clone(), mark_sensitive)
}

/// The names of the cookies in a header.
fn cookie_names(header: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    let pairs = header.as_bytes().split(|byte| *byte == b';');
    pairs.map(|pair| {
        let end = pair.iter().position(|byte| *byte == b'=');
        pair[..end.unwrap_or(pair.len())].trim_ascii()
    })
}

fn mark_sensitive(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

/// Returns whether `host` is `domain` or a name below it.
fn is_subdomain(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns whether a cookie with the path `wanted` is sent to `path`.
fn path_matches(path: &str, wanted: &str) -> bool {
    path.strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || wanted.ends_with('/'))
}

/// The folder of a request's path.
fn default_path(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or(path);
    match path.rfind('/') {
        Some(end @ 1..) if path.starts_with('/') => &path[..end],
        _ => "/",
    }
}

fn parse_max_age(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let beyond = if text.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    };
    plain.then(|| text.parse().unwrap_or(beyond))
}

/// `None` for a time beyond what the clock can tell, which is never.
fn checked_expiry(now: SystemTime, seconds: i64) -> Option<SystemTime> {
    match u64::try_from(seconds) {
        Ok(seconds @ 1..) => now.checked_add(Duration::from_secs(seconds)),
        _ => Some(SystemTime::UNIX_EPOCH),
    }
}

/// Reads the dates of cookies, which servers write in many ways (RFC 6265, section 5.1.1).
fn parse_cookie_date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    let is_delimiter = |c: char| !(c.is_ascii_alphanumeric() || c == ':' || !c.is_ascii());
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        let word = token.to_ascii_lowercase();
        if time.is_none() && token.contains(':') {
            let mut parts = token.splitn(3, ':').map(|part| leading_number(part, 1..=2));
            if let (Some(Some(h)), Some(Some(m)), Some(Some(s))) =
                (parts.next(), parts.next(), parts.next())
            {
                time = Some((h, m, s));
            }
        } else if let (None, Some(number)) = (day, leading_number(token, 1..=2)) {
            day = Some(number);
        } else if let (None, Some(at)) = (
            month,
            MONTHS.iter().position(|month| word.starts_with(month)),
        ) {
            month = Some(at + 1);
        } else if let (None, Some(number)) = (year, leading_number(token, 2..=4)) {
            year = Some(match number {
                70..=99 => number + 1900,
                0..=69 => number + 2000,
                _ => number,
            });
        }
    }
    let (month, day, (hour, minute, second)) = (month?, day?, time?);
    // A date before the clock's first is past all the same.
    let year = year.filter(|year| *year >= 1601)?.max(1970);
    if second > 59 {
        return None;
    }
    let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    humantime::parse_rfc3339(&text).ok()
}

/// The number at the start of `text`, if it has as many digits as allowed.
fn leading_number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<u16> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    digits
        .contains(&count)
        .then(|| text[..count].parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Uri;
    use proptest::prelude::*;

    const NOW: u64 = 1_800_000_000; // 15 January 2027

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
    }

    fn split(url: &str) -> (Origin, String) {
        let uri: Uri = url.parse().unwrap();
        (Origin::from_uri(&uri).unwrap(), uri.path().to_owned())
    }

    fn set(jar: &mut CookieJar, url: &str, text: &str) {
        let (origin, path) = split(url);
        jar.set_cookie(None, text, &origin.host, &path, now());
    }

    fn sent(jar: &mut CookieJar, url: &str) -> String {
        let (origin, path) = split(url);
        jar.header_text(None, &origin, &path, &[], now())
            .unwrap_or_default()
    }

    /// What goes to `to` after `from` has set `text`.
    fn goes(text: &str, from: &str, to: &str) -> bool {
        let mut jar = CookieJar::default();
        set(&mut jar, from, text);
        !sent(&mut jar, to).is_empty()
    }

    #[test]
    fn a_cookie_without_a_domain_goes_to_its_host_alone() {
        let from = "http://shop.test/";
        assert!(goes("a=1", from, "http://shop.test:81/x"));
        assert!(goes("a=1", from, "https://SHOP.test./"));
        assert!(!goes("a=1", from, "http://api.shop.test/"));
        assert!(!goes("a=1", from, "http://test/"));
        assert!(goes("a=1", "http://127.0.0.1/", "http://127.1/"));
    }

    #[test]
    fn a_domain_widens_to_the_names_below_it_and_no_further() {
        let from = "http://api.shop.test/";
        for domain in ["shop.test", ".shop.test", "SHOP.test", "api.shop.test"] {
            let text = format!("a=1; Domain={domain}");
            assert!(goes(&text, from, "http://api.shop.test/"), "{domain}");
            assert!(goes(&text, from, "http://b.api.shop.test/"), "{domain}");
            assert!(!goes(&text, from, "http://workshop.test/"), "{domain}");
        }
        assert!(goes("a=1; domain=shop.test", from, "http://shop.test/"));
        for domain in [
            "evil.test",
            "b.api.shop.test",
            "op.test",
            "test",
            "127.0.0.1",
        ] {
            let text = format!("a=1; domain={domain}");
            assert!(!goes(&text, from, from), "{domain}");
        }
        // One label and addresses have no names below them.
        for host in ["localhost", "127.0.0.1"] {
            let from = format!("http://{host}/");
            let text = format!("a=1; domain={host}");
            assert!(goes(&text, &from, &from));
            assert!(!goes(&text, &from, &format!("http://a.{host}.test/")));
        }
        assert!(!goes(
            "a=1; domain=0.0.1",
            "http://127.0.0.1/",
            "http://127.0.0.1/"
        ));
        assert!(!goes(
            "a=1; domain=localhost",
            "http://localhost/",
            "http://a.localhost/"
        ));
    }

    #[test]
    fn a_path_is_matched_by_whole_segments() {
        let from = "http://h.test/shop/cart?x=/y/";
        for (path, to, expected) in [
            ("", "/shop", true),
            ("", "/shop/", true),
            ("", "/shop/cart/1", true),
            ("", "/shopping", false),
            ("", "/", false),
            ("; path=/", "/other", true),
            ("; path=/a", "/a/b", true),
            ("; path=/a", "/ab", false),
            ("; path=/a/", "/a", false),
            ("; path=/a/", "/a/b", true),
            ("; path=relative", "/shop/x", true),
        ] {
            let text = format!("a=1{path}");
            let to = format!("http://h.test{to}");
            assert_eq!(goes(&text, from, &to), expected, "{text} {to}");
        }
        assert!(goes("a=1", "http://h.test/login", "http://h.test/other"));
    }

    #[test]
    fn a_secure_cookie_never_goes_out_in_the_clear() {
        let from = "https://h.test/";
        assert!(goes("a=1; Secure; HttpOnly", from, "https://h.test/"));
        assert!(!goes("a=1; Secure", from, "http://h.test/"));
    }

    #[test]
    fn cookies_end_when_they_say_and_max_age_wins() {
        let url = "http://h.test/";
        for (text, lives) in [
            ("a=1; Max-Age=1", true),
            ("a=1; Max-Age=0", false),
            ("a=1; Max-Age=-5", false),
            ("a=1; Max-Age=99999999999999999999", true),
            (
                "a=1; Max-Age=99999999999999999999; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                true,
            ),
            ("a=1; Max-Age=-99999999999999999999", false),
            ("a=1; Max-Age=soon", true),
            ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", false),
            ("a=1; Expires=Thu, 01-Jan-70 00:00:00 GMT", false),
            ("a=1; Expires=Fri, 15 Jan 2027 08:00:00 GMT", false),
            ("a=1; Expires=Fri, 15 Jan 2027 08:00:01 GMT", true),
            ("a=1; Expires=Fri Jan 15 08:00:01 2027", true),
            ("a=1; Expires=Mon, 01 Jan 1601 00:00:00 GMT", false),
            ("a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT", true),
            ("a=1; Expires=Thu, 30 Feb 2023 00:00:00 GMT", true),
            ("a=1; Expires=Sun, 15 Jan 2023 08:00:60 GMT", true),
            ("a=1; Expires=not a date", true),
            (
                "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=9",
                true,
            ),
            (
                "a=1; Max-Age=0; Expires=Fri, 15 Jan 2100 00:00:00 GMT",
                false,
            ),
        ] {
            assert_eq!(goes(text, url, url), lives, "{text}");
        }
        let mut jar = CookieJar::default();
        set(&mut jar, url, "a=1; max-age=10");
        let (origin, path) = split(url);
        let later = now() + Duration::from_secs(10);
        assert_eq!(jar.header_text(None, &origin, &path, &[], later), None);
        assert!(jar.cookies.is_empty());
    }

    #[test]
    fn a_deletion_takes_only_the_cookie_of_its_domain_and_path() {
        let mut jar = CookieJar::default();
        let url = "http://a.h.test/x/y";
        set(&mut jar, url, "k=1; path=/");
        set(&mut jar, url, "k=2; path=/x");
        set(&mut jar, url, "k=3; path=/; domain=h.test");
        assert_eq!(sent(&mut jar, url), "k=2; k=1; k=3");
        set(&mut jar, url, "k=; path=/; max-age=0");
        assert_eq!(sent(&mut jar, url), "k=2; k=3");
        set(&mut jar, url, "k=4; path=/x");
        set(&mut jar, url, "j=5; path=/x");
        assert_eq!(sent(&mut jar, url), "k=4; j=5; k=3");
    }

    #[test]
    fn what_is_no_cookie_is_ignored() {
        let url = "http://h.test/";
        for text in ["", "a", "=1", " =1", "a=\u{1}b", ";a=1"] {
            assert!(!goes(text, url, url), "{text:?}");
        }
        assert!(!goes(
            &format!("a={}", "x".repeat(MAX_COOKIE_SIZE)),
            url,
            url
        ));
        let mut jar = CookieJar::default();
        set(&mut jar, url, " a = \"b=c\" ; unknown=1;;");
        assert_eq!(sent(&mut jar, url), "a=\"b=c\"");
        for i in 0..MAX_COOKIES {
            set(&mut jar, url, &format!("c{i}=1"));
        }
        assert_eq!(jar.cookies.len(), MAX_COOKIES);
        assert_eq!(jar.cookies[0].name, "c0");
    }

    proptest! {
        #[test]
        fn nothing_a_server_sets_breaks_the_jar_or_reaches_another_site(
            text in "[ -~\u{80}-\u{ff}]{0,60}",
            attribute in "(domain|path|expires|max-age|secure)=[ -:<-~]{0,30}",
        ) {
            let mut jar = CookieJar::default();
            for text in [text.clone(), format!("a=1; {attribute}"), format!("{text}; {attribute}")] {
                set(&mut jar, "http://api.shop.test/x/y", &text);
            }
            prop_assert_eq!(sent(&mut jar, "https://evil.test/x/y"), "");
            prop_assert_eq!(sent(&mut jar, "https://127.0.0.1/x/y"), "");
            let own = sent(&mut jar, "https://api.shop.test/x/y");
            prop_assert!(!own.contains(['\r', '\n', ';']) || own.contains("; "));
        }

        #[test]
        fn a_date_is_read_back(seconds in 0_i64..4_102_444_800) {
            let written = jiff::Timestamp::from_second(seconds).unwrap();
            let instant = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs());
            for format in ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%Y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y"] {
                let text = written.strftime(format).to_string();
                prop_assert_eq!(parse_cookie_date(&text), Some(instant), "{}", text);
            }
        }
    }
}

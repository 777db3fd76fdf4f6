//! URLs as curl reads them: with or without a scheme, with credentials and segments that lead back.

use super::super::source::{Mistake, Span};
use std::fmt::Write as _;

/// A user and a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserPassword {
    pub(super) user: Vec<u8>,
    pub(super) password: Vec<u8>,
}

/// A URL in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CurlUrl {
    /// `http://host:port`.
    pub(super) origin: String,
    /// The path, which begins with `/`.
    pub(super) path: Vec<u8>,
    /// The query, without its `?`.
    pub(super) query: Option<Vec<u8>>,
    pub(super) credentials: Option<UserPassword>,
}

impl CurlUrl {
    /// Reads a URL.
    pub(super) fn read(text: &[u8], keeps_dots: bool, span: &Span) -> Result<Self, Mistake> {
        let refuse = |words: &str| Mistake::new(span.clone(), words);
        let (scheme, rest) = split_scheme(text);
        if scheme != "http" && scheme != "https" {
            return Err(refuse(&format!(
                "only `http` and `https` can be load-tested, and this is `{}`",
                scheme.escape_debug()
            )));
        }
        let end = rest
            .iter()
            .position(|byte| matches!(byte, b'/' | b'?' | b'#'))
            .unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let at = authority.iter().rposition(|byte| *byte == b'@');
        let credentials = at.map(|at| split_credentials(&authority[..at]));
        let host = std::str::from_utf8(&authority[at.map_or(0, |at| at + 1)..])
            .map_err(|_| refuse("the host of this URL is no text"))?;
        if host.is_empty() {
            return Err(refuse("this URL has no host"));
        }
        let origin = url::Url::parse(&format!("{scheme}://{host}/")).ok();
        let is_plain =
            |letter: char| letter.is_ascii_graphic() && letter != '\\' || !letter.is_ascii();
        let origin = origin.filter(|_| host.chars().all(is_plain));
        let origin = origin.ok_or_else(|| refuse("this URL has a host or a port that is none"))?;
        let origin = origin.origin().ascii_serialization();
        let rest = rest.split(|byte| *byte == b'#').next().unwrap_or_default();
        let (path, query) = match rest.iter().position(|byte| *byte == b'?') {
            Some(at) => (&rest[..at], Some(rest[at + 1..].to_vec())),
            None => (rest, None),
        };
        if rest.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
            return Err(refuse("this URL has a blank or a control character in it")
                .help("write a blank as `%20`, and the URL within quotes"));
        }
        let mut path = if keeps_dots {
            path.to_vec()
        } else {
            remove_dots(path)
        };
        if !path.starts_with(b"/") {
            path.insert(0, b'/');
        }
        Ok(Self {
            origin,
            path,
            query,
            credentials,
        })
    }

    /// Adds to the query.
    pub(super) fn append(&mut self, query: &[u8]) {
        match &mut self.query {
            Some(there) if !there.is_empty() => {
                if !there.ends_with(b"&") {
                    there.push(b'&');
                }
                there.extend_from_slice(query);
            }
            empty => *empty = Some(query.to_vec()),
        }
    }

    /// Returns path and query as they are sent, with escapes for what no URL can hold (RFC 3986, section 2).
    pub(super) fn target(&self) -> String {
        let mut target = String::new();
        let query = self.query.iter().flat_map(|query| [b"?", &query[..]]);
        for part in std::iter::once(&self.path[..]).chain(query) {
            for byte in part {
                if byte.is_ascii() && !b"<>`\"".contains(byte) {
                    target.push(char::from(*byte));
                } else {
                    let _ = write!(target, "%{byte:02x}");
                }
            }
        }
        target
    }
}

/// Returns the scheme in lower case, and what follows `://`.
fn split_scheme(text: &[u8]) -> (String, &[u8]) {
    let at = text.windows(3).position(|window| window == b"://");
    let at = at.filter(|at| *at > 0).unwrap_or(0);
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    if at == 0 || !text[..at].iter().all(is_letter) {
        // As curl guesses.
        return ("http".to_owned(), text);
    }
    let scheme = String::from_utf8_lossy(&text[..at]).to_ascii_lowercase();
    (scheme, &text[at + 3..])
}

fn split_credentials(text: &[u8]) -> UserPassword {
    let mut parts = text.splitn(2, |byte| *byte == b':');
    let user = parts.next().unwrap_or_default();
    let password = parts.next().unwrap_or_default();
    UserPassword {
        user: percent_encoding::percent_decode(user).collect(),
        password: percent_encoding::percent_decode(password).collect(),
    }
}

/// Removes segments that stand for others (RFC 3986, section 5.2.4).
fn remove_dots(path: &[u8]) -> Vec<u8> {
    let is_dot = |segment: &[u8]| segment == b"." || segment.eq_ignore_ascii_case(b"%2e");
    let is_back = |segment: &[u8]| {
        [&b".."[..], b"%2e.", b".%2e", b"%2e%2e"]
            .iter()
            .any(|back| segment.eq_ignore_ascii_case(back))
    };
    let segments: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let mut kept: Vec<&[u8]> = Vec::new();
    for (i, segment) in segments.iter().enumerate() {
        let is_last = i + 1 == segments.len();
        if is_back(segment) {
            if kept.len() > 1 {
                kept.pop();
            }
        } else if !is_dot(segment) {
            kept.push(segment);
            continue;
        }
        if is_last {
            kept.push(b"");
        }
    }
    kept.join(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> String {
        match CurlUrl::read(url.as_bytes(), false, &(0..1)) {
            Ok(url) => format!("{} {}", url.origin, url.target()),
            Err(mistake) => mistake.words,
        }
    }

    #[test]
    fn urls_are_read_as_curl_reads_them() {
        for (url, read_as) in [
            ("h", "http://h /"),
            ("h:8080/a?b#c", "http://h:8080 /a?b"),
            ("HTTPS://H:443?x=1", "https://h /?x=1"),
            ("http://u:p@h/a@b", "http://h /a@b"),
            ("http://h/a/./b/../c", "http://h /a/c"),
            ("http://h/a/..", "http://h /"),
            ("http://h/../../a", "http://h /a"),
            ("http://[::1]:80/", "http://[::1] /"),
            ("http://h/ü?q=ü", "http://h /%c3%bc?q=%c3%bc"),
            ("http://h/a<b>`?q=\"<>", "http://h /a%3cb%3e%60?q=%22%3c%3e"),
            ("http://bücher.example/", "http://xn--bcher-kva.example /"),
            ("h/?u=http://x", "http://h /?u=http://x"),
        ] {
            assert_eq!(read(url), read_as, "{url}");
        }
        for (url, words) in [
            ("ftp://h/", "only `http`"),
            ("http:///a", "has no host"),
            ("http://h:99999/", "a host or a port"),
            ("http://h/a b", "a blank"),
        ] {
            assert!(read(url).contains(words), "{url}: {}", read(url));
        }
    }
}

//! The cookies of `-b`: text, or a file in the format of Netscape.

/// Returns the cookies of a file that go to a URL.
pub(super) fn cookies_for_url(
    file: &[u8],
    origin: &str,
    path: &[u8],
    now: u64,
    without_sessions: bool,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (scheme, authority) = origin.split_once("://").unwrap_or(("http", origin));
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let mut cookies: Vec<(usize, Vec<u8>, Vec<u8>)> = Vec::new();
    for line in file.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.strip_prefix(b"#HttpOnly_").unwrap_or(line);
        if line.starts_with(b"#") {
            continue;
        }
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
        let [domain, tail, cookie_path, secure, expires, name, rest @ ..] = fields.as_slice()
        else {
            continue;
        };
        let value = rest.first().copied().unwrap_or_default();
        let domain = domain.strip_prefix(b".").unwrap_or(domain);
        let domain = String::from_utf8_lossy(domain).to_ascii_lowercase();
        let is_tail = tail.eq_ignore_ascii_case(b"TRUE");
        let is_host = host == domain
            || is_tail
                && host
                    .strip_suffix(&*domain)
                    .is_some_and(|before| before.ends_with('.'));
        let is_path = path == *cookie_path
            || path.starts_with(cookie_path)
                && (cookie_path.ends_with(b"/") || path.get(cookie_path.len()) == Some(&b'/'));
        let is_secure = secure.eq_ignore_ascii_case(b"TRUE") && scheme != "https";
        let expires: u64 = std::str::from_utf8(expires)
            .ok()
            .and_then(|expires| expires.trim().parse().ok())
            .unwrap_or(0);
        let is_gone = expires == 0 && without_sessions || expires > 0 && expires <= now;
        if is_host && is_path && !is_secure && !is_gone && !name.is_empty() {
            cookies.retain(|(_, known, _)| known != name);
            cookies.push((cookie_path.len(), name.to_vec(), value.to_vec()));
        }
    }
    // The longest paths first (RFC 6265, section 5.4).
    cookies.sort_by_key(|(length, ..)| std::cmp::Reverse(*length));
    let cookies = cookies.into_iter().map(|(_, name, value)| (name, value));
    cookies.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_cookies_of_a_url_are_sent() {
        let file = b"# a comment\n\
            h.example\tFALSE\t/\tFALSE\t0\tsession\t1\n\
            .example\tTRUE\t/a\tFALSE\t2000\ttail\t2\n\
            #HttpOnly_h.example\tFALSE\t/\tFALSE\t2000\thidden\t3\n\
            h.example\tFALSE\t/\tTRUE\t0\tsecure\t4\n\
            h.example\tFALSE\t/\tFALSE\t999\told\t5\n\
            other.example\tFALSE\t/\tFALSE\t0\tother\t6\n\
            h.example\tFALSE\t/ab\tFALSE\t0\telsewhere\t7\n\
            nonsense\n";
        let names = |origin, without_sessions| -> Vec<String> {
            let cookies = cookies_for_url(file, origin, b"/a/b", 1000, without_sessions);
            let names = cookies.into_iter().map(|(name, _)| name);
            names.map(|name| String::from_utf8(name).unwrap()).collect()
        };
        assert_eq!(
            names("http://h.example:81", false),
            ["tail", "session", "hidden"]
        );
        assert_eq!(names("https://h.example", true), ["tail", "hidden"]);
        assert!(names("http://notexample", false).is_empty());
    }
}

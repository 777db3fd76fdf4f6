//! The cookies of `-b FILE`, in the format of Netscape.

use url::Url;

/// Returns the cookies of a file that go to a URL, as `name=value`.
pub(super) fn cookies_for_url(file: &str, url: &Url, now: i64) -> Vec<String> {
    let host = url.host_str().unwrap_or_default();
    let mut cookies = Vec::new();
    for line in file.lines() {
        let line = line.strip_prefix("#HttpOnly_").unwrap_or(line);
        let fields: Vec<&str> = line.split('\t').collect();
        let [domain, tail, path, secure, expires, name, value] = fields[..] else {
            continue;
        };
        let domain = domain.trim_start_matches('.').to_ascii_lowercase();
        let before = host
            .strip_suffix(&domain)
            .filter(|_| !line.starts_with('#'));
        let is_host = before.is_some_and(|before| {
            before.is_empty() || before.ends_with('.') && tail.eq_ignore_ascii_case("true")
        });
        let below = url.path().strip_prefix(path.trim_end_matches('/'));
        let is_path = below.is_some_and(|below| below.is_empty() || below.starts_with('/'));
        let is_hidden = secure.eq_ignore_ascii_case("true") && url.scheme() != "https";
        let expires: i64 = expires.parse().unwrap_or(0);
        if is_host && is_path && !is_hidden && (expires == 0 || expires > now) {
            cookies.push((path.len(), format!("{name}={value}")));
        }
    }
    // The longest paths first (RFC 6265, section 5.4).
    cookies.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    cookies.into_iter().map(|(_, cookie)| cookie).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_cookies_of_a_url_are_sent() {
        let file = "# a comment\n\
            h.example\tFALSE\t/\tFALSE\t0\tsession\t1\n\
            .example\tTRUE\t/a\tFALSE\t2000\ttail\t2\n\
            #HttpOnly_h.example\tFALSE\t/\tFALSE\t2000\thidden\t3\n\
            h.example\tFALSE\t/\tTRUE\t0\tsecure\t4\n\
            h.example\tFALSE\t/\tFALSE\t999\told\t5\n\
            other.example\tFALSE\t/\tFALSE\t0\tother\t6\n\
            h.example\tFALSE\t/ab\tFALSE\t0\telsewhere\t7\n\
            nonsense\n";
        for (url, cookies) in [
            ("http://h.example:81/a/b", "tail=2; session=1; hidden=3"),
            ("https://h.example/", "session=1; hidden=3; secure=4"),
            ("http://notexample/a/b", ""),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(cookies_for_url(file, &url, 1000).join("; "), cookies);
        }
    }
}

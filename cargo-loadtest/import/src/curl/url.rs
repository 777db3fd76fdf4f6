//! URLs as curl reads them: with or without a scheme.

use crate::source::{Mistake, Span};
use url::Url;

/// Returns the URLs that curl makes of one with a set: `/a` and `/b` of `/{a,b}`.
pub(super) fn expand_set(text: &str, span: &Span) -> Vec<(String, Span)> {
    let is_set = |set: &str| set.split(',').count() <= 100 && !set.split(',').any(str::is_empty);
    let found = text.split_once('{').and_then(|(before, rest)| {
        let (set, after) = rest.split_once('}')?;
        (!before.ends_with('\\') && is_set(set)).then_some((before, set, after))
    });
    let (before, set, after) = found.unwrap_or((text, "", ""));
    let urls = set.split(',').map(|one| format!("{before}{one}{after}"));
    urls.map(|url| (url, span.clone())).collect()
}

/// Reads a URL; `is_literal` says that braces and brackets are a part of it.
pub(super) fn parse_url(text: &str, is_literal: bool, span: &Span) -> Result<Url, Mistake> {
    let refuse = |words: &str| Mistake::new(span.clone(), words);
    if text.contains(|letter: char| letter <= ' ' || letter == '\x7f') {
        return Err(refuse("this URL has a blank or a control character in it")
            .help("write a blank as `%20`, and the URL within quotes"));
    }
    // `\[` is a bracket of the URL, `[` begins a range.
    let (mut url, mut bare) = (text.to_owned(), text.to_owned());
    for sign in ["{", "}", "[", "]"].iter().filter(|_| !is_literal) {
        let escaped = format!("\\{sign}");
        url = url.replace(&escaped, sign);
        bare = bare.replace(&escaped, "");
    }
    let address = bare.split_once("://").map_or(&*bare, |(_, rest)| rest);
    let path = address.find(['/', '?', '#']).unwrap_or(address.len());
    if !is_literal && (bare.contains(['{', '}']) || address[path..].contains(['[', ']'])) {
        let words = "curl reads brackets in a URL as a range, which is not imported, nor a second set in braces";
        let help = "write each URL itself; with `-g` braces and brackets are a part of the URL";
        return Err(refuse(words).help(help));
    }
    let text = url.as_str();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let parts = text.split_once("://");
    let parts = parts.filter(|(scheme, _)| !scheme.is_empty() && scheme.chars().all(is_letter));
    // As curl guesses.
    let (scheme, rest) = parts.unwrap_or(("http", text));
    let scheme = scheme.to_ascii_lowercase();
    if scheme != "http" && scheme != "https" {
        let words = format!("only `http` and `https` can be tested, and this is `{scheme}`");
        return Err(refuse(&words));
    }
    if rest.is_empty() || rest.starts_with(['/', '?', '#']) {
        return Err(refuse("this URL has no host"));
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let url = Url::parse(&format!("{scheme}://{}", rest.replace('\\', "%5C")));
    url.ok()
        .filter(|_| !host.contains('\\'))
        .ok_or_else(|| refuse("this URL has an invalid host or port"))
}

/// Adds to the query of a URL.
pub(super) fn append_query(url: &mut Url, query: &str) {
    let query = match url.query() {
        Some(there) if there.is_empty() || there.ends_with('&') => format!("{there}{query}"),
        Some(there) => format!("{there}&{query}"),
        None => query.to_owned(),
    };
    url.set_query(Some(&query));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match parse_url(text, false, &(0..1)) {
            Ok(url) => url.to_string(),
            Err(mistake) => mistake.words,
        }
    }

    #[test]
    fn urls_are_read_as_curl_reads_them() {
        for (url, read_as) in [
            ("h", "http://h/"),
            ("h:8080/a?b", "http://h:8080/a?b"),
            ("HTTPS://H:443?x=1", "https://h/?x=1"),
            ("http://h/a/./b/../c", "http://h/a/c"),
            ("http://h/../../a", "http://h/a"),
            ("http://[::1]:80/", "http://[::1]/"),
            ("http://h/ü?q=ü", "http://h/%C3%BC?q=%C3%BC"),
            ("http://h/a\\b", "http://h/a%5Cb"),
            (r"h/\[1\]?\{x\}", "http://h/[1]?{x}"),
            ("http://bücher.example/", "http://xn--bcher-kva.example/"),
            ("h/?u=http://x", "http://h/?u=http://x"),
        ] {
            assert_eq!(read(url), read_as, "{url}");
        }
        for (url, words) in [
            ("ftp://h/", "only `http`"),
            ("http:///a", "has no host"),
            ("http://h:99999/", "an invalid host or port"),
            ("http://h\\x/", "an invalid host or port"),
            ("http://h/a b", "a blank"),
            ("h/[1-3]", "a range"),
            ("h/{a,b}", "a range"),
            ("h/?a[]=1", "a range"),
        ] {
            assert!(read(url).contains(words), "{url}: {}", read(url));
        }
        for (url, urls) in [
            ("h/{a,b}?x", &["h/a?x", "h/b?x"][..]),
            ("h/{a}", &["h/a"]),
            ("h/{,b}", &["h/{,b}"]),
            (r"h/\{a,b\}", &[r"h/\{a,b\}"]),
        ] {
            let expanded = expand_set(url, &(0..1));
            let expanded: Vec<_> = expanded.iter().map(|(url, _)| url.as_str()).collect();
            assert_eq!(expanded, urls);
        }
        let literal = parse_url("h/?a[]={b}", true, &(0..1)).unwrap();
        assert_eq!(literal.as_str(), "http://h/?a[]={b}");
    }
}

//! All options of curl, those of its newer versions included: whether they take a value, and what becomes of them.

use crate::suggestion::find_similar;

/// An option of curl.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The letter, where there is one.
    short: char,
    /// The name.
    pub(super) long: &'static str,
    /// Whether the next word is its value.
    pub(super) takes_value: bool,
    /// What becomes of it.
    pub(super) effect: Effect,
}

/// What becomes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The request is as it says.
    Honoured,
    /// It is about what curl shows or keeps, and makes no other request.
    Quiet,
    /// It is not honoured, and what happens instead is told.
    Told(&'static str),
    /// Without it the requests would be others, so nothing is read.
    Refused(&'static str),
}

use Effect::{Honoured, Quiet, Refused, Told};

const fn flag(short: char, long: &'static str, effect: Effect) -> Known {
    Known {
        short,
        long,
        takes_value: false,
        effect,
    }
}

const fn value(short: char, long: &'static str, effect: Effect) -> Known {
    Known {
        short,
        long,
        takes_value: true,
        effect,
    }
}

/// The option of a letter.
pub(super) fn short(letter: char) -> Option<&'static Known> {
    OPTIONS
        .iter()
        .find(|known| known.short == letter && letter != '\0')
}

/// The option of a name, or of the beginning of one name only, and whether it is switched on.
pub(super) fn long(name: &str) -> Option<(&'static Known, bool)> {
    if let Some(known) = OPTIONS.iter().find(|known| known.long == name) {
        return Some((known, true));
    }
    let off = name.strip_prefix("no-");
    if let Some(off) = off
        && let Some(known) = OPTIONS.iter().find(|known| known.long == off)
        && !known.takes_value
    {
        return Some((known, false));
    }
    let mut begun = OPTIONS.iter().filter(|known| known.long.starts_with(name));
    match (begun.next(), begun.next()) {
        (Some(known), None) if !name.is_empty() => Some((known, true)),
        _ => None,
    }
}

/// The option that a misspelt name is likely to mean.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    find_similar(name, OPTIONS.iter().map(|known| known.long))
}

#[rustfmt::skip]
static OPTIONS: &[Known] = &[
    value('\0', "abstract-unix-socket", Told("the requests go to the host of the URL, not to a socket")),
    flag('\0', "alpn", Quiet),
    value('\0', "alt-svc", Quiet),
    flag('\0', "anyauth", Told("the credentials are sent at once, as basic ones")),
    flag('a', "append", Quiet),
    value('\0', "aws-sigv4", Told("requests are not signed")),
    flag('\0', "basic", Honoured),
    flag('N', "buffer", Quiet),
    flag('\0', "ca-native", Quiet),
    value('\0', "cacert", Honoured),
    value('\0', "capath", Quiet),
    value('E', "cert", Honoured),
    flag('\0', "cert-status", Quiet),
    value('\0', "cert-type", Quiet),
    value('\0', "ciphers", Quiet),
    flag('\0', "clobber", Quiet),
    flag('\0', "compressed", Honoured),
    flag('\0', "compressed-ssh", Quiet),
    value('K', "config", Refused("options are not read from a file")),
    value('\0', "connect-timeout", Quiet),
    value('\0', "connect-to", Told("the requests go to the host of the URL")),
    value('C', "continue-at", Told("the transfer begins at the start")),
    value('b', "cookie", Honoured),
    value('c', "cookie-jar", Honoured),
    flag('\0', "create-dirs", Quiet),
    value('\0', "create-file-mode", Quiet),
    flag('\0', "crlf", Told("line ends stay as they are")),
    value('\0', "crlfile", Quiet),
    value('\0', "curves", Quiet),
    value('d', "data", Honoured),
    value('\0', "data-ascii", Honoured),
    value('\0', "data-binary", Honoured),
    value('\0', "data-raw", Honoured),
    value('\0', "data-urlencode", Honoured),
    value('\0', "delegation", Quiet),
    flag('\0', "digest", Told("a digest is made for each answer, so no credentials are sent")),
    flag('q', "disable", Quiet),
    flag('\0', "disable-eprt", Quiet),
    flag('\0', "disable-epsv", Quiet),
    flag('\0', "disallow-username-in-url", Quiet),
    value('\0', "dns-interface", Quiet),
    value('\0', "dns-ipv4-addr", Quiet),
    value('\0', "dns-ipv6-addr", Quiet),
    value('\0', "dns-servers", Quiet),
    flag('\0', "doh-cert-status", Quiet),
    flag('\0', "doh-insecure", Quiet),
    value('\0', "doh-url", Quiet),
    flag('\0', "dump-ca-embed", Quiet),
    value('D', "dump-header", Quiet),
    value('\0', "ech", Quiet),
    value('\0', "egd-file", Quiet),
    value('\0', "engine", Quiet),
    flag('\0', "eprt", Quiet),
    flag('\0', "epsv", Quiet),
    value('\0', "etag-compare", Told("no file with an ETag is read")),
    value('\0', "etag-save", Quiet),
    value('\0', "expect100-timeout", Honoured),
    flag('f', "fail", Quiet),
    flag('\0', "fail-early", Quiet),
    flag('\0', "fail-with-body", Quiet),
    flag('\0', "false-start", Quiet),
    flag('\0', "follow", Quiet),
    value('F', "form", Honoured),
    flag('\0', "form-escape", Honoured),
    value('\0', "form-string", Honoured),
    value('\0', "ftp-account", Quiet),
    value('\0', "ftp-alternative-to-user", Quiet),
    flag('\0', "ftp-create-dirs", Quiet),
    value('\0', "ftp-method", Quiet),
    flag('\0', "ftp-pasv", Quiet),
    value('P', "ftp-port", Quiet),
    flag('\0', "ftp-pret", Quiet),
    flag('\0', "ftp-skip-pasv-ip", Quiet),
    flag('\0', "ftp-ssl-ccc", Quiet),
    value('\0', "ftp-ssl-ccc-mode", Quiet),
    flag('\0', "ftp-ssl-control", Quiet),
    flag('G', "get", Honoured),
    flag('g', "globoff", Honoured),
    value('\0', "happy-eyeballs-timeout-ms", Quiet),
    value('\0', "haproxy-clientip", Told("no PROXY header is sent")),
    flag('\0', "haproxy-protocol", Told("no PROXY header is sent")),
    flag('I', "head", Honoured),
    value('H', "header", Honoured),
    flag('h', "help", Quiet),
    value('\0', "hostpubmd5", Quiet),
    value('\0', "hostpubsha256", Quiet),
    value('\0', "hsts", Quiet),
    flag('\0', "http0.9", Quiet),
    flag('0', "http1.0", Told("HTTP/1.1 is spoken")),
    flag('\0', "http1.1", Honoured),
    flag('\0', "http2", Honoured),
    flag('\0', "http2-prior-knowledge", Honoured),
    flag('\0', "http3", Told("HTTP/3 is not spoken")),
    flag('\0', "http3-only", Told("HTTP/3 is not spoken")),
    flag('\0', "ignore-content-length", Quiet),
    flag('i', "include", Quiet),
    flag('k', "insecure", Honoured),
    value('\0', "interface", Quiet),
    value('\0', "ip-tos", Quiet),
    value('\0', "ipfs-gateway", Quiet),
    flag('4', "ipv4", Quiet),
    flag('6', "ipv6", Quiet),
    value('\0', "json", Honoured),
    flag('j', "junk-session-cookies", Quiet),
    flag('\0', "keepalive", Quiet),
    value('\0', "keepalive-cnt", Quiet),
    value('\0', "keepalive-time", Quiet),
    value('\0', "key", Told("the key has to be in the file of `--cert`")),
    value('\0', "key-type", Quiet),
    value('\0', "knownhosts", Quiet),
    value('\0', "krb", Quiet),
    value('\0', "libcurl", Quiet),
    value('\0', "limit-rate", Told("the speed of a transfer is not limited")),
    flag('l', "list-only", Quiet),
    value('\0', "local-port", Quiet),
    flag('L', "location", Honoured),
    flag('\0', "location-trusted", Honoured),
    value('\0', "login-options", Told("only basic credentials are sent")),
    value('\0', "mail-auth", Quiet),
    value('\0', "mail-from", Quiet),
    value('\0', "mail-rcpt", Quiet),
    flag('\0', "mail-rcpt-allowfails", Quiet),
    flag('M', "manual", Quiet),
    value('\0', "max-filesize", Quiet),
    value('\0', "max-redirs", Honoured),
    value('m', "max-time", Honoured),
    flag('\0', "metalink", Quiet),
    flag('\0', "mptcp", Quiet),
    flag('\0', "negotiate", Told("Negotiate is not spoken, so no credentials are sent")),
    flag('n', "netrc", Told("no file with credentials is read")),
    value('\0', "netrc-file", Told("no file with credentials is read")),
    flag('\0', "netrc-optional", Told("no file with credentials is read")),
    flag(':', "next", Honoured),
    value('\0', "noproxy", Quiet),
    flag('\0', "npn", Quiet),
    flag('\0', "ntlm", Told("NTLM is not spoken, so no credentials are sent")),
    flag('\0', "ntlm-wb", Told("NTLM is not spoken, so no credentials are sent")),
    value('\0', "oauth2-bearer", Honoured),
    flag('\0', "out-null", Quiet),
    value('o', "output", Quiet),
    value('\0', "output-dir", Quiet),
    flag('Z', "parallel", Quiet),
    flag('\0', "parallel-immediate", Quiet),
    value('\0', "parallel-max", Quiet),
    value('\0', "parallel-max-host", Quiet),
    value('\0', "pass", Told("a key with a passphrase cannot be read")),
    flag('\0', "path-as-is", Honoured),
    value('\0', "pinnedpubkey", Told("the public key is not compared")),
    flag('\0', "post301", Quiet),
    flag('\0', "post302", Quiet),
    flag('\0', "post303", Quiet),
    value('\0', "preproxy", Told("the requests are sent directly, through no proxy")),
    flag('#', "progress-bar", Quiet),
    flag('\0', "progress-meter", Quiet),
    value('\0', "proto", Quiet),
    value('\0', "proto-default", Told("a URL without a scheme is one of `http`")),
    value('\0', "proto-redir", Quiet),
    value('x', "proxy", Told("the requests are sent directly, through no proxy")),
    flag('\0', "proxy-anyauth", Told("the requests are sent directly, through no proxy")),
    flag('\0', "proxy-basic", Told("the requests are sent directly, through no proxy")),
    flag('\0', "proxy-ca-native", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-cacert", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-capath", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-cert", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-cert-type", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-ciphers", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-crlfile", Told("the requests are sent directly, through no proxy")),
    flag('\0', "proxy-digest", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-header", Told("the requests are sent directly, through no proxy")),
    flag('\0', "proxy-http2", Told("the requests are sent directly, through no proxy")),
    flag('\0', "proxy-insecure", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-key", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-key-type", Told("the requests are sent directly, through no proxy")),
    flag('\0', "proxy-negotiate", Told("the requests are sent directly, through no proxy")),
    flag('\0', "proxy-ntlm", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-pass", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-pinnedpubkey", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-service-name", Told("the requests are sent directly, through no proxy")),
    flag('\0', "proxy-ssl-allow-beast", Told("the requests are sent directly, through no proxy")),
    flag('\0', "proxy-ssl-auto-client-cert", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-tls13-ciphers", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-tlsauthtype", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-tlspassword", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy-tlsuser", Told("the requests are sent directly, through no proxy")),
    flag('\0', "proxy-tlsv1", Told("the requests are sent directly, through no proxy")),
    value('U', "proxy-user", Told("the requests are sent directly, through no proxy")),
    value('\0', "proxy1.0", Told("the requests are sent directly, through no proxy")),
    flag('p', "proxytunnel", Told("the requests are sent directly, through no proxy")),
    value('\0', "pubkey", Quiet),
    value('Q', "quote", Quiet),
    value('\0', "random-file", Quiet),
    value('r', "range", Honoured),
    value('\0', "rate", Told("it paces curl alone; the rate of a load test stands before `--`")),
    flag('\0', "raw", Quiet),
    value('e', "referer", Honoured),
    flag('J', "remote-header-name", Quiet),
    flag('O', "remote-name", Quiet),
    flag('\0', "remote-name-all", Quiet),
    flag('R', "remote-time", Quiet),
    flag('\0', "remove-on-error", Quiet),
    value('X', "request", Honoured),
    value('\0', "request-target", Told("the path of the URL is sent")),
    value('\0', "resolve", Told("names are looked up as the system does")),
    value('\0', "retry", Told("requests are not sent again after a failure")),
    flag('\0', "retry-all-errors", Quiet),
    flag('\0', "retry-connrefused", Quiet),
    value('\0', "retry-delay", Quiet),
    value('\0', "retry-max-time", Quiet),
    value('\0', "sasl-authzid", Quiet),
    flag('\0', "sasl-ir", Quiet),
    value('\0', "service-name", Told("it has no effect here")),
    flag('\0', "sessionid", Quiet),
    flag('S', "show-error", Quiet),
    value('\0', "sigalgs", Quiet),
    value('\0', "signature-algorithms", Quiet),
    flag('s', "silent", Quiet),
    flag('\0', "skip-existing", Quiet),
    value('\0', "socks4", Told("the requests are sent directly, through no proxy")),
    value('\0', "socks4a", Told("the requests are sent directly, through no proxy")),
    value('\0', "socks5", Told("the requests are sent directly, through no proxy")),
    flag('\0', "socks5-basic", Told("the requests are sent directly, through no proxy")),
    flag('\0', "socks5-gssapi", Told("the requests are sent directly, through no proxy")),
    flag('\0', "socks5-gssapi-nec", Told("the requests are sent directly, through no proxy")),
    value('\0', "socks5-gssapi-service", Told("the requests are sent directly, through no proxy")),
    value('\0', "socks5-hostname", Told("the requests are sent directly, through no proxy")),
    value('Y', "speed-limit", Quiet),
    value('y', "speed-time", Quiet),
    flag('\0', "ssl", Quiet),
    flag('\0', "ssl-allow-beast", Quiet),
    flag('\0', "ssl-auto-client-cert", Quiet),
    flag('\0', "ssl-no-revoke", Quiet),
    flag('\0', "ssl-reqd", Quiet),
    flag('\0', "ssl-revoke-best-effort", Quiet),
    flag('2', "sslv2", Quiet),
    flag('3', "sslv3", Quiet),
    value('\0', "stderr", Quiet),
    flag('\0', "styled-output", Quiet),
    flag('\0', "suppress-connect-headers", Quiet),
    flag('\0', "tcp-fastopen", Quiet),
    flag('\0', "tcp-nodelay", Quiet),
    value('t', "telnet-option", Quiet),
    value('\0', "tftp-blksize", Quiet),
    flag('\0', "tftp-no-options", Quiet),
    value('z', "time-cond", Told("no condition on the time is sent")),
    flag('\0', "tls-earlydata", Quiet),
    value('\0', "tls-max", Quiet),
    value('\0', "tls13-ciphers", Quiet),
    value('\0', "tlsauthtype", Told("it has no effect here")),
    value('\0', "tlspassword", Told("it has no effect here")),
    value('\0', "tlsuser", Told("it has no effect here")),
    flag('1', "tlsv1", Quiet),
    flag('\0', "tlsv1.0", Quiet),
    flag('\0', "tlsv1.1", Quiet),
    flag('\0', "tlsv1.2", Quiet),
    flag('\0', "tlsv1.3", Quiet),
    flag('\0', "tr-encoding", Told("no compression of the transfer is asked for")),
    value('\0', "trace", Quiet),
    value('\0', "trace-ascii", Quiet),
    value('\0', "trace-config", Quiet),
    flag('\0', "trace-ids", Quiet),
    flag('\0', "trace-time", Quiet),
    value('\0', "unix-socket", Told("the requests go to the host of the URL, not to a socket")),
    value('T', "upload-file", Honoured),
    value('\0', "upload-flags", Quiet),
    value('\0', "url", Honoured),
    value('\0', "url-query", Honoured),
    flag('B', "use-ascii", Quiet),
    value('u', "user", Honoured),
    value('A', "user-agent", Honoured),
    value('\0', "variable", Refused("variables of curl are not supported")),
    flag('v', "verbose", Quiet),
    flag('V', "version", Quiet),
    value('\0', "vlan-priority", Quiet),
    value('w', "write-out", Quiet),
    flag('\0', "xattr", Quiet),];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_letters_and_beginnings_are_found() {
        assert_eq!(short('H').unwrap().long, "header");
        assert_eq!(short('\0'), None);
        let found = |name| long(name).map(|(known, on)| (known.long, on));
        assert_eq!(found("data-raw"), Some(("data-raw", true)));
        assert_eq!(found("no-location"), Some(("location", false)));
        assert_eq!(found("data-ra"), Some(("data-raw", true)));
        assert_eq!(found("no-header"), None);
        assert_eq!(found("dat"), None);
        assert_eq!(meant("data-row"), Some("data-raw"));
    }

    #[test]
    fn no_name_and_no_letter_stands_for_two() {
        for (i, known) in OPTIONS.iter().enumerate() {
            for other in &OPTIONS[..i] {
                assert_ne!(known.long, other.long);
                assert!(
                    known.short != other.short || known.short == '\0',
                    "{known:?}"
                );
            }
        }
    }
}

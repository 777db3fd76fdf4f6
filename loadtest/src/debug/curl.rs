//! Writes a request as a curl command that sends the same bytes. Secrets become shell variables.

use super::secret_names::{self, SecretNames};
use super::shell::{ShellPiece, is_printable, printf_command, shell_word};
use crate::redact::{self, TextPart};
use crate::transport::Hop;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderName,
};
use http::{Method, Version};
use loadtest_model::definition::Client;
use loadtest_model::protocol::CurlCommand;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The longest body that is an argument; systems allow 128 KiB.
const MAX_ARGUMENT_BODY: usize = 100_000;
/// From this length on, curl asks before it sends a body.
const EXPECT_CONTINUE_FROM: usize = 1024;

/// The TLS options of a curl command.
#[derive(Debug, Default)]
pub(crate) struct CurlTls {
    insecure: bool,
    ca: Option<PathBuf>,
    identity: Option<PathBuf>,
}

impl CurlTls {
    /// Takes the options of a client; its files are relative to `root`.
    pub(crate) fn from_client(client: &Client, root: &Path) -> Self {
        let file = |path: &Option<Cow<'_, str>>| path.as_ref().map(|path| root.join(&**path));
        Self {
            insecure: client.insecure,
            ca: file(&client.ca),
            identity: file(&client.identity),
        }
    }
}

/// The command for the request of `hop`; of an answer that goes on it shows all as it comes.
pub(super) fn curl_command(
    hop: &Hop,
    stays_open: bool,
    tls: &CurlTls,
    vault: &mut SecretNames,
) -> CurlCommand {
    let name = if stays_open { "curl -N" } else { "curl" };
    let mut writing = CurlWriter {
        vault,
        variables: Vec::new(),
        words: vec![name.to_owned()],
    };
    let input = writing.write_request(hop, tls);
    let options = writing.words.join(" ");
    let mut command = match &input {
        Some(printer) => format!("{printer} | {options}"),
        None => options,
    };
    for line in writing.argument_lines(hop, input.is_some()) {
        command.push_str(" \\\n  ");
        command.push_str(&line);
    }
    CurlCommand {
        variables: writing.variables,
        command,
    }
}

/// A command that is being written.
struct CurlWriter<'a> {
    vault: &'a mut SecretNames,
    variables: Vec<(String, String)>,
    words: Vec<String>,
}

impl CurlWriter<'_> {
    /// The words before the headers; what prints the body, where it can be no argument.
    fn write_request(&mut self, hop: &Hop, tls: &CurlTls) -> Option<String> {
        let is_https = hop.url.starts_with("https:");
        let mut flag = |is_wanted: bool, flag: &str| {
            if is_wanted {
                self.words.push(flag.to_owned());
            }
        };
        flag(hop.version == Version::HTTP_2 && is_https, "--http2");
        flag(
            hop.version == Version::HTTP_2 && !is_https,
            "--http2-prior-knowledge",
        );
        flag(hop.version == Version::HTTP_3, "--http3");
        flag(hop.version == Version::HTTP_11 && is_https, "--http1.1");
        flag(is_https && tls.insecure, "--insecure");
        flag(hop.url.contains(['[', ']', '{', '}']), "--globoff");
        flag(hop.url.contains("/."), "--path-as-is");
        let files = [("--cacert", &tls.ca), ("--cert", &tls.identity)];
        for (flag, path) in files {
            if let (true, Some(path)) = (is_https, path) {
                let path = path.to_string_lossy().into_owned().into_bytes();
                self.words.push(flag.to_owned());
                self.words.push(shell_word(&[ShellPiece::Plain(path)]));
            }
        }
        let implied = if sends_data(hop) {
            Method::POST
        } else {
            Method::GET
        };
        if hop.method == Method::HEAD && hop.body.is_empty() {
            self.words.push("--head".to_owned());
        } else if hop.method != implied {
            self.words.push("-X".to_owned());
            self.words
                .push(shell_word(&[ShellPiece::Plain(hop.method.as_str().into())]));
        }
        let url = ByteText::from_bytes(hop.url.as_bytes());
        let url = self.word_pieces(&url, redact::split_secrets, "in the URL");
        self.words.push(shell_word(&url));
        let is_argument = hop.body.len() <= MAX_ARGUMENT_BODY && is_printable(&hop.body);
        (!is_argument).then(|| printf_command(&self.body_pieces(hop)))
    }

    fn body_pieces(&mut self, hop: &Hop) -> Vec<ShellPiece> {
        self.word_pieces(
            &ByteText::from_bytes(&hop.body),
            redact::split_secrets,
            "in the body",
        )
    }

    /// A line for each header, and one for the body.
    fn argument_lines(&mut self, hop: &Hop, is_piped: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let mut header = |header: &[ShellPiece]| lines.push(format!("-H {}", shell_word(header)));
        let has = |name: &HeaderName| hop.headers.contains_key(name);
        for (name, value) in &hop.headers {
            if is_implied(name, value.as_bytes(), hop) {
                continue;
            }
            if value.is_empty() {
                header(&[ShellPiece::Plain(format!("{name};").into())]);
                continue;
            }
            let mut pieces = vec![ShellPiece::Plain(format!("{name}: ").into())];
            let letters = ByteText::from_bytes(value.as_bytes());
            let parts =
                |text| secret_names::split_header(name.as_str(), text, value.is_sensitive());
            pieces.extend(self.word_pieces(&letters, parts, &format!("the header {name}")));
            header(&pieces);
        }
        // What curl would add.
        let unwanted = [
            (CONTENT_TYPE, sends_data(hop)),
            (EXPECT, hop.body.len() >= EXPECT_CONTINUE_FROM),
        ];
        for (name, is_added) in unwanted {
            if is_added && !has(&name) {
                header(&[ShellPiece::Plain(format!("{name}:").into())]);
            }
        }
        if has(&ACCEPT_ENCODING) {
            lines.push("--compressed".to_owned());
        }
        if is_piped {
            lines.push("--data-binary @-".to_owned());
        } else if sends_data(hop) {
            lines.push(format!("--data-raw {}", shell_word(&self.body_pieces(hop))));
        }
        lines
    }

    /// The letters as a shell has them; `what` says what their secrets are.
    fn word_pieces<'a>(
        &mut self,
        letters: &'a ByteText<'_>,
        parts: impl Fn(&'a str) -> Vec<TextPart<'a>>,
        what: &str,
    ) -> Vec<ShellPiece> {
        parts(&letters.text)
            .iter()
            .map(|part| match part {
                TextPart::Plain(text) => ShellPiece::Plain(letters.to_bytes(text)),
                TextPart::Secret { name, value } => {
                    ShellPiece::Variable(self.name_variable(name, value, what))
                }
            })
            .collect()
    }

    fn name_variable(&mut self, name: &str, value: &str, what: &str) -> String {
        if let Some((variable, words)) = self.vault.scenario_secret(value, what) {
            if !self.variables.iter().any(|(known, _)| *known == variable) {
                self.variables.push((variable.clone(), words));
            }
            return variable;
        }
        let variable = self.vault.name_variable(name, value);
        if !self.variables.iter().any(|(known, _)| *known == variable) {
            let mut words = if what.starts_with("in ") {
                format!("{} {what}", secret_names::comment_word(name))
            } else {
                what.to_owned()
            };
            if let Some(origin) = self.vault.origin_of(value) {
                words = format!("{words}, which is {origin}");
            }
            self.variables.push((variable.clone(), words));
        }
        variable
    }
}

/// Returns whether the command has a body, even an empty one.
fn sends_data(hop: &Hop) -> bool {
    let is_empty = hop.headers.get(CONTENT_LENGTH);
    !hop.body.is_empty() || is_empty.is_some_and(|length| length == "0")
}

/// Returns whether curl sends this header by itself.
fn is_implied(name: &HeaderName, value: &[u8], hop: &Hop) -> bool {
    match *name {
        CONTENT_LENGTH => true,
        ACCEPT => value == b"*/*" && hop.headers.get_all(ACCEPT).iter().count() == 1,
        HOST => {
            let rest = hop.url.split_once("://").map_or("", |(_, rest)| rest);
            rest.split(['/', '?']).next().map(str::as_bytes) == Some(value)
        }
        _ => false,
    }
}

/// Bytes as text, in which secrets can be looked for. Where they are none, each byte is a letter.
struct ByteText<'a> {
    text: Cow<'a, str>,
    is_text: bool,
}

impl<'a> ByteText<'a> {
    fn from_bytes(bytes: &'a [u8]) -> Self {
        let text = std::str::from_utf8(bytes);
        Self {
            is_text: text.is_ok(),
            text: text.map_or_else(
                |_| bytes.iter().map(|byte| char::from(*byte)).collect(),
                Cow::from,
            ),
        }
    }

    /// The bytes of a part.
    fn to_bytes(&self, part: &str) -> Vec<u8> {
        if self.is_text {
            part.into()
        } else {
            part.chars().map(|letter| letter as u8).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue};

    fn hop(method: Method, url: &str, headers: &[(&'static str, &str)], body: &[u8]) -> Hop {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        Hop {
            method,
            url: url.to_owned(),
            version: Version::HTTP_11,
            headers: map,
            body: body.to_vec().into(),
            answer: None,
        }
    }

    fn curl(hop: &Hop) -> CurlCommand {
        curl_command(hop, false, &CurlTls::default(), &mut SecretNames::default())
    }

    #[test]
    fn what_curl_does_by_itself_is_left_out() {
        let headers = [("host", "127.0.0.1:80"), ("accept", "*/*"), ("x-a", "b")];
        let plain = hop(Method::GET, "http://127.0.0.1:80/a?b=1", &headers, b"");
        assert_eq!(
            curl(&plain).command,
            "curl 'http://127.0.0.1:80/a?b=1' \\\n  -H 'x-a: b'"
        );
        let headers = [("host", "other"), ("content-length", "0")];
        let empty = hop(Method::PATCH, "http://127.0.0.1/{a}/./b", &headers, b"");
        assert_eq!(
            curl(&empty).command,
            "curl --globoff --path-as-is -X 'PATCH' 'http://127.0.0.1/{a}/./b' \\\n  \
             -H 'host: other' \\\n  -H 'content-type:' \\\n  --data-raw ''"
        );
    }

    #[test]
    fn a_stream_is_shown_as_it_comes() {
        let request = hop(Method::GET, "http://127.0.0.1/", &[], b"");
        let command = curl_command(
            &request,
            true,
            &CurlTls::default(),
            &mut SecretNames::default(),
        );
        assert!(command.command.starts_with("curl -N 'http://127.0.0.1/'"));
    }

    #[test]
    fn secrets_are_variables_and_told_in_words() {
        let headers = [("authorization", "Bearer hunter2"), ("cookie", "a=hunter3")];
        let body = br#"{"password":"hunter2"}"#;
        let url = "http://127.0.0.1/a?token=hunter4";
        let curl = curl(&hop(Method::POST, url, &headers, body));
        assert!(!curl.command.contains("hunter"), "{}", curl.command);
        for part in [
            r#"'http://127.0.0.1/a?token='"$TOKEN""#,
            r#"-H 'authorization: Bearer '"$AUTHORIZATION""#,
            r#"-H 'cookie: '"$COOKIE""#,
            r#"--data-raw '{"password":"'"$PASSWORD"'"}'"#,
        ] {
            assert!(curl.command.contains(part), "{part}: {}", curl.command);
        }
        let words: Vec<_> = curl
            .variables
            .iter()
            .map(|(name, what)| format!("{name}: {what}"))
            .collect();
        assert_eq!(
            words,
            [
                "TOKEN: token in the URL",
                "AUTHORIZATION: the header authorization",
                "COOKIE: the header cookie",
                "PASSWORD: password in the body",
            ]
        );
    }

    #[test]
    fn a_body_that_no_argument_holds_is_printed_into_curl() {
        let url = "http://127.0.0.1/";
        let binary = hop(Method::PUT, url, &[], b"a\x00\xff%");
        assert_eq!(
            curl(&binary).command,
            "printf 'a\\000\\377%%' | curl -X 'PUT' 'http://127.0.0.1/' \\\n  \
             -H 'content-type:' \\\n  --data-binary @-"
        );
        let large = hop(Method::POST, url, &[], &vec![b'a'; MAX_ARGUMENT_BODY + 1]);
        let command = curl(&large).command;
        assert!(command.starts_with("printf 'aaa"), "{}", &command[..20]);
        assert!(command.contains("-H 'expect:'"));
    }

    #[test]
    fn tls_is_set_up_as_for_the_scenario() {
        let client = Client {
            insecure: true,
            ca: Some("ca.pem".into()),
            identity: Some("it's.pem".into()),
            ..Client::DEFAULT
        };
        let tls = CurlTls::from_client(&client, Path::new("/p"));
        let mut request = hop(Method::HEAD, "https://localhost/", &[], b"");
        request.version = Version::HTTP_2;
        let secure = curl_command(&request, false, &tls, &mut SecretNames::default()).command;
        assert_eq!(
            secure,
            r"curl --http2 --insecure --cacert '/p/ca.pem' --cert '/p/it'\''s.pem' --head 'https://localhost/'"
        );
        request.version = Version::HTTP_3;
        let quic = curl_command(
            &request,
            false,
            &CurlTls::default(),
            &mut SecretNames::default(),
        );
        assert_eq!(quic.command, "curl --http3 --head 'https://localhost/'");
        request.version = Version::HTTP_2;
        request.url = "http://localhost/".to_owned();
        let clear = curl_command(&request, false, &tls, &mut SecretNames::default()).command;
        assert_eq!(
            clear,
            "curl --http2-prior-knowledge --head 'http://localhost/'"
        );
    }
}

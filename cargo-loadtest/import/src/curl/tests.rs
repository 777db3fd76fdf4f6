use super::*;
use crate::recording::{
    BOUNDARY, Body, Exchange, Http, Piece, Text, encode_basic, encode_multipart,
};
use crate::source::Note;
use proptest::prelude::*;
use serde::Deserialize;

/// Forms of commands, and what curl sent for each.
#[derive(Deserialize)]
struct Forms {
    files: std::collections::BTreeMap<String, String>,
    env: std::collections::BTreeMap<String, String>,
    #[serde(rename = "forms")]
    all: Vec<Form>,
}

#[derive(Deserialize)]
struct Form {
    name: String,
    cmd: String,
    requests: Vec<Sent>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Sent {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: String,
}

fn read(text: &str, files: &PermittedFiles) -> Result<Recording, Mistake> {
    let input = Input::new("copied", text.to_owned());
    let mut lookup = |name: &str| (name == "TOKEN").then(|| "tok123".to_owned());
    read_text(&input, files, Some(&mut lookup), None)
}

fn no_files() -> PermittedFiles {
    PermittedFiles {
        folder: std::path::PathBuf::new(),
        are_permitted: false,
    }
}

fn one(text: &str) -> Exchange {
    let read = read(text, &no_files());
    let mut read = read.unwrap_or_else(|mistake| panic!("{text}: {mistake:?}"));
    assert_eq!(read.exchanges.len(), 1, "{text}");
    read.exchanges.remove(0)
}

/// The bytes of a text, with the value of the only variable.
fn fill(text: &Text) -> Vec<u8> {
    let bytes = text.pieces().iter().flat_map(|piece| match piece {
        Piece::Literal(text) => text.clone().into_bytes(),
        Piece::Bytes(bytes) => bytes.clone(),
        _ => b"tok123".to_vec(),
    });
    bytes.collect()
}

fn body(exchange: &Exchange) -> Vec<u8> {
    match &exchange.body {
        Body::None => Vec::new(),
        Body::Text(text) => fill(text),
        Body::Multipart(parts) => encode_multipart(parts, fill),
    }
}

fn target(exchange: &Exchange) -> String {
    String::from_utf8(fill(&exchange.target)).unwrap()
}

/// The request that our engine sends, without its own headers.
fn sent(exchange: &Exchange) -> Sent {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace(BOUNDARY, "BOUNDARY");
    let mut headers: Vec<(String, String)> = exchange
        .headers
        .iter()
        .map(|header| (header.name.to_ascii_lowercase(), text(fill(&header.value))))
        .collect();
    if let Some(credentials) = &exchange.credentials {
        headers.push((
            "authorization".to_owned(),
            text(encode_basic(
                &fill(&credentials.user),
                &fill(&credentials.password),
            )),
        ));
    }
    let has_accept = headers.iter().any(|(name, _)| name == "accept");
    if !has_accept && !exchange.omitted.iter().any(|name| name == "accept") {
        headers.push(("accept".to_owned(), "*/*".to_owned()));
    }
    headers.sort();
    Sent {
        method: exchange.method.clone(),
        target: target(exchange),
        headers,
        body: text(body(exchange)),
    }
}

#[test]
fn every_form_comes_to_what_curl_sends() {
    let forms = include_str!("../../../../tests/fixtures/curl/forms.json");
    let forms: Forms = serde_json::from_str(forms).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in &forms.files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let files = PermittedFiles {
        folder: folder.path().to_path_buf(),
        are_permitted: true,
    };
    assert_eq!(forms.env["TOKEN"], "tok123");
    assert_eq!(forms.all.len(), 51);
    for mut form in forms.all {
        let recording = read(&form.cmd.replace("PORT", "80"), &files);
        let recording = recording.unwrap_or_else(|mistake| panic!("{}: {mistake:?}", form.name));
        let ours: Vec<_> = recording.exchanges.iter().map(sent).collect();
        for sent in &mut form.requests {
            sent.headers
                .retain(|(name, value)| !(name == "user-agent" && value.starts_with("curl/")));
            sent.headers.sort();
        }
        assert_eq!(ours, form.requests, "{}", form.name);
    }
}

#[test]
fn versions_of_http_are_those_that_are_asked_for() {
    for (options, http) in [
        ("--http1.1", Some(Http::One)),
        // It may be HTTP/1.1 too, as it is for curl.
        ("--http2", None),
        ("--http2-prior-knowledge", Some(Http::Two)),
        ("--http3", Some(Http::Three)),
    ] {
        let recording = read(&format!("curl {options} h"), &no_files()).unwrap();
        assert_eq!(recording.client.http, http, "{options}");
        let is_doubtful = http == Some(Http::Three);
        assert_eq!(recording.notes.len(), usize::from(is_doubtful), "{options}");
    }
}

#[test]
fn an_answer_that_is_not_buffered_is_a_stream_of_events() {
    for text in [
        "curl -N h",
        "curl -sN h",
        "curl --no-buffer h",
        "curl h -H 'Accept: text/event-stream'",
    ] {
        assert!(one(text).stream.is_some(), "{text}");
    }
    assert_eq!(one("curl h -H 'accept: text/html'").stream, None);
}

#[test]
fn options_that_are_seldom_met() {
    for (text, read_as) in [
        ("curl -I -G -d a=1 h", "HEAD /?a=1"),
        ("curl h -X OPTIONS", "OPTIONS /"),
        ("curl --oauth2-bearer t h", "GET / authorization: Bearer t"),
        ("curl -b a=1 -b b=2 h", "GET / cookie: a=1; b=2"),
        ("curl -H 'Host: other' h", "GET / host: other"),
        ("curl -H 'Host: h' -H 'Content-Length: 3' h", "GET /"),
        ("curl -u a:b h", "GET / authorization: Basic YTpi"),
        (
            "curl -u a:b -H 'Authorization: x' h",
            "GET / authorization: x",
        ),
        ("curl -u a:b --digest h", "GET /"),
        ("curl -g 'h?a[]={b}'", "GET /?a[]={b}"),
        (
            "curl -T- -d x -G h/ <<E\nx\nE",
            "PUT /?x expect: 100-continue x\n",
        ),
    ] {
        let Sent {
            method,
            target,
            headers,
            body,
        } = sent(&one(text));
        let headers = headers.into_iter().filter(|(name, _)| name != "accept");
        let headers = headers.map(|(name, value)| format!("{name}: {value}"));
        let all = [format!("{method} {target}")].into_iter().chain(headers);
        let all = all.chain(Some(body).filter(|body| !body.is_empty()));
        assert_eq!(all.collect::<Vec<_>>().join(" "), read_as, "{text}");
    }
    assert_eq!(one("curl -L --max-redirs 3 h").redirects, 3);
    assert_eq!(one("curl -L h --no-location").redirects, 0);
    assert_eq!(one("curl -m 1.5 h").timeout.unwrap().as_millis(), 1500);
    assert_eq!(one("curl -H 'User-Agent;' -H 'X:' h").omitted, ["x"]);
    assert_eq!(one("curl -A '' h").omitted, ["user-agent"]);
    assert_eq!(one("curl -- -h").origin, "http://-h");
    let recording = read("curl -k --http2-prior-knowledge -c jar h", &no_files());
    let client = recording.unwrap().client;
    assert!(client.insecure && client.keeps_cookies && client.http.is_some());
}

#[test]
fn what_is_not_honoured_is_told_and_what_matters_not_is_not() {
    for (text, words) in [
        (
            "curl -sS -o x -w '%{http_code}' --connect-timeout 3 -v --fail h",
            "",
        ),
        (
            "curl -x http://proxy:3128 h",
            "`--proxy`: the requests are sent directly",
        ),
        (
            "curl --resolve h:80:127.0.0.1 h",
            "`--resolve`: names are looked up",
        ),
        ("curl --rate 200/s h", "go before `--`"),
        ("curl -r 0-9 h", "write `-H 'Range: bytes=..'`"),
        ("curl -H 'Connection: close' h", "left out"),
    ] {
        let notes = read(text, &no_files()).unwrap().notes;
        let told: Vec<_> = notes.into_iter().map(|note| note.words).collect();
        let told = told.join("; ");
        assert!(
            told.contains(words) && told.is_empty() == words.is_empty(),
            "{text}: {told}"
        );
    }
}

proptest! {
    #[test]
    fn no_command_makes_the_reader_panic(
        words in proptest::collection::vec(
            prop_oneof![
                r"'[ -&(-~é\n]{0,12}'",
                "-[a-zA-Z0-9:#]{1,3}",
                "--(data|json|form|url-query|data-urlencode|user|cookie|get|head|next|max-time|range|header|url)",
                r#"'[a-z]=[@<(]?("[ -&(-~]*"?|[a-z;,]*)(;(type|filename|headers|encoder)=[ -&(-~]{0,8}){0,3}'"#,
                r"'(http://)?[a-z:@/?#\[\]{}.%,0-9-]{0,20}'",
            ],
            0..12,
        ),
    ) {
        let text = format!("curl {}", words.join(" "));
        match read(&text, &no_files()) {
            Ok(recording) => {
                for exchange in &recording.exchanges {
                    let target = target(exchange);
                    prop_assert!(target.starts_with('/') && target.is_ascii(), "{text}");
                }
            }
            Err(mistake) => {
                let input = Input::new("x", text.clone());
                prop_assert!(mistake.span.end <= text.len() && !mistake.words.is_empty());
                prop_assert_eq!(input.excerpt(&mistake.span).lines().count(), 4);
            }
        }
    }
}

#[test]
fn a_host_has_the_value_of_its_variable() {
    let input = Input::new("copied", "curl http://$HOST/ -d \"$OTHER\"");
    let mistake = read_text(&input, &no_files(), None, None).unwrap_err();
    assert_eq!(
        mistake.words,
        "the host comes from the variable `HOST`, which has no value"
    );
    assert_eq!(
        mistake.help.unwrap(),
        "export `HOST`, give `--base-url`, or write the host itself"
    );
    let mut lookup = |_: &str| Some("here".to_owned());
    let recording = read_text(&input, &no_files(), Some(&mut lookup), None).unwrap();
    assert_eq!(recording.exchanges[0].origin, "http://here");
    for (url, value, origin, target) in [
        ("https://$HOST/a", "h", "https://h", "/a"),
        ("http://h:$PORT/a", "81", "http://h:81", "/a"),
        ("$BASE/a?b", "https://h:81/v1/", "https://h:81", "/v1/a?b"),
    ] {
        let input = Input::new("copied", format!("curl \"{url}\" -d \"$OTHER\""));
        let mut lookup = |name: &str| (name != "OTHER").then(|| value.to_owned());
        let recording = read_text(&input, &no_files(), None, Some(&mut lookup)).unwrap();
        let exchange = &recording.exchanges[0];
        assert_eq!(exchange.origin, origin, "{url}");
        assert_eq!(exchange.target.as_literal(), Some(target), "{url}");
        // Its name is in no request, and the others have no values.
        assert_eq!(exchange.body, Body::Text(Text::secret(0)));
        let names = recording.secrets.iter().map(|secret| secret.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["OTHER"]);
    }
    let input = Input::new("copied", "curl http://h/ -d \"$OTHER\"");
    let recording = read_text(&input, &no_files(), None, None).unwrap();
    assert_eq!(recording.exchanges[0].body, Body::Text(Text::secret(0)));
}

#[test]
fn no_excerpt_shows_the_value_of_a_secret_option() {
    for text in [
        "curl --cert me.pem:hunter2 http://h/",
        "curl -E me.pem:hunter2 http://h/",
        "curl -uhunter2 http://h/",
        "curl -sSuhunter2 http://h/",
        "curl -u \\\n  hunter2 -K x",
        "curl --user=ada:hunter2 http://h/",
        "curl --password=hunter2 http://h/",
        "curl --pass hunter2 -K x",
        "curl --proxy-pass 'hunter2' -K x",
        "curl -Uada:hunter2 -K x",
        "curl ^\"-u^\" ^\"ada:hunter2^\" -K x",
        "curl -K x http://h/ -u ada:hunter2",
    ] {
        let input = Input::new("copied", text);
        let told = match read(text, &no_files()) {
            Ok(recording) => recording.notes,
            Err(Mistake { span, words, .. }) => vec![Note { span, words }],
        };
        for Note { span, words } in told {
            let shown = input.excerpt(&span) + &words;
            assert!(!shown.contains("hunter2"), "{text}\n{shown}");
        }
    }
}

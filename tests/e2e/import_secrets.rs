//! Secrets in every place of an input: none is in the scenario nor on the screen, and with them in the environment the
//! same requests are sent.

use crate::call::Call;
use crate::project::Files;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        no_secret_of_a_curl_script_is_in_its_scenario,
        no_secret_of_an_archive_is_in_its_scenario,
        no_secret_of_a_collection_is_in_its_scenario,
        no_secret_of_a_document_is_in_its_scenario,
    ]
}

/// Where the recorded requests went.
const HOST: &str = "http://shop.example";
/// Around the name of a variable, as its value.
const SIGN: &str = "zz";

/// Values that were never seen before, as services hand them out.
#[derive(Default)]
struct Canaries(Vec<String>);

impl Canaries {
    /// One of this length, of these signs.
    fn random(&mut self, signs: &str, length: usize) -> String {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(self.0.len() as u64 + 1);
        let signs = signs.as_bytes();
        let letters = (0..length).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(signs[usize::try_from(state >> 33).expect("31 bits") % signs.len()])
        });
        self.keep(&letters.collect::<String>())
    }

    /// One that looks like nothing: its name tells it.
    fn named(&mut self) -> String {
        self.keep(&format!("hush-{}-word", self.0.len()))
    }

    /// A token of 32 letters and digits, which alternate at least six times: that is what makes it look random.
    fn letters(&mut self) -> String {
        let letters = self.random("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ", 32);
        self.0.pop();
        let token = format!(
            "{}4{}7{}2{}",
            &letters[..8],
            &letters[9..16],
            &letters[17..24],
            &letters[25..]
        );
        self.keep(&token)
    }

    /// A key of a well-known service: of a description, random values are examples.
    fn key(&mut self) -> String {
        let letters = self.letters();
        self.0.pop();
        self.keep(&format!("sk_live_{letters}"))
    }

    fn keep(&mut self, value: &str) -> String {
        self.0.push(value.to_owned());
        value.to_owned()
    }

    /// Those that are in a text.
    fn in_text(&self, text: &str) -> Vec<&String> {
        let all = self.0.iter();
        all.filter(|canary| text.contains(canary.as_str()))
            .collect()
    }
}

/// A request as it was recorded.
struct Sent {
    name: String,
    note: String,
    method: &'static str,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
}

/// Requests with a secret in every place that one can have.
#[expect(clippy::too_many_lines, reason = "one of each kind")]
fn requests(canaries: &mut Canaries) -> Vec<Sent> {
    const HEX: &str = "0123456789abcdef";
    let request = |name: &str, method, target: String| Sent {
        name: name.to_owned(),
        note: String::new(),
        method,
        target,
        headers: Vec::new(),
        body: None,
    };
    let repeated = canaries.letters();
    let password = canaries.named();
    let mut all = Vec::new();

    let mut search = request(
        "Search",
        "GET",
        format!(
            "/a/{}?v={}&key={}&n=1&redirect=https%3A%2F%2Fh%2F%3Ftoken%3D{}",
            canaries.letters(),
            canaries.random(HEX, 40),
            canaries.random(HEX, 16),
            canaries.named(),
        ),
    );
    search.headers.extend([
        ("x-device", canaries.letters()),
        ("x-trace-of", repeated.clone()),
        ("x-plain", format!("id=1 {} end", canaries.letters())),
        ("x-site-key", canaries.random(HEX, 20)),
        ("x-amz-security-token", canaries.named()),
    ]);
    search.note = format!(
        "Reads {repeated}, with the password is `{password}`, or password: {}",
        canaries.named()
    );
    all.push(search);

    let mut login = request("Log in", "POST", "/login".to_owned());
    login
        .headers
        .push(("content-type", "application/json".to_owned()));
    login.body = Some(
        json!({
            "user": "ada",
            "password": password,
            "deep": {"list": [canaries.letters(), "b"]},
            "note": json!({"token": canaries.named()}).to_string(),
            "text": format!("see {} there", canaries.letters()),
            "again": format!("is {repeated}."),
            "query": "mutation Enter($s: String!) { enter(session: $s) { id } }",
            "variables": {"s": canaries.letters(), "pin": canaries.named()},
            "count": 17,
        })
        .to_string(),
    );
    all.push(login);

    let mut form = request("Exchange", "POST", "/token".to_owned());
    form.headers.push((
        "content-type",
        "application/x-www-form-urlencoded".to_owned(),
    ));
    form.body = Some(format!(
        "code={}&grant_type=authorization_code&refresh={}&otp={}&state={}&page=2",
        canaries.named(),
        canaries.letters(),
        canaries.named(),
        canaries.random(HEX, 18),
    ));
    all.push(form);

    let mut xml = request("Soap", "POST", "/soap".to_owned());
    xml.headers.push(("content-type", "text/xml".to_owned()));
    xml.body = Some(format!(
        "<e><w:Password>{}</w:Password><a>{}</a><b>tea</b></e>",
        canaries.named(),
        canaries.letters(),
    ));
    all.push(xml);

    let mut text = request("Note", "PUT", "/note".to_owned());
    text.headers.push(("content-type", "text/plain".to_owned()));
    text.body = Some(format!(
        "password: {} and https://ada:{}@h/ and {repeated}",
        canaries.named(),
        canaries.named(),
    ));
    all.push(text);

    let mut digest = request("Digest", "GET", "/digest".to_owned());
    let response = canaries.random(HEX, 32);
    digest.headers.push((
        "authorization",
        format!("Digest username=\"ada\", response=\"{response}\""),
    ));
    all.push(digest);

    let mut bearer = request("Bearer", "GET", "/bearer".to_owned());
    bearer
        .headers
        .push(("authorization", format!("Bearer {}", canaries.named())));
    all.push(bearer);

    let mut basic = request("Basic", "GET", "/basic".to_owned());
    // `ada:hush-basic-word`
    canaries.keep("hush-basic-word");
    let pair = canaries.keep("YWRhOmh1c2gtYmFzaWMtd29yZA==");
    basic
        .headers
        .push(("authorization", format!("Basic {pair}")));
    all.push(basic);

    let token = canaries.letters();
    let mut reset = request(
        &format!("Reset {token}"),
        "GET",
        format!("/reset/{}/now", canaries.random(HEX, 12)),
    );
    reset.note = format!("token = {}", canaries.named());
    reset.headers.push(("x-seen", token));
    all.push(reset);

    let mut callback = request("Callback", "GET", String::new());
    callback.target = format!(
        "/callback?code={}&state={}&SAMLRequest={}&x-custom-sig={}",
        canaries.named(),
        canaries.letters(),
        canaries.named(),
        canaries.named(),
    );
    all.push(callback);
    all
}

fn har(sent: &[Sent]) -> String {
    let pairs = |headers: &[(&str, String)]| -> Vec<Value> {
        let pairs = headers.iter();
        pairs
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect()
    };
    let entries: Vec<Value> = sent
        .iter()
        .enumerate()
        .map(|(at, sent)| {
            let mut request = json!({
                "method": sent.method,
                "url": format!("{HOST}{}", sent.target),
                "headers": pairs(&sent.headers),
            });
            if let Some(body) = &sent.body {
                request["postData"] = json!({"mimeType": sent.headers[0].1, "text": body});
            }
            json!({
                "startedDateTime": format!("2026-01-01T10:00:{at:02}.000Z"),
                "time": 5,
                "_resourceType": "fetch",
                "comment": sent.note,
                "request": request,
                "response": {"status": 200, "headers": [], "content": {"mimeType": "application/json", "text": "{}"}},
            })
        })
        .collect();
    json!({"log": {"version": "1.2", "creator": {"name": "made"}, "entries": entries}}).to_string()
}

fn curl(sent: &[Sent]) -> String {
    let mut script = String::new();
    for sent in sent {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let _ = writeln!(script, "# {}", sent.note);
        let url = quoted(&format!("{HOST}{}", sent.target));
        let _ = write!(script, "curl --retry 3 -X {} {url}", sent.method);
        for (name, value) in &sent.headers {
            let _ = write!(script, " -H {}", quoted(&format!("{name}: {value}")));
        }
        if let Some(body) = &sent.body {
            let _ = write!(script, " --data-raw {}", quoted(body));
        }
        script.push('\n');
    }
    script
}

fn postman(sent: &[Sent], canaries: &mut Canaries) -> String {
    let hidden = canaries.named();
    let items: Vec<Value> = sent
        .iter()
        .map(|sent| {
            let headers: Vec<Value> = sent
                .headers
                .iter()
                .map(|(name, value)| json!({"key": name, "value": value}))
                .collect();
            let mut request = json!({
                "method": sent.method,
                "header": headers,
                "url": format!("{HOST}{}", sent.target),
                "description": format!("{} and {hidden}", sent.note),
            });
            if let Some(body) = &sent.body {
                request["body"] = json!({"mode": "raw", "raw": body});
            }
            json!({"name": sent.name, "request": request})
        })
        .collect();
    let script = format!("pm.globals.set(\"pw\", \"{}\");", canaries.named());
    let event = json!([{"listen": "prerequest", "script": {"exec": [script]}}]);
    let last = json!({
        "name": format!("Ask with {hidden}"),
        "event": event,
        "request": {
            "method": "GET",
            "header": [{"key": "x-same", "value": hidden}],
            "auth": {"type": "apikey", "apikey": [
                {"key": "key", "value": "x-shop-door"}, {"key": "value", "value": canaries.named()},
            ]},
            "url": format!("{HOST}/apikey?pw={{{{pw}}}}&token={{{{door}}}}"),
        },
    });
    let other = json!({
        "name": "Other",
        "request": {
            "method": "GET",
            "header": [{"key": "X-Shop-Door", "value": canaries.named()}],
            "url": format!("{HOST}/other"),
        },
    });
    let folder = json!({
        "name": format!("Folder {}", canaries.letters()),
        "description": format!("Bearer {} is its `secret: {}`", canaries.letters(), canaries.named()),
        "item": items.into_iter().chain([last, other]).collect::<Vec<_>>(),
    });
    json!({
        "info": {
            "name": format!("Made with {}", canaries.letters()),
            "description": format!("api_key={}", canaries.named()),
            "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
        },
        "variable": [{"key": "door", "value": "{{doorToken}}"}, {"key": "doorToken", "value": hidden}],
        "item": [folder],
    })
    .to_string()
}

fn openapi(canaries: &mut Canaries) -> String {
    let twice = canaries.named();
    let parameter = |name: &str, place: &str, example: String| json!({"name": name, "in": place, "required": true, "schema": {"type": "string"}, "example": example});
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": format!("Shop {}", canaries.key()),
            "version": "1",
            "description": format!("Use password: {} and {twice}.", canaries.named()),
        },
        "servers": [{"url": HOST}],
        "components": {"securitySchemes": {"door": {"type": "apiKey", "in": "header", "name": "x-shop-door"}}},
        "paths": {
            "/a/{share}": {"get": {
                "summary": format!("Read {}", canaries.key()),
                "description": format!("curl -u ada:{} https://ada:{}@h/", canaries.key(), canaries.named()),
                "security": [{"door": []}],
                "parameters": [
                    parameter("share", "path", canaries.key()),
                    parameter("v", "query", canaries.key()),
                    parameter("key", "query", canaries.key()),
                    parameter("otp", "query", canaries.named()),
                    parameter("x-device", "header", canaries.key()),
                ],
                "responses": {"200": {"description": "ok"}},
            }},
            "/b": {"post": {
                "operationId": format!("make {}", canaries.key()),
                "parameters": [parameter("x-shop-door", "query", canaries.named())],
                "requestBody": {"content": {"application/json": {"example": {
                    "password": twice,
                    "deep": [{"client_secret": canaries.named(), "x": canaries.key()}],
                    "text": format!("is {twice} or {}", canaries.key()),
                    "xml": format!("<a><pin>{}</pin></a>", canaries.named()),
                }}}},
                "responses": {"200": {"description": canaries.key()}},
            }},
            "/c": {"put": {
                "requestBody": {"content": {"text/plain": {"example": format!("token={} {}", canaries.named(), canaries.key())}}},
                "responses": {"200": {"description": "ok"}},
            }},
        },
    })
    .to_string()
}

/// Imports, and smokes the scenario: what was sent, with `zzNAMEzz` in the place of each secret.
fn smoked(
    name: &'static str,
    from: &str,
    file: &str,
    text: &str,
    canaries: &Canaries,
) -> Vec<Request> {
    let folder = tempfile::tempdir().expect("a folder of the system");
    fs::write(folder.path().join(file), text).expect("a file");
    let line = format!("import {from} {file}");
    let output = Call::tool(folder.path()).line(&line).run().exits(0);
    for said in [&output.stdout, &output.stderr] {
        let shown = canaries.in_text(said);
        assert!(shown.is_empty(), "{shown:?} of\n{output}");
    }
    // Nor is any a name of a function, where letters are small.
    let small = output.stdout.to_lowercase().replace('_', "");
    let shown: Vec<_> = canaries
        .0
        .iter()
        .filter(|canary| small.contains(&canary.to_lowercase().replace(['-', '='], "")))
        .collect();
    assert!(shown.is_empty(), "{shown:?} of\n{output}");
    let server = Server::recording(|_| Reply::json("{}"));
    let mut call = Files::single(name, &output.stdout)
        .create()
        .cargo("test --offline --test load");
    call = call.env("LOADTEST_BASE_URL", server.url());
    let secrets = output.stderr.lines().filter_map(|line| {
        let (name, _) = line.trim().strip_prefix("Secret ")?.split_once(':')?;
        Some(name)
    });
    for secret in secrets {
        call = call.env(secret, format!("{SIGN}{secret}{SIGN}"));
    }
    call.run()
        .exits(0)
        .prints(&["test result: ok", "0 ignored"]);
    server.recorded()
}

/// The values that the places of secrets stand for, so that `got` is `wanted`.
fn fill(got: &str, wanted: &str, values: &mut BTreeMap<String, String>) {
    let mut parts = got.split(SIGN);
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let mut left = wanted
        .strip_prefix(first)
        .unwrap_or_else(|| panic!("{got}\nis not\n{wanted}"));
    for pair in rest.chunks(2) {
        let [name, after] = pair else {
            panic!("{got} is not {wanted}")
        };
        let end = if after.is_empty() {
            left.len()
        } else {
            left.find(after)
                .unwrap_or_else(|| panic!("{got}\nis not\n{wanted}"))
        };
        let value = left[..end].to_owned();
        let known = values
            .entry((*name).to_owned())
            .or_insert_with(|| value.clone());
        assert_eq!(*known, value, "{name} in {got}");
        left = &left[end + after.len()..];
    }
    assert_eq!(left, "", "{got}\nis not\n{wanted}");
}

/// With the right values, the requests that were sent are those that were recorded.
fn are_as_recorded(got: &[Request], wanted: &[Sent], canaries: &Canaries) {
    let mut values = BTreeMap::new();
    for wanted in wanted {
        let path = |target: &str| target.split('?').next().map(str::to_owned);
        let segments =
            |target: &str| path(target).map(|path| path.split('/').nth(1).map(str::to_owned));
        let mut of_path = got
            .iter()
            .filter(|got| segments(&got.target) == segments(&wanted.target));
        let got = of_path.next().expect("it was sent");
        assert_eq!(got.method, wanted.method);
        fill(&got.target, &wanted.target, &mut values);
        for (name, value) in &wanted.headers {
            let sent = got
                .header(name)
                .unwrap_or_else(|| panic!("{name}: {got:?}"));
            if let Some(pair) = sent.strip_prefix("Basic ") {
                // `ada:zzPASSWORDzz`, at an offset at which its own Base64 is to be seen.
                assert!(pair.starts_with("YWRhOnp6"), "{sent}");
                continue;
            }
            fill(sent, value, &mut values);
        }
        if let Some(body) = &wanted.body {
            let is_json = wanted.headers[0].1.contains("json");
            let normal = |text: &str| match serde_json::from_str::<Value>(text) {
                Ok(value) if is_json => value.to_string(),
                _ => text.to_owned(),
            };
            fill(&normal(&got.text()), &normal(body), &mut values);
        }
    }
    // What a variable stands for is secret itself, or has one in it.
    for (name, value) in &values {
        assert!(
            !canaries.in_text(value).is_empty() || value.contains("%3D"),
            "{name}: {value}"
        );
    }
    assert!(values.len() >= 20, "{values:?}");
}

fn no_secret_of_a_curl_script_is_in_its_scenario() {
    let mut canaries = Canaries::default();
    let requests = requests(&mut canaries);
    let got = smoked(
        "import_secrets_curl",
        "curl",
        "copied.sh",
        &curl(&requests),
        &canaries,
    );
    are_as_recorded(&got, &requests, &canaries);
}

fn no_secret_of_an_archive_is_in_its_scenario() {
    let mut canaries = Canaries::default();
    let requests = requests(&mut canaries);
    let got = smoked(
        "import_secrets_har",
        "har --no-think",
        "visit.har",
        &har(&requests),
        &canaries,
    );
    are_as_recorded(&got, &requests, &canaries);
}

fn no_secret_of_a_collection_is_in_its_scenario() {
    let mut canaries = Canaries::default();
    let requests = requests(&mut canaries);
    let text = postman(&requests, &mut canaries);
    assert!(canaries.0.len() >= 40, "{}", canaries.0.len());
    let got = smoked(
        "import_secrets_postman",
        "postman",
        "made.json",
        &text,
        &canaries,
    );
    are_as_recorded(&got, &requests, &canaries);
    let asked = got
        .iter()
        .find(|got| got.path == "/apikey")
        .expect("it was sent");
    for place in [
        asked.header("x-shop-door"),
        asked.header("x-same"),
        Some(asked.target.as_str()),
    ] {
        assert!(place.is_some_and(|place| place.contains(SIGN)), "{asked:?}");
    }
}

fn no_secret_of_a_document_is_in_its_scenario() {
    let mut canaries = Canaries::default();
    let text = openapi(&mut canaries);
    let got = smoked(
        "import_secrets_openapi",
        "openapi",
        "api.json",
        &text,
        &canaries,
    );
    let paths: Vec<_> = got.iter().map(|got| got.path.split('/').nth(1)).collect();
    for path in ["a", "b", "c"] {
        assert!(paths.contains(&Some(path)), "{path}: {paths:?}");
    }
    let read = got
        .iter()
        .find(|got| got.path.starts_with("/a/"))
        .expect("it was sent");
    for place in ["v=zz", "key=zz", "otp=zz", "/a/zz"] {
        assert!(read.target.contains(place), "{read:?}");
    }
    assert!(
        read.header("x-device")
            .is_some_and(|value| value.starts_with(SIGN))
    );
    let made = got
        .iter()
        .find(|got| got.path == "/b")
        .expect("it was sent");
    assert!(made.target.contains("x-shop-door=zz"), "{made:?}");
    assert_eq!(made.text().matches(SIGN).count() % 2, 0);
    assert!(made.text().matches(SIGN).count() >= 12, "{}", made.text());
}

//! A recorded visit to pages that a server makes: links, forms and rows are those of the instance that is visited.

use crate::call::Call;
use crate::project::Files;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Server};
use serde_json::{Value, json};
use std::fs;
use std::sync::{Arc, Mutex};

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        links_forms_and_rows_are_those_of_the_visited_instance,
        a_recorded_id_in_a_deletion_is_a_warning,
        what_was_written_is_run_once_and_compared,
    ]
}

/// A site with three articles; its ids, tokens and states are those of no other one.
#[derive(Debug)]
struct Site {
    first: u64,
    /// The token and the state of the forms.
    token: String,
    state: String,
    /// What was refused, and why.
    refused: Mutex<Vec<String>>,
}

/// A status, a header and a body.
type Answer = (u16, Option<(&'static str, String)>, String);

impl Site {
    fn new(first: u64) -> Self {
        let mut state = first;
        let mut letters = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(7);
            let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            char::from(letters[usize::try_from(state >> 58).unwrap_or(0)])
        });
        Self {
            first,
            token: letters.by_ref().take(32).collect(),
            // As long as that of a large form of ASP.NET.
            state: format!("/{}", letters.take(12_000).collect::<String>()),
            refused: Mutex::default(),
        }
    }

    fn field(&self, name: &str, value: &str) -> String {
        let _ = self;
        format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">")
    }

    fn articles(&self) -> String {
        let rows = (self.first..self.first + 3).map(|id| {
            let token = self.field("csrf", &self.token);
            format!(
                "<tr data-id=\"{id}\"><td><a href=\"/articles/{id}\">Title of {id}</a>\
                 <td><a href=\"/articles/{id}/edit\">Edit</a>\
                 <td><form action=\"/articles/{id}/delete\" method=\"post\">{token}<button>Delete</button></form>"
            )
        });
        let rows: String = rows.collect();
        let token = &self.token;
        format!(
            "<!doctype html><meta name=\"csrf-token\" content=\"{token}\"><table>{rows}</table>"
        )
    }

    /// Answers a request; what has a value of another site is refused.
    fn answer(&self, method: &str, path: &str, sent_token: Option<&str>, body: &str) -> Answer {
        let page = |body: String| (200, None, body);
        let form: Vec<(String, String)> = form_urlencoded::parse(body.as_bytes())
            .into_owned()
            .collect();
        let value = |name: &str| {
            let mut pairs = form.iter();
            pairs
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
        };
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let id = segments
            .iter()
            .find_map(|segment| segment.parse::<u64>().ok());
        let is_ours = id.is_none_or(|id| (self.first..self.first + 3).contains(&id));
        let token = value("csrf").or(sent_token);
        let problem = if !is_ours {
            Some("no such article")
        } else if method != "GET" && token != Some(&*self.token) {
            Some("another token")
        } else if value("state").is_some_and(|state| state != self.state) {
            Some("another state")
        } else if value("version").is_some_and(|version| version != (self.first + 100).to_string())
        {
            Some("another version")
        } else {
            None
        };
        if let Some(problem) = problem {
            let mut refused = self.refused.lock().expect("no test panics with it");
            refused.push(format!("{method} {path}: {problem}"));
            return (422, None, problem.to_owned());
        }
        match (method, segments.as_slice()) {
            ("GET", ["login"]) => page(format!(
                "<form method=post action=/login>{}<input name=user></form>",
                self.field("csrf", &self.token)
            )),
            ("GET", ["articles"]) => page(self.articles()),
            ("GET", ["articles", _, "edit"]) => {
                let version = (self.first + 100).to_string();
                let fields = [
                    ("csrf", &*self.token),
                    ("version", &version),
                    ("state", &self.state),
                ];
                let fields: String = fields.map(|(name, value)| self.field(name, value)).concat();
                // The size has the value of the version.
                page(format!(
                    "<input name=q size=\"{version}\"><form method=post>{fields}<input name=title></form>"
                ))
            }
            ("POST", _) => (
                303,
                Some(("location", "/articles".to_owned())),
                String::new(),
            ),
            ("DELETE", _) => (204, None, String::new()),
            _ => page("<p>An article</p>".to_owned()),
        }
    }
}

/// The requests of the visit to a site: the second article is edited, the third one is read and deleted, the first one
/// is deleted by a script.
fn requests(site: &Site) -> Vec<(&'static str, String, Option<String>, String)> {
    let Site {
        first,
        token,
        state,
        ..
    } = site;
    let form = |pairs: &[(&str, &str)]| {
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(pairs)
            .finish()
    };
    let version = (first + 100).to_string();
    let [second, third] = [first + 1, first + 2];
    vec![
        ("GET", "/login".to_owned(), None, String::new()),
        (
            "POST",
            "/login".to_owned(),
            None,
            form(&[("csrf", token.as_str()), ("user", "ada")]),
        ),
        ("GET", "/articles".to_owned(), None, String::new()),
        (
            "GET",
            format!("/articles/{second}/edit"),
            None,
            String::new(),
        ),
        (
            "POST",
            format!("/articles/{second}"),
            None,
            form(&[
                ("csrf", token.as_str()),
                ("version", &version),
                ("state", state),
                ("title", "Tea"),
            ]),
        ),
        ("GET", "/articles".to_owned(), None, String::new()),
        ("GET", format!("/articles/{third}"), None, String::new()),
        (
            "POST",
            format!("/articles/{third}/delete"),
            None,
            form(&[("csrf", token.as_str())]),
        ),
        (
            "DELETE",
            format!("/api/articles/{first}"),
            Some(token.clone()),
            String::new(),
        ),
    ]
}

/// The archive of the visit.
fn record(site: &Site) -> Value {
    let entry = |(at, (method, path, token, body)): (
        usize,
        (&str, String, Option<String>, String),
    )| {
        let (status, header, text) = site.answer(method, &path, token.as_deref(), &body);
        let header = header.map(|(name, value)| json!({ "name": name, "value": value }));
        let kind = "application/x-www-form-urlencoded";
        let mut headers = vec![];
        headers.extend(token.map(|token| json!({ "name": "x-csrf-token", "value": token })));
        headers
            .extend((method == "POST").then(|| json!({ "name": "content-type", "value": kind })));
        let mut request = json!({
            "method": method, "url": format!("http://site.test{path}"), "httpVersion": "HTTP/1.1", "headers": headers,
            "queryString": [], "cookies": [], "headersSize": -1, "bodySize": body.len(),
        });
        if method == "POST" {
            request["postData"] = json!({ "mimeType": kind, "text": body });
        }
        json!({
            "startedDateTime": format!("2026-01-01T10:00:{at:02}.000Z"), "time": 5, "request": request, "cache": {},
            "timings": { "send": 0, "wait": 5, "receive": 0 },
            "response": {
                "status": status, "statusText": "", "httpVersion": "HTTP/1.1", "headers": header.into_iter().collect::<Vec<_>>(),
                "cookies": [], "redirectURL": "", "headersSize": -1, "bodySize": text.len(),
                "content": { "size": text.len(), "mimeType": "text/html", "text": text },
            },
        })
    };
    let entries: Vec<Value> = requests(site).into_iter().enumerate().map(entry).collect();
    json!({ "log": { "version": "1.2", "creator": { "name": "test", "version": "1" }, "entries": entries } })
}

/// Imports an archive; returns the source and what the command says.
fn import(archive: &Value) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder of the system");
    fs::write(folder.path().join("visit.har"), archive.to_string()).expect("our own file");
    let call = Call::tool(folder.path()).line("import har --no-think visit.har -o load.rs");
    let output = call.run().exits(0);
    let source = fs::read_to_string(folder.path().join("load.rs")).expect("a source");
    (source, output.stderr)
}

fn serve(site: &Arc<Site>) -> Server {
    let site = Arc::clone(site);
    Server::start(move |request| {
        let token = request.header("x-csrf-token");
        let (status, header, body) =
            site.answer(&request.method, &request.path, token, &request.text());
        let reply = Reply::status(status)
            .header("content-type", "text/html")
            .body(body);
        match header {
            Some((name, value)) => reply.header(name, value),
            None => reply,
        }
    })
}

fn what_was_written_is_run_once_and_compared() {
    // In the profile of all tests: by default, everything would be compiled anew.
    let project = Files::single("verified", "loadtest::main!();\n")
        .file("loadtest.toml", "[build]\nprofile = \"test\"\n")
        .create();
    let site = Arc::new(Site::new(9207));
    let server = serve(&site);
    let verify = |archive: &Value| {
        fs::write(project.root().join("visit.har"), archive.to_string()).expect("our own file");
        let line = "import har --no-think visit.har -o tests/load.rs --force --verify";
        let call = Call::tool(project.root()).line(line);
        call.env("LOADTEST_BASE_URL", server.url()).run()
    };
    let archive = record(&Site::new(41));
    verify(&archive)
        .exits(0)
        .says(&["Verified 9 of 9 steps have the same answer as in the recording"]);

    // The id of a script's request is in no part of the page that can be found again.
    let mut changed = archive.clone();
    let entries = changed["log"]["entries"].as_array_mut().expect("entries");
    for entry in &mut *entries {
        let text = entry["response"]["content"]["text"]
            .as_str()
            .unwrap_or_default();
        let text = text
            .replace("data-id=\"41\"", "")
            .replace("/articles/41", "/x");
        let text = format!("{text}<script>let all = [41041, 7];</script>");
        entry["response"]["content"]["text"] = text.into();
    }
    let last = entries.last_mut().expect("entries");
    last["request"]["url"] = "http://site.test/api/articles/41041".into();
    let output = verify(&changed).exits(99);
    output.says(&[
        "Differs delete_article: ",
        "Recorded delete_article: the path after `articles` is sent as recorded, but the answer of `get_login` no longer \
         has that value",
        "Verified 8 of 9 steps have the same answer as in the recording",
    ]);
    let nowhere = "import har visit.har --verify";
    Call::tool(project.root())
        .line(nowhere)
        .run()
        .exits(2)
        .says(&["-o tests/load.rs"]);
}

fn links_forms_and_rows_are_those_of_the_visited_instance() {
    let recorded = Site::new(41);
    let archive = record(&recorded);
    assert_eq!(
        *recorded.refused.lock().expect("no panic"),
        Vec::<String>::new()
    );
    let (source, said) = import(&archive);
    for part in [
        "fn get_articles() -> Page;",
        "get_articles.addresses(\"/articles/*/edit\").nth(1)?",
        "get_articles.addresses(\"/articles/*/delete\").nth(2)?",
        "get_article_edit.field(\"state\").ok()?",
        "get_article_edit.field(\"version\").ok()?",
    ] {
        assert!(source.contains(part), "{part} is not in\n{source}");
    }
    for gone in [
        "secret(",
        "fn between",
        "\"41\"",
        "/43",
        "/42",
        &recorded.token,
    ] {
        assert!(!source.contains(gone), "{gone} is in\n{source}");
    }
    assert!(!said.contains("it deletes"), "{said}");

    let site = Arc::new(Site::new(9207));
    let server = serve(&site);
    let project = Files::single("followed", &source).create();
    let run = project.tool("run", "--iterations 4 --users 2");
    let output = run.env("LOADTEST_BASE_URL", server.url()).run();
    let refused = site.refused.lock().expect("no panic").clone();
    assert_eq!(refused, Vec::<String>::new(), "{source}\n{output}");
    output.exits(0);
    assert_eq!(server.requests_to("/articles/9208/edit"), 4);
    assert_eq!(server.requests_to("/articles/9209/delete"), 4);
    assert_eq!(server.requests_to("/api/articles/9207"), 4);
}

fn a_recorded_id_in_a_deletion_is_a_warning() {
    let mut archive = record(&Site::new(41));
    let entries = archive["log"]["entries"].as_array_mut().expect("entries");
    // Without the list, there is nothing to take the ids from.
    entries.retain(|entry| entry["request"]["url"] != "http://site.test/articles");
    let (source, said) = import(&archive);
    let warning = "it deletes what has the recorded value of the path after `articles`";
    assert_eq!(said.matches(warning).count(), 2, "{said}");
    let source: String = source
        .split_whitespace()
        .filter(|word| *word != "//")
        .collect::<Vec<_>>()
        .join(" ");
    assert_eq!(source.matches(warning).count(), 2, "{source}");
}

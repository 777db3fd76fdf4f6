//! A load test from a copied curl command: no package, no code.

use crate::call::Call;
use crate::project::{Files, LOAD_TEST, STANDS_ALONE, dependency, header};
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Reply, Request, Server};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn trials() -> Vec<Trial> {
    trials![
        every_form_is_sent_as_curl_sends_it,
        a_copied_command_is_a_load_test,
        nothing_secret_of_a_command_is_kept,
        what_is_sent_elsewhere_has_to_be_listed,
        a_mistake_is_shown_where_it_stands,
        a_page_is_read_for_its_commands,
        a_command_without_its_dashes_is_told_where_it_stands,
        an_imported_scenario_sends_what_was_copied,
        every_form_becomes_a_scenario_that_compiles,
        an_import_says_what_its_package_lacks,
        an_import_keeps_secrets_out_and_files_as_they_are,
    ]
}

/// An empty folder, in no workspace.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder of the system")
}

fn tool(folder: &Path, line: &str) -> Call {
    Call::tool(folder).line(line)
}

/// Method, target, headers and body, as far as they are not the sender's own.
type Sent = (String, String, Vec<(String, String)>, String);

fn sent(request: &Request) -> Sent {
    let content_type = request.header("content-type").unwrap_or_default();
    let boundary = content_type
        .split_once("boundary=")
        .map(|(_, boundary)| boundary);
    // Ours; that of a browser stays.
    let boundary = boundary.filter(|boundary| boundary.contains("loadtest"));
    let plain = |text: &str| text.replace(boundary.unwrap_or("BOUNDARY"), "BOUNDARY");
    let is_own = |name: &str, value: &str| {
        matches!(
            name,
            "host" | "content-length" | "connection" | "loadtest-run"
        ) || name == "user-agent" && value.starts_with("loadtest/")
    };
    let mut headers: Vec<_> = request
        .headers
        .iter()
        .filter(|(name, value)| !is_own(name, value))
        .map(|(name, value)| (name.clone(), plain(value)))
        .collect();
    headers.sort();
    let body = plain(&request.text());
    (
        request.method.clone(),
        request.target.clone(),
        headers,
        body,
    )
}

/// The same of a request of the table.
fn recorded(request: &Value) -> Sent {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let pairs = request["headers"].as_array().expect("headers").iter();
    let mut headers: Vec<_> = pairs
        .map(|pair| (text(&pair[0]), text(&pair[1])))
        .filter(|(name, value)| !(name == "user-agent" && value.starts_with("curl/")))
        .collect();
    headers.sort();
    let body = text(&request["body"]);
    (
        text(&request["method"]),
        text(&request["target"]),
        headers,
        body,
    )
}

fn every_form_is_sent_as_curl_sends_it() {
    let server = Server::recording(|_| Reply::text("ok"));
    let port = server.address().port().to_string();
    let table = include_str!("../fixtures/curl/forms.json");
    let table: Value = serde_json::from_str(table).expect("our own table");
    let folder = folder();
    for (name, text) in table["files"].as_object().expect("files") {
        fs::write(folder.path().join(name), text.as_str().expect("text")).expect("a file");
    }
    let forms = table["forms"].as_array().expect("forms");
    let commands: Vec<_> = forms
        .iter()
        .map(|form| form["cmd"].as_str().expect("a command"))
        .collect();
    let text = commands.join("\n").replace("PORT", &port);
    fs::write(folder.path().join("copied.sh"), text).expect("a file");
    let call = tool(
        folder.path(),
        "run --iterations 1 --curl copied.sh --allow-files",
    );
    call.env("TOKEN", "tok123").run().measured();
    let ours: Vec<_> = server.recorded().iter().map(sent).collect();
    let requests = forms
        .iter()
        .flat_map(|form| form["requests"].as_array().expect("requests"));
    let theirs: Vec<_> = requests.map(recorded).collect();
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
}

fn a_copied_command_is_a_load_test() {
    let server = Server::recording(|request| match request.path.as_str() {
        "/orders" => Reply::status(201),
        _ => Reply::status(404),
    });
    let folder = folder();
    let url = format!("{}/orders?dry=1", server.url());
    let call = tool(
        folder.path(),
        "run --rate 50/s --duration 2s --export json --export html -- curl",
    )
    .args([url.as_str(), "-H", "X-Key: a b", "--data-raw", "{\"a\": 1}"]);
    let output = call.run().comes_to(0);
    output.prints(&[
        "curl::post_orders",
        "100 %",
        "success",
        "Answers by status",
        "50/s of 50/s",
    ]);
    let requests = server.recorded();
    assert!(requests.len() >= 90, "{}", requests.len());
    let first = &requests[0];
    assert_eq!(
        (first.method.as_str(), first.target.as_str()),
        ("POST", "/orders?dry=1")
    );
    assert_eq!(first.header("x-key"), Some("a b"));
    assert_eq!(first.text(), "{\"a\": 1}");
    // It is a run as any: in a store, graded again, with a version of its own.
    assert!(folder.path().join("target/loadtest").is_dir());
    tool(folder.path(), "report")
        .run()
        .comes_to(0)
        .prints(&["curl::post_orders"]);
    tool(folder.path(), "history")
        .run()
        .exits(0)
        .prints(&["curl::post_orders"]);
    // As it was copied: an answer that is an error fails the run, and there are two steps.
    let text = format!("curl '{}/a' ;\ncurl '{url}' \\\n  -d x\n", server.url());
    fs::write(folder.path().join("all.sh"), text).expect("a file");
    let output = tool(folder.path(), "run --iterations 3 --curl all.sh")
        .run()
        .comes_to(99);
    output.prints(&["get_a", "post_orders"]);
}

/// Every file below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn nothing_secret_of_a_command_is_kept() {
    // Nothing but their looks tells these.
    const UNNAMED: &str = "q7Rb2xVn9KzLm4Tp8Ws1Yd6Gh3Jc5Fa0";
    const OTHER: &str = "Zk8Wq3Nv7Xt2Bm9Rc4Lp6Hd1Gs5Jf0Ty";
    let server = Server::recording(|request| {
        Reply::status(500).body(format!("{{\"token\":\"{}\"}}", request.text()))
    });
    let folder = folder();
    let text = format!(
        "curl -u ada:canary-1 '{url}/a?token=canary-2'\n\
         curl -H 'X-Device: {UNNAMED}' '{url}/c?v={UNNAMED}&w=1' --data-raw '{{\"x\":\"{UNNAMED}\",\"y\":\"{OTHER}\"}}'\n\
         curl '{url}/reset/{OTHER}/a' -d 'see {OTHER}'\n\
         curl -H 'Authorization: Bearer canary-3' -H \"X-Custom: $HIDDEN\" -b 'sid=canary-4' {url}/b -d 'password=canary-5'\n",
        url = server.url()
    );
    fs::write(folder.path().join("copied.sh"), text).expect("a file");
    let call = tool(
        folder.path(),
        "run --iterations 2 --export json --export html --export markdown --curl copied.sh",
    );
    let output = call.env("HIDDEN", "canary-6").run().comes_to(99);
    let sent: Vec<String> = server
        .recorded()
        .iter()
        .map(|request| format!("{request:?} {}", request.text()))
        .collect();
    let sent = sent.concat();
    for number in 2..=6 {
        assert!(
            sent.contains(&format!("canary-{number}")),
            "{number}: {sent}"
        );
    }
    // `ada:canary-1` in base64.
    let secrets = [
        "canary-",
        "YWRhOmNhbmFyeS0x",
        UNNAMED,
        OTHER,
        &OTHER.to_lowercase(),
    ];
    assert!(sent.contains(UNNAMED) && sent.contains(OTHER), "{sent}");
    for secret in secrets {
        assert!(
            !output.stdout.contains(secret) && !output.stderr.contains(secret),
            "{output}"
        );
    }
    let kept = files(&folder.path().join("target/loadtest"));
    assert!(kept.len() >= 4, "{kept:?}");
    for path in kept {
        let bytes = fs::read(&path).expect("a file of the run");
        let text = String::from_utf8_lossy(&bytes);
        for secret in secrets {
            assert!(!text.contains(secret), "{} holds {secret}", path.display());
        }
    }
}

fn what_is_sent_elsewhere_has_to_be_listed() {
    let server = Server::start(|_| Reply::text("ok"));
    let folder = folder();
    let url = format!("http://0.0.0.0:{}/", server.address().port());
    let run = |line: &str, url: &str| tool(folder.path(), line).args(["--", "curl", url]).run();
    run("run --iterations 1", &url)
        .exits(103)
        .says(&["may not be tested", "nothing was sent"]);
    run("run --iterations 1", "http://192.0.2.1/")
        .exits(103)
        .has_one_error();
    // The file that is found upward is heeded: here, for its mistake.
    fs::write(
        folder.path().join("loadtest.toml"),
        "[[targets]]\nhost = 1\n",
    )
    .expect("a file");
    let below = folder.path().join("a/b");
    fs::create_dir_all(&below).expect("folders");
    let call = tool(&below, "run --iterations 1 -- curl")
        .arg(server.url())
        .run();
    call.exits(2).says(&["loadtest.toml", "line 2"]);
    assert_eq!(server.connections(), 0);
    fs::write(
        folder.path().join("loadtest.toml"),
        "[store]\ndirectory = \"runs\"\n",
    )
    .expect("a file");
    tool(&below, "run --iterations 1 -- curl")
        .arg(server.url())
        .run()
        .measured();
    assert!(folder.path().join("runs").is_dir());
}

fn a_mistake_is_shown_where_it_stands() {
    let folder = folder();
    fs::write(
        folder.path().join("copied.sh"),
        "curl 'http://127.0.0.1:1/' \\\n  -d @secret.txt\n",
    )
    .expect("a file");
    fs::write(folder.path().join("secret.txt"), "x").expect("a file");
    let output = tool(folder.path(), "run --curl copied.sh")
        .run()
        .exits(2)
        .has_one_error();
    output.says(&[
        "reads the file `secret.txt`",
        "--> copied.sh:2:3",
        "2 |   -d @secret.txt\n  |   ^^^^^^^^^^^^^^",
        "help: `--allow-files`",
    ]);
    let output = tool(folder.path(), "run -- curl -K cfg http://127.0.0.1:1/")
        .run()
        .exits(2);
    output.says(&["<command line>:1:6", "not read from a file"]);
    tool(folder.path(), "run -- wget http://127.0.0.1:1/")
        .run()
        .exits(2)
        .says(&["begins with `wget`"]);
    tool(folder.path(), "run --curl nothing.sh")
        .run()
        .exits(1)
        .says(&["nothing.sh"]);
    // A command that would run a program runs none.
    fs::write(
        folder.path().join("copied.sh"),
        "curl http://127.0.0.1:1/$(touch ran)",
    )
    .expect("a file");
    tool(folder.path(), "run --curl copied.sh")
        .run()
        .exits(2)
        .says(&["no shell is ever run"]);
    assert!(!folder.path().join("ran").exists() && !folder.path().join("target").exists());
}

fn a_page_is_read_for_its_commands() {
    let server = Server::recording(|_| Reply::json("{}"));
    let folder = folder();
    let url = server.url();
    let page = format!(
        "# Orders\r\n\r\nDon't send more:\r\n\r\n```sh\r\nexport KIND=books\r\n```\r\n\r\n\
         1. Order\r\n   ```console\r\n   $ curl {url}/orders \\\r\n   > -d 'it=7'\r\n   {{\"it's\": 1}}\r\n   ```\r\n\r\n\
         ```json\r\n{{\"it's\": 1}}\r\n```\r\n\r\n```\r\nfor i in 1 2; do\r\n  curl \"{url}/list?kind=$KIND\"\r\ndone\r\n```\r\n\r\n\
         I can't do more.\r\n"
    );
    fs::write(folder.path().join("orders.md"), page).expect("a file");
    let call = tool(folder.path(), "run --iterations 1 --curl orders.md");
    call.run().measured().says(&["a loop is not repeated"]);
    let sent: Vec<_> = server
        .recorded()
        .iter()
        .map(|request| {
            (
                request.method.clone(),
                request.target.clone(),
                request.text(),
            )
        })
        .collect();
    let expected = [("POST", "/orders", "it=7"), ("GET", "/list?kind=books", "")];
    let expected = expected
        .map(|(method, target, body)| (method.to_owned(), target.to_owned(), body.to_owned()));
    assert_eq!(sent, expected);
}

fn a_command_without_its_dashes_is_told_where_it_stands() {
    let folder = folder();
    for (line, words) in [
        (
            "run --users 2 curl http://127.0.0.1:1/",
            "stands behind `--`",
        ),
        ("import curl http://127.0.0.1:1/", "stands behind `--`"),
        ("debug curl http://127.0.0.1:1/", "stands behind `--`"),
        ("debug shop -- curl http://127.0.0.1:1/", "cannot be used"),
        ("plan --tag x -- curl http://127.0.0.1:1/", "cannot be used"),
        ("run --mix -- curl http://127.0.0.1:1/", "cannot be used"),
        ("capacity -- curl http://127.0.0.1:1/", "give `--slo"),
        ("debug", "were not provided"),
        (
            "run -- curl http://127.0.0.1:1/ --users 2",
            "stand before `--`",
        ),
    ] {
        tool(folder.path(), line)
            .run()
            .exits(2)
            .has_one_error()
            .says(&[words]);
    }
}

fn an_imported_scenario_sends_what_was_copied() {
    let server = Server::recording(|_| Reply::text("ok"));
    let url = server.url();
    let text = format!(
        "curl '{url}/products?page=2' -H 'X-Shop: 7 \"a\"' -H 'accept: text/html' ;
         curl '{url}/orders' -H 'content-type: application/json' --data-raw '{{\"product\":7,\"notes\":[\"a b\",null,1.5]}}' ;
         curl '{url}/search' -d 'q=a+b&n=1%2F2' ;
         curl '{url}/raw' -H 'content-type: text/plain' --data-binary 'it'\\''s {{}} \\n' ;
         curl '{url}/form' -F a=b -F 'c=d e' ;
         curl '{url}/parts' -F 'c={{\"x\":1}};type=application/json' ;
         curl -X PROPFIND '{url}/dav' ;
         curl '{url}/bytes' -H 'content-type: a/b' --data-binary $'\\xff{{{{x}}}}' ;
         curl -I '{url}/head' -L -m 3\n"
    );
    let folder = folder();
    fs::write(folder.path().join("copied.sh"), text).expect("a file");
    let output = tool(folder.path(), "import curl copied.sh -o load.rs")
        .run()
        .exits(0);
    output.says(&["Wrote load.rs"]);
    let source = fs::read_to_string(folder.path().join("load.rs")).expect("a source");
    let manifest = format!(
        "{}[dev-dependencies]\nloadtest = {}\n\n{LOAD_TEST}\n{STANDS_ALONE}",
        header("imported"),
        dependency()
    );
    let project = Files::new("imported")
        .file("Cargo.toml", manifest)
        .file("src/lib.rs", "")
        .file("tests/load.rs", source)
        .create();
    project
        .tool("run", "--iterations 1")
        .args(["--base-url", &url])
        .run()
        .measured();
    let imported: Vec<_> = server.recorded().iter().map(sent).collect();
    tool(folder.path(), "run --iterations 1 --curl copied.sh")
        .run()
        .measured();
    let copied: Vec<_> = server
        .recorded()
        .iter()
        .skip(imported.len())
        .map(sent)
        .collect();
    assert_eq!(imported.len(), 9);
    for (imported, copied) in imported.iter().zip(&copied) {
        // A form of the source has a boundary of its own.
        let boundary = |sent: &Sent| {
            let mut headers = sent.2.iter();
            let header = headers.find(|(name, _)| name == "content-type");
            let boundary = header.and_then(|(_, value)| value.split_once("boundary="));
            boundary.map_or("BOUNDARY".to_owned(), |(_, boundary)| boundary.to_owned())
        };
        let plain = |sent: &Sent| {
            let boundary = boundary(sent);
            format!("{sent:?}")
                .replace(&boundary, "BOUNDARY")
                .to_lowercase()
        };
        assert_eq!(plain(imported), plain(copied));
    }
}

fn every_form_becomes_a_scenario_that_compiles() {
    let table = include_str!("../fixtures/curl/forms.json");
    let table: Value = serde_json::from_str(table).expect("our own table");
    let folder = folder();
    for (name, text) in table["files"].as_object().expect("files") {
        fs::write(folder.path().join(name), text.as_str().expect("text")).expect("a file");
    }
    let forms = table["forms"].as_array().expect("forms");
    let commands: Vec<_> = forms
        .iter()
        .map(|form| form["cmd"].as_str().expect("a command"))
        .collect();
    let text = commands.join("\n").replace("PORT", "1");
    fs::write(folder.path().join("copied.sh"), text).expect("a file");
    tool(
        folder.path(),
        "import curl copied.sh --allow-files -o forms.rs",
    )
    .run()
    .exits(0);
    let faulty = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import/postman/faulty.json");
    tool(folder.path(), "import postman -o faulty.rs")
        .arg(faulty)
        .run()
        .exits(0);
    let target = |name: &str| format!("[[test]]\nname = \"{name}\"\nharness = false\n\n");
    let manifest = format!(
        "{}[dev-dependencies]\nloadtest = {}\n\n{}{}{STANDS_ALONE}",
        header("forms"),
        dependency(),
        target("forms"),
        target("faulty"),
    );
    let source = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a source");
    let project = Files::new("forms")
        .file("Cargo.toml", manifest)
        .file("src/lib.rs", "")
        .file("tests/forms.rs", source("forms.rs"))
        .file("tests/faulty.rs", source("faulty.rs"))
        .create();
    let output = project.tool("list", "").run().exits(0);
    let steps = output.stdout.matches("weight 1").count();
    let requests = forms
        .iter()
        .map(|form| form["requests"].as_array().expect("requests").len());
    assert!(steps > requests.sum(), "{output}");
}

fn an_import_says_what_its_package_lacks() {
    const PACKAGE: &str = "[package]\nname = \"site\"\nversion = \"0.1.0\"\n";
    let folder = folder();
    fs::write(folder.path().join("Cargo.toml"), PACKAGE).expect("a file");
    let import = || {
        let call = tool(
            folder.path(),
            "import curl -o tests/pages/visit.rs --force --",
        );
        call.args(["curl", "http://127.0.0.1:1/"]).run().exits(0)
    };
    import().says(&[
        "Wrote tests/pages/visit.rs",
        "`tests/pages/visit.rs` is no load test yet",
        "path = \"tests/pages/visit.rs\"",
        "harness = false",
    ]);
    let target = "[[test]]\nname = \"visit\"\npath = \"tests/pages/visit.rs\"\nharness = false\n";
    let manifest = format!("{PACKAGE}\n{target}");
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("a file");
    import().says_no("no load test yet");
}

fn an_import_keeps_secrets_out_and_files_as_they_are() {
    let folder = folder();
    let call = tool(
        folder.path(),
        "import curl -- curl http://h/a?token=canary-1 -u ada:canary-2",
    );
    let output = call
        .args(["-H", "X-Api-Key: canary-3", "-d", "password=canary-4"])
        .run()
        .exits(0);
    output.says(&["Secret PASSWORD"]);
    let output = tool(
        folder.path(),
        "import curl -- curl http://h/a?token=canary-1",
    )
    .run()
    .exits(0);
    assert!(
        !output.stdout.contains("canary") && !output.stderr.contains("canary"),
        "{output}"
    );
    let output = output.prints(&["get = \"/a?token={{secret.TOKEN}}\"", "fn get_a();"]);
    assert!(
        output
            .stderr
            .contains("TOKEN: `token` in the URL of `get_a`"),
        "{output}"
    );
    fs::write(folder.path().join("load.rs"), "mine").expect("a file");
    let call = || tool(folder.path(), "import curl -o load.rs");
    call()
        .args(["--", "curl", "http://h/"])
        .run()
        .exits(2)
        .says(&["is there already", "--force"]);
    assert_eq!(
        fs::read_to_string(folder.path().join("load.rs")).expect("a file"),
        "mine"
    );
    call()
        .args(["--force", "--", "curl", "http://h/"])
        .run()
        .exits(0);
    assert_ne!(
        fs::read_to_string(folder.path().join("load.rs")).expect("a file"),
        "mine"
    );
    fs::write(folder.path().join("host.sh"), "curl \"https://$HOST/\"").expect("a file");
    tool(folder.path(), "import curl host.sh")
        .run()
        .exits(2)
        .says(&["host.sh:1:6", "host comes from a variable"]);
    fs::write(
        folder.path().join("host.sh"),
        "curl http://h/ -H \"X-A: b $NAME\"",
    )
    .expect("a file");
    tool(folder.path(), "import curl host.sh")
        .run()
        .exits(0)
        .prints(&["\"b {{secret.NAME}}\""]);
}

//! A load test from a copied curl command: no package, no code.

use crate::call::Call;
use crate::trials;
use libtest_mimic::Trial;
use loadtest_tests::{Copied, Reply, Sent, Server};
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
        a_script_is_read_for_its_commands,
        a_command_without_its_dashes_is_told_where_it_stands,
    ]
}

/// An empty folder, in no workspace.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder of the system")
}

pub(crate) fn tool(folder: &Path, line: &str) -> Call {
    Call::tool(folder).line(line)
}

/// The table of forms of commands, with what curl sends of each.
pub(crate) fn forms() -> Value {
    let table = include_str!("../fixtures/curl/forms.json");
    serde_json::from_str(table).expect("our own table")
}

/// Writes the commands of the table, and the files that they name.
pub(crate) fn write_forms(table: &Value, folder: &Path, port: &str) {
    for (name, text) in table["files"].as_object().expect("files") {
        fs::write(folder.join(name), text.as_str().expect("text")).expect("a file");
    }
    let forms = table["forms"].as_array().expect("forms").iter();
    let commands: Vec<_> = forms
        .map(|form| form["cmd"].as_str().expect("a command"))
        .collect();
    let text = commands.join("\n").replace("PORT", port);
    fs::write(folder.join("copied.sh"), text).expect("a file");
}

fn every_form_is_sent_as_curl_sends_it() {
    let server = Server::recording(|_| Reply::text("ok"));
    let port = server.address().port().to_string();
    let table = forms();
    let folder = folder();
    write_forms(&table, folder.path(), &port);
    let call = tool(
        folder.path(),
        "run --iterations 1 --curl copied.sh --allow-files",
    );
    call.env("TOKEN", "tok123").run().exits(0);
    let copied = Copied::new(&table);
    let ours = server.recorded();
    assert_eq!(ours.len(), copied.count());
    for (ours, theirs) in ours.iter().zip(copied.wanted()) {
        assert_eq!(&Sent::of(ours, theirs), theirs);
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
        "run --rate 50/s --duration 400ms --export json --export html -- curl",
    )
    .args([url.as_str(), "-H", "X-Key: a b", "--data-raw", "{\"a\": 1}"]);
    let output = call.run().exits(0);
    output.prints(&[
        "curl::post_orders",
        "100 %",
        "success",
        "Answers by status",
        " of 50/s",
    ]);
    let requests = server.recorded();
    assert_eq!(requests.len(), 20);
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
        .exits(0)
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
        .exits(99);
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
    let output = call.env("HIDDEN", "canary-6").run().exits(99);
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
        .says(&["is not a permitted target", "nothing was sent"]);
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
        .exits(0);
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
        .says(&["starts with `wget`"]);
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

fn a_script_is_read_for_its_commands() {
    let server = Server::recording(|_| Reply::json("{}"));
    let folder = folder();
    let url = server.url();
    let script = format!(
        "#!/bin/sh\r\n# Order\r\nexport KIND=books\r\necho start\r\ncurl {url}/orders \\\r\n  -d @- <<EOF\r\n\
         it=7\r\nEOF\r\ncurl \"{url}/list?kind=$KIND&t=$TOKEN\" | jq .\r\n"
    );
    fs::write(folder.path().join("orders.sh"), &script).expect("a file");
    let run = || tool(folder.path(), "run --iterations 1 --curl orders.sh");
    let call = run().env("TOKEN", "ada");
    call.run()
        .exits(0)
        .says(&["`echo` is not run", "1 more like this", "orders.sh:4:1"]);
    let sent: Vec<_> = server
        .recorded()
        .iter()
        .map(|request| format!("{} {} {}", request.method, request.target, request.text()))
        .collect();
    assert_eq!(sent, ["POST /orders it=7", "GET /list?kind=books&t=ada "]);
    run()
        .run()
        .exits(2)
        .has_one_error()
        .says(&["`TOKEN` is not in the environment", "orders.sh:9:"]);
    let asks = format!("TOKEN=$(curl {url}/login)\n{script}");
    fs::write(folder.path().join("orders.sh"), asks).expect("a file");
    run()
        .run()
        .exits(2)
        .has_one_error()
        .says(&["orders.sh:1:7", "no shell is ever run"]);
    let looped = format!("for i in 1 2; do\n  {script}done\n");
    fs::write(folder.path().join("orders.sh"), looped).expect("a file");
    run()
        .run()
        .exits(2)
        .has_one_error()
        .says(&["orders.sh:1:1", "`for` is not imported"]);
}

fn a_command_without_its_dashes_is_told_where_it_stands() {
    let folder = folder();
    for (line, words) in [
        ("run --users 2 curl http://127.0.0.1:1/", "goes after `--`"),
        ("import curl http://127.0.0.1:1/", "goes after `--`"),
        ("debug curl http://127.0.0.1:1/", "goes after `--`"),
        ("debug shop -- curl http://127.0.0.1:1/", "cannot be used"),
        ("plan --tag x -- curl http://127.0.0.1:1/", "cannot be used"),
        ("run --mix -- curl http://127.0.0.1:1/", "cannot be used"),
        ("capacity -- curl http://127.0.0.1:1/", "give `--slo"),
        ("debug", "were not provided"),
        (
            "run -- curl http://127.0.0.1:1/ --users 2",
            "go before `--`",
        ),
    ] {
        tool(folder.path(), line)
            .run()
            .exits(2)
            .has_one_error()
            .says(&[words]);
    }
}

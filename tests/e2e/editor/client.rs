//! An editor, as far as rust-analyzer sees one: it opens a file, types, and asks.

use crate::call::{LIMIT, clean};
use crate::project::{Project, build_folders};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use tokio::time::Instant;

/// The pause before a request is sent again.
const PAUSE: Duration = Duration::from_millis(100);
/// The answers to a request that a change, or the server's own work, made pointless; it is sent again.
const SEND_AGAIN: [i64; 2] = [-32801, -32802];

/// A running server with one open file.
pub(super) struct Editor {
    server: Child,
    stdin: ChildStdin,
    messages: Receiver<Value>,
    file: String,
    version: u64,
    requests: u64,
}

impl Drop for Editor {
    fn drop(&mut self) {
        // it may have ended on its own
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Editor {
    /// Opens `path` of `project`, and waits until the server has read the project.
    pub(super) fn open(project: &Project, path: &str) -> Self {
        let mut command = Command::new("rust-analyzer");
        clean(&mut command);
        let (programs, build) = build_folders(project.root());
        let mut server = command
            .current_dir(project.root())
            .env("CARGO_TARGET_DIR", programs)
            .env("CARGO_BUILD_BUILD_DIR", build)
            .env("CARGO_NET_OFFLINE", "true")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("rust-analyzer is installed");
        let stdin = server.stdin.take().expect("a piped stdin");
        let mut stdout = BufReader::new(server.stdout.take().expect("a piped stdout"));
        let (sender, messages) = channel();
        thread::spawn(move || {
            while let Some(message) = read_message(&mut stdout) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut editor = Self {
            server,
            stdin,
            messages,
            file: uri(project, path),
            version: 1,
            requests: 0,
        };
        editor.initialize(project);
        let document = json!({
            "uri": editor.file,
            "languageId": "rust",
            "version": 1,
            "text": project.text(path),
        });
        editor.notify("textDocument/didOpen", &json!({ "textDocument": document }));
        editor.wait_until_ready();
        editor
    }

    fn initialize(&mut self, project: &Project) {
        let build = [
            "cargo",
            "build",
            "--tests",
            "--profile=test",
            "--message-format=json",
            "--quiet",
        ];
        self.ask(
            "initialize",
            &json!({
                "processId": std::process::id(),
                "rootUri": uri(project, ""),
                "capabilities": {
                    "textDocument": {
                        "completion": { "completionItem": { "snippetSupport": false } },
                        "hover": { "contentFormat": ["plaintext"] },
                        "diagnostic": {},
                    },
                    "window": { "workDoneProgress": false },
                    "experimental": { "serverStatusNotification": true },
                },
                // what the tests of this suite have built is used again
                "initializationOptions": {
                    "cachePriming": { "enable": false },
                    "cargo": {
                        "sysroot": "discover",
                        "buildScripts": { "overrideCommand": build },
                    },
                    "checkOnSave": false,
                },
            }),
        );
        self.notify("initialized", &json!({}));
    }

    fn wait_until_ready(&mut self) {
        let deadline = Instant::now() + LIMIT;
        loop {
            let message = self.receive(deadline);
            if message["method"] == "experimental/serverStatus"
                && message["params"]["quiescent"] == true
            {
                return;
            }
        }
    }

    /// Replaces the text of the file.
    pub(super) fn write(&mut self, text: &str) {
        self.version += 1;
        self.notify(
            "textDocument/didChange",
            &json!({
                "textDocument": { "uri": self.file, "version": self.version },
                "contentChanges": [{ "text": text }],
            }),
        );
    }

    /// The messages of the server's own diagnostics.
    pub(super) fn diagnostics(&mut self) -> Vec<String> {
        let file = self.document();
        let report = self.ask("textDocument/diagnostic", &json!({ "textDocument": file }));
        list(&report["items"], |item| &item["message"])
    }

    /// What is offered at `place`.
    pub(super) fn completions(&mut self, place: &Value) -> Vec<String> {
        let offered = self.at("textDocument/completion", place);
        list(&offered["items"], |item| &item["label"])
    }

    /// The text of the hover at `place`.
    pub(super) fn hover(&mut self, place: &Value) -> String {
        let hover = self.at("textDocument/hover", place);
        text(&hover["contents"]["value"])
    }

    /// Where the definition of the name at `place` begins: line and column, from 0.
    pub(super) fn definition(&mut self, place: &Value) -> Vec<Value> {
        let found = self.at("textDocument/definition", place);
        let found = found.as_array().cloned().unwrap_or_default();
        found
            .iter()
            .map(|location| location["range"]["start"].clone())
            .collect()
    }

    /// Where a rename of the name at `place` changes this file.
    pub(super) fn rename(&mut self, place: &Value, name: &str) -> Vec<Value> {
        let edits = self.ask(
            "textDocument/rename",
            &json!({ "textDocument": self.document(), "position": place, "newName": name }),
        );
        let files = edits["documentChanges"].as_array().cloned();
        let edits = files.unwrap_or_default().into_iter().flat_map(|file| {
            let edits = file["edits"].as_array().cloned();
            edits.unwrap_or_default()
        });
        edits.map(|edit| edit["range"]["start"].clone()).collect()
    }

    fn document(&self) -> Value {
        json!({ "uri": self.file })
    }

    fn at(&mut self, method: &str, place: &Value) -> Value {
        self.ask(
            method,
            &json!({ "textDocument": self.document(), "position": place }),
        )
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let deadline = Instant::now() + LIMIT;
        loop {
            self.requests += 1;
            let id = self.requests;
            self.send(&json!({ "id": id, "method": method, "params": params }));
            let answer = loop {
                let message = self.receive(deadline);
                if message["id"] == id && message.get("method").is_none() {
                    break message;
                }
            };
            let code = answer["error"]["code"].as_i64();
            if code.is_none_or(|code| !SEND_AGAIN.contains(&code)) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            thread::sleep(PAUSE);
        }
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "method": method, "params": params }));
    }

    fn send(&mut self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        let text = message.to_string();
        write!(self.stdin, "Content-Length: {}\r\n\r\n{text}", text.len())
            .and_then(|()| self.stdin.flush())
            .expect("rust-analyzer reads");
    }

    /// The next message; requests of the server are answered with nothing.
    fn receive(&mut self, deadline: Instant) -> Value {
        let left = deadline.saturating_duration_since(Instant::now());
        let message = match self.messages.recv_timeout(left) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => {
                panic!("rust-analyzer said nothing of use for {LIMIT:?}")
            }
            Err(RecvTimeoutError::Disconnected) => panic!("rust-analyzer ended"),
        };
        if message.get("method").is_some()
            && let Some(id) = message.get("id")
        {
            let nothing = match message["params"]["items"].as_array() {
                Some(items) => json!(vec![Value::Null; items.len()]),
                None => Value::Null,
            };
            self.send(&json!({ "id": id, "result": nothing }));
        }
        message
    }
}

fn uri(project: &Project, path: &str) -> String {
    format!("file://{}", project.path(path).display())
        .trim_end_matches('/')
        .to_owned()
}

fn list(items: &Value, of: impl Fn(&Value) -> &Value) -> Vec<String> {
    let items = items.as_array().cloned().unwrap_or_default();
    items.iter().map(|item| text(of(item))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A message of the base protocol: headers, an empty line, and as many bytes as they say.
fn read_message(stdout: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stdout.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some(count) = line.strip_prefix("Content-Length: ") {
            length = count.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stdout.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

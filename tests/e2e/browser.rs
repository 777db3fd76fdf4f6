//! Chromium without a window, driven over its own pipe: the `DevTools` protocol, as far as a page of ours needs it.

use crate::call::wait_at_most;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::Instant;

/// No answer takes so long, however busy the machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage \
    --hide-scrollbars --remote-debugging-pipe";

/// Takes what was awaited away once it was clicked on.
const NOTE_CLICKS: &str = "addEventListener('click', ({ target }) => {
    const awaited = sessionStorage.getItem('awaited');
    if (awaited && target.closest(awaited)) sessionStorage.removeItem('awaited');
}, { capture: true })";

/// A browser with tabs, of which one is used; dropped, it is closed.
#[derive(Debug)]
pub(crate) struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    /// Each with its session.
    tabs: Vec<(String, String)>,
    last: u64,
    /// What the page did since it was opened.
    events: Vec<Value>,
    folder: TempDir,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // It reads commands from its descriptor 3 and answers on 4.
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "exec chromium {FLAGS} --user-data-dir=\"$0\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1"
            ))
            .arg(folder.path().join("profile"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let commands = child.stdin.take().expect("a pipe");
        let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while answers
                .read_until(0, &mut message)
                .is_ok_and(|read| read > 0)
            {
                let text = message.strip_suffix(b"\0").unwrap_or(&message);
                let value = serde_json::from_slice(text).unwrap_or(Value::Null);
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            commands,
            messages,
            session: None,
            tabs: Vec::new(),
            last: 0,
            events: Vec::new(),
            folder,
        };
        browser.open_tab();
        browser
    }

    /// Opens a tab, in front of the others.
    pub(crate) fn open_tab(&mut self) {
        self.session = None;
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = self.call(
            "Target.attachToTarget",
            json!({ "targetId": target["targetId"], "flatten": true }),
        );
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let session = word(&attached["sessionId"]);
        self.session = Some(session.clone());
        self.tabs.push((word(&target["targetId"]), session));
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        // Every page notes by itself that it got the awaited click, for another one may be there by then.
        self.call(
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": NOTE_CLICKS }),
        );
    }

    /// Brings a tab to the front, by its number from 0; the others are hidden.
    pub(crate) fn show_tab(&mut self, number: usize) {
        let (target, session) = self.tabs[number].clone();
        self.session = None;
        self.call("Target.activateTarget", json!({ "targetId": target }));
        self.session = Some(session);
    }

    /// Gives a command and waits for its answer.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, parameters: impl Into<Value>) -> Value {
        let message = self.answer(method, parameters.into());
        assert!(message["error"].is_null(), "{method}: {message}");
        message["result"].clone()
    }

    /// The same of a command that may well be refused.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, parameters: impl Into<Value>) -> Option<Value> {
        let message = self.answer(method, parameters.into());
        message.get("result").cloned()
    }

    #[track_caller]
    fn answer(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method });
        command["params"] = parameters;
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let line = format!("{command}\0");
        let sent = self.commands.write_all(line.as_bytes());
        sent.unwrap_or_else(|error| panic!("{method}: {error}"));
        let begin = Instant::now();
        loop {
            let message = self.next(method);
            if message["id"] == self.last {
                return message;
            }
            // A page may tell of events for ever.
            assert!(begin.elapsed() < LIMIT, "{method} was not answered");
        }
    }

    #[track_caller]
    fn next(&mut self, waiting_for: &str) -> Value {
        let message = self.messages.recv_timeout(LIMIT);
        let message = message.unwrap_or_else(|error| panic!("{waiting_for}: {error}"));
        if message["method"].is_string() {
            self.events.push(message.clone());
        }
        message
    }

    /// How wide and high the window is.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        self.zoom(width, height, 1);
    }

    /// The same in pixels of the page, of which each has so many of the window.
    pub(crate) fn zoom(&mut self, width: u32, height: u32, scale: u32) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": false }),
        );
    }

    /// Whether pages may run scripts.
    pub(crate) fn allow_scripts(&mut self, allowed: bool) {
        self.call(
            "Emulation.setScriptExecutionDisabled",
            json!({ "value": !allowed }),
        );
    }

    /// Opens a page, and forgets what happened before.
    #[track_caller]
    pub(crate) fn open(&mut self, page: &str) {
        self.events.clear();
        let file = self.folder.path().join("page.html");
        std::fs::write(&file, page).expect("our own folder");
        let url = format!("file://{}", file.display());
        let answer = self.call("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{answer}");
        let loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.events.iter().any(loaded) {
            self.next("the page");
        }
    }

    /// Opens a page of a server, and forgets what happened before.
    #[track_caller]
    pub(crate) fn visit(&mut self, url: &str) {
        let begin = Instant::now();
        let answer = loop {
            self.events.clear();
            let answer = self.call("Page.navigate", json!({ "url": url }));
            // A page that loads itself again in this moment calls the navigation off.
            if answer["errorText"] != "net::ERR_ABORTED" {
                break answer;
            }
            assert!(begin.elapsed() < LIMIT, "{url} was called off: {answer}");
        };
        assert!(answer["errorText"].is_null(), "{answer}");
        // The page before it may have been loading, too.
        let is_there = |events: &[Value]| {
            let mut events = events.iter();
            let is_ours = |event: &Value| {
                event["method"] == "Page.frameNavigated"
                    && event["params"]["frame"]["loaderId"] == answer["loaderId"]
            };
            events.any(is_ours) && events.any(|event| event["method"] == "Page.loadEventFired")
        };
        while !is_there(&self.events) {
            self.next(url);
            assert!(begin.elapsed() < LIMIT, "{url} was not loaded");
        }
    }

    /// Waits until something happened so many times since the page was opened.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, name: &str, times: usize) {
        while self.named(name).count() < times {
            self.next(name);
        }
    }

    /// The value that a promise of the page comes to.
    #[track_caller]
    pub(crate) fn awaited(&mut self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }),
        );
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// All that happened since the page was opened.
    pub(crate) fn events(&self) -> &[Value] {
        &self.events
    }

    /// The value of an expression in the page, as soon as the page is loaded.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let look = format!("document.readyState === 'complete' && [{expression}]");
        let look = json!({ "expression": look, "returnByValue": true });
        wait_at_most(LIMIT, expression, || {
            // A page that gives way to another one, or to itself, has no answer.
            let answer = self.ask("Runtime.evaluate", look.clone())?;
            let problem = &answer["exceptionDetails"];
            assert!(problem.is_null(), "{expression}: {answer}");
            answer["result"]["value"].get(0).cloned()
        })
    }

    /// Moves the pointer, from the upper left corner of the window.
    pub(crate) fn point(&mut self, x: f64, y: f64) {
        let parameters = json!({ "type": "mouseMoved", "x": x, "y": y });
        self.call("Input.dispatchMouseEvent", parameters);
    }

    /// Clicks there, with all of `while_pressed` done before the button of the mouse is let go.
    pub(crate) fn click(&mut self, [x, y]: [f64; 2], while_pressed: impl FnOnce(&mut Self)) {
        let button =
            |kind: &str| json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", button("mousePressed"));
        while_pressed(self);
        self.call("Input.dispatchMouseEvent", button("mouseReleased"));
    }

    /// Waits until there is such a part of the page.
    #[track_caller]
    pub(crate) fn wait_until_there_is(&mut self, selector: &str) {
        self.place_of(selector);
    }

    /// Clicks on the middle of a part of the page, once it is there; again if it, or its page, gave way to another one
    /// before the click came.
    #[track_caller]
    pub(crate) fn click_on(&mut self, selector: &str) {
        let awaited = json!(selector);
        wait_at_most(LIMIT, selector, || {
            let place = self.place_of(selector);
            self.value(&format!("sessionStorage.setItem('awaited', {awaited})"));
            self.click(place, |_| {});
            let is_awaited = self.value("sessionStorage.getItem('awaited')") == awaited;
            (!is_awaited).then_some(())
        });
    }

    /// Clicks on a field, and types.
    #[track_caller]
    pub(crate) fn fill_in(&mut self, selector: &str, text: &str) {
        self.click_on(selector);
        // What is there is selected, so that it is typed over.
        self.value("document.activeElement.select()");
        self.write(text);
    }

    /// Where the middle of a part of the page is, once it is there and can be used.
    #[track_caller]
    pub(crate) fn place_of(&mut self, selector: &str) -> [f64; 2] {
        let look = format!(
            "(() => {{
                const part = document.querySelector({});
                if (document.readyState !== 'complete' || !part?.checkVisibility() || part.disabled) return null;
                part.scrollIntoView({{ block: 'center' }});
                const {{ x, y, width, height }} = part.getBoundingClientRect();
                return [x + width / 2, y + height / 2];
            }})()",
            json!(selector)
        );
        let look = json!({ "expression": look, "returnByValue": true });
        wait_at_most(LIMIT, selector, || {
            // A page that gives way to another one has no answer.
            let answer = self.ask("Runtime.evaluate", look.clone())?;
            let place = &answer["result"]["value"];
            Some([place[0].as_f64()?, place[1].as_f64()?])
        })
    }

    /// The addresses that the page asked for since it was opened.
    pub(crate) fn asked_for(&self) -> Vec<String> {
        let asked = self.named("Network.requestWillBeSent");
        asked
            .map(|event| event["params"]["request"]["url"].to_string())
            .collect()
    }

    /// What it complained about, and what it refused.
    pub(crate) fn complaints(&self) -> Vec<String> {
        [
            "Log.entryAdded",
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
        ]
        .into_iter()
        .flat_map(|name| self.named(name))
        .map(Value::to_string)
        .collect()
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.events
            .iter()
            .filter(move |event| event["method"] == name)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The shell has become the browser, which takes its other processes with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

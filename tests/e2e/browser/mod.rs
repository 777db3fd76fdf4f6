//! Chromium without a window, driven over its own pipe: the `DevTools` protocol, as far as a page of ours needs it.

mod process;

use crate::call::{self, wait_at_most};
use process::Process;
pub(crate) use process::end;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::Instant;

/// No answer takes so long, however busy the machine; a page may wait for what is compiled first.
pub(crate) const LIMIT: Duration = call::LIMIT;
/// The pause between two looks at the browser itself, where it says nothing.
const LOOK: Duration = Duration::from_secs(1);

/// Takes what was awaited away once it was clicked on.
const NOTE_CLICKS: &str = "addEventListener('click', ({ target }) => {
    const awaited = sessionStorage.getItem('awaited');
    if (awaited && target.closest(awaited)) sessionStorage.removeItem('awaited');
}, { capture: true })";

/// Where pages are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Nowhere: they are laid out and not drawn, which is half the work. The pointer can press, but not move.
    Nowhere,
    /// In a window that always has the focus, whatever tests do beside.
    InWindow,
    /// In tabs of a window, of which only the one in front is visible.
    InTabs,
}

/// A browser of a test with tabs, of which one is used; dropped, it is closed.
#[derive(Debug)]
pub(crate) struct Browser {
    process: Arc<Process>,
    to_us: Sender<Value>,
    messages: Receiver<Value>,
    shown: Shown,
    /// What separates its cookies from those of others.
    context: Value,
    session: Option<String>,
    has_scripts: bool,
    /// Each with its session.
    tabs: Vec<(String, String)>,
    /// What the page did since it was opened.
    events: Vec<Value>,
    folder: TempDir,
}

impl Browser {
    /// Starts one whose pages are laid out but not drawn.
    pub(crate) fn start() -> Self {
        Self::start_as(Shown::Nowhere)
    }

    /// Starts one whose pages are drawn: for what moves, and for the pointer on its way.
    pub(crate) fn start_with_window() -> Self {
        Self::start_as(Shown::InWindow)
    }

    /// Starts one with several pages, of which only that in front is visible.
    pub(crate) fn start_with_tabs() -> Self {
        Self::start_as(Shown::InTabs)
    }

    fn start_as(shown: Shown) -> Self {
        let (to_us, messages) = mpsc::channel();
        let mut browser = Self {
            process: Process::shared(),
            to_us,
            messages,
            shown,
            context: Value::Null,
            session: None,
            has_scripts: true,
            tabs: Vec::new(),
            events: Vec::new(),
            folder: tempfile::tempdir().expect("a folder"),
        };
        let context = browser.call("Target.createBrowserContext", json!({}));
        browser.context = context["browserContextId"].clone();
        browser.open_tab();
        browser
    }

    /// Opens a tab, in front of the others.
    pub(crate) fn open_tab(&mut self) {
        self.session = None;
        let mut page = json!({ "url": "about:blank", "browserContextId": self.context });
        if self.shown == Shown::Nowhere {
            page["hidden"] = json!(true);
        }
        let target = self.call("Target.createTarget", page);
        let attached = self.call(
            "Target.attachToTarget",
            json!({ "targetId": target["targetId"], "flatten": true }),
        );
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let session = word(&attached["sessionId"]);
        self.process.follow(&session, &self.to_us);
        self.session = Some(session.clone());
        self.tabs.push((word(&target["targetId"]), session));
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        if self.shown != Shown::InTabs {
            let always = json!({ "enabled": true });
            self.call("Emulation.setFocusEmulationEnabled", always);
            self.resize(800, 600);
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
        let number = self.send(method, parameters);
        let begin = Instant::now();
        loop {
            let message = self.next(method);
            if message["id"] == number {
                return message;
            }
            // A page may tell of events for ever.
            assert!(begin.elapsed() < LIMIT, "{method} was not answered");
        }
    }

    /// Gives a command; returns its number.
    #[track_caller]
    fn send(&self, method: &str, parameters: Value) -> u64 {
        let session = self.session.as_deref();
        let sent = self.process.send(method, parameters, session, &self.to_us);
        sent.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    #[track_caller]
    fn next(&mut self, waiting_for: &str) -> Value {
        let message = wait_at_most(LIMIT, waiting_for, || {
            let message = self.messages.recv_timeout(LOOK);
            let is_gone = message.as_ref().map_or(true, Value::is_null);
            if let Some(words) = is_gone.then(|| self.process.last_words()).flatten() {
                panic!("{waiting_for}: the browser ended: {words}");
            }
            message.ok().filter(|message| !message.is_null())
        });
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
        self.has_scripts = allowed;
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
        self.look_for(expression, &format!("[{expression}]"))[0].clone()
    }

    /// Waits until an expression of a loaded page is true.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, condition: &str) {
        self.look_for(condition, &format!("({condition}) || null"));
    }

    /// Waits until an expression of a loaded page has a value that is not null, and returns it.
    #[track_caller]
    fn look_for(&mut self, what: &str, expression: &str) -> Value {
        let found = format!("(document.readyState === 'complete' ? ({expression}) : null)");
        // The page looks again by itself, so that a test that waits leaves the processors to what it waits for.
        let later = format!(
            "new Promise((done) => {{
                let looks = 0;
                const timer = setInterval(() => {{
                    const found = {found};
                    if (found === null && ++looks < 100) return;
                    clearInterval(timer);
                    done(found);
                }}, 20);
            }})"
        );
        wait_at_most(LIMIT, what, || {
            let now = self.evaluate(&found)?;
            if now.is_null() && self.has_scripts {
                self.evaluate(&later).filter(|found| !found.is_null())
            } else {
                Some(now).filter(|found| !found.is_null())
            }
        })
    }

    /// The value of an expression, or of what its promise comes to; a page that gives way to another one, or to itself,
    /// has none.
    #[track_caller]
    fn evaluate(&mut self, expression: &str) -> Option<Value> {
        let look = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", look)?;
        let problem = &answer["exceptionDetails"];
        assert!(problem.is_null(), "{expression}: {answer}");
        Some(answer["result"]["value"].clone())
    }

    /// Moves the pointer, from the upper left corner of the window.
    pub(crate) fn point(&mut self, x: f64, y: f64) {
        let parameters = json!({ "type": "mouseMoved", "x": x, "y": y });
        self.call("Input.dispatchMouseEvent", parameters);
    }

    /// Clicks there.
    pub(crate) fn click(&mut self, place: [f64; 2]) {
        self.use_button("mousePressed", place);
        self.use_button("mouseReleased", place);
    }

    /// Presses the button of the mouse on a part of the page; again, where the part moved before it was met.
    #[track_caller]
    pub(crate) fn hold_down(&mut self, selector: &str) -> [f64; 2] {
        let is_pressed = format!(
            "document.querySelector({}).matches(':active')",
            json!(selector)
        );
        wait_at_most(LIMIT, selector, || {
            let place = self.place_of(selector);
            self.use_button("mousePressed", place);
            let is_met = self.value(&is_pressed) == true;
            if !is_met {
                self.use_button("mouseReleased", place);
            }
            is_met.then_some(place)
        })
    }

    /// Lets the button of the mouse go.
    pub(crate) fn let_go(&mut self, place: [f64; 2]) {
        self.use_button("mouseReleased", place);
    }

    fn use_button(&mut self, kind: &str, [x, y]: [f64; 2]) {
        let parameters = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", parameters);
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
            self.click(place);
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
                if (!part?.checkVisibility() || part.disabled) return null;
                part.scrollIntoView({{ block: 'center' }});
                const {{ x, y, width, height }} = part.getBoundingClientRect();
                return [x + width / 2, y + height / 2];
            }})()",
            json!(selector)
        );
        let place = self.look_for(selector, &look);
        [0, 1].map(|at| place[at].as_f64().expect("a number"))
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
        // Nothing more is asked of a server once its pages are closed. Their context stays until the browser ends: to
        // remove it below a page that is not drawn and still ends would end the browser.
        for (target, session) in &self.tabs {
            self.process.forget(session);
            let page = json!({ "targetId": target });
            let sent = self
                .process
                .send("Target.closeTarget", page, None, &self.to_us);
            while let (Ok(number), Ok(message)) = (&sent, self.messages.recv_timeout(LIMIT)) {
                if message.is_null() || message["id"] == *number {
                    break;
                }
            }
        }
    }
}

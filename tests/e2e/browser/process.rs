//! The process of the browser: one for all tests, each of which has cookies and a store of its own in it.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tempfile::TempDir;

const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage \
    --hide-scrollbars --remote-debugging-pipe";
/// A process for graphics that a busy machine keeps waiting is taken for one that hangs, and the browser ends with it.
const PATIENT: &str = "--in-process-gpu --disable-gpu-watchdog --disable-hang-monitor";
/// The pages of the browser's own address bar, and what it keeps for pages to come: as much work as its start, for
/// every window. No test goes back to a page, or types an address.
const NOT_NEEDED: &str = "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,\
    PreloadTopChromeWebUI,SpareRendererForSitePerProcess,BackForwardCache";

static SHARED: Mutex<Option<Arc<Process>>> = Mutex::new(None);

/// A browser under way.
#[derive(Debug)]
pub(super) struct Process {
    child: Mutex<Child>,
    commands: Mutex<ChildStdin>,
    routes: Arc<Mutex<Routes>>,
    folder: TempDir,
}

/// Where its messages go.
#[derive(Debug, Default)]
struct Routes {
    last: u64,
    is_over: bool,
    answers: HashMap<u64, Sender<Value>>,
    /// The events of a session.
    events: HashMap<String, Sender<Value>>,
}

impl Routes {
    fn deliver(&mut self, message: Value) {
        let to = match message["id"].as_u64() {
            Some(id) => self.answers.remove(&id),
            None => (message["sessionId"].as_str())
                .and_then(|session| self.events.get(session))
                .cloned(),
        };
        if let Some(to) = to {
            // A test that is over waits for nothing.
            let _ = to.send(message);
        }
    }

    /// Without the browser, all that waits is told so.
    fn end(&mut self) {
        self.is_over = true;
        let answers = self.answers.drain().map(|(_, to)| to);
        for to in answers.chain(self.events.drain().map(|(_, to)| to)) {
            let _ = to.send(Value::Null);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the browser, if there is one.
pub(crate) fn end() {
    if let Some(process) = lock(&SHARED).take() {
        let mut child = lock(&process.child);
        // The shell has become the browser, which takes its other processes with it.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Process {
    /// Returns the browser of all tests, and starts it for the first one.
    pub(super) fn shared() -> Arc<Self> {
        let mut shared = lock(&SHARED);
        let known = shared.as_ref();
        if let Some(process) = known.filter(|process| !lock(&process.routes).is_over) {
            return Arc::clone(process);
        }
        let process = Arc::new(Self::start());
        *shared = Some(Arc::clone(&process));
        process
    }

    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // It reads commands from its descriptor 3 and answers on 4.
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "exec chromium {FLAGS} {PATIENT} {NOT_NEEDED} --user-data-dir=\"$0\" about:blank 3<&0 4>&1 </dev/null >\"$0.log\" 2>&1"
            ))
            .arg(folder.path().join("profile"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let commands = child.stdin.take().expect("a pipe");
        let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let routes = Arc::new(Mutex::new(Routes::default()));
        let known = Arc::clone(&routes);
        thread::spawn(move || {
            let mut message = Vec::new();
            while answers
                .read_until(0, &mut message)
                .is_ok_and(|read| read > 0)
            {
                let text = message.strip_suffix(b"\0").unwrap_or(&message);
                let value = serde_json::from_slice(text).unwrap_or(Value::Null);
                lock(&known).deliver(value);
                message.clear();
            }
            lock(&known).end();
        });
        Self {
            child: Mutex::new(child),
            commands: Mutex::new(commands),
            routes,
            folder,
        }
    }

    /// Returns what the browser said last, if it has ended. Its other processes may keep its pipe open.
    pub(super) fn last_words(&self) -> Option<String> {
        let status = lock(&self.child).try_wait().ok().flatten()?;
        lock(&self.routes).is_over = true;
        let log = std::fs::read_to_string(self.folder.path().join("profile.log"));
        let log = log.unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(9).collect();
        Some(format!("{status}, latest first: {lines:#?}"))
    }

    /// Sends a command, whose answer goes to `to`; returns its number.
    pub(super) fn send(
        &self,
        method: &str,
        parameters: Value,
        session: Option<&str>,
        to: &Sender<Value>,
    ) -> std::io::Result<u64> {
        let number = {
            let mut routes = lock(&self.routes);
            if routes.is_over {
                return Err(std::io::ErrorKind::BrokenPipe.into());
            }
            routes.last += 1;
            let number = routes.last;
            routes.answers.insert(number, to.clone());
            number
        };
        let mut command = json!({ "id": number, "method": method });
        command["params"] = parameters;
        if let Some(session) = session {
            command["sessionId"] = json!(session);
        }
        let line = format!("{command}\0");
        lock(&self.commands).write_all(line.as_bytes())?;
        Ok(number)
    }

    /// Has the events of a session go to `to`.
    pub(super) fn follow(&self, session: &str, to: &Sender<Value>) {
        let mut routes = lock(&self.routes);
        routes.events.insert(session.to_owned(), to.clone());
    }

    /// Has no events of a session go anywhere.
    pub(super) fn forget(&self, session: &str) {
        lock(&self.routes).events.remove(session);
    }
}

//! Calls of cargo and of the tool: an environment without the cargo that runs this suite, a limit of
//! time, and everything that was printed.

use crate::project::{build_folders, build_once, kept, ours, workspace};
use loadtest_model::protocol::VALIDITY_VARIABLE;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::time::Instant;

/// No call takes so long, however busy the machine; the first one compiles everything.
pub(crate) const LIMIT: Duration = Duration::from_secs(1_800);
/// How long a pipe may stay open after the end of the process it was made for.
const LEFT_OPEN: Duration = Duration::from_secs(10);
/// The pause between two looks at something that is bound to come.
const PAUSE: Duration = Duration::from_millis(10);

/// A call that is not started yet.
#[derive(Debug)]
#[must_use]
pub(crate) struct Call {
    command: Command,
}

/// A call under way; dropped, it is ended.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: Stream,
    stderr: Stream,
    line: String,
}

/// A call that is over.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    line: String,
}

impl Call {
    /// The tool, as cargo would call it for `cargo loadtest`.
    pub(crate) fn tool(folder: &Path) -> Self {
        Self::program(tool(), folder).arg("loadtest")
    }

    /// Cargo.
    pub(crate) fn cargo(folder: &Path) -> Self {
        Self::program("cargo", folder)
    }

    /// Cargo in this workspace, where it finds what was built with this suite.
    pub(crate) fn cargo_here() -> Self {
        Self::cargo(workspace()).here()
    }

    /// Compiles in the target folder of this workspace, as this suite was compiled.
    pub(crate) fn here(mut self) -> Self {
        self.command
            .env("CARGO_TARGET_DIR", ours())
            .env_remove("CARGO_PROFILE_TEST_DEBUG");
        // Another compiler would build all of it again.
        if let Some(wrapper) = std::env::var_os("RUSTC_WORKSPACE_WRAPPER") {
            self.command.env("RUSTC_WORKSPACE_WRAPPER", wrapper);
        }
        self
    }

    /// Any program.
    pub(crate) fn program(program: impl AsRef<OsStr>, folder: &Path) -> Self {
        let mut command = Command::new(program);
        command.current_dir(folder);
        clean(&mut command);
        let (programs, build) = build_folders(folder);
        command
            .env("CARGO_TARGET_DIR", programs)
            .env("CARGO_BUILD_BUILD_DIR", build)
            .env("CARGO_NET_OFFLINE", "true")
            // Nobody debugs a project of a test.
            .env("CARGO_PROFILE_TEST_DEBUG", "false")
            .stdin(Stdio::null());
        Self { command }
    }

    /// Adds an argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    /// Adds the words of a line as arguments.
    pub(crate) fn line(self, line: &str) -> Self {
        self.args(line.split_whitespace())
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Has the validity of a run judged, which a functional test does not depend on.
    pub(crate) fn judged(self) -> Self {
        self.env(VALIDITY_VARIABLE, "on")
    }

    /// Starts the call.
    pub(crate) fn start(mut self) -> Running {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.spawn()
    }

    /// Starts the call with a standard output that nobody reads and that is closed already.
    pub(crate) fn start_without_stdout(mut self) -> Running {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        self.command.stdout(writer).stderr(Stdio::piped());
        self.spawn()
    }

    /// Starts the call with a standard output that takes nothing, and is not closed.
    #[cfg(unix)]
    #[track_caller]
    pub(crate) fn output_without_room(mut self) -> Output {
        let (reader, mut writer) = std::os::unix::net::UnixStream::pair().expect("a pair");
        // Where a write would wait for ever, it fails.
        writer.set_nonblocking(true).expect("our own socket");
        while io::Write::write(&mut writer, &[b' '; 4096]).is_ok() {}
        self.command
            .stdout(std::os::fd::OwnedFd::from(writer))
            .stderr(Stdio::piped());
        let output = self.spawn().output();
        drop(reader);
        output
    }

    fn spawn(mut self) -> Running {
        let is_decided = |(key, _): (&OsStr, _)| key == VALIDITY_VARIABLE;
        if !self.command.get_envs().any(is_decided) {
            self.command.env(VALIDITY_VARIABLE, "off");
        }
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
        let line = words.join(" ");
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut self.command, 0);
        let mut child = self
            .command
            .spawn()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        Running {
            stdout: child.stdout.take().map(Stream::read).unwrap_or_default(),
            stderr: child.stderr.take().map(Stream::read).unwrap_or_default(),
            child,
            line,
        }
    }

    /// Makes the call.
    #[track_caller]
    pub(crate) fn run(self) -> Output {
        self.start().output()
    }
}

impl Running {
    /// Waits for the end.
    #[track_caller]
    pub(crate) fn output(mut self) -> Output {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                break status;
            }
            if begin.elapsed() > LIMIT {
                self.kill();
                panic!(
                    "{} took more than {LIMIT:?}\n{}{}",
                    self.line,
                    self.stdout.text(),
                    self.stderr.text()
                );
            }
            thread::sleep(PAUSE);
        };
        Output {
            status,
            stdout: self.stdout.whole(),
            stderr: self.stderr.whole(),
            line: std::mem::take(&mut self.line),
        }
    }

    /// Waits until standard error holds `part`.
    #[track_caller]
    pub(crate) fn wait_until_it_says(&mut self, part: &str) {
        self.wait_until_it_said(part, |said| said.contains(part).then_some(()));
    }

    /// Waits until standard error holds a whole word after `part`, and returns it.
    #[track_caller]
    pub(crate) fn wait_for_word_after(&mut self, part: &str) -> String {
        self.wait_until_it_said(part, |said| {
            let (_, rest) = said.split_once(part)?;
            let (word, _) = rest.split_once(char::is_whitespace)?;
            Some(word.to_owned())
        })
    }

    /// Waits until standard error holds what `find` finds.
    #[track_caller]
    fn wait_until_it_said<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        let stderr = self.stderr.clone();
        self.wait_for_output(&stderr, what, find)
    }

    /// Waits until standard output holds what `find` finds.
    #[track_caller]
    pub(crate) fn wait_until_it_printed<T>(
        &mut self,
        what: &str,
        find: impl Fn(&str) -> Option<T>,
    ) -> T {
        let stdout = self.stdout.clone();
        self.wait_for_output(&stdout, what, find)
    }

    #[track_caller]
    fn wait_for_output<T>(
        &mut self,
        stream: &Stream,
        what: &str,
        find: impl Fn(&str) -> Option<T>,
    ) -> T {
        wait_for(&format!("{what:?} of {}", self.line), || {
            let ended = self.child.try_wait().expect("our own child");
            let text = stream.text();
            let found = find(&text);
            assert!(
                ended.is_none() || found.is_some(),
                "{} ended without {what:?}\n{text}\n{}",
                self.line,
                self.stderr.text()
            );
            found
        })
    }

    /// What came to standard error so far.
    pub(crate) fn said(&self) -> String {
        self.stderr.text()
    }

    /// What came to standard output so far.
    pub(crate) fn printed(&self) -> String {
        self.stdout.text()
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the called process alone.
    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        send(self.process(), signal);
    }

    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = pid(self.child.id()) {
            // The call leads a group of its own, and has not been waited for.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.kill();
        }
    }
}

impl Output {
    /// The exit code is `code`.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "the exit code\n{self}");
        self
    }

    /// Returns the program of the target `name` among the messages of cargo.
    #[track_caller]
    pub(crate) fn executable(&self, name: &str) -> PathBuf {
        let messages = self.stdout.lines();
        messages
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .find_map(|message| {
                let named = message["target"]["name"] == name;
                let path = message["executable"].as_str().filter(|_| named)?;
                Some(PathBuf::from(path))
            })
            .expect("cargo names the program it built")
    }

    /// Standard error holds each of `parts`.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part), "stderr lacks {part:?}\n{self}");
        }
        self
    }

    /// Standard error holds no `part`.
    #[track_caller]
    pub(crate) fn says_no(self, part: &str) -> Self {
        assert!(!self.stderr.contains(part), "stderr has {part:?}\n{self}");
        self
    }

    /// Standard error has one line that begins with `error`.
    #[track_caller]
    pub(crate) fn has_one_error(self) -> Self {
        let errors = self.stderr.lines().filter(|line| line.starts_with("error"));
        assert_eq!(errors.count(), 1, "one error\n{self}");
        self
    }

    /// Standard output holds each of `parts`.
    #[track_caller]
    pub(crate) fn prints(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stdout.contains(part), "stdout lacks {part:?}\n{self}");
        }
        self
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            status,
            stdout,
            stderr,
            line,
        } = self;
        write!(
            f,
            "{line}\n{status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n---"
        )
    }
}

/// Looks again and again until `look` finds something, which may have to be compiled first.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_at_most(LIMIT, what, look)
}

/// Looks again and again, for `limit` at most, until `look` finds something.
#[track_caller]
pub(crate) fn wait_at_most<T>(limit: Duration, what: &str, look: impl FnMut() -> Option<T>) -> T {
    look_for(limit, look).unwrap_or_else(|| panic!("{what} did not come in {limit:?}"))
}

/// Does the same, and returns `None` where nothing was found.
pub(crate) fn look_for<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        let found = look();
        if found.is_some() || begin.elapsed() > limit {
            return found;
        }
        thread::sleep(PAUSE);
    }
}

/// Sends a signal to a process of ours.
#[cfg(unix)]
pub(crate) fn send(id: u32, signal: rustix::process::Signal) {
    let pid = pid(id).expect("the number of a process");
    rustix::process::kill_process(pid, signal).expect("the process is ours");
}

#[cfg(unix)]
pub(crate) fn pid(id: u32) -> Option<rustix::process::Pid> {
    i32::try_from(id)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
}

/// Returns whether a process runs; one that has ended and was not waited for does not.
#[cfg(unix)]
pub(crate) fn is_running(process: u32) -> bool {
    match fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(state) => !state.contains(") Z "),
        Err(_) => pid(process).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok()),
    }
}

/// Takes from the environment what belongs to the cargo that runs this suite, and whatever would
/// change what the tool does.
pub(crate) fn clean(command: &mut Command) {
    const OURS: [&str; 5] = [
        "CARGO_HOME",
        // Of two minds about this, cargo would compile the tool twice.
        "CARGO_INCREMENTAL",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
        "RUSTUP_DIST_SERVER",
    ];
    const FOREIGN: [&str; 9] = [
        "CARGO",
        "RUST",
        "LOADTEST_",
        "NEXTEST",
        "DEP_",
        "LD_LIBRARY_PATH",
        "DYLD_",
        "__CARGO",
        "GITHUB_",
    ];
    for (name, _) in std::env::vars_os() {
        let foreign = name.to_str().is_some_and(|name| {
            FOREIGN.iter().any(|prefix| name.starts_with(prefix)) && !OURS.contains(&name)
        });
        if foreign {
            command.env_remove(name);
        }
    }
    let others = ["CI", "NO_COLOR", "CLICOLOR_FORCE", "OUT_DIR"];
    let jobs = ["GITHUB_RUN_ID", "CI_JOB_URL", "BUILD_URL"];
    let proxies = [
        "http_proxy",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ];
    for name in others.iter().chain(&jobs).chain(&proxies) {
        command.env_remove(name);
    }
}

/// The tool of this workspace, built once: that of the alias, which `cargo test --workspace` builds as well.
pub(crate) fn tool() -> &'static Path {
    static TOOL: OnceLock<PathBuf> = OnceLock::new();
    TOOL.get_or_init(|| built("cargo-loadtest"))
}

/// The shop of this workspace, built once.
#[cfg(unix)]
pub(crate) fn shop() -> &'static Path {
    static SHOP: OnceLock<PathBuf> = OnceLock::new();
    SHOP.get_or_init(|| built("shop"))
}

/// Builds a program of the shop's package.
fn built(program: &str) -> PathBuf {
    build_once(Path::new(program), || {
        // Of the whole workspace and with an example: with the features of `cargo test --workspace`, so that nothing is
        // compiled a second time.
        let output = Call::cargo_here()
            .line("build --quiet --profile test --workspace --example cargo-loadtest --bin shop")
            .line("--message-format json-render-diagnostics")
            .run()
            .exits(0);
        keep_program(&output.executable(program))
    })
}

/// Links a program to a path where no other build replaces it: the alias `cargo loadtest` puts the tool with its own
/// features where the one of the tests was.
fn keep_program(path: &Path) -> PathBuf {
    let kept = kept("programs").join(path.file_name().expect("the name of a program"));
    fs::create_dir_all(kept.parent().expect("it has a folder")).expect("our own folder");
    match fs::remove_file(&kept) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{error}"),
        _ => {}
    }
    fs::hard_link(path, &kept).expect("both are in the target folder");
    kept
}

/// What came out of a pipe so far.
#[derive(Debug, Clone, Default)]
struct Stream(Arc<Mutex<Text>>);

#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    open: bool,
}

impl Stream {
    fn read(mut from: impl Read + Send + 'static) -> Self {
        let stream = Self::default();
        stream.change(|text| text.open = true);
        let ours = stream.clone();
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                ours.change(|text| text.bytes.extend(&piece[..count]));
            }
            ours.change(|text| text.open = false);
        });
        stream
    }

    fn change<T>(&self, change: impl FnOnce(&mut Text) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn text(&self) -> String {
        self.change(|text| String::from_utf8_lossy(&text.bytes).into_owned())
    }

    /// The text once the pipe is closed. A process that was left behind may hold it open; the test
    /// is about to notice that.
    fn whole(&self) -> String {
        let begin = Instant::now();
        while self.change(|text| text.open) && begin.elapsed() < LEFT_OPEN {
            thread::sleep(PAUSE);
        }
        self.text()
    }
}

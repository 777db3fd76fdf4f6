//! Targets that a scenario starts itself, and stops at its end.

#[cfg(unix)]
mod group;
pub(super) mod process;
mod ready;
pub(super) mod serve;

use process::{ChildProcess, LastOutput};
use ready::ReadyProbe;
use serve::{InProcess, ServerEnd};
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::time::Instant;

/// A server under test that belongs to the run.
///
/// A `#[setup]` function of a scenario returns one; paths are then joined to its URL, and it is
/// stopped when the run ends.
///
/// ```no_run
/// # use loadtest::targets::{Target, TargetError};
/// fn shop() -> Result<Target, TargetError> {
///     Target::binary("target/release/shop") // in a test: env!("CARGO_BIN_EXE_shop")
///         .args(["--port", "{port}"])
///         .ready("/health")
///         .start()
/// }
/// ```
#[derive(Debug)]
pub struct Target {
    url: String,
    server: TargetServer,
}

/// Whose the server is.
#[derive(Debug)]
enum TargetServer {
    /// It was there before us and stays.
    Foreign,
    /// A child of ours.
    Child(ChildProcess),
    /// A thread of ours.
    InsideProcess(InProcess),
}

impl Target {
    /// A server that is started from an executable: usually `env!("CARGO_BIN_EXE_name")`, a binary
    /// of the package under test.
    pub fn binary(program: impl Into<PathBuf>) -> TargetCommand {
        TargetCommand {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            probe: ReadyProbe::Connect,
            within: Duration::from_secs(10),
        }
    }

    /// A server in this very process: `serve` gets a listener on a free port of 127.0.0.1 and returns
    /// the future that serves it, which runs on a thread and a runtime (of one thread) of its own.
    ///
    /// This blocks until the server takes connections; when the target is dropped, the server is
    /// stopped. It shares the processors with the load, so the report card says that figures are
    /// indicative: for figures that count, start a process of its own with [`binary`](Self::binary).
    ///
    /// ```no_run
    /// # use loadtest::targets::{Target, TargetError};
    /// # mod axum {
    /// #     pub async fn serve(_: tokio::net::TcpListener, _: ()) -> std::io::Result<()> { Ok(()) }
    /// # }
    /// # fn router() {}
    /// fn shop() -> Result<Target, TargetError> {
    ///     Target::serve(|listener| async move { axum::serve(listener, router()).await })
    /// }
    /// ```
    ///
    /// # Errors
    /// Why there is no server: no free port, no thread, or its future ended at once.
    pub fn serve<F, S>(serve: F) -> Result<Self, TargetError>
    where
        F: FnOnce(tokio::net::TcpListener) -> S + Send + 'static,
        S: Future<Output: ServerEnd>,
    {
        let (server, address) = InProcess::start(serve)?;
        Ok(Self {
            url: format!("http://{address}"),
            server: TargetServer::InsideProcess(server),
        })
    }

    /// A server that runs already and is left running, at this base URL.
    pub fn external(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            server: TargetServer::Foreign,
        }
    }

    /// The base URL of the target: `http://127.0.0.1:34567`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns whether it runs inside this process.
    pub(crate) fn is_in_process(&self) -> bool {
        matches!(self.server, TargetServer::InsideProcess(_))
    }

    /// Asks whether the process of the target, or its future, is still alive.
    ///
    /// # Errors
    /// How it ended, with its last output. A target that we did not start never fails here.
    pub fn check(&self) -> Result<(), TargetError> {
        let process = match &self.server {
            TargetServer::Foreign => return Ok(()),
            TargetServer::InsideProcess(server) => return server.check(),
            TargetServer::Child(process) => process,
        };
        match process.ended()? {
            None => Ok(()),
            Some(status) => Err(TargetError::Died {
                program: process.program.clone(),
                status,
                output: process.last_output(),
            }),
        }
    }
}

/// A command that starts a [`Target`]; made by [`Target::binary`].
#[derive(Debug, Clone)]
#[must_use = "nothing is started before `start`"]
pub struct TargetCommand {
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    probe: ReadyProbe,
    within: Duration,
}

impl TargetCommand {
    /// Adds one argument. `{port}` in it is replaced by the port to listen on.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments. `{port}` in them is replaced by the port to listen on.
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable. `{port}` in its value is replaced by the port to listen on.
    pub fn env(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((key.into(), value.into()));
        self
    }

    /// The target is ready when a `GET` of `path` answers with a 2xx; otherwise it is ready as soon
    /// as it accepts a connection.
    pub fn ready(mut self, path: impl Into<String>) -> Self {
        self.probe = ReadyProbe::get(path.into());
        self
    }

    /// Sets the time limit for the target to become ready; the default is 10 s.
    pub fn ready_within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// Starts the target on a free port of 127.0.0.1 and waits until it is ready.
    ///
    /// This blocks. On Unix the process is in a process group of its own, beside a shell that ends
    /// the group where this process is killed; where there is no `/bin/sh`, it is in our group.
    ///
    /// # Errors
    /// What went wrong, and what the process printed last.
    pub fn start(self) -> Result<Target, TargetError> {
        let told = |text: &String| text.contains(PORT_PLACEHOLDER);
        if !self.args.iter().any(told) && !self.env.iter().any(|(_, value)| told(value)) {
            return Err(TargetError::PortUnused {
                program: program_name(&self.program),
            });
        }
        for _ in 1..MAX_PORT_ATTEMPTS {
            let port = free_port()?;
            let started = Instant::now();
            match self.start_on(port, || started.elapsed()) {
                Err(TargetError::Exited { output, .. }) if was_port_taken(port, &output) => {}
                outcome => return outcome,
            }
        }
        let started = Instant::now();
        self.start_on(free_port()?, || started.elapsed())
    }

    /// Starts it on `port`, and gives it up when `elapsed` says that its time is over.
    fn start_on(&self, port: u16, elapsed: impl Fn() -> Duration) -> Result<Target, TargetError> {
        let program = program_name(&self.program);
        let number = port.to_string();
        let mut command = Command::new(&self.program);
        command.args(
            self.args
                .iter()
                .map(|arg| arg.replace(PORT_PLACEHOLDER, &number)),
        );
        // The output is only ever shown as text, so its colours would be noise.
        command.env("NO_COLOR", "1");
        for (key, value) in &self.env {
            command.env(key, value.replace(PORT_PLACEHOLDER, &number));
        }
        let process =
            ChildProcess::spawn(command, program.clone()).map_err(|error| TargetError::Start {
                program: self.program.clone(),
                hint: start_hint(&error),
                error,
            })?;

        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        loop {
            let left = self.within.saturating_sub(elapsed());
            let answer = self.probe.probe_once(address, left);
            // Asked last: another program may answer on the port of a dead child.
            if let Some(status) = process.ended()? {
                return Err(TargetError::Exited {
                    program,
                    status,
                    output: process.last_output(),
                });
            }
            let Err(answer) = answer else {
                return Ok(Target {
                    url: format!("http://{address}"),
                    server: TargetServer::Child(process),
                });
            };
            if GIVEN_UP.load(Ordering::Relaxed) {
                return Err(TargetError::GivenUp { program });
            }
            if elapsed() >= self.within {
                process.kill();
                return Err(TargetError::NotReady {
                    program,
                    within: self.within,
                    answer,
                    output: process.last_output(),
                });
            }
            thread::sleep(READY_POLL_INTERVAL);
        }
    }
}

/// The placeholder for the port in arguments and environment values.
const PORT_PLACEHOLDER: &str = "{port}";
/// The most ports that are tried. Another process may take a free port before the child does.
const MAX_PORT_ATTEMPTS: usize = 5;
/// The pause between two questions whether the target is ready.
const READY_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// True if the run is to end, so that waiting for a target stops.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Ends the wait for targets that are starting, in every thread.
pub(crate) fn give_up() {
    GIVEN_UP.store(true, Ordering::Relaxed);
}

/// A target that could not be started, or ended before the run did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The process could not be started.
    #[error("cannot start the target `{}`: {error}{hint}", .program.display())]
    Start {
        /// The executable, as given.
        program: PathBuf,
        /// The remedy.
        hint: &'static str,
        /// The error of the system.
        error: io::Error,
    },
    /// Nothing tells the target where to listen.
    #[error(
        "the target `{program}` does not get the port to listen on; \
         write `{{port}}` in one of its arguments or environment values, \
         such as `.args([\"--port\", \"{{port}}\"])`"
    )]
    PortUnused {
        /// The name of the executable.
        program: String,
    },
    /// No port is free.
    #[error("no free port on 127.0.0.1 to start the target on: {0}")]
    NoPort(io::Error),
    /// The process ended before the target was ready.
    #[error("the target `{program}` ended before it was ready ({status}){output}")]
    Exited {
        /// The name of the executable.
        program: String,
        /// Its exit status.
        status: ExitStatus,
        /// The last lines it printed.
        output: LastOutput,
    },
    /// The process runs but the target does not answer as it should.
    #[error(
        "the target `{program}` was not ready within {within:?}: {answer}; \
         give it longer with `.ready_within(..)` if it is only slow to start{output}"
    )]
    NotReady {
        /// The name of the executable.
        program: String,
        /// The time limit.
        within: Duration,
        /// The last response: `GET /health answered 503`.
        answer: String,
        /// The last lines it printed.
        output: LastOutput,
    },
    /// The run was stopped before the target was ready.
    #[error("the run was stopped while the target `{program}` was starting")]
    GivenUp {
        /// The name of the executable.
        program: String,
    },
    /// The process ended after the target had been ready.
    #[error("the target `{program}` died ({status}){output}")]
    Died {
        /// The name of the executable.
        program: String,
        /// Its exit status.
        status: ExitStatus,
        /// The last lines it printed.
        output: LastOutput,
    },
    /// No thread or runtime for a server in this process.
    #[error("cannot start a server in this process: {0}")]
    InsideProcess(io::Error),
    /// A server in this process does not take connections.
    #[error(
        "the server in this process took no connection within {within:?}; \
         serve the listener that the closure is given, and do slow work before `Target::serve`"
    )]
    InsideNotReady {
        /// The time limit.
        within: Duration,
    },
    /// The future of a server in this process ended.
    #[error("the server in this process died: {how}")]
    InsideDied {
        /// The value it returned, or the message of its panic.
        how: String,
    },
    /// The system does not know the process any more.
    #[error("cannot ask whether the target `{program}` is alive: {error}")]
    Unknown {
        /// The name of the executable.
        program: String,
        /// The error of the system.
        error: io::Error,
    },
}

/// Returns the remedy for a process that did not start.
fn start_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "; build it first, or name a binary of this package: \
             `Target::binary(env!(\"CARGO_BIN_EXE_name\"))`"
        }
        io::ErrorKind::PermissionDenied => "; is it an executable file?",
        _ => "",
    }
}

/// The name by which people know an executable.
fn program_name(program: &Path) -> String {
    program
        .file_name()
        .unwrap_or(program.as_os_str())
        .display()
        .to_string()
}

fn free_port() -> Result<u16, TargetError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(TargetError::NoPort)
}

/// Returns whether a child ended since another process had its port.
fn was_port_taken(port: u16, output: &LastOutput) -> bool {
    let said = output.as_str().to_ascii_lowercase();
    ["address already in use", "address in use", "eaddrinuse"]
        .iter()
        .any(|words| said.contains(words))
        || TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_target_that_is_never_ready_is_given_up_and_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pid");
        let script = format!(
            "echo waiting for the database; echo $$ > {0}.part; mv {0}.part {0}; exec sleep 60",
            path.display()
        );
        let command = Target::binary("/bin/sh").args(["-c", &script, PORT_PLACEHOLDER]);
        let second = Duration::from_secs(1);
        let command = command.ready("/health").ready_within(second);
        // Its time is over once it runs.
        let elapsed = || {
            if path.exists() {
                second
            } else {
                Duration::ZERO
            }
        };
        let error = command.start_on(free_port().unwrap(), elapsed).unwrap_err();
        assert!(matches!(error, TargetError::NotReady { .. }), "{error:?}");
        let text = error.to_string();
        assert!(
            text.starts_with(
                "the target `sh` was not ready within 1s: no connection to 127.0.0.1:"
            ),
            "{text}"
        );
        assert!(text.contains("    | waiting for the database"), "{text}");
        let pid = fs::read_to_string(&path).unwrap();
        let mut asks = Command::new("/bin/sh");
        let asked = asks
            .args(["-c", "kill -0 $0", pid.trim()])
            .output()
            .unwrap();
        assert!(!asked.status.success(), "killed, and reaped");
    }
}

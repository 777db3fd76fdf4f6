//! A real NATS server, which can be killed and come back.

use crate::call::wait_for;
use crate::trial::nats_servers;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A server of our own; it is killed when it is dropped.
pub(crate) struct Broker {
    program: PathBuf,
    folder: TempDir,
    child: Child,
    port: u16,
    scheme: &'static str,
}

impl Broker {
    pub(crate) fn start() -> Self {
        let mut programs = nats_servers().into_iter();
        Self::of(&programs.next().expect("the test is left out without one"))
    }

    /// Starts this program.
    pub(crate) fn of(program: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::configured(program, folder, "nats")
    }

    /// Starts one that lets in whom the configuration names, which is in a folder with all that it names.
    pub(crate) fn guarded(folder: TempDir, scheme: &'static str) -> Self {
        let mut programs = nats_servers().into_iter();
        let program = programs.next().expect("the test is left out without one");
        Self::configured(&program, folder, scheme)
    }

    fn configured(program: &Path, folder: TempDir, scheme: &'static str) -> Self {
        Self::launched(program, folder, scheme, true)
    }

    /// Starts one that keeps no streams.
    pub(crate) fn without_streams() -> Self {
        let mut programs = nats_servers().into_iter();
        let program = programs.next().expect("the test is left out without one");
        let folder = tempfile::tempdir().expect("a folder");
        Self::launched(&program, folder, "nats", false)
    }

    fn launched(
        program: &Path,
        folder: TempDir,
        scheme: &'static str,
        keeps_streams: bool,
    ) -> Self {
        let (child, port) = launch(program, &folder, "-1", keeps_streams);
        Self {
            program: program.to_path_buf(),
            folder,
            child,
            port,
            scheme,
        }
    }

    /// The server of the distribution, which is too old; `None` where it is not installed.
    pub(crate) fn start_old() -> Option<Self> {
        let program = Path::new("/usr/sbin/nats-server");
        program.is_file().then(|| Self::of(program))
    }

    /// Its address, as an option of the tool.
    pub(crate) fn option(&self) -> String {
        format!("--cluster {}://{}", self.scheme, self.address())
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("our own child");
        self.child.wait().expect("our own child");
    }

    /// Starts it again where it was, with the messages that it kept.
    pub(crate) fn restart(&mut self) {
        let (child, port) = launch(&self.program, &self.folder, &self.port.to_string(), true);
        assert_eq!(port, self.port);
        self.child = child;
    }

    /// Everything that it wrote to its disk.
    pub(crate) fn written(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("our own folder").flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else {
                    all.extend(fs::read(entry.path()).expect("our own file"));
                }
            }
        }
        all
    }
}

/// Starts a server, and waits until it tells its port.
fn launch(program: &Path, folder: &TempDir, port: &str, keeps_streams: bool) -> (Child, u16) {
    let ports = folder.path().join("ports");
    let _ = fs::remove_dir_all(&ports);
    fs::create_dir(&ports).expect("our own folder");
    let configuration = folder.path().join("server.conf");
    let mut command = Command::new(program);
    if configuration.is_file() {
        command.arg("-c").arg(configuration);
    }
    if keeps_streams {
        command
            .args(["-js", "-sd"])
            .arg(folder.path().join("store"));
    }
    let mut child = command
        .args(["-a", "127.0.0.1", "-p", port, "--ports_file_dir"])
        .arg(&ports)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nats-server");
    let port = wait_for("nats-server", || {
        assert!(
            child.try_wait().expect("our own child").is_none(),
            "nats-server ended"
        );
        let file = fs::read_dir(&ports).ok()?.flatten().next()?;
        let text = fs::read_to_string(file.path()).ok()?;
        let told: serde_json::Value = serde_json::from_str(&text).ok()?;
        let addresses = [&told["nats"][0], &told["tls"][0]];
        let address = addresses.into_iter().find_map(|address| address.as_str())?;
        address.rsplit(':').next()?.parse().ok()
    });
    (child, port)
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! Servers of other authors, written in Python with packages of the system, which `.ci/run` installs.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The Python that packages of the system are for.
const PYTHON: &str = "/usr/bin/python3";

/// A server, which ends with this.
pub(crate) struct PythonServer {
    process: Child,
    /// The URL of its port.
    pub(crate) url: String,
}

impl PythonServer {
    /// Starts a script of `tests/data`, which prints its port, if the module that it imports is installed.
    pub(crate) fn start(script: &str, module: &str) -> Option<Self> {
        let import = format!("import {module}");
        let found = Command::new(PYTHON)
            .args(["-c", &import])
            .stderr(Stdio::null())
            .status();
        if !found.is_ok_and(|status| status.success()) {
            return None;
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let mut process = Command::new(PYTHON)
            .arg(folder.join(script))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}", port.trim());
        Some(Self { process, url })
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

//! A load test as a program that is asked for something.

use super::REPLAY;
use super::group::Group;
use crate::workspace::{Binary, Script, clean};
use loadtest_console::error::Error;
use loadtest_console::files;
use loadtest_model::protocol::{
    BASE_URL_VARIABLE, OFFLINE_VARIABLE, PACKAGES_VARIABLE, REQUEST_VARIABLE, Request,
};
use std::path::Path;
use std::process::Command;

/// A program that can be asked once.
#[derive(Debug)]
pub(crate) struct Program {
    pub(super) command: Command,
    /// The scenario, where it does not hold one itself.
    pub(super) script: Option<Script>,
}

impl Program {
    /// `binary` as `cargo test` would start it: in the folder of its package; and, where `offline`, in a network of
    /// its own.
    pub(crate) fn from_binary(binary: &Binary, offline: bool) -> Self {
        let mut command = Command::new(&binary.executable);
        command.current_dir(&binary.package_root);
        clean(&mut command);
        if binary.script.is_some() {
            command.arg(REPLAY).env_remove(BASE_URL_VARIABLE);
        }
        if let Some(packages) = &binary.packages {
            command.env(PACKAGES_VARIABLE, packages);
        }
        if offline {
            command.env(OFFLINE_VARIABLE, "1");
        }
        Self {
            command,
            script: binary.script.clone(),
        }
    }

    /// Asks it for something, in a file at `path`.
    ///
    /// # Errors
    /// When the file cannot be written, or the program not be started.
    pub(crate) fn ask(mut self, request: &Request, path: &Path) -> Result<Group, Error> {
        files::write_json(path, request)?;
        self.command.env(REQUEST_VARIABLE, path);
        let mut group = Group::spawn(self.command)?;
        if let Some(Script(script)) = &self.script {
            group.say(script);
        }
        Ok(group)
    }
}

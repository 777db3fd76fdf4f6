//! A run of the project for soaks, and the memory that its load test used.

use crate::call::Call;
use crate::project::{Files, Project};
use crate::site::Sandbox;
use loadtest_tests::Server;
use std::sync::OnceLock;
use tempfile::TempDir;

/// A folder with a store for one run.
pub(crate) struct Soak {
    pub(crate) sandbox: Sandbox,
    notes: TempDir,
}

impl Soak {
    pub(crate) fn new() -> Self {
        static PROJECT: OnceLock<Project> = OnceLock::new();
        let load = include_str!("../fixtures/soak/load.rs");
        let project = PROJECT.get_or_init(|| Files::single("soak", load).create());
        Self {
            sandbox: Sandbox::at(project.root(), ""),
            notes: tempfile::tempdir().expect("a folder for notes"),
        }
    }

    /// `cargo loadtest run <line>` against `server`.
    pub(crate) fn run(&self, line: &str, server: &Server) -> Call {
        let call = self.sandbox.run(line, server);
        call.env("SOAK_NOTES", self.notes.path())
    }

    /// Returns the most memory that the load test used after its setup, less that before it, in KiB.
    pub(crate) fn memory(&self) -> u64 {
        let peak = |when: &str| -> u64 {
            let text = std::fs::read_to_string(self.notes.path().join(when)).expect("a note");
            text.parse().expect("a number")
        };
        peak("after") - peak("before")
    }
}

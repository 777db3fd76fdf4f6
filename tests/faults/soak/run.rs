//! A run, and the memory that its load test used.

use crate::call::Call;
use crate::inject;
use crate::site::Sandbox;
use loadtest_tests::Server;
use tempfile::TempDir;

/// A folder with a store for one run.
pub(crate) struct Soak {
    pub(crate) sandbox: Sandbox,
    notes: TempDir,
}

impl Soak {
    pub(crate) fn new() -> Self {
        Self {
            sandbox: inject::sandbox(),
            notes: tempfile::tempdir().expect("a folder for notes"),
        }
    }

    /// Runs a scenario against `server`.
    pub(crate) fn run(&self, scenario: &str, line: &str, server: &Server) -> Call {
        let call = inject::run(&self.sandbox, &format!("soak::{scenario}"), line, server);
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

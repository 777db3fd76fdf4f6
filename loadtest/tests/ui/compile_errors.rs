//! The words and places of compile errors, against the `.stderr` files beside the cases.
//!
//! rustc's own part of the messages changes between releases, so the cases run on one release and are
//! reported as ignored on every other.

use libtest_mimic::{Arguments, Completion, Trial};
use std::path::Path;
use std::process::{Command, ExitCode};

/// The release that the `.stderr` files were recorded on.
const RECORDED_ON: &str = "rustc 1.95.";

fn main() -> ExitCode {
    // `-- trybuild=thresholds`, for one case, is for trybuild, which reads it too
    let all = std::env::args().filter(|argument| !argument.starts_with("trybuild="));
    let arguments = Arguments::from_iter(all);
    let trial = Trial::ignorable_test("compile_errors", || {
        let version = rustc_version();
        if !version.starts_with(RECORDED_ON) {
            return Ok(Completion::ignored_with(format!(
                "the messages were recorded on {RECORDED_ON}x, this is {}",
                version.trim()
            )));
        }
        let cases = trybuild::TestCases::new();
        cases.compile_fail(Path::new("cases/*.rs"));
        // the cases run, and their verdict is given, when this is dropped
        drop(cases);
        Ok(Completion::Completed)
    });
    libtest_mimic::run(&arguments, vec![trial]).exit_code()
}

fn rustc_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    match Command::new(rustc).arg("--version").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => format!("no rustc: {error}"),
    }
}

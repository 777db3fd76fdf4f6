//! The words and places of compile errors, against the `.stderr` files beside the cases.
//!
//! rustc's own part of the messages changes between releases, so the cases run on one release and are
//! reported as ignored on every other.

use libtest_mimic::{Arguments, Completion, Trial};
use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The release that the `.stderr` files were recorded on.
const RECORDED_ON: &str = "rustc 1.95.";

/// The variable from which Cargo takes the flags of the compiler before it looks at any other source of them.
const FLAGS_VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";
/// The flags with which trybuild compiles the cases. It compiles what they depend on without the last one, and since
/// Cargo compiles everything anew whose flags have changed, each run did so twice.
const FLAGS: [&str; 6] = [
    "--cfg",
    "trybuild",
    "--verbose",
    "-A",
    "dead_code",
    "--diagnostic-width=140",
];

fn main() -> ExitCode {
    // Flags of the caller, such as those of a coverage tool, are trybuild's to pass on.
    let has_flags = [FLAGS_VARIABLE, "RUSTFLAGS"].map(env::var_os);
    if has_flags.iter().all(Option::is_none) {
        return run_with_flags();
    }
    // `-- trybuild=thresholds`, for one case, is for trybuild, which reads it too
    let all = env::args().filter(|argument| !argument.starts_with("trybuild="));
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

/// Runs this program again, since a program cannot safely change its own variables.
fn run_with_flags() -> ExitCode {
    let this = env::current_exe().expect("the path of this program");
    let mut command = Command::new(this);
    command.args(env::args_os().skip(1));
    command.env(FLAGS_VARIABLE, FLAGS.join("\x1f"));
    // What lints this workspace has nothing to say of the cases.
    command.env_remove("RUSTC_WORKSPACE_WRAPPER");
    // Nothing is debugged, and without it the macros and what they depend on are compiled sooner.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    let status = command.status().expect("this program runs again");
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

fn rustc_version() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    match Command::new(rustc).arg("--version").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => format!("no rustc: {error}"),
    }
}

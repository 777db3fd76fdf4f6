//! `cargo loadtest completions`: what a shell needs to complete commands and flags.

use crate::cli::{Cli, CompletionsArgs};
use clap::CommandFactory as _;
use loadtest_console::console;
use loadtest_console::error::Error;
use loadtest_model::exit_code::ExitCode;

/// The program that a shell completes.
const PROGRAM: &str = "cargo-loadtest";

/// Prints the script for a shell.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), PROGRAM, &mut script);
    // clap_complete spells the hyphen of the program in two ways, so that bash would find no flags of a command.
    let script =
        String::from_utf8_lossy(&script).replace("cargo__subcmd__loadtest", "cargo__loadtest");
    console::print_file(script.as_bytes())?;
    Ok(ExitCode::Passed)
}

#[cfg(test)]
mod tests {
    use crate::Call;

    fn completions(shell: &str) -> (u8, String) {
        let folder = tempfile::tempdir().unwrap();
        let output = Call::new(folder.path(), ["completions", shell]).run();
        let text = [output.stdout, output.stderr].concat();
        (output.exit_code, String::from_utf8(text).unwrap())
    }

    #[test]
    fn every_shell_completes_the_flags_of_the_program() {
        for (shell, registers) in [
            ("bash", "complete -F _cargo__loadtest"),
            ("zsh", "#compdef cargo-loadtest"),
            ("fish", "complete -c cargo-loadtest"),
            ("powershell", "-CommandName 'cargo-loadtest'"),
        ] {
            let (code, script) = completions(shell);
            assert_eq!(code, 0, "{script}");
            for words in [registers, "baseline", "min-grade", "ramp-up"] {
                assert!(script.contains(words), "{shell}: {words}");
            }
        }
    }

    #[test]
    fn bash_finds_the_flags_of_a_command_by_the_name_that_it_sets() {
        let (_, script) = completions("bash");
        for words in [
            "cmd=\"cargo__loadtest__subcmd__run\"",
            "\n        cargo__loadtest__subcmd__run)",
        ] {
            assert!(script.contains(words), "{words}");
        }
    }

    #[test]
    fn an_unknown_shell_is_answered_with_the_known_ones() {
        let (code, text) = completions("tcsh");
        assert_eq!(code, 2);
        assert!(
            text.contains("[possible values: bash, elvish, fish, powershell, zsh]"),
            "{text}"
        );
    }
}

//! Says what a build of the tool leaves out, when it is asked for.

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// How to get the parts that a build leaves out.
pub(crate) const INSTALL_ALL: &str = "`cargo install --path cargo-loadtest` installs the full tool";

/// What a feature brings, whether this build has it, and the commands and options that belong to it.
const PARTS: [(&str, bool, &[&str]); 2] = [
    (
        "cluster",
        cfg!(feature = "cluster"),
        &[
            "agent",
            "agents",
            "--accept-bundles",
            "--agents",
            "--cluster",
            "--min-share",
            "--new-key",
            "--on-agent-loss",
            "--sign",
        ],
    ),
    ("dashboard", cfg!(feature = "ui"), &["ui"]),
];

/// Explains a command or an option that is unknown only because this build leaves it out.
pub(super) fn explain(error: clap::Error) -> clap::Error {
    let kinds = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let words = kinds.into_iter().filter_map(|kind| match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        _ => None,
    });
    let missing = PARTS.iter().filter(|(_, is_there, _)| !is_there);
    let messages: Vec<_> = words
        .filter_map(|word| describe(&word, missing.clone()))
        .collect();
    match messages.first() {
        Some(message) => super::Cli::command().error(ErrorKind::InvalidSubcommand, message),
        None => error,
    }
}

/// Describes the part that `word` belongs to.
fn describe<'a>(
    word: &str,
    mut parts: impl Iterator<Item = &'a (&'a str, bool, &'a [&'a str])>,
) -> Option<String> {
    // clap names an option with its value: `--cluster <URL>`.
    let name = word.split([' ', '=']).next()?;
    let (what, ..) = parts.find(|(.., names)| names.contains(&name))?;
    Some(format!(
        "`{name}`: this build has no {what}, so that it compiles sooner\n\n  help: {INSTALL_ALL}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_build_leaves_out_is_told_with_the_line_that_brings_it() {
        let told = describe("--cluster <URL>", PARTS.iter()).unwrap();
        assert_eq!(
            told,
            format!(
                "`--cluster`: this build has no cluster, so that it compiles sooner\n\n  help: {INSTALL_ALL}"
            )
        );
        assert!(
            describe("ui", PARTS.iter())
                .unwrap()
                .contains("no dashboard")
        );
        assert_eq!(describe("runn", PARTS.iter()), None);
    }
}

//! Curl commands in the command line.

use super::values;
use clap::{Arg, Args};
use std::ffi::OsString;
use std::path::PathBuf;

/// Curl commands to send instead of scenarios.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Without a scenario")]
pub(crate) struct CurlArgs {
    /// Send the curl commands in this file, copied for any shell; `-` reads standard input
    #[arg(long = "curl", value_name = "FILE", conflicts_with = "packages", value_parser = values::path())]
    pub(crate) file: Option<PathBuf>,
    /// Read the files that curl commands name, such as `-d @body.json`
    #[arg(long)]
    pub(crate) allow_files: bool,
    /// Send the requests of this curl command: a load test without code
    #[arg(last = true, value_name = "curl .. URL", conflicts_with_all = ["file", "packages"])]
    pub(crate) command: Vec<OsString>,
}

/// Makes curl commands and the selection of scenarios exclude each other.
pub(super) fn beside_filters(argument: Arg) -> Arg {
    if ["file", "command"].contains(&argument.get_id().as_str()) {
        argument.conflicts_with_all(["filters", "tags", "mix"])
    } else {
        argument
    }
}

impl CurlArgs {
    /// Returns true when curl commands are given.
    pub(crate) fn are_given(&self) -> bool {
        self.file.is_some() || !self.command.is_empty()
    }
}

/// Returns the mistake of a curl command given without `--` before it.
pub(super) fn misplaced(all: &[OsString]) -> Option<String> {
    let words: Vec<_> = all
        .iter()
        .skip(1)
        .map(|word| word.to_string_lossy())
        .collect();
    let end = words.iter().position(|word| word == "--");
    let before = &words[..end.unwrap_or(words.len())];
    let first = before.iter().position(|word| !word.starts_with('-'))?;
    let command = before[first].as_ref();
    let import = command == "import" && before.get(first + 1).is_some_and(|word| word == "curl");
    let rest = &before[first + 1 + usize::from(import)..];
    let is_url = |word: &str| word.starts_with("http://") || word.starts_with("https://");
    // Of an option this is the value.
    let calls = |i: usize| {
        let is_value = i > 0 && rest[i - 1].starts_with("--") && !rest[i - 1].contains('=');
        rest[i].starts_with("curl ")
            || rest[i] == "curl" && !is_value && rest[i + 1..].iter().any(|word| is_url(word))
    };
    let is_given =
        (0..rest.len()).any(calls) || import && rest.first().is_some_and(|word| is_url(word));
    let name = match command {
        "import" if import => "import curl",
        "run" | "plan" | "debug" | "capacity" => command,
        _ => return None,
    };
    is_given.then(|| {
        format!("a curl command goes after `--`: `cargo loadtest {name} [OPTIONS] -- curl ..`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misplaced(line: &str) -> Option<String> {
        let all: Vec<OsString> = line.split('|').map(OsString::from).collect();
        super::misplaced(&all)
    }

    #[test]
    fn a_curl_command_without_its_dashes_is_told_where_it_stands() {
        for (line, words) in [
            ("x|run|curl|http://h/", "loadtest run [OPTIONS] -- curl"),
            ("x|run|--users|2|curl|-H|a: b|http://h/", "goes after `--`"),
            ("x|run|curl http://h/", "goes after `--`"),
            ("x|run|--curl|curl http://h/", "goes after `--`"),
            (
                "x|-q|import|curl|http://h/",
                "loadtest import curl [OPTIONS] -- curl",
            ),
            ("x|import|curl|curl|http://h/", "goes after `--`"),
            ("x|debug|curl|http://h/", "loadtest debug [OPTIONS] -- curl"),
            ("x|plan|curl|http://h/", "loadtest plan [OPTIONS] -- curl"),
        ] {
            let told = misplaced(line).unwrap_or_else(|| panic!("{line}"));
            assert!(told.contains(words), "{line}: {told}");
        }
    }

    #[test]
    fn other_command_lines_are_left_to_the_parser() {
        for line in [
            "x",
            "x|run|curl",
            "x|run|curl|--base-url|x",
            "x|run|--|curl|http://h/",
            "x|run|--curl|curl|--base-url|http://h/",
            "x|import|curl|requests.sh",
            "x|import|curl|--|curl|http://h/",
            "x|import|har|curl.har",
            "x|debug|curl",
            "x|debug|--|curl|http://h/",
            "x|report|curl|http://h/",
        ] {
            assert_eq!(misplaced(line), None, "{line}");
        }
    }
}

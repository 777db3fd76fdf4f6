//! A curl command in the wrong place of the command line.

use std::ffi::OsString;

/// What is wrong where a curl command is given without the `--` that it stands behind, or to a command that takes
/// none.
pub(super) fn misplaced(all: &[OsString]) -> Option<String> {
    let words: Vec<_> = all
        .iter()
        .skip(1)
        .map(|word| word.to_string_lossy())
        .collect();
    let end = words.iter().position(|word| word == "--");
    let (before, after) = words.split_at(end.unwrap_or(words.len()));
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
    let follows = after
        .get(1)
        .is_some_and(|word| word == "curl" || is_url(word));
    match command {
        "run" | "import" if is_given && (command == "run" || import) => {
            let name = if import { "import curl" } else { "run" };
            Some(format!(
                "a curl command stands behind `--`: `cargo loadtest {name} [OPTIONS] -- curl ..`"
            ))
        }
        "plan" | "debug" | "capacity" if is_given || follows => Some(format!(
            "`{command}` takes no curl command: `cargo loadtest import curl` makes a scenario of it first"
        )),
        _ => None,
    }
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
            (
                "x|run|--users|2|curl|-H|a: b|http://h/",
                "stands behind `--`",
            ),
            ("x|run|curl http://h/", "stands behind `--`"),
            ("x|run|--curl|curl http://h/", "stands behind `--`"),
            (
                "x|-q|import|curl|http://h/",
                "loadtest import curl [OPTIONS] -- curl",
            ),
            ("x|import|curl|curl|http://h/", "stands behind `--`"),
            ("x|debug|--|curl|http://h/", "`debug` takes no curl command"),
            ("x|plan|curl|http://h/", "`plan` takes no curl command"),
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
            "x|report|curl|http://h/",
        ] {
            assert_eq!(misplaced(line), None, "{line}");
        }
    }
}

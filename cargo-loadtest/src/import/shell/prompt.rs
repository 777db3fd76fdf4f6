//! Prompts, which are copied with the commands that were typed behind them.

use super::Dialect;
use super::programs::calls_curl;

/// The longest prompt that is looked for, in bytes.
const LONGEST: usize = 120;

/// A prompt at the beginning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prompt {
    /// Its bytes, with the blanks on both sides.
    pub(super) length: usize,
    /// The shell that asks, where its prompt tells.
    pub(super) dialect: Option<Dialect>,
}

/// The prompt of a line, if it has one that a command follows.
pub(super) fn prompt(line: &str) -> Option<Prompt> {
    let indent = line.len() - line.trim_start().len();
    let rest = &line[indent..];
    // Of themes: `➜  ~ curl ..`, `➜  shop git:(main) ✗ curl ..`.
    if rest.starts_with(['➜', '❯', 'λ', '»', '›']) {
        let at = rest.find("curl").filter(|at| *at <= LONGEST)?;
        let is_one = rest[..at].ends_with([' ', '\u{a0}']) && calls_curl(&rest[at..]);
        return is_one.then_some(Prompt {
            length: indent + at,
            dialect: None,
        });
    }
    let marks = rest
        .char_indices()
        .take_while(|(at, _)| *at <= LONGEST)
        .filter(|(_, letter)| "$%#>❯λ»›".contains(*letter));
    for (at, mark) in marks {
        let before = &rest[..at];
        let after = &rest[at + mark.len_utf8()..];
        let command = after.trim_start_matches([' ', '\t', '\u{a0}']);
        let has_blank = command.len() < after.len();
        if command.is_empty() {
            return None;
        }
        let calls = calls_curl(command);
        let (is_prompt, dialect) = match mark {
            '>' if is_powershell(before) => (true, Some(Dialect::PowerShell)),
            '>' if is_drive(before) => (true, Some(Dialect::Cmd)),
            '>' => (before.is_empty() && has_blank && calls, None),
            '$' if before.is_empty() => (has_blank, None),
            '#' => (has_blank && calls && is_root(before), None),
            _ => (
                has_blank && calls && (before.is_empty() || is_place(before)),
                None,
            ),
        };
        if is_prompt {
            return Some(Prompt {
                length: line.len() - command.len(),
                dialect,
            });
        }
    }
    None
}

/// `PS C:\work`, `PS /home/ada`, `PS`.
fn is_powershell(before: &str) -> bool {
    before
        .strip_prefix("PS")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// `C:\work`.
fn is_drive(before: &str) -> bool {
    let mut letters = before.chars();
    letters
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.next() == Some(':')
        && letters.next() == Some('\\')
}

/// Where somebody is: `ada@host:~/src`, `~/src`, `(venv)`, `bash-5.2`.
fn is_place(before: &str) -> bool {
    let before = before.trim_end();
    !before.starts_with('#')
        && !before.contains(['\'', '"', '`', '|', ';', '&', '='])
        && (before.contains(['@', '~', '/', ')', ']'])
            || before.contains("sh-")
            || before.ends_with(':'))
}

/// The same of the user who may do everything; what a plain `#` begins is a comment.
fn is_root(before: &str) -> bool {
    let before = before.trim_end();
    let is_path = before.starts_with(['/', '~']) && !before.contains(' ');
    is_path || (is_place(before) && (before.contains('@') || before.contains("sh-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_told_from_what_is_typed_behind_it() {
        for (line, command, dialect) in [
            ("$ curl http://h/", "curl http://h/", None),
            ("  $ export A=b", "export A=b", None),
            ("% curl http://h/", "curl http://h/", None),
            ("> curl http://h/", "curl http://h/", None),
            ("ada@host:~/src$ curl http://h/", "curl http://h/", None),
            ("ada@Mac ~ % curl http://h/", "curl http://h/", None),
            ("[root@host ~]# curl http://h/", "curl http://h/", None),
            ("/ # curl http://h/", "curl http://h/", None),
            ("bash-5.2$ sudo curl http://h/", "sudo curl http://h/", None),
            ("(venv) $ curl http://h/", "curl http://h/", None),
            ("➜  shop git:(main) ✗ curl h", "curl h", None),
            ("~/src ❯ curl http://h/", "curl http://h/", None),
            (
                "C:\\Users\\ada> curl.exe h",
                "curl.exe h",
                Some(Dialect::Cmd),
            ),
            ("C:\\Users\\ada>dir", "dir", Some(Dialect::Cmd)),
            (
                "PS C:\\> curl.exe h",
                "curl.exe h",
                Some(Dialect::PowerShell),
            ),
        ] {
            let found = prompt(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(&line[found.length..], command, "{line}");
            assert_eq!(found.dialect, dialect, "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_a_prompt_is_none() {
        for line in [
            "curl http://h/ > curl.txt",
            "# curl http://h/",
            "#   $ curl http://h/",
            "> GET / HTTP/1.1",
            "  % Total    % Received % Xferd  Average Speed",
            "{\"price\": \"$ curl\"}",
            "$name = 1",
            "$",
            "echo \"$ curl http://h/\"",
            "curl http://h/$ID -d 'x'",
            "",
        ] {
            assert_eq!(prompt(line), None, "{line}");
        }
    }
}

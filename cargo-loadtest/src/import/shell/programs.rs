//! Which program a command calls, behind the words that change nothing of what it sends.

use super::Word;

/// What stands in front of a program, and of which nothing is read.
const IN_FRONT: [&[u8]; 23] = [
    b"$", b"%", b"!", b"{", b"time", b"command", b"builtin", b"exec", b"sudo", b"nohup", b"noglob",
    b"env", b"eval", b"if", b"then", b"elif", b"else", b"while", b"until", b"do", b"&", b"call",
    b"nice",
];
/// What only ends a block of commands, or does nothing.
const ENDS: [&[u8]; 6] = [b"}", b"fi", b"done", b"esac", b"true", b":"];

/// The number of the word that names the program; that of all words where none does.
pub(super) fn program(words: &[Word]) -> usize {
    let mut at = 0;
    let mut is_env = false;
    while let Some(word) = words.get(at) {
        let text = word.text.as_slice();
        if text == b"timeout" && words.len() > at + 2 {
            at += 2;
        } else if IN_FRONT.contains(&text) || is_env && text.contains(&b'=') {
            is_env |= text == b"env";
            at += 1;
        } else if at > 0 && text.starts_with(b"-") && takes_options(&words[at - 1].text) {
            at += 1;
        } else {
            break;
        }
    }
    at
}

/// Whether an option behind it is its own: `sudo -E curl`.
fn takes_options(word: &[u8]) -> bool {
    matches!(word, b"time" | b"env" | b"sudo" | b"exec" | b"command") || word.starts_with(b"-")
}

/// Whether the words of a command do nothing at all.
pub(super) fn is_mark(words: &[Word]) -> bool {
    matches!(words, [only] if ENDS.contains(&only.text.as_slice()))
}

/// Whether this is the name of curl.
pub(super) fn is_curl(program: &[u8]) -> bool {
    is_called(program, "curl")
}

/// Whether a program has this name, wherever it is, also on Windows.
pub(super) fn is_called(program: &[u8], name: &str) -> bool {
    let file = program
        .rsplit(|byte| matches!(byte, b'/' | b'\\'))
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    file.strip_suffix(b".exe").unwrap_or(&file) == name.as_bytes()
}

/// Whether a line, without its prompt, calls curl: also as `sudo curl`, `NAME=value curl`.
pub(super) fn calls_curl(line: &str) -> bool {
    const MOST: usize = 6;
    let blanks = [' ', '\t', '\u{a0}', '\r', '\n'];
    let mut words = line.split(blanks).filter(|word| !word.is_empty());
    let first = words
        .by_ref()
        .take(MOST)
        .find(|word| !IN_FRONT.contains(&word.as_bytes()) && !is_assignment(word));
    // A sentence may begin with the name alone.
    first.is_some_and(|word| is_curl(word.as_bytes())) && words.next().is_some()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(super::is_in_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_stands_behind_what_changes_nothing() {
        for (line, expected) in [
            ("curl a", "curl"),
            ("$ sudo -E curl a", "curl"),
            ("env A=b curl a", "curl"),
            ("if ! curl a", "curl"),
            ("{ timeout 5 curl a", "curl"),
            ("wget curl", "wget"),
            ("-H curl", "-H"),
        ] {
            let words: Vec<Word> = line
                .split(' ')
                .map(|word| Word {
                    text: word.into(),
                    span: 0..0,
                })
                .collect();
            assert_eq!(words[program(&words)].text, expected.as_bytes(), "{line}");
        }
    }

    #[test]
    fn a_line_that_calls_curl_is_told_from_one_that_speaks_of_it() {
        for line in [
            "curl a",
            "/usr/bin/curl a",
            "A=b curl a",
            "time curl a",
            "CURL.EXE a",
        ] {
            assert!(calls_curl(line), "{line}");
        }
        for line in [
            "curl",
            "curl: (7) failed",
            "curly a",
            "echo curl a",
            "",
            "A=b",
        ] {
            assert!(!calls_curl(line), "{line}");
        }
    }
}

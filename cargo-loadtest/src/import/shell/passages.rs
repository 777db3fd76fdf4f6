//! The commands in what is no script: a document of Markdown, or a terminal with prompts and answers.

use super::programs::calls_curl;
use super::prompt::prompt;
use super::{Dialect, extent};
use crate::import::source::Span;
use std::borrow::Cow;

/// The languages of fences whose text a shell reads.
const SHELLS: [&str; 14] = [
    "bash",
    "sh",
    "shell",
    "zsh",
    "fish",
    "console",
    "terminal",
    "shell-session",
    "shellsession",
    "sh-session",
    "powershell",
    "pwsh",
    "cmd",
    "batch",
];

/// The text with blanks in the place of all that is no command, so that each place in it stays what it is. All
/// of it where it has neither fences nor prompts.
pub(super) fn commands_only(text: &str, dialect: Dialect) -> Cow<'_, str> {
    let blocks = blocks(text);
    let mut kept = Vec::new();
    if blocks.iter().any(|block| block.calls) {
        let mut from = 0;
        for block in &blocks {
            // Commands may also stand between fences; nothing else there is for a shell.
            typed(text, from..block.whole.start, dialect, &mut kept);
            if block.calls || block.is_shell {
                passage(text, block.inside.clone(), dialect, &mut kept);
            }
            from = block.whole.end;
        }
        typed(text, from..text.len(), dialect, &mut kept);
    } else {
        passage(text, 0..text.len(), dialect, &mut kept);
    }
    if matches!(kept.as_slice(), [all] if *all == (0..text.len())) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for span in kept {
        blank(&text[at..span.start], &mut shown);
        shown.push_str(&text[span.clone()]);
        at = span.end;
    }
    blank(&text[at..], &mut shown);
    Cow::Owned(shown)
}

/// The shell whose prompt the first command with one stands behind.
pub(super) fn asking(text: &str) -> Option<Dialect> {
    text.lines()
        .filter_map(|line| Some((prompt(line)?, line)))
        .find(|(prompt, line)| calls_curl(&line[prompt.length..]))
        .and_then(|(prompt, _)| prompt.dialect)
}

/// A block between fences.
struct Block {
    whole: Span,
    inside: Span,
    is_shell: bool,
    calls: bool,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<(&str, bool, Span)> = None;
    for line in lines(text, 0..text.len()) {
        let words = text[line.clone()].trim();
        let after = (line.end + 1).min(text.len());
        match &open {
            None => {
                let Some(fence) = fence(words) else { continue };
                let language = words[fence.len()..].split_whitespace().next();
                let language = language.unwrap_or_default().to_ascii_lowercase();
                let is_shell = SHELLS.contains(&language.as_str());
                open = Some((fence, is_shell, line.start..after));
            }
            Some((fence, is_shell, begin)) if words.starts_with(fence) && is_bare(words) => {
                blocks.push(block(text, *is_shell, begin, line.start, after));
                open = None;
            }
            Some(_) => {}
        }
    }
    // One that is never closed is none, such as the end of what was copied.
    blocks
}

fn block(text: &str, is_shell: bool, begin: &Span, end: usize, after: usize) -> Block {
    let inside = begin.end.min(end)..end;
    let calls = lines(text, inside.clone()).any(|line| calls(&text[line]));
    Block {
        whole: begin.start..after,
        inside,
        is_shell,
        calls,
    }
}

/// What opens a block, and closes it again.
fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| "`~".contains(*mark))?;
    let length = line.chars().take_while(|letter| *letter == mark).count();
    let is_fence = length >= 3 && !line[length..].contains('`');
    is_fence.then_some(&line[..length])
}

fn is_bare(line: &str) -> bool {
    line.chars().all(|letter| letter == '`') || line.chars().all(|letter| letter == '~')
}

/// Whether a line calls curl, behind a prompt or without.
fn calls(line: &str) -> bool {
    let length = prompt(line).map_or(0, |prompt| prompt.length);
    calls_curl(&line[length..])
}

/// Part of a text: all of it, or what was typed where it has prompts.
fn passage(text: &str, span: Span, dialect: Dialect, kept: &mut Vec<Span>) {
    let has_prompts = lines(text, span.clone()).any(|line| {
        prompt(&text[line.clone()])
            .is_some_and(|prompt| calls_curl(&text[line.start + prompt.length..line.end]))
    });
    if has_prompts {
        typed(text, span, dialect, kept);
    } else {
        kept.push(span);
    }
}

/// The commands behind prompts, and those that call curl without one; what is between them was printed.
fn typed(text: &str, span: Span, dialect: Dialect, kept: &mut Vec<Span>) {
    let mut next = span.start;
    let mut follows_command = false;
    for line in lines(text, span.clone()) {
        if line.start < next {
            continue;
        }
        let words = &text[line.clone()];
        let found = prompt(words);
        let asks = found.is_some_and(|prompt| prompt.dialect.is_some())
            || found.is_some_and(|prompt| {
                calls_curl(&words[prompt.length..]) || words.trim_start().starts_with("$ ")
            });
        let start = line.start + found.map_or(0, |prompt| prompt.length);
        let is_typed = asks || calls_curl(words) && is_meant(words);
        // An option on a line of its own is for the reader to refuse.
        let is_lost = follows_command && is_option(words);
        follows_command = is_typed;
        if !is_typed && !is_lost {
            continue;
        }
        let dialect = found.and_then(|prompt| prompt.dialect).unwrap_or(dialect);
        let end = extent::end(&text[..span.end], start, dialect);
        keep(text, start..end, kept);
        next = end + 1;
    }
}

/// Whether a line that begins with `curl` is a command, not a sentence.
fn is_meant(line: &str) -> bool {
    let line = line.trim_end();
    line.contains("://")
        || line.contains("localhost")
        || line.contains(" -")
        || line.ends_with(['\\', '^', '`'])
}

/// Whether a line begins with an option of curl.
fn is_option(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    let name = word.trim_start_matches('-');
    let is_long = word.len() - name.len() == 2 && name.len() > 1;
    let is_short = word.len() - name.len() == 1 && !name.is_empty();
    line.starts_with([' ', '\t'])
        && (is_long || is_short)
        && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// A command, without the prompts of its further lines.
fn keep(text: &str, span: Span, kept: &mut Vec<Span>) {
    let secondary = |line: &str| {
        let line = line.trim_start();
        [">> ", "> ", "quote> ", "dquote> ", "heredoc> ", "More? "]
            .into_iter()
            .find(|prompt| line.starts_with(prompt))
            .map(str::len)
    };
    let all: Vec<Span> = lines(text, span.clone()).collect();
    let are_asked = all.len() > 1
        && all[1..]
            .iter()
            .all(|line| secondary(&text[line.clone()]).is_some());
    if !are_asked {
        kept.push(span);
        return;
    }
    for (i, line) in all.iter().enumerate() {
        let words = &text[line.clone()];
        let indent = words.len() - words.trim_start().len();
        let prompt = secondary(words).filter(|_| i > 0);
        let length = prompt.map_or(0, |length| indent + length);
        // With its line end, which is a part of quoted text.
        let end = (line.end + 1).min(span.end);
        kept.push(line.start + length..end);
    }
}

/// The lines of a part of a text, without their ends.
fn lines(text: &str, span: Span) -> impl Iterator<Item = Span> + '_ {
    let mut at = span.start;
    std::iter::from_fn(move || {
        if at >= span.end {
            return None;
        }
        let end = text[at..span.end]
            .find('\n')
            .map_or(span.end, |end| at + end);
        let line = at..end;
        at = end + 1;
        Some(line)
    })
}

fn blank(text: &str, into: &mut String) {
    for byte in text.bytes() {
        into.push(if byte == b'\n' { '\n' } else { ' ' });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that are left, without blanks around them.
    fn left(text: &str) -> Vec<String> {
        let shown = commands_only(text, Dialect::Posix);
        assert_eq!(shown.len(), text.len());
        for (at, byte) in shown.bytes().enumerate() {
            assert!(byte == b' ' || byte == text.as_bytes()[at], "{text}");
        }
        let lines = shown.lines().map(|line| line.trim().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    }

    #[test]
    fn of_a_document_the_blocks_for_a_shell_are_left() {
        let text = "# API\n\nDon't forget:\n\n```sh\nexport A=b\n```\n\n1. Ask it\n   ```\n   curl http://h/1\n   ```\n\n\
                    ```json\n{\"a\": \"it's\"}\n```\n\n~~~ console\n$ curl http://h/2\nit's\n~~~\n\n    curl http://h/3\n\n\
                    curl is a tool. I can't.\n";
        assert_eq!(
            left(text),
            [
                "export A=b",
                "curl http://h/1",
                "curl http://h/2",
                "curl http://h/3"
            ]
        );
    }

    #[test]
    fn of_a_terminal_what_was_typed_is_left() {
        let text = "$ curl http://h/1 \\\n> -d 'a\n> b'\n{\"it's\": 1}\n$ export A=b\n\
                    ada@host:~$ curl http://h/2\nHTTP/1.1 200 OK\ncurl: (7) no\nC:\\> curl.exe \"it's\"\n  % Total\n";
        assert_eq!(
            left(text),
            [
                "curl http://h/1 \\",
                "-d 'a",
                "b'",
                "export A=b",
                "curl http://h/2",
                "curl.exe \"it's\""
            ]
        );
    }

    #[test]
    fn a_script_is_left_as_it_is() {
        for text in [
            "# curl http://h/\ncurl http://h/ -d 'x'",
            "cat > x <<EOF\n```\nEOF\ncurl http://h/",
            "",
            "hello",
        ] {
            let left = commands_only(text, Dialect::Posix);
            assert!(matches!(left, Cow::Borrowed(_)), "{text}");
        }
        // A body is no terminal.
        let text = "curl http://h/ -d '\n$ curl x\n'";
        assert_eq!(commands_only(text, Dialect::Posix), text);
    }
}

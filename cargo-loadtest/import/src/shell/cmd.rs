//! Text for the command prompt of Windows: first `^`, `%NAME%` and what separates commands, then the words as
//! programs of Windows split them.

use super::{
    ShellCommand, ShellVariables, ShellWord, check_program, leading_name, line_end, never_closed,
};
use crate::source::Mistake;

/// A byte of a command line, and its place in the text.
type PlacedByte = (u8, usize);

/// Returns the commands, also those that do not call curl.
pub(super) fn read_commands(
    text: &str,
    variables: &mut ShellVariables<'_>,
) -> Result<Vec<ShellCommand>, Mistake> {
    let mut commands = Vec::new();
    for line in split_lines(text.as_bytes(), variables)? {
        let words = split_words(&line)?;
        if let Some(first) = words.first() {
            check_program(first)?;
            commands.push(ShellCommand { words, stdin: None });
        }
    }
    Ok(commands)
}

/// Returns the command lines that the prompt would hand to programs.
fn split_lines(
    text: &[u8],
    variables: &mut ShellVariables<'_>,
) -> Result<Vec<Vec<PlacedByte>>, Mistake> {
    let mut lines: Vec<Vec<PlacedByte>> = vec![Vec::new()];
    let mut is_quoted = false;
    // The file of a redirection is no argument.
    let mut redirects = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let place = at;
        at += 1;
        let mut taken = vec![byte];
        match byte {
            b'^' if !is_quoted => {
                // The next byte is taken as it is, or the one behind a line end.
                at += line_end(&text[at..]);
                taken = text.get(at).copied().into_iter().collect();
                if line_end(&text[at..]) == 2 {
                    taken = vec![b'\n'];
                    at += 1;
                }
                at += 1;
            }
            b'"' => is_quoted = !is_quoted,
            b'%' => {
                if let Some(name) = leading_variable(&text[place..]) {
                    at = place + name.len() + 2;
                    taken = variables.value(name, &(place..at))?;
                }
            }
            b'\r' if text.get(at) == Some(&b'\n') => taken.clear(),
            b'\n' => (is_quoted, redirects) = (false, false),
            b'&' | b'|' if !is_quoted => redirects = false,
            b'<' | b'>' if !is_quoted => redirects = true,
            _ => {}
        }
        if byte == b'\n' || matches!(byte, b'&' | b'|') && !is_quoted {
            lines.push(Vec::new());
        } else if let Some(line) = lines.last_mut().filter(|_| !redirects) {
            line.extend(taken.into_iter().map(|byte| (byte, place)));
        }
    }
    Ok(lines)
}

/// Returns the name in the first `%NAME%` of a text.
pub(super) fn find_variable(text: &str) -> Option<&str> {
    let mut signs = text.match_indices('%');
    signs.find_map(|(at, _)| leading_variable(&text.as_bytes()[at..]))
}

/// Returns the name in `%NAME%`. It has capitals only, since percent-encoding looks much alike.
fn leading_variable(text: &[u8]) -> Option<&str> {
    const SHORTEST: usize = 3;
    let name = leading_name(text.strip_prefix(b"%")?)?;
    let is_name = name.len() >= SHORTEST && !name.iter().any(u8::is_ascii_lowercase);
    let is_closed = text.get(name.len() + 1) == Some(&b'%');
    std::str::from_utf8(name)
        .ok()
        .filter(|_| is_name && is_closed)
}

/// Splits a line by the rules of Microsoft's C runtime
/// (<https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments>).
fn split_words(line: &[PlacedByte]) -> Result<Vec<ShellWord>, Mistake> {
    let mut words = Vec::new();
    let mut at = 0;
    while at < line.len() {
        if matches!(line[at].0, b' ' | b'\t' | b'\n') {
            at += 1;
            continue;
        }
        let start = line[at].1;
        let mut text = Vec::new();
        let mut open: Option<usize> = None;
        while let Some(&(byte, place)) = line.get(at) {
            let next = line.get(at + 1).map(|(byte, _)| *byte);
            match byte {
                b' ' | b'\t' | b'\n' if open.is_none() => break,
                b'\\' => {
                    let slashes = line[at..].iter().take_while(|(byte, _)| *byte == b'\\');
                    let count = slashes.count();
                    at += count;
                    let escapes = line.get(at).is_some_and(|(byte, _)| *byte == b'"');
                    let kept = if escapes { count / 2 } else { count };
                    text.extend(std::iter::repeat_n(b'\\', kept));
                    if escapes && count % 2 == 1 {
                        text.push(b'"');
                        at += 1;
                    }
                    continue;
                }
                b'"' if open.is_some() && next == Some(b'"') => {
                    text.push(b'"');
                    at += 1;
                }
                b'"' if open.is_some() => open = None,
                b'"' => open = Some(place),
                byte => text.push(byte),
            }
            at += 1;
        }
        if let Some(open) = open {
            return Err(never_closed(open..open + 1));
        }
        let span = start..line[at - 1].1.max(start) + 1;
        words.push(ShellWord { text, span });
    }
    Ok(words)
}

//! Text for the command prompt of Windows: first `^`, `%NAME%` and what separates commands, then the words as
//! programs of Windows split them.

use super::super::source::Mistake;
use super::{ShellCommand, ShellVariables, ShellWord, leading_name, line_end, never_closed};

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
        if !words.is_empty() {
            commands.push(ShellCommand {
                words,
                ..ShellCommand::default()
            });
        }
    }
    Ok(commands)
}

/// Returns the command lines that the prompt would hand to programs.
fn split_lines(
    text: &[u8],
    variables: &mut ShellVariables<'_>,
) -> Result<Vec<Vec<PlacedByte>>, Mistake> {
    let mut lines = Vec::new();
    let mut line: Vec<PlacedByte> = Vec::new();
    let mut is_quoted = false;
    // The file of a redirection is no argument.
    let mut redirects = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let place = at;
        let mut taken = None;
        match byte {
            b'^' if !is_quoted => {
                // The next byte is taken as it is, or the one behind a line end.
                at += 1;
                at += line_end(&text[at..]);
                match line_end(&text[at.min(text.len())..]) {
                    0 => taken = text.get(at).copied(),
                    length => {
                        taken = Some(b'\n');
                        at += length - 1;
                    }
                }
            }
            b'"' => {
                is_quoted = !is_quoted;
                taken = Some(byte);
            }
            b'%' => match read_variable(text, at, variables)? {
                Some((value, length)) => {
                    line.extend(value.into_iter().map(|byte| (byte, place)));
                    at += length - 1;
                }
                None => taken = Some(byte),
            },
            b'\r' if text.get(at + 1) == Some(&b'\n') => {}
            b'\n' => {
                is_quoted = false;
                redirects = false;
                end_line(&mut lines, &mut line, variables);
            }
            b'&' | b'|' if !is_quoted => {
                redirects = false;
                end_line(&mut lines, &mut line, variables);
            }
            b'<' | b'>' if !is_quoted => redirects = true,
            byte => taken = Some(byte),
        }
        line.extend(taken.filter(|_| !redirects).map(|byte| (byte, place)));
        at += 1;
    }
    end_line(&mut lines, &mut line, variables);
    Ok(lines)
}

/// Keeps a line that may be a command, and obeys one of `set`.
fn end_line(
    lines: &mut Vec<Vec<PlacedByte>>,
    line: &mut Vec<PlacedByte>,
    variables: &mut ShellVariables<'_>,
) {
    let mut line = std::mem::take(line);
    line.drain(..line.iter().take_while(|(byte, _)| *byte == b'@').count());
    let text: Vec<u8> = line.iter().map(|(byte, _)| *byte).collect();
    let text = text.trim_ascii();
    let length = text.iter().position(u8::is_ascii_whitespace);
    let (program, rest) = text.split_at(length.unwrap_or(text.len()));
    match program.to_ascii_lowercase().as_slice() {
        b"" | b"rem" | b"echo" | b"setlocal" | b"endlocal" => {}
        b"set" => {
            let rest = rest.trim_ascii();
            let quoted = rest
                .strip_prefix(b"\"")
                .and_then(|rest| rest.strip_suffix(b"\""));
            let rest = quoted.unwrap_or(rest);
            if let Some(at) = rest.iter().position(|byte| *byte == b'=') {
                let name = String::from_utf8_lossy(&rest[..at]);
                variables.set(&name, rest[at + 1..].to_vec());
            }
        }
        label if label.starts_with(b":") => {}
        _ => lines.push(line),
    }
}

/// Returns the name in the first `%NAME%` of a text. It has capitals only, since percent-encoding looks much alike.
pub(super) fn find_variable(text: &str) -> Option<&str> {
    const SHORTEST: usize = 3;
    let mut parts: Vec<&str> = text.split('%').skip(1).collect();
    parts.pop();
    parts.into_iter().find(|name| {
        name.len() >= SHORTEST
            && leading_name(name.as_bytes()) == Some(name.as_bytes())
            && !name.contains(|letter: char| letter.is_ascii_lowercase())
    })
}

/// Returns the value and the length of `%NAME%`, where there is such a variable; else the text stays as it is.
fn read_variable(
    text: &[u8],
    at: usize,
    variables: &mut ShellVariables<'_>,
) -> Result<Option<(Vec<u8>, usize)>, Mistake> {
    let Some(name) = leading_name(&text[at + 1..]) else {
        return Ok(None);
    };
    let length = name.len() + 2;
    if text.get(at + length - 1) != Some(&b'%') {
        return Ok(None);
    }
    let value = variables.value(&String::from_utf8_lossy(name), &(at..at + length))?;
    Ok(value.map(|value| (value, length)))
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
        let end = line[at - 1].1.max(start) + 1;
        let span = start..end;
        words.push(ShellWord { text, span });
    }
    Ok(words)
}

//! Text for the command prompt of Windows: first `^`, `%NAME%` and what separates commands, then the words as
//! programs of Windows split them.

use super::super::source::{Mistake, Span};
use super::{Command, Variables, Word, begins_name, is_in_name};

/// A byte of a command line, and where it stands.
type Placed = (u8, usize);

/// The commands, also those that do not call curl.
pub(super) fn commands(text: &str, variables: &mut Variables<'_>) -> Result<Vec<Command>, Mistake> {
    let mut commands = Vec::new();
    for line in lines(text.as_bytes(), variables)? {
        let words = words(&line)?;
        if !words.is_empty() {
            commands.push(Command {
                words,
                ..Command::default()
            });
        }
    }
    Ok(commands)
}

/// The command lines that the prompt would hand to programs.
fn lines(text: &[u8], variables: &mut Variables<'_>) -> Result<Vec<Vec<Placed>>, Mistake> {
    variables.begin();
    let mut lines = Vec::new();
    let mut line: Vec<Placed> = Vec::new();
    let mut is_quoted = false;
    // What a redirection names is no argument.
    let mut redirects = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let place = at;
        let mut taken = None;
        match byte {
            b'^' if !is_quoted => {
                // What follows is taken as it is; of a line end, what follows that.
                at += 1;
                at += line_end(text, at);
                match line_end(text, at) {
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
            b'%' => match variable(text, at, variables)? {
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
                end(&mut lines, &mut line, variables);
            }
            b'&' | b'|' if !is_quoted => {
                redirects = false;
                end(&mut lines, &mut line, variables);
            }
            b'<' | b'>' if !is_quoted => redirects = true,
            byte => taken = Some(byte),
        }
        line.extend(taken.filter(|_| !redirects).map(|byte| (byte, place)));
        at += 1;
    }
    end(&mut lines, &mut line, variables);
    Ok(lines)
}

/// Ends a line, which is kept if it may be a command; `set` holds for the lines below.
fn end(lines: &mut Vec<Vec<Placed>>, line: &mut Vec<Placed>, variables: &mut Variables<'_>) {
    variables.begin();
    let line = std::mem::take(line);
    let text: Vec<u8> = line.iter().map(|(byte, _)| *byte).collect();
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"@").unwrap_or(text);
    let length = text
        .iter()
        .take_while(|byte| !byte.is_ascii_whitespace())
        .count();
    let (program, rest) = text.split_at(length);
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
        _ => {
            let skipped = line.iter().take_while(|(byte, _)| *byte == b'@').count();
            lines.push(line[skipped..].to_vec());
        }
    }
}

/// The name in the first `%NAME%` of a text; it is one of capitals, since percent-encoding looks much like it.
pub(super) fn named(text: &str) -> Option<&str> {
    const SHORTEST: usize = 3;
    let mut parts: Vec<&str> = text.split('%').skip(1).collect();
    parts.pop();
    let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let is_name = |name: &&str| {
        name.len() >= SHORTEST
            && name.bytes().all(is_letter)
            && name.bytes().next().is_some_and(begins_name)
    };
    parts.into_iter().find(is_name)
}

fn line_end(text: &[u8], at: usize) -> usize {
    match (text.get(at), text.get(at + 1)) {
        (Some(b'\n'), _) => 1,
        (Some(b'\r'), Some(b'\n')) => 2,
        _ => 0,
    }
}

/// `%NAME%`, where there is such a variable; else the text stays as it is.
fn variable(
    text: &[u8],
    at: usize,
    variables: &mut Variables<'_>,
) -> Result<Option<(Vec<u8>, usize)>, Mistake> {
    const LONGEST: usize = 256;
    let inside = &text[at + 1..text.len().min(at + LONGEST)];
    let end = inside.iter().position(|byte| *byte == b'%');
    let name = &inside[..end.unwrap_or(0)];
    let is_name = name.first().is_some_and(|byte| begins_name(*byte))
        && name.iter().all(|byte| is_in_name(*byte));
    if !is_name {
        return Ok(None);
    }
    let length = name.len() + 2;
    let value = variables.value(&String::from_utf8_lossy(name), &(at..at + length))?;
    Ok(value.map(|value| (value, length)))
}

/// The words, by the rules of Microsoft's C runtime
/// (<https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments>).
fn words(line: &[Placed]) -> Result<Vec<Word>, Mistake> {
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
            match byte {
                b' ' | b'\t' | b'\n' if open.is_none() => break,
                b'\\' => {
                    let count = line[at..]
                        .iter()
                        .take_while(|(byte, _)| *byte == b'\\')
                        .count();
                    at += count;
                    if line.get(at).is_some_and(|(byte, _)| *byte == b'"') {
                        text.extend(std::iter::repeat_n(b'\\', count / 2));
                        if count % 2 == 1 {
                            text.push(b'"');
                            at += 1;
                        }
                    } else {
                        text.extend(std::iter::repeat_n(b'\\', count));
                    }
                    continue;
                }
                b'"' => {
                    let is_doubled =
                        open.is_some() && line.get(at + 1).is_some_and(|(byte, _)| *byte == b'"');
                    if is_doubled {
                        text.push(b'"');
                        at += 1;
                    } else {
                        open = match open {
                            Some(_) => None,
                            None => Some(place),
                        };
                    }
                }
                byte => text.push(byte),
            }
            at += 1;
        }
        if let Some(open) = open {
            return Err(Mistake::new(open..open + 1, "this is never closed")
                .help("copy the whole command, up to its last quote"));
        }
        let end = line.get(at.saturating_sub(1)).map_or(start, |(_, at)| *at);
        let span: Span = start..end.max(start) + 1;
        words.push(Word { text, span });
    }
    Ok(words)
}

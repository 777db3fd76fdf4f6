//! The bodies that `-d` and its relatives write, and the queries of `--url-query`.

use super::super::shell::Stdin;
use super::super::source::{Mistake, Span};
use super::files::Files;

/// What a value that names a file is read from.
pub(super) struct Reads<'a> {
    pub(super) files: &'a Files,
    pub(super) stdin: &'a Stdin,
}

impl Reads<'_> {
    /// The bytes of the file `name`; `-` is standard input.
    pub(super) fn read(&self, name: &[u8], span: &Span) -> Result<Vec<u8>, Mistake> {
        if name != b"-" {
            return self.files.read(name, span);
        }
        match self.stdin {
            Stdin::Text(text) => Ok(text.clone()),
            Stdin::File(word) => self.files.read(&word.text, &word.span),
            Stdin::Program(word) => Err(Mistake::new(
                word.span.clone(),
                "curl would read what this program prints, and it is not run",
            )
            .help("write the data into the command")),
            Stdin::Nothing => Err(Mistake::new(
                span.clone(),
                "this reads the standard input, of which there is none",
            )
            .help("write the data into the command")),
        }
    }
}

/// The value of `-d`, of `--data-binary` or `--json`.
pub(super) fn plain(
    value: &[u8],
    keeps_lines: bool,
    reads: &Reads<'_>,
    span: &Span,
) -> Result<Vec<u8>, Mistake> {
    let Some(name) = value.strip_prefix(b"@") else {
        return Ok(value.to_vec());
    };
    let mut data = reads.read(name, span)?;
    if !keeps_lines {
        data.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    }
    Ok(data)
}

/// The value of `--data-urlencode`: `content`, `=content`, `name=content`, `@file`, `name@file`.
pub(super) fn encoded(value: &[u8], reads: &Reads<'_>, span: &Span) -> Result<Vec<u8>, Mistake> {
    let at = value.iter().position(|byte| *byte == b'=');
    let at = at.or_else(|| value.iter().position(|byte| *byte == b'@'));
    let (name, content) = match at {
        None => (&[][..], value.to_vec()),
        Some(at) if value[at] == b'=' => (&value[..at], value[at + 1..].to_vec()),
        Some(at) => (&value[..at], reads.read(&value[at + 1..], span)?),
    };
    let mut data = name.to_vec();
    if !name.is_empty() {
        data.push(b'=');
    }
    for byte in content {
        match byte {
            b' ' => data.push(b'+'),
            byte => push_encoded(&mut data, byte),
        }
    }
    Ok(data)
}

/// A byte as it stands in a URL.
pub(super) fn push_encoded(into: &mut Vec<u8>, byte: u8) {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
        into.push(byte);
    } else {
        into.extend_from_slice(format!("%{byte:02X}").as_bytes());
    }
}

/// What is appended to a query, whose escapes curl writes in lower case.
pub(super) fn lowered(query: &[u8]) -> Vec<u8> {
    let mut lowered = query.to_vec();
    let mut at = 0;
    while at + 2 < lowered.len() {
        if lowered[at] == b'%'
            && lowered[at + 1].is_ascii_hexdigit()
            && lowered[at + 2].is_ascii_hexdigit()
        {
            lowered[at + 1].make_ascii_lowercase();
            lowered[at + 2].make_ascii_lowercase();
            at += 2;
        }
        at += 1;
    }
    lowered
}

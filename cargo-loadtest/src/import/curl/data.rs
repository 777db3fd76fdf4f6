//! The bodies that `-d` and its relatives write, and the queries of `--url-query`.

use super::super::shell::CommandInput;
use super::super::source::{Mistake, Span};
use super::files::PermittedFiles;

/// The source of a value that names a file.
pub(super) struct DataSource<'a> {
    pub(super) files: &'a PermittedFiles,
    pub(super) stdin: &'a CommandInput,
}

impl DataSource<'_> {
    /// Reads the file `name`; `-` is standard input.
    pub(super) fn read(&self, name: &[u8], span: &Span) -> Result<Vec<u8>, Mistake> {
        const HELP: &str = "write the data into the command";
        if name != b"-" {
            return self.files.read(name, span);
        }
        match self.stdin {
            CommandInput::Text(text) => Ok(text.clone()),
            CommandInput::File(word) => self.files.read(&word.text, &word.span),
            CommandInput::Program(word) => {
                let words = "curl would read what this program prints, and it is not run";
                Err(Mistake::new(word.span.clone(), words).help(HELP))
            }
            CommandInput::Nothing => {
                let words = "this reads the standard input, of which there is none";
                Err(Mistake::new(span.clone(), words).help(HELP))
            }
        }
    }
}

/// Reads the value of `-d`, of `--data-binary` or `--json`.
pub(super) fn read_data(
    value: &[u8],
    keeps_lines: bool,
    reads: &DataSource<'_>,
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

/// Reads the value of `--data-urlencode`: `content`, `=content`, `name=content`, `@file`, `name@file`.
pub(super) fn read_encoded(
    value: &[u8],
    reads: &DataSource<'_>,
    span: &Span,
) -> Result<Vec<u8>, Mistake> {
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

/// Appends a byte, encoded for a URL.
pub(super) fn push_encoded(into: &mut Vec<u8>, byte: u8) {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
        into.push(byte);
    } else {
        into.extend_from_slice(format!("%{byte:02X}").as_bytes());
    }
}

/// Returns text for a query, whose escapes curl writes in lower case.
pub(super) fn lower_escapes(query: &[u8]) -> Vec<u8> {
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

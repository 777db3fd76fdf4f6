//! Text for PowerShell that calls a program: its quotes, the backtick, and variables of the environment.

use super::super::source::{Mistake, Note};
use super::reader::ShellReader;
use super::{
    ShellCommand, ShellVariables, ShellWord, leading_name, line_end, never_closed,
    unknown_outside_shell, would_run,
};

/// Returns true where a line sets a variable of PowerShell's own.
pub(super) fn is_assignment(line: &str) -> bool {
    parse_assignment(line.as_bytes()).is_some()
}

/// Returns the name in `$name = `.
fn parse_assignment(text: &[u8]) -> Option<&[u8]> {
    let name = leading_name(text.strip_prefix(b"$")?)?;
    let rest = text[1 + name.len()..].trim_ascii_start();
    rest.starts_with(b"=").then_some(name)
}

/// Returns the commands, also those that do not call curl.
pub(super) fn read_commands(
    text: &str,
    variables: &mut ShellVariables<'_>,
    notes: &mut Vec<Note>,
) -> Result<Vec<ShellCommand>, Mistake> {
    ShellReader::new(text, variables, notes).read_powershell()
}

impl ShellReader<'_, '_> {
    fn read_powershell(mut self) -> Result<Vec<ShellCommand>, Mistake> {
        // The file of a redirection is no argument.
        let mut redirects = false;
        while let Some(byte) = self.peek(0) {
            if self.current.words.is_empty() && self.skip_assignment() {
                continue;
            }
            match byte {
                // `&` calls the program that a string names.
                b' ' | b'\t' | b'\r' | b'&' => self.at += 1,
                b'`' if line_end(self.rest(1)) > 0 => self.at += 1 + line_end(self.rest(1)),
                b'#' => self.skip_line(),
                b'\n' | b';' | b'|' | b'(' | b')' => {
                    self.at += 1;
                    redirects = false;
                    self.end_powershell_command();
                }
                b'>' => {
                    self.at += 1;
                    redirects = true;
                }
                _ => {
                    let word = self.read_powershell_word()?;
                    let doubt = self.doubt.take();
                    if !std::mem::take(&mut redirects) {
                        self.current.words.push(word);
                        self.current.doubt = self.current.doubt.take().or(doubt);
                    }
                }
            }
        }
        self.end_powershell_command();
        Ok(self.commands)
    }

    fn end_powershell_command(&mut self) {
        let command = std::mem::take(&mut self.current);
        if !command.words.is_empty() {
            self.commands.push(command);
        }
    }

    /// Skips `$name = value`, if that is here: such a variable comes from the environment.
    fn skip_assignment(&mut self) -> bool {
        let start = self.at;
        let Some(name) = parse_assignment(self.rest(0)) else {
            return false;
        };
        let name = String::from_utf8_lossy(name).into_owned();
        self.skip_line();
        self.take_from_environment(&name, start..start + 1 + name.len());
        true
    }

    fn read_powershell_word(&mut self) -> Result<ShellWord, Mistake> {
        let start = self.at;
        let mut text = Vec::new();
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b'>' => break,
                b'`' if line_end(self.rest(1)) > 0 => break,
                b'`' => self.read_backtick(&mut text),
                b'\'' => self.read_doubled_quotes(&mut text)?,
                b'"' => self.read_expandable_quotes(&mut text)?,
                b'$' => self.read_powershell_variable(&mut text)?,
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.text.len());
        Ok(ShellWord {
            text: drop_quote_escapes(text),
            span: start..self.at,
        })
    }

    fn read_backtick(&mut self, text: &mut Vec<u8>) {
        text.push(match self.peek(1) {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'0') => 0,
            Some(b'a') => 0x07,
            Some(b'b') => 0x08,
            Some(b'e') => 0x1b,
            Some(b'f') => 0x0c,
            Some(b'v') => 0x0b,
            other => other.unwrap_or(b'`'),
        });
        self.at += 2;
    }

    fn read_doubled_quotes(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let open = self.at;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte != b'\'' {
                text.push(byte);
            } else if self.peek(0) == Some(b'\'') {
                text.push(b'\'');
                self.at += 1;
            } else {
                return Ok(());
            }
        }
        Err(never_closed(open..open + 1))
    }

    fn read_expandable_quotes(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let open = self.at;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'"' if self.peek(1) == Some(b'"') => {
                    text.push(b'"');
                    self.at += 2;
                }
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'`' if line_end(self.rest(1)) > 0 => self.at += 1 + line_end(self.rest(1)),
                b'`' => self.read_backtick(text),
                b'$' => self.read_powershell_variable(text)?,
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        Err(never_closed(open..open + 1))
    }

    /// Reads `$env:NAME`, `${env:NAME}`, and a `$name` that the text sets.
    fn read_powershell_variable(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let start = self.at;
        let rest = self.rest(1);
        let is_braced = rest.first() == Some(&b'{');
        let inside = &rest[usize::from(is_braced)..];
        let prefix = inside.get(..4).unwrap_or_default();
        let prefix = 4 * usize::from(prefix.eq_ignore_ascii_case(b"env:"));
        let Some(name) = leading_name(&inside[prefix..]) else {
            if rest.first() == Some(&b'(') {
                self.doubt_word(would_run(start..start + 2));
            } else {
                text.push(b'$');
            }
            self.at += 1;
            return Ok(());
        };
        let length = 1 + prefix + name.len() + 2 * usize::from(is_braced);
        let span = start..(start + length).min(self.text.len());
        self.at = span.end;
        if prefix == 0 && !self.variables.is_set(&String::from_utf8_lossy(name)) {
            let help = "write the value itself, or `$env:NAME` for a variable of the environment";
            self.doubt_word(unknown_outside_shell(start..start + 2, help));
            return Ok(());
        }
        self.push_value(name, &span, text)
    }
}

/// Removes the backslash that Windows PowerShell needs before a quote, and a program does not get.
fn drop_quote_escapes(text: Vec<u8>) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut bytes = text.into_iter().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' || bytes.peek() != Some(&b'"') {
            kept.push(byte);
        }
    }
    kept
}

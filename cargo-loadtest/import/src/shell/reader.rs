//! Commands of POSIX shells and PowerShell: what separates them, assignments and here-documents.

use super::{Dialect, ShellCommand, ShellVariables, ShellWord, check_program, leading_name};
use crate::source::{Mistake, Span};
use crate::text::quote_name;

pub(super) struct ShellReader<'a, 'v> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    pub(super) variables: &'a mut ShellVariables<'v>,
    pub(super) is_powershell: bool,
    commands: Vec<ShellCommand>,
    current: ShellCommand,
    /// Names and values of `NAME=value` in the current command.
    assignments: Vec<(String, Vec<u8>)>,
    /// A here-document whose lines are still to come.
    heredoc: Option<Heredoc>,
}

struct Heredoc {
    /// Number of the command that reads it.
    command: usize,
    /// The line that ends it, and its place.
    end: ShellWord,
    has_variables: bool,
}

impl<'a, 'v> ShellReader<'a, 'v> {
    pub(super) fn new(
        text: &'a str,
        dialect: Dialect,
        variables: &'a mut ShellVariables<'v>,
    ) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
            variables,
            is_powershell: dialect == Dialect::PowerShell,
            commands: Vec::new(),
            current: ShellCommand::default(),
            assignments: Vec::new(),
            heredoc: None,
        }
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    pub(super) fn rest(&self, ahead: usize) -> &'a [u8] {
        self.text.get(self.at + ahead..).unwrap_or_default()
    }

    /// Returns the length of an escaped line end, with such blanks before it.
    pub(super) fn continuation(&self, blanks: &[u8]) -> Option<usize> {
        let escape = if self.is_powershell { b"`" } else { b"\\" };
        let rest = self.rest(0).strip_prefix(escape)?;
        let count = rest.iter().take_while(|byte| blanks.contains(byte)).count();
        (rest.get(count) == Some(&b'\n')).then_some(count + 2)
    }

    /// Returns the commands, also those that do not call curl.
    pub(super) fn read_commands(mut self) -> Result<Vec<ShellCommand>, Mistake> {
        while let Some(byte) = self.peek(0) {
            if let Some(length) = self.continuation(b" \t\r") {
                self.at += length;
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'#' => self.at += line_length(self.rest(0)),
                b'&' if self.peek(1) == Some(b'>') => self.at += 1,
                b'\n' | b';' | b'&' | b'|' => {
                    self.check_query()?;
                    self.end_command()?;
                    self.at += 1;
                    if byte == b'\n' {
                        self.read_heredoc()?;
                    }
                }
                b'<' => self.read_input()?,
                b'>' => self.skip_output()?,
                _ => self.read_argument()?,
            }
        }
        self.end_command()?;
        self.read_heredoc()?;
        Ok(self.commands)
    }

    fn read_argument(&mut self) -> Result<(), Mistake> {
        if self.is_powershell && self.peek(0) == Some(b'$') && self.current.words.is_empty() {
            let words = "only curl commands are read, not PowerShell expressions";
            let mistake = Mistake::new(self.at..self.at + 1, words);
            return Err(mistake.help("set variables in the environment, and write `$env:NAME`"));
        }
        let word = self.read_word()?;
        let source = &self.text[word.span.clone()];
        let is_descriptor = source.iter().all(u8::is_ascii_digit);
        if is_descriptor && matches!(self.peek(0), Some(b'<' | b'>')) {
            return Ok(());
        }
        let takes_assignments = match self.current.words.as_slice() {
            [] => true,
            [first, ..] => first.text == b"export",
        };
        if let Some(name) = leading_name(source).filter(|_| takes_assignments)
            && source.get(name.len()) == Some(&b'=')
        {
            let value = word.text[name.len() + 1..].to_vec();
            let name = String::from_utf8_lossy(name).into_owned();
            self.assignments.push((name, value));
        } else {
            self.current.words.push(word);
        }
        Ok(())
    }

    fn end_command(&mut self) -> Result<(), Mistake> {
        let command = std::mem::take(&mut self.current);
        let assignments = std::mem::take(&mut self.assignments);
        match command.words.first() {
            Some(first) if first.text != b"export" => {
                check_program(first)?;
                self.commands.push(command);
            }
            _ => assignments
                .into_iter()
                .for_each(|(name, value)| self.variables.set(name, value)),
        }
        Ok(())
    }

    /// Refuses a `&` that ends the command where it should be a part of the URL.
    fn check_query(&self) -> Result<(), Mistake> {
        let field = leading_name(self.rest(1)).unwrap_or_default();
        let word = self.current.words.last();
        let word = word.filter(|word| word.span.end == self.at && word.text.contains(&b'?'));
        if self.peek(0) != Some(b'&') || self.peek(1 + field.len()) != Some(b'=') || word.is_none()
        {
            return Ok(());
        }
        let span = self.at..self.at + 1 + field.len();
        let words = "to a shell `&` ends the command, and the URL with it";
        Err(Mistake::new(span, words).help("put the URL within quotes"))
    }

    /// Skips `> file`, since nothing is written.
    fn skip_output(&mut self) -> Result<(), Mistake> {
        while matches!(self.peek(0), Some(b'>' | b'&' | b'|' | b' ')) {
            self.at += 1;
        }
        self.read_word().map(|_| ())
    }

    /// Reads `<<END`, which begins a here-document.
    fn read_input(&mut self) -> Result<(), Mistake> {
        let is_plain =
            self.rest(0).starts_with(b"<<") && !matches!(self.peek(2), Some(b'<' | b'-'));
        if self.is_powershell || !is_plain || self.heredoc.is_some() {
            let words = "`<` is not imported, neither as input nor around a placeholder";
            let mistake = Mistake::new(self.at..self.at + 1, words);
            return Err(mistake.help("write the value in its place, or a here-document `<<END`"));
        }
        self.at += 2;
        while matches!(self.peek(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.heredoc = Some(Heredoc {
            command: self.commands.len(),
            has_variables: !matches!(self.peek(0), Some(b'\'' | b'"' | b'\\')),
            end: self.read_word()?,
        });
        Ok(())
    }

    /// Reads the here-document of the line that ended here.
    fn read_heredoc(&mut self) -> Result<(), Mistake> {
        let Some(heredoc) = self.heredoc.take() else {
            return Ok(());
        };
        let Some((length, end)) = find_line(self.rest(0), &heredoc.end.text) else {
            let end = quote_name(&String::from_utf8_lossy(&heredoc.end.text));
            let words = format!("no line {end} ends this text");
            return Err(Mistake::new(heredoc.end.span, words));
        };
        let span: Span = self.at..self.at + length;
        let next = self.at + end;
        let mut text = Vec::new();
        if heredoc.has_variables {
            self.read_expanded(Some(span.end), &mut text)?;
        } else {
            text.extend_from_slice(&self.text[span]);
        }
        text.retain(|byte| *byte != b'\r');
        self.at = next;
        if let Some(command) = self.commands.get_mut(heredoc.command) {
            command.stdin = Some(text);
        }
        Ok(())
    }
}

fn line_length(text: &[u8]) -> usize {
    let end = text.iter().position(|byte| *byte == b'\n');
    end.unwrap_or(text.len())
}

/// Returns the beginning and the end of a line.
fn find_line(text: &[u8], line: &[u8]) -> Option<(usize, usize)> {
    let mut start = 0;
    while start < text.len() {
        let end = start + line_length(&text[start..]);
        if text[start..end]
            .strip_suffix(b"\r")
            .unwrap_or(&text[start..end])
            == line
        {
            return Some((start, end));
        }
        start = end + 1;
    }
    None
}

//! Here-documents: the lines that a command reads.

use crate::import::shell::reader::ShellReader;
use crate::import::shell::{CommandInput, shorten_text};
use crate::import::source::{Mistake, Span};

pub(in crate::import::shell) struct Heredoc {
    /// Number of the command that reads it.
    pub(super) command: usize,
    /// The line that ends it.
    pub(super) end: Vec<u8>,
    pub(super) has_variables: bool,
    pub(super) strips_tabs: bool,
    pub(super) span: Span,
}

impl Heredoc {
    pub(super) fn unended(&self) -> Mistake {
        let end = shorten_text(&String::from_utf8_lossy(&self.end));
        Mistake::new(self.span.clone(), format!("no line `{end}` ends this text"))
    }
}

impl ShellReader<'_, '_> {
    /// Reads the here-documents of the line that ends here.
    pub(super) fn read_heredocs(&mut self) -> Result<(), Mistake> {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let text = self.read_heredoc(&heredoc)?;
            let doubt = self.doubt.take();
            if let Some(command) = self.commands.get_mut(heredoc.command) {
                command.stdin = CommandInput::Text(text);
                command.doubt = command.doubt.take().or(doubt);
            }
        }
        Ok(())
    }

    fn read_heredoc(&mut self, heredoc: &Heredoc) -> Result<Vec<u8>, Mistake> {
        let mut text = Vec::new();
        while self.at < self.text.len() {
            let start = self.at;
            self.skip_line();
            let mut line = start..self.at;
            self.at += 1;
            if self.text[line.clone()].ends_with(b"\r") {
                line.end -= 1;
            }
            while heredoc.strips_tabs && self.text[line.clone()].starts_with(b"\t") {
                line.start += 1;
            }
            if self.text[line.clone()] == heredoc.end {
                return Ok(text);
            }
            if heredoc.has_variables {
                self.expand_line(line, &mut text)?;
            } else {
                text.extend_from_slice(&self.text[line]);
            }
            text.push(b'\n');
        }
        Err(heredoc.unended())
    }

    /// Reads a line as the inside of double quotes.
    fn expand_line(&mut self, line: Span, into: &mut Vec<u8>) -> Result<(), Mistake> {
        let next = self.at;
        self.at = line.start;
        while self.at < line.end {
            match self.text[self.at] {
                b'\\' if matches!(self.peek(1), Some(b'$' | b'`' | b'\\')) => {
                    into.extend(self.peek(1));
                    self.at += 2;
                }
                b'$' => self.read_variable(into)?,
                b'`' => self.skip_backticks()?,
                byte => {
                    into.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at = next;
        Ok(())
    }
}

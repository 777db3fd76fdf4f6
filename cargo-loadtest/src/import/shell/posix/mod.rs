//! Text for a POSIX shell, with what bash and zsh add to words: `$'..'`, here-strings.

mod ansi;
mod printed;
mod words;

use super::{Command, Stdin, Variables, Word, begins_name, is_in_name};
use crate::import::source::{Mistake, Span};
use printed::printed;

/// The commands, also those that do not call curl.
pub(super) fn commands(text: &str, variables: &mut Variables<'_>) -> Result<Vec<Command>, Mistake> {
    let mut reader = Reader {
        text: text.as_bytes(),
        at: 0,
        variables,
        heredocs: Vec::new(),
        groups: 0,
    };
    reader.commands()
}

pub(super) struct Reader<'a, 'v> {
    text: &'a [u8],
    at: usize,
    variables: &'a mut Variables<'v>,
    /// Those whose lines are still to come: the number of the command, the last line, whether they hold variables.
    heredocs: Vec<Heredoc>,
    /// How many parentheses are open.
    groups: usize,
}

struct Heredoc {
    command: usize,
    end: Vec<u8>,
    has_variables: bool,
    strips_tabs: bool,
    span: Span,
}

impl Reader<'_, '_> {
    fn commands(&mut self) -> Result<Vec<Command>, Mistake> {
        let mut done: Vec<Command> = Vec::new();
        let mut current = Command::default();
        // What the next command reads.
        let mut pipe: Option<Stdin> = None;
        loop {
            self.skip_blanks();
            let Some(byte) = self.peek(0) else { break };
            match byte {
                b'#' => self.skip_line(),
                b'\n' | b';' | b'&' | b'|' | b'(' | b')' => {
                    let is_pipe = byte == b'|' && self.peek(1) != Some(b'|');
                    if byte == b'&' && self.peek(1) == Some(b'>') {
                        self.at += 1;
                        self.redirect(&mut current, done.len())?;
                        continue;
                    }
                    if is_pipe && let Some(text) = printed(&current.words) {
                        current = Command::default();
                        pipe = Some(Stdin::Text(text));
                    } else {
                        let program = self.end(&mut done, &mut current, &mut pipe);
                        pipe = program.filter(|_| is_pipe).map(Stdin::Program);
                    }
                    match byte {
                        b'(' => self.groups += 1,
                        b')' => self.groups = self.groups.saturating_sub(1),
                        _ => {}
                    }
                    self.at += 1;
                    if byte == b'\n' {
                        self.read_heredocs(&mut done)?;
                        self.skip_fence();
                    }
                }
                b'<' | b'>' => self.redirect(&mut current, done.len())?,
                b'`' if self.at == 0 && self.skip_fence() => {}
                _ => {
                    let word = self.word()?;
                    let is_number = !word.text.is_empty()
                        && word.text.iter().all(u8::is_ascii_digit)
                        && word.span.len() == word.text.len();
                    if is_number && matches!(self.peek(0), Some(b'<' | b'>')) {
                        self.redirect(&mut current, done.len())?;
                    } else {
                        current.words.push(word);
                    }
                }
            }
        }
        self.end(&mut done, &mut current, &mut pipe);
        if let Some(heredoc) = self.heredocs.first() {
            return Err(endless(heredoc));
        }
        done.retain(|command| !command.words.is_empty());
        Ok(done)
    }

    /// Ends a command; its first word, if it has one.
    fn end(
        &mut self,
        done: &mut Vec<Command>,
        current: &mut Command,
        pipe: &mut Option<Stdin>,
    ) -> Option<Word> {
        let mut command = std::mem::take(current);
        let assigned = command
            .words
            .iter()
            .take_while(|word| self.assignment(word).is_some())
            .count();
        let exports = command
            .words
            .first()
            .is_some_and(|word| word.text == b"export");
        if assigned == command.words.len() || exports {
            // They hold for what comes after; in front of a command, for nothing that we read.
            for word in &command.words {
                if let Some((name, value)) = self.assignment(word) {
                    self.variables.set(&name, value);
                }
            }
            command.words.clear();
        } else {
            command.words.drain(..assigned);
        }
        if let Some(stdin) = pipe.take()
            && command.stdin == Stdin::Nothing
        {
            command.stdin = stdin;
        }
        let first = command.words.first().cloned();
        let is_waiting = self
            .heredocs
            .iter()
            .any(|heredoc| heredoc.command == done.len());
        if first.is_some() || is_waiting {
            done.push(command);
        }
        first
    }

    /// `NAME=value`, whose name is not quoted.
    fn assignment(&self, word: &Word) -> Option<(String, Vec<u8>)> {
        let at = word.text.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&word.text[..at], &word.text[at + 1..]);
        let is_name = name.first().is_some_and(|byte| begins_name(*byte))
            && name.iter().all(|byte| is_in_name(*byte))
            && self.text.get(word.span.start..word.span.start + at) == Some(name);
        is_name.then(|| (String::from_utf8_lossy(name).into_owned(), value.to_vec()))
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    /// The length of the end of a line that is here.
    fn line_end(&self, ahead: usize) -> usize {
        match (self.peek(ahead), self.peek(ahead + 1)) {
            (Some(b'\n'), _) => 1,
            (Some(b'\r'), Some(b'\n')) => 2,
            _ => 0,
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.line_end(1) > 0 => self.at += 1 + self.line_end(1),
                // A blank that web pages are full of.
                Some(0xc2) if self.peek(1) == Some(0xa0) => self.at += 2,
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// A fence of Markdown, around what is copied out of a document.
    fn skip_fence(&mut self) -> bool {
        let is_fence = self.text[self.at..].starts_with(b"```");
        if is_fence {
            self.skip_line();
        }
        is_fence
    }

    fn redirect(&mut self, current: &mut Command, number: usize) -> Result<(), Mistake> {
        let start = self.at;
        let is_input = self.peek(0) == Some(b'<');
        let mut length = 1;
        while matches!(self.peek(length), Some(b'<' | b'>' | b'&' | b'|' | b'-')) && length < 3 {
            length += 1;
        }
        let operator = &self.text[start..start + length];
        if is_input && operator.starts_with(b"<(") || self.peek(length) == Some(b'(') {
            return Err(runs(start..start + length + 1));
        }
        let (is_string, is_heredoc, strips_tabs) = (
            operator.starts_with(b"<<<"),
            operator.starts_with(b"<<"),
            operator.starts_with(b"<<-"),
        );
        self.at += length;
        self.skip_blanks();
        let from = self.at;
        if matches!(
            self.peek(0),
            None | Some(b'\n' | b';' | b'&' | b'|' | b'<' | b'>')
        ) {
            return Err(Mistake::new(
                start..start + length,
                "nothing follows this redirection",
            ));
        }
        let is_quoted = matches!(self.peek(0), Some(b'\'' | b'"' | b'\\'));
        let word = self.word()?;
        if is_string {
            let mut text = word.text;
            text.push(b'\n');
            current.stdin = Stdin::Text(text);
        } else if is_heredoc {
            self.heredocs.push(Heredoc {
                command: number,
                end: word.text,
                has_variables: !is_quoted,
                strips_tabs,
                span: from..self.at,
            });
        } else if is_input {
            current.stdin = Stdin::File(word);
        }
        Ok(())
    }

    /// The lines that follow the line of a command.
    fn read_heredocs(&mut self, done: &mut [Command]) -> Result<(), Mistake> {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let mut text = Vec::new();
            loop {
                if self.at >= self.text.len() {
                    return Err(endless(&heredoc));
                }
                let rest = &self.text[self.at..];
                let length = rest.iter().position(|byte| *byte == b'\n');
                let mut line = &rest[..length.unwrap_or(rest.len())];
                let start = self.at;
                self.at += length.map_or(rest.len(), |length| length + 1);
                line = line.strip_suffix(b"\r").unwrap_or(line);
                let tabs = if heredoc.strips_tabs {
                    line.iter().take_while(|byte| **byte == b'\t').count()
                } else {
                    0
                };
                line = &line[tabs..];
                if line == heredoc.end.as_slice() {
                    break;
                }
                if heredoc.has_variables {
                    let from = start + tabs;
                    self.expand(from..from + line.len(), &mut text)?;
                } else {
                    text.extend_from_slice(line);
                }
                text.push(b'\n');
            }
            if let Some(command) = done.get_mut(heredoc.command) {
                command.stdin = Stdin::Text(text);
            }
        }
        Ok(())
    }

    /// A line of a here-document, which is read as the inside of double quotes.
    fn expand(&mut self, line: Span, into: &mut Vec<u8>) -> Result<(), Mistake> {
        let next = self.at;
        let end = line.end;
        self.at = line.start;
        while self.at < end {
            match self.text[self.at] {
                b'\\' if matches!(self.peek(1), Some(b'$' | b'`' | b'\\')) => {
                    into.extend(self.peek(1));
                    self.at += 2;
                }
                b'$' => self.variable(into)?,
                b'`' => return Err(runs(self.at..self.at + 1)),
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

fn unclosed(span: Span) -> Mistake {
    Mistake::new(span, "this is never closed").help("copy the whole command, up to its last quote")
}

fn runs(span: Span) -> Mistake {
    Mistake::new(span, "this would run a program, and no shell is ever run")
        .help("write what it would print")
}

fn endless(heredoc: &Heredoc) -> Mistake {
    Mistake::new(
        heredoc.span.clone(),
        format!(
            "no line `{}` ends this text",
            super::short(&String::from_utf8_lossy(&heredoc.end))
        ),
    )
}

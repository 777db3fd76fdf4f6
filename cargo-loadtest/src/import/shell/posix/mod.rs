//! Text for a POSIX shell, with what bash and zsh add to words: `$'..'`, here-strings.

mod ansi;
mod commands;
mod printed;
mod words;

use super::{Command, Stdin, Variables};
use crate::import::source::{Mistake, Span};

/// The commands, also those that do not call curl.
pub(super) fn commands(text: &str, variables: &mut Variables<'_>) -> Result<Vec<Command>, Mistake> {
    let mut reader = Reader {
        text: text.as_bytes(),
        at: 0,
        variables,
        heredocs: Vec::new(),
        groups: 0,
        depth: 0,
        is_open: false,
        unknown: Vec::new(),
        inner: Vec::new(),
        whole: Vec::new(),
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
    /// How many `$(..)` this stands in.
    depth: usize,
    /// Whether a parenthesis was never closed.
    is_open: bool,
    /// What of the current command is not known without running a shell: a mistake if the command is curl.
    unknown: Vec<Mistake>,
    /// The calls of curl in the `$(..)` of the current command.
    inner: Vec<Command>,
    /// Where those of them begin whose whole answer is a value, and the number of that answer.
    whole: Vec<(usize, usize)>,
}

struct Heredoc {
    command: usize,
    end: Vec<u8>,
    has_variables: bool,
    strips_tabs: bool,
    span: Span,
}

impl Reader<'_, '_> {
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
                // Blanks behind it are not seen where it was copied from.
                Some(b'\\') if self.ends_line() => {
                    self.skip_line();
                    self.at += 1;
                }
                // A blank that web pages are full of.
                Some(0xc2) if self.peek(1) == Some(0xa0) => self.at += 2,
                _ => return,
            }
        }
    }

    /// Whether nothing but blanks follows on this line, and there is a next one.
    fn ends_line(&self) -> bool {
        let rest = &self.text[self.at + 1..];
        let blanks = rest
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        rest.get(blanks.count()) == Some(&b'\n')
    }

    /// To the end of the line.
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
        if let Some(length) = self.placeholder() {
            let mistake =
                Mistake::new(start..start + length, "this stands for a value of your own");
            self.unknown
                .push(mistake.help("write the value in its place"));
            self.at += length;
            return Ok(());
        }
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
            let mistake = Mistake::new(start..start + length, "nothing follows this redirection");
            self.unknown.push(mistake);
            return Ok(());
        }
        let known = self.unknown.len();
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
        } else {
            // Nothing is written, wherever to.
            self.unknown.truncate(known);
        }
        Ok(())
    }

    /// The length of `<name>`, which documentation has in the place of values.
    fn placeholder(&self) -> Option<usize> {
        const LONGEST: usize = 40;
        let rest = self.text[self.at..].strip_prefix(b"<")?;
        let is_inside = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_- .".contains(byte);
        let length = rest.iter().take(LONGEST).take_while(is_inside).count();
        let inside = &rest[..length];
        let is_one = inside.first()?.is_ascii_alphabetic()
            && !inside.ends_with(b" ")
            && rest.get(length) == Some(&b'>');
        is_one.then_some(length + 2)
    }

    /// The lines that follow the line of a command.
    fn read_heredocs(&mut self, done: &mut [Command]) -> Result<(), Mistake> {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let mut text = Vec::new();
            self.variables.begin();
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
            let unknown = std::mem::take(&mut self.unknown);
            self.inner.clear();
            if let Some(command) = done.get_mut(heredoc.command) {
                if let Some(mistake) = unknown.into_iter().next()
                    && commands::calls_curl(command)
                {
                    return Err(mistake);
                }
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
                b'`' => self.backticks(into)?,
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

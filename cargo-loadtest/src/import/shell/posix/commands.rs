//! Commands: where they begin and end, what they read, and which variables they set.

use super::printed::printed;
use super::{Reader, endless};
use crate::import::shell::programs::{is_curl, program};
use crate::import::shell::{Command, Stdin, Word, begins_name, is_in_name, programs};
use crate::import::source::{Mistake, Span};

/// Whether a command calls curl.
pub(super) fn calls_curl(command: &Command) -> bool {
    let program = command.words.get(program(&command.words));
    program.is_some_and(|word| is_curl(&word.text))
}

impl Reader<'_, '_> {
    pub(super) fn commands(&mut self) -> Result<Vec<Command>, Mistake> {
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
                    if byte == b'&' {
                        self.look_for_query(&current);
                    }
                    let written = is_pipe
                        .then(|| self.written(&current, done.len()))
                        .flatten();
                    if let Some(written) = written {
                        current = Command::default();
                        pipe = Some(written);
                    } else {
                        let program = self.end(&mut done, &mut current, &mut pipe)?;
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
                b'<' | b'>' => {
                    let start = self.at;
                    let redirected = self.redirect(&mut current, done.len());
                    self.or_skip(redirected, start, &mut current)?;
                }
                b'`' if self.at == 0 && self.skip_fence() => {}
                _ => {
                    let start = self.at;
                    let word = self.word();
                    let word = word.and_then(|word| self.whole(word, &current));
                    let Some(word) = self.or_skip(word, start, &mut current)? else {
                        continue;
                    };
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
        self.end(&mut done, &mut current, &mut pipe)?;
        if let Some(heredoc) = self.heredocs.first() {
            return Err(endless(heredoc));
        }
        done.retain(|command| !command.words.is_empty());
        Ok(done)
    }

    /// What was read; or nothing, after the rest of the line, where it cannot be read and is not for curl: that is
    /// no command, but what somebody wrote or a program printed.
    fn or_skip<T>(
        &mut self,
        read: Result<T, Mistake>,
        start: usize,
        current: &mut Command,
    ) -> Result<Option<T>, Mistake> {
        let mistake = match read {
            Ok(read) => return Ok(Some(read)),
            Err(mistake) => mistake,
        };
        if !self.is_foreign(current, start) {
            return Err(mistake);
        }
        self.at = start;
        self.skip_line();
        let end = self.text[start..self.at]
            .iter()
            .position(u8::is_ascii_whitespace);
        let span = start..end.map_or(self.at, |end| start + end);
        current.words.push(Word {
            text: self.text[span.clone()].to_vec(),
            span,
        });
        Ok(None)
    }

    /// Whether the word at `start` belongs to a program that is not curl.
    fn is_foreign(&self, current: &Command, start: usize) -> bool {
        let words = &current.words;
        let first = words[program(words)..]
            .iter()
            .find(|word| self.assignment(word).is_none());
        if let Some(first) = first {
            return !is_curl(&first.text);
        }
        let rest = &self.text[start..];
        let end = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len());
        let line = String::from_utf8_lossy(&rest[..end]).replace(['\'', '"'], "");
        let name = line
            .split('=')
            .next()
            .filter(|name| name.len() < line.len());
        let assigns = name.is_some_and(|name| name.bytes().all(is_in_name));
        !assigns && !programs::calls_curl(&line)
    }

    /// A word of another program, unless a line in it calls curl: then it was not meant to be that long.
    fn whole(&self, word: Word, current: &Command) -> Result<Word, Mistake> {
        let source = &self.text[word.span.clone()];
        if !source.contains(&b'\n') || !self.is_foreign(current, word.span.start) {
            return Ok(word);
        }
        let source = String::from_utf8_lossy(source);
        if source.lines().skip(1).any(programs::calls_curl) {
            return Err(super::unclosed(word.span));
        }
        Ok(word)
    }

    /// What a command hands to the next one, where that is known without running it.
    fn written(&mut self, current: &Command, number: usize) -> Option<Stdin> {
        if !self.unknown.is_empty() {
            return None;
        }
        if let Some(text) = printed(&current.words) {
            return Some(Stdin::Text(text));
        }
        let words: Vec<&[u8]> = current.words.iter().map(|word| &word.text[..]).collect();
        match words.as_slice() {
            [b"cat"] | [b"cat", b"-"] => {
                let waits = self
                    .heredocs
                    .iter()
                    .any(|heredoc| heredoc.command == number);
                // The lines to come are those of the next command then.
                (waits || current.stdin != Stdin::Nothing).then(|| current.stdin.clone())
            }
            [b"cat", file] if !file.starts_with(b"-") => {
                Some(Stdin::File(current.words[1].clone()))
            }
            _ => None,
        }
    }

    /// Ends a command; its first word, if it has one.
    fn end(
        &mut self,
        done: &mut Vec<Command>,
        current: &mut Command,
        pipe: &mut Option<Stdin>,
    ) -> Result<Option<Word>, Mistake> {
        let mut command = std::mem::take(current);
        let unknown = std::mem::take(&mut self.unknown);
        let inner = std::mem::take(&mut self.inner);
        let whole = std::mem::take(&mut self.whole);
        let start = program(&command.words);
        let assigned = command.words[start..]
            .iter()
            .take_while(|word| self.assignment(word).is_some())
            .count();
        let first = command.words.get(start + assigned);
        let exports = first.is_some_and(|word| {
            matches!(
                word.text.as_slice(),
                b"export" | b"declare" | b"local" | b"readonly" | b"typeset"
            )
        });
        if first.is_none() || exports {
            // They hold for what comes after; in front of a command, for nothing that we read.
            for word in &command.words {
                let Some((name, value)) = self.assignment(word) else {
                    continue;
                };
                let is_in =
                    |span: &Span| word.span.start <= span.start && span.end <= word.span.end;
                let mut unknown = unknown.iter().filter(|mistake| is_in(&mistake.span));
                match (unknown.next(), unknown.next()) {
                    (None, _) => self.variables.set(&name, value),
                    (Some(only), None) if value.is_empty() => {
                        let answer = whole.iter().find(|(at, _)| *at == only.span.end);
                        match answer {
                            Some((_, answer)) => self.variables.set_to_answer(&name, *answer),
                            None => self.variables.set_to_output(&name),
                        }
                    }
                    _ => self.variables.set_to_output(&name),
                }
            }
            command.words.clear();
        } else {
            command.words.drain(start..start + assigned);
            if self.sets(&command.words[start..]) {
                command.words.clear();
            }
        }
        if calls_curl(&command)
            && let Some(mistake) = unknown.into_iter().next()
        {
            return Err(mistake);
        }
        for heredoc in &mut self.heredocs {
            heredoc.command += if heredoc.command == done.len() {
                inner.len()
            } else {
                0
            };
        }
        done.extend(inner);
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
        Ok(first)
    }

    /// The variables that a command sets: `for`, `read`, `set` of fish. Whether it does nothing else.
    fn sets(&mut self, words: &[Word]) -> bool {
        let text = |word: &Word| String::from_utf8_lossy(&word.text).into_owned();
        let is_name = |word: &&Word| {
            word.text.first().is_some_and(|byte| begins_name(*byte))
                && word.text.iter().all(|byte| is_in_name(*byte))
        };
        let arguments = words.iter().skip(1);
        let mut arguments = arguments.skip_while(|word| word.text.starts_with(b"-"));
        match words.first().map(|word| word.text.as_slice()) {
            Some(b"for" | b"foreach") => {
                if let Some(name) = arguments.next().filter(is_name) {
                    self.variables.set_by_loop(&text(name));
                }
            }
            Some(b"read") => {
                for name in arguments.filter(is_name) {
                    self.variables.set_by_loop(&text(name));
                }
            }
            Some(b"set") => {
                let name = arguments.next().filter(is_name);
                if let (Some(name), Some(value), None) = (name, arguments.next(), arguments.next())
                {
                    self.variables.set(&text(name), value.text.clone());
                    return true;
                }
            }
            _ => {}
        }
        false
    }

    /// A `&` that ends the command within a URL, where it was to be a part of it.
    fn look_for_query(&mut self, current: &Command) {
        let follows = &self.text[self.at + 1..];
        let length = follows.iter().take_while(|byte| is_in_name(**byte)).count();
        let is_field = length > 0 && follows.get(length) == Some(&b'=');
        let is_query = current
            .words
            .last()
            .is_some_and(|word| word.span.end == self.at && word.text.contains(&b'?'));
        if is_field && is_query {
            let span = self.at..self.at + 1 + length;
            let mistake =
                Mistake::new(span, "to a shell `&` ends the command, and the URL with it");
            self.unknown.push(mistake.help("put the URL within quotes"));
        }
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
}

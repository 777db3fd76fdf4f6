//! Text for a POSIX shell, with `$'..'` and the here-strings of bash and zsh.

mod ansi;
mod heredoc;
mod words;

use super::reader::ShellReader;
use super::{
    CommandInput, ShellCommand, ShellVariables, ShellWord, leading_name, program_index, would_run,
};
use crate::import::source::{Mistake, Note, Span};
pub(super) use heredoc::Heredoc;

/// Commands whose arguments are assignments.
const EXPORTS: [&[u8]; 5] = [b"export", b"declare", b"local", b"readonly", b"typeset"];

/// Returns the commands, also those that do not call curl.
pub(super) fn read_commands(
    text: &str,
    variables: &mut ShellVariables<'_>,
    notes: &mut Vec<Note>,
) -> Result<Vec<ShellCommand>, Mistake> {
    ShellReader::new(text, variables, notes).read_posix()
}

/// `NAME=value`; no value where it needs a running shell.
pub(super) struct Assignment {
    name: String,
    value: Option<Vec<u8>>,
    span: Span,
}

impl ShellReader<'_, '_> {
    fn read_posix(mut self) -> Result<Vec<ShellCommand>, Mistake> {
        loop {
            self.skip_blanks();
            let Some(byte) = self.peek(0) else { break };
            match byte {
                b'#' => self.skip_line(),
                b'&' if self.peek(1) == Some(b'>') => {
                    self.at += 1;
                    self.read_redirection()?;
                }
                b'\n' | b';' | b'&' | b'|' | b'(' | b')' => {
                    if byte == b'&' {
                        self.check_query();
                    }
                    self.end_command(byte == b'|' && self.peek(1) != Some(b'|'));
                    self.at += 1;
                    if byte == b'\n' {
                        self.read_heredocs()?;
                    }
                }
                b'<' | b'>' => self.read_redirection()?,
                _ => self.read_argument()?,
            }
        }
        self.end_command(false);
        if let Some(heredoc) = self.heredocs.first() {
            return Err(heredoc.unended());
        }
        self.commands.retain(|command| !command.words.is_empty());
        Ok(self.commands)
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                // Blanks behind the backslash are not seen where it was copied from.
                Some(b'\\') if self.ends_line() => {
                    self.skip_line();
                    self.at += 1;
                    if self.has_prompts && self.rest(0).starts_with(b"> ") {
                        self.at += 2;
                    }
                }
                // A no-break space, as web pages have it.
                Some(0xc2) if self.peek(1) == Some(0xa0) => self.at += 2,
                _ => return,
            }
        }
    }

    /// Returns true where only blanks follow on this line, and there is a next one.
    fn ends_line(&self) -> bool {
        let mut rest = self.rest(1).iter();
        rest.find(|byte| !matches!(byte, b' ' | b'\t' | b'\r')) == Some(&b'\n')
    }

    fn read_argument(&mut self) -> Result<(), Mistake> {
        let word = self.read_word()?;
        let doubt = self.doubt.take();
        let is_descriptor = word.span.len() == word.text.len()
            && word.text.iter().all(u8::is_ascii_digit)
            && matches!(self.peek(0), Some(b'<' | b'>'));
        if is_descriptor {
            return self.read_redirection();
        }
        if let Some(name) = self.assigned_name(&word) {
            let value = word.text[name.len() + 1..].to_vec();
            let value = Some(value).filter(|_| doubt.is_none());
            let span = word.span;
            self.assignments.push(Assignment { name, value, span });
            return Ok(());
        }
        self.current.words.push(word);
        self.current.doubt = self.current.doubt.take().or(doubt);
        Ok(())
    }

    /// Returns the name in `NAME=value`, unless a program comes before it or the name is quoted.
    fn assigned_name(&self, word: &ShellWord) -> Option<String> {
        let words = &self.current.words[program_index(&self.current.words)..];
        let first = words.first();
        let is_here = first.is_none_or(|first| EXPORTS.contains(&first.text.as_slice()));
        let name = leading_name(&word.text).filter(|_| is_here)?;
        let source = &self.text[word.span.clone()];
        let is_one = word.text.get(name.len()) == Some(&b'=') && source.starts_with(name);
        is_one.then(|| String::from_utf8_lossy(name).into_owned())
    }

    /// Ends the current command; `pipes` says that the next one reads its output.
    fn end_command(&mut self, pipes: bool) {
        let mut command = std::mem::take(&mut self.current);
        let assignments = std::mem::take(&mut self.assignments);
        let first = command.words.get(program_index(&command.words));
        if first.is_none_or(|first| EXPORTS.contains(&first.text.as_slice())) {
            for Assignment { name, value, span } in assignments {
                if let Some(value) = value {
                    self.variables.set(&name, value);
                } else {
                    self.take_from_environment(&name, span);
                }
            }
            command.words.clear();
        }
        let number = self.commands.len();
        let mut heredocs = self.heredocs.iter();
        let is_awaited = heredocs.any(|heredoc| heredoc.command == number);
        if command.words.is_empty() && !is_awaited {
            return;
        }
        if let Some(piped) = self.piped.take()
            && command.stdin == CommandInput::Nothing
        {
            command.stdin = piped;
        }
        if pipes {
            let words: Vec<&[u8]> = command.words.iter().map(|word| &word.text[..]).collect();
            match words.as_slice() {
                // The next command reads what this one does, and takes its here-document.
                [b"cat"] | [b"cat", b"-"] => {
                    self.piped = Some(command.stdin);
                    return;
                }
                [b"cat", file] if !file.starts_with(b"-") => {
                    self.piped = command.words.pop().map(CommandInput::File);
                    return;
                }
                _ => self.piped = command.words.first().cloned().map(CommandInput::Program),
            }
        }
        self.commands.push(command);
    }

    /// Finds a `&` that ends the command where it should be a part of the URL.
    fn check_query(&mut self) {
        let field = leading_name(self.rest(1)).unwrap_or_default();
        let is_field = !field.is_empty() && self.peek(1 + field.len()) == Some(b'=');
        let word = self.current.words.last();
        let is_query =
            word.is_some_and(|word| word.span.end == self.at && word.text.contains(&b'?'));
        if is_field && is_query {
            let span = self.at..self.at + 1 + field.len();
            let words = "to a shell `&` ends the command, and the URL with it";
            let mistake = Mistake::new(span, words).help("put the URL within quotes");
            self.doubt_command(mistake);
        }
    }

    fn read_redirection(&mut self) -> Result<(), Mistake> {
        let start = self.at;
        if let Some(length) = self.placeholder_length() {
            let words = "this stands for a value of your own";
            let mistake = Mistake::new(start..start + length, words);
            let mistake = mistake.help("write the value in its place");
            self.doubt_command(mistake);
            self.at += length;
            return Ok(());
        }
        let is_input = self.peek(0) == Some(b'<');
        let mut length = 1;
        while matches!(self.peek(length), Some(b'<' | b'>' | b'&' | b'|' | b'-')) && length < 3 {
            length += 1;
        }
        let operator = &self.text[start..start + length];
        self.at += length;
        if self.peek(0) == Some(b'(') {
            self.at += 1;
            let mistake = would_run(start..self.at);
            self.skip_substitution().ok_or_else(|| mistake.clone())?;
            self.doubt_command(mistake);
            return Ok(());
        }
        self.skip_blanks();
        let from = self.at;
        if matches!(
            self.peek(0),
            None | Some(b'\n' | b';' | b'&' | b'|' | b'<' | b'>')
        ) {
            let mistake = Mistake::new(start..start + length, "nothing follows this redirection");
            self.doubt_command(mistake);
            return Ok(());
        }
        let is_quoted = matches!(self.peek(0), Some(b'\'' | b'"' | b'\\'));
        let mut word = self.read_word()?;
        let doubt = self.doubt.take();
        if !is_input {
            // Nothing is written, wherever to.
            return Ok(());
        }
        self.current.doubt = self.current.doubt.take().or(doubt);
        if operator.starts_with(b"<<<") {
            word.text.push(b'\n');
            self.current.stdin = CommandInput::Text(word.text);
        } else if operator.starts_with(b"<<") {
            self.heredocs.push(Heredoc {
                command: self.commands.len(),
                end: word.text,
                has_variables: !is_quoted,
                strips_tabs: operator == b"<<-",
                span: from..self.at,
            });
        } else {
            self.current.stdin = CommandInput::File(word);
        }
        Ok(())
    }

    /// Returns the length of `<name>`, which documentation has in the place of values.
    fn placeholder_length(&self) -> Option<usize> {
        const LONGEST: usize = 40;
        let rest = self.rest(0).strip_prefix(b"<")?;
        let is_inside = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_- .".contains(byte);
        let length = rest.iter().take(LONGEST).take_while(is_inside).count();
        let inside = &rest[..length];
        let is_one = inside.first()?.is_ascii_alphabetic()
            && !inside.ends_with(b" ")
            && rest.get(length) == Some(&b'>');
        is_one.then_some(length + 2)
    }

    /// Skips to behind the `)` that closes the substitution here, if one does.
    fn skip_substitution(&mut self) -> Option<()> {
        let mut open = vec![b')'];
        while let Some(&close) = open.last() {
            let byte = self.peek(0)?;
            self.at += 1;
            match byte {
                byte if byte == close => {
                    open.pop();
                }
                b'\\' => self.at += 1,
                b'\'' if close == b')' => {
                    let length = self.rest(0).iter().position(|byte| *byte == b'\'')?;
                    self.at += length + 1;
                }
                b'"' => open.push(b'"'),
                b'(' if close == b')' || self.text[self.at - 2] == b'$' => open.push(b')'),
                _ => {}
            }
        }
        Some(())
    }
}

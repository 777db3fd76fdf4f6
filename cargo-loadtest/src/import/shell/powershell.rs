//! Text for PowerShell that calls a program: its quotes, the backtick, and variables that are set to a text.

use super::super::source::{Mistake, Span};
use super::programs::{calls_curl, is_curl, program};
use super::{Command, Variables, Word, begins_name, is_in_name};

/// Whether a line sets a variable of PowerShell's own.
pub(super) fn assigns(line: &str) -> bool {
    assigned(line.as_bytes()).is_some()
}

/// The name in `$name = `, and where the value begins.
fn assigned(text: &[u8]) -> Option<(String, usize)> {
    let blanks = |text: &[u8]| {
        text.iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count()
    };
    let name = text.strip_prefix(b"$")?;
    let length = name.iter().take_while(|byte| is_in_name(**byte)).count();
    let after = 1 + length + blanks(&name[length..]);
    let is_one = begins_name(*name.first()?) && text.get(after) == Some(&b'=');
    let name = String::from_utf8_lossy(&name[..length]).into_owned();
    is_one.then(|| (name, after + 1 + blanks(&text[after + 1..])))
}

/// The commands, also those that do not call curl.
pub(super) fn commands(text: &str, variables: &mut Variables<'_>) -> Result<Vec<Command>, Mistake> {
    let mut reader = Reader {
        text: text.as_bytes(),
        at: 0,
        variables,
        is_open: false,
    };
    reader.commands()
}

struct Reader<'a, 'v> {
    text: &'a [u8],
    at: usize,
    variables: &'a mut Variables<'v>,
    /// Whether the lines of a value were never closed: then no further ones are looked for.
    is_open: bool,
}

impl Reader<'_, '_> {
    fn commands(&mut self) -> Result<Vec<Command>, Mistake> {
        let mut commands = Vec::new();
        let mut current = Command::default();
        // What a redirection names is no argument.
        let mut redirects = false;
        while let Some(byte) = self.peek(0) {
            if current.words.is_empty() && self.assignment() {
                continue;
            }
            match byte {
                // `&` calls what a string names.
                b' ' | b'\t' | b'\r' | b'&' => self.at += 1,
                b'`' if self.line_end(1) > 0 => self.at += 1 + self.line_end(1),
                b'#' => {
                    while self.peek(0).is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                b'\n' | b';' | b'|' | b'(' | b')' => {
                    self.at += 1;
                    redirects = false;
                    if !current.words.is_empty() {
                        commands.push(std::mem::take(&mut current));
                    }
                }
                b'>' => {
                    self.at += 1;
                    redirects = true;
                }
                _ => {
                    let start = self.at;
                    match self.word() {
                        Ok(word) if !std::mem::take(&mut redirects) => current.words.push(word),
                        Ok(_) => {}
                        Err(_) if self.is_foreign(&current, start) => {
                            self.at = start;
                            self.skip_line();
                        }
                        Err(mistake) => return Err(mistake),
                    }
                }
            }
        }
        if !current.words.is_empty() {
            commands.push(current);
        }
        Ok(commands)
    }

    /// Whether what is at `start` belongs to no call of curl.
    fn is_foreign(&self, current: &Command, start: usize) -> bool {
        if let Some(first) = current.words.get(program(&current.words)) {
            return !is_curl(&first.text);
        }
        let rest = &self.text[start..];
        let end = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len());
        !calls_curl(&String::from_utf8_lossy(&rest[..end]).replace(['\'', '"'], ""))
    }

    /// `$name = 'value'`, if that is here. What needs PowerShell to be known is known to the environment alone.
    fn assignment(&mut self) -> bool {
        let Some((name, length)) = assigned(&self.text[self.at..]) else {
            return false;
        };
        self.at += length;
        let start = self.at;
        // What is not quoted is a command.
        let is_text = matches!(self.peek(0), Some(b'\'' | b'"' | b'$' | b'0'..=b'9'));
        let value = match self.here_string() {
            Some(value) => Some(value),
            None if is_text => self.word().ok().map(|word| word.text),
            None => None,
        };
        while matches!(self.peek(0), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
        match value {
            Some(value) if matches!(self.peek(0), None | Some(b'\n' | b';' | b'#')) => {
                self.variables.set(&name, value);
            }
            _ => {
                self.variables.set_to_output(&name);
                self.at = start;
                self.skip_line();
            }
        }
        true
    }

    /// The lines between `@'` and `'@`.
    fn here_string(&mut self) -> Option<Vec<u8>> {
        let rest = &self.text[self.at..];
        let [b'@', quote @ (b'\'' | b'"'), after @ ..] = rest else {
            return None;
        };
        let begin = after.iter().position(|byte| *byte == b'\n')?;
        after[..begin].trim_ascii().is_empty().then_some(())?;
        let ends = [b'\n', *quote, b'@'];
        let inside = &after[begin..];
        if self.is_open {
            return None;
        }
        let end = inside.windows(3).position(|window| window == ends);
        self.is_open = end.is_none();
        let end = end?;
        let text = inside.get(1..end).unwrap_or_default();
        // A value in it is not looked for.
        let is_plain = *quote == b'\'' || !text.contains(&b'$');
        self.at += 2 + begin + end + 3;
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        is_plain.then(|| text.to_vec())
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn line_end(&self, ahead: usize) -> usize {
        match (self.peek(ahead), self.peek(ahead + 1)) {
            (Some(b'\n'), _) => 1,
            (Some(b'\r'), Some(b'\n')) => 2,
            _ => 0,
        }
    }

    fn word(&mut self) -> Result<Word, Mistake> {
        let start = self.at;
        self.variables.begin();
        let mut text = Vec::new();
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b'>' => break,
                b'(' | b')' if self.at == start => break,
                b'`' if self.line_end(1) > 0 => break,
                b'`' => self.escape(&mut text),
                b'\'' => self.single(&mut text)?,
                b'"' => self.double(&mut text)?,
                b'$' => self.variable(&mut text)?,
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        if self.at == start {
            self.at += 1;
        }
        self.at = self.at.min(self.text.len());
        Ok(Word {
            text: as_passed(text),
            span: start..self.at,
        })
    }

    fn escape(&mut self, text: &mut Vec<u8>) {
        let escaped = match self.peek(1) {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'0') => 0,
            Some(b'a') => 0x07,
            Some(b'b') => 0x08,
            Some(b'e') => 0x1b,
            Some(b'f') => 0x0c,
            Some(b'v') => 0x0b,
            Some(other) => other,
            None => b'`',
        };
        text.push(escaped);
        self.at += 2;
    }

    fn single(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
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
        Err(unclosed(open..open + 1))
    }

    fn double(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
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
                b'`' if self.line_end(1) > 0 => self.at += 1 + self.line_end(1),
                b'`' => self.escape(text),
                b'$' => self.variable(text)?,
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        Err(unclosed(open..open + 1))
    }

    /// `$env:NAME`, `${env:NAME}`, and `$name` that was set; other variables are only known to what runs.
    fn variable(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let start = self.at;
        let rest = &self.text[start + 1..];
        let is_braced = rest.first() == Some(&b'{');
        let inside = &rest[usize::from(is_braced)..];
        let prefix = inside
            .get(..4)
            .is_some_and(|prefix| prefix.eq_ignore_ascii_case(b"env:"));
        if prefix {
            let name = inside[4..].iter().take_while(|byte| is_in_name(**byte));
            let name: Vec<u8> = name.copied().collect();
            let end = start + 1 + 4 + name.len() + 2 * usize::from(is_braced);
            let span = start..end.min(self.text.len());
            let name = String::from_utf8_lossy(&name).into_owned();
            text.extend(self.variables.needed(&name, &span)?);
            self.at = span.end;
            return Ok(());
        }
        let name = inside.iter().take_while(|byte| is_in_name(**byte));
        let name = String::from_utf8_lossy(&name.copied().collect::<Vec<u8>>()).into_owned();
        if self.variables.is_set(&name) {
            let end = start + 1 + name.len() + 2 * usize::from(is_braced);
            let span = start..end.min(self.text.len());
            text.extend(self.variables.needed(&name, &span)?);
            self.at = span.end;
            return Ok(());
        }
        match rest.first() {
            Some(b'(') => Err(Mistake::new(
                start..start + 2,
                "this would run a program, and no shell is ever run",
            )
            .help("write what it would print")),
            Some(byte) if begins_name(*byte) || is_braced => Err(Mistake::new(
                start..start + 2,
                "only a shell that runs knows this value",
            )
            .help("write the value itself, or `$env:NAME` for a variable of the environment")),
            _ => {
                text.push(b'$');
                self.at += 1;
                Ok(())
            }
        }
    }
}

/// What a program gets: Windows PowerShell needs a backslash before a quote, which is not a part of the value.
fn as_passed(text: Vec<u8>) -> Vec<u8> {
    if !text.windows(2).any(|pair| pair == b"\\\"") {
        return text;
    }
    let mut passed = Vec::with_capacity(text.len());
    let mut bytes = text.into_iter().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && bytes.peek() == Some(&b'"') {
            continue;
        }
        passed.push(byte);
    }
    passed
}

fn unclosed(span: Span) -> Mistake {
    Mistake::new(span, "this is never closed").help("copy the whole command, up to its last quote")
}

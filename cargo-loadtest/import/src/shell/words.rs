//! Words of POSIX shells and PowerShell: quotes, escapes, variables.

use super::reader::ShellReader;
use super::{ShellWord, leading_name, never_closed};
use crate::source::{Mistake, Span};

/// Most bytes between braces that a shell may make words of.
const NEAR: usize = 256;

impl ShellReader<'_, '_> {
    /// Reads a word; none where something else begins here.
    pub(super) fn read_word(&mut self) -> Result<ShellWord, Mistake> {
        let start = self.at;
        let mut text = Vec::new();
        while let Some(byte) = self.peek(0) {
            if let Some(length) = self.continuation(b" \t\r") {
                self.at += length;
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' => break,
                b'\'' => self.read_single_quotes(&mut text)?,
                b'"' => {
                    self.at += 1;
                    self.read_expanded(None, &mut text)?;
                }
                b'\\' if !self.is_powershell => {
                    text.extend(self.peek(1));
                    self.at += 2;
                }
                b'`' => self.read_backtick(&mut text)?,
                b'$' if self.peek(1) == Some(b'\'') => self.read_ansi_quotes(&mut text)?,
                b'$' if self.peek(1) == Some(b'"') => self.at += 1,
                b'$' => {
                    let (length, from) = (text.len(), self.at);
                    self.read_variable(&mut text)?;
                    if text[length..].iter().any(u8::is_ascii_whitespace) {
                        let words = "the value has blanks, at which a shell would split it";
                        let mistake = Mistake::new(from..self.at, words);
                        return Err(mistake.help("put it within double quotes"));
                    }
                }
                byte => {
                    self.check_letter(start)?;
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.text.len());
        let span = start..self.at;
        Ok(ShellWord { text, span })
    }

    /// Refuses letters without quotes that a shell reads itself, or that a text processor has put there.
    fn check_letter(&self, start: usize) -> Result<(), Mistake> {
        let rest = self.rest(0);
        let near = rest[..rest.len().min(4)].utf8_chunks().next();
        let Some(letter) = near.and_then(|chunk| chunk.valid().chars().next()) else {
            return Ok(());
        };
        let braces = || {
            let near = &rest[..rest.len().min(NEAR)];
            let mut words = near.split(|byte| byte.is_ascii_whitespace() || *byte == b'}');
            words.next().unwrap_or_default()
        };
        let (words, help) = match letter {
            '(' | ')' => (
                "a shell reads this parenthesis itself",
                "put it within quotes",
            ),
            '{' if braces().contains(&b',') || braces().windows(2).any(|dots| dots == b"..") => {
                let words = "a shell makes several words of these braces";
                (words, "put them within quotes")
            }
            '\u{a0}' | '\u{2018}'..='\u{201f}' => {
                let words = "a shell treats this quote or blank as an ordinary letter";
                (
                    words,
                    "a text processor inserted it: type `'`, `\"` or a blank",
                )
            }
            '\u{2010}'..='\u{2015}' | '\u{2212}' if self.at == start => {
                let words = "curl treats this dash as an ordinary letter";
                (words, "a text processor inserted it: type `-`")
            }
            _ => return Ok(()),
        };
        let span = self.at..self.at + letter.len_utf8();
        Err(Mistake::new(span, words).help(help))
    }

    /// Appends a byte; Windows PowerShell needs a backslash before a quote, which no program gets.
    fn push_byte(&self, byte: u8, text: &mut Vec<u8>) {
        if self.is_powershell && byte == b'"' && text.ends_with(b"\\") {
            text.pop();
        }
        text.push(byte);
    }

    fn read_single_quotes(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let open = self.at;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == b'\'' {
                if !self.is_powershell || self.peek(0) != Some(b'\'') {
                    return Ok(());
                }
                self.at += 1;
            }
            self.push_byte(byte, text);
        }
        Err(never_closed(open..open + 1))
    }

    /// Reads the inside of double quotes; or up to `end`, where quotes are text.
    pub(super) fn read_expanded(
        &mut self,
        end: Option<usize>,
        text: &mut Vec<u8>,
    ) -> Result<(), Mistake> {
        let start = self.at;
        let is_quoted = end.is_none();
        let end = end.unwrap_or(self.text.len());
        while let Some(byte) = self.peek(0).filter(|_| self.at < end) {
            if let Some(length) = self.continuation(b"\r") {
                self.at += length;
                continue;
            }
            match byte {
                b'"' if is_quoted => {
                    self.at += 1;
                    if !self.is_powershell || self.peek(0) != Some(b'"') {
                        return Ok(());
                    }
                    self.push_byte(byte, text);
                    self.at += 1;
                }
                b'\\' if !self.is_powershell => match self.peek(1) {
                    Some(next @ (b'$' | b'`' | b'\\')) => {
                        text.push(next);
                        self.at += 2;
                    }
                    Some(b'"') if is_quoted => {
                        text.push(b'"');
                        self.at += 2;
                    }
                    _ => {
                        text.push(b'\\');
                        self.at += 1;
                    }
                },
                b'$' => self.read_variable(text)?,
                b'`' => self.read_backtick(text)?,
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        if is_quoted {
            return Err(never_closed(start - 1..start));
        }
        Ok(())
    }

    /// Reads an escape of PowerShell.
    fn read_backtick(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        if !self.is_powershell {
            return Err(would_run(self.at..self.at + 1));
        }
        let byte = match self.peek(1).unwrap_or(b'`') {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'0' | b'a' | b'b' | b'e' | b'f' | b'u' | b'v' => {
                let words = "this escape of PowerShell is not imported";
                return Err(Mistake::new(self.at..self.at + 2, words));
            }
            other => other,
        };
        self.push_byte(byte, text);
        self.at += 2;
        Ok(())
    }

    /// Reads `$NAME` and `${NAME}`, in PowerShell `$env:NAME`.
    fn read_variable(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let start = self.at;
        if let Some((value, length)) = octal_printf(self.rest(0)) {
            text.extend(value);
            self.at += length;
            return Ok(());
        }
        let rest = self.rest(1);
        let brace = usize::from(rest.starts_with(b"{"));
        let inside = &rest[brace..];
        let is_environment = inside
            .get(..4)
            .is_some_and(|name| name.eq_ignore_ascii_case(b"env:"));
        let prefix = if self.is_powershell && is_environment {
            4
        } else {
            0
        };
        let name = leading_name(&inside[prefix..]).unwrap_or_default();
        let length = 1 + brace + prefix + name.len();
        let is_whole = brace == 0 || self.peek(length) == Some(b'}');
        if name.is_empty() || !is_whole || self.is_powershell && prefix == 0 {
            return match rest.first() {
                Some(b'(') => Err(would_run(start..start + 2)),
                Some(b'{' | b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-') => {
                    Err(unknown_value(start..start + 2))
                }
                _ if !name.is_empty() => Err(unknown_value(start..start + length)),
                _ => {
                    text.push(b'$');
                    self.at += 1;
                    Ok(())
                }
            };
        }
        self.at += length + brace;
        let name = String::from_utf8_lossy(name);
        text.extend(self.variables.value(&name, &(start..self.at))?);
        Ok(())
    }
}

fn would_run(span: Span) -> Mistake {
    Mistake::new(span, "this would run a program, and no shell is ever run")
        .help("write what it would print, or `$NAME` for a variable of the environment")
}

fn unknown_value(span: Span) -> Mistake {
    let words = "only a shell that runs knows this value";
    let help = "write the value itself, or `$NAME` for a variable of the environment (PowerShell: `$env:NAME`)";
    Mistake::new(span, words).help(help)
}

/// Reads `$(printf '\011')`, which is how the tool itself writes control characters; also returns its length.
fn octal_printf(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    const BEGIN: &[u8] = b"$(printf '\\";
    let inside = text.strip_prefix(BEGIN)?;
    let end = inside.windows(2).position(|end| end == b"')")?;
    let octals = std::str::from_utf8(&inside[..end]).ok()?.split('\\');
    let bytes = octals.map(|octal| u8::from_str_radix(octal, 8).ok());
    Some((bytes.collect::<Option<_>>()?, BEGIN.len() + end + 2))
}

//! Words: quotes, escapes, variables.

use crate::import::shell::reader::ShellReader;
use crate::import::shell::{
    ShellWord, leading_name, line_end, never_closed, unknown_outside_shell, would_run,
};
use crate::import::source::Mistake;

/// Longest `${..}`, in bytes.
const LONGEST: usize = 256;

impl ShellReader<'_, '_> {
    /// Reads a word; its first part that needs a running shell becomes [`ShellReader::doubt`].
    pub(super) fn read_word(&mut self) -> Result<ShellWord, Mistake> {
        let start = self.at;
        let mut text = Vec::new();
        self.check_typography();
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b')' => break,
                b'\r' if self.peek(1).is_none_or(|next| next == b'\n') => break,
                0xc2 if self.peek(1) == Some(0xa0) => break,
                // The definition of a function.
                b'(' if self.peek(1) == Some(b')') => {
                    text.extend_from_slice(b"()");
                    self.at += 2;
                }
                b'\\' => {
                    let end = line_end(self.rest(1));
                    if end == 0 {
                        text.extend(self.peek(1));
                    }
                    self.at += 1 + end.max(1);
                }
                b'\'' => self.read_single_quotes(&mut text)?,
                b'"' => self.read_double_quotes(&mut text)?,
                b'$' if self.peek(1) == Some(b'\'') => self.read_ansi_quotes(&mut text)?,
                b'$' if self.peek(1) == Some(b'"') => self.at += 1,
                b'$' => {
                    let (length, from) = (text.len(), self.at);
                    self.read_variable(&mut text)?;
                    if text[length..].iter().any(u8::is_ascii_whitespace) {
                        let words = "the value has blanks, at which a shell would split it";
                        let mistake = Mistake::new(from..self.at, words);
                        self.doubt_word(mistake.help("put it within double quotes"));
                    }
                }
                b'`' => self.skip_backticks()?,
                byte => {
                    match byte {
                        b'(' => {
                            let words = "a shell does not pass this parenthesis on";
                            let mistake = Mistake::new(self.at..self.at + 1, words);
                            self.doubt_word(mistake.help("put the word within quotes"));
                        }
                        b'{' => self.check_range(),
                        _ => {}
                    }
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.text.len());
        let span = start..self.at;
        Ok(ShellWord { text, span })
    }

    fn read_single_quotes(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let inside = self.rest(1);
        let length = inside.iter().position(|byte| *byte == b'\'');
        let length = length.ok_or_else(|| never_closed(self.at..self.at + 1))?;
        text.extend_from_slice(&inside[..length]);
        self.at += length + 2;
        Ok(())
    }

    fn read_double_quotes(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let open = self.at;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => match self.peek(1) {
                    Some(next @ (b'$' | b'`' | b'"' | b'\\')) => {
                        text.push(next);
                        self.at += 2;
                    }
                    _ if line_end(self.rest(1)) > 0 => self.at += 1 + line_end(self.rest(1)),
                    _ => {
                        text.push(b'\\');
                        self.at += 1;
                    }
                },
                b'$' => self.read_variable(text)?,
                b'`' => self.skip_backticks()?,
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        Err(never_closed(open..open + 1))
    }

    /// Reads what `$` begins.
    pub(super) fn read_variable(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let start = self.at;
        match self.peek(1) {
            Some(b'(') => {
                if let Some((value, length)) = octal_printf(self.rest(0)) {
                    text.extend(value);
                    self.at += length;
                    return Ok(());
                }
                self.at += 2;
                let mistake = would_run(start..self.at);
                self.skip_substitution().ok_or_else(|| mistake.clone())?;
                self.doubt_word(mistake);
            }
            Some(b'{') => self.read_braces(text)?,
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'$' | b'!') => {
                let help = "write the value itself, or `\\$` for the character";
                self.doubt_word(unknown_outside_shell(start..start + 2, help));
                self.at += 2;
            }
            _ => {
                if let Some(name) = leading_name(self.rest(1)).map(<[u8]>::to_vec) {
                    let span = start..start + 1 + name.len();
                    self.at = span.end;
                    self.push_value(&name, &span, text)?;
                } else {
                    text.push(b'$');
                    self.at += 1;
                }
            }
        }
        Ok(())
    }

    /// Reads `${NAME}` and `${NAME:-default}`.
    fn read_braces(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let start = self.at;
        let close = self
            .rest(0)
            .iter()
            .take(LONGEST)
            .position(|byte| *byte == b'}');
        let close = close.ok_or_else(|| never_closed(start..start + 2))?;
        let span = start..start + close + 1;
        self.at = span.end;
        let inside = self.text[start + 2..start + close].to_vec();
        let name = leading_name(&inside).unwrap_or_default();
        let rest = &inside[name.len()..];
        let is_plain = |text: &&[u8]| !text.iter().any(|byte| b"$`'\"\\{".contains(byte));
        let default = rest.strip_prefix(b":-").or(rest.strip_prefix(b"-"));
        let default = default.filter(is_plain);
        if name.is_empty() || !rest.is_empty() && default.is_none() {
            let words = "only the plain value of a variable can be used here: `${NAME}`";
            let help = "or `${NAME:-value}`, with a value for where the environment has none";
            self.doubt_word(Mistake::new(span, words).help(help));
            return Ok(());
        }
        let Some(default) = default else {
            return self.push_value(name, &span, text);
        };
        let name = String::from_utf8_lossy(name);
        let mut value = None;
        if !(default.starts_with(b"http") && self.variables.prefers_default_url(&name)) {
            value = self.variables.value(&name, &span)?;
        }
        let value = value.filter(|value| !value.is_empty());
        text.extend(value.unwrap_or_else(|| default.to_vec()));
        Ok(())
    }

    /// Skips a program within backticks.
    pub(super) fn skip_backticks(&mut self) -> Result<(), Mistake> {
        let mistake = would_run(self.at..self.at + 1);
        let length = self.rest(1).iter().position(|byte| *byte == b'`');
        self.at += length.ok_or_else(|| mistake.clone())? + 2;
        self.doubt_word(mistake);
        Ok(())
    }

    /// Finds `{1..3}`, of which a shell makes several words.
    fn check_range(&mut self) {
        const LONGEST: usize = 24;
        let inside = self
            .rest(1)
            .split(|byte| *byte == b'}')
            .next()
            .unwrap_or_default();
        let is_inside = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
        let range = inside
            .get(..inside.len().min(LONGEST))
            .map(String::from_utf8_lossy);
        let range = range.filter(|range| range.bytes().all(|byte| is_inside(&byte)));
        if let Some(range) = range.filter(|range| range.contains("..")) {
            let span = self.at..self.at + range.len() + 2;
            let range = range.replace("..", "-");
            let help = format!("in a URL, write `[{range}]`, which curl itself knows");
            let mistake = Mistake::new(span, "a shell makes several words of this range");
            self.doubt_word(mistake.help(help));
        }
    }

    /// Finds quotes and dashes that a text processor has put in the place of those that were typed.
    fn check_typography(&mut self) {
        let letter = self.rest(0).first_chunk::<3>();
        let letter = letter.and_then(|bytes| std::str::from_utf8(bytes).ok()?.chars().next());
        let begins_option = self
            .peek(3)
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'-');
        let words = match letter {
            Some('\u{2018}'..='\u{201f}') => "to a shell this quote is a letter as any other",
            Some('\u{2010}'..='\u{2015}' | '\u{2212}') if begins_option => {
                "to curl this dash is a letter as any other"
            }
            _ => return,
        };
        let mistake = Mistake::new(self.at..self.at + 3, words);
        self.doubt_word(mistake.help("a text processor has put it there: type `'`, `\"` or `-`"));
    }
}

/// Reads `$(printf '\011')`, which is how the tool itself writes control characters; also returns its length.
fn octal_printf(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    const BEGIN: &[u8] = b"$(printf '";
    let inside = text.strip_prefix(BEGIN)?;
    let end = inside.iter().position(|byte| *byte == b'\'')?;
    (inside.get(end + 1) == Some(&b')')).then_some(())?;
    let octals = std::str::from_utf8(&inside[..end])
        .ok()?
        .strip_prefix('\\')?;
    let bytes = octals.split('\\').map(|octal| {
        let is_octal = octal.len() == 3 && octal.bytes().all(|digit| digit.is_ascii_digit());
        is_octal.then(|| u8::from_str_radix(octal, 8).ok())?
    });
    Some((bytes.collect::<Option<_>>()?, BEGIN.len() + end + 2))
}

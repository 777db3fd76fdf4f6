//! Words: quotes, escapes, variables.

use super::printed::constant;
use super::{Reader, runs, unclosed};
use crate::import::shell::{Word, begins_name, is_in_name};
use crate::import::source::Mistake;

impl Reader<'_, '_> {
    pub(super) fn word(&mut self) -> Result<Word, Mistake> {
        let start = self.at;
        let mut text = Vec::new();
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' => break,
                b'\r' if self.peek(1).is_none_or(|next| next == b'\n') => break,
                b'(' if self.at == start => break,
                b')' if self.at == start || self.groups > 0 => break,
                0xc2 if self.peek(1) == Some(0xa0) => break,
                b'\\' => {
                    let end = self.line_end(1);
                    if end > 0 {
                        self.at += 1 + end;
                    } else {
                        text.extend(self.peek(1));
                        self.at += 2;
                    }
                }
                b'\'' => self.single(&mut text)?,
                b'"' => self.double(&mut text)?,
                b'$' => match self.peek(1) {
                    Some(b'\'') => self.ansi(&mut text)?,
                    Some(b'"') => {
                        self.at += 1;
                        self.double(&mut text)?;
                    }
                    _ => {
                        let from = (text.len(), self.at);
                        self.variable(&mut text)?;
                        if text[from.0..].iter().any(u8::is_ascii_whitespace) {
                            return Err(Mistake::new(
                                from.1..self.at,
                                "the value has blanks, at which a shell would split it",
                            )
                            .help("put it within double quotes"));
                        }
                    }
                },
                b'`' => return Err(runs(self.at..self.at + 1)),
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.text.len());
        if self.at == start {
            // Whatever it is, it is passed.
            self.at += 1;
        }
        Ok(Word {
            text,
            span: start..self.at,
        })
    }

    fn single(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let open = self.at;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == b'\'' {
                return Ok(());
            }
            text.push(byte);
        }
        Err(unclosed(open..open + 1))
    }

    fn double(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
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
                    _ if self.line_end(1) > 0 => self.at += 1 + self.line_end(1),
                    _ => {
                        text.push(b'\\');
                        self.at += 1;
                    }
                },
                b'$' => self.variable(text)?,
                b'`' => return Err(runs(self.at..self.at + 1)),
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        Err(unclosed(open..open + 1))
    }

    /// What `$` begins.
    pub(super) fn variable(&mut self, text: &mut Vec<u8>) -> Result<(), Mistake> {
        let start = self.at;
        match self.peek(1) {
            Some(b'(') => match constant(&self.text[start..]) {
                Some((value, length)) => {
                    text.extend(value);
                    self.at += length;
                    Ok(())
                }
                None => Err(runs(start..start + 2)),
            },
            Some(b'{') => {
                let close = self.text[start..].iter().position(|byte| *byte == b'}');
                let Some(close) = close else {
                    return Err(unclosed(start..start + 2));
                };
                let span = start..start + close + 1;
                let name = &self.text[start + 2..start + close];
                let is_name = name.first().is_some_and(|byte| begins_name(*byte))
                    && name.iter().all(|byte| is_in_name(*byte));
                if !is_name {
                    return Err(Mistake::new(
                        span,
                        "only the plain value of a variable can be used here: `${NAME}`",
                    ));
                }
                let name = String::from_utf8_lossy(name).into_owned();
                text.extend(self.variables.needed(&name, &span)?);
                self.at = span.end;
                Ok(())
            }
            Some(byte) if begins_name(byte) => {
                let name: Vec<u8> = self.text[start + 1..]
                    .iter()
                    .copied()
                    .take_while(|byte| is_in_name(*byte))
                    .collect();
                let span = start..start + 1 + name.len();
                let name = String::from_utf8_lossy(&name).into_owned();
                text.extend(self.variables.needed(&name, &span)?);
                self.at = span.end;
                Ok(())
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'$' | b'!') => Err(Mistake::new(
                start..start + 2,
                "only a shell that runs knows this value",
            )
            .help("write the value itself, or `\\$` for the character")),
            _ => {
                text.push(b'$');
                self.at += 1;
                Ok(())
            }
        }
    }
}
